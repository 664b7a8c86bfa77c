/*
 * Makes BeamNG and Torque3D terrains out of nothing: `.ter` files of every layout and the
 * `.terrain.json` beside them.
 *
 * Written from src/formats/beamng/FORMAT.md apart from the code under test, and uses none of it.
 * Everything is deterministic: the same seed gives the same bytes.
 */
#ifndef TFS_TESTS_TER_MAKER_H
#define TFS_TESTS_TER_MAKER_H

#include "region_maker.h"

enum ter_kind {
    TER_PLAIN,     /* 3 bytes a sample */
    TER_CORNERS,   /* 7: the block of version 8 */
    TER_COMMUNITY, /* 8: texture map and four coverage maps */
    TER_TEXTURE,   /* 4: texture map */
};

struct ter_world {
    uint8_t version;
    enum ter_kind kind;
    bool nul; /* a 00 behind each name */
    uint32_t side;
    uint64_t seed;
    unsigned materials; /* up to 254 */
};

/* Hills, layers by height with roads and some holes; extra planes that tell their samples apart. */
void ter_make(struct maker_bytes *b, const struct ter_world *world);
/* The names that ter_make gives, as BeamNG writes them: `name` is that of the .ter. */
void ter_make_sidecar(struct maker_bytes *b, const struct ter_world *world, const char *name);

/* The four corners of square i by the rule, from all layers. */
void ter_corner_rule(const uint8_t *layers, uint32_t side, uint64_t i, uint8_t corners[4]);

#endif
