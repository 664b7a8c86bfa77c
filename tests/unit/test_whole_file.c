/* formats/whole_file: a toy format of one file, from opening to what others do to the file
 * meanwhile. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "formats/cells/cells.h"
#include "formats/views/info.h"
#include "formats/containers/file.h"
#include "no_pauses.h"
#include "scratch.h"

/*
 * The toy format: "TOY\n", then a line `X VALUE` for each chunk X_0_0, and maybe `part VALUE`.
 * Values that begin with `!` make the codec misbehave as its functions below say.
 */

static struct tfs_error err;
static int committed_calls;
static bool committed_fails;

static int toy_add(struct tfs_edit *edit, struct tfs_facts *facts, const char *word,
                   const char *value, struct tfs_error *e)
{
    struct tfs_chunk chunk = {.slot = TFS_SLOT_NONE, .key.x = atoi(word)};
    struct tfs_blob *blob = NULL;

    if (strcmp(value, "!damaged") == 0) {
        chunk.flags = TFS_CHUNK_DAMAGED;
        tfs_facts_note(facts, e, TFS_NOTE_DAMAGED, "chunk %s_0_0 at byte 4 is bad", word);
    }
    if (strcmp(value, "!frozen") == 0)
        tfs_facts_note(facts, e, TFS_NOTE_READ_ONLY, "it is of a kind that cannot be written");
    if (tfs_blob_copy(tfs_span_of(value), &blob, e) < 0)
        return e->code;
    chunk.blob = blob;
    if (strcmp(word, "part") == 0)
        tfs_edit_common(edit, blob);
    else
        tfs_edit_put(edit, &chunk, e);
    tfs_blob_unref(blob);
    return e->code;
}

static int toy_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                      struct tfs_error *e)
{
    struct tfs_facts *facts = NULL;
    struct tfs_doc *base = NULL;
    struct tfs_edit edit;
    char *text = strndup((const char *)bytes->data, bytes->size), *word, *rest = text;

    (void)save;
    ck_assert_int_eq(tfs_facts_create(0, &facts, e), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &base, e), 0);
    ck_assert_int_eq(tfs_edit_open(base, &edit, e), 0);
    if (strncmp(text, "TOY\n", 4) != 0)
        tfs_fail(e, -EBADMSG, "offset 0: this is not a toy");
    strtok_r(text, " \n", &rest);
    while (e->code == 0 && (word = strtok_r(NULL, " \n", &rest)) != NULL)
        toy_add(&edit, facts, word, strtok_r(NULL, " \n", &rest), e);
    if (e->code == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_doc_unref(base);
    tfs_facts_unref(facts);
    free(text);
    return e->code;
}

static bool blob_is(const struct tfs_blob *blob, const char *text)
{
    return tfs_span_equal(tfs_blob_span(blob), tfs_span_of(text));
}

static int toy_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                      struct tfs_error *e)
{
    struct tfs_buf out = {0};

    (void)save;
    tfs_buf_add_text(&out, "TOY\n");
    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        if (blob_is(chunk->blob, "!stop"))
            tfs_fail(e, -EINVAL, "a toy cannot hold !stop");
        if (blob_is(chunk->blob, "!garbage"))
            tfs_buf_clear(&out);
        if (blob_is(chunk->blob, "!lost"))
            continue;
        if (blob_is(chunk->blob, "!twin"))
            tfs_buf_add_text(&out, "999 twin\n");
        tfs_buf_printf(&out, "%d %.*s%s\n", chunk->key.x, (int)chunk->blob->size,
                       (const char *)chunk->blob->data,
                       blob_is(chunk->blob, "!longer") ? "er" : "");
    }
    if (doc->common != NULL && !blob_is(doc->common, "!lost"))
        tfs_buf_printf(&out, "part %.*s\n", (int)doc->common->size,
                       (const char *)doc->common->data);
    if (e->code == 0)
        tfs_sink_span(sink, tfs_buf_span(&out), e);
    tfs_buf_release(&out);
    return e->code;
}

static int toy_committed(struct tfs_save *save, const struct tfs_doc *before,
                         const struct tfs_doc *after, struct tfs_error *e)
{
    ck_assert_ptr_eq(save->doc, after);
    ck_assert_ptr_ne(before, after);
    committed_calls++;
    return committed_fails ? tfs_fail(e, -EIO, "the sidecar could not be written") : 0;
}

static int toy_cells_decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *e)
{
    (void)wanted;
    if (blob_is(cells->stored, "!bad"))
        return tfs_fail(e, -EBADMSG, "chunk %d_0_0 makes no sense", cells->chunk.key.x);
    return 0;
}

static const struct tfs_cells_kind toy_cells = {.decode = toy_cells_decode};
static const struct tfs_tree toy_tree = {.cells = &toy_cells};
static const struct tfs_file_codec toy_codec = {
    .decode = toy_decode, .encode = toy_encode, .committed = toy_committed};
static const struct tfs_container toy = {
    .format = "toy",
    .name = "toy file",
    .tree = &toy_tree,
    TFS_WHOLE_FILE(&toy_codec),
};

/* ---- a save in the scratch directory --------------------------------------------------------- */

static char save_path[PATH_MAX];
static struct tfs_save save;

static int save_open(enum tfs_lock lock)
{
    tfs_error_reset(&err);
    snprintf(save_path, sizeof(save_path), "%s", scratch_path("save"));
    save = (struct tfs_save){.container = &toy,
                             .tree = &toy_tree,
                             .path = save_path,
                             .name = "save",
                             .options = {.lock = lock, .inflate_limit = 1000}};
    return toy.open(&save, &err);
}

/* Opens a save of that content for writing. */
static void open_with(const char *text)
{
    scratch_write("save", text);
    ck_assert_msg(save_open(TFS_LOCK_EXCLUSIVE) == 0, "%s", err.text);
}

static void save_close(void)
{
    toy.close(&save);
    tfs_save_reasons_release(&save);
    tfs_doc_unref(save.doc);
    save.doc = NULL;
}

static const struct tfs_blob *value_at(const struct tfs_doc *doc, int32_t x)
{
    const struct tfs_chunk *chunk = tfs_doc_find(doc, (struct tfs_key){.x = x});

    ck_assert_ptr_nonnull(chunk);
    return chunk->blob;
}

/* save.doc with chunk x set to value; or with the part, for x < 0. */
static struct tfs_doc *doc_with(int32_t x, const char *value)
{
    struct tfs_chunk chunk = {.slot = TFS_SLOT_NONE, .key.x = x};
    struct tfs_error ignored = {0};
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_blob_copy(tfs_span_of(value), &chunk.blob, &ignored), 0);
    ck_assert_int_eq(tfs_edit_open(save.doc, &edit, &ignored), 0);
    if (x < 0)
        tfs_edit_common(&edit, chunk.blob);
    else
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &ignored), 0);
    tfs_blob_unref(chunk.blob);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return doc;
}

static int commit_with(int32_t x, const char *value)
{
    struct tfs_doc *doc = doc_with(x, value);

    tfs_error_reset(&err);
    int code = toy.commit(&save, doc, &err);
    ck_assert_int_eq(code, err.code);
    if (code == 0)
        ck_assert_ptr_eq(save.doc, doc);
    tfs_doc_unref(doc);
    return code;
}

/* ---- opening --------------------------------------------------------------------------------- */

START_TEST(whole_file_opens_and_closes)
{
    open_with("TOY\n3 c\n-1 a\n");
    ck_assert_uint_eq(save.doc->count, 2);
    ck_assert(blob_is(value_at(save.doc, -1), "a"));
    ck_assert_ptr_null(save.read_only);
    ck_assert_int_eq(save.st.st_size, 13);
    ck_assert_int_eq(toy.changed(&save, NULL, &err), 0);
    save_close();
}
END_TEST

START_TEST(whole_file_that_does_not_decode_is_refused_and_unlocked)
{
    scratch_write("save", "DOG\n");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(save_open(TFS_LOCK_EXCLUSIVE), -EBADMSG);
        ck_assert_str_eq(err.text, "offset 0: this is not a toy");
        ck_assert_ptr_null(save.doc);
    }
}
END_TEST

START_TEST(whole_file_over_the_limit_is_refused)
{
    char text[1100];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    scratch_write("save", text);
    ck_assert_int_eq(save_open(TFS_LOCK_EXCLUSIVE), -EFBIG);
}
END_TEST

static void open_in_child(void)
{
    if (save_open(TFS_LOCK_EXCLUSIVE) < 0)
        _exit(2);
}

START_TEST(whole_file_open_in_another_process_can_only_be_read)
{
    scratch_write("save", "TOY\n1 a\n");
    struct scratch_child child = scratch_child_start(open_in_child);
    ck_assert_int_eq(save_open(TFS_LOCK_EXCLUSIVE), -EWOULDBLOCK);
    ck_assert_int_eq(save_open(TFS_LOCK_NONE), 0);
    ck_assert_int_eq(commit_with(1, "b"), -EROFS);
    ck_assert_str_eq(scratch_read("save"), "TOY\n1 a\n");
    save_close();
    scratch_child_end(child);
    ck_assert_int_eq(save_open(TFS_LOCK_EXCLUSIVE), 0);
    save_close();
}
END_TEST

START_TEST(whole_file_removes_strays_only_under_the_lock)
{
    scratch_write("save", "TOY\n1 a\n");
    scratch_write(".save.terrainfs-abcdef", "half");
    scratch_write("..save.terrainfs-journal.terrainfs-abcdef", "half of a journal");
    ck_assert_int_eq(save_open(TFS_LOCK_NONE), 0);
    ck_assert_int_eq(scratch_count(), 3);
    save_close();
    ck_assert_int_eq(save_open(TFS_LOCK_EXCLUSIVE), 0);
    ck_assert_int_eq(scratch_count(), 1);
    save_close();
}
END_TEST

START_TEST(whole_file_damaged_or_frozen_is_read_only_and_says_why)
{
    const struct {
        const char *text, *why;
    } cases[] = {
        {"TOY\n1 a\n2 !damaged\n", "it is damaged: chunk 2_0_0 at byte 4 is bad"},
        {"TOY\n1 !frozen\n", "it is of a kind that cannot be written"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (enum tfs_lock lock = TFS_LOCK_NONE; lock <= TFS_LOCK_EXCLUSIVE; lock++) {
            scratch_write("save", cases[i].text);
            ck_assert_int_eq(save_open(lock), 0);
            ck_assert_str_eq(save.read_only, cases[i].why);
            ck_assert_int_eq(commit_with(1, "b"), -EROFS);
            ck_assert_str_eq(scratch_read("save"), cases[i].text);
            save_close();
        }
}
END_TEST

START_TEST(whole_file_that_cannot_be_replaced_is_read_only)
{
    scratch_write("save", "TOY\n1 a\n");
    ck_assert_int_eq(chmod(scratch_path("save"), 0444), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    ck_assert_int_eq(save_open(TFS_LOCK_EXCLUSIVE), 0);
    ck_assert_ptr_nonnull(strstr(save.read_only, "write-protected"));
    ck_assert_int_eq(commit_with(1, "b"), -EROFS);
    save_close();
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* ---- the hash of what a save holds ----------------------------------------------------------- */

static struct tfs_hash told;
static int tell_result;
static char *held; /* what was in the file when the hash of the next one was told */

static int tell(void *arg, struct tfs_key file, struct tfs_hash hash, bool whole,
                struct tfs_error *why)
{
    (void)arg;
    (void)file;
    ck_assert(whole);
    told = hash;
    held = strdup(scratch_read("save"));
    return tell_result < 0 ? tfs_fail(why, tell_result, "nobody hears it") : 0;
}

static int hash_save(struct tfs_hash *hash)
{
    struct stat st;

    return toy.journal->hash(&save, (struct tfs_key){0}, hash, &st, &err);
}

START_TEST(whole_file_stays_that_cannot_tell_the_hash_of_the_new_one)
{
    open_with("TOY\n1 a\n");
    save.rewrite = (struct tfs_rewrite){.wrote = tell};
    tell_result = -EIO;
    ck_assert_int_eq(commit_with(1, "b"), -EIO);
    free(held);
    ck_assert_str_eq(scratch_read("save"), "TOY\n1 a\n");
    save_close();
}
END_TEST

START_TEST(whole_file_tells_the_hash_of_the_new_file_while_the_old_one_is_in_place)
{
    struct tfs_hash hash;

    open_with("TOY\n1 a\n");
    save.rewrite = (struct tfs_rewrite){.wrote = tell};
    ck_assert_int_eq(commit_with(1, "b"), 0);
    ck_assert_str_eq(held, "TOY\n1 a\n");
    free(held);
    ck_assert(tfs_hash_equal(told, tfs_hash_of(tfs_span_of("TOY\n1 b\n"))));
    ck_assert_int_eq(hash_save(&hash), 0);
    ck_assert(tfs_hash_equal(told, hash));
    scratch_write("save", "TOY\n1 c\n");
    ck_assert_int_eq(hash_save(&hash), -ESTALE);
    save_close();
}
END_TEST

/* ---- committing ------------------------------------------------------------------------------ */

START_TEST(whole_file_commits_one_document_after_another)
{
    open_with("TOY\n1 a\n");
    committed_calls = 0;
    ck_assert_msg(commit_with(2, "b") == 0, "%s", err.text);
    ck_assert_str_eq(scratch_read("save"), "TOY\n1 a\n2 b\n");
    ck_assert_int_eq(commit_with(1, "c"), 0);
    ck_assert_int_eq(commit_with(-1, "p"), 0);
    ck_assert_str_eq(scratch_read("save"), "TOY\n1 c\n2 b\npart p\n");
    ck_assert_int_eq(committed_calls, 3);
    ck_assert_int_eq(toy.changed(&save, NULL, &err), 0);
    ck_assert_int_eq(save.st.st_size, 19);
    ck_assert_int_eq(scratch_count(), 1);
    save_close();
}
END_TEST

static int refused_code;

static void try_writing_in_child(void)
{
    refused_code = save_open(TFS_LOCK_EXCLUSIVE);
    if (refused_code != -EWOULDBLOCK)
        _exit(2);
}

START_TEST(whole_file_stays_locked_after_a_commit)
{
    open_with("TOY\n1 a\n");
    ck_assert_int_eq(commit_with(2, "b"), 0);
    scratch_child_end(scratch_child_start(try_writing_in_child));
    save_close();
}
END_TEST

START_TEST(whole_file_whose_new_bytes_do_not_say_the_same_is_not_replaced)
{
    const struct {
        int32_t x;
        const char *value;
        int code;
        const char *sentence;
    } cases[] = {
        {2, "!stop", -EINVAL, "a toy cannot hold !stop"},
        {2, "!garbage", -EIO,
         "the save does not read back as it was written: offset 0: this is not a toy"},
        {2, "!lost", -EIO, "the save does not read back as it was written: chunk 2_0_0 is missing"},
        {2, "!twin", -EIO,
         "the save does not read back as it was written: chunk 999_0_0 was not there before"},
        {2, "!longer", -EIO,
         "the save does not read back as it was written: chunk 2_0_0 is another one"},
        {2, "!bad", -EIO,
         "the save does not read back as it was written: chunk 2_0_0 makes no sense"},
        {2, "!damaged", -EIO,
         "the save does not read back as it was written: chunk 2_0_0 is another one"},
        {-1, "!lost", -EIO,
         "the save does not read back as it was written: "
         "what belongs to the whole save is another thing"},
    };

    open_with("TOY\n1 a\n");
    struct tfs_doc *before = save.doc;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(commit_with(cases[i].x, cases[i].value), cases[i].code);
        ck_assert_str_eq(err.text, cases[i].sentence);
        ck_assert_ptr_eq(save.doc, before);
        ck_assert_str_eq(scratch_read("save"), "TOY\n1 a\n");
        ck_assert_int_eq(scratch_count(), 1);
    }
    ck_assert_int_eq(commit_with(2, "fine"), 0);
    save_close();
}
END_TEST

/* A chunk that was bad before is not checked again when another one is written. */
START_TEST(whole_file_checks_only_what_changed)
{
    open_with("TOY\n1 !bad\n2 b\n");
    ck_assert_msg(commit_with(2, "c") == 0, "%s", err.text);
    save_close();
}
END_TEST

START_TEST(whole_file_that_cannot_be_written_keeps_the_edit_for_the_next_try)
{
    struct rlimit limit, low;

    open_with("TOY\n1 a\n");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = (struct rlimit){10, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    int code = commit_with(2, "b");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(code, -EDQUOT);
    ck_assert_str_eq(scratch_read("save"), "TOY\n1 a\n");
    ck_assert_int_eq(scratch_count(), 1);
    ck_assert_int_eq(commit_with(2, "b"), 0);
    ck_assert_str_eq(scratch_read("save"), "TOY\n1 a\n2 b\n");
    save_close();
}
END_TEST

START_TEST(whole_file_whose_sidecar_fails_tells_and_holds_the_new_document)
{
    open_with("TOY\n1 a\n");
    committed_fails = true;
    ck_assert_int_eq(commit_with(1, "b"), -EIO);
    committed_fails = false;
    ck_assert(blob_is(value_at(save.doc, 1), "b"));
    ck_assert_str_eq(scratch_read("save"), "TOY\n1 b\n");
    ck_assert_int_eq(toy.changed(&save, NULL, &err), 0);
    save_close();
}
END_TEST

/* ---- others write the file ------------------------------------------------------------------- */

START_TEST(whole_file_changed_outside_is_stale_until_reloaded)
{
    void (*const ways[])(const char *, const char *) = {scratch_write, scratch_replace};

    for (size_t i = 0; i < 2; i++) {
        open_with("TOY\n1 a\n2 b\n");
        uint32_t slot = tfs_doc_find(save.doc, (struct tfs_key){.x = 2})->slot;
        ways[i]("save", "TOY\n0 new\n2 theirs\n");
        ck_assert_int_eq(toy.changed(&save, NULL, &err), 1);
        ck_assert_int_eq(commit_with(1, "ours"), -ESTALE);
        ck_assert_str_eq(scratch_read("save"), "TOY\n0 new\n2 theirs\n");

        tfs_error_reset(&err);
        ck_assert_msg(toy.reload(&save, &err) == 0, "%s", err.text);
        ck_assert_int_eq(toy.changed(&save, NULL, &err), 0);
        ck_assert(blob_is(value_at(save.doc, 2), "theirs"));
        ck_assert_uint_eq(tfs_doc_find(save.doc, (struct tfs_key){.x = 2})->slot, slot);
        ck_assert_uint_ge(tfs_doc_find(save.doc, (struct tfs_key){.x = 0})->slot, 2);
        scratch_child_end(scratch_child_start(try_writing_in_child)); /* locked again */
        ck_assert_int_eq(commit_with(1, "ours"), 0);
        ck_assert_str_eq(scratch_read("save"), "TOY\n0 new\n1 ours\n2 theirs\n");
        ck_assert_int_eq(scratch_count(), 1);
        save_close();
    }
}
END_TEST

START_TEST(whole_file_that_cannot_be_reloaded_keeps_what_it_had)
{
    void (*const ways[])(const char *, const char *) = {scratch_write, scratch_replace};

    for (size_t i = 0; i < 3; i++) {
        open_with("TOY\n1 a\n");
        struct tfs_doc *before = save.doc;
        if (i < 2)
            ways[i]("save", "cut");
        else
            ck_assert_int_eq(unlink(scratch_path("save")), 0);
        ck_assert_int_eq(toy.reload(&save, &err), i < 2 ? -EBADMSG : -ENOENT);
        ck_assert_ptr_eq(save.doc, before);
        tfs_error_reset(&err);
        ck_assert_int_eq(toy.changed(&save, NULL, &err), 1);
        ck_assert_int_eq(commit_with(1, "ours"), -ESTALE);

        scratch_write("save", "TOY\n1 mended\n");
        tfs_error_reset(&err);
        ck_assert_msg(toy.reload(&save, &err) == 0, "%s", err.text);
        ck_assert(blob_is(value_at(save.doc, 1), "mended"));
        save_close();
    }
}
END_TEST

START_TEST(whole_file_damaged_outside_becomes_read_only_until_it_is_mended)
{
    open_with("TOY\n1 a\n");
    scratch_replace("save", "TOY\n1 !damaged\n");
    ck_assert_int_eq(toy.reload(&save, &err), 0);
    ck_assert_int_eq(commit_with(1, "ours"), -EROFS);
    scratch_replace("save", "TOY\n1 mended\n");
    tfs_error_reset(&err);
    ck_assert_int_eq(toy.reload(&save, &err), 0);
    ck_assert_int_eq(commit_with(1, "ours"), 0);
    save_close();
}
END_TEST

/* ---- info.txt -------------------------------------------------------------------------------- */

static void add_version(struct tfs_buf *out, struct tfs_save *of, const struct tfs_doc *doc,
                        struct tfs_error *e)
{
    (void)of;
    (void)doc;
    (void)e;
    tfs_info_line(out, "version", "%d,\n%s", 3, "on one line\x1b[2J");
}

START_TEST(info_names_format_bounds_and_notes)
{
    const struct tfs_info_lines lines = {add_version}, none = {NULL};
    struct tfs_at at = {.param = &lines};
    struct tfs_buf out = {0};

    open_with("TOY\n4 a\n-7 !damaged\n");
    ck_assert_int_eq(tfs_info_get(&save, save.doc, at, &out, &err), 0);
    tfs_buf_u8(&out, '\0');
    ck_assert_str_eq((const char *)out.data,
                     "format: toy\n"
                     "container: toy file\n"
                     "chunks: 2\n"
                     "bounds: -7 0 0 .. 4 0 0\n"
                     "version: 3,\\non one line\\x1b[2J\n"
                     "read-only: it is damaged: chunk -7_0_0 at byte 4 is bad\n"
                     "damaged: chunk -7_0_0 at byte 4 is bad\n");
    tfs_buf_release(&out);
    save_close();

    open_with("TOY\n");
    at.param = &none;
    ck_assert_int_eq(tfs_info_get(&save, save.doc, at, &out, &err), 0);
    tfs_buf_u8(&out, '\0');
    ck_assert_str_eq((const char *)out.data, "format: toy\ncontainer: toy file\nchunks: 0\n"
                                             "bounds: none\nread-only: no\n");
    tfs_buf_release(&out);
    save_close();
}
END_TEST

static Suite *whole_file_suite(void)
{
    Suite *suite = suite_create("whole_file");
    TCase *opening = unit_case(suite, "opening");
    TCase *committing = unit_case(suite, "committing");
    TCase *outside = unit_case(suite, "outside");

    tcase_add_checked_fixture(opening, scratch_setup, scratch_teardown);
    tcase_add_checked_fixture(committing, scratch_setup, scratch_teardown);
    tcase_add_checked_fixture(outside, scratch_setup, scratch_teardown);
    tcase_add_test(opening, whole_file_opens_and_closes);
    tcase_add_test(opening, whole_file_that_does_not_decode_is_refused_and_unlocked);
    tcase_add_test(opening, whole_file_over_the_limit_is_refused);
    tcase_add_test(opening, whole_file_open_in_another_process_can_only_be_read);
    tcase_add_test(opening, whole_file_removes_strays_only_under_the_lock);
    tcase_add_test(opening, whole_file_damaged_or_frozen_is_read_only_and_says_why);
    tcase_add_test(opening, whole_file_that_cannot_be_replaced_is_read_only);
    tcase_add_test(opening, info_names_format_bounds_and_notes);
    tcase_add_test(committing, whole_file_commits_one_document_after_another);
    tcase_add_test(committing, whole_file_stays_locked_after_a_commit);
    tcase_add_test(committing, whole_file_whose_new_bytes_do_not_say_the_same_is_not_replaced);
    tcase_add_test(committing, whole_file_checks_only_what_changed);
    tcase_add_test(committing, whole_file_that_cannot_be_written_keeps_the_edit_for_the_next_try);
    tcase_add_test(committing, whole_file_whose_sidecar_fails_tells_and_holds_the_new_document);
    tcase_add_test(committing, whole_file_stays_that_cannot_tell_the_hash_of_the_new_one);
    tcase_add_test(committing,
                   whole_file_tells_the_hash_of_the_new_file_while_the_old_one_is_in_place);
    tcase_add_test(outside, whole_file_changed_outside_is_stale_until_reloaded);
    tcase_add_test(outside, whole_file_that_cannot_be_reloaded_keeps_what_it_had);
    tcase_add_test(outside, whole_file_damaged_outside_becomes_read_only_until_it_is_mended);
    return suite;
}

UNIT_MAIN(whole_file_suite)
