#!/usr/bin/env bash
# merge: chunks that both sides have and the base lacks.
. "$(dirname "$0")/lib.bash"
. "$ROOT/tests/cli/merge.bash"

# added SAVE CHUNK: b lacks the chunk, o and t have it.
added() {
    take "$1"
    chunk=$2 csv=chunks/$2/voxels.csv
    rm -rf tree
    "$TFS" export b tree && rm -r "tree/chunks/$chunk" && "$TFS" import --delete tree b
} >/dev/null 2>&1

# dig SAVE LINES: the voxels in these lines are empty.
dig() { "$TFS" cat "$1" "$csv" | sed "$2d" >less && "$TFS" put "$1" "$csv" <less; }
# has SAVE: how many voxels the chunk has that are not empty.
has() { "$TFS" cat "$1" "$csv" | sed 1d | wc -l; }
# at SAVE LINE: the place of a voxel.
at() { "$TFS" cat "$1" "$csv" | sed -n "$2p" | cut -d, -f1-3; }
before() { rm -rf o.before && cp -r o o.before; }

region cosmic --version 7 --chunks 4
"$TOOLS/make_world" --regions 1 --chunks 4 world || exit 3
mv world/zones/base/earth zone
"$TOOLS/make_luanti" world luanti 6
"$TOOLS/make_voxel" region godot.vxr 4 3 2>/dev/null
"$TOOLS/make_voxel" folder folder 1 2>/dev/null
"$TOOLS/make_voxel" stream stream 12 2>/dev/null
while read -r save kind; do
    for chunk in $("$TFS" text "$save" | awk '$1 == "chunk" && $2 !~ /lods/ { print $2 }'); do
        [ "$("$TFS" cat "$save" "chunks/$chunk/voxels.csv" | wc -l)" -gt 12 ] && break
    done
    added "$save" "$chunk"
    ours=$(at o 2) theirs=$(at o 5)
    dig o 2 && dig t 5 && before
    merge 1 "$save: both dug in a chunk that the base lacks" b o t
    says out "^conflict in chunk $chunk: [0-9]+ [a-z]+, .*; ours stays$" "$save: it is a conflict"
    terrain o o.before "$save: ours stays"
    { [ -d o ] && tables=$(echo o.conflicts*.csv); } || tables=o.conflicts.csv
    grep -q "^$ours,.*" "$tables" && grep -q "^$theirs,.*" "$tables"
    ok "$save: the table has the voxels of both"
    [ -z "$kind" ] || holds "$kind" "$save: and no others"
    rm -rf o && cp -r o.before o
    merge 1 "$save: --conflicts=theirs" --conflicts=theirs b o t
    terrain o t "$save: has theirs"
    rm -rf o && cp -r o.before o && dig t 2 && rm -rf o t && cp -r o.before o && cp -r o t
    merge 0 "$save: what both added alike" b o t
    terrain o o.before "$save: is merged"
    dig t 5 && before
    merge 1 "$save: --virtual" --virtual b o t
    terrain o b "$save: lacks the chunk as the base does: neither side wins the merge that follows"
done <<'END'
cosmic cosmic_reach
zone
luanti
godot.vxr godot_voxel
folder godot_voxel
stream godot_voxel
END

# An absent chunk of Roblox is air: two builds that do not overlap are one.
"$TOOLS/make_place" --kind xml --chunks 4 --log2 4 model.rbxmx
added model.rbxmx "$("$TFS" text model.rbxmx | awk '$1 == "chunk" { print $2; exit }')"
both=$(has o)
dig o 2,9 && dig t 12,20 && before
merge 0 "Roblox: both built in a chunk that the base lacks" b o t
[ "$(has o)" = "$both" ]
ok "the result has the voxels of both"
holds roblox "and no others"
done_testing
