/*
 * Rows of text, or the one line `fill VALUE` -> values of a grid of voxels.
 *
 * Must not know what the values mean, nor the header lines in front of the rows. A walker finds
 * rows, labels and the fill line; what a value is, it asks a struct tfs_grid_tokens.
 */
#include "text/grid.h"

#include <errno.h>
#include <string.h>

#include "text/grid_tokens.h"

/* ---- rows ---- */

/* Takes that character and the blanks before it. */
static bool take_char(struct tfs_line *line, char c)
{
    tfs_line_skip_blanks(line);
    if (line->text.size == 0 || line->text.data[0] != (uint8_t)c)
        return false;
    tfs_line_skip(line, 1);
    return true;
}

/* Takes `NAME=NUMBER`, the number at most UINT32_MAX. */
static bool take_coordinate(struct tfs_line *line, char name, uint32_t *value)
{
    uint64_t v = 0;
    size_t digits = 0;

    if (!take_char(line, name) || !take_char(line, '='))
        return false;
    tfs_line_skip_blanks(line);
    while (digits < line->text.size && (uint8_t)(line->text.data[digits] - '0') <= 9) {
        v = v * 10 + (uint8_t)(line->text.data[digits] - '0');
        if (v > UINT32_MAX)
            return false;
        digits++;
    }
    tfs_line_skip(line, digits);
    *value = (uint32_t)v;
    return digits > 0;
}

/* Takes a label written in another way than ours; it must say the same. */
static int take_odd_label(struct tfs_line *line, uint32_t y, uint32_t z, struct tfs_error *err)
{
    struct tfs_line label = *line;
    uint32_t found_y, found_z;

    if (!take_coordinate(line, 'y', &found_y) || !take_coordinate(line, 'z', &found_z) ||
        !take_char(line, '|'))
        return tfs_fail_line(err, &label,
                             "the label of this row is not of the form y=%02u z=%02u |", y, z);
    if (found_y != y || found_z != z)
        return tfs_fail_line(err, &label,
                             "this row is labelled y=%02u z=%02u, expected y=%02u z=%02u", found_y,
                             found_z, y, z);
    return 0;
}

static int take_label(const struct tfs_grid_shape *shape, size_t row, struct tfs_line *line,
                      struct tfs_error *err)
{
    uint8_t label[TFS_GRID_LABEL_MAX];
    uint32_t y = (uint32_t)(row / shape->sz);
    uint32_t z = (uint32_t)(row % shape->sz);

    if (line->text.size == 0 || line->text.data[0] != 'y')
        return 0;
    size_t size = (size_t)(tfs_grid_put_label(label, shape, y, z) - label);
    if (line->text.size < size || memcmp(line->text.data, label, size) != 0)
        return take_odd_label(line, y, z, err);
    tfs_line_skip(line, size);
    return 0;
}

static size_t count_words(struct tfs_line line)
{
    struct tfs_line word;
    size_t count = 0;

    while (tfs_line_word(&line, &word))
        count++;
    return count;
}

/* Something else than exactly the values of a row: `line` is what follows the `good` ones. */
static int refuse_row(const struct tfs_grid_tokens *tokens, struct tfs_line line, uint32_t good,
                      struct tfs_error *err)
{
    struct tfs_line word;
    uint32_t sx = tokens->rules->shape.sx;

    tfs_line_skip_blanks(&line);
    if (good == sx || line.text.size == 0)
        return tfs_fail_line(err, &line, "the row has %zu value%s, expected %u",
                             good + count_words(line), good + count_words(line) == 1 ? "" : "s",
                             sx);
    tfs_line_word(&line, &word);
    return tokens->refuse(tokens, &word, err);
}

static int parse_row(const struct tfs_grid_tokens *tokens, size_t row, struct tfs_line line,
                     struct tfs_error *err)
{
    const struct tfs_grid_shape *shape = &tokens->rules->shape;
    size_t at = 0;

    if (take_label(shape, row, &line, err) < 0)
        return err->code;
    uint32_t good = tokens->read(tokens, line.text, row * shape->sx, shape->sx, &at);
    tfs_line_skip(&line, at);
    if (good < shape->sx || line.text.size > 0)
        return refuse_row(tokens, line, good, err);
    return 0;
}

/* Is this a fill line? Then `line` loses the word. */
static bool take_fill(struct tfs_line *line)
{
    static const char word[] = "fill";
    const size_t size = sizeof(word) - 1;

    if (line->text.size < size || memcmp(line->text.data, word, size) != 0)
        return false;
    if (line->text.size > size && !tfs_is_blank(line->text.data[size]))
        return false;
    tfs_line_skip(line, size);
    tfs_line_skip_blanks(line);
    return true;
}

/* Makes all values the first one. */
static void spread(const struct tfs_grid_tokens *tokens)
{
    const struct tfs_grid_shape *shape = &tokens->rules->shape;
    size_t count = (size_t)shape->sx * shape->sy * shape->sz;
    uint32_t *values = tokens->values;
    uint64_t *values64 = tokens->values;

    if (tokens->wide)
        for (size_t i = 1; i < count; i++)
            values64[i] = values64[0];
    else
        for (size_t i = 1; i < count; i++)
            values[i] = values[0];
}

/* `line` is what follows `fill`, its first line. */
static int parse_fill(const struct tfs_grid_tokens *tokens, struct tfs_lines *lines,
                      struct tfs_line line, struct tfs_error *err)
{
    struct tfs_line word;
    size_t at;

    if (!tfs_line_word(&line, &word))
        return tfs_fail_line(err, &line, "fill needs a value");
    if (tokens->read(tokens, word.text, 0, 1, &at) != 1)
        return tokens->refuse(tokens, &word, err);
    if (line.text.size > 0)
        return tfs_fail_line(err, &line, "fill takes one value");
    if (tfs_lines_next(lines, &line))
        return tfs_fail_line(err, &line, "nothing can follow the fill line");
    spread(tokens);
    return 0;
}

/* The text ended after `row` rows; `last` is the last one. */
static int refuse_end(const struct tfs_lines *lines, const struct tfs_grid_shape *shape, size_t row,
                      struct tfs_line last, struct tfs_error *err)
{
    size_t rows = (size_t)shape->sy * shape->sz;

    if (row == 0)
        return tfs_fail_at(err, -EBADMSG, lines->number + 1, 1,
                           "the grid is missing, expected %zu row%s or a fill line", rows,
                           rows == 1 ? "" : "s");
    tfs_line_skip(&last, last.text.size);
    return tfs_fail_line(err, &last, "the grid has %zu row%s, expected %zu", row,
                         row == 1 ? "" : "s", rows);
}

static int parse_rows(const struct tfs_grid_tokens *tokens, struct tfs_lines *lines,
                      struct tfs_line line, bool more, struct tfs_error *err)
{
    const struct tfs_grid_shape *shape = &tokens->rules->shape;
    size_t rows = (size_t)shape->sy * shape->sz;
    struct tfs_line last = line;

    for (size_t row = 0; row < rows; row++) {
        if (!more)
            return refuse_end(lines, shape, row, last, err);
        last = line;
        if (take_fill(&line))
            return tfs_fail_line(err, &last, "fill must be the only line of the grid");
        if (parse_row(tokens, row, line, err) < 0)
            return err->code;
        more = tfs_lines_next(lines, &line);
    }
    if (more)
        return tfs_fail_line(err, &line, "the grid has more than %zu row%s", rows,
                             rows == 1 ? "" : "s");
    return 0;
}

static int parse(struct tfs_lines *lines, const struct tfs_line *first,
                 const struct tfs_grid_tokens *tokens, bool *filled, struct tfs_error *err)
{
    struct tfs_line line = {0};
    bool more = true;

    if (first != NULL)
        line = *first;
    else
        more = tfs_lines_next(lines, &line);

    bool fill = more && take_fill(&line);
    int result =
        fill ? parse_fill(tokens, lines, line, err) : parse_rows(tokens, lines, line, more, err);
    if (result == 0 && filled != NULL)
        *filled = fill;
    return result;
}

int tfs_grid_parse(struct tfs_lines *lines, const struct tfs_line *first,
                   const struct tfs_grid_rules *rules, uint32_t *values, bool *filled,
                   struct tfs_error *err)
{
    struct tfs_grid_tokens tokens = tfs_grid_tokens(rules, values, false);

    return parse(lines, first, &tokens, filled, err);
}

int tfs_grid_parse64(struct tfs_lines *lines, const struct tfs_line *first,
                     const struct tfs_grid_rules *rules, uint64_t *values, bool *filled,
                     struct tfs_error *err)
{
    struct tfs_grid_tokens tokens = tfs_grid_tokens(rules, values, true);

    return parse(lines, first, &tokens, filled, err);
}

/* ---- one value ---- */

static int take_value(const struct tfs_line *word, const struct tfs_grid_rules *rules, bool wide,
                      void *value, struct tfs_error *err)
{
    if (word->text.size == 0)
        return tfs_fail_line(err, word, "the value is missing");
    if (tfs_grid_take_word(rules, word->text, wide, value))
        return 0;
    const struct tfs_grid_tokens tokens = tfs_grid_tokens(rules, NULL, wide);
    return tokens.refuse(&tokens, word, err);
}

int tfs_grid_take_value(const struct tfs_line *word, const struct tfs_grid_rules *rules,
                        uint32_t *value, struct tfs_error *err)
{
    uint32_t found;

    if (take_value(word, rules, false, &found, err) < 0)
        return err->code;
    *value = found;
    return 0;
}

int tfs_grid_take_value64(const struct tfs_line *word, const struct tfs_grid_rules *rules,
                          uint64_t *value, struct tfs_error *err)
{
    uint64_t found;

    if (take_value(word, rules, true, &found, err) < 0)
        return err->code;
    *value = found;
    return 0;
}
