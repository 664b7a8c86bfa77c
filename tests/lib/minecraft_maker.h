/*
 * Regions of Minecraft made for tests, from the layouts in minecraft/FORMAT.md and apart from the
 * codec.
 *
 * A column has two sections, at 0 and 1: stone with a log in it below air, and air; both with
 * lights, and what the game says of a finished column. The same for the same coordinates. All
 * functions abort when they fail.
 */
#ifndef TFS_TESTS_MINECRAFT_MAKER_H
#define TFS_TESTS_MINECRAFT_MAKER_H

#include "formats/save/document.h"

/* Games that store blocks each in their own way. */
enum minecraft_game { MINECRAFT_12, MINECRAFT_13, MINECRAFT_16, MINECRAFT_18, MINECRAFT_GAMES };

struct minecraft_world {
    enum minecraft_game game;
    uint8_t packing;    /* 1 gzip, 2 zlib, 3 stored, 4 LZ4 */
    unsigned columns;   /* from 0, 0 of the region on, along x */
    const char *status; /* NULL: finished */
    unsigned below;     /* sections that the world has below 0 */
};

/* Appends the NBT of a column. */
void minecraft_column(struct tfs_buf *out, const struct minecraft_world *world, int32_t x,
                      int32_t z);
/* Appends a region file. */
void minecraft_region(struct tfs_buf *out, const struct minecraft_world *world, int32_t x,
                      int32_t z);
/* A region file; a folder of two. */
void minecraft_file(const char *path, const struct minecraft_world *world);
void minecraft_folder(const char *path, const struct minecraft_world *world);

#endif
