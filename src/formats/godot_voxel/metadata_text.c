/*
 * Items of metadata <-> the lines of metadata.txt.
 *
 * Must not know how a section is laid out. A text is validated by encoding it: its lines are
 * sorted, encoded and read again, and what differs then is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/godot_voxel/metadata_items.h"
#include "text/decimal.h"
#include "text/lines.h"
#include "text/name.h"

static const char *const type_names[] = {
    [TFS_GODOT_ITEM_EMPTY] = "empty",     [TFS_GODOT_ITEM_U64] = "u64",
    [TFS_GODOT_ITEM_VARIANT] = "variant", [TFS_GODOT_ITEM_CUSTOM] = "custom",
    [TFS_GODOT_ITEM_OPAQUE] = "opaque",   [TFS_GODOT_ITEM_REST] = "rest",
};

/* ---- printing -------------------------------------------------------------------------------- */

static void put_number(struct tfs_buf *out, uint64_t v)
{
    uint8_t digits[TFS_DECIMAL_MAX];

    tfs_buf_u8(out, ' ');
    tfs_buf_add(out, digits, tfs_decimal_put(digits, v));
}

static void put_hex(struct tfs_buf *out, struct tfs_span bytes)
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

static void print_item(const struct tfs_godot_item *item, struct tfs_buf *out)
{
    if (item->voxel) {
        tfs_buf_add_text(out, "voxel");
        put_number(out, item->x);
        put_number(out, item->y);
        put_number(out, item->z);
        tfs_buf_u8(out, ' ');
    } else if (item->type != TFS_GODOT_ITEM_REST) {
        tfs_buf_add_text(out, "block ");
    }
    tfs_buf_add_text(out, type_names[item->type]);
    if (item->type == TFS_GODOT_ITEM_CUSTOM)
        put_number(out, item->custom);
    if (item->type == TFS_GODOT_ITEM_U64) {
        struct tfs_cursor c = tfs_cursor_init(item->bytes);
        put_number(out, tfs_take_u64le(&c));
    } else if (item->type != TFS_GODOT_ITEM_EMPTY) {
        put_hex(out, item->bytes);
    }
    tfs_buf_u8(out, '\n');
}

static bool is_empty_block(const struct tfs_godot_item *item)
{
    return !item->voxel && item->type == TFS_GODOT_ITEM_EMPTY;
}

void tfs_godot_metadata_print(const struct tfs_godot_items *items, struct tfs_buf *out)
{
    for (size_t i = 0; i < items->count; i++)
        if (items->count == 1 || !is_empty_block(&items->items[i]))
            print_item(&items->items[i], out);
}

/* ---- parsing one line ------------------------------------------------------------------------ */

struct parser {
    const struct tfs_godot_block *block;
    struct tfs_buf bytes;         /* of all items; room for them was made at the start */
    struct tfs_godot_items items; /* as typed */
    struct tfs_line last;         /* the line that takes everything behind it, if there is one */
    unsigned engines;             /* that read the Variants so far */
    struct tfs_line newer; /* the first Variant that Godot 3 does not read, if there is one */
};

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes of a word of hex digits; of no word, none. */
static int parse_hex(struct parser *p, const struct tfs_line *word, struct tfs_span *bytes,
                     struct tfs_error *err)
{
    uint8_t *at = p->bytes.data + p->bytes.size;

    for (size_t i = 0; i < word->text.size; i++) {
        int digit = hex_digit(word->text.data[i]);
        if (digit < 0 || word->text.size % 2 != 0) {
            char found[TFS_QUOTED];
            return tfs_fail_line(err, word, "%s is not an even number of hex digits",
                                 tfs_name_quote(word->text, found));
        }
        at[i / 2] = (uint8_t)(i % 2 == 0 ? digit << 4 : at[i / 2] | digit);
    }
    *bytes = (struct tfs_span){at, word->text.size / 2};
    p->bytes.size += bytes->size;
    return 0;
}

/* The value of an item whose type is known: it must read back as that. */
static int take_hex(struct parser *p, struct tfs_line *line, struct tfs_godot_item *item,
                    struct tfs_error *err)
{
    struct tfs_line word = *line;
    const char *why;

    if (!tfs_line_word(line, &word))
        word.text.size = 0;
    if (parse_hex(p, &word, &item->bytes, err) < 0 ||
        tfs_godot_item_misread(p->block, item, &p->engines, &why, err) < 0)
        return err->code;
    if (why != NULL)
        return tfs_fail_line(err, &word, "%s", why);
    if ((p->engines >> TFS_GODOT_ENGINE_3 & 1) == 0 && p->newer.number == 0)
        p->newer = word;
    return 0;
}

static int take_u64(struct parser *p, struct tfs_line *line, struct tfs_span *bytes,
                    struct tfs_error *err)
{
    struct tfs_line word = *line;
    char found[TFS_QUOTED];
    uint64_t v = 0;

    if (!tfs_line_word(line, &word))
        return tfs_fail_line(err, line, "u64 needs a number");
    for (size_t i = 0; i < word.text.size; i++) {
        uint8_t digit = (uint8_t)(word.text.data[i] - '0');
        if (digit > 9)
            return tfs_fail_line(err, &word, "the value %s is not a number",
                                 tfs_name_quote(word.text, found));
        if (v > (UINT64_MAX - digit) / 10)
            return tfs_fail_line(err, &word, "value %s is out of range, it has 64 bits",
                                 tfs_name_quote(word.text, found));
        v = v * 10 + digit;
    }
    *bytes = (struct tfs_span){p->bytes.data + p->bytes.size, sizeof(v)};
    tfs_buf_u64le(&p->bytes, v);
    return 0;
}

static int take_coordinate(struct tfs_line *line, const char *name, uint32_t size, uint16_t *value,
                           struct tfs_error *err)
{
    struct tfs_line word = *line;
    int64_t v = 0;

    if (!tfs_line_word(line, &word))
        word.text.size = 0;
    if (tfs_line_number(&word, name, 0, (int64_t)size - 1, &v, err) < 0)
        return err->code;
    *value = (uint16_t)v;
    return 0;
}

static int take_position(const struct parser *p, struct tfs_line *line, struct tfs_godot_item *item,
                         struct tfs_error *err)
{
    item->voxel = true;
    if (take_coordinate(line, "x", p->block->x, &item->x, err) < 0 ||
        take_coordinate(line, "y", p->block->y, &item->y, err) < 0)
        return err->code;
    return take_coordinate(line, "z", p->block->z, &item->z, err);
}

/* A type that only blocks of version 4 have. */
static int check_version(const struct parser *p, const struct tfs_line *word,
                         const struct tfs_godot_item *item, struct tfs_error *err)
{
    bool newer = item->type == TFS_GODOT_ITEM_U64 || item->type == TFS_GODOT_ITEM_CUSTOM ||
                 item->type == TFS_GODOT_ITEM_REST ||
                 (item->type == TFS_GODOT_ITEM_OPAQUE && item->voxel);

    if (newer && p->block->version < TFS_GODOT_VERSION_MAX)
        return tfs_fail_line(err, word, "a block of version %u has no item of this type",
                             p->block->version);
    return 0;
}

static int take_type(struct parser *p, struct tfs_line *line, struct tfs_godot_item *item,
                     struct tfs_error *err)
{
    struct tfs_line word = *line, number;
    int64_t custom;

    if (!tfs_line_word(line, &word))
        return tfs_fail_line(err, line, "the type is missing");
    unsigned type = 0;
    while (type < TFS_GODOT_ITEM_REST && !tfs_span_equal(word.text, tfs_span_of(type_names[type])))
        type++;
    if (type == TFS_GODOT_ITEM_REST) {
        char found[TFS_QUOTED];
        return tfs_fail_line(err, &word,
                             "%s is not a type, which are empty, u64, variant, custom and opaque",
                             tfs_name_quote(word.text, found));
    }
    item->type = (enum tfs_godot_item_type)type;
    if (check_version(p, &word, item, err) < 0)
        return err->code;
    if (item->type == TFS_GODOT_ITEM_EMPTY)
        return 0;
    if (item->type == TFS_GODOT_ITEM_U64)
        return take_u64(p, line, &item->bytes, err);
    if (item->type == TFS_GODOT_ITEM_CUSTOM) {
        number = *line;
        if (!tfs_line_word(line, &number))
            number.text.size = 0;
        if (tfs_line_number(&number, "number of the type", TFS_GODOT_METADATA_CUSTOM, UINT8_MAX,
                            &custom, err) < 0)
            return err->code;
        item->custom = (uint8_t)custom;
    }
    return take_hex(p, line, item, err);
}

static int parse_line(struct parser *p, struct tfs_line line, struct tfs_godot_item *item,
                      struct tfs_error *err)
{
    struct tfs_line word = line;
    char found[TFS_QUOTED];

    tfs_line_word(&line, &word);
    if (tfs_span_equal(word.text, tfs_span_of("rest"))) {
        item->type = TFS_GODOT_ITEM_REST;
        if (check_version(p, &word, item, err) < 0 || take_hex(p, &line, item, err) < 0)
            return err->code;
    } else if (tfs_span_equal(word.text, tfs_span_of("voxel"))) {
        if (take_position(p, &line, item, err) < 0 || take_type(p, &line, item, err) < 0)
            return err->code;
    } else if (!tfs_span_equal(word.text, tfs_span_of("block"))) {
        return tfs_fail_line(err, &word, "%s is not one of block, voxel and rest",
                             tfs_name_quote(word.text, found));
    } else if (take_type(p, &line, item, err) < 0) {
        return err->code;
    }
    if (line.text.size > 0)
        return tfs_fail_line(err, &line, "nothing can stand here any more");
    return 0;
}

/* Only one line may take what is behind it, and beside one of the block no other line stands. */
static int check_last(struct parser *p, const struct tfs_line *line,
                      const struct tfs_godot_item *item, struct tfs_error *err)
{
    if (!tfs_godot_item_takes_rest(item))
        return 0;
    if (p->last.number > 0)
        return tfs_fail_line(err, line,
                             "custom, opaque and rest take all that follows, there can be one of "
                             "them, and line %u is one",
                             p->last.number);
    p->last = *line;
    return 0;
}

static int parse_lines(struct parser *p, struct tfs_lines *lines, struct tfs_error *err)
{
    struct tfs_line line;

    while (tfs_lines_next(lines, &line)) {
        struct tfs_godot_item item = {0};
        if (parse_line(p, line, &item, err) < 0 || check_last(p, &line, &item, err) < 0 ||
            tfs_godot_items_add(&p->items, &item, err) < 0)
            return err->code;
    }
    for (size_t i = 0; i < p->items.count; i++) {
        const struct tfs_godot_item *item = &p->items.items[i];
        bool whole = !item->voxel && item->type != TFS_GODOT_ITEM_REST;
        if (whole && tfs_godot_item_takes_rest(item) && p->items.count > 1)
            return tfs_fail_line(err, &p->last, "beside this line no other can stand");
    }
    return 0;
}

/* ---- the canonical order --------------------------------------------------------------------- */

/* An item and where it is in the text. */
struct ranked {
    struct tfs_godot_item item;
    size_t rank;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    const struct tfs_godot_item *l = &left->item, *r = &right->item;

    if (l->x != r->x)
        return l->x < r->x ? -1 : 1;
    if (l->y != r->y)
        return l->y < r->y ? -1 : 1;
    if (l->z != r->z)
        return l->z < r->z ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static bool same_position(const struct tfs_godot_item *a, const struct tfs_godot_item *b)
{
    return a->x == b->x && a->y == b->y && a->z == b->z;
}

/* Appends the voxels sorted, the last line of each position. */
static int add_voxels(const struct tfs_godot_items *typed, struct tfs_godot_items *sorted,
                      struct tfs_error *err)
{
    struct ranked *voxels = reallocarray(NULL, typed->count, sizeof(*voxels));
    size_t count = 0;
    int result = 0;

    if (voxels == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < typed->count; i++)
        if (typed->items[i].voxel && !tfs_godot_item_takes_rest(&typed->items[i]))
            voxels[count++] = (struct ranked){typed->items[i], i};
    qsort(voxels, count, sizeof(*voxels), compare_ranked);
    for (size_t i = 0; i < count && result == 0; i++)
        if (i + 1 == count || !same_position(&voxels[i].item, &voxels[i + 1].item))
            result = tfs_godot_items_add(sorted, &voxels[i].item, err);
    free(voxels);
    return result;
}

static int put_in_order(const struct tfs_godot_items *typed, struct tfs_godot_items *sorted,
                        struct tfs_error *err)
{
    struct tfs_godot_item block = {.type = TFS_GODOT_ITEM_EMPTY};
    const struct tfs_godot_item *last = NULL;

    for (size_t i = 0; i < typed->count; i++) {
        const struct tfs_godot_item *item = &typed->items[i];
        if (tfs_godot_item_takes_rest(item))
            last = item;
        else if (!item->voxel)
            block = *item;
    }
    bool alone = last != NULL && !last->voxel && last->type != TFS_GODOT_ITEM_REST;
    if (!alone && tfs_godot_items_add(sorted, &block, err) < 0)
        return err->code;
    if (add_voxels(typed, sorted, err) < 0)
        return err->code;
    return last == NULL ? 0 : tfs_godot_items_add(sorted, last, err);
}

/* ---- the section ----------------------------------------------------------------------------- */

/* Does the section read as these items? */
static int reads_as(const struct tfs_godot_block *block, struct tfs_span section,
                    const struct tfs_godot_items *items, bool *same, struct tfs_error *err)
{
    struct tfs_godot_block changed = *block;
    struct tfs_godot_items found = {0};
    struct tfs_buf expected = {0}, read = {0};

    changed.metadata = section;
    if (tfs_godot_metadata_read(&changed, &found, err) < 0)
        return err->code;
    tfs_godot_metadata_print(items, &expected);
    tfs_godot_metadata_print(&found, &read);
    if (tfs_buf_check(&expected, err) == 0 && tfs_buf_check(&read, err) == 0)
        *same = tfs_span_equal(tfs_buf_span(&expected), tfs_buf_span(&read));
    tfs_buf_release(&expected);
    tfs_buf_release(&read);
    tfs_godot_items_release(&found);
    return err->code;
}

/* The engine writes no section that says nothing. */
static bool says_nothing(const struct tfs_godot_items *items)
{
    return items->count == 0 || (items->count == 1 && is_empty_block(&items->items[0]));
}

static int encode(const struct parser *p, struct tfs_buf *section, struct tfs_error *err)
{
    struct tfs_godot_items sorted = {0};
    bool same = false;

    if (put_in_order(&p->items, &sorted, err) < 0 || says_nothing(&sorted))
        goto out;
    tfs_godot_items_encode(&sorted, p->block->version, section);
    if (tfs_buf_check(section, err) < 0 ||
        reads_as(p->block, tfs_buf_span(section), &sorted, &same, err) < 0)
        goto out;
    /* Each item reads back as it is: only Godot 3 may find others in Variants of Godot 4. */
    if (!same)
        tfs_fail_line(err, &p->newer, "Godot 3 would find other items in this metadata");
out:
    tfs_godot_items_release(&sorted);
    return err->code;
}

static int make_section(struct parser *p, struct tfs_buf *section, struct tfs_error *err)
{
    bool same = false;

    if (reads_as(p->block, p->block->metadata, &p->items, &same, err) < 0)
        return err->code;
    if (same) {
        tfs_buf_add_span(section, p->block->metadata);
        return tfs_buf_check(section, err);
    }
    return p->items.count == 0 ? 0 : encode(p, section, err);
}

int tfs_godot_metadata_parse(const struct tfs_godot_block *block, struct tfs_span text,
                             struct tfs_buf *section, struct tfs_error *err)
{
    struct parser p = {.block = block, .engines = TFS_GODOT_ANY_ENGINE};
    struct tfs_lines lines;

    /* Spans of items point into `bytes`, which must not move: an item has fewer bytes than its
     * line, but for a number, which may have 8. */
    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    if (tfs_buf_reserve(&p.bytes, text.size * 2 + sizeof(uint64_t)) == NULL)
        return tfs_buf_check(&p.bytes, err);
    if (parse_lines(&p, &lines, err) == 0)
        make_section(&p, section, err);
    tfs_godot_items_release(&p.items);
    tfs_buf_release(&p.bytes);
    return err->code;
}
