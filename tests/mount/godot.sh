#!/usr/bin/env bash
# Godot Voxel Tools on real mounts: a block, regions and folders of them, in versions 4 and 2. In full with all edits of
# each of them and all samples.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/godot.bash"

# ---- one block ------------------------------------------------------------------------------------------

fixed_chunk() {
    up
    same 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/1_0_0")" EPERM
    wants_not rm -rf "$M/chunks/0_0_0"
    wants_not mv "$M/chunks/0_0_0" "$M/chunks/0_0_1"
    down
    want cmp "$PRISTINE" "$S"
}

# All four depths, by the header line; a float distance is the very bits.
depths() {
    local file=$M/chunks/$C/channels
    up
    want sh -c "sed 's/^depth 16/depth 64/' '$file/type.txt' >'$D/text' && cp '$D/text' '$file/type.txt'"
    want sh -c "printf 'depth 32\nfill 0.1\n' >'$file/sdf.txt'"
    want sh -c "printf 'depth 64\nfill 18446744073709551615\n' >'$file/data7.txt'"
    same 'info' "$(grep '^sdf scale' "$M/info.txt")" \
        'sdf scale: 32 bits: the distance in voxels, below 0 is inside matter'
    down
    same 'block' "$(voxel block "$S" $C)" \
        'version 4 kind 2 size 16 16 16 depths 64 32 8 16 16 8 8 64 dense type'
    same 'values' "$(voxel voxel "$S" 3 4 5)" \
        "$(was $V | cut -d ' ' -f 1) 0.10000000149011612 0 12816 15 0 0 18446744073709551615"
}

# ---- regions --------------------------------------------------------------------------------------------

outside_of_region() {
    up
    same 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/2_0_0")" EINVAL
    logged 'this region holds no chunk with x = 2, only 0 to 1'
    same 'another depth' "$(errno_of "$M/chunks/$C/channels/type.txt" 'depth 8
fill 1
')" EBADMSG
    logged 'depth'
    down 3
    want cmp "$PRISTINE" "$S"
}

# A block of random values needs more than 255 sectors of 512 bytes: all eight channels of 32^3.
too_large() {
    make_voxel region "$S" 1 5
    cp "$S" "$D/before"
    up
    want py '
import random
random.seed(4)
rows = "\n".join(" ".join(str(random.randrange(65536)) for _ in range(32)) for _ in range(1024))
print(err(put, a[0] + "/type.txt", rows.encode()))
r = err(put, a[0] + "/indices.txt", rows.encode())
assert r in ("EFBIG", "EBADMSG"), r
' "$M/chunks/0_0_0/channels"
    logged 'at most 130556 fit the 255 sectors'
    down 3
    same 'what changed' "$(voxel diff "$D/before" "$S")" 'changed 0_0_0 type'
    want voxel check "$S"
}

# The region of a folder of version 2, mounted alone: its meta.vxrm lies two levels above.
old_region() {
    local file=$S/regions/lod0/r.0.0.0.vxr
    mount_at "$file" "$M"
    same 'chunks' "$(ls "$M/chunks" | wc -l)" 32
    want grep -q '^meta version: 2$' "$M/info.txt"
    want sh -c "echo '3,4,5,1234,5' >>'$M/chunks/0_0_0/voxels.csv'"
    down
    differs 'changed 0_0_0 type sdf'
    want voxel check "$S"
    mv "$file" "$D/r.0.0.0.vxr"
    wants_not mount_at "$D/r.0.0.0.vxr" "$M"
    want grep -q 'there is no ../../meta.vxrm that does' "$D/mount.err"
}

damage_region() {
    py '
data = bytearray(get(a[0]))
block = get(a[1])
at = data.index(block)
data[at + 1] ^= 0xff
put(a[0], bytes(data))' "$S" <(voxel raw "$S" $C2)
}

# ---- folders --------------------------------------------------------------------------------------------

other_region_untouched() {
    local other before
    other=$S/regions/lod0/r.1.0.0.vxr
    before=$(all_identity "$other")
    up
    want sh -c "echo 'fill 9' >'$M/chunks/$C/channels/data5.txt'"
    want mkdir "$M/chunks/0_3_0"
    want rm -r "$M/chunks/1_0_0"
    same 'the other region' "$(all_identity "$other")" "$before"
    same 'first region' "$(ls "$S/regions/lod0" | paste -sd ' ')" 'r.0.0.0.vxr r.1.0.0.vxr'
    want mkdir "$M/chunks/-1_0_8"
    down
    want cmp "$PRISTINE/meta.vxrm" "$S/meta.vxrm"
    same 'a region is made' "$(ls "$S/regions/lod0" | paste -sd ' ')" 'r.-1.0.2.vxr r.0.0.0.vxr r.1.0.0.vxr'
    differs "added -1_0_8,added 0_3_0,changed $C data5,removed 1_0_0"
    want voxel check "$S"
}

# As far as the engine goes, at every level.
farthest() {
    local far=33554431_-33554431_0 name
    up
    want mkdir -p "$M/chunks/$far" "$M/lods/1/chunks/$far"
    for name in 33554432_0_0 0_-33554432_0 200000000_0_0 0_0_-2147483648; do
        same "mkdir $name" "$(py 'print(err(os.mkdir, a[0]), err(os.mkdir, a[1]), err(os.rename, a[2], a[0]))' \
            "$M/chunks/$name" "$M/lods/1/chunks/$name" "$M/chunks/$C")" 'EINVAL EINVAL EINVAL'
        logged "^chunks/$name: the engine knows no chunk with [xyz] = [-0-9]*, only -33554431 to 33554431$"
    done
    logged '^lods/1/chunks/200000000_0_0: the engine knows no chunk with x = 200000000'
    down
    differs "added $far,added lods/1/$far"
    want voxel check "$S"
}

levels_of_regions() {
    mkdir "$S/regions/lod2"
    cp "$S/regions/lod0/r.0.0.0.vxr" "$S/regions/lod2/r.-1.0.0.vxr"
    cp -R "$S" "$D/before"
    up
    same 'levels' "$(ls "$M/lods" | paste -sd ' ')" 2
    want sh -c "echo 'fill 5' >'$M/lods/2/chunks/-4_0_0/channels/data5.txt'"
    want cp -r "$M/chunks/5_0_0" "$M/lods/2/chunks/0_0_0"
    down
    same 'what changed' "$(voxel diff "$D/before" "$S" | paste -sd ,)" \
        'changed lods/2/-4_0_0 data5,added lods/2/0_0_0'
}

owner_of_regions() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    chown -R 65534:65534 "$S"
    chmod 640 "$S/meta.vxrm"
    up
    want cp -r "$M/chunks/$C" "$M/chunks/-70_3_90"
    down
    same 'others than the owner' "$(find "$S" ! -user 65534 -o ! -group 65534)" ''
    same 'new regions' "$(find "$S/regions" -name '*.vxr' -perm 640 | wc -l)" 1
}

# The second of two files cannot be written, and the daemon dies there and then: the first one is new, the
# second is old, and the block that moved from one to the other is in both, until the next mount brings the
# rest from the journal.
crash_between_files() {
    mount_at "$S" "$M"
    rm -r "$M"/chunks/[4-7]_1_? # the region that gains a block is the smaller one
    unmount "$M"
    cp -R "$S" "$D/before"
    local limit pid
    limit=$((($(stat -c %s "$S/regions/lod0/r.1.0.0.vxr") + 8192) / 1024))
    [ $limit -lt $(($(stat -c %s "$S/regions/lod0/r.0.0.0.vxr") / 1024 - 4)) ] || note 'sizes do not fit the test'
    mkdir -p "$M"
    (ulimit -c 0 -f $limit && timeout 30 "$TFS_BIN" "$S" "$M" 9>&-) || note 'mount failed'
    pid=$(daemon)
    want mv "$M/chunks/0_0_0" "$M/chunks/6_1_1"
    kill -KILL "$pid" 2>/dev/null
    want soon flock -n "$S" true
    soon fusermount3 -u "$M"
    same 'what is on disk' "$(voxel diff "$D/before" "$S")" 'added 6_1_1'
    want cmp <(voxel raw "$S" 6_1_1) <(voxel raw "$D/before" 0_0_0)
    want voxel check "$S"
    up
    want grep -q 'restored from its journal' "$D/mount.err"
    same 'strays' "$(find "$S" -name '.*' | wc -l)" 0
    same 'chunks' "$(ls "$M/chunks" | wc -l)" 48
    down
    same 'the move finished' "$(voxel diff "$D/before" "$S" | paste -sd ,)" 'removed 0_0_0,added 6_1_1'
}

# The engine writes one block of a region while an editor has another one open.
editor_beside_the_engine() {
    local region=regions/lod0/r.1.0.0.vxr
    up
    same 'write and fsync, twice' "$(py '
import subprocess
path, engine, seen = a[:3]
fd = os.open(path, os.O_RDWR)
def say(text):
    return err(os.pwrite, fd, text, 0), err(os.fsync, fd)
first = say(b"depth 8\nfill 7\n")
subprocess.run(["sh", "-c", engine], check=True)
end = time.monotonic() + 60
def there():
    try:
        return b"fill 9" in get(seen)
    except OSError: # between the writing and the look at it
        return False
while not there() and time.monotonic() < end:
    time.sleep(0.05)
print(*first, *say(b"depth 8\nfill 8\n"), err(os.close, fd))' "$M/chunks/4_0_0/channels/data5.txt" "
        cp -Rp '$S' '$D/engine' && rm -f '$D'/engine/.[!.]*
        printf 'depth 8\nfill 9\n' | '$TFS_BIN' put '$D/engine' chunks/5_0_0/channels/data5.txt
        mv '$D/engine/$region' '$S/$region'" "$M/chunks/5_0_0/channels/data5.txt")" 'ok ok ok ok ok'
    down
    differs 'changed 4_0_0 data5,changed 5_0_0 data5'
}

folder_changed_outside() {
    mount_at "$S" "$M"
    want sh -c "echo 'fill 9' >'$M/chunks/5_0_0/channels/data5.txt'"
    unmount "$M"
    cp "$S/regions/lod0/r.1.0.0.vxr" "$D/new.vxr"
    cp -p "$PRISTINE/regions/lod0/r.1.0.0.vxr" "$S/regions/lod0/r.1.0.0.vxr"
    up
    same 'before' "$(sed -n 2p "$M/chunks/5_0_0/channels/data5.txt")" 'fill 0'
    cp "$D/new.vxr" "$S/regions/lod0/r.1.0.0.vxr"
    soon sees 'fill 9' "$M/chunks/5_0_0/channels/data5.txt"
    want sh -c "echo 'fill 4' >'$M/chunks/0_0_0/channels/data5.txt'"
    down
    differs 'changed 0_0_0 data5,changed 5_0_0 data5'
}

disagreeing_meta() {
    sed -i 's/"block_size_po2": 4/"block_size_po2": 5/' "$S/meta.vxrm"
    mount_at "$S" "$M"
    want grep -q 'r.[01].0.0.vxr: is left out: says block_size_po2 4, but meta.vxrm says 5' "$M/info.txt"
    down
}

# ---- from one container to another ----------------------------------------------------------------------

region_to_database() {
    there db:stream 4 3
    up
    want cp -r "$M/chunks/$C2" "$D/there/chunks/5_6_7"
    want cmp "$M/chunks/$C2/raw.bin" "$D/there/chunks/5_6_7/raw.bin"
    want rm -r "$M/chunks/$C"
    want cp -r "$D/there/chunks/-49_-1_-50" "$M/chunks/$C"
    want cmp "$M/chunks/$C/raw.bin" "$D/there/chunks/-49_-1_-50/raw.bin"
    unmount "$D/there"
    down
    same 'what changed there' "$(voxel diff "$D/there.before" "$D/db")" 'added 5_6_7'
    differs "changed $C type sdf"
    want voxel check "$S"
    want voxel check "$D/db"
}

# Blocks of another version and container keep them; a bare one is wrapped, the engine reads none there.
into_region() {
    there old:block 2
    up
    want cp "$D/there/chunks/0_0_0/raw.bin" "$M/chunks/$C/raw.bin"
    want cmp "$D/there/chunks/0_0_0/raw.bin" "$M/chunks/$C/raw.bin"
    same 'block' "$(voxel block "$S" $C | cut -d ' ' -f -4)" 'version 2 kind 1'
    want grep -qx "block version: 2 in 1 chunk: chunks/$C" "$M/info.txt"
    voxel data "$PRISTINE" $C >"$D/bare"
    want cp "$D/bare" "$M/chunks/$C/raw.bin"
    down
    differs ''
}

other_depths() {
    make_voxel block "$D/deep"
    "$TFS_BIN" put "$D/deep" chunks/0_0_0/channels/data6.txt <<<$'depth 32\nfill 70000'
    up
    same 'other depths' "$(py 'print(err(put, a[0], get(a[1])))' "$M/chunks/$C/raw.bin" "$D/deep")" EBADMSG
    logged 'raw.bin: channel data6 has depth 32, this .* holds blocks whose depth there is 8'
    down 3
    differs ''
}

# ---- upgrade --------------------------------------------------------------------------------------------

upgraded() {
    "$TFS_BIN" export "$S" "$D/before" 2>/dev/null
    want "$TFS_BIN" upgrade "$S"
    # shellcheck disable=SC2046 # names are words
    same 'versions' "$(voxel block "$S" $(voxel chunks "$S") | cut -d ' ' -f 1-4 | sort -u)" 'version 4 kind 2'
    want voxel check "$S"
    up
    want diff -r "$D/before/chunks/$C/channels/type.txt" "$M/chunks/$C/channels/type.txt"
    same 'a distance' "$(sed -n '4s/.*| *//p' "$M/chunks/$C/channels/sdf.txt" | cut -d ' ' -f 1)" \
        "$(($(sed -n '4s/.*| *//p' "$D/before/chunks/$C/channels/sdf.txt" | cut -d ' ' -f 1) - 32767))"
    down
    [ ! -d "$S" ] || upgraded_half
}

# The daemon dies before meta.vxrm is replaced: the folder is read, and upgrading again finishes it.
upgraded_half() {
    want grep -q '"version": 3' "$S/meta.vxrm"
    cp -R "$S" "$D/upgraded"
    cp "$PRISTINE/meta.vxrm" "$S/meta.vxrm"
    up
    same 'chunks' "$(ls "$M/chunks" | wc -l)" 64
    down
    want "$TFS_BIN" upgrade "$S"
    want diff -r "$D/upgraded" "$S"
}

upgraded_by_edit() {
    up -o upgrade
    want sh -c "echo 'fill 9' >'$M/chunks/$C/channels/data5.txt'"
    same 'version' "$(voxel block "$S" $C | cut -d ' ' -f 1-4)" 'version 4 kind 2'
    down
    same 'blocks that changed' "$(voxel diff "$PRISTINE" "$S" | cut -d ' ' -f 1-3)" "changed $C version"
}

saves block.blk block
edits 'block'
in_full || texts 'block'
try 'block: its only chunk stays' fixed_chunk
try 'block: depths' depths
try 'block: no levels of detail' levels_refused
saves old.blk block 2
if in_full; then edits 'block of version 2'; else texts 'block of version 2'; fi
try 'block of version 2: upgrade' upgraded
try 'block of version 2: an edit with -o upgrade' upgraded_by_edit

saves world.vxr region 2
edits 'region'
try 'region: chunks made, copied, moved, removed' directories
try 'region: what it cannot hold' outside_of_region
try 'region: no levels of detail' levels_refused
try 'region: a block of more than 255 sectors' too_large
try 'region: to a database and back' region_to_database
try 'region: blocks of another version' into_region
try 'region: blocks of another size' misfits
try 'region: blocks of other depths' other_depths
try 'region: a damaged block' damaged damage_region

saves folder folder 2
edits 'folder'
try 'folder: chunks made, copied, moved, removed' directories
try 'folder: far away' far_away
try 'folder: a new region has the owner of meta.vxrm' owner_of_regions
try 'folder: regions without an edit' other_region_untouched
try 'folder: levels of detail' levels_of_regions
levels folder
try 'folder: farther than the engine goes' farthest
try 'folder: a crash between two files' crash_between_files
try 'folder: changed by others' folder_changed_outside
try 'folder: an editor beside the engine' editor_beside_the_engine
try 'folder: meta.vxrm that disagrees' disagreeing_meta
try 'folder: blocks of another size' misfits
try 'folder: blocks of other depths' other_depths
saves folder2 folder 2 2
in_full && edits 'folder of version 2'
try 'folder of version 2: chunks made, copied, moved, removed' directories
try 'folder of version 2: a region alone' old_region
try 'folder of version 2: upgrade' upgraded
try 'folder of version 2: an edit with -o upgrade' upgraded_by_edit

samples 6 "$GODOT"/*/*.blk "$GODOT"/*/*.bin "$GODOT"/*/*.vxr "$GODOT"/*/world_region
finish
