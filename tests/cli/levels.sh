#!/usr/bin/env bash
# BeamNG levels: which folder means which terrain, what its TerrainBlock says of it, several terrains, and
# levels that are not as they should be.
. "$(dirname "$0")/lib.bash"
# shellcheck disable=SC2154 # state is of lib.bash

items=main/MissionGroup/Level_object/items.level.json

# level DIR [OPTION of make_level...]
level() {
    local dir=$1
    shift
    rm -rf "$dir"
    "$TOOLS/make_level" "$@" "$dir" || exit 3
}

# fresh [OPTION of make_level...]: mod/levels/demo
fresh() {
    rm -rf mod "${state:?}"/* # another level in the place of the last one: nothing is to be undone
    level mod/levels/demo "$@"
}

# block JSON: the only TerrainBlock of mod/levels/demo is this.
block() {
    printf '%s\n' "$1" >mod/levels/demo/$items
}

# identities DIR: what of it must stay.
identities() {
    (cd "$1" && find . -type f ! -name '*.ter' -printf '%p %i %T@ %s\n' | sort)
}

fresh
for path in mod/levels/demo mod/levels/demo/main mod/levels/demo/main/MissionGroup/Level_object mod \
    mod/levels/demo/theTerrain.ter; do
    run 0 "$path is the level's terrain" info "$path"
    says out '^level: demo$' "it says which level"
    says out '^terrain-block: theTerrain$' "it names the TerrainBlock"
    says out '^position: -128 -128 -10.5$' "it has the position"
    says out '^square-size: 2 metres$' "it has the scale"
    says out '^max-height: 500 metres$' "it has maxHeight"
done
"$TFS" cat mod heightmap.png >heights.png
python3 - heights.png <<'P' >wanted
import struct, sys, zlib
data, at, idat = open(sys.argv[1], 'rb').read(), 8, b''
while at < len(data):
    n, = struct.unpack('>I', data[at:at + 4])
    idat += data[at + 8:at + 8 + n] if data[at + 4:at + 8] == b'IDAT' else b''
    at += 12 + n
raw = zlib.decompress(idat)
h = [v for r in range(128) for v in struct.unpack('>128H', raw[r * 257 + 1:r * 257 + 257])]
print('metres: %.3f to %.3f' % (min(h) * 500 / 65535 - 10.5, max(h) * 500 / 65535 - 10.5))
P
"$TFS" info mod | grep ^metres: >out
same wanted out "the range of heights in metres is what the picture and the level say"

fresh --version 7
"$TFS" info mod >out
heights=$(sed -n 's/^heights: //p' out)
awk '{ printf "metres: %.3f to %.3f\n", $1 / 32 - 10.5, $3 / 32 - 10.5 }' <<<"$heights" >wanted
grep ^metres: out | cmp -s - wanted
ok "of Torque3D's version 7 a unit is 1/32 metre"

# ---- edits ----------------------------------------------------------------------------------------------

fresh
identities mod/levels/demo >before
"$TFS" cat mod chunks/0_0_0/heights.txt | sed 's/| *[0-9]*/|   123/' >tile
run 0 "put writes the terrain of the level" put mod chunks/0_0_0/heights.txt <tile
"$TFS" cat mod/levels/demo/theTerrain.ter chunks/0_0_0/heights.txt | cmp -s - tile
ok "the .ter has it"
identities mod/levels/demo | cmp -s - before
ok "every other file of the level keeps bytes, time and inode"
[ -z "$(find mod -name '.*')" ]
ok "nothing of ours is left in the level"
run 0 "undo of the level" undo mod/levels/demo
"$TFS" cat mod chunks/0_0_0/heights.txt >out
differ out tile "brings the terrain back"
run 0 "undo finds it by its .ter, too" undo mod/levels/demo/theTerrain.ter
"$TFS" cat mod chunks/0_0_0/heights.txt | cmp -s - tile
ok "that was a redo"
run 0 "export of a level" export mod out.d
sed -i 's/| *[0-9]*/|   321/' out.d/chunks/1_0_1/heights.txt
run 0 "import into the level" import out.d mod/levels/demo
says err '1 file taken' "takes what was edited"
run 0 "diff of a level and its terrain" diff mod/levels/demo mod/levels/demo/theTerrain.ter
run 0 "check of a level" check mod

# ---- metres ---------------------------------------------------------------------------------------------

fresh
run 0 "info of a level has what GDAL needs" info mod
says out '^gdal: -scale 0 65535 -10.5 489.5 -a_ullr -129 127 127 -129$' "for pixels around the samples"
if command -v gdal_translate >/dev/null; then
    "$TFS" cat mod heightmap.png >h.png
    # shellcheck disable=SC2046 # options
    gdal_translate -q -of GTiff -ot Float32 $(sed -n 's/^gdal: //p' out) h.png h.tif && gdalinfo -mm h.tif >tif
    metres=$("$TFS" info mod | sed -n 's/^metres: \(.*\) to \(.*\)/\1,\2/p')
    grep -q "Min/Max=$metres" tif
    ok "GDAL makes the same metres of it"
    rm -f h.png h.tif
else
    skip "GDAL makes the same metres of it" "no gdal_translate"
fi
cp mod/levels/demo/theTerrain.ter alone.ter
"$TFS" cat mod heightmap.png >ours.png
"$TFS" put alone.ter heightmap.png <ours.png
ok "a terrain without level takes a height map with texts"
sed -i 's/"maxHeight":500/"maxHeight":512/' mod/levels/demo/$items
run 1 "a height map of another scale" put mod heightmap.png <ours.png
says err 'the picture says that it is of a terrain with max-height 500, this one has 512' "is refused with both"

# ---- masks of one import --------------------------------------------------------------------------------

# paint MASK COLOUR: a rectangle of a mask in out.d.
paint() {
    convert "out.d/layers/$1.png" -fill "$2" -draw 'rectangle 0,0 9,9' m.png && mv m.png "out.d/layers/$1.png"
}

if command -v convert >/dev/null; then
    fresh --size 64 --seed 5
    rm -r out.d
    run 0 "an export" export mod out.d
    for mask in 00_Grass 01_DirtRoad 02_Rock 04_'asphalt worn' 05_warning_material; do
        paint "$mask" black
    done
    paint 03_BeachSand white
    run 0 "import of masks of which one takes what the others give away" import out.d mod
    says err '[2-6] files taken' "takes them"
    python3 -S "$ROOT/tests/tools/ter.py" at mod/levels/demo/theTerrain.ter 9 54 | grep -q '^[0-9]* 3$'
    ok "also what was layer 0"
    rm -r out.d
else
    skip "import of masks" "no ImageMagick"
fi

# ---- materials of one import ----------------------------------------------------------------------------

# material TREE NUMBER NAME: its palette.txt says so.
material() {
    sed -i "s/^$2 .*/$2 $3/" "$1/palette.txt"
}

# theirs NUMBER NAME: the terrain says so, by somebody else.
theirs() {
    "$TFS" cat mod palette.txt | sed "s/^$1 .*/$1 $2/" >names && "$TFS" put mod palette.txt <names
}

fresh --size 64
run 0 "an export" export mod out.d
theirs 0 Meadow && "$TFS" cat mod palette.txt | sed '$a6 Snow' >names && "$TFS" put mod palette.txt <names
material out.d 1 Track
run 0 "import of a list of materials" import out.d mod
printf '%s\n' '0 Meadow' '1 Track' '2 Rock' '3 BeachSand' '4 asphalt worn' '5 warning_material' '6 Snow' >wanted
"$TFS" cat mod palette.txt | cmp -s - wanted
ok "what nobody edited in it undoes nothing"
material out.d 1 Street
run 0 "import of the list that was edited once more" import out.d mod
"$TFS" cat mod palette.txt | grep -qx '1 Street'
ok "takes that, too"
sed -i '$a6 Ice' out.d/palette.txt && "$TFS" cat mod palette.txt >wanted
run 1 "import of a list that has another material with the number of a new one" import out.d mod
says err 'material 6 came to the terrain since, as Snow' "says which"
"$TFS" cat mod palette.txt | cmp -s - wanted
ok "it stays"
sed -i '$d' out.d/palette.txt
theirs 2 Stone && theirs 0 Rock && material out.d 3 Beach
"$TFS" cat mod palette.txt >wanted
run 1 "import of a list whose materials have other numbers by now" import out.d mod
says err 'material 2 is Rock, which is material 0 of the terrain: names were moved' "says which"
"$TFS" cat mod palette.txt | cmp -s - wanted
ok "nothing was written"
rm -r out.d

# ---- several terrains -----------------------------------------------------------------------------------

fresh --terrains 3
run 0 "info of a level with several terrains" info mod
says out '^save: terrains/theTerrain$' "names the first"
says out '^save: terrains/theTerrain3$' "and the last"
[ "$(grep -c '^position: ' out)" = 3 ]
ok "each has its position"
run 0 "cat takes the path of the tree" cat mod terrains/theTerrain2/info.txt
"$TFS" info mod/levels/demo/theTerrain2.ter | grep -v ^container >wanted
grep -v ^container out | cmp -s - wanted
ok "it is that terrain"
run 0 "export of several" export mod several
sed -i 's/| *[0-9]*/|   321/' several/terrains/theTerrain3/chunks/0_0_0/heights.txt
cksum mod/levels/demo/*.ter >before
run 0 "import of several" import several mod
cksum mod/levels/demo/*.ter | diff before - | grep '^>' >out
[ "$(wc -l <out)" = 1 ] && grep -q theTerrain3.ter out
ok "writes the one that was edited"
run 1 "undo of a level with several" undo mod
says err 'mod: holds several saves, and one is wanted here, such as .*/theTerrain.ter' "names one"
run 0 "undo of the terrain" undo mod/levels/demo/theTerrain3.ter
cksum mod/levels/demo/*.ter | cmp -s - before
ok "brings it back"
cp -r mod other
run 0 "diff of equal levels" diff mod other
"$TFS" put other/levels/demo/theTerrain2.ter chunks/0_0_0/heights.txt <tile
run 1 "diff of levels" diff mod other
rm other/levels/demo/theTerrain3.ter
run 1 "diff of a level that lacks a terrain" diff mod other
says out 'only in mod: terrains/theTerrain3' "says so"
rm -rf other several
run 2 "what wants one save says which there are" merge mod mod mod -o merged.ter
says err 'holds several saves, and one is wanted here, such as .*/theTerrain.ter' \
    "by its path"

# One file for two objects is one terrain.
fresh
sed -n '$p' mod/levels/demo/$items | sed 's/"theTerrain"/"second"/; s/-10.5/99/' >>mod/levels/demo/$items
run 0 "two TerrainBlock objects for one file" info mod
says out '^position: -128 -128 -10.5$' "are one terrain at the place of the first"
says out '^warning: 2 TerrainBlock objects of the level show this terrain' "which is said"

# Two files of one name in two folders.
fresh --terrains 2
mkdir mod/levels/demo/art
mv mod/levels/demo/theTerrain2.ter mod/levels/demo/art/THETERRAIN.ter
sed -i 's|demo/theTerrain2.ter|demo/art/THETERRAIN.ter|' mod/levels/demo/$items
run 0 "two terrains of one name" info mod
says out '^save: terrains/THETERRAIN$' "the first has it"
says out '^save: terrains/theTerrain-2$' "the second has a number"

# ---- which file is live ---------------------------------------------------------------------------------

fresh
sed -i 's|/levels/demo/|/levels/another/art/|' mod/levels/demo/$items
run 0 "the path of another level is matched by its last part" info mod
fresh
mv mod/levels/demo/theTerrain.ter mod/levels/demo/THETERRAIN.TER
run 0 "case does not count" info mod
fresh
cp mod/levels/demo/theTerrain.ter mod/levels/demo/old.ter
run 0 "a terrain that no TerrainBlock shows is not live" info mod
says out '^terrain-block: theTerrain$' "the other one is shown"
run 0 "given itself" info mod/levels/demo/old.ter
says out '^terrain-block: none$' "it has no TerrainBlock"
says out '^warning: no TerrainBlock of the level shows this terrain' "which is a warning"
fresh
mkdir mod/levels/demo/{a,b}
cp mod/levels/demo/theTerrain.ter mod/levels/demo/a
mv mod/levels/demo/theTerrain.ter mod/levels/demo/b
run 1 "two files that may be meant" info mod
says err 'may mean .*/demo/a/theTerrain.ter or .*/demo/b/theTerrain.ter: give the one' "are named"
rm mod/levels/demo/[ab]/theTerrain.ter
run 1 "a terrain that is missing" info mod
says err 'there is no theTerrain.ter in it, which its TerrainBlock names' "is named"
fresh --terrains 2
rm mod/levels/demo/theTerrain2.ter
run 0 "one of two that is missing leaves the other" info mod
says out '^warning: of the level: there is no theTerrain2.ter in it' "and a warning"
fresh --terrains 0
run 1 "a level without TerrainBlock" info mod
says err 'is a level without a terrain: it has no TerrainBlock' "says so"

# ---- hostile levels -------------------------------------------------------------------------------------

b='"class":"TerrainBlock","name":"theTerrain"'
fresh
for value in NaN Infinity 1e999 -1e999 1e300 '"x"' '{}' '[1]' null '"1 2"' -5 0; do
    block "{$b,\"terrainFile\":\"theTerrain.ter\",\"maxHeight\":$value,\"squareSize\":$value,\"position\":[0,0,$value]}"
    "$TFS" info mod >out 2>err || grep -q 'TerrainBlock cannot be read' err
    ok "a number that is $value does no harm"
    ! grep -qE '^metres:.*(nan|inf)' out
    ok "and makes none of heights"
done
block "{$b,\"terrainFile\":\"theTerrain.ter\",\"maxHeight\":\"300\",\"position\":\"1 2 3\"}"
run 0 "numbers in strings" info mod
says out '^position: 1 2 3$' "are read, as older levels have them"
says out '^square-size: 1 metres$' "squares are of a metre where nothing is said"
block "{$b,\"terrainFile\":\"theTerrain.ter\"}"
run 0 "a TerrainBlock without numbers" info mod
! grep -qE '^(position|max-height|metres):' out
ok "has no scale in metres"
printf '\357\273\277{%s,"terrainFile":"theTerrain.ter"}\r\n' "$b" >mod/levels/demo/$items
run 0 "a byte order mark and CR LF" info mod
for file in '../../../../../../etc/theTerrain.ter' '/etc/theTerrain.ter' '..\\..\\theTerrain.ter' \
    '/levels/demo/../../theTerrain.ter'; do
    block "{$b,\"terrainFile\":\"$file\"}"
    run 0 "the path $file" info mod
    says out '^terrain-block: theTerrain$' "does not lead out of the level"
done
for file in '' '/' '.ter' 'theTerrain.dds' 'a\u0000.ter'; do
    block "{$b,\"terrainFile\":\"$file\"}"
    run 1 "the path '$file' is no terrain" info mod
    says err 'is a level without a terrain that can be shown' "says so"
done
block "{$b,\"terrainFile\":17}"
run 1 "a path that is a number" info mod
block "{$b,\"terrainFile\":\"theTerrain.ter\""
run 1 "a line that is cut" info mod
says err 'TerrainBlock cannot be read: a line of its items.level.json is not one JSON object' "is told"
python3 -c 'print("{\"class\":\"TerrainBlock\",\"a\":" + "[" * 100000 + "]" * 100000 + "}")' >mod/levels/demo/$items
run 1 "a deep line" info mod
says err 'TerrainBlock cannot be read' "is not read"
python3 -c '
print("{\"class\":\"Other\",\"note\":\"TerrainBlock " + "x" * 30000000 + "\"}")
for i in range(20000):
    print("{\"class\":\"TerrainBlock\",\"terrainFile\":\"no%d.ter\"}" % i)' >mod/levels/demo/$items
run 1 "a huge level ends" info mod
says err 'there is no no0.ter in it' "with a sentence"
: >mod/levels/demo/$items
run 1 "an empty file of objects" info mod

# Names.
for name in 'a b' $'a\nb' "it's" '-x' 'ä' '%s' '"q"'; do
    fresh --terrains 2
    mv mod/levels/demo/theTerrain2.ter "mod/levels/demo/$name.ter"
    python3 -c '
import json, os, sys
p, name = sys.argv[1:]
lines = open(p).read().splitlines()
b = json.loads(lines[-1])
b["terrainFile"] = "levels/demo/@"
text = json.dumps(b).encode().replace(b"@", json.dumps(name)[1:-1].encode() + b".ter" if name.isascii() else os.fsencode(name) + b".ter")
open(p, "wb").write("\n".join(lines[:-1]).encode() + b"\n" + text + b"\n")' mod/levels/demo/$items "$name"
    rm -rf named
    run 0 "a terrain called $(printf %q "$name")" export mod named
    [ -f "named/terrains/$name/info.txt" ]
    ok "is exported under its name"
done

# Links.
fresh
mv mod/levels/demo/theTerrain.ter outside.ter
ln -s "$PWD/outside.ter" mod/levels/demo/theTerrain.ter
run 1 "a terrain that is a link out of the level" info mod
says err 'theTerrain.ter is a link that leads out of the level: give what it leads to, .*/outside.ter' \
    "is not followed"
rm mod/levels/demo/theTerrain.ter
mkdir mod/levels/demo/art
mv outside.ter mod/levels/demo/art/inside.ter
ln -s art/inside.ter mod/levels/demo/theTerrain.ter
run 0 "a link within the level is followed" info mod
fresh
mv mod/levels/demo/main elsewhere
ln -s "$PWD/elsewhere" mod/levels/demo/main
run 1 "objects behind a link" info mod
rm mod/levels/demo/main
mv elsewhere mod/levels/demo/main
ln -s ../.. mod/levels/demo/main/loop
mv mod/levels/demo/$items there.json
ln -s "$PWD/there.json" mod/levels/demo/$items
run 1 "a file of objects that is a link, and a loop of links" info mod
says err 'it has no TerrainBlock' "are not followed"
ln -s "$PWD/mod/levels/demo" shortcut
rm mod/levels/demo/$items
mv there.json mod/levels/demo/$items
run 0 "a link to a level is that level" info shortcut
says out '^level: demo$' "by its own name"

# ---- folders of levels ----------------------------------------------------------------------------------

fresh
level mod/levels/another
run 1 "a mod with several levels" info mod
says err '^terrainfs: mod: is a folder that no format fits' "is no save"
rm -r mod/levels/another
run 0 "-o format=beamng of a level" info -o format=beamng mod
run 1 "-o format= of another game" info -o format=luanti mod

done_testing
