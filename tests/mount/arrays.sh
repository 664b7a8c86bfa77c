#!/usr/bin/env bash
# arrays/: volumes of a chunk and of the save, as NumPy reads, maps and writes them.
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/numpy.bash"

# blocks CODE: with the chunk $C as c and the voxel $V.
blocks() {
    numpy "c, v, b = w
x, y, z = map(int, v.split(','))
whole, chunk = f'{m}/arrays/blocks.npy', f'{m}/chunks/{c}/arrays/blocks.npy'
$1" "$C" "$V" "$B"
}

reads() {
    up -o "views=$1"
    blocks 'a, palette = np.load(whole), names()
check(a.dtype == np.uint16 and a.ndim == 3 and list(a.shape) == info("shape"))
check((np.load(whole, mmap_mode="r") == a).all())
check(palette[0] == "base:air" and len(set(palette)) == len(palette))
check(palette[a[at(x, y, z)]] == b)
p = os.path.getsize(whole)
check(p == 128 + a.nbytes and open(whole, "rb").read()[128:] == a.tobytes())
f = open(whole, "rb", buffering=0)
for start, size in ((0, 5), (120, 20), (128, 1), (p - 3, 10), (p // 2 + 1, 4097), (p, 1)):
    f.seek(start)
    check(f.read(size) == open(whole, "rb").read()[start:start + size])
k = np.load(chunk)
check(k.shape == (16, 16, 16) and k.dtype == np.uint16)
cx, cy, cz = (16 * int(n) for n in c.split("_"))
o = at(cx, cy, cz)
part = a[o[0]:o[0] + 16, o[1]:o[1] + 16, o[2]:o[2] + 16]
check(len({(i, j) for i, j in zip(k.ravel(), part.ravel())}) == len(np.unique(k)))'
    [ "$1" = arrays ] || blocks 'a, palette, voxels = np.load(whole), names(), 0
for file in glob.glob(f"{m}/chunks/*/voxels.csv"):
    for row in csv.DictReader(open(file)):
        check(palette[a[at(int(row["x"]), int(row["y"]), int(row["z"]))]] == row["block"])
        voxels += 1
check(voxels == np.count_nonzero(a))'
    down
    want cmp "$PRISTINE" "$S"
}

hidden() {
    up
    wants_not [ -e "$M/arrays" ]
    wants_not [ -e "$M/chunks/$C/arrays/blocks.npy" ]
    same 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/arrays")" EPERM
    down
}

# Directories in directories of a chunk are made, listed, copied and removed as those in the chunk are.
deep_directories() {
    up -o views=all+arrays
    local chunk=$M/chunks/$C new=$M/chunks/15_15_15
    same 'listed' "$(cd "$chunk/arrays" && find . -mindepth 1 | sort | tr '\n' ' ')" \
        './blocks.npy ./lights ./lights/block.npy ./lights/sky.npy '
    same 'others' "$(py 'print(err(os.mkdir, f"{a[0]}/arrays/lights"), err(os.rmdir, f"{a[0]}/arrays/lights"),
err(os.rmdir, f"{a[1]}/arrays/lights"), err(os.mkdir, f"{a[1]}/arrays/lights"), err(os.rename, f"{a[1]}/arrays/lights", f"{a[1]}/x"),
err(os.stat, f"{a[1]}/arrays/sky.npy"))' "$chunk" "$M")" 'EEXIST ENOTEMPTY EPERM EEXIST EPERM ENOENT'
    rm "$chunk"/arrays/lights/*.npy
    want rmdir "$chunk/arrays/lights"
    wants_not [ -e "$chunk/arrays/lights" ]
    want mkdir "$chunk/arrays/lights"
    want cp -r "$chunk" "$new"
    want diff -r --exclude=raw.bin --exclude=voxels.csv "$chunk" "$new"
    want rm -r "$new"
    wants_not [ -e "$new" ]
    want ls "$M/arrays/lights/sky.npy"
    down
    want "$TFS_BIN" check "$S"
}

# Writing back what was read leaves every byte as it was.
gives_back() {
    up -o views=arrays
    blocks 'a = np.load(whole); np.save(whole, a); np.save(chunk, np.load(chunk))
np.save(whole, np.asfortranarray(a)); np.save(whole, a.astype(">i8"))
w = np.load(whole, mmap_mode="r+"); w[:] = w; w.flush()'
    down
    want cmp "$PRISTINE" "$S"
}

maps() {
    up -o views=all+arrays
    blocks 'a = np.load(whole)
n = names().index("base:stone_gabbro")
w = np.load(whole, mmap_mode="r+")
w[at(x, y, z)] = n
w.flush()
check(f"{v},base:stone_gabbro\n" in open(f"{m}/chunks/{c}/voxels.csv"))
check(np.count_nonzero(np.load(whole) != a) == 1)'
    block_is "$V" base:stone_gabbro
    changes "changed $C blocks"
    down
}

writes_a_chunk() {
    up -o views=all+arrays
    blocks 'k = np.load(chunk)
k[:, 3, :] = 0
np.save(chunk, k)
check((np.load(chunk) == k).all())'
    changes "changed $C blocks"
    blocks 'k = np.load(chunk)
k[12, 0, 3] = 900
check(err(np.save, chunk, k) == "EBADMSG")'
    logged "chunks/$C/arrays/blocks.npy: \[12,0,3\] is 900, arrays/palette.txt has [0-9]+ lines"
    down 3
}

# A page that a mapping writes holds its neighbours as they were: they do not undo what others did since.
keeps_edits_of_others() {
    up -o views=all+arrays
    blocks 'w = np.load(whole, mmap_mode="r+")
n = names().index("base:stone_gabbro")
i = at(x, y, z)
j = (i[0], i[1], i[2] ^ 1)
w[j] = n
lines = open(f"{m}/chunks/{c}/voxels.csv").read()
open(f"{m}/chunks/{c}/voxels.csv", "a").write(f"{v},base:coal\n")
w.flush()
del w
a = np.load(whole)
check(names()[a[i]] == "base:coal" and a[j] == n)'
    block_is "$V" base:coal
    down
}

# A number that was given stays, whatever names come and go.
keeps_numbers() {
    up -o views=all+arrays
    blocks 'before = names()
open(f"{m}/chunks/{c}/voxels.csv", "a").write(f"{v},aaa:first\n")
after = names()
check(after[:len(before)] == before and after[len(before):] == ["aaa:first"])
check(np.load(whole)[at(x, y, z)] == len(before))
w = np.load(whole, mmap_mode="r+"); w[at(x, y, z)] = 0; w.flush(); del w
check(names() == after)'
    down
    block_is "$V" base:air
}

makes_chunks() {
    up -o views=all+arrays
    want rm -r "$M/chunks/1_2_0"
    blocks 'w = np.load(whole, mmap_mode="r+")
w[at(20, 40, 3)] = 1
w.flush()
check(os.path.exists(f"{m}/chunks/1_2_0"))'
    down
    block_is 20,40,3 "$("$TFS_BIN" cat "$S" arrays/palette.txt | sed -n '2s/^1 //p')"
}

refuses() {
    up -o views=arrays
    blocks 'a = np.load(whole)
check(err(np.save, whole, a[1:]) == "EBADMSG")
check(err(np.save, whole, a.astype(float)) == "EBADMSG")
for other in a.astype(object), a.astype([("number", "u2")]), a[None]:
    check(err(np.save, whole, other) == "EBADMSG")
check(err(open(whole, "wb").write, b"x") in ("ok", "EBADMSG"))
a[1, 2, 3] = 60000
check(err(np.save, whole, a) == "EBADMSG")'
    logged 'arrays/blocks.npy: the array is <u2 of shape \(.*\), it has to be <u2 of shape'
    logged 'arrays/blocks.npy: the array is <f8 of shape'
    same 'refused heads that say what is expected' \
        "$(grep -c 'of plain numbers; it has to be <u2 of shape' "$M/.terrainfs/errors.log")" 3
    logged 'arrays/blocks.npy: \[1,2,3\] is 60000, arrays/palette.txt has [0-9]+ lines'
    same 'palette' "$(py 'print(err(open, a[0], "w"))' "$M/arrays/palette.txt")" EACCES
    down 3
    want cmp "$PRISTINE" "$S"
}

without_a_mount() {
    want "$TFS_BIN" cat "$S" arrays/blocks.npy >"$D/a.npy"
    want "$TFS_BIN" put "$S" arrays/blocks.npy <"$D/a.npy"
    want cmp "$PRISTINE" "$S"
    up -o views=arrays
    want cmp "$D/a.npy" "$M/arrays/blocks.npy"
    down
    want "$TFS_BIN" export "$S" "$D/tree"
    wants_not [ -e "$D/tree/arrays" ]
    want "$TFS_BIN" export -o views=arrays "$S" "$D/arrays"
    want cmp "$D/a.npy" "$D/arrays/arrays/blocks.npy"
    want cmp "$PRISTINE" "$S"
}

# Light as lights/*.txt shows it; where a chunk stores none there is 0, and a value makes it store some.
lights() {
    up -o views=all+arrays
    blocks 'sky, light = f"{m}/arrays/lights/sky.npy", f"{m}/arrays/lights/block.npy"
a, b = np.load(sky), np.load(light)
check(a.dtype == np.uint8 and b.dtype == np.uint16 and a.shape == b.shape == np.load(whole).shape)
for chunk in os.listdir(f"{m}/chunks"):
    for name, array, base in ("sky", a, 10), ("block", b, 16):
        path = f"{m}/chunks/{chunk}/lights/{name}.txt"
        expected = grid(path, 16, base) if os.path.exists(path) else 0
        check((array[of(chunk, 16)] == expected).all())
    check((np.load(f"{m}/chunks/{chunk}/arrays/lights/sky.npy") == a[of(chunk, 16)]).all())
    check((np.load(f"{m}/chunks/{chunk}/arrays/lights/block.npy") == b[of(chunk, 16)]).all())
np.save(sky, a); np.save(light, b)'
    want "$TFS_BIN" sync "$M"
    want cmp "$PRISTINE" "$S"
    rm -f "$M/chunks/$C/lights/block.txt"
    want sync "$M/chunks/$C"
    blocks 'w = np.load(f"{m}/arrays/lights/block.npy", mmap_mode="r+")
w[at(x, y, z)] = 0xf80
w.flush()
check("f80" in open(f"{m}/chunks/{c}/lights/block.txt").read())
w[at(x, y, z)] = 0x1000
check(err(w.flush) == "EBADMSG")'
    logged 'arrays/lights/block.npy: \[[0-9]+,[0-9]+,[0-9]+\] is 4096, block light has the values 000 to fff'
    blocks 'a = np.load(f"{m}/chunks/{c}/arrays/lights/sky.npy"); a[15, 0, 15] = 16
check(err(np.save, f"{m}/chunks/{c}/arrays/lights/sky.npy", a) == "EBADMSG")
np.save(f"{m}/arrays/lights/block.npy", np.load(f"{m}/arrays/lights/block.npy"))'
    logged "chunks/$C/arrays/lights/sky.npy: \\[15,0,15\\] is 16, sky light has the levels 0 to 15"
    down 3
}

try 'arrays are not there without the option' hidden
try 'cat, put, export and import' without_a_mount
need_numpy
for view in arrays all+arrays; do
    try "reading: $view" reads $view
done
try 'writing back what was read' gives_back
try 'a mapping that is written' maps
try 'the array of a chunk' writes_a_chunk
try 'directories of a chunk in each other' deep_directories
try 'edits through a text in between' keeps_edits_of_others
try 'numbers stay' keeps_numbers
try 'light' lights
try 'chunks are made where they lack' makes_chunks
try 'arrays that cannot be taken' refuses
finish
