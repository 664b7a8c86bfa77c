#!/usr/bin/env bash
# Arrays that are mapped while others edit the save.
# shellcheck disable=SC2034 # for lib.sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/numpy.bash"

mkdir -p "$T/pristine"

# saves NAME TOOL [ARGUMENT...]: the pristine save of the following tests.
saves() {
    SAVE_NAME=$1
    PRISTINE=$T/pristine/$1
    "$TFS_TOOLS/$2" "${@:3}" || bail "cannot make $1"
}

# ---- what others edit ------------------------------------------------------------------------------------

# A page that a mapping writes holds its neighbours as they were, also where the save alone held them and holds
# others since. keeps_edits_of_others ARRAY [ZONE]
keeps_edits_of_others() {
    up -o views=all+arrays
    numpy 'name, m = w[0], os.path.join(m, *w[1:])
chunk = sorted(c for c in os.listdir(f"{m}/chunks") if os.path.exists(f"{m}/chunks/{c}/arrays/{name}"))[-1]
whole, part = f"{m}/arrays/{name}", f"{m}/chunks/{chunk}/arrays/{name}"
k = np.load(part)
i = tuple(a.start for a in of(chunk, k.shape[0]))
j = (i[0], i[1], i[2] + 1)
old = k[0, 0, 0]
new = 3 if old != 3 else 4
a = np.load(whole, mmap_mode="r+")
a[j] = 5
k[0, 0, 0] = new
np.save(part, k)
os.sync()
a.flush()
del a
a = np.load(whole)
check((a[i], a[j]) == (new, 5))
k[0, 0, 1] = 5
check((np.load(part) == k).all())' "$@"
    down
    want "$TFS_BIN" check "$S"
}

# ---------------------------------------------------------------------------------------------------------

missing() {
    skip 'NumPy is not installed'
}

if [ -z "$NUMPY" ]; then
    try 'NumPy' missing
    finish
fi
saves map.sqlite make_luanti map "$T/pristine/map.sqlite" 4
try 'Luanti: edits of others while a page is written' keeps_edits_of_others param2.npy
for kind in folder region stream; do
    saves "godot.$kind" make_voxel $kind "$T/pristine/godot.$kind"
    try "Godot, $kind: edits of others while a page is written" keeps_edits_of_others type.npy
done
saves world make_world --regions 2 --chunks 12 "$T/pristine/world"
try 'Cosmic Reach, a zone: edits of others while a page is written' keeps_edits_of_others sky.npy zones/base/earth
finish
