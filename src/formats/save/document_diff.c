/*
 * Two documents, walked side by side -> what differs between them; and the slots that chunks of the
 * one had in the other.
 */
#include <errno.h>
#include <string.h>

#include "formats/save/document_pages.h"

#define SAME_BLOCK 16

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

/* Both walks stand at the beginning of a page that the documents share. Two walks in key order
 * always reach such a page together, however the pages before it differ. */
static bool walk_at_shared(const struct walk *a, const struct walk *b)
{
    return a->at == 0 && b->at == 0 && a->page < a->doc->page_count &&
           b->page < b->doc->page_count && a->doc->pages[a->page] == b->doc->pages[b->page];
}

static size_t walk_left(const struct walk *w)
{
    return w->page < w->doc->page_count ? w->doc->pages[w->page]->count - w->at : 0;
}

/* Behind so many chunks of its page, of which one more is left. */
static void walk_skip(struct walk *w, size_t count)
{
    w->at += (uint32_t)count - 1;
    walk_step(w);
}

/* A page that one edit touched has hundreds of chunks that are the same to the last pointer: they
 * are passed in blocks (row "CPU an edit"). */
static bool walk_skip_same(struct walk *a, struct walk *b)
{
    const size_t left = walk_left(a) < walk_left(b) ? walk_left(a) : walk_left(b);
    const size_t count = left < SAME_BLOCK ? left : SAME_BLOCK;
    const bool same =
        count > 0 && memcmp(walk_chunk(a), walk_chunk(b), count * sizeof(struct tfs_chunk)) == 0;

    if (same) {
        walk_skip(a, count);
        walk_skip(b, count);
    }
    return same;
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
        if (walk_skip_same(&a, &b))
            continue;
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
