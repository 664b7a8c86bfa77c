#!/usr/bin/env python3
"""Checks the picture of `terrainfs diff --png` against both maps and the rows of `diff --json`.

diff_png.py PROGRAM A B OUT      A or B may be -: that side has no chunk
    status 1 with what is wrong. Beside each other or below: A's map, B's map, and the map with every column marked
    that differs in a chunk that changed, and no other. Where three maps do not fit, a pixel is a square of columns:
    it has the colour of its first column, and is marked when one of its columns is.
"""
import json
import re
import subprocess
import sys

import png

CHUNK = 32  # of saves that are that wide here
GAP, COLUMN, EMPTY = 8, (0xff, 0x20, 0xc0), (0x16, 0x18, 0x1d)


class Colours:
    """The pixels of an RGB picture, each row by itself."""

    def __init__(self, data):
        parts = list(png.parts(data))
        self.width, self.height, depth, colour = png.struct.unpack('>IIBB', parts[0][1][:10])
        assert (depth, colour) == (8, 2), 'not RGB of 8 bits'
        rows = png.zlib.decompress(b''.join(d for k, d in parts if k == b'IDAT'))
        step = 1 + 3 * self.width
        assert len(rows) == step * self.height
        self.rows = [rows[i * step + 1:(i + 1) * step] for i in range(self.height)]

    def at(self, x, y):
        return tuple(self.rows[y][3 * x:3 * x + 3])


class Map:
    def __init__(self, program, save):
        run = lambda *words: subprocess.run([program, *words], check=True, capture_output=True).stdout
        self.picture = Colours(run('cat', save, 'map.png'))
        info = run('info', save).decode()
        self.north_up = 'format: beamng' in info or 'format: luanti' in info
        origin = re.search(r'^(?:picture origin:|map size: .*) x (-?\d+) z (-?\d+)', info, re.M)
        self.x, self.z = (int(origin[1]), int(origin[2])) if origin else (0, 0)
        scale = re.search(r'^map scale: (\d+)', info, re.M)
        self.unit = int(scale[1]) if scale else 1
        self.width, self.height = self.picture.width, self.picture.height
        if scale:
            low, high = re.search(r'^bounds: (.*) \.\. (.*)', info, re.M).groups()
            sides = [(int(b) - int(a) + 1) * CHUNK for a, b in zip(low.split(), high.split())]
            self.width, self.height = sides[0], sides[2]
        if origin and self.north_up:  # the origin is pixel 0,0, which is the north-west corner
            self.z -= self.height - 1

    def at(self, x, z, unit):
        """The colour of the first column that the map has of a square from (x, z) on."""
        last_x, last_z = x + unit - 1 - self.x, z + unit - 1 - self.z
        x, z = max(x - self.x, 0), max(z - self.z, 0)
        if x > last_x or z > last_z or x >= self.width or z >= self.height:
            return EMPTY
        return self.picture.at(x // self.unit, (self.height - 1 - z if self.north_up else z) // self.unit)


def changed_columns(program, a, b):
    text = subprocess.run([program, 'diff', '--json', '--all-rows', a, b], check=False, capture_output=True).stdout
    columns = set()
    for chunk in json.loads(text)['chunks']:
        if chunk['change'] != 'changed' or '/' in chunk['chunk']:
            continue
        for row in chunk.get('rows', ()):
            for start, end, _ in row['before'] + row['after']:
                columns |= {(x, row['z']) for x in range(start, end + 1)}
    return columns


def fits(width, height):
    side = 8192
    return width <= side and height <= side and (3 * width + 2 * GAP <= side or 3 * height + 2 * GAP <= side)


def main(program, a, b, out):
    maps = [Map(program, save) if save != '-' else None for save in (a, b)]
    there = [m for m in maps if m]
    x0, z0 = min(m.x for m in there), min(m.z for m in there)
    width, height = max(m.x + m.width for m in there) - x0, max(m.z + m.height for m in there) - z0
    with open(out, 'rb') as f:
        picture = Colours(f.read())
    unit = max(m.unit for m in there)
    while not fits(-(-width // unit), -(-height // unit)):
        unit *= 2
    width, height = -(-width // unit), -(-height // unit)
    stacked = picture.width < 3 * width
    scale = 1 if unit > 1 else (picture.width if stacked else picture.width - 2 * GAP) // (width if stacked else 3 * width)
    step = (scale * (height if stacked else width)) + GAP
    assert (picture.width, picture.height) == ((scale * width, 3 * step - GAP) if stacked else
                                               (3 * step - GAP, scale * height)), 'another size'
    columns = changed_columns(program, a, b) if len(there) == 2 else set()
    columns = {((x - x0) // unit, (z - z0) // unit) for x, z in columns}
    bad = []
    for z in range(height):
        row = (height - 1 - z if there[0].north_up else z) * scale
        for x in range(width):
            got = [picture.at(x * scale + (0 if stacked else i * step), row + (i * step if stacked else 0))
                   for i in range(3)]
            for i, m in enumerate(maps):
                if got[i] != (m.at(x0 + x * unit, z0 + z * unit, unit) if m else EMPTY):
                    bad.append(f'panel {i} has {got[i]} at x {x0 + x * unit} z {z0 + z * unit}')
            if (got[2] == COLUMN) != ((x, z) in columns):
                bad.append(f'the mark is wrong at x {x0 + x * unit} z {z0 + z * unit}')
    print(*bad[:5], sep='\n')
    print(f'{width} x {height} squares of {unit}, {len(columns)} marked')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
