/*
 * A small save of every container, made on disk out of nothing: what fuzz targets edit.
 *
 * Any failure ends the process.
 */
#ifndef TFS_TESTS_FUZZ_SAVES_H
#define TFS_TESTS_FUZZ_SAVES_H

#include "base/buf.h"

enum fuzz_save {
    FUZZ_REGION_TABLE,   /* Cosmic Reach, version 3 */
    FUZZ_REGION_COLUMNS, /* version 5, gzip */
    FUZZ_BLOB,           /* Roblox */
    FUZZ_BINARY,         /* with a TerrainRegion */
    FUZZ_XML,
    FUZZ_BLOCK,     /* Godot: one block, bare */
    FUZZ_OLD_BLOCK, /* version 2, LZ4 */
    FUZZ_VXR,       /* a region */
    FUZZ_FOLDER,
    FUZZ_STREAM,       /* SQLite, key format 1 */
    FUZZ_TEXT_STREAM,  /* key format 2 */
    FUZZ_MAP,          /* Luanti, version 28 */
    FUZZ_WORLD,        /* version 29, a column for each axis */
    FUZZ_TER,          /* BeamNG, with the JSON beside it */
    FUZZ_CORNERS,      /* version 8 */
    FUZZ_COMMUNITY,    /* the layout of the community document */
    FUZZ_MINECRAFT_12, /* Minecraft: blocks are numbers */
    FUZZ_MINECRAFT_16, /* palettes below Level */
    FUZZ_MINECRAFT,    /* a folder, 1.18 */
    FUZZ_SAVES
};

/* Makes it in that directory, which must not have it yet, and stores its path. */
#define FUZZ_PATH 4096
void fuzz_save_make(enum fuzz_save kind, const char *dir, char path[FUZZ_PATH]);

/* A new directory for this process, on a file system in memory where there is one; removed with all
 * in it when the process exits. What programs keep in the user's home goes below it. */
const char *fuzz_save_dir(void);

/* Makes or overwrites a file; reads one whole, into a buffer that is emptied first. */
void fuzz_save_write(const char *path, struct tfs_span bytes);
void fuzz_save_read(const char *path, struct tfs_buf *bytes);

/* Removes all that is in the directory. */
void fuzz_save_clear(const char *dir);

#endif
