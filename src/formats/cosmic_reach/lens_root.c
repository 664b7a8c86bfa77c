/*
 * info.txt and palette.txt of the root: what the region is, and the names of all its blocks.
 *
 * Must not know where chunks lie in the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/cosmic_reach/lenses.h"
#include "formats/cosmic_reach/names.h"
#include "formats/cosmic_reach/zone.h"
#include "formats/info.h"
#include "formats/picture/picture.h"
#include "text/name.h"

/* ---- info.txt -------------------------------------------------------------------------------- */

const char *tfs_cosmic_layout_name(const struct tfs_cosmic_facts *own)
{
    if (own->version <= TFS_COSMIC_VERSION_TABLE_MAX)
        return "chunk table";
    return own->compression == TFS_COSMIC_GZIP ? "columns, gzip" : "columns, not compressed";
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
    tfs_picture_info(out, &tfs_cosmic_pictures, doc, tfs_cosmic_tile_count(doc) > 0);
    tfs_info_line(out, "light",
                  "is kept as stored and not recomputed when blocks change; whether the game "
                  "repairs it is not known");
    tfs_info_end(out, save, doc);
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_cosmic_info_lens = {.get = info_get};

/* ---- palette.txt ----------------------------------------------------------------------------- */

void tfs_cosmic_name_list_close(struct tfs_cosmic_name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free((void *)(uintptr_t)list->names[i].data);
    free(list->names);
    tfs_cosmic_names_release(&list->known);
}

static int list_add(void *arg, struct tfs_span name, struct tfs_error *err)
{
    struct tfs_cosmic_name_list *list = arg;
    uint32_t found;

    if (name.size == 0 || tfs_cosmic_names_find(&list->known, name, &found))
        return 0;
    struct tfs_span *names = tfs_array_grow(list->names, list->count, sizeof(*names));
    uint8_t *copy = malloc(name.size);
    if (names != NULL)
        list->names = names;
    if (names == NULL || copy == NULL) {
        free(copy);
        return tfs_fail_memory(err);
    }
    memcpy(copy, name.data, name.size);
    name.data = copy;
    list->names[list->count] = name;
    if (tfs_cosmic_names_add(&list->known, name, (uint32_t)list->count, &found, err) < 0) {
        free(copy);
        return err->code;
    }
    list->count++;
    return 0;
}

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

static int compare_names(const void *a, const void *b)
{
    return tfs_span_compare(*(const struct tfs_span *)a, *(const struct tfs_span *)b);
}

int tfs_cosmic_name_list_open(struct tfs_cosmic_name_list *list, struct tfs_save *save,
                              const struct tfs_doc *doc, struct tfs_error *err)
{
    *list = (struct tfs_cosmic_name_list){0};
    for (size_t i = 0; i < doc->count; i++) {
        int status = add_chunk(save, tfs_doc_at(doc, i), true, list_add, list, err);
        if (status < 0) {
            tfs_cosmic_name_list_close(list);
            *list = (struct tfs_cosmic_name_list){0};
            return status;
        }
    }
    if (list->count > 0)
        qsort(list->names, list->count, sizeof(*list->names), compare_names);
    return 0;
}

/* A `#` in front would make the line a comment. */
static void print_name(struct tfs_buf *out, struct tfs_span name)
{
    if (name.data[0] == '#') {
        tfs_buf_add_text(out, "\\x23");
        name.data++;
        name.size--;
    }
    tfs_name_print(out, name);
    tfs_buf_u8(out, '\n');
}

static int names_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_name_list list;

    (void)at;
    int status = tfs_cosmic_name_list_open(&list, save, doc, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < list.count; i++)
        print_name(out, list.names[i]);
    tfs_cosmic_name_list_close(&list);
    return tfs_buf_check(out, err);
}

/* ---- renaming -------------------------------------------------------------------------------- */

/* Line n of the text is the new name of old name n. */
struct renaming {
    struct tfs_cosmic_name_list old;
    struct tfs_cosmic_names lines; /* old name -> n */
    struct tfs_buf bytes;          /* of the new names */
    struct range {
        size_t at, size; /* of the new name, in bytes */
    } * ranges;
    size_t count; /* lines so far */
};

static void renaming_release(struct renaming *r)
{
    tfs_cosmic_name_list_close(&r->old);
    tfs_cosmic_names_release(&r->lines);
    tfs_buf_release(&r->bytes);
    free(r->ranges);
}

static struct tfs_span new_name(const struct renaming *r, size_t line)
{
    return (struct tfs_span){r->bytes.data + r->ranges[line].at, r->ranges[line].size};
}

static int add_line(struct renaming *r, const struct tfs_line *line, struct tfs_error *err)
{
    struct tfs_error inside = {0};
    size_t at = r->bytes.size;

    if (r->count == r->old.count)
        return tfs_fail_line(
            err, line,
            "more than the %zu names of the save: a line renames a block, none can "
            "be added here",
            r->old.count);
    if (tfs_name_parse(&r->bytes, line->text, &inside) < 0)
        return tfs_fail_at(err, inside.code, line->number, line->column + inside.column - 1, "%s",
                           inside.text);
    if (tfs_buf_check(&r->bytes, err) < 0)
        return err->code;

    struct tfs_span name = {r->bytes.data + at, r->bytes.size - at};
    r->ranges[r->count++] = (struct range){at, name.size};
    return tfs_span_equal(name, r->old.names[r->count - 1])
               ? 0
               : tfs_cosmic_name_check(name, line, err);
}

static int read_lines(struct renaming *r, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (add_line(r, &line, err) < 0)
            return err->code;
    if (r->count < r->old.count)
        return tfs_fail(err, -EBADMSG,
                        "%zu names, but the save has %zu: a line renames a block, none can be "
                        "removed here",
                        r->count, r->old.count);
    return 0;
}

/* The sorted list again as a table: the line of each name. */
static int index_lines(struct renaming *r, struct tfs_error *err)
{
    uint32_t found;

    for (size_t i = 0; i < r->old.count; i++)
        if (tfs_cosmic_names_add(&r->lines, r->old.names[i], (uint32_t)i, &found, err) < 0)
            return err->code;
    return 0;
}

/* The new names of a chunk's palette into `names`, which has room. */
static void rename_palette(const struct renaming *r, const struct tfs_cosmic_blocks *blocks,
                           struct tfs_span *names)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    for (uint32_t i = 0; i < blocks->count; i++) {
        uint32_t line;
        names[i] = tfs_cosmic_name_take(&c);
        if (tfs_cosmic_names_find(&r->lines, names[i], &line))
            names[i] = new_name(r, line);
    }
}

static int rename_view(const struct renaming *r, struct tfs_edit *edit,
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

static int rename_chunk(const struct renaming *r, struct tfs_save *save, struct tfs_edit *edit,
                        struct tfs_key key, struct tfs_error *err)
{
    struct tfs_cosmic_view view;
    int status = tfs_cosmic_view_open(save, tfs_edit_doc(edit), key, &view, err);

    if (status < 0)
        return status;
    rename_view(r, edit, &view, err);
    tfs_cosmic_view_close(&view);
    return err->code;
}

/* Is any line another name than before? */
static bool renames(const struct renaming *r)
{
    for (size_t i = 0; i < r->old.count; i++)
        if (!tfs_span_equal(r->old.names[i], new_name(r, i)))
            return true;
    return false;
}

static int rename_all(const struct renaming *r, struct tfs_save *save, struct tfs_edit *edit,
                      struct tfs_error *err)
{
    for (size_t i = 0; i < tfs_edit_doc(edit)->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(tfs_edit_doc(edit), i);
        if (chunk->flags & TFS_CHUNK_DAMAGED)
            continue;
        int status = rename_chunk(r, save, edit, chunk->key, err);
        if (status < 0)
            return status;
    }
    return 0;
}

/* Reads the names of a palette.txt. */
static int list_read(struct tfs_cosmic_name_list *list, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_buf name = {0};
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while (err->code == 0 && tfs_lines_next(&lines, &line)) {
        tfs_buf_clear(&name);
        if (tfs_name_parse(&name, line.text, err) == 0 && tfs_buf_check(&name, err) == 0)
            list_add(list, tfs_buf_span(&name), err);
    }
    tfs_buf_release(&name);
    return err->code;
}

static int names_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct renaming r = {0};

    (void)at;
    int status = put->original.size > 0
                     ? list_read(&r.old, put->original, err)
                     : tfs_cosmic_name_list_open(&r.old, save, tfs_edit_doc(edit), err);
    if (status < 0) {
        renaming_release(&r);
        return status;
    }
    r.ranges = calloc(r.old.count + 1, sizeof(*r.ranges));
    if (r.ranges == NULL)
        tfs_fail_memory(err);
    else if (read_lines(&r, text, err) == 0 && renames(&r) && index_lines(&r, err) == 0)
        status = rename_all(&r, save, edit, err);
    renaming_release(&r);
    return status < 0 ? status : err->code;
}

const struct tfs_lens tfs_cosmic_names_lens = {.get = names_get, .put = names_put};
