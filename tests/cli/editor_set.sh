#!/usr/bin/env bash
# The pictures that BeamNG's World Editor exports, taken as they are; masks that are judged together.
. "$(dirname "$0")/lib.bash"

command -v convert >/dev/null || { echo '1..0 # skip no ImageMagick'; exit 0; }

ter() {
    python3 -S "$ROOT/tests/tools/ter.py" "$@"
}

# fresh [OPTION of make_level...]: the level `demo`, and what the editor exports of it in `set`.
fresh() {
    rm -rf demo set
    "$TOOLS/make_level" --size 64 --seed 5 "$@" demo || exit 3
    mkdir set
    "$TFS" cat demo heightmap.png >set/theTerrain_heightmap.png
    "$TFS" cat demo holes.png >set/theTerrain_holemap.png
    local i=0 name
    for name in Grass DirtRoad Rock BeachSand 'asphalt worn' warning_material; do
        "$TFS" cat demo "layers/0${i}_$name.png" >"set/theTerrain_layerMap_${i}_$name.png"
        i=$((i + 1))
    done
    cat >set/theTerrain_terrainPreset.json <<'P'
{ "heightMapPath":"levels/demo/export/theTerrain_heightmap.png", "heightScale":500, "name":"theTerrain",
  "holeMapPath":"levels/demo/export/theTerrain_holemap.png", "opacityMaps":[], "pos":{"x":-64, "y":-64, "z":-10.5},
  "squareSize":2, "type":"TerrainData" }
P
    cp demo/theTerrain.ter before.ter
}

# paint FILE COLOUR X1,Y1 X2,Y2: a rectangle of a picture of the set.
paint() {
    convert "set/theTerrain_$1.png" -fill "$2" -draw "rectangle $3 $4" painted.png && mv painted.png "set/theTerrain_$1.png"
}

# at X Y: the layer of a pixel.
at() {
    ter at demo/theTerrain.ter "$1" $((63 - $2)) | cut -d ' ' -f 2
}

# is WANTED X Y WHAT
is() {
    [ "$(at "$2" "$3")" = "$1" ]
    ok "$4"
}

fresh
run 0 "a set that nobody edited is taken" import set demo
says err 'nothing differs' "and is what the terrain is"
cmp -s demo/theTerrain.ter before.ter
ok "byte for byte"

# All at once: the background is taken away, its pixels are painted elsewhere; a hole, heights.
fresh
for i in 0_Grass 1_DirtRoad 2_Rock 3_BeachSand '4_asphalt worn' 5_warning_material; do
    paint "layerMap_$i" black 10,10 29,29
done
paint layerMap_0_Grass black 40,40 63,63
paint layerMap_1_DirtRoad black 40,40 63,63
paint layerMap_2_Rock black 40,40 63,63
paint layerMap_3_BeachSand black 40,40 63,63
paint 'layerMap_4_asphalt worn' black 40,40 63,63
paint layerMap_5_warning_material white 40,40 63,63
paint layerMap_2_Rock white 10,10 29,29
paint holemap black 12,12 29,29
paint holemap white 12,12 13,13
convert set/theTerrain_heightmap.png -evaluate add 100 -define png:bit-depth=16 h.png && mv h.png set/theTerrain_heightmap.png
run 0 "an edited set is taken" import set demo
is 2 10 10 "what one mask gave up another one has"
is 2 29 29 "to the corner"
is 5 63 63 "layer 0 too is taken away"
is 255 12 12 "a hole of the hole map goes before masks"
[ "$(ter diff before.ter demo/theTerrain.ter | cut -d ' ' -f 2)" = 4096 ]
ok "heights came along"
[ -z "$(find demo -name '.*')" ]
ok "nothing is left in the level"
run 0 "the same set once more" import set demo
says err 'nothing differs' "changes nothing"
says err '4 pixels became white in several masks' "and says again what it decided"

# Overlaps.
fresh
for i in 0_Grass 1_DirtRoad 2_Rock 3_BeachSand '4_asphalt worn' 5_warning_material; do
    paint "layerMap_$i" black 0,0 63,63
done
"$TFS" put demo chunks/0_0_0/layers.txt <<<'fill 0'
cp demo/theTerrain.ter before.ter
run 1 "pixels that leave layer 0 for nothing" import set demo
says err 'layerMap_0_Grass.png: pixel [0-9]+,[0-9]+ leaves layer 0, but no other mask takes it' "are named"
cmp -s demo/theTerrain.ter before.ter
ok "nothing was written"
"$TFS" put demo layers/03_BeachSand.png < <(convert -size 64x64 xc:black -fill white -draw 'rectangle 0,0 9,9' png:-)
paint layerMap_1_DirtRoad white 0,0 9,9
paint layerMap_4_'asphalt worn' white 5,0 9,9
cp demo/theTerrain.ter before.ter
rm set/theTerrain_layerMap_{0_Grass,2_Rock,5_warning_material}.png
run 0 "two masks that become white at the same pixels" import set demo
says err '^terrainfs: set: warning: 50 pixels became white in several masks: the highest number has them' \
    "are counted"
is 1 4 4 "one mask alone has its pixels"
is 4 5 4 "the higher number has the others"

# An export of ours is judged in the same way.
fresh
run 0 "export" export demo out.d
convert out.d/layers/00_Grass.png -fill black -draw 'rectangle 0,0 63,63' g.png && mv g.png out.d/layers/00_Grass.png
convert out.d/layers/03_BeachSand.png -fill white -draw 'rectangle 0,0 63,63' g.png && mv g.png out.d/layers/03_BeachSand.png
run 0 "import of two edited masks" import out.d demo
[ "$(ter count demo/theTerrain.ter 3)" = 4096 ]
ok "all of layer 0 became another"
rm -r out.d

# ---- levels with several terrains -----------------------------------------------------------------------

# rename_set NAME: the set is one of that terrain.
rename_set() {
    local f
    for f in set/theTerrain_*; do
        mv "$f" "set/$1_${f#set/theTerrain_}"
    done
}

fresh
rm -r demo
"$TOOLS/make_level" --size 64 --seed 5 --terrains 3 demo
cp set/theTerrain_heightmap.png first.png
"$TFS" cat demo terrains/theTerrain2/heightmap.png >set/theTerrain_heightmap.png
for f in holes:holemap layers/00_Grass:layerMap_0_Grass; do
    "$TFS" cat demo "terrains/theTerrain2/${f%:*}.png" >"set/theTerrain_${f#*:}.png"
done
rm set/theTerrain_layerMap_[1-9]*
rename_set theTerrain2
convert set/theTerrain2_heightmap.png -evaluate add 100 -define png:bit-depth=16 h.png && mv h.png set/theTerrain2_heightmap.png
cksum demo/*.ter >before
run 0 "a set of one of several terrains" import set demo
cksum demo/*.ter | diff before - | grep '^>' >out
[ "$(wc -l <out)" = 1 ] && grep -q theTerrain2.ter out
ok "is taken by the terrain that its name begins with"
cp first.png set/theTerrain_heightmap.png
cksum demo/*.ter >before
run 1 "sets of two terrains" import set demo
says err 'it has files of several saves of demo: nothing was taken. Put each set into .* terrains/theTerrain.* and terrains/theTerrain' \
    "are told to be put apart"
mkdir -p apart/terrains/theTerrain
cp set/theTerrain_heightmap.png apart/terrains/theTerrain
convert apart/terrains/theTerrain/theTerrain_heightmap.png -evaluate add 50 -define png:bit-depth=16 h.png &&
    mv h.png apart/terrains/theTerrain/theTerrain_heightmap.png
rm set/theTerrain_heightmap.png
cksum demo/*.ter | cmp -s before -
ok "nothing was written"
run 0 "a set in terrains/NAME" import apart demo
cksum demo/*.ter | diff before - | grep '^>' >out
[ "$(wc -l <out)" = 1 ] && grep -q 'theTerrain.ter' out
ok "is taken by that terrain"
mkdir -p none && cp first.png none/other_heightmap.png
run 1 "a set of none of them" import none demo
says err 'it has nothing of the saves of demo: nothing was taken. What is meant for one .* such as its terrains/theTerrain' \
    "is told where it belongs"
mkdir none/chunks && mv none/other_heightmap.png none/theTerrain2_heightmap.png
run 1 "the tree of one save, with such a picture" import none demo
says err 'it has nothing of the saves of demo: nothing was taken' "is none of an editor"
"$TOOLS/make_world" --regions 1 --chunks 2 world && cp -r world/zones/base world/zones/mod
mkdir pictures && cp first.png pictures/earth_heightmap.png
run 1 "a picture of one of two zones that have one name" import pictures world
says err 'it has files of several saves of world: nothing was taken' "is refused"
rm -r world pictures
rm -r apart none before first.png

# ---- sets that do not fit -------------------------------------------------------------------------------

fresh
mv set/theTerrain_layerMap_2_Rock.png set/theTerrain_layerMap_2_Granite.png
run 1 "a mask whose material has another name" import set demo
says err '2_Granite.png: is the mask of material 2, Granite, but that is Rock in the terrain' "names both"
fresh
mv set/theTerrain_layerMap_2_Rock.png set/theTerrain_layerMap_7_Rock.png
run 1 "a mask of a material that is not there" import set demo
says err 'is the mask of material 7, but the terrain has 6' "says how many there are"
mv set/theTerrain_layerMap_7_Rock.png set/theTerrain_layerMap_4294967297_Rock.png
run 1 "a mask of a number beyond all" import set demo
says err 'is the mask of material 4294967297, but the terrain has 6' "names it as it is"
fresh
sed -i 's/"heightScale":500/"heightScale":512/' set/*.json
run 1 "another height scale" import set demo
says err 'terrainPreset.json: is of a terrain that is 512 metres high, this one is 500' "names both"
rm set/*.json
run 0 "is taken without the preset" import set demo
fresh
echo '{' >set/theTerrain_terrainPreset.json
run 1 "a preset that is no JSON" import set demo
says err 'is not the JSON of a preset' "says so"
fresh
sed -i 's/500/"x"/' set/*.json
run 0 "a scale that is no number says nothing" import set demo
fresh
cp set/theTerrain_heightmap.png set/second_heightmap.png
run 1 "sets of two terrains in one directory" import set demo
says err 'are the same file of the tree: take one of them away' "are refused"
fresh
convert set/theTerrain_holemap.png -threshold 101% -negate h.png && mv h.png set/theTerrain_holemap.png
run 1 "a hole map that is turned round" import set demo
says err 'the whole terrain would become a hole: white is a hole' "is refused"
fresh
convert set/theTerrain_heightmap.png -resize 32x32 h.png && mv h.png set/theTerrain_heightmap.png
run 1 "a height map of another size" import set demo
says err 'theTerrain_heightmap.png: the picture has 32 x 32 pixels, 64 x 64 are needed' "is refused"
cmp -s demo/theTerrain.ter before.ter
ok "with all of the set"
fresh --version 7
run 1 "Torque3D's pictures" import set demo
says err "of Torque3D turns them over and stretches the heights" "are told apart by the terrain"
fresh
for name in _layerMap_.png x_layerMap_99999999999999999999_Rock.png x_layerMap_2Rock.png x_layerMap_-1_Rock.png; do
    cp set/theTerrain_holemap.png "set/$name"
done
"$TFS" import set demo >out 2>err
cmp -s demo/theTerrain.ter before.ter
ok "odd names change nothing"
fresh
mkdir lower && for f in set/*.png; do cp "$f" "lower/$(basename "$f" | sed 's/layerMap/LAYERMAP/; s/heightmap/heightMap/; s/holemap/holeMap/')"; done
run 0 "case of the names does not count" import lower demo
says err 'nothing differs' "they are the same pictures"

done_testing
