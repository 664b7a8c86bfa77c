/*
 * fs/recovery/foreign: edits that were set aside, of every kind of save, and what is taken of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "../lib/small_saves.h"
#include "fs/recovery/foreign.h"
#include "fs/store/store.h"
#include "scratch.h"

static const struct small_save *kind;
static struct tfs_error err;
static struct tfs_save *save;
static char *directory;
static size_t left;

static void setup(void)
{
    scratch_setup_in_memory();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_dir, 1), 0);
    tfs_error_reset(&err);
    directory = NULL;
}

static void teardown(void)
{
    tfs_save_close(save);
    free(directory);
    scratch_teardown();
}

static void open_kind(int i)
{
    const struct tfs_open_options options = {.inflate_limit = TFS_INFLATE_LIMIT};

    kind = &small_saves[i];
    kind->make(scratch_path(kind->file));
    ck_assert_msg(tfs_save_open(scratch_path(kind->file), NULL, &options, &save, &err) == 0, "%s",
                  err.text);
}

/* `doc` with one of the edits of the kind; the same one, where the edit is none of this version. */
static struct tfs_doc *edited(struct tfs_doc *doc, int n)
{
    const struct small_edit *small = &kind->edits[n];
    struct tfs_buf text = {0};
    struct tfs_error why = {0};
    struct tfs_edit edit;

    if (strncmp(small->path, "extra/", strlen("extra/")) == 0)
        return tfs_doc_ref(doc);
    small_edit_text(save, doc, small, &text);
    ck_assert_int_eq(tfs_edit_open(doc, &edit, &err), 0);
    struct tfs_doc *after = small_edit_apply(save, &edit, small, tfs_buf_span(&text), &why) == 0
                                ? tfs_edit_finish(&edit)
                                : tfs_doc_ref(doc);
    tfs_edit_release(&edit);
    tfs_buf_release(&text);
    return after;
}

static void set_aside(struct tfs_doc *before, struct tfs_doc *after)
{
    const struct tfs_recovery r = {.save = save};
    struct tfs_buf record = {0};

    ck_assert_msg(tfs_record_make_foreign(save, before, after, false,
                                          (struct timespec){.tv_sec = 1}, &record, &err) == 0,
                  "%s", err.text);
    ck_assert_int_eq(tfs_foreign_keep(&r, tfs_buf_span(&record), &directory), 0);
    ck_assert(tfs_foreign_is(directory));
    tfs_buf_release(&record);
}

static void count_left(void *arg, const struct tfs_key *chunk, const char *why)
{
    (void)arg;
    (void)chunk;
    ck_assert_ptr_nonnull(why);
    left++;
}

/* What import makes of a save that says `now`. */
static struct tfs_doc *taken(struct tfs_doc *now, bool force)
{
    struct tfs_journal_text text = {0};
    struct tfs_doc *was = save->doc, *doc = NULL;

    left = 0;
    save->doc = now;
    ck_assert_msg(tfs_foreign_read(directory, &text, &err) == 0, "%s", err.text);
    ck_assert_msg(tfs_foreign_take(save, &text, force, count_left, NULL, &doc, &err) == 0, "%s",
                  err.text);
    save->doc = was;
    tfs_journal_text_release(&text);
    return doc;
}

static int differ(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)arg;
    return tfs_record_sum_chunk(save, before) != tfs_record_sum_chunk(save, after);
}

/* Documents of a database may have the same bytes in other places. */
static bool is_same(const struct tfs_doc *a, const struct tfs_doc *b)
{
    return tfs_doc_diff(a, b, differ, NULL) == 0 && tfs_blob_equal(a->common, b->common);
}

START_TEST(edit_that_was_set_aside_is_taken_where_nobody_changed_what_it_replaced)
{
    open_kind(_i);
    struct tfs_doc *before = tfs_doc_ref(save->doc);
    for (int n = 0; n < SMALL_EDITS && kind->edits[n].path != NULL; n++) {
        struct tfs_doc *after = edited(before, n);
        set_aside(before, after);
        struct tfs_doc *now = taken(before, false);
        ck_assert_msg(left == 0 && is_same(now, after), "%s: %s: %zu are left", kind->name,
                      kind->edits[n].path, left);
        struct tfs_doc *again = taken(after, false);
        ck_assert_msg(left == 0 && is_same(again, after), "%s: %s, again", kind->name,
                      kind->edits[n].path);
        tfs_doc_unref(again);
        tfs_doc_unref(now);
        tfs_doc_unref(before);
        before = after;
        free(directory);
        directory = NULL;
    }
    tfs_doc_unref(before);
}
END_TEST

/* The first chunk that differs is another one still. */
START_TEST(edit_that_was_set_aside_is_named_where_somebody_changed_what_it_replaced)
{
    open_kind(_i);
    struct tfs_doc *ours = edited(save->doc, 0), *theirs = NULL;
    for (int n = 1; n < SMALL_EDITS && kind->edits[n].path != NULL && theirs == NULL; n++)
        if (strcmp(kind->edits[n].path, kind->edits[0].path) == 0)
            theirs = edited(save->doc, n);
    if (theirs != NULL && !is_same(ours, theirs)) {
        set_aside(save->doc, ours);
        struct tfs_doc *now = taken(theirs, false);
        ck_assert_msg(left > 0 && is_same(now, theirs), "%s: %zu are left", kind->name, left);
        struct tfs_doc *forced = taken(theirs, true);
        ck_assert_msg(left == 0 && !is_same(forced, theirs), "%s: by force", kind->name);
        tfs_doc_unref(forced);
        tfs_doc_unref(now);
    }
    tfs_doc_unref(theirs);
    tfs_doc_unref(ours);
}
END_TEST

static struct tfs_key key_named(const char *name)
{
    struct tfs_key key = {0};

    ck_assert_int_eq(sscanf(name, "%d_%d_%d", &key.x, &key.y, &key.z), 3);
    return key;
}

static struct tfs_doc *moved(void)
{
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    ck_assert_msg(
        tfs_chunk_move(save, &edit, key_named(kind->from), key_named(kind->to), &err) == 0, "%s",
        err.text);
    struct tfs_doc *after = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return after;
}

static struct tfs_doc *without(struct tfs_doc *doc, const char *name)
{
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_edit_open(doc, &edit, &err), 0);
    ck_assert_int_eq(tfs_edit_remove(&edit, key_named(name), &err), 0);
    struct tfs_doc *after = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return after;
}

START_TEST(move_that_was_set_aside_is_taken_as_a_whole_or_not_at_all)
{
    open_kind(_i);
    if (kind->from == NULL)
        return;
    struct tfs_doc *after = moved();
    set_aside(save->doc, after);
    struct tfs_doc *now = taken(save->doc, false);
    ck_assert_msg(left == 0 && is_same(now, after), "%s: %zu are left", kind->name, left);
    struct tfs_doc *gone = without(save->doc, kind->from);
    struct tfs_doc *half = taken(gone, false);
    /* The place that it was moved from says what the move made of it; the other one is free. */
    ck_assert_msg(left == 0 && is_same(half, after), "%s: %zu are left", kind->name, left);
    tfs_doc_unref(half);
    struct tfs_doc *other = edited(save->doc, 0);
    if (!tfs_chunk_same(tfs_doc_find(other, key_named(kind->from)),
                        tfs_doc_find(save->doc, key_named(kind->from)))) {
        half = taken(other, false);
        ck_assert_msg(left > 0 && is_same(half, other), "%s: half of a move", kind->name);
        tfs_doc_unref(half);
    }
    tfs_doc_unref(other);
    tfs_doc_unref(gone);
    tfs_doc_unref(now);
    tfs_doc_unref(after);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("foreign");
    TCase *c = unit_case(s, "foreign");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, edit_that_was_set_aside_is_taken_where_nobody_changed_what_it_replaced,
                        0, small_save_count);
    tcase_add_loop_test(c, edit_that_was_set_aside_is_named_where_somebody_changed_what_it_replaced,
                        0, small_save_count);
    tcase_add_loop_test(c, move_that_was_set_aside_is_taken_as_a_whole_or_not_at_all, 0,
                        small_save_count);
    return s;
}

UNIT_MAIN(suite)
