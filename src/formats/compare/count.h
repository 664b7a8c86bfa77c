/*
 * One chunk -> how many voxels of which name it has, and a checksum that tells one content from
 * another: for a text with one line a chunk.
 */
#ifndef TFS_FORMATS_COMPARE_COUNT_H
#define TFS_FORMATS_COMPARE_COUNT_H

#include "formats/cells/voxels.h"
#include "formats/compare/fetch.h"

/* Voxels of one short name. */
struct tfs_name_count {
    struct tfs_span name; /* printable; valid as long as the sum */
    uint64_t voxels;
};

/* What a chunk is. Zero-initialised; to be used again for the next chunk. */
struct tfs_chunk_count {
    struct tfs_name_count *counts; /* by name; voxels without a short one are not counted */
    size_t count;
    uint64_t checksum; /* of voxels, and of the files with TFS_FILE_APART: equal for what says the
                        * same */

    /* For count.c only. */
    struct tfs_voxel_pool pool; /* its words alone */
    struct tfs_voxel_chunk chunk;
    struct tfs_words names;
    struct tfs_buf text, same; /* a file; what the checksum of the voxels is of */
    struct tfs_chunk made;     /* what all this is of, in `made_doc`; NULL: nothing */
    const struct tfs_doc *made_doc;
    bool placed; /* it has a file that not every chunk has */
};

void tfs_chunk_count_release(struct tfs_chunk_count *sum);

/* Of a chunk whose bytes are there (tfs_fetch). EBADMSG: it does not decode. */
int tfs_chunk_count(struct tfs_chunk_count *sum, const struct tfs_side *side,
                    const struct tfs_chunk *chunk, struct tfs_error *err);

/* The checksum of the chunk's stored bytes, whatever they are. */
uint64_t tfs_chunk_checksum(const struct tfs_chunk *chunk);

#endif
