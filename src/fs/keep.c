/*
 * What must not get lost though it could not be saved: sentences in .terrainfs/errors.log, refused
 * documents in .terrainfs/rejected/. What is left at the end is written by unsaved.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/state.h"
#include "text/name.h"

#define LOG_LIMIT (1 << 20)

/* ---- .terrainfs ------------------------------------------------------------------------------ */

static struct tfs_inode *control_node(struct tfs_session *s, enum tfs_inode_kind kind,
                                      uint64_t parent, const char *name)
{
    mode_t mode = s->st.st_mode & 0444;
    if (kind == TFS_INODE_DIRECTORY)
        mode |= mode >> 2 | (s->st.st_mode & 0200);
    struct tfs_inode *inode = tfs_inode_create_locked(s, kind, mode, s->st.st_uid, s->st.st_gid);
    if (inode == NULL)
        return NULL;
    inode->control = true;
    return tfs_link_add_locked(s, parent, name, inode) == 0 ? inode : NULL;
}

int tfs_control_create_locked(struct tfs_session *s)
{
    s->control = control_node(s, TFS_INODE_DIRECTORY, 1, TFS_CONTROL_NAME);
    if (s->control == NULL)
        return -ENOMEM;
    s->log = control_node(s, TFS_INODE_FILE, s->control->id, "errors.log");
    s->status = control_node(s, TFS_INODE_FILE, s->control->id, "status");
    s->rejected = control_node(s, TFS_INODE_DIRECTORY, s->control->id, "rejected");
    return s->log != NULL && s->status != NULL && s->rejected != NULL ? 0 : -ENOMEM;
}

/* Names that are gone for now: those that a program may bring back, and those that a new directory
 * does not show yet. */
static size_t count_hidden_locked(const struct tfs_session *s)
{
    struct tfs_map_cell cell;
    size_t count = s->tombstones.count;
    for (size_t at = 0; tfs_map_next(&s->fresh, &at, &cell);) {
        const struct tfs_fresh *fresh = cell.value;
        count += fresh->hidden;
    }
    return count;
}

void tfs_status_update_locked(struct tfs_session *s)
{
    struct tfs_buf *b = &s->status->bytes;
    char path[2 * PATH_MAX];
    if (b->failed)
        tfs_buf_release(b);
    tfs_buf_clear(b);
    tfs_buf_printf(b, "pid: %ld\n", (long)getpid());
    if (s->options.exit_fd >= 0)
        tfs_buf_printf(b, "exit: %d\n", s->options.exit_fd);
    tfs_buf_printf(b, "save: %s\n", tfs_sentence_print(s->save->path, path, sizeof(path)));
    tfs_buf_printf(b, "commits: %llu\n", (unsigned long long)s->commits);
    tfs_buf_printf(b, "unsaved: %s\n", s->doc->version != s->disk->version ? "yes" : "no");
    tfs_buf_printf(b, "hidden: %zu\n", count_hidden_locked(s));
    tfs_buf_printf(b, "scratch: %llu of %llu bytes\n", (unsigned long long)s->scratch_used,
                   (unsigned long long)s->options.scratch_limit);
}

/* Forgets the older half of the log, at a line's end, when it has become too long. */
static void trim_log(struct tfs_buf *log)
{
    if (log->size < LOG_LIMIT)
        return;
    uint8_t *half = log->data + log->size / 2;
    uint8_t *line = memchr(half, '\n', log->size / 2);
    size_t keep = line != NULL ? (size_t)(log->data + log->size - line - 1) : 0;
    memmove(log->data, log->data + log->size - keep, keep);
    log->size = keep;
}

void tfs_log_error(struct tfs_session *s, const struct tfs_error *err, const char *path)
{
    char text[TFS_ERROR_TEXT + 1024], line[2 * sizeof(text)];
    tfs_error_format(err, path, text, sizeof(text));
    tfs_sentence_print(text, line, sizeof(line));
    pthread_mutex_lock(&s->lock);
    struct tfs_buf *log = &s->log->bytes;
    tfs_buf_add_text(log, line);
    tfs_buf_u8(log, '\n');
    log->failed = false;
    trim_log(log);
    s->log->mtime = s->log->ctime = tfs_now_locked(s);
    pthread_mutex_unlock(&s->lock);
    tfs_message(s, "%s", line);
}

/* ---- rejected/ ------------------------------------------------------------------------------- */

/* The entry `name` below `parent`, made if it is not there. */
static struct tfs_inode *kept_node(struct tfs_session *s, struct tfs_inode *parent,
                                   const char *name, enum tfs_inode_kind kind)
{
    struct tfs_link *link = tfs_link_find_locked(s, parent->id, name);
    if (link != NULL && link->inode->kind == kind)
        return link->inode;
    if (link != NULL)
        return NULL;
    mode_t mode = (s->st.st_mode & 0600) | (kind == TFS_INODE_DIRECTORY ? 0100 : 0);
    struct tfs_inode *inode = tfs_inode_create_locked(s, kind, mode, s->st.st_uid, s->st.st_gid);
    if (inode == NULL)
        return NULL;
    inode->uncapped = true;
    if (tfs_link_add_locked(s, parent->id, name, inode) < 0) {
        tfs_inode_drop_locked(s, inode);
        return NULL;
    }
    return inode;
}

/* The kept files below a directory but for `self`: how much they are, and the one that was kept
 * first. */
static uint64_t weigh_kept(struct tfs_session *s, const struct tfs_inode *dir,
                           const struct tfs_inode *self, struct tfs_inode **oldest)
{
    const struct tfs_link *link;
    uint64_t total = 0;
    for (uint64_t from = 0; (link = tfs_link_from_locked(s, dir->id, from)) != NULL;
         from = link->serial + 1) {
        struct tfs_inode *inode = link->inode;
        total += TFS_SCRATCH_COST + (inode != self ? inode->bytes.size : 0);
        if (inode->kind == TFS_INODE_DIRECTORY)
            total += weigh_kept(s, inode, self, oldest);
        if (inode->kind == TFS_INODE_DIRECTORY || inode == self)
            continue;
        const struct timespec *a = &inode->mtime, *b = *oldest != NULL ? &(*oldest)->mtime : NULL;
        if (b == NULL || a->tv_sec < b->tv_sec ||
            (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec))
            *oldest = inode;
    }
    return total;
}

static void drop_kept(struct tfs_session *s, struct tfs_inode *at, char *rest);

/* Lets go of what was kept first; the log says so. False: without memory for its name. */
static bool drop_oldest(struct tfs_session *s, const struct tfs_inode *oldest)
{
    struct tfs_buf path = {0};
    tfs_path_locked(s, oldest->id, &path);
    tfs_buf_u8(&path, 0);
    if (!path.failed) {
        struct tfs_buf *log = &s->log->bytes;
        char *below = strstr((char *)path.data, "rejected/");
        tfs_buf_printf(log, "%s: let go, to keep newer refused texts\n", (const char *)path.data);
        log->failed = false;
        trim_log(log);
        s->log->mtime = s->log->ctime = tfs_now_locked(s);
        s->rejected_dropped++;
        drop_kept(s, s->rejected, below + strlen("rejected/"));
    }
    bool dropped = !path.failed;
    tfs_buf_release(&path);
    return dropped;
}

/* What is kept under this path now; NULL: nothing. */
static const struct tfs_inode *find_kept(struct tfs_session *s, const char *path)
{
    const struct tfs_inode *at = s->rejected;
    while (at != NULL && *path != '\0') {
        char name[NAME_MAX + 1];
        size_t length = strcspn(path, "/");
        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        const struct tfs_link *link = tfs_link_find_locked(s, at->id, name);
        at = link != NULL ? link->inode : NULL;
        path += length + (path[length] == '/');
    }
    return at;
}

/* Room for `size` bytes in the place of what is kept under the path now. */
static void make_room(struct tfs_session *s, const char *path, uint64_t size)
{
    const struct tfs_inode *self = find_kept(s, path);
    for (;;) {
        struct tfs_inode *oldest = NULL;
        uint64_t total = weigh_kept(s, s->rejected, self, &oldest);
        if (oldest == NULL || total + size <= s->options.rejected_limit || !drop_oldest(s, oldest))
            return;
    }
}

/* Directories in which nothing was kept after all. */
static void drop_empty(struct tfs_session *s, const struct tfs_inode *dir)
{
    struct tfs_link *link;
    for (uint64_t from = 0; (link = tfs_link_from_locked(s, dir->id, from)) != NULL;) {
        struct tfs_inode *inode = link->inode;
        from = link->serial + 1;
        if (inode->kind != TFS_INODE_DIRECTORY)
            continue;
        drop_empty(s, inode);
        if (!tfs_links_empty_locked(s, inode->id))
            continue;
        tfs_link_remove_locked(s, link);
        tfs_inode_drop_locked(s, inode);
    }
}

int tfs_keep_rejected_locked(struct tfs_session *s, const char *path, struct tfs_span bytes)
{
    /* Some programs open, cut off and close a file before they write it: that holds nothing to
     * keep. */
    if (bytes.size == 0)
        return 0;
    make_room(s, path, bytes.size);
    struct tfs_buf kept = {0};
    struct tfs_inode *at = s->rejected;
    char *copy = strdup(path);
    char *rest = copy;
    char *name;
    tfs_buf_add_span(&kept, bytes);
    while (at != NULL && !kept.failed && rest != NULL && (name = strsep(&rest, "/")) != NULL) {
        tfs_stale_id(s, at->id);
        at = kept_node(s, at, name, rest != NULL ? TFS_INODE_DIRECTORY : TFS_INODE_FILE);
    }
    bool done = copy != NULL && at != NULL && !kept.failed;
    if (done) {
        tfs_buf_release(&at->bytes);
        at->bytes = kept;
        at->mtime = at->ctime = tfs_now_locked(s);
        tfs_stale_id(s, at->id);
    } else {
        tfs_buf_release(&kept);
        drop_empty(s, s->rejected);
    }
    free(copy);
    return done ? 0 : -ENOMEM;
}

/* Takes the kept file `rest` below `at` away, and the directories that it leaves empty. */
static void drop_kept(struct tfs_session *s, struct tfs_inode *at, char *rest)
{
    char *name = strsep(&rest, "/");
    struct tfs_link *link = tfs_link_find_locked(s, at->id, name);
    if (link == NULL)
        return;
    struct tfs_inode *inode = link->inode;
    if (rest != NULL && inode->kind == TFS_INODE_DIRECTORY)
        drop_kept(s, inode, rest);
    if ((rest == NULL) != (inode->kind == TFS_INODE_FILE) || !tfs_links_empty_locked(s, inode->id))
        return;
    tfs_link_remove_locked(s, link);
    tfs_stale_id(s, at->id);
    tfs_inode_drop_locked(s, inode);
}

void tfs_keep_accepted_locked(struct tfs_session *s, const char *path)
{
    char *copy = strdup(path);
    if (copy != NULL)
        drop_kept(s, s->rejected, copy);
    free(copy);
}

/* ---- files of a changed chunk ---------------------------------------------------------------- */

struct changes {
    struct tfs_session *s;
    const struct tfs_doc *disk; /* what they are the changes of */
    tfs_keep_fn keep;
    void *arg;
    size_t lost; /* for want of memory, or by `keep` */
};

static void keep_file(struct changes *c, struct tfs_node node)
{
    struct tfs_session *s = c->s;
    const struct tfs_file *file = tfs_node_file(s->save, &node);
    struct tfs_error err = {0};
    struct tfs_buf path = {0};
    struct tfs_buf bytes = {0};
    if (file->lens->put != NULL && tfs_node_exists(s->save, s->doc, &node) == 1 &&
        file->lens->get(s->save, s->doc, tfs_node_at(s->save, &node), &bytes, &err) == 0) {
        tfs_tree_path(s->save, s->doc, &node, &path);
        tfs_buf_u8(&path, 0);
        if (path.failed || c->keep(c->arg, (const char *)path.data, tfs_buf_span(&bytes)) < 0)
            c->lost++;
    }
    c->lost += err.code == -ENOMEM;
    tfs_buf_release(&path);
    tfs_buf_release(&bytes);
}

/* All files that read differently: the stored bytes say everything, the others are for people. */
static int keep_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct changes *c = arg;
    const struct tfs_tree *tree = c->s->save->tree;
    uint32_t files = tree->chunk_changes != NULL ? tree->chunk_changes(before, after) : UINT32_MAX;
    if (after == NULL) {
        char name[TFS_CHUNK_NAME];
        char path[TFS_CHUNK_NAME + 16];
        tfs_chunk_name(before->key, name);
        snprintf(path, sizeof(path), "deleted/%u_%s", before->key.group, name);
        c->lost += c->keep(c->arg, path, (struct tfs_span){0}) < 0;
        return 0;
    }
    for (unsigned i = 0; i < tree->chunk_count; i++) {
        if ((files >> i & 1) != 0)
            keep_file(c, (struct tfs_node){.scope = TFS_SCOPE_CHUNK,
                                           .key = after->key,
                                           .slot = after->slot,
                                           .file = (int)i});
    }
    return 0;
}

/* Files of the root that read differently: where something of the whole save changed, and where
 * chunks are tiles of what the root shows. */
static void keep_root_files(struct changes *c)
{
    struct tfs_session *s = c->s;
    const struct tfs_tree *tree = s->save->tree;
    uint32_t files = tree->root_changes != NULL ? tree->root_changes(c->disk, s->doc) : UINT32_MAX;
    for (unsigned i = 0; i < tree->root_count; i++) {
        const struct tfs_file *file = &tree->root_files[i];
        uint32_t members = file->count != NULL ? file->count(s->doc) : 1;
        for (uint32_t m = 0; m < members && (files >> i & 1) != 0; m++)
            keep_file(c, (struct tfs_node){.file = (int)i, .member = m});
    }
}

size_t tfs_keep_changes(struct tfs_session *s, const struct tfs_doc *disk, tfs_keep_fn keep,
                        void *arg)
{
    struct changes c = {.s = s, .disk = disk, .keep = keep, .arg = arg};
    (void)tfs_doc_diff(disk, s->doc, keep_chunk, &c);
    bool root = s->save->tree->fixed_chunks;
    for (unsigned i = 0; i < TFS_PARTS; i++)
        root = root || disk->parts[i] != s->doc->parts[i];
    if (root)
        keep_root_files(&c);
    return c.lost;
}

static int keep_as_rejected(void *arg, const char *path, struct tfs_span bytes)
{
    struct tfs_session *s = arg;
    pthread_mutex_lock(&s->lock);
    int result = tfs_keep_rejected_locked(s, path, bytes);
    pthread_mutex_unlock(&s->lock);
    return result;
}

int tfs_keep_changes_rejected(struct tfs_session *s, const struct tfs_doc *disk)
{
    if (s->doc->version == disk->version)
        return 0;
    if (tfs_keep_changes(s, disk, keep_as_rejected, s) > 0)
        return -ENOMEM;
    tfs_message(s, "%s: changed by another program; our unsaved edits are in %s/rejected/",
                s->save->name, TFS_CONTROL_NAME);
    return 0;
}
