/*
 * disk_log IMAGE LOG MOUNTPOINT: a disk that remembers in which order it was written and flushed.
 *
 * Serves IMAGE as MOUNTPOINT/disk, for a loop device, and appends to LOG what happens to it. Each
 * record is three 64-bit numbers of this machine (kind, offset, size), for WRITE and MARK followed
 * by the bytes. A line written to MOUNTPOINT/mark becomes a MARK: a program that marks what a call
 * acknowledged does it after the call returned, so that the mark stands behind everything that was
 * written and flushed until then. One thread serves all requests: the log has their order.
 *
 * The loop device has a cache that can be flushed and no FUA, so a write that the kernel wants on
 * the disk at once comes as a write and a flush. It answers neither before this program did.
 */
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE = 1, FLUSH = 2, MARK = 3 };

static int image, record;

static int note(enum kind kind, off_t offset, const char *data, size_t size)
{
    uint64_t head[] = {kind, (uint64_t)offset, size};
    struct iovec parts[] = {{head, sizeof(head)}, {(void *)(uintptr_t)data, size}};

    return writev(record, parts, 2) == (ssize_t)(sizeof(head) + size) ? 0 : -EIO;
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
    (void)fi;
    if (strcmp(path, "/") == 0) {
        *st = (struct stat){.st_mode = S_IFDIR | 0700, .st_nlink = 2};
        return 0;
    }
    if (strcmp(path, "/disk") != 0 && strcmp(path, "/mark") != 0)
        return -ENOENT;
    *st = (struct stat){.st_mode = S_IFREG | 0600, .st_nlink = 1};
    if (strcmp(path, "/disk") == 0) {
        struct stat file;
        if (fstat(image, &file) < 0)
            return -errno;
        st->st_size = file.st_size;
    }
    return 0;
}

/* Nothing of the file lies in a cache above: each request of the loop device comes here. */
static int on_open(const char *path, struct fuse_file_info *fi)
{
    fi->fh = strcmp(path, "/mark") == 0;
    fi->direct_io = 1;
    return 0;
}

static int on_read(const char *path, char *data, size_t size, off_t offset,
                   struct fuse_file_info *fi)
{
    ssize_t got = fi->fh ? 0 : pread(image, data, size, offset);

    (void)path;
    return got < 0 ? -errno : (int)got;
}

static int on_write(const char *path, const char *data, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    (void)path;
    if (fi->fh == 0 && pwrite(image, data, size, offset) != (ssize_t)size)
        return -EIO;
    int result = note(fi->fh ? MARK : WRITE, offset, data, size);
    return result < 0 ? result : (int)size;
}

static int on_fsync(const char *path, int datasync, struct fuse_file_info *fi)
{
    (void)path;
    (void)datasync;
    return fi->fh ? 0 : note(FLUSH, 0, NULL, 0);
}

/* The log would have to tell of a hole: the kernel writes zeros instead. */
static int on_fallocate(const char *path, int mode, off_t offset, off_t size,
                        struct fuse_file_info *fi)
{
    (void)path;
    (void)mode;
    (void)offset;
    (void)size;
    (void)fi;
    return -EOPNOTSUPP;
}

int main(int argc, char **argv)
{
    static const struct fuse_operations operations = {
        .getattr = on_getattr,
        .open = on_open,
        .read = on_read,
        .write = on_write,
        .fsync = on_fsync,
        .fallocate = on_fallocate,
    };
    char *words[] = {argv[0], "-f", "-s", argc == 4 ? argv[3] : NULL, NULL};

    if (argc != 4) {
        fputs("usage: disk_log IMAGE LOG MOUNTPOINT\n", stderr);
        return 2;
    }
    image = open(argv[1], O_RDWR | O_CLOEXEC);
    record = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (image < 0 || record < 0) {
        perror("disk_log");
        return 3;
    }
    return fuse_main(4, words, &operations, NULL);
}
