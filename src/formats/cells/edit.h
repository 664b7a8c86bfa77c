/*
 * Cells that are being changed: a view's put fills planes and names, the game's rules follow, and
 * the game encodes what became of the chunk.
 */
#ifndef TFS_FORMATS_CELLS_EDIT_H
#define TFS_FORMATS_CELLS_EDIT_H

#include "formats/cells/cells.h"
#include "base/words.h"

struct tfs_cells_edit {
    struct tfs_edit *edit;      /* set by tfs_cells_edit_open, or to finish */
    const struct tfs_doc *base; /* finished; who asks for blanks and widths is told it */
    struct tfs_cells *before;
    bool fresh; /* the chunk had no voxels; `before` are those of a blank */
    struct tfs_cells_plane planes[TFS_PLANES_MAX]; /* as before, or memory of our own; values NULL:
                                                    * the chunk lacks it, or is to lack it */
    unsigned written; /* bit i: somebody said what plane i is, and the rules leave it alone */
    bool given;       /* somebody wrote the table of names, with entries that no voxel has */
    struct tfs_written_values *values; /* of a chunk just made; NULL: it was not */

    /* Names: an entry of the table is a word. */
    struct tfs_words words;
    uint32_t *entries; /* words of the table as it is now */
    uint32_t entry_count;
    uint32_t *old;    /* words of the table as it was */
    uint32_t *firsts; /* of each word: the first entry that is called so; UINT32_MAX: none */
    uint32_t room;    /* of `entries` and `firsts` */
    uint32_t air;     /* the entry that an emptied voxel gets; UINT32_MAX: none yet */
};

/* Begins with what the chunk has, all planes; to be closed after a failure, too. */
int tfs_cells_edit_load(struct tfs_cells_edit *e, struct tfs_save *save, const struct tfs_doc *doc,
                        struct tfs_key key, struct tfs_error *err);
/* The same of what the edit has; a chunk without voxels begins as a blank. */
int tfs_cells_edit_open(struct tfs_cells_edit *e, struct tfs_save *save, struct tfs_edit *edit,
                        struct tfs_key key, struct tfs_error *err);
/* The same of cells that decode. */
int tfs_cells_edit_begin(struct tfs_cells_edit *e, struct tfs_cells *cells, struct tfs_error *err);
/* Gives a chunk without voxels those of a blank. */
int tfs_cells_edit_blank(struct tfs_cells_edit *e, const struct tfs_cells_like *like,
                         struct tfs_error *err);
void tfs_cells_edit_close(struct tfs_cells_edit *e);
/* Settles and encodes, unless nothing changed. */
int tfs_cells_edit_finish(struct tfs_cells_edit *e, struct tfs_edit *edit, struct tfs_error *err);
/* Has the plane the values, the table the names that it had; is all as it was? */
bool tfs_cells_edit_same_plane(const struct tfs_cells_edit *e, unsigned plane);
bool tfs_cells_edit_same_names(const struct tfs_cells_edit *e);
bool tfs_cells_edit_same(const struct tfs_cells_edit *e);

/* Did somebody set values of the plane? */
bool tfs_cells_edit_owns(const struct tfs_cells_edit *e, unsigned plane);
/* Makes values of the plane that can be set, one of each voxel: what it has, or empty ones where
 * the chunk lacks it. */
int tfs_cells_edit_plane(struct tfs_cells_edit *e, unsigned plane, struct tfs_error *err);
/* The same of values that are all empty. */
int tfs_cells_edit_empty(struct tfs_cells_edit *e, unsigned plane, struct tfs_error *err);
/* The same of values that have so many bytes from now on, all empty where that is another number.
 * EBADMSG with a sentence. */
int tfs_cells_edit_width(struct tfs_cells_edit *e, unsigned plane, unsigned width,
                         struct tfs_error *err);
/* Planes that were filled and say the same in every voxel are filled. */
void tfs_cells_edit_refill(struct tfs_cells_edit *e);
/* The chunk lacks the plane from now on. */
void tfs_cells_edit_drop(struct tfs_cells_edit *e, unsigned plane);
/* The first voxel from `i` on that has another value in this plane than it had; none: the number of
 * voxels. */
size_t tfs_cells_edit_changed(const struct tfs_cells_edit *e, unsigned plane, size_t i);
/* Why the voxel cannot have the value that it was given in this plane (tfs_plane.legal); NULL:
 * it can, or it had it before. */
const char *tfs_cells_edit_refusal(const struct tfs_cells_edit *e, size_t voxel, unsigned plane);

/* ---- names ----------------------------------------------------------------------------------- */

/* The name of an entry, until another name is added. */
static inline struct tfs_span tfs_cells_edit_name(const struct tfs_cells_edit *e, uint32_t entry)
{
    return tfs_words_at(&e->words, e->entries[entry]);
}

/* The words of a voxel's names, as it is and as it was. */
static inline uint32_t tfs_cells_edit_word(const struct tfs_cells_edit *e, size_t voxel)
{
    return e->entries[tfs_plane_get(&e->planes[0], voxel)];
}

static inline uint32_t tfs_cells_edit_old_word(const struct tfs_cells_edit *e, size_t voxel)
{
    return e->old[tfs_plane_get(&e->before->planes[0], voxel)];
}

/* Had the chunk the name? Of struct tfs_cells_edit: a tfs_palette_had_fn. */
bool tfs_cells_edit_had(const void *edit, struct tfs_span name);
/* The first entry of that name: is there one? */
bool tfs_cells_edit_find(const struct tfs_cells_edit *e, struct tfs_span name, uint32_t *entry);
/* The same; it is added if there is none. */
int tfs_cells_edit_add(struct tfs_cells_edit *e, struct tfs_span name, uint32_t *entry,
                       struct tfs_error *err);
/* The table is these names from now on, whatever voxels have. */
int tfs_cells_edit_table(struct tfs_cells_edit *e, const struct tfs_span *names, uint32_t count,
                         struct tfs_error *err);
/* For encode: unless somebody wrote the table, takes entries out of it that lost their last voxel,
 * and orders new names by their first use. Entries of voxels change. EBADMSG: too many are left. */
int tfs_cells_edit_prune(struct tfs_cells_edit *e, struct tfs_error *err);

/* ---- voxels ---------------------------------------------------------------------------------- */

/* Gives `count` voxels an entry. Those that had its name keep the entry that they had. */
void tfs_cells_edit_set(struct tfs_cells_edit *e, size_t first, size_t count, uint32_t entry);
/* Empties `count` voxels. Those that are empty keep what they have. */
int tfs_cells_edit_clear(struct tfs_cells_edit *e, size_t first, size_t count,
                         struct tfs_error *err);

#endif
