/*
 * The store's thread: takes all jobs that are queued, applies them one after another, makes what
 * is shown durable and hands them back. No other thread ever waits for the disk, and this one waits
 * for that of the journal alone: the save is written by the writer (rewrite.c).
 *
 * A job is queued, applied, and then answered; or it waits for a rewrite and is answered after
 * that:
 *
 *   what the job did       where its edit goes           it is answered
 *   nothing to be saved    -                             at once
 *   an edit, or a close    the journal                   once the journal is synced
 *   an edit, or a close    the save                      after a rewrite that holds it
 *   a barrier              -                             after a rewrite of all that is shown
 *
 * `in_rewrite` waits for the rewrite under way, `after` for the next one, which begins when that
 * has ended: so all callers that come together share one.
 * What "saved" means, for every caller:
 *   1. `saved` is the document of the last rewrite that succeeded to its very end (base/replace.c
 *      step 10, or COMMIT of a database with synchronous=EXTRA), or what was read when the save was
 *      opened or read again. One that fails in its last sync does not move it;
 *   2. everything shown and not in `saved` is unsaved;
 *   3. FLUSH of a handle that wrote, truncate(2), RENAME, MKDIR and RMDIR are answered 0 only with
 *      what was shown then in the save, or in the journal and that synced. A save without a journal
 *      is written in every mode. FSYNC is answered 0 only with it in the save, of any handle and in
 *      every mode. A rewrite that failed answers all that waited for it, and the next caller
 *      tries again;
 *   4. the journal goes only after the rewrite that saved its edits succeeded to its very end;
 *   5. only a document that its writer ended is checked: at FLUSH, FSYNC, truncate(2) or RENAME, or
 *      when its last writer is gone.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fs/store/state.h"

void tfs_store_submit(struct tfs_store *store, struct tfs_job *job)
{
    pthread_mutex_lock(&store->lock);
    *store->queue_end = job;
    store->queue_end = &job->next;
    pthread_cond_signal(&store->work);
    pthread_mutex_unlock(&store->lock);
}

/* ---- durability ------------------------------------------------------------------------------ */

/* Where what is accepted by a batch goes before its answers. */
enum route {
    TO_SAVE,    /* into the save itself */
    TO_JOURNAL, /* into the journal; the save follows */
};

/* `waited`: the save lacks edits of before. */
static enum route choose_route(struct tfs_store *store, bool waited)
{
    if (!tfs_store_journals(store))
        return TO_SAVE;
    if (tfs_store_journal_is_too_much(store))
        return TO_SAVE;
    return waited || tfs_pace_is_burst(&store->pace, tfs_store_now(store)) ? TO_JOURNAL : TO_SAVE;
}

/* Is this job told when what was accepted could not be made durable? */
static bool wants_durable(const struct tfs_job *job)
{
    return job->edited || job->saves;
}

/* The answers for callers that asked for the save, and for those that made edits. */
struct durability {
    int saved, accepted;
};

static void finish_job(struct tfs_job *job, struct durability done)
{
    const int result = job->barrier ? done.saved : wants_durable(job) ? done.accepted : 0;

    if (job->result == 0)
        job->result = result;
    if (job->kind->settle != NULL)
        job->kind->settle(job);
}

static void append_job(struct tfs_job **list, struct tfs_job *job)
{
    while (*list != NULL)
        list = &(*list)->next;
    job->next = NULL;
    *list = job;
}

/* A rewrite has come to its end, or none could be begun: this answers those that waited for it.
 * What the save could not take is durable where the journal takes it. */
static void finish_rewrite(struct tfs_store *store, int result, const struct tfs_error *why,
                           struct tfs_job **done)
{
    struct durability outcome = {result, result};
    struct tfs_error err = {0};

    if (result < 0) {
        tfs_store_log(store, why);
        tfs_pace_failed(&store->pace, tfs_store_now(store));
    }
    if (result < 0 && result != -ESTALE && tfs_store_journals(store) && tfs_store_differs(store) &&
        tfs_store_journal_add(store, &err) == 0)
        outcome.accepted = 0;
    for (struct tfs_job *job; (job = store->in_rewrite) != NULL;) {
        store->in_rewrite = job->next;
        if (wants_durable(job))
            tfs_pace_edit(&store->pace, tfs_store_now(store), false);
        finish_job(job, outcome);
        append_job(done, job);
    }
    if (!tfs_store_differs(store))
        tfs_pace_saved(&store->pace);
}

static bool has_rewrite_ended(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool ended = store->rewrite.state == TFS_REWRITE_ENDED;
    pthread_mutex_unlock(&store->lock);
    return ended;
}

/* What was saved before, and the same with the edits that were set aside. */
struct set_aside {
    struct tfs_doc *before, *edits;
};

/* Those of a list that wait for such edits hear of it, the last one first: each brings back what
 * was before it. */
static void tell_aside(struct tfs_job **list, const struct set_aside *aside, struct tfs_job **done)
{
    struct tfs_job *jobs = *list;

    *list = NULL;
    for (struct tfs_job *next; jobs != NULL; jobs = next) {
        next = jobs->next;
        if (!tfs_store_waits_for(jobs, aside->before, aside->edits)) {
            append_job(list, jobs);
            continue;
        }
        jobs->undone = jobs->edited;
        finish_job(jobs, (struct durability){-ESTALE, -ESTALE});
        jobs->next = *done;
        *done = jobs;
    }
}

/* Looks at what others wrote. */
static int meet_others(struct tfs_store *store, struct tfs_job **done, struct tfs_error *err)
{
    struct set_aside aside = {.before = tfs_doc_ref(store->saved)};
    const int result = tfs_store_look(store, &aside.edits, err);

    if (aside.edits != NULL) {
        tell_aside(&store->in_rewrite, &aside, done);
        tell_aside(&store->after, &aside, done);
    }
    tfs_doc_unref(aside.edits);
    tfs_doc_unref(aside.before);
    return result;
}

/* Another program was faster than a rewrite. False: that has nothing to do with others. */
static bool try_again(struct tfs_store *store, struct tfs_job **done, struct tfs_error *err)
{
    const uint64_t before = store->saved->version;
    struct tfs_error why = {0};

    if (meet_others(store, done, &why) < 0) {
        *err = why;
        return false;
    }
    if (store->saved->version == before)
        return false;
    for (struct tfs_job *job; (job = store->in_rewrite) != NULL;) {
        store->in_rewrite = job->next;
        append_job(&store->after, job);
    }
    tfs_pace_hurry(&store->pace);
    return true;
}

/* Hears what became of a rewrite, if one has ended. */
static void end_rewrite(struct tfs_store *store, struct tfs_job **done)
{
    struct tfs_error err = {0};

    if (!has_rewrite_ended(store))
        return;
    const int result = tfs_store_rewrite_end(store, &err);
    if (result != -ESTALE || !try_again(store, done, &err))
        finish_rewrite(store, err.code, &err, done);
}

/* Begins to bring the save up to date, for all that wait for it. */
static void begin_one(struct tfs_store *store, struct tfs_job **done)
{
    struct tfs_error err = {0};

    store->in_rewrite = store->after;
    store->after = NULL;
    int result = tfs_store_may_conflict(store) ? meet_others(store, done, &err) : 0;
    if (result == 0 && tfs_store_differs(store))
        result = tfs_store_journal_mark(store, &err);
    if (result < 0 || !tfs_store_differs(store)) {
        finish_rewrite(store, result, &err, done);
        return;
    }
    tfs_store_rewrite_begin(store);
    end_rewrite(store, done); /* where there is no writer */
}

/* Where another program was faster, it is tried again for the others. */
static void begin_rewrite(struct tfs_store *store, struct tfs_job **done)
{
    do
        begin_one(store, done);
    while (store->after != NULL && !tfs_store_is_rewriting(store));
}

static int64_t rewrite_deadline(struct tfs_store *store)
{
    return tfs_store_is_rewriting(store) ? 0 : tfs_pace_deadline(&store->pace);
}

static bool is_rewrite_due(struct tfs_store *store)
{
    const int64_t deadline = rewrite_deadline(store);

    return deadline != 0 && deadline <= tfs_store_now(store);
}

/* A caller that needs the save waits for it; all else that was accepted is durable in the journal,
 * or not at all. */
static void accept_job(struct tfs_store *store, struct tfs_job *job, enum route route, int journal,
                       struct tfs_job **done)
{
    const bool unsaved = tfs_store_differs(store), failed = journal < 0 && journal != -ENOMEM;
    /* One that failed already is a commit point for the edits that came before it all the same. */
    const bool to_save = job->barrier || (wants_durable(job) && (route == TO_SAVE || failed));

    if (unsaved && to_save) {
        append_job(store->rewrite.doc == store->shown ? &store->in_rewrite : &store->after, job);
        return;
    }
    if (job->edited && route != TO_SAVE)
        tfs_pace_edit(&store->pace, tfs_store_now(store), unsaved);
    finish_job(job, (struct durability){0, journal});
    append_job(done, job);
}

/* Makes what the jobs did durable, as far as it has to be; those that are done by then go to
 * `done`. What the journal cannot take goes into the save. */
static void make_durable(struct tfs_store *store, struct tfs_job *jobs, enum route route, bool last,
                         struct tfs_job **done)
{
    struct tfs_error err = {0};
    int journal = 0;

    if (route == TO_JOURNAL && tfs_store_differs(store))
        journal = tfs_store_journal_add(store, &err);
    if (tfs_store_journal_is_full(store))
        tfs_pace_hurry(&store->pace);
    for (struct tfs_job *next; jobs != NULL; jobs = next) {
        next = jobs->next;
        accept_job(store, jobs, route, journal, done);
    }
    if (!tfs_store_differs(store))
        tfs_pace_saved(&store->pace);
    if (tfs_store_is_rewriting(store))
        return;
    if (store->after != NULL || is_rewrite_due(store) || (last && tfs_store_differs(store)))
        begin_rewrite(store, done);
}

/* ---- one batch ------------------------------------------------------------------------------- */

/* An edit of what is shown would take back what others wrote. */
static int apply_job(struct tfs_store *store, struct tfs_job *job, int outside, bool last)
{
    if (store->disk == TFS_DISK_READ)
        return outside < 0 ? outside : -ENOMEM;
    return job->kind->apply != NULL ? job->kind->apply(job, last) : 0;
}

/* Is something under way that was made of what is shown, and that a reload would overtake? */
static bool is_editing(const struct tfs_store *store, const struct tfs_job *jobs)
{
    bool editing = tfs_container_is_database(store->save->container) && tfs_store_differs(store);

    for (const struct tfs_job *job = jobs; job != NULL; job = job->next)
        editing = editing || job->of_shown;
    return editing;
}

/* Do the jobs only read chunks, in files that are as they were read? */
static bool read_what_is_known(struct tfs_store *store, const struct tfs_job *jobs)
{
    bool known = jobs != NULL;

    for (const struct tfs_job *job = jobs; job != NULL && known; job = job->next)
        known = job->reads != NULL && tfs_store_current(store, job->reads);
    return known;
}

/* Once a second. */
static bool is_time_to_look(struct tfs_store *store)
{
    const int64_t now = tfs_store_now(store);

    if (store->poll_deadline > now)
        return false;
    store->poll_deadline = now + TFS_POLL_MS;
    return true;
}

/* Looks at the save on disk before edits are put on what is shown of it. While it is written, the
 * writer does; to hear that it was written needs no look. */
static int look_outside(struct tfs_store *store, const struct tfs_job *jobs, bool last)
{
    const bool polls = is_time_to_look(store) || last;
    struct tfs_error err = {0};
    int outside = 0;

    if (tfs_store_is_rewriting(store) || (jobs == NULL && !polls))
        return 0;
    tfs_store_mend(store);
    if (!polls && store->disk != TFS_DISK_READ && read_what_is_known(store, jobs))
        return 0;
    const enum tfs_disk_state before = store->disk;
    /* With edits under way the rewrite decides what to do about a changed save. */
    if (before == TFS_DISK_READ || !is_editing(store, jobs))
        outside = tfs_store_look(store, NULL, &err);
    if (outside < 0 && store->disk == TFS_DISK_READ && before != TFS_DISK_READ)
        tfs_store_log(store, &err);
    return outside;
}

static void apply_batch(struct tfs_store *store, struct tfs_job *jobs, bool last)
{
    const int outside = look_outside(store, jobs, last);

    for (struct tfs_job *job = jobs; job != NULL; job = job->next) {
        job->result = apply_job(store, job, outside, last);
        /* A save that is no longer there is not "on disk". */
        if (job->result == 0 && job->barrier)
            job->result = outside;
    }
}

/* What was kept is made durable; or why nothing is kept is told. While the save is written the
 * keeper is the writer's. */
static void settle_undo(struct tfs_store *store)
{
    char notice[TFS_ERROR_TEXT];

    if (!tfs_store_is_rewriting(store) && tfs_undo_settle(store->save->keeper, notice) &&
        store->client.message != NULL)
        store->client.message(store->client.arg, notice);
}

static void run_batch(struct tfs_store *store, struct tfs_job *jobs, bool last)
{
    struct tfs_job *done = NULL;

    if (last)
        tfs_store_rewrite_wait(store);
    end_rewrite(store, &done);
    const bool waited = tfs_store_differs(store);
    apply_batch(store, jobs, last);
    make_durable(store, jobs, choose_route(store, waited), last, &done);
    while (last && tfs_store_is_rewriting(store)) {
        tfs_store_rewrite_wait(store);
        end_rewrite(store, &done);
        if (store->after != NULL)
            begin_rewrite(store, &done);
    }
    tfs_store_journal_settle(store, last);
    if (store->client.answer != NULL)
        store->client.answer(store->client.arg, done);
    settle_undo(store);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static struct tfs_job *take_jobs(struct tfs_store *store)
{
    struct tfs_job *jobs = store->queue;

    store->queue = NULL;
    store->queue_end = &store->queue;
    return jobs;
}

/* Waits until `deadline`, for a job or for the end. Returns the jobs to do. */
static struct tfs_job *wait_for_jobs(struct tfs_store *store, int64_t deadline, bool *last)
{
    pthread_mutex_lock(&store->lock);
    while (!store->stop && store->queue == NULL && store->rewrite.state != TFS_REWRITE_ENDED) {
        const int64_t left = deadline - tfs_store_now(store);
        if (left <= 0)
            break;
        (void)tfs_cond_wait_until(&store->work, &store->lock, tfs_now_ms() + left);
    }
    *last = store->stop;
    struct tfs_job *jobs = *last ? NULL : take_jobs(store);
    pthread_mutex_unlock(&store->lock);
    return jobs;
}

static int64_t tick(struct tfs_store *store, bool last)
{
    return store->client.tick != NULL ? store->client.tick(store->client.arg, last) : 0;
}

/* Is it time to look at the save, to write it, or to hear that it was written, though there is
 * nothing else to do? */
static bool is_due(struct tfs_store *store)
{
    return store->poll_deadline <= tfs_store_now(store) || is_rewrite_due(store) ||
           has_rewrite_ended(store);
}

static void run_last(struct tfs_store *store)
{
    (void)tick(store, true);
    pthread_mutex_lock(&store->lock);
    struct tfs_job *jobs = take_jobs(store);
    pthread_mutex_unlock(&store->lock);
    run_batch(store, jobs, true);
    if (!tfs_doc_same(store->saved, store->shown))
        tfs_store_keep_unsaved(store);
    settle_undo(store);
}

static void *run(void *arg)
{
    struct tfs_store *store = arg;
    bool last = false;

    tfs_store_rewriter_start(store);
    while (!last) {
        int64_t next = tfs_sooner(tick(store, false), rewrite_deadline(store));
        struct tfs_job *jobs = wait_for_jobs(store, tfs_sooner(next, store->poll_deadline), &last);
        bool due = is_due(store);
        if (!last && (jobs != NULL || due))
            run_batch(store, jobs, false);
    }
    run_last(store);
    return NULL;
}

int tfs_store_start(struct tfs_store *store)
{
    store->poll_deadline = tfs_store_now(store) + TFS_POLL_MS;
    int result = -pthread_create(&store->thread, NULL, run, store);
    store->started = result == 0;
    return result;
}

void tfs_store_stop(struct tfs_store *store)
{
    if (store->started) {
        pthread_mutex_lock(&store->lock);
        store->stop = true;
        pthread_cond_signal(&store->work);
        pthread_mutex_unlock(&store->lock);
        pthread_join(store->thread, NULL);
        store->started = false;
    }
    tfs_store_rewriter_stop(store);
}

/* ---- opening and closing --------------------------------------------------------------------- */

int tfs_store_open(struct tfs_save *save, const struct tfs_store_options *options,
                   const struct tfs_store_client *client, struct tfs_store **out,
                   struct tfs_error *err)
{
    struct tfs_store *store = calloc(1, sizeof(*store));

    if (store == NULL || tfs_cond_init(&store->work) < 0) {
        free(store);
        return tfs_fail_memory(err);
    }
    pthread_cond_init(&store->rewrite.work, NULL);
    pthread_mutex_init(&store->journal_lock, NULL);
    pthread_mutex_init(&store->io, NULL);
    pthread_mutex_init(&store->lock, NULL);
    store->save = save;
    store->st = save->st;
    store->options = *options;
    store->options.read_only = options->read_only || save->read_only != NULL;
    store->pace = (struct tfs_pace){.automatic = options->commit_auto};
    if (client != NULL)
        store->client = *client;
    store->queue_end = &store->queue;
    tfs_store_journal_watch(store);
    store->shown = tfs_doc_ref(save->doc);
    store->saved = tfs_doc_ref(save->doc);
    const struct tfs_publication first = {
        .before = tfs_doc_ref(store->shown), .after = store->shown, .reread = true};
    int result = tfs_store_reserve(store, save->doc, err);
    if (result == 0)
        tfs_store_show(store, &first);
    tfs_doc_unref(first.before);
    if (result < 0) {
        store->save = NULL; /* stays the caller's */
        tfs_store_close(store);
        return result;
    }
    *out = store;
    return 0;
}

void tfs_store_give_back(struct tfs_store *store)
{
    store->save->rewrite = (struct tfs_rewrite){0};
    store->save = NULL;
}

void tfs_store_close(struct tfs_store *store)
{
    if (store == NULL)
        return;
    tfs_store_stop(store);
    tfs_store_journal_close(store);
    tfs_doc_unref(store->shown);
    tfs_doc_unref(store->saved);
    if (store->save != NULL)
        tfs_save_close(store->save);
    free(store->keys);
    free(store->changed_files);
    free(store->left);
    pthread_cond_destroy(&store->work);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->io);
    pthread_mutex_destroy(&store->journal_lock);
    pthread_cond_destroy(&store->rewrite.work);
    free(store);
}
