#!/usr/bin/env bash
# Arrays as others than NumPy read them: a C program that knows the format alone, pandas, PIL. What they see is what the
# texts and pictures of the same save say, and of real saves what decoders apart from terrainfs do.
. "$(dirname "$0")/lib.bash"

region save --kind demo
"$TFS" export -o views=all+arrays save tree || exit 3
"$TOOLS/npy_sum" tree/arrays/{blocks,lights/sky,lights/block}.npy >sums
[ "$(cut -d ' ' -f 1-4 sums)" = "$(printf '48 32 32 %s\n' 2 1 2)" ]
ok 'C: the heads of all arrays are 128 bytes with shape and type'

# total TEXT...: of all values in grids of 16 x 16 x 16, decimal; of names their lines in arrays/palette.txt.
total() {
    awk 'function value(v) { return v in lines ? lines[v] : v }
        { name = $0; sub(/^(palette )?[0-9]+ /, "", name) }
        NR == FNR { line[name] = $1; next }
        FNR == 1 { split("", lines) }
        /^palette/ { lines[$2] = line[name] }
        /^fill/ { sum += 4096 * value($2) }
        /^y=/ { sub(/.*\|/, ""); for (i = 1; i <= NF; i++) sum += value($i) }
        END { print sum + 0 }' tree/arrays/palette.txt "$@"
}
for chunk in tree/chunks/*; do
    echo "$("$TOOLS/npy_sum" "$chunk/arrays/blocks.npy") $chunk"
done >chunk_sums
while read -r y z x width sum chunk; do
    [ "$y $z $x $width $sum" = "16 16 16 2 $(total "$chunk/blocks.txt")" ] || echo "$chunk"
done <chunk_sums >out
[ ! -s out ] && [ "$(wc -l <chunk_sums)" -gt 4 ]
ok 'C: the values of each chunk sum up to those of its grid'
[ "$(sed -n '2s/.* //p' sums)" = "$(total tree/chunks/*/lights/sky.txt)" ]
ok 'C: so does the sky light of the whole save'

for NUMPY in python3 /usr/bin/python3 ''; do
    [ -z "$NUMPY" ] || ! "$NUMPY" -c 'import numpy' 2>/dev/null || break
done

# reader MODULE WHAT CODE
reader() {
    if [ -z "$NUMPY" ] || ! "$NUMPY" -c "import $1" 2>/dev/null; then
        skip "$1: $2" "$1 is not installed"
        return
    fi
    TERRAINFS=$TFS PYTHONPATH=$ROOT/share PYTHONDONTWRITEBYTECODE=1 "$NUMPY" -c "$3" >out 2>err
    ok "$1: $2"
}

reader pandas 'a frame of the array is the frame of voxels.csv' '
import glob
import numpy as np
import pandas as pd
import terrainfs
table = pd.concat(pd.read_csv(f) for f in glob.glob("tree/chunks/*/voxels.csv"))
with terrainfs.open("save") as t:
    y, z, x = np.nonzero(t.blocks)
    frame = pd.DataFrame({"x": x + t.origin[2], "y": y + t.origin[0], "z": z + t.origin[1],
                          "block": np.array(t.names, object)[t.blocks[y, z, x]]})
by = ["y", "z", "x"]
pd.testing.assert_frame_equal(table.sort_values(by, ignore_index=True), frame.sort_values(by, ignore_index=True),
                              check_dtype=False)
assert len(frame) > 1000
assert frame["block"].value_counts().to_dict() == table["block"].value_counts().to_dict()'

"$TOOLS/make_ter" --version 9 --size 200 --seed 9 terrain.ter || exit 3
"$TFS" cat terrain.ter heightmap.png >heightmap.png
"$TFS" cat terrain.ter layers.png >layers.png
reader PIL 'heights and layers are the pictures, and a picture goes back into the array' '
import numpy as np
import terrainfs
from PIL import Image
with terrainfs.open("terrain.ter", "r+") as t:
    assert (np.asarray(Image.open("heightmap.png")) == t.heights).all()
    assert (np.asarray(Image.open("layers.png")) == t.layers).all()
    small = Image.fromarray(t.heights.astype(np.int32)).resize((50, 50))
    wanted = np.asarray(small.resize((200, 200))).clip(0, 65535)
    t.heights = wanted
with terrainfs.open("terrain.ter") as t:
    assert (t.heights == wanted).all()'
# Some chunks of real saves, in full of all.
# samples GAME FILE...
samples() {
    local game=$1 samples=$ROOT/../shared/samples saves
    shift
    if [ -z "$NUMPY" ] || [ ! -d "$samples" ] || [ -n "${TFS_TEST_SANITIZED-}" ]; then
        skip "$game: real saves" 'no NumPy, no ../shared/samples, or a sanitizer, under which it takes long'
        return
    fi
    mkdir "$game"
    mapfile -t saves < <(find "$samples/$game" \( "$@" \) | sort)
    mapfile -t saves < <(few 3 "${saves[@]}")
    cp -rt "$game" "${saves[@]}"
    chmod -R u+w "$game"
    find "$game" -name '*.gz' -exec gunzip {} +
    "$NUMPY" -B "$ROOT/tests/tools/arrays.py" "$TFS" 2 "$game"/* >out 2>err
    ok "$game: $(wc -l <out) arrays of real saves are what another decoder reads"
    rm -r "$game"
}
samples cosmic_reach -name '*.cosmicreach'
samples roblox -name '*.rbx*' -o -name '*.bin'
samples beamng -name '*.ter' -o -name '*.ter.gz'
samples godot_voxel -name '*.blk' -o -name '*.bin' -o -name 'region*.vxr' -o -name '*.sqlite' -o -name world_region
samples luanti -name '*.sqlite.gz'
done_testing
