/*
 * The cache of a save: its last views, and a summary of each chunk. For view.c and counts.c only.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_CACHE_H
#define TFS_FORMATS_GODOT_VOXEL_CACHE_H

#include <pthread.h>

#include "base/recent.h"
#include "formats/godot_voxel/view.h"

/* A chunk in few bytes. */
struct tfs_godot_summary {
    uint8_t version; /* 0: no block that decodes */
    uint8_t kind;
    uint8_t dense;   /* bit i: channel i has mode NONE */
    uint8_t flags;   /* enum tfs_godot_summary_flags */
    uint16_t depths; /* two bits a channel */
};

enum tfs_godot_summary_flags {
    TFS_GODOT_SUMMARY_DAMAGED = 1,
    TFS_GODOT_SUMMARY_EXTRA = 2,
};

struct tfs_godot_cache {
    struct tfs_recent views;

    pthread_mutex_t counts_lock;         /* of what follows */
    struct tfs_doc *doc;                 /* whose chunks are summed up; NULL: none */
    uint32_t mask;                       /* which of them: see counts.c */
    struct tfs_godot_summary *summaries; /* by slot */
    uint32_t summary_count;
    struct {
        uint64_t version; /* of the document; 0: of none */
        uint32_t level;
        struct tfs_godot_form form;
    } forms[4]; /* found last */
    unsigned next_form;
};

static inline struct tfs_godot_cache *tfs_godot_cache_of(const struct tfs_save *save)
{
    return save->cache;
}

/* Forgets the summaries. */
void tfs_godot_counts_clear(struct tfs_godot_cache *cache);

#endif
