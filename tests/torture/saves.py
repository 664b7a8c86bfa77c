"""Small saves of every container kind, an edit of each, and what a save may be after a crash."""
import os
import shutil
import sqlite3
import subprocess
import tempfile

STRAY = '.terrainfs-'
UNSAVED = '.unsaved-'   # in the name of the directory where umount puts what could not be saved
REGION_HEADER = 20  # bytes before the table of a region of version 3


def drop_last_line(text):
    """Of voxels.csv: the last voxel becomes empty."""
    lines = text.splitlines(keepends=True)
    return b''.join(lines[:-1])


def rename_first(text):
    """Of a palette of lines INDEX NAME."""
    first, rest = text.split(b'\n', 1)
    return first + b'_renamed\n' + rest


def all_of_type(_):
    """A channel file of a chunk that was not there."""
    return b'fill 7\n'


class Kind:
    """How a kind of save is made and edited. `edits`: (path in the tree, function of its text), all of them
    one commit."""

    def __init__(self, name, file, make, edits, whole=True, database=False, prepare=None, mount=True,
                 command=None, named=None, finished=False, journal=False):
        self.name, self.file, self.make, self.edits = name, file, make, edits
        self.whole = whole          # one file, which is the old or the new one
        self.database = database    # compared by what it says, after recovery
        self.prepare = prepare
        self.mount = mount          # the edit is one that the mount's programs make too
        self.command = command      # makes the edit, instead of `import`
        self.finished = finished    # whoever opens it next for writing finishes what was begun
        self.journal = journal      # several files with one journal, which that one finishes
        self.named = named          # what `check` says of a save whose files do not belong together

    def create(self, tools, directory):
        os.makedirs(directory)
        path = os.path.join(directory, self.file)
        command = [os.path.join(tools, self.make[0]), *self.make[1:]]
        subprocess.run([path if word == '@' else word for word in command], check=True)
        if self.prepare:
            self.prepare(path)


def write_ahead(path):
    connection = sqlite3.connect(path)
    connection.execute('PRAGMA journal_mode=WAL')
    connection.close()


def scatter_attributes(path):
    """A mode, an attribute where the file system stores them: the copy has to get them."""
    os.chmod(path, 0o640)
    try:
        os.setxattr(path, b'user.torture', b'kept')
    except OSError:
        pass


def regions_of_version_2(path):
    """meta.vxrm and the regions as older engines wrote them."""
    meta = os.path.join(path, 'meta.vxrm')
    with open(meta, encoding='utf-8') as f:
        text = f.read().replace('"version": 3', '"version": 2')
    with open(meta, 'w', encoding='utf-8') as f:
        f.write(text)
    level = os.path.join(path, 'regions', 'lod0')
    for name in os.listdir(level):
        with open(os.path.join(level, name), 'r+b') as f:
            data = f.read()
            f.seek(0)
            f.write(data[:4] + b'\2' + data[REGION_HEADER:])
            f.truncate()


def without_regions(path):
    shutil.rmtree(os.path.join(path, 'regions'))


def zone_alone(path):
    """Of a world its zone."""
    world = path + '.world'
    os.rename(path, world)
    os.rename(os.path.join(world, 'zones', 'base', 'earth'), path)
    shutil.rmtree(world)


def voxels(*chunks):
    return [(f'chunks/{chunk}/voxels.csv', drop_last_line) for chunk in chunks]


KINDS = [
    Kind('cosmic-table', 'region_0_0_0.cosmicreach',
         ['make_region', '--version', '3', '--chunks', '4', '@'], voxels('0_0_0'),
         prepare=scatter_attributes),
    Kind('cosmic-gzip', 'region_0_0_0.cosmicreach',
         ['make_region', '--version', '7', '--chunks', '4', '@'], voxels('0_0_0')),
    Kind('roblox-value', 'terrain.bin',
         ['make_place', '--kind', 'raw', '--chunks', '4', '--log2', '3', '@'], voxels('-1_0_0')),
    Kind('roblox-binary', 'place.rbxl',
         ['make_place', '--kind', 'binary', '--chunks', '4', '--log2', '3', '@'], voxels('-1_0_0')),
    Kind('roblox-xml', 'place.rbxlx',
         ['make_place', '--kind', 'xml', '--chunks', '4', '--log2', '3', '@'], voxels('-1_0_0')),
    Kind('godot-block', 'block.vxb', ['make_voxel', 'block', '@'], voxels('0_0_0')),
    Kind('godot-region', 'r.0.0.0.vxr', ['make_voxel', 'region', '@', '2'], voxels('1_0_0')),
    Kind('godot-folder', 'world', ['make_voxel', 'folder', '@', '2'], voxels('3_0_2', '5_1_1'),
         whole=False, journal=True),
    Kind('cosmic-zone', 'zone',
         ['make_world', '--regions', '2', '--chunks', '2', '@'], voxels('-16_0_-16', '0_0_-16'), whole=False,
         journal=True, prepare=zone_alone),
    Kind('cosmic-mixed', 'zone',
         ['make_world', '--mixed', '--regions', '30', '--chunks', '1', '@'], voxels('0_0_0', '-48_0_-48'), whole=False,
         journal=True, prepare=zone_alone),
    Kind('godot-folder-first', 'world', ['make_voxel', 'folder', '@', '0'],
         [('chunks/0_0_0/channels/type.txt', all_of_type)], whole=False, mount=False,
         prepare=without_regions),
    Kind('godot-folder-upgrade', 'world', ['make_voxel', 'folder', '@', '2'], [], whole=False,
         mount=False, prepare=regions_of_version_2, command='upgrade'),
    Kind('godot-stream', 'world.sqlite', ['make_voxel', 'stream', '@', '4'],
         voxels('-49_-1_-50', '-47_-1_-50'), database=True),
    Kind('godot-stream-wal', 'world.sqlite', ['make_voxel', 'stream', '@', '4'],
         voxels('-49_-1_-50', '-47_-1_-50'), database=True, prepare=write_ahead),
    Kind('luanti-map', 'map.sqlite', ['make_luanti', 'map', '@', '4', '25'],
         voxels('-1_-1_-1', '0_-1_-1'), database=True),
    Kind('beamng-pair', 'level.ter',
         ['make_ter', '--size', '16', '--materials', '3', '--sidecar', '@'],
         [('palette.txt', rename_first)], whole=False,
         named='listed other materials than the terrain', finished=True),
]


def files_of(directory):
    """Relative name -> bytes, of everything but the temp files of a commit."""
    found = {}
    for top, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(top, name)
            if STRAY not in name and UNSAVED not in top:
                with open(path, 'rb') as f:
                    found[os.path.relpath(path, directory)] = f.read()
    return found


def strays_of(directory):
    return [name for _, _, names in os.walk(directory) for name in names if STRAY in name]


def dump_of(directory, name):
    """What the database says after recovery, which happens in a copy. Raises what SQLite raises."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(directory, copy, dirs_exist_ok=True)
        connection = sqlite3.connect(os.path.join(copy, name))
        try:
            verdict = connection.execute('PRAGMA integrity_check').fetchall()
            if verdict != [('ok',)]:
                raise sqlite3.DatabaseError(f'integrity_check: {verdict[0][0]}')
            return '\n'.join(connection.iterdump())
        finally:
            connection.close()


class States:
    """The save before and after the edit; judges what is found later."""

    def __init__(self, kind, old, new, first=None):
        self.kind = kind
        self.old, self.new = self._look(old), self._look(new)
        self.first = first and self._look(first)  # of several edits of a database, each is a transaction
        if self.old == self.new:
            raise ValueError(f'{kind.name}: the edit changes nothing')

    def _look(self, directory):
        return dump_of(directory, self.kind.file) if self.kind.database else files_of(directory)

    def judge(self, directory):
        """'old', 'new', 'between' (each file, or transaction, is old or new), or what is wrong."""
        try:
            found = self._look(directory)
        except sqlite3.Error as e:
            return f'the database cannot be recovered: {e}'
        if found == self.old:
            return 'old'
        if found == self.new:
            return 'new'
        if found == self.first:
            return 'between'
        if self.kind.database:
            return 'the database says neither the old nor the new'
        for name in sorted(set(found) | set(self.old) | set(self.new)):
            if found.get(name) not in (self.old.get(name), self.new.get(name)):
                return f'{name} is neither the old nor the new one'
        return 'one file of several is old' if self.kind.whole else 'between'


GOOD = ('old', 'new', 'between')
