/*
 * Drafts on the fake format: what is refused when it is written or closed, what is kept of it, and
 * where appended bytes go.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fs/session/ops.h"
#include "session_case.h"

#define TEXT "chunks/0_0_0/text.txt"
#define NOTE "chunks/1_0_0/part/note.txt"

/* A text of the fake format has letters only. What echo writes is refused before its line end. */
START_TEST(session_refuses_a_line_that_cannot_be_right_when_it_is_written)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 0, "b4d\n"), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(messages, TEXT ":1:6: only letters are allowed"));
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "zerob4d\n");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_int_eq(fake_disk.commits, 0);
}
END_TEST

START_TEST(session_takes_nothing_more_of_a_draft_with_a_refused_write)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "4\n"), -EBADMSG);
    ck_assert_int_eq(write_text(handle, 0, "abc"), -EBADMSG);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert_int_eq(sync_file(handle), -EBADMSG);
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "4\n");
    ck_assert_int_eq(fake_disk.commits, 0);
}
END_TEST

START_TEST(session_takes_a_draft_again_that_was_cut_to_nothing)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    struct stat empty = {0}, some = {.st_size = 1};
    struct answer a;
    struct tfs_attr attr;
    ck_assert_int_eq(write_text(handle, 0, "4\n"), -EBADMSG);
    ck_assert_int_eq(look(TEXT, &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, handle, &some, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), -EBADMSG);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, handle, &empty, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_int_eq(write_text(handle, 0, "good"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "good");
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

/* What later bytes can make good is checked at the close: a line without its end, and lines of who
 * does not write in order. */
START_TEST(session_refuses_no_write_that_can_still_become_right)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "4"), 0);
    ck_assert_int_eq(write_text(handle, 0, "g"), 0);
    ck_assert_int_eq(write_text(handle, 1, "\n"), 0);
    ck_assert_int_eq(write_text(handle, 1, "o"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "go");
}
END_TEST

/* What an append makes is known when it was written: its close need not make it again. */
START_TEST(session_puts_a_text_of_whole_lines_once)
{
    struct tfs_handle *handle = open_path(NOTE, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 0, "x\n"), 0);
    ck_assert_int_eq(flush(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|notex\n");
    ck_assert_int_eq(fake_disk.puts, 1);
    ck_assert_int_eq(write_text(handle, 0, "y\n"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|notex\ny\n");
    ck_assert_int_eq(fake_disk.puts, 2);
}
END_TEST

START_TEST(session_puts_a_text_again_on_what_was_accepted_since_it_was_written)
{
    struct tfs_handle *handle = open_path(NOTE, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 0, "x\n"), 0);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "uno"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "uno|notex\n");
    ck_assert_int_eq(fake_disk.puts, 2);
}
END_TEST

START_TEST(session_puts_a_text_again_that_was_changed_since_it_was_put)
{
    struct tfs_handle *handle = open_path(NOTE, O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "abc\n"), 0);
    ck_assert_int_eq(write_text(handle, 1, "X"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|aXc\n");
}
END_TEST

START_TEST(session_refuses_no_write_in_a_new_directory)
{
    struct tfs_attr attr;
    ck_assert_int_eq(make_directory("chunks/7_0_0", &attr), 0);
    struct tfs_handle *handle = open_path("chunks/7_0_0/text.txt", O_WRONLY | O_CREAT | O_EXCL);
    ck_assert_int_eq(write_text(handle, 0, "4\n"), 0);
    ck_assert_int_eq(close_file(handle), -EBADMSG);
}
END_TEST

/* mkdir chunks/7_0_0; echo -n ... >> chunks/7_0_0/text.txt */
START_TEST(session_appends_to_what_a_new_chunk_holds)
{
    struct tfs_attr attr;
    const char *name;
    struct tfs_handle *handle;
    ck_assert_int_eq(make_directory("chunks/7_0_0", &attr), 0);
    uint64_t parent = parent_of("chunks/7_0_0/text.txt", &name);
    ck_assert_int_eq(
        tfs_session_create(session, parent, name, 0644, 0, 0, O_WRONLY | O_APPEND, &handle, &attr),
        0);
    ck_assert_int_eq(attr.st.st_size, 5);
    ck_assert_int_eq(write_text(handle, 0, "more"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(cat("chunks/7_0_0/text.txt"), "emptymore");
}
END_TEST

START_TEST(session_creates_anew_in_a_new_chunk_for_who_copies)
{
    static const int flags[] = {O_WRONLY | O_EXCL, O_WRONLY | O_TRUNC};
    struct tfs_attr attr;
    const char *name;
    struct tfs_handle *handle;
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof(path), "chunks/%d_0_0/text.txt", 7 + i);
        ck_assert_int_eq(make_directory(i == 0 ? "chunks/7_0_0" : "chunks/8_0_0", &attr), 0);
        uint64_t parent = parent_of(path, &name);
        ck_assert_int_eq(
            tfs_session_create(session, parent, name, 0644, 0, 0, flags[i], &handle, &attr), 0);
        ck_assert_int_eq(attr.st.st_size, 0);
        ck_assert_int_eq(write_text(handle, 0, "copied"), 0);
        ck_assert_int_eq(close_file(handle), 0);
        ck_assert_str_eq(cat(path), "copied");
    }
}
END_TEST

/* Those that a number answers, and that no message says. */
START_TEST(session_logs_every_refusal)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(unlink_path("all.txt"), -EPERM);
    ck_assert_ptr_nonnull(
        strstr(cat(".terrainfs/errors.log"), "all.txt: this name is a fixed one"));
    ck_assert_int_eq(rename_path("chunks", "other"), -EPERM);
    ck_assert_ptr_nonnull(strstr(cat(".terrainfs/errors.log"), "chunks: this name is a fixed one"));
    ck_assert_int_eq(put("scratch", "text"), 0);
    ck_assert_int_eq(rename_path("scratch", "all.txt"), -EACCES);
    ck_assert_int_eq(look("all.txt", &attr), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_WRONLY, 1, &handle, &keep), -EACCES);
    ck_assert_ptr_nonnull(
        strstr(cat(".terrainfs/errors.log"), "all.txt: this file is for reading only"));
    ck_assert_str_eq(messages, "");
    ck_assert_int_eq(unlink_path("nothing"), -ENOENT);
    ck_assert_ptr_null(strstr(cat(".terrainfs/errors.log"), "nothing"));
}
END_TEST

START_TEST(session_logs_what_cannot_be_moved_there)
{
    ck_assert_int_eq(rename_path("chunks/0_0_0", "away"), -EPERM);
    ck_assert_ptr_nonnull(
        strstr(cat(".terrainfs/errors.log"), "chunks/0_0_0: a chunk moves to a coordinate"));
}
END_TEST

START_TEST(session_says_when_something_was_refused)
{
    int year, day, seconds;
    ck_assert_int_eq(unlink_path("all.txt"), -EPERM);
    const char *time = strrchr(cat(".terrainfs/errors.log"), '(');
    ck_assert_ptr_nonnull(time);
    ck_assert_int_eq(sscanf(time, "(%4d-%*2d-%2d %*2d:%*2d:%2d)", &year, &day, &seconds), 3);
    ck_assert_int_ge(year, 2024);
}
END_TEST

static struct tfs_handle *left; /* its close was answered, and nobody told the session of its end */

static void release_left(void)
{
    if (left != NULL)
        tfs_session_release(session, left);
    left = NULL;
}

/* The kernel tells of the last close after close(2) has returned: who opens the file between the
 * two waits for it. */
START_TEST(session_shows_the_accepted_text_as_soon_as_a_close_was_refused)
{
    left = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(left, 0, "no 1 good"), 0);
    ck_assert_int_eq(flush(left), -EBADMSG);
    on_settle = release_left;
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
    on_settle = NULL;
    ck_assert_ptr_null(left);
}
END_TEST

START_TEST(session_gives_the_room_of_a_removed_file_whose_close_has_begun)
{
    static char text[600001];
    memset(text, 'x', sizeof(text) - 1);
    left = open_path("big", O_WRONLY);
    ck_assert_int_eq(write_text(left, 0, text), 0);
    ck_assert_int_eq(unlink_path("big"), 0);
    struct tfs_handle *other = open_path("other", O_WRONLY);
    ck_assert_int_eq(write_text(other, 0, text), -ENOSPC);
    on_settle = release_left;
    ck_assert_int_eq(write_text(other, 0, text), 0);
    on_settle = NULL;
    ck_assert_ptr_null(left);
    tfs_session_release(session, other);
}
END_TEST

/* A copy of the descriptor is open: what is written through it is not ended by others. */
START_TEST(session_shows_a_refused_text_while_its_writer_has_it_open)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "no 1 good"), 0);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "no 1 good");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
}
END_TEST

/* (cat a; cat b) > f: the close between the two sees half a document. */
START_TEST(session_forgets_what_it_kept_when_the_whole_document_is_good)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "1"), 0);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert(exists(".terrainfs/rejected/chunks/0_0_0/text.txt"));
    ck_assert_int_eq(write_text(handle, 0, "good"), 0);
    ck_assert_int_eq(flush(handle), 0);
    ck_assert(!exists(".terrainfs/rejected/chunks"));
    tfs_session_release(session, handle);
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

/* vim writes its backup back when a write fails, before the kernel tells that the first handle is
 * gone. */
START_TEST(session_keeps_a_refused_document_when_the_file_is_opened_again)
{
    struct tfs_handle *refused = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(refused, 0, "1"), 0);
    ck_assert_int_eq(flush(refused), -EBADMSG);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "zero"), 0);
    tfs_session_release(session, refused);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "1");
    ck_assert_int_eq(tfs_session_finish(session), 3);
}
END_TEST

START_TEST(session_forgets_a_refused_document_when_its_file_is_mended)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "no 1 good"), -EBADMSG);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "nor 2"), -EBADMSG);
    ck_assert_int_eq(put("chunks/-2_3_4/text.txt", "3"), -EBADMSG);
    ck_assert_int_eq(sync_directory("chunks"), 0); /* the last closes are through */
    ck_assert_str_eq(list(".terrainfs/rejected/chunks"), ". .. 0_0_0 1_0_0 -2_3_4 ");
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "good"), 0);
    ck_assert_str_eq(list(".terrainfs/rejected/chunks"), ". .. 1_0_0 -2_3_4 ");
    ck_assert_int_eq(put("t", "good"), 0);
    ck_assert_int_eq(rename_path("t", "chunks/1_0_0/text.txt"), 0);
    ck_assert_str_eq(list(".terrainfs/rejected/chunks"), ". .. -2_3_4 ");
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_ptr_nonnull(strstr(messages, "1 refused text is kept in "));
}
END_TEST

START_TEST(session_that_saw_every_refused_document_mended_ends_well)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "no 1 good"), -EBADMSG);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "good"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_ptr_null(tfs_session_left(session));
}
END_TEST

START_TEST(session_keeps_no_empty_document_aside)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(close_file(handle), -EBADMSG);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "filled"), 0);
    ck_assert(!exists(".terrainfs/rejected/chunks"));
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

START_TEST(session_truncate_by_name_is_validated_at_once)
{
    struct tfs_attr attr;
    struct answer a;
    struct stat values = {.st_size = 0};
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &values, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), -EBADMSG);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
    values.st_size = 2;
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &values, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_int_eq(a.attr.st.st_size, 2);
    ck_assert_str_eq(fake_blob(save->doc, 0), "ze");
}
END_TEST

START_TEST(session_pending_document_has_a_cap)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, UINT64_C(1) << 40, "x"), -EFBIG);
    ck_assert_int_eq(close_file(handle), 0);
}
END_TEST

START_TEST(session_append_goes_to_the_end_whatever_the_caller_believes)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 40, "more"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "zeromore");
}
END_TEST

START_TEST(session_open_wants_a_fresh_look_after_the_size_changed)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(look("chunks/0_0_0/raw.bin", &attr), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "longer"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, 1, &handle, &keep), -ESTALE);
    ck_assert_int_eq(look("chunks/0_0_0/raw.bin", &attr), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, 1, &handle, &keep), 0);
    ck_assert(!keep);
    tfs_session_release(session, handle);
}
END_TEST

/* Each replacement gives the name another id. */
START_TEST(session_open_wants_one_fresh_look_however_often_the_file_is_replaced)
{
    struct tfs_attr first, second;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "two"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &first), 0);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "three"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, first.id, O_RDONLY, 2, &handle, &keep),
                     -ESTALE);
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "four"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &second), 0);
    ck_assert_uint_ne(second.id, first.id);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "sixsix"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, second.id, O_RDONLY, 2, &handle, &keep), 0);
    ck_assert_str_eq(text_of_handle(handle, second.id), "sixsix");
    tfs_session_release(session, handle);
}
END_TEST

START_TEST(session_mtime_moves_with_the_content_only)
{
    struct tfs_attr before, after, other;
    ck_assert_int_eq(look("chunks/1_0_0/raw.bin", &before), 0);
    ck_assert_int_eq(look("chunks/1_0_0/part/note.txt", &other), 0);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "uno"), 0);
    ck_assert_int_eq(look("chunks/1_0_0/raw.bin", &after), 0);
    ck_assert_int_ne(after.st.st_mtim.tv_nsec, before.st.st_mtim.tv_nsec);
    ck_assert_int_eq(look("chunks/1_0_0/part/note.txt", &after), 0);
    ck_assert_int_eq(after.st.st_mtim.tv_sec, other.st.st_mtim.tv_sec);
}
END_TEST

/* ---- pages of a mapping ---- */

static struct {
    struct tfs_handle *handle;
    uint64_t id;
    int result;
    bool dirty, mapped;
} page;

/* The kernel writes a dirty page back before it drops it. */
static void drop_page(uint64_t id)
{
    if (id != page.id || !page.dirty)
        return;
    page.dirty = false;
    page.result = page.mapped
                      ? tfs_session_write(session, page.handle, 0, 0, tfs_span_of("qqqq"), true)
                      : write_text(page.handle, 0, "q");
}

static void map_text(void)
{
    struct tfs_attr attr;
    tfs_session_close(session);
    on_invalidate = drop_page;
    open_save_with(fake_save_create(), (struct tfs_session_options){0});
    ck_assert_int_eq(look(TEXT, &attr), 0);
    page.id = attr.id;
    page.handle = open_path(TEXT, O_RDWR);
    page.result = 1;
    page.dirty = page.mapped = true;
}

START_TEST(session_takes_no_mapped_page_that_another_view_overtook)
{
    map_text();
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "muchlonger"), 0);
    ck_assert_int_eq(page.result, 0);
    ck_assert_int_eq(sync_file(page.handle), -ESTALE);
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "qqqqlonger");
    ck_assert_ptr_nonnull(strstr(messages, TEXT ": another file or program changed"));
    ck_assert_int_eq(close_file(page.handle), -ESTALE);
    ck_assert_str_eq(cat(TEXT), "muchlonger");
    ck_assert_str_eq(fake_blob(save->doc, 0), "muchlonger");
}
END_TEST

/* Whoever cuts the file to nothing begins anew; what the mapping said is kept, and its program
 * hears of it. */
START_TEST(session_keeps_what_was_overtaken_when_the_file_is_cut)
{
    map_text();
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "muchlonger"), 0);
    ck_assert_int_eq(put(TEXT, "anew"), 0);
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "qqqqlonger");
    ck_assert_ptr_nonnull(strstr(messages, TEXT ": another file or program changed"));
    ck_assert_int_eq(close_file(page.handle), -ESTALE);
    ck_assert_str_eq(fake_blob(save->doc, 0), "anew");
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "qqqqlonger");
}
END_TEST

static struct tfs_handle *second;

static void begin_anew(void)
{
    struct stat empty = {0};
    struct answer a;

    answer_init(&a);
    tfs_session_setattr(session, page.id, second, &empty, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_int_eq(write_text(second, 0, "good"), 0);
}

/* While a line is looked at the file is cut, and written anew by somebody else. */
START_TEST(session_refuses_a_line_and_not_what_took_its_place)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look(TEXT, &attr), 0);
    page.id = attr.id;
    struct tfs_handle *first = open_path(TEXT, O_WRONLY | O_TRUNC);
    second = open_path(TEXT, O_WRONLY);
    fake_disk.during[FAKE_PUT] = begin_anew;
    ck_assert_int_eq(write_text(first, 0, "4\n5\n"), -EBADMSG);
    ck_assert_int_eq(close_file(second), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "good");
    tfs_session_release(session, first);
}
END_TEST

/* All that the kernel has of the file is what it shows. */
START_TEST(session_takes_a_mapped_page_that_was_read_since)
{
    map_text();
    page.dirty = false;
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "longer"), 0);
    ck_assert_int_eq(tfs_session_write(session, page.handle, 0, 0, tfs_span_of("qqqqer"), true), 0);
    ck_assert_int_eq(close_file(page.handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "qqqqer");
}
END_TEST

/* What was read, and dropped with a page that says something else since, is not the same. */
START_TEST(session_takes_no_mapped_page_of_a_text_that_it_read_and_another_view_overtook)
{
    map_text();
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "muchlonger"), 0);
    ck_assert_int_eq(page.result, 0);
    ck_assert_ptr_nonnull(strstr(messages, TEXT ": another file or program changed"));
    ck_assert_int_eq(close_file(page.handle), -ESTALE);
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "qqqqlonger");
    ck_assert_str_eq(cat(TEXT), "muchlonger");
}
END_TEST

START_TEST(session_takes_a_mapped_page_that_came_before_the_other_view)
{
    map_text();
    drop_page(page.id);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "longer"), 0);
    page.dirty = true;
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "muchlonger"), 0);
    ck_assert_int_eq(page.result, 0);
    ck_assert_int_eq(close_file(page.handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "qqqq");
}
END_TEST

/* What ended with a reader about does not count: the next writer's pages are new. */
START_TEST(session_takes_a_mapped_page_of_who_opened_the_file_since)
{
    map_text();
    page.dirty = false;
    struct tfs_handle *reader = open_path(TEXT, O_RDONLY);
    ck_assert_int_eq(put(TEXT, "cut"), 0);
    ck_assert_int_eq(close_file(page.handle), 0);
    ck_assert_int_eq(put(TEXT, "once"), 0);
    struct tfs_handle *next = open_path(TEXT, O_RDWR);
    ck_assert_int_eq(tfs_session_write(session, next, 0, 0, tfs_span_of("qq"), true), 0);
    ck_assert_int_eq(close_file(next), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "qqce");
    tfs_session_release(session, reader);
}
END_TEST

START_TEST(session_takes_what_is_written_while_pages_are_dropped)
{
    map_text();
    page.mapped = false;
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "longer"), 0);
    ck_assert_int_eq(page.result, 0);
    ck_assert_int_eq(close_file(page.handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "qonger");
}
END_TEST

static const TTest *const *const tests[] = {
    &session_takes_no_mapped_page_that_another_view_overtook,
    &session_keeps_what_was_overtaken_when_the_file_is_cut,
    &session_refuses_a_line_and_not_what_took_its_place,
    &session_takes_a_mapped_page_that_was_read_since,
    &session_takes_no_mapped_page_of_a_text_that_it_read_and_another_view_overtook,
    &session_takes_a_mapped_page_that_came_before_the_other_view,
    &session_takes_a_mapped_page_of_who_opened_the_file_since,
    &session_takes_what_is_written_while_pages_are_dropped,
    &session_refuses_a_line_that_cannot_be_right_when_it_is_written,
    &session_takes_nothing_more_of_a_draft_with_a_refused_write,
    &session_takes_a_draft_again_that_was_cut_to_nothing,
    &session_refuses_no_write_that_can_still_become_right,
    &session_puts_a_text_of_whole_lines_once,
    &session_puts_a_text_again_on_what_was_accepted_since_it_was_written,
    &session_puts_a_text_again_that_was_changed_since_it_was_put,
    &session_refuses_no_write_in_a_new_directory,
    &session_appends_to_what_a_new_chunk_holds,
    &session_creates_anew_in_a_new_chunk_for_who_copies,
    &session_logs_every_refusal,
    &session_logs_what_cannot_be_moved_there,
    &session_says_when_something_was_refused,
    &session_shows_the_accepted_text_as_soon_as_a_close_was_refused,
    &session_shows_a_refused_text_while_its_writer_has_it_open,
    &session_gives_the_room_of_a_removed_file_whose_close_has_begun,
    &session_forgets_a_refused_document_when_its_file_is_mended,
    &session_that_saw_every_refused_document_mended_ends_well,
    &session_keeps_no_empty_document_aside,
    &session_keeps_a_refused_document_when_the_file_is_opened_again,
    &session_forgets_what_it_kept_when_the_whole_document_is_good,
    &session_truncate_by_name_is_validated_at_once,
    &session_pending_document_has_a_cap,
    &session_append_goes_to_the_end_whatever_the_caller_believes,
    &session_open_wants_a_fresh_look_after_the_size_changed,
    &session_open_wants_one_fresh_look_however_often_the_file_is_replaced,
    &session_mtime_moves_with_the_content_only,
};

static Suite *suite(void)
{
    Suite *s = suite_create("session drafts");

    session_case(s, tests, sizeof(tests) / sizeof(tests[0]));
    return s;
}

UNIT_MAIN(suite)
