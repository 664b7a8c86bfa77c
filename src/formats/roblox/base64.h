/*
 * Base64 as the engine writes it into XML: padding, a line end after every 72 characters, none at
 * the end (FORMAT.md, section 5).
 */
#ifndef TFS_FORMATS_ROBLOX_BASE64_H
#define TFS_FORMATS_ROBLOX_BASE64_H

#include "formats/roblox/pieces.h"

#define TFS_RBX_BASE64_LINE 72

/* Takes text in pieces; zero-initialised = at the beginning. */
struct tfs_rbx_base64 {
    uint32_t bits;    /* of a group that is not complete */
    unsigned count;   /* characters in it, padding included */
    unsigned padding; /* of the last group */
};

/* Appends what the piece says; blanks and line ends are skipped. EBADMSG; *offset is then the place
 * in the piece. */
int tfs_rbx_base64_add(struct tfs_rbx_base64 *b, struct tfs_span text, struct tfs_buf *out,
                       size_t *offset, struct tfs_error *err);
/* Was that all of it? EBADMSG when characters are missing. */
int tfs_rbx_base64_end(const struct tfs_rbx_base64 *b, struct tfs_error *err);

/* Writes the text of these bytes. */
int tfs_rbx_base64_write(const struct tfs_rbx_pieces *bytes, struct tfs_sink *sink,
                         struct tfs_error *err);
/* Is what is read back next a text of these bytes, as long as the one that is written? EIO. */
int tfs_rbx_base64_check(const struct tfs_rbx_pieces *bytes, struct tfs_readback *written,
                         struct tfs_error *err);
/* Characters without line ends. */
size_t tfs_rbx_base64_size(size_t bytes);

#endif
