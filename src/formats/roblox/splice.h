/*
 * A large payload that differs a little from one that is packed as an LZ4 block -> its block, made
 * of sequences of the old one and of few new ones (FORMAT.md, section 4.1).
 *
 * The block is byte for byte what LZ4_compress_default makes of the whole payload, if it made the
 * old one, too; else it is computed. Only what is near a difference is packed, so that an edit
 * costs what it changes.
 */
#ifndef TFS_FORMATS_ROBLOX_SPLICE_H
#define TFS_FORMATS_ROBLOX_SPLICE_H

#include "formats/roblox/pieces.h"

/* A block and what it unpacks to, which was found to be so. */
struct tfs_rbx_block {
    struct tfs_span packed, plain;
};

/* Where some sequences of a block begin, found once; zero-initialised, to be released. */
struct tfs_rbx_block_index {
    struct tfs_rbx_place {
        uint32_t packed, plain;
    } * places;
    size_t count;
};

/* A stretch of the new block. */
struct tfs_rbx_splice_piece {
    bool old;          /* of the old block, else of `fresh` */
    size_t from, size; /* there */
    uint64_t plain, plain_size;
    size_t old_plain; /* of an old one: where in the old payload */
};

struct tfs_rbx_splice {
    struct tfs_rbx_splice_piece *pieces;
    size_t count;
    struct tfs_buf fresh;
};

void tfs_rbx_block_index_release(struct tfs_rbx_block_index *index);
void tfs_rbx_splice_release(struct tfs_rbx_splice *splice);

/* 1; or 0 where that is not worth it or not possible, and the payload is to be packed as a whole.
 * Pieces of the payload that are to be found in the old one lie in its memory. ENOMEM. */
int tfs_rbx_splice_make(const struct tfs_rbx_block *old, struct tfs_rbx_block_index *index,
                        const struct tfs_rbx_pieces *payload, struct tfs_rbx_splice *splice,
                        struct tfs_error *err);
uint64_t tfs_rbx_splice_size(const struct tfs_rbx_splice *splice);
int tfs_rbx_splice_write(const struct tfs_rbx_block *old, const struct tfs_rbx_splice *splice,
                         struct tfs_sink *sink, struct tfs_error *err);
/* Is that what is read back, and does it unpack to the payload? New sequences are unpacked; old
 * ones must be those of the old block, and what they are about the same as there. EIO. */
int tfs_rbx_splice_check(const struct tfs_rbx_block *old, const struct tfs_rbx_splice *splice,
                         const struct tfs_rbx_pieces *payload, struct tfs_readback *written,
                         struct tfs_error *err);

#endif
