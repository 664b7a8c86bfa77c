/*
 * voxels.csv: what the tables of all games have in common (docs/semantics.md, T5).
 *
 *   x,y,z,block              the header: coordinates and the columns of the game, in any order
 *   3,64,-9,base:stone       one line a voxel that is not empty, in global coordinates
 *   4,64,-9,base:stone       ordered by y, then z, then x
 *
 * A game says what its columns are called and what a voxel is; everything about coordinates is
 * here: printing them, reading them, which chunk they lie in, and moving lines into a chunk just
 * made.
 *
 * Voxel order, as everywhere: x fastest, then z, then y.
 */
#ifndef TFS_FORMATS_VIEWS_VOXELS_CSV_H
#define TFS_FORMATS_VIEWS_VOXELS_CSV_H

#include "base/buf.h"
#include "formats/format.h"
#include "text/table.h"

/* A chunk and how many voxels it has along x, y, z. Its first voxel is at key times sides, which is
 * within TFS_VOXEL_REACH. */
#define TFS_VOXEL_REACH (INT64_C(1) << 40)
struct tfs_voxel_box {
    struct tfs_key key;
    uint32_t sides[3];
};

/* ---- printing -------------------------------------------------------------------------------- */

#define TFS_VOXEL_STEP 32 /* texts are copied by steps of so many bytes */

/* What the line of a voxel has behind its coordinates, with the line end: "base:stone\n". Bytes up
 * to the next multiple of TFS_VOXEL_STEP must be readable. Size 0: an empty voxel, which has no
 * line. */
struct tfs_voxel_values {
    const uint8_t *text;
    uint32_t size;
    uint32_t lines; /* 1; of an empty voxel 0, as its size is */
};

#define TFS_VOXEL_NUMBER 16  /* room for a coordinate and its comma */
#define TFS_VOXEL_SIDE   256 /* axes up to so long need no memory of their own */

struct tfs_voxel_axis {
    uint8_t (*text)[TFS_VOXEL_NUMBER];
    uint32_t *end; /* bytes of all texts before; one more than there are texts */
};

/* The lines of a chunk being made. */
struct tfs_voxel_lines {
    uint64_t size; /* of all lines so far */

    /* For voxels_csv_print.c only. */
    struct tfs_buf *out;
    uint32_t sides[3];
    uint32_t at[3]; /* the next voxel */
    struct tfs_voxel_axis axes[3];
    bool even;                         /* all x have as many characters */
    void *memory;                      /* of the axes, where they are long */
    uint8_t row[2 * TFS_VOXEL_NUMBER]; /* "y,z," of this row */
    uint32_t row_size;                 /* 0: not made yet */
    uint8_t texts[3 * TFS_VOXEL_SIDE][TFS_VOXEL_NUMBER];
    uint32_t ends[3 * (TFS_VOXEL_SIDE + 1)];
};

/* Begins with the first voxel. The lines go to the end of `out`; NULL: only their size is counted.
 * Sides of at most TFS_VOXEL_SIDE cannot fail. */
int tfs_voxel_lines_open(struct tfs_voxel_lines *lines, const struct tfs_voxel_box *box,
                         struct tfs_buf *out, struct tfs_error *err);
/* The next `count` voxels have these values. */
void tfs_voxel_lines_add(struct tfs_voxel_lines *lines, uint32_t count,
                         const struct tfs_voxel_values *values);
/* The next voxel has values that are printed now: where, with room for so many bytes (NULL: no
 * memory); and the end of what was printed, behind the line end. */
uint8_t *tfs_voxel_line_begin(struct tfs_voxel_lines *lines, size_t room);
void tfs_voxel_line_end(struct tfs_voxel_lines *lines, const uint8_t *end);
/* The next rows along x, from the beginning of one on: voxels have the values of their numbers,
 * values[ids[i]]. */
void tfs_voxel_lines_add_rows(struct tfs_voxel_lines *lines, uint32_t rows, const uint32_t *ids,
                              const struct tfs_voxel_values *values);
void tfs_voxel_lines_close(struct tfs_voxel_lines *lines);

/* Appends the header line with these columns. */
void tfs_voxel_header_print(struct tfs_buf *out, const char *const *names, unsigned count);

/* ---- reading --------------------------------------------------------------------------------- */

#define TFS_VOXEL_COLUMNS 8

/* The columns beside x, y and z. */
struct tfs_voxel_columns {
    const char *const *names;
    unsigned count;    /* at most TFS_VOXEL_COLUMNS */
    bool may_lack_any; /* the header need not name all of them */
    bool have_depths;  /* a name may have a slash and what it is stored in behind it: `sdf/32` */
};

/* To be given to the reader again and again: a row like the one before keeps what that set. */
struct tfs_voxel_row {
    int64_t at[3];
    size_t voxel; /* its index in the chunk */
    bool again;   /* the same values as the row before, and `fields` are those of that one */
    struct tfs_line fields[TFS_VOXEL_COLUMNS]; /* of the columns that are there */
};

/* Zero-initialised. */
struct tfs_voxel_reader {
    bool has[TFS_VOXEL_COLUMNS];               /* which columns the header names */
    struct tfs_line depths[TFS_VOXEL_COLUMNS]; /* until the first row is read: what stands behind
                                                * the slash; data NULL: there is none */

    /* For voxels_csv_read.c only. */
    const struct tfs_voxel_columns *columns;
    struct tfs_edit *edit;
    uint64_t version;         /* of the edit's document when the reading began */
    struct tfs_voxel_box box; /* of the chunk that the rows lie in */
    int64_t low[3];           /* its first voxel */
    bool fresh, decided;
    struct tfs_error elsewhere; /* the first row lies in another chunk than this one */
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_buf scratch;
    unsigned column[3 + TFS_VOXEL_COLUMNS]; /* of each field: 0 to 2 are x, y and z */
    unsigned axis[3];                       /* the fields of x, y and z */
    bool plain;                             /* which are the first ones */
    /* Of the row before, if it was a plain one: what stands behind x, and behind z; and the first
     * voxel along x. */
    struct tfs_span rest, values;
    size_t first;
    const uint8_t *begin; /* of the line */
};

/* Reads the header line. `edit` is what the caller is going to store the voxels in. The rows must
 * lie in the chunk; with `fresh` they may all lie in another one. */
int tfs_voxel_reader_open(struct tfs_voxel_reader *r, const struct tfs_voxel_columns *columns,
                          const struct tfs_voxel_box *box, struct tfs_edit *edit, bool fresh,
                          struct tfs_span text, struct tfs_error *err);
/* 1: *row is the next one; 0: the end; negative: rejected. Of rows of one voxel the last one
 * counts. Fields hold until the next call. */
int tfs_voxel_reader_next(struct tfs_voxel_reader *r, struct tfs_voxel_row *row,
                          struct tfs_error *err);
/* Sets the fields of a row that has the values of the one before, to name their place. */
void tfs_voxel_reader_fields(const struct tfs_voxel_reader *r, struct tfs_voxel_row *row);
/* At the end of the put, whatever its result. Rows that all lie in another chunk are rejected,
 * unless this one was just made, or the put made no change: they say what is here already. Returns
 * err->code. */
int tfs_voxel_reader_close(struct tfs_voxel_reader *r, struct tfs_error *err);

#endif
