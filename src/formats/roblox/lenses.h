/*
 * The files of the tree, one lens each; and what those of a chunk share.
 */
#ifndef TFS_FORMATS_ROBLOX_LENSES_H
#define TFS_FORMATS_ROBLOX_LENSES_H

#include "formats/format.h"
#include "formats/roblox/smoothgrid.h"

/* log2 of the edge of a chunk, in cells. */
static inline uint32_t tfs_rbx_chunk_log2(const struct tfs_chunk *chunk)
{
    return chunk->tag;
}

extern const struct tfs_lens tfs_rbx_raw_lens;
extern const struct tfs_lens tfs_rbx_voxels_lens;
extern const struct tfs_lens tfs_rbx_materials_lens;
extern const struct tfs_lens tfs_rbx_occupancy_lens;
extern const struct tfs_lens tfs_rbx_water_lens;
/* In arrays/, of a chunk and of a terrain: materials, occupancy, water. */
extern const struct tfs_lens tfs_rbx_chunk_array_lenses[3];
extern const struct tfs_lens tfs_rbx_array_lenses[3];
extern const struct tfs_lens tfs_rbx_array_info_lens, tfs_rbx_group_array_info_lens;
extern const struct tfs_lens tfs_rbx_info_lens;
extern const struct tfs_lens tfs_rbx_palette_lens, tfs_rbx_group_palette_lens;

extern const struct tfs_voxels tfs_rbx_pictures; /* heightmap.png, map.png */

/* A text longer than this is not rendered: EFBIG. Only edges of 128 and 256 come near it. */
#define TFS_RBX_TEXT_MAX (UINT64_C(64) << 20)

int tfs_rbx_check_text_size(uint64_t size, struct tfs_error *err);

/* Bytes of the lines of voxels.csv, without its header. */
uint64_t tfs_rbx_lines_size(const struct tfs_chunk *chunk);

/* A chunk (its own copy of the struct; the blob is the document's) and its cells. */
struct tfs_rbx_cells {
    struct tfs_chunk chunk;
    uint32_t edge;
    size_t count;
    uint32_t *cells;
};

int tfs_rbx_cells_open(const struct tfs_doc *doc, struct tfs_key key, struct tfs_rbx_cells *c,
                       struct tfs_error *err);
void tfs_rbx_cells_release(struct tfs_rbx_cells *c);

/* Global coordinates of a cell of the chunk. */
struct tfs_rbx_voxel {
    int64_t x, y, z;
};

struct tfs_rbx_voxel tfs_rbx_voxel_of(const struct tfs_rbx_cells *c, size_t cell);

/* Stores records, or the canonical records of c->cells, in the place of c->chunk; cells that are
 * what they were keep their records, however these are spelled. EROFS when the group is locked
 * (source.h). */
int tfs_rbx_store_records(struct tfs_edit *edit, const struct tfs_chunk *chunk,
                          struct tfs_span records, struct tfs_error *err);
int tfs_rbx_store_cells(struct tfs_edit *edit, const struct tfs_rbx_cells *c,
                        struct tfs_error *err);

/* May a user make such a cell? Air has neither occupancy nor water, Water no water beside itself, a
 * full cell none either. (What is stored already need not be so.) */
bool tfs_rbx_cell_legal(uint32_t cell);
/* The nearest legal one: what does not fit becomes 0. */
uint32_t tfs_rbx_cell_fit(uint32_t cell);

#endif
