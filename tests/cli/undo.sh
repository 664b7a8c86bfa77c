#!/usr/bin/env bash
# undo: what put, import and upgrade replace is kept, comes back, and goes again; what keeps it from that; and
# where it is kept.
. "$(dirname "$0")/lib.bash"

chunk=0_0_0
undo=$XDG_STATE_HOME/terrainfs/undo

# fresh [FILE]: a save, and the copies `old` of it and `new` with another block.
fresh() {
    rm -rf "$undo" ./save ./.save.terrainfs-undo
    region save --chunks 2
    cp save old
    edit
    cp save new
}

edit() {
    "$TFS" cat save chunks/$chunk/voxels.csv | sed "2s/,[^,]*\$/,base:${1:-one}/" >text
    "$TFS" put "${@:2}" save chunks/$chunk/voxels.csv <text 2>err || exit 3
}

# generations [WANTED]: the directories of all generations, oldest first.
generations() {
    find "$undo" -mindepth 2 -maxdepth 2 | sort -V
}

count_is() {
    [ "$(generations | wc -l)" = "$1" ]
    ok "$2"
}

# later: the newest generation was made an hour ago.
later() {
    local manifest
    manifest=$(generations | tail -n 1)/manifest
    awk '$1 == "time" { $2 -= 3600 } 1' "$manifest" >text && cat text >"$manifest"
}

fresh
run 0 "undo takes a put back" undo save
same save old "the save is as it was before"
says err '^terrainfs: save: 1 file put back as before the changes of 20' "undo says what it did"
run 0 "undo once more is a redo" undo save
same save new "the edit is back"
says err 'as before the undo of 20' "a redo is called what it is"
run 0 "and again" undo save
same save old "the save is as it was before again"
count_is 1 "going to and fro keeps one generation"

# ---- what it says ------------------------------------------------------------------------------
fresh
run 0 "--list lists" undo --list save
says out "^20.* 1 file, $(stat -c %s old) bytes  /.*/1/files\$" "--list has date, files, bytes and directory"
cmp -s "$(sed 's/.*  //' out)/save" old
ok "the file in the directory is the earlier version"
run 0 "--dry-run has status 0" undo --dry-run save
says out '^terrain: 1 chunk changed' "--dry-run prints the summary"
same save new "--dry-run writes nothing"
"$TFS" diff --stat save old >wanted 2>&1
"$TFS" undo --dry-run save >out 2>&1
tail -n 1 out | cmp -s - <(tail -n 1 wanted)
ok "--dry-run says what diff --stat says"
region other
run 1 "a save without an earlier version" undo other
says err 'other: no earlier version of it is kept' "that is said"
run 1 "--list of such a save" undo --list other
run 3 "a save that is not there" undo nosuch

# ---- when it is refused ------------------------------------------------------------------------
fresh
printf 'x' >>save
cp save theirs
run 3 "a save that another program changed" undo save
says err 'another program changed save since' "that is said"
same save theirs "nothing is written then"
run 0 "--force" undo --force save
same save old "--force brings the earlier version back"
run 0 "redo behind --force" undo save
same save theirs "what was forced away was kept"

fresh
truncate -s 1073741825 save
run 1 "--force, where what is there cannot be kept" undo --force save
says err 'what is there now cannot be kept: it has 1073741825 bytes, .*; -o backup=no --force' "says why, and the way out"
[ "$(stat -c %s save)" = 1073741825 ]
ok "and leaves it"
count_is 1 "and its earlier version"
run 0 "-o backup=no --force" undo -o backup=no --force save
says err '1 file put back as before the changes of 20[^;]*; what was there is not kept' "says that there is no way back"
same save old "the earlier version is back"
count_is 0 "nothing is kept"

fresh
kept=$(generations)/files/save
cp "$kept" good
printf 'x' | dd of="$kept" bs=1 seek=30 conv=notrunc 2>/dev/null
run 1 "a damaged generation" undo save
says err 'save: its earlier version is damaged' "that is said"
same save new "a damaged generation is not used"
rm "$kept"
run 1 "a generation without its file" undo save
says err 'was not kept to the end' "that is said"
ln -s good "$kept"
run 1 "a generation with a link in it" undo save
same save new "a link is not followed"

fresh
region another --seed 9
"$TFS" cat another chunks/$chunk/voxels.csv | sed "2s/,[^,]*\$/,base:two/" >text
"$TFS" put another chunks/$chunk/voxels.csv <text 2>err
from=$(dirname "$(dirname "$(find "$undo" -path '*/files/another')")")
to=$(dirname "$(dirname "$(find "$undo" -path '*/files/save')")")
rm -r "$to" && cp -rp "$from" "$to"
run 1 "generations of another save" undo save
says err 'no earlier version of it is kept' "they are not this save's"
same save new "another save's version does not come in its place"

fresh
(
    exec 8<save
    flock 8
    exec "$TFS" undo save >out 2>err
)
[ $? = 3 ]
ok "a save that is in use"
says err 'being written by another terrainfs' "that is said"
same save new "a save that is in use is not changed"

# A zone and one of its regions: whatever of it is mounted, its folder has the lock.
rm -rf "$undo" && mkdir -p earth/regions
printf '{"zoneId": "base:earth"}' >earth/zoneInfo.json
region earth/regions/region_0_0_0.cosmicreach --chunks 2
one=earth/regions/region_0_0_0.cosmicreach
edited() {
    "$TFS" cat earth chunks/$chunk/voxels.csv | sed "2s/,[^,]*\$/,base:$2/" >text
    run 0 "an edit of $1" put "$1" chunks/$chunk/voxels.csv <text
    cp "$one" mine
}
# refused SAVE WHAT: undo of SAVE is, while the zone has that lock
refused() {
    (
        exec 8<earth
        flock -x 8
        exec "$TFS" undo "$1" >out 2>err
    )
    [ $? = 3 ]
    ok "$2 is refused"
    says err 'mounted or being written by another terrainfs' "that is said"
    same "$one" mine "and nothing is changed"
}
edited "$one" one
refused "$one" "undo of a region whose zone is mounted"
run 0 "undo of a region" undo "$one"
edited earth two
refused earth "undo of a zone that is mounted"
run 0 "undo of the zone" undo earth
run 0 "redo of it" undo earth

# ---- a save that is gone -----------------------------------------------------------------------
fresh
region save --chunks 2
chmod 600 save && cp -p save old && rm -rf "$undo" && edit
rm save
# Whoever makes a file here gives user 7 a right to read it, which the save did not give.
python3 -S -c 'import os, struct, sys
def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, rights, user) for tag, rights, user in entries)
none = 0xffffffff
os.setxattr(".", "system.posix_acl_default", acl((1, 6, none), (2, 4, 7), (4, 0, none), (16, 4, none), (32, 0, none)))
for entry in os.scandir(sys.argv[1]):
    kept = os.path.join(entry.path, "files", "save")
    if os.path.exists(kept):
        os.setxattr(kept, "user.note", b"ours")' "$undo"/*/ 2>xattrs || rm xattrs
run 3 "a save that was deleted" undo save
says err 'save is gone; --force puts the version back' "that is said"
[ ! -e save ]
ok "and nothing is put there"
run 0 "--list of a save that was deleted" undo --list save
says out "^20.* 1 file, $(stat -c %s old) bytes" "lists"
run 3 "--dry-run of a save that was deleted" undo --dry-run save
run 0 "--dry-run --force" undo --dry-run --force save
says out '^save would be put back, as before the changes of 20' "says what would come"
[ ! -e save ]
ok "and does not do it"
run 0 "--force of a save that was deleted" undo --force save
says err '1 file put back as before the changes of 20' "says what it did"
same save old "the earlier version is back"
[ "$(stat -c %a save)" = 600 ]
ok "with the permissions that it had"
what="and the attributes, and none that the directory gives"
if [ -e xattrs ]; then
    python3 -S -c 'import os; assert os.listxattr("save") == ["user.note"]; os.removexattr(".", "system.posix_acl_default")'
    ok "$what"
else
    skip "$what" "no attributes or lists of rights here"
fi
rm save
run 0 "deleted once more" undo --force save
same save old "it is back once more"
run 0 "undo of what is back" undo save
same save old "changes nothing"
edit five && cp save new
run 0 "an edit of what is back" undo save
same save old "is taken back"
run 0 "redo" undo save
same save new "is there"

rm save
journal=.save.terrainfs-journal
: >$journal
run 0 "a save that was deleted beside its journal" undo --force save
says err "; edits that are not in it are in $PWD/$journal\$" "the journal is named"
rm -f $journal

fresh
mkdir -p far/away
cp save far/away/save
ln -s far/away link && ln -s link/save name
"$TFS" put name chunks/$chunk/voxels.csv <text 2>err
edit two && cp far/away/save expected
"$TFS" cat name chunks/$chunk/voxels.csv | sed "2s/,[^,]*\$/,base:three/" >text
"$TFS" put name chunks/$chunk/voxels.csv <text 2>err
rm far/away/save
run 0 "a save that was deleted, by the name of a link" undo --force name
same far/away/save expected "comes back where it was"
[ -L name ]
ok "the link stays"
rm -r far
run 3 "a save whose directory is gone" undo --force "$PWD/far/away/save"
says err "its directory is gone, too: make $PWD/far/away again" "that is said"
mkdir -p far/away
run 0 "the directory is back" undo --force far/away/save
same far/away/save expected "and so is the save"
rm -r far link name

# ---- generations -------------------------------------------------------------------------------
fresh
edit two
count_is 1 "a second command joins the generation"
"$TFS" undo save 2>err
same save old "undo takes both back"
edit three
count_is 2 "a command behind an undo begins a generation"
"$TFS" undo save 2>err
same save old "it is taken back alone"

fresh
later
edit two
count_is 2 "a command an hour later begins a generation"
"$TFS" undo save 2>err
same save new "and undo takes that back alone"

fresh
printf 'x' >>save
"$TFS" put save chunks/$chunk/voxels.csv <text >out 2>err
cp new save
edit two
count_is 2 "another program's change begins a generation"

fresh
for name in a b c d e f g; do
    later
    edit "$name"
done
count_is 5 "five generations are kept"
[ "$(basename "$(generations | head -n 1)")" = 4 ]
ok "the oldest went"

# ---- where -------------------------------------------------------------------------------------
fresh
chmod 600 save
edit two
[ "$(find "$undo" "$XDG_STATE_HOME/terrainfs" -type d ! -perm 700)" = "" ]
ok "its directories are for the user alone"
later
edit three
[ "$(stat -c %a "$(generations | tail -n 1)/files/save")" = 600 ]
ok "a save of mode 600 is kept with mode 600"
"$TFS" undo save 2>err
[ "$(stat -c %a save)" = 600 ]
ok "and comes back with it"

mkdir a b
cp old a/save && cp new b/save
(cd a && edit one) && (cd b && edit two)
run 0 "the first of two saves of one name" undo a/save
same a/save old "gets its own version"
run 0 "the second" undo b/save
same b/save new "gets its own version"

fresh
mv save renamed
run 0 "a save that was renamed" undo renamed
same renamed old "finds its earlier version"
run 0 "a save that was renamed, once more" undo renamed
same renamed new "finds it again"

fresh
rm -rf "$XDG_STATE_HOME/terrainfs"
mkdir elsewhere
ln -s "$PWD/elsewhere" "$XDG_STATE_HOME/terrainfs"
edit two
says err 'not kept for undo: .*terrainfs of earlier versions is a link' "a link in the place of its directory is told"
[ -z "$(ls elsewhere)" ]
ok "and is not followed"
rm "$XDG_STATE_HOME/terrainfs"
mkdir "$XDG_STATE_HOME/terrainfs"
chmod 777 "$XDG_STATE_HOME/terrainfs"
edit three
says err 'is not ours alone' "a directory that others may write to is told"
[ -z "$(ls "$XDG_STATE_HOME/terrainfs")" ]
ok "and is not used"
rmdir "$XDG_STATE_HOME/terrainfs"
"$TFS" cat save chunks/$chunk/voxels.csv | grep base:three >/dev/null
ok "the edits are in the save all the same"

# without_home COMMAND...
without_home() {
    env -u HOME -u XDG_STATE_HOME "$@"
}
fresh
rm -rf "$undo"
sed -i '$d' text
without_home "$TFS" put save chunks/$chunk/voxels.csv <text 2>err
[ -d .save.terrainfs-undo ] && [ "$(ls -A "$XDG_STATE_HOME/terrainfs/undo" 2>/dev/null)" = "" ]
ok "without a home it is kept beside the save"
without_home "$TFS" undo save 2>err
same save new "and found there"
sed -i '$d' text
env -u XDG_STATE_HOME HOME=/proc/none "$TFS" put save chunks/$chunk/voxels.csv <text 2>err
differ save new "a home that cannot be written keeps no edit from the save"
HOME=/proc/none run 0 "what it could not keep is beside the save" undo save
same save new "and comes back"

fresh
rm -rf "$undo"
edit two -o backup=no
[ ! -e "$undo" ]
ok "-o backup=no keeps nothing"
mkdir kept
edit three -o backup=kept
[ -d kept/terrainfs/undo ] && [ ! -e "$undo" ]
ok "-o backup=DIR keeps it there"
run 1 "it is not found without saying where" undo save
run 0 "it is found in DIR" undo -o backup=kept save
"$TFS" cat save chunks/$chunk/voxels.csv | grep base:two >/dev/null
ok "and is what it was"

# ---- other kinds of saves ----------------------------------------------------------------------
"$TOOLS/make_ter" --size 16 --materials 3 --sidecar level.ter || exit 3
cp level.ter old.ter && cp level.terrain.json old.json
"$TFS" cat level.ter palette.txt | sed '1s/$/_renamed/' >text
run 0 "names of a terrain with a list beside it" put level.ter palette.txt <text
differ level.terrain.json old.json "change the list"
run 0 "undo takes both back" undo level.ter
says err '2 files put back' "it counts both"
same level.ter old.ter "the terrain is as before"
same level.terrain.json old.json "the list is as before"

"$TOOLS/make_voxel" folder world 2 || exit 3
cp -r world world.old
"$TFS" export world tree 2>err
edited=0
for file in tree/chunks/*/voxels.csv; do
    [ $edited -lt 40 ] || break
    sed -i '$d' "$file" && edited=$((edited + 1))
done
mkdir tree/chunks/200_0_0
cp -r "$(find tree/chunks -mindepth 1 -maxdepth 1 | head -n 1)/channels" tree/chunks/200_0_0/ 2>/dev/null
run 0 "edits in a folder" import tree world
cp -r world world.new
run 0 "--dry-run of a folder" undo --dry-run world
says out '^terrain: [0-9]+ chunks changed' "prints the summary"
[ -z "$(find "$undo" -name compared)" ]
ok "and leaves nothing"
diff -r world world.new >out
ok "and changes nothing"
run 0 "undo of a folder" undo world
diff -r world world.old >out
ok "all its files are as before, and none is new"
run 0 "redo of a folder" undo world
diff -r world world.new >out
ok "all its files are as edited"

place=$(find tree/chunks -mindepth 2 -name voxels.csv -printf '%h\n' | head -n 1)
place=${place#tree/}
"$TFS" cat world "$place/voxels.csv" | sed '$d' >text
run 0 "an edit of a folder by the name of its meta.vxrm" put world/meta.vxrm "$place/voxels.csv" <text
run 0 "is taken back by the name of the folder" undo world
diff -r world world.new >out
ok "its files are as before"
(
    exec 8<world
    flock 8
    exec "$TFS" undo world/meta.vxrm >out 2>err
)
[ $? = 3 ]
ok "a folder that is in use is not undone by the name of its meta.vxrm"
diff -r world world.new >out
ok "its files stay"

"$TOOLS/make_voxel" stream world.sqlite 4 || exit 3
dump() {
    python3 -S -c 'import sqlite3, sys
print("\n".join(sqlite3.connect(sys.argv[1]).iterdump()))' "$1"
}
place=-49_-1_-50
dump world.sqlite >old.sql
"$TFS" cat world.sqlite chunks/$place/voxels.csv | sed '$d' >text
run 0 "a database without -o backup" put world.sqlite chunks/$place/voxels.csv <text
run 1 "is not kept" undo world.sqlite
says err '^terrainfs: world.sqlite: no earlier version .*: of databases one is kept only with -o backup$' "says what would"
dump world.sqlite >one.sql
sed -i '$d' text
run 0 "a database with -o backup" put -o backup world.sqlite chunks/$place/voxels.csv <text
dump world.sqlite >two.sql
run 0 "--dry-run of a database" undo --dry-run world.sqlite
says out '^terrain: 1 chunk changed' "prints the summary"
run 0 "is kept" undo world.sqlite
dump world.sqlite | cmp -s - one.sql
ok "and is as it was before"
run 0 "redo of a database" undo world.sqlite
dump world.sqlite | cmp -s - two.sql
ok "brings the edit back"
(
    ulimit -f 8
    exec "$TFS" undo world.sqlite >out 2>err
)
[ $? = 3 ]
ok "a database that cannot be copied is not replaced"
says err 'what is there now cannot be kept' "that is said"
dump world.sqlite | cmp -s - two.sql
ok "it is as it was"
run 0 "once there is room" undo world.sqlite
dump world.sqlite | cmp -s - one.sql
ok "it is"
run 0 "and redone" undo world.sqlite
dump world.sqlite | cmp -s - two.sql
ok "with what was there"
python3 -S -c 'import sqlite3, sys
c = sqlite3.connect("world.sqlite"); c.execute("DELETE FROM blocks"); c.commit()'
dump world.sqlite >three.sql
run 3 "a database that another program changed" undo world.sqlite
dump world.sqlite | cmp -s - three.sql
ok "stays as it is"

"$TOOLS/make_ter" --size 16 --materials 3 --sidecar level.ter || exit 3
cp level.ter old.ter && cp level.terrain.json old.json
"$TFS" cat level.ter palette.txt | sed '1s/$/_renamed/' >text
"$TFS" put level.ter palette.txt <text 2>err
cp level.terrain.json new.json
rm level.ter
run 0 "a terrain that was deleted, and the list beside it stays" undo --force level.ter
same level.ter old.ter "the terrain is back"
same level.terrain.json old.json "and the list that it had"
run 0 "redo" undo level.ter
same level.terrain.json new.json "brings the new list back"
[ ! -e level.ter ]
ok "beside which there was no terrain"
run 0 "and again" undo level.ter
same level.ter old.ter "the terrain is back again"
rm world.sqlite
run 3 "a database that was deleted" undo world.sqlite
says err 'world.sqlite is gone; --force puts' "that is said"
: >world.sqlite-wal
run 3 "what SQLite left of it" undo --force world.sqlite
says err 'world.sqlite-wal of it is there: move that away' "is named"
[ ! -e world.sqlite ]
ok "and nothing is put beside it"
rm world.sqlite-wal
run 0 "--force of a database that was deleted" undo --force world.sqlite
dump world.sqlite | cmp -s - one.sql
ok "it is as it was before the last change"

rm -r world
run 3 "a folder that was deleted" undo --force world
says err 'the folder is gone, and of a folder those files alone are kept that were changed: they are in /' "that is said"
[ ! -e world ]
ok "half of it is not put there"

rm -rf "$undo" level.ter level.terrain.json
"$TOOLS/make_ter" --size 16 --materials 3 --sidecar level.ter || exit 3
cp level.ter old.ter && cp level.terrain.json old.json
"$TFS" cat level.ter palette.txt | sed '1s/$/_renamed/' >text
"$TFS" put level.ter palette.txt <text 2>err
cp level.terrain.json new.json
for i in 1 2 3 4 5 6 7; do
    rm level.ter
    "$TFS" undo --force level.ter 2>err || break
    cmp -s level.ter old.ter || break
done
[ "$i" = 7 ] && cmp -s level.ter old.ter
ok "a terrain that was deleted again and again comes back"
same level.terrain.json old.json "with its list"
count_is 2 "its version stays, and the new list"
run 0 "the list that was there" undo --force level.ter
same level.terrain.json new.json "comes back, too"
run 0 "and the terrain goes and comes" undo level.ter
same level.ter old.ter "as before"
rm level.ter
run 0 "deleted behind that" undo --force level.ter
same level.ter old.ter "it is back"
rm level.ter && rm -r "$(dirname "$(dirname "$(find "$undo" -name level.ter)")")"
run 3 "a terrain of which only the list is kept" undo --force level.ter
says err 'level.ter: it is gone, and no version of it is kept; what is kept of files beside it is in /' "that is said"
run 3 "--dry-run of that" undo --dry-run --force level.ter

for gone in 'rm level.ter' 'mv level.ter elsewhere/'; do
    rm -rf elsewhere "$undo" level.ter level.terrain.json && mkdir elsewhere
    "$TOOLS/make_ter" --size 16 --materials 3 --sidecar level.ter || exit 3
    cp level.ter b.ter && printf 'x' >>b.ter && cp b.ter b.old
    "$TFS" cat level.ter palette.txt | sed '1s/$/_renamed/' >text
    "$TFS" put level.ter palette.txt <text 2>err
    "$TFS" undo level.ter 2>err
    run 0 "--dry-run of a redo of both" undo --dry-run level.ter
    says out '^(materials|names|palette|terrain)' "compares the terrain"
    $gone
    run 1 "the neighbour of a terrain that went by $gone" undo --force b.ter
    says err 'b.ter: no earlier version of it is kept' "has no earlier version"
    same b.ter b.old "and does not become that terrain"
done
mv elsewhere/level.ter new.ter && rm -r elsewhere
run 0 "a terrain that was renamed behind an undo" undo new.ter
says err '2 files put back' "finds its versions"

# renamed_over: b.ter is a.ter, which was edited as the deleted b.ter was.
renamed_over() {
    local seed=1 name
    rm -rf "$undo" e && mkdir e
    for name in b a; do
        "$TOOLS/make_ter" --size 16 --materials 3 --seed $((seed++)) e/$name.ter || exit 3
        cp e/$name.ter $name.old
        "$TFS" cat e/$name.ter palette.txt | sed '1s/$/_renamed/' >text
        "$TFS" put e/$name.ter palette.txt <text 2>err
    done
    rm e/b.ter && mv e/a.ter e/b.ter && cp e/b.ter a.new
}
for force in '' --force; do
    renamed_over
    differ a.old b.old "two terrains"
    # shellcheck disable=SC2086 # none is no operand
    run 0 "undo $force of a save that was renamed over a deleted one" undo $force e/b.ter
    same e/b.ter a.old "brings back its own version"
    # shellcheck disable=SC2086
    run 0 "and once more" undo $force e/b.ter
    same e/b.ter a.new "the redo"
done
renamed_over
run 0 "--list of it" undo --list e/b.ter
says out '/a\.ter-[0-9a-f]*/1/files$' "lists its versions"
says out "^of an earlier save of that name  .*/b\.ter-[0-9a-f]*/1/files\$" "and names those of the deleted one"
kept=$(sed -n 's/^of an.*  //p' out)/b.ter
same "$kept" b.old "which are there"
run 0 "undo of it" undo e/b.ter
same "$kept" b.old "and behind an undo, too"

# in_map FILE KIND: a map of Luanti in FILE, whose world or database is `luanti`.
in_map() {
    dump "$1" >old.sql
    "$TFS" cat luanti chunks/-1_-1_-1/voxels.csv | sed 's/default:chest,0/default:chest,3/' >text
    run 0 "an edit of $2" put -o backup luanti chunks/-1_-1_-1/voxels.csv <text
    dump "$1" >new.sql
    differ old.sql new.sql "changes the map"
    run 0 "--dry-run" undo --dry-run luanti
    says out '^terrain: 1 chunk changed' "says how much"
    run 0 "undo of $2" undo luanti
    dump "$1" | cmp -s - old.sql
    ok "the map is as before"
    run 0 "redo, by the name of the map" undo "$1"
    dump "$1" | cmp -s - new.sql
    ok "the map is as edited"
    rm -r luanti
}
"$TOOLS/make_luanti" world luanti 6 || exit 3
in_map luanti/map.sqlite "a world of Luanti"
"$TOOLS/make_luanti" world luanti 6 || exit 3
mv luanti/map.sqlite m && ln -s ../m luanti/map.sqlite
in_map m "a world whose map lies elsewhere"
"$TOOLS/make_luanti" map luanti 6 || exit 3
in_map luanti "a map of Luanti"
done_testing
