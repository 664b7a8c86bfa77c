/*
 * Chunks above one another -> what is seen of them from above, and what of that is kept.
 *
 * Must not know games, nor pictures. Of a stack only the chunks down to where nothing can be seen
 * through are looked into: most of a world lies below.
 */
#include "formats/views/pictures/columns.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map.h"
#include "formats/save/document_pages.h"

#define PIXELS_A_THREAD 32768
#define BATCH           16                 /* chunks that are fetched in one go */
#define KEPT_MAX        ((size_t)32 << 20) /* bytes */

/* In tfs_strip.open. */
#define KNOWN  UINT32_MAX  /* it was kept */
#define UNSEEN (KNOWN - 1) /* nothing was looked into yet; `seen` says nothing */

struct tfs_columns {
    pthread_mutex_t lock; /* of one picture at a time */
    struct tfs_save *save;
    const struct tfs_doc *doc;  /* of who has locked it */
    struct tfs_doc *last;       /* what stacks are those of: a copy, which nobody edits */
    uint64_t version;           /* of the document that it is a copy of */
    struct tfs_picture_box box; /* of that document */
    pthread_mutex_t stacks_lock;
    struct tfs_map stacks; /* of the columns of each that is known */
    size_t bytes;
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
    const struct tfs_voxel_size chunk = tfs_cells_size(kind, doc);
    if (side(low.y, high.y, chunk.y) > TFS_PICTURE_HEIGHT_MAX || chunk.x > TFS_PNG_SIDE_MAX ||
        chunk.z > TFS_PNG_SIDE_MAX)
        return false;
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
    return true;
}

bool tfs_picture_box_fits(const struct tfs_picture_box *box)
{
    return box->sx <= TFS_PNG_SIDE_MAX && box->sz <= TFS_PNG_SIDE_MAX;
}

void tfs_picture_box_move(struct tfs_picture_box *box, int32_t x, int32_t z, uint64_t columns,
                          uint64_t rows)
{
    box->low.x = x;
    box->low.z = z;
    box->x = (int64_t)x * box->chunk.x;
    box->z = (int64_t)z * box->chunk.z;
    box->sx = columns * box->chunk.x;
    box->sz = rows * box->chunk.z;
}

/* ---- stacks that are kept -------------------------------------------------------------------- */

static size_t area_of(const struct tfs_picture_box *box)
{
    return (size_t)box->chunk.x * box->chunk.z;
}

/* 0, by which nothing can be kept, at the end of the world. */
static uint64_t place_of(int32_t x, int32_t z)
{
    return (uint64_t)((uint32_t)x ^ 1U << 31) << 32 | (uint32_t)z;
}

static void forget_stack(struct tfs_columns *c, uint64_t place)
{
    struct tfs_pixel *pixels = place == 0 ? NULL : tfs_map_remove(&c->stacks, place);

    if (pixels == NULL)
        return;
    c->bytes -= area_of(&c->box) * sizeof(*pixels);
    free(pixels);
}

static int forget_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct tfs_key key = (before != NULL ? before : after)->key;

    if (key.group == 0)
        forget_stack(arg, place_of(key.x, key.z));
    return 0;
}

static void forget_all(struct tfs_columns *c)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&c->stacks, &at, &cell);)
        free(cell.value);
    tfs_map_release(&c->stacks);
    c->stacks = (struct tfs_map){0};
    c->bytes = 0;
    c->version = 0;
    tfs_doc_unref(c->last);
    c->last = NULL;
}

/* Chunks of another size, or heights from another bottom, are other columns. */
static bool same_columns(const struct tfs_picture_box *a, const struct tfs_picture_box *b)
{
    return a->chunk.x == b->chunk.x && a->chunk.y == b->chunk.y && a->chunk.z == b->chunk.z &&
           a->low.y == b->low.y;
}

/* Forgets what is not true of the document. */
static int follow(struct tfs_columns *c, const struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_picture_box box = {.sx = 0};
    struct tfs_doc *copy = NULL;

    if (c->version == doc->version)
        return 0;
    if (tfs_doc_clone(doc, &copy, err) < 0)
        return err->code;
    tfs_picture_box(c->save->tree->cells, doc, &box);
    if (c->last == NULL || !same_columns(&box, &c->box))
        forget_all(c);
    else
        tfs_doc_diff(c->last, doc, forget_chunk, c);
    tfs_doc_unref(c->last);
    c->last = copy;
    c->version = doc->version;
    c->box = box;
    return 0;
}

struct tfs_columns *tfs_columns_create(struct tfs_save *save)
{
    struct tfs_columns *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    made->save = save;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->stacks_lock, NULL);
    return made;
}

int tfs_columns_lock(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_columns **columns,
                     struct tfs_error *err)
{
    struct tfs_columns *c = save->columns;

    pthread_mutex_lock(&c->lock);
    c->doc = doc;
    if (follow(c, doc, err) < 0) {
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

void tfs_columns_clear(struct tfs_save *save)
{
    struct tfs_columns *c = save->columns;

    pthread_mutex_lock(&c->lock);
    forget_all(c);
    pthread_mutex_unlock(&c->lock);
}

void tfs_columns_free(struct tfs_columns *c)
{
    if (c == NULL)
        return;
    forget_all(c);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->stacks_lock);
    free(c);
}

/* ---- one column ------------------------------------------------------------------------------ */

#define WATER_SHALLOW 0x4f93c4U
#define WATER_DEEP    0x1d4478U
#define WATER_DEPTH   28 /* from here on it does not get darker */

/* What is seen of a column so far, from above. */
struct tfs_seen {
    uint32_t colour, bed;
    uint32_t below; /* where water may go on, from the bottom of the box; 0: it does not */
    uint16_t height, water;
};

/* Adds what a chunk shows whose bottom is at `base`. Water down to there goes on in what is right
 * below. True: nothing is seen of what lies below. */
static inline bool see(struct tfs_seen *seen, const struct tfs_column *column, uint32_t base)
{
    const uint16_t height = (uint16_t)(base + column->top);

    if (seen->height == 0)
        *seen = (struct tfs_seen){column->colour, column->bed, 0, height, column->water};
    else if (height != seen->below)
        return true;
    else {
        seen->water = (uint16_t)(seen->water + column->water);
        seen->bed = column->water > 0 ? column->bed : column->colour;
    }
    seen->below = column->water == column->top ? base : 0;
    return seen->below == 0;
}

/* `part` of 256 of b, the rest a. */
static uint32_t mix(uint32_t a, uint32_t b, uint32_t part)
{
    uint32_t mixed = 0;

    for (unsigned shift = 0; shift < 24; shift += 8) {
        uint32_t from = a >> shift & 0xff, to = b >> shift & 0xff;
        mixed |= ((from * (256 - part) + to * part) >> 8) << shift;
    }
    return mixed;
}

/* Water lets its bed shine through, and darkens with its depth. */
static uint32_t water_colour(const struct tfs_seen *seen)
{
    const uint32_t depth = seen->water < WATER_DEPTH ? seen->water : WATER_DEPTH;
    const uint32_t water = mix(WATER_SHALLOW, WATER_DEEP, depth * 256 / WATER_DEPTH);
    const uint32_t cover = 144 + depth * 8 < 250 ? 144 + depth * 8 : 250;

    return seen->bed == TFS_COLOUR_NONE ? water : mix(seen->bed, water, cover);
}

static struct tfs_pixel pixel_of(const struct tfs_seen *seen)
{
    const uint32_t colour = seen->water > 0 ? water_colour(seen) : seen->colour;

    return (struct tfs_pixel){
        .height = seen->height,
        .water = seen->water > 0,
        .colour = {(uint8_t)(colour >> 16), (uint8_t)(colour >> 8), (uint8_t)colour},
    };
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void add_chunk(struct tfs_strip *s, struct tfs_key key)
{
    const struct tfs_picture_box *box = &s->columns->box;
    const uint32_t base = (uint32_t)((int64_t)key.y - box->low.y) * box->chunk.y;
    const size_t area = area_of(box), stack = (size_t)((int64_t)key.x - s->box.low.x);
    struct tfs_seen *seen = s->seen + stack * area;

    if (s->open[stack] == UNSEEN) {
        memset(seen, 0, area * sizeof(*seen));
        s->open[stack] = (uint32_t)area;
    }
    for (size_t i = 0; i < area; i++)
        if (s->columns_of_chunk[i].top > 0 && (seen[i].height == 0 || seen[i].below > 0) &&
            see(&seen[i], &s->columns_of_chunk[i], base)) {
            seen[i].below = 0;
            s->open[stack]--;
        }
}

/* A tfs_fetched_fn. */
static void look_into(void *strip, const struct tfs_chunk *chunk, struct tfs_error *err)
{
    struct tfs_strip *s = strip;
    const struct tfs_columns *c = s->columns;
    const size_t size = area_of(&s->box) * sizeof(*s->columns_of_chunk);

    memset(s->columns_of_chunk, 0, size);
    if (err->code == 0 && (chunk->flags & TFS_CHUNK_DAMAGED) == 0)
        tfs_columns_of(c->save, c->doc, chunk, s->columns_of_chunk, err);
    if (tfs_is_damage(err->code)) {
        tfs_error_reset(err);
        memset(s->columns_of_chunk, 0, size);
    }
    if (err->code == 0)
        add_chunk(s, chunk->key);
}

/* ---- strips ---------------------------------------------------------------------------------- */

static size_t stacks_of(const struct tfs_picture_box *box)
{
    return (size_t)(box->sx / box->chunk.x);
}

static uint32_t strip_count(const struct tfs_picture_box *box)
{
    return (uint32_t)(box->sz / box->chunk.z);
}

/* A save of chunks that lie far apart has thousands of layers, most of them with nothing in a
 * tile. */
static int find_layers(struct tfs_strip *s, struct tfs_error *err)
{
    const struct tfs_doc *doc = s->columns->doc;
    const int64_t last = (int64_t)s->box.low.z + strip_count(&s->box) - 1;
    struct tfs_key layer = {.x = INT32_MIN, .z = INT32_MIN}, row = s->box.low;

    for (size_t end = tfs_doc_group_count(doc, 0); end > 0; end = tfs_doc_lower_bound(doc, layer)) {
        row.y = layer.y = tfs_doc_at(doc, end - 1)->key.y;
        const size_t first = tfs_doc_lower_bound(doc, row);
        if (first == end || tfs_doc_at(doc, first)->key.z > last)
            continue;
        int32_t *layers = tfs_array_grow(s->layers, s->layer_count, sizeof(*layers));
        if (layers == NULL)
            return tfs_fail_memory(err);
        s->layers = layers;
        s->layers[s->layer_count++] = layer.y;
    }
    return 0;
}

int tfs_strip_init(struct tfs_strip *s, struct tfs_columns *columns,
                   const struct tfs_picture_box *box, struct tfs_error *err)
{
    const size_t count = (size_t)box->sx * box->chunk.z;

    *s = (struct tfs_strip){.columns = columns, .box = *box};
    s->above = malloc((count + (size_t)box->sx) * sizeof(*s->above));
    s->seen = malloc(count * sizeof(*s->seen));
    s->open = malloc(stacks_of(box) * sizeof(*s->open));
    s->columns_of_chunk = malloc(area_of(box) * sizeof(*s->columns_of_chunk));
    if (s->above == NULL || s->seen == NULL || s->open == NULL || s->columns_of_chunk == NULL)
        return tfs_fail_memory(err);
    s->pixels = s->above + box->sx;
    return find_layers(s, err);
}

void tfs_strip_release(struct tfs_strip *s)
{
    free(s->above);
    free(s->seen);
    free(s->open);
    free(s->columns_of_chunk);
    free(s->layers);
    *s = (struct tfs_strip){.columns = NULL};
}

/* Copies the columns of a stack into the rows of pixels; NULL: there is nothing. */
static void show_stack(struct tfs_strip *s, size_t stack, const struct tfs_pixel *pixels)
{
    const struct tfs_voxel_size chunk = s->box.chunk;

    for (uint32_t z = 0; z < chunk.z; z++) {
        const uint32_t row = s->box.north_up ? chunk.z - 1 - z : z;
        struct tfs_pixel *out = s->pixels + row * s->box.sx + stack * chunk.x;
        if (pixels == NULL)
            memset(out, 0, chunk.x * sizeof(*out));
        else
            memcpy(out, pixels + (size_t)z * chunk.x, chunk.x * sizeof(*out));
    }
}

static int32_t x_of(const struct tfs_strip *s, size_t stack)
{
    return (int32_t)((int64_t)s->box.low.x + (int64_t)stack);
}

/* Shows what is known. Returns how many stacks are not. */
static size_t show_known(struct tfs_strip *s, int32_t z)
{
    struct tfs_columns *c = s->columns;
    size_t unknown = 0;

    pthread_mutex_lock(&c->stacks_lock);
    for (size_t i = 0; i < stacks_of(&s->box); i++) {
        const uint64_t place = place_of(x_of(s, i), z);
        const struct tfs_pixel *pixels = place == 0 ? NULL : tfs_map_find(&c->stacks, place);
        if (pixels != NULL)
            show_stack(s, i, pixels);
        s->open[i] = pixels != NULL ? KNOWN : UNSEEN;
        unknown += pixels == NULL;
    }
    pthread_mutex_unlock(&c->stacks_lock);
    return unknown;
}

/* The chunks of one layer that something may be seen of. */
static int look_at_layer(struct tfs_strip *s, int32_t y, int32_t z, struct tfs_error *err)
{
    const struct tfs_doc *doc = s->columns->doc;
    const struct tfs_key first = {0, s->box.low.x, y, z};
    const int32_t last = x_of(s, stacks_of(&s->box) - 1);
    struct tfs_chunk batch[BATCH];
    size_t count = 0;

    for (size_t i = tfs_doc_lower_bound(doc, first); i < doc->count && err->code == 0; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        if (chunk->key.group != 0 || chunk->key.y != y || chunk->key.z != z || chunk->key.x > last)
            break;
        const uint32_t open = s->open[(int64_t)chunk->key.x - s->box.low.x];
        if (open == 0 || open == KNOWN)
            continue;
        batch[count++] = *chunk;
        tfs_chunk_ref(chunk);
        if (count == BATCH) {
            tfs_chunks_each(s->columns->save, batch, count, look_into, s, err);
            count = 0;
        }
    }
    return tfs_chunks_each(s->columns->save, batch, count, look_into, s, err);
}

static int look_down(struct tfs_strip *s, int32_t z, struct tfs_error *err)
{
    for (size_t i = 0; i < s->layer_count && err->code == 0; i++)
        look_at_layer(s, s->layers[i], z, err);
    return err->code;
}

/* Takes the memory of the columns. Where there is no room they are not kept. */
static void keep_stack(struct tfs_columns *c, uint64_t place, struct tfs_pixel *pixels)
{
    const size_t size = area_of(&c->box) * sizeof(*pixels);

    pthread_mutex_lock(&c->stacks_lock);
    if (place != 0 && c->bytes + size <= KEPT_MAX && tfs_map_find(&c->stacks, place) == NULL &&
        tfs_map_set(&c->stacks, place, pixels) == 0) {
        c->bytes += size;
        pixels = NULL;
    }
    pthread_mutex_unlock(&c->stacks_lock);
    free(pixels);
}

/* Shows a stack that was not known, and keeps it if there is a chunk in it. */
static int show_seen(struct tfs_strip *s, size_t stack, int32_t z, struct tfs_error *err)
{
    const size_t area = area_of(&s->box);
    const struct tfs_seen *seen = s->seen + stack * area;
    struct tfs_pixel *pixels = NULL;

    if (s->open[stack] != UNSEEN) {
        pixels = malloc(area * sizeof(*pixels));
        if (pixels == NULL)
            return tfs_fail_memory(err);
        for (size_t i = 0; i < area; i++)
            pixels[i] = pixel_of(&seen[i]);
    }
    show_stack(s, stack, pixels);
    if (pixels != NULL)
        keep_stack(s->columns, place_of(x_of(s, stack), z), pixels);
    return 0;
}

int tfs_strip_make(struct tfs_strip *s, uint32_t number, struct tfs_error *err)
{
    const uint32_t row = s->box.north_up ? strip_count(&s->box) - 1 - number : number;
    const int32_t z = (int32_t)((int64_t)s->box.low.z + row);

    if (show_known(s, z) == 0)
        return 0;
    look_down(s, z, err);
    for (size_t i = 0; i < stacks_of(&s->box) && err->code == 0; i++)
        if (s->open[i] != KNOWN)
            show_seen(s, i, z, err);
    return err->code;
}

/* ---- all strips ------------------------------------------------------------------------------ */

unsigned tfs_strip_threads(const struct tfs_picture_box *box)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = box->sx * box->sz / PIXELS_A_THREAD;

    threads = threads < strip_count(box) ? threads : strip_count(box);
    threads = threads < TFS_PNG_THREADS_MAX ? threads : TFS_PNG_THREADS_MAX;
    threads = processors < (long)threads ? (uint64_t)processors : threads;
    return threads < 1 ? 1 : (unsigned)threads;
}

struct walk {
    struct tfs_columns *columns;
    const struct tfs_picture_box *box;
    tfs_strip_fn each;
    void *arg;
    atomic_uint next;
    pthread_mutex_t lock; /* of `each`, and of what follows */
    struct tfs_error *err;
};

static void *walk_strips(void *arg)
{
    struct walk *w = arg;
    const uint32_t count = strip_count(w->box);
    struct tfs_error err = {0};
    struct tfs_strip strip;
    uint32_t number;

    tfs_strip_init(&strip, w->columns, w->box, &err);
    while ((number = atomic_fetch_add(&w->next, 1)) < count) {
        if (err.code == 0)
            tfs_strip_make(&strip, number, &err);
        pthread_mutex_lock(&w->lock);
        if (err.code == 0)
            w->each(w->arg, number, strip.pixels);
        else if (w->err->code == 0)
            *w->err = err;
        pthread_mutex_unlock(&w->lock);
    }
    tfs_strip_release(&strip);
    return NULL;
}

/* A thread that cannot be started is one less. */
int tfs_strips_each(struct tfs_columns *columns, const struct tfs_picture_box *box,
                    tfs_strip_fn each, void *arg, struct tfs_error *err)
{
    struct walk walk = {.columns = columns, .box = box, .each = each, .arg = arg, .err = err};
    const unsigned most = tfs_strip_threads(box) - 1;
    pthread_t threads[TFS_PNG_THREADS_MAX];
    unsigned started = 0;

    pthread_mutex_init(&walk.lock, NULL);
    while (started < most && pthread_create(&threads[started], NULL, walk_strips, &walk) == 0)
        started++;
    walk_strips(&walk);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    pthread_mutex_destroy(&walk.lock);
    return err->code;
}
