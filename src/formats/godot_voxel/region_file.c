/*
 * One region file: the save is its blocks, level of detail 0.
 *
 * Must not know blocks. Chunks are slices of the file, and the document on disk always is one that
 * was read from just that file, so that writing finds old sectors behind its chunks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/print.h"
#include "formats/godot_voxel/folder.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "formats/godot_voxel/region.h"
#include "formats/godot_voxel/region_name.h"
#include "formats/godot_voxel/counts.h"
#include "formats/views/info.h"
#include "formats/containers/file.h"

struct region_facts {
    struct tfs_godot_rules rules; /* first */
    struct tfs_godot_region region;
    struct tfs_key origin; /* block coordinates of the first block */
    bool named;            /* the file's name gives them */
};

static struct region_facts *own_of(const struct tfs_facts *facts)
{
    return facts->own;
}

static const struct region_facts *facts_of(const struct tfs_doc *doc)
{
    return own_of(doc->facts);
}

/* All bytes in front of the table. */
static struct tfs_blob *header_of(const struct tfs_doc *doc)
{
    return doc->common;
}

/* ---- what the file is ------------------------------------------------------------------------ */

static void describe(const struct tfs_doc *doc, struct tfs_buf *out)
{
    const struct region_facts *facts = facts_of(doc);
    const struct tfs_godot_region *region = &facts->region;

    tfs_info_line(out, "region version", "%u%s", region->version,
                  region->palette ? ", with a palette that nobody reads" : "");
    tfs_info_line(out, "region size", "%u x %u x %u blocks", region->x, region->y, region->z);
    tfs_info_line(out, "sector size", "%u bytes", region->sectors.size);
    if (facts->named)
        tfs_info_line(out, "region origin", "block %d %d %d, from the file's name", facts->origin.x,
                      facts->origin.y, facts->origin.z);
}

static int palette(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                   uint8_t colours[TFS_GODOT_REGION_PALETTE], struct tfs_error *err)
{
    const struct tfs_span header = tfs_blob_span(header_of(doc));

    (void)save;
    (void)key;
    (void)err;
    if (!facts_of(doc)->region.palette)
        return 0;
    memcpy(colours, header.data + TFS_GODOT_REGION_HEADER_3, TFS_GODOT_REGION_PALETTE);
    return 1;
}

/* A palette, which no file of the tree shows; and what the header says of all blocks. */
static int rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err)
{
    (void)err;
    *checksum = tfs_checksum(tfs_blob_span(header_of(save->doc)), 0);
    return 0;
}

/* Version 3, which says itself what version 2 leaves to meta.vxrm. */
int tfs_godot_region_renew(struct tfs_edit *edit, struct tfs_error *err)
{
    const struct tfs_godot_region *region = &facts_of(edit->base)->region;
    struct tfs_blob *header = NULL;
    struct tfs_buf out = {0};

    if (region->version == TFS_GODOT_REGION_VERSION_MAX)
        return 0;
    tfs_godot_region_header(region, &out);
    if (tfs_blob_take(&out, &header, err) == 0)
        tfs_edit_common(edit, header);
    tfs_blob_unref(header);
    tfs_buf_release(&out);
    return err->code;
}

/* meta.vxrm of the folder that holds regions/lod0/FILE; 1: it was read, 0: there is none. */
static int read_meta(const char *path, struct tfs_godot_meta *meta, struct tfs_error *err)
{
    struct tfs_file_handle file;
    struct tfs_error ignored = {0};
    struct tfs_blob *text = NULL;
    char *directory = tfs_file_directory(path);
    char *name = NULL;
    int found = 0;

    if (directory == NULL || tfs_print(&name, "%s/../../" TFS_GODOT_META_NAME, directory) < 0) {
        free(directory);
        return tfs_fail_memory(err);
    }
    if (tfs_file_open(name, false, &file, &ignored) == 0) {
        if (tfs_file_read(&file, TFS_GODOT_META_MAX, &text, err) == 0 &&
            tfs_godot_meta_parse(tfs_blob_span(text), meta, err) == 0)
            found = 1;
        tfs_file_close(&file);
    }
    tfs_blob_unref(text);
    free(directory);
    free(name);
    return err->code < 0 ? err->code : found;
}

static int parse_header(struct tfs_save *save, struct tfs_span bytes,
                        struct tfs_godot_region *region, struct tfs_error *err)
{
    struct tfs_godot_meta meta;
    struct tfs_error ignored = {0};
    bool old = bytes.size > TFS_GODOT_REGION_MAGIC_SIZE &&
               bytes.data[TFS_GODOT_REGION_MAGIC_SIZE] == TFS_GODOT_REGION_VERSION_MIN;
    int found = old ? read_meta(save->path, &meta, &ignored) : 0;

    if (found < 0)
        return tfs_fail(err, ignored.code, "its ../../" TFS_GODOT_META_NAME " %s", ignored.text);
    return tfs_godot_region_parse(bytes, found > 0 ? &meta : NULL, region, err);
}

static void set_rules(struct region_facts *facts)
{
    const struct tfs_godot_region *region = &facts->region;
    const int32_t first[3] = {facts->origin.x, facts->origin.y, facts->origin.z};
    const uint32_t size[3] = {region->x, region->y, region->z};

    facts->rules = (struct tfs_godot_rules){.container = "this region",
                                            .cubed = true,
                                            .po2 = region->po2,
                                            .depths_fixed = true,
                                            .stored_max = tfs_sectors_stored_max(&region->sectors),
                                            .cased = true,
                                            .lods = 1,
                                            .upgrade = tfs_godot_region_renew,
                                            .palette = palette,
                                            .describe = describe};
    memcpy(facts->rules.depths, region->depths, sizeof(facts->rules.depths));
    for (unsigned i = 0; i < 3; i++) {
        facts->rules.low[i] = first[i];
        facts->rules.high[i] = first[i] + (int32_t)size[i] - 1;
    }
}

static int make_facts(struct tfs_save *save, struct tfs_span bytes, struct tfs_facts **facts,
                      struct tfs_error *err)
{
    struct tfs_godot_region region;

    if (parse_header(save, bytes, &region, err) < 0 ||
        tfs_facts_create(sizeof(struct region_facts), facts, err) < 0)
        return err->code;
    struct region_facts *own = own_of(*facts);
    struct tfs_key key;
    own->region = region;
    own->named = tfs_godot_region_name_parse(tfs_save_called(save), &key) &&
                 tfs_godot_region_origin(&region, key, &own->origin);
    set_rules(own);
    return 0;
}

int tfs_godot_region_blank(const struct tfs_godot_meta *meta, struct tfs_key key,
                           struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;
    struct tfs_doc *empty = NULL;
    struct tfs_edit edit = {0};
    struct tfs_blob *header = NULL;
    struct tfs_buf out = {0};

    if (tfs_facts_create(sizeof(struct region_facts), &facts, err) < 0)
        return err->code;
    struct region_facts *own = own_of(facts);
    tfs_godot_region_of_meta(meta, &own->region);
    own->named = tfs_godot_region_origin(&own->region, key, &own->origin);
    set_rules(own);
    if (meta->version == TFS_GODOT_REGION_VERSION_MAX) {
        tfs_godot_region_header(&own->region, &out);
    } else {
        tfs_buf_add_text(&out, TFS_GODOT_REGION_MAGIC);
        tfs_buf_u8(&out, TFS_GODOT_REGION_VERSION_MIN);
    }
    if (tfs_blob_take(&out, &header, err) == 0 && tfs_doc_create(facts, &empty, err) == 0 &&
        tfs_edit_open(empty, &edit, err) == 0) {
        tfs_edit_common(&edit, header);
        *doc = tfs_edit_finish(&edit);
    }
    tfs_edit_release(&edit);
    tfs_blob_unref(header);
    tfs_buf_release(&out);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
    return err->code;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    struct tfs_blob *bytes;
    const struct region_facts *facts;
    struct tfs_extent *extents;
    struct tfs_edit edit;
};

static int add_block(struct reader *r, uint32_t x, uint32_t y, uint32_t z, struct tfs_error *err)
{
    const struct tfs_godot_region *region = &r->facts->region;
    const struct tfs_key origin = r->facts->origin;
    struct tfs_extent extent = r->extents[tfs_godot_region_index(region, x, y, z)];
    struct tfs_chunk chunk = {
        .key = {0, origin.x + (int32_t)x, origin.y + (int32_t)y, origin.z + (int32_t)z},
        .slot = TFS_SLOT_NONE};

    if (extent.count == 0)
        return 0;
    const struct tfs_span stored =
        tfs_sectors_block(tfs_extent_span(&region->sectors, extent, tfs_blob_span(r->bytes)));
    if (tfs_blob_slice(r->bytes, stored, &chunk.blob, err) == 0)
        tfs_edit_put(&r->edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    return err->code;
}

/* In the order of documents, so that they are built from the front to the back. */
static int add_blocks(struct reader *r, struct tfs_error *err)
{
    const struct tfs_godot_region *region = &r->facts->region;

    for (uint32_t y = 0; y < region->y; y++)
        for (uint32_t z = 0; z < region->z; z++)
            for (uint32_t x = 0; x < region->x; x++)
                if (add_block(r, x, y, z, err) < 0)
                    return err->code;
    return 0;
}

static int add_header(struct reader *r, struct tfs_error *err)
{
    const struct tfs_span header = {r->bytes->data, r->facts->region.sectors.table};
    struct tfs_blob *blob;

    if (tfs_blob_slice(r->bytes, header, &blob, err) < 0)
        return err->code;
    tfs_edit_common(&r->edit, blob);
    tfs_blob_unref(blob);
    return 0;
}

static int read_blocks(struct reader *r, struct tfs_facts *facts, struct tfs_doc **doc,
                       struct tfs_error *err)
{
    if (tfs_edit_open_empty(facts, &r->edit, err) == 0 && add_header(r, err) == 0 &&
        add_blocks(r, err) == 0)
        *doc = tfs_edit_finish(&r->edit);
    tfs_edit_release(&r->edit);
    return err->code;
}

/* The engine appends by the number of sectors in use: behind a hole it destroys what is there. */
static int note_holes(struct tfs_facts *facts, const struct tfs_extent *extents,
                      struct tfs_error *err)
{
    const struct region_facts *own = own_of(facts);
    const uint32_t entries = own->region.sectors.entries;
    uint64_t used = 0, end = 0;

    for (uint32_t i = 0; i < entries; i++) {
        uint64_t last = (uint64_t)extents[i].first + extents[i].count;
        used += extents[i].count;
        end = extents[i].count > 0 && last > end ? last : end;
    }
    if (used == end)
        return 0;
    return tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                          "%llu sector%s between blocks %s not used, the first change closes %s",
                          (unsigned long long)(end - used), end - used == 1 ? "" : "s",
                          end - used == 1 ? "is" : "are", end - used == 1 ? "it" : "them");
}

static int region_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                         struct tfs_error *err)
{
    struct reader r = {.bytes = bytes};
    struct tfs_facts *facts = NULL;

    if (make_facts(save, tfs_blob_span(bytes), &facts, err) < 0)
        return err->code;
    r.facts = own_of(facts);
    if (tfs_sectors_read(&r.facts->region.sectors, tfs_blob_span(bytes), bytes->size, &r.extents,
                         err) == 0 &&
        note_holes(facts, r.extents, err) == 0)
        read_blocks(&r, facts, doc, err);
    free(r.extents);
    tfs_facts_unref(facts);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
    const struct region_facts *facts;
    struct tfs_sectors_change *changes;
    size_t count;
    struct tfs_error *err;
};

static int add_change(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct writer *w = arg;
    const struct tfs_key key = after == NULL ? before->key : after->key;
    const struct tfs_key origin = w->facts->origin;

    struct tfs_sectors_change *changes = tfs_array_grow(w->changes, w->count, sizeof(*changes));
    if (changes == NULL)
        return tfs_fail_memory(w->err);
    w->changes = changes;
    w->changes[w->count++] = (struct tfs_sectors_change){
        .index = tfs_godot_region_index(&w->facts->region, (uint32_t)(key.x - origin.x),
                                        (uint32_t)(key.y - origin.y), (uint32_t)(key.z - origin.z)),
        .stored = after == NULL ? (struct tfs_span){0} : tfs_blob_span(after->blob)};
    return 0;
}

static int compare_changes(const void *a, const void *b)
{
    const struct tfs_sectors_change *left = a, *right = b;

    return left->index < right->index ? -1 : left->index > right->index;
}

/* The file that the document on disk was read from; without a block there is nothing of it left to
 * keep. */
static struct tfs_span file_of(const struct tfs_doc *doc)
{
    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_blob *blob = tfs_doc_at(doc, i)->blob;
        if (blob->parent != NULL)
            return tfs_blob_span(blob->parent);
    }
    return (struct tfs_span){0};
}

static int write_file(const struct tfs_doc *before, const struct tfs_doc *doc,
                      const struct writer *w, struct tfs_sink *sink, struct tfs_error *err)
{
    const struct tfs_sectors *sectors = &facts_of(before)->region.sectors;
    struct tfs_span bytes = file_of(before);
    struct tfs_extent *extents = NULL;

    if (bytes.data == NULL) {
        extents = calloc(sectors->entries, sizeof(*extents));
        if (extents == NULL)
            return tfs_fail_memory(err);
    } else if (tfs_sectors_read(sectors, bytes, bytes.size, &extents, err) < 0) {
        return err->code;
    }
    const struct tfs_sectors_file old = {sectors, bytes, extents};
    tfs_sectors_write(&old, tfs_blob_span(header_of(doc)), w->changes, w->count, sink, err);
    free(extents);
    return err->code;
}

static int region_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                         struct tfs_error *err)
{
    struct writer w = {.facts = facts_of(save->doc), .err = err};

    if (tfs_doc_diff(save->doc, doc, add_change, &w) == 0) {
        if (w.count > 0)
            qsort(w.changes, w.count, sizeof(*w.changes), compare_changes);
        write_file(save->doc, doc, &w, sink, err);
    }
    free(w.changes);
    return err->code;
}

static const struct tfs_file_codec codec = {
    .decode = region_decode, .encode = region_encode, .rereads = true};

/* ---- the container --------------------------------------------------------------------------- */

static int region_probe(const struct tfs_probe *probe)
{
    const struct tfs_span head = probe->head;

    return head.size >= TFS_GODOT_REGION_MAGIC_SIZE &&
                   memcmp(head.data, TFS_GODOT_REGION_MAGIC, TFS_GODOT_REGION_MAGIC_SIZE) == 0
               ? TFS_BID_CERTAIN
               : TFS_BID_NONE;
}

static int region_open(struct tfs_save *save, struct tfs_error *err)
{
    if (tfs_godot_cache_create(save, err) == 0 && tfs_whole_file_open(save, err) < 0)
        tfs_godot_cache_free(save);
    return err->code;
}

static int is_change(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)arg;
    (void)before;
    (void)after;
    return 1;
}

/* Edits that came to nothing write nothing: else they would close holes and drop old bytes. */
static int region_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    if (!tfs_whole_file_unsure(save) && tfs_doc_diff(save->doc, doc, is_change, NULL) == 0 &&
        tfs_blob_equal(header_of(save->doc), header_of(doc)))
        return 0;
    return tfs_whole_file_commit(save, doc, err);
}

static int region_reload(struct tfs_save *save, struct tfs_error *err)
{
    tfs_godot_cache_clear(save);
    return tfs_whole_file_reload(save, err);
}

static void region_close(struct tfs_save *save)
{
    tfs_godot_cache_free(save);
    tfs_whole_file_close(save);
}

const struct tfs_container tfs_godot_region_container = {
    .format = "godot_voxel",
    .name = "region file",
    .tree = &tfs_godot_region_tree,
    .probe = region_probe,
    .open = region_open,
    .commit = region_commit,
    .changed = tfs_whole_file_changed,
    .reload = region_reload,
    .journal = &tfs_whole_file_journal,
    .close = region_close,
    .rest = rest,
    .file = &codec,
};
