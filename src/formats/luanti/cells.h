/*
 * The cells of a block: its nodes, param2 and param1; and what its other files ask of it.
 */
#ifndef TFS_FORMATS_LUANTI_CELLS_H
#define TFS_FORMATS_LUANTI_CELLS_H

#include "formats/cells/cells.h"
#include "formats/luanti/order.h"

enum tfs_luanti_plane {
    TFS_LUANTI_PLANE_NODE,
    TFS_LUANTI_PLANE_PARAM2,
    TFS_LUANTI_PLANE_PARAM1,
    TFS_LUANTI_PLANES
};

extern const struct tfs_cells_kind tfs_luanti_cells;

/* The decoded block of cells without damage. */
static inline const struct tfs_luanti_block *tfs_luanti_block_of(const struct tfs_cells *cells)
{
    return cells->own;
}

/* Makes the encoded block the chunk's; nothing changes when it is that already. */
int tfs_luanti_cells_store(struct tfs_edit *edit, const struct tfs_cells *cells,
                           const struct tfs_luanti_block *block, struct tfs_error *err);
/* The same of stored bytes, which are known to decode. */
int tfs_luanti_cells_put(struct tfs_edit *edit, const struct tfs_cells *cells,
                         struct tfs_span bytes, struct tfs_error *err);

/* ---- what the blocks of a save agree on (sample.c) ------------------------------------------- */

/* The order of names that the save's blocks of that version have: found once, by looking into a few
 * of them. */
int tfs_luanti_order_of(struct tfs_save *save, const struct tfs_doc *doc, uint8_t version,
                        enum tfs_luanti_order *order, struct tfs_error *err);
/* The version that a new chunk gets: the highest of some blocks that can be read, 29 where there is
 * none. Found once for a document. */
int tfs_luanti_newest(struct tfs_save *save, const struct tfs_doc *doc, uint8_t *version,
                      struct tfs_error *err);

/* What is remembered of that (save->cache): created when the save is opened. */
int tfs_luanti_samples_create(struct tfs_save *save, struct tfs_error *err);
void tfs_luanti_samples_free(struct tfs_save *save);

#endif
