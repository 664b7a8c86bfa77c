/*
 * What a PNG says about its picture without being decoded: size and texts.
 *
 * Must not know what texts mean. Nothing is allocated, and checksums are not looked at: the decoder
 * of the picture does that.
 */
#include <string.h>

#include "image/png.h"

#define SIGNATURE_SIZE 8
#define TYPE_SIZE      4
#define CRC_SIZE       4

struct part {
    struct tfs_span type, data;
};

/* The next chunk; false at the end, or where the bytes end early. */
static bool next_part(struct tfs_cursor *c, struct part *part)
{
    uint32_t size = tfs_take_u32be(c);

    part->type = tfs_take(c, TYPE_SIZE);
    part->data = tfs_take(c, size);
    tfs_take(c, CRC_SIZE);
    return !c->failed;
}

static bool is_type(const struct part *part, const char *type)
{
    return tfs_span_equal(part->type, tfs_span_of(type));
}

bool tfs_png_sides(struct tfs_span png, uint32_t *width, uint32_t *height)
{
    struct tfs_cursor c = tfs_cursor_init(png);
    struct part part;

    tfs_take(&c, SIGNATURE_SIZE);
    if (!next_part(&c, &part) || !is_type(&part, "IHDR"))
        return false;
    struct tfs_cursor header = tfs_cursor_init(part.data);
    *width = tfs_take_u32be(&header);
    *height = tfs_take_u32be(&header);
    return !header.failed;
}

bool tfs_png_text_find(struct tfs_span png, const char *key, struct tfs_span *value)
{
    struct tfs_cursor c = tfs_cursor_init(png);
    const size_t length = strlen(key) + 1; /* a zero byte stands behind it */
    struct part part;

    tfs_take(&c, SIGNATURE_SIZE);
    while (next_part(&c, &part))
        if (is_type(&part, "tEXt") && part.data.size >= length &&
            memcmp(part.data.data, key, length) == 0) {
            *value = (struct tfs_span){part.data.data + length, part.data.size - length};
            return true;
        }
    return false;
}
