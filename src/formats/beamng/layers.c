/*
 * Changed layer numbers -> tiles, and the corner block kept in step.
 *
 * Must not know pictures and texts. The corners of square i are the layers of samples i, i+1, i+n
 * and i+n+1, each index clamped to the last sample; indices are linear, so the east edge wraps into
 * the next row. They are derived data, but a foreign block must survive: only squares for which the
 * rule gives something else than before get new corners.
 */
#include "formats/beamng/layers.h"

#include <stdlib.h>
#include <string.h>

#define CORNERS 4

bool tfs_beamng_layer_allowed(uint8_t old, uint8_t new, uint32_t materials)
{
    return new == old || new == TFS_BEAMNG_HOLE || new < (materials > 1 ? materials : 1);
}

/* ---- the rule -------------------------------------------------------------------------------- */

/* `count` layers from linear index `i` on; the last sample repeats behind the end. */
static void copy_layers(const struct tfs_beamng_terrain *terrain, uint64_t i, uint32_t count,
                        uint8_t *out)
{
    uint32_t side = terrain->layout.side;
    uint64_t last = tfs_beamng_samples(&terrain->layout) - 1;

    while (count > 0) {
        uint64_t at = i < last ? i : last;
        uint32_t x = (uint32_t)(at % side), z = (uint32_t)(at / side);
        struct tfs_key key = {.x = (int32_t)(x / TFS_BEAMNG_TILE_SIDE),
                              .z = (int32_t)(z / TFS_BEAMNG_TILE_SIDE)};
        const struct tfs_beamng_planes planes =
            tfs_beamng_terrain_planes(terrain, (size_t)key.z * terrain->tiles + (uint32_t)key.x);
        struct tfs_beamng_tile tile = tfs_beamng_tile_of(&terrain->layout, key);
        struct tfs_span layers = tfs_beamng_tile_plane(planes, &tile, &tfs_beamng_layers);
        uint32_t run = i < last ? tile.width - (x - tile.x) : 1;
        if (run > count)
            run = count;
        memcpy(out, layers.data + (size_t)(z - tile.z) * tile.width + (x - tile.x), run);
        out += run;
        i += run;
        count -= run;
    }
}

/* What the rule says for the squares of one row of a tile. */
static void rule_row(const struct tfs_beamng_terrain *terrain, const struct tfs_beamng_tile *tile,
                     uint32_t z, uint8_t corners[TFS_BEAMNG_TILE_SIDE * CORNERS])
{
    uint8_t here[TFS_BEAMNG_TILE_SIDE + 1] = {0}, north[TFS_BEAMNG_TILE_SIDE + 1] = {0};
    uint64_t i = (uint64_t)z * terrain->layout.side + tile->x;

    copy_layers(terrain, i, tile->width + 1, here);
    copy_layers(terrain, i + terrain->layout.side, tile->width + 1, north);
    for (uint32_t x = 0; x < tile->width; x++, corners += CORNERS) {
        corners[0] = here[x];
        corners[1] = here[x + 1];
        corners[2] = north[x];
        corners[3] = north[x + 1];
    }
}

uint64_t tfs_beamng_corners_odd(const struct tfs_beamng_terrain *terrain)
{
    int32_t tiles = (int32_t)terrain->tiles;
    uint8_t rule[TFS_BEAMNG_TILE_SIDE * CORNERS];
    uint64_t odd = 0;
    size_t at = 0;

    if (terrain->layout.extra != tfs_beamng_corners.bytes)
        return 0;
    for (struct tfs_key key = {.z = 0}; key.z < tiles; key.z++) {
        for (key.x = 0; key.x < tiles; key.x++, at++) {
            struct tfs_beamng_tile tile = tfs_beamng_tile_of(&terrain->layout, key);
            const uint8_t *stored = tfs_beamng_tile_plane(tfs_beamng_terrain_planes(terrain, at),
                                                          &tile, &tfs_beamng_corners)
                                        .data;
            for (uint32_t z = tile.z; z < tile.z + tile.height; z++) {
                rule_row(terrain, &tile, z, rule);
                for (uint32_t x = 0; x < tile.width; x++, stored += CORNERS)
                    odd += memcmp(stored, rule + (size_t)x * CORNERS, CORNERS) != 0;
            }
        }
    }
    return odd;
}

/* ---- following ------------------------------------------------------------------------------- */

/* New corners for the squares of one tile that the rule sees differently. */
static int follow_tile(struct tfs_edit *edit, struct tfs_key key,
                       const struct tfs_beamng_terrain *before,
                       const struct tfs_beamng_terrain *after, struct tfs_error *err)
{
    struct tfs_beamng_tile tile = tfs_beamng_tile_of(&after->layout, key);
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(edit), key);
    struct tfs_span stored =
        tfs_beamng_tile_plane(tfs_beamng_planes_of(chunk), &tile, &tfs_beamng_corners);
    uint8_t old[TFS_BEAMNG_TILE_SIDE * CORNERS], new[TFS_BEAMNG_TILE_SIDE * CORNERS];
    uint8_t corners[TFS_BEAMNG_TILE_SAMPLES * CORNERS], *at = corners;

    memcpy(corners, stored.data, stored.size);
    for (uint32_t z = tile.z; z < tile.z + tile.height; z++) {
        rule_row(before, &tile, z, old);
        rule_row(after, &tile, z, new);
        for (size_t i = 0; i < (size_t)tile.width * CORNERS; i += CORNERS, at += CORNERS)
            if (memcmp(old + i, new + i, CORNERS) != 0)
                memcpy(at, new + i, CORNERS);
    }
    return tfs_beamng_tile_put(edit, key, &tfs_beamng_corners, corners, err);
}

/* Marks tile (x, z), coordinates counted from -1 for "none". */
static void mark(const struct tfs_beamng_terrain *t, bool *marks, int64_t x, int64_t z)
{
    if (x >= 0 && z >= 0)
        marks[(size_t)z * t->tiles + (size_t)x] = true;
}

/* Marks the tiles with squares that read a sample of tile (x, z): west and south of it, at the
 * other end of the rows before when it holds the first column, and the north row and the end of the
 * row before it when it holds the last sample. */
static void mark_readers(const struct tfs_beamng_terrain *t, bool *marks, int64_t x, int64_t z)
{
    int64_t last = (int64_t)t->tiles - 1;

    for (int64_t south = z; south >= z - 1; south--) {
        mark(t, marks, x, south);
        mark(t, marks, x - 1, south);
        if (x == 0 || (x == last && z == last))
            mark(t, marks, last, south);
    }
    for (int64_t i = 0; x == last && z == last && i <= last; i++)
        mark(t, marks, i, last);
}

static int follow_marked(struct tfs_edit *edit, const struct tfs_beamng_terrain *before,
                         const struct tfs_beamng_terrain *after, const bool *marks,
                         struct tfs_error *err)
{
    int32_t tiles = (int32_t)after->tiles;
    size_t at = 0;

    for (struct tfs_key key = {.z = 0}; key.z < tiles; key.z++)
        for (key.x = 0; key.x < tiles; key.x++, at++)
            if (marks[at] && follow_tile(edit, key, before, after, err) < 0)
                return err->code;
    return 0;
}

/* The edit's layers changed since `before`. */
static int follow(struct tfs_edit *edit, const struct tfs_beamng_terrain *before,
                  struct tfs_error *err)
{
    struct tfs_beamng_terrain after = {0};
    size_t count = (size_t)before->tiles * before->tiles;
    bool *marks = calloc(count, sizeof(*marks));
    int result = marks == NULL ? tfs_fail_memory(err) : 0;

    if (result == 0)
        result = tfs_beamng_terrain_init(tfs_edit_doc(edit), &after, err);
    for (size_t i = 0; result == 0 && i < count; i++)
        if (before->blobs[i].others != after.blobs[i].others)
            mark_readers(&after, marks, (int64_t)(i % after.tiles), (int64_t)(i / after.tiles));
    if (result == 0)
        result = follow_marked(edit, before, &after, marks, err);
    tfs_beamng_terrain_release(&after);
    free(marks);
    return result;
}

/* ---- storing --------------------------------------------------------------------------------- */

static bool has_corners(const struct tfs_edit *edit)
{
    return tfs_beamng_layout_of(tfs_edit_doc(edit))->extra == tfs_beamng_corners.bytes;
}

int tfs_beamng_layers_put_tile(struct tfs_edit *edit, struct tfs_key key, const uint8_t *samples,
                               struct tfs_error *err)
{
    struct tfs_beamng_terrain before = {0};

    if (!has_corners(edit))
        return tfs_beamng_tile_put(edit, key, &tfs_beamng_layers, samples, err);
    if (tfs_beamng_terrain_init(tfs_edit_doc(edit), &before, err) < 0)
        return err->code;
    int result = tfs_beamng_tile_put(edit, key, &tfs_beamng_layers, samples, err);
    if (result == 0)
        result = follow(edit, &before, err);
    tfs_beamng_terrain_release(&before);
    return result;
}

int tfs_beamng_layers_put(struct tfs_edit *edit, const uint8_t *picture, struct tfs_error *err)
{
    struct tfs_beamng_terrain before = {0};

    if (!has_corners(edit))
        return tfs_beamng_terrain_put(edit, &tfs_beamng_layers, picture, err);
    if (tfs_beamng_terrain_init(tfs_edit_doc(edit), &before, err) < 0)
        return err->code;
    int result = tfs_beamng_terrain_put(edit, &tfs_beamng_layers, picture, err);
    if (result == 0)
        result = follow(edit, &before, err);
    tfs_beamng_terrain_release(&before);
    return result;
}
