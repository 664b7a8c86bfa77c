/*
 * What a value of one attribute means for a cell: see attribute.h.
 */
#include "formats/roblox/attribute.h"

#include "formats/roblox/material.h"
#include "formats/roblox/smoothgrid.h"

static bool apply_material(uint32_t *cell, uint32_t material)
{
    uint32_t water = material == TFS_RBX_WATER ? 0 : tfs_rbx_cell_water(*cell);

    if (material == TFS_RBX_AIR)
        *cell = TFS_RBX_EMPTY;
    else if (tfs_rbx_cell_material(*cell) == TFS_RBX_AIR)
        *cell = tfs_rbx_cell(material, 255, 0);
    else
        *cell = tfs_rbx_cell(material, tfs_rbx_cell_occupancy(*cell), water);
    return true;
}

static bool apply_occupancy(uint32_t *cell, uint32_t occupancy)
{
    uint32_t material = tfs_rbx_cell_material(*cell);
    uint32_t water = occupancy == 255 ? 0 : tfs_rbx_cell_water(*cell);

    if (material == TFS_RBX_AIR && occupancy != 0)
        return false;
    *cell = tfs_rbx_cell(material, occupancy, water);
    return true;
}

static bool apply_water(uint32_t *cell, uint32_t water)
{
    uint32_t material = tfs_rbx_cell_material(*cell);
    uint32_t occupancy = tfs_rbx_cell_occupancy(*cell);

    if (water != 0 && (material < TFS_RBX_FIRST_SOLID || occupancy == 255))
        return false;
    *cell = tfs_rbx_cell(material, occupancy, water);
    return true;
}

const struct tfs_rbx_attribute tfs_rbx_material = {
    .name = "material",
    .out_of_range = "materials are 0 to 63",
    .shift = 0,
    .width = 2,
    .high = TFS_RBX_MATERIALS - 1,
    .legend = true,
    .apply = apply_material,
};

const struct tfs_rbx_attribute tfs_rbx_occupancy = {
    .name = "occupancy",
    .out_of_range = "occupancy is 0 to 255",
    .shift = 8,
    .width = 3,
    .high = 255,
    .apply = apply_occupancy,
};

const struct tfs_rbx_attribute tfs_rbx_water = {
    .name = "water",
    .out_of_range = "water is 0 to 255",
    .shift = 16,
    .width = 3,
    .high = 255,
    .apply = apply_water,
};

const char *tfs_rbx_attribute_refusal(uint32_t cell)
{
    const uint32_t material = tfs_rbx_cell_material(cell);

    return material == TFS_RBX_AIR     ? "Air; give the cell a material first"
           : material == TFS_RBX_WATER ? "Water, which has no room for more"
                                       : "a cell of occupancy 255; lower the occupancy first";
}
