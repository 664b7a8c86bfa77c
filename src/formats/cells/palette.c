/*
 * Lines `INDEX NAME` <-> names by their indices.
 *
 * Must not know what a game stores.
 */
#include "formats/cells/palette.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/decimal.h"
#include "text/name.h"
#include "text/table.h"

int tfs_name_check(const struct tfs_name_rules *rules, struct tfs_span name,
                   const struct tfs_line *line, struct tfs_error *err)
{
    if (name.size == 0)
        return tfs_fail_line(err, line, "a %s needs a name", rules->unit);
    if (name.size > rules->max)
        return tfs_fail_line(err, line, "a name of %zu bytes, at most %zu are possible", name.size,
                             rules->max);
    return 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

void tfs_palette_print(struct tfs_buf *out, const char *prefix, uint32_t index,
                       struct tfs_span name)
{
    tfs_buf_add_text(out, prefix);
    tfs_table_print_number(out, index);
    if (name.size > 0)
        tfs_buf_u8(out, ' ');
    tfs_name_print(out, name);
    tfs_buf_u8(out, '\n');
}

size_t tfs_palette_line_size(const char *prefix, uint32_t index, struct tfs_span name)
{
    return strlen(prefix) + tfs_decimal_width(index) + (name.size > 0) + tfs_name_size(name) + 1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int open_entries(struct tfs_palette *p, struct tfs_error *err)
{
    p->entries = calloc(p->rules.entries, sizeof(*p->entries));
    return p->entries == NULL ? tfs_fail_memory(err) : 0;
}

void tfs_palette_release(struct tfs_palette *p)
{
    tfs_buf_release(&p->bytes);
    free(p->names);
    free(p->entries);
}

static int add(struct tfs_palette *p, struct tfs_line line, struct tfs_error *err)
{
    struct tfs_line word;
    int64_t index;

    if (!tfs_line_word(&line, &word))
        return tfs_fail_line(err, &line, "an index and a name are missing");
    if (tfs_line_number(&word, "index", 0, p->rules.entries - 1, &index, err) < 0)
        return err->code;
    struct tfs_palette_entry *entry = &p->entries[index];
    if (entry->line > 0)
        return tfs_fail_line(err, &word, "the index %u was given in line %u already",
                             (unsigned)index, entry->line);
    const size_t at = p->bytes.size;
    if (tfs_line_name(&line, &p->bytes, err) < 0)
        return err->code;
    *entry = (struct tfs_palette_entry){at, p->bytes.size - at, line.number};
    p->given++;
    p->count = index >= p->count ? (uint32_t)index + 1 : p->count;
    return 0;
}

/* Told at `end`; without one at the entry behind the gap: there the user sees the jump. */
static int fail_gap(const struct tfs_palette *p, uint32_t index, uint32_t end,
                    struct tfs_error *err)
{
    uint32_t next = index;

    while (p->entries[next].line == 0)
        next++;
    return tfs_fail_at(err, -EBADMSG, end > 0 ? end : p->entries[next].line, 1,
                       "the palette has no entry %u, though it has %u others up to %u", index,
                       p->given, p->count - 1);
}

/* All lines were added. `end`: the line that says so, before which what lacks could still have
 * come: a text that is looked at while it is written is wrong no earlier; 0: the text ends. */
static int finish(struct tfs_palette *p, uint32_t end, tfs_palette_had_fn had, const void *arg,
                  struct tfs_error *err)
{
    /* Without bytes when all names are empty. */
    const uint8_t *bytes = p->bytes.size > 0 ? p->bytes.data : (const uint8_t *)"";
    bool empty = false; /* there was an empty name before: asking once is enough */

    if (p->count == 0)
        return tfs_fail_at(err, -EBADMSG, end > 0 ? end : 1, 1,
                           "the text has no palette, not even of one %s", p->rules.unit);
    p->names = calloc(p->count, sizeof(*p->names));
    if (p->names == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tfs_palette_entry *entry = &p->entries[i];
        const struct tfs_line line = {.number = entry->line, .column = 1};
        p->names[i] = (struct tfs_span){bytes + entry->at, entry->size};
        if (entry->line == 0)
            return fail_gap(p, i, end, err);
        const bool odd = entry->size == 0 ? !empty : entry->size > p->rules.max;
        if (odd && !had(arg, p->names[i]))
            return tfs_name_check(&p->rules, p->names[i], &line, err);
        empty = empty || entry->size == 0;
    }
    return 0;
}

int tfs_palette_read(struct tfs_palette *p, struct tfs_span text, tfs_palette_had_fn had,
                     const void *arg, struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, text, err) < 0 || open_entries(p, err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (add(p, line, err) < 0)
            return err->code;
    return finish(p, 0, had, arg, err);
}

/* The palette lines; *first is the line behind them. */
static int read_header(struct tfs_palette *p, struct tfs_lines *lines, tfs_palette_had_fn had,
                       const void *arg, struct tfs_line *first, struct tfs_error *err)
{
    const struct tfs_span keyword = {(const uint8_t *)TFS_PALETTE_KEYWORD,
                                     sizeof(TFS_PALETTE_KEYWORD) - 2};

    while (tfs_lines_next(lines, first)) {
        struct tfs_line line = *first, word;
        if (!tfs_line_word(&line, &word) || !tfs_span_equal(word.text, keyword))
            return finish(p, first->number, had, arg, err);
        if (add(p, line, err) < 0)
            return err->code;
    }
    if (finish(p, 0, had, arg, err) < 0)
        return err->code;
    return tfs_fail(err, -EBADMSG, "the text ends behind the palette, without rows or `fill`");
}

int tfs_palette_read_grid(struct tfs_palette *p, struct tfs_span text, struct tfs_voxel_size size,
                          tfs_palette_had_fn had, const void *arg, uint32_t *indices,
                          struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line first;
    char range[64];

    if (tfs_lines_init(&lines, text, err) < 0 || open_entries(p, err) < 0 ||
        read_header(p, &lines, had, arg, &first, err) < 0)
        return err->code;
    snprintf(range, sizeof(range), "the palette has %u %s", p->count,
             p->count == 1 ? "entry" : "entries");
    const struct tfs_grid_rules rules = {
        .shape = {size.x, size.y, size.z, TFS_GRID_DECIMAL, tfs_decimal_width(p->count - 1)},
        .high = p->count - 1,
        .out_of_range = range,
    };
    return tfs_grid_parse(&lines, &first, &rules, indices, NULL, err);
}
