/*
 * Sixteen layers of 256 values: what block data, sky light and block light have in common.
 *
 * Values come out in grid order, (y * 16 + z) * 16 + x, as they are stored: a sky level may exceed
 * 15 and a light value 0xfff (FORMAT.md, sections 3 and 4); cells.c masks them.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_LAYERS_H
#define TFS_FORMATS_COSMIC_REACH_LAYERS_H

#include "base/buf.h"
#include "formats/cosmic_reach/layout.h"

/* 256 values of one layer from the bytes behind its type. */
typedef void (*tfs_cosmic_decode_fn)(uint8_t type, const uint8_t *bytes, uint32_t *values);

/* Where the layers of a section lie. A section of one value is sixteen layers of that value. */
struct tfs_cosmic_layers {
    tfs_cosmic_decode_fn decode;
    uint8_t types[TFS_COSMIC_LAYERS];
    struct tfs_span bytes[TFS_COSMIC_LAYERS];
};

/* The layers of one section: what the sentence calls it, the type of its highest layer, and the
 * number of bytes behind each type (0 = unknown type). */
struct tfs_cosmic_layer_kind {
    const char *what;
    uint8_t highest;
    uint16_t sizes[8];
    tfs_cosmic_decode_fn decode;
};

extern const struct tfs_cosmic_layer_kind tfs_cosmic_block_layers;
extern const struct tfs_cosmic_layer_kind tfs_cosmic_sky_layers;
extern const struct tfs_cosmic_layer_kind tfs_cosmic_light_layers;

#define TFS_COSMIC_NO_NUMBER UINT32_MAX
#define TFS_COSMIC_ROOM_MIN  16 /* entries that a map has at least */

/* Values of a layer of block data as shorts, little-endian, of 16 bits: map[index]. `map` has
 * `room` entries, a power of two; those behind the palette are TFS_COSMIC_NO_NUMBER. False: an
 * index has no number, and `shorts` is undefined. */
bool tfs_cosmic_layer_map(uint8_t type, const uint8_t *bytes, const uint32_t *map, uint32_t room,
                          uint8_t *shorts);

/* Takes sixteen layers off the cursor; EBADMSG names the cursor's offset. */
int tfs_cosmic_layers_take(struct tfs_cursor *c, const struct tfs_cosmic_layer_kind *kind,
                           struct tfs_cosmic_layers *layers, struct tfs_error *err);

/* Sixteen layers of that type and these bytes. */
void tfs_cosmic_layers_repeat(struct tfs_cosmic_layers *layers,
                              const struct tfs_cosmic_layer_kind *kind, uint8_t type,
                              struct tfs_span bytes);

void tfs_cosmic_layers_decode(const struct tfs_cosmic_layers *layers,
                              uint32_t values[TFS_COSMIC_VALUES]);

/* Appends 256 values of `width` bits each (1, 2, 4, 8 or 16), lowest bits first, shorts big
 * endian. */
void tfs_cosmic_pack(struct tfs_buf *out, unsigned width, const uint32_t *values);

/* Are these 256 values equal? */
bool tfs_cosmic_values_equal(const uint32_t *values);

#endif
