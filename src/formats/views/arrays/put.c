/*
 * arrays/NAME.npy -> an edit of the chunks in which values are others than they were.
 *
 * What was written is a struct tfs_written: pages of a large file, or here a text that is in memory
 * and has the type and order of the file. It is compared chunk by chunk, in bounded memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/views/arrays/kept.h"
#include "formats/views/arrays/numbers.h"

#define SLAB_MAX  ((uint64_t)4 << 20) /* bytes of chunks that are read at a time */
#define WHOLE_MAX ((uint64_t)512 << 20)

struct writing {
    const struct tfs_written *file;
    struct tfs_array now, past; /* past: of file->base */
    struct tfs_edit *edit;
    struct tfs_written_values *given;  /* tfs_put.values */
    bool unnamed;                      /* nothing says which names the numbers mean */
    uint8_t *values, *wanted, *before; /* of a chunk */
    uint8_t *text;                     /* a row */
    /* Chunks that lie beside each other along x, and what was written of them. */
    uint64_t y, z, from, to; /* in chunks */
    uint64_t part;           /* bytes of a line that they have */
    uint8_t *rows;           /* [y][z] of all of them */
    bool whole;              /* all of them were written */
};

/* Of a row of chunk `x`, in the file. */
static uint64_t place_of(const struct writing *w, uint64_t y, uint64_t z, uint64_t x)
{
    const uint32_t *sides = w->now.sides;

    return TFS_NPY_HEAD + tfs_array_place(&w->now, w->y * sides[0] + y, w->z * sides[1] + z, x);
}

static bool differs(const struct writing *w, uint64_t place, uint64_t size)
{
    return w->file->differs(w->file->arg, place, size);
}

/* ---- a chunk --------------------------------------------------------------------------------- */

/* All values of a chunk, empty ones where there is none (NULL), or one that is damaged. */
static int read_all(const struct tfs_array *a, const struct tfs_chunk *chunk, uint8_t *values,
                    struct tfs_error *err)
{
    if (chunk != NULL && (chunk->flags & TFS_CHUNK_DAMAGED) == 0)
        return tfs_kept_layers(a, chunk, 0, a->sides[0], values, err);
    tfs_values_fill(values, a->width, tfs_array_volume(a), a->empty);
    return 0;
}

static int read_before(struct writing *w, struct tfs_key key, const struct tfs_chunk *now,
                       struct tfs_error *err)
{
    const struct tfs_doc *base = w->file->base;
    const struct tfs_chunk *past = base != NULL ? tfs_doc_find(base, key) : NULL;
    const size_t size = tfs_array_volume(&w->now) * w->now.width;

    if (base != NULL && past != NULL && now != NULL && tfs_chunk_is(past, now))
        memcpy(w->before, w->values, size);
    else if (base == NULL)
        memset(w->before, 0, size);
    else if (past != NULL && (past->flags & TFS_CHUNK_UNREAD_ALL) != 0)
        tfs_fail(err, -ESTALE, "another program changed chunk %d_%d_%d since the array was opened",
                 key.x, key.y, key.z);
    else
        read_all(&w->past, past, w->before, err);
    return err->code;
}

/* Values that are others than before. */
static void take_values(const uint8_t *values, const uint8_t *before, uint64_t size, unsigned width,
                        uint8_t *wanted)
{
    if (memcmp(values, before, size) == 0)
        return;
    for (size_t i = 0; i < size; i += width)
        if (memcmp(values + i, before + i, width) != 0)
            memcpy(wanted + i, values + i, width);
}

/* One row of what is wanted, `size` bytes, where it is what is now. `rows`: as read for all of
 * them. */
static int take_row(struct writing *w, uint64_t place, uint64_t size, const uint8_t *rows,
                    size_t index, struct tfs_error *err)
{
    const struct tfs_written *f = w->file;
    const size_t at = index * tfs_array_row(&w->now);

    if (!f->holds(f->arg, place, size)) {
        memcpy(w->text, w->before + at, size);
        if (f->read(f->arg, false, place, size, w->text, err) < 0)
            return err->code;
        rows = w->text;
    }
    if (!f->based)
        memcpy(w->wanted + at, rows, size);
    else if (f->read(f->arg, true, place, size, w->before + at, err) == 0)
        take_values(rows, w->before + at, size, w->now.width, w->wanted + at);
    return err->code;
}

/* The rows of a chunk that were written; *any: there are some. */
static int take_rows(struct writing *w, uint64_t x, bool look, bool *any, struct tfs_error *err)
{
    const uint32_t *sides = w->now.sides, first = tfs_array_first(&w->now, w->y);
    const uint64_t size = tfs_array_part(&w->now, x);
    const uint8_t *rows = w->rows + (x - w->from) * tfs_array_row(&w->now);

    for (size_t i = (size_t)first * sides[1]; i < (size_t)sides[0] * sides[1]; i++) {
        const uint64_t place = place_of(w, i / sides[1], i % sides[1], x);
        if (differs(w, place, size)) {
            *any = true;
            if (look || take_row(w, place, size, rows, i, err) < 0)
                return err->code;
        }
        rows += w->part;
    }
    return 0;
}

/* Are all rows as they were? Pages have whole lines, most of which nobody assigned to. */
static bool are_as_before(const struct writing *w, uint64_t x)
{
    const size_t lines = (size_t)w->now.sides[0] * w->now.sides[1], row = tfs_array_row(&w->now);
    const uint8_t *rows = w->rows + (x - w->from) * row;
    bool same = w->whole && w->file->begun && w->now.cut == 0;

    for (size_t i = 0; i < lines && same; i++)
        same = memcmp(rows + i * w->part, w->before + i * row, row) == 0;
    return same;
}

/* All rows, where all that was written is wanted. */
static void take_all(struct writing *w, uint64_t x)
{
    const size_t side = w->now.sides[1], size = (size_t)tfs_array_part(&w->now, x);
    const size_t row = tfs_array_row(&w->now), end = w->now.sides[0] * side;
    const uint8_t *rows = w->rows + (x - w->from) * row;

    for (size_t i = tfs_array_first(&w->now, w->y) * side; i < end; i++, rows += w->part)
        memcpy(w->wanted + i * row, rows, size);
}

/* A chunk that lacks is made where something is in it. */
static int put_chunk(struct writing *w, uint64_t x, struct tfs_error *err)
{
    const struct tfs_array *a = &w->now;
    const uint64_t at[3] = {w->y, w->z, x};
    const size_t size = tfs_array_volume(a) * a->width;
    const struct tfs_key key = tfs_array_key(a, at);
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(w->edit), key);
    const bool all = w->whole && !w->file->based && !w->file->begun;
    bool any = w->whole;

    if ((!any && take_rows(w, x, true, &any, err) < 0) || !any ||
        read_all(a, chunk, w->values, err) < 0 ||
        (!all && (read_before(w, key, chunk, err) < 0 || are_as_before(w, x))))
        return err->code;
    memcpy(w->wanted, w->values, size);
    if (all)
        take_all(w, x);
    else
        take_rows(w, x, false, &any, err);
    if (err->code < 0 || memcmp(w->values, w->wanted, size) == 0)
        return err->code;
    if (w->unnamed)
        return tfs_fail(err, -EBADMSG,
                        "nothing says which names its numbers mean: append arrays/palette.txt as "
                        "it was when the array was read");
    const struct tfs_array_change change = {
        .array = a,
        .edit = w->edit,
        .key = key,
        .origin = {w->y * a->sides[0] - a->cut, w->z * a->sides[1], x * a->sides[2]},
        .now = w->values,
        .wanted = w->wanted,
        .given = w->given,
    };
    return tfs_array_store(&change, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Reads what was written of some chunks; *any: something was. */
static int read_rows(struct writing *w, bool *any, struct tfs_error *err)
{
    const struct tfs_written *f = w->file;
    const uint32_t *sides = w->now.sides;
    /* Lines of the whole array lie one behind the other. */
    const uint64_t lines = w->part == tfs_array_line(&w->now) ? sides[1] : 1;
    const size_t size = (size_t)(lines * w->part);
    uint8_t *rows = w->rows;

    w->whole = true;
    for (uint64_t y = tfs_array_first(&w->now, w->y); y < sides[0]; y++)
        for (uint64_t z = 0; z < sides[1]; z += lines, rows += size) {
            const uint64_t place = place_of(w, y, z, w->from);
            const bool written = differs(w, place, size);
            w->whole = w->whole && written && f->holds(f->arg, place, size);
            *any = *any || written;
            if (written && f->read(f->arg, false, place, size, rows, err) < 0)
                return err->code;
        }
    return 0;
}

/* The chunks of a line along x, `width` at a time. */
static int put_line(struct writing *w, uint64_t width, struct tfs_error *err)
{
    const struct tfs_array *a = &w->now;

    for (w->from = 0; w->from < a->chunks[2]; w->from = w->to) {
        bool any = false;
        w->to = a->chunks[2] - w->from < width ? a->chunks[2] : w->from + width;
        w->part = (w->to - w->from - 1) * tfs_array_row(a) + tfs_array_part(a, w->to - 1);
        if (read_rows(w, &any, err) < 0)
            return err->code;
        for (uint64_t x = w->from; any && x < w->to; x++)
            if (put_chunk(w, x, err) < 0)
                return err->code;
    }
    return 0;
}

static int put_chunks(struct writing *w, struct tfs_error *err)
{
    const struct tfs_array *a = &w->now;
    const size_t size = tfs_array_volume(a) * a->width, row = tfs_array_row(a);
    const uint64_t most = SLAB_MAX / size + 1, width = most < a->chunks[2] ? most : a->chunks[2];
    uint8_t *memory = malloc((3 + width) * size + row);

    if (memory == NULL)
        return tfs_fail_memory(err);
    w->values = memory;
    w->wanted = memory + size;
    w->before = memory + 2 * size;
    w->text = memory + 3 * size;
    w->rows = w->text + row;
    for (w->y = 0; w->y < a->chunks[0] && err->code == 0; w->y++) {
        /* Most of a large array was not written. */
        const uint32_t first = tfs_array_first(a, w->y);
        w->z = 0;
        if (differs(w, place_of(w, first, 0, 0), (a->sides[0] - first) * tfs_array_plane(a)))
            for (; w->z < a->chunks[1] && err->code == 0; w->z++)
                put_line(w, width, err);
    }
    free(memory);
    return err->code;
}

/* ---- a text ---------------------------------------------------------------------------------- */

/* Values in memory, and what they began with. */
struct text {
    struct tfs_span values, original; /* original: empty: all that they say is wanted */
    struct tfs_buf memory;            /* of values that were converted */
};

static bool text_differs(const void *arg, uint64_t offset, uint64_t size)
{
    const struct text *t = arg;
    const size_t at = (size_t)offset - TFS_NPY_HEAD;

    return t->original.size == 0 ||
           memcmp(t->values.data + at, t->original.data + at, (size_t)size) != 0;
}

static bool text_holds(const void *arg, uint64_t offset, uint64_t size)
{
    (void)arg, (void)offset, (void)size;
    return true;
}

static int text_read(const void *arg, bool before, uint64_t offset, size_t size, uint8_t *out,
                     struct tfs_error *err)
{
    const struct text *t = arg;

    (void)err;
    memcpy(out, (before ? t->original : t->values).data + (offset - TFS_NPY_HEAD), size);
    return 0;
}

/* The values in the type and order that the file has here. */
static int convert(struct text *t, const struct tfs_array *a, const struct tfs_npy *npy,
                   struct tfs_error *err)
{
    const struct tfs_npy as = tfs_array_npy(a);
    const uint64_t lines = as.shape[0] * as.shape[1];
    uint64_t bad;
    char why[64];

    if (tfs_npy_alike(npy, &as))
        return 0;
    tfs_buf_resize(&t->memory, (size_t)(tfs_array_size(a) - TFS_NPY_HEAD));
    if (tfs_buf_check(&t->memory, err) < 0)
        return err->code;
    for (uint64_t i = 0; i < lines; i++) {
        const uint64_t place[3] = {i / as.shape[1], i % as.shape[1], 0};
        if (tfs_npy_row(npy, t->values, &as, place, (uint32_t)as.shape[2],
                        t->memory.data + i * tfs_array_line(a), &bad))
            continue;
        snprintf(why, sizeof(why), "which %s%u cannot hold", as.kind == 'i' ? "int" : "uint",
                 8 * as.width);
        return tfs_array_refuse(a, npy->kind, i, bad,
                                tfs_npy_value(npy, t->values, place[0], place[1], bad), why, err);
    }
    t->values = tfs_buf_span(&t->memory);
    return 0;
}

/* The values with the numbers that the names behind them have here. */
static int renumber(struct text *t, const struct tfs_array *a, struct tfs_span names,
                    struct tfs_error *err)
{
    const uint64_t line = tfs_array_line(a) / a->width;
    struct tfs_numbers *numbers;
    uint32_t *map = NULL, count = 0;
    char why[80];

    if (t->memory.size == 0)
        tfs_buf_add_span(&t->memory, t->values);
    t->values = tfs_buf_span(&t->memory);
    if (tfs_buf_check(&t->memory, err) == 0 &&
        tfs_numbers_open(a->save, a->doc, &numbers, err) == 0)
        tfs_numbers_translate(numbers, names, &map, &count, err);
    for (uint64_t i = 0; i < t->values.size / a->width && err->code == 0; i++) {
        const uint64_t there = tfs_array_value(t->memory.data, a->width, i);
        if (there < count) {
            tfs_array_set(t->memory.data, a->width, i, map[there]);
            continue;
        }
        snprintf(why, sizeof(why), "the palette behind the array has %" PRIu32 " lines", count);
        tfs_array_refuse(a, 'u', i / line, i % line, there, why, err);
    }
    free(map);
    return err->code;
}

/* What the text began with, of the type and order that the file has here. */
static int take_original(struct text *t, const struct tfs_npy *as, struct tfs_span original,
                         struct tfs_error *err)
{
    struct tfs_error ignored = {0};
    struct tfs_npy npy;

    if (original.size > 0 &&
        (tfs_npy_take(original, as, &npy, &t->original, &ignored) < 0 || !tfs_npy_alike(&npy, as)))
        return tfs_fail(err, -ESTALE, "the array has another shape since this one was opened");
    return 0;
}

static int put_text(struct writing *w, struct tfs_span text, const struct tfs_put *put,
                    struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = w->now.save->tree->cells;
    const bool named = (put->options & TFS_PUT_APART) != 0 &&
                       kind->planes[w->now.plane].form.kind == TFS_PLANE_NAMES;
    const size_t end = named ? tfs_npy_measure(text) : text.size;
    const struct tfs_span names = end < text.size
                                      ? (struct tfs_span){text.data + end, text.size - end}
                                      : (struct tfs_span){NULL, 0};
    const struct tfs_npy as = tfs_array_npy(&w->now);
    struct text t = {.values = {0}};
    struct tfs_npy npy;

    text.size = end;
    w->unnamed = named && names.size == 0;
    if (tfs_npy_take(text, &as, &npy, &t.values, err) == 0 &&
        take_original(&t, &as, put->original, err) == 0 && convert(&t, &w->now, &npy, err) == 0 &&
        (names.size == 0 || renumber(&t, &w->now, names, err) == 0)) {
        const struct tfs_written file = {.size = TFS_NPY_HEAD + t.values.size,
                                         .based = t.original.size > 0,
                                         .differs = text_differs,
                                         .holds = text_holds,
                                         .read = text_read,
                                         .arg = &t};
        w->file = &file;
        put_chunks(w, err);
    }
    tfs_buf_release(&t.memory);
    return err->code;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Has the file this head, and this size? */
static int is_like(const struct tfs_written *f, const struct tfs_array *a, bool *like,
                   struct tfs_error *err)
{
    const struct tfs_npy npy = tfs_array_npy(a);
    struct tfs_buf head = {0};
    uint8_t text[TFS_NPY_HEAD];

    tfs_npy_print(&npy, &head);
    if (tfs_buf_check(&head, err) == 0) {
        memcpy(text, head.data, TFS_NPY_HEAD);
        f->read(f->arg, false, 0, TFS_NPY_HEAD, text, err);
        *like = memcmp(text, head.data, TFS_NPY_HEAD) == 0 && f->size == tfs_array_size(a);
    }
    tfs_buf_release(&head);
    return err->code;
}

/* Appends all that the file says. EFBIG: it is too large for memory. */
static int read_text(const struct writing *w, struct tfs_buf *text, struct tfs_error *err)
{
    const struct tfs_written *f = w->file;

    if (f->size > WHOLE_MAX)
        return tfs_fail(err, -EFBIG,
                        "an array of more than %" PRIu64
                        " MiB is taken with the type, order and shape that it has here",
                        WHOLE_MAX >> 20);
    if (f->base != NULL && tfs_array_range(&w->past, 0, f->size, text, err) < 0)
        return err->code;
    tfs_buf_resize(text, (size_t)f->size);
    if (tfs_buf_check(text, err) == 0)
        f->read(f->arg, false, 0, text->size, text->data, err);
    return err->code;
}

static bool lie_alike(const struct tfs_array *a, const struct tfs_array *b)
{
    return tfs_key_compare(a->low, b->low) == 0 && a->kind == b->kind && a->width == b->width &&
           a->cut == b->cut && memcmp(a->chunks, b->chunks, sizeof(a->chunks)) == 0 &&
           memcmp(a->sides, b->sides, sizeof(a->sides)) == 0;
}

static int put_pages(struct writing *w, struct tfs_at at, const struct tfs_put *put,
                     struct tfs_error *err)
{
    struct tfs_put whole = {.options = put->options};
    struct tfs_buf text = {0};
    bool like = false;

    w->file = put->written;
    if (w->file->base != NULL && tfs_array_open(&w->past, w->now.save, w->file->base, at, err) < 0)
        return err->code;
    if (w->file->base != NULL && !lie_alike(&w->now, &w->past))
        return tfs_fail(err, -ESTALE, "the array has another shape since this one was opened");
    if (is_like(w->file, &w->now, &like, err) < 0)
        return err->code;
    if (like)
        return put_chunks(w, err);
    /* Another type or order: all of it says what it says. */
    if (read_text(w, &text, err) == 0)
        put_text(w, tfs_buf_span(&text), &whole, err);
    tfs_buf_release(&text);
    return err->code;
}

int tfs_array_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                  struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_array_lens *lens = at.param;
    const struct tfs_doc *doc = lens->whole ? edit->base : tfs_edit_doc(edit);
    struct writing w = {.edit = edit, .given = put->values};

    if (tfs_array_open(&w.now, save, doc, at, err) < 0)
        return err->code;
    return put->written != NULL ? put_pages(&w, at, put, err) : put_text(&w, text, put, err);
}
