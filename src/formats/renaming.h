/*
 * palette.txt of the root, where voxels have names: the names of a save, sorted, one a line. An
 * edited line renames those voxels everywhere.
 */
#ifndef TFS_FORMATS_RENAMING_H
#define TFS_FORMATS_RENAMING_H

#include "base/words.h"
#include "formats/format.h"
#include "formats/palette.h"

/* Distinct names, sorted by bytes. Zero-initialised = empty; to be released after a failure too. */
struct tfs_name_list {
    struct tfs_words words;
    uint32_t *order; /* the words' numbers; set by _sort, until a name is added */
};

/* A tfs_name_fn. The empty name has no line and is left out. */
int tfs_name_list_add(void *list, struct tfs_span name, struct tfs_error *err);
int tfs_name_list_sort(struct tfs_name_list *list, struct tfs_error *err);
void tfs_name_list_release(struct tfs_name_list *list);

static inline struct tfs_span tfs_name_list_at(const struct tfs_name_list *list, uint32_t i)
{
    return tfs_words_at(&list->words, list->order[i]);
}

struct tfs_renaming;

/* What a game does; the `param` of the lens. */
struct tfs_renaming_kind {
    /* Gives the names of all chunks, some more than once. What cannot be read has none. */
    int (*names)(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each, void *arg,
                 struct tfs_error *err);
    /* Has the chunk a name that gets another one, or may it have one that cannot be read? NULL:
     * renaming it finds out. */
    bool (*needs)(struct tfs_save *save, const struct tfs_chunk *chunk,
                  const struct tfs_renaming *renaming, struct tfs_error *err);
    /* Renames what the chunk has, whose bytes were fetched where it was asked whether it needs
     * that. Of a damaged one: tfs_renaming_fail_damaged. */
    int (*rename)(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_chunk *chunk,
                  const struct tfs_renaming *renaming, struct tfs_error *err);
};

/* The new name; that of a name that has none is itself. */
struct tfs_span tfs_renaming_of(const struct tfs_renaming *renaming, struct tfs_span name);

/* Nobody knows which names the chunk has: EBADMSG, so that none keeps an old one. `why` may be
 * empty. */
int tfs_renaming_fail_damaged(const struct tfs_save *save, const struct tfs_chunk *chunk,
                              const char *why, struct tfs_error *err);

/* The functions of the lens. */
int tfs_renaming_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err);
int tfs_renaming_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err);

#endif
