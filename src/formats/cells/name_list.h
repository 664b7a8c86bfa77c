/*
 * Distinct names, each once.
 */
#ifndef TFS_FORMATS_CELLS_NAME_LIST_H
#define TFS_FORMATS_CELLS_NAME_LIST_H

#include "base/words.h"

/* Zero-initialised = empty; to be released after a failure too. */
struct tfs_name_list {
    struct tfs_words words;
    uint32_t *order; /* the words' numbers, until a name is added */
};

/* A tfs_name_fn (formats/format.h). The empty name has no line and is left out. */
int tfs_name_list_add(void *list, struct tfs_span name, struct tfs_error *err);
/* Sets the order: that in which the names came; that of their bytes. */
int tfs_name_list_number(struct tfs_name_list *list, struct tfs_error *err);
int tfs_name_list_sort(struct tfs_name_list *list, struct tfs_error *err);
void tfs_name_list_release(struct tfs_name_list *list);

static inline struct tfs_span tfs_name_list_at(const struct tfs_name_list *list, uint32_t i)
{
    return tfs_words_at(&list->words, list->order[i]);
}

#endif
