/*
 * Chunks of one plot -> its columns seen from above.
 *
 * Must not know games, pictures, nor other plots. Plots are independent, so they are shared among
 * threads. Of a stack only the chunks down to the first that nothing can be seen through are looked
 * into: most of a world lies below.
 */
#include "formats/picture/plot.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define THREADS_MAX     TFS_PNG_THREADS_MAX
#define CHUNKS_A_THREAD 32 /* fewer are not worth starting one */
#define BATCH_MAX       16 /* chunks that are fetched in one go */

static size_t count_stacks(struct tfs_plot_site site)
{
    return (size_t)((int64_t)site.last - site.first + 1);
}

static void entries_free(struct tfs_plot_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tfs_blob_unref(entries[i].blob);
        free(entries[i].face);
    }
    free(entries);
}

void tfs_plot_clear(struct tfs_plot *plot)
{
    entries_free(plot->entries, plot->count);
    plot->entries = NULL;
    plot->count = plot->bytes = 0;
}

/* ---- from above ------------------------------------------------------------------------------ */

/* Puts a column on top of what lies below it; `base` is the height of its chunk's bottom. Water
 * down to there goes on in what is right below. */
static void add_column(struct tfs_pixel *pixel, uint16_t top, const struct tfs_look *look,
                       uint32_t base, unsigned drop)
{
    const uint32_t height = base + (top >> drop);
    struct tfs_pixel added = {(uint16_t)(height + (height == 0)), look->water, look->colour,
                              look->bed};

    if (look->water == top && base > 0 && pixel->height == base) {
        added.water = (uint16_t)(added.water + pixel->water);
        added.bed = pixel->water > 0 ? pixel->bed : pixel->colour;
    }
    *pixel = added;
}

/* A row of chunks goes over millions of columns: without `packed`, which says how the face stores
 * them, each of them asks. `next` is how far behind a row of pixels that of the next z is. */
static inline void add_face(const struct tfs_picture_box *box, const struct tfs_face *face,
                            bool packed, uint32_t base, struct tfs_pixel *pixels, ptrdiff_t next)
{
    const size_t step = packed ? 1 : face->step;
    size_t column = 0;

    for (uint32_t z = 0; z < box->chunk.z; z++) {
        struct tfs_pixel *row = pixels + (ptrdiff_t)z * next;
        for (uint32_t x = 0; x < box->chunk.x; x++, column += step) {
            const uint16_t top = packed ? face->low_tops[column] : tfs_face_top(face, column);
            const struct tfs_look *look =
                packed ? tfs_face_nibble(face, column) : tfs_face_look(face, column);
            if (top > 0)
                add_column(&row[x], top, look, base, box->drop);
        }
    }
}

static void add_entry(const struct tfs_picture_box *box, const struct tfs_plot_entry *entry,
                      const struct tfs_plot_view *view)
{
    const struct tfs_face *face = entry->face;
    const uint64_t below = (uint64_t)((int64_t)entry->key.y - box->low.y) * box->chunk.y;
    const uint32_t base = (uint32_t)(below >> box->drop);
    const int64_t stack = (int64_t)entry->key.x - view->x;
    const size_t x = (size_t)stack * box->chunk.x;
    const ptrdiff_t next = view->north_up ? -(ptrdiff_t)view->width : (ptrdiff_t)view->width;

    if (face == NULL || stack < 0 || x >= view->width)
        return;
    struct tfs_pixel *pixels =
        view->pixels + x + (view->north_up ? (box->chunk.z - 1) * view->width : 0);
    if (face->nibbles && face->low_tops != NULL && face->step == 1)
        add_face(box, face, true, base, pixels, next);
    else
        add_face(box, face, false, base, pixels, next);
}

/* The entries of a plot ascend by y, so what is above comes later. */
void tfs_plot_draw(const struct tfs_picture_box *box, const struct tfs_plot *plot,
                   const struct tfs_plot_view *view)
{
    for (size_t i = 0; i < plot->count; i++)
        if (!plot->entries[i].hidden)
            add_entry(box, &plot->entries[i], view);
}

/* ---- computing ------------------------------------------------------------------------------- */

/* Chunks of one layer of a plot that are to be looked into: copies, with references. */
struct batch {
    struct tfs_plot_entry *entries[BATCH_MAX];
    struct tfs_chunk chunks[BATCH_MAX];
    size_t count;
};

struct worker {
    struct tfs_plot_work *all;
    pthread_t thread;
    bool started;
    bool
        covered[TFS_PLOT_WIDTH]; /* of each stack of the plot at hand: is there something opaque? */
    struct tfs_pixel *pixels;    /* of the plot at hand */
    struct tfs_column *columns;  /* of the chunk at hand */
    struct batch batch;
    struct tfs_error err;
};

static int keep_columns(struct tfs_plot_entry *entry, const struct tfs_column *columns,
                        size_t count, struct tfs_error *err)
{
    size_t closed = 0;

    while (closed < count && columns[closed].water < columns[closed].top)
        closed++;
    if (tfs_face_pack(columns, count, &entry->face, err) < 0)
        return err->code;
    entry->known = true;
    entry->opaque = closed == count;
    return 0;
}

/* `err` may be set: the chunk could not be fetched. */
static int compute_one(const struct worker *w, struct tfs_plot_entry *entry,
                       const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_plot_work *c = w->all;
    const size_t count = (size_t)c->box->chunk.x * c->box->chunk.z;
    struct tfs_column *columns = w->columns;

    memset(columns, 0, count * sizeof(*columns));
    if (err->code == 0 && (chunk->flags & TFS_CHUNK_DAMAGED) == 0)
        tfs_columns_of(c->save, c->doc, chunk, columns, err);
    if (tfs_is_damage(err->code)) {
        tfs_error_reset(err);
        memset(columns, 0, count * sizeof(*columns));
    }
    return err->code < 0 ? err->code : keep_columns(entry, columns, count, err);
}

static int compute_batch(struct worker *w)
{
    const struct tfs_plot_work *c = w->all;
    struct batch *batch = &w->batch;
    struct tfs_error late = {0}; /* of the chunk at `ready` */
    size_t ready = 0;

    for (size_t i = 0; i < batch->count && w->err.code == 0; i++) {
        if (i == ready && late.code == 0)
            ready = i + tfs_chunks_fetch(c->save, batch->chunks + i, batch->count - i, &late);
        if (i == ready) {
            w->err = late;
            tfs_error_reset(&late);
            ready++;
        }
        compute_one(w, batch->entries[i], &batch->chunks[i], &w->err);
    }
    for (size_t i = 0; i < batch->count; i++) {
        tfs_blob_unref(batch->chunks[i].blob);
        tfs_blob_unref(batch->chunks[i].extra);
    }
    return w->err.code;
}

static void batch_add(struct worker *w, struct tfs_plot_entry *entry)
{
    const struct tfs_chunk *chunk = tfs_doc_find(w->all->doc, entry->key);
    struct batch *batch = &w->batch;

    batch->entries[batch->count] = entry;
    batch->chunks[batch->count++] = *chunk;
    tfs_blob_ref(chunk->blob);
    tfs_blob_ref(chunk->extra);
}

static bool *covered(struct worker *w, const struct tfs_plot_task *task,
                     const struct tfs_plot_entry *entry)
{
    return &w->covered[(int64_t)entry->key.x - task->site.first];
}

/* Entries of one layer of a plot, from entries[end - 1] down: what is covered, and what is not and
 * has to be looked into. Returns where they begin. */
static size_t choose(struct worker *w, const struct tfs_plot_task *task, size_t end)
{
    struct tfs_plot_entry *entries = task->plot->entries;
    const int32_t layer = entries[end - 1].key.y;

    w->batch.count = 0;
    while (end > 0 && entries[end - 1].key.y == layer && w->batch.count < BATCH_MAX) {
        struct tfs_plot_entry *entry = &entries[--end];
        entry->hidden = *covered(w, task, entry);
        if (!entry->hidden && !entry->known)
            batch_add(w, entry);
    }
    return end;
}

/* A plot from the highest layer down: what is covered need not be looked into. */
static int compute_plot(struct worker *w, const struct tfs_plot_task *task)
{
    struct tfs_plot_entry *entries = task->plot->entries;

    memset(w->covered, 0, sizeof(w->covered));
    for (size_t end = task->plot->count, begin; end > 0; end = begin) {
        begin = choose(w, task, end);
        if (compute_batch(w) < 0)
            return w->err.code;
        for (size_t i = begin; i < end; i++)
            if (!entries[i].hidden)
                *covered(w, task, &entries[i]) = entries[i].opaque;
    }
    return 0;
}

static void find_range(struct worker *w, const struct tfs_plot_task *task)
{
    const struct tfs_picture_box *box = w->all->box;
    const struct tfs_plot_view view = {w->pixels, count_stacks(task->site) * box->chunk.x,
                                       task->site.first, false};
    const size_t count = view.width * box->chunk.z;
    struct tfs_plot_range range = {UINT32_MAX, 0};

    memset(view.pixels, 0, count * sizeof(*view.pixels));
    tfs_plot_draw(box, task->plot, &view);
    for (size_t i = 0; i < count; i++) {
        uint32_t height = w->pixels[i].height;
        range.low = height > 0 && height < range.low ? height : range.low;
        range.high = height > range.high ? height : range.high;
    }
    task->plot->range = range;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct tfs_plot_work *all = w->all;
    const struct tfs_picture_box *box = all->box;
    const size_t stacks = (size_t)(box->sx / box->chunk.x), columns = box->chunk.x * box->chunk.z;
    size_t task;

    w->pixels =
        malloc((stacks < TFS_PLOT_WIDTH ? stacks : TFS_PLOT_WIDTH) * columns * sizeof(*w->pixels));
    w->columns = malloc(columns * sizeof(*w->columns));
    if (w->pixels == NULL || w->columns == NULL)
        tfs_fail_memory(&w->err);
    while (w->err.code == 0 && (task = atomic_fetch_add(&all->next, 1)) < all->count)
        if (compute_plot(w, &all->tasks[task]) == 0)
            find_range(w, &all->tasks[task]);
    free(w->pixels);
    free(w->columns);
    return NULL;
}

/* As many as are useful and can run. */
unsigned tfs_plot_threads(size_t useful)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = processors < 1 ? 1 : (size_t)processors;

    useful = useful < most ? useful : most;
    return useful < 1 ? 1 : useful < THREADS_MAX ? (unsigned)useful : THREADS_MAX;
}

/* A thread that cannot be started is one less: the first worker is this thread itself. */
int tfs_plot_compute(struct tfs_plot_work *all, struct tfs_error *err)
{
    struct worker workers[THREADS_MAX] = {{.all = all}};
    unsigned threads = tfs_plot_threads(all->unknown / CHUNKS_A_THREAD);

    for (unsigned i = 1; i < threads; i++) {
        workers[i].all = all;
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    work(&workers[0]);
    for (unsigned i = 0; i < threads; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        if (workers[i].err.code != 0 && err->code == 0)
            *err = workers[i].err;
    }
    return err->code;
}

/* ---- what is in a plot ----------------------------------------------------------------------- */

/* Entries being listed. */
struct list {
    struct tfs_plot_entry *entries;
    size_t count;
};

static int list_add(struct list *list, const struct tfs_chunk *chunk, struct tfs_error *err)
{
    struct tfs_plot_entry *entries = tfs_array_grow(list->entries, list->count, sizeof(*entries));

    if (entries == NULL)
        return tfs_fail_memory(err);
    list->entries = entries;
    list->entries[list->count++] = (struct tfs_plot_entry){.key = chunk->key,
                                                           .tag = chunk->tag,
                                                           .flags = chunk->flags,
                                                           .own = chunk->own,
                                                           .blob = tfs_blob_ref(chunk->blob)};
    return 0;
}

/* The document's chunks in a plot, in its order. */
static int list_chunks(const struct tfs_plot_work *c, struct tfs_plot_site site, struct list *list,
                       struct tfs_error *err)
{
    for (size_t layer = 0; layer < c->layer_count; layer++) {
        const struct tfs_key first = {0, site.first, c->layers[layer], site.z};
        for (size_t i = tfs_doc_lower_bound(c->doc, first); i < c->doc->count; i++) {
            const struct tfs_chunk *chunk = tfs_doc_at(c->doc, i);
            if (chunk->key.group != 0 || chunk->key.y != first.y || chunk->key.z != first.z ||
                chunk->key.x > site.last)
                break;
            if (list_add(list, chunk, err) < 0)
                return err->code;
        }
    }
    return 0;
}

/* Bytes are compared where they lie elsewhere now: a save that was written may have been read
 * again. */
static bool still_true(const struct tfs_plot_entry *entry, const struct tfs_plot_entry *now)
{
    return entry->tag == now->tag && entry->flags == now->flags &&
           (now->blob != NULL || entry->own == now->own) && tfs_blob_equal(entry->blob, now->blob);
}

/* Takes over from what was known before what is still true; both are in key order. Returns how many
 * are as they were. */
static size_t take_over(struct list *list, struct tfs_plot *plot)
{
    size_t old = 0, same = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct tfs_plot_entry *entry = &list->entries[i];
        while (old < plot->count && tfs_key_compare(plot->entries[old].key, entry->key) < 0)
            old++;
        if (old == plot->count || tfs_key_compare(plot->entries[old].key, entry->key) != 0 ||
            !still_true(&plot->entries[old], entry))
            continue;
        entry->known = plot->entries[old].known;
        entry->opaque = plot->entries[old].opaque;
        entry->hidden = plot->entries[old].hidden;
        entry->face = plot->entries[old].face;
        plot->entries[old].face = NULL;
        same++;
    }
    return same;
}

void tfs_plot_weigh(struct tfs_plot *plot)
{
    plot->bytes = plot->count * sizeof(*plot->entries);
    for (size_t i = 0; i < plot->count; i++)
        plot->bytes += plot->entries[i].face != NULL ? plot->entries[i].face->size : 0;
}

int tfs_plot_list(const struct tfs_plot_work *work, struct tfs_plot *plot,
                  struct tfs_plot_site site, bool *same, struct tfs_error *err)
{
    struct list list = {0};

    if (list_chunks(work, site, &list, err) < 0) {
        entries_free(list.entries, list.count);
        return err->code;
    }
    const size_t kept = take_over(&list, plot);
    *same = kept == list.count && kept == plot->count;
    tfs_plot_clear(plot);
    plot->entries = list.entries;
    plot->count = list.count;
    tfs_plot_weigh(plot);
    return 0;
}
