/*
 * How many chunks a picture looks into: what it kept is not looked into again.
 */
#ifndef TFS_TESTS_LOOKED_INTO_H
#define TFS_TESTS_LOOKED_INTO_H

#include "formats/format.h"

/* Reads the columns of the whole picture of `doc`. */
size_t looked_into(struct tfs_save *save, const struct tfs_doc *doc);

#endif
