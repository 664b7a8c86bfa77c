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
    struct tfs_scratch *scratch = inode->scratch;
    scratch->mode = mode;
    scratch->uid = q->st.st_uid;
    scratch->gid = q->st.st_gid;
    scratch->atime = scratch->mtime = scratch->ctime = tfs_views_now(q->views);
    if (tfs_link_add(q->inodes->overlay, parent, name, scratch) == 0)
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
    /* None of it is the user's: git does not see it. */
    struct tfs_inode *ignore = control_node(q, TFS_SCRATCH_FILE, q->control, ".gitignore");
    if (ignore == NULL || q->log == NULL || q->status == NULL || q->dir == NULL)
        return -ENOMEM;
    tfs_buf_add_text(&ignore->scratch->bytes, "*\n");
    return ignore->scratch->bytes.failed ? -ENOMEM : 0;
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

bool tfs_rejected_has_lines(const struct tfs_rejected *q)
{
    return q->log->scratch->bytes.size > 0;
}

/* The first line: the root lists .terrainfs now. */
static void show_control(struct tfs_rejected *q)
{
    const struct tfs_node root = TFS_NODE_ROOT;

    tfs_views_bump(q->views, tfs_node_id(&root));
}

void tfs_rejected_log(struct tfs_rejected *q, const char *line)
{
    struct tfs_scratch *scratch = q->log->scratch;
    struct tfs_buf *log = &scratch->bytes;
    char time[32];
    struct tm tm;

    if (log->size == 0)
        show_control(q);
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
    const struct tfs_link *link = tfs_link_find(q->inodes->overlay, parent, name);

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
    struct tfs_link *link = tfs_link_find(q->inodes->overlay, parent, name);
    struct tfs_inode *inode = tfs_inode_find(q->inodes, link->scratch->id);

    tfs_link_remove(q->inodes->overlay, link);
    tfs_inode_drop(q->inodes, inode);
}

typedef int (*give_entry_fn)(void *arg, const char *path, const struct tfs_scratch *entry);

/* Gives all that is below a directory, whose path is `prefix`: 0, or the first failure. */
static int walk(const struct tfs_rejected *q, uint64_t dir, const char *prefix, give_entry_fn give,
                void *arg)
{
    const struct tfs_link *link;
    int failed = 0;

    for (uint64_t from = 0; (link = tfs_link_from(q->inodes->overlay, dir, from)) != NULL;
         from = link->serial + 1) {
        const struct tfs_scratch *entry = link->scratch;
        const bool directory = entry->kind == TFS_SCRATCH_DIRECTORY;
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s%s%s", prefix, link->name, directory ? "/" : "");
        failed = tfs_first_failure(failed, give(arg, path, entry));
        if (directory)
            failed = tfs_first_failure(failed, walk(q, entry->id, path, give, arg));
    }
    return failed;
}

/* How much all of it is; the oldest text, and its path. */
struct weighing {
    const struct tfs_scratch *self; /* is about to be replaced, and does not count */
    const struct tfs_scratch *oldest;
    uint64_t total;
    char path[PATH_MAX];
};

static int weigh(void *arg, const char *path, const struct tfs_scratch *entry)
{
    struct weighing *w = arg;

    w->total += TFS_SCRATCH_COST + (entry != w->self ? entry->bytes.size : 0);
    if (entry->kind == TFS_SCRATCH_DIRECTORY || entry == w->self ||
        (w->oldest != NULL && !tfs_is_later(w->oldest->mtime, entry->mtime)))
        return 0;
    w->oldest = entry;
    snprintf(w->path, sizeof(w->path), "%s", path);
    return 0;
}

/* What stands under this path now; NULL: nothing. */
static const struct tfs_scratch *find_path(const struct tfs_rejected *q, const char *path)
{
    const struct tfs_scratch *at = q->dir->scratch;

    while (at != NULL && *path != '\0') {
        char name[NAME_MAX + 1];
        size_t length = strcspn(path, "/");
        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        at = entry_of(q, at->id, name);
        path += length + (path[length] == '/');
    }
    return at;
}

/* Room for `size` bytes in the place of what stands under the path now. */
static void make_room(struct tfs_rejected *q, const char *path, uint64_t size)
{
    char line[PATH_MAX + 100];

    /* Files that are no rejected texts are counted too: then looking is in vain. */
    if (q->inodes->overlay->uncapped + size + TFS_SCRATCH_COST <= q->limit)
        return;
    for (uint64_t before = UINT64_MAX;;) {
        struct weighing w = {.self = find_path(q, path)};
        (void)walk(q, q->dir->id, "", weigh, &w);
        if (w.oldest == NULL || w.total + size <= q->limit || w.total >= before)
            return;
        before = w.total;
        snprintf(line, sizeof(line),
                 TFS_CONTROL_NAME "/rejected/%s: let go, to keep newer refused texts", w.path);
        tfs_rejected_log(q, line);
        q->dropped++;
        tfs_rejected_drop(q, w.path);
    }
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
        !tfs_overlay_is_empty(q->inodes->overlay, scratch->id))
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
    while (at != NULL && rest != NULL && (name = strsep(&rest, "/")) != NULL) {
        at = make_entry(q, at->id, name, rest != NULL ? TFS_SCRATCH_DIRECTORY : TFS_SCRATCH_FILE);
    }
    if (at == NULL)
        tfs_rejected_drop(q, path);
    return at;
}

int tfs_rejected_put(struct tfs_rejected *q, const char *path, struct tfs_span bytes)
{
    struct tfs_buf copy = {0};

    /* Some programs open, cut off and close a file before they write it: that holds nothing to
     * keep. */
    if (bytes.size == 0)
        return 0;
    make_room(q, path, bytes.size);
    tfs_buf_add_span(&copy, bytes);
    struct tfs_scratch *scratch = copy.failed ? NULL : make_path(q, path);
    if (scratch == NULL) {
        tfs_buf_release(&copy);
        return -ENOMEM;
    }
    tfs_scratch_fill(q->inodes->overlay, scratch, &copy);
    scratch->mtime = scratch->ctime = tfs_views_now(q->views);
    return 0;
}

bool tfs_rejected_is_empty(const struct tfs_rejected *q)
{
    return tfs_overlay_is_empty(q->inodes->overlay, q->dir->id) && q->dropped == 0;
}

struct giving {
    tfs_rejected_fn each;
    void *arg;
};

static int give_text(void *arg, const char *path, const struct tfs_scratch *entry)
{
    const struct giving *g = arg;

    return entry->kind != TFS_SCRATCH_DIRECTORY ? g->each(g->arg, path, tfs_buf_span(&entry->bytes))
                                                : 0;
}

int tfs_rejected_each(const struct tfs_rejected *q, tfs_rejected_fn each, void *arg)
{
    struct giving g = {each, arg};

    return walk(q, q->dir->id, "", give_text, &g);
}
