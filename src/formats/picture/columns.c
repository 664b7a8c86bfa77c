/*
 * Chunks -> columns seen from above, each chunk looked into once: what was found stays with the
 * facts of the save, by coordinate, as long as the chunk keeps its bytes.
 *
 * Must not know games, nor pictures. Stacks of chunks are independent, so they are shared among
 * threads, which have ended when tfs_columns_lock returns: in plots, for a container has what lies
 * side by side in one place. Of a stack only the chunks down to the first that nothing can be seen
 * through are looked into: most of a world lies below.
 */
#include "formats/picture/columns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX     TFS_PNG_THREADS_MAX
#define CHUNKS_A_THREAD 32 /* fewer are not worth starting one */
#define PIXELS_A_THREAD 32768
#define BATCH_MAX       16 /* chunks that are fetched in one go */
#define PLOT_WIDTH      32 /* stacks; all of one row */

/* A chunk as it was when its columns were computed. */
struct entry {
    struct tfs_key key;
    uint32_t tag, flags;
    uint64_t own;
    struct tfs_blob *blob;      /* NULL: not held by the document, which `own` stands for */
    struct tfs_column *columns; /* NULL: all empty */
    bool known;
    bool uniform; /* columns is one, for all */
    bool opaque;  /* nothing below can be seen through any of its columns */
    bool hidden;  /* there is an opaque one above */
};

/* Of heights that are not 0; none: low is above high. */
struct range {
    uint32_t low, high;
};

struct tfs_columns {
    struct tfs_shared_cache cache;
    pthread_mutex_t lock;
    uint64_t version; /* of the document that the rest is about; 0: none */
    struct tfs_picture_box box;
    struct entry *entries; /* in the order of the document */
    size_t count;
    size_t computed;
    size_t plots_a_row;
    struct entry **plots; /* the entries by plot, row after row, then as in the document */
    size_t *plot_first;   /* of each plot, and the end */
    struct range *ranges; /* of each plot */
};

/* ---- boxes ----------------------------------------------------------------------------------- */

static uint64_t side(int32_t low, int32_t high, uint32_t edge)
{
    return (uint64_t)((int64_t)high - low + 1) * edge;
}

bool tfs_picture_box(const struct tfs_voxels *voxels, const struct tfs_doc *doc,
                     struct tfs_picture_box *box)
{
    struct tfs_key low, high;

    if (!tfs_doc_bounds(doc, 0, &low, &high))
        return false;
    struct tfs_voxel_size chunk = voxels->size(doc);
    *box = (struct tfs_picture_box){
        .chunk = chunk,
        .low = low,
        .x = (int64_t)low.x * chunk.x,
        .y = (int64_t)low.y * chunk.y,
        .z = (int64_t)low.z * chunk.z,
        .sx = side(low.x, high.x, chunk.x),
        .sy = side(low.y, high.y, chunk.y),
        .sz = side(low.z, high.z, chunk.z),
    };
    return true;
}

bool tfs_picture_box_fits(const struct tfs_picture_box *box)
{
    return box->sx <= TFS_PNG_SIDE_MAX && box->sz <= TFS_PNG_SIDE_MAX &&
           box->sy <= TFS_PICTURE_HEIGHT_MAX;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void entries_release(struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tfs_blob_unref(entries[i].blob);
        free(entries[i].columns);
    }
    free(entries);
}

static void columns_release(struct tfs_shared_cache *cache)
{
    struct tfs_columns *c = (struct tfs_columns *)cache;

    entries_release(c->entries, c->count);
    free(c->plots);
    free(c->plot_first);
    free(c->ranges);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* The cache of these facts, made when there is none; of two that make one at a time, the first
 * wins. */
static struct tfs_columns *columns_of(struct tfs_facts *facts)
{
    struct tfs_shared_cache *there = tfs_facts_cache(facts);

    if (there != NULL)
        return (struct tfs_columns *)there;

    struct tfs_columns *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NULL;
    atomic_init(&made->cache.refs, 1);
    made->cache.release = columns_release;
    pthread_mutex_init(&made->lock, NULL);
    return (struct tfs_columns *)tfs_facts_set_cache(facts, &made->cache);
}

/* ---- from above ------------------------------------------------------------------------------ */

/* Puts a column on top of what lies below it; `base` is the height of its chunk's bottom. Water
 * down to there goes on in what is right below. */
static void add_column(struct tfs_pixel *pixel, const struct tfs_column *column, uint32_t base)
{
    struct tfs_pixel top = {(uint16_t)(base + column->top), column->water, column->colour,
                            column->bed};

    if (column->top == 0)
        return;
    if (column->water == column->top && base > 0 && pixel->height == base) {
        top.water = (uint16_t)(top.water + pixel->water);
        top.bed = pixel->water > 0 ? pixel->bed : pixel->colour;
    }
    *pixel = top;
}

/* One row of chunks, or a part of it. */
struct view {
    struct tfs_pixel *pixels;
    size_t width; /* pixels in a row */
    size_t x;     /* chunks left of it */
};

static void add_entry(const struct tfs_picture_box *box, const struct entry *entry,
                      const struct view *view)
{
    const struct tfs_column *column = entry->columns;
    uint32_t base = (uint32_t)(entry->key.y - box->low.y) * box->chunk.y;
    size_t x0 = ((size_t)(entry->key.x - box->low.x) - view->x) * box->chunk.x;

    if (column == NULL)
        return;
    for (uint32_t z = 0; z < box->chunk.z; z++)
        for (uint32_t x = 0; x < box->chunk.x; x++) {
            add_column(&view->pixels[z * view->width + x0 + x], column, base);
            column += !entry->uniform;
        }
}

/* Plots `first` to `end` - 1. */
static void look_at(const struct tfs_columns *c, size_t first, size_t end, const struct view *view)
{
    memset(view->pixels, 0, view->width * c->box.chunk.z * sizeof(*view->pixels));
    /* The entries of a plot ascend by y, so what is above comes later. */
    for (size_t i = c->plot_first[first]; i < c->plot_first[end]; i++)
        if (!c->plots[i]->hidden)
            add_entry(&c->box, c->plots[i], view);
}

/* ---- computing ------------------------------------------------------------------------------- */

struct computing {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    struct tfs_columns *columns;
    size_t unknown; /* entries */
    atomic_size_t next_plot;
};

/* Chunks of one layer of a plot that are to be looked into: copies, with references. */
struct batch {
    struct entry *entries[BATCH_MAX];
    struct tfs_chunk chunks[BATCH_MAX];
    size_t count;
};

struct worker {
    struct computing *all;
    pthread_t thread;
    bool started;
    bool covered[PLOT_WIDTH]; /* of each stack of the plot at hand: is there something opaque? */
    struct tfs_pixel *pixels; /* of the plot at hand */
    struct batch batch;
    size_t computed;
    struct tfs_error err;
};

/* Keeps one column where all are equal, and none where all are empty: most chunks lie below or
 * above the surface. */
static void keep_columns(struct entry *entry, struct tfs_column *columns, size_t count)
{
    size_t same = 1;

    while (same < count && memcmp(&columns[same], columns, sizeof(*columns)) == 0)
        same++;
    size_t closed = 0;
    while (closed < count && columns[closed].water < columns[closed].top)
        closed++;
    entry->known = true;
    entry->uniform = same == count;
    entry->opaque = closed == count;
    if (entry->uniform && columns[0].top == 0) {
        free(columns);
        return;
    }
    struct tfs_column *fit = entry->uniform ? realloc(columns, sizeof(*columns)) : NULL;
    entry->columns = fit != NULL ? fit : columns;
}

/* `err` may be set: the chunk could not be fetched. */
static int compute_one(const struct computing *all, struct entry *entry,
                       const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_voxels *voxels = all->save->tree->voxels;
    struct tfs_voxel_size size = all->columns->box.chunk;
    size_t count = (size_t)size.x * size.z;
    struct tfs_column *columns = calloc(count, sizeof(*columns));

    if (columns == NULL)
        return tfs_fail_memory(err);
    if (err->code == 0 && (chunk->flags & TFS_CHUNK_DAMAGED) == 0)
        voxels->columns(all->save, all->doc, chunk, columns, err);
    if (err->code < 0) {
        if (err->code != -EBADMSG && err->code != -ENOTSUP) {
            free(columns);
            return err->code;
        }
        tfs_error_reset(err);
        memset(columns, 0, count * sizeof(*columns));
    }
    keep_columns(entry, columns, count);
    return 0;
}

/* Fetches as many chunks of the batch as one go gives, from `first`; returns where the next go
 * begins. A failure belongs to the chunk there. */
static size_t fetch_some(const struct computing *all, struct batch *batch, size_t first,
                         struct tfs_error *err)
{
    const struct tfs_voxels *voxels = all->save->tree->voxels;

    if (voxels->fetch == NULL)
        return batch->count;
    return first +
           voxels->fetch(all->save, all->doc, batch->chunks + first, batch->count - first, err);
}

static int compute_batch(struct worker *w)
{
    struct batch *batch = &w->batch;
    struct tfs_error late = {0}; /* of the chunk at `ready` */
    size_t ready = 0;

    for (size_t i = 0; i < batch->count && w->err.code == 0; i++) {
        if (i == ready && late.code == 0)
            ready = fetch_some(w->all, batch, i, &late);
        if (i == ready) {
            w->err = late;
            tfs_error_reset(&late);
            ready++;
        }
        w->computed++;
        compute_one(w->all, batch->entries[i], &batch->chunks[i], &w->err);
    }
    for (size_t i = 0; i < batch->count; i++) {
        tfs_blob_unref(batch->chunks[i].blob);
        tfs_blob_unref(batch->chunks[i].extra);
    }
    return w->err.code;
}

static void batch_add(struct worker *w, struct entry *entry)
{
    const struct computing *all = w->all;
    const struct tfs_chunk *chunk = tfs_doc_at(all->doc, (size_t)(entry - all->columns->entries));
    struct batch *batch = &w->batch;

    batch->entries[batch->count] = entry;
    batch->chunks[batch->count++] = *chunk;
    tfs_blob_ref(chunk->blob);
    tfs_blob_ref(chunk->extra);
}

static size_t stack_of(const struct tfs_columns *c, const struct entry *entry)
{
    return (size_t)(entry->key.x - c->box.low.x) % PLOT_WIDTH;
}

/* Entries of one layer of a plot, from plots[end - 1] down: what is covered, and what is not and
 * has to be looked into. Returns where they begin: no lower than `first`. */
static size_t choose(struct worker *w, size_t first, size_t end)
{
    const struct tfs_columns *c = w->all->columns;
    const int32_t layer = c->plots[end - 1]->key.y;

    w->batch.count = 0;
    while (end > first && c->plots[end - 1]->key.y == layer && w->batch.count < BATCH_MAX) {
        struct entry *entry = c->plots[--end];
        entry->hidden = w->covered[stack_of(c, entry)];
        if (!entry->hidden && !entry->known)
            batch_add(w, entry);
    }
    return end;
}

/* A plot from the highest layer down: what is covered need not be looked into. */
static int compute_plot(struct worker *w, size_t plot)
{
    const struct tfs_columns *c = w->all->columns;
    const size_t first = c->plot_first[plot];

    memset(w->covered, 0, sizeof(w->covered));
    for (size_t end = c->plot_first[plot + 1], begin; end > first; end = begin) {
        begin = choose(w, first, end);
        if (compute_batch(w) < 0)
            return w->err.code;
        for (size_t i = begin; i < end; i++)
            if (!c->plots[i]->hidden)
                w->covered[stack_of(c, c->plots[i])] = c->plots[i]->opaque;
    }
    return 0;
}

/* Stacks of the plot that begins at x. */
static size_t plot_width(const struct tfs_columns *c, size_t x)
{
    const size_t rest = (size_t)(c->box.sx / c->box.chunk.x) - x;

    return rest < PLOT_WIDTH ? rest : PLOT_WIDTH;
}

static void find_range(struct worker *w, size_t plot)
{
    const struct tfs_columns *c = w->all->columns;
    const size_t x = plot % c->plots_a_row * PLOT_WIDTH;
    const struct view view = {w->pixels, plot_width(c, x) * c->box.chunk.x, x};
    struct range range = {UINT32_MAX, 0};

    look_at(c, plot, plot + 1, &view);
    for (size_t i = 0; i < view.width * c->box.chunk.z; i++) {
        uint32_t height = w->pixels[i].height;
        range.low = height > 0 && height < range.low ? height : range.low;
        range.high = height > range.high ? height : range.high;
    }
    c->ranges[plot] = range;
}

static size_t plot_count(const struct tfs_columns *c)
{
    return (size_t)(c->box.sz / c->box.chunk.z) * c->plots_a_row;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct computing *all = w->all;
    const struct tfs_columns *c = all->columns;
    const size_t plots = plot_count(c);
    size_t plot;

    w->pixels = malloc(plot_width(c, 0) * c->box.chunk.x * c->box.chunk.z * sizeof(*w->pixels));
    if (w->pixels == NULL)
        tfs_fail_memory(&w->err);
    while (w->err.code == 0 && (plot = atomic_fetch_add(&all->next_plot, 1)) < plots)
        if (compute_plot(w, plot) == 0)
            find_range(w, plot);
    free(w->pixels);
    return NULL;
}

/* As many as are useful and can run. */
static unsigned thread_count(size_t useful)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = processors < 1 ? 1 : (size_t)processors;

    useful = useful < most ? useful : most;
    return useful < 1 ? 1 : useful < THREADS_MAX ? (unsigned)useful : THREADS_MAX;
}

/* A thread that cannot be started is one less: the first worker is this thread itself. */
static int compute_all(struct computing *all, struct tfs_error *err)
{
    struct worker workers[THREADS_MAX] = {{.all = all}};
    unsigned threads = thread_count(all->unknown / CHUNKS_A_THREAD);

    for (unsigned i = 1; i < threads; i++) {
        workers[i].all = all;
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    work(&workers[0]);
    for (unsigned i = 0; i < threads; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        all->columns->computed += workers[i].computed;
        if (workers[i].err.code != 0 && err->code == 0)
            *err = workers[i].err;
    }
    return err->code;
}

/* ---- from document to document --------------------------------------------------------------- */

/* Bytes are compared where they lie elsewhere now: a save that was written may have been read
 * again. */
static bool still_true(const struct entry *entry, const struct tfs_chunk *chunk)
{
    return entry->known && entry->tag == chunk->tag && entry->flags == chunk->flags &&
           (chunk->blob != NULL || entry->own == chunk->own) &&
           tfs_blob_equal(entry->blob, chunk->blob);
}

/* Takes over into `entries` what is still true; both sides are in key order. */
static void take_over(struct tfs_columns *c, struct computing *all, struct entry *entries,
                      size_t count)
{
    size_t old = 0;

    for (size_t i = 0; i < count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(all->doc, i);
        struct entry *entry = &entries[i];
        while (old < c->count && tfs_key_compare(c->entries[old].key, chunk->key) < 0)
            old++;
        if (old < c->count && tfs_key_compare(c->entries[old].key, chunk->key) == 0 &&
            still_true(&c->entries[old], chunk)) {
            *entry = c->entries[old];
            c->entries[old].columns = NULL;
            c->entries[old].known = false;
        } else {
            *entry = (struct entry){.tag = chunk->tag, .flags = chunk->flags};
            all->unknown++;
        }
        entry->key = chunk->key;
        entry->own = chunk->own;
        entry->blob = tfs_blob_ref(chunk->blob);
    }
}

static size_t plot_of(const struct tfs_columns *c, const struct entry *entry)
{
    size_t row = (size_t)(entry->key.z - c->box.low.z);

    return row * c->plots_a_row + (size_t)(entry->key.x - c->box.low.x) / PLOT_WIDTH;
}

/* Puts the entries in order of plots: a counting sort. */
static int sort_plots(struct tfs_columns *c, struct tfs_error *err)
{
    c->plots_a_row = ((size_t)(c->box.sx / c->box.chunk.x) + PLOT_WIDTH - 1) / PLOT_WIDTH;
    const size_t plots = plot_count(c);

    free(c->plots);
    free(c->plot_first);
    free(c->ranges);
    c->plots = calloc(c->count, sizeof(*c->plots));
    c->plot_first = calloc(plots + 2, sizeof(*c->plot_first));
    c->ranges = calloc(plots, sizeof(*c->ranges));
    if (c->plots == NULL || c->plot_first == NULL || c->ranges == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < c->count; i++)
        c->plot_first[plot_of(c, &c->entries[i]) + 2]++;
    for (size_t i = 2; i < plots + 2; i++)
        c->plot_first[i] += c->plot_first[i - 1];
    for (size_t i = 0; i < c->count; i++)
        c->plots[c->plot_first[plot_of(c, &c->entries[i]) + 1]++] = &c->entries[i];
    return 0;
}

/* Takes the document's box. What is known of chunks of another size is forgotten. */
static void set_box(struct tfs_columns *c, const struct tfs_voxels *voxels,
                    const struct tfs_doc *doc)
{
    const struct tfs_voxel_size before = c->box.chunk;

    tfs_picture_box(voxels, doc, &c->box);
    if (c->box.chunk.x == before.x && c->box.chunk.y == before.y && c->box.chunk.z == before.z)
        return;
    entries_release(c->entries, c->count);
    c->entries = NULL;
    c->count = 0;
}

static int update(struct tfs_columns *c, struct tfs_save *save, const struct tfs_doc *doc,
                  struct tfs_error *err)
{
    size_t count = tfs_doc_group_count(doc, 0);
    struct computing all = {.save = save, .doc = doc, .columns = c};
    struct entry *entries = calloc(count, sizeof(*entries));

    if (entries == NULL)
        return tfs_fail_memory(err);
    c->version = 0;
    c->computed = 0;
    set_box(c, save->tree->voxels, doc);
    take_over(c, &all, entries, count);
    entries_release(c->entries, c->count);
    c->entries = entries;
    c->count = count;
    if (sort_plots(c, err) == 0 && compute_all(&all, err) == 0)
        c->version = doc->version;
    return err->code;
}

int tfs_columns_lock(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_columns **columns,
                     struct tfs_error *err)
{
    struct tfs_columns *c = columns_of(doc->facts);

    if (c == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_lock(&c->lock);
    if (c->version == doc->version)
        c->computed = 0;
    else if (update(c, save, doc, err) < 0) {
        pthread_mutex_unlock(&c->lock);
        return err->code;
    }
    *columns = c;
    return 0;
}

void tfs_columns_unlock(struct tfs_columns *columns)
{
    pthread_mutex_unlock(&columns->lock);
}

void tfs_columns_range(const struct tfs_columns *columns, uint32_t *low, uint32_t *high)
{
    *low = UINT32_MAX;
    *high = 0;
    for (size_t i = 0; i < plot_count(columns); i++) {
        *low = columns->ranges[i].low < *low ? columns->ranges[i].low : *low;
        *high = columns->ranges[i].high > *high ? columns->ranges[i].high : *high;
    }
}

size_t tfs_columns_computed(const struct tfs_columns *columns)
{
    return columns->computed;
}

/* ---- strips ---------------------------------------------------------------------------------- */

unsigned tfs_picture_threads(const struct tfs_picture_box *box)
{
    size_t useful = (size_t)(box->sx * box->sz) / PIXELS_A_THREAD;
    size_t rows = (size_t)(box->sz / box->chunk.z);

    return thread_count(useful < rows ? useful : rows);
}

void tfs_columns_strip(const struct tfs_columns *columns, uint32_t row, struct tfs_pixel *pixels)
{
    const struct view view = {pixels, (size_t)columns->box.sx, 0};
    const size_t first = row * columns->plots_a_row;

    look_at(columns, first, first + columns->plots_a_row, &view);
}
