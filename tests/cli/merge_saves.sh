#!/usr/bin/env bash
# merge: two saves and the one they were made from, judged by decoders that know the formats without our code.
. "$(dirname "$0")/lib.bash"
. "$ROOT/tests/cli/merge.bash"

region cosmic --version 7 --chunks 4
region old --version 2 --chunks 3
"$TOOLS/make_place" --kind xml --chunks 4 --log2 4 model.rbxmx
"$TOOLS/make_place" --kind raw --chunks 4 --log2 3 blob
"$TOOLS/make_voxel" region region.save 4 3 2>/dev/null
"$TOOLS/make_voxel" folder folder.save 1 2>/dev/null
"$TOOLS/make_voxel" stream stream.save 12 2>/dev/null
"$TOOLS/make_ter" --size 100 --version 9 odd.ter

# ---- both changed the same voxels
chunk=$(judge chunks cosmic | awk 'NR == 1 { print $1 }')
csv=chunks/$chunk/voxels.csv
# set SAVE LINE BLOCK: the block of the LINE-th voxel of the chunk.
set_() { "$TFS" cat "$1" "$csv" | sed "$2s/,[^,]*\$/,$3/" | "$TFS" put "$1" "$csv"; }
# shows SAVE LINE BLOCK WHAT
shows() {
    "$TFS" cat "$1" "$csv" | sed -n "$2p" | grep -q ",$3\$"
    ok "$4"
}
take cosmic
set_ o 2 base:gold && set_ t 3 base:iron
cp o o.before
merge 0 "disjoint edits of one chunk" b o t
says out '^merged: 0 chunks from theirs, 1 chunk voxel by voxel; 0 conflicts$' "there is no conflict"
holds cosmic_reach "both are in the result"
[ ! -e o.conflicts.csv ]
ok "no table of conflicts"
take cosmic
set_ o 2 base:gold && set_ t 2 base:iron && set_ t 3 base:tin
cp o o.before
merge 1 "both changed a voxel" b o t
place=$("$TFS" cat o "$csv" | sed -n 2p | cut -d, -f1-3)
IFS=, read -r x y z <<<"$place"
says out "^conflict in chunk $chunk: 1 voxel, x $x y $y z $z; ours stays$" "the box is told"
holds cosmic_reach "ours stays, the rest is merged"
shows o 3 base:tin "theirs where ours did nothing"
grep -q "^$place,base:.*,base:gold,base:iron$" o.conflicts.csv
ok "the table has all three"
for prefer in theirs base; do
    cp o.before o
    merge 1 "--conflicts=$prefer" --conflicts=$prefer b o t
    holds cosmic_reach "$prefer stays" $prefer
done
cp o.before o
touch .result.terrainfs-killed .result.conflicts.csv.terrainfs-killed
exec 8>.result.terrainfs-writes
flock 8
merge 1 "-o OUT" b o t -o result
[ ! -e .result.terrainfs-killed ] && [ ! -e .result.conflicts.csv.terrainfs-killed ]
ok "what a killed merge left goes"
[ -e .result.terrainfs-writes ]
ok "what is being written stays"
exec 8>&-
rm .result.terrainfs-writes
same o o.before "ours is as it was"
mv o.before old.o && mv result o && rm -f o.conflicts.csv && mv result.conflicts.csv o.conflicts.csv && mv old.o o.before
holds cosmic_reach "the result is in OUT, its conflicts beside it"
merge 2 "an OUT that is there" b o.before t -o o
says err 'o: it is there already' "is not overwritten"
ln -s nowhere dangling
merge 2 "an OUT that is a link to nothing" b o.before t -o dangling
[ ! -e nowhere ] && [ ! -e dangling.conflicts.csv ]
ok "is not followed"
merge 2 "an OUT without a name" b o.before t -o ''
merge 2 "an OUT in a directory that is not there" b o.before t -o nowhere/o
[ "$(cat err)" = 'terrainfs: nowhere/o: No such file or directory' ]
ok "names it once"
# A table that an earlier merge left.
cp o.before o && cp o.conflicts.csv stale.csv
take_table() { cp stale.csv o.conflicts.csv; }
take_table && merge 0 "a merge without conflicts" b o b
[ ! -e o.conflicts.csv ]
ok "removes the table of the one before"
for table in stale.csv ''; do
    cp o.before o && rm -f o.conflicts.csv && [ -z "$table" ] || { take_table && echo '9,9,9,a,b,c' | tee -a stale.csv >>o.conflicts.csv; }
    (ulimit -f 1 && "$TFS" merge --conflicts=theirs b o t >out 2>err)
    [ $? = 3 ] && cmp -s o o.before
    ok "a result that cannot be written is none"
    if [ -n "$table" ]; then cmp -s stale.csv o.conflicts.csv; else [ ! -e o.conflicts.csv ]; fi
    ok "${table:-no table} tells what it told before"
done
cp o.before o
echo 'mine: do not touch' >o.conflicts.csv
merge 0 "a file of that name that is no table" b o b
says o.conflicts.csv '^mine' "stays"
merge 3 "also where there are conflicts" b o t
says err 'o.conflicts.csv: it is there already, and is not a table of conflicts' "which cannot be told then"
same o o.before "ours is as it was"
rm o.conflicts.csv && echo precious >victim && ln -s victim o.conflicts.csv
merge 3 "a link in its place" b o t
says err 'o.conflicts.csv: it is there already, and is no file' "is not followed"
same o o.before "ours is as it was"
[ "$(cat victim)" = precious ]
ok "what it leads to is as it was"
rm o.conflicts.csv && cp stale.csv elsewhere && ln -s elsewhere o.conflicts.csv
merge 0 "a link to a table" b o b
[ -L o.conflicts.csv ] && [ -s elsewhere ]
ok "is no table of this merge: both stay"
rm o.conflicts.csv
for theirs in t disjoint; do
    cp o.before o && cp t disjoint && [ $theirs = t ] && cp b o
    [ $theirs = t ] || { cp b disjoint && set_ disjoint 5 base:tin; }
    cp o was && merge 0 "a merge in place" b o $theirs
    run 0 "is undone" undo o
    same o was "ours is as it was before the merge"
done
cp o.before .merge_file_x1Y2z3
cp o.before o && merge 3 "a --path in a directory that is not there" --path=nowhere/o b o disjoint
[ "$(cat err)" = 'terrainfs: nowhere/o.conflicts.csv: No such file or directory' ]
ok "names it"
same o o.before "ours is as it was"
mkdir -p sub && run 1 "a merge as git calls it" merge --path=sub/o b .merge_file_x1Y2z3 t
run 1 "keeps nothing for undo" undo .merge_file_x1Y2z3
says sub/o.conflicts.csv '^x,y,z,base,ours,theirs$' "its table lies beside the path"
rm -f b.empty && : >b.empty
for side in o t; do cp cosmic $side; done
set_ o 2 base:gold && set_ t 2 base:iron
cp o o.before
rm -f o.conflicts.csv
base=- merge 1 "an empty BASE" b.empty o t
base=- holds cosmic_reach "has no chunks"

# ---- chunks that are removed
# without SAVE: removes the chunk.
without() {
    rm -rf tree
    "$TFS" export "$1" tree && rm -r "tree/chunks/$chunk" && "$TFS" import --delete tree "$1"
} >/dev/null 2>&1
take cosmic
without o && cp o o.before
merge 0 "we removed a chunk" b o t
same o o.before "it stays away"
take cosmic
without t && cp o o.before
merge 0 "they removed a chunk" b o t
same o t "it is removed"
take cosmic
without o && without t && cp o o.before
merge 0 "both removed it" b o t
same o o.before "it stays away"
for prefer in ours theirs base; do
    take cosmic
    without o && set_ t 2 base:iron && cp o o.before
    merge 1 "we removed a chunk that they edited, $prefer stays" --conflicts=$prefer b o t
    holds cosmic_reach "it is a conflict" $prefer
    take cosmic
    set_ o 2 base:iron && without t && cp o o.before
    merge 1 "they removed a chunk that we edited, $prefer stays" --conflicts=$prefer b o t
    holds cosmic_reach "and so the other way round" $prefer
done
# An edit where there was air is one too.
take cosmic
"$TFS" cat b "$csv" | sed 2d >less
"$TFS" put b "$csv" <less && cp b o && without o
merge 1 "a voxel that came where there was air" b o t
says out "^conflict in chunk $chunk: 1 voxel, " "is an edit of the removed chunk"

# ---- what voxels do not say
take cosmic
printf ours >entity && "$TFS" put o "chunks/$chunk/entities.bin" <entity
printf theirs >entity && "$TFS" put t "chunks/$chunk/entities.bin" <entity
cp o o.before
merge 1 "entities of both sides" b o t
says out "^conflict in chunk $chunk: entities.bin; ours stays$" "are a conflict"
same o o.before "ours stays"
merge 1 "--conflicts=theirs" --conflicts=theirs b o t
"$TFS" cat o "chunks/$chunk/entities.bin" >out
same out entity "theirs stays"
take cosmic
"$TFS" put t "chunks/$chunk/entities.bin" <entity
set_ o 2 base:gold && printf 'fill 7\n' | "$TFS" put o "chunks/$chunk/lights/sky.txt"
cp o o.before
merge 0 "entities of theirs, blocks and light of ours" b o t
"$TFS" cat o "chunks/$chunk/entities.bin" >out
same out entity "their entities are there"
[ "$("$TFS" cat o "chunks/$chunk/lights/sky.txt" | tail -1)" = 'fill 7' ]
ok "our light is there"
shows o 2 base:gold "our block is there"

# ---- the rest of a region, of a folder
# palette FILE BYTE: the region has a palette of that byte, which no file of the tree shows.
palette() {
    python3 - "$1" "$2" <<'EOF'
import sys
data = open(sys.argv[1], 'rb').read()
assert data[:5] == b'VXR_\3', data[:5]
rest = data[20:] if data[19] == 0 else data[1044:]
open(sys.argv[1], 'wb').write(data[:19] + b'\xff' + bytes([int(sys.argv[2])]) * 1024 + rest)
EOF
}
take region.save
palette t 7
run 0 "the terrain of a region with a palette is the same" diff b t
says out '^rest of the file: changed$' "the palette is named"
run 0 "text" text b
grep '^rest' out >one
run 0 "text of a palette" text t
grep '^rest' out >two
differ one two "has a line for it"
mutate godot_voxel o 2 && cp o o.before
merge 0 "our voxels, their palette" b o t
terrain o o.before "the voxels are ours"
"$TFS" text o | grep '^rest' >one
same one two "the palette is theirs"
take region.save
palette o 8 && palette t 7
merge 1 "palettes of both sides" b o t
says out '^conflict in the rest of the file: it changed on both sides; ours stays$' "are a conflict"
take folder.save
echo >>t/meta.vxrm
mutate godot_voxel t 3
run 1 "meta.vxrm of a folder" diff b t
says out '^rest of the file: changed$' "is named"
cp o/meta.vxrm meta && merge 1 "their meta.vxrm and voxels" b o t
says out '^conflict in the rest of the save: it changed, and a merge leaves it as it is in a region folder; ours stays$' "it is said"
terrain o t "the voxels are merged"
same o/meta.vxrm meta "meta.vxrm is ours"
run 0 "it is whole" check o

# ---- the rest of a place
# script FILE: another script.
script() {
    python3 - "$1" "$2" <<'EOF'
import sys
data = open(sys.argv[1], 'rb').read()
at = data.index(b'<Item class="')
open(sys.argv[1], 'wb').write(data[:at] + b'<!-- ' + sys.argv[2].encode() + b' -->' + data[at:])
EOF
}
take model.rbxmx
script o ours
mutate roblox t 3
cp o o.before
merge 0 "our script, their terrain" b o t
terrain o t "the terrain is theirs"
grep -q '<!-- ours -->' o
ok "the script is ours"
take model.rbxmx
script t theirs
mutate roblox o 3
cp o o.before
merge 0 "their script, our terrain" b o t
says out '^merged: 0 chunks and the rest of the file from theirs, 0 chunks voxel by voxel; 0 conflicts$' "which is said"
terrain o o.before "the terrain is ours"
grep -q '<!-- theirs -->' o
ok "the script is theirs"
take model.rbxmx
script t theirs && script o ours
mutate roblox t 4
cp o o.before
merge 1 "scripts of both sides" b o t
says out '^conflict in the rest of the file: it changed on both sides; ours stays$' "are a conflict"
grep -q '<!-- ours -->' o
ok "ours stays"
terrain o t "their terrain is merged"

# ---- regions of a place have only their number
"$TOOLS/make_place" --kind xml --chunks 6 --log2 3 --regions 2 place.rbxlx
# brick SAVE CHUNK LINE: another voxel.
brick() { "$TFS" cat "$1" "$2/voxels.csv" | sed "$3s/,[A-Z][^,]*/,Brick/" | "$TFS" put "$1" "$2/voxels.csv"; }
first=chunks/-1_-1_-1
# without_first SAVE: it loses its first region, and the second becomes regions/0.
without_first() { python3 -c 'import re, sys
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub("(?s)<Item class=\"TerrainRegion\".*?</Item>\\n", "", text, count=1))' "$1"; }
take place.rbxlx
brick o regions/0/$first 2 && without_first t && cp o o.before
merge 2 "theirs removes a region, ours changes it" b o t
says err 'regions changed, and so did the rest of the file: regions/N may be another one' "is refused with the reason"
same o o.before "ours is as it was"
merge 2 "and as git merges common ancestors" --virtual --path=place.rbxlx b o t
same o b "where the base is left"
cp o.before o
run 1 "diff of them" diff o t
says out '^regions: 2 before, 1 after, compared by number, which may be that of another one$' "says so"
take place.rbxlx
brick o $first 2 && without_first t
merge 0 "theirs removes a region, ours changes the Terrain" b o t
[ "$(python3 "$ROOT/tests/tools/place.py" chunks o 1)" = "$(python3 "$ROOT/tests/tools/place.py" chunks t 1)" ]
ok "the regions are those of theirs"
take place.rbxlx
brick o $first 2 && brick t regions/0/$first 3 && script o o && cp o o.before
merge 2 "theirs changes a region, ours the scripts" b o t
same o o.before "ours is as it was"
take place.rbxlx
brick o $first 2 && brick t $first 3 && script t t && cp o o.before
merge 0 "nobody touches a region" b o t
holds roblox "and the Terrain is merged"
take place.rbxlx
brick o regions/0/$first 2 && brick t regions/1/chunks/0_0_0 3 && cp o o.before
merge 0 "only voxels differ" b o t
holds roblox "and regions are merged"
run 1 "diff of them" diff o t
! grep -q '^regions:' out
ok "says nothing of numbers"

# ---- materials by name
take odd.ter
materials=$("$TFS" cat odd.ter palette.txt | wc -l)
{ "$TFS" cat o palette.txt && echo "$materials OursOnly"; } | "$TFS" put o palette.txt
{ "$TFS" cat t palette.txt && echo "$materials TheirsOnly"; } | "$TFS" put t palette.txt
echo "fill $materials" | "$TFS" put o chunks/0_0_0/layers.txt 2>/dev/null ||
    "$TFS" cat o chunks/0_0_0/layers.txt | sed "s/| .*/| $(printf "$materials %.0s" {1..64})/" | "$TFS" put o chunks/0_0_0/layers.txt
"$TFS" cat t chunks/1_0_1/layers.txt | sed "s/| .*/| $(printf "$materials %.0s" {1..36})/" | "$TFS" put t chunks/1_0_1/layers.txt
cp o o.before
merge 0 "both sides have a new material of the same number" b o t
holds beamng "samples keep their names"
"$TFS" cat o palette.txt >out
says out "^$materials OursOnly$" "ours keeps its number"
says out "^$((materials + 1)) TheirsOnly$" "theirs gets the next"

# ---- materials at corners
"$TOOLS/make_ter" --size 128 --version 8 corners.ter
# paint SAVE TILE LAYER ROWS: the first ten samples of the rows that the pattern says.
paint() {
    "$TFS" cat "$1" "chunks/$2/layers.txt" | sed -E "/z=($4) /s/\\|( *[0-9]+){10}/| $(printf "$3 %.0s" {1..10})/" | "$TFS" put "$1" "chunks/$2/layers.txt"
}
# own SAVE NAME: a material behind all others.
own() { { "$TFS" cat "$1" palette.txt && echo "$("$TFS" cat "$1" palette.txt | wc -l) $2"; } | "$TFS" put "$1" palette.txt; }
new=$("$TFS" cat corners.ter palette.txt | wc -l)
for tile in 1_0_1 0_0_0; do
    take corners.ter
    own o OursOnly && own t TheirsOnly
    paint o 0_0_0 "$new" '0[0-9]' && paint t $tile "$new" '3[0-9]' || exit 3
    cp o o.before
    merge 0 "both sides paint with a new material of one number, theirs in tile $tile" b o t
    holds beamng "corners keep their names"
    [ "$(python3 "$ROOT/tests/tools/ter.py" odd o) $(python3 "$ROOT/tests/tools/ter.py" count o $((new + 1)))" = '0 100' ]
    ok "so they follow the layers, as on both sides"
done
run 1 "diff of samples with corners" diff --all-rows b t
says out 'TheirsOnly h=[0-9]+ corners=TheirsOnly,TheirsOnly,' "names what is at the corners"
take corners.ter
own o One && own o Two && own t Two && own t One
paint o 0_0_0 $((new + 1)) '0[0-9]' && paint t 0_0_0 "$new" '0[0-9]' || exit 3
run 1 "diff of two that have one material at other numbers, at corners, too" diff o t
says out '^terrain: 0 chunks changed, 0 added, 0 removed; 0 samples$' "finds no sample that differs"
[ "$("$TFS" text o | grep '^chunk')" = "$("$TFS" text t | grep '^chunk')" ]
ok "and text of them say that they are the same"

# ---- materials of one name
ter=$ROOT/tests/tools/ter.py
# ground FILE NAMES HEIGHTS LAYERS COUNT: 64 x 64 samples; the names are COUNT times the first of NAMES, then its others.
ground() {
    python3 - "$@" <<'EOF'
import struct, sys
path, names, heights, layers, count = sys.argv[1], sys.argv[2].split(','), *map(eval, sys.argv[3:])
names = [names[0]] * count + names[1:]
with open(path, 'wb') as f:
    f.write(struct.pack('<BI', 9, 64) + struct.pack('<4096H', *(heights.get(i, 100) for i in range(4096))))
    f.write(bytes(layers.get(i, 3) for i in range(4096)))
    f.write(struct.pack('<I', len(names)) + b''.join(bytes([len(n)]) + n.encode() for n in names))
EOF
}
twice() { ground "$1" Grass,Sand,Rock,Grass "$2" "$3" 1; }
rm -rf b o t && twice b '{}' '{}' && twice o '{0:200}' '{}' && twice t '{5:300}' '{}' && cp o o.before
merge 0 "two materials have one name" b o t
holds beamng "each sample keeps the number that it had"
[ "$(python3 "$ter" count o 3)" = 4096 ]
ok "so the others of that name do not change"
twice o '{0:200}' '{}' && twice t '{}' '{5:0,6:1}' && cp o o.before
merge 0 "theirs paints with the other one" b o t
holds beamng "it has the number of that one"
[ "$(python3 "$ter" at o 5 0)" = '100 0' ]
ok "which the sample has"
run 1 "diff of it" diff b t
says out '2 samples' "tells both samples"
ground t Grass,Sand,Rock,Grass,Sand '{}' '{7:4}' 1 && twice o '{0:200}' '{}' && cp o o.before
merge 0 "theirs adds a material of a name that is there" b o t
holds beamng "it comes behind those of ours"
ground b m,n,o '{}' '{}' 300 && ground o m,n,o '{0:200}' '{}' 300 && ground t m,n,o '{5:300}' '{}' 301
merge 0 "more names than samples can have, of which none is new" b o t
python3 "$ter" at o 5 0 | grep -q '^300 3$'
ok "is merged"
ground t m,n,q '{}' '{}' 9 && ground o m,n,o '{0:200}' '{}' 254 && cp o o.before
merge 2 "more than samples can have, of which one is new" b o t
says err 'both sides together have 257 materials, 255 are possible' "is refused"
same o o.before "ours is as it was"
ground b ,a '{}' '{}' 65534 && ground o ,b '{0:200}' '{}' 65534 && ground t c '{5:300}' '{}' 65535
(ulimit -t 5 && "$TFS" merge b o t >out 2>err)
says out '^conflict in palette.txt: both sides renamed one material; ours stays$' "tables of the greatest size take no time"

# ---- a material that is renamed
# palette_is NAMES WHAT
palette_is() {
    [ "$("$TFS" cat o palette.txt | cut -d' ' -f2- | paste -sd,)" = "$1" ]
    ok "$2"
}
renamed=Grass,Sand,Stone,Mud
ground b Grass,Sand,Rock,Mud '{}' '{}' 1 && ground o $renamed '{}' '{9:2}' 1 && ground t Grass,Sand,Rock,Mud '{}' '{5:2}' 1 && cp o x
merge 0 "ours renames a material, theirs paints with it" b o t
palette_is $renamed "it has the new name alone"
[ "$(python3 "$ter" at o 5 0) $(python3 "$ter" at o 9 0)" = '100 2 100 2' ]
ok "and so have the samples of both"
cp t o && merge 0 "and the other way round" b o x
says out '^merged: 0 chunks and palette.txt from theirs, 1 chunk voxel by voxel; 0 conflicts$' "it is said where the name is from"
palette_is $renamed "it has the new name alone"
ground t Grass,Sand,Boulder,Mud '{}' '{}' 1 && cp x o
merge 1 "both sides rename one material" b o t
says out '^conflict in palette.txt: both sides renamed one material; ours stays$' "that is a conflict"
palette_is $renamed "the name of ours stays"
cp x o && merge 1 "and --conflicts=theirs" --conflicts=theirs b o t
palette_is Grass,Sand,Boulder,Mud "takes that of theirs"
ground t Grass,Sand,Rock,Mud,Stone '{}' '{5:2}' 1 && cp x o
merge 1 "theirs adds the new name for another material" b o t
says out '^conflict in palette.txt: one side renamed a material, the other added that name' "is a conflict, too"
ground t Sand,Rock,Mud '{}' '{i: 2 - i % 2 for i in range(4096)}' 1 && cp x o
merge 1 "theirs takes a material out, and those behind it move up" b o t
says out '^conflict in palette.txt: one side renamed a material, the other gave it another number' "is told"
ground b "$(seq -s, 0 259)" '{}' '{}' 1 && ground o "$(seq -s, 0 259 | sed s/,3,/,new,/)" '{}' '{}' 1 && cp o x
merge 0 "more names than samples can have, one of them renamed" b o b
same o x "ours is as it was"
ground t "$(seq -s, 0 259)" '{5:300}' '{}' 1 && merge 0 "and heights of theirs" b o t
[ "$("$TFS" cat o palette.txt | sed -n 4p) $(python3 "$ter" at o 5 0)" = '3 new 300 3' ]
ok "both are in the result"

# ---- more conflicts than anybody reads
"$TOOLS/make_ter" --size 320 --version 9 all.ter
take all.ter
for side in b o t; do
    python3 - $side <<'EOF'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
data[5:5 + 2 * 320 * 320] = bytes([7, ord(sys.argv[1])]) * 320 ** 2
open(sys.argv[1], 'wb').write(data)
EOF
done
merge 1 "every sample is in conflict" b o t
[ "$(wc -l <o.conflicts.csv) $(tail -1 o.conflicts.csv)" = '100002 2400 more,,,,,' ]
ok "the table has the first 100,000, and says how many more there are"

# ---- several terrains in one place: a table for each
"$TOOLS/make_place" --kind binary --regions 2 --chunks 6 place.rbxl
take place.rbxl
rm -rf tree && "$TFS" export place.rbxl tree
(cd tree && printf '%s\n' chunks/*/voxels.csv regions/*/chunks/*/voxels.csv) >paths
while read -r path; do
    for side in o t; do
        name=Mud && [ $side = o ] || name=Slate
        awk -F, -v name=$name 'BEGIN { OFS = FS } NR == 2 { $4 = name } { print }' "tree/$path" | "$TFS" put $side "$path"
    done
done <paths
for path in $(grep ^regions/1/ paths); do "$TFS" cat b "$path" | "$TFS" put t "$path"; done
for part in '' .regions-0 .regions-1; do echo x,y,z,base,ours,theirs >o.conflicts$part.csv; done
merge 1 "terrains of one place" b o t
grep -q 'Mud,Slate$' o.conflicts.csv && grep -q 'Mud,Slate$' o.conflicts.regions-0.csv
ok "each has a table"
grep -q ^regions/1/ paths && [ ! -e o.conflicts.regions-1.csv ]
ok "but the one without conflicts, whose old table is gone"

# ---- worlds
"$TOOLS/make_world" --regions 2 --chunks 40 world
zone=zones/base/earth
take world
mutate_zone() { mutate cosmic_reach "$(find "$1" -name '*.cosmicreach' | sort | sed -n "$2p")" $3; }
mutate_zone o 1 1 && mutate_zone t 1 2 && mutate_zone t 2 3
"$TFS" merge b/$zone o/$zone t/$zone >said 2>err
[ $? -lt 2 ] && says said '^merged: ' "a zone is merged, over all its regions"
run 0 "it is whole" check o
rm -rf o && cp -r b o
cp t/$zone/zoneInfo.json t.json
sed -i 's/}$/, "spawn": 7}/' t/$zone/zoneInfo.json
! cmp -s t/$zone/zoneInfo.json t.json
ok "theirs changes zoneInfo.json"
merge 1 "a zone that says something else of itself" b/$zone o/$zone t/$zone
says out '^conflict in the rest of the save: it changed, and a merge leaves it as it is in a zone; ours stays$' "is told"
same o/$zone/zoneInfo.json t.json "as it stays"
run 1 "diff of the zones" diff b/$zone t/$zone
says out '^rest of the file: changed$' "names it"
merge 0 "one that ours changed" b/$zone t/$zone b/$zone
cp t.json t/$zone/zoneInfo.json
region=$(cd t && find . -name '*.cosmicreach' | sort | sed -n 2p)
rm -rf o && cp -r b o
merge 0 "a region that lies in a world" b/$region o/$region t/$region
same o/$region t/$region "is merged as the file that it is"
merge 2 "a world" b o t
says err 'holds several saves, and one is wanted here, such as .*/zones/' "is merged zone by zone"
merge 2 "a world and a region" b o/$region t/$region
says err '^terrainfs: b: holds several saves' "are no pair"
"$TOOLS/make_luanti" world luanti 8
take luanti
for side in o t; do
    n=3 && [ $side = o ] || n=9
    "$TFS" cat $side chunks/-1_-1_-1/voxels.csv | sed ${n}d >csv2 && "$TFS" put $side chunks/-1_-1_-1/voxels.csv <csv2
done
merge 0 "worlds of Luanti" b o t
says out '^merged: 0 chunks from theirs, 1 chunk voxel by voxel; 0 conflicts$' "are merged in place"
run 1 "with both edits" diff --stat b o
says out '; 2 nodes; ' "which diff counts as nodes"

# ---- conflicts of samples and nodes
take luanti
for side in o t; do
    "$TFS" cat $side chunks/-1_-1_-1/voxels.csv | sed "3s/,[^,]*,\([0-9]*\)\$/,default:$side,\1/" >csv2
    "$TFS" put $side chunks/-1_-1_-1/voxels.csv <csv2 2>/dev/null || exit 3
done
merge 1 "both changed a node" b o t
says out '^conflict in chunk -1_-1_-1: 1 node, x .*; ours stays$' "it is told as one"
says o.conflicts.csv ',default:[a-z_]*,default:o,default:t$' "with what all three have"
"$TFS" cat o chunks/-1_-1_-1/voxels.csv | grep -q ',default:o,'
ok "ours stays"
merge 1 "and --conflicts=theirs" --conflicts=theirs b o t
"$TFS" cat o chunks/-1_-1_-1/voxels.csv | grep -q ',default:t,'
ok "takes theirs"
take odd.ter
for side in o t; do
    height=111 && [ $side = o ] || height=222
    "$TFS" cat $side chunks/0_0_0/heights.txt | sed "/z=03/s/| *[0-9]*/| $height/" | "$TFS" put $side chunks/0_0_0/heights.txt || exit 3
done
cp o o.before
merge 1 "both changed a sample" b o t
says out '^conflict in chunk 0_0_0: 1 sample, x 0 y 0 z 3; ours stays$' "it is told as one"
says o.conflicts.csv '^0,0,3,.* h=[0-9]*,.* h=111,.* h=222$' "with the heights of all three"
holds beamng "the judge says so"

# ---- chunks as far out as numbers go
take blob
python3 - <<'EOF'
far = (2 ** 31 - 1, -2 ** 31, 2 ** 31 - 1)
words = [v.to_bytes(4, 'big', signed=True) for v in far]
for name in 'bot':
    data = bytearray(open(name, 'rb').read())
    data[2:14] = bytes(words[i][j] for j in range(4) for i in range(3))
    open(name, 'wb').write(data)
EOF
"$TFS" text b >out
says out '^chunk 2147483647_-2147483648_2147483647 ' "there is such a chunk"
merge 0 "saves that have it" b o t
merge 0 "and one that was there stays" blob o blob
same o b "as it is"
cp blob o && merge 2 "a chunk where the engine has none is not added" blob o t
same o blob "ours is as it was"
run 1 "diff tells it" diff blob b

# ---- hostile
take cosmic
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n' 7 >pointer
for side in 1 2 3; do
    three=(b o t)
    three[side - 1]=pointer
    merge 2 "a Git LFS pointer as operand $side" "${three[@]}"
    says err 'is a Git LFS pointer' "is said to be one"
done
same o b "ours is as it was"
merge 2 "two formats" b o blob
says err 'two formats cannot be' "both are named"
same o b "ours is as it was"
"$TOOLS/make_place" --kind raw --chunks 2 --log2 4 edge4
"$TOOLS/make_place" --kind raw --chunks 2 --log2 5 edge5
merge 2 "two sizes of chunks" edge4 edge4 edge5
"$TOOLS/make_ter" --size 64 --version 9 small.ter
merge 2 "two sizes of terrain" odd.ter odd.ter small.ter
cp -r stream.save o.db
merge 2 "-o with a database" stream.save o.db stream.save -o new
says err 'saves that are one file; this one is a' "is refused with the way out"
[ ! -e new ]
ok "nothing is made"
merge 2 "--conflicts of another kind" --conflicts=mine b o t
merge 2 "an operand too few" b o
merge 3 "a save that is not there" b o nosuch
damage old damaged
cp old o
merge 2 "a damaged chunk" old o damaged
says err 'of theirs is damaged: nothing is merged' "is told"
same o old "ours is as it was"
cp old o && chmod 444 o && chmod 555 . && [ ! -w . ] && {
    merge 3 "a folder that cannot be written" old o old
}
chmod 755 . && chmod 644 o
mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none disk 2>/dev/null; then
    rm -rf b t && "$TOOLS/make_place" --kind binary --chunks 6 b && cp b t && cp b disk/o || exit 3
    csv=chunks/$("$TFS" text t | sed -n '1s/^chunk \([^ ]*\).*/\1/p')/voxels.csv
    "$TFS" cat t "$csv" | sed 3d >csv2 && "$TFS" put t "$csv" <csv2
    "$TFS" cat b "$csv" | sed 5d >csv2 && "$TFS" put disk/o "$csv" <csv2
    cp disk/o o.before
    head -c 1M /dev/zero >disk/fill 2>/dev/null
    merge 3 "a full disk" b disk/o t
    says err 'No space left on device' "is told"
    same disk/o o.before "ours is as it was"
    ! grep -q 'read back' err
    ok "as that alone"
    umount disk
else
    skip "a full disk" "no small file system can be made"
fi
if [ -w /dev/full ]; then
    take cosmic
    set_ t 2 base:gold
    "$TFS" merge b o t >/dev/full 2>err
    [ $? = 3 ]
    ok "a full disk is a failure"
fi
done_testing
