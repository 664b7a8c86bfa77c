/*
 * How a document holds its chunks: for those files only that make documents and walk them.
 *
 * A page is a sorted run of chunks, shared by all documents that have not changed it. A page with
 * one reference belongs to the only document that has it, which may change it in place while that
 * document is still under construction.
 *
 * Invariants of a document:
 *   1. no page is empty, keys ascend within a page and from page to page;
 *   2. page_first[i] is the sum of the counts of the pages before i, page_first[page_count] is
 * count;
 *   3. every slot is below next_slot.
 */
#ifndef TFS_FORMATS_SAVE_DOCUMENT_PAGES_H
#define TFS_FORMATS_SAVE_DOCUMENT_PAGES_H

#include "formats/save/document.h"

#define TFS_PAGE_CHUNKS 512

struct tfs_page {
    atomic_uint refs;
    uint32_t count;
    struct tfs_chunk chunks[TFS_PAGE_CHUNKS];
};

int tfs_page_create(struct tfs_page **page, struct tfs_error *err);
void tfs_page_unref(struct tfs_page *page);

/* The position of a key: where its chunk is, or would be inserted. */
struct tfs_position {
    size_t page; /* 0 in a document without pages */
    uint32_t at; /* up to the page's count */
    bool found;
};

struct tfs_position tfs_doc_locate(const struct tfs_doc *doc, struct tfs_key key);

/* Calls `each` for the chunks of a group, in the order of their keys, until it gives something else
 * than 0, which is the result. For those that look at every chunk after each edit: the compiler
 * puts `each` into the loop. */
typedef int (*tfs_doc_chunk_fn)(void *arg, const struct tfs_chunk *chunk);
static inline int tfs_doc_walk(const struct tfs_doc *doc, uint32_t group, tfs_doc_chunk_fn each,
                               void *arg)
{
    const struct tfs_position start =
        tfs_doc_locate(doc, (struct tfs_key){group, INT32_MIN, INT32_MIN, INT32_MIN});
    uint32_t at = start.at;

    for (size_t p = start.page; p < doc->page_count; p++, at = 0) {
        const struct tfs_page *page = doc->pages[p];
        for (; at < page->count; at++) {
            if (page->chunks[at].key.group != group)
                return 0;
            const int result = each(arg, &page->chunks[at]);
            if (result != 0)
                return result;
        }
    }
    return 0;
}

/* A document that shares everything with `base`, under a version of its own. */
int tfs_doc_clone(const struct tfs_doc *base, struct tfs_doc **doc, struct tfs_error *err);

/* Makes page `index` of a document under construction its own, by copying it where it is shared. */
int tfs_doc_own_page(struct tfs_doc *doc, size_t index, struct tfs_error *err);

/* A new version: a cache of the old one must not take it for this. */
void tfs_doc_stamp(struct tfs_doc *doc);
/* A chunk came or went: what was found of the keys is true no more. */
void tfs_doc_has_other_keys(struct tfs_doc *doc);

/* What tfs_doc_bounds found; NULL is legal in both. */
struct tfs_doc_bounds *tfs_doc_bounds_ref(struct tfs_doc_bounds *bounds);
void tfs_doc_bounds_unref(struct tfs_doc_bounds *bounds);

#endif
