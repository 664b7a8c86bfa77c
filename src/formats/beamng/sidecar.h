/*
 * The text NAME.terrain.json beside NAME.ter, of which only the list of materials concerns us
 * (FORMAT.md, section 5). It is never made, and a strange one is never touched.
 */
#ifndef TFS_FORMATS_BEAMNG_SIDECAR_H
#define TFS_FORMATS_BEAMNG_SIDECAR_H

#include "formats/beamng/terrain.h"

/* The path of the sidecar of that save, for the caller to free. NULL: the save's name does not end
 * in .ter, so it has none (errno 0), or there is no memory (errno ENOMEM). */
char *tfs_beamng_sidecar_path(const char *save_path);

/* What this text says about these names; never ABSENT. 0 or -ENOMEM. */
int tfs_beamng_sidecar_compare(struct tfs_span json, struct tfs_beamng_names names,
                               enum tfs_beamng_sidecar_state *state);

/* Appends the text with these names as its materials, all else as it is. Of one that is DAMAGED:
 * nothing. */
void tfs_beamng_sidecar_rewrite(struct tfs_span json, struct tfs_beamng_names names,
                                struct tfs_buf *out);

/* The sidecar of a save on disk. 0 or -ENOMEM. */
int tfs_beamng_sidecar_look(const char *save_path, struct tfs_beamng_names names,
                            enum tfs_beamng_sidecar_state *state);

/* Writes the one with these names, where it has others, under a temp name that is durable then:
 * *next, to be cancelled. Nothing where that cannot be. */
void tfs_beamng_sidecar_prepare(const char *save_path, struct tfs_beamng_names names,
                                struct tfs_replacement *next);
/* Did a process that was killed leave one with these names under a temp name? */
bool tfs_beamng_sidecar_is_prepared(const char *save_path, struct tfs_beamng_names names);

/* Replaces it by one with these names where it has others; one that is absent or damaged stays as
 * it is. *state: what is there then. */
int tfs_beamng_sidecar_update(const char *save_path, struct tfs_beamng_names names,
                              struct tfs_keeper *keeper, enum tfs_beamng_sidecar_state *state,
                              struct tfs_error *err);

#endif
