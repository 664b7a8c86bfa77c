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

/* In the directory that was asked for, or where programs keep their state. */
static int find_place(const char *save, const struct tfs_undo_options *options, bool make,
                      char **place, struct tfs_error *err)
{
    const char *last = strrchr(save, '/') == NULL ? save : strrchr(save, '/') + 1;
    char *state = options->directory != NULL ? strdup(options->directory) : tfs_state_directory();
    char own[NAME_SIZE];

    if (state == NULL)
        return errno == ENOENT ? tfs_fail(err, -ENOENT, "there is no home") : tfs_fail_memory(err);
    if (make) {
        tfs_file_make_parents(state, 0700);
        (void)mkdir(state, 0700);
    }
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
    return !make && why.code == -ENOENT ? 0 : tfs_fail(err, why.code, "%s", why.text);
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

/* First its name: what is cut later is no version. False: it is still there. */
static bool remove_version(const char *version)
{
    bool removed = false;
    char *gone = NULL;

    if (tfs_print(&gone, "%s" TFS_UNDO_GONE, version) > 0)
        walk(rename(version, gone) == 0 ? gone : version, 0, remove_one, &removed);
    free(gone);
    return removed;
}

void tfs_undo_remove(const char *version)
{
    (void)remove_version(version);
}

static void sweep_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    const size_t length = strlen(path), ending = strlen(TFS_UNDO_GONE);

    (void)arg, (void)st;
    if (depth == 1 && length > ending && strcmp(path + length - ending, TFS_UNDO_GONE) == 0)
        (void)remove_version(path);
}

void tfs_undo_sweep(const char *place)
{
    walk(place, 0, sweep_one, NULL);
}

struct all {
    uint64_t size;
    size_t versions;
    char *oldest; /* of the versions, */
    struct timespec time;
};

static void look_at_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    const struct timespec *time = &st->st_mtim;
    struct all *all = arg;

    all->size += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
    if (depth != 2 || (all->versions++ > 0 && !tfs_is_later(all->time, *time)))
        return;
    free(all->oldest);
    all->oldest = strdup(path);
    all->time = *time;
}

/* Removes the oldest of the versions in all directories of saves: whether it was to be, and is
 * gone. */
static bool remove_oldest(const char *base, uint64_t bytes)
{
    struct all all = {0};

    walk(base, 0, look_at_one, &all);
    const bool removed =
        all.size > bytes && all.versions > 1 && all.oldest != NULL && remove_version(all.oldest);
    free(all.oldest);
    return removed;
}

void tfs_undo_limit(const char *place, uint64_t bytes)
{
    char *base = tfs_file_directory(place);

    while (base != NULL && remove_oldest(base, bytes))
        ;
    free(base);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int give_times(int to, const struct stat *from, struct tfs_error *err)
{
    if (futimens(to, (const struct timespec[2]){from->st_atim, from->st_mtim}) < 0)
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
    if ((old->fd < 0 && tfs_replacement_give_all(&r, from, err) < 0) ||
        tfs_replacement_copy(&r, from, err) < 0 || (times && give_times(r.fd, &from->st, err) < 0))
        tfs_replacement_cancel(&r);
    else
        tfs_replacement_finish(&r, old, err);
    return err->code;
}
