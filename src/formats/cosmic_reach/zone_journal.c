/*
 * The journal of a zone: where it lies, and what it has to know of regions (docs/journal.md).
 *
 * Must not know records, nor documents.
 */
#include <stdlib.h>

#include "base/print.h"
#include "formats/cosmic_reach/zone.h"

/* In the folder of regions, whose change is told to `touched`. */
static char *within(const char *regions)
{
    char *found = NULL;

    return tfs_print(&found, "%s/" TFS_COSMIC_ZONE_JOURNAL, regions) < 0 ? NULL : found;
}

static char *beside(const char *path)
{
    char *regions = tfs_cosmic_zone_regions(path);
    char *found = regions == NULL ? NULL : within(regions);

    free(regions);
    return found;
}

static char *beside_opened(const struct tfs_save *save)
{
    return within(tfs_cosmic_zone_of(save)->regions);
}

static struct tfs_key file_of(const struct tfs_save *save, struct tfs_key chunk)
{
    (void)save;
    return tfs_cosmic_region_of(chunk);
}

static char *path_of(const struct tfs_save *save, struct tfs_key region)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);

    pthread_mutex_lock(&own->lock);
    char *path = tfs_cosmic_zone_path(&own->index, region);
    pthread_mutex_unlock(&own->lock);
    return path;
}

static int hash_of(struct tfs_save *save, struct tfs_key region, const char *path,
                   struct tfs_hash *hash, struct stat *st, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);

    return tfs_folder_hash(&own->index.files, &own->lock, region, path, hash, st, err);
}

static void touched(struct tfs_save *save)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);

    pthread_mutex_lock(&own->lock);
    tfs_cosmic_zone_index_watch(&own->index);
    pthread_mutex_unlock(&own->lock);
}

static const char *waits(const struct tfs_save *save)
{
    return tfs_cosmic_zone_of(save)->index.alone;
}

const struct tfs_journal_files tfs_cosmic_zone_journal = {.beside = beside,
                                                          .beside_opened = beside_opened,
                                                          .file_of = file_of,
                                                          .path = path_of,
                                                          .hash = hash_of,
                                                          .prepare = tfs_cosmic_zone_make_folder,
                                                          .touched = touched,
                                                          .waits = waits};
