/*
 * The journal of a store: with commit=N, what was accepted is appended to it and durable before the
 * caller hears so; the save follows. Run by the store's thread only.
 *
 * Invariants:
 *   1. save and journal on disk say together what `journaled` shows; without a journal, what
 *      `saved` shows;
 *   2. the journal belongs to the document `journal_base`: when another one is saved, it is removed
 * or replaced by one that belongs to that;
 *   3. while the save is rewritten, the journal knows the hash of the new one before it takes the
 *      place of the old one: a crash at any moment leaves either save, and the edits that it lacks.
 */
#include <errno.h>
#include <time.h>

#include "formats/journal.h"
#include "fs/store_state.h"

#define JOURNAL_MAX (UINT64_C(64) << 20)

bool tfs_store_journals(const struct tfs_store *store)
{
    const struct tfs_save *save = store->save;

    return store->options.commit_seconds > 0 && !store->options.read_only &&
           save->container->hash != NULL && !save->no_journal;
}

static void set_journaled(struct tfs_store *store, struct tfs_doc *base, struct tfs_doc *doc)
{
    if (base != NULL)
        tfs_doc_ref(base);
    if (doc != NULL)
        tfs_doc_ref(doc);
    tfs_doc_unref(store->journal_base);
    tfs_doc_unref(store->journaled);
    store->journal_base = base;
    store->journaled = doc;
}

static void count_edits(struct tfs_store *store, size_t edits)
{
    pthread_mutex_lock(&store->lock);
    store->journal_edits = edits;
    pthread_mutex_unlock(&store->lock);
}

size_t tfs_store_journal_edits(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    size_t edits = store->journal_edits;
    pthread_mutex_unlock(&store->lock);
    return edits;
}

static void let_go(struct tfs_store *store)
{
    tfs_journal_close(store->journal);
    store->journal = NULL;
    set_journaled(store, NULL, NULL);
    count_edits(store, 0);
}

/* ---- what is accepted ------------------------------------------------------------------------ */

/* Is there a journal that more can be appended to? */
static bool goes_on(const struct tfs_store *store)
{
    return store->journal != NULL && !tfs_journal_broken(store->journal) &&
           store->journal_base->version == store->saved->version;
}

/* A new journal with all that the save lacks; an old one stays until the new one is durable. */
static int begin(struct tfs_store *store, struct tfs_span record, struct tfs_error *err)
{
    struct tfs_save *save = store->save;
    struct tfs_journal *journal = NULL;
    struct tfs_hash hash;

    pthread_mutex_lock(&store->io);
    int result = save->container->hash(save, &hash, err);
    if (result == 0)
        result = tfs_journal_create(save->path, &save->st, hash, record, &journal, err);
    pthread_mutex_unlock(&store->io);
    if (result < 0)
        return result;
    tfs_journal_close(store->journal);
    store->journal = journal;
    set_journaled(store, store->saved, store->shown);
    return 0;
}

static int append(struct tfs_store *store, struct tfs_span record, struct tfs_error *err)
{
    if (tfs_journal_append(store->journal, TFS_JOURNAL_EDIT, record, err) < 0 ||
        tfs_journal_sync(store->journal, err) < 0)
        return err->code;
    set_journaled(store, store->journal_base, store->shown);
    return 0;
}

int tfs_store_journal_add(struct tfs_store *store, struct tfs_error *err)
{
    const bool more = goes_on(store);
    const struct tfs_doc *from = more ? store->journaled : store->saved;
    struct tfs_buf record = {0};
    struct timespec now;

    if (from->version == store->shown->version)
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    int result = tfs_record_make(store->save, from, store->shown, now, &record, err);
    if (result == 0)
        result = more ? append(store, tfs_buf_span(&record), err)
                      : begin(store, tfs_buf_span(&record), err);
    tfs_buf_release(&record);
    if (result == 0)
        count_edits(store, store->journal_edits + 1);
    return result;
}

bool tfs_store_journal_is_full(const struct tfs_store *store)
{
    return store->journal != NULL && tfs_journal_size(store->journal) > JOURNAL_MAX;
}

/* ---- when the save follows ------------------------------------------------------------------- */

/* That the journal does not hear of it does not hold up the rewrite: after a crash right behind it
 * the edits would be set aside as files, though the save holds them. */
static int on_finished(void *arg, struct tfs_hash hash, struct tfs_error *err)
{
    struct tfs_store *store = arg;
    struct tfs_error ignored = {0};

    (void)err;
    if (store->journal != NULL && !tfs_journal_broken(store->journal) &&
        tfs_journal_append(store->journal, TFS_JOURNAL_MARK, (struct tfs_span){0}, &ignored) == 0 &&
        tfs_journal_append_done(store->journal, hash, &ignored) == 0)
        (void)tfs_journal_sync(store->journal, &ignored);
    return 0;
}

void tfs_store_journal_watch(struct tfs_store *store)
{
    store->save->rewrite = (struct tfs_rewrite){on_finished, store};
}

void tfs_store_journal_settle(struct tfs_store *store)
{
    struct tfs_error err = {0};

    if (store->journal == NULL)
        return;
    /* Our edits stand on another save now: the old journal would set them aside after a crash. */
    if (tfs_store_differs(store) && !store->unshown &&
        store->journal_base->version != store->saved->version) {
        if (tfs_store_journal_add(store, &err) < 0)
            tfs_store_log(store, &err);
        return;
    }
    if (tfs_store_differs(store) || store->unshown)
        return;
    int result = tfs_journal_remove(store->save->path, &err);
    if (result == -ENOMEM)
        return; /* tried again with the next batch, and at the end */
    if (result < 0)
        tfs_store_log(store, &err);
    let_go(store);
}

void tfs_store_journal_close(struct tfs_store *store)
{
    tfs_store_journal_settle(store);
    let_go(store);
}
