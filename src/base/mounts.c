/*
 * /proc/self/mountinfo -> what is mounted where; and unmounting.
 *
 * A mount whose process hangs must not make us hang: statx with AT_STATX_DONT_SYNC says which mount
 * a path is the root of without a request to that process.
 */
#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TABLE "/proc/self/mountinfo"

enum { LOCK_TRIES = 250, LOCK_PAUSE_NS = 20 * 1000 * 1000 };

void tfs_mounted_release(struct tfs_mounted *mount)
{
    free(mount->point);
    free(mount->type);
    free(mount->source);
    *mount = (struct tfs_mounted){0};
}

bool tfs_mounted_is_ours(const struct tfs_mounted *mount)
{
    return strcmp(mount->type, TFS_MOUNT_TYPE) == 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The table writes blanks, newlines and backslashes as three octal digits. */
static char *unescape(char *text)
{
    char *out = text;

    for (const char *at = text; *at != '\0'; out++)
        if (at[0] == '\\' && at[1] != '\0' && at[2] != '\0' && at[3] != '\0') {
            *out = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
            at += 4;
        } else {
            *out = *at++;
        }
    *out = '\0';
    return text;
}

/* "36 35 98:0 /root /point rw,noatime master:1 - type source rw,errors=continue". The strings of
 * *row point into the line. */
static bool parse_row(char *line, struct tfs_mounted *row)
{
    enum { ID, POINT = 4, OPTIONS = 5, FIELDS };
    char *fields[FIELDS], *rest = line, *tail = strstr(line, " - ");

    if (tail == NULL)
        return false;
    *tail = '\0';
    tail += strlen(" - ");
    for (int i = 0; i < FIELDS; i++)
        if ((fields[i] = strsep(&rest, " ")) == NULL)
            return false;
    char *type = strsep(&tail, " "), *source = strsep(&tail, " \n");
    if (source == NULL)
        return false;
    *row = (struct tfs_mounted){.id = strtoull(fields[ID], NULL, 10),
                                .point = unescape(fields[POINT]),
                                .type = type,
                                .source = unescape(source),
                                .read_only = strncmp(fields[OPTIONS], "ro", 2) == 0};
    return true;
}

static int copy_row(const struct tfs_mounted *row, struct tfs_mounted *mount)
{
    struct tfs_mounted copy = *row;

    copy.point = strdup(row->point);
    copy.type = strdup(row->type);
    copy.source = strdup(row->source);
    if (copy.point == NULL || copy.type == NULL || copy.source == NULL) {
        tfs_mounted_release(&copy);
        return -ENOMEM;
    }
    *mount = copy;
    return 1;
}

typedef bool (*wanted_fn)(const struct tfs_mounted *row, const void *what);

/* The last row that is wanted: later ones lie above earlier ones. */
static int find_row(wanted_fn wanted, const void *what, struct tfs_mounted *mount)
{
    FILE *table = fopen(TABLE, "re");
    struct tfs_mounted found = {0}, row;
    char *line = NULL;
    size_t size = 0;
    int result = 0;

    while (table != NULL && result >= 0 && getline(&line, &size, table) >= 0)
        if (parse_row(line, &row) && wanted(&row, what)) {
            tfs_mounted_release(&found);
            result = copy_row(&row, &found);
        }
    free(line);
    if (table != NULL)
        fclose(table);
    if (result == 1)
        *mount = found;
    return result;
}

static bool has_id(const struct tfs_mounted *row, const void *id)
{
    return row->id == *(const uint64_t *)id;
}

static bool has_point(const struct tfs_mounted *row, const void *path)
{
    return strcmp(row->point, path) == 0;
}

/* Of which mount is `path` the root? *id 0: of none. False: the kernel does not tell (before Linux
 * 5.8). */
static bool ask_for_id(const char *path, uint64_t *id)
{
    const int flags = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
    struct statx at;

    *id = 0;
    if (statx(AT_FDCWD, path, flags, STATX_MNT_ID, &at) < 0)
        return true;
    if ((at.stx_mask & STATX_MNT_ID) == 0)
        return false;
    if ((at.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        *id = at.stx_mnt_id;
    return true;
}

int tfs_mounted_at(const char *path, struct tfs_mounted *mount)
{
    uint64_t id;

    if (!ask_for_id(path, &id))
        return find_row(has_point, path, mount);
    return id == 0 ? 0 : find_row(has_id, &id, mount);
}

uint64_t tfs_mounted_id(const char *path)
{
    struct tfs_mounted mount;
    uint64_t id;

    if (ask_for_id(path, &id) || find_row(has_point, path, &mount) != 1)
        return id;
    id = mount.id;
    tfs_mounted_release(&mount);
    return id;
}

/* The source of a mount of several saves is the folder that they are in. */
static bool is_of_save(const struct tfs_mounted *row, const void *path)
{
    const char *save = path;
    const size_t length = strlen(row->source);

    return tfs_mounted_is_ours(row) && !row->read_only && strncmp(row->source, save, length) == 0 &&
           (save[length] == '\0' || save[length] == '/');
}

/* A mount of the save, or of a folder that it is in, that can be written. */
static int find_mount(const char *path, struct tfs_mounted *mount)
{
    return find_row(is_of_save, path, mount);
}

/* Another terrainfs has locked the save; where, if that is known. */
static int fail_locked(const char *path, struct tfs_error *err)
{
    struct tfs_mounted mount;

    if (find_mount(path, &mount) <= 0)
        return tfs_fail(err, -EWOULDBLOCK, "is mounted or being written by another terrainfs");
    tfs_fail(err, -EWOULDBLOCK, "is mounted on %s already", mount.point);
    tfs_mounted_release(&mount);
    return err->code;
}

static bool is_mounted(const char *save)
{
    struct tfs_mounted mount = {0};
    bool found = find_mount(save, &mount) > 0;

    tfs_mounted_release(&mount);
    return found;
}

int tfs_lock_save(int fd, const char *path, struct tfs_error *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
        if (errno != EWOULDBLOCK)
            return tfs_fail_errno(err, "cannot be locked");
        if (i == LOCK_TRIES || is_mounted(path))
            return fail_locked(path, err);
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* ---- unmounting ------------------------------------------------------------------------------ */

/* A request that was under way when the process ended is answered ECONNABORTED. */
bool tfs_mounted_is_dead(const char *point)
{
    struct statfs fs;

    return statfs(point, &fs) < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

/* Runs fusermount3 -u with its stderr going to `fd`; never returns. */
static void run_fusermount(const char *path, const char *how, int fd)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(fd, STDERR_FILENO);
    execlp("fusermount3", "fusermount3", how, "--", path, (char *)NULL);
    execlp("fusermount", "fusermount", how, "--", path, (char *)NULL);
    dprintf(STDERR_FILENO, "fusermount3: %s", strerror(errno));
    _exit(127);
}

/* Reads a pipe to its end and keeps the first line. */
static void read_words(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t n;

    while (used < size - 1) {
        n = read(fd, text + used, size - 1 - used);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        used += n < 0 ? 0 : (size_t)n;
    }
    text[used] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static int fail_unmount(int code, struct tfs_error *err)
{
    if (code == EBUSY)
        return tfs_fail(err, -EBUSY, "a program still has a file open there, or works in it");
    return tfs_fail(err, -code, "%s", strerror(code));
}

static int unmount_as_user(const char *path, bool lazily, struct tfs_error *err)
{
    char words[TFS_ERROR_TEXT / 2];
    int ends[2], state = -1;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return fail_unmount(errno, err);
    pid_t pid = fork();
    if (pid == 0)
        run_fusermount(path, lazily ? "-uz" : "-u", ends[1]);
    close(ends[1]);
    if (pid > 0) {
        read_words(ends[0], words, sizeof(words));
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    if (pid < 0)
        return fail_unmount(EAGAIN, err);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return 0;
    if (strstr(words, strerror(EBUSY)) != NULL || strstr(words, "busy") != NULL)
        return fail_unmount(EBUSY, err);
    return tfs_fail(err, -EPERM, "%s", words);
}

int tfs_unmount(const char *path, bool lazily, struct tfs_error *err)
{
    if (umount2(path, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0)
        return 0;
    return errno == EPERM ? unmount_as_user(path, lazily, err) : fail_unmount(errno, err);
}

/* Unmounts lazily: nothing that is open there can be read or written any more. */
int tfs_unmount_dead(const char *path, char **source, struct tfs_error *err)
{
    struct tfs_mounted top;
    int count = 0, result;

    while ((result = tfs_mounted_at(path, &top)) == 1) {
        bool dead = tfs_mounted_is_ours(&top) && tfs_mounted_is_dead(path);
        if (!dead || (result = tfs_unmount(path, true, err)) < 0) {
            tfs_mounted_release(&top);
            break;
        }
        if (source != NULL) {
            free(*source);
            *source = top.source;
            top.source = NULL;
        }
        tfs_mounted_release(&top);
        count++;
    }
    return result < 0 ? tfs_fail(err, result, "out of memory") : count;
}
