/*
 * What the blocks of a save are: counted over its chunks, and remembered (save->cache).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_COUNTS_H
#define TFS_FORMATS_GODOT_VOXEL_COUNTS_H

#include "formats/godot_voxel/cells.h"

/* The memory of it: created when the save is opened, emptied when it is read again. */
int tfs_godot_cache_create(struct tfs_save *save, struct tfs_error *err);
void tfs_godot_cache_clear(struct tfs_save *save);
void tfs_godot_cache_free(struct tfs_save *save);

#define TFS_GODOT_COUNTS_NAMES 16

/* Of a save with more chunks than this, some are looked into. Which ones is decided by their
 * coordinates, so the same save always gives the same counts, and one chunk more or less changes
 * few of them. */
#define TFS_GODOT_COUNTS_CHUNKS 4096

struct tfs_godot_counts {
    size_t looked; /* chunks that the counts are of */
    size_t blocks, empty, damaged, instances;
    size_t versions[TFS_GODOT_VERSION_MAX + 1];
    /* The first chunks of each version. */
    struct tfs_key names[TFS_GODOT_VERSION_MAX + 1][TFS_GODOT_COUNTS_NAMES];
    size_t kinds[TFS_GODOT_KINDS];
    size_t depths[TFS_GODOT_CHANNELS][TFS_GODOT_DEPTH_MAX + 1]; /* blocks with that depth */
    size_t dense[TFS_GODOT_CHANNELS];                           /* blocks with mode NONE */
};

/* Counts what a finished document holds; decodes the chunks that are looked into the first time,
 * and later those of them that changed since. `damage` is called for each that does not
 * decode. */
typedef void (*tfs_godot_damage_fn)(void *arg, const struct tfs_chunk *chunk, const char *why);
int tfs_godot_counts_make(struct tfs_save *save, const struct tfs_doc *doc,
                          struct tfs_godot_counts *counts, tfs_godot_damage_fn damage, void *arg,
                          struct tfs_error *err);
/* What arrays of a level and its new blocks are made for: the deepest of each channel, the oldest
 * and the newest version of its blocks that are looked into; at least of one, where it has any. */
struct tfs_godot_level {
    unsigned depths[TFS_GODOT_CHANNELS]; /* logarithms, of bytes */
    unsigned version;                    /* at least 2 */
    unsigned newest;
    bool known; /* there was a block */
    bool mixed; /* of distances some are whole numbers, and others floating point */
};

int tfs_godot_level_find(struct tfs_save *save, const struct tfs_doc *doc, uint32_t level,
                         struct tfs_godot_level *found, struct tfs_error *err);
/* The highest block version among the chunks that are looked into; 0: they have no blocks. Looks no
 * further than to the first block of the newest version. */
int tfs_godot_newest_version(struct tfs_save *save, const struct tfs_doc *doc, unsigned *version,
                             struct tfs_error *err);

#endif
