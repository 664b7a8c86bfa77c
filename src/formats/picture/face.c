/*
 * Columns -> a face: heights, and which of a few looks each column has.
 *
 * Must not know chunks, nor pictures.
 */
#include "formats/picture/face.h"

#include <stdlib.h>
#include <string.h>

#define LOOKS_MAX    256 /* a byte tells them apart */
#define NIBBLE_LOOKS 16

static struct tfs_look look_of(const struct tfs_column *column)
{
    return (struct tfs_look){column->colour, column->bed, column->water};
}

static bool same_look(const struct tfs_look *a, const struct tfs_look *b)
{
    return a->colour == b->colour && a->bed == b->bed && a->water == b->water;
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* Distinct looks of columns that are not empty, and which each column has. */
struct palette {
    struct tfs_look looks[LOOKS_MAX];
    size_t count;
    uint8_t *which;
};

/* The number of a look, added if it is new; LOOKS_MAX: there are too many. */
static size_t palette_find(struct palette *p, struct tfs_look look)
{
    size_t i = 0;

    while (i < p->count && !same_look(&p->looks[i], &look))
        i++;
    if (i == p->count && i < LOOKS_MAX)
        p->looks[p->count++] = look;
    return i;
}

/* False: there are too many. Most columns have the look of the one before. */
static bool palette_fill(struct palette *p, const struct tfs_column *columns, size_t count)
{
    struct tfs_look look = {0};
    size_t last = 0;

    for (size_t i = 0; i < count; i++) {
        const struct tfs_column *c = &columns[i];
        const bool same = c->colour == look.colour && c->bed == look.bed && c->water == look.water;
        if (c->top > 0 && (!same || p->count == 0)) {
            look = look_of(c);
            last = palette_find(p, look);
        }
        if (last == LOOKS_MAX)
            return false;
        p->which[i] = (uint8_t)last;
    }
    return true;
}

/* ---- packing --------------------------------------------------------------------------------- */

static bool are_low(const struct tfs_column *columns, size_t count)
{
    unsigned tops = 0;

    for (size_t i = 0; i < count; i++)
        tops |= columns[i].top;
    return tops <= UINT8_MAX;
}

/* A face with room behind it; `p` NULL: for a look each. */
static struct tfs_face *face_alloc(size_t count, const struct palette *p, bool low)
{
    const size_t looks = p != NULL ? p->count : count;
    const bool nibbles = p != NULL && p->count <= NIBBLE_LOOKS;
    const size_t at_tops = sizeof(struct tfs_face) + looks * sizeof(struct tfs_look);
    const size_t at_which = at_tops + count * (low ? sizeof(uint8_t) : sizeof(uint16_t));
    const size_t size = at_which + (p == NULL ? 0 : nibbles ? (count + 1) / 2 : count);
    struct tfs_face *face = calloc(1, size);
    uint8_t *bytes = (uint8_t *)face;

    if (face != NULL)
        *face = (struct tfs_face){
            .size = size,
            .step = 1,
            .looks = (struct tfs_look *)(face + 1),
            .tops = low ? NULL : (uint16_t *)(bytes + at_tops),
            .low_tops = low ? bytes + at_tops : NULL,
            .which = p != NULL ? bytes + at_which : NULL,
            .nibbles = nibbles,
        };
    return face;
}

static void fill_which(struct tfs_face *face, const struct palette *p, size_t count)
{
    if (!face->nibbles)
        memcpy(face->which, p->which, count);
    for (size_t i = 0; face->nibbles && i + 1 < count; i += 2)
        face->which[i / 2] = (uint8_t)(p->which[i] | p->which[i + 1] << 4);
    if (face->nibbles && count % 2 == 1)
        face->which[count / 2] = p->which[count - 1];
}

static int face_make(const struct tfs_column *columns, size_t count, const struct palette *p,
                     struct tfs_face **face, struct tfs_error *err)
{
    struct tfs_face *made = face_alloc(count, p, are_low(columns, count));

    if (made == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; made->low_tops != NULL && i < count; i++)
        made->low_tops[i] = (uint8_t)columns[i].top;
    for (size_t i = 0; made->low_tops == NULL && i < count; i++)
        made->tops[i] = columns[i].top;
    for (size_t i = 0; p == NULL && i < count; i++)
        made->looks[i] = look_of(&columns[i]);
    if (p != NULL) {
        memcpy(made->looks, p->looks, p->count * sizeof(*p->looks));
        fill_which(made, p, count);
    }
    *face = made;
    return 0;
}

static bool are_equal(const struct tfs_column *columns, size_t count)
{
    size_t same = 1;

    while (same < count && memcmp(&columns[same], columns, sizeof(*columns)) == 0)
        same++;
    return same == count;
}

int tfs_face_pack(const struct tfs_column *columns, size_t count, struct tfs_face **face,
                  struct tfs_error *err)
{
    struct palette p = {.count = 0};

    *face = NULL;
    if (are_equal(columns, count)) {
        if (columns[0].top > 0 && face_make(columns, 1, NULL, face, err) == 0)
            (*face)->step = 0;
        return err->code;
    }
    p.which = malloc(count);
    if (p.which == NULL)
        return tfs_fail_memory(err);
    face_make(columns, count, palette_fill(&p, columns, count) ? &p : NULL, face, err);
    free(p.which);
    return err->code;
}
