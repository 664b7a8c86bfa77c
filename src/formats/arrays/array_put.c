/*
 * arrays/NAME.npy -> values of voxels: see array.h. A text is compared with the save chunk by
 * chunk; of an array of the save that was written in part, written.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/array.h"
#include "formats/arrays/values.h"
#include "formats/arrays/written.h"

/* A file, to be compared with the save chunk by chunk. */
struct text {
    const struct tfs_array_view *view;
    struct tfs_npy expected, npy;
    struct tfs_span values;
    struct tfs_npy npy_before;
    struct tfs_span before; /* the values that it began with; empty: all that it says is wanted */
    uint8_t *now, *wanted;  /* of the chunk at hand */
    uint8_t *row;           /* of `before` */
    struct tfs_renumbering *names; /* of the numbers; NULL: they are as the save has them */
    const char *missing; /* what names the numbers, which did not come with them; NULL: it did */
};

static int print_refusal(struct tfs_error *err, const struct tfs_volume *v, char kind,
                         const uint64_t at[3], uint64_t value, const char *why)
{
    char number[32];

    snprintf(number, sizeof(number), kind == 'u' ? "%" PRIu64 : "%" PRId64, value);
    if (v->flat)
        return tfs_fail(err, -EBADMSG, "[%" PRIu64 ",%" PRIu64 "] is %s, %s", at[0], at[2], number,
                        why);
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
    return print_refusal(err, v, v->kind, at, tfs_array_value(change->wanted, v->width, i), why);
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
        return print_refusal(err, &t->view->volume, 'u', at, there, why);
    if (tfs_renumber(t->names, there, &number, err) == 0)
        tfs_array_set(value, width, 0, number);
    return err->code;
}

/* What a row says is wanted but for what it began with. */
static int keep_edits(const struct text *t, const uint64_t at[3], uint32_t count, uint8_t *wanted,
                      struct tfs_error *err)
{
    const struct tfs_volume *v = &t->view->volume;
    const uint8_t *now = t->now + (wanted - t->wanted);
    const bool based = t->before.size > 0;
    uint64_t bad;

    if (based && !tfs_npy_row(&t->npy_before, t->before, &t->expected, at, count, t->row, &bad))
        return tfs_fail(err, -ESTALE, "the array has another type since this one was opened");
    for (uint32_t i = 0; i < count; i++) {
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
static int take_row(const struct text *t, const uint64_t at[3], uint32_t count, uint8_t *wanted,
                    struct tfs_error *err)
{
    const unsigned width = t->view->volume.width;
    uint64_t bad = at[2];

    if (tfs_npy_row(&t->npy, t->values, &t->expected, at, count, wanted, &bad))
        return keep_edits(t, at, count, wanted, err);
    const uint64_t place[3] = {at[0], at[1], bad};
    char why[64];
    snprintf(why, sizeof(why), "which %s%u cannot hold", t->expected.kind == 'i' ? "int" : "uint",
             8 * width);
    return print_refusal(err, &t->view->volume, t->npy.kind, place,
                         tfs_npy_value(&t->npy, t->values, at[0], at[1], bad), why);
}

/* What the text says of a chunk, into t->wanted. */
static int take_chunk(const struct text *t, const uint64_t chunk[3], const uint64_t origin[3],
                      struct tfs_error *err)
{
    const struct tfs_volume *v = &t->view->volume;
    const uint32_t first = tfs_volume_first(v, chunk[0]);
    const uint32_t count = (uint32_t)(tfs_volume_row(v, chunk[2]) / v->width);
    uint8_t *wanted = t->wanted + (size_t)first * v->sides[1] * v->sides[2] * v->width;

    for (uint64_t y = first; y < v->sides[0]; y++)
        for (uint64_t z = 0; z < v->sides[1]; z++, wanted += (size_t)v->sides[2] * v->width) {
            const uint64_t at[3] = {origin[0] + y, origin[1] + z, origin[2]};
            if (take_row(t, at, count, wanted, err) < 0)
                return err->code;
        }
    return 0;
}

int tfs_array_read_all(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                       uint8_t *values, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const size_t count = tfs_volume_values(v);

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

int tfs_array_store(struct tfs_array_change *change, struct tfs_error *err)
{
    const struct tfs_array_view *view = change->view;

    change->made = tfs_doc_find(tfs_edit_doc(change->edit), change->key) == NULL;
    if (change->made && tfs_chunk_create(view->save, change->edit, change->key, err) < 0)
        return err->code;
    return view->array->write(change, err);
}

/* A chunk that lacks is made where the text has something in it. */
static int put_chunk(const struct text *t, struct tfs_edit *edit, const uint64_t at[3],
                     struct tfs_error *err)
{
    const struct tfs_array_view *view = t->view;
    const struct tfs_volume *v = &view->volume;
    const uint64_t origin[3] = {at[0] * v->sides[0] - v->cut, at[1] * v->sides[1],
                                at[2] * v->sides[2]};
    const size_t count = tfs_volume_values(v);
    const struct tfs_key key = tfs_volume_key(v, at);
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(edit), key);

    if (tfs_array_read_all(view, chunk, t->now, err) < 0)
        return err->code;
    memcpy(t->wanted, t->now, count * v->width);
    if (take_chunk(t, at, origin, err) < 0 || memcmp(t->now, t->wanted, count * v->width) == 0)
        return err->code;
    if (t->missing != NULL)
        return fail_unnamed(err, t->missing);
    struct tfs_array_change change = {
        .view = view,
        .edit = edit,
        .key = key,
        .origin = origin,
        .count = count,
        .now = t->now,
        .wanted = t->wanted,
    };
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

/* A file of two dimensions has its values as one of three, layers of one line. */
static void as_layers(const struct tfs_volume *v, struct tfs_npy *npy)
{
    if (!v->flat)
        return;
    npy->shape[0] = npy->shape[1];
    npy->shape[1] = 1;
}

static int take_original(struct text *t, struct tfs_span original, struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (tfs_npy_take(original, &t->expected, &t->npy_before, &t->before, &why) < 0)
        return tfs_fail(err, -ESTALE, "the array has another shape since this one was opened");
    as_layers(&t->view->volume, &t->npy_before);
    return 0;
}

static int take_text(struct text *t, struct tfs_span text, struct tfs_error *err)
{
    t->expected = tfs_volume_npy(&t->view->volume);
    if (tfs_npy_take(text, &t->expected, &t->npy, &t->values, err) == 0)
        as_layers(&t->view->volume, &t->npy);
    return err->code;
}

static int put_view(struct text *t, struct tfs_edit *edit, struct tfs_span text,
                    const struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_volume *v = &t->view->volume;
    const size_t size = tfs_volume_values(v) * v->width;

    if (take_text(t, text, err) < 0)
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

    if (take_text(t, text, err) == 0 &&
        tfs_numbers_open(view->save, view->doc, view->array->numbering, &numbers, err) == 0 &&
        tfs_renumbering_open(&renumbering, numbers, names, err) == 0) {
        t->names = &renumbering;
        put_view(t, edit, text, put, err);
    }
    tfs_renumbering_release(&renumbering);
    return err->code;
}

/* Of an array whose numbers are of names: takes off what is behind the values. */
static struct tfs_span split(const struct tfs_array *array, const struct tfs_put *put,
                             struct tfs_span *text)
{
    const bool apart = (put->options & TFS_PUT_APART) != 0;
    const bool named = apart && (array->numbering != NULL || array->named != NULL);
    struct tfs_span names = {0};

    if (!named || text->size == 0)
        return names;
    const size_t size = tfs_npy_measure(*text);
    names = (struct tfs_span){text->data + size, text->size - size};
    text->size = size;
    return names;
}

int tfs_array_whole_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_array *array = at.param;
    struct tfs_array_view view;
    struct text t = {.view = &view};

    if (put->written != NULL)
        return tfs_array_put_written(save, edit, at, put, err);
    const struct tfs_span names = split(array, put, &text);
    if (tfs_array_open_whole(&view, save, edit->base, at, err) < 0)
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
    if (tfs_array_open_chunk(&view, save, tfs_edit_doc(edit), at, err) < 0)
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
    const struct tfs_span names = split(at.param, put, &text);
    struct tfs_buf then = {0};

    if (find_names(save, edit, at, put, &then, err) == 0)
        put_chunk_named(save, edit, at, text, then.size > 0 ? tfs_buf_span(&then) : names, put,
                        err);
    tfs_buf_release(&then);
    return err->code;
}
