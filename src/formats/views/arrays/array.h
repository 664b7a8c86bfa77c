/*
 * arrays/NAME.npy: a plane of the cells of a chunk, or of all chunks of the save or of a group, as
 * one array [y, z, x] of numbers.
 *
 * Numbers of names are lines of arrays/palette.txt (numbers.h). Where there is no chunk, or one
 * that is damaged, values are empty ones; a chunk is made where a value that is written is not. Of
 * a text that began with what the file showed, only values that differ from that are edits
 * (tfs_put.written, tfs_put.original).
 *
 * With TFS_PUT_APART the names come behind the values, as lines `NUMBER NAME`; without them a text
 * of such numbers that changes something is rejected.
 *
 *   array.c  the lenses            plane.c  cells of a chunk <-> its values
 *   range.c  bytes of the file     put.c    bytes of the file -> an edit
 *   kept.c   what was decoded      npy.c    the head of the file
 */
#ifndef TFS_FORMATS_VIEWS_ARRAYS_ARRAY_H
#define TFS_FORMATS_VIEWS_ARRAYS_ARRAY_H

#include "formats/views/arrays/npy.h"
#include "formats/cells/cells.h"

#define TFS_ARRAY_MAX (UINT64_C(1) << 40) /* bytes; a larger one is not shown */

/* The param of a lens. */
struct tfs_array_lens {
    unsigned plane;
    bool whole; /* of all chunks of the group, not of one */
};

/* An array of a document. */
struct tfs_array {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    unsigned plane;
    struct tfs_key low; /* the first chunk along each axis */
    uint32_t chunks[3]; /* y, z, x */
    uint32_t sides[3];  /* values a side of a chunk: y, z, x */
    char kind;          /* as of struct tfs_npy */
    unsigned width;     /* bytes a value */
    uint64_t empty;     /* the value where there is no chunk */
    /* Of a surface (TFS_PLANE_HEIGHT): it has two dimensions, [z, x], the north row first. Rows of
     * chunks are its layers, from the greatest z on, and those of a chunk begin in the north.
     * sides[1] is 1. The chunks at the edge may be smaller: `cut` layers lack at the beginning of
     * the first ones, `cut` values at the end of the last ones along x. */
    bool flat;
    uint32_t cut;
};

/* `at`: of a lens below. ENOENT: there are no chunks, or too many. */
int tfs_array_open(struct tfs_array *a, struct tfs_save *save, const struct tfs_doc *doc,
                   struct tfs_at at, struct tfs_error *err);
/* Over all chunks of the group low.group: sets low and chunks. False: there are none, or it is too
 * large. */
bool tfs_array_span(struct tfs_array *a);

/* ---- where things lie (range.c) -------------------------------------------------------------- */

/* Values of a chunk; bytes of a row along x of a chunk, of a line of the array, of a plane. */
static inline size_t tfs_array_volume(const struct tfs_array *a)
{
    return (size_t)a->sides[0] * a->sides[1] * a->sides[2];
}

static inline uint64_t tfs_array_row(const struct tfs_array *a)
{
    return (uint64_t)a->sides[2] * a->width;
}

static inline uint64_t tfs_array_line(const struct tfs_array *a)
{
    return a->chunks[2] * tfs_array_row(a) - (uint64_t)a->cut * a->width;
}

static inline uint64_t tfs_array_plane(const struct tfs_array *a)
{
    return (uint64_t)a->chunks[1] * a->sides[1] * tfs_array_line(a);
}

/* Behind the head: the place of the row of layer `y` of the array and line `z` that begins with
 * chunk `x`. */
static inline uint64_t tfs_array_place(const struct tfs_array *a, uint64_t y, uint64_t z,
                                       uint64_t x)
{
    return (y - a->cut) * tfs_array_plane(a) + z * tfs_array_line(a) + x * tfs_array_row(a);
}

/* Bytes of a row that the chunks at `x` (in chunks) have of it. */
static inline uint64_t tfs_array_part(const struct tfs_array *a, uint64_t x)
{
    return tfs_array_row(a) - (x + 1 == a->chunks[2] ? (uint64_t)a->cut * a->width : 0);
}

/* The first layer that the chunks of layer `y` (in chunks) have. */
static inline uint32_t tfs_array_first(const struct tfs_array *a, uint64_t y)
{
    return y == 0 ? a->cut : 0;
}

/* The chunk at a place (in chunks: y, z, x). */
struct tfs_key tfs_array_key(const struct tfs_array *a, const uint64_t at[3]);
/* The head of the file, and the file's size. */
struct tfs_npy tfs_array_npy(const struct tfs_array *a);
uint64_t tfs_array_size(const struct tfs_array *a);

/* Appends the `size` bytes of the file at `offset`, or as many as there are. Only chunks that they
 * touch are decoded. */
int tfs_array_range(const struct tfs_array *a, uint64_t offset, uint64_t size, struct tfs_buf *out,
                    struct tfs_error *err);

/* ---- values of a chunk (plane.c) ------------------------------------------------------------- */

void tfs_values_fill(uint8_t *values, unsigned width, size_t count, uint64_t value);

/* Layers of a chunk, `to` - `from` from `from` on: [y][z][x], little-endian. */
int tfs_array_layers(const struct tfs_array *a, const struct tfs_chunk *chunk, uint32_t from,
                     uint32_t to, uint8_t *values, struct tfs_error *err);

/* Other values for one chunk. */
struct tfs_array_change {
    const struct tfs_array *array;
    struct tfs_edit *edit;
    struct tfs_key key;
    uint64_t origin[3]; /* the index of the first value: y, z, x */
    const uint8_t *now; /* as tfs_array_layers gives them; of a new chunk all empty */
    const uint8_t *wanted;
    struct tfs_written_values *given; /* tfs_put.values */
};

/* Makes the edit say what is wanted where that differs from what is now; all of it in a chunk that
 * is not there. */
int tfs_array_store(const struct tfs_array_change *change, struct tfs_error *err);
/* Fails with "[Y,Z,X] is VALUE, WHY". `line`: of all lines along x; `kind`: of the value. */
int tfs_array_refuse(const struct tfs_array *a, char kind, uint64_t line, uint64_t x,
                     uint64_t value, const char *why, struct tfs_error *err);

/* ---- lenses ---------------------------------------------------------------------------------- */

int tfs_array_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                  struct tfs_buf *out, struct tfs_error *err);
int tfs_array_get_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        uint64_t offset, uint64_t size, struct tfs_blob **part,
                        struct tfs_error *err);
void tfs_array_read_ahead(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                          uint64_t offset, uint64_t size);
int tfs_array_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                  struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
int64_t tfs_array_lens_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
/* Can the arrays of a group (0: those of the save) be shown? */
int tfs_array_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);

/* arrays/info.txt of the save and of a group; arrays/palette.txt of names (numbers.c). */
extern const struct tfs_lens tfs_array_info_lens, tfs_array_group_info_lens, tfs_numbers_lens;
/* Takes what the lens `param` shows, and nothing else: for files of groups that only tell, which cp
 * -r writes and rm -r removes as it does the others. */
int tfs_array_same_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err);

#define TFS_ARRAY_LENS_FILE(name, ...)                                                             \
    {                                                                                              \
        .path = "arrays/" name ".npy", .flags = TFS_FILE_OVERLAY, .views = TFS_VIEWS_ARRAYS,       \
        .lens = &(const struct tfs_lens){.get = tfs_array_get,                                     \
                                         .get_range = tfs_array_get_range,                         \
                                         .put = tfs_array_put,                                     \
                                         .size = tfs_array_lens_size,                              \
                                         __VA_ARGS__},                                             \
    }
/* The array of a plane, for the tables of a game: of the root or a group; of a chunk, where `there`
 * is its tfs_lens.exists. */
#define TFS_ARRAY_FILE(name, number)                                                               \
    TFS_ARRAY_LENS_FILE(name, .param = &(const struct tfs_array_lens){(number), .whole = true},    \
                        .read_ahead = tfs_array_read_ahead, .exists = tfs_array_exists)
#define TFS_CHUNK_ARRAY_FILE(name, number, there)                                                  \
    TFS_ARRAY_LENS_FILE(name, .param = &(const struct tfs_array_lens){(number), .whole = false},   \
                        .exists = (there))
#define TFS_ARRAY_TEXT_FILE(name, text_lens)                                                       \
    {                                                                                              \
        .path = "arrays/" name, .lens = (text_lens), .views = TFS_VIEWS_ARRAYS                     \
    }

#endif
