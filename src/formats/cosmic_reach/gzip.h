/*
 * One gzip member: inflated by steps under a cap, deflated as the game's library does
 * (FORMAT.md, section 2b).
 */
#ifndef TFS_FORMATS_COSMIC_REACH_GZIP_H
#define TFS_FORMATS_COSMIC_REACH_GZIP_H

#include <zlib.h>

#include "base/file.h"
#include "formats/cosmic_reach/layout.h"

/* Looks at what was inflated so far, whenever that has doubled: 0, or negative when it cannot
 * become anything good. So a megabyte that inflates to a gigabyte must be good from its beginning.
 */
struct tfs_cosmic_look {
    int (*look)(void *arg, struct tfs_span so_far, struct tfs_error *err);
    void *arg;
};

/* Appends what the member at the start of `packed` holds; *used = its length. The length that the
 * member claims is never believed. EFBIG above `limit` bytes. Sentences name the offset in
 * `packed` plus `origin`. `look` may be NULL. */
int tfs_cosmic_inflate(struct tfs_span packed, uint64_t limit, size_t origin,
                       const struct tfs_cosmic_look *look, struct tfs_buf *out, size_t *used,
                       struct tfs_error *err);

/* The header the game writes. */
extern const uint8_t tfs_cosmic_gzip_header[TFS_COSMIC_GZIP_HEADER];

/* A sink that deflates into another one. */
struct tfs_cosmic_gzip {
    struct tfs_sink sink; /* first: &gzip->sink is where to write */
    struct tfs_sink *out;
    z_stream z;
    uLong crc;
    uint32_t size; /* of what was written, modulo 2^32 as gzip wants it */
    uint8_t *buffer;
};

int tfs_cosmic_gzip_open(struct tfs_cosmic_gzip *gzip, struct tfs_sink *out,
                         const uint8_t header[TFS_COSMIC_GZIP_HEADER], struct tfs_error *err);
int tfs_cosmic_gzip_finish(struct tfs_cosmic_gzip *gzip, struct tfs_error *err);
void tfs_cosmic_gzip_close(struct tfs_cosmic_gzip *gzip); /* after finish or a failure */

#endif
