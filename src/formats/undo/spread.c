/*
 * The newest generation of a folder -> two small folders that can be compared: see undo.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"

#include "formats/undo/disk.h"

#define SPREAD    "compared"
#define SMALL_MAX ((off_t)1 << 20)

/* A copy of the file at `from`, if there is one, as `path` below `top`. */
static int put_copy(const char *from, int top, const char *path, struct tfs_error *err)
{
    struct tfs_file_handle file;
    struct tfs_error why = {0};

    if (from == NULL)
        return tfs_fail_memory(err);
    if (tfs_file_open(from, false, &file, &why) < 0)
        return why.code == -ENOENT ? 0 : tfs_fail(err, why.code, "%s: %s", path, why.text);
    if (tfs_undo_parents(top, path) < 0)
        tfs_fail_errno(err, "a directory cannot be made");
    else
        tfs_undo_copy_file(file.fd, &file.st, top, path, err);
    tfs_file_close(&file);
    return err->code;
}

static int put_files(const char *path, const struct tfs_generation *generation, int now, int then,
                     struct tfs_error *err)
{
    for (size_t i = 0; i < generation->count && err->code == 0; i++) {
        const char *name = generation->files[i].path;
        char *kept = NULL, *target = tfs_undo_target(path, generation, name);
        if (tfs_print(&kept, "%s/%s", generation->directory, name) < 0)
            kept = NULL;
        if (put_copy(target, now, name, err) == 0)
            put_copy(kept, then, name, err);
        free(kept);
        free(target);
    }
    return err->code;
}

/* The files at the top of the folder, where they are small and not there yet. */
static int put_top(const char *path, int top, struct tfs_error *err)
{
    DIR *dir = opendir(path);
    struct stat st, there;

    if (dir == NULL)
        return tfs_fail_errno(err, "cannot be listed");
    for (struct dirent *entry; err->code == 0 && (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        char *from = NULL;
        if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            st.st_size > SMALL_MAX || fstatat(top, name, &there, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (tfs_print(&from, "%s/%s", path, name) < 0)
            from = NULL;
        put_copy(from, top, name, err);
        free(from);
    }
    closedir(dir);
    return err->code;
}

static int name_both(const struct tfs_generations *list, char **now, char **then,
                     struct tfs_error *err)
{
    char *own = tfs_undo_path_of(list->own), *a = NULL, *b = NULL;

    if (own != NULL && tfs_print(&a, "%s/" SPREAD "/now", own) < 0)
        a = NULL;
    if (a != NULL && tfs_print(&b, "%s/" SPREAD "/then", own) < 0)
        b = NULL;
    free(own);
    if (b == NULL) {
        free(a);
        return tfs_fail_memory(err);
    }
    *now = a;
    *then = b;
    return 0;
}

int tfs_undo_spread(const char *path, const struct tfs_generations *list, char **now, char **then,
                    struct tfs_error *err)
{
    const struct tfs_generation *redo, *next = tfs_undo_next(list, &redo);
    int top, sides[2] = {-1, -1};

    tfs_undo_clear(list);
    top = tfs_undo_directory(list->own, SPREAD, true, err);
    if (top >= 0)
        sides[0] = tfs_undo_directory(top, "now", true, err);
    if (sides[0] >= 0)
        sides[1] = tfs_undo_directory(top, "then", true, err);
    if (sides[1] >= 0 && put_files(path, next, sides[0], sides[1], err) == 0 &&
        put_top(path, sides[0], err) == 0)
        put_top(path, sides[1], err);
    const int fds[] = {sides[0], sides[1], top};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return err->code < 0 ? err->code : name_both(list, now, then, err);
}

void tfs_undo_clear(const struct tfs_generations *list)
{
    if (list->own >= 0)
        tfs_undo_remove(list->own, SPREAD);
}
