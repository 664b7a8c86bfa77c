/*
 * Descriptors that are open for nothing, and memory that nobody uses.
 */
#include "fs/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Each is a file of its own: the whole system can have too many open as well. */
static unsigned open_files(int *files, unsigned count)
{
    unsigned opened = 0;

    while (opened < count && (files[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        opened++;
    return opened;
}

static void close_files(const int *files, unsigned count)
{
    while (count > 0)
        close(files[--count]);
}

static int reserve_files(struct tfs_reserve *reserve, struct tfs_error *err)
{
    int work[TFS_RESERVE_FILES];

    reserve->count = open_files(reserve->files, TFS_RESERVE_FILES);
    unsigned count = reserve->count < TFS_RESERVE_FILES ? 0 : open_files(work, TFS_RESERVE_FILES);
    int error = errno;
    close_files(work, count);
    if (count == TFS_RESERVE_FILES)
        return 0;
    return tfs_fail(err, -error, "a mount opens up to %u files more, and cannot: %s (ulimit -n)",
                    2 * TFS_RESERVE_FILES, strerror(error));
}

int tfs_reserve_open(struct tfs_reserve *reserve, struct tfs_error *err)
{
    const time_t now = time(NULL);
    struct tm tm;

    (void)localtime_r(&now, &tm); /* reads a file, once, for the date in NAME.unsaved-DATE */
    reserve->bytes = malloc(TFS_RESERVE_BYTES);
    if (reserve->bytes == NULL)
        return tfs_fail_memory(err);
    if (reserve_files(reserve, err) < 0)
        tfs_reserve_release(reserve);
    return err->code;
}

void tfs_reserve_release(struct tfs_reserve *reserve)
{
    close_files(reserve->files, reserve->count);
    reserve->count = 0;
    free(reserve->bytes);
    reserve->bytes = NULL;
}
