/*
 * The files of the tree, one lens each; and what the block lenses share.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_LENSES_H
#define TFS_FORMATS_COSMIC_REACH_LENSES_H

#include "formats/cosmic_reach/body.h"
#include "formats/palette.h"
#include "text/grid.h"
#include "text/lines.h"

extern const struct tfs_lens tfs_cosmic_raw_lens;
extern const struct tfs_lens tfs_cosmic_voxels_lens;
extern const struct tfs_lens tfs_cosmic_palette_lens;
extern const struct tfs_lens tfs_cosmic_blocks_lens;
extern const struct tfs_lens tfs_cosmic_sky_lens;
extern const struct tfs_lens tfs_cosmic_light_lens;
extern const struct tfs_lens tfs_cosmic_entities_lens;
extern const struct tfs_lens tfs_cosmic_info_lens;
extern const struct tfs_lens tfs_cosmic_zone_lens; /* zoneInfo.json */
uint32_t tfs_cosmic_zone_count(const struct tfs_tree *tree, const struct tfs_doc *doc);
extern const struct tfs_lens tfs_cosmic_names_lens; /* palette.txt of the root */

/* In arrays/, of a chunk and of the save. */
extern const struct tfs_lens tfs_cosmic_chunk_array_lens;
extern const struct tfs_lens tfs_cosmic_chunk_sky_array_lens;
extern const struct tfs_lens tfs_cosmic_chunk_light_array_lens;
extern const struct tfs_lens tfs_cosmic_array_lens;
extern const struct tfs_lens tfs_cosmic_sky_array_lens;
extern const struct tfs_lens tfs_cosmic_light_array_lens;
extern const struct tfs_lens tfs_cosmic_array_palette_lens;
extern const struct tfs_lens tfs_cosmic_array_info_lens;

/* The values that lights/sky.txt or lights/block.txt, whose lens is given, shows of a chunk body:
 * 1; 0: it stores none. EBADMSG. */
int tfs_cosmic_light_values(struct tfs_span bytes, uint32_t version, const struct tfs_lens *lens,
                            uint32_t values[TFS_COSMIC_VALUES], struct tfs_error *err);
uint32_t tfs_cosmic_light_highest(const struct tfs_lens *lens);
/* Makes the edit say them. None may be above the highest. */
int tfs_cosmic_light_write(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                           const struct tfs_lens *lens, const uint32_t values[TFS_COSMIC_VALUES],
                           struct tfs_error *err);

/* Gives the names in all palettes, some more than once. */
int tfs_cosmic_names_each(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each,
                          void *arg, struct tfs_error *err);

/* tfs_tree.chunk_names. */
int tfs_cosmic_chunk_names(struct tfs_save *save, const struct tfs_chunk *chunk, tfs_name_fn each,
                           void *arg, struct tfs_error *err);

extern const struct tfs_voxels tfs_cosmic_pictures; /* heightmap.png, map.png */

/* A chunk and its block data. */
struct tfs_cosmic_view {
    struct tfs_cosmic_chunk chunk;
    struct tfs_cosmic_blocks blocks;
};

/* Nothing needs closing after a failure. */
int tfs_cosmic_view_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_cosmic_view *view, struct tfs_error *err);
void tfs_cosmic_view_close(struct tfs_cosmic_view *view); /* all 0 is legal */

/* Lines `PREFIX INDEX NAME` of a palette, and their number of bytes. `prefix` has its own blank. */
void tfs_cosmic_palette_print(struct tfs_buf *out, const char *prefix, struct tfs_span palette,
                              uint32_t count);
uint64_t tfs_cosmic_palette_size(const char *prefix, struct tfs_span palette, uint32_t count);

#define TFS_COSMIC_NAME_RULES                                                                      \
    {                                                                                              \
        "block", TFS_COSMIC_NAME_MAX                                                               \
    }

/* Has the palette of `blocks`, a struct tfs_cosmic_blocks, the name? A tfs_palette_had_fn. */
bool tfs_cosmic_palette_had(const void *blocks, struct tfs_span name);

/* Are these the names of the palette, in that order? */
bool tfs_cosmic_palette_equal(const struct tfs_cosmic_blocks *blocks, const struct tfs_span *names,
                              uint32_t count);

#endif
