#!/usr/bin/env bash
# Regions of Minecraft on a mount: columns beside chunks, edits that meet in one column, what cannot be made.
. "$(dirname "$0")/lib.sh"

SAVE_NAME=region
PRISTINE=$T/pristine/$SAVE_NAME
mkdir -p "$T/pristine"
"$TFS_TOOLS/make_minecraft" folder "$PRISTINE" || exit 3

columns_beside_chunks() {
    up
    same columns "$(cd "$M" && echo columns/*)" \
        'columns/-29_0 columns/-30_0 columns/-31_0 columns/-32_0 columns/0_0 columns/1_0 columns/2_0 columns/3_0'
    same chunks "$(find "$M/chunks" -mindepth 1 -maxdepth 1 | wc -l)" 16
    same files "$(cd "$M" && echo columns/0_0/*)" columns/0_0/raw.bin
    same size "$(stat -c %s "$M/columns/0_0/raw.bin")" "$(wc -c <"$M/columns/0_0/raw.bin")"
    wants_not test -e "$M/columns/0_0_0"
    wants_not test -e "$M/chunks/0_0"
    wants_not test -e "$M/columns/9_9"
    want cp "$M/columns/0_0/raw.bin" "$D/raw"
    want cp "$D/raw" "$M/columns/0_0/raw.bin"
    down
    want cmp "$S/r.0.0.mca" "$PRISTINE/r.0.0.mca"
}

edits_in_one_column() {
    up
    echo '5,3,7,minecraft:dirt' >>"$M/chunks/0_0_0/voxels.csv"
    echo '5,19,7,minecraft:gold_block' >>"$M/chunks/0_1_0/voxels.csv"
    sed 's/full/fulk/' "$M/columns/1_0/raw.bin" >"$D/raw"
    want cp "$D/raw" "$M/columns/1_0/raw.bin"
    want grep -qx minecraft:gold_block "$M/palette.txt"
    printf 'x,y,z,block\n20,3,7,minecraft:dirt\n' >"$D/unfinished"
    wants_not cp "$D/unfinished" "$M/chunks/1_0_0/voxels.csv"
    want grep -q 'column 1_0 is not finished (minecraft:fulk)' "$M/.terrainfs/errors.log"
    down 3
    want "$TFS_BIN" check "$S"
    want cmp "$S/r.-1.0.mca" "$PRISTINE/r.-1.0.mca"
    same dirt "$("$TFS_BIN" cat "$S" chunks/0_0_0/voxels.csv | grep dirt)" '5,3,7,minecraft:dirt'
    same gold "$("$TFS_BIN" cat "$S" chunks/0_1_0/voxels.csv | grep gold)" '5,19,7,minecraft:gold_block'
    want cmp "$D/raw" <("$TFS_BIN" cat "$S" columns/1_0/raw.bin)
}

two_builders() {
    cp -r "$S" "$D/base"
    cp -r "$S" "$D/theirs"
    printf '%s\n' "$("$TFS_BIN" cat "$S" chunks/0_0_0/voxels.csv)" 1,9,1,a:b | "$TFS_BIN" put "$S" chunks/0_0_0/voxels.csv
    printf '%s\n' "$("$TFS_BIN" cat "$S" chunks/0_1_0/voxels.csv)" 1,25,1,c:d | "$TFS_BIN" put "$D/theirs" chunks/0_1_0/voxels.csv
    "$TFS_BIN" diff "$D/base" "$D/theirs" >"$D/diff"
    want grep -qx '@@ chunk 0_1_0 @@ c:d +1' "$D/diff"
    want "$TFS_BIN" merge "$D/base" "$S" "$D/theirs"
    want grep -q a:b <("$TFS_BIN" cat "$S" chunks/0_0_0/voxels.csv)
    want grep -q c:d <("$TFS_BIN" cat "$S" chunks/0_1_0/voxels.csv)
}

what_cannot_be_made() {
    up
    wants_not mkdir "$M/chunks/0_7_0"
    wants_not mkdir "$M/columns/9_9"
    wants_not rmdir "$M/columns/0_0"
    wants_not mv "$M/chunks/0_0_0" "$M/chunks/0_9_0"
    wants_not mkdir "$M/columns/scratch"
    down
    want cmp "$S/r.0.0.mca" "$PRISTINE/r.0.0.mca"
}

whole_trees() {
    want "$TFS_BIN" export "$S" "$D/tree"
    want test -f "$D/tree/columns/-32_0/raw.bin"
    want "$TFS_BIN" import --all "$D/tree" "$S"
    want cmp "$S/r.0.0.mca" "$PRISTINE/r.0.0.mca"
    sed -i 's/full/fulx/' "$D/tree/columns/-32_0/raw.bin"
    sed -i 2d "$D/tree/chunks/-32_0_0/voxels.csv"
    want "$TFS_BIN" import "$D/tree" "$S"
    want grep -q fulx <("$TFS_BIN" cat "$S" columns/-32_0/raw.bin)
    same bytes "$("$TFS_BIN" cat "$S" chunks/-32_0_0/voxels.csv | md5sum)" "$(md5sum <"$D/tree/chunks/-32_0_0/voxels.csv")"
}

# in_game WORLD COMMAND...: while another process holds the lock of that world.
in_game() {
    "$PYTHON" -S -c '
import fcntl, subprocess, sys
with open(sys.argv[1] + "/session.lock", "w") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    sys.exit(subprocess.call(sys.argv[2:]))' "$@"
}

worlds_in_use() {
    local place save
    for place in region DIM-1/region dimensions/NS/NAME/region; do
        mkdir -p "$D/world/$place"
        cp "$S"/* "$D/world/$place"
        for save in "$D/world/$place" "$D/world/$place/r.0.0.mca"; do
            "$TFS_BIN" cat "$save" chunks/0_0_0/voxels.csv | sed 2d >"$D/text"
            wants_not in_game "$D/world" "$TFS_BIN" put "$save" chunks/0_0_0/voxels.csv <"$D/text" 2>"$D/said"
            want grep -q 'the game has this world open' "$D/said"
            want cmp "$D/world/$place/r.0.0.mca" "$S/r.0.0.mca"
        done
    done
    in_game "$D/world" "$TFS_BIN" info "$D/world/region" | grep -q 'the game has this world open' || note info
    want test -s "$D/text"
    want "$TFS_BIN" put "$D/world/region" chunks/0_0_0/voxels.csv <"$D/text"
    wants_not cmp -s "$D/world/region/r.0.0.mca" "$S/r.0.0.mca"
}

try 'columns are beside chunks, each with what no chunk says' columns_beside_chunks
try 'edits of chunks and of columns meet in one file' edits_in_one_column
try 'two who build in one column do not meet' two_builders
try 'chunks and columns come from the game' what_cannot_be_made
try 'trees are exported and imported' whole_trees
try 'a world that the game has open is read-only' worlds_in_use
finish
