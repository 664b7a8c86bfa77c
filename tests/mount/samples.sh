#!/usr/bin/env bash
# The real regions of a world: each mounts, reads the same twice, keeps every byte when nothing was edited,
# and after an edit of one block every other chunk's bytes are the same. Three of them; in full all.
. "$(dirname "$0")/lib.sh"

regions=$SAMPLES/server-world-1/zones/base/earth/regions

sample() {
    local found x y z at was
    rm "$S" && S=$D/${1##*/} && cp "$1" "$S" && chmod 644 "$S"
    PRISTINE=$1
    region chunks "$1" >"$D/chunks"
    up
    same 'chunks' "$(find "$M/chunks" -mindepth 1 -maxdepth 1 | wc -l)" "$(wc -l <"$D/chunks")"
    find "$M/chunks" -name raw.bin -exec sha1sum {} + |
        sed -n 's|^\([0-9a-f]*\) .*/chunks/\(.*\)/raw.bin$|\2 \1|p' | sort >"$D/raw"
    awk '{ print $1, $NF }' "$D/chunks" | sort >"$D/wanted"
    want cmp "$D/raw" "$D/wanted"
    wants_not grep -rq nosuchname "$M"
    down
    want cmp "$1" "$S"
    found=$(sort -k3,3n "$D/chunks" | tail -1 | cut -d ' ' -f 1)
    IFS=_ read -r x y z <<<"$found"
    up
    at=$((x * 16 + 3)),$((y * 16 + 4)),$((z * 16 + 5))
    was=$(region block "$1" ${at//,/ })
    echo "$at,base:one_block" >>"$M/chunks/$found/voxels.csv"
    down
    block_is "$at" base:one_block
    changes "changed $found blocks"
    up
    echo "$at,\"$was\"" >>"$M/chunks/$found/voxels.csv"
    down
    changes ''
}

missing() {
    skip 'the samples are not here'
}

if [ -d "$regions" ]; then
    pristine=$PRISTINE
    while read -r file; do
        PRISTINE=$pristine
        try "${file##*/}" sample "$file"
    done < <(few 3 "$regions"/*.cosmicreach)
else
    try 'real regions' missing
fi
finish
