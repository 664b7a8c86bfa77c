/*
 * heightmap.png and map.png of saves made of voxels: what a game fills in, and the lenses it gets.
 * A game without these pictures fills in what comparing needs alone: size, open, close, take and
 * the last ones.
 *
 * A picture shows the chunks of group 0 from above, x to the right, z down (up where that is
 * north), one pixel a column of voxels, over the bounds of the chunks that exist. The height of a
 * column is the number of voxels from the bottom of these bounds to above its highest voxel that is
 * not empty; 0: all are empty.
 *
 * A game sets tfs_tree.voxels and has these rows in its root files, counted by tfs_picture_count:
 *   {.path = "heightmap.png", .flags = TFS_FILE_LATE, .lens = &tfs_heightmap_lens, .count = ...}
 * and two families, `heightmaps/` and `maps/`, of tiles, tfs_heightmap_tiles and tfs_map_tiles.
 */
#ifndef TFS_FORMATS_PICTURE_PICTURE_H
#define TFS_FORMATS_PICTURE_PICTURE_H

#include "formats/format.h"

/* ---- what a game fills in -------------------------------------------------------------------- */

#define TFS_COLOUR_NONE UINT32_MAX

/* What one column of a chunk looks like from above. */
struct tfs_column {
    uint16_t top;    /* voxels up to and with the highest that is not empty; 0: none */
    uint16_t water;  /* so many of them, from the top, are water without a gap */
    uint32_t colour; /* of the top voxel, 0xRRGGBB */
    uint32_t bed; /* of the voxel right below the water; TFS_COLOUR_NONE: empty, or not in here */
};

/* Voxels of one column of a chunk: local coordinates, from <= y < to. */
struct tfs_stretch {
    uint32_t x, z;
    uint32_t from, to;
};

struct tfs_voxel_sum; /* formats/diff/sum.h */

/* All chunks of group 0 have one size. A voxel that is carried from one place to another is a
 * string of bytes that only the game understands: equal voxels have equal bytes. */
struct tfs_voxels {
    const struct tfs_cells_kind *cells; /* what the functions of formats/views are about */
    struct tfs_voxel_size
        fixed; /* of every chunk of the format; all 0: `size` and `sides` say it */
    struct tfs_voxel_size (*size)(const struct tfs_doc *doc);
    bool north_up; /* z grows to the north: pictures have the greatest z at their top */

    /* Fills columns[z * size.x + x], all zero before. Thread-safe. */
    int (*columns)(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns, struct tfs_error *err);

    /* A chunk decoded to be changed, into `chunk_size` bytes that are 0 before. `close` comes after
     * a failure, too. `store` makes what it has become part of the edit, and nothing when it is
     * what it was. Others call tfs_voxels_open. */
    size_t chunk_size;
    int (*open)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key, void *chunk,
                struct tfs_error *err);
    void (*close)(void *chunk);
    int (*store)(struct tfs_save *save, struct tfs_edit *edit, void *chunk, struct tfs_error *err);

    /* Adds a chunk that voxels are going to be put into. NULL: as tree->chunk_create does. */
    int (*create)(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                  struct tfs_error *err);

    /* Appends the voxel at the stretch's lower end. */
    int (*take)(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                struct tfs_error *err);
    /* Puts the voxel into the whole stretch, or empties it. `voxel` outlives the chunk. */
    int (*fill)(void *chunk, struct tfs_stretch at, struct tfs_span voxel, struct tfs_error *err);
    int (*clear)(void *chunk, struct tfs_stretch at, struct tfs_error *err);
    /* Empties of the stretch what `columns` sees, for a picture whose column becomes lower. NULL:
     * it sees all that is not empty. */
    int (*lower)(void *chunk, struct tfs_stretch at, struct tfs_error *err);

    /* Makes the voxel a full one, where it can be a partial one. NULL: there are no partial
     * ones. */
    void (*make_full)(const struct tfs_voxels *voxels, uint8_t *voxel);

    /* For comparing (formats/diff/diff.h), of a format without `fixed`. How many voxels an opened
     * chunk has along its sides, whatever its group; all 0: it has none. */
    struct tfs_voxel_size (*sides)(const void *chunk);
    /* Appends what people call the voxel, printable and on one line: `Grass@76`. Voxels that print
     * the same are the same. Brief: what they are counted as, `Grass`; nothing: they are not. */
    void (*print)(const struct tfs_voxels *voxels, struct tfs_span voxel, bool brief,
                  struct tfs_buf *out);
    /* It is as if nothing were there. */
    bool (*empty)(const struct tfs_voxels *voxels, struct tfs_span voxel);
    /* The height, of voxels that are samples of a surface. NULL: they are not. */
    uint32_t (*height)(struct tfs_span voxel);
    const char *unit; /* what one voxel is called; NULL: "voxel" */
    /* With merge_names: do two opened chunks have equal bytes, and names that mean the same by
     * them? */
    bool (*same)(const void *a, const void *b);
    /* A chunk that a save lacks is all empty voxels. False: it was not stored yet, and what will be
     * there is the game's matter, or nobody knows. */
    bool absent_is_empty;
    /* For `merge`, of a format whose voxels have names of the whole save (parts): what base (NULL:
     * there is none), ours and theirs call their numbers -> the parts that each of them is to have
     * instead, and then those of the result, as references of the caller, also after a failure. A
     * name that one side changed is that of all. *conflict: what both changed, of which `prefer`
     * stays. Numbers of ours are those of the result. NULL: no chunk means something else with
     * other parts. */
    int (*merge_names)(const struct tfs_doc *const docs[3], int prefer, struct tfs_blob *parts[4],
                       const char **conflict, struct tfs_error *err);
    /* For `text`: counts the chunk's voxels by tfs_voxel_sum_count, and appends to sum->same what
     * is equal for two chunks exactly when their voxels are. NULL: they are taken one by one. */
    int (*sum)(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err);
};

/* The chunk decoded, to be closed; and what `fixed`, `size` and `sides` say. */
int tfs_voxels_open(const struct tfs_voxels *voxels, struct tfs_save *save,
                    const struct tfs_doc *doc, struct tfs_key key, void **chunk,
                    struct tfs_error *err);
void tfs_voxels_close(const struct tfs_voxels *voxels, void *chunk);
struct tfs_voxel_size tfs_voxels_size(const struct tfs_voxels *voxels, const struct tfs_doc *doc);
struct tfs_voxel_size tfs_voxels_sides(const struct tfs_voxels *voxels, const void *chunk);

/* ---- what it gets ---------------------------------------------------------------------------- */

extern const struct tfs_lens tfs_heightmap_lens;
extern const struct tfs_lens tfs_heightmap_view_lens; /* heightmap-view.png */
extern const struct tfs_lens tfs_map_lens;
extern const struct tfs_lens tfs_heightmap_tile_lens;
extern const struct tfs_lens tfs_map_tile_lens;

/* Tiles show 256 x 256 columns each, or as many as whole chunks have up to that: RX_RZ.png those
 * from x = RX * 256 and z = RZ * 256 on. There is one wherever there are chunks. */
#define TFS_PICTURE_TILE 256
/* What their numbers are below (tfs_file.count); 0 above 65,535 high, and where tfs_tree.tiled
 * says so. */
uint32_t tfs_picture_tiles(const struct tfs_tree *tree, const struct tfs_doc *doc);
extern const struct tfs_family tfs_heightmap_tiles, tfs_map_tiles;

/* 1 where there are pictures; 0 without chunks, above 8,192 pixels a side or 65,535 high. */
uint32_t tfs_picture_count(const struct tfs_tree *tree, const struct tfs_doc *doc);
/* The same of map.png, which shows squares of columns as one pixel where the others end. 0 without
 * chunks, and where a chunk alone is wider than a picture. */
uint32_t tfs_picture_map_count(const struct tfs_tree *tree, const struct tfs_doc *doc);

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
        .path = "heightmap.png", .flags = TFS_FILE_LATE, .lens = &tfs_heightmap_lens,              \
        .count = tfs_picture_count                                                                 \
    }
#define TFS_HEIGHTMAP_VIEW_FILE                                                                    \
    {                                                                                              \
        .path = "heightmap-view.png", .lens = &tfs_heightmap_view_lens, .count = tfs_picture_count \
    }
#define TFS_MAP_FILE                                                                               \
    {                                                                                              \
        .path = "map.png", .flags = TFS_FILE_LATE, .lens = &tfs_map_lens,                          \
        .count = tfs_picture_map_count                                                             \
    }
#define TFS_HEIGHTMAP_TILES                                                                        \
    {                                                                                              \
        .path = "heightmaps/", .flags = TFS_FILE_LATE, .lens = &tfs_heightmap_tile_lens,           \
        .count = tfs_picture_tiles, .family = &tfs_heightmap_tiles                                 \
    }
#define TFS_MAP_TILES                                                                              \
    {                                                                                              \
        .path = "maps/", .flags = TFS_FILE_LATE, .lens = &tfs_map_tile_lens,                       \
        .count = tfs_picture_tiles, .family = &tfs_map_tiles                                       \
    }

#endif
