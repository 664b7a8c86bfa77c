/*
 * The save changed on disk: it is read again when nothing of ours is lost by that, and stays as it
 * is when something would be. Run by the store's thread only.
 */
#include <errno.h>
#include <string.h>

#include "formats/containers/folder.h"
#include "fs/store/state.h"

static const char conflict_sentence[] =
    "the save was changed by another program while edits were pending, and nothing was written: "
    "unmount to get the edits as files";

static void tell(struct tfs_store *store, const char *text)
{
    if (store->client.message != NULL)
        store->client.message(store->client.arg, store, text);
}

static void turned(struct tfs_store *store)
{
    if (store->client.turned != NULL)
        store->client.turned(store->client.arg, store);
}

#define TOLD_MAX 20 /* lines about damage at a time */

static bool has_note(const struct tfs_facts *facts, const char *text)
{
    for (size_t i = 0; facts != NULL && i < facts->note_count; i++)
        if (strcmp(facts->notes[i].text, text) == 0)
            return true;
    return false;
}

/* Damage that was not known when `before` was read. All of it stands in info.txt. */
static void tell_damage(struct tfs_store *store, const struct tfs_facts *before,
                        const struct tfs_facts *now)
{
    struct tfs_error line = {0};
    size_t found = 0;

    for (size_t i = 0; now != NULL && now != before && i < now->note_count; i++) {
        if (now->notes[i].kind != TFS_NOTE_DAMAGED || has_note(before, now->notes[i].text) ||
            ++found > TOLD_MAX)
            continue;
        tfs_error_reset(&line);
        tfs_fail(&line, -EBADMSG, "damaged: %s", now->notes[i].text);
        tfs_store_log(store, &line);
    }
    if (found <= TOLD_MAX)
        return;
    tfs_error_reset(&line);
    tfs_fail(&line, -EBADMSG, "damaged: %zu more, which info.txt names", found - TOLD_MAX);
    tfs_store_log(store, &line);
}

/* 1: it can be read again, having been broken. */
static int reload(struct tfs_store *store, struct tfs_error *err)
{
    /* Slots that edits gave out since must not be given to other chunks. */
    struct tfs_facts *before = tfs_facts_ref(store->save->doc->facts);
    int result = tfs_doc_reserve_slots(&store->save->doc, store->key_count, err);
    if (result == 0)
        result = store->save->container->reload(store->save, err);
    if (result == 0)
        tell_damage(store, before, store->save->doc->facts);
    tfs_facts_unref(before);
    bool was_broken = store->broken != 0;
    if (result != -ENOMEM)
        store->broken = result;
    if (result == 0) {
        pthread_mutex_lock(&store->lock);
        store->st = store->save->st;
        pthread_mutex_unlock(&store->lock);
    }
    return result == 0 && was_broken ? 1 : result;
}

/* Shows save->doc, which was just read or written and is what is on disk; or remembers to. */
static int show_saved(struct tfs_store *store, struct tfs_error *err)
{
    store->unshown = true;
    if (tfs_store_reserve(store, store->save->doc, err) < 0)
        return err->code;
    tfs_store_publish(store, tfs_doc_ref(store->save->doc), true);
    store->unshown = false;
    return 0;
}

/* Reads what is on disk now into save->doc. What cannot be read is told once. */
static int read_theirs(struct tfs_store *store, struct tfs_error *err)
{
    bool was_broken = store->broken != 0;
    int result = reload(store, err);

    if (result == -ENOMEM)
        return result;
    if (result < 0 && !was_broken)
        tfs_store_log(store, err);
    if (result > 0 || (result < 0 && !was_broken))
        turned(store);
    return result < 0 ? -EIO : 0;
}

static void tell_reading(struct tfs_store *store)
{
    tell(store, "changed by another program, read again");
}

void tfs_store_mend(struct tfs_store *store)
{
    struct tfs_error ignored = {0};

    if (store->broken == 0)
        return;
    pthread_mutex_lock(&store->io);
    bool same = store->save->container->changed(store->save, NULL, &ignored) == 0;
    pthread_mutex_unlock(&store->io);
    if (!same)
        return;
    store->broken = 0;
    turned(store);
    tell(store, "can be read again");
}

/* Shows what is on disk now. */
static int take_theirs(struct tfs_store *store, struct tfs_error *err)
{
    int result = read_theirs(store, err);

    if (result < 0)
        return result;
    if (show_saved(store, err) < 0)
        return err->code;
    tell_reading(store);
    return 0;
}

/* ---- our edits onto theirs ------------------------------------------------------------------- */

struct rebasing {
    struct tfs_store *store;
    struct tfs_edit *edit;
    struct tfs_error *err;
};

static int fail_misfit(struct tfs_error *err)
{
    return tfs_fail(err, -ESTALE,
                    "the save was changed by another program, and is laid out otherwise now: our "
                    "edits do not fit it");
}

static bool fits(const struct rebasing *r, const struct tfs_chunk *chunk)
{
    struct tfs_error why = {0};

    return tfs_chunk_fits(r->store->save->tree, r->store->shown, r->edit->base, chunk, &why) == 0;
}

static int rebase_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct rebasing *r = arg;

    if (!fits(r, after != NULL ? after : before))
        return fail_misfit(r->err);
    if (after == NULL) {
        if (tfs_doc_find(tfs_edit_doc(r->edit), before->key) == NULL)
            return 0;
        return tfs_edit_remove(r->edit, before->key, r->err);
    }
    return tfs_edit_put(r->edit, after, r->err);
}

static int rebase_common(struct rebasing *r, const struct tfs_doc *old, const struct tfs_doc *ours)
{
    if (old->common == ours->common)
        return 0;
    if (!fits(r, NULL))
        return fail_misfit(r->err);
    tfs_edit_common(r->edit, ours->common);
    return 0;
}

/* `onto`, which was read again, with what differs between `old` and `ours`. */
static int rebase_onto(struct tfs_store *store, struct tfs_doc *onto, const struct tfs_doc *old,
                       const struct tfs_doc *ours, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_edit edit;
    struct rebasing r = {store, &edit, err};
    int result = tfs_edit_open(onto, &edit, err);

    if (result < 0)
        return result;
    tfs_edit_keep_slots(&edit, store->key_count);
    result = tfs_doc_diff(old, ours, rebase_chunk, &r);
    if (result == 0)
        result = rebase_common(&r, old, ours);
    if (result == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    /* One that went and came again has another slot since, which is known. Nobody has seen *doc. */
    if (result == 0 && tfs_doc_keep_slots(*doc, ours, err) < 0) {
        tfs_doc_unref(*doc);
        *doc = NULL;
        result = err->code;
    }
    return result;
}

static int rebase(struct tfs_store *store, const struct tfs_doc *old, const struct tfs_doc *ours,
                  struct tfs_doc **doc, struct tfs_error *err)
{
    return rebase_onto(store, store->save->doc, old, ours, doc, err);
}

int tfs_store_follow(struct tfs_store *store, const struct tfs_doc *committed,
                     struct tfs_error *err)
{
    struct tfs_doc *doc = NULL;

    if (store->save->doc->version == committed->version)
        return 0;
    if (store->shown == committed)
        return show_saved(store, err);
    store->unshown = true;
    if (rebase(store, committed, store->shown, &doc, err) < 0 ||
        tfs_store_reserve(store, doc, err) < 0) {
        tfs_doc_unref(doc);
        return err->code;
    }
    tfs_store_publish(store, doc, true);
    store->unshown = false;
    return 0;
}

/* ---- chunks that are read later -------------------------------------------------------------- */

/* What `doc`, one of the store's, says beside `old`, on `now`; nothing for NULL. */
static int complete_doc(struct tfs_store *store, const struct tfs_doc *old, struct tfs_doc *now,
                        const struct tfs_doc *doc, struct tfs_doc **completed,
                        struct tfs_error *err)
{
    if (doc != NULL && doc->version != old->version)
        return rebase_onto(store, now, old, doc, completed, err);
    *completed = doc == NULL ? NULL : tfs_doc_ref(now);
    return 0;
}

#define OTHERS 3

/* All documents of the store get the same chunks, none of which is an edit: `now` is `old` with
 * them. */
static int complete_all(struct tfs_store *store, const struct tfs_doc *old, struct tfs_doc *now,
                        struct tfs_error *err)
{
    struct tfs_doc **const docs[OTHERS] = {&store->journal_base, &store->journaled,
                                           &store->rewrite.completed};
    struct tfs_doc *shown = NULL, *completed[OTHERS] = {NULL};
    int result = complete_doc(store, old, now, store->shown, &shown, err);

    for (unsigned i = 0; i < OTHERS && result == 0; i++)
        result = *docs[i] == store->shown
                     ? (completed[i] = tfs_doc_ref(shown), 0)
                     : complete_doc(store, old, now, *docs[i], &completed[i], err);
    if (result == 0)
        result = tfs_store_reserve(store, shown, err);
    for (unsigned i = 0; i < OTHERS; i++) {
        tfs_doc_unref(result == 0 ? *docs[i] : completed[i]);
        *docs[i] = result == 0 ? completed[i] : *docs[i];
    }
    if (result == 0)
        tfs_store_publish_completed(store, tfs_doc_ref(shown), now);
    tfs_doc_unref(shown);
    return result;
}

/* While the save is written it is the writer's, but regions that nobody has asked for are none that
 * it writes. */
static int complete_beside(struct tfs_store *store, const struct tfs_key *chunk,
                           struct tfs_error *err)
{
    struct tfs_doc *old = tfs_doc_ref(store->saved), *base = tfs_doc_ref(old), *now = NULL;
    int result = tfs_doc_reserve_slots(&base, store->key_count, err);

    if (result == 0)
        result = tfs_folder_complete(store->save, base, chunk, &now, err);
    if (result == 0)
        result = complete_all(store, old, now, err);
    if (result == 0)
        tell_damage(store, old->facts, now->facts);
    if (result == 0 && store->rewrite.base == NULL)
        store->rewrite.base = tfs_doc_ref(old);
    tfs_doc_unref(now);
    tfs_doc_unref(base);
    tfs_doc_unref(old);
    return result;
}

static int complete(struct tfs_store *store, const struct tfs_key *chunk, struct tfs_error *err)
{
    pthread_mutex_lock(&store->io);
    struct tfs_doc *old = tfs_doc_ref(store->saved);
    /* Slots that edits gave out since must not be given to other chunks. */
    int result = tfs_doc_reserve_slots(&store->save->doc, store->key_count, err);
    if (result == 0)
        result = tfs_save_complete(store->save, chunk, err);
    if (result == 0) {
        tell_damage(store, old->facts, store->save->doc->facts);
        store->unshown = true;
        result = complete_all(store, old, store->save->doc, err);
        store->unshown = result < 0;
    }
    tfs_doc_unref(old);
    pthread_mutex_unlock(&store->io);
    return result;
}

int tfs_store_complete(struct tfs_store *store, const struct tfs_key *chunk, struct tfs_error *err)
{
    if (!tfs_save_lacks(store->save, store->shown, chunk))
        return 0;
    if (store->unshown)
        return TFS_JOB_WAITS;
    return tfs_store_is_rewriting(store) ? complete_beside(store, chunk, err)
                                         : complete(store, chunk, err);
}

/* Of several files some may be written: that is put onto what was read, too. Without memory all is
 * read again. */
void tfs_store_complete_written(struct tfs_store *store)
{
    struct tfs_rewrite_work *r = &store->rewrite;
    struct tfs_doc *doc = NULL, *reached = store->save->doc;
    struct tfs_error ignored = {0};

    if (r->base == NULL)
        return;
    if (reached->version == r->doc->version)
        doc = tfs_doc_ref(r->completed);
    else if (reached->version == r->base->version)
        doc = tfs_doc_ref(store->saved);
    else if (rebase_onto(store, store->saved, r->base, reached, &doc, &ignored) < 0)
        store->unshown = true;
    if (doc != NULL) {
        tfs_doc_unref(reached);
        store->save->doc = doc;
    }
    tfs_doc_unref(r->doc);
    r->doc = tfs_doc_ref(r->completed);
    tfs_doc_unref(r->base);
    r->base = NULL;
}

/* ---- edits of files that others left alone --------------------------------------------------- */

/* Puts our edited chunks onto the save as it is now, which could be read before. Where that cannot
 * be, nothing is shown, edited or written: our edits must never be written over a save that they
 * were not made for. */
static int rebase_edits(struct tfs_store *store, struct tfs_error *err)
{
    struct tfs_doc *old = tfs_doc_ref(store->saved), *doc = NULL;
    int result = reload(store, err);

    store->unshown = result == 0;
    if (result < 0 && result != -ENOMEM)
        result = err->code = -EIO; /* nothing is wrong with what the caller wrote */
    if (result == 0)
        result = rebase(store, old, store->shown, &doc, err);
    if (result == 0)
        result = tfs_store_reserve(store, doc, err);
    if (result == 0) {
        tfs_store_publish(store, tfs_doc_ref(doc), true);
        store->unshown = false;
        tell(store, "changed by another program; our edits were put onto it");
    }
    tfs_doc_unref(doc);
    tfs_doc_unref(old);
    return result;
}

struct dispute {
    struct tfs_save *save;
    struct tfs_key last; /* the file that was looked at */
    bool looked;
};

/* Was the file of a chunk that we change changed by others? */
static int is_disputed(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct dispute *d = arg;
    const struct tfs_container *container = d->save->container;
    const struct tfs_key chunk = after != NULL ? after->key : before->key;
    const struct tfs_key file = container->journal->file_of(d->save, chunk);
    struct tfs_error ignored = {0};

    if (d->looked && tfs_key_compare(file, d->last) == 0)
        return 0;
    d->last = file;
    d->looked = true;
    return container->changed(d->save, &chunk, &ignored) != 0;
}

/* Did other programs change any file that our edits change? True, too, where a save is one file. */
static bool disputes(struct tfs_store *store)
{
    struct dispute dispute = {.save = store->save};

    return store->save->container->files == NULL ||
           tfs_doc_diff(store->save->doc, store->shown, is_disputed, &dispute) != 0;
}

/* Changed others only what our edits leave alone? */
static bool is_undisputed(struct tfs_store *store)
{
    return store->broken == 0 && !store->unshown && tfs_store_differs(store) && !disputes(store);
}

static int fail_conflict(struct tfs_error *err)
{
    return tfs_fail(err, -ESTALE, "%s", conflict_sentence);
}

static int resolve(struct tfs_store *store, bool editing, struct tfs_error *err)
{
    if (!editing)
        return take_theirs(store, err);
    return is_undisputed(store) ? rebase_edits(store, err) : fail_conflict(err);
}

bool tfs_store_may_conflict(struct tfs_store *store)
{
    if (store->save->container->files == NULL || store->broken != 0 || store->unshown ||
        !tfs_store_differs(store))
        return true;
    pthread_mutex_lock(&store->io);
    const bool disputed = disputes(store);
    pthread_mutex_unlock(&store->io);
    return disputed;
}

int tfs_store_look(struct tfs_store *store, bool editing, struct tfs_error *err)
{
    struct tfs_error ignored = {0};

    if (editing && tfs_container_is_database(store->save->container) && !store->unshown)
        return 0;
    pthread_mutex_lock(&store->io);
    int result = 0;
    /* With no edit of ours in the document, what was read last can be shown at any time. */
    if (store->unshown && !tfs_store_differs(store))
        result = show_saved(store, err);
    if (result == 0 &&
        (store->unshown || store->save->container->changed(store->save, NULL, &ignored) != 0))
        result = resolve(store, editing, err);
    pthread_mutex_unlock(&store->io);
    return result;
}

int tfs_store_fail_conflict(struct tfs_error *err)
{
    const struct tfs_error why = *err;

    tfs_error_reset(err);
    return tfs_fail(err, -ESTALE, "%.150s; %s", why.text, conflict_sentence);
}
