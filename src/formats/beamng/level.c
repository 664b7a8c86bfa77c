/*
 * The folder of a level -> its live terrains.
 *
 * A TerrainBlock names its terrain by a path of the game, which begins with `levels/NAME/`. That of
 * a level that was copied still names the level it came from, and Windows does not tell `A` from
 * `a`: so the last part of the path decides where the path itself does not. Must not know what is
 * in a terrain. Levels are hostile: folders are walked to a depth, files are read to a size, and
 * what a path says is never followed out of the level.
 */
#include "formats/beamng/level.h"

#include <errno.h>
#include <fts.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/file.h"
#include "base/print.h"
#include "formats/beamng/ter.h"

#define OBJECTS     "main"
#define ITEMS       "items.level.json"
#define GROUP       "MissionGroup"
#define LEVELS      "levels"
#define ITEMS_MAX   (UINT64_C(256) << 20) /* bytes of a file of objects */
#define DEPTH_MAX   32
#define ENTRIES_MAX 500000 /* names that are looked at in one walk */
#define AROUND_MAX  16     /* folders above a file */
#define BLOCKS_MAX  1000   /* objects of a level that are looked at */

void tfs_beamng_level_release(struct tfs_beamng_level *level)
{
    for (size_t i = 0; i < level->count; i++) {
        free(level->live[i].path);
        tfs_beamng_block_release(&level->live[i].block);
    }
    free(level->live);
    free(level->path);
    free(level->why);
    *level = (struct tfs_beamng_level){0};
}

/* ---- folders --------------------------------------------------------------------------------- */

/* What stands at a path below a folder, no link: S_IFREG, S_IFDIR or 0. */
static mode_t kind_at(const char *folder, const char *name)
{
    struct stat st;
    char *path = NULL;
    mode_t kind = 0;

    if (tfs_print(&path, "%s/%s", folder, name) >= 0 && lstat(path, &st) == 0)
        kind = st.st_mode & S_IFMT;
    free(path);
    return kind;
}

bool tfs_beamng_is_level(const char *folder)
{
    return kind_at(folder, OBJECTS) == S_IFDIR && (kind_at(folder, OBJECTS "/" ITEMS) == S_IFREG ||
                                                   kind_at(folder, OBJECTS "/" GROUP) == S_IFDIR);
}

int tfs_beamng_level_around(const char *path, char **level)
{
    char *folder = strdup(path), *slash;

    *level = NULL;
    if (folder == NULL)
        return -ENOMEM;
    for (int i = 0; i < AROUND_MAX && (slash = strrchr(folder, '/')) != NULL && slash != folder;
         i++) {
        *slash = '\0';
        if (tfs_beamng_is_level(folder)) {
            *level = folder;
            return 0;
        }
    }
    free(folder);
    return 0;
}

/* Paths of files. */
struct paths {
    char **items;
    size_t count;
};

static void paths_release(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i]);
    free(paths->items);
    *paths = (struct paths){0};
}

static int paths_add(struct paths *paths, const char *path)
{
    char **items = tfs_array_grow(paths->items, paths->count, sizeof(*items));

    if (items == NULL)
        return -ENOMEM;
    paths->items = items;
    items[paths->count] = strdup(path);
    return items[paths->count++] == NULL ? -ENOMEM : 0;
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_regular(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

typedef bool (*wanted_fn)(const char *name);

/* The regular files of such a name below a folder. What cannot be read holds none. */
static int find_files(const char *folder, wanted_fn wanted, struct paths *paths)
{
    char *const roots[] = {(char *)folder, NULL};
    int result = 0;

    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, compare_names);
    FTSENT *entry = NULL;
    if (walk == NULL)
        return -ENOMEM;
    errno = 0;
    for (size_t i = 0; i < ENTRIES_MAX && result == 0 && (entry = fts_read(walk)) != NULL; i++) {
        if (entry->fts_level > DEPTH_MAX || (entry->fts_level > 0 && entry->fts_name[0] == '.'))
            fts_set(walk, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_NSOK && wanted(entry->fts_name) &&
                 is_regular(entry->fts_path))
            result = paths_add(paths, entry->fts_path);
    }
    if (errno == ENOMEM)
        result = -ENOMEM;
    fts_close(walk);
    return result;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool is_items(const char *name)
{
    return strcmp(name, ITEMS) == 0;
}

static int read_items(const char *path, struct tfs_beamng_blocks *blocks)
{
    struct tfs_file_handle file;
    struct tfs_blob *text = NULL;
    struct tfs_error why = {0};
    int result = 0;

    if (tfs_file_open(path, false, &file, &why) == 0) {
        tfs_file_read(&file, ITEMS_MAX, &text, &why);
        tfs_file_close(&file);
    }
    if (text != NULL)
        result = tfs_beamng_blocks_read(tfs_blob_span(text), blocks);
    else
        blocks->bad++;
    tfs_blob_unref(text);
    return why.code == -ENOMEM ? -ENOMEM : result;
}

/* All TerrainBlock objects, in the order of the names of their files. */
static int read_objects(const char *folder, struct tfs_beamng_blocks *blocks)
{
    struct paths files = {0};
    char *objects = NULL;
    int result = tfs_print(&objects, "%s/" OBJECTS, folder) < 0 ? -ENOMEM : 0;

    if (result == 0)
        result = find_files(objects, is_items, &files);
    for (size_t i = 0; i < files.count && result == 0; i++)
        result = read_items(files.items[i], blocks);
    paths_release(&files);
    free(objects);
    return result;
}

/* ---- terrains -------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
    const char *last = slash > back || back == NULL ? slash : back;

    return last == NULL ? path : last + 1;
}

/* What follows `levels/NAME/` in a path of the game, where that is the name of this level; else all
 * of it, without a slash before it. NULL: it leads up. */
static const char *below_level(const char *path, const char *folder)
{
    const char *name = strrchr(folder, '/') + 1;

    path += strspn(path, "/");
    if (strstr(path, "..") != NULL)
        return NULL;
    if (strncasecmp(path, LEVELS "/", strlen(LEVELS "/")) != 0)
        return path;
    path += strlen(LEVELS "/");
    const size_t length = strlen(name);
    return strncasecmp(path, name, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static bool is_within(const char *path, const char *folder)
{
    const size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* A level being read. */
struct reading {
    struct tfs_beamng_level *level;
    struct paths terrains; /* its .ter files */
    bool walked;           /* they are known */
};

enum { NOT_FOUND, FOUND, TOLD }; /* TOLD: level->why says why not */

/* Sets level->why to the first reason: TOLD or -ENOMEM. */
static int tell(struct tfs_beamng_level *level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int tell(struct tfs_beamng_level *level, const char *format, ...)
{
    va_list args;

    if (level->why != NULL)
        return TOLD;
    va_start(args, format);
    int length = tfs_print_args(&level->why, format, args);
    va_end(args);
    return length < 0 ? -ENOMEM : TOLD;
}

/* The file that the path names itself. */
static int find_named(struct tfs_beamng_level *level, const char *file, char **found)
{
    const char *below = below_level(file, level->path);
    char *path = NULL;
    struct stat st;
    int result = NOT_FOUND;

    if (below == NULL || !tfs_beamng_is_terrain(below))
        return NOT_FOUND;
    if (tfs_print(&path, "%s/%s", level->path, below) < 0)
        return -ENOMEM;
    char *real = realpath(path, NULL);
    if (real != NULL && !is_within(real, level->path))
        result = tell(level, "%s is a link that leads out of the level: give what it leads to, %s",
                      below, real);
    else if (real != NULL && stat(real, &st) == 0 && S_ISREG(st.st_mode))
        result = FOUND;
    if (result == FOUND)
        *found = real;
    else
        free(real);
    free(path);
    return result;
}

/* The file of that name, wherever it lies in the level. One in the very spelling goes before
 * others. */
static int find_alike(struct reading *r, const char *file, char **found)
{
    const char *wanted = last_part(file);
    const char *same[2] = {NULL, NULL}, *alike[2] = {NULL, NULL};

    if (!r->walked && find_files(r->level->path, tfs_beamng_is_terrain, &r->terrains) < 0)
        return -ENOMEM;
    r->walked = true;
    for (size_t i = 0; i < r->terrains.count; i++) {
        const char *path = r->terrains.items[i], *name = last_part(path);
        const char **list = strcmp(name, wanted) == 0 ? same : alike;
        if (strcasecmp(name, wanted) == 0)
            list[list[0] != NULL] = path;
    }
    const char **best = same[0] != NULL ? same : alike;
    if (best[1] != NULL)
        return tell(r->level, "its TerrainBlock may mean %s or %s: give the one that is meant",
                    best[0], best[1]);
    if (best[0] == NULL)
        return tell(r->level, "there is no %s in it, which its TerrainBlock names", wanted);
    *found = strdup(best[0]);
    return *found == NULL ? -ENOMEM : FOUND;
}

/* Takes `path`, and what the block has. */
static int add_live(struct tfs_beamng_level *level, char *path, struct tfs_beamng_block *block)
{
    struct tfs_beamng_live *live = NULL;

    for (size_t i = 0; i < level->count; i++)
        if (strcmp(level->live[i].path, path) == 0)
            live = &level->live[i];
    if (live != NULL) {
        live->blocks++;
        free(path);
        return 0;
    }
    live = tfs_array_grow(level->live, level->count, sizeof(*live));
    if (live == NULL) {
        free(path);
        return -ENOMEM;
    }
    level->live = live;
    live[level->count++] = (struct tfs_beamng_live){.path = path, .block = *block, .blocks = 1};
    *block = (struct tfs_beamng_block){0};
    return 0;
}

static int place_block(struct reading *r, struct tfs_beamng_block *block)
{
    char *path = NULL;
    int found;

    if (block->file == NULL || !tfs_beamng_is_terrain(last_part(block->file)))
        return tell(r->level, "a TerrainBlock of it names no .ter file");
    found = find_named(r->level, block->file, &path);
    if (found == NOT_FOUND)
        found = find_alike(r, block->file, &path);
    return found == FOUND ? add_live(r->level, path, block) : found;
}

static int compare_live(const void *a, const void *b)
{
    return strcmp(((const struct tfs_beamng_live *)a)->path,
                  ((const struct tfs_beamng_live *)b)->path);
}

int tfs_beamng_level_read(const char *folder, struct tfs_beamng_level *level)
{
    struct tfs_beamng_blocks blocks = {0};
    struct reading r = {.level = level};

    *level = (struct tfs_beamng_level){.path = strdup(folder)};
    if (level->path == NULL)
        return -ENOMEM;
    int result = read_objects(folder, &blocks);
    for (size_t i = 0; i < blocks.count && i < BLOCKS_MAX && result >= 0; i++)
        result = place_block(&r, &blocks.items[i]);
    paths_release(&r.terrains);
    level->blocks = blocks.count;
    level->unread = blocks.bad;
    if (level->count > 0)
        qsort(level->live, level->count, sizeof(*level->live), compare_live);
    tfs_beamng_blocks_release(&blocks);
    if (result >= 0)
        return 0;
    tfs_beamng_level_release(level);
    return result;
}
