/*
 * The name table <-> palette.txt, `INDEX NAME` a line.
 *
 * Must not know pictures. Materials are indices: names may repeat or be empty, and only entries at
 * the end can go. The layer map never changes here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/lenses.h"
#include "formats/beamng/materials.h"
#include "formats/cells/palette.h"
#include "text/name.h"

static int palette_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    struct tfs_span name;

    (void)save;
    (void)at;
    for (uint32_t i = 0; tfs_beamng_names_next(&names, &name); i++)
        tfs_palette_print(out, "", i, name);
    return tfs_buf_check(out, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A tfs_palette_had_fn: a material needs no name. */
static bool is_empty(const void *unused, struct tfs_span name)
{
    (void)unused;
    return name.size == 0;
}

/* A list of at most so many, or of 255. A terrain without materials has an empty one. */
static int read_list(struct tfs_palette *list, uint32_t entries, struct tfs_span text,
                     struct tfs_error *err)
{
    list->rules = (struct tfs_name_rules){
        .unit = "material",
        .max = TFS_BEAMNG_LENGTH_MAX,
        .entries = entries > TFS_BEAMNG_HOLE ? entries : TFS_BEAMNG_HOLE,
    };
    return text.size == 0 ? 0 : tfs_palette_read(list, text, is_empty, NULL, err);
}

/* A new name, whose number went to another one since: layers of that one would become this one. */
static int fail_taken(uint32_t number, struct tfs_span old, struct tfs_error *err)
{
    char name[TFS_QUOTED];

    return tfs_fail(err, -EBADMSG,
                    "material %" PRIu32 " came to the terrain since, as %s: add this one behind it",
                    number, tfs_name_quote(old, name));
}

static bool has_nul(struct tfs_span name)
{
    return name.size > 0 && memchr(name.data, 0, name.size) != NULL;
}

/* What a list makes of the names that there are now; `base` are those that it was made from.
 * Materials that came since stay, where this list took none away. */
static int combine(const struct tfs_palette *list, const struct tfs_beamng_materials *base,
                   const struct tfs_beamng_materials *now, struct tfs_beamng_materials *new,
                   struct tfs_error *err)
{
    const bool keeps = list->count >= base->count;
    const uint32_t count = keeps && now->count > list->count ? now->count : list->count;

    new->at = calloc(count + (size_t)1, sizeof(*new->at));
    if (new->at == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        const bool there = i < now->count;
        new->at[i] = i < list->count ? list->names[i] : now->at[i];
        if (there && i < base->count && tfs_span_equal(new->at[i], base->at[i]))
            new->at[i] = now->at[i];
        else if (there && i >= base->count && !tfs_span_equal(new->at[i], now->at[i]))
            return fail_taken(i, now->at[i], err);
        if (!(there && tfs_span_equal(new->at[i], now->at[i])) && has_nul(new->at[i]))
            return tfs_fail(err, -EBADMSG, "material %" PRIu32 ": a name cannot hold a byte 0", i);
    }
    new->count = count;
    return 0;
}

/* ---- what cannot be -------------------------------------------------------------------------- */

/* Did a name of the terrain leave its lines for this one? */
static bool is_moved(const struct tfs_beamng_materials *now, const struct tfs_beamng_materials *new,
                     uint32_t line, uint32_t *from)
{
    bool moved = false;

    for (uint32_t i = 0; i < now->count && i < TFS_BEAMNG_HOLE; i++) {
        if (!tfs_span_equal(now->at[i], new->at[line]))
            continue;
        if (i < new->count && tfs_span_equal(new->at[i], now->at[i]))
            return false;
        moved = now->at[i].size > 0;
        *from = i;
    }
    return moved;
}

/* A list in which a name of the terrain moved to another line is of another moment. */
static int check_moment(const struct tfs_beamng_materials *now,
                        const struct tfs_beamng_materials *new, struct tfs_error *err)
{
    char name[TFS_QUOTED];
    uint32_t from = 0;

    for (uint32_t i = 0; i < TFS_BEAMNG_HOLE && i < new->count; i++)
        if (is_moved(now, new, i, &from))
            return tfs_fail(err, -EBADMSG,
                            "material %" PRIu32 " is %s, which is material %" PRIu32
                            " of the terrain: names were moved, so this list is of another moment; "
                            "edit the one that the save has now",
                            i, tfs_name_quote(new->at[i], name), from);
    return 0;
}

/* Materials from `count` on shall go: none of them may be in use. Layers that never had a material
 * do not keep the others from going. */
static int check_unused(const struct tfs_doc *doc, uint32_t count, struct tfs_error *err)
{
    const uint32_t materials = tfs_beamng_name_count(doc);
    const uint32_t end = materials < TFS_BEAMNG_HOLE ? materials : TFS_BEAMNG_HOLE;

    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        const struct tfs_beamng_tile tile =
            tfs_beamng_tile_of(tfs_beamng_layout_of(doc), chunk->key);
        const uint8_t *layers = tfs_beamng_tile_plane(chunk, &tile, &tfs_beamng_layers).data;
        for (uint32_t k = 0; k < tfs_beamng_tile_samples(&tile); k++)
            if (layers[k] >= count && layers[k] < end)
                return tfs_fail(err, -EBADMSG,
                                "material %u is used, first at %" PRIu32 ",%" PRIu32
                                " (x,z): it cannot be removed",
                                layers[k], tile.x + k % tile.width, tile.z + k / tile.width);
    }
    return 0;
}

/* ---- the lens -------------------------------------------------------------------------------- */

static int store(struct tfs_edit *edit, const struct tfs_beamng_materials *now,
                 const struct tfs_beamng_materials *new, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    struct tfs_blob *table = NULL;

    if (check_unused(doc, new->count, err) == 0 && check_moment(now, new, err) == 0 &&
        tfs_beamng_materials_table(new, tfs_beamng_layout_of(doc)->nul, &table, err) == 0) {
        tfs_edit_common(edit, table);
        tfs_beamng_terrain_check_layout(edit, err);
    }
    tfs_blob_unref(table);
    return err->code;
}

static int palette_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_beamng_materials now, base, new = {.at = NULL};
    struct tfs_palette list = {.count = 0}, original = {.count = 0};

    (void)save, (void)at;
    if (tfs_beamng_materials_open(tfs_edit_doc(edit), &now, err) == 0 &&
        tfs_lines_check_end(text, err) == 0 && read_list(&list, now.count, text, err) == 0 &&
        read_list(&original, TFS_BEAMNG_NAMES_MAX, put->original, err) == 0) {
        base = (struct tfs_beamng_materials){original.names, original.count};
        base = put->original.size > 0 ? base : now;
        if (check_moment(&now, &base, err) == 0 && combine(&list, &base, &now, &new, err) == 0 &&
            !tfs_beamng_materials_same(&now, &new))
            store(edit, &now, &new, err);
    }
    tfs_palette_release(&list);
    tfs_palette_release(&original);
    free(now.at);
    free(new.at);
    return err->code;
}

const struct tfs_lens tfs_beamng_palette_lens = {.get = palette_get, .put = palette_put};
const struct tfs_lens tfs_beamng_array_palette_lens = {.get = palette_get};
