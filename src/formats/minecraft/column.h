/*
 * A column (FORMAT.md, section 4): the NBT of 16 x 16 blocks from the bottom of the world to its
 * top <-> its sections that hold blocks, and the rest.
 *
 * The rest is that NBT with a stub in the place of each such section, which has its height alone.
 * It leaves out what follows from the blocks, too: heightmaps are empty in it, and light is marked
 * as one to be computed. So whoever edits a block edits its section alone.
 */
#ifndef TFS_FORMATS_MINECRAFT_COLUMN_H
#define TFS_FORMATS_MINECRAFT_COLUMN_H

#include "formats/minecraft/nbt.h"

/* How a section says which blocks it has (FORMAT.md, sections 1 and 4): tfs_chunk.tag. */
enum tfs_mc_layout {
    TFS_MC_NUMBERS,   /* to 1.12: Blocks, Data, Add */
    TFS_MC_STRADDLED, /* to 1.15: Palette, BlockStates; values cross from one long to the next */
    TFS_MC_ALIGNED,   /* to 1.17: the same, and none crosses */
    TFS_MC_STATES,    /* from 1.18 on: block_states */
};

#define TFS_MC_SECTIONS 256 /* heights are bytes */

/* What a column says of itself. */
struct tfs_mc_column {
    int32_t version; /* DataVersion; 0: it is older than that */
    int32_t x, z;
    bool placed;            /* it says x and z */
    int32_t bottom;         /* section */
    struct tfs_span status; /* empty: it has none, and is finished */
};

/* A section with blocks. */
struct tfs_mc_part {
    int8_t y;
    enum tfs_mc_layout layout;
    struct tfs_span bytes; /* the payload of its compound */
};

struct tfs_mc_parts {
    struct tfs_mc_part parts[TFS_MC_SECTIONS]; /* in the order of the column */
    size_t count;
};

/* The section at that height; NULL: there is none. */
const struct tfs_mc_part *tfs_mc_part_at(const struct tfs_mc_parts *parts, int8_t y);

/* What follows from blocks. */
enum tfs_mc_derived {
    TFS_MC_HEIGHTMAPS,   /* from 1.13 on */
    TFS_MC_HEIGHT_MAP,   /* to 1.12 */
    TFS_MC_LIGHT_ON,     /* from 1.14 on */
    TFS_MC_LIGHTED,      /* to 1.13 */
    TFS_MC_LIGHT_SERVER, /* of a server that lights as it likes */
    TFS_MC_DERIVED
};

/* Payloads; data NULL: there is none. */
struct tfs_mc_follows {
    struct tfs_span payloads[TFS_MC_DERIVED];
};

/* Takes a column apart: appends the rest. The other spans lie in `nbt`. */
int tfs_mc_column_split(struct tfs_span nbt, struct tfs_buf *rest, struct tfs_mc_parts *parts,
                        struct tfs_mc_follows *follows, struct tfs_mc_column *column,
                        struct tfs_error *err);

/* Puts it together again. */
int tfs_mc_column_join(struct tfs_span rest, struct tfs_mc_parts *parts,
                       struct tfs_mc_follows *follows, struct tfs_buf *nbt, struct tfs_error *err);

/* EBADMSG: the bytes are not the rest of a column at x, z, as splitting one gives it. */
int tfs_mc_rest_check(struct tfs_span rest, int32_t x, int32_t z, struct tfs_mc_column *column,
                      struct tfs_error *err);

/* Is the column one that the game has finished? Others are generated on, over what one edits. */
bool tfs_mc_is_finished(const struct tfs_mc_column *column);

#endif
