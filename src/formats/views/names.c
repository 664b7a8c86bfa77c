/*
 * The names of a save: palette.txt of the root, whose edited lines rename voxels everywhere; and
 * who else asks for them.
 *
 * Must not know what a game stores. Chunks that do not decode have no names here.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/cells/edit.h"
#include "formats/cells/name_list.h"
#include "formats/cells/names.h"
#include "formats/compare/fetch.h"
#include "formats/views/views.h"
#include "text/name.h"

/* Names that several chunks have are given once. */
int tfs_cells_all_names(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each,
                        void *arg, struct tfs_error *err)
{
    struct tfs_names_memory *memory = tfs_names_memory_lock(save);
    struct tfs_chunk_names *names;

    memory->question++;
    for (size_t i = 0; i < doc->count && err->code == 0; i++) {
        tfs_chunk_names_prepare(memory, save, doc, i);
        if (tfs_chunk_names_of(memory, save, tfs_doc_at(doc, i), &names, err) < 0 ||
            names->met == memory->question)
            continue;
        names->met = memory->question;
        for (uint32_t k = 0; k < names->count && err->code == 0; k++)
            each(arg, names->names[k], err);
    }
    tfs_names_memory_unlock(memory);
    return err->code;
}

/* ---- renaming -------------------------------------------------------------------------------- */

/* Line n of a text is the new name of the n-th old one. */
struct renaming {
    struct tfs_save *save;
    struct tfs_edit *edit;
    const struct tfs_name_rules *rules;
    struct tfs_name_list old;
    struct tfs_buf bytes;   /* of the new names */
    struct tfs_word *names; /* where they are, by the old word's number */
    uint32_t count;         /* lines so far */
    bool renames;           /* a new name is another one than the old */
};

static struct tfs_span new_name(const struct renaming *r, struct tfs_span name)
{
    uint32_t old;

    return tfs_words_find(&r->old.words, name, &old)
               ? (struct tfs_span){r->bytes.data + r->names[old].at, r->names[old].size}
               : name;
}

static int add_line(struct renaming *r, const struct tfs_line *line, struct tfs_error *err)
{
    const size_t at = r->bytes.size;

    if (r->count == r->old.words.count)
        return tfs_fail_line(err, line,
                             "more than the %u names of the save: a line renames a %s, none can be "
                             "added here",
                             r->count, r->rules->unit);
    if (tfs_line_name(line, &r->bytes, err) < 0)
        return err->code;
    const struct tfs_span name = {r->bytes.data + at, r->bytes.size - at};
    r->names[r->old.order[r->count]] = (struct tfs_word){at, name.size};
    if (tfs_span_equal(name, tfs_name_list_at(&r->old, r->count++)))
        return 0;
    r->renames = true;
    return tfs_name_check(r->rules, name, line, err);
}

static int read_lines(struct renaming *r, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line line;

    r->names = calloc(r->old.words.count + (size_t)1, sizeof(*r->names));
    if (r->names == NULL)
        return tfs_fail_memory(err);
    if (tfs_lines_init(&lines, text, err) < 0 || tfs_lines_check_end(text, err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (add_line(r, &line, err) < 0)
            return err->code;
    return r->count == r->old.words.count
               ? 0
               : tfs_fail(err, -EBADMSG,
                          "%u names, but the save has %u: a line renames a %s, none can be removed "
                          "here",
                          r->count, r->old.words.count, r->rules->unit);
}

/* ---- lists of another moment ----------------------------------------------------------------- */

static uint32_t line_of(const struct tfs_name_list *list, uint32_t word)
{
    uint32_t line = 0;

    while (list->order[line] != word)
        line++;
    return line;
}

static int fail_moved(const struct renaming *r, uint32_t line, uint32_t word, struct tfs_error *err)
{
    char name[TFS_QUOTED];

    return tfs_fail(err, -EBADMSG,
                    "name %u is %s, which is name %u of the list: names were moved, so this is a "
                    "sorted list or one of another moment; edit the one that the save has now",
                    line + 1, tfs_name_quote(tfs_words_at(&r->old.words, word), name),
                    line_of(&r->old, word) + 1);
}

/* Names come and go, and those behind them move to other lines: line n of a list of another moment,
 * or of one that was sorted, is another name than the n-th. So a name of the list that is in
 * another line is a new name only where its own line has it, too: two names become one. */
static int check_moment(const struct renaming *r, struct tfs_error *err)
{
    for (uint32_t i = 0; i < r->count && err->code == 0; i++) {
        const struct tfs_span name = new_name(r, tfs_name_list_at(&r->old, i));
        uint32_t own;

        if (tfs_words_find(&r->old.words, name, &own) && !tfs_span_equal(new_name(r, name), name))
            fail_moved(r, i, own, err);
    }
    return err->code;
}

/* The names that a text was made from, by its lines. */
static int read_names(struct tfs_name_list *list, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_buf name = {0};
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, text, err) == 0)
        while (err->code == 0 && tfs_lines_next(&lines, &line)) {
            tfs_buf_clear(&name);
            if (tfs_line_name(&line, &name, err) == 0)
                tfs_name_list_add(list, tfs_buf_span(&name), err);
        }
    tfs_buf_release(&name);
    return err->code < 0 ? err->code : tfs_name_list_number(list, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

#define STAYS "nothing is renamed, for names would stay as they are there"

static int fail_damaged(const struct tfs_save *save, const struct tfs_chunk *chunk, const char *why,
                        struct tfs_error *err)
{
    struct tfs_buf key = {0};

    tfs_key_print(save, chunk->key, &key);
    tfs_buf_u8(&key, 0);
    if (tfs_buf_check(&key, err) == 0)
        tfs_fail(err, -EBADMSG, "chunk %s is damaged%s%.300s: " STAYS, (const char *)key.data,
                 *why == '\0' ? "" : ": ", why);
    tfs_buf_release(&key);
    return err->code;
}

/* What the document does not have keeps its names, too. */
static int check_shown(const struct tfs_doc *doc, struct tfs_error *err)
{
    const char *why = tfs_facts_hiding(doc->facts);

    return why == NULL
               ? 0
               : tfs_fail(err, -EBADMSG, "not all of the save can be read: %.300s: " STAYS, why);
}

/* Has the chunk a name that gets another one? A damaged one may. */
static bool is_renamed(struct tfs_save *save, const struct tfs_chunk *chunk,
                       const struct renaming *r, struct tfs_error *err)
{
    struct tfs_names_memory *memory = tfs_names_memory_lock(save);
    struct tfs_chunk_names *names;
    bool renamed = false;

    if (tfs_chunk_names_of(memory, save, chunk, &names, err) == 0) {
        renamed = names->count == 0;
        for (uint32_t i = 0; i < names->count && !renamed; i++)
            renamed = !tfs_span_equal(new_name(r, names->names[i]), names->names[i]);
    }
    tfs_names_memory_unlock(memory);
    return renamed;
}

static int rename_cells(struct tfs_edit *edit, struct tfs_cells *cells, const struct renaming *r,
                        struct tfs_error *err)
{
    struct tfs_span *names = calloc(cells->name_count + (size_t)1, sizeof(*names));
    struct tfs_cells_edit e = {0};

    if (names == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < cells->name_count; i++)
        names[i] = new_name(r, cells->names[i]);
    if (tfs_cells_edit_begin(&e, cells, err) == 0 &&
        tfs_cells_edit_table(&e, names, cells->name_count, err) == 0)
        tfs_cells_edit_finish(&e, edit, err);
    tfs_cells_edit_close(&e);
    free(names);
    return err->code;
}

/* A tfs_fetched_fn. */
static void rename_chunk(void *renaming, const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct renaming *r = renaming;
    struct tfs_cells *cells;

    if (err->code < 0 ||
        tfs_cells_make(r->save, tfs_edit_doc(r->edit), chunk, TFS_CELLS_ALL, &cells, err) < 0)
        return;
    if (cells->damage == NULL)
        rename_cells(r->edit, cells, r, err);
    else
        fail_damaged(r->save, chunk, cells->damage, err);
    tfs_cells_unref(cells);
}

#define MANY 256 /* chunks that are fetched in one go */

static int rename_chunks(struct renaming *r, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(r->edit);
    struct tfs_chunk chunks[MANY];

    for (size_t at = 0, count = 0; at < doc->count && err->code == 0; count = 0) {
        for (; at < doc->count && count < MANY && err->code == 0; at++) {
            const struct tfs_chunk *chunk = tfs_doc_at(doc, at);
            if (chunk->key.group == TFS_GROUP_COLUMNS || !is_renamed(r->save, chunk, r, err))
                continue;
            chunks[count++] = *chunk;
            tfs_chunk_ref(chunk);
        }
        tfs_chunks_each(r->save, chunks, count, rename_chunk, r, err);
    }
    return err->code;
}

/* ---- the lens -------------------------------------------------------------------------------- */

static int names_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_name_list list = {0};

    (void)at;
    if (tfs_cells_all_names(save, doc, tfs_name_list_add, &list, err) == 0 &&
        tfs_name_list_sort(&list, err) == 0)
        for (uint32_t i = 0; i < list.words.count; i++) {
            tfs_name_print(out, tfs_name_list_at(&list, i));
            tfs_buf_u8(out, '\n');
        }
    tfs_name_list_release(&list);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int names_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct renaming r = {.save = save, .edit = edit, .rules = &save->tree->cells->names};

    (void)at;
    if (put->original.size > 0)
        read_names(&r.old, put->original, err);
    else if (tfs_cells_all_names(save, tfs_edit_doc(edit), tfs_name_list_add, &r.old, err) == 0)
        tfs_name_list_sort(&r.old, err);
    if (err->code == 0 && read_lines(&r, text, err) == 0 && r.renames &&
        check_moment(&r, err) == 0 && check_shown(tfs_edit_doc(edit), err) == 0)
        rename_chunks(&r, err);
    tfs_name_list_release(&r.old);
    tfs_buf_release(&r.bytes);
    free(r.names);
    return err->code;
}

const struct tfs_lens tfs_cells_names_lens = {.get = names_get, .put = names_put};

/* ---- names of the game ----------------------------------------------------------------------- */

int tfs_cells_values_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                         struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_plane *plane = &save->tree->cells->planes[0];

    (void)doc;
    (void)at;
    for (uint32_t i = 0; i <= plane->form.high; i++)
        if (plane->name_of(i).size > 0)
            tfs_palette_print(out, "", i, plane->name_of(i));
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_cells_values_lens = {.get = tfs_cells_values_get};
