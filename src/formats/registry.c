/*
 * The formats: one row a container, and one for each ending of their files. Adding a format is a
 * folder and its rows here.
 */
#include "formats/beamng/beamng.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/format.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "formats/luanti/luanti.h"
#include "formats/minecraft/minecraft.h"
#include "formats/roblox/roblox.h"

/* clang-format off: one row a container */
const struct tfs_container *const tfs_containers[] = {
    &tfs_beamng_ter,
    &tfs_cosmic_reach_region,
    &tfs_cosmic_reach_zone,
    &tfs_cosmic_reach_flat_zone,
    &tfs_rbx_blob_container,
    &tfs_rbx_binary_container,
    &tfs_rbx_xml_container,
    &tfs_godot_block_container,
    &tfs_godot_region_container,
    &tfs_godot_folder_container,
    &tfs_godot_stream_container,
    &tfs_luanti_map_container,
    &tfs_mc_region_container,
    &tfs_mc_folder_container,
    NULL,
};

const struct tfs_ending tfs_endings[] = {
    {"beamng", ".ter"},
    {"cosmic_reach", ".cosmicreach"},
    {"roblox", ".rbxl"},
    {"roblox", ".rbxm"},
    {"roblox", ".rbxlx"},
    {"roblox", ".rbxmx"},
    {"godot_voxel", ".vxr"},
    {"minecraft", ".mca"},
    {NULL, NULL},
};
