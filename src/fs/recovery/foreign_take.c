/*
 * Records that were set aside -> a document of the save: see foreign.h.
 *
 * Each chunk of a record is compared with what the document has of it then: what the edit replaced
 * is edited; what the edit made is there already; anything else was changed by somebody, and stays.
 * What a later record says of a chunk decides.
 *
 * Records are hostile until checked: what they say costs time for each of their bytes once, and
 * bytes of the save are read once, however many records name them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/print.h"
#include "formats/containers/file.h"
#include "fs/recovery/edits.h"
#include "fs/recovery/foreign.h"

#define JOURNAL "journal"

static const char changed[] = "it was changed since";
static const char unknown[] = "it is not known what the edit replaced";
static const char leaning[] = "the names or versions that it leans on were changed since";
static const char partial[] = "it was moved, and the other place was changed since";
static const char misfit[] = "it does not fit the save";

/* ---- reading --------------------------------------------------------------------------------- */

bool tfs_foreign_is(const char *directory)
{
    char *path = tfs_path_join(directory, JOURNAL);
    struct stat st;
    const bool is = path != NULL && lstat(path, &st) == 0 && S_ISREG(st.st_mode);

    free(path);
    return is;
}

int tfs_foreign_read(const char *directory, struct tfs_journal_text *text, struct tfs_error *err)
{
    char *path = tfs_path_join(directory, JOURNAL);

    if (path == NULL)
        return tfs_fail_memory(err);
    tfs_journal_read_file(path, text, err);
    free(path);
    return err->code;
}

/* ---- what they are about --------------------------------------------------------------------- */

/* A chunk that records change, or what belongs to the whole save. */
struct place {
    struct tfs_key key;
    bool common;
    uint64_t now; /* the sum of what the document has there */
    /* What a record said of it last: */
    size_t record;      /* counted from 1 */
    bool made, removed; /* made: there was none */
    bool held;          /* the document says it already */
    const char *why;    /* it is left; NULL: it is taken */
};

struct places {
    struct place *items; /* by key, what is common last; each once */
    size_t count;
};

static int add_place(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    struct places *p = arg;

    if (entry->stays)
        return 0;
    struct place *grown = tfs_array_grow(p->items, p->count, sizeof(*grown));
    if (grown == NULL)
        return tfs_fail_memory(err);
    p->items = grown;
    grown[p->count++] = (struct place){.key = entry->chunk.key, .common = entry->common};
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;

    return left->common != right->common ? left->common - right->common
                                         : tfs_key_compare(left->key, right->key);
}

static struct place *find_place(const struct places *p, const struct tfs_record_entry *entry)
{
    const struct place wanted = {.key = entry->chunk.key, .common = entry->common};

    return bsearch(&wanted, p->items, p->count, sizeof(wanted), compare_places);
}

static int list_places(const struct tfs_journal_text *text, struct places *p, struct timespec *last,
                       size_t *edits, struct tfs_error *err)
{
    *edits = 0;
    for (size_t i = 0; i < text->count && err->code == 0; i++) {
        tfs_record_read(text, i, add_place, p, last, err);
        *edits += text->records[i].kind == TFS_JOURNAL_EDIT;
    }
    p->count = tfs_array_unique(p->items, p->count, sizeof(*p->items), compare_places);
    return err->code;
}

int tfs_foreign_list(const struct tfs_journal_text *text, tfs_foreign_left_fn each, void *arg,
                     struct timespec *last, size_t *edits, struct tfs_error *err)
{
    struct places p = {0};

    if (list_places(text, &p, last, edits, err) == 0)
        for (size_t i = 0; i < p.count; i++)
            each(arg, p.items[i].common ? NULL : &p.items[i].key, NULL);
    free(p.items);
    return err->code;
}

/* ---- what becomes of an entry ---------------------------------------------------------------- */

struct taking {
    struct tfs_save *save;
    const struct tfs_journal_text *text;
    struct tfs_edit edit;
    struct places places;
    struct place *common; /* the last of them */
    bool force;
    size_t record;        /* that is taken */
    struct place **named; /* by that */
    size_t count;
    uint64_t leans_on; /* the sum of what was common when it was made */
};

static uint64_t sum_after(const struct tfs_record_entry *entry)
{
    if (entry->removed)
        return TFS_SUM_NONE;
    return tfs_record_sum(entry->chunk.blob, entry->chunk.extra, entry->chunk.tag);
}

static const char *reason(const struct taking *t, const struct tfs_record_entry *entry,
                          uint64_t now)
{
    const struct tfs_chunk *old = tfs_doc_find(t->save->doc, entry->chunk.key);

    if (!entry->common && !tfs_recovery_fits(t->save, tfs_edit_doc(&t->edit), old,
                                             entry->removed ? NULL : &entry->chunk))
        return misfit;
    if (t->force)
        return NULL;
    return entry->replaces == TFS_SUM_UNKNOWN ? unknown
           : now == TFS_SUM_UNKNOWN           ? misfit
           : now != entry->replaces           ? changed
                                              : NULL;
}

/* No edit of terrainfs names a chunk twice. */
static int compare(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    struct taking *t = arg;

    t->leans_on = entry->common ? entry->replaces : t->leans_on;
    if (entry->stays)
        return 0;
    struct place *place = find_place(&t->places, entry),
                 **grown = tfs_array_grow(t->named, t->count, sizeof(*grown));
    if (grown == NULL)
        return tfs_fail_memory(err);
    if (place->record == t->record)
        return tfs_fail(err, -EBADMSG, "a record of the journal names a chunk twice");
    t->named = grown;
    grown[t->count++] = place;
    place->record = t->record;
    place->made = !entry->removed && entry->replaces == TFS_SUM_NONE;
    place->removed = entry->removed;
    place->held = place->now == sum_after(entry);
    place->why = place->held ? NULL : reason(t, entry, place->now);
    return 0;
}

/* A chunk that moved is removed and made: both, or neither. */
static void check_moves(struct taking *t)
{
    bool made = false, removed = false, whole = true;

    for (size_t i = 0; i < t->count; i++) {
        const struct place *p = t->named[i];
        made = made || p->made;
        removed = removed || p->removed;
        whole = whole && !((p->made || p->removed) && p->why != NULL);
    }
    for (size_t i = 0; i < t->count && made && removed && !whole; i++) {
        struct place *p = t->named[i];
        if ((p->made || p->removed) && p->why == NULL && !p->held)
            p->why = partial;
    }
}

/* Chunks mean what the names beside them say. */
static void check_names(struct taking *t)
{
    if (t->force || t->leans_on == TFS_SUM_UNKNOWN || t->leans_on == t->common->now)
        return;
    for (size_t i = 0; i < t->count; i++) {
        struct place *p = t->named[i];
        if (!p->common && !p->held && !p->removed && p->why == NULL)
            p->why = leaning;
    }
}

/* ---- taking ---------------------------------------------------------------------------------- */

static int take(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    struct taking *t = arg;
    struct place *place = entry->stays ? NULL : find_place(&t->places, entry);

    if (place == NULL || place->why != NULL || place->held)
        return 0;
    place->now = sum_after(entry);
    /* Its place in the save is that of the save. */
    const struct tfs_chunk *old = tfs_doc_find(tfs_edit_doc(&t->edit), entry->chunk.key);
    struct tfs_record_entry placed = *entry;
    placed.placed = true;
    placed.chunk.own = old != NULL ? old->own : TFS_OWN_NEW;
    return tfs_record_put(&t->edit, &placed, err);
}

static int take_record(struct taking *t, size_t record, struct tfs_error *err)
{
    struct timespec when;

    t->record = record + 1;
    t->count = 0;
    t->leans_on = TFS_SUM_UNKNOWN;
    if (tfs_record_read(t->text, record, compare, t, &when, err) < 0)
        return err->code;
    check_names(t);
    check_moves(t);
    return tfs_record_read(t->text, record, take, t, &when, err);
}

/* What is common has a place though no record changes it. */
static int look_at_places(struct taking *t, struct tfs_error *err)
{
    const struct tfs_record_entry common = {.common = true};
    struct tfs_doc *doc = t->save->doc;
    struct timespec last;
    size_t edits;

    if (add_place(&t->places, &common, err) < 0 ||
        list_places(t->text, &t->places, &last, &edits, err) < 0)
        return err->code;
    t->common = find_place(&t->places, &common);
    for (struct place *p = t->places.items; p != t->common; p++)
        p->now = tfs_record_sum_chunk(t->save, tfs_doc_find(doc, p->key));
    t->common->now = tfs_record_sum_common(doc);
    return 0;
}

static int take_all(struct taking *t, struct tfs_error *err)
{
    if (look_at_places(t, err) < 0)
        return err->code;
    for (size_t i = 0; i < t->text->count && err->code == 0; i++)
        take_record(t, i, err);
    return err->code;
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
    const struct tfs_record_entry entry = {.chunk.key = after != NULL ? after->key : before->key};
    const struct checking *c = arg;
    struct tfs_error why = {0};

    if (tfs_recovery_check(c->t->save, c->made, before, after, &why) == 0)
        return 0;
    if (why.code == -ENOMEM)
        return tfs_fail_memory(c->err);
    find_place(&c->t->places, &entry)->why = misfit;
    return before != NULL ? tfs_edit_put(&c->t->edit, before, c->err)
                          : tfs_edit_remove(&c->t->edit, after->key, c->err);
}

static void check_common(struct taking *t)
{
    struct tfs_error why = {0};

    if (tfs_recovery_check_common(t->save, tfs_edit_doc(&t->edit), &why) == 0)
        return;
    t->common->why = misfit;
    tfs_edit_common(&t->edit, t->save->doc->common);
}

static int check(struct taking *t, struct tfs_doc **doc, struct tfs_error *err)
{
    check_common(t);
    struct checking c = {t, tfs_edit_finish(&t->edit), err};

    tfs_edit_release(&t->edit);
    t->edit = (struct tfs_edit){0};
    if (tfs_edit_open(c.made, &t->edit, err) == 0 &&
        tfs_doc_diff(t->save->doc, c.made, check_chunk, &c) == 0)
        *doc = tfs_edit_finish(&t->edit);
    tfs_doc_unref(c.made);
    return err->code;
}

/* What is one file reads back as it is written. */
static int check_whole(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_doc *again = NULL;

    if (save->container->file != NULL && doc->version != save->doc->version)
        tfs_whole_file_again(save, doc, &again, err);
    tfs_doc_unref(again);
    return err->code;
}

static void tell_left(const struct places *p, tfs_foreign_left_fn left, void *arg)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].why != NULL)
            left(arg, p->items[i].common ? NULL : &p->items[i].key, p->items[i].why);
}

int tfs_foreign_take(struct tfs_save *save, const struct tfs_journal_text *text, bool force,
                     tfs_foreign_left_fn left, void *arg, struct tfs_doc **doc,
                     struct tfs_error *err)
{
    struct taking t = {.save = save, .text = text, .force = force};

    if (tfs_edit_open(save->doc, &t.edit, err) < 0)
        return err->code;
    struct tfs_doc *made = NULL;
    if (take_all(&t, err) == 0 && check(&t, &made, err) == 0 && check_whole(save, made, err) == 0) {
        tell_left(&t.places, left, arg);
        *doc = tfs_doc_ref(made);
    }
    tfs_doc_unref(made);
    tfs_edit_release(&t.edit);
    free(t.named);
    free(t.places.items);
    return err->code;
}
