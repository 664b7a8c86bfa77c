/*
 * A document -> plots of columns seen from above (plot.h), and those that are kept.
 *
 * Must not know games, nor pictures. A plot has stacks of chunks that lie beside each other, for a
 * container has what lies side by side in one place.
 *
 * What was found stays with the facts of the save, by coordinate, as long as the chunk keeps its
 * bytes and there is room: the plots that were not asked for longest are dropped first.
 */
#include "formats/picture/columns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/picture/plot.h"

#define PIXELS_A_THREAD 32768
#define FEW             100 /* one column of so many */
#define PICTURES        4
#define MEMORY_USUAL    ((size_t)8 << 20)
#define COLUMN_BYTES    4 /* about what a column takes, packed */

struct sums {
    uint64_t version; /* of the document */
    struct tfs_key low;
    uint32_t count;
    struct tfs_block_sum *sums;
};

/* Heights that few columns are below or above. */
struct stretch {
    uint64_t version; /* of the document */
    uint32_t low, high;
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
    struct tfs_plot **plots; /* row after row; NULL: nothing is known */
    size_t plots_a_row;
    struct tfs_plot *newest, *oldest;
    size_t bytes, limit;
    uint64_t clock;
    struct sums sums[PICTURES];
    struct stretch stretch;
    struct tfs_kept_rows kept;
};

/* ---- boxes ----------------------------------------------------------------------------------- */

static uint64_t side(int32_t low, int32_t high, uint32_t edge)
{
    return (uint64_t)((int64_t)high - low + 1) * edge;
}

bool tfs_picture_box(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                     struct tfs_picture_box *box)
{
    struct tfs_key low, high;

    if (!tfs_doc_bounds(doc, 0, &low, &high))
        return false;
    struct tfs_voxel_size chunk = tfs_cells_size(kind, doc);
    *box = (struct tfs_picture_box){
        .chunk = chunk,
        .low = low,
        .x = (int64_t)low.x * chunk.x,
        .y = (int64_t)low.y * chunk.y,
        .z = (int64_t)low.z * chunk.z,
        .sx = side(low.x, high.x, chunk.x),
        .sy = side(low.y, high.y, chunk.y),
        .sz = side(low.z, high.z, chunk.z),
        .north_up = (kind->flags & TFS_CELLS_NORTH_UP) != 0,
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
    int64_t rest = ((int64_t)x % TFS_PLOT_WIDTH + TFS_PLOT_WIDTH) % TFS_PLOT_WIDTH;

    return (int32_t)((x - rest) / TFS_PLOT_WIDTH);
}

/* The last stack of the box. */
static int32_t high_x(const struct tfs_picture_box *box)
{
    return (int32_t)(box->low.x + (int64_t)(box->sx / box->chunk.x) - 1);
}

static struct tfs_plot_site site_of(const struct tfs_columns *c, size_t plot)
{
    const int32_t high = high_x(&c->box);
    const int64_t number = plot_number(c->box.low.x) + (int64_t)(plot % c->plots_a_row);
    const int64_t first = number * TFS_PLOT_WIDTH, last = first + TFS_PLOT_WIDTH - 1;

    return (struct tfs_plot_site){
        .z = (int32_t)(c->box.low.z + (int64_t)(plot / c->plots_a_row)),
        .first = first > c->box.low.x ? (int32_t)first : c->box.low.x,
        .last = last < high ? (int32_t)last : high,
    };
}

static void unlink_plot(struct tfs_columns *c, struct tfs_plot *plot)
{
    *(plot->newer != NULL ? &plot->newer->older : &c->newest) = plot->older;
    *(plot->older != NULL ? &plot->older->newer : &c->oldest) = plot->newer;
    c->bytes -= plot->bytes;
    plot->held = false;
}

static void link_newest(struct tfs_columns *c, struct tfs_plot *plot)
{
    plot->newer = NULL;
    plot->older = c->newest;
    *(c->newest != NULL ? &c->newest->newer : &c->oldest) = plot;
    c->newest = plot;
    c->bytes += plot->bytes;
    plot->held = true;
}

/* Only the range stays. */
static void let_go(struct tfs_columns *c, struct tfs_plot *plot)
{
    unlink_plot(c, plot);
    tfs_plot_clear(plot);
}

static void plot_free(struct tfs_columns *c, struct tfs_plot *plot)
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

/* Lists what is in the plot; adds a task, unless it is as it was. */
static int prepare(struct tfs_columns *c, struct tfs_plot_work *all, struct tfs_plot *plot,
                   struct tfs_plot_site site, struct tfs_error *err)
{
    const bool held = plot->held;
    bool same = false;

    if (held)
        unlink_plot(c, plot);
    const int result = tfs_plot_list(all, plot, site, &same, err);
    if (held || result == 0)
        link_newest(c, plot);
    if (result < 0)
        return result;
    const bool unchanged = held && plot->version != 0 && same;
    plot->version = unchanged ? c->version : 0;
    for (size_t i = 0; i < plot->count; i++)
        all->unknown += !plot->entries[i].known;
    if (!unchanged)
        all->tasks[all->count++] = (struct tfs_plot_task){plot, site};
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_ready(const struct tfs_columns *c, const struct tfs_plot *plot)
{
    return plot != NULL && plot->held && plot->version == c->version;
}

/* The plot, made if nothing is known of it; NULL: no memory. */
static struct tfs_plot *plot_at(struct tfs_columns *c, size_t i)
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

static int prepare_row(struct tfs_columns *c, struct tfs_plot_work *all, uint32_t row,
                       struct tfs_error *err)
{
    size_t i, end;

    for (plots_of(c, row, &i, &end); i < end; i++) {
        struct tfs_plot *plot = plot_at(c, i);
        if (plot == NULL)
            return tfs_fail_memory(err);
        if (is_ready(c, plot)) {
            unlink_plot(c, plot);
            link_newest(c, plot);
        } else if (prepare(c, all, plot, site_of(c, i), err) < 0) {
            return err->code;
        }
        plot->asked = c->clock;
    }
    return 0;
}

/* What was computed counts as memory, also after a failure; it is true only without one. */
static void settle(struct tfs_columns *c, struct tfs_plot_work *all, bool good)
{
    for (size_t i = 0; i < all->count; i++) {
        struct tfs_plot *plot = all->tasks[i].plot;
        c->bytes -= plot->bytes;
        tfs_plot_weigh(plot);
        c->bytes += plot->bytes;
        plot->version = good ? c->version : 0;
    }
}

int tfs_columns_rows(struct tfs_columns *c, uint32_t first, uint32_t end, struct tfs_error *err)
{
    const size_t plots = (end - first) * c->plots_a_row;
    struct tfs_plot_work all = {.save = c->save,
                                .doc = c->doc,
                                .box = &c->box,
                                .layers = c->layers,
                                .layer_count = c->layer_count,
                                .tasks = reallocarray(NULL, plots, sizeof(*all.tasks))};

    if (all.tasks == NULL)
        return tfs_fail_memory(err);
    c->clock++;
    for (uint32_t row = first; row < end && err->code == 0; row++)
        prepare_row(c, &all, row, err);
    if (err->code == 0) {
        evict(c, c->clock);
        if (all.count > 0)
            tfs_plot_compute(&all, err);
    }
    settle(c, &all, err->code == 0);
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
    const struct tfs_plot_view view = {pixels, (size_t)c->window.sx, c->window.low.x,
                                       c->window.north_up};
    size_t i, end;

    memset(pixels, 0, view.width * c->box.chunk.z * sizeof(*pixels));
    for (plots_of(c, row, &i, &end); i < end; i++)
        tfs_plot_draw(&c->box, c->plots[i], &view);
}

/* ---- heights --------------------------------------------------------------------------------- */

static bool has_range(const struct tfs_columns *c, uint32_t row)
{
    size_t i, end;

    for (plots_of(c, row, &i, &end); i < end; i++) {
        const struct tfs_plot *plot = c->plots[i];
        if (plot == NULL || plot->version != c->version)
            return false;
    }
    return true;
}

int tfs_columns_range(struct tfs_columns *c, uint32_t *low, uint32_t *high, struct tfs_error *err)
{
    const uint32_t rows = tfs_picture_rows(&c->window), step = tfs_columns_step(c);
    struct tfs_plot_range range = {UINT32_MAX, 0};

    for (uint32_t row = 0, end; row < rows; row = end) {
        for (end = row; end < rows && end < row + step && !has_range(c, end);)
            end++;
        if (end > row && tfs_columns_rows(c, row, end, err) < 0)
            return err->code;
        end += end == row;
    }
    for (size_t i = 0; i < plot_count(c); i++) {
        const struct tfs_plot_range of = c->plots[i]->range;
        range.low = of.low < range.low ? of.low : range.low;
        range.high = of.high > range.high ? of.high : range.high;
    }
    *low = range.low;
    *high = range.high;
    return 0;
}

/* Counts the columns of each height. */
static int count_heights(struct tfs_columns *c, uint32_t *counts, struct tfs_error *err)
{
    const uint32_t rows = tfs_picture_rows(&c->window), step = tfs_columns_step(c);
    const size_t size = (size_t)c->window.sx * c->window.chunk.z;
    struct tfs_pixel *pixels = calloc(size, sizeof(*pixels));

    if (pixels == NULL)
        return tfs_fail_memory(err);
    for (uint32_t row = 0; row < rows && err->code == 0; row++) {
        if (row % step == 0 &&
            tfs_columns_rows(c, row, rows - row < step ? rows : row + step, err) < 0)
            break;
        tfs_columns_strip(c, row, pixels);
        for (size_t i = 0; i < size; i++)
            counts[pixels[i].height]++;
    }
    free(pixels);
    return err->code;
}

/* The heights that at most `few` columns are below, and above. */
static struct stretch stretch_of(const uint32_t *counts, uint64_t few)
{
    struct stretch s = {.low = 1, .high = TFS_PICTURE_HEIGHT_MAX};
    uint64_t below = counts[s.low], above = counts[s.high];

    while (s.low < TFS_PICTURE_HEIGHT_MAX && below <= few)
        below += counts[++s.low];
    while (s.high > 1 && above <= few)
        above += counts[--s.high];
    return s;
}

int tfs_columns_stretch(struct tfs_columns *c, uint32_t *low, uint32_t *high, struct tfs_error *err)
{
    if (c->stretch.version != c->version) {
        uint32_t *counts = calloc(TFS_PICTURE_HEIGHT_MAX + 1, sizeof(*counts));
        if (counts == NULL)
            return tfs_fail_memory(err);
        if (count_heights(c, counts, err) == 0) {
            c->stretch = stretch_of(counts, (c->window.sx * c->window.sz - counts[0]) / FEW);
            c->stretch.version = c->version;
        }
        free(counts);
    }
    *low = c->stretch.low;
    *high = c->stretch.high;
    return err->code;
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
    struct tfs_plot **plots = calloc(rows * plots_a_row, sizeof(struct tfs_plot *));

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
    tfs_picture_box(save->tree->cells, doc, &box);
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

    return tfs_plot_threads(useful < rows ? useful : rows);
}
