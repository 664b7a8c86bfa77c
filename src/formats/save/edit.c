/*
 * Changes -> a new document that shares with its base every page they did not touch.
 *
 * Must not know what a blob holds. What it must keep: document_pages.h, the invariants of a
 * document; and that nothing reachable from the base ever changes.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/save/document_pages.h"

int tfs_edit_open(struct tfs_doc *base, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_edit opened = {0};

    if (tfs_doc_clone(base, &opened.next, err) < 0)
        return err->code;
    opened.base = tfs_doc_ref(base);
    *edit = opened;
    return 0;
}

int tfs_edit_open_empty(struct tfs_facts *facts, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_facts *own = tfs_facts_ref(facts);
    struct tfs_doc *empty = NULL;

    *edit = (struct tfs_edit){0};
    if ((own != NULL || tfs_facts_create(0, &own, err) == 0) &&
        tfs_doc_create(own, &empty, err) == 0)
        tfs_edit_open(empty, edit, err);
    tfs_facts_unref(own);
    tfs_doc_unref(empty);
    return err->code;
}

void tfs_edit_release(struct tfs_edit *edit)
{
    tfs_doc_unref(edit->base);
    tfs_doc_unref(edit->next);
    free(edit->touched);
    *edit = (struct tfs_edit){0};
}

void tfs_edit_keep_slots(struct tfs_edit *edit, uint32_t first)
{
    assert(!edit->changed);
    if (edit->next->next_slot < first)
        edit->next->next_slot = first;
}

int tfs_doc_reserve_slots(struct tfs_doc **doc, uint32_t first, struct tfs_error *err)
{
    struct tfs_doc *clone = NULL;

    if ((*doc)->next_slot >= first)
        return 0;
    if (tfs_doc_clone(*doc, &clone, err) < 0)
        return err->code;
    clone->next_slot = first;
    tfs_doc_unref(*doc);
    *doc = clone;
    return 0;
}

const struct tfs_doc *tfs_edit_doc(const struct tfs_edit *edit)
{
    return edit->next;
}

struct tfs_doc *tfs_edit_finish(struct tfs_edit *edit)
{
    return tfs_doc_ref(edit->changed ? edit->next : edit->base);
}

/* Something is different now. The document gets a version of its own each time, so that what a
 * reader remembers of it half way is never taken for its end. */
static void edit_changed(struct tfs_edit *edit)
{
    edit->changed = true;
    tfs_doc_stamp(edit->next);
}

/* A finished document belongs to its readers. */
static void assert_unfinished(const struct tfs_edit *edit)
{
    assert(atomic_load_explicit(&edit->next->refs, memory_order_acquire) == 1);
    (void)edit;
}

static int reserve_touched(struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_key *touched = tfs_array_grow(edit->touched, edit->touched_count, sizeof(*touched));

    if (touched == NULL)
        return tfs_fail_memory(err);
    edit->touched = touched;
    return 0;
}

int tfs_edit_touch(struct tfs_edit *edit, struct tfs_key key, struct tfs_error *err)
{
    assert_unfinished(edit);
    if (reserve_touched(edit, err) < 0)
        return err->code;
    edit->touched[edit->touched_count++] = key;
    edit_changed(edit);
    return 0;
}

void tfs_edit_common(struct tfs_edit *edit, struct tfs_blob *blob)
{
    struct tfs_doc *next = edit->next;

    assert_unfinished(edit);
    if (tfs_blob_equal(next->common, blob))
        return;
    tfs_blob_ref(blob);
    tfs_blob_unref(next->common);
    next->common = blob;
    edit_changed(edit);
}

void tfs_edit_facts(struct tfs_edit *edit, struct tfs_facts *facts)
{
    assert_unfinished(edit);
    if (edit->next->facts == facts)
        return;
    tfs_facts_ref(facts);
    tfs_facts_unref(edit->next->facts);
    edit->next->facts = facts;
    edit_changed(edit);
}

/* ---- pages of the document under construction ------------------------------------------------ */

/* Moves the beginning of the pages behind `page` by one chunk, after that page got or lost one. */
static void shift_first(struct tfs_doc *doc, size_t page, bool more)
{
    for (size_t i = page + 1; i <= doc->page_count; i++)
        doc->page_first[i] = more ? doc->page_first[i] + 1 : doc->page_first[i] - 1;
    doc->count = doc->page_first[doc->page_count];
}

/* Puts an empty page before page `index`. */
static int insert_page(struct tfs_doc *doc, size_t index, struct tfs_error *err)
{
    size_t behind = doc->page_count - index;
    struct tfs_page *page = NULL;

    struct tfs_page **pages = realloc(doc->pages, (doc->page_count + 1) * sizeof(*pages));
    if (pages == NULL)
        return tfs_fail_memory(err);
    doc->pages = pages;
    size_t *first = realloc(doc->page_first, (doc->page_count + 2) * sizeof(*first));
    if (first == NULL)
        return tfs_fail_memory(err);
    doc->page_first = first;
    if (tfs_page_create(&page, err) < 0)
        return err->code;
    memmove(pages + index + 1, pages + index, behind * sizeof(*pages));
    memmove(first + index + 1, first + index, (behind + 1) * sizeof(*first));
    pages[index] = page;
    doc->page_count++;
    return 0;
}

static void drop_page(struct tfs_doc *doc, size_t index)
{
    size_t behind = doc->page_count - index - 1;

    tfs_page_unref(doc->pages[index]);
    memmove(doc->pages + index, doc->pages + index + 1, behind * sizeof(*doc->pages));
    memmove(doc->page_first + index, doc->page_first + index + 1,
            (behind + 1) * sizeof(*doc->page_first));
    doc->page_count--;
}

/* Has the page behind a full one room for what is behind `at`, and for one more? */
static bool next_has_room(const struct tfs_doc *doc, struct tfs_position position)
{
    return position.page + 1 < doc->page_count &&
           doc->pages[position.page + 1]->count + (TFS_PAGE_CHUNKS - position.at) < TFS_PAGE_CHUNKS;
}

/* Moves the chunks from number `from` on, of a full page, to the beginning of the next one. */
static void move_behind(struct tfs_doc *doc, size_t index, uint32_t from)
{
    struct tfs_page *page = doc->pages[index], *next = doc->pages[index + 1];
    const uint32_t moved = TFS_PAGE_CHUNKS - from;

    memmove(next->chunks + moved, next->chunks, next->count * sizeof(*next->chunks));
    memcpy(next->chunks, page->chunks + from, moved * sizeof(*next->chunks));
    next->count += moved;
    page->count = from;
    doc->page_first[index + 1] = doc->page_first[index] + from;
}

/* Makes room at *position in a full page, which is the document's own: what is behind it goes to
 * the next page, or to a new one. So what is put in ascending order, also between other chunks,
 * fills its pages. */
static int empty_behind(struct tfs_doc *doc, struct tfs_position *position, struct tfs_error *err)
{
    const bool has_room = next_has_room(doc, *position);
    uint32_t from = position->at;

    if (!has_room && from < TFS_PAGE_CHUNKS / 2)
        from = TFS_PAGE_CHUNKS / 2;
    if (has_room)
        tfs_doc_own_page(doc, position->page + 1, err);
    else
        insert_page(doc, position->page + 1, err);
    if (err->code < 0)
        return err->code;
    move_behind(doc, position->page, from);
    if (position->at == TFS_PAGE_CHUNKS)
        *position = (struct tfs_position){.page = position->page + 1};
    return 0;
}

/* Makes room for one chunk at *position, which may move to another page. */
static int make_room(struct tfs_doc *doc, struct tfs_position *position, struct tfs_error *err)
{
    if (doc->page_count == 0)
        return insert_page(doc, 0, err);
    if (tfs_doc_own_page(doc, position->page, err) < 0)
        return err->code;
    return doc->pages[position->page]->count < TFS_PAGE_CHUNKS ? 0
                                                               : empty_behind(doc, position, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int give_slot(struct tfs_doc *doc, struct tfs_chunk *chunk, struct tfs_error *err)
{
    if (chunk->slot == TFS_SLOT_NONE) {
        if (doc->next_slot == TFS_SLOT_NONE)
            return tfs_fail(err, -EFBIG, "more chunks came and went than one mount can tell apart");
        chunk->slot = doc->next_slot;
    }
    if (chunk->slot >= doc->next_slot)
        doc->next_slot = chunk->slot + 1;
    return 0;
}

static int add_chunk(struct tfs_doc *doc, struct tfs_position position, struct tfs_chunk chunk,
                     struct tfs_error *err)
{
    if (give_slot(doc, &chunk, err) < 0 || make_room(doc, &position, err) < 0)
        return err->code;

    struct tfs_page *page = doc->pages[position.page];
    memmove(page->chunks + position.at + 1, page->chunks + position.at,
            (page->count - position.at) * sizeof(*page->chunks));
    page->chunks[position.at] = chunk;
    page->count++;
    tfs_doc_has_other_keys(doc);
    tfs_chunk_ref(&chunk);
    shift_first(doc, position.page, true);
    return 0;
}

static int replace_chunk(struct tfs_doc *doc, struct tfs_position position, struct tfs_chunk chunk,
                         struct tfs_error *err)
{
    if (tfs_doc_own_page(doc, position.page, err) < 0)
        return err->code;

    struct tfs_chunk *stored = &doc->pages[position.page]->chunks[position.at];
    struct tfs_chunk old = *stored;
    chunk.slot = old.slot;
    tfs_chunk_ref(&chunk);
    *stored = chunk;
    tfs_chunk_unref(&old);
    return 0;
}

int tfs_edit_put(struct tfs_edit *edit, const struct tfs_chunk *chunk, struct tfs_error *err)
{
    struct tfs_doc *doc = edit->next;
    struct tfs_position position = tfs_doc_locate(doc, chunk->key);

    assert_unfinished(edit);
    if (position.found) {
        const struct tfs_chunk *old = &doc->pages[position.page]->chunks[position.at];
        if (tfs_chunk_same(old, chunk) && old->own == chunk->own)
            return 0;
    }
    struct tfs_key key = chunk->key;
    int result = position.found ? replace_chunk(doc, position, *chunk, err)
                                : add_chunk(doc, position, *chunk, err);
    return result < 0 ? result : tfs_edit_touch(edit, key, err);
}

int tfs_edit_put_bytes(struct tfs_edit *edit, struct tfs_chunk chunk, struct tfs_span bytes,
                       struct tfs_error *err)
{
    if (tfs_blob_copy(bytes, &chunk.blob, err) < 0)
        return err->code;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    return err->code;
}

int tfs_edit_move(struct tfs_edit *edit, struct tfs_key from, struct tfs_key to,
                  struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    if (tfs_doc_need(edit->next, from, &chunk, err) < 0)
        return err->code;
    struct tfs_chunk moved = *chunk;
    moved.key = to;
    moved.own = TFS_OWN_NEW;
    tfs_chunk_ref(&moved);
    if (tfs_edit_remove(edit, from, err) == 0)
        tfs_edit_put(edit, &moved, err);
    tfs_chunk_unref(&moved);
    return err->code;
}

int tfs_edit_remove(struct tfs_edit *edit, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_doc *doc = edit->next;
    struct tfs_position position = tfs_doc_locate(doc, key);

    assert_unfinished(edit);
    if (!position.found)
        return tfs_fail(err, -ENOENT, "there is no chunk %d_%d_%d", key.x, key.y, key.z);
    if (tfs_doc_own_page(doc, position.page, err) < 0)
        return err->code;

    struct tfs_page *page = doc->pages[position.page];
    struct tfs_chunk *chunk = &page->chunks[position.at];
    tfs_chunk_unref(chunk);
    page->count--;
    memmove(chunk, chunk + 1, (page->count - position.at) * sizeof(*chunk));
    shift_first(doc, position.page, false);
    if (page->count == 0)
        drop_page(doc, position.page);
    tfs_doc_has_other_keys(doc);
    return tfs_edit_touch(edit, key, err);
}
