/*
 * Records of fields <-> lines of comma-separated text (RFC 4180).
 *
 * Must not know what the columns are.
 */
#include "text/table.h"

#include "text/decimal.h"
#include "text/name.h"

/* Would the bare field be read as something else? Blanks at its ends would be stripped, a `#` in
 * front could begin a comment, a byte order mark could be skipped. */
static bool needs_quotes(struct tfs_span field)
{
    if (field.size == 0)
        return false;
    if (tfs_is_blank(field.data[0]) || tfs_is_blank(field.data[field.size - 1]))
        return true;
    if (field.data[0] == '#' || tfs_utf8_mark(field) > 0)
        return true;
    for (size_t i = 0; i < field.size; i++) {
        uint8_t c = field.data[i];
        if (c == ',' || c == '"' || c == '\r' || c == '\n')
            return true;
    }
    return false;
}

void tfs_table_print_field(struct tfs_buf *out, struct tfs_span field)
{
    if (!needs_quotes(field)) {
        tfs_buf_add_span(out, field);
        return;
    }
    tfs_buf_u8(out, '"');
    for (size_t i = 0; i < field.size; i++) {
        if (field.data[i] == '"')
            tfs_buf_u8(out, '"');
        tfs_buf_u8(out, field.data[i]);
    }
    tfs_buf_u8(out, '"');
}

void tfs_table_print_number(struct tfs_buf *out, int64_t v)
{
    uint8_t *text = tfs_buf_reserve(out, TFS_DECIMAL_MAX);

    if (text != NULL)
        out->size += tfs_decimal_put_signed(text, v);
}

int tfs_table_init(struct tfs_table *table, struct tfs_span text, struct tfs_error *err)
{
    table->columns = 0;
    return tfs_lines_init(&table->lines, text, err);
}

/* `line` begins with a bare field; takes it off, but not the comma behind it. */
static int take_bare(struct tfs_line *line, struct tfs_line *field, struct tfs_error *err)
{
    size_t length = 0;

    while (length < line->text.size && line->text.data[length] != ',') {
        if (line->text.data[length] == '"') {
            tfs_line_skip(line, length);
            return tfs_fail_line(err, line,
                                 "a quote inside a field, the whole field must be in "
                                 "quotes and this one doubled");
        }
        length++;
    }
    *field = *line;
    field->text.size = length;
    tfs_line_skip(line, length);
    while (field->text.size > 0 && tfs_is_blank(field->text.data[field->text.size - 1]))
        field->text.size--;
    return 0;
}

/* Copies `text` with its doubled quotes made single into scratch, which has room for it. */
static struct tfs_span undouble(struct tfs_span text, struct tfs_buf *scratch)
{
    uint8_t *begin = scratch->data + scratch->size;
    uint8_t *out = begin;

    for (size_t i = 0; i < text.size; i++) {
        *out++ = text.data[i];
        if (text.data[i] == '"')
            i++;
    }
    scratch->size += (size_t)(out - begin);
    return (struct tfs_span){begin, (size_t)(out - begin)};
}

/* `line` begins with a quote; takes the quoted field off, and the blanks behind it. */
static int take_quoted(struct tfs_line *line, struct tfs_line *field, struct tfs_buf *scratch,
                       struct tfs_error *err)
{
    const uint8_t *bytes = line->text.data;
    size_t size = line->text.size;
    size_t end = 1;
    bool doubled = false;

    while (end < size && (bytes[end] != '"' || (end + 1 < size && bytes[end + 1] == '"'))) {
        doubled = doubled || bytes[end] == '"';
        end += bytes[end] == '"' ? 2 : 1;
    }
    if (end >= size)
        return tfs_fail_line(err, line, "the quote that begins here is not closed on this line");

    *field = *line;
    tfs_line_skip(field, 1);
    field->text.size = end - 1;
    if (doubled)
        field->text = undouble(field->text, scratch);
    tfs_line_skip(line, end + 1);
    tfs_line_skip_blanks(line);
    if (line->text.size > 0 && line->text.data[0] != ',')
        return tfs_fail_line(err, line, "expected a comma behind the closing quote");
    return 0;
}

static int check_count(struct tfs_table *table, const struct tfs_line *line,
                       const struct tfs_record *record, struct tfs_error *err)
{
    if (table->columns == 0)
        table->columns = record->count;
    if (record->count == table->columns)
        return 0;
    return tfs_fail_line(err, line, "the line has %u field%s, the header has %u", record->count,
                         record->count == 1 ? "" : "s", table->columns);
}

int tfs_table_next(struct tfs_table *table, struct tfs_record *record, struct tfs_buf *scratch,
                   struct tfs_error *err)
{
    struct tfs_line whole;

    if (!tfs_lines_next(&table->lines, &whole))
        return 0;
    /* All unquoted text of the line fits; scratch must not move while fields point into it. */
    tfs_buf_clear(scratch);
    if (tfs_buf_reserve(scratch, whole.text.size) == NULL)
        return tfs_buf_check(scratch, err);

    struct tfs_line line = whole;
    for (record->count = 0; record->count < TFS_TABLE_COLUMNS;) {
        struct tfs_line *field = &record->fields[record->count++];
        tfs_line_skip_blanks(&line);
        bool quoted = line.text.size > 0 && line.text.data[0] == '"';
        int result =
            quoted ? take_quoted(&line, field, scratch, err) : take_bare(&line, field, err);
        if (result < 0)
            return result;
        if (line.text.size == 0) {
            result = check_count(table, &whole, record, err);
            return result < 0 ? result : 1;
        }
        tfs_line_skip(&line, 1); /* the comma */
    }
    return tfs_fail_line(err, &line, "more than %d fields in a line", TFS_TABLE_COLUMNS);
}
