/*
 * What must not get lost though it could not be saved: sentences in .terrainfs/errors.log, refused
 * documents in .terrainfs/rejected/, and at the end NAME.unsaved-DATE/ beside the save.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "fs/state.h"

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
    if (b->failed)
        tfs_buf_release(b);
    tfs_buf_clear(b);
    tfs_buf_printf(b, "pid: %ld\n", (long)getpid());
    if (s->options.exit_fd >= 0)
        tfs_buf_printf(b, "exit: %d\n", s->options.exit_fd);
    tfs_buf_printf(b, "save: %s\n", s->save->path);
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
    char line[TFS_ERROR_TEXT + 1024];
    tfs_error_format(err, path, line, sizeof(line));
    tfs_one_line(line);
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
    const struct tfs_links *links = tfs_map_find(&s->links, dir->id);
    uint64_t total = 0;
    for (size_t i = 0; links != NULL && i < links->count; i++) {
        struct tfs_inode *inode = links->links[i].inode;
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
    const struct tfs_links *links = tfs_map_find(&s->links, dir->id);
    for (size_t i = links != NULL ? links->count : 0; i-- > 0;) {
        struct tfs_inode *inode = links->links[i].inode;
        if (inode->kind != TFS_INODE_DIRECTORY)
            continue;
        drop_empty(s, inode);
        if (tfs_link_count_locked(s, inode->id) > 0)
            continue;
        tfs_link_remove_locked(s, dir->id, &links->links[i]);
        tfs_inode_drop_locked(s, inode);
        links = tfs_map_find(&s->links, dir->id);
        if (links == NULL)
            return;
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
    if ((rest == NULL) != (inode->kind == TFS_INODE_FILE) ||
        tfs_link_count_locked(s, inode->id) > 0)
        return;
    tfs_link_remove_locked(s, at->id, tfs_link_find_locked(s, at->id, name));
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

/* Receives a path of the tree and the bytes to keep there: 0 or negative. */
typedef int (*keep_fn)(void *arg, const char *path, struct tfs_span bytes);

struct changes {
    struct tfs_session *s;
    const struct tfs_doc *disk; /* what they are the changes of */
    keep_fn keep;
    void *arg;
    size_t count;
    size_t lost; /* for want of memory, or by `keep` */
};

static void keep_file(struct changes *c, struct tfs_node node)
{
    struct tfs_session *s = c->s;
    const struct tfs_file *file = tfs_node_file(s->save, &node);
    struct tfs_error err = {0};
    struct tfs_buf path = {0};
    struct tfs_buf bytes = {0};
    if (file->lens->put != NULL && tfs_node_exists(s->save, s->doc, &node) &&
        file->lens->get(s->save, s->doc, tfs_node_at(&node), &bytes, &err) == 0) {
        tfs_tree_path(s->save, s->doc, &node, &path);
        tfs_buf_u8(&path, 0);
        if (path.failed || c->keep(c->arg, (const char *)path.data, tfs_buf_span(&bytes)) < 0)
            c->lost++;
        c->count++;
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
        c->count++;
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
        uint32_t members = file->family_count != NULL ? file->family_count(s->doc) : 1;
        for (uint32_t m = 0; m < members && (files >> i & 1) != 0; m++)
            keep_file(c, (struct tfs_node){.file = (int)i, .member = m});
    }
}

static void keep_changes(struct changes *c)
{
    struct tfs_session *s = c->s;
    (void)tfs_doc_diff(c->disk, s->doc, keep_chunk, c);
    bool root = s->save->tree->fixed_chunks;
    for (unsigned i = 0; i < TFS_PARTS; i++)
        root = root || c->disk->parts[i] != s->doc->parts[i];
    if (root)
        keep_root_files(c);
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
    struct changes c = {.s = s, .disk = disk, .keep = keep_as_rejected, .arg = s};
    if (s->doc->version == disk->version)
        return 0;
    keep_changes(&c);
    if (c.lost > 0)
        return -ENOMEM;
    tfs_message(s, "%s: changed by another program; our unsaved edits are in %s/rejected/",
                s->save->name, TFS_CONTROL_NAME);
    return 0;
}

/* ---- NAME.unsaved-DATE/ ---------------------------------------------------------------------- */

/* A directory of what could not be saved. It is made, filled and removed by descriptors: whoever
 * else may write beside the save can put links and other directories in its place at any moment. */
struct unsaved {
    struct tfs_session *s;
    char directory[PATH_MAX + NAME_MAX + 2]; /* for people */
    const char *name;                        /* its last part */
    int parent, fd;
    size_t failed;
};

/* "NAME.unsaved-DATE", NAME cut where the whole would be longer than a file name can be. */
static void name_unsaved(const struct unsaved *u, unsigned try, char name[NAME_MAX + 1])
{
    struct tm tm;
    char ending[64];
    time_t now = time(NULL);
    localtime_r(&now, &tm);
    size_t n = strftime(ending, sizeof(ending), ".unsaved-%Y%m%d-%H%M%S", &tm);
    if (try > 0)
        n += (size_t)snprintf(ending + n, sizeof(ending) - n, "-%u", try);
    snprintf(name, NAME_MAX + 1, "%.*s%s", (int)(NAME_MAX - n), u->s->save->name, ending);
}

/* Opens the directory that was just made, if it is still that one. */
static int open_made(int parent, const char *name)
{
    struct stat st;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid())
        return fd;
    close(fd);
    return -EPERM;
}

static int open_unsaved(struct unsaved *u, const char *parent)
{
    char name[NAME_MAX + 1];
    for (unsigned i = 0; i < 100; i++) {
        name_unsaved(u, i, name);
        if (mkdirat(u->parent, name, 0700) == 0) {
            int n = snprintf(u->directory, sizeof(u->directory), "%s/%s", parent, name);
            u->name = u->directory + n - strlen(name);
            u->fd = open_made(u->parent, name);
            return u->fd < 0 ? u->fd : 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* What root keeps of another's save is for its owner to read. */
static void give(const struct unsaved *u, int fd)
{
    if (geteuid() == 0)
        (void)!fchown(fd, u->s->st.st_uid, u->s->st.st_gid);
}

static int make_path(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

static int write_all(int fd, struct tfs_span bytes)
{
    for (size_t at = 0; at < bytes.size;) {
        ssize_t n = write(fd, bytes.data + at, bytes.size - at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return n == 0 ? -EIO : -errno;
    }
    return fsync(fd) == 0 ? 0 : -errno;
}

static int write_at(const struct unsaved *u, int directory, const char *name, struct tfs_span bytes)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int result = write_all(fd, bytes);
    give(u, fd);
    close(fd);
    if (result < 0)
        (void)unlinkat(directory, name, 0); /* half a text would only be refused */
    return result;
}

static int enter(const struct unsaved *u, int directory, const char *name)
{
    bool made = mkdirat(directory, name, 0700) == 0;
    int next = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made && next >= 0)
        give(u, next);
    return next;
}

static int keep_on_disk(void *arg, const char *path, struct tfs_span bytes)
{
    struct unsaved *u = arg;
    char *copy = strdup(path);
    char *rest = copy;
    char *name;
    int result = copy == NULL ? -ENOMEM : 0;
    int directory = u->fd >= 0 ? dup(u->fd) : -1;
    while (directory >= 0 && rest != NULL && (name = strsep(&rest, "/")) != NULL) {
        if (rest == NULL) {
            result = write_at(u, directory, name, bytes);
            break;
        }
        int next = enter(u, directory, name);
        close(directory);
        directory = next;
    }
    if (directory < 0)
        result = -EIO;
    else
        close(directory);
    free(copy);
    return result;
}

/* Walks the scratch tree below rejected/. */
static void keep_tree(struct unsaved *u, const struct tfs_inode *dir, const char *prefix)
{
    const struct tfs_links *links = tfs_map_find(&u->s->links, dir->id);
    for (size_t i = 0; links != NULL && i < links->count; i++) {
        const struct tfs_inode *inode = links->links[i].inode;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", prefix, links->links[i].name);
        if (inode->kind == TFS_INODE_DIRECTORY)
            keep_tree(u, inode, path);
        else
            u->failed += keep_on_disk(u, path, tfs_buf_span(&inode->bytes)) < 0;
    }
}

/* Documents that could not be judged, for want of memory. */
static bool any_pending(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    for (size_t at = 0; tfs_map_next(&s->virtuals, &at, &cell);) {
        if (((const struct tfs_inode *)cell.value)->dirty)
            return true;
    }
    return false;
}

static void keep_pending(struct unsaved *u)
{
    struct tfs_map_cell cell;
    for (size_t at = 0; tfs_map_next(&u->s->virtuals, &at, &cell);) {
        const struct tfs_inode *inode = cell.value;
        struct tfs_buf path = {0};
        if (!inode->dirty)
            continue;
        tfs_path_locked(u->s, inode->id, &path);
        tfs_buf_u8(&path, 0);
        if (path.failed || keep_on_disk(u, (char *)path.data, tfs_buf_span(&inode->bytes)) < 0)
            u->failed++;
        tfs_buf_release(&path);
    }
}

/* Everything into a new directory in `parent`, which u->parent has open: 0, or negative when not
 * all of it is there. */
static int store_unsaved(struct unsaved *u, const char *parent)
{
    int result = u->parent < 0 ? u->parent : open_unsaved(u, parent);
    if (result < 0)
        return result;
    struct changes c = {.s = u->s, .disk = u->s->disk, .keep = keep_on_disk, .arg = u};
    if (!tfs_same_content(u->s->disk, u->s->doc))
        keep_changes(&c);
    u->failed += c.lost;
    keep_pending(u);
    keep_tree(u, u->s->rejected, "rejected");
    if (fsync(u->fd) < 0)
        u->failed++;
    give(u, u->fd); /* the last thing: until now nobody else could enter */
    return u->failed > 0 ? -EIO : 0;
}

static int store_beside(struct unsaved *u)
{
    char *parent = tfs_file_directory(u->s->save->path);
    if (parent == NULL)
        return -ENOMEM;
    u->parent = tfs_directory_open(parent);
    int result = store_unsaved(u, parent);
    free(parent);
    return result;
}

/* Where programs keep their state: a disk that is full for the save is full for what is beside
 * it. */
static int store_in_state(struct unsaved *u)
{
    char parent[PATH_MAX];
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int n = state != NULL && state[0] == '/'
                ? snprintf(parent, sizeof(parent), "%s/terrainfs", state)
                : snprintf(parent, sizeof(parent), "%s/.local/state/terrainfs",
                           home ? home : "/var/tmp");
    if (n < 0 || (size_t)n >= sizeof(parent))
        return -ENAMETOOLONG;
    int result = make_path(parent);
    if (result < 0)
        return result;
    u->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return u->parent < 0 ? -errno : store_unsaved(u, parent);
}

/* Everything in the directory. */
static void empty(int directory)
{
    int copy = dup(directory);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(directory, name, 0) == 0)
            continue;
        int below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            continue;
        empty(below);
        close(below);
        (void)unlinkat(directory, name, AT_REMOVEDIR);
    }
    if (dir != NULL)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
}

static void unsaved_close(struct unsaved *u)
{
    if (u->fd >= 0)
        close(u->fd);
    if (u->parent >= 0)
        close(u->parent);
}

int tfs_keep_unsaved(struct tfs_session *s)
{
    struct unsaved beside = {.s = s, .parent = -1, .fd = -1};
    struct unsaved state = {.s = s, .parent = -1, .fd = -1};
    if (tfs_same_content(s->disk, s->doc) && tfs_link_count_locked(s, s->rejected->id) == 0 &&
        !any_pending(s) && s->rejected_dropped == 0)
        return 0;
    if (s->rejected_dropped > 0)
        tfs_message(s, "%s: %zu older refused texts were let go to keep newer ones", s->save->name,
                    s->rejected_dropped);
    const struct unsaved *kept = &beside;
    int result = store_beside(&beside);
    if (result < 0) {
        result = store_in_state(&state);
        if (result == 0 || beside.fd < 0)
            kept = &state;
        if (result == 0 && beside.fd >= 0) {
            empty(beside.fd);
            (void)unlinkat(beside.parent, beside.name, AT_REMOVEDIR);
        }
    }
    s->unsaved = kept->fd >= 0 ? strdup(kept->directory) : NULL;
    if (kept->fd < 0)
        tfs_message(s, "%s: edits could not be saved, nor kept beside the save: %s", s->save->name,
                    strerror(-result));
    else
        tfs_message(s, "%s: not everything could be saved; what was not is in %s%s", s->save->name,
                    kept->directory,
                    kept->failed > 0 ? " (not complete: writing there failed too)" : "");
    unsaved_close(&beside);
    unsaved_close(&state);
    return 1;
}
