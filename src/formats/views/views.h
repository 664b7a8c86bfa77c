/*
 * The files that show cells (formats/cells/cells.h): one view, one set of functions, for all games.
 * A game lists them in its tables of files by these macros. `plane` is the number of a plane.
 */
#ifndef TFS_FORMATS_VIEWS_VIEWS_H
#define TFS_FORMATS_VIEWS_VIEWS_H

#include "formats/cells/edit.h"
#include "formats/views/voxels_csv.h"

/* ---- raw.bin (raw.c) ------------------------------------------------------------------------- */

int tfs_raw_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                struct tfs_buf *out, struct tfs_error *err);
int64_t tfs_raw_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
extern const struct tfs_lens tfs_raw_lens;

/* ---- voxels.csv: a line a voxel that is not empty (table.c) ---------------------------------- */

int tfs_cells_table_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err);
int64_t tfs_cells_table_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
int tfs_cells_table_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err);

extern const struct tfs_lens tfs_cells_table_lens; /* of a game whose chunks all have voxels */

/* The lines of planes of numbers, for table.c (numbers_table.c). */
int tfs_cells_number_lines(struct tfs_voxel_lines *lines, const struct tfs_cells *cells,
                           const unsigned *planes, unsigned count, struct tfs_error *err);

#define TFS_TEXT_MAX (UINT64_C(64) << 20) /* only chunks of a million voxels come near it */
/* EFBIG: a text of this size is not rendered. */
int tfs_cells_check_text(uint64_t size, struct tfs_error *err);

/* ---- grids and palettes of a chunk (grid.c) -------------------------------------------------- */

int tfs_cells_grid_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err);
int64_t tfs_cells_grid_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
int tfs_cells_grid_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
/* Has a chunk one value in all of the plane of that grid, or no voxels: 1 or 0? Negative as for
 * tfs_lens.exists. */
int tfs_cells_plane_filled(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
/* What stands behind `depth`, or behind the slash of a column: the plane is to be stored so. */
int tfs_cells_take_width(struct tfs_cells_edit *e, unsigned plane, struct tfs_line line,
                         struct tfs_error *err);
int tfs_cells_plane_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
int tfs_cells_plane_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                           struct tfs_error *err);

extern const unsigned tfs_plane_numbers[TFS_PLANES_MAX]; /* 0, 1, 2: the param of a lens */

/* A lens of a plane that every chunk has, and of an optional one, whose file is
 * TFS_APART_FILE(name, TFS_FILE_OPTIONAL, lens). */
#define TFS_GRID_LENS(plane)                                                                       \
    &(const struct tfs_lens)                                                                       \
    {                                                                                              \
        .param = &tfs_plane_numbers[plane], .get = tfs_cells_grid_get, .put = tfs_cells_grid_put,  \
        .size = tfs_cells_grid_size                                                                \
    }
#define TFS_OPTIONAL_GRID_LENS(plane)                                                              \
    &(const struct tfs_lens)                                                                       \
    {                                                                                              \
        .param = &tfs_plane_numbers[plane], .get = tfs_cells_grid_get, .put = tfs_cells_grid_put,  \
        .size = tfs_cells_grid_size, .exists = tfs_cells_plane_exists,                             \
        .remove = tfs_cells_plane_remove                                                           \
    }

extern const struct tfs_lens tfs_cells_palette_lens; /* palette.txt of a chunk */

/* ---- names of the save (names.c) ------------------------------------------------------------- */

extern const struct tfs_lens tfs_cells_names_lens; /* palette.txt of the root */

/* palette.txt of a kind whose first plane has values that the game names: all of these. */
int tfs_cells_values_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                         struct tfs_buf *out, struct tfs_error *err);
extern const struct tfs_lens tfs_cells_values_lens;

/* Gives the names of all chunks, some more than once. What cannot be read has none. */
int tfs_cells_all_names(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each,
                        void *arg, struct tfs_error *err);

#endif
