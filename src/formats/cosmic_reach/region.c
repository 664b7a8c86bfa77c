/*
 * A region file <-> a document: header, compression, and which layout the rest has.
 *
 * Must not know what a body says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/cosmic_reach/gzip.h"
#include "formats/cosmic_reach/region.h"
#include "formats/cosmic_reach/zone.h"
#include "formats/containers/file.h"

#define GZIP_FLAGS_AT 3 /* of a gzip header */

static int region_probe(const struct tfs_probe *probe)
{
    if (probe->head.size < TFS_COSMIC_MAGIC_SIZE ||
        memcmp(probe->head.data, TFS_COSMIC_MAGIC, TFS_COSMIC_MAGIC_SIZE) != 0)
        return TFS_BID_NONE;
    return TFS_BID_CERTAIN;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int check_version(int32_t version, uint32_t compression, struct tfs_error *err)
{
    if (version < 0 || version > TFS_COSMIC_VERSION_MAX)
        return tfs_fail(err, -ENOTSUP, "offset 4: FileVersion %d is not supported, only 0 to %d",
                        version, TFS_COSMIC_VERSION_MAX);
    if (compression == TFS_COSMIC_LZ4)
        return tfs_fail(err, -ENOTSUP, "offset 8: compression 1 (LZ4) is not supported");
    if (compression != TFS_COSMIC_STORED && compression != TFS_COSMIC_GZIP)
        return tfs_fail(err, -EBADMSG, "offset 8: unknown compression %d", (int32_t)compression);
    if (compression == TFS_COSMIC_GZIP && version <= TFS_COSMIC_VERSION_TABLE_MAX)
        return tfs_fail(err, -EBADMSG, "offset 8: compression 2 in FileVersion %d, which has none",
                        version);
    return 0;
}

int tfs_cosmic_region_look(struct tfs_span bytes, struct tfs_cosmic_facts *own,
                           struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);
    struct tfs_span magic = tfs_take(&c, TFS_COSMIC_MAGIC_SIZE);
    int32_t version = tfs_take_s32be(&c);
    uint32_t compression = tfs_take_u32be(&c);

    if (c.failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the file is cut off within its header",
                        bytes.size);
    if (memcmp(magic.data, TFS_COSMIC_MAGIC, TFS_COSMIC_MAGIC_SIZE) != 0)
        return tfs_fail(err, -EBADMSG, "offset 0: the file does not begin with ffecceac");
    if (check_version(version, compression, err) < 0)
        return err->code;
    own->version = (uint32_t)version;
    own->compression = compression;
    return 0;
}

/* Replaces r->bytes by what its gzip member holds. */
static int inflate_payload(struct tfs_cosmic_reader *r, uint64_t limit, struct tfs_error *err)
{
    struct tfs_span file = tfs_blob_span(r->bytes);
    struct tfs_span packed = {file.data + TFS_COSMIC_HEADER_SIZE,
                              file.size - TFS_COSMIC_HEADER_SIZE};
    struct tfs_buf payload = {0};
    struct tfs_blob *inflated = NULL;
    const struct tfs_cosmic_look look = {tfs_cosmic_columns_look, r};
    size_t used = 0;

    r->where = "inflated ";
    if (tfs_cosmic_inflate(packed, limit, TFS_COSMIC_HEADER_SIZE, &look, &payload, &used, err) <
            0 ||
        tfs_blob_take(&payload, &inflated, err) < 0)
        goto out;
    if (used < packed.size)
        tfs_facts_note(r->facts, err, TFS_NOTE_READ_ONLY,
                       "offset %zu: %zu bytes behind the gzip member",
                       TFS_COSMIC_HEADER_SIZE + used, packed.size - used);
    bool plain = packed.data[GZIP_FLAGS_AT] == 0;
    memcpy(r->own->gzip_header, plain ? packed.data : tfs_cosmic_gzip_header,
           TFS_COSMIC_GZIP_HEADER);
    tfs_blob_unref(r->bytes);
    r->bytes = inflated;
out:
    tfs_buf_release(&payload);
    return err->code;
}

static int read_layout(struct tfs_cosmic_reader *r, uint64_t limit, struct tfs_error *err)
{
    if (r->own->version <= TFS_COSMIC_VERSION_TABLE_MAX)
        return tfs_cosmic_table_read(r, err);
    if (r->own->compression == TFS_COSMIC_STORED)
        return tfs_cosmic_columns_read(r, TFS_COSMIC_HEADER_SIZE, err);
    if (inflate_payload(r, limit, err) < 0)
        return err->code;
    return tfs_cosmic_columns_read(r, 0, err);
}

static int note_faults(struct tfs_facts *facts, const struct tfs_cosmic_faults *faults,
                       enum tfs_note_kind kind, struct tfs_error *err)
{
    if (faults->count == 0)
        return 0;
    if (faults->count == 1)
        return tfs_facts_note(facts, err, kind, "%s", faults->text);
    return tfs_facts_note(facts, err, kind, "%s, and %u more like this", faults->text,
                          faults->count - 1);
}

/* Bytes that no table entry points at: they may be chunks whose entry was lost. */
static int note_gaps(const struct tfs_cosmic_reader *r, struct tfs_error *err)
{
    if (note_faults(r->facts, &r->gaps, TFS_NOTE_READ_ONLY, err) == 0 && r->gaps.count > 0)
        tfs_facts_set_hiding(r->facts);
    return err->code;
}

static int compare_chunks(const void *a, const void *b)
{
    const struct tfs_chunk *left = a, *right = b;

    return tfs_key_compare(left->key, right->key);
}

static int build_doc(struct tfs_cosmic_reader *r, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_edit edit = {0};

    if (note_faults(r->facts, &r->sizes, TFS_NOTE_READ_ONLY, err) < 0 || note_gaps(r, err) < 0 ||
        note_faults(r->facts, &r->bright, TFS_NOTE_WARNING, err) < 0 ||
        tfs_edit_open_empty(r->facts, &edit, err) < 0)
        goto out;
    /* In key order: every put goes to the end. */
    qsort(r->chunks, r->chunk_count, sizeof(*r->chunks), compare_chunks);
    for (size_t i = 0; i < r->chunk_count; i++)
        if (tfs_edit_put(&edit, &r->chunks[i], err) < 0)
            goto out;
    *doc = tfs_edit_finish(&edit);
out:
    tfs_edit_release(&edit);
    return err->code;
}

static int reader_init(struct tfs_cosmic_reader *r, struct tfs_blob *bytes, struct tfs_error *err)
{
    *r = (struct tfs_cosmic_reader){.bytes = tfs_blob_ref(bytes), .where = ""};
    int status = tfs_facts_create(sizeof(*r->own), &r->facts, err);
    if (status < 0)
        return status;
    r->own = tfs_cosmic_facts_of(r->facts);
    r->extents = malloc(TFS_COSMIC_TABLE_SLOTS * sizeof(*r->extents));
    r->chunks = calloc(TFS_COSMIC_TABLE_SLOTS, sizeof(*r->chunks));
    return r->extents == NULL || r->chunks == NULL ? tfs_fail_memory(err) : 0;
}

static void reader_release(struct tfs_cosmic_reader *r)
{
    for (size_t i = 0; i < r->chunk_count; i++)
        tfs_blob_unref(r->chunks[i].blob);
    free(r->chunks);
    free(r->extents);
    tfs_facts_unref(r->facts);
    tfs_blob_unref(r->bytes);
}

/* Its name gives the region. */
static int region_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                         struct tfs_error *err)
{
    const uint64_t limit = save->options.inflate_limit;
    struct tfs_cosmic_reader r;

    if (reader_init(&r, bytes, err) < 0 ||
        tfs_cosmic_region_look(tfs_blob_span(bytes), r.own, err) < 0)
        goto out;
    tfs_cosmic_region_named(r.own, save->options.name != NULL ? save->options.name : save->path);
    if (read_layout(&r, limit > 0 ? limit : TFS_INFLATE_LIMIT, err) == 0)
        build_doc(&r, doc, err);
out:
    reader_release(&r);
    return err->code;
}

int tfs_cosmic_region_payload(struct tfs_blob *bytes, uint64_t limit, struct tfs_blob **payload,
                              struct tfs_error *err)
{
    struct tfs_cosmic_reader r;

    if (reader_init(&r, bytes, err) == 0 &&
        tfs_cosmic_region_look(tfs_blob_span(bytes), r.own, err) == 0 &&
        (r.own->compression == TFS_COSMIC_STORED || inflate_payload(&r, limit, err) == 0))
        *payload = tfs_blob_ref(r.bytes);
    reader_release(&r);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_header(const struct tfs_cosmic_facts *own, struct tfs_sink *sink,
                        struct tfs_error *err)
{
    struct tfs_buf header = {0};

    tfs_buf_add(&header, TFS_COSMIC_MAGIC, TFS_COSMIC_MAGIC_SIZE);
    tfs_buf_u32be(&header, own->version);
    tfs_buf_u32be(&header, own->compression);
    if (tfs_buf_check(&header, err) == 0)
        tfs_sink_span(sink, tfs_buf_span(&header), err);
    tfs_buf_release(&header);
    return err->code;
}

static int write_gzip(const struct tfs_doc *doc, struct tfs_sink *sink, struct tfs_error *err)
{
    const struct tfs_cosmic_facts *own = tfs_cosmic_facts(doc);
    struct tfs_cosmic_gzip gzip;

    if (tfs_cosmic_gzip_open(&gzip, sink, own->gzip_header, err) == 0 &&
        tfs_cosmic_columns_write(doc, &gzip.sink, err) == 0)
        tfs_cosmic_gzip_finish(&gzip, err);
    tfs_cosmic_gzip_close(&gzip);
    return err->code;
}

static int region_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                         struct tfs_error *err)
{
    const struct tfs_cosmic_facts *own = tfs_cosmic_facts(doc);

    (void)save;
    if (write_header(own, sink, err) < 0)
        return err->code;
    if (own->version <= TFS_COSMIC_VERSION_TABLE_MAX)
        return tfs_cosmic_table_write(doc, sink, err);
    if (own->compression == TFS_COSMIC_GZIP)
        return write_gzip(doc, sink, err);
    return tfs_cosmic_columns_write(doc, sink, err);
}

static const struct tfs_file_codec region_codec = {
    .decode = region_decode,
    .encode = region_encode,
};

const struct tfs_container tfs_cosmic_reach_region = {
    .format = "cosmic_reach",
    .name = "region file",
    .tree = &tfs_cosmic_reach_tree,
    .probe = region_probe,
    TFS_WHOLE_FILE(&region_codec),
};
