#!/usr/bin/env bash
# Chunks copied into a mount by the programs that people use, which write files in different orders: each copies one
# chunk onto another one that is there, and one to where there is none.
. "$(dirname "$0")/lib.sh"

# Each takes names of chunks of $D/tree, all of which are in $M/chunks then. Chunks that are there get their files
# one by one.
by_cp_r() {
    local chunk
    for chunk; do
        if [ -e "$M/chunks/$chunk" ]; then
            want cp -r "$D/tree/chunks/$chunk/." "$M/chunks/$chunk/"
        else
            want cp -r "$D/tree/chunks/$chunk" "$M/chunks/"
        fi
    done
}

by_cp_a() {
    local chunk
    for chunk; do
        want cp -a "$D/tree/chunks/$chunk" "$M/chunks/"
    done
}

by_tar() {
    tar -C "$D/tree" -cf "$D/chunks.tar" "${@/#/chunks/}"
    want tar -C "$M" -xf "$D/chunks.tar"
}

by_rsync() {
    local chunk
    for chunk; do
        want rsync -aI "$D/tree/chunks/$chunk/" "$M/chunks/$chunk/"
    done
}

by_unzip() {
    (cd "$D/tree" && zip -qr - "${@/#/chunks/}") >"$D/chunks.zip"
    want unzip -qo "$D/chunks.zip" -d "$M"
}

by_git() {
    want git --git-dir="$D/git" --work-tree="$M" checkout -q -f -- "${@/#/chunks/}"
}

commit_tree() {
    git init -q --bare "$D/git"
    git --git-dir="$D/git" --work-tree="$D/tree" add -A
    git --git-dir="$D/git" --work-tree="$D/tree" -c user.name=a -c user.email=a@b commit -qm tree
}

has() {
    case $1 in
    by_cp_*) true ;;
    by_unzip) command -v zip >/dev/null && command -v unzip >/dev/null ;;
    *) command -v "${1#by_}" >/dev/null ;;
    esac
}

# Are they as in the tree? What else was edited may change the state of a block of Luanti.
are_copied() {
    local chunk
    for chunk; do
        want diff -r "${excluded[@]}" "$D/tree/chunks/$chunk" "$M/chunks/$chunk"
    done
}

# copies VIEWS MAKER: two chunks into new directories, and one onto the other one. In `all` the files of a chunk
# overlap: an old one does not say what a new one does.
copies() {
    local views=$1 program one two
    local -a excluded
    S=$D/save
    "$2" "$S" && cp -Rp "$S" "$D/original" || { note "$2 failed"; return; }
    want "$TFS_BIN" export -o "views=$views" "$S" "$D/tree"
    rm -r "$D/tree/.terrainfs"
    commit_tree
    read -r one two < <(cd "$D/tree/chunks" && find . -mindepth 1 -maxdepth 1 -printf '%P\n' | sort | paste -sd ' ')
    two=${two%% *}
    up -o "views=$views"
    for program in by_cp_r by_cp_a by_tar by_rsync by_unzip by_git; do
        has $program || continue
        want rm -r "$M/chunks/$one"
        want mv "$M/chunks/$two" "$M/chunks/$one"
        excluded=(-x state.txt)
        [ "$views" = all ] || { $program "$one" && are_copied "$one"; }
        want rm -r "$M/chunks/$one"
        $program "$one" "$two"
        excluded=()
        are_copied "$one" "$two"
        [ -z "$notes" ] || { note "by $program" && return; }
    done
    down
    "$TFS_BIN" diff "$D/original" "$S" >"$D/diff.out" 2>&1 || note "terrain differs: $(head -n 3 "$D/diff.out")"
}

# What a file says is kept until that comes which makes it right: water of a cell that is still air.
in_reverse() {
    local chunk file
    S=$D/save
    place "$S"
    want "$TFS_BIN" export -o views=grids "$S" "$D/tree"
    chunk=$(cd "$D/tree/chunks" && find . -mindepth 1 -maxdepth 1 -printf '%P\n' | sort | tail -n 1)
    up -o views=grids
    want rm -r "$M/chunks/$chunk"
    want mkdir "$M/chunks/$chunk"
    for file in water occupancy materials; do
        want cp "$D/tree/chunks/$chunk/$file.txt" "$M/chunks/$chunk/"
    done
    want diff -r "$D/tree/chunks/$chunk" "$M/chunks/$chunk"
    down
}

# Until the directory is at rest the save has what the rules made of what was written, and only that.
killed_before_rest() {
    local chunk
    S=$D/save
    place "$S"
    want "$TFS_BIN" export -o views=grids "$S" "$D/tree"
    chunk=$(cd "$D/tree/chunks" && find . -mindepth 1 -maxdepth 1 -printf '%P\n' | sort | tail -n 1)
    killable views=grids
    want rm -r "$M/chunks/$chunk"
    want mkdir "$M/chunks/$chunk"
    want cp "$D/tree/chunks/$chunk/occupancy.txt" "$M/chunks/$chunk/"
    exec 8>>"$M/chunks/$chunk/water.txt"
    murder
    exec 8>&-
    want "$TFS_BIN" check "$S"
    up -o views=grids
    want cp "$D/tree/chunks/$chunk/materials.txt" "$M/chunks/$chunk/"
    wants_not cmp -s "$D/tree/chunks/$chunk/occupancy.txt" "$M/chunks/$chunk/occupancy.txt"
    want cp "$D/tree/chunks/$chunk"/{occupancy,water}.txt "$M/chunks/$chunk/"
    want diff -r "$D/tree/chunks/$chunk" "$M/chunks/$chunk"
    down
}

# The time of a new directory begins when its mkdir is answered, however long that takes.
slow_mkdir() {
    local slow
    slow=$(dirname "$TFS_TOOLS")/torture/slow.so
    [ -z "${TFS_TEST_SANITIZED:-}" ] || { skip 'nothing is preloaded under sanitizers'; return; }
    [ -e "$slow" ] || { skip 'slow.so is not built'; return; }
    SLOW=$D/slow LD_PRELOAD=$slow up
    want cp -r "$M/chunks/$C" "$D/chunk"
    touch "$D/slow"
    want cp -r "$D/chunk" "$M/chunks/15_15_15"
    wants_not [ -e "$D/slow" ]
    want cmp "$D/chunk/blocks.txt" "$M/chunks/15_15_15/blocks.txt"
    down
}

# place SAVE: makes one. So do the others.
place() {
    "$TFS_TOOLS/make_place" --kind binary --log2 4 --chunks 6 "$1"
}

stream() {
    "$TFS_TOOLS/make_voxel" stream "$1" 12
}

world() {
    "$TFS_TOOLS/make_luanti" map "$1" 4
}

region_of() {
    cp "$PRISTINE" "$1"
}

for views in all voxels grids raw; do
    try "Cosmic Reach: $views" copies $views region_of
    try "Roblox: $views" copies $views place
    try "Godot: $views" copies $views stream
    try "Luanti: $views" copies $views world
done
try 'files of a new chunk in reverse order' in_reverse
try 'a new chunk whose mount is killed' killed_before_rest
try 'a mkdir that takes three seconds' slow_mkdir
finish
