/*
 * The two layouts of a region file: how chunks are found in its bytes, and laid out again.
 *
 * Reading goes in steps that both layouts share: a table gives extents (chunks or columns), extents
 * are sorted by where they lie, each gives chunks, chunks become a document.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_REGION_H
#define TFS_FORMATS_COSMIC_REACH_REGION_H

#include "base/file.h"
#include "formats/cosmic_reach/body.h"
#include "formats/cosmic_reach/place.h"

/* What a region file says beside its chunks: facts->own of its documents, by tfs_cosmic_facts(). */
struct tfs_cosmic_facts {
    uint32_t version;     /* FileVersion 0-7 */
    uint32_t compression; /* enum tfs_cosmic_compression */
    uint32_t offset_type; /* enum tfs_cosmic_offset_type, versions 4-7 */
    uint8_t gzip_header[TFS_COSMIC_GZIP_HEADER];
    bool named; /* the file's name gives `region` */
    bool zone;  /* the document is that of a zone: the rest is what a new region of it would be */
    struct tfs_key region;
};

static inline struct tfs_cosmic_facts *tfs_cosmic_facts_of(const struct tfs_facts *facts)
{
    return facts->own;
}

static inline const struct tfs_cosmic_facts *tfs_cosmic_facts(const struct tfs_doc *doc)
{
    return tfs_cosmic_facts_of(doc->facts);
}

/* What the first bytes of a region file say: version and compression. */
int tfs_cosmic_region_look(struct tfs_span head, struct tfs_cosmic_facts *own,
                           struct tfs_error *err);
/* The bytes that chunks of a region are slices of, of a file that was decoded before. */
int tfs_cosmic_region_payload(struct tfs_blob *bytes, uint64_t limit, struct tfs_blob **payload,
                              struct tfs_error *err);
/* What a table entry points at: from `offset` up to the next extent or the end of the bytes. */
struct tfs_cosmic_extent {
    uint32_t slot;
    size_t offset;
    size_t end;
};

/* How often a fault was found, and a sentence about the first. */
struct tfs_cosmic_faults {
    unsigned count;
    char text[160];
};

struct tfs_cosmic_reader {
    struct tfs_blob *bytes; /* the file, or the inflated payload */
    const char *where;      /* in front of offsets: "" or "inflated " */
    struct tfs_facts *facts;
    struct tfs_cosmic_facts *own;
    struct tfs_key region;
    struct tfs_cosmic_extent *extents;
    size_t extent_count;
    struct tfs_chunk *chunks; /* room for every chunk of a region */
    size_t chunk_count;
    uint64_t order; /* of the next extent in the order of the data */
    struct tfs_cosmic_faults sizes, gaps, bright;
};

/* Whole chunks of a region out of the bytes; both begin at the count in front of the table. */
int tfs_cosmic_table_read(struct tfs_cosmic_reader *r, struct tfs_error *err);
int tfs_cosmic_columns_read(struct tfs_cosmic_reader *r, size_t start, struct tfs_error *err);

/* Of the beginning of columns, the reader as `arg`: EBADMSG when nothing that may follow makes a
 * region of it. */
int tfs_cosmic_columns_look(void *arg, struct tfs_span so_far, struct tfs_error *err);

/* And back, from the count on. */
int tfs_cosmic_table_write(const struct tfs_doc *doc, struct tfs_sink *sink, struct tfs_error *err);
int tfs_cosmic_columns_write(const struct tfs_doc *doc, struct tfs_sink *sink,
                             struct tfs_error *err);

/* ---- reader.c: what both layouts need -------------------------------------------------------- */

/* A cursor over the bytes up to `end`, at `offset`. */
struct tfs_cursor tfs_cosmic_cursor(const struct tfs_cosmic_reader *r, size_t offset, size_t end);

/* Chunk coordinates at the cursor. */
struct tfs_key tfs_cosmic_take_key(struct tfs_cursor *c);

/* A table entry that is not -1; `offset` is absolute. An extent has at least `header` bytes and
 * does not begin before `data`. */
int tfs_cosmic_extent_add(struct tfs_cosmic_reader *r, uint32_t slot, int64_t offset, size_t data,
                          size_t header, struct tfs_error *err);

/* After the last one: sorts, sets the ends, refuses two at one offset, notes a gap in front. */
int tfs_cosmic_extents_sort(struct tfs_cosmic_reader *r, size_t data, struct tfs_error *err);

/* Sets own->named and own->region from the last component of `path`, which may be NULL. */
void tfs_cosmic_region_named(struct tfs_cosmic_facts *own, const char *path);

/* Sets r->region: from the name; else that of the first extent whose coordinates (`header` bytes
 * behind its offset) fit its slot. EBADMSG when the name is that of another region. */
int tfs_cosmic_region_find(struct tfs_cosmic_reader *r, size_t header,
                           uint32_t (*slot_of)(struct tfs_key chunk), struct tfs_error *err);

/* A chunk whose body is [start, end) of the bytes. `damage` says why it is not readable; NULL: it
 * is. The damage is forgotten. */
int tfs_cosmic_chunk_add(struct tfs_cosmic_reader *r, struct tfs_key key, uint32_t version,
                         size_t start, size_t end, struct tfs_error *damage, struct tfs_error *err);

/* Size field against what the parse found, and what is left up to the end of the extent. */
void tfs_cosmic_extent_end(struct tfs_cosmic_reader *r, const struct tfs_cosmic_extent *extent,
                           int32_t size, size_t end);

/* The count in front of the table against the table. */
int tfs_cosmic_count_check(struct tfs_cosmic_reader *r, int32_t count, const char *what,
                           struct tfs_error *err);

/* All chunks of a document in the order of their data; columns stay together, y ascending. To be
 * freed with free(). */
int tfs_cosmic_data_order(const struct tfs_doc *doc, bool columns, const struct tfs_chunk ***chunks,
                          struct tfs_error *err);

/* Appends x, y, z. */
void tfs_cosmic_add_key(struct tfs_buf *out, struct tfs_key key);

#endif
