#!/usr/bin/env bash
# text: one line a chunk, as git's textconv; status 0 whatever the file is.
. "$(dirname "$0")/lib.bash"

region cosmic --version 7 --chunks 12
"$TOOLS/make_place" --kind binary --chunks 12 --log2 4 --regions 1 place.rbxl
"$TOOLS/make_place" --kind raw --chunks 12 --log2 4 blob
"$TOOLS/make_ter" --size 100 --version 9 odd.ter
for kind in block region folder stream; do
    "$TOOLS/make_voxel" $kind $kind.save 2>/dev/null
done

for save in cosmic place.rbxl blob odd.ter block.save region.save folder.save stream.save; do
    run 0 "$save" text "$save"
    mv out first
    "$TFS" text "$save" >out 2>err
    same first out "it is stable"
    [ "$(grep -c '^chunk ' out)" = "$("$TFS" info "$save" | sed -n 's/^\(chunks\|tiles\): \([0-9]*\).*/\2/p' | head -1)" ] ||
        [ "$(grep -c '^chunk ' out)" = "$("$TFS" export "$save" tree >/dev/null && find tree -path '*chunks/*' -mindepth 1 -name '*_*_*' -type d | wc -l)" ]
    ok "there is a line for each chunk"
    rm -rf tree
    ! grep '^chunk ' out | grep -Evq ' #[0-9a-f]{8}$'
    ok "each ends in a checksum"
done
run 0 "a place tells of its rest" text place.rbxl
says out '^chunk regions/0/' "and of its regions"
says out '^rest of the file: #[0-9a-f]{8}$' "in a line of its own"
run 0 "a terrain tells of its palette" text odd.ter
says out '^palette.txt #[0-9a-f]{8}$' "in a line of its own"

# ---- an edit changes the line of its chunk
chunk=$(judge chunks cosmic | awk 'NR == 1 { print $1 }')
"$TFS" text cosmic >before
cp cosmic other
"$TFS" cat other "chunks/$chunk/voxels.csv" | sed '2s/,[^,]*$/,base:gold_block/' | "$TFS" put other "chunks/$chunk/voxels.csv"
"$TFS" text other >after
diff before after >out
[ "$(grep -c '^[<>]' out)" = 2 ]
ok "one block changes one line"
says out "^> chunk $chunk .* base:gold_block 1 " "which is that of its chunk"
run 0 "rows" text --all-rows other
mv out rows
"$TFS" cat other "chunks/$chunk/voxels.csv" | tail -n +2 | wc -l >wanted
awk -v chunk="chunk $chunk " '/^chunk / { on = index($0, chunk) == 1; next }
    on { line = $0; sub(/^y=[^ ]* z=[^ ]* x /, "", line); n = split(line, runs, ", ")
         for (i = 1; i <= n; i++) { split(runs[i], w, " "); m = split(w[1], r, /\.\./)
             all += m == 2 ? r[2] - r[1] + 1 : 1 } }
    END { print all }' rows >got
awk -v chunk="chunk $chunk " '/^chunk / && index($0, chunk) == 1 { air = 0
    for (i = 3; i < NF; i += 2) air += $(i + 1); print air }' rows >counted
same wanted counted "the counts are those of voxels.csv"
same wanted got "the rows hold every voxel that is not empty, and no other"

# ---- no ending, as git names its temporary files
for save in cosmic place.rbxl blob odd.ter block.save region.save; do
    cp "$save" .merge_file_x1Y2z3
    "$TFS" text "$save" >wanted
    run 0 "$save without its name" text .merge_file_x1Y2z3
    cmp -s wanted out
    ok "is read as it is with it"
done

# ---- what is no save
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n' 7 >pointer
run 0 "a Git LFS pointer" text pointer
says out '^this file: is a Git LFS pointer' "is said to be one"
cp out one
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n' 8 >pointer
run 0 "another one" text pointer
differ one out "reads differently"
run 2 "diff with a pointer" diff pointer cosmic
says err 'pointer: is a Git LFS pointer' "says so too"
: >nothing
run 0 "an empty file" text nothing
says out '^this file: is a file that no format fits' "is said to be one"
head -c 3000 cosmic >shortened
run 0 "a save that is cut off" text shortened
says out '^this file: ' "is a sentence"
run 0 "a file that is not there" text nosuch
says out 'No such file' "is a sentence"
run 0 "a text" text "$ROOT/README.md"
says out 'is a file that no format fits' "is a sentence"
python3 - <<'EOF'
head = b'<roblox xmlns:xmime="http://www.w3.org/2005/05/xmlmime" version="4">'
open('bare.rbxmx', 'wb').write(head + b'<Item class="Part" referent="RBX0"><Properties></Properties></Item></roblox>')
EOF
timeout 60 "$TFS" text /dev/zero >out 2>err
ok "a device without an end is not read to it"
says out '^this file: is neither a file nor a folder' "and is a sentence"
printf a >vast && truncate -s 8T vast 2>/dev/null || truncate -s 1T vast
timeout 120 "$TFS" text vast >out 2>err
ok "a file of terabytes is not read to its end"
says out '^[0-9]{13} bytes #' "its size is told"
rm vast
run 0 "a model without terrain" text bare.rbxmx
says out '^no terrain: ' "says that it has none"
says out '^rest of the file: ' "and tells of the rest"
region old --version 2 --chunks 3
damage old damaged
run 0 "a damaged chunk" text damaged
says out '^chunk .* cannot be read: .* #[0-9a-f]{8}$' "is said to be one"
[ "$(grep -c '^chunk ' out)" = 3 ]
ok "the others are told as ever"
if [ -w /dev/full ]; then
    "$TFS" text cosmic >/dev/full 2>err
    [ $? = 3 ]
    ok "a full disk is a failure"
fi

# ---- every sample
samples=$ROOT/../shared/samples
if [ -d "$samples" ]; then
    while read -r file; do
        case $file in *.gz) gzip -dc "$file" >big.ter && file=big.ter ;; esac
        cp "$file" .merge_file_x1Y2z3
        run 0 "${file##*/} without its name" text .merge_file_x1Y2z3
        says out '^chunk .* #[0-9a-f]{8}$' "has chunks"
    done < <(find "$samples/roblox" "$samples/beamng" "$samples/cosmic_reach" "$samples/godot_voxel" \
        \( -name '*.rbx*' -o -name '*.SmoothGrid.bin' -o -name '*.ter' -o -name '*.ter.gz' -o -name '*.cosmicreach' \
        -o -name '*.blk' -o -name '*.vxr' -o -name '*.sqlite' \))
else
    skip "real saves" "no ../shared/samples"
fi
done_testing
