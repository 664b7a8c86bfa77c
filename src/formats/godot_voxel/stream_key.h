/*
 * Keys of a stream's rows <-> coordinates and level of detail, in four formats
 * (FORMAT.md, section 7).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_STREAM_KEY_H
#define TFS_FORMATS_GODOT_VOXEL_STREAM_KEY_H

#include "base/bytes.h"
#include "formats/save/document.h"

enum tfs_godot_key_format {
    TFS_GODOT_KEY_INT64_16, /* lod << 48, x << 32, y << 16, z */
    TFS_GODOT_KEY_INT64_19, /* lod << 57, x << 38, y << 19, z */
    TFS_GODOT_KEY_TEXT,     /* "x,y,z,lod" */
    TFS_GODOT_KEY_BLOB,     /* ten bytes: x, y << 25, z << 50, lod << 75 */
    TFS_GODOT_KEY_FORMATS
};

/* A key as the database has it: a number, or bytes of a text or blob. */
#define TFS_GODOT_LOC_MAX 48
struct tfs_godot_loc {
    int64_t number;
    size_t size;
    uint8_t bytes[TFS_GODOT_LOC_MAX];
};

/* For people: "2 (text)". */
const char *tfs_godot_key_format_name(enum tfs_godot_key_format format);

/* The coordinates that a format can hold; the same along all axes. */
void tfs_godot_key_bounds(enum tfs_godot_key_format format, int32_t *low, int32_t *high);

/* Of a key within the bounds. */
void tfs_godot_key_encode(enum tfs_godot_key_format format, struct tfs_key key,
                          struct tfs_godot_loc *loc);

/* False: this is no key, or not the one that its coordinates have. */
bool tfs_godot_key_decode(enum tfs_godot_key_format format, int64_t number, struct tfs_span bytes,
                          struct tfs_key *key);

#endif
