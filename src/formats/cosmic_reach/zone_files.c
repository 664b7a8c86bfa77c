/*
 * The files of a zone -> which chunks lie where in them.
 *
 * Must not know documents of the zone, nor how bytes are fetched. Of the files of the folder only
 * the first bytes are looked at (zone_read.c reads them): what stays is a record of each.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"

#include "formats/cosmic_reach/zone.h"

#define INFO_MAX (1 << 20) /* bytes of a .json file that is looked at */

/* ---- looking at a region --------------------------------------------------------------------- */

struct scan {
    struct tfs_save *save;
    const struct tfs_cosmic_zone_index *before; /* NULL: nothing is known */
    bool strays;
    struct tfs_cosmic_zone_index *index;
};

/* What somebody has seen is read again when it changed, and so is what comes to a zone of which all
 * is known. */
static bool must_read(const struct scan *scan, const struct tfs_folder_file *known)
{
    if (known != NULL)
        return !((const struct tfs_cosmic_region_file *)known)->unread;
    for (size_t i = 0; scan->before != NULL && i < scan->before->files.count; i++)
        if (((const struct tfs_cosmic_region_file *)scan->before->files.files[i])->unread)
            return false;
    return scan->before != NULL;
}

static int read_region(const struct scan *scan, struct tfs_key region, struct tfs_error *err)
{
    char *path = tfs_cosmic_zone_path(scan->index, region);
    struct tfs_folder_file *known =
        scan->before == NULL ? NULL : tfs_folder_find(&scan->before->files, region);
    struct tfs_cosmic_region_file *file = NULL;
    struct stat st;

    if (path == NULL)
        return tfs_fail_memory(err);
    tfs_folder_look(path, &st);
    if (known != NULL && tfs_file_same(&known->st, &st))
        file = tfs_cosmic_region_file_ref((struct tfs_cosmic_region_file *)known);
    else if (st.st_ino != 0)
        tfs_cosmic_region_file_open(scan->save, region, path, &st, must_read(scan, known), &file,
                                    err);
    free(path);
    if (err->code < 0 || file == NULL || tfs_folder_add(&scan->index->files, &file->file, err) == 0)
        return err->code;
    tfs_cosmic_region_file_unref(file);
    return err->code;
}

/* ---- the folder ------------------------------------------------------------------------------ */

char *tfs_cosmic_zone_path(const struct tfs_cosmic_zone_index *index, struct tfs_key region)
{
    char name[TFS_COSMIC_REGION_NAME];
    char *path = NULL;

    tfs_cosmic_region_name(region, name);
    return tfs_print(&path, "%s/%s", index->regions.path, name) < 0 ? NULL : path;
}

int tfs_cosmic_holds_regions(const char *folder, struct tfs_key *lowest)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    struct tfs_key region;
    bool found = false;

    if (directory == NULL)
        return -errno;
    while ((!found || lowest != NULL) && (entry = readdir(directory)) != NULL) {
        if (!tfs_cosmic_region_of_name(entry->d_name, &region))
            continue;
        if (lowest != NULL && (!found || tfs_key_compare(region, *lowest) < 0))
            *lowest = region;
        found = true;
    }
    closedir(directory);
    return found;
}

/* Without memory or descriptors nothing is known of a folder, which is not to be taken for another
 * kind of folder. */
static bool is_passing(int code)
{
    return code == -ENOMEM || code == -EMFILE || code == -ENFILE;
}

/* Are there regions in this folder, or edits of regions that wait in its journal: 1, 0 or negative
 * errno? One that may not be read may have some. */
static int is_in_use(const char *regions)
{
    const int found = tfs_cosmic_holds_regions(regions, NULL);
    char name[TFS_JOURNAL_NAME];

    if (found == -ENOENT || found == -ENOTDIR)
        return 0;
    if (found != 0)
        return is_passing(found) ? found : 1;
    const int fd = open(regions, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    tfs_journal_name(TFS_COSMIC_ZONE_JOURNAL, name);
    const bool waits = faccessat(fd, name, F_OK, 0) == 0;
    close(fd);
    return waits;
}

char *tfs_cosmic_zone_regions(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *within = NULL;

    if (slash != NULL && strcmp(slash, "/regions") == 0)
        return strdup(path);
    if (tfs_print(&within, "%s/regions", path) < 0)
        return NULL;
    const int held = tfs_cosmic_holds_regions(path, NULL);
    const int used = held > 0 ? is_in_use(within) : 1;
    if (used > 0 && !is_passing(held))
        return within;
    free(within);
    return used == 0 ? strdup(path) : NULL;
}

static int note_journal(const struct scan *scan, int directory, const char *name,
                        struct tfs_error *err)
{
    char file[TFS_JOURNAL_NAME];
    struct tfs_key region;

    if (scan->index->alone != NULL || !tfs_folder_has_journal(directory, name, file) ||
        !tfs_cosmic_region_of_name(file, &region))
        return 0;
    scan->index->alone = strdup(file);
    return scan->index->alone == NULL ? tfs_fail_memory(err) : 0;
}

static int read_regions(const struct scan *scan, struct tfs_error *err)
{
    const char *path = scan->index->regions.path;
    int fd = tfs_directory_open(path);
    struct dirent *entry;
    struct tfs_key region;

    if (fd == -ENOENT)
        return 0;
    if (fd == -ELOOP)
        return tfs_fail(err, fd, "its folder of regions is a link, and links lead out of the save");
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL) {
        if (fd >= 0)
            close(fd);
        return fd < 0 ? tfs_fail(err, fd, "its folder of regions cannot be read: %s", strerror(-fd))
                      : tfs_fail_memory(err);
    }
    while (err->code == 0 && (errno = 0, entry = readdir(directory)) != NULL) {
        if ((scan->strays && tfs_folder_remove_stray(path, entry->d_name, err) < 0) ||
            note_journal(scan, fd, entry->d_name, err) < 0)
            break;
        if (tfs_cosmic_region_of_name(entry->d_name, &region))
            read_region(scan, region, err);
    }
    if (err->code == 0 && errno != 0)
        tfs_fail_errno(err, "its folder of regions cannot be read");
    closedir(directory);
    return err->code;
}

/* ---- what stands beside the regions ---------------------------------------------------------- */

/* The text of a .json file; NULL without one that can be read. */
static int read_text(const char *path, struct stat *st, struct tfs_blob **text,
                     struct tfs_error *err)
{
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_error why = {0};

    tfs_folder_look(path, st);
    if (!S_ISREG(st->st_mode))
        return 0;
    if (tfs_file_open(path, false, &file, &why) == 0 &&
        tfs_file_read(&file, INFO_MAX, text, &why) == 0)
        *st = file.st;
    tfs_file_close(&file);
    return why.code == -ENOMEM ? tfs_fail_memory(err) : 0;
}

/* The number behind `"latestRegionFileVersion":`. */
static uint32_t find_version(struct tfs_span text)
{
    static const char key[] = "\"latestRegionFileVersion\"";
    const uint8_t *at = text.size == 0 ? NULL : memmem(text.data, text.size, key, sizeof(key) - 1);
    uint32_t version = 0;
    bool digit = false;

    if (at == NULL)
        return TFS_COSMIC_VERSION_MAX;
    const uint8_t *end = text.data + text.size;
    for (at += sizeof(key) - 1; at < end && memchr(": \t\r\n", *at, 5) != NULL; at++)
        continue;
    for (; at < end && *at >= '0' && *at <= '9' && version <= TFS_COSMIC_VERSION_MAX; at++) {
        version = version * 10 + (uint32_t)(*at - '0');
        digit = true;
    }
    return digit && version <= TFS_COSMIC_VERSION_MAX ? version : TFS_COSMIC_VERSION_MAX;
}

/* worldInfo.json of the world around the zone: zones/NS/ZONE lies three floors below. */
static int read_world(struct tfs_cosmic_zone_index *index, const char *zone, struct tfs_error *err)
{
    struct tfs_blob *text = NULL;
    struct stat st;
    char *path = NULL;

    if (tfs_print(&path, "%s/../../../" TFS_COSMIC_WORLD_INFO, zone) < 0)
        return tfs_fail_memory(err);
    if (read_text(path, &st, &text, err) == 0)
        index->latest_version = find_version(tfs_blob_span(text));
    tfs_blob_unref(text);
    free(path);
    return err->code;
}

/* Sets the paths, by that of the folder of regions. */
static int find_paths(const char *regions, struct tfs_cosmic_zone_index *index, char **zone,
                      struct tfs_error *err)
{
    *zone = tfs_file_directory(regions);
    index->regions.path = strdup(regions);
    if (*zone == NULL || index->regions.path == NULL)
        return tfs_fail_memory(err);
    if (strcmp(strrchr(regions, '/'), "/regions") != 0)
        return 0;
    if (tfs_print(&index->info_path, "%s/" TFS_COSMIC_ZONE_INFO, *zone) < 0) {
        index->info_path = NULL;
        return tfs_fail_memory(err);
    }
    return 0;
}

int tfs_cosmic_zone_index_read(struct tfs_save *save, const struct tfs_cosmic_zone_index *before,
                               bool strays, struct tfs_cosmic_zone_index *index,
                               struct tfs_error *err)
{
    struct tfs_cosmic_zone_index read = {.latest_version = TFS_COSMIC_VERSION_MAX};
    const struct scan scan = {save, before, strays, &read};
    char *zone = NULL;

    /* The folder is looked at first: what comes while we read is a change then. */
    if (find_paths(tfs_cosmic_zone_of(save)->regions, &read, &zone, err) == 0) {
        tfs_folder_look(read.regions.path, &read.regions.st);
        if (read.info_path != NULL)
            read_text(read.info_path, &read.info_st, &read.info, err);
        if (err->code == 0 && read_world(&read, zone, err) == 0)
            read_regions(&scan, err);
    }
    free(zone);
    if (err->code < 0)
        tfs_cosmic_zone_index_release(&read);
    else
        *index = read;
    return err->code;
}

void tfs_cosmic_zone_index_release(struct tfs_cosmic_zone_index *index)
{
    tfs_cosmic_zone_files_release(&index->files);
    free(index->regions.path);
    free(index->info_path);
    free(index->alone);
    tfs_blob_unref(index->info);
    *index = (struct tfs_cosmic_zone_index){0};
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool is_unknown(const void *arg, const char *name)
{
    const struct tfs_cosmic_zone_index *index = arg;
    struct tfs_key region;

    return tfs_cosmic_region_of_name(name, &region) &&
           tfs_folder_find(&index->files, region) == NULL;
}

void tfs_cosmic_zone_index_watch(struct tfs_cosmic_zone_index *index)
{
    tfs_folder_watch_again(&index->regions, is_unknown, index);
}

bool tfs_cosmic_zone_region_is_other(const struct tfs_cosmic_zone_index *index,
                                     struct tfs_key region)
{
    static const struct stat absent;
    const struct tfs_folder_file *known = tfs_folder_find(&index->files, region);
    char *path = tfs_cosmic_zone_path(index, region);
    bool other = path == NULL || tfs_folder_is_other(path, known != NULL ? &known->st : &absent);

    free(path);
    return other;
}

static bool folder_changed(struct tfs_cosmic_zone_index *index)
{
    if (index->regions.unseen)
        tfs_cosmic_zone_index_watch(index);
    if (!index->regions.unseen && tfs_folder_is_other(index->regions.path, &index->regions.st))
        return true;
    return index->info_path != NULL && tfs_folder_is_other(index->info_path, &index->info_st);
}

/* There may be thousands: the path to them is not gone each time. */
static bool is_other_in(int directory, const struct tfs_folder_file *file)
{
    char name[TFS_COSMIC_REGION_NAME];
    struct stat now;

    tfs_cosmic_region_name(file->key, name);
    if (fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        now = (struct stat){0};
    return !tfs_file_same(&file->st, &now);
}

bool tfs_cosmic_zone_index_changed(struct tfs_cosmic_zone_index *index)
{
    const int directory = tfs_directory_open(index->regions.path);
    bool changed = folder_changed(index);

    for (size_t i = 0; i < index->files.count && !changed; i++)
        changed = is_other_in(directory, index->files.files[i]);
    if (directory >= 0)
        close(directory);
    return changed;
}
