#!/usr/bin/env bash
# diff: what differs between two saves, judged by decoders that know the formats without our code.
. "$(dirname "$0")/lib.bash"

unset NO_COLOR
rows=$ROOT/tests/tools/diff_rows.py

# holds FORMAT A B WHAT: --all-rows holds every voxel that differs, and no other.
holds() {
    "$TFS" diff --all-rows --json "$2" "$3" >rows.json 2>err
    python3 -S "$rows" "$1" "$2" "$3" rows.json >out 2>&1
    ok "$4"
}

# to_and_fro FORMAT A B SEED: the same in both directions, by one decoder.
to_and_fro() {
    local wrong
    "$TFS" diff --all-rows --json "$2" "$3" >rows.json 2>err
    "$TFS" diff --all-rows --json "$3" "$2" >back.json 2>>err
    python3 -S "$rows" "$1" "$2" "$3" rows.json back.json >out 2>&1
    wrong=$?
    [ $((wrong & 3)) = 0 ]
    ok "every voxel of mutation $4 is told"
    [ $((wrong & 5)) = 0 ]
    ok "and so the other way round"
}

# both FORMAT SAVE: against itself, and against a mutation, to and fro; in full against ten.
both() {
    local seed seeds=1
    in_full && seeds=10
    run 0 "$2 is the same as itself" diff "$2" "$2"
    [ ! -s out ] && [ ! -s err ]
    ok "nothing is said of it"
    for ((seed = 1; seed <= seeds; seed++)); do
        cp -r "$2" "$2.new"
        chmod -R u+w "$2.new"
        python3 -S "$rows" mutate "$1" "$2.new" $seed "$TFS" >out 2>&1
        ok "$2 is mutated by seed $seed"
        run 1 "$2 differs from its mutation $seed" diff "$2" "$2.new"
        to_and_fro "$1" "$2" "$2.new" $seed
        rm -rf "$2.new"
    done
}

region cosmic --version 7 --chunks 12
both cosmic_reach cosmic
"$TOOLS/make_place" --kind binary --chunks 12 --log2 3 --regions 2 place.rbxl
both roblox place.rbxl
"$TOOLS/make_place" --kind xml --chunks 6 --log2 4 model.rbxmx
both roblox model.rbxmx
for kind in 'block 4' 'region 4' 'folder 1' 'stream 30'; do
    "$TOOLS/make_voxel" ${kind% *} ${kind% *}.save ${kind#* } 2>/dev/null
    kind=${kind% *}
    both godot_voxel $kind.save
done
"$TOOLS/make_ter" --size 100 --version 9 odd.ter
both beamng odd.ter
"$TOOLS/make_ter" --size 128 --version 8 corners.ter
both beamng corners.ter

# ---- the text
chunk=$(judge chunks cosmic | awk 'NR == 1 { print $1 }')
cp cosmic other
"$TFS" cat other "chunks/$chunk/voxels.csv" >csv
sed '2s/,[^,]*$/,base:gold_block/' csv | "$TFS" put other "chunks/$chunk/voxels.csv"
run 1 "one block changed" diff cosmic other
place=$(sed -n 2p csv | cut -d, -f1-3)
IFS=, read -r x y z <<<"$place"
says out "^terrain: 1 chunk changed, 0 added, 0 removed; 1 voxel; x $x y $y z $z$" "the summary"
says out "^@@ chunk $chunk @@ .*base:gold_block \+1" "the head counts by name"
says out "^\+y=$y z=$z x $x base:gold_block$" "the row says what is there now"
says out "^-y=$y z=$z x $x base:" "and what was"
run 1 "the summary alone" diff --stat cosmic other
[ "$(wc -l <out)" = 1 ]
ok "it is one line"

"$TFS" cat cosmic "chunks/$chunk/lights/sky.txt" >/dev/null 2>&1 && {
    cp cosmic lit
    printf 'fill 7\n' | "$TFS" put lit "chunks/$chunk/lights/sky.txt"
    run 1 "only light changed" diff cosmic lit
    says out '^ lights/sky.txt: changed$' "it is said which file"
    says out '; 0 voxels$' "no voxel is counted"
}

cp place.rbxl bigger.rbxl
"$TOOLS/make_place" --kind binary --chunks 30 --log2 3 --regions 2 bigger.rbxl
run 1 "chunks were added" diff place.rbxl bigger.rbxl
says out '^\+chunk .*\(and [0-9]+ more\)$' "those in a row are counted"
holds roblox place.rbxl bigger.rbxl "their voxels are rows, and in the totals"
says out ' voxels$' "the judge saw them"
"$TOOLS/make_voxel" stream fewer.save 10 2>/dev/null
holds godot_voxel stream.save fewer.save "of Godot also the distances of their air"
run 1 "chunks were removed" diff bigger.rbxl place.rbxl
says out '^-chunk ' "they are told"

# The rest of a place: a byte of another property.
python3 - <<'END'
data = open('model.rbxmx', 'rb').read()
at = data.index(b'<Item class="')
open('script.rbxmx', 'wb').write(data[:at] + b'<!-- a script -->' + data[at:])
END
run 0 "other scripts are the same terrain" diff model.rbxmx script.rbxmx
says out '^rest of the file: changed$' "but are said"
run 0 "the same with --json" diff --json model.rbxmx script.rbxmx
python3 -c 'import json; assert json.load(open("out"))["rest"] == "changed"'
ok "it is said there too"

# Another name for a material is another material, though no tile was touched.
cp odd.ter renamed.ter
"$TFS" cat renamed.ter palette.txt | sed '2s/$/Other/' | "$TFS" put renamed.ter palette.txt
run 1 "a material is renamed" diff odd.ter renamed.ter
says out '^palette.txt: changed$' "the palette is named"
holds beamng odd.ter renamed.ter "the samples that have it are told"

# ---- hostile
run 2 "two formats" diff cosmic place.rbxl
says err 'two formats cannot be compared, cosmic_reach \(region file\) and roblox' "both are named"
"$TOOLS/make_place" --kind raw --chunks 2 --log2 4 edge4
"$TOOLS/make_place" --kind raw --chunks 2 --log2 5 edge5
run 2 "two sizes of chunks" diff edge4 edge5
says err 'chunks have 16x16x16 voxels on the one side and 32x32x32 on the other' "both are named"
run 2 "a save that is not there" diff cosmic nosuch
run 2 "an operand too few" diff cosmic
run 0 "export" export cosmic tree
cp -r tree tree2
run 0 "an exported directory is the same as its save" diff cosmic tree
[ ! -s out ]
ok "nothing is said"
run 0 "and the other way round" diff tree cosmic
"$TFS" cat other "chunks/$chunk/voxels.csv" >"tree/chunks/$chunk/voxels.csv"
rm -r "tree/chunks/$(judge chunks cosmic | awk 'NR == 2 { print $1 }')"
cp cosmic before
run 1 "a directory with an edit" diff cosmic tree
says out '^terrain: 1 chunk changed, 0 added, 1 removed; 3696 voxels;' "the edit, and the chunk that it lacks"
says out "^\+y=$y z=$z x $x base:gold_block$" "the row"
run 1 "the directory first" diff tree cosmic
says out '^terrain: 1 chunk changed, 1 added, 0 removed; 3696 voxels;' "it is the older one then"
same cosmic before "the save is as it was"
run 2 "two directories" diff tree tree2
says err 'both are exported directories' "it is said why not"
printf 'x,y,z,block\nnonsense\n' >"tree/chunks/$chunk/voxels.csv"
run 2 "a directory that would be refused" diff cosmic tree
says err "tree/chunks/$chunk/voxels.csv:2:" "it is said where"
for kind in folder stream; do
    run 0 "export of a $kind" export $kind.save tree.$kind
    run 0 "its directory is the same" diff $kind.save tree.$kind
done
run 0 "export of a place" export place.rbxl tree.place
run 0 "a place with regions is the same as its directory" diff place.rbxl tree.place
run 0 "export of a terrain" export corners.ter tree.ter
run 0 "a terrain is the same as its directory" diff corners.ter tree.ter
run 2 "an option of another command" diff --delete cosmic other
run 2 "options of diff elsewhere" info --stat cosmic
if [ -w /dev/full ]; then
    "$TFS" diff cosmic other >/dev/full 2>err
    [ $? = 2 ]
    ok "a full disk is trouble"
fi
# A name that would paint the terminal and turn the line.
cp cosmic evil
sed '2s/,[^,]*$/,base:\\x1b[31m\\xe2\\x80\\xae"/' csv | sed '2s/,\([^,]*\)"$/,"\1"""/' | "$TFS" put evil "chunks/$chunk/voxels.csv"
run 1 "a hostile name" diff cosmic evil
! grep -q "$(printf '\033\|\342\200\256')" out
ok "its control characters are escaped"
run 1 "a hostile name in JSON" diff --all-rows --json cosmic evil
python3 -c 'import json; assert any("\\x1b" in str(c["counts"]) for c in json.load(open("out"))["chunks"])'
ok "which stays JSON"

region old --version 2 --chunks 3
damage old damaged
run 1 "a chunk is damaged on one side" diff old damaged
says out '^@@ chunk .* cannot be compared voxel by voxel: it is damaged$' "it is told"
run 0 "a damaged chunk is the same as itself" diff damaged damaged

# ---- every sample
samples=$ROOT/../shared/samples
if [ -d "$samples" ]; then
    while read -r file; do
        case $file in *.gz) gzip -dc "$file" >big.ter && file=big.ter ;; esac
        run 0 "${file##*/} is the same as itself" diff "$file" "$file"
        [ ! -s out ]
        ok "nothing is said"
    done < <(find "$samples/roblox" "$samples/beamng" "$samples/cosmic_reach" "$samples/godot_voxel" \
        \( -name '*.rbx*' -o -name '*.SmoothGrid.bin' -o -name '*.ter' -o -name '*.cosmicreach' \
        -o -name '*.blk' -o -name '*.vxr' -o -name '*.sqlite' \))
else
    skip "real saves" "no ../shared/samples"
fi
done_testing
