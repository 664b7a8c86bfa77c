/*
 * arrays/NAME.npy: a channel of every voxel, as wide as it is deep. Arrays of the root are of level
 * 0, those in lods/N/arrays/ of another one.
 */
#include "formats/godot_voxel/lenses.h"
#include "formats/views/views.h"

#define ARRAY(name, number)                                                                        \
    {                                                                                              \
        TFS_PLANE_ARRAY(number, "channels/" name ".npy", "the channel " name)                      \
    }

static const struct tfs_array arrays[TFS_GODOT_CHANNELS] = {
    ARRAY("type", 0),    ARRAY("sdf", 1),   ARRAY("color", 2), ARRAY("indices", 3),
    ARRAY("weights", 4), ARRAY("data5", 5), ARRAY("data6", 6), ARRAY("data7", 7),
};

#define CHUNK_LENS(i)                                                                              \
    {                                                                                              \
        .param = &arrays[i], .get = tfs_array_chunk_get, .put = tfs_array_chunk_put,               \
        .size = tfs_array_chunk_size, .exists = tfs_godot_lens_exists                              \
    }

const struct tfs_lens tfs_godot_chunk_array_lenses[TFS_GODOT_CHANNELS] = {
    CHUNK_LENS(0), CHUNK_LENS(1), CHUNK_LENS(2), CHUNK_LENS(3),
    CHUNK_LENS(4), CHUNK_LENS(5), CHUNK_LENS(6), CHUNK_LENS(7),
};

static int exist(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_volume volume = {.doc = doc, .low.group = at.key.group};
    uint32_t size[3];

    (void)save;
    tfs_godot_rules_sides(doc, size);
    volume.width = 1U << TFS_GODOT_DEPTH_MAX;
    volume.kind = 'f';
    volume.sides[0] = size[1];
    volume.sides[1] = size[2];
    volume.sides[2] = size[0];
    return size[0] > 0 && size[1] > 0 && size[2] > 0 && tfs_volume_span(&volume);
}

const struct tfs_lens tfs_godot_array_lenses[TFS_GODOT_CHANNELS] = {
    TFS_ARRAY_WHOLE_LENS(&arrays[0], exist), TFS_ARRAY_WHOLE_LENS(&arrays[1], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[2], exist), TFS_ARRAY_WHOLE_LENS(&arrays[3], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[4], exist), TFS_ARRAY_WHOLE_LENS(&arrays[5], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[6], exist), TFS_ARRAY_WHOLE_LENS(&arrays[7], exist),
};

/* A level comes and goes with its chunks. */
static int has_chunks(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    return tfs_doc_group_count(doc, at.key.group) > 0;
}

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_arrays_info(save, doc, at.key.group, arrays, TFS_GODOT_CHANNELS,
                           exist(save, doc, at) != 0, out, err);
}

const struct tfs_lens tfs_godot_array_info_lens = {.get = info_get};
const struct tfs_lens tfs_godot_level_array_info_lens = {.param = &tfs_godot_array_info_lens,
                                                         .get = info_get,
                                                         .put = tfs_array_same_put,
                                                         .exists = has_chunks};
