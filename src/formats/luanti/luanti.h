/*
 * The saves of Luanti (Minetest): the rows in registry.c.
 */
#ifndef TFS_FORMATS_LUANTI_LUANTI_H
#define TFS_FORMATS_LUANTI_LUANTI_H

#include "formats/format.h"

extern const struct tfs_tree tfs_luanti_tree;
extern const struct tfs_container tfs_luanti_map_container;

#endif
