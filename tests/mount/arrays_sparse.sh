#!/usr/bin/env bash
# Arrays that are mapped while others edit the save. Under a sanitizer on one save of each kind of container.
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
write_back()
a.flush()
del a
a = np.load(whole)
check((a[i], a[j]) == (new, 5))
k[0, 0, 1] = 5
check((np.load(part) == k).all())' "$@"
    down
    want "$TFS_BIN" check "$S"
}

# The same of the array of a chunk, whose whole pages come back. keeps_edits_in_a_chunk ARRAY [VALUE VALUE]
keeps_edits_in_a_chunk() {
    up -o views=all+arrays
    numpy 'name, new, other = w[0], *(map(int, w[1:] or (3, 5)))
chunk = sorted(c for c in os.listdir(f"{m}/chunks") if os.path.exists(f"{m}/chunks/{c}/arrays/{name}"))[-1]
whole, part = f"{m}/arrays/{name}", f"{m}/chunks/{chunk}/arrays/{name}"
p = np.load(part, mmap_mode="r+")
before = p.copy()
first, second, third = ((0,) * (p.ndim - 1) + (x,) for x in (0, 1, 2))
def root(where, value):
    a = np.load(whole)
    if a.ndim == 3:
        a[of(chunk, p.shape[0])][where] = value
    else:
        x, _, z = map(int, chunk.split("_"))
        a[a.shape[0] - 64 * z - p.shape[0], 64 * x + where[1]] = value
    np.save(whole, a)
p[first] = new
root(second, other)
p.flush()
root(first, other)
p[third] = new
p.flush()
del p
before[first], before[second], before[third] = other, other, new
check((np.load(part) == before).all())' "$@"
    down
    want "$TFS_BIN" check "$S"
}

# A page that was read after an edit of others is compared with what it was then, not with what the array was when
# it was opened: what they make of it later stays, too. At first the mount has not read the chunk before.
# keeps_edits_since_a_page_was_read ARRAY [ZONE]
keeps_edits_since_a_page_was_read() {
    local view
    up -o views=all+arrays
    numpy 'name, m = w[0], os.path.join(m, *w[1:])
def pairs(part):
    blocks = f"{part[:-len(name)]}blocks.npy"
    k = np.load(part)
    solid = np.load(blocks) != 0 if os.path.exists(blocks) else k == k
    return np.argwhere(solid[:, :, :-1] & solid[:, :, 1:] & (k[:, :, 1:] != 2))
part, at = next((part, at) for part in sorted(glob.glob(f"{m}/chunks/*/arrays/{name}")) for at in pairs(part))
print(part[len(m):].split("/")[2], len(np.load(part)), *at)' "$@" >"$D/place"
    down
    for view in 0 1; do
        up -o views=all+arrays
        numpy 'name, view, m = w[1], int(w[2]), os.path.join(m, *w[3:])
chunk, side, *l = open(w[0]).read().split()
l = tuple(map(int, l))
g = tuple(a.start + i for a, i in zip(of(chunk, int(side)), l))
part, whole = (f"{m}/chunks/{chunk}/arrays/{name}", l), (f"{m}/arrays/{name}", g)
mapped, other = ((whole, part), (part, whole))[view]
def beside(i):
    return i[0], i[1], i[2] + 1
def edit(value):
    path, i = other
    a = np.load(path)
    a[beside(i)] = value
    np.save(path, a)
for turn in range(2):
    a = np.load(mapped[0], mmap_mode="r+")
    edit(2)
    a[mapped[1]] = 5
    edit(3)
    a.flush()
    del a
    a = np.load(other[0])
    check((a[other[1]], a[beside(other[1])]) == (5, 3))
    a[other[1]] = 4
    np.save(other[0], a)' "$D/place" "$1" "$view" "${@:2}"
        down
    done
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
check(os.stat(path).st_size == before.st_size)
w[0, 0, 0] = 1
check(err(w.flush) == "ESTALE")'
    down 3
}

# Its name goes while somebody writes it: what was written is not taken, as of any file.
renamed_away() {
    up -o views=all+arrays
    numpy 'path = f"{m}/arrays/blocks.npy"
f = os.open(path, os.O_RDWR)
os.pwrite(f, os.pread(f, 1, 128), 128)
os.rename(path, path + ".old")
check(err(os.fsync, f) == "ESTALE")
check(len(os.pread(f, 1, 128)) == 1)'
    down 3
    want cmp "$PRISTINE" "$S"
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
fd = os.open(f"{m}/new.npy", os.O_RDWR)
os.replace(f"{m}/new.npy", path)
check((np.load(path) == b).all())
os.ftruncate(fd, os.path.getsize(path))
os.pwrite(fd, b[i].tobytes(), 128 + np.ravel_multi_index(tuple(np.argwhere(b > 0)[-1]), b.shape) * b.itemsize)
b[tuple(np.argwhere(b > 0)[-1])] = b[i]
os.close(fd)
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

# ---- a part of a large array -----------------------------------------------------------------------------

# 8 GB, of which a few pages are written: only those are anywhere, and only their chunks are touched.
large() {
    up -o views=all+arrays
    numpy 'import re
path = f"{m}/arrays/blocks.npy"
os.mkdir(f"{m}/chunks/127_63_127")
a = np.load(path, mmap_mode="r+")
check(a.nbytes > 8 << 30)
i = at(40, 40, 40)
n = 1
a[i[0]:i[0] + 20, i[1]:i[1] + 20, i[2]:i[2] + 20] = n
a[-1, -1, -1] = n
a.flush()
del a
a = np.load(path, mmap_mode="r")
check((a[i[0]:i[0] + 20, i[1]:i[1] + 20, i[2]:i[2] + 20] == n).all() and a[-1, -1, -1] == n)
check(a[i[0] - 1, i[1], i[2]] == 0 and a[-2, -1, -1] == 0)
check(os.path.exists(f"{m}/chunks/3_3_3") and not os.path.exists(f"{m}/chunks/60_3_3"))
w = np.load(path, mmap_mode="r+")
w[i] = 60000
check(err(w.flush) == "EBADMSG")
w[i] = n
w.flush()
pid = int(re.search("pid: ([0-9]+)", open(f"{m}/.terrainfs/status").read())[1])
peak = int(re.search("VmHWM:\\s*([0-9]+)", open(f"/proc/{pid}/status").read())[1])
print("peak of memory:", peak, "KiB")
check(peak < 192 << 10 or os.environ.get("TFS_TEST_SANITIZED"))'
    logged 'arrays/blocks.npy: what was refused has no room in .terrainfs/rejected'
    down 3 # it is named: what was taken behind it changed nothing
    want "$TFS_BIN" check "$S"
}

# Of 700 MB: what cannot be cut or get another name is refused before it is read, with the memory that it had.
not_as_a_whole() {
    up -o views=all+arrays
    numpy 'import re
one, other = f"{m}/arrays/param1.npy", f"{m}/arrays/param2.npy"
os.mkdir(f"{m}/chunks/54_54_54")
size = os.path.getsize(one)
check(512 << 20 < size < 1 << 30)
check(err(os.truncate, one, size - 1) == "EFBIG")
check(err(os.truncate, one, size + (65 << 20)) == "EFBIG")
check(err(os.truncate, one, 0) == "EBADMSG")
check(err(os.truncate, one, 1000) == "EBADMSG")
check(err(os.rename, one, other) == "EXDEV")
check(err(os.rename, one, f"{m}/arrays/one.bak") == "ENOSPC")
check(os.path.getsize(one) == os.path.getsize(other) == size)
check(not open(one, "rb").read(1 << 16)[128:].strip(b"\0"))
pid = int(re.search("pid: ([0-9]+)", open(f"{m}/.terrainfs/status").read())[1])
peak = int(re.search("VmHWM:\\s*([0-9]+)", open(f"/proc/{pid}/status").read())[1])
print("peak of memory:", peak, "KiB")
check(peak < 192 << 10 or os.environ.get("TFS_TEST_SANITIZED"))'
    down 3 # what was cut to 1000 bytes is kept
    want "$TFS_BIN" check "$S"
}

# Nothing is taken of an edit for which there is no room.
has_no_room() {
    mkdir "$D/tmp"
    TMPDIR=$D/tmp up -o views=all+arrays
    # Only now: ThreadSanitizer puts a file there when a program starts.
    mount -t tmpfs -o size=256k tmpfs "$D/tmp" || {
        skip 'no tmpfs can be mounted'
        return
    }
    numpy 'import time
path = f"{m}/arrays/param2.npy"
before = np.load(path)
a = np.load(path, mmap_mode="r+")
a[:] = 9
check(err(a.flush) == "ENOSPC")
del a
check((np.load(path) == before).all())
b = np.load(f"{m}/arrays/blocks.npy")
i = tuple(np.argwhere(b > 0)[0])
for _ in range(600): # until the kernel has given up the mapping of before, and its pages have left the disk
    a = np.load(path, mmap_mode="r+")
    a[i] = 77
    said = err(a.flush)
    del a
    if said == "ok":
        break
    check(said in ("ENOSPC", "EBADMSG"))
    time.sleep(0.1)
check(np.load(path)[i] == 77 and np.count_nonzero(np.load(path) != before) == 1)
before = np.load(path)
fd, said = os.open(path, os.O_RDWR), []
for page in range(1, before.size // 4096):
    said.append(err(os.pwrite, fd, b"\6", page * 4096 + 200))
check(said[0] == "ok" and said[-1] == "ENOSPC" and err(os.close, fd) != "ok")
check((np.load(path) == before).all())'
    logged 'arrays/param2.npy: what is written has no room in \$TMPDIR, /var/tmp or /tmp: No space left on device'
    want test -s "$M/.terrainfs/rejected/arrays/param2.npy"
    down 3
    want umount "$D/tmp"
    want "$TFS_BIN" check "$S"
}

# Where no temporary file can be made an edit is refused with the reason, and the next one is taken.
has_no_file() {
    up -o views=all+arrays
    numpy 'import re, resource
path = f"{m}/arrays/param2.npy"
before = np.load(path)
i = tuple(np.argwhere(np.load(f"{m}/arrays/blocks.npy") > 0)[0])
pid = int(re.search("pid: ([0-9]+)", open(f"{m}/.terrainfs/status").read())[1])
fd = os.open(path, os.O_RDWR)
limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, limit[1]))
said = err(os.pwrite, fd, b"\x4d", 128)
resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
check(said == "EMFILE" and err(os.close, fd) != "ok")
check((np.load(path) == before).all())
a = np.load(path, mmap_mode="r+")
a[i] = 77
a.flush()
check(np.load(path)[i] == 77)'
    logged 'arrays/param2.npy: what is written cannot be put into a file in \$TMPDIR, /var/tmp or /tmp: Too many open files'
    down
    want "$TFS_BIN" check "$S"
}

# An array of a chunk that gets another place: what was mapped is refused; a file that is cut to 0 says all of
# itself, and is taken at the new place.
chunk_moves() {
    up -o views=all+arrays
    numpy 'import io
name = w[0]
chunk = sorted(c for c in os.listdir(f"{m}/chunks") if os.path.exists(f"{m}/chunks/{c}/arrays/{name}"))[-1]
there = chunk.split("_")[0] + "_" + chunk.split("_")[1] + "_" + str(int(chunk.split("_")[2]) + 5)
old, new = f"{m}/chunks/{chunk}/arrays/{name}", f"{m}/chunks/{there}/arrays/{name}"
before = np.load(old)
a = np.load(old, mmap_mode="r+")
fd = os.open(old, os.O_RDWR)
os.rename(f"{m}/chunks/{chunk}", f"{m}/chunks/{there}")
a[0, 0, 0] = 5 if before[0, 0, 0] != 5 else 4
check(err(a.flush) == "ESTALE")
del a
check((np.load(new) == before).all() and not os.path.exists(old))
os.ftruncate(fd, 0)
whole = np.where(before == 5, 4, 5).astype(before.dtype)
text = io.BytesIO()
np.save(text, whole)
os.pwrite(fd, text.getvalue(), 0)
os.close(fd)
check((np.load(new) == whole).all() and not os.path.exists(old))' "$@"
    down
    want "$TFS_BIN" check "$S"
}

# What a flush took and a cut took back is gone, also where the array had zeros when it was opened.
cuts_what_was_taken() {
    up -o views=all+arrays
    numpy 'path = f"{m}/arrays/param2.npy"
b = np.load(f"{m}/arrays/blocks.npy")
before = np.load(path)
place = 128 + int(np.flatnonzero((b != 0).ravel() & (before.ravel() == 0))[-1])
size = os.path.getsize(path)
for again in (b"", b"\0"):
    fd = os.open(path, os.O_RDWR)
    os.pwrite(fd, b"\x09", place)
    os.fsync(fd)
    os.ftruncate(fd, place - 5)
    os.ftruncate(fd, size)
    os.pwrite(fd, again, place)
    os.close(fd)
    shown = np.load(path).ravel()
    check(shown[place - 128] == 0 and not shown[place - 133:].any())
    check((shown[:place - 133] == before.ravel()[:place - 133]).all())
before = np.load(path)
fd = os.open(path, os.O_RDWR)
os.pwrite(fd, b"\x09", place)
check(err(os.pwrite, fd, b"\x09", 1 << 62) == "EFBIG" and err(os.close, fd) == "EFBIG")
check((np.load(path) == before).all())'
    logged 'arrays/param2.npy: what is written lies behind the largest size of this file'
    want test -s "$M/.terrainfs/rejected/arrays/param2.npy"
    down 3
    want "$TFS_BIN" check "$S"
}

# Writes of any bytes between commit points and edits of others: what is read is what was written last.
any_bytes() {
    up -o views=all+arrays
    numpy 'import random
random.seed(18)
path = f"{m}/arrays/param2.npy"
fd = os.open(path, os.O_RDWR)
wanted = bytearray(os.pread(fd, os.stat(path).st_size, 0))
b = np.load(f"{m}/arrays/blocks.npy").ravel()
solid = np.flatnonzero(b)
for turn in range(300):
    start = int(random.choice(solid))
    size = 1
    while size < random.choice((1, 3, 40, 9000)) and start + size < len(b) and b[start + size]:
        size += 1
    bytes = random.randbytes(size)
    os.pwrite(fd, bytes, 128 + start)
    wanted[128 + start:128 + start + size] = bytes
    if turn % 7 == 0:
        check(os.pread(fd, 70000, start) == wanted[start:start + 70000])
    if turn % 11 == 0:
        os.fsync(fd)
    if turn % 29 == 0:
        os.close(fd)
        fd = os.open(path, os.O_RDWR)
os.close(fd)
check(open(path, "rb").read() == wanted)
fd = os.open(path, os.O_RDWR)
os.ftruncate(fd, 1000)
check(err(os.fsync, fd) == "EBADMSG")
os.pwrite(fd, wanted[900:], 900)
os.fsync(fd)
os.close(fd)
check(open(path, "rb").read() == wanted)'
    down 3 # what was cut to 1000 bytes is kept: what was taken behind it changed nothing
    want "$TFS_BIN" check "$S"
}

# What was accepted while the file is open is no edit again, nor is it what others did since.
keeps_edits_after_a_flush() {
    up -o views=all+arrays
    numpy 'path = f"{m}/arrays/param2.npy"
a = np.load(f"{m}/arrays/blocks.npy")
i = tuple(np.argwhere((a[:, :, :-2] > 0) & (a[:, :, 1:-1] > 0) & (a[:, :, 2:] > 0))[0])
j, k = (i[0], i[1], i[2] + 1), (i[0], i[1], i[2] + 2)
w = np.load(path, mmap_mode="r+")
w[i] = 101
w.flush()
w[j] = 102
o = info("origin")
y, z, x = (n + low for n, low in zip(i, o))
csv = f"{m}/chunks/{x // 16}_{y // 16}_{z // 16}/voxels.csv"
line = [l for l in open(csv) if l.startswith(f"{x},{y},{z},")][0]
open(csv, "a").write(line.rsplit(",", 1)[0] + ",55\n")
w.flush()
w[k] = 103
w.flush()
del w
w = np.load(path)
check((w[i], w[j], w[k]) == (55, 102, 103))'
    down
}

# ---------------------------------------------------------------------------------------------------------

need_numpy
saves region_0_0_0.cosmicreach make_region --chunks 12 "$T/pristine/region_0_0_0.cosmicreach"
try 'an array that gets other bounds' gets_another_place
try 'Cosmic Reach: edits of others while an array of a chunk is mapped' keeps_edits_in_a_chunk lights/sky.npy
try 'Cosmic Reach: edits of others before a page is read and after' keeps_edits_since_a_page_was_read lights/sky.npy
make_region --chunks 30 "$T/pristine/other.cosmicreach"
try 'an array that gets other bounds by another program' is_read_only
try 'an array that is replaced and removed' replaced
saves map.sqlite make_luanti map "$T/pristine/map.sqlite" 4
try 'an array that gets another place' moves
try 'an array that is written and renamed' renamed_away
try 'a part of an array of 8 GB' large
try 'an array of 700 MB that is cut and renamed' not_as_a_whole
try 'any bytes of an array' any_bytes
saves wide.sqlite make_luanti map "$T/pristine/wide.sqlite" 400
try 'no room for an edit' has_no_room
SAVE_NAME=map.sqlite
PRISTINE=$T/pristine/$SAVE_NAME
try 'edits of others between two flushes' keeps_edits_after_a_flush
try 'a cut behind a flush' cuts_what_was_taken
try 'no file for an edit' has_no_file
try 'Luanti: an array of a chunk that is moved' chunk_moves param2.npy
try 'Luanti: edits of others while a page is written' keeps_edits_of_others param2.npy
try 'Luanti: edits of others while an array of a chunk is mapped' keeps_edits_in_a_chunk param2.npy
try 'Luanti: edits of others before a page is read and after' keeps_edits_since_a_page_was_read param2.npy
saves world make_world --regions 2 --chunks 12 "$T/pristine/world"
try 'Cosmic Reach, a zone: edits of others while a page is written' keeps_edits_of_others lights/sky.npy zones/base/earth
try 'Cosmic Reach, a zone: edits of others before a page is read and after' keeps_edits_since_a_page_was_read lights/sky.npy zones/base/earth
[ -z "${TFS_TEST_SANITIZED:-}" ] || finish
for kind in folder region stream; do
    saves "godot.$kind" make_voxel $kind "$T/pristine/godot.$kind"
    try "Godot, $kind: edits of others while a page is written" keeps_edits_of_others channels/type.npy
    try "Godot, $kind: edits of others while an array of a chunk is mapped" keeps_edits_in_a_chunk channels/type.npy
    [ "$kind" = region ] || try "Godot, $kind: edits of others before a page is read and after" keeps_edits_since_a_page_was_read channels/type.npy
done
saves terrain.raw make_place --kind raw "$T/pristine/terrain.raw"
try 'Roblox: edits of others while a page is written' keeps_edits_of_others materials.npy
try 'Roblox: edits of others while an array of a chunk is mapped' keeps_edits_in_a_chunk materials.npy
saves terrain.ter make_ter --version 9 --size 200 --seed 9 "$T/pristine/terrain.ter"
try 'BeamNG: edits of others while an array of a tile is mapped' keeps_edits_in_a_chunk heights.npy
finish
