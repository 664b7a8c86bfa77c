/*
 * From the document that is shown to the next one, and back: which files read differently now, and
 * so which times move and what the kernel has to forget. Run by the worker only. What the edits are
 * is not known here.
 */
#include <assert.h>
#include <stdlib.h>

#include "fs/state.h"

struct adopting {
    struct tfs_session *s;
    const struct tfs_node *self;
    const struct tfs_doc *before;
};

static void changed_node(struct adopting *a, struct tfs_node node)
{
    struct tfs_session *s = a->s;
    if (a->self != NULL && tfs_node_same(a->self, &node)) {
        tfs_bump_stamp_locked(s, &node);
    } else {
        tfs_bump_locked(s, &node);
        tfs_stale_id(s, tfs_node_known_id_locked(s, &node));
    }
    struct tfs_node dir = tfs_tree_parent(s->save, &node);
    const struct tfs_file *file = tfs_node_file(s->save, &node);
    bool comes_and_goes = file != NULL && (file->lens->exists != NULL || file->count != NULL);
    if (comes_and_goes)
        tfs_stale_id(s, tfs_node_known_id_locked(s, &dir));
}

static bool reserve_keys(struct tfs_session *s, uint32_t count)
{
    if (count <= s->key_count)
        return true;
    struct tfs_key *keys = realloc(s->keys, (size_t)count * sizeof(*keys));
    if (keys == NULL)
        return false;
    for (uint32_t i = s->key_count; i < count; i++)
        keys[i].group = UINT32_MAX;
    s->keys = keys;
    s->key_count = count;
    return true;
}

/* The directory that lists chunks of this group reads differently. */
static void changed_list(struct adopting *a, const struct tfs_chunk *chunk)
{
    struct tfs_node dir = {
        .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = -1};
    tfs_stale_id(a->s, tfs_node_id(&dir));
    dir = tfs_tree_parent(a->s->save, &dir);
    tfs_bump_locked(a->s, &dir);
    tfs_stale_id(a->s, tfs_node_id(&dir));
    /* With its first and its last chunk a group comes and goes. */
    for (; tfs_node_is_group(&dir); dir = tfs_tree_parent(a->s->save, &dir))
        tfs_stale_id(a->s, tfs_node_id(&dir));
}

static int changed_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct adopting *a = arg;
    struct tfs_session *s = a->s;
    const struct tfs_chunk *chunk = after != NULL ? after : before;
    if (before == NULL || after == NULL)
        changed_list(a, chunk);
    /* A moved chunk is first gone and then there, or the other way round: keys tell which is
     * last. */
    if (after != NULL)
        s->keys[chunk->slot] = chunk->key;
    else if (tfs_key_compare(s->keys[chunk->slot], chunk->key) == 0)
        s->keys[chunk->slot].group = UINT32_MAX;
    const struct tfs_tree *tree = s->save->tree;
    uint32_t files = tree->chunk_changes != NULL ? tree->chunk_changes(before, after) : UINT32_MAX;
    for (unsigned i = 0; i < tree->chunk_count; i++) {
        struct tfs_node node = {
            .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = (int)i};
        struct tfs_inode *inode = tfs_map_find(&s->virtuals, tfs_node_id(&node));
        if (inode != NULL && after != NULL)
            inode->node.key = after->key;
        if ((files >> i & 1) != 0)
            changed_node(a, node);
    }
    return 0;
}

static void changed_root(struct adopting *a, const struct tfs_doc *after)
{
    const struct tfs_tree *tree = a->s->save->tree;
    uint32_t files = tree->root_changes != NULL ? tree->root_changes(a->before, after) : UINT32_MAX;
    for (unsigned i = 0; i < tree->root_count; i++) {
        if ((files >> i & 1) == 0)
            continue;
        const struct tfs_file *file = &tree->root_files[i];
        uint32_t members = 1;
        if (file->count != NULL) {
            uint32_t old_count = file->count(a->before);
            members = file->count(after);
            members = members > old_count ? members : old_count;
        }
        for (uint32_t m = 0; m < members; m++)
            changed_node(a, (struct tfs_node){.file = (int)i, .member = m});
    }
    if (tree->group_dir != NULL)
        tfs_stale_id(a->s, 1);
}

int tfs_adopt_prepare(struct tfs_session *s, const struct tfs_doc *doc, struct tfs_error *err)
{
    pthread_mutex_lock(&s->lock);
    bool room = reserve_keys(s, doc->next_slot);
    pthread_mutex_unlock(&s->lock);
    return room ? 0 : tfs_fail_memory(err);
}

void tfs_adopt(struct tfs_session *s, struct tfs_doc *doc, const struct tfs_node *self)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_doc *before = s->doc;
    struct adopting a = {s, self, before};
    assert(doc->next_slot <= s->key_count);
    s->doc = doc;
    if (before->version != doc->version) {
        (void)tfs_doc_diff(before, doc, changed_chunk, &a);
        changed_root(&a, doc);
    }
    tfs_doc_unref(before);
    pthread_mutex_unlock(&s->lock);
}

int tfs_adopt_edit(struct tfs_session *s, struct tfs_edit *edit, const struct tfs_node *self,
                   struct tfs_job *job, struct tfs_error *err)
{
    struct tfs_doc *doc = tfs_edit_finish(edit);
    if (doc->version == s->doc->version || tfs_adopt_prepare(s, doc, err) < 0) {
        tfs_doc_unref(doc);
        return err->code;
    }
    job->edited = true;
    if (job->before == NULL)
        job->before = tfs_doc_ref(s->doc);
    tfs_doc_unref(job->after);
    job->after = tfs_doc_ref(doc);
    tfs_adopt(s, doc, self);
    return 0;
}

static int differs(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)arg;
    (void)before;
    (void)after;
    return 1;
}

bool tfs_same_content(const struct tfs_doc *a, const struct tfs_doc *b)
{
    bool same = tfs_doc_diff(a, b, differs, NULL) == 0;
    for (unsigned i = 0; i < TFS_PARTS; i++)
        same = same && tfs_blob_equal(a->parts[i], b->parts[i]);
    return same;
}

struct undoing {
    struct tfs_session *s;
    struct tfs_edit *edit;
    struct tfs_error *err;
};

static int undo_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct undoing *u = arg;
    return before != NULL ? tfs_edit_put(u->edit, before, u->err)
                          : tfs_edit_remove(u->edit, after->key, u->err);
}

/* Is the chunk still as the edit left it? */
static int still_edited(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct tfs_session *s = arg;
    struct tfs_key key = after != NULL ? after->key : before->key;
    return tfs_chunk_same(tfs_doc_find(s->doc, key), after) ? 0 : 1;
}

static bool can_undo(struct tfs_session *s, const struct tfs_job *job)
{
    bool can = job->edited && tfs_doc_diff(job->before, job->after, still_edited, s) == 0;
    for (unsigned i = 0; i < TFS_PARTS; i++)
        can = can && (job->before->parts[i] == job->after->parts[i] ||
                      job->after->parts[i] == s->doc->parts[i]);
    return can;
}

/* Back to the very document on disk, when it is the same again: nothing is unsaved then. */
static struct tfs_doc *or_disk(struct tfs_session *s, struct tfs_doc *doc)
{
    if (!tfs_same_content(doc, s->disk))
        return doc;
    tfs_doc_unref(doc);
    s->disk->next_slot = s->key_count; /* slots that were given out are not given again */
    return tfs_doc_ref(s->disk);
}

bool tfs_undo(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_edit edit;
    struct tfs_error err = {0};
    struct undoing u = {s, &edit, &err};
    /* With nothing on top of it the document before is at hand, which needs no memory. */
    if (job->edited && job->after == s->doc) {
        job->before->next_slot = s->key_count;
        tfs_adopt(s, tfs_doc_ref(job->before), NULL);
        return true;
    }
    if (!can_undo(s, job) || tfs_edit_open(s->doc, &edit, &err) < 0)
        return false;
    int result = tfs_doc_diff(job->before, job->after, undo_chunk, &u);
    for (unsigned i = 0; i < TFS_PARTS; i++) {
        if (job->before->parts[i] != job->after->parts[i])
            tfs_edit_part(&edit, i, job->before->parts[i]);
    }
    if (result == 0)
        tfs_adopt(s, or_disk(s, tfs_edit_finish(&edit)), NULL);
    tfs_edit_release(&edit);
    return result == 0;
}
