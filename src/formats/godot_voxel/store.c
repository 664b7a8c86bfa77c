/*
 * A changed block, stored bytes or instances -> a chunk of the edit's document.
 *
 * Must not know texts, nor how chunks lie on disk.
 */
#include "formats/godot_voxel/store.h"

#include <errno.h>
#include <string.h>

#include "formats/containers/folder.h"
#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/counts.h"
#include "formats/godot_voxel/upgrade.h"

/* ---- new blocks ------------------------------------------------------------------------------ */

/* Appends BlockData of a new block: all channels UNIFORM with their empty values. */
static void block_blank(struct tfs_buf *out, unsigned version, const uint32_t size[3],
                        const uint8_t depths[TFS_GODOT_CHANNELS])
{
    tfs_buf_u8(out, (uint8_t)version);
    for (unsigned i = 0; i < 3; i++)
        tfs_buf_u16le(out, (uint16_t)size[i]);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        unsigned depth = depths[i];
        tfs_buf_u8(out, (uint8_t)(TFS_GODOT_UNIFORM | depth << 4));
        tfs_godot_put_bits(out, tfs_godot_empty_value(i, version, depth), depth);
    }
    tfs_buf_u32le(out, TFS_GODOT_EPILOGUE);
}

/* The version that new blocks of a level get: the highest that is there; in a level without blocks,
 * of the save. */
static int new_version(struct tfs_save *save, const struct tfs_doc *base,
                       const struct tfs_godot_level *found, unsigned *version,
                       struct tfs_error *err)
{
    *version = found->newest;
    if (!found->known && tfs_godot_newest_version(save, base, version, err) < 0)
        return err->code;
    if (*version == 0)
        *version = TFS_GODOT_VERSION_MAX;
    return 0;
}

/* A new block is as deep as the others of its level, because one array holds them all. Where some
 * of them have whole distances there is no such array, and the new one has whole distances, too. */
static void find_depths(const struct tfs_godot_rules *rules, const struct tfs_godot_level *found,
                        uint8_t depths[TFS_GODOT_CHANNELS])
{
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        depths[i] = rules->depths_fixed ? rules->depths[i]
                    : found->known && (i != TFS_GODOT_SDF || !found->mixed)
                        ? (uint8_t)found->depths[i]
                        : tfs_godot_depth(tfs_godot_cells.planes[i].form.width);
}

static int add_blank(struct tfs_save *save, const struct tfs_doc *base, uint32_t level,
                     const uint32_t sides[3], struct tfs_buf *out, struct tfs_error *err)
{
    uint8_t depths[TFS_GODOT_CHANNELS];
    struct tfs_error ignored = {0}; /* of blocks that cannot be read */
    struct tfs_godot_level found;
    unsigned version;

    if (tfs_godot_level_find(save, base, level, &found, &ignored) < 0)
        found = (struct tfs_godot_level){0};
    if (new_version(save, base, &found, &version, err) < 0)
        return err->code;
    find_depths(tfs_godot_rules(base), &found, depths);
    block_blank(out, version, sides, depths);
    return tfs_buf_check(out, err);
}

static int add_blank_like(const struct tfs_cells_like *like, const struct tfs_godot_rules *rules,
                          const uint32_t sides[3], struct tfs_buf *out, struct tfs_error *err)
{
    uint8_t depths[TFS_GODOT_CHANNELS];
    struct tfs_godot_block block;

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        depths[i] = tfs_godot_depth(like->widths[i]);
    block_blank(out, like->version, sides, depths);
    if (tfs_buf_check(out, err) == 0 && tfs_godot_block_parse(tfs_buf_span(out), &block, err) == 0)
        tfs_godot_rules_depths(rules, &block, err);
    return err->code;
}

static enum tfs_godot_kind default_kind(unsigned version)
{
    return version == 2 ? TFS_GODOT_LZ4_BE : TFS_GODOT_LZ4;
}

int tfs_godot_blank(struct tfs_save *save, const struct tfs_doc *base, struct tfs_key key,
                    const struct tfs_cells_like *like, struct tfs_blob **stored,
                    struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(base);
    struct tfs_buf data = {0}, wrapped = {0};
    uint32_t sides[3];

    tfs_godot_rules_sides(base, sides);
    if ((like != NULL ? add_blank_like(like, rules, sides, &data, err)
                      : add_blank(save, base, key.group, sides, &data, err)) == 0 &&
        tfs_godot_wrap(default_kind(data.data[0]), tfs_buf_span(&data), &wrapped, err) == 0)
        tfs_blob_take(&wrapped, stored, err);
    tfs_buf_release(&data);
    tfs_buf_release(&wrapped);
    return err->code;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* `block` is what the stored bytes hold. */
static int put_stored(struct tfs_edit *edit, const struct tfs_cells *cells,
                      const struct tfs_godot_block *block, struct tfs_blob *stored,
                      struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(edit->base);
    struct tfs_chunk chunk = cells->chunk;

    if (tfs_folder_check_place(edit->base, chunk.key, err) < 0 ||
        tfs_godot_rules_stored(rules, stored->size, err) < 0)
        return err->code;
    if (!rules->cubed)
        chunk.own = tfs_godot_sides_of(block);
    chunk.blob = stored;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    return tfs_edit_put(edit, &chunk, err);
}

static int wrap_and_put(struct tfs_edit *edit, const struct tfs_cells *cells,
                        const struct tfs_godot_block *block, enum tfs_godot_kind kind,
                        struct tfs_span data, struct tfs_error *err)
{
    struct tfs_buf stored = {0};
    struct tfs_blob *blob = NULL;

    if (tfs_godot_wrap(kind, data, &stored, err) == 0 && tfs_blob_take(&stored, &blob, err) == 0)
        put_stored(edit, cells, block, blob, err);
    tfs_buf_release(&stored);
    tfs_blob_unref(blob);
    return err->code;
}

/* Makes the chunk's block one of version 4: 1 done; 0: that cannot be, and `why` says it. */
static int store_upgraded(struct tfs_edit *edit, const struct tfs_cells *cells,
                          const struct tfs_godot_block *block, struct tfs_error *why,
                          struct tfs_error *err)
{
    struct tfs_buf data = {0};

    /* A block that grows beyond what the container can hold stays as it is, too. */
    if (tfs_godot_block_upgrade(block, &data, why) == 0)
        wrap_and_put(edit, cells, block, TFS_GODOT_LZ4, tfs_buf_span(&data), why);
    tfs_buf_release(&data);
    if (why->code == -ENOMEM)
        return tfs_fail_memory(err);
    return why->code == 0;
}

/* The same for an edit, which is stored even if its block cannot be converted. */
static int put_upgraded(struct tfs_edit *edit, const struct tfs_cells *cells,
                        const struct tfs_godot_block *block, struct tfs_error *err)
{
    struct tfs_error why = {0};

    return store_upgraded(edit, cells, block, &why, err);
}

static bool is_old(const struct tfs_godot_block *block)
{
    return block->version < TFS_GODOT_VERSION_MAX;
}

int tfs_godot_store_block(struct tfs_edit *edit, const struct tfs_cells *cells,
                          const struct tfs_godot_block *block, struct tfs_error *err)
{
    struct tfs_buf data = {0};

    if (cells->save->options.upgrade && is_old(block) && put_upgraded(edit, cells, block, err) != 0)
        return err->code;
    tfs_godot_block_encode(block, &data);
    if (tfs_buf_check(&data, err) == 0)
        wrap_and_put(edit, cells, block, block->kind, tfs_buf_span(&data), err);
    tfs_buf_release(&data);
    return err->code;
}

/* Stores a block that was given whole: 1 stored in another form, 0 it can be stored verbatim. */
static int put_otherwise(struct tfs_edit *edit, const struct tfs_cells *cells,
                         const struct tfs_godot_block *block, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(tfs_edit_doc(edit));
    bool was_so =
        tfs_godot_block_of(cells) != NULL && tfs_godot_block_of(cells)->kind == block->kind;

    if (cells->save->options.upgrade && is_old(block)) {
        int done = put_upgraded(edit, cells, block, err);
        if (done != 0)
            return done;
    }
    if (!rules->cased || was_so || tfs_godot_kind_is_cased(block->kind))
        return 0;
    int result = wrap_and_put(edit, cells, block, default_kind(block->version),
                              tfs_blob_span(block->data), err);
    return result < 0 ? result : 1;
}

int tfs_godot_store_raw(struct tfs_edit *edit, const struct tfs_cells *cells, struct tfs_span bytes,
                        struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(tfs_edit_doc(edit));
    struct tfs_godot_block block = {0};
    struct tfs_blob *stored = NULL;

    /* What cannot be fetched was shown as no bytes. */
    if ((cells->stored != NULL || cells->damage != NULL) &&
        tfs_span_equal(bytes, tfs_blob_span(cells->stored)))
        return 0;
    if (tfs_blob_copy(bytes, &stored, err) == 0 && tfs_godot_block_open(stored, &block, err) == 0 &&
        tfs_godot_rules_size(rules, &block, err) == 0 &&
        tfs_godot_rules_depths(rules, &block, err) == 0 &&
        put_otherwise(edit, cells, &block, err) == 0)
        put_stored(edit, cells, &block, stored, err);
    tfs_godot_block_release(&block);
    tfs_blob_unref(stored);
    return err->code;
}

int tfs_godot_store_extra(struct tfs_edit *edit, const struct tfs_cells *cells,
                          struct tfs_blob *extra, struct tfs_error *err)
{
    struct tfs_chunk chunk = cells->chunk;

    chunk.extra = extra;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD_EXTRA;
    return tfs_edit_put(edit, &chunk, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

int tfs_godot_chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                           struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};

    if (tfs_godot_rules_coordinate(tfs_godot_rules(edit->base), key, err) == 0 &&
        tfs_folder_check_place(edit->base, key, err) == 0 &&
        tfs_godot_blank(save, edit->base, key, NULL, &chunk.blob, err) == 0)
        tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    return err->code;
}

int tfs_godot_chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                         struct tfs_key to, struct tfs_error *err)
{
    struct tfs_cells *cells = NULL;

    if (tfs_godot_rules_coordinate(tfs_godot_rules(edit->base), to, err) < 0 ||
        tfs_folder_check_place(edit->base, from, err) < 0 ||
        tfs_folder_check_place(edit->base, to, err) < 0 ||
        tfs_godot_cells_open(save, tfs_edit_doc(edit), from, &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL) {
        tfs_fail(err, -EBADMSG, "the block of this chunk is damaged, it can only be deleted: %s",
                 cells->damage);
        goto out;
    }
    if (cells->extra_unread != 0) {
        tfs_fail(err, cells->extra_unread, "the instances of this chunk cannot be read now");
        goto out;
    }
    struct tfs_chunk moved = {
        .key = to, .slot = cells->chunk.slot, .blob = cells->stored, .extra = cells->extra};
    if (tfs_edit_remove(edit, from, err) == 0)
        tfs_edit_put(edit, &moved, err);
out:
    tfs_cells_unref(cells);
    return err->code;
}

/* ---- whole saves ----------------------------------------------------------------------------- */

static int upgrade_chunk(struct tfs_edit *edit, const struct tfs_cells *cells,
                         tfs_refused_fn refused, void *arg, size_t *count, struct tfs_error *err)
{
    const struct tfs_godot_block *block = tfs_godot_block_of(cells);
    struct tfs_error why = {0};

    if (cells->damage != NULL) {
        refused(arg, &cells->chunk, cells->damage);
        return 0;
    }
    if (block == NULL || !is_old(block))
        return 0;
    int done = store_upgraded(edit, cells, block, &why, err);
    if (done == 0)
        refused(arg, &cells->chunk, why.text);
    *count += done > 0;
    return done < 0 ? done : 0;
}

int tfs_godot_save_upgrade(struct tfs_save *save, struct tfs_edit *edit, tfs_refused_fn refused,
                           void *arg, size_t *count, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(edit->base);

    *count = 0;
    for (size_t i = 0; i < edit->base->count; i++) {
        struct tfs_cells *cells;
        tfs_save_step(save, "chunks", i, edit->base->count);
        if (tfs_cells_make(save, edit->base, tfs_doc_at(edit->base, i), 0, &cells, err) < 0)
            return err->code;
        int result = upgrade_chunk(edit, cells, refused, arg, count, err);
        tfs_cells_unref(cells);
        if (result < 0)
            return result;
    }
    return rules->upgrade == NULL ? 0 : rules->upgrade(edit, err);
}
