/*
 * Chunk coordinates <-> regions, file names and table slots.
 *
 * Must not know bytes of a region.
 */
#include "formats/cosmic_reach/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/layout.h"
#include "formats/cosmic_reach/zone.h"
#include "text/decimal.h"

#define REGION_MIN (INT32_MIN / TFS_COSMIC_SIDE)
#define REGION_MAX (INT32_MAX / TFS_COSMIC_SIDE)

/* Local coordinate 0-15, of negative ones too. */
static int32_t local(int32_t chunk)
{
    return chunk & (TFS_COSMIC_SIDE - 1);
}

struct tfs_key tfs_cosmic_region_of(struct tfs_key chunk)
{
    return (struct tfs_key){
        .group = chunk.group,
        .x = (chunk.x - local(chunk.x)) / TFS_COSMIC_SIDE,
        .y = (chunk.y - local(chunk.y)) / TFS_COSMIC_SIDE,
        .z = (chunk.z - local(chunk.z)) / TFS_COSMIC_SIDE,
    };
}

bool tfs_cosmic_region_of_name(const char *name, struct tfs_key *region)
{
    static const char prefix[] = "region_";
    const char *at = name + sizeof(prefix) - 1;
    int64_t x, y, z;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 ||
        !tfs_decimal_take(&at, '_', REGION_MIN, REGION_MAX, &x) ||
        !tfs_decimal_take(&at, '_', REGION_MIN, REGION_MAX, &y) ||
        !tfs_decimal_take(&at, '.', REGION_MIN, REGION_MAX, &z) || strcmp(at, "cosmicreach") != 0)
        return false;
    *region = (struct tfs_key){0, (int32_t)x, (int32_t)y, (int32_t)z};
    return true;
}

void tfs_cosmic_region_name(struct tfs_key region, char name[TFS_COSMIC_REGION_NAME])
{
    snprintf(name, TFS_COSMIC_REGION_NAME, "region_%d_%d_%d.cosmicreach", region.x, region.y,
             region.z);
}

bool tfs_cosmic_region_of_doc(const struct tfs_doc *doc, struct tfs_key *region)
{
    const struct tfs_cosmic_facts *facts = tfs_cosmic_facts(doc);

    if (facts->zone)
        return false;
    if (facts->named)
        *region = facts->region;
    else if (doc->count > 0)
        *region = tfs_cosmic_region_of(tfs_doc_at(doc, 0)->key);
    return facts->named || doc->count > 0;
}

uint32_t tfs_cosmic_column_slot(struct tfs_key chunk)
{
    return (uint32_t)(local(chunk.x) * TFS_COSMIC_SIDE + local(chunk.z));
}

uint32_t tfs_cosmic_table_slot(struct tfs_key chunk)
{
    return (uint32_t)local(chunk.y) * TFS_COSMIC_COLUMN_SLOTS + tfs_cosmic_column_slot(chunk);
}

struct tfs_key tfs_cosmic_column_key(struct tfs_key region, uint32_t slot)
{
    return (struct tfs_key){
        .x = region.x * TFS_COSMIC_SIDE + (int32_t)(slot / TFS_COSMIC_SIDE),
        .y = region.y * TFS_COSMIC_SIDE,
        .z = region.z * TFS_COSMIC_SIDE + (int32_t)(slot % TFS_COSMIC_SIDE),
    };
}

struct tfs_key tfs_cosmic_table_key(struct tfs_key region, uint32_t slot)
{
    struct tfs_key key = tfs_cosmic_column_key(region, slot % TFS_COSMIC_COLUMN_SLOTS);

    key.y += (int32_t)(slot / TFS_COSMIC_COLUMN_SLOTS);
    return key;
}

bool tfs_cosmic_same_region(struct tfs_key a, struct tfs_key b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* ---- documents ------------------------------------------------------------------------------- */

static int check_region(const struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_key region;

    if (!tfs_cosmic_region_of_doc(doc, &region) ||
        tfs_cosmic_same_region(tfs_cosmic_region_of(key), region))
        return 0;

    struct tfs_key low = tfs_cosmic_column_key(region, 0);
    const int32_t last = TFS_COSMIC_SIDE - 1;
    return tfs_fail(
        err, -EINVAL, "chunk %d_%d_%d is outside this region, which holds %d_%d_%d to %d_%d_%d",
        key.x, key.y, key.z, low.x, low.y, low.z, low.x + last, low.y + last, low.z + last);
}

/* Blocks have coordinates of 32 bits. */
static bool is_far(int32_t chunk)
{
    return chunk < INT32_MIN / TFS_COSMIC_SIDE || chunk > INT32_MAX / TFS_COSMIC_SIDE;
}

int tfs_cosmic_check_place(const struct tfs_doc *doc, struct tfs_key chunk, struct tfs_error *err)
{
    if (!tfs_cosmic_facts(doc)->zone)
        return check_region(doc, chunk, err);
    if (is_far(chunk.x) || is_far(chunk.y) || is_far(chunk.z))
        return tfs_fail(err, -EINVAL, "chunk %d_%d_%d lies farther out than any block coordinate",
                        chunk.x, chunk.y, chunk.z);
    return tfs_folder_check_place(doc, chunk, err);
}

uint32_t tfs_cosmic_version_at(const struct tfs_doc *doc, struct tfs_key chunk)
{
    const struct tfs_folder_file *file = tfs_folder_file_of(doc, chunk);

    if (file != NULL && !file->left_out)
        return tfs_cosmic_region_facts(file)->version;
    return tfs_cosmic_facts(doc)->version;
}
