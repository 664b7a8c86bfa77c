/*
 * info.txt and palette.txt of the root: what the map is, and the names of all its nodes.
 *
 * Must not know where blocks lie in a world. Blocks that do not decode have no names here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "formats/info.h"
#include "formats/luanti/change.h"
#include "formats/luanti/lenses.h"
#include "formats/luanti/map.h"
#include "formats/luanti/names.h"
#include "formats/picture/picture.h"
#include "text/name.h"

/* ---- info.txt -------------------------------------------------------------------------------- */

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    (void)at;
    tfs_info_begin(out, save, doc);
    tfs_luanti_map_describe(doc, out);
    tfs_info_line(out, "chunk size", "16 16 16");
    tfs_picture_info(out, &tfs_luanti_pictures, doc, tfs_luanti_tile_count(doc) > 0);
    tfs_info_line(out, "light",
                  "new air takes the light beside it, all else is kept as stored; `/fixlight` in "
                  "the game computes it anew");
    tfs_info_line(out, "running server",
                  "keeps blocks in memory and writes them over edits: stop it before editing what "
                  "players are near");
    tfs_info_end(out, save, doc);
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_luanti_info_lens = {.get = info_get};

/* ---- the names of a save --------------------------------------------------------------------- */

/* Distinct names with bytes of their own. */
struct list {
    struct tfs_span *names;
    size_t count;
    struct tfs_map known; /* checksum -> index + 1 of the last one that has it */
};

static void list_release(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free((void *)(uintptr_t)list->names[i].data);
    free(list->names);
    tfs_map_release(&list->known);
}

/* The index of a name, or its count: the checksums of two names may be one. */
static size_t list_find(const struct list *list, struct tfs_span name, uint64_t sum)
{
    size_t i = (uintptr_t)tfs_map_find(&list->known, sum);

    if (i == 0)
        return list->count;
    if (tfs_span_equal(list->names[i - 1], name))
        return i - 1;
    for (i = 0; i < list->count && !tfs_span_equal(list->names[i], name);)
        i++;
    return i;
}

static uint64_t sum_of(struct tfs_span name)
{
    return tfs_checksum(name, 0) | 1;
}

/* The empty name has no line and is left out. */
static int list_add(struct list *list, struct tfs_span name, struct tfs_error *err)
{
    const uint64_t sum = sum_of(name);

    if (name.size == 0 || list_find(list, name, sum) < list->count)
        return 0;
    struct tfs_span *names = tfs_array_grow(list->names, list->count, sizeof(*names));
    uint8_t *copy = names == NULL ? NULL : malloc(name.size);
    list->names = names == NULL ? list->names : names;
    if (copy == NULL)
        return tfs_fail_memory(err);
    memcpy(copy, name.data, name.size);
    names[list->count++] = (struct tfs_span){copy, name.size};
    return tfs_map_set(&list->known, sum, (void *)(uintptr_t)list->count) < 0 ? tfs_fail_memory(err)
                                                                              : 0;
}

static int compare_names(const void *a, const void *b)
{
    return tfs_span_compare(*(const struct tfs_span *)a, *(const struct tfs_span *)b);
}

/* Names that several chunks have are looked at once. */
static int add_names(struct list *list, uint64_t question, struct tfs_luanti_names *names,
                     struct tfs_error *err)
{
    if (names->met == question)
        return 0;
    names->met = question;
    for (uint32_t i = 0; i < names->count; i++)
        if (list_add(list, names->names[i], err) < 0)
            return err->code;
    return 0;
}

/* Sorted; to be released after a failure too. From here on list_find is no good. */
static int list_make(struct tfs_save *save, const struct tfs_doc *doc, struct list *list,
                     struct tfs_error *err)
{
    struct tfs_luanti_memory *memory = tfs_luanti_view_memory(save);
    struct tfs_luanti_names *names;

    pthread_mutex_lock(&memory->lock);
    memory->question++;
    for (size_t i = 0; i < doc->count && err->code == 0; i++) {
        tfs_luanti_names_prepare(memory, save, doc, i);
        if (tfs_luanti_names_of(memory, save, tfs_doc_at(doc, i), &names, err) == 0)
            add_names(list, memory->question, names, err);
    }
    pthread_mutex_unlock(&memory->lock);
    if (err->code == 0 && list->count > 0)
        qsort(list->names, list->count, sizeof(*list->names), compare_names);
    return err->code;
}

int tfs_luanti_chunk_names(struct tfs_save *save, const struct tfs_chunk *chunk, tfs_name_fn each,
                           void *arg, struct tfs_error *err)
{
    struct tfs_luanti_memory *memory = tfs_luanti_view_memory(save);
    struct tfs_luanti_names *names;

    pthread_mutex_lock(&memory->lock);
    if (tfs_luanti_names_of(memory, save, chunk, &names, err) == 0)
        for (uint32_t i = 0; i < names->count && err->code == 0; i++)
            if (!tfs_luanti_is_air(names->names[i]))
                each(arg, names->names[i], err);
    pthread_mutex_unlock(&memory->lock);
    return err->code;
}

static int names_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct list list = {0};

    (void)at;
    list_make(save, doc, &list, err);
    for (size_t i = 0; i < list.count && err->code == 0; i++) {
        tfs_name_print(out, list.names[i]);
        tfs_buf_u8(out, '\n');
    }
    list_release(&list);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

/* ---- renaming -------------------------------------------------------------------------------- */

/* Line n of the text is the new name of old name n, which are sorted. */
struct renaming {
    struct list old;
    struct tfs_buf bytes; /* of the new names */
    struct range {
        size_t at, size; /* of the new name, in bytes */
    } * ranges;
    size_t count; /* lines so far */
    bool renames; /* a new name is another one than the old */
};

static int add_line(struct renaming *r, const struct tfs_line *line, struct tfs_error *err)
{
    const size_t at = r->bytes.size;

    if (r->count == r->old.count)
        return tfs_fail_line(err, line,
                             "more than the %zu names of the save: a line renames a node, none can "
                             "be added here",
                             r->old.count);
    if (tfs_luanti_name_take(line, &r->bytes, err) < 0)
        return err->code;
    const struct tfs_span name = {r->bytes.data + at, r->bytes.size - at};
    r->ranges[r->count] = (struct range){at, name.size};
    if (tfs_span_equal(name, r->old.names[r->count++]))
        return 0;
    r->renames = true;
    return tfs_luanti_name_check(name, line, err);
}

static int read_lines(struct renaming *r, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line line;

    r->ranges = calloc(r->old.count + 1, sizeof(*r->ranges));
    if (r->ranges == NULL)
        return tfs_fail_memory(err);
    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (add_line(r, &line, err) < 0)
            return err->code;
    return r->count == r->old.count
               ? 0
               : tfs_fail(err, -EBADMSG,
                          "%zu names, but the save has %zu: a line renames a node, none can be "
                          "removed here",
                          r->count, r->old.count);
}

/* The new name; that of a name that has none is itself. */
static struct tfs_span new_name(const struct renaming *r, struct tfs_span name)
{
    const struct tfs_span *old =
        bsearch(&name, r->old.names, r->old.count, sizeof(*r->old.names), compare_names);

    if (old == NULL)
        return name;
    const struct range *range = &r->ranges[old - r->old.names];
    return (struct tfs_span){r->bytes.data + range->at, range->size};
}

static int rename_nodes(const struct renaming *r, struct tfs_luanti_change *change,
                        struct tfs_error *err)
{
    const struct tfs_luanti_block *b = &change->view->block;
    uint32_t *numbers = calloc(b->count + 1, sizeof(*numbers));

    if (numbers == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < b->count && err->code == 0; i++)
        tfs_luanti_change_number(change, new_name(r, b->names[i].name), &numbers[i], err);
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        tfs_luanti_change_set(change, i, numbers[b->nodes[i]]);
    change->keeps_light = true;
    free(numbers);
    return err->code;
}

/* Has the chunk a name that gets another one? */
static int is_renamed(const struct renaming *r, struct tfs_save *save,
                      const struct tfs_chunk *chunk, bool *renamed, struct tfs_error *err)
{
    struct tfs_luanti_memory *memory = tfs_luanti_view_memory(save);
    struct tfs_luanti_names *names;

    *renamed = false;
    pthread_mutex_lock(&memory->lock);
    if (tfs_luanti_names_of(memory, save, chunk, &names, err) == 0)
        for (uint32_t i = 0; i < names->count && !*renamed; i++)
            *renamed = !tfs_span_equal(new_name(r, names->names[i]), names->names[i]);
    pthread_mutex_unlock(&memory->lock);
    return err->code;
}

static int rename_chunk(const struct renaming *r, struct tfs_save *save, struct tfs_edit *edit,
                        const struct tfs_chunk *chunk, struct tfs_error *err)
{
    struct tfs_luanti_change change;
    bool renamed;

    if (is_renamed(r, save, chunk, &renamed, err) < 0 || !renamed)
        return err->code;
    if (tfs_luanti_change_open(&change, save, tfs_edit_doc(edit), chunk->key, err) == 0 &&
        rename_nodes(r, &change, err) == 0)
        tfs_luanti_change_store(edit, &change, err);
    tfs_luanti_change_close(&change);
    return err->code;
}

/* Reads the names that a text was made from. */
static int list_read(struct list *list, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_buf name = {0};
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, text, err) == 0)
        while (err->code == 0 && tfs_lines_next(&lines, &line)) {
            tfs_buf_clear(&name);
            if (tfs_luanti_name_take(&line, &name, err) == 0)
                list_add(list, tfs_buf_span(&name), err);
        }
    tfs_buf_release(&name);
    if (list->count > 0)
        qsort(list->names, list->count, sizeof(*list->names), compare_names);
    return err->code;
}

static int names_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct renaming r = {0};

    (void)at;
    if (put->original.size > 0)
        list_read(&r.old, put->original, err);
    else
        list_make(save, tfs_edit_doc(edit), &r.old, err);
    if (err->code == 0 && read_lines(&r, text, err) == 0 && r.renames)
        for (size_t i = 0; i < tfs_edit_doc(edit)->count && err->code == 0; i++)
            rename_chunk(&r, save, edit, tfs_doc_at(tfs_edit_doc(edit), i), err);
    list_release(&r.old);
    tfs_buf_release(&r.bytes);
    free(r.ranges);
    return err->code;
}

const struct tfs_lens tfs_luanti_names_lens = {.get = names_get, .put = names_put};
