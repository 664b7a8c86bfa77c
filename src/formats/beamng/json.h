/*
 * JSON, as far as it takes to find a member of an object: values are skipped, not built.
 */
#ifndef TFS_FORMATS_BEAMNG_JSON_H
#define TFS_FORMATS_BEAMNG_JSON_H

#include "base/buf.h"

#define TFS_BEAMNG_JSON_NESTING 64

/* The array that is the value of the member `key` of the object `text`: 1. 0: the text is not JSON
 * (RFC 8259, nested deeper than TFS_BEAMNG_JSON_NESTING), not an object, has no such member or
 * several, or its value is not an array of strings. -ENOMEM. */
int tfs_beamng_json_find_strings(struct tfs_span text, const char *key, struct tfs_span *array);

/* The value of the member `key` of the object that is all of `text`, the last one of several: 1.
 * 0: it has none. -EBADMSG: the text is no such object. -ENOMEM. */
int tfs_beamng_json_find(struct tfs_span text, const char *key, struct tfs_span *value);
/* A number, or a list of `count` numbers; also as a string, "-512 -512 0". */
bool tfs_beamng_json_numbers(struct tfs_span value, double *numbers, size_t count);
/* The bytes of a string, to be freed: 1. 0: it is none, or has a byte 0. -ENOMEM. */
int tfs_beamng_json_text(struct tfs_span value, char **text);

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
