/*
 * The TerrainBlock objects of a level: `items.level.json` files, one JSON object a line (FORMAT.md,
 * section 7).
 */
#ifndef TFS_FORMATS_BEAMNG_BLOCK_H
#define TFS_FORMATS_BEAMNG_BLOCK_H

#include "base/buf.h"

/* What one says of a terrain. */
struct tfs_beamng_block {
    char *name;         /* of the object; NULL: it has none */
    char *file;         /* terrainFile, as it stands there; NULL: none */
    bool placed;        /* `position` is known */
    double position[3]; /* of the south-west sample, in metres: east, north, up */
    double square;      /* metres between two samples */
    double height;      /* metres that 65535 stands for; 0: not known */
};

struct tfs_beamng_blocks {
    struct tfs_beamng_block *items;
    size_t count;
    size_t bad; /* lines that tell of such an object, but cannot be read */
};

void tfs_beamng_block_release(struct tfs_beamng_block *block);
void tfs_beamng_blocks_release(struct tfs_beamng_blocks *blocks);

/* Appends the TerrainBlock objects of the text of such a file: 0 or -ENOMEM. */
int tfs_beamng_blocks_read(struct tfs_span text, struct tfs_beamng_blocks *blocks);

#endif
