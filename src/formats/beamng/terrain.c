/*
 * Planes of samples <-> tiles of a document.
 *
 * Must not know what the samples mean, nor pictures and texts.
 */
#include "formats/beamng/terrain.h"

#include <errno.h>
#include <string.h>

#include "formats/cells/cells.h"
#include "formats/save/document_pages.h"

const struct tfs_beamng_layout *tfs_beamng_layout_of(const struct tfs_doc *doc)
{
    const struct tfs_beamng_facts *facts = tfs_beamng_facts(doc);

    return &facts->layout;
}

struct tfs_beamng_names tfs_beamng_names_of(const struct tfs_doc *doc)
{
    return tfs_beamng_names_init(tfs_blob_span(tfs_beamng_table(doc)),
                                 tfs_beamng_layout_of(doc)->nul);
}

uint32_t tfs_beamng_name_count(const struct tfs_doc *doc)
{
    const struct tfs_span table = tfs_blob_span(tfs_beamng_table(doc));

    return table.size < 4 ? 0 : (uint32_t)tfs_array_value(table.data, 4, 0);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

uint32_t tfs_beamng_tiles_a_side(const struct tfs_beamng_layout *layout)
{
    return (layout->side + TFS_BEAMNG_TILE_SIDE - 1) / TFS_BEAMNG_TILE_SIDE;
}

static uint32_t length_from(uint32_t side, uint32_t first)
{
    return side - first < TFS_BEAMNG_TILE_SIDE ? side - first : TFS_BEAMNG_TILE_SIDE;
}

struct tfs_beamng_tile tfs_beamng_tile_of(const struct tfs_beamng_layout *layout,
                                          struct tfs_key key)
{
    struct tfs_beamng_tile tile = {.x = (uint32_t)key.x * TFS_BEAMNG_TILE_SIDE,
                                   .z = (uint32_t)key.z * TFS_BEAMNG_TILE_SIDE};

    tile.width = length_from(layout->side, tile.x);
    tile.height = length_from(layout->side, tile.z);
    return tile;
}

void tfs_beamng_tile_cut(const struct tfs_beamng_tile *tile, unsigned bytes, const uint8_t *south,
                         ptrdiff_t north, uint8_t *samples)
{
    size_t width = (size_t)tile->width * bytes;
    const uint8_t *west = south + (size_t)tile->x * bytes;

    for (uint32_t z = 0; z < tile->height; z++)
        memcpy(samples + z * width, west + north * (ptrdiff_t)(tile->z + z), width);
}

/* Keys are in the order of the document: y is 0, then z, then x. */
void tfs_beamng_row(const struct tfs_doc *doc, const struct tfs_beamng_plane *plane, uint32_t z,
                    uint8_t *out)
{
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(doc);
    const struct tfs_key west = {.z = (int32_t)(z / TFS_BEAMNG_TILE_SIDE)};
    struct tfs_beamng_tile tile = tfs_beamng_tile_of(layout, west);
    struct tfs_position at = tfs_doc_locate(doc, west);

    for (; tile.x < layout->side; tile.x += TFS_BEAMNG_TILE_SIDE) {
        const struct tfs_page *page = doc->pages[at.page];
        tile.width = length_from(layout->side, tile.x);
        const struct tfs_span samples = tfs_beamng_tile_plane(&page->chunks[at.at], &tile, plane);
        const size_t size = (size_t)tile.width * plane->bytes;
        memcpy(out, samples.data + (z - tile.z) * size, size);
        out += size;
        if (++at.at == page->count)
            at = (struct tfs_position){.page = at.page + 1};
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

int tfs_beamng_tile_put(struct tfs_edit *edit, struct tfs_key key,
                        const struct tfs_beamng_plane *plane, const uint8_t *samples,
                        struct tfs_error *err)
{
    const struct tfs_chunk *stored = tfs_doc_find(tfs_edit_doc(edit), key);
    struct tfs_beamng_tile tile = tfs_beamng_tile_of(tfs_beamng_layout_of(tfs_edit_doc(edit)), key);
    const bool heights = plane->before == 0;
    const struct tfs_span all = tfs_blob_span(heights ? stored->blob : stored->extra);
    const struct tfs_span old = tfs_beamng_tile_plane(stored, &tile, plane);
    uint8_t bytes[TFS_BEAMNG_TILE_BYTES_MAX];
    struct tfs_chunk chunk = *stored;
    struct tfs_blob *made = NULL;

    if (memcmp(old.data, samples, old.size) == 0)
        return 0;
    memcpy(bytes, all.data, all.size);
    memcpy(bytes + (old.data - all.data), samples, old.size);
    if (tfs_blob_copy((struct tfs_span){bytes, all.size}, &made, err) < 0)
        return err->code;
    *(heights ? &chunk.blob : &chunk.extra) = made;
    tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(made);
    return err->code;
}

int tfs_beamng_terrain_check_layout(const struct tfs_edit *edit, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(doc);
    struct tfs_beamng_layout read = {0};
    struct tfs_error why = {0};
    struct tfs_buf file = {0};

    if (doc->count > 1)
        return 0;
    tfs_buf_u8(&file, layout->version);
    tfs_buf_u32le(&file, layout->side);
    tfs_buf_add_span(&file, tfs_blob_span(tfs_doc_at(doc, 0)->blob));
    tfs_buf_add_span(&file, tfs_blob_span(tfs_doc_at(doc, 0)->extra));
    tfs_buf_add_span(&file, tfs_blob_span(tfs_beamng_table(doc)));
    int result = tfs_buf_check(&file, err);
    const struct tfs_beamng_file bytes = {.size = file.size, .bytes = file.data};
    if (result == 0 && (tfs_beamng_read(&bytes, &read, &why) < 0 || read.extra != layout->extra ||
                        read.nul != layout->nul))
        result = tfs_fail(err, -EBADMSG,
                          "with these values the file would be read as one of another layout");
    tfs_buf_release(&file);
    return result;
}
