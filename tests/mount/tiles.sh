#!/usr/bin/env bash
# Tiles of a zone's pictures: sculpted by programs, which of them an edit changes, tiles that come and go while one
# is open, and pictures that were made for what the save is no more.
. "$(dirname "$0")/lib.sh"
SAVE_NAME=world
PRISTINE=$T/pristine/$SAVE_NAME
"$TFS_TOOLS/make_world" --regions 4 --chunks 24 "$PRISTINE"

png() {
    "$PYTHON" -S "$ROOT/tests/tools/png.py" "$@"
}

zone() {
    echo "$M/zones/base/earth"
}

# chunk X Z: one of the region.
chunk() {
    region chunks "$S/zones/base/earth/regions/region_$1_0_$2.cosmicreach" | head -n 1 | cut -f 1 | cut -d ' ' -f 1
}

# A line for each tile and picture: its times and its size.
tiles() {
    (cd "$(zone)" && stat -c '%n %y %z %s' heightmap.png map.png heightmaps/* maps/*)
}

# Those that are other ones than in $1.
others() {
    diff <(echo "$1") <(tiles) | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' | sort -u | paste -sd ' '
}

# height TILE X Z
height() {
    png pixel "$(zone)/heightmaps/$1.png" "$2" "$3"
}

# A column of tile $1 that is not empty, and its height: "X Z HEIGHT".
column() {
    "$PYTHON" -S -c '
import sys
sys.path.insert(0, sys.argv[1])
from png import Picture
p = Picture(sys.argv[2])
print(*next((x, z, p.get(x, z)) for z in range(p.height) for x in range(p.width) if p.get(x, z) > 4))
' "$ROOT/tests/tools" "$(zone)/heightmaps/$1.png"
}

# The map of a zone that is wider than a picture: by ranges, in any order, and behind an edit.
map_of_wide_zone() {
    local c
    up
    c=$(chunk -1 0)
    want cp -r "$(zone)/chunks/$c" "$(zone)/chunks/900_0_30"
    wants_not [ -e "$(zone)/heightmap.png" ]
    "$PYTHON" -S - "$(zone)/map.png" <(cat "$(zone)/map.png") <<'EOF' || note 'ranges of the map are not the map'
import os, sys
with open(sys.argv[2], 'rb') as f:
    whole = f.read()
fd = os.open(sys.argv[1], os.O_RDONLY)
assert os.fstat(fd).st_size == len(whole) > 1 << 20
for i in range(40):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    at = len(whole) * (i * 17 % 40) // 40
    assert os.pread(fd, 70001, at) == whole[at:at + 70001]
EOF
    same 'scale' "$(png texts "$(zone)/map.png" | sed -n 's/^scale //p')" \
        "$(sed -n 's/^map scale: //p' "$(zone)/info.txt")"
    cp "$(zone)/map.png" "$D/map.png"
    want cp -r "$(zone)/chunks/$c" "$(zone)/chunks/901_0_30"
    wants_not cmp -s "$D/map.png" "$(zone)/map.png"
    down
}

edits_of_one_tile() {
    local c x y z before
    up
    cat "$(zone)"/heightmaps/* "$(zone)"/maps/* >/dev/null
    before=$(tiles)
    same 'tiles' "$(wc -l <<<"$before")" 10
    c=$(chunk -1 0)
    IFS=_ read -r x y z <<<"$c"
    echo "$((x * 16 + 1)),$((y * 16 + 2)),$((z * 16 + 3)),base:gold_block" >>"$(zone)/chunks/$c/voxels.csv"
    same 'tiles behind an edit' "$(others "$before")" 'heightmap.png heightmaps/-1_0.png map.png maps/-1_0.png'
    before=$(tiles)
    sed -i 's/\b15\b/14/' "$(zone)/chunks/$c/lights/sky.txt" 2>/dev/null
    same 'tiles behind an edit of lights' "$(others "$before")" ''
    want mkdir "$(zone)/chunks/-17_$((y + 1))_2"
    same 'tiles behind a new chunk in a new region' "$(others "$before" | tr ' ' '\n' | grep -c '/[01]_\|-1_-\|-1_0')" 0
    down
}

sculpted() {
    local x z h c
    up
    read -r x z h < <(column 0_-1)
    cp "$(zone)/heightmaps/0_-1.png" "$D/tile.png"
    cp "$(zone)/maps/0_-1.png" "$D/map.png"
    want png edit "$D/tile.png" "$x" "$z" $((h - 3))
    want cp "$D/tile.png" "$(zone)/heightmaps/0_-1.png"
    [ "$(height 0_-1 "$x" "$z")" -le $((h - 3)) ] || note "height is $(height 0_-1 "$x" "$z"), was $h"
    wants_not cmp -s "$D/map.png" "$(zone)/maps/0_-1.png"
    # Higher, at the border to the next tile, which stays as it is.
    c=$(cat "$(zone)/heightmaps/-1_-1.png" "$(zone)/heightmaps/0_0.png" | cksum)
    cp "$(zone)/heightmaps/0_-1.png" "$D/tile.png"
    want png edit "$D/tile.png" --strip 0 255 20 255 255 9 "$x" "$z" $((h + 2))
    want cp "$D/tile.png" "$(zone)/heightmaps/0_-1.png"
    same 'the corner' "$(height 0_-1 0 255) $(height 0_-1 255 255) $(height 0_-1 "$x" "$z")" "20 9 $((h + 2))"
    same 'the tiles beside it' "$(cat "$(zone)/heightmaps/-1_-1.png" "$(zone)/heightmaps/0_0.png" | cksum)" "$c"
    down
    want region check "$S/zones/base/earth/regions/region_0_0_-1.cosmicreach"
    up
    same 'after another mount' "$(height 0_-1 0 255) $(height 0_-1 255 255) $(height 0_-1 "$x" "$z")" "20 9 $((h + 2))"
    down
}

# A tile that is open goes on being that tile, whatever tiles come before it and go.
stays_the_same() {
    local x z h near
    up
    read -r x z h < <(column 0_0)
    near=$(cksum <"$(zone)/heightmaps/-1_0.png")
    cp "$(zone)/heightmaps/0_0.png" "$D/tile.png"
    want png edit "$D/tile.png" --strip "$x" "$z" $((h + 1))
    py '
tile, new = get(a[1]), a[0] + "/chunks/-100_0_-100"
out = os.open(a[0] + "/heightmaps/0_0.png", os.O_WRONLY | os.O_TRUNC)
inside = os.open(a[0] + "/heightmaps/0_0.png", os.O_RDONLY)
os.write(out, tile[:1000])
os.mkdir(new)
assert sorted(os.listdir(a[0] + "/heightmaps"))[0] == "-1_-1.png", os.listdir(a[0] + "/heightmaps")
assert "-7_-7.png" in os.listdir(a[0] + "/heightmaps")
os.write(out, tile[1000:])
os.close(out)
assert b"origin\0000 0" in os.pread(inside, 1000, 0), os.pread(inside, 200, 0)
os.rmdir(new) if not os.listdir(new) else None' "$(zone)" "$D/tile.png" || note 'open tile'
    same 'height' "$(height 0_0 "$x" "$z")" $((h + 1))
    same 'the tile beside it' "$(cksum <"$(zone)/heightmaps/-1_0.png")" "$near"
    down
}

# A chunk below all others moves the bottom: a picture of before is refused with both, in every tile.
bottom_moves() {
    local c
    c=$(chunk 0 0)
    up
    cp "$(zone)/heightmaps/-1_-1.png" "$D/old.png"
    want mkdir "$(zone)/chunks/${c%%_*}_-3_${c##*_}"
    cp "$(zone)/heightmaps/-1_-1.png" "$D/now.png"
    wants_not cmp -s "$D/old.png" "$D/now.png"
    wants_not cp "$D/old.png" "$(zone)/heightmaps/-1_-1.png"
    logged 'heightmaps/-1_-1.png: the picture was made for other bounds'
    want cmp "$(zone)/heightmaps/-1_-1.png" "$D/now.png"
    wants_not cp "$D/now.png" "$(zone)/heightmaps/0_-1.png"
    logged 'heightmaps/0_-1.png: the picture was made for other bounds'
    down 3
}

# Both are kept; each says its own columns.
two_at_once() {
    local x z h x2 z2 h2
    up
    read -r x z h < <(column 0_0)
    read -r x2 z2 h2 < <(column -1_0)
    cp "$(zone)"/heightmaps/{0_0,-1_0}.png "$D"
    want png edit "$D/0_0.png" "$x" "$z" $((h + 1))
    want png edit "$D/-1_0.png" "$x2" "$z2" $((h2 + 2))
    cp "$D/0_0.png" "$(zone)/heightmaps/0_0.png" &
    want cp "$D/-1_0.png" "$(zone)/heightmaps/-1_0.png"
    want wait $!
    same 'heights of both' "$(height 0_0 "$x" "$z") $(height -1_0 "$x2" "$z2")" "$((h + 1)) $((h2 + 2))"
    # The whole folder, as a copy of it is put back.
    want cp -r "$(zone)/heightmaps" "$D/all"
    want png edit "$D/all/0_0.png" "$x" "$z" $((h + 3))
    want cp -r "$D/all/." "$(zone)/heightmaps/"
    same 'heights' "$(height 0_0 "$x" "$z") $(height -1_0 "$x2" "$z2")" "$((h + 3)) $((h2 + 2))"
    down
}

odd_names() {
    up
    for name in 00_0 0_00 +0_0 -0_0 0_0x 99999999999_0 2147483648_0 7_7; do
        wants_not test -e "$(zone)/heightmaps/$name.png"
    done
    want sh -c "echo scratch >'$(zone)/heightmaps/00_0.png'"
    want test -s "$(zone)/heightmaps/0_0.png"
    down
}

# A folder of Godot and a place of Roblox that became too wide for one picture: a copy of chunk $1 goes to $2, which is
# in tile $3; $4 is another one.
wide() {
    local chunk=$1 to=$2 tile=$3 other=$4 before x z h
    up
    wants_not test -e "$M/heightmaps"
    want cp -r "$M/chunks/$chunk" "$M/chunks/$to"
    wants_not test -e "$M/heightmap.png"
    want test -f "$M/maps/$tile.png"
    cp "$M/heightmaps/$tile.png" "$D/tile.png"
    before=$(stat -c '%n %y' "$M/heightmaps/$other.png" "$M/maps/$other.png")
    read -r x z h < <("$PYTHON" -S -c '
import sys
sys.path.insert(0, sys.argv[1])
from png import Picture
p = Picture(sys.argv[2])
print(*next((x, z, p.get(x, z)) for z in range(p.height) for x in range(p.width) if p.get(x, z) > 0))
' "$ROOT/tests/tools" "$D/tile.png")
    want png edit "$D/tile.png" "$x" "$z" $((h + 1))
    want cp "$D/tile.png" "$M/heightmaps/$tile.png"
    same 'height' "$(png pixel "$M/heightmaps/$tile.png" "$x" "$z")" $((h + 1))
    same 'the other tile' "$(stat -c '%n %y' "$M/heightmaps/$other.png" "$M/maps/$other.png")" "$before"
    want rm -r "$M/chunks/${to%%_*}"_* # raising may have made one above it
    want test -f "$M/heightmap.png"
    wants_not test -e "$M/maps"
    down
    want "$TFS_BIN" check "$S" >/dev/null
}

wide_folder() {
    rm -r "$S"
    "$TFS_TOOLS/make_voxel" folder "$S" 1
    wide 0_0_0 700_0_-3 43_-1 0_0
}

wide_place() {
    rm -r "$S"
    "$TFS_TOOLS/make_place" --kind binary --chunks 4 "$S"
    wide -1_-1_-1 300_-1_330 37_41 -1_-1
}

try 'an edit changes the times of the tiles of its columns alone' edits_of_one_tile
try 'tiles are sculpted by a program, also at their borders' sculpted
try 'an open tile stays the same while others come and go' stays_the_same
try 'a tile of before the bottom moved, or of another place, is refused' bottom_moves
try 'two tiles at once, and a copy of them all' two_at_once
try 'names that are no tiles' odd_names
try 'the map of a wide zone' map_of_wide_zone
try 'a wide folder of Godot has tiles' wide_folder
try 'a wide place of Roblox has tiles' wide_place
finish
