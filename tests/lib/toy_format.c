/*
 * The smallest format: all that a game must give (docs/adding-a-format.md). A file is "TOY1" and
 * units. A unit, which is stored and summed up as a whole, holds two chunks.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/info.h"
#include "formats/arrays/array.h"
#include "formats/views/views.h"
#include "formats/containers/file.h"
#include "toy_format.h"

#define BYTES_OF(x) ((struct tfs_span){(const void *)&(x), sizeof(x)})

enum { BLOCK, LEVEL, PLANES, VOXELS = 8, NAMES = 8, NAME = 15, STATE = 15, MAGIC = 4 };

struct chunk {               /* 2x2x2 voxels */
    uint32_t blocks[VOXELS]; /* numbers of names */
    uint8_t levels[VOXELS];  /* 0 to 9 */
    uint8_t count;           /* of the names; 0: there is no chunk */
    char names[NAMES][NAME];
    uint8_t state[STATE]; /* what is no voxel */
};

struct unit {
    struct chunk chunks[2];
    int32_t x, y, z; /* of the first; y is even, and one less than that of the second */
    uint32_t sum;    /* of both */
};

/* ---- the bytes of a chunk <-> cells ---------------------------------------------------------- */

struct body {
    struct chunk chunk;
    struct tfs_span names[NAMES];
};

/* Bytes come from files, journals and trees: whatever they are. */
static int take(struct tfs_span bytes, struct chunk *chunk, struct tfs_error *err)
{
    if (bytes.size != sizeof(*chunk))
        return tfs_fail(err, -EBADMSG, "%zu bytes, a chunk has %zu", bytes.size, sizeof(*chunk));
    memcpy(chunk, bytes.data, sizeof(*chunk));
    return 0;
}

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    struct body *body = cells->own = calloc(1, sizeof(*body));

    (void)wanted;
    if (body == NULL)
        return tfs_fail_memory(err);
    if (take(tfs_blob_span(cells->stored), &body->chunk, err) < 0)
        return err->code;
    cells->names = body->names;
    for (; cells->name_count < body->chunk.count && cells->name_count < NAMES;
         cells->name_count++) {
        const char *name = body->chunk.names[cells->name_count];
        cells->names[cells->name_count] =
            (struct tfs_span){(const void *)name, strnlen(name, NAME)};
    }
    for (int i = 0; i < VOXELS; i++)
        if (body->chunk.blocks[i] >= cells->name_count || body->chunk.levels[i] > 9)
            return tfs_fail(err, -EBADMSG, "voxel %d has no such name, or no such level", i);
    cells->planes[BLOCK].values = body->chunk.blocks;
    cells->planes[LEVEL].values = body->chunk.levels;
    return 0;
}

static void release(struct tfs_cells *cells)
{
    free(cells->own);
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    struct chunk next = {0};

    if (tfs_cells_edit_prune(e, err) < 0)
        return err->code;
    memcpy(next.blocks, e->planes[BLOCK].values, sizeof(next.blocks));
    memcpy(next.levels, e->planes[LEVEL].values, sizeof(next.levels));
    for (; next.count < e->entry_count; next.count++) {
        const struct tfs_span name = tfs_cells_edit_name(e, next.count);
        memcpy(next.names[next.count], name.data, name.size);
    }
    memcpy(next.state, ((struct body *)e->before->own)->chunk.state, sizeof(next.state));
    return tfs_edit_put_bytes(e->edit, e->before->chunk, BYTES_OF(next), err);
}

static enum tfs_emptiness emptiness(struct tfs_span name)
{
    return tfs_span_equal(name, tfs_span_of("air")) ? TFS_AIR : TFS_SEEN;
}

static struct tfs_span air(const struct tfs_chunk *chunk)
{
    (void)chunk;
    return tfs_span_of("air");
}

static const struct tfs_plane planes[PLANES] = {
    {"block", {.kind = TFS_PLANE_NAMES}, .flags = TFS_PLANE_IN_TABLE | TFS_PLANE_DECIDES},
    {"level",
     {TFS_PLANE_UNSIGNED, 1, .digits = 1, .high = 9},
     .flags = TFS_PLANE_IN_TABLE,
     .about = "0 to 9"}};

static const struct tfs_cells_kind kind = {.planes = planes,
                                           .count = PLANES,
                                           .size = {2, 2, 2},
                                           .names = {"block", NAME},
                                           .entries_max = NAMES,
                                           .decode = decode,
                                           .release = release,
                                           .emptiness = emptiness,
                                           .air = air,
                                           .encode = encode};

/* ---- what is no voxel: state.bin ------------------------------------------------------------- */

static int state_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct chunk chunk;

    (void)save;
    if (take(tfs_blob_span(tfs_doc_find(doc, at.key)->blob), &chunk, err) == 0)
        tfs_buf_add(out, chunk.state, STATE);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int state_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_chunk *old = tfs_doc_find(tfs_edit_doc(edit), at.key);
    struct chunk chunk;

    (void)save;
    (void)put;
    if (text.size != STATE)
        return tfs_fail(err, -EBADMSG, "%zu bytes, a state has %d", text.size, STATE);
    if (take(tfs_blob_span(old->blob), &chunk, err) < 0)
        return err->code;
    memcpy(chunk.state, text.data, STATE);
    return tfs_edit_put_bytes(edit, *old, BYTES_OF(chunk), err);
}

static const struct tfs_lens state_lens = {.get = state_get, .put = state_put};

/* ---- chunks that come and go ----------------------------------------------------------------- */

static int chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                        struct tfs_error *err)
{
    const struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};
    const struct chunk empty = {.count = 1, .names = {"air"}};

    (void)save;
    return tfs_edit_put_bytes(edit, chunk, BYTES_OF(empty), err);
}

/* ---- units <-> chunks ------------------------------------------------------------------------ */

static int read_unit(const struct unit *unit, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = {0, unit->x, 0, unit->z}, .slot = TFS_SLOT_NONE};

    if (unit->y % 2 != 0 || unit->sum != (uint32_t)tfs_checksum(BYTES_OF(unit->chunks), 0))
        return tfs_fail(err, -EBADMSG, "%d_%d_%d: the checksum is another", unit->x, unit->y,
                        unit->z);
    for (int i = 0; i < 2 && err->code == 0; i++) {
        chunk.key.y = unit->y + i;
        if (unit->chunks[i].count > 0 && tfs_doc_find(tfs_edit_doc(edit), chunk.key) != NULL)
            tfs_fail(err, -EBADMSG, "chunk %d_%d_%d stands twice", unit->x, chunk.key.y, unit->z);
        else if (unit->chunks[i].count > 0)
            tfs_edit_put_bytes(edit, chunk, BYTES_OF(unit->chunks[i]), err);
    }
    return err->code;
}

static int read_file(struct tfs_save *save, struct tfs_blob *file, struct tfs_doc **doc,
                     struct tfs_error *err)
{
    struct tfs_edit edit;

    (void)save;
    if (file->size % sizeof(struct unit) != MAGIC)
        return tfs_fail(err, -EBADMSG, "the last unit is cut off");
    tfs_edit_open_empty(NULL, &edit, err);
    for (size_t at = MAGIC; at < file->size && err->code == 0; at += sizeof(struct unit))
        read_unit((const void *)(file->data + at), &edit, err);
    if (err->code == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

static int write_file(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                      struct tfs_error *err)
{
    (void)save;
    tfs_sink_span(sink, tfs_span_of("TOY1"), err);
    for (size_t i = 0; i < doc->count && err->code == 0; i++) {
        const struct tfs_chunk *first = tfs_doc_at(doc, i), *chunks[2];
        struct unit unit = {.x = first->key.x, .y = first->key.y & ~1, .z = first->key.z};
        for (int k = 0; k < 2; k++) {
            chunks[k] = tfs_doc_find(doc, (struct tfs_key){0, unit.x, unit.y + k, unit.z});
            if (chunks[k] != NULL)
                take(tfs_blob_span(chunks[k]->blob), &unit.chunks[k], err);
        }
        unit.sum = (uint32_t)tfs_checksum(BYTES_OF(unit.chunks), 0);
        if (err->code == 0 && (chunks[0] == NULL || chunks[0] == first))
            tfs_sink_span(sink, BYTES_OF(unit), err);
    }
    return err->code;
}

static int probe(const struct tfs_probe *p)
{
    return p->head.size >= MAGIC && memcmp(p->head.data, "TOY1", MAGIC) == 0 ? TFS_BID_CERTAIN : 0;
}

/* ---- the files ------------------------------------------------------------------------------- */

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    (void)at;
    tfs_info_begin(out, save, doc);
    tfs_picture_info(out, save->tree, doc);
    tfs_info_end(out, save, doc);
    return tfs_buf_check(out, err);
}

static const struct tfs_lens info_lens = {.get = info_get};

static const struct tfs_file chunk_files[] = {
    TFS_RAW_FILE(&tfs_raw_lens),
    TFS_VOXELS_FILE(&tfs_cells_table_lens),
    {.path = "palette.txt", .flags = TFS_FILE_RENAMES, .lens = &tfs_cells_palette_lens},
    TFS_GRID_FILE("blocks.txt", TFS_GRID_LENS(BLOCK)),
    TFS_GRID_FILE("levels.txt", TFS_GRID_LENS(LEVEL)),
    TFS_APART_FILE("state.bin", 0, &state_lens),
};

static const struct tfs_file root_files[] = {
    {.path = "info.txt", .lens = &info_lens},
    {.path = "palette.txt", .flags = TFS_FILE_RENAMES, .lens = &tfs_cells_names_lens},
    TFS_HEIGHTMAP_FILE,
    TFS_MAP_FILE,
    TFS_ARRAY_FILE("levels", LEVEL),
};

static const struct tfs_tree tree = {.root = TFS_SCHEMA(root_files),
                                     .chunk = TFS_SCHEMA(chunk_files),
                                     .cells = &kind,
                                     .chunk_create = chunk_create};

static const struct tfs_file_codec codec = {.decode = read_file, .encode = write_file};

const struct tfs_container toy_container = {.format = "toy",
                                            .name = "toy file",
                                            .tree = &tree,
                                            .probe = probe,
                                            .file = &codec,
                                            TFS_WHOLE_FILE_FUNCTIONS};
