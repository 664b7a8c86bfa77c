/*
 * The lines of info.txt that every format has: `key: value`, one a line, keys in lower case.
 */
#ifndef TFS_FORMATS_INFO_H
#define TFS_FORMATS_INFO_H

#include "formats/format.h"

/* format, container, chunks (count of group 0), bounds (chunk coordinates, "none" without
 * chunks). */
void tfs_info_begin(struct tfs_buf *out, const struct tfs_save *save, const struct tfs_doc *doc);

/* `key: value` with printf formatting. */
void tfs_info_line(struct tfs_buf *out, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* read-only (no, or why), damaged (one line each), warning (one line each). */
void tfs_info_end(struct tfs_buf *out, const struct tfs_save *save, const struct tfs_doc *doc);

#endif
