/*
 * Files that are opened and written: what the verbs about handles and those about attributes share.
 * With the session's lock held, as everything in ops.h.
 */
#ifndef TFS_FS_OP_FILE_H
#define TFS_FS_OP_FILE_H

#include "fs/ops.h"

/* The inode of an id that may be opened so; made if it is one of the schema. */
int tfs_file_for_open(struct tfs_session *s, uint64_t id, bool write, struct tfs_inode **inode);
/* A file of the schema gets a draft, of what it shows now or `empty`; others need none. */
int tfs_file_begin_draft(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                         bool empty);
/* Within the caps; its draft has begun. */
int tfs_file_resize(struct tfs_session *s, struct tfs_inode *inode, uint64_t size);
/* Its bytes were written. */
void tfs_file_wrote(struct tfs_session *s, struct tfs_inode *inode);
int tfs_file_truncate(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                      uint64_t size);

#endif
