/*
 * Cells -> counts by name and a checksum. git keeps checksums: what they are of should stay.
 *
 * Must not know how a sum is printed.
 */
#include "formats/compare/count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void tfs_chunk_count_release(struct tfs_chunk_count *sum)
{
    tfs_voxel_pool_release(&sum->pool);
    tfs_voxel_chunk_release(&sum->chunk);
    tfs_words_release(&sum->names);
    tfs_buf_release(&sum->same);
    tfs_buf_release(&sum->text);
    tfs_chunk_unref(&sum->made);
    free(sum->counts);
    *sum = (struct tfs_chunk_count){0};
}

/* There are so many voxels that are counted as this one is. */
static int count_voxels(struct tfs_chunk_count *sum, const struct tfs_voxel *v, uint64_t voxels,
                        struct tfs_error *err)
{
    uint32_t number;

    if (tfs_voxel_is_empty(&sum->pool, v))
        return 0;
    tfs_buf_clear(&sum->text);
    tfs_voxel_print(&sum->pool, v, true, &sum->text);
    if (tfs_buf_check(&sum->text, err) < 0 || sum->text.size == 0 ||
        tfs_words_add(&sum->names, tfs_buf_span(&sum->text), &number, err) < 0)
        return err->code;
    if (number == sum->count) {
        struct tfs_name_count *counts = tfs_array_grow(sum->counts, sum->count, sizeof(*counts));
        if (counts == NULL)
            return tfs_fail_memory(err);
        sum->counts = counts;
        sum->counts[sum->count++].voxels = 0;
    }
    sum->counts[number].voxels += voxels;
    return 0;
}

/* ---- voxels with names ----------------------------------------------------------------------- */

/* Names by the order in which voxels come to have them. */
struct met {
    uint32_t *entries; /* the numbers of entries, + 1; 0: no voxel had it so far */
    uint32_t *numbers; /* the same of words */
    uint32_t *words;   /* by number */
    uint64_t *counts;  /* by number */
    uint32_t count;
};

/* An entry that is met for the first time: its name may have been. */
static void meet(struct met *met, uint32_t entry, uint32_t word)
{
    if (met->numbers[word] == 0) {
        met->words[met->count++] = word;
        met->numbers[word] = met->count;
    }
    met->entries[entry] = met->numbers[word];
}

static void add_number(uint32_t number, size_t count, struct tfs_buf *out)
{
    uint8_t *bytes = out->data + out->size;

    for (size_t i = 0; i < count; i++) {
        bytes[2 * i] = (uint8_t)number;
        bytes[2 * i + 1] = (uint8_t)(number >> 8);
    }
    out->size += 2 * count;
}

/* For each entry of the plane the number of its name. */
static int number_entries(struct tfs_chunk_count *sum, unsigned p, struct met *met,
                          struct tfs_error *err)
{
    const struct tfs_cells *cells = sum->chunk.cells;
    struct tfs_cells_plane plane = cells->planes[p];
    size_t count = cells->count, run;

    if (plane.form.kind != TFS_PLANE_NAMES) {
        count *= plane.form.width;
        plane.form.width = 1;
    }
    if (tfs_buf_reserve(&sum->same, 2 * count) == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < count; i += run) {
        const uint32_t entry = (uint32_t)tfs_plane_get(&plane, i);
        run = tfs_plane_run(&plane, i, count);
        if (met->entries[entry] == 0)
            meet(met, entry, sum->chunk.words[entry]);
        met->counts[met->entries[entry] - 1] += p == 0 ? run : 0;
        add_number(met->entries[entry], run, &sum->same);
    }
    return 0;
}

/* What the numbers are called. */
static int add_names(struct tfs_chunk_count *sum, const struct met *met, struct tfs_error *err)
{
    struct tfs_voxel v = {.version = 0};

    for (uint32_t i = 0; i < met->count && err->code == 0; i++) {
        const struct tfs_span name = tfs_words_at(&sum->pool.names, met->words[i]);
        tfs_buf_u32le(&sum->same, (uint32_t)name.size);
        tfs_buf_add_span(&sum->same, name);
        v.values[0] = met->words[i];
        if (met->counts[i] > 0)
            count_voxels(sum, &v, met->counts[i], err);
    }
    return err->code;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The values of a voxel and how many there are of it, in whole words. */
static void add_run(const struct tfs_cells_kind *kind, const struct tfs_cells_run *run,
                    struct tfs_buf *same)
{
    const uint32_t count = (uint32_t)run->count;
    const size_t size = (kind->count + sizeof(count) - 1) / sizeof(count) * sizeof(count);
    const size_t most = sizeof(run->values) + sizeof(count);
    uint8_t *bytes =
        same->capacity - same->size < most ? tfs_buf_reserve(same, most) : same->data + same->size;

    if (bytes == NULL)
        return;
    memcpy(bytes, run->values, sizeof(run->values));
    memcpy(bytes + size, &count, sizeof(count));
    same->size += size + sizeof(count);
}

/* Runs of equal voxels are the same however the game stores them. The first is of empty voxels, if
 * only of none. */
static int sum_runs(struct tfs_chunk_count *sum, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = sum->pool.kind;
    uint64_t counts[UINT8_MAX + 1] = {0};
    struct tfs_cells_run run = {.count = 0};
    struct tfs_voxel v = {.version = 0};
    struct tfs_cells_runs runs;

    tfs_cells_runs_begin(&runs, sum->chunk.cells);
    while (tfs_cells_runs_next(&runs)) {
        counts[runs.values[0]] += runs.count;
        if (memcmp(runs.values, run.values, sizeof(run.values)) != 0) {
            add_run(kind, &run, &sum->same);
            memcpy(run.values, runs.values, sizeof(run.values));
            run.count = 0;
        }
        run.count += runs.count;
    }
    add_run(kind, &run, &sum->same);
    for (v.values[0] = 0; v.values[0] <= kind->planes[0].form.high && err->code == 0; v.values[0]++)
        if (counts[v.values[0]] > 0)
            count_voxels(sum, &v, counts[v.values[0]], err);
    return err->code;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Voxels that are counted as one thing: by the value that makes them more than empty. */
struct bin {
    uint64_t value, voxels;
    unsigned plane;
    size_t voxel; /* one of them */
};

#define BINS_LOG 9
#define BINS     (1u << BINS_LOG)

struct bins {
    struct tfs_chunk_count *sum;
    struct bin bins[BINS];
};

static int bin_empty(struct bins *b, struct bin *bin, struct tfs_error *err)
{
    const struct tfs_cells *cells = b->sum->chunk.cells;
    struct tfs_voxel v = b->sum->chunk.last;

    if (bin->voxels == 0)
        return 0;
    for (unsigned p = 0; p < cells->kind->count; p++)
        v.values[p] = tfs_plane_get(&cells->planes[p], bin->voxel);
    count_voxels(b->sum, &v, bin->voxels, err);
    bin->voxels = 0;
    return err->code;
}

/* Adds voxels that have the value, `voxel` is one of them. */
static int bin_add(struct bins *b, unsigned plane, uint64_t value, size_t voxel, size_t count,
                   struct tfs_error *err)
{
    const uint64_t spread = (value * TFS_PLANES_MAX + plane) * UINT64_C(0x9e3779b97f4a7c15);
    struct bin *bin = &b->bins[spread >> (64 - BINS_LOG)];

    if (bin->voxels > 0 && (bin->value != value || bin->plane != plane) &&
        bin_empty(b, bin, err) < 0)
        return err->code;
    if (bin->voxels == 0)
        *bin = (struct bin){.value = value, .plane = plane, .voxel = voxel};
    bin->voxels += count;
    return 0;
}

/* So many voxels are looked at together, from `first` on. */
static size_t count_here(const struct tfs_cells *cells, size_t first)
{
    const size_t left = cells->count - first;

    return left < TFS_PLANE_TOGETHER ? left : TFS_PLANE_TOGETHER;
}

/* Sets `marks` where voxels from `first` on are solid by the plane. False: none is. */
static bool mark_solid(const struct tfs_cells *cells, const struct tfs_cells_plane *plane,
                       size_t first, uint8_t *marks)
{
    const struct tfs_plane_form *form = &plane->form;
    const size_t here = count_here(cells, first);

    memset(marks, 0, TFS_PLANE_TOGETHER);
    tfs_plane_mark(plane, plane->filled ? 0 : first, plane->filled ? 1 : here, form->solid,
                   form->solid_span, marks);
    if (plane->filled)
        memset(marks, marks[0], here);
    return memchr(marks, 1, here) != NULL;
}

/* Adds the solid voxels of a plane, from `first` on, but for those that are taken. They are then.
 * Distances do not say what a voxel is. */
static int count_solid(struct bins *b, unsigned number, size_t first, uint8_t *taken,
                       struct tfs_error *err)
{
    const struct tfs_cells *cells = b->sum->chunk.cells;
    const struct tfs_cells_plane *plane = &cells->planes[number];
    const bool distance = (cells->kind->planes[number].flags & TFS_PLANE_DISTANCE) != 0;
    uint8_t marks[TFS_PLANE_TOGETHER];
    size_t at = 0;

    if (!mark_solid(cells, plane, first, marks))
        return 0;
    for (size_t i = 0; i < TFS_PLANE_TOGETHER; i++) {
        marks[i] &= (uint8_t)~taken[i];
        taken[i] |= marks[i];
    }
    while (at < TFS_PLANE_TOGETHER && err->code == 0) {
        const uint64_t value = distance ? 0 : tfs_plane_get(plane, first + at);
        const size_t voxel = first + at;
        size_t count = 0;
        for (; at < TFS_PLANE_TOGETHER && marks[at]; at++, count++)
            if (!distance && tfs_plane_get(plane, first + at) != value)
                break;
        if (count > 0)
            bin_add(b, number, value, voxel, count, err);
        while (at < TFS_PLANE_TOGETHER && !marks[at])
            at++;
    }
    return err->code;
}

/* Distances last: as they are named. Solid voxels have a short name. */
static int count_numbers(struct tfs_chunk_count *sum, struct tfs_error *err)
{
    const struct tfs_cells *cells = sum->chunk.cells;
    struct bins b = {.sum = sum};

    for (size_t i = 0; i < cells->count && err->code == 0; i += TFS_PLANE_TOGETHER) {
        uint8_t taken[TFS_PLANE_TOGETHER] = {0};
        for (unsigned last = 0; last < 2; last++)
            for (unsigned p = 0; p < cells->kind->count && err->code == 0; p++) {
                const unsigned flags = cells->kind->planes[p].flags;
                if ((flags & TFS_PLANE_SOLID) != 0 && ((flags & TFS_PLANE_DISTANCE) != 0) == last)
                    count_solid(&b, p, i, taken, err);
            }
    }
    for (unsigned i = 0; i < BINS && err->code == 0; i++)
        bin_empty(&b, &b.bins[i], err);
    return err->code;
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* A plane that nobody wrote says nothing; one of equal values says one, however it is stored. */
static void add_numbers(const struct tfs_cells *cells, unsigned p, struct tfs_buf *same)
{
    const struct tfs_cells_plane *plane = &cells->planes[p];
    const bool one = tfs_plane_uniform(plane, cells->count);

    if (one && plane->form.width == cells->kind->planes[p].form.width &&
        tfs_plane_get(plane, 0) == plane->form.empty)
        return;
    tfs_buf_u8(same, (uint8_t)p);
    tfs_buf_u8(same, (uint8_t)plane->form.width);
    tfs_buf_u8(same, (uint8_t)plane->form.kind);
    tfs_buf_u8(same, one);
    tfs_buf_add(same, plane->values, (one ? 1 : cells->count) * plane->form.width);
}

/* One of numbers, or of entries, which stand for names. Optional ones that are no voxel's are files
 * of their own. */
static void sum_plane(struct tfs_chunk_count *sum, unsigned p, struct met *met,
                      struct tfs_error *err)
{
    const struct tfs_cells *cells = sum->chunk.cells;
    const struct tfs_plane *plane = &cells->kind->planes[p];
    const bool optional = (plane->flags & TFS_PLANE_OPTIONAL) != 0;

    if (cells->planes[p].values == NULL || (optional && plane->mark == NULL))
        return;
    if (optional)
        tfs_buf_add_text(&sum->same, plane->name);
    if (plane->form.kind == TFS_PLANE_NAMES || (plane->flags & TFS_PLANE_ENTRIES) != 0)
        number_entries(sum, p, met, err);
    else
        add_numbers(cells, p, &sum->same);
}

static int sum_planes(struct tfs_chunk_count *sum, struct tfs_error *err)
{
    const struct tfs_cells *cells = sum->chunk.cells;
    const size_t words = sum->pool.names.count + (size_t)1;
    struct met met = {.entries = calloc(sum->chunk.room + (size_t)1, sizeof(*met.entries)),
                      .numbers = calloc(words, sizeof(*met.numbers)),
                      .words = calloc(words, sizeof(*met.words)),
                      .counts = calloc(words, sizeof(*met.counts))};

    if (met.entries == NULL || met.numbers == NULL || met.words == NULL || met.counts == NULL)
        tfs_fail_memory(err);
    tfs_buf_u32le(&sum->same, cells->size.x);
    tfs_buf_u32le(&sum->same, cells->size.y);
    tfs_buf_u32le(&sum->same, cells->size.z);
    for (unsigned p = 0; p < cells->kind->count && err->code == 0; p++)
        sum_plane(sum, p, &met, err);
    if (err->code == 0 && add_names(sum, &met, err) == 0 && cells->kind->form != NULL)
        count_numbers(sum, err);
    free(met.entries);
    free(met.numbers);
    free(met.words);
    free(met.counts);
    return err->code;
}

/* ---- one chunk ------------------------------------------------------------------------------- */

static int sum_cells(struct tfs_chunk_count *sum, struct tfs_error *err)
{
    if (sum->chunk.cells->count == 0)
        return 0;
    return sum->pool.kind->next_runs != NULL ? sum_runs(sum, err) : sum_planes(sum, err);
}

static int add_files(struct tfs_chunk_count *sum, const struct tfs_side *side, struct tfs_key key,
                     struct tfs_error *err)
{
    const struct tfs_schema *schema = tfs_chunk_schema(side->save->tree, key.group);

    for (unsigned i = 0; i < schema->count; i++) {
        bool there;
        if ((schema->files[i].flags & (TFS_FILE_APART | TFS_FILE_SUMMED)) != TFS_FILE_APART)
            continue;
        if (tfs_side_read(side, &schema->files[i], key, &sum->text, &there, err) < 0)
            return err->code;
        if (!there)
            continue;
        sum->checksum = tfs_checksum(tfs_buf_span(&sum->text), sum->checksum + i + 1);
        sum->placed |= (schema->files[i].flags & TFS_FILE_OPTIONAL) != 0;
    }
    return 0;
}

/* Maps have many chunks of the same bytes beside each other. They say the same, but for optional
 * files, whose texts may tell where a chunk lies. */
static bool is_made(const struct tfs_chunk_count *sum, const struct tfs_side *side,
                    const struct tfs_chunk *chunk)
{
    return sum->made_doc == side->doc && !sum->placed && tfs_chunk_same(&sum->made, chunk);
}

static void set_made(struct tfs_chunk_count *sum, const struct tfs_side *side,
                     const struct tfs_chunk *chunk)
{
    tfs_chunk_unref(&sum->made);
    sum->made = *chunk;
    sum->made_doc = side->doc;
    tfs_chunk_ref(chunk);
}

static int compare_counts(const void *a, const void *b)
{
    return tfs_span_compare(((const struct tfs_name_count *)a)->name,
                            ((const struct tfs_name_count *)b)->name);
}

static int count_chunk(struct tfs_chunk_count *sum, const struct tfs_side *side,
                       const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = side->save->tree->cells;
    struct tfs_cells *cells;

    sum->count = 0;
    sum->pool.kind = kind;
    tfs_words_clear(&sum->names);
    tfs_buf_clear(&sum->same);
    if (kind->save_names == NULL)
        tfs_words_clear(&sum->pool.names);
    if (chunk->flags & TFS_CHUNK_DAMAGED)
        return tfs_fail(err, -EBADMSG, "it is damaged");
    /* Optional planes, too: their files are read next. */
    const unsigned planes = tfs_cells_runs_need(kind, TFS_CELLS_ALL);
    if (tfs_cells_keep(side->save, side->doc, chunk, planes, &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    else if (tfs_voxel_chunk_take(&sum->chunk, &sum->pool, cells, side->doc, err) == 0)
        sum_cells(sum, err);
    tfs_voxel_chunk_close(&sum->chunk);
    tfs_cells_unref(cells);
    if (err->code < 0 || tfs_buf_check(&sum->same, err) < 0)
        return err->code;
    for (size_t i = 0; i < sum->count; i++)
        sum->counts[i].name = tfs_words_at(&sum->names, (uint32_t)i);
    if (sum->count > 0)
        qsort(sum->counts, sum->count, sizeof(*sum->counts), compare_counts);
    return 0;
}

int tfs_chunk_count(struct tfs_chunk_count *sum, const struct tfs_side *side,
                    const struct tfs_chunk *chunk, struct tfs_error *err)
{
    if (is_made(sum, side, chunk))
        return 0;
    sum->made_doc = NULL;
    sum->placed = false;
    if (count_chunk(sum, side, chunk, err) < 0)
        return err->code;
    sum->checksum = tfs_checksum(tfs_buf_span(&sum->same), 0);
    if (add_files(sum, side, chunk->key, err) == 0)
        set_made(sum, side, chunk);
    return err->code;
}

uint64_t tfs_chunk_checksum(const struct tfs_chunk *chunk)
{
    return tfs_checksum(tfs_blob_span(chunk->extra),
                        tfs_checksum(tfs_blob_span(chunk->blob), chunk->tag));
}
