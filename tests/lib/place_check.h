/*
 * Any bytes as a file that holds Roblox terrain, for fuzz targets.
 */
#ifndef TFS_TESTS_PLACE_CHECK_H
#define TFS_TESTS_PLACE_CHECK_H

#include "place_case.h"

/* What is refused has a sentence; of what is accepted everything can be read, written back without
 * a change, and encoded to the very bytes; and after an edit it reads back. Aborts otherwise. */
void place_check(const struct tfs_container *container, struct tfs_span bytes);

#endif
