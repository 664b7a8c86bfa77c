/*
 * The compressed container around one block: stored bytes <-> payload (FORMAT.md, section 2).
 *
 * Nothing in the bytes says for certain which kind they are; so all kinds are tried in a fixed
 * order, and the first whose payload the caller can parse to its end is the one.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_WRAP_H
#define TFS_FORMATS_GODOT_VOXEL_WRAP_H

#include "base/blob.h"
#include "formats/godot_voxel/layout.h"

/* In the order in which they are tried. */
enum tfs_godot_kind {
    TFS_GODOT_BARE,       /* the payload itself */
    TFS_GODOT_STORED,     /* 00, payload */
    TFS_GODOT_LZ4_BE,     /* 01, u32 big-endian size, LZ4: Godot 3 */
    TFS_GODOT_LZ4,        /* 02, u32 size, LZ4: default of Godot 4 */
    TFS_GODOT_ZSTD,       /* 03, u32 size, Zstandard */
    TFS_GODOT_LZ4_BROKEN, /* 01 with a little-endian size; written back as LZ4 */
    TFS_GODOT_HEADERLESS, /* u32 size, LZ4 */
    TFS_GODOT_KINDS
};

/* For people: "LZ4". */
const char *tfs_godot_kind_name(enum tfs_godot_kind kind);

/* Is this a kind that engines read inside regions and databases? */
bool tfs_godot_kind_is_cased(enum tfs_godot_kind kind);

/* Does the payload parse to its end? 0 or negative with a sentence. */
typedef int (*tfs_godot_parse_fn)(void *arg, struct tfs_span payload, struct tfs_error *err);

/* May a payload begin with these TFS_GODOT_HEADER_SIZE bytes? Asked before more of it is unpacked,
 * where that can be. */
typedef int (*tfs_godot_begins_fn)(struct tfs_span head, struct tfs_error *err);

/* Tries all kinds. *payload is a reference; where nothing is compressed a slice of `stored`.
 * EBADMSG: no kind fits; the sentence is that of the most likely one. `begins` may be NULL. */
int tfs_godot_unwrap(struct tfs_blob *stored, tfs_godot_begins_fn begins, tfs_godot_parse_fn parse,
                     void *arg, enum tfs_godot_kind *kind, struct tfs_blob **payload,
                     struct tfs_error *err);

/* Can the first bytes, `head`, of `size` ones begin any of the kinds, with a payload that begins as
 * `begins` says? True also where those do not tell. */
bool tfs_godot_may_begin(struct tfs_span head, uint64_t size, tfs_godot_begins_fn begins);

/* The first bytes, at most `size` and few, of the payload of an LZ4 container; returns how many. 0:
 * it is none. What follows may be damaged. */
size_t tfs_godot_peek(struct tfs_span stored, uint8_t *head, size_t size);

/* Appends the payload in a container of that kind, as the engine does it (LZ4_BROKEN: as LZ4). */
int tfs_godot_wrap(enum tfs_godot_kind kind, struct tfs_span payload, struct tfs_buf *out,
                   struct tfs_error *err);

#endif
