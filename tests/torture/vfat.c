/*
 * Preloaded into the program under test: the file system that VFAT_DIR lies on behaves like vfat.
 * There are no hard links, no owners, modes or attributes that could be set, and times of
 * modification are even seconds. Where vfat can be mounted nobody needs this.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MODE 0755

static int look(int fd, const char *name, struct stat *st, int flags)
{
    return (int)syscall(SYS_newfstatat, fd, name, st, flags);
}

static bool is_vfat(dev_t device)
{
    const char *dir = getenv("VFAT_DIR");
    struct stat st;

    return dir != NULL && look(AT_FDCWD, dir, &st, 0) == 0 && st.st_dev == device;
}

static int as_vfat(int result, struct stat *st)
{
    int saved = errno;

    if (result == 0 && is_vfat(st->st_dev)) {
        st->st_mode = (st->st_mode & S_IFMT) | MODE;
        st->st_uid = geteuid();
        st->st_gid = getegid();
        st->st_mtim = (struct timespec){st->st_mtim.tv_sec & ~(time_t)1, 0};
        st->st_ctim = st->st_mtim;
    }
    errno = saved;
    return result;
}

static bool is_vfat_file(int fd, const char *name, int flags)
{
    struct stat st;
    int saved = errno;
    bool is = look(fd, name, &st, flags) == 0 && is_vfat(st.st_dev);

    errno = saved;
    return is;
}

static int refuse(int why)
{
    errno = why;
    return -1;
}

int fstatat(int fd, const char *restrict name, struct stat *restrict st, int flags)
{
    return as_vfat(look(fd, name, st, flags), st);
}

int stat(const char *restrict name, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, name, st, 0);
}

int lstat(const char *restrict name, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
    return fstatat(fd, "", st, AT_EMPTY_PATH);
}

/* The same functions where the offsets of files have 64 bits anyway. */
int fstatat64(int fd, const char *restrict name, struct stat64 *restrict st, int flags)
{
    return fstatat(fd, name, (struct stat *)st, flags);
}

int stat64(const char *restrict name, struct stat64 *restrict st)
{
    return stat(name, (struct stat *)st);
}

int lstat64(const char *restrict name, struct stat64 *restrict st)
{
    return lstat(name, (struct stat *)st);
}

int fstat64(int fd, struct stat64 *st)
{
    return fstat(fd, (struct stat *)st);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    return is_vfat_file(from, old, AT_SYMLINK_NOFOLLOW)
               ? refuse(EPERM)
               : (int)syscall(SYS_linkat, from, old, to, new, flags);
}

int link(const char *old, const char *new)
{
    return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int fchmod(int fd, mode_t mode)
{
    if (!is_vfat_file(fd, "", AT_EMPTY_PATH))
        return (int)syscall(SYS_fchmod, fd, mode);
    return (mode & 07777) == MODE ? 0 : refuse(EPERM);
}

int fchown(int fd, uid_t user, gid_t group)
{
    if (!is_vfat_file(fd, "", AT_EMPTY_PATH))
        return (int)syscall(SYS_fchown, fd, user, group);
    return (user == geteuid() || user == (uid_t)-1) && (group == getegid() || group == (gid_t)-1)
               ? 0
               : refuse(EPERM);
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    return is_vfat_file(fd, "", AT_EMPTY_PATH)
               ? refuse(EOPNOTSUPP)
               : (int)syscall(SYS_fsetxattr, fd, name, value, size, flags);
}

ssize_t flistxattr(int fd, char *list, size_t size)
{
    return is_vfat_file(fd, "", AT_EMPTY_PATH) ? refuse(EOPNOTSUPP)
                                               : syscall(SYS_flistxattr, fd, list, size);
}
