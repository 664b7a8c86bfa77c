/*
 * Voxels apart from their chunks: each has a number in a pool. Equal numbers are equal voxels, of
 * whatever chunks, and of whatever saves of one kind: names in them are words of the pool. What has
 * the same name is the same, also where its bytes are others (in an older version of a format).
 */
#ifndef TFS_FORMATS_CELLS_VOXELS_H
#define TFS_FORMATS_CELLS_VOXELS_H

#include "base/words.h"
#include "formats/cells/edit.h"

#define TFS_VOXEL_NONE 0 /* the number of a voxel that is not there */

struct tfs_voxel {
    uint64_t values[TFS_PLANES_MAX]; /* in place of entries of names: words */
    uint64_t version;
    uint8_t widths[TFS_PLANES_MAX]; /* bytes of a value; 0: there is none */
};

/* What is to be known of a voxel. */
struct tfs_voxel_look {
    uint32_t full, brief; /* its name, and what it is counted as: words of the pool */
    bool empty;           /* it is as if nothing were there */
};

#define TFS_VOXELS_RECENT 64

/* Zero-initialised = released. */
struct tfs_voxel_pool {
    const struct tfs_cells_kind *kind;
    struct tfs_words names;       /* of planes */
    struct tfs_words voxels;      /* struct tfs_voxel as bytes, but for the first */
    struct tfs_words full, brief; /* what they are called */
    struct tfs_voxel_look *looks; /* by number */
    struct {
        struct tfs_voxel voxel;
        uint32_t number;
    } recent[TFS_VOXELS_RECENT]; /* added before: noise has few voxels that follow one another */
};

void tfs_voxel_pool_release(struct tfs_voxel_pool *pool);
/* Forgets all voxels but TFS_VOXEL_NONE. */
int tfs_voxel_pool_begin(struct tfs_voxel_pool *pool, const struct tfs_cells_kind *kind,
                         struct tfs_error *err);

/* One that is not there is as good as an empty one. */
bool tfs_voxels_same(const struct tfs_voxel_pool *pool, uint32_t a, uint32_t b);
/* The same voxel with the values of a full one (TFS_PLANE_PARTIAL). */
int tfs_voxel_fill_up(struct tfs_voxel_pool *pool, uint32_t voxel, uint32_t *full,
                      struct tfs_error *err);

/* It is as if nothing were there. */
bool tfs_voxel_is_empty(const struct tfs_voxel_pool *pool, const struct tfs_voxel *voxel);
/* Appends what people call it, printable and on one line: `Grass@76`, `type=3 sdf=-12/8`,
 * `Grass h=1234`. Brief: what it is counted as, `Grass`; nothing: it is not. */
void tfs_voxel_print(const struct tfs_voxel_pool *pool, const struct tfs_voxel *voxel, bool brief,
                     struct tfs_buf *out);

/* ---- of chunks ------------------------------------------------------------------------------- */

/* A chunk whose voxels are looked at. Zero-initialised = closed. */
struct tfs_voxel_chunk {
    struct tfs_cells *cells;  /* NULL: there is no chunk */
    const struct tfs_doc *of; /* with names of a whole save: the document whose words these are */
    uint32_t *words;          /* of entries of the table of names */
    uint32_t room;            /* of `words` */
    struct tfs_voxel last;    /* the voxel that was asked for last, */
    uint32_t number;          /* and its number */
};

/* Takes a reference to cells that decode. */
int tfs_voxel_chunk_take(struct tfs_voxel_chunk *chunk, struct tfs_voxel_pool *pool,
                         struct tfs_cells *cells, const struct tfs_doc *doc, struct tfs_error *err);
/* EBADMSG: it is damaged. */
int tfs_voxel_chunk_open(struct tfs_voxel_chunk *chunk, struct tfs_voxel_pool *pool,
                         struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_error *err);
/* Keeps memory for the next one; and none. */
void tfs_voxel_chunk_close(struct tfs_voxel_chunk *chunk);
void tfs_voxel_chunk_release(struct tfs_voxel_chunk *chunk);

/* A voxel of the chunk; TFS_VOXEL_NONE outside, and without a chunk. */
int tfs_voxel_at(struct tfs_voxel_pool *pool, struct tfs_voxel_chunk *chunk, const uint32_t at[3],
                 uint32_t *number, struct tfs_error *err);
/* Are the rows in x from there on equal? False: perhaps. */
bool tfs_voxel_rows_equal(const struct tfs_voxel_chunk *a, const struct tfs_voxel_chunk *b,
                          uint32_t y, uint32_t z);

/* ---- changes --------------------------------------------------------------------------------- */

/* Voxels of one column of a chunk: from <= y < to. */
struct tfs_stretch {
    uint32_t x, z;
    uint32_t from, to;
};

/* A chunk whose voxels are put. Zero-initialised; to be closed after a failure, too. */
struct tfs_voxel_edit {
    struct tfs_voxel_pool *pool;
    struct tfs_cells_edit cells;
    struct tfs_voxel_chunk names; /* what its entries are as words, without cells */
};

int tfs_voxel_edit_open(struct tfs_voxel_edit *e, struct tfs_voxel_pool *pool,
                        struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        struct tfs_error *err);
void tfs_voxel_edit_close(struct tfs_voxel_edit *e);
/* Makes all of the stretch that voxel. EBADMSG: the chunk cannot hold it. */
int tfs_voxel_put(struct tfs_voxel_edit *e, struct tfs_stretch at, uint32_t voxel,
                  struct tfs_error *err);
/* Empties the stretch; `seen`: of what is seen from above. */
int tfs_voxel_clear(struct tfs_voxel_edit *e, struct tfs_stretch at, bool seen,
                    struct tfs_error *err);

#endif
