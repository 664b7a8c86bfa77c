/*
 * Names and the numbers that arrays of a whole save give them. A number that was given stays as
 * long as the save is open: a new name gets the next one, and a name that is gone keeps its own, so
 * that a mapping never shows another name than it did. Number 0 is what is empty.
 *
 * Thread-safe.
 */
#ifndef TFS_FORMATS_ARRAYS_NUMBERS_H
#define TFS_FORMATS_ARRAYS_NUMBERS_H

#include "formats/format.h"
#include "formats/palette.h"

struct tfs_numbers;

#define TFS_NUMBERS_MAX 65536

/* What a game says of its names. */
struct tfs_numbering {
    const char *empty;           /* how number 0 is printed */
    struct tfs_name_rules rules; /* of names that the save lacks */
    bool (*is_empty)(struct tfs_span name);
    /* As tfs_renaming_kind.names. */
    int (*names)(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each, void *arg,
                 struct tfs_error *err);
};

/* The numbers of the save. All names of `doc` have one then; those that had none got theirs in
 * their order. */
int tfs_numbers_open(struct tfs_save *save, const struct tfs_doc *doc,
                     const struct tfs_numbering *numbering, struct tfs_numbers **numbers,
                     struct tfs_error *err);
void tfs_numbers_free(struct tfs_numbers *numbers); /* NULL is legal */

/* arrays/palette.txt, of a lens whose param is the numbering. */
int tfs_numbers_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err);

/* The number of a name: false, and nothing is set: it has none. */
bool tfs_numbers_find(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number);
/* The number of a name, which is a new one where it has none; 0 of what is empty. EFBIG when there
 * are no more. */
int tfs_numbers_add(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number,
                    struct tfs_error *err);
/* The name, valid as long as the numbers; false: no name has the number. */
bool tfs_numbers_name(struct tfs_numbers *numbers, uint64_t number, struct tfs_span *name);
uint32_t tfs_numbers_count(struct tfs_numbers *numbers);

/* Numbers of another moment or save, and the names that they mean: lines `NUMBER NAME`. */
struct tfs_renumbering {
    struct tfs_numbers *numbers;
    struct tfs_palette palette;
    uint32_t *map; /* UINT32_MAX: nobody asked for it */
};

/* EBADMSG with a line when the text is none such. To be released in any case. */
int tfs_renumbering_open(struct tfs_renumbering *r, struct tfs_numbers *numbers,
                         struct tfs_span text, struct tfs_error *err);
void tfs_renumbering_release(struct tfs_renumbering *r);
/* The number here of one there, which is below r->palette.count. Names that are new get one. */
int tfs_renumber(struct tfs_renumbering *r, uint64_t there, uint32_t *here, struct tfs_error *err);

#endif
