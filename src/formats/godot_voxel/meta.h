/*
 * meta.vxrm: what all regions of a folder have in common (FORMAT.md, section 6).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_META_H
#define TFS_FORMATS_GODOT_VOXEL_META_H

#include "base/buf.h"
#include "formats/godot_voxel/layout.h"

#define TFS_GODOT_META_NAME "meta.vxrm"
#define TFS_GODOT_META_MAX  (1u << 20) /* bytes that are read of one */

struct tfs_godot_meta {
    uint32_t version;   /* 2 or 3 */
    uint8_t po2;        /* block side 1 << po2 */
    uint8_t region_po2; /* region side in blocks 1 << region_po2 */
    uint16_t sector_size;
    uint8_t depths[TFS_GODOT_CHANNELS];
    uint32_t lods; /* levels that there may be */
};

/* EBADMSG or ENOTSUP with a sentence, with line and column where the text is no JSON. */
int tfs_godot_meta_parse(struct tfs_span text, struct tfs_godot_meta *meta, struct tfs_error *err);

/* Appends the text with its version become 3, and nothing else changed. */
int tfs_godot_meta_upgrade(struct tfs_span text, struct tfs_buf *out, struct tfs_error *err);

#endif
