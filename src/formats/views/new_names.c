/*
 * Two documents -> the names that only the second one has, in a save that had none like them.
 *
 * A name that no changed chunk had before is looked for in the rest of the save.
 */
#include "formats/cells/names.h"
#include "formats/views/new_names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/words.h"
#include "text/name.h"

/* What was found of the save so far, and what edits brought. */
struct tfs_known_names {
    struct tfs_words names;
    const struct tfs_facts *facts; /* of which reading of the save; to be compared only */
    struct tfs_key next;           /* chunks from here on were not looked at */
    bool all;                      /* all were */
    bool lacks;                    /* of those that had been read when they were looked at */
};

struct step {
    struct tfs_save *save;
    const struct tfs_doc *before;
    struct tfs_known_names *known;
    size_t look;            /* chunks that may still be looked through */
    struct tfs_words names; /* of the chunks that changed, as they are now */
    struct tfs_error *err;
};

void tfs_known_names_free(struct tfs_known_names *known)
{
    if (known != NULL)
        tfs_words_release(&known->names);
    free(known);
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

static int add_name(void *words, struct tfs_span name, struct tfs_error *err)
{
    uint32_t ignored;

    return tfs_words_add(words, name, &ignored, err);
}

/* What cannot be read has no names. */
static int add_names(struct step *s, const struct tfs_chunk *chunk, struct tfs_words *words)
{
    struct tfs_error unread = {0};

    if (chunk != NULL && (chunk->flags & TFS_CHUNK_DAMAGED) == 0 &&
        tfs_cells_chunk_names(s->save, chunk, add_name, words, &unread) == -ENOMEM)
        *s->err = unread;
    return s->err->code;
}

/* Names of one chunk more; false: there is none. */
static bool look_further(struct step *s)
{
    struct tfs_known_names *known = s->known;
    const size_t at = tfs_doc_lower_bound(s->before, known->next);

    known->all = known->all || at >= s->before->count;
    if (known->all)
        return false;
    add_names(s, tfs_doc_at(s->before, at), &known->names);
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

static int on_changed(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct step *s = arg;

    return add_names(s, before, &s->known->names) < 0 ? s->err->code
                                                      : add_names(s, after, &s->names);
}

static int check_name(struct step *s, struct tfs_span name, struct tfs_buf *brought)
{
    if (is_known(s, name) || s->err->code < 0)
        return s->err->code;
    if (brought->size > 0)
        tfs_buf_add_text(brought, ", ");
    tfs_name_print(brought, name);
    return add_name(&s->known->names, name, s->err);
}

int tfs_new_names_find(struct tfs_save *save, const struct tfs_doc *before,
                       const struct tfs_doc *after, size_t look, struct tfs_buf *brought,
                       struct tfs_error *err)
{
    struct step s = {.save = save, .before = before, .look = look, .err = err};
    const struct tfs_cells_kind *cells = save->tree->cells;

    /* A save without chunks has no names to be new beside. */
    if (cells == NULL || cells->planes[0].form.kind != TFS_PLANE_NAMES || before->count == 0 ||
        before == after)
        return 0;
    if (open_known(&s) == 0 && tfs_doc_diff(before, after, on_changed, &s) == 0)
        for (uint32_t i = 0; i < s.names.count && err->code == 0; i++)
            check_name(&s, tfs_words_at(&s.names, i), brought);
    if (brought->size > 0 && (!s.known->all || s.known->lacks))
        tfs_buf_add_text(brought, " (not all of it was looked through)");
    tfs_words_release(&s.names);
    return err->code < 0 ? err->code : tfs_buf_check(brought, err);
}
