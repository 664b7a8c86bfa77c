/*
 * Nodes <-> what heightmap.png, map.png and comparing ask of them (formats/picture/picture.h). A
 * voxel is its param2 and the name of its node.
 *
 * `ignore` stands for what was not generated: nothing is seen of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/diff/sum.h"
#include "formats/luanti/change.h"
#include "formats/luanti/lenses.h"
#include "formats/picture/picture.h"
#include "formats/database/rows.h"
#include "text/name.h"
#include "text/table.h"

/* ---- from above ------------------------------------------------------------------------------ */

/* One column, from above down to what is neither air nor water. */
static void scan_column(const struct tfs_luanti_block *b, struct tfs_name_look *looks, uint32_t at,
                        struct tfs_column *column)
{
    for (uint32_t y = TFS_LUANTI_SIDE; y-- > 0;) {
        const uint32_t id = b->nodes[y << 8 | at];
        const struct tfs_span name = b->names[id].name;
        if (looks[id].kind == TFS_LOOK_UNKNOWN)
            looks[id] = tfs_name_look(name, tfs_luanti_is_air(name) || tfs_luanti_is_ignore(name));
        if (tfs_column_add(column, y, &looks[id]))
            return;
    }
}

static int columns(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *out, struct tfs_error *err)
{
    struct tfs_luanti_view *view;
    struct tfs_name_look *looks = NULL;

    (void)doc;
    if (tfs_luanti_view_make(save, chunk, &view, err) < 0)
        return err->code;
    if (view->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", view->damage);
    else if ((looks = calloc(view->block.count, sizeof(*looks))) == NULL)
        tfs_fail_memory(err);
    for (uint32_t i = 0; looks != NULL && i < TFS_LUANTI_SIDE * TFS_LUANTI_SIDE; i++)
        scan_column(&view->block, looks, i, &out[i]);
    free(looks);
    tfs_luanti_view_unref(view);
    return err->code;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void change_close(void *chunk)
{
    tfs_luanti_change_close(chunk);
}

static int change_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                       void *chunk, struct tfs_error *err)
{
    return tfs_luanti_change_open(chunk, save, doc, key, err);
}

static int change_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                        struct tfs_error *err)
{
    (void)save;
    return tfs_luanti_change_store(edit, chunk, err);
}

static uint32_t index_of(struct tfs_stretch at, uint32_t y)
{
    return y << 8 | at.z << 4 | at.x;
}

static int change_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                       struct tfs_error *err)
{
    const struct tfs_luanti_change *c = chunk;
    const uint32_t i = index_of(at, at.from);

    tfs_buf_u8(voxel, c->param2[i]);
    tfs_buf_add_span(voxel, tfs_luanti_change_name(c, c->ids[i]));
    return tfs_buf_check(voxel, err);
}

static struct tfs_span name_of(struct tfs_span voxel)
{
    return (struct tfs_span){voxel.data + 1, voxel.size - 1};
}

static int change_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                       struct tfs_error *err)
{
    struct tfs_luanti_change *c = chunk;
    uint32_t number;

    if (tfs_words_add(&c->names, name_of(voxel), &number, err) < 0)
        return err->code;
    for (uint32_t y = at.from; y < at.to; y++) {
        c->ids[index_of(at, y)] = number;
        c->param2[index_of(at, y)] = voxel.data[0];
    }
    return 0;
}

static int change_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    (void)err;
    for (uint32_t y = at.from; y < at.to; y++)
        tfs_luanti_change_clear(chunk, index_of(at, y));
    return 0;
}

/* What was not generated stays so. */
static int change_lower(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    struct tfs_luanti_change *c = chunk;

    (void)err;
    for (uint32_t y = at.from; y < at.to; y++)
        if (!tfs_luanti_is_ignore(tfs_luanti_change_name(c, c->ids[index_of(at, y)])))
            tfs_luanti_change_clear(c, index_of(at, y));
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void print(struct tfs_span voxel, bool brief, struct tfs_buf *out)
{
    tfs_name_print(out, name_of(voxel));
    if (brief || voxel.data[0] == 0)
        return;
    tfs_buf_u8(out, '@');
    tfs_table_print_number(out, voxel.data[0]);
}

static bool empty(struct tfs_span voxel)
{
    return tfs_luanti_is_air(name_of(voxel));
}

/* ---- summing up ------------------------------------------------------------------------------ */

static int sum_block(const struct tfs_luanti_block *b, struct tfs_voxel_sum *sum,
                     struct tfs_error *err)
{
    static const uint8_t no_param2;
    struct tfs_span *names = calloc(b->count, sizeof(*names));

    if (names == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < b->count; i++)
        names[i] = b->names[i].name;
    tfs_voxel_sum_names(sum, b->nodes, TFS_LUANTI_VOXELS, names, b->count,
                        (struct tfs_span){&no_param2, 1}, err);
    tfs_buf_add(&sum->same, b->param2, sizeof(b->param2));
    tfs_buf_add(&sum->same, b->param1, sizeof(b->param1)); /* param1.txt */
    free(names);
    return err->code;
}

static int sum(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    struct tfs_luanti_view *view;

    if (tfs_luanti_view_keep(save, doc, chunk, &view, err) < 0)
        return err->code;
    if (view->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", view->damage);
    else
        sum_block(&view->block, sum, err);
    tfs_luanti_view_unref(view);
    return err->code;
}

const struct tfs_voxels tfs_luanti_pictures = {
    .fixed = {TFS_LUANTI_SIDE, TFS_LUANTI_SIDE, TFS_LUANTI_SIDE},
    .north_up = true,
    .columns = columns,
    .chunk_size = sizeof(struct tfs_luanti_change),
    .open = change_open,
    .close = change_close,
    .store = change_store,
    .take = change_take,
    .fill = change_fill,
    .clear = change_clear,
    .lower = change_lower,
    .print = print,
    .empty = empty,
    .unit = "node",
    .sum = sum,
};
