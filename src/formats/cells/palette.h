/*
 * The palette of a chunk whose voxels have names: lines `INDEX NAME`, as palette.txt of a chunk and
 * the header of blocks.txt have them, and the grid of indices behind that header.
 */
#ifndef TFS_FORMATS_CELLS_PALETTE_H
#define TFS_FORMATS_CELLS_PALETTE_H

#include "base/buf.h"
#include "formats/save/document.h"
#include "text/grid.h"
#include "text/lines.h"

#define TFS_PALETTE_KEYWORD "palette " /* in front of the lines of a header */

/* What names a game can write. */
struct tfs_name_rules {
    const char *unit; /* what has a name: "block" */
    size_t max;       /* bytes of one */
    uint32_t entries; /* of a table of them, at most */
    const char *air;  /* of an empty voxel; NULL: "air" */
};

/* Can this name be written: is it neither empty nor too long? EBADMSG at `line`. */
int tfs_name_check(const struct tfs_name_rules *rules, struct tfs_span name,
                   const struct tfs_line *line, struct tfs_error *err);

/* The line of an entry, and its number of bytes. */
void tfs_palette_print(struct tfs_buf *out, const char *prefix, uint32_t index,
                       struct tfs_span name);
size_t tfs_palette_line_size(const char *prefix, uint32_t index, struct tfs_span name);

/* A palette that a text gives, by lines in any order. */
struct tfs_palette {
    struct tfs_name_rules rules;
    uint32_t count; /* highest index + 1 */
    struct tfs_span *names;

    /* For palette.c only. */
    uint32_t given; /* lines */
    struct tfs_buf bytes;
    struct tfs_palette_entry {
        size_t at, size; /* in bytes */
        uint32_t line;   /* 0: not given */
    } * entries;         /* `max` */
};

/* Had the chunk the name before? Such a name may be as odd as it is. */
typedef bool (*tfs_palette_had_fn)(const void *arg, struct tfs_span name);

/* Both read a text into a palette with `rules` and `max`, else zeroed, which is to be released
 * after a failure too. No index may lack; a name that was not there before must be one that can be
 * written. The first is palette.txt; the second blocks.txt, whose grid has no index above the
 * palette's. */
int tfs_palette_read(struct tfs_palette *palette, struct tfs_span text, tfs_palette_had_fn had,
                     const void *arg, struct tfs_error *err);
int tfs_palette_read_grid(struct tfs_palette *palette, struct tfs_span text,
                          struct tfs_voxel_size size, tfs_palette_had_fn had, const void *arg,
                          uint32_t *indices, struct tfs_error *err);
void tfs_palette_release(struct tfs_palette *palette);

#endif
