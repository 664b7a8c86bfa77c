/*
 * Bytes -> the extent of one encoded Variant, by the numbers of Godot 3 or Godot 4; and a Variant
 * of Godot 3 -> one of Godot 4.
 *
 * Must not know metadata. One walk does both: it takes a value apart, and where an output is given
 * copies the pieces with the type numbers of the newer engine.
 */
#include "formats/godot_voxel/variant.h"

#include <errno.h>

#define DEPTH_MAX     512
#define FLAG_64       (UINT32_C(1) << 16)
#define COUNT_MASK    UINT32_C(0x7fffffff)
#define NEW_PATH      (UINT32_C(1) << 31)
#define PATH_PROPERTY 2
#define TYPE_MASK     0xff
#define RID_SIZE      8

enum shape {
    UNKNOWN, /* first, so that types without an entry are this */
    FIXED,   /* `size` bytes, or `wide` with FLAG_64 */
    ARRAY,   /* count, elements of that size */
    STRING,  /* length, bytes, padding; and `size` bytes behind */
    STRINGS, /* count, strings */
    PATH,
    OBJECT,
    DICTIONARY,
    LIST,
};

struct type {
    uint8_t shape;
    uint8_t size, wide;
    uint8_t newer; /* Godot 3: its number in Godot 4 */
};

#define TYPES_3 27
#define TYPES_4 39

static const struct type types_3[TYPES_3] = {
    [0] = {FIXED, 0, 0, 0},        [1] = {FIXED, 4, 4, 1},     [2] = {FIXED, 4, 8, 2},
    [3] = {FIXED, 4, 8, 3},        [4] = {STRING, 0, 0, 4},    [5] = {FIXED, 8, 8, 5},
    [6] = {FIXED, 16, 16, 7},      [7] = {FIXED, 12, 12, 9},   [8] = {FIXED, 24, 24, 11},
    [9] = {FIXED, 16, 16, 14},     [10] = {FIXED, 16, 16, 15}, [11] = {FIXED, 24, 24, 16},
    [12] = {FIXED, 36, 36, 17},    [13] = {FIXED, 48, 48, 18}, [14] = {FIXED, 16, 16, 20},
    [15] = {PATH, 0, 0, 22},       [16] = {FIXED, 0, 0, 23},   [17] = {OBJECT, 0, 0, 24},
    [18] = {DICTIONARY, 0, 0, 27}, [19] = {LIST, 0, 0, 28},    [20] = {ARRAY, 1, 1, 29},
    [21] = {ARRAY, 4, 4, 30},      [22] = {ARRAY, 4, 4, 32},   [23] = {STRINGS, 0, 0, 34},
    [24] = {ARRAY, 8, 8, 35},      [25] = {ARRAY, 12, 12, 36}, [26] = {ARRAY, 16, 16, 37},
};

static const struct type types_4[TYPES_4] = {
    [0] = {FIXED, 0, 0, 0},       [1] = {FIXED, 4, 4, 0},     [2] = {FIXED, 4, 8, 0},
    [3] = {FIXED, 4, 8, 0},       [4] = {STRING, 0, 0, 0},    [5] = {FIXED, 8, 16, 0},
    [6] = {FIXED, 8, 8, 0},       [7] = {FIXED, 16, 32, 0},   [8] = {FIXED, 16, 16, 0},
    [9] = {FIXED, 12, 24, 0},     [10] = {FIXED, 12, 12, 0},  [11] = {FIXED, 24, 48, 0},
    [12] = {FIXED, 16, 32, 0},    [13] = {FIXED, 16, 16, 0},  [14] = {FIXED, 16, 32, 0},
    [15] = {FIXED, 16, 32, 0},    [16] = {FIXED, 24, 48, 0},  [17] = {FIXED, 36, 72, 0},
    [18] = {FIXED, 48, 96, 0},    [19] = {FIXED, 64, 128, 0}, [20] = {FIXED, 16, 16, 0},
    [21] = {STRING, 0, 0, 0},     [22] = {PATH, 0, 0, 0},     [23] = {FIXED, 8, 8, 0},
    [24] = {OBJECT, 0, 0, 0},     [25] = {FIXED, 0, 0, 0},    [26] = {STRING, 8, 8, 0},
    [27] = {DICTIONARY, 0, 0, 0}, [28] = {LIST, 0, 0, 0},     [29] = {ARRAY, 1, 1, 0},
    [30] = {ARRAY, 4, 4, 0},      [31] = {ARRAY, 8, 8, 0},    [32] = {ARRAY, 4, 4, 0},
    [33] = {ARRAY, 8, 8, 0},      [34] = {STRINGS, 0, 0, 0},  [35] = {ARRAY, 8, 16, 0},
    [36] = {ARRAY, 12, 24, 0},    [37] = {ARRAY, 16, 16, 0},  [38] = {ARRAY, 16, 32, 0},
};

struct walk {
    struct tfs_cursor *c;
    enum tfs_godot_engine engine;
    struct tfs_buf *out; /* NULL: only the extent is wanted */
    bool lost;           /* a value that the newer engine does not have */
};

static void walk_value(struct walk *w, unsigned depth);

static void fail(struct walk *w)
{
    w->c->failed = true;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Takes n bytes and, where wanted, gives them on. */
static void pass(struct walk *w, uint64_t n)
{
    struct tfs_span bytes = tfs_take(w->c, n);

    if (w->out != NULL)
        tfs_buf_add_span(w->out, bytes);
}

static uint32_t pass_u32(struct walk *w)
{
    uint32_t v = tfs_take_u32le(w->c);

    if (w->out != NULL)
        tfs_buf_u32le(w->out, v);
    return v;
}

static uint64_t padded(uint64_t n)
{
    return (n + 3) & ~UINT64_C(3);
}

static void pass_string(struct walk *w)
{
    uint32_t n = pass_u32(w);

    pass(w, padded(n));
}

/* A count of things that take at least `least` bytes each. */
static uint32_t pass_count(struct walk *w, uint32_t mask, uint64_t least)
{
    uint32_t count = pass_u32(w) & mask;

    if (count * least > tfs_cursor_left(w->c))
        fail(w);
    return w->c->failed ? 0 : count;
}

static void pass_strings(struct walk *w, uint64_t count)
{
    for (; count > 0 && !w->c->failed; count--)
        pass_string(w);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void walk_path(struct walk *w)
{
    uint32_t names = pass_u32(w);
    uint32_t subnames = pass_u32(w);
    uint32_t flags = pass_u32(w);

    if ((names & NEW_PATH) == 0) {
        fail(w);
        return;
    }
    pass_strings(w, (uint64_t)(names & COUNT_MASK) + subnames + ((flags & PATH_PROPERTY) != 0));
}

static void walk_object(struct walk *w, uint32_t head, unsigned depth)
{
    if ((head & FLAG_64) != 0) {
        pass(w, 8);
        return;
    }
    struct tfs_cursor before = *w->c;
    pass_string(w);
    if (tfs_take_u32le(&before) == 0)
        return;
    /* Its class and properties are those of one engine. */
    w->lost = true;
    for (uint32_t left = pass_count(w, UINT32_MAX, 8); left > 0 && !w->c->failed; left--) {
        pass_string(w);
        walk_value(w, depth + 1);
    }
}

/* What Godot 4 says about the values of a typed container. */
static void walk_element_type(struct walk *w, unsigned kind)
{
    if (w->engine != TFS_GODOT_ENGINE_4 || kind == 0)
        return;
    if (kind == 1)
        pass_u32(w);
    else
        pass_string(w);
}

static void walk_container(struct walk *w, uint32_t head, unsigned values, unsigned depth)
{
    walk_element_type(w, head >> 16 & 3);
    if (values == 2)
        walk_element_type(w, head >> 18 & 3);
    uint64_t left = (uint64_t)pass_count(w, COUNT_MASK, 4 * (uint64_t)values) * values;
    for (; left > 0 && !w->c->failed; left--)
        walk_value(w, depth + 1);
}

static void walk_payload(struct walk *w, const struct type *type, uint32_t head, unsigned depth)
{
    unsigned size = (head & FLAG_64) != 0 ? type->wide : type->size;

    switch ((enum shape)type->shape) {
    case UNKNOWN:
        fail(w);
        return;
    case FIXED:
        pass(w, size);
        return;
    case ARRAY:
        pass(w, padded((uint64_t)pass_count(w, UINT32_MAX, size) * size));
        return;
    case STRING:
        pass_string(w);
        pass(w, size);
        return;
    case STRINGS:
        pass_strings(w, pass_count(w, UINT32_MAX, 4));
        return;
    case PATH:
        walk_path(w);
        return;
    case OBJECT:
        walk_object(w, head, depth);
        return;
    case DICTIONARY:
        walk_container(w, head, 2, depth);
        return;
    case LIST:
        walk_container(w, head, 1, depth);
        return;
    }
}

static const struct type *type_of(const struct walk *w, uint32_t head)
{
    static const struct type unknown = {UNKNOWN, 0, 0, 0};
    uint32_t number = head & TYPE_MASK;

    if (w->engine == TFS_GODOT_ENGINE_3)
        return number < TYPES_3 ? &types_3[number] : &unknown;
    return number < TYPES_4 ? &types_4[number] : &unknown;
}

/* The head that Godot 4 writes: of the flags of Godot 3 only the width means anything there. */
static uint32_t newer_head(const struct type *type, uint32_t head)
{
    bool keeps_width = type->size != type->wide || type->shape == OBJECT;

    return type->newer | (keeps_width ? head & FLAG_64 : 0);
}

static void walk_value(struct walk *w, unsigned depth)
{
    static const uint8_t no_rid[RID_SIZE];
    uint32_t head = tfs_take_u32le(w->c);
    const struct type *type = type_of(w, head);

    if (depth >= DEPTH_MAX) {
        fail(w);
        return;
    }
    if (w->out != NULL)
        tfs_buf_u32le(w->out, newer_head(type, head));
    walk_payload(w, type, head, depth);
    if (w->out != NULL && type == &types_3[16])
        tfs_buf_add(w->out, no_rid, sizeof(no_rid));
}

bool tfs_godot_variant_take(struct tfs_cursor *c, enum tfs_godot_engine engine)
{
    struct walk w = {.c = c, .engine = engine};

    walk_value(&w, 0);
    return !c->failed;
}

bool tfs_godot_variant_valid(struct tfs_span bytes, enum tfs_godot_engine engine)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);

    return tfs_godot_variant_take(&c, engine) && tfs_cursor_left(&c) == 0;
}

int tfs_godot_variant_upgrade(struct tfs_span variant, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(variant);
    struct walk w = {.c = &c, .engine = TFS_GODOT_ENGINE_3, .out = out};

    walk_value(&w, 0);
    if (w.lost)
        return tfs_fail(
            err, -EBADMSG,
            "its metadata holds an object with properties, which Godot 4 does not know");
    if (c.failed || tfs_cursor_left(&c) > 0)
        return tfs_fail(err, -EBADMSG, "its metadata holds a value that Godot 3 does not know");
    return tfs_buf_check(out, err);
}
