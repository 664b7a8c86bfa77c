/*
 * Which files of a tree `-o views=` chooses: "voxels+raw" <-> enum tfs_file_views (format.h), and
 * what is asked about them. Knows no document.
 */
#ifndef TFS_FORMATS_VIEWS_VIEW_SETS_H
#define TFS_FORMATS_VIEWS_VIEW_SETS_H

#include "formats/format.h"

/* Names joined by `+`. EINVAL with a sentence. */
int tfs_chosen_parse(struct tfs_span text, unsigned *views, struct tfs_error *err);
/* Appends the names, joined by `+`. */
void tfs_chosen_print(unsigned views, struct tfs_buf *out);

/* Is every file shown? */
bool tfs_chosen_all(unsigned views);
/* Is the file one of those? */
bool tfs_file_is_chosen(const struct tfs_file *file, unsigned views);
/* Is it shown as long as voxels.csv does not say what it says? Of a file that is chosen. */
bool tfs_file_completes_table(const struct tfs_file *file, unsigned views);

/* Are columns of voxels.csv all that says how deep their values are stored? */
bool tfs_chosen_depths(unsigned views);

/* Has a tree files of chunks of every set? EINVAL with a sentence. */
int tfs_chosen_check(const struct tfs_tree *tree, unsigned views, struct tfs_error *err);

#endif
