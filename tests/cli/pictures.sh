#!/usr/bin/env bash
# import and put: a picture counts from the bounds that it was made for, whatever chunks come and go with it.
. "$(dirname "$0")/lib.bash"

png() {
    python3 "$ROOT/tests/tools/png.py" "$@"
}

# A save whose lowest chunks are at y = 1, so that one can come below.
region whole --chunks 12
"$TFS" export whole all || exit 3
rm -r all/chunks/?_0_?
"$TFS" import --delete all whole 2>err || exit 3
mv whole start
rm -rf all

# fresh: `save` and its export `dir` as at the start.
fresh() {
    rm -rf save dir
    cp start save
    "$TFS" export save dir || exit 3
}

fresh
height=$(png pixel dir/heightmap.png 5 5)
png texts dir/heightmap.png | grep -qx 'bottom 16'
ok "the picture says its bottom"

"$TFS" cat save chunks/0_1_0/voxels.csv | wc -l >lines
png edit dir/heightmap.png
cp -r dir/chunks/0_1_0 dir/chunks/0_0_0
run 0 "import of a chunk below, the picture only saved again" import dir save
"$TFS" cat save chunks/0_1_0/voxels.csv | wc -l | cmp -s - lines
ok "no column is cut"
[ "$("$TFS" cat save heightmap.png >now.png && png pixel now.png 5 5)" = $((height + 16)) ]
ok "heights count from the new bottom"

fresh
png edit dir/heightmap.png 5 5 $((height + 2))
cp -r dir/chunks/0_1_0 dir/chunks/0_0_0
run 0 "import of a chunk below and a pixel" import dir save
top=$(judge block save 5 $((16 + height - 1)) 5)
[ "$(judge block save 5 $((16 + height + 1)) 5)" = "$top" ] && [ "$top" != base:air ]
ok "the column is as much higher as was painted"
[ "$(judge block save 5 $((16 + height + 2)) 5)" = base:air ]
ok "and no higher"
"$TFS" cat save chunks/1_1_1/voxels.csv | cmp -s - dir/chunks/1_1_1/voxels.csv
ok "the others are as they were"

fresh
png edit dir/heightmap.png --strip 5 5 $((height + 2))
cp -r dir/chunks/0_1_0 dir/chunks/0_0_0
run 0 "the same without texts, which an editor dropped" import dir save
[ "$(judge block save 5 $((16 + height + 1)) 5)" = "$top" ]
ok "counts from the bounds of the save before the import"

fresh
png edit dir/heightmap.png 5 5 $((height + 2))
find dir/chunks -maxdepth 1 -name "?_1_?" ! -name 0_1_0 -exec rm -r {} +
run 0 "import --delete of lower chunks, and a pixel" import --delete dir save
[ "$(judge block save 5 $((16 + height + 1)) 5)" = "$top" ]
ok "the column is at its old height"

# put has one document: the save of now.
fresh
cp dir/heightmap.png old.png
cp -r dir/chunks/0_1_0 dir/chunks/0_0_0
"$TFS" import dir save 2>err
cp save after
"$TFS" put save heightmap.png <old.png >out 2>err
[ $? = 1 ]
ok "put of a picture made for another bottom has status 1"
says err 'save/heightmap\.png: .*bottom 16\).*bottom 0\)' "it names both"
same save after "nothing was written"
"$TFS" cat save heightmap.png >now.png && png edit now.png --strip
"$TFS" put save heightmap.png <now.png >out 2>err
ok "put of one without texts counts from the bounds of now"
same save after "and changes nothing"
done_testing
