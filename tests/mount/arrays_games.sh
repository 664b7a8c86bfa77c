#!/usr/bin/env bash
# arrays/ of the games whose numbers are their own: what NumPy reads is what the texts show, writing it back leaves
# every byte, and an edit is the one that a text would have made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/numpy.bash"

mkdir -p "$T/pristine"

# saves NAME TOOL [OPTION...]: the pristine save of the following tests.
saves() {
    SAVE_NAME=$1
    PRISTINE=$T/pristine/$1
    "$TFS_TOOLS/$2" "${@:3}" "$PRISTINE" || bail "cannot make $SAVE_NAME"
}

# gives_back ARRAY...
gives_back() {
    up -o views=arrays
    numpy 'for name in w:
    a = np.load(f"{m}/arrays/{name}")
    np.save(f"{m}/arrays/{name}", np.asfortranarray(a))
    if a.dtype.kind != "f":
        np.save(f"{m}/arrays/{name}", a.astype(">i8"))
    k = np.load(f"{m}/arrays/{name}", mmap_mode="r+"); k[:] = k; k.flush()' "$@"
    down
    want cmp "$PRISTINE" "$S"
}

# ---- Roblox ---------------------------------------------------------------------------------------------

roblox_reads() {
    up -o views=all+arrays
    numpy 'for name in "materials", "occupancy", "water":
    a = np.load(f"{m}/arrays/{name}.npy")
    check(a.dtype == np.uint8 and list(a.shape) == info("shape"))
    filled = 0
    for chunk in os.listdir(f"{m}/chunks"):
        g = grid(f"{m}/chunks/{chunk}/{name}.txt", 32)
        check((a[of(chunk, 32)] == g).all())
        check(f"\n{name}.npy: " in open(f"{m}/arrays/info.txt").read())
        check((np.load(f"{m}/chunks/{chunk}/arrays/{name}.npy") == g).all())
        filled += np.count_nonzero(g)
    check(filled == np.count_nonzero(a))
check(open(f"{m}/arrays/palette.txt").read() == open(f"{m}/palette.txt").read())
check(err(open, f"{m}/arrays/palette.txt", "w") == "EACCES")'
    down
    want cmp "$PRISTINE" "$S"
}

# As in the texts: air gets an occupancy with its material, and loses it.
roblox_writes() {
    up -o views=all+arrays
    numpy 'k = np.load(f"{m}/arrays/materials.npy", mmap_mode="r+")
i = tuple(np.argwhere(k == 0)[0])
j = tuple(np.argwhere(k > 2)[0])
k[i] = 2
k[j] = 0
k.flush()
occupancy = np.load(f"{m}/arrays/occupancy.npy")
check(occupancy[i] == 255 and occupancy[j] == 0)
chunk = os.listdir(f"{m}/chunks")[0]
path = f"{m}/chunks/{chunk}/arrays/occupancy.npy"
o = np.load(path)
t = np.load(f"{m}/chunks/{chunk}/arrays/materials.npy")
o[t > 2] = 77
np.save(path, o)
check((grid(f"{m}/chunks/{chunk}/occupancy.txt", 32)[t > 2] == 77).all())
i = tuple(np.argwhere(t == 0)[0])
o[i] = 5
check(err(np.save, path, o) == "EBADMSG")
t[i] = 64
check(err(np.save, f"{m}/chunks/{chunk}/arrays/materials.npy", t) == "EBADMSG")'
    logged 'arrays/occupancy.npy: \[[0-9]+,[0-9]+,[0-9]+\] is 5, occupancy for Air; give the cell a material first'
    logged 'arrays/materials.npy: \[[0-9]+,[0-9]+,[0-9]+\] is 64, materials are 0 to 63'
    down 3
    want "$TFS_BIN" check "$S"
}

# ---- BeamNG ---------------------------------------------------------------------------------------------

beamng_reads() {
    up -o views=all+arrays
    numpy 'h, l = np.load(f"{m}/arrays/heights.npy", mmap_mode="r"), np.load(f"{m}/arrays/layers.npy")
check(h.dtype == np.uint16 and l.dtype == np.uint8 and list(h.shape) == list(l.shape) == info("shape"))
check("origin: 199 0\n" in open(f"{m}/arrays/info.txt"))
n = h.shape[0]
for tile in os.listdir(f"{m}/chunks"):
    X, _, Z = map(int, tile.split("_"))
    for name, a in ("heights", h), ("layers", l):
        rows = [t for t in open(f"{m}/chunks/{tile}/{name}.txt") if "|" in t]
        t = np.array([[int(v) for v in r.split("|")[1].split()] for r in rows])
        z, x = 64 * Z, 64 * X
        check((np.flipud(a)[z:z + t.shape[0], x:x + t.shape[1]] == t).all())
        k = np.load(f"{m}/chunks/{tile}/arrays/{name}.npy")
        check(k.dtype == a.dtype and (k == np.flipud(t)).all())
        check((a[n - z - t.shape[0]:n - z, x:x + t.shape[1]] == k).all())
f = open(f"{m}/arrays/heights.npy", "rb", buffering=0)
whole = f.read()
for start, size in (0, 5), (120, 20), (128 + 2 * n - 1, 3), (len(whole) - 3, 10), (9999, 8192):
    f.seek(start)
    check(f.read(size) == whole[start:start + size])'
    down
    want cmp "$PRISTINE" "$S"
    up -o views=arrays
    want cmp "$M/arrays/palette.txt" <("$TFS_BIN" cat "$PRISTINE" palette.txt)
    down
}

beamng_writes() {
    up -o views=all+arrays
    numpy 'h = np.load(f"{m}/arrays/heights.npy", mmap_mode="r+")
before = h.copy()
h[3:9, 50:90] += 5
h.flush()
check(np.count_nonzero(np.load(f"{m}/arrays/heights.npy") != before) == 240)
path = f"{m}/chunks/3_0_0/arrays/heights.npy"
t = np.load(path)
check(t.shape == (64, 8) and (t == h[136:, 192:]).all())
del h
t[63, 2] += 1
np.save(path, t)
check(np.load(f"{m}/arrays/heights.npy")[199, 194] == before[199, 194] + 1)
check(err(np.save, path, t[1:]) == "EBADMSG")
path = f"{m}/chunks/1_0_1/arrays/layers.npy"
t = np.load(path)
t[5, 6] = 255
np.save(path, t)
check(np.load(f"{m}/arrays/layers.npy")[72 + 5, 64 + 6] == 255)
t[5, 6] = 254
check(err(np.save, path, t) == "EBADMSG")
l = np.load(f"{m}/arrays/layers.npy")
l[0, 0] = 255
np.save(f"{m}/arrays/layers.npy", l)
l[7, 9] = 254
check(err(np.save, f"{m}/arrays/layers.npy", l) == "EBADMSG")
check(err(open, f"{m}/arrays/palette.txt", "w") == "EACCES")
check(err(np.save, f"{m}/arrays/heights.npy", before[1:]) == "EBADMSG")
check(err(np.save, f"{m}/arrays/heights.npy", before.astype(int) + 65536) == "EBADMSG")'
    logged 'arrays/layers.npy: \[7,9\] is 254, layer for no material'
    logged 'arrays/heights.npy: the array is <u2 of shape \([0-9]+, 200\), it has to be <u2 of shape \(200, 200\)'
    logged 'arrays/heights.npy: \[0,0\] is [0-9]+, which uint16 cannot hold'
    down 3
    same 'what differs in the save' "$("$PYTHON" -S "$ROOT/tests/tools/ter.py" diff "$PRISTINE" "$S")" \
        'heights 241 layers 2 extra 0 names 0'
}

# Pages of a mapping hold what others changed meanwhile, between two flushes too; nothing of the array is in memory.
beamng_keeps_edits_of_others() {
    up -o views=all+arrays
    numpy 'path, part = f"{m}/arrays/heights.npy", f"{m}/chunks/0_0_0/arrays/heights.npy"
a = np.load(path, mmap_mode="r+")
expected = a.copy()
def other(x, value):
    k = np.load(part)
    k[0, x] = expected[136, x] = value
    np.save(part, k)
def ours(x, value):
    a[136, x] = expected[136, x] = value
def check_tile():
    check((np.load(part) == expected[136:, :64]).all())
ours(1, 11)
other(0, 10)
a.flush()
check_tile()
other(2, 12)
ours(1, 21)
ours(3, 23)
a.flush()
check_tile()
other(3, 33)
ours(4, 24)
a.flush()
check_tile()
del a
check((np.load(path) == expected).all())
np.save(path, expected.astype(">u2"))
f = open(path, "r+b")
f.truncate(5000)
check(err(f.close) == "EBADMSG")
check((np.load(path) == expected).all())'
    logged 'arrays/heights.npy: the .npy file has 4872 bytes of values, its shape has others'
    down 3
    want "$TFS_BIN" check "$S"
}

# ---- Godot ----------------------------------------------------------------------------------------------

CHANNELS='type sdf color indices weights data5 data6 data7'

# Each chunk's array, and its part of the array of the save, are what the texts show.
godot_reads() {
    up -o views=all+arrays
    numpy 'for chunk in glob.glob(f"{m}/chunks/*") + glob.glob(f"{m}/lods/*/chunks/*"):
    if not os.path.exists(f"{chunk}/voxels.csv"):
        check(not os.path.exists(f"{chunk}/arrays"))
        continue
    for name in w:
        lines = open(f"{chunk}/channels/{name}.txt").read().split("\n")
        depth = int(lines[0].split()[1])
        a = np.load(f"{chunk}/arrays/channels/{name}.npy")
        check(8 * a.dtype.itemsize == depth)
        number = float if a.dtype.kind == "f" else int
        if lines[1].startswith("fill"):
            check((a == a.dtype.type(number(lines[1].split()[1]))).all())
        else:
            rows = [[number(v) for v in l.split("|")[1].split()] for l in lines if "|" in l]
            check((np.array(rows, a.dtype).reshape(a.shape) == a).all())
        if "/lods/" in chunk or not os.path.exists(f"{m}/arrays/channels/{name}.npy"):
            continue
        whole = np.load(f"{m}/arrays/channels/{name}.npy", mmap_mode="r")
        X, Y, Z = map(int, os.path.basename(chunk).split("_"))
        o = info("origin")
        i = tuple(slice(c * n - low, c * n - low + n) for c, n, low in zip((Y, Z, X), a.shape, o))
        check((whole[i] == a).all())' $CHANNELS
    down
    want diff -r "$PRISTINE" "$S"
}

godot_gives_back() {
    up -o views=arrays
    numpy 'for path in glob.glob(f"{m}/arrays/channels/*.npy") + glob.glob(f"{m}/chunks/*/arrays/channels/*.npy"):
    a = np.load(path)
    np.save(path, np.asfortranarray(a))
    np.save(path, a.astype(a.dtype.newbyteorder(">")))'
    down
    want diff -r "$PRISTINE" "$S"
}

# An edit is one of its chunk and channel; a float is taken as its bits, a number that does not fit is refused.
godot_writes() {
    up -o views=all+arrays
    numpy 'chunk = sorted(c for c in os.listdir(f"{m}/chunks") if os.path.exists(f"{m}/chunks/{c}/voxels.csv"))[0]
for name in w:
    path = f"{m}/chunks/{chunk}/arrays/channels/{name}.npy"
    a = np.load(path)
    before = {n: np.load(f"{m}/chunks/{chunk}/arrays/channels/{n}.npy") for n in w}
    a[0, -1, 0] = -3 if a.dtype.kind in "if" else 7
    np.save(path, a)
    check((np.load(path) == a).all())
    check(all((np.load(f"{m}/chunks/{chunk}/arrays/channels/{n}.npy") == b).all() for n, b in before.items() if n != name))
    if a.dtype.kind == "u" and a.itemsize < 8:
        check(err(np.save, path, a.astype(np.int64) - 9999) == "EBADMSG")
    elif a.dtype.kind == "f":
        check(err(np.save, path, a.astype(int)) == "EBADMSG")
whole = np.load(f"{m}/arrays/channels/type.npy", mmap_mode="r+")
before = whole.copy()
whole[-1, -1, -1] += 1
whole.flush()
check(np.count_nonzero(np.load(f"{m}/arrays/channels/type.npy") != before) == 1)' $CHANNELS
    down 3
    want "$TFS_BIN" check "$S"
}

# ---- levels of detail, and terrains but the first -------------------------------------------------------

# Arrays of a group are what an independent decoder reads of its chunks; they are written as those of the root are.
GROUP='
def info(group, key):
    for line in open(f"{m}/{group}/arrays/info.txt"):
        if line.startswith(key + ":"):
            return [int(n) for n in line.split()[1:]]
def place(group, chunk, a):
    x, y, z = map(int, chunk.split("_"))
    return tuple(slice(n * c - low, n * c - low + n)
                 for c, n, low in zip((y, z, x), a.shape, info(group, "origin")))
def parts(group, name):
    for chunk in os.listdir(f"{m}/{group}/chunks"):
        if not os.path.exists(f"{m}/{group}/chunks/{chunk}/arrays"):
            continue
        a = np.load(f"{m}/{group}/chunks/{chunk}/arrays/{name}.npy")
        yield chunk, a, place(group, chunk, a)
def reads(group, name):
    whole, seen = np.load(f"{m}/{group}/arrays/{name}.npy", mmap_mode="r"), 0
    check(list(whole.shape) == info(group, "shape"))
    for chunk, a, at in parts(group, name):
        check((whole[at] == a).all())
        seen += np.count_nonzero(a)
    check(seen == np.count_nonzero(whole))
    return whole
'

# A level of two chunks that lie apart: between them is a hole.
godot_levels() {
    up -o views=all+arrays
    local first
    first=$(find "$M/chunks" -mindepth 1 -printf '%f\n' -quit)
    wants_not [ -e "$M/lods/1" ]
    want mkdir -p "$M/lods/1/chunks"
    want cp -r "$M/chunks/$first" "$M/lods/1/chunks/0_0_0"
    want cp -r "$M/chunks/$first" "$M/lods/1/chunks/9_0_2"
    soon [ -e "$M/lods/1/arrays/info.txt" ]
    numpy "$GROUP"'
whole = reads("lods/1", "channels/type")
check(whole.shape == (16, 48, 160) and info("lods/1", "origin") == [0, 0, 0])
path = f"{m}/lods/1/arrays/channels/type.npy"
w = np.load(path, mmap_mode="r+")
root = np.load(f"{m}/arrays/channels/type.npy").copy()
w[3, 4, 5] = 77
w[7, 17, 20] = 78
w.flush()
check((reads("lods/1", "channels/type")[3, 4, 5], reads("lods/1", "channels/type")[7, 17, 20]) == (77, 78))
check("1_0_1" in os.listdir(f"{m}/lods/1/chunks"))
check((np.load(f"{m}/arrays/channels/type.npy") == root).all())
os.mkdir(f"{m}/lods/1/chunks/0_0_-1")
check(info("lods/1", "origin") == [0, -16, 0] and w[3, 4, 5] == 77)
w[3, 4, 5] = 79
check(err(w.flush) == "ESTALE")
a = reads("lods/1", "channels/type").copy()
check(err(np.save, path, a[1:]) == "EBADMSG" and err(np.save, path, np.asfortranarray(a).astype(">u4")) == "ok")'
    logged 'lods/1/arrays/channels/type.npy: the bounds of the save have changed'
    sync "$M/info.txt"
    same 'decoded' "$("$PYTHON" -S "$(dirname "$0")/../tools/voxel.py" voxel "$S" 5 3 4 1 | cut -d ' ' -f 1)" 77
    want mkdir "$M/lods/2"
    want cp -r "$M/lods/1/chunks" "$M/lods/2/chunks"
    soon [ -e "$M/lods/2/arrays/channels/data7.npy" ]
    want diff -r --exclude=raw.bin "$M/lods/1/arrays" "$M/lods/2/arrays"
    want rm -r "$M/lods/2"
    wants_not [ -e "$M/lods/2" ]
    want rm -r "$M/lods/1/arrays"
    want rm -r "$M/lods/1"
    down 3
    want "$TFS_BIN" check "$S"
}

# A block that stores distances in another way than all others: pages with none of its rows can be read.
godot_reads_around() {
    local place x y z
    place=$("$PYTHON" -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select loc from blocks where loc like ?", sys.argv[2:]).fetchone()[0])' "$S" '%,0')
    IFS=, read -r x y z _ <<<"$place"
    want "$TFS_BIN" put "$S" "chunks/${x}_${y}_$z/channels/sdf.txt" <<<$'depth 32\nfill 1.5'
    "$PYTHON" -c 'import sqlite3, sys
save, old = (sqlite3.connect(path) for path in sys.argv[1:3])
float32, short = (db.execute("select vb from blocks where loc = ?", sys.argv[3:]).fetchone()[0] for db in (save, old))
save.execute("delete from blocks")
for i in range(128):
    save.execute("insert into blocks (loc, vb) values (?, ?)",
                 (f"{i % 8},{i // 64},{i // 8 % 8},0", short if i == 64 + 8 * 2 + 5 else float32))
save.commit()' "$S" "$PRISTINE" "$place" || bail 'cannot fill the stream'
    up -o views=arrays,cache=0
    numpy 'path = f"{m}/arrays/channels/sdf.npy"
row, plane = 8 * 16 * 4, 8 * 16 * 8 * 16 * 4
bad = {(128 + (16 + y) * plane + (2 * 16 + z) * row + 5 * 64 + x) // 4096
       for y in range(16) for z in range(16) for x in (0, 63)}
with open(path, "rb", buffering=0) as f:
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
    for page in range(os.path.getsize(path) // 4096 + 1):
        check((err(os.pread, f.fileno(), 4096, page * 4096) == "EIO") == (page in bad))'
    logged 'chunk 5_1_2 stores sdf in another way'
    down
}

# Levels with other depths than the root, and one of which blocks have several: a new block is as deep as those of its level.
godot_depths() {
    up -o views=all+arrays
    numpy 'import time
def group(n, name):
    return f"{m}/lods/{n}/arrays/channels/{name}.npy"
for n, chunk, depth, value in ((1, "0_0_0", 64, 3), (2, "5_5_5", 32, 5), (3, "0_0_0", 8, 7), (4, "0_0_0", 8, 7),
                               (4, "2_0_0", 32, 9)):
    os.makedirs(f"{m}/lods/{n}/chunks/{chunk}/channels", exist_ok=True)
    for name in "type", "sdf", "color":
        with open(f"{m}/lods/{n}/chunks/{chunk}/channels/{name}.txt", "w") as f:
            f.write(f"depth {depth}\nfill {value}\n")
def wait_for(*paths):
    end = time.time() + 120
    while not all(os.path.exists(path) for path in paths):
        check(time.time() < end)
        time.sleep(0.05)
wait_for(*(group(n, "type") for n in (1, 2, 3, 4)))
root = np.load(f"{m}/arrays/channels/sdf.npy")
check(root.dtype == np.int16)
for n, kind, number, value in (1, "u8", "f8", 3), (2, "u4", "f4", 5), (3, "u1", "i1", 7):
    for name, dtype in ("type", kind), ("color", kind), ("sdf", number):
        a = np.load(group(n, name))
        check(a.dtype == np.dtype(dtype) and (a == value).all())
mixed = np.load(group(4, "type"))
check(mixed.dtype == np.uint32 and list(mixed[0, 0, ::16]) == [7, 0, 9])
check(err(np.load, group(4, "sdf")) == "EIO")
paths = [f"{m}/arrays/channels/type.npy", group(1, "type"), group(2, "type")]
mapped = [np.load(path, mmap_mode="r") for path in paths]
os.mkdir(f"{m}/lods/1/chunks/2_0_0")
a = np.load(group(1, "type"))
check(a.shape == (16, 16, 48) and (a[:, :, 16:] == 0).all())
check(mapped[1].shape == (16, 16, 16) and (mapped[1] == 3).all())
a[3, 4, 20] = 1 << 40
np.save(group(1, "type"), a)
check((np.load(group(1, "type")) == a).all())
a = np.load(group(1, "sdf"))
check(a.dtype == np.float64 and (a[:, :, :16] == 3).all() and (a[:, :, 16:] == 100).all())
check((np.load(f"{m}/arrays/channels/sdf.npy") == root).all())
made = f"{m}/lods/4/chunks/9_0_0"
os.mkdir(made)
wait_for(f"{made}/channels/type.txt", f"{made}/channels/sdf.txt")
check([open(f"{made}/channels/{name}.txt").readline() for name in ("type", "sdf")] == ["depth 32\n", "depth 16\n"])'
    logged 'lods/4/arrays/channels/sdf.npy: chunk 0_0_0 stores sdf in another way than others do'
    down
    want "$TFS_BIN" check "$S"
}

# A damaged block is empty in the array, what is written there is rejected by its name, and the others can be written.
godot_damage() {
    local chunk
    chunk=$("$PYTHON" -S - "$S" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
(key,) = db.execute('SELECT loc FROM blocks LIMIT 1').fetchone()
db.execute('UPDATE blocks SET vb = substr(vb, 1, 20) WHERE loc = ?', (key,))
db.commit()
print('_'.join(key.split(',')[:3]))
END
    )
    up -o views=all+arrays
    numpy 'path = f"{m}/arrays/channels/type.npy"
damaged = of(w[0], 16)
a = np.load(path, mmap_mode="r+")
check(not a[damaged].any() and a.any())
other = next(tuple(i) for i in np.argwhere(a != 0))
a[other] += 1
a.flush()
a[tuple(s.start for s in damaged)] = 7
check(err(a.flush) == "EBADMSG")' "$chunk"
    logged "arrays/channels/type.npy: chunk $chunk is damaged: "
    down 3
}

# A level of blocks of version 2 in a save of version 4: distances of both mean other things, so a new block is of version 2, too.
godot_versions() {
    up -o views=all+arrays
    want "$TFS_TOOLS/make_voxel" block "$D/old.blk" 2
    want mkdir -p "$M/lods/1/chunks/0_0_0"
    want cp "$D/old.blk" "$M/lods/1/chunks/0_0_0/raw.bin"
    soon [ -e "$M/lods/1/arrays/channels/sdf.npy" ]
    want mkdir "$M/lods/1/chunks/2_0_0"
    numpy 'path = f"{m}/lods/1/arrays/channels/sdf.npy"
part = np.load(f"{m}/lods/1/chunks/0_0_0/arrays/channels/sdf.npy")
k = np.load(path, mmap_mode="r+")
check(k.dtype == part.dtype == np.uint16 and (k[:, :, :16] == part).all() and (k[:, :, 16:] == 65535).all())
k[1, 2, 20] = 7
k.flush()
check("1_0_0" in os.listdir(f"{m}/lods/1/chunks"))
a = np.load(path)
check(a[1, 2, 20] == 7 and (a[:, :, :16] == part).all() and np.count_nonzero(a[:, :, 16:] != 65535) == 1)
check(np.load(f"{m}/arrays/channels/sdf.npy").dtype == np.int16)'
    down
    for chunk in 0_0_0 1_0_0 2_0_0; do
        same "lods/1/$chunk" "$("$PYTHON" -S "$(dirname "$0")/../tools/voxel.py" block "$S" lods/1/$chunk | cut -d ' ' -f -2)" 'version 2'
    done
    want "$TFS_BIN" check "$S"
}

roblox_regions() {
    up -o views=all+arrays
    numpy "$GROUP"'
sys.path.insert(0, w[0])
import place as decoder
save = decoder.read(w[1])
for group in 1, 2:
    chunks, edge = decoder.grid(save.values[group, "SmoothGrid"])
    folder = f"regions/{group - 1}"
    for i, name in enumerate(("materials", "occupancy", "water")):
        whole = reads(folder, name)
        for at, (_, cells) in chunks.items():
            mine = np.array([c[i] for c in cells], np.uint8).reshape(edge, edge, edge)
            check((whole[place(folder, "_".join(map(str, at)), mine)] == mine).all())
root = np.load(f"{m}/arrays/materials.npy").copy()
k = np.load(f"{m}/regions/1/arrays/materials.npy", mmap_mode="r+")
k[1, 2, 3] = 1 if k[1, 2, 3] != 1 else 2
k.flush()
check((np.load(f"{m}/arrays/materials.npy") == root).all())
check(reads("regions/1", "materials")[1, 2, 3] == k[1, 2, 3])
k[0, 0, 0] = 99
check(err(k.flush) == "EBADMSG")
check(err(np.save, f"{m}/regions/0/arrays/water.npy", root[:3]) == "EBADMSG")
check(err(os.mkdir, f"{m}/regions/0/arrays/x") == "ok")' "$(dirname "$0")/../tools" "$PRISTINE"
    logged 'regions/1/arrays/materials.npy: \[0,0,0\] is 99, materials are 0 to 63'
    down 3
    want "$TFS_BIN" check "$S"
}

# ---- Luanti ---------------------------------------------------------------------------------------------

luanti_reads() {
    up -o views=all+arrays
    numpy 'def palette(path):
    return [line.rstrip("\n").split(" ", 1)[1] for line in open(path)]
all = names()
check(all[0] == "air" and len(set(all)) == len(all))
blocks, param1, param2 = (np.load(f"{m}/arrays/{n}.npy") for n in ("blocks", "param1", "param2"))
check(blocks.dtype == np.uint16 and param1.dtype == param2.dtype == np.uint8)
chunks = [c for c in os.listdir(f"{m}/chunks") if os.path.exists(f"{m}/chunks/{c}/blocks.txt")]
check(len(chunks) > 2)
for chunk in chunks:
    d = f"{m}/chunks/{chunk}"
    own, g = palette(f"{d}/palette.txt"), grid(f"{d}/blocks.txt", 16)
    numbers = np.array([all.index(n) for n in own])[g]
    check((np.load(f"{d}/arrays/blocks.npy") == numbers).all())
    check((blocks[of(chunk, 16)] == numbers).all())
    for name, a, base in ("param1", param1, 16), ("param2", param2, 10):
        g = grid(f"{d}/{name}.txt", 16, base)
        check((np.load(f"{d}/arrays/{name}.npy") == g).all())
        check((a[of(chunk, 16)] == g).all())'
    down
    want cmp "$PRISTINE" "$S"
}

luanti_writes() {
    up -o views=all+arrays
    numpy 'w = np.load(f"{m}/arrays/blocks.npy", mmap_mode="r+")
all = names()
i = tuple(np.argwhere(w > 0)[0])
new = next(n for n in range(1, len(all)) if n != w[i])
before = w.copy()
w[i] = new
w.flush()
check(np.count_nonzero(np.load(f"{m}/arrays/blocks.npy") != before) == 1)
y, z, x = (int(a) + b for a, b in zip(i, info("origin")))
d = f"{m}/chunks/{x // 16}_{y // 16}_{z // 16}"
check(any(l.startswith(f"{x},{y},{z},{all[new]},") for l in open(f"{d}/voxels.csv")))
p = np.load(f"{d}/arrays/param2.npy")
p[y % 16, z % 16, x % 16] = 77
np.save(f"{d}/arrays/param2.npy", p)
check(any(l.rstrip() == f"{x},{y},{z},{all[new]},77" for l in open(f"{d}/voxels.csv")))
k = np.load(f"{d}/arrays/blocks.npy")
k[1, 2, 3] = 900
check(err(np.save, f"{d}/arrays/blocks.npy", k) == "EBADMSG")
a = np.load(f"{m}/arrays/blocks.npy")
a[0, 0, 0] = 60000
check(err(np.save, f"{m}/arrays/blocks.npy", a) == "EBADMSG")'
    logged 'arrays/blocks.npy: \[1,2,3\] is 900, arrays/palette.txt has [0-9]+ lines'
    logged 'arrays/blocks.npy: \[0,0,0\] is 60000, arrays/palette.txt has [0-9]+ lines'
    down 3
    want "$TFS_BIN" check "$S"
}

# Chunks so far apart that an array of all would have more than 2^40 bytes.
luanti_far() {
    up
    want mkdir "$M/chunks/1900_1900_-1900" "$M/chunks/-1900_-1900_1900"
    down
    up -o views=all+arrays
    wants_not [ -e "$M/arrays/blocks.npy" ]
    want grep -q '^arrays: those of the chunks alone; .* more than 2^40 bytes$' "$M/arrays/info.txt"
    want [ -e "$M/chunks/1900_1900_-1900/arrays/blocks.npy" ]
    down
}

# ---------------------------------------------------------------------------------------------------------

need_numpy
for kind in raw binary xml; do
    name=terrain.$kind
    saves "$name" make_place --kind $kind
    try "Roblox, $kind: arrays are what the grids are" roblox_reads
    try "Roblox, $kind: writing back what was read" gives_back materials.npy occupancy.npy water.npy
    try "Roblox, $kind: edits" roblox_writes
done
for kind in binary xml; do
    saves "regions.$kind" make_place --kind $kind --regions 2
    try "Roblox, $kind: arrays of other terrains" roblox_regions
done
saves terrain.ter make_ter --version 9 --size 200 --seed 9
try 'BeamNG: arrays are what the tiles are' beamng_reads
try 'BeamNG: writing back what was read' gives_back heights.npy layers.npy
try 'BeamNG: edits' beamng_writes
try 'BeamNG: edits of others while a page is written' beamng_keeps_edits_of_others

# godot NAME KIND [N [M]]
godot() {
    SAVE_NAME=$1
    PRISTINE=$T/pristine/$1
    "$TFS_TOOLS/make_voxel" "$2" "$PRISTINE" "${@:3}" || bail "cannot make $1"
    try "Godot, $1: arrays are what the texts are" godot_reads
    try "Godot, $1: writing back what was read" godot_gives_back
    try "Godot, $1: edits" godot_writes
}

godot block.blk block
godot old.blk block 2
godot world.vxr region 2
godot folder folder 2
godot stream.sqlite stream 30 2
try 'Godot, stream.sqlite: arrays of a level of detail' godot_levels
try 'Godot, stream.sqlite: levels with other depths' godot_depths
try 'Godot, stream.sqlite: a level of an older version' godot_versions
try 'Godot, stream.sqlite: around a block that cannot be read' godot_reads_around
try 'Godot, stream.sqlite: a damaged block' godot_damage

SAVE_NAME=map.sqlite
PRISTINE=$T/pristine/$SAVE_NAME
"$TFS_TOOLS/make_luanti" map "$PRISTINE" 4 || bail 'cannot make a map'
try 'Luanti: arrays are what the texts are' luanti_reads
try 'Luanti: writing back what was read' gives_back blocks.npy param1.npy param2.npy
try 'Luanti: edits' luanti_writes
try 'Luanti: what would be too large is left out and named' luanti_far
finish
