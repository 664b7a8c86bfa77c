/*
 * To be preloaded (LD_PRELOAD): counts the system calls that a program makes on what lies in one
 * directory, and strikes at the one that it is told to: kills the process right before it, lets it
 * fail, makes it transfer less. Tells on request what was changed, for replay.
 *
 *   STRIKE_DIR      the directory, as realpath says it
 *   STRIKE_CONTROL  a file of sizeof(struct control), shared with whoever runs the test (strike.py)
 *   STRIKE_LOG      where records are appended
 *
 * Whether a descriptor belongs to the directory is asked of the kernel at each call, so nothing of
 * /dev/fuse, of pipes or of scratch files is counted, and nothing has to be followed. System calls
 * are made directly: no other library stands between.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

enum mode { OFF, COUNT, KILL, FAIL, SHORT, TEAR };

/* Bits: what is counted. Only changes are recorded. */
enum kind { CHANGE = 1, READ = 2, LOOK = 4 };

struct control {
    _Atomic uint32_t mode, at, error, kinds, repeat, record; /* what is wanted */
    _Atomic uint32_t count, fired;                           /* what happened */
    char what[256];                                          /* the call that was struck */
};

/* One call: where it goes to and what it carries. */
struct call {
    const char *op;
    enum kind kind;
    int fd;           /* of the file, or of the directory that `name` is relative to */
    const char *name; /* NULL: fd is the file */
    int other_fd;
    const char *other; /* the second name of a rename or link */
    const void *data;
    size_t size; /* what is transferred; may become less */
    bool transfers;
    int64_t offset;
    uint32_t flags;
    /* begin */
    bool inside, dies;
    char path[PATH_MAX], other_path[PATH_MAX];
};

struct record {
    char op[16];
    int64_t offset, result;
    int32_t error;
    uint32_t flags, path_size, other_size;
    uint64_t data_size;
};

static struct control *control;
static const char *directory, *log_path;

__attribute__((constructor)) static void setup(void)
{
    const char *path = getenv("STRIKE_CONTROL");
    int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);

    directory = getenv("STRIKE_DIR");
    log_path = getenv("STRIKE_LOG");
    if (fd < 0 || directory == NULL)
        return;
    void *map = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (map != MAP_FAILED)
        control = map;
}

/* ---- which file ------------------------------------------------------------------------------ */

static void path_of_fd(int fd, char path[PATH_MAX])
{
    char link[64];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, fd == AT_FDCWD ? "/proc/self/cwd" : link, path,
                     PATH_MAX - 1);
    path[n < 0 ? 0 : n] = '\0';
}

static void path_of(int fd, const char *name, char path[PATH_MAX])
{
    if (name != NULL && name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return;
    }
    path_of_fd(fd, path);
    if (name != NULL && name[0] != '\0') {
        size_t length = strlen(path);
        snprintf(path + length, PATH_MAX - length, "/%s", name);
    }
}

static bool is_inside(const char *path)
{
    size_t length = strlen(directory);

    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* ---- recording ------------------------------------------------------------------------------- */

static void record(const struct call *c, int64_t result, int error)
{
    struct record r = {.offset = c->offset, .result = result, .error = error, .flags = c->flags};
    size_t data = c->transfers && c->data != NULL && result > 0 ? (size_t)result : 0;

    if (log_path == NULL || !c->inside || c->kind != CHANGE || control->record == 0)
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                          0600);
    snprintf(r.op, sizeof(r.op), "%s", c->op);
    r.path_size = (uint32_t)strlen(c->path);
    r.other_size = (uint32_t)strlen(c->other_path);
    r.data_size = data;
    struct iovec parts[] = {{&r, sizeof(r)},
                            {(void *)(uintptr_t)c->path, r.path_size},
                            {(void *)(uintptr_t)c->other_path, r.other_size},
                            {(void *)(uintptr_t)c->data, data}};
    syscall(SYS_writev, fd, parts, 4);
    syscall(SYS_close, fd);
}

/* ---- striking -------------------------------------------------------------------------------- */

static void die(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Carries out the order on a call that it is meant for. False: the call is not to be made. */
static bool strike(struct call *c)
{
    const uint32_t mode = control->mode;

    if ((mode == SHORT || mode == TEAR) && c->transfers && c->size > 1)
        c->size /= 2;
    else if (mode == SHORT)
        return true;
    snprintf(control->what, sizeof(control->what), "%s %s", c->op, strrchr(c->path, '/') + 1);
    control->fired++;
    c->dies = mode == TEAR && c->transfers;
    if (mode == KILL || (mode == TEAR && !c->dies))
        die();
    return mode != FAIL;
}

/* False: the call fails, errno is set. */
static bool begin(struct call *c)
{
    c->path[0] = c->other_path[0] = '\0';
    c->inside = c->dies = false;
    if (control == NULL || control->mode == OFF || (control->kinds & c->kind) == 0)
        return true;
    int saved = errno;
    path_of(c->fd, c->name, c->path);
    if (c->other != NULL)
        path_of(c->other_fd, c->other, c->other_path);
    errno = saved;
    c->inside = is_inside(c->path);
    if (!c->inside)
        return true;
    uint32_t n = atomic_fetch_add(&control->count, 1) + 1;
    bool meant = n == control->at || (control->repeat != 0 && n > control->at);
    if (control->mode == COUNT || !meant || strike(c))
        return true;
    record(c, -1, (int)control->error);
    errno = (int)control->error;
    return false;
}

static long end(const struct call *c, long result)
{
    int saved = errno;

    record(c, result, result < 0 ? saved : 0);
    if (c->dies)
        die();
    errno = saved;
    return result;
}

/* ---- writing and reading --------------------------------------------------------------------- */

static int64_t position(int fd)
{
    int saved = errno;
    int64_t at = syscall(SYS_lseek, fd, 0, SEEK_CUR);

    errno = saved;
    return at;
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct call c = {.op = "write", .kind = CHANGE, .fd = fd, .data = data, .size = size};

    c.transfers = true;
    c.offset = control == NULL || control->mode == OFF ? 0 : position(fd);
    return begin(&c) ? end(&c, syscall(SYS_write, fd, data, c.size)) : -1;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    struct call c = {.op = "write", .kind = CHANGE, .fd = fd, .data = data, .size = size};

    c.transfers = true;
    c.offset = offset;
    return begin(&c) ? end(&c, syscall(SYS_pwrite64, fd, data, c.size, offset)) : -1;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return pwrite64(fd, data, size, offset);
}

/* A call with pieces is made as one that transfers the first of them, which every caller has to
 * stand: only so can it be shortened and recorded. */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct call c = {.kind = CHANGE, .fd = fd};

    path_of_fd(fd, c.path);
    if (control == NULL || control->mode == OFF || (control->kinds & CHANGE) == 0 || count == 0 ||
        !is_inside(c.path))
        return syscall(SYS_writev, fd, parts, count);
    return write(fd, parts[0].iov_base, parts[0].iov_len);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
    struct call c = {.op = "read", .kind = READ, .fd = fd, .size = size, .transfers = true};

    return begin(&c) ? end(&c, syscall(SYS_pread64, fd, data, c.size, offset)) : -1;
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return pread64(fd, data, size, offset);
}

ssize_t read(int fd, void *data, size_t size)
{
    struct call c = {.op = "read", .kind = READ, .fd = fd, .size = size, .transfers = true};

    return begin(&c) ? end(&c, syscall(SYS_read, fd, data, c.size)) : -1;
}

/* What the compiler makes of them where it knows the size of the buffer. */
ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t room);

ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
    return read(fd, data, size < room ? size : room);
}

ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room)
{
    return pread64(fd, data, size < room ? size : room, offset);
}

ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t room)
{
    return pread64(fd, data, size < room ? size : room, offset);
}

/* Not recorded with data, and nobody here uses them on a save: whoever begins to shall see it. */
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t size,
                        unsigned flags)
{
    struct call c = {.op = "copy_file_range", .kind = CHANGE, .fd = out, .size = size};

    return begin(&c) ? end(&c, syscall(SYS_copy_file_range, in, in_at, out, out_at, c.size, flags))
                     : -1;
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t size)
{
    struct call c = {.op = "sendfile", .kind = CHANGE, .fd = out, .size = size};

    return begin(&c) ? end(&c, syscall(SYS_sendfile, out, in, offset, c.size)) : -1;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size)
{
    return sendfile64(out, in, offset, size);
}

/* ---- size and durability --------------------------------------------------------------------- */

static int resize(struct call *c, off64_t size)
{
    c->op = "truncate";
    c->kind = CHANGE;
    c->offset = size;
    if (!begin(c))
        return -1;
    long result = c->name == NULL ? syscall(SYS_ftruncate, c->fd, size)
                                  : syscall(SYS_truncate, c->name, size);
    return (int)end(c, result);
}

int ftruncate64(int fd, off64_t size)
{
    struct call c = {.fd = fd};

    return resize(&c, size);
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}

int truncate64(const char *path, off64_t size)
{
    struct call c = {.fd = AT_FDCWD, .name = path};

    return resize(&c, size);
}

int truncate(const char *path, off_t size)
{
    return truncate64(path, size);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t size)
{
    struct call c = {.op = "fallocate", .kind = CHANGE, .fd = fd, .offset = offset};

    return begin(&c) ? (int)end(&c, syscall(SYS_fallocate, fd, mode, offset, size)) : -1;
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    return fallocate64(fd, mode, offset, size);
}

int fsync(int fd)
{
    struct call c = {.op = "sync", .kind = CHANGE, .fd = fd};

    return begin(&c) ? (int)end(&c, syscall(SYS_fsync, fd)) : -1;
}

int fdatasync(int fd)
{
    struct call c = {.op = "sync", .kind = CHANGE, .fd = fd};

    return begin(&c) ? (int)end(&c, syscall(SYS_fdatasync, fd)) : -1;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int open_at(int fd, const char *name, int flags, mode_t mode)
{
    bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
    struct call c = {.op = "open", .kind = changes ? CHANGE : LOOK, .fd = fd, .name = name};

    c.flags = (uint32_t)flags;
    return begin(&c) ? (int)end(&c, syscall(SYS_openat, fd, name, flags, mode)) : -1;
}

/* The mode is there when a file may be made. */
#define OPEN(at)                                                                                   \
    do {                                                                                           \
        va_list arguments;                                                                         \
        mode_t mode = 0;                                                                           \
        va_start(arguments, flags);                                                                \
        if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)                            \
            mode = va_arg(arguments, mode_t);                                                      \
        va_end(arguments);                                                                         \
        return open_at(at, name, flags, mode);                                                     \
    } while (0)

int open(const char *name, int flags, ...)
{
    OPEN(AT_FDCWD);
}

int open64(const char *name, int flags, ...)
{
    OPEN(AT_FDCWD);
}

int openat(int fd, const char *name, int flags, ...)
{
    OPEN(fd);
}

int openat64(int fd, const char *name, int flags, ...)
{
    OPEN(fd);
}

int __open_2(const char *name, int flags);
int __open64_2(const char *name, int flags);
int __openat_2(int fd, const char *name, int flags);
int __openat64_2(int fd, const char *name, int flags);

int __open_2(const char *name, int flags)
{
    return open_at(AT_FDCWD, name, flags, 0);
}

int __open64_2(const char *name, int flags)
{
    return open_at(AT_FDCWD, name, flags, 0);
}

int __openat_2(int fd, const char *name, int flags)
{
    return open_at(fd, name, flags, 0);
}

int __openat64_2(int fd, const char *name, int flags)
{
    return open_at(fd, name, flags, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    struct call c = {.op = "rename", .kind = CHANGE, .fd = from_fd, .name = from};

    c.other_fd = to_fd;
    c.other = to;
    c.flags = flags;
    return begin(&c) ? (int)end(&c, syscall(SYS_renameat2, from_fd, from, to_fd, to, flags)) : -1;
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    return renameat2(from_fd, from, to_fd, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    struct call c = {.op = "link", .kind = CHANGE, .fd = from_fd, .name = from};

    c.other_fd = to_fd;
    c.other = to;
    return begin(&c) ? (int)end(&c, syscall(SYS_linkat, from_fd, from, to_fd, to, flags)) : -1;
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int fd, const char *name, int flags)
{
    struct call c = {.op = "unlink", .kind = CHANGE, .fd = fd, .name = name};

    return begin(&c) ? (int)end(&c, syscall(SYS_unlinkat, fd, name, flags)) : -1;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

int rmdir(const char *name)
{
    return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

int mkdirat(int fd, const char *name, mode_t mode)
{
    struct call c = {.op = "mkdir", .kind = CHANGE, .fd = fd, .name = name};

    return begin(&c) ? (int)end(&c, syscall(SYS_mkdirat, fd, name, mode)) : -1;
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

/* ---- locks, owners, attributes --------------------------------------------------------------- */

int flock(int fd, int operation)
{
    struct call c = {.op = "flock", .kind = CHANGE, .fd = fd};

    return begin(&c) ? (int)end(&c, syscall(SYS_flock, fd, operation)) : -1;
}

int fchmod(int fd, mode_t mode)
{
    struct call c = {.op = "fchmod", .kind = CHANGE, .fd = fd};

    return begin(&c) ? (int)end(&c, syscall(SYS_fchmod, fd, mode)) : -1;
}

int fchown(int fd, uid_t owner, gid_t group)
{
    struct call c = {.op = "fchown", .kind = CHANGE, .fd = fd};

    return begin(&c) ? (int)end(&c, syscall(SYS_fchown, fd, owner, group)) : -1;
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    struct call c = {.op = "fsetxattr", .kind = CHANGE, .fd = fd};

    return begin(&c) ? (int)end(&c, syscall(SYS_fsetxattr, fd, name, value, size, flags)) : -1;
}

int fremovexattr(int fd, const char *name)
{
    struct call c = {.op = "fremovexattr", .kind = CHANGE, .fd = fd};

    return begin(&c) ? (int)end(&c, syscall(SYS_fremovexattr, fd, name)) : -1;
}

ssize_t fgetxattr(int fd, const char *name, void *value, size_t size)
{
    struct call c = {.op = "fgetxattr", .kind = LOOK, .fd = fd};

    return begin(&c) ? end(&c, syscall(SYS_fgetxattr, fd, name, value, size)) : -1;
}

ssize_t flistxattr(int fd, char *list, size_t size)
{
    struct call c = {.op = "flistxattr", .kind = LOOK, .fd = fd};

    return begin(&c) ? end(&c, syscall(SYS_flistxattr, fd, list, size)) : -1;
}

static int control_file(int fd, int command, va_list arguments)
{
    struct call c = {.op = "fcntl", .kind = LOOK, .fd = fd};
    void *argument = va_arg(arguments, void *);

    return begin(&c) ? (int)end(&c, syscall(SYS_fcntl, fd, command, argument)) : -1;
}

#define FCNTL                                                                                      \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        int result = control_file(fd, command, arguments);                                         \
        va_end(arguments);                                                                         \
        return result;                                                                             \
    } while (0)

int fcntl(int fd, int command, ...)
{
    FCNTL;
}

int fcntl64(int fd, int command, ...)
{
    FCNTL;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int look(int fd, const char *name, void *st, int flags)
{
    struct call c = {.op = "stat", .kind = LOOK, .fd = fd, .name = name};

    return begin(&c) ? (int)end(&c, syscall(SYS_newfstatat, fd, name, st, flags)) : -1;
}

int fstatat(int fd, const char *name, struct stat *st, int flags)
{
    return look(fd, name, st, flags);
}

int fstatat64(int fd, const char *name, struct stat64 *st, int flags)
{
    return look(fd, name, st, flags);
}

int fstat(int fd, struct stat *st)
{
    return look(fd, "", st, AT_EMPTY_PATH);
}

int fstat64(int fd, struct stat64 *st)
{
    return look(fd, "", st, AT_EMPTY_PATH);
}

int lstat(const char *name, struct stat *st)
{
    return look(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

int lstat64(const char *name, struct stat64 *st)
{
    return look(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

int stat(const char *name, struct stat *st)
{
    return look(AT_FDCWD, name, st, 0);
}

int stat64(const char *name, struct stat64 *st)
{
    return look(AT_FDCWD, name, st, 0);
}

int access(const char *name, int mode)
{
    struct call c = {.op = "access", .kind = LOOK, .fd = AT_FDCWD, .name = name};

    return begin(&c) ? (int)end(&c, syscall(SYS_faccessat, AT_FDCWD, name, mode)) : -1;
}
