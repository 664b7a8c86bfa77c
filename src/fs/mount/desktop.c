/*
 * A line -> notify-send, which this process does not wait for.
 *
 * Must not know what is told. A shell in between starts it in the background, so that nothing is
 * left to be waited for.
 */
#include "fs/mount/desktop.h"

#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define PROGRAM "notify-send"
#define EVERY   1000 /* milliseconds */

extern char **environ;

bool tfs_desktop_is_there(void)
{
    const char *path = getenv("PATH");
    char file[4096];

    while (path != NULL && *path != '\0') {
        const size_t n = strcspn(path, ":");
        const int size = snprintf(file, sizeof(file), "%.*s/" PROGRAM, (int)n, path);
        if (n > 0 && size < (int)sizeof(file) && access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static void start(const char *line)
{
    static char shell[] = "sh", flag[] = "-c", name[] = "terrainfs";
    static char script[] = "exec " PROGRAM " -a terrainfs -- terrainfs \"$1\" >&- 2>&- <&- &";
    char *copy = strdup(line);
    char *const words[] = {shell, flag, script, name, copy, NULL};
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t child;

    if (copy == NULL)
        return;
    if (posix_spawnattr_init(&attributes) == 0) {
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (posix_spawn(&child, "/bin/sh", NULL, &attributes, words, environ) == 0)
            waitpid(child, NULL, 0);
        posix_spawnattr_destroy(&attributes);
    }
    free(copy);
}

void tfs_desktop_tell(const char *line)
{
    static _Atomic int64_t told_at;
    const int64_t now = tfs_now_ms();
    int64_t last = atomic_load(&told_at);

    if ((last == 0 || now - last >= EVERY) && atomic_compare_exchange_strong(&told_at, &last, now))
        start(line);
}
