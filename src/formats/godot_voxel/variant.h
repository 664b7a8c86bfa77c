/*
 * Encoded Variants of Godot 3 and Godot 4: how long they are, and from the one to the other
 * (FORMAT.md, sections 4 and 9). Their values mean nothing here.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_VARIANT_H
#define TFS_FORMATS_GODOT_VOXEL_VARIANT_H

#include "base/buf.h"

enum tfs_godot_engine { TFS_GODOT_ENGINE_3, TFS_GODOT_ENGINE_4 };

/* Takes one Variant off the cursor; false when what is there is none, is cut, or lies more than 512
 * levels deep. The cursor has failed then. */
bool tfs_godot_variant_take(struct tfs_cursor *c, enum tfs_godot_engine engine);

/* Is this exactly one Variant? */
bool tfs_godot_variant_valid(struct tfs_span bytes, enum tfs_godot_engine engine);

/* Appends a Variant of Godot 3 as one of Godot 4. EBADMSG: it has no counterpart there. */
int tfs_godot_variant_upgrade(struct tfs_span variant, struct tfs_buf *out, struct tfs_error *err);

#endif
