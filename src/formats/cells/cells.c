/*
 * A chunk of a document -> its cells, from the save's cache or decoded now.
 *
 * Must not know what files show, nor what a game stores.
 */
#include "formats/cells/cells.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/recent.h"
#include "base/refs.h"
#include "formats/cells/names.h"
#include "formats/views/pictures/columns.h"
#include "text/decimal.h"

#define CACHE_BYTES ((size_t)32 << 20)

struct tfs_cells_cache {
    struct tfs_recent recent;
    struct tfs_names_memory names;
};

/* ---- memory ---------------------------------------------------------------------------------- */

struct tfs_cells_memory {
    struct tfs_cells_memory *next;
    max_align_t bytes[];
};

void *tfs_cells_alloc(struct tfs_cells *cells, size_t size, struct tfs_error *err)
{
    struct tfs_cells_memory *memory = malloc(sizeof(*memory) + size);

    if (memory == NULL) {
        tfs_fail_memory(err);
        return NULL;
    }
    memory->next = cells->memory;
    cells->memory = memory;
    cells->weight += size;
    return memory->bytes;
}

static void free_memory(struct tfs_cells_memory *memory)
{
    while (memory != NULL) {
        struct tfs_cells_memory *next = memory->next;
        free(memory);
        memory = next;
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Damage belongs to the cells; any other failure is the caller's. */
static int keep_damage(struct tfs_cells *cells, const struct tfs_error *why, struct tfs_error *err)
{
    if (!tfs_is_damage(why->code))
        return tfs_fail(err, why->code, "%s", why->text);
    cells->damage = strdup(why->text);
    return cells->damage == NULL ? tfs_fail_memory(err) : 0;
}

static void fetch(struct tfs_cells *cells, struct tfs_error *why)
{
    const struct tfs_chunk *chunk = &cells->chunk;
    struct tfs_chunk copy = *chunk;

    tfs_chunk_ref(&copy);
    tfs_chunks_fetch(cells->save, &copy, 1, why);
    cells->stored = copy.blob;
    cells->extra = copy.extra;
    cells->unread = why->code < 0;
    if (why->code == 0 || tfs_chunk_is_unread(chunk, false) || why->code == -ENOMEM ||
        why->code == -ESTALE)
        return;
    /* What was edited is here, and stays readable when the disk is not. */
    cells->extra_unread = why->code;
    tfs_error_reset(why);
}

static void summarize(struct tfs_cells *cells)
{
    struct tfs_cells_summary *s = &cells->summary;
    struct tfs_cells_runs runs;
    uint64_t first = 0, differs = 0, values;

    tfs_cells_runs_begin(&runs, cells);
    if (tfs_cells_runs_next(&runs))
        memcpy(&first, runs.values, sizeof(first));
    for (bool more = runs.count > 0; more; more = tfs_cells_runs_next(&runs)) {
        memcpy(&values, runs.values, sizeof(values));
        differs |= values ^ first;
        s->there[runs.values[0]] = true;
    }
    memcpy(s->first, &first, sizeof(first));
    memcpy(s->differs, &differs, sizeof(differs));
}

static int make(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                unsigned wanted, struct tfs_error *warning, struct tfs_cells **cells,
                struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_cells *made = malloc(sizeof(*made));
    struct tfs_error why = {0};

    if (made == NULL)
        return tfs_fail_memory(err);
    *made = (struct tfs_cells){.refs = 1,
                               .kind = kind,
                               .save = save,
                               .doc = doc,
                               .warning = warning,
                               .chunk = *chunk,
                               .size = kind->size,
                               .air = tfs_name_of_air(kind)};
    tfs_chunk_ref(chunk);
    for (unsigned i = 0; i < kind->count; i++)
        made->planes[i].form = kind->planes[i].form;
    fetch(made, &why);
    if (why.code == 0)
        kind->decode(made, wanted & (TFS_CELLS_ALL | TFS_CELLS_CHECK), &why);
    if (why.code == 0 && (wanted & TFS_CELLS_SUMMARY) != 0)
        summarize(made);
    made->doc = NULL;
    made->warning = NULL;
    made->decoded = wanted;
    for (unsigned i = 0; i < kind->count; i++)
        made->decoded |= made->planes[i].values != NULL ? 1u << i : 0;
    made->count = (size_t)made->size.x * made->size.y * made->size.z;
    if (why.code == 0 || keep_damage(made, &why, err) == 0) {
        *cells = made;
        return 0;
    }
    tfs_cells_unref(made);
    return err->code;
}

int tfs_cells_make(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   unsigned wanted, struct tfs_cells **cells, struct tfs_error *err)
{
    return make(save, doc, chunk, wanted, NULL, cells, err);
}

struct tfs_cells *tfs_cells_ref(struct tfs_cells *cells)
{
    tfs_refs_add(&cells->refs);
    return cells;
}

void tfs_cells_unref(struct tfs_cells *cells)
{
    if (cells == NULL || !tfs_refs_drop(&cells->refs))
        return;
    if (cells->kind->release != NULL)
        cells->kind->release(cells);
    free_memory(cells->memory);
    tfs_blob_unref(cells->stored);
    tfs_blob_unref(cells->extra);
    tfs_chunk_unref(&cells->chunk);
    free(cells->damage);
    free(cells);
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* A chunk, and the planes of it that somebody wants. */
struct wanted {
    const struct tfs_chunk *chunk;
    unsigned planes;
};

static bool is_of(const void *cells, const void *wanted)
{
    const struct tfs_cells *c = cells;
    const struct wanted *w = wanted;

    return tfs_chunk_is(&c->chunk, w->chunk) && (w->planes & ~c->decoded) == 0;
}

static size_t weight(const void *object)
{
    const struct tfs_cells *cells = object;

    return sizeof(*cells) + cells->weight + tfs_blob_span(cells->stored).size +
           tfs_blob_span(cells->extra).size;
}

static void object_ref(void *cells)
{
    tfs_cells_ref(cells);
}

static void object_unref(void *cells)
{
    tfs_cells_unref(cells);
}

static const struct tfs_recent_kind recent_cells = {is_of, weight, object_ref, object_unref};

struct tfs_cells_cache *tfs_cells_cache_create(void)
{
    struct tfs_cells_cache *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    tfs_recent_init(&made->recent, &recent_cells, CACHE_BYTES);
    tfs_names_memory_init(&made->names);
    return made;
}

void tfs_cells_cache_free(struct tfs_cells_cache *cache)
{
    if (cache == NULL)
        return;
    tfs_recent_release(&cache->recent);
    tfs_names_memory_release(&cache->names);
    free(cache);
}

void tfs_cells_cache_clear(struct tfs_save *save)
{
    tfs_recent_clear(&save->cells->recent);
    tfs_columns_clear(save);
}

struct tfs_names_memory *tfs_names_memory_lock(struct tfs_save *save)
{
    pthread_mutex_lock(&save->cells->names.lock);
    return &save->cells->names;
}

/* `chunk` is as the document has it; `fetched` may have its bytes, too. */
static int keep(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                const struct tfs_chunk *fetched, unsigned wanted, struct tfs_cells **cells,
                struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    const unsigned planes = (1u << kind->count) - 1;
    const struct wanted asked = {
        chunk, wanted & (kind->next_runs != NULL ? planes | TFS_CELLS_SUMMARY : planes)};
    struct tfs_recent *recent = &save->cells->recent;
    struct tfs_cells *found = tfs_recent_find(recent, &asked);

    if (found == NULL) {
        if (tfs_cells_make(save, doc, fetched, asked.planes, &found, err) < 0)
            return err->code;
        tfs_chunk_unref(&found->chunk);
        found->chunk = *chunk;
        tfs_chunk_ref(chunk);
        if (!found->unread && weight(found) <= CACHE_BYTES)
            tfs_recent_add(recent, found);
    }
    *cells = found;
    return 0;
}

struct tfs_cells *tfs_cells_cached(struct tfs_save *save, const struct tfs_chunk *chunk)
{
    const struct wanted asked = {chunk, (1u << save->tree->cells->count) - 1};

    return tfs_recent_find(&save->cells->recent, &asked);
}

int tfs_cells_keep(struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_chunk *fetched, unsigned wanted, struct tfs_cells **cells,
                   struct tfs_error *err)
{
    const struct tfs_chunk *stored = tfs_doc_find(doc, fetched->key);

    return keep(save, doc, stored != NULL ? stored : fetched, fetched, wanted, cells, err);
}

int tfs_cells_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                   unsigned wanted, struct tfs_cells **cells, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    return tfs_doc_need(doc, key, &chunk, err) < 0
               ? err->code
               : keep(save, doc, chunk, chunk, wanted, cells, err);
}

int tfs_cells_need(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                   unsigned wanted, struct tfs_cells **cells, struct tfs_error *err)
{
    if (tfs_cells_open(save, doc, key, wanted, cells, err) < 0)
        return err->code;
    if ((*cells)->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", (*cells)->damage);
    else if ((*cells)->count == 0)
        tfs_fail(err, -ENOENT, "this chunk has no voxels");
    else
        return 0;
    tfs_cells_unref(*cells);
    *cells = NULL;
    return err->code;
}

/* Who asks for damage asks for sizes next: so all planes are decoded at once. */
int tfs_cells_damaged(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_cells *cells;
    struct tfs_error why = {0};

    if (kind == NULL)
        return 0;
    if (tfs_cells_open(save, doc, key, tfs_cells_runs_need(kind, TFS_CELLS_ALL) | TFS_CELLS_SUMMARY,
                       &cells, &why) < 0)
        return why.code == -ENOENT ? 0 : why.code;
    const bool damaged = cells->damage != NULL;
    tfs_cells_unref(cells);
    return damaged;
}

int tfs_cells_check(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                    struct tfs_error *warning, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;
    struct tfs_cells *cells;

    if (save->tree->cells == NULL)
        return 0;
    if (tfs_doc_need(doc, key, &chunk, err) < 0 ||
        make(save, doc, chunk, TFS_CELLS_CHECK, warning, &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    tfs_cells_unref(cells);
    return err->code;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool tfs_plane_uniform(const struct tfs_cells_plane *plane, size_t count)
{
    const size_t size = tfs_plane_size(&plane->form);
    const uint8_t *bytes = plane->values;

    return plane->filled || memcmp(bytes, bytes + size, (count - 1) * size) == 0;
}

void tfs_plane_set_all(struct tfs_cells_plane *plane, size_t first, size_t count, uint64_t value)
{
    const size_t size = tfs_plane_size(&plane->form);

    if (count > 1 && (value == 0 || size == 1))
        memset((uint8_t *)plane->values + first * size, (int)value, count * size);
    else
        for (size_t i = first; i < first + count; i++)
            tfs_plane_set(plane, i, value);
}

/* A loop of a fixed length is one that compilers make wide. */
#define MARK(type)                                                                                 \
    static void mark_##type(const type *values, size_t count, type low, type span,                 \
                            uint8_t *restrict marks)                                               \
    {                                                                                              \
        for (size_t i = 0; i < TFS_PLANE_TOGETHER && count == TFS_PLANE_TOGETHER; i++)             \
            marks[i] |= (type)(values[i] - low) <= span;                                           \
        for (size_t i = 0; i < count && count < TFS_PLANE_TOGETHER; i++)                           \
            marks[i] |= (type)(values[i] - low) <= span;                                           \
    }
MARK(uint8_t)
MARK(uint16_t)
MARK(uint32_t)
MARK(uint64_t)

void tfs_plane_mark(const struct tfs_cells_plane *plane, size_t first, size_t count, uint64_t low,
                    uint64_t span, uint8_t *restrict marks)
{
    const uint8_t *values = (const uint8_t *)plane->values + first * plane->form.width;

    switch (plane->form.width) {
    case 1:
        mark_uint8_t(values, count, (uint8_t)low, (uint8_t)span, marks);
        break;
    case 2:
        mark_uint16_t((const void *)values, count, (uint16_t)low, (uint16_t)span, marks);
        break;
    case 4:
        mark_uint32_t((const void *)values, count, (uint32_t)low, (uint32_t)span, marks);
        break;
    default:
        mark_uint64_t((const void *)values, count, low, span, marks);
    }
}

#define RUN(type)                                                                                  \
    for (const type *values = plane->values; end < limit && values[end] == values[i]; end++)

size_t tfs_plane_run(const struct tfs_cells_plane *plane, size_t i, size_t limit)
{
    size_t end = i + 1;

    if (plane->filled)
        return limit - i;
    switch (tfs_plane_size(&plane->form)) {
    case 1:
        RUN(uint8_t);
        break;
    case 2:
        RUN(uint16_t);
        break;
    case 4:
        RUN(uint32_t);
        break;
    default:
        RUN(uint64_t);
    }
    return end - i;
}

/* ---- runs ------------------------------------------------------------------------------------ */

unsigned tfs_cells_runs_need(const struct tfs_cells_kind *kind, unsigned planes)
{
    return kind->next_runs != NULL ? 0 : planes;
}

void tfs_cells_runs_begin(struct tfs_cells_runs *runs, const struct tfs_cells *cells)
{
    *runs = (struct tfs_cells_runs){.kind = cells->kind,
                                    .stored = tfs_cursor_init(tfs_blob_span(cells->stored))};
}

bool tfs_cells_runs_find(struct tfs_cells_runs *runs)
{
    const size_t room = sizeof(runs->next) / sizeof(runs->next[0]);

    runs->at = runs->next;
    runs->behind = runs->next + runs->kind->next_runs(&runs->stored, runs->next, room);
    return runs->at < runs->behind;
}

/* ---- values in 32 bits ----------------------------------------------------------------------- */

/* A value of 8 or 16 bits with a sign, in 32. */
static uint32_t widen_sign(uint32_t value, unsigned width)
{
    const unsigned above = 32 - 8 * width;

    return (uint32_t)((int32_t)(value << above) >> above);
}

uint32_t tfs_plane_narrow(const struct tfs_plane_form *form, uint64_t value)
{
    return form->kind == TFS_PLANE_SIGNED && form->width < sizeof(uint32_t)
               ? widen_sign((uint32_t)value, form->width)
               : (uint32_t)value;
}

#define WIDEN(type)                                                                                \
    do {                                                                                           \
        const type *narrow = (const type *)plane->values + first;                                  \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] = (uint32_t)narrow[i];                                                       \
    } while (0)

void tfs_plane_widen(const struct tfs_cells_plane *plane, size_t first, size_t count,
                     uint32_t *values)
{
    const bool is_signed = plane->form.kind == TFS_PLANE_SIGNED;
    const unsigned size = tfs_plane_size(&plane->form);

    if (plane->filled)
        for (size_t i = 0; i < count; i++)
            values[i] = tfs_plane_narrow(&plane->form, tfs_plane_get(plane, 0));
    else if (size == 1 && is_signed)
        WIDEN(int8_t);
    else if (size == 1)
        WIDEN(uint8_t);
    else if (size == 2 && is_signed)
        WIDEN(int16_t);
    else if (size == 2)
        WIDEN(uint16_t);
    else if (size == sizeof(*values))
        WIDEN(uint32_t);
}

static enum tfs_grid_base base_of(enum tfs_plane_kind kind)
{
    switch (kind) {
    case TFS_PLANE_SIGNED:
        return TFS_GRID_SIGNED;
    case TFS_PLANE_FLOAT:
        return TFS_GRID_FLOAT;
    case TFS_PLANE_HEX:
        return TFS_GRID_HEX;
    case TFS_PLANE_NAMES:
    case TFS_PLANE_UNSIGNED:
        break;
    }
    return TFS_GRID_DECIMAL;
}

struct tfs_grid_shape tfs_plane_shape(const struct tfs_plane_form *form, struct tfs_voxel_size size,
                                      uint32_t name_count)
{
    return (struct tfs_grid_shape){
        .sx = size.x,
        .sy = size.y,
        .sz = size.z,
        .base = base_of(form->kind),
        .width = form->digits > 0 ? form->digits : tfs_decimal_width(name_count - 1),
    };
}

static void print_range(const struct tfs_plane_form *form, char range[TFS_PLANE_RANGE])
{
    if (form->kind == TFS_PLANE_FLOAT)
        snprintf(range, TFS_PLANE_RANGE, "it has %u bits", 8 * form->width);
    else if (form->kind == TFS_PLANE_SIGNED)
        snprintf(range, TFS_PLANE_RANGE, "-%" PRIu64 " to %" PRIu64, form->high + 1, form->high);
    else
        snprintf(range, TFS_PLANE_RANGE, "0 to %" PRIu64, form->high);
}

struct tfs_grid_rules tfs_plane_rules(const struct tfs_plane *plane,
                                      const struct tfs_plane_form *form, struct tfs_voxel_size size,
                                      char range[TFS_PLANE_RANGE])
{
    print_range(form, range);
    return (struct tfs_grid_rules){tfs_plane_shape(form, size, 0), form->high,
                                   plane->out_of_range != NULL ? plane->out_of_range : range};
}
