#!/usr/bin/env python3
"""overview.py DIR [north]: is map.png of an exported save the mean of the pictures in maps/?

Every pixel has to be the mean of the columns that the tiles show in its square, rounded down; those without a voxel do
not count. Origin and scale are taken from the texts, and have to be those of info.txt. `north`: z grows upward.
Prints the scale, the size, and how many pixels are not empty.
"""
import os
import sys

from png import Picture

EMPTY = b'\x16\x18\x1d'


def filled(picture):
    """x, y and colour of what is not empty."""
    empty = EMPTY * picture.width
    for y in range(picture.height):
        begin = picture.place(0, y)
        row = bytes(picture.rows[begin:begin + len(empty)])
        if row != empty:
            for x in range(picture.width):
                if row[3 * x:3 * x + 3] != EMPTY:
                    yield x, y, row[3 * x:3 * x + 3]


def main():
    root, north = sys.argv[1], sys.argv[2:] == ['north']
    picture = Picture(f'{root}/map.png')
    texts = dict(d.decode().split('\0') for k, d in picture.parts if k == b'tEXt')
    with open(f'{root}/info.txt', encoding='utf-8') as f:
        info = dict(line.rstrip('\n').split(': ', 1) for line in f)
    scale, (left, top) = int(texts['scale']), map(int, texts['origin'].split())
    assert info['map scale'] == texts['scale']
    size = f'{picture.width} x {picture.height}'
    assert info['map size'] == f'{size} pixels, the corner of the first is x {left} z {top}', info['map size']
    sums = {}
    for name in os.listdir(f'{root}/maps'):
        tile = Picture(f'{root}/maps/{name}')
        tile_x, tile_z = map(int, name[:-4].split('_'))
        for x, y, colour in filled(tile):
            z = tile_z * tile.height + (tile.height - 1 - y if north else y)
            at = (tile_x * tile.width + x - left) // scale, (top - z if north else z - top) // scale
            old = sums.get(at, (0, 0, 0, 0))
            sums[at] = *(a + b for a, b in zip(old, colour)), old[3] + 1
    shown = {(x, y): colour for x, y, colour in filled(picture)}
    assert shown == {at: bytes(c // s[3] for c in s[:3]) for at, s in sums.items()}
    print(scale, size, len(shown))


main()
