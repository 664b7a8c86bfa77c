/*
 * The path of a folder -> the level that is meant, and its one terrain or its terrains.
 *
 * Meant is the level that the folder is, the one that it lies in, or the only one of an unpacked
 * mod, which has it in `levels/`. A level with one live terrain is that terrain's file; one with
 * several is a folder of saves, `terrains/NAME`.
 */
#include "formats/beamng/level_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/print.h"
#include "formats/advice.h"
#include "formats/beamng/level.h"
#include "formats/beamng/ter.h"

#define LEVELS      "levels"
#define TERRAIN     ".ter" /* behind the name of a file */
#define MISSION     ".mis"
#define OLD_OBJECTS "main.level.json"

/* ---- which level ----------------------------------------------------------------------------- */

static int is_level(const char *path)
{
    return tfs_beamng_is_level(path);
}

/* Those in `levels/` of an unpacked mod. */
static int find_levels(const char *folder, struct tfs_first *first)
{
    char *levels = NULL;
    const int result = tfs_print(&levels, "%s/" LEVELS, folder) < 0
                           ? -ENOMEM
                           : tfs_first_find(levels, S_IFDIR, is_level, first);

    free(levels);
    return result;
}

/* The only one of them. */
static int find_in_mod(const char *folder, char **level)
{
    struct tfs_first first = {0};
    int result = find_levels(folder, &first);

    *level = NULL;
    if (first.count == 1 && tfs_print(level, "%s/" LEVELS "/%s", folder, first.name) < 0)
        result = -ENOMEM;
    free(first.name);
    return result;
}

/* The level that is meant by a folder, links resolved; *level NULL: none. */
static int find_level(const char *folder, char **level)
{
    *level = NULL;
    if (tfs_beamng_is_level(folder))
        return (*level = strdup(folder)) == NULL ? -ENOMEM : 0;
    int result = find_in_mod(folder, level);
    return result == 0 && *level == NULL ? tfs_beamng_level_around(folder, level) : result;
}

/* A user that names a folder in a level may mean something else that is in it. */
int tfs_beamng_level_probe(const struct tfs_probe *probe)
{
    char *level = NULL;

    if (!S_ISDIR(probe->st.st_mode))
        return TFS_BID_NONE;
    if (find_level(probe->path, &level) < 0)
        return -ENOMEM;
    const bool found = level != NULL, itself = found && strcmp(level, probe->path) == 0;
    free(level);
    if (!found)
        return TFS_BID_NONE;
    return itself ? TFS_BID_CERTAIN : TFS_BID_LOW;
}

/* ---- its terrains ---------------------------------------------------------------------------- */

static int fail_level(const struct tfs_beamng_level *level, struct tfs_error *err)
{
    if (level->count > 1)
        return tfs_fail(err, -EINVAL,
                        "is a level of several terrains; one of them is wanted here, such as %s",
                        level->live[0].path);
    if (level->why != NULL)
        return tfs_fail(err, -EBADMSG, "is a level without a terrain that can be shown: %s",
                        level->why);
    if (level->unread > 0)
        return tfs_fail(err, -EBADMSG,
                        "is a level whose TerrainBlock cannot be read: a line of its "
                        "items.level.json is not one JSON object; give its .ter file");
    return tfs_fail(err, -EBADMSG, "is a level without a terrain: it has no TerrainBlock");
}

int tfs_beamng_level_locate(const char *path, char **located, struct tfs_error *err)
{
    struct tfs_beamng_level level = {0};
    char *folder = NULL;

    if (find_level(path, &folder) < 0)
        return tfs_fail_memory(err);
    if (folder == NULL)
        return tfs_fail(err, -EBADMSG, "is not the folder of a level");
    if (tfs_beamng_level_read(folder, &level) < 0) {
        tfs_fail_memory(err);
    } else if (level.count != 1) {
        fail_level(&level, err);
    } else {
        *located = level.live[0].path;
        level.live[0].path = NULL;
    }
    tfs_beamng_level_release(&level);
    free(folder);
    return err->code;
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

int tfs_beamng_level_parts(const char *folder, struct tfs_parts *parts, struct tfs_error *err)
{
    struct tfs_beamng_level level = {0};
    char *real = realpath(folder, NULL), *found = NULL;

    if (real == NULL)
        return errno == ENOMEM ? tfs_fail_memory(err) : 0;
    if (find_level(real, &found) < 0 || (found != NULL && tfs_beamng_level_read(found, &level) < 0))
        tfs_fail_memory(err);
    for (size_t i = 0; level.count > 1 && i < level.count && err->code == 0; i++)
        tfs_parts_add(parts, name_part(parts, level.live[i].path), strdup(level.live[i].path), err);
    tfs_beamng_level_release(&level);
    free(found);
    free(real);
    return err->code;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static int has_levels(const char *folder)
{
    struct tfs_first first = {0};
    const int result = find_levels(folder, &first);

    free(first.name);
    return result < 0 ? result : first.count > 0;
}

static int is_terrain(const char *path)
{
    return tfs_beamng_is_terrain(path);
}

/* What older levels, and Torque3D's, keep their objects in. */
static int is_mission(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    const size_t length = strlen(name), ending = strlen(MISSION);

    return strcasecmp(name, OLD_OBJECTS) == 0 ||
           (length > ending && strcasecmp(name + length - ending, MISSION) == 0);
}

/* Of a level whose objects are not read. */
static int advise_old(const char *folder, struct tfs_error *err)
{
    struct tfs_first mission = {0}, terrain = {0};

    if (tfs_first_find(folder, S_IFREG, is_mission, &mission) < 0 ||
        tfs_first_find(folder, S_IFREG, is_terrain, &terrain) < 0)
        tfs_fail_memory(err);
    else if (mission.name != NULL && terrain.name != NULL)
        tfs_fail(err, -EINVAL,
                 "is a level that has its objects in %s, as older ones have; they are not read: "
                 "give its terrain itself, such as its %s",
                 mission.name, terrain.name);
    else if (mission.name != NULL)
        tfs_fail(err, -EINVAL,
                 "is a level that has its objects in %s, as older ones have; they are not read, "
                 "and it has no .ter beside that: give its terrain itself",
                 mission.name);
    free(mission.name);
    free(terrain.name);
    return err->code;
}

int tfs_beamng_level_hint(const struct tfs_probe *probe, struct tfs_error *err)
{
    char *levels = NULL;

    if (tfs_print(&levels, "%s/" LEVELS, probe->path) < 0)
        return tfs_fail_memory(err);
    tfs_advise(probe->path, S_IFDIR, is_level, "holds levels: give one of them, such as its %s",
               err);
    tfs_advise(levels, S_IFDIR, is_level, "holds levels: give one of them, such as its levels/%s",
               err);
    tfs_advise(probe->path, S_IFDIR, has_levels,
               "holds mods with levels: give one of them, such as its %s", err);
    if (err->code == 0)
        advise_old(probe->path, err);
    tfs_advise(probe->path, S_IFREG, is_terrain, "holds terrains: give one of them, such as its %s",
               err);
    free(levels);
    return err->code;
}
