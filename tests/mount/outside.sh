#!/usr/bin/env bash
# What lies around the mount: a save that others change, a second mount, saves that are damaged or cannot be
# written, and the exit status of the mount command.
. "$(dirname "$0")/lib.sh"

edit() {
    echo "$V,$1" >>"$M/chunks/$C/voxels.csv"
}

# another NAME: a save like the pristine one, but for block NAME at $V2 in chunk $C2: $D/another.
another() {
    local x y z
    IFS=_ read -r x y z <<<"$C2"
    V2=$((x * 16)),$((y * 16)),$((z * 16))
    mkdir -p "$D/a"
    cp -p "$PRISTINE" "$D/a/$SAVE_NAME"
    mount_at "$D/a/$SAVE_NAME" "$D/amnt"
    echo "$V2,$1" >>"$D/amnt/chunks/$C2/voxels.csv"
    unmount "$D/amnt"
    mv "$D/a/$SAVE_NAME" "$D/another"
}

# Seen without a commit point, or at least at the next fsync.
sees() {
    grep -qxF "$V2,$1" "$M/chunks/$C2/voxels.csv" || { sync "$M/info.txt"; false; }
}

reloads() {
    another base:outside
    up
    find "$M" -type f -exec cat {} + >/dev/null
    want "$@" "$D/another" "$S"
    want soon sees base:outside
    want grep -qxF base:outside "$M/palette.txt"
    edit base:inside
    down
    block_is "$V" base:inside
    block_is "$V2" base:outside
}

# pending: an edit that waits, and then a new save from outside.
pending() {
    another base:outside
    up
    hold
    edit base:inside
    want cp -p "$D/another" "$D/moved"
    behind_its_back mv "$D/moved" "$S"
}

fsync_gives() {
    same 'fsync' "$(py 'print(err(lambda: os.fsync(os.open(a[0], os.O_RDONLY))))' \
        "$M/chunks/$C/voxels.csv")" "$1"
}

conflict_ask() {
    needs_root || return
    pending
    want soon sees base:outside
    fsync_gives ok
    want cmp "$D/another" "$S"
    wants_not grep -qxF "$V,base:inside" "$M/chunks/$C/voxels.csv"
    logged 'the save was changed by another program; edits that waited for it are in'
    down 3
    want cmp "$D/another" "$S"
    want "$TFS_BIN" import "$D"/*.unsaved-* "$S"
    block_is "$V" base:inside
    block_is "$V2" base:outside
}

# A close that meets a save that another program has replaced; it left what was written here alone.
close_after_another_save() {
    another base:outside
    up
    want cp -p "$D/another" "$D/moved"
    same 'close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
os.write(fd, a[1].encode())
os.rename(a[2], a[3])
print(err(os.close, fd))' "$M/chunks/$C/voxels.csv" "$V,base:inside
" "$D/moved" "$S")" ok
    down
    block_is "$V" base:inside
    block_is "$V2" base:outside
}

# goes_on STEP: an editor that syncs, keeps its descriptor and goes on after the game has saved the same chunk.
# Prints what write, fsync and close say; `cut`: the editor cut the file to 0 before it wrote all of it.
goes_on() {
    want cp -p "$D/another" "$D/moved"
    py '
path, line, new, old, palette, how = a
text = get(path) + line.encode()
fd = os.open(path, os.O_RDWR)
if how == "cut":
    os.ftruncate(fd, 0)
os.pwrite(fd, text, 0)
os.fsync(fd)
os.rename(new, old)
end = time.monotonic() + 60
while b"base:outside" not in get(palette) and time.monotonic() < end:
    time.sleep(0.05)
print(err(os.pwrite, fd, line.encode(), len(text)), err(os.fsync, fd), err(os.close, fd))' \
        "$M/chunks/$C2/voxels.csv" "$V2,base:inside
" "$D/moved" "$S" "$M/chunks/$C2/palette.txt" "${1:-}"
}

goes_on_after_another_save() {
    another base:outside
    up "$@"
    same 'write, fsync, close' "$(goes_on)" 'ok ESTALE ESTALE'
    want cmp "$D/another" "$S"
    want grep -qxF "$V2,base:outside" "$M/chunks/$C2/voxels.csv"
    same 'lines kept' "$(grep -cxF "$V2,base:inside" "$M/.terrainfs/rejected/chunks/$C2/voxels.csv")" 2
    logged "^chunks/$C2/voxels.csv: this file was changed by another file or program"
    edit base:more
    down 3
    block_is "$V" base:more
    block_is "$V2" base:outside
}

# All of the file is what it wrote, whatever the game made of it.
replaces_another_save() {
    another base:outside
    up "$@"
    same 'write, fsync, close' "$(goes_on cut)" 'ok ok ok'
    edit base:more
    down
    block_is "$V" base:more
    block_is "$V2" base:inside
}

truncated_while_mounted() {
    foreground
    find "$M" -name '*.csv' | head -3 | xargs cat >/dev/null
    truncate -s 100 "$S"
    fsync_gives EIO
    cat "$M/chunks/$C/blocks.txt" >/dev/null
    one_of 'close of an edit' "$(py 'print(err(put, a[0], b"fill 0\n"))' \
        "$M/chunks/$C/lights/sky.txt")" EIO ESTALE
    same 'size of the save' "$(stat -c %s "$S")" 100
    want kill -0 "$pid"
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
    wait "$pid"
    one_of 'status of the daemon' $? 0 3
}

foreground() {
    mkdir -p "$M"
    "$TFS_BIN" -f "$S" "$M" 2>"$D/daemon.err" 9>&- &
    pid=$!
    soon mountpoint -q "$M"
}

removed_while_mounted() {
    up
    rm "$S"
    one_of 'close of an edit' "$(py 'print(err(put, a[0], b"fill 0\n"))' \
        "$M/chunks/$C/lights/sky.txt")" ESTALE EIO ENOENT
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
}

removed_while_an_edit_waits() {
    needs_root || return
    up
    hold
    edit base:inside
    behind_its_back rm "$S"
    one_of 'fsync' "$(py 'print(err(lambda: os.fsync(os.open(a[0], os.O_RDONLY))))' \
        "$M/chunks/$C/voxels.csv")" ESTALE EIO ENOENT
    down 3
    want grep -q 'in the journal beside the save' "$D/umount.err"
    cp "$PRISTINE" "$S"
    up
    want grep -q '1 edit until .* was restored from its journal' "$D/mount.err"
    down
    block_is "$V" base:inside
}

# ---- locks --------------------------------------------------------------------------------------------

second_mount_refused() {
    up
    mount_at "$S" "$D/mnt2"
    same 'status of the second mount' $? 3
    want grep -q . "$D/mount.err"
    wants_not mountpoint -q "$D/mnt2"
    edit base:replaced
    mount_at "$S" "$D/mnt2"
    same 'status after a rewrite' $? 3
    ln -s "$S" "$D/link.cosmicreach"
    mount_at "$D/link.cosmicreach" "$D/mnt2"
    same 'status through a symlink' $? 3
    want "$TFS_BIN" info "$S"
    want "$TFS_BIN" check "$S"
    timeout 20 "$TFS_BIN" put "$S" "chunks/$C/lights/sky.txt" <<<'fill 3'
    same 'status of put' $? 3
    down
    want mount_at "$S" "$D/mnt2"
    unmount "$D/mnt2"
}

through_a_symlink() {
    mkdir "$D/links"
    ln -s "../$SAVE_NAME" "$D/links/region_0_0_0.cosmicreach"
    mount_at "$D/links/region_0_0_0.cosmicreach" "$M"
    edit base:linked
    down
    want [ -L "$D/links/region_0_0_0.cosmicreach" ]
    block_is "$V" base:linked
}

# ---- what cannot be written ---------------------------------------------------------------------------

cannot_write() {
    up
    same 'open for write' "$(py 'print(err(os.open, a[0], os.O_WRONLY))' "$M/chunks/$C/blocks.txt")" EROFS
    same 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/3_1_2")" EROFS
    same 'unlink' "$(py 'print(err(os.unlink, a[0]))' "$M/chunks/$C/blocks.txt")" EROFS
    want grep -q '^read-only: [^n]' "$M/info.txt"
    want grep -qxF "$V,$B" "$M/chunks/$C/voxels.csv"
    down
    want cmp "$PRISTINE" "$S"
}

on_a_read_only_filesystem() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    mkdir "$D/ro"
    mount -t tmpfs none "$D/ro" && cp -p "$S" "$D/ro/" && mount -o remount,ro "$D/ro" ||
        { skip 'no tmpfs here'; return; }
    S=$D/ro/$SAVE_NAME
    cannot_write
}

# As a user who may read the save, but not write it or its directory.
as_another_user() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    local as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${as[@]}" test -x "$TFS_BIN" -a -w /dev/fuse || { skip 'other users may not mount'; return; }
    chmod 644 "$S"
    mkdir "$M" && chown 65534:65534 "$M" && chmod 755 "$D"
    "${as[@]}" "$TFS_BIN" "$S" "$M" 9>&-
    same 'status of mount' $? 0
    same 'open for write' \
        "$("${as[@]}" sh -c "echo x >'$M/chunks/$C/blocks.txt'" 2>&1 | grep -c 'Read-only')" 1
    want "${as[@]}" grep -q '^read-only: [^n]' "$M/info.txt"
    "${as[@]}" timeout 30 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 0
    want cmp "$PRISTINE" "$S"
}

# A user of their own save, not root: mount, edit, unmount.
as_its_owner() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    local as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${as[@]}" test -x "$TFS_BIN" -a -w /dev/fuse || { skip 'other users may not mount'; return; }
    mkdir "$M" && chmod 600 "$S" && chown 65534:65534 "$S" "$M" "$D"
    "${as[@]}" "$TFS_BIN" "$S" "$M" 9>&-
    same 'status of mount' $? 0
    want "${as[@]}" sh -c "echo '$V,base:owner' >>'$M/chunks/$C/voxels.csv'"
    "${as[@]}" timeout 30 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 0
    block_is "$V" base:owner
    same 'mode and owner' "$(stat -c '%a %u' "$S")" '600 65534'
}

# ---- damage -------------------------------------------------------------------------------------------

# damage CHUNK OFFSET BYTE: changes a byte of the chunk's body in a save of version 2 or 4, where it lies
# open; the place is found by its bytes.
damage() {
    py '
sys.path.insert(0, a[0])
from region import Region
data = bytearray(get(a[1]))
body = Region(a[1]).chunks[tuple(int(n) for n in a[2].split("_"))].body
place = b"".join(int(n).to_bytes(4, "big", signed=True) for n in a[2].split("_"))
at = bytes(data).index(place + body) + len(place)
data[at + int(a[3])] = int(a[4])
print(at + int(a[3]))
open(a[1], "wb").write(data)' "$ROOT/tests/tools" "$S" "$@"
}

damaged_chunk() {
    local at
    make_region --kind demo --version 2 "$S"
    cp "$S" "$D/good"
    at=$(damage "$C" 0 9)
    cp "$S" "$D/damaged"
    up
    same 'files of the damaged chunk' \
        "$(cd "$M/chunks/$C" && find . -type f | paste -sd ' ')" ./raw.bin
    want grep -q '^palette' "$M/chunks/$C2/blocks.txt"
    want grep -q "^damaged: .*$C" "$M/info.txt"
    want grep -q "$at" "$M/info.txt"
    same 'open for write' "$(py 'print(err(os.open, a[0], os.O_WRONLY))' "$M/chunks/$C2/blocks.txt")" EROFS
    same 'chunks' "$(find "$M/chunks" -mindepth 1 -maxdepth 1 | wc -l)" "$COUNT"
    wants_not grep -rq nosuchname "$M"
    down
    want cmp "$D/damaged" "$S"
    "$TFS_BIN" check "$S" >"$D/check" 2>&1
    same 'status of check' $? 1
    want grep -q "$C.*$at\|$at.*$C" "$D/check"
}

# In version 4 a chunk has no size of its own: the rest of its column is gone with it.
damaged_column() {
    local column
    make_region --kind demo --version 4 "$S"
    column=$(region chunks "$S" | awk '$4 != "S" { print $1 }' | sort -t_ -k2,2n | head -1)
    damage "$column" 0 9
    cp "$S" "$D/damaged"
    up
    same 'files of the damaged chunk' \
        "$(cd "$M/chunks/$column" && find . -type f | paste -sd ' ')" ./raw.bin
    want grep -q "^damaged: .*$column" "$M/info.txt"
    want [ "$(find "$M/chunks" -name blocks.txt | wc -l)" -gt 0 ]
    same 'open for write' "$(py 'print(err(os.open, a[0], os.O_WRONLY))' \
        "$(find "$M/chunks" -name blocks.txt | head -1)")" EROFS
    down
    want cmp "$D/damaged" "$S"
}

# bad_save SENTENCE: mounting $S fails with status 1 and a sentence.
bad_save() {
    mount_at "$S" "$M"
    same "status of mount ($1)" $? 1
    want grep -Eq "$SAVE_NAME: .*($1)" "$D/mount.err"
    wants_not mountpoint -q "$M"
    cat "$D/mount.err"
}

bad_saves() {
    local size
    size=$(stat -c %s "$PRISTINE")
    truncate -s $((size / 2)) "$S" && bad_save '[0-9]'
    truncate -s 5 "$S" && bad_save '.'
    printf 'not a save at all' >"$S" && bad_save '.'
    : >"$S" && bad_save '.'
    cp "$PRISTINE" "$S" && printf '\0\0\0\10' | dd of="$S" bs=4 seek=1 conv=notrunc status=none &&
        bad_save 'version|8'
    cp "$PRISTINE" "$S" && printf '\1' | dd of="$S" bs=1 seek=11 conv=notrunc status=none &&
        bad_save 'compression|LZ4|1'
    cp "$PRISTINE" "$S" && printf '\377' | dd of="$S" bs=1 seek=$((size - 6)) conv=notrunc status=none &&
        bad_save 'gzip|crc|CRC'
    cp "$PRISTINE" "$S" && mv "$S" "${S%/*}/region_5_5_5.cosmicreach" && S=${S%/*}/region_5_5_5.cosmicreach &&
        SAVE_NAME=region_5_5_5.cosmicreach bad_save 'region|chunk'
}

statuses() {
    local option
    mount_at "$D/nothing" "$M"
    same 'no such save' $? 3
    "$TFS_BIN" "$S" "$D/nowhere" 2>"$D/err"
    one_of 'no such mount point' $? 2 3
    "$TFS_BIN" 2>"$D/err"
    same 'no arguments' $? 2
    "$TFS_BIN" "$S" 2>"$D/err"
    same 'no mount point' $? 2
    mount_at "$S" "$M" -o commit=5
    same 'an option value that is none' $? 2
    for option in conflict=mine unsaved=/tmp; do
        mount_at "$S" "$M" -o "$option"
        same "$option, which is gone" $? 2
    done
    mount_at "$S" "$M" -o format=tetris
    one_of 'a format that is none' $? 1 2
    mount_at "$S" "$M" -o nosuchoption
    one_of 'an option that is none' $? 2 3
    mount_at "$S" "$M" -Z
    same 'a letter that is none' $? 2
    mkfifo "$D/fifo"
    mount_at "$D/fifo" "$M"
    one_of 'a pipe' $? 1 2 3
    mkdir "$D/empty"
    mount_at "$D/empty" "$M"
    one_of 'an empty directory' $? 1 2 3
    wants_not mountpoint -q "$M"
}

mount_point_with_the_save() {
    mkdir -p "$D/in/deep"
    cp -p "$S" "$D/in/deep/"
    mount_at "$D/in/deep/$SAVE_NAME" "$D/in/deep"
    one_of 'its own directory' $? 1 2 3
    want grep -q 'the mount point contains the save' "$D/mount.err"
    mount_at "$D/in/deep/$SAVE_NAME" "$D/in"
    one_of 'a directory above' $? 1 2 3
    want grep -q . "$D/mount.err"
    wants_not mountpoint -q "$D/in"
    wants_not mountpoint -q "$D/in/deep"
    ln -s in/deep "$D/link"
    mount_at "$D/in/deep/$SAVE_NAME" "$D/link"
    one_of 'through a symlink' $? 1 2 3
    wants_not mountpoint -q "$D/link"
    mount_at "$D/in/deep/$SAVE_NAME" "$D/in/deep/mnt"
    same 'a directory beside it' $? 0
    unmount "$D/in/deep/mnt"
}

# A new file in a mount is scratch: what a command leaves there would be gone with status 0.
outputs_in_a_mount() {
    local out
    mkdir -p "$D/a" && cp "$PRISTINE" "$D/a/$SAVE_NAME"
    up
    for out in "$M/out" "$M/chunks/out" "$M/chunks/$C/out"; do
        "$TFS_BIN" merge "$D/a/$SAVE_NAME" "$D/a/$SAVE_NAME" "$D/a/$SAVE_NAME" -o "$out" 2>"$D/err"
        same "merge -o $out" $? 2
        want grep -q 'is in a mount of terrainfs' "$D/err"
        wants_not test -e "$out"
    done
    down
}

try 'replaced by rename: reloads' reloads mv
try 'overwritten: reloads' reloads cp
try 'a conflict is told' conflict_ask
try 'a close after another save' close_after_another_save
try 'an editor goes on after another save' goes_on_after_another_save
try 'an editor goes on after another save, commit=close' goes_on_after_another_save -o commit=close
try 'an editor that cut the file replaces another save' replaces_another_save
try 'truncated while mounted' truncated_while_mounted
try 'removed while mounted' removed_while_mounted
try 'removed while an edit waits' removed_while_an_edit_waits
try 'a second mount is refused' second_mount_refused
try 'a save behind a symlink' through_a_symlink
try 'a save on a read-only file system' on_a_read_only_filesystem
try 'a save of somebody else' as_another_user
try 'a save of an ordinary user' as_its_owner
try 'what commands write is not lost in a mount' outputs_in_a_mount
try 'a damaged chunk' damaged_chunk
try 'a damaged chunk in a column' damaged_column
try 'saves that are refused' bad_saves
try 'status of the mount command' statuses
try 'a mount point that contains the save' mount_point_with_the_save
finish
