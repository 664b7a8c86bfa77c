/*
 * arrays/: material, occupancy and water of every cell as numbers, [y, z, x]
 * (formats/arrays/array.h, attribute.h). Those of the root are of the first terrain; other terrains
 * have theirs in regions/N/arrays/.
 */
#include <errno.h>
#include <string.h>

#include "formats/arrays/array.h"
#include "formats/roblox/attribute.h"
#include "formats/roblox/lenses.h"
#include "formats/roblox/source.h"

static uint32_t log2_of(const struct tfs_doc *doc, uint32_t group)
{
    const struct tfs_rbx_group *found = tfs_rbx_group(doc, group);

    return found != NULL ? found->log2 : tfs_rbx_group(doc, 0)->log2;
}

static int set_side(struct tfs_array_view *view, struct tfs_error *err)
{
    const uint32_t edge =
        tfs_rbx_edge(view->chunk != NULL ? tfs_rbx_chunk_log2(view->chunk)
                                         : log2_of(view->doc, view->volume.low.group));

    (void)err;
    view->volume.sides[0] = view->volume.sides[1] = view->volume.sides[2] = edge;
    return 0;
}

static int read_cells(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                      uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const size_t layer = (size_t)view->volume.sides[1] * view->volume.sides[2];
    const size_t begin = from * layer, end = to * layer;
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(chunk->blob));
    struct tfs_rbx_run run;

    for (size_t at = 0; at < end && tfs_rbx_run_take(&records, &run); at += run.count) {
        const size_t low = at > begin ? at : begin;
        const size_t high = at + run.count < end ? at + run.count : end;
        if (low < high)
            memset(values + (low - begin), (int)tfs_rbx_attribute_of(view->array->param, run.cell),
                   high - low);
    }
    if (records.failed)
        return tfs_fail(err, -EBADMSG, "the records are cut off");
    return 0;
}

static int write_cells(const struct tfs_array_change *change, struct tfs_error *err)
{
    const struct tfs_rbx_attribute *a = change->view->array->param;
    struct tfs_rbx_cells c;

    if (tfs_rbx_cells_open(tfs_edit_doc(change->edit), change->key, &c, err) < 0)
        return err->code;
    for (size_t i = 0; i < c.count && err->code == 0; i++) {
        const uint32_t value = change->wanted[i];
        if (value == change->now[i])
            continue;
        if (value > a->high)
            tfs_array_refuse(change, i, err, "%s", a->out_of_range);
        else if (!a->apply(&c.cells[i], value))
            tfs_array_refuse(change, i, err, "%s for %s", a->name,
                             tfs_rbx_attribute_refusal(c.cells[i]));
    }
    if (err->code == 0)
        tfs_rbx_store_cells(change->edit, &c, err);
    tfs_rbx_cells_release(&c);
    return err->code;
}

#define ARRAY(name, text, attribute)                                                               \
    {                                                                                              \
        .whole = true, .file = name, .about = text, .kind = 'u', .width = 1, .form = set_side,     \
        .read = read_cells, .write = write_cells, .param = (attribute)                             \
    }

static const struct tfs_array arrays[] = {
    ARRAY("materials.npy", "the numbers of arrays/palette.txt", &tfs_rbx_material),
    ARRAY("occupancy.npy", "0 to 255", &tfs_rbx_occupancy),
    ARRAY("water.npy", "0 to 255", &tfs_rbx_water),
};

const struct tfs_lens tfs_rbx_chunk_array_lenses[] = {
    TFS_ARRAY_CHUNK_LENS(&arrays[0]),
    TFS_ARRAY_CHUNK_LENS(&arrays[1]),
    TFS_ARRAY_CHUNK_LENS(&arrays[2]),
};

static int exist(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    return tfs_arrays_exist(doc, at.key.group, tfs_rbx_edge(log2_of(doc, at.key.group)), 1);
}

const struct tfs_lens tfs_rbx_array_lenses[] = {
    TFS_ARRAY_WHOLE_LENS(&arrays[0], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[1], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[2], exist),
};

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_arrays_info(save, doc, at.key.group, arrays, sizeof(arrays) / sizeof(arrays[0]),
                           exist(save, doc, at) != 0, out, err);
}

const struct tfs_lens tfs_rbx_array_info_lens = {.get = info_get};
const struct tfs_lens tfs_rbx_group_array_info_lens = {
    .param = &tfs_rbx_array_info_lens, .get = info_get, .put = tfs_array_same_put};
