/*
 * The values of a whole save, or of a group of its chunks, as one array: any range of its bytes, of
 * which only the chunks that it touches are decoded. What a chunk's values are is the format's.
 */
#ifndef TFS_FORMATS_ARRAYS_VOLUME_H
#define TFS_FORMATS_ARRAYS_VOLUME_H

#include "formats/arrays/npy.h"
#include "formats/doc.h"

#define TFS_VOLUME_MAX (UINT64_C(1) << 40) /* bytes; a larger one is not shown */

/* The values of some layers of a chunk, [y][z][x], little-endian, `to` - `from` layers from `from`
 * on. They are zero before. */
typedef int (*tfs_layers_fn)(void *arg, const struct tfs_chunk *chunk, uint32_t from, uint32_t to,
                             uint8_t *values, struct tfs_error *err);

struct tfs_volume {
    const struct tfs_doc *doc;
    struct tfs_key low; /* the first chunk along each axis */
    uint32_t chunks[3]; /* y, z, x */
    uint32_t sides[3];  /* values a side of a chunk: y, z, x */
    char kind;          /* as of struct tfs_npy */
    unsigned width;     /* bytes a value */
    uint64_t empty;     /* the value where there is no chunk */
    /* Of chunks one voxel high: it has two dimensions, [z, x], and the north row first. Rows of
     * chunks are its layers, from the greatest z on, and those of a chunk begin in the north.
     * sides[1] is 1. The chunks at the edge may be smaller: `cut` layers lack at the beginning of
     * the first ones, `cut` values at the end of the last ones along x. */
    bool flat;
    uint32_t cut;
    tfs_layers_fn layers;
    void *arg;
};

/* Of a chunk. */
static inline size_t tfs_volume_values(const struct tfs_volume *v)
{
    return (size_t)v->sides[0] * v->sides[1] * v->sides[2];
}

/* Over all chunks of the group low.group: sets low and chunks. False: there are none, or it is too
 * large. */
bool tfs_volume_span(struct tfs_volume *volume);
/* Over one chunk. */
void tfs_volume_span_chunk(struct tfs_volume *volume, struct tfs_key key);
/* The chunk at a place (in chunks: y, z, x). */
struct tfs_key tfs_volume_key(const struct tfs_volume *volume, const uint64_t at[3]);
/* The first layer that the chunks of layer `y` (in chunks) have. */
uint32_t tfs_volume_first(const struct tfs_volume *volume, uint64_t y);
/* Bytes of a line of the array, and of the part of it that the chunk at `x` (in chunks) has. */
uint64_t tfs_volume_line(const struct tfs_volume *volume);
uint64_t tfs_volume_row(const struct tfs_volume *volume, uint64_t x);
/* The head of its file, and the file's size. */
struct tfs_npy tfs_volume_npy(const struct tfs_volume *volume);
uint64_t tfs_volume_size(const struct tfs_volume *volume);

/* Appends the `size` bytes of the file at `offset`, or as many as there are. */
int tfs_volume_range(const struct tfs_volume *volume, uint64_t offset, uint64_t size,
                     struct tfs_buf *out, struct tfs_error *err);

#endif
