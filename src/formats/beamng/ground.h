/*
 * Where a terrain lies in its level, and what its numbers are in metres (FORMAT.md, section 7).
 */
#ifndef TFS_FORMATS_BEAMNG_GROUND_H
#define TFS_FORMATS_BEAMNG_GROUND_H

#include "formats/save/document.h"
#include "image/png.h"

#define TFS_BEAMNG_NAME_ROOM 256

struct tfs_beamng_ground {
    char level[TFS_BEAMNG_NAME_ROOM]; /* the name of its folder; "": the terrain is in none */
    char block[TFS_BEAMNG_NAME_ROOM]; /* the name of the TerrainBlock; "": it has none */
    bool live;                        /* a TerrainBlock shows it; else nothing below is known */
    bool placed, scaled;              /* position is known; and what a height is in metres */
    double position[3];
    double square;      /* metres between two samples */
    double height;      /* maxHeight; 0: not known */
    double low, metres; /* scaled: a number is low + number * metres */
};

/* What the level around the file at `path` says of it, with warnings for `facts`. 0 or -ENOMEM with
 * sentence; a level that cannot be read says nothing. */
int tfs_beamng_ground_look(const char *path, unsigned version, struct tfs_facts *facts,
                           struct tfs_beamng_ground *ground, struct tfs_error *err);

/* The texts of a height map, which must agree when one is written. */
#define TFS_BEAMNG_TEXTS     4
#define TFS_BEAMNG_TEXT_ROOM 96
struct tfs_beamng_texts {
    struct tfs_png_text items[TFS_BEAMNG_TEXTS];
    char values[TFS_BEAMNG_TEXTS][TFS_BEAMNG_TEXT_ROOM];
    size_t count;
};

void tfs_beamng_ground_texts(const struct tfs_beamng_ground *ground,
                             struct tfs_beamng_texts *texts);

/* The shortest decimal of a number, and its end. */
#define TFS_BEAMNG_NUMBER_ROOM 32
const char *tfs_beamng_number(double value, char text[TFS_BEAMNG_NUMBER_ROOM]);

#endif
