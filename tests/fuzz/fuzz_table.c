/*
 * Any bytes as table text, and every field as a name: what is accepted must print and read back as
 * the same records and the same names, and what is refused must have a sentence.
 */
#include <errno.h>

#include "fuzz.h"
#include "text/name.h"
#include "text/table.h"

static void require_sentence(const struct tfs_error *err, int result)
{
    REQUIRE(result == -EBADMSG && err->code == result);
    REQUIRE(err->text[0] != '\0' && err->column > 0);
}

static void check_name(struct tfs_span text)
{
    struct tfs_buf name = {0}, printed = {0}, back = {0};
    struct tfs_error err = {0};
    int result = tfs_name_parse(&name, text, &err);

    if (result < 0) {
        require_sentence(&err, result);
        REQUIRE(name.size == 0);
    } else {
        tfs_name_print(&printed, tfs_buf_span(&name));
        REQUIRE(printed.size == tfs_name_size(tfs_buf_span(&name)));
        REQUIRE(tfs_utf8_prefix(tfs_buf_span(&printed)) == printed.size);
        REQUIRE(tfs_name_parse(&back, tfs_buf_span(&printed), &err) == 0);
        REQUIRE(tfs_span_equal(tfs_buf_span(&name), tfs_buf_span(&back)));
    }
    tfs_buf_release(&name);
    tfs_buf_release(&printed);
    tfs_buf_release(&back);
}

/* A number in a field reads back as printed. */
static void check_number(const struct tfs_line *field)
{
    struct tfs_buf printed = {0};
    struct tfs_line again;
    struct tfs_error err = {0};
    int64_t value, back;

    if (tfs_line_number(field, "value", INT64_MIN, INT64_MAX, &value, &err) < 0) {
        require_sentence(&err, err.code);
        return;
    }
    tfs_table_print_number(&printed, value);
    again = (struct tfs_line){tfs_buf_span(&printed), 1, 1};
    REQUIRE(tfs_line_number(&again, "value", INT64_MIN, INT64_MAX, &back, &err) == 0);
    REQUIRE(back == value);
    tfs_buf_release(&printed);
}

static void print_record(struct tfs_buf *out, const struct tfs_record *record)
{
    /* One empty field would be an empty line, which says nothing. */
    if (record->count == 1 && record->fields[0].text.size == 0)
        tfs_buf_add_text(out, "\"\"");
    for (unsigned i = 0; i < record->count; i++) {
        if (i > 0)
            tfs_buf_u8(out, ',');
        tfs_table_print_field(out, record->fields[i].text);
    }
    tfs_buf_u8(out, '\n');
}

/* Prints what `text` holds, up to the first line that is refused. */
static unsigned print_again(struct tfs_span text, struct tfs_buf *out, bool *refused)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_buf scratch = {0};
    struct tfs_error err = {0};
    unsigned records = 0;
    int result = tfs_table_init(&table, text, &err);

    while (result == 0 && (result = tfs_table_next(&table, &record, &scratch, &err)) > 0) {
        REQUIRE(record.count >= 1 && record.count <= TFS_TABLE_COLUMNS);
        for (unsigned i = 0; i < record.count; i++) {
            check_name(record.fields[i].text);
            check_number(&record.fields[i]);
        }
        print_record(out, &record);
        records++;
        result = 0;
    }
    *refused = result < 0;
    if (*refused)
        require_sentence(&err, result);
    tfs_buf_release(&scratch);
    return records;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_buf once = {0}, twice = {0};
    bool refused;
    unsigned records = print_again((struct tfs_span){data, size}, &once, &refused);

    REQUIRE(print_again(tfs_buf_span(&once), &twice, &refused) == records);
    REQUIRE(!refused);
    REQUIRE(tfs_span_equal(tfs_buf_span(&once), tfs_buf_span(&twice)));
    tfs_buf_release(&once);
    tfs_buf_release(&twice);
    return 0;
}
