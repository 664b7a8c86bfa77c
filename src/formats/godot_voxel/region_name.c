/*
 * "r.X.Y.Z.vxr" <-> the coordinate of a region, and the coordinate of its first block.
 *
 * Must not know files.
 */
#include "formats/godot_voxel/region_name.h"

#include <stdio.h>
#include <string.h>

/* Takes a plain decimal (no `+`, `-0`, leading zeros) and the character behind it. */
static bool take_number(const char **text, char end, int32_t *number)
{
    const char *at = *text;
    bool negative = *at == '-';
    int64_t v = 0;

    at += negative;
    if (*at < '0' || *at > '9' || (*at == '0' && (negative || at[1] != end)))
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        v = v * 10 + (*at - '0');
        if (v > INT32_MAX)
            return false;
    }
    if (*at != end)
        return false;
    *number = (int32_t)(negative ? -v : v);
    *text = at + 1;
    return true;
}

bool tfs_godot_region_name_parse(const char *name, struct tfs_key *region)
{
    struct tfs_key found = {0};

    if (strncmp(name, "r.", 2) != 0)
        return false;
    name += 2;
    if (!take_number(&name, '.', &found.x) || !take_number(&name, '.', &found.y) ||
        !take_number(&name, '.', &found.z) || strcmp(name, "vxr") != 0)
        return false;
    *region = found;
    return true;
}

void tfs_godot_region_name(struct tfs_key region, char name[TFS_GODOT_REGION_NAME])
{
    snprintf(name, TFS_GODOT_REGION_NAME, "r.%d.%d.%d.vxr", region.x, region.y, region.z);
}

/* The lowest coordinate along one axis. */
static bool origin_of(int32_t place, uint32_t size, int32_t *origin)
{
    int64_t first = (int64_t)place * size;

    if (first < INT32_MIN || first + size - 1 > INT32_MAX)
        return false;
    *origin = (int32_t)first;
    return true;
}

bool tfs_godot_region_origin(const struct tfs_godot_region *region, struct tfs_key place,
                             struct tfs_key *origin)
{
    struct tfs_key found = {0};

    if (!origin_of(place.x, region->x, &found.x) || !origin_of(place.y, region->y, &found.y) ||
        !origin_of(place.z, region->z, &found.z))
        return false;
    *origin = found;
    return true;
}
