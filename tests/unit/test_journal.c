/* base/journal: what was accepted is read again, what was torn is left out, what is damaged is
 * said, and a file that others could have made is not believed. formats/journal: records. */
#include <errno.h>
#include <sys/resource.h>

#include "../lib/journal_case.h"
#include "../lib/session_format.h"
#include "formats/containers/file.h"
#include "formats/journal.h"
#include "sanitized.h"
#include "scratch.h"

static struct tfs_error err;
static const struct tfs_hash save_hash = {5, 7, 9};
static const struct tfs_hash other_hash = {5, 7, 10};

static struct stat like(void)
{
    struct stat st;

    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    return st;
}

static void reset(void)
{
    tfs_error_reset(&err);
}

static void journal_setup(void)
{
    scratch_setup();
    reset();
    scratch_write("save", "terra");
    ck_assert_int_eq(chmod(scratch_path("save"), 0640), 0);
}

static struct tfs_journal *create(const char *first)
{
    struct tfs_journal *journal = NULL;
    struct stat st = like();

    ck_assert_msg(tfs_journal_create(scratch_path("save"), &st, save_hash, NULL, tfs_span_of(first),
                                     &journal, &err) == 0,
                  "%s", err.text);
    return journal;
}

static void append(struct tfs_journal *journal, enum tfs_journal_kind kind, const char *text)
{
    ck_assert_msg(tfs_journal_append(journal, kind, tfs_span_of(text), &err) == 0, "%s", err.text);
}

static int read_journal(struct tfs_journal_text *text)
{
    struct stat st = like();

    tfs_error_reset(&err);
    *text = (struct tfs_journal_text){0};
    return tfs_journal_read(scratch_path("save"), &st, text, &err);
}

/* The texts of all edits that are read, joined by blanks. Static storage. */
static const char *edits(void)
{
    static char joined[4096];
    struct tfs_journal_text text;

    joined[0] = '\0';
    ck_assert_msg(read_journal(&text) == 1, "%s", err.text);
    for (size_t i = 0; i < text.count; i++) {
        if (text.records[i].kind != TFS_JOURNAL_EDIT)
            continue;
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof(joined) - used, "%s%.*s", used > 0 ? " " : "",
                 (int)text.records[i].payload.size, (const char *)text.records[i].payload.data);
    }
    tfs_journal_text_release(&text);
    return joined;
}

static uint64_t file_size(void)
{
    struct stat st;

    ck_assert_int_eq(stat(scratch_path(".save.terrainfs-journal"), &st), 0);
    return (uint64_t)st.st_size;
}

/* Writes over one byte of the journal. */
static void spoil(uint64_t at)
{
    FILE *file = fopen(scratch_path(".save.terrainfs-journal"), "r+");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
    int byte = fgetc(file);
    ck_assert_int_ne(byte, EOF);
    ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
    ck_assert_int_ne(fputc(byte ^ 0xff, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- the file -------------------------------------------------------------------------------- */

START_TEST(journal_gives_back_what_was_appended)
{
    struct tfs_journal *journal = create("one");
    struct tfs_journal_text text;

    append(journal, TFS_JOURNAL_EDIT, "two");
    ck_assert_int_eq(tfs_journal_mark(journal, &err), 0);
    ck_assert_int_eq(journal_done(journal, other_hash, &err), 0);
    ck_assert_int_eq(tfs_journal_sync(journal, &err), 0);
    ck_assert_uint_eq(tfs_journal_size(journal), file_size());
    tfs_journal_close(journal);
    ck_assert_int_eq(read_journal(&text), 1);
    ck_assert_uint_eq(text.count, 4);
    ck_assert_uint_eq(text.damaged, 0);
    ck_assert(tfs_hash_equal(text.save, save_hash));
    ck_assert_int_eq(text.records[2].kind, TFS_JOURNAL_MARK);
    ck_assert(tfs_hash_equal(text.records[3].hash, other_hash));
    tfs_journal_text_release(&text);
    ck_assert_str_eq(edits(), "one two");
}
END_TEST

START_TEST(journal_has_the_permissions_of_its_save)
{
    struct stat st;

    tfs_journal_close(create("one"));
    ck_assert_int_eq(stat(scratch_path(".save.terrainfs-journal"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0640);
    ck_assert_int_eq(st.st_uid, like().st_uid);
}
END_TEST

START_TEST(journal_that_was_read_is_current_while_it_only_grows)
{
    struct tfs_journal *journal = create("first");
    struct tfs_journal_text text;

    ck_assert_int_eq(read_journal(&text), 1);
    append(journal, TFS_JOURNAL_EDIT, "second");
    ck_assert(tfs_journal_current(scratch_path("save"), &text));
    tfs_journal_close(journal);
    journal = create("another");
    append(journal, TFS_JOURNAL_EDIT, "and one more, longer than the two of before");
    ck_assert(!tfs_journal_current(scratch_path("save"), &text));
    ck_assert_int_eq(tfs_journal_remove(scratch_path("save"), &err), 0);
    ck_assert(!tfs_journal_current(scratch_path("save"), &text));
    tfs_journal_close(journal);
    tfs_journal_text_release(&text);
}
END_TEST

START_TEST(record_that_does_not_fit_is_cut_off_again_and_the_next_one_follows)
{
    struct tfs_journal *journal = create("one");
    const uint64_t size = file_size();

    for (rlim_t more = 0; more < 40; more++) { /* a head and a payload of 8 bytes */
        scratch_limit_files(size + more);
        ck_assert_int_eq(tfs_journal_append(journal, TFS_JOURNAL_EDIT, tfs_span_of("never"), &err),
                         -EDQUOT);
        tfs_error_reset(&err);
        ck_assert(!tfs_journal_broken(journal));
        ck_assert_uint_eq(file_size(), size);
    }
    scratch_limit_files(RLIM_INFINITY);
    append(journal, TFS_JOURNAL_EDIT, "two");
    ck_assert_int_eq(tfs_journal_sync(journal, &err), 0);
    tfs_journal_close(journal);
    ck_assert_str_eq(edits(), "one two");
}
END_TEST

START_TEST(journal_takes_the_place_of_an_older_one)
{
    struct tfs_journal *older = create("one"), *newer = create("two");

    ck_assert_str_eq(edits(), "two");
    tfs_journal_close(older);
    tfs_journal_close(newer);
    ck_assert_int_eq(scratch_count(), 2);
}
END_TEST

START_TEST(journal_does_not_replace_what_is_no_file)
{
    struct tfs_journal *journal = NULL;
    struct stat st = like();

    ck_assert_int_eq(mkdir(scratch_path(".save.terrainfs-journal"), 0700), 0);
    ck_assert_int_eq(tfs_journal_create(scratch_path("save"), &st, save_hash, NULL,
                                        tfs_span_of("one"), &journal, &err),
                     -EEXIST);
    ck_assert_ptr_null(journal);
}
END_TEST

START_TEST(journal_is_removed_and_removing_none_is_no_failure)
{
    struct tfs_journal_text text;

    tfs_journal_close(create("one"));
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(tfs_journal_remove(scratch_path("save"), &err), 0);
    ck_assert_int_eq(read_journal(&text), 0);
}
END_TEST

START_TEST(journal_name_is_cut_where_a_name_would_be_too_long)
{
    char save[300], name[TFS_JOURNAL_NAME];

    memset(save, 'a', sizeof(save));
    save[sizeof(save) - 1] = '\0';
    tfs_journal_name(save, name);
    ck_assert_uint_eq(strlen(name), NAME_MAX);
    tfs_journal_name("/a/b", name);
    ck_assert_str_eq(name, ".b.terrainfs-journal");
}
END_TEST

START_TEST(journals_of_two_saves_whose_names_differ_at_their_long_ends_are_two)
{
    char save[NAME_MAX + 1] = {0}, one[TFS_JOURNAL_NAME], other[TFS_JOURNAL_NAME];

    memset(save, 'a', NAME_MAX);
    tfs_journal_name(save, one);
    save[NAME_MAX - 1] = 'b';
    tfs_journal_name(save, other);
    ck_assert_str_ne(one, other);
}
END_TEST

/* ---- torn and damaged ------------------------------------------------------------------------ */

START_TEST(journal_cut_anywhere_gives_the_records_before_the_cut)
{
    struct tfs_journal *journal = create("one");
    uint64_t ends[3];

    ends[0] = tfs_journal_size(journal);
    append(journal, TFS_JOURNAL_EDIT, "two");
    ends[1] = tfs_journal_size(journal);
    append(journal, TFS_JOURNAL_EDIT, "three");
    ends[2] = tfs_journal_size(journal);
    tfs_journal_close(journal);
    for (uint64_t size = ends[2]; size-- > ends[0];) {
        struct tfs_journal_text text;
        ck_assert_int_eq(truncate(scratch_path(".save.terrainfs-journal"), (off_t)size), 0);
        ck_assert_msg(read_journal(&text) == 1, "%s", err.text);
        ck_assert_uint_eq(text.count, size >= ends[1] ? 2 : 1);
        ck_assert_uint_eq(text.damaged, 0);
        tfs_journal_text_release(&text);
    }
}
END_TEST

START_TEST(journal_cut_in_its_head_is_refused)
{
    struct tfs_journal_text text;

    tfs_journal_close(create(""));
    for (uint64_t size = file_size(); size-- > 0;) {
        ck_assert_int_eq(truncate(scratch_path(".save.terrainfs-journal"), (off_t)size), 0);
        ck_assert_int_eq(read_journal(&text), -EBADMSG);
    }
}
END_TEST

START_TEST(journal_with_any_byte_wrong_never_gives_another_record)
{
    struct tfs_journal *journal = create("one");
    uint64_t second, third;
    struct tfs_journal_text text;

    second = tfs_journal_size(journal);
    append(journal, TFS_JOURNAL_EDIT, "two");
    third = tfs_journal_size(journal);
    append(journal, TFS_JOURNAL_EDIT, "three");
    tfs_journal_close(journal);
    for (uint64_t at = 0; at < file_size(); at++) {
        spoil(at);
        int result = read_journal(&text);
        if (result == 1) {
            /* Padding is not looked at; what is last may have been torn. */
            const char *expected = at < second ? "" : at < third ? "one" : "one two";
            const bool whole = text.count == 3;
            ck_assert_msg(whole || strcmp(edits(), expected) == 0, "byte %ju: %s", (uintmax_t)at,
                          edits());
            ck_assert(whole || (text.damaged > 0) == (at < third));
            tfs_journal_text_release(&text);
        } else {
            ck_assert(result == -EBADMSG || result == -ENOTSUP);
        }
        spoil(at);
    }
    ck_assert_str_eq(edits(), "one two three");
}
END_TEST

/* What a file claims to be is not what it takes: 4 GB of nothing behind a record. */
START_TEST(journal_with_a_hole_behind_it_is_read_in_no_more_memory_than_its_records)
{
    const rlim_t enough = (rlim_t)1 << 29;
    struct tfs_journal *journal = create("one");
    struct rlimit limit;

    append(journal, TFS_JOURNAL_EDIT, "two");
    tfs_journal_close(journal);
    ck_assert_int_eq(truncate(scratch_path(".save.terrainfs-journal"), (off_t)TFS_JOURNAL_MAX), 0);
    if (!SANITIZED) {
        ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
        limit.rlim_cur = enough;
        ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    }
    ck_assert_str_eq(edits(), "one two");
}
END_TEST

START_TEST(journal_does_not_take_a_record_of_an_older_one)
{
    struct tfs_journal *journal = create("one");
    char old[4096];
    FILE *file;

    append(journal, TFS_JOURNAL_EDIT, "old");
    tfs_journal_close(journal);
    file = fopen(scratch_path(".save.terrainfs-journal"), "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(old, 1, sizeof(old), file);
    fclose(file);
    journal = create("one");
    uint64_t at = tfs_journal_size(journal);
    tfs_journal_close(journal);
    file = fopen(scratch_path(".save.terrainfs-journal"), "a");
    ck_assert_uint_eq(fwrite(old + at, 1, size - at, file), size - at);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_str_eq(edits(), "one");
}
END_TEST

/* ---- whom to believe ------------------------------------------------------------------------- */

static void make_fifo(const char *name)
{
    ck_assert_int_eq(mkfifo(name, 0640), 0);
}

static void make_link(const char *name)
{
    ck_assert_int_eq(symlink("save", name), 0);
}

static void make_wider(const char *name)
{
    tfs_journal_close(create("one"));
    ck_assert_int_eq(chmod(name, 0644), 0);
}

static void make_second_name(const char *name)
{
    tfs_journal_close(create("one"));
    ck_assert_int_eq(link(name, scratch_path("again")), 0);
}

static void (*const untrusted[])(const char *) = {make_fifo, make_link, make_wider,
                                                  make_second_name};

START_TEST(journal_that_others_could_have_made_is_not_read)
{
    struct tfs_journal_text text;

    untrusted[_i](scratch_path(".save.terrainfs-journal"));
    ck_assert_int_eq(read_journal(&text), -EPERM);
    ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(journal_of_another_user_is_not_read)
{
    struct tfs_journal_text text;

    tfs_journal_close(create("one"));
    ck_assert_int_eq(chown(scratch_path(".save.terrainfs-journal"), 12345, (gid_t)-1), 0);
    ck_assert_int_eq(read_journal(&text), -EPERM);
}
END_TEST

/* ---- which records a save lacks -------------------------------------------------------------- */

START_TEST(journal_knows_which_edits_a_save_lacks)
{
    struct tfs_journal *journal = create("one");
    struct tfs_journal_text text;
    size_t first;

    ck_assert_int_eq(tfs_journal_mark(journal, &err), 0);
    append(journal, TFS_JOURNAL_EDIT, "two");
    ck_assert_int_eq(tfs_journal_mark(journal, &err), 0);
    append(journal, TFS_JOURNAL_EDIT, "three");
    ck_assert_int_eq(journal_done(journal, other_hash, &err), 0);
    append(journal, TFS_JOURNAL_EDIT, "four");
    tfs_journal_close(journal);
    ck_assert_int_eq(read_journal(&text), 1);
    ck_assert(journal_first(&text, save_hash, &first));
    ck_assert_uint_eq(first, 0);
    ck_assert(journal_first(&text, other_hash, &first));
    ck_assert_uint_eq(first, 4);
    ck_assert(!journal_first(&text, (struct tfs_hash){6, 7, 9}, &first));
    tfs_journal_text_release(&text);
}
END_TEST

/* ---- records --------------------------------------------------------------------------------- */

static struct tfs_blob *record_of(struct tfs_save *save, const struct tfs_doc *before,
                                  const struct tfs_doc *after)
{
    struct tfs_buf out = {0};
    struct tfs_blob *record = NULL;

    ck_assert_int_eq(
        tfs_record_make(save, before, NULL, after, (struct timespec){12, 34}, &out, &err), 0);
    ck_assert_int_eq(tfs_blob_take(&out, &record, &err), 0);
    return record;
}

static struct tfs_doc *apply(struct tfs_doc *doc, struct tfs_blob *record)
{
    struct tfs_edit edit;
    struct timespec when;

    ck_assert_int_eq(tfs_edit_open(doc, &edit, &err), 0);
    ck_assert_msg(journal_apply(&edit, record, tfs_blob_span(record), &when, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(when.tv_sec, 12);
    ck_assert_int_eq(when.tv_nsec, 34);
    struct tfs_doc *made = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return made;
}

/* A document without chunk 1, with another chunk 0, a new chunk 7 and a part. */
static struct tfs_doc *edited(struct tfs_doc *doc)
{
    struct tfs_edit edit;
    struct tfs_blob *part = NULL;
    struct tfs_doc *zero = fake_doc_with(doc, 0, "nought"),
                   *seven = fake_doc_with(zero, 7, "seven");

    ck_assert_int_eq(tfs_edit_open(seven, &edit, &err), 0);
    ck_assert_int_eq(tfs_edit_remove(&edit, (struct tfs_key){.x = 1}, &err), 0);
    ck_assert_int_eq(tfs_blob_copy(tfs_span_of("names"), &part, &err), 0);
    tfs_edit_common(&edit, part);
    tfs_blob_unref(part);
    struct tfs_doc *made = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_doc_unref(zero);
    tfs_doc_unref(seven);
    return made;
}

/* Its records name no files. */
static struct tfs_save *fake_of_one_file(void)
{
    static struct tfs_container one;
    struct tfs_save *save = fake_save_create();

    one = *save->container;
    one.journal = &tfs_whole_file_journal;
    save->container = &one;
    return save;
}

START_TEST(record_leads_from_one_document_to_the_other_and_back)
{
    struct tfs_save *save = fake_of_one_file();
    struct tfs_doc *before = tfs_doc_ref(save->doc), *after = edited(before);
    struct tfs_blob *there = record_of(save, before, after), *back = record_of(save, after, before);
    struct tfs_doc *made = apply(before, there), *again = apply(made, there);
    struct tfs_doc *returned = apply(again, back);

    ck_assert_str_eq(fake_blob(again, 0), "nought");
    ck_assert_str_eq(fake_blob(again, 1), "");
    ck_assert_str_eq(fake_blob(again, 7), "seven");
    ck_assert_str_eq(fake_blob(again, -2), "two");
    ck_assert(tfs_blob_equal(again->common, after->common));
    ck_assert_str_eq(fake_blob(returned, 0), "zero");
    ck_assert_str_eq(fake_blob(returned, 1), "one|note");
    ck_assert_str_eq(fake_blob(returned, 7), "");
    ck_assert_ptr_null(returned->common);
    struct tfs_doc *docs[] = {before, after, made, again, returned};
    for (size_t i = 0; i < sizeof(docs) / sizeof(docs[0]); i++)
        tfs_doc_unref(docs[i]);
    tfs_blob_unref(there);
    tfs_blob_unref(back);
    tfs_save_close(save);
}
END_TEST

START_TEST(record_with_any_byte_missing_is_refused)
{
    struct tfs_save *save = fake_of_one_file();
    struct tfs_doc *after = edited(save->doc);
    struct tfs_blob *record = record_of(save, save->doc, after);
    struct timespec when;

    for (size_t size = 0; size < record->size; size++) {
        struct tfs_edit edit;
        tfs_error_reset(&err);
        ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
        ck_assert_int_eq(
            journal_apply(&edit, record, (struct tfs_span){record->data, size}, &when, &err),
            -EBADMSG);
        tfs_edit_release(&edit);
    }
    tfs_blob_unref(record);
    tfs_doc_unref(after);
    tfs_save_close(save);
}
END_TEST

START_TEST(journal_that_is_reopened_goes_on_behind_its_last_whole_record)
{
    struct tfs_journal *journal = create("first");
    struct tfs_journal_text text;

    append(journal, TFS_JOURNAL_EDIT, "torn");
    const uint64_t size = tfs_journal_size(journal);
    tfs_journal_close(journal);
    ck_assert_int_eq(truncate(scratch_path(".save.terrainfs-journal"), (off_t)size - 1), 0);
    ck_assert_int_eq(read_journal(&text), 1);
    ck_assert_uint_eq(text.count, 1);
    ck_assert_int_eq(tfs_journal_reopen(scratch_path("save"), &text, &journal, &err), 0);
    append(journal, TFS_JOURNAL_EDIT, "second");
    tfs_journal_close(journal);
    /* What was read is not what is there any more. */
    ck_assert_int_eq(tfs_journal_reopen(scratch_path("save"), &text, &journal, &err), -ESTALE);
    tfs_error_reset(&err);
    tfs_journal_text_release(&text);
    ck_assert_int_eq(read_journal(&text), 1);
    ck_assert_uint_eq(text.count, 2);
    ck_assert(tfs_span_equal(text.records[1].payload, tfs_span_of("second")));
    tfs_journal_text_release(&text);
}
END_TEST

static Suite *journal_suite(void)
{
    Suite *suite = suite_create("journal");
    TCase *file = unit_case(suite, "file"), *damage = unit_case(suite, "damage");
    TCase *trust = unit_case(suite, "trust"), *records = unit_case(suite, "records");

    tcase_add_checked_fixture(file, journal_setup, scratch_teardown);
    tcase_add_test(file, journal_gives_back_what_was_appended);
    tcase_add_test(file, journal_has_the_permissions_of_its_save);
    tcase_add_test(file, journal_that_is_reopened_goes_on_behind_its_last_whole_record);
    tcase_add_test(file, journal_that_was_read_is_current_while_it_only_grows);
    tcase_add_test(file, record_that_does_not_fit_is_cut_off_again_and_the_next_one_follows);
    tcase_add_test(file, journal_takes_the_place_of_an_older_one);
    tcase_add_test(file, journal_does_not_replace_what_is_no_file);
    tcase_add_test(file, journal_is_removed_and_removing_none_is_no_failure);
    tcase_add_test(file, journal_name_is_cut_where_a_name_would_be_too_long);
    tcase_add_test(file, journals_of_two_saves_whose_names_differ_at_their_long_ends_are_two);
    tcase_add_test(file, journal_knows_which_edits_a_save_lacks);
    tcase_add_checked_fixture(damage, journal_setup, scratch_teardown);
    tcase_add_test(damage, journal_cut_anywhere_gives_the_records_before_the_cut);
    tcase_add_test(damage, journal_cut_in_its_head_is_refused);
    tcase_add_test(damage, journal_with_any_byte_wrong_never_gives_another_record);
    tcase_add_test(damage,
                   journal_with_a_hole_behind_it_is_read_in_no_more_memory_than_its_records);
    tcase_add_test(damage, journal_does_not_take_a_record_of_an_older_one);
    tcase_add_checked_fixture(trust, journal_setup, scratch_teardown);
    tcase_add_loop_test(trust, journal_that_others_could_have_made_is_not_read, 0,
                        sizeof(untrusted) / sizeof(untrusted[0]));
    if (geteuid() == 0) /* only root can make one */
        tcase_add_test(trust, journal_of_another_user_is_not_read);
    tcase_add_checked_fixture(records, reset, NULL);
    tcase_add_test(records, record_leads_from_one_document_to_the_other_and_back);
    tcase_add_test(records, record_with_any_byte_missing_is_refused);
    return suite;
}

UNIT_MAIN(journal_suite)
