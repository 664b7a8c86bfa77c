/*
 * What the fuzz targets of edits share: the first byte chooses a small save, the others are edits
 * of it (lens_check.h).
 */
#ifndef TFS_TESTS_EDIT_TARGET_H
#define TFS_TESTS_EDIT_TARGET_H

#include "lens_check.h"
#include "fuzz_saves.h"

/* Edits in memory, of saves that were opened once. Those that are one file are also encoded and
 * decoded again. */
void edit_target(const enum fuzz_save *kinds, size_t count, struct tfs_span bytes);

/* Edits of a save made for this call, which are committed; opened anew it has what was
 * committed. */
void commit_target(const enum fuzz_save *kinds, size_t count, struct tfs_span bytes);

/* What lies at that path, whatever it is: refused with a sentence, or a save that obeys the laws as
 * far as its chunks decode; then it is edited and committed as above. */
void strange_target(const char *path, struct tfs_span edits);

#endif
