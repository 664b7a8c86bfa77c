/*
 * Labels of rows and words of values, for grid*.c only: what reading and printing share.
 */
#ifndef TFS_TEXT_GRID_TOKENS_H
#define TFS_TEXT_GRID_TOKENS_H

#include "text/grid.h"

#define TFS_GRID_LABEL_MAX 32 /* "y=4294967295 z=4294967295 | " */

/* Writes the label of a row; returns what is behind it. */
uint8_t *tfs_grid_put_label(uint8_t *out, const struct tfs_grid_shape *shape, uint32_t y,
                            uint32_t z);

/* What a value looks like. Grids of other kinds of values differ in this alone. */
struct tfs_grid_tokens {
    /* Reads values from the front of `text` until `count` are read or something is not a value that
     * is allowed. Stores them from index `first`; *at becomes the offset behind the last good one.
     * Returns how many. */
    uint32_t (*read)(const struct tfs_grid_tokens *tokens, struct tfs_span text, size_t first,
                     uint32_t count, size_t *at);
    /* Says what is wrong with `word`, which `read` did not take. */
    int (*refuse)(const struct tfs_grid_tokens *tokens, const struct tfs_line *word,
                  struct tfs_error *err);
    const struct tfs_grid_rules *rules;
    void *values; /* uint32_t or uint64_t */
    bool wide;    /* uint64_t */
};

/* Takes the whole of `word` as one value, a uint32_t or (`wide`) a uint64_t. False: it is none that
 * is allowed, and *value may be anything. */
bool tfs_grid_take_word(const struct tfs_grid_rules *rules, struct tfs_span word, bool wide,
                        void *value);

/* Those of the rules' base. `wide`: values are uint64_t. */
struct tfs_grid_tokens tfs_grid_tokens(const struct tfs_grid_rules *rules, void *values, bool wide);

#endif
