/*
 * Which files a tree says that a change concerns, by name, so that tests stay true when a file is
 * added.
 */
#ifndef TFS_TESTS_CHANGED_FILES_H
#define TFS_TESTS_CHANGED_FILES_H

#include "formats/format.h"

/* The paths of the files of the chunk that read differently, in their order, joined by a blank;
 * valid until the next call. */
const char *changed_chunk_files(struct tfs_save *save, const struct tfs_doc *before,
                                const struct tfs_doc *after, struct tfs_key key);

#endif
