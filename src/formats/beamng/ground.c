/*
 * The level around a terrain -> position and scale of the terrain.
 *
 * Must not know the tree. Torque3D's heights are in units of 1/32 metre, whatever its level says.
 */
#include "formats/beamng/ground.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/level.h"
#include "text/float.h"

#define HIGHEST      65535.0
#define TORQUE3D     7
#define TORQUE_METRE 32.0

const char *tfs_beamng_number(double value, char text[TFS_BEAMNG_NUMBER_ROOM])
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    text[tfs_float64_print((uint8_t *)text, bits)] = '\0';
    return text;
}

static void add_text(struct tfs_beamng_texts *texts, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_text(struct tfs_beamng_texts *texts, const char *key, const char *format, ...)
{
    char *value = texts->values[texts->count];
    va_list args;

    va_start(args, format);
    vsnprintf(value, TFS_BEAMNG_TEXT_ROOM, format, args);
    va_end(args);
    texts->items[texts->count++] = (struct tfs_png_text){key, value};
}

void tfs_beamng_ground_texts(const struct tfs_beamng_ground *ground, struct tfs_beamng_texts *texts)
{
    char a[TFS_BEAMNG_NUMBER_ROOM], b[TFS_BEAMNG_NUMBER_ROOM], c[TFS_BEAMNG_NUMBER_ROOM];

    texts->count = 0;
    if (ground->placed)
        add_text(texts, "position", "%s %s %s", tfs_beamng_number(ground->position[0], a),
                 tfs_beamng_number(ground->position[1], b),
                 tfs_beamng_number(ground->position[2], c));
    if (ground->live)
        add_text(texts, "square-size", "%s", tfs_beamng_number(ground->square, a));
    if (ground->height > 0)
        add_text(texts, "max-height", "%s", tfs_beamng_number(ground->height, a));
    if (ground->scaled)
        add_text(texts, "metres", "0 is %s, 65535 is %s", tfs_beamng_number(ground->low, a),
                 tfs_beamng_number(ground->low + HIGHEST * ground->metres, b));
}

static void take_block(const struct tfs_beamng_block *block, unsigned version,
                       struct tfs_beamng_ground *ground)
{
    ground->live = true;
    if (block->name != NULL)
        snprintf(ground->block, sizeof(ground->block), "%s", block->name);
    ground->placed = block->placed;
    memcpy(ground->position, block->position, sizeof(ground->position));
    ground->square = block->square;
    ground->height = block->height;
    ground->scaled = block->placed && (version == TORQUE3D || block->height > 0);
    ground->low = block->position[2];
    ground->metres = version == TORQUE3D ? 1 / TORQUE_METRE : block->height / HIGHEST;
}

/* What a level says of this terrain, as notes. */
static int note(const struct tfs_beamng_level *level, const struct tfs_beamng_live *live,
                struct tfs_facts *facts, struct tfs_error *err)
{
    if (live == NULL)
        return tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                              "no TerrainBlock of the level shows this terrain: the game does not "
                              "load it, and its heights in metres are not known");
    if (live->blocks > 1 &&
        tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                       "%zu TerrainBlock objects of the level show this terrain; position and "
                       "scale are those of the first",
                       live->blocks) < 0)
        return err->code;
    if (level->why != NULL &&
        tfs_facts_note(facts, err, TFS_NOTE_WARNING, "of the level: %s", level->why) < 0)
        return err->code;
    return 0;
}

static int look(struct tfs_beamng_level *level, const char *path, unsigned version,
                struct tfs_facts *facts, struct tfs_beamng_ground *ground, struct tfs_error *err)
{
    const struct tfs_beamng_live *live = NULL;

    for (size_t i = 0; i < level->count; i++)
        if (strcmp(level->live[i].path, path) == 0)
            live = &level->live[i];
    snprintf(ground->level, sizeof(ground->level), "%s", strrchr(level->path, '/') + 1);
    if (live != NULL)
        take_block(&live->block, version, ground);
    if (level->unread > 0 &&
        tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                       "%zu lines or files of the level's items.level.json that should tell of a "
                       "TerrainBlock cannot be read",
                       level->unread) < 0)
        return err->code;
    return note(level, live, facts, err);
}

int tfs_beamng_ground_look(const char *path, unsigned version, struct tfs_facts *facts,
                           struct tfs_beamng_ground *ground, struct tfs_error *err)
{
    struct tfs_beamng_level level = {0};
    char *folder = NULL;

    *ground = (struct tfs_beamng_ground){0};
    if (path == NULL || path[0] != '/')
        return 0;
    if (tfs_beamng_level_around(path, &folder) < 0 ||
        (folder != NULL && tfs_beamng_level_read(folder, &level) < 0))
        tfs_fail_memory(err);
    else if (folder != NULL)
        look(&level, path, version, facts, ground, err);
    tfs_beamng_level_release(&level);
    free(folder);
    return err->code;
}
