/*
 * Chunks that the shown document lacks, because nobody asked for them yet -> a document that has
 * them. A verb that needs them ends with TFS_NEEDS_CHUNKS; the store's thread reads them, and the
 * verb is tried again.
 */
#include <errno.h>
#include <string.h>

#include "fs/session/ops.h"

/* ---- reading --------------------------------------------------------------------------------- */

struct chunks_work {
    struct tfs_work work;
    struct tfs_key chunk;
    bool all;
};

static int apply_read(struct tfs_job *job, bool last)
{
    const struct chunks_work *w = (struct chunks_work *)job;
    struct tfs_error err = {0};
    const int result = tfs_store_complete(w->work.branch->store, w->all ? NULL : &w->chunk, &err);

    if (result == -EAGAIN)
        return last ? -EIO : result;
    if (result < 0)
        tfs_ops_log_branch(w->work.branch, &err);
    return result;
}

static const struct tfs_job_kind read_chunks = {.apply = apply_read};

static int read_once(struct tfs_need *need)
{
    struct chunks_work *w =
        tfs_work_create(sizeof(*w), &read_chunks, need->branch, NULL, (struct tfs_reply){0});

    if (w == NULL)
        return -ENOMEM;
    w->chunk = need->chunk;
    w->all = need->all_chunks;
    w->work.job.reads = w->all ? NULL : &w->chunk;
    return tfs_work_wait(&w->work);
}

/* Has them read by the store's thread, and waits for it; and before, where the save is written just
 * now. */
static int read_and_wait(struct tfs_need *need)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int result;

    while ((result = read_once(need)) == -EAGAIN)
        nanosleep(&pause, NULL);
    return result;
}

/* ---- what is needed -------------------------------------------------------------------------- */

/* Does the shown document have the chunks that may be at `chunk`; NULL: all of them? 0 if it does;
 * else TFS_NEEDS_CHUNKS. */
static int know(struct tfs_need *need, struct tfs_branch *branch, const struct tfs_key *chunk)
{
    if (!tfs_save_lacks(branch->save, tfs_store_shown(branch->store), chunk))
        return 0;
    need->read_chunks = read_and_wait;
    need->branch = branch;
    need->all_chunks = chunk == NULL;
    need->chunk = chunk == NULL ? (struct tfs_key){0} : *chunk;
    return TFS_NEEDS_CHUNKS;
}

/* Is it the first part of a path of the schema? */
static bool is_root_name(const struct tfs_tree *tree, const char *name)
{
    const size_t length = strlen(name);
    bool found = false;

    for (unsigned i = 0; i < tree->root.count && !found; i++) {
        const char *path = tree->root.files[i].path;
        found = strncmp(path, name, length) == 0 && (path[length] == '\0' || path[length] == '/');
    }
    return found;
}

/* What files of the root show, and whether they are there, is of all chunks. */
int tfs_ops_know_name(struct tfs_need *need, struct tfs_branch *branch, const struct tfs_node *dir,
                      const char *name)
{
    struct tfs_key key = {0};
    uint32_t group;

    if (tfs_node_holds_chunks(dir, &group)) {
        if (!tfs_chunk_name_parse(name, &key))
            return 0;
        key.group = group;
        return know(need, branch, &key);
    }
    if (dir->scope != TFS_SCOPE_ROOT || !is_root_name(branch->save->tree, name))
        return 0;
    return know(need, branch, NULL);
}

int tfs_ops_know_directory(struct tfs_need *need, struct tfs_branch *branch,
                           const struct tfs_node *dir)
{
    return dir->scope == TFS_SCOPE_ROOT ? know(need, branch, NULL) : 0;
}

/* ---- what is in a chunk ---------------------------------------------------------------------- */

/* What is read so is remembered, and what cannot be read is not waited for once more, but where
 * another program changed it. */
static int look_inside(struct tfs_need *need)
{
    if (tfs_node_exists(need->branch->save, need->doc, &need->inside) == -ESTALE)
        (void)tfs_ops_catch_up(need, need->branch, need->doc);
    tfs_doc_unref(need->doc);
    return 0;
}

#define ASKED_MAX 4 /* a verb names two */

int tfs_ops_know_inside(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node)
{
    struct tfs_branch *branch = tfs_ops_branch(s, node);

    if (branch == NULL || node->scope != TFS_SCOPE_CHUNK || tfs_node_is_chunk(node) ||
        branch->save->tree->cells == NULL || need->asked == ASKED_MAX)
        return 0;
    struct tfs_doc *doc = tfs_store_shown(branch->store);
    const struct tfs_chunk *chunk = tfs_doc_find(doc, node->key);
    if (chunk == NULL || (chunk->flags & TFS_CHUNK_UNREAD_ALL) == 0 ||
        (need->asked > 0 && tfs_key_compare(need->inside.key, node->key) == 0))
        return 0;
    need->asked++;
    need->read_chunks = look_inside;
    need->branch = branch;
    need->doc = tfs_doc_ref(doc);
    need->inside = *node;
    return TFS_NEEDS_CHUNKS;
}

/* ---- what another program changed ------------------------------------------------------------ */

static int read_again(struct tfs_need *need)
{
    (void)tfs_ops_catch_up(need, need->branch, need->doc);
    tfs_doc_unref(need->doc);
    return 0;
}

int tfs_ops_know_again(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node,
                       int result)
{
    struct tfs_branch *branch = tfs_ops_branch(s, node);

    if (result != -ESTALE || branch == NULL || need->looks == 0 ||
        need->behind == tfs_store_shown(branch->store)->version)
        return result;
    need->read_chunks = read_again;
    need->branch = branch;
    need->doc = tfs_doc_ref(tfs_store_shown(branch->store));
    return TFS_NEEDS_CHUNKS;
}
