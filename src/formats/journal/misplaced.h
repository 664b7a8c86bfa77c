/*
 * A journal beside a link: the save was moved, and the link has its old name. The edits in it
 * belong to the save, but nobody uses it there, so people have to hear of it.
 */
#ifndef TFS_FORMATS_JOURNAL_MISPLACED_H
#define TFS_FORMATS_JOURNAL_MISPLACED_H

#include "base/error.h"

/* The journal beside one of the links that lead from `path` to a save: malloc'ed. NULL: there is
 * none. */
char *tfs_astray_find(const char *path);

/* Adds a warning to the notice, which may be empty; nothing where `journal` is NULL. `beside`: the
 * file whose journal it would be. */
void tfs_astray_say(const char *journal, const char *beside, char notice[TFS_ERROR_TEXT]);

#endif
