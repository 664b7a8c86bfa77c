/*
 * The path of a folder -> its one terrain or its terrains, where a level is meant.
 *
 * Meant is the level that the folder is, the one that it lies in, or the only one of an unpacked
 * mod, which has it in `levels/`. A level with one live terrain is that terrain's file; one with
 * several is a folder of saves, `terrains/NAME`.
 */
#include "formats/beamng/level_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/print.h"
#include "formats/beamng/level.h"
#include "formats/beamng/ter.h"

#define LEVELS  "levels"
#define TERRAIN ".ter"

/* ---- which level ----------------------------------------------------------------------------- */

/* The only level in `levels/` of an unpacked mod; *level NULL: there is none, or there are more. */
static int find_in_mod(const char *folder, char **level)
{
    char *levels = NULL, *path = NULL;
    size_t count = 0;

    if (tfs_print(&levels, "%s/" LEVELS, folder) < 0)
        return -ENOMEM;
    DIR *directory = opendir(levels);
    struct dirent *entry;
    int result = 0;
    while (directory != NULL && result == 0 && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        result = tfs_print(&path, "%s/%s", levels, entry->d_name) < 0 ? -ENOMEM : 0;
        if (result == 0 && tfs_beamng_is_level(path) && ++count == 1) {
            *level = path;
            path = NULL;
        }
        free(path);
        path = NULL;
    }
    if (directory != NULL)
        closedir(directory);
    free(levels);
    if (result == 0 && count == 1)
        return 0;
    free(*level);
    *level = NULL;
    return result;
}

/* The level that is meant by a folder, links resolved; *level NULL: none. */
static int find_level(const char *folder, char **level)
{
    *level = NULL;
    if (tfs_beamng_is_level(folder))
        return (*level = strdup(folder)) == NULL ? -ENOMEM : 0;
    const int result = find_in_mod(folder, level);
    return result == 0 && *level == NULL ? tfs_beamng_level_around(folder, level) : result;
}

/* ---- its terrains ---------------------------------------------------------------------------- */

static int fail_level(const struct tfs_beamng_level *level, struct tfs_error *err)
{
    if (level->why != NULL)
        return tfs_fail(err, -EBADMSG, "is a level without a terrain that can be shown: %s",
                        level->why);
    if (level->unread > 0)
        return tfs_fail(err, -EBADMSG,
                        "is a level whose TerrainBlock cannot be read: a line of its "
                        "items.level.json is not one JSON object; give its .ter file");
    return tfs_fail(err, -EBADMSG, "is a level without a terrain: it has no TerrainBlock");
}

static bool is_taken(const struct tfs_parts *parts, const char *path)
{
    for (size_t i = 0; i < parts->count; i++)
        if (strcasecmp(parts->items[i].path, path) == 0)
            return true;
    return false;
}

/* `terrains/NAME` of NAME.ter; of several of one name the others have a number. */
static char *name_part(const struct tfs_parts *parts, const char *terrain)
{
    const char *name = strrchr(terrain, '/') + 1;
    const int length = (int)(strlen(name) - strlen(TERRAIN));
    char *path = NULL;

    if (tfs_print(&path, "terrains/%.*s", length, name) < 0)
        return NULL;
    for (unsigned i = 2; is_taken(parts, path); i++) {
        free(path);
        if (tfs_print(&path, "terrains/%.*s-%u", length, name, i) < 0)
            return NULL;
    }
    return path;
}

int tfs_beamng_level_saves(const char *path, struct tfs_parts *parts, struct tfs_error *err)
{
    struct tfs_beamng_level level = {0};
    char *real, *found = NULL;
    struct stat st;

    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    real = realpath(path, NULL);
    if (real == NULL)
        return errno == ENOMEM ? tfs_fail_memory(err) : 0;
    if (find_level(real, &found) < 0 || (found != NULL && tfs_beamng_level_read(found, &level) < 0))
        tfs_fail_memory(err);
    else if (found != NULL && level.count == 0)
        fail_level(&level, err);
    for (size_t i = 0; i < level.count && err->code == 0; i++)
        tfs_parts_add(parts, level.count == 1 ? strdup("") : name_part(parts, level.live[i].path),
                      strdup(level.live[i].path), err);
    tfs_beamng_level_release(&level);
    free(found);
    free(real);
    return err->code;
}
