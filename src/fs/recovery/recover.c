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
#include "formats/astray.h"
#include "formats/undo/undo.h"
#include "formats/unsaved.h"
#include "formats/containers/file.h"
#include "fs/tree/changes.h"
#include "fs/recovery/apply.h"
#include "fs/store/store.h"

static bool is_locked(const struct tfs_save *save)
{
    return save->options.lock == TFS_LOCK_EXCLUSIVE;
}

/* Else nothing is written, neither the save nor what is beside it. */
static bool may_write(const struct tfs_save *save)
{
    return is_locked(save) && save->read_only == NULL;
}

static void drop_doc(struct tfs_recovery *r)
{
    tfs_doc_unref(r->doc);
    r->doc = NULL;
}

/* ---- setting aside --------------------------------------------------------------------------- */

struct filling {
    struct tfs_unsaved *unsaved;
    size_t files; /* that were put there */
};

static int put_file(void *arg, const char *path, struct tfs_span bytes)
{
    struct filling *f = arg;
    const int result = tfs_unsaved_add(f->unsaved, path, bytes);

    f->files += result == 0;
    return result;
}

static int add_journal(const struct tfs_recovery *r, const struct filling *f)
{
    if (r->doc != NULL && r->text.damaged == 0 && f->files > 0)
        return 0;
    return tfs_unsaved_add(f->unsaved, "journal", tfs_blob_span(r->text.bytes));
}

/* As files to be imported, where the records fit what the save holds now; and as they are, where
 * not all of them can be read that way. */
static int fill(void *arg, struct tfs_unsaved *unsaved)
{
    const struct tfs_recovery *r = arg;
    struct filling f = {.unsaved = unsaved};
    int lost = 0;

    if (r->doc != NULL)
        lost = tfs_changes_files(r->save, r->save->doc, r->doc, "", put_file, &f);
    return tfs_first_failure(lost, add_journal(r, &f));
}

/* What must not be lost of that. */
static int fill_stored(void *arg, struct tfs_unsaved *unsaved)
{
    const struct tfs_recovery *r = arg;
    struct filling f = {.unsaved = unsaved};
    int lost = 0;

    if (r->doc != NULL)
        lost = tfs_changes_stored(r->save, r->save->doc, r->doc, put_file, &f);
    return tfs_first_failure(lost, add_journal(r, &f));
}

/* The mount that accepted the edits has set them aside itself where it met the same conflict. */
static int store_aside(struct tfs_recovery *r, char **directory)
{
    const struct tfs_save *save = r->save;
    struct tfs_unsaved_for whose = tfs_unsaved_whose(save);

    whose.whole = true;
    *directory = tfs_unsaved_find(&whose, fill_stored, r);
    if (*directory != NULL)
        return 0;
    return tfs_unsaved_store(&whose, fill, r, directory);
}

/* The edits are not the save's: they go to a directory of their own, and the journal goes. */
static int set_aside(struct tfs_recovery *r, const char *why, struct tfs_error *err)
{
    char *directory = NULL;

    if (!may_write(r->save)) {
        tfs_recovery_say(r, "warning: the journal beside it is not used: %s", why);
        return 0;
    }
    const int result = store_aside(r, &directory);
    if (result < 0) {
        r->save->no_journal = true;
        tfs_recovery_say(r,
                         "warning: the journal beside it is not used, for %s; it stays, and could "
                         "not be set aside: %s",
                         why, strerror(-result));
    } else if (tfs_journal_remove(r->beside, err) == 0) {
        tfs_recovery_say(r, "warning: %s not restored, for %s; what was edited is in %s",
                         tfs_recovery_edits(r, "was", "were"), why, directory);
    }
    free(directory);
    return err->code;
}

/* Did the process that was killed write some of several files already? */
static bool is_half(const struct tfs_recovery *r)
{
    bool half = false;

    for (size_t i = 0; i < r->files.count; i++)
        half = half || r->files.files[i].wrote;
    return half;
}

/* ---- a save that is one file ----------------------------------------------------------------- */

/* Why the edits must not be brought into what the save holds; NULL: they belong to it. */
static const char *stranger(struct tfs_recovery *r)
{
    if (!tfs_journal_first(&r->text, r->hash, &r->first))
        return "another program changed the save since";
    return NULL;
}

/* A backup that somebody put back holds what the journal began with, and was written after its last
 * edit. A time of modification alone may lie in the future: archives of another time zone have such
 * ones. A journal that was copied came with the save. */
static bool was_put_back(const struct tfs_recovery *r)
{
    return !r->text.copied && tfs_hash_equal(r->hash, r->text.save) &&
           tfs_is_later(r->save->st.st_mtim, r->last) && tfs_is_later(r->save->st.st_ctim, r->last);
}

/* The save holds the edits already: the program that wrote them into the save could not remove the
 * journal, or was killed before. */
static bool holds_all(const struct tfs_recovery *r)
{
    return r->doc != NULL && tfs_doc_same(r->save->doc, r->doc);
}

/* The edits, or those before the damage, are shown where there are `any`; `others`: more is to be
 * said of them. */
static void show(struct tfs_recovery *r, bool any, const char *others)
{
    if (any)
        tfs_recovery_show(r);
    if (r->text.damaged > 0)
        tfs_recovery_say(r,
                         "warning: its journal is damaged at offset %ju, what follows is not shown",
                         (uintmax_t)r->text.damaged);
    else if (any)
        tfs_recovery_say(r, "%s only in its journal yet%s", tfs_recovery_edits(r, "is", "are"),
                         others);
}

/* Nothing is lost: what is not written yet can be read. */
static int fail_restore(struct tfs_recovery *r, const struct tfs_error *why, struct tfs_error *err)
{
    const bool full = why->code == -ENOSPC || why->code == -EDQUOT;

    return tfs_fail(err, why->code, "%s not be restored from its journal: %.200s%s",
                    tfs_recovery_edits(r, "could", "could"), why->text,
                    full ? "; make room, until then -o ro and commands that read show them" : "");
}

/* The save could not be written: because of the edits, which are set aside then, or of the disk. */
static int fail_write(struct tfs_recovery *r, const struct tfs_error *why, struct tfs_error *err)
{
    struct tfs_error misfit = {0};

    if (tfs_recovery_read_again(r, &misfit) == -EBADMSG)
        return set_aside(r, misfit.text, err);
    return fail_restore(r, why, err);
}

static int commit(struct tfs_recovery *r, struct tfs_error *err)
{
    r->save->checked = r->doc;
    const int result = r->save->container->commit(r->save, r->doc, err);
    r->save->checked = NULL;
    return result;
}

/* All that can be read of the journal is in the save. A damaged one was set aside, or stays. */
static void say_restored(struct tfs_recovery *r, const char *directory)
{
    const char *edits = tfs_recovery_edits(r, "was", "were");

    if (r->text.damaged == 0)
        tfs_recovery_say(r, "%s restored from its journal", edits);
    else
        tfs_recovery_say(
            r,
            "warning: its journal is damaged at offset %ju: %s restored, what follows is lost; "
            "the journal is in %s",
            (uintmax_t)r->text.damaged, edits, directory != NULL ? directory : "its place");
}

static int write_into_save(struct tfs_recovery *r, struct tfs_error *err)
{
    char *directory = NULL;
    struct tfs_error why = {0};

    if (r->count > 0 && commit(r, &why) < 0)
        return fail_write(r, &why, err);
    drop_doc(r); /* what is set aside of a damaged journal is the journal alone */
    if (r->text.damaged > 0 && store_aside(r, &directory) < 0)
        r->save->no_journal = true;
    else
        tfs_journal_remove(r->beside, err);
    say_restored(r, directory);
    free(directory);
    return err->code;
}

static int bring_up_to_date(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_error misfit = {0}, unread = {0};
    const char *why = stranger(r);

    if (tfs_recovery_apply(r, &misfit) == -ENOMEM)
        return tfs_fail_memory(err);
    if (why == NULL && misfit.code != 0)
        why = misfit.text;
    if (why == NULL && r->count > 0 && was_put_back(r))
        why = "the save was put back since";
    if ((why != NULL || !may_write(r->save)) && tfs_recovery_read_again(r, &unread) == -ENOMEM)
        return tfs_fail_memory(err);
    if (why == NULL && unread.code != 0)
        why = unread.text;
    if (holds_all(r)) {
        why = NULL;
        r->count = 0;
    }
    if (why != NULL)
        return set_aside(r, why, err);
    if (!may_write(r->save)) {
        show(r, r->count > 0, "");
        return 0;
    }
    tfs_undo_replay(r->save->keeper, false);
    if (r->count > 0 || r->text.damaged > 0)
        write_into_save(r, err);
    else
        tfs_journal_remove(r->beside, err);
    tfs_undo_replayed(r->save->keeper);
    return err->code;
}

/* ---- a save of several files ----------------------------------------------------------------- */

/* The edits of files that are not ours any more, and a journal that is damaged, go to a directory
 * of their own, before anything takes the journal's place. */
static int set_theirs_aside(struct tfs_recovery *r, char **directory)
{
    struct tfs_doc *ours = r->doc;

    r->doc = r->theirs;
    int result = store_aside(r, directory);
    r->doc = ours;
    return result;
}

/* Do the edits themselves keep the save from being written? */
static bool is_misfit(int code)
{
    return code == -EBADMSG || code == -EINVAL || code == -ENOTSUP;
}

/* 1: they could not be written, and were set aside. */
static int write_files(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_error why = {0};

    tfs_undo_replay(r->save->keeper, is_half(r));
    if (tfs_recovery_says_more(r, r->doc))
        tfs_journal_restore(r->save, r->beside, &r->text, r->doc, &why);
    tfs_undo_replayed(r->save->keeper);
    if (is_misfit(why.code))
        return set_aside(r, why.text, err) < 0 ? err->code : 1;
    if (why.code < 0)
        return fail_restore(r, &why, err);
    return tfs_journal_remove(r->beside, err);
}

static int restore_files(struct tfs_recovery *r, struct tfs_error *err)
{
    const bool theirs = tfs_recovery_says_more(r, r->theirs) || r->misfit,
               ours = tfs_recovery_says_more(r, r->doc);
    char *directory = NULL;
    int written = 1;

    const int aside = theirs || r->text.damaged > 0 ? set_theirs_aside(r, &directory) : 0;
    if (aside < 0) {
        r->save->no_journal = true;
        tfs_recovery_say(r,
                         "warning: its journal is not used; it stays, and could not be set aside: "
                         "%s",
                         strerror(-aside));
    } else {
        written = write_files(r, err);
    }
    if (written == 0 && theirs && r->text.damaged == 0)
        tfs_recovery_say(
            r, "warning: %s%sparts of %zu edit%s were not restored, for %s; they are in %s",
            ours ? tfs_recovery_edits(r, "was", "were") : "",
            ours ? " restored from its journal; " : "", r->theirs_count,
            r->theirs_count == 1 ? "" : "s", TFS_RECOVERY_OTHERS, directory);
    else if (written == 0 && (ours || r->text.damaged > 0))
        say_restored(r, directory);
    free(directory);
    return err->code;
}

static int show_files(struct tfs_recovery *r)
{
    const bool theirs = tfs_recovery_says_more(r, r->theirs) || r->misfit,
               ours = tfs_recovery_says_more(r, r->doc);

    show(r, ours, theirs ? "; others are not shown, for " TFS_RECOVERY_OTHERS : "");
    if (theirs && !ours && r->text.damaged == 0)
        tfs_recovery_say(r, "warning: its journal is not used: %s", TFS_RECOVERY_OTHERS);
    return 0;
}

static int bring_files_up_to_date(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_error misfit = {0};

    r->misfit = tfs_recovery_apply_files(r, true, &r->theirs, &r->theirs_count, &misfit) < 0;
    if (misfit.code != -ENOMEM) {
        tfs_error_reset(&misfit);
        tfs_recovery_apply_files(r, false, &r->doc, &r->count, &misfit);
    }
    if (misfit.code == -ENOMEM)
        return tfs_fail_memory(err);
    if (misfit.code < 0) {
        drop_doc(r);
        return set_aside(r, misfit.text, err);
    }
    return may_write(r->save) ? restore_files(r, err) : show_files(r);
}

/* ---- any save -------------------------------------------------------------------------------- */

static int recover(struct tfs_recovery *r, struct tfs_error *err)
{
    int result = tfs_recovery_read(r, err);

    if (result <= 0)
        return result;
    return tfs_container_has_files(r->save->container) ? bring_files_up_to_date(r, err)
                                                       : bring_up_to_date(r, err);
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
    char said[TFS_ERROR_TEXT] = "";
    const size_t size = strlen(notice);
    struct tfs_recovery r = {.save = save, .notice = said, .beside = beside};
    const int result = recover_all(&r, err);

    snprintf(notice + size, TFS_ERROR_TEXT - size, "%s%s", size > 0 && *said != '\0' ? "; " : "",
             said);
    tfs_recovery_release(&r);
    return result;
}

/* That of an earlier version goes first: what is written from now on is in the other one. */
static int recover_both(struct tfs_save *save, char *notice, struct tfs_error *err)
{
    char *beside = tfs_journal_beside(save), *earlier = NULL;

    if (beside == NULL)
        return tfs_fail_memory(err);
    if (tfs_journal_earlier(save, &earlier, err) == 0 &&
        (earlier == NULL || recover_beside(save, earlier, notice, err) == 0) &&
        recover_beside(save, beside, notice, err) == 0)
        tfs_astray_say(save->astray, beside, notice);
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
