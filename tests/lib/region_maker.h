/*
 * Makes Cosmic Reach regions out of nothing: what tests, fuzz corpora and benchmarks read.
 *
 * Written from src/formats/cosmic_reach/FORMAT.md apart from the code under test, and uses none of
 * it. Everything is deterministic: the same seed gives the same bytes. Running out of memory ends
 * the process.
 */
#ifndef TFS_TESTS_REGION_MAKER_H
#define TFS_TESTS_REGION_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAKER_VOXELS 4096
#define MAKER_LAYERS 16

/* A growing buffer; zero-initialised = empty. */
struct maker_bytes {
    uint8_t *data;
    size_t size, capacity;
};

void maker_release(struct maker_bytes *b);
void maker_add(struct maker_bytes *b, const void *data, size_t size);
void maker_u8(struct maker_bytes *b, unsigned v);
void maker_u16(struct maker_bytes *b, unsigned v);
void maker_s32(struct maker_bytes *b, int64_t v);
void maker_string(struct maker_bytes *b, const char *text); /* s32 length, bytes */

struct maker_random {
    uint64_t state;
};

uint32_t maker_draw(struct maker_random *r, uint32_t below); /* 0 .. below - 1 */

/* ---- sections of a chunk body ---------------------------------------------------------------- */

/* Layer types of block data; 0 = as the game would choose. */
enum maker_layer {
    MAKER_CANONICAL,
    MAKER_SINGLE_BYTE,
    MAKER_SINGLE_INT,
    MAKER_HALFNIBBLE,
    MAKER_NIBBLE,
    MAKER_BYTE,
    MAKER_SHORT,
    MAKER_BIT,
};

/* 256 values of one layer in that type; they must fit it (SINGLE_*: ids[0]). */
void maker_layer(struct maker_bytes *b, enum maker_layer type, const uint16_t *ids,
                 int32_t version);

/* LAYERED with these names and ids[(y*16 + z)*16 + x], all layers canonical for that chunk
 * version. */
void maker_layered(struct maker_bytes *b, const char *const *names, int32_t count,
                   const uint16_t *ids, int32_t version);
/* What the game would store: SINGLE or LAYERED, palette in its order of first appearance. */
void maker_game_blocks(struct maker_bytes *b, const char *const *names, int32_t count,
                       const uint16_t *ids, int32_t version);
void maker_single(struct maker_bytes *b, const char *name);
void maker_sky(struct maker_bytes *b, const uint8_t *levels); /* canonical; NULL: NONE */
void maker_light(struct maker_bytes *b, const uint16_t *rgb); /* as the game: black layers SINGLE */
void maker_entities(struct maker_bytes *b, const char *bytes, int64_t size); /* -1: none */

/* ---- regions --------------------------------------------------------------------------------- */

struct maker_chunk {
    int32_t x, y, z, version;
    struct maker_bytes body;
};

/* Chunks in the order of the data; versions 4 and up want the chunks of a column together, y
 * ascending. */
struct maker_region {
    int32_t version;
    int32_t compression; /* 0 or 2 */
    unsigned offsets;    /* versions 4 and up: 1 to 4 = s8 to s64; 0 = s16 if it fits, else s32 */
    struct maker_chunk *chunks;
    size_t count, capacity;
};

/* Empty; compression as the game writes that version. */
struct maker_region maker_region_init(int32_t version);
void maker_region_release(struct maker_region *r);

/* A new chunk at the end, with the region's version and an empty body to be filled. */
struct maker_chunk *maker_region_add(struct maker_region *r, int32_t x, int32_t y, int32_t z);

/* The file's bytes; payload: without the 12-byte header and compression (versions 4 and up). */
void maker_region_write(const struct maker_region *r, struct maker_bytes *out);
void maker_payload_write(const struct maker_region *r, struct maker_bytes *out);

/* The kinds of make_region. `chunks` at most 4096; region 0,0,0 but for random, which draws one. */
void maker_demo(struct maker_region *r, unsigned chunks, uint64_t seed);
void maker_bench(struct maker_region *r, unsigned chunks, uint64_t seed);
void maker_random_region(struct maker_region *r, unsigned chunks, uint64_t seed);
/* One random body for a chunk of that version: any section and layer type, odd names, any
 * palette. */
void maker_random_body(struct maker_bytes *b, struct maker_random *r, int32_t version);

#endif
