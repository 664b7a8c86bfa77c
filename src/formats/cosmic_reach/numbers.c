/*
 * Block data -> numbers of arrays/palette.txt, layer by layer as they are stored, without cells in
 * between: the fast path of the bench row that loads a region into NumPy.
 *
 * Must not know containers.
 */
#include <errno.h>
#include <string.h>

#include "formats/arrays/array.h"
#include "formats/cosmic_reach/cells.h"

#define WIDTH 2 /* bytes of a number */

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

int tfs_cosmic_numbers_read(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                            uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct tfs_numbers *numbers;
    struct tfs_blob *bytes = NULL;

    if (tfs_numbers_open(view->save, view->doc, view->array->numbering, &numbers, err) < 0 ||
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
