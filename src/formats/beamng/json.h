/*
 * JSON, as far as it takes to find one list of strings: values are skipped, not built.
 */
#ifndef TFS_FORMATS_BEAMNG_JSON_H
#define TFS_FORMATS_BEAMNG_JSON_H

#include "base/buf.h"

#define TFS_BEAMNG_JSON_NESTING 64

/* The array that is the value of the member `key` of the object `text`: 1. 0: the text is not JSON
 * (RFC 8259, nested deeper than TFS_BEAMNG_JSON_NESTING), not an object, has no such member or
 * several, or its value is not an array of strings. -ENOMEM. */
int tfs_beamng_json_find_strings(struct tfs_span text, const char *key, struct tfs_span *array);

/* A walk over the strings of such an array. `before` is the white space before the element, `text`
 * what is between its quotes; at the end (false) `before` is the white space before the bracket. */
struct tfs_beamng_json_strings {
    struct tfs_cursor in;
    struct tfs_span before, text;
};

struct tfs_beamng_json_strings tfs_beamng_json_strings_init(struct tfs_span array);
bool tfs_beamng_json_strings_next(struct tfs_beamng_json_strings *strings);

/* Appends the bytes that such a text stands for; a surrogate without its other half is U+FFFD. */
void tfs_beamng_json_decode(struct tfs_buf *out, struct tfs_span text);

/* Appends a string with its quotes; bytes that are not UTF-8 are U+FFFD each. */
void tfs_beamng_json_print(struct tfs_buf *out, struct tfs_span bytes);

#endif
