/*
 * The entries of a folder -> the first that is meant, and a sentence about it.
 *
 * Must not know any format.
 */
#include "formats/advice.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"

/* Looks at one entry. */
static int look_at(const char *path, const char *name, mode_t kind, tfs_meant_fn is_meant,
                   struct tfs_first *first)
{
    struct stat st;
    int meant = lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind ? is_meant(path) : 0;

    if (meant <= 0)
        return meant;
    first->count++;
    if (first->name != NULL && strcmp(first->name, name) < 0)
        return 0;
    free(first->name);
    first->name = strdup(name);
    return first->name == NULL ? -ENOMEM : 0;
}

int tfs_first_find(const char *folder, mode_t kind, tfs_meant_fn is_meant, struct tfs_first *first)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    int result = 0;

    *first = (struct tfs_first){0};
    while (directory != NULL && result == 0 && (entry = readdir(directory)) != NULL) {
        char *path = NULL;
        if (entry->d_name[0] == '.')
            continue;
        result = tfs_print(&path, "%s/%s", folder, entry->d_name) < 0
                     ? -ENOMEM
                     : look_at(path, entry->d_name, kind, is_meant, first);
        free(path);
    }
    if (directory != NULL)
        closedir(directory);
    if (result < 0) {
        free(first->name);
        *first = (struct tfs_first){0};
    }
    return result;
}

int tfs_advise(const char *folder, mode_t kind, tfs_meant_fn is_meant, const char *text,
               struct tfs_error *err)
{
    struct tfs_first first;

    if (err->code < 0)
        return err->code;
    if (tfs_first_find(folder, kind, is_meant, &first) < 0)
        return tfs_fail_memory(err);
    if (first.name != NULL)
        tfs_fail(err, -EINVAL, text, first.name);
    free(first.name);
    return err->code;
}
