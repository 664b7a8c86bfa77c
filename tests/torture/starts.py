"""Item 10: while a mount begins, the n-th call that looks at /dev or at the directory of the save kills the process
that makes it, or fails, for n = 1, 2, ... until there are no more. The mount command says 0 and the mount is served,
or it says why not and nothing is mounted."""
import errno
import os
import shutil
import subprocess
import sys
import tempfile

import harness
from strike import FAIL, KILL, LOOK, OFF, Strike

# One of each way in which a save is opened.
SHORT = ('cosmic-gzip', 'godot-folder', 'godot-stream')
ERRORS = (errno.EMFILE, errno.ENOMEM, errno.EACCES)


class Counts:
    def __init__(self):
        self.problems = []
        self.figures = {'starts': 0, 'served': 0, 'refused': 0, 'died': 0}

    def add(self, status, problem, where):
        self.figures['starts'] += 1
        self.figures['served' if status == 0 else 'died' if status < 0 else 'refused'] += 1
        if problem:
            self.problems.append(f'{where}: {problem}')


def mount(bench, strike):
    """Status of the mount command, and what it and its child said."""
    with tempfile.TemporaryFile() as said:
        done = subprocess.run([harness.PROGRAM, bench.save, bench.point], env=strike.env(),
                              stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                              timeout=harness.LIMIT, check=False)
        said.seek(0)
        return done.returncode, said.read().decode(errors='replace')


def umount(bench):
    """What is wrong, or ''."""
    done = subprocess.run([harness.PROGRAM, 'umount', bench.point], capture_output=True,
                          timeout=harness.LIMIT, check=False)
    return '' if done.returncode == 0 else f'umount ends with {done.returncode}: {done.stderr}'


def is_mounted(bench):
    with open('/proc/self/mounts', encoding='utf-8', errors='surrogateescape') as table:
        return any(line.split()[1] == bench.point for line in table)


def judge(bench, status, said):
    """What is wrong after the mount command ended, or ''. Leaves nothing mounted."""
    if status == 0:
        with open(os.path.join(bench.point, 'info.txt'), 'rb') as info:
            served = info.read().startswith(b'format: ')
        return umount(bench) or ('' if served else 'info.txt cannot be read')
    if is_mounted(bench):
        return f'it ends with {status}, and something is mounted: {said}'
    if status > 0 and 'terrainfs: ' not in said:
        return f'it ends with {status} without a sentence: {said}'
    return ''


def strike_start(bench, strike, mode, error, counts):
    for n in range(1, 10000):
        bench.fresh()
        strike.order(mode, at=n, error=error, kinds=LOOK)
        status, said = mount(bench, strike)
        fired = strike.fired
        strike.order(OFF)
        where = f'call {n}, {strike.what}'
        counts.add(status, judge(bench, status, said), where)
        if not fired:
            if status != 0:
                counts.problems.append(f'not struck, but it ends with {status}: {said}')
            return
        if n % 10 == 0 and judge(bench, *mount(bench, strike)):
            counts.problems.append(f'{where}: it cannot be mounted again')


def main():
    if not harness.has_fuse():
        print('1..0 # skip no FUSE here')
        return 0
    for kind in harness.chosen_kinds(SHORT):
        if not kind.mount:
            continue
        bench = harness.Bench(kind)
        for place in ('/dev', bench.directory):
            strike = Strike(harness.LIBRARY, place, bench.work)
            for title, mode, error in [('killed', KILL, 0)] + [
                    (errno.errorcode[e], FAIL, e) for e in (ERRORS if harness.FULL else ERRORS[:1])]:
                counts = Counts()
                strike_start(bench, strike, mode, error, counts)
                harness.result(f'{kind.name}, {title} where it looks at {os.path.basename(place)}',
                               counts.problems, counts.figures)
        shutil.rmtree(bench.work, ignore_errors=True)
    return harness.finish('starts')


if __name__ == '__main__':
    sys.exit(main())
