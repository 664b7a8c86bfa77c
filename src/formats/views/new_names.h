/*
 * Names of voxels that edits brought into a save which had none like them: misspelt ones, mostly.
 *
 * What a save had is found by looking through its chunks, each once, and only when an edit brings a
 * name that its own chunk did not have.
 */
#ifndef TFS_FORMATS_VIEWS_NEW_NAMES_H
#define TFS_FORMATS_VIEWS_NEW_NAMES_H

#include "formats/format.h"

/* How many chunks a mount looks through for one edit. */
#define TFS_NEW_NAMES_LOOK 1024

/* Appends the names that the step from `before` to `after` brought, printed, with ", " between, to
 * `brought`, and that `look` chunks were not all of the save. One caller at a time for a save. */
int tfs_new_names_find(struct tfs_save *save, const struct tfs_doc *before,
                       const struct tfs_doc *after, size_t look, struct tfs_buf *brought,
                       struct tfs_error *err);

/* How they are told. */
#define TFS_NEW_NAMES_TEXT "warning: names new to the save: %.300s"

/* NULL is legal. */
void tfs_known_names_free(struct tfs_known_names *known);

#endif
