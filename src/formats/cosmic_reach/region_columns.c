/*
 * FileVersion 4-7: a table of 256 columns, each with its chunks from low to high <-> chunks.
 *
 * Must not know what a body says, nor whether the payload is compressed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/region.h"

#define KEY_BEHIND TFS_COSMIC_COLUMN_HEADER /* bytes from a column to its first coordinates */
#define BEHIND_MAX                                                                                 \
    (16 << 20) /* so many bytes behind the last column of a payload are read over                  \
                */

static unsigned offset_width(uint32_t type)
{
    return 1U << (type - TFS_COSMIC_OFFSET_S8);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t take_offset(struct tfs_cursor *c, uint32_t type)
{
    switch ((enum tfs_cosmic_offset_type)type) {
    case TFS_COSMIC_OFFSET_S8:
        return (int8_t)tfs_take_u8(c);
    case TFS_COSMIC_OFFSET_S16:
        return (int16_t)tfs_take_u16be(c);
    case TFS_COSMIC_OFFSET_S32:
        return tfs_take_s32be(c);
    case TFS_COSMIC_OFFSET_S64:
        break;
    }
    return (int64_t)tfs_take_u64be(c);
}

static int read_entries(struct tfs_cosmic_reader *r, struct tfs_cursor *c, struct tfs_error *err)
{
    size_t size = r->bytes->size;
    size_t data =
        tfs_cursor_offset(c) + (size_t)TFS_COSMIC_COLUMN_SLOTS * offset_width(r->own->offset_type);

    if (data > size)
        return tfs_fail(err, -EBADMSG,
                        "%soffset %zu: the data is cut off within the table of columns", r->where,
                        size);
    for (uint32_t slot = 0; slot < TFS_COSMIC_COLUMN_SLOTS; slot++) {
        int64_t offset = take_offset(c, r->own->offset_type);
        if (offset == TFS_COSMIC_ABSENT)
            continue;
        if (offset < 0 || offset > (int64_t)(size - data))
            return tfs_fail(err, -EBADMSG,
                            "%stable slot %u: offset %" PRId64 " is outside the data, which is "
                            "0 to %zu",
                            r->where, slot, offset, size - data);
        if (tfs_cosmic_extent_add(r, slot, (int64_t)data + offset, data, TFS_COSMIC_COLUMN_HEADER,
                                  err) < 0)
            return err->code;
    }
    return tfs_cosmic_extents_sort(r, data, err);
}

static int take_offset_type(struct tfs_cosmic_reader *r, struct tfs_cursor *c,
                            struct tfs_error *err)
{
    const size_t offset = tfs_cursor_offset(c);

    r->own->offset_type = tfs_take_u8(c);
    if (!c->failed &&
        (r->own->offset_type < TFS_COSMIC_OFFSET_S8 || r->own->offset_type > TFS_COSMIC_OFFSET_S64))
        return tfs_fail(err, -EBADMSG, "%soffset %zu: unknown offset type %u", r->where, offset,
                        r->own->offset_type);
    return 0;
}

/* A column while it is read. */
struct column {
    const struct tfs_cosmic_extent *extent;
    int32_t size;
    uint32_t version;
    unsigned count;
    struct tfs_key next; /* the lowest coordinate that the next chunk can have */
    bool placed;         /* it is the one that the chunk has which was read last */
};

/* Size, version and number of chunks, as far as they are there. */
static int take_numbers(const struct tfs_cosmic_reader *r, struct tfs_cursor *c,
                        struct column *column, struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);

    column->size = tfs_take_s32be(c);
    column->version = tfs_take_u32be(c);
    column->count = tfs_take_u8(c);
    if (c->failed)
        return 0;
    if (column->version < TFS_COSMIC_COLUMN_VERSION_MIN || column->version > r->own->version)
        return tfs_fail(err, -EBADMSG,
                        "%soffset %zu: a column of version %d in a file of version %u", r->where,
                        offset + 4, (int32_t)column->version, r->own->version);
    if (column->count < 1 || column->count > TFS_COSMIC_SIDE)
        return tfs_fail(err, -EBADMSG, "%soffset %zu: a column of %u chunks, 1 to %d are possible",
                        r->where, offset + 8, column->count, TFS_COSMIC_SIDE);
    return 0;
}

static int take_header(struct tfs_cosmic_reader *r, struct tfs_cursor *c, struct column *column,
                       struct tfs_error *err)
{
    column->next = tfs_cosmic_column_key(r->region, column->extent->slot);
    if (take_numbers(r, c, column, err) == 0 && c->failed)
        tfs_fail(err, -EBADMSG, "%soffset %zu: columns overlap, the next begins at %zu", r->where,
                 column->extent->offset, column->extent->end);
    return err->code;
}

static bool in_column(const struct tfs_cosmic_reader *r, const struct column *column,
                      struct tfs_key key)
{
    return tfs_cosmic_column_slot(key) == column->extent->slot &&
           tfs_cosmic_same_region(tfs_cosmic_region_of(key), r->region) && key.y >= column->next.y;
}

/* Coordinates and body of the next chunk. */
static int take_chunk(struct tfs_cosmic_reader *r, struct tfs_cursor *c, struct column *column,
                      struct tfs_cosmic_body *body, struct tfs_error *damage)
{
    size_t offset = tfs_cursor_offset(c);
    struct tfs_key key = tfs_cosmic_take_key(c);

    column->placed = false;
    if (c->failed)
        return tfs_fail(damage, -EBADMSG, "offset %zu: the column ends before its last chunk",
                        offset);
    if (!in_column(r, column, key))
        return tfs_fail(damage, -EBADMSG,
                        "offset %zu: the coordinates %d %d %d do not belong to table slot %u or do "
                        "not ascend",
                        offset, key.x, key.y, key.z, column->extent->slot);
    column->next = key;
    column->placed = true;
    return tfs_cosmic_body_take(c, column->version, body, damage);
}

/* The rest of a column that cannot be read on, as one damaged chunk: nobody knows where the others
 * in it begin. */
static int add_rest(struct tfs_cosmic_reader *r, const struct column *column, size_t start,
                    unsigned above, const struct tfs_error *why, struct tfs_error *err)
{
    const struct tfs_cosmic_extent *extent = column->extent;
    size_t room = extent->end - extent->offset, end = extent->end;
    struct tfs_error damage = {0};

    if (column->size > 0 && (size_t)column->size > room && extent->end < r->bytes->size)
        return tfs_fail(err, -EBADMSG,
                        "%soffset %zu: columns overlap, this one has %d bytes, the next begins at "
                        "%zu",
                        r->where, extent->offset, column->size, extent->end);
    if (column->size > 0 && (size_t)column->size <= room)
        end = extent->offset + (size_t)column->size;
    start = start + TFS_COSMIC_PLACE_SIZE < end ? start + TFS_COSMIC_PLACE_SIZE : end;
    tfs_fail(&damage, why->code, "%.300s%s", why->text,
             above > 0 ? ", and the chunks above it in its column cannot be found" : "");
    if (!tfs_cosmic_same_region(tfs_cosmic_region_of(column->next), r->region))
        tfs_facts_note(r->facts, err, TFS_NOTE_DAMAGED, "column %d_%d: %s%s", column->next.x,
                       column->next.z, r->where, damage.text);
    else
        tfs_cosmic_chunk_add(r, column->next, column->version, start, end, &damage, err);
    /* One whose coordinates are known is shown, and the last of its column hides none. */
    if (above > 0 || !column->placed)
        tfs_facts_set_hiding(r->facts);
    return err->code;
}

static int read_column(struct tfs_cosmic_reader *r, const struct tfs_cosmic_extent *extent,
                       struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cosmic_cursor(r, extent->offset, extent->end);
    struct column column = {.extent = extent};

    if (take_header(r, &c, &column, err) < 0)
        return err->code;
    for (unsigned i = 0; i < column.count; i++) {
        struct tfs_error damage = {0};
        struct tfs_cosmic_body body;
        size_t start = tfs_cursor_offset(&c);
        if (take_chunk(r, &c, &column, &body, &damage) < 0)
            return add_rest(r, &column, start, column.count - i - 1, &damage, err);
        tfs_cosmic_body_check(&body, r->bytes->data, &damage);
        if (tfs_cosmic_chunk_add(r, column.next, column.version, start + TFS_COSMIC_PLACE_SIZE,
                                 tfs_cursor_offset(&c), &damage, err) < 0)
            return err->code;
        column.next.y++;
    }
    tfs_cosmic_extent_end(r, extent, column.size, tfs_cursor_offset(&c));
    return 0;
}

int tfs_cosmic_columns_read(struct tfs_cosmic_reader *r, size_t start, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cosmic_cursor(r, start, r->bytes->size);
    int32_t count = tfs_take_s32be(&c);

    if (take_offset_type(r, &c, err) == 0 && c.failed)
        tfs_fail(err, -EBADMSG, "%soffset %zu: the data is cut off before the table of columns",
                 r->where, r->bytes->size);
    if (err->code < 0 || read_entries(r, &c, err) < 0 ||
        tfs_cosmic_region_find(r, KEY_BEHIND, tfs_cosmic_column_slot, err) < 0)
        return err->code;
    for (r->order = 0; r->order < r->extent_count; r->order++)
        if (read_column(r, &r->extents[r->order], err) < 0)
            return err->code;
    return tfs_cosmic_count_check(r, count, "columns", err);
}

/* ---- looking ahead --------------------------------------------------------------------------- */

/* What a table entry points at, as far as it is there: *end is where it says that it ends, when
 * that is further. */
static int look_at_column(struct tfs_cosmic_reader *r, struct tfs_span so_far, uint64_t offset,
                          uint64_t *end, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(so_far);
    struct column column;

    tfs_cursor_seek(&c, offset);
    if (take_numbers(r, &c, &column, err) < 0)
        return err->code;
    /* One whose numbers are still to come may end anywhere. */
    uint64_t claimed =
        c.failed ? UINT64_MAX : offset + (uint64_t)(column.size > 0 ? column.size : 0);
    *end = claimed > *end ? claimed : *end;
    return 0;
}

int tfs_cosmic_columns_look(void *arg, struct tfs_span so_far, struct tfs_error *err)
{
    struct tfs_cosmic_reader *r = arg;
    struct tfs_cursor c = tfs_cursor_init(so_far);

    (void)tfs_take_s32be(&c); /* the number of columns is not believed */
    if (take_offset_type(r, &c, err) < 0 || c.failed)
        return err->code;
    const uint64_t data =
        tfs_cursor_offset(&c) + TFS_COSMIC_COLUMN_SLOTS * offset_width(r->own->offset_type);
    uint64_t end = data;
    for (uint32_t slot = 0; slot < TFS_COSMIC_COLUMN_SLOTS; slot++) {
        const int64_t offset = take_offset(&c, r->own->offset_type);
        if (c.failed)
            return 0;
        if (offset < TFS_COSMIC_ABSENT)
            return tfs_fail(err, -EBADMSG, "%stable slot %u: offset %" PRId64 " is below 0",
                            r->where, slot, offset);
        if (offset != TFS_COSMIC_ABSENT &&
            look_at_column(r, so_far, data + (uint64_t)offset, &end, err) < 0)
            return err->code;
    }
    if (so_far.size <= end || so_far.size - end <= BEHIND_MAX)
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "%soffset %" PRIu64 ": more than %d bytes behind the last column", r->where,
                    end, BEHIND_MAX);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The columns of a document, as they are about to be written. */
struct layout {
    const struct tfs_chunk **chunks; /* in the order of the data */
    size_t count;
    int64_t offsets[TFS_COSMIC_COLUMN_SLOTS];
    uint32_t columns;
    int64_t highest; /* the largest offset */
};

static size_t column_length(const struct layout *l, size_t first)
{
    uint32_t slot = tfs_cosmic_column_slot(l->chunks[first]->key);
    size_t n = 1;

    while (first + n < l->count && tfs_cosmic_column_slot(l->chunks[first + n]->key) == slot)
        n++;
    return n;
}

static uint64_t column_size(const struct layout *l, size_t first, size_t length)
{
    uint64_t size = TFS_COSMIC_COLUMN_HEADER;

    for (size_t i = first; i < first + length; i++)
        size += TFS_COSMIC_PLACE_SIZE + l->chunks[i]->blob->size;
    return size;
}

static int lay_out(struct layout *l, struct tfs_error *err)
{
    uint64_t offset = 0;

    for (unsigned i = 0; i < TFS_COSMIC_COLUMN_SLOTS; i++)
        l->offsets[i] = TFS_COSMIC_ABSENT;
    for (size_t i = 0, n; i < l->count; i += n, l->columns++) {
        n = column_length(l, i);
        uint64_t size = column_size(l, i, n);
        if (size > INT32_MAX)
            return tfs_fail(err, -EFBIG, "column %d_%d is larger than 2 GiB", l->chunks[i]->key.x,
                            l->chunks[i]->key.z);
        l->highest = (int64_t)offset;
        l->offsets[tfs_cosmic_column_slot(l->chunks[i]->key)] = l->highest;
        offset += size;
    }
    return 0;
}

/* The type as it was read, wider only when the largest offset does not fit. */
static uint32_t fitting_type(uint32_t type, int64_t highest)
{
    if (type < TFS_COSMIC_OFFSET_S8 || type > TFS_COSMIC_OFFSET_S64)
        type = TFS_COSMIC_OFFSET_S16;
    while (type < TFS_COSMIC_OFFSET_S64 && highest >> (8 * offset_width(type) - 1) != 0)
        type++;
    return type;
}

static void add_table(struct tfs_buf *out, const struct layout *l, uint32_t type)
{
    tfs_buf_u32be(out, l->columns);
    tfs_buf_u8(out, (uint8_t)type);
    for (unsigned i = 0; i < TFS_COSMIC_COLUMN_SLOTS; i++)
        for (unsigned byte = offset_width(type); byte-- > 0;)
            tfs_buf_u8(out, (uint8_t)((uint64_t)l->offsets[i] >> (8 * byte)));
}

static int write_column(const struct layout *l, size_t first, size_t length, struct tfs_buf *header,
                        struct tfs_sink *sink, struct tfs_error *err)
{
    tfs_buf_clear(header);
    tfs_buf_u32be(header, (uint32_t)column_size(l, first, length));
    tfs_buf_u32be(header, tfs_cosmic_chunk_version(l->chunks[first]));
    tfs_buf_u8(header, (uint8_t)length);
    for (size_t i = first; i < first + length; i++) {
        tfs_cosmic_add_key(header, l->chunks[i]->key);
        if (tfs_buf_check(header, err) < 0 || tfs_sink_span(sink, tfs_buf_span(header), err) < 0 ||
            tfs_sink_span(sink, tfs_blob_span(l->chunks[i]->blob), err) < 0)
            return err->code;
        tfs_buf_clear(header);
    }
    return 0;
}

int tfs_cosmic_columns_write(const struct tfs_doc *doc, struct tfs_sink *sink,
                             struct tfs_error *err)
{
    const struct tfs_cosmic_facts *own = tfs_cosmic_facts(doc);
    struct layout l = {.count = doc->count};
    struct tfs_buf header = {0};

    if (tfs_cosmic_data_order(doc, true, &l.chunks, err) < 0 || lay_out(&l, err) < 0)
        goto out;
    add_table(&header, &l, fitting_type(own->offset_type, l.highest));
    if (tfs_buf_check(&header, err) < 0 || tfs_sink_span(sink, tfs_buf_span(&header), err) < 0)
        goto out;
    for (size_t i = 0, n; i < l.count; i += n) {
        n = column_length(&l, i);
        if (write_column(&l, i, n, &header, sink, err) < 0)
            goto out;
    }
out:
    tfs_buf_release(&header);
    free(l.chunks);
    return err->code;
}
