/*
 * What the two layouts share: extents of a region in the order of its data, and chunks with their
 * faults; and the way back, chunks in the order in which they are written.
 *
 * Must not know how a table or a column is laid out.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/region.h"

#define SKY_LEVEL_MAX 15

struct tfs_cursor tfs_cosmic_cursor(const struct tfs_cosmic_reader *r, size_t offset, size_t end)
{
    struct tfs_cursor c = tfs_cursor_init((struct tfs_span){r->bytes->data, end});

    tfs_cursor_seek(&c, offset);
    return c;
}

struct tfs_key tfs_cosmic_take_key(struct tfs_cursor *c)
{
    struct tfs_key key = {0};

    key.x = tfs_take_s32be(c);
    key.y = tfs_take_s32be(c);
    key.z = tfs_take_s32be(c);
    return key;
}

void tfs_cosmic_add_key(struct tfs_buf *out, struct tfs_key key)
{
    tfs_buf_u32be(out, (uint32_t)key.x);
    tfs_buf_u32be(out, (uint32_t)key.y);
    tfs_buf_u32be(out, (uint32_t)key.z);
}

/* Counts a fault of an extent; the text stays that of the first. */
__attribute__((format(printf, 2, 3))) static void add_fault(struct tfs_cosmic_faults *faults,
                                                            const char *format, ...)
{
    va_list args;

    if (faults->count++ > 0)
        return;
    va_start(args, format);
    vsnprintf(faults->text, sizeof(faults->text), format, args);
    va_end(args);
}

/* ---- extents --------------------------------------------------------------------------------- */

int tfs_cosmic_extent_add(struct tfs_cosmic_reader *r, uint32_t slot, int64_t offset, size_t data,
                          size_t header, struct tfs_error *err)
{
    size_t size = r->bytes->size;

    if (offset < (int64_t)data || offset > (int64_t)size || size - (size_t)offset < header)
        return tfs_fail(err, -EBADMSG,
                        "%stable slot %u: offset %lld is outside the data, which is %zu to %zu",
                        r->where, slot, (long long)offset, data, size);
    r->extents[r->extent_count++] = (struct tfs_cosmic_extent){slot, (size_t)offset, size};
    return 0;
}

static int compare_extents(const void *a, const void *b)
{
    const struct tfs_cosmic_extent *left = a, *right = b;

    return (left->offset > right->offset) - (left->offset < right->offset);
}

int tfs_cosmic_extents_sort(struct tfs_cosmic_reader *r, size_t data, struct tfs_error *err)
{
    struct tfs_cosmic_extent *extents = r->extents;
    size_t first = r->extent_count > 0 ? SIZE_MAX : r->bytes->size;

    qsort(extents, r->extent_count, sizeof(*extents), compare_extents);
    for (size_t i = 0; i + 1 < r->extent_count; i++) {
        if (extents[i].offset == extents[i + 1].offset)
            return tfs_fail(err, -EBADMSG, "%stable slots %u and %u both point at offset %zu",
                            r->where, extents[i].slot, extents[i + 1].slot, extents[i].offset);
        extents[i].end = extents[i + 1].offset;
    }
    if (r->extent_count > 0)
        first = extents[0].offset;
    if (first > data)
        add_fault(&r->gaps, "%soffset %zu: %zu bytes that no table entry points at", r->where, data,
                  first - data);
    return 0;
}

void tfs_cosmic_extent_end(struct tfs_cosmic_reader *r, const struct tfs_cosmic_extent *extent,
                           int32_t size, size_t end)
{
    size_t found = end - extent->offset;

    if (size < 0 || (size_t)size != found)
        add_fault(&r->sizes, "%soffset %zu: the size field says %d, it is %zu bytes long", r->where,
                  extent->offset, size, found);
    if (end < extent->end)
        add_fault(&r->gaps, "%soffset %zu: %zu bytes that no table entry points at", r->where, end,
                  extent->end - end);
}

/* ---- which region ---------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');

    return slash != NULL ? slash + 1 : path == NULL ? "" : path;
}

void tfs_cosmic_region_named(struct tfs_cosmic_facts *own, const char *path)
{
    own->named = tfs_cosmic_region_of_name(base_name(path), &own->region);
}

int tfs_cosmic_region_find(struct tfs_cosmic_reader *r, size_t header,
                           uint32_t (*slot_of)(struct tfs_key chunk), struct tfs_error *err)
{
    const struct tfs_key named = r->own->region;
    struct tfs_key first = named;
    bool found = false, as_named = !r->own->named;

    for (size_t i = 0; i < r->extent_count; i++) {
        struct tfs_cursor c =
            tfs_cosmic_cursor(r, r->extents[i].offset + header, r->extents[i].end);
        struct tfs_key key = tfs_cosmic_take_key(&c);
        struct tfs_key region = tfs_cosmic_region_of(key);
        if (c.failed || slot_of(key) != r->extents[i].slot)
            continue;
        first = found ? first : region;
        found = true;
        as_named = as_named || tfs_cosmic_same_region(region, named);
    }
    if (found && !as_named)
        return tfs_fail(err, -EBADMSG,
                        "the chunks are those of region_%d_%d_%d, but the file is named "
                        "region_%d_%d_%d",
                        first.x, first.y, first.z, named.x, named.y, named.z);
    r->region = r->own->named ? named : first;
    return 0;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* The game refuses such levels; they are kept and told. */
static void look_at_sky(struct tfs_cosmic_reader *r, const struct tfs_chunk *chunk)
{
    struct tfs_cosmic_body body;
    struct tfs_cosmic_light sky;
    struct tfs_error ignored = {0};

    if (tfs_cosmic_body_split(tfs_blob_span(chunk->blob), tfs_cosmic_chunk_version(chunk), &body,
                              &ignored) < 0)
        return;
    struct tfs_cursor c = tfs_cursor_init(body.sections[TFS_COSMIC_SECTION_SKY]);
    if (tfs_cosmic_sky_take(&c, &sky, &ignored) < 0)
        return;
    uint32_t level = tfs_cosmic_sky_highest(&sky);
    if (level > SKY_LEVEL_MAX)
        add_fault(&r->bright, "chunk %d_%d_%d: sky light %u is above 15", chunk->key.x,
                  chunk->key.y, chunk->key.z, level);
}

int tfs_cosmic_chunk_add(struct tfs_cosmic_reader *r, struct tfs_key key, uint32_t version,
                         size_t start, size_t end, struct tfs_error *damage, struct tfs_error *err)
{
    struct tfs_chunk *chunk = &r->chunks[r->chunk_count];

    *chunk = (struct tfs_chunk){
        .key = key,
        .slot = TFS_SLOT_NONE,
        .flags = damage->code < 0 ? (uint32_t)TFS_CHUNK_DAMAGED : 0,
        .tag = version,
        .own = r->order,
    };
    if (tfs_blob_slice(r->bytes, (struct tfs_span){r->bytes->data + start, end - start},
                       &chunk->blob, err) < 0)
        return err->code;
    r->chunk_count++;
    if (damage->code == 0) {
        look_at_sky(r, chunk);
        return 0;
    }
    int status = tfs_facts_note(r->facts, err, TFS_NOTE_DAMAGED, "chunk %d_%d_%d: %s%s", key.x,
                                key.y, key.z, r->where, damage->text);
    tfs_error_reset(damage);
    return status;
}

int tfs_cosmic_count_check(struct tfs_cosmic_reader *r, int32_t count, const char *what,
                           struct tfs_error *err)
{
    if (count >= 0 && (size_t)count == r->extent_count)
        return 0;
    tfs_facts_note(r->facts, err, TFS_NOTE_READ_ONLY, "the count says %d %s, the table has %zu",
                   count, what, r->extent_count);
    tfs_facts_set_hiding(r->facts);
    return err->code;
}

/* ---- the way back ---------------------------------------------------------------------------- */

/* The sort key of a chunk's data: where its extent stood, then which extent, then y. */
struct order {
    uint64_t order;
    uint32_t slot;
    const struct tfs_chunk *chunk;
};

static int compare_orders(const void *a, const void *b)
{
    const struct order *left = a, *right = b;

    if (left->order != right->order)
        return left->order < right->order ? -1 : 1;
    if (left->slot != right->slot)
        return left->slot < right->slot ? -1 : 1;
    return (left->chunk->key.y > right->chunk->key.y) - (left->chunk->key.y < right->chunk->key.y);
}

/* A column stands where the first of its chunks says, should they disagree. */
static void join_columns(struct order *orders, size_t count)
{
    uint64_t lowest[TFS_COSMIC_COLUMN_SLOTS];

    memset(lowest, 0xff, sizeof(lowest));
    for (size_t i = 0; i < count; i++)
        if (orders[i].order < lowest[orders[i].slot])
            lowest[orders[i].slot] = orders[i].order;
    for (size_t i = 0; i < count; i++)
        orders[i].order = lowest[orders[i].slot];
}

int tfs_cosmic_data_order(const struct tfs_doc *doc, bool columns, const struct tfs_chunk ***chunks,
                          struct tfs_error *err)
{
    struct order *orders = malloc((doc->count + 1) * sizeof(*orders));
    const struct tfs_chunk **sorted = malloc((doc->count + 1) * sizeof(struct tfs_chunk *));

    if (orders == NULL || sorted == NULL) {
        tfs_fail_memory(err);
        free(sorted);
        goto out;
    }
    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        uint32_t slot =
            columns ? tfs_cosmic_column_slot(chunk->key) : tfs_cosmic_table_slot(chunk->key);
        orders[i] = (struct order){tfs_cosmic_chunk_order(chunk), slot, chunk};
    }
    if (columns)
        join_columns(orders, doc->count);
    qsort(orders, doc->count, sizeof(*orders), compare_orders);
    for (size_t i = 0; i < doc->count; i++)
        sorted[i] = orders[i].chunk;
    *chunks = sorted;
out:
    free(orders);
    return err->code;
}
