#!/usr/bin/env bash
# A close that returned 0 survives the end of the daemon: the journal beside the save holds
# what the save does not hold yet, and whoever opens the save next brings it in, or shows it, or says why not.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { try 'edits that a journal holds' skip 'needs root'; finish; }

edit() {
    echo "$V,$1" >>"$M/chunks/$C/voxels.csv"
}

# shows NAME: the block at $V as `cat` says it, which takes no lock and writes nothing.
shows() {
    "$TFS_BIN" cat "$S" "chunks/$C/voxels.csv" 2>"$D/cat.err" | grep -qxF "$V,$1"
}

journal() {
    printf '%s\n' "$D/.$SAVE_NAME.terrainfs-journal"
}

# Mounts in the foreground; what is accepted waits in the journal.
foreground() {
    killable
    hold
}

# A killed mount with the edits $@ in its journal, and a save as it was.
left_behind() {
    local name
    foreground
    for name in "$@"; do
        edit "$name"
    done
    murder
    want cmp "$PRISTINE" "$S"
    want [ -s "$(journal)" ]
}

edits_survive_a_kill() {
    left_behind base:one base:two
    want shows base:two
    want grep -q '2 edits until .* are only in its journal yet' "$D/cat.err"
    want cmp "$PRISTINE" "$S"
    up
    want grep -q '2 edits until .* were restored from its journal' "$D/mount.err"
    want grep -qxF "$V,base:two" "$M/chunks/$C/voxels.csv"
    wants_not [ -e "$(journal)" ]
    down
    changes "changed $C blocks"
    block_is "$V" base:two
}

# On a clock on which a microsecond is a second.
recovery_is_shown() {
    local haste
    haste=$(dirname "$TFS_TOOLS")/torture/haste.so
    [ -e "$haste" ] && command -v script >/dev/null || { skip 'no script(1)'; return; }
    [ -z "${TFS_TEST_SANITIZED:-}" ] || { skip 'nothing is preloaded under sanitizers'; return; }
    # shellcheck disable=SC2046 # sixty names
    left_behind $(printf 'base:n%d ' {1..60})
    want script -qefc "env HASTE=1000000 LD_PRELOAD=$haste $TFS_BIN $S $M" /dev/null >"$D/screen" 2>&1
    want grep -Eaq 'mount: [0-9]+ of [0-9]+ records of the journal(, [0-9]+ a second)?, [0-9]+:[0-9][0-9] left' "$D/screen"
    want grep -aq '60 edits until .* were restored from its journal' "$D/screen"
    down
    block_is "$V" base:n60
}

# What one side has in its journal is merged, where the result is all of that side, too.
edits_are_merged() {
    local place
    IFS=, read -ra place <<<"$V"
    left_behind base:one base:two
    want mkdir "$D/base" "$D/ours" "$D/out"
    want cp "$PRISTINE" "$D/base/$SAVE_NAME"
    want cp "$PRISTINE" "$D/ours/$SAVE_NAME"
    want "$TFS_BIN" merge "$D/base/$SAVE_NAME" "$S" "$D/base/$SAVE_NAME" -o "$D/out/$SAVE_NAME"
    same 'ours' "$(region block "$D/out/$SAVE_NAME" "${place[@]}")" base:two
    want "$TFS_BIN" merge "$D/base/$SAVE_NAME" "$D/ours/$SAVE_NAME" "$S"
    same 'theirs' "$(region block "$D/ours/$SAVE_NAME" "${place[@]}")" base:two
    want cmp "$PRISTINE" "$S"
    want [ -s "$(journal)" ]
}

directories_survive_a_kill() {
    foreground
    want mkdir "$M/chunks/3_1_2"
    want mv "$M/chunks/$C" "$M/chunks/3_2_2"
    want rm -r "$M/chunks/$C2"
    murder
    want "$TFS_BIN" info "$S"
    up
    want [ -e "$M/chunks/3_1_2/blocks.txt" ]
    want [ -e "$M/chunks/3_2_2/blocks.txt" ]
    wants_not [ -e "$M/chunks/$C" ]
    wants_not [ -e "$M/chunks/$C2" ]
    down
    same 'changes' "$(region diff "$PRISTINE" "$S" | sort | paste -sd ,)" \
        "$(printf '%s\n' "added 3_1_2" "added 3_2_2" "removed $C" "removed $C2" | sort | paste -sd ,)"
}

goes_with_the_save() {
    up
    hold
    edit base:one
    want [ -s "$(journal)" ]
    same 'permissions' "$(stat -c '%a %u:%g' "$(journal)")" "$(stat -c '%a %u:%g' "$S")"
    release
    want sync "$M/info.txt"
    wants_not [ -e "$(journal)" ]
    hold
    edit base:two
    want [ -s "$(journal)" ]
    release
    down
    wants_not [ -e "$(journal)" ]
    block_is "$V" base:two
}

# The files of a chunk are unlinked before its rmdir, and lights/ is removed: all of it is one record.
a_removed_chunk_is_one_record() {
    local start status records
    up
    hold
    start=$EPOCHSECONDS
    rm -r "$M/chunks/$C" "$M/chunks/$C2"
    status=$?
    [ $((EPOCHSECONDS - start)) -lt 2 ] || skip 'the machine slept for two seconds: files came back meanwhile'
    records=$(LC_ALL=C grep -aoP 'TREC\x01' "$(journal)" | wc -l)
    release
    down
    [ -n "$skipped" ] || same 'status of rm, and records' "$status $records" '0 2'
}

import_restores_first() {
    left_behind base:one
    want "$TFS_BIN" export "$PRISTINE" "$D/tree"
    rm -r "$D/tree"
    want "$TFS_BIN" put "$S" "chunks/$C2/voxels.csv" <<<"$("$TFS_BIN" cat "$S" "chunks/$C2/voxels.csv" 2>/dev/null)"
    wants_not [ -e "$(journal)" ]
    block_is "$V" base:one
}

# The only directory NAME.unsaved-DATE.
set_aside() {
    local found=("$D/$SAVE_NAME".unsaved-*)
    [ ${#found[@]} = 1 ] && [ -d "${found[0]}" ] && echo "${found[0]}"
}

another_program_wrote() {
    left_behind base:one
    cp "$PRISTINE" "$D/other"
    want "$TFS_BIN" put "$D/other" "chunks/$C2/voxels.csv" <<<'x,y,z,block'
    cp "$D/other" "$S"
    wants_not shows base:one
    want grep -q 'is not shown, for another program changed the save since' "$D/cat.err"
    up
    want grep -q 'was not restored, for another program changed the save since' "$D/mount.err"
    down
    want cmp "$D/other" "$S"
    wants_not [ -e "$(journal)" ]
    same 'what was set aside' "$("$TFS_BIN" info "$(set_aside)" | grep -v ^until | paste -sd ' ')" \
        "edits: 1 chunks: 1 changed: $C"
    "$TFS_BIN" diff "$S" "$(set_aside)" >"$D/diff"
    want grep -q base:one "$D/diff"
    want "$TFS_BIN" import "$(set_aside)" "$S"
    block_is "$V" base:one
}

# What the other program changed is named, and taken with --force.
foreign_chunk_by_chunk() {
    local place
    IFS=_ read -r -a place <<<"$C2"
    V2=$((place[0] * 16)),$((place[1] * 16)),$((place[2] * 16))
    foreground
    edit base:one
    echo "$V2,base:two" >>"$M/chunks/$C2/voxels.csv"
    murder
    cp "$PRISTINE" "$D/other"
    want "$TFS_BIN" put "$D/other" "chunks/$C2/voxels.csv" <<<'x,y,z,block'
    cp "$D/other" "$S"
    up
    down
    "$TFS_BIN" import "$(set_aside)" "$S" 2>"$D/import.err"
    same 'status of import' $? 1
    want grep -q "chunks/$C2: not taken: it was changed since" "$D/import.err"
    block_is "$V" base:one
    same 'voxels of the game' "$("$TFS_BIN" cat "$S" "chunks/$C2/voxels.csv" | wc -l)" 1
    want "$TFS_BIN" import --force "$(set_aside)" "$S"
    block_is "$V2" base:two
    "$TFS_BIN" import "$(set_aside)" "$S" 2>"$D/import.err"
    same 'status of another import' $? 0
    want grep -q 'nothing differs' "$D/import.err"
}

# A chunk that was moved is moved as a whole, or not at all.
foreign_move() {
    foreground
    want mv "$M/chunks/$C" "$M/chunks/3_2_2"
    murder
    cp "$PRISTINE" "$D/other"
    want "$TFS_BIN" put "$D/other" "chunks/$C/voxels.csv" <<<'x,y,z,block'
    cp "$D/other" "$S"
    up
    down
    wants_not "$TFS_BIN" import "$(set_aside)" "$S"
    want cmp "$D/other" "$S"
    cp "$PRISTINE" "$S"
    want "$TFS_BIN" import "$(set_aside)" "$S"
    same 'changes' "$(region diff "$PRISTINE" "$S" | sort | paste -sd ,)" "added 3_2_2,removed $C"
}

# A disk for the save, whose room can be given, and what another program will put in its place.
disk_and_other() {
    small_disk || return
    want mount -o remount,size=8m "$disk"
    cp "$PRISTINE" "$D/other"
    want "$TFS_BIN" put "$D/other" "chunks/$C2/voxels.csv" <<<'x,y,z,block'
    export XDG_STATE_HOME=$disk/state # is not there yet
}

# room INODES: so many more files and directories find room on $disk.
room() {
    want mount -o "remount,nr_inodes=$(($(df --output=iused "$disk" | tail -1) + $1))" "$disk"
}

# The same of a journal that the next mount finds.
left_behind_on_a_full_disk() {
    local disk
    disk_and_other || return
    foreground
    edit base:one
    murder
    cp "$D/other" "$S"
    room 1
    up
    want grep -q 'it stays, and could not be set aside: No space left' "$D/mount.err"
    down
    same 'directories' "$(find "$disk" -name "$SAVE_NAME.unsaved-*")" ''
    room 100
    up
    down
    want "$TFS_BIN" import "$disk/$SAVE_NAME".unsaved-* "$S"
    block_is "$V" base:one
    wants_not [ -e "$disk/.$SAVE_NAME.terrainfs-journal" ]
    export XDG_STATE_HOME=$T/state
}

# Another program saves while edits wait in the journal of a mount.
set_aside_while_mounted() {
    cp "$PRISTINE" "$D/other"
    want "$TFS_BIN" put "$D/other" "chunks/$C2/voxels.csv" <<<'x,y,z,block'
    up
    hold
    edit base:one
    behind_its_back cp "$D/other" "$S"
    want soon grep -q "edits that waited for it are in $S.unsaved-" "$M/.terrainfs/errors.log"
    want soon [ ! -e "$(journal)" ]
    wants_not grep -qxF "$V,base:one" "$M/chunks/$C/voxels.csv"
    want cmp "$D/other" "$S"
    edit base:two
    down 3
    want grep -q "edits that waited for it are in $S.unsaved-" "$D/umount.err"
    block_is "$V" base:two
    "$TFS_BIN" import "$(set_aside)" "$S"
    same 'import over a later edit' $? 1
    block_is "$V" base:two
    cp "$D/other" "$S"
    want "$TFS_BIN" import "$(set_aside)" "$S"
    block_is "$V" base:one
}

has_two_lines() {
    [ "$(grep -c "edits that waited for it are in" "$1")" = 2 ]
}

# What is set aside later has a directory of its own, and both are named at the end.
set_aside_twice() {
    cp "$PRISTINE" "$D/other"
    want "$TFS_BIN" put "$D/other" "chunks/$C2/voxels.csv" <<<'x,y,z,block'
    cp "$D/other" "$D/third"
    want "$TFS_BIN" put "$D/third" "chunks/$C/voxels.csv" <<<'x,y,z,block'
    up
    hold
    edit base:one
    behind_its_back cp "$D/other" "$S"
    want soon grep -q "edits that waited for it are in $S.unsaved-" "$M/.terrainfs/errors.log"
    hold
    edit base:two
    behind_its_back cp "$D/third" "$S"
    want soon has_two_lines "$M/.terrainfs/errors.log"
    down 3
    same 'directories that are named' "$(grep -o "$S.unsaved-[-0-9]*" "$D/umount.err" | sort -u)" \
        "$(find "$D" -name '*.unsaved-*' -type d | sort)"
}

# The same program wrote what was there: nothing was changed.
touched_while_mounted() {
    up
    hold
    edit base:one
    behind_its_back cp "$PRISTINE" "$S"
    want sync "$M/info.txt"
    down
    block_is "$V" base:one
    same 'directories' "$(find "$D" -name '*.unsaved-*')" ''
}

# cut BYTES: takes so many bytes from the end of the journal.
cut() {
    want truncate -s "-$1" "$(journal)"
}

torn_end() {
    left_behind base:one base:two
    cut 1
    want shows base:one
    up
    down
    block_is "$V" base:one
    wants_not [ -e "$(journal)" ]
}

damaged_middle() {
    left_behind base:one base:two base:three
    want py '
with open(a[0], "r+b") as f:
    text = f.read()
    second = text.index(b"TREC", text.index(b"TREC") + 1)
    f.seek(second + 60)
    f.write(bytes([text[second + 60] ^ 255]))' "$(journal)"
    up
    want grep -q 'its journal is damaged at offset' "$D/mount.err"
    down
    block_is "$V" base:one
    want [ -s "$(set_aside)/damaged-journal" ]
    wants_not [ -e "$(journal)" ]
}

# Whatever has the name of a journal and is none of ours is named, and left alone.
foreign() {
    "$@" "$(journal)"
    up
    want grep -q 'warning: .*journal' "$D/mount.err"
    edit base:one
    want block_is_now base:one
    down
    want [ -e "$(journal)" ] || [ -L "$(journal)" ]
    block_is "$V" base:one
}

# Without a journal there is no staging either: what was accepted is in the save.
block_is_now() {
    [ "$(region block "$S" ${V//,/ })" = "$1" ]
}

make_text() {
    echo 'my notes' >"$1"
}

make_link() {
    ln -s "$S" "$1"
}

make_wide() {
    make_text "$1"
    chmod 666 "$1"
}

no_room_for_the_journal() {
    local disk
    small_disk || return
    up
    same 'close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
os.write(fd, a[1].encode())
print(err(os.close, fd))' "$M/chunks/$C/voxels.csv" "$V,base:full
")" ENOSPC
    want soon grep -qxF "$V,base:full" "$M/chunks/$C/voxels.csv"
    want mount -o remount,size=1m "$disk"
    down
    block_is "$V" base:full
}

# A disk that is full when the save is mounted again: what was accepted is shown, stays, and goes into the save later.
no_room_for_the_recovery() {
    local disk
    small_disk || return
    want mount -o remount,size=1m "$disk"
    foreground
    edit base:one
    edit base:two
    murder
    fill_disk
    wants_not "$TFS_BIN" "$S" "$M" 2>"$D/mount.err"
    want grep -q '2 edits until .* could not be restored from its journal: .*No space left.*; make room' "$D/mount.err"
    wants_not mountpoint -q "$M"
    want shows base:two
    up -o ro
    want grep -qxF "$V,base:two" "$M/chunks/$C/voxels.csv"
    down
    want mount -o remount,size=1m "$disk"
    up
    want grep -q '2 edits until .* were restored from its journal' "$D/mount.err"
    down
    block_is "$V" base:two
    wants_not [ -e "$disk/.$SAVE_NAME.terrainfs-journal" ]
}

# vfat_disk [COMMAND...]: the save lies on a file system like vfat from here on; the command comes before it, on the same.
vfat_disk() {
    local so
    so=$(dirname "$TFS_TOOLS")/torture/vfat.so
    [ -e "$so" ] || { skip "no $so"; return 1; }
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return 1; }
    mkdir "$D/disk"
    mount -t tmpfs -o size=8m none "$D/disk" 2>/dev/null || { skip 'no tmpfs here'; return 1; }
    mv "$S" "$D/disk/" && S=$D/disk/$SAVE_NAME
    export VFAT_DIR=$D/disk LD_PRELOAD=$so
}

no_vfat() {
    unset VFAT_DIR LD_PRELOAD
}

# A name that was removed stays open to a program that makes it again, unless somebody asks for the save.
removals_are_in_the_save_after_sync() {
    up
    want [ -e "$M/chunks/$C/lights/sky.txt" ]
    want rm "$M/chunks/$C/lights/sky.txt"
    want "$TFS_BIN" sync "$M"
    want cp "$S" "$D/copy"
    want "$TFS_BIN" cat "$D/copy" "chunks/$C/lights/block.txt" >"$D/block"
    wants_not "$TFS_BIN" cat "$D/copy" "chunks/$C/lights/sky.txt"
    down
}

# A file system without hard links, owners and exact times: bursts, a kill, undo; the state directory beside or elsewhere.
vfat() {
    vfat_disk || return
    [ "$1" = elsewhere ] || export XDG_STATE_HOME=$D/disk/state
    up
    for name in base:one base:two base:three; do
        edit $name
    done
    want "$TFS_BIN" sync "$M"
    down
    foreground
    edit base:four
    edit base:five
    murder
    want [ -s "$D/disk/.$SAVE_NAME.terrainfs-journal" ]
    want shows base:five
    up
    want grep -q 'were restored from its journal' "$D/mount.err"
    down
    want shows base:five
    want "$TFS_BIN" undo "$S"
    want shows base:three
    no_vfat
    export XDG_STATE_HOME=$T/state
    same 'beside the save' "$(find "$D/disk" -mindepth 1 -maxdepth 1 ! -name state -printf '%f')" "$SAVE_NAME"
}

# A read-only file system: what is in the journal shows, and neither save nor journal changes.
read_only_disk() {
    local disk before
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    disk=$D/disk
    mkdir "$disk"
    mount -t tmpfs -o size=8m none "$disk" 2>/dev/null || { skip 'no tmpfs here'; return; }
    mv "$S" "$disk/" && S=$disk/$SAVE_NAME
    foreground
    edit base:one
    murder
    before=$(md5sum "$disk"/.*-journal "$S")
    want mount -o remount,ro "$disk"
    want shows base:one
    up
    want grep -q '1 edit until .* is only in its journal yet' "$D/mount.err"
    want grep -qxF "$V,base:one" "$M/chunks/$C/voxels.csv"
    wants_not edit base:two
    down
    same 'save and journal' "$(md5sum "$disk"/.*-journal "$S")" "$before"
    want mount -o remount,rw "$disk"
    up
    down
    wants_not [ -e "$disk/.$SAVE_NAME.terrainfs-journal" ]
    block_is "$V" base:one
}

try 'a mount shows how far the recovery is' recovery_is_shown
try 'edits survive a kill' edits_survive_a_kill
try 'merge takes what the journal of a side has' edits_are_merged
try 'chunk directories made, moved and removed survive a kill' directories_survive_a_kill
try 'the journal goes when the save has followed' goes_with_the_save
try 'rm -r of a chunk is one record of the journal' a_removed_chunk_is_one_record
try 'put restores what a killed mount left' import_restores_first
try 'another program wrote: nothing is overwritten, the edits are set aside' another_program_wrote
try 'removed files are gone from the save after sync' removals_are_in_the_save_after_sync
try 'a full disk when a journal is to be set aside: it stays, and nothing else' left_behind_on_a_full_disk
try 'of what was set aside import takes what nobody changed' foreign_chunk_by_chunk
try 'and a move as a whole' foreign_move
try 'another program writes while edits wait: they are set aside' set_aside_while_mounted
try 'a second one is named, too' set_aside_twice
try 'a program that writes the same save again is none' touched_while_mounted
try 'a torn end was never accepted' torn_end
try 'damage is said, what is before it is restored' damaged_middle
try 'a text with the name of a journal' foreign make_text
try 'a link with the name of a journal' foreign make_link
try 'a directory with the name of a journal' foreign mkdir
try 'a journal that everybody may write' foreign make_wide
try 'a full disk: the close fails and the edit waits' no_room_for_the_journal
try 'a full disk at the next mount: the edits show, and wait' no_room_for_the_recovery
try 'vfat: no hard links, owners and exact times; the state directory is elsewhere' vfat elsewhere
try 'vfat: no hard links, owners and exact times; the state directory is on it' vfat here
try 'a file system that became read-only: a journal shows, and stays' read_only_disk
finish
