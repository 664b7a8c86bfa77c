"""Item 11: what is kept for undo, and undo itself, are cut right before the n-th change that they make to the
save or to the state directory, and each of these calls fails once. The save must be the old or the new one, and
whoever asks for undo next gets the old one."""
import errno
import os
import shutil
import sys

import harness
import saves
from strike import FAIL, KILL, TEAR, Strike

SHORT = ('cosmic-gzip', 'godot-folder', 'godot-stream')
WAYS = {'killed before each call': (KILL, 0), 'killed within each write': (TEAR, 0),
        'no space at each call': (FAIL, errno.ENOSPC), 'each call fails': (FAIL, errno.EIO)}


class Bench(harness.Bench):
    """The state directory is struck with the save."""

    def __init__(self, kind):
        super().__init__(kind)
        self.database = kind.file.endswith('.sqlite')
        self.state = os.path.join(self.work, 'state')
        os.environ['XDG_STATE_HOME'] = self.state
        self.strike = Strike(harness.LIBRARY, self.work, self.work)

    def begin(self):
        self.fresh()
        shutil.rmtree(self.state, ignore_errors=True)

    def change(self, struck=True):
        if self.kind.command:
            return self.run(self.kind.command, '-o', 'backup', self.save, struck=struck)
        return self.run('import', '-o', 'backup', self.sources[1], self.save, struck=struck)

    def undo(self, *options, struck=False):
        return self.run('undo', *options, self.save, struck=struck)

    def settle(self):
        """What SQLite left half done is taken back, as the next program would do it."""
        return self.run('check', self.save, struck=False)


def goes_back(bench, states, found, wanted, clean):
    """What is wrong with an undo after the save was left as `found`; `clean`: it leaves no temp file."""
    status, said = bench.undo()
    if bench.database and status == 3 and 'another program changed' in said:
        # Nobody was left to note what was written, or SQLite took back what was half done.
        status, said = bench.undo('--force')
    now = states.judge(bench.directory)
    if status not in (0, 1) or (status == 1 and 'no earlier version' not in said):
        return f'undo ends with {status}: {said}'
    if now not in (wanted if status == 0 else ('old', found)):
        return f'from {found}, undo made: {now}'
    strays = [name for _, _, names in os.walk(bench.directory) for name in names if saves.STRAY in name]
    if clean and strays and status == 0:
        return f'undo leaves {strays}'
    status, said = bench.settle()
    return f'check ends with {status}: {said}' if status not in (0,) else ''


def one(bench, states, n, way, act, before):
    """(did it fire, what is wrong, the state that was found)"""
    mode, error = way
    bench.begin()
    before()
    bench.strike.order(mode, at=n, error=error)
    status, said = act()
    bench.strike.stop()
    bench.settle()
    found = states.judge(bench.directory)
    where = f'call {n}, {bench.strike.what}'
    if not bench.strike.fired:
        return False, '' if status == 0 else f'not struck, but it ends with {status}: {said}', found
    if found not in saves.GOOD:
        return True, f'{where}: {found}', found
    return True, where, found


def sweep(bench, states, way, act, before, wanted, clean=False):
    problems, figures = [], {'struck': 0, 'old': 0, 'new': 0, 'between': 0}
    for n in range(1, 10000, 1 if harness.FULL else 2):
        fired, text, found = one(bench, states, n, way, act, before)
        if not fired:
            return problems + ([text] if text else []), figures
        figures['struck'] += 1
        if found not in saves.GOOD:
            problems.append(text)
            continue
        figures[found] += 1
        problem = goes_back(bench, states, found, wanted(found), clean)
        if problem:
            problems.append(f'{text}: {problem}')
    return problems + ['it never ends'], figures


def nothing():
    pass


def main():
    for kind in harness.chosen_kinds(SHORT):
        bench = Bench(kind)
        states, _ = bench.record_edit()
        for title, way in WAYS.items():
            if not (harness.FULL or way[0] == KILL or kind.name == SHORT[0]):
                continue
            problems, figures = sweep(bench, states, way, bench.change, nothing, lambda found: ('old',))
            harness.result(f'{kind.name}, edit, {title}', problems, figures)
            # An undo that came to its end is redone by the next.
            problems, figures = sweep(bench, states, way, lambda: bench.undo(struck=True),
                                      lambda: bench.change(struck=False),
                                      lambda found: ('old', 'new') if found == 'old' else ('old',), True)
            harness.result(f'{kind.name}, undo, {title}', problems, figures)
    return harness.finish('undo')


if __name__ == '__main__':
    sys.exit(main())
