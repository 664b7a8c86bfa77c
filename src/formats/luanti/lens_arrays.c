/*
 * arrays/: nodes and their two parameters as numbers, [y, z, x] (formats/arrays/array.h). Of a
 * chunk the numbers of nodes are the indices of its palette.txt; of the save those of
 * arrays/palette.txt, which stay as long as the save is open (formats/arrays/numbers.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/array.h"
#include "formats/arrays/numbers.h"
#include "formats/luanti/change.h"
#include "formats/luanti/lenses.h"

#define WIDTH 2

/* ---- reading --------------------------------------------------------------------------------- */

/* The number of each entry of the block's palette; to be freed. */
static uint32_t *number_entries(struct tfs_numbers *numbers, const struct tfs_luanti_block *block,
                                struct tfs_error *err)
{
    uint32_t *map = calloc(block->count + (size_t)1, sizeof(*map));

    if (map == NULL)
        tfs_fail_memory(err);
    for (uint32_t i = 0; map != NULL && i < block->count && err->code == 0; i++)
        tfs_numbers_add(numbers, block->names[i].name, &map[i], err);
    return map;
}

static int show_names(const struct tfs_array_view *view, const struct tfs_luanti_block *block,
                      uint32_t first, uint32_t count, uint8_t *values, struct tfs_error *err)
{
    struct tfs_numbers *numbers;

    if (tfs_numbers_open(view->save, view->doc, &tfs_luanti_numbering, &numbers, err) < 0)
        return err->code;
    uint32_t *map = number_entries(numbers, block, err);
    for (uint32_t i = 0; err->code == 0 && i < count; i++)
        tfs_array_set(values, WIDTH, i, map[block->nodes[first + i]]);
    free(map);
    return err->code;
}

static int show_entries(const struct tfs_array_view *view, const struct tfs_luanti_block *block,
                        uint32_t first, uint32_t count, uint8_t *values, struct tfs_error *err)
{
    (void)view, (void)err;
    for (uint32_t i = 0; i < count; i++)
        tfs_array_set(values, WIDTH, i, block->nodes[first + i]);
    return 0;
}

static int show_param1(const struct tfs_array_view *view, const struct tfs_luanti_block *block,
                       uint32_t first, uint32_t count, uint8_t *values, struct tfs_error *err)
{
    (void)view, (void)err;
    memcpy(values, block->param1 + first, count);
    return 0;
}

static int show_param2(const struct tfs_array_view *view, const struct tfs_luanti_block *block,
                       uint32_t first, uint32_t count, uint8_t *values, struct tfs_error *err)
{
    (void)view, (void)err;
    memcpy(values, block->param2 + first, count);
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void set_name(struct tfs_luanti_change *c, size_t i, uint32_t number)
{
    if (c->ids[i] == number)
        return;
    c->ids[i] = number;
    c->param2[i] = 0;
}

static int take_name(const struct tfs_array_change *change, struct tfs_luanti_change *c, size_t i,
                     struct tfs_error *err)
{
    const uint64_t value = tfs_array_value(change->wanted, WIDTH, i);
    const struct tfs_array_view *view = change->view;
    struct tfs_numbers *numbers;
    struct tfs_span name;
    uint32_t number;

    if (value == 0) {
        tfs_luanti_change_clear(c, (uint32_t)i);
        return 0;
    }
    if (tfs_numbers_open(view->save, view->doc, &tfs_luanti_numbering, &numbers, err) < 0)
        return err->code;
    if (!tfs_numbers_name(numbers, value, &name))
        return tfs_array_refuse(change, i, err, "arrays/palette.txt has %" PRIu32 " lines",
                                tfs_numbers_count(numbers));
    if (tfs_words_add(&c->names, name, &number, err) == 0)
        set_name(c, i, number);
    return err->code;
}

static int take_entry(const struct tfs_array_change *change, struct tfs_luanti_change *c, size_t i,
                      struct tfs_error *err)
{
    const uint64_t value = tfs_array_value(change->wanted, WIDTH, i);

    if (value >= c->view->block.count)
        return tfs_array_refuse(change, i, err, "the palette has %" PRIu32 " lines",
                                c->view->block.count);
    set_name(c, i, c->numbers[value]);
    return 0;
}

static int take_param1(const struct tfs_array_change *change, struct tfs_luanti_change *c, size_t i,
                       struct tfs_error *err)
{
    (void)err;
    c->param1[i] = change->wanted[i];
    return 0;
}

static int take_param2(const struct tfs_array_change *change, struct tfs_luanti_change *c, size_t i,
                       struct tfs_error *err)
{
    (void)err;
    c->param2[i] = change->wanted[i];
    return 0;
}

/* ---- the arrays ------------------------------------------------------------------------------ */

/* What one of them says of a voxel. */
struct part {
    int (*show)(const struct tfs_array_view *view, const struct tfs_luanti_block *block,
                uint32_t first, uint32_t count, uint8_t *values, struct tfs_error *err);
    int (*take)(const struct tfs_array_change *change, struct tfs_luanti_change *c, size_t i,
                struct tfs_error *err);
};

static const struct part names = {show_names, take_name};
static const struct part entries = {show_entries, take_entry};
static const struct part param1 = {show_param1, take_param1};
static const struct part param2 = {show_param2, take_param2};

/* A block that does not decode is empty. */
static int read_chunk(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                      uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const struct part *part = view->array->param;
    const uint32_t layer = TFS_LUANTI_SIDE * TFS_LUANTI_SIDE;
    struct tfs_luanti_view *opened;

    if (tfs_luanti_view_make(view->save, chunk, &opened, err) < 0)
        return err->code;
    if (opened->damage == NULL)
        part->show(view, &opened->block, from * layer, (to - from) * layer, values, err);
    tfs_luanti_view_unref(opened);
    return err->code;
}

static int write_chunk(const struct tfs_array_change *change, struct tfs_error *err)
{
    const struct part *part = change->view->array->param;
    struct tfs_luanti_change *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return tfs_fail_memory(err);
    if (tfs_luanti_change_open(c, change->view->save, tfs_edit_doc(change->edit), change->key,
                               err) == 0) {
        for (size_t i = 0; i < change->count && err->code == 0; i++)
            if (tfs_array_differs(change, i))
                part->take(change, c, i, err);
        if (err->code == 0)
            tfs_luanti_change_store(change->edit, c, err);
    }
    tfs_luanti_change_close(c);
    free(c);
    return err->code;
}

#define ARRAY(name, text, bytes, part)                                                             \
    .whole = true, .file = name, .about = text, .kind = 'u', .width = bytes,                       \
    .side = TFS_LUANTI_SIDE, .read = read_chunk, .write = write_chunk, .param = (part)

static const struct tfs_array arrays[] = {
    {ARRAY("blocks.npy", "the numbers are those of arrays/palette.txt", WIDTH, &names),
     .numbering = &tfs_luanti_numbering},
    {ARRAY("param1.npy", "light in most nodes", 1, &param1)},
    {ARRAY("param2.npy", "what the node makes of it: a direction, a colour, a level", 1, &param2)},
};

static const struct tfs_array chunk_blocks = {
    ARRAY("blocks.npy", "the indices of the chunk's palette", WIDTH, &entries),
    .named = &arrays[0]};

const struct tfs_lens tfs_luanti_chunk_array_lenses[] = {
    TFS_ARRAY_CHUNK_LENS(&chunk_blocks),
    TFS_ARRAY_CHUNK_LENS(&arrays[1]),
    TFS_ARRAY_CHUNK_LENS(&arrays[2]),
};

static int exist(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    return tfs_arrays_exist(doc, at.key.group, TFS_LUANTI_SIDE, WIDTH);
}

const struct tfs_lens tfs_luanti_array_lenses[] = {
    TFS_ARRAY_WHOLE_LENS(&arrays[0], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[1], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[2], exist),
};

const struct tfs_lens tfs_luanti_array_palette_lens = {.param = &tfs_luanti_numbering,
                                                       .get = tfs_numbers_get};

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_arrays_info(save, doc, at.key.group, arrays, sizeof(arrays) / sizeof(arrays[0]),
                           exist(save, doc, at) != 0, out, err);
}

const struct tfs_lens tfs_luanti_array_info_lens = {.get = info_get};
