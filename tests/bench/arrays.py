"""arrays/ beside decoding and encoding the chunks they touch (bench_arrays.c); and the memory of the daemon.

Times are of CPU, those of the daemon and of NumPy together, without their start: other programs of the
machine do not count, nor does waiting for the disk, which both sides do alike. One row is of the clock, on all
CPUs: the daemon decodes while NumPy copies. NumPy loads modules when it reads its first file: that is its start.
"""
import glob
import os
import shutil
import statistics
import subprocess
import sys
import time

from common import MIB, peak, run, spread, unmount

REGION = 2512  # chunks
PART = 4       # chunks a side of what is assigned
MEMORY = 64 * MIB
LOADS = 3
ON_ONE = ['taskset', '-c', '0']

CLIENT = '''
import sys, time, numpy as np
first, path, what = sys.argv[1:4]
np.save(first, np.zeros((2, 2, 2), np.uint16))
np.load(first)
np.load(first, mmap_mode='r')
start, clock = time.process_time(), time.perf_counter()
if what == 'all':
    a = np.load(path)
elif what == 'slice':
    a = np.load(path, mmap_mode='r')
    y = int(sys.argv[4])
    a = np.array(a[y:y + 16])
else:
    a = np.load(path, mmap_mode='r+')
    y, z, x, n, value = map(int, sys.argv[4:])
    a[y:y + n, z:z + n, x:x + n] = value
    a.flush()
print((time.process_time() - start) * 1e3, (time.perf_counter() - clock) * 1e3)
'''


def find_numpy():
    for python in (sys.executable, '/usr/bin/python3'):
        if subprocess.run([python, '-c', 'import numpy'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


def threads_ms(pid):
    """CPU of all threads."""
    total = 0
    for path in glob.glob(f'/proc/{pid}/task/*/schedstat'):
        with open(path, encoding='ascii') as f:
            total += int(f.read().split()[0])
    return total / 1e6


def client(bench, pinned, python, path, what, *numbers):
    """ms of CPU and of the clock of NumPy."""
    command = [python, '-c', CLIENT, bench.work + '/first.npy', path, what, *map(str, numbers)]
    out = subprocess.run([*pinned, *command], check=True, capture_output=True, text=True).stdout
    return map(float, out.split())


def both_ms(bench, daemon, python, path, what, *numbers):
    before = threads_ms(daemon.pid)
    cpu, _ = client(bench, ON_ONE, python, path, what, *numbers)
    return cpu + threads_ms(daemon.pid) - before


def references(bench, save, array, start, value):
    """ms: all chunks decoded, those of a layer, a part decoded, encoded and committed; all, by the clock."""
    copy = save + '.copy'
    (shutil.copytree if os.path.isdir(save) else shutil.copy)(save, copy)
    out = subprocess.run([*ON_ONE, bench.build + '/bench/bench_arrays', copy, 'arrays/' + array,
                          str(PART), str(start), str(value)], check=True, capture_output=True, text=True).stdout
    (shutil.rmtree if os.path.isdir(copy) else os.unlink)(copy)
    return [float(ms) for ms in out.split()]


def ratio(bench, title, ours, floor):
    """Of the best rounds: a busy machine makes both slower, and not alike."""
    value = min(ours) / min(floor)
    middle = statistics.median(ours), statistics.median(floor)
    bench.row(title, f'{value:.2f}', 'x', 'at most 2', value <= 2,
              f'{min(ours):.1f} ms beside {min(floor):.1f}, medians {middle[0]:.1f} and {middle[1]:.1f}; '
              f'rounds {spread([o / f for o, f in zip(ours, floor)])}')


def empty_ms(bench, python, array, at, value):
    """ms that NumPy, the kernel and a server without any work take to write the part: what nobody can save."""
    top, mnt = bench.work + '/empty', bench.work + '/empty.mnt'
    for path in (top, mnt):
        os.makedirs(path, exist_ok=True)
    with open(array, 'rb') as f, open(top + '/a.npy', 'wb') as copy:
        copy.write(f.read(4096))
        copy.truncate(os.path.getsize(array))
    with subprocess.Popen([*ON_ONE, bench.build + '/bench/nullfs', top, mnt, '-f'],
                          stdin=subprocess.DEVNULL) as daemon:
        while not os.path.ismount(mnt):
            time.sleep(0.001)
        took = both_ms(bench, daemon, python, mnt + '/a.npy', 'edit', *at, 16 * PART, value)
        unmount(mnt)
    return took


def one_round(bench, python, save, array, start, value):
    """Is all read? Else ms of a layer of chunks; ms of a part written, here and where nothing is done with it;
    growth of memory."""
    path = f'{bench.mnt}/arrays/{array}'
    with subprocess.Popen([*ON_ONE, bench.terrainfs, '-f', '-o', 'views=arrays', save, bench.mnt],
                          stdin=subprocess.DEVNULL) as daemon:
        while not os.path.ismount(bench.mnt):
            time.sleep(0.001)
        with open(f'{bench.mnt}/arrays/info.txt', encoding='ascii') as f:
            origin = next(list(map(int, line.split()[1:])) for line in f if line.startswith('origin'))
        at = [16 * start - low for low in origin]
        before = peak(daemon.pid)
        whole = os.path.getsize(path) < 1 << 28
        some = both_ms(bench, daemon, python, path, *(['all'] if whole else ['slice', at[0]]))
        edit = both_ms(bench, daemon, python, path, 'edit', *at, 16 * PART, value)
        grown = peak(daemon.pid) - before
        empty = empty_ms(bench, python, path, at, value)
        run([bench.terrainfs, 'umount', bench.mnt])
    return whole, some, edit, empty, grown


def load_ms(bench, python, save, array, pinned):
    """ms of all in a mount of its own: of CPU, and by the clock; the best of some, as bench_arrays says the best."""
    best = [float('inf')] * 2
    for _ in range(LOADS):
        with subprocess.Popen([*pinned, bench.terrainfs, '-f', '-o', 'views=arrays', save, bench.mnt],
                              stdin=subprocess.DEVNULL) as daemon:
            while not os.path.ismount(bench.mnt):
                time.sleep(0.001)
            with open(f'{bench.mnt}/arrays/info.txt', encoding='ascii') as f:
                f.read()
            before = threads_ms(daemon.pid)
            cpu, clock = client(bench, pinned, python, f'{bench.mnt}/arrays/{array}', 'all')
            best = min(best[0], cpu + threads_ms(daemon.pid) - before), min(best[1], clock)
            run([bench.terrainfs, 'umount', bench.mnt])
    return best


def read_by_floor(bench, python, save, array):
    """ms of all, from a filesystem that has the same bytes in memory: what the kernel and NumPy take."""
    files = bench.work + '/array'
    os.mkdir(files)
    with open(files + '/a.npy', 'wb') as f:
        subprocess.run([bench.terrainfs, 'cat', save, 'arrays/' + array], stdout=f, check=True)
    times = []
    for _ in range(bench.options.rounds):
        with subprocess.Popen([*ON_ONE, bench.build + '/bench/nullfs', files, bench.mnt, '-f'],
                              stdin=subprocess.DEVNULL) as daemon:
            while not os.path.ismount(bench.mnt):
                time.sleep(0.001)
            times.append(both_ms(bench, daemon, python, bench.mnt + '/a.npy', 'all'))
            unmount(bench.mnt)
    shutil.rmtree(files)
    return times


def measure(bench, python, title, save, array, start, value):
    rounds, floors, whole, clocks = [], [], [], []
    for _ in range(bench.options.rounds):
        copy = save + '.mounted'
        (shutil.copytree if os.path.isdir(save) else shutil.copy)(save, copy)
        floors.append(references(bench, save, array, start, value))
        rounds.append(one_round(bench, python, copy, array, start, value))
        if rounds[-1][0]:
            whole.append(load_ms(bench, python, copy, array, ON_ONE)[0])
            clocks.append(load_ms(bench, python, copy, array, [])[1])
        (shutil.rmtree if os.path.isdir(copy) else os.unlink)(copy)
    _, some, edit, empty, grown = zip(*rounds)
    all_ms, part_ms, edit_ms, all_clock = zip(*floors)
    if whole:
        ratio(bench, f'{title} into NumPy / decoding all chunks', whole, all_ms)
        ratio(bench, f'{title} into NumPy / decoding all, by the clock', clocks, all_clock)
        by_floor = min(read_by_floor(bench, python, save, array))
        bench.row(f'{title}, the same bytes from the floor', f'{by_floor / min(all_ms):.2f}', 'x', None, None,
                  f'{by_floor:.1f} ms: kernel and NumPy alone')
    else:
        ratio(bench, f'{title}, a[y:y+16] / decoding its chunks', some, part_ms)
    ratio(bench, f'{title}, 64^3 to disk / decode, encode, commit', edit, edit_ms)
    if not whole:
        bound = min(empty) + min(edit_ms)
        bench.row(f'{title}, the same by a server that does nothing, and the edit', f'{bound / min(edit_ms):.2f}', 'x',
                  note=f'{min(empty):.1f} + {min(edit_ms):.1f} ms: no server takes less; terrainfs takes '
                       f'{min(edit) / bound:.2f} times that')
    bench.row(f'{title}: memory of arrays', f'{max(grown) / MIB:.0f}', 'MiB', f'at most {MEMORY // MIB}',
              max(grown) <= MEMORY, 'VmHWM beyond that of the mount')


def bench_arrays(bench):
    python = find_numpy()
    if python is None:
        bench.row('arrays', '-', '', note='NumPy is not installed')
        return
    save = bench.work + '/arrays_0_0_0.cosmicreach'
    bench.region(save, REGION)
    measure(bench, python, f'a region of {REGION} chunks', save, 'blocks.npy', 1, 0)
    os.unlink(save)
    world = bench.work + '/arrays.sqlite'
    run([bench.build + '/tools/make_luanti', 'map', world, '2000'])
    with bench.mounted([bench.terrainfs, world, bench.mnt]) as mnt:
        os.mkdir(f'{mnt}/chunks/98_98_98')  # 100 chunks a side
        for y in range(PART - 1):           # above the ground
            for place in range(PART * PART):
                os.mkdir(f'{mnt}/chunks/{place % PART - 1}_{y}_{place // PART - 1}')
    measure(bench, python, 'a map of 4 GB', world, 'param2.npy', -1, 1)
    os.unlink(world)
