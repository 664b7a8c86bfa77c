/*
 * The payload of a chunk of a binary place: stored, one raw LZ4 block, or one Zstandard frame
 * (FORMAT.md, section 4).
 *
 * The kind is told by the bytes, and a rewritten payload keeps it. What is packed here
 * is byte for byte what the engine packs, with the library versions that were compared.
 */
#ifndef TFS_FORMATS_ROBLOX_PACKING_H
#define TFS_FORMATS_ROBLOX_PACKING_H

#include "formats/roblox/pieces.h"

enum tfs_rbx_packing { TFS_RBX_STORED, TFS_RBX_LZ4, TFS_RBX_ZSTD };

/* A payload as it stands in a file. */
struct tfs_rbx_packed {
    enum tfs_rbx_packing packing;
    struct tfs_span bytes;
    uint32_t size; /* unpacked, as the file claims */
};

/* No payload may be larger, unpacked. */
#define TFS_RBX_PAYLOAD_MAX (UINT32_C(256) << 20)

/* How a payload of `packed_size` bytes (0: stored) that begins like this is packed. */
enum tfs_rbx_packing tfs_rbx_packing_of(uint32_t packed_size, struct tfs_span bytes);
const char *tfs_rbx_packing_name(enum tfs_rbx_packing packing);

/* What unpacks; zero-initialised, reusable, to be released. */
struct tfs_rbx_unpacker {
    void *zstd;
};

void tfs_rbx_unpacker_release(struct tfs_rbx_unpacker *u);

/* The first bytes of the payload, at most `room`: how many, or EBADMSG when even those do not
 * unpack. Costs little, however long the payload is. */
int tfs_rbx_unpack_head(struct tfs_rbx_unpacker *u, const struct tfs_rbx_packed *packed,
                        uint8_t *head, size_t room, size_t *size, struct tfs_error *err);

/* Can these bytes unpack to the size that they claim, and is that at most TFS_RBX_PAYLOAD_MAX? */
bool tfs_rbx_size_possible(const struct tfs_rbx_packed *packed);

/* Appends the whole payload: exactly packed->size bytes. EFBIG above TFS_RBX_PAYLOAD_MAX. Nothing
 * is allocated for a size that cannot be. */
int tfs_rbx_unpack(const struct tfs_rbx_packed *packed, struct tfs_buf *out, struct tfs_error *err);

/* Adds the packed bytes of a payload to `packed`; stored ones are those of the payload. */
int tfs_rbx_pack(enum tfs_rbx_packing packing, const struct tfs_rbx_pieces *payload,
                 struct tfs_rbx_pieces *packed, struct tfs_error *err);

/* Do the next `size` bytes that are read back unpack to this payload? EIO. */
int tfs_rbx_pack_check(enum tfs_rbx_packing packing, const struct tfs_rbx_pieces *payload,
                       uint32_t size, struct tfs_readback *written, struct tfs_error *err);

#endif
