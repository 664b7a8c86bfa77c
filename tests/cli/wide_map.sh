#!/usr/bin/env bash
# map.png of saves that are wider than a picture: squares of columns as one pixel, the mean of what the tiles show.
. "$(dirname "$0")/lib.bash"

overview() {
    python3 -S "$ROOT/tests/tools/overview.py" "$@"
}

# wide WHAT SAVE ZONE CHUNK SAYS FAR...: copies a chunk to far places and looks at the map; `overview` prints SAYS. ZONE: of
# a world, else ".".
wide() {
    local what=$1 save=$2 zone=$3 chunk=$4 says=$5 north=() far
    shift 5
    rm -rf part all
    "$TFS" export -o views=raw "$save" part || exit 3
    for far in "$@"; do
        cp -r "part/$zone/chunks/$chunk" "part/$zone/chunks/$far"
    done
    run 0 "$what: chunks far away" import part "$save"
    run 0 "$what: is exported" export "$save" all
    [[ $what != Luanti* ]] || north=(north)
    [ "$(overview "all/$zone" "${north[@]}" 2>err | tee out)" = "$says" ]
    ok "$what: a pixel is the mean of its columns: $says"
    [ ! -e "all/$zone/heightmap.png" ]
    ok "$what: there is no picture of heights"
    "$TFS" cat "$save" "${zone#.}/map.png" | cmp -s - "all/$zone/map.png"
    ok "$what: cat prints the same"
    run 0 "$what: the save is whole" check "$save"
}

"$TOOLS/make_luanti" map map.sqlite 40 || exit 3
wide Luanti map.sqlite . 0_-1_-1 '4 6408 x 2128 704' 700_0_30 -900_3_-500 701_0_30 20_0_-501
"$TOOLS/make_voxel" folder folder 2 || exit 3
wide 'Godot, a folder' folder . 0_0_0 '512 5938 x 1564 3' 100000_0_30 -90000_3_-50000
"$TOOLS/make_place" --kind raw --chunks 6 --log2 4 place || exit 3
wide Roblox place . -1_0_-1 '2 4816 x 256 320' 600_0_30
"$TOOLS/make_world" --regions 2 --chunks 12 world || exit 3
wide 'Cosmic Reach' world zones/base/earth -16_11_-16 '8 8002 x 1462 8' 2000_0_30 -2000_3_-700

# Higher than pictures of heights can tell.
"$TOOLS/make_voxel" folder high 2 || exit 3
rm -rf part && "$TFS" export -o views=raw high part && cp -r part/chunks/0_0_0 part/chunks/0_9000_0
run 0 'a high save' import part high
run 1 'has no map' cat high map.png
"$TFS" info high >out
says out '^pictures: none, because they are of saves up to 65535 voxels high, ' 'info says why'

# ---- BeamNG ---------------------------------------------------------------------------------------------

"$TOOLS/make_ter" --version 9 --size 8320 --seed 3 big.ter || exit 3
"$TFS" info big.ter >out
says out '^map scale: 2$' 'BeamNG: info says the scale'
! "$TFS" cat big.ter heightmap.png >/dev/null 2>err
ok 'BeamNG: there is no other picture'

# In full: a terrain whose samples are squares of four equal ones has the map of one of half its side.
in_full || done_testing
for NUMPY in python3 /usr/bin/python3 ''; do
    [ -z "$NUMPY" ] || ! "$NUMPY" -c 'import numpy' 2>/dev/null || break
done
if [ -z "$NUMPY" ]; then
    skip 'BeamNG' 'NumPy is not installed'
    done_testing
fi
"$TOOLS/make_ter" --version 9 --size 4160 --seed 3 small.ter || exit 3
for array in heights layers; do
    "$TFS" cat small.ter arrays/$array.npy >$array.npy
    "$NUMPY" - $array.npy <<'PY' >big.npy
import sys
import numpy as np
np.save(sys.stdout.buffer, np.kron(np.load(sys.argv[1]), np.ones((2, 2), np.uint16)))
PY
    run 0 "BeamNG: $array of a wide terrain" put big.ter arrays/$array.npy <big.npy
done
"$TFS" cat small.ter map.png >small.png
"$TFS" cat big.ter map.png >big.png
python3 -S - "$ROOT/tests/tools" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from png import Picture
small, big = Picture('small.png'), Picture('big.png')
assert (big.width, big.height) == (small.width, small.height) and big.rows == small.rows
assert [d for k, d in big.parts if k == b'tEXt'] == [b'scale\x002'] and not [1 for k, d in small.parts if k == b'tEXt']
PY
ok 'BeamNG: its map is that of a terrain of half the side'
done_testing
