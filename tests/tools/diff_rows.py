#!/usr/bin/env python3
"""Checks what `terrainfs diff --all-rows --json A B` says against decoders that know the formats without our code.

diff_rows.py FORMAT A B JSON [BACK]   voxel by voxel; prints the first voxels that are told wrong, with status 2, 4 (in
    BACK, what `diff B A` says) or both; 1: a file cannot be read
diff_rows.py mutate FORMAT SAVE SEED TERRAINFS   changes some voxels of some chunks through `put`

FORMAT is cosmic_reach, roblox, godot_voxel or beamng.
"""
import functools
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
MATERIALS = ('Air Water Grass Slate Concrete Brick Sand WoodPlanks Rock Glacier Snow Sandstone Mud Basalt Ground '
             'CrackedLava Asphalt Cobblestone Ice LeafyGrass Salt Limestone Pavement').split()
EMPTY = {'sdf': (0x7F, 0x7FFF, 100.0, 100.0), 'indices': (0, 0x3210, 0, 0), 'weights': (15,) * 4}
DEPTHS = (1, 1, 0, 1, 1, 0, 0, 0)


def roblox_name(cell):
    material, occupancy, water = cell
    name = MATERIALS[material] if material < len(MATERIALS) else str(material)
    name += f'@{occupancy}' if occupancy != (255 if material else 0) else ''
    return name + (f'~{water}' if water else '')


def roblox_voxels(at, edge, cells):
    x, y, z = (c * edge for c in at)
    return lambda: {(x + i % edge, y + i // edge**2, z + i // edge % edge): (roblox_name(cell), cell[0] == 0)
                    for i, cell in enumerate(cells)}


def roblox(path):
    import place
    save = place.read(path)
    for (group, word), value in save.values.items():
        if word != 'SmoothGrid':
            continue
        chunks, edge = place.grid(value)
        for at, (_, cells) in chunks.items():
            yield place.name_of(group, at), cells, roblox_voxels(at, edge, cells)


def cosmic_voxels(at, chunk):
    import region
    air = re.compile(rb'base:air(\[.*)?$')
    x, y, z = (c * 16 for c in at)
    return lambda: {(x + i % 16, y + dy, z + i // 16): (chunk.palette[value].decode(), bool(air.match(chunk.palette[value])))
                    for dy in range(16) for i, value in enumerate(region.block_values(*chunk.block_layers[dy]))}


def cosmic_reach(path):
    import region
    for at, chunk in region.Region(path).chunks.items():
        yield region.name_of(at), chunk.body, cosmic_voxels(at, chunk)


def godot_name(block, x, y, z):
    import voxel
    parts = []
    for i, channel in enumerate(voxel.CHANNELS):
        depth, value = block.channels[i][1], block.value(i, x, y, z)
        if depth == DEPTHS[i] and value == EMPTY.get(channel, (0,) * 4)[depth]:
            continue
        text = f'{value:g}' if isinstance(value, float) else value
        parts.append(f'{channel}={text}' + (f'/{8 << depth}' if depth != DEPTHS[i] else ''))
    return ' '.join(parts) or 'empty', not parts


def godot_voxels(key, chunk):
    def decode():
        block = chunk.block()
        sx, sy, sz = block.size
        return {(key[1] * sx + x, key[2] * sy + y, key[3] * sz + z): godot_name(block, x, y, z)
                for x in range(sx) for y in range(sy) for z in range(sz)}
    return decode


def godot_voxel(path):
    import voxel
    for key, chunk in voxel.load(path).chunks.items():
        if chunk.stored is not None:
            yield voxel.name_of(key), chunk.stored, godot_voxels(key, chunk)


def beamng(path):
    import ter
    save = ter.Terrain(path)

    def corner(layer):
        if layer == 255 or layer >= len(save.names):
            return '#hole' if layer == 255 else f'#{layer}'
        name = save.names[layer]
        same = save.names[:layer + 1].count(name)
        return ''.join(f'\\x{ord(c):02x}' if c in ' ,#' else c for c in name) + (f'#{same}' if same > 1 else '')
    chunks = {}
    extra = save.extra_size == 4
    for i in range(save.count):
        x, z = i % save.side, i // save.side
        layer = save.layers[i]
        name = '#hole' if layer == 255 else save.names[layer] if layer < len(save.names) else f'#{layer}'
        name += f' h={save.heights[i]}' + (f" corners={','.join(map(corner, save.extra[4 * i:4 * i + 4]))}" if extra else '')
        same = save.names[:layer + 1].count(save.names[layer]) if layer < len(save.names) else 1
        name += f' same={same}' if same > 1 else ''
        chunks.setdefault(f'{x // 64}_0_{z // 64}', {})[x, 0, z] = (name, False)
    for chunk, voxels in chunks.items():
        yield chunk, voxels, voxels.copy


DECODERS = {f.__name__: f for f in (roblox, cosmic_reach, godot_voxel, beamng)}


def wanted(before, after):
    """{chunk: {voxel: (name before, name after)}} of what differs; None: not there."""
    result = {}
    before, after = ({name: (key, voxels) for name, key, voxels in side} for side in (before, after))
    for chunk in set(before) | set(after):
        a, b, voxels = before.get(chunk), after.get(chunk), {}
        if a and b and a[0] == b[0]:
            continue
        a, b = a and a[1](), b and b[1]()
        for at in set(a or ()) | set(b or ()):
            old, new = (a or {}).get(at), (b or {}).get(at)
            if old is None or new is None:
                if not (old or new)[1]:
                    voxels[at] = (old and old[0], new and new[0])
            elif old[0] != new[0]:
                voxels[at] = (old[0], new[0])
        if voxels or a is None or b is None:
            result[chunk] = voxels
    return result


def told(diff):
    result = {}
    for chunk in diff['chunks']:
        voxels = result.setdefault(chunk['chunk'], {})
        for row in chunk['rows']:
            for side in (0, 1):
                for low, high, name in row[('before', 'after')[side]]:
                    for x in range(low, high + 1):
                        pair = voxels.setdefault((x, row['y'], row['z']), [None, None])
                        assert pair[side] is None, f'voxel {x} of {row} is told twice'
                        pair[side] = name
        assert chunk['voxels'] == len(voxels), f"{chunk['chunk']}: {chunk['voxels']} voxels, {len(voxels)} in rows"
    shown = [at for chunk, voxels in result.items() for at in voxels if '/' not in chunk]
    box = {axis: [min(line), max(line)] for axis, line in zip('xyz', zip(*shown))}
    assert diff['voxels'] == sum(map(len, result.values())) and diff.get('box', {}) == box, 'the totals are wrong'
    return {chunk: {at: tuple(pair) for at, pair in voxels.items()} for chunk, voxels in result.items()}


def check(kind, a, b, *outputs):
    sides = [[(name, key, functools.cache(voxels)) for name, key, voxels in DECODERS[kind](path)] for path in (a, b)]
    wants = wanted(*sides), wanted(*reversed(sides))
    return sum(compare(want, output) * bit for want, output, bit in zip(wants, outputs, (2, 4)))


def compare(want, output):
    with open(output, encoding='utf-8') as f:
        got = told(json.load(f))
    for chunk in sorted(set(want) | set(got)):
        if want.get(chunk) != got.get(chunk):
            left, right = want.get(chunk), got.get(chunk)
            print(f'{chunk}: wanted', sorted((left or {}).items())[:3] if left is not None else None,
                  'told', sorted((right or {}).items())[:3] if right is not None else None)
            return 1
    print(len(want), 'chunks', sum(len(v) for v in want.values()), 'voxels')
    return 0


def mutate_ter(path, r):
    with open(path, 'r+b') as f:
        head = f.read(5)
        count = int.from_bytes(head[1:], 'little') ** 2
        for _ in range(r.randrange(1, 200)):
            i = r.randrange(count)
            f.seek(5 + 2 * i)
            f.write(r.randrange(65536).to_bytes(2, 'little'))
        f.seek(5 + 2 * count + r.randrange(count))
        f.write(b'\xff')
    return 0


def mutate(kind, path, seed, program):
    r = random.Random(int(seed))
    if kind == 'beamng':
        return mutate_ter(path, r)
    names = sorted(name for name, _, _ in DECODERS[kind](path))
    for name in r.sample(names, min(len(names), 3)):
        group, _, chunk = name.rpartition('/')
        file = (group + '/' if group else '') + f'chunks/{chunk}/voxels.csv'
        text = subprocess.run([program, 'cat', path, file], check=True, capture_output=True).stdout.decode()
        head, *lines = text.splitlines()
        if not lines or head == 'x,y,z':
            continue
        values = sorted({line.split(',', 3)[3] for line in lines})
        for _ in range(r.randrange(1, 60)):
            i = r.randrange(len(lines))
            place = lines[i].split(',', 3)[:3]
            lines[i] = ','.join(place + [r.choice(values)])
        for _ in range(r.randrange(0, 20)):
            if lines:
                lines.pop(r.randrange(len(lines)))
        subprocess.run([program, 'put', path, file], check=True, input='\n'.join([head] + lines + ['']).encode())
    return 0


if __name__ == '__main__':
    sys.exit(mutate(*sys.argv[2:]) if sys.argv[1] == 'mutate' else check(*sys.argv[1:]))
