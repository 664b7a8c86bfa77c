/*
 * Preloaded into the program under test: a disk that cannot read the bytes from $UNREAD_FROM to
 * $UNREAD_TO of files whose path ends in $UNREAD.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t (*pread_fn)(int, void *, size_t, off_t);

static int is_unread(int fd, size_t size, off_t offset)
{
    const char *end = getenv("UNREAD"), *from = getenv("UNREAD_FROM"), *to = getenv("UNREAD_TO");
    char link[64], path[4096];

    if (end == NULL || from == NULL || to == NULL || offset >= atol(to) ||
        offset + (off_t)size <= atol(from))
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof(path));
    const size_t tail = strlen(end);
    return length >= (ssize_t)tail && memcmp(path + (size_t)length - tail, end, tail) == 0;
}

static ssize_t read_at(const char *name, int fd, void *bytes, size_t size, off_t offset)
{
    pread_fn original;

    *(void **)&original = dlsym(RTLD_NEXT, name);
    if (!is_unread(fd, size, offset))
        return original(fd, bytes, size, offset);
    errno = EIO;
    return -1;
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    return read_at("pread", fd, bytes, size, offset);
}

ssize_t pread64(int fd, void *bytes, size_t size, off_t offset)
{
    return read_at("pread64", fd, bytes, size, offset);
}
