/* kept_times: chunks keep their times over mounts, and a state file that is wrong in any way is not
 * believed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "fs/tree/kept_times.h"
#include "unit.h"

static char directory[] = "/tmp/tfs-kept-XXXXXX";
static char path[] = "/saves/world";
static const struct tfs_container container = {.format = "toy"};
static struct tfs_save save = {.container = &container, .path = path};
static struct tfs_kept_times kept;

static const struct timespec first = {1000, 999999999}, second = {-5, 7}, none = {1, 1};

/* A document with chunks 0,0,0 to 0,0,count-1 whose bytes are letters from `letter` on, and a name
 * table. */
static struct tfs_doc *make_doc(int count, char letter, const char *names)
{
    struct tfs_error err = {0};
    struct tfs_facts *facts;
    struct tfs_doc *empty, *doc;
    struct tfs_blob *part;
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_facts_create(0, &facts, &err), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &empty, &err), 0);
    ck_assert_int_eq(tfs_edit_open(empty, &edit, &err), 0);
    for (int i = 0; i < count; i++) {
        const uint8_t byte = (uint8_t)(letter + i);
        struct tfs_chunk chunk = {.key = {0, 0, 0, i}, .slot = TFS_SLOT_NONE};
        ck_assert_int_eq(tfs_blob_copy((struct tfs_span){&byte, 1}, &chunk.blob, &err), 0);
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
        tfs_blob_unref(chunk.blob);
    }
    ck_assert_int_eq(tfs_blob_copy(tfs_span_of(names), &part, &err), 0);
    tfs_edit_common(&edit, part);
    doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_blob_unref(part);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
    return doc;
}

static void setup(void)
{
    strcpy(directory, "/tmp/tfs-kept-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(setenv("XDG_STATE_HOME", directory, 1), 0);
    tfs_kept_times_open(&kept, &save);
    ck_assert_uint_eq(kept.count, 0);
}

static void teardown(void)
{
    char command[100];

    tfs_kept_times_release(&kept);
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

/* Notes every chunk of the document, as a mount does when it ends; the next one begins. */
static void keep(const struct tfs_doc *doc, struct timespec mtime, struct timespec ctime)
{
    for (size_t i = 0; i < doc->count; i++)
        tfs_kept_times_note(&kept, &save, doc, tfs_doc_at(doc, i), mtime, ctime);
    tfs_kept_times_write(&kept);
    tfs_kept_times_release(&kept);
    tfs_kept_times_open(&kept, &save);
}

static bool finds(const struct tfs_doc *doc, size_t i, struct timespec mtime, struct timespec ctime)
{
    struct timespec m = none, c = none;
    bool found = tfs_kept_times_find(&kept, &save, doc, tfs_doc_at(doc, i), &m, &c);

    ck_assert(found || (m.tv_sec == none.tv_sec && c.tv_sec == none.tv_sec));
    return found && memcmp(&m, &mtime, sizeof(m)) == 0 && memcmp(&c, &ctime, sizeof(c)) == 0;
}

START_TEST(kept_times_are_those_of_chunks_with_the_same_bytes)
{
    struct tfs_doc *doc = make_doc(3, 'a', "names"), *other = make_doc(4, 'b', "names");

    keep(doc, first, second);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(finds(doc, i, first, second));
        ck_assert(!finds(other, i, first, second));
    }
    ck_assert(!finds(other, 3, first, second));
    tfs_doc_unref(doc);
    tfs_doc_unref(other);
}
END_TEST

START_TEST(kept_times_go_with_what_all_texts_depend_on)
{
    struct tfs_doc *doc = make_doc(1, 'a', "names"), *renamed = make_doc(1, 'a', "other");

    keep(doc, first, second);
    ck_assert(!finds(renamed, 0, first, second));
    ck_assert(finds(doc, 0, first, second));
    tfs_doc_unref(doc);
    tfs_doc_unref(renamed);
}
END_TEST

START_TEST(kept_times_stay_of_chunks_that_nobody_looked_at)
{
    struct tfs_doc *three = make_doc(3, 'a', "names"), *one = make_doc(1, 'x', "names");

    keep(three, first, second);
    keep(one, second, first);
    ck_assert(finds(one, 0, second, first));
    ck_assert(!finds(three, 0, first, second));
    ck_assert(finds(three, 1, first, second));
    ck_assert(finds(three, 2, first, second));
    tfs_doc_unref(three);
    tfs_doc_unref(one);
}
END_TEST

START_TEST(kept_times_are_of_one_save)
{
    struct tfs_doc *doc = make_doc(1, 'a', "names");
    struct tfs_save elsewhere = save;
    char other[] = "/saves/other";

    keep(doc, first, second);
    tfs_kept_times_release(&kept);
    elsewhere.path = other;
    tfs_kept_times_open(&kept, &elsewhere);
    ck_assert(!finds(doc, 0, first, second));
    tfs_doc_unref(doc);
}
END_TEST

static size_t read_state(uint8_t *bytes, size_t room)
{
    FILE *file = fopen(kept.path, "rb");

    ck_assert_ptr_nonnull(file);
    size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

static void write_state(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(kept.path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
    tfs_kept_times_release(&kept);
    tfs_kept_times_open(&kept, &save);
}

START_TEST(kept_times_of_a_damaged_file_are_not_believed)
{
    struct tfs_doc *doc = make_doc(2, 'a', "names");
    uint8_t bytes[1000];

    keep(doc, first, second);
    size_t size = read_state(bytes, sizeof(bytes));
    for (size_t i = 0; i < size; i++) {
        write_state(bytes, i);
        ck_assert_uint_eq(kept.count, 0);
        bytes[i] ^= 0x10;
        write_state(bytes, size);
        ck_assert_uint_eq(kept.count, 0);
        bytes[i] ^= 0x10;
    }
    bytes[size] = 0;
    write_state(bytes, size + 1);
    ck_assert_uint_eq(kept.count, 0);
    write_state(bytes, size);
    ck_assert(finds(doc, 1, first, second));
    tfs_doc_unref(doc);
}
END_TEST

/* Another version of the program may show the same bytes as other texts. */
START_TEST(kept_times_of_another_program_are_not_believed)
{
    struct tfs_doc *doc = make_doc(2, 'a', "names");
    uint8_t bytes[1000];

    keep(doc, first, second);
    const size_t size = read_state(bytes, sizeof(bytes)), body = size - 8;
    const size_t program = strlen("terrainfs times 2\n");
    bytes[program] ^= 1;
    uint64_t checksum = tfs_checksum((struct tfs_span){bytes, body}, 0);
    for (size_t i = 0; i < 8; i++, checksum >>= 8)
        bytes[body + i] = (uint8_t)checksum;
    write_state(bytes, size);
    ck_assert_uint_eq(kept.count, 0);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(kept_times_need_a_place)
{
    struct tfs_doc *doc = make_doc(1, 'a', "names");

    tfs_kept_times_release(&kept);
    ck_assert_int_eq(unsetenv("XDG_STATE_HOME"), 0);
    ck_assert_int_eq(setenv("HOME", "", 1), 0);
    tfs_kept_times_open(&kept, &save);
    ck_assert_ptr_null(kept.path);
    keep(doc, first, second);
    ck_assert(!finds(doc, 0, first, second));
    tfs_doc_unref(doc);
}
END_TEST

static Suite *kept_times_suite(void)
{
    Suite *suite = suite_create("kept_times");
    TCase *tcase = tcase_create("kept_times");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, kept_times_are_those_of_chunks_with_the_same_bytes);
    tcase_add_test(tcase, kept_times_go_with_what_all_texts_depend_on);
    tcase_add_test(tcase, kept_times_stay_of_chunks_that_nobody_looked_at);
    tcase_add_test(tcase, kept_times_are_of_one_save);
    tcase_add_test(tcase, kept_times_of_a_damaged_file_are_not_believed);
    tcase_add_test(tcase, kept_times_of_another_program_are_not_believed);
    tcase_add_test(tcase, kept_times_need_a_place);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(kept_times_suite)
