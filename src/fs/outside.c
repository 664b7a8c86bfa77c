/*
 * The save changed on disk behind our back: reloading it when nothing of ours is lost by that, and
 * the three ways out of a conflict when something would be. Run by the worker only.
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/state.h"

static const char conflict_sentence[] =
    "the save was changed by another program while edits were pending, and nothing was written: "
    "unmount to get the edits as files, or mount with conflict=mine or conflict=theirs";

static int reload(struct tfs_session *s, struct tfs_error *err)
{
    /* Slots that edits gave out since must not be given to other chunks. */
    s->save->doc->next_slot = s->key_count;
    int result = s->save->container->reload(s->save, err);
    pthread_mutex_lock(&s->lock);
    bool was_broken = s->broken != 0;
    s->broken = result == -ENOMEM ? s->broken : result;
    if (result == 0)
        s->st = s->save->st;
    pthread_mutex_unlock(&s->lock);
    return result == 0 && was_broken ? 1 : result;
}

/* Everything may read differently: after a save could not be read, or can again. */
static void stale_all(struct tfs_session *s)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_doc *doc = s->doc;
    const struct tfs_tree *tree = s->save->tree;
    for (size_t c = 0; c < doc->count; c++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, c);
        struct tfs_node node = {.scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot};
        for (unsigned i = 0; i < tree->chunk_count; i++) {
            node.file = (int)i;
            tfs_bump_stamp_locked(s, &node);
            tfs_stale_id(s, tfs_node_known_id_locked(s, &node));
        }
    }
    for (unsigned i = 0; i < tree->root_count; i++) {
        struct tfs_node node = {.file = (int)i};
        tfs_bump_stamp_locked(s, &node);
        tfs_stale_id(s, tfs_node_known_id_locked(s, &node));
    }
    pthread_mutex_unlock(&s->lock);
}

/* Shows `doc`, for which there is room and which stands on what is on disk. After a reload a chunk
 * may have another slot, though it reads the same. */
static void adopt_reloaded(struct tfs_session *s, struct tfs_doc *doc)
{
    tfs_adopt(s, doc, NULL);
    pthread_mutex_lock(&s->lock);
    tfs_keys_set_locked(s);
    tfs_doc_unref(s->disk);
    s->disk = tfs_doc_ref(s->save->doc);
    s->owed = false;
    pthread_mutex_unlock(&s->lock);
}

int tfs_adopt_saved(struct tfs_session *s, struct tfs_error *err)
{
    s->owed = true;
    if (tfs_adopt_prepare(s, s->save->doc, err) < 0)
        return err->code;
    adopt_reloaded(s, tfs_doc_ref(s->save->doc));
    return 0;
}

/* Reads what is on disk now into save->doc. What cannot be read is told once. */
static int read_theirs(struct tfs_session *s, struct tfs_error *err)
{
    bool broken = s->broken != 0;
    int result = reload(s, err);
    if (result == -ENOMEM)
        return result;
    if (result < 0 && !broken)
        tfs_log_error(s, err, s->save->name);
    if (result > 0 || (result < 0 && !broken))
        stale_all(s);
    return result < 0 ? -EIO : 0;
}

static void tell_reading(struct tfs_session *s)
{
    tfs_message(s, "%s: changed by another program, read again", s->save->name);
}

void tfs_outside_mend(struct tfs_session *s)
{
    struct tfs_error ignored = {0};
    if (s->broken == 0)
        return;
    pthread_mutex_lock(&s->save_lock);
    bool same = s->save->container->changed(s->save, &ignored) == 0;
    pthread_mutex_unlock(&s->save_lock);
    if (!same)
        return;
    pthread_mutex_lock(&s->lock);
    s->broken = 0;
    pthread_mutex_unlock(&s->lock);
    stale_all(s);
    tfs_message(s, "%s: can be read again", s->save->name);
}

/* Shows what is on disk now. */
static int take_theirs(struct tfs_session *s, struct tfs_error *err)
{
    int result = read_theirs(s, err);
    if (result < 0)
        return result;
    if (tfs_adopt_saved(s, err) < 0)
        return err->code;
    tell_reading(s);
    return 0;
}

/* Documents being written were made for the save as it was: they will be refused. */
static void outdate_pending(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    pthread_mutex_lock(&s->lock);
    for (size_t at = 0; tfs_map_next(&s->virtuals, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        inode->outdated = inode->outdated || inode->dirty;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- our edits onto theirs ------------------------------------------------------------------- */

struct rebasing {
    struct tfs_session *s;
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
    const struct tfs_tree *tree = r->s->save->tree;
    return tree->fits == NULL || tree->fits(r->s->doc, r->edit->base, chunk);
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

static int rebase_parts(struct rebasing *r, const struct tfs_doc *old)
{
    const struct tfs_doc *ours = r->s->doc;
    for (unsigned i = 0; i < TFS_PARTS; i++) {
        if (old->parts[i] == ours->parts[i])
            continue;
        if (!fits(r, NULL))
            return fail_misfit(r->err);
        tfs_edit_part(r->edit, i, ours->parts[i]);
    }
    return 0;
}

/* The document that was read again, with what differs between `old` and ours. */
static int rebase(struct tfs_session *s, const struct tfs_doc *old, struct tfs_doc **doc,
                  struct tfs_error *err)
{
    struct tfs_edit edit;
    struct rebasing r = {s, &edit, err};
    int result = tfs_edit_open(s->save->doc, &edit, err);
    if (result < 0)
        return result;
    result = tfs_doc_diff(old, s->doc, rebase_chunk, &r);
    if (result == 0)
        result = rebase_parts(&r, old);
    if (result == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return result;
}

/* Our edits go to rejected/, and what was read again is to be shown. */
static int give_way(struct tfs_session *s, const struct tfs_doc *old, struct tfs_doc **doc)
{
    if (tfs_keep_changes_rejected(s, old) < 0)
        return -ENOMEM;
    outdate_pending(s);
    *doc = tfs_doc_ref(s->save->doc);
    return 0;
}

/* Puts our edited chunks onto the save as it is now. Where that cannot be, they give way as with
 * `theirs`: they must never be written over a save that they were not made for. Without memory both
 * stay as they are, and this is done again. */
static int take_mine(struct tfs_session *s, struct tfs_error *err)
{
    struct tfs_doc *old = tfs_doc_ref(s->disk), *doc = NULL;
    struct tfs_error memory = {0};
    int result = reload(s, err);
    bool read = result >= 0;
    s->owed = s->owed || read;
    if (result > 0)
        stale_all(s);
    if (!read && result != -ENOMEM)
        result = err->code = -EIO; /* nothing is wrong with what the caller wrote */
    if (read)
        result = rebase(s, old, &doc, err);
    if (read && result < 0 && result != -ENOMEM && give_way(s, old, &doc) < 0)
        result = -ENOMEM;
    if (doc != NULL && tfs_adopt_prepare(s, doc, &memory) < 0)
        result = -ENOMEM;
    else if (doc != NULL && result != -ENOMEM)
        adopt_reloaded(s, tfs_doc_ref(doc));
    if (result == -ENOMEM) {
        tfs_error_reset(err);
        tfs_fail_memory(err);
    }
    tfs_doc_unref(doc);
    tfs_doc_unref(old);
    if (result == 0)
        tfs_message(s, "%s: changed by another program; our edits were put onto it", s->save->name);
    return result;
}

/* Nothing gives way to a save that is away, or cannot be read. */
static int give_way_to_theirs(struct tfs_session *s, struct tfs_error *err)
{
    bool accepted = s->doc->version != s->disk->version;
    int result = read_theirs(s, err);
    if (result < 0)
        return err->code = result;
    s->owed = true;
    if (tfs_keep_changes_rejected(s, s->disk) < 0)
        return tfs_fail_memory(err);
    outdate_pending(s);
    result = tfs_adopt_saved(s, err);
    if (result == 0)
        tell_reading(s);
    if (result == 0 && accepted)
        return tfs_fail(err, -ESTALE,
                        "the save was changed by another program, and our edits gave way to it, as "
                        "conflict=theirs says");
    return result;
}

static int resolve(struct tfs_session *s, bool editing, struct tfs_error *err)
{
    if (!editing)
        return take_theirs(s, err);
    switch (s->options.conflict) {
    case TFS_CONFLICT_ASK:
        return tfs_fail(err, -ESTALE, "%s", conflict_sentence);
    case TFS_CONFLICT_MINE:
        return take_mine(s, err);
    case TFS_CONFLICT_THEIRS:
        return give_way_to_theirs(s, err);
    }
    return 0;
}

int tfs_outside_check(struct tfs_session *s, bool editing, struct tfs_error *err)
{
    struct tfs_error ignored = {0};
    if (editing && s->save->container->judges_changes && !s->owed)
        return 0;
    pthread_mutex_lock(&s->save_lock);
    int result = 0;
    /* With no edit of ours in the document, what was read last can be shown at any time. */
    if (s->owed && s->doc->version == s->disk->version)
        result = tfs_adopt_saved(s, err);
    if (result == 0 && (s->owed || s->save->container->changed(s->save, &ignored) != 0))
        result = resolve(s, editing, err);
    pthread_mutex_unlock(&s->save_lock);
    return result;
}

int tfs_outside_conflict(struct tfs_session *s, struct tfs_error *err)
{
    struct tfs_error why = *err;
    tfs_error_reset(err);
    if (s->options.conflict == TFS_CONFLICT_ASK)
        return tfs_fail(err, -ESTALE, "%.150s; %s", why.text, conflict_sentence);
    pthread_mutex_lock(&s->save_lock);
    int result = resolve(s, true, err);
    pthread_mutex_unlock(&s->save_lock);
    return result;
}
