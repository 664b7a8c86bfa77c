"""What a disk may hold after a power cut: a model of files and directories in which only what was synced is
certain. It takes recorded calls and gives out states, each of which POSIX allows:

- of the writes and truncations of a file since its last fsync or fdatasync any may be there, in parts of 512
  bytes, and any may be missing; its length is one that it had since then, what was not written reads as zeros
  or as noise;
- of the names made, renamed and removed in a directory since its last fsync any may be so already, each as
  a whole: a rename never shows half of itself.
"""
import os

SECTOR = 512


PENDING, DOUBTFUL, CERTAIN = range(3)   # doubtful: its sync failed, and Linux does not try again


class Inode:
    def __init__(self, data=b''):
        self.durable = data     # certain
        self.changes = []       # [change, status] since then: ('write', offset, bytes), ('truncate', size)

    def add(self, change):
        self.changes.append([change, PENDING])

    def sync(self):
        if any(status == DOUBTFUL for _, status in self.changes):
            self._mark(CERTAIN)
            return
        data = bytearray(self.durable)
        for change, _ in self.changes:
            apply(data, change)
        self.durable, self.changes = bytes(data), []

    def fail_sync(self):
        self._mark(DOUBTFUL)

    def _mark(self, status):
        for entry in self.changes:
            if entry[1] == PENDING:
                entry[1] = status

    def is_certain(self):
        return all(status == CERTAIN for _, status in self.changes)

    def parts(self):
        """The changes in the pieces in which a disk takes them, and whether each is certain."""
        for change, status in self.changes:
            if change[0] != 'write':
                yield change, status == CERTAIN
                continue
            _, at, data = change
            end = at + len(data)
            while at < end:
                stop = min(end, at // SECTOR * SECTOR + SECTOR)
                yield ('write', at, data[at - change[1]:stop - change[1]]), status == CERTAIN
                at = stop

    def lengths(self):
        """Every length that it had since it was synced last."""
        data = bytearray(self.durable)
        sizes = [len(data)]
        for change, status in self.changes:
            apply(data, change)
            sizes = [len(data)] if status == CERTAIN else [*sizes, len(data)]
        return sizes

    def lose(self, choice):
        """One of the contents that may be left. `choice` is a random.Random, KEEP or DROP."""
        if not self.changes:
            return self.durable
        chance = choice.choice([0, 0.1, 0.5, 0.9, 1])
        size = choice.choice(self.lengths())
        gap = choice.choice([b'\xa5', b'\0'])
        data = bytearray(self.durable)
        for part, certain in self.parts():
            if certain or choice.random() < chance:
                apply(data, part, gap)
        data = data[:size]
        return bytes(data + gap * (size - len(data)))


def apply(data, change, gap=b'\0'):
    if change[0] == 'truncate':
        size = change[1]
        if size < len(data):
            del data[size:]
        data.extend(gap * (size - len(data)))
        return
    _, at, piece = change
    data.extend(gap * (at - len(data)))
    data[at:at + len(piece)] = piece


class Disk:
    def __init__(self, files, directories):
        """All that is there is durable."""
        self.names = {name: Inode(data) for name, data in files.items()}   # as the program sees them
        self.durable = dict(self.names)
        self.directories = set(directories)
        self.changes = []   # (directory, [(name, inode or None)], directory made or None)

    def perform(self, call, syncs=True):
        """A call of the record. `syncs` False: as if nothing were ever synced, to see whether that shows."""
        if call.op == 'sync':
            if syncs:
                self._sync('' if call.path == '.' else call.path, call.result == 0)
        elif call.op in ('open', 'write', 'truncate', 'rename', 'link', 'unlink', 'mkdir'):
            if call.result >= 0:
                getattr(self, '_' + call.op)(call)
        elif call.op not in ('flock', 'fchmod', 'fchown', 'fsetxattr', 'fremovexattr'):
            raise ValueError(f'the model does not know {call!r}')

    def _sync(self, path, succeeds):
        if path in self.names:
            inode = self.names[path]
            return inode.sync() if succeeds else inode.fail_sync()
        # Names are journalled: unlike the pages of a file they are not forgotten when a sync fails.
        for change in self.changes:
            if succeeds and change[0] == path:
                settle(change, self.durable, self.directories)
        if succeeds:
            self.changes = [change for change in self.changes if change[0] != path]
        return None

    def _change(self, *changes, made=None):
        for name, inode in changes:
            if inode is None:
                self.names.pop(name, None)
            else:
                self.names[name] = inode
        self.changes.append((os.path.dirname(made or changes[0][0]), changes, made))

    def _open(self, call):
        if call.path not in self.names:
            if call.flags & os.O_CREAT:
                self._change((call.path, Inode()))
        elif call.flags & os.O_TRUNC:
            self.names[call.path].add(('truncate', 0))

    def _write(self, call):
        if call.path in self.names:     # not: a file that was unlinked and is still open
            self.names[call.path].add(('write', call.offset, call.data))

    def _truncate(self, call):
        if call.path in self.names:
            self.names[call.path].add(('truncate', call.offset))

    def _rename(self, call):
        self._change((call.path, None), (call.other, self.names[call.path]))

    def _link(self, call):
        self._change((call.other, self.names[call.path]))

    def _unlink(self, call):
        self._change((call.path, None))

    def _mkdir(self, call):
        self._change(made=call.path)

    def state(self, choice):
        """One of the states that may be left: name -> bytes, and the directories."""
        names, directories = dict(self.durable), set(self.directories)
        chance = choice.choice([0, 0.5, 1])
        in_order, stopped = choice.choice([True, False]), False
        for change in self.changes:
            taken = not stopped and choice.random() < chance
            stopped = stopped or (in_order and not taken)
            if taken:
                settle(change, names, directories)
        kept = {}
        for name, inode in names.items():
            directory = os.path.dirname(name)
            if not directory or directory in directories:
                kept[name] = inode.lose(choice)
        return kept, directories


def settle(change, names, directories):
    _, changes, made = change
    for name, inode in changes:
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode
    if made:
        directories.add(made)


class Keep:
    """Everything arrived."""

    @staticmethod
    def choice(values):
        return values[-1]

    @staticmethod
    def random():
        return 0


class Drop(Keep):
    """Nothing that was not synced arrived."""

    @staticmethod
    def choice(values):
        return values[0]

    @staticmethod
    def random():
        return 1


KEEP, DROP = Keep(), Drop()
