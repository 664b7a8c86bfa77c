"""Terrain saves as NumPy arrays: the program terrainfs from Python.

    import terrainfs
    with terrainfs.open('region_0_0_0.cosmicreach') as t:
        print(t.arrays, t.origin)               # ['blocks', 'lights/sky', 'lights/block'], of [0, 0, 0]: y, z, x
        stone = t.number('base:stone_gabbro')   # arrays hold numbers; t.names[stone] is the name
        t.blocks[20:24, 4:12, 4:12] = stone     # y, z, x
        t.lights.sky[20:24, 4:12, 4:12] = 0     # or t['lights/sky']
    # here the save has it, or terrainfs.Error said why not

open() reads the arrays that are asked for into memory, and needs no FUSE. What was changed is written when the
block ends, one array after the other in the order of t.arrays (blocks and materials come first), and nothing of it
after an exception; nothing ever with the mode 'r'. mount() has the same attributes over a mount of its own: arrays are
mapped and not read, so they may be larger than memory, and what is assigned may be in the save before the block ends.

Needs NumPy and the program, which is looked for in $TERRAINFS and on the PATH.
"""
import contextlib
import errno
import fcntl
import functools
import gc
import io
import os
import re
import subprocess
import tempfile

import numpy

__all__ = ['Error', 'Terrain', 'mount', 'open']


class Error(Exception):
    """What the program said."""


def _start(*words, **files):
    program = os.environ.get('TERRAINFS', 'terrainfs')
    try:
        return subprocess.Popen([program, *words], **files)
    except FileNotFoundError:
        raise Error(f'the program {program} is not there: install it, or name it in $TERRAINFS') from None


def _check(process, errors):
    if process.returncode != 0:
        raise Error(errors.decode(errors='replace').strip() or f'{process.args[0]} ended with {process.returncode}')


def _run(*words):
    with _start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        output, errors = process.communicate()
    _check(process, errors)
    return output


def _head(array, size):
    """The head of a .npy file of C order, padded to more than `size` bytes."""
    text = repr({'descr': array.dtype.str, 'fortran_order': False, 'shape': array.shape}).encode().ljust(size) + b'\n'
    return b'\x93NUMPY\2\0' + len(text).to_bytes(4, 'little') + text


def _put(save, file, array, values):
    """Puts an array of this form, whose values `values()` makes while nobody else can edit the save: `put` has its
    lock before it reads, and it reads once the pipe did not hold all of the head."""
    with tempfile.TemporaryFile() as errors:
        with _start('put', save, file, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors) as process:
            try:
                process.stdin.write(_head(array, fcntl.fcntl(process.stdin, 1032)))  # F_GETPIPE_SZ
                process.stdin.flush()
                process.stdin.write(values())
            except BrokenPipeError:
                pass  # it says why
            except BaseException:
                process.kill()
                raise
            finally:
                process.communicate()
        errors.seek(0)
        _check(process, errors.read())


def _names(palette):
    """The lines `NUMBER NAME` of arrays/palette.txt."""
    return [line.partition(' ')[2] for line in palette.decode('utf-8', 'surrogateescape').split('\n') if line]


def _palette(names):
    return ''.join(f'{i} {name}\n' for i, name in enumerate(names)).encode('utf-8', 'surrogateescape')


def _printed(name):
    """The name as palettes print what `name` stands for there: another one would be read as that one."""
    def byte(escape):
        return {b'n': b'\n', b'\\': b'\\'}.get(escape[1]) or bytes.fromhex(escape[1][1:].decode())

    def escaped(match):
        return '\\n' if match[0] == '\n' else ''.join(f'\\x{b:02x}' for b in match[0].encode())

    name = re.sub(rb'\\(\\|n|x[0-9a-f]{2})', byte, name.encode('utf-8', 'surrogatepass'))
    text = name.replace(b'\\', rb'\\').decode('utf-8', 'backslashreplace')
    return re.sub('\\A[ #\ufeff]|[\0-\x1f\x7f-\x9f]| \\Z', escaped, text)


class _Folder:
    """Arrays of a folder: t.lights.sky is t['lights/sky']."""

    def __init__(self, terrain, path):
        vars(self).update(_terrain=terrain, _path=path)

    def __getattr__(self, name):
        return self._terrain._find(f'{self._path}/{name}', name)

    def __setattr__(self, name, value):
        getattr(self, name)[...] = value


class Terrain:
    """Arrays are attributes: t.blocks, t.materials, t.lights.sky, t.channels.sdf, t.heights, ..."""

    def __init__(self, read, path, writable):
        self._read = read
        self._path = path
        self._writable = writable
        self._loaded = {}
        about = self._about()
        self._bounds = self._bounds_of(about)
        self.arrays = re.findall(r'^([\w/]+)\.npy: ', about, re.M)
        self.origin, self.shape = (tuple(map(int, line.split())) or None for line in self._bounds)
        self._palette = _names(read('arrays/palette.txt')) if 'arrays/palette.txt' in about else None

    def _about(self):
        try:
            return self._read('arrays/info.txt').decode()
        except (Error, FileNotFoundError) as e:
            if isinstance(e, Error) and 'no such file' not in str(e):
                raise
            raise Error(f"there are no arrays {f'in {self._path}' if self._path else 'here'}: name a zone that the world "
                        "has (path='zones/base/earth'), a terrain of the level (path='terrains/NAME')") from None

    @staticmethod
    def _bounds_of(about):
        return [(re.findall(rf'^{key}: (.*)$', about, re.M) or [''])[0] for key in ('origin', 'shape')]

    def _check_bounds(self, about):
        if self._bounds_of(about) != self._bounds:
            raise Error('the save has other bounds since it was opened: open it again')

    @property
    def names(self):
        """The names of the numbers in `blocks`, `materials` or `layers`; None where numbers have no names."""
        return self._palette

    def number(self, name):
        """The number of a name that the save has."""
        names = self.names
        if names is None:
            raise Error('the numbers of this save have no names')
        if name not in names:
            raise Error(f'the save has no block called {name}' if 'blocks' in self.arrays else
                        f'there is no material called {name}')
        return names.index(name)

    def add(self, name):
        """The number of a name, which the save may lack. ValueError: palettes print such a name otherwise."""
        if 'blocks' in self.arrays and name not in self._palette:
            if _printed(name) != name:
                raise ValueError(f'{name!r} is no name as palette.txt has it: it has {_printed(name)!r} there')
            self._palette.append(name)
        return self.number(name)

    def renumber(self, blocks, names):
        """Blocks of another save, whose numbers mean `names`, as numbers of this one."""
        numbers = numpy.zeros(len(names), numpy.uint16)
        for number in numpy.unique(blocks):
            if number >= len(names):
                raise Error(f'{number} is no number, there are {len(names)} names')
            numbers[number] = self.add(names[number])
        return numbers[blocks]

    def _find(self, path, name):
        if not name.startswith('_'):
            if path in self.arrays:
                return self[path]
            if any(array.startswith(path + '/') for array in self.arrays):
                return _Folder(self, path)
        raise AttributeError(f'no array {path}; there are {", ".join(self.arrays)}')

    def __getattr__(self, name):
        return self._find(name, name)

    def __setattr__(self, name, value):
        if name.startswith('_') or name in ('arrays', 'origin', 'shape'):
            super().__setattr__(name, value)
        else:
            getattr(self, name)[...] = value

    def __getitem__(self, path):
        if path not in self.arrays:
            raise KeyError(f'no array {path}; there are {", ".join(self.arrays)}')
        if path not in self._loaded:
            self._loaded[path] = self._load(path)
        return self._loaded[path]

    def __setitem__(self, path, value):
        self[path][...] = value

    def _in_order(self):
        """The arrays that were looked at. Blocks and materials come first: a voxel that becomes another one loses its
        param2 or occupancy, so what was assigned there is written after that."""
        return [(name, self._loaded[name]) for name in self.arrays if name in self._loaded]

    def _load(self, name):
        raise NotImplementedError


class _InMemory(Terrain):
    def __init__(self, save, path, writable):
        self._save = save
        self._before = {}
        super().__init__(lambda *files: _run('cat', save, *[path + file for file in files]), path, writable)

    def _load(self, name):
        array = self._read_array(name)
        if self._writable:
            self._before[name] = array.copy()
        else:
            array.flags.writeable = False
        return array

    def _is_named(self, name):
        return name == 'blocks'

    def _read_array(self, name):
        """Numbers and their names are read at once: names that came meanwhile move no number here."""
        named = ['arrays/palette.txt'] if self._is_named(name) else []
        data = self._read('arrays/info.txt', f'arrays/{name}.npy', *named)
        file = io.BytesIO(data)
        file.seek(data.index(b'\x93NUMPY'))
        self._check_bounds(data[:file.tell()].decode())
        array = numpy.load(file)
        names = _names(file.read())
        return array if not named or names == self._palette else self.renumber(array, names)

    def _write(self):
        """Only what was assigned: what others changed in the save meanwhile stays."""
        for name, array in self._in_order() if self._writable else []:
            before = self._before[name]
            changed = array.view(f'V{array.itemsize}') != before.view(f'V{before.itemsize}')
            if changed.any():
                values = functools.partial(self._edited, name, array, changed)
                _put(self._save, f'{self._path}arrays/{name}.npy', array, values)

    def _edited(self, name, array, changed):
        now = self._read_array(name)
        if now.dtype != array.dtype:
            raise Error(f'{name}: the save has other numbers since the array was read')
        now[changed] = array[changed]
        return now.tobytes() + (_palette(self._palette) if self._is_named(name) else b'')


class _Mounted(Terrain):
    def __init__(self, point, path, writable, loaded):
        self._root = os.path.join(point, path)
        super().__init__(self._read_file, path, writable)
        self._loaded = loaded

    @property
    def names(self):
        """Names get the next numbers when they come."""
        if self._palette is not None:
            self._palette = _names(self._read_file('arrays/palette.txt'))
        return self._palette

    def add(self, name):
        try:
            return self.number(name)
        except Error as e:
            raise Error(f'{e}; terrainfs.open() adds new names, a mount has those of the save') from None

    def _read_file(self, file):
        with io.open(os.path.join(self._root, file), 'rb') as f:
            return f.read()

    def _load(self, name):
        path = os.path.join(self._root, f'arrays/{name}.npy')
        try:
            array = numpy.load(path, mmap_mode='r+' if self._writable else 'r')
        except OSError as e:
            if e.errno not in (errno.EACCES, errno.EROFS):
                raise
            array = numpy.load(path, mmap_mode='r')  # the save can be read alone: NumPy says so at an assignment
        self._check_bounds(self._about())
        return array

    def _flush(self):
        """Puts what was assigned into the save: None, or why that cannot be."""
        for name, array in self._in_order():
            try:
                array.flush()
            except OSError as e:
                return self._why(name, e)
        return None

    def _why(self, name, error):
        root = self._root
        while not os.path.exists(os.path.join(root, '.terrainfs/errors.log')) and len(root) > 1:
            root = os.path.dirname(root)
        try:
            with io.open(os.path.join(root, '.terrainfs/errors.log'), encoding='utf-8', errors='replace') as log:
                return [line.strip() for line in log if f'arrays/{name}.npy: ' in line][-1]
        except (OSError, IndexError):
            return f'{name}: {error.strerror}'


def _check_mode(mode):
    if mode not in ('r', 'r+'):
        raise ValueError("the mode is 'r' or 'r+'")
    return mode == 'r+'


def _folder(path):
    return path.rstrip('/') + '/' if path else ''


@contextlib.contextmanager
def open(save, mode='r+', path=''):  # pylint: disable=redefined-builtin
    """The arrays of a save in memory. `path`: of a world, the zone: 'zones/base/earth'."""
    terrain = _InMemory(os.path.abspath(save), _folder(path), _check_mode(mode))
    yield terrain
    terrain._write()


def _unmount(point):
    """Ends the mount; one whose arrays somebody still has ends with them."""
    try:
        _run('umount', point)
    except Error:
        if not os.path.ismount(point):
            raise
    finally:
        if os.path.ismount(point):
            for detach in (['fusermount3', '-u', '-z', point], ['umount', '-l', point]):
                if os.path.ismount(point):
                    subprocess.run(detach, stderr=subprocess.DEVNULL, check=False)
        os.rmdir(point)  # never more than that: what lies below a mount is the save


@contextlib.contextmanager
def mount(save, mode='r+', path=''):
    """The same over a mount, without reading what is not looked at. Arrays end with the block."""
    writable = _check_mode(mode)
    point = tempfile.mkdtemp(prefix='terrainfs-')
    why, loaded, mounted = None, {}, True
    try:
        try:
            _run('-o', 'views=arrays' if writable else 'views=arrays,ro', os.path.abspath(save), point)
        except Error:
            mounted = False  # after an interrupt that is not known
            raise
        terrain = _Mounted(point, _folder(path), writable, loaded)
        yield terrain
        why = terrain._flush() if writable else None
    finally:
        loaded.clear()
        gc.collect()
        try:
            if mounted:
                _unmount(point)
            else:
                os.rmdir(point)
        except Error as e:
            why = why or str(e)
    if why is not None:
        raise Error(why)
