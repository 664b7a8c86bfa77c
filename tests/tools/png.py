#!/usr/bin/env python3
"""Reads and edits grey and indexed PNG pictures, apart from the C code and from image editors.

  png.py pixel FILE X Y            its value
  png.py texts FILE                the tEXt chunks, KEY VALUE a line
  png.py edit FILE [--strip] [X Y VALUE]...
                                   writes it anew, compressed, with other values; --strip: without its texts

Grey or RGB, 8 or 16 bits, or indexed, not interlaced, filter 0: what terrainfs writes. Uses struct and zlib alone.
"""
import struct
import sys
import zlib

SIGNATURE = b'\x89PNG\r\n\x1a\n'


def parts(data):
    at = len(SIGNATURE)
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += size + 12


def part(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


class Picture:
    """One picture, its samples as bytes with a filter byte before each row."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            self.parts = list(parts(f.read()))
        self.width, self.height, depth, colour = struct.unpack('>IIBB', self.parts[0][1][:10])
        if colour not in (0, 2, 3) or depth not in (8, 16):
            sys.exit(f'{path}: neither grey, nor RGB, nor indexed')
        self.bytes = depth // 8 * (3 if colour == 2 else 1)
        self.rows = bytearray(zlib.decompress(b''.join(d for k, d in self.parts if k == b'IDAT')))

    def place(self, x, y):
        return y * (self.width * self.bytes + 1) + 1 + x * self.bytes

    def get(self, x, y):
        at = self.place(x, y)
        return int.from_bytes(self.rows[at:at + self.bytes], 'big')

    def set(self, x, y, value):
        at = self.place(x, y)
        self.rows[at:at + self.bytes] = value.to_bytes(self.bytes, 'big')

    def write(self, path, strip):
        out = [part(k, d) for k, d in self.parts if k != b'IDAT' and k != b'IEND' and not (strip and k == b'tEXt')]
        with open(path, 'wb') as f:
            f.write(SIGNATURE + b''.join(out) + part(b'IDAT', zlib.compress(bytes(self.rows))) + part(b'IEND', b''))


def edit(path, words):
    picture = Picture(path)
    strip = words[:1] == ['--strip']
    numbers = [int(w) for w in words[strip:]]
    for i in range(0, len(numbers), 3):
        picture.set(*numbers[i:i + 3])
    picture.write(path, strip)


def main():
    command, path, *words = sys.argv[1:]
    if command == 'pixel':
        print(Picture(path).get(int(words[0]), int(words[1])))
    elif command == 'texts':
        for kind, data in Picture(path).parts:
            if kind == b'tEXt':
                print(*data.decode().split('\0'))
    elif command == 'edit':
        edit(path, words)
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
