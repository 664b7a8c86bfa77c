/*
 * info.txt of a game that has nothing to add.
 */
#include "formats/info.h"

#include "formats/views/views.h"

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    (void)at;
    tfs_info_begin(out, save, doc);
    tfs_picture_info(out, save->tree, doc);
    tfs_info_end(out, save, doc);
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_info_lens = {.get = info_get};
