/*
 * Bytes of the two light sections <-> layers of values.
 *
 * Must not know block data, containers or texts.
 */
#include "formats/cosmic_reach/light.h"

#include <errno.h>
#include <string.h>

static int unknown_type(struct tfs_cursor *c, size_t offset, const char *what, uint8_t type,
                        struct tfs_error *err)
{
    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the %s is missing", offset, what);
    return tfs_fail(err, -EBADMSG, "offset %zu: unknown %s type %u", offset, what, type);
}

int tfs_cosmic_sky_take(struct tfs_cursor *c, struct tfs_cosmic_light *sky, struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);
    uint8_t type = tfs_take_u8(c);

    sky->present = type != TFS_COSMIC_SKY_NONE;
    if (type == TFS_COSMIC_SKY_NONE)
        return 0;
    if (type == TFS_COSMIC_SKY_LAYERED)
        return tfs_cosmic_layers_take(c, &tfs_cosmic_sky_layers, &sky->layers, err);
    if (type != TFS_COSMIC_SKY_SINGLE)
        return unknown_type(c, offset, tfs_cosmic_sky_layers.what, type, err);

    struct tfs_span level = tfs_take(c, 1);
    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the sky light ends before its level", offset);
    tfs_cosmic_layers_repeat(&sky->layers, &tfs_cosmic_sky_layers, TFS_COSMIC_SKY_LAYER_SINGLE,
                             level);
    return 0;
}

int tfs_cosmic_light_take(struct tfs_cursor *c, struct tfs_cosmic_light *light,
                          struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);
    uint8_t type = tfs_take_u8(c);

    light->present = type != TFS_COSMIC_LIGHT_NONE;
    if (type == TFS_COSMIC_LIGHT_NONE)
        return 0;
    if (type == TFS_COSMIC_LIGHT_LAYERED)
        return tfs_cosmic_layers_take(c, &tfs_cosmic_light_layers, &light->layers, err);
    return unknown_type(c, offset, tfs_cosmic_light_layers.what, type, err);
}

uint32_t tfs_cosmic_sky_highest(const struct tfs_cosmic_light *sky)
{
    uint32_t high = 0;

    for (unsigned y = 0; y < TFS_COSMIC_LAYERS && sky->present; y++)
        if (sky->layers.types[y] == TFS_COSMIC_SKY_LAYER_SINGLE &&
            sky->layers.bytes[y].data[0] > high)
            high = sky->layers.bytes[y].data[0];
    return high;
}

/* The values of layer y with the stored bits of those that do not change; false without an old
 * layer. */
static bool keep_bits(const struct tfs_cosmic_light *old, unsigned y, uint32_t mask,
                      const uint32_t *shown, uint32_t *values)
{
    bool same = true;

    if (!old->present) {
        memcpy(values, shown, TFS_COSMIC_LAYER_VALUES * sizeof(*values));
        return false;
    }
    old->layers.decode(old->layers.types[y], old->layers.bytes[y].data, values);
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++) {
        if ((values[i] & mask) == shown[i])
            continue;
        values[i] = shown[i];
        same = false;
    }
    return same;
}

/* ---- sky ------------------------------------------------------------------------------------- */

static void add_sky_layer(struct tfs_buf *out, const uint32_t *shown, uint32_t *values)
{
    if (tfs_cosmic_values_equal(shown)) {
        tfs_buf_u8(out, TFS_COSMIC_SKY_LAYER_SINGLE);
        tfs_buf_u8(out, (uint8_t)values[0]);
    } else {
        tfs_buf_u8(out, TFS_COSMIC_SKY_LAYER_NIBBLE);
        tfs_cosmic_pack(out, 4, shown);
    }
}

void tfs_cosmic_sky_encode(struct tfs_buf *out, const struct tfs_cosmic_light *old,
                           const uint32_t *levels)
{
    uint32_t values[TFS_COSMIC_LAYER_VALUES];
    bool equal = memcmp(levels, levels + 1, (TFS_COSMIC_VALUES - 1) * sizeof(*levels)) == 0;

    tfs_buf_u8(out, equal ? TFS_COSMIC_SKY_SINGLE : TFS_COSMIC_SKY_LAYERED);
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++) {
        const uint32_t *shown = levels + y * TFS_COSMIC_LAYER_VALUES;
        keep_bits(old, y, TFS_COSMIC_SKY_MASK, shown, values);
        if (equal) {
            tfs_buf_u8(out, (uint8_t)values[0]);
            return;
        }
        add_sky_layer(out, shown, values);
    }
}

/* ---- block light ----------------------------------------------------------------------------- */

static bool is_black(const uint32_t *rgb)
{
    return rgb[0] == 0 && tfs_cosmic_values_equal(rgb);
}

void tfs_cosmic_light_encode(struct tfs_buf *out, const struct tfs_cosmic_light *old,
                             const uint32_t *rgb)
{
    uint32_t values[TFS_COSMIC_LAYER_VALUES];

    tfs_buf_u8(out, TFS_COSMIC_LIGHT_LAYERED);
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++) {
        const uint32_t *shown = rgb + y * TFS_COSMIC_LAYER_VALUES;
        if (keep_bits(old, y, TFS_COSMIC_LIGHT_MASK, shown, values)) {
            tfs_buf_u8(out, old->layers.types[y]);
            tfs_buf_add_span(out, old->layers.bytes[y]);
        } else if (!old->present && is_black(shown)) {
            tfs_buf_u8(out, TFS_COSMIC_LIGHT_LAYER_SINGLE);
            tfs_buf_add(out, "\0\0\0", 3);
        } else {
            tfs_buf_u8(out, TFS_COSMIC_LIGHT_LAYER_SHORT);
            tfs_cosmic_pack(out, 16, values);
        }
    }
}
