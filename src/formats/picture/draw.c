/*
 * Bytes of a picture -> the blocks that they are in, and the rows of chunks that those show.
 *
 * Must not know what a picture shows. The tail holds checksums of all blocks: those that were not
 * drawn since the document became what it is are drawn for it, and forgotten.
 */
#include "formats/picture/draw.h"

#include <stdlib.h>

/* What is being drawn. */
struct drawing {
    const struct tfs_picture *picture;
    struct tfs_columns *columns;
    struct tfs_block_sum *sums; /* of all blocks */
    uint64_t from, to;          /* bytes of the file that are wanted */
    struct tfs_buf *out;
    struct tfs_error *err;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The rows of chunks that blocks show: *first to *end - 1. */
static void rows_of(const struct tfs_picture *p, uint32_t block, uint32_t block_end,
                    uint32_t *first, uint32_t *end)
{
    const uint32_t rows = tfs_png_block_rows(&p->shape), edge = p->box->chunk.z;
    const uint64_t last = (uint64_t)block_end * rows;

    *first = block * rows / edge;
    *first -= p->above && *first > 0;
    *end = (uint32_t)(((last < p->shape.height ? last : p->shape.height) + edge - 1) / edge);
}

/* How many blocks can be drawn from rows of chunks that are worth computing at a time: at least
 * one. */
static uint32_t blocks_at_a_time(const struct drawing *d, uint32_t block, uint32_t block_end)
{
    const uint32_t fit = d->picture->step / tfs_png_block_rows(&d->picture->shape);
    uint32_t first, end, next = block + 1;

    if (d->picture->prepare != NULL)
        return fit < 1 ? 1 : fit < block_end - block ? fit : block_end - block;

    for (; next < block_end; next++) {
        rows_of(d->picture, block, next + 1, &first, &end);
        if (end - first > tfs_columns_step(d->columns))
            break;
    }
    return next - block;
}

/* Makes what blocks are drawn from. */
static int prepare(const struct drawing *d, uint32_t block, uint32_t block_end)
{
    const struct tfs_picture *p = d->picture;
    const uint32_t rows = tfs_png_block_rows(&p->shape);
    const uint64_t last = (uint64_t)block_end * rows;
    uint32_t first, end;

    if (p->prepare != NULL)
        return p->prepare(p->rows.args[0], block * rows,
                          last < p->shape.height ? (uint32_t)last : p->shape.height, d->err);
    rows_of(p, block, block_end, &first, &end);
    return tfs_columns_rows(d->columns, first, end, d->err);
}

/* Draws blocks into `out`. */
static int draw_blocks(const struct drawing *d, uint32_t block, uint32_t block_end,
                       struct tfs_buf *out)
{
    struct tfs_png_rows rows = d->picture->rows;
    struct tfs_png_sum *sums = calloc(block_end - block, sizeof(*sums));

    if (sums == NULL)
        return tfs_fail_memory(d->err);
    rows.threads = rows.threads < block_end - block ? rows.threads : block_end - block;
    if (prepare(d, block, block_end) == 0 &&
        tfs_png_write_blocks(&d->picture->shape, block, block_end, &rows, sums, out, d->err) == 0)
        for (uint32_t i = block; i < block_end; i++)
            d->sums[i] = (struct tfs_block_sum){sums[i - block], true};
    free(sums);
    return d->err->code;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Adds what is wanted of bytes that lie at `offset`. */
static void add_wanted(const struct drawing *d, uint64_t offset, struct tfs_span bytes)
{
    const uint64_t end = offset + bytes.size;
    const uint64_t from = d->from > offset ? d->from : offset, to = d->to < end ? d->to : end;

    if (from < to)
        tfs_buf_add(d->out, bytes.data + (from - offset), (size_t)(to - from));
}

/* Blocks that are wanted to their first and last byte are drawn in their place. */
static int add_blocks(const struct drawing *d, uint32_t block, uint32_t block_end)
{
    const struct tfs_png_shape *shape = &d->picture->shape;
    const uint64_t offset = tfs_png_offset(shape, block);
    struct tfs_buf bytes = {0};

    if (d->from <= offset && tfs_png_offset(shape, block_end) <= d->to)
        return draw_blocks(d, block, block_end, d->out);
    if (draw_blocks(d, block, block_end, &bytes) == 0)
        add_wanted(d, offset, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
    return d->err->code;
}

static int add_body(const struct drawing *d)
{
    const struct tfs_png_shape *shape = &d->picture->shape;
    uint32_t block = 0, end = tfs_png_blocks(shape);

    while (block < end && tfs_png_offset(shape, block + 1) <= d->from)
        block++;
    while (end > block && tfs_png_offset(shape, end - 1) >= d->to)
        end--;
    for (uint32_t count; block < end; block += count) {
        count = blocks_at_a_time(d, block, end);
        if (add_blocks(d, block, block + count) < 0)
            return d->err->code;
    }
    return 0;
}

/* Draws blocks whose checksums are not known. */
static int complete_sums(const struct drawing *d)
{
    const uint32_t blocks = tfs_png_blocks(&d->picture->shape);
    struct tfs_buf bytes = {0};

    for (uint32_t block = 0, end; block < blocks && d->err->code == 0; block = end) {
        for (end = block; end < blocks && !d->sums[end].known;)
            end++;
        if (end > block)
            end = block + blocks_at_a_time(d, block, end);
        tfs_buf_clear(&bytes);
        if (end > block)
            draw_blocks(d, block, end, &bytes);
        else
            end++;
    }
    tfs_buf_release(&bytes);
    return d->err->code;
}

static int add_tail(const struct drawing *d)
{
    const struct tfs_png_shape *shape = &d->picture->shape;
    const uint32_t blocks = tfs_png_blocks(shape);
    struct tfs_png_sum *sums = calloc(blocks, sizeof(*sums));
    struct tfs_buf bytes = {0};

    if (sums == NULL)
        return tfs_fail_memory(d->err);
    if (complete_sums(d) == 0) {
        for (uint32_t i = 0; i < blocks; i++)
            sums[i] = d->sums[i].sum;
        tfs_png_write_tail(shape, sums, &bytes);
        if (tfs_buf_check(&bytes, d->err) == 0)
            add_wanted(d, tfs_png_offset(shape, blocks), tfs_buf_span(&bytes));
    }
    tfs_buf_release(&bytes);
    free(sums);
    return d->err->code;
}

static int add_head(const struct drawing *d)
{
    struct tfs_buf bytes = {0};

    tfs_png_write_head(&d->picture->shape, &bytes);
    if (tfs_buf_check(&bytes, d->err) == 0)
        add_wanted(d, 0, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
    return d->err->code;
}

static int draw(struct drawing *d, uint64_t offset, uint64_t size)
{
    const struct tfs_png_shape *shape = &d->picture->shape;
    const uint64_t all = tfs_png_size(shape);

    if (offset >= all)
        return 0;
    d->from = offset;
    d->to = size < all - offset ? offset + size : all;
    if (d->sums == NULL || tfs_buf_reserve(d->out, (size_t)(d->to - d->from)) == NULL)
        return tfs_fail_memory(d->err);
    if (d->from < tfs_png_offset(shape, 0) && add_head(d) < 0)
        return d->err->code;
    if (add_body(d) < 0 ||
        (d->to > tfs_png_offset(shape, tfs_png_blocks(shape)) && add_tail(d) < 0))
        return d->err->code;
    return tfs_buf_check(d->out, d->err);
}

int tfs_picture_draw(const struct tfs_picture *picture, struct tfs_columns *columns,
                     uint64_t offset, uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    struct drawing d = {.picture = picture, .columns = columns, .out = out, .err = err};

    d.sums = tfs_columns_sums(columns, picture->number, tfs_png_blocks(&picture->shape));
    return draw(&d, offset, size);
}
