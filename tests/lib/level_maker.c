/*
 * A seed -> the folder of a level.
 */
#include "level_maker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "maker_options.h"

#define GROUP "/main/MissionGroup"

/* Makes a directory and those above it. */
static int make_directories(const char *directory, const char *below)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s%s/", directory, below);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST) {
            perror(path);
            return 3;
        }
        *slash = '/';
    }
    return 0;
}

static int write_at(const char *directory, const char *below, struct maker_bytes *bytes)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s%s", directory, below);
    return maker_write_file(path, bytes);
}

static int write_text(const char *directory, const char *below, const char *text)
{
    struct maker_bytes bytes = {0};

    maker_add(&bytes, text, strlen(text));
    return write_at(directory, below, &bytes);
}

static void name_terrain(unsigned i, char name[32])
{
    snprintf(name, 32, i == 0 ? "theTerrain" : "theTerrain%u", i + 1);
}

static int write_terrain(const char *directory, const struct level_world *level, unsigned i)
{
    struct ter_world world = level->terrain;
    struct maker_bytes bytes = {0};
    char name[32], path[64];

    world.seed += i;
    name_terrain(i, name);
    snprintf(path, sizeof(path), "/%s.ter", name);
    ter_make(&bytes, &world);
    return write_at(directory, path, &bytes);
}

/* What the game has of a level beside terrains, and a TerrainBlock for each of these. */
static int write_blocks(const char *directory, const struct level_world *level)
{
    const char *slash = strrchr(directory, '/');
    struct maker_bytes bytes = {0};
    char line[1024], name[32];

    snprintf(line, sizeof(line),
             "{\"class\":\"LevelInfo\",\"name\":\"theLevelInfo\",\"gravity\":-9.81}\n");
    maker_add(&bytes, line, strlen(line));
    for (unsigned i = 0; i < level->terrains; i++) {
        name_terrain(i, name);
        snprintf(line, sizeof(line),
                 "{\"name\":\"%s\",\"class\":\"TerrainBlock\",\"persistentId\":\"%08x\","
                 "\"__parent\":\"Level_object\",\"position\":[-%u,-%u,-10.5],\"baseTexSize\":1024,"
                 "\"squareSize\":2,\"maxHeight\":500,\"materialTextureSet\":\"\","
                 "\"terrainFile\":\"/levels/%s/%s.ter\"}\n",
                 name, i, level->terrain.side, level->terrain.side,
                 slash == NULL ? directory : slash + 1, name);
        maker_add(&bytes, line, strlen(line));
    }
    return write_at(directory, GROUP "/Level_object/items.level.json", &bytes);
}

int level_make(const char *directory, const struct level_world *level)
{
    int status = make_directories(directory, GROUP "/Level_object");

    if (status == 0)
        status = write_text(directory, "/info.json", "{\n  \"title\": \"demo\"\n}\n");
    if (status == 0)
        status = write_text(directory, "/main/items.level.json",
                            "{\"name\":\"MissionGroup\",\"class\":\"SimGroup\"}\n");
    if (status == 0)
        status = write_text(directory, GROUP "/items.level.json",
                            "{\"name\":\"Level_object\",\"class\":\"SimGroup\","
                            "\"__parent\":\"MissionGroup\"}\n");
    if (status == 0)
        status = write_blocks(directory, level);
    for (unsigned i = 0; i < level->terrains && status == 0; i++)
        status = write_terrain(directory, level, i);
    return status;
}
