/*
 * What commands print for programs: values of JSON.
 */
#ifndef TFS_COMMANDS_JSON_H
#define TFS_COMMANDS_JSON_H

#include "base/buf.h"

/* A string. Names may turn the direction of text: they are escaped as in sentences. */
void tfs_json_string(struct tfs_buf *out, struct tfs_span text);

#endif
