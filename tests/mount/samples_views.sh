#!/usr/bin/env bash
# -o views=voxels on real saves of every game: a whole tree that tar, rsync or git put back is the terrain
# that it was taken from. Here one save of each kind; in full all of them.
. "$(dirname "$0")/lib.sh"

SAMPLES=$(dirname "$SAMPLES")

saves() {
    find "$SAMPLES" \( -name '*.rbx*' -o -name '*.bin' -o -name '*.ter' -o -name '*.ter.gz' -o -name '*.cosmicreach' \
        -o -name '*.blk' -o -name '*.vxr' -o -name '*.sqlite' -o -name '*.sqlite.gz' -o -name 'server-world-*' \
        -o -name world_region \) | sort
}

# The small one of each kind.
is_example() {
    case ${1##*/} in
        region_3_0_0.cosmicreach | maximumadhd-rff.SmoothGrid.bin | relaid_v8_256_pacific.ter) return 0 ;;
        v2_terrain.blk | hand_v3_meta.blk | depths32.blk | *_palette_4x2x3.vxr | stream_coord2.sqlite) return 0 ;;
        *) return 1 ;;
    esac
}

# bring SAMPLE: $S is a copy of it, and $other another one.
bring() {
    local name=${1##*/}
    rm -rf "$S"
    S=$D/save/${name%.gz} other=$D/other/${name%.gz}
    mkdir "$D/save" "$D/other"
    case $name in
        *.gz) gzip -dc "$1" >"$other" ;;
        *) cp -R "$1" "$other" ;;
    esac
    [ ! -e "${1%.ter}.terrain.json" ] || cp "${1%.ter}.terrain.json" "$D/save/"
    chmod -R u+w "$D"
    cp -Rp "$other" "$S"
}

# A chunk of those.
removable() {
    local chunks=("${@:$(($# / 3 + 1))}")
    echo "${chunks[0]}"
}

names_in() {
    find "$1" | sort
}

has_names() {
    [ "$(names_in "$1")" = "$2" ]
}

# An fsync of a directory ends the two seconds in which removed names may come back, and so do those of its subdirectories.
end_removals() {
    sync "$1"
    find "$1" -mindepth 1 -type d -exec sync {} +
}

# Three chunks are edited, and where the save can do without one, it is removed; else its files show again.
spoil() {
    local chunks chunk removable names
    mapfile -t chunks < <(find "$M" -path '*/chunks/*' -name '*_*_*' -type d | sort)
    for chunk in "${chunks[0]}" "${chunks[${#chunks[@]} / 2]}" "${chunks[-1]}"; do
        [ ! -e "$chunk/voxels.csv" ] || want sed -i 2d "$chunk/voxels.csv"
        [ ! -e "$chunk/channels/type.txt" ] || want sed -i 's/^fill .*/fill 7/' "$chunk/channels/type.txt"
        [ ! -e "$chunk/heights.txt" ] || echo fill 7 >"$chunk/heights.txt"
    done
    removable=$(removable "${chunks[@]}")
    if [ -n "$removable" ]; then
        names=$(names_in "$removable")
        rm -r "$removable" 2>/dev/null || { end_removals "$removable"; soon has_names "$removable" "$names"; }
    fi
    "$TFS_BIN" sync "$M"
    "$TFS_BIN" diff --stat "$other" "$S" >"$D/spoilt"
    same 'the spoilt save differs' $? 1
}

by_tar() {
    want tar -C "$M" -xf "$D/tree.tar"
}

by_rsync() {
    command -v rsync >/dev/null || { by_tar; return; }
    want rsync -a --delete "$D/tree/" "$M/"
}

by_git() {
    want on_git checkout -q main~1
    same 'status' "$(on_git status --porcelain)" ''
}

round() {
    bring "$1"
    want "$TFS_BIN" export -o views=voxels "$other" "$D/tree" 2>"$D/err"
    find "$D/tree" -name .terrainfs -prune -exec rm -r {} +
    # rsync takes files of one size and one second for the same.
    find "$D/tree" -exec touch -d 2020-01-01 {} +
    tar -C "$D/tree" -cf "$D/tree.tar" .
    up -o views=voxels
    commits one
    spoil
    commits two
    for tool in git tar rsync; do
        [ $tool = git ] || spoil
        by_$tool
        want "$TFS_BIN" sync "$M"
        want "$TFS_BIN" diff --stat "$other" "$S"
    done
    down
    want "$TFS_BIN" diff "$other" "$S"
    want "$TFS_BIN" diff "$S" "$D/tree"
}

missing() {
    skip 'the samples are not here'
}

if [ -d "$SAMPLES" ]; then
    while read -r save; do
        in_full || is_example "$save" || continue
        try "${save#"$SAMPLES"/}" round "$save"
    done < <(saves)
else
    try 'real saves' missing
fi
finish
