/*
 * The journal of a store: what was accepted and does not go straight into the save is appended to
 * it and durable before the caller hears so; the save follows. Run by the store's thread only.
 *
 * Invariants:
 *   1. save and journal on disk say together what `journaled` shows; without a journal, what
 *      `saved` shows;
 *   2. the journal belongs to the document `journal_base`: when another one is saved, it is removed
 *      or replaced by one that belongs to that;
 *   3. while the save is rewritten, the journal knows the hash of the new one before it takes the
 *      place of the old one: a crash at any moment leaves either save, and the edits that it lacks.
 *      So what is appended first leads to what is shown from the new one, too: an edit that puts
 *      back what the old one has is an edit of the new one;
 *   4. before more than one file of a save is written, the journal holds all of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "formats/journal.h"
#include "fs/store/state.h"

#define PART         4                    /* of the save: a record that is larger is not worth it */
#define LARGE        (UINT64_C(16) << 20) /* the same of a save of several files */
#define JOURNAL_FULL (UINT64_C(64) << 20) /* the save should follow, and old records go */

/* Can there be a journal? */
static bool is_possible(const struct tfs_store *store)
{
    const struct tfs_save *save = store->save;

    return !store->options.read_only && !save->no_journal &&
           !tfs_container_is_database(save->container);
}

bool tfs_store_journals(const struct tfs_store *store)
{
    return store->options.commit_auto && is_possible(store);
}

static bool has_files(const struct tfs_store *store)
{
    return tfs_container_has_files(store->save->container);
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
    store->journal_state = doc != NULL ? TFS_JOURNAL_LEADS : TFS_JOURNAL_ABSENT;
}

static void let_go(struct tfs_store *store)
{
    pthread_mutex_lock(&store->journal_lock);
    tfs_journal_close(store->journal);
    store->journal = NULL;
    pthread_mutex_unlock(&store->journal_lock);
    set_journaled(store, NULL, NULL);
}

/* ---- what is accepted ------------------------------------------------------------------------ */

static uint64_t size_of(struct tfs_store *store)
{
    pthread_mutex_lock(&store->journal_lock);
    uint64_t size = store->journal != NULL ? tfs_journal_size(store->journal) : 0;
    pthread_mutex_unlock(&store->journal_lock);
    return size;
}

static bool is_broken(struct tfs_store *store)
{
    pthread_mutex_lock(&store->journal_lock);
    bool broken = tfs_journal_broken(store->journal);
    pthread_mutex_unlock(&store->journal_lock);
    return broken;
}

/* A journal that goes on growing, because the save cannot follow, says the same chunks again and
 * again: a new one says each once. */
static bool is_overgrown(struct tfs_store *store)
{
    const uint64_t size = size_of(store);

    return size > JOURNAL_FULL && size / 2 > store->journal_begun;
}

/* Is there a journal that more can be appended to? */
static bool goes_on(struct tfs_store *store)
{
    return (store->journal_state == TFS_JOURNAL_LEADS ||
            store->journal_state == TFS_JOURNAL_BEHIND) &&
           !is_broken(store) && !is_overgrown(store) &&
           store->journal_base->version == store->saved->version;
}

/* `written`: it leads also from what is being written. */
static int make_record(struct tfs_store *store, const struct tfs_doc *from, bool written,
                       struct tfs_buf *record, struct tfs_error *err)
{
    const struct tfs_doc *other = written ? store->rewrite.doc : NULL;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return tfs_record_make(store->save, from, other, store->shown, now, record, err);
}

static int append(struct tfs_store *store, struct tfs_error *err)
{
    const bool behind = store->journal_state == TFS_JOURNAL_BEHIND;
    struct tfs_buf record = {0};

    if (make_record(store, store->journaled, behind, &record, err) == 0) {
        pthread_mutex_lock(&store->journal_lock);
        if (tfs_journal_append(store->journal, TFS_JOURNAL_EDIT, tfs_buf_span(&record), err) == 0)
            tfs_journal_sync(store->journal, err);
        pthread_mutex_unlock(&store->journal_lock);
    }
    tfs_buf_release(&record);
    if (err->code == 0)
        set_journaled(store, store->journal_base, store->shown);
    return err->code;
}

/* The hash of what is saved. While the save is rewritten it must be known. Of several files it is
 * in the records. */
static int find_hash(struct tfs_store *store, struct tfs_error *err)
{
    const struct tfs_journal_files *files = store->save->container->journal;
    struct stat st;

    if (store->hash_version == store->saved->version || has_files(store))
        return 0;
    if (tfs_store_is_rewriting(store))
        return tfs_fail(err, -EBUSY, "no journal can be made while the save is written");
    pthread_mutex_lock(&store->io);
    if (files->hash(store->save, (struct tfs_key){0}, &store->hash, &st, err) == 0)
        store->hash_version = store->saved->version;
    pthread_mutex_unlock(&store->io);
    return err->code;
}

static int create_journal(struct tfs_store *store, struct tfs_span first, struct tfs_error *err)
{
    struct tfs_journal *journal = NULL;

    pthread_mutex_lock(&store->journal_lock);
    if (tfs_journal_create(store->journal_beside, &store->st, store->hash, &store->marked, first,
                           &journal, err) == 0) {
        tfs_journal_close(store->journal);
        store->journal = journal;
    }
    pthread_mutex_unlock(&store->journal_lock);
    return err->code;
}

/* A new journal with all that the save lacks; an old one stays until the new one is durable. After
 * a failure either of them may be there. The writer must not end between the moment that the new
 * one is made of and the moment that it is there; of several files it may go on to the next one
 * before, and the new one says so. */
static int begin(struct tfs_store *store, struct tfs_error *err)
{
    struct tfs_buf record = {0};

    if (store->journal_beside == NULL)
        store->journal_beside = tfs_journal_beside(store->save);
    if (store->journal_beside == NULL)
        return tfs_fail_memory(err);
    if (make_record(store, store->saved, true, &record, err) == 0 && find_hash(store, err) == 0) {
        store->journal_state = TFS_JOURNAL_UNSURE;
        create_journal(store, tfs_buf_span(&record), err);
    }
    tfs_buf_release(&record);
    if (err->code < 0)
        return err->code;
    store->journal_begun = size_of(store);
    set_journaled(store, store->saved, store->shown);
    return 0;
}

/* What a journal holds that could not be made durable is not known: a new one takes its place. */
static int append_or_replace(struct tfs_store *store, struct tfs_error *err)
{
    struct tfs_error first = {0};

    if (append(store, &first) == 0)
        return 0;
    if (!is_broken(store))
        return tfs_fail(err, first.code, "%s", first.text);
    return begin(store, err);
}

int tfs_store_journal_add(struct tfs_store *store, struct tfs_error *err)
{
    const bool more = goes_on(store);
    const struct tfs_doc *from = more ? store->journaled : store->saved;

    if (from->version == store->shown->version)
        return 0;
    return more ? append_or_replace(store, err) : begin(store, err);
}

bool tfs_store_journal_is_too_much(struct tfs_store *store)
{
    const struct tfs_doc *from = goes_on(store) ? store->journaled : store->saved;

    return tfs_record_size(from, store->shown) >
           (has_files(store) ? LARGE : (uint64_t)store->st.st_size / PART);
}

static int cover(struct tfs_store *store, struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (!tfs_journal_files_many(store->save, store->saved, store->shown) ||
        tfs_store_journal_add(store, &why) == 0 || tfs_journal_spared(why.code))
        return 0;
    return tfs_fail(err, why.code, "%s", why.text);
}

bool tfs_store_journal_is_full(struct tfs_store *store)
{
    return size_of(store) > JOURNAL_FULL;
}

/* ---- when the save follows ------------------------------------------------------------------- */

static int on_wrote(void *arg, struct tfs_key file, struct tfs_hash hash, bool whole,
                    struct tfs_error *err)
{
    struct tfs_store *store = arg;

    pthread_mutex_lock(&store->journal_lock);
    tfs_record_wrote_put(&store->marked.wrote, (struct tfs_record_file){file, hash}, whole);
    tfs_record_wrote(store->journal, (struct tfs_record_file){file, hash}, whole, err);
    pthread_mutex_unlock(&store->journal_lock);
    return err->code;
}

/* Also in a journal that belongs to the save before this one. */
static int mark(struct tfs_store *store, struct tfs_error *err)
{
    pthread_mutex_lock(&store->journal_lock);
    store->marked.begun = tfs_journal_mark(store->journal, err) == 0;
    pthread_mutex_unlock(&store->journal_lock);
    return err->code;
}

int tfs_store_journal_mark(struct tfs_store *store, struct tfs_error *err)
{
    struct tfs_error unknown = {0}, first = {0};

    if (!is_possible(store))
        return 0;
    if (cover(store, err) < 0)
        return err->code;
    (void)find_hash(store, &unknown);
    /* One that takes nothing more gives way to a new one. */
    if (mark(store, &first) < 0 && (begin(store, err) < 0 || mark(store, err) < 0))
        return err->code;
    if (store->journal_state == TFS_JOURNAL_LEADS &&
        store->journaled->version != store->shown->version)
        store->journal_state = TFS_JOURNAL_BEHIND;
    return 0;
}

void tfs_store_journal_unmark(struct tfs_store *store, bool saved)
{
    struct tfs_record_file made = {0};
    bool whole = false;

    pthread_mutex_lock(&store->journal_lock);
    if (!has_files(store))
        (void)tfs_record_wrote_take(tfs_buf_span(&store->marked.wrote), &made, &whole);
    tfs_buf_release(&store->marked.wrote);
    store->marked = (struct tfs_journal_mark){0};
    pthread_mutex_unlock(&store->journal_lock);
    store->hash = made.hash;
    store->hash_version = saved && whole ? store->saved->version : 0;
}

void tfs_store_journal_reached(struct tfs_store *store, struct tfs_doc *reached)
{
    if (store->journal_base == NULL || store->journal_base->version != store->saved->version)
        return;
    tfs_doc_ref(reached);
    tfs_doc_unref(store->journal_base);
    store->journal_base = reached;
}

void tfs_store_journal_watch(struct tfs_store *store)
{
    store->save->rewrite = (struct tfs_rewrite){on_wrote, store};
}

static int settle(struct tfs_store *store, struct tfs_error *err)
{
    if (store->journal_state == TFS_JOURNAL_ABSENT || tfs_store_is_rewriting(store))
        return 0;
    /* Our edits stand on another save now: the old journal would set them aside after a crash. */
    if (tfs_store_differs(store) && store->disk != TFS_DISK_READ && store->journal != NULL &&
        store->journal_base->version != store->saved->version)
        return tfs_store_journal_add(store, err);
    if (tfs_store_differs(store) || store->disk == TFS_DISK_READ)
        return 0;
    if (tfs_journal_remove(store->journal_beside, err) == 0)
        let_go(store);
    return err->code;
}

void tfs_store_journal_settle(struct tfs_store *store, bool last)
{
    struct tfs_error err = {0};

    if (settle(store, &err) < 0 && last)
        tfs_store_log(store, &err);
}

void tfs_store_journal_close(struct tfs_store *store)
{
    let_go(store);
    free(store->journal_beside);
}
