"""Item 3: the power is cut. From the recorded calls of a commit every kind of state is made that the disk may hold
after each of them (disk.py): it is the old save or the new one, and the new one once the writer heard 0."""
import os
import random
import shutil
import sys

import harness
import saves
from disk import DROP, KEEP, Disk
from strike import COUNT

CONTROLS = [name for name in harness.EACH_WAY if name != 'godot-folder-first']
SAMPLES = 400 if harness.FULL else 12
CHECKED = 12    # one state of so many of a database is also opened by the program


def directories_of(top):
    return {os.path.relpath(os.path.join(at, name), top)
            for at, names, _ in os.walk(top) for name in names}


def disk_of(directory):
    return Disk(saves.files_of(directory), directories_of(directory))


def lay_out(state, directory):
    """Makes the state real."""
    files, directories = state
    shutil.rmtree(directory, ignore_errors=True)
    for name in ['', *sorted(directories)]:
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    for name, data in files.items():
        with open(os.path.join(directory, name), 'wb') as f:
            f.write(data)


def states_of(disk, choice, samples):
    yield disk.state(DROP)
    yield disk.state(KEEP)
    for _ in range(samples):
        yield disk.state(choice)


class Replay:
    def __init__(self, bench, states, choice):
        self.bench, self.states, self.choice = bench.apart(), states, choice
        self.problems = []
        self.figures = {'states': 0, 'distinct': 0, 'opened': 0, 'old': 0, 'new': 0, 'between': 0}
        self.verdicts = {}      # of what counts of a state: a verdict
        self.opened = set()

    def verdict(self, state):
        """A state is judged once; temp files and their content do not count, but for what the next mount
        does about them."""
        files, directories = state
        key = frozenset((name, data) for name, data in files.items() if saves.STRAY not in name)
        if key not in self.verdicts:
            lay_out(state, self.bench.directory)
            self.verdicts[key] = self.states.judge(self.bench.directory)
            self.figures['distinct'] += 1
        strays = frozenset(name.split(saves.STRAY)[0] for name in files if saves.STRAY in name)
        what = (self.verdicts[key], strays, frozenset(directories))
        regular = self.bench.kind.database and self.figures['distinct'] % CHECKED == 0
        if self.verdicts[key] in saves.GOOD and (what not in self.opened or regular):
            self.opened.add(what)
            self.figures['opened'] += 1
            lay_out(state, self.bench.directory)
            return self.bench.after_crash(self.states)
        return '', self.verdicts[key]

    def look(self, disk, wanted, where, samples=SAMPLES):
        for state in states_of(disk, self.choice, samples):
            problem, verdict = self.verdict(state)
            self.figures['states'] += 1
            if verdict in self.figures:
                self.figures[verdict] += 1
            if problem or verdict not in wanted:
                self.problems.append(f'{where}: {problem or verdict}')
                return

    def run(self, disk, calls, syncs=True):
        """After every call, and in the end, when the writer heard 0."""
        self.look(disk, ('old',), 'before')
        for i, call in enumerate(calls):
            disk.perform(call, syncs)
            self.look(disk, saves.GOOD, f'after call {i + 1} of {len(calls)}, {call!r}')
        self.look(disk, ('new',), 'in the end')


def record_mount(bench):
    """The calls from the mount on, which may make a log beside a database, until the writer hears 0."""
    bench.fresh()
    bench.strike.order(COUNT, record=True)
    mount = harness.Mount(bench)
    error = harness.write_all(mount, bench, 1)
    bench.strike.stop()
    mount.kill()
    if error:
        raise RuntimeError(f'{bench.kind.name}: errno {error} without a fault')
    return bench.strike.log()


def replay(bench, states, calls, title):
    run = Replay(bench, states, random.Random(f'{harness.SEED} {title}'))
    run.run(disk_of(bench.pristine), calls)
    harness.result(title, run.problems, {'calls': len(calls), **run.figures})


def control(kind):
    """Without any sync the same calls do leave a mix: the model can say no."""
    bench = harness.Bench(kind)
    states, calls = bench.record_edit()
    run = Replay(bench, states, random.Random(f'{harness.SEED} control'))
    run.run(disk_of(bench.pristine), calls, syncs=False)
    harness.result(f'control: {kind.name} without its syncs is found out',
                   [] if run.problems else ['it was not'], {'mixes': len(run.problems)})


def main():
    for kind in harness.chosen_kinds():
        if kind.name in CONTROLS:
            control(kind)
        bench = harness.Bench(kind)
        states, calls = bench.record_edit()
        replay(bench, states, calls, f'{kind.name}, import')
        if not kind.mount:
            continue
        if harness.has_fuse():
            replay(bench, states, record_mount(bench), f'{kind.name}, mount')
        else:
            harness.skip(f'{kind.name}, mount', 'no FUSE here')
    return harness.finish('replay')


if __name__ == '__main__':
    sys.exit(main())
