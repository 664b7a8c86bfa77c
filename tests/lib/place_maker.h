/*
 * Makes Roblox terrain out of nothing: SmoothGrid values, binary and XML places that hold them.
 *
 * Written from src/formats/roblox/FORMAT.md apart from the code under test, and uses none of it.
 * Everything is deterministic: the same seed gives the same bytes.
 */
#ifndef TFS_TESTS_PLACE_MAKER_H
#define TFS_TESTS_PLACE_MAKER_H

#include "region_maker.h"

/* Appends the bytes that the hex digits say; everything else in the text is skipped. */
void place_hex(struct maker_bytes *b, const char *hex);

/* ---- SmoothGrid ------------------------------------------------------------------------------ */

struct place_cell {
    uint8_t material, occupancy, water;
};

void place_offset(struct maker_bytes *b, const int32_t from[3], const int32_t to[3]);
/* The canonical records of these cells. */
void place_records(struct maker_bytes *b, const struct place_cell *cells, size_t count);
/* Any legal cells, with runs, lone water cells, unknown materials. */
void place_random_cells(struct maker_random *r, struct place_cell *cells, size_t count);

struct place_world {
    uint64_t seed;
    unsigned chunks; /* laid out in a square, two layers high */
    unsigned log2;   /* of the edge */
    bool random;     /* instead: any legal cells */
};

/* A value: hills, lakes with shorelines, caves, empty chunks above. */
void place_grid(struct maker_bytes *b, const struct place_world *world);

/* ---- files that hold values ------------------------------------------------------------------ */

enum place_coding { PLACE_STORED, PLACE_LZ4, PLACE_ZSTD };

/* Appends a chunk of a binary file: head, and the payload in that coding. */
void place_chunk(struct maker_bytes *b, const char name[4], enum place_coding coding,
                 const struct maker_bytes *payload);
/* The payload of a PROP of byte strings. */
void place_prop(struct maker_bytes *b, uint32_t class_id, const char *name,
                const struct maker_bytes *values, size_t count);
/* The payload of an INST of `count` instances. */
void place_inst(struct maker_bytes *b, uint32_t class_id, const char *name, uint32_t count);
void place_magic(struct maker_bytes *b, uint32_t classes, uint32_t instances);
void place_end(struct maker_bytes *b);

struct place_file {
    struct place_world world;
    unsigned regions; /* TerrainRegions; each a world of its own */
    enum place_coding coding;
    bool physics; /* a PhysicsGrid that lists nothing */
};

void place_binary(struct maker_bytes *b, const struct place_file *file);
void place_xml(struct maker_bytes *b, const struct place_file *file);
/* Base64 with a line end after every 72 characters. */
void place_base64(struct maker_bytes *b, const struct maker_bytes *bytes);

#endif
