/*
 * A terrain as a document, and how its planes are read and changed.
 *
 * A chunk is a tile of 64 x 64 samples, key {0, X, 0, Z}; X counts tiles from the west, Z from the
 * south, and those at the east and north edge are as wide and high as what is left. Its blob holds
 * the heights of the tile, its second value all other planes, plane after plane as in the file,
 * rows from south to north: an edit of heights shares the others with the document before. Its tag
 * is the number of bytes a sample. `common` is the name table as stored. Nothing else is kept: a
 * terrain of one tile is its file without header.
 */
#ifndef TFS_FORMATS_BEAMNG_TERRAIN_H
#define TFS_FORMATS_BEAMNG_TERRAIN_H

#include "formats/beamng/ground.h"
#include "formats/beamng/ter.h"
#include "formats/format.h"

#define TFS_BEAMNG_TILE_SIDE      64
#define TFS_BEAMNG_TILE_SAMPLES   (TFS_BEAMNG_TILE_SIDE * TFS_BEAMNG_TILE_SIDE)
#define TFS_BEAMNG_TILE_BYTES_MAX (TFS_BEAMNG_TILE_SAMPLES * 8)

/* What is known of the sidecar (sidecar.h). */
enum tfs_beamng_sidecar_state {
    TFS_BEAMNG_SIDECAR_ABSENT,
    TFS_BEAMNG_SIDECAR_AGREES,
    TFS_BEAMNG_SIDECAR_DIFFERS,
    TFS_BEAMNG_SIDECAR_DAMAGED,
};

/* What a file says beside its samples: facts->own of its documents, by tfs_beamng_facts(). */
struct tfs_beamng_facts {
    struct tfs_beamng_layout layout;
    struct tfs_beamng_ground ground;
    atomic_int sidecar; /* enum tfs_beamng_sidecar_state, at the last reading or commit */
    bool sidecar_stale; /* the last commit could not write it */
};

/* Not const: the state of the sidecar changes with a commit. */
static inline struct tfs_beamng_facts *tfs_beamng_facts(const struct tfs_doc *doc)
{
    return doc->facts->own;
}

/* The name table as stored. */
static inline struct tfs_blob *tfs_beamng_table(const struct tfs_doc *doc)
{
    return doc->common;
}

const struct tfs_beamng_layout *tfs_beamng_layout_of(const struct tfs_doc *doc);
/* A walk over the material names, and their number. */
struct tfs_beamng_names tfs_beamng_names_of(const struct tfs_doc *doc);
uint32_t tfs_beamng_name_count(const struct tfs_doc *doc);

/* ---- tiles ----------------------------------------------------------------------------------- */

/* The samples of a tile: its south-west one, and how many. */
struct tfs_beamng_tile {
    uint32_t x, z, width, height;
};

uint32_t tfs_beamng_tiles_a_side(const struct tfs_beamng_layout *layout);
struct tfs_beamng_tile tfs_beamng_tile_of(const struct tfs_beamng_layout *layout,
                                          struct tfs_key key);

static inline size_t tfs_beamng_tile_samples(const struct tfs_beamng_tile *tile)
{
    return (size_t)tile->width * tile->height;
}

/* All samples that a tile has in a plane. A commit asks for each row of each tile. */
static inline struct tfs_span tfs_beamng_tile_plane(const struct tfs_chunk *chunk,
                                                    const struct tfs_beamng_tile *tile,
                                                    const struct tfs_beamng_plane *plane)
{
    const size_t samples = tfs_beamng_tile_samples(tile);

    if (plane->before == 0)
        return tfs_blob_span(chunk->blob);
    return (struct tfs_span){
        tfs_blob_span(chunk->extra).data + (plane->before - tfs_beamng_heights.bytes) * samples,
        plane->bytes * samples};
}

/* Gathers a tile's samples of `bytes` each out of a whole plane: `south` is its row 0, and the next
 * row to the north lies `north` bytes further. */
void tfs_beamng_tile_cut(const struct tfs_beamng_tile *tile, unsigned bytes, const uint8_t *south,
                         ptrdiff_t north, uint8_t *samples);

/* Copies row z of a plane, from west to east. */
void tfs_beamng_row(const struct tfs_doc *doc, const struct tfs_beamng_plane *plane, uint32_t z,
                    uint8_t *out);

/* ---- changes --------------------------------------------------------------------------------- */

/* Stores a plane's samples of one tile; nothing changes where they are stored already. Who is not
 * layers.h uses that, which has the corners follow. */
int tfs_beamng_tile_put(struct tfs_edit *edit, struct tfs_key key,
                        const struct tfs_beamng_plane *plane, const uint8_t *samples,
                        struct tfs_error *err);

/* To be called at the end of every put: EBADMSG when the file would be read as one of another
 * layout. (Looked at only for terrains of one tile, where that can happen by chance.) */
int tfs_beamng_terrain_check_layout(const struct tfs_edit *edit, struct tfs_error *err);

#endif
