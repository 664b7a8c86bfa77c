/*
 * A folder of region files: opened from their records, changed file by file.
 *
 * Must not know bodies, nor how they are fetched (zone_fetch.c), shown (zone_doc.c) and written
 * (zone_write.c).
 * Invariants:
 *   1. own->index is what the files on disk say, and save->doc has a chunk for each of those that
 *      were read;
 *   2. a chunk of the document holds what this mount wrote, or is fetched from its region, by the
 *      hash of its body: so nothing else is taken for it;
 *   3. a region that cannot be read shows nothing, and one with any fault is not written; the
 *      others are not touched by that;
 *   4. regions/ is locked, or the zone's folder while there is no regions/;
 *   5. own->regions is chosen when the save is opened and never changes: a region that somebody
 *      puts into the other folder meanwhile is none of the save's.
 */
#include "formats/cosmic_reach/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/cosmic_reach/world.h"
#include "formats/journal.h"

#define READ_ONE_BY_ONE 64 /* regions */

/* ---- opening --------------------------------------------------------------------------------- */

static bool exclusive(const struct tfs_save *save)
{
    return save->options.lock == TFS_LOCK_EXCLUSIVE;
}

/* Is the save the folder of a zone, with its regions one floor below? */
static bool has_folder(const struct tfs_save *save, const struct tfs_cosmic_zone *own)
{
    return strcmp(own->regions, save->path) != 0;
}

/* The game reads those of regions/ alone, but who put a region beside them meant something. */
static int choose_regions(const struct tfs_save *save, struct tfs_cosmic_zone *own,
                          struct tfs_error *err)
{
    char name[TFS_COSMIC_REGION_NAME];
    struct tfs_key region;

    own->regions = tfs_cosmic_zone_regions(save->path);
    if (own->regions == NULL)
        return tfs_fail_memory(err);
    if (!has_folder(save, own) || tfs_cosmic_holds_regions(save->path, &region) <= 0)
        return 0;
    tfs_cosmic_region_name(region, name);
    return tfs_fail(err, -EINVAL,
                    "holds %s beside its folder regions/, where the game looks for regions: move "
                    "that file there, or out of the zone",
                    name);
}

/* Locks regions/, or while that is missing the folder that it will be in. */
static int lock_zone(const struct tfs_save *save, const struct tfs_cosmic_zone *own, int *lock_fd,
                     bool *is_parent, struct tfs_error *err)
{
    const enum tfs_folder_lock lock = exclusive(save) ? TFS_FOLDER_EXCLUSIVE : TFS_FOLDER_UNLOCKED;

    *is_parent = has_folder(save, own) && access(own->regions, F_OK) < 0;
    return tfs_folder_lock(*is_parent ? save->path : own->regions, lock, lock_fd, err);
}

/* The zone's folder, which `undo` locks: a second mount meets the lock of regions/ first. */
static int lock_folder(const struct tfs_save *save, struct tfs_cosmic_zone *own,
                       struct tfs_error *err)
{
    if (own->lock_is_parent || own->folder_fd >= 0 || !exclusive(save) || !has_folder(save, own))
        return 0;
    return tfs_folder_lock(save->path, TFS_FOLDER_EXCLUSIVE, &own->folder_fd, err);
}

/* Owner of the first region, else of the folder; a mode that lets nobody see more than in each
 * region; the newest time. */
static void set_stat(struct tfs_save *save, const struct tfs_cosmic_zone *own)
{
    const struct tfs_folder_files *files = &own->index.files;

    if (files->count > 0) {
        save->st = files->files[0]->st;
        for (size_t i = 1; i < files->count; i++)
            save->st.st_mode &= files->files[i]->st.st_mode | S_IFMT;
    } else if (fstat(own->lock_fd, &save->st) == 0) {
        save->st.st_mode &= ~(mode_t)0111;
    }
    save->st.st_mode = S_IFREG | (save->st.st_mode & 07777);
    tfs_folder_newest(files, &save->st);
}

static int check_writable(struct tfs_save *save, const struct tfs_cosmic_zone *own)
{
    struct tfs_error why = {0};
    const char *path = own->lock_is_parent ? save->path : own->index.regions.path;
    char *beside = tfs_journal_beside(save);

    if (access(path, W_OK) < 0)
        tfs_fail(&why, -errno, "it cannot be written: %s", strerror(errno));
    else
        (void)tfs_folder_check_alone(beside, own->index.alone, &why);
    free(beside);
    tfs_save_set_read_only(save, &why);
    return 0;
}

static void zone_free(struct tfs_cosmic_zone *own)
{
    tfs_recent_release(&own->payloads);
    tfs_cosmic_zone_index_release(&own->index);
    if (own->lock_fd >= 0)
        close(own->lock_fd);
    if (own->folder_fd >= 0)
        close(own->folder_fd);
    pthread_mutex_destroy(&own->lock);
    free(own->regions);
    free(own);
}

static int zone_open(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return tfs_fail_memory(err);
    own->lock_fd = own->folder_fd = -1;
    pthread_mutex_init(&own->lock, NULL);
    tfs_cosmic_zone_payloads_init(save, &own->payloads);
    save->own = own;
    if (choose_regions(save, own, err) == 0 &&
        lock_zone(save, own, &own->lock_fd, &own->lock_is_parent, err) == 0)
        tfs_journal_tidy(save);
    if (err->code < 0 ||
        tfs_cosmic_zone_index_read(save, NULL, exclusive(save), &own->index, err) < 0 ||
        lock_folder(save, own, err) < 0 ||
        (exclusive(save) && tfs_directory_settle(own->index.regions.path, err) < 0) ||
        tfs_cosmic_zone_doc(NULL, NULL, &own->index, false, &save->doc, err) < 0) {
        zone_free(own);
        save->own = NULL;
        return err->code;
    }
    check_writable(save, own);
    set_stat(save, own);
    return 0;
}

static void zone_close(struct tfs_save *save)
{
    zone_free(tfs_cosmic_zone_of(save));
    save->own = NULL;
}

/* ---- chunks that are read later -------------------------------------------------------------- */

static bool zone_lacks(const struct tfs_doc *doc, const struct tfs_key *chunk)
{
    const struct tfs_cosmic_zone_facts *own = tfs_cosmic_zone_facts(doc);

    if (own->unread == 0 || chunk == NULL)
        return own->unread > 0;
    const struct tfs_cosmic_region_file *file = tfs_cosmic_zone_region(own, *chunk);
    return file != NULL && file->unread;
}

/* The region to read; NULL: all. Each time the whole list of chunks is made again, so a caller that
 * asks for one region after the other gets all of them in the end. */
static const struct tfs_key *choose_region(const struct tfs_cosmic_zone_facts *own,
                                           const struct tfs_key *chunk, struct tfs_key *region)
{
    if (chunk == NULL || own->count - own->unread >= READ_ONE_BY_ONE)
        return NULL;
    *region = tfs_cosmic_region_of(*chunk);
    return region;
}

/* The index as it is now, with references to its files and nothing else of its own. A commit may
 * change it meanwhile, in another thread. */
static int copy_index(struct tfs_cosmic_zone *own, struct tfs_cosmic_zone_index *index,
                      struct tfs_error *err)
{
    struct tfs_folder_files *files = &index->files;

    pthread_mutex_lock(&own->lock);
    *index = own->index;
    *files = (struct tfs_folder_files){0};
    for (size_t i = 0; i < own->index.files.count && err->code == 0; i++)
        if (tfs_folder_add(files, own->index.files.files[i], err) == 0)
            tfs_cosmic_region_file_ref((struct tfs_cosmic_region_file *)files->files[i]);
    pthread_mutex_unlock(&own->lock);
    return err->code;
}

/* Those of the list that are not read become what was read of them; there is room, for they are no
 * more than before. */
static void know_read(struct tfs_cosmic_zone *own, const struct tfs_folder_files *read)
{
    struct tfs_folder_files *files = &own->index.files;

    pthread_mutex_lock(&own->lock);
    for (size_t i = files->count; i-- > 0;) {
        struct tfs_cosmic_region_file *old = (struct tfs_cosmic_region_file *)files->files[i];
        struct tfs_folder_file *new = tfs_folder_find(read, old->file.key);
        if (!old->unread || new == &old->file)
            continue;
        if (new != NULL)
            files->files[i] =
                &tfs_cosmic_region_file_ref((struct tfs_cosmic_region_file *)new)->file;
        else
            tfs_folder_remove(files, &old->file);
        tfs_cosmic_region_file_unref(old);
    }
    pthread_mutex_unlock(&own->lock);
}

static int zone_complete(struct tfs_save *save, const struct tfs_doc *base,
                         const struct tfs_key *chunk, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);
    struct tfs_cosmic_zone_index before, now;
    struct tfs_key region;
    const struct tfs_key *wanted = choose_region(tfs_cosmic_zone_facts(base), chunk, &region);
    const int result = copy_index(own, &before, err);

    now = before;
    now.files = (struct tfs_folder_files){0};
    if (result == 0 && tfs_cosmic_zone_read_files(save, &before, wanted, &now.files, err) == 0 &&
        tfs_cosmic_zone_doc(base, &before, &now, true, doc, err) == 0)
        know_read(own, &now.files);
    tfs_cosmic_zone_files_release(&before.files);
    tfs_cosmic_zone_files_release(&now.files);
    return err->code;
}

/* ---- outside changes ------------------------------------------------------------------------- */

/* Is the folder that is locked still the one at its path? While there is no regions/, a new one is
 * a change. */
static int check_path(const struct tfs_save *save, const struct tfs_cosmic_zone *own,
                      struct tfs_error *err)
{
    if (own->lock_is_parent && access(own->index.regions.path, F_OK) == 0)
        return tfs_fail(err, -ESTALE, "another program made the folder of regions");
    return tfs_folder_check(own->lock_is_parent ? save->path : own->index.regions.path,
                            own->lock_fd, err);
}

static int zone_changed(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);
    struct tfs_error ignored = {0};

    (void)err;
    pthread_mutex_lock(&own->lock);
    bool changed =
        check_path(save, own, &ignored) < 0 || tfs_cosmic_zone_index_changed(&own->index);
    pthread_mutex_unlock(&own->lock);
    return changed;
}

static int zone_changed_at(struct tfs_save *save, struct tfs_key chunk, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);
    struct tfs_error ignored = {0};

    (void)err;
    pthread_mutex_lock(&own->lock);
    bool changed = check_path(save, own, &ignored) < 0 ||
                   tfs_cosmic_zone_region_is_other(&own->index, tfs_cosmic_region_of(chunk));
    pthread_mutex_unlock(&own->lock);
    return changed;
}

/* Reads the folder again; what did not change keeps its record and its chunks. */
static int read_index(struct tfs_save *save, struct tfs_cosmic_zone *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    struct tfs_cosmic_zone_index index;

    if (tfs_cosmic_zone_index_read(save, &own->index, exclusive(save), &index, err) < 0)
        return err->code;
    if (tfs_cosmic_zone_doc(save->doc, &own->index, &index, false, doc, err) < 0) {
        tfs_cosmic_zone_index_release(&index);
        return err->code;
    }
    tfs_cosmic_zone_index_release(&own->index);
    tfs_recent_clear(&own->payloads);
    own->index = index;
    return 0;
}

/* As lock_zone, but while regions/ is missing the zone's folder may be locked by us already. */
static int lock_again(const struct tfs_save *save, const struct tfs_cosmic_zone *own, int *lock_fd,
                      bool *is_parent, struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (own->folder_fd < 0 || access(own->index.regions.path, F_OK) == 0 ||
        tfs_folder_check(save->path, own->folder_fd, &why) < 0)
        return lock_zone(save, own, lock_fd, is_parent, err);
    *is_parent = true;
    *lock_fd = fcntl(own->folder_fd, F_DUPFD_CLOEXEC, 0);
    return *lock_fd < 0 ? tfs_fail_errno(err, "cannot be locked") : 0;
}

/* The lock of the zone's folder stays, whichever of the two it is. */
static void take_lock(struct tfs_cosmic_zone *own, int lock_fd, bool is_parent)
{
    int old[2] = {own->lock_fd, own->folder_fd};

    own->lock_fd = lock_fd;
    own->folder_fd = is_parent ? -1 : old[!own->lock_is_parent];
    own->lock_is_parent = is_parent;
    for (int i = 0; i < 2; i++)
        if (old[i] >= 0 && old[i] != own->folder_fd)
            close(old[i]);
}

/* A folder of regions that was moved may come back. One that was removed may not: the zone is
 * empty then. */
static int check_moved(const struct tfs_cosmic_zone *own, struct tfs_error *err)
{
    struct stat st;

    if (own->lock_is_parent || own->index.files.count == 0 ||
        access(own->index.regions.path, F_OK) == 0 || errno != ENOENT ||
        fstat(own->lock_fd, &st) < 0 || st.st_nlink == 0)
        return 0;
    return tfs_fail(err, -ENOENT, "its folder regions was moved away");
}

/* The same with the lock: a folder in the place of ours is locked before it is read, and ours is
 * released after that. */
static int read_again(struct tfs_save *save, struct tfs_cosmic_zone *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    struct tfs_error why = {0};
    int lock_fd = -1;
    bool is_parent = false;

    if (check_path(save, own, &why) == 0)
        return read_index(save, own, doc, err);
    if (check_moved(own, err) < 0 || lock_again(save, own, &lock_fd, &is_parent, err) < 0)
        return err->code;
    if (read_index(save, own, doc, err) < 0) {
        close(lock_fd);
        return err->code;
    }
    take_lock(own, lock_fd, is_parent);
    return 0;
}

static int zone_reload(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);
    struct tfs_doc *doc = NULL;

    pthread_mutex_lock(&own->lock);
    int result = read_again(save, own, &doc, err);
    pthread_mutex_unlock(&own->lock);
    if (result < 0) {
        tfs_doc_unref(doc);
        return result;
    }
    tfs_doc_unref(save->doc);
    save->doc = doc;
    check_writable(save, own);
    set_stat(save, own);
    return 0;
}

/* ---- committing ------------------------------------------------------------------------------ */

static int zone_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);
    struct tfs_doc *reached = NULL;

    if (tfs_folder_check_allowed(save, err) < 0 || check_path(save, own, err) < 0)
        return err->code;
    tfs_cosmic_zone_write(save, doc, &reached, err);
    if (reached != NULL) {
        tfs_doc_unref(save->doc);
        save->doc = reached;
        pthread_mutex_lock(&own->lock);
        set_stat(save, own);
        pthread_mutex_unlock(&own->lock);
    }
    return err->code;
}

/* ---- the container --------------------------------------------------------------------------- */

/* Without one it is as if there were an empty one. */
static int zone_rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err)
{
    (void)err;
    *checksum = tfs_checksum(tfs_blob_span(tfs_cosmic_zone_info(save->doc)), 0);
    return 0;
}

static int zone_probe(const struct tfs_probe *probe)
{
    int zone = S_ISDIR(probe->st.st_mode) ? tfs_cosmic_is_zone(probe->path) : 0;

    return zone < 0 ? zone : zone > 0 ? TFS_BID_CERTAIN : TFS_BID_NONE;
}

const struct tfs_container tfs_cosmic_reach_zone = {
    .format = "cosmic_reach",
    .name = "zone",
    .tree = &tfs_cosmic_zone_tree,
    .probe = zone_probe,
    .saves = tfs_cosmic_world_saves,
    .locked_within = "regions",
    .open = zone_open,
    .lacks = zone_lacks,
    .complete = zone_complete,
    .fetch = tfs_cosmic_zone_fetch,
    .journal = &tfs_cosmic_zone_journal,
    .commit = zone_commit,
    .changed = zone_changed,
    .changed_at = zone_changed_at,
    .reload = zone_reload,
    .close = zone_close,
    .rest = zone_rest,
};
