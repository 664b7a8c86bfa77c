/*
 * heightmap.png and map.png of saves made of voxels (formats/cells/cells.h).
 *
 * A picture shows the chunks of group 0 from above, x to the right, z down (up where that is
 * north), one pixel a column of voxels, over the bounds of the chunks that exist. The height of a
 * column is the number of voxels from the bottom of these bounds to above its highest voxel that is
 * not empty; 0: all are empty.
 *
 * A game has them in its root files by the macros at the end.
 */
#ifndef TFS_FORMATS_VIEWS_PICTURES_PICTURE_H
#define TFS_FORMATS_VIEWS_PICTURES_PICTURE_H

#include "formats/format.h"

#define TFS_COLOUR_NONE UINT32_MAX

/* What one column of a chunk looks like from above. */
struct tfs_column {
    uint16_t top;    /* voxels up to and with the highest that is not empty; 0: none */
    uint16_t water;  /* so many of them, from the top, are water without a gap */
    uint32_t colour; /* of the top voxel, 0xRRGGBB */
    uint32_t bed; /* of the voxel right below the water; TFS_COLOUR_NONE: empty, or not in here */
};

/* The columns of a chunk, of group 0: fills columns[z * size.x + x], all zero before. Thread-safe.
 * (from_above.c) */
int tfs_columns_of(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns, struct tfs_error *err);

/* ---- what a game gets ------------------------------------------------------------------------ */

extern const struct tfs_lens tfs_heightmap_lens;
extern const struct tfs_lens tfs_heightmap_view_lens; /* heightmap-view.png */
extern const struct tfs_lens tfs_map_lens;
extern const struct tfs_lens tfs_heightmap_tile_lens;
extern const struct tfs_lens tfs_map_tile_lens;

/* Tiles show 256 x 256 columns each, or as many as whole chunks have up to that: RX_RZ.png those
 * from x = RX * 256 and z = RZ * 256 on. There is one wherever there are chunks. */
#define TFS_PICTURE_TILE 256
/* What their numbers are below (tfs_file.count); 0 where there is no map, the tree lists none, and
 * where pictures have them all, unless TFS_CELLS_TILED. */
uint32_t tfs_picture_tiles(const struct tfs_tree *tree, const struct tfs_doc *doc);
extern const struct tfs_family tfs_picture_tile_names;

/* 1 where there are pictures of each column; 0 where there is no map, above 8,192 pixels a side. */
uint32_t tfs_picture_count(const struct tfs_tree *tree, const struct tfs_doc *doc);
/* The same of map.png, which shows squares of columns as one pixel where the others end. 0 without
 * chunks, above 65,535 high, and where a chunk alone is wider than a picture. */
uint32_t tfs_picture_map_count(const struct tfs_tree *tree, const struct tfs_doc *doc);

/* Heights of fewer bits than 16 lose what that pixel needs. */
int tfs_picture_fail_depth(unsigned depth, uint64_t x, uint64_t y, struct tfs_error *err);

/* The lines of info.txt: size, origin and bottom, or why there are no pictures. */
void tfs_picture_info(struct tfs_buf *out, const struct tfs_tree *tree, const struct tfs_doc *doc);

/* ---- colours --------------------------------------------------------------------------------- */

/* The colour of a block by the words in its name: always the same for the same name. *water: is it
 * water? */
uint32_t tfs_colour_of_name(struct tfs_span name, bool *water);

/* A colour for what has only a number or unknown words. */
uint32_t tfs_colour_of_hash(struct tfs_span bytes);

/* What is seen of a voxel with a name. All 0: nobody has looked at the name yet. */
struct tfs_name_look {
    enum { TFS_LOOK_UNKNOWN, TFS_LOOK_NOTHING, TFS_LOOK_WATER, TFS_LOOK_SOLID } kind;
    uint32_t colour;
};

struct tfs_name_look tfs_name_look(struct tfs_span name, bool nothing);

/* Adds the next voxel of a column, from above; `y` is its height in the chunk. True: nothing is
 * seen of those below. Called for each voxel: a call would cost a tenth of a picture. */
static inline bool tfs_column_add(struct tfs_column *column, uint32_t y,
                                  const struct tfs_name_look *look)
{
    if (column->top == 0 && look->kind == TFS_LOOK_NOTHING)
        return false;
    if (column->top == 0) {
        column->top = (uint16_t)(y + 1);
        column->colour = look->colour;
        column->bed = TFS_COLOUR_NONE;
    } else if (look->kind == TFS_LOOK_SOLID) {
        column->bed = look->colour;
    }
    column->water = (uint16_t)(column->water + (look->kind == TFS_LOOK_WATER));
    return look->kind != TFS_LOOK_WATER;
}

/* The files of the root with pictures, for the table of a game. */
#define TFS_HEIGHTMAP_FILE                                                                         \
    {                                                                                              \
        .path = "heightmap.png", .lens = &tfs_heightmap_lens, .count = tfs_picture_count           \
    }
#define TFS_HEIGHTMAP_VIEW_FILE                                                                    \
    {                                                                                              \
        .path = "heightmap-view.png", .lens = &tfs_heightmap_view_lens, .count = tfs_picture_count \
    }
#define TFS_MAP_FILE                                                                               \
    {                                                                                              \
        .path = "map.png", .lens = &tfs_map_lens, .count = tfs_picture_map_count                   \
    }
#define TFS_HEIGHTMAP_TILES                                                                        \
    {                                                                                              \
        .path = "heightmaps/", .lens = &tfs_heightmap_tile_lens, .count = tfs_picture_tiles,       \
        .family = &tfs_picture_tile_names                                                          \
    }
#define TFS_MAP_TILES                                                                              \
    {                                                                                              \
        .path = "maps/", .lens = &tfs_map_tile_lens, .count = tfs_picture_tiles,                   \
        .family = &tfs_picture_tile_names                                                          \
    }

#endif
