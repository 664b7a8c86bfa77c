/*
 * The bytes of a `.ter` file: its header, its planes of samples, its table of material names, and
 * which of the known layouts it has (FORMAT.md, sections 1 and 4).
 */
#ifndef TFS_FORMATS_BEAMNG_TER_H
#define TFS_FORMATS_BEAMNG_TER_H

#include "base/buf.h"

#define TFS_BEAMNG_HEADER     5     /* u8 version, u32 side */
#define TFS_BEAMNG_SIDE_MAX   16384 /* samples a side */
#define TFS_BEAMNG_HOLE       255   /* the layer number of a hole */
#define TFS_BEAMNG_NAMES_MAX  65535 /* entries of the name table */
#define TFS_BEAMNG_LENGTH_MAX 65535 /* bytes of a name */

/* What a file must be told to read and write it back the same. */
struct tfs_beamng_layout {
    uint32_t side;   /* samples from west to east, and from south to north */
    uint8_t version; /* 7, 8, 9 */
    uint8_t extra;   /* bytes a sample beyond height and layer: 0, 1, 4, 5 */
    bool nul;        /* a 00 after each name */
};

/* One value a sample, in a block of the file: sample (x, z) is at `x + z * side`, row 0 is south.
 * `before` bytes a sample lie in the blocks before it. */
struct tfs_beamng_plane {
    const char *name;
    uint8_t before;
    uint8_t bytes; /* little-endian */
};

extern const struct tfs_beamng_plane tfs_beamng_heights, tfs_beamng_layers, tfs_beamng_corners;

/* All planes, in the order of the file: heights, layers, others. */
#define TFS_BEAMNG_EXTRA 2 /* the first of the others: corners, or texture and coverage */
unsigned tfs_beamng_plane_count(const struct tfs_beamng_layout *layout);
const struct tfs_beamng_plane *tfs_beamng_plane_at(const struct tfs_beamng_layout *layout,
                                                   unsigned i);

/* "7 bytes a sample: heights, layers, corners", for people. */
const char *tfs_beamng_layout_name(const struct tfs_beamng_layout *layout);

/* Bytes a sample, and samples. */
unsigned tfs_beamng_sample_size(const struct tfs_beamng_layout *layout);
uint64_t tfs_beamng_samples(const struct tfs_beamng_layout *layout);
/* Where the name table begins. */
uint64_t tfs_beamng_table_at(const struct tfs_beamng_layout *layout);

/* Has a file of this name, or path, a terrain in it? */
bool tfs_beamng_is_terrain(const char *name);

/* ---- the name table -------------------------------------------------------------------------- */

/* A walk over a table. A fresh one has `left` entries to come, as the table says. */
struct tfs_beamng_names {
    struct tfs_cursor in;
    uint32_t left;
    bool nul;
};

struct tfs_beamng_names tfs_beamng_names_init(struct tfs_span table, bool nul);
/* False at the end, or where the table is damaged (in.failed). */
bool tfs_beamng_names_next(struct tfs_beamng_names *names, struct tfs_span *name);

/* Appends a name in its shortest form. */
void tfs_beamng_name_add(struct tfs_buf *out, struct tfs_span name, bool nul);

/* ---- reading --------------------------------------------------------------------------------- */

/* Version and side from the first bytes of a file of `size` bytes: EBADMSG, ENOTSUP, EFBIG. */
int tfs_beamng_head(struct tfs_span head, uint64_t size, struct tfs_beamng_layout *layout,
                    struct tfs_error *err);

/* A file of `size` bytes. */
struct tfs_beamng_file {
    uint64_t size;
    const uint8_t *bytes; /* all of it; NULL: it is read from `fd` */
    int fd;
};

/* Copies `size` bytes from `at` on: EIO when there are not so many. */
int tfs_beamng_file_copy(const struct tfs_beamng_file *file, uint64_t at, uint8_t *out, size_t size,
                         struct tfs_error *err);

/* Sets layout->extra and ->nul: the only layout whose name table ends where the file ends, or the
 * version's own. EBADMSG when none fits, or several; EIO. */
int tfs_beamng_detect(const struct tfs_beamng_file *file, struct tfs_beamng_layout *layout,
                      struct tfs_error *err);

/* The layout of a whole file. */
int tfs_beamng_read(const struct tfs_beamng_file *file, struct tfs_beamng_layout *layout,
                    struct tfs_error *err);

#endif
