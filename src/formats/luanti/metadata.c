/*
 * Metadata of nodes <-> its lines.
 *
 *   3 0 15 formspec = size[8,9]         a variable: KEY = VALUE
 *   3 0 15 private owner                that variable is not sent to players (version 28 on)
 *   3 0 15 inventory List main 32       a line of the inventory, the last one is EndInventory
 *
 * Must not know what variables mean, nor what is in an inventory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/luanti/lists.h"
#include "text/name.h"
#include "text/table.h"

#define END "EndInventory"

/* ---- the section ----------------------------------------------------------------------------- */

/* One line of an inventory without its end; false: there is no whole one. */
static bool take_line(struct tfs_cursor *c, struct tfs_span *line)
{
    const size_t left = tfs_cursor_left(c);
    const uint8_t *end = left == 0 ? NULL : memchr(c->at, '\n', left);

    *line = tfs_take(c, end == NULL ? (uint64_t)left + 1 : (uint64_t)(end - c->at) + 1);
    line->size -= line->size > 0;
    return !c->failed;
}

/* The engine looks at the first word. */
static bool is_end(struct tfs_span line)
{
    const size_t size = sizeof(END) - 1;

    return line.size >= size && memcmp(line.data, END, size) == 0 &&
           (line.size == size || line.data[size] == ' ');
}

static struct tfs_span take_inventory(struct tfs_cursor *c)
{
    const uint8_t *start = c->at;
    struct tfs_span line = {0};

    while (take_line(c, &line) && !is_end(line))
        continue;
    return (struct tfs_span){start, (size_t)(c->at - start)};
}

struct variable {
    struct tfs_span key, value;
    bool hidden;
};

static struct variable take_variable(struct tfs_cursor *c, uint8_t version)
{
    struct variable v = {0};

    v.key = tfs_take(c, tfs_take_u16be(c));
    v.value = tfs_take(c, tfs_take_u32be(c));
    v.hidden = version >= TFS_LUANTI_VERSION_PRIVATE && tfs_take_u8(c) != 0;
    return v;
}

static bool is_typed(uint8_t version)
{
    return version < TFS_LUANTI_VERSION_METADATA;
}

static uint8_t own_version(uint8_t version)
{
    return version >= TFS_LUANTI_VERSION_PRIVATE ? 2 : 1;
}

/* The number of items, as the section claims it. False: the section has another version. */
static bool take_head(struct tfs_cursor *c, uint8_t version, uint32_t *count)
{
    const uint32_t own = is_typed(version) ? tfs_take_u16be(c) : tfs_take_u8(c);

    *count = is_typed(version) || own != 0 ? tfs_take_u16be(c) : 0;
    return own == own_version(version) || (own == 0 && !is_typed(version));
}

static void skip_item(struct tfs_cursor *c, uint8_t version)
{
    if (is_typed(version)) {
        tfs_take_u16be(c);
        tfs_take(c, tfs_take_u16be(c));
        return;
    }
    for (uint32_t vars = tfs_take_u32be(c); vars > 0 && !c->failed; vars--)
        take_variable(c, version);
    take_inventory(c);
}

int tfs_luanti_metadata_skip(struct tfs_cursor *c, uint8_t version, struct tfs_error *err)
{
    const size_t offset = tfs_cursor_offset(c);
    uint32_t count;

    if (!take_head(c, version, &count) && !c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the metadata has an unknown version", offset);
    for (; count > 0 && !c->failed; count--) {
        const uint16_t place = tfs_take_u16be(c);
        if (place >= TFS_LUANTI_VOXELS)
            return tfs_fail(err, -EBADMSG, "metadata at place %u, there are %u", place,
                            TFS_LUANTI_VOXELS);
        skip_item(c, version);
    }
    return c->failed ? tfs_fail(err, -EBADMSG, "offset %zu: the metadata is cut off", offset) : 0;
}

bool tfs_luanti_metadata_of_air(const struct tfs_luanti_block *block, uint16_t *place)
{
    struct tfs_cursor c = tfs_cursor_init(block->sections[TFS_LUANTI_METADATA]);
    uint32_t count;

    for (take_head(&c, block->version, &count); count > 0; count--) {
        *place = tfs_take_u16be(&c);
        if (tfs_luanti_place_is_air(block, *place))
            return true;
        skip_item(&c, block->version);
    }
    return false;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Escaped so that it is one word, and not the sign behind a key. */
static void print_key(struct tfs_buf *out, struct tfs_span key)
{
    struct tfs_buf name = {0};

    tfs_name_print(&name, key);
    if (name.size == 1 && name.data[0] == '=')
        tfs_buf_add_text(out, "\\x3d");
    else
        for (size_t i = 0; i < name.size; i++)
            if (name.data[i] == ' ')
                tfs_buf_add_text(out, "\\x20");
            else
                tfs_buf_u8(out, name.data[i]);
    out->failed = out->failed || name.failed;
    tfs_buf_release(&name);
}

static void print_variable(struct tfs_buf *out, uint16_t place, const struct variable *v)
{
    tfs_luanti_place_print(out, place);
    print_key(out, v->key);
    tfs_buf_add_text(out, v->key.size > 0 ? " =" : "=");
    if (v->value.size > 0)
        tfs_buf_u8(out, ' ');
    tfs_name_print(out, v->value);
    tfs_buf_u8(out, '\n');
    if (!v->hidden)
        return;
    tfs_luanti_place_print(out, place);
    tfs_buf_add_text(out, "private");
    if (v->key.size > 0)
        tfs_buf_u8(out, ' ');
    print_key(out, v->key);
    tfs_buf_u8(out, '\n');
}

/* An inventory of nothing but its end has no line where variables show the place. */
static void print_inventory(struct tfs_buf *out, uint16_t place, bool alone, struct tfs_span text)
{
    struct tfs_cursor c = tfs_cursor_init(text);
    struct tfs_span line;

    if (!alone && tfs_span_equal(text, tfs_span_of(END "\n")))
        return;
    while (tfs_cursor_left(&c) > 0 && take_line(&c, &line)) {
        tfs_luanti_place_print(out, place);
        tfs_buf_add_text(out, line.size > 0 ? "inventory " : "inventory");
        if (line.size > 0 && line.data[0] == '=') {
            tfs_buf_add_text(out, "\\x3d");
            line.data++;
            line.size--;
        }
        tfs_name_print(out, line);
        tfs_buf_u8(out, '\n');
    }
}

static void print_typed(struct tfs_buf *out, uint16_t place, struct tfs_cursor *c)
{
    tfs_luanti_place_print(out, place);
    tfs_buf_printf(out, "typed %u", tfs_take_u16be(c));
    tfs_luanti_hex_print(out, tfs_take(c, tfs_take_u16be(c)));
    tfs_buf_u8(out, '\n');
}

void tfs_luanti_metadata_print(const struct tfs_luanti_block *block, struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(block->sections[TFS_LUANTI_METADATA]);
    uint32_t count;

    take_head(&c, block->version, &count);
    for (; count > 0; count--) {
        const uint16_t place = tfs_take_u16be(&c);
        if (is_typed(block->version)) {
            print_typed(out, place, &c);
            continue;
        }
        const uint32_t vars = tfs_take_u32be(&c);
        for (uint32_t i = 0; i < vars; i++) {
            struct variable v = take_variable(&c, block->version);
            print_variable(out, place, &v);
        }
        print_inventory(out, place, vars == 0, take_inventory(&c));
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

enum kind { VARIABLE, PRIVATE, INVENTORY };

/* A line. Its words lie in the text's `bytes`, because those move while they grow. */
struct record {
    uint16_t place;
    enum kind kind;
    bool hidden;
    uint32_t number; /* of the line */
    size_t order;
    size_t key, key_size, value, value_size;
};

struct lines_text {
    struct tfs_buf bytes;
    struct record *records;
    size_t count;
    uint8_t version;
    struct tfs_error *err;
};

/* The rest of the line, unescaped: where it lies. */
static int take_words(struct lines_text *t, const struct tfs_line *line, size_t *at, size_t *size)
{
    *at = t->bytes.size;
    if (tfs_line_name(line, &t->bytes, t->err) == 0)
        *size = t->bytes.size - *at;
    return t->err->code;
}

static bool is_word(const struct tfs_line *word, const char *text)
{
    return tfs_span_equal(word->text, tfs_span_of(text));
}

/* Which kind a line is decides the sign behind its first word, so any word may be a key. */
static int take_record(struct lines_text *t, struct tfs_line line, struct record *r)
{
    struct tfs_line first = line, word = line, rest, sign;
    const bool empty_key = tfs_line_word(&line, &word) && is_word(&word, "=");

    rest = line;
    if (empty_key || (tfs_line_word(&rest, &sign) && is_word(&sign, "="))) {
        r->kind = VARIABLE;
        word.text.size = empty_key ? 0 : word.text.size;
        return take_words(t, &word, &r->key, &r->key_size) < 0
                   ? t->err->code
                   : take_words(t, empty_key ? &line : &rest, &r->value, &r->value_size);
    }
    if (is_word(&word, "private")) {
        r->kind = PRIVATE;
        return take_words(t, &line, &r->key, &r->key_size);
    }
    if (is_word(&word, "inventory")) {
        r->kind = INVENTORY;
        return take_words(t, &line, &r->value, &r->value_size);
    }
    return tfs_fail_line(t->err, &first,
                         "`KEY = VALUE`, `private KEY` or `inventory LINE` is "
                         "missing behind the place");
}

static int check_record(const struct lines_text *t, const struct record *r,
                        const struct tfs_line *line)
{
    if (r->kind == VARIABLE && r->key_size > UINT16_MAX)
        return tfs_fail_line(t->err, line, "a key of %zu bytes, at most %d are possible",
                             r->key_size, UINT16_MAX);
    if (r->kind == PRIVATE && t->version < TFS_LUANTI_VERSION_PRIVATE)
        return tfs_fail_line(t->err, line, "a block of version %u has no private metadata",
                             t->version);
    if (r->kind == INVENTORY && r->value_size > 0 &&
        memchr(t->bytes.data + r->value, '\n', r->value_size) != NULL)
        return tfs_fail_line(t->err, line, "a line of an inventory cannot hold a line break");
    return 0;
}

static int add_line(struct lines_text *t, struct tfs_line line)
{
    struct record *records = tfs_array_grow(t->records, t->count, sizeof(*records));
    const struct tfs_line whole = line;

    if (records == NULL)
        return tfs_fail_memory(t->err);
    t->records = records;
    struct record *r = &records[t->count];
    *r = (struct record){.order = t->count, .number = line.number};
    if (tfs_luanti_place_take(&line, &r->place, t->err) < 0 || take_record(t, line, r) < 0 ||
        check_record(t, r, &whole) < 0)
        return t->err->code;
    t->count++;
    return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* x outermost, then y, then z. */
static uint32_t rank(uint16_t place)
{
    return (place & 0xfu) << 8 | (place & 0xf0u) | place >> 8;
}

static int by_order(const struct record *a, const struct record *b)
{
    return (a->order > b->order) - (a->order < b->order);
}

/* Places; in one, the inventory behind the variables; then as the text has them. */
static int compare_places(const void *left, const void *right)
{
    const struct record *a = left, *b = right;

    if (a->place != b->place)
        return (int)rank(a->place) - (int)rank(b->place);
    if ((a->kind == INVENTORY) != (b->kind == INVENTORY))
        return a->kind == INVENTORY ? 1 : -1;
    return by_order(a, b);
}

static int compare_keys(const void *left, const void *right, void *text)
{
    const struct record *a = left, *b = right;
    const uint8_t *bytes = ((const struct lines_text *)text)->bytes.data;

    if (a->place != b->place || (a->kind == INVENTORY) != (b->kind == INVENTORY) ||
        a->kind == INVENTORY)
        return compare_places(a, b);
    int keys = tfs_span_compare((struct tfs_span){bytes + a->key, a->key_size},
                                (struct tfs_span){bytes + b->key, b->key_size});
    return keys != 0 ? keys : by_order(a, b);
}

/* Gives the variables of each key what its `private` lines say. */
static int hide_variables(struct lines_text *t)
{
    qsort_r(t->records, t->count, sizeof(*t->records), compare_keys, t);
    for (size_t i = 0, end; i < t->count; i = end) {
        const struct record *first = &t->records[i];
        const struct record *hides = NULL;
        bool there = false;
        for (end = i; end < t->count; end++) {
            const struct record *r = &t->records[end];
            if (r->place != first->place || r->kind == INVENTORY ||
                r->key_size != first->key_size ||
                memcmp(t->bytes.data + r->key, t->bytes.data + first->key, r->key_size) != 0)
                break;
            hides = r->kind == PRIVATE ? r : hides;
            there = there || r->kind == VARIABLE;
        }
        if (hides != NULL && !there)
            return tfs_fail_at(t->err, -EBADMSG, hides->number, 1,
                               "there is no variable of this key that could be private");
        for (size_t k = i; k < end; k++)
            t->records[k].hidden = hides != NULL;
        end += end == i;
    }
    qsort(t->records, t->count, sizeof(*t->records), compare_places);
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void add_variables(const struct lines_text *t, size_t begin, size_t end, struct tfs_buf *out)
{
    uint32_t count = 0;

    for (size_t i = begin; i < end; i++)
        count += t->records[i].kind == VARIABLE;
    tfs_buf_u32be(out, count);
    for (size_t i = begin; i < end; i++) {
        const struct record *r = &t->records[i];
        if (r->kind != VARIABLE)
            continue;
        tfs_luanti_u16(out, (uint32_t)r->key_size);
        tfs_buf_add(out, t->bytes.data + r->key, r->key_size);
        tfs_buf_u32be(out, (uint32_t)r->value_size);
        tfs_buf_add(out, t->bytes.data + r->value, r->value_size);
        if (t->version >= TFS_LUANTI_VERSION_PRIVATE)
            tfs_buf_u8(out, r->hidden);
    }
}

static int add_inventory(const struct lines_text *t, size_t begin, size_t end, struct tfs_buf *out)
{
    const struct record *last = NULL;

    for (size_t i = begin; i < end; i++) {
        const struct record *r = &t->records[i];
        if (r->kind != INVENTORY)
            continue;
        if (last != NULL &&
            is_end((struct tfs_span){t->bytes.data + last->value, last->value_size}))
            return tfs_fail_at(t->err, -EBADMSG, r->number, 1,
                               "a line of the inventory behind its " END);
        tfs_buf_add(out, t->bytes.data + r->value, r->value_size);
        tfs_buf_u8(out, '\n');
        last = r;
    }
    if (last == NULL)
        tfs_buf_add_text(out, END "\n");
    else if (!is_end((struct tfs_span){t->bytes.data + last->value, last->value_size}))
        return tfs_fail_at(t->err, -EBADMSG, last->number, 1,
                           "the last line of an inventory must be `inventory " END "`");
    return 0;
}

static int encode(const struct lines_text *t, struct tfs_buf *out)
{
    uint32_t places = 0;

    for (size_t i = 0; i < t->count; i++)
        places += i == 0 || t->records[i].place != t->records[i - 1].place;
    tfs_buf_u8(out, own_version(t->version));
    tfs_luanti_u16(out, places);
    for (size_t i = 0, end; i < t->count; i = end) {
        for (end = i; end < t->count && t->records[end].place == t->records[i].place;)
            end++;
        tfs_luanti_u16(out, t->records[i].place);
        add_variables(t, i, end, out);
        if (add_inventory(t, i, end, out) < 0)
            return t->err->code;
    }
    return tfs_buf_check(out, t->err);
}

int tfs_luanti_metadata_parse(uint8_t version, struct tfs_span text, struct tfs_buf *out,
                              struct tfs_error *err)
{
    struct lines_text t = {.version = version, .err = err};
    struct tfs_lines lines;
    struct tfs_line line;

    if (is_typed(version))
        return tfs_fail(err, -EBADMSG, "metadata of version %u is kept and cannot be written",
                        version);
    if (tfs_lines_init(&lines, text, err) == 0)
        while (tfs_lines_next(&lines, &line) && add_line(&t, line) == 0)
            continue;
    if (err->code == 0 && t.count > 0 && hide_variables(&t) == 0)
        encode(&t, out);
    tfs_buf_release(&t.bytes);
    free(t.records);
    return err->code;
}
