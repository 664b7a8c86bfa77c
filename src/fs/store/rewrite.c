/*
 * When the save is written; and by whom: a thread of its own, so that edits are accepted, and
 * readers served, while the disk works. One rewrite at a time, of one document:
 *
 *   state    event                      next
 *   RESTS    tfs_store_rewrite_begin    WRITES
 *   WRITES   the writer is done         ENDED, and the store's thread is woken
 *   ENDED    tfs_store_rewrite_end      RESTS
 *   RESTS    tfs_store_rewriter_stop    LEAVES
 *
 * From WRITES to ENDED the save and its container are the writer's: the store's thread applies
 * edits, which only fetch chunks, and appends to the journal, whose lock both take; who asks for a
 * region that was not read yet waits. A database has no journal: its transaction is the store's
 * thread's own, and those that edit wait for it.
 */
#include "base/clock.h"
#include "fs/store/state.h"

/* ---- when ------------------------------------------------------------------------------------ */

bool tfs_pace_is_burst(const struct tfs_pace *pace, int64_t now)
{
    return pace->edited != 0 && now - pace->edited < TFS_BURST_MS;
}

void tfs_pace_edit(struct tfs_pace *pace, int64_t now, bool wait)
{
    pace->edited = now;
    if (wait && pace->waiting == 0)
        pace->waiting = now;
}

/* The save is being written: what is accepted from now on waits from the beginning. */
static void pace_begin(struct tfs_pace *pace)
{
    pace->waiting = 0;
    pace->hurries = false;
}

/* It was, and that took so long. */
static void pace_end(struct tfs_pace *pace, int64_t took_ms)
{
    pace->rewrite_ms = took_ms;
    pace->failed = 0;
}

void tfs_pace_saved(struct tfs_pace *pace)
{
    pace->waiting = pace->failed = 0;
    pace->hurries = false;
}

void tfs_pace_failed(struct tfs_pace *pace, int64_t now)
{
    pace->failed = now;
    pace->hurries = false;
}

void tfs_pace_hurry(struct tfs_pace *pace)
{
    pace->hurries = pace->failed == 0;
}

/* How long edits wait at most. */
static int64_t patience(const struct tfs_pace *pace)
{
    const int64_t long_rewrite = TFS_FOLLOW_BY * pace->rewrite_ms;

    return long_rewrite > TFS_FOLLOW_MS ? long_rewrite : TFS_FOLLOW_MS;
}

int64_t tfs_pace_deadline(const struct tfs_pace *pace)
{
    if (!pace->automatic)
        return 0;
    if (pace->failed != 0)
        return pace->failed + patience(pace);
    if (pace->waiting == 0)
        return 0;
    if (pace->hurries)
        return pace->waiting;
    const int64_t latest = pace->waiting + patience(pace);
    return tfs_sooner(latest, pace->edited + TFS_BURST_MS);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void set_state(struct tfs_store *store, enum tfs_rewrite_state state)
{
    pthread_mutex_lock(&store->lock);
    store->rewrite.state = state;
    pthread_cond_signal(&store->rewrite.work);
    pthread_mutex_unlock(&store->lock);
}

static void write_save(struct tfs_store *store)
{
    struct tfs_rewrite_work *r = &store->rewrite;
    const int64_t begun = tfs_store_now(store);

    tfs_error_reset(&r->err);
    pthread_mutex_lock(&store->io);
    r->result = store->save->container->commit(store->save, r->doc, &r->err);
    pthread_mutex_unlock(&store->io);
    r->took_ms = tfs_store_now(store) - begun;
}

static void *run(void *arg)
{
    struct tfs_store *store = arg;
    struct tfs_rewrite_work *r = &store->rewrite;

    pthread_mutex_lock(&store->lock);
    while (r->state != TFS_REWRITE_LEAVES) {
        if (r->state != TFS_REWRITE_WRITES) {
            pthread_cond_wait(&store->rewrite.work, &store->lock);
            continue;
        }
        pthread_mutex_unlock(&store->lock);
        write_save(store);
        pthread_mutex_lock(&store->lock);
        r->state = TFS_REWRITE_ENDED;
        pthread_cond_signal(&store->work);
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}

void tfs_store_rewriter_start(struct tfs_store *store)
{
    const struct tfs_container *container = store->save->container;
    struct tfs_rewrite_work *r = &store->rewrite;

    if (!tfs_container_is_database(container) && !store->options.read_only)
        r->started = pthread_create(&r->thread, NULL, run, store) == 0;
}

void tfs_store_rewriter_stop(struct tfs_store *store)
{
    struct tfs_rewrite_work *r = &store->rewrite;

    if (!r->started)
        return;
    set_state(store, TFS_REWRITE_LEAVES);
    pthread_join(r->thread, NULL);
    r->started = false;
}

void tfs_store_rewrite_begin(struct tfs_store *store)
{
    struct tfs_rewrite_work *r = &store->rewrite;

    r->doc = tfs_doc_ref(store->shown);
    pace_begin(&store->pace);
    if (r->started) {
        set_state(store, TFS_REWRITE_WRITES);
        return;
    }
    write_save(store);
    set_state(store, TFS_REWRITE_ENDED);
}

void tfs_store_rewrite_wait(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    while (store->rewrite.state == TFS_REWRITE_WRITES)
        pthread_cond_wait(&store->work, &store->lock);
    pthread_mutex_unlock(&store->lock);
}

static void set_saved(struct tfs_store *store, struct tfs_doc *doc, bool all)
{
    pthread_mutex_lock(&store->lock);
    tfs_doc_unref(store->saved);
    store->saved = tfs_doc_ref(doc);
    store->commits += all;
    store->st = store->save->st;
    pthread_mutex_unlock(&store->lock);
}

/* Of several files some were written before one failed: what is shown has to be brought to those,
 * too. */
static void set_reached(struct tfs_store *store)
{
    pthread_mutex_lock(&store->io);
    struct tfs_doc *reached = store->save->doc;
    if (tfs_container_has_files(store->save->container) &&
        reached->version != store->saved->version) {
        tfs_store_journal_reached(store, reached);
        set_saved(store, reached, false);
    }
    pthread_mutex_unlock(&store->io);
}

int tfs_store_rewrite_end(struct tfs_store *store, struct tfs_error *err)
{
    struct tfs_rewrite_work *r = &store->rewrite;
    struct tfs_error ignored = {0};

    if (r->result < 0)
        tfs_fail(err, r->result, "%s", r->err.text);
    pace_end(&store->pace, r->took_ms);
    if (r->result == 0) {
        pthread_mutex_lock(&store->io);
        set_saved(store, r->doc, true);
        /* What is written stays written if that has to wait. */
        (void)tfs_store_follow(store, r->doc, &ignored);
        pthread_mutex_unlock(&store->io);
    } else {
        set_reached(store);
    }
    tfs_store_journal_unmark(store, r->result == 0);
    tfs_doc_unref(r->doc);
    r->doc = NULL;
    set_state(store, TFS_REWRITE_RESTS);
    return err->code;
}
