/*
 * voxels.csv: one line `x,y,z,block` a block that is not air <-> block data.
 *
 * Writing is made of whole pieces (`64,` · `-9,3,` · `base:stone` and line end), each printed once
 * and copied per line. Reading is in voxels_text.c; here its voxels become a palette and indices.
 * Must not know light, entities or containers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/change.h"
#include "formats/cosmic_reach/lenses.h"
#include "formats/cosmic_reach/voxels_text.h"
#include "text/decimal.h"
#include "text/name.h"
#include "text/table.h"

/* ---- get ------------------------------------------------------------------------------------- */

/* Pieces are copied by whole steps, so what lies behind each may be read and overwritten. */
#define STEP       32
#define COORDINATE 16 /* room for one of them, with its comma */

struct piece {
    size_t at; /* in pieces.names */
    size_t size;
};

/* Sums of these count lines and bytes of names at once: lines in the upper bits. */
#define ONE_LINE   (UINT64_C(1) << 48)
#define NAMES_MASK (ONE_LINE - 1)

/* Everything that lines are made of. */
struct pieces {
    const struct tfs_cosmic_view *view;
    struct piece *blocks; /* of each palette entry, with the line end; size 0: air, no line */
    uint64_t *weights;    /* of each palette entry: 0, or ONE_LINE + size */
    struct tfs_buf names;
    struct axis {
        uint8_t text[TFS_COSMIC_SIDE][COORDINATE];
        size_t size[TFS_COSMIC_SIDE];
    } x, y, z;
    bool x_same; /* all have the size of the first */
};

static int64_t global(int32_t chunk, unsigned local)
{
    return (int64_t)chunk * TFS_COSMIC_SIDE + local;
}

/* `v,` into `out`, which has room; returns its size. */
static size_t print_coordinate(uint8_t *out, int64_t v)
{
    size_t size = tfs_decimal_put_signed(out, v);

    out[size] = ',';
    return size + 1;
}

static void print_block(struct pieces *p, uint32_t i, struct tfs_span name, struct tfs_buf *printed)
{
    if (tfs_cosmic_is_air(name))
        return;
    tfs_buf_clear(printed);
    tfs_name_print(printed, name);
    p->blocks[i].at = p->names.size;
    tfs_table_print_field(&p->names, tfs_buf_span(printed));
    tfs_buf_u8(&p->names, '\n');
    p->blocks[i].size = p->names.size - p->blocks[i].at;
    p->weights[i] = ONE_LINE + p->blocks[i].size;
}

static int print_names(struct pieces *p, struct tfs_error *err)
{
    const struct tfs_cosmic_blocks *blocks = &p->view->blocks;
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);
    struct tfs_buf printed = {0};

    p->blocks = calloc(blocks->count, sizeof(*p->blocks));
    p->weights = calloc(blocks->count, sizeof(*p->weights));
    if (p->blocks == NULL || p->weights == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < blocks->count; i++)
        print_block(p, i, tfs_cosmic_name_take(&c), &printed);
    tfs_buf_resize(&p->names, p->names.size + STEP);
    if (tfs_buf_check(&printed, err) == 0)
        tfs_buf_check(&p->names, err);
    tfs_buf_release(&printed);
    return err->code;
}

static void pieces_release(struct pieces *p)
{
    free(p->blocks);
    free(p->weights);
    tfs_buf_release(&p->names);
}

static void print_axis(struct axis *axis, int32_t chunk)
{
    for (unsigned i = 0; i < TFS_COSMIC_SIDE; i++)
        axis->size[i] = print_coordinate(axis->text[i], global(chunk, i));
}

static int pieces_init(struct pieces *p, const struct tfs_cosmic_view *view, struct tfs_error *err)
{
    *p = (struct pieces){.view = view, .x_same = true};
    print_axis(&p->x, view->chunk->key.x);
    print_axis(&p->y, view->chunk->key.y);
    print_axis(&p->z, view->chunk->key.z);
    for (unsigned x = 1; x < TFS_COSMIC_SIDE; x++)
        p->x_same = p->x_same && p->x.size[x] == p->x.size[0];
    if (print_names(p, err) < 0)
        pieces_release(p);
    return err->code;
}

/* `y,z,` of a row into `out`, which has room for two coordinates. */
static size_t print_row(const struct pieces *p, unsigned y, unsigned z, uint8_t *out)
{
    memcpy(out, p->y.text[y], COORDINATE);
    memcpy(out + p->y.size[y], p->z.text[z], COORDINATE);
    return p->y.size[y] + p->z.size[z];
}

/* Bytes of the x coordinates of a row that has `lines` lines. */
static uint64_t row_x_size(const struct pieces *p, const uint32_t *ids, uint64_t lines)
{
    uint64_t total = 0;

    if (p->x_same)
        return lines * p->x.size[0];
    for (unsigned x = 0; x < TFS_COSMIC_SIDE; x++)
        total += p->weights[ids[x]] == 0 ? 0 : p->x.size[x];
    return total;
}

static uint64_t layer_size(const struct pieces *p, unsigned y, const uint32_t *ids)
{
    uint64_t total = 0;

    for (unsigned z = 0; z < TFS_COSMIC_SIDE; z++, ids += TFS_COSMIC_SIDE) {
        uint64_t sum = 0;
        for (unsigned x = 0; x < TFS_COSMIC_SIDE; x++)
            sum += p->weights[ids[x]];
        uint64_t lines = sum / ONE_LINE;
        if (lines > 0)
            total += (sum & NAMES_MASK) + row_x_size(p, ids, lines) +
                     lines * (p->y.size[y] + p->z.size[z]);
    }
    return total;
}

static uint64_t lines_size(const struct pieces *p)
{
    const struct tfs_cosmic_layers *layers = &p->view->blocks.layers;
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];
    uint64_t total = 0;

    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++) {
        bool single = layers->types[y] == TFS_COSMIC_SINGLE_BYTE;
        if (single && p->weights[layers->bytes[y].data[0]] == 0)
            continue;
        layers->decode(layers->types[y], layers->bytes[y].data, ids);
        total += layer_size(p, y, ids);
    }
    return total;
}

/* Returns where the next line goes. */
static inline uint8_t *print_line(const struct pieces *p, unsigned x, const uint8_t *row,
                                  size_t row_size, struct piece block, uint8_t *out)
{
    const uint8_t *name = p->names.data + block.at;

    memcpy(out, p->x.text[x], COORDINATE);
    out += p->x.size[x];
    memcpy(out, row, STEP);
    out += row_size;
    for (size_t i = 0; i < block.size; i += STEP)
        memcpy(out + i, name + i, STEP);
    return out + block.size;
}

static void print_lines(const struct pieces *p, uint8_t *out)
{
    uint32_t values[TFS_COSMIC_VALUES];
    const uint32_t *ids = values;
    uint8_t row_text[STEP];

    tfs_cosmic_layers_decode(&p->view->blocks.layers, values);
    for (unsigned row = 0; row < TFS_COSMIC_VALUES / TFS_COSMIC_SIDE; row++) {
        size_t row_size = print_row(p, row / TFS_COSMIC_SIDE, row % TFS_COSMIC_SIDE, row_text);
        for (unsigned x = 0; x < TFS_COSMIC_SIDE; x++) {
            struct piece block = p->blocks[*ids++];
            if (block.size > 0)
                out = print_line(p, x, row_text, row_size, block, out);
        }
    }
}

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_view view;
    struct pieces p;

    (void)save;
    if (tfs_cosmic_view_open(doc, at.key, &view, err) < 0 || pieces_init(&p, &view, err) < 0)
        return err->code;
    tfs_buf_add_text(out, TFS_COSMIC_VOXELS_HEADER "\n");
    uint64_t size = lines_size(&p);
    uint8_t *lines = tfs_buf_reserve(out, size + 2 * STEP);
    if (lines != NULL) {
        print_lines(&p, lines);
        out->size += size;
    }
    pieces_release(&p);
    return tfs_buf_check(out, err);
}

static int64_t voxels_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_view view;
    struct pieces p;
    struct tfs_error ignored = {0};

    (void)save;
    if (tfs_cosmic_view_open(doc, at.key, &view, &ignored) < 0 ||
        pieces_init(&p, &view, &ignored) < 0)
        return ignored.code;
    int64_t size = (int64_t)(sizeof(TFS_COSMIC_VOXELS_HEADER) + lines_size(&p));
    pieces_release(&p);
    return size;
}

/* ---- put ------------------------------------------------------------------------------------- */

/* The name of each voxel, as a number: below the count of the old palette its first entry of that
 * name, from there on a name that the text brought. */
struct change {
    const struct tfs_cosmic_view *view;
    struct tfs_cosmic_values *old;
    struct tfs_cosmic_voxels_text text;
    uint32_t ids[TFS_COSMIC_VALUES]; /* the same numbers, with the old entry where it stays */
};

/* The air of voxels that are emptied: the palette's first, else a new one. */
static int find_air(struct change *c, uint32_t *air, struct tfs_error *err)
{
    if (tfs_cosmic_find_air(c->old, air))
        return 0;
    return tfs_cosmic_voxels_name(&c->text, tfs_cosmic_air(c->view->chunk->tag), air, err);
}

/* Fills ids. */
static int resolve(struct change *c, struct tfs_error *err)
{
    uint32_t air = TFS_COSMIC_VOXEL_EMPTY;

    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++) {
        uint32_t before = c->old->ids[i], named = c->text.voxels[i];
        bool empty = named == TFS_COSMIC_VOXEL_EMPTY;
        c->ids[i] = before;
        if (empty ? tfs_cosmic_is_air(c->old->names[before]) : c->text.first[before] == named)
            continue;
        if (empty && air == TFS_COSMIC_VOXEL_EMPTY && find_air(c, &air, err) < 0)
            return err->code;
        c->ids[i] = empty ? air : named;
    }
    return 0;
}

static int store_change(struct tfs_edit *edit, struct change *c, struct tfs_error *err)
{
    if (resolve(c, err) < 0)
        return err->code;

    struct tfs_cosmic_change change = {c->view, c->old, c->text.added, c->text.added_count, c->ids};
    return tfs_cosmic_change_store(edit, &change, err);
}

static int voxels_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cosmic_view view;
    struct change *c = calloc(1, sizeof(*c));

    (void)save;
    if (c == NULL)
        return tfs_fail_memory(err);
    if (tfs_cosmic_view_open(tfs_edit_doc(edit), at.key, &view, err) < 0)
        goto out;
    c->view = &view;
    if (tfs_cosmic_blocks_decode(&view.blocks, &c->old, err) == 0 &&
        tfs_cosmic_voxels_parse(&c->text, text, at.key, put->fresh, c->old, err) == 0)
        store_change(edit, c, err);
out:
    tfs_cosmic_voxels_release(&c->text);
    free(c->old);
    free(c);
    return err->code;
}

const struct tfs_lens tfs_cosmic_voxels_lens = {
    .get = voxels_get,
    .put = voxels_put,
    .size = voxels_size,
};
