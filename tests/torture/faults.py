"""Item 2: every system call that the program makes on the directory of the save fails once, with each errno, or
transfers less than it was asked to. The writer hears it, the old save is intact, the edit stays readable and
pending, and the next commit succeeds when the fault is gone."""
import copy
import errno
import os
import random
import shutil
import sys

import harness
import replay
import saves
from strike import ALL, CHANGE, FAIL, READ, SHORT

ERRORS = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR, 0]  # 0: a short transfer
ROUNDS = 10000
CHOICE = random.Random(f'{harness.SEED} faults')


class Counts:
    def __init__(self):
        self.problems = []
        self.figures = {'faults': 0, 'heard': 0, 'overcome': 0}

    def add(self, heard, problem, where):
        self.figures['faults'] += 1
        self.figures['heard' if heard else 'overcome'] += 1
        if problem:
            self.problems.append(f'{where}: {problem}')


def name_of(error):
    return errno.errorcode.get(error, 'short')


def order(bench, n, error, kinds, **more):
    bench.strike.order(FAIL if error else SHORT, at=n, error=error, kinds=kinds, **more)


def errors_of(n):
    """All of them, or for the short version one, another for each call."""
    return ERRORS if harness.FULL else [ERRORS[(n + harness.SEED) % len(ERRORS)]]


def judge_error(bench, state, way):
    """The save after an error that was heard."""
    if state not in saves.GOOD:
        return state
    # What a close could not save, the release of the handle tries once more, and nothing stands in its way.
    if way == 'close':
        return ''
    # Behind the rename nothing can be taken back: the new save is there, whether durably is not known.
    if state == 'new' and bench.kind.whole and not bench.kind.database and \
            not bench.strike.what.startswith(('sync', 'stat')):
        return 'an error was heard, but the new save is there'
    return ''


def survive(bench, states, before, wanted=('new',), swap=False):
    """Would what was acknowledged in the end survive a power cut? A failed fsync counts as one that lost what
    it should have kept, as on Linux."""
    if swap:
        bench = copy.copy(bench)
        bench.texts = {path: (new, old) for path, (old, new) in bench.texts.items()}
    disk = replay.disk_of(before)
    for call in bench.strike.log():
        disk.perform(call)
    run = replay.Replay(bench, states, CHOICE)
    if leaves_out_a_sync(bench):
        wanted = saves.GOOD
    run.look(disk, wanted, 'a power cut after it was acknowledged', 12)
    return run.problems[0] if run.problems else ''


def leaves_out_a_sync(bench):
    """SQLite goes on without the sync of a directory that it cannot open."""
    return bench.kind.database and bench.strike.what == f'open {os.path.basename(bench.directory)}'


# ---- without FUSE ----------------------------------------------------------------------------------------

def fail_import(bench, states, n, error, kinds, counts):
    """False: there is no n-th call any more."""
    bench.fresh()
    order(bench, n, error, kinds, record=True)
    status, said = bench.edit()
    where = f'{name_of(error)} in call {n}, {bench.strike.what}'
    count = bench.strike.count
    if not bench.strike.fired:
        bench.strike.stop()
        if status != 0:
            counts.problems.append(f'without a fault the status is {status}: {said}')
        return count >= n
    state = states.judge(bench.directory)
    if status == 0:
        problem = '' if state == 'new' else f'the status is 0, but the save is {state}'
    else:
        problem = judge_error(bench, state, 'import') or ('' if said else 'nothing is said')
        again, said = bench.edit()
        if not problem and again != 0:
            problem = f'without the fault the status is {again}: {said}'
    bench.strike.stop()
    # What the first run left behind a failed sync the second does not write again, and it never knew of it.
    # A sidecar that was not written is named, and stays as it is until a name changes.
    wanted = ('new', 'between') if bench.kind.named else ('new',)
    problem = problem or survive(bench, states, bench.pristine, wanted)
    crash, _ = bench.after_crash(states, wanted)
    counts.add(status != 0, problem or crash, where)
    return True


def all_of_import(bench, states):
    counts = Counts()
    for n in range(1, ROUNDS):
        there = [fail_import(bench, states, n, error, ALL if harness.FULL else CHANGE, counts)
                 for error in errors_of(n)]
        if not any(there):
            break
    harness.result(f'{bench.kind.name}, import', counts.problems, counts.figures)


# ---- through a mount -------------------------------------------------------------------------------------

class Writer:
    """Writes the one and the other text in turn through one mount that lives through all faults."""

    def __init__(self, bench, *options):
        self.bench, self.which = bench, 0
        bench.fresh()
        self.mount = harness.Mount(bench, *options)
        self.paths = list(bench.texts)

    def texts(self):
        return [self.bench.texts[path][self.which] for path in self.paths]

    def write(self, way):
        """The errno that was heard, and what is still open."""
        self.which = 1 - self.which
        first = 0
        for path, text in list(zip(self.paths, self.texts()))[:-1]:
            error, fd = harness.put(self.mount.path(path), text)
            first = first or error
            if fd is not None:
                os.close(fd)
        if len(self.paths) > 1:
            way = 'fsync'
        error, fd = harness.put(self.mount.path(self.paths[-1]), self.texts()[-1], way)
        return first or error, fd

    def reads(self):
        """Does every file read as it was written?"""
        for path, text in zip(self.paths, self.texts()):
            with open(self.mount.path(path), 'rb') as f:
                if f.read() != text:
                    return f'{path} does not read as it was written'
        return ''

    def save_again(self, fd):
        """fsync of the handle that wrote, or of one that only reads."""
        own = os.open(self.mount.path(self.paths[-1]), os.O_RDONLY) if fd is None else fd
        try:
            os.fsync(own)
            return ''
        except OSError as e:
            return f'without the fault, fsync says {name_of(e.errno)}'
        finally:
            os.close(own)


def fail_write(writer, n, error, way, kinds, counts):
    bench = writer.bench
    before = bench.keep('before')
    order(bench, n, error, kinds, record=True)
    heard, fd = writer.write(way)
    where = f'{name_of(error)} in call {n}, {bench.strike.what}, {way}'
    fired, count = bench.strike.fired, bench.strike.count
    if not fired:
        bench.strike.stop()    # what follows is to succeed
    at_error = bench.keep('error')
    # What the save cannot take is safe in the journal, through which commands read.
    in_journal = not heard and [bench.cat(path) for path in writer.paths] == writer.texts()
    problem = ' '.join(filter(None, [writer.reads(), writer.save_again(fd)]))
    bench.strike.stop()
    try:
        states = saves.States(bench.kind, before, bench.keep('after'))
    except ValueError as e:
        counts.problems.append(f'{where}: {problem}, {e}')
        return False
    if not fired:
        if heard or problem:
            counts.problems.append(f'without a fault errno {heard} is heard, {problem}')
        return count >= n
    # Several edits of a database are several transactions, of which each is old or new.
    if heard and bench.kind.database and len(writer.paths) > 1:
        pass
    elif heard:
        problem = problem or judge_error(bench, states.judge(at_error), way)
    elif states.judge(at_error) != 'new' and not in_journal:
        problem = f'nothing is heard, but the save is {states.judge(at_error)}'
    status, said = bench.run('check', os.path.join(bench.work, 'after', bench.kind.file), struck=False)
    if status != 0 or (bench.kind.named and bench.kind.named in said):
        problem = problem or f'in the end check says: {status} {said}'
    strays = saves.strays_of(bench.directory)
    if strays and not bench.strike.what.startswith('unlink'):
        problem = problem or f'left behind: {strays}'
    counts.add(bool(heard), problem or survive(bench, states, before, swap=writer.which == 0), where)
    return True


def all_of_mount(bench, states):
    counts = Counts()
    # So that the n-th call is the same one however soon an edit follows another: bursts.py has the journal.
    writer = Writer(bench, '-o', 'commit=close')
    ways = ['close', 'fsync'] if len(bench.texts) == 1 else ['fsync']
    for n in range(1, ROUNDS):
        there = [fail_write(writer, n, error, way, ALL if harness.FULL else CHANGE | READ, counts)
                 for error in errors_of(n)
                 for way in (ways if harness.FULL else ways[n % len(ways):][:1])]
        if not any(there):
            break
    status = writer.mount.umount()
    if status != 0:
        counts.problems.append(f'umount ends with {status}: {writer.mount.output()}')
    if writer.which == 0:
        bench.edit()
    problem, _ = bench.after_crash(states, ('new',))
    if problem:
        counts.problems.append(f'in the end: {problem}')
    harness.result(f'{bench.kind.name}, mount', counts.problems, counts.figures)


# ---- a disk that stays full ------------------------------------------------------------------------------

def kept_texts(bench):
    """Where umount put what it could not save: texts by path."""
    found = {}
    for top in (bench.directory, os.path.join(bench.work, 'state')):
        for directory, _, names in os.walk(top):
            for name in names:
                with open(os.path.join(directory, name), 'rb') as f:
                    found.setdefault(f.read(), os.path.join(directory, name))
    return found


def set_aside(bench):
    """Directories with the edits that umount could not save."""
    return [os.path.join(directory, name)
            for top in (bench.directory, os.path.join(bench.work, 'state'))
            for directory, names, _ in os.walk(top) for name in names if saves.UNSAVED in name]


def stay_full(bench, states, n, repaired, counts):
    """From the n-th call on nothing can be written; until the writer heard of it, or until umount returned."""
    bench.fresh()
    shutil.rmtree(os.path.join(bench.work, 'state'), ignore_errors=True)
    order(bench, n, errno.ENOSPC, CHANGE, repeat=True, wait=True)
    writer, done = Writer(bench), 'new'
    # Of several edits of a database the first is a transaction. While nothing at all can be written, SQLite cannot
    # roll back one that failed, and the database cannot be read for the next edit.
    if bench.kind.database and len(writer.paths) > 1:
        writer.paths, done = writer.paths[:1], 'between'
    bench.strike.start()
    heard, fd = writer.write('close')
    if fd is not None:
        try:
            os.close(fd)
        except OSError:
            pass
    fired = bench.strike.fired
    if repaired or not fired:
        bench.strike.stop()
    status = writer.mount.umount()
    bench.strike.stop()
    state, problem = states.judge(bench.directory), ''
    if not fired or repaired or not heard and status == 0:
        if status != 0 or state != done:
            problem = f'umount ends with {status}, the save is {state}'
    else:
        problem = still_full(bench, writer, status, heard)
    if problem and not fired:
        counts.problems.append(f'without a fault {problem}')
    if fired:
        counts.add(bool(heard), problem, f'full from call {n} on, {bench.strike.what}')
    return fired


def still_full(bench, writer, status, heard):
    if status != 3:
        return f'umount ends with {status}'
    kept = kept_texts(bench)
    # Of a save of several files one may be written when another could not; the journal beside the save has all of
    # such an edit, and what a close said 0 to.
    found = bench if not heard else bench.apart()
    if heard:
        shutil.rmtree(found.directory, ignore_errors=True)
        shutil.copytree(bench.directory, found.directory)
        for directory in set_aside(bench):
            found.run('import', '--force', directory, found.save, struck=False)
    for path, text in zip(writer.paths, writer.texts()):
        if text not in kept and found.cat(path) != text:
            return f'{path} is not kept'
    return ''


def all_of_full(bench, states):
    for repaired, title in ((True, 'full until close'), (False, 'full until umount')):
        counts = Counts()
        for n in range(1, ROUNDS):
            if not stay_full(bench, states, n, repaired, counts):
                break
        harness.result(f'{bench.kind.name}, mount, {title}', counts.problems, counts.figures)


def main():
    for kind in harness.chosen_kinds():
        bench = harness.Bench(kind)
        states, _ = bench.record_edit()
        all_of_import(bench, states)
        if not kind.mount:
            continue
        if not harness.has_fuse():
            harness.skip(f'{kind.name}, mount', 'no FUSE here')
            continue
        all_of_mount(bench, states)
        all_of_full(bench, states)
    return harness.finish('faults')


if __name__ == '__main__':
    sys.exit(main())
