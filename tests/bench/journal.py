"""What an edit costs in the default mode, beside the same edit without any sync and the sync of such a record.

The reference of each close is the same close of a mount that syncs nothing (--before PROGRAM with commit=60, else
this program and syncs that do nothing), plus FACTOR times an append and fdatasync of a record as
large to a plain file. Both mounts and the plain file are used in turns, in one run, on the disk of the build.
"""
import contextlib
import os
import shutil
import signal
import statistics
import struct
import subprocess
import threading
import time

from common import MIB, append, cpu_us, median, run, shell_ms, unmount, write_ms

FACTOR = 1.3
EDITS = 1000
SIZES = (1, 10, 100)   # MB; with --gigabyte 1000, too
EDGE = 32
CELLS = EDGE ** 3
FAR = 1000             # from there on are the chunks that make a save large
MB = 1000 * 1000


# ---- saves --------------------------------------------------------------------------------------


def offset(delta):
    """src/formats/roblox/FORMAT.md, section 2: three i32, big-endian, interleaved."""
    return bytes(x for four in zip(*(struct.pack('>i', d) for d in delta)) for x in four)


def make_grid(path, size):
    """EDITS chunks with a floor of rock, and behind them noise until the value has `size` bytes."""
    floor = b'\x81\xff' * (EDGE * EDGE // 256) + b'\x80\xff' * ((CELLS - EDGE * EDGE) // 256)
    places = [(i // 100, 0, i % 100) for i in range(EDITS)]
    last = (0, 0, 0)
    with open(path, 'wb') as f:
        f.write(b'\x01\x05')
        while places or f.tell() < size:
            noise = not places
            at = (FAR, 0, last[2] + 1 if last[0] == FAR else 0) if noise else places.pop(0)
            f.write(offset([a - b for a, b in zip(at, last)]))
            f.write(noisy(at[2]) if noise else floor)
            last = at


def noisy(seed):
    """Cells of two materials in turns, each with an occupancy of its own: runs of one."""
    occupancies = (bytes(range(1, 255)) * (CELLS // 254 + 2))[seed % 254:][:CELLS]
    both = bytearray(2 * CELLS)
    both[0::2] = b'\x41\x42' * (CELLS // 2)
    both[1::2] = occupancies
    return bytes(both)


def table(mnt, number):
    return f'{mnt}/chunks/{number // 100}_0_{number % 100}/voxels.csv'


def place(number):
    return number // 100 * EDGE + 3, 1, number % 100 * EDGE + 4


# ---- mounts -------------------------------------------------------------------------------------


def environment(bench, syncs):
    more = {} if syncs else {'LD_PRELOAD': bench.build + '/torture/nosync.so'}
    return dict(os.environ, XDG_STATE_HOME=bench.work + '/state', **more)


@contextlib.contextmanager
def daemon(bench, save, mnt, *options, program=None, syncs=True, stderr=None):
    """A mount in the foreground, pinned; gives its process."""
    os.makedirs(mnt, exist_ok=True)
    command = ['taskset', '-c', '0', program or bench.terrainfs, '-f', *options, save, mnt]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=stderr,
                          env=environment(bench, syncs)) as process:
        while not os.path.ismount(mnt):
            if process.poll() is not None:
                raise RuntimeError(f'{save} cannot be mounted')
            time.sleep(0.001)
        try:
            yield process
        finally:
            if process.poll() is None:
                run([bench.terrainfs, 'umount', mnt])


def without_sync(bench, save, mnt):
    """The mount that costs are compared with."""
    before = bench.options.before
    return daemon(bench, save, mnt, *(('-o', 'commit=60') if before else ()), program=before,
                  syncs=before is not None)


class Plain:
    """A file to which records are appended and synced."""

    def __init__(self, path, size):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.record = os.urandom(size)

    def ms(self):
        start = time.perf_counter()
        os.write(self.fd, self.record)
        os.fdatasync(self.fd)
        return (time.perf_counter() - start) * 1e3

    def close(self):
        os.close(self.fd)


def edit_ms(mnt, number, value):
    start = time.perf_counter()
    append(table(mnt, number), place(number), f'Rock,{value},0')
    return (time.perf_counter() - start) * 1e3


def percentile(values):
    return statistics.quantiles(values, n=100)[-1]


def record_size(bench):
    """Of the journal of an edit as they are made here: what is stored of the chunk, and its heads."""
    save, mnt = bench.work + '/record.bin', bench.work + '/record'
    make_grid(save, 0)
    journal = f'{bench.work}/.record.bin.terrainfs-journal'
    size, number = 0, 0
    with daemon(bench, save, mnt):
        while size <= 0:    # until two edits of a burst were looked at before the save followed
            sizes = []
            for number in range(number, number + 3):
                edit_ms(mnt, number, 77)
                sizes.append(size_of(journal))
            size = sizes[2] - sizes[1] if sizes[1] > 0 else 0
    os.unlink(save)
    return size


# ---- a thousand edits ---------------------------------------------------------------------------


def thousand(bench, size, record):
    """(ms of each edit, of each without sync, of each record; us of CPU an edit, the same without sync)"""
    saves = [f'{bench.work}/ours.bin', f'{bench.work}/least.bin']
    for save in saves:
        make_grid(save, size)
    plain = Plain(bench.work + '/plain', record)
    ours, least, syncs = [], [], []
    with daemon(bench, saves[0], bench.work + '/a') as a, \
            without_sync(bench, saves[1], bench.work + '/b') as b:
        before = cpu_us(a.pid), cpu_us(b.pid)
        for i in range(EDITS):
            ours.append(edit_ms(bench.work + '/a', i, 1 + i % 254))
            least.append(edit_ms(bench.work + '/b', i, 1 + i % 254))
            syncs.append(plain.ms())
        cpu = [(cpu_us(p.pid) - was) / EDITS for p, was in zip((a, b), before)]
    plain.close()
    for path in (*saves, bench.work + '/plain'):
        os.unlink(path)
    return ours, least, syncs, *cpu


def bench_thousand(bench):
    record, medians = record_size(bench), []
    for size in SIZES + ((1000,) if bench.options.gigabyte else ()):
        ours, least, syncs, cpu, cpu_least = thousand(bench, size * MB, record)
        medians.append(median(ours))
        for name, of in (('median', median), ('99th percentile', percentile)):
            limit = of(least) + FACTOR * of(syncs)
            bench.row(f'{EDITS} edits, {size} MB: {name}', f'{of(ours):.2f}', 'ms',
                      f'at most {limit:.2f}', of(ours) <= limit,
                      f'without sync {of(least):.2f}, a record of {record} bytes {of(syncs):.2f}')
        bench.row(f'{EDITS} edits, {size} MB: CPU an edit', f'{cpu / 1e3:.2f}', 'ms', None, None,
                  f'without sync {cpu_least / 1e3:.2f}; the slowest edit {max(ours):.0f} ms')
    spread = max(medians) / min(medians)
    bench.row(f'{EDITS} edits: the median of all sizes', f'{spread:.2f}', 'x', f'within {FACTOR}', spread <= FACTOR,
              ' '.join(f'{m:.2f}' for m in medians))


# ---- programs -----------------------------------------------------------------------------------


SED = r"sed -i '2s/^\([^,]*,[^,]*,[^,]*,\).*/\1{name}/'"   # the block of the first voxel


class Programs:
    """What users run on a tree; each gives the closes that it waits for."""

    def __init__(self, bench):
        self.bench = bench
        self.save = bench.work + '/programs.cosmicreach'
        bench.region(self.save, 1024)
        tree = bench.work + '/programs'
        run([bench.terrainfs, 'export', self.save, tree])
        self.names = sorted(os.listdir(tree + '/chunks'))
        self.copied = bench.work + '/copied'
        os.makedirs(self.copied)
        for name in self.names[:100]:
            shutil.move(f'{tree}/chunks/{name}', f'{self.copied}/{name}')
        shutil.rmtree(tree)

    def sed(self, mnt):
        return f'cd {mnt}/chunks && {SED.format(name="base:sed")} {self.tables(0, 345)}', 345

    def tables(self, first, last):
        return ' '.join(f'{name}/voxels.csv' for name in self.names[first:last])

    def remove(self, mnt):
        return f'cd {mnt}/chunks && rm -r {" ".join(self.names[:157])}', 157

    def copy(self, mnt):
        """The chunks are removed before; files and directories are closes and commit points."""
        for name in self.names[:100]:
            shutil.rmtree(f'{mnt}/chunks/{name}')
        run([self.bench.terrainfs, 'sync', mnt]) if not self.bench.options.before else os.sync()
        closes = sum(len(dirs) + len(files) for _, dirs, files in os.walk(self.copied))
        return f'cp -r {self.copied}/* {mnt}/chunks/', closes

    def git(self, mnt):
        """Two commits that differ in 500 files; the first one is checked out."""
        repository = f'{self.bench.work}/git'
        shutil.rmtree(repository, ignore_errors=True)
        git = f'git --git-dir={repository} --work-tree={mnt} -c user.name=a -c user.email=a@b -c gc.auto=0'
        files = self.tables(400, 900)
        shell_ms(f'cd {mnt}/chunks && {git} init -q && {git} add {files} && {git} commit -qm one && '
                 f'{SED.format(name="base:git")} {files} && {git} commit -qam two')
        return f'cd {mnt}/chunks && {git} checkout -q HEAD^', 500


def program_round(bench, programs, make, mount):
    """(ms, us of CPU of the daemon, closes)"""
    save, mnt = bench.work + '/round.cosmicreach', bench.work + '/round'
    shutil.copy(programs.save, save)
    with mount(bench, save, mnt) as process:
        command, closes = make(mnt)
        time.sleep(1)   # what was prepared is in the save by then
        before = cpu_us(process.pid)
        took = shell_ms(command)
        cpu = cpu_us(process.pid) - before
    os.unlink(save)
    return took, cpu, closes


def bench_programs(bench):
    programs = Programs(bench)
    plain = Plain(bench.work + '/plain', record_size(bench))
    for title, make in (('sed -i, 345 files', programs.sed), ('rm -r, 157 chunks', programs.remove),
                        ('cp -r, 100 chunks', programs.copy), ('git checkout, 500 files', programs.git)):
        ours, least, syncs = [], [], []
        for _ in range(bench.options.rounds):
            ours.append(program_round(bench, programs, make, daemon))
            closes = ours[-1][2]
            least.append(program_round(bench, programs, make, without_sync))
            syncs.append(sum(plain.ms() for _ in range(closes)))
        took, without, cpu, cpu_least = (median([r[i] for r in rounds])
                                         for rounds, i in ((ours, 0), (least, 0), (ours, 1), (least, 1)))
        limit = without + FACTOR * median(syncs)
        bench.row(f'{title}, default mode', f'{took:.0f}', 'ms', f'at most {limit:.0f}', took <= limit,
                  f'without sync {without:.0f}, {closes} records {median(syncs):.0f}; CPU {cpu / 1e3:.0f} ms, '
                  f'without sync {cpu_least / 1e3:.0f}')
    plain.close()
    os.unlink(bench.work + '/plain')


# ---- recovery -----------------------------------------------------------------------------------


def journal_of(save):
    return os.path.join(os.path.dirname(save), f'.{os.path.basename(save)}.terrainfs-journal')


def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def edit_chunk(mnt, number):
    path = f'{mnt}/chunks/{FAR}_0_{number}/raw.bin'
    with open(path, 'rb') as f:
        data = bytearray(f.read())
    data[1] ^= 1
    with open(path, 'wb') as f:
        f.write(data)


def fill_journal(bench, save, mnt, size):
    """Edits of large chunks until the journal has `size` bytes; then the daemon is killed."""
    with daemon(bench, save, mnt) as process:
        number = 0
        while size_of(journal_of(save)) < size:
            edit_chunk(mnt, number)
            number += 1
        process.send_signal(signal.SIGKILL)
        process.wait()
    unmount(mnt)


def put_back(copy, path):
    """A file as it was kept, on the disk before anything is measured."""
    shutil.copy2(os.path.join(copy, os.path.basename(path)), path)
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def read_and_write(bench, save):
    """The least that recovery costs: both files read, and the save written. Wall and CPU time, ms."""
    cpu, start = time.process_time(), time.perf_counter()
    with open(save, 'rb') as a, open(journal_of(save), 'rb') as b:
        data, _ = a.read(), b.read()
    took = (time.perf_counter() - start) * 1e3 + write_ms(bench.work + '/least', data)
    return took, (time.process_time() - cpu) * 1e3


def recover(bench, save, mnt):
    """Until the mount stands: wall and CPU time, ms."""
    start = time.perf_counter()
    with daemon(bench, save, mnt, '-o', 'backup=no', stderr=subprocess.DEVNULL) as process:
        took, cpu = (time.perf_counter() - start) * 1e3, cpu_us(process.pid) / 1e3
        if os.path.exists(journal_of(save)):
            raise RuntimeError('the journal was not brought into the save')
    return took, cpu


def bench_recovery(bench):
    save, mnt, copy = bench.work + '/recovery.bin', bench.work + '/recovered', bench.work + '/kept'
    make_grid(save, 100 * MB)
    fill_journal(bench, save, mnt, 64 * MIB - 128 * 1024)
    os.mkdir(copy)
    took, least = [], []
    for path in (save, journal_of(save)):
        shutil.copy2(path, copy)
    for _ in range(max(3, bench.options.rounds)):
        for path in (save, journal_of(save)):
            put_back(copy, path)
        least.append(read_and_write(bench, save))
        took.append(recover(bench, save, mnt))
    ratio = median([a / b for (a, _), (b, _) in zip(took, least)])
    (ours, cpu), (theirs, cpu_least) = ([median(times) for times in zip(*rows)] for rows in (took, least))
    bench.row('recovery of 64 MiB onto 100 MB / reading and writing', f'{ratio:.2f}', 'x', 'at most 2', ratio <= 2,
              f'{ours:.0f} ms, {theirs:.0f} ms; CPU {cpu:.0f} ms, {cpu_least:.0f}')
    os.unlink(save)
    os.unlink(bench.work + '/least')
    shutil.rmtree(copy)


# ---- readers, and the size of the journal, while the save is rewritten --------------------------------


class Watch(threading.Thread):
    """Until it is told to end: the largest journal, and how often the save was replaced."""

    def __init__(self, save):
        super().__init__(daemon=True)
        self.save, self.largest, self.replaced, self.over = save, 0, 0, threading.Event()

    def run(self):
        last = os.stat(self.save).st_ino
        while not self.over.wait(0.005):
            self.largest = max(self.largest, size_of(journal_of(self.save)))
            now = os.stat(self.save).st_ino
            self.replaced += now != last
            last = now


READER = '''
import os, sys, time
mnt, first, count, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
for i in range(first, first + count):
    name = f"{mnt}/chunks/{i // 100}_0_{i % 100}/raw.bin"
    start = time.perf_counter()
    os.stat(name)
    with open(name, "rb") as f:
        f.read()
    print((time.perf_counter() - start) * 1e3)
    time.sleep(pause)
'''


def read_latencies(mnt, first):
    """ms of a lookup and a read of files that nobody read before."""
    done = subprocess.run(['taskset', '-c', '1', 'python3', '-S', '-c', READER, mnt, str(first), '500', '0.004'],
                          check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]


def rewrite_ms(bench, mnt, number):
    edit_ms(mnt, number, 9)
    start = time.perf_counter()
    run([bench.terrainfs, 'sync', mnt])
    return (time.perf_counter() - start) * 1e3


def keep_writing(bench, mnt, over):
    """Edits, each brought into the save."""
    number = 0
    while not over.is_set():
        rewrite_ms(bench, mnt, number % EDITS)
        number += 1


def bench_beside(bench):
    """Lookups and reads while the save is written without a pause."""
    save, mnt = bench.work + '/readers.bin', bench.work + '/readers'
    make_grid(save, 100 * MB)
    with daemon(bench, save, mnt):
        rewrite_ms(bench, mnt, 0)
        once = median([rewrite_ms(bench, mnt, i) for i in range(1, 4)])
        idle = read_latencies(mnt, 0)
        over, watch = threading.Event(), Watch(save)
        writer = threading.Thread(target=keep_writing, args=(bench, mnt, over), daemon=True)
        writer.start()
        watch.start()
        busy = read_latencies(mnt, 500)
        over.set()
        watch.over.set()
        writer.join()
        watch.join()
    os.unlink(save)
    for title, values in (('idle', idle), ('while the save is rewritten', busy)):
        gated = values is busy
        bench.row(f'lookup and read, {title}: median', f'{median(values):.2f}', 'ms')
        bench.row(f'lookup and read, {title}: 99th percentile', f'{percentile(values):.2f}', 'ms',
                  f'under half a rewrite, {once / 2:.0f}' if gated else None,
                  percentile(values) < once / 2 if gated else None,
                  f'the slowest {max(values):.2f} ms' + (f'; {watch.replaced} rewrites of {once:.0f} ms' if gated else ''))


def bench_bound(bench):
    """256 MiB of records in the default mode: the journal goes when it is full."""
    save, mnt = bench.work + '/bound.bin', bench.work + '/bound'
    make_grid(save, 100 * MB)
    with daemon(bench, save, mnt):
        watch = Watch(save)
        watch.start()
        for n in range(4096):
            edit_chunk(mnt, n % 1024)
        watch.over.set()
        watch.join()
    # Records are accepted while the save follows.
    bench.row('journal, at most, of 256 MiB of edits', f'{watch.largest / MIB:.0f}', 'MiB', 'under 128 MiB',
              watch.largest < 128 * MIB, f'{watch.replaced} rewrites')
    os.unlink(save)


def bench_journal(bench):
    os.sched_setaffinity(0, {0})
    try:
        for part in (bench_thousand, bench_programs, bench_recovery, bench_bound):
            part(bench)
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
    bench_beside(bench)
