/*
 * Cells: what a chunk holds, as planes of values and a table of names. A game turns stored bytes
 * into cells (decode) and changed cells into stored bytes (encode). Every view of voxels is made
 * from cells alone: voxels.csv, grids, palettes, arrays, pictures, comparing (formats/views).
 *
 *   stored bytes --decode--> cells --a view's get--> text, numbers, picture
 *   stored bytes <--encode-- edited cells <--a view's put-- text, numbers, picture
 *
 * Voxel order of every plane: x fastest, then z, then y: index = (y * size.z + z) * size.x + x.
 *
 * Cells are immutable and reference-counted. What changes is a struct tfs_cells_edit (edit.h).
 */
#ifndef TFS_FORMATS_CELLS_CELLS_H
#define TFS_FORMATS_CELLS_CELLS_H

#include "formats/format.h"
#include "formats/cells/palette.h"
#include "formats/views/pictures/picture.h"
#include "text/grid.h"

#define TFS_PLANES_MAX 8

/* ---- what a game says of its planes ---------------------------------------------------------- */

enum tfs_plane_kind {
    TFS_PLANE_NAMES, /* entries of the chunk's table of names */
    TFS_PLANE_UNSIGNED,
    TFS_PLANE_SIGNED,
    TFS_PLANE_FLOAT, /* of 4 or 8 bytes */
    TFS_PLANE_HEX,   /* unsigned, written as hex digits */
};

enum tfs_plane_flags {
    TFS_PLANE_IN_TABLE = 1, /* a column of voxels.csv */
    TFS_PLANE_DECIDES = 2,  /* a voxel has no line where all such planes are empty */
    TFS_PLANE_OPTIONAL = 4, /* a chunk may lack it: its values are NULL. Not with IN_TABLE */
    TFS_PLANE_PARTIAL = 8,  /* a voxel that a picture raises gets `full` here */
    /* Its grid has rows even where all values are equal, so that its size is known without them. */
    TFS_PLANE_ROWS = 16,
    /* The save stores whether it is filled: a filled one is no column of the table, and its grid is
     * a fill line; another one's grid has rows. */
    TFS_PLANE_FILLABLE = 32,
    TFS_PLANE_SOLID = 64,     /* for games without names: a solid value makes a voxel not empty */
    TFS_PLANE_DISTANCE = 128, /* with SOLID: its values do not say what it is */
    TFS_PLANE_HEIGHT = 256,   /* of a surface: the voxel is a sample of it */
    TFS_PLANE_ENTRIES = 512,  /* each byte of a value is an entry of the names of the save */
};

/* How the values of a plane are stored, shown and bounded. */
struct tfs_plane_form {
    enum tfs_plane_kind kind;
    unsigned width;  /* bytes of a value: 1, 2, 4 or 8; of names 0 */
    unsigned digits; /* characters of a value in a grid; of names 0: as its greatest entry needs */
    uint64_t high;   /* greatest value; of signed ones -high - 1 is the smallest */
    uint64_t empty;  /* the value of a voxel that nobody wrote */
    uint64_t solid, solid_span; /* with TFS_PLANE_SOLID: these are solid to solid + solid_span */
};

struct tfs_plane {
    const char *name;           /* "param2": its column, and the word for it in sentences */
    struct tfs_plane_form form; /* of every chunk; a chunk may have another (decode sets it) */
    /* The text before its value where a voxel is printed: "@", " h=". Planes with a mark are
     * compared and merged voxel by voxel, so all columns have one. NULL: its value is printed alone
     * (plane 0), or the plane is compared as a file. */
    const char *mark;
    const char *out_of_range; /* "a parameter has 8 bits"; NULL: as the form says */
    unsigned flags;           /* enum tfs_plane_flags */
    uint64_t full;            /* the value of a full voxel */
    /* The name that the game itself gives to a value, in tables and in comments of grids; empty: it
     * has none. Values are up to 255 then. NULL: values are numbers alone. For plane 0 of a game
     * with next_runs: its summary says which values occur. */
    struct tfs_span (*name_of)(uint64_t value);
    /* Why a voxel with these values of all planes cannot have its value of this plane, which
     * somebody wrote: "Air; give the cell a material first", to follow "occupancy 3 for "; NULL: it
     * can. NULL as function: every value is legal. */
    const char *(*legal)(const struct tfs_doc *doc, const uint64_t *values);
    const char *about; /* what the numbers of its array are; of names, or without array, NULL */
};

/* ---- cells ----------------------------------------------------------------------------------- */

struct tfs_cells_plane {
    struct tfs_plane_form form;
    void *values; /* NULL: not decoded, or (optional ones) the chunk lacks it */
    bool filled;  /* all voxels have the one value that is there */
};

/* What all runs of a chunk say. */
struct tfs_cells_summary {
    uint8_t first[TFS_PLANES_MAX];
    /* By plane, the bits in which any value differs from the first. */
    uint8_t differs[TFS_PLANES_MAX];
    bool there[UINT8_MAX + 1]; /* which values of plane 0 occur */
};

struct tfs_cells {
    atomic_uint refs;
    const struct tfs_cells_kind *kind;
    struct tfs_save *save;
    struct tfs_chunk chunk;    /* with references to what it holds */
    const struct tfs_doc *doc; /* for decode alone; NULL: nobody asks for planes */
    struct tfs_error *warning; /* with TFS_CELLS_CHECK: for what is tolerated, but makes the game
                                * fail; NULL: nobody listens */
    struct tfs_blob *stored;   /* its bytes; NULL: none, or not fetched */
    bool unread;               /* they could not be fetched; they may be later */
    struct tfs_blob *extra;    /* NULL: it has none */
    int extra_unread;          /* the failure to fetch it; 0: there was none */
    char *damage;              /* why it does not decode; NULL: what follows is set */
    unsigned version;          /* for games with `form` */
    struct tfs_voxel_size size;
    size_t count;     /* voxels; 0: the chunk has none yet */
    unsigned decoded; /* bit i: plane i */
    struct tfs_cells_plane planes[TFS_PLANES_MAX];
    struct tfs_cells_summary summary; /* of runs, with TFS_CELLS_SUMMARY */
    struct tfs_span *names;           /* the table of names */
    uint32_t name_count;
    struct tfs_span air;             /* what a voxel is called that is emptied */
    void *own;                       /* the game's */
    size_t weight;                   /* bytes of memory of all of this */
    _Atomic uint64_t table_size;     /* of the lines of voxels.csv; 0: nobody counted them */
    struct tfs_cells_memory *memory; /* for cells.c only */
};

/* How the planes of a chunk without voxels are to be stored. */
struct tfs_cells_like {
    unsigned version;
    unsigned widths[TFS_PLANES_MAX];
};

/* Voxels in a row with the same values, of planes of bytes. */
struct tfs_cells_run {
    uint8_t values[TFS_PLANES_MAX];
    size_t count;
};

/* The number of a name. */
typedef int (*tfs_number_fn)(void *arg, struct tfs_span name, uint32_t *number,
                             struct tfs_error *err);

enum tfs_emptiness { TFS_SEEN, TFS_UNSEEN, TFS_AIR };

enum tfs_cells_flags {
    TFS_CELLS_NORTH_UP = 1, /* z grows to the north: pictures have the greatest z at their top */
    TFS_CELLS_ABSENT_EMPTY = 2, /* a chunk that a save lacks is all empty voxels; else it was not
                                 * stored yet, and what will be there is the game's matter */
    TFS_CELLS_TILED = 4, /* pictures have tiles, where a table lists them, of any size; else where
                          * they are too wide for one */
};

/* What a game gives. */
struct tfs_cells_kind {
    const struct tfs_plane *planes;
    unsigned count;
    struct tfs_voxel_size size; /* of every chunk, decode may say less; all 0: decode says it */
    /* The size of the chunks of a group, where that is 0; else NULL. */
    struct tfs_voxel_size (*group_size)(const struct tfs_doc *doc, uint32_t group);
    const char *unit; /* what one voxel is called; NULL: "voxel" */
    unsigned flags;   /* enum tfs_cells_flags */
    struct tfs_name_rules names;

    /* Sets size (if the kind does not), planes, names, air (if it is not names.air) and own from
     * cells->stored, where cells->chunk.key is which chunk of a unit it is. Planes that are not
     * `wanted` (bit i: plane i) may be left out; names are always wanted. With TFS_CELLS_CHECK what
     * no plane needs has to be right, too. Memory comes from tfs_cells_alloc. EBADMSG, ENOTSUP,
     * EFBIG: the chunk is damaged. */
    int (*decode)(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err);
    /* Of a game that stores runs of equal voxels, whose planes have bytes and no table of names:
     * the next ones of cells->stored, at most `room`, so that who reads all voxels needs no planes.
     * Returns how many; 0: there are no more. NULL: it does not. */
    size_t (*next_runs)(struct tfs_cursor *stored, struct tfs_cells_run *runs, size_t room);
    /* Layers `from` to `to` of plane 0, names, as shorts: the number of each voxel's name. The fast
     * path of the bench row "a region into NumPy". NULL: cells say them. */
    int (*numbers)(struct tfs_span stored, uint32_t from, uint32_t to, tfs_number_fn number,
                   void *arg, uint8_t *shorts, struct tfs_error *err);
    /* After a failure of decode, too. NULL: it takes no memory but from tfs_cells_alloc. */
    void (*release)(struct tfs_cells *cells);

    /* Of a kind whose first plane has names: is this the name of an empty voxel, or of one of which
     * nothing is seen from above? NULL: empty voxels alone have the name names.air. */
    enum tfs_emptiness (*emptiness)(struct tfs_span name);
    /* Of a kind whose first plane has no names: tfs_columns_of, of cells of which no plane was
     * wanted. NULL: names say what is seen. */
    int (*columns)(const struct tfs_doc *doc, const struct tfs_cells *cells,
                   struct tfs_column *columns, struct tfs_error *err);

    /* Of a game whose names belong to the save, in its parts; else NULL. The names of entries (with
     * TFS_PLANE_ENTRIES), at most 255; how many. */
    uint32_t (*save_names)(const struct tfs_doc *doc, struct tfs_span *names);
    /* With it: what base (NULL: there is none), ours and theirs call their entries -> the parts
     * that each of them is to have instead, and then those of the result, as references of the
     * caller, also after a failure. A name that one side changed is that of all. *conflict: what
     * both changed, of which `prefer` stays. Entries of ours are those of the result. */
    int (*merge_names)(const struct tfs_doc *const docs[3], int prefer, struct tfs_blob *parts[4],
                       const char **conflict, struct tfs_error *err);

    /* The rules of the game, between the change of some planes and encoding. NULL: there are
     * none. */
    int (*settle)(struct tfs_cells_edit *edit, struct tfs_error *err);
    /* Makes the edited cells what e->before->chunk stores. What did not change keeps its bytes. */
    int (*encode)(struct tfs_cells_edit *edit, struct tfs_error *err);

    /* Of a game whose chunks say how wide the values of each plane are; else NULL. The form of a
     * plane, in a chunk of that version. */
    struct tfs_plane_form (*form)(unsigned version, unsigned plane, unsigned width);
    /* The form of arrays of a whole group; with `form` only. */
    int (*group_form)(struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                      unsigned plane, struct tfs_plane_form *form, struct tfs_error *err);
    /* The bytes of a chunk that is going to have voxels; `like` NULL: as new ones are. NULL: each
     * chunk has voxels. */
    int (*blank)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                 const struct tfs_cells_like *like, struct tfs_blob **stored,
                 struct tfs_error *err);
};

static inline struct tfs_span tfs_name_of_air(const struct tfs_cells_kind *kind)
{
    return tfs_span_of(kind->names.air != NULL ? kind->names.air : "air");
}

static inline enum tfs_emptiness tfs_name_emptiness(const struct tfs_cells_kind *kind,
                                                    struct tfs_span name)
{
    if (kind->emptiness != NULL)
        return kind->emptiness(name);
    return tfs_span_equal(name, tfs_name_of_air(kind)) ? TFS_AIR : TFS_SEEN;
}

static inline bool tfs_name_is_air(const struct tfs_cells_kind *kind, struct tfs_span name)
{
    return tfs_name_emptiness(kind, name) == TFS_AIR;
}

/* Of the chunks of group 0. */
static inline struct tfs_voxel_size tfs_cells_size(const struct tfs_cells_kind *kind,
                                                   const struct tfs_doc *doc)
{
    return kind->size.x == 0 ? kind->group_size(doc, 0) : kind->size;
}

/* ---- opening --------------------------------------------------------------------------------- */

#define TFS_CELLS_CHECK   (1u << TFS_PLANES_MAX)
#define TFS_CELLS_SUMMARY (2u << TFS_PLANES_MAX) /* where the game stores runs */
#define TFS_CELLS_ALL     (TFS_CELLS_CHECK - 1)  /* planes */

/* The cells of a chunk, with the planes that are wanted; what does not decode has `damage`. From
 * the save's cache, which gets them. ENOENT: there is no such chunk. */
int tfs_cells_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                   unsigned wanted, struct tfs_cells **cells, struct tfs_error *err);
/* The same of a chunk that must decode, and have voxels (ENOENT). */
int tfs_cells_need(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                   unsigned wanted, struct tfs_cells **cells, struct tfs_error *err);
/* The same as the first of a chunk whose bytes a walk has fetched. */
int tfs_cells_keep(struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_chunk *fetched, unsigned wanted, struct tfs_cells **cells,
                   struct tfs_error *err);
/* Those with all planes, if the cache has them; else NULL. */
struct tfs_cells *tfs_cells_cached(struct tfs_save *save, const struct tfs_chunk *chunk);
/* Without the cache, for walks over a whole save. `doc` NULL: for names alone. */
int tfs_cells_make(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   unsigned wanted, struct tfs_cells **cells, struct tfs_error *err);
/* For decode: memory that the cells keep. NULL: there is none, and `err` says so. */
void *tfs_cells_alloc(struct tfs_cells *cells, size_t size, struct tfs_error *err);
struct tfs_cells *tfs_cells_ref(struct tfs_cells *cells);
void tfs_cells_unref(struct tfs_cells *cells); /* NULL is legal */

/* That of a save; NULL: no memory. */
struct tfs_cells_cache *tfs_cells_cache_create(void);
void tfs_cells_cache_free(struct tfs_cells_cache *cache); /* NULL is legal */
/* Forgets cells, and what is seen of them: of a save that was read again, where a document decides
 * how chunks decode. */
void tfs_cells_cache_clear(struct tfs_save *save);

/* Does the chunk not decode: 1 or 0? Cheap the second time. Negative: that cannot be found out now.
 * Without cells everything decodes. */
int tfs_cells_damaged(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key);
/* Decodes and checks the whole chunk. `warning` is as in struct tfs_cells. */
int tfs_cells_check(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                    struct tfs_error *warning, struct tfs_error *err);

/* ---- values ---------------------------------------------------------------------------------- */

/* Bytes of a value in memory, where entries of names have 4. */
static inline unsigned tfs_plane_size(const struct tfs_plane_form *form)
{
    return form->kind == TFS_PLANE_NAMES ? sizeof(uint32_t) : form->width;
}

static inline uint64_t tfs_plane_get(const struct tfs_cells_plane *plane, size_t i)
{
    const size_t at = plane->filled ? 0 : i;

    switch (tfs_plane_size(&plane->form)) {
    case 1:
        return ((const uint8_t *)plane->values)[at];
    case 2:
        return ((const uint16_t *)plane->values)[at];
    case 4:
        return ((const uint32_t *)plane->values)[at];
    }
    return ((const uint64_t *)plane->values)[at];
}

/* Of a plane that is not filled. */
static inline void tfs_plane_set(struct tfs_cells_plane *plane, size_t i, uint64_t value)
{
    switch (tfs_plane_size(&plane->form)) {
    case 1:
        ((uint8_t *)plane->values)[i] = (uint8_t)value;
        return;
    case 2:
        ((uint16_t *)plane->values)[i] = (uint16_t)value;
        return;
    case 4:
        ((uint32_t *)plane->values)[i] = (uint32_t)value;
        return;
    }
    ((uint64_t *)plane->values)[i] = value;
}

/* The same of bytes in little-endian order, `size` a value. */
static inline uint64_t tfs_array_value(const uint8_t *values, unsigned size, size_t i)
{
    uint64_t value = 0;

    switch (size) {
    case 1:
        return values[i];
    case 2:
        return values[2 * i] | (uint64_t)values[2 * i + 1] << 8;
    }
    for (unsigned b = size; b-- > 0;)
        value = value << 8 | values[i * size + b];
    return value;
}

static inline void tfs_array_set(uint8_t *values, unsigned size, size_t i, uint64_t value)
{
    for (unsigned b = 0; b < size; b++, value >>= 8)
        values[i * size + b] = (uint8_t)value;
}

/* Gives `count` voxels of a plane that is not filled a value. */
void tfs_plane_set_all(struct tfs_cells_plane *plane, size_t first, size_t count, uint64_t value);
/* Sets marks[i] to 1 where voxel `first` + i has one of the values from `low` to `low` + span; of
 * planes of numbers. So many voxels at once are faster than others. */
#define TFS_PLANE_TOGETHER 64
void tfs_plane_mark(const struct tfs_cells_plane *plane, size_t first, size_t count, uint64_t low,
                    uint64_t span, uint8_t *restrict marks);
/* Has every voxel the same value? */
bool tfs_plane_uniform(const struct tfs_cells_plane *plane, size_t count);
/* How many voxels from `i` on, at most to `end`, have the value of voxel i? */
size_t tfs_plane_run(const struct tfs_cells_plane *plane, size_t i, size_t end);
/* A value in 32 bits; of a signed plane with its sign. */
uint32_t tfs_plane_narrow(const struct tfs_plane_form *form, uint64_t value);
/* `count` values from voxel `first` on, widened; signed ones keep their sign. */
void tfs_plane_widen(const struct tfs_cells_plane *plane, size_t first, size_t count,
                     uint32_t *values);

/* A value of the plane as a number of 64 bits: signed ones keep their sign. */
static inline uint64_t tfs_plane_wide(const struct tfs_plane_form *form, uint64_t value)
{
    const unsigned above = 64 - 8 * tfs_plane_size(form);

    if (form->kind != TFS_PLANE_SIGNED)
        return value;
    return (uint64_t)((int64_t)(value << above) >> above);
}

/* Does the value make a voxel more than an empty one, in a plane with TFS_PLANE_SOLID? */
static inline bool tfs_plane_is_solid(const struct tfs_plane_form *form, uint64_t value)
{
    return value - form->solid <= form->solid_span;
}

/* The shape of the plane's grid; the name table has so many entries. */
struct tfs_grid_shape tfs_plane_shape(const struct tfs_plane_form *form, struct tfs_voxel_size size,
                                      uint32_t name_count);
/* The rules of one of numbers; `range` outlives them. */
#define TFS_PLANE_RANGE 64
struct tfs_grid_rules tfs_plane_rules(const struct tfs_plane *plane,
                                      const struct tfs_plane_form *form, struct tfs_voxel_size size,
                                      char range[TFS_PLANE_RANGE]);

/* ---- runs that a game stores ----------------------------------------------------------------- */

struct tfs_cells_runs {
    const uint8_t *values; /* of all planes */
    size_t count;
    size_t end; /* the voxel behind them */

    /* For cells.c only. */
    const struct tfs_cells_kind *kind;
    struct tfs_cursor stored;
    const struct tfs_cells_run *at, *behind; /* of the following */
    struct tfs_cells_run next[64];
};

/* The planes that must be decoded by who needs these, or the runs where the game stores them. */
unsigned tfs_cells_runs_need(const struct tfs_cells_kind *kind, unsigned planes);
/* Of a kind that has runs. Neighbours may have the same values. */
void tfs_cells_runs_begin(struct tfs_cells_runs *runs, const struct tfs_cells *cells);
bool tfs_cells_runs_find(struct tfs_cells_runs *runs); /* for the following alone */

static inline bool tfs_cells_runs_next(struct tfs_cells_runs *runs)
{
    if (runs->at == runs->behind && !tfs_cells_runs_find(runs))
        return false;
    runs->values = runs->at->values;
    runs->count = runs->at++->count;
    runs->end += runs->count;
    return true;
}

/* The plane of a kind that has names; NULL: none has. */
static inline const struct tfs_cells_plane *tfs_cells_named(const struct tfs_cells *cells)
{
    return cells->planes[0].form.kind == TFS_PLANE_NAMES ? &cells->planes[0] : NULL;
}

#endif
