#!/usr/bin/env python3
"""What is in a map of Luanti, read apart from terrainfs: from the database, or from the texts of a tree.

    luanti.py db MAP X_Y_Z...     the blocks as the layouts of luanti/FORMAT.md say
    luanti.py tree DIR X_Y_Z...   the same from chunks/X_Y_Z/*.txt and voxels.csv
    luanti.py axes OLD NEW        copies a map of the old schema into one of the new schema
    luanti.py row MAP X_Y_Z       the blob, in hex

The lines of `db` and `tree` are those that the mod of tests/tools/luanti_game prints, sorted."""
import collections
import ctypes
import os
import re
import sqlite3
import struct
import sys
import zlib

SIDE, VOXELS = 16, 4096


def unzstd(data):
    lib = ctypes.CDLL('libzstd.so.1')
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(1 << 24)
    size = lib.ZSTD_decompress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)))
    assert size <= len(room), 'zstd'
    return room.raw[:size]


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from('>' + layout, self.data, self.at)
        self.at += struct.calcsize('>' + layout)
        return values[0] if len(values) == 1 else values

    def bytes(self, size):
        self.at += size
        assert self.at <= len(self.data)
        return self.data[self.at - size:self.at]

    def line(self):
        return self.bytes(self.data.index(b'\n', self.at) + 1 - self.at)[:-1]

    def inflate(self):
        z = zlib.decompressobj()
        out = z.decompress(self.data[self.at:])
        self.at = len(self.data) - len(z.unused_data)
        return Reader(out)


class Block:
    """Nodes (name, param1, param2), variables, inventories, timers and objects, by place."""

    def __init__(self):
        self.nodes, self.objects, self.timers = [], [], {}
        self.fields, self.inventories = collections.defaultdict(dict), collections.defaultdict(list)

    @staticmethod
    def names(r):
        assert r.take('B') == 0
        found = {}
        for _ in range(r.take('H')):
            number, size = r.take('HH')
            found[number] = r.bytes(size)
        return found

    def read_metadata(self, r):
        version = r.take('B')
        for _ in range(r.take('H') if version else 0):
            place, count = r.take('HI')
            for _ in range(count):
                key = r.bytes(r.take('H'))
                self.fields[place][key] = r.bytes(r.take('I'))
                if version == 2:
                    r.take('B')
            while (line := r.line()) != b'EndInventory':
                self.inventories[place].append(line)

    def read_objects(self, r):
        assert r.take('B') == 0
        for _ in range(r.take('H')):
            kind, x, y, z, n = r.take('BiiiH')
            self.objects.append((kind, x / 10000, y / 10000, z / 10000, r.bytes(n)))

    def read_timers(self, r):
        assert r.take('B') == 10
        for _ in range(r.take('H')):
            place, timeout, elapsed = r.take('Hii')
            self.timers[place] = (timeout / 1000, elapsed / 1000)

    @staticmethod
    def of_blob(blob):
        """Versions 25 to 29."""
        b, version = Block(), blob[0]
        r = Reader(unzstd(blob[1:]) if version == 29 else blob[1:])
        r.take('B' if version < 27 else 'BH')
        if version == 29:
            r.take('I')
            names = b.names(r)
        assert r.take('BB') == (2, 2)
        nodes = r if version == 29 else r.inflate()
        param0, param1, param2 = (nodes.take('4096H'), nodes.bytes(VOXELS), nodes.bytes(VOXELS))
        b.read_metadata(r if version == 29 else r.inflate())
        b.read_objects(r)
        if version < 29:
            r.take('I')
            names = b.names(r)
        b.read_timers(r)
        assert r.at == len(r.data)
        b.nodes = [(names[i], p1, p2) for i, p1, p2 in zip(param0, param1, param2)]
        return b


# ---- texts

def unescape(text):
    return re.sub(rb'\\(\\|n|x[0-9a-f]{2})', lambda m: {b'\\': b'\\', b'n': b'\n'}.get(m[1]) or
                  bytes.fromhex(m[1][1:].decode()), text)


def place_of(x, y, z):
    return int(z) * 256 + int(y) * 16 + int(x)


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, 'rb') as f:
        return f.read().splitlines()


def grid(path, base):
    """The values of a grid by place, and its header lines."""
    lines = [line for line in lines_of(path) if line and not line.startswith(b'#')]
    header = [line for line in lines if line.startswith(b'palette ')]
    rows = lines[len(header):]
    if rows[0].startswith(b'fill '):
        return [int(rows[0].split()[1], base)] * VOXELS, header
    values = [int(v, base) for row in rows for v in row.split(b'|')[1].split()]
    return [values[(p >> 4 & 15) * 256 + (p >> 8) * 16 + (p & 15)] for p in range(VOXELS)], header


def of_tree(directory, key):
    b = Block()
    at = [16 * c for c in key]
    indices, header = grid(directory + '/blocks.txt', 10)
    names = {int(n): unescape(name) for _, n, name in (line.split(b' ', 2) for line in header)}
    param1, param2 = grid(directory + '/param1.txt', 16)[0], grid(directory + '/param2.txt', 10)[0]
    b.nodes = [(names[i], p1, p2) for i, p1, p2 in zip(indices, param1, param2)]
    for line in lines_of(directory + '/metadata.txt'):
        x, y, z, rest = line.split(b' ', 3)
        place = place_of(x, y, z)
        if rest.startswith(b'inventory '):
            b.inventories[place].append(unescape(rest[10:]))
        elif not rest.startswith(b'private '):
            word, _, value = rest.partition(b' =')
            b.fields[place][unescape(word)] = unescape(value[1:])
    for line in lines_of(directory + '/timers.txt'):
        x, y, z, timeout, elapsed = line.split()
        b.timers[place_of(x, y, z)] = (float(timeout), float(elapsed))
    for line in lines_of(directory + '/objects.txt'):
        kind, x, y, z, data = line.split()
        b.objects.append((int(kind), *(float(v) + a for v, a in zip((x, y, z), at)),
                          bytes.fromhex(data.decode())))
    check_table(directory + '/voxels.csv', b, at)
    return b


def check_table(path, block, at):
    """voxels.csv says the same as the grids."""
    wanted = {p: (name, p2) for p, (name, _, p2) in enumerate(block.nodes) if name != b'air'}
    found = {}
    for line in lines_of(path)[1:]:
        x, y, z, name, p2 = line.split(b',')
        found[place_of(int(x) - at[0], int(y) - at[1], int(z) - at[2])] = (unescape(name), int(p2))
    assert found == wanted, path


# ---- printing

def dump(block, key):
    def put(kind, place, *words):
        at = (place & 15, place >> 4 & 15, place >> 8)
        place = ' '.join(str(16 * k + a) for k, a in zip(key, at))
        yield b' '.join([kind, place.encode(), *words])

    for place, (name, p1, p2) in enumerate(block.nodes):
        yield from put(b'N', place, name, b'%d %d' % (p1, p2))
    for place, fields in block.fields.items():
        for name, value in fields.items():
            yield from put(b'M', place, name, value.replace(b'\n', b'\\n'))
    for place, lines in block.inventories.items():
        name, index = None, 0
        for line in lines:
            word, _, rest = line.partition(b' ')
            if word == b'List':
                name, index = rest.split()[0], 0
            elif word in (b'Item', b'Empty'):
                index += 1
                yield from put(b'I', place, name, b'%d' % index, rest)
    for place, (timeout, elapsed) in block.timers.items():
        yield from put(b'T', place, b'%.3f %.3f' % (timeout, elapsed))
    for kind, x, y, z, data in block.objects:
        r, words = Reader(data), (b'%d' % kind, data.hex().encode())
        if kind == 7 and len(data) > 7 and data[0] == 1:  # an entity of a mod: its name and its data
            r.take('B')
            words = r.bytes(r.take('H')), r.bytes(r.take('I'))
        yield b'O %s %s %.4f %.4f %.4f' % (*words, x, y, z)


def blob_of(path, key):
    with sqlite3.connect(f'file:{path}?mode=ro', uri=True) as db:
        columns = [row[1] for row in db.execute('PRAGMA table_info(blocks)')]
        x, y, z = key
        where = 'x=? AND y=? AND z=?' if 'z' in columns else 'pos=?'
        values = key if 'z' in columns else (z * 2**24 + y * 2**12 + x,)
        return db.execute(f'SELECT data FROM blocks WHERE {where}', values).fetchone()[0]


def axes(old, new):
    source, target = sqlite3.connect(old), sqlite3.connect(new)
    target.execute('CREATE TABLE blocks (x INTEGER, y INTEGER, z INTEGER, data BLOB NOT NULL, '
                   'PRIMARY KEY (x, z, y))')
    for pos, data in source.execute('SELECT pos, data FROM blocks'):
        p = pos + 0x800800800
        at = [(p >> shift & 0xfff) - 0x800 for shift in (0, 12, 24)]
        target.execute('INSERT INTO blocks VALUES (?, ?, ?, ?)', (*at, data))
    target.commit()


def main():
    command, path, *rest = sys.argv[1:]
    if command == 'axes':
        axes(path, rest[0])
        return
    keys = [(tuple(int(n) for n in word.split('_')), word) for word in rest]
    if command == 'row':
        print(blob_of(path, keys[0][0]).hex())
        return
    lines = []
    for key, word in keys:
        block = Block.of_blob(blob_of(path, key)) if command == 'db' else \
            of_tree(f'{path}/chunks/{word}', key)
        lines += dump(block, key)
    sys.stdout.buffer.write(b'\n'.join(sorted(lines)) + b'\n')


if __name__ == '__main__':
    main()
