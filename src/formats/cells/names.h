/*
 * Which names the voxels of each chunk have, remembered from one question to the next: of chunks
 * that are as they were nothing is fetched and decoded again.
 *
 * Memory: 16 bytes a chunk and TFS_CHUNK_NAMES_MAX for names, of which equal ones of several chunks
 * are kept once.
 */
#ifndef TFS_FORMATS_CELLS_NAMES_H
#define TFS_FORMATS_CELLS_NAMES_H

#include <pthread.h>

#include "base/map.h"
#include "formats/cells/cells.h"

#define TFS_CHUNK_NAMES_MAX ((size_t)16 << 20)

/* The table of names of a chunk. */
struct tfs_chunk_names {
    uint64_t met; /* the caller's: 0, or the last number that it gave to this */
    uint32_t count;
    struct tfs_span names[];
};

struct tfs_names_memory {
    pthread_mutex_t lock;
    struct tfs_names_seen *chunks; /* by slot */
    uint32_t chunk_count;
    struct tfs_map known; /* checksum of names -> the names */
    size_t bytes;         /* of the names */
    uint64_t question;
};

void tfs_names_memory_init(struct tfs_names_memory *memory);
void tfs_names_memory_release(struct tfs_names_memory *memory);

/* Takes that of a save for questions (cells.c), which are asked with its lock; and gives it
 * back. */
struct tfs_names_memory *tfs_names_memory_lock(struct tfs_save *save);
void tfs_names_memory_unlock(struct tfs_names_memory *memory);

/* Fetches what is not remembered of the chunks from there on, many at once, when `from` is the
 * first of so many: for a caller that asks for the names of one after another. */
void tfs_chunk_names_prepare(struct tfs_names_memory *memory, struct tfs_save *save,
                             const struct tfs_doc *doc, size_t from);
/* The names of the chunk, at least one, but none where it is damaged; good until the next call. */
int tfs_chunk_names_of(struct tfs_names_memory *memory, struct tfs_save *save,
                       const struct tfs_chunk *chunk, struct tfs_chunk_names **names,
                       struct tfs_error *err);

/* Gives the names that the chunk's voxels may have, but for those of air. What cannot be read has
 * none. */
int tfs_cells_chunk_names(struct tfs_save *save, const struct tfs_chunk *chunk, tfs_name_fn each,
                          void *arg, struct tfs_error *err);

#endif
