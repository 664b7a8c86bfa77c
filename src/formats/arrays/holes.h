/*
 * Where the array of a save has chunks, and where it reads as zeros because there is none: for
 * lseek(SEEK_HOLE) and st_blocks. Nothing is decoded.
 */
#ifndef TFS_FORMATS_ARRAYS_HOLES_H
#define TFS_FORMATS_ARRAYS_HOLES_H

#include "formats/arrays/volume.h"

/* Of the bytes of the file: the first one from `offset` on that is in a hole, or (`hole` false)
 * that is in none; the file's size where there is none. Where the empty value is not 0 there are no
 * holes; smaller ones than a page do not count. */
uint64_t tfs_volume_seek(const struct tfs_volume *volume, uint64_t offset, bool hole);
/* Bytes that chunks have, and the head. */
uint64_t tfs_volume_stored(const struct tfs_volume *volume);

#endif
