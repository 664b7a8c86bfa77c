/*
 * Values of voxels -> arrays/NAME.npy: see array.h. Of a chunk it is a volume of one chunk.
 */
#include "formats/arrays/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/holes.h"
#include "formats/arrays/values.h"

/* A whole array that is in memory at once: for commands, and to be written. */
#define WHOLE_MAX ((uint64_t)1 << 30)

#define PAGE  4096u
#define AHEAD 64u /* chunks */

/* ---- views ----------------------------------------------------------------------------------- */

/* Reads all of a chunk and remembers it: `all` has room for that. */
static int read_and_keep(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                         const struct tfs_chunk *fetched, uint8_t *all, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const size_t size = tfs_volume_values(v) * v->width;

    memset(all, 0, size);
    if (view->array->read(view, fetched, 0, v->sides[0], all, err) == 0)
        tfs_values_add(view, chunk, all, size);
    return err->code;
}

/* Chunks that follow this one along x, within a page of the file, and lie in the save only: to
 * fetch them in one go costs less. What cannot be read is left to who asks for it. */
static void read_ahead(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                       uint8_t *all)
{
    const int64_t end = (int64_t)chunk->key.x + PAGE / (view->volume.sides[2] * view->volume.width);
    struct tfs_chunk fetched[AHEAD];
    const struct tfs_chunk *chunks[AHEAD];
    struct tfs_error ignored = {0};
    size_t count = 0;

    for (size_t at = tfs_doc_lower_bound(view->doc, chunk->key);
         at < view->doc->count && count < AHEAD; at++) {
        const struct tfs_chunk *next = tfs_doc_at(view->doc, at);
        const struct tfs_key key = {chunk->key.group, next->key.x, chunk->key.y, chunk->key.z};
        if (tfs_key_compare(next->key, key) != 0 || next->key.x > end)
            break;
        if (!tfs_chunk_is_unread(next, false) || (next->flags & TFS_CHUNK_DAMAGED) != 0 ||
            tfs_values_find(view, next, 0, 0, NULL))
            continue;
        chunks[count] = next;
        fetched[count++] = *next;
        tfs_blob_ref(next->blob);
        tfs_blob_ref(next->extra);
    }
    const size_t ready = count > 1 ? tfs_chunks_fetch(view->save, fetched, count, &ignored) : 0;
    for (size_t i = 0; i < count; i++) {
        tfs_error_reset(&ignored);
        if (i < ready)
            read_and_keep(view, chunks[i], &fetched[i], all, &ignored);
        tfs_blob_unref(fetched[i].blob);
        tfs_blob_unref(fetched[i].extra);
    }
}

/* Some layers of a chunk of which others are asked for next. */
static int read_some(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                     uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const size_t layer = (size_t)v->sides[1] * v->sides[2] * v->width;
    const size_t offset = from * layer, size = (to - from) * layer;

    if (tfs_values_find(view, chunk, offset, size, values))
        return 0;
    uint8_t *all = malloc(v->sides[0] * layer);
    if (all == NULL)
        return tfs_fail_memory(err);
    if (tfs_chunk_is_unread(chunk, false))
        read_ahead(view, chunk, all);
    if (!tfs_values_find(view, chunk, offset, size, values) &&
        read_and_keep(view, chunk, chunk, all, err) == 0)
        memcpy(values, all + offset, size);
    free(all);
    return err->code;
}

static int read_layers(void *arg, const struct tfs_chunk *chunk, uint32_t from, uint32_t to,
                       uint8_t *values, struct tfs_error *err)
{
    const struct tfs_array_view *view = arg;

    if (view->array->whole && to - from < view->volume.sides[0])
        return read_some(view, chunk, from, to, values, err);
    return view->array->read(view, chunk, from, to, values, err);
}

static int open_view(struct tfs_array_view *view, struct tfs_save *save, const struct tfs_doc *doc,
                     const struct tfs_array *array, uint32_t group, const struct tfs_chunk *chunk,
                     struct tfs_error *err)
{
    *view = (struct tfs_array_view){
        .save = save,
        .doc = doc,
        .array = array,
        .chunk = chunk,
        .volume = {.doc = doc,
                   .kind = array->kind,
                   .width = array->width,
                   .sides = {array->side, array->side, array->side},
                   .layers = read_layers},
    };
    view->volume.low.group = group;
    view->volume.arg = view;
    return array->form == NULL ? 0 : array->form(view, err);
}

int tfs_array_open_whole(struct tfs_array_view *view, struct tfs_save *save,
                         const struct tfs_doc *doc, struct tfs_at at, struct tfs_error *err)
{
    if (open_view(view, save, doc, at.param, at.key.group, NULL, err) == 0 &&
        !tfs_volume_span(&view->volume))
        tfs_fail(err, -ENOENT, "there are no chunks, or too many for an array");
    return err->code;
}

int tfs_array_open_chunk(struct tfs_array_view *view, struct tfs_save *save,
                         const struct tfs_doc *doc, struct tfs_at at, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    if (tfs_doc_need(doc, at.key, &chunk, err) == 0 &&
        open_view(view, save, doc, at.param, at.key.group, chunk, err) == 0)
        tfs_volume_span_chunk(&view->volume, at.key);
    return err->code;
}

/* ---- get ------------------------------------------------------------------------------------- */

int64_t tfs_array_whole_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error ignored = {0};
    struct tfs_array_view view;

    return tfs_array_open_whole(&view, save, doc, at, &ignored) < 0
               ? ignored.code
               : (int64_t)tfs_volume_size(&view.volume);
}

uint64_t tfs_array_whole_seek(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                              uint64_t offset, bool hole)
{
    struct tfs_error ignored = {0};
    struct tfs_array_view view;

    return tfs_array_open_whole(&view, save, doc, at, &ignored) < 0
               ? offset
               : tfs_volume_seek(&view.volume, offset, hole);
}

uint64_t tfs_array_whole_stored(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error ignored = {0};
    struct tfs_array_view view;

    return tfs_array_open_whole(&view, save, doc, at, &ignored) < 0
               ? 0
               : tfs_volume_stored(&view.volume);
}

int64_t tfs_array_chunk_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error ignored = {0};
    struct tfs_array_view view;

    return tfs_array_open_chunk(&view, save, doc, at, &ignored) < 0
               ? ignored.code
               : (int64_t)tfs_volume_size(&view.volume);
}

int tfs_array_whole_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                          uint64_t offset, uint64_t size, struct tfs_buf *out,
                          struct tfs_error *err)
{
    struct tfs_array_view view;

    if (tfs_array_open_whole(&view, save, doc, at, err) < 0)
        return err->code;
    return tfs_values_range(&view, offset, size, out, err);
}

int tfs_array_whole_share(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                          uint64_t offset, uint64_t size, struct tfs_blob **blob,
                          struct tfs_error *err)
{
    struct tfs_array_view view;

    if (tfs_array_open_whole(&view, save, doc, at, err) < 0)
        return err->code;
    return tfs_values_share(&view, offset, size, blob, err);
}

void tfs_array_whole_ahead(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                           uint64_t offset, uint64_t size)
{
    struct tfs_error ignored = {0};
    struct tfs_array_view view;

    if (tfs_array_open_whole(&view, save, doc, at, &ignored) == 0)
        tfs_values_ahead(&view, offset, size);
}

int tfs_array_same_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_lens *lens = at.param;
    struct tfs_buf now = {0};

    (void)put;
    if (lens->get(save, tfs_edit_doc(edit), at, &now, err) == 0 &&
        !tfs_span_equal(text, tfs_buf_span(&now)))
        tfs_fail(err, -EBADMSG, "this file says what the arrays are, and takes nothing else");
    tfs_buf_release(&now);
    return err->code;
}

int tfs_array_whole_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_array_view view;

    if (tfs_array_open_whole(&view, save, doc, at, err) < 0)
        return err->code;
    const uint64_t size = tfs_volume_size(&view.volume);
    if (size > WHOLE_MAX)
        return tfs_fail(err, -EFBIG, "the array has %" PRIu64 " bytes: read parts of it in a mount",
                        size);
    return tfs_volume_range(&view.volume, 0, size, out, err);
}

int tfs_array_chunk_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_array_view view;

    if (tfs_array_open_chunk(&view, save, doc, at, err) < 0)
        return err->code;
    return tfs_volume_range(&view.volume, 0, WHOLE_MAX, out, err);
}

/* ---- arrays/info.txt ------------------------------------------------------------------------- */

bool tfs_arrays_exist(const struct tfs_doc *doc, uint32_t group, uint32_t side, unsigned width)
{
    struct tfs_volume volume = {
        .doc = doc, .low.group = group, .sides = {side, side, side}, .width = width};

    return tfs_volume_span(&volume);
}

/* "uint16, empty 0". */
static void print_form(const struct tfs_volume *v, struct tfs_buf *out)
{
    const unsigned above = 64 - 8 * v->width;
    float single;
    double number;

    tfs_buf_printf(out, "%s%u, empty ",
                   v->kind == 'u'   ? "uint"
                   : v->kind == 'i' ? "int"
                                    : "float",
                   8 * v->width);
    if (v->kind == 'u') {
        tfs_buf_printf(out, "%" PRIu64, v->empty);
    } else if (v->kind == 'i') {
        tfs_buf_printf(out, "%" PRId64, (int64_t)(v->empty << above) >> above);
    } else {
        const uint32_t low = (uint32_t)v->empty;
        memcpy(&single, &low, sizeof(single));
        memcpy(&number, &v->empty, sizeof(number));
        tfs_buf_printf(out, "%g", v->width == 4 ? (double)single : number);
    }
}

int tfs_arrays_info(struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    const struct tfs_array *arrays, size_t count, bool shown, struct tfs_buf *out,
                    struct tfs_error *err)
{
    struct tfs_array_view view;

    if (!shown)
        tfs_buf_add_text(out,
                         tfs_doc_group_count(doc, group) == 0
                             ? "arrays: none, there are no chunks\n"
                             : "arrays: those of the chunks alone; the chunks lie so far apart "
                               "that one of all would have more than 2^40 bytes\n");
    for (size_t i = 0; i < count && shown; i++) {
        const struct tfs_at at = {.key.group = group, .param = &arrays[i]};
        if (tfs_array_open_whole(&view, save, doc, at, err) < 0)
            return err->code;
        const struct tfs_npy npy = tfs_volume_npy(&view.volume);
        const struct tfs_key low = view.volume.low;
        const uint32_t *sides = view.volume.sides;
        if (i == 0)
            tfs_buf_printf(out,
                           "axes: y z x\nshape: %" PRIu64 " %" PRIu64 " %" PRIu64
                           "\norigin: %" PRId64 " %" PRId64 " %" PRId64 "\n",
                           npy.shape[0], npy.shape[1], npy.shape[2], (int64_t)low.y * sides[0],
                           (int64_t)low.z * sides[1], (int64_t)low.x * sides[2]);
        tfs_buf_printf(out, "%s: ", arrays[i].file);
        print_form(&view.volume, out);
        tfs_buf_printf(out, ": %s\n", arrays[i].about);
    }
    return tfs_buf_check(out, err);
}
