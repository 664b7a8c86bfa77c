/*
 * The journal of a folder of regions: beside meta.vxrm, in the folder that is locked
 * (docs/journal.md).
 *
 * Must not know records, nor documents.
 */
#include <stdlib.h>

#include "formats/godot_voxel/folder.h"

static struct tfs_key file_of(const struct tfs_save *save, struct tfs_key block)
{
    const struct tfs_godot_folder *own = tfs_godot_folder_of(save);
    uint32_t index;

    return tfs_godot_folder_region_of(&own->index.meta, block, &index);
}

/* The next who asks need not read the file. */
static void remember(struct tfs_godot_folder *own, const struct tfs_folder_file *file)
{
    pthread_mutex_lock(&own->lock);
    struct tfs_folder_file *known = tfs_folder_find(&own->index.files, file->key);
    if (known != NULL && tfs_file_same(&known->st, &file->st)) {
        known->hash = file->hash;
        known->hashed = true;
    }
    pthread_mutex_unlock(&own->lock);
}

static int hash_of(struct tfs_save *save, struct tfs_key region, struct tfs_hash *hash,
                   struct stat *st, struct tfs_error *err)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);
    struct tfs_folder_file file = {.key = region};
    char *path = tfs_godot_folder_region_path(save->path, region);

    if (path == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_lock(&own->lock);
    const struct tfs_folder_file *known = tfs_folder_find(&own->index.files, region);
    if (known != NULL)
        file = *known;
    pthread_mutex_unlock(&own->lock);
    if (known != NULL && !file.hashed && tfs_folder_hash(path, &file.st, &file.hash, err) == 0)
        remember(own, &file);
    free(path);
    if (err->code < 0)
        return err->code;
    *hash = file.hash;
    *st = file.st;
    return 0;
}

const struct tfs_journal_files tfs_godot_folder_journal = {
    .beside = tfs_godot_folder_meta_path, .file_of = file_of, .hash = hash_of};
