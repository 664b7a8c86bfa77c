/*
 * A folder of regions, as its files: for folder*.c only (FORMAT.md, section 6).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_FOLDER_H
#define TFS_FORMATS_GODOT_VOXEL_FOLDER_H

#include <pthread.h>

#include "base/recent.h"
#include "formats/folder.h"
#include "formats/godot_voxel/region.h"
#include "formats/godot_voxel/region_name.h"

/* A block of a region file. */
struct tfs_godot_slot {
    uint32_t index; /* in the table */
    struct tfs_extent extent;
};

struct tfs_godot_region_file {
    struct tfs_folder_file file; /* first */
    struct tfs_godot_region region;
    struct tfs_godot_slot *slots; /* the blocks that are there, by index */
    size_t count;
};

void tfs_godot_region_file_release(struct tfs_godot_region_file *file);
/* The same of one that was allocated; NULL is legal. */
void tfs_godot_region_file_free(struct tfs_godot_region_file *file);

/* What was found in the folder. */
struct tfs_godot_index {
    struct tfs_godot_meta meta;
    struct tfs_blob *meta_text;
    struct stat meta_st;
    struct tfs_folder_files files; /* each the head of a struct tfs_godot_region_file */
    struct tfs_folder_watch watches[TFS_GODOT_LODS + 1]; /* regions/ and the levels in it */
    char *alone; /* path in the folder of a region that has a journal of its own; NULL: none */
};

/* Paths of the folder's files; to be freed. NULL without memory. */
char *tfs_godot_folder_meta_path(const char *folder);
/* *folder, to be freed: what holds regions/lod0/FILE and has a meta.vxrm; 1, or 0: none does. */
int tfs_godot_folder_around(const char *region, char **folder, struct tfs_error *err);
char *tfs_godot_folder_region_path(const char *folder, struct tfs_key key);

/* Reads meta.vxrm, and header and table of every region. Sentences begin with the file's path below
 * the folder. `strays`: removes what a killed process left. */
int tfs_godot_index_read(const char *folder, bool strays, struct tfs_godot_index *index,
                         struct tfs_error *err);
void tfs_godot_index_release(struct tfs_godot_index *index);

/* Looks at regions/ and a level in it again, after this process made something there: but not where
 * others did too, which stays a change. */
void tfs_godot_index_watch(struct tfs_godot_index *index, uint32_t lod);

/* Did a file or directory of the folder change since it was read? */
bool tfs_godot_index_changed(const char *folder, struct tfs_godot_index *index);
/* The same, but of the region files only the one that holds a block. */
bool tfs_godot_index_changed_at(const char *folder, struct tfs_godot_index *index,
                                struct tfs_key block);

struct tfs_godot_region_file *tfs_godot_index_find(const struct tfs_godot_index *index,
                                                   struct tfs_key key);
/* The i-th region, i < index->files.count. */
struct tfs_godot_region_file *tfs_godot_index_at(const struct tfs_godot_index *index, size_t i);

/* Header and table of a file's bytes; `key` and `st` are the caller's. */
int tfs_godot_region_file_parse(struct tfs_span bytes, uint64_t size,
                                const struct tfs_godot_meta *meta,
                                struct tfs_godot_region_file *file, struct tfs_error *err);

/* NULL: there is no such block. */
const struct tfs_godot_slot *tfs_godot_region_file_slot(const struct tfs_godot_region_file *file,
                                                        uint32_t index);

/* The region that holds a block, and the block's entry in its table. */
struct tfs_key tfs_godot_folder_region_of(const struct tfs_godot_meta *meta, struct tfs_key block,
                                          uint32_t *index);
/* And back: the block of a slot. */
struct tfs_key tfs_godot_folder_block(const struct tfs_godot_region_file *file, uint32_t index);

struct tfs_godot_seen;

struct tfs_godot_folder {
    pthread_mutex_t lock; /* of what follows, but lock_fd */
    struct tfs_godot_index index;
    uint64_t reading;            /* number of the last reading that found something new */
    struct tfs_recent opened;    /* region files that were fetched from last */
    struct tfs_godot_seen *seen; /* what blocks held that were fetched; NULL: none was */
    int lock_fd;                 /* the directory, with the flock */
};

static inline struct tfs_godot_folder *tfs_godot_folder_of(const struct tfs_save *save)
{
    return save->own;
}

/* tfs_container.fetch, tfs_godot_rules.palette. ESTALE: the region is not the file any
 * more that the index is about. */
int tfs_godot_folder_fetch(struct tfs_save *save, const struct tfs_chunk *chunk,
                           struct tfs_blob **stored, struct tfs_blob **extra,
                           struct tfs_error *err);
int tfs_godot_folder_palette(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                             uint8_t colours[TFS_GODOT_REGION_PALETTE], struct tfs_error *err);
/* Blocks of a region that was read again, compared with what they held before. The caller holds the
 * lock, and has not put the new index in the place of the old one. */
struct tfs_godot_comparing {
    const struct tfs_save *save;
    const struct tfs_godot_region_file *now;
    struct tfs_godot_opened *opened; /* of that; NULL: not yet, or it cannot be */
    bool failed;
};
/* Are the bytes of a slot those of `chunk`, of the document of before? False where nobody fetched
 * them then, or too many others since. */
bool tfs_godot_folder_same(struct tfs_godot_comparing *c, const struct tfs_godot_slot *slot,
                           const struct tfs_chunk *chunk);
void tfs_godot_folder_compared(struct tfs_godot_comparing *c);
/* tfs_container.rest. */
int tfs_godot_folder_rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err);
/* Empty. What is in there is cleared when the index comes to be about other files. */
void tfs_godot_folder_opened_init(struct tfs_recent *recent);

/* Puts `doc` on disk (folder_write.c). *reached: the document that the disk holds afterwards, also
 * after a failure. */
extern const struct tfs_journal_files tfs_godot_folder_journal; /* folder_journal.c */
int tfs_godot_folder_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_doc **reached,
                           struct tfs_error *err);

/* The text of meta.vxrm. */
static inline struct tfs_blob *tfs_godot_meta_text(const struct tfs_doc *doc)
{
    return doc->common;
}

#endif
