#!/usr/bin/env bash
# export -o views= and back: each set of files holds the whole terrain, and what was not exported was not removed.
. "$(dirname "$0")/lib.bash"

# gone: `empty` is a copy of `base` without any chunk.
gone() {
    rm -rf empty none
    cp -Rp base empty && mkdir -p none/chunks
    "$TFS" import -o views=voxels --delete none empty >out 2>err || exit 3
}

# round WHAT VIEWS: an export of `base`, imported into a save without chunks and into itself.
round() {
    rm -rf dir
    run 0 "$1: export of $2" export -o "views=$2" base dir
    grep -qx "views $2" dir/.terrainfs/manifest
    ok "$1: the manifest names $2"
    [ ! -e dir/info.txt ] && [ ! -e dir/map.png ]
    ok "$1: nothing derived is in $2"
    run 0 "$1: diff of base and $2" diff base dir
    gone
    run 0 "$1: $2 into a save without chunks" import --all --delete dir empty
    run 0 "$1: it has the terrain of base" diff base empty
    cp -Rp base save
    run 0 "$1: $2 back into base" import --delete dir save
    diff -r base save >out
    ok "$1: changes nothing and removes nothing"
    rm -rf save
}

region base --kind demo
for views in voxels grids raw voxels+grids+raw; do
    round 'Cosmic Reach' $views
done

"$TFS" export -o views=voxels base dir2
"$TFS" export base dir3
run 0 "the same save" diff base dir3
[ "$(cd dir2 && find chunks -type f | sort)" = "$(cd dir3 && find chunks -name voxels.csv -o -path '*lights/*' -o -name entities.bin | sort)" ]
ok "voxels is voxels.csv, lights and entities"
rm -rf dir2/.terrainfs save
"$TFS" export -o views=raw base raw
rm -rf raw/.terrainfs
cp base save
run 0 "a tree without manifest says what it has by an option" import -o views=raw --delete raw save
same save base "and no light was removed"
chunk=$(cd dir2 && grep -c '' chunks/*/voxels.csv | awk -F: '$2 > 9 { sub("/voxels.csv", "", $1); print $1; exit }')
rm -r "dir2/$chunk/lights"
sed -i '$d' "dir2/$chunk/voxels.csv"
run 0 "an edited checkout is imported" import --delete dir2 save
"$TFS" cat save "$chunk/voxels.csv" | cmp -s - "dir2/$chunk/voxels.csv"
ok "with its edit"
"$TFS" export save dir4
[ ! -e "dir4/$chunk/lights/sky.txt" ] && [ ! -e "dir4/$chunk/lights/block.txt" ]
ok "and without the light that it lacks"
rm -rf base dir dir?

"$TOOLS/make_voxel" stream base 8 || exit 3
for views in voxels grids raw; do
    round Godot $views
done
rm -rf base dir

# Depths that are not those of a new block: voxels.csv has no place for them.
"$TOOLS/make_voxel" stream usual 3 && cp usual deep || exit 3
chunk=$("$TFS" text usual | sed -n '2s/^chunk \([^ ]*\).*/chunks\/\1/p')
deepen() {
    "$TFS" cat deep "$chunk/channels/$1.txt" | sed "1s/.*/depth $2/" | "$TFS" put deep "$chunk/channels/$1.txt"
}
deepen type 8 && deepen sdf 32 && deepen color 32 || exit 3
"$TFS" export -o views=voxels deep dir && "$TFS" export -o views=voxels usual shallow && "$TFS" export deep all || exit 3
says "dir/$chunk/voxels.csv" '^x,y,z,type/8,sdf/32$' "the columns of the csv say their depths"
says "dir/$chunk/channels/color.txt" '^depth 32$' "as the files of the other channels do"
says "all/$chunk/voxels.csv" '^x,y,z,type,sdf$' "not where all channels are shown"
cp usual save
run 1 "diff of another depth" diff --stat deep shallow
run 0 "import into a save with the usual depths" import --all --delete dir save
run 0 "diff finds nothing, depths included" diff deep save
run 0 "import of the usual ones" import --all --delete shallow save
run 0 "diff finds nothing then" diff usual save
rm -r dir/.terrainfs shallow/.terrainfs "shallow/$chunk"
run 0 "the chunk is removed" import -o views=voxels --delete shallow save
run 0 "and comes from a clone of the tree" import dir save
run 0 "with its depths" diff deep save
run 0 "diff with the clone" diff deep dir
cp usual save
sed '1s,/32,/8,' "dir/$chunk/voxels.csv" >csv
run 1 "a depth in which values do not fit" put save "$chunk/voxels.csv" <csv
says err 'voxels.csv:2:[0-9]*: value -?[0-9.]* is (out of range|not a whole number|no number)' "is refused at one of them"
for column in type/9 type/ type/8/8 x/8 /8 'type/8,type/16'; do
    run 1 "the column $column" put save "$chunk/voxels.csv" <<<"x,y,z,$column"
done
same usual save "nothing was written"
cp deep save
run 0 "the same depths" put save "$chunk/voxels.csv" <"dir/$chunk/voxels.csv"
same deep save "change nothing"
"$TFS" cat usual "$chunk/voxels.csv" | "$TFS" put save "$chunk/voxels.csv"
"$TFS" cat save "$chunk/channels/sdf.txt" >out
says out '^depth 32$' "without them, those of the save stay"
"$TOOLS/make_voxel" region base 2 || exit 3
chunk=$("$TFS" text base | sed -n '2s/^chunk \([^ ]*\).*/chunks\/\1/p')
"$TFS" cat base "$chunk/voxels.csv" | sed '1s,type,type/32,' >csv
run 1 "another depth in a region" put base "$chunk/voxels.csv" <csv
says err 'channel type has depth 32, .* holds blocks whose depth there is (8|16)' "is refused with the one that it has"
rm -rf base dir all shallow save csv

"$TOOLS/make_place" --kind binary --log2 4 --chunks 6 base || exit 3
for views in voxels grids raw; do
    round Roblox $views
done
rm -rf base dir

"$TOOLS/make_ter" --version 8 --size 128 --materials 4 base || exit 3
run 1 "a terrain has no raw.bin" export -o views=raw base dir5
says err 'base: views=raw: this save has no such files' "it is said"
[ ! -e dir5 ]
ok "and nothing is written"
run 0 "its tiles, palette and corners" export -o views=voxels base dir
[ "$(cd dir && find . -name '*.*' -type f -not -path './.terrainfs/*' | grep -vc '^./chunks/')" = 2 ]
ok "palette.txt and extra/corners.png are with the tiles"
echo 'fill 7' >dir/chunks/0_0_0/heights.txt
cp base save
run 0 "are imported" import dir save
run 0 "with an edit" diff save dir

sed -i 's/^views .*/views other/' dir/.terrainfs/manifest
run 1 "a manifest with unknown sets is refused" import dir save
says err 'manifest:3:.*these are no views that this program knows' "it is said where"
run 2 "info takes no sets" info -o views=raw base
says err 'views: this option is for a mount, export and import' "it is said"
run 2 "an unknown set" export -o views=csv base dir6
says err 'views=csv: there is no such view; there are voxels, grids, raw, arrays and all' "it is named"
done_testing
