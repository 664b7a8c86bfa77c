#!/usr/bin/env bash
# BeamNG levels mounted: the tree of the live terrain or of several, what of the level stays as it is, locks,
# undo, a journal, and what could not be saved, which is not left in the level.
. "$(dirname "$0")/lib.sh"

SAVE_NAME=demo
PRISTINE=$T/pristine/$SAVE_NAME
mkdir -p "$T/pristine"
"$TFS_TOOLS/make_level" --size 128 --seed 3 "$PRISTINE"
touch -d '2024-01-02 03:04:05' "$PRISTINE"/info.json "$PRISTINE"/main/items.level.json
items=main/MissionGroup/Level_object/items.level.json

several() {
    rm -r "$S"
    "$TFS_TOOLS/make_level" --size 128 --terrains 2 "$S"
}

# What is in the level, but the terrain: names, bytes, times, inodes.
others() {
    (cd "$S" && find . -mindepth 1 ! -name theTerrain.ter -printf '%p %i %s ' \
        \( -type f -printf '%T@ ' -exec cksum {} + -o -printf '\n' \) | sort)
}

# row FILE: its first number becomes 777.
row() {
    want sed -i '0,/| *[0-9]*/s//|   777/' "$1"
}

# Files of ours below a directory.
ours() {
    find "$1" -name '.*terrainfs*' -o -name '*unsaved*' -o -name '*rejected*'
}

one_terrain() {
    local before
    before=$(others)
    up
    want grep -qx 'level: demo' "$M/info.txt"
    want test -f "$M/heightmap.png"
    row "$M/chunks/0_0_0/heights.txt"
    settle
    same 'names of ours in the level once it is saved' "$(ours "$S")" ''
    wants_not mount_at "$S/theTerrain.ter" "$D/second"
    want grep -q 'is mounted' "$D/mount.err"
    wants_not "$TFS_BIN" undo "$S"
    down
    same 'the other files' "$(others)" "$before"
    "$TFS_BIN" cat "$S" chunks/0_0_0/heights.txt >"$D/tile"
    want grep -q '^y=00 z=00 |   777 ' "$D/tile"
    want "$TFS_BIN" undo "$S"
    want cmp "$S/theTerrain.ter" "$PRISTINE/theTerrain.ter"
    same 'the other files behind undo' "$(others)" "$before"
}

below_and_mod() {
    mkdir -p "$D/mod/levels"
    mv "$S" "$D/mod/levels"
    mount_at "$D/mod" "$M"
    want grep -qx 'level: demo' "$M/info.txt"
    row "$M/chunks/1_0_0/heights.txt"
    down
    mount_at "$D/mod/levels/demo/main/MissionGroup" "$M"
    want grep -q '^y=00 z=00 | *777' "$M/chunks/1_0_0/heights.txt"
    down
    mv "$D/mod/levels/demo" "$S"
}

two_terrains() {
    several
    local before
    before=$(cd "$S" && find . -type f ! -name theTerrain2.ter -printf '%p %i %T@ %s\n' | sort)
    up
    same 'entries' "$(cd "$M" && echo *)" 'info.txt terrains'
    same 'terrains' "$(cd "$M/terrains" && echo *)" 'theTerrain theTerrain2'
    row "$M/terrains/theTerrain2/chunks/0_0_1/heights.txt"
    same 'rename from one to the other' \
        "$(py 'print(err(os.rename, a[0] + "/theTerrain/heightmap.png", a[0] + "/theTerrain2/x.png"))' "$M/terrains")" EXDEV
    wants_not mount_at "$S/theTerrain2.ter" "$D/second"
    down
    same 'the other files' \
        "$(cd "$S" && find . -type f ! -name theTerrain2.ter -printf '%p %i %T@ %s\n' | sort)" "$before"
    want "$TFS_BIN" undo "$S/theTerrain2.ter"
    same 'undone' "$("$TFS_BIN" cat "$S/theTerrain2.ter" chunks/0_0_1/heights.txt | grep -c '|   777 ')" 0
}

# A mount point that hides a terrain, though not the folder that was given.
hides_a_terrain() {
    several
    mkdir -p "$S/art"
    mv "$S/theTerrain2.ter" "$S/art"
    sed -i 's|demo/theTerrain2.ter|demo/art/theTerrain2.ter|' "$S/$items"
    wants_not mount_at "$S/main" "$S/art"
    want grep -q 'the mount point contains the save .*/art/theTerrain2.ter' "$D/mount.err"
}

# The game saves the level with another scale: what is shown follows when the terrain is read again.
scale_follows() {
    up
    want grep -qx 'max-height: 500 metres' "$M/info.txt"
    sed -i 's/"maxHeight":500/"maxHeight":600/' "$S/$items"
    cp "$S/theTerrain.ter" "$D/new" && mv "$D/new" "$S/theTerrain.ter"
    soon grep -qx 'max-height: 600 metres' "$M/info.txt"
    down
}

# What was refused or could not be saved is kept where programs keep their state, and that is said.
nothing_left_behind() {
    local before
    before=$(others)
    up
    wants_not cp "$S/theTerrain.ter" "$M/heightmap.png"
    down 3
    want grep -q "kept in $XDG_STATE_HOME/terrainfs/theTerrain.ter.rejected-" "$D/umount.err"
    same 'the other files' "$(others)" "$before"
    same 'copies' "$(find "$XDG_STATE_HOME/terrainfs" -path '*rejected*heightmap.png' | wc -l)" 1
    rm -r "$XDG_STATE_HOME"/terrainfs/*rejected*
}

game_saves_both() {
    local name
    for name in theTerrain theTerrain2; do
        printf '\7' | dd of="$S/$name.ter" bs=1 seek=4005 conv=notrunc status=none
    done
}

# Another program saves both terrains over edits that wait: those of each terrain are set aside, and not in the level.
both_set_aside() {
    local name
    needs_root || return
    several
    up
    hold "$S/theTerrain.ter" "$S/theTerrain2.ter"
    for name in theTerrain theTerrain2; do
        row "$M/terrains/$name/chunks/0_0_0/heights.txt"
    done
    behind_its_back game_saves_both
    for name in theTerrain theTerrain2; do
        want soon is_aside "$XDG_STATE_HOME/terrainfs/$name.ter"
    done
    down 3
    same 'names of ours' "$(ours "$S")" ''
    for name in theTerrain theTerrain2; do
        want "$TFS_BIN" import "$XDG_STATE_HOME/terrainfs/$name.ter".unsaved-* "$S/$name.ter"
        "$TFS_BIN" cat "$S/$name.ter" chunks/0_0_0/heights.txt >"$D/tile"
        want grep -q '^y=00 z=00 |   777 ' "$D/tile"
    done
    rm -r "$XDG_STATE_HOME"/terrainfs/*unsaved*
}

# Killed with edits in the journal: it waits beside the terrain, and goes along with a copy of the level.
killed_and_packed() {
    local pid
    needs_root || return
    up
    hold "$S/theTerrain.ter"
    row "$M/chunks/0_0_0/heights.txt"
    pid=$(pgrep -f -- "$TFS_BIN.* $S $M\$" | tail -n 1)
    kill -9 "$pid"
    release
    fusermount3 -uz "$M"
    soon sh -c "! kill -0 $pid 2>/dev/null"
    want test -e "$S/.theTerrain.ter.terrainfs-journal"
    want tar -C "$D" -cf "$D/packed.tar" demo
    mkdir "$D/levels"
    want tar -C "$D/levels" -xf "$D/packed.tar"
    want "$TFS_BIN" cat "$D/levels/demo" chunks/0_0_0/heights.txt >"$D/tile"
    want grep -q '^y=00 z=00 |   777' "$D/tile"
    want "$TFS_BIN" put "$D/levels/demo" chunks/0_0_0/heights.txt <"$D/tile"
    same 'names of ours' "$(ours "$D/levels")" ''
    up
    want cmp "$M/chunks/0_0_0/heights.txt" "$D/tile"
    down
    same 'names of ours' "$(ours "$S")" ''
}

try 'a level is mounted as its terrain; its other files stay as they are' one_terrain
try 'so is an unpacked mod, and a folder in a level' below_and_mod
try 'a level of two terrains shows terrains/NAME' two_terrains
try 'what two terrains could not save is imported into each' both_set_aside
try 'a mount point that hides a terrain is refused' hides_a_terrain
try 'the scale of the level is read again with the terrain' scale_follows
try 'refused texts are not left in a level' nothing_left_behind
try 'a journal that a kill left goes with a copy of the level' killed_and_packed
finish
