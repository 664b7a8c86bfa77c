/*
 * arrays/heights.npy and layers.npy <-> planes of samples, as numbers [z, x], north up as in the
 * pictures: row r is row side-1-r of the file. Those of a tile are the same: a part of the whole.
 *
 * Must not know where tiles lie.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/npy.h"
#include "formats/arrays/written.h"
#include "formats/beamng/layers.h"
#include "formats/beamng/lenses.h"

static struct tfs_npy npy_of(const struct tfs_beamng_plane *plane, uint32_t height, uint32_t width)
{
    return (struct tfs_npy){
        .kind = 'u', .width = plane->bytes, .shape = {1, height, width}, .dimensions = 2};
}

static struct tfs_npy npy_of_all(const struct tfs_doc *doc, const struct tfs_beamng_plane *plane)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side;

    return npy_of(plane, side, side);
}

static int64_t file_size(const struct tfs_npy *npy)
{
    return TFS_NPY_HEAD + (int64_t)(npy->shape[1] * npy->shape[2] * npy->width);
}

static int64_t array_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_npy npy = npy_of_all(doc, at.param);

    (void)save;
    return file_size(&npy);
}

/* ---- showing --------------------------------------------------------------------------------- */

/* Appends the bytes of the values from `begin` to `end`. */
static int add_rows(const struct tfs_doc *doc, const struct tfs_beamng_plane *plane, uint64_t begin,
                    uint64_t end, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_beamng_terrain terrain;
    const uint32_t side = tfs_beamng_layout_of(doc)->side;
    const uint64_t size = (uint64_t)side * plane->bytes;

    if (tfs_beamng_terrain_init_rows(doc, side - 1 - (uint32_t)((end - 1) / size),
                                     side - 1 - (uint32_t)(begin / size), &terrain, err) < 0)
        return err->code;
    uint8_t *row = malloc(size);
    if (row == NULL)
        tfs_fail_memory(err);
    for (uint64_t at = begin; row != NULL && at < end;) {
        const uint64_t first = at % size, left = size - first;
        const uint64_t part = left < end - at ? left : end - at;
        tfs_beamng_terrain_row(&terrain, plane, side - 1 - (uint32_t)(at / size), row);
        tfs_buf_add(out, row + first, (size_t)part);
        at += part;
    }
    free(row);
    tfs_beamng_terrain_release(&terrain);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int array_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       uint64_t offset, uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    const uint64_t whole = (uint64_t)array_size(save, doc, at);
    const struct tfs_npy npy = npy_of_all(doc, at.param);
    struct tfs_buf head = {0};

    if (offset >= whole)
        return 0;
    const uint64_t end = size < whole - offset ? offset + size : whole;
    if (offset < TFS_NPY_HEAD) {
        tfs_npy_print(&npy, &head);
        if (tfs_buf_check(&head, err) == 0)
            tfs_buf_add(out, head.data + offset,
                        (size_t)((end < TFS_NPY_HEAD ? end : TFS_NPY_HEAD) - offset));
        tfs_buf_release(&head);
        offset = TFS_NPY_HEAD;
    }
    if (err->code < 0 || offset >= end)
        return err->code < 0 ? err->code : tfs_buf_check(out, err);
    return add_rows(doc, at.param, offset - TFS_NPY_HEAD, end - TFS_NPY_HEAD, out, err);
}

static int array_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    return array_range(save, doc, at, 0, UINT64_MAX, out, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends the values that the text says. */
static int take_values(struct tfs_span text, const struct tfs_npy *expected, struct tfs_buf *out,
                       struct tfs_error *err)
{
    const size_t row = (size_t)expected->shape[2] * expected->width;
    struct tfs_span values;
    struct tfs_npy npy;
    uint64_t bad = 0;

    if (tfs_npy_take(text, expected, &npy, &values, err) < 0)
        return err->code;
    uint8_t *to = tfs_buf_reserve(out, row * expected->shape[1]);
    for (uint64_t z = 0; to != NULL && z < expected->shape[1]; z++, to += row) {
        const uint64_t at[3] = {0, z, 0};
        if (!tfs_npy_row(&npy, values, expected, at, (uint32_t)expected->shape[2], to, &bad))
            return tfs_fail(
                err, -EBADMSG, "[%" PRIu64 ",%" PRIu64 "] is %" PRId64 ", which uint%u cannot hold",
                z, bad, (int64_t)tfs_npy_value(&npy, values, 0, z, bad), 8 * expected->width);
        out->size += row;
    }
    return tfs_buf_check(out, err);
}

/* Of the values those stay as they are now that are what they were in the array that the text was
 * made from. */
static int keep_unchanged(struct tfs_buf *values, const struct tfs_npy *expected,
                          struct tfs_span original, const struct tfs_buf *now,
                          struct tfs_error *err)
{
    struct tfs_buf before = {0};
    const unsigned width = expected->width;

    if (original.size > 0 && take_values(original, expected, &before, err) == 0)
        for (size_t i = 0; i < values->size; i += width)
            if (memcmp(values->data + i, before.data + i, width) == 0)
                memcpy(values->data + i, now->data + i, width);
    tfs_buf_release(&before);
    return err->code;
}

static int check_layers(const struct tfs_doc *doc, const struct tfs_npy *npy,
                        const struct tfs_buf *values, const struct tfs_buf *now,
                        struct tfs_error *err)
{
    const size_t side = (size_t)npy->shape[2];
    const uint32_t materials = tfs_beamng_name_count(doc);

    for (size_t i = 0; i < values->size; i++)
        if (!tfs_beamng_layer_allowed(now->data[i], values->data[i], materials))
            return tfs_fail(err, -EBADMSG,
                            "[%zu,%zu] is %u, but there are %" PRIu32 " materials (255 is a hole)",
                            i / side, i % side, values->data[i], materials);
    return 0;
}

/* Appends what is wanted, of which `now` is what the document says. */
static int take(const struct tfs_edit *edit, const struct tfs_beamng_plane *plane,
                const struct tfs_npy *npy, struct tfs_span text, const struct tfs_put *put,
                const struct tfs_buf *now, struct tfs_buf *values, struct tfs_error *err)
{
    if (take_values(text, npy, values, err) == 0 &&
        keep_unchanged(values, npy, put->original, now, err) == 0 && plane == &tfs_beamng_layers)
        check_layers(tfs_edit_doc(edit), npy, values, now, err);
    return err->code;
}

/* Appends what is wanted: what is now, but for values that were written. */
static int take_rows(const struct tfs_beamng_terrain *past, const struct tfs_beamng_plane *plane,
                     const struct tfs_npy *npy, const struct tfs_written *file,
                     const struct tfs_buf *now, struct tfs_buf *values, struct tfs_error *err)
{
    const uint32_t side = (uint32_t)npy->shape[2];
    const size_t size = (size_t)side * plane->bytes;
    uint8_t *rows = malloc(2 * size);

    tfs_buf_add_span(values, tfs_buf_span(now));
    if (rows == NULL)
        tfs_fail_memory(err);
    for (uint32_t z = 0; z < side && err->code == 0 && tfs_buf_check(values, err) == 0; z++) {
        const uint64_t place = TFS_NPY_HEAD + z * size;
        if (!file->differs(file->arg, place, size))
            continue;
        memset(rows, 0, size);
        if (file->base != NULL)
            tfs_beamng_terrain_row(past, plane, side - 1 - z, rows);
        tfs_written_row(file, place, size, plane->bytes, rows, rows + size, values->data + z * size,
                        err);
    }
    free(rows);
    return err->code;
}

static int take_like(const struct tfs_beamng_plane *plane, const struct tfs_npy *npy,
                     const struct tfs_written *file, const struct tfs_buf *now,
                     struct tfs_buf *values, struct tfs_error *err)
{
    struct tfs_beamng_terrain past = {0};

    if (file->base != NULL && tfs_beamng_terrain_init(file->base, &past, err) < 0)
        return err->code;
    if (file->base != NULL && past.layout.side != npy->shape[2])
        tfs_fail(err, -ESTALE, "the array has another shape since this one was opened");
    else
        take_rows(&past, plane, npy, file, now, values, err);
    if (file->base != NULL)
        tfs_beamng_terrain_release(&past);
    return err->code;
}

/* As take, of a file that was written a part of. One of another type or order is taken as a
 * text. */
static int take_written(struct tfs_save *save, const struct tfs_edit *edit, struct tfs_at at,
                        const struct tfs_npy *npy, const struct tfs_put *put,
                        const struct tfs_buf *now, struct tfs_buf *values, struct tfs_error *err)
{
    const struct tfs_written *file = put->written;
    const struct tfs_put whole = {.options = put->options};
    struct tfs_buf text = {0};
    bool like = false;

    if (tfs_written_is_like(file, npy, (uint64_t)file_size(npy), &like, err) < 0)
        return err->code;
    if (like && take_like(at.param, npy, file, now, values, err) == 0 &&
        at.param == &tfs_beamng_layers)
        check_layers(tfs_edit_doc(edit), npy, values, now, err);
    if (!like && tfs_written_text(file, save, at, array_range, &text, err) == 0)
        take(edit, at.param, npy, tfs_buf_span(&text), &whole, now, values, err);
    tfs_buf_release(&text);
    return err->code;
}

static int array_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_beamng_plane *plane = at.param;
    const struct tfs_npy npy = npy_of_all(tfs_edit_doc(edit), plane);
    struct tfs_buf values = {0}, now = {0};
    struct tfs_beamng_terrain terrain;

    if (tfs_beamng_terrain_init(tfs_edit_doc(edit), &terrain, err) == 0) {
        tfs_beamng_terrain_picture(&terrain, plane, &now, err);
        tfs_beamng_terrain_release(&terrain);
    }
    if (err->code == 0 &&
        (put->written != NULL ? take_written(save, edit, at, &npy, put, &now, &values, err)
                              : take(edit, plane, &npy, text, put, &now, &values, err)) == 0 &&
        tfs_beamng_terrain_put(edit, plane, values.data, err) == 0)
        tfs_beamng_terrain_check_layout(edit, err);
    tfs_buf_release(&values);
    tfs_buf_release(&now);
    return err->code;
}

/* ---- of a tile ------------------------------------------------------------------------------- */

/* Appends rows in the other order: samples are stored from the south, values begin in the north. */
static void add_flipped(struct tfs_buf *out, const struct tfs_npy *npy, const uint8_t *rows)
{
    const size_t size = (size_t)npy->shape[2] * npy->width;

    for (uint64_t z = npy->shape[1]; z-- > 0;)
        tfs_buf_add(out, rows + (size_t)z * size, size);
}

static struct tfs_npy npy_of_tile(const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_beamng_tile tile = tfs_beamng_tile_of(tfs_beamng_layout_of(doc), at.key);

    return npy_of(at.param, tile.height, tile.width);
}

/* Appends the values. */
static void add_tile(const struct tfs_doc *doc, struct tfs_at at, struct tfs_buf *out)
{
    const struct tfs_beamng_tile tile = tfs_beamng_tile_of(tfs_beamng_layout_of(doc), at.key);
    const struct tfs_beamng_planes planes = tfs_beamng_planes_of(tfs_doc_find(doc, at.key));
    const struct tfs_npy npy = npy_of_tile(doc, at);

    add_flipped(out, &npy, tfs_beamng_tile_plane(planes, &tile, at.param).data);
}

static int64_t tile_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_npy npy = npy_of_tile(doc, at);

    (void)save;
    return file_size(&npy);
}

static int tile_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_npy npy = npy_of_tile(doc, at);

    (void)save;
    tfs_npy_print(&npy, out);
    add_tile(doc, at, out);
    return tfs_buf_check(out, err);
}

static int tile_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_npy npy = npy_of_tile(tfs_edit_doc(edit), at);
    struct tfs_buf values = {0}, now = {0}, samples = {0};

    (void)save;
    add_tile(tfs_edit_doc(edit), at, &now);
    if (tfs_buf_check(&now, err) == 0 &&
        take(edit, at.param, &npy, text, put, &now, &values, err) == 0) {
        add_flipped(&samples, &npy, values.data);
        if (tfs_buf_check(&samples, err) == 0 &&
            tfs_beamng_samples_put(edit, at.key, at.param, samples.data, err) == 0)
            tfs_beamng_terrain_check_layout(edit, err);
    }
    tfs_buf_release(&values);
    tfs_buf_release(&now);
    tfs_buf_release(&samples);
    return err->code;
}

#define ARRAY_LENS(plane)                                                                          \
    {                                                                                              \
        .param = (plane), .takes_written = true, .get = array_get, .get_range = array_range,       \
        .put = array_put, .size = array_size                                                       \
    }

const struct tfs_lens tfs_beamng_heights_array_lens = ARRAY_LENS(&tfs_beamng_heights);
const struct tfs_lens tfs_beamng_layers_array_lens = ARRAY_LENS(&tfs_beamng_layers);

#define TILE_LENS(plane)                                                                           \
    {                                                                                              \
        .param = (plane), .get = tile_get, .put = tile_put, .size = tile_size                      \
    }

const struct tfs_lens tfs_beamng_tile_heights_lens = TILE_LENS(&tfs_beamng_heights);
const struct tfs_lens tfs_beamng_tile_layers_lens = TILE_LENS(&tfs_beamng_layers);

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
