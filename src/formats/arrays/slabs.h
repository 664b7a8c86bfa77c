/*
 * Layers of chunks of an array, as its file has them. A program reads the file from plane to plane,
 * and the planes of a layer of chunks are all in the same chunks: where a layer is small it is
 * decoded once, and kept while it is read. Who has read one and goes on finds the next one decoded.
 *
 * A layer that cannot be decoded is not kept, and not tried again: its file is read in ranges, of
 * which those fail that touch the chunk that is bad.
 *
 * Thread-safe.
 */
#ifndef TFS_FORMATS_ARRAYS_SLABS_H
#define TFS_FORMATS_ARRAYS_SLABS_H

#include <pthread.h>

#include "formats/arrays/array.h"

#define TFS_SLABS        4u
#define TFS_SLAB_READERS 4u

struct tfs_slab_name {
    const struct tfs_array *array; /* NULL: of none */
    uint64_t version;              /* of the document */
    uint32_t group;
    uint64_t index;
    /* Of its values: they may become others without another document, where a chunk could not be
     * read for a moment. */
    char kind;
    unsigned width;
    uint64_t empty;
};

struct tfs_slab {
    struct tfs_slab_name name;
    struct tfs_blob *bytes; /* NULL: nothing */
};

/* A program that reads an array from somewhere on. */
struct tfs_slab_reader {
    struct tfs_slab_name name; /* of the array */
    uint64_t begin, next;      /* in the file */
};

struct tfs_slabs {
    pthread_mutex_t making; /* of `spare`; taken first: no slab is decoded twice at once */
    struct tfs_buf spare;   /* memory for the next one */
    pthread_mutex_t lock;   /* of what follows; nothing is decoded under it */
    struct tfs_slab slabs[TFS_SLABS];
    unsigned next_slab;
    struct tfs_slab_name bad; /* could not be decoded */
    struct tfs_slab_reader readers[TFS_SLAB_READERS];
    unsigned next_reader;
};

void tfs_slabs_init(struct tfs_slabs *slabs); /* zero before */
void tfs_slabs_release(struct tfs_slabs *slabs);

/* As tfs_volume_range. */
int tfs_slabs_range(struct tfs_slabs *slabs, const struct tfs_array_view *view, uint64_t offset,
                    uint64_t size, struct tfs_buf *out, struct tfs_error *err);
/* The same, as a slice of what is kept; *blob NULL: these bytes are not, or not in one piece. */
int tfs_slabs_share(struct tfs_slabs *slabs, const struct tfs_array_view *view, uint64_t offset,
                    uint64_t size, struct tfs_blob **blob, struct tfs_error *err);
/* These bytes were read. Decodes the layer behind them if that is where the reader goes, and no
 * layer that another one reads has to go for it. */
void tfs_slabs_ahead(struct tfs_slabs *slabs, const struct tfs_array_view *view, uint64_t offset,
                     uint64_t size);

#endif
