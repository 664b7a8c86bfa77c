#!/usr/bin/env bash
# Two people's exports merged with git, and what import makes of the result.
. "$(dirname "$0")/lib.bash"

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org

# in DIR ARGUMENTS: git, without a word.
in_() {
    local dir=$1
    shift
    git -C "$dir" "$@" >git.out 2>&1
}

# start: `base` is in the repository `ours`, exported there; `theirs` is a clone of it, so without a manifest.
start() {
    rm -rf ours theirs save
    "$TFS" export base ours || exit 3
    in_ ours init -q && in_ ours add -A && in_ ours commit -qm base || exit 3
    git clone -q ours theirs 2>git.out || exit 3
    cp base save
}

# again REPOSITORY SAVE: its files are exported anew, as people do.
again() {
    rm -rf new && "$TFS" export "$2" new && cp -r new/. "$1"/ && rm -rf new
}

commit() {
    in_ "$1" add -A
    in_ "$1" commit -qm "$2"
}

merge() {
    in_ ours pull --no-rebase --no-edit ../theirs HEAD
}

# edit SAVE PATH LINE: the line comes to a voxels.csv of the save.
edit() {
    "$TFS" cat "$1" "$2" >csv
    echo "$3" >>csv
    "$TFS" put "$1" "$2" <csv || exit 3
}

block() {
    [ "$(judge block save "$2" "$3" "$4")" = "$1" ]
    ok "$5"
}

region base --chunks 12

start
in_ ours ls-files --others --exclude-standard
[ ! -s git.out ] && [ -f ours/.terrainfs/manifest ] && [ ! -e theirs/.terrainfs ]
ok "git does not see the manifest"

echo '3,20,4,base:gold_block' >>ours/chunks/0_1_0/voxels.csv
echo '19,20,20,base:gold_block' >>theirs/chunks/1_1_1/voxels.csv
commit ours gold && commit theirs 'more gold' && merge
ok "texts of two chunks are merged"
run 0 "and imported" import ours save
block base:gold_block 3 20 4 "with one edit"
block base:gold_block 19 20 20 "and the other"
cp base save
in_ theirs pull ../ours HEAD
run 0 "the merge is imported from the clone" import theirs save
block base:gold_block 3 20 4 "with one edit"
block base:gold_block 19 20 20 "and the other"

start
sed -i '5s/,[^,]*$/,base:gold_block/' ours/chunks/0_1_0/voxels.csv
sed -i '60s/,[^,]*$/,base:magma/' theirs/chunks/0_1_0/voxels.csv
sed 's/$//' ours/chunks/0_1_0/voxels.csv | sed -n 5p >first
sed -n 60p theirs/chunks/0_1_0/voxels.csv >second
commit ours gold && commit theirs magma && merge
ok "two lines of one text are merged"
run 0 "and imported" import ours save
"$TFS" cat save chunks/0_1_0/voxels.csv >csv
grep -qxFf first csv && grep -qxFf second csv
ok "with both"

start
echo '3,20,4,base:gold_block' >>ours/chunks/0_1_0/voxels.csv
echo '3,20,4,base:magma' >>theirs/chunks/0_1_0/voxels.csv
commit ours gold && commit theirs magma
! merge
ok "git cannot merge two edits of one line"
run 1 "its marks are refused" import ours save
says err '^terrainfs: ours/chunks/0_1_0/voxels\.csv:[0-9]+:' "with the line"
same save base "nothing was written"

# Both import their edits and export everything anew: all views of their chunks differ.
start
cp base ours.save && cp base theirs.save
edit ours.save chunks/0_1_0/voxels.csv '3,30,4,base:gold_block'
edit ours.save chunks/0_2_0/voxels.csv '3,47,4,base:gold_block'
edit theirs.save chunks/1_1_1/voxels.csv '19,20,20,base:gold_block'
edit theirs.save chunks/1_2_1/voxels.csv '20,40,20,base:gold_block'
again ours ours.save && again theirs theirs.save
commit ours gold && commit theirs gold
merge
in_ ours checkout --ours -- . && in_ ours add -A && in_ ours commit -qm merged
ok "two exports are merged; of pictures one side is taken"
in_ theirs pull ../ours HEAD && rm -rf clone && git clone -q ours clone 2>git.out
ok "and everybody has the result"
cp theirs.save save
run 1 "a clone, into the save of the other side: the picture of ours" import clone save
says err '^terrainfs: clone/heightmap\.png: it disagrees with the chunks that are edited here' "is refused"
same save theirs.save "and undoes nothing of theirs"
cp base save
run 0 "into the save that both began with" import clone save
block base:gold_block 3 30 4 "it undoes nothing"
block base:gold_block 20 40 20 "of either"
for who in ours theirs clone; do
    cp base clone.save && cp $who.save save
    rm $who/heightmap.png # it lacks what the other side built
    run 0 "the merge is imported by: $who" import $who save
    block base:gold_block 3 30 4 "with one edit"
    block base:gold_block 19 20 20 "with the other"
    block base:gold_block 20 40 20 "and what no picture of ours shows"
done
cp base save
run 0 "--all" import --all ours save
block base:gold_block 3 30 4 "takes it, too"
"$TFS" check save >out
ok "the save is sound"

# Both changed one chunk and exported anew: git merges the texts, and of raw.bin one side is taken.
start
cp base ours.save && cp base theirs.save
edit ours.save chunks/1_1_1/voxels.csv '17,16,16,base:dirt'
edit theirs.save chunks/1_1_1/voxels.csv '30,30,30,base:dirt'
again ours ours.save && again theirs theirs.save
commit ours one && commit theirs other
! merge
ok "git cannot merge raw.bin"
in_ ours checkout --ours -- chunks/1_1_1/raw.bin heightmap.png map.png palette.txt
commit ours merged
cp base save
rm -r ours/.terrainfs ours/heightmap.png
run 1 "texts of both and raw.bin of one disagree" import ours save
says err 'raw.bin: it disagrees with other files of this chunk' "that is said"
same save base "nothing was written"
rm ours/chunks/1_1_1/raw.bin
run 0 "without raw.bin of one" import ours save
block base:dirt 17 16 16 "the save has the edit of one"
block base:dirt 30 30 30 "and of the other"

# Somebody removed a chunk, somebody else edited another one.
start
in_ theirs rm -rq chunks/0_2_1
echo '3,20,4,base:gold_block' >>ours/chunks/0_1_0/voxels.csv
commit theirs gone && commit ours gold && merge
run 0 "a removal is merged and imported with --delete" import --delete ours save
says err '1 file taken, 0 added, 1 removed' "as it says"
judge chunks save >chunks
! grep -q '^0_2_1 ' chunks
ok "the chunk is gone"

# An older commit is restored.
start
echo '3,20,4,base:gold_block' >>ours/chunks/0_1_0/voxels.csv
commit ours gold
"$TFS" import ours save 2>err
in_ ours checkout HEAD~1
run 0 "an older commit, which is as it was exported" import ours save
says err -- '--all takes them' "is not taken by itself"
run 0 "but with --all" import --all ours save
same save base "the save is what it was"
done_testing
