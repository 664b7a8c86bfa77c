/*
 * Material numbers <-> their names.
 *
 * Must not know what a cell or a record is.
 */
#include "formats/roblox/material.h"

#define NAME(text)                                                                                 \
    {                                                                                              \
        (const uint8_t *)(text), sizeof(text) - 1                                                  \
    }

static const struct tfs_span names[TFS_RBX_NAMED_MATERIALS] = {
    NAME("Air"),         NAME("Water"),     NAME("Grass"),       NAME("Slate"),  NAME("Concrete"),
    NAME("Brick"),       NAME("Sand"),      NAME("WoodPlanks"),  NAME("Rock"),   NAME("Glacier"),
    NAME("Snow"),        NAME("Sandstone"), NAME("Mud"),         NAME("Basalt"), NAME("Ground"),
    NAME("CrackedLava"), NAME("Asphalt"),   NAME("Cobblestone"), NAME("Ice"),    NAME("LeafyGrass"),
    NAME("Salt"),        NAME("Limestone"), NAME("Pavement"),
};

struct tfs_span tfs_rbx_material_name(uint64_t material)
{
    return material < TFS_RBX_NAMED_MATERIALS ? names[material] : (struct tfs_span){0};
}
