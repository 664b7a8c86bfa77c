# For suites with NumPy: source it behind lib.sh.

for NUMPY in python3 /usr/bin/python3 ''; do
    [ -z "$NUMPY" ] || ! "$NUMPY" -c 'import numpy' 2>/dev/null || break
done

without_numpy() {
    skip 'NumPy is not installed'
}

# For suites of which no test goes without it.
need_numpy() {
    if [ -z "$NUMPY" ]; then
        try 'NumPy' without_numpy
        finish
    fi
}

# numpy CODE [WORD...]: with the mount as m and the words as w; what `check` gets has to be true.
numpy() {
    local code=$1
    shift
    "$NUMPY" - "$M" "$@" <<EOF || note "numpy (line ${BASH_LINENO[0]}): $(grep -v '^    ' "$D/py.err" | tail -n 3)"
import csv, ctypes, errno, glob, io, os, sys
import numpy as np
m, *w = sys.argv[1:]
sys.stderr = open('$D/py.err', 'w')
def names():
    return [line.rstrip('\n').split(' ', 1)[1] for line in open(f'{m}/arrays/palette.txt')]
def info(key):
    return [int(n) for line in open(f'{m}/arrays/info.txt') if line.startswith(key + ':') for n in line.split()[1:]]
def at(x, y, z):
    o = info('origin')
    return y - o[0], z - o[1], x - o[2]
# Where a chunk lies in the array of the save.
def of(chunk, side):
    return tuple(slice(i, i + side) for i in at(*(side * int(n) for n in chunk.split('_'))))
# A grid text as a cube.
def grid(path, side, base=10):
    lines = [l for l in open(path) if l.strip() and l[0] != '#' and l.split()[0] not in ('palette', 'depth')]
    if lines[0].startswith('fill'):
        return np.full((side, side, side), int(lines[0].split()[1], base))
    return np.array([[int(n, base) for n in l.split('|')[1].split()] for l in lines]).reshape(side, side, side)
def err(f, *args):
    try:
        f(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return 'ok'
# Sends the dirty pages to the mount, as a sync of anybody does; it may look at them later. A child would close its
# copies of descriptors, too.
def write_back():
    root = os.open(m, os.O_RDONLY)
    check(ctypes.CDLL(None).syncfs(root) == 0)
    os.close(root)
def check(wanted):
    assert wanted
$code
EOF
}
