/*
 * A save that is written without being opened, as an undo does it.
 */
#ifndef TFS_FORMATS_HOLD_H
#define TFS_FORMATS_HOLD_H

#include "base/error.h"

/* Takes the lock that a container takes beside that of the save itself, which the caller locks: a
 * file shares the folder that it is one of, and a zone has its regions/ alone. A save that is
 * damaged or gone is known by the ending of its name. *fd: for the caller to close, -1: there is
 * nothing to lock. EWOULDBLOCK: another terrainfs has it; EROFS: edits wait in the folder. */
int tfs_hold_take(const char *path, const char *format, int *fd, struct tfs_error *err);

#endif
