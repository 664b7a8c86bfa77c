#!/usr/bin/env bash
# import of NAME.unsaved-DATE: removals are taken, --delete is refused, and what is not taken is named.
. "$(dirname "$0")/lib.bash"

region start --chunks 12
aside=save.unsaved-20260101-000000
# shellcheck disable=SC2094
printf '17,20,18,base:gold_block\n' >line

# fresh: `save` as at the start, and edits of it that were set aside: one of a chunk, and a removed chunk.
fresh() {
    rm -rf save save.unsaved-* kept
    cp start save
    mkdir -p $aside/chunks/1_1_1 $aside/deleted
    "$TFS" cat start chunks/1_1_1/voxels.csv | cat - line >$aside/chunks/1_1_1/voxels.csv
    touch $aside/deleted/0_0_0_0
    echo '*' >$aside/.gitignore
}

chunks() {
    judge chunks save | wc -l
}

fresh
run 1 "diff with it" diff save $aside
says out '^-chunk 0_0_0' "shows the removal"
says out ' 0 chunks added, 1 removed| 1 removed' "and no other"
run 0 "import of it" import $aside save
says err '1 file taken, 0 added, 1 removed' "takes the edit and the removal"
[ "$(judge block save 17 20 18)" = base:gold_block ] && [ "$(chunks)" = 11 ]
ok "the save has both"
run 0 "the same import again" import $aside save
says err 'nothing differs' "takes nothing"

fresh
rm -r $aside/chunks
run 0 "import of a removal alone" import $aside save
says err '0 files taken, 0 added, 1 removed' "takes it"
[ "$(chunks)" = 11 ]
ok "one chunk less"

fresh
refused() {
    run 1 "import --delete of $1" import --delete "$1" save
    says err 'holds edits that were set aside and is no whole tree' "is refused"
    same save start "nothing is removed"
}
refused $aside
rm -r $aside/deleted
mv $aside kept
refused kept
mv kept $aside && rm $aside/.gitignore
refused $aside
cp -r $aside kept && rm -rf $aside && mkdir kept/deleted
refused kept

# A link leads out of it.
rm -r kept/deleted && mkdir elsewhere && touch elsewhere/0_0_0_0 && ln -s ../elsewhere kept/deleted
run 0 "import of a tree with a link of that name" import kept save
says err '1 file taken, 0 added, 0 removed' "takes the edit alone"

# What came twice is not decided here.
fresh
touch $aside/deleted/0_1_1_1
run 1 "import of a chunk that was edited and removed" import $aside save
says err "$aside/deleted/0_1_1_1: not removed: there are edits of this chunk, too" "names it"
[ "$(judge block save 17 20 18)" = base:gold_block ] && [ "$(chunks)" = 11 ]
ok "the edit is taken, and the rest"

fresh
touch $aside/deleted/what
run 1 "import of a removal of something else" import $aside save
says err "$aside/deleted/what: not removed" "names it"

# A directory of the user's own, in a tree that has no manifest.
fresh
mkdir -p $aside/deleted/chunks/1_1_1
"$TFS" cat save chunks/1_1_1/voxels.csv >$aside/deleted/chunks/1_1_1/voxels.csv
echo note >$aside/deleted/0_0_0_0
run 1 "import with files that have bytes in deleted/" import $aside save
says err "$aside/deleted/0_0_0_0: not removed: only an empty file stands for a removal" "names them"
run 0 "the chunk" cat save chunks/0_0_0/raw.bin

# What import cannot take may be edits, too.
for name in later/chunks/1_1_1/voxels.csv journal rejected/chunks/1_1_1/voxels.csv; do
    fresh
    mkdir -p "$(dirname "$aside/$name")"
    echo x,y,z,block >"$aside/$name"
    run 1 "import of edits with ${name%%/*}" import $aside save
    says err "$aside/${name%%/*}: not taken" "names it"
    [ "$(judge block save 17 20 18)" = base:gold_block ]
    ok "the rest is taken"
done

# ---- zones
"$TOOLS/make_world" --regions 2 --chunks 4 world || exit 3
zone=zones/base/earth
"$TFS" export world tree || exit 3
chunk=$(cd tree/$zone/chunks && ls | sed 1q)
rm -r tree && mkdir -p world.unsaved-20260101-000000/deleted/$zone
touch "world.unsaved-20260101-000000/deleted/$zone/0_$chunk"
run 1 "import --delete of a removal in a zone" import --delete world.unsaved-20260101-000000 world
says err 'holds edits that were set aside' "is refused"
run 0 "import of it" import world.unsaved-20260101-000000 world
says err '0 files taken, 0 added, 1 removed' "takes it"
run 1 "the chunk" cat world "$zone/chunks/$chunk/raw.bin"
mkdir world.unsaved-20260101-000000/later
run 1 "import with later/" import world.unsaved-20260101-000000 world
says err 'later: not taken' "names it"
done_testing
