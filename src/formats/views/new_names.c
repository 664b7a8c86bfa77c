/*
 * Two documents -> the names that only the second one has, in a save that had none like them.
 *
 * Names of a chunk that changed are counted: -1 where it had them, +1 where it has them. A name
 * that no changed chunk had before is looked for in the rest of the save.
 */
#include "formats/cells/names.h"
#include "formats/views/new_names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/words.h"
#include "formats/views/info.h"
#include "text/name.h"

#define LINES_MAX 50 /* of info.txt */

/* What was found of the save so far. */
struct tfs_known_names {
    struct tfs_words names;
    const struct tfs_facts *facts; /* of which reading of the save; to be compared only */
    struct tfs_key next;           /* chunks from here on were not looked at */
    bool all;                      /* all were */
    bool lacks;                    /* of those that had been read when they were looked at */
};

/* A name of the chunks that changed. */
struct met {
    int64_t more; /* chunks that have it now, less those that had it */
    bool was;
};

struct step {
    struct tfs_save *save;
    const struct tfs_doc *before;
    struct tfs_doc *after;
    struct tfs_known_names *known;
    size_t look; /* chunks that may still be looked through */
    struct tfs_words names;
    struct met *met; /* by number */
    size_t met_count;
    bool is_before;
    struct tfs_buf list;     /* the next tfs_doc.new_names */
    struct tfs_buf *brought; /* the caller's */
    struct tfs_error *err;
};

void tfs_known_names_free(struct tfs_known_names *known)
{
    if (known != NULL)
        tfs_words_release(&known->names);
    free(known);
}

/* ---- tfs_doc.new_names: (chunks that have it, size, name) for each --------------------------- */

static bool next_name(struct tfs_cursor *c, uint32_t *chunks, struct tfs_span *name)
{
    if (tfs_cursor_left(c) == 0)
        return false;
    *chunks = tfs_take_u32le(c);
    *name = tfs_take(c, tfs_take_u32le(c));
    return true;
}

static void add_name(struct step *s, int64_t chunks, struct tfs_span name)
{
    if (chunks <= 0)
        return;
    tfs_buf_u32le(&s->list, (uint32_t)(chunks < UINT32_MAX ? chunks : UINT32_MAX));
    tfs_buf_u32le(&s->list, (uint32_t)name.size);
    tfs_buf_add_span(&s->list, name);
}

void tfs_new_names_info(struct tfs_buf *out, const struct tfs_doc *doc)
{
    struct tfs_cursor c = tfs_cursor_init(tfs_blob_span(doc->new_names));
    struct tfs_buf text = {0};
    struct tfs_span name;
    uint32_t chunks, count = 0;

    while (next_name(&c, &chunks, &name)) {
        tfs_buf_clear(&text);
        tfs_name_print(&text, name);
        tfs_buf_u8(&text, 0);
        out->failed = out->failed || text.failed;
        if (count++ < LINES_MAX && !text.failed)
            tfs_info_line(out, "names-new", "%s", (const char *)text.data);
    }
    if (count > LINES_MAX)
        tfs_info_line(out, "names-new", "and %u more", count - LINES_MAX);
    tfs_buf_release(&text);
}

/* ---- what the save has ----------------------------------------------------------------------- */

/* Those of this reading of the save. */
static int open_known(struct step *s)
{
    struct tfs_known_names *known = s->save->known_names;

    /* A list that once had no memory takes no further names. */
    if (known == NULL || known->facts != s->before->facts || known->names.bytes.failed) {
        tfs_known_names_free(known);
        known = s->save->known_names = calloc(1, sizeof(*known));
        if (known == NULL)
            return tfs_fail_memory(s->err);
        known->facts = s->before->facts;
        known->lacks = true;
    }
    if (known->lacks) {
        known->next = (struct tfs_key){0, INT32_MIN, INT32_MIN, INT32_MIN};
        known->all = false;
        known->lacks = tfs_save_lacks(s->save, s->before, NULL);
    }
    s->known = known;
    return 0;
}

/* Is it one that was brought before, and of how many chunks? */
static bool is_listed(const struct tfs_doc *doc, struct tfs_span name, uint32_t *chunks)
{
    struct tfs_cursor c = tfs_cursor_init(tfs_blob_span(doc->new_names));
    struct tfs_span listed;

    while (next_name(&c, chunks, &listed))
        if (tfs_span_equal(listed, name))
            return true;
    return false;
}

static int know(void *arg, struct tfs_span name, struct tfs_error *err)
{
    struct step *s = arg;
    uint32_t ignored;

    return is_listed(s->before, name, &ignored)
               ? 0
               : tfs_words_add(&s->known->names, name, &ignored, err);
}

/* Names of one chunk more; false: there is none. What cannot be read has no names. */
static bool look_further(struct step *s)
{
    struct tfs_known_names *known = s->known;
    const size_t at = tfs_doc_lower_bound(s->before, known->next);
    struct tfs_error unread = {0};

    known->all = known->all || at >= s->before->count;
    if (known->all)
        return false;
    const struct tfs_chunk *chunk = tfs_doc_at(s->before, at);
    if (tfs_cells_chunk_names(s->save, chunk, know, s, &unread) == -ENOMEM)
        *s->err = unread;
    known->next = chunk->key;
    known->all = at + 1 >= s->before->count;
    if (!known->all)
        known->next = tfs_doc_at(s->before, at + 1)->key;
    return s->err->code == 0;
}

/* Does the save have it? */
static bool is_known(struct step *s, struct tfs_span name)
{
    uint32_t number;
    bool known = tfs_words_find(&s->known->names, name, &number);

    for (; !known && s->look > 0 && look_further(s); s->look--)
        known = tfs_words_find(&s->known->names, name, &number);
    return known;
}

/* ---- the step -------------------------------------------------------------------------------- */

static int meet(void *arg, struct tfs_span name, struct tfs_error *err)
{
    struct step *s = arg;
    uint32_t number;

    if (tfs_words_add(&s->names, name, &number, err) < 0)
        return err->code;
    if (number == s->met_count) {
        struct met *met = tfs_array_grow(s->met, s->met_count, sizeof(*met));
        if (met == NULL)
            return tfs_fail_memory(err);
        s->met = met;
        s->met[s->met_count++] = (struct met){0};
    }
    s->met[number].more += s->is_before ? -1 : 1;
    s->met[number].was = s->met[number].was || s->is_before;
    return 0;
}

static int meet_chunk(struct step *s, const struct tfs_chunk *chunk, bool before)
{
    struct tfs_error unread = {0};

    s->is_before = before;
    if (chunk != NULL && (chunk->flags & TFS_CHUNK_DAMAGED) == 0 &&
        tfs_cells_chunk_names(s->save, chunk, meet, s, &unread) == -ENOMEM)
        *s->err = unread;
    return s->err->code;
}

static int on_changed(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct step *s = arg;

    return meet_chunk(s, before, true) < 0 ? s->err->code : meet_chunk(s, after, false);
}

static void bring(struct step *s, const struct met *met, struct tfs_span name)
{
    if (s->brought->size > 0)
        tfs_buf_add_text(s->brought, ", ");
    tfs_name_print(s->brought, name);
    add_name(s, met->more, name);
}

/* What becomes of a name of the chunks that changed. */
static int check_name(struct step *s, uint32_t number)
{
    const struct met *met = &s->met[number];
    const struct tfs_span name = tfs_words_at(&s->names, number);
    uint32_t chunks;

    if (is_listed(s->before, name, &chunks)) {
        add_name(s, chunks + met->more, name);
        return 0;
    }
    if (met->was)
        return know(s, name, s->err);
    if (met->more > 0 && !is_known(s, name) && s->err->code == 0)
        bring(s, met, name);
    return s->err->code;
}

/* Names that are listed, and that no changed chunk has or had. */
static void keep_others(struct step *s)
{
    struct tfs_cursor c = tfs_cursor_init(tfs_blob_span(s->before->new_names));
    struct tfs_span name;
    uint32_t chunks, number;

    while (next_name(&c, &chunks, &name))
        if (!tfs_words_find(&s->names, name, &number))
            add_name(s, chunks, name);
}

static int check_all(struct step *s)
{
    struct tfs_blob *list = NULL;

    keep_others(s);
    /* What was there before tells first what is known. */
    for (int was = 1; was >= 0; was--)
        for (uint32_t i = 0; i < s->names.count; i++)
            if (s->met[i].was == (was == 1) && check_name(s, i) < 0)
                return s->err->code;
    if (tfs_buf_check(s->brought, s->err) < 0 ||
        (s->list.size > 0 && tfs_blob_take(&s->list, &list, s->err) < 0))
        return s->err->code;
    tfs_blob_unref(s->after->new_names);
    s->after->new_names = list;
    return 0;
}

int tfs_new_names_find(struct tfs_save *save, const struct tfs_doc *before, struct tfs_doc *after,
                       size_t look, struct tfs_buf *brought, struct tfs_error *err)
{
    struct step s = {.save = save,
                     .before = before,
                     .after = after,
                     .look = look,
                     .brought = brought,
                     .err = err};
    const struct tfs_cells_kind *cells = save->tree->cells;

    /* A save without chunks has no names to be new beside. */
    if (cells == NULL || cells->planes[0].form.kind != TFS_PLANE_NAMES || before->count == 0 ||
        before == after)
        return 0;
    if (open_known(&s) == 0 && tfs_doc_diff(before, after, on_changed, &s) == 0)
        check_all(&s);
    if (brought->size > 0 && (!s.known->all || s.known->lacks))
        tfs_buf_add_text(brought, " (not all of it was looked through)");
    tfs_words_release(&s.names);
    tfs_buf_release(&s.list);
    free(s.met);
    return err->code;
}
