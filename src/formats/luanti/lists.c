/*
 * Sections of objects, timers and names -> their ends; objects and timers <-> their lines.
 *
 *   7 8.5 -0.4999 3 0108...             an object: TYPE X Y Z HEX, in nodes from the block's corner
 *   3 0 15 2.5 0.75                     a timer: X Y Z TIMEOUT ELAPSED, in seconds
 *
 * Must not know what an object is.
 */
#include "formats/luanti/lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "text/decimal.h"
#include "text/table.h"

#define TIMERS_LENGTH     10 /* of one timer, which is also the version of the list */
#define TIMER_DIGITS      3  /* behind the point: milliseconds */
#define POSITION_DIGITS   4
#define POSITION_PER_NODE 10000
#define PER_BLOCK         (INT64_C(16) * POSITION_PER_NODE)

void tfs_luanti_u16(struct tfs_buf *out, uint32_t v)
{
    tfs_buf_u8(out, (uint8_t)(v >> 8));
    tfs_buf_u8(out, (uint8_t)v);
}

/* ---- where they end -------------------------------------------------------------------------- */

static bool has_timers(uint8_t version)
{
    return version >= TFS_LUANTI_VERSION_EARLY_TIMERS;
}

/* The byte in front of timers: 10, or in version 24 whether there are any. */
static bool take_timers_head(struct tfs_cursor *c, uint8_t version, uint32_t *count)
{
    const uint8_t own = tfs_take_u8(c);
    const bool early = version == TFS_LUANTI_VERSION_EARLY_TIMERS;

    *count = early && own == 0 ? 0 : tfs_take_u16be(c);
    return early ? own <= 1 : own == TIMERS_LENGTH;
}

static int skip_timers(struct tfs_cursor *c, uint8_t version, struct tfs_error *err)
{
    const size_t offset = tfs_cursor_offset(c);
    uint32_t count;

    if (!take_timers_head(c, version, &count) && !c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the timers have an unknown length", offset);
    for (; count > 0 && !c->failed; count--) {
        struct tfs_cursor timer = tfs_cursor_init(tfs_take(c, TIMERS_LENGTH));
        const uint16_t place = tfs_take_u16be(&timer);
        if (place >= TFS_LUANTI_VOXELS)
            return tfs_fail(err, -EBADMSG, "a timer at place %u, there are %u", place,
                            TFS_LUANTI_VOXELS);
    }
    return 0;
}

static void skip_objects(struct tfs_cursor *c)
{
    for (uint32_t count = tfs_take_u16be(c); count > 0 && !c->failed; count--) {
        tfs_take(c, 1 + 3 * 4);
        tfs_take(c, tfs_take_u16be(c));
    }
}

static void skip_names(struct tfs_cursor *c)
{
    for (uint32_t count = tfs_take_u16be(c); count > 0 && !c->failed; count--) {
        tfs_take_u16be(c);
        tfs_take(c, tfs_take_u16be(c));
    }
}

int tfs_luanti_list_skip(struct tfs_cursor *c, enum tfs_luanti_section section, uint8_t version,
                         struct tfs_error *err)
{
    const size_t offset = tfs_cursor_offset(c);
    const char *what = section == TFS_LUANTI_NAMES     ? "names"
                       : section == TFS_LUANTI_OBJECTS ? "objects"
                                                       : "timers";

    if (section == TFS_LUANTI_METADATA)
        return tfs_luanti_metadata_skip(c, version, err);
    if (section == TFS_LUANTI_TIMERS)
        skip_timers(c, version, err);
    else if (tfs_take_u8(c) != 0 && !c->failed)
        tfs_fail(err, -EBADMSG, "offset %zu: the %s have an unknown version", offset, what);
    else if (section == TFS_LUANTI_OBJECTS)
        skip_objects(c);
    else
        skip_names(c);
    if (c->failed)
        tfs_fail(err, -EBADMSG, "offset %zu: the %s are cut off", offset, what);
    return err->code;
}

uint32_t tfs_luanti_list_count(const struct tfs_luanti_block *block,
                               enum tfs_luanti_section section)
{
    struct tfs_cursor c = tfs_cursor_init(block->sections[section]);
    uint32_t count = 0;

    if (section == TFS_LUANTI_TIMERS)
        take_timers_head(&c, block->version, &count);
    else if (section == TFS_LUANTI_METADATA && block->version < TFS_LUANTI_VERSION_METADATA)
        count = tfs_take_u32be(&c) & UINT16_MAX;
    else if (tfs_take_u8(&c) != 0 || section != TFS_LUANTI_METADATA)
        count = tfs_take_u16be(&c);
    return count;
}

void tfs_luanti_list_empty(struct tfs_buf *out, enum tfs_luanti_section section, uint8_t version)
{
    if (section == TFS_LUANTI_METADATA && version < TFS_LUANTI_VERSION_METADATA) {
        tfs_luanti_u16(out, 1);
        tfs_luanti_u16(out, 0);
    } else if (section != TFS_LUANTI_TIMERS || version == TFS_LUANTI_VERSION_EARLY_TIMERS) {
        tfs_buf_u8(out, 0);
        if (section == TFS_LUANTI_OBJECTS)
            tfs_luanti_u16(out, 0);
    } else if (has_timers(version)) {
        tfs_buf_u8(out, TIMERS_LENGTH);
        tfs_luanti_u16(out, 0);
    }
}

bool tfs_luanti_place_is_air(const struct tfs_luanti_block *block, uint16_t place)
{
    return tfs_luanti_is_air(block->names[block->nodes[tfs_luanti_place(place)]].name);
}

void tfs_luanti_list_warn(const struct tfs_luanti_block *block, struct tfs_error *warning)
{
    struct tfs_cursor c = tfs_cursor_init(block->sections[TFS_LUANTI_TIMERS]);
    const char *kind = "metadata";
    uint32_t count;
    uint16_t place = 0;
    bool found = tfs_luanti_metadata_of_air(block, &place);

    for (take_timers_head(&c, block->version, &count); count > 0 && !found; count--) {
        struct tfs_cursor timer = tfs_cursor_init(tfs_take(&c, TIMERS_LENGTH));
        kind = "a timer";
        place = tfs_take_u16be(&timer);
        found = tfs_luanti_place_is_air(block, place);
    }
    if (block->timestamp == TFS_LUANTI_NO_TIMESTAMP &&
        tfs_luanti_list_count(block, TFS_LUANTI_OBJECTS) > 0)
        tfs_fail(warning, -EBADMSG,
                 "objects of a block without a timestamp, which the game removes");
    else if (found)
        tfs_fail(warning, -EBADMSG, "%s at %u %u %u, where there is air", kind, place & 0xfu,
                 place >> 4 & 0xfu, place >> 8);
}

/* ---- words of a line ------------------------------------------------------------------------- */

void tfs_luanti_place_print(struct tfs_buf *out, uint32_t place)
{
    for (unsigned shift = 0; shift < 12; shift += 4) {
        tfs_table_print_number(out, place >> shift & 0xf);
        tfs_buf_u8(out, ' ');
    }
}

/* The next word of the line, which must be there. */
static int take_word(struct tfs_line *line, const char *what, struct tfs_line *word,
                     struct tfs_error *err)
{
    return tfs_line_word(line, word) ? 0 : tfs_fail_line(err, line, "%s is missing", what);
}

int tfs_luanti_place_take(struct tfs_line *line, uint16_t *place, struct tfs_error *err)
{
    static const char *const what[] = {"x", "y", "z"};
    struct tfs_line word;
    uint32_t found = 0;
    int64_t number;

    for (unsigned i = 0; i < 3; i++) {
        if (take_word(line, what[i], &word, err) < 0 ||
            tfs_line_number(&word, what[i], 0, TFS_LUANTI_SIDE - 1, &number, err) < 0)
            return err->code;
        found |= (uint32_t)number << 4 * i;
    }
    *place = (uint16_t)found;
    return 0;
}

/* A number with so many digits behind the point, as few of them as say it. */
static void print_fixed(struct tfs_buf *out, int64_t value, unsigned digits)
{
    uint8_t text[TFS_DECIMAL_MAX + 2], *point;
    uint64_t size = (uint64_t)(value < 0 ? -value : value), scale = 1;

    for (unsigned i = 0; i < digits; i++)
        scale *= 10;
    if (value < 0)
        tfs_buf_u8(out, '-');
    tfs_buf_add(out, text, tfs_decimal_put(text, size / scale));
    if (size % scale == 0)
        return;
    /* A leading 1 keeps the zeros behind the point. */
    size_t length = tfs_decimal_put(text, size % scale + scale);
    for (point = text; text[length - 1] == '0';)
        length--;
    *point = '.';
    tfs_buf_add(out, text, length);
}

static int take_fixed(const struct tfs_line *word, unsigned digits, int64_t *value,
                      struct tfs_error *err)
{
    const uint8_t *at = word->text.data, *const end = at + word->text.size;
    const bool negative = at < end && *at == '-';
    int64_t number = 0;
    unsigned before = 0, behind = 0;

    for (at += negative; at < end && *at >= '0' && *at <= '9' && before < 12; at++, before++)
        number = number * 10 + (*at - '0');
    if (at < end && *at == '.' && end - at > 1)
        for (at++; at < end && *at >= '0' && *at <= '9' && behind < digits; at++, behind++)
            number = number * 10 + (*at - '0');
    if (before == 0 || at != end)
        return tfs_fail_line(err, word, "this is no number with up to %u digits behind the point",
                             digits);
    for (; behind < digits; behind++)
        number *= 10;
    *value = negative ? -number : number;
    return 0;
}

void tfs_luanti_hex_print(struct tfs_buf *out, struct tfs_span bytes)
{
    uint8_t *at = bytes.size == 0 ? NULL : tfs_buf_reserve(out, 1 + 2 * bytes.size);

    if (at == NULL)
        return;
    *at++ = ' ';
    for (size_t i = 0; i < bytes.size; i++) {
        *at++ = (uint8_t) "0123456789abcdef"[bytes.data[i] >> 4];
        *at++ = (uint8_t) "0123456789abcdef"[bytes.data[i] & 15];
    }
    out->size += 1 + 2 * bytes.size;
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The rest of the line, as bytes with their number in front. */
static int add_hex(struct tfs_buf *out, const struct tfs_line *hex, struct tfs_error *err)
{
    const struct tfs_span text = hex->text;

    if (text.size % 2 != 0 || text.size / 2 > UINT16_MAX)
        return tfs_fail_line(err, hex, "%zu hex digits: pairs of them are needed, at most %d",
                             text.size, UINT16_MAX);
    tfs_luanti_u16(out, (uint32_t)(text.size / 2));
    for (size_t i = 0; i < text.size; i += 2) {
        const int high = digit_of(text.data[i]), low = digit_of(text.data[i + 1]);
        if (high < 0 || low < 0)
            return tfs_fail_at(err, -EBADMSG, hex->number, hex->column + (uint32_t)i,
                               "this is no pair of hex digits");
        tfs_buf_u8(out, (uint8_t)(high << 4 | low));
    }
    return 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

void tfs_luanti_timers_print(const struct tfs_luanti_block *block, struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(block->sections[TFS_LUANTI_TIMERS]);
    uint32_t count;

    for (take_timers_head(&c, block->version, &count); count > 0; count--) {
        tfs_luanti_place_print(out, tfs_take_u16be(&c));
        print_fixed(out, tfs_take_s32be(&c), TIMER_DIGITS);
        tfs_buf_u8(out, ' ');
        print_fixed(out, tfs_take_s32be(&c), TIMER_DIGITS);
        tfs_buf_u8(out, '\n');
    }
}

struct timer {
    uint16_t place;
    int32_t timeout, elapsed;
    size_t order;
};

static int take_seconds(struct tfs_line *line, const char *what, int32_t *ms, struct tfs_error *err)
{
    struct tfs_line word;
    int64_t value;

    if (take_word(line, what, &word, err) < 0 || take_fixed(&word, TIMER_DIGITS, &value, err) < 0)
        return err->code;
    if (value < INT32_MIN || value > INT32_MAX)
        return tfs_fail_line(err, &word, "%s is out of range, at most 2147483 seconds", what);
    *ms = (int32_t)value;
    return 0;
}

static int take_timer(struct tfs_line line, struct timer *timer, struct tfs_error *err)
{
    if (tfs_luanti_place_take(&line, &timer->place, err) < 0 ||
        take_seconds(&line, "the timeout", &timer->timeout, err) < 0 ||
        take_seconds(&line, "the elapsed time", &timer->elapsed, err) < 0)
        return err->code;
    return line.text.size > 0 ? tfs_fail_line(err, &line, "a timer has five numbers") : 0;
}

/* The one that ends first is the first. */
static int compare_timers(const void *left, const void *right)
{
    const struct timer *a = left, *b = right;
    const int64_t x = (int64_t)a->timeout - a->elapsed, y = (int64_t)b->timeout - b->elapsed;

    return x != y ? (x > y) - (x < y) : (a->order > b->order) - (a->order < b->order);
}

static void encode_timers(struct timer *timers, size_t count, uint8_t version, struct tfs_buf *out)
{
    if (count > 0)
        qsort(timers, count, sizeof(*timers), compare_timers);
    tfs_buf_u8(out, version == TFS_LUANTI_VERSION_EARLY_TIMERS ? 1 : TIMERS_LENGTH);
    tfs_luanti_u16(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tfs_luanti_u16(out, timers[i].place);
        tfs_buf_u32be(out, (uint32_t)timers[i].timeout);
        tfs_buf_u32be(out, (uint32_t)timers[i].elapsed);
    }
}

int tfs_luanti_timers_parse(uint8_t version, struct tfs_span text, struct tfs_buf *out,
                            struct tfs_error *err)
{
    struct timer *timers = NULL;
    struct tfs_lines lines;
    struct tfs_line line;
    size_t count = 0;

    if (!has_timers(version))
        return tfs_fail(err, -EBADMSG, "a block of version %u has no timers", version);
    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while (err->code == 0 && tfs_lines_next(&lines, &line)) {
        struct timer *more = tfs_array_grow(timers, count, sizeof(*timers));
        if (more == NULL) {
            tfs_fail_memory(err);
            break;
        }
        timers = more;
        timers[count] = (struct timer){.order = count};
        if (take_timer(line, &timers[count], err) == 0 && ++count > UINT16_MAX)
            tfs_fail_line(err, &line, "more than %d timers", UINT16_MAX);
    }
    if (err->code == 0 && count > 0)
        encode_timers(timers, count, version, out);
    free(timers);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

/* ---- objects --------------------------------------------------------------------------------- */

static int64_t corner(struct tfs_key key, unsigned axis)
{
    const int32_t at[] = {key.x, key.y, key.z};

    return at[axis] * PER_BLOCK;
}

void tfs_luanti_objects_print(const struct tfs_luanti_block *block, struct tfs_key key,
                              struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(block->sections[TFS_LUANTI_OBJECTS]);

    tfs_take_u8(&c);
    for (uint32_t count = tfs_take_u16be(&c); count > 0; count--) {
        tfs_table_print_number(out, tfs_take_u8(&c));
        for (unsigned axis = 0; axis < 3; axis++) {
            tfs_buf_u8(out, ' ');
            print_fixed(out, tfs_take_s32be(&c) - corner(key, axis), POSITION_DIGITS);
        }
        tfs_luanti_hex_print(out, tfs_take(&c, tfs_take_u16be(&c)));
        tfs_buf_u8(out, '\n');
    }
}

static int add_position(struct tfs_buf *out, struct tfs_line *line, int64_t corner_at,
                        struct tfs_error *err)
{
    struct tfs_line word;
    int64_t value;

    if (take_word(line, "a coordinate", &word, err) < 0 ||
        take_fixed(&word, POSITION_DIGITS, &value, err) < 0)
        return err->code;
    value += corner_at;
    if (value < INT32_MIN || value > INT32_MAX)
        return tfs_fail_line(err, &word, "the object is outside the world");
    tfs_buf_u32be(out, (uint32_t)value);
    return 0;
}

static int add_object(struct tfs_buf *out, struct tfs_line line, struct tfs_key key,
                      struct tfs_error *err)
{
    struct tfs_line word;
    int64_t type;

    if (take_word(&line, "the type", &word, err) < 0 ||
        tfs_line_number(&word, "the type", 0, UINT8_MAX, &type, err) < 0)
        return err->code;
    tfs_buf_u8(out, (uint8_t)type);
    for (unsigned axis = 0; axis < 3; axis++)
        if (add_position(out, &line, corner(key, axis), err) < 0)
            return err->code;
    return add_hex(out, &line, err);
}

int tfs_luanti_objects_parse(struct tfs_key key, struct tfs_span text, struct tfs_buf *out,
                             struct tfs_error *err)
{
    struct tfs_buf objects = {0};
    struct tfs_lines lines;
    struct tfs_line line;
    uint32_t count = 0;

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while (err->code == 0 && tfs_lines_next(&lines, &line))
        if (add_object(&objects, line, key, err) == 0 && ++count > UINT16_MAX)
            tfs_fail_line(err, &line, "more than %d objects", UINT16_MAX);
    if (err->code == 0 && count > 0) {
        tfs_buf_u8(out, 0);
        tfs_luanti_u16(out, count);
        tfs_buf_add_span(out, tfs_buf_span(&objects));
    }
    if (err->code == 0)
        tfs_buf_check(&objects, err);
    tfs_buf_release(&objects);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

/* ---- objects of a block that moves ----------------------------------------------------------- */

static int32_t clamp(int64_t v)
{
    return (int32_t)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}

void tfs_luanti_objects_move(struct tfs_span objects, struct tfs_key from, struct tfs_key to,
                             struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(objects);

    tfs_buf_add_span(out, tfs_take(&c, 1));
    const uint16_t count = tfs_take_u16be(&c);
    tfs_luanti_u16(out, count);
    for (uint32_t i = 0; i < count; i++) {
        tfs_buf_u8(out, tfs_take_u8(&c));
        for (unsigned axis = 0; axis < 3; axis++)
            tfs_buf_u32be(
                out, (uint32_t)clamp(tfs_take_s32be(&c) + corner(to, axis) - corner(from, axis)));
        const uint16_t size = tfs_take_u16be(&c);
        tfs_luanti_u16(out, size);
        tfs_buf_add_span(out, tfs_take(&c, size));
    }
}

/* The block of a position: nodes reach half a node around their middle. */
static int32_t block_of(int64_t position)
{
    position += POSITION_PER_NODE / 2;
    return (int32_t)(position / PER_BLOCK - (position % PER_BLOCK < 0));
}

bool tfs_luanti_objects_block(struct tfs_span objects, struct tfs_key *key)
{
    struct tfs_cursor c = tfs_cursor_init(objects);
    bool same = true;

    tfs_take_u8(&c);
    const uint16_t count = tfs_take_u16be(&c);
    for (uint32_t i = 0; i < count; i++) {
        struct tfs_key at = {0};
        tfs_take_u8(&c);
        at.x = block_of(tfs_take_s32be(&c));
        at.y = block_of(tfs_take_s32be(&c));
        at.z = block_of(tfs_take_s32be(&c));
        tfs_take(&c, tfs_take_u16be(&c));
        same = same && (i == 0 || tfs_key_compare(at, *key) == 0);
        *key = i == 0 ? at : *key;
    }
    return count > 0 && same;
}
