/*
 * Chunks -> columns seen from above.
 *
 * Must not know games, nor pictures. Stacks of chunks are independent, so they are shared among
 * threads, which have ended when tfs_columns_rows returns: in plots of stacks beside each other,
 * for a container has what lies side by side in one place. Of a stack only the chunks down to the
 * first that nothing can be seen through are looked into: most of a world lies below.
 *
 * What was found stays with the facts of the save, by coordinate, as long as the chunk keeps its
 * bytes and there is room: the plots that were not asked for longest are dropped first.
 */
#include "formats/picture/columns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "formats/picture/face.h"

#define THREADS_MAX     TFS_PNG_THREADS_MAX
#define CHUNKS_A_THREAD 32 /* fewer are not worth starting one */
#define PIXELS_A_THREAD 32768
#define BATCH_MAX       16 /* chunks that are fetched in one go */
#define PLOT_WIDTH      32 /* stacks; all of one row, from a multiple of it on */
#define PICTURES        4
#define MEMORY_USUAL    ((size_t)8 << 20)
#define COLUMN_BYTES    4 /* about what a column takes, packed */

/* A chunk as it was when its columns were computed. */
struct entry {
    struct tfs_key key;
    uint32_t tag, flags;
    uint64_t own;
    struct tfs_blob *blob; /* NULL: not held by the document, which `own` stands for */
    struct tfs_face *face; /* NULL: all columns are empty */
    bool known;
    bool opaque; /* nothing below can be seen through any of its columns */
    bool hidden; /* there is an opaque one above */
};

/* Of heights that are not 0; none: low is above high. */
struct range {
    uint32_t low, high;
};

struct plot {
    uint64_t version;      /* of the document that the rest is about; 0: of none any more */
    struct range range;    /* stays when the entries go */
    bool held;             /* it has its entries */
    struct entry *entries; /* in the order of the document */
    size_t count, bytes;
    uint64_t asked;             /* when last asked for */
    struct plot *newer, *older; /* of those that are held */
};

struct sums {
    uint64_t version; /* of the document */
    struct tfs_key low;
    uint32_t count;
    struct tfs_block_sum *sums;
};

struct tfs_columns {
    struct tfs_shared_cache cache;
    pthread_mutex_t lock;
    struct tfs_save *save; /* of who has locked it, as is `doc` */
    const struct tfs_doc *doc;
    uint64_t version;              /* of the document that box and layers are those of; 0: none */
    struct tfs_picture_box box;    /* of the plots */
    struct tfs_picture_box window; /* that is asked about; what is not in the box is empty */
    int32_t *layers;               /* y of chunks that there are, ascending */
    size_t layer_count;
    struct plot **plots; /* row after row; NULL: nothing is known */
    size_t plots_a_row;
    struct plot *newest, *oldest;
    size_t bytes, limit;
    uint64_t clock;
    struct sums sums[PICTURES];
    struct tfs_kept_rows kept;
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
    struct tfs_voxel_size chunk = tfs_voxels_size(voxels, doc);
    *box = (struct tfs_picture_box){
        .chunk = chunk,
        .low = low,
        .x = (int64_t)low.x * chunk.x,
        .y = (int64_t)low.y * chunk.y,
        .z = (int64_t)low.z * chunk.z,
        .sx = side(low.x, high.x, chunk.x),
        .sy = side(low.y, high.y, chunk.y),
        .sz = side(low.z, high.z, chunk.z),
        .north_up = voxels->north_up,
    };
    while (box->sy >> box->drop > TFS_PICTURE_HEIGHT_MAX)
        box->drop++;
    return true;
}

bool tfs_picture_box_fits(const struct tfs_picture_box *box)
{
    return box->sx <= TFS_PNG_SIDE_MAX && box->sz <= TFS_PNG_SIDE_MAX &&
           box->sy <= TFS_PICTURE_HEIGHT_MAX;
}

uint32_t tfs_picture_rows(const struct tfs_picture_box *box)
{
    return (uint32_t)(box->sz / box->chunk.z);
}

/* ---- plots ----------------------------------------------------------------------------------- */

/* The number of the plot that a stack is in, counted from x = 0 on. */
static int32_t plot_number(int32_t x)
{
    int64_t rest = ((int64_t)x % PLOT_WIDTH + PLOT_WIDTH) % PLOT_WIDTH;

    return (int32_t)((x - rest) / PLOT_WIDTH);
}

/* The last stack of the box. */
static int32_t high_x(const struct tfs_picture_box *box)
{
    return (int32_t)(box->low.x + (int64_t)(box->sx / box->chunk.x) - 1);
}

/* Where a plot lies. */
struct site {
    int32_t z;
    int32_t first, last; /* x of its stacks in the box */
};

static struct site site_of(const struct tfs_columns *c, size_t plot)
{
    const int32_t high = high_x(&c->box);
    const int64_t number = plot_number(c->box.low.x) + (int64_t)(plot % c->plots_a_row);
    const int64_t first = number * PLOT_WIDTH, last = first + PLOT_WIDTH - 1;

    return (struct site){
        .z = (int32_t)(c->box.low.z + (int64_t)(plot / c->plots_a_row)),
        .first = first > c->box.low.x ? (int32_t)first : c->box.low.x,
        .last = last < high ? (int32_t)last : high,
    };
}

static size_t stacks_of(struct site site)
{
    return (size_t)((int64_t)site.last - site.first + 1);
}

static void unlink_plot(struct tfs_columns *c, struct plot *plot)
{
    *(plot->newer != NULL ? &plot->newer->older : &c->newest) = plot->older;
    *(plot->older != NULL ? &plot->older->newer : &c->oldest) = plot->newer;
    c->bytes -= plot->bytes;
    plot->held = false;
}

static void link_newest(struct tfs_columns *c, struct plot *plot)
{
    plot->newer = NULL;
    plot->older = c->newest;
    *(c->newest != NULL ? &c->newest->newer : &c->oldest) = plot;
    c->newest = plot;
    c->bytes += plot->bytes;
    plot->held = true;
}

static void entries_free(struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tfs_blob_unref(entries[i].blob);
        free(entries[i].face);
    }
    free(entries);
}

/* Only the range stays. */
static void let_go(struct tfs_columns *c, struct plot *plot)
{
    unlink_plot(c, plot);
    entries_free(plot->entries, plot->count);
    plot->entries = NULL;
    plot->count = plot->bytes = 0;
}

static void plot_free(struct tfs_columns *c, struct plot *plot)
{
    if (plot != NULL && plot->held)
        let_go(c, plot);
    free(plot);
}

static size_t plot_count(const struct tfs_columns *c)
{
    return c->plots == NULL ? 0 : tfs_picture_rows(&c->box) * c->plots_a_row;
}

static void plots_free(struct tfs_columns *c)
{
    for (size_t i = 0, count = plot_count(c); i < count; i++)
        plot_free(c, c->plots[i]);
    free(c->plots);
    c->plots = NULL;
}

static void evict(struct tfs_columns *c, uint64_t asked_before)
{
    while (c->bytes > c->limit && c->oldest != NULL && c->oldest->asked < asked_before)
        let_go(c, c->oldest);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void columns_release(struct tfs_shared_cache *cache)
{
    struct tfs_columns *c = (struct tfs_columns *)cache;

    plots_free(c);
    for (unsigned i = 0; i < PICTURES; i++)
        free(c->sums[i].sums);
    free(c->kept.samples);
    free(c->layers);
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

/* One row of chunks, or a part of it. */
struct view {
    struct tfs_pixel *pixels;
    size_t width;  /* pixels in a row */
    int32_t x;     /* of the first stack */
    bool north_up; /* rows of pixels are */
};

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

static void add_entry(const struct tfs_picture_box *box, const struct entry *entry,
                      const struct view *view)
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
static void add_plot(const struct tfs_picture_box *box, const struct plot *plot,
                     const struct view *view)
{
    for (size_t i = 0; i < plot->count; i++)
        if (!plot->entries[i].hidden)
            add_entry(box, &plot->entries[i], view);
}

/* ---- computing ------------------------------------------------------------------------------- */

/* A plot to be computed, and where it lies. */
struct task {
    struct plot *plot;
    struct site site;
};

struct computing {
    struct tfs_columns *columns;
    struct task *tasks;
    size_t count, unknown; /* tasks; entries */
    atomic_size_t next;
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
    bool covered[PLOT_WIDTH];   /* of each stack of the plot at hand: is there something opaque? */
    struct tfs_pixel *pixels;   /* of the plot at hand */
    struct tfs_column *columns; /* of the chunk at hand */
    struct batch batch;
    struct tfs_error err;
};

static int keep_columns(struct entry *entry, const struct tfs_column *columns, size_t count,
                        struct tfs_error *err)
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
static int compute_one(const struct worker *w, struct entry *entry, const struct tfs_chunk *chunk,
                       struct tfs_error *err)
{
    const struct tfs_columns *c = w->all->columns;
    const struct tfs_voxels *voxels = c->save->tree->voxels;
    const size_t count = (size_t)c->box.chunk.x * c->box.chunk.z;
    struct tfs_column *columns = w->columns;

    memset(columns, 0, count * sizeof(*columns));
    if (err->code == 0 && (chunk->flags & TFS_CHUNK_DAMAGED) == 0)
        voxels->columns(c->save, c->doc, chunk, columns, err);
    if (err->code == -EBADMSG || err->code == -EFBIG || err->code == -ENOTSUP) {
        tfs_error_reset(err);
        memset(columns, 0, count * sizeof(*columns));
    }
    return err->code < 0 ? err->code : keep_columns(entry, columns, count, err);
}

static int compute_batch(struct worker *w)
{
    const struct tfs_columns *c = w->all->columns;
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

static void batch_add(struct worker *w, struct entry *entry)
{
    const struct tfs_chunk *chunk = tfs_doc_find(w->all->columns->doc, entry->key);
    struct batch *batch = &w->batch;

    batch->entries[batch->count] = entry;
    batch->chunks[batch->count++] = *chunk;
    tfs_blob_ref(chunk->blob);
    tfs_blob_ref(chunk->extra);
}

static bool *covered(struct worker *w, const struct task *task, const struct entry *entry)
{
    return &w->covered[(int64_t)entry->key.x - task->site.first];
}

/* Entries of one layer of a plot, from entries[end - 1] down: what is covered, and what is not and
 * has to be looked into. Returns where they begin. */
static size_t choose(struct worker *w, const struct task *task, size_t end)
{
    struct entry *entries = task->plot->entries;
    const int32_t layer = entries[end - 1].key.y;

    w->batch.count = 0;
    while (end > 0 && entries[end - 1].key.y == layer && w->batch.count < BATCH_MAX) {
        struct entry *entry = &entries[--end];
        entry->hidden = *covered(w, task, entry);
        if (!entry->hidden && !entry->known)
            batch_add(w, entry);
    }
    return end;
}

/* A plot from the highest layer down: what is covered need not be looked into. */
static int compute_plot(struct worker *w, const struct task *task)
{
    struct entry *entries = task->plot->entries;

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

static void find_range(struct worker *w, const struct task *task)
{
    const struct tfs_picture_box *box = &w->all->columns->box;
    const struct view view = {w->pixels, stacks_of(task->site) * box->chunk.x, task->site.first,
                              false};
    const size_t count = view.width * box->chunk.z;
    struct range range = {UINT32_MAX, 0};

    memset(view.pixels, 0, count * sizeof(*view.pixels));
    add_plot(box, task->plot, &view);
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
    struct computing *all = w->all;
    const struct tfs_picture_box *box = &all->columns->box;
    const size_t stacks = (size_t)(box->sx / box->chunk.x), columns = box->chunk.x * box->chunk.z;
    size_t task;

    w->pixels = malloc((stacks < PLOT_WIDTH ? stacks : PLOT_WIDTH) * columns * sizeof(*w->pixels));
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
        if (workers[i].err.code != 0 && err->code == 0)
            *err = workers[i].err;
    }
    return err->code;
}

/* ---- what is in a plot ----------------------------------------------------------------------- */

/* Entries being listed. */
struct list {
    struct entry *entries;
    size_t count;
};

static int list_add(struct list *list, const struct tfs_chunk *chunk, struct tfs_error *err)
{
    struct entry *entries = tfs_array_grow(list->entries, list->count, sizeof(*entries));

    if (entries == NULL)
        return tfs_fail_memory(err);
    list->entries = entries;
    list->entries[list->count++] = (struct entry){.key = chunk->key,
                                                  .tag = chunk->tag,
                                                  .flags = chunk->flags,
                                                  .own = chunk->own,
                                                  .blob = tfs_blob_ref(chunk->blob)};
    return 0;
}

/* The document's chunks in a plot, in its order. */
static int list_chunks(const struct tfs_columns *c, struct site site, struct list *list,
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
static bool still_true(const struct entry *entry, const struct entry *now)
{
    return entry->tag == now->tag && entry->flags == now->flags &&
           (now->blob != NULL || entry->own == now->own) && tfs_blob_equal(entry->blob, now->blob);
}

/* Takes over from what was known before what is still true; both are in key order. Returns how many
 * are as they were. */
static size_t take_over(struct list *list, struct plot *plot)
{
    size_t old = 0, same = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct entry *entry = &list->entries[i];
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

static size_t weigh(const struct plot *plot)
{
    size_t bytes = plot->count * sizeof(*plot->entries);

    for (size_t i = 0; i < plot->count; i++)
        bytes += plot->entries[i].face != NULL ? plot->entries[i].face->size : 0;
    return bytes;
}

/* Lists what is in the plot; adds a task, unless it is as it was. */
static int prepare(struct computing *all, struct plot *plot, struct site site,
                   struct tfs_error *err)
{
    struct tfs_columns *c = all->columns;
    struct list list = {0};

    if (list_chunks(c, site, &list, err) < 0) {
        entries_free(list.entries, list.count);
        return err->code;
    }
    const size_t same = take_over(&list, plot);
    const bool unchanged =
        plot->held && plot->version != 0 && same == list.count && same == plot->count;
    if (plot->held)
        let_go(c, plot);
    plot->entries = list.entries;
    plot->count = list.count;
    plot->bytes = weigh(plot);
    plot->version = unchanged ? c->version : 0;
    for (size_t i = 0; i < plot->count; i++)
        all->unknown += !plot->entries[i].known;
    if (!unchanged)
        all->tasks[all->count++] = (struct task){plot, site};
    link_newest(c, plot);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_ready(const struct tfs_columns *c, const struct plot *plot)
{
    return plot != NULL && plot->held && plot->version == c->version;
}

/* The plot, made if nothing is known of it; NULL: no memory. */
static struct plot *plot_at(struct tfs_columns *c, size_t i)
{
    if (c->plots[i] == NULL)
        c->plots[i] = calloc(1, sizeof(*c->plots[i]));
    return c->plots[i];
}

/* The plots that show a row of the window: [*first, *end), none where it reaches out of the box. */
static void plots_of(const struct tfs_columns *c, uint32_t row, size_t *first, size_t *end)
{
    const struct tfs_picture_box *window = &c->window;
    const uint32_t rows = tfs_picture_rows(window);
    const int64_t z = (int64_t)window->low.z + (window->north_up ? rows - 1 - row : row);
    const int64_t origin = plot_number(c->box.low.x);
    int64_t left = plot_number(window->low.x) - origin,
            right = plot_number(high_x(window)) - origin;
    const size_t start = (size_t)(z - c->box.low.z) * c->plots_a_row;

    *first = *end = 0;
    left = left > 0 ? left : 0;
    right = right < (int64_t)c->plots_a_row ? right : (int64_t)c->plots_a_row - 1;
    if (z < c->box.low.z || z - c->box.low.z >= tfs_picture_rows(&c->box) || left > right)
        return;
    *first = start + (size_t)left;
    *end = start + (size_t)right + 1;
}

static int prepare_row(struct computing *all, uint32_t row, struct tfs_error *err)
{
    struct tfs_columns *c = all->columns;
    size_t i, end;

    for (plots_of(c, row, &i, &end); i < end; i++) {
        struct plot *plot = plot_at(c, i);
        if (plot == NULL)
            return tfs_fail_memory(err);
        if (is_ready(c, plot)) {
            unlink_plot(c, plot);
            link_newest(c, plot);
        } else if (prepare(all, plot, site_of(c, i), err) < 0) {
            return err->code;
        }
        plot->asked = c->clock;
    }
    return 0;
}

/* What was computed counts as memory, also after a failure; it is true only without one. */
static void settle(struct computing *all, bool good)
{
    struct tfs_columns *c = all->columns;

    for (size_t i = 0; i < all->count; i++) {
        struct plot *plot = all->tasks[i].plot;
        c->bytes -= plot->bytes;
        plot->bytes = weigh(plot);
        c->bytes += plot->bytes;
        plot->version = good ? c->version : 0;
    }
}

int tfs_columns_rows(struct tfs_columns *c, uint32_t first, uint32_t end, struct tfs_error *err)
{
    const size_t plots = (end - first) * c->plots_a_row;
    struct computing all = {.columns = c, .tasks = reallocarray(NULL, plots, sizeof(*all.tasks))};

    if (all.tasks == NULL)
        return tfs_fail_memory(err);
    c->clock++;
    for (uint32_t row = first; row < end && err->code == 0; row++)
        prepare_row(&all, row, err);
    if (err->code == 0) {
        evict(c, c->clock);
        if (all.count > 0)
            compute_all(&all, err);
    }
    settle(&all, err->code == 0);
    free(all.tasks);
    return err->code;
}

uint32_t tfs_columns_step(const struct tfs_columns *c)
{
    const size_t row = (size_t)c->window.sx * c->window.chunk.z * COLUMN_BYTES;
    const size_t rows = c->limit / row;

    return rows < 1                              ? 1
           : rows < tfs_picture_rows(&c->window) ? (uint32_t)rows
                                                 : tfs_picture_rows(&c->window);
}

void tfs_columns_strip(const struct tfs_columns *c, uint32_t row, struct tfs_pixel *pixels)
{
    const struct view view = {pixels, (size_t)c->window.sx, c->window.low.x, c->window.north_up};
    size_t i, end;

    memset(pixels, 0, view.width * c->box.chunk.z * sizeof(*pixels));
    for (plots_of(c, row, &i, &end); i < end; i++)
        add_plot(&c->box, c->plots[i], &view);
}

/* ---- heights --------------------------------------------------------------------------------- */

static bool has_range(const struct tfs_columns *c, uint32_t row)
{
    size_t i, end;

    for (plots_of(c, row, &i, &end); i < end; i++) {
        const struct plot *plot = c->plots[i];
        if (plot == NULL || plot->version != c->version)
            return false;
    }
    return true;
}

int tfs_columns_range(struct tfs_columns *c, uint32_t *low, uint32_t *high, struct tfs_error *err)
{
    const uint32_t rows = tfs_picture_rows(&c->window), step = tfs_columns_step(c);
    struct range range = {UINT32_MAX, 0};

    for (uint32_t row = 0, end; row < rows; row = end) {
        for (end = row; end < rows && end < row + step && !has_range(c, end);)
            end++;
        if (end > row && tfs_columns_rows(c, row, end, err) < 0)
            return err->code;
        end += end == row;
    }
    for (size_t i = 0; i < plot_count(c); i++) {
        const struct range of = c->plots[i]->range;
        range.low = of.low < range.low ? of.low : range.low;
        range.high = of.high > range.high ? of.high : range.high;
    }
    *low = range.low;
    *high = range.high;
    return 0;
}

/* ---- from document to document --------------------------------------------------------------- */

static int list_layers(struct tfs_columns *c, const struct tfs_doc *doc, struct tfs_error *err)
{
    c->layer_count = 0;
    free(c->layers);
    c->layers = NULL;
    for (size_t i = 0; i < doc->count && tfs_doc_at(doc, i)->key.group == 0;) {
        const int32_t y = tfs_doc_at(doc, i)->key.y;
        int32_t *layers = tfs_array_grow(c->layers, c->layer_count, sizeof(*layers));
        if (layers == NULL)
            return tfs_fail_memory(err);
        c->layers = layers;
        c->layers[c->layer_count++] = y;
        if (y == INT32_MAX)
            break;
        i = tfs_doc_lower_bound(doc, (struct tfs_key){0, INT32_MIN, y + 1, INT32_MIN});
    }
    return 0;
}

static bool same_place(const struct tfs_picture_box *a, const struct tfs_picture_box *b)
{
    return tfs_key_compare(a->low, b->low) == 0 && a->sx == b->sx && a->sy == b->sy &&
           a->sz == b->sz;
}

static bool same_chunks(const struct tfs_picture_box *a, const struct tfs_picture_box *b)
{
    return a->chunk.x == b->chunk.x && a->chunk.y == b->chunk.y && a->chunk.z == b->chunk.z;
}

/* Moves the plots to where they lie in a box; those outside go, and all where chunks have another
 * size. */
static int lay_out(struct tfs_columns *c, const struct tfs_picture_box *box, struct tfs_error *err)
{
    const int32_t first = plot_number(box->low.x);
    const size_t plots_a_row = (size_t)((int64_t)plot_number(high_x(box)) - first + 1);
    const uint32_t rows = tfs_picture_rows(box);
    const bool same_box = same_place(box, &c->box);
    struct plot **plots = calloc(rows * plots_a_row, sizeof(struct plot *));

    if (plots == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0, count = plot_count(c); i < count; i++) {
        const int64_t z = site_of(c, i).z - (int64_t)box->low.z;
        const int64_t x = (int64_t)plot_number(site_of(c, i).first) - first;
        if (!same_chunks(box, &c->box) || z < 0 || z >= rows || x < 0 || x >= (int64_t)plots_a_row)
            continue;
        plots[(size_t)z * plots_a_row + (size_t)x] = c->plots[i];
        /* Other stacks may lie in the box, and heights count from another bottom. */
        if (!same_box && c->plots[i] != NULL)
            c->plots[i]->version = 0;
        c->plots[i] = NULL;
    }
    plots_free(c);
    c->plots = plots;
    c->plots_a_row = plots_a_row;
    c->box = *box;
    return 0;
}

/* Plots are laid out over the whole document, or over what is asked for where that is too wide. */
static int set_document(struct tfs_columns *c, struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_picture_box *window, struct tfs_error *err)
{
    struct tfs_picture_box box = *window;

    c->save = save;
    c->doc = doc;
    c->window = *window;
    c->limit = save->options.memory > 0 ? (size_t)save->options.memory : MEMORY_USUAL;
    tfs_picture_box(save->tree->voxels, doc, &box);
    if (!tfs_picture_box_fits(&box)) {
        box.low = (struct tfs_key){0, window->low.x, box.low.y, window->low.z};
        box.sx = window->sx;
        box.sz = window->sz;
    }
    if (c->version == doc->version && same_place(&box, &c->box))
        return 0;
    c->version = 0;
    if (list_layers(c, doc, err) < 0 || lay_out(c, &box, err) < 0)
        return err->code;
    c->version = doc->version;
    return 0;
}

int tfs_columns_lock(struct tfs_save *save, const struct tfs_doc *doc,
                     const struct tfs_picture_box *box, struct tfs_columns **columns,
                     struct tfs_error *err)
{
    struct tfs_columns *c = columns_of(doc->facts);

    if (c == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_lock(&c->lock);
    if (set_document(c, save, doc, box, err) < 0) {
        pthread_mutex_unlock(&c->lock);
        return err->code;
    }
    *columns = c;
    return 0;
}

int tfs_columns_move(struct tfs_columns *c, const struct tfs_picture_box *box,
                     struct tfs_error *err)
{
    return set_document(c, c->save, c->doc, box, err);
}

struct tfs_kept_rows *tfs_columns_kept(struct tfs_columns *c)
{
    return &c->kept;
}

void tfs_columns_unlock(struct tfs_columns *columns)
{
    evict(columns, UINT64_MAX);
    pthread_mutex_unlock(&columns->lock);
}

struct tfs_block_sum *tfs_columns_sums(struct tfs_columns *c, unsigned picture, uint32_t count)
{
    struct sums *sums = &c->sums[picture];

    if (sums->version == c->version && sums->count == count &&
        tfs_key_compare(sums->low, c->window.low) == 0)
        return sums->sums;
    free(sums->sums);
    *sums = (struct sums){c->version, c->window.low, count, calloc(count, sizeof(*sums->sums))};
    sums->version = sums->sums == NULL ? 0 : c->version;
    return sums->sums;
}

unsigned tfs_picture_threads(const struct tfs_picture_box *box)
{
    size_t useful = (size_t)(box->sx * box->sz) / PIXELS_A_THREAD;
    const size_t rows = tfs_picture_rows(box);

    return thread_count(useful < rows ? useful : rows);
}
