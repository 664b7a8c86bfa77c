/*
 * Makes the folder of a BeamNG level out of nothing: its objects and its terrains (ter_maker.h).
 *
 * Written from src/formats/beamng/FORMAT.md apart from the code under test, and uses none of it.
 */
#ifndef TFS_TESTS_LEVEL_MAKER_H
#define TFS_TESTS_LEVEL_MAKER_H

#include "ter_maker.h"

struct level_world {
    struct ter_world terrain; /* of the first; each further one has the next seed */
    unsigned terrains;
};

/* theTerrain.ter, theTerrain2.ter, ... and the files of objects below `main`, in the directory DIR,
 * which is made with those above it: the exit status. Every terrain has squares of 2 metres, is 500
 * metres high, and lies at -SIZE -SIZE -10.5. */
int level_make(const char *directory, const struct level_world *level);

#endif
