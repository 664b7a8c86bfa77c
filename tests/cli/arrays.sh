#!/usr/bin/env bash
# Numbers without a mount: `put` takes an array with the names that its numbers mean, and none without them; `import`
# never leaves out an edited array without a word.
. "$(dirname "$0")/lib.bash"

# edit ARRAY AT BYTE: sets a byte of the values.
edit() {
    printf %b "\\x$3" | dd of="$1" bs=1 seek=$((128 + $2)) conv=notrunc status=none
}

# block SAVE X,Y,Z: of chunk 0_1_0.
block() {
    "$TFS" cat "$1" chunks/0_1_0/voxels.csv | sed -n "s/^$2,//p"
}

region base --kind demo
cp base save
WHOLE=arrays/blocks.npy
CHUNK=chunks/0_1_0/arrays/blocks.npy
"$TFS" cat base $WHOLE >whole.npy
"$TFS" cat base arrays/palette.txt >names.txt
"$TFS" cat base $CHUNK >chunk.npy
# Of the demo the array begins at 0,0,0, in chunk 0_0_0; x runs fastest.
"$TFS" cat base arrays/info.txt | grep -q '^origin: 0 0 0$'
ok 'the array begins where the offsets below say'

run 0 'numbers without names: what changes nothing is taken' put save $WHOLE <whole.npy
run 0 'the same of a chunk' put save $CHUNK <chunk.npy
same save base 'every byte stays'
cp whole.npy edited.npy
edit edited.npy 0 02
run 1 'numbers without names are rejected' put save $WHOLE <edited.npy
says err "$WHOLE: nothing says which names its numbers mean: append arrays/palette.txt as it was" 'it is said how'
cp chunk.npy edited_chunk.npy
edit edited_chunk.npy 0 02
run 1 'the same of a chunk' put save $CHUNK <edited_chunk.npy
says err "$CHUNK: nothing says .*: append arrays/palette.txt as it was" 'it is said how'
same save base 'nothing of it is in the save'

run 0 'an array and its names, in one go' cat base $WHOLE arrays/palette.txt
cat whole.npy names.txt | cmp -s - out
ok 'are the one behind the other'
cp out both.npy
edit both.npy 0 02
run 0 'numbers with their names are taken' put save $WHOLE <both.npy
"$TFS" cat save chunks/0_0_0/voxels.csv | grep -q "^0,0,0,$(sed -n 's/^2 //p' names.txt)\$"
ok 'as the names say'
"$TFS" cat save $WHOLE >after.npy
same after.npy edited.npy 'and nothing else'

# Another version of the save: a name in front of all others moves every number.
cp base moved
{ "$TFS" cat base chunks/0_1_0/voxels.csv; echo '3,31,5,aaa:first'; } | "$TFS" put moved chunks/0_1_0/voxels.csv
"$TFS" cat moved arrays/palette.txt >moved_names.txt
differ moved_names.txt names.txt 'another version has other numbers'
run 0 'numbers of the first version' put moved $WHOLE <both.npy
"$TFS" cat moved chunks/0_0_0/voxels.csv | grep -q "^0,0,0,$(sed -n 's/^2 //p' names.txt)\$"
ok 'mean the names of the first version'
[ "$(block moved 3,31,5)" = "$(block base 3,31,5)" ]
ok 'a block that the first version lacks is gone, as in every text'

# While `put` waits for the array another terrainfs is told so, and a game that writes the save is not overwritten.
cp base save
cp base game
{ "$TFS" cat game chunks/0_1_0/voxels.csv; echo '3,31,5,aaa:first'; } >with.csv
"$TFS" put game chunks/0_1_0/voxels.csv <with.csv
cp game written
mkfifo slow
"$TFS" put save $WHOLE <slow >out 2>late &
putting=$!
exec 7>slow
head -c -1 both.npy >&7 # more than a pipe holds: `put` has begun to read, so it has the lock
run 3 'another edit while an array is put' put save chunks/0_1_0/voxels.csv <with.csv
mv game save
tail -c 1 both.npy >&7
exec 7>&-
wait $putting
[ $? = 3 ]
ok 'an array over what a game wrote meanwhile is refused'
says late 'changed' 'with the reason'
same save written 'and what the game wrote is there'
rm slow

# A name that the save lacks.
cp base save
{ cat whole.npy names.txt; echo "$(wc -l <names.txt) new:block"; } >new.npy
edit new.npy 0 "$(printf %02x "$(wc -l <names.txt)")"
run 0 'a name that the save lacks' put save $WHOLE <new.npy
says err 'new:block' 'is told'
"$TFS" cat save chunks/0_0_0/voxels.csv | grep -q '^0,0,0,new:block$'
ok 'and in the save'
run 0 'the save is whole' check save

cp base save
{ cat edited_chunk.npy; tac names.txt; } >named_chunk.npy
run 0 'lines of the palette of a chunk, in any order' put save $CHUNK <named_chunk.npy
[ "$(block save 0,16,0)" = "$(sed -n 's/^2 //p' names.txt)" ]
ok 'the block has the name'
"$TFS" cat save $CHUNK | cmp -s - edited_chunk.npy
ok 'no other block changed'

cp base save
refused() {
    run 1 "$1" put save $WHOLE <bad.npy
    says err "$WHOLE: *$2" 'the sentence'
    same save base 'nothing of it is in the save'
}
cp both.npy bad.npy
edit bad.npy 1 27
refused 'a number without a line' '\[0,0,0\] is 9986, the palette behind the array has [0-9]+ lines'
cat whole.npy names.txt >bad.npy
lines=$(wc -l <names.txt)
edit bad.npy 0 "$(printf %02x "$lines")"
refused 'the number behind the last line' "\[0,0,0\] is $lines, the palette behind the array has $lines lines"
{ cat whole.npy; sed 3d names.txt; } >bad.npy
refused 'a palette with a gap' '.*the palette has no entry 2'
{ cat whole.npy; echo '70000 a:b'; } >bad.npy
refused 'a palette with too high a number' '.*index 70000'
{ cat whole.npy; echo oops; } >bad.npy
refused 'what is no palette' '.*1:1: '
{ sed '1s/(48, 32, 32)/(0,)        /' whole.npy; cat names.txt; } >bad.npy
refused 'another shape' 'the array is <u2 of shape \(0,\), it has to be <u2 of shape \(48, 32, 32\)'
head -c 5000 whole.npy >bad.npy
refused 'an array that is cut off' 'the .npy file has [0-9]+ bytes of values, its shape has others'
{ "$TFS" cat base arrays/lights/sky.npy; cat names.txt; } >bad.npy
run 1 'names behind numbers that need none' put save arrays/lights/sky.npy <bad.npy
same save base 'nothing of it is in the save'

# ---- Luanti ---------------------------------------------------------------------------------------------

"$TOOLS/make_luanti" map base.sqlite 4 || exit 3
cp base.sqlite save.sqlite
"$TFS" export -o views=grids base.sqlite nodes
chunk=$(find nodes/chunks -name blocks.txt | sort | sed -n '1s,.*chunks/\(.*\)/.*,\1,p')
"$TFS" cat base.sqlite "chunks/$chunk/arrays/blocks.npy" >nodes.npy
edit nodes.npy 1 ff
run 1 'Luanti: numbers without names' put save.sqlite "chunks/$chunk/arrays/blocks.npy" <nodes.npy
"$TFS" cat base.sqlite arrays/blocks.npy arrays/palette.txt >nodes.npy
run 0 'Luanti: an array and its names' put save.sqlite arrays/blocks.npy <nodes.npy
same save.sqlite base.sqlite 'what changes nothing leaves every byte'
{ "$TFS" cat base.sqlite "chunks/$chunk/arrays/blocks.npy"; echo '0 air'; echo '1 my:node'; } >nodes.npy
for _ in $(seq 0 4095); do printf '\1\0'; done | dd of=nodes.npy bs=128 seek=1 conv=notrunc status=none
run 0 'Luanti: a chunk of one node, whatever its palette was' put save.sqlite "chunks/$chunk/arrays/blocks.npy" <nodes.npy
[ "$("$TFS" cat save.sqlite "chunks/$chunk/voxels.csv" | grep -c ',my:node,')" = 4096 ]
ok 'Luanti: every node has the name'
run 0 'Luanti: the save is whole' check save.sqlite

# ---- import ---------------------------------------------------------------------------------------------

run 0 'export with arrays' export -o views=all+arrays save tree
run 0 'import of a tree with arrays that nobody touched' import tree save
! grep -q npy err
ok 'says nothing of them'
same save base 'every byte stays'
edit tree/arrays/lights/sky.npy 0 07
run 1 'import of an edited array is refused' import tree save
says err 'tree/arrays/lights/sky.npy: the array is not what the save says, and import takes no arrays: `terrainfs put` does, or remove it' 'it is named'
"$TFS" cat save arrays/lights/sky.npy >tree/arrays/lights/sky.npy
edit tree/$CHUNK 0 01
echo '3,31,5,base:torch' >>tree/chunks/0_1_0/voxels.csv
run 1 'the same of a chunk, beside other edits' import tree save
says err "tree/$CHUNK: the array is not what" 'it is named'
same save base 'nothing was written'
rm -r tree/.terrainfs
run 1 'without a manifest what differs from the save is edited' import tree save
cat chunk.npy >tree/$CHUNK
run 0 'and what does not is not' import tree save
[ "$(block save 3,31,5)" = base:torch ]
ok 'the other edit is taken'

cp base save
run 0 'export of arrays alone' export -o views=arrays save arrays
mkdir one && "$TFS" export -o views=raw save one && rm -r one/chunks/0_1_0
run 0 'a chunk goes' import --delete one save
cp save less
run 0 'import of the arrays' import arrays save
same save less 'does not make the chunk anew'

# A level that the save lacks.
"$TOOLS/make_voxel" stream less.sqlite 4 2
"$TFS" export -o views=raw less.sqlite more
mkdir -p more/lods/1/chunks && cp -r more/chunks/"$(ls more/chunks | head -n 1)" more/lods/1/chunks/0_0_0
cp less.sqlite more.sqlite
run 0 'a level is made' import more more.sqlite
rm -r more && "$TFS" export -o views=all+arrays more.sqlite more && rm -r more/.terrainfs more/arrays
cp less.sqlite level.sqlite
run 1 'import of arrays of a level that the save lacks' import more level.sqlite
says err 'more/lods/1/arrays/channels/type.npy: the array is not what the save says, and import takes no arrays: .* or remove it' \
    'what to do is said'
same level.sqlite less.sqlite 'nothing is written'
mv more/lods/1/arrays arrays_of_level
find more -depth -name arrays -exec rm -r {} +
run 0 'import without them' import more level.sqlite
"$TFS" cat level.sqlite lods/1/arrays/channels/sdf.npy | cmp -s - arrays_of_level/channels/sdf.npy
ok 'they come with the chunks'

"$TOOLS/make_place" --kind xml --regions 2 place.rbxmx
"$TFS" export -o views=all+arrays place.rbxmx place
cp place.rbxmx before.rbxmx
printf '\7' | dd of=place/regions/1/arrays/water.npy bs=1 seek=200 conv=notrunc 2>err
run 1 'import: an edited array of another terrain' import place place.rbxmx
says err 'place/regions/1/arrays/water.npy: the array is not what the save says, and import takes no arrays: `terrainfs put` does, or remove it' 'it is named'
same place.rbxmx before.rbxmx 'nothing is taken'
"$TFS" cat place.rbxmx regions/1/arrays/water.npy >water.npy
run 0 'put: an array of another terrain' put place.rbxmx regions/1/arrays/water.npy <water.npy
same place.rbxmx before.rbxmx 'it changes nothing'
run 1 'put: what arrays are' put place.rbxmx regions/1/arrays/info.txt <<<'axes: x'
# Chunks may be one voxel high: what they make is a volume, not a surface.
"$TOOLS/make_place" --log2 0 --chunks 6 --seed 1 SmoothGrid.bin || exit 3
"$TFS" cat SmoothGrid.bin arrays/occupancy.npy >volume.npy
head -c 128 volume.npy | grep -aq "'shape': ([0-9]*, [0-9]*, [0-9]*)"
ok 'chunks of one voxel make an array of three dimensions'
"$TFS" export SmoothGrid.bin voxels
full=$(cat voxels/chunks/*/voxels.csv | awk -F, '$5 + 0 > 0' | wc -l)
[ "$full" -gt 1 ] && [ "$(tail -c +129 volume.npy | tr -d '\0' | wc -c)" = "$full" ]
ok 'which has all of them'
done_testing
