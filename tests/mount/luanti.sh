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
    want grep -qx "terrainfs: $S: edits of a database can be undone only with -o backup" "$D/mount.err"
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

# Our own commit meets the row of another program before the next look at the database does. Who has the text of that
# row open, accepted before, does not take it back.
own_commit_meets_theirs() {
    up
    same 'write, fsync, edit of another chunk, write, close' "$(py '
import sqlite3
save, mine, other = a
text, _ = get(mine), get(other)
fd = os.open(mine, os.O_WRONLY)
os.write(fd, text)
os.fsync(fd)
db = sqlite3.connect(save)
db.execute("UPDATE blocks SET data = (SELECT data FROM blocks WHERE x = 0) WHERE x = -1")
db.commit()
put(other, b"0,-1,-1,new:node,7\n", os.O_WRONLY | os.O_APPEND)
print(err(os.pwrite, fd, text, 0), err(os.close, fd))' "$S" "$M/chunks/-1_-1_-1/voxels.csv" "$M/chunks/0_-1_-1/voxels.csv")" \
        'ok ESTALE'
    down 3
    same 'the other row' "$("$TFS_BIN" cat "$S" chunks/-1_-1_-1/voxels.csv | grep -c .)" "$(
        "$TFS_BIN" cat "$PRISTINE" chunks/0_-1_-1/voxels.csv | grep -c .
    )"
}

# The same without a look at the database in between: both files are open before. A handle on a third chunk is
# none of those that another program overtook.
own_commit_among_theirs() {
    up
    same 'accepted, pending, other' "$(py '
import sqlite3
save, chunks = a
names = ["-1_-1_-1", "0_-1_-1", "1_-1_-1"]
theirs, ours, third = [chunks + "/" + name + "/voxels.csv" for name in names]
text, other = get(theirs), get(third)
accepted, beside, appending = os.open(theirs, os.O_WRONLY), os.open(third, os.O_RDWR), os.open(ours, os.O_WRONLY | os.O_APPEND)
os.write(accepted, text)
os.fsync(accepted)
os.write(beside, other)
os.fsync(beside)
db = sqlite3.connect(save)
db.execute("UPDATE blocks SET data = (SELECT data FROM blocks WHERE x = 0) WHERE x = -1")
db.commit()
os.write(appending, b"0,-1,-1,new:node,7\n")
os.fsync(appending)
print(err(os.pwrite, accepted, text, 0), err(os.close, accepted), err(os.pwrite, beside, other, 0), err(os.close, beside))
' "$S" "$M/chunks")" 'ok ESTALE ok ok'
    down 3
}

try 'what others change in the database shows without a mount' changes_of_others
try 'what our commit finds changed is not taken back' own_commit_meets_theirs
try 'what our commit finds changed, with no look before it' own_commit_among_theirs
try 'a map too wide for a picture has tiles' tiles_of_a_wide_map
try 'tiles are exported and imported' exported_tiles
finish
