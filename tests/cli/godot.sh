#!/usr/bin/env bash
# Godot Voxel Tools on the command line: upgrade, and chunks that go from one container to another.
. "$(dirname "$0")/lib.bash"

# sqlite FILE SQL: what a query says.
sqlite() {
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for row in db.execute(sys.argv[2]):
    print(*row)
db.commit()' "$@"
}

# ---- upgrade
"$TOOLS/make_voxel" block old 2
run 0 "a block of version 2 is known" info old
says out '^block version: 2 in 1 chunk$' "info says its version"
run 0 "its table is printed" cat old chunks/0_0_0/channels/type.txt
cp out type.before
run 0 "upgrade succeeds" upgrade old
says err '1 chunk upgraded, 0 left' "upgrade says how many"
run 0 "it is a save still" info old
says out '^block version: 4 in 1 chunk$' "it is of version 4"
run 0 "its table is printed again" cat old chunks/0_0_0/channels/type.txt
same out type.before "the voxels are the same"
cp old old.4
run 0 "upgrade again succeeds" upgrade old
says err '0 chunks upgraded, 0 left' "and finds nothing to do"
same old old.4 "nothing was written"
printf '\3\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\2\0\0\0\1\0\15\360\15\220' >opaque
cp opaque opaque.before
run 1 "metadata that cannot be read is not upgraded" upgrade opaque
says err 'chunks/0_0_0: stays as it is: its metadata cannot be read' "upgrade says which and why"
same opaque opaque.before "the block is as it was"
region other --chunks 1
run 2 "a save of another format is not upgraded" upgrade other
says err 'only saves of Godot Voxel Tools are upgraded, and this one is of cosmic_reach' "upgrade says so"

# ---- metadata that the engine cannot read
# metadata NAME VERSION HEX: a bare block with this section.
metadata() {
    python3 -c 'import sys
section = bytes.fromhex(sys.argv[3])
head = bytes([int(sys.argv[2])]) + bytes.fromhex("100010001000")
channels = bytes.fromhex("110000 11ff7f 0100 111032 110f00 0100 0100 0100")
data = head + channels + len(section).to_bytes(4, "little") + section + bytes.fromhex("0df00d90")
open(sys.argv[1], "wb").write(data)' "$@"
}
metadata fine 4 '01 0700000000000000 0100 0200 0f00 00'
run 0 "metadata as the engine writes it is fine" check fine
says out 'fine: godot_voxel: 1 chunks, 0 damaged, 0 warnings' "and without a warning"
while IFS='|' read -r version section sentence; do
    metadata strange "$version" "$section"
    cp strange before
    run 0 "a section $section passes" check strange
    says out "^strange: warning: chunks/0_0_0: the metadata $sentence" "with a warning that says where"
    says out '1 chunks, 0 damaged, 1 warning' "which is counted"
    same strange before "nothing was written"
done <<'END'
4|00 1000 0000 0000 00|has at byte 32 of the block the position 16 0 0, which lies outside: the engine drops
4|00 0100 0000 0000 05 ff|has at byte 38 of the block an item that the engine cannot read
4|00 0100 02|ends at byte 32 of the block in 3 bytes that are no position
2|0100|has at byte 31 of the block an item that the engine cannot read
4||has at byte 27 of the block the size 0: the engine reads on
END
"$TOOLS/make_voxel" folder outside 1
mv outside/regions/lod0/r.0.0.0.vxr outside/regions/lod0/r.8388608.0.0.vxr
run 0 "chunks farther out than the engine goes pass" check outside
says out '^outside: warning: chunks/33554432_0_0: the engine knows no chunk with x = 33554432, only' "with a warning"

# ---- put with -o upgrade
"$TOOLS/make_voxel" block old 2
run 0 "an edit with upgrade" put -o upgrade old chunks/0_0_0/channels/data5.txt <<<'fill 9'
run 0 "it is read" info old
says out '^block version: 4' "the edited block is of version 4"

# ---- from a region to a stream and to a folder
"$TOOLS/make_voxel" region world.vxr 2
"$TOOLS/make_voxel" stream db 3
"$TOOLS/make_voxel" folder folder 1
run 0 "a region is exported" export world.vxr tree
rm tree/info.txt
run 0 "it is imported into a stream" import --all tree db
says err '8 added' "import says how many chunks"
run 0 "the stream is exported" export db tree.db
for name in raw.bin voxels.csv channels/sdf.txt metadata.txt; do
    same tree/chunks/1_1_0/$name tree.db/chunks/1_1_0/$name "$name went over"
done
run 0 "and checked" check db
says out '11 chunks, 0 damaged' "no chunk is damaged"
run 0 "the same goes into a folder" import --all tree folder
run 0 "which is checked" check folder
says out '32 chunks, 0 damaged' "its chunks were replaced, none is damaged"
mkdir -p far/chunks
cp -r tree/chunks/0_0_0 far/chunks/900_0_0
cp world.vxr world.before
run 1 "a chunk outside the region is refused" import far world.vxr
says err 'this region holds no chunk with x = 900, only 0 to 1' "and import says why"
same world.vxr world.before "the region is as it was"
run 0 "the folder makes a region for it" import far folder
[ -e folder/regions/lod0/r.225.0.0.vxr ]
ok "the region is there"

# ---- levels of detail
"$TOOLS/make_voxel" stream levels 4
"$TOOLS/make_voxel" folder flat 1
"$TOOLS/make_voxel" block block
mkdir -p tree.lods/lods/{1,2}/chunks tree.lods/lods/3/chunks tree.lods/chunks
for name in lods/1/chunks/0_0_0 lods/1/chunks/-1_0_2 lods/2/chunks/5_-6_7; do
    mkdir -p tree.lods/$name
    cp -r tree/chunks/1_1_1/{raw.bin,metadata.txt,channels} tree.lods/$name
done
run 0 "levels of detail that the save lacks are imported" import tree.lods levels
says err '3 added, 0 removed' "import says how many chunks"
run 0 "they are exported" export levels tree.levels
for name in lods/1/chunks/0_0_0 lods/1/chunks/-1_0_2 lods/2/chunks/5_-6_7; do
    same tree.lods/$name/raw.bin tree.levels/$name/raw.bin "$name is the block that was imported"
done
[ ! -e tree.levels/lods/3 ]
ok "an empty level is none"
run 0 "and go into a folder" import tree.lods flat
says err '3 added, 0 removed' "import says how many chunks"
[ "$(cd flat/regions && ls -d lod[12]/* | paste -sd ' ')" = 'lod1/r.-1.0.0.vxr lod1/r.0.0.0.vxr lod2/r.1.-2.1.vxr' ]
ok "it has regions of those levels"
echo old >flat/regions/lod1/.r.0.0.0.vxr.terrainfs-journal
run 0 "a journal of version 0.1 beside a region of such a level" info flat
says err 'a journal that version 0.1 left beside a region of a coarser level is not used' "is named"
[ "$(cat flat/regions/lod1/.r.0.0.0.vxr.terrainfs-journal)" = old ]
ok "and stays"
rm -r tree.levels/lods/1/chunks/-1_0_2 tree.levels/lods/2
run 0 "--delete removes levels of detail" import --delete tree.levels levels
says err '0 added, 2 removed' "import says how many chunks"
run 0 "they are exported again" export levels tree.left
[ "$(cd tree.left && find lods -path 'lods/*/chunks/*' -prune -print)" = lods/1/chunks/0_0_0 ]
ok "what is left is the level that was"
for name in block world.vxr; do
    cp $name before
    run 1 "levels of detail are refused by $name" import tree.lods $name
    says err '^terrainfs: tree.lods/lods/[12]/chunks: this save cannot hold lods$' "with a sentence"
    same $name before "nothing was written"
done
mkdir -p deep/lods/40/chunks
cp -r tree.lods/lods/1/chunks/0_0_0 deep/lods/40/chunks/
run 1 "a level beyond the last is refused" import deep levels
says err '^terrainfs: deep/lods/40/chunks: this save holds lods/1 to lods/23 only$' "with a sentence"
"$TOOLS/make_place" --kind binary --regions 2 place.rbxl
cp place.rbxl before
run 0 "a place is exported" export place.rbxl tree.place
cp -r tree.place/regions/1 tree.place/regions/2
run 1 "a region that the place lacks is refused" import tree.place place.rbxl
says err '^terrainfs: tree.place/regions/2/chunks: this save holds regions/0 to regions/1 only$' "with a sentence"
same place.rbxl before "nothing was written"

# ---- what does not fit
mkdir -p odd/chunks/0_0_0
"$TOOLS/make_voxel" region odd.vxr 1
run 0 "a chunk's bytes" cat odd.vxr chunks/0_0_0/raw.bin
printf '\4\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\15\360\15\220' >odd/chunks/0_0_0/raw.bin
run 1 "a block of another size is refused" import odd world.vxr
says err 'raw.bin: the block has 1 x 1 x 1 voxels, this region holds blocks of 16 x 16 x 16' \
    "with a sentence"

# ---- a database that a game has locked
python3 - db <<'END' &
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute('BEGIN EXCLUSIVE')
open('locked', 'w').close()
while True:
    try:
        open('go').close()
        break
    except OSError:
        time.sleep(0.05)
db.execute('ROLLBACK')
END
game=$!
until [ -e locked ]; do sleep 0.05; done
sqlite3_before=$(cksum <db)
run 3 "a locked database is refused" put db chunks/0_0_0/channels/data5.txt <<<'fill 9'
says err 'locked by another program, which may be a running game' "with a sentence"
touch go
wait $game
[ "$sqlite3_before" = "$(cksum <db)" ]
ok "nothing was written"
run 0 "without the game the edit is taken" put db chunks/0_0_0/channels/data5.txt <<<'fill 9'
[ "$(sqlite db 'SELECT count(*) FROM blocks')" = 11 ]
ok "the database has its rows"

# ---- what a disk cannot read
"$TOOLS/make_voxel" folder world 2
unread=$(realpath "$TOOLS/../torture/unread.so")
if [ -e "$unread" ] && [ -z "${TFS_TEST_SANITIZED:-}" ]; then
    export UNREAD=r.1.0.0.vxr UNREAD_FROM=17000 UNREAD_TO=21000
    LD_PRELOAD=$unread "$TFS" check world >out 2>err
    [ $? = 3 ] && [ "$(grep -c '^world: damaged: chunks/[0-9_]*: the region cannot be read' out)" -gt 1 ]
    ok "check names each chunk that cannot be read"
    says out '^world: godot_voxel: 64 chunks, [2-9] damaged, 0 warnings$' "check reads the others"
    LD_PRELOAD=$unread "$TFS" check --json world >out 2>err
    [ $? = 3 ] && python3 -c 'import json
found = json.load(open("out"))
assert found["damaged"] == len(found["findings"]) > 1 and found["chunks"] == 64'
    ok "check --json prints its object"
    unset UNREAD UNREAD_FROM UNREAD_TO
else
    skip "check names each chunk that cannot be read" 'nothing is preloaded under sanitizers'
fi

# ---- a row of a stream that has instances and no voxels
"$TOOLS/make_voxel" stream rows.sqlite 4 && cp rows.sqlite empty.sqlite && python3 - <<'END' || exit 3
import sqlite3
with sqlite3.connect('rows.sqlite') as db:
    db.execute("UPDATE blocks SET vb = NULL, instances = x'0001000000803f0df00d90' WHERE loc = '-50,-1,-50,0'")
with sqlite3.connect('empty.sqlite') as db:
    db.execute('DELETE FROM blocks')
END
"$TFS" export rows.sqlite rows >out 2>err && rm -r rows/.terrainfs && "$TFS" import rows empty.sqlite >out 2>err &&
    "$TFS" diff --json rows.sqlite empty.sqlite >out 2>err && python3 - <<'END'
import sqlite3
rows = [sorted(sqlite3.connect(name).execute('SELECT loc, vb IS NULL, instances FROM blocks'))
        for name in ('rows.sqlite', 'empty.sqlite')]
assert rows[0] == rows[1] and len(rows[0]) == 4
END
ok "gets no block of voxels when its export is imported whole"
done_testing
