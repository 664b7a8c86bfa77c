"""What the parts of the bench share: the save, the tree, the mounts, the results; times and sizes."""
import contextlib
import os
import shutil
import statistics
import subprocess
import time

MIB = 1 << 20


class Bench:
    """What all measurements share: programs, the save, the tree, and the results."""

    def __init__(self, options, work):
        self.options = options
        self.build = os.path.realpath(os.environ.get('BUILD', 'build'))
        self.work = work
        self.rows = []
        self.terrainfs = self.build + '/terrainfs'
        self.make_region = self.build + '/tools/make_region'
        self.save = work + '/region_0_0_0.cosmicreach'
        self.tree = work + '/tree'
        self.mnt = work + '/mnt'

    def prepare(self):
        os.mkdir(self.mnt)
        self.region(self.save, self.options.chunks)
        run([self.terrainfs, 'export', self.save, self.tree])
        self.mounters = {'floor': [self.build + '/bench/nullfs', self.tree, self.mnt],
                         'terrainfs': [self.terrainfs, self.save, self.mnt]}
        if shutil.which('squashfuse_ll') and shutil.which('mksquashfs'):
            image = self.work + '/tree.squashfs'
            run(['mksquashfs', self.tree, image, '-comp', 'lz4', '-no-progress', '-quiet'])
            self.mounters['squashfuse_ll'] = ['squashfuse_ll', image, self.mnt]
        if shutil.which('fuse-zip') and shutil.which('zip'):
            archive = self.work + '/tree.zip'
            run(['zip', '-q', '-r', '-0', archive, '.'], cwd=self.tree)
            self.mounters['fuse-zip'] = ['fuse-zip', '-r', archive, self.mnt]

    def region(self, path, chunks):
        run([self.make_region, '--kind', 'bench', '--chunks', str(chunks), path])

    def row(self, name, value, unit, target=None, good=None, note=''):
        """One line of the report. `good` None: shown only."""
        mark = '' if good is None else 'ok' if good else 'MISS'
        self.rows.append((name, value, unit, target or '', mark, note))
        print(f'{name:44} {value:>10} {unit:4} {target or "":>26} {mark:4} {note}', flush=True)

    @contextlib.contextmanager
    def mounted(self, command, pinned=True):
        run((['taskset', '-c', '0'] if pinned else []) + command)
        try:
            yield self.mnt
        finally:
            if command[0] == self.terrainfs:
                run([self.terrainfs, 'umount', self.mnt])  # returns when the save is on disk
            else:
                unmount(self.mnt)

    def with_option(self, option):
        return [self.terrainfs, '-o', option, self.save, self.mnt]


def run(command, **more):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **more)


def unmount(mnt):
    for _ in range(100):
        if subprocess.run(['fusermount3', '-u', mnt], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            break
        time.sleep(0.05)
    while os.path.ismount(mnt):
        time.sleep(0.01)


def shell_ms(command, pinned=True):
    start = time.perf_counter()
    run((['taskset', '-c', '0'] if pinned else []) + ['sh', '-c', command],
        stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def files_below(top, name):
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(top) for f in fs if f == name)


def tree_size(top):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(top) for f in fs)


def median(values):
    return statistics.median(values)


def spread(values):
    return f'{min(values):.2f}-{max(values):.2f}'


# ---- what is measured -------------------------------------------------------------------------


def rss(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith('VmRSS'))


def cpu_us(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
        user, system = f.read().rsplit(')', 1)[1].split()[11:13]
    return (int(user) + int(system)) * 1e6 / os.sysconf('SC_CLK_TCK')


def peak(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith('VmHWM'))


def append(path, place, block):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, f'{place[0]},{place[1]},{place[2]},{block}\n'.encode())
    finally:
        os.close(fd)


def write_ms(path, data):
    """The least that saving costs: a new file, durable, in the place of the old one."""
    start = time.perf_counter()
    fd = os.open(path + '.new', os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(fd, 'wb', buffering=0) as f:
        f.write(data)
        os.fdatasync(f.fileno())
    os.rename(path + '.new', path)
    fd = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return (time.perf_counter() - start) * 1e3
