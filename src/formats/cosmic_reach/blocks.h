/*
 * Block data: a palette of names and 4,096 indices into it (FORMAT.md, sections 3 to
 * 5).
 */
#ifndef TFS_FORMATS_COSMIC_REACH_BLOCKS_H
#define TFS_FORMATS_COSMIC_REACH_BLOCKS_H

#include "formats/cosmic_reach/layers.h"

/* A section where it lies: nothing decoded, nothing owned. */
struct tfs_cosmic_blocks {
    uint32_t count; /* palette entries, 1 to 4,096 */
    bool single;
    struct tfs_span palette; /* `count` strings, each behind its s32 length */
    struct tfs_span rest;    /* the layers; empty when single */
    struct tfs_cosmic_layers layers;
};

/* Takes the section off the cursor. Whether the indices lie in the palette is not looked at. */
int tfs_cosmic_blocks_take(struct tfs_cursor *c, struct tfs_cosmic_blocks *blocks,
                           struct tfs_error *err);
/* The same of a section that was taken before: cannot fail but for a damaged chunk. */
int tfs_cosmic_blocks_view(struct tfs_span section, struct tfs_cosmic_blocks *blocks,
                           struct tfs_error *err);

/* Are all indices inside the palette? EBADMSG names the offset of the layer, counted from
 * `start`. */
int tfs_cosmic_blocks_check(const struct tfs_cosmic_blocks *blocks, const uint8_t *start,
                            struct tfs_error *err);

/* The palette's next name; the cursor begins at blocks->palette. */
struct tfs_span tfs_cosmic_name_take(struct tfs_cursor *c);

/* A decoded section; names point into it. Freed with free(). */
struct tfs_cosmic_values {
    uint32_t ids[TFS_COSMIC_VALUES];
    uint32_t count;
    struct tfs_span names[];
};

int tfs_cosmic_blocks_decode(const struct tfs_cosmic_blocks *blocks,
                             struct tfs_cosmic_values **values, struct tfs_error *err);

/* Appends the canonical section of a chunk or column of that version: SINGLE when all voxels have
 * one name, else LAYERED with the palette as it is. */
void tfs_cosmic_blocks_encode(struct tfs_buf *out, const struct tfs_span *names, uint32_t count,
                              const uint32_t *ids, uint32_t version);

/* Appends the section with other names; layers stay as stored. A SINGLE one takes the first
 * name. */
void tfs_cosmic_blocks_rename(struct tfs_buf *out, const struct tfs_cosmic_blocks *blocks,
                              const struct tfs_span *names, uint32_t count);

#define TFS_COSMIC_AIR "base:air"
bool tfs_cosmic_is_air(struct tfs_span name);
/* The air that is written where the palette has none. */
struct tfs_span tfs_cosmic_air(uint32_t version);

#endif
