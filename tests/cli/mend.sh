#!/usr/bin/env bash
# import that mends a damaged chunk: what was edited beside its raw.bin is taken, too.
. "$(dirname "$0")/lib.bash"

# damage_row FILE TABLE COLUMN: of the chunk that comes first in the tree, by its stored bytes.
damage_row() {
    python3 -c 'import sqlite3, sys
path, table, column, raw = sys.argv[1:]
db = sqlite3.connect(path)
n = db.execute(f"update {table} set {column} = substr({column}, 1, 2) where {column} = ?", (open(raw, "rb").read(),)).rowcount
assert n == 1, n
db.commit()' "$@"
}

# mends SAVE FILE TABLE COLUMN EDITED WHAT
mends() {
    local chunk edited
    "$TFS" export "$1" "$1.tree" || exit 3
    chunk=$(cd "$1.tree" && find . -name raw.bin | sort | sed 1q)
    edited=${chunk%raw.bin}$5
    damage_row "$2" "$3" "$4" "$1.tree/$chunk"
    sed -i 2d "$1.tree/$edited"
    run 0 "$6: import --all" import --all "$1.tree" "$1"
    "$TFS" cat "$1" "$edited" | cmp -s - "$1.tree/$edited"
    ok "$6: takes the edit"
    run 0 "$6: check" check "$1"
}

"$TOOLS/make_luanti" world luanti 6 2>/dev/null
mends luanti luanti/map.sqlite blocks data voxels.csv "a map"
done_testing
