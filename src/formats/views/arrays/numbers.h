/*
 * arrays/palette.txt: names and the numbers that arrays give them, lines `NUMBER NAME`. A number
 * that was given stays as long as the save is open: a new name gets the next one, and a name that
 * is gone keeps its own, so that a mapping never shows another name than it did. Number 0 is what
 * is empty.
 *
 * Thread-safe.
 */
#ifndef TFS_FORMATS_VIEWS_ARRAYS_NUMBERS_H
#define TFS_FORMATS_VIEWS_ARRAYS_NUMBERS_H

#include "formats/cells/cells.h"

struct tfs_numbers;

/* Those of a save, in which only what is empty has one; NULL: no memory. */
struct tfs_numbers *tfs_numbers_create(const struct tfs_cells_kind *cells);
void tfs_numbers_free(struct tfs_numbers *numbers); /* NULL is legal */
/* The numbers of the save. All names of `doc` have one then; those that had none got theirs in
 * their order. */
int tfs_numbers_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_numbers **numbers,
                     struct tfs_error *err);

/* The number of a name, which is a new one where it has none; 0 of what is empty. EFBIG when there
 * are no more. */
int tfs_numbers_add(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number,
                    struct tfs_error *err);
/* Appends the name; false: no name has the number. */
bool tfs_numbers_name(struct tfs_numbers *numbers, uint64_t number, struct tfs_buf *name);
uint32_t tfs_numbers_count(struct tfs_numbers *numbers);

/* The number here of each number of another moment or save, which such lines say: *count of them,
 * to be freed. Names that are new get numbers. EBADMSG with a line when the text is none such. */
int tfs_numbers_translate(struct tfs_numbers *numbers, struct tfs_span text, uint32_t **map,
                          uint32_t *count, struct tfs_error *err);

#endif
