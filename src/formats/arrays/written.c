/*
 * A part of an array -> an edit: see written.h.
 */
#include "formats/arrays/written.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_MAX  ((uint64_t)4 << 20) /* bytes of chunks that are read at a time */
#define WHOLE_MAX ((uint64_t)512 << 20)

/* Chunks that lie beside each other along x, and what was written of them. */
struct slab {
    uint64_t y, z, from, to; /* in chunks */
    uint64_t part;           /* bytes of a line that they have */
    uint8_t *rows;           /* [y][z] of all of them */
    uint8_t *written;        /* [y][z]: is something of the line? */
    bool whole;              /* all of them were written */
};

struct writing {
    const struct tfs_written *file;
    struct tfs_array_view now, past;
    struct tfs_edit *edit;
    uint64_t plane, line, row; /* bytes of the array, of a line of it, of such a line of a chunk */
    struct slab slab;
    uint8_t *values, *wanted, *before; /* of a chunk */
    uint8_t *text;                     /* a row */
};

/* ---- where things lie ------------------------------------------------------------------------ */

/* Of a row of a chunk, in the file. */
static uint64_t place_of(const struct writing *w, const uint64_t at[3], uint64_t y, uint64_t z)
{
    const uint32_t *sides = w->now.volume.sides;

    return TFS_NPY_HEAD + (at[0] * sides[0] + y - w->now.volume.cut) * w->plane +
           (at[1] * sides[1] + z) * w->line + at[2] * w->row;
}

static bool differs(const struct writing *w, uint64_t place, uint64_t size)
{
    return w->file->differs(w->file->arg, place, size);
}

/* ---- a chunk --------------------------------------------------------------------------------- */

static int read_before(struct writing *w, struct tfs_key key, const struct tfs_chunk *now,
                       size_t size, struct tfs_error *err)
{
    const struct tfs_chunk *past = w->file->base != NULL ? tfs_doc_find(w->file->base, key) : NULL;

    if (w->file->base == NULL) {
        memset(w->before, 0, size);
        return 0;
    }
    if (past != NULL && now != NULL && tfs_chunk_is(past, now)) {
        memcpy(w->before, w->values, size);
        return 0;
    }
    if (past != NULL && (past->flags & TFS_CHUNK_UNREAD_ALL) != 0)
        return tfs_fail(err, -ESTALE,
                        "another program changed chunk %d_%d_%d since the array was opened", key.x,
                        key.y, key.z);
    return tfs_array_read_all(&w->past, past, w->before, err);
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

/* One row of what is wanted, `size` bytes, where it is what is now. `rows`: as read for the
 * slab. */
static int take_row(struct writing *w, uint64_t place, uint64_t size, const uint8_t *rows,
                    size_t index, struct tfs_error *err)
{
    const struct tfs_written *f = w->file;
    uint8_t *wanted = w->wanted + index * w->row, *before = w->before + index * w->row;

    if (!f->holds(f->arg, place, size)) {
        memcpy(w->text, before, size);
        if (f->read(f->arg, false, place, size, w->text, err) < 0)
            return err->code;
        rows = w->text;
    }
    if (!f->based) {
        memcpy(wanted, rows, size);
        return 0;
    }
    if (f->read(f->arg, true, place, size, before, err) < 0)
        return err->code;
    take_values(rows, before, size, w->now.volume.width, wanted);
    return 0;
}

/* The rows that were written; *any: there are some. */
static int take_rows(struct writing *w, const uint64_t at[3], bool look, bool *any,
                     struct tfs_error *err)
{
    const uint32_t *sides = w->now.volume.sides;
    const uint32_t first = tfs_volume_first(&w->now.volume, at[0]);
    const uint64_t size = tfs_volume_row(&w->now.volume, at[2]);
    const uint8_t *rows = w->slab.rows + (at[2] - w->slab.from) * w->row;
    size_t index = (size_t)first * sides[1];

    for (uint64_t y = first; y < sides[0]; y++)
        for (uint64_t z = 0; z < sides[1]; z++, rows += w->slab.part, index++) {
            const uint64_t place = place_of(w, at, y, z);
            if (!w->slab.written[index] || !differs(w, place, size))
                continue;
            *any = true;
            if (look)
                return 0;
            if (take_row(w, place, size, rows, index, err) < 0)
                return err->code;
        }
    return 0;
}

/* `size` is a constant where this is used, so each use is a loop of its own. */
static inline bool are_same_rows(const uint8_t *rows, uint64_t line, const uint8_t *before,
                                 size_t count, size_t size)
{
    bool same = true;

    for (size_t i = 0; i < count && same; i++)
        same = memcmp(rows + i * line, before + i * size, size) == 0;
    return same;
}

/* Are all rows as they were? Pages have whole lines, most of which nobody assigned to. */
static bool are_as_before(const struct writing *w, const uint64_t at[3])
{
    const uint32_t *sides = w->now.volume.sides;
    const size_t lines = (size_t)sides[0] * sides[1];
    const uint64_t line = w->slab.part;
    const uint8_t *rows = w->slab.rows + (at[2] - w->slab.from) * w->row;

    if (!w->slab.whole || !w->file->begun || w->now.volume.cut > 0)
        return false;
    switch (w->row) {
    case 16:
        return are_same_rows(rows, line, w->before, lines, 16);
    case 32:
        return are_same_rows(rows, line, w->before, lines, 32);
    default:
        return are_same_rows(rows, line, w->before, lines, w->row);
    }
}

static int put_chunk(struct writing *w, const uint64_t at[3], struct tfs_error *err)
{
    const struct tfs_volume *v = &w->now.volume;
    const uint64_t origin[3] = {at[0] * v->sides[0] - v->cut, at[1] * v->sides[1],
                                at[2] * v->sides[2]};
    const size_t count = tfs_volume_values(v);
    const struct tfs_key key = tfs_volume_key(v, at);
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(w->edit), key);
    bool any = w->slab.whole;

    if ((!any && take_rows(w, at, true, &any, err) < 0) || !any)
        return err->code;
    if (tfs_array_read_all(&w->now, chunk, w->values, err) < 0 ||
        read_before(w, key, chunk, count * v->width, err) < 0 || are_as_before(w, at))
        return err->code;
    memcpy(w->wanted, w->values, count * v->width);
    if (take_rows(w, at, false, &any, err) < 0 ||
        memcmp(w->values, w->wanted, count * v->width) == 0)
        return err->code;
    struct tfs_array_change change = {
        .view = &w->now,
        .edit = w->edit,
        .key = key,
        .origin = origin,
        .count = count,
        .now = w->values,
        .wanted = w->wanted,
    };
    return tfs_array_store(&change, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Reads what was written of the slab; *any: something was. */
static int read_slab(struct writing *w, bool *any, struct tfs_error *err)
{
    struct slab *s = &w->slab;
    const uint32_t *sides = w->now.volume.sides;
    const uint64_t at[3] = {s->y, s->z, s->from};
    /* Lines of the whole array lie one behind the other. */
    const bool whole = s->part == w->line;
    const uint64_t lines = whole ? sides[1] : 1, size = lines * s->part;
    uint8_t *rows = s->rows;

    s->whole = true;
    for (uint64_t y = tfs_volume_first(&w->now.volume, s->y); y < sides[0]; y++)
        for (uint64_t z = 0; z < sides[1]; z += lines, rows += size) {
            const uint64_t place = place_of(w, at, y, z);
            const bool written = differs(w, place, size);
            s->whole = s->whole && written && w->file->holds(w->file->arg, place, size);
            *any = *any || written;
            for (uint64_t i = 0; i < lines; i++)
                s->written[y * sides[1] + z + i] =
                    written && differs(w, place + i * w->line, s->part);
            if (written && w->file->read(w->file->arg, false, place, (size_t)size, rows, err) < 0)
                return err->code;
        }
    return 0;
}

static int put_slab(struct writing *w, struct tfs_error *err)
{
    bool any = false;

    if (read_slab(w, &any, err) < 0)
        return err->code;
    for (uint64_t x = w->slab.from; any && x < w->slab.to; x++) {
        const uint64_t at[3] = {w->slab.y, w->slab.z, x};
        if (put_chunk(w, at, err) < 0)
            return err->code;
    }
    return 0;
}

static int put_slabs(struct writing *w, uint64_t width, struct tfs_error *err)
{
    const uint32_t *chunks = w->now.volume.chunks, *sides = w->now.volume.sides;
    struct slab *s = &w->slab;

    for (s->y = 0; s->y < chunks[0]; s->y++) {
        /* Most of a large array was not written. */
        const uint32_t first = tfs_volume_first(&w->now.volume, s->y);
        const uint64_t at[3] = {s->y, 0, 0};
        if (!differs(w, place_of(w, at, first, 0), (sides[0] - first) * w->plane))
            continue;
        for (s->z = 0; s->z < chunks[1]; s->z++)
            for (s->from = 0; s->from < chunks[2]; s->from = s->to) {
                s->to = chunks[2] - s->from < width ? chunks[2] : s->from + width;
                s->part =
                    (s->to - s->from - 1) * w->row + tfs_volume_row(&w->now.volume, s->to - 1);
                if (put_slab(w, err) < 0)
                    return err->code;
            }
    }
    return 0;
}

static int put_values(struct writing *w, struct tfs_error *err)
{
    const struct tfs_volume *v = &w->now.volume;
    const size_t lines = (size_t)v->sides[0] * v->sides[1];

    w->row = (uint64_t)v->sides[2] * v->width;
    w->line = tfs_volume_line(v);
    w->plane = (uint64_t)v->chunks[1] * v->sides[1] * w->line;
    const size_t size = lines * w->row;
    uint64_t width = SLAB_MAX / size;
    width = width == 0 ? 1 : width < v->chunks[2] ? width : v->chunks[2];
    uint8_t *memory = malloc(3 * size + w->row + width * size + lines);
    if (memory == NULL)
        return tfs_fail_memory(err);
    w->values = memory;
    w->wanted = memory + size;
    w->before = memory + 2 * size;
    w->text = memory + 3 * size;
    w->slab.rows = w->text + w->row;
    w->slab.written = w->slab.rows + width * size;
    put_slabs(w, width, err);
    free(memory);
    return err->code;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Has the file this head, and this size? */
static int is_like(const struct tfs_written *f, const struct tfs_npy *npy, uint64_t size,
                   bool *like, struct tfs_error *err)
{
    struct tfs_buf head = {0};
    uint8_t text[TFS_NPY_HEAD];

    tfs_npy_print(npy, &head);
    if (tfs_buf_check(&head, err) == 0) {
        memcpy(text, head.data, TFS_NPY_HEAD);
        f->read(f->arg, false, 0, TFS_NPY_HEAD, text, err);
        *like = memcmp(text, head.data, TFS_NPY_HEAD) == 0 && f->size == size;
    }
    tfs_buf_release(&head);
    return err->code;
}

/* Appends all that the file says. EFBIG: it is too large for memory. */
static int read_text(const struct tfs_written *f, struct tfs_save *save, struct tfs_at at,
                     struct tfs_buf *text, struct tfs_error *err)
{
    if (f->size > WHOLE_MAX)
        return tfs_fail(err, -EFBIG,
                        "an array of more than %" PRIu64
                        " MiB is taken with the type, order and shape that it has here",
                        WHOLE_MAX >> 20);
    if (f->base != NULL && tfs_array_whole_range(save, f->base, at, 0, f->size, text, err) < 0)
        return err->code;
    tfs_buf_resize(text, (size_t)f->size);
    if (tfs_buf_check(text, err) == 0)
        f->read(f->arg, false, 0, text->size, text->data, err);
    return err->code;
}

/* Another type or order: all of it says what it says. */
static int put_text(struct writing *w, struct tfs_at at, const struct tfs_put *put,
                    struct tfs_error *err)
{
    struct tfs_put whole = {.options = put->options};
    struct tfs_save *save = w->now.save;
    struct tfs_buf text = {0};

    if (read_text(w->file, save, at, &text, err) == 0)
        tfs_array_whole_put(save, w->edit, at, tfs_buf_span(&text), &whole, err);
    tfs_buf_release(&text);
    return err->code;
}

static bool lie_alike(const struct tfs_volume *a, const struct tfs_volume *b)
{
    return tfs_key_compare(a->low, b->low) == 0 && a->kind == b->kind && a->width == b->width &&
           a->cut == b->cut && memcmp(a->chunks, b->chunks, sizeof(a->chunks)) == 0 &&
           memcmp(a->sides, b->sides, sizeof(a->sides)) == 0;
}

int tfs_array_put_written(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                          const struct tfs_put *put, struct tfs_error *err)
{
    struct writing w = {.file = put->written, .edit = edit};
    bool same = false;

    if (tfs_array_open_whole(&w.now, save, edit->base, at, err) < 0)
        return err->code;
    if (w.file->base != NULL) {
        if (tfs_array_open_whole(&w.past, save, w.file->base, at, err) < 0)
            return err->code;
        if (!lie_alike(&w.now.volume, &w.past.volume))
            return tfs_fail(err, -ESTALE, "the array has another shape since this one was opened");
    }
    const struct tfs_npy npy = tfs_volume_npy(&w.now.volume);
    if (is_like(w.file, &npy, tfs_volume_size(&w.now.volume), &same, err) < 0)
        return err->code;
    return same ? put_values(&w, err) : put_text(&w, at, put, err);
}
