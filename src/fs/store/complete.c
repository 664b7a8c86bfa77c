/*
 * Chunks that a document lacks until somebody asks for them: read, and given to all documents of
 * the store. None of that is an edit. Run by the store's thread only.
 */
#include <errno.h>

#include "fs/store/state.h"

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
        tfs_store_publish_completed(store, tfs_doc_ref(shown));
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
