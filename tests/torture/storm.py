#!/usr/bin/env python3
"""Kill storm: writers with a ledger of what was acknowledged edit saves through their mounts, and the daemon
is killed with SIGKILL at random moments and mounted again, over and over.

storm.py [--kills N] [--seed N] [--jobs N] [--kinds A,B,...] [--where DIR]

Each life of the daemon has one of the commit modes. After each kill: `terrainfs check` accepts the save, with its
journal; the next mount shows every edit whose close, fsync, rename, mkdir or rmdir came back with 0, and of one
that was under way all or nothing; a file that nobody edited has its bytes; beside the save there is nothing that was
not there before. Every 25 kills the save, once a mount has brought the journal into it, is read by a program of its own (region.py, place.py, ter.py, SQLite's integrity check) as well. TERRAINFS and TOOLS come from TFS_BIN and TFS_TOOLS.
Prints one line a kind, and its seed; the times of the kills are as random as the machine is.
"""
import argparse
import concurrent.futures
import ctypes
import errno
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'tools'))
import place as place_reader  # noqa: E402
import region as region_reader  # noqa: E402
import ter as ter_reader  # noqa: E402

BIN = os.environ.get('TFS_BIN', os.path.join(ROOT, 'build', 'terrainfs'))
TOOLS = os.environ.get('TFS_TOOLS', os.path.join(os.path.dirname(BIN), 'tools'))
GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV, errno.EIO)
PATIENCE = 120  # seconds after which something that must happen is said not to
LINGER = 1  # seconds that the names of a new directory wait; removed ones wait two
MNT_FORCE = 1
HELD = 10  # seconds that a killed process may take to end
JOURNAL = '.terrainfs-journal'
MODES = 'auto', 'auto', 'close'
SECOND_OPINION = 25  # kills between two readings by another program


class Wrong(Exception):
    pass


# ---- slots: what a writer changes, and what the ledger says of it ------------------------------------------

class Slot:
    """One value of the tree. `known` are the values it may have: one, or two while an edit of it is open."""
    landed = 0  # edits that were under way at a kill, and are in the save

    def __init__(self, known):
        self.known, self.old = {known}, known

    def judge(self, seen, what):
        if seen not in self.known:
            raise Wrong('%s is %r, the ledger says %s' % (
                what, seen, ' or '.join(map(repr, sorted(self.known, key=str)))))
        Slot.landed += seen != self.old
        self.known, self.old = {seen}, seen

    def set(self, value, edit):
        """Runs the edit; when it comes back, the value is acknowledged."""
        self.known.add(value)
        edit()
        self.known, self.old = {value}, value


def write(path, data, flags=os.O_WRONLY | os.O_TRUNC, synced=False):
    fd = os.open(path, flags, 0o644)
    try:
        while data:
            data = data[os.write(fd, data):]
        if synced:
            os.fsync(fd)
    except BaseException:
        try:
            os.close(fd)
        except OSError:
            pass
        raise
    os.close(fd)


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def rename_over(path, data):
    temp = os.path.join(os.path.dirname(path), '.temp')
    write(temp, data, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.rename(temp, path)


def write_somehow(r, path, data):
    """The whole file, in one of the ways in which programs write one."""
    way = r.randrange(3)
    if way == 2:
        rename_over(path, data)
    else:
        write(path, data, synced=way == 1)


def patiently(work, undo=lambda: None):
    """Hidden names show again after two seconds (docs/semantics.md, N1). A daemon that stood still so long makes work fail that needs several calls: it is done again."""
    while True:
        begin = time.monotonic()
        try:
            return work()
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EINVAL) or time.monotonic() - begin < LINGER:
                raise
            undo()


class Voxels:
    """Voxels of one chunk's voxels.csv."""

    def __init__(self, r, chunk, edge, values, columns):
        self.file, self.values, self.columns = 'chunks/%s/voxels.csv' % chunk, values, columns
        origin = [int(n) * edge for n in chunk.split('_')]
        self.places = [b'%d,%d,%d' % tuple(o + r.randrange(edge) for o in origin) for _ in range(5)]
        self.slots = {}

    def line(self, text, at):
        """What the table says of a voxel, of the columns that edits are about; the last may be quoted."""
        begin = text.find(b'\n' + at + b',')
        if begin < 0:
            return b''
        begin += len(at) + 2
        line = text[begin:text.index(b'\n', begin)]
        return line.strip(b'"') if self.columns == 1 else b','.join(line.split(b',')[:self.columns])

    def judge(self, mount):
        text = read(os.path.join(mount, self.file))
        for at in self.places:
            seen = self.line(text, at)
            self.slots.setdefault(at, Slot(seen)).judge(seen, '%s, voxel %s' % (self.file, at.decode()))

    def compare(self, voxel, short):
        for at, slot in self.slots.items():
            seen = voxel(*map(int, at.split(b',')))
            if seen not in [short(value) for value in slot.known]:
                raise Wrong('%s, voxel %s: the file has %r, the ledger %s' % (self.file, at, seen, slot.known))

    def edit(self, r, mount):
        path, at = os.path.join(mount, self.file), r.choice(self.places)
        value = r.choice(self.values)
        line = at + b',' + value
        if r.randrange(2):
            self.slots[at].set(value, lambda: write(
                path, self.padded(path, line), os.O_WRONLY | os.O_APPEND, synced=r.randrange(3) == 0))
        else:
            text = read(path)
            self.slots[at].set(value, lambda: write_somehow(r, path, text + self.padded(path, line)))

    def padded(self, path, line):
        """A line with a value for each column of the table."""
        with open(path, 'rb') as file:
            more = file.readline().count(b',') - line.count(b',')
        return line + b',0' * more + b'\n'


class Heights:
    """A tile of heights.txt, all of one value or as it was made."""

    def __init__(self, tile):
        self.file, self.slot = 'chunks/%s/heights.txt' % tile, None

    def judge(self, mount):
        text = read(os.path.join(mount, self.file))
        rows = [row.partition(b'|')[2].split() for row in text.split(b'\n') if b'|' in row]
        values = set(sum(rows, []))
        seen = int(values.pop()) if len(values) == 1 else text
        self.slot = self.slot or Slot(seen)
        self.slot.judge(seen, self.file)

    def compare(self, terrain, _):
        tile = int(self.file.split('/')[1].split('_')[0])
        seen = {terrain.heights[row * terrain.side + 64 * tile + i] for row in range(64) for i in range(64)}
        if self.slot and len(seen) == 1 and not seen <= self.slot.known:
            raise Wrong('%s: the file has %s, the ledger %s' % (self.file, seen, self.slot.known))

    def edit(self, r, mount):
        value = r.randrange(65536)
        self.slot.set(value, lambda: write_somehow(
            r, os.path.join(mount, self.file), b'fill %d\n' % value))


class Names:
    """A line of a .ter's palette.txt, which stands in its sidecar as well."""

    def __init__(self, sidecar):
        self.file, self.sidecar, self.slot = 'palette.txt', sidecar, None
        self.listed = True  # the last edit of a name was acknowledged: the sidecar has it too

    def judge(self, mount):
        seen = read(os.path.join(mount, self.file)).split(b'\n')[1].partition(b' ')[2]
        self.slot = self.slot or Slot(seen)
        self.slot.judge(seen, 'palette.txt, line 2')
        if self.listed and b'"%s"' % seen not in read(self.sidecar):
            raise Wrong('the sidecar does not list %r' % seen)

    def compare(self, terrain, _):
        if self.slot and terrain.names[1].encode() not in self.slot.known:
            raise Wrong('the file has the name %s, the ledger %s' % (terrain.names[1], self.slot.known))

    def edit(self, r, mount):
        path = os.path.join(mount, self.file)
        lines = read(path).split(b'\n')
        value = b'Storm%d' % r.randrange(1000)
        lines[1] = b'1 ' + value
        self.listed = False
        self.slot.set(value, lambda: write_somehow(r, path, b'\n'.join(lines)))
        self.listed = True


class Lights:
    """Sky light, which goes and comes, and block light, whose edit takes the removal along."""

    def __init__(self, chunk):
        self.file, self.slot = 'chunks/%s/lights/' % chunk, None

    def judge(self, mount):
        sky, block = (read(path)[:12] if os.path.exists(path) else None for path in self.paths(mount))
        self.slot = self.slot or Slot((sky, block))
        self.slot.judge((sky, block), self.file)

    def paths(self, mount):
        return [os.path.join(mount, self.file, name) for name in ('sky.txt', 'block.txt')]

    def compare(self, *_):
        pass

    def edit(self, r, mount):
        sky, block = self.paths(mount)
        (_, lit), = self.slot.known
        if not os.path.exists(sky):
            self.slot.set((b'fill 7\n', lit), lambda: write(sky, b'fill 7\n', os.O_WRONLY | os.O_CREAT))
            return
        new = b'fill %03x\n' % r.randrange(4096)
        self.slot.known.add((None, lit))  # two seconds later, or with an edit of another writer
        os.unlink(sky)
        self.slot.set((None, new), lambda: write_somehow(r, block, new))


class Chunk:
    """A chunk that comes and goes."""

    def __init__(self, name):
        self.file, self.slot = 'chunks/' + name, None

    def judge(self, mount):
        seen = os.path.isdir(os.path.join(mount, self.file))
        self.slot = self.slot or Slot(seen)
        self.slot.judge(seen, self.file)

    def compare(self, *_):
        pass

    def edit(self, r, mount):
        path = os.path.join(mount, self.file)
        if os.path.isdir(path):
            self.slot.set(False, lambda: patiently(lambda: shutil.rmtree(path)))
        else:
            self.slot.set(True, lambda: os.mkdir(path))


class Moved:
    """A chunk that moves from one region to another and back: an edit of two files."""

    def __init__(self, names):
        self.files, self.slot = ['chunks/' + name for name in names], None
        self.file = self.files[0]

    def judge(self, mount):
        seen = tuple(os.path.isdir(os.path.join(mount, file)) for file in self.files)
        self.slot = self.slot or Slot(seen)
        self.slot.judge(seen, ' and '.join(self.files))
        if sum(seen) != 1:
            raise Wrong('%s are there: %r' % (' and '.join(self.files), seen))

    def compare(self, *_):
        pass

    def edit(self, _, mount):
        (seen,) = self.slot.known
        paths = [os.path.join(mount, self.files[i]) for i in (not seen[0], seen[0])]
        self.slot.set(seen[::-1], lambda: os.rename(*paths))


class Copied:
    """A chunk that nobody edits is copied by `cp -r`, the copy moves, and goes by `rm -r`."""

    def __init__(self, source, names):
        self.source, self.files, self.slot = source, ['chunks/' + name for name in names], None
        self.file = self.files[0]

    def judge(self, mount):
        there = [file for file in self.files if os.path.isdir(os.path.join(mount, file))]
        if len(there) > 1:
            raise Wrong('%s are there' % ' and '.join(there))
        seen = (there[0], self.is_whole(mount, there[0])) if there else None
        self.slot = self.slot or Slot(seen)
        self.slot.judge(seen, self.file + ', the copy')

    def is_whole(self, mount, copy):
        return read(os.path.join(mount, copy, 'raw.bin')) == read(os.path.join(mount, self.source, 'raw.bin'))

    def compare(self, *_):
        pass

    def edit(self, _, mount):
        first, second = self.files
        (seen,) = self.slot.known
        if seen is None:
            self.slot.known.add((first, False))
            self.slot.set((first, True), lambda: patiently(
                lambda: self.run(mount, 'cp', '-r', self.source, first), lambda: self.remove(mount, first)))
        elif seen == (first, True):
            self.slot.set((second, True), lambda: os.rename(os.path.join(mount, first), os.path.join(mount, second)))
        else:
            self.slot.known.add((seen[0], False))  # without what is optional
            self.slot.set(None, lambda: self.remove(mount, seen[0]))

    def remove(self, mount, copy):
        patiently(lambda: self.run(mount, 'rm', '-r', copy))

    def run(self, mount, *command):
        done = subprocess.run(command, cwd=mount, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            read(os.path.join(mount, self.source, 'raw.bin'))  # fails where the daemon was killed: rm says this and that
            raise OSError(errno.EINVAL, done.stderr.decode())


# ---- kinds of saves -------------------------------------------------------------------------------------------

def tool(*args):
    subprocess.run([os.path.join(TOOLS, args[0]), *args[1:]], check=True)


def chunk_names(save):
    out = subprocess.run([BIN, 'export', save, save + '.out'], stderr=subprocess.PIPE, check=False)
    if out.returncode:
        raise Wrong('export: ' + out.stderr.decode())
    names = sorted(os.listdir(save + '.out/chunks'))
    shutil.rmtree(save + '.out')
    return names


def beside(name, far):
    """The chunk so far along z."""
    x, y, z = name.split('_')
    return '%s_%s_%d' % (x, y, int(z) + far)


class Kind:
    """How a save is made, edited, and read by somebody else."""

    def __init__(self, name, file, make, edge=0, values=(), columns=1, free=None, moved=None, comes=None,
                 copies=None):
        self.name, self.file, self.make = name, file, make
        self.moved, self.comes = moved, comes  # between two regions; a file that is not always there
        self.copies = copies if copies is not None else free and (beside(free, 1), beside(free, 2))
        self.edge, self.values, self.columns, self.free = edge, values, columns, free
        self.database = file if file.endswith('.sqlite') else 'world/map.sqlite' if name == 'luanti world' else None

    def editors(self, r, save):
        """Who edits, one a thread, and a file that nobody touches."""
        if self.edge == 0:
            return [Heights('0_0_0'), Heights('1_0_0'), Names(save[:-4] + '.terrain.json')], \
                'chunks/1_0_1/heights.txt'
        names = chunk_names(save)
        still = 'chunks/%s/raw.bin' % names.pop() if len(names) > 1 else 'chunks/%s/metadata.txt' % names[0]
        editors = [Voxels(r, name, self.edge, self.values, self.columns) for name in names[:3]]
        if self.name.startswith('cosmic'):
            editors[-1] = Lights(names[0])
        if self.copies:
            editors.append(Copied(os.path.dirname(still), self.copies))
        return editors + ([Chunk(self.free)] if self.free else []) + ([Moved(self.moved)] if self.moved else []), still


def cosmic(version):
    return Kind('cosmic_reach version %d' % version, 'region_0_0_0.cosmicreach',
                lambda p: tool('make_region', '--version', str(version), '--chunks', '3', p),
                16, [b'base:storm_%d' % n for n in range(30)], free='2_3_1')


def zone(path):
    """Two regions of four chunks each."""
    tool('make_world', '--regions', '2', '--chunks', '4', path + '.world')
    os.rename(path + '.world/zones/base/earth', path)
    shutil.rmtree(path + '.world')


def roblox(name, file, *options):
    return Kind('roblox ' + name, file,
                lambda p: tool('make_place', *options, '--log2', '3', '--chunks', '3', p),
                8, [b'%s,%d,0' % (m, n) for m in (b'Rock', b'Sand') for n in range(1, 255, 7)], 3, '5_4_3')


def godot(name, file, kind, count, free=None, moved=None, copies=None):
    return Kind('godot_voxel ' + name, file, lambda p: tool('make_voxel', kind, p, count),
                16, [b'%d,%d' % (n, 3 * n) for n in range(1, 99, 5)], 2, free, moved, copies=copies)


def luanti(name, file, kind, version):
    return Kind('luanti ' + name, file, lambda p: tool('make_luanti', kind, p, '4', version),
                16, [b'mod:node%d,%d' % (n, 3 * n) for n in range(1, 80, 5)], 2, '5_5_5')


ZONE_MOVED = ('0_1_-16', '40_1_40')
KINDS = [
    cosmic(3), cosmic(5), cosmic(7),
    Kind('cosmic_reach zone', 'zone', zone, 16, [b'base:storm_%d' % n for n in range(30)], moved=ZONE_MOVED,
         comes='zone/regions/region_2_0_2.cosmicreach', copies=('1_1_-16', '41_1_40')),
    roblox('blob', 'terrain.bin', '--kind', 'raw'),
    roblox('binary, LZ4', 'place.rbxl', '--kind', 'binary'),
    roblox('binary, Zstandard', 'model.rbxm', '--kind', 'binary', '--coding', 'zstd'),
    roblox('XML', 'place.rbxlx', '--kind', 'xml'),
    godot('block', 'block.bin', 'block', '4'),
    godot('region', 'r.0.0.0.vxr', 'region', '2', '1_0_0', copies=()),  # it is full
    godot('folder', 'world', 'folder', '2', moved=('6_1_1', '1_3_1'), copies=('7_1_1', '2_3_1')),
    godot('SQLite', 'world.sqlite', 'stream', '12', '5_5_5'),
    luanti('map', 'map.sqlite', 'map', '25'),
    luanti('world', 'world', 'world', '29'),
    Kind('beamng .ter and sidecar', 'level.ter',
         lambda p: tool('make_ter', '--size', '128', '--sidecar', p)),
]


def cosmic_voxel(*regions):
    chunks = {}
    for region in regions:
        chunks.update(region_reader.Region(region).chunks)

    def at(x, y, z):
        name = chunks[x // 16, y // 16, z // 16].block(x, y, z)
        return b'' if name.startswith(b'base:air') else name
    return at


def roblox_voxel(save):
    """Air is no line; of the rest the occupancy is told."""
    chunks, edge = place_reader.grid(place_reader.read(save).values[0, 'SmoothGrid'])

    def at(x, y, z):
        cells = chunks[x // edge, y // edge, z // edge][1]
        material, occupancy, _ = cells[((y % edge) * edge + z % edge) * edge + x % edge]
        return b'%d' % occupancy if material else b''
    return at


def check_database(save):
    db = sqlite3.connect(save)
    try:
        if db.execute('PRAGMA integrity_check').fetchall() != [('ok',)]:
            raise Wrong('SQLite finds fault with the database')
    finally:
        db.close()


def second_opinion(save, editors):
    """Reads the save with a program that shares no line with the one under test, and holds the ledger against it."""
    name = os.path.basename(save)
    if name.endswith('.cosmicreach'):
        at = cosmic_voxel(save)
        for editor in editors:
            editor.compare(lambda *place: at(*place), lambda value: value)
    elif name == 'zone':
        regions = [os.path.join(save, 'regions', region) for region in os.listdir(save + '/regions')]
        at = cosmic_voxel(*regions)
        for editor in editors:
            editor.compare(lambda *place: at(*place), lambda value: value)
    elif name.startswith(('place', 'model', 'terrain')):
        at = roblox_voxel(save)
        for editor in editors:
            editor.compare(lambda *place: at(*place), lambda value: value.split(b',')[1] if value else value)
    elif name.endswith('.ter'):
        terrain = ter_reader.Terrain(save)
        for editor in editors:
            editor.compare(terrain, None)
    elif name.endswith('.sqlite'):
        check_database(save)
    elif os.path.exists(save + '/map.sqlite'):
        check_database(save + '/map.sqlite')


# ---- one save, its mounts and its kills -------------------------------------------------------------------------

def is_mounted(mount):
    with open('/proc/self/mounts') as file:
        return any(line.split(' ')[1] == mount for line in file)


def until(what, come_true, *args):
    end = time.monotonic() + PATIENCE
    while not come_true(*args):
        if time.monotonic() > end:
            raise Wrong('%s: not within %d seconds' % (what, PATIENCE))
        time.sleep(0.001)


# False: a thread waits in the kernel, for one that was stopped before it.
def stands_still(pid):
    end = time.monotonic() + 1
    while time.monotonic() < end:
        if os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return True
        time.sleep(0.001)
    return False


def all_names(top):
    return sorted(os.path.relpath(os.path.join(at, name), top)
                  for at, dirs, files in os.walk(top) for name in dirs + files)


class Storm:
    def __init__(self, kind, seed, kills, where):
        self.kind, self.r, self.kills = kind, random.Random('%d/%s' % (seed, kind.name)), kills
        self.top = tempfile.mkdtemp(prefix='tfs-storm-', dir=where)
        self.mount, self.saves = self.top + '/mnt', self.top + '/saves'
        os.mkdir(self.mount)
        os.mkdir(self.saves)
        self.save = os.path.join(self.saves, kind.file)
        kind.make(self.save)
        self.names = all_names(self.saves)
        self.editors, self.still = kind.editors(self.r, self.save)
        self.still_bytes = None
        self.lock = threading.Lock()
        self.acks, self.open, self.early, self.torn, self.held, self.journals = 0, 0, 0, 0, 0, 0
        self.killed, self.enough, self.errors = False, threading.Event(), []

    # One life of the daemon. The first ends within a rewrite, on a machine of any speed.
    def live(self, first, wanted, delay, cut_short):
        self.killed, self.errors = False, []
        self.enough.clear()
        mode = 'commit=' + ('close' if first else self.r.choice(MODES))
        daemon = subprocess.Popen([BIN, '-f', '-o', mode, self.save, self.mount], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            if cut_short and not first:  # while it opens the save, removes strays, mounts
                time.sleep(delay)
                self.early += 1
            elif self.ready(daemon):
                self.judge()
                self.write_until_killed(daemon, wanted, delay, first)
        finally:
            self.killed = True
            daemon.kill()
            self.bury(daemon)
            said = daemon.communicate()[1].decode()
            self.unmount()
        if daemon.returncode != -9 or self.errors:
            raise Wrong('status %d; %s %s' % (daemon.returncode, ' '.join(self.errors), said))
        self.torn += self.has_stray()
        self.journals += any(name.endswith(JOURNAL) for name in all_names(self.saves))

    # A new file that is not yet in the place of the old one.
    def has_stray(self):
        return any('.terrainfs-' in name and not name.endswith(JOURNAL)
                   for name in all_names(self.saves) if name not in self.names)

    # Is the daemon stopped in the midst of a rewrite?
    def is_caught(self, daemon):
        if self.errors:
            return True
        if not self.has_stray():
            return False
        daemon.send_signal(signal.SIGSTOP)
        if stands_still(daemon.pid) and self.has_stray():
            return True
        daemon.send_signal(signal.SIGCONT)
        return False

    def ready(self, daemon):
        before = os.stat(self.top).st_dev

        def come():
            return daemon.poll() is not None or os.stat(self.mount).st_dev != before
        until('a mount', come)
        return daemon.poll() is None

    # The kernel lets a killed daemon wait, unkillable, when it was just invalidating a page that a reader
    # waits for, and the reader waits for the daemon. These are counted apart.
    def bury(self, daemon):
        try:
            daemon.wait(HELD)
        except subprocess.TimeoutExpired:
            self.held += 1
            # By this very process: another one would have to close the files that are open in the mount first,
            # and wait for the daemon with that.
            ctypes.CDLL(None).umount2(os.fsencode(self.mount), MNT_FORCE)
            daemon.wait(PATIENCE)

    def unmount(self):
        while is_mounted(self.mount):
            subprocess.run(['fusermount3', '-u', '-z', self.mount], stderr=subprocess.DEVNULL, check=False)

    def judge(self):
        names = all_names(self.saves)
        extra = [n for n in names if n not in self.names and not self.may_be_there(n)]
        if extra or [n for n in self.names if n not in names]:
            raise Wrong('beside the save: %s, wanted %s' % (names, self.names))
        for editor in self.editors:
            editor.judge(self.mount)
        still = read(os.path.join(self.mount, self.still))
        self.still_bytes = self.still_bytes or still
        if still != self.still_bytes:
            raise Wrong(self.still + ' was changed, which nobody edited')

    # The companions of a database belong to SQLite.
    def may_be_there(self, name):
        return name == self.kind.comes or self.kind.database and name in [self.kind.database + end for end in ('-wal', '-shm', '-journal')]

    def write_until_killed(self, daemon, wanted, delay, caught):
        self.left = wanted
        writers = [threading.Thread(target=self.edit, args=(e, random.Random(self.r.random())), daemon=True)
                   for e in self.editors]
        for writer in writers:
            writer.start()
        until('%d edits' % wanted, self.enough.wait, 1)
        if caught:
            until('a rewrite', self.is_caught, daemon)
        else:
            time.sleep(delay)
        self.killed = True
        daemon.kill()
        self.bury(daemon)
        for writer in writers:
            writer.join(PATIENCE)
            if writer.is_alive():
                raise Wrong('a writer hangs')

    def edit(self, editor, r):
        try:
            if self.left == 0:
                self.enough.set()
            while True:
                editor.edit(r, self.mount)
                with self.lock:
                    self.acks += 1
                    self.left -= 1
                    if self.left <= 0:
                        self.enough.set()
        except OSError as error:
            if not self.killed or error.errno not in GONE:
                self.errors.append('%s: %s' % (editor.file, error))
                self.enough.set()
            self.open += 1

    def check(self):
        out = subprocess.run([BIN, 'check', self.save], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, check=False)
        if out.returncode:
            raise Wrong('check: ' + out.stdout.decode())

    # A mount brings the journal into the save.
    def settle(self):
        for words in ([self.save, self.mount], ['umount', self.mount]):
            subprocess.run([BIN, *words], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self):
        begin = time.monotonic()
        for kill in range(self.kills):
            try:
                self.live(kill == 0 and not self.kind.database, self.r.choice((0, 0, 1, 1, 2, 3, 5, 9)),
                          self.r.random() ** 2 * 0.01, self.r.randrange(12) == 0)
                self.check()
                if kill % SECOND_OPINION == 0:
                    self.settle()
                    second_opinion(self.save, self.editors)
            except Exception as error:
                raise Wrong('%s, kill %d (%s): %s' % (self.kind.name, kill + 1, self.top, error)) from error
        # What the last kill left, seen by a mount that is not killed.
        self.finish()
        shutil.rmtree(self.top)
        return '%-25s %5d kills, %4d while it mounted, %5d in the midst of a rewrite, %5d with a journal; %6d edits ' \
            'acknowledged, %5d under way, of which %5d landed; %5.0f s' % (
                self.kind.name + ':', self.kills, self.early, self.torn, self.journals, self.acks, self.open, Slot.landed,
                time.monotonic() - begin)

    def finish(self):
        subprocess.run([BIN, self.save, self.mount], check=True, stdin=subprocess.DEVNULL)
        try:
            self.judge()
            for editor in self.editors:  # which also ends what SQLite left of a change that was none
                editor.edit(self.r, self.mount)
            subprocess.run([BIN, 'sync', self.mount], check=True)
            self.judge()
        finally:
            status = subprocess.run([BIN, 'umount', self.mount], check=False).returncode
        if status or [name for name in all_names(self.saves) if name != self.kind.comes] != self.names:
            raise Wrong('umount: status %d, there is %s' % (status, all_names(self.saves)))
        second_opinion(self.save, self.editors)


def run_kind(task):
    name, seed, kills, where = task
    Slot.landed = 0
    try:
        storm = Storm(next(k for k in KINDS if k.name == name), seed, kills, where)
        return True, storm.run(), (storm.acks, storm.torn, storm.held, storm.journals)
    except Wrong as wrong:
        return False, str(wrong), (0, 0, 0, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kills', type=int, default=100)
    parser.add_argument('--seed', type=int, default=None)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--kinds', default='')
    parser.add_argument('--where', default=None)
    a = parser.parse_args()
    seed = a.seed if a.seed is not None else random.SystemRandom().randrange(1 << 31)
    kinds = [k.name for k in KINDS if not a.kinds or any(w in k.name for w in a.kinds.split(','))]
    tasks = [(name, seed, a.kills // len(kinds) + (i < a.kills % len(kinds)), a.where)
             for i, name in enumerate(kinds)]
    failed = acks = torn = held = journals = 0
    with concurrent.futures.ProcessPoolExecutor(a.jobs) as pool:
        for good, text, counts in pool.map(run_kind, [t for t in tasks if t[2]]):
            print(text if good else 'FAILED ' + text, flush=True)
            failed, acks, torn = failed + (not good), acks + counts[0], torn + counts[1]
            held, journals = held + counts[2], journals + counts[3]
    print('seed %d: %d kills of %d kinds of saves, %d in the midst of a rewrite, %d with a journal, %d daemons held by the kernel, '
          '%d edits acknowledged, %d kinds failed' % (
              seed, a.kills, len([t for t in tasks if t[2]]), torn, journals, held, acks, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
