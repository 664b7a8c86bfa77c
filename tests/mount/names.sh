#!/usr/bin/env bash
# Names that the save did not have: told once.
. "$(dirname "$0")/lib.sh"

# The file with another name for $B.
with_name() {
    sed "s/,$B\$/,$1/" "$M/chunks/$C/voxels.csv" >"$D/new.csv"
    cat "$D/new.csv" >"$M/chunks/$C/voxels.csv"
}

told() {
    up
    with_name base:gold_blokc
    logged "^chunks/$C/voxels.csv: warning: names new to the save: base:gold_blokc$"
    want cp -r "$M/chunks/$C" "$M/chunks/15_15_15"
    same 'lines in the log' "$(wc -l <"$M/.terrainfs/errors.log")" 1
    down
    "$TFS_BIN" cat "$S" palette.txt | grep -qx base:gold_blokc || note 'the name is not in the save'
}

known_ones_are_not_told() {
    local name
    up
    name=$(grep -vxF "$B" "$M/palette.txt" | tail -1)
    with_name "$name"
    want grep -qF ",$name" "$M/chunks/$C/voxels.csv"
    wants_not [ -s "$M/.terrainfs/errors.log" ]
    down
}

try 'a name that is new to the save is told once' told
try 'names that the save has are not told' known_ones_are_not_told
finish
