/*
 * info.txt and palette.txt of the root: what the region is, and the names of all its blocks.
 *
 * Must not know where chunks lie in the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/lenses.h"
#include "formats/cosmic_reach/zone.h"
#include "formats/info.h"
#include "formats/picture/picture.h"
#include "formats/renaming.h"

/* ---- info.txt -------------------------------------------------------------------------------- */

const char *tfs_cosmic_layout_name(const struct tfs_cosmic_facts *own)
{
    if (own->version <= TFS_COSMIC_VERSION_TABLE_MAX)
        return "chunk table";
    return own->compression == TFS_COSMIC_GZIP ? "columns, gzip" : "columns, not compressed";
}

static void add_odd(struct tfs_buf *out, const struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_cosmic_odd odd;

    if (tfs_cosmic_facts(doc)->zone)
        tfs_cosmic_zone_describe_odd(out, doc);
    else if (tfs_cosmic_odd_find(doc, &odd, err) == 0)
        tfs_cosmic_odd_print(&odd, "", out);
}

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_cosmic_facts *own = tfs_cosmic_facts(doc);
    struct tfs_key region;

    (void)at;
    tfs_info_begin(out, save, doc);
    if (own->zone) {
        tfs_cosmic_zone_describe(out, doc);
    } else {
        tfs_info_line(out, "version", "%u", own->version);
        tfs_info_line(out, "layout", "%s", tfs_cosmic_layout_name(own));
        if (tfs_cosmic_region_of_doc(doc, &region))
            tfs_info_line(out, "region", "%d %d %d", region.x, region.y, region.z);
    }
    tfs_info_line(out, "chunk size", "16 16 16");
    tfs_picture_info(out, save->tree, doc);
    tfs_info_line(out, "light",
                  "is kept as stored and not computed when blocks change; whether the game "
                  "computes it again is not known");
    tfs_info_end(out, save, doc);
    add_odd(out, doc, err);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

const struct tfs_lens tfs_cosmic_info_lens = {.get = info_get};

/* ---- palette.txt ----------------------------------------------------------------------------- */

static int add_palette(struct tfs_span body, bool air, tfs_name_fn add, void *arg,
                       struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;

    if (tfs_cosmic_blocks_view(body, &blocks, err) < 0)
        return err->code;

    struct tfs_cursor c = tfs_cursor_init(blocks.palette);
    for (uint32_t i = 0; i < blocks.count; i++) {
        const struct tfs_span name = tfs_cosmic_name_take(&c);
        if ((air || !tfs_cosmic_is_air(name)) && add(arg, name, err) < 0)
            return err->code;
    }
    return 0;
}

static int add_chunk(struct tfs_save *save, const struct tfs_chunk *chunk, bool air,
                     tfs_name_fn add, void *arg, struct tfs_error *err)
{
    struct tfs_blob *bytes = NULL;

    if (chunk->flags & TFS_CHUNK_DAMAGED)
        return 0;
    int status = tfs_chunk_load(save, chunk, &bytes, err);
    if (status == 0)
        status = add_palette(tfs_blob_span(bytes), air, add, arg, err);
    tfs_blob_unref(bytes);
    return status;
}

int tfs_cosmic_chunk_names(struct tfs_save *save, const struct tfs_chunk *chunk, tfs_name_fn each,
                           void *arg, struct tfs_error *err)
{
    return add_chunk(save, chunk, false, each, arg, err);
}

int tfs_cosmic_names_each(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each,
                          void *arg, struct tfs_error *err)
{
    for (size_t i = 0; i < doc->count && err->code == 0; i++)
        add_chunk(save, tfs_doc_at(doc, i), true, each, arg, err);
    return err->code;
}

/* The new names of a chunk's palette into `names`, which has room. */
static void rename_palette(const struct tfs_renaming *r, const struct tfs_cosmic_blocks *blocks,
                           struct tfs_span *names)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    for (uint32_t i = 0; i < blocks->count; i++)
        names[i] = tfs_renaming_of(r, tfs_cosmic_name_take(&c));
}

static int rename_view(const struct tfs_renaming *r, struct tfs_edit *edit,
                       const struct tfs_cosmic_view *view, struct tfs_error *err)
{
    struct tfs_buf section = {0};
    struct tfs_span *names = malloc(view->blocks.count * sizeof(*names));

    if (names == NULL)
        return tfs_fail_memory(err);
    rename_palette(r, &view->blocks, names);
    if (!tfs_cosmic_palette_equal(&view->blocks, names, view->blocks.count)) {
        tfs_cosmic_blocks_rename(&section, &view->blocks, names, view->blocks.count);
        tfs_cosmic_section_put(edit, &view->chunk, TFS_COSMIC_SECTION_BLOCKS, &section, err);
    }
    tfs_buf_release(&section);
    free(names);
    return err->code;
}

static int rename_chunk(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_chunk *chunk,
                        const struct tfs_renaming *r, struct tfs_error *err)
{
    struct tfs_cosmic_view view;

    if ((chunk->flags & TFS_CHUNK_DAMAGED) != 0)
        return tfs_renaming_fail_damaged(save, chunk, "", err);
    if (tfs_cosmic_view_open(save, tfs_edit_doc(edit), chunk->key, &view, err) < 0)
        return err->code;
    rename_view(r, edit, &view, err);
    tfs_cosmic_view_close(&view);
    return err->code;
}

static const struct tfs_name_rules rules = TFS_COSMIC_NAME_RULES;
static const struct tfs_renaming_kind names = {&rules, tfs_cosmic_names_each, NULL, rename_chunk};

const struct tfs_lens tfs_cosmic_names_lens = {
    .param = &names, .get = tfs_renaming_get, .put = tfs_renaming_put};
