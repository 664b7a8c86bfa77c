/*
 * Distinct names, in the order in which they came or sorted: see name_list.h.
 */
#include "formats/cells/name_list.h"

#include <stdlib.h>

int tfs_name_list_add(void *list, struct tfs_span name, struct tfs_error *err)
{
    uint32_t ignored;

    return name.size == 0
               ? 0
               : tfs_words_add(&((struct tfs_name_list *)list)->words, name, &ignored, err);
}

static int compare_names(const void *a, const void *b, void *words)
{
    return tfs_span_compare(tfs_words_at(words, *(const uint32_t *)a),
                            tfs_words_at(words, *(const uint32_t *)b));
}

int tfs_name_list_number(struct tfs_name_list *list, struct tfs_error *err)
{
    free(list->order);
    list->order = calloc(list->words.count + (size_t)1, sizeof(*list->order));
    if (list->order == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < list->words.count; i++)
        list->order[i] = i;
    return 0;
}

int tfs_name_list_sort(struct tfs_name_list *list, struct tfs_error *err)
{
    if (tfs_name_list_number(list, err) == 0)
        qsort_r(list->order, list->words.count, sizeof(*list->order), compare_names, &list->words);
    return err->code;
}

void tfs_name_list_release(struct tfs_name_list *list)
{
    tfs_words_release(&list->words);
    free(list->order);
}
