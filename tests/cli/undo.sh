#!/usr/bin/env bash
# undo: what put, import and upgrade replace is kept, comes back, and goes again; what keeps it from that; and
# where it is kept.
. "$(dirname "$0")/lib.bash"

chunk=0_0_0
undo=$XDG_STATE_HOME/terrainfs/undo

# fresh [FILE]: a save, and the copies `old` of it and `new` with another block.
fresh() {
    rm -rf "$undo" ./save
    region save --chunks 2
    cp save old
    edit
    cp save new
}

edit() {
    "$TFS" cat save chunks/$chunk/voxels.csv | sed "2s/,[^,]*\$/,base:${1:-one}/" >text
    "$TFS" put "${@:2}" save chunks/$chunk/voxels.csv <text 2>err || exit 3
}

# versions [WANTED]: the directories of all versions, oldest first.
versions() {
    find "$undo" -mindepth 2 -maxdepth 2 | sort -V
}

count_is() {
    [ "$(versions | wc -l)" = "$1" ]
    ok "$2"
}

# later: the newest version was made an hour ago.
later() {
    touch -d '1 hour ago' "$(versions | tail -n 1)"
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
count_is 1 "going to and fro keeps one version"

# ---- what it says ------------------------------------------------------------------------------
fresh
run 0 "--list lists" undo --list save
says out "^20.* 1 file, $(stat -c %s old) bytes  /.*/1-0/files\$" "--list has date, files, bytes and directory"
cmp -s "$(sed 's/.*  //' out)/save" old
ok "the file in the directory is the earlier version"
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

# What waits in a journal would be in neither version.
for damage in 'truncate -s 20 save' 'truncate -s 0 save'; do
    fresh
    $damage
    cp save damaged
    echo edits >.save.terrainfs-journal
    run 1 "--force behind '$damage', with a journal" undo --force save
    says err 'edits that were accepted wait in its journal .save.terrainfs-journal' "says what waits"
    same save damaged "nothing is put back"
    rm .save.terrainfs-journal
    run 0 "the same without a journal" undo --force save
    same save old "the earlier version is back"
done

fresh
truncate -s 1073741825 save
run 1 "--force, where what is there cannot be kept" undo --force save
says err 'what is there now cannot be kept: it has 1073741825 bytes, .*; -o backup=no puts' "says why, and the way out"
[ "$(stat -c %s save)" = 1073741825 ]
ok "and leaves it"
count_is 1 "and its earlier version"
run 0 "-o backup=no --force" undo -o backup=no --force save
says err '1 file put back as before the changes of 20[^;]*; what was there is not kept' "says that there is no way back"
same save old "the earlier version is back"
count_is 0 "nothing is kept"

fresh
kept=$(versions)/files/save
cp "$kept" good
rm "$kept"
run 3 "a version without its file" undo save
same save new "nothing comes in its place"
ln -s "$PWD/good" "$kept"
run 3 "a version with a link in it" undo save
same save new "a link is not followed"

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
for gone in 'rm save' 'mv save renamed'; do
    cp -p new save
    $gone
    run 3 "undo behind $gone" undo --force save
    says err 'undo --list shows what is kept of it' "says what helps"
    [ ! -e save ]
    ok "and nothing is put there"
    run 0 "--list behind $gone" undo --list save
    says out "^20.* 1 file, $(stat -c %s old) bytes  /.*/1-0/files\$" "lists"
    same "$(sed 's/.*  //' out)/save" old "and there it is"
done
run 1 "a save that was renamed" undo renamed
same renamed new "has no earlier version, and stays"

# ---- versions ----------------------------------------------------------------------------------
fresh
edit two
count_is 1 "a second command keeps nothing more"
"$TFS" undo save 2>err
same save old "undo takes both back"
edit three
count_is 2 "a command behind an undo begins a version"
"$TFS" undo save 2>err
same save old "it is taken back alone"

fresh
later
edit two
count_is 2 "a command an hour later begins a version"
"$TFS" undo save 2>err
same save new "and undo takes that back alone"

fresh
printf 'x' >>save
"$TFS" put save chunks/$chunk/voxels.csv <text >out 2>err
cp new save
edit two
count_is 2 "another program's change begins a version"

fresh
for name in a b c d e f g; do
    later
    edit "$name"
done
count_is 5 "five versions are kept"
[ "$(basename "$(versions | head -n 1)")" = 4-0 ]
ok "the oldest went"

# ---- where -------------------------------------------------------------------------------------
fresh
chmod 600 save
edit two
[ "$(find "$undo" "$XDG_STATE_HOME/terrainfs" -type d ! -perm 700)" = "" ]
ok "its directories are for the user alone"
later
edit three
[ "$(stat -c %a "$(versions | tail -n 1)/files/save")" = 600 ]
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
says err 'or not ours alone' "a directory that others may write to is told"
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
says err 'not kept for undo: there is no home' "without a home that is said"
[ ! -e "$undo" ] && [ -z "$(find . -name '.*undo*')" ]
ok "and nothing is kept"
sed -i '$d' text
cp save new
env -u XDG_STATE_HOME HOME=/proc/none "$TFS" put save chunks/$chunk/voxels.csv <text 2>err
differ save new "a home that cannot be written keeps no edit from the save"

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

# What terrainfs 0.1 kept has another list.
fresh
(cd "$(versions)" && rm list && echo 'terrainfs undo 1' >manifest && mv "$PWD" "${PWD%-0}")
run 1 "a version that terrainfs 0.1 kept" undo save
run 0 "is listed" undo --list save
says out '^1 of terrainfs 0.1, or damaged  /.*files$' "with where its files are"
edit two
run 0 "does not keep a new one from being kept" undo save
same save new "which comes back"
count_is 2 "and stays where it is"

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
says err '^terrainfs: world.sqlite: no earlier version .*of databases: only with -o backup' "says what would"
dump world.sqlite >one.sql
sed -i '$d' text
run 0 "a database with -o backup" put -o backup world.sqlite chunks/$place/voxels.csv <text
dump world.sqlite >two.sql
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

rm -r world world.sqlite
run 3 "a folder that was deleted" undo --force world
run 3 "a database that was deleted" undo --force world.sqlite

# in_map FILE KIND: a map of Luanti in FILE, whose world or database is `luanti`.
in_map() {
    dump "$1" >old.sql
    "$TFS" cat luanti chunks/-1_-1_-1/voxels.csv | sed 's/default:chest,0/default:chest,3/' >text
    run 0 "an edit of $2" put -o backup luanti chunks/-1_-1_-1/voxels.csv <text
    dump "$1" >new.sql
    differ old.sql new.sql "changes the map"
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
