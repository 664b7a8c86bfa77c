"""Item 1: the program is killed right before the n-th change that it makes to the directory of the save, for
n = 1, 2, ... until it survives. Every save must be the old or the new one."""
import errno
import os
import sys

import harness
import saves
from strike import KILL, TEAR

DEAD = (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.EINTR)  # what a killed mount answers


class Counts:
    def __init__(self):
        self.problems, self.figures = [], {'cuts': 0, 'old': 0, 'new': 0, 'between': 0}

    def add(self, state, problem, where):
        self.figures['cuts'] += 1
        if state in self.figures:
            self.figures[state] += 1
        if problem:
            self.problems.append(f'{where}: {problem}')


def cut_import(bench, states, mode, counts):
    """Without FUSE."""
    for n in range(1, 10000):
        bench.fresh()
        bench.strike.order(mode, at=n)
        status, said = bench.edit()
        bench.strike.stop()
        fired, where = bench.strike.fired, f'before call {n}, {bench.strike.what}'
        may = ('old', 'new') if bench.kind.database else saves.GOOD
        problem, state = bench.after_crash(states, may if fired else ('new',), atomic=True)
        if not fired:
            if status != 0:
                counts.problems.append(f'not cut, but it ends with {status}: {said}')
            if problem:
                counts.problems.append(f'not cut: {problem}')
            return
        if status != -9:
            counts.problems.append(f'{where}: killed, but the status is {status}')
        counts.add(state, problem, where)


def edit_and_umount(bench, umount):
    """The errno that the writer hears, and whether the daemon was killed by then."""
    mount = harness.Mount(bench)
    bench.strike.start()
    try:
        error = harness.write_all(mount, bench, 1)
    except OSError as e:
        error = e.errno
    within = bench.strike.fired > 0
    if umount and not within:
        mount.umount()
    mount.kill()
    bench.strike.stop()
    return error, within


def cut_mount(bench, states, mode, counts):
    """Through the mount: from the first write until umount returns. The last round kills the daemon in the
    moment when the edit was acknowledged."""
    survived = False
    for n in range(1, 10000):
        bench.fresh()
        bench.strike.order(mode, at=n, wait=True)
        error, within = edit_and_umount(bench, not survived)
        where = f'before call {n}, {bench.strike.what}'
        if within and error not in DEAD or not within and error:
            counts.problems.append(f'{where}: the writer hears {error}')
        problem, state = bench.after_crash(states, saves.GOOD if error else ('new',))
        problem = problem or mount_again(bench, states)
        if survived or bench.strike.fired:
            counts.add(state, problem, where)
        elif problem:
            counts.problems.append(f'not cut: {problem}')
        if survived:
            return
        survived = not bench.strike.fired


def mount_again(bench, states):
    """A real mount after the crash."""
    before = states.judge(bench.directory)
    try:
        mount = harness.Mount(bench, struck=False)
        texts = {path: open(mount.path(path), 'rb').read() for path in bench.texts}
    except (RuntimeError, OSError) as e:
        return f'mounting again: {e}'
    status = mount.umount()
    if status != 0:
        return f'umount ends with {status}'
    for path, text in texts.items():
        if text not in bench.texts[path]:
            return f'{path} reads as neither the old nor the new'
    return bench.after_mount(states, before)


def control():
    """A writer that promises nothing is found out: the judge can say no."""
    bench = harness.Bench(saves.KINDS[0])
    states, _ = bench.record_edit()
    new = os.path.join(bench.work, 'new', bench.kind.file)
    writer = ('import os, sys\n'
              'fd = os.open(sys.argv[2], os.O_WRONLY | os.O_TRUNC)\n'
              'os.write(fd, open(sys.argv[1], "rb").read())\n')
    bad = 0
    for n in (1, 2):
        bench.fresh()
        bench.strike.order(TEAR, at=n)
        harness.subprocess.run([sys.executable, '-S', '-c', writer, new, bench.save],
                               env=bench.strike.env(), capture_output=True, check=False)
        bench.strike.stop()
        bad += bench.strike.fired and states.judge(bench.directory) not in saves.GOOD
    harness.result('control: a writer that overwrites in place is found out',
                   [] if bad else ['it was not'], {'mixes': bad})


def main():
    control()
    before, within = ('killed before each call', KILL), ('killed within each write', TEAR)
    for kind in harness.chosen_kinds():
        bench = harness.Bench(kind)
        states, calls = bench.record_edit()
        for title, mode in (before, within) if harness.FULL else (before,):
            counts = Counts()
            cut_import(bench, states, mode, counts)
            harness.result(f'{kind.name}, import, {title}', counts.problems, counts.figures)
        if not kind.mount:
            continue
        if not harness.has_fuse():
            harness.skip(f'{kind.name}, mount', 'no FUSE here')
            continue
        for title, mode in (before, within) if harness.FULL else (within,):
            counts = Counts()
            cut_mount(bench, states, mode, counts)
            harness.result(f'{kind.name}, mount, {title}', counts.problems, counts.figures)
    return harness.finish('cuts')


if __name__ == '__main__':
    sys.exit(main())
