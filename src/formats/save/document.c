/*
 * Pages of chunks -> a document: an immutable state of a save, in which chunks are found.
 *
 * Must not know what a blob holds, nor how a document comes to differ from its base (edit.c).
 */
#include "formats/save/document.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/refs.h"
#include "formats/save/tile_areas.h"
#include "formats/save/document_pages.h"

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

void tfs_chunk_ref(const struct tfs_chunk *chunk)
{
    tfs_blob_ref(chunk->blob);
    tfs_blob_ref(chunk->extra);
}

void tfs_chunk_unref(const struct tfs_chunk *chunk)
{
    tfs_blob_unref(chunk->blob);
    tfs_blob_unref(chunk->extra);
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

/* ---- pages ----------------------------------------------------------------------------------- */

int tfs_page_create(struct tfs_page **page, struct tfs_error *err)
{
    struct tfs_page *created = malloc(sizeof(*created));

    if (created == NULL)
        return tfs_fail_memory(err);
    atomic_init(&created->refs, 1);
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
        tfs_chunk_unref(&page->chunks[i]);
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

    if (atomic_load_explicit(&shared->refs, memory_order_acquire) == 1)
        return 0;
    if (tfs_page_create(&own, err) < 0)
        return err->code;
    memcpy(own->chunks, shared->chunks, shared->count * sizeof(*shared->chunks));
    own->count = shared->count;
    for (uint32_t i = 0; i < own->count; i++) {
        tfs_chunk_ref(&own->chunks[i]);
    }
    doc->pages[index] = own;
    tfs_page_unref(shared);
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

void tfs_doc_has_other_keys(struct tfs_doc *doc)
{
    tfs_doc_bounds_unref(atomic_exchange(&doc->bounds, NULL));
    tfs_doc_areas_unref(atomic_exchange(&doc->areas, NULL));
}

void tfs_doc_keep_areas(struct tfs_doc *doc, const struct tfs_doc *old)
{
    struct tfs_area_numbers *own = doc->area_numbers;

    doc->area_numbers = tfs_area_numbers_ref(old->area_numbers);
    tfs_area_numbers_unref(own);
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
    clone->area_numbers = tfs_area_numbers_ref(base->area_numbers);
    atomic_store(&clone->bounds, tfs_doc_bounds_ref(atomic_load(&base->bounds)));
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

/* ---- groups ---------------------------------------------------------------------------------- */

/* The first key that a group can have. */
static struct tfs_key group_start(uint32_t group)
{
    return (struct tfs_key){group, INT32_MIN, INT32_MIN, INT32_MIN};
}

size_t tfs_doc_group_begin(const struct tfs_doc *doc, uint32_t group)
{
    return tfs_doc_lower_bound(doc, group_start(group));
}

size_t tfs_doc_group_count(const struct tfs_doc *doc, uint32_t group)
{
    const size_t end = group == UINT32_MAX ? doc->count : tfs_doc_group_begin(doc, group + 1);

    return end - tfs_doc_group_begin(doc, group);
}
