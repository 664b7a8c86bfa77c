#!/usr/bin/env python3
"""Reads `.ter` files without terrainfs, for tests: ter.py COMMAND FILE...

at FILE X Z        height and layer of a sample, row 0 in the south
names FILE         the materials, one a line
count FILE LAYER   samples with that layer
odd FILE           squares whose corners do not follow the rule (version 8)
diff A B           "heights N layers N extra N names N": what differs, in samples and names

Knows the layouts that versions have of their own, and tells the community's by its size.
"""
import operator
import struct
import sys


class Terrain:
    def __init__(self, path):
        with open(path, 'rb') as f:
            self.data = data = f.read()
        self.version, self.side = struct.unpack_from('<BI', data)
        self.count = self.side * self.side
        self.extra_size = self.guess()
        at = 5 + 2 * self.count
        self.heights = struct.unpack_from(f'<{self.count}H', data, 5)
        self.layers = data[at:at + self.count]
        self.extra = data[at + self.count:at + (1 + self.extra_size) * self.count]
        self.names = self.table(5 + (3 + self.extra_size) * self.count)

    def guess(self):
        bytes_a_sample = (len(self.data) - 9) // self.count
        return bytes_a_sample - 3

    def table(self, at):
        names = []
        nul = self.extra_size in (1, 5)
        for _ in range(struct.unpack_from('<I', self.data, at)[0]):
            length = self.data[at + 4]
            names.append(self.data[at + 5:at + 5 + length].decode())
            at += 1 + length + nul
        assert at + 4 == len(self.data), 'the table does not end with the file'
        return names

    def rule(self, i):
        last = self.count - 1
        return bytes(self.layers[min(j, last)]
                     for j in (i, i + 1, i + self.side, i + self.side + 1))

    def odd(self):
        return sum(self.extra[4 * i:4 * i + 4] != self.rule(i) for i in range(self.count))


def differences(a, b, size=1):
    if a == b:
        return 0
    if size == 1 and len(a) == len(b):
        return sum(map(operator.ne, a, b))
    return sum(a[i:i + size] != b[i:i + size] for i in range(0, max(len(a), len(b)), size))


def main(command, path, *more):
    t = Terrain(path)
    if command == 'at':
        i = int(more[0]) + int(more[1]) * t.side
        print(t.heights[i], t.layers[i])
    elif command == 'names':
        print('\n'.join(t.names))
    elif command == 'count':
        print(t.layers.count(int(more[0])))
    elif command == 'odd':
        print(t.odd())
    elif command == 'diff':
        other = Terrain(more[0])
        print('heights', differences(t.heights, other.heights),
              'layers', differences(t.layers, other.layers),
              'extra', differences(t.extra, other.extra, max(1, t.extra_size)),
              'names', differences(t.names, other.names))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main(*sys.argv[1:])
