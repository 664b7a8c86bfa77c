/*
 * A block or a coordinate -> may it be in this save, or a sentence why not.
 *
 * Must not know which container it is.
 */
#include "formats/godot_voxel/rules.h"

#include <errno.h>
#include <string.h>

#include "formats/containers/folder.h"
#include "formats/godot_voxel/channel.h"

static int check_axis(const struct tfs_godot_rules *rules, unsigned axis, int32_t at,
                      struct tfs_error *err)
{
    if (at < rules->low[axis] || at > rules->high[axis])
        return tfs_fail(err, -EINVAL, "%s holds no chunk with %c = %d, only %d to %d",
                        rules->container, "xyz"[axis], at, rules -> low[axis], rules -> high[axis]);
    if (at < -TFS_GODOT_FARTHEST || at > TFS_GODOT_FARTHEST)
        return tfs_fail(err, -EINVAL, "the engine knows no chunk with %c = %d, only %d to %d",
                        "xyz"[axis], at, -TFS_GODOT_FARTHEST, TFS_GODOT_FARTHEST);
    return 0;
}

int tfs_godot_rules_coordinate(const struct tfs_godot_rules *rules, struct tfs_key key,
                               struct tfs_error *err)
{
    if (key.group >= rules->lods)
        return tfs_fail(err, -EINVAL, "%s has levels of detail 0 to %u", rules->container,
                        rules->lods - 1);
    if (check_axis(rules, 0, key.x, err) < 0 || check_axis(rules, 1, key.y, err) < 0)
        return err->code;
    return check_axis(rules, 2, key.z, err);
}

int tfs_godot_rules_fit(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                        const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_godot_rules *a = tfs_godot_rules(ours), *b = tfs_godot_rules(theirs);

    if (a->cubed != b->cubed || a->po2 != b->po2 || a->depths_fixed != b->depths_fixed ||
        memcmp(a->depths, b->depths, sizeof(a->depths)) != 0 || a->stored_max != b->stored_max ||
        a->cased != b->cased || a->lods != b->lods || memcmp(a->low, b->low, sizeof(a->low)) != 0 ||
        memcmp(a->high, b->high, sizeof(a->high)) != 0)
        return tfs_fail(err, -EINVAL, "%s holds other blocks", b->container);
    if (chunk == NULL || tfs_folder_check_place(theirs, chunk->key, err) < 0)
        return err->code;
    return tfs_doc_find(theirs, chunk->key) != NULL
               ? 0
               : tfs_godot_rules_coordinate(b, chunk->key, err);
}

uint64_t tfs_godot_sides_of(const struct tfs_godot_block *block)
{
    return block->x | (uint64_t)block->y << 16 | (uint64_t)block->z << 32;
}

void tfs_godot_rules_sides(const struct tfs_doc *doc, uint32_t sides[3])
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(doc);
    const uint64_t own = rules->cubed ? 0 : tfs_godot_chunk_sides(tfs_doc_at(doc, 0));

    for (unsigned i = 0; i < 3; i++)
        sides[i] = rules->cubed ? UINT32_C(1) << rules->po2 : own >> 16 * i & 0xffff;
}

int tfs_godot_rules_size(const struct tfs_godot_rules *rules, const struct tfs_godot_block *block,
                         struct tfs_error *err)
{
    const uint32_t side = UINT32_C(1) << rules->po2;

    if (!rules->cubed || (block->x == side && block->y == side && block->z == side))
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "the block has %u x %u x %u voxels, %s holds blocks of %u x %u x %u", block->x,
                    block->y, block->z, rules->container, side, side, side);
}

int tfs_godot_rules_depth(const struct tfs_godot_rules *rules, unsigned channel, unsigned depth,
                          struct tfs_error *err)
{
    if (!rules->depths_fixed || rules->depths[channel] == depth)
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "channel %s has depth %u, %s holds blocks whose depth there is %u",
                    tfs_godot_channel_names[channel], 8U << depth, rules->container,
                    8U << rules->depths[channel]);
}

int tfs_godot_rules_depths(const struct tfs_godot_rules *rules, const struct tfs_godot_block *block,
                           struct tfs_error *err)
{
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS && err->code == 0; i++)
        tfs_godot_rules_depth(rules, i, block->channels[i].depth, err);
    return err->code;
}

int tfs_godot_rules_stored(const struct tfs_godot_rules *rules, size_t size, struct tfs_error *err)
{
    if (rules->stored_max == 0 || size <= rules->stored_max)
        return 0;
    return tfs_fail(err, -EFBIG,
                    "the block has %zu bytes, at most %u fit the 255 sectors that a block of %s "
                    "may have",
                    size, rules->stored_max, rules->container);
}
