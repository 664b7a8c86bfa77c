/*
 * An opened database of blocks: for stream*.c only (FORMAT.md, section 7). Its
 * invariants are in stream.c.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_STREAM_H
#define TFS_FORMATS_GODOT_VOXEL_STREAM_H

#include <pthread.h>

#include "base/file.h"
#include "formats/godot_voxel/rules.h"
#include "formats/godot_voxel/stream_db.h"

/* What was fetched of a row, in few bytes. */
struct tfs_godot_print {
    uint64_t reading; /* the reading it belongs to; 0: nothing was fetched */
    uint32_t block_size, block_crc;
    uint32_t extra_size, extra_crc;
};

struct tfs_godot_stream {
    pthread_mutex_t lock;
    struct tfs_file_handle file;
    struct tfs_godot_db db;
    uint32_t seen;                  /* data_version of the reading */
    uint64_t reading;               /* its number, from 1 */
    struct tfs_godot_print *prints; /* by slot */
    uint32_t print_count;
    bool unsure; /* a transaction failed at its very end: it may be there, if not durably */
};

static inline bool tfs_godot_is_lazy(const struct tfs_chunk *chunk, enum tfs_godot_tag tag)
{
    return (chunk->tag & (uint32_t)tag) != 0;
}

/* The print of a chunk in this reading; NULL: it was not fetched. The caller holds the lock. */
const struct tfs_godot_print *tfs_godot_stream_print(const struct tfs_godot_stream *own,
                                                     const struct tfs_chunk *chunk);
/* Has the row's column, that of the instances or of the block, still the value that a chunk of the
 * document stands for? The caller holds the lock. */
bool tfs_godot_stream_as_before(const struct tfs_godot_stream *own, const struct tfs_chunk *before,
                                const struct tfs_godot_row *row, bool extra);

/* tfs_godot_rules.fetch and fetch_many, tfs_container.load. ESTALE: the row is gone. */
int tfs_godot_stream_fetch(struct tfs_save *save, const struct tfs_chunk *chunk,
                           struct tfs_blob **stored, struct tfs_blob **extra,
                           struct tfs_error *err);
size_t tfs_godot_stream_fetch_many(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                                   struct tfs_error *err);
int tfs_godot_stream_load(struct tfs_save *save, const struct tfs_chunk *chunk, bool extra,
                          struct tfs_blob **blob, struct tfs_error *err);

#endif
