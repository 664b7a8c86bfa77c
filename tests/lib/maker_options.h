/*
 * The command line of the generators in tests/tools: `--NAME VALUE` in any order, then one path.
 */
#ifndef TFS_TESTS_MAKER_OPTIONS_H
#define TFS_TESTS_MAKER_OPTIONS_H

#include "region_maker.h"

/* One option. With `words` (to NULL) *value is the index of the word given; else a number from low
 * to high; without `words` and a range, a flag that sets *value to 1. */
struct maker_option {
    const char *name;
    const char *const *words;
    long low, high;
    long *value;
};

/* The path, or NULL for a command line that is not like that. */
const char *maker_options_parse(int argc, char **argv, const struct maker_option *options,
                                size_t count);

/* Writes the file and releases the bytes: the exit status, 0 or 3; a failure is said on stderr. */
int maker_write_file(const char *path, struct maker_bytes *bytes);

#endif
