/*
 * Material numbers <-> their names.
 *
 * Must not know what a cell or a record is.
 */
#include "formats/roblox/material.h"

static const char *const names[TFS_RBX_NAMED_MATERIALS] = {
    "Air",  "Water",      "Grass",  "Slate",       "Concrete", "Brick",
    "Sand", "WoodPlanks", "Rock",   "Glacier",     "Snow",     "Sandstone",
    "Mud",  "Basalt",     "Ground", "CrackedLava", "Asphalt",  "Cobblestone",
    "Ice",  "LeafyGrass", "Salt",   "Limestone",   "Pavement",
};

const char *tfs_rbx_material_name(uint32_t material)
{
    return material < TFS_RBX_NAMED_MATERIALS ? names[material] : NULL;
}

int tfs_rbx_material_find(struct tfs_span name)
{
    for (int i = 0; i < TFS_RBX_NAMED_MATERIALS; i++)
        if (tfs_span_equal(name, tfs_span_of(names[i])))
            return i;
    return -1;
}
