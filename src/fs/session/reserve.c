/*
 * Descriptors that are open for nothing, and memory that nobody uses.
 */
#include "fs/session/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static void close_files(const int *files, unsigned count)
{
    while (count > 0)
        close(files[--count]);
}

/* Each is a file of its own: the whole system can have too many open as well. */
static int open_files(struct tfs_reserve *reserve)
{
    while (reserve->count < TFS_RESERVE_FILES) {
        int fd = eventfd(0, EFD_CLOEXEC); /* the least file that there is */
        if (fd < 0)
            return -errno;
        reserve->files[reserve->count++] = fd;
    }
    return 0;
}

/* Is there a descriptor above all of these for each file of the work? */
static int check_room(const struct tfs_reserve *reserve)
{
    const int last = reserve->files[TFS_RESERVE_FILES - 1];
    const int fd = fcntl(last, F_DUPFD_CLOEXEC, last + TFS_RESERVE_FILES);

    if (fd < 0)
        return errno == EINVAL ? -EMFILE : -errno; /* as it calls a number above the limit */
    close(fd);
    return 0;
}

static int reserve_files(struct tfs_reserve *reserve, struct tfs_error *err)
{
    int result = open_files(reserve);

    if (result == 0)
        result = check_room(reserve);
    if (result == 0)
        return 0;
    return tfs_fail(err, result, "a mount opens up to %u files more, and cannot: %s (ulimit -n)",
                    2 * TFS_RESERVE_FILES, strerror(-result));
}

int tfs_reserve_open(struct tfs_reserve *reserve, struct tfs_error *err)
{
    const time_t now = time(NULL);
    struct tm tm;

    (void)localtime_r(&now, &tm); /* reads a file, once, for the date in NAME.unsaved-DATE */
    for (unsigned i = 0; i < TFS_RESERVE_PIECES && err->code == 0; i++) {
        reserve->pieces[i] = malloc(TFS_RESERVE_PIECE);
        if (reserve->pieces[i] == NULL)
            tfs_fail_memory(err);
    }
    if (err->code < 0 || reserve_files(reserve, err) < 0)
        tfs_reserve_release(reserve);
    return err->code;
}

void tfs_reserve_release(struct tfs_reserve *reserve)
{
    close_files(reserve->files, reserve->count);
    reserve->count = 0;
    for (unsigned i = 0; i < TFS_RESERVE_PIECES; i++) {
        free(reserve->pieces[i]);
        reserve->pieces[i] = NULL;
    }
}
