/*
 * A text file -> lines and words with their places, and numbers from words.
 *
 * Must not know which file it is, nor what a line means.
 */
#include "text/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "text/name.h"

/* A failure at `offset` of the whole text. */
static int fail_byte(struct tfs_span text, size_t offset, struct tfs_error *err)
{
    uint32_t line = 1;
    size_t begin = 0;

    for (size_t i = 0; i < offset; i++) {
        if (text.data[i] == '\n') {
            line++;
            begin = i + 1;
        }
    }
    uint32_t column = (uint32_t)(offset - begin + 1);
    if (text.data[offset] == 0)
        return tfs_fail_at(err, -EBADMSG, line, column, "a zero byte, but this is a text file");
    return tfs_fail_at(err, -EBADMSG, line, column, "byte %02x is not UTF-8 text",
                       text.data[offset]);
}

int tfs_lines_init(struct tfs_lines *lines, struct tfs_span text, struct tfs_error *err)
{
    size_t mark = tfs_utf8_mark(text);

    if (mark > 0)
        text = (struct tfs_span){text.data + mark, text.size - mark};
    size_t good = tfs_utf8_prefix(text);
    const uint8_t *zero = good == 0 ? NULL : memchr(text.data, 0, good);
    if (zero != NULL)
        good = (size_t)(zero - text.data);
    if (good < text.size)
        return fail_byte(text, good, err);
    *lines = (struct tfs_lines){.rest = text};
    return 0;
}

/* Takes the next line, with its line end, whatever it holds. */
static struct tfs_line take_line(struct tfs_lines *lines)
{
    const uint8_t *begin = lines->rest.data;
    const uint8_t *newline = memchr(begin, '\n', lines->rest.size);
    size_t size = newline == NULL ? lines->rest.size : (size_t)(newline - begin) + 1;

    lines->rest.data += size;
    lines->rest.size -= size;
    lines->number++;
    return (struct tfs_line){.text = {begin, size}, .number = lines->number, .column = 1};
}

void tfs_line_skip_blanks(struct tfs_line *line)
{
    size_t n = 0;

    while (n < line->text.size && tfs_is_blank(line->text.data[n]))
        n++;
    tfs_line_skip(line, n);
}

static void strip_back(struct tfs_line *line)
{
    while (line->text.size > 0) {
        uint8_t last = line->text.data[line->text.size - 1];
        if (!tfs_is_blank(last) && last != '\r' && last != '\n')
            break;
        line->text.size--;
    }
}

int tfs_lines_check_end(struct tfs_span text, struct tfs_error *err)
{
    uint32_t number = 1;

    if (text.size == 0 || text.data[text.size - 1] == '\n')
        return 0;
    for (size_t i = 0; i < text.size; i++)
        number += text.data[i] == '\n';
    return tfs_fail_at(err, -EBADMSG, number, 0,
                       "the last line has no newline: its name may have been cut");
}

bool tfs_lines_next(struct tfs_lines *lines, struct tfs_line *line)
{
    while (lines->rest.size > 0) {
        struct tfs_line next = take_line(lines);
        strip_back(&next);
        tfs_line_skip_blanks(&next);
        if (next.text.size > 0 && next.text.data[0] != '#') {
            *line = next;
            return true;
        }
    }
    return false;
}

bool tfs_line_word(struct tfs_line *line, struct tfs_line *word)
{
    struct tfs_line rest = *line;

    tfs_line_skip_blanks(&rest);
    if (rest.text.size == 0)
        return false;
    size_t length = 0;
    while (length < rest.text.size && !tfs_is_blank(rest.text.data[length]))
        length++;
    *word = rest;
    word->text.size = length;
    tfs_line_skip(&rest, length);
    tfs_line_skip_blanks(&rest);
    *line = rest;
    return true;
}

/* Reads digits to the end of the text, UINT64_MAX for what is larger. False: no number. */
static bool parse_digits(struct tfs_span text, uint64_t *value)
{
    uint64_t v = 0;

    for (size_t i = 0; i < text.size; i++) {
        uint8_t digit = (uint8_t)(text.data[i] - '0');
        if (digit > 9)
            return false;
        v = v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : v * 10 + digit;
    }
    *value = v;
    return text.size > 0;
}

/* Gives the number as far as 64 bits hold it. */
static bool to_signed(bool negative, uint64_t magnitude, int64_t *value)
{
    if (!negative && magnitude <= INT64_MAX)
        *value = (int64_t)magnitude;
    else if (negative && magnitude <= INT64_MAX)
        *value = -(int64_t)magnitude;
    else if (negative && magnitude == (uint64_t)INT64_MAX + 1)
        *value = INT64_MIN;
    else
        return false;
    return true;
}

int tfs_line_number(const struct tfs_line *word, const char *what, int64_t low, int64_t high,
                    int64_t *value, struct tfs_error *err)
{
    struct tfs_span digits = word->text;
    bool negative = digits.size > 0 && digits.data[0] == '-';
    uint64_t magnitude;
    int64_t v;
    char found[TFS_QUOTED];

    if (digits.size == 0)
        return tfs_fail_line(err, word, "the %s is missing", what);
    if (negative) {
        digits.data++;
        digits.size--;
    }
    if (!parse_digits(digits, &magnitude))
        return tfs_fail_line(err, word, "the %s %s is not a number", what,
                             tfs_name_quote(word->text, found));
    /* Where nothing is below zero, "-0" is not accepted as a way to write 0. */
    if ((negative && low >= 0) || !to_signed(negative, magnitude, &v) || v < low || v > high)
        return tfs_fail_line(err, word, "%s %s is out of range, %" PRId64 " to %" PRId64, what,
                             tfs_name_quote(word->text, found), low, high);
    *value = v;
    return 0;
}

int tfs_fail_line(struct tfs_error *err, const struct tfs_line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int result = tfs_fail_args(err, -EBADMSG, line->number, line->column, format, args);
    va_end(args);
    return result;
}

int tfs_line_name(const struct tfs_line *line, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_error inside = {0};

    if (tfs_name_parse(out, line->text, &inside) < 0)
        return tfs_fail_at(err, inside.code, line->number, line->column + inside.column - 1, "%s",
                           inside.text);
    return tfs_buf_check(out, err);
}
