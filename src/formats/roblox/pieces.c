/*
 * Spans -> a list of pieces, written, copied or compared in order.
 *
 * Must not know what the bytes mean.
 */
#include "formats/roblox/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void tfs_rbx_pieces_release(struct tfs_rbx_pieces *pieces)
{
    free(pieces->items);
    tfs_buf_release(&pieces->made);
    *pieces = (struct tfs_rbx_pieces){0};
}

void tfs_rbx_pieces_add(struct tfs_rbx_pieces *pieces, struct tfs_span bytes)
{
    struct tfs_span *last = pieces->count == 0 ? NULL : &pieces->items[pieces->count - 1];

    if (bytes.size == 0 || pieces->made.failed)
        return;
    pieces->size += bytes.size;
    if (last != NULL && last->data + last->size == bytes.data) {
        last->size += bytes.size;
        return;
    }
    struct tfs_span *items = tfs_array_grow(pieces->items, pieces->count, sizeof(*items));
    if (items == NULL) {
        pieces->made.failed = true;
        return;
    }
    pieces->items = items;
    items[pieces->count++] = bytes;
}

void tfs_rbx_pieces_add_made(struct tfs_rbx_pieces *pieces, size_t before)
{
    if (!pieces->made.failed)
        tfs_rbx_pieces_add(
            pieces, (struct tfs_span){pieces->made.data + before, pieces->made.size - before});
}

void tfs_rbx_pieces_add_all(struct tfs_rbx_pieces *pieces, const struct tfs_rbx_pieces *from)
{
    for (size_t i = 0; i < from->count; i++)
        tfs_rbx_pieces_add(pieces, from->items[i]);
}

int tfs_rbx_pieces_check(const struct tfs_rbx_pieces *pieces, struct tfs_error *err)
{
    return tfs_buf_check(&pieces->made, err);
}

bool tfs_rbx_pieces_equal(const struct tfs_rbx_pieces *pieces, struct tfs_span bytes)
{
    struct tfs_rbx_comparison c = {pieces, 0, 0};

    return pieces->size == bytes.size && tfs_rbx_compare_next(&c, bytes);
}

int tfs_rbx_pieces_write(const struct tfs_rbx_pieces *pieces, struct tfs_sink *sink,
                         struct tfs_error *err)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (tfs_sink_span(sink, pieces->items[i], err) < 0)
            return err->code;
    return 0;
}

int tfs_rbx_pieces_expect(const struct tfs_rbx_pieces *pieces, struct tfs_readback *written,
                          struct tfs_error *err)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (tfs_readback_expect(written, pieces->items[i], err) < 0)
            return err->code;
    return 0;
}

void tfs_rbx_pieces_copy(const struct tfs_rbx_pieces *pieces, uint64_t from, uint64_t to,
                         struct tfs_buf *out)
{
    uint64_t at = 0;

    for (size_t i = 0; i < pieces->count && at < to; i++) {
        const struct tfs_span piece = pieces->items[i];
        const uint64_t begin = from > at ? from - at : 0;
        const uint64_t end = to - at < piece.size ? to - at : piece.size;
        if (begin < end)
            tfs_buf_add(out, piece.data + begin, (size_t)(end - begin));
        at += piece.size;
    }
}

struct tfs_rbx_comparison tfs_rbx_compare_from(const struct tfs_rbx_pieces *pieces, uint64_t at)
{
    struct tfs_rbx_comparison c = {.pieces = pieces};

    while (c.item < pieces->count && at >= pieces->items[c.item].size)
        at -= pieces->items[c.item++].size;
    c.offset = (size_t)at;
    return c;
}

bool tfs_rbx_compare_next(struct tfs_rbx_comparison *c, struct tfs_span bytes)
{
    while (bytes.size > 0) {
        if (c->item == c->pieces->count)
            return false;
        const struct tfs_span piece = c->pieces->items[c->item];
        const size_t left = piece.size - c->offset;
        const size_t size = bytes.size < left ? bytes.size : left;
        const uint8_t *expected = piece.data + c->offset;
        if (expected != bytes.data && memcmp(expected, bytes.data, size) != 0)
            return false;
        bytes.data += size;
        bytes.size -= size;
        c->offset = size < left ? c->offset + size : 0;
        c->item += size == left;
    }
    return true;
}

bool tfs_rbx_compare_end(const struct tfs_rbx_comparison *c)
{
    return c->item == c->pieces->count;
}
