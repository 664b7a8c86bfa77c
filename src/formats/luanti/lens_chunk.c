/*
 * metadata.txt, timers.txt, objects.txt: a list each, absent when it has no item; state.txt: the
 * head of the block; raw.bin: the blob.
 *
 * Must not know what lists hold (metadata.c, lists.c).
 */
#include <errno.h>
#include <string.h>

#include "formats/luanti/lenses.h"
#include "formats/cells/written.h"
#include "formats/luanti/lists.h"
#include "formats/luanti/cells.h"
#include "formats/views/views.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static const enum tfs_luanti_section sections[] = {TFS_LUANTI_METADATA, TFS_LUANTI_TIMERS,
                                                   TFS_LUANTI_OBJECTS};

static enum tfs_luanti_section section_of(struct tfs_at at)
{
    return *(const enum tfs_luanti_section *)at.param;
}

static void print_list(const struct tfs_cells *cells, enum tfs_luanti_section section,
                       struct tfs_buf *out)
{
    if (section == TFS_LUANTI_METADATA)
        tfs_luanti_metadata_print(tfs_luanti_block_of(cells), out);
    else if (section == TFS_LUANTI_TIMERS)
        tfs_luanti_timers_print(tfs_luanti_block_of(cells), out);
    else
        tfs_luanti_objects_print(tfs_luanti_block_of(cells), cells->chunk.key, out);
}

static int parse_list(const struct tfs_cells *cells, enum tfs_luanti_section section,
                      struct tfs_span text, struct tfs_buf *out, struct tfs_error *err)
{
    if (section == TFS_LUANTI_METADATA)
        return tfs_luanti_metadata_parse(tfs_luanti_block_of(cells)->version, text, out, err);
    if (section == TFS_LUANTI_TIMERS)
        return tfs_luanti_timers_parse(tfs_luanti_block_of(cells)->version, text, out, err);
    return tfs_luanti_objects_parse(cells->chunk.key, text, out, err);
}

static int list_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_need(save, doc, at.key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    if (tfs_luanti_list_count(tfs_luanti_block_of(cells), section_of(at)) == 0)
        tfs_fail(err, -ENOENT, "the chunk has none of these");
    else
        print_list(cells, section_of(at), out);
    tfs_cells_unref(cells);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int list_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cells *cells;
    struct tfs_error why = {0};

    if (tfs_cells_need(save, doc, at.key, TFS_CELLS_ALL, &cells, &why) < 0)
        return why.code == -EBUSY ? why.code : 0;
    const bool there = tfs_luanti_list_count(tfs_luanti_block_of(cells), section_of(at)) > 0;
    tfs_cells_unref(cells);
    return there;
}

static int store_section(struct tfs_edit *edit, const struct tfs_cells *cells,
                         enum tfs_luanti_section section, struct tfs_span bytes,
                         struct tfs_error *err)
{
    struct tfs_luanti_block next = *tfs_luanti_block_of(cells);

    next.sections[section] = bytes;
    /* The engine removes the objects of a block without a timestamp. */
    if (section == TFS_LUANTI_OBJECTS && next.timestamp == TFS_LUANTI_NO_TIMESTAMP)
        next.timestamp = 0;
    if (section == TFS_LUANTI_METADATA)
        next.streams[section] = (struct tfs_span){0};
    return tfs_luanti_cells_store(edit, cells, &next, err);
}

/* Is this the text that the file shows? Then the stored bytes stay, even if they are not
 * canonical. */
static int is_shown(const struct tfs_cells *cells, enum tfs_luanti_section section,
                    struct tfs_span text, bool *shown, struct tfs_error *err)
{
    struct tfs_buf now = {0};

    print_list(cells, section, &now);
    *shown = tfs_span_equal(tfs_buf_span(&now), text);
    tfs_buf_check(&now, err);
    tfs_buf_release(&now);
    return err->code;
}

/* Do both say the same, apart from spacing and order? */
static int says_as_much(const struct tfs_cells *cells, enum tfs_luanti_section section,
                        struct tfs_span bytes, bool *same, struct tfs_error *err)
{
    struct tfs_buf now = {0}, stored = {0};
    struct tfs_error ignored = {0};

    print_list(cells, section, &now);
    *same = tfs_buf_check(&now, err) == 0 &&
            parse_list(cells, section, tfs_buf_span(&now), &stored, &ignored) == 0 &&
            tfs_span_equal(tfs_buf_span(&stored), bytes);
    tfs_buf_release(&now);
    tfs_buf_release(&stored);
    return err->code;
}

static int list_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const enum tfs_luanti_section section = section_of(at);
    struct tfs_cells *cells;
    struct tfs_buf bytes = {0};
    bool same = false;

    (void)put;
    if (tfs_cells_need(save, tfs_edit_doc(edit), at.key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    if (is_shown(cells, section, text, &same, err) < 0 || same ||
        parse_list(cells, section, text, &bytes, err) < 0)
        goto out;
    if (bytes.size == 0)
        tfs_fail(err, -EBADMSG, "the text has no line: to have none of these, remove the file");
    else if (says_as_much(cells, section, tfs_buf_span(&bytes), &same, err) == 0 && !same)
        store_section(edit, cells, section, tfs_buf_span(&bytes), err);
out:
    tfs_buf_release(&bytes);
    tfs_cells_unref(cells);
    return err->code;
}

static int list_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_error *err)
{
    struct tfs_cells *cells;
    struct tfs_buf bytes = {0};

    if (tfs_cells_need(save, tfs_edit_doc(edit), at.key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    tfs_luanti_list_empty(&bytes, section_of(at), tfs_luanti_block_of(cells)->version);
    if (tfs_buf_check(&bytes, err) == 0 &&
        tfs_luanti_list_count(tfs_luanti_block_of(cells), section_of(at)) > 0)
        store_section(edit, cells, section_of(at), tfs_buf_span(&bytes), err);
    tfs_buf_release(&bytes);
    tfs_cells_unref(cells);
    return err->code;
}

#define LIST_LENS(index)                                                                           \
    {                                                                                              \
        .param = &sections[index], .get = list_get, .put = list_put, .exists = list_exists,        \
        .remove = list_remove,                                                                     \
    }

const struct tfs_lens tfs_luanti_metadata_lens = LIST_LENS(0);
const struct tfs_lens tfs_luanti_timers_lens = LIST_LENS(1);
const struct tfs_lens tfs_luanti_objects_lens = LIST_LENS(2);

/* ---- state.txt ------------------------------------------------------------------------------- */

/* The keys of state.txt. */
enum state { VERSION, GENERATED, UNDERGROUND, TIMESTAMP, LIGHTING, STATES };

static const char *const state_names[STATES] = {"version", "generated", "underground", "timestamp",
                                                "lighting_complete"};

static void print_state(const struct tfs_luanti_block *b, struct tfs_buf *out)
{
    tfs_buf_printf(out, "version %u\ngenerated %s\nunderground %s\n", b->version,
                   (b->flags & TFS_LUANTI_NOT_GENERATED) != 0 ? "no" : "yes",
                   (b->flags & TFS_LUANTI_UNDERGROUND) != 0 ? "yes" : "no");
    if (b->timestamp == TFS_LUANTI_NO_TIMESTAMP)
        tfs_buf_add_text(out, "timestamp none\n");
    else
        tfs_buf_printf(out, "timestamp %u\n", b->timestamp);
    if (b->version >= TFS_LUANTI_VERSION_LIGHTING)
        tfs_buf_printf(out, "lighting_complete %04x\n", b->lighting);
}

static int state_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_need(save, doc, at.key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    print_state(tfs_luanti_block_of(cells), out);
    tfs_cells_unref(cells);
    return tfs_buf_check(out, err);
}

static bool is_word(const struct tfs_line *word, const char *text)
{
    return tfs_span_equal(word->text, tfs_span_of(text));
}

/* `yes` or `no`: sets the flag, or with `inverse` clears it. */
static int take_flag(const struct tfs_line *word, uint8_t flag, bool inverse, uint8_t *flags,
                     struct tfs_error *err)
{
    if (!is_word(word, "yes") && !is_word(word, "no"))
        return tfs_fail_line(err, word, "`yes` or `no` is needed here");
    if (is_word(word, "yes") != inverse)
        *flags |= flag;
    else
        *flags &= (uint8_t)~flag;
    return 0;
}

static int take_timestamp(const struct tfs_line *word, uint32_t *timestamp, struct tfs_error *err)
{
    int64_t number = TFS_LUANTI_NO_TIMESTAMP;

    if (!is_word(word, "none") &&
        tfs_line_number(word, "timestamp", 0, TFS_LUANTI_NO_TIMESTAMP - 1, &number, err) < 0)
        return err->code;
    *timestamp = (uint32_t)number;
    return 0;
}

static int take_lighting(const struct tfs_line *word, struct tfs_luanti_block *b, bool fresh,
                         struct tfs_error *err)
{
    uint32_t number = 0;

    if (b->version < TFS_LUANTI_VERSION_LIGHTING)
        return fresh ? 0
                     : tfs_fail_line(err, word, "a block of version %u has no lighting_complete",
                                     b->version);
    for (size_t i = 0; i < word->text.size; i++) {
        const uint8_t c = word->text.data[i];
        const char *digit = c == 0 ? NULL : strchr("0123456789abcdef", c);
        if (digit == NULL || word->text.size != 4)
            return tfs_fail_line(err, word, "lighting_complete has four hex digits");
        number = number << 4 | (uint32_t)(digit - "0123456789abcdef");
    }
    b->lighting = (uint16_t)number;
    return 0;
}

/* Can a new block be of that version instead? Not of one that the engine of this world may not
 * read, and not of those that show no metadata or keep their timers elsewhere. */
static bool may_become(const struct tfs_luanti_block *b, int64_t version)
{
    return version >= TFS_LUANTI_VERSION_TIMERS && version < b->version;
}

static int take_version(const struct tfs_line *word, struct tfs_luanti_block *b, bool fresh,
                        struct tfs_error *err)
{
    int64_t number;

    if (tfs_line_number(word, "version", TFS_LUANTI_VERSION_MIN, TFS_LUANTI_VERSION_MAX, &number,
                        err) < 0)
        return err->code;
    if (!fresh && number != b->version)
        return tfs_fail_line(err, word, "the block has version %u, which cannot be changed",
                             b->version);
    if (may_become(b, number))
        b->version = (uint8_t)number;
    return 0;
}

static int take_state(struct tfs_line line, struct tfs_luanti_block *b, bool fresh, unsigned *given,
                      struct tfs_error *err)
{
    struct tfs_line key, word;
    unsigned which = 0;

    if (!tfs_line_word(&line, &key) || !tfs_line_word(&line, &word) || line.text.size > 0)
        return tfs_fail_line(err, &line, "a line has a key and a value");
    while (which < STATES && !is_word(&key, state_names[which]))
        which++;
    if (which == STATES || (*given & 1u << which) != 0)
        return tfs_fail_line(
            err, &key, which == STATES ? "there is no such key" : "this key was given already");
    *given |= 1u << which;
    switch ((enum state)which) {
    case VERSION:
        return take_version(&word, b, fresh, err);
    case GENERATED:
        return take_flag(&word, TFS_LUANTI_NOT_GENERATED, true, &b->flags, err);
    case UNDERGROUND:
        return take_flag(&word, TFS_LUANTI_UNDERGROUND, false, &b->flags, err);
    case TIMESTAMP:
        return take_timestamp(&word, &b->timestamp, err);
    case LIGHTING:
        return take_lighting(&word, b, fresh, err);
    case STATES:
        break;
    }
    return 0;
}

/* Stores the head; of another version the metadata, too, which has another form there. */
static int store_state(struct tfs_edit *edit, const struct tfs_cells *cells,
                       struct tfs_luanti_block *next, struct tfs_error *err)
{
    struct tfs_buf text = {0}, metadata = {0};

    if (next->version != tfs_luanti_block_of(cells)->version) {
        print_list(cells, TFS_LUANTI_METADATA, &text);
        if (tfs_buf_check(&text, err) == 0)
            tfs_luanti_metadata_parse(next->version, tfs_buf_span(&text), &metadata, err);
        if (metadata.size == 0)
            tfs_luanti_list_empty(&metadata, TFS_LUANTI_METADATA, next->version);
        tfs_buf_check(&metadata, err);
        next->sections[TFS_LUANTI_METADATA] = tfs_buf_span(&metadata);
        for (size_t i = 0; i <= TFS_LUANTI_METADATA; i++)
            next->streams[i] = (struct tfs_span){0};
    }
    if (err->code == 0)
        tfs_luanti_cells_store(edit, cells, next, err);
    tfs_buf_release(&text);
    tfs_buf_release(&metadata);
    return err->code;
}

/* A key without a line keeps its value. */
static int state_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cells *cells;
    struct tfs_lines lines;
    struct tfs_line line;
    unsigned given = 0;

    if (tfs_cells_need(save, tfs_edit_doc(edit), at.key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    struct tfs_luanti_block next = *tfs_luanti_block_of(cells);
    if (tfs_lines_init(&lines, text, err) == 0)
        while (tfs_lines_next(&lines, &line) &&
               take_state(line, &next, put->fresh, &given, err) == 0)
            continue;
    if (err->code == 0 && (next.version != tfs_luanti_block_of(cells)->version ||
                           next.flags != tfs_luanti_block_of(cells)->flags ||
                           next.lighting != tfs_luanti_block_of(cells)->lighting ||
                           next.timestamp != tfs_luanti_block_of(cells)->timestamp))
        store_state(edit, cells, &next, err);
    if (put->values != NULL)
        tfs_written_values_apart(put->values);
    tfs_cells_unref(cells);
    return err->code;
}

const struct tfs_lens tfs_luanti_state_lens = {.get = state_get, .put = state_put};

/* ---- raw.bin --------------------------------------------------------------------------------- */

/* Objects know where they are in the world. A copy of another chunk has its objects here, not
 * there. */
static int put_copy(struct tfs_edit *edit, const struct tfs_cells *cells,
                    const struct tfs_luanti_block *copy, struct tfs_span bytes,
                    struct tfs_error *err)
{
    struct tfs_luanti_block next = *copy;
    struct tfs_buf objects = {0};
    struct tfs_key from;

    if (!tfs_luanti_objects_block(copy->sections[TFS_LUANTI_OBJECTS], &from) ||
        tfs_key_compare(from, cells->chunk.key) == 0)
        return tfs_luanti_cells_put(edit, cells, bytes, err);
    tfs_luanti_objects_move(copy->sections[TFS_LUANTI_OBJECTS], from, cells->chunk.key, &objects);
    next.sections[TFS_LUANTI_OBJECTS] = tfs_buf_span(&objects);
    if (tfs_buf_check(&objects, err) == 0)
        tfs_luanti_cells_store(edit, cells, &next, err);
    tfs_buf_release(&objects);
    return err->code;
}

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cells *cells;
    struct tfs_luanti_block block;

    if (tfs_cells_open(save, tfs_edit_doc(edit), at.key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    const bool same = tfs_span_equal(tfs_blob_span(cells->stored), text);
    if (!same && tfs_luanti_block_open(text, &block, err) == 0) {
        if (put->fresh)
            put_copy(edit, cells, &block, text, err);
        else
            tfs_luanti_cells_put(edit, cells, text, err);
        tfs_luanti_block_release(&block);
    }
    tfs_cells_unref(cells);
    return err->code;
}

const struct tfs_lens tfs_luanti_raw_lens = {
    .get = tfs_raw_get, .put = raw_put, .size = tfs_raw_size};
