/*
 * The names of a terrain's tree, and which of them a change concerns.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/beamng/beamng.h"
#include "formats/beamng/cells.h"
#include "formats/beamng/lenses.h"
#include "formats/views/views.h"
#include "image/png.h"
#include "text/name.h"

/* ---- what comes and goes --------------------------------------------------------------------- */

static bool has_pictures(const struct tfs_doc *doc)
{
    return tfs_beamng_layout_of(doc)->side <= TFS_PNG_SIDE_MAX;
}

static uint32_t picture_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    (void)tree;
    return has_pictures(doc);
}

static uint32_t mask_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    uint32_t materials = has_pictures(doc) ? tfs_beamng_name_count(doc) : 0;

    (void)tree;
    return materials < TFS_BEAMNG_HOLE ? materials : TFS_BEAMNG_HOLE;
}

static uint32_t extra_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    (void)tree;
    return has_pictures(doc) ? tfs_beamng_plane_count(tfs_beamng_layout_of(doc)) - TFS_BEAMNG_EXTRA
                             : 0;
}

#define FILE_NAME_MAX 255 /* bytes, of the kernel */
#define MASK_ENDING   ".png"

/* "03_DirtRoad.png" */
static void mask_name(const struct tfs_tree *tree, const struct tfs_doc *doc, uint32_t member,
                      struct tfs_buf *out)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    struct tfs_span name = {NULL, 0};
    const size_t end = out->size + FILE_NAME_MAX - strlen(MASK_ENDING);

    (void)tree;
    for (uint32_t i = 0; i <= member && tfs_beamng_names_next(&names, &name); i++)
        ;
    tfs_buf_printf(out, "%02" PRIu32 "_", member);
    tfs_name_print_file(out, name, end - out->size);
    tfs_buf_add_text(out, MASK_ENDING);
}

static void extra_name(const struct tfs_tree *tree, const struct tfs_doc *doc, uint32_t member,
                       struct tfs_buf *out)
{
    (void)tree;
    tfs_buf_add_text(
        out, tfs_beamng_plane_at(tfs_beamng_layout_of(doc), TFS_BEAMNG_EXTRA + member)->name);
    tfs_buf_add_text(out, ".png");
}

static const struct tfs_family masks = {.name = mask_name}, extras = {.name = extra_name};

/* ---- files ----------------------------------------------------------------------------------- */

enum {
    INFO,
    PALETTE,
    HEIGHTMAP,
    LAYERS,
    HOLES,
    MASKS,
    EXTRA,
    MAP,
    HEIGHTS_ARRAY,
    LAYERS_ARRAY,
    ARRAY_NAMES,
    ARRAY_INFO,
    ROOT_COUNT
};

/* In the order of import: new materials are there before they are painted, and corners made by hand
 * come last. */
static const struct tfs_file root_files[ROOT_COUNT] = {
    [INFO] = {.path = "info.txt", .lens = &tfs_beamng_info_lens},
    [PALETTE] = TFS_APART_FILE("palette.txt", 0, &tfs_beamng_palette_lens),
    [HEIGHTMAP] = {.path = "heightmap.png",
                   .flags = TFS_FILE_LARGE,
                   .lens = &tfs_beamng_heightmap_lens,
                   .count = picture_count},
    [LAYERS] = {.path = "layers.png",
                .lens = &tfs_beamng_layers_picture_lens,
                .count = picture_count},
    [HOLES] = {.path = "holes.png", .lens = &tfs_beamng_holes_lens, .count = picture_count},
    [MASKS] = {.path = "layers/",
               .lens = &tfs_beamng_mask_lens,
               .count = mask_count,
               .family = &masks},
    [EXTRA] = {.path = "extra/",
               .lens = &tfs_beamng_extra_lens,
               .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS,
               .count = extra_count,
               .family = &extras},
    [MAP] = {.path = "map.png", .lens = &tfs_beamng_map_lens},
    [HEIGHTS_ARRAY] = TFS_ARRAY_FILE("heights", TFS_BEAMNG_PLANE_HEIGHT),
    [LAYERS_ARRAY] = TFS_ARRAY_FILE("layers", TFS_BEAMNG_PLANE_LAYER),
    [ARRAY_NAMES] = TFS_ARRAY_TEXT_FILE("palette.txt", &tfs_beamng_array_palette_lens),
    [ARRAY_INFO] = TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_info_lens),
};

enum { HEIGHTS_TEXT, LAYERS_TEXT, TILE_HEIGHTS_ARRAY, TILE_LAYERS_ARRAY, CHUNK_COUNT };

static const struct tfs_file chunk_files[CHUNK_COUNT] = {
    [HEIGHTS_TEXT] = {.path = "heights.txt",
                      .lens = TFS_GRID_LENS(TFS_BEAMNG_PLANE_HEIGHT),
                      .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS},
    [LAYERS_TEXT] = {.path = "layers.txt",
                     .lens = TFS_GRID_LENS(TFS_BEAMNG_PLANE_LAYER),
                     .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS},
    [TILE_HEIGHTS_ARRAY] = TFS_CHUNK_ARRAY_FILE("heights", TFS_BEAMNG_PLANE_HEIGHT, NULL),
    [TILE_LAYERS_ARRAY] = TFS_CHUNK_ARRAY_FILE("layers", TFS_BEAMNG_PLANE_LAYER, NULL),
};

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Tiles, and the table of names, are stored as the layout has them. */
static int fits(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_beamng_layout *a = tfs_beamng_layout_of(ours),
                                   *b = tfs_beamng_layout_of(theirs);

    if ((chunk != NULL && tfs_doc_find(theirs, chunk->key) == NULL) || a->side != b->side ||
        a->version != b->version || a->extra != b->extra || a->nul != b->nul)
        return tfs_fail(err, -EINVAL, "the terrain is laid out otherwise there");
    return 0;
}

const struct tfs_tree tfs_beamng_tree = {
    .root = {root_files, ROOT_COUNT},
    .chunk = {chunk_files, CHUNK_COUNT},
    .cells = &tfs_beamng_cells,
    .fits = fits,
};
