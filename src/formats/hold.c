/*
 * The path of a save -> the lock of what is around it, or in it: see hold.h.
 *
 * Must not know any format: its container says what is locked.
 */
#include "formats/hold.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/folder.h"
#include "formats/containers/file.h"

static int find_container(const char *path, const char *format,
                          const struct tfs_container **container, struct tfs_error *err)
{
    struct tfs_error why = {0};
    char *found = NULL;

    *container = NULL;
    if (tfs_save_find(path, NULL, format, container, &found, &why) == -ENOMEM)
        return tfs_fail_memory(err);
    free(found);
    for (size_t i = 0; why.code < 0 && tfs_containers[i] != NULL; i++)
        if (tfs_containers[i]->file != NULL && tfs_containers[i]->file->folder != NULL &&
            tfs_save_is_named(path, tfs_containers[i]->format))
            *container = tfs_containers[i];
    return 0;
}

static int lock_within(const char *path, const char *name, int *fd, struct tfs_error *err)
{
    char *within = NULL;

    if (tfs_print(&within, "%s/%s", path, name) < 0)
        return tfs_fail_memory(err);
    if (access(within, F_OK) == 0)
        tfs_folder_lock(within, TFS_FOLDER_EXCLUSIVE, fd, err);
    free(within);
    return err->code;
}

int tfs_hold_take(const char *path, const char *format, int *fd, struct tfs_error *err)
{
    const struct tfs_container *container;

    *fd = -1;
    if (find_container(path, format, &container, err) < 0 || container == NULL)
        return err->code;
    if (container->file != NULL)
        return tfs_whole_file_share(container, path, fd, err);
    return container->locked_within == NULL ? 0
                                            : lock_within(path, container->locked_within, fd, err);
}
