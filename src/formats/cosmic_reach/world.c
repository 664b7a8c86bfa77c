/*
 * A world's folder -> its zones (FORMAT.md, section 7).
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
#include "formats/cosmic_reach/zone.h"

/* ---- looking at folders ---------------------------------------------------------------------- */

static int has_file(const char *folder, const char *name)
{
    char *path = NULL;

    if (tfs_print(&path, "%s/%s", folder, name) < 0)
        return -ENOMEM;
    int there = access(path, F_OK) == 0;
    free(path);
    return there;
}

/* 1, 0, or why nobody can know: negative errno. */
static int look_at_zone(const char *folder)
{
    char *path = NULL;
    const int beside = tfs_cosmic_holds_regions(folder);

    if (beside > 0)
        return 1;
    if (tfs_print(&path, "%s/regions", folder) < 0)
        return -ENOMEM;
    const int within = tfs_cosmic_holds_regions(path);
    free(path);
    const int info = within > 0 ? 1 : has_file(folder, TFS_COSMIC_ZONE_INFO);
    if (info != 0)
        return info;
    return beside < 0 ? beside : within < 0 && within != -ENOENT && within != -ENOTDIR ? within : 0;
}

int tfs_cosmic_is_zone(const char *folder)
{
    const int zone = look_at_zone(folder);

    return zone < 0 && zone != -ENOMEM ? 0 : zone;
}

/* ---- the zones of a world -------------------------------------------------------------------- */

struct listing {
    const char *folder; /* the world */
    const char *zones;  /* the directory in it */
    struct tfs_parts *parts;
    const char *space; /* the namespace */
    struct tfs_error *err;
};

typedef int (*entry_fn)(struct listing *l, const char *path, const char *name);

/* Is left out, by all commands and mounts; the first is named. */
static int leave_out(const struct listing *l, const char *path, const char *why, const char *which)
{
    if (l->parts->left_out != NULL)
        return 0;
    return tfs_print(&l->parts->left_out, "its %s is left out: %s%s", path + strlen(l->folder) + 1,
                     why, which) < 0
               ? tfs_fail_memory(l->err)
               : 0;
}

static int leave_out_link(const struct listing *l, const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    return leave_out(l, path, "it is a link, and links lead out of the world", "");
}

/* What is there and cannot be looked at is not taken for absent; nor does it keep the others away,
 * unless it is this process that lacks something, or all of them that are meant. */
static int fail_look(const struct listing *l, const char *path, int code)
{
    if (code == -ENOMEM)
        return tfs_fail_memory(l->err);
    if (l->zones != path && code != -EMFILE && code != -ENFILE)
        return leave_out(l, path, "it cannot be looked at: ", strerror(-code));
    return tfs_fail(l->err, code, "its %s cannot be looked at: %s", path + strlen(l->folder) + 1,
                    strerror(-code));
}

static int look_at(struct listing *l, const char *path, const char *name, entry_fn each)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : fail_look(l, path, -errno);
    if (S_ISLNK(st.st_mode))
        return leave_out_link(l, path);
    return S_ISDIR(st.st_mode) ? each(l, path, name) : 0;
}

/* Calls `each` for the directories in a folder until it answers other than 0, which is returned. */
static int each_directory(struct listing *l, const char *folder, entry_fn each)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    int result = 0;

    if (directory == NULL)
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail_look(l, folder, -errno);
    for (errno = 0; result == 0 && (entry = readdir(directory)) != NULL; errno = 0) {
        char *path = NULL;
        if (entry->d_name[0] == '.')
            continue;
        result = tfs_print(&path, "%s/%s", folder, entry->d_name) < 0
                     ? tfs_fail_memory(l->err)
                     : look_at(l, path, entry->d_name, each);
        free(path);
    }
    if (result == 0 && errno != 0)
        result = fail_look(l, folder, -errno);
    closedir(directory);
    return result;
}

static int add_zone(struct listing *l, const char *path, const char *name)
{
    char *part = NULL;
    const int zone = look_at_zone(path);

    if (zone <= 0)
        return zone == 0 || zone == -ENOENT ? 0 : fail_look(l, path, zone);
    if (tfs_print(&part, "zones/%s/%s", l->space, name) < 0)
        return tfs_fail_memory(l->err);
    return tfs_parts_add(l->parts, part, strdup(path), l->err);
}

static int add_space(struct listing *l, const char *path, const char *name)
{
    l->space = name;
    return each_directory(l, path, add_zone);
}

int tfs_cosmic_world_saves(const char *folder, struct tfs_parts *parts, struct tfs_error *err)
{
    struct listing l = {.folder = folder, .parts = parts, .err = err};
    char *zones = NULL;
    int zone = tfs_cosmic_is_zone(folder);

    if (zone != 0)
        return zone < 0 ? tfs_fail_memory(err) : 0;
    if (tfs_print(&zones, "%s/zones", folder) < 0)
        return tfs_fail_memory(err);
    /* Of a folder that nobody may look into, other functions say that. */
    l.zones = zones;
    if (access(zones, F_OK) == 0)
        each_directory(&l, zones, add_space);
    free(zones);
    if (err->code < 0)
        return err->code;
    int info = has_file(folder, TFS_COSMIC_WORLD_INFO);
    parts->file = info == 1 ? TFS_COSMIC_WORLD_INFO : NULL;
    return info < 0 ? tfs_fail_memory(err) : 0;
}
