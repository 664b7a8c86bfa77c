#!/usr/bin/env python3
"""Reads a Cosmic Reach region (FileVersion 0-7), written apart from the C code so that tests can judge it.

  region.py info FILE            container, version, payload size, number of chunks
  region.py chunks FILE          one line a chunk: X_Y_Z, version, body size, layer types, SHA-1 of the body
  region.py block FILE X Y Z     the name of the block at that global place; status 1 without a chunk there
  region.py sky FILE X Y Z       its sky level, or NONE
  region.py light FILE X Y Z     its block light as three hex digits, or NONE
  region.py body FILE X_Y_Z      the chunk's body to standard output
  region.py payload FILE         the payload (versions 4-7: inflated) to standard output
  region.py diff A B             which chunks differ and in which sections; status 1 when any does
  region.py check FILE           decodes everything; status 1 with a sentence when it cannot

Layouts: src/formats/cosmic_reach/FORMAT.md. Uses struct and zlib alone.
"""
import hashlib
import struct
import sys
import zlib

MAGIC = b"\xff\xec\xce\xac"
SECTIONS = ("blocks", "sky", "light", "entities")
BLOCK_LAYERS = {1: 1, 2: 4, 3: 64, 4: 128, 5: 256, 6: 512, 7: 32}
SKY_LAYERS = {1: 1, 2: 128}
LIGHT_LAYERS = {1: 3, 2: 512, 3: 131, 4: 131, 5: 131}


class Bad(Exception):
    """The bytes are no region."""


class Reader:
    """A place in bytes."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, size):
        if size < 0 or size > len(self.data) - self.at:
            raise Bad(f"offset {self.at}: {size} bytes wanted, {len(self.data) - self.at} left")
        self.at += size
        return self.data[self.at - size:self.at]

    def u8(self):
        return self.take(1)[0]

    def s32(self):
        return struct.unpack(">i", self.take(4))[0]

    def string(self):
        return self.take(self.s32())


def need(condition, sentence):
    if not condition:
        raise Bad(sentence)


def layered(reader, sizes):
    layers = []
    for _ in range(16):
        kind = reader.u8()
        need(kind in sizes, f"offset {reader.at - 1}: layer type {kind}")
        layers.append((kind, reader.take(sizes[kind])))
    return layers


def bits(data, width):
    """256 values of `width` bits, lowest bits first."""
    per_byte = 8 // width
    return [data[i // per_byte] >> (i % per_byte * width) & ((1 << width) - 1) for i in range(256)]


def block_values(kind, data):
    if kind == 1:
        return [data[0]] * 256
    if kind == 2:
        return [struct.unpack(">i", data)[0]] * 256
    if kind == 5:
        return list(data)
    if kind == 6:
        return list(struct.unpack(">256H", data))
    return bits(data, {3: 2, 4: 4, 7: 1}[kind])


def sky_values(kind, data):
    return [data[0]] * 256 if kind == 1 else bits(data, 4)


def light_values(kind, data):
    if kind == 2:
        return [v & 0xFFF for v in struct.unpack(">256H", data)]
    base = [c & 15 for c in data[:3]]
    if kind == 1:
        return [base[0] << 8 | base[1] << 4 | base[2]] * 256
    shift = {3: 8, 4: 4, 5: 0}[kind]
    rest = (base[0] << 8 | base[1] << 4 | base[2]) & ~(15 << shift)
    return [rest | v << shift for v in bits(data[3:], 4)]


class Chunk:
    """One chunk; `sections` holds the bytes of the four sections."""

    def __init__(self, reader, place, version):
        self.place, self.version = place, version
        start = reader.at
        self.palette, self.block_layers = self.read_blocks(reader)
        marks = [start, reader.at]
        self.sky = self.read_sky(reader)
        marks.append(reader.at)
        self.light = self.read_light(reader)
        marks.append(reader.at)
        self.entities = self.read_entities(reader) if version > 0 else None
        marks.append(reader.at)
        self.body = reader.data[start:reader.at]
        self.sections = [reader.data[a:b] for a, b in zip(marks, marks[1:])]

    @staticmethod
    def read_blocks(reader):
        kind = reader.u8()
        if kind == 1:
            return [reader.string()], [(1, b"\0")] * 16
        need(kind == 2, f"offset {reader.at - 1}: block data type {kind}")
        count = reader.s32()
        need(1 <= count <= 4096, f"offset {reader.at - 4}: palette of {count}")
        palette = [reader.string() for _ in range(count)]
        layers = layered(reader, BLOCK_LAYERS)
        for layer in layers:
            need(0 <= min(block_values(*layer)) and max(block_values(*layer)) < count,
                 f"before offset {reader.at}: palette index too large")
        return palette, layers

    @staticmethod
    def read_sky(reader):
        kind = reader.u8()
        need(kind in (1, 2, 3), f"offset {reader.at - 1}: sky light type {kind}")
        if kind == 1:
            return None
        return [(1, reader.take(1))] * 16 if kind == 3 else layered(reader, SKY_LAYERS)

    @staticmethod
    def read_light(reader):
        kind = reader.u8()
        need(kind in (1, 2), f"offset {reader.at - 1}: block light type {kind}")
        return None if kind == 1 else layered(reader, LIGHT_LAYERS)

    @staticmethod
    def read_entities(reader):
        kind = reader.u8()
        need(kind in (0, 1), f"offset {reader.at - 1}: block entity type {kind}")
        return reader.take(reader.s32()) if kind == 1 else None

    @staticmethod
    def index(x, z):
        return (x & 15) + (z & 15) * 16

    def block(self, x, y, z):
        return self.palette[block_values(*self.block_layers[y & 15])[self.index(x, z)]]

    def sky_at(self, x, y, z):
        return None if self.sky is None else sky_values(*self.sky[y & 15])[self.index(x, z)]

    def light_at(self, x, y, z):
        return None if self.light is None else light_values(*self.light[y & 15])[self.index(x, z)]


class Region:
    """A whole file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        need(data[:4] == MAGIC, "no region: wrong magic")
        reader = Reader(data, 4)
        self.version, self.compression = reader.s32(), reader.s32()
        need(0 <= self.version <= 7, f"FileVersion {self.version}")
        self.chunks, self.offset_type = {}, None
        if self.version <= 3:
            need(self.compression == 0, f"compression {self.compression}")
            self.payload = data
            self.read_table(data)
        else:
            self.payload = self.inflate(data[12:])
            self.read_columns(self.payload)

    def inflate(self, data):
        if self.compression == 0:
            return data
        need(self.compression == 2, f"compression {self.compression}")
        stream = zlib.decompressobj(31)
        try:
            payload = stream.decompress(data)
        except zlib.error as error:
            raise Bad(f"gzip: {error}") from error
        need(stream.eof and not stream.unused_data, "gzip: does not end at the end of the file")
        return payload

    def add(self, chunk):
        need(chunk.place not in self.chunks, f"chunk {chunk.place} twice")
        self.chunks[chunk.place] = chunk

    def read_table(self, data):
        reader = Reader(data, 12)
        count = reader.s32()
        table = struct.unpack(">4096i", reader.take(16384))
        ends = {}
        for slot, offset in enumerate(table):
            if offset == -1:
                continue
            need(offset >= 16400, f"slot {slot}: offset {offset}")
            reader = Reader(data, offset)
            size, version = reader.s32(), reader.s32()
            place = (reader.s32(), reader.s32(), reader.s32())
            x, y, z = place
            need((y & 15) * 256 + (x & 15) * 16 + (z & 15) == slot, f"slot {slot} holds {place}")
            self.add(Chunk(reader, place, version))
            need(reader.at == offset + size, f"slot {slot}: size {size}, not {reader.at - offset}")
            ends[offset] = reader.at
        need(count == len(self.chunks), f"count {count}, {len(self.chunks)} chunks")
        self.tight(ends, 16400, len(data))

    def read_columns(self, data):
        reader = Reader(data)
        count, self.offset_type = reader.s32(), reader.u8()
        need(self.offset_type in (1, 2, 3, 4), f"offset type {self.offset_type}")
        code = " bhiq"[self.offset_type]
        table = struct.unpack(f">256{code}", reader.take(256 * struct.calcsize(code)))
        start, ends = reader.at, {}
        for slot, offset in enumerate(table):
            if offset == -1:
                continue
            need(offset >= 0, f"slot {slot}: offset {offset}")
            ends[start + offset] = self.read_column(data, start + offset, slot)
        need(count == len(ends), f"count {count}, {len(ends)} columns")
        self.tight(ends, start, len(data))

    def read_column(self, data, offset, slot):
        reader = Reader(data, offset)
        size, version, number = reader.s32(), reader.s32(), reader.u8()
        need(1 <= number <= 16, f"slot {slot}: {number} chunks")
        below = None
        for _ in range(number):
            place = (reader.s32(), reader.s32(), reader.s32())
            need((place[0] & 15) * 16 + (place[2] & 15) == slot, f"slot {slot} holds {place}")
            need(below is None or below < place[1], f"slot {slot}: y does not ascend")
            below = place[1]
            self.add(Chunk(reader, place, version))
        need(reader.at == offset + size, f"slot {slot}: size {size}, not {reader.at - offset}")
        return reader.at

    @staticmethod
    def tight(ends, start, end):
        """Pieces lie back to back from `start` to `end`."""
        for offset in sorted(ends):
            need(offset == start, f"offset {offset}: gap or overlap, expected {start}")
            start = ends[offset]
        need(start == end, f"offset {start}: bytes behind the last one")


def name_of(place):
    return "_".join(str(c) for c in place)


def in_order(region):
    return sorted(region.chunks.values(), key=lambda c: (c.place[1], c.place[2], c.place[0]))


def chunk_at(region, args):
    x, y, z = (int(a) for a in args)
    chunk = region.chunks.get((x >> 4, y >> 4, z >> 4))
    need(chunk is not None, f"no chunk holds {x} {y} {z}")
    return chunk, (x, y, z)


def command_info(region):
    print(f"version {region.version} compression {region.compression} offsets {region.offset_type}")
    print(f"payload {len(region.payload)} chunks {len(region.chunks)}")


def command_chunks(region):
    for chunk in in_order(region):
        kinds = "".join(str(kind) for kind, _ in chunk.block_layers)
        single = "S" if chunk.sections[0][0] == 1 else kinds
        sky = "N" if chunk.sky is None else "S" if chunk.sections[1][0] == 3 else "L"
        light = "N" if chunk.light is None else "L"
        digest = hashlib.sha1(chunk.body).hexdigest()
        print(name_of(chunk.place), chunk.version, len(chunk.body), single, sky + light, digest)


def command_block(region, *args):
    chunk, place = chunk_at(region, args)
    print(chunk.block(*place).decode("utf-8", "backslashreplace"))


def command_sky(region, *args):
    chunk, place = chunk_at(region, args)
    value = chunk.sky_at(*place)
    print("NONE" if value is None else value)


def command_light(region, *args):
    chunk, place = chunk_at(region, args)
    value = chunk.light_at(*place)
    print("NONE" if value is None else f"{value:03x}")


def command_body(region, name):
    place = tuple(int(c) for c in name.split("_"))
    need(place in region.chunks, f"no chunk {name}")
    sys.stdout.buffer.write(region.chunks[place].body)


def command_payload(region):
    sys.stdout.buffer.write(region.payload)


def command_check(region):
    for chunk in region.chunks.values():
        for layer in chunk.sky or []:
            sky_values(*layer)
        for layer in chunk.light or []:
            light_values(*layer)


def command_diff(region, other):
    right = Region(other)
    status = 0
    for what in ("version", "compression", "offset_type"):
        if getattr(region, what) != getattr(right, what):
            print(f"{what} {getattr(region, what)} -> {getattr(right, what)}")
            status = 1
    places = set(region.chunks) | set(right.chunks)
    for place in sorted(places, key=lambda p: (p[1], p[2], p[0])):
        a, b = region.chunks.get(place), right.chunks.get(place)
        if a and b and a.body == b.body and a.version == b.version:
            continue
        status = 1
        if a and b:
            changed = [n for n, s, t in zip(SECTIONS, a.sections, b.sections) if s != t]
            print("changed", name_of(place), *(changed or ["version"]))
        else:
            print("removed" if a else "added", name_of(place))
    return status


def main(args):
    commands = {n[8:]: f for n, f in globals().items() if n.startswith("command_")}
    if len(args) < 2 or args[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return commands[args[0]](Region(args[1]), *args[2:]) or 0
    except (Bad, ValueError, OSError) as error:
        print(f"{args[1]}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
