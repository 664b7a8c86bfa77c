/*
 * A chunk body: block data, sky light, block light, block entities, back to back.
 *
 * In a document a chunk is this body (tfs_chunk.blob) and its version (tfs_chunk.tag): the version
 * of the chunk itself in FileVersion 0-3, of its column in 4-7. It decides whether there is an
 * entity section (FORMAT.md, section 3).
 */
#ifndef TFS_FORMATS_COSMIC_REACH_BODY_H
#define TFS_FORMATS_COSMIC_REACH_BODY_H

#include "formats/cosmic_reach/blocks.h"
#include "formats/cosmic_reach/light.h"
#include "formats/format.h"

enum tfs_cosmic_section {
    TFS_COSMIC_SECTION_BLOCKS,
    TFS_COSMIC_SECTION_SKY,
    TFS_COSMIC_SECTION_LIGHT,
    TFS_COSMIC_SECTION_ENTITIES, /* empty in version 0 */
    TFS_COSMIC_SECTIONS
};

/* Where the sections of a body lie, each with its type byte. */
struct tfs_cosmic_body {
    struct tfs_span sections[TFS_COSMIC_SECTIONS];
};

/* Takes one body off the cursor. Everything but the indices of the block data is checked. */
int tfs_cosmic_body_take(struct tfs_cursor *c, uint32_t version, struct tfs_cosmic_body *body,
                         struct tfs_error *err);

/* A body that fills `bytes` exactly. */
int tfs_cosmic_body_split(struct tfs_span bytes, uint32_t version, struct tfs_cosmic_body *body,
                          struct tfs_error *err);

/* The indices of the block data; offsets in the sentence count from `start`. */
int tfs_cosmic_body_check(const struct tfs_cosmic_body *body, const uint8_t *start,
                          struct tfs_error *err);

/* The version of a chunk's body. */
static inline uint32_t tfs_cosmic_chunk_version(const struct tfs_chunk *chunk)
{
    return chunk->tag;
}

/* What tfs_chunk.own means here, each by one of these:
 *   - in a region: the order of the chunk, or of its column, in the data;
 *   - in a zone, unread: the hash of its body, so that what another program left as it was is no
 *     change, and nothing else is taken for it;
 *   - in a zone, edited: TFS_OWN_NEW. */
static inline uint64_t tfs_cosmic_chunk_order(const struct tfs_chunk *chunk)
{
    return chunk->own;
}

static inline uint64_t tfs_cosmic_chunk_hash(const struct tfs_chunk *chunk)
{
    return chunk->own;
}

/* The order of a chunk at `key` in the data of a region: where it stands, else with its column
 * (where the file knows `columns`), else behind all others. */
uint64_t tfs_cosmic_order_at(const struct tfs_doc *doc, struct tfs_key key, bool columns);
/* Some chunk of the column that `key` is in; NULL: there is none. */
const struct tfs_chunk *tfs_cosmic_column_of(const struct tfs_doc *doc, struct tfs_key key);

/* A chunk of a document with its bytes at hand, whether the document holds them or not. */
struct tfs_cosmic_chunk {
    struct tfs_chunk in; /* as in the document; in.blob is a reference, in all of them */
    struct tfs_cosmic_body body;
};

/* ENOENT when there is no such chunk. Nothing needs closing after a failure. */
int tfs_cosmic_chunk_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                          struct tfs_cosmic_chunk *chunk, struct tfs_error *err);
/* The same, whatever its bytes say: `body` is not set. */
int tfs_cosmic_chunk_fetch(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                           struct tfs_cosmic_chunk *chunk, struct tfs_error *err);
void tfs_cosmic_chunk_close(struct tfs_cosmic_chunk *chunk); /* all 0 is legal */

/* Makes these bytes the body of the chunk; nothing changes when they are. */
int tfs_cosmic_body_put(struct tfs_edit *edit, const struct tfs_cosmic_chunk *chunk,
                        struct tfs_span bytes, struct tfs_error *err);

/* The same with one section replaced. A `bytes` buffer that failed is ENOMEM. */
int tfs_cosmic_section_put(struct tfs_edit *edit, const struct tfs_cosmic_chunk *chunk,
                           enum tfs_cosmic_section section, const struct tfs_buf *bytes,
                           struct tfs_error *err);

/* Appends the body that a chunk of version `from` at `old` has at `new`, where its version is `to`:
 * block entities that can be read keep their place within the chunk. EINVAL: a chunk of that
 * version cannot hold it. */
int tfs_cosmic_body_move(struct tfs_span bytes, uint32_t from, uint32_t to, struct tfs_key old,
                         struct tfs_key new, struct tfs_buf *out, struct tfs_error *err);

/* The block entities of a body, without type and length; false when there are none. */
bool tfs_cosmic_entities_of(const struct tfs_cosmic_body *body, struct tfs_span *bytes);
/* Appends block entities as they are in `chunk`, to which their bytes were copied, if all of them
 * lie in one other chunk: 1; 0: they stay as they are. -ENOMEM. */
int tfs_cosmic_entities_settle(struct tfs_span bytes, struct tfs_key chunk, struct tfs_buf *out,
                               struct tfs_error *err);

/* The empty chunk of section 5, "Empty chunk". */
void tfs_cosmic_body_empty(struct tfs_buf *out, uint32_t version);

#endif
