/*
 * "r.X.Y.Z.vxr" <-> the coordinate of a region, and the coordinate of its first block.
 *
 * Must not know files.
 */
#include "formats/godot_voxel/region_name.h"

#include <stdio.h>
#include <string.h>

#include "text/decimal.h"

static bool take_coordinate(const char **text, int32_t *coordinate)
{
    int64_t v;

    if (!tfs_decimal_take(text, '.', -INT32_MAX, INT32_MAX, &v))
        return false;
    *coordinate = (int32_t)v;
    return true;
}

bool tfs_godot_region_name_parse(const char *name, struct tfs_key *region)
{
    struct tfs_key found = {0};

    if (strncmp(name, "r.", 2) != 0)
        return false;
    name += 2;
    if (!take_coordinate(&name, &found.x) || !take_coordinate(&name, &found.y) ||
        !take_coordinate(&name, &found.z) || strcmp(name, "vxr") != 0)
        return false;
    *region = found;
    return true;
}

void tfs_godot_region_name(struct tfs_key region, char name[TFS_GODOT_REGION_NAME])
{
    snprintf(name, TFS_GODOT_REGION_NAME, "r.%d.%d.%d.vxr", region.x, region.y, region.z);
}

/* The lowest coordinate along one axis. */
static bool origin_of(int32_t coordinate, uint32_t size, int32_t *origin)
{
    int64_t first = (int64_t)coordinate * size;

    if (first < INT32_MIN || first + size - 1 > INT32_MAX)
        return false;
    *origin = (int32_t)first;
    return true;
}

bool tfs_godot_region_origin(const struct tfs_godot_region *region, struct tfs_key key,
                             struct tfs_key *origin)
{
    struct tfs_key found = {0};

    if (!origin_of(key.x, region->x, &found.x) || !origin_of(key.y, region->y, &found.y) ||
        !origin_of(key.z, region->z, &found.z))
        return false;
    *origin = found;
    return true;
}
