/*
 * The journal of a zone: where it lies, and what it has to know of regions (docs/journal.md).
 *
 * Must not know records, nor documents.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "formats/cosmic_reach/zone.h"

/* In the folder of regions, whose change is told to `touched`. */
static char *beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    const bool within =
        (slash != NULL && strcmp(slash, "/regions") == 0) || tfs_cosmic_holds_regions(path) > 0;
    char *found = NULL;

    return tfs_print(&found, "%s%s/" TFS_COSMIC_ZONE_JOURNAL, path, within ? "" : "/regions") < 0
               ? NULL
               : found;
}

static struct tfs_key file_of(const struct tfs_save *save, struct tfs_key chunk)
{
    (void)save;
    return tfs_cosmic_region_of(chunk);
}

/* What is known of the region: 1; 0: there is none. */
static int look_up(struct tfs_cosmic_zone *own, struct tfs_key region, struct tfs_folder_file *file,
                   char **path, struct tfs_error *err)
{
    pthread_mutex_lock(&own->lock);
    const struct tfs_folder_file *known = tfs_folder_find(&own->index.files, region);
    if (known != NULL)
        *file = *known;
    if (known != NULL && ((const struct tfs_cosmic_region_file *)known)->left_out)
        tfs_fail(err, -EIO, "it cannot be read");
    *path = known == NULL ? NULL : tfs_cosmic_zone_path(&own->index, region);
    pthread_mutex_unlock(&own->lock);
    if (known != NULL && *path == NULL)
        tfs_fail_memory(err);
    return err->code < 0 ? err->code : known != NULL;
}

/* The next who asks need not read the file. */
static void remember(struct tfs_cosmic_zone *own, const struct tfs_folder_file *file)
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
    struct tfs_folder_file file = {.key = region};
    char *path = NULL;
    int there = look_up(tfs_cosmic_zone_of(save), region, &file, &path, err);

    if (there > 0 && !file.hashed && tfs_folder_hash(path, &file.st, &file.hash, err) == 0)
        remember(tfs_cosmic_zone_of(save), &file);
    free(path);
    if (err->code < 0)
        return err->code;
    *hash = file.hash;
    *st = file.st;
    return 0;
}

static void touched(struct tfs_save *save)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);

    pthread_mutex_lock(&own->lock);
    tfs_cosmic_zone_index_watch(&own->index);
    pthread_mutex_unlock(&own->lock);
}

const struct tfs_journal_files tfs_cosmic_zone_journal = {
    .beside = beside, .file_of = file_of, .hash = hash_of, .touched = touched};
