/*
 * info: info.txt -> the standard output, as it is or as one JSON object. Nothing here writes to the
 * save or locks it.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "commands/cli.h"
#include "commands/foreign.h"
#include "commands/json.h"

/* ---- one JSON object ------------------------------------------------------------------------- */

/* A line `key: value`, and what follows it. */
struct line {
    struct tfs_span key, value, rest;
};

static bool next_line(struct tfs_span text, struct line *line)
{
    const uint8_t *end = text.size > 0 ? memchr(text.data, '\n', text.size) : NULL;
    const uint8_t *colon = end != NULL ? memchr(text.data, ':', (size_t)(end - text.data)) : NULL;

    if (colon == NULL || colon + 2 > end)
        return false;
    line->key = (struct tfs_span){text.data, (size_t)(colon - text.data)};
    line->value = (struct tfs_span){colon + 2, (size_t)(end - colon - 2)};
    line->rest = (struct tfs_span){end + 1, text.size - (size_t)(end + 1 - text.data)};
    return true;
}

/* Is it a number in JSON, too? */
static bool is_number(struct tfs_span value)
{
    bool number = value.size > 0 && value.size < 16 && (value.data[0] != '0' || value.size == 1);

    for (size_t i = 0; i < value.size && number; i++)
        number = isdigit(value.data[i]) != 0;
    return number;
}

static void add_value(struct tfs_buf *out, struct tfs_span value)
{
    if (is_number(value))
        tfs_buf_add_span(out, value);
    else
        tfs_json_string(out, value);
}

/* How many lines of `text` have the key. */
static size_t count_of(struct tfs_span text, struct tfs_span key)
{
    struct line line;
    size_t count = 0;

    for (; next_line(text, &line); text = line.rest)
        count += tfs_span_equal(line.key, key);
    return count;
}

/* Adds all values of the key, as an array. */
static void add_values(struct tfs_buf *out, struct tfs_span text, struct tfs_span key)
{
    const char *comma = "";
    struct line line;

    tfs_buf_u8(out, '[');
    for (; next_line(text, &line); text = line.rest)
        if (tfs_span_equal(line.key, key)) {
            tfs_buf_add_text(out, comma);
            add_value(out, line.value);
            comma = ",";
        }
    tfs_buf_u8(out, ']');
}

static void add_key(struct tfs_buf *out, struct tfs_span key)
{
    tfs_buf_u8(out, ',');
    tfs_json_string(out, key);
    tfs_buf_u8(out, ':');
}

/* Damage and warnings are always arrays, and so is a key with several lines. */
static void add_line(struct tfs_buf *out, struct tfs_span text, const struct line *line)
{
    const struct tfs_span before = {text.data, (size_t)(line->key.data - text.data)};

    if (tfs_span_equal(line->key, tfs_span_of("damaged")) ||
        tfs_span_equal(line->key, tfs_span_of("warning")) || count_of(before, line->key) > 0)
        return;
    add_key(out, line->key);
    if (count_of(text, line->key) > 1)
        add_values(out, text, line->key);
    else
        add_value(out, line->value);
}

static void add_object(struct tfs_buf *out, const char *path, struct tfs_span text)
{
    struct line line;

    tfs_buf_add_text(out, "{\"save\":");
    tfs_json_string(out, tfs_span_of(path));
    for (struct tfs_span rest = text; next_line(rest, &line); rest = line.rest)
        add_line(out, text, &line);
    add_key(out, tfs_span_of("damaged"));
    add_values(out, text, tfs_span_of("damaged"));
    add_key(out, tfs_span_of("warning"));
    add_values(out, text, tfs_span_of("warning"));
    tfs_buf_add_text(out, "}\n");
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum tfs_status print_object(struct tfs_cli *cli, struct tfs_span text)
{
    struct tfs_buf out = {0};
    struct tfs_error err = {0};
    enum tfs_status status;

    add_object(&out, cli->operands[0], text);
    status = tfs_buf_check(&out, &err) < 0 ? tfs_cli_report(cli, cli->operands[0], &err)
                                           : tfs_cli_print(cli, tfs_buf_span(&out));
    tfs_buf_release(&out);
    return status;
}

static enum tfs_status print_info(struct tfs_cli *cli, struct tfs_span text)
{
    enum tfs_status status = TFS_STATUS_DONE;

    if ((cli->flags & TFS_CLI_JSON) != 0)
        return print_object(cli, text);
    if (cli->many)
        status = tfs_cli_print_line(cli, "save: %s", cli->operands[0]);
    return status != TFS_STATUS_DONE ? status : tfs_cli_print(cli, text);
}

/* info.txt of a save. */
static enum tfs_status get_info(struct tfs_cli *cli, struct tfs_buf *text)
{
    struct tfs_save *save;
    struct tfs_node node;
    struct tfs_error err = {0};

    cli->options.views = TFS_VIEWS_EVERY;
    enum tfs_status status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_NONE, &save);
    if (status != TFS_STATUS_DONE)
        return status;
    status = tfs_cli_find_file(cli, save, "info.txt", true, &node);
    if (status == TFS_STATUS_DONE &&
        (tfs_node_file(save, &node)
                 ->lens->get(save, save->doc, tfs_node_at(save, &node), text, &err) < 0 ||
         tfs_buf_check(text, &err) < 0))
        status = tfs_cli_report(cli, cli->operands[0], &err);
    tfs_save_close(save);
    return status;
}

enum tfs_status tfs_cli_info(struct tfs_cli *cli)
{
    struct tfs_buf text = {0};
    enum tfs_status status = tfs_foreign_is(cli->operands[0])
                                 ? tfs_foreign_info(cli, cli->operands[0], &text)
                                 : get_info(cli, &text);

    if (status == TFS_STATUS_DONE)
        status = print_info(cli, tfs_buf_span(&text));
    tfs_buf_release(&text);
    return status;
}
