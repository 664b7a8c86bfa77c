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

struct png_chunk {
    struct tfs_span type, data;
};

/* The next chunk; false at the end, or where the bytes end early. */
static bool next_chunk(struct tfs_cursor *c, struct png_chunk *chunk)
{
    uint32_t size = tfs_take_u32be(c);

    chunk->type = tfs_take(c, TYPE_SIZE);
    chunk->data = tfs_take(c, size);
    tfs_take(c, CRC_SIZE);
    return !c->failed;
}

static bool is_type(const struct png_chunk *chunk, const char *type)
{
    return tfs_span_equal(chunk->type, tfs_span_of(type));
}

bool tfs_png_sides(struct tfs_span png, uint32_t *width, uint32_t *height)
{
    struct tfs_cursor c = tfs_cursor_init(png);
    struct png_chunk chunk;

    tfs_take(&c, SIGNATURE_SIZE);
    if (!next_chunk(&c, &chunk) || !is_type(&chunk, "IHDR"))
        return false;
    struct tfs_cursor header = tfs_cursor_init(chunk.data);
    *width = tfs_take_u32be(&header);
    *height = tfs_take_u32be(&header);
    return !header.failed;
}

bool tfs_png_text_find(struct tfs_span png, const char *key, struct tfs_span *value)
{
    struct tfs_cursor c = tfs_cursor_init(png);
    const size_t length = strlen(key) + 1; /* a zero byte stands behind it */
    struct png_chunk chunk;

    tfs_take(&c, SIGNATURE_SIZE);
    while (next_chunk(&c, &chunk))
        if (is_type(&chunk, "tEXt") && chunk.data.size >= length &&
            memcmp(chunk.data.data, key, length) == 0) {
            *value = (struct tfs_span){chunk.data.data + length, chunk.data.size - length};
            return true;
        }
    return false;
}
