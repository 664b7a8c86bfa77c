/*
 * Running git: for what git itself knows best, its configuration and where its files lie.
 */
#ifndef TFS_COMMANDS_GIT_RUN_H
#define TFS_COMMANDS_GIT_RUN_H

#include "base/buf.h"

#define TFS_GIT_WORDS 12

/* Runs `git WORDS...` (ended by NULL, TFS_GIT_WORDS at most); what it prints is appended to `out`,
 * or goes to our standard output when that is NULL. Returns its exit status, or a negative errno
 * with a sentence where it could not be run or died. `quiet`: its complaints are not seen. */
int tfs_git_run(const char *const words[], bool quiet, struct tfs_buf *out, struct tfs_error *err);

#endif
