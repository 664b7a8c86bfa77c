#!/usr/bin/env python3
"""Reads Roblox terrain apart from the program under test, which it is there to check.

place.py voxel FILE X Y Z [GROUP]   material occupancy water of a voxel, or "none" without a chunk
place.py chunks FILE [GROUP]        names of the chunks in file order; GROUP 0 is the Terrain, N+1 region N
place.py diff A B                   what differs: chunks, PhysicsGrid, and "rest" for any byte elsewhere
place.py physics FILE               "right" when PhysicsGrid lists what the voxels say, "wrong", "none"

Written from src/formats/roblox/FORMAT.md.
"""
import base64
import ctypes
import ctypes.util
import functools
import re
import struct
import sys

NAMES = ('SmoothGrid', 'PhysicsGrid')


@functools.lru_cache
def library(name):
    return ctypes.CDLL(ctypes.util.find_library(name))


def unpack(payload, size):
    """The bytes of a chunk's payload that is not stored."""
    out = ctypes.create_string_buffer(size)
    if payload[:4] == b'\x28\xb5\x2f\xfd':
        lib = library('zstd')
        lib.ZSTD_decompress.restype = ctypes.c_size_t
        lib.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
        got = lib.ZSTD_decompress(out, size, payload, len(payload))
    else:
        got = library('lz4').LZ4_decompress_safe(payload, out, len(payload), size)
    if got != size:
        raise ValueError('a payload that does not unpack')
    return out.raw


class Binary:
    def __init__(self, data):
        self.values, self.rest = {}, data[:32]
        self.regions, self.classes, at = 0, {}, 32
        while at < len(data):
            name, packed, size, _ = struct.unpack_from('<4sIII', data, at)
            length = packed or size
            payload = data[at + 16:at + 16 + length]
            if not self.take(name, unpack(payload, size) if packed else payload):
                self.rest += data[at:at + 16 + length]
            at += 16 + length

    def take(self, name, payload):
        """True for a PROP of terrain, whose values are kept by (group, property)."""
        if name not in (b'INST', b'PROP'):
            return False
        number, length = struct.unpack_from('<II', payload)
        word, at = payload[8:8 + length].decode(), 8 + length
        if name == b'INST':
            count = struct.unpack_from('<I', payload, at + 1)[0]
            self.classes[number] = word, count, self.regions
            self.regions += count if word == 'TerrainRegion' else 0
            return False
        of, count, first = self.classes[number]
        if of not in ('Terrain', 'TerrainRegion') or word not in NAMES:
            return False
        at += 1
        for i in range(count):
            length = struct.unpack_from('<I', payload, at)[0]
            group = 0 if of == 'Terrain' else first + i + 1
            self.values[group, word] = payload[at + 4:at + 4 + length]
            at += 4 + length
        return True


class Xml:
    """For files that hold no script that looks like terrain."""

    def __init__(self, data):
        self.values, self.rest, region, group, at = {}, b'', 0, None, 0
        item = re.compile(rb'<Item class="(\w+)"|<BinaryString name="(\w+)">(.*?)</BinaryString>', re.S)
        for m in item.finditer(data):
            if m[1]:
                region += m[1] == b'TerrainRegion'
                group = {b'Terrain': 0, b'TerrainRegion': region}.get(m[1])
            elif group is not None and m[2].decode() in NAMES:
                text = m[3].replace(b'<![CDATA[', b'').replace(b']]>', b'')
                self.values[group, m[2].decode()] = base64.b64decode(text)
                self.rest += data[at:m.start(3)]
                at = m.end(3)
        self.rest += data[at:]


class Blob:
    def __init__(self, data):
        self.values, self.rest = {(0, 'SmoothGrid'): data}, b''


def read(path):
    with open(path, 'rb') as f:
        data = f.read()
    if data[:8] == b'<roblox!':
        return Binary(data)
    return Xml(data) if b'<roblox' in data[:200] else Blob(data)


def offset(value, at):
    planes = bytes(value[at + axis + 3 * i] for axis in range(3) for i in range(4))
    return struct.unpack('>3i', planes)


def wrap(v):
    return (v + 2**31) % 2**32 - 2**31


def grid(value):
    """{(x, y, z): (records, cells)}, edge; cells are (material, occupancy, water)."""
    chunks, at, here = {}, 2, (0, 0, 0)
    if not value:
        return {}, 32
    if value[0] != 1:
        raise ValueError('not a SmoothGrid of version 1')
    edge = 1 << value[1]
    while at < len(value):
        here = tuple(wrap(a + b) for a, b in zip(here, offset(value, at)))
        at += 12
        begin, cells = at, []
        while len(cells) < edge**3:
            flag, count, water = value[at], 1, 0
            material, at = flag & 63, at + 1
            occupancy = 255 if material else 0
            if flag & 64:
                occupancy, at = value[at], at + 1
            if flag & 128:
                count, at = value[at] + 1, at + 1
                if count == 1:
                    water, at = value[at], at + 1
            cells += [(material, occupancy, water)] * count
        if here in chunks or len(cells) != edge**3:
            raise ValueError(f'chunk {here} is wrong')
        chunks[here] = value[begin:at], cells
    return chunks, edge


def name_of(group, place):
    return ('' if group == 0 else f'regions/{group - 1}/') + '_'.join(map(str, place))


def diff(a, b):
    for key in sorted(set(a.values) | set(b.values)):
        old, new = a.values.get(key, b''), b.values.get(key, b'')
        if key[1] == 'PhysicsGrid':
            if old != new:
                yield 'PhysicsGrid'
            continue
        before, after = grid(old)[0], grid(new)[0]
        for place in sorted(set(before) | set(after)):
            if place not in after:
                yield 'removed ' + name_of(key[0], place)
            elif place not in before:
                yield 'added ' + name_of(key[0], place)
            elif before[place] != after[place]:
                yield 'changed ' + name_of(key[0], place)
    if a.rest != b.rest:
        yield 'rest'


def listed(value):
    regions, at = set(), 2
    for _ in range(3):
        count, here = struct.unpack_from('>I', value, at)[0], (0, 0, 0)
        at += 4
        for _ in range(count):
            here = tuple(wrap(a + b) for a, b in zip(here, offset(value, at)))
            regions.add(here)
            at += 12
    return regions


def touched(value):
    chunks, edge = grid(value)
    regions = set()
    for (cx, cy, cz), (_, cells) in chunks.items():
        for i, cell in enumerate(cells):
            if not cell[0]:
                continue
            x, y, z = cx * edge + i % edge, cy * edge + i // edge**2, cz * edge + i // edge % edge
            regions.update((a >> 3, b >> 3, c >> 3) for a in (x - 1, x + 1) for b in (y - 1, y + 1)
                           for c in (z - 1, z + 1))
    return regions


def physics(save):
    value = save.values.get((0, 'PhysicsGrid'))
    if value is None:
        return 'none'
    return 'right' if listed(value) == touched(save.values[0, 'SmoothGrid']) else 'wrong'


def voxel(save, x, y, z, group=0):
    chunks, edge = grid(save.values[group, 'SmoothGrid'])
    chunk = chunks.get((x // edge, y // edge, z // edge))
    return 'none' if chunk is None else chunk[1][((y % edge) * edge + z % edge) * edge + x % edge]


def main(command, path, *rest):
    save = read(path)
    if command == 'voxel':
        cell = voxel(save, *map(int, rest))
        print(cell if cell == 'none' else ' '.join(map(str, cell)))
    elif command == 'chunks':
        group = int(rest[0]) if rest else 0
        for place in grid(save.values[group, 'SmoothGrid'])[0]:
            print('_'.join(map(str, place)))
    elif command == 'diff':
        for line in diff(save, read(rest[0])):
            print(line)
    elif command == 'physics':
        print(physics(save))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
