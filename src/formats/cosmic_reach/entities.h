/*
 * Block entities that are kept as bytes, because they are not understood: they keep their
 * coordinates when their chunk is moved or copied (FORMAT.md, section 7).
 */
#ifndef TFS_FORMATS_COSMIC_REACH_ENTITIES_H
#define TFS_FORMATS_COSMIC_REACH_ENTITIES_H

#include "formats/cosmic_reach/body.h"

/* Chunks with such. */
struct tfs_cosmic_odd {
    size_t count;
    struct tfs_key first;
};

/* 1: these bytes are understood to the last one, or the body has no entities; 0; -ENOMEM. */
int tfs_cosmic_entities_check(const struct tfs_cosmic_body *body, struct tfs_error *err);

/* Of a document that holds its chunks. */
int tfs_cosmic_odd_find(const struct tfs_doc *doc, struct tfs_cosmic_odd *odd,
                        struct tfs_error *err);
/* The line of info.txt about them; none without. `where`: "region_0_0_0.cosmicreach: ", or
 * empty. */
void tfs_cosmic_odd_print(const struct tfs_cosmic_odd *odd, const char *where, struct tfs_buf *out);

#endif
