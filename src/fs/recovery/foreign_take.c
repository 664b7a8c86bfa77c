/*
 * Records that were set aside -> a document of the save: see foreign.h.
 *
 * Each chunk of a record is compared with what the document has of it then: what the edit replaced
 * is edited; what the edit made is there already; anything else was changed by somebody, and stays.
 * What a later record says of a chunk decides.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/print.h"
#include "fs/recovery/apply.h"
#include "fs/recovery/foreign.h"

#define JOURNAL "journal"

static const char changed[] = "it was changed since";
static const char unknown[] = "it is not known what the edit replaced";
static const char leaning[] = "the names or versions that it leans on were changed since";
static const char partial[] = "it was moved, and the other place was changed since";
static const char misfit[] = "it does not fit the save";

/* ---- reading --------------------------------------------------------------------------------- */

static char *journal_in(const char *directory)
{
    char *path = NULL;

    return tfs_print(&path, "%s/" JOURNAL, directory) < 0 ? NULL : path;
}

bool tfs_foreign_is(const char *directory)
{
    char *path = journal_in(directory);
    struct stat st;
    const bool is = path != NULL && lstat(path, &st) == 0 && S_ISREG(st.st_mode);

    free(path);
    return is;
}

int tfs_foreign_read(const char *directory, struct tfs_journal_text *text, struct tfs_error *err)
{
    char *path = journal_in(directory);

    if (path == NULL)
        return tfs_fail_memory(err);
    tfs_journal_read_file(path, text, err);
    free(path);
    return err->code;
}

/* Earlier versions kept journals of several files as they were: their records name files. */
static int skip_files(const struct tfs_journal_text *text, struct tfs_span *payload,
                      struct tfs_error *err)
{
    const struct tfs_hash none = {0};
    struct tfs_record_file *named = NULL;
    size_t count;

    if (!tfs_hash_equal(text->save, none))
        return 0;
    const int result = tfs_record_files(payload, &named, &count, err);
    free(named);
    return result;
}

/* ---- what becomes of an entry ---------------------------------------------------------------- */

/* A chunk of one record, or what is common. */
struct verdict {
    struct tfs_key key;
    bool common, made, removed; /* made: there was none */
    bool held;                  /* the document says it already */
    const char *why;            /* it is left; NULL: it is taken */
};

/* What was left of all records, each once. */
struct left {
    struct tfs_key key;
    bool common;
    const char *why; /* NULL: a later record was taken */
};

struct taking {
    struct tfs_save *save;
    const struct tfs_journal_text *text;
    struct tfs_edit edit;
    bool force;
    struct verdict *verdicts; /* of the record that is taken */
    size_t count, at;
    uint64_t leans_on;
    struct left *left;
    size_t left_count;
};

static uint64_t sum_after(const struct tfs_record_entry *entry)
{
    if (entry->removed)
        return TFS_SUM_NONE;
    return tfs_record_sum(entry->chunk.blob, entry->chunk.extra, entry->chunk.tag);
}

static int compare(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    struct taking *t = arg;
    struct verdict *grown = tfs_array_grow(t->verdicts, t->count, sizeof(*grown));
    struct tfs_doc *doc = (struct tfs_doc *)tfs_edit_doc(&t->edit);

    if (grown == NULL)
        return tfs_fail_memory(err);
    t->verdicts = grown;
    const uint64_t now = entry->common
                             ? tfs_record_sum_common(doc)
                             : tfs_record_sum_chunk(t->save, tfs_doc_find(doc, entry->chunk.key));
    const bool held = entry->stays || now == sum_after(entry);
    grown[t->count++] = (struct verdict){
        .key = entry->chunk.key,
        .common = entry->common,
        .made = !entry->removed && entry->replaces == TFS_SUM_NONE,
        .removed = entry->removed,
        .held = held,
        .why = held                                 ? NULL
               : entry->replaces == TFS_SUM_UNKNOWN ? unknown
               : now == TFS_SUM_UNKNOWN             ? misfit
               : now != entry->replaces             ? changed
                                                    : NULL,
    };
    if (entry->common)
        t->leans_on = entry->replaces;
    return 0;
}

/* A chunk that moved is removed and made: both, or neither. */
static void check_moves(struct taking *t)
{
    bool made = false, removed = false, whole = true;

    for (size_t i = 0; i < t->count; i++) {
        const struct verdict *v = &t->verdicts[i];
        made = made || v->made;
        removed = removed || v->removed;
        whole = whole && !((v->made || v->removed) && v->why != NULL);
    }
    for (size_t i = 0; i < t->count && made && removed && !whole; i++) {
        struct verdict *v = &t->verdicts[i];
        if ((v->made || v->removed) && v->why == NULL && !v->held)
            v->why = partial;
    }
}

/* Chunks mean what the names beside them say. */
static void check_names(struct taking *t)
{
    const uint64_t now = tfs_record_sum_common(tfs_edit_doc(&t->edit));

    if (t->leans_on == TFS_SUM_UNKNOWN || t->leans_on == now)
        return;
    for (size_t i = 0; i < t->count; i++)
        if (!t->verdicts[i].common && !t->verdicts[i].held && !t->verdicts[i].removed &&
            t->verdicts[i].why == NULL)
            t->verdicts[i].why = leaning;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static int note(struct taking *t, const struct verdict *v, const char *why, struct tfs_error *err)
{
    for (size_t i = 0; i < t->left_count; i++)
        if (t->left[i].common == v->common && tfs_key_compare(t->left[i].key, v->key) == 0) {
            t->left[i].why = why;
            return 0;
        }
    if (why == NULL)
        return 0;
    struct left *grown = tfs_array_grow(t->left, t->left_count, sizeof(*grown));
    if (grown == NULL)
        return tfs_fail_memory(err);
    t->left = grown;
    grown[t->left_count++] = (struct left){v->key, v->common, why};
    return 0;
}

static int take(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    struct taking *t = arg;
    const struct verdict *v = &t->verdicts[t->at++];
    const bool taken = v->why == NULL || t->force;

    if (note(t, v, taken ? NULL : v->why, err) < 0 || !taken || v->held)
        return err->code;
    /* Its place in the save is that of the save. */
    const struct tfs_chunk *old = tfs_doc_find(tfs_edit_doc(&t->edit), entry->chunk.key);
    struct tfs_record_entry placed = *entry;
    placed.placed = true;
    placed.chunk.own = old != NULL ? old->own : TFS_OWN_NEW;
    return tfs_record_put(&t->edit, &placed, err);
}

static int take_record(struct taking *t, struct tfs_span payload, struct tfs_error *err)
{
    struct timespec when;

    t->count = t->at = 0;
    t->leans_on = TFS_SUM_UNKNOWN;
    if (skip_files(t->text, &payload, err) < 0 ||
        tfs_record_read(t->text->bytes, payload, compare, t, &when, err) < 0)
        return err->code;
    check_names(t);
    check_moves(t);
    return tfs_record_read(t->text->bytes, payload, take, t, &when, err);
}

/* ---- what does not fit ----------------------------------------------------------------------- */

struct checking {
    struct taking *t;
    struct tfs_doc *made;
    struct tfs_error *err;
};

/* What the save cannot hold is left as it was. */
static int check_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct checking *c = arg;
    struct tfs_save *save = c->t->save;
    const struct verdict v = {.key = after != NULL ? after->key : before->key};
    struct tfs_error why = {0};

    if (tfs_recovery_check(save, c->made, before, after, &why) == 0)
        return 0;
    if (why.code == -ENOMEM)
        return tfs_fail_memory(c->err);
    if (note(c->t, &v, misfit, c->err) < 0)
        return c->err->code;
    return before != NULL ? tfs_edit_put(&c->t->edit, before, c->err)
                          : tfs_edit_remove(&c->t->edit, after->key, c->err);
}

static int check(struct taking *t, struct tfs_doc **doc, struct tfs_error *err)
{
    struct checking c = {t, tfs_edit_finish(&t->edit), err};

    tfs_edit_release(&t->edit);
    t->edit = (struct tfs_edit){0};
    if (tfs_edit_open(c.made, &t->edit, err) == 0 &&
        tfs_doc_diff(t->save->doc, c.made, check_chunk, &c) == 0)
        *doc = tfs_edit_finish(&t->edit);
    tfs_doc_unref(c.made);
    return err->code;
}

int tfs_foreign_take(struct tfs_save *save, const struct tfs_journal_text *text, bool force,
                     tfs_foreign_left_fn left, void *arg, struct tfs_doc **doc,
                     struct tfs_error *err)
{
    struct taking t = {.save = save, .text = text, .force = force};

    if (tfs_edit_open(save->doc, &t.edit, err) < 0)
        return err->code;
    for (size_t i = 0; i < text->count && err->code == 0; i++)
        if (text->records[i].kind == TFS_JOURNAL_EDIT)
            take_record(&t, text->records[i].payload, err);
    if (err->code == 0)
        check(&t, doc, err);
    for (size_t i = 0; i < t.left_count && err->code == 0; i++)
        if (t.left[i].why != NULL)
            left(arg, t.left[i].common ? NULL : &t.left[i].key, t.left[i].why);
    tfs_edit_release(&t.edit);
    free(t.verdicts);
    free(t.left);
    return err->code;
}

/* ---- listing --------------------------------------------------------------------------------- */

struct listing {
    struct left *items;
    size_t count;
};

static int add_item(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    struct listing *l = arg;

    if (entry->stays)
        return 0;
    struct left *grown = tfs_array_grow(l->items, l->count, sizeof(*grown));
    if (grown == NULL)
        return tfs_fail_memory(err);
    l->items = grown;
    grown[l->count++] = (struct left){entry->chunk.key, entry->common, NULL};
    return 0;
}

static int compare_items(const void *a, const void *b)
{
    const struct left *left = a, *right = b;

    return left->common != right->common ? left->common - right->common
                                         : tfs_key_compare(left->key, right->key);
}

int tfs_foreign_list(const struct tfs_journal_text *text, tfs_foreign_left_fn each, void *arg,
                     struct timespec *last, size_t *edits, struct tfs_error *err)
{
    struct listing l = {0};

    *edits = 0;
    for (size_t i = 0; i < text->count && err->code == 0; i++) {
        struct tfs_span payload = text->records[i].payload;
        if (text->records[i].kind == TFS_JOURNAL_EDIT && skip_files(text, &payload, err) == 0 &&
            tfs_record_read(text->bytes, payload, add_item, &l, last, err) == 0)
            ++*edits;
    }
    if (l.count > 0)
        qsort(l.items, l.count, sizeof(*l.items), compare_items);
    for (size_t i = 0; i < l.count && err->code == 0; i++)
        if (i == 0 || compare_items(&l.items[i - 1], &l.items[i]) != 0)
            each(arg, l.items[i].common ? NULL : &l.items[i].key, NULL);
    free(l.items);
    return err->code;
}
