/*
 * A chunk of a document, fetched and decoded: what lenses look at. Each save has a small cache of
 * the last views, because programs ask for the files of a chunk one after another.
 */
#ifndef TFS_FORMATS_LUANTI_VIEW_H
#define TFS_FORMATS_LUANTI_VIEW_H

#include "formats/format.h"
#include "formats/luanti/order.h"

/* Immutable, reference-counted. */
struct tfs_luanti_view {
    atomic_uint refs;
    struct tfs_save *save;
    struct tfs_chunk chunk;  /* with a reference to what it holds */
    struct tfs_blob *stored; /* NULL: the row has no value, or could not be fetched */
    bool unread;             /* the latter; the next time it may be there */
    char *damage;            /* why it does not decode; NULL: `block` is set */
    struct tfs_luanti_block block;
};

/* Fetches and decodes; what does not decode is a view with `damage`. ENOENT: there is no such
 * chunk. */
int tfs_luanti_view_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_luanti_view **view, struct tfs_error *err);
/* The same of a chunk whose bytes a walk has fetched: the files of the chunk, which are read next,
 * find the view in the cache. */
int tfs_luanti_view_keep(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_chunk *fetched, struct tfs_luanti_view **view,
                         struct tfs_error *err);
/* The same of a chunk, without the cache, for walks over a whole save. */
int tfs_luanti_view_make(struct tfs_save *save, const struct tfs_chunk *chunk,
                         struct tfs_luanti_view **view, struct tfs_error *err);
/* The first one, of a chunk that must decode. */
int tfs_luanti_view_need(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_luanti_view **view, struct tfs_error *err);
struct tfs_luanti_view *tfs_luanti_view_ref(struct tfs_luanti_view *view);
void tfs_luanti_view_unref(struct tfs_luanti_view *view); /* NULL is legal */

/* The order of names that the save's blocks of that version have: found once, by looking into a few
 * of them. */
int tfs_luanti_view_order(struct tfs_save *save, const struct tfs_doc *doc, uint8_t version,
                          enum tfs_luanti_order *order, struct tfs_error *err);

/* The version that a new chunk gets: the highest of some blocks that can be read, 29 where there is
 * none. Found once for a document. */
int tfs_luanti_view_newest(struct tfs_save *save, const struct tfs_doc *doc, uint8_t *version,
                           struct tfs_error *err);

/* Makes the encoded block the chunk's; nothing changes when it is that already. */
int tfs_luanti_view_store(struct tfs_edit *edit, const struct tfs_luanti_view *view,
                          const struct tfs_luanti_block *block, struct tfs_error *err);
/* The same of stored bytes, which are known to decode. */
int tfs_luanti_view_put(struct tfs_edit *edit, const struct tfs_luanti_view *view,
                        struct tfs_span bytes, struct tfs_error *err);

/* What is remembered of names (names.h). */
struct tfs_luanti_memory *tfs_luanti_view_memory(struct tfs_save *save);

/* The cache of a save (save->cache): created when the save is opened. */
int tfs_luanti_cache_create(struct tfs_save *save, struct tfs_error *err);
void tfs_luanti_cache_free(struct tfs_save *save);

#endif
