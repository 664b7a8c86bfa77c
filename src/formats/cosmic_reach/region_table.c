/*
 * FileVersion 0-3: a table of 4,096 chunks, each with its size and version <-> chunks.
 *
 * Must not know what a body says.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/cosmic_reach/region.h"

#define KEY_BEHIND 8 /* bytes from a chunk's offset to its coordinates */

static int read_entries(struct tfs_cosmic_reader *r, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cosmic_cursor(r, TFS_COSMIC_HEADER_SIZE + 4, r->bytes->size);

    for (uint32_t slot = 0; slot < TFS_COSMIC_TABLE_SLOTS; slot++) {
        int32_t offset = tfs_take_s32be(&c);
        if (offset == TFS_COSMIC_ABSENT)
            continue;
        if (tfs_cosmic_extent_add(r, slot, offset, TFS_COSMIC_TABLE_DATA, TFS_COSMIC_CHUNK_HEADER,
                                  err) < 0)
            return err->code;
    }
    return tfs_cosmic_extents_sort(r, TFS_COSMIC_TABLE_DATA, err);
}

/* Header fields that do not fit the file. */
static int check_header(const struct tfs_cosmic_reader *r, const struct tfs_cosmic_extent *extent,
                        int32_t version, struct tfs_key key, struct tfs_error *damage)
{
    if (version < 0 || (uint32_t)version > r->own->version)
        return tfs_fail(damage, -EBADMSG, "offset %zu: version %d in a file of version %u",
                        extent->offset + 4, version, r->own->version);
    if (tfs_cosmic_table_slot(key) != extent->slot ||
        !tfs_cosmic_same_region(tfs_cosmic_region_of(key), r->region))
        return tfs_fail(damage, -EBADMSG,
                        "offset %zu: the coordinates %d %d %d do not belong to table slot %u",
                        extent->offset + KEY_BEHIND, key.x, key.y, key.z, extent->slot);
    return 0;
}

/* How far a chunk that does not parse goes: as its size field says, if it can be so. */
static size_t damaged_end(const struct tfs_cosmic_extent *extent, int32_t size)
{
    size_t room = extent->end - extent->offset;

    if (size < TFS_COSMIC_CHUNK_HEADER || (size_t)size > room)
        return extent->end;
    return extent->offset + (size_t)size;
}

static int read_chunk(struct tfs_cosmic_reader *r, const struct tfs_cosmic_extent *extent,
                      struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cosmic_cursor(r, extent->offset, extent->end);
    struct tfs_error damage = {0};
    struct tfs_cosmic_body body;
    int32_t size = tfs_take_s32be(&c);
    int32_t version = tfs_take_s32be(&c);
    struct tfs_key key = tfs_cosmic_take_key(&c);
    size_t start = extent->offset + TFS_COSMIC_CHUNK_HEADER;
    uint32_t tag = version < 0 ? 0 : (uint32_t)version;

    if (c.failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: chunks overlap, the next begins at %zu",
                        extent->offset, extent->end);
    check_header(r, extent, version, key, &damage);
    if (tfs_cosmic_body_take(&c, tag, &body, &damage) < 0) {
        if (extent->end < r->bytes->size && size > 0 && (size_t)size > extent->end - extent->offset)
            return tfs_fail(err, -EBADMSG,
                            "offset %zu: chunks overlap, this one has %d bytes, the next begins "
                            "at %zu",
                            extent->offset, size, extent->end);
        return tfs_cosmic_chunk_add(r, tfs_cosmic_table_key(r->region, extent->slot), tag, start,
                                    damaged_end(extent, size), &damage, err);
    }
    size_t end = tfs_cursor_offset(&c);
    tfs_cosmic_body_check(&body, r->bytes->data, &damage);
    tfs_cosmic_extent_end(r, extent, size, end);
    return tfs_cosmic_chunk_add(r, tfs_cosmic_table_key(r->region, extent->slot), tag, start, end,
                                &damage, err);
}

int tfs_cosmic_table_read(struct tfs_cosmic_reader *r, struct tfs_error *err)
{
    if (r->bytes->size < TFS_COSMIC_TABLE_DATA)
        return tfs_fail(err, -EBADMSG,
                        "offset %zu: the file is cut off within its table, which takes %d bytes",
                        r->bytes->size, TFS_COSMIC_TABLE_DATA);
    if (read_entries(r, err) < 0 ||
        tfs_cosmic_region_find(r, KEY_BEHIND, tfs_cosmic_table_slot, err) < 0)
        return err->code;
    for (r->order = 0; r->order < r->extent_count; r->order++)
        if (read_chunk(r, &r->extents[r->order], err) < 0)
            return err->code;

    struct tfs_cursor c = tfs_cosmic_cursor(r, TFS_COSMIC_HEADER_SIZE, r->bytes->size);
    return tfs_cosmic_count_check(r, tfs_take_s32be(&c), "chunks", err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int add_table(const struct tfs_doc *doc, const struct tfs_chunk *const *chunks,
                     struct tfs_buf *out, struct tfs_error *err)
{
    int32_t offsets[TFS_COSMIC_TABLE_SLOTS];
    uint64_t offset = TFS_COSMIC_TABLE_DATA;

    for (unsigned i = 0; i < TFS_COSMIC_TABLE_SLOTS; i++)
        offsets[i] = TFS_COSMIC_ABSENT;
    for (size_t i = 0; i < doc->count; i++) {
        if (offset > INT32_MAX)
            return tfs_fail(err, -EFBIG,
                            "the region would be larger than 2 GiB, which its table "
                            "cannot express");
        offsets[tfs_cosmic_table_slot(chunks[i]->key)] = (int32_t)offset;
        offset += TFS_COSMIC_CHUNK_HEADER + chunks[i]->blob->size;
    }
    tfs_buf_u32be(out, (uint32_t)doc->count);
    for (unsigned i = 0; i < TFS_COSMIC_TABLE_SLOTS; i++)
        tfs_buf_u32be(out, (uint32_t)offsets[i]);
    return tfs_buf_check(out, err);
}

static int write_chunk(const struct tfs_chunk *chunk, struct tfs_buf *header, struct tfs_sink *sink,
                       struct tfs_error *err)
{
    uint64_t size = TFS_COSMIC_CHUNK_HEADER + chunk->blob->size;

    if (size > INT32_MAX)
        return tfs_fail(err, -EFBIG, "chunk %d_%d_%d is larger than 2 GiB", chunk->key.x,
                        chunk->key.y, chunk->key.z);
    tfs_buf_clear(header);
    tfs_buf_u32be(header, (uint32_t)size);
    tfs_buf_u32be(header, tfs_cosmic_chunk_version(chunk));
    tfs_cosmic_add_key(header, chunk->key);
    if (tfs_buf_check(header, err) < 0 || tfs_sink_span(sink, tfs_buf_span(header), err) < 0)
        return err->code;
    return tfs_sink_span(sink, tfs_blob_span(chunk->blob), err);
}

int tfs_cosmic_table_write(const struct tfs_doc *doc, struct tfs_sink *sink, struct tfs_error *err)
{
    struct tfs_buf header = {0};
    const struct tfs_chunk **chunks = NULL;

    if (tfs_cosmic_data_order(doc, false, &chunks, err) < 0 ||
        add_table(doc, chunks, &header, err) < 0 ||
        tfs_sink_span(sink, tfs_buf_span(&header), err) < 0)
        goto out;
    for (size_t i = 0; i < doc->count; i++)
        if (write_chunk(chunks[i], &header, sink, err) < 0)
            goto out;
out:
    tfs_buf_release(&header);
    free(chunks);
    return err->code;
}
