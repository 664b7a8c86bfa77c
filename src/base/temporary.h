/*
 * A file without a name, for what is too much for memory: it is gone with its descriptor.
 */
#ifndef TFS_BASE_TEMPORARY_H
#define TFS_BASE_TEMPORARY_H

#include "base/bytes.h"

/* In $TMPDIR, /var/tmp or /tmp. A descriptor, or negative errno. */
int tfs_temporary_open(void);
/* 0 or negative errno. */
int tfs_temporary_write(int fd, uint64_t offset, struct tfs_span bytes);
/* Behind the end of the file there is nothing but zeros. 0 or negative errno. */
int tfs_temporary_read(int fd, uint64_t offset, size_t size, uint8_t *out);

#endif
