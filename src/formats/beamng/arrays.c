/*
 * arrays/heights.npy and layers.npy: which planes of samples they are, as numbers [z, x], north up
 * as in the pictures. Those of a tile are the same: a part of the whole.
 */
#include <inttypes.h>

#include "formats/beamng/cells.h"
#include "formats/beamng/lenses.h"
#include "formats/views/views.h"

static int form(struct tfs_array_view *view, struct tfs_error *err)
{
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(view->doc);
    struct tfs_volume *v = &view->volume;

    if (tfs_cells_array_form(view, err) < 0)
        return err->code;
    v->flat = true;
    v->sides[0] = v->sides[2] = TFS_BEAMNG_TILE_SIDE;
    v->sides[1] = 1;
    v->cut = tfs_beamng_tiles_a_side(layout) * TFS_BEAMNG_TILE_SIDE - layout->side;
    if (view->chunk != NULL) {
        const struct tfs_beamng_tile tile = tfs_beamng_tile_of(layout, view->chunk->key);
        v->sides[0] = tile.height;
        v->sides[2] = tile.width;
        v->cut = 0;
    }
    return 0;
}

#define ARRAY(plane, name)                                                                         \
    {                                                                                              \
        .file = (name), .form = form, .read = tfs_cells_array_read,                                \
        .write = tfs_cells_array_write, .param = &tfs_plane_numbers[plane]                         \
    }

static const struct tfs_array heights = ARRAY(TFS_BEAMNG_PLANE_HEIGHT, "heights.npy");
static const struct tfs_array layers = ARRAY(TFS_BEAMNG_PLANE_LAYER, "layers.npy");

const struct tfs_lens tfs_beamng_heights_array_lens = TFS_ARRAY_WHOLE_LENS(&heights, NULL);
const struct tfs_lens tfs_beamng_layers_array_lens = TFS_ARRAY_WHOLE_LENS(&layers, NULL);
const struct tfs_lens tfs_beamng_tile_heights_lens = TFS_ARRAY_CHUNK_LENS(&heights);
const struct tfs_lens tfs_beamng_tile_layers_lens = TFS_ARRAY_CHUNK_LENS(&layers);

/* ---- arrays/info.txt ------------------------------------------------------------------------- */

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side;

    (void)save, (void)at;
    tfs_buf_printf(out,
                   "axes: z x, the north row first: z goes down\nshape: %" PRIu32 " %" PRIu32
                   "\norigin: %" PRIu32 " 0\n"
                   "heights.npy: uint16: as in heightmap.png\n"
                   "layers.npy: uint8: the numbers of arrays/palette.txt, 255 is a hole\n",
                   side, side, side - 1);
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_beamng_array_info_lens = {.get = info_get};
