/*
 * errors.log and rejected/: see rejected.h.
 */
#include "fs/session/rejected.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define LOG_LIMIT (1 << 20)

/* ---- .terrainfs ------------------------------------------------------------------------------ */

static struct tfs_inode *make_node(struct tfs_rejected *q, enum tfs_scratch_kind kind,
                                   unsigned flags, mode_t mode, uint64_t parent, const char *name)
{
    struct tfs_inode *inode = tfs_inode_make_scratch(q->inodes, kind, flags);

    if (inode == NULL)
        return NULL;
    struct tfs_scratch *scratch = inode->scratch, *none;
    scratch->mode = mode;
    scratch->uid = q->st.st_uid;
    scratch->gid = q->st.st_gid;
    scratch->atime = scratch->mtime = scratch->ctime = tfs_views_now(q->views);
    if (tfs_link_put(q->inodes->scratch_tree, scratch, parent, name, &none) == 0)
        return inode;
    tfs_inode_drop(q->inodes, inode);
    return NULL;
}

static struct tfs_inode *control_node(struct tfs_rejected *q, enum tfs_scratch_kind kind,
                                      const struct tfs_inode *parent, const char *name)
{
    mode_t mode = q->st.st_mode & 0444;

    if (kind == TFS_SCRATCH_DIRECTORY)
        mode |= mode >> 2 | (q->st.st_mode & 0200);
    return make_node(q, kind, TFS_SCRATCH_CONTROL, mode, parent != NULL ? parent->id : 1, name);
}

int tfs_rejected_init(struct tfs_rejected *q)
{
    q->control = control_node(q, TFS_SCRATCH_DIRECTORY, NULL, TFS_CONTROL_NAME);
    if (q->control == NULL)
        return -ENOMEM;
    q->log = control_node(q, TFS_SCRATCH_FILE, q->control, "errors.log");
    q->status = control_node(q, TFS_SCRATCH_FILE, q->control, "status");
    q->dir = control_node(q, TFS_SCRATCH_DIRECTORY, q->control, "rejected");
    return q->log == NULL || q->status == NULL || q->dir == NULL ? -ENOMEM : 0;
}

int tfs_rejected_add_file(struct tfs_rejected *q, const char *name, struct tfs_span bytes)
{
    struct tfs_inode *inode = control_node(q, TFS_SCRATCH_FILE, NULL, name);

    if (inode == NULL)
        return -ENOMEM;
    tfs_buf_add_span(&inode->scratch->bytes, bytes);
    inode->scratch->mtime = inode->scratch->ctime = q->st.st_mtim;
    return inode->scratch->bytes.failed ? -ENOMEM : 0;
}

/* Forgets the older half of the log, at a line's end, when it has become too long. */
static void trim_log(struct tfs_buf *log)
{
    if (log->size < LOG_LIMIT)
        return;
    uint8_t *half = log->data + log->size / 2;
    uint8_t *line = memchr(half, '\n', log->size / 2);
    size_t rest = line != NULL ? (size_t)(log->data + log->size - line - 1) : 0;
    memmove(log->data, log->data + log->size - rest, rest);
    log->size = rest;
}

void tfs_rejected_log(struct tfs_rejected *q, const char *line)
{
    struct tfs_scratch *scratch = q->log->scratch;
    struct tfs_buf *log = &scratch->bytes;
    char time[32];
    struct tm tm;

    scratch->mtime = scratch->ctime = tfs_views_now(q->views);
    localtime_r(&scratch->mtime.tv_sec, &tm);
    strftime(time, sizeof(time), " (%Y-%m-%d %H:%M:%S)\n", &tm);
    tfs_buf_add_text(log, line);
    tfs_buf_add_text(log, time);
    log->failed = false;
    trim_log(log);
}

/* ---- rejected/ ------------------------------------------------------------------------------- */

static struct tfs_scratch *entry_of(const struct tfs_rejected *q, uint64_t parent, const char *name)
{
    const struct tfs_link *link = tfs_link_find(q->inodes->scratch_tree, parent, name);

    return link != NULL ? link->scratch : NULL;
}

/* The entry `name` below `parent`, made if it is not there; NULL: it is of another kind, or there
 * is no memory. */
static struct tfs_scratch *make_entry(struct tfs_rejected *q, uint64_t parent, const char *name,
                                      enum tfs_scratch_kind kind)
{
    struct tfs_scratch *found = entry_of(q, parent, name);

    if (found != NULL)
        return found->kind == kind ? found : NULL;
    mode_t mode = (q->st.st_mode & 0600) | (kind == TFS_SCRATCH_DIRECTORY ? 0100 : 0);
    struct tfs_inode *inode = make_node(q, kind, TFS_SCRATCH_UNCAPPED, mode, parent, name);
    return inode != NULL ? inode->scratch : NULL;
}

static void remove_entry(struct tfs_rejected *q, uint64_t parent, const char *name)
{
    struct tfs_link *link = tfs_link_find(q->inodes->scratch_tree, parent, name);
    struct tfs_inode *inode = tfs_inode_find(q->inodes, link->scratch->id);

    tfs_link_remove(q->inodes->scratch_tree, link);
    tfs_inode_drop(q->inodes, inode);
}

/* Takes the file `rest` below `at` away, if it is there, and directories that are empty then. */
static void drop_below(struct tfs_rejected *q, uint64_t at, char *rest)
{
    char *name = strsep(&rest, "/");
    const struct tfs_scratch *scratch = entry_of(q, at, name);

    if (scratch == NULL)
        return;
    if (rest != NULL && scratch->kind == TFS_SCRATCH_DIRECTORY)
        drop_below(q, scratch->id, rest);
    if ((rest == NULL) != (scratch->kind == TFS_SCRATCH_FILE) ||
        !tfs_scratch_tree_is_empty(q->inodes->scratch_tree, scratch->id))
        return;
    remove_entry(q, at, name);
}

void tfs_rejected_drop(struct tfs_rejected *q, const char *path)
{
    char copy[PATH_MAX];

    snprintf(copy, sizeof(copy), "%s", path);
    drop_below(q, q->dir->id, copy);
}

static struct tfs_scratch *make_path(struct tfs_rejected *q, const char *path)
{
    char copy[PATH_MAX], *rest = copy, *name;
    struct tfs_scratch *at = q->dir->scratch;

    snprintf(copy, sizeof(copy), "%s", path);
    while (at != NULL && rest != NULL && (name = strsep(&rest, "/")) != NULL)
        at = make_entry(q, at->id, name, rest != NULL ? TFS_SCRATCH_DIRECTORY : TFS_SCRATCH_FILE);
    return at;
}

/* Is it under the path now? Else an older text stays, or an empty file says that there was one. */
static bool keep(struct tfs_rejected *q, const char *path, struct tfs_span bytes)
{
    struct tfs_scratch *scratch = make_path(q, path);
    struct tfs_buf copy = {0};

    if (scratch == NULL ||
        q->inodes->scratch_tree->uncapped - scratch->bytes.size + bytes.size > q->limit)
        return false;
    tfs_buf_add_span(&copy, bytes);
    if (copy.failed) {
        tfs_buf_release(&copy);
        return false;
    }
    tfs_scratch_fill(q->inodes->scratch_tree, scratch, &copy);
    scratch->mtime = scratch->ctime = tfs_views_now(q->views);
    return true;
}

void tfs_rejected_put(struct tfs_rejected *q, const char *path, const struct tfs_span *bytes)
{
    char line[PATH_MAX + 100];

    /* Some programs open, cut off and close a file before they write it: that holds nothing to
     * keep. */
    if (bytes != NULL && (bytes->size == 0 || keep(q, path, *bytes)))
        return;
    (void)make_path(q, path);
    snprintf(line, sizeof(line),
             "%s: what was refused has no room in " TFS_CONTROL_NAME "/rejected", path);
    tfs_rejected_log(q, line);
}

bool tfs_rejected_is_empty(const struct tfs_rejected *q)
{
    return tfs_scratch_tree_is_empty(q->inodes->scratch_tree, q->dir->id);
}

/* Gives all texts that are below a directory, whose path is `prefix`: 0, or the first failure. */
static int give_below(const struct tfs_rejected *q, uint64_t dir, const char *prefix,
                      tfs_rejected_fn each, void *arg)
{
    const struct tfs_link *link;
    int failed = 0;

    for (uint64_t from = 0; (link = tfs_link_from(q->inodes->scratch_tree, dir, from)) != NULL;
         from = link->serial + 1) {
        const struct tfs_scratch *entry = link->scratch;
        const bool directory = entry->kind == TFS_SCRATCH_DIRECTORY;
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s%s%s", prefix, link->name, directory ? "/" : "");
        const int result = directory ? give_below(q, entry->id, path, each, arg)
                                     : each(arg, path, tfs_buf_span(&entry->bytes));
        failed = tfs_first_failure(failed, result);
    }
    return failed;
}

int tfs_rejected_each(const struct tfs_rejected *q, tfs_rejected_fn each, void *arg)
{
    return give_below(q, q->dir->id, "", each, arg);
}
