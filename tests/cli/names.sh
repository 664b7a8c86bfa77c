#!/usr/bin/env bash
# Names that a save did not have: put and import tell them.
. "$(dirname "$0")/lib.bash"

region save --chunks 4
cp save before
name=$("$TFS" cat save palette.txt | grep -v '^base:air' | tail -1)
"$TFS" cat save palette.txt | sed "s/^$name\$/base:gold_blokc/" >palette
put() {
    "$TFS" put "$@" <palette >out 2>err
}

put save palette.txt && ! cmp -s save before
ok "put takes a new name"
says err 'palette.txt: warning: names new to the save: base:gold_blokc$' "it tells the name"
cp save renamed
put save palette.txt
[ $? = 1 ] && cmp -s save renamed
ok "the same list once more is one of another moment, for names were sorted anew: nothing is renamed"
says err 'palette.txt: name 4 is base:[^ ]*, which is name [0-9]+ of the list' "with the place of a name"
cp palette edited && "$TFS" cat save palette.txt >palette
put save palette.txt && [ ! -s err ]
ok "a name that is there is not told again"
cp save uncut
printf %s "$(<palette)" >unended && "$TFS" put save palette.txt <unended 2>err
[ $? = 1 ] && cmp -s save uncut
ok "a list whose last line has no newline is refused"
says err '^terrainfs: save/palette.txt:[0-9]+: the last line has no newline' "with its line"
cp edited palette

cp before save
run 0 "export" export save dir
cp palette dir/palette.txt
run 0 "import takes a new name" import dir save
says err 'warning: names new to the save: base:gold_blokc$' "and tells it"

cp before save
(ulimit -f 1 && put save palette.txt)
[ $? = 3 ] && ! grep -q 'names new' err && cmp -s save before
ok "put that could not be written tells no names"
chunk=$(judge chunks save | awk 'NR == 1 { print $1 }')
"$TFS" cat save "chunks/$chunk/voxels.csv" | sed '2s/,[^,]*$/,base:a\\x0ab/' >voxels
run_put() {
    "$TFS" put save "chunks/$chunk/voxels.csv" <voxels >out 2>err
}
run_put
[ "$(wc -l <err)" = 1 ]
ok "a newline in a name stays in its line"

run 2 "strict-names is gone" put -o strict-names save palette.txt
says err 'new names are stored and told' "with what there is instead"

# ---- a save of which a part cannot be read keeps its names there
# keeps SAVE PATTERN WHAT: one changed line of palette.txt is refused, and the save stays as it is.
keeps() {
    rm -rf before && cp -r "$1" before
    "$TFS" cat "$1" palette.txt | sed '$s/.*/base:other/' >palette
    put "$1" palette.txt
    [ $? = 1 ] && diff -r before "$1" >out
    ok "$3: nothing is renamed"
    says err "^terrainfs: $1/palette.txt: $2: nothing is renamed, for names would stay as they are there\$" "$3: names what cannot be read"
    "$TFS" cat "$1" palette.txt | "$TFS" put "$1" palette.txt >out 2>err
    ok "$3: the list as it is can be written"
}

"$TOOLS/make_world" --regions 3 --chunks 6 world || exit 3
zone=world/zones/base/earth file=region_-1_0_-1.cosmicreach
mapfile -t chunks < <("$TFS" text $zone | sed -n 's/^chunk \([^ ]*\) .*/\1/p')
for chunk in "${chunks[0]}" "${chunks[-1]}"; do
    "$TFS" cat $zone "chunks/$chunk/voxels.csv" | sed '2s/,[^,]*$/,base:rare/' | "$TFS" put $zone "chunks/$chunk/voxels.csv" 2>>err
done
[ "$(grep -c 'names new to the save: base:rare$' err)" = 1 ]
ok "a name is new once, also where the region that has it was not read yet"
cp $zone/regions/$file whole
printf '\0\0\0\177' | dd of=$zone/regions/$file bs=1 seek=4 conv=notrunc status=none
keeps $zone "not all of the save can be read: $file: is left out: offset 4: FileVersion 127 .*" "a region that is left out"
"$TFS" export $zone tree >out 2>err
sed -i '$s/.*/base:other/' tree/palette.txt
run 1 "import of an edited list into it" import tree $zone
says err "not all of the save can be read: $file" "says the same"
cp whole $zone/regions/$file
run 0 "import once the region is there" import tree $zone
"$TFS" cat $zone palette.txt | grep -qx base:other
ok "renames"
region old --version 3 --chunks 4 && damage old $zone/regions/region_0_0_0.cosmicreach
keeps $zone 'chunk [0-9]+_[0-9]+_[0-9]+ is damaged: .+' "a damaged chunk of a zone"
"$TOOLS/make_luanti" world blocks 4 && python3 -c 'import sqlite3
db = sqlite3.connect("blocks/map.sqlite")
db.execute("update blocks set data = x'"'1d00'"' where rowid = (select max(rowid) from blocks)")
db.commit()'
keeps blocks 'chunk -?[0-9]+_-?[0-9]+_-?[0-9]+ is damaged: .+' "a damaged block of Luanti"
done_testing
