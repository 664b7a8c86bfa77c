/*
 * Answering: tells the front end's caches what is stale, and only then replies. A thread of its
 * own, because an invalidation may wait: the kernel lets it wait for a page that is being written
 * back, and holds such writes back while a truncate(2) by name is under way. The worker that must
 * process the truncate never waits for this thread, and the truncate itself is answered without it
 * (tfs_job.urgent).
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/state.h"

/* The replies of one batch, and what they must wait for. */
struct tfs_answers {
    struct tfs_answers *next;
    struct tfs_ids stale;
    struct tfs_job *jobs;
};

static void job_free(struct tfs_session *s, struct tfs_job *job)
{
    if (job->inode != NULL) {
        pthread_mutex_lock(&s->lock);
        job->inode->jobs--;
        tfs_inode_drop_locked(s, job->inode);
        pthread_mutex_unlock(&s->lock);
    }
    tfs_doc_unref(job->before);
    tfs_doc_unref(job->after);
    tfs_blob_unref(job->text);
    free(job);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void invalidate(struct tfs_session *s, struct tfs_ids *stale)
{
    if (stale->count > 1)
        qsort(stale->ids, stale->count, sizeof(*stale->ids), compare_ids);
    for (size_t i = 0; i < stale->count && s->events.invalidate != NULL; i++) {
        if (i == 0 || stale->ids[i] != stale->ids[i - 1])
            s->events.invalidate(s->events.invalidate_arg, stale->ids[i]);
    }
    free(stale->ids);
    *stale = (struct tfs_ids){0};
}

static void reply(struct tfs_session *s, struct tfs_job *job)
{
    if (job->call != NULL)
        job->call(job->call_arg);
    if (job->reply.done != NULL)
        job->reply.done(job->reply.arg, job->result,
                        job->result == 0 && job->has_attr ? &job->attr : NULL);
    job_free(s, job);
}

static void reply_all(struct tfs_session *s, struct tfs_job *jobs)
{
    while (jobs != NULL) {
        struct tfs_job *job = jobs;
        jobs = job->next;
        reply(s, job);
    }
}

/* Answers what must not wait; the rest. */
static struct tfs_job *reply_urgent(struct tfs_session *s, struct tfs_job *jobs)
{
    struct tfs_job **at = &jobs;
    while (*at != NULL) {
        struct tfs_job *job = *at;
        if (job->urgent) {
            *at = job->next;
            reply(s, job);
        } else {
            at = &job->next;
        }
    }
    return jobs;
}

void tfs_answer(struct tfs_session *s, struct tfs_job *jobs)
{
    jobs = reply_urgent(s, jobs);
    struct tfs_ids stale = s->stale_ids;
    s->stale_ids = (struct tfs_ids){0};
    pthread_mutex_lock(&s->lock);
    /* With nothing to wait for there is no need to change threads, but for the order of replies. */
    bool direct = (stale.count == 0 || s->events.invalidate == NULL) && s->answering == 0;
    struct tfs_answers *answers = direct ? NULL : calloc(1, sizeof(*answers));
    if (answers != NULL) {
        *answers = (struct tfs_answers){.stale = stale, .jobs = jobs};
        *s->answers_end = answers;
        s->answers_end = &answers->next;
        s->answering++;
        pthread_cond_signal(&s->answer);
    }
    pthread_mutex_unlock(&s->lock);
    if (answers == NULL) {
        invalidate(s, &stale);
        reply_all(s, jobs);
    }
}

static void *answerer(void *arg)
{
    struct tfs_session *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (s->answers == NULL && !s->answers_stop)
            pthread_cond_wait(&s->answer, &s->lock);
        struct tfs_answers *answers = s->answers;
        if (answers == NULL)
            break;
        s->answers = answers->next;
        if (s->answers == NULL)
            s->answers_end = &s->answers;
        pthread_mutex_unlock(&s->lock);
        invalidate(s, &answers->stale);
        reply_all(s, answers->jobs);
        free(answers);
        pthread_mutex_lock(&s->lock);
        s->answering--;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int tfs_answers_start(struct tfs_session *s)
{
    s->answers_end = &s->answers;
    return -pthread_create(&s->answerer, NULL, answerer, s);
}

void tfs_answers_stop(struct tfs_session *s)
{
    pthread_mutex_lock(&s->lock);
    s->answers_stop = true;
    pthread_cond_signal(&s->answer);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->answerer, NULL);
}
