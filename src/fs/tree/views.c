/*
 * Stamps, times, sizes and rendered bytes: see views.h.
 */
#include "fs/tree/views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/refs.h"

#define SIZES_BYTES (TFS_SIZES * sizeof(struct tfs_size))

/* When a file's content changed, if it did since the save was read, and what utimens said. */
struct change {
    uint64_t stamp; /* grows with every change */
    bool met;       /* as of tfs_views_meet */
    struct tfs_times times;
};

/* ---- the texts that were asked for last ------------------------------------------------------ */

/* Of a file as of a stamp, so that one that is stale is never found. */
struct rendered {
    atomic_uint refs;
    uint64_t id, stamp;
    struct tfs_blob *blob;
};

static bool is_rendered(const void *object, const void *wanted)
{
    const struct rendered *a = object, *b = wanted;

    return a->id == b->id && a->stamp == b->stamp;
}

static size_t weigh_rendered(const void *object)
{
    return ((const struct rendered *)object)->blob->size;
}

static void ref_rendered(void *object)
{
    tfs_refs_add(&((struct rendered *)object)->refs);
}

static void unref_rendered(void *object)
{
    struct rendered *rendered = object;

    if (!tfs_refs_drop(&rendered->refs))
        return;
    tfs_blob_unref(rendered->blob);
    free(rendered);
}

static const struct tfs_recent_kind rendered_kind = {is_rendered, weigh_rendered, ref_rendered,
                                                     unref_rendered};

/* Without memory it is rendered again. */
static void remember_text(struct tfs_views *views, const struct tfs_view *view,
                          struct tfs_blob *blob)
{
    struct rendered *rendered = malloc(sizeof(*rendered));

    if (rendered == NULL)
        return;
    atomic_init(&rendered->refs, 1);
    rendered->id = view->id;
    rendered->stamp = view->stamp;
    rendered->blob = tfs_blob_ref(blob);
    tfs_recent_add(&views->texts, rendered);
    unref_rendered(rendered);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Memory that the kernel clears page by page at first use; calloc could clear all of it at once. */
static struct tfs_size *map_sizes(void)
{
    void *sizes =
        mmap(NULL, SIZES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return sizes != MAP_FAILED ? sizes : NULL;
}

void tfs_views_init(struct tfs_views *views, size_t cache_limit, size_t changes_limit)
{
    views->sizes = map_sizes();
    pthread_mutex_init(&views->lock, NULL);
    views->changes_limit = changes_limit != 0 ? changes_limit : TFS_CHANGES_MAX;
    tfs_recent_init(&views->texts, &rendered_kind, cache_limit);
}

int tfs_views_set_base(struct tfs_views *views, uint16_t store, struct timespec time)
{
    if (store >= views->base_count) {
        size_t count = (size_t)store + 1;
        struct tfs_base *more = realloc(views->bases, count * sizeof(*more));
        if (more == NULL)
            return -ENOMEM;
        for (size_t i = views->base_count; i < count; i++)
            more[i] = (struct tfs_base){.time = time};
        views->bases = more;
        views->base_count = count;
    }
    views->bases[store].time = time;
    return 0;
}

static void free_changes(struct tfs_views *views)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&views->changes, &at, &cell);)
        free(cell.value);
    tfs_map_release(&views->changes);
}

void tfs_views_release(struct tfs_views *views)
{
    free_changes(views);
    tfs_recent_release(&views->texts);
    if (views->sizes != NULL)
        munmap(views->sizes, SIZES_BYTES);
    for (size_t i = 0; i < views->base_count; i++)
        free(views->bases[i].chunks);
    free(views->bases);
    pthread_mutex_destroy(&views->lock);
}

/* ---- times; all of these under the lock ------------------------------------------------------ */

static struct timespec now_later(struct tfs_views *views)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec < views->last_time.tv_sec ||
        (now.tv_sec == views->last_time.tv_sec && now.tv_nsec <= views->last_time.tv_nsec)) {
        now = views->last_time;
        now.tv_nsec++;
        if (now.tv_nsec == 1000000000L) {
            now.tv_sec++;
            now.tv_nsec = 0;
        }
    }
    views->last_time = now;
    return now;
}

/* Forgets single changes: all files count as changed now. Times that utimens set are lost, and
 * files are read again; nothing stale is ever shown. */
static void forget_changes(struct tfs_views *views)
{
    const struct timespec now = now_later(views);

    free_changes(views);
    views->base_stamp = ++views->stamp;
    for (size_t i = 0; i < views->base_count; i++) {
        struct tfs_base *base = &views->bases[i];
        base->time = now;
        for (size_t slot = 0; slot < base->chunk_count; slot++)
            base->chunks[slot].mtime = base->chunks[slot].ctime = now;
    }
}

/* NULL: nothing of its own is known of the chunk. */
static const struct tfs_chunk_times *chunk_times(const struct tfs_views *views,
                                                 const struct tfs_node *node)
{
    const struct tfs_base *base = &views->bases[node->store];

    return node->slot < base->chunk_count && base->chunks[node->slot].known
               ? &base->chunks[node->slot]
               : NULL;
}

static struct tfs_times base_times(const struct tfs_views *views, uint64_t id)
{
    const struct tfs_chunk_times *chunk = NULL;
    const struct timespec base = views->bases[tfs_id_store(id)].time;
    struct tfs_node node;

    if (tfs_node_of_id(id, &node) && node.scope == TFS_SCOPE_CHUNK && node.file >= 0)
        chunk = chunk_times(views, &node);
    if (chunk != NULL)
        return (struct tfs_times){base, chunk->mtime, chunk->ctime};
    return (struct tfs_times){base, base, base};
}

/* The change of a file, made if there is none; NULL without memory. A full table is forgotten
 * first. */
static struct change *change_of(struct tfs_views *views, uint64_t id)
{
    struct change *change = tfs_map_find(&views->changes, id);

    if (change != NULL)
        return change;
    if (views->changes.count >= views->changes_limit)
        forget_changes(views);
    change = calloc(1, sizeof(*change));
    if (change == NULL)
        return NULL;
    change->stamp = views->base_stamp;
    change->times = base_times(views, id);
    if (tfs_map_set(&views->changes, id, change) < 0) {
        free(change);
        return NULL;
    }
    return change;
}

static uint64_t stamp_of(const struct tfs_views *views, uint64_t id)
{
    const struct change *change = tfs_map_find(&views->changes, id);

    return change != NULL ? change->stamp : views->base_stamp;
}

/* ---- changes --------------------------------------------------------------------------------- */

uint64_t tfs_views_stamp(struct tfs_views *views, uint64_t id)
{
    pthread_mutex_lock(&views->lock);
    uint64_t stamp = stamp_of(views, id);
    pthread_mutex_unlock(&views->lock);
    return stamp;
}

uint64_t tfs_views_last_stamp(struct tfs_views *views)
{
    pthread_mutex_lock(&views->lock);
    const uint64_t stamp = views->stamp;
    pthread_mutex_unlock(&views->lock);
    return stamp;
}

static void changed(struct tfs_views *views, uint64_t id, bool content)
{
    pthread_mutex_lock(&views->lock);
    struct change *change = change_of(views, id);
    if (change != NULL) {
        change->stamp = ++views->stamp;
        if (content)
            change->times.mtime = change->times.ctime = now_later(views);
    } else {
        forget_changes(views);
    }
    pthread_mutex_unlock(&views->lock);
}

bool tfs_views_bump_all(struct tfs_views *views, size_t files)
{
    pthread_mutex_lock(&views->lock);
    const bool many = files > views->changes_limit;
    if (many)
        forget_changes(views);
    pthread_mutex_unlock(&views->lock);
    return many;
}

void tfs_views_bump(struct tfs_views *views, uint64_t id)
{
    changed(views, id, true);
}

void tfs_views_restamp(struct tfs_views *views, uint64_t id)
{
    changed(views, id, false);
}

struct timespec tfs_views_now(struct tfs_views *views)
{
    pthread_mutex_lock(&views->lock);
    struct timespec now = now_later(views);
    pthread_mutex_unlock(&views->lock);
    return now;
}

void tfs_views_times(struct tfs_views *views, uint64_t id, struct tfs_times *times)
{
    pthread_mutex_lock(&views->lock);
    const struct change *change = tfs_map_find(&views->changes, id);
    *times = change != NULL ? change->times : base_times(views, id);
    pthread_mutex_unlock(&views->lock);
}

int tfs_views_set_times(struct tfs_views *views, uint64_t id, const struct timespec *atime,
                        const struct timespec *mtime)
{
    pthread_mutex_lock(&views->lock);
    struct change *change = change_of(views, id);
    if (change != NULL) {
        change->times.ctime = now_later(views);
        if (atime != NULL)
            change->times.atime = *atime;
        if (mtime != NULL)
            change->times.mtime = *mtime;
    }
    pthread_mutex_unlock(&views->lock);
    return change != NULL ? 0 : -ENOMEM;
}

void tfs_views_meet(struct tfs_views *views, uint64_t id)
{
    pthread_mutex_lock(&views->lock);
    struct change *change = change_of(views, id);
    if (change != NULL)
        change->met = true;
    pthread_mutex_unlock(&views->lock);
}

bool tfs_views_have_met(struct tfs_views *views, uint64_t id)
{
    pthread_mutex_lock(&views->lock);
    const struct change *change = tfs_map_find(&views->changes, id);
    const bool met = change != NULL && change->met;
    pthread_mutex_unlock(&views->lock);
    return met;
}

/* ---- times of chunks ------------------------------------------------------------------------- */

void tfs_views_set_chunk(struct tfs_views *views, const struct tfs_node *chunk,
                         const struct timespec *mtime, const struct timespec *ctime)
{
    pthread_mutex_lock(&views->lock);
    struct tfs_base *base = &views->bases[chunk->store];
    if (chunk->slot >= base->chunk_count) {
        size_t count = 2 * (size_t)chunk->slot + 64;
        struct tfs_chunk_times *more = realloc(base->chunks, count * sizeof(*more));
        if (more != NULL) {
            memset(more + base->chunk_count, 0, (count - base->chunk_count) * sizeof(*more));
            base->chunks = more;
            base->chunk_count = count;
        }
    }
    if (chunk->slot < base->chunk_count)
        base->chunks[chunk->slot] = (struct tfs_chunk_times){
            mtime != NULL ? *mtime : base->time, ctime != NULL ? *ctime : base->time, true};
    pthread_mutex_unlock(&views->lock);
}

bool tfs_views_has_chunk(struct tfs_views *views, const struct tfs_node *chunk)
{
    pthread_mutex_lock(&views->lock);
    bool has = chunk_times(views, chunk) != NULL;
    pthread_mutex_unlock(&views->lock);
    return has;
}

bool tfs_views_latest(struct tfs_views *views, const struct tfs_node *chunk, unsigned files,
                      struct tfs_times *times)
{
    pthread_mutex_lock(&views->lock);
    bool known = chunk_times(views, chunk) != NULL;
    for (unsigned i = 0; i < files && known; i++) {
        const struct tfs_node file = tfs_node_sibling_file(chunk, i, 0);
        const uint64_t id = tfs_node_id(&file);
        const struct change *change = tfs_map_find(&views->changes, id);
        const struct tfs_times of = change != NULL ? change->times : base_times(views, id);
        if (i == 0 || tfs_is_later(of.ctime, times->ctime))
            *times = of;
    }
    pthread_mutex_unlock(&views->lock);
    return known;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Files of one chunk get places side by side, those of the next chunk the next ones. NULL: there is
 * no table. */
static struct tfs_size *size_place(struct tfs_views *views, const struct tfs_view *view)
{
    if (views->sizes == NULL)
        return NULL;
    uint64_t number = (view->id >> 16) * view->save->tree->chunk.count + (view->id & 0xffff);

    return &views->sizes[number % TFS_SIZES];
}

/* Remembers size and bytes, unless the file changed meanwhile. */
static void remember(struct tfs_views *views, const struct tfs_view *view, uint64_t size,
                     struct tfs_blob *blob)
{
    pthread_mutex_lock(&views->lock);
    if (stamp_of(views, view->id) == view->stamp) {
        struct tfs_size *place = size_place(views, view);
        if (place != NULL)
            *place = (struct tfs_size){view->id, view->stamp, size, false};
        if (blob != NULL)
            remember_text(views, view, blob);
    }
    pthread_mutex_unlock(&views->lock);
}

/* NULL: another file has its place, or the file has changed. */
static struct tfs_size *known_size(struct tfs_views *views, const struct tfs_view *view)
{
    struct tfs_size *place = size_place(views, view);

    return place != NULL && place->id == view->id && place->stamp == view->stamp ? place : NULL;
}

bool tfs_views_is_given(struct tfs_views *views, const struct tfs_view *view)
{
    pthread_mutex_lock(&views->lock);
    const struct tfs_size *place = known_size(views, view);
    const bool given = place == NULL || place->given;
    pthread_mutex_unlock(&views->lock);
    return given;
}

bool tfs_views_set_given(struct tfs_views *views, const struct tfs_view *view, bool given)
{
    pthread_mutex_lock(&views->lock);
    struct tfs_size *place = known_size(views, view);
    const bool differs = place != NULL && place->given != given;
    if (differs)
        place->given = given;
    pthread_mutex_unlock(&views->lock);
    return differs;
}

int tfs_views_size(struct tfs_views *views, const struct tfs_view *view, uint64_t *size)
{
    pthread_mutex_lock(&views->lock);
    const struct tfs_size *place = known_size(views, view);
    const bool known = place != NULL;
    if (known)
        *size = place->size;
    pthread_mutex_unlock(&views->lock);
    if (known)
        return 0;
    /* Its chunk or section may be gone while a program has it open. */
    int exists = tfs_node_exists(view->save, view->doc, &view->node);
    if (exists <= 0)
        return exists < 0 ? exists : -ESTALE;
    const struct tfs_lens *lens = tfs_node_file(view->save, &view->node)->lens;
    int64_t counted = lens->size != NULL
                          ? lens->size(view->save, view->doc, tfs_node_at(view->save, &view->node))
                          : -1;
    if (counted < 0)
        return -EAGAIN;
    *size = (uint64_t)counted;
    remember(views, view, *size, NULL);
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

struct tfs_blob *tfs_views_find(struct tfs_views *views, uint64_t id, uint64_t stamp)
{
    const struct rendered wanted = {.id = id, .stamp = stamp};
    struct rendered *found =
        tfs_views_stamp(views, id) == stamp ? tfs_recent_find(&views->texts, &wanted) : NULL;
    struct tfs_blob *blob = found != NULL ? tfs_blob_ref(found->blob) : NULL;

    if (found != NULL)
        unref_rendered(found);
    return blob;
}

void tfs_views_drop(struct tfs_views *views, uint64_t id, uint64_t stamp)
{
    const struct rendered unwanted = {.id = id, .stamp = stamp};

    tfs_recent_drop(&views->texts, &unwanted);
}

static int check_exists(const struct tfs_view *view, struct tfs_error *err)
{
    int exists = tfs_node_exists(view->save, view->doc, &view->node);

    if (exists < 0)
        return tfs_fail(err, exists, "its chunk cannot be looked into now");
    return exists == 0 ? tfs_fail(err, -ESTALE, "gone") : 0;
}

bool tfs_views_in_ranges(struct tfs_views *views, const struct tfs_view *view)
{
    uint64_t size;

    return tfs_node_file(view->save, &view->node)->lens->get_range != NULL &&
           tfs_views_size(views, view, &size) == 0 && size > views->texts.limit;
}

int tfs_views_render_range(const struct tfs_view *view, uint64_t offset, uint64_t size,
                           struct tfs_blob **blob, struct tfs_error *err)
{
    const struct tfs_lens *lens = tfs_node_file(view->save, &view->node)->lens;
    const struct tfs_at at = tfs_node_at(view->save, &view->node);

    return check_exists(view, err) < 0
               ? err->code
               : lens->get_range(view->save, view->doc, at, offset, size, blob, err);
}

int tfs_views_render(struct tfs_views *views, const struct tfs_view *view, struct tfs_blob **blob,
                     struct tfs_error *err)
{
    struct tfs_buf out = {0};

    if (check_exists(view, err) < 0)
        return err->code;
    const struct tfs_file *file = tfs_node_file(view->save, &view->node);
    int result =
        file->lens->get(view->save, view->doc, tfs_node_at(view->save, &view->node), &out, err);
    if (result == 0)
        result = tfs_blob_take(&out, blob, err);
    tfs_buf_release(&out);
    if (result == 0)
        remember(views, view, (*blob)->size, *blob);
    return result;
}
