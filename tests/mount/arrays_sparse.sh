#!/usr/bin/env bash
# Arrays that are mapped while others edit the save.
# shellcheck disable=SC2034 # for lib.sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/numpy.bash"

mkdir -p "$T/pristine"

# saves NAME TOOL [ARGUMENT...]: the pristine save of the following tests.
saves() {
    SAVE_NAME=$1
    PRISTINE=$T/pristine/$1
    "$TFS_TOOLS/$2" "${@:3}" || bail "cannot make $1"
}

# ---- what others edit ------------------------------------------------------------------------------------

# A page that a mapping writes holds its neighbours as they were, also where the save alone held them and holds
# others since. keeps_edits_of_others ARRAY [ZONE]
keeps_edits_of_others() {
    up -o views=all+arrays
    numpy 'name, m = w[0], os.path.join(m, *w[1:])
chunk = sorted(c for c in os.listdir(f"{m}/chunks") if os.path.exists(f"{m}/chunks/{c}/arrays/{name}"))[-1]
whole, part = f"{m}/arrays/{name}", f"{m}/chunks/{chunk}/arrays/{name}"
k = np.load(part)
i = tuple(a.start for a in of(chunk, k.shape[0]))
j = (i[0], i[1], i[2] + 1)
old = k[0, 0, 0]
new = 3 if old != 3 else 4
a = np.load(whole, mmap_mode="r+")
a[j] = 5
k[0, 0, 0] = new
np.save(part, k)
os.sync()
a.flush()
del a
a = np.load(whole)
check((a[i], a[j]) == (new, 5))
k[0, 0, 1] = 5
check((np.load(part) == k).all())' "$@"
    down
    want "$TFS_BIN" check "$S"
}

# ---- what becomes another file ---------------------------------------------------------------------------

# Those who have the array open go on with what it was; what they write is refused, and says so.
gets_another_place() {
    up -o views=all+arrays
    numpy 'path = f"{m}/arrays/blocks.npy"
r = np.load(path, mmap_mode="r")
w = np.load(path, mmap_mode="r+")
dirty = np.load(path, mmap_mode="r+")
f = open(path, "rb", buffering=0)
before = np.load(path)
i = tuple(np.argwhere(before > 0)[0])
w[i] = 0
w.flush()
changed = np.load(path)
dirty[i] = 1
os.mkdir(f"{m}/chunks/15_15_15")
after = np.load(path)
check(after.shape != before.shape and np.count_nonzero(after) == np.count_nonzero(changed))
check(os.fstat(f.fileno()).st_ino != os.stat(path).st_ino)
check(os.fstat(f.fileno()).st_size == 128 + before.nbytes)
raw = np.frombuffer(f.read()[128:], before.dtype).reshape(before.shape)
check((raw == r).all() and np.count_nonzero(raw != changed) <= 1)
check(err(dirty.flush) == "ESTALE")
w[0, 0, 0] = 1
check(err(w.flush) == "ESTALE")
del w, dirty, r
check((np.load(path) == after).all())
a = np.load(path, mmap_mode="r+")
a[-1, -1, -1] = 1
a.flush()
check(np.load(path)[-1, -1, -1] == 1)'
    logged 'arrays/blocks.npy: the bounds of the save have changed since this array was opened: open it again'
    down
    want "$TFS_BIN" check "$S"
}

# The same where nothing is written, and another program's save comes.
is_read_only() {
    up -o ro,views=arrays
    numpy 'path = f"{m}/arrays/blocks.npy"
f = open(path, "rb", buffering=0)
before = open(path, "rb").read()
os.rename(w[1], w[0])
check(open(path, "rb").read() != before and os.fstat(f.fileno()).st_size == len(before))
check(f.read() == before)' "$S" "$T/pristine/other.cosmicreach"
    down
}

# A chunk goes from one side to the other: the shape stays, the place does not.
moves() {
    up -o views=all+arrays
    numpy 'path = f"{m}/arrays/blocks.npy"
x = [int(c.split("_")[0]) for c in os.listdir(f"{m}/chunks")]
one, other = f"{m}/chunks/{max(x) + 1}_0_0", f"{m}/chunks/{min(x) - 1}_0_0"
os.mkdir(one)
w = np.load(path, mmap_mode="r+")
before = os.stat(path)
os.rename(one, other)
check(os.stat(path).st_ino != before.st_ino and os.stat(path).st_size == before.st_size)
w[0, 0, 0] = 1
check(err(w.flush) == "ESTALE")'
    down 3
}

replaced() {
    up -o views=all+arrays
    numpy 'path = f"{m}/arrays/blocks.npy"
f = open(path, "rb", buffering=0)
w = np.load(path, mmap_mode="r+")
a = np.load(path)
b = a.copy()
i = tuple(np.argwhere(a > 0)[0])
b[i] = 0
np.save(f"{m}/new.npy", b)
os.replace(f"{m}/new.npy", path)
check((np.load(path) == b).all())
check(f.read()[128:] == a.tobytes() and (w == a).all())
w[i] = 1
check(err(w.flush) == "ESTALE")
del w
f = open(path, "rb", buffering=0)
np.save(f"{m}/bad.npy", b[1:])
check(err(os.replace, f"{m}/bad.npy", path) == "EBADMSG")
check(f.read()[128:] == b.tobytes())
w = np.load(path, mmap_mode="r+")
os.unlink(path)
check(not os.path.exists(path))
f.seek(128)
check(f.read() == b.tobytes())
w[i] = 1
check(err(w.flush) == "ESTALE")
del w
np.save(path, a)
f.seek(128)
check((np.load(path) == a).all() and f.read() == b.tobytes())'
    logged 'arrays/blocks.npy: this file was removed or replaced since it was opened: open it again'
    down
    want cmp "$PRISTINE" "$S"
}

# ---------------------------------------------------------------------------------------------------------

missing() {
    skip 'NumPy is not installed'
}

if [ -z "$NUMPY" ]; then
    try 'NumPy' missing
    finish
fi
saves region_0_0_0.cosmicreach make_region --chunks 12 "$T/pristine/region_0_0_0.cosmicreach"
try 'an array that gets other bounds' gets_another_place
make_region --chunks 30 "$T/pristine/other.cosmicreach"
try 'an array that gets other bounds by another program' is_read_only
try 'an array that is replaced and removed' replaced
saves map.sqlite make_luanti map "$T/pristine/map.sqlite" 4
try 'an array that gets another place' moves
try 'Luanti: edits of others while a page is written' keeps_edits_of_others param2.npy
for kind in folder region stream; do
    saves "godot.$kind" make_voxel $kind "$T/pristine/godot.$kind"
    try "Godot, $kind: edits of others while a page is written" keeps_edits_of_others type.npy
done
saves world make_world --regions 2 --chunks 12 "$T/pristine/world"
try 'Cosmic Reach, a zone: edits of others while a page is written' keeps_edits_of_others sky.npy zones/base/earth
finish
