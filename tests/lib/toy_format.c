/*
 * The smallest format: all that a game must give (docs/adding-a-format.md). A file is "TOY1" and
 * units. A unit, which is stored and summed up as a whole, holds two chunks.
 */
#include <errno.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/containers/file.h"
#include "formats/views/info.h"
#include "formats/views/views.h"
#include "toy_format.h"

#define BYTES_OF(x) ((struct tfs_span){(const void *)&(x), sizeof(x)})

enum { BLOCK, LEVEL, PLANES, VOXELS = 8, NAMES = 8, NAME = 255, MAGIC = 4 };

struct chunk {               /* 2x2x2 voxels */
    uint32_t blocks[VOXELS]; /* numbers of names */
    uint8_t levels[VOXELS];  /* 0 to 9 */
    struct {
        uint8_t size; /* 0: there are no more; of the first: there is no chunk */
        uint8_t text[NAME];
    } names[NAMES];
};

struct unit {
    struct chunk chunks[2];
    int32_t x, y, z; /* of the first; y is even, and one less than that of the second */
    uint32_t sum;    /* of both */
};

/* ---- the bytes of a chunk <-> cells ---------------------------------------------------------- */

/* Bytes come from files, journals and trees: whatever they are. */
static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    const struct tfs_span stored = tfs_blob_span(cells->stored);
    struct chunk *chunk = tfs_cells_alloc(cells, sizeof(*chunk), err);

    (void)wanted;
    cells->names = tfs_cells_alloc(cells, NAMES * sizeof(*cells->names), err);
    if (err->code < 0 || stored.size != sizeof(*chunk))
        return tfs_fail(err, -EBADMSG, "%zu bytes, a chunk has %zu", stored.size, sizeof(*chunk));
    memcpy(chunk, stored.data, sizeof(*chunk));
    for (int i = 0; i < NAMES && chunk->names[i].size > 0; i++)
        cells->names[cells->name_count++] =
            (struct tfs_span){chunk->names[i].text, chunk->names[i].size};
    for (int i = 0; i < VOXELS; i++)
        if (chunk->blocks[i] >= cells->name_count || chunk->levels[i] > 9)
            return tfs_fail(err, -EBADMSG, "voxel %d has no such name, or no such level", i);
    cells->planes[BLOCK].values = chunk->blocks;
    cells->planes[LEVEL].values = chunk->levels;
    return 0;
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    struct chunk next = {0};

    if (tfs_cells_edit_prune(e, err) < 0)
        return err->code;
    memcpy(next.blocks, e->planes[BLOCK].values, sizeof(next.blocks));
    memcpy(next.levels, e->planes[LEVEL].values, sizeof(next.levels));
    for (uint32_t i = 0; i < e->entry_count; i++) {
        const struct tfs_span name = tfs_cells_edit_name(e, i);
        next.names[i].size = (uint8_t)name.size;
        memcpy(next.names[i].text, name.data, name.size);
    }
    return tfs_edit_put_bytes(e->edit, e->before->chunk, BYTES_OF(next), err);
}

static const struct tfs_plane planes[PLANES] = {
    {"block", {.kind = TFS_PLANE_NAMES}, .flags = TFS_PLANE_IN_TABLE | TFS_PLANE_DECIDES},
    {"level",
     {.kind = TFS_PLANE_UNSIGNED, .width = 1, .digits = 1, .high = 9},
     .mark = "@",
     .flags = TFS_PLANE_IN_TABLE,
     .about = "0 to 9"}};

static const struct tfs_cells_kind kind = {.planes = planes,
                                           .count = PLANES,
                                           .size = {2, 2, 2},
                                           .names = {"block", NAME, .entries = NAMES},
                                           .decode = decode,
                                           .encode = encode};

static int chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                        struct tfs_error *err)
{
    const struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};
    const struct chunk empty = {.names = {{3, "air"}}};

    (void)save;
    return tfs_edit_put_bytes(edit, chunk, BYTES_OF(empty), err);
}

/* ---- the file <-> chunks --------------------------------------------------------------------- */

static int read_unit(const struct unit *unit, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = {0, unit->x, unit->y, unit->z}, .slot = TFS_SLOT_NONE};
    bool good = unit->y % 2 == 0 && unit->sum == (uint32_t)tfs_checksum(BYTES_OF(unit->chunks), 0);

    for (int i = 0; i < 2 && good; i++) {
        chunk.key.y = unit->y + i;
        if (unit->chunks[i].names[0].size == 0)
            continue;
        good = tfs_doc_find(tfs_edit_doc(edit), chunk.key) == NULL;
        tfs_edit_put_bytes(edit, chunk, BYTES_OF(unit->chunks[i]), err);
    }
    return good ? err->code
                : tfs_fail(err, -EBADMSG, "a checksum is another, or a unit stands twice");
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
        const struct tfs_key key = tfs_doc_at(doc, i)->key;
        struct unit unit = {.x = key.x, .y = key.y & ~1, .z = key.z};
        for (int k = 0; k < 2; k++) {
            const struct tfs_key at = {0, unit.x, unit.y + k, unit.z};
            const struct tfs_chunk *chunk = tfs_doc_find(doc, at);
            if (chunk != NULL && chunk->blob->size == sizeof(struct chunk))
                memcpy(&unit.chunks[k], chunk->blob->data, sizeof(struct chunk));
        }
        unit.sum = (uint32_t)tfs_checksum(BYTES_OF(unit.chunks), 0);
        if (key.y == unit.y || unit.chunks[0].names[0].size == 0)
            tfs_sink_span(sink, BYTES_OF(unit), err);
    }
    return err->code;
}

static int probe(const struct tfs_probe *p)
{
    return p->head.size >= MAGIC && memcmp(p->head.data, "TOY1", MAGIC) == 0 ? TFS_BID_CERTAIN : 0;
}

/* ---- what there is --------------------------------------------------------------------------- */

static const struct tfs_file chunk_files[] = {
    TFS_RAW_FILE(&tfs_raw_lens),
    TFS_VOXELS_FILE(&tfs_cells_table_lens),
    {.path = "palette.txt", .flags = TFS_FILE_RENAMES, .lens = &tfs_cells_palette_lens},
    TFS_GRID_FILE("blocks.txt", TFS_GRID_LENS(BLOCK)),
    TFS_GRID_FILE("levels.txt", TFS_GRID_LENS(LEVEL)),
};

static const struct tfs_file root_files[] = {
    {.path = "info.txt", .lens = &(const struct tfs_lens)TFS_INFO_LENS(NULL)},
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

const struct tfs_container toy_container = {
    .format = "toy", .name = "toy file", .tree = &tree, .probe = probe, TFS_WHOLE_FILE(&codec)};
