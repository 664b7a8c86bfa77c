/*
 * Files that are opened and written: what the verbs about handles and those about attributes share.
 * With the session's lock held, as everything in ops.h.
 */
#ifndef TFS_FS_SESSION_OP_FILE_H
#define TFS_FS_SESSION_OP_FILE_H

#include "fs/session/ops.h"

/* The inode of an id that may be opened so; made if it is one of the schema. */
int tfs_file_for_open(struct tfs_session *s, uint64_t id, bool write, struct tfs_inode **inode);
/* A file of the schema gets a draft, of what it shows now or `empty`; others need none. */
int tfs_file_begin_draft(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                         bool empty);
/* Within the caps; its draft has begun. */
int tfs_file_resize(struct tfs_session *s, struct tfs_inode *inode, uint64_t size);
/* A draft that is to have `size` bytes goes from memory into a file, if it is large and its lens
 * takes it so. Where there is no room for the file it stays. */
void tfs_file_spill(struct tfs_session *s, struct tfs_inode *inode, uint64_t size);
/* Its bytes were written, or cut to 0. */
void tfs_file_wrote(struct tfs_session *s, struct tfs_inode *inode, bool emptied);

/* Its bytes get this size; cut to 0, a draft begins as none, and is no longer poisoned. */
int tfs_file_truncate(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                      uint64_t size);

/* A look at the complete lines of a text while it is written: can they still become a document that
 * is accepted? Shells do not look at what close says, but at what write says. */
struct tfs_scan {
    struct tfs_blob *text; /* NULL: there is nothing to look at */
    struct tfs_doc *doc;
    struct tfs_node node;
    bool whole; /* the draft has nothing more */
};

/* Takes what is to be looked at. Nothing, where later bytes can still change these lines, where the
 * directory is new and its texts wait for others, and of long texts. */
void tfs_scan_begin(struct tfs_session *s, struct tfs_inode *inode, struct tfs_scan *scan);
/* 0, or -EBADMSG: then the draft is poisoned. The edit that a whole text makes is kept in the draft
 * for its commit point. Takes the lock; releases what it looked at. */
int tfs_scan_end(struct tfs_session *s, struct tfs_inode *inode, struct tfs_scan *scan);

#endif
