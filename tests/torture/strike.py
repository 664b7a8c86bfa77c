"""The other end of strike.c: orders to a program, and what it tells of its system calls."""
import mmap
import os
import struct

OFF, COUNT, KILL, FAIL, SHORT, TEAR = range(6)
CHANGE, READ, LOOK = 1, 2, 4
ALL = CHANGE | READ | LOOK

_CONTROL = struct.Struct('=8I256s')
_RECORD = struct.Struct('=16sqqiIIIQ')
_COUNT_AT, _FIRED_AT, _WHAT_AT = 24, 28, 32


class Strike:
    """Orders for the programs that are started with env() in their environment."""

    def __init__(self, library, directory, work):
        self.library = library
        self.directory = os.path.realpath(directory)
        self.control_path = os.path.join(work, 'control')
        self.log_path = os.path.join(work, 'log')
        self.mode = OFF
        with open(self.control_path, 'wb') as f:
            f.write(bytes(_CONTROL.size))
        with open(self.control_path, 'r+b') as f:
            self.map = mmap.mmap(f.fileno(), _CONTROL.size)

    def env(self):
        return dict(os.environ, LD_PRELOAD=self.library, STRIKE_DIR=self.directory,
                    STRIKE_CONTROL=self.control_path, STRIKE_LOG=self.log_path,
                    ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0')

    def order(self, mode, at=0, error=0, kinds=CHANGE, repeat=False, record=False, wait=False):
        """Counting begins anew; `wait`: when start() is called."""
        if record and os.path.exists(self.log_path):
            os.unlink(self.log_path)
        self.map[:_CONTROL.size] = _CONTROL.pack(OFF, at, error, kinds, repeat, record, 0, 0, b'')
        self.mode = mode
        if not wait:
            self.start()

    def start(self):
        self.map[:4] = struct.pack('=I', self.mode)

    def stop(self):
        self.map[:4] = struct.pack('=I', OFF)

    @property
    def count(self):
        return struct.unpack_from('=I', self.map, _COUNT_AT)[0]

    @property
    def fired(self):
        return struct.unpack_from('=I', self.map, _FIRED_AT)[0]

    @property
    def what(self):
        """The call that was struck last, as `fsync NAME`."""
        return self.map[_WHAT_AT:].split(b'\0')[0].decode(errors='replace')

    def log(self):
        return read_log(self.log_path, self.directory)


class Call:
    """A change, as recorded. Paths are relative to the directory; `end`: of its record in the log."""

    def __init__(self, op, path, other, offset, result, error, flags, data, end):
        self.op, self.path, self.other = op, path, other
        self.offset, self.result, self.error, self.flags = offset, result, error, flags
        self.data, self.end = data, end

    def __repr__(self):
        size = f' {len(self.data)} bytes at {self.offset}' if self.op == 'write' else ''
        failed = f' (errno {self.error})' if self.result < 0 else ''
        return f'{self.op} {self.path} {self.other}{size}{failed}'


def read_log(path, directory):
    def name():
        text = take(sizes.pop(0)).decode(errors='surrogateescape')
        text = text.removesuffix(' (deleted)')
        return os.path.relpath(text, directory) if text else ''

    def take(size):
        nonlocal at
        at += size
        return raw[at - size:at]

    calls, at = [], 0
    with open(path, 'rb') as f:
        raw = f.read()
    while at < len(raw):
        op, offset, result, error, flags, path_size, other_size, size = _RECORD.unpack(
            take(_RECORD.size))
        sizes = [path_size, other_size]
        path, other = name(), name()
        calls.append(Call(op.split(b'\0')[0].decode(), path, other, offset, result, error, flags,
                          take(size), at))
    return calls
