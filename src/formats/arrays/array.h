/*
 * arrays/NAME.npy: one number of each voxel, of a chunk and of the whole save. A game says what the
 * number is; here are the lenses that show it and take it back.
 *
 * Of a text that began with what the file showed, only values that differ from that are edits
 * (tfs_put.written, tfs_put.original). Where the save has no chunk the values are empty ones; a
 * chunk is made where a value is not.
 *
 * Numbers of names mean something in one mount alone, and in a chunk. With TFS_PUT_APART the names
 * come behind the values, as lines `NUMBER NAME`; without them a text that changes something is
 * rejected.
 */
#ifndef TFS_FORMATS_ARRAYS_ARRAY_H
#define TFS_FORMATS_ARRAYS_ARRAY_H

#include <string.h>

#include "formats/arrays/numbers.h"
#include "formats/arrays/volume.h"
#include "formats/format.h"

struct tfs_array;

/* An array of a document. */
struct tfs_array_view {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    const struct tfs_array *array;
    const struct tfs_chunk *chunk; /* NULL: of the whole save, or of its group volume.low.group */
    struct tfs_volume volume;
};

/* Other values for one chunk. */
struct tfs_array_change {
    const struct tfs_array_view *view;
    struct tfs_edit *edit;
    struct tfs_key key;
    const uint64_t *origin; /* the index of the first value, y, z, x */
    size_t count;           /* of the values */
    const uint8_t *now;     /* as `read` gives them; of a new chunk all empty */
    const uint8_t *wanted;  /* the same, and different somewhere */
    bool made;              /* the chunk was made for this: all that is wanted counts */
};

struct tfs_array {
    const char *file;  /* below arrays/: "blocks.npy" */
    const char *about; /* what the numbers are, for arrays/info.txt */
    char kind;         /* as of struct tfs_npy; of all values, in every chunk */
    unsigned width;
    uint32_t side; /* voxels a side of a chunk */
    bool whole;    /* a layer takes as long to be read as all layers */
    /* Sets kind, width, sides and empty of the view's volume. EBADMSG with a sentence. NULL: they
     * are those above, and empty is 0. */
    int (*form)(struct tfs_array_view *view, struct tfs_error *err);
    /* As tfs_layers_fn. */
    int (*read)(const struct tfs_array_view *view, const struct tfs_chunk *chunk, uint32_t from,
                uint32_t to, uint8_t *values, struct tfs_error *err);
    /* Makes the edit say what is wanted where that differs from what is now. */
    int (*write)(const struct tfs_array_change *change, struct tfs_error *err);
    const struct tfs_numbering *numbering; /* numbers are of names, as arrays/palette.txt has them;
                                            * NULL: they are not */
    const struct tfs_array *named; /* numbers are of names, as the chunk's palette has them: the
                                    * array with those of arrays/palette.txt; NULL: they are not */
    const void *param;             /* the game's */
};

static inline uint64_t tfs_array_value(const uint8_t *values, unsigned width, size_t i)
{
    uint64_t value = 0;

    for (unsigned b = width; b-- > 0;)
        value = value << 8 | values[i * width + b];
    return value;
}

static inline void tfs_array_set(uint8_t *values, unsigned width, size_t i, uint64_t value)
{
    for (unsigned b = 0; b < width; b++, value >>= 8)
        values[i * width + b] = (uint8_t)value;
}

/* Is value number `i` another one? */
static inline bool tfs_array_differs(const struct tfs_array_change *change, size_t i)
{
    const unsigned width = change->view->volume.width;

    return change->made || memcmp(change->now + i * width, change->wanted + i * width, width) != 0;
}

/* Fails with "[Y,Z,X] is VALUE, " and the sentence. */
int tfs_array_refuse(const struct tfs_array_change *change, size_t i, struct tfs_error *err,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Can the arrays of a group (0: those of the save) be shown, for tfs_lens.exists? `side` and
 * `width`: of a chunk and of the widest array. */
bool tfs_arrays_exist(const struct tfs_doc *doc, uint32_t group, uint32_t side, unsigned width);

/* Appends the lines of arrays/info.txt; `shown`: what tfs_lens.exists says of the arrays. */
int tfs_arrays_info(struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    const struct tfs_array *arrays, size_t count, bool shown, struct tfs_buf *out,
                    struct tfs_error *err);

int tfs_array_chunk_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err);
int tfs_array_chunk_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
int64_t tfs_array_chunk_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);

/* Takes what the lens `param` shows, and nothing else: for files of groups that only tell, which cp
 * -r writes and rm -r removes as it does the others. */
int tfs_array_same_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err);

/* The array of the save, or of the group in `at`; that of a chunk. */
int tfs_array_open_whole(struct tfs_array_view *view, struct tfs_save *save,
                         const struct tfs_doc *doc, struct tfs_at at, struct tfs_error *err);
int tfs_array_open_chunk(struct tfs_array_view *view, struct tfs_save *save,
                         const struct tfs_doc *doc, struct tfs_at at, struct tfs_error *err);
/* All values of a chunk; NULL: it is not there. */
int tfs_array_read_all(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                       uint8_t *values, struct tfs_error *err);
/* Writes, into a new chunk where there is none. */
int tfs_array_store(struct tfs_array_change *change, struct tfs_error *err);

int tfs_array_whole_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err);
int tfs_array_whole_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                          uint64_t offset, uint64_t size, struct tfs_buf *out,
                          struct tfs_error *err);
int tfs_array_whole_share(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                          uint64_t offset, uint64_t size, struct tfs_blob **blob,
                          struct tfs_error *err);
void tfs_array_whole_ahead(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                           uint64_t offset, uint64_t size);
int tfs_array_whole_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
int64_t tfs_array_whole_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
uint64_t tfs_array_whole_seek(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                              uint64_t offset, bool hole);
uint64_t tfs_array_whole_stored(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);

#define TFS_ARRAY_CHUNK_LENS(array)                                                                \
    {                                                                                              \
        .param = (array), .get = tfs_array_chunk_get, .put = tfs_array_chunk_put,                  \
        .size = tfs_array_chunk_size                                                               \
    }

/* Of the save, and of a group; `there` is its tfs_lens.exists. */
#define TFS_ARRAY_WHOLE_LENS(array, there)                                                         \
    {                                                                                              \
        .param = (array), .takes_written = true, .seek = tfs_array_whole_seek,                     \
        .stored = tfs_array_whole_stored, .get = tfs_array_whole_get,                              \
        .get_range = tfs_array_whole_range, .share_range = tfs_array_whole_share,                  \
        .read_ahead = tfs_array_whole_ahead, .put = tfs_array_whole_put,                           \
        .size = tfs_array_whole_size, .exists = (there)                                            \
    }

/* The files of arrays/, for the tables of a game. */
#define TFS_ARRAY_FILE(name, array_lens)                                                           \
    {                                                                                              \
        .path = (name), .flags = TFS_FILE_OVERLAY, .lens = (array_lens), .views = TFS_VIEWS_ARRAYS \
    }
#define TFS_ARRAY_TEXT_FILE(name, text_lens)                                                       \
    {                                                                                              \
        .path = (name), .lens = (text_lens), .views = TFS_VIEWS_ARRAYS                             \
    }

#endif
