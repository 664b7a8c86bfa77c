/*
 * A directory for what could not be saved, made and filled at the end of a mount: see unsaved.h.
 */
#include "formats/unsaved.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"

struct tfs_unsaved_for tfs_unsaved_whose(const struct tfs_save *save)
{
    return (struct tfs_unsaved_for){
        .path = save->path,
        .name = save->name,
        .uid = save->st.st_uid,
        .gid = save->st.st_gid,
        .elsewhere = save->doc->facts != NULL && save->doc->facts->shipped,
    };
}

/* It is made, filled and removed by descriptors: any other user that may write beside the save can
 * put links and other directories in its place at any moment. */
struct tfs_unsaved {
    const struct tfs_unsaved_for *save;
    char directory[PATH_MAX + NAME_MAX + 2]; /* for people */
    const char *name;                        /* its last part */
    int parent, fd;
    size_t kept; /* files */
    bool looks;  /* nothing is stored: they are there already, or not */
};

/* "NAME.unsaved-DATE", NAME cut where the whole would be longer than a file name can be. */
static void name_unsaved(const struct tfs_unsaved *u, unsigned try, char name[NAME_MAX + 1])
{
    struct tm tm;
    char ending[64];
    time_t now = time(NULL);

    localtime_r(&now, &tm);
    size_t n = strftime(ending, sizeof(ending), ".unsaved-%Y%m%d-%H%M%S", &tm);
    if (try > 0)
        n += (size_t)snprintf(ending + n, sizeof(ending) - n, "-%u", try);
    snprintf(name, NAME_MAX + 1, "%.*s%s", (int)(NAME_MAX - n), u->save->name, ending);
}

/* Opens the directory that was just made, if it is still that one. */
static int open_made(int parent, const char *name)
{
    struct stat st;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid())
        return fd;
    close(fd);
    return -EPERM;
}

static char *state_directory(void);

static char *beside(const struct tfs_unsaved_for *save)
{
    return tfs_file_directory(save->path);
}

/* The next directory in `dir` that an earlier mount may have made for the save; NULL: no more. */
static const char *next_earlier(DIR *dir, const struct tfs_unsaved_for *save)
{
    const struct tfs_unsaved u = {.save = save};
    char name[NAME_MAX + 1];
    struct dirent *entry;
    struct stat st;

    name_unsaved(&u, 0, name);
    size_t prefix = strlen(name) - strlen("YYYYMMDD-HHMMSS");
    while ((entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, name, prefix) == 0 &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
            return entry->d_name;
    return NULL;
}

/* Is there a directory of an earlier mount beside the save? */
static bool has_one_beside(const struct tfs_unsaved_for *save)
{
    char *parent = beside(save);
    DIR *dir = parent == NULL ? NULL : opendir(parent);
    bool found = dir != NULL && next_earlier(dir, save) != NULL;

    if (dir != NULL)
        closedir(dir);
    free(parent);
    return found;
}

/* Beside a save there is at most one, so that they do not fill a folder of saves. */
static bool is_state_first(const struct tfs_unsaved_for *save)
{
    return save->elsewhere || has_one_beside(save);
}

/* The directory in which the last part of `path` is, if it is `parent`, which is freed; else
 * NULL. */
static char *if_parent(char *parent, const char *path, const char *slash)
{
    const size_t n = (size_t)(slash - path);

    if (parent != NULL && strlen(parent) == n && memcmp(parent, path, n) == 0)
        return parent;
    free(parent);
    return NULL;
}

/* Opens one that an earlier call, or mount, made. */
static int open_earlier(struct tfs_unsaved *u, const char *name)
{
    struct stat st;

    u->fd = openat(u->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (u->fd < 0)
        return -errno;
    if (fstat(u->fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == u->save->uid))
        return 0;
    close(u->fd);
    u->fd = -1;
    return -EPERM;
}

/* Opens a directory that an earlier call made at the place that comes first. Where it is at another
 * one, there was no room for it there, and may be now. */
static int open_again(struct tfs_unsaved *u, const char *directory)
{
    const char *slash = strrchr(directory, '/');
    char *parent = u->save->elsewhere ? NULL : if_parent(beside(u->save), directory, slash);

    if (parent == NULL && is_state_first(u->save))
        parent = if_parent(state_directory(), directory, slash);
    u->parent = parent == NULL ? -ENOENT : tfs_directory_open(parent);
    free(parent);
    if (u->parent < 0)
        return u->parent;
    snprintf(u->directory, sizeof(u->directory), "%s", directory);
    u->name = u->directory + (slash - directory) + 1;
    return open_earlier(u, u->name);
}

static int open_unsaved(struct tfs_unsaved *u, const char *parent)
{
    char name[NAME_MAX + 1];

    for (unsigned i = 0; i < 100; i++) {
        name_unsaved(u, i, name);
        if (mkdirat(u->parent, name, 0700) == 0) {
            int n = snprintf(u->directory, sizeof(u->directory), "%s/%s", parent, name);
            u->name = u->directory + n - strlen(name);
            u->fd = open_made(u->parent, name);
            if (u->fd < 0)
                (void)unlinkat(u->parent, name, AT_REMOVEDIR);
            return u->fd < 0 ? u->fd : 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* What root keeps of another's save is for its owner to read. */
static void give(const struct tfs_unsaved *u, int fd)
{
    if (geteuid() == 0)
        (void)!fchown(fd, u->save->uid, u->save->gid);
}

/* A directory, durable where it is new. */
static int make_one(const char *path)
{
    struct tfs_error err = {0};

    if (mkdir(path, 0700) < 0)
        return errno == EEXIST ? 0 : -errno;
    return tfs_file_settle(path, &err);
}

static int make_path(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)make_one(path);
        *slash = '/';
    }
    return make_one(path);
}

static int write_all(int fd, struct tfs_span bytes)
{
    for (size_t at = 0; at < bytes.size;) {
        ssize_t n = write(fd, bytes.data + at, bytes.size - at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return n == 0 ? -EIO : -errno;
    }
    return fsync(fd) == 0 ? 0 : -errno;
}

/* Has an open file these bytes? */
static bool holds(int fd, struct tfs_span bytes)
{
    uint8_t part[65536];
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != bytes.size)
        return false;
    for (size_t at = 0; at < bytes.size;) {
        ssize_t n = read(fd, part, sizeof(part));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || (size_t)n > bytes.size - at || memcmp(part, bytes.data + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* EEXIST: another file is there. */
static int look_at(int directory, const char *name, struct tfs_span bytes)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    int result = !holds(fd, bytes) ? -EEXIST : fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return result;
}

static int write_at(const struct tfs_unsaved *u, int directory, const char *name,
                    struct tfs_span bytes)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 && errno == EEXIST)
        return look_at(directory, name, bytes) == 0 ? 0 : -EEXIST;
    if (fd < 0)
        return -errno;
    int result = write_all(fd, bytes);
    give(u, fd);
    close(fd);
    if (result < 0)
        (void)unlinkat(directory, name, 0); /* half a text would only be refused */
    return result;
}

static int enter(const struct tfs_unsaved *u, int directory, const char *name, int *result)
{
    const int made = u->looks ? -ENOENT : mkdirat(directory, name, 0700) < 0 ? -errno : 0;
    int next = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (made == 0 && next >= 0)
        give(u, next);
    if (next < 0)
        *result = errno != ENOENT ? -errno : made;
    return next;
}

static int add(struct tfs_unsaved *u, const char *path, struct tfs_span bytes)
{
    char *copy = strdup(path);
    char *rest = copy;
    char *name;
    int directory = u->fd >= 0 ? dup(u->fd) : -1;
    int result = copy == NULL ? -ENOMEM : directory < 0 ? -EIO : 0;

    while (directory >= 0 && rest != NULL && (name = strsep(&rest, "/")) != NULL) {
        if (rest == NULL) {
            result =
                u->looks ? look_at(directory, name, bytes) : write_at(u, directory, name, bytes);
            break;
        }
        int next = enter(u, directory, name, &result);
        close(directory);
        directory = next;
    }
    if (directory >= 0)
        close(directory);
    free(copy);
    return result;
}

int tfs_unsaved_add(struct tfs_unsaved *u, const char *path, struct tfs_span bytes)
{
    char later[PATH_MAX];
    int result = add(u, path, bytes);

    if (result == -EEXIST) {
        snprintf(later, sizeof(later), "later/%s", path);
        result = add(u, later, bytes);
    }
    u->kept += result == 0;
    return result;
}

/* Makes the names in a directory durable, and in those below it; closes it. */
static int sync_names(int directory)
{
    DIR *dir = directory < 0 ? NULL : fdopendir(directory);
    struct dirent *entry;
    int result = dir == NULL ? -errno : 0;

    if (dir == NULL && directory >= 0)
        close(directory);
    while (result == 0 && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || entry->d_type == DT_REG)
            continue;
        int below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0 || (errno != ENOTDIR && errno != ELOOP))
            result = sync_names(below);
    }
    if (result == 0)
        result = tfs_directory_sync(directory);
    if (dir != NULL)
        closedir(dir);
    return result;
}

/* The directory and all in it are there after a power cut, too: what held it before may go. */
static int sync_all(const struct tfs_unsaved *u)
{
    int result = sync_names(openat(u->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    return result < 0 ? result : tfs_directory_sync(u->parent);
}

static int fill_open(struct tfs_unsaved *u, tfs_unsaved_fill fill, void *arg)
{
    const int filled = fill(arg, u);

    if (filled == 0 && u->kept == 0)
        return -ENODATA; /* whoever calls has something to store */
    /* In a work tree of git nobody wants to commit it. It goes without where there is no room. */
    (void)add(u, ".gitignore", tfs_span_of("*\n"));
    const int synced = sync_all(u);
    give(u, u->fd); /* the last thing: until now nobody else could enter */
    return filled < 0 ? filled : synced;
}

/* Everything into a new directory in `parent`, which u->parent has open: 0, or negative when not
 * all of it is there. */
static int store_in(struct tfs_unsaved *u, const char *parent, tfs_unsaved_fill fill, void *arg)
{
    int result = u->parent < 0 ? u->parent : open_unsaved(u, parent);

    if (result < 0)
        return result;
    return fill_open(u, fill, arg);
}

static int store_beside(struct tfs_unsaved *u, tfs_unsaved_fill fill, void *arg)
{
    char *parent = beside(u->save);

    if (parent == NULL)
        return -ENOMEM;
    u->parent = tfs_directory_open(parent);
    int result = store_in(u, parent, fill, arg);
    free(parent);
    return result;
}

/* Where programs keep their state; NULL without memory. */
static char *state_directory(void)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int n = state != NULL && state[0] == '/'
                ? tfs_print(&path, "%s/terrainfs", state)
                : tfs_print(&path, "%s/.local/state/terrainfs", home ? home : "/var/tmp");

    return n < 0 ? NULL : path;
}

/* A disk that is full for the save is full for what is beside it. */
static int store_in_state(struct tfs_unsaved *u, tfs_unsaved_fill fill, void *arg)
{
    char *parent = state_directory();
    int result = parent == NULL                       ? -ENOMEM
                 : strlen(parent) >= (size_t)PATH_MAX ? -ENAMETOOLONG
                                                      : make_path(parent);

    if (result == 0) {
        u->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        result = u->parent < 0 ? -errno : store_in(u, parent, fill, arg);
    }
    free(parent);
    return result;
}

/* Everything in the directory. */
static void empty(int directory)
{
    int copy = dup(directory);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(directory, name, 0) == 0)
            continue;
        int below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            continue;
        empty(below);
        close(below);
        (void)unlinkat(directory, name, AT_REMOVEDIR);
    }
    if (dir != NULL)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
}

/* Another place has it all, or this one holds nothing. */
static void unsaved_remove(struct tfs_unsaved *u)
{
    if (u->fd < 0)
        return;
    empty(u->fd);
    (void)unlinkat(u->parent, u->name, AT_REMOVEDIR);
    close(u->fd);
    u->fd = -1;
}

static void unsaved_close(struct tfs_unsaved *u)
{
    if (u->fd >= 0)
        close(u->fd);
    if (u->parent >= 0)
        close(u->parent);
}

/* All of it into the directory of an earlier call. */
static bool store_again(const struct tfs_unsaved_for *save, tfs_unsaved_fill fill, void *arg,
                        const char *directory)
{
    struct tfs_unsaved u = {.save = save, .parent = -1, .fd = -1};
    bool stored = open_again(&u, directory) == 0 && fill_open(&u, fill, arg) == 0;

    unsaved_close(&u);
    return stored;
}

static int (*const places[])(struct tfs_unsaved *, tfs_unsaved_fill, void *) = {store_beside,
                                                                                store_in_state};

/* All of it into a new directory. */
static int store_anew(const struct tfs_unsaved_for *save, tfs_unsaved_fill fill, void *arg,
                      char **directory)
{
    struct tfs_unsaved first = {.save = save, .parent = -1, .fd = -1};
    struct tfs_unsaved second = {.save = save, .parent = -1, .fd = -1};
    const struct tfs_unsaved *used = &first;
    const bool state_first = is_state_first(save);
    int result = places[state_first](&first, fill, arg);

    if (result < 0) {
        int elsewhere = places[!state_first](&second, fill, arg);
        if (elsewhere == 0 || first.kept == 0 || save->whole)
            unsaved_remove(&first);
        if (elsewhere < 0 && (second.kept == 0 || save->whole))
            unsaved_remove(&second);
        if (first.fd < 0) {
            used = &second;
            result = elsewhere < 0 && save->whole ? result : elsewhere; /* why it is not here */
        }
    }
    *directory = used->fd >= 0 ? strdup(used->directory) : NULL;
    unsaved_close(&first);
    unsaved_close(&second);
    return result;
}

int tfs_unsaved_store(const struct tfs_unsaved_for *save, tfs_unsaved_fill fill, void *arg,
                      char **directory)
{
    char *stored = NULL;

    if (*directory != NULL && store_again(save, fill, arg, *directory))
        return 0;
    int result = store_anew(save, fill, arg, &stored);
    if (stored == NULL && save->whole)
        return result;
    free(*directory);
    *directory = stored;
    return result;
}

/* ---- what an earlier mount stored ------------------------------------------------------------ */

/* Has the directory all of it, durable by now? */
static bool has_all(struct tfs_unsaved *u, const char *name, tfs_unsaved_fill fill, void *arg)
{
    u->kept = 0;
    if (open_earlier(u, name) < 0)
        return false;
    const bool all = fill(arg, u) == 0 && u->kept > 0 && sync_all(u) == 0;
    close(u->fd);
    u->fd = -1;
    return all;
}

/* The path of one in `parent` that has it all; NULL: none has. */
static char *find_in(const struct tfs_unsaved_for *save, const char *parent, tfs_unsaved_fill fill,
                     void *arg)
{
    struct tfs_unsaved u = {.save = save, .fd = -1, .looks = true};
    char *found = NULL;
    const char *name;

    u.parent = parent == NULL ? -ENOENT : tfs_directory_open(parent);
    DIR *dir = u.parent < 0 ? NULL : opendir(parent);
    while (dir != NULL && found == NULL && (name = next_earlier(dir, save)) != NULL)
        if (has_all(&u, name, fill, arg) && tfs_print(&found, "%s/%s", parent, name) < 0)
            break;
    if (dir != NULL)
        closedir(dir);
    unsaved_close(&u);
    return found;
}

char *tfs_unsaved_find(const struct tfs_unsaved_for *save, tfs_unsaved_fill fill, void *arg)
{
    char *first = beside(save), *second = state_directory();
    char *found = find_in(save, first, fill, arg);

    if (found == NULL)
        found = find_in(save, second, fill, arg);
    free(first);
    free(second);
    return found;
}
