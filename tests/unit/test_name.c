/* text/name: bytes to printable text and back. */
#include <errno.h>
#include <string.h>

#include "text/name.h"
#include "unit.h"

#define SPAN(literal)                                                                              \
    {                                                                                              \
        (const uint8_t *)(literal), sizeof(literal) - 1                                            \
    }

static struct tfs_buf buf;

static void release(void)
{
    tfs_buf_release(&buf);
}

static const struct {
    struct tfs_span name;
    const char *text;
} names[] = {
    {SPAN(""), ""},
    {SPAN("base:grass[type=full]"), "base:grass[type=full]"},
    {SPAN("a\\b"), "a\\\\b"},
    {SPAN("a\nb"), "a\\nb"},
    {SPAN("\\n"), "\\\\n"},
    {SPAN("a b"), "a b"},
    {SPAN(" a  b "), "\\x20a  b\\x20"},
    {SPAN(" "), "\\x20"},
    {SPAN("  "), "\\x20\\x20"},
    {SPAN("#a#"), "\\x23a#"},
    {SPAN("\xef\xbb\xbf.\xef\xbb\xbf"), "\\xef\\xbb\\xbf.\xef\xbb\xbf"}, /* byte order mark */
    {SPAN("\0\t\r\x1f\x7f"), "\\x00\\x09\\x0d\\x1f\\x7f"},
    {SPAN("gr\xc3\xbcn \xe6\x9d\xb1 \xf0\x9f\x8c\xb2"),
     "gr\xc3\xbcn \xe6\x9d\xb1 \xf0\x9f\x8c\xb2"},
    {SPAN("\xc2\x85\xc2\xa0"), "\\xc2\\x85\xc2\xa0"}, /* U+0085 is a control, U+00A0 is not */
    {SPAN("\x80"), "\\x80"},
    {SPAN("\xc0\xaf"), "\\xc0\\xaf"},                   /* overlong */
    {SPAN("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf"},          /* overlong */
    {SPAN("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf"}, /* overlong */
    {SPAN("\xed\xa0\x80"), "\\xed\\xa0\\x80"},          /* surrogate */
    {SPAN("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
    {SPAN("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80"},
    {SPAN("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf"},
    {SPAN("\xed\x9f\xbf\xee\x80\x80"), "\xed\x9f\xbf\xee\x80\x80"}, /* beside the surrogates */
    {SPAN("a\xe6\x9d"), "a\\xe6\\x9d"},                             /* cut */
    {SPAN("\xe6\x9d\xc3\xbc"), "\\xe6\\x9d\xc3\xbc"},               /* cut by another character */
};

START_TEST(name_prints_what_cannot_be_seen_as_escapes)
{
    tfs_name_print(&buf, names[_i].name);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of(names[_i].text)));
    ck_assert_uint_eq(tfs_name_size(names[_i].name), buf.size);
}
END_TEST

START_TEST(name_reads_back_what_it_printed)
{
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_name_parse(&buf, tfs_span_of(names[_i].text), &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), names[_i].name));
}
END_TEST

START_TEST(name_of_any_byte_reads_back)
{
    uint8_t bytes[256];
    struct tfs_buf back = {0};
    struct tfs_error err = {0};

    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (uint8_t)(i * 7);
    tfs_name_print(&buf, (struct tfs_span){bytes, 256});
    ck_assert_uint_eq(tfs_utf8_prefix(tfs_buf_span(&buf)), buf.size);
    ck_assert_int_eq(tfs_name_parse(&back, tfs_buf_span(&buf), &err), 0);
    ck_assert_uint_eq(back.size, 256);
    ck_assert_mem_eq(back.data, bytes, 256);
    tfs_buf_release(&back);
}
END_TEST

START_TEST(name_escapes_are_read_in_either_case)
{
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_name_parse(&buf, tfs_span_of("\\xAf\\xaF\\x41"), &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of("\xaf\xaf"
                                                             "A")));
}
END_TEST

static const struct {
    const char *text;
    uint32_t column;
    const char *sentence;
} bad_escapes[] = {
    {"ab\\q", 3, "unknown escape \\q, the escapes are \\\\, \\n and \\xNN"},
    {"\\", 1, "unknown escape \\, the escapes are \\\\, \\n and \\xNN"},
    {"a\\x", 2, "unknown escape \\x, the escapes are \\\\, \\n and \\xNN"},
    {"a\\x4", 2, "unknown escape \\x4, the escapes are \\\\, \\n and \\xNN"},
    {"a\\x4gzz", 2, "unknown escape \\x4g, the escapes are \\\\, \\n and \\xNN"},
    {"a\\xg4", 2, "unknown escape \\xg4, the escapes are \\\\, \\n and \\xNN"},
    {"\\N", 1, "unknown escape \\N, the escapes are \\\\, \\n and \\xNN"},
};

START_TEST(name_refuses_an_unknown_escape)
{
    struct tfs_error err = {0};

    tfs_buf_add_text(&buf, "before");
    ck_assert_int_eq(tfs_name_parse(&buf, tfs_span_of(bad_escapes[_i].text), &err), -EBADMSG);
    ck_assert_str_eq(err.text, bad_escapes[_i].sentence);
    ck_assert_uint_eq(err.line, 0);
    ck_assert_uint_eq(err.column, bad_escapes[_i].column);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of("before")));
}
END_TEST

static const struct {
    struct tfs_span text;
    size_t prefix;
} prefixes[] = {
    {SPAN(""), 0},
    {SPAN("0123456789abcdef"), 16},
    {SPAN("0123456\xff"), 7},
    {SPAN("01234567\xff"), 8},
    {SPAN("0123456\xc3\xbc"
          "89abcdef"),
     17},
    {SPAN("0123456789abcd\xc3"), 14},
    {SPAN("\xe2\x82"), 0},
};

START_TEST(utf8_prefix_ends_at_the_first_bad_byte)
{
    ck_assert_uint_eq(tfs_utf8_prefix(prefixes[_i].text), prefixes[_i].prefix);
}
END_TEST

static const struct {
    const char *name, *quoted;
} quotes[] = {
    {"", ""},
    {"\x1b[31m", "\\x1b[31m"},
    {"12345678901234567890123456789012345678901234",
     "12345678901234567890123456789012345678901234"},
    {"123456789012345678901234567890123456789012345",
     "12345678901234567890123456789012345678901234..."},
    {"1234567890123456789012345678901234567890123\n",
     "1234567890123456789012345678901234567890123..."},
};

START_TEST(name_quote_cuts_between_characters)
{
    char out[TFS_QUOTED];

    ck_assert_str_eq(tfs_name_quote(tfs_span_of(quotes[_i].name), out), quotes[_i].quoted);
}
END_TEST

static const struct {
    const char *text, *line;
} sentences[] = {
    {"", ""},
    {"a\\n b ", "a\\n b "},
    {"a\nterrainfs: all is well\r", "a\\nterrainfs: all is well\\x0d"},
    {"\x1b[2J\t\x7f", "\\x1b[2J\\x09\\x7f"},
    {"\x9b\xc2\x9b\xc2\xa0", "\\x9b\\xc2\\x9b\xc2\xa0"}, /* CSI in one byte and as U+009B */
    {"gr\xc3\xbcn \xe6\x9d\xb1 \xf0\x9f\x8c\xb2", "gr\xc3\xbcn \xe6\x9d\xb1 \xf0\x9f\x8c\xb2"},
    {"\xd8\x9c\xd8\x9b", "\\xd8\\x9c\xd8\x9b"},                  /* U+061C, not U+061B */
    {"\xe2\x80\x8d\xe2\x80\x8e", "\xe2\x80\x8d\\xe2\\x80\\x8e"}, /* U+200D joins letters */
    {"\xe2\x80\xa8\xe2\x80\xaf", "\\xe2\\x80\\xa8\xe2\x80\xaf"}, /* U+2028, not U+202F */
    {"\xe2\x80\xae\xe2\x81\xa6.\xe2\x81\xaa",                    /* overrides and isolates */
     "\\xe2\\x80\\xae\\xe2\\x81\\xa6.\xe2\x81\xaa"},
};

START_TEST(sentence_is_one_line_that_drives_no_terminal)
{
    char line[100], again[100];

    ck_assert_ptr_eq(tfs_sentence_print(sentences[_i].text, line, sizeof(line)), line);
    ck_assert_str_eq(line, sentences[_i].line);
    ck_assert_uint_le(strlen(line), TFS_SENTENCE_GROWS * strlen(sentences[_i].text));
    ck_assert_str_eq(tfs_sentence_print(line, again, sizeof(again)), line);
}
END_TEST

START_TEST(sentence_is_cut_between_characters)
{
    static const char *const cut[] = {
        "", "", "", "", "", "\\x1b", "\\x1ba", "\\x1ba", "\\x1ba\xc3\xbc"};
    char line[16];

    for (size_t size = 1; size < sizeof(cut) / sizeof(cut[0]); size++)
        ck_assert_str_eq(tfs_sentence_print("\x1b"
                                            "a\xc3\xbc",
                                            line, size),
                         cut[size]);
}
END_TEST

static Suite *name_suite(void)
{
    Suite *suite = suite_create("name");
    TCase *tcase = unit_case(suite, "name");

    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_add_loop_test(tcase, name_prints_what_cannot_be_seen_as_escapes, 0, COUNT(names));
    tcase_add_loop_test(tcase, name_reads_back_what_it_printed, 0, COUNT(names));
    tcase_add_test(tcase, name_of_any_byte_reads_back);
    tcase_add_test(tcase, name_escapes_are_read_in_either_case);
    tcase_add_loop_test(tcase, name_refuses_an_unknown_escape, 0, COUNT(bad_escapes));
    tcase_add_loop_test(tcase, utf8_prefix_ends_at_the_first_bad_byte, 0, COUNT(prefixes));
    tcase_add_loop_test(tcase, name_quote_cuts_between_characters, 0, COUNT(quotes));
    tcase_add_loop_test(tcase, sentence_is_one_line_that_drives_no_terminal, 0, COUNT(sentences));
    tcase_add_test(tcase, sentence_is_cut_between_characters);
    return suite;
}

UNIT_MAIN(name_suite)
