/*
 * NBT, the tree of named values that Minecraft stores (FORMAT.md, section 3), read where it lies:
 * a value is a span of the bytes that it was read from.
 *
 * No number of the bytes is trusted: a length is compared with what is left, and what is nested
 * deeper than the game reads is damage.
 */
#ifndef TFS_FORMATS_MINECRAFT_NBT_H
#define TFS_FORMATS_MINECRAFT_NBT_H

#include "base/buf.h"

enum tfs_mc_nbt_type {
    TFS_MC_NBT_END,
    TFS_MC_NBT_BYTE,
    TFS_MC_NBT_SHORT,
    TFS_MC_NBT_INT,
    TFS_MC_NBT_LONG,
    TFS_MC_NBT_FLOAT,
    TFS_MC_NBT_DOUBLE,
    TFS_MC_NBT_BYTES,
    TFS_MC_NBT_STRING,
    TFS_MC_NBT_LIST,
    TFS_MC_NBT_COMPOUND,
    TFS_MC_NBT_INTS,
    TFS_MC_NBT_LONGS,
    TFS_MC_NBT_TYPES
};

#define TFS_MC_NBT_DEPTH 512

struct tfs_mc_nbt_tag {
    uint8_t type; /* enum tfs_mc_nbt_type */
    struct tfs_span name;
    struct tfs_span payload;
    struct tfs_span whole; /* with its type and name in front */
};

/* Takes the next tag of a compound, whose payload the cursor reads. False: there is none, and the
 * end of the compound was taken; or it is damaged (c->failed). */
bool tfs_mc_nbt_next(struct tfs_cursor *c, struct tfs_mc_nbt_tag *tag);
/* The payload of a value of that type; with c->failed after damage. */
struct tfs_span tfs_mc_nbt_take(struct tfs_cursor *c, uint8_t type);
/* Is the tag called so, and of that type? */
bool tfs_mc_nbt_is(const struct tfs_mc_nbt_tag *tag, const char *name, uint8_t type);

/* The items of a list: count of one type, to be taken by tfs_mc_nbt_take from the cursor. */
struct tfs_mc_nbt_list {
    uint8_t type;
    uint32_t count;
    struct tfs_cursor items;
};

/* What follows is for payloads that tfs_mc_nbt_next gave. */

struct tfs_mc_nbt_list tfs_mc_nbt_list(struct tfs_span payload);
/* The bytes of an array, or of a string. */
struct tfs_span tfs_mc_nbt_array(struct tfs_span payload);
struct tfs_span tfs_mc_nbt_string(struct tfs_span payload);
/* The value of a tag that is a whole number; else 0. */
int64_t tfs_mc_nbt_number(const struct tfs_mc_nbt_tag *tag);

/* Appends the type and name of a tag, whose payload follows; the number of an array's items. */
void tfs_mc_nbt_put_head(struct tfs_buf *out, uint8_t type, struct tfs_span name);
void tfs_mc_nbt_put_string(struct tfs_buf *out, struct tfs_span text);

/* Where Java's HashMap of 16 buckets has a key: tags are stored in this order. */
unsigned tfs_mc_nbt_bucket(struct tfs_span name);

#endif
