"""What the tests of power cuts and of bursts edit: places in a save that show a number, which grows with each edit."""
import os
import re

WAYS = ('close', 'fsync', 'rename', 'reader', 'append')
FIRST = 20  # the number of the first edit, which no save as made has; 0: not edited


def write(path, data, flags, sync=False):
    """In two parts, so that half of a document can be met."""
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        while data:
            end = data.find(b'\n', len(data) // 2) + 1 or len(data)
            data = data[os.write(fd, data[:end]):]
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def sync_only(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class File:
    """Something in the file `path` that is a number, which grows with each edit."""

    def edit(self, r, point, n, ways=WAYS):
        """In one of the ways in which programs write."""
        path = os.path.join(point, self.path)
        with open(path, 'rb') as f:
            whole, line = self.text(f.read(), n)
        way = r.choice([way for way in ways if way != 'append' or line is not None])
        if way == 'rename':
            temp = os.path.join(os.path.dirname(path), '.new-' + os.path.basename(path))
            write(temp, whole, os.O_CREAT)
            os.rename(temp, path)
        elif way == 'append':
            write(path, line, os.O_APPEND)
        else:
            write(path, whole, os.O_TRUNC, way == 'fsync')
        if way == 'reader':
            sync_only(path)

    def number(self, tree):
        with open(os.path.join(tree, self.path), 'rb') as f:
            return self.number_in(f.read())


class Table(File):
    """A voxel of voxels.csv."""

    def __init__(self, tree, chunk, form):
        self.path, self.form = f'chunks/{chunk}/voxels.csv', form
        with open(os.path.join(tree, self.path), 'rb') as f:
            header, self.first = f.read().split(b'\n')[:2]
        self.at = b','.join(self.first.split(b',')[:3]) + b','
        self.more = b',0' * (header.count(b',') - 3 - form.count(b','))

    def text(self, old, n):
        """A whole new table, and what could be appended to the old one instead."""
        line = self.at + self.form % n + self.more + b'\n'
        rest = [x for x in old.splitlines(keepends=True) if not x.startswith(self.at)]
        return b''.join(rest) + line, line

    def number_in(self, text):
        for line in text.splitlines():
            if line.startswith(self.at) and line != self.first:
                return int(re.match(re.escape(self.form).replace(b'%d', b'(\\d+)'), line[len(self.at):])[1])
        return 0 if self.first in text.splitlines() else -1


class Palette(File):
    """The name of a terrain's first material."""
    path = 'palette.txt'

    def text(self, old, n):
        return b'0 Edit_%d\n' % n + old.split(b'\n', 1)[1], None

    def number_in(self, text):
        found = re.match(b'0 Edit_(\\d+)\n', text)
        return int(found[1]) if found else 0


class Heights(File):
    """A tile of a terrain, all of one height."""
    path = 'chunks/0_0_0/heights.txt'

    def text(self, old, n):
        return b'fill %d\n' % (60000 + n), None

    def number_in(self, text):
        values = {value for row in text.split(b'\n') if b'|' in row for value in row.split(b'|')[1].split()}
        return max(0, int(values.pop()) - 60000) if len(values) == 1 else 0


class Chunk:
    """A chunk that is made, and from then on moved."""

    def __init__(self, place):
        self.path, self.place = 'chunks', place

    def edit(self, r, point, n, ways=WAYS):
        top = os.path.join(point, 'chunks')
        if n == FIRST:
            os.mkdir(os.path.join(top, self.place(n)))
        else:
            os.rename(os.path.join(top, self.place(n - 1)), os.path.join(top, self.place(n)))
        if 'fsync' in ways and r.randrange(2):
            sync_only(top)

    def number(self, tree):
        names = os.listdir(os.path.join(tree, 'chunks'))
        found = [n for n in range(FIRST, FIRST + 100) if self.place(n) in names]
        return found[0] if len(found) == 1 else -len(found)


def in_regions(n):
    """From one file of a folder to another, and back."""
    return f'{16 * (n % 2) + n // 2 % 16}_9_{n // 32}'


FORMS = {'cosmic': b'base:edit_%d', 'roblox': b'Rock,%d', 'godot': b'%d'}
PLACES = {'cosmic-zone': in_regions, 'cosmic-mixed': in_regions,
          'cosmic-table': lambda n: f'{n % 16}_{n // 16}_9', 'cosmic-gzip': lambda n: f'{n % 16}_{n // 16}_9',
          'roblox-value': lambda n: f'{n}_9_-9', 'roblox-binary': lambda n: f'{n}_9_-9',
          'roblox-xml': lambda n: f'{n}_9_-9', 'godot-stream': lambda n: f'{n}_9_-9',
          'godot-stream-wal': lambda n: f'{n}_9_-9'}


def slots_of(kind, tree):
    """Two files to edit, of different chunks where there are any, and a chunk. `tree`: an export."""
    if kind.name.startswith('beamng'):
        return [Palette(), Heights()]
    chunks = sorted(os.listdir(os.path.join(tree, 'chunks')))
    slots = [Table(tree, chunk, FORMS[kind.name.split('-')[0]]) for chunk in sorted({chunks[0], chunks[-1]})]
    return slots + ([Chunk(PLACES[kind.name])] if kind.name in PLACES else [])
