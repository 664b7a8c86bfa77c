/*
 * The state of a block, an entry of a palette (FORMAT.md, section 5) <-> text:
 * minecraft:oak_log[axis=y].
 */
#ifndef TFS_FORMATS_MINECRAFT_STATE_H
#define TFS_FORMATS_MINECRAFT_STATE_H

#include "formats/minecraft/nbt.h"

#define TFS_MC_NAME_MAX 2048 /* bytes of the text of a state */

/* Appends the text of an entry, its properties as they are stored; EBADMSG: it has no name. */
int tfs_mc_state_print(struct tfs_span entry, struct tfs_buf *out, struct tfs_error *err);

/* Appends the entry that a text means; EBADMSG with a sentence. */
int tfs_mc_state_parse(struct tfs_span text, struct tfs_buf *entry, struct tfs_error *err);

/* Do two texts mean the same state, whatever the order of their properties? */
bool tfs_mc_state_same(struct tfs_span a, struct tfs_span b);

bool tfs_mc_state_is_air(struct tfs_span text);

#endif
