/*
 * Which files a tree says that a change concerns, by name, so that tests stay true when a file is
 * added.
 */
#ifndef TFS_TESTS_CHANGED_FILES_H
#define TFS_TESTS_CHANGED_FILES_H

#include "formats/format.h"

/* The paths of the files whose bits are set, in their order, joined by a blank; valid until the
 * next call. Bits of files that do not exist are left out. */
const char *changed_chunk_files(const struct tfs_tree *tree, uint32_t bits);

#endif
