#!/usr/bin/env bash
# Luanti itself as the judge: a server makes worlds, terrainfs edits them on a mount, the server loads them
# again and says what is in them (tests/tools/luanti_game). That must be what the tree says, and what a
# decoder of its own finds in the database (tests/tools/luanti.py).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pictures.bash"
export PATH=$PATH:/usr/games
command -v minetestserver >/dev/null || bail 'minetest-server is not installed'

PORT=$((30000 + $$ % 20000)) # one server at a time listens here, where it can be in a network of its own
alone=()
! unshare -n true 2>/dev/null || alone=(unshare -n)
mkdir -p "$HOME/.minetest/games"
ln -s "$ROOT/tests/tools/luanti_game" "$HOME/.minetest/games/judge"

luanti() {
    "$PYTHON" -S "$ROOT/tests/tools/luanti.py" "$@"
}

# config [LINE...]: what the server is told.
config() {
    printf '%s\n' 'fixed_map_seed = 1' 'server_announce = false' 'dedicated_server_step = 0.02' \
        'active_block_mgmt_interval = 0.05' "$@"
}

# play WORLD COMMAND...: the game does these; what it says is in $D/game, sorted.
play() {
    local world=$1 status
    shift
    printf '%s\n' "$@" >"$world/judge.in"
    rm -f "$world/judge.out"
    timeout 240 "${alone[@]}" minetestserver --config "$D/conf" --world "$world" --gameid judge --port "$PORT" --logfile '' \
        >"$D/server.log" 2>&1 </dev/null 9>&-
    status=$?
    same 'status of the server' $status 0
    same 'the last line of the game' "$(tail -n 1 "$world/judge.out")" 'done'
    grep -v '^done$' "$world/judge.out" | sort >"$D/game"
    ! grep -E 'ERROR' "$D/server.log" || note "the server tells of an error"
}

# box X_Y_Z: the corners of a chunk.
box() {
    local x y z
    IFS=_ read -r x y z <<<"$1"
    echo $((16 * x)) $((16 * y)) $((16 * z)) $((16 * x + 15)) $((16 * y + 15)) $((16 * z + 15))
}

# judge CHUNK...: what the game says of these chunks of $S is what $D/tree and the database say.
judge() {
    local chunk commands=()
    for chunk in "$@"; do
        commands+=("nodes $(box "$chunk")" "meta $(box "$chunk")")
        ! grep -q '^7' "$D/tree/chunks/$chunk/objects.txt" 2>/dev/null || commands+=("objects $(box "$chunk")")
    done
    luanti tree "$D/tree" "$@" >"$D/says"
    luanti db "$S/map.sqlite" "$@" >"$D/stored"
    want cmp "$D/says" "$D/stored"
    play "$S" "${commands[@]}"
    want cmp "$D/says" "$D/game"
    diff "$D/says" "$D/game" | head -n 20
}

# keep CHUNK...: the files of these chunks as the mount shows them, for `judge`.
keep() {
    local chunk
    mkdir -p "$D/tree/chunks"
    for chunk in "$@"; do
        cp -r "$M/chunks/$chunk" "$D/tree/chunks/"
    done
}

# A world of air with everything in two blocks of it.
make_world() {
    D=$T/pristine
    config 'mg_name = singlenode' >"$D/conf"
    mkdir "$PRISTINE"
    printf '%s\n' 'gameid = judge' 'backend = sqlite3' 'player_backend = files' 'auth_backend = files' \
        'mod_storage_backend = files' >"$PRISTINE/world.mt"
    play "$PRISTINE" 'generate 0 0 0 0 0 0' 'build 0 0 0' 'build 16 -16 0'
}

SAVE_NAME=world
PRISTINE=$T/pristine/$SAVE_NAME
make_world
if [ -n "$notes" ]; then
    echo "not ok 1 - the server makes a world"
    tail -n 12 "$D/server.log" | sed 's/^/#   | /'
    exit 1
fi >&9

# ---- tests ----------------------------------------------------------------------------------------------

world_config() {
    config 'mg_name = singlenode' >"$D/conf"
}

unedited() {
    world_config
    up
    keep 0_0_0 1_-1_0
    down
    judge 0_0_0 1_-1_0
}

# sed, awk, grep, rm and redirection, in every file of a chunk.
texts() {
    local c
    world_config
    up
    c=$M/chunks/0_0_0
    sed -i 's/judge:dirt/judge:gold/' "$c/blocks.txt"
    echo '4,9,4,judge:stairs,17' >>"$c/voxels.csv"
    awk -F, '!($1 > 9 && $1 < 13 && $3 > 9 && $3 < 13)' "$c/voxels.csv" >"$D/dug" && cp "$D/dug" "$c/voxels.csv"
    sed -i 's/judge:stone/mod:removed/' "$c/palette.txt"
    sed -i 's/^3 5 3 infotext = .*/3 5 3 infotext = one line/; /private owner/d; s/gold 7/gold 99/' \
        "$c/metadata.txt"
    printf '4 9 4 new\\x20key = %s\n' "$(printf 'a%.0s' {1..70000})" >>"$c/metadata.txt"
    printf '%s\n' '8 5 0 inventory List main 1' '8 5 0 inventory Width 0' '8 5 0 inventory Item judge:lamp 3' \
        '8 5 0 inventory EndInventoryList' '8 5 0 inventory EndInventory' >>"$c/metadata.txt"
    echo '5 5 3 0.5 0.125' >>"$c/timers.txt"
    sed -i 's/^7 2 8 2 /7 2.5 8.0001 2 /' "$c/objects.txt"
    sed -i '3s/ 00 00$/ 00 07/' "$c/param1.txt"
    sed -i '2s/  0$/255/' "$c/param2.txt"
    rm "$M"/chunks/1_-1_0/{metadata,timers,objects}.txt
    sync "$c/voxels.csv"
    wants_not test -e "$M/chunks/1_-1_0/metadata.txt"
    keep 0_0_0 1_-1_0
    down
    judge 0_0_0 1_-1_0
}

# Chunks that come, move, are copied and go; the game has never seen some of their places.
directories() {
    world_config
    up
    cp -r "$M/chunks/0_0_0" "$M/chunks/5_0_5"
    mv "$M/chunks/1_-1_0" "$M/chunks/-4_1_2"
    mkdir "$M/chunks/7_0_7"
    printf '%s\n' 'x,y,z,node,param2' '115,7,127,judge:gold,3' >"$M/chunks/7_0_7/voxels.csv"
    head -n 1 "$M/chunks/0_0_0/objects.txt" >"$M/chunks/7_0_7/objects.txt"
    rm -r "$M/chunks/2_0_0"
    down
    up
    want grep -q '^timestamp 0$' "$M/chunks/7_0_7/state.txt"
    keep 0_0_0 5_0_5 -4_1_2 7_0_7
    same 'a copy has the texts of the original' \
        "$(cd "$M/chunks/5_0_5" && cat blocks.txt param?.txt metadata.txt timers.txt objects.txt | md5sum)" \
        "$(cd "$M/chunks/0_0_0" && cat blocks.txt param?.txt metadata.txt timers.txt objects.txt | md5sum)"
    down
    judge 0_0_0 5_0_5 -4_1_2 7_0_7
    play "$S" "nodes 32 0 0 33 0 0"
    same 'a deleted chunk' "$(cut -d ' ' -f 5 "$D/game" | sort -u)" ignore
}

# The names of the whole world, heights, an export that comes back.
roots() {
    world_config
    up
    sed -i 's/judge:stone/judge:water/; s/judge:sign/gone:sign/' "$M/palette.txt"
    sync "$M/palette.txt"
    want grep -q gone:sign "$M/chunks/1_-1_0/palette.txt"
    want paint \( -size 5x3 'xc:#000500050005' \) -gravity SouthWest -geometry +60+60 -compose plus -composite
    shows_painted
    want grep -q '^14,9,13,judge:' "$M/chunks/0_0_0/voxels.csv"
    down
    want "$TFS_BIN" export "$S" "$D/out"
    sed -i 's/judge:dirt/judge:gold/' "$D/out/chunks/1_-1_0/voxels.csv"
    want "$TFS_BIN" import "$D/out" "$S"
    up
    keep 0_0_0 1_-1_0 1_-3_0
    down
    judge 0_0_0 1_-1_0 1_-3_0
    want grep -q '^N 16 -44 13 ' "$D/game"
    want grep -q '^N 5 5 3 gone:sign' "$D/game"
    want grep -q '^N 16 -12 0 judge:gold' "$D/game"
}

# Two copies of a world, each edited, in one again. A node that changes keeps what is stored beside it.
merged() {
    local side
    world_config
    for side in base theirs; do
        cp "$S/map.sqlite" "$D/$side.sqlite"
    done
    sed -n 's/^3,5,3,[^,]*/3,5,3,judge:gold/p' <("$TFS_BIN" cat "$S" chunks/0_0_0/voxels.csv) >"$D/mine"
    want grep -q gold "$D/mine"
    "$TFS_BIN" cat "$S" chunks/0_0_0/voxels.csv | cat - "$D/mine" >"$D/mine.csv"
    "$TFS_BIN" cat "$S" chunks/0_0_0/voxels.csv | cat - <(echo '15,9,15,judge:stairs,17') >"$D/theirs.csv"
    want "$TFS_BIN" put "$S" chunks/0_0_0/voxels.csv <"$D/mine.csv"
    want "$TFS_BIN" put "$D/theirs.sqlite" chunks/0_0_0/voxels.csv <"$D/theirs.csv"
    want "$TFS_BIN" merge "$D/base.sqlite" "$S/map.sqlite" "$D/theirs.sqlite"
    up
    want grep -q '^3 5 3 infotext = ' "$M/chunks/0_0_0/metadata.txt"
    keep 0_0_0 1_-1_0
    down
    judge 0_0_0 1_-1_0
    want grep -q '^N 3 5 3 judge:gold' "$D/game"
    want grep -q '^N 15 9 15 judge:stairs [0-9]* 17$' "$D/game"
}

# A block that terrainfs wrote, and that the game then saves, has the same bytes: numbers and order of names,
# flags, metadata and timers are as the game writes them.
bytes() {
    world_config
    up
    sed -i 's/judge:dirt/judge:gold/' "$M/chunks/0_0_0/blocks.txt"
    echo '4,9,4,judge:clock,17' >>"$M/chunks/0_0_0/voxels.csv"
    printf '%s\n' '4 9 4 7.5 0' '9 5 3 90.5 1.25' >"$M/chunks/0_0_0/timers.txt" # floats hold these
    echo '4 9 4 text = new' >>"$M/chunks/0_0_0/metadata.txt"
    echo 'lighting_complete ffff' >"$M/chunks/0_0_0/state.txt"
    sed -i '/owner/d' "$M/chunks/0_0_0/metadata.txt" # the game turns the order of variables at every save
    down
    luanti row "$S/map.sqlite" 0_0_0 >"$D/ours"
    play "$S" 'touch 0 0 0'
    luanti row "$S/map.sqlite" 0_0_0 >"$D/theirs"
    want cmp "$D/ours" "$D/theirs"
}

# The engine computes no light when it loads a block; what it repairs are borders.
light() {
    world_config
    up
    grep -vE '^(8|9),(3|4|2),(8|9),' "$M/chunks/0_0_0/voxels.csv" >"$D/dug"
    cp "$D/dug" "$M/chunks/0_0_0/voxels.csv"
    same 'new air is as light as what is beside it' "$(sed -n '/^y=04 z=08/s/.*|//p' "$M/chunks/0_0_0/param1.txt")" \
        ' 00 00 00 00 00 00 00 00 af 9f 00 00 00 00 00 00'
    want grep -q '^lighting_complete f000$' "$M/chunks/0_0_0/state.txt"
    keep 0_0_0
    down
    judge 0_0_0
    play "$S" "light $(box 0_0_0)" "nodes 8 2 8 8 4 8"
    same 'light that the game computes' "$(cut -d ' ' -f 3,6 "$D/game" | paste -sd ,)" '2 127,3 143,4 159'
}

# A server and a mount at the same time: what either was told is saved is there in the end.
beside_a_server() {
    world_config
    echo 'server_map_save_interval = 0.1' >>"$D/conf"
    up
    play "$S" 'load 0 0 0' 'set 0 9 0 judge:gold' 'wait go' 'nodes 16 -16 0 16 -16 0' 'set 1 9 0 judge:gold' &
    server=$!
    soon grep -q '^0,9,0,judge:gold' "$M/chunks/0_0_0/voxels.csv"
    want grep -q '^warning: another program has the map open' <("$TFS_BIN" cat "$S" info.txt)
    sed -i 's/judge:stone/judge:lamp/' "$M/chunks/1_-1_0/blocks.txt"
    want grep -q judge:lamp "$M/chunks/1_-1_0/blocks.txt"
    touch "$S/go"
    want wait $server
    same 'what the server finds' "$(cat "$D/game")" 'N 16 -16 0 judge:lamp 0 0'
    soon grep -q '^1,9,0,judge:gold' "$M/chunks/0_0_0/voxels.csv"
    want grep -q '^16,-16,0,judge:lamp' "$M/chunks/1_-1_0/voxels.csv"
    down
}

# Terrain of the map generator; a chunk that is removed is made anew.
generated() {
    config 'mg_name = v7' >"$D/conf"
    rm "$S/map.sqlite" "$S/map_meta.txt"
    play "$S" "generate $(box 0_0_0)"
    want "$TFS_BIN" check "$S"
    up
    C=$(cd "$M/chunks" && grep -l 'judge:dirt' [01]_*_0/palette.txt | head -n 1 | cut -d / -f 1)
    keep "$C"
    want test -s "$M/map.png"
    rm -r "$M/chunks/$C"
    down
    play "$S" "nodes $(box "$C")"
    same 'a chunk that is not there' "$(cut -d ' ' -f 5 "$D/game" | sort -u)" ignore
    play "$S" "generate $(box "$C")" "nodes $(box "$C")"
    wants_not grep -q ignore "$D/game"
    want grep -q judge: "$D/game"
}

# The schema of 5.12, which this server does not know: the same edits make the same blobs.
axes() {
    luanti axes "$S/map.sqlite" "$D/new.sqlite"
    up
    mount_at "$D/new.sqlite" "$D/other"
    for at in "$M" "$D/other"; do
        sed -i 's/judge:dirt/judge:gold/' "$at/chunks/0_0_0/blocks.txt"
        cp -r "$at/chunks/0_0_0" "$at/chunks/5_-3_5"
        mv "$at/chunks/1_-1_0" "$at/chunks/-4_1_2"
    done
    want grep -q 'schema: x, y, z' "$D/other/info.txt"
    down
    unmount "$D/other"
    for chunk in 0_0_0 5_-3_5 -4_1_2; do
        same "the blob of $chunk" "$(luanti row "$D/new.sqlite" $chunk)" "$(luanti row "$S/map.sqlite" $chunk)"
    done
}

# Another backend is refused with the command that brings the map into SQLite; that one works.
backends() {
    local sentence
    world_config
    sed -i 's/sqlite3/leveldb/' "$S/world.mt"
    sentence=$("$TFS_BIN" info "$S" 2>&1)
    same 'status of info' $? 1
    sed -i 's/leveldb/sqlite3/' "$S/world.mt"
    want grep -q -- '--migrate sqlite3' <<<"$sentence"
    minetestserver --config "$D/conf" --world "$S" --gameid judge --migrate leveldb --logfile '' >"$D/to.log" 2>&1
    rm "$S/map.sqlite"
    wants_not "$TFS_BIN" info "$S"
    minetestserver --config "$D/conf" --world "$S" --gameid judge --migrate sqlite3 --logfile '' >"$D/from.log" 2>&1
    up
    keep 0_0_0 1_-1_0
    down
    judge 0_0_0 1_-1_0
}

try 'what the game reads is what the tree says' unedited
try 'edits of texts are there in the game' texts
try 'chunks that are copied, moved, made and removed are there in the game' directories
try 'renamed nodes and imported trees are there in the game' roots
try 'what two made of a world is there in the game once it is merged' merged
try 'the game saves a block that was edited in the same bytes' bytes
try 'light is as the page says' light
try 'a server and a mount lose nothing of each other' beside_a_server
try 'generated terrain is read, and a removed chunk is generated anew' generated
try 'both schemas hold the same blobs' axes
try 'a world of another backend is refused with the way out' backends
finish
