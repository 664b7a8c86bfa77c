#!/usr/bin/env bash
# Names that a save did not have: put and import tell them, and refuse them where that is wanted.
. "$(dirname "$0")/lib.bash"

region save --chunks 4
cp save before
name=$("$TFS" cat save palette.txt | grep -v '^base:air' | tail -1)
"$TFS" cat save palette.txt | sed "s/^$name\$/base:gold_blokc/" >palette
put() {
    "$TFS" put "$@" <palette >out 2>err
}

put -o strict-names save palette.txt
[ $? = 1 ] && cmp -s save before
ok "put with strict-names refuses a new name"
says err 'palette.txt: base:gold_blokc: the save has no such name' "it names the name"
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
cp edited palette

cp before save
run 0 "export" export save dir
cp palette dir/palette.txt
run 1 "import with strict-names refuses a new name" import -o strict-names dir save
says err 'base:gold_blokc: the save has no such name' "it names the name, too"
says err 'nothing was written' "and says that nothing was written"
same save before "and writes nothing"
run 0 "import takes a new name" import dir save
says err 'warning: names new to the save: base:gold_blokc$' "and tells it"

cp before save
chunk=$(judge chunks save | awk 'NR == 1 { print $1 }')
"$TFS" cat save "chunks/$chunk/voxels.csv" | sed '2s/,[^,]*$/,base:a\\x0ab/' >voxels
run_put() {
    "$TFS" put save "chunks/$chunk/voxels.csv" <voxels >out 2>err
}
run_put
[ "$(wc -l <err)" = 1 ]
ok "a newline in a name stays in its line"

run 2 "info takes no strict-names" info -o strict-names save
says err 'for a mount, import and put' "and says who does"
run 2 "strict-names takes no value" put -o strict-names=1 save palette.txt
done_testing
