/*
 * The lines of info.txt that every format has: `key: value`, one a line, keys in lower case.
 */
#ifndef TFS_FORMATS_VIEWS_INFO_H
#define TFS_FORMATS_VIEWS_INFO_H

#include "formats/format.h"

/* What a game says of a save beside them; NULL: nothing. */
struct tfs_info_lines {
    void (*add)(struct tfs_buf *out, struct tfs_save *save, const struct tfs_doc *doc,
                struct tfs_error *err);
};

/* First format, container, chunks (count of group 0), bounds (chunk coordinates, "none" without
 * chunks); then the lines of the game; then read-only (no, or why), damaged and warning (one line
 * each). */
int tfs_info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                 struct tfs_buf *out, struct tfs_error *err);

#define TFS_INFO_LENS(lines)                                                                       \
    {                                                                                              \
        .param = &(const struct tfs_info_lines){lines}, .get = tfs_info_get                        \
    }

/* `key: value` with printf formatting. */
void tfs_info_line(struct tfs_buf *out, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
