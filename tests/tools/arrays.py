#!/usr/bin/env python3
"""arrays.py PROGRAM MOST SAVE...: compares the arrays of saves with what the decoders of this directory read.

Of each save at most MOST chunks, evenly chosen, in arrays/, and the first of them in chunks/X_Y_Z/arrays/ too; of the
whole arrays head, bounds, types, and that nothing is where no chunk is. Needs NumPy. Prints a line a save; status 1 when
one differs.
"""
import functools
import io
import os
import re
import sqlite3
import subprocess
import sys

import numpy as np

import luanti
import place
import region
import ter
import voxel

VOXEL_TYPES = {'u': 'u1 u2 u4 u8'.split(), 's': 'i1 i2 f4 f8'.split(), 'o': 'u1 u2 f4 f8'.split()}


# ---- what is in a save: {group: {(x, y, z): what makes {array: values}}}; blocks are names ---------------------


@functools.lru_cache(maxsize=4096)
def layer(values, kind, data):
    return np.array(values(kind, data), np.uint16).reshape(16, 16)


def of_region(path):
    def arrays(chunk):
        def cube(values, layers, dtype):
            if layers is None:
                return np.zeros((16, 16, 16), dtype)
            return np.array([layer(values, *one) for one in layers]).astype(dtype)
        return {'blocks': np.array([name.decode() for name in chunk.palette], object)[cube(region.block_values, chunk.block_layers, 'u2')],
                'lights/sky': cube(region.sky_values, chunk.sky, 'u1'),
                'lights/block': cube(region.light_values, chunk.light, 'u2')}
    return {'': {at: functools.partial(arrays, chunk) for at, chunk in region.Region(path).chunks.items()}}


def of_place(path):
    def arrays(cells, edge):
        values = np.array(cells, np.uint8).reshape(edge, edge, edge, 3)
        return dict(zip(('materials', 'occupancy', 'water'), np.moveaxis(values, 3, 0)))
    found = {}
    for (group, name), value in place.read(path).values.items():
        chunks, edge = place.grid(value) if name == 'SmoothGrid' else ({}, 0)
        if chunks:
            found[f'regions/{group - 1}/' if group else ''] = {
                at: functools.partial(arrays, cells, edge) for at, (_, cells) in chunks.items()}
    return found


def of_voxels(path):
    def arrays(chunk):
        block = chunk.block()
        x, y, z = block.size
        found = {}
        for name, (mode, depth, values) in zip(voxel.CHANNELS, block.channels):
            kind = 'u' if name != 'sdf' else 's' if block.version > 2 else 'o'
            flat = np.frombuffer(values, '<' + VOXEL_TYPES[kind][depth])
            found[f'channels/{name}'] = (np.full((y, z, x), flat[0], flat.dtype) if mode else
                                         flat.reshape(z, x, y).transpose(2, 0, 1))
        return found
    found = {}
    for (lod, *at), chunk in voxel.load(path).chunks.items():
        if chunk.stored is not None:
            found.setdefault(f'lods/{lod}/' if lod else '', {})[tuple(at)] = functools.partial(arrays, chunk)
    return found


def of_map(path):
    def arrays(at):
        nodes = luanti.Block.of_blob(luanti.blob_of(path, at)).nodes
        def cube(values, dtype):
            return np.array(values, dtype).reshape(16, 16, 16).transpose(1, 0, 2)
        return {'blocks': cube([name.decode() for name, _, _ in nodes], object),
                'param1': cube([p1 for _, p1, _ in nodes], 'u1'), 'param2': cube([p2 for _, _, p2 in nodes], 'u1')}
    found = {}
    with sqlite3.connect(f'file:{path}?mode=ro', uri=True) as db:
        for (pos,) in db.execute('SELECT pos FROM blocks'):
            pos += 0x800800800
            at = tuple((pos >> shift & 0xfff) - 0x800 for shift in (0, 12, 24))
            found[at] = functools.partial(arrays, at)
    return {'': found}


def of_terrain(path):
    t = ter.Terrain(path)
    def arrays():
        return {name: np.flipud(np.array(list(values), dtype).reshape(t.side, t.side))
                for name, values, dtype in (('heights', t.heights, 'u2'), ('layers', t.layers, 'u1'))}
    return {'': {None: arrays}}


def is_map(path):
    with sqlite3.connect(f'file:{path}?mode=ro', uri=True) as db:
        return 'vb' not in [row[1] for row in db.execute('PRAGMA table_info(blocks)')]


def decode(path):
    with open(path if os.path.isfile(path) else f'{path}/meta.vxrm', 'rb') as f:
        head = f.read(16)
    if head[:4] == region.MAGIC:
        return of_region(path)
    if path.endswith('.ter'):
        return of_terrain(path)
    if '.rbx' in path or path.endswith('SmoothGrid.bin'):
        return of_place(path)
    return of_map(path) if head.startswith(b'SQLite') and is_map(path) else of_voxels(path)


# ---- what terrainfs says of it ---------------------------------------------------------------------------------


class Shown:
    """The arrays of a save, or of a group in it."""

    def __init__(self, program, save, group):
        self.program, self.save, self.group = program, save, group
        about = self.cat(f'{group}arrays/info.txt').decode()
        self.types = dict(re.findall(r'^([\w/]+)\.npy: (\w+)', about, re.M))
        self.empty = dict(re.findall(r'^([\w/]+)\.npy: \w+, empty ([^:]*):', about, re.M))
        self.origin = [int(n) for n in re.search(r'^origin: (.*)', about, re.M)[1].split()]

    def cat(self, *files):
        return subprocess.run([self.program, 'cat', self.save, *files], stdout=subprocess.PIPE, check=True).stdout

    def load(self, name, chunk=None):
        """The array, and the names of its numbers."""
        own = f'{self.group}chunks/{"_".join(map(str, chunk))}/' if chunk else self.group
        palette = [self.group + 'arrays/palette.txt'] if name == 'blocks' else []
        data = self.cat(f'{own}arrays/{name}.npy', *palette)
        need(data[:10] == b'\x93NUMPY\1\0v\0' and data[127:128] == b'\n', f'{name}: another head')
        file = io.BytesIO(data)
        array = np.load(file)
        need(array.flags.c_contiguous and array.dtype.isnative, f'{name}: another order')
        names = [line.split(' ', 1)[1] for line in file.read().decode().split('\n') if line]
        return array, np.array([name.replace('\\\\', '\\') for name in names], object) if palette else None


def need(good, what):
    if not good:
        raise AssertionError(what)


def same(wanted, array, names):
    if wanted.shape != array.shape:
        return False
    if names is not None:
        return array.dtype == np.uint16 and (names[array] == wanted).all()
    return wanted.astype(array.dtype).tobytes() == np.ascontiguousarray(array).tobytes()


def compare_whole(program, save, wanted):
    shown = Shown(program, save, '')
    for name, values in wanted.items():
        need(shown.types[name] == values.dtype and same(values, shown.load(name)[0], None), name)


def compare_bounds(shown, whole, places, side):
    """The shape is that of all chunks, and what is in none has the empty value."""
    places = np.array([(y, z, x) for x, y, z in places])
    low, chunks = places.min(axis=0), np.ptp(places, axis=0) + 1
    there = np.zeros(chunks, bool)
    there[tuple((places - low).T)] = True
    need(shown.origin == list(low * side), 'another origin')
    for name, (array, _) in whole.items():
        need(list(array.shape) == list(chunks * side) and array.dtype == shown.types[name], f'{name}: another form')
        cubes = array.reshape([n for pair in zip(chunks, side) for n in pair]).transpose(0, 2, 4, 1, 3, 5)
        need((cubes[~there] == array.dtype.type(shown.empty[name])).all(), f'{name}: something where no chunk is')


def compare(program, save, group, chunks, most):
    """How many chunks were compared."""
    if None in chunks:
        compare_whole(program, save, chunks[None]())
        return 1
    shown, places = Shown(program, save, group), sorted(chunks)
    whole = {name: shown.load(name) for name in shown.types}
    chosen = places[::-(-len(places) // most)]
    for at in chosen:
        for name, wanted in chunks[at]().items():
            side = wanted.shape
            if name in whole:
                array, names = whole[name]
                low = [k * n - o for k, n, o in zip((at[1], at[2], at[0]), side, shown.origin)]
                part = array[tuple(slice(k, k + n) for k, n in zip(low, side))]
                need(same(wanted, part, names), f'{at}: {name}')
            if at == chosen[0]:
                need(same(wanted, *shown.load(name, at)), f'{at}: {name} of the chunk')
    compare_bounds(shown, whole, places, side)
    return len(chosen)


def main(program, most, *saves):
    bad = False
    for save in saves:
        for group, chunks in decode(save).items():
            try:
                print(f'{os.path.basename(save)} {group}: {compare(program, save, group, chunks, int(most))} chunks')
            except AssertionError as e:
                bad = True
                print(f'{save} {group}: differs: {e}')
    return bad


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
