/*
 * Names and the numbers that arrays of a whole save give them. A number that was given stays as
 * long as the save is open: a new name gets the next one, and a name that is gone keeps its own, so
 * that a mapping never shows another name than it did. Number 0 is what is empty.
 *
 * Thread-safe.
 */
#ifndef TFS_FORMATS_ARRAYS_NUMBERS_H
#define TFS_FORMATS_ARRAYS_NUMBERS_H

#include "base/buf.h"

struct tfs_save;
struct tfs_numbers;

#define TFS_NUMBERS_MAX 65536

/* Those of a save, made when they are first asked for, with `empty` as number 0. */
int tfs_numbers_of(struct tfs_save *save, struct tfs_span empty, struct tfs_numbers **numbers,
                   struct tfs_error *err);
void tfs_numbers_free(struct tfs_numbers *numbers); /* NULL is legal */

/* The number of a name, which is a new one where it has none. EFBIG when there are no more. */
int tfs_numbers_add(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number,
                    struct tfs_error *err);
/* The name, valid as long as the numbers; false: no name has the number. */
bool tfs_numbers_name(struct tfs_numbers *numbers, uint64_t number, struct tfs_span *name);
uint32_t tfs_numbers_count(struct tfs_numbers *numbers);

/* Have all names of the document of that version a number? tfs_numbers_know says that they have. */
bool tfs_numbers_are_known(struct tfs_numbers *numbers, uint64_t version);
void tfs_numbers_know(struct tfs_numbers *numbers, uint64_t version);

#endif
