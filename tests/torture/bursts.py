"""Item 13: bursts of edits, with the journal and the thread that rewrites the save at work.

One scene, in the default mode and with commit=close: edits that follow one another, some while the save is being rewritten,
and the end of the mount. It is cut before every call and within each write; every call fails once; the disk becomes full
at every call; and the recorded calls are replayed on a disk that loses what was not synced. A ledger says which edit
began and which was acknowledged. Whoever opens what is left, without and with the lock, is shown every edit that was
acknowledged, and none that never began; the second one finds what the first one was shown, and leaves no journal.
Of every kind of journal that is left, its recovery is cut and failed at each call as well.
"""
import errno
import os
import random
import re
import sys
import threading

import harness
import saves
from cuts import DEAD
from replay import disk_of, lay_out, states_of
from slots import FIRST, slots_of, sync_only
from strike import CHANGE, COUNT, FAIL, KILL, TEAR, read_log

MODES = {'commit=auto': (), 'commit=close': ('-o', 'commit=close')}
WITHOUT_JOURNAL = ('godot-stream', 'luanti')   # in the default mode only
SHORT = ('roblox-binary', 'beamng-pair')  # with commit=auto
WAYS = ('close', 'rename', 'append')
SHARE = 6      # of the calls the short version strikes so many
SAMPLES = 60 if harness.FULL else 6
ERRORS = (errno.ENOSPC, errno.EIO)
STRIKES = ((KILL, 0), (TEAR, 0), *((FAIL, error) for error in ERRORS))
JOURNAL = '-journal'
UNLIKE = ('info.txt', '.terrainfs/manifest')    # they tell of the file


class Ledger:
    """The least and the most that each slot may show; and since which call, of the recorded ones."""

    def __init__(self, slots, log=None):
        self.least, self.most = [0] * slots, [0] * slots
        self.history, self.log = [], log

    def _note(self):
        if self.log is not None:
            size = os.path.getsize(self.log) if os.path.exists(self.log) else 0
            self.history.append((size, list(self.least), list(self.most)))

    def begin(self, slot, n):
        self.most[slot] = n
        self._note()

    def acked(self, slot, n):
        self.least[slot] = n
        self._note()

    def at(self, size):
        """What holds when so many bytes were recorded: who is acknowledged by then, who began later."""
        ledger = Ledger(len(self.least))
        for since, least, most in self.history:
            if since <= size:
                ledger.least, ledger.most = least, most
        # An edit begins before its first call; the entry of the same moment counts.
        return ledger

    def problem(self, numbers, slots):
        for slot, number in enumerate(numbers):
            if not self.least[slot] <= number <= self.most[slot]:
                return (f'{slots[slot].path} shows edit {number}; {self.least[slot]} was acknowledged, '
                        f'{self.most[slot]} begun')
        return ''


def sync(point):
    """What `terrainfs sync` does. Not by a process of its own: one that is forked has the descriptors of a writer, and
    closes them when half is written."""
    try:
        sync_only(point)
    except OSError:
        pass    # the save cannot be written, or the daemon is dead


class Scene:
    """A save of one kind, a mode, and what happens to it."""

    def __init__(self, kind, mode):
        self.bench, self.mode = harness.Bench(kind), mode
        self.title = f'{kind.name}, {mode}'
        self.tree = os.path.join(self.bench.work, 'shown')
        self.bench.fresh()
        self.export()
        self.slots = slots_of(kind, self.tree)
        self.status = 0

    def export(self):
        harness.shutil.rmtree(self.tree, ignore_errors=True)
        status, said = self.bench.run('export', self.bench.save, self.tree, struck=False)
        if status != 0:
            raise RuntimeError(f'export ends with {status}: {said}')

    def edit(self, mount, slot, ledger):
        n = max(ledger.most[slot] + 1, FIRST)
        ledger.begin(slot, n)
        try:
            self.slots[slot].edit(self.r, mount.point, n, WAYS)
        except OSError as e:
            if e.errno in DEAD and mount.daemon.poll() is not None:
                raise
            self.heard += 1
            # Of a chunk nobody knows where it is then.
            return self.slots[slot].path != 'chunks'
        ledger.acked(slot, n)
        return True

    def edits(self, mount, ledger, which):
        for slot in which:
            slot %= len(self.slots)
            if slot not in self.out and not self.edit(mount, slot, ledger):
                self.out.add(slot)

    def play(self, ledger, end='umount', start=True):
        """One life of a mount on the save as it is. The ledger is kept; `end`: umount or kill."""
        self.r, self.heard, self.out = random.Random(self.title), 0, set()
        mount = harness.Mount(self.bench, *MODES[self.mode])
        if start:
            self.bench.strike.start()
        try:
            self.edits(mount, ledger, (0, 1, 2, 0))
            syncing = threading.Thread(target=sync, args=(mount.point,))
            syncing.start()
            self.edits(mount, ledger, (1, 0, 2, 1))
            syncing.join()
            self.edits(mount, ledger, (0, 1))
            if end == 'umount':
                self.status = mount.umount()
        except OSError:
            pass    # the daemon was killed
        except RuntimeError:
            if mount.daemon.poll() is None:
                raise
        finally:
            mount.kill()
            self.bench.strike.stop()

    def numbers(self):
        self.export()
        return [slot.number(self.tree) for slot in self.slots], saves.files_of(self.tree)

    def judge(self, ledger):
        """What is wrong with what is left; '' if nothing is."""
        bench = self.bench
        left = all_files(bench.directory)
        status, said = bench.run('check', bench.save, struck=False)
        if status != 0:
            return f'check ends with {status}: {said}'
        numbers, shown = self.numbers()
        problem = ledger.problem(numbers, self.slots)
        if not problem and not bench.kind.database and all_files(bench.directory) != left:
            problem = 'a reader changed the save or what is beside it'
        status, said = bench.open_again()
        if problem or status != 0:
            return problem or f'the next mount fails with {status}: {said}'
        if saves.strays_of(bench.directory):
            return f'left behind: {saves.strays_of(bench.directory)}'
        numbers, found = self.numbers()
        other = sorted(name for name in set(found) | set(shown)
                       if found.get(name) != shown.get(name) and name not in UNLIKE)
        if other:
            return f'the next mount shows another {other} than a reader did'
        return ledger.problem(numbers, self.slots)


def all_files(directory):
    return {os.path.relpath(os.path.join(at, name), directory): open(os.path.join(at, name), 'rb').read()
            for at, _, names in os.walk(directory) for name in names}


class Counts:
    def __init__(self, *names):
        self.problems, self.figures = [], dict.fromkeys(names, 0)

    def add(self, problem, where, **figures):
        for name, value in figures.items():
            self.figures[name] += value
        if problem:
            self.problems.append(f'{where}: {problem}')

    def result(self, title):
        harness.result(title, self.problems, self.figures)


def chosen(count):
    """The calls that are struck, of so many and of a few more that may come."""
    if harness.FULL:
        return range(1, count + 10)
    return range(1 + harness.SEED % SHARE, count + 1, max(1, count // SHARE))


def count_calls(scene):
    scene.bench.fresh()
    scene.bench.strike.order(COUNT, wait=True)
    scene.play(Ledger(len(scene.slots)))
    return scene.bench.strike.count


# ---- cut ---------------------------------------------------------------------------------------------------

KINDS_OF_RECORDS = {1: 'E', 2: 'M', 3: 'D'}


def journal_of(directory):
    """What is in the journal, as a word: E an edit, M a mark, D the hash of a rewrite."""
    for at, _, names in os.walk(directory):
        for name in names:
            if name.endswith(JOURNAL):
                with open(os.path.join(at, name), 'rb') as f:
                    data = f.read()
                return ''.join(KINDS_OF_RECORDS.get(data[m.start() + 4], '?') for m in re.finditer(b'TREC', data))
    return ''


def cut(scene, count, mode, left):
    """`left`: crashes of each sort, kept for the recovery."""
    counts = Counts('cuts', 'journals', 'acknowledged')
    for n in chosen(count):
        ledger = Ledger(len(scene.slots))
        scene.bench.fresh()
        scene.bench.strike.order(mode, at=n, wait=True)
        scene.play(ledger, 'kill' if n % 3 == 0 else 'umount')
        where = f'before call {n}, {scene.bench.strike.what}'
        sort = journal_of(scene.bench.directory)
        sort = re.sub('E+', 'E', sort)
        if sort and sort not in left and (harness.FULL or len(left) < 1):
            left[sort] = (scene.bench.keep_all(f'left-{len(left)}'), ledger)
        counts.add(scene.judge(ledger), where, cuts=1, journals=bool(sort), acknowledged=sum(
            max(0, n - FIRST + 1) for n in ledger.least))
    return counts


def cut_recovery(scene, left):
    """Whoever brings a journal into the save is killed, or fails, at each call; the next one succeeds."""
    counts = Counts('journals', 'cuts', 'faults')
    for sort, (directory, ledger) in left.items():
        counts.figures['journals'] += 1
        for mode, error in STRIKES:
            for n in range(1, 1000):
                scene.bench.fresh(directory)
                scene.bench.strike.order(mode, at=n, error=error)
                scene.bench.run('import', scene.bench.nothing, scene.bench.save)
                scene.bench.strike.stop()
                if not scene.bench.strike.fired:
                    break
                counts.add(scene.judge(ledger), f'journal {sort}, call {n}, {scene.bench.strike.what}',
                           **{'faults' if mode == FAIL else 'cuts': 1})
    return counts


def other_save(scene, directory):
    """The same journal beside a save that another program wrote meanwhile."""
    bench = scene.bench
    bench.fresh()
    bench.edit()
    other = saves.files_of(bench.directory)
    bench.fresh(directory)
    lay_out((all_files(bench.directory) | other, ()), bench.directory)
    return bench.keep_all('other'), other


def without_journal(scene, directory):
    """What the save shows of each slot without its journal."""
    bench = scene.bench
    bench.fresh(directory)
    for at, _, names in os.walk(bench.directory):
        for name in names:
            if name.endswith(JOURNAL):
                os.unlink(os.path.join(at, name))
    return scene.numbers()[0]


def judge_aside(scene, ledger, other, saved):
    """The save is what the other program wrote, and the edits are in a directory of their own."""
    bench = scene.bench
    status, said = bench.open_again()
    if status != 0 or saves.files_of(bench.directory) != other:
        return f'status {status}, or the save was written: {said}'
    aside = [os.path.join(at, name) for top in (bench.directory, os.environ['XDG_STATE_HOME'])
             for at, names, _ in os.walk(top) for name in names if saves.UNSAVED in name]
    files = [i for i, slot in enumerate(scene.slots) if slot.path != 'chunks' and ledger.least[i] > saved[i]]
    if saves.strays_of(bench.directory) or not any(holds(scene, ledger, tree, files) for tree in aside):
        return f'left behind {saves.strays_of(bench.directory)}, set aside {[os.listdir(tree) for tree in aside]}'
    return ''


def holds(scene, ledger, directory, files):
    """Does `import` bring these edits in from there?"""
    status, _ = scene.bench.run('import', '--force', directory, scene.bench.save, struck=False)
    if status != 0:
        return False
    numbers, _ = scene.numbers()
    return all(ledger.least[i] <= numbers[i] <= ledger.most[i] for i in files)


def cut_aside(scene, directory, ledger):
    """Whoever sets a journal aside is killed, or fails, at each call; the next one does it."""
    counts = Counts('cuts', 'faults')
    saved = without_journal(scene, directory)
    start, other = other_save(scene, directory)
    for mode, error in STRIKES:
        for n in range(1, 1000):
            scene.bench.fresh(start)
            harness.shutil.rmtree(os.environ['XDG_STATE_HOME'], ignore_errors=True)
            scene.bench.strike.order(mode, at=n, error=error)
            scene.bench.run('import', scene.bench.nothing, scene.bench.save)
            scene.bench.strike.stop()
            if not scene.bench.strike.fired:
                break
            counts.add(judge_aside(scene, ledger, other, saved), f'call {n}, {scene.bench.strike.what}',
                       **{'faults' if mode == FAIL else 'cuts': 1})
    return counts


# ---- fail --------------------------------------------------------------------------------------------------

def fail(scene, count, repeat):
    """One call fails, or all from it on until the end; then the mount ends well, or is killed."""
    counts = Counts('faults', 'heard', 'journals')
    for n in chosen(count):
        error = ERRORS[n // 2 % 2]
        ledger = Ledger(len(scene.slots))
        scene.bench.fresh()
        harness.shutil.rmtree(os.path.join(scene.bench.work, 'state'), ignore_errors=True)
        scene.bench.strike.order(FAIL, at=n, error=error, kinds=CHANGE, repeat=repeat, wait=True)
        end = 'umount' if n % 2 else 'kill'
        scene.play(ledger, end)
        where = f'{errno.errorcode[error]} in call {n}, {scene.bench.strike.what}, then {end}'
        journal = bool(journal_of(scene.bench.directory))
        problem = scene.judge(ledger)
        # 3: the fault was met at the very end, and what could not be saved then is kept.
        if end == 'umount' and scene.status not in (0, 3):
            problem = problem or f'umount ends with {scene.status}'
        counts.add(problem, where, faults=scene.bench.strike.fired > 0, heard=scene.heard, journals=journal)
    return counts


# ---- lose what was not synced --------------------------------------------------------------------------------

def age(directory):
    """A save that is younger than its journal was put back on purpose."""
    for name in saves.files_of(directory):
        os.utime(os.path.join(directory, name), (0, 0))


class Power:
    """What is left after a power cut is judged once for all that looks the same."""

    def __init__(self, scene):
        self.scene, self.seen = scene, {}

    def look(self, state, ledger):
        files, directories = state
        key = (frozenset(files.items()), tuple(ledger.least), tuple(ledger.most))
        if key not in self.seen:
            lay_out((files, directories), self.scene.bench.directory)
            age(self.scene.bench.directory)
            self.seen[key] = self.scene.judge(ledger)
        return self.seen[key]


def lose(scene, syncs=True):
    ledger, choice = Ledger(len(scene.slots), scene.bench.strike.log_path), random.Random(f'{harness.SEED} {scene.title}')
    scene.bench.fresh()
    scene.bench.strike.order(COUNT, record=True, wait=True)
    scene.play(ledger)
    calls = read_log(scene.bench.strike.log_path, scene.bench.strike.directory)
    disk, power = disk_of(scene.bench.pristine), Power(scene)
    counts = Counts('calls', 'states', 'distinct')
    struck = set(chosen(len(calls)))
    for n, call in enumerate(calls, 1):
        disk.perform(call, syncs)
        counts.figures['calls'] += 1
        if not harness.FULL and n not in struck:
            continue
        for state in states_of(disk, choice, SAMPLES):
            counts.add(power.look(state, ledger.at(call.end)), f'after call {n} of {len(calls)}, {call!r}', states=1)
        if len(counts.problems) > 20:
            break
    counts.figures['distinct'] = len(power.seen)
    return counts


def control():
    """Without its syncs the same scene loses what was acknowledged: the judge can say no."""
    counts = lose(Scene(saves.KINDS[0], 'commit=auto'), syncs=False)
    harness.result('control: without its syncs it is found out', [] if counts.problems else ['it was not'],
                   {'losses': len(counts.problems)})


def all_of(scene):
    count, left = count_calls(scene), {}
    for title, mode in (('killed before each call', KILL), ('killed within each write', TEAR)):
        cut(scene, count, mode, left).result(f'{scene.title}, {title}')
    if left:
        cut_recovery(scene, left).result(f'{scene.title}, killed and failed while it recovers')
    # Of several files each is judged by itself: test_zone_journal.
    if 'E' in left and not scene.bench.kind.journal:
        cut_aside(scene, *left['E']).result(f'{scene.title}, killed and failed while it sets edits aside')
    fail(scene, count, False).result(f'{scene.title}, each call fails')
    fail(scene, count, True).result(f'{scene.title}, all calls fail from one on')
    lose(scene).result(f'{scene.title}, the power is cut')


def main():
    if not harness.has_fuse():
        print('1..0 # skip no FUSE here')
        return 0
    control()
    for kind in harness.chosen_kinds(SHORT):
        for mode in MODES:
            wanted = harness.FULL or mode == 'commit=auto' or sys.argv[1:]
            if kind.mount and wanted and (mode == 'commit=auto' or not kind.name.startswith(WITHOUT_JOURNAL)):
                all_of(Scene(kind, mode))
    return harness.finish('bursts')


if __name__ == '__main__':
    sys.exit(main())
