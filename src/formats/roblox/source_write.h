/*
 * How a file that holds terrain is written (source.h says how it was read).
 *
 * What is written depends on the source and the document alone: every byte of the file is copied
 * but for the holders of values that differ from what was read. So a save whose edits were all
 * taken back is the file that was opened.
 */
#ifndef TFS_FORMATS_ROBLOX_SOURCE_WRITE_H
#define TFS_FORMATS_ROBLOX_SOURCE_WRITE_H

#include "formats/roblox/source.h"

/* For struct tfs_file_codec. What an encoding found out is kept for its check. */
int tfs_rbx_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                   struct tfs_error *err);
int tfs_rbx_check(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_readback *written,
                  struct tfs_error *err);
/* What the last encoding found out, and how it wrote holders, goes. */
void tfs_rbx_forget_changes(struct tfs_rbx_source *source);

/* For struct tfs_container: the checksum of all but the values that the tree shows. */
int tfs_rbx_rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err);

#endif
