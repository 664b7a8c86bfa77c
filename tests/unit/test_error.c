/* base/error: what is kept of a failure, and how it is printed. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "unit.h"

START_TEST(error_keeps_the_first_failure)
{
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_fail_at(&err, -EBADMSG, 17, 9, "value %u", 300U), -EBADMSG);
    ck_assert_int_eq(tfs_fail(&err, -EIO, "later"), -EBADMSG);
    ck_assert_int_eq(tfs_fail_at(&err, -EIO, 1, 2, "later"), -EBADMSG);
    ck_assert_int_eq(tfs_fail_memory(&err), -EBADMSG);
    ck_assert_int_eq(err.code, -EBADMSG);
    ck_assert_uint_eq(err.line, 17);
    ck_assert_uint_eq(err.column, 9);
    ck_assert_str_eq(err.text, "value 300");
}
END_TEST

START_TEST(error_can_be_used_again_after_reset)
{
    struct tfs_error err = {0};

    tfs_fail_at(&err, -EBADMSG, 17, 9, "first");
    tfs_error_reset(&err);
    ck_assert_int_eq(err.code, 0);
    ck_assert_int_eq(tfs_fail_memory(&err), -ENOMEM);
    ck_assert_str_eq(err.text, "out of memory");
    ck_assert_uint_eq(err.line, 0);
}
END_TEST

START_TEST(error_tells_what_the_system_said)
{
    struct tfs_error err = {0};
    struct tfs_error none = {0};

    errno = ENOSPC;
    ck_assert_int_eq(tfs_fail_errno(&err, "cannot write"), -ENOSPC);
    ck_assert_str_eq(err.text, "cannot write: No space left on device");
    errno = 0;
    ck_assert_int_eq(tfs_fail_errno(&none, "cannot write"), -EIO);
}
END_TEST

static const struct {
    uint32_t line, column;
    const char *path;
    size_t size;
    const char *expect;
} formats[] = {
    {17, 9, "a/b.txt", 100, "a/b.txt:17:9: grün"},
    {17, 0, "a/b.txt", 100, "a/b.txt:17: grün"},
    {0, 0, "a/b.txt", 100, "a/b.txt: grün"},
    {17, 9, NULL, 100, "grün"},
    {0, 0, NULL, 6, "grün"},
    {0, 0, NULL, 4, "gr"}, /* three bytes would end inside the u-umlaut */
    {0, 0, NULL, 1, ""},
};

START_TEST(error_format_puts_the_place_in_front)
{
    struct tfs_error err = {0};
    char out[100];

    tfs_fail_at(&err, -EBADMSG, formats[_i].line, formats[_i].column, "grün");
    tfs_error_format(&err, formats[_i].path, out, formats[_i].size);
    ck_assert_str_eq(out, formats[_i].expect);
}
END_TEST

START_TEST(error_cuts_a_long_sentence_at_a_character)
{
    struct tfs_error err = {0};
    char text[TFS_ERROR_TEXT + 8];

    memset(text, 'a', sizeof(text));
    memcpy(text + TFS_ERROR_TEXT - 2, "\xc3\xbc", 2);
    text[sizeof(text) - 1] = '\0';
    tfs_fail(&err, -EBADMSG, "%s", text);
    ck_assert_uint_eq(strlen(err.text), TFS_ERROR_TEXT - 2);
    ck_assert_int_eq(err.text[TFS_ERROR_TEXT - 3], 'a');
}
END_TEST

static Suite *error_suite(void)
{
    Suite *suite = suite_create("error");
    TCase *tcase = unit_case(suite, "error");

    tcase_add_test(tcase, error_keeps_the_first_failure);
    tcase_add_test(tcase, error_can_be_used_again_after_reset);
    tcase_add_test(tcase, error_tells_what_the_system_said);
    tcase_add_loop_test(tcase, error_format_puts_the_place_in_front, 0,
                        sizeof(formats) / sizeof(formats[0]));
    tcase_add_test(tcase, error_cuts_a_long_sentence_at_a_character);
    return suite;
}

UNIT_MAIN(error_suite)
