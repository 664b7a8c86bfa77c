/*
 * JSON by Jansson, which calls a text wrong, or writes where it has no memory, when an allocation
 * fails: here it gets all that a text of this size can need before it begins.
 */
#ifndef TFS_TEXT_JSON_H
#define TFS_TEXT_JSON_H

#include <jansson.h>

#include "base/bytes.h"

/* A text that was read. A thread has one at a time. */
struct tfs_json {
    json_t *root; /* NULL: the text is no JSON, or nested deeper than 2048, as `why` says */
    json_error_t why;
};

/* 0, with `json` to be closed, or -ENOMEM. `flags`: as of json_loadb. */
int tfs_json_open(struct tfs_span text, size_t flags, struct tfs_json *json);
void tfs_json_close(struct tfs_json *json);

#endif
