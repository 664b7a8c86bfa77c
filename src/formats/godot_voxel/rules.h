/*
 * What a container demands of its blocks: facts->own of every document of this format begins with
 * it. A file of one block demands nothing, a region and a stream fix size, depths or coordinates
 * (FORMAT.md, sections 5 and 7).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_RULES_H
#define TFS_FORMATS_GODOT_VOXEL_RULES_H

#include "formats/format.h"
#include "formats/godot_voxel/block.h"

#define TFS_GODOT_COLOURS 256

struct tfs_godot_rules {
    const char *container; /* "this region", for sentences */
    bool cubed;            /* blocks are 2^po2 cubed */
    uint8_t po2;
    bool depths_fixed; /* blocks have these depths */
    uint8_t depths[TFS_GODOT_CHANNELS];
    uint32_t stored_max;     /* bytes of the greatest container; 0: no limit */
    bool cased;              /* the engine reads only containers with their byte in front here */
    int32_t low[3], high[3]; /* block coordinates along x, y, z */
    uint32_t lods;           /* levels 0 to lods - 1 */

    /* Makes the edit's document that of the newest container; NULL: there is none. */
    int (*upgrade)(struct tfs_edit *edit, struct tfs_error *err);
    /* The palette of the region that holds the chunk: R, G, B, A of each colour. 1 done, 0 there is
     * none. Thread-safe. NULL: palettes are not of this container. */
    int (*palette)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                   uint8_t colours[4 * TFS_GODOT_COLOURS], struct tfs_error *err);
    /* Lines of info.txt about the container; may be NULL. */
    void (*describe)(const struct tfs_doc *doc, struct tfs_buf *out);
};

static inline const struct tfs_godot_rules *tfs_godot_rules(const struct tfs_doc *doc)
{
    return doc->facts->own;
}

/* The sides of a block in one number, 16 bits each, x lowest. */
uint64_t tfs_godot_sides_of(const struct tfs_godot_block *block);
/* The same of a chunk's block, known without decoding it: only where blocks have no size in
 * common. */
static inline uint64_t tfs_godot_chunk_sides(const struct tfs_chunk *chunk)
{
    return chunk->own;
}
/* The size of the document's blocks along x, y, z. */
void tfs_godot_rules_sides(const struct tfs_doc *doc, uint32_t sides[3]);

/* Can a block of one document be one of the other? For tfs_tree.fits. */
int tfs_godot_rules_fit(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                        const struct tfs_chunk *chunk, struct tfs_error *err);

/* May a block lie there? EINVAL with a sentence. */
int tfs_godot_rules_coordinate(const struct tfs_godot_rules *rules, struct tfs_key key,
                               struct tfs_error *err);

/* Has the block the size that is demanded? EBADMSG with a sentence. */
int tfs_godot_rules_size(const struct tfs_godot_rules *rules, const struct tfs_godot_block *block,
                         struct tfs_error *err);

/* Has the channel, or has each of the block, the depth that is demanded? EBADMSG with a
 * sentence. */
int tfs_godot_rules_depth(const struct tfs_godot_rules *rules, unsigned channel, unsigned depth,
                          struct tfs_error *err);
int tfs_godot_rules_depths(const struct tfs_godot_rules *rules, const struct tfs_godot_block *block,
                           struct tfs_error *err);

/* Do so many stored bytes fit? EFBIG with a sentence. */
int tfs_godot_rules_stored(const struct tfs_godot_rules *rules, size_t size, struct tfs_error *err);

#endif
