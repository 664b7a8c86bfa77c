/*
 * What the heads and the sizes of a chunk's texts depend on. Its five files are asked for one after
 * another, their sizes and then their bytes: what the last chunks are is remembered.
 */
#ifndef TFS_FORMATS_ROBLOX_SUMMARY_H
#define TFS_FORMATS_ROBLOX_SUMMARY_H

#include "formats/format.h"

struct tfs_rbx_summary {
    uint32_t first;     /* cell */
    uint32_t varies;    /* bits in which another cell differs from the first */
    uint64_t materials; /* bit m: a cell of material m occurs */
    uint64_t lines;     /* bytes of voxels.csv behind its header */
};

/* Of a chunk of this document. */
struct tfs_rbx_summary tfs_rbx_summary(const struct tfs_doc *doc, const struct tfs_chunk *chunk);

/* The memory: of a few KiB, thread-safe, one for all documents of a source (source.h). */
struct tfs_rbx_summaries;
int tfs_rbx_summaries_create(struct tfs_rbx_summaries **summaries, struct tfs_error *err);
void tfs_rbx_summaries_free(struct tfs_rbx_summaries *summaries);

#endif
