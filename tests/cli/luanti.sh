#!/usr/bin/env bash
# Maps of Luanti on the command line: what is refused, what is warned of, diff and text of worlds, and real
# blocks as a decoder of its own reads them.
. "$(dirname "$0")/lib.bash"

luanti() {
    python3 -S "$ROOT/tests/tools/luanti.py" "$@"
}

# edit WORLD PATH PROGRAM: the file through sed -E.
edit() {
    "$TFS" cat "$1" "$2" | sed -E "$3" >edited && "$TFS" put "$1" "$2" <edited
}

"$TOOLS/make_luanti" world base 6
C=chunks/-1_-1_-1

# ---- worlds
run 0 "a world is known" info base
says out '^format: luanti$' "info says its format"
says out '^container: map database$' "and that its map is the save"
says out '^schema: x, y, z' "and its schema"
run 0 "the database alone is known" info base/map.sqlite
says out '^container: map database$' "info says that it is a database"
cp -r base other
sed -i 's/sqlite3/postgresql/' other/world.mt
run 1 "a map in another backend is refused" info other
says err 'other: its map is kept in postgresql.*`minetestserver --world other --migrate sqlite3`' "with the way out"
echo 'blocksize = 8' >other/world.mt
run 1 "blocks of another size are refused" info other
says err 'blocks have 8 nodes a side' "with a sentence"
rm other/map.sqlite other/world.mt
run 1 "a folder without world.mt is no world" info other
rm -r other

# ---- a palette.txt that makes two names one: put once more it would be of another table
cp -r base one
run 0 "an export" export one tree
sed -i '1s/.*/0 default:dirt/' tree/$C/palette.txt
echo fill 07 >tree/$C/param2.txt
run 0 "a chunk with one name less and other parameters" import tree one
[ "$("$TFS" cat one $C/palette.txt | tr '\n' ' ')" = '0 default:dirt 1 air 2 default:chest ' ]
ok "is taken"
cp -r base two && rm -r tree
"$TFS" export two tree
sed -i '1s/.*/0 default:dirt/' tree/$C/palette.txt
sed -i '2s/default:stone/default:dirt/' tree/$C/voxels.csv
run 1 "names and voxels that say different things" import tree two
says err "tree/$C/voxels.csv: it disagrees with other files of this chunk" "disagree"
rm -r tree one two

# ---- warnings
run 0 "a world passes" check base
says out '6 chunks, 0 damaged, 0 warnings' "without a warning"
cp -r base dug
edit dug $C/voxels.csv '/default:chest/d'
run 0 "metadata of air passes" check dug
says out 'dug: warning: chunks/-1_-1_-1: metadata at 3 5 2, where there is air' "with a warning that says where"
echo 'timestamp none' | "$TFS" put dug $C/state.txt
run 0 "objects without a timestamp pass" check dug
says out 'warning: .*objects of a block without a timestamp, which the game removes' "with a warning"

# ---- pictures
cp -r base low
printf 'x,y,z,node,param2\n-16,-16,-16,default:stone,0\n-16,-14,-16,ignore,0\n-16,-12,-16,default:stone,0\n' |
    "$TFS" put low $C/voxels.csv 2>err
"$TFS" cat low heightmap.png >picture && python3 -S "$ROOT/tests/tools/png.py" edit picture 0 15 1
run 0 "a column becomes lower" put low heightmap.png <picture
"$TFS" cat low $C/voxels.csv | grep -v ',air,' >out
[ "$(sed 1d out)" = "-16,-16,-16,default:stone,0
-16,-14,-16,ignore,0" ]
ok "and what was not generated in it stays so"

# ---- diff, text
cp -r base ours
run 0 "equal worlds do not differ" diff base ours
edit ours $C/voxels.csv 's/default:chest,0/default:chest,3/'
edit ours palette.txt 's/default:stone/mod:rock/'
run 1 "a rotated chest and another stone differ" diff base ours
says out 'default:chest' "diff names the node"
says out 'mod:rock' "and the new name"
run 0 "text of a world" text base
says out 'default:chest' "has its nodes"

# Chunks of the same bytes are summed up once; objects have places, which are other ones in each chunk.
cp -r base twins
"$TFS" cat base $C/raw.bin | "$TFS" put twins chunks/0_-1_-1/raw.bin
"$TFS" cat twins $C/objects.txt | cmp -s - <("$TFS" cat twins chunks/0_-1_-1/objects.txt)
[ $? = 1 ]
ok "two chunks of the same bytes show their objects otherwise"
"$TFS" text twins | grep '^chunk 0_-1_-1 ' >beside
"$TFS" put twins $C/voxels.csv < <("$TFS" cat twins $C/voxels.csv | sed 2d)
"$TFS" text twins | grep '^chunk 0_-1_-1 ' >alone
same beside alone "the line of a chunk does not depend on the one beside it"

# ---- what an independent decoder says
"$TFS" export base tree >out 2>err
luanti tree tree -1_-1_-1 0_-1_-1 4_-1_-1 >a
luanti db base/map.sqlite -1_-1_-1 0_-1_-1 4_-1_-1 >b
same a b "blocks of version 29 are as a decoder of its own reads them"
sample=$ROOT/../shared/samples/luanti/mesecons.sqlite.gz
if [ -e "$sample" ]; then
    gunzip -c "$sample" >real.sqlite
    # Some of each version, with and without metadata, in a database of their own.
    python3 -S -c 'import sqlite3
db = sqlite3.connect("real.sqlite")
db.execute("DELETE FROM blocks WHERE abs(pos) % 150 <> 7 AND length(data) < 1500")
db.commit()'
    run 0 "real blocks pass" check real.sqlite
    "$TFS" export real.sqlite real >out 2>err
    mapfile -t chunks < <(cd real/chunks && printf '%s\n' *)
    [ ${#chunks[@]} -ge 40 ]
    ok "there are enough of them"
    luanti tree real "${chunks[@]}" >a
    luanti db real.sqlite "${chunks[@]}" >b
    same a b "real blocks are as a decoder of its own reads them"
    says a '^M ' "and some have metadata"
else
    skip "real blocks" "no samples"
fi
# Other databases of a world, given as a save.
other_database() {
    rm -f "$1"
    python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()' "$1" "$2"
    cp "$1" before
    run 1 "$1 is refused" info "$1"
    says err "$1: is a database of $3, which holds no terrain: give the folder of the world, or the map.sqlite in it$" \
        'it is said what it is'
    same before "$1" 'nothing in it changed'
}
other_database players.sqlite 'CREATE TABLE player (name TEXT, posX REAL)' players
other_database auth.sqlite 'CREATE TABLE auth (id INTEGER, name TEXT, password TEXT)' 'passwords and privileges'
other_database mod_storage.sqlite 'CREATE TABLE entries (modname TEXT, key BLOB, value BLOB)' 'what mods store'
"$TOOLS/make_luanti" map auth.sqlite 4 || exit 3
run 0 'a map is one, whatever its name' check auth.sqlite
done_testing
