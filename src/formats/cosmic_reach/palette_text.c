/*
 * A chunk's palette <-> lines `INDEX NAME`, as palette.txt and the header of blocks.txt have them.
 *
 * Must not know layers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/lenses.h"
#include "formats/renaming.h"
#include "text/decimal.h"
#include "text/name.h"
#include "text/table.h"

int tfs_cosmic_view_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_cosmic_view *view, struct tfs_error *err)
{
    int status = tfs_cosmic_chunk_open(save, doc, key, &view->chunk, err);

    if (status < 0)
        return status;
    status = tfs_cosmic_blocks_view(view->chunk.body.sections[TFS_COSMIC_SECTION_BLOCKS],
                                    &view->blocks, err);
    if (status < 0)
        tfs_cosmic_view_close(view);
    return status;
}

void tfs_cosmic_view_close(struct tfs_cosmic_view *view)
{
    tfs_cosmic_chunk_close(&view->chunk);
}

void tfs_cosmic_palette_print(struct tfs_buf *out, const char *prefix, struct tfs_span palette,
                              uint32_t count)
{
    struct tfs_cursor c = tfs_cursor_init(palette);

    for (uint32_t i = 0; i < count; i++) {
        tfs_buf_add_text(out, prefix);
        tfs_table_print_number(out, i);
        tfs_buf_u8(out, ' ');
        tfs_name_print(out, tfs_cosmic_name_take(&c));
        tfs_buf_u8(out, '\n');
    }
}

uint64_t tfs_cosmic_palette_size(size_t prefix, struct tfs_span palette, uint32_t count)
{
    struct tfs_cursor c = tfs_cursor_init(palette);
    uint64_t size = 0;

    for (uint32_t i = 0; i < count; i++)
        size += prefix + tfs_decimal_width(i) + 1 + tfs_name_size(tfs_cosmic_name_take(&c)) + 1;
    return size;
}

bool tfs_cosmic_palette_equal(const struct tfs_cosmic_blocks *blocks, const struct tfs_span *names,
                              uint32_t count)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    if (blocks->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!tfs_span_equal(tfs_cosmic_name_take(&c), names[i]))
            return false;
    return true;
}

int tfs_cosmic_name_check(struct tfs_span name, const struct tfs_line *line, struct tfs_error *err)
{
    static const struct tfs_name_rules rules = {"block", TFS_COSMIC_NAME_MAX};

    return tfs_name_check(&rules, name, line, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

int tfs_cosmic_palette_text_open(struct tfs_cosmic_palette_text **text, struct tfs_error *err)
{
    struct tfs_cosmic_palette_text *opened = calloc(1, sizeof(*opened));

    if (opened == NULL)
        return tfs_fail_memory(err);
    *text = opened;
    return 0;
}

void tfs_cosmic_palette_text_close(struct tfs_cosmic_palette_text *text)
{
    if (text == NULL)
        return;
    tfs_buf_release(&text->bytes);
    free(text->names);
    free(text);
}

int tfs_cosmic_palette_text_add(struct tfs_cosmic_palette_text *text, struct tfs_line line,
                                struct tfs_error *err)
{
    struct tfs_line word;
    int64_t index;

    if (!tfs_line_word(&line, &word))
        return tfs_fail_line(err, &line, "an index and a name are missing");
    if (tfs_line_number(&word, "index", 0, TFS_COSMIC_PALETTE_MAX - 1, &index, err) < 0)
        return err->code;

    struct tfs_cosmic_palette_entry *entry = &text->entries[index];
    if (entry->line > 0)
        return tfs_fail_line(err, &word, "the index %u was given in line %u already",
                             (unsigned)index, entry->line);
    size_t at = text->bytes.size;
    if (tfs_line_name(&line, &text->bytes, err) < 0)
        return err->code;
    *entry = (struct tfs_cosmic_palette_entry){at, text->bytes.size - at, line.number};
    text->given++;
    if (index >= text->count)
        text->count = (uint32_t)index + 1;
    return 0;
}

/* Names that were there before may be as odd as they are. */
static bool is_old(const struct tfs_cosmic_blocks *old, struct tfs_span name)
{
    struct tfs_cursor c = tfs_cursor_init(old->palette);

    for (uint32_t i = 0; i < old->count; i++)
        if (tfs_span_equal(tfs_cosmic_name_take(&c), name))
            return true;
    return false;
}

/* Told at the entry behind the gap: there the user sees the jump. */
static int fail_gap(const struct tfs_cosmic_palette_text *text, uint32_t index,
                    struct tfs_error *err)
{
    uint32_t next = index;

    while (text->entries[next].line == 0)
        next++;
    return tfs_fail_at(err, -EBADMSG, text->entries[next].line, 1,
                       "the palette has no entry %u, though it has %u others up to %u", index,
                       text->given, text->count - 1);
}

static int check_entry(const struct tfs_cosmic_palette_text *text, uint32_t index,
                       const struct tfs_cosmic_blocks *old, struct tfs_error *err)
{
    const struct tfs_cosmic_palette_entry *entry = &text->entries[index];
    struct tfs_line line = {.number = entry->line, .column = 1};

    if (entry->line == 0)
        return fail_gap(text, index, err);
    if (entry->size > 0 && entry->size <= TFS_COSMIC_NAME_MAX)
        return 0;
    return is_old(old, text->names[index]) ? 0
                                           : tfs_cosmic_name_check(text->names[index], &line, err);
}

int tfs_cosmic_palette_text_finish(struct tfs_cosmic_palette_text *text,
                                   const struct tfs_cosmic_blocks *old, struct tfs_error *err)
{
    if (text->count == 0)
        return tfs_fail_at(err, -EBADMSG, 1, 1, "the text has no palette, not even of one block");
    text->names = calloc(text->count, sizeof(*text->names));
    if (text->names == NULL)
        return tfs_fail_memory(err);
    /* Without bytes when all names are empty. */
    const uint8_t *bytes = text->bytes.size > 0 ? text->bytes.data : (const uint8_t *)"";
    for (uint32_t i = 0; i < text->count; i++)
        text->names[i] = (struct tfs_span){bytes + text->entries[i].at, text->entries[i].size};
    for (uint32_t i = 0; i < text->count; i++)
        if (check_entry(text, i, old, err) < 0)
            return err->code;
    return 0;
}
