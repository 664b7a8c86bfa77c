/*
 * What follows from the blocks of a column (FORMAT.md, section 6): heightmaps, and whether light is
 * as it should be.
 */
#ifndef TFS_FORMATS_MINECRAFT_HEIGHTS_H
#define TFS_FORMATS_MINECRAFT_HEIGHTS_H

#include "formats/minecraft/section.h"

/* Turns what followed from the blocks of `before` into what follows from those of `after`, which
 * the same column has now. Payloads may lie in `room`. Fails for want of memory only: where a
 * section is damaged, heights are unknown. */
int tfs_mc_follow(const struct tfs_mc_parts *before, const struct tfs_mc_parts *after,
                  const struct tfs_mc_column *column, struct tfs_mc_follows *follows,
                  struct tfs_buf *room, struct tfs_error *err);

#endif
