/*
 * The folder of a level: which terrains are live in it, and what its TerrainBlock objects say of
 * them (FORMAT.md, section 7). Links are not followed out of the level.
 */
#ifndef TFS_FORMATS_BEAMNG_LEVEL_H
#define TFS_FORMATS_BEAMNG_LEVEL_H

#include "formats/beamng/block.h"

/* A terrain that a TerrainBlock shows. */
struct tfs_beamng_live {
    char *path; /* of the .ter: absolute, links resolved */
    struct tfs_beamng_block block;
    size_t blocks; /* TerrainBlock objects that show it; `block` is the first */
};

struct tfs_beamng_level {
    char *path;                   /* absolute, links resolved */
    struct tfs_beamng_live *live; /* sorted by path */
    size_t count;
    size_t blocks; /* TerrainBlock objects in all */
    char *why;     /* of one whose terrain cannot be had, a sentence; NULL: there is none */
    size_t unread; /* lines and files that should be about such objects and cannot be read */
};

void tfs_beamng_level_release(struct tfs_beamng_level *level);

/* Is this the folder of a level? */
bool tfs_beamng_is_level(const char *folder);

/* The level that a path below it lies in: to be freed; NULL: in none. 0 or -ENOMEM. `path` is
 * absolute, links resolved. */
int tfs_beamng_level_around(const char *path, char **level);

/* Reads the objects of a level. 0 or -ENOMEM: whatever cannot be read is told in the level. */
int tfs_beamng_level_read(const char *folder, struct tfs_beamng_level *level);

#endif
