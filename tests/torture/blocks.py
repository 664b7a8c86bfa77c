"""Item 3, below a real file system: the power is cut at the block device.

A file system lies on a loop device over a file that logs every write and flush (tests/tools/disk_log.c). While two
writers edit a save on it through a mount, and a third program keeps the file system busy, marks in the log say which
edit began and which was acknowledged. Then disks are made as a power cut can leave them: everything that was written
before the last flush, and of what came since, for each block of 4 KiB, any of the versions written or none. Each is
mounted, so that the kernel recovers it, and what stands there is opened by the program: the save is whole, shows each
edit that was acknowledged or a later one, and none that never began.

blocks.py [--images N] [--edits N] [--seed N] [KIND@FILESYSTEM ...]; needs root and loop devices, else it is skipped.
"""
import argparse
import atexit
import ctypes
import fcntl
import glob
import hashlib
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

import harness
import saves
from slots import FIRST, slots_of

BLOCK = 4096
MIB = 1 << 20
WRITE, FLUSH, MARK = 1, 2, 3
HEAD = struct.Struct('=3Q')
DISK_LOG = os.path.join(harness.TOOLS, 'disk_log')
NOSYNC = os.path.join(harness.BUILD, 'torture', 'nosync.so')
STRAY = re.compile(r'\.terrainfs-[A-Za-z0-9]{6}$')
# The edits bring names; what a database replaces is kept on demand only.
EXPECTED = (': warning: names new to the save: ', ': edits of a database can be undone only with -o backup')
MODES = 'auto', 'close'

# name -> (type, MiB, mkfs, mount options)
EXT4 = ['mkfs.ext4', '-q', '-F', '-b', '4096', '-J', 'size=4', '-E', 'lazy_itable_init=0,lazy_journal_init=0']
FILE_SYSTEMS = {
    'ext4': ('ext4', 24, EXT4, ''),
    'ext4-busy': ('ext4', 24, EXT4, 'commit=1'),
    'ext4-writeback': ('ext4', 24, EXT4, 'data=writeback,noauto_da_alloc'),
    'ext4-journal': ('ext4', 24, EXT4, 'data=journal'),
    # Not in the lists below: Linux 6.18 loses files and whole file systems with it, without any terrainfs.
    'ext4-fast': ('ext4', 24, [*EXT4, '-O', 'fast_commit'], ''),
    'ext4-async': ('ext4', 24, EXT4, 'journal_async_commit,data=writeback'),
    'xfs': ('xfs', 300, ['mkfs.xfs', '-q', '-f', '-K'], ''),
    'btrfs': ('btrfs', 128, ['mkfs.btrfs', '-q', '-f', '-K'], ''),
    'btrfs-busy': ('btrfs', 128, ['mkfs.btrfs', '-q', '-f', '-K'], 'commit=1'),
}
SHORT = [('roblox-binary@ext4', 100), ('godot-stream@ext4', 60), ('godot-folder@ext4-busy', 40)]
FULL = [(f'{kind}@{fs}', images) for fs, images, kinds in (
    ('ext4', 800, ('roblox-binary', 'cosmic-table', 'godot-region', 'godot-stream')),
    ('ext4', 300, ('cosmic-gzip', 'roblox-value', 'roblox-xml', 'godot-block', 'godot-folder', 'godot-stream-wal',
                   'beamng-pair')),
    ('ext4-busy', 400, ('roblox-binary', 'godot-folder', 'godot-stream')),
    ('ext4-writeback', 300, ('roblox-binary', 'godot-stream')),
    ('ext4-journal', 300, ('roblox-binary',)),
    ('xfs', 400, ('roblox-binary', 'cosmic-table', 'godot-folder', 'godot-stream', 'beamng-pair')),
    ('btrfs', 400, ('roblox-binary', 'cosmic-table', 'godot-folder', 'godot-stream', 'beamng-pair')),
    ('btrfs-busy', 300, ('roblox-binary', 'godot-stream'))) for kind in kinds]



class Bad(Exception):
    """What is wrong with a save."""


libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, options=''):
    if libc.mount(source.encode(), target.encode(), kind.encode(), 0, options.encode()) < 0:
        error = ctypes.get_errno()
        raise OSError(error, f'{kind} cannot be mounted: {os.strerror(error)}')


def unmount(target):
    end = time.monotonic() + harness.LIMIT
    while libc.umount2(target.encode(), 0) < 0:
        if time.monotonic() > end:
            raise OSError(ctypes.get_errno(), f'{target} stays mounted')
        time.sleep(0.01)


class Loop:
    """A loop device over a file, which lasts as long as the `with`."""
    SET_FD, CLR_FD, GET_FREE = 0x4C00, 0x4C01, 0x4C82

    def __init__(self, path):
        self.file = path

    def __enter__(self):
        fd = os.open(self.file, os.O_RDWR)
        try:
            self.path = self._take(fd)
        finally:
            os.close(fd)
        return self.path

    def _take(self, fd):
        """Another program may take the free one first."""
        while True:
            with open('/dev/loop-control', 'rb') as control:
                number = fcntl.ioctl(control, self.GET_FREE)
            with open(f'/dev/loop{number}', 'r+b', buffering=0) as device:
                try:
                    fcntl.ioctl(device, self.SET_FD, fd)
                    return device.name
                except BlockingIOError:
                    pass
                except OSError as e:
                    if e.errno != 16:
                        raise

    def __exit__(self, *_):
        with open(self.path, 'r+b', buffering=0) as device:
            fcntl.ioctl(device, self.CLR_FD, 0)


def clean():
    """What a program that was told to end leaves: mounts, newest first, then loop devices."""
    with open('/proc/self/mounts', encoding='utf-8') as f:
        points = [line.split()[1] for line in f]
    for point in reversed(points):
        if point.startswith(harness.scratch()):
            libc.umount2(point.encode(), 2)    # MNT_DETACH
    for backing in glob.glob('/sys/block/loop*/loop/backing_file'):
        with open(backing, encoding='utf-8') as f:
            ours = f.read().startswith(harness.scratch())
        if ours:
            with open('/dev/' + backing.split('/')[3], 'r+b', buffering=0) as device:
                fcntl.ioctl(device, Loop.CLR_FD, 0)


def why_not():
    """Why this cannot be tested here; '' if it can."""
    if os.geteuid() != 0:
        return 'only root can mount what lies on a block device'
    if not harness.has_fuse():
        return 'no FUSE here'
    with tempfile.NamedTemporaryFile(dir=harness.scratch()) as image:
        image.truncate(MIB)
        try:
            with Loop(image.name):
                return ''
        except OSError as e:
            return f'no loop devices here: {e.strerror}'


def known_here(fs):
    with open('/proc/filesystems', encoding='ascii') as f:
        known = [line.split()[-1] for line in f]
    return FILE_SYSTEMS[fs][0] in known and shutil.which(FILE_SYSTEMS[fs][2][0]) is not None


# ---- recording -----------------------------------------------------------------------------------------------

class Writer(threading.Thread):
    """Edits one slot again and again, and marks in the log what it did."""

    def __init__(self, recording, index, count):
        super().__init__(daemon=True)
        self.slot, self.index, self.count = recording.slots[index], index, count
        self.point, self.mark = recording.point, recording.mark
        self.r = random.Random(f'{recording.title} {index}')
        self.acked, self.error = 0, None

    def run(self):
        try:
            for n in range(FIRST, FIRST + self.count):
                self.mark(f'begin {self.index} {n}')
                self.slot.edit(self.r, self.point, n)
                self.mark(f'acked {self.index} {n}')
                self.acked += 1
                if self.r.randrange(4) == 0:
                    time.sleep(self.r.random() * 0.02)
        except Exception as e:    # told by the main thread
            self.error = e


class Noise(threading.Thread):
    """Another program, whose files share transactions and blocks of metadata with the save."""

    def __init__(self, directory, r):
        super().__init__(daemon=True)
        self.directory, self.r, self.stop = directory, r, threading.Event()

    def run(self):
        os.mkdir(self.directory)
        while not self.stop.wait(self.r.random() * 0.01):
            name = os.path.join(self.directory, str(self.r.randrange(12)))
            what = self.r.randrange(6)
            if what < 3:
                with open(name, 'ab') as f:
                    f.write(self.r.randbytes(self.r.randrange(30000)))
                    if what == 0:
                        os.fsync(f.fileno())
            elif os.path.exists(name):
                if what == 3:
                    os.rename(name, name + 'x')
                elif what == 4:
                    os.truncate(name, 0)
                else:
                    os.unlink(name)

    def end(self):
        self.stop.set()
        self.join()


class Recording:
    """One run: `base`, the disk before it; `log`, what happened to it."""

    def __init__(self, kind, fs, edits, mode, seed, environment=None):
        self.title = f'{kind.name} on {fs}{"" if mode == "auto" else f", commit={mode}"} (seed {seed})'
        self.kind, self.mode, self.environment = kind, mode, environment
        self.fs, self.size, self.mkfs, self.options = FILE_SYSTEMS[fs]
        self.work = tempfile.mkdtemp(dir=harness.scratch())
        self.image, self.base, self.log_path = (os.path.join(self.work, n) for n in ('image', 'base', 'log'))
        self.disk, self.top, self.point = (os.path.join(self.work, n) for n in ('disk', 'top', 'mnt'))
        for directory in (self.disk, self.top, self.point):
            os.mkdir(directory)
        self._format()
        self._record(edits, random.Random(f'{seed} noise'))
        self.log = list(self._read_log())

    def _format(self):
        with open(self.image, 'wb') as f:
            f.truncate(self.size * MIB)
        subprocess.run([*self.mkfs, self.image], check=True, stdout=subprocess.DEVNULL)
        with Loop(self.image) as device:
            mount(device, self.top, self.fs)
            try:
                directory = os.path.join(self.top, 'saves')
                self.kind.create(harness.TOOLS, directory)
                save = os.path.join(directory, self.kind.file)
                tree = os.path.join(self.work, 'tree')
                subprocess.run([harness.PROGRAM, 'export', save, tree], check=True, capture_output=True)
                self.slots = slots_of(self.kind, tree)
                shutil.rmtree(tree)
            finally:
                unmount(self.top)
        subprocess.run(['cp', '--sparse=always', self.image, self.base], check=True)

    def _record(self, edits, r):
        server = subprocess.Popen([DISK_LOG, self.image, self.log_path, self.disk])
        try:
            self._until_mounted(server, self.disk)
            marks = os.open(os.path.join(self.disk, 'mark'), os.O_WRONLY)
            self.mark = lambda text: os.write(marks, text.encode())
            with Loop(os.path.join(self.disk, 'disk')) as device:
                mount(device, self.top, self.fs, self.options)
                noise = Noise(os.path.join(self.top, 'noise'), r)
                noise.start()
                try:
                    self._edit(edits)
                finally:
                    noise.end()
                    unmount(self.top)
            os.close(marks)
        finally:
            subprocess.run(['fusermount3', '-u', '-z', self.disk], check=False)
            server.wait(harness.LIMIT)

    @staticmethod
    def _until_mounted(daemon, point):
        end = time.monotonic() + harness.LIMIT
        while not os.path.ismount(point):
            if daemon.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f'nothing is mounted on {point}')
            time.sleep(0.003)

    def _edit(self, edits):
        save = os.path.join(self.top, 'saves', self.kind.file)
        environment = dict(os.environ, XDG_STATE_HOME=os.path.join(self.work, 'state'), **self.environment or {})
        said = open(os.path.join(self.work, 'said'), 'w+b')
        daemon = subprocess.Popen([harness.PROGRAM, '-f', '-o', f'commit={self.mode}', save, self.point],
                                  stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)
        try:
            self._until_mounted(daemon, self.point)
            writers = [Writer(self, i, edits) for i in range(len(self.slots))]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            self.acked = sum(writer.acked for writer in writers)
            for writer in writers:
                if writer.error:
                    raise writer.error
            if subprocess.run([harness.PROGRAM, 'umount', self.point], check=False).returncode != 0:
                raise RuntimeError('umount fails')
            daemon.wait(harness.LIMIT)
            for writer in writers:
                self.mark(f'acked {writer.index} {FIRST + edits - 1}')
        finally:
            subprocess.run(['fusermount3', '-u', '-z', '-q', self.point], check=False, stderr=subprocess.DEVNULL)
            daemon.kill()
            daemon.wait()
            said.seek(0)
            self.said = [line for line in said.read().decode(errors='replace').splitlines()
                         if not any(said in line for said in EXPECTED)]
            said.close()

    def _read_log(self):
        with open(self.log_path, 'rb') as f:
            while head := f.read(HEAD.size):
                kind, offset, size = HEAD.unpack(head)
                yield kind, offset, f.read(size)

    def release(self):
        shutil.rmtree(self.work)


# ---- states of the disk --------------------------------------------------------------------------------------

def pieces(offset, data):
    """A write, cut at the borders of blocks: each part arrives whole or not at all."""
    while data:
        size = BLOCK - offset % BLOCK
        yield offset, data[:size]
        offset, data = offset + size, data[size:]


def choices(r, count, wanted):
    """Which of `count` unflushed pieces arrived: none, all, the first ones in order, and any."""
    if count == 0:
        return [()]
    chosen = {(), tuple(range(count))}
    for _ in range(wanted * 3):
        if len(chosen) >= wanted:
            break
        prefix = r.randrange(1, count + 1)
        share = r.choice([1, 0.9, 0.5, 0.1])
        chosen.add(tuple(i for i in range(prefix) if r.random() < share))
    return sorted(chosen)


class Ledger:
    """What the marks say so far: the least and the most that each slot may show."""

    def __init__(self, slots):
        self.least, self.most = [0] * slots, [0] * slots

    def note(self, text):
        what, slot, n = text.decode().split()
        (self.least if what == 'acked' else self.most)[int(slot)] = int(n)


def copy_sparse(source, target):
    """The content of one open file becomes that of another; holes stay holes."""
    size = os.fstat(source).st_size
    os.ftruncate(target, 0)
    os.ftruncate(target, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError:
            break
        end = os.lseek(source, at, os.SEEK_HOLE)
        while at < end:
            at += os.pwrite(target, os.pread(source, min(end - at, 4 * MIB), at), at)


class Replay:
    """Makes the disks of a recording and looks at what the kernel makes of them."""

    def __init__(self, recording, images):
        self.recording, self.r = recording, random.Random(recording.title)
        self.verdicts = {}
        self.problems = [f'no edit is wrong, but the daemon says: {line}' for line in recording.said]
        self.figures = {'edits acknowledged': recording.acked, 'writes': 0, 'flushes': 0, 'images': 0,
                        'saves read': 0, 'temp files left': 0}
        self.candidate = os.path.join(recording.work, 'candidate')
        self.copy = os.path.join(recording.work, 'copy')
        self.wanted = images
        self.ledger = Ledger(len(recording.slots))

    def epochs(self):
        """(unflushed pieces) before each flush and at the end, with the ledger as of then. What a cut at an
        earlier moment of an epoch can leave, one at its end can leave too, when more is acknowledged."""
        unflushed = []
        for kind, offset, data in self.recording.log:
            if kind == MARK:
                self.ledger.note(data)
            elif kind == WRITE:
                self.figures['writes'] += 1
                unflushed += pieces(offset, data)
            else:
                self.figures['flushes'] += 1
                yield unflushed
                unflushed = []
        yield unflushed

    def run(self):
        count = 1 + sum(kind == FLUSH for kind, _, _ in self.recording.log)
        flushed = os.open(self.recording.base, os.O_RDWR)
        candidate = os.open(self.candidate, os.O_RDWR | os.O_CREAT)
        os.ftruncate(candidate, os.fstat(flushed).st_size)
        with Loop(self.candidate) as device:
            for n, unflushed in enumerate(self.epochs()):
                share = (self.wanted - self.figures['images']) / (count - n)
                wanted = int(share) + (self.r.random() < share % 1)
                for chosen in choices(self.r, len(unflushed), wanted)[:max(wanted, 1)] if wanted else ():
                    copy_sparse(flushed, candidate)
                    for i in chosen:
                        os.pwrite(candidate, unflushed[i][1], unflushed[i][0])
                    self.look(device, f'epoch {n}, {len(chosen)} of {len(unflushed)} unflushed blocks')
                for offset, data in unflushed:
                    os.pwrite(flushed, data, offset)
        os.close(candidate)
        os.close(flushed)
        return self

    def look(self, device, where):
        self.figures['images'] += 1
        try:
            mount(device, self.recording.top, self.recording.fs, self.recording.options)
            try:
                shown = self.verdict(os.path.join(self.recording.top, 'saves'))
            finally:
                unmount(self.recording.top)
        except (OSError, Bad) as e:
            self.problems.append(f'{where}: {e}')
            return
        for slot, number in enumerate(shown):
            least, most = self.ledger.least[slot], self.ledger.most[slot]
            if not least <= number <= most:
                path = self.recording.slots[slot].path
                self.problems.append(f'{where}: {path} shows edit {number}; {least} was acknowledged, {most} begun')

    def verdict(self, directory):
        """The number that each slot shows. Equal saves are opened once."""
        names = sorted(os.path.relpath(os.path.join(at, name), directory)
                       for at, _, files in os.walk(directory) for name in files)
        digest = hashlib.sha256()
        strays = [name for name in names if STRAY.search(name)]
        self.figures['temp files left'] += len(strays)
        for name in names:
            if name not in strays:
                with open(os.path.join(directory, name), 'rb') as f:
                    data = f.read()
                digest.update(b'%s %d ' % (os.fsencode(name), len(data)) + data)
        key = (digest.digest(), len(strays) > 0)
        if key not in self.verdicts:
            self.figures['saves read'] += 1
            shutil.rmtree(self.copy, ignore_errors=True)
            shutil.copytree(directory, self.copy)
            try:
                self.verdicts[key] = self.read_save()
            except Bad as bad:
                self.verdicts[key] = bad
        if isinstance(self.verdicts[key], Bad):
            raise self.verdicts[key]
        return self.verdicts[key]

    def read_save(self):
        save = os.path.join(self.copy, self.recording.kind.file)
        nothing = os.path.join(self.recording.work, 'nothing')
        os.makedirs(nothing, exist_ok=True)
        with open(os.path.join(nothing, 'info.txt'), 'wb'):
            pass
        # The next mount removes temp files; so does an import of nothing.
        self.program('check', save)
        self.program('import', nothing, save)
        left = [name for name in saves.strays_of(self.copy) if STRAY.search(name)]
        if left:
            raise Bad(f'left behind: {left}')
        tree = os.path.join(self.recording.work, 'tree')
        shutil.rmtree(tree, ignore_errors=True)
        self.program('export', save, tree)
        return [slot.number(tree) for slot in self.recording.slots]

    @staticmethod
    def program(*words):
        done = subprocess.run([harness.PROGRAM, *words], capture_output=True, check=False, timeout=harness.LIMIT)
        if done.returncode != 0:
            raise Bad(f'{words[0]} ends with {done.returncode}: {done.stderr.decode()} {done.stdout.decode()}')


# ---- all of it -----------------------------------------------------------------------------------------------

def torture(name, images, edits, seed, environment=None):
    """Half of it in the default mode, half with a commit at every close."""
    kind = next(k for k in saves.KINDS if k.name == name.split('@')[0])
    fs = name.split('@')[1]
    problems, figures = [], {}
    for mode in MODES:
        recording = Recording(kind, fs, edits, mode, seed, environment)
        replay = Replay(recording, images // 2).run()
        problems += [f'{recording.title}: {problem}' for problem in replay.problems]
        for key, value in replay.figures.items():
            figures[key] = figures.get(key, 0) + value
        recording.release()
    return problems, figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--images', type=int)
    parser.add_argument('--edits', type=int, default=20 if harness.FULL else 6)
    parser.add_argument('--seed', default=harness.SEED)
    parser.add_argument('pairs', nargs='*', metavar='KIND@FILESYSTEM')
    a = parser.parse_args()
    reason = why_not()
    if reason:
        print(f'1..0 # skip {reason}')
        return 0
    atexit.register(clean)
    pairs = [(pair, a.images or 300) for pair in a.pairs] or (FULL if harness.FULL else SHORT)
    for name, images in pairs:
        if not known_here(name.split('@')[1]):
            harness.skip(name, f'no {name.split("@")[1]} here')
            continue
        problems, figures = torture(name, a.images or images, a.edits, a.seed)
        harness.result(name, problems, figures)
    if not a.pairs:
        problems, _ = torture('roblox-binary@ext4', 60, a.edits, a.seed, {'LD_PRELOAD': NOSYNC})
        harness.result('control: without its syncs it is found out', [] if problems else ['it was not'],
                       {'images that show it': len(problems)})
    return harness.finish('blocks')


if __name__ == '__main__':
    sys.exit(main())
