#!/usr/bin/env bash
# Roblox terrain on real mounts: a bare value, a binary and an XML place, edited with sed, echo and Python;
# place.py, which shares no code with the program, says what became of the file. In full with all edits of each of them.
. "$(dirname "$0")/lib.sh"

place() {
    "$PYTHON" -S "$ROOT/tests/tools/place.py" "$@"
}

# saves NAME [OPTION...]: the pristine save of the following tests.
saves() {
    SAVE_NAME=$1
    PRISTINE=$T/pristine/$1
    shift
    "$TFS_TOOLS/make_place" "$@" "$PRISTINE"
}

# differs WANTED: lines of place.py diff, joined by commas.
differs() {
    settle_mounted
    same 'what changed in the save' "$(place diff "$PRISTINE" "$S" | paste -sd ,)" "$1"
}

# voxel_is X,Y,Z 'MATERIAL OCCUPANCY WATER' [GROUP]
voxel_is() {
    local at
    settle_mounted
    IFS=, read -ra at <<<"$1"
    same "voxel at $1" "$(place voxel "$S" "${at[@]}" ${3:+"$3"})" "$2"
}

# What a change of voxels means for PhysicsGrid: a bare value has none.
follows() {
    settle_mounted
    case $SAVE_NAME in
    *.bin) same 'PhysicsGrid' "$(place physics "$S")" none ;;
    *) same 'PhysicsGrid' "$(place physics "$S")" right ;;
    esac
}

with_physics() {
    case $SAVE_NAME in
    *.bin) echo "$1" ;;
    *) echo "PhysicsGrid,$1" ;;
    esac
}

reads() {
    up
    same 'chunks' "$(ls "$M/chunks" | sort)" "$(place chunks "$S" | sort)"
    want grep -q '^format: roblox$' "$M/info.txt"
    want grep -q '^2 Grass$' "$M/palette.txt"
    want grep -q '^# 2 Grass$' "$M/chunks/0_0_0/materials.txt"
    same 'files' "$(ls -U "$M/chunks/0_0_0" | paste -sd ' ')" \
        'raw.bin voxels.csv materials.txt occupancy.txt water.txt'
    wants_not grep -rq nosuchname "$M"
    find "$M" -name '*.txt' -o -name '*.csv' -o -name '*.bin' | while read -r file; do
        [ "$(stat -c %s "$file")" = "$(wc -c <"$file")" ] || note "wrong size: $file"
    done
    down
    want cmp "$PRISTINE" "$S"
}

sed_materials() {
    up
    want sed -i '/^[^#]/s/  2\b/ 19/g' "$M/chunks/0_0_0/materials.txt"
    wants_not grep -q ',Grass,' "$M/chunks/0_0_0/voxels.csv"
    want grep -q ',LeafyGrass,' "$M/chunks/0_0_0/voxels.csv"
    differs "$(with_physics 'changed 0_0_0')"
    want sed -i '/^[^#]/s/ 19\b/  2/g' "$M/chunks/0_0_0/materials.txt"
    down
    want cmp "$PRISTINE" "$S"
}

append_voxel() {
    up
    want sh -c "echo '3,31,4,CrackedLava,200,0' >>'$M/chunks/0_0_0/voxels.csv'"
    voxel_is 3,31,4 '15 200 0'
    differs "$(with_physics 'changed 0_0_0')"
    follows
    want sh -c "echo '3,31,4,31,100,9' >>'$M/chunks/0_0_0/voxels.csv'"
    voxel_is 3,31,4 '31 100 9'
    want sh -c "grep -v '^3,31,4,' '$M/chunks/0_0_0/voxels.csv' >'$D/without'"
    want cp "$D/without" "$M/chunks/0_0_0/voxels.csv"
    voxel_is 3,31,4 '0 0 0'
    down
    want cmp "$PRISTINE" "$S"
}

# A sphere of Ice, by a script that knows only the text.
python_script() {
    up
    want py '
path, voxels = a[0] + "/chunks/0_0_0/voxels.csv", {}
with open(path) as f:
    head = f.readline()
    for line in f:
        x, y, z, *cell = line.strip().split(",")
        voxels[int(x), int(y), int(z)] = cell
for x in range(32):
    for y in range(32):
        for z in range(32):
            if (x - 16) ** 2 + (y - 20) ** 2 + (z - 16) ** 2 < 36:
                voxels[x, y, z] = ["Ice", "255", "0"]
with open(path, "w") as f:
    f.write(head)
    for place, cell in voxels.items():
        f.write(",".join([*map(str, place), *cell]) + "\n")
' "$M"
    voxel_is 16,20,16 '18 255 0'
    voxel_is 16,25,16 '18 255 0'
    voxel_is 16,27,16 '0 0 0'
    differs "$(with_physics 'changed 0_0_0')"
    follows
    down
}

refused() {
    local file=$M/chunks/0_0_0/water.txt
    up
    want sh -c "sed '/|/s/[0-9]*\$/ 40/' '$M/chunks/0_0_0/occupancy.txt' >'$D/occupancy'"
    same 'writing occupancy of Air' "$(py 'print(err(put, a[0], get(a[1])))' \
        "$M/chunks/0_0_0/occupancy.txt" "$D/occupancy")" EBADMSG
    logged 'occupancy.txt:[0-9]+:[0-9]+: voxel 31,[0-9]+,[0-9]+: occupancy 40 for Air; give the cell a material first'
    want sh -c "sed '/|/s/[0-9]*\$/ 40/; s/^fill 0/fill 40/' '$file' >'$D/water'"
    same 'writing water where none can be' \
        "$(py 'print(err(put, a[0], get(a[1])))' "$file" "$D/water")" EBADMSG
    logged 'water.txt:[0-9]+:[0-9]+: voxel [0-9]+,[0-9]+,[0-9]+: water 40 for '
    down 3 # the refused texts are kept beside the save
    want cmp "$PRISTINE" "$S"
}

directories() {
    up
    want mkdir "$M/chunks/9_9_9"
    want cp -r "$M/chunks/0_0_0" "$M/chunks/-20_4_7"
    want cmp "$M/chunks/0_0_0/raw.bin" "$M/chunks/-20_4_7/raw.bin"
    want mv "$M/chunks/0_-1_0" "$M/chunks/1_5_1"
    want rm -r "$M/chunks/-1_0_0"
    wants_not mkdir "$M/chunks/0_0_262145"
    down
    differs "$(with_physics 'added -20_4_7,removed -1_0_0,removed 0_-1_0,added 1_5_1,added 9_9_9')"
    follows
    voxel_is 300,300,300 '0 0 0'
    same 'order of chunks' "$(place chunks "$S" | head -1)" -20_4_7
    want "$TFS_BIN" check "$S"
}

# tar gives the files of a directory in an order of its own; raw.bin is left out here.
tar_without_raw() {
    up
    want tar cf "$D/chunk.tar" -C "$M/chunks" --exclude raw.bin 0_0_0
    want rm -r "$M/chunks/0_0_0"
    want tar xf "$D/chunk.tar" -C "$M/chunks"
    down
    want cmp "$PRISTINE" "$S"
}

regions() {
    up
    same 'regions' "$(ls "$M/regions" | paste -sd ' ')" '0 1'
    want test -f "$M/regions/1/chunks/-1_-1_-1/voxels.csv"
    want sh -c "echo '-1,-1,-1,Salt,255,0' >>'$M/regions/1/chunks/-1_-1_-1/voxels.csv'"
    voxel_is -1,-1,-1 '20 255 0' 2
    same 'making a region' "$(py 'print(err(os.mkdir, a[0]))' "$M/regions/2")" EPERM
    logged '^regions/2: what is in regions comes with the save: none can be made$'
    same 'moving one' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/regions/1" "$M/regions/2")" EPERM
    down
    differs 'changed regions/1/-1_-1_-1'
}

# The chunks go, the TerrainRegion stays.
region_emptied() {
    up
    wants_not rm -r "$M/regions/1"
    same 'regions' "$(cd "$M" && find regions/1 | paste -sd ' ')" 'regions/1 regions/1/chunks'
    want cp -r "$M/regions/0/chunks" "$M/regions/1/"
    want diff -r "$M/regions/0/chunks" "$M/regions/1/chunks"
    want rm -r "$M"/regions/1/chunks/*
    down
    same 'chunks that are left' "$(place chunks "$S" | sort)" "$(place chunks "$PRISTINE" | grep -v '^regions/1/' | sort)"
    want "$TFS_BIN" check "$S"
    up
    same 'chunks of the region' "$(ls "$M/regions/1/chunks")" ''
    down
}

# Between two mounts: terrain moves from one place to another.
between_places() {
    local other=$T/pristine/other.rbxlx
    "$TFS_TOOLS/make_place" --kind xml --seed 9 "$other"
    cp "$other" "$D/other.rbxlx"
    up
    mount_at "$D/other.rbxlx" "$D/there"
    want cp -r "$M/chunks/0_0_0" "$D/there/chunks/6_6_6"
    want cmp "$M/chunks/0_0_0/raw.bin" "$D/there/chunks/6_6_6/raw.bin"
    unmount "$D/there"
    down
    same 'what changed there' "$(place diff "$other" "$D/other.rbxlx" | paste -sd ,)" \
        'PhysicsGrid,added 6_6_6'
    same 'PhysicsGrid there' "$(place physics "$D/other.rbxlx")" right
}

no_terrain() {
    echo '<roblox version="4"></roblox>' >"$S"
    up
    want grep -q '^read-only: this file has no Terrain$' "$M/info.txt"
    same 'chunks' "$(ls "$M/chunks")" ''
    wants_not mkdir "$M/chunks/0_0_0"
    down
}

all_kinds() {
    try "$1: reads the same as the file" reads
    try "$1: sed on materials.txt" sed_materials
    try "$1: chunks made, copied, moved, removed" directories
    ! in_full || texts "$1"
}

# What the texts of a chunk say is the same in every file.
texts() {
    try "$1: a line behind voxels.csv" append_voxel
    try "$1: a Python script" python_script
    try "$1: what cannot be is refused" refused
    try "$1: tar without raw.bin" tar_without_raw
}

saves terrain.bin --kind raw
all_kinds 'bare value'
in_full || texts 'bare value'
saves place.rbxl --kind binary --regions 2
all_kinds 'binary place'
try 'binary place: regions' regions
try 'binary place: a region without chunks' region_emptied
try 'binary place: a chunk copied into an XML place' between_places
saves place.rbxlx --kind xml --regions 2
all_kinds 'XML place'
try 'XML place: regions' regions
try 'XML place: no terrain' no_terrain
saves model.rbxm --kind binary --coding zstd
try 'Zstandard: a line behind voxels.csv' append_voxel
finish
