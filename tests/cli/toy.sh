#!/usr/bin/env bash
# The smallest format (tests/lib/toy_format.c): commands know no game, and no unit of two chunks.
. "$(dirname "$0")/lib.bash"
TFS=$TOOLS/toy

# voxels SAVE CHUNK LINE...: what voxels.csv of the chunk says from now on.
voxels() {
    local save=$1 chunk=$2
    shift 2
    { echo x,y,z,block,level && printf '%s\n' "$@"; } | "$TFS" put "$save" "chunks/$chunk/voxels.csv" 2>err
}

# Chunks 0_0_0 and 0_1_0 are one unit, 0_2_0 is another one.
printf TOY1 >base
for y in 0 1 2; do
    mkdir -p "dir/chunks/0_${y}_0"
    printf 'x,y,z,block,level\n0,%d,0,stone,1\n1,%d,1,water,2\n' $((2 * y)) $((2 * y)) >"dir/chunks/0_${y}_0/voxels.csv"
done
run 0 "chunks of both kinds of unit are imported" import dir base
run 0 "and hold what was written" check base
run 0 "all is exported" export -o views=all+arrays base tree
(cd tree && find . -type f ! -path './.terrainfs/*' | sort) >names
says names '^./chunks/0_1_0/levels.txt$' "with grids"
says names '^./heightmap.png$' "with pictures"
says names '^./arrays/levels.npy$' "with arrays"
run 0 "a tree without an edit is imported" import tree base
cp base ours && cp base theirs
voxels ours 0_0_0 0,0,0,sand,7 1,0,1,water,2
voxels theirs 0_1_0 0,2,0,stone,1 1,2,1,water,9 1,3,1,gold,0
run 1 "diff of two saves" diff --all-rows base theirs
says out '^@@ chunk 0_1_0 @@' "names the chunk that changed"
! grep -q '0_0_0' out
ok "and not the other chunk of its unit"
run 0 "edits of two chunks of one unit" merge base ours theirs
"$TFS" cat ours chunks/0_0_0/voxels.csv | grep -qx 0,0,0,sand,7 &&
    "$TFS" cat ours chunks/0_1_0/voxels.csv | grep -qx 1,3,1,gold,0
ok "are merged"
"$TFS" cat ours palette.txt | sed s/gold/brass/ | "$TFS" put ours palette.txt 2>err
"$TFS" cat ours chunks/0_1_0/voxels.csv | grep -qx 1,3,1,brass,0
ok "a name is another one everywhere"
run 0 "undo" undo ours
same ours base "gives the save of before"
rm -r tree/chunks/0_0_0
run 0 "a tree that lacks a chunk of a unit" import --delete tree ours
"$TFS" cat ours chunks/0_1_0/voxels.csv >out && ! "$TFS" cat ours chunks/0_0_0/voxels.csv 2>err
ok "removes that chunk, and the other stays"
sed 's/stone/stane/' base >damaged
run 1 "a unit with another checksum" info damaged
says err 'checksum' "is refused"
cp base mine && cp base yours
voxels mine 0_0_0 0,0,0,stone,7 1,0,1,water,2
voxels yours 0_0_0 0,0,0,stone,1 1,0,1,water,8
run 1 "a number that changed alone" diff --all-rows base yours
says out '^[+]y=0 z=1 x 1 water@8$' "is a difference"
run 0 "numbers of one chunk" merge base mine yours
"$TFS" cat mine chunks/0_0_0/voxels.csv >out
says out '^0,0,0,stone,7$' "of ours stay" && says out '^1,0,1,water,8$' "of theirs come"
done_testing
