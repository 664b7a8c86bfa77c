"""arrays/ beside decoding and encoding the chunks they touch (bench_arrays.c); and the memory of the daemon.

What NumPy takes is measured in a process of its own, on the CPU of the daemon, and without its start.
"""
import os
import shutil
import subprocess
import sys
import time

from common import MIB, median, peak, run, spread

REGION = 2512  # chunks
PART = 4       # chunks a side of what is assigned
MEMORY = 64 * MIB

CLIENT = '''
import sys, time, numpy as np
path, what = sys.argv[1:3]
start = time.perf_counter()
if what == 'all':
    a = np.load(path)
elif what == 'slice':
    a = np.load(path, mmap_mode='r')
    y = int(sys.argv[3])
    a = np.array(a[y:y + 16])
else:
    a = np.load(path, mmap_mode='r+')
    y, z, x, n = map(int, sys.argv[3:])
    a[y:y + n, z:z + n, x:x + n] = 0
    a.flush()
print((time.perf_counter() - start) * 1e3)
'''


def find_numpy():
    for python in (sys.executable, '/usr/bin/python3'):
        if subprocess.run([python, '-c', 'import numpy'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


def client_ms(python, path, what, *numbers):
    out = subprocess.run(['taskset', '-c', '0', python, '-c', CLIENT, path, what, *map(str, numbers)],
                         check=True, capture_output=True, text=True).stdout
    return float(out)


def references(bench, save, array, part, start):
    """ms: all chunks decoded, those of a layer, a part decoded, encoded and committed."""
    copy = save + '.copy'
    (shutil.copytree if os.path.isdir(save) else shutil.copy)(save, copy)
    out = subprocess.run(['taskset', '-c', '0', bench.build + '/bench/bench_arrays', copy, 'arrays/' + array,
                          str(part), str(start)], check=True, capture_output=True, text=True).stdout
    (shutil.rmtree if os.path.isdir(copy) else os.unlink)(copy)
    return [float(ms) for ms in out.split()]


def ratio(bench, title, ours, floor):
    ratios = [o / f for o, f in zip(ours, floor)]
    bench.row(title, f'{median(ratios):.2f}', 'x', 'at most 2', median(ratios) <= 2,
              f'{spread(ratios)}; {median(ours):.1f} ms')


def one_round(bench, python, save, array, part, start):
    """ms of all, or of a layer of chunks where it is large, and of a part written; growth of memory."""
    path, sides = f'{bench.mnt}/arrays/{array}', 16 * part
    with subprocess.Popen(['taskset', '-c', '0', bench.terrainfs, '-f', '-o', 'views=arrays', save, bench.mnt],
                          stdin=subprocess.DEVNULL) as daemon:
        while not os.path.ismount(bench.mnt):
            time.sleep(0.001)
        with open(f'{bench.mnt}/arrays/info.txt', encoding='ascii') as f:
            origin = next(list(map(int, line.split()[1:])) for line in f if line.startswith('origin'))
        at = [16 * start - low for low in origin]
        before = peak(daemon.pid)
        whole = client_ms(python, path, 'all') if os.path.getsize(path) < 1 << 28 else None
        some = client_ms(python, path, 'slice', at[0]) if whole is None else None
        edit = client_ms(python, path, 'edit', *at, sides)
        grown = peak(daemon.pid) - before
        run([bench.terrainfs, 'umount', bench.mnt])
    return whole, some, edit, grown


def measure(bench, python, title, save, array, start):
    rounds, floors = [], []
    for _ in range(bench.options.rounds):
        copy = save + '.mounted'
        (shutil.copytree if os.path.isdir(save) else shutil.copy)(save, copy)
        floors.append(references(bench, save, array, PART, start))
        rounds.append(one_round(bench, python, copy, array, PART, start))
        (shutil.rmtree if os.path.isdir(copy) else os.unlink)(copy)
    whole, some, edit, grown = zip(*rounds)
    all_ms, part_ms, edit_ms = zip(*floors)
    if whole[0] is not None:
        ratio(bench, f'{title} into NumPy / decoding all chunks', whole, all_ms)
    else:
        ratio(bench, f'{title}, a[y:y+16] / decoding its chunks', some, part_ms)
    ratio(bench, f'{title}, 64^3 to disk / decode, encode, commit', edit, edit_ms)
    bench.row(f'{title}: memory of arrays', f'{max(grown) / MIB:.0f}', 'MiB', f'at most {MEMORY // MIB}',
              max(grown) <= MEMORY, 'VmHWM beyond that of the mount')


def bench_arrays(bench):
    python = find_numpy()
    if python is None:
        bench.row('arrays', '-', '', note='NumPy is not installed')
        return
    save = bench.work + '/arrays_0_0_0.cosmicreach'
    bench.region(save, REGION)
    measure(bench, python, f'a region of {REGION} chunks', save, 'blocks.npy', 1)
    os.unlink(save)
    world = bench.work + '/arrays.sqlite'
    run([bench.build + '/tools/make_luanti', 'map', world, '2000'])
    with bench.mounted([bench.terrainfs, world, bench.mnt]) as mnt:
        os.mkdir(f'{mnt}/chunks/98_98_98')  # 100 chunks a side
    measure(bench, python, 'a map of 4 GB', world, 'param2.npy', -1)
    os.unlink(world)
