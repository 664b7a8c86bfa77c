/*
 * A journal that was read -> written into the save, set aside, or shown: see recover.h.
 */
#include "fs/recovery/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "formats/containers/folder.h"
#include "formats/undo/undo.h"
#include "fs/recovery/edits.h"
#include "fs/recovery/foreign.h"

#define OTHERS "another program changed the save since"

static bool is_locked(const struct tfs_save *save)
{
    return save->options.lock == TFS_LOCK_EXCLUSIVE;
}

/* Else nothing is written, neither the save nor what is beside it. */
static bool may_write(const struct tfs_save *save)
{
    return is_locked(save) && save->read_only == NULL;
}

/* "3 edits until 2026-11-22 10:20:00 were": with the verb for one edit or for several. The text is
 * there until the next one. */
static const char *say_edits(struct tfs_recovery *r, size_t count, const char *was,
                             const char *were)
{
    const bool one = count == 1;
    char date[TFS_TIME_TEXT];

    snprintf(r->edits, sizeof(r->edits), "%zu %s until %s %s", count, one ? "edit" : "edits",
             tfs_time_print(r->last.tv_sec, date), one ? was : were);
    return r->edits;
}

/* One of several files that the process which was killed wrote already, to be freed; NULL: none. */
static char *find_written(const struct tfs_recovery *r)
{
    const struct tfs_container *container = r->save->container;
    char *path = NULL;

    for (size_t i = 0; i < r->files.count && path == NULL; i++)
        if (r->files.files[i].wrote && tfs_container_has_files(container))
            path = container->journal->path(r->save, r->files.files[i].key);
    return path;
}

/* ---- what belongs to the save ---------------------------------------------------------------- */

static size_t count_edits(const struct tfs_journal_text *text)
{
    size_t count = 0;

    for (size_t i = 0; i < text->count; i++)
        count += text->records[i].kind == TFS_JOURNAL_EDIT;
    return count;
}

/* None of it does, for this reason. */
static void disown(struct tfs_recovery *r, const char *why)
{
    for (size_t i = 0; i < r->files.count; i++)
        r->files.files[i].ours = false;
    tfs_doc_unref(r->doc);
    r->doc = NULL;
    r->count = 0;
    r->foreign = count_edits(&r->text);
    snprintf(r->why, sizeof(r->why), "%s", why);
}

static int find_edits(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_error misfit = {0};

    if (tfs_recovery_apply(r, &misfit) == 0 && !may_write(r->save))
        tfs_recovery_read_again(r, &misfit);
    if (misfit.code == -ENOMEM)
        return tfs_fail_memory(err);
    if (misfit.code < 0)
        disown(r, misfit.text);
    else if (r->foreign > 0)
        snprintf(r->why, sizeof(r->why), "%s", OTHERS);
    return 0;
}

/* `count`: edits that were applied; `directory`: where the others are, or the damaged journal,
 * which comes before what may be too long; NULL: nowhere else. */
static void say_found(struct tfs_recovery *r, size_t count, const char *directory)
{
    const bool written = may_write(r->save);
    const char *was = written ? "was" : "is", *were = written ? "were" : "are";

    if (count > 0)
        tfs_recovery_say(r->notice, "%s %s", say_edits(r, count, was, were),
                         written ? "restored from its journal" : "only in its journal yet");
    if (directory != NULL)
        tfs_recovery_say(r->notice, "%s in %s",
                         r->foreign > 0 ? "what was not restored is" : "the damaged journal is",
                         directory);
    if (r->foreign > 0)
        tfs_recovery_say(r->notice, "warning: %s not %s, for %s",
                         say_edits(r, r->foreign, was, were), written ? "restored" : "shown",
                         r->why);
    if (r->text.damaged > 0)
        tfs_recovery_say(r->notice,
                         "warning: its journal is damaged at offset %ju, what follows is %s",
                         (uintmax_t)r->text.damaged, written ? "not restored" : "not shown");
}

/* ---- written --------------------------------------------------------------------------------- */

/* Nothing is lost: what is not written yet can be read. */
static int fail_restore(struct tfs_recovery *r, const struct tfs_error *why, struct tfs_error *err)
{
    const bool full = why->code == -ENOSPC || why->code == -EDQUOT;

    return tfs_fail(err, why->code, "%s not be restored from its journal: %.200s%s",
                    say_edits(r, r->count, "could", "could"), why->text,
                    full ? "; make room, until then -o ro and commands that read show them" : "");
}

/* Do the edits themselves keep the save from being written? */
static bool is_misfit(struct tfs_recovery *r, int code)
{
    struct tfs_error why = {0};

    return code == -EBADMSG || code == -EINVAL || code == -ENOTSUP ||
           tfs_recovery_read_again(r, &why) == -EBADMSG;
}

/* 0, also where the edits turn out to be foreign. */
static int write_ours(struct tfs_recovery *r, struct tfs_error *err)
{
    char *written = find_written(r);
    struct tfs_error why = {0};

    tfs_undo_apart(r->save->keeper, written);
    free(written);
    r->save->checked = r->doc;
    if (tfs_recovery_says_more(r))
        tfs_journal_restore(r->save, r->beside, &r->text, r->doc, &why);
    r->save->checked = NULL;
    tfs_undo_apart(r->save->keeper, NULL);
    if (why.code == 0)
        return 0;
    if (!is_misfit(r, why.code))
        return fail_restore(r, &why, err);
    disown(r, why.text);
    return 0;
}

/* What is foreign goes to a directory of its own before it leaves the journal, as does a journal
 * that is damaged. False: there is no room, and the journal stays. */
static bool set_aside(struct tfs_recovery *r, char **directory)
{
    const int result = tfs_foreign_keep(r, r->save->doc, (struct tfs_span){0}, directory);

    if (result == 0)
        return true;
    r->save->no_journal = true;
    tfs_recovery_say(r->notice,
                     "warning: the journal beside it is not used, for %s; it stays, and could not "
                     "be set aside: %s",
                     r->foreign > 0 ? r->why : "it is damaged", strerror(-result));
    return false;
}

static int restore(struct tfs_recovery *r, struct tfs_error *err)
{
    const size_t count = tfs_recovery_says_more(r) ? r->count : 0;
    char *directory = NULL, *more = NULL;

    if ((r->foreign > 0 || r->text.damaged > 0) && !set_aside(r, &directory))
        return 0;
    const bool ours = r->doc != NULL;
    write_ours(r, err);
    const bool late = err->code == 0 && ours && r->doc == NULL;
    if (err->code == 0 && (!late || set_aside(r, &more)) && tfs_journal_remove(r->beside, err) == 0)
        say_found(r, late ? 0 : count, late ? more : directory);
    free(directory);
    free(more);
    return err->code;
}

/* ---- any save -------------------------------------------------------------------------------- */

static int recover(struct tfs_recovery *r, struct tfs_error *err)
{
    int result = tfs_recovery_read(r, err);

    if (result <= 0)
        return result;
    if (find_edits(r, err) < 0)
        return err->code;
    if (may_write(r->save))
        return restore(r, err);
    const size_t count = tfs_recovery_says_more(r) ? r->count : 0;
    if (count > 0) {
        tfs_doc_unref(r->save->doc);
        r->save->doc = r->doc;
        r->doc = NULL;
    }
    say_found(r, count, NULL);
    return 0;
}

/* The journal of a folder is about all its files: who writes into one of them brings in what it
 * says of the others, too, and shows the one again behind that. */
static int recover_all(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_save *save = r->save;
    char *only = save->only;

    if (only == NULL || !may_write(save) || tfs_journal_find(r->beside, err) <= 0)
        return err->code < 0 ? err->code : recover(r, err);
    save->only = NULL;
    if (save->container->reload(save, err) == 0)
        recover(r, err);
    save->only = only;
    return err->code < 0 ? err->code : save->container->reload(save, err);
}

/* One journal: what is to be said of it goes behind the notice. */
static int recover_beside(struct tfs_save *save, const char *beside, char *notice,
                          struct tfs_error *err)
{
    struct tfs_recovery r = {.save = save, .notice = notice, .beside = beside};
    const int result = recover_all(&r, err);

    tfs_recovery_release(&r);
    return result;
}

/* Those of version 0.1, which opened one of several files as a save of its own. One that cannot be
 * used does not keep the folder from having a journal. */
static int recover_alone(struct tfs_save *save, char *notice, struct tfs_error *err)
{
    const bool no_journal = save->no_journal;
    struct tfs_facts *facts = tfs_facts_ref(save->doc->facts);
    const struct tfs_folder_known *known = facts->folder;

    for (size_t i = 0; known != NULL && i < known->files.count && err->code == 0; i++) {
        const struct tfs_key key = known->files.files[i]->key;
        char *file = save->container->journal->path(save, key);
        const int there = file == NULL ? tfs_fail_memory(err) : tfs_journal_find(file, err);
        if (there > 0 && key.group == 0)
            recover_beside(save, file, notice, err);
        else if (there > 0)
            tfs_recovery_say(notice,
                             "warning: a journal that version 0.1 left beside a region of a "
                             "coarser level is not used");
        free(file);
    }
    save->no_journal = no_journal;
    tfs_facts_unref(facts);
    return err->code;
}

/* Those of an earlier version go first: what is written from now on is in the other one. */
static int recover_both(struct tfs_save *save, char *notice, struct tfs_error *err)
{
    char *beside = tfs_journal_beside(save), *earlier = NULL;

    if (beside == NULL)
        return tfs_fail_memory(err);
    if (recover_alone(save, notice, err) == 0 && tfs_journal_earlier(save, &earlier, err) == 0 &&
        (earlier == NULL || recover_beside(save, earlier, notice, err) == 0))
        recover_beside(save, beside, notice, err);
    free(earlier);
    free(beside);
    return err->code;
}

int tfs_recover(struct tfs_save *save, char notice[TFS_ERROR_TEXT], struct tfs_error *err)
{
    notice[0] = '\0';
    if (tfs_container_is_database(save->container))
        return 0;
    const int result = recover_both(save, notice, err);
    tfs_save_step(save, NULL, 0, 0);
    return result;
}
