/*
 * The files of the tree, one lens each.
 */
#ifndef TFS_FORMATS_LUANTI_LENSES_H
#define TFS_FORMATS_LUANTI_LENSES_H

#include "formats/format.h"
#include "formats/luanti/block.h"
#include "formats/palette.h"

extern const struct tfs_lens tfs_luanti_raw_lens;
extern const struct tfs_lens tfs_luanti_state_lens;
extern const struct tfs_lens tfs_luanti_palette_lens;
extern const struct tfs_lens tfs_luanti_blocks_lens;
extern const struct tfs_lens tfs_luanti_param1_lens;
extern const struct tfs_lens tfs_luanti_param2_lens;
extern const struct tfs_lens tfs_luanti_voxels_lens;
extern const struct tfs_lens tfs_luanti_metadata_lens;
extern const struct tfs_lens tfs_luanti_timers_lens;
extern const struct tfs_lens tfs_luanti_objects_lens;
extern const struct tfs_lens tfs_luanti_info_lens;
extern const struct tfs_lens tfs_luanti_names_lens; /* palette.txt of the root */

/* In arrays/, of a chunk and of the save: blocks, param1, param2. */
extern const struct tfs_lens tfs_luanti_chunk_array_lenses[3];
extern const struct tfs_lens tfs_luanti_array_lenses[3];
extern const struct tfs_lens tfs_luanti_array_palette_lens;
extern const struct tfs_lens tfs_luanti_array_info_lens;
extern const struct tfs_numbering tfs_luanti_numbering;

/* tfs_tree.chunk_names. */
int tfs_luanti_chunk_names(struct tfs_save *save, const struct tfs_chunk *chunk, tfs_name_fn each,
                           void *arg, struct tfs_error *err);

extern const struct tfs_voxels tfs_luanti_pictures; /* heightmap.png, map.png */

#define TFS_LUANTI_NAME_RULES                                                                      \
    {                                                                                              \
        "node", UINT16_MAX                                                                         \
    }

#endif
