/*
 * Instance blocks: where trees and stones stand (FORMAT.md, section 7). They are
 * checked and never changed, because their numbers lose by being read and written.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_INSTANCES_H
#define TFS_FORMATS_GODOT_VOXEL_INSTANCES_H

#include "base/blob.h"

/* Is this an instance block in a container? EBADMSG with a sentence. */
int tfs_godot_instances_check(struct tfs_blob *stored, struct tfs_error *err);

#endif
