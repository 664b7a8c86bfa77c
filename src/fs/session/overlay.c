/*
 * The life of an overlay: see overlay.h.
 */
#include "fs/session/overlay.h"

#include <stdlib.h>

void tfs_overlay_init(struct tfs_overlay *overlay, uint64_t limit)
{
    *overlay = (struct tfs_overlay){.limit = limit};
}

static void free_names(struct tfs_scratch_names *names)
{
    tfs_links_release(&names->links);
    free(names);
}

void tfs_overlay_release(struct tfs_overlay *overlay)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&overlay->names, &at, &cell);)
        free_names(cell.value);
    tfs_map_release(&overlay->names);
}
