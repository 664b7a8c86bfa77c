/*
 * Edits of a document <-> records. Must not know files: base/journal.h does.
 */
#include "formats/journal.h"

#include <errno.h>

enum chunk_flags {
    CHUNK_REMOVED = 1,
    CHUNK_BLOB = 2,
    CHUNK_EXTRA = 4,
    CHUNK_OWN = 8,
};

#define CHUNK_HEAD  17 /* bytes of key and flags, at least */
#define RESERVED    15 /* bytes at the end of a record, 0 */
#define CHUNK_FLAGS (CHUNK_REMOVED | CHUNK_BLOB | CHUNK_EXTRA | CHUNK_OWN)

/* ---- making ---------------------------------------------------------------------------------- */

struct maker {
    struct tfs_save *save;
    struct tfs_buf *out;
    uint32_t count;
    struct tfs_error *err;
};

static void put_blob(struct tfs_buf *out, const struct tfs_blob *blob)
{
    tfs_buf_u64le(out, blob->size);
    tfs_buf_add_span(out, tfs_blob_span(blob));
}

static void put_key(struct tfs_buf *out, struct tfs_key key)
{
    tfs_buf_u32le(out, key.group);
    tfs_buf_u32le(out, (uint32_t)key.x);
    tfs_buf_u32le(out, (uint32_t)key.y);
    tfs_buf_u32le(out, (uint32_t)key.z);
}

/* The format's own number is written only where the edit changed it: a rewrite may number the other
 * chunks anew. */
static int put_stored(struct maker *m, const struct tfs_chunk *before,
                      const struct tfs_chunk *chunk)
{
    const bool renumbered = before == NULL || before->own != chunk->own;
    struct tfs_blob *blob = NULL;

    if (tfs_chunk_load(m->save, chunk, &blob, m->err) < 0)
        return m->err->code;
    put_key(m->out, chunk->key);
    tfs_buf_u8(m->out, (uint8_t)(CHUNK_BLOB | (chunk->extra != NULL ? CHUNK_EXTRA : 0) |
                                 (renumbered ? CHUNK_OWN : 0)));
    tfs_buf_u32le(m->out, chunk->tag);
    tfs_buf_u32le(m->out, chunk->flags & ~(uint32_t)TFS_CHUNK_UNREAD_ALL);
    if (renumbered)
        tfs_buf_u64le(m->out, chunk->own);
    put_blob(m->out, blob);
    if (chunk->extra != NULL)
        put_blob(m->out, chunk->extra);
    tfs_blob_unref(blob);
    return 0;
}

static int put_change(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct maker *m = arg;

    m->count++;
    if (after != NULL)
        return put_stored(m, before, after);
    put_key(m->out, before->key);
    tfs_buf_u8(m->out, CHUNK_REMOVED);
    return 0;
}

static void put_common(struct tfs_buf *out, const struct tfs_doc *before,
                       const struct tfs_doc *after)
{
    static const uint8_t reserved[RESERVED];
    bool changed = !tfs_blob_equal(after->common, before->common);

    tfs_buf_u8(out, !changed ? 0 : after->common == NULL ? 1 : 2);
    if (changed && after->common != NULL)
        put_blob(out, after->common);
    tfs_buf_add(out, reserved, sizeof(reserved));
}

int tfs_record_make(struct tfs_save *save, const struct tfs_doc *before,
                    const struct tfs_doc *after, struct timespec when, struct tfs_buf *out,
                    struct tfs_error *err)
{
    struct tfs_buf chunks = {0};
    struct maker m = {.save = save, .out = &chunks, .err = err};

    if (tfs_doc_diff(before, after, put_change, &m) == 0) {
        tfs_buf_u64le(out, (uint64_t)when.tv_sec);
        tfs_buf_u32le(out, (uint32_t)when.tv_nsec);
        tfs_buf_u32le(out, m.count);
        tfs_buf_add_span(out, tfs_buf_span(&chunks));
        put_common(out, before, after);
        if (chunks.failed)
            tfs_fail_memory(err);
        tfs_buf_check(out, err);
    }
    tfs_buf_release(&chunks);
    return err->code;
}

static int add_size(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    uint64_t *size = arg;

    (void)before;
    *size += CHUNK_HEAD;
    if (after != NULL && after->blob != NULL)
        *size += after->blob->size;
    if (after != NULL && after->extra != NULL)
        *size += after->extra->size;
    return 0;
}

uint64_t tfs_record_size(const struct tfs_doc *before, const struct tfs_doc *after)
{
    uint64_t size = 0;

    (void)tfs_doc_diff(before, after, add_size, &size);
    if (after->common != NULL && after->common != before->common)
        size += after->common->size;
    return size;
}

/* ---- applying -------------------------------------------------------------------------------- */

static int fail_record(struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "a record of the journal is not one that terrainfs writes");
}

static struct tfs_key take_key(struct tfs_cursor *c)
{
    struct tfs_key key = {.group = tfs_take_u32le(c)};

    key.x = (int32_t)tfs_take_u32le(c);
    key.y = (int32_t)tfs_take_u32le(c);
    key.z = (int32_t)tfs_take_u32le(c);
    return key;
}

static int take_blob(struct tfs_cursor *c, struct tfs_blob *bytes, struct tfs_blob **blob,
                     struct tfs_error *err)
{
    struct tfs_span span = tfs_take(c, tfs_take_u64le(c));

    return c->failed ? fail_record(err) : tfs_blob_slice(bytes, span, blob, err);
}

static int remove_chunk(struct tfs_edit *edit, struct tfs_key key, struct tfs_error *err)
{
    /* Records may be applied twice. */
    return tfs_doc_find(tfs_edit_doc(edit), key) == NULL ? 0 : tfs_edit_remove(edit, key, err);
}

static int apply_chunk(struct tfs_edit *edit, struct tfs_cursor *c, struct tfs_blob *bytes,
                       struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = take_key(c), .slot = TFS_SLOT_NONE};
    const struct tfs_chunk *old = tfs_doc_find(tfs_edit_doc(edit), chunk.key);
    unsigned flags = tfs_take_u8(c);

    if (c->failed || (flags & ~(unsigned)CHUNK_FLAGS) != 0)
        return fail_record(err);
    if (flags == CHUNK_REMOVED)
        return remove_chunk(edit, chunk.key, err);
    if ((flags & CHUNK_REMOVED) != 0 || (flags & CHUNK_BLOB) == 0 ||
        (old == NULL && (flags & CHUNK_OWN) == 0))
        return fail_record(err);
    chunk.tag = tfs_take_u32le(c);
    chunk.flags = tfs_take_u32le(c);
    if ((chunk.flags & TFS_CHUNK_UNREAD_ALL) != 0)
        return fail_record(err);
    chunk.own = (flags & CHUNK_OWN) != 0 ? tfs_take_u64le(c) : old->own;
    if (take_blob(c, bytes, &chunk.blob, err) == 0 &&
        ((flags & CHUNK_EXTRA) == 0 || take_blob(c, bytes, &chunk.extra, err) == 0))
        tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    tfs_blob_unref(chunk.extra);
    return err->code;
}

static int apply_common(struct tfs_edit *edit, struct tfs_cursor *c, struct tfs_blob *bytes,
                        struct tfs_error *err)
{
    struct tfs_blob *blob = NULL;
    unsigned how = tfs_take_u8(c);

    if (c->failed || how > 2)
        return fail_record(err);
    if (how == 2 && take_blob(c, bytes, &blob, err) < 0)
        return err->code;
    if (how != 0)
        tfs_edit_common(edit, blob);
    tfs_blob_unref(blob);
    for (unsigned i = 0; i < RESERVED; i++)
        if (tfs_take_u8(c) != 0)
            return fail_record(err);
    return 0;
}

int tfs_record_apply(struct tfs_edit *edit, struct tfs_blob *bytes, struct tfs_span record,
                     struct timespec *when, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(record);
    struct timespec made = {.tv_sec = (time_t)tfs_take_u64le(&c)};
    uint32_t count;

    made.tv_nsec = (long)tfs_take_u32le(&c);
    count = tfs_take_u32le(&c);
    for (uint32_t i = 0; i < count && !c.failed; i++)
        if (apply_chunk(edit, &c, bytes, err) < 0)
            return err->code;
    if (apply_common(edit, &c, bytes, err) < 0)
        return err->code;
    if (c.failed || tfs_cursor_left(&c) > 0)
        return fail_record(err);
    *when = made;
    return 0;
}
