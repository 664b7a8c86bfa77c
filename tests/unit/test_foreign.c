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
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE,
                                             .inflate_limit = TFS_INFLATE_LIMIT};

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
    ck_assert_int_eq(tfs_foreign_keep(&r, before, tfs_buf_span(&record), &directory), 0);
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

/* The save becomes this document. */
static void become(struct tfs_doc *doc)
{
    ck_assert_msg(save->container->commit(save, doc, &err) == 0, "%s", err.text);
}

/* What import makes of the save. */
static struct tfs_doc *taken(bool force)
{
    struct tfs_journal_text text = {0};
    struct tfs_doc *doc = NULL;

    left = 0;
    ck_assert_msg(tfs_foreign_read(directory, &text, &err) == 0, "%s", err.text);
    ck_assert_msg(tfs_foreign_take(save, &text, force, count_left, NULL, &doc, &err) == 0, "%s",
                  err.text);
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
    for (int n = 0; n < SMALL_EDITS && kind->edits[n].path != NULL; n++) {
        struct tfs_doc *after = edited(save->doc, n);
        set_aside(save->doc, after);
        struct tfs_doc *now = taken(false);
        ck_assert_msg(left == 0 && is_same(now, after), "%s: %s: %zu are left", kind->name,
                      kind->edits[n].path, left);
        become(after);
        struct tfs_doc *again = taken(false);
        ck_assert_msg(left == 0 && is_same(again, after), "%s: %s, again", kind->name,
                      kind->edits[n].path);
        tfs_doc_unref(again);
        tfs_doc_unref(now);
        tfs_doc_unref(after);
        free(directory);
        directory = NULL;
    }
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
        become(theirs);
        struct tfs_doc *now = taken(false);
        ck_assert_msg(left > 0 && is_same(now, theirs), "%s: %zu are left", kind->name, left);
        struct tfs_doc *forced = taken(true);
        ck_assert_msg(left == 0 && !is_same(forced, theirs), "%s: by force", kind->name);
        tfs_doc_unref(forced);
        tfs_doc_unref(now);
    }
    tfs_doc_unref(theirs);
    tfs_doc_unref(ours);
}
END_TEST

/* ---- hostile records ------------------------------------------------------------------------- */

#define SOMETHING UINT64_C(12345) /* the sum of nothing that there is */

static void begin_record(struct tfs_buf *record, uint32_t chunks)
{
    tfs_buf_u64le(record, UINT64_C(4000000000));
    tfs_buf_u32le(record, 0);
    tfs_buf_u32le(record, chunks);
}

/* One with these stored bytes. */
static void put_chunk(struct tfs_buf *record, struct tfs_key key, const char *bytes,
                      uint64_t replaces)
{
    tfs_buf_u32le(record, key.group);
    tfs_buf_u32le(record, (uint32_t)key.x);
    tfs_buf_u32le(record, (uint32_t)key.y);
    tfs_buf_u32le(record, (uint32_t)key.z);
    tfs_buf_u8(record, 2 | 16);
    tfs_buf_u32le(record, 0);
    tfs_buf_u32le(record, 0);
    tfs_buf_u64le(record, strlen(bytes));
    tfs_buf_add_text(record, bytes);
    tfs_buf_u64le(record, replaces);
}

/* `how`: what is common stays (0), goes (1), or becomes `bytes` (2). */
static void end_record(struct tfs_buf *record, uint8_t how, const char *bytes)
{
    tfs_buf_u8(record, how);
    if (how == 2) {
        tfs_buf_u64le(record, strlen(bytes));
        tfs_buf_add_text(record, bytes);
    }
    tfs_buf_u64le(record, tfs_record_sum_common(save->doc));
    tfs_buf_add(record, "\0\0\0\0\0\0\0", 7);
}

/* What is taken of such a record, which goes; NULL: nothing is, and `err` says why. */
static struct tfs_doc *taken_of(struct tfs_buf *record, bool force)
{
    struct tfs_journal_record only = {.kind = TFS_JOURNAL_EDIT};
    struct tfs_journal_text text = {.save = {1, 2, 3}, .records = &only, .count = 1};
    struct tfs_doc *doc = NULL;

    left = 0;
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_blob_copy(tfs_buf_span(record), &text.bytes, &err), 0);
    only.payload = tfs_blob_span(text.bytes);
    tfs_foreign_take(save, &text, force, count_left, NULL, &doc, &err);
    tfs_blob_unref(text.bytes);
    tfs_buf_release(record);
    return doc;
}

START_TEST(record_that_changes_what_is_common_breaks_no_save)
{
    open_kind(_i);
    for (unsigned how = 0; how < 6; how++) {
        static const char *const bytes[] = {"", "", "x"};
        struct tfs_buf record = {0};
        begin_record(&record, 0);
        end_record(&record, how % 3 == 0 ? 1 : 2, bytes[how % 3]);
        struct tfs_doc *doc = taken_of(&record, how >= 3);
        ck_assert_msg(doc == NULL ? err.code == -EBADMSG : is_same(doc, save->doc),
                      "%s, %u: %zu are left, %s", kind->name, how, left, err.text);
        tfs_doc_unref(doc);
    }
}
END_TEST

START_TEST(record_that_names_a_chunk_twice_is_none)
{
    struct tfs_buf record = {0};

    open_kind(0);
    begin_record(&record, 2);
    put_chunk(&record, tfs_doc_at(save->doc, 0)->key, "a", SOMETHING);
    put_chunk(&record, tfs_doc_at(save->doc, 0)->key, "b", SOMETHING);
    end_record(&record, 0, NULL);
    ck_assert_ptr_null(taken_of(&record, true));
    ck_assert_str_eq(err.text, "a record of the journal names a chunk twice");
}
END_TEST

#define VERY_MANY 500000

/* Each is left and told: that one is looked for among all others would take minutes. */
START_TEST(record_of_very_many_chunks_takes_no_longer_for_each)
{
    struct tfs_buf record = {0};

    open_kind(0);
    begin_record(&record, VERY_MANY);
    for (int i = 0; i < VERY_MANY; i++)
        put_chunk(&record, (struct tfs_key){.x = VERY_MANY - i, .y = 1000}, "", SOMETHING);
    end_record(&record, 0, NULL);
    struct tfs_doc *doc = taken_of(&record, false);
    ck_assert_uint_eq(left, VERY_MANY);
    ck_assert(is_same(doc, save->doc));
    tfs_doc_unref(doc);
}
END_TEST

/* What does not read is kept as it is, beside what does. */
START_TEST(record_that_does_not_read_keeps_its_journal)
{
    struct tfs_recovery r = {0};
    struct tfs_journal *journal = NULL;
    struct tfs_buf record = {0};

    open_kind(_i);
    if (save->container->file == NULL)
        return;
    struct tfs_doc *after = edited(save->doc, 0);
    ck_assert_int_eq(
        tfs_record_make(save, save->doc, NULL, after, (struct timespec){0}, &record, &err), 0);
    ck_assert_int_eq(tfs_journal_create(save->path, &save->st, (struct tfs_hash){1, 2, 3}, NULL,
                                        tfs_buf_span(&record), &journal, &err),
                     0);
    ck_assert_int_eq(tfs_journal_append(journal, TFS_JOURNAL_EDIT, tfs_span_of("no record"), &err),
                     0);
    tfs_journal_close(journal);
    r = (struct tfs_recovery){.save = save, .beside = save->path};
    ck_assert_int_eq(tfs_journal_read(save->path, &save->st, &r.text, &err), 1);
    ck_assert_int_eq(tfs_foreign_keep(&r, save->doc, (struct tfs_span){0}, &directory), 0);
    ck_assert(tfs_foreign_is(directory));
    const char *name = strrchr(directory, '/') + 1;
    char *copy = NULL;
    ck_assert_int_gt(asprintf(&copy, "%s/damaged-journal", name), 0);
    ck_assert_msg(access(scratch_path(copy), F_OK) == 0, "%s: the journal is gone", kind->name);
    struct tfs_doc *now = taken(false);
    ck_assert(left == 0 && is_same(now, after));
    free(copy);
    tfs_doc_unref(now);
    tfs_recovery_release(&r);
    tfs_buf_release(&record);
    tfs_doc_unref(after);
}
END_TEST

/* ---- moves ----------------------------------------------------------------------------------- */

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

START_TEST(move_that_was_set_aside_is_taken)
{
    open_kind(_i);
    if (kind->from == NULL)
        return;
    struct tfs_doc *after = moved(), *gone = without(save->doc, kind->from);
    set_aside(save->doc, after);
    struct tfs_doc *now = taken(false);
    ck_assert_msg(left == 0 && is_same(now, after), "%s: %zu are left", kind->name, left);
    become(gone);
    struct tfs_doc *half = taken(false);
    /* The place that it was moved from says what the move made of it; the other one is free. */
    ck_assert_msg(left == 0 && is_same(half, after), "%s: %zu are left", kind->name, left);
    tfs_doc_unref(half);
    tfs_doc_unref(gone);
    tfs_doc_unref(now);
    tfs_doc_unref(after);
}
END_TEST

START_TEST(move_that_was_set_aside_is_not_taken_by_half)
{
    open_kind(_i);
    if (kind->from == NULL)
        return;
    struct tfs_doc *after = moved(), *other = edited(save->doc, 0);
    const bool changed = !tfs_chunk_same(tfs_doc_find(other, key_named(kind->from)),
                                         tfs_doc_find(save->doc, key_named(kind->from)));
    set_aside(save->doc, after);
    become(other);
    struct tfs_doc *half = taken(false);
    ck_assert_msg(!changed || (left > 0 && is_same(half, other)), "%s: half of a move", kind->name);
    tfs_doc_unref(half);
    tfs_doc_unref(other);
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
    tcase_add_loop_test(c, move_that_was_set_aside_is_taken, 0, small_save_count);
    tcase_add_loop_test(c, move_that_was_set_aside_is_not_taken_by_half, 0, small_save_count);
    tcase_add_loop_test(c, record_that_changes_what_is_common_breaks_no_save, 0, small_save_count);
    tcase_add_test(c, record_that_names_a_chunk_twice_is_none);
    tcase_add_test(c, record_of_very_many_chunks_takes_no_longer_for_each);
    tcase_add_loop_test(c, record_that_does_not_read_keeps_its_journal, 0, small_save_count);
    return s;
}

UNIT_MAIN(suite)
