/*
 * nullfs DIR MOUNTPOINT [-f]: a directory of files, read into memory once, served as fast as FUSE
 * allows; -f stays in the foreground. Of files above 256 MiB the first MiB is read, the rest is
 * zeros. What is written is forgotten.
 *
 * The floor that `make bench` compares with: no decoding, no locks, no table look-up (a node id is
 * a pointer), and the options found fastest for a read-write mount: timeouts of an hour, pages and
 * listings kept by the kernel, READDIRPLUS always, no FLUSH for handles opened read-only. It knows
 * nothing of terrainfs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fuse_lowlevel.h>

#define TIMEOUT 3600.0
#define LARGE   ((off_t)256 << 20)
#define HEAD    ((size_t)1 << 20) /* of a large file; no request is larger */

struct node {
    char *name;
    struct node *parent;
    struct stat st;
    char *data; /* of a file */
    struct node **children;
    size_t count;
};

static struct node root;

/* ---- reading the directory ------------------------------------------------------------------- */

static void die(const char *what)
{
    fprintf(stderr, "nullfs: %s: %s\n", what, strerror(errno));
    exit(3);
}

static void *must(void *memory)
{
    if (!memory)
        die("memory");
    return memory;
}

static void read_file(int fd, struct node *node)
{
    size_t size = node->st.st_size > LARGE ? HEAD : (size_t)node->st.st_size, done = 0;
    node->data = must(node->st.st_size > LARGE ? calloc(2, HEAD) : malloc(size + 1));
    while (done < size) {
        ssize_t n = read(fd, node->data + done, size - done);
        if (n <= 0)
            die(node->name);
        done += (size_t)n;
    }
    close(fd);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct node *const *)a)->name, (*(struct node *const *)b)->name);
}

static void read_node(int at, const char *name, struct node *node, struct node *parent);

static void read_directory(int fd, struct node *node)
{
    DIR *dir = must(fdopendir(fd));
    size_t room = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (node->count == room) {
            room = room ? 2 * room : 8;
            node->children = must(realloc(node->children, room * sizeof *node->children));
        }
        struct node *child = must(calloc(1, sizeof *child));
        node->children[node->count++] = child;
        read_node(fd, entry->d_name, child, node);
    }
    closedir(dir);
    if (node->count)
        qsort(node->children, node->count, sizeof *node->children, by_name);
}

static void read_node(int at, const char *name, struct node *node, struct node *parent)
{
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &node->st) < 0)
        die(name);
    node->name = must(strdup(name));
    node->parent = parent;
    node->st.st_ino = node == &root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
    if (S_ISDIR(node->st.st_mode))
        read_directory(fd, node);
    else
        read_file(fd, node);
}

/* ---- serving it ------------------------------------------------------------------------------ */

static struct node *node_of(fuse_ino_t ino)
{
    return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

static struct fuse_entry_param entry_of(const struct node *node)
{
    return (struct fuse_entry_param){
        .ino = node ? node->st.st_ino : 0,
        .attr = node ? node->st : (struct stat){0},
        .attr_timeout = TIMEOUT,
        .entry_timeout = TIMEOUT,
    };
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
    (void)userdata;
    conn->want |= conn->capable & FUSE_CAP_READDIRPLUS;
    conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct node *dir = node_of(parent), key = {.name = (char *)(uintptr_t)name}, *sought = &key;
    struct node **found = NULL;
    if (dir->count)
        found = bsearch(&sought, dir->children, dir->count, sizeof *found, by_name);
    struct fuse_entry_param entry = entry_of(found ? *found : NULL);
    fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)fi;
    fuse_reply_attr(req, &node_of(ino)->st, TIMEOUT);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
    (void)ino, (void)count;
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    (void)count, (void)forgets;
    fuse_reply_none(req);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    fi->keep_cache = 1;
    fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY;
    fuse_reply_open(req, fi);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    fi->keep_cache = 1;
    fi->cache_readdir = 1;
    fuse_reply_open(req, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    (void)fi;
    const struct node *node = node_of(ino);
    size_t total = (size_t)node->st.st_size, from = (size_t)offset;
    if (from >= total)
        fuse_reply_buf(req, NULL, 0);
    else
        fuse_reply_buf(req, node->data + (node->st.st_size > LARGE && from > HEAD ? HEAD : from),
                       size < total - from ? size : total - from);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *fi)
{
    (void)ino, (void)data, (void)offset, (void)fi;
    fuse_reply_write(req, size);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    (void)ino, (void)datasync, (void)fi;
    fuse_reply_err(req, 0);
}

static void op_done(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino, (void)fi;
    fuse_reply_err(req, 0);
}

static size_t add_entry(fuse_req_t req, char *out, size_t room, const struct node *dir,
                        size_t index, bool plus)
{
    const struct node *up = dir->parent ? dir->parent : dir;
    const struct node *node = index == 0 ? dir : index == 1 ? up : dir->children[index - 2];
    const char *name = index == 0 ? "." : index == 1 ? ".." : node->name;
    if (!plus)
        return fuse_add_direntry(req, out, room, name, &node->st, (off_t)index + 1);
    struct fuse_entry_param entry = entry_of(node);
    return fuse_add_direntry_plus(req, out, room, name, &entry, (off_t)index + 1);
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
    const struct node *dir = node_of(ino);
    char *out = malloc(size);
    size_t used = 0;
    if (!out) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    for (size_t i = (size_t)offset; i < dir->count + 2; i++) {
        size_t n = add_entry(req, out + used, size - used, dir, i, plus);
        if (n > size - used)
            break;
        used += n;
    }
    fuse_reply_buf(req, out, used);
    free(out);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                       struct fuse_file_info *fi)
{
    (void)fi;
    list(req, ino, size, offset, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct fuse_file_info *fi)
{
    (void)fi;
    list(req, ino, size, offset, true);
}

static const struct fuse_lowlevel_ops ops = {
    .init = op_init,
    .lookup = op_lookup,
    .getattr = op_getattr,
    .forget = op_forget,
    .forget_multi = op_forget_multi,
    .open = op_open,
    .read = op_read,
    .write = op_write,
    .fsync = op_fsync,
    .flush = op_done,
    .release = op_done,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .releasedir = op_done,
};

int main(int argc, char **argv)
{
    const bool foreground = argc == 4 && strcmp(argv[3], "-f") == 0;
    if (argc != 3 && !foreground) {
        fputs("usage: nullfs DIR MOUNTPOINT [-f]\n", stderr);
        return 2;
    }
    read_node(AT_FDCWD, argv[1], &root, NULL);
    char options[] = "fsname=nullfs,default_permissions";
    char *words[] = {argv[0], (char[]){"-o"}, options, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, words);
    struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, NULL);
    if (!session || fuse_set_signal_handlers(session) != 0 ||
        fuse_session_mount(session, argv[2]) != 0 || fuse_daemonize(foreground) != 0)
        return 3;
    int status = fuse_session_loop(session);
    fuse_session_unmount(session);
    fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
    return status ? 3 : 0;
}
