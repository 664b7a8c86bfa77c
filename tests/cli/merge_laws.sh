#!/usr/bin/env bash
# merge: the laws of merging, on a random mutation of a save of every container; in full on more.
. "$(dirname "$0")/lib.bash"
. "$ROOT/tests/cli/merge.bash"

# laws FORMAT SAVE SEED: of random mutations, SEED and in full nine more.
laws() {
    local kind=$1 save=$2 seed=$3 last=$3 status
    in_full && last=$((seed + 9))
    for ((; seed <= last; seed++)); do
        take "$save"
        mutate "$kind" o $seed
        mutate "$kind" t $((seed + 50))
        cp -r o x && cp -r t y && cp -r o o.before
        merge 0 "$save $seed: nothing happened on their side" b o b
        cmp -s o x || [ -d o ]
        ok "ours keeps its bytes"
        terrain o x "and its terrain"
        rm -rf o && cp -r b o
        merge 0 "$save $seed: nothing happened on our side" b o t
        terrain o t "the result is theirs"
        if [ -f o ] && ! head -c 6 o | grep -q SQLite; then
            same o t "to the byte"
        fi
        rm -rf o && cp -r x o
        "$TFS" merge b o t >said 2>err
        status=$?
        [ $status = 0 ] || [ $status = 1 ]
        ok "$save $seed: both sides are merged"
        holds "$kind" "every voxel is right"
        grep -q '^conflict' said
        [ $? = $((1 - status)) ]
        ok "the status says whether there were conflicts"
        cp -r o first
        rm -rf o o.before o.conflicts* && cp -r y o && cp -r y o.before && rm -rf t && cp -r x t
        "$TFS" merge --conflicts=theirs b o t >said 2>err
        holds "$kind" "and with the sides changed" theirs
        terrain o first "it is the same terrain"
        rm -rf o o.before o.conflicts* && cp -r x o && cp -r x o.before && rm -rf t && cp -r y t
        "$TFS" merge --conflicts=base b o t >said 2>err
        holds "$kind" "and with the base where both changed" base
        run 0 "it is whole" check o
        rm -rf x y first
    done
}

region cosmic --version 7 --chunks 4
laws cosmic_reach cosmic 1
region old --version 2 --chunks 3
laws cosmic_reach old 3
"$TOOLS/make_place" --kind binary --chunks 8 --log2 3 --regions 2 place.rbxl
laws roblox place.rbxl 1
"$TOOLS/make_place" --kind xml --chunks 4 --log2 4 model.rbxmx
laws roblox model.rbxmx 1
"$TOOLS/make_place" --kind raw --chunks 4 --log2 3 blob
laws roblox blob 1
"$TOOLS/make_voxel" block block.save 4 2>/dev/null
laws godot_voxel block.save 1
"$TOOLS/make_voxel" region region.save 4 3 2>/dev/null
laws godot_voxel region.save 1
"$TOOLS/make_voxel" folder folder.save 1 2>/dev/null
laws godot_voxel folder.save 1
"$TOOLS/make_voxel" stream stream.save 12 2>/dev/null
laws godot_voxel stream.save 1
"$TOOLS/make_ter" --size 68 --version 9 odd.ter
laws beamng odd.ter 1
"$TOOLS/make_ter" --size 128 --version 8 corners.ter
laws beamng corners.ter 1
done_testing
