/*
 * What a PNG says about its picture without being decoded: size and texts.
 *
 * Must not know what texts mean. Nothing is allocated, and checksums are not looked at: the decoder
 * of the picture does that.
 */
#include <string.h>

#include "image/png.h"

#define SIGNATURE_SIZE 8
#define SIZE_SIZE      4
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

#define TEXT_MAX  ((uint32_t)1 << 16) /* bytes of one, and of all */
#define TEXTS_MAX ((size_t)1 << 20)

int tfs_png_read_texts(const struct tfs_png_source *source, struct tfs_buf *out,
                       struct tfs_error *err)
{
    uint8_t head[SIZE_SIZE + TYPE_SIZE] = {0};
    const size_t begin = out->size;
    uint64_t at = SIGNATURE_SIZE;

    tfs_buf_add(out, head, SIGNATURE_SIZE);
    while (source->size >= sizeof(head) && at <= source->size - sizeof(head) &&
           out->size - begin < TEXTS_MAX) {
        if (source->read(source->arg, at, sizeof(head), head, err) < 0)
            return err->code;
        struct tfs_cursor c = tfs_cursor_init((struct tfs_span){head, sizeof(head)});
        const uint32_t size = tfs_take_u32be(&c);
        const uint64_t all = sizeof(head) + (uint64_t)size + CRC_SIZE;
        const bool text = memcmp(head + SIZE_SIZE, "tEXt", TYPE_SIZE) == 0 && size <= TEXT_MAX;
        if (all > source->size - at)
            break;
        uint8_t *room = text ? tfs_buf_reserve(out, (size_t)all) : NULL;
        if (room != NULL && source->read(source->arg, at, (size_t)all, room, err) < 0)
            return err->code;
        out->size += room != NULL ? (size_t)all : 0;
        at += all;
    }
    return tfs_buf_check(out, err);
}
