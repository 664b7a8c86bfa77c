#!/usr/bin/env bash
# What a mount replaced comes back: the first commit keeps the save as it was, and later ones do not.
. "$(dirname "$0")/lib.sh"

edit() {
    echo "$V,$1" >>"$M/chunks/$C/voxels.csv"
}

undo() {
    "$TFS_BIN" undo "$@" "$S" >"$D/undo.out" 2>"$D/undo.err"
}

kept() {
    find "$XDG_STATE_HOME/terrainfs/undo" -mindepth 2 -maxdepth 2 -path "*/$SAVE_NAME-*" | wc -l
}

all_chunks_come_back() {
    rm -rf "$XDG_STATE_HOME"
    up
    rm -rf "$M/chunks" # the directory itself stays
    same 'chunks that are left' "$(ls "$M/chunks")" ''
    down
    wants_not cmp -s "$PRISTINE" "$S"
    want undo
    want cmp "$PRISTINE" "$S"
    up
    same 'chunks' "$(find "$M/chunks" -mindepth 1 -maxdepth 1 | wc -l)" "$COUNT"
    down
}

mount_is_one_step() {
    rm -rf "$XDG_STATE_HOME"
    up
    edit base:one
    edit base:two
    down
    cp "$S" "$D/first"
    up
    edit base:three
    rm -r "$M/chunks/$C2"
    down
    same 'versions' "$(kept)" 2
    want undo
    want cmp "$D/first" "$S"
    want undo
    block_is "$V" base:three
    want undo
    want cmp "$D/first" "$S"
}

mounted_save_stays() {
    rm -rf "$XDG_STATE_HOME"
    up
    edit base:one
    undo
    same 'status of undo' $? 3
    want grep -q "is mounted on $M already" "$D/undo.err"
    want grep -qF "$V,base:one" "$M/chunks/$C/voxels.csv"
    down
    want undo
    want cmp "$PRISTINE" "$S"
}

# The link moves the ctime of the save: that is no other program's doing.
link_is_no_conflict() {
    local i
    rm -rf "$XDG_STATE_HOME"
    up
    for i in one two three; do
        edit "base:$i"
        want sync "$M/chunks/$C/voxels.csv"
    done
    wants_not grep -qv "warning: names new to the save" "$M/.terrainfs/errors.log"
    down
    block_is "$V" base:three
    want undo
    want cmp "$PRISTINE" "$S"
}

game_in_between() {
    rm -rf "$XDG_STATE_HOME"
    up
    edit base:one
    make_region --kind demo --seed 7 "$D/game"
    cp "$D/game" "$D/new" && mv "$D/new" "$S"
    want soon grep -q . "$M/info.txt"
    want sync "$M/info.txt"
    rm -rf "$M"/chunks/*
    down
    same 'versions' "$(kept)" 2
    want undo
    want cmp "$D/game" "$S"
}

# between EDIT FILE: a mount makes EDIT one and EDIT two, each a commit of several files, and a game saves FILE between
# them. Undo takes back all of the second one.
between() {
    local edit=$1 file=$2
    rm -rf "$XDG_STATE_HOME"
    up -o commit=close
    "$edit" one
    touch "$file"
    cp -R "$D/in" "$D/first"
    "$edit" two
    down
    wants_not diff -r "$D/first" "$D/in" >/dev/null
    want undo
    want diff -r "$D/first" "$D/in"
}

name_everywhere() {
    want sed -i "1s/\$/$1/" "$M/palette.txt"
}

game_saves_region() {
    "$TFS_TOOLS/make_world" --plain --regions 4 --chunks 2 "$D/in"
    S=$D/in/zones/base/earth
    between block_everywhere "$S/regions/region_$1.cosmicreach"
}

block_everywhere() {
    want sed -i "s/.*/base:$1/" "$M/palette.txt"
}

game_saves_region_of_godot() {
    mkdir "$D/in"
    S=$D/in/world
    "$TFS_TOOLS/make_voxel" folder "$S" 2
    between to_another_region "$S/regions/lod0/r.$1.0.0.vxr"
}

# An edit of what the game has just saved is refused once.
to_another_region() {
    case $1 in
    one) want mv "$M/chunks/0_0_0" "$M/chunks/4_2_0" ;;
    two) want soon mv "$M/chunks/4_2_0" "$M/chunks/0_2_0" ;;
    esac
}

game_saves_list() {
    mkdir "$D/in"
    S=$D/in/level.ter
    "$TFS_TOOLS/make_ter" --size 16 --materials 3 --sidecar "$S"
    between name_everywhere "$D/in/level.$1"
}

# other_disk: $state is on a file system of its own.
other_disk() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return 1; }
    state=$D/state
    mkdir "$state"
    mount -t tmpfs -o "size=${1:-4m}" none "$state" 2>/dev/null || { skip 'no tmpfs here'; return 1; }
}

other_filesystem() {
    local state
    other_disk || return
    XDG_STATE_HOME=$state up
    edit base:one
    rm -r "$M/chunks/$C2"
    down
    XDG_STATE_HOME=$state want undo
    want cmp "$PRISTINE" "$S"
    XDG_STATE_HOME=$state want undo
    block_is "$V" base:one
}

full_disk() {
    local state
    other_disk 64k || return
    head -c 65536 /dev/zero >"$state/full" 2>/dev/null
    XDG_STATE_HOME=$state up
    edit base:one
    want grep -qF "$V,base:one" "$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:one
    rm "$state/full"
    XDG_STATE_HOME=$state undo
    same 'status of undo' $? 1
    block_is "$V" base:one
}

# What is there now cannot be kept: it stays, unless the user gives it up.
full_disk_at_undo() {
    local state
    other_disk 64k || return
    XDG_STATE_HOME=$state up
    edit base:one
    down
    cp "$S" "$D/edited"
    head -c 65536 /dev/zero >"$state/full" 2>/dev/null
    XDG_STATE_HOME=$state undo
    same 'status of undo' $? 3
    want grep -q 'what is there now cannot be kept' "$D/undo.err"
    want cmp "$D/edited" "$S"
    XDG_STATE_HOME=$state undo --force
    same 'status of undo --force' $? 3
    want cmp "$D/edited" "$S"
    XDG_STATE_HOME=$state want undo -o backup=no
    want cmp "$PRISTINE" "$S"
}

# There is room for a generation, but not for the copy of what is there now.
full_disk_at_copy() {
    local state blocks=$(($(stat -c %s "$S") / 4096 * 2 + 16))
    other_disk "$((blocks * 4))k" || return
    XDG_STATE_HOME=$state up
    edit base:one
    down
    cp "$S" "$D/edited"
    cat /dev/zero >"$state/full" 2>/dev/null
    truncate -s -8192 "$state/full"
    XDG_STATE_HOME=$state undo
    same 'status of undo' $? 3
    want grep -q 'what is there now cannot be kept' "$D/undo.err"
    want cmp "$D/edited" "$S"
    rm "$state/full"
    XDG_STATE_HOME=$state want undo
    want cmp "$PRISTINE" "$S"
}

# killed [COMMAND]: a mount that made two edits; the command comes before them.
killed() {
    rm -rf "$XDG_STATE_HOME"
    killable commit=auto
    "${1:-:}"
    edit base:one
    edit base:two
    murder
    want undo
    want cmp "$PRISTINE" "$S"
    want undo
    block_is "$V" base:two
}

# killed_with [-] EDIT...: a mount that made these edits and was killed; -: the first one is in the save itself.
killed_with() {
    killable
    if [ "$1" = - ]; then
        edit "base:$2"
        want sync "$M/chunks/$C/voxels.csv"
        shift 2
    fi
    hold
    for i; do
        edit "base:$i"
    done
    murder
}

killed_held() {
    needs_root || return
    killed hold
}

again() {
    up
    down
}

put_back() {
    want "$TFS_BIN" cat "$S" "chunks/$C/voxels.csv" >"$D/text"
    want "$TFS_BIN" put "$S" "chunks/$C/voxels.csv" <"$D/text"
}

# What a mount wrote itself, and what is brought in behind its kill, are two steps.
recovered_one_by_one() {
    needs_root || return
    rm -rf "$XDG_STATE_HOME"
    killed_with - one two
    again
    cp "$S" "$D/first"
    killed_with three four
    "$1"
    want undo
    want cmp "$D/first" "$S"
    want undo
    block_is "$V" base:four
    killed_with - five six
    up
    edit base:seven
    down
    want undo
    block_is "$V" base:six
}

recovered_alone() {
    needs_root || return
    rm -rf "$XDG_STATE_HOME"
    killed_with - one two three
    cp "$S" "$D/first"
    "$1"
    want undo
    want cmp "$D/first" "$S"
    want undo
    block_is "$V" base:three
}

# Version 0.1 opened a region of a zone as a save of its own, with a journal beside it.
journal_beside_a_region() {
    local file=region_0_0_0.cosmicreach zone=$D/in/zones/base/earth
    needs_root || return
    rm -rf "$XDG_STATE_HOME"
    "$TFS_TOOLS/make_world" --plain --regions 4 --chunks 2 "$D/in"
    mkdir "$D/alone"
    S=$D/alone/$file
    cp "$zone/regions/$file" "$S"
    killable
    hold
    block_everywhere one
    murder
    want mv "$D/alone/.$file.terrainfs-journal" "$zone/regions"
    S=$zone
    want undo
    want grep -q 'restored from its journal' "$D/undo.err"
    want cmp "$D/alone/$file" "$zone/regions/$file"
    want undo
    want "$TFS_BIN" cat "$zone/regions/$file" palette.txt >"$D/names"
    want grep -q base:one "$D/names"
}

try 'rm -rf of all chunks is taken back' all_chunks_come_back
try 'undo takes back one mount, and only it' mount_is_one_step
try 'a mounted save stays as it is' mounted_save_stays
try 'the link is not taken for a change by another program' link_is_no_conflict
try 'what another program saved in between is what undo brings back' game_in_between
try 'a commit behind the save of the last region by a game is taken back as a whole' game_saves_region 0_0_0
try 'and behind that of the first' game_saves_region -1_0_-1
try 'so is one of a folder of Godot' game_saves_region_of_godot 0
try 'and where the last file was saved' game_saves_region_of_godot 1
try 'so is one of a terrain and the list beside it' game_saves_list terrain.json
try 'and where the terrain was saved' game_saves_list ter
try 'a state directory on another file system gets a copy' other_filesystem
try 'a full disk for the state keeps no edit from the save' full_disk
try 'a disk too full to keep what is there keeps undo from it' full_disk_at_undo
try 'so does a disk too full for the copy of what is there' full_disk_at_copy
try 'edits of a killed mount are taken back' killed
try 'edits that only the journal holds are taken back' killed_held
try 'undo takes back what the next mount brought in' recovered_alone again
try 'and what a command did' recovered_alone put_back
try 'undo takes back one killed mount, and only it' recovered_one_by_one again
try 'also where it brings the journal in itself' recovered_one_by_one :
try 'and a journal that 0.1 left beside a region of the zone' journal_beside_a_region
finish
