/*
 * A journal that lies beside a link to its save -> what people should know: see misplaced.h.
 */
#include "formats/journal/misplaced.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/journal.h"
#include "formats/journal.h"

char *tfs_astray_find(const char *path)
{
    char *link = strdup(path), *next, *journal = NULL;
    struct stat st;

    for (int i = 0; i < TFS_LINKS_MAX && link != NULL && journal == NULL; i++) {
        if ((next = tfs_file_follow(link)) != NULL)
            journal = tfs_journal_path(link);
        if (journal != NULL && (lstat(journal, &st) < 0 || !S_ISREG(st.st_mode))) {
            free(journal);
            journal = NULL;
        }
        free(link);
        link = next;
    }
    free(link);
    return journal;
}

/* A mount may be about to make a journal where this one belongs, and what is there already may hold
 * edits: nothing may replace it. */
void tfs_astray_say(const char *journal, const char *beside, char notice[TFS_ERROR_TEXT])
{
    const size_t size = strlen(notice), room = TFS_ERROR_TEXT - size;
    const char *mark = size == 0 ? "warning" : "; warning", *name;
    char *here = journal != NULL ? tfs_journal_path(beside) : NULL;
    struct stat st;

    if (here == NULL)
        return;
    const bool taken = lstat(here, &st) == 0 || errno != ENOENT;
    const int said = snprintf(
        notice + size, room,
        "%s: edits that were accepted wait in %s, for the save is elsewhere by now; %s %s", mark,
        journal, taken ? "its place there is taken:" : "unmount, then mv -n that journal to", here);
    name = strrchr(journal, '/');
    if (said < 0 || (size_t)said >= room)
        snprintf(notice + size, room,
                 "%s: edits that were accepted wait in the journal %.120s beside a link "
                 "to the save",
                 mark, name != NULL ? name + 1 : journal);
    free(here);
}
