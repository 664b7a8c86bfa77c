/*
 * What no container takes -> the most helpful sentence that can be said about it.
 */
#ifndef TFS_FORMATS_STRANGER_H
#define TFS_FORMATS_STRANGER_H

#include "formats/format.h"

/* Is it a container of this format? NULL: of any. */
bool tfs_container_is_of(const struct tfs_container *container, const char *format);
/* Has the file a name that such saves have? */
bool tfs_container_is_named(const struct tfs_container *container, const char *path);

/* Fails: there is no format of that name, only these. */
int tfs_fail_format(const char *format, struct tfs_error *err);

/* Does the path end as the names of saves do, of this format? NULL: of any. */
bool tfs_stranger_named(const char *path, const char *format);

/* Is it a file that begins as no save does, such as a pointer of Git LFS or an archive? Then fails
 * and says so. */
bool tfs_stranger_known(const struct tfs_probe *probe, struct tfs_error *err);

/* Fails: says what the file or folder is, and what to open instead. `format`: the one that was
 * asked for, or NULL. */
int tfs_fail_stranger(const struct tfs_probe *probe, const char *format, struct tfs_error *err);

#endif
