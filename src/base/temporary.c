/*
 * Directories for temporary files -> a file in the first that takes one.
 */
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static int make_file(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0 ||
        snprintf(path, sizeof(path), "%s/.terrainfs-XXXXXX", directory) >= (int)sizeof(path))
        return fd;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int tfs_temporary_open(void)
{
    const char *directories[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    int fd = -1;

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && fd < 0; i++)
        if (directories[i] != NULL)
            fd = make_file(directories[i]);
    return fd >= 0 ? fd : -errno;
}

int tfs_temporary_write(int fd, uint64_t offset, struct tfs_span bytes)
{
    for (size_t done = 0; done < bytes.size;) {
        ssize_t n = pwrite(fd, bytes.data + done, bytes.size - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int tfs_temporary_read(int fd, uint64_t offset, size_t size, uint8_t *out)
{
    const ssize_t got = tfs_file_read_at(fd, offset, out, size);

    if (got < 0)
        return (int)got;
    memset(out + got, 0, size - (size_t)got);
    return 0;
}
