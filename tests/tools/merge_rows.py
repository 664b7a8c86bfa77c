#!/usr/bin/env python3
"""Checks what `terrainfs merge` made against decoders that know the formats without our code.

merge_rows.py FORMAT BASE OURS THEIRS RESULT PREFER [PATH]
    voxel by voxel; status 1 with the first that are wrong. PREFER is ours, theirs or base. PATH.conflicts.csv,
    PATH.conflicts.GROUP-N.csv must hold every voxel in conflict, and be absent when there is none. BASE may be -.
"""
import csv
import glob
import os
import sys

from diff_rows import DECODERS


def load(kind, path):
    return {} if path == '-' else {name: (key, voxels) for name, key, voxels in DECODERS[kind](path)}


def same(a, b):
    """Two voxels, each (name, empty) or None where it is not there."""
    if a is None or b is None:
        return (a is None or a[1]) and (b is None or b[1])
    return a[0] == b[0]


def merge_chunk(kind, chunk, sides, prefer, conflicts):
    """The chunk that the result is to have: (its stored bytes or None, what gives its voxels); None: no chunk."""
    base, ours, theirs = (side.get(chunk) for side in sides)
    keys = [side and side[0] for side in (base, ours, theirs)]
    if keys[1] == keys[2] or keys[0] == keys[2]:
        return ours
    if keys[0] == keys[1]:
        return theirs
    voxels = merge_voxels(kind, chunk, [side and side[1]() for side in (base, ours, theirs)], prefer, conflicts)
    return None if voxels is None else (None, lambda: voxels)


def merge_voxels(kind, chunk, sides, prefer, conflicts):
    base, ours, theirs = sides
    voxels = {'base': base, 'ours': ours, 'theirs': theirs}
    name = lambda voxel: voxel[0] if voxel else ''
    if ours is None or theirs is None:
        kept = ours or theirs
        lost = [at for at in set(base) | set(kept) if not same(base.get(at), kept.get(at))]
        for at in lost:
            conflicts[chunk, at] = tuple(name(v and v.get(at)) for v in (base, ours, theirs))
        return voxels[prefer] if lost else None
    based = base is not None or kind == 'roblox'  # there alone a chunk that is not stored is air
    result = {}
    for at in set(base or ()) | set(ours) | set(theirs):
        b, o, t = ((v or {}).get(at) for v in (base, ours, theirs))
        if same(o, t) or based and same(b, t):
            result[at] = o
        elif based and same(b, o):
            result[at] = t
        else:
            conflicts[chunk, at] = (name(b), name(o), name(t))
            result[at] = {'base': b, 'ours': o, 'theirs': t}[prefer]
    return result


def read_conflicts(path):
    found = {}
    for file in glob.glob(glob.escape(path) + '.conflicts*.csv'):
        group = os.path.basename(file)[len(os.path.basename(path)) + len('.conflicts'):-len('.csv')].lstrip('.').replace('-', '/')
        with open(file, newline='', encoding='utf-8') as f:
            rows = csv.reader(f)
            assert next(rows) == ['x', 'y', 'z', 'base', 'ours', 'theirs']
            for x, y, z, *names in rows:
                assert (group, (int(x), int(y), int(z))) not in found, f'{x},{y},{z} is told twice'
                found[group, (int(x), int(y), int(z))] = tuple(names)
    return found


def main(kind, base, ours, theirs, result, prefer, path=None):
    sides = [load(kind, p) for p in (base, ours, theirs)]
    got, conflicts, bad = load(kind, result), {}, []
    for chunk in sorted(set().union(*sides, got)):
        want, have = merge_chunk(kind, chunk, sides, prefer, conflicts), got.get(chunk)
        if (want is None) != (have is None):
            bad.append(f'{chunk}: ' + ('is there' if want is None else 'is missing'))
            continue
        if want is None or want[0] is not None and want[0] == have[0]:
            continue
        want, have = want[1](), have[1]()
        for at in sorted(set(want) | set(have)):
            if not same(want.get(at), have.get(at)):
                bad.append(f'{chunk}: voxel {at}: wanted {want.get(at)}, got {have.get(at)}')
    told = {(chunk.rpartition('/')[0], at): names for (chunk, at), names in conflicts.items()}
    if path is not None and told != read_conflicts(path):
        found = read_conflicts(path)
        bad.append(f'conflicts: {len(told)} wanted, {len(found)} told: '
                   f'{sorted(set(told.items()) ^ set(found.items()))[:4]}')
    print(*bad[:5], sep='\n')
    print(len(sides[1]), 'chunks,', len(conflicts), 'voxels in conflict')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
