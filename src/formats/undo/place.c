/*
 * The path of a save -> the directory of its versions, and what is done to files there.
 *
 * Must not know what is in a version. The state directory is found as every program finds it,
 * through links if the user put some there; what is below it is ours alone: directories that
 * belong to us, that nobody else may write to and that are no links.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/print.h"
#include "formats/undo/versions.h"

#define NAME_KEPT 200 /* bytes of a save's name in that of its directory */

/* ---- the directory of a save ----------------------------------------------------------------- */

/* One that nobody else may write to, and no link. */
static int check_ours(const char *path, bool make, struct tfs_error *err)
{
    struct stat st;

    if ((make && mkdir(path, 0700) < 0 && errno != EEXIST) || lstat(path, &st) < 0)
        return tfs_fail(err, -errno, "the directory %s of earlier versions cannot be used: %s",
                        path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return tfs_fail(err, -EPERM,
                        "the directory %s of earlier versions is a link or not ours alone", path);
    return 0;
}

/* From the top to the bottom, so that nothing is made behind a link; what lies above `at` is the
 * user's. */
static int check_all(char *path, size_t at, bool make, struct tfs_error *err)
{
    for (char *slash = path + at; slash != NULL && err->code == 0;) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        check_ours(path, make, err);
        if (slash != NULL)
            *slash = '/';
    }
    return err->code;
}

/* In the directory that was asked for, or where programs keep their state. */
int tfs_undo_place(const char *save, const struct tfs_undo_options *options, bool make,
                   char **place, struct tfs_error *err)
{
    char *state = options->directory != NULL ? strdup(options->directory) : tfs_state_directory();

    if (state == NULL)
        return errno == ENOENT ? tfs_fail(err, -ENOENT, "there is no home") : tfs_fail_memory(err);
    if (make) {
        tfs_file_make_parents(state, 0700);
        (void)mkdir(state, 0700);
    }
    if (tfs_print(place, "%s/terrainfs/undo/%.*s-%016jx", state, NAME_KEPT, strrchr(save, '/') + 1,
                  (uintmax_t)tfs_checksum(tfs_span_of(save), 0)) < 0)
        tfs_fail_memory(err);
    else
        check_all(*place, strlen(state), make, err);
    free(state);
    return err->code;
}

/* ---- all that is below a directory ----------------------------------------------------------- */

typedef void (*found_fn)(void *arg, const char *path, const struct stat *st, unsigned depth);

/* Tells of all that is below a directory, and then of itself. */
static void walk(const char *path, unsigned depth, found_fn found, void *arg)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return;
    DIR *dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char *below = tfs_path_join(path, entry->d_name);
        if (below != NULL && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            walk(below, depth + 1, found, arg);
        free(below);
    }
    if (dir != NULL)
        closedir(dir);
    found(arg, path, &st, depth);
}

static void remove_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    (void)arg, (void)st, (void)depth;
    (void)remove(path);
}

/* First its name: what is cut later is no version, and the next removal takes it along. */
bool tfs_undo_remove(const char *version)
{
    char *place = tfs_file_directory(version);
    char *gone = place == NULL ? NULL : tfs_path_join(place, "gone");

    if (gone != NULL) {
        walk(gone, 0, remove_one, NULL);
        walk(rename(version, gone) == 0 ? gone : version, 0, remove_one, NULL);
    }
    free(gone);
    free(place);
    return access(version, F_OK) < 0;
}

struct all {
    uint64_t size;
    size_t versions;
    char *oldest; /* of the versions, */
    struct timespec time;
};

static void look_at_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    struct all *all = arg;

    all->size += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
    if (depth != 2 || (all->versions++ > 0 && !tfs_is_later(all->time, st->st_mtim)))
        return;
    free(all->oldest);
    all->oldest = strdup(path);
    all->time = st->st_mtim;
}

/* Of the versions in all directories of saves, if they have more bytes: is one gone? */
static bool remove_oldest(const char *base, uint64_t bytes)
{
    struct all all = {0};

    walk(base, 0, look_at_one, &all);
    const bool gone =
        all.size > bytes && all.versions > 1 && all.oldest != NULL && tfs_undo_remove(all.oldest);
    free(all.oldest);
    return gone;
}

void tfs_undo_limit(const char *version, uint64_t bytes)
{
    char *place = tfs_file_directory(version);
    char *base = place == NULL ? NULL : tfs_file_directory(place);

    while (base != NULL && remove_oldest(base, bytes))
        ;
    free(base);
    free(place);
}

static void sync_one(void *arg, const char *path, const struct stat *st, unsigned depth)
{
    struct tfs_error ignored = {0};

    (void)arg, (void)depth;
    if (S_ISDIR(st->st_mode))
        (void)tfs_directory_settle(path, &ignored);
}

void tfs_undo_sync(const char *version)
{
    char *place = tfs_file_directory(version);
    struct tfs_error ignored = {0};

    walk(version, 0, sync_one, NULL);
    (void)tfs_file_settle(version, &ignored);
    if (place != NULL)
        (void)tfs_file_settle(place, &ignored);
    free(place);
}

/* ---- copies ---------------------------------------------------------------------------------- */

int tfs_undo_copy_file(const struct tfs_file_handle *from, const char *target,
                       struct tfs_file_handle *old, struct tfs_keeper *keeper,
                       struct tfs_error *err)
{
    struct tfs_replacement r;

    if (tfs_replacement_open(target, old->fd < 0 ? NULL : old, &r, err) < 0)
        return err->code;
    r.keeper = keeper;
    if ((old->fd < 0 && tfs_replacement_give_all(&r, from, err) < 0) ||
        tfs_replacement_copy(&r, from, err) < 0)
        tfs_replacement_cancel(&r);
    else
        tfs_replacement_finish(&r, old, err);
    return err->code;
}
