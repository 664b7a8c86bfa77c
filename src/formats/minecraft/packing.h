/*
 * The payload of a column in a region file (FORMAT.md, section 2) <-> its NBT.
 */
#ifndef TFS_FORMATS_MINECRAFT_PACKING_H
#define TFS_FORMATS_MINECRAFT_PACKING_H

#include "base/buf.h"

enum tfs_mc_packing_kind {
    TFS_MC_GZIP = 1,
    TFS_MC_ZLIB = 2,
    TFS_MC_STORED = 3,
    TFS_MC_LZ4 = 4, /* blocks as lz4-java writes them */
};

/* Appends what the payload holds; EFBIG above `limit` bytes. *used: bytes that it took. ENOTSUP:
 * nobody knows this kind. */
int tfs_mc_unpack_payload(uint8_t kind, struct tfs_span packed, size_t limit, struct tfs_buf *out,
                          size_t *used, struct tfs_error *err);
/* Appends the payload that the game would write. */
int tfs_mc_pack_payload(uint8_t kind, struct tfs_span bytes, struct tfs_buf *out,
                        struct tfs_error *err);

#endif
