#!/usr/bin/env bash
# import in every game: a view that nobody touched undoes no edit, and two that disagree are named.
. "$(dirname "$0")/lib.bash"

png() {
    python3 "$ROOT/tests/tools/png.py" "$@"
}

# start EDIT...: `save` is a copy of `base`; `dir` the export of another copy, in which the command made an edit.
start() {
    rm -rf save theirs dir
    cp -r base save && cp -r base theirs
    "$@" || exit 3
    "$TFS" export theirs dir || exit 3
}

# change SAVE PATH SED: one of its files is edited.
change() {
    "$TFS" cat "$1" "$2" | sed "$3" >text
    "$TFS" put "$1" "$2" <text
}

# A line of voxels.csv that is gone from the one, and another that is gone from the other.
games() {
    local what=$1 path=$2 mine=$3 yours=$4 grid=$5 filled=$6
    start change theirs "$path/voxels.csv" "${mine}d"
    cp "dir/$path/voxels.csv" csv
    sed -i "${yours}d" "dir/$path/voxels.csv"
    run 0 "$what: an edit in the export of another save is imported" import dir save
    "$TFS" cat save "$path/voxels.csv" | cmp -s - "dir/$path/voxels.csv"
    ok "$what: and no view that nobody touched undoes it"
    cp -r save after
    run 0 "$what: the same again" import dir save
    diff -r save after >out
    ok "$what: changes nothing"
    echo "$filled" >"dir/$path/$grid"
    run 1 "$what: a grid that does not know of it" import dir save
    says err "dir/$path/voxels.csv: it disagrees with other files of this chunk" "$what: is named"
    diff -r save after >out
    ok "$what: and is not taken"
    rm -rf after
    start change theirs "$path/voxels.csv" "${mine}d"
    run 0 "$what: --all takes the export" import --all dir save
    diff -r save theirs >out || [ "$what" = Godot ]
    ok "$what: with all its bytes"
    "$TFS" export save again && diff -r dir again >out
    ok "$what: all files are the same"
    rm -rf again
    start change theirs "$path/voxels.csv" "${mine}d"
    rm -r dir/.terrainfs
    sed -i "${yours}d" "dir/$path/voxels.csv"
    run 1 "$what: without a manifest all views count" import dir save
    says err "it disagrees with other files of this chunk" "$what: and disagree with the edit"
}

"$TOOLS/make_voxel" stream base 20 || exit 3
"$TFS" export base look
path=$(cd look && grep -l '^x,y,z,.*type' chunks/*/voxels.csv | head -n 1)
games Godot "${path%/*}" 5 9 channels/type.txt $'depth 8\nfill 3'
rm -rf base look

"$TOOLS/make_place" --kind binary --log2 4 --chunks 6 base || exit 3
"$TFS" export base look
path=$(cd look && wc -l chunks/*/voxels.csv | awk '$1 > 100 && $2 != "total" { print $2; exit }')
games Roblox "${path%/*}" 5 9 materials.txt 'fill 1'
rm -rf base look

# ---- BeamNG: pictures and tiles show the same numbers
"$TOOLS/make_ter" --sidecar --version 9 --size 200 --materials 4 --seed 3 base.ter || exit 3
ter() {
    rm -rf save.ter dir
    cp base.ter save.ter
    "$TFS" export base.ter dir || exit 3
}
shows() {
    "$TFS" cat save.ter "$1" >out.png
    [ "$(png pixel out.png "$2" "$3")" = "$4" ]
    ok "$5"
}

ter
echo 'fill 7' >dir/chunks/0_0_0/heights.txt
png edit dir/heightmap.png 150 20 4242
run 0 "BeamNG: a tile and a pixel elsewhere" import dir save.ter
shows heightmap.png 150 20 4242 "BeamNG: the pixel is taken"
shows heightmap.png 3 190 7 "BeamNG: and the picture undoes no tile"
cp save.ter after.ter
run 0 "BeamNG: the same again" import dir save.ter
same save.ter after.ter "BeamNG: changes nothing"

ter
echo 'fill 7' >dir/chunks/0_0_0/heights.txt
png edit dir/heightmap.png 3 190 4242
run 0 "BeamNG: a pixel in an edited tile" import dir save.ter
shows heightmap.png 3 190 4242 "BeamNG: comes after it"
shows heightmap.png 4 190 7 "BeamNG: and undoes nothing else of it"

ter
masks=(dir/layers/*.png)
png edit "${masks[1]}" 20 20 255 21 20 255
png edit "${masks[2]}" 30 20 255 31 20 255
png edit dir/holes.png 40 20 255
"$TFS" cat base.ter layers.png >out.png
before=$(png pixel out.png 50 20)
run 0 "BeamNG: two masks and the holes" import dir save.ter
shows layers.png 20 20 1 "BeamNG: the first is taken"
shows layers.png 31 20 2 "BeamNG: the second is taken"
shows layers.png 40 20 255 "BeamNG: the hole is taken"
shows layers.png 50 20 "$before" "BeamNG: and what nobody painted stays"

cp base.ter theirs.ter
echo 'fill 9' | "$TFS" put theirs.ter chunks/1_0_1/heights.txt
ter
png edit dir/heightmap.png 3 190 4242
cp theirs.ter save.ter
run 0 "BeamNG: a pixel, into a terrain that was changed since the export" import dir save.ter
shows heightmap.png 3 190 4242 "BeamNG: is taken"
"$TFS" cat save.ter chunks/1_0_1/heights.txt >mine
"$TFS" cat theirs.ter chunks/1_0_1/heights.txt | cmp -s - mine
ok "BeamNG: and what was changed stays"

ter
sed -i 's/^2 .*/2 granite/; $a 4 snow' dir/palette.txt
"$TFS" cat base.ter chunks/0_0_0/layers.txt | sed '1,/|/s/| *[0-9]*/|   4/' >dir/chunks/0_0_0/layers.txt
run 0 "BeamNG: a material and a sample of it" import dir save.ter
"$TFS" cat save.ter chunks/0_0_0/layers.txt | cmp -s - dir/chunks/0_0_0/layers.txt
ok "BeamNG: are taken"
done_testing
