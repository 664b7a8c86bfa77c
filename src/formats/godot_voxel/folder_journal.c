/*
 * The journal of a folder of regions: beside meta.vxrm, in the folder that is locked
 * (docs/journal.md).
 *
 * Must not know records, nor documents.
 */
#include "formats/godot_voxel/folder.h"

static struct tfs_key file_of(const struct tfs_save *save, struct tfs_key block)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);
    uint32_t index;

    pthread_mutex_lock(&own->lock);
    const struct tfs_key region = tfs_godot_folder_region_of(&own->index.meta, block, &index);
    pthread_mutex_unlock(&own->lock);
    return region;
}

static char *path_of(const struct tfs_save *save, struct tfs_key region)
{
    return tfs_godot_folder_region_path(save->path, region);
}

static int hash_of(struct tfs_save *save, struct tfs_key region, const char *path,
                   struct tfs_hash *hash, struct stat *st, struct tfs_error *err)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);

    return tfs_folder_hash(&own->index.files, &own->lock, region, path, hash, st, err);
}

static const char *waits(const struct tfs_save *save)
{
    return tfs_godot_folder_of(save)->index.alone;
}

const struct tfs_journal_files tfs_godot_folder_journal = {.beside = tfs_godot_folder_meta_path,
                                                           .file_of = file_of,
                                                           .path = path_of,
                                                           .hash = hash_of,
                                                           .waits = waits};
