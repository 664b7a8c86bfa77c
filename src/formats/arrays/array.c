/*
 * Values of voxels <-> arrays/NAME.npy: see array.h. Of a chunk it is a volume of one chunk.
 */
#include "formats/arrays/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/holes.h"
#include "formats/arrays/values.h"
#include "formats/arrays/written.h"

/* A whole array that is in memory at once: for commands, and to be written. */
#define WHOLE_MAX ((uint64_t)1 << 30)

#define PAGE  4096u
#define AHEAD 64u /* chunks */

/* ---- views ----------------------------------------------------------------------------------- */

/* Values of a chunk. */
static size_t values_of(const struct tfs_volume *v)
{
    return (size_t)v->sides[0] * v->sides[1] * v->sides[2];
}

/* Reads all of a chunk and remembers it: `all` has room for that. */
static int read_and_keep(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                         const struct tfs_chunk *fetched, uint8_t *all, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const size_t size = values_of(v) * v->width;

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

static int open_chunk(struct tfs_array_view *view, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_at at, struct tfs_error *err)
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

    return open_chunk(&view, save, doc, at, &ignored) < 0 ? ignored.code
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

    if (open_chunk(&view, save, doc, at, err) < 0)
        return err->code;
    return tfs_volume_range(&view.volume, 0, WHOLE_MAX, out, err);
}

/* ---- put ------------------------------------------------------------------------------------- */

/* A file, to be compared with the save chunk by chunk. */
struct text {
    const struct tfs_array_view *view;
    struct tfs_npy expected, npy;
    struct tfs_span values;
    struct tfs_npy npy_before;
    struct tfs_span before; /* the values that it began with; empty: all that it says is wanted */
    uint8_t *now, *wanted;  /* of the chunk at hand */
    uint8_t *row;           /* of `before` */
    unsigned options;
    struct tfs_renumbering *names; /* of the numbers; NULL: they are as the save has them */
    const char *missing; /* what names the numbers, which did not come with them; NULL: it did */
};

static int print_refusal(struct tfs_error *err, char kind, const uint64_t at[3], uint64_t value,
                         const char *why)
{
    char number[32];

    snprintf(number, sizeof(number), kind == 'u' ? "%" PRIu64 : "%" PRId64, value);
    return tfs_fail(err, -EBADMSG, "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "] is %s, %s", at[0], at[1],
                    at[2], number, why);
}

int tfs_array_refuse(const struct tfs_array_change *change, size_t i, struct tfs_error *err,
                     const char *format, ...)
{
    const struct tfs_volume *v = &change->view->volume;
    const uint64_t at[3] = {change->origin[0] + i / v->sides[2] / v->sides[1],
                            change->origin[1] + i / v->sides[2] % v->sides[1],
                            change->origin[2] + i % v->sides[2]};
    char why[160];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    return print_refusal(err, v->kind, at, tfs_array_value(change->wanted, v->width, i), why);
}

static int fail_unnamed(struct tfs_error *err, const char *missing)
{
    return tfs_fail(err, -EBADMSG,
                    "nothing says which names its numbers mean: append %s as it was when the array "
                    "was read",
                    missing);
}

/* A value is a number of elsewhere: makes it that of the save. */
static int renumber(const struct text *t, const uint64_t at[3], uint8_t *value,
                    struct tfs_error *err)
{
    const unsigned width = t->view->volume.width;
    const uint64_t there = tfs_array_value(value, width, 0);
    uint32_t number;
    char why[80];

    snprintf(why, sizeof(why),
             t->before.size > 0 ? "the palette had %" PRIu32
                                  " lines when the array was written first"
                                : "the palette behind the array has %" PRIu32 " lines",
             t->names->palette.count);
    if (there >= t->names->palette.count)
        return print_refusal(err, 'u', at, there, why);
    if (tfs_renumber(t->names, there, &number, err) == 0)
        tfs_array_set(value, width, 0, number);
    return err->code;
}

/* What a row says is wanted but for what it began with. */
static int keep_edits(const struct text *t, const uint64_t at[3], uint8_t *wanted,
                      struct tfs_error *err)
{
    const struct tfs_volume *v = &t->view->volume;
    const uint8_t *now = t->now + (wanted - t->wanted);
    const bool based = t->before.size > 0;
    uint64_t bad;

    if (based &&
        !tfs_npy_row(&t->npy_before, t->before, &t->expected, at, v->sides[2], t->row, &bad))
        return tfs_fail(err, -ESTALE, "the array has another type since this one was opened");
    for (uint32_t i = 0; i < v->sides[2]; i++) {
        const uint64_t place[3] = {at[0], at[1], at[2] + i};
        const size_t offset = (size_t)i * v->width;
        if (based && memcmp(wanted + offset, t->row + offset, v->width) == 0)
            memcpy(wanted + offset, now + offset, v->width);
        else if (t->names != NULL && renumber(t, place, wanted + offset, err) < 0)
            return err->code;
    }
    return 0;
}

/* One row along x of what is wanted, where *wanted is what is now. */
static int take_row(const struct text *t, const uint64_t at[3], uint8_t *wanted,
                    struct tfs_error *err)
{
    const uint32_t side = t->view->volume.sides[2];
    const unsigned width = t->view->volume.width;
    uint64_t bad = at[2];

    if (tfs_npy_row(&t->npy, t->values, &t->expected, at, side, wanted, &bad))
        return keep_edits(t, at, wanted, err);
    const uint64_t place[3] = {at[0], at[1], bad};
    char why[64];
    snprintf(why, sizeof(why), "which %s%u cannot hold", t->expected.kind == 'i' ? "int" : "uint",
             8 * width);
    return print_refusal(err, t->npy.kind, place,
                         tfs_npy_value(&t->npy, t->values, at[0], at[1], bad), why);
}

/* What the text says of a chunk, into t->wanted. */
static int take_chunk(const struct text *t, const uint64_t origin[3], struct tfs_error *err)
{
    const struct tfs_volume *v = &t->view->volume;
    uint8_t *wanted = t->wanted;

    for (uint64_t y = 0; y < v->sides[0]; y++)
        for (uint64_t z = 0; z < v->sides[1]; z++, wanted += (size_t)v->sides[2] * v->width) {
            const uint64_t at[3] = {origin[0] + y, origin[1] + z, origin[2]};
            if (take_row(t, at, wanted, err) < 0)
                return err->code;
        }
    return 0;
}

int tfs_array_read_all(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                       uint8_t *values, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const size_t count = values_of(v);

    if (chunk == NULL && v->empty != 0)
        for (size_t i = 0; i < count; i++)
            tfs_array_set(values, v->width, i, v->empty);
    else
        memset(values, 0, count * v->width);
    if (chunk == NULL || (chunk->flags & TFS_CHUNK_DAMAGED) != 0 ||
        (view->array->whole && tfs_values_find(view, chunk, 0, count * v->width, values)))
        return 0;
    return view->array->read(view, chunk, 0, v->sides[0], values, err);
}

int tfs_array_store(const struct tfs_array_change *change, struct tfs_error *err)
{
    const struct tfs_array_view *view = change->view;

    if (tfs_doc_find(tfs_edit_doc(change->edit), change->key) == NULL &&
        view->save->tree->chunk_create(view->save, change->edit, change->key, err) < 0)
        return err->code;
    return view->array->write(change, err);
}

/* A chunk that lacks is made where the text has something in it. */
static int put_chunk(const struct text *t, struct tfs_edit *edit, const uint64_t at[3],
                     struct tfs_error *err)
{
    const struct tfs_array_view *view = t->view;
    const struct tfs_volume *v = &view->volume;
    const uint64_t origin[3] = {at[0] * v->sides[0], at[1] * v->sides[1], at[2] * v->sides[2]};
    const size_t count = values_of(v);
    struct tfs_key key = v->low;

    key.y += (int32_t)at[0];
    key.z += (int32_t)at[1];
    key.x += (int32_t)at[2];
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(edit), key);
    if (tfs_array_read_all(view, chunk, t->now, err) < 0)
        return err->code;
    memcpy(t->wanted, t->now, count * v->width);
    if (take_chunk(t, origin, err) < 0 || memcmp(t->now, t->wanted, count * v->width) == 0)
        return err->code;
    if (t->missing != NULL)
        return fail_unnamed(err, t->missing);
    const struct tfs_array_change change = {view,   edit,  t->options, key,
                                            origin, count, t->now,     t->wanted};
    return tfs_array_store(&change, err);
}

static int put_chunks(const struct text *t, struct tfs_edit *edit, struct tfs_error *err)
{
    const uint32_t *chunks = t->view->volume.chunks;
    uint64_t at[3];

    for (at[0] = 0; at[0] < chunks[0]; at[0]++)
        for (at[1] = 0; at[1] < chunks[1]; at[1]++)
            for (at[2] = 0; at[2] < chunks[2]; at[2]++)
                if (put_chunk(t, edit, at, err) < 0)
                    return err->code;
    return 0;
}

static int take_original(struct text *t, struct tfs_span original, struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (tfs_npy_take(original, &t->npy_before, &t->before, &why) < 0 ||
        tfs_npy_expect(&t->npy_before, &t->expected, &why) < 0)
        return tfs_fail(err, -ESTALE, "the array has another shape since this one was opened");
    return 0;
}

static int put_view(struct text *t, struct tfs_edit *edit, struct tfs_span text,
                    const struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_volume *v = &t->view->volume;
    const size_t size = values_of(v) * v->width;

    t->options = put->options;
    t->expected = tfs_volume_npy(v);
    if (tfs_npy_take(text, &t->npy, &t->values, err) < 0 ||
        tfs_npy_expect(&t->npy, &t->expected, err) < 0)
        return err->code;
    if (put->original.size > 0 && take_original(t, put->original, err) < 0)
        return err->code;
    t->now = malloc(2 * size + (size_t)v->sides[2] * v->width);
    if (t->now == NULL)
        return tfs_fail_memory(err);
    t->wanted = t->now + size;
    t->row = t->wanted + size;
    put_chunks(t, edit, err);
    free(t->now);
    return err->code;
}

/* The same with the names that the numbers mean. */
static int put_named(struct text *t, struct tfs_edit *edit, struct tfs_span text,
                     struct tfs_span names, const struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_array_view *view = t->view;
    struct tfs_renumbering renumbering = {0};
    struct tfs_numbers *numbers;

    if (tfs_numbers_open(view->save, view->doc, view->array->numbering, &numbers, err) == 0 &&
        tfs_renumbering_open(&renumbering, numbers, names, err) == 0) {
        t->names = &renumbering;
        put_view(t, edit, text, put, err);
    }
    tfs_renumbering_release(&renumbering);
    return err->code;
}

/* Of an array whose numbers are of names: takes off what is behind the values. */
static int split(const struct tfs_array *array, const struct tfs_put *put, struct tfs_span *text,
                 struct tfs_span *names, struct tfs_error *err)
{
    size_t size = text->size;

    *names = (struct tfs_span){0};
    if ((array->numbering == NULL && array->named == NULL) || (put->options & TFS_PUT_APART) == 0)
        return 0;
    if (tfs_npy_measure(*text, &size, err) < 0)
        return err->code;
    *names = (struct tfs_span){text->data + size, text->size - size};
    text->size = size;
    return 0;
}

int tfs_array_whole_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_array *array = at.param;
    struct tfs_array_view view;
    struct text t = {.view = &view};
    struct tfs_span names;

    if (put->written != NULL)
        return tfs_array_put_written(save, edit, at, put, err);
    if (split(array, put, &text, &names, err) < 0 ||
        tfs_array_open_whole(&view, save, edit->base, at, err) < 0)
        return err->code;
    if (names.size > 0)
        return put_named(&t, edit, text, names, put, err);
    if (array->numbering != NULL && (put->options & TFS_PUT_APART) != 0)
        t.missing = "arrays/palette.txt";
    return put_view(&t, edit, text, put, err);
}

/* Appends the chunk's palette.txt as a document has it. */
static int print_palette(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_tree *tree = save->tree;
    const struct tfs_lens *lens = NULL;

    for (unsigned i = 0; i < tree->chunk_count; i++)
        if (strcmp(tree->chunk_files[i].path, "palette.txt") == 0)
            lens = tree->chunk_files[i].lens;
    if (lens == NULL || doc == NULL || tfs_doc_find(doc, key) == NULL)
        return tfs_fail(err, -ESTALE, "the palette of when the array was opened is not there");
    if (lens->get(save, doc, tfs_lens_at(lens, key, 0), out, err) < 0)
        return err->code;
    return tfs_buf_check(out, err);
}

/* Do the numbers of one palette mean the same in another? */
static bool goes_on(const struct tfs_buf *palette, const struct tfs_buf *as)
{
    return as->size >= palette->size && memcmp(as->data, palette->data, palette->size) == 0;
}

/* The names that the numbers of a mapping mean, where the chunk's palette numbers them in another
 * way since it was written to; nothing where it does not. Before the first write its pages may be
 * of any time. */
static int find_names(struct tfs_save *save, const struct tfs_edit *edit, struct tfs_at at,
                      const struct tfs_put *put, struct tfs_buf *names, struct tfs_error *err)
{
    const struct tfs_array *array = at.param;
    struct tfs_buf first = {0}, now = {0};

    if (array->named == NULL || put->original.size == 0)
        return 0;
    if (print_palette(save, put->began[0], at.key, names, err) == 0 &&
        print_palette(save, put->began[1], at.key, &first, err) == 0 &&
        print_palette(save, tfs_edit_doc(edit), at.key, &now, err) == 0) {
        if (!goes_on(names, &first))
            tfs_fail(err, -ESTALE,
                     "the palette of the chunk has changed since this array was opened: open it "
                     "again");
        tfs_buf_release(names);
        if (!goes_on(&first, &now)) {
            *names = first;
            first = (struct tfs_buf){0};
        }
    }
    tfs_buf_release(&first);
    tfs_buf_release(&now);
    return err->code;
}

static int put_chunk_named(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                           struct tfs_span text, struct tfs_span names, const struct tfs_put *put,
                           struct tfs_error *err)
{
    const struct tfs_array *array = at.param;
    struct tfs_array_view view;
    struct text t = {.view = &view};

    if (names.size > 0)
        at.param = array->named;
    if (open_chunk(&view, save, tfs_edit_doc(edit), at, err) < 0)
        return err->code;
    if (names.size > 0)
        return put_named(&t, edit, text, names, put, err);
    if (array->named != NULL && (put->options & TFS_PUT_APART) != 0)
        t.missing = "palette.txt of the chunk";
    return put_view(&t, edit, text, put, err);
}

int tfs_array_chunk_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_buf then = {0};
    struct tfs_span names;

    if (split(at.param, put, &text, &names, err) == 0 &&
        find_names(save, edit, at, put, &then, err) == 0)
        put_chunk_named(save, edit, at, text, then.size > 0 ? tfs_buf_span(&then) : names, put,
                        err);
    tfs_buf_release(&then);
    return err->code;
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
