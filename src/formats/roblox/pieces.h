/*
 * A value or a payload as pieces of memory that lie where they were read or edited: so that writing
 * a place copies nothing that it does not change, and knows what that is.
 *
 * Pieces that follow each other in memory are one piece. What pieces point to belongs to others and
 * must stay, but for the few bytes in `made`.
 */
#ifndef TFS_FORMATS_ROBLOX_PIECES_H
#define TFS_FORMATS_ROBLOX_PIECES_H

#include "base/file.h"

struct tfs_rbx_pieces {
    struct tfs_span *items;
    size_t count;
    uint64_t size;       /* of all */
    struct tfs_buf made; /* reserved before the first piece of it is added: it must not move */
};

void tfs_rbx_pieces_release(struct tfs_rbx_pieces *pieces);

/* ENOMEM is sticky in made.failed, too: tfs_rbx_pieces_check. */
void tfs_rbx_pieces_add(struct tfs_rbx_pieces *pieces, struct tfs_span bytes);
/* Adds what was appended to `made` since it had `before` bytes. */
void tfs_rbx_pieces_add_made(struct tfs_rbx_pieces *pieces, size_t before);
void tfs_rbx_pieces_add_all(struct tfs_rbx_pieces *pieces, const struct tfs_rbx_pieces *from);
int tfs_rbx_pieces_check(const struct tfs_rbx_pieces *pieces, struct tfs_error *err);

/* Are they these bytes? */
bool tfs_rbx_pieces_equal(const struct tfs_rbx_pieces *pieces, struct tfs_span bytes);
int tfs_rbx_pieces_write(const struct tfs_rbx_pieces *pieces, struct tfs_sink *sink,
                         struct tfs_error *err);
/* The bytes that are read back must be these. */
int tfs_rbx_pieces_expect(const struct tfs_rbx_pieces *pieces, struct tfs_readback *written,
                          struct tfs_error *err);
/* Appends the bytes from `from` to `to`, as far as there are any. */
void tfs_rbx_pieces_copy(const struct tfs_rbx_pieces *pieces, uint64_t from, uint64_t to,
                         struct tfs_buf *out);

/* Compares pieces with bytes that come in order. */
struct tfs_rbx_comparison {
    const struct tfs_rbx_pieces *pieces;
    size_t item, offset; /* what comes next */
};

/* `at` must not be behind the end. */
struct tfs_rbx_comparison tfs_rbx_compare_from(const struct tfs_rbx_pieces *pieces, uint64_t at);
/* False: these are not the next bytes, or there are no more. */
bool tfs_rbx_compare_next(struct tfs_rbx_comparison *c, struct tfs_span bytes);
bool tfs_rbx_compare_end(const struct tfs_rbx_comparison *c);

#endif
