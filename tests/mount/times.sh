#!/usr/bin/env bash
# Times over mounts: content that is as it was keeps its times, so that git reads nothing again.
. "$(dirname "$0")/lib.sh"

# times NAME [CHUNK]: mtime and ctime of all files, or of those of a chunk, into $D/NAME.
times() {
    (cd "$M/chunks" && find "${2:-.}" -type f -printf '%T@ %C@ %p\n' | sort -k3) >"$D/$1"
}

# shellcheck disable=SC2120 # options come through try
keeps_times() {
    up "$@"
    times before
    down
    touch -d 2001-01-01 "$S" # somebody wrote the save, with the same chunks
    up "$@"
    times after
    want cmp "$D/before" "$D/after"
    down
}

keeps_times_of_edits() {
    up
    want sed -i '$d' "$M/chunks/$C/voxels.csv"
    times before
    down
    up
    times after
    same 'files of other chunks with another time' "$(diff "$D/before" "$D/after" | grep -c "^>.*/$C2/")" 0
    same 'voxels.csv' "$(grep "$C/voxels.csv" "$D/after")" "$(grep "$C/voxels.csv" "$D/before")"
    want sed -i '$d' "$M/chunks/$C/voxels.csv"
    wants_not cmp -s <(grep "$C/voxels.csv" "$D/before") <(times now && grep "$C/voxels.csv" "$D/now")
    down
}

keeps_times_set_by_hand() {
    up -o views=voxels
    want touch -d '2019-04-05 06:07:08.9' "$M/chunks/$C/voxels.csv"
    times before "$C/voxels.csv"
    down
    up -o views=voxels
    times after "$C/voxels.csv"
    want cmp "$D/before" "$D/after"
    want grep -q '^15544444' "$D/after"
    down
}

# What the game changed between two mounts has another time, and only that.
tells_changes_of_the_game() {
    up
    times before
    down
    "$TFS_BIN" cat "$S" "chunks/$C/voxels.csv" | sed '$d' >"$D/csv"
    want "$TFS_BIN" put "$S" "chunks/$C/voxels.csv" <"$D/csv"
    up
    times after
    same 'files of the chunk with the same time' "$(comm -12 "$D/before" "$D/after" | grep -c "/$C/")" 0
    want cmp <(grep -v "/$C/" "$D/before") <(grep -v "/$C/" "$D/after")
    down
}

# A text that was refused is not in the save, and no other file has another time.
keeps_times_beside_refused_texts() {
    up
    times before
    py 'os.write(os.open(a[0], os.O_WRONLY | os.O_TRUNC), b"x")' "$M/chunks/$C/voxels.csv"
    down 3
    up
    times after
    want cmp <(grep -v "/$C/" "$D/before") <(grep -v "/$C/" "$D/after")
    down
}

ignores_damage() {
    local state
    export XDG_STATE_HOME=$D/state
    up
    times before
    down
    state=$(echo "$XDG_STATE_HOME"/terrainfs/times/*)
    want [ -f "$state" ]
    printf 'terrainfs times 2\n' >"$state"
    touch -d 2001-01-01 "$S"
    up
    times after
    want grep -q '^978307200' "$D/after"
    down
    rm "$state" && mkdir "$state"
    up
    down
    rmdir "$state"
}

# diff-files compares times alone: what it names, git status would read.
spares_git() {
    up -o views=voxels
    commits one
    down
    touch -d 2001-01-01 "$S"
    up -o views=voxels
    same 'what git would read again' "$(on_git diff-files --name-only)" ''
    down
}

# other_game MAKER ARGUMENT...
other_game() {
    S=$D/save
    "$TFS_TOOLS/$1" "${@:2}" "$S"
    keeps_times
}

try 'times are kept' keeps_times
try 'with a set of files' keeps_times -o views=voxels
try 'read-only' keeps_times -o ro
try 'of edited files, too' keeps_times_of_edits
try 'times that were set' keeps_times_set_by_hand
try 'chunks that the game changed' tells_changes_of_the_game
try 'beside texts that were refused' keeps_times_beside_refused_texts
try 'a damaged state file' ignores_damage
try 'Roblox' other_game make_place --kind binary --log2 4 --chunks 6
try 'BeamNG' other_game make_ter --size 128
try 'Godot' other_game make_voxel stream
try 'git finds its index true' spares_git
finish
