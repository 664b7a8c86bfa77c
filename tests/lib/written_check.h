/*
 * The second law of every tree (docs/semantics.md, T1, PutGet): what was written and accepted is
 * what reads afterwards. lens_check.h has the others.
 *
 * Of a chunk, each view of each plane (grid, column of voxels.csv, array of the chunk, of its
 * group) gets another value for a voxel; then the stored cells have this value and no other plane
 * that the text says has another, and all views show it. A text of no plane gets a line less,
 * another digit or the text of another chunk, and a picture other pixels: it then reads as it was
 * written.
 *
 * Takes the files from the tables of the tree, and reads views on its own. A law that does not hold
 * aborts.
 */
#ifndef TFS_TESTS_WRITTEN_CHECK_H
#define TFS_TESTS_WRITTEN_CHECK_H

#include "lens_check.h"
#include "region_maker.h"

/* Makes the edits in c->doc: so many rounds, each of a chunk that is drawn. Returns how many
 * changed something. */
unsigned written_check(struct lens_check *c, unsigned rounds, uint64_t seed);

/* Appends the text without one of its lines, which is drawn. */
void written_cut_line(struct maker_random *rnd, const struct tfs_buf *text, struct tfs_buf *cut);

#endif
