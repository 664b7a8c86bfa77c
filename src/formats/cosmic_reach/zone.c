/*
 * A folder of region files: which names are its files, where chunks are in them, and what a region
 * is that is not there yet. All else is formats/containers/folder.h.
 *
 * Must not know bodies. A zone has its regions in regions/; a folder that people made may have them
 * in itself. Which it is is decided when the save is opened: a region that somebody puts into the
 * other folder meanwhile is none of the save's.
 */
#include "formats/cosmic_reach/zone.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/cosmic_reach/gzip.h"
#include "formats/cosmic_reach/world.h"
#include "formats/containers/several_saves.h"

#define INFO_MAX (1 << 20) /* bytes of worldInfo.json that are looked at */
#define REGIONS  "regions"
#define JOURNAL  "zone"

/* ---- what a new region would be -------------------------------------------------------------- */

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
static int read_world(const char *zone, uint32_t *latest, struct tfs_error *err)
{
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_blob *text = NULL;
    struct tfs_error why = {0};
    char *path = NULL;

    if (tfs_print(&path, "%s/../../../" TFS_COSMIC_WORLD_INFO, zone) < 0)
        return tfs_fail_memory(err);
    if (tfs_file_open(path, false, &file, &why) == 0)
        tfs_file_read(&file, INFO_MAX, &text, &why);
    *latest = find_version(tfs_blob_span(text));
    tfs_file_close(&file);
    tfs_blob_unref(text);
    free(path);
    return why.code == -ENOMEM ? tfs_fail_memory(err) : 0;
}

static int zone_facts(const struct tfs_save *save, struct tfs_blob *common,
                      struct tfs_facts **facts, struct tfs_error *err)
{
    uint32_t latest;

    (void)common;
    if (read_world(save->path, &latest, err) < 0 ||
        tfs_facts_create(sizeof(struct tfs_cosmic_facts), facts, err) < 0)
        return err->code;
    *tfs_cosmic_facts_of(*facts) = (struct tfs_cosmic_facts){
        .version = latest,
        .compression = latest > TFS_COSMIC_VERSION_TABLE_MAX ? (uint32_t)TFS_COSMIC_GZIP
                                                             : (uint32_t)TFS_COSMIC_STORED,
        .offset_type = TFS_COSMIC_OFFSET_S16,
        .zone = true};
    memcpy(tfs_cosmic_facts_of(*facts)->gzip_header, tfs_cosmic_gzip_header,
           TFS_COSMIC_GZIP_HEADER);
    return 0;
}

/* Version and compression are those of the newest region. */
static void zone_complete(struct tfs_facts *facts)
{
    const struct tfs_folder_files *files = &facts->folder->files;
    struct tfs_cosmic_facts *own = tfs_cosmic_facts_of(facts);
    const struct tfs_cosmic_facts *newest = NULL;

    for (size_t i = 0; i < files->count; i++) {
        const struct tfs_cosmic_facts *region = tfs_cosmic_region_facts(files->files[i]);
        if (!files->files[i]->left_out && (newest == NULL || region->version > newest->version))
            newest = region;
    }
    if (newest == NULL)
        return;
    own->version = newest->version;
    own->compression = newest->compression;
}

/* A region that was there when the zone was read, and lost its last chunk since, comes back as it
 * was. */
static int region_blank(struct tfs_save *save, struct tfs_key region, struct tfs_doc **doc,
                        struct tfs_error *err)
{
    const struct tfs_folder_file *once =
        tfs_folder_file_of(save->doc, tfs_cosmic_column_key(region, 0));
    struct tfs_facts *facts = NULL;

    if (tfs_facts_create(sizeof(struct tfs_cosmic_facts), &facts, err) < 0)
        return err->code;
    struct tfs_cosmic_facts *own = tfs_cosmic_facts_of(facts);
    *own = once == NULL || once->left_out ? *tfs_cosmic_facts(save->doc)
                                          : *tfs_cosmic_region_facts(once);
    own->zone = false;
    own->named = true;
    own->region = region;
    tfs_doc_create(facts, doc, err);
    tfs_facts_unref(facts);
    return err->code;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Files lie in the i-th directory: there is one. */
static bool directory_within(const struct tfs_facts *facts, unsigned i, char path[TFS_FOLDER_PATH])
{
    (void)facts;
    strcpy(path, REGIONS);
    return i == 0;
}

static bool directory_flat(const struct tfs_facts *facts, unsigned i, char path[TFS_FOLDER_PATH])
{
    (void)facts;
    *path = '\0';
    return i == 0;
}

static bool key_within(const char *path, struct tfs_key *region)
{
    return strncmp(path, REGIONS "/", sizeof(REGIONS)) == 0 &&
           tfs_cosmic_region_of_name(path + sizeof(REGIONS), region);
}

static void path_within(struct tfs_key region, char path[TFS_FOLDER_PATH])
{
    strcpy(path, REGIONS "/");
    tfs_cosmic_region_name(region, path + sizeof(REGIONS));
}

static void path_flat(struct tfs_key region, char path[TFS_FOLDER_PATH])
{
    tfs_cosmic_region_name(region, path);
}

static struct tfs_key file_of(const struct tfs_facts *facts, struct tfs_key chunk, uint32_t *index)
{
    (void)facts;
    *index = tfs_cosmic_table_slot(chunk);
    return tfs_cosmic_region_of(chunk);
}

static struct tfs_key chunk_of(const struct tfs_facts *facts, struct tfs_key region, uint32_t index)
{
    (void)facts;
    return tfs_cosmic_table_key(region, index);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Where its chunks are is known when it is inflated. */
static int region_look(const struct tfs_facts *facts, const struct tfs_file_handle *handle,
                       struct tfs_folder_file *file, struct tfs_error *why)
{
    uint8_t head[TFS_COSMIC_HEADER_SIZE];
    const ssize_t size = tfs_file_read_at(handle->fd, 0, head, sizeof(head));

    (void)facts;
    if (size < 0)
        return tfs_fail(why, (int)size, "cannot be read: %s", strerror((int)-size));
    file->unread = true;
    return tfs_cosmic_region_look((struct tfs_span){head, (size_t)size}, file->own, why);
}

static void region_learn(const struct tfs_doc *doc, struct tfs_folder_file *file)
{
    memcpy(file->own, tfs_cosmic_facts(doc), sizeof(struct tfs_cosmic_facts));
}

static uint64_t region_order(const struct tfs_doc *doc, struct tfs_key key)
{
    return tfs_cosmic_order_at(doc, key,
                               tfs_cosmic_facts(doc)->version > TFS_COSMIC_VERSION_TABLE_MAX);
}

#define KIND(directory_fn, key_fn, path_fn)                                                        \
    {                                                                                              \
        .file = &tfs_cosmic_reach_region, .common = TFS_COSMIC_ZONE_INFO,                          \
        .own_size = sizeof(struct tfs_cosmic_facts), .facts = zone_facts,                          \
        .complete = zone_complete, .directory = (directory_fn), .key = (key_fn),                   \
        .path = (path_fn), .file_of = file_of, .chunk_of = chunk_of, .look = region_look,          \
        .learn = region_learn, .payload = tfs_cosmic_region_payload, .blank = region_blank,        \
        .order = region_order                                                                      \
    }

static const struct tfs_folder_kind within = KIND(directory_within, key_within, path_within);
static const struct tfs_folder_kind flat =
    KIND(directory_flat, tfs_cosmic_region_of_name, path_flat);

/* ---- which folder ---------------------------------------------------------------------------- */

int tfs_cosmic_holds_regions(const char *folder)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    struct tfs_key region;
    bool found = false;

    if (directory == NULL)
        return -errno;
    while (!found && (entry = readdir(directory)) != NULL)
        found = tfs_cosmic_region_of_name(entry->d_name, &region);
    closedir(directory);
    return found;
}

static int zone_probe(const struct tfs_probe *probe)
{
    int zone = S_ISDIR(probe->st.st_mode) ? tfs_cosmic_is_zone(probe->path) : 0;

    return zone < 0 ? zone : zone > 0 ? TFS_BID_CERTAIN : TFS_BID_NONE;
}

/* The game reads those of regions/ alone, where there is that folder. */
static int flat_probe(const struct tfs_probe *probe)
{
    const int found = S_ISDIR(probe->st.st_mode) ? tfs_cosmic_holds_regions(probe->path) : 0;
    char *regions = NULL;

    if (found <= 0)
        return found == -ENOMEM ? found : TFS_BID_NONE;
    if (tfs_print(&regions, "%s/" REGIONS, probe->path) < 0)
        return -ENOMEM;
    const bool zone = access(regions, F_OK) == 0;
    free(regions);
    return zone ? TFS_BID_NONE : TFS_BID_CERTAIN + 1;
}

static int find_zone_around(const char *path, char **zone, struct tfs_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    struct tfs_key region;
    size_t size = strlen(path);

    if (slash != NULL && tfs_cosmic_region_of_name(name, &region))
        size = (size_t)(slash - path);
    const size_t ending = sizeof("/" REGIONS) - 1;
    if (size <= ending || strncmp(path + size - ending, "/" REGIONS, ending) != 0)
        return 0;
    *zone = strndup(path, size - ending);
    return *zone == NULL ? tfs_fail_memory(err) : 0;
}

/* A region, and the folder that it is in, mean the zone around that. */
static int zone_saves(const char *path, struct tfs_parts *parts, struct tfs_error *err)
{
    char *zone = NULL;

    if (find_zone_around(path, &zone, err) < 0)
        return err->code;
    return zone != NULL ? tfs_parts_add(parts, strdup(""), zone, err)
                        : tfs_cosmic_world_saves(path, parts, err);
}

/* ---- the containers -------------------------------------------------------------------------- */

static const struct tfs_journal_files zone_journal = {
    .name = JOURNAL, .earlier = REGIONS "/" JOURNAL, TFS_FOLDER_JOURNAL};
static const struct tfs_journal_files flat_journal = {.name = JOURNAL, TFS_FOLDER_JOURNAL};

/* Without one it is as if there were an empty one. */
static int zone_rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err)
{
    (void)err;
    *checksum = tfs_checksum(tfs_blob_span(tfs_cosmic_zone_info(save->doc)), 0);
    return 0;
}

const struct tfs_container tfs_cosmic_reach_zone = {
    .format = "cosmic_reach",
    .name = "zone",
    .tree = &tfs_cosmic_zone_tree,
    .probe = zone_probe,
    .saves = zone_saves,
    TFS_FOLDER_FUNCTIONS(tfs_folder_open, tfs_folder_close),
    .journal = &zone_journal,
    .files = &within,
    .rest = zone_rest,
};

const struct tfs_container tfs_cosmic_reach_flat_zone = {
    .format = "cosmic_reach",
    .name = "zone",
    .tree = &tfs_cosmic_zone_tree,
    .probe = flat_probe,
    TFS_FOLDER_FUNCTIONS(tfs_folder_open, tfs_folder_close),
    .journal = &flat_journal,
    .files = &flat,
    .rest = zone_rest,
};
