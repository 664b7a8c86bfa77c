/*
 * One column of a document -> what its region file stores of it.
 */
#ifndef TFS_FORMATS_MINECRAFT_COLUMN_WRITE_H
#define TFS_FORMATS_MINECRAFT_COLUMN_WRITE_H

#include "formats/minecraft/region.h"

#define TFS_MC_COUNT_MAX 255 /* sectors of a column */

/* A column being written; zeroed before its first use, and used again. */
struct tfs_mc_written {
    uint8_t kind; /* enum tfs_mc_packing_kind */
    struct tfs_mc_column column;
    struct tfs_buf nbt, packed;
    struct tfs_buf was, room;
    struct tfs_mc_parts before, after;
    struct tfs_blob *blobs[TFS_MC_SECTIONS + 1]; /* of the rest and of `after` */
};

/* Makes `nbt` of a column, whose key is that of its rest, in place of the one that `file` has in
 * that entry. It reads back as the document says it: EBADMSG or EFBIG where none would. */
int tfs_mc_written_make(struct tfs_mc_written *w, struct tfs_save *save, const struct tfs_doc *doc,
                        struct tfs_key key, struct tfs_span file, struct tfs_mc_entry entry,
                        struct tfs_error *err);
/* Then `packed` of that; *count: its sectors. EFBIG: they are too many. */
int tfs_mc_written_pack(struct tfs_mc_written *w, uint32_t *count, struct tfs_error *err);
void tfs_mc_written_release(struct tfs_mc_written *w);

/* Can the column of a chunk, as the document has it, be written? */
int tfs_mc_column_check(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key chunk,
                        struct tfs_error *err);

#endif
