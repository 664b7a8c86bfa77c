/*
 * Changed layer numbers -> tiles, and the corner block kept in step.
 *
 * Must not know pictures and texts. The corners of square i are the layers of samples i, i+1, i+n
 * and i+n+1, each index clamped to the last sample; indices are linear, so the east edge wraps into
 * the next row. They are derived data, but a foreign block must survive: only squares for which the
 * rule gives something else than before get new corners.
 */
#include "formats/beamng/layers.h"

#include <string.h>

#define CORNERS 4

bool tfs_beamng_layer_allowed(uint8_t old, uint8_t new, uint32_t materials)
{
    return new == old || new == TFS_BEAMNG_HOLE || new < (materials > 1 ? materials : 1);
}

/* ---- the rule -------------------------------------------------------------------------------- */

/* The layers of a document, or as they were before one tile had others. */
struct view {
    const struct tfs_doc *doc;
    struct tfs_key key;
    const uint8_t *before; /* of that tile; NULL: all are as the document has them */
};

static const uint8_t *layers_of(const struct view *v, struct tfs_key key,
                                const struct tfs_beamng_tile *tile)
{
    if (v->before != NULL && tfs_key_compare(v->key, key) == 0)
        return v->before;
    return tfs_beamng_tile_plane(tfs_doc_find(v->doc, key), tile, &tfs_beamng_layers).data;
}

/* `count` layers from linear index `i` on; the last sample repeats behind the end. */
static void copy_layers(const struct view *v, uint64_t i, uint32_t count, uint8_t *out)
{
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(v->doc);
    uint64_t last = tfs_beamng_samples(layout) - 1;

    while (count > 0) {
        uint64_t at = i < last ? i : last;
        uint32_t x = (uint32_t)(at % layout->side), z = (uint32_t)(at / layout->side);
        struct tfs_key key = {.x = (int32_t)(x / TFS_BEAMNG_TILE_SIDE),
                              .z = (int32_t)(z / TFS_BEAMNG_TILE_SIDE)};
        struct tfs_beamng_tile tile = tfs_beamng_tile_of(layout, key);
        const uint8_t *layers = layers_of(v, key, &tile);
        uint32_t run = i < last ? tile.width - (x - tile.x) : 1;
        if (run > count)
            run = count;
        memcpy(out, layers + (size_t)(z - tile.z) * tile.width + (x - tile.x), run);
        out += run;
        i += run;
        count -= run;
    }
}

#define PATCH ((TFS_BEAMNG_TILE_SIDE + 1) * (TFS_BEAMNG_TILE_SIDE + 1))

/* The layers that squares of a tile read, from column x and row z of it on: a column and a row more
 * than there are squares. How many in a row. */
static uint32_t read_patch(const struct view *v, const struct tfs_beamng_tile *tile, uint32_t x,
                           uint32_t z, uint8_t patch[PATCH])
{
    const uint32_t pitch = tile->width - x + 1;

    for (; z <= tile->height; z++, patch += pitch)
        copy_layers(v, (uint64_t)(tile->z + z) * tfs_beamng_layout_of(v->doc)->side + tile->x + x,
                    pitch, patch);
    return pitch;
}

/* The corners of a square of a patch, by the rule. */
static void rule(const uint8_t *at, uint32_t pitch, uint8_t corners[CORNERS])
{
    corners[0] = at[0];
    corners[1] = at[1];
    corners[2] = at[pitch];
    corners[3] = at[pitch + 1];
}

static bool has_corners(const struct tfs_doc *doc)
{
    return tfs_beamng_layout_of(doc)->extra == tfs_beamng_corners.bytes;
}

uint64_t tfs_beamng_corners_odd(const struct tfs_doc *doc)
{
    const struct view v = {.doc = doc};
    uint8_t patch[PATCH], corners[CORNERS];
    uint64_t odd = 0;

    for (size_t i = 0; i < doc->count && has_corners(doc); i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        struct tfs_beamng_tile tile = tfs_beamng_tile_of(tfs_beamng_layout_of(doc), chunk->key);
        const uint8_t *stored = tfs_beamng_tile_plane(chunk, &tile, &tfs_beamng_corners).data;
        const uint32_t pitch = read_patch(&v, &tile, 0, 0, patch);
        for (uint32_t z = 0; z < tile.height; z++)
            for (uint32_t x = 0; x < tile.width; x++, stored += CORNERS) {
                rule(patch + z * pitch + x, pitch, corners);
                odd += memcmp(stored, corners, CORNERS) != 0;
            }
    }
    return odd;
}

/* ---- following ------------------------------------------------------------------------------- */

/* Has the tile that changed the last sample? */
static bool is_end(const struct view *changed)
{
    const int32_t last = (int32_t)tfs_beamng_tiles_a_side(tfs_beamng_layout_of(changed->doc)) - 1;

    return changed->key.x == last && changed->key.z == last;
}

/* New corners for the squares of one tile that the rule sees differently. */
static int follow_tile(struct tfs_edit *edit, struct tfs_key key, const struct view *before,
                       struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct view after = {.doc = doc};
    struct tfs_beamng_tile tile = tfs_beamng_tile_of(tfs_beamng_layout_of(doc), key);
    const struct tfs_span stored =
        tfs_beamng_tile_plane(tfs_doc_find(doc, key), &tile, &tfs_beamng_corners);
    uint8_t old[PATCH], new[PATCH], was[CORNERS], is[CORNERS];
    uint8_t corners[TFS_BEAMNG_TILE_SAMPLES * CORNERS];
    /* Of a tile to the south the north row reads the changed tile, and so does the end of the row
     * below, whose last index wraps twice. Of a tile beside it only the ends of rows do, and what
     * reads the last sample. */
    const uint32_t row = key.z < before->key.z && tile.height > 1 ? tile.height - 2 : 0;
    const uint32_t column = key.x == before->key.x || is_end(before) ? 0 : tile.width - 1;
    const uint32_t pitch = read_patch(before, &tile, column, row, old);

    (void)read_patch(&after, &tile, column, row, new);
    memcpy(corners, stored.data, stored.size);
    for (uint32_t z = row; z < tile.height; z++)
        for (uint32_t x = column; x < tile.width; x++) {
            const size_t i = (size_t)(z - row) * pitch + x - column;
            rule(old + i, pitch, was);
            rule(new + i, pitch, is);
            if (memcmp(was, is, CORNERS) != 0)
                memcpy(corners + ((size_t)z * tile.width + x) * CORNERS, is, CORNERS);
        }
    return tfs_beamng_tile_put(edit, key, &tfs_beamng_corners, corners, err);
}

/* Has tile (x, z) squares that read a sample of the one that changed? Those west and south of it
 * have, at the other end of the rows before when it holds the first column, and the north row and
 * the end of the row before it when it holds the last sample. */
static bool reads(const struct view *changed, int32_t last, int32_t x, int32_t z)
{
    const struct tfs_key key = changed->key;
    const bool end = is_end(changed);

    return x == key.x || x == key.x - 1 || (x == last && (key.x == 0 || end)) || (end && z == last);
}

/* The layers of one tile changed. */
static int follow(struct tfs_edit *edit, const struct view *before, struct tfs_error *err)
{
    const int32_t tiles =
        (int32_t)tfs_beamng_tiles_a_side(tfs_beamng_layout_of(tfs_edit_doc(edit)));

    for (int32_t z = before->key.z; z >= 0 && z >= before->key.z - 1; z--)
        for (int32_t x = 0; x < tiles; x++)
            if (reads(before, tiles - 1, x, z) &&
                follow_tile(edit, (struct tfs_key){.x = x, .z = z}, before, err) < 0)
                return err->code;
    return 0;
}

/* ---- storing --------------------------------------------------------------------------------- */

int tfs_beamng_samples_put(struct tfs_edit *edit, struct tfs_key key,
                           const struct tfs_beamng_plane *plane, const uint8_t *samples,
                           struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct tfs_beamng_tile tile = tfs_beamng_tile_of(tfs_beamng_layout_of(doc), key);
    uint8_t layers[TFS_BEAMNG_TILE_SAMPLES];
    const struct view now = {.doc = doc}, before = {doc, key, layers};

    if (plane != &tfs_beamng_layers || !has_corners(doc))
        return tfs_beamng_tile_put(edit, key, plane, samples, err);
    memcpy(layers, layers_of(&now, key, &tile), tfs_beamng_tile_samples(&tile));
    if (memcmp(layers, samples, tfs_beamng_tile_samples(&tile)) == 0 ||
        tfs_beamng_tile_put(edit, key, plane, samples, err) < 0)
        return err->code;
    return follow(edit, &before, err);
}
