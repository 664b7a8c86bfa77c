/*
 * Preloaded into the program under test: the next sync takes three seconds when there is a file
 * $SLOW, which is gone then.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int (*sync_fn)(int);

static int sync_slowly(const char *name, int fd)
{
    const struct timespec seconds = {.tv_sec = 3};
    const char *path = getenv("SLOW");
    sync_fn original;

    *(void **)&original = dlsym(RTLD_NEXT, name);
    if (path != NULL && unlink(path) == 0)
        (void)nanosleep(&seconds, NULL);
    return original(fd);
}

int fsync(int fd)
{
    return sync_slowly("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_slowly("fdatasync", fd);
}
