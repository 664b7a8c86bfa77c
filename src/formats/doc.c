/*
 * Pages of chunks -> a document: finding, walking and comparing immutable states of a save.
 *
 * Must not know what a blob holds, nor how a document comes to differ from its base (edit.c).
 */
#include "formats/doc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/refs.h"
#include "formats/areas.h"
#include "formats/page.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define LARGE ((size_t)8 << 20) /* bytes of chunks that are freed together */

static atomic_uint_fast64_t last_version;

/* ---- keys and chunks ------------------------------------------------------------------------- */

int tfs_key_compare(struct tfs_key a, struct tfs_key b)
{
    if (a.group != b.group)
        return a.group < b.group ? -1 : 1;
    if (a.y != b.y)
        return a.y < b.y ? -1 : 1;
    if (a.z != b.z)
        return a.z < b.z ? -1 : 1;
    return a.x < b.x ? -1 : a.x > b.x;
}

bool tfs_chunk_same(const struct tfs_chunk *a, const struct tfs_chunk *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->tag != b->tag || a->flags != b->flags)
        return false;
    /* Bytes that neither side holds are the same bytes only where the format's own number is the
     * same. */
    if (a->blob == NULL && b->blob == NULL && a->own != b->own)
        return false;
    return tfs_blob_equal(a->blob, b->blob) && tfs_blob_equal(a->extra, b->extra);
}

bool tfs_chunk_is(const struct tfs_chunk *made, const struct tfs_chunk *chunk)
{
    return tfs_key_compare(made->key, chunk->key) == 0 && made->blob == chunk->blob &&
           made->extra == chunk->extra && made->tag == chunk->tag && made->flags == chunk->flags &&
           ((chunk->flags & TFS_CHUNK_UNREAD_ALL) == 0 || made->own == chunk->own);
}

/* ---- pages ----------------------------------------------------------------------------------- */

int tfs_page_create(struct tfs_page **page, struct tfs_error *err)
{
    struct tfs_page *created = malloc(sizeof(*created));

    if (created == NULL)
        return tfs_fail_memory(err);
    atomic_init(&created->refs, 1);
    atomic_init(&created->counted, 0);
    created->count = 0;
    *page = created;
    return 0;
}

static struct tfs_page *page_ref(struct tfs_page *page)
{
    tfs_refs_add(&page->refs);
    return page;
}

/* Memory that goes with this reference. */
static size_t bytes_that_go(const struct tfs_blob *blob)
{
    return blob != NULL && blob->parent == NULL && atomic_load(&blob->refs) == 1 ? blob->size : 0;
}

/* Returns how much was freed. */
static size_t page_drop(struct tfs_page *page)
{
    size_t freed = 0;

    if (!tfs_refs_drop(&page->refs))
        return 0;
    for (uint32_t i = 0; i < page->count; i++) {
        freed += bytes_that_go(page->chunks[i].blob) + bytes_that_go(page->chunks[i].extra);
        tfs_blob_unref(page->chunks[i].blob);
        tfs_blob_unref(page->chunks[i].extra);
    }
    free(page);
    return freed;
}

void tfs_page_unref(struct tfs_page *page)
{
    (void)page_drop(page);
}

int tfs_doc_own_page(struct tfs_doc *doc, size_t index, struct tfs_error *err)
{
    struct tfs_page *shared = doc->pages[index];
    struct tfs_page *own = NULL;

    if (atomic_load_explicit(&shared->refs, memory_order_acquire) == 1) {
        atomic_store(&shared->counted, 0);
        return 0;
    }
    if (tfs_page_create(&own, err) < 0)
        return err->code;
    memcpy(own->chunks, shared->chunks, shared->count * sizeof(*shared->chunks));
    own->count = shared->count;
    for (uint32_t i = 0; i < own->count; i++) {
        tfs_blob_ref(own->chunks[i].blob);
        tfs_blob_ref(own->chunks[i].extra);
    }
    doc->pages[index] = own;
    tfs_page_unref(shared);
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Of one group after the other; shared by documents with the same keys. */
struct tfs_doc_bounds {
    atomic_uint refs;
    struct tfs_key low, high;
    struct tfs_doc_bounds *next; /* those of groups that were asked for before */
};

static struct tfs_doc_bounds *bounds_ref(struct tfs_doc_bounds *bounds)
{
    if (bounds != NULL)
        atomic_fetch_add_explicit(&bounds->refs, 1, memory_order_relaxed);
    return bounds;
}

static void bounds_unref(struct tfs_doc_bounds *bounds)
{
    while (bounds != NULL &&
           atomic_fetch_sub_explicit(&bounds->refs, 1, memory_order_acq_rel) == 1) {
        struct tfs_doc_bounds *next = bounds->next;
        free(bounds);
        bounds = next;
    }
}

void tfs_doc_has_other_keys(struct tfs_doc *doc)
{
    bounds_unref(atomic_exchange(&doc->bounds, NULL));
    tfs_doc_areas_unref(atomic_exchange(&doc->areas, NULL));
}

void tfs_doc_stamp(struct tfs_doc *doc)
{
    doc->version = atomic_fetch_add_explicit(&last_version, 1, memory_order_relaxed) + 1;
}

/* A document with room for that many pages, and none in it. */
static int doc_alloc(size_t pages, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_doc *created = calloc(1, sizeof(*created));

    if (created == NULL)
        return tfs_fail_memory(err);
    atomic_init(&created->refs, 1);
    tfs_doc_stamp(created);
    created->pages = calloc(pages + 1, sizeof(*created->pages));
    created->page_first = calloc(pages + 1, sizeof(*created->page_first));
    if (created->pages == NULL || created->page_first == NULL) {
        tfs_doc_unref(created);
        return tfs_fail_memory(err);
    }
    *doc = created;
    return 0;
}

int tfs_doc_create(struct tfs_facts *facts, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_doc *created = NULL;

    if (doc_alloc(0, &created, err) < 0)
        return err->code;
    created->area_numbers = tfs_area_numbers_create();
    if (created->area_numbers == NULL) {
        tfs_doc_unref(created);
        return tfs_fail_memory(err);
    }
    created->facts = tfs_facts_ref(facts);
    *doc = created;
    return 0;
}

int tfs_doc_clone(const struct tfs_doc *base, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_doc *clone = NULL;

    if (doc_alloc(base->page_count, &clone, err) < 0)
        return err->code;
    for (size_t i = 0; i < base->page_count; i++)
        clone->pages[i] = page_ref(base->pages[i]);
    memcpy(clone->page_first, base->page_first, (base->page_count + 1) * sizeof(*base->page_first));
    clone->page_count = base->page_count;
    clone->count = base->count;
    clone->next_slot = base->next_slot;
    clone->facts = tfs_facts_ref(base->facts);
    clone->common = tfs_blob_ref(base->common);
    clone->new_names = tfs_blob_ref(base->new_names);
    clone->area_numbers = tfs_area_numbers_ref(base->area_numbers);
    atomic_store(&clone->bounds, bounds_ref(atomic_load(&base->bounds)));
    atomic_store(&clone->areas, tfs_doc_areas_ref(atomic_load(&base->areas)));
    *doc = clone;
    return 0;
}

struct tfs_doc *tfs_doc_ref(struct tfs_doc *doc)
{
    if (doc != NULL)
        tfs_refs_add(&doc->refs);
    return doc;
}

/* What an edit of a large save replaced may be as much as the save, and malloc keeps it. To look
 * for so much takes less time than it took to free it. */
static void give_memory_back(size_t freed)
{
#ifdef __GLIBC__
    if (freed >= LARGE)
        malloc_trim(0);
#else
    (void)freed;
#endif
}

void tfs_doc_unref(struct tfs_doc *doc)
{
    size_t freed = 0;

    if (doc == NULL || !tfs_refs_drop(&doc->refs))
        return;
    for (size_t i = 0; i < doc->page_count; i++)
        freed += page_drop(doc->pages[i]);
    tfs_blob_unref(doc->common);
    tfs_blob_unref(doc->new_names);
    tfs_facts_unref(doc->facts);
    tfs_area_numbers_unref(doc->area_numbers);
    tfs_doc_has_other_keys(doc);
    free(doc->pages);
    free(doc->page_first);
    free(doc);
    give_memory_back(freed);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The last page that does not begin above `key`; the first when all do. */
static size_t locate_page(const struct tfs_doc *doc, struct tfs_key key)
{
    size_t low = 0;
    size_t high = doc->page_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (tfs_key_compare(doc->pages[middle]->chunks[0].key, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct tfs_position tfs_doc_locate(const struct tfs_doc *doc, struct tfs_key key)
{
    struct tfs_position position = {0};

    if (doc->page_count == 0)
        return position;
    position.page = locate_page(doc, key);

    const struct tfs_page *page = doc->pages[position.page];
    uint32_t high = page->count;
    while (position.at < high) {
        uint32_t middle = position.at + (high - position.at) / 2;
        if (tfs_key_compare(page->chunks[middle].key, key) < 0)
            position.at = middle + 1;
        else
            high = middle;
    }
    position.found =
        position.at < page->count && tfs_key_compare(page->chunks[position.at].key, key) == 0;
    return position;
}

/* Is the chunk at `place`? Any number is legal. */
static bool is_at(const struct tfs_doc *doc, size_t place, struct tfs_key key)
{
    const size_t page = place / TFS_PAGE_CHUNKS, at = place % TFS_PAGE_CHUNKS;

    return page < doc->page_count && at < doc->pages[page]->count &&
           tfs_key_compare(doc->pages[page]->chunks[at].key, key) == 0;
}

/* Most finds ask for the chunk that was found last, or for the next one. */
const struct tfs_chunk *tfs_doc_find(const struct tfs_doc *doc, struct tfs_key key)
{
    atomic_size_t *const last = &((struct tfs_doc *)doc)->found;
    const size_t before = atomic_load_explicit(last, memory_order_relaxed);
    size_t place = before;

    if (!is_at(doc, place, key) && !is_at(doc, ++place, key)) {
        const struct tfs_position position = tfs_doc_locate(doc, key);
        if (!position.found)
            return NULL;
        place = position.page * TFS_PAGE_CHUNKS + position.at;
    }
    if (place != before)
        atomic_store_explicit(last, place, memory_order_relaxed);
    return &doc->pages[place / TFS_PAGE_CHUNKS]->chunks[place % TFS_PAGE_CHUNKS];
}

int tfs_doc_need(const struct tfs_doc *doc, struct tfs_key key, const struct tfs_chunk **chunk,
                 struct tfs_error *err)
{
    *chunk = tfs_doc_find(doc, key);
    if (*chunk == NULL)
        return tfs_fail(err, -ENOENT, "there is no chunk %d_%d_%d", key.x, key.y, key.z);
    return 0;
}

size_t tfs_doc_lower_bound(const struct tfs_doc *doc, struct tfs_key key)
{
    struct tfs_position position = tfs_doc_locate(doc, key);

    return doc->page_first[position.page] + position.at;
}

const struct tfs_chunk *tfs_doc_at(const struct tfs_doc *doc, size_t i)
{
    size_t low = 0;
    size_t high = doc->page_count;

    assert(i < doc->count);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (doc->page_first[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return &doc->pages[low]->chunks[i - doc->page_first[low]];
}

/* ---- walking two documents ------------------------------------------------------------------- */

struct walk {
    const struct tfs_doc *doc;
    size_t page;
    uint32_t at;
};

static const struct tfs_chunk *walk_chunk(const struct walk *w)
{
    return w->page < w->doc->page_count ? &w->doc->pages[w->page]->chunks[w->at] : NULL;
}

static void walk_step(struct walk *w)
{
    if (++w->at == w->doc->pages[w->page]->count) {
        w->page++;
        w->at = 0;
    }
}

/* The first key that a group can have. */
static struct tfs_key group_start(uint32_t group)
{
    return (struct tfs_key){group, INT32_MIN, INT32_MIN, INT32_MIN};
}

/* Where the chunks behind a group begin. */
static size_t group_end(const struct tfs_doc *doc, uint32_t group)
{
    return group == UINT32_MAX ? doc->count : tfs_doc_lower_bound(doc, group_start(group + 1));
}

size_t tfs_doc_group_count(const struct tfs_doc *doc, uint32_t group)
{
    return group_end(doc, group) - tfs_doc_lower_bound(doc, group_start(group));
}

static void widen(int32_t value, int32_t *low, int32_t *high)
{
    if (value < *low)
        *low = value;
    if (value > *high)
        *high = value;
}

int tfs_doc_group_each(const struct tfs_doc *doc, uint32_t group, tfs_doc_chunk_fn each, void *arg)
{
    struct tfs_position start = tfs_doc_locate(doc, group_start(group));
    struct walk w = {doc, start.page, start.at};
    const struct tfs_chunk *chunk;
    int result = 0;

    /* The position of a key behind all of a page is its end, where there is no chunk. */
    if (w.page < doc->page_count && w.at == doc->pages[w.page]->count)
        w = (struct walk){doc, w.page + 1, 0};
    for (; result == 0 && (chunk = walk_chunk(&w)) != NULL && chunk->key.group == group;
         walk_step(&w))
        result = each(arg, chunk);
    return result;
}

struct bounds {
    struct tfs_key *low, *high;
    bool found;
};

static int add_to_bounds(void *arg, const struct tfs_chunk *chunk)
{
    struct bounds *b = arg;

    if (!b->found)
        *b->low = *b->high = chunk->key;
    b->found = true;
    widen(chunk->key.x, &b->low->x, &b->high->x);
    widen(chunk->key.y, &b->low->y, &b->high->y);
    widen(chunk->key.z, &b->low->z, &b->high->z);
    return 0;
}

static bool find_bounds(const struct tfs_doc *doc, uint32_t group, struct tfs_key *low,
                        struct tfs_key *high)
{
    struct bounds b = {low, high, false};

    tfs_doc_group_each(doc, group, add_to_bounds, &b);
    return b.found;
}

#define BOUNDS_MAX 64 /* groups whose bounds are kept */

/* A document never changes, so what the first asker finds is true for all; without memory each
 * finds it again. */
static void keep_bounds(struct tfs_doc *doc, struct tfs_key low, struct tfs_key high)
{
    struct tfs_doc_bounds *there = atomic_load(&doc->bounds), *found = malloc(sizeof(*found));

    if (found == NULL)
        return;
    *found = (struct tfs_doc_bounds){1, low, high, there};
    if (!atomic_compare_exchange_strong(&doc->bounds, &there, found))
        free(found);
}

bool tfs_doc_bounds(const struct tfs_doc *doc, uint32_t group, struct tfs_key *low,
                    struct tfs_key *high)
{
    unsigned steps = 0;

    for (const struct tfs_doc_bounds *known = atomic_load(&doc->bounds); known != NULL;
         known = known->next, steps++)
        if (known->low.group == group) {
            *low = known->low;
            *high = known->high;
            return true;
        }
    if (!find_bounds(doc, group, low, high))
        return false;
    if (steps < BOUNDS_MAX)
        keep_bounds((struct tfs_doc *)doc, *low, *high);
    return true;
}

/* ---- chunks that are counted ----------------------------------------------------------------- */

static int count_page(struct tfs_page *page, tfs_doc_count_fn is, size_t *count,
                      struct tfs_error *err)
{
    const unsigned known = atomic_load(&page->counted);
    unsigned found = 0;

    for (uint32_t i = 0; known == 0 && i < page->count; i++) {
        const int yes = is(&page->chunks[i], err);
        if (yes < 0)
            return yes;
        found += yes > 0;
    }
    if (known == 0)
        atomic_store(&page->counted, found + 1);
    *count = known == 0 ? found : known - 1;
    return 0;
}

static int first_counted(const struct tfs_page *page, tfs_doc_count_fn is, struct tfs_key *first,
                         struct tfs_error *err)
{
    int yes = 0;

    for (uint32_t i = 0; yes == 0 && i < page->count; i++) {
        yes = is(&page->chunks[i], err);
        *first = page->chunks[i].key;
    }
    return yes < 0 ? yes : 0;
}

int tfs_doc_count(const struct tfs_doc *doc, tfs_doc_count_fn is, size_t *count,
                  struct tfs_key *first, struct tfs_error *err)
{
    size_t sum = 0, here;
    int status = 0;

    for (size_t i = 0; status == 0 && i < doc->page_count; i++) {
        status = count_page(doc->pages[i], is, &here, err);
        if (status == 0 && here > 0 && sum == 0)
            status = first_counted(doc->pages[i], is, first, err);
        sum += status == 0 ? here : 0;
    }
    if (status == 0)
        *count = sum;
    return status;
}

/* ---- what differs ---------------------------------------------------------------------------- */

/* Both walks stand at the beginning of a page that the documents share. Two walks in key order
 * always reach such a page together, however the pages before it differ. */
static bool walk_at_shared(const struct walk *a, const struct walk *b)
{
    return a->at == 0 && b->at == 0 && a->page < a->doc->page_count &&
           b->page < b->doc->page_count && a->doc->pages[a->page] == b->doc->pages[b->page];
}

/* The order of two chunks of which one may be absent, which is as if it came last. */
static int walk_order(const struct tfs_chunk *a, const struct tfs_chunk *b)
{
    if (a == NULL || b == NULL)
        return a == NULL ? 1 : -1;
    return tfs_key_compare(a->key, b->key);
}

int tfs_doc_diff(const struct tfs_doc *before, const struct tfs_doc *after, tfs_doc_diff_fn changed,
                 void *arg)
{
    struct walk a = {.doc = before};
    struct walk b = {.doc = after};
    int result = 0;

    while (result == 0 && (walk_chunk(&a) != NULL || walk_chunk(&b) != NULL)) {
        if (walk_at_shared(&a, &b)) {
            a.page++;
            b.page++;
            continue;
        }
        const struct tfs_chunk *old = walk_chunk(&a);
        const struct tfs_chunk *new = walk_chunk(&b);
        int order = walk_order(old, new);
        if (order != 0 || !tfs_chunk_same(old, new))
            result = changed(arg, order <= 0 ? old : NULL, order >= 0 ? new : NULL);
        if (order <= 0)
            walk_step(&a);
        if (order >= 0)
            walk_step(&b);
    }
    return result;
}

static int differs(void *arg, const struct tfs_chunk *intended, const struct tfs_chunk *written)
{
    const struct tfs_key key = intended == NULL ? written->key : intended->key;

    return tfs_fail(arg, -EIO, "chunk %d_%d_%d %s", key.x, key.y, key.z,
                    written == NULL    ? "is missing"
                    : intended == NULL ? "was not there before"
                                       : "is another one");
}

int tfs_doc_check_written(const struct tfs_doc *intended, const struct tfs_doc *written,
                          struct tfs_error *err)
{
    return tfs_doc_diff(intended, written, differs, err);
}

/* The slot that `key` had in the document being walked; TFS_SLOT_NONE if it had none. Keys ascend
 * from call to call. */
static uint32_t walk_slot(struct walk *old, struct tfs_key key)
{
    const struct tfs_chunk *chunk;

    while ((chunk = walk_chunk(old)) != NULL && tfs_key_compare(chunk->key, key) < 0)
        walk_step(old);
    return chunk != NULL && tfs_key_compare(chunk->key, key) == 0 ? chunk->slot : TFS_SLOT_NONE;
}

void tfs_doc_keep_areas(struct tfs_doc *doc, const struct tfs_doc *old)
{
    struct tfs_area_numbers *own = doc->area_numbers;

    doc->area_numbers = tfs_area_numbers_ref(old->area_numbers);
    tfs_area_numbers_unref(own);
    tfs_doc_areas_unref(atomic_exchange(&doc->areas, NULL));
}

int tfs_doc_keep_slots(struct tfs_doc *doc, const struct tfs_doc *old, struct tfs_error *err)
{
    struct walk walk = {.doc = old};
    uint32_t next = old->next_slot;

    if (doc->count > TFS_SLOT_NONE - next)
        return tfs_fail(err, -EFBIG, "more chunks came and went than one mount can tell apart");
    for (size_t p = 0; p < doc->page_count; p++) {
        if (tfs_doc_own_page(doc, p, err) < 0)
            return err->code;
        struct tfs_page *page = doc->pages[p];
        for (uint32_t i = 0; i < page->count; i++) {
            uint32_t slot = walk_slot(&walk, page->chunks[i].key);
            page->chunks[i].slot = slot == TFS_SLOT_NONE ? next++ : slot;
        }
    }
    doc->next_slot = next;
    tfs_doc_keep_areas(doc, old);
    tfs_doc_stamp(doc);
    return 0;
}
