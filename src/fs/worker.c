/*
 * The worker: the one thread that changes the document and the save. It takes all jobs that are
 * queued, applies them one after another, commits once for all of them (closers that come together
 * share one rewrite), tells the front end's caches what is stale, and only then answers. A flush
 * that comes in the middle of a write stays in the queue. No other thread ever waits for the disk.
 *
 * What "saved" means, whoever asks:
 *   1. s->disk is the document of the last commit that succeeded to its very end (base/replace.c
 *      step 10, or COMMIT of a database with synchronous=EXTRA), or what was read when the save was
 *      opened or read again. A commit that fails in its last sync does not move it;
 *   2. everything shown and not in s->disk is unsaved, and one commit saves all of it: closers that
 *      come together share a commit, and each is answered after that commit;
 *   3. FLUSH of a handle that wrote, RENAME, MKDIR and RMDIR are answered 0 only with nothing
 * unsaved (with commit=N: once accepted); FSYNC, of any handle and in every mode, the same. A
 * commit that failed answers all who waited for it, and the next one who asks tries again;
 *   4. only a document that its writer ended is judged: at FLUSH, FSYNC or RENAME, or when the last
 *      writer is gone.
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/state.h"

void tfs_reply_now(struct tfs_reply reply, int result)
{
    if (reply.done != NULL)
        reply.done(reply.arg, result, NULL);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct tfs_job *tfs_job_create(int (*apply)(struct tfs_session *, struct tfs_job *),
                               struct tfs_reply reply)
{
    struct tfs_job *job = calloc(1, sizeof(*job));
    if (job != NULL) {
        job->apply = apply;
        job->reply = reply;
    }
    return job;
}

void tfs_job_submit_locked(struct tfs_session *s, struct tfs_job *job)
{
    *s->queue_end = job;
    s->queue_end = &job->next;
    pthread_cond_signal(&s->work);
}

bool tfs_job_waits_locked(struct tfs_session *s, struct tfs_job *job)
{
    const struct tfs_inode *inode = job->inode;
    const int64_t now = tfs_now_ms();
    if (!job->patient || s->stop || inode->part_until <= now || inode->part_by == job->caller)
        return false;
    /* Whoever writes on and on in such parts does not hold it up for ever. */
    if (job->patience_end == 0)
        job->patience_end = now + s->options.part_ms;
    return now < job->patience_end;
}

/* ---- stale ids ------------------------------------------------------------------------------- */

void tfs_stale_id(struct tfs_session *s, uint64_t id)
{
    struct tfs_ids *stale = &s->stale_ids;
    if (stale->count > 0 && stale->ids[stale->count - 1] == id)
        return;
    if (stale->count == stale->capacity) {
        size_t capacity = stale->capacity ? stale->capacity * 2 : 64;
        uint64_t *more = realloc(stale->ids, capacity * sizeof(*more));
        if (more == NULL)
            return; /* a cache stays stale until its next open: no data is at stake */
        stale->ids = more;
        stale->capacity = capacity;
    }
    stale->ids[stale->count++] = id;
}

/* What the kernel holds of job->id is wrong. */
int tfs_apply_stale(struct tfs_session *s, struct tfs_job *job)
{
    tfs_stale_id(s, job->id);
    return 0;
}

/* ---- committing ------------------------------------------------------------------------------ */

static void set_disk(struct tfs_session *s, struct tfs_doc *doc)
{
    pthread_mutex_lock(&s->lock);
    tfs_doc_unref(s->disk);
    s->disk = tfs_doc_ref(doc);
    s->commits++;
    s->commit_deadline = 0;
    s->stale = false;
    s->st = s->save->st;
    pthread_mutex_unlock(&s->lock);
}

int tfs_commit(struct tfs_session *s, struct tfs_error *err)
{
    struct tfs_error ignored = {0};
    pthread_mutex_lock(&s->save_lock);
    struct tfs_doc *doc = tfs_doc_ref(s->doc);
    int result = s->save->container->commit(s->save, doc, err);
    if (result == 0) {
        set_disk(s, doc);
        /* An equal document may have been read back: the shown one and the stored one are one
         * again. What is written stays written if that has to wait. */
        if (s->save->doc->version != doc->version)
            (void)tfs_adopt_saved(s, &ignored);
    }
    tfs_doc_unref(doc);
    pthread_mutex_unlock(&s->save_lock);
    return result;
}

static bool unsaved(const struct tfs_session *s)
{
    return s->doc->version != s->disk->version;
}

/* Must this job wait until the save is on disk? */
static bool wants_commit(const struct tfs_session *s, const struct tfs_job *job)
{
    if (job->barrier)
        return true;
    return s->options.commit_seconds == 0 && (job->edited || job->inode != NULL);
}

static bool batch_wants_commit(struct tfs_session *s, const struct tfs_job *jobs, bool stop)
{
    if (!unsaved(s)) {
        s->commit_deadline = 0; /* what was staged gave way */
        return false;
    }
    bool edited = false;
    for (const struct tfs_job *job = jobs; job != NULL; job = job->next) {
        if (wants_commit(s, job))
            return true;
        edited = edited || job->edited;
    }
    if (edited && s->commit_deadline == 0)
        s->commit_deadline = tfs_now_ms() + (int64_t)s->options.commit_seconds * 1000;
    return stop || (s->commit_deadline != 0 && s->commit_deadline <= tfs_now_ms());
}

/* After a conflict nothing is left to be saved when our edits gave way. */
static void note_giving_way(struct tfs_session *s, int conflict)
{
    s->gave_way = s->gave_way || (conflict == -ESTALE && !unsaved(s));
}

static int commit_batch(struct tfs_session *s, const struct tfs_job *jobs, bool stop)
{
    struct tfs_error err = {0};
    if (!batch_wants_commit(s, jobs, stop))
        return 0;
    int result = tfs_outside_check(s, true, &err);
    if (result == 0 && unsaved(s))
        result = tfs_commit(s, &err);
    if (result == -ESTALE && s->save->container->judges_changes) {
        result = tfs_outside_conflict(s, &err);
        if (result == 0 && unsaved(s))
            result = tfs_commit(s, &err);
    }
    if (result < 0) {
        if (result != -ESTALE || !s->stale)
            tfs_log_error(s, &err, s->save->name);
        s->stale = s->stale || (result == -ESTALE && unsaved(s));
        note_giving_way(s, result);
        s->commit_deadline = s->options.commit_seconds > 0
                                 ? tfs_now_ms() + (int64_t)s->options.commit_seconds * 1000
                                 : 0;
    }
    return result;
}

/* ---- one batch ------------------------------------------------------------------------------- */

bool tfs_any_dirty_locked(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    for (size_t at = 0; tfs_map_next(&s->virtuals, &at, &cell);) {
        if (((const struct tfs_inode *)cell.value)->dirty)
            return true;
    }
    return false;
}

static int apply_end_tombstone(struct tfs_session *s, struct tfs_job *job);

static bool is_optional(const struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(s->save, node);
    return file != NULL && (file->flags & TFS_FILE_OPTIONAL) != 0;
}

/* A barrier on a file of a chunk covers the removals in that chunk; one on a root file, all. Files
 * that are not optional are left alone: they would only show again. */
static bool is_covered(const struct tfs_session *s, const struct tfs_node *file,
                       const struct tfs_node *removed)
{
    return file->file >= 0 && is_optional(s, removed) &&
           (file->scope == TFS_SCOPE_ROOT ||
            (removed->scope == TFS_SCOPE_CHUNK && file->slot == removed->slot));
}

/* Is the end of a removal, which failed, what this barrier asked for? */
static bool asked_for(const struct tfs_session *s, const struct tfs_job *sync,
                      const struct tfs_job *end)
{
    if (sync->parent != 0)
        return end->parent == sync->parent;
    /* That it is refused is no fault of the file that is synced; that it waits on must be told. */
    return (end->result == -EBUSY || end->result == -ENOMEM) &&
           is_covered(s, &sync->node, &end->node);
}

/* A barrier hears of the removals that it covers, which are in the same batch before it. */
static int result_of_ends(const struct tfs_session *s, const struct tfs_job *jobs,
                          const struct tfs_job *sync)
{
    for (const struct tfs_job *job = jobs; job != sync; job = job->next)
        if (job->apply == apply_end_tombstone && job->result < 0 && asked_for(s, sync, job))
            return job->result;
    return 0;
}

static int apply_job(struct tfs_session *s, struct tfs_job *job)
{
    if (!s->owed)
        return job->apply(s, job);
    /* An edit of what is shown would take back what others wrote. */
    pthread_mutex_lock(&s->lock);
    s->again = true;
    pthread_mutex_unlock(&s->lock);
    return -ENOMEM;
}

/* Neither a save that is no longer there is "on disk", nor edits that gave way since their close
 * said 0: the next barrier tells, and all that are in one batch with it. */
static int result_of_barrier(const struct tfs_session *s, int outside)
{
    return outside == 0 && s->gave_way ? -ESTALE : outside;
}

static void apply_batch(struct tfs_session *s, struct tfs_job *jobs)
{
    struct tfs_error err = {0};
    tfs_outside_mend(s);
    pthread_mutex_lock(&s->lock);
    bool editing = unsaved(s) || tfs_any_dirty_locked(s);
    for (const struct tfs_job *job = jobs; job != NULL; job = job->next)
        editing = editing || job->undo;
    pthread_mutex_unlock(&s->lock);
    /* With edits under way the commit decides what to do about a changed save, but for `theirs` and
     * `mine`, which must be settled before the edits are put on a document. */
    int outside = 0;
    if (!editing || s->options.conflict != TFS_CONFLICT_ASK || s->owed)
        outside = tfs_outside_check(s, editing, &err);
    if (outside < 0 && err.text[0] != '\0' && !s->stale)
        tfs_log_error(s, &err, s->save->name);
    note_giving_way(s, outside);
    for (struct tfs_job *job = jobs; job != NULL; job = job->next) {
        job->result = job->apply != NULL ? apply_job(s, job) : 0;
        if (job->result == 0 && job->barrier)
            job->result = result_of_barrier(s, outside);
        if (job->result == 0 && job->barrier)
            job->result = result_of_ends(s, jobs, job);
    }
}

static void end_name_locked(struct tfs_session *s, const struct tfs_node *node);

/* The removals that the job's edit carries are over, unless the edit was not made or was taken
 * back: then they wait on. */
static void finish_removals(struct tfs_session *s, const struct tfs_job *job, bool stored)
{
    struct tfs_map_cell cell;
    pthread_mutex_lock(&s->lock);
    for (size_t at = 0; tfs_map_next(&s->tombstones, &at, &cell);) {
        struct tfs_tombstone *tomb = cell.value;
        if (tomb->carrier != job)
            continue;
        tomb->carrier = NULL;
        if (stored) {
            struct tfs_node node = tomb->node;
            end_name_locked(s, &node);
            at--;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

static void finish_job(struct tfs_session *s, struct tfs_job *job, int committed)
{
    bool stands = job->edited;
    if (job->result == 0 && committed < 0 && wants_commit(s, job)) {
        job->result = committed;
        if (job->undo && unsaved(s)) /* else the edit gave way, and is in the document no more */
            stands = !tfs_undo(s, job) && stands;
    }
    if (job->carries)
        finish_removals(s, job, stands);
    if (job->settle != NULL) {
        pthread_mutex_lock(&s->lock);
        /* Another job of the batch may have moved the chunk. */
        if (job->node.scope == TFS_SCOPE_CHUNK && job->node.slot < s->key_count &&
            s->keys[job->node.slot].group != UINT32_MAX)
            job->node.key = s->keys[job->node.slot];
        job->settle(s, job);
        pthread_mutex_unlock(&s->lock);
    }
}

/* Jobs that turned out to have to wait are in the queue again, before those that came since.
 * Returns the others. */
static struct tfs_job *put_back(struct tfs_session *s, struct tfs_job *jobs)
{
    struct tfs_job *done = NULL, **done_end = &done, *waiting = NULL, **waiting_end = &waiting;
    for (struct tfs_job *job = jobs, *next; job != NULL; job = next) {
        struct tfs_job ***end = job->result == TFS_JOB_WAITS ? &waiting_end : &done_end;
        next = job->next;
        job->next = NULL;
        **end = job;
        *end = &job->next;
    }
    if (waiting != NULL) {
        pthread_mutex_lock(&s->lock);
        *waiting_end = s->queue;
        if (s->queue == NULL)
            s->queue_end = waiting_end;
        s->queue = waiting;
        pthread_mutex_unlock(&s->lock);
    }
    return done;
}

static void run_batch(struct tfs_session *s, struct tfs_job *jobs, bool stop)
{
    apply_batch(s, jobs);
    jobs = put_back(s, jobs);
    int committed = commit_batch(s, jobs, stop);
    for (struct tfs_job *job = jobs; job != NULL; job = job->next) {
        finish_job(s, job, committed);
        s->gave_way = s->gave_way && !(job->barrier && job->result == -ESTALE);
    }
    tfs_answer(s, jobs);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void sooner(int64_t *deadline, int64_t candidate)
{
    if (candidate != 0 && (*deadline == 0 || candidate < *deadline))
        *deadline = candidate;
}

#define AT_ONCE 1 /* long ago; 0 is no deadline */

/* Monotonic ms: when it can be done. */
static int64_t due(struct tfs_session *s, struct tfs_job *job)
{
    if (!tfs_job_waits_locked(s, job))
        return AT_ONCE;
    int64_t rest = job->inode->part_until;
    return rest < job->patience_end ? rest : job->patience_end;
}

static int64_t next_deadline(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    int64_t deadline = s->poll_deadline;
    for (struct tfs_job *job = s->queue; job != NULL; job = job->next)
        sooner(&deadline, due(s, job));
    sooner(&deadline, s->commit_deadline);
    for (size_t at = 0; tfs_map_next(&s->tombstones, &at, &cell);) {
        const struct tfs_tombstone *tomb = cell.value;
        if (tomb->holders == 0)
            sooner(&deadline, tomb->deadline);
    }
    for (size_t at = 0; tfs_map_next(&s->fresh, &at, &cell);) {
        const struct tfs_fresh *fresh = cell.value;
        if (fresh->hidden)
            sooner(&deadline, fresh->deadline);
    }
    return deadline;
}

/* The tombstone goes: the name shows again, if its file is there. */
static void end_name_locked(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_node dir = tfs_tree_parent(s->save, node);
    tfs_tombstone_remove_locked(s, node);
    tfs_bump_locked(s, &dir);
    tfs_stale_id(s, tfs_node_id(&dir));
}

/* An optional file that did not come back is stored as absent; any other shows again. */
static int apply_end_tombstone(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_error err = {0};
    pthread_mutex_lock(&s->lock);
    struct tfs_tombstone *tomb = tfs_tombstone_locked(s, &job->node);
    bool still = tomb != NULL;
    bool carried = still && tomb->carrier != NULL; /* what becomes of that edit decides */
    /* The chunk may have been moved meanwhile. */
    if (job->node.scope == TFS_SCOPE_CHUNK)
        job->node.key = s->keys[job->node.slot];
    pthread_mutex_unlock(&s->lock);
    int result = 0;
    if (carried)
        return 0;
    if (still && is_optional(s, &job->node))
        result = tfs_store_absent(s, &job->node, job, &err);
    if (result < 0)
        tfs_log_refusal(s, &job->node, &err);
    pthread_mutex_lock(&s->lock);
    /* Without memory to remove it, or while another program holds the save locked, it stays away
     * and is removed later. */
    tomb = tfs_tombstone_locked(s, &job->node);
    if ((result == -ENOMEM || result == -EBUSY) && !s->stop && tomb != NULL)
        tomb->deadline = tfs_now_ms() + s->options.linger_ms;
    else
        end_name_locked(s, &job->node);
    pthread_mutex_unlock(&s->lock);
    return result;
}

static bool submit_end(struct tfs_session *s, struct tfs_tombstone *tomb)
{
    struct tfs_job *job = tfs_job_create(apply_end_tombstone, (struct tfs_reply){0});
    if (job == NULL) {
        tomb->deadline = tfs_now_ms() + s->options.linger_ms;
        return false;
    }
    struct tfs_node dir = tfs_tree_parent(s->save, &tomb->node);
    job->node = tomb->node;
    job->parent = tfs_node_id(&dir);
    tfs_job_submit_locked(s, job);
    return true;
}

/* Which tombstones end? */
struct ending {
    const struct tfs_session *s;
    bool all;                    /* it is the end */
    uint64_t dir;                /* those of this directory, due or not; 0: none */
    const struct tfs_node *file; /* the removals that a barrier on this file covers; NULL: none */
    int64_t now;                 /* those that were due then; 0: none */
};

static bool ends(const struct ending *e, const struct tfs_tombstone *tomb)
{
    struct tfs_node parent = tfs_tree_parent(e->s->save, &tomb->node);
    return e->all || (e->dir != 0 && tfs_node_id(&parent) == e->dir) ||
           (e->file != NULL && tomb->unlinked && is_covered(e->s, e->file, &tomb->node)) ||
           (e->now != 0 && tomb->holders == 0 && tomb->deadline <= e->now);
}

/* False: there is no memory to end them all. */
static bool end_tombstones_locked(struct tfs_session *s, struct ending ending)
{
    bool ended = true;
    struct tfs_map_cell cell;
    ending.s = s;
    for (size_t at = 0; tfs_map_next(&s->tombstones, &at, &cell);) {
        if (ends(&ending, cell.value))
            ended = submit_end(s, cell.value) && ended;
    }
    return ended;
}

bool tfs_end_removals_locked(struct tfs_session *s, const struct tfs_node *file)
{
    return end_tombstones_locked(s, (struct ending){.file = file});
}

/* Shows the names that were not created in a new chunk directory. */
static void reveal_locked(struct tfs_session *s, uint32_t slot, struct tfs_fresh *fresh)
{
    struct tfs_node node = {.scope = TFS_SCOPE_CHUNK, .slot = slot, .file = -1};
    fresh->hidden = false;
    for (unsigned i = 0; i < TFS_FILES_MAX; i++) {
        tfs_stale_id(s, tfs_node_id(&node));
        node.directory = TFS_DIR_SUB + i;
    }
    if (tfs_fresh_complete(s, fresh))
        tfs_fresh_remove_locked(s, slot);
}

static void reveal_due_locked(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    int64_t now = tfs_now_ms();
    for (size_t at = 0; tfs_map_next(&s->fresh, &at, &cell);) {
        struct tfs_fresh *fresh = cell.value;
        if (!fresh->hidden || fresh->deadline > now)
            continue;
        reveal_locked(s, (uint32_t)(cell.key - 1), fresh);
        at = 0; /* the map may have changed */
    }
}

/* Is its last writer gone, without a judgement under way? */
static bool is_left(const struct tfs_inode *inode)
{
    return inode->pending && inode->writers == 0 && inode->jobs == 0 && !inode->pinned;
}

void tfs_submit_dirty_locked(struct tfs_session *s, bool end)
{
    struct tfs_map_cell cell;
    s->again = false;
    for (size_t at = 0; tfs_map_next(&s->virtuals, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        if (!is_left(inode) && !(end && inode->dirty))
            continue;
        struct tfs_job *job = tfs_job_create(tfs_apply_release, (struct tfs_reply){0});
        if (job == NULL) {
            s->again = true;
            continue;
        }
        inode->writers = 0;
        inode->jobs++;
        job->inode = inode;
        tfs_job_submit_locked(s, job);
    }
}

static void run_timers_locked(struct tfs_session *s)
{
    (void)end_tombstones_locked(s, (struct ending){.all = s->stop, .now = tfs_now_ms()});
    reveal_due_locked(s);
    if (s->poll_deadline > tfs_now_ms())
        return;
    s->poll_deadline = tfs_now_ms() + TFS_POLL_MS;
    if (s->again)
        tfs_submit_dirty_locked(s, false);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* The jobs that need not wait; all at the end. */
static struct tfs_job *take_jobs(struct tfs_session *s)
{
    struct tfs_job *batch = NULL, **end = &batch, **at = &s->queue;
    while (*at != NULL) {
        struct tfs_job *job = *at;
        if (tfs_job_waits_locked(s, job)) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job->next = NULL;
        *end = job;
        end = &job->next;
    }
    s->queue_end = at;
    return batch;
}

static void wait_for_work(struct tfs_session *s)
{
    while (!s->stop) {
        int64_t deadline = next_deadline(s);
        if (deadline <= tfs_now_ms())
            return;
        struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
        pthread_cond_timedwait(&s->work, &s->lock, &until);
    }
}

static void *worker(void *arg)
{
    struct tfs_session *s = arg;
    bool stop = false;
    pthread_mutex_lock(&s->lock);
    while (!stop) {
        wait_for_work(s);
        run_timers_locked(s);
        stop = s->stop;
        struct tfs_job *jobs = take_jobs(s);
        pthread_mutex_unlock(&s->lock);
        run_batch(s, jobs, stop);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int tfs_worker_start(struct tfs_session *s)
{
    s->poll_deadline = tfs_now_ms() + TFS_POLL_MS;
    int result = tfs_answers_start(s);
    if (result < 0)
        return result;
    result = -pthread_create(&s->thread, NULL, worker, s);
    s->started = result == 0;
    if (result < 0)
        tfs_answers_stop(s);
    return result;
}

void tfs_worker_stop(struct tfs_session *s)
{
    if (!s->started)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    tfs_answers_stop(s);
    s->started = false;
}

/* ---- calls that only need the queue ---------------------------------------------------------- */

void tfs_session_fsync_directory(struct tfs_session *s, uint64_t id, struct tfs_reply reply)
{
    struct tfs_job *job = tfs_job_create(NULL, reply);
    if (job == NULL) {
        tfs_reply_now(reply, -ENOMEM);
        return;
    }
    job->barrier = true;
    job->parent = id;
    pthread_mutex_lock(&s->lock);
    bool ended = end_tombstones_locked(s, (struct ending){.dir = id});
    if (ended)
        tfs_job_submit_locked(s, job);
    pthread_mutex_unlock(&s->lock);
    if (!ended) {
        free(job);
        tfs_reply_now(reply, -ENOMEM);
    }
}

bool tfs_session_current(struct tfs_session *s)
{
    struct tfs_error err = {0};
    /* While the worker holds the save it is looking at it, or writing it, itself. */
    if (pthread_mutex_trylock(&s->save_lock) != 0)
        return true;
    bool changed = s->save->container->changed(s->save, &err) != 0;
    pthread_mutex_unlock(&s->save_lock);
    pthread_mutex_lock(&s->lock);
    bool broken = s->broken != 0;
    pthread_mutex_unlock(&s->lock);
    return !changed && !broken;
}

int tfs_session_after_check(struct tfs_session *s, void (*run)(void *arg), void *arg)
{
    struct tfs_job *job = tfs_job_create(NULL, (struct tfs_reply){0});
    if (job == NULL)
        return -ENOMEM;
    job->call = run;
    job->call_arg = arg;
    pthread_mutex_lock(&s->lock);
    tfs_job_submit_locked(s, job);
    pthread_mutex_unlock(&s->lock);
    return 0;
}
