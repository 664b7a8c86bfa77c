/*
 * A file of sectors: header, table, and blocks in whole sectors behind it. An entry of the table is
 * a u32le, first sector << 8 | count of sectors, 0: no block; a block is its u32le size and its
 * bytes. The header is the format's.
 *
 * No number of the file is trusted, and nothing is allocated by one: the format says how many
 * entries there are, and has checked that.
 */
#ifndef TFS_FORMATS_CONTAINERS_SECTORS_H
#define TFS_FORMATS_CONTAINERS_SECTORS_H

#include "base/file.h"

#define TFS_SECTORS_MAX       255 /* of one block */
#define TFS_SECTORS_FIRST_MAX UINT32_C(0xffffff)
#define TFS_SECTORS_SIZE      4  /* u32le in front of a block */
#define TFS_SECTORS_NAME      64 /* room for what sentences call an entry */

struct tfs_sectors {
    size_t table;     /* offset of the table */
    uint32_t entries; /* of the table */
    uint32_t size;    /* bytes of a sector */
    /* What sentences call an entry: "block 1 2 3". */
    void (*name)(const struct tfs_sectors *sectors, uint32_t index, char name[TFS_SECTORS_NAME]);
};

/* One entry of the table; count 0: no block. */
struct tfs_extent {
    uint32_t first; /* sector */
    uint32_t count; /* sectors */
};

/* The most bytes that fit the sectors of one block. */
uint32_t tfs_sectors_stored_max(const struct tfs_sectors *sectors);

/* Reads the table, which `bytes` hold whole, of a file of `size` bytes; refuses entries that cannot
 * be, and blocks that overlap. *extents: one for each entry, to be freed. */
int tfs_sectors_read(const struct tfs_sectors *sectors, struct tfs_span bytes, uint64_t size,
                     struct tfs_extent **extents, struct tfs_error *err);

/* Offset of a block's sectors, and how many bytes of them the file has. */
uint64_t tfs_extent_offset(const struct tfs_sectors *sectors, struct tfs_extent extent);
uint64_t tfs_extent_size(const struct tfs_sectors *sectors, struct tfs_extent extent,
                         uint64_t file_size);
/* A block's sectors in the bytes of a file; empty: there is no block. */
struct tfs_span tfs_extent_span(const struct tfs_sectors *sectors, struct tfs_extent extent,
                                struct tfs_span bytes);

/* The stored block in its sectors. One whose size does not fit them is all that they hold: it will
 * not decode, and shows that. */
struct tfs_span tfs_sectors_block(struct tfs_span sectors);

/* ---- writing --------------------------------------------------------------------------------- */

/* What becomes of one entry. */
struct tfs_sectors_change {
    uint32_t index;
    struct tfs_span stored; /* the new block; data NULL: there is none any more */
};

/* A file as it is. */
struct tfs_sectors_file {
    const struct tfs_sectors *sectors;
    struct tfs_span bytes;            /* empty: there is no file yet */
    const struct tfs_extent *extents; /* one for each entry */
};

/* Writes the file with changes, which are sorted by index. Blocks stay in the order of their
 * sectors, without holes; one that needs more sectors than it had goes to the end, as a new one
 * does. `header` is all that stands in front of the table; it may have another length than that of
 * `old`. */
int tfs_sectors_write(const struct tfs_sectors_file *old, struct tfs_span header,
                      const struct tfs_sectors_change *changes, size_t count, struct tfs_sink *sink,
                      struct tfs_error *err);

#endif
