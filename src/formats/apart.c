/*
 * A directory beside a save, made and filled: see apart.h.
 *
 * All is done by descriptors: another user who may write beside the save can put links and other
 * directories in the place of ours at any moment.
 */
#include "formats/apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"

#define NAMES 100   /* tried in one second */
#define PART  65536 /* bytes copied at once */

struct tfs_apart {
    const struct tfs_save *save;
    char *path;              /* for people */
    char name[NAME_MAX + 1]; /* its last part */
    int parent, fd;
    size_t kept; /* files */
};

/* "NAME.KIND-DATE", NAME cut where the whole would be longer than a file name can be. */
static void set_name(struct tfs_apart *a, const char *kind, unsigned try)
{
    const time_t now = time(NULL);
    char date[32], ending[64], more[16] = "";
    struct tm tm;

    if (localtime_r(&now, &tm) == NULL || strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm) == 0)
        strcpy(date, "00000000-000000");
    if (try > 0)
        snprintf(more, sizeof(more), "-%u", try);
    const int n = snprintf(ending, sizeof(ending), ".%s-%s%s", kind, date, more);
    snprintf(a->name, sizeof(a->name), "%.*s%s", NAME_MAX - n, a->save->name, ending);
}

/* What root keeps of another's save is for its owner to read. */
static void give(const struct tfs_apart *a, int fd)
{
    if (geteuid() == 0)
        (void)!fchown(fd, a->save->st.st_uid, a->save->st.st_gid);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int write_copy(int fd, int from)
{
    uint8_t part[PART];

    for (uint64_t at = 0;;) {
        const ssize_t n = tfs_file_read_at(from, at, part, sizeof(part));
        const int result =
            n < 0 ? (int)n : tfs_write_all(fd, (struct tfs_span){part, n > 0 ? (size_t)n : 0});
        if (n <= 0 || result < 0)
            return result;
        at += (uint64_t)n;
    }
}

/* What a file gets: bytes, or what another one holds. */
struct content {
    struct tfs_span bytes;
    int from; /* -1: the bytes */
};

static int write_file(const struct tfs_apart *a, int directory, const char *name,
                      const struct content *content)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    int result =
        content->from < 0 ? tfs_write_all(fd, content->bytes) : write_copy(fd, content->from);
    if (result == 0 && fsync(fd) < 0)
        result = -errno;
    give(a, fd);
    close(fd);
    if (result < 0)
        (void)unlinkat(directory, name, 0); /* half of it would only mislead */
    return result;
}

static int enter(const struct tfs_apart *a, int directory, const char *name)
{
    const bool made = mkdirat(directory, name, 0700) == 0;
    int next = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (next < 0)
        return -errno;
    if (made)
        give(a, next);
    return next;
}

static int add(const struct tfs_apart *a, const char *path, const struct content *content)
{
    char *copy = strdup(path), *rest = copy, *name;
    int directory = copy == NULL ? -ENOMEM : fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
    int result = copy != NULL && directory < 0 ? -errno : directory < 0 ? directory : 0;

    while (result == 0 && (name = strsep(&rest, "/")) != NULL) {
        if (rest == NULL) {
            result = write_file(a, directory, name, content);
            break;
        }
        const int next = enter(a, directory, name);
        close(directory);
        directory = next;
        result = next < 0 ? next : 0;
    }
    if (directory >= 0)
        close(directory);
    free(copy);
    return result;
}

static int add_counted(struct tfs_apart *a, const char *path, const struct content *content)
{
    const int result = add(a, path, content);

    a->kept += result == 0;
    return result;
}

int tfs_apart_add(struct tfs_apart *apart, const char *path, struct tfs_span bytes)
{
    return add_counted(apart, path, &(struct content){bytes, -1});
}

int tfs_apart_copy(struct tfs_apart *apart, const char *path, int fd)
{
    return add_counted(apart, path, &(struct content){{0}, fd});
}

/* ---- the directory --------------------------------------------------------------------------- */

/* Calls `each` for all that is in a directory, which is closed: those in it come first. */
static int walk(int directory, int (*each)(int parent, const char *name, int below))
{
    DIR *dir = directory < 0 ? NULL : fdopendir(directory);
    struct dirent *entry;
    int result = dir == NULL ? -errno : 0;

    if (dir == NULL && directory >= 0)
        close(directory);
    while (result == 0 && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        int below =
            openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        result = each(directory, name, below);
    }
    if (dir != NULL)
        closedir(dir);
    return result;
}

/* Makes the names in a directory durable. */
static int sync_names(int parent, const char *name, int below)
{
    (void)parent;
    (void)name;
    if (below < 0)
        return 0;
    const int result = tfs_directory_sync(below);
    const int inside = walk(below, sync_names);
    return result < 0 ? result : inside;
}

static int remove_name(int parent, const char *name, int below)
{
    if (below >= 0)
        (void)walk(below, remove_name);
    (void)unlinkat(parent, name, below >= 0 ? AT_REMOVEDIR : 0);
    return 0;
}

/* Opens the directory that was just made, if it is still that one. */
static int open_made(struct tfs_apart *a)
{
    struct stat st;

    a->fd = openat(a->parent, a->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (a->fd < 0)
        return -errno;
    if (fstat(a->fd, &st) == 0 && st.st_uid == geteuid())
        return 0;
    close(a->fd);
    a->fd = -1;
    return -EPERM;
}

static int make(struct tfs_apart *a, const char *parent, const char *kind)
{
    for (unsigned i = 0; i < NAMES; i++) {
        set_name(a, kind, i);
        if (mkdirat(a->parent, a->name, 0700) == 0)
            return tfs_print(&a->path, "%s/%s", parent, a->name) < 0 ? -ENOMEM : open_made(a);
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* The directory and all in it are there after a power cut, too. */
static int settle(const struct tfs_apart *a)
{
    const int result =
        sync_names(a->parent, a->name, openat(a->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    return result < 0 ? result : tfs_directory_sync(a->parent);
}

static int fill_made(struct tfs_apart *a, tfs_apart_fill fill, void *arg)
{
    const int filled = fill(arg, a);

    /* In a work tree of git nobody wants to commit it. It goes without where there is no room. */
    (void)add(a, ".gitignore", &(struct content){tfs_span_of("*\n"), -1});
    const int settled = settle(a);
    give(a, a->fd); /* the last thing: until now nobody else could enter */
    return filled < 0 ? filled : settled;
}

static void apart_remove(struct tfs_apart *a)
{
    if (a->fd < 0)
        return;
    (void)remove_name(a->parent, a->name, openat(a->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    close(a->fd);
    a->fd = -1;
}

static void apart_close(struct tfs_apart *a)
{
    if (a->fd >= 0)
        close(a->fd);
    if (a->parent >= 0)
        close(a->parent);
    free(a->path);
}

/* ---- where it is ----------------------------------------------------------------------------- */

/* Where programs keep their state, also without a home; NULL without memory. */
static char *state_directory(void)
{
    char *state = tfs_state_directory(), *path = NULL;
    const bool homeless = state == NULL && errno == ENOENT;

    if ((state != NULL || homeless) &&
        tfs_print(&path, "%s/terrainfs", homeless ? "/var/tmp/.local/state" : state) < 0)
        path = NULL;
    free(state);
    return path;
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

static int store_in(struct tfs_apart *a, bool state, const char *kind, tfs_apart_fill fill,
                    void *arg)
{
    char *parent = state ? state_directory() : tfs_file_directory(a->save->path);
    int result = parent == NULL ? -ENOMEM : state ? make_path(parent) : 0;

    if (result == 0) {
        a->parent =
            state ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : tfs_directory_open(parent);
        result = a->parent >= 0 ? make(a, parent, kind) : state ? -errno : a->parent;
    }
    if (result == 0)
        result = fill_made(a, fill, arg);
    free(parent);
    return result;
}

int tfs_apart_store(const struct tfs_save *save, const char *kind, bool part, tfs_apart_fill fill,
                    void *arg, char **directory)
{
    const bool shipped = save->doc->facts != NULL && save->doc->facts->shipped;
    int result = -EINVAL;

    *directory = NULL;
    for (unsigned place = shipped; place < 2 && *directory == NULL; place++) {
        struct tfs_apart a = {.save = save, .parent = -1, .fd = -1};
        const int stored = store_in(&a, place > 0, kind, fill, arg);
        if (stored < 0 && (!part || place == 0 || a.kept == 0))
            apart_remove(&a);
        if (a.fd >= 0 && (*directory = a.path) != NULL)
            a.path = NULL;
        if (result == -EINVAL || stored == 0 || *directory != NULL)
            result = stored;
        apart_close(&a);
    }
    return result;
}
