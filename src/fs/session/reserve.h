/*
 * What the end of a session needs, kept from its beginning: descriptors and memory, so that edits
 * can be put on disk when there is nothing left of either.
 */
#ifndef TFS_FS_SESSION_RESERVE_H
#define TFS_FS_SESSION_RESERVE_H

#include "base/error.h"

/* A commit of any container needs 6 at most; below rejected/ lie directories 7 deep, and removing
 * what was kept in one place because another one was better takes two descriptors a level. */
#define TFS_RESERVE_FILES 24
/* 8 MiB: the longest text of a chunk that is rendered, several times over. Each piece is smaller
 * than what malloc maps alone (fs/mount/mount.c), and so lies in its heap: what was mapped goes
 * back to the system, and without memory a heap that grows by more than that cannot take it again.
 */
#define TFS_RESERVE_PIECES 8
#define TFS_RESERVE_PIECE  (1u << 20)

struct tfs_reserve {
    int files[TFS_RESERVE_FILES];
    unsigned count;
    void *pieces[TFS_RESERVE_PIECES];
};

/* Takes the reserve, and makes sure that there is as much again for the work until then. EMFILE,
 * ENFILE, ENOMEM: there is not. */
int tfs_reserve_open(struct tfs_reserve *reserve, struct tfs_error *err);
/* Gives it back. Also of a reserve that is all zero, or was released. */
void tfs_reserve_release(struct tfs_reserve *reserve);

#endif
