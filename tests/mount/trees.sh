#!/usr/bin/env bash
# Directories of chunks: made, copied, moved, removed and unpacked, within a mount and between two, and
# the names that are refused.
. "$(dirname "$0")/lib.sh"

FREE=3_1_2 # a coordinate of the region without a chunk

# A second copy of the save, $S2, mounted on $M2.
second() {
    S2=$D/other/$SAVE_NAME M2=$D/mnt2
    mkdir -p "$D/other"
    cp -p "$PRISTINE" "$S2"
    mount_at "$S2" "$M2"
    same 'status of the second mount' $? 0
}

# body_is SAVE CHUNK: its body is that of $C in the pristine save.
body_is() {
    region body "$1" "$2" >"$D/body.got" || note "no chunk $2"
    region body "$PRISTINE" "$C" >"$D/body.wanted"
    want cmp "$D/body.got" "$D/body.wanted"
}

# The place of $V in chunk $FREE.
shifted() {
    local v f
    IFS=, read -ra v <<<"$V"
    IFS=_ read -ra f <<<"$FREE"
    echo "$((v[0] & 15 | f[0] << 4)),$((v[1] & 15 | f[1] << 4)),$((v[2] & 15 | f[2] << 4))"
}

chunk_is_there() {
    region chunks "$S" | grep -q "^$1 "
}

copies_within() {
    up
    want "$@" "$M/chunks/$C" "$M/chunks/$FREE"
    want cmp "$M/chunks/$C/blocks.txt" "$M/chunks/$FREE/blocks.txt"
    want cmp "$M/chunks/$C/raw.bin" "$M/chunks/$FREE/raw.bin"
    body_is "$S" "$FREE"
    down
    body_is "$S" "$FREE"
    changes "added $FREE"
}

# The rows of voxels.csv name the old place; in a new directory they are shifted.
copies_one_file() {
    up
    want mkdir "$M/chunks/$FREE"
    want cp "$M/chunks/$C/voxels.csv" "$M/chunks/$FREE/voxels.csv"
    want soon cmp -s "$M/chunks/$C/palette.txt" "$M/chunks/$FREE/palette.txt"
    down
    changes "added $FREE"
    block_is "$(shifted)" "$B"
}

copies_without_raw() {
    up
    mkdir -p "$D/copy"
    cp -r "$M/chunks/$C" "$D/copy/$FREE"
    rm "$D/copy/$FREE/raw.bin"
    want cp -r "$D/copy/$FREE" "$M/chunks/"
    want cmp "$M/chunks/$C/blocks.txt" "$M/chunks/$FREE/blocks.txt"
    want cmp "$M/chunks/$C/lights/sky.txt" "$M/chunks/$FREE/lights/sky.txt"
    want cmp "$M/chunks/$C/lights/block.txt" "$M/chunks/$FREE/lights/block.txt"
    down
    changes "added $FREE"
    want region check "$S"
}

copies_between() {
    second
    want rm -r "$M2/chunks/$C"
    up
    want "$@" "$M/chunks/$C" "$M2/chunks/$FREE"
    want "$@" "$M/chunks/$C" "$M2/chunks/"
    unmount "$M2"
    down
    body_is "$S2" "$FREE"
    same 'chunks changed in the other save' "$(region diff "$PRISTINE" "$S2")" "added $FREE"
    want cmp "$PRISTINE" "$S"
}

copies_over_existing() {
    second
    want sed -i "s/^$V,.*/$V,base:other/" "$M2/chunks/$C/voxels.csv"
    up
    want cp -r "$M/chunks/$C" "$M2/chunks/"
    unmount "$M2"
    down
    body_is "$S2" "$C"
    same 'chunks changed in the other save' "$(region diff "$PRISTINE" "$S2")" ''
}

moves_within() {
    up
    want mv "$M/chunks/$C" "$M/chunks/$FREE"
    wants_not [ -e "$M/chunks/$C" ]
    want grep -qxF "$(shifted),$B" "$M/chunks/$FREE/voxels.csv"
    body_is "$S" "$FREE"
    want mv "$M/chunks/$FREE" "$M/chunks/$C"
    want mv "$M/chunks/$C" "$M/chunks/$FREE"
    down
    body_is "$S" "$FREE"
    wants_not chunk_is_there "$C"
}

# A directory that is open while it moves, and a file in it.
moves_while_open() {
    up
    exec 8<"$M/chunks/$C/blocks.txt"
    cp "$M/chunks/$C/blocks.txt" "$D/blocks.txt"
    want mv "$M/chunks/$C" "$M/chunks/$FREE"
    want cmp "$D/blocks.txt" - <&8
    exec 8<&-
    want sed -i '$d' "$M/chunks/$FREE/voxels.csv"
    down
    wants_not chunk_is_there "$C"
    want chunk_is_there "$FREE"
}

moves_between() {
    second
    want rm -r "$M2/chunks/$C"
    up
    want mv "$M/chunks/$C" "$M2/chunks/"
    wants_not [ -e "$M/chunks/$C" ]
    unmount "$M2"
    down
    body_is "$S2" "$C"
    same 'chunks changed in the other save' "$(region diff "$PRISTINE" "$S2")" ''
    changes "removed $C"
}

removes() {
    up
    want rm -r "$M/chunks/$C"
    wants_not [ -e "$M/chunks/$C" ]
    wants_not grep -qx "$C" <(ls "$M/chunks")
    wants_not chunk_is_there "$C"
    down
    changes "removed $C"
    want region check "$S"
}

removes_step_by_step() {
    up
    want rm "$M/chunks/$C"/*.* "$M/chunks/$C"/lights/*
    want rmdir "$M/chunks/$C/lights"
    want rmdir "$M/chunks/$C"
    down
    changes "removed $C"
}

# rmdir of a chunk that still shows files is refused.
keeps_what_is_not_empty() {
    up
    same 'rmdir' "$(py 'print(err(os.rmdir, a[0]))' "$M/chunks/$C")" ENOTEMPTY
    same 'rmdir lights' "$(py 'print(err(os.rmdir, a[0]))' "$M/chunks/$C/lights")" ENOTEMPTY
    down
    want cmp "$PRISTINE" "$S"
}

makes() {
    up
    want mkdir "$M/chunks/$FREE"
    want chunk_is_there "$FREE"
    same 'mkdir again' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/$FREE")" EEXIST
    want soon [ -e "$M/chunks/$FREE/blocks.txt" ]
    want soon grep -qx 'fill 0' "$M/chunks/$FREE/blocks.txt"
    want grep -qx 'fill 15' "$M/chunks/$FREE/lights/sky.txt"
    wants_not [ -e "$M/chunks/$FREE/lights/block.txt" ]
    wants_not [ -e "$M/chunks/$FREE/entities.bin" ]
    down
    changes "added $FREE"
    same 'block' "$(region block "$S" 50 18 34)" base:air
    same 'sky' "$(region sky "$S" 50 18 34)" 15
    same 'light' "$(region light "$S" 50 18 34)" NONE
}

makes_and_fills() {
    up
    want mkdir -p "$M/chunks/$FREE"
    printf '%s\n' 'palette 0 base:air' 'palette 1 base:made' '' 'fill 1' >"$M/chunks/$FREE/blocks.txt"
    want soon grep -q '^50,18,34,base:made' "$M/chunks/$FREE/voxels.csv"
    echo '50,18,34,base:other' >>"$M/chunks/$FREE/voxels.csv"
    down
    changes "added $FREE"
    same 'block' "$(region block "$S" 50 18 34)" base:other
    same 'block' "$(region block "$S" 51 18 34)" base:made
}

# A line appended at once, without the header that the table has.
makes_and_appends() {
    local at
    at=$(shifted)
    up
    want sh -c "mkdir '$M/chunks/$FREE' && echo '$at,base:new' >>'$M/chunks/$FREE/voxels.csv'"
    want grep -qx "$at,base:new" "$M/chunks/$FREE/voxels.csv"
    down
    chunk_is_there $FREE || note "no chunk $FREE"
    block_is "$at" base:new
}

unpacks() {
    up
    want tar -C "$M" -cf "$D/chunk.tar" "chunks/$C"
    want rm -r "$M/chunks/$C"
    want tar -C "$M" -xf "$D/chunk.tar" "$@"
    want tar -C "$M" -df "$D/chunk.tar"
    down
    body_is "$S" "$C"
    changes ''
}

unpacks_over() {
    up
    want tar -C "$M" -cf "$D/chunk.tar" "chunks/$C"
    want sed -i "s/^$V,.*/$V,base:other/" "$M/chunks/$C/voxels.csv"
    want tar -C "$M" -xf "$D/chunk.tar" "$@"
    down
    body_is "$S" "$C"
    changes ''
}

rsyncs_directories() {
    second
    want rm -r "$M2/chunks/$C"
    want sed -i "\$d" "$M2/chunks/$C2/voxels.csv"
    up
    want rsync -a --delete "$M/chunks/" "$M2/chunks/"
    unmount "$M2"
    down
    same 'chunks changed in the other save' "$(region diff "$PRISTINE" "$S2")" ''
}

refuses_names() {
    local name
    up
    for name in foo 1_2 1_2_3_4 +1_0_0 -0_0_0 01_0_0 1_0_0x 99999999999_0_0 1__0; do
        same "mkdir $name" "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/$name")" EINVAL
    done
    want mkdir "$M/chunks/.scratch"
    for name in 16_0_0 -1_0_0 0_16_0 0_0_-1; do
        same "mkdir $name" "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/$name")" EINVAL
        logged "chunks/$name: [^ ].*"
        one_of "mv to $name" "$(py 'print(err(os.rename, a[0], a[1]))' "$M/chunks/$C" "$M/chunks/$name")" EPERM EINVAL
    done
    same 'mv to foo' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/chunks/$C" "$M/chunks/foo")" EPERM
    down
    want cmp "$PRISTINE" "$S"
}

refuses_renames() {
    up
    rename() {
        py 'print(err(os.rename, a[0], a[1]))' "$M/$1" "$M/$2"
    }
    one_of 'to a chunk that is there' "$(rename "chunks/$C" "chunks/$C2")" EEXIST EXDEV ENOTEMPTY
    same 'out of chunks' "$(rename "chunks/$C" "$C")" EPERM
    same 'into a chunk' "$(rename "chunks/$C" "chunks/$C2/x")" EPERM
    same 'to a scratch name' "$(rename "chunks/$C" chunks/.x)" EPERM
    same 'chunks itself' "$(rename chunks other)" EPERM
    one_of 'lights' "$(rename "chunks/$C/lights" "chunks/$C/other")" EPERM EXDEV
    same 'rmdir chunks' "$(py 'print(err(os.rmdir, a[0]))' "$M/chunks")" EPERM
    want mkdir "$M/scratch"
    one_of 'a scratch directory over chunks' "$(rename scratch chunks)" EPERM EEXIST ENOTEMPTY EXDEV
    one_of 'a scratch directory to a chunk' "$(rename scratch "chunks/$FREE")" EXDEV EPERM
    one_of 'a file onto a directory' "$(rename "chunks/$C/blocks.txt" "chunks/$C2")" EISDIR EEXIST
    one_of 'a directory onto a file' "$(rename "chunks/$C" palette.txt)" ENOTDIR EXDEV
    want cmp <(region chunks "$PRISTINE") <(region chunks "$S")
    down
    want cmp "$PRISTINE" "$S"
}

# An empty directory of lights can go and come back.
lights_come_and_go() {
    up
    want rm "$M/chunks/$C/lights/sky.txt" "$M/chunks/$C/lights/block.txt"
    want rmdir "$M/chunks/$C/lights"
    want mkdir "$M/chunks/$C/lights"
    echo 'fill 7' >"$M/chunks/$C/lights/sky.txt"
    down
    same 'sky' "$(region sky "$S" ${V//,/ })" 7
    same 'light' "$(region light "$S" ${V//,/ })" NONE
    changes "changed $C sky light"
}

# The kernel keeps what it listed: a listing made while the file is written must not outlive its close.
lists_what_is_being_created() {
    up
    want python3 - "$M/chunks/$C/lights" <<'EOF'
import os, sys
lights = sys.argv[1]
directory = os.open(lights, os.O_RDONLY)
os.unlink(f'{lights}/sky.txt')
os.fsync(directory)
assert os.listdir(lights) == ['block.txt'], os.listdir(lights)
file = os.open(f'{lights}/sky.txt', os.O_WRONLY | os.O_CREAT | os.O_EXCL)
assert 'sky.txt' in os.listdir(lights), 'while it is open'
os.write(file, b'fill 7\n')
os.close(file)
assert 'sky.txt' in os.listdir(lights), 'after its close'
EOF
    down
    changes "changed $C sky"
}

needs_rsync() {
    command -v rsync >/dev/null || { skip 'rsync is not installed'; return 0; }
    "$@"
}

try 'cp -r within' copies_within cp -r
FREE=0_5_0 try 'cp -a within a column' copies_within cp -a
try 'a new chunk from voxels.csv of another' copies_one_file
try 'cp -r without raw.bin' copies_without_raw
try 'cp -r between two mounts' copies_between cp -r
try 'cp -a between two mounts' copies_between cp -a
try 'cp -r over an existing chunk' copies_over_existing
try 'mv within' moves_within
try 'mv while a file in it is open' moves_while_open
try 'mv between two mounts' moves_between
try 'rm -r' removes
try 'rm of all files, then rmdir' removes_step_by_step
try 'rmdir of a chunk with files' keeps_what_is_not_empty
try 'mkdir' makes
try 'mkdir and fill' makes_and_fills
try 'mkdir and append' makes_and_appends
try 'tar x of a chunk that is not there' unpacks
try 'tar x -p of a chunk that is not there' unpacks -p
try 'tar x over a chunk' unpacks_over
try 'rsync -a --delete of all chunks' needs_rsync rsyncs_directories
try 'names that are no coordinates' refuses_names
try 'renames that are refused' refuses_renames
try 'lights removed and made again' lights_come_and_go
try 'lights listed while they are written' lists_what_is_being_created
finish
