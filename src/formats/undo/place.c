/*
 * The path of a save -> the directory of its versions, and what is done to files there.
 *
 * Must not know what is in a version. The state directory is found as every program finds it,
 * through links if the user put some there; what is below it is ours alone: directories that
 * belong to us, that nobody else may write to and that are no links.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/print.h"
#include "formats/undo/versions.h"

#define NAME_KEPT 200 /* bytes of a save's name in that of its directory */
#define NAME_SIZE 256

char *tfs_undo_join(const char *a, const char *b)
{
    char *path = NULL;

    return tfs_print(&path, "%s/%s", a, b) < 0 ? NULL : path;
}

/* ---- the directory of a save ----------------------------------------------------------------- */

/* The directory that was asked for, or where programs keep their state. */
static int state_directory(const struct tfs_undo_options *options, char **path,
                           struct tfs_error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (options->directory != NULL)
        state = options->directory;
    if (state != NULL && state[0] == '/')
        *path = strdup(state);
    else if (home == NULL || home[0] != '/')
        return tfs_fail(err, -ENOENT, "there is no home");
    else
        *path = tfs_undo_join(home, ".local/state");
    return *path == NULL ? tfs_fail_memory(err) : 0;
}

/* Makes a directory and those that lead to it, as far as that can be done. */
static void make_path(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
}

/* One that nobody else may write to, and no link. */
static int check_ours(const char *path, const char *name, struct tfs_error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return tfs_fail(err, -errno, "the directory %s of earlier versions cannot be looked at: %s",
                        name, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return tfs_fail(err, -EPERM, "the directory %s of earlier versions is a link or a file",
                        name);
    if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return tfs_fail(err, -EPERM, "the directory %s of earlier versions is not ours alone",
                        name);
    return 0;
}

/* Goes from *path, which is freed, to a directory of ours in it. */
static int enter(char **path, const char *name, bool make, struct tfs_error *err)
{
    char *below = tfs_undo_join(*path, name);

    free(*path);
    *path = below;
    if (below == NULL)
        return tfs_fail_memory(err);
    if (make && mkdir(below, 0700) < 0 && errno != EEXIST)
        return tfs_fail(err, -errno, "the directory %s of earlier versions cannot be made: %s",
                        name, strerror(errno));
    return check_ours(below, name, err);
}

static int find_place(const char *save, const struct tfs_undo_options *options, bool make,
                      char **place, struct tfs_error *err)
{
    const char *last = strrchr(save, '/') == NULL ? save : strrchr(save, '/') + 1;
    char own[NAME_SIZE], *state = NULL;

    if (state_directory(options, &state, err) < 0)
        return err->code;
    if (make)
        make_path(state);
    *place = realpath(state, NULL);
    if (*place == NULL)
        tfs_fail(err, -errno, "%s cannot be opened: %s", state, strerror(errno));
    free(state);
    snprintf(own, sizeof(own), "%.*s-%016jx", NAME_KEPT, last,
             (uintmax_t)tfs_checksum(tfs_span_of(save), 0));
    return err->code < 0 || enter(place, "terrainfs", make, err) < 0 ||
                   enter(place, "undo", make, err) < 0
               ? err->code
               : enter(place, own, make, err);
}

int tfs_undo_place(const char *save, const struct tfs_undo_options *options, bool make,
                   char **place, struct tfs_error *err)
{
    struct tfs_error why = {0};
    char *found = NULL;

    if (find_place(save, options, make, &found, &why) == 0) {
        *place = found;
        return 1;
    }
    free(found);
    if (!make && why.code == -ENOENT)
        return 0;
    return tfs_fail(err, why.code, "%s", why.text);
}

/* ---- removal and limits ---------------------------------------------------------------------- */

typedef void (*found_fn)(void *arg, const char *path, const struct stat *st, unsigned depth);

/* Tells of all that is below a directory, and then of itself. */
static void walk(const char *path, unsigned depth, found_fn found, void *arg)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return;
    DIR *dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *below = tfs_undo_join(path, entry->d_name);
        if (below != NULL)
            walk(below, depth + 1, found, arg);
        free(below);
    }
    if (dir != NULL)
        closedir(dir);
    found(arg, path, &st, depth);
}

static void remove_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    bool *removed = arg;

    (void)st, (void)depth;
    *removed = remove(path) == 0;
}

/* First its name: what is cut later is no version. */
bool tfs_undo_remove(const char *version)
{
    bool removed = false;
    char *gone = NULL;

    if (tfs_print(&gone, "%s.gone", version) > 0)
        walk(rename(version, gone) == 0 ? gone : version, 0, remove_one, &removed);
    free(gone);
    return removed;
}

struct all {
    uint64_t size;
    size_t files, versions;
    char *oldest; /* of the versions, */
    struct timespec time;
};

static void count_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    struct all *all = arg;

    (void)path, (void)depth;
    if (!S_ISREG(st->st_mode))
        return;
    all->size += (uint64_t)st->st_size;
    all->files++;
}

static void look_at_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    const struct timespec *time = &st->st_mtim;
    struct all *all = arg;

    count_one(arg, path, st, depth);
    if (depth != 2)
        return;
    if (all->versions++ > 0 && !tfs_is_later(all->time, *time))
        return;
    free(all->oldest);
    all->oldest = strdup(path);
    all->time = *time;
}

uint64_t tfs_version_size(const struct tfs_version *version, size_t *files)
{
    char *kept = tfs_undo_join(version->path, TFS_UNDO_FILES);
    struct all all = {0};

    if (kept != NULL)
        walk(kept, 0, count_one, &all);
    free(kept);
    *files = all.files;
    return all.size;
}

/* Removes the oldest of the versions in all directories of saves: whether it was to be, and is
 * gone. */
static bool remove_oldest(const char *base, uint64_t bytes)
{
    struct all all = {0};

    walk(base, 0, look_at_one, &all);
    const bool removed =
        all.size > bytes && all.versions > 1 && all.oldest != NULL && tfs_undo_remove(all.oldest);
    free(all.oldest);
    return removed;
}

int tfs_undo_lock(const char *place, int how)
{
    char *base = tfs_file_directory(place);
    const int fd = base == NULL ? -1 : open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(base);
    if (fd >= 0 && flock(fd, how) == 0)
        return fd;
    const int code = errno;
    if (fd >= 0)
        close(fd);
    return -code;
}

void tfs_undo_limit(const char *place, uint64_t bytes)
{
    char *base = tfs_file_directory(place);
    const int lock = tfs_undo_lock(place, LOCK_EX | LOCK_NB);

    while (lock >= 0 && base != NULL && remove_oldest(base, bytes))
        ;
    if (lock >= 0)
        close(lock);
    free(base);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* All bytes of a file, piece by piece. `to`: NULL or who takes them. */
static int read_all(struct tfs_readback *from, struct tfs_sink *to, struct tfs_hash *hash,
                    struct tfs_error *err)
{
    struct tfs_span piece;

    do {
        if (tfs_readback_take(from, SIZE_MAX, &piece, err) < 0 ||
            (to != NULL && tfs_sink_span(to, piece, err) < 0))
            return err->code;
    } while (piece.size > 0);
    return tfs_readback_end(from, hash, err);
}

static int fill(struct tfs_replacement *r, const struct tfs_file_handle *from,
                struct tfs_error *err)
{
    struct tfs_readback source = {.fd = -1}, written = {.fd = -1};
    struct tfs_hash old, new;

    if (tfs_readback_init(&source, from->fd, (uint64_t)from->st.st_size, err) == 0 &&
        read_all(&source, &r->sink, &old, err) == 0 &&
        tfs_replacement_readback(r, &written, err) == 0 &&
        read_all(&written, NULL, &new, err) == 0 && !tfs_hash_equal(old, new))
        tfs_fail(err, -EIO, "the new copy does not read back as it was written");
    tfs_readback_release(&written);
    tfs_readback_release(&source);
    return err->code;
}

/* What changed while it was copied gets another time than the one that is known, and is damaged. */
static int give_times(int to, const struct tfs_file_handle *from, struct tfs_error *err)
{
    struct stat now;

    if (fstat(from->fd, &now) < 0 ||
        futimens(to, (const struct timespec[2]){from->st.st_atim, now.st_mtim}) < 0)
        tfs_fail_errno(err, "the copy cannot have its times");
    return err->code;
}

int tfs_undo_copy_file(const struct tfs_file_handle *from, const char *target,
                       struct tfs_file_handle *old, struct tfs_keeper *keeper, bool times,
                       struct tfs_error *err)
{
    struct tfs_replacement r;

    if (tfs_replacement_open(target, old->fd < 0 ? NULL : old, &r, err) < 0)
        return err->code;
    r.keeper = keeper;
    if ((old->fd < 0 && tfs_replacement_give_all(&r, from, err) < 0) || fill(&r, from, err) < 0 ||
        (times && give_times(r.fd, from, err) < 0))
        tfs_replacement_cancel(&r);
    else
        tfs_replacement_finish(&r, old, err);
    return err->code;
}
