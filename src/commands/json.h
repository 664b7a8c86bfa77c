/*
 * What commands print for programs: values of JSON.
 */
#ifndef TFS_COMMANDS_JSON_H
#define TFS_COMMANDS_JSON_H

#include <stdbool.h>

#include "base/buf.h"

/* A string. Names may turn the direction of text: they are escaped as in sentences. */
void tfs_json_string(struct tfs_buf *out, struct tfs_span text);

/* Members of an object: the first one begins it. The caller ends it. */
void tfs_json_text(struct tfs_buf *out, const char *key, const char *text);
void tfs_json_number(struct tfs_buf *out, const char *key, size_t number);
void tfs_json_bool(struct tfs_buf *out, const char *key, bool value);

#endif
