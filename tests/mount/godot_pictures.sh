#!/usr/bin/env bash
# heightmap.png of Godot Voxel Tools, sculpted with ImageMagick on real mounts of every container.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/godot.bash"
. "$(dirname "$0")/pictures.bash"

# What voxel.py, which shares no code with the program, finds in the raised column 20,20 of a Godot save that
# begins at 0 0 0: copies of the voxel that was the highest.
copies_the_top_voxel() {
    local before value
    up
    before=$(pixel 20,20)
    value=$(voxel voxel "$S" 20 $((before - 1)) 20)
    want paint -fill '#002D002D002D' -draw 'point 20,20'
    shows_painted
    down
    for y in $((before - 1)) "$before" 16 30 44; do
        same "voxel at height $y" "$(voxel voxel "$S" 20 "$y" 20)" "$value"
    done
    same 'whether the voxel above is another' "$([ "$(voxel voxel "$S" 20 45 20)" = "$value" ]; echo $?)" 1
}

# A file of one block cannot grow: up to its top everything can be raised.
raises_one_block() {
    up
    want paint -evaluate set 16
    shows_painted
    wants_not paint -evaluate set 17
    logged 'heightmap.png: pixel 0,0: too high: the save can hold no further chunk'
    down 3
    want "$TFS_BIN" check "$S"
}

saves terrain.vxr region 4
sculpt 'Godot region'
try 'Godot region: the top voxel is copied' copies_the_top_voxel
saves folder folder 2
sculpt 'Godot folder'
try 'Godot folder: the top voxel is copied' copies_the_top_voxel
saves terrain.sqlite stream 300
sculpt 'Godot database'
saves old.blk block 2
try 'Godot block: it is raised to its top' raises_one_block
finish
