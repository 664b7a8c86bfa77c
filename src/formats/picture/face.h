/*
 * What a chunk shows from above, packed: few colours and low heights take one and a half bytes a
 * column instead of the twelve of struct tfs_column.
 */
#ifndef TFS_FORMATS_PICTURE_FACE_H
#define TFS_FORMATS_PICTURE_FACE_H

#include "formats/picture/picture.h"

/* What columns have in common that differ in height alone. */
struct tfs_look {
    uint32_t colour, bed;
    uint16_t water;
};

struct tfs_face {
    size_t size;            /* bytes in memory */
    size_t step;            /* 0: all columns are as the first one */
    struct tfs_look *looks; /* by what `which` says of a column */
    uint16_t *tops;         /* of each column */
    uint8_t *low_tops;      /* the same in place of `tops`, where all are below 256 */
    uint8_t *which;         /* NULL: columns have a look each, in their order */
    bool nibbles;           /* `which` holds two in a byte, the first one low */
};

/* Packs `count` columns; *face is NULL where all are empty. To be freed with free(). */
int tfs_face_pack(const struct tfs_column *columns, size_t count, struct tfs_face **face,
                  struct tfs_error *err);

static inline uint16_t tfs_face_top(const struct tfs_face *face, size_t column)
{
    return face->low_tops != NULL ? face->low_tops[column] : face->tops[column];
}

/* The look of a column where `which` holds nibbles. */
static inline const struct tfs_look *tfs_face_nibble(const struct tfs_face *face, size_t column)
{
    return &face->looks[face->which[column / 2] >> column % 2 * 4 & 0xf];
}

/* The look of a column that is not empty. */
static inline const struct tfs_look *tfs_face_look(const struct tfs_face *face, size_t column)
{
    if (face->which == NULL)
        return &face->looks[column];
    if (face->nibbles)
        return tfs_face_nibble(face, column);
    return &face->looks[face->which[column]];
}

#endif
