/*
 * Strings of bytes, each kept once under a number that counts from 0. Zero-initialised = empty.
 */
#ifndef TFS_BASE_WORDS_H
#define TFS_BASE_WORDS_H

#include "base/buf.h"

struct tfs_word {
    size_t at, size; /* in bytes */
};

struct tfs_words {
    struct tfs_buf bytes;
    struct tfs_word *words;
    uint32_t count, capacity;
    uint32_t *table; /* number + 1 of a word; 0: free */
    size_t slots;    /* of the table: a power of two, or 0 */
};

void tfs_words_release(struct tfs_words *words);
void tfs_words_clear(struct tfs_words *words); /* forgets the words, keeps the memory */

/* The number of the word, which is added if it is not there. ENOMEM. */
int tfs_words_add(struct tfs_words *words, struct tfs_span word, uint32_t *number,
                  struct tfs_error *err);

/* Is it there? */
bool tfs_words_find(const struct tfs_words *words, struct tfs_span word, uint32_t *number);

/* Valid until the next word is added. */
struct tfs_span tfs_words_at(const struct tfs_words *words, uint32_t number);

#endif
