/*
 * The path of a save -> the directory of its generations, and the few things done to files there.
 *
 * Must not know what is in a generation. The state directory is found as every program finds it,
 * through links if the user put some there; what is below it is ours alone: directories that
 * belong to us, that nobody else may write to and to which no link leads.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/print.h"
#include "formats/undo/disk.h"

#define NAME_KEPT 200 /* bytes of a save's name in that of its directory */
#define COPY_STEP (256u << 10)
#define PART      ".part" /* a copy that is being made */

/* ---- directories of ours --------------------------------------------------------------------- */

static int check_ours(int fd, const char *name, struct tfs_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return tfs_fail(err, -EPERM, "the directory %s of earlier versions is not ours alone",
                        name);
    return 0;
}

int tfs_undo_directory(int parent, const char *name, bool make, struct tfs_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

    if (make && mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
        return tfs_fail(err, -errno, "the directory %s of earlier versions cannot be made: %s",
                        name, strerror(errno));
    int fd = openat(parent, name, flags);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return tfs_fail(err, -EPERM, "the directory %s of earlier versions is a link or a file",
                        name);
    if (fd < 0)
        return tfs_fail(err, -errno, "the directory %s of earlier versions cannot be opened: %s",
                        name, strerror(errno));
    if (check_ours(fd, name, err) == 0)
        return fd;
    close(fd);
    return err->code;
}

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
    else if (tfs_print(path, "%s/.local/state", home) < 0)
        *path = NULL;
    return *path == NULL ? tfs_fail_memory(err) : 0;
}

/* Makes a directory and those that lead to it: 0, or the errno of the last that could not be
 * made. */
static int make_path(char *path)
{
    int code = 0;

    for (char *slash = path; slash != NULL;) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(path, 0700) < 0)
            code = errno == EEXIST ? 0 : errno;
        if (slash != NULL)
            *slash = '/';
    }
    return code;
}

/* A directory of the user's: also behind links. */
static int open_state(const char *path, bool make, struct tfs_error *err)
{
    char *copy = strdup(path);

    if (copy == NULL)
        return tfs_fail_memory(err);
    const int made = make ? make_path(copy) : 0;
    int fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        const int code = made != 0 ? made : errno;
        tfs_fail(err, -code, "%s cannot be opened: %s", copy, strerror(code));
    }
    free(copy);
    return fd < 0 ? err->code : fd;
}

/* ---- the place of a save --------------------------------------------------------------------- */

/* The name of the directory of the generations of the save at `path`. */
static void name_own(const char *path, char name[TFS_UNDO_NAME])
{
    const char *last = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;

    snprintf(name, TFS_UNDO_NAME, "%.*s-%016jx", NAME_KEPT, last,
             (uintmax_t)tfs_checksum(tfs_span_of(path), 0));
}

/* Opens the directory `name` in `top` as the one of all saves, and in it that of this one. Takes
 * `top` over. */
static int open_in(int top, const char *names, const char *path, bool make,
                   struct tfs_undo_place *place, struct tfs_error *err)
{
    char own[TFS_UNDO_NAME], copy[NAME_MAX + 1], *rest = copy, *name;
    int fd = top;

    snprintf(copy, sizeof(copy), "%s", names);
    while (fd >= 0 && (name = strsep(&rest, "/")) != NULL) {
        int next = tfs_undo_directory(fd, name, make, err);
        close(fd);
        fd = next;
    }
    if (fd < 0)
        return fd;
    name_own(path, own);
    place->base = fd;
    place->own = tfs_undo_directory(fd, own, make, err);
    return place->own < 0 && place->own != -ENOENT ? place->own : 0;
}

char *tfs_undo_path_of(int fd)
{
    char link[64], path[PATH_MAX];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        return strdup("");
    path[n] = '\0';
    return strdup(path);
}

static int open_usual(const char *path, const struct tfs_undo_options *options, bool make,
                      struct tfs_undo_place *place, struct tfs_error *err)
{
    char *state = NULL;

    if (state_directory(options, &state, err) < 0)
        return err->code;
    int top = open_state(state, make, err);
    free(state);
    return top < 0 ? top : open_in(top, "terrainfs/undo", path, make, place, err);
}

/* As a hidden directory beside the save. */
static int open_beside(const char *path, bool make, struct tfs_undo_place *place,
                       struct tfs_error *err)
{
    const char *last = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    char name[NAME_MAX + 1];
    char *directory = tfs_file_directory(path);
    int top = directory == NULL ? -ENOMEM : tfs_directory_open(directory);

    free(directory);
    if (top < 0)
        return tfs_fail(err, top, "the directory of the save cannot be opened: %s", strerror(-top));
    snprintf(name, sizeof(name), ".%.*s.terrainfs-undo", NAME_KEPT, last);
    return open_in(top, name, path, make, place, err);
}

/* A home that cannot hold anything is none. */
static bool is_absent(int code)
{
    return code == -ENOENT || code == -EROFS || code == -EACCES || code == -ENOTDIR;
}

/* Beside the save only where there is no home; a search for generations looks there last. */
static int open_some(const char *path, const struct tfs_undo_options *options, bool make,
                     struct tfs_undo_place *place, struct tfs_error *err)
{
    struct tfs_undo_place beside = {-1, -1, NULL};
    struct tfs_error why = {0};
    int result = open_usual(path, options, make, place, &why);

    if (result < 0 && !is_absent(result))
        return tfs_fail(err, result, "%s", why.text);
    if (place->own >= 0 || (options->directory != NULL && result == 0))
        return 0;
    if (options->directory != NULL)
        return make ? tfs_fail(err, result, "%s", why.text) : 0;
    result = open_beside(path, make, &beside, err);
    if (result < 0 && !make && is_absent(result))
        tfs_error_reset(err);
    if (beside.own < 0) {
        tfs_undo_place_close(&beside);
        return err->code;
    }
    tfs_undo_place_close(place);
    *place = beside;
    return 0;
}

int tfs_undo_place_open(const char *path, const struct tfs_undo_options *options, bool make,
                        struct tfs_undo_place *place, struct tfs_error *err)
{
    struct tfs_undo_place found = {-1, -1, NULL};

    if (open_some(path, options, make, &found, err) == 0 && found.own >= 0) {
        found.own_path = tfs_undo_path_of(found.own);
        if (found.own_path == NULL)
            tfs_fail_memory(err);
    }
    if (err->code < 0) {
        tfs_undo_place_close(&found);
        return err->code;
    }
    *place = found;
    return found.own >= 0;
}

void tfs_undo_place_close(struct tfs_undo_place *place)
{
    if (place->base >= 0)
        close(place->base);
    if (place->own >= 0)
        close(place->own);
    free(place->own_path);
    *place = (struct tfs_undo_place){-1, -1, NULL};
}

/* ---- numbers, paths and removal -------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;

    return left < right ? -1 : left > right;
}

/* The number that a name is; 0: none. */
static unsigned number_of(const char *name)
{
    const size_t digits = strspn(name, "0123456789");

    if (digits == 0 || digits > 9 || name[digits] != '\0' || name[0] == '0')
        return 0;
    return (unsigned)strtoul(name, NULL, 10);
}

int tfs_undo_numbers(int own, unsigned **numbers, size_t *count, struct tfs_error *err)
{
    int fd = openat(own, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    unsigned *found = NULL, *grown;
    size_t n = 0;

    if (dir == NULL) {
        tfs_fail_errno(err, "earlier versions cannot be listed");
        if (fd >= 0)
            close(fd);
        return err->code;
    }
    for (struct dirent *entry; err->code == 0 && (entry = readdir(dir)) != NULL;) {
        if (number_of(entry->d_name) == 0)
            continue;
        grown = tfs_array_grow(found, n, sizeof(*found));
        if (grown == NULL) {
            tfs_fail_memory(err);
            break;
        }
        found = grown;
        found[n++] = number_of(entry->d_name);
    }
    closedir(dir);
    if (err->code < 0) {
        free(found);
        return err->code;
    }
    if (n > 0)
        qsort(found, n, sizeof(*found), compare_numbers);
    *numbers = found;
    *count = n;
    return 0;
}

int tfs_undo_parents(int top, const char *path)
{
    char *copy = strdup(path);

    if (copy == NULL)
        return -ENOMEM;
    for (char *slash = strchr(copy, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(top, copy, 0700) < 0 && errno != EEXIST) {
            const int code = errno;
            free(copy);
            return -code;
        }
        *slash = '/';
    }
    free(copy);
    return 0;
}

void tfs_undo_remove(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    /* First what makes it a generation: what is cut later is not taken for one. */
    if (fd >= 0)
        (void)unlinkat(fd, TFS_UNDO_MANIFEST, 0);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(fd, entry->d_name, 0) < 0)
            tfs_undo_remove(fd, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* The save itself has that name now which it was kept by, even if it was renamed since. */
char *tfs_undo_target(const char *save, const struct tfs_generation *generation, const char *path)
{
    const bool folder = generation->kind == TFS_UNDO_FOLDER;
    const char *last = strrchr(generation->save, '/');
    char *directory, *target = NULL;

    if (!folder && last != NULL && strcmp(last + 1, path) == 0)
        return strdup(save);
    directory = folder ? strdup(save) : tfs_file_directory(save);
    if (directory != NULL && tfs_print(&target, "%s/%s", directory, path) < 0)
        target = NULL;
    free(directory);
    return target;
}

struct tfs_undo_mark tfs_undo_mark_of(const struct stat *st)
{
    return (struct tfs_undo_mark){st->st_ino, st->st_size, st->st_mtim};
}

bool tfs_undo_mark_same(struct tfs_undo_mark a, struct tfs_undo_mark b)
{
    return a.ino == b.ino && a.size == b.size && a.mtime.tv_sec == b.mtime.tv_sec &&
           a.mtime.tv_nsec == b.mtime.tv_nsec;
}

/* ---- copying --------------------------------------------------------------------------------- */

static int copy_bytes(int from, int to, struct tfs_error *err)
{
    uint8_t *bytes = malloc(COPY_STEP);
    off_t at = 0;
    ssize_t got = 1;

    if (bytes == NULL)
        return tfs_fail_memory(err);
    while (got > 0 && err->code == 0) {
        got = pread(from, bytes, COPY_STEP, at);
        if (got < 0 && errno == EINTR) {
            got = 1;
            continue;
        }
        if (got < 0)
            tfs_fail_errno(err, "cannot be read");
        for (ssize_t done = 0; done < got && err->code == 0;) {
            ssize_t n = write(to, bytes + done, (size_t)(got - done));
            if (n < 0 && errno != EINTR)
                tfs_fail(err, tfs_write_code(errno), "the copy cannot be written: %s",
                         strerror(errno));
            done += n > 0 ? n : 0;
        }
        at += got > 0 ? got : 0;
    }
    free(bytes);
    return err->code;
}

static int finish_copy(int from, int fd, const struct stat *like, struct tfs_error *err)
{
    const struct timespec times[2] = {like->st_atim, like->st_mtim};

    struct tfs_error ignored = {0};

    /* Owner, attributes and permissions are as good as they can be: nobody else comes into the
     * directory. */
    (void)tfs_file_give(fd, like);
    (void)tfs_file_give_attributes(fd, from, &ignored);
    (void)fchmod(fd, like->st_mode & 0777);
    if (futimens(fd, times) < 0 || fsync(fd) < 0)
        return tfs_fail_errno(err, "the copy cannot be made durable");
    return 0;
}

int tfs_undo_copy_file(int from, const struct stat *like, int directory, const char *to,
                       struct tfs_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char *part = NULL;

    if (tfs_print(&part, "%s" PART, to) < 0)
        return tfs_fail_memory(err);
    (void)unlinkat(directory, part, 0);
    int fd = openat(directory, part, flags, 0600);
    if (fd < 0)
        tfs_fail_errno(err, "a copy cannot be made");
    else if (copy_bytes(from, fd, err) == 0 && finish_copy(from, fd, like, err) == 0 &&
             renameat(directory, part, directory, to) < 0)
        tfs_fail_errno(err, "a copy cannot get its name");
    if (fd >= 0)
        close(fd);
    if (err->code < 0)
        (void)unlinkat(directory, part, 0);
    free(part);
    return err->code;
}
