/*
 * A region file (FORMAT.md, section 2): a table of 32 x 32 columns, and sectors.
 */
#ifndef TFS_FORMATS_MINECRAFT_REGION_H
#define TFS_FORMATS_MINECRAFT_REGION_H

#include "base/file.h"
#include "formats/format.h"
#include "formats/minecraft/column.h"

#define TFS_MC_REGION_SIDE  32
#define TFS_MC_COLUMNS      1024
#define TFS_MC_SECTOR       4096
#define TFS_MC_REGION_LEAST (2 * TFS_MC_SECTOR) /* bytes of a file that is not empty */
#define TFS_MC_REGION_NAME  48
#define TFS_MC_HEAD         5      /* bytes in front of the payload of a column */
#define TFS_MC_LOWEST       (-128) /* heights of sections, as one byte says them */
#define TFS_MC_HIGHEST      127
#define TFS_MC_COLUMN_LIMIT ((uint64_t)64 << 20) /* inflated bytes of a column */

/* ---- names and keys -------------------------------------------------------------------------- */

/* "r.X.Z.mca" of a region, whose key has x and z; and back. */
void tfs_mc_region_name(struct tfs_key region, char name[TFS_MC_REGION_NAME]);
bool tfs_mc_region_of_name(const char *name, struct tfs_key *region);

/* Where a chunk is, a section or the rest of a column: its region, and its number there; and
 * back. */
struct tfs_key tfs_mc_file_of(struct tfs_key chunk, uint32_t *index);
struct tfs_key tfs_mc_chunk_of(struct tfs_key region, uint32_t index);
/* The place of its column in the table of the region; and the key of the rest of the one there. */
uint32_t tfs_mc_slot_of(struct tfs_key chunk);
struct tfs_key tfs_mc_column_at(struct tfs_key region, uint32_t slot);

/* ---- the file -------------------------------------------------------------------------------- */

/* Where the table says that a column is; count 0: there is none. */
struct tfs_mc_entry {
    uint32_t first, count; /* sectors */
};

struct tfs_mc_entry tfs_mc_entry_at(struct tfs_span file, uint32_t column);

/* The payload of a column, which its entry says where to find. */
struct tfs_mc_stored {
    uint8_t kind;
    struct tfs_span packed;
    struct tfs_span more; /* the same, and all that follows in its sectors */
};

int tfs_mc_stored_find(struct tfs_span file, struct tfs_mc_entry entry,
                       struct tfs_mc_stored *stored, struct tfs_error *err);
/* Appends the NBT. *over: the payload is longer than the file says, and was read all the same. */
int tfs_mc_stored_unpack(const struct tfs_mc_stored *stored, uint64_t limit, struct tfs_buf *nbt,
                         bool *over, struct tfs_error *err);

/* struct tfs_facts.own of a file alone. */
struct tfs_mc_region {
    struct tfs_blob *file; /* that the document was read from */
    struct tfs_key key;
    bool placed;         /* the key is known */
    size_t columns;      /* that are there */
    int32_t versions[2]; /* the lowest and the highest DataVersion */
};

static inline struct tfs_mc_region *tfs_mc_region_of(const struct tfs_facts *facts)
{
    return facts->own;
}

/* The members of a codec (formats/containers/file.h). */
int tfs_mc_region_decode(struct tfs_save *save, struct tfs_blob *file, struct tfs_doc **doc,
                         struct tfs_error *err);
int tfs_mc_region_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                         struct tfs_error *err);
/* tfs_folder_kind.payload: the rests of columns and their sections, one behind the other. */
int tfs_mc_region_payload(struct tfs_blob *file, uint64_t limit, struct tfs_blob **payload,
                          struct tfs_error *err);

#endif
