/*
 * A text cut into lines, each stripped of blanks, tabs and a CR, with its place for error messages.
 *
 * Comment lines (`#` first) and empty lines are skipped. A NUL byte or bytes that are not UTF-8 are
 * rejected with their place: text files of this tree never hold them. A byte order mark is skipped.
 */
#ifndef TFS_TEXT_LINES_H
#define TFS_TEXT_LINES_H

#include "base/buf.h"
#include "base/error.h"

struct tfs_lines {
    struct tfs_span rest;
    uint32_t number; /* of the line last given, from 1 */
};

/* One line or a word of it: the text, and where it begins. */
struct tfs_line {
    struct tfs_span text;
    uint32_t number;
    uint32_t column; /* 1-based, in bytes, of text.data[0] */
};

int tfs_lines_init(struct tfs_lines *lines, struct tfs_span text, struct tfs_error *err);

/* EBADMSG where the last line has no newline: of a list of names that was cut, the last one is
 * another name. */
int tfs_lines_check_end(struct tfs_span text, struct tfs_error *err);

/* The next line that says something; false at the end. */
bool tfs_lines_next(struct tfs_lines *lines, struct tfs_line *line);

static inline bool tfs_is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* Takes n bytes, or the blanks and tabs, off the front of `line`. */
static inline void tfs_line_skip(struct tfs_line *line, size_t n)
{
    line->text.data += n;
    line->text.size -= n;
    line->column += (uint32_t)n;
}
void tfs_line_skip_blanks(struct tfs_line *line);

/* Takes the next word (up to blank or tab) off the front of `line`, which loses it and the blanks
 * behind it; false when nothing is left. */
bool tfs_line_word(struct tfs_line *line, struct tfs_line *word);

/* Decimal without sign prefix `+`, within [low, high], `-` only where low < 0; the sentence uses
 * `what`: "the index 9x is not a number", "index 300 is out of range, 0 to 255". The whole of
 * `word` must be the number. */
int tfs_line_number(const struct tfs_line *word, const char *what, int64_t low, int64_t high,
                    int64_t *value, struct tfs_error *err);

/* Appends the name that the whole of `line` prints (text/name.h). */
int tfs_line_name(const struct tfs_line *line, struct tfs_buf *out, struct tfs_error *err);

/* A failure at the first byte of `line`. */
int tfs_fail_line(struct tfs_error *err, const struct tfs_line *line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
