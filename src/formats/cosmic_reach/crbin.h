/*
 * CRBin, the serialisation of block entities, as far as their coordinates need it (FORMAT.md,
 * section 7).
 */
#ifndef TFS_FORMATS_COSMIC_REACH_CRBIN_H
#define TFS_FORMATS_COSMIC_REACH_CRBIN_H

#include "formats/save/document.h"

/* Appends `bytes` with the coordinates of every block entity shifted by so many blocks along x, y,
 * z: 1. 0: that cannot be done, because the bytes are not understood to their last one, or a
 * coordinate would not fit; nothing is appended then. -ENOMEM. */
int tfs_cosmic_crbin_shift(struct tfs_span bytes, const int64_t by[3], struct tfs_buf *out,
                           struct tfs_error *err);

/* Are the bytes understood to their last one, and so go along with their chunk: 1 or 0? -ENOMEM. */
int tfs_cosmic_crbin_check(struct tfs_span bytes, struct tfs_error *err);

/* The chunk that all block entities lie in: 1; 0 when there is not one such chunk, or the bytes are
 * not understood. -ENOMEM. */
int tfs_cosmic_crbin_chunk(struct tfs_span bytes, struct tfs_key *chunk, struct tfs_error *err);

#endif
