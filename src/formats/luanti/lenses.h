/*
 * The files that show what no plane of cells does, one lens each.
 */
#ifndef TFS_FORMATS_LUANTI_LENSES_H
#define TFS_FORMATS_LUANTI_LENSES_H

#include "formats/format.h"

extern const struct tfs_lens tfs_luanti_raw_lens;
extern const struct tfs_lens tfs_luanti_state_lens;
extern const struct tfs_lens tfs_luanti_metadata_lens;
extern const struct tfs_lens tfs_luanti_timers_lens;
extern const struct tfs_lens tfs_luanti_objects_lens;
extern const struct tfs_lens tfs_luanti_info_lens;

#endif
