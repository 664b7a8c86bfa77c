#!/usr/bin/env bash
# import: what nobody edited since the export undoes nothing; a chunk whose files disagree is left out.
. "$(dirname "$0")/lib.bash"

png() {
    python3 "$ROOT/tests/tools/png.py" "$@"
}

region base --chunks 12
x=17 y=20 z=18 # a voxel of chunk 1_1_1
chunk=dir/chunks/1_1_1

# Another's save: base, and one voxel more.
cp base theirs
"$TFS" cat base chunks/1_1_1/voxels.csv >csv
echo "19,20,18,base:gold_block" >>csv
"$TFS" put theirs chunks/1_1_1/voxels.csv <csv || exit 3

# export SAVE: its tree is `dir`, a copy of `base` is `save`.
export_of() {
    rm -rf save dir
    cp base save
    "$TFS" export "$1" dir || exit 3
}

# block NAME X Y Z WHAT
block() {
    [ "$(judge block save "$2" "$3" "$4")" = "$1" ]
    ok "$5"
}

gold() {
    echo "$x,$y,$z,base:gold_block" >>$chunk/voxels.csv
}

# sets the same voxel in blocks.txt of the chunk: its last palette entry.
grid() {
    sed -i "$1" $chunk/blocks.txt
}

# ---- the manifest
export_of base
[ "$(cat dir/.terrainfs/.gitignore)" = '*' ]
ok "export leaves a .gitignore of everything beside the manifest"
head -n 1 dir/.terrainfs/manifest | grep -qx 'terrainfs manifest 1'
ok "and the manifest"
(cd dir && find . -type f ! -path './.terrainfs/*' | sed 's,^./,,' | sort) >names
sed -n 's/^file [0-9a-f]* //p' dir/.terrainfs/manifest | sort | cmp -s - names
ok "it lists every file"
"$TFS" export base again
diff -r dir again >out
ok "two exports of one save are the same"
rm -rf again

# ---- the edit of a tree of another save
export_of theirs
gold
run 0 "an edit in the export of another save is imported" import dir save
block base:gold_block $x $y $z "the edit is in the save"
says err '^terrainfs: 1 file taken, 0 added, 0 removed$' "it is all that was taken"
block base:gold_block 19 20 18 "voxels.csv says all of its chunk"
export_of theirs
run 0 "of an export of another save that nobody edited" import dir save
says err 'nothing differs from the export, .*; --all takes every file$' "nothing is taken, and it is said how it would be"
same save base "nothing was written"
run 0 "import --all takes them" import --all dir save
same save theirs "the save is the other one"
run 0 "a second time nothing differs" import --all dir save
says err 'nothing differs from the save' "as it says"

export_of theirs
"$TFS" cat base chunks/0_1_0/blocks.txt | sed 's/base:dirt/base:clay/' >dir/chunks/0_1_0/blocks.txt
run 0 "an edit of another chunk of such an export" import dir save
says err '1 file taken' "is taken alone"
block "$(judge block base 19 20 18)" 19 20 18 "the others are not taken"

# ---- a second import of one tree
export_of base
gold
run 0 "an edit is imported" import dir save
cp save after
run 0 "the same tree again has status 0" import dir save
says err 'or the save has it already' "it says that there is nothing to do"
same save after "views that are out of date undo nothing"
run 0 "not even with --all" import --all dir save
same save after "nothing was written"
sed -i '0,/base:dirt/s//base:clay/' $chunk/blocks.txt
run 1 "an edit in a view that is out of date is refused" import dir save
says err 'dir/chunks/1_1_1/voxels.csv: it disagrees with other files of this chunk, of which nothing' "and named"
same save after "nothing was written"
"$TFS" export save new
cp -r new/. dir/
echo "20,20,18,base:gold_block" >>$chunk/voxels.csv
run 0 "over a new export it is taken" import dir save
block base:gold_block 20 20 18 "the second edit is there"
block base:gold_block $x $y $z "and the first"
rm -rf new

# ---- the state of the tree moves on by other ways than export: a pull
export_of base
"$TFS" export theirs pulled
rm -r dir/chunks/1_1_1 && cp -r pulled/chunks/1_1_1 dir/chunks/ && cp pulled/*.png dir/
rm -rf pulled
run 0 "a chunk that was pulled is imported" import dir save
same save theirs "with all its views"
gold
run 1 "an edit on top of it disagrees with the other views, which are edited, too" import dir save
same save theirs "and is not taken"

# ---- files that disagree
for manifest in with without; do
    export_of base
    [ $manifest = with ] || rm -r dir/.terrainfs
    gold
    sed -i 's/base:dirt/base:clay/' $chunk/blocks.txt
    echo "3,30,9,base:gold_block" >>dir/chunks/0_1_0/voxels.csv
    cp -r dir kept
    run 1 "two views of a chunk disagree, $manifest a manifest" import dir save
    says err 'dir/chunks/1_1_1/voxels\.csv: it disagrees with other files of this chunk' "that is said"
    "$TFS" cat save chunks/1_1_1/voxels.csv | cmp -s - csv.base 2>/dev/null ||
        "$TFS" cat base chunks/1_1_1/raw.bin >raw && "$TFS" cat save chunks/1_1_1/raw.bin | cmp -s - raw
    ok "nothing of this chunk is taken"
    block base:gold_block 3 30 9 "the other chunk is"
    diff -r dir kept >out
    ok "DIR is as it was"
    rm -rf kept
done
run 2 "--prefer is gone" import --prefer=voxels dir save
says err 'this option is no longer there: remove the files' "with what there is instead"
run 2 "--all of another command" export --all save out.d

export_of theirs
rm -r dir/.terrainfs
gold
run 1 "without a manifest everything that differs counts as edited" import dir save
says err 'it disagrees with other files' "so that views which are out of date disagree with the edit"
same save base "nothing was written"
export_of theirs
rm -r dir/.terrainfs
run 0 "without a manifest and an edit" import dir save
same save theirs "views that agree are all taken"

# Views agree, however they are spelled.
export_of base
gold
"$TFS" cat base chunks/1_1_1/voxels.csv >csv
echo "$x,$y,$z,base:gold_block" >>csv
cp base other
"$TFS" put other chunks/1_1_1/voxels.csv <csv
"$TFS" cat other chunks/1_1_1/blocks.txt | sed 's/^\(palette.*\)/\1   /; s/  *|/|/' >$chunk/blocks.txt
echo 'fill 7' >$chunk/lights/sky.txt
run 0 "two views that say the same, and one that says something else of the chunk" import dir save
block base:gold_block $x $y $z "are taken"
[ "$(judge sky save $x $y $z)" = 7 ]
ok "all of them"
export_of base
"$TFS" cat other chunks/1_1_1/raw.bin >$chunk/raw.bin
gold
run 0 "raw.bin and voxels.csv that say the same" import dir save
same save other "are taken"
export_of base
"$TFS" cat other chunks/1_1_1/raw.bin >$chunk/raw.bin
sed -i '$d' $chunk/voxels.csv
run 1 "raw.bin and voxels.csv that do not" import dir save
says err 'raw.bin: it disagrees with other files of this chunk' "are named"

# The numbers of one are not those of the other.
export_of base
gold
sed -i 's/base:dirt/base:clay/' $chunk/palette.txt
run 1 "voxels.csv with a new name, and palette.txt without it" import dir save
says err 'palette.txt: entry [0-9]+ is missing, but there are blocks of it' "is refused as a text that does not fit"

# ---- the root palette renames, and chunks have names too
export_of base
sed -i 's/^base:dirt$/base:clay/' dir/palette.txt
gold
grep -q ',base:dirt$' $chunk/voxels.csv
ok "a chunk has the name that is renamed"
run 0 "a text with a name that the root palette renames" import dir save
block base:gold_block $x $y $z "is taken before the new name"
"$TFS" cat save palette.txt >out
! grep -qx base:dirt out
ok "the name is gone everywhere"
cp save after
run 0 "the same again" import dir save
run 0 "leaves the terrain as it is" diff after save

# ---- pictures of the root
export_of base
# A column whose top can be raised by 3 in its chunk.
read -r px pz height < <(for p in 17 19 21 23 25 27 29 31; do
    h=$(png pixel dir/heightmap.png $p 20)
    [ $((h % 16)) = 0 ] || [ $((h % 16)) -gt 12 ] || echo $p 20 "$h"
done)
[ -n "$height" ]
ok "there is a column to be raised"
top=dir/chunks/1_$(((height - 1) / 16))_1
raise() {
    png edit dir/heightmap.png "$px" "$pz" $((height + 3))
}
raised() {
    "$TFS" cat save heightmap.png >out.png
    [ "$(png pixel out.png "$px" "$pz")" = $((height + ${1:-3})) ]
}

raise
echo "5,40,5,base:gold_block" >>dir/chunks/0_2_0/voxels.csv
run 0 "a pixel, and a text of a chunk that it does not change" import dir save
block base:gold_block 5 40 5 "the text is taken"
raised
ok "the pixel is"
[ "$(png pixel out.png 5 5)" = 41 ]
ok "and the picture undoes no text"
cp save after
run 0 "the same again" import dir save
same save after "changes nothing"

export_of theirs
raise
run 0 "a pixel in the picture of another save" import dir save
raised
ok "is taken"
"$TFS" cat base chunks/1_1_1/voxels.csv >csv
"$TFS" cat save chunks/1_1_1/voxels.csv | diff csv - | grep -c '^<' | grep -qx 0
ok "and nothing is undone that the other save has not"
export_of base
raise
cp theirs save
run 0 "a pixel into a save that was changed since the export" import dir save
raised
ok "is taken"
block base:gold_block 19 20 18 "what was changed stays"

export_of base
raise
first=$(sed -n '2s/,[^,]*$//p' "$top/voxels.csv")
sed -i '2d' "$top/voxels.csv"
run 0 "a pixel, and a text of the chunk that it changes" import dir save
raised
ok "the pixel is taken"
! "$TFS" cat save "${top#dir/}/voxels.csv" | grep -q "^$first,"
ok "and the text"

# The save has other bounds now than where it was exported.
export_of base
raise
"$TFS" export base part && rm -r part/chunks/?_0_? && "$TFS" import --delete part save 2>err
cp save part.save
run 0 "an edited picture, after the lowest chunks went" import dir save
raised -13
ok "counts from the bounds of the export"
png edit dir/heightmap.png --strip
cp part.save save
run 0 "and so does one without texts" import dir save
raised -13
ok "as before"
rm -r dir/.terrainfs
cp save after
png edit dir/heightmap.png 3 3 0
"$TFS" cat base heightmap.png >dir/heightmap.png && raise
run 1 "without a manifest one that was made for other bounds is refused" import dir save
says err '^terrainfs: dir/heightmap\.png: .*bottom 0\).*bottom 16\)' "with both"
same save after "nothing was written"
export_of base
raise
cp part/heightmap.png dir/heightmap.png
run 0 "part of an older tree is left" import dir save
"$TFS" cat theirs heightmap.png >dir/heightmap.png
printf 'x' | dd of=dir/.terrainfs/original/heightmap.png.gz bs=1 seek=40 conv=notrunc 2>dd.out
png edit dir/heightmap.png 3 3 1
run 1 "a damaged original is refused" import dir save
says err '^terrainfs: dir/heightmap\.png: \.terrainfs has no original of it: it is (damaged|not what was exported)' "and named"
gzip -c <part/palette.txt >dir/.terrainfs/original/heightmap.png.gz
run 1 "one of something else" import dir save
says err 'it is not what was exported' "is, too"
rm dir/.terrainfs/original/heightmap.png.gz && mkfifo dir/.terrainfs/original/heightmap.png.gz
run 1 "and a pipe" import dir save
rm dir/.terrainfs/original/heightmap.png.gz
head -c 40000000 /dev/zero | gzip -1 >dir/.terrainfs/original/heightmap.png.gz
run 1 "and a bomb" import dir save
same save base "nothing of this is written"
rm dir/.terrainfs/original/heightmap.png.gz
"$TFS" cat base heightmap.png >dir/heightmap.png && raise
run 0 "where there is none, the picture counts as made from the save" import dir save
raised
ok "it is taken"
rm -rf part

# ---- --delete
export_of base
rm -r dir/chunks/0_2_1 dir/chunks/0_2_0/lights/sky.txt
"$TFS" export base part && cp -r part/chunks/0_2_0 part/chunks/5_5_5
"$TFS" import part save 2>err
run 0 "--delete removes what somebody removed from DIR" import --delete dir save
says err ' 0 added, 2 removed' "a chunk and a file"
judge chunks save >chunks
grep -q '^5_5_5 ' chunks && ! grep -q '^0_2_1 ' chunks
ok "so it is"
run 0 "--delete that finds nothing else" import --delete dir save
cp part/chunks/0_2_0/lights/sky.txt dir/chunks/0_2_0/lights/
run 0 "--all --delete removes it" import --all --delete dir save
judge chunks save >chunks
! grep -q '^5_5_5 ' chunks
ok "so it is"
"$TFS" cat save chunks/0_2_0/lights/sky.txt | cmp -s - dir/chunks/0_2_0/lights/sky.txt
ok "and what was removed before is restored"
rm -rf part

# A chunk that others removed from the save comes back only when somebody edited it.
export_of base
"$TFS" export base part && rm -r part/chunks/1_1_1 && "$TFS" import --delete part save 2>err
rm -rf part
cp save after
run 0 "a removed chunk that nobody edited" import dir save
same save after "and does not come back"
gold
run 0 "an edited one" import dir save
says err '1 added' "does"
block base:gold_block $x $y $z "with the edit"
"$TFS" cat save chunks/1_1_1/lights/sky.txt | cmp -s - $chunk/lights/sky.txt
ok "and all the rest of it"

# ---- manifests that are none
bad() {
    local what=$1
    export_of base
    gold
    shift
    "$@" dir/.terrainfs/manifest
    run 1 "a manifest that $what is refused" import dir save
    says err '^terrainfs: dir/\.terrainfs/manifest:' "it is named"
    says err 'without this file, every file that differs from the save counts as edited' "with the way out"
    same save base "nothing was written"
}
bad "is of another version" sed -i '1s/1$/2/'
bad "is empty" truncate -s 0
bad "ends early" sed -i '$d'
bad "lacks a line" sed -i '/voxels.csv/{d;q}'
bad "has lines of another kind" sed -i '2i chunk 0_0_0'
bad "has a hash that is none" sed -i 's/^file ./file g/'
bad "lists a file twice" sed -i '3{p;}; $s/.*/end 99/'
bad "is of another format" sed -i 's/^format .*/format roblox/'
bad "is binary" cp base
bad "goes on behind its end" sed -i '$a file 0'
bad "is a link" ln -sf ../../base
export_of base
gold
rm dir/.terrainfs/manifest && mkfifo dir/.terrainfs/manifest
run 1 "a manifest that is a pipe is refused" import dir save
export_of base
gold
rm -r dir/.terrainfs && ln -s "$PWD" dir/.terrainfs
run 0 "a link in place of its directory is not followed" import dir save
block base:gold_block $x $y $z "the edit is taken"

# ---- trees that no export made
export_of base
rm -r dir/.terrainfs
mkdir -p some.unsaved-20260101-000000/chunks/1_1_1/lights
echo 'fill 3' >some.unsaved-20260101-000000/chunks/1_1_1/lights/sky.txt
run 0 "what could not be saved is imported" import some.unsaved-20260101-000000 save
[ "$(judge sky save $x $y $z)" = 3 ]
ok "it is in the save"
# ---- a tree of raw.bin alone, as git has it: without the manifest
raw_tree() {
    local what=$1 name=$2 path
    rm -rf dir new theirs
    "$TFS" export -o views=raw "$name" dir 2>err || exit 3
    rm -r dir/.terrainfs
    mkdir new theirs && cp "$name" new && cp "$name" theirs || exit 3
    path=chunks/$("$TFS" text "$name" | sed -n '1s/^chunk \([^ ]*\).*/\1/p')
    "$TFS" cat "new/$name" "$path/voxels.csv" | sed 3,5d >csv
    "$TFS" put "new/$name" "$path/voxels.csv" <csv || exit 3
    run 1 "$what: diff with another save" diff "new/$name" dir
    says out '^terrain: 1 chunk changed, 0 added, 0 removed; 3 ' "$what: tells it chunk by chunk"
    run 0 "$what: diff with its own save" diff "$name" dir
    run 0 "$what: import" import dir "new/$name"
    run 0 "$what: brings back what was exported" diff "$name" "new/$name"
    run 0 "$what: import --delete" import --delete dir "theirs/$name"
    run 0 "$what: removes nothing that raw.bin has" diff "$name" "theirs/$name"
}
"$TOOLS/make_region" --chunks 3 region_0_0_0.cosmicreach
raw_tree "Cosmic Reach" region_0_0_0.cosmicreach
"$TOOLS/make_place" --kind binary --chunks 3 raw.rbxl
raw_tree Roblox raw.rbxl
"$TOOLS/make_voxel" stream raw.sqlite 5
raw_tree Godot raw.sqlite
"$TOOLS/make_luanti" map luanti.sqlite 4
raw_tree Luanti luanti.sqlite
done_testing
