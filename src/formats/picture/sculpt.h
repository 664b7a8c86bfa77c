/*
 * Heights that shall be -> changed chunks.
 */
#ifndef TFS_FORMATS_PICTURE_SCULPT_H
#define TFS_FORMATS_PICTURE_SCULPT_H

#include "formats/picture/columns.h"

/* Makes the columns of the box as high as `after` says; `before` is how high they are. Both have
 * box->sx * box->sz heights, measured from the bottom of the box, which need not be that of the
 * document. EBADMSG names the first pixel that cannot be. */
int tfs_sculpt(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_picture_box *box,
               const uint16_t *before, const uint16_t *after, struct tfs_error *err);

#endif
