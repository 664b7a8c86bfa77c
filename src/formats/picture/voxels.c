/*
 * What a game fills in -> what the others ask: chunks opened to be changed, their sizes, and
 * columns of voxels seen from above.
 */
#include <stdlib.h>

#include "formats/picture/picture.h"

/* ---- chunks ---------------------------------------------------------------------------------- */

int tfs_voxels_open(const struct tfs_voxels *voxels, struct tfs_save *save,
                    const struct tfs_doc *doc, struct tfs_key key, void **chunk,
                    struct tfs_error *err)
{
    void *opened = calloc(1, voxels->chunk_size);

    if (opened == NULL)
        return tfs_fail_memory(err);
    if (voxels->open(save, doc, key, opened, err) < 0)
        tfs_voxels_close(voxels, opened);
    else
        *chunk = opened;
    return err->code;
}

void tfs_voxels_close(const struct tfs_voxels *voxels, void *chunk)
{
    voxels->close(chunk);
    free(chunk);
}

struct tfs_voxel_size tfs_voxels_size(const struct tfs_voxels *voxels, const struct tfs_doc *doc)
{
    return voxels->fixed.x == 0 ? voxels->size(doc) : voxels->fixed;
}

struct tfs_voxel_size tfs_voxels_sides(const struct tfs_voxels *voxels, const void *chunk)
{
    return voxels->fixed.x == 0 ? voxels->sides(chunk) : voxels->fixed;
}

/* ---- columns --------------------------------------------------------------------------------- */

struct tfs_name_look tfs_name_look(struct tfs_span name, bool nothing)
{
    bool water = false;
    struct tfs_name_look look = {.colour = tfs_colour_of_name(name, &water)};

    look.kind = nothing ? TFS_LOOK_NOTHING : water ? TFS_LOOK_WATER : TFS_LOOK_SOLID;
    return look;
}
