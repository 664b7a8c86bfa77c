/*
 * A packer that makes the sequences which LZ4_compress_default makes, one after another, so that
 * one can begin anywhere in a payload and stop anywhere (FORMAT.md, section 4.1).
 */
#ifndef TFS_FORMATS_ROBLOX_PACKER_H
#define TFS_FORMATS_ROBLOX_PACKER_H

#include "formats/roblox/pieces.h"

#define TFS_RBX_MATCH_MIN 4
#define TFS_RBX_REACH     65535 /* of a match, backwards */
#define TFS_RBX_TABLE_LOG 12

/* Literals, then a copy of the bytes `offset` before its place; the last sequence of a block has no
 * copy. */
struct tfs_rbx_sequence {
    uint64_t literals, length; /* how many of each; length 0: the last one */
    uint32_t offset;
};

/* What LZ4_compress_default does on a machine of 64 bits with payloads above 64 KiB, from `first`
 * on. Positions count from there. */
struct tfs_rbx_packer {
    const struct tfs_rbx_pieces *payload;
    uint64_t first;
    struct tfs_buf text; /* of the payload, from `first` on, as far as it is needed yet */
    uint32_t table[1 << TFS_RBX_TABLE_LOG];
    uint32_t hash; /* of what is at `at` */
    uint64_t at, anchor, match;
    bool matched; /* the next sequence is a match at `at` */
    bool ended;   /* what is left are the last literals */
};

/* Begins at that place of the payload, which is set, without a memory of what is before it.
 * ENOMEM. */
int tfs_rbx_packer_start(struct tfs_rbx_packer *p, uint64_t first, struct tfs_error *err);
/* The next sequence: 1; 0: a match goes further than one can look; ENOMEM. */
int tfs_rbx_packer_next(struct tfs_rbx_packer *p, struct tfs_rbx_sequence *s,
                        struct tfs_error *err);
/* Appends a sequence as it is stored. `from`: where its literals are. */
void tfs_rbx_packer_put(const struct tfs_rbx_packer *p, uint64_t from,
                        const struct tfs_rbx_sequence *s, struct tfs_buf *out);

/* Where the packer stands in the payload. */
static inline uint64_t tfs_rbx_packed_to(const struct tfs_rbx_packer *p)
{
    return p->first + p->anchor;
}

#endif
