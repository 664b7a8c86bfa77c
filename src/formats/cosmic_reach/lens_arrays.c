/*
 * arrays/: block data, sky light and block light <-> numbers as NumPy has them, [y, z, x]
 * (formats/arrays/array.h). Of a chunk the numbers of blocks are its palette's; of the save those
 * of arrays/palette.txt, which stay as long as the save is open (formats/arrays/numbers.h).
 *
 * Must not know containers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/array.h"
#include "formats/arrays/numbers.h"
#include "formats/renaming.h"
#include "formats/cosmic_reach/change.h"
#include "formats/cosmic_reach/cosmic_reach.h"

#define WIDTH 2

/* ---- blocks of a chunk ----------------------------------------------------------------------- */

static int read_blocks(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                       uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];
    struct tfs_cosmic_blocks blocks;
    struct tfs_blob *bytes = NULL;

    if (tfs_chunk_load(view->save, chunk, &bytes, err) < 0)
        return err->code;
    if (tfs_cosmic_blocks_view(tfs_blob_span(bytes), &blocks, err) == 0)
        for (uint32_t y = from; y < to; y++) {
            blocks.layers.decode(blocks.layers.types[y], blocks.layers.bytes[y].data, ids);
            for (size_t i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
                tfs_array_set(values, WIDTH, i, ids[i]);
            values += WIDTH * TFS_COSMIC_LAYER_VALUES;
        }
    tfs_blob_unref(bytes);
    return err->code;
}

/* The entries that are wanted, in grid order; each that is new has to be one of the palette. */
static int take_entries(const struct tfs_array_change *change, uint32_t count,
                        uint32_t ids[TFS_COSMIC_VALUES], struct tfs_error *err)
{
    for (uint32_t i = 0; i < TFS_COSMIC_VALUES; i++) {
        ids[i] = (uint32_t)tfs_array_value(change->wanted, WIDTH, i);
        if (ids[i] >= count && tfs_array_differs(change, i))
            return tfs_array_refuse(change, i, err, "the palette has %" PRIu32 " lines", count);
    }
    return 0;
}

static int write_blocks(const struct tfs_array_change *change, struct tfs_error *err)
{
    struct tfs_cosmic_view view;
    struct tfs_cosmic_values *old = NULL;
    struct tfs_buf section = {0};
    uint32_t ids[TFS_COSMIC_VALUES];

    if (tfs_cosmic_view_open(change->view->save, tfs_edit_doc(change->edit), change->key, &view,
                             err) < 0)
        return err->code;
    if (tfs_cosmic_blocks_decode(&view.blocks, &old, err) == 0 &&
        take_entries(change, old->count, ids, err) == 0) {
        tfs_cosmic_blocks_encode(&section, old->names, old->count, ids,
                                 tfs_cosmic_chunk_version(&view.chunk.in));
        tfs_cosmic_section_put(change->edit, &view.chunk, TFS_COSMIC_SECTION_BLOCKS, &section, err);
    }
    tfs_buf_release(&section);
    free(old);
    tfs_cosmic_view_close(&view);
    return err->code;
}

/* ---- blocks of the save ---------------------------------------------------------------------- */

static const struct tfs_numbering numbering = {
    .empty = "base:air",
    .rules = TFS_COSMIC_NAME_RULES,
    .is_empty = tfs_cosmic_is_air,
    .names = tfs_cosmic_names_each,
};

/* The numbers of a layer's entries, each asked for when a voxel has it. */
static int map_entries(struct tfs_numbers *numbers, const struct tfs_cosmic_blocks *blocks,
                       const uint32_t ids[TFS_COSMIC_LAYER_VALUES], uint32_t *map,
                       struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);
    bool wanted[TFS_COSMIC_PALETTE_MAX] = {false};

    for (uint32_t i = 0; i < TFS_COSMIC_LAYER_VALUES; i++) {
        if (ids[i] >= blocks->count)
            return tfs_fail(err, -EBADMSG, "a palette index is out of range");
        wanted[ids[i]] = true;
    }
    for (uint32_t id = 0; id < blocks->count && err->code == 0; id++) {
        const struct tfs_span name = tfs_cosmic_name_take(&c);
        if (wanted[id] && map[id] == TFS_COSMIC_NO_NUMBER)
            tfs_numbers_add(numbers, name, &map[id], err);
    }
    return err->code;
}

static int map_layers(struct tfs_numbers *numbers, const struct tfs_cosmic_blocks *blocks,
                      uint32_t *map, uint32_t room, uint32_t from, uint32_t to, uint8_t *values,
                      struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];

    for (uint32_t y = from; y < to; y++, values += WIDTH * TFS_COSMIC_LAYER_VALUES) {
        const uint8_t type = blocks->layers.types[y], *bytes = blocks->layers.bytes[y].data;
        if (tfs_cosmic_layer_map(type, bytes, map, room, values))
            continue;
        blocks->layers.decode(type, bytes, ids);
        if (map_entries(numbers, blocks, ids, map, err) < 0)
            return err->code;
        tfs_cosmic_layer_map(type, bytes, map, room, values);
    }
    return 0;
}

/* At least as many, and a power of two. */
static uint32_t room_of(uint32_t count)
{
    uint32_t room = TFS_COSMIC_ROOM_MIN;

    while (room < count)
        room *= 2;
    return room;
}

/* The numbers that entries have already; names that no voxel has get none. */
static void find_entries(struct tfs_numbers *numbers, const struct tfs_cosmic_blocks *blocks,
                         uint32_t *map)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    for (uint32_t id = 0; id < blocks->count; id++)
        tfs_numbers_find(numbers, tfs_cosmic_name_take(&c), &map[id]);
}

static int read_numbers(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                        uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct tfs_numbers *numbers;
    struct tfs_blob *bytes = NULL;

    if (tfs_numbers_open(view->save, view->doc, &numbering, &numbers, err) < 0 ||
        tfs_chunk_load(view->save, chunk, &bytes, err) < 0)
        return err->code;
    if (tfs_cosmic_blocks_view(tfs_blob_span(bytes), &blocks, err) == 0) {
        const uint32_t room = room_of(blocks.count);
        uint32_t map[TFS_COSMIC_PALETTE_MAX];
        memset(map, 0xff, room * sizeof(*map)); /* TFS_COSMIC_NO_NUMBER */
        find_entries(numbers, &blocks, map);
        map_layers(numbers, &blocks, map, room, from, to, values, err);
    }
    tfs_blob_unref(bytes);
    return err->code;
}

static int set_voxel(const struct tfs_array_change *change, struct tfs_cosmic_change *blocks,
                     struct tfs_numbers *numbers, uint32_t i, struct tfs_error *err)
{
    const uint64_t value = tfs_array_value(change->wanted, WIDTH, i);
    struct tfs_span name;
    uint32_t number;

    if (value == 0)
        return tfs_cosmic_change_clear(blocks, i, err);
    if (!tfs_numbers_name(numbers, value, &name))
        return tfs_array_refuse(change, i, err, "arrays/palette.txt has %" PRIu32 " lines",
                                tfs_numbers_count(numbers));
    if (tfs_cosmic_change_number(blocks, name, &number, err) == 0)
        tfs_cosmic_change_set(blocks, i, number);
    return err->code;
}

static int write_numbers(const struct tfs_array_change *change, struct tfs_error *err)
{
    struct tfs_cosmic_change *blocks = calloc(1, sizeof(*blocks));
    struct tfs_numbers *numbers;

    if (blocks == NULL)
        return tfs_fail_memory(err);
    if (tfs_numbers_open(change->view->save, change->view->doc, &numbering, &numbers, err) == 0 &&
        tfs_cosmic_change_open(change->view->save, blocks, tfs_edit_doc(change->edit), change->key,
                               err) == 0) {
        for (uint32_t i = 0; i < TFS_COSMIC_VALUES && err->code == 0; i++)
            if (tfs_array_differs(change, i))
                set_voxel(change, blocks, numbers, i, err);
        if (err->code == 0)
            tfs_cosmic_change_store(change->edit, blocks, err);
    }
    tfs_cosmic_change_close(blocks);
    free(blocks);
    return err->code;
}

/* ---- lights ---------------------------------------------------------------------------------- */

static int read_light(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                      uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const unsigned width = view->volume.width;
    const size_t first = (size_t)from * TFS_COSMIC_LAYER_VALUES;
    const size_t count = (size_t)to * TFS_COSMIC_LAYER_VALUES - first;
    uint32_t levels[TFS_COSMIC_VALUES];
    struct tfs_blob *bytes = NULL;

    if (tfs_chunk_load(view->save, chunk, &bytes, err) < 0)
        return err->code;
    if (tfs_cosmic_light_values(tfs_blob_span(bytes), tfs_cosmic_chunk_version(chunk),
                                view->array->param, levels, err) > 0)
        for (size_t i = 0; i < count; i++)
            tfs_array_set(values, width, i, levels[first + i]);
    tfs_blob_unref(bytes);
    return err->code;
}

/* A chunk without a section gets one. */
static int write_light(const struct tfs_array_change *change, struct tfs_error *err)
{
    const struct tfs_array *array = change->view->array;
    const uint32_t highest = tfs_cosmic_light_highest(array->param);
    uint32_t levels[TFS_COSMIC_VALUES];

    for (size_t i = 0; i < TFS_COSMIC_VALUES; i++) {
        levels[i] = (uint32_t)tfs_array_value(change->wanted, change->view->volume.width, i);
        if (levels[i] > highest)
            return tfs_array_refuse(change, i, err, "light goes up to %" PRIu32, highest);
    }
    return tfs_cosmic_light_write(change->view->save, change->edit, change->key, array->param,
                                  levels, err);
}

/* ---- the files ------------------------------------------------------------------------------- */

#define SIDE TFS_COSMIC_SIDE

enum { BLOCKS, SKY, LIGHT, ARRAYS };

#define ARRAY(name, text, bytes, reader, writer)                                                   \
    .file = name, .about = text, .kind = 'u', .width = bytes, .side = SIDE, .read = reader,        \
    .write = writer

static const struct tfs_array arrays[ARRAYS] = {
    [BLOCKS] = {ARRAY("blocks.npy", "the numbers are those of arrays/palette.txt", WIDTH,
                      read_numbers, write_numbers),
                .numbering = &numbering},
    [SKY] = {ARRAY("lights/sky.npy", "sky light, 0 to 15", 1, read_light, write_light),
             .param = &tfs_cosmic_sky_lens},
    [LIGHT] = {ARRAY("lights/block.npy", "block light, 0x000 to 0xfff: red, green, blue", 2,
                     read_light, write_light),
               .param = &tfs_cosmic_light_lens},
};

static const struct tfs_array entries = {
    ARRAY("blocks.npy", "the numbers are those of the chunk's palette", WIDTH, read_blocks,
          write_blocks),
    .named = &arrays[BLOCKS]};

const struct tfs_lens tfs_cosmic_chunk_array_lens = TFS_ARRAY_CHUNK_LENS(&entries);
const struct tfs_lens tfs_cosmic_chunk_sky_array_lens = TFS_ARRAY_CHUNK_LENS(&arrays[SKY]);
const struct tfs_lens tfs_cosmic_chunk_light_array_lens = TFS_ARRAY_CHUNK_LENS(&arrays[LIGHT]);

static int exist(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    return tfs_arrays_exist(doc, at.key.group, SIDE, WIDTH);
}

const struct tfs_lens tfs_cosmic_array_lens = TFS_ARRAY_WHOLE_LENS(&arrays[BLOCKS], exist);
const struct tfs_lens tfs_cosmic_sky_array_lens = TFS_ARRAY_WHOLE_LENS(&arrays[SKY], exist);
const struct tfs_lens tfs_cosmic_light_array_lens = TFS_ARRAY_WHOLE_LENS(&arrays[LIGHT], exist);

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_arrays_info(save, doc, at.key.group, arrays, ARRAYS, exist(save, doc, at) != 0, out,
                           err);
}

const struct tfs_lens tfs_cosmic_array_info_lens = {.get = info_get};

const struct tfs_lens tfs_cosmic_array_palette_lens = {.param = &numbering, .get = tfs_numbers_get};
