/*
 * Where the chunks of a document lie, in areas of several stacks of chunks: what the tiles of a
 * picture show (formats/views/pictures/tile.c).
 *
 * An area has a number, which it keeps from document to document of a save, also while there is
 * nothing in it: so a file that is open goes on being the same tile, whatever areas come and go.
 */
#ifndef TFS_FORMATS_SAVE_TILE_AREAS_H
#define TFS_FORMATS_SAVE_TILE_AREAS_H

#include "formats/save/document.h"

struct tfs_area {
    struct tfs_key key; /* x and z count areas; the rest is 0 */
    uint32_t number;
};

struct tfs_doc_areas {
    atomic_uint refs; /* documents with the same keys share them */
    size_t count;
    struct tfs_area *items; /* by key */
    struct tfs_key *keys;   /* by number; those that are none have group UINT32_MAX */
    uint32_t end;           /* above all numbers */
};

/* Areas of x * z stacks of chunks of group 0, from coordinate 0 on. Found once; every caller with a
 * document of one save says the same x and z. NULL: no memory. Valid as long as the document. */
const struct tfs_doc_areas *tfs_doc_areas(const struct tfs_doc *doc, int32_t x, int32_t z);
/* NULL is legal in both. */
struct tfs_doc_areas *tfs_doc_areas_ref(struct tfs_doc_areas *areas);
void tfs_doc_areas_unref(struct tfs_doc_areas *areas);

/* The area that a chunk is in; and its number, or false where there is no such area. */
struct tfs_key tfs_area_of(struct tfs_key chunk, int32_t x, int32_t z);
bool tfs_doc_areas_find(const struct tfs_doc_areas *areas, struct tfs_key area, uint32_t *number);

/* The numbers of a save, which all documents of it share. */
struct tfs_area_numbers *tfs_area_numbers_create(void);
struct tfs_area_numbers *tfs_area_numbers_ref(struct tfs_area_numbers *numbers);
void tfs_area_numbers_unref(struct tfs_area_numbers *numbers); /* NULL is legal */

#endif
