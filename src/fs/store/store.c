/*
 * Documents of a store: edits and publishing, what edits made of one document on another one, and
 * chunks that are read later. What the edits are is not known here; nor when they are committed
 * (thread.c).
 */
#include "fs/store/store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fs/store/state.h"

void tfs_store_log(struct tfs_store *store, const struct tfs_error *err)
{
    if (store->client.log != NULL)
        store->client.log(store->client.arg, err);
}

/* ---- what every thread may ask --------------------------------------------------------------- */

bool tfs_store_read_only(const struct tfs_store *store)
{
    return store->options.read_only;
}

bool tfs_store_broken(const struct tfs_store *store)
{
    return store->disk == TFS_DISK_LOST;
}

bool tfs_store_key(struct tfs_store *store, uint32_t slot, struct tfs_key *key)
{
    pthread_mutex_lock(&store->lock);
    bool found = slot < store->key_count && store->keys[slot].group != UINT32_MAX;
    if (found)
        *key = store->keys[slot];
    pthread_mutex_unlock(&store->lock);
    return found;
}

uint32_t tfs_store_slots(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    uint32_t count = store->key_count;
    pthread_mutex_unlock(&store->lock);
    return count;
}

void tfs_store_stat(struct tfs_store *store, struct stat *st)
{
    pthread_mutex_lock(&store->lock);
    *st = store->st;
    pthread_mutex_unlock(&store->lock);
}

bool tfs_store_unsaved(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool unsaved = tfs_store_differs(store);
    pthread_mutex_unlock(&store->lock);
    return unsaved;
}

const char *tfs_store_left(const struct tfs_store *store)
{
    return store->left;
}

uint64_t tfs_store_commits(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    uint64_t commits = store->commits;
    pthread_mutex_unlock(&store->lock);
    return commits;
}

bool tfs_store_current(struct tfs_store *store, const struct tfs_key *chunk)
{
    struct tfs_error ignored = {0};

    /* While the thread holds the save it is looking at it, or writing it, itself. */
    if (pthread_mutex_trylock(&store->io) != 0)
        return true;
    const bool changed = store->save->container->changed(store->save, chunk, &ignored) != 0;
    pthread_mutex_unlock(&store->io);
    return !changed && !tfs_store_broken(store);
}

/* ---- its state, by the thread ---------------------------------------------------------------- */

int64_t tfs_store_now(const struct tfs_store *store)
{
    return store->options.now != NULL ? store->options.now() : tfs_now_ms();
}

/* ---- publishing ------------------------------------------------------------------------------ */

struct tfs_doc *tfs_store_shown(const struct tfs_store *store)
{
    return store->shown;
}

struct tfs_doc *tfs_store_saved(const struct tfs_store *store)
{
    return store->saved;
}

int tfs_store_reserve(struct tfs_store *store, const struct tfs_doc *doc, struct tfs_error *err)
{
    if (doc->next_slot <= store->key_count)
        return 0;
    pthread_mutex_lock(&store->lock);
    struct tfs_key *keys = realloc(store->keys, (size_t)doc->next_slot * sizeof(*keys));
    if (keys != NULL) {
        for (uint32_t i = store->key_count; i < doc->next_slot; i++)
            keys[i].group = UINT32_MAX;
        store->keys = keys;
        store->key_count = doc->next_slot;
    }
    pthread_mutex_unlock(&store->lock);
    return keys != NULL ? 0 : tfs_fail_memory(err);
}

/* A moved chunk is first gone and then there, or the other way round: keys tell which is last. */
static int set_key(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct tfs_store *store = arg;

    if (after != NULL)
        store->keys[after->slot] = after->key;
    else if (tfs_key_compare(store->keys[before->slot], before->key) == 0)
        store->keys[before->slot].group = UINT32_MAX;
    return 0;
}

/* After a reload a chunk may have another slot, though it reads the same. */
static void set_all_keys(struct tfs_store *store)
{
    for (uint32_t i = 0; i < store->key_count; i++)
        store->keys[i].group = UINT32_MAX;
    for (size_t i = 0; i < store->shown->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(store->shown, i);
        store->keys[chunk->slot] = chunk->key;
    }
}

void tfs_store_show(struct tfs_store *store, const struct tfs_publication *change)
{
    assert(change->after->next_slot <= store->key_count);
    pthread_mutex_lock(&store->lock);
    store->shown = tfs_doc_ref(change->after);
    if (change->reread) {
        set_all_keys(store);
        tfs_doc_unref(store->saved);
        store->saved = tfs_doc_ref(store->save->doc);
    } else if (change->before->version != change->after->version) {
        (void)tfs_doc_diff(change->before, change->after, set_key, store);
    }
    pthread_mutex_unlock(&store->lock);
    tfs_doc_unref(change->before);
}

static void publish(struct tfs_store *store, struct tfs_publication change)
{
    /* The old one is the client's to compare with until it returns. */
    change.before = tfs_doc_ref(store->shown);
    if (store->client.publish != NULL)
        store->client.publish(store->client.arg, store, &change);
    else
        tfs_store_show(store, &change);
    if (change.reread)
        store->disk = TFS_DISK_SHOWN;
    tfs_doc_unref(change.before);
    tfs_doc_unref(change.after);
}

void tfs_store_publish(struct tfs_store *store, struct tfs_doc *doc, bool reread)
{
    publish(store, (struct tfs_publication){.after = doc, .reread = reread});
}

/* ---- edits ----------------------------------------------------------------------------------- */

int tfs_store_edit(struct tfs_store *store, struct tfs_edit *edit, struct tfs_error *err)
{
    if (tfs_store_broken(store))
        return tfs_fail(err, -EIO, "the save cannot be read now");
    int result = tfs_edit_open(store->shown, edit, err);

    if (result == 0)
        tfs_edit_keep_slots(edit, store->key_count);
    return result;
}

int tfs_store_accept(struct tfs_store *store, struct tfs_edit *edit, uint64_t self,
                     struct tfs_job *job, struct tfs_error *err)
{
    struct tfs_doc *doc = tfs_edit_finish(edit);

    if (doc->version == store->shown->version ||
        tfs_new_names_find(store->save, store->shown, doc, TFS_NEW_NAMES_LOOK, &job->new_names,
                           err) < 0 ||
        tfs_store_reserve(store, doc, err) < 0) {
        tfs_doc_unref(doc);
        return err->code;
    }
    job->edited = true;
    if (job->before == NULL)
        job->before = tfs_doc_ref(store->shown);
    tfs_doc_unref(job->after);
    job->after = tfs_doc_ref(doc);
    publish(store, (struct tfs_publication){.after = doc, .self = self});
    return 0;
}

void tfs_job_release(struct tfs_job *job)
{
    tfs_doc_unref(job->before);
    tfs_doc_unref(job->after);
    tfs_buf_release(&job->new_names);
}

static int differs(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)arg;
    (void)before;
    (void)after;
    return 1;
}

bool tfs_doc_same(const struct tfs_doc *a, const struct tfs_doc *b)
{
    return tfs_doc_diff(a, b, differs, NULL) == 0 && tfs_blob_equal(a->common, b->common);
}

/* ---- what edits made of one document, on another one; by the thread -------------------------- */

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

bool tfs_store_fits(const struct tfs_store *store, const struct tfs_doc *onto,
                    const struct tfs_chunk *chunk)
{
    struct tfs_error why = {0};

    return tfs_chunk_fits(store->save->tree, store->shown, onto, chunk, &why) == 0;
}

int tfs_store_rebase_chunk(struct tfs_edit *edit, const struct tfs_chunk *before,
                           const struct tfs_chunk *after, struct tfs_error *err)
{
    if (after != NULL)
        return tfs_edit_put(edit, after, err);
    return tfs_doc_find(tfs_edit_doc(edit), before->key) == NULL
               ? 0
               : tfs_edit_remove(edit, before->key, err);
}

static int rebase_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct rebasing *r = arg;

    if (!tfs_store_fits(r->store, r->edit->base, after != NULL ? after : before))
        return fail_misfit(r->err);
    return tfs_store_rebase_chunk(r->edit, before, after, r->err);
}

static int rebase_common(const struct rebasing *r, const struct tfs_doc *old,
                         const struct tfs_doc *ours)
{
    if (old->common == ours->common)
        return 0;
    if (!tfs_store_fits(r->store, r->edit->base, NULL))
        return fail_misfit(r->err);
    tfs_edit_common(r->edit, ours->common);
    return 0;
}

int tfs_store_rebase(struct tfs_store *store, struct tfs_doc *onto, const struct tfs_doc *old,
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

/* ---- chunks that are read when somebody asks for them, which is no edit; by the thread ------- */

#define OTHERS 2 /* documents of the store beside the shown one */

/* What `doc`, one of the store's, says beside `old`, on `now`; nothing for NULL. */
static int complete_doc(struct tfs_store *store, const struct tfs_doc *old, struct tfs_doc *now,
                        const struct tfs_doc *doc, struct tfs_doc **completed,
                        struct tfs_error *err)
{
    if (doc != NULL && doc->version != old->version)
        return tfs_store_rebase(store, now, old, doc, completed, err);
    *completed = doc == NULL ? NULL : tfs_doc_ref(now);
    return 0;
}

/* All documents of the store get the same chunks, none of which is an edit: `now` is `old` with
 * them. */
static int complete_all(struct tfs_store *store, const struct tfs_doc *old, struct tfs_doc *now,
                        struct tfs_error *err)
{
    struct tfs_doc **const docs[OTHERS] = {&store->journal_base, &store->journaled};
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
        publish(store, (struct tfs_publication){
                           .after = tfs_doc_ref(shown), .reread = true, .completed = true});
    tfs_doc_unref(shown);
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
        store->disk = TFS_DISK_READ;
        result = complete_all(store, old, store->save->doc, err);
    }
    tfs_doc_unref(old);
    pthread_mutex_unlock(&store->io);
    return result;
}

/* While the save is written it is the writer's. */
int tfs_store_complete(struct tfs_store *store, const struct tfs_key *chunk, struct tfs_error *err)
{
    if (!tfs_save_lacks(store->save, store->shown, chunk))
        return 0;
    return store->disk == TFS_DISK_READ || tfs_store_is_rewriting(store)
               ? -EAGAIN
               : complete(store, chunk, err);
}
