/*
 * What edits made of one document, on another one. Run by the store's thread only.
 */
#include <errno.h>

#include "fs/store/state.h"

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
