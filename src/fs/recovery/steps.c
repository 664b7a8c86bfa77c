/*
 * A journal and its save on disk -> both as they were at one moment. See steps.h.
 */
#include "fs/recovery/steps.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define PAUSE_MS 20

void tfs_recovery_release(struct tfs_recovery *r)
{
    tfs_journal_text_release(&r->text);
    tfs_recover_files_release(&r->files);
    tfs_doc_unref(r->doc);
    tfs_doc_unref(r->theirs);
}

void tfs_recovery_say(char *notice, const char *format, ...)
{
    const size_t size = strlen(notice);
    const char *between = size > 0 ? "; " : "";
    va_list args;

    va_start(args, format);
    if (size + strlen(between) < TFS_ERROR_TEXT)
        vsnprintf(stpcpy(notice + size, between), TFS_ERROR_TEXT - size - strlen(between), format,
                  args);
    va_end(args);
}

const char *tfs_recovery_edits(struct tfs_recovery *r, size_t count, const char *was,
                               const char *were)
{
    const bool one = count == 1;
    char date[TFS_TIME_TEXT];

    snprintf(r->edits, sizeof(r->edits), "%zu %s until %s %s", count, one ? "edit" : "edits",
             tfs_time_print(r->last.tv_sec, date), one ? was : were);
    return r->edits;
}

void tfs_recovery_show(struct tfs_recovery *r)
{
    tfs_doc_unref(r->save->doc);
    r->save->doc = r->doc;
    r->doc = NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What a file says that has the name of a journal, but is none of ours. */
static bool is_foreign(int code)
{
    return code == -EPERM || code == -EBADMSG || code == -ENOTSUP || code == -EINVAL ||
           code == -ELOOP || code == -EFBIG;
}

/* Reads the journal: 1; 0 when there is none that can be used. */
static int read_journal(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_error why = {0};
    int result = tfs_journal_read(r->beside, &r->save->st, &r->text, &why);

    if (result >= 0 || result == -EAGAIN)
        return result;
    if (!is_foreign(result))
        return tfs_fail(err, result, "its journal: %s", why.text);
    r->save->no_journal = true;
    tfs_recovery_say(r->notice, "warning: %s", why.text);
    return 0;
}

/* A journal that is none of several files is checked with its records. */
static void look_at_files(struct tfs_recovery *r, struct tfs_error *err)
{
    tfs_recover_files_release(&r->files);
    if (tfs_recover_files_read(r->save, r->beside, &r->text, &r->files, err) == -EBADMSG)
        tfs_error_reset(err);
}

/* Is the save still what was read, beside this journal or none? 1, 0 or negative. */
static int is_settled(struct tfs_recovery *r, bool journal, struct tfs_error *err)
{
    const struct tfs_container *container = r->save->container;
    struct tfs_error changed = {0};

    if (container->changed(r->save, NULL, &changed) != 0)
        return container->reload(r->save, err) < 0 ? err->code : 0;
    if (!journal)
        return 1;
    look_at_files(r, &changed);
    if (changed.code < 0 && changed.code != -ESTALE)
        return tfs_fail(err, changed.code, "%s", changed.text);
    return changed.code == 0 && tfs_journal_current(r->beside, &r->text);
}

int tfs_recovery_read(struct tfs_recovery *r, struct tfs_error *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    const size_t said = strlen(r->notice);

    for (int i = 0; i < TFS_RECOVERY_TRIES; i++) {
        r->notice[said] = '\0';
        const int found = read_journal(r, err);
        /* What is at hand of the edited chunks decides what becomes of them. A file that was read
         * after the journal may be what a later record of that says. */
        const bool lacked = found > 0 && tfs_save_lacks(r->save, r->save->doc, NULL);
        if (lacked && tfs_save_complete(r->save, NULL, err) < 0)
            return err->code;
        int settled = found == -EAGAIN || lacked ? 0
                      : found < 0                ? found
                                                 : is_settled(r, found > 0, err);
        if (settled != 0)
            return settled < 0 ? settled : found;
        tfs_journal_text_release(&r->text);
        if (!lacked)
            nanosleep(&pause, NULL);
    }
    return tfs_fail(err, -EBUSY, "another program goes on changing it");
}
