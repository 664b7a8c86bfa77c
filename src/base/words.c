/*
 * Strings of bytes <-> their numbers: a list, and a hash table of places in it.
 */
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void tfs_words_release(struct tfs_words *words)
{
    tfs_buf_release(&words->bytes);
    free(words->words);
    free(words->table);
    *words = (struct tfs_words){0};
}

void tfs_words_clear(struct tfs_words *words)
{
    tfs_buf_clear(&words->bytes);
    words->count = 0;
    if (words->table != NULL)
        memset(words->table, 0, words->slots * sizeof(*words->table));
}

struct tfs_span tfs_words_at(const struct tfs_words *words, uint32_t number)
{
    const struct tfs_word *word = &words->words[number];

    return (struct tfs_span){words->bytes.data + word->at, word->size};
}

/* The place in the table where the word stands, or would stand. */
static size_t find_slot(const struct tfs_words *words, struct tfs_span word)
{
    size_t at = tfs_checksum(word, 0) & (words->slots - 1);

    while (words->table[at] != 0 &&
           !tfs_span_equal(tfs_words_at(words, words->table[at] - 1), word))
        at = (at + 1) & (words->slots - 1);
    return at;
}

/* Makes room for one more word: the table is at most half full. */
static int grow(struct tfs_words *words, struct tfs_error *err)
{
    const uint32_t capacity = words->capacity == 0 ? 64 : words->capacity * 2;
    const size_t slots = (size_t)capacity * 2;

    if (words->count < words->capacity)
        return 0;
    struct tfs_word *list = reallocarray(words->words, capacity, sizeof(*list));
    if (list == NULL)
        return tfs_fail_memory(err);
    words->words = list;
    uint32_t *table = calloc(slots, sizeof(*table));
    if (table == NULL)
        return tfs_fail_memory(err);
    free(words->table);
    words->table = table;
    words->slots = slots;
    words->capacity = capacity;
    for (uint32_t i = 0; i < words->count; i++)
        table[find_slot(words, tfs_words_at(words, i))] = i + 1;
    return 0;
}

bool tfs_words_find(const struct tfs_words *words, struct tfs_span word, uint32_t *number)
{
    const uint32_t found = words->count > 0 ? words->table[find_slot(words, word)] : 0;

    if (found > 0)
        *number = found - 1;
    return found > 0;
}

int tfs_words_add(struct tfs_words *words, struct tfs_span word, uint32_t *number,
                  struct tfs_error *err)
{
    if (grow(words, err) < 0)
        return err->code;
    size_t slot = find_slot(words, word);
    if (words->table[slot] == 0) {
        size_t at = words->bytes.size;
        tfs_buf_add_span(&words->bytes, word);
        if (tfs_buf_check(&words->bytes, err) < 0)
            return err->code;
        words->words[words->count++] = (struct tfs_word){at, word.size};
        words->table[slot] = words->count;
    }
    *number = words->table[slot] - 1;
    return 0;
}
