/*
 * What stat(2) says of directories, files, scratch files, and of files as they were in another
 * document.
 */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "fs/session/ops.h"
#include "text/name.h"

/* ---- what stat(2) says ----------------------------------------------------------------------- */

static void fill_size(struct stat *st, uint64_t size)
{
    st->st_size = (off_t)size;
    st->st_blksize = 128 * 1024;
    st->st_blocks = (blkcnt_t)((size + 511) / 512);
}

/* Owner and permissions follow the save; a directory may be searched by those who may read. */
static void fill_mode(struct tfs_session *s, const struct tfs_node *node, struct stat *st)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    bool directory = tfs_node_is_directory(node);
    struct stat save;

    tfs_store_stat((branch != NULL ? branch : &s->branches[0])->store, &save);
    mode_t mode = save.st_mode & 0666;
    if (tfs_ops_read_only(s, node) || (!directory && !tfs_ops_writable(s, node)))
        mode &= (mode_t)~0222;
    if (directory)
        mode |= (mode & 0444) >> 2;
    st->st_mode = mode | (directory ? S_IFDIR : S_IFREG);
    st->st_uid = save.st_uid;
    st->st_gid = save.st_gid;
    st->st_nlink = 1; /* of a directory: not counted */
}

static int find_size(struct tfs_session *s, struct tfs_need *need, const struct tfs_view *view,
                     uint64_t *size)
{
    struct tfs_blob *blob = NULL;

    if (tfs_store_broken(tfs_ops_branch(s, &view->node)->store))
        return -EIO;
    int result = tfs_views_size(&s->views, view, size);
    if (result != -EAGAIN || need == NULL)
        return result;
    if (tfs_need_has_older(need, view)) {
        *size = need->blob->size;
        return 0;
    }
    result = tfs_ops_bytes(s, need, view, &blob);
    if (result == 0)
        *size = blob->size;
    tfs_blob_unref(blob);
    return result;
}

/* The first look at a file of a chunk: has the chunk the bytes that it had at the last mount? */
static void find_kept_times(struct tfs_session *s, struct tfs_branch *branch,
                            const struct tfs_node *node)
{
    struct tfs_doc *doc = tfs_store_shown(branch->store);
    struct timespec mtime, ctime;

    if (!s->options.keep_times || node->scope != TFS_SCOPE_CHUNK ||
        tfs_views_has_chunk(&s->views, node))
        return;
    const struct tfs_chunk *chunk = tfs_doc_find(doc, node->key);
    if (chunk == NULL)
        return;
    const bool kept = tfs_kept_times_find(&branch->kept, branch->save, doc, chunk, &mtime, &ctime);
    tfs_views_set_chunk(&s->views, node, kept ? &mtime : NULL, kept ? &ctime : NULL);
}

static void fill_times(struct tfs_session *s, uint64_t id, const struct tfs_draft *unborn,
                       struct stat *st)
{
    struct tfs_times times;

    tfs_views_times(&s->views, id, &times);
    st->st_atim = times.atime;
    st->st_mtim = unborn != NULL ? unborn->time : times.mtime;
    st->st_ctim = unborn != NULL ? unborn->time : times.ctime;
}

int tfs_ops_attr_node(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node,
                      struct tfs_attr *attr)
{
    struct tfs_branch *branch = tfs_ops_branch(s, node);
    const bool file = !tfs_node_is_directory(node);
    const struct tfs_inode *made = file ? tfs_inode_unborn(&s->inodes, node) : NULL;
    const struct tfs_draft *unborn = made != NULL ? tfs_inode_first_draft(made) : NULL;
    const uint64_t id = tfs_node_id(node);
    uint64_t size = unborn != NULL ? tfs_draft_size(unborn) : 0;
    int result = 0;

    *attr =
        (struct tfs_attr){.id = id, .changing = unborn != NULL, .lasts = !file || s->quiet_at == 0};
    if (file && unborn == NULL) {
        const struct tfs_view view = tfs_ops_view(s, node);
        result = find_size(s, need, &view, &size);
    }
    if (result < 0)
        return result;
    if (file)
        find_kept_times(s, branch, node);
    fill_mode(s, node, &attr->st);
    attr->st.st_ino = id;
    fill_times(s, id, unborn, &attr->st);
    fill_size(&attr->st, size);
    return 0;
}

/* Only while the kernel may keep it: it takes a listing for one of the moment when it gets it. */
bool tfs_ops_attr_listed(struct tfs_session *s, const struct tfs_node *node, struct tfs_attr *attr)
{
    const uint64_t id = tfs_node_id(node);
    const bool file = !tfs_node_is_directory(node);

    if (s->quiet_at != 0 ||
        (file && (tfs_views_stamp(&s->views, id) != 0 || tfs_views_have_met(&s->views, id))))
        return false;
    return tfs_ops_attr_node(s, NULL, node, attr) == 0 && attr->lasts && !attr->changing;
}

void tfs_ops_attr_draft(const struct tfs_draft *draft, struct tfs_attr *attr)
{
    fill_size(&attr->st, tfs_draft_size(draft));
    attr->changing = true;
}

static void update_status(struct tfs_session *s)
{
    struct tfs_buf *b = &s->rejected.status->scratch->bytes;
    char path[2 * PATH_MAX];
    uint64_t commits = 0;
    bool unsaved = false;

    for (size_t i = 0; i < s->branch_count; i++) {
        commits += tfs_store_commits(s->branches[i].store);
        unsaved = unsaved || tfs_store_unsaved(s->branches[i].store);
    }
    if (b->failed)
        tfs_buf_release(b);
    tfs_buf_clear(b);
    tfs_buf_printf(b, "pid: %ld\n", (long)getpid());
    if (s->options.exit_fd >= 0)
        tfs_buf_printf(b, "umount-pipe: %d\n", s->options.exit_fd);
    tfs_buf_printf(b, "save: %s\n",
                   tfs_sentence_print(s->branches[0].save->path, path, sizeof(path)));
    tfs_buf_printf(b, "commits: %llu\n", (unsigned long long)commits);
    tfs_buf_printf(b, "unsaved: %s\n", unsaved ? "yes" : "no");
    tfs_buf_printf(b, "hidden: %zu\n", tfs_names_count(&s->names));
    tfs_buf_printf(b, "scratch: %llu of %llu bytes\n", (unsigned long long)s->scratch_tree.used,
                   (unsigned long long)s->scratch_tree.limit);
}

static void attr_of_scratch(const struct tfs_scratch *scratch, struct tfs_attr *attr)
{
    const uint64_t id = scratch->id;

    /* What was rejected goes when its file is mended; any file may be renamed onto the tree. */
    *attr = (struct tfs_attr){.id = id,
                              .changing = (scratch->flags & TFS_SCRATCH_OURS) != 0,
                              .lasts = scratch->kind == TFS_SCRATCH_DIRECTORY &&
                                       (scratch->flags & TFS_SCRATCH_UNCAPPED) == 0};
    struct stat *st = &attr->st;
    st->st_ino = id;
    st->st_mode = scratch->mode | scratch->kind;
    st->st_nlink = scratch->link != NULL;
    st->st_uid = scratch->uid;
    st->st_gid = scratch->gid;
    st->st_atim = scratch->atime;
    st->st_mtim = scratch->mtime;
    st->st_ctim = scratch->ctime;
    fill_size(st, scratch->bytes.size);
}

/* Of an id: nobody knows the size of a text that it shows no more. */
static int attr_of_file(struct tfs_session *s, struct tfs_need *need, const struct tfs_inode *inode,
                        struct tfs_attr *attr)
{
    const bool taken = inode->stamp == TFS_STAMP_TAKEN;
    struct tfs_node node = inode->node;
    uint64_t size = 0;

    tfs_ops_refresh(s, &node);
    const bool shown = inode->doc == NULL && inode->array == NULL;
    if (shown && !taken && inode->stamp != tfs_views_stamp(&s->views, tfs_node_id(&node)))
        return -ESTALE;
    if (shown) {
        const int result = tfs_ops_attr_node(s, need, &node, attr);
        attr->changing = attr->changing || taken;
        return result;
    }
    const struct tfs_view view = tfs_ops_view_of(s, inode);
    const int result = inode->array == NULL ? find_size(s, need, &view, &size) : 0;
    *attr = (struct tfs_attr){.id = inode->id, .changing = taken};
    fill_mode(s, &node, &attr->st);
    attr->st.st_ino = tfs_node_id(&node);
    fill_times(s, tfs_node_id(&node), NULL, &attr->st);
    fill_size(&attr->st, inode->array != NULL ? inode->array->pages->size : size);
    return result;
}

int tfs_ops_attr(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                 struct tfs_attr *attr)
{
    if (inode->scratch == NULL)
        return attr_of_file(s, need, inode, attr);
    if (inode == s->rejected.status)
        update_status(s);
    attr_of_scratch(inode->scratch, attr);
    return 0;
}
