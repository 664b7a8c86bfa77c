/*
 * A world's folder -> its zones, and what to say about folders around zones and worlds
 * (FORMAT.md, section 7).
 *
 * Must not know regions. Links are not followed: they lead out of the world.
 */
#include "formats/cosmic_reach/world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/advice.h"
#include "formats/cosmic_reach/zone.h"

/* ---- looking at folders ---------------------------------------------------------------------- */

/* Calls `each` for the directories in a folder until it answers other than 0, which is returned. A
 * folder that cannot be read has none. */
static int each_directory(const char *folder,
                          int (*each)(void *arg, const char *path, const char *name), void *arg)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    struct stat st;
    int result = 0;

    while (directory != NULL && result == 0 && (entry = readdir(directory)) != NULL) {
        char *path = NULL;
        if (entry->d_name[0] == '.')
            continue;
        if (tfs_print(&path, "%s/%s", folder, entry->d_name) < 0) {
            result = -ENOMEM;
            break;
        }
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            result = each(arg, path, entry->d_name);
        free(path);
    }
    if (directory != NULL)
        closedir(directory);
    return result;
}

static int has_file(const char *folder, const char *name)
{
    char *path = NULL;

    if (tfs_print(&path, "%s/%s", folder, name) < 0)
        return -ENOMEM;
    int there = access(path, F_OK) == 0;
    free(path);
    return there;
}

int tfs_cosmic_is_zone(const char *folder)
{
    char *path = NULL;
    int status = tfs_cosmic_holds_regions(folder, NULL);

    if (status > 0)
        return 1;
    if (tfs_print(&path, "%s/regions", folder) < 0)
        return -ENOMEM;
    status = tfs_cosmic_holds_regions(path, NULL);
    free(path);
    return status > 0 ? 1 : has_file(folder, TFS_COSMIC_ZONE_INFO);
}

/* ---- the zones of a world -------------------------------------------------------------------- */

struct listing {
    struct tfs_parts *parts;
    const char *space; /* the namespace */
    struct tfs_error *err;
};

static int add_zone(void *arg, const char *path, const char *name)
{
    struct listing *l = arg;
    char *part = NULL;
    const int zone = tfs_cosmic_is_zone(path);

    if (zone <= 0)
        return zone < 0 ? tfs_fail_memory(l->err) : 0;
    if (tfs_print(&part, "zones/%s/%s", l->space, name) < 0)
        return tfs_fail_memory(l->err);
    return tfs_parts_add(l->parts, part, strdup(path), l->err);
}

static int add_space(void *arg, const char *path, const char *name)
{
    struct listing *l = arg;

    l->space = name;
    return each_directory(path, add_zone, l);
}

int tfs_cosmic_world_parts(const char *folder, struct tfs_parts *parts, struct tfs_error *err)
{
    struct listing l = {.parts = parts, .err = err};
    char *zones = NULL;
    int zone = tfs_cosmic_is_zone(folder);

    if (zone != 0)
        return zone < 0 ? tfs_fail_memory(err) : 0;
    if (tfs_print(&zones, "%s/zones", folder) < 0)
        return tfs_fail_memory(err);
    if (each_directory(zones, add_space, &l) < 0 && err->code == 0)
        tfs_fail_memory(err);
    free(zones);
    if (err->code < 0)
        return err->code;
    int info = has_file(folder, TFS_COSMIC_WORLD_INFO);
    parts->file = info == 1 ? TFS_COSMIC_WORLD_INFO : NULL;
    return info < 0 ? tfs_fail_memory(err) : 0;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static int is_world(const char *folder)
{
    struct tfs_parts parts = {0};
    struct tfs_error ignored = {0};
    int status = tfs_cosmic_world_parts(folder, &parts, &ignored);
    bool world = status == 0 && parts.count > 0;

    tfs_parts_release(&parts);
    return status < 0 ? status : world;
}

static int has_zones(const char *folder)
{
    struct tfs_first zone;
    int status = tfs_first_find(folder, S_IFDIR, tfs_cosmic_is_zone, &zone);

    free(zone.name);
    return status < 0 ? status : zone.count > 0;
}

int tfs_cosmic_world_hint(const struct tfs_probe *probe, struct tfs_error *err)
{
    struct tfs_parts parts = {0};

    if (tfs_cosmic_world_parts(probe->path, &parts, err) == 0 && parts.count > 0)
        tfs_fail(err, -EINVAL,
                 "is a world of several saves; one of them is wanted here, such as its %s",
                 parts.items[0].path);
    tfs_parts_release(&parts);
    tfs_advise(probe->path, S_IFDIR, is_world, "holds worlds: give one of them, such as its %s",
               err);
    tfs_advise(probe->path, S_IFDIR, tfs_cosmic_is_zone,
               "holds zones of a world: give the world, or one zone, such as its %s", err);
    return tfs_advise(probe->path, S_IFDIR, has_zones,
                      "holds zones of a world: give the world, or one zone in its %s", err);
}
