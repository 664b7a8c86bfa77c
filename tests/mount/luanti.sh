#!/usr/bin/env bash
# Maps of Luanti on a mount, without the game: what another program changes in the database, and pictures.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pictures.bash"

SAVE_NAME=map.sqlite
mkdir -p "$T/pristine"
PRISTINE=$T/pristine/$SAVE_NAME
"$TFS_TOOLS/make_luanti" map "$PRISTINE" 4 || exit 3

# in_database SQL: another program runs that.
in_database() {
    "$PYTHON" -S -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2]); db.commit()' "$S" "$1"
}

shows() {
    same "$1" "$(sed 's/[^,]*,[^,]*,[^,]*,//' "$M/chunks/$1/voxels.csv" | md5sum)" "$2"
}

changes_of_others() {
    local second
    up
    find "$M" -type f -exec cat {} + >/dev/null
    second=$(sed 's/[^,]*,[^,]*,[^,]*,//' "$M/chunks/0_-1_-1/voxels.csv" | md5sum)
    want grep -qx default:chest "$M/palette.txt"
    in_database 'UPDATE blocks SET data = (SELECT data FROM blocks WHERE x = 0) WHERE x = -1;
        INSERT INTO blocks SELECT 5, 5, 5, data FROM blocks WHERE x = 0;
        DELETE FROM blocks WHERE x = 1'
    want soon test -d "$M/chunks/5_5_5"
    shows -1_-1_-1 "$second"
    shows 5_5_5 "$second"
    wants_not test -e "$M/chunks/-1_-1_-1/metadata.txt"
    wants_not test -e "$M/chunks/1_-1_-1"
    wants_not grep -qx default:chest "$M/palette.txt"
    echo '0,-1,-1,new:node,7' >>"$M/chunks/0_-1_-1/voxels.csv"
    want grep -qx new:node "$M/palette.txt"
    down
    want "$TFS_BIN" check "$S"
}

tiles_of_a_wide_map() {
    up
    want test -f "$M/heightmap.png"
    wants_not test -e "$M/heightmaps"
    want mkdir "$M/chunks/700_-1_-1"
    echo '11200,-16,-1,far:away,0' >>"$M/chunks/700_-1_-1/voxels.csv"
    wants_not test -e "$M/heightmap.png"
    same 'tiles' "$(cd "$M" && echo heightmaps/* maps/*)" \
        'heightmaps/-1_-1.png heightmaps/0_-1.png heightmaps/43_-1.png maps/-1_-1.png maps/0_-1.png maps/43_-1.png'
    want cp "$M/heightmaps/43_-1.png" "$D/tile.png"
    want cp "$D/tile.png" "$M/heightmaps/43_-1.png"
    want rm -r "$M/chunks/700_-1_-1"
    want test -f "$M/heightmap.png"
    wants_not test -e "$M/maps"
    down
}

exported_tiles() {
    local tree=$D/tree
    up
    want mkdir "$M/chunks/700_-1_-1"
    down
    want "$TFS_BIN" export "$S" "$tree"
    wants_not "$TFS_BIN" put "$S" heightmaps/43_-1.png <"$tree/heightmaps/0_-1.png"
    want "$TFS_BIN" put "$S" heightmaps/0_-1.png <"$tree/heightmaps/0_-1.png"
    want test -f "$tree/heightmaps/43_-1.png"
    want "$TFS_BIN" import "$tree" "$S"
    want "$TFS_BIN" export "$S" "$D/again"
    want diff -r -x .terrainfs "$tree" "$D/again"
}

try 'what others change in the database shows without a mount' changes_of_others
try 'a map too wide for a picture has tiles' tiles_of_a_wide_map
try 'tiles are exported and imported' exported_tiles
finish
