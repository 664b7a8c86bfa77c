#!/usr/bin/env bash
# When edits reach the save: bursts, fsync, sync, unmount in its ways, signals, and a disk that is full.
. "$(dirname "$0")/lib.sh"

edit() {
    echo "$V,$1" >>"$M/chunks/$C/voxels.csv"
}

# in_save NAME: the block at $V in the save on disk.
in_save() {
    [ "$(region block "$S" ${V//,/ })" = "$1" ]
}

# waits NAME: an edit that is in the journal alone.
waits() {
    hold
    edit "$1"
    wants_not in_save "$1"
    release
}

# What reaches the save sooner than the next try, seconds later, was forced.
waits_until_it_is_forced() {
    needs_root || return
    up
    hold
    edit base:one
    want cmp "$PRISTINE" "$S"
    want grep -qxF "$V,base:one" "$M/chunks/$C/voxels.csv"
    want grep -q ' base:one$' "$M/chunks/$C/blocks.txt"
    release
    want sync "$M/chunks/$C/voxels.csv"
    want in_save base:one
    waits base:two
    want py 'fd = os.open(a[0], os.O_RDONLY); os.fsync(fd)' "$M/chunks/$C2/blocks.txt"
    want in_save base:two
    waits base:three
    want py '
fd = os.open(a[0], os.O_RDWR)
os.pwrite(fd, b"#\n", os.fstat(fd).st_size)
os.fsync(fd)
open(a[1], "wb").write(get(a[2]))' "$M/chunks/$C/voxels.csv" "$D/then" "$S"
    want in_save base:three
    waits base:four
    down
    want in_save base:four
    changes "changed $C blocks"
}

directories_wait() {
    needs_root || return
    up
    hold
    want mkdir "$M/chunks/3_1_2"
    want mv "$M/chunks/$C" "$M/chunks/3_2_2"
    want rm -r "$M/chunks/$C2"
    want cmp "$PRISTINE" "$S"
    want grep -q . "$M/chunks/3_2_2/blocks.txt"
    wants_not [ -e "$M/chunks/$C2" ]
    release
    down
    same 'changes' "$(region diff "$PRISTINE" "$S" | sort | paste -sd ,)" \
        "$(printf '%s\n' "added 3_1_2" "added 3_2_2" "removed $C" "removed $C2" | sort | paste -sd ,)"
}

# A bad text is refused at close, though the save would only follow.
judges_in_a_burst() {
    needs_root || return
    up
    hold
    edit base:one
    same 'close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"nonsense")
print(err(os.close, fd))' "$M/chunks/$C/blocks.txt")" EBADMSG
    release
    down 3
    changes "changed $C blocks"
}

saves_by_itself() {
    up
    edit base:first
    edit base:soon
    want soon in_save base:soon
    down
    changes "changed $C blocks"
}

syncs_the_filesystem() {
    needs_root || return
    up
    waits base:synced
    want sync "$M/info.txt"
    want in_save base:synced
    down
}

# foreground: terrainfs -f in the background, with signals as a terminal gives them; $pid.
foreground() {
    mkdir -p "$M"
    env --default-signal=INT,HUP,TERM "$TFS_BIN" -f "$S" "$M" 2>"$D/daemon.err" 9>&- &
    pid=$!
    soon mountpoint -q "$M"
}

signal_saves() {
    needs_root || return
    foreground
    waits base:signalled
    want kill -s "$1" "$pid"
    wait "$pid"
    same 'status' $? 0
    wants_not mountpoint -q "$M"
    want in_save base:signalled
    changes "changed $C blocks"
}

signal_with_open_files() {
    foreground
    exec 8>>"$M/chunks/$C/voxels.csv"
    echo "$V,base:open" >&8
    want kill -s TERM "$pid"
    wait "$pid"
    exec 8>&-
    want soon in_save base:open
}

unmounted_by_others() {
    needs_root || return
    up
    waits base:unmounted
    want "$@" "$M"
    want soon in_save base:unmounted
    changes "changed $C blocks"
}

umount_refuses() {
    up
    want mkdir -p "$D/plain"
    timeout 20 "$TFS_BIN" umount "$D/plain"
    one_of 'status for what is no mount' $? 1 2 3
    timeout 20 "$TFS_BIN" umount "$D/nothing"
    one_of 'status for what is not there' $? 1 2 3
    exec 8<"$M/chunks/$C/blocks.txt"
    timeout 20 "$TFS_BIN" umount "$M"
    one_of 'status while a file is open' $? 3
    want mountpoint -q "$M"
    exec 8<&-
    down
}

# Killed without mercy: the save is the old one or the new one; the stray goes at the next mount.
killed() {
    foreground
    edit base:before
    want in_save base:before
    kill -KILL "$pid"
    wait "$pid"
    fusermount3 -u -z "$M" || umount -l "$M"
    want region check "$S"
    want in_save base:before
    echo garbage >"$D/.$SAVE_NAME.terrainfs-abcdef"
    up
    same 'strays' "$(find "$D" -maxdepth 1 -name '.*terrainfs*')" ''
    want grep -qxF "$V,base:before" "$M/chunks/$C/voxels.csv"
    down
}

# ---- a full disk --------------------------------------------------------------------------------------

full_disk() {
    local disk
    small_disk || return
    up
    same 'close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
os.write(fd, a[1].encode())
print(err(os.close, fd))' "$M/chunks/$C/voxels.csv" "$V,base:full
")" ENOSPC
    want cmp "$PRISTINE" "$S"
    same 'strays' "$(find "$disk" -name '.*terrainfs*')" ''
    want soon grep -qxF "$V,base:full" "$M/chunks/$C/voxels.csv"
    want grep -q ' base:full$' "$M/chunks/$C/blocks.txt"
    same 'fsync' "$(py 'fd = os.open(a[0], os.O_RDONLY); print(err(os.fsync, fd))' "$M/info.txt")" ENOSPC
    want mount -o remount,size=1m "$disk"
    want sync "$M/info.txt"
    want in_save base:full
    IFS=_ read -r x y z <<<"$C2"
    echo "$((x * 16)),$((y * 16)),$((z * 16)),base:next" >>"$M/chunks/$C2/voxels.csv"
    down
    block_is "$((x * 16)),$((y * 16)),$((z * 16))" base:next
    same 'chunks changed' "$(region diff "$PRISTINE" "$S" | sort | paste -sd ,)" \
        "$(printf '%s\n' "changed $C blocks" "changed $C2 blocks" | sort | paste -sd ,)"
}

# The next edit saves what waited, too.
full_disk_then_an_edit() {
    local disk
    small_disk || return
    up
    edit base:waits 2>/dev/null
    IFS=_ read -r x y z <<<"$C2"
    want mount -o remount,size=1m "$disk"
    echo "$((x * 16)),$((y * 16)),$((z * 16)),base:next" >>"$M/chunks/$C2/voxels.csv"
    want in_save base:waits
    block_is "$((x * 16)),$((y * 16)),$((z * 16))" base:next
    down
}

# Still full at unmount: the text is written elsewhere, and the status says so.
full_disk_at_unmount() {
    local disk
    small_disk || return
    up
    edit base:lost
    want cmp "$PRISTINE" "$S"
    fill_disk
    timeout 60 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 3
    want cmp "$PRISTINE" "$S"
    want grep -rq 'base:lost' "$XDG_STATE_HOME" "$disk"
}

try 'an edit waits in the journal, fsync and unmount force it' waits_until_it_is_forced
try 'so do directories' directories_wait
try 'a text is judged at close, whatever waits' judges_in_a_burst
try 'the save follows a burst by itself' saves_by_itself
try 'sync of a read-only file forces' syncs_the_filesystem
try 'SIGTERM saves and unmounts' signal_saves TERM
try 'SIGINT saves and unmounts' signal_saves INT
try 'SIGHUP saves and unmounts' signal_saves HUP
try 'SIGTERM while a file is written' signal_with_open_files
try 'fusermount3 -u' unmounted_by_others fusermount3 -u
try 'umount' unmounted_by_others umount
try 'umount -l' unmounted_by_others umount -l
try 'what terrainfs umount refuses' umount_refuses
try 'killed' killed
try 'a full disk: ENOSPC, the edit waits' full_disk
try 'a full disk: the next edit saves both' full_disk_then_an_edit
try 'a full disk at unmount' full_disk_at_unmount
finish
