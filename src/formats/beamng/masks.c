/*
 * Several masks of one import -> the layers that they make together.
 *
 * Each says of its own pixels that they became its material or left it. What left one mask is what
 * another one says, or layer 0; so a pixel may leave layer 0 here, which a mask alone cannot say.
 * Must not know in which order masks come.
 */
#include <errno.h>
#include <string.h>

#include "formats/beamng/layers.h"
#include "formats/beamng/lenses.h"
#include "formats/beamng/masks.h"

/* What was gathered of a pixel: a layer, and these. */
enum { LAYER = 0xff, TAKEN = 0x100, TWICE = 0x200, LEFT = 0x400, LEFT_0 = 0x800 };

static uint16_t gathered_at(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static uint16_t take(uint16_t before, uint8_t layer)
{
    const uint16_t twice = (before & TAKEN) != 0 ? TWICE : 0;
    const bool first = (before & TAKEN) == 0 || layer > (before & LAYER);

    return (uint16_t)((before & ~(first ? LAYER : 0)) | (first ? layer : 0) | TAKEN | twice);
}

int tfs_beamng_masks_gather(const struct tfs_beamng_mask *mask, struct tfs_buf *gathered,
                            struct tfs_error *err)
{
    if (gathered->size == 0 && tfs_buf_reserve(gathered, 2 * mask->count) != NULL) {
        memset(gathered->data, 0, 2 * mask->count);
        gathered->size = 2 * mask->count;
    }
    if (tfs_buf_check(gathered, err) < 0)
        return err->code;
    for (size_t i = 0; i < mask->count; i++) {
        const bool white = mask->now[i] >= TFS_BEAMNG_BRUSH;
        uint8_t *at = gathered->data + 2 * i;
        uint16_t pixel = gathered_at(at);
        if (mask->before != NULL && white == (mask->before[i] >= TFS_BEAMNG_BRUSH))
            continue;
        if (white)
            pixel = take(pixel, mask->layer);
        else if (mask->layers[i] == mask->layer)
            pixel |= mask->layer == 0 ? LEFT_0 : LEFT;
        at[0] = (uint8_t)pixel;
        at[1] = (uint8_t)(pixel >> 8);
    }
    return 0;
}

/* The layers as they become; fails at a pixel that no mask has any more. */
static int apply(const struct tfs_buf *gathered, uint32_t side, uint8_t *layers, size_t *twice,
                 struct tfs_error *err)
{
    for (size_t i = 0; i < gathered->size / 2; i++) {
        const uint16_t pixel = gathered_at(gathered->data + 2 * i);
        *twice += (pixel & TWICE) != 0;
        if ((pixel & TAKEN) != 0)
            layers[i] = (uint8_t)(pixel & LAYER);
        else if ((pixel & LEFT_0) != 0)
            return tfs_fail(err, -EBADMSG,
                            "pixel %zu,%zu leaves layer 0, but no other mask takes it: paint it in "
                            "one",
                            i % side, i / side);
        else if ((pixel & LEFT) != 0)
            layers[i] = 0;
    }
    return 0;
}

static bool is_all_holes(const uint8_t *layers, size_t count)
{
    return layers[0] == TFS_BEAMNG_HOLE && memcmp(layers, layers + 1, count - 1) == 0;
}

int tfs_beamng_masks_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_span gathered,
                         struct tfs_error *warning, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const uint32_t side = tfs_beamng_layout_of(doc)->side;
    const struct tfs_buf pixels = {.data = (uint8_t *)gathered.data, .size = gathered.size};
    struct tfs_buf layers = {0};
    size_t twice = 0;

    (void)save;
    if (tfs_beamng_terrain_picture(doc, &tfs_beamng_layers, &layers, err) < 0)
        goto out;
    const bool holes = is_all_holes(layers.data, layers.size);
    if (apply(&pixels, side, layers.data, &twice, err) < 0)
        goto out;
    if (!holes && is_all_holes(layers.data, layers.size)) {
        tfs_fail(err, -EBADMSG,
                 "the whole terrain would become a hole: white is a hole in a hole map");
        goto out;
    }
    if (tfs_beamng_terrain_put(edit, &tfs_beamng_layers, layers.data, err) == 0 &&
        tfs_beamng_terrain_check_layout(edit, err) == 0 && twice > 0)
        tfs_fail(warning, -EEXIST, "%zu %s white in several masks: the highest number has %s",
                 twice, twice == 1 ? "pixel became" : "pixels became", twice == 1 ? "it" : "them");
out:
    tfs_buf_release(&layers);
    return err->code;
}
