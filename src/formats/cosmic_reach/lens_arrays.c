/*
 * arrays/blocks.npy of a chunk and of the save: block data <-> numbers as NumPy has them, uint16
 * [y, z, x]. Of a chunk the numbers are its palette's; of the save those of arrays/palette.txt,
 * which stay as long as the save is open (formats/arrays/numbers.h).
 *
 * Must not know containers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/numbers.h"
#include "formats/arrays/volume.h"
#include "formats/cosmic_reach/change.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/info.h"
#include "text/name.h"

#define WIDTH       2
#define CHUNK_BYTES (TFS_COSMIC_VALUES * WIDTH)
#define EMPTY       "base:air"
#define NO_NUMBER   UINT32_MAX
/* A whole array that is in memory at once: for commands, and to be written. */
#define WHOLE_MAX ((uint64_t)1 << 30)

static void put_value(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static uint32_t get_value(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

/* ---- of a chunk ------------------------------------------------------------------------------ */

static const struct tfs_npy chunk_head = {
    .kind = 'u',
    .width = WIDTH,
    .shape = {TFS_COSMIC_SIDE, TFS_COSMIC_SIDE, TFS_COSMIC_SIDE},
    .dimensions = 3,
};

static int chunk_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_VALUES];
    struct tfs_cosmic_view view;

    if (tfs_cosmic_view_open(save, doc, at.key, &view, err) < 0)
        return err->code;
    tfs_cosmic_layers_decode(&view.blocks.layers, ids);
    tfs_cosmic_view_close(&view);
    tfs_npy_print(&chunk_head, out);
    uint8_t *values = tfs_buf_reserve(out, CHUNK_BYTES);
    for (size_t i = 0; i < TFS_COSMIC_VALUES && values != NULL; i++)
        put_value(values + WIDTH * i, ids[i]);
    out->size += values != NULL ? CHUNK_BYTES : 0;
    return tfs_buf_check(out, err);
}

static int64_t chunk_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save, (void)doc, (void)at;
    return TFS_NPY_HEAD + CHUNK_BYTES;
}

/* The numbers that the text has, in grid order; none may be `count` or above. */
static int take_numbers(const struct tfs_npy *npy, struct tfs_span values, uint32_t count,
                        uint32_t ids[TFS_COSMIC_VALUES], struct tfs_error *err)
{
    for (uint32_t i = 0; i < TFS_COSMIC_VALUES; i++) {
        const uint32_t y = i / TFS_COSMIC_LAYER_VALUES, z = i / TFS_COSMIC_SIDE % TFS_COSMIC_SIDE;
        const uint64_t value = tfs_npy_value(npy, values, y, z, i % TFS_COSMIC_SIDE);
        if (value >= count)
            return tfs_fail(err, -EBADMSG,
                            "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "] is %" PRId64
                            ", the palette has %" PRIu32 " lines",
                            y, z, i % TFS_COSMIC_SIDE, (int64_t)value, count);
        ids[i] = (uint32_t)value;
    }
    return 0;
}

static int chunk_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cosmic_view view = {0};
    struct tfs_cosmic_values *old = NULL;
    struct tfs_buf section = {0};
    uint32_t ids[TFS_COSMIC_VALUES];
    struct tfs_span values;
    struct tfs_npy npy;

    (void)put;
    if (tfs_npy_take(text, &npy, &values, err) < 0 || tfs_npy_expect(&npy, &chunk_head, err) < 0 ||
        tfs_cosmic_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0)
        return err->code;
    if (tfs_cosmic_blocks_decode(&view.blocks, &old, err) == 0 &&
        take_numbers(&npy, values, old->count, ids, err) == 0 &&
        memcmp(ids, old->ids, sizeof(ids)) != 0) {
        tfs_cosmic_blocks_encode(&section, old->names, old->count, ids, view.chunk.in.tag);
        tfs_cosmic_section_put(edit, &view.chunk, TFS_COSMIC_SECTION_BLOCKS, &section, err);
    }
    tfs_buf_release(&section);
    free(old);
    tfs_cosmic_view_close(&view);
    return err->code;
}

const struct tfs_lens tfs_cosmic_chunk_array_lens = {
    .get = chunk_get,
    .put = chunk_put,
    .size = chunk_size,
};

/* ---- numbers of the save --------------------------------------------------------------------- */

static int number_of(struct tfs_numbers *numbers, struct tfs_span name, uint32_t *number,
                     struct tfs_error *err)
{
    if (tfs_cosmic_is_air(name)) {
        *number = 0;
        return 0;
    }
    return tfs_numbers_add(numbers, name, number, err);
}

/* All names of the document have numbers then, those that are new in their order. */
static int open_numbers(struct tfs_save *save, const struct tfs_doc *doc,
                        struct tfs_numbers **numbers, struct tfs_error *err)
{
    struct tfs_cosmic_name_list list;
    uint32_t ignored;

    if (tfs_numbers_of(save, tfs_span_of(EMPTY), numbers, err) < 0 ||
        tfs_numbers_are_known(*numbers, doc->version))
        return err->code;
    if (tfs_cosmic_name_list_open(&list, save, doc, err) < 0)
        return err->code;
    for (size_t i = 0; i < list.count && err->code == 0; i++)
        number_of(*numbers, list.names[i], &ignored, err);
    tfs_cosmic_name_list_close(&list);
    if (err->code == 0)
        tfs_numbers_know(*numbers, doc->version);
    return err->code;
}

/* ---- of the save ----------------------------------------------------------------------------- */

struct source {
    struct tfs_save *save;
    struct tfs_numbers *numbers;
};

/* The numbers of a palette's entries, each asked for when a voxel has it. */
static int map_value(struct source *s, const struct tfs_cosmic_blocks *blocks, uint32_t *map,
                     uint32_t id, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);
    struct tfs_span name = {0};

    if (id >= blocks->count)
        return tfs_fail(err, -EBADMSG, "a palette index is out of range");
    for (uint32_t i = 0; i <= id; i++)
        name = tfs_cosmic_name_take(&c);
    return number_of(s->numbers, name, &map[id], err);
}

static int map_layers(struct source *s, const struct tfs_cosmic_blocks *blocks, uint32_t *map,
                      uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];

    for (uint32_t y = from; y < to; y++) {
        blocks->layers.decode(blocks->layers.types[y], blocks->layers.bytes[y].data, ids);
        for (uint32_t i = 0; i < TFS_COSMIC_LAYER_VALUES; i++, values += WIDTH) {
            const uint32_t id = ids[i] < blocks->count ? ids[i] : 0;
            if ((id != ids[i] || map[id] == NO_NUMBER) &&
                map_value(s, blocks, map, ids[i], err) < 0)
                return err->code;
            put_value(values, map[id]);
        }
    }
    return 0;
}

static int layers(void *arg, const struct tfs_chunk *chunk, uint32_t from, uint32_t to,
                  uint8_t *values, struct tfs_error *err)
{
    struct source *s = arg;
    struct tfs_cosmic_blocks blocks;
    struct tfs_blob *bytes = NULL;

    if (tfs_chunk_load(s->save, chunk, &bytes, err) < 0)
        return err->code;
    if (tfs_cosmic_blocks_view(tfs_blob_span(bytes), &blocks, err) == 0) {
        uint32_t *map = malloc(blocks.count * sizeof(*map));
        if (map == NULL) {
            tfs_fail_memory(err);
        } else {
            memset(map, 0xff, blocks.count * sizeof(*map));
            map_layers(s, &blocks, map, from, to, values, err);
        }
        free(map);
    }
    tfs_blob_unref(bytes);
    return err->code;
}

static struct tfs_volume volume_of(const struct tfs_doc *doc, struct source *source)
{
    return (struct tfs_volume){
        .doc = doc, .side = TFS_COSMIC_SIDE, .width = WIDTH, .layers = layers, .arg = source};
}

uint32_t tfs_cosmic_array_count(const struct tfs_doc *doc)
{
    struct tfs_volume volume = volume_of(doc, NULL);

    return tfs_volume_span(&volume);
}

static int save_get_part(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                         uint64_t offset, uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    struct source source = {.save = save};
    struct tfs_volume volume = volume_of(doc, &source);

    (void)at;
    if (!tfs_volume_span(&volume))
        return tfs_fail(err, -ENOENT, "there are no chunks");
    if (open_numbers(save, doc, &source.numbers, err) < 0)
        return err->code;
    return tfs_volume_part(&volume, offset, size, out, err);
}

static int64_t save_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_volume volume = volume_of(doc, NULL);

    (void)save, (void)at;
    return tfs_volume_span(&volume) ? (int64_t)tfs_volume_size(&volume) : -ENOENT;
}

static int save_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    const int64_t size = save_size(save, doc, at);

    if (size > (int64_t)WHOLE_MAX)
        return tfs_fail(err, -EFBIG, "the array has %" PRId64 " bytes: read parts of it in a mount",
                        size);
    return save_get_part(save, doc, at, 0, WHOLE_MAX, out, err);
}

/* ---- writing that ---------------------------------------------------------------------------- */

struct writing {
    struct tfs_save *save;
    struct tfs_edit *edit;
    struct source source;
    struct tfs_volume volume;
    struct tfs_npy npy, old_npy;
    struct tfs_span values, old; /* what the text says, and what it was made from, if known */
    uint8_t now[CHUNK_BYTES];    /* of the chunk at hand */
    uint8_t wanted[CHUNK_BYTES];
};

/* What the text says of the chunk whose place along y, z, x is given. */
static int gather(struct writing *w, const uint64_t at[3], struct tfs_error *err)
{
    const uint32_t count = tfs_numbers_count(w->source.numbers);

    for (uint32_t i = 0; i < TFS_COSMIC_VALUES; i++) {
        const uint64_t y = at[0] * TFS_COSMIC_SIDE + i / TFS_COSMIC_LAYER_VALUES;
        const uint64_t z = at[1] * TFS_COSMIC_SIDE + i / TFS_COSMIC_SIDE % TFS_COSMIC_SIDE;
        const uint64_t x = at[2] * TFS_COSMIC_SIDE + i % TFS_COSMIC_SIDE;
        uint64_t value = tfs_npy_value(&w->npy, w->values, y, z, x);
        if (w->old.size > 0 && value == tfs_npy_value(&w->old_npy, w->old, y, z, x))
            value = get_value(&w->now[WIDTH * i]); /* nobody wrote here */
        if (value >= count)
            return tfs_fail(err, -EBADMSG,
                            "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "] is %" PRId64
                            ", arrays/palette.txt has %" PRIu32 " lines",
                            y, z, x, (int64_t)value, count);
        put_value(&w->wanted[WIDTH * i], (uint32_t)value);
    }
    return 0;
}

static int set_voxel(struct writing *w, struct tfs_cosmic_change *change, uint32_t i,
                     struct tfs_error *err)
{
    const uint32_t value = get_value(&w->wanted[WIDTH * i]);
    struct tfs_span name;
    uint32_t number;

    if (value == 0)
        return tfs_cosmic_change_clear(change, i, err);
    if (!tfs_numbers_name(w->source.numbers, value, &name))
        return tfs_fail(err, -EBADMSG, "%" PRIu32 " is no number of a name", value);
    if (tfs_cosmic_change_number(change, name, &number, err) == 0)
        tfs_cosmic_change_set(change, i, number);
    return err->code;
}

static int change_chunk(struct writing *w, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_cosmic_change *change = calloc(1, sizeof(*change));

    if (change == NULL)
        return tfs_fail_memory(err);
    if (tfs_cosmic_change_open(w->save, change, tfs_edit_doc(w->edit), key, err) == 0) {
        for (uint32_t i = 0; i < TFS_COSMIC_VALUES && err->code == 0; i++)
            if (memcmp(&w->now[WIDTH * i], &w->wanted[WIDTH * i], WIDTH) != 0)
                set_voxel(w, change, i, err);
        if (err->code == 0)
            tfs_cosmic_change_store(w->edit, change, err);
    }
    tfs_cosmic_change_close(change);
    free(change);
    return err->code;
}

/* A chunk that lacks is made where the text has something in it. */
static int put_chunk(struct writing *w, const uint64_t at[3], struct tfs_error *err)
{
    struct tfs_key key = w->volume.low;

    key.y += (int32_t)at[0];
    key.z += (int32_t)at[1];
    key.x += (int32_t)at[2];
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(w->edit), key);
    memset(w->now, 0, sizeof(w->now));
    if (chunk != NULL && (chunk->flags & TFS_CHUNK_DAMAGED) == 0 &&
        layers(&w->source, chunk, 0, TFS_COSMIC_SIDE, w->now, err) < 0)
        return err->code;
    if (gather(w, at, err) < 0 || memcmp(w->now, w->wanted, sizeof(w->now)) == 0)
        return err->code;
    if (chunk == NULL && w->save->tree->chunk_create(w->save, w->edit, key, err) < 0)
        return err->code;
    return change_chunk(w, key, err);
}

static int put_chunks(struct writing *w, struct tfs_error *err)
{
    const uint32_t *chunks = w->volume.chunks;
    uint64_t at[3];

    for (at[0] = 0; at[0] < chunks[0]; at[0]++)
        for (at[1] = 0; at[1] < chunks[1]; at[1]++)
            for (at[2] = 0; at[2] < chunks[2]; at[2]++)
                if (put_chunk(w, at, err) < 0)
                    return err->code;
    return 0;
}

static int save_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct writing *w = calloc(1, sizeof(*w));
    struct tfs_error ignored = {0};

    (void)at;
    if (w == NULL)
        return tfs_fail_memory(err);
    w->save = save;
    w->edit = edit;
    w->source.save = save;
    w->volume = volume_of(edit->base, &w->source);
    if (!tfs_volume_span(&w->volume))
        tfs_fail(err, -EBADMSG, "there are no chunks");
    const struct tfs_npy expected = err->code == 0 ? tfs_volume_npy(&w->volume) : chunk_head;
    if (err->code == 0 && open_numbers(save, edit->base, &w->source.numbers, err) == 0 &&
        tfs_npy_take(text, &w->npy, &w->values, err) == 0 &&
        tfs_npy_expect(&w->npy, &expected, err) == 0) {
        if (put->original.size > 0 &&
            (tfs_npy_take(put->original, &w->old_npy, &w->old, &ignored) < 0 ||
             tfs_npy_expect(&w->old_npy, &expected, &ignored) < 0))
            tfs_fail(err, -ESTALE, "the array has another shape since this one was read");
        if (err->code == 0)
            put_chunks(w, err);
    }
    free(w);
    return err->code;
}

const struct tfs_lens tfs_cosmic_array_lens = {
    .get = save_get,
    .get_part = save_get_part,
    .put = save_put,
    .size = save_size,
};

/* ---- arrays/palette.txt and arrays/info.txt -------------------------------------------------- */

static int palette_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_numbers *numbers;
    struct tfs_span name;

    (void)at;
    if (open_numbers(save, doc, &numbers, err) < 0)
        return err->code;
    for (uint32_t i = 0; tfs_numbers_name(numbers, i, &name); i++) {
        tfs_buf_printf(out, "%" PRIu32 " ", i);
        tfs_name_print(out, name);
        tfs_buf_u8(out, '\n');
    }
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_cosmic_array_palette_lens = {.get = palette_get};

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_volume volume = volume_of(doc, NULL);

    (void)save, (void)at;
    if (!tfs_volume_span(&volume))
        return tfs_fail(err, -ENOENT, "there are no chunks");
    const struct tfs_npy npy = tfs_volume_npy(&volume);
    const int64_t side = TFS_COSMIC_SIDE;
    tfs_buf_printf(out, "axes: y z x\nshape: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", npy.shape[0],
                   npy.shape[1], npy.shape[2]);
    tfs_buf_printf(out, "origin: %" PRId64 " %" PRId64 " %" PRId64 "\n", side * volume.low.y,
                   side * volume.low.z, side * volume.low.x);
    tfs_buf_add_text(out, "blocks.npy: the numbers are those of arrays/palette.txt, 0 is empty\n");
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_cosmic_array_info_lens = {.get = info_get};
