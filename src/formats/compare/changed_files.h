/*
 * Which files of a chunk read differently, so that the others keep their times.
 */
#ifndef TFS_FORMATS_COMPARE_CHANGED_FILES_H
#define TFS_FORMATS_COMPARE_CHANGED_FILES_H

#include "formats/format.h"

/* Bit i: chunk.files[i] of the tree. `before` and `after` are chunks of these documents; NULL:
 * there is none. May say too much, never too little. Nothing is fetched from the save. */
uint32_t tfs_changed_files(struct tfs_save *save, const struct tfs_doc *const docs[2],
                           const struct tfs_chunk *before, const struct tfs_chunk *after);

#endif
