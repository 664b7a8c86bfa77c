#!/usr/bin/env python3
"""fsx.py FILE SEED STEPS: random reads, writes, truncations and mappings of one file, through several handles,
held against a model in memory. Says the first difference, and the steps before it, and ends with status 1."""
import mmap
import os
import random
import sys

LIMIT = 300000


class Fsx:
    def __init__(self, path, seed):
        self.path, self.r, self.model, self.log = path, random.Random(seed), bytearray(), []
        self.fds = [os.open(path, os.O_RDWR | os.O_CREAT, 0o644), os.open(path, os.O_RDWR)]

    def place(self):
        at = self.r.randrange(LIMIT)
        return at, self.r.randrange(1, min(70000, LIMIT - at) + 1)

    def put(self, at, data):
        if len(self.model) < at:
            self.model.extend(bytes(at - len(self.model)))
        self.model[at:at + len(data)] = data

    def write(self):
        at, size = self.place()
        data = self.r.randbytes(size)
        done = os.pwrite(self.r.choice(self.fds), data, at)
        self.put(at, data[:done])
        return at, size

    def append(self):
        data = self.r.randbytes(self.r.randrange(1, 5000))
        if len(self.model) + len(data) > LIMIT:
            return None
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, data)
        os.close(fd)
        self.model += data
        return len(data)

    def read(self):
        at, size = self.place()
        return self.same(os.pread(self.r.choice(self.fds), size, at), at, size)

    def same(self, seen, at, size):
        if seen != bytes(self.model[at:at + size]):
            raise AssertionError('%d bytes read at %d of %d differ' % (size, at, len(self.model)))
        return at, size

    def truncate(self):
        size = self.r.randrange(LIMIT)
        if self.r.randrange(2):
            os.ftruncate(self.r.choice(self.fds), size)
        else:
            os.truncate(self.path, size)
        del self.model[size:]
        self.put(size, b'')
        return size

    def map_write(self):
        return self.mapped(True)

    def map_read(self):
        return self.mapped(False)

    def mapped(self, writes):
        if not self.model:
            return None
        at = self.r.randrange(len(self.model))
        size = self.r.randrange(1, min(30000, len(self.model) - at) + 1)
        with mmap.mmap(self.r.choice(self.fds), len(self.model)) as m:
            if not writes:
                return self.same(m[at:at + size], at, size)
            data = self.r.randbytes(size)
            m[at:at + size] = data
            if self.r.randrange(2):
                m.flush()
        self.put(at, data)
        return at, size

    def sync(self):
        os.fsync(self.r.choice(self.fds))

    def reopen(self):
        i = self.r.randrange(2)
        os.close(self.fds[i])
        self.fds[i] = os.open(self.path, os.O_RDWR)

    def rename(self):
        os.rename(self.path, self.path + 'x')
        os.rename(self.path + 'x', self.path)

    def size(self):
        for seen in os.fstat(self.fds[0]).st_size, os.stat(self.path).st_size:
            if seen != len(self.model):
                raise AssertionError('the size is %d, not %d' % (seen, len(self.model)))

    def run(self, steps):
        ways = [self.write, self.write, self.append, self.read, self.read, self.truncate, self.map_write,
                self.map_read, self.sync, self.reopen, self.rename, self.size]
        for step in range(steps):
            way = self.r.choice(ways)
            self.log.append(way.__name__)
            try:
                self.log[-1] += ' %s' % (way(),)
            except (AssertionError, OSError) as error:
                sys.exit('step %d: %s\n%s' % (step, error, '\n'.join(self.log[-12:])))
        self.same(os.pread(self.fds[0], LIMIT + 1, 0), 0, LIMIT + 1)


if __name__ == '__main__':
    Fsx(sys.argv[1], int(sys.argv[2])).run(int(sys.argv[3]))
