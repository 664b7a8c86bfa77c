/*
 * A changed block, stored bytes or instances -> a chunk of the edit's document.
 *
 * Must not know texts, nor how chunks lie on disk.
 */
#include "formats/godot_voxel/store.h"

#include <errno.h>
#include <string.h>

#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/upgrade.h"

/* ---- new blocks ------------------------------------------------------------------------------ */

const uint8_t tfs_godot_usual_depths[TFS_GODOT_CHANNELS] = {1, 1, 0, 1, 1, 0, 0, 0};

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
                       const struct tfs_godot_form *form, unsigned *version, struct tfs_error *err)
{
    *version = form->newest;
    if (!form->known && tfs_godot_newest_version(save, base, version, err) < 0)
        return err->code;
    if (*version == 0)
        *version = TFS_GODOT_VERSION_MAX;
    return 0;
}

/* A new block is as deep as the others of its level: one array holds them all. Where some of them
 * have whole distances there is none, and a new one has them, too. */
static void find_depths(const struct tfs_godot_rules *rules, const struct tfs_godot_form *form,
                        uint8_t depths[TFS_GODOT_CHANNELS])
{
    memcpy(depths, rules->depths_fixed ? rules->depths : tfs_godot_usual_depths,
           TFS_GODOT_CHANNELS);
    if (rules->depths_fixed || !form->known)
        return;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (i != TFS_GODOT_SDF || !form->mixed)
            depths[i] = (uint8_t)form->depths[i];
}

static int add_blank(struct tfs_save *save, const struct tfs_doc *base, uint32_t level,
                     struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(base);
    const uint32_t side = UINT32_C(1) << rules->po2;
    const uint32_t size[3] = {side, side, side};
    uint8_t depths[TFS_GODOT_CHANNELS];
    struct tfs_error ignored = {0}; /* of blocks that cannot be read */
    struct tfs_godot_form form;
    unsigned version;

    if (tfs_godot_form_find(save, base, level, &form, &ignored) < 0)
        form = (struct tfs_godot_form){0};
    if (new_version(save, base, &form, &version, err) < 0)
        return err->code;
    find_depths(rules, &form, depths);
    block_blank(out, version, size, depths);
    return tfs_buf_check(out, err);
}

static enum tfs_godot_kind default_kind(unsigned version)
{
    return version == 2 ? TFS_GODOT_LZ4_BE : TFS_GODOT_LZ4;
}

int tfs_godot_store_blank(unsigned version, const uint32_t size[3],
                          const uint8_t depths[TFS_GODOT_CHANNELS], struct tfs_buf *own,
                          struct tfs_godot_block *block, struct tfs_error *err)
{
    block_blank(own, version, size, depths);
    if (tfs_buf_check(own, err) < 0 || tfs_godot_block_parse(tfs_buf_span(own), block, err) < 0)
        return err->code;
    block->kind = default_kind(version);
    return 0;
}

int tfs_godot_store_begin(struct tfs_save *save, const struct tfs_doc *base,
                          const struct tfs_godot_view *view, struct tfs_buf *own,
                          struct tfs_godot_block *block, struct tfs_error *err)
{
    if (view->readable) {
        *block = view->block;
        return 0;
    }
    if (view->damage != NULL)
        return tfs_fail(err, -EBADMSG, "the block of this chunk is damaged: %s", view->damage);
    if (add_blank(save, base, view->chunk.key.group, own, err) < 0 ||
        tfs_godot_block_parse(tfs_buf_span(own), block, err) < 0)
        return err->code;
    block->kind = default_kind(block->version);
    return 0;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* `block` is what the stored bytes hold. */
static int put_stored(struct tfs_edit *edit, const struct tfs_godot_view *view,
                      const struct tfs_godot_block *block, struct tfs_blob *stored,
                      struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(edit->base);
    struct tfs_chunk chunk = view->chunk;

    if (tfs_godot_rules_stored(rules, stored->size, err) < 0)
        return err->code;
    if (!rules->cubed)
        chunk.own = tfs_godot_sides_of(block);
    chunk.blob = stored;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    return tfs_edit_put(edit, &chunk, err);
}

static int wrap_and_put(struct tfs_edit *edit, const struct tfs_godot_view *view,
                        const struct tfs_godot_block *block, enum tfs_godot_kind kind,
                        struct tfs_span data, struct tfs_error *err)
{
    struct tfs_buf stored = {0};
    struct tfs_blob *blob = NULL;

    if (tfs_godot_wrap(kind, data, &stored, err) == 0 && tfs_blob_take(&stored, &blob, err) == 0)
        put_stored(edit, view, block, blob, err);
    tfs_buf_release(&stored);
    tfs_blob_unref(blob);
    return err->code;
}

/* Makes the chunk's block one of version 4: 1 done; 0: that cannot be, and `why` says it. */
static int store_upgraded(struct tfs_edit *edit, const struct tfs_godot_view *view,
                          const struct tfs_godot_block *block, struct tfs_error *why,
                          struct tfs_error *err)
{
    struct tfs_buf data = {0};

    /* A block that grows beyond what the container can hold stays as it is, too. */
    if (tfs_godot_block_upgrade(block, &data, why) == 0)
        wrap_and_put(edit, view, block, TFS_GODOT_LZ4, tfs_buf_span(&data), why);
    tfs_buf_release(&data);
    if (why->code == -ENOMEM)
        return tfs_fail_memory(err);
    return why->code == 0;
}

/* The same where an edit is stored, which is stored in any case. */
static int put_upgraded(struct tfs_edit *edit, const struct tfs_godot_view *view,
                        const struct tfs_godot_block *block, struct tfs_error *err)
{
    struct tfs_error why = {0};

    return store_upgraded(edit, view, block, &why, err);
}

static bool wants_upgrade(const struct tfs_godot_block *block, unsigned options)
{
    return (options & TFS_PUT_UPGRADE) != 0 && block->version < TFS_GODOT_VERSION_MAX;
}

int tfs_godot_store_block(struct tfs_edit *edit, const struct tfs_godot_view *view,
                          const struct tfs_godot_block *block, unsigned options,
                          struct tfs_error *err)
{
    struct tfs_buf data = {0};

    if (wants_upgrade(block, options) && put_upgraded(edit, view, block, err) != 0)
        return err->code;
    tfs_godot_block_encode(block, &data);
    if (tfs_buf_check(&data, err) == 0)
        wrap_and_put(edit, view, block, block->kind, tfs_buf_span(&data), err);
    tfs_buf_release(&data);
    return err->code;
}

/* Stores a block that was given whole: 1 stored in another form, 0 it can be stored verbatim. */
static int put_otherwise(struct tfs_edit *edit, const struct tfs_godot_view *view,
                         const struct tfs_godot_block *block, unsigned options,
                         struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(tfs_edit_doc(edit));
    bool was_so = view->readable && view->block.kind == block->kind;

    if (wants_upgrade(block, options)) {
        int done = put_upgraded(edit, view, block, err);
        if (done != 0)
            return done;
    }
    if (!rules->cased || was_so || tfs_godot_kind_is_cased(block->kind))
        return 0;
    int result = wrap_and_put(edit, view, block, default_kind(block->version),
                              tfs_blob_span(block->data), err);
    return result < 0 ? result : 1;
}

int tfs_godot_store_raw(struct tfs_edit *edit, const struct tfs_godot_view *view,
                        struct tfs_span bytes, unsigned options, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(tfs_edit_doc(edit));
    struct tfs_godot_block block = {0};
    struct tfs_blob *stored = NULL;

    /* What cannot be fetched was shown as no bytes. */
    if ((view->stored != NULL || view->damage != NULL) &&
        tfs_span_equal(bytes, tfs_blob_span(view->stored)))
        return 0;
    if (tfs_blob_copy(bytes, &stored, err) == 0 && tfs_godot_block_open(stored, &block, err) == 0 &&
        tfs_godot_rules_size(rules, &block, err) == 0 &&
        tfs_godot_rules_depths(rules, &block, err) == 0 &&
        put_otherwise(edit, view, &block, options, err) == 0)
        put_stored(edit, view, &block, stored, err);
    tfs_godot_block_release(&block);
    tfs_blob_unref(stored);
    return err->code;
}

int tfs_godot_store_extra(struct tfs_edit *edit, const struct tfs_godot_view *view,
                          struct tfs_blob *extra, struct tfs_error *err)
{
    struct tfs_chunk chunk = view->chunk;

    chunk.extra = extra;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD_EXTRA;
    return tfs_edit_put(edit, &chunk, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

int tfs_godot_chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                           struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};
    struct tfs_buf data = {0}, stored = {0};

    if (tfs_godot_rules_coordinate(tfs_godot_rules(edit->base), key, err) < 0)
        return err->code;
    if (add_blank(save, edit->base, key.group, &data, err) == 0 &&
        tfs_godot_wrap(default_kind(data.data[0]), tfs_buf_span(&data), &stored, err) == 0 &&
        tfs_blob_take(&stored, &chunk.blob, err) == 0)
        tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    tfs_buf_release(&data);
    tfs_buf_release(&stored);
    return err->code;
}

int tfs_godot_chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                         struct tfs_key to, struct tfs_error *err)
{
    struct tfs_godot_view *view = NULL;

    if (tfs_godot_rules_coordinate(tfs_godot_rules(edit->base), to, err) < 0 ||
        tfs_godot_view_open(save, tfs_edit_doc(edit), from, &view, err) < 0)
        return err->code;
    if (view->damage != NULL) {
        tfs_fail(err, -EBADMSG, "the block of this chunk is damaged, it can only be deleted: %s",
                 view->damage);
        goto out;
    }
    if (view->unread != 0) {
        tfs_fail(err, view->unread, "the instances of this chunk cannot be read now");
        goto out;
    }
    struct tfs_chunk moved = {
        .key = to, .slot = view->chunk.slot, .blob = view->stored, .extra = view->extra};
    if (tfs_edit_remove(edit, from, err) == 0)
        tfs_edit_put(edit, &moved, err);
out:
    tfs_godot_view_unref(view);
    return err->code;
}

/* ---- whole saves ----------------------------------------------------------------------------- */

static int upgrade_chunk(struct tfs_edit *edit, const struct tfs_godot_view *view,
                         tfs_refused_fn refused, void *arg, size_t *count, struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (view->damage != NULL) {
        refused(arg, &view->chunk, view->damage);
        return 0;
    }
    if (!view->readable || !wants_upgrade(&view->block, TFS_PUT_UPGRADE))
        return 0;
    int done = store_upgraded(edit, view, &view->block, &why, err);
    if (done == 0)
        refused(arg, &view->chunk, why.text);
    *count += done > 0;
    return done < 0 ? done : 0;
}

int tfs_godot_save_upgrade(struct tfs_save *save, struct tfs_edit *edit, tfs_refused_fn refused,
                           void *arg, size_t *count, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(edit->base);

    *count = 0;
    for (size_t i = 0; i < edit->base->count; i++) {
        struct tfs_godot_view *view;
        tfs_save_step(save, "chunks", i, edit->base->count);
        if (tfs_godot_view_make(save, edit->base, tfs_doc_at(edit->base, i), &view, err) < 0)
            return err->code;
        int result = upgrade_chunk(edit, view, refused, arg, count, err);
        tfs_godot_view_unref(view);
        if (result < 0)
            return result;
    }
    return rules->upgrade == NULL ? 0 : rules->upgrade(edit, err);
}
