/*
 * What is seen of a document from above: its columns, stack of chunks by stack of chunks. A stack
 * that was looked into is kept with the save until one of its chunks changes; of all stacks at most
 * 32 MiB.
 */
#ifndef TFS_FORMATS_VIEWS_PICTURES_COLUMNS_H
#define TFS_FORMATS_VIEWS_PICTURES_COLUMNS_H

#include "formats/cells/cells.h"
#include "image/png.h"

#define TFS_PICTURE_HEIGHT_MAX 65535

/* The box that the pictures show, in voxels. */
struct tfs_picture_box {
    struct tfs_voxel_size chunk;
    struct tfs_key low;  /* the chunk at its lowest corner */
    int64_t x, y, z;     /* the voxel there */
    uint64_t sx, sy, sz; /* sizes */
    bool north_up;       /* TFS_CELLS_NORTH_UP */
};

/* The row of pixels that shows the voxels at `z`, counted from box.z; and back. */
static inline uint64_t tfs_picture_row(const struct tfs_picture_box *box, uint64_t z)
{
    return box->north_up ? box->sz - 1 - z : z;
}

/* False without chunks, above 65,535 high, and where a chunk alone is wider than a picture: there
 * are no pictures then. */
bool tfs_picture_box(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                     struct tfs_picture_box *box);
/* Is it a box of which a picture can show each column? */
bool tfs_picture_box_fits(const struct tfs_picture_box *box);
/* The same box over other chunks, from `x` and `z` on. */
void tfs_picture_box_move(struct tfs_picture_box *box, int32_t x, int32_t z, uint64_t columns,
                          uint64_t rows);

/* One column of the box. */
struct tfs_pixel {
    uint16_t height;   /* 0: all of it is empty */
    bool water;        /* at its top */
    uint8_t colour[3]; /* of ground without light on it; of water as it is seen */
};

struct tfs_columns;

/* Those of a save; NULL: no memory. */
struct tfs_columns *tfs_columns_create(struct tfs_save *save);
void tfs_columns_free(struct tfs_columns *columns); /* NULL is legal */
/* The columns of `doc`, whose heights count from the bottom of the document's own box. Until
 * tfs_columns_unlock all others wait. */
int tfs_columns_lock(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_columns **columns,
                     struct tfs_error *err);
void tfs_columns_unlock(struct tfs_columns *columns);
/* Forgets all: what else than chunks says how they look is another. */
void tfs_columns_clear(struct tfs_save *save);

/* ---- strips ---------------------------------------------------------------------------------- */

/* A row of chunks of a box, as one thread makes it. */
struct tfs_strip {
    struct tfs_columns *columns;
    struct tfs_picture_box box;
    struct tfs_pixel *pixels; /* rows of box.sx, of which there are box.chunk.z, from above */
    struct tfs_pixel *above;  /* room for a row right before them: the caller's */

    /* For columns.c only. */
    struct tfs_seen *seen; /* of each column, stack after stack */
    uint32_t *open;        /* of each stack: columns that may show something below */
    struct tfs_column *columns_of_chunk;
    int32_t *layers; /* y of chunks in rows of the box, from the highest down */
    size_t layer_count;
};

/* To be released after a failure, too. */
int tfs_strip_init(struct tfs_strip *strip, struct tfs_columns *columns,
                   const struct tfs_picture_box *box, struct tfs_error *err);
void tfs_strip_release(struct tfs_strip *strip);
/* Makes it strip `number`. A chunk that does not decode counts as empty. */
int tfs_strip_make(struct tfs_strip *strip, uint32_t number, struct tfs_error *err);

/* How many threads are worth the while for the box: 1 to TFS_PNG_THREADS_MAX. */
unsigned tfs_strip_threads(const struct tfs_picture_box *box);
/* Gives all strips of the box, one at a time, in any order. */
typedef void (*tfs_strip_fn)(void *arg, uint32_t number, const struct tfs_pixel *pixels);
int tfs_strips_each(struct tfs_columns *columns, const struct tfs_picture_box *box,
                    tfs_strip_fn each, void *arg, struct tfs_error *err);

#endif
