#!/usr/bin/env python3
"""Reads saves of Godot Voxel Tools apart from the program under test, which it is there to check.

voxel.py chunks SAVE            names of the chunks, "lods/N/" before those of a level above 0
voxel.py voxel SAVE X Y Z [N]   the eight values of a voxel of level N, or "none" without a block
voxel.py block SAVE CHUNK...    version, container, depths and modes of the blocks of these chunks
voxel.py sums SAVE              name and SHA-1 of the stored bytes of each chunk that has a block
voxel.py metadata SAVE CHUNK    the bytes of its metadata section, in hex
voxel.py raw SAVE CHUNK         its stored bytes; data: the block without container; instances
voxel.py diff A B               what differs: chunks, and "rest" for anything else that is kept
voxel.py check SAVE             decodes all; of regions: sectors lie back to back, the last is whole

SAVE is a block, a region file, a folder with meta.vxrm, or a database. Written from the formats' own
documents; see src/formats/godot_voxel/FORMAT.md.
"""
import ctypes
import ctypes.util
import hashlib
import json
import os
import sqlite3
import struct
import sys

CHANNELS = 'type sdf color indices weights data5 data6 data7'.split()
EPILOGUE = b'\x0d\xf0\x0d\x90'


class Bad(Exception):
    pass


def need(good, what):
    if not good:
        raise Bad(what)


# ---- containers -------------------------------------------------------------------------------


def lz4(data, size):
    """One raw LZ4 block, by the rules of its format."""
    out, at = bytearray(), 0

    def length(nibble):
        nonlocal at
        total = nibble
        while nibble == 15:
            total += data[at]
            at += 1
            if data[at - 1] != 255:
                break
        return total

    while True:
        token = data[at]
        at += 1
        count = length(token >> 4)
        need(at + count <= len(data), 'LZ4 literals are cut')
        out += data[at:at + count]
        at += count
        if at == len(data):
            break
        distance = data[at] | data[at + 1] << 8
        at += 2
        count = length(token & 15) + 4
        need(0 < distance <= len(out) and len(out) + count <= size, 'LZ4 match is wrong')
        for _ in range(count):
            out.append(out[-distance])
    need(len(out) == size, f'LZ4 gives {len(out)} bytes, not {size}')
    return bytes(out)


def zstd(data, size):
    lib = ctypes.CDLL(ctypes.util.find_library('zstd'))
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    out = ctypes.create_string_buffer(max(size, 1))
    need(lib.ZSTD_decompress(out, size, data, len(data)) == size, 'Zstandard data is damaged')
    return out.raw[:size]


def sized(unpack, data, at, order):
    size = struct.unpack_from(order + 'I', data, at)[0]
    need(size <= 1 << 28, 'the size is absurd')
    return unpack(data[at + 4:], size)


KINDS = (
    ('bare', None, lambda d: d),
    ('0', 0, lambda d: d[1:]),
    ('1', 1, lambda d: sized(lz4, d, 1, '>')),
    ('2', 2, lambda d: sized(lz4, d, 1, '<')),
    ('3', 3, lambda d: sized(zstd, d, 1, '<')),
    ('1le', 1, lambda d: sized(lz4, d, 1, '<')),
    ('headerless', None, lambda d: sized(lz4, d, 0, '<')),
)


def unwrap(stored, parse):
    """(kind, what parse makes of the payload) of the first kind that fits."""
    for name, first, unpack in KINDS:
        if first is not None and (not stored or stored[0] != first):
            continue
        try:
            return name, parse(unpack(stored))
        except (Bad, IndexError, struct.error):
            continue
    raise Bad('no container fits')


# ---- blocks -----------------------------------------------------------------------------------


class Block:
    def __init__(self, stored):
        self.stored = stored
        self.kind, _ = unwrap(stored, self.parse)

    def parse(self, data):
        self.data = data
        self.version, *self.size = struct.unpack_from('<BHHH', data)
        volume = self.size[0] * self.size[1] * self.size[2]
        need(2 <= self.version <= 4 and 0 < volume <= 1 << 24, 'no block begins so')
        at, self.channels = 7, []
        for _ in CHANNELS:
            mode, depth = data[at] & 15, data[at] >> 4
            need(mode <= 1 and depth <= 3, 'unknown channel format')
            count = (1 if mode else volume) << depth
            values = data[at + 1:at + 1 + count]
            need(len(values) == count, 'a channel is cut')
            self.channels.append((mode, depth, values))
            at += 1 + count
        need(data[-4:] == EPILOGUE and len(data) >= at + 4, 'no epilogue')
        self.metadata = data[at:-4]
        if self.metadata:
            need(struct.unpack_from('<I', self.metadata)[0] == len(self.metadata) - 4, 'metadata size')
            self.metadata = self.metadata[4:]

    def value(self, channel, x, y, z):
        mode, depth, values = self.channels[channel]
        i = 0 if mode else y + self.size[1] * (x + self.size[0] * z)
        real = channel == 1 and depth >= 2
        signed = channel == 1 and self.version > 2
        code = ('bhfd' if signed else 'BHfd' if real else 'BHIQ')[depth]
        return struct.unpack_from('<' + code, values, i << depth)[0]


class Chunk:
    """`stored` and `instances` may be None; `sectors` is what a region holds for it."""

    def __init__(self, stored, instances=None, sectors=None):
        self.stored, self.instances, self.sectors = stored, instances, sectors

    def block(self):
        return Block(self.stored)


# ---- saves: .chunks {(lod, x, y, z): Chunk}, .rest, .po2 ----------------------------------------


class Single:
    def __init__(self, path):
        self.chunks, self.rest, self.po2 = {(0, 0, 0, 0): Chunk(read(path))}, None, None

    def check(self):
        pass


class Region:
    def __init__(self, path, meta=None, lod=0):
        data = read(path)
        need(data[:4] == b'VXR_', 'no region')
        version = data[4]
        if version == 3:
            self.po2, *self.size = data[5:9]
            depths, sector, palette = list(data[9:17]), struct.unpack_from('<H', data, 17)[0], data[19]
            table = 20 + (1024 if palette else 0)
            if meta:
                need((self.po2, self.size, depths, sector) == (
                    meta['block_size_po2'], [1 << int(meta['region_size_po2'])] * 3,
                    [int(d) for d in meta['channel_depths']], meta['sector_size']), 'meta disagrees')
        else:
            need(version == 2, f'region version {version}')
            meta = meta or json.loads(read(os.path.dirname(path) + '/../../meta.vxrm'))
            self.po2, sector, table = int(meta['block_size_po2']), int(meta['sector_size']), 5
            self.size = [1 << int(meta['region_size_po2'])] * 3
            depths = [int(d) for d in meta['channel_depths']]
        self.depths, self.sector, self.rest, self.lod = depths, sector, data[:table], lod
        self.data = data
        self.read_table(os.path.basename(path), table)

    def read_table(self, name, table):
        sx, sy, sz = self.size
        part = name.split('.')
        at = [int(p) for p in part[1:4]] if len(part) == 5 and part[0] == 'r' else [0, 0, 0]
        self.begin = table + 4 * sx * sy * sz
        self.chunks, self.extents = {}, []
        for i, entry in enumerate(struct.unpack_from(f'<{sx * sy * sz}I', self.data, table)):
            if entry == 0:
                continue
            first, count = entry >> 8, entry & 255
            begin = self.begin + first * self.sector
            sectors = self.data[begin:begin + count * self.sector]
            size = struct.unpack_from('<I', sectors)[0]
            need(4 + size <= len(sectors), f'entry {i} has a wrong size')
            key = (self.lod, at[0] * sx + i // sy % sx, at[1] * sy + i % sy, at[2] * sz + i // sy // sx)
            self.chunks[key] = Chunk(sectors[4:4 + size], None, sectors)
            self.extents.append((first, count, size))

    def check(self):
        end = 0
        for first, count, size in sorted(self.extents):
            need(first == end, f'sector {end} belongs to nothing, or to two')
            need(4 + size <= count * self.sector, f'{count} sectors for {size} bytes')
            end = first + count
        need(len(self.data) == self.begin + end * self.sector, 'the file does not end with its sectors')
        for name, chunk in self.chunks.items():
            block = chunk.block()
            need(block.size == [1 << self.po2] * 3, f'{name} has another size')
            need([c[1] for c in block.channels] == self.depths, f'{name} has other depths')


class Folder:
    def __init__(self, path):
        self.rest = read(path + '/meta.vxrm')
        meta = json.loads(self.rest)
        self.po2, self.chunks, self.regions = int(meta['block_size_po2']), {}, []
        top = path + '/regions'
        for level in sorted(os.listdir(top)) if os.path.isdir(top) else []:
            for name in sorted(os.listdir(f'{top}/{level}')):
                if name.endswith('.vxr') and not name.startswith('.'):
                    region = Region(f'{top}/{level}/{name}', meta, int(level[3:]))
                    self.chunks.update(region.chunks)
                    self.regions.append(region)

    def check(self):
        for region in self.regions:
            region.check()


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def key_of(loc, form):
    if form == 0 and isinstance(loc, int):
        return (loc >> 48 & 255, signed(loc >> 32, 16), signed(loc >> 16, 16), signed(loc, 16))
    if form == 1 and isinstance(loc, int):
        return (loc >> 57 & 63, signed(loc >> 38, 19), signed(loc >> 19, 19), signed(loc, 19))
    if form == 2 and isinstance(loc, str):
        x, y, z, lod = map(int, loc.split(','))
        return (lod, x, y, z)
    if form == 3 and isinstance(loc, bytes) and len(loc) == 10:
        n = int.from_bytes(loc, 'little')
        return (n >> 75, signed(n, 25), signed(n >> 25, 25), signed(n >> 50, 25))
    raise ValueError('no key')


class Stream:
    def __init__(self, path):
        db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
        meta = db.execute('SELECT * FROM meta').fetchall()
        form = (meta[0][2] or 0) if len(meta[0]) > 2 else 0
        self.po2, self.chunks = meta[0][1], {}
        self.rest = [meta, db.execute('SELECT * FROM channels').fetchall(),
                     db.execute('SELECT type, name, sql FROM sqlite_master').fetchall()]
        for loc, stored, instances in db.execute('SELECT loc, vb, instances FROM blocks ORDER BY rowid'):
            try:
                self.chunks[key_of(loc, form)] = Chunk(stored, instances)
            except ValueError:
                self.rest.append((loc, stored, instances))
        self.sound = db.execute('PRAGMA integrity_check').fetchone()[0]
        db.close()

    def check(self):
        need(self.sound == 'ok', self.sound)
        for name, chunk in self.chunks.items():
            if chunk.stored is not None:
                need(chunk.block().size == [1 << self.po2] * 3, f'{name} has another size')


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def load(path):
    if os.path.isdir(path):
        return Folder(path)
    with open(path, 'rb') as f:
        head = f.read(16)
    if head == b'SQLite format 3\0':
        return Stream(path)
    return Region(path) if head[:4] == b'VXR_' else Single(path)


# ---- commands ---------------------------------------------------------------------------------


def name_of(key):
    return (f'lods/{key[0]}/' if key[0] else '') + '_'.join(map(str, key[1:]))


def chunk_of(save, name):
    found = [chunk for key, chunk in save.chunks.items() if name_of(key) == name]
    need(found, f'no chunk {name}')
    return found[0]


def command_chunks(save):
    for key in sorted(save.chunks):
        print(name_of(key))


def command_voxel(save, x, y, z, lod='0'):
    at, lod = [int(x), int(y), int(z)], int(lod)
    sizes = [1 << save.po2] * 3 if save.po2 else save.chunks[0, 0, 0, 0].block().size
    chunk = save.chunks.get((lod, *(a // s for a, s in zip(at, sizes))))
    if chunk is None or chunk.stored is None:
        print('none')
        return
    block = chunk.block()
    print(*(block.value(i, *(a % s for a, s in zip(at, sizes))) for i in range(8)))


def command_sums(save):
    for key in sorted(save.chunks):
        if save.chunks[key].stored is not None:
            print(name_of(key), hashlib.sha1(save.chunks[key].stored).hexdigest())


def command_block(save, *names):
    for block in (chunk_of(save, name).block() for name in names):
        print(f'version {block.version} kind {block.kind} size', *block.size, 'depths',
              *(8 << c[1] for c in block.channels), 'dense', *(n for n, c in zip(CHANNELS, block.channels)
                                                             if c[0] == 0))


def command_metadata(save, name):
    print(chunk_of(save, name).block().metadata.hex())


def command_raw(save, name):
    sys.stdout.buffer.write(chunk_of(save, name).stored)


def command_data(save, name):
    sys.stdout.buffer.write(chunk_of(save, name).block().data)


def command_instances(save, name):
    sys.stdout.buffer.write(chunk_of(save, name).instances or b'')


def command_check(save):
    save.check()


def parts(a, b):
    """What of a chunk is another one."""
    if a.instances != b.instances:
        yield 'instances'
    if a.stored == b.stored:
        # An untouched block keeps its sectors, stale bytes and all; the last one may be made whole.
        if a.sectors is not None and not b.sectors.startswith(a.sectors):
            yield 'sectors'
        return
    if a.stored is None or b.stored is None:
        yield 'block'
        return
    old, new = a.block(), b.block()
    same = [old.version, old.size] == [new.version, new.size]
    if not same:
        yield 'version' if old.version != new.version else 'size'
    found = [n for n, c, d in zip(CHANNELS, old.channels, new.channels) if c != d]
    found += ['metadata'] if old.metadata != new.metadata else []
    found += ['container'] if old.kind != new.kind else []
    yield from found or ([] if not same else ['bytes'])


def command_diff(save, other):
    new = load(other)
    for key in sorted(set(save.chunks) | set(new.chunks)):
        a, b = save.chunks.get(key), new.chunks.get(key)
        if a is None or b is None:
            print('added' if a is None else 'removed', name_of(key))
        elif list(parts(a, b)):
            print('changed', name_of(key), *parts(a, b))
    if save.rest != new.rest:
        print('rest')


def main(args):
    commands = {n[8:]: f for n, f in globals().items() if n.startswith('command_')}
    if len(args) < 2 or args[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        commands[args[0]](load(args[1]), *args[2:])
    except (Bad, ValueError, IndexError, OSError, struct.error, sqlite3.Error) as error:
        print(f'{args[1]}: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
