#!/usr/bin/env bash
# -o views=: sets of files that do not overlap, so that tar, rsync and git take a whole tree and give it back.
. "$(dirname "$0")/lib.sh"

# terrain_is SAVE: the terrain of $S is that of the other save.
terrain_is() {
    "$TFS_BIN" diff "$1" "$S" >"$D/diff.out" 2>&1 || note "terrain differs: $(head -n 3 "$D/diff.out")"
}

# files: what the tree shows, without what names come from the save.
files() {
    (cd "$M" && find . -type f | sed -E 's|^\./||; s|-?[0-9]+_-?[0-9]+_-?[0-9]+|C|' | sort -u | paste -sd ' ')
}


shows() {
    up -o "views=$1"
    same "files of $1" "$(files)" "$2"
    down
    want cmp "$PRISTINE" "$S"
}

# What is left out cannot be made, and a sentence says so.
refuses() {
    up -o views=voxels
    same 'blocks.txt' "$(py 'print(err(open, a[0], "w"))' "$M/chunks/$C/blocks.txt")" EPERM
    same 'map.png' "$(py 'print(err(open, a[0], "w"))' "$M/map.png")" EPERM
    same 'a link' "$(py 'print(err(os.symlink, "x", a[0]))' "$M/chunks/$C/raw.bin")" EPERM
    wants_not grep -qx '\.terrainfs' <(ls -A "$M")
    echo fill 0 >"$M/chunks/$C/mine"
    same 'a rename' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/chunks/$C/mine" "$M/chunks/$C/palette.txt")" EPERM
    wants_not [ -e "$M/chunks/$C/blocks.txt" ]
    want rm "$M/chunks/$C/mine"
    down
    want cmp "$PRISTINE" "$S"
    up -o views=raw
    same 'mkdir lights' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/$C/lights")" EPERM
    down
}

# A whole tree, unpacked into a save without any chunk.
unpacks() {
    up -o "views=$1"
    want tar -C "$M" -cf "$D/tree.tar" .
    want rm -r "$M/chunks"/*
    same 'chunks left' "$(find "$M/chunks" -mindepth 1 | wc -l)" 0
    want tar -C "$M" -xf "$D/tree.tar"
    want tar -C "$M" -df "$D/tree.tar"
    down
    terrain_is "$PRISTINE"
    [ "$1" != raw ] || want cmp <(region chunks "$PRISTINE" | awk '{ print $1, $NF }' | sort) \
        <(region chunks "$S" | awk '{ print $1, $NF }' | sort)
}

# Half of the chunks edited, one removed and one made, and everything taken back.
spoil() {
    local chunk
    "$TFS_BIN" cat "$PRISTINE" "chunks/$C/raw.bin" >"$D/raw.bin"
    for chunk in "$M"/chunks/*; do
        [ ! -e "$chunk/voxels.csv" ] || want sed -i '2,$ { $d }' "$chunk/voxels.csv"
        [ ! -e "$chunk/raw.bin" ] || want cp "$D/raw.bin" "$chunk/raw.bin"
        [ ! -e "$chunk/lights/sky.txt" ] || want rm "$chunk/lights/sky.txt"
    done
    want rm -r "$M/chunks/$C2"
    want cp -r "$M/chunks/$C" "$M/chunks/3_1_2"
}

unpacks_over() {
    up -o "views=$1"
    want tar -C "$M" -cf "$D/tree.tar" .
    spoil
    want rm -r "$M/chunks/3_1_2"
    want tar -C "$M" -xf "$D/tree.tar"
    want tar -C "$M" -df "$D/tree.tar"
    down
    terrain_is "$PRISTINE"
}

rsyncs() {
    command -v rsync >/dev/null || { skip 'rsync is not installed'; return 0; }
    want "$TFS_BIN" export -o "views=$1" "$PRISTINE" "$D/tree"
    rm -r "$D/tree/.terrainfs"
    up -o "views=$1"
    spoil
    want rsync -a --delete "$D/tree/" "$M/"
    wants_not [ -e "$M/chunks/3_1_2" ]
    down
    terrain_is "$PRISTINE"
}

# Two states, and back and forth between them.
checks_out() {
    up -o "views=$1"
    commits one
    spoil
    commits two
    want on_git checkout -q main~1
    same 'status' "$(on_git status --porcelain)" ''
    cp "$S" "$D/one"
    want on_git checkout -q main
    same 'status' "$(on_git status --porcelain)" ''
    want on_git checkout -q main~1
    down
    terrain_is "$PRISTINE"
}

# A mount that shows more files than git has: what git leaves of a chunk is told.
forgets_views() {
    up -o views=voxels
    commits one
    want rm -r "$M/chunks/$C2"
    commits two
    want on_git checkout -q main~1
    down
    up
    want on_git checkout -q main
    want [ -e "$M/chunks/$C2/raw.bin" ]
    down
    up -o views=voxels
    want on_git reset -q --hard
    want on_git clean -qfd
    wants_not [ -e "$M/chunks/$C2" ]
    down
}

# Two branches change one chunk: git merges their lines, and the save has both.
merges() {
    up -o views=voxels
    commits base
    want on_git checkout -qb mine
    want sed -i -E '2s/^(([^,]*,){3}).*/\1base:mine/' "$M/chunks/$C/voxels.csv"
    want on_git commit -qam mine
    want on_git checkout -q main
    want sed -i -E '$s/^(([^,]*,){3}).*/\1base:yours/' "$M/chunks/$C/voxels.csv"
    want on_git commit -qam yours
    want on_git merge -q -m both mine
    same 'status' "$(on_git status --porcelain)" ''
    down
    changes "changed $C blocks"
    "$TFS_BIN" cat "$S" "chunks/$C/voxels.csv" >"$D/csv"
    want grep -q 'base:mine$' "$D/csv"
    want grep -q 'base:yours$' "$D/csv"
}

# A chunk that was stored without light has none after it was unpacked.
keeps_absent_light() {
    up -o views=voxels
    want rm -r "$M/chunks/$C/lights"
    want tar -C "$M" -cf "$D/chunk.tar" "chunks/$C"
    want rm -r "$M/chunks/$C"
    want tar -C "$M" -xf "$D/chunk.tar"
    down
    same 'sky' "$(region sky "$S" ${V//,/ })" NONE
    same 'light' "$(region light "$S" ${V//,/ })" NONE
    changes "changed $C sky light"
}

# What a new chunk has by itself stays while nobody copies anything into it.
makes() {
    up -o views=voxels
    want mkdir "$M/chunks/3_1_2"
    want soon grep -qx 'fill 15' "$M/chunks/3_1_2/lights/sky.txt"
    down
    changes 'added 3_1_2'
}

# A directory just made is complete when all shown files came: a stale csv of elsewhere is refused then.
completes() {
    up -o views=voxels
    want cp -r "$M/chunks/$C" "$M/chunks/3_1_2"
    want soon grep -qx 'hidden: 0' "$M/.terrainfs/status"
    "$TFS_BIN" cat "$PRISTINE" "chunks/$C2/voxels.csv" >"$D/stale"
    wants_not cp "$D/stale" "$M/chunks/3_1_2/voxels.csv"
    logged 'chunks/3_1_2/voxels.csv'
    down 3
}

# game MAKER ARGUMENT...: $S is a generated save of another game, at the place of SAVE, and $other a copy of it.
game() {
    local maker=$1
    shift
    S=$D/save other=$D/other
    "$TFS_TOOLS/$maker" "${@/SAVE/$S}" && cp -Rp "$S" "$other" || note "$maker failed"
}

# A channel is a file of its own until voxels.csv has a column of it, and again when it has none.
channels_come_and_go() {
    local chunk
    game make_voxel stream SAVE 12
    up -o views=voxels
    commits one
    chunk=$(echo "$M"/chunks/*_-50 | cut -d ' ' -f 1)
    same 'header' "$(head -n 1 "$chunk/voxels.csv")" x,y,z,type/16,sdf/16
    wants_not [ -e "$chunk/channels/type.txt" ]
    want grep -qx 'fill .*' "$chunk/channels/color.txt"
    sed 's/$/,5/; 1s/,5$/,color/' "$chunk/voxels.csv" >"$D/csv"
    want cp "$D/csv" "$chunk/voxels.csv"
    wants_not [ -e "$chunk/channels/color.txt" ]
    printf 'depth 16\nfill 3\n' >"$chunk/channels/type.txt"
    same 'header' "$(head -n 1 "$chunk/voxels.csv")" x,y,z,sdf/16,color/8
    want grep -qx 'fill 3' "$chunk/channels/type.txt"
    commits two
    cp "$S" "$D/two"
    want on_git checkout -q main~1
    same 'status' "$(on_git status --porcelain)" ''
    want sync "$M"
    terrain_is "$other"
    want on_git checkout -q main
    same 'status' "$(on_git status --porcelain)" ''
    down
    terrain_is "$D/two"
}

# What git checks out has the depths of its commit, also where the values of one do not fit into the
# depth of the other.
depths_are_checked_out() {
    local csv
    game make_voxel stream SAVE 3
    up -o views=voxels
    commits usual
    csv=$(grep -l '^x,y,z,type' "$M"/chunks/*/voxels.csv | sed -n 1p)
    want sed -i -E '1s,type/16,type/32,; 2s/^(([^,]*,){3})[0-9]*/\170000/' "$csv"
    same 'header' "$(sed -n '1s,/32.*,/32,p' "$csv")" x,y,z,type/32
    same 'value' "$(sed -n 2p "$csv" | cut -d , -f 4)" 70000
    want on_git commit -qam deep
    want sync "$M"
    cp "$S" "$D/deep"
    want on_git checkout -q main~1
    same 'status' "$(on_git status --porcelain)" ''
    want sync "$M"
    terrain_is "$other"
    want on_git checkout -q main
    same 'status' "$(on_git status --porcelain)" ''
    down
    terrain_is "$D/deep"
}

other_game() {
    game "${@:2}"
    up -o "views=$1"
    want tar -C "$M" -cf "$D/tree.tar" .
    mkdir "$D/tree"
    want tar -C "$D/tree" -xf "$D/tree.tar"
    "${unpack_into:-remove_chunks}"
    want tar -C "$M" -xf "$D/tree.tar"
    want diff -r "$D/tree" "$M"
    down
    terrain_is "$other"
}

remove_chunks() {
    want rm -r "$M/chunks"/*
    [ ! -d "$M/lods" ] || want rm -r "$M/lods"/*/chunks/*
}

flatten() {
    echo 'fill 20000' >"$M/chunks/0_0_0/heights.txt"
    echo 'fill 1' >"$M/chunks/0_0_0/layers.txt"
    want sed -i '1s/.*/0 Other/' "$M/palette.txt"
}

wrong_values() {
    mkdir -p "$M"
    mount_at "$S" "$M" -o views=voxel
    same 'status of a wrong name' $? 2
    want grep -q 'views=voxel: there is no such view; there are voxels, grids, raw, arrays and all' "$D/mount.err"
    "$TFS_TOOLS/make_ter" "$D/x.ter"
    mount_at "$D/x.ter" "$M" -o views=raw
    same 'status of raw for a terrain' $? 1
    want grep -q 'views=raw: this save has no such files' "$D/mount.err"
}

lights='chunks/C/entities.bin chunks/C/lights/block.txt chunks/C/lights/sky.txt'
try 'voxels' shows voxels "$lights chunks/C/voxels.csv"
try 'grids' shows grids "chunks/C/blocks.txt $lights"
try 'raw' shows raw chunks/C/raw.bin
try 'two sets' shows raw+voxels "$lights chunks/C/raw.bin chunks/C/voxels.csv"
try 'what is left out cannot be made' refuses
for view in voxels grids raw; do
    try "$view: tar x of all chunks" unpacks $view
done
for view in voxels raw; do
    try "$view: tar x over edits" unpacks_over $view
    try "$view: rsync -a --delete over edits" rsyncs $view
    try "$view: git checkout back and forth" checks_out $view
done
try 'git merge of edits in one chunk' merges
try 'a chunk without light is unpacked without light' keeps_absent_light
try 'mkdir' makes
try 'a directory just made is complete without what is left out' completes
try 'Godot: channels come and go with columns' channels_come_and_go
try 'Godot: depths are checked out' depths_are_checked_out
for view in voxels grids raw; do
    try "Godot: $view: tar x" other_game $view make_voxel stream SAVE 12
    try "Roblox: $view: tar x" other_game $view make_place --kind binary --log2 4 --chunks 6 SAVE
done
unpack_into=flatten
for view in voxels grids; do
    try "BeamNG: $view: tar x over edits" other_game $view make_ter --version 8 --size 128 --materials 4 SAVE
done
try 'a checkout on a mount with other views' forgets_views
try 'names of sets' wrong_values
finish
