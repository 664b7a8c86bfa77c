/*
 * What the container knows of a map, for info.txt and for chunks that come and move.
 */
#ifndef TFS_FORMATS_LUANTI_MAP_H
#define TFS_FORMATS_LUANTI_MAP_H

#include "formats/format.h"

#define TFS_LUANTI_FARTHEST                                                                        \
    1938 /* blocks from the middle; the far side of an axis has one less                           \
          */

/* Lines of info.txt about the container. */
void tfs_luanti_map_describe(const struct tfs_doc *doc, struct tfs_buf *out);

/* May a block lie there? EINVAL with a sentence. */
int tfs_luanti_map_coordinate(struct tfs_key key, struct tfs_error *err);

#endif
