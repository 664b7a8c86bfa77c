#!/usr/bin/env bash
# import and put: what is taken, in which order, what is refused as a whole, what --delete removes.
. "$(dirname "$0")/lib.bash"

region start --chunks 12
chunk=$(judge chunks start | awk '$1 ~ /^1_1_1$/ { print $1 }')
x=17 y=20 z=18 # a voxel of chunk 1_1_1

# fresh: `save` and its export `dir` as at the start.
fresh() {
    rm -rf save dir
    cp start save
    "$TFS" export save dir || exit 3
}

fresh
[ "$chunk" = 1_1_1 ]
ok "the region has the chunk that is edited here"
run 0 "import of an untouched export succeeds" import dir save
says err 'nothing differs' "it says that nothing differs"
same save start "the save is as it was"
[ -z "$(find . -name '.save*')" ]
ok "no temporary file is left"

echo "$x,$y,$z,base:gold_block" >>dir/chunks/1_1_1/voxels.csv
run 0 "import of one changed voxel succeeds" import dir save
says err '1 file taken, 0 added, 0 removed' "it says what was taken"
[ "$(judge block save $x $y $z)" = base:gold_block ]
ok "the block is in the save"
[ "$(judge diff start save | awk '{ print $1 }' | sort -u | wc -l)" = 1 ]
ok "no other chunk differs"
judge check save >out 2>&1
ok "the save decodes"

# Views of one chunk: only what was edited counts, whatever its place in the order.
fresh
sed -i 's/base:dirt/base:clay/' dir/chunks/1_1_1/palette.txt
sed -i 's/base:magma$/base:obsidian/' dir/palette.txt
run 0 "import of a root file and a chunk's file" import dir save
"$TFS" cat save palette.txt >out
! grep -q 'base:magma$' out && grep -q 'base:obsidian$' out
ok "the root palette renamed everywhere"
"$TFS" cat save chunks/1_1_1/palette.txt | grep -q base:clay
ok "the chunk's palette is as edited"
run 0 "the same import again is fresh from a new export" export save again
run 0 "and takes nothing" import again save
says err 'nothing differs' "as it says"
rm -rf again

# A chunk whose palette is numbered anew after the export, as the game does when it saves.
fresh
renumbered() {
    awk '$1 == "palette" { $2 = $2 == 0 ? 1 : $2 == 1 ? 0 : $2 }
        $3 == "|" { for (i = 4; i <= NF; i++) $i = $i == 0 ? 1 : $i == 1 ? 0 : $i }
        { print }' dir/chunks/1_1_1/blocks.txt
}
renumbered | "$TFS" put save chunks/1_1_1/blocks.txt
differ save start "the save has other numbers"
cp save other
sed -i 's/base:dirt/base:clay/' dir/chunks/1_1_1/palette.txt
run 1 "an edited palette.txt of the numbers of before" import dir save
says err 'dir/chunks/1_1_1/palette.txt: this chunk has another palette in the save than at the export' "is refused"
same save other "and renames nothing"

# All or nothing, every refusal printed.
fresh
echo "$x,$y,$z,base:gold_block" >>dir/chunks/1_1_1/voxels.csv
printf 'palette 0 base:air\n\nfill 9\n' >dir/chunks/0_0_0/blocks.txt
printf 'x,y,z,block\n1,1,1\n' >dir/chunks/0_1_0/voxels.csv
run 1 "import with refused files has status 1" import dir save
says err '^terrainfs: dir/chunks/0_0_0/blocks\.txt:3:[0-9]+: ' "the first refusal has path, line and column"
says err '^terrainfs: dir/chunks/0_1_0/voxels\.csv:2:[0-9]+: ' "the second refusal is printed too"
says err 'nothing was written' "it says that nothing was written"
same save start "nothing was written"

# Names.
fresh
touch dir/.hidden dir/chunks/.git dir/notes.md dir/chunks/1_1_1/blocks.txt~ dir/chunks/readme
mkdir dir/chunks/01_0_0
sed -i 's/.*/edited/' dir/info.txt
run 0 "import with strange names succeeds" import dir save
for name in notes.md chunks/1_1_1/blocks.txt~ chunks/readme chunks/01_0_0; do
    says err "^terrainfs: dir/$name: ignored: " "$name is named as ignored"
done
! grep -Eq 'hidden|\.git|info' err
ok "dot-files and read-only files are ignored silently"
same save start "they changed nothing"

fresh
mv dir/chunks/1_1_1 elsewhere
echo "$x,$y,$z,base:gold_block" >>elsewhere/voxels.csv
ln -s "$PWD/elsewhere" dir/chunks/1_1_1
for command in 'import dir save' 'import --delete dir save' 'import --all --delete dir save'; do
    # shellcheck disable=SC2086
    run 1 "a chunk that is a symbolic link: $command" $command
    says err 'dir/chunks/1_1_1: is a symbolic link; links to directories are not followed' "says so"
    same save start "its chunk is not removed, and what it leads to is not taken"
done
run 2 "diff with such a directory" diff save dir
says err 'dir/chunks/1_1_1: is a symbolic link' "does not tell of a chunk that was removed"
rm dir/chunks/1_1_1 && echo "$PWD/elsewhere" >dir/chunks/1_1_1
run 1 "a file in the place of a chunk, as git makes without links" import --delete dir save
says err 'dir/chunks/1_1_1: is no directory, and the tree has one of this name' "is refused"
rm dir/chunks/1_1_1 && mv elsewhere dir/chunks/1_1_1
mv dir/chunks elsewhere && ln -s "$PWD/elsewhere" dir/chunks
run 1 "all chunks behind a link" import --delete dir save
says err 'dir/chunks: is a symbolic link' "are refused"
same save start "and nothing is removed"
rm -rf elsewhere

fresh
rm dir/chunks/1_1_1/blocks.txt && mkfifo dir/chunks/1_1_1/blocks.txt
run 1 "a pipe in place of a file is refused" import dir save
says err '^terrainfs: dir/chunks/1_1_1/blocks\.txt: ' "it is named"
same save start "a pipe changed nothing"

# New chunks.
fresh
cp -r dir/chunks/1_1_1 dir/chunks/9_9_9
run 0 "import of a copied chunk succeeds" import dir save
says err '1 added' "it counts the chunk"
judge body save 9_9_9 >copied
judge body start 1_1_1 >original
same copied original "the copy has the bytes of the original"
fresh
mkdir dir/chunks/9_9_9
run 0 "import of an empty chunk directory succeeds" import dir save
[ "$(judge block save 150 150 150)" = base:air ]
ok "the new chunk is of air"
fresh
cp -r dir/chunks/1_1_1 dir/chunks/9_9_9
rm dir/chunks/9_9_9/raw.bin
run 0 "a chunk copied without raw.bin" import dir save
"$TFS" cat save chunks/9_9_9/blocks.txt | cmp -s - dir/chunks/1_1_1/blocks.txt
ok "has the blocks of the original"
fresh
mkdir dir/chunks/9_9_9
cp dir/chunks/1_1_1/blocks.txt dir/chunks/9_9_9
run 0 "a chunk of one file" import dir save
! "$TFS" cat save chunks/9_9_9/lights/sky.txt >sky 2>err
ok "has no optional file"
says err 'the save has no such file' "because nobody wrote one"
fresh
cp -r dir/chunks/1_1_1 dir/chunks/9_9_9
sed -i 's/base:dirt/base:clay/' dir/chunks/9_9_9/palette.txt
run 1 "a copied chunk edited in one view" import dir save
says err 'dir/chunks/9_9_9/palette.txt: it disagrees with other files of this chunk' "is named"
same save start "and not made"
rm dir/chunks/9_9_9/raw.bin dir/chunks/9_9_9/blocks.txt dir/chunks/9_9_9/palette.txt
sed -i 's/base:dirt/base:clay/' dir/chunks/9_9_9/voxels.csv
run 0 "edited in the view that is left" import dir save
"$TFS" cat save chunks/9_9_9/palette.txt | grep -q base:clay
ok "it has the edit"
fresh
cp -r dir/chunks/1_1_1 dir/chunks/99_0_0
run 1 "a chunk outside the region is refused" import dir save
says err '^terrainfs: dir/chunks/99_0_0: ' "its directory is named"
same save start "a chunk outside the region changed nothing"

# What is lacking.
fresh
rm -r dir/chunks/1_1_1 dir/chunks/0_2_0/lights dir/chunks/0_1_0/blocks.txt
run 0 "import of less succeeds" import dir save
same save start "without --delete what is lacking stays"
had_sky=$("$TFS" cat start chunks/0_2_0/lights/sky.txt >sky 2>/dev/null && echo yes)
run 0 "import --delete succeeds" import --delete dir save
judge chunks save >chunks
! grep -q '^1_1_1 ' chunks && [ "$(wc -l <chunks)" = 11 ]
ok "--delete removes the chunk that is lacking, and no other"
[ "$had_sky" = yes ] && ! "$TFS" cat save chunks/0_2_0/lights/sky.txt >/dev/null 2>&1
ok "--delete removes an optional file that is lacking"
"$TFS" cat save chunks/0_1_0/blocks.txt >/dev/null
ok "--delete keeps a file that is not optional"
fresh
rm -r dir/chunks
run 1 "--delete from a directory without chunks is refused" import --delete dir save
says err 'no directory "chunks"' "it says why"
same save start "and removes nothing"
mkdir empty
run 1 "import of an empty directory is refused" import empty save
run 3 "import of no directory has status 3" import nosuch save

# What is too large for any text is not read into memory.
fresh
truncate -s 400M dir/chunks/1_1_1/voxels.csv
truncate -s 1G dir/palette.txt
run 1 "sparse files" import dir save
says err 'dir/chunks/1_1_1/voxels.csv: is larger than [0-9]+ bytes, at most so many are read' "are refused by their size"
says err 'dir/palette.txt: is larger than [0-9]+ bytes' "each of them"
same save start "and nothing is written"
if [ -x /usr/bin/time ]; then
    /usr/bin/time -f %M -o peak "$TFS" import dir save 2>err
    [ "$(tail -n 1 peak)" -lt 300000 ]
    ok "without memory for them"
    head -c 900M /dev/zero | /usr/bin/time -f %M -o peak "$TFS" put save chunks/1_1_1/arrays/blocks.npy >out 2>err
    [ "$(tail -n 1 peak)" -lt 300000 ]
    ok "nor does put need memory for an array that is refused"
    says err 'the input is larger than [0-9]+ bytes' "as it says"
else
    skip "memory" "no time(1)"
fi

# The lock, and saves that cannot be written.
fresh
echo "$x,$y,$z,base:gold_block" >>dir/chunks/1_1_1/voxels.csv
exec 9<save
flock 9
run 3 "import into a locked save has status 3" import dir save
says err 'save: .*(mounted|written by another)' "it says who has it"
"$TFS" cat save palette.txt >out
ok "cat needs no lock"
run 0 "export needs no lock" export save unlocked
exec 9<&-
same save start "the locked save is as it was"

# put.
cp start save
"$TFS" cat save chunks/1_1_1/voxels.csv >csv
echo "$x,$y,$z,base:gold_block" >>csv
"$TFS" put save chunks/1_1_1/voxels.csv <csv >out 2>err
ok "put succeeds"
[ "$(judge block save $x $y $z)" = base:gold_block ]
ok "put stored the block"
cp save after
"$TFS" cat save chunks/1_1_1/voxels.csv | "$TFS" put save chunks/1_1_1/voxels.csv
ok "put of what cat printed succeeds"
same save after "put of what cat printed changes nothing"
put() {
    local wanted=$1 what=$2 text=$3 path=$4 status
    printf '%b' "$text" | "$TFS" put save "$path" >out 2>err
    status=$?
    [ $status = "$wanted" ]
    ok "$what"
}
put 1 "put of a refused text has status 1" 'palette 0 base:air\nfill 9\n' chunks/1_1_1/blocks.txt
says err '^terrainfs: save/chunks/1_1_1/blocks\.txt:2:[0-9]+: ' "it says where"
put 1 "put to a read-only file has status 1" 'x' info.txt
says err 'info.txt: .*read-only' "it says so"
put 1 "put to an absent chunk has status 1" 'fill 0\n' chunks/9_9_9/lights/sky.txt
says err 'chunks/9_9_9: the save has no such chunk' "it names the chunk"
put 1 "put to an unknown name has status 1" 'x' chunks/1_1_1/nosuch
same save after "nothing of this was written"
put 0 "put of a grid of one value" 'fill 15\n' chunks/1_1_1/lights/sky.txt
[ "$(judge sky save $x $y $z)" = 15 ]
ok "it is stored"
cp save after
(
    ulimit -f 1
    echo 'fill 3' | "$TFS" put save chunks/1_1_1/lights/sky.txt
) >out 2>err
[ $? = 3 ]
ok "put where files may not be so large has status 3"
says err 'could not be written in .*: File too large' "it says why"
same save after "and the save stays"
chmod 0400 save
if [ "$(id -u)" != 0 ]; then
    put 3 "put into a save that cannot be written has status 3" 'fill 7\n' chunks/1_1_1/lights/sky.txt
fi
done_testing
