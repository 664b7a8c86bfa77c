"""What the torture programs share: results as TAP, figures, runs of the program, mounts."""
import atexit
import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import saves
from strike import COUNT, Strike

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
PROGRAM = os.environ.get('TFS_BIN') or os.path.join(BUILD, 'terrainfs')
TOOLS = os.environ.get('TFS_TOOLS') or os.path.join(BUILD, 'tools')
LIBRARY = os.path.join(BUILD, 'torture', 'strike.so')
FULL = os.environ.get('TORTURE', 'short') == 'full'
# Kinds of saves: one of each way in which a save is replaced.
EACH_WAY = ('cosmic-gzip', 'godot-folder', 'godot-folder-first', 'godot-stream', 'beamng-pair')
SEED = int(os.environ.get('TORTURE_SEED') or int.from_bytes(os.urandom(4), 'little'))
LIMIT = 60    # seconds until a program that hangs is a failure
AGAIN = 10    # seconds in which a program tries again what failed

# In memory where that is possible: no test here needs a disk, but each waits for its fsync.
_memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
_work = tempfile.mkdtemp(prefix='tfs-torture-', dir=os.environ.get('TMPDIR') or _memory)
os.environ['XDG_STATE_HOME'] = os.path.join(_work, 'state')
_mounts = []
_results = {'count': 0, 'failed': 0}
_figures = {}


def scratch():
    """A directory that goes when the program ends."""
    return _work


def has_fuse():
    return os.access('/dev/fuse', os.W_OK) and shutil.which('fusermount3') is not None


# ---- results ---------------------------------------------------------------------------------------------

def result(title, problems, figures):
    """One TAP line. `figures`: numbers for RELIABILITY.md, which also stand in the line."""
    _results['count'] += 1
    numbers = ', '.join(f'{value} {name}' for name, value in figures.items())
    _figures[title] = figures
    _results['failed'] += bool(problems)
    print(f"{'not ok' if problems else 'ok'} {_results['count']} - {title}: {numbers}")
    for problem in problems[:20]:
        print(f'#   {problem}')
    sys.stdout.flush()


def skip(title, why):
    _results['count'] += 1
    print(f"ok {_results['count']} - {title} # skip {why}", flush=True)


def finish(name):
    path = os.path.join(BUILD, 'torture', f"{name}-{'full' if FULL else 'short'}.json")
    totals = {}
    for figures in _figures.values():
        for key, value in figures.items():
            totals[key] = totals.get(key, 0) + value
    with open(path, 'w', encoding='utf-8') as f:
        json.dump({'seed': SEED, 'totals': totals, 'figures': _figures}, f, indent=1)
    print(f'# seed {SEED}; in all', ', '.join(f'{v} {k}' for k, v in totals.items()))
    print(f"1..{_results['count']}")
    return 1 if _results['failed'] else 0


def chosen_kinds(short=EACH_WAY):
    """Those that are named, or all in full, or the short ones."""
    names = sys.argv[1:] or (() if FULL else short)
    return [kind for kind in saves.KINDS if not names or kind.name in names]


# ---- one save --------------------------------------------------------------------------------------------

class Bench:
    """A directory with a save of one kind, which can be had fresh again and again."""

    def __init__(self, kind):
        self.kind = kind
        self.work = tempfile.mkdtemp(dir=_work)
        self.pristine = os.path.join(self.work, 'pristine')
        self.directory = os.path.join(self.work, 'save')
        self.save = os.path.join(self.directory, kind.file)
        self.point = os.path.join(self.work, 'mnt')
        os.mkdir(self.point)
        kind.create(TOOLS, self.pristine)
        self.strike = Strike(LIBRARY, self.directory, self.work)
        self.texts = {}
        self.fresh()
        for path, edit in kind.edits:
            old = self.cat(path)
            self.texts[path] = (old, edit(old))
        self.sources = [self._tree('was', 0), self._tree('edit', 1)]
        self.first = self._tree('first', 1, 1)
        self.nothing = os.path.join(self.work, 'nothing')
        os.mkdir(self.nothing)
        with open(os.path.join(self.nothing, 'info.txt'), 'w', encoding='utf-8'):
            pass

    def _tree(self, name, which, most=None):
        top = os.path.join(self.work, name)
        os.makedirs(top)
        for path, texts in list(self.texts.items())[:most]:
            if texts[which] is None:
                continue
            os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
            with open(os.path.join(top, path), 'wb') as f:
                f.write(texts[which])
        return top

    def fresh(self, source=None):
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.copytree(source or self.pristine, self.directory, copy_function=shutil.copy2)

    def keep(self, name):
        """A copy of the save as it is now."""
        path = os.path.join(self.work, name)
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.directory, path, ignore=shutil.ignore_patterns(f'*{saves.STRAY}*'))
        return path

    def keep_all(self, name):
        """A copy of its directory with whatever lies beside the save."""
        path = os.path.join(self.work, name)
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.directory, path, copy_function=shutil.copy2)
        return path

    def apart(self):
        """The same with the save in another place, which nobody looks at meanwhile."""
        other = copy.copy(self)
        other.directory = os.path.join(self.work, 'apart')
        other.save = os.path.join(other.directory, self.kind.file)
        return other

    def run(self, *words, struck=True):
        """(status, what it said)"""
        done = subprocess.run([PROGRAM, *words], env=self.strike.env() if struck else None,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
                              check=False)
        return done.returncode, (done.stdout + done.stderr).decode(errors='replace')

    def cat(self, path):
        done = subprocess.run([PROGRAM, 'cat', self.save, path], capture_output=True,
                              timeout=LIMIT, check=False)
        return done.stdout if done.returncode == 0 else None

    def edit(self):
        """The edit without FUSE, struck as ordered."""
        if self.kind.command:
            return self.run(self.kind.command, self.save)
        return self.run('import', self.sources[1], self.save)

    def open_again(self):
        """What the next mount does to the save, without FUSE: opened for writing, nothing written."""
        return self.run('import', self.nothing, self.save, struck=False)

    def record_edit(self):
        """Runs the edit on a fresh save. The states, and the calls it makes."""
        first = None
        if self.kind.database:
            self.fresh()
            self.run('import', self.first, self.save, struck=False)
            first = self.keep('after-first')
        self.fresh()
        self.strike.order(COUNT, record=True)
        status, said = self.edit()
        self.strike.stop()
        if status != 0:
            raise RuntimeError(f'{self.kind.name}: the edit fails by itself: {said}')
        self.texts = {path: (old, self.cat(path)) for path, (old, _) in self.texts.items()}
        return saves.States(self.kind, self.pristine, self.keep('new'), first), self.strike.log()

    def after_crash(self, states, wanted=saves.GOOD, atomic=False):
        """What is wrong with the save; '' if nothing is. And its state. `atomic`: all was one edit."""
        state = states.judge(self.directory)
        if state not in wanted:
            return f'wanted {" or ".join(wanted)}, found: {state}', state
        status, said = self.run('check', self.save, struck=False)
        if status != 0:
            return f'check ends with {status}: {said}', state
        if state == 'between' and self.kind.named and self.kind.named not in said:
            return f'check does not say what happened: {said}', state
        status, said = self.open_again()
        if status != 0:
            return f'the next mount fails with {status}: {said}', state
        return self.after_mount(states, state, atomic), state

    def may_become(self, state, atomic):
        """What whoever opens a save in that state next makes of it."""
        if self.kind.journal:
            return {'old': ('old', 'new') if atomic else saves.GOOD,
                    'between': ('new',) if atomic else ('between', 'new'), 'new': ('new',)}[state]
        return (state, 'new') if state == 'between' and self.kind.finished else (state,)

    def after_mount(self, states, state, atomic=False):
        strays = saves.strays_of(self.directory)
        if strays:
            return f'left behind: {strays}'
        now = states.judge(self.directory)
        if now not in self.may_become(state, atomic):
            return f'the next mount made another state of {state}: {now}'
        for path, (old, new) in self.texts.items():
            text = self.cat(path)
            wanted = {'old': [old], 'new': [new], 'between': [old, new]}[now]
            if text not in wanted:
                return f'{path} does not read as it should'
        return ''


# ---- mounts ----------------------------------------------------------------------------------------------

class Mount:
    """The daemon in the foreground, so that it can be killed and its status be had."""

    def __init__(self, bench, *options, struck=True):
        self.bench, self.point = bench, bench.point
        self.said = open(os.path.join(bench.work, 'daemon'), 'w+b')
        environment = bench.strike.env() if struck else dict(os.environ)
        environment['XDG_STATE_HOME'] = os.path.join(bench.work, 'state')
        self.daemon = subprocess.Popen([PROGRAM, '-f', *options, bench.save, self.point],
                                       env=environment, stdin=subprocess.DEVNULL,
                                       stdout=self.said, stderr=self.said)
        _mounts.append(self)
        end = time.monotonic() + LIMIT
        while not os.path.ismount(self.point):
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.kill()
                raise RuntimeError(f'the mount fails: {self.output()}')
            time.sleep(0.003)

    def path(self, name):
        return os.path.join(self.point, name)

    def output(self):
        with open(self.said.name, 'rb') as f:
            return f.read().decode(errors='replace')

    def umount(self):
        """The status of umount."""
        done = subprocess.run([PROGRAM, 'umount', self.point], capture_output=True, timeout=LIMIT,
                              check=False)
        if os.path.ismount(self.point):
            self.kill()
            raise RuntimeError(f'umount ends with {done.returncode}: {done.stderr.decode()}')
        self.daemon.wait(timeout=LIMIT)
        self.kill()
        return done.returncode

    def kill(self):
        """Also what is left of a killed mount."""
        if self not in _mounts:
            return
        _mounts.remove(self)
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()
        self.said.close()
        if subprocess.run(['fusermount3', '-u', '-z', self.point], capture_output=True,
                          check=False).returncode != 0:
            subprocess.run(['umount', '-l', self.point], capture_output=True, check=False)


def put(path, text, way='close'):
    """Writes a whole file as a program does. 0 or the errno that the program hears, and what is still
    open (way 'fsync')."""
    fd, end = None, time.monotonic() + AGAIN
    while fd is None:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
        except OSError:
            # The one fault came while the name was looked up, or its region was read, which is looked at again within a
            # second: nothing was written, and the program tries again.
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    try:
        while text:
            text = text[os.write(fd, text):]
        if way == 'fsync':
            os.fsync(fd)
    except OSError as e:
        return e.errno, fd
    if way == 'fsync':
        return 0, fd
    try:
        os.close(fd)
    except OSError as e:
        return e.errno, None
    return 0, None


def write_all(mount, bench, which):
    """The edit through the mount, each text a commit. The errno that the last close or fsync says."""
    paths = list(bench.texts)
    for path in paths[:-1]:
        error, _ = put(mount.path(path), bench.texts[path][which])
        if error:
            return error
    way = 'close' if len(paths) == 1 else 'fsync'
    error, fd = put(mount.path(paths[-1]), bench.texts[paths[-1]][which], way)
    if fd is not None:
        try:
            os.close(fd)
        except OSError as e:
            return error or e.errno
    return error


def _clean():
    for mount in list(_mounts):
        mount.kill()
    shutil.rmtree(_work, ignore_errors=True)


atexit.register(_clean)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
