/*
 * Stored samples of a tile <-> cells.
 *
 * Must not know what files show.
 */
#include "formats/beamng/cells.h"

#include <errno.h>
#include <string.h>

#include "formats/beamng/layers.h"
#include "formats/beamng/materials.h"

#define SIDE TFS_BEAMNG_TILE_SIDE

#define FORM(bytes, characters, greatest)                                                          \
    {                                                                                              \
        .kind = TFS_PLANE_UNSIGNED, .width = (bytes), .digits = (characters), .high = (greatest)   \
    }
#define EXTRA(plane, bytes)                                                                        \
    {                                                                                              \
        .name = plane, .form = FORM(bytes, 3 * (bytes), UINT64_MAX >> (64 - 8 * (bytes))),         \
        .mark = " " plane "=", .flags = TFS_PLANE_OPTIONAL                                         \
    }

static const char *legal_layer(const struct tfs_doc *doc, const uint64_t *values)
{
    const uint8_t layer = (uint8_t)values[TFS_BEAMNG_PLANE_LAYER];

    return tfs_beamng_layer_allowed(TFS_BEAMNG_HOLE, layer, tfs_beamng_name_count(doc))
               ? NULL
               : "no material; palette.txt lists them, 255 is a hole";
}

static const struct tfs_plane planes[TFS_BEAMNG_PLANES] = {
    {.name = "layer",
     .form = FORM(1, 3, UINT8_MAX),
     .out_of_range = "layers are 0 to 255",
     .flags = TFS_PLANE_ROWS | TFS_PLANE_ENTRIES,
     .legal = legal_layer,
     .about = "the numbers of arrays/palette.txt, 255 is a hole"},
    {.name = "height",
     .form = FORM(2, 5, UINT16_MAX),
     .mark = " h=",
     .out_of_range = "heights are 0 to 65535",
     .flags = TFS_PLANE_ROWS | TFS_PLANE_HEIGHT,
     .about = "as in heightmap.png"},
    {.name = "corners",
     .form = FORM(4, 12, UINT32_MAX),
     .mark = " corners=",
     .flags = TFS_PLANE_OPTIONAL | TFS_PLANE_ENTRIES},
    EXTRA("texture", 1),
    EXTRA("coverage_0", 1),
    EXTRA("coverage_1", 1),
    EXTRA("coverage_2", 1),
    EXTRA("coverage_3", 1),
};

/* Where tiles have plane `i`; NULL: nowhere. */
static const struct tfs_beamng_plane *stored_plane(const struct tfs_beamng_layout *layout,
                                                   unsigned i)
{
    const bool corners = layout->extra == tfs_beamng_corners.bytes;

    if (i < TFS_BEAMNG_PLANE_CORNERS)
        return i == TFS_BEAMNG_PLANE_HEIGHT ? &tfs_beamng_heights : &tfs_beamng_layers;
    if (i >= TFS_BEAMNG_PLANE_TEXTURE)
        i = corners ? TFS_BEAMNG_PLANES : i - 1;
    else if (!corners)
        return NULL;
    return i < tfs_beamng_plane_count(layout) ? tfs_beamng_plane_at(layout, i) : NULL;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* Has a tile as many bytes as the layout says? */
static int check_size(const struct tfs_cells *cells, const struct tfs_beamng_tile *tile,
                      struct tfs_error *err)
{
    const size_t samples = tfs_beamng_tile_samples(tile);
    const size_t size = samples * tfs_beamng_sample_size(tfs_beamng_layout_of(cells->doc));
    const size_t heights = samples * tfs_beamng_heights.bytes;

    if (tfs_blob_span(cells->stored).size == heights &&
        tfs_blob_span(cells->extra).size == size - heights)
        return 0;
    return tfs_fail(err, -EBADMSG, "the tile does not have %zu bytes", size);
}

/* Values are stored as they are in memory, little-endian: most planes are the stored bytes. */
static int decode_plane(struct tfs_cells *cells, const struct tfs_beamng_tile *tile, unsigned i,
                        struct tfs_error *err)
{
    const struct tfs_beamng_plane *stored = stored_plane(tfs_beamng_layout_of(cells->doc), i);
    struct tfs_cells_plane *plane = &cells->planes[i];

    if (stored == NULL)
        return 0;
    const struct tfs_span bytes = tfs_beamng_tile_plane(&cells->chunk, tile, stored);
    plane->values = (void *)(uintptr_t)bytes.data;
    if ((uintptr_t)bytes.data % stored->bytes == 0)
        return 0;
    plane->values = tfs_cells_alloc(cells, bytes.size, err);
    if (plane->values != NULL)
        memcpy(plane->values, bytes.data, bytes.size);
    return err->code;
}

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    if (cells->doc == NULL) /* for names, of which a tile has none */
        return 0;
    const struct tfs_beamng_tile tile =
        tfs_beamng_tile_of(tfs_beamng_layout_of(cells->doc), cells->chunk.key);
    cells->size = (struct tfs_voxel_size){tile.width, 1, tile.height};
    if (check_size(cells, &tile, err) < 0)
        return err->code;
    for (unsigned i = 0; i < TFS_BEAMNG_PLANES; i++)
        if ((wanted & 1u << i) != 0 && decode_plane(cells, &tile, i, err) < 0)
            return err->code;
    return 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Corners that somebody wrote do not follow the layers. */
static int encode_plane(struct tfs_cells_edit *e, unsigned i, struct tfs_error *err)
{
    const struct tfs_chunk *chunk = &e->before->chunk;
    const struct tfs_beamng_plane *plane =
        stored_plane(tfs_beamng_layout_of(tfs_edit_doc(e->edit)), i);
    const uint8_t *samples = e->planes[i].values;

    if (samples == e->before->planes[i].values)
        return 0;
    return (e->written & 1u << TFS_BEAMNG_PLANE_CORNERS) != 0
               ? tfs_beamng_tile_put(e->edit, chunk->key, plane, samples, err)
               : tfs_beamng_samples_put(e->edit, chunk->key, plane, samples, err);
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    for (unsigned i = 0; i < TFS_BEAMNG_PLANES; i++)
        if (encode_plane(e, i, err) < 0)
            return err->code;
    return tfs_beamng_terrain_check_layout(e->edit, err);
}

/* Those behind the last number of a layer are no sample's. */
static uint32_t save_names(const struct tfs_doc *doc, struct tfs_span *names)
{
    struct tfs_beamng_names walk = tfs_beamng_names_of(doc);
    uint32_t count = 0;

    while (count < TFS_BEAMNG_HOLE && tfs_beamng_names_next(&walk, &names[count]))
        count++;
    return count;
}

const struct tfs_cells_kind tfs_beamng_cells = {
    .planes = planes,
    .count = TFS_BEAMNG_PLANES,
    .size = {SIDE, 1, SIDE},
    .unit = "sample",
    .flags = TFS_CELLS_NORTH_UP,
    .save_names = save_names,
    .merge_names = tfs_beamng_merge_names,
    .decode = decode,
    .encode = encode,
};
