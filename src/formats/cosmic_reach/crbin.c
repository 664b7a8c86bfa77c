/*
 * CRBin: strings, schemas, values -> where the coordinates of block entities stand.
 *
 * Must not know chunks' bodies. Versions 1 and 2 are read; a width that nobody has verified (short
 * and double of version 2) is not guessed: such bytes are not understood.
 */
#include "formats/cosmic_reach/crbin.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

#define MAGIC_2   "\x43\x52\x42\x02"
#define DEPTH_MAX 32 /* objects in objects */
#define SIDE_BITS 4  /* blocks a chunk side: 16 */

enum type {
    TYPE_END,
    TYPE_BYTE,
    TYPE_SHORT,
    TYPE_INT,
    TYPE_LONG,
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_BOOL,
    TYPE_STRING = 9,
    TYPE_OBJECT,
    TYPE_ARRAYS, /* 11 to 17: arrays of 1 to 7 */
    TYPE_STRINGS = 18,
    TYPE_OBJECTS,
};

struct reader {
    struct tfs_cursor c;
    bool second; /* version 2 */
    bool strange;
    struct tfs_span *strings;
    size_t string_count;
    size_t *schemas; /* where each begins */
    size_t schema_count;
    bool no_memory;

    const int64_t *by;   /* NULL: nothing is shifted, `chunk` is found */
    struct tfs_buf *out; /* what was read, shifted, up to `copied` */
    size_t copied;
    struct tfs_key chunk;
    size_t entities;
};

/* ---- numbers and names ----------------------------------------------------------------------- */

/* A zigzag varint of at most five bytes. */
static int32_t take_varint(struct reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 35; shift += 7) {
        const uint8_t byte = tfs_take_u8(&r->c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            r->strange = r->strange || value > UINT32_MAX;
            return (int32_t)((uint32_t)value >> 1 ^ -((uint32_t)value & 1));
        }
    }
    r->strange = true;
    return 0;
}

static int32_t take_int(struct reader *r)
{
    return r->second ? take_varint(r) : tfs_take_s32be(&r->c);
}

static bool failed(const struct reader *r)
{
    return r->c.failed || r->strange || r->no_memory;
}

static struct tfs_span take_string(struct reader *r)
{
    int32_t size = take_int(r);

    if (size < 0 || failed(r) || (size_t)size > tfs_cursor_left(&r->c)) {
        r->strange = true;
        return (struct tfs_span){0};
    }
    return tfs_take(&r->c, (size_t)size);
}

static struct tfs_span take_field_name(struct reader *r)
{
    if (!r->second)
        return take_string(r);
    int32_t index = take_int(r);
    if (index >= 0 && (size_t)index < r->string_count)
        return r->strings[index];
    r->strange = true;
    return (struct tfs_span){0};
}

/* ---- strings and schemas --------------------------------------------------------------------- */

static void read_strings(struct reader *r)
{
    const int32_t count = take_int(r);

    r->strange = r->strange || count < 0;
    for (int32_t i = 0; i < count && !failed(r); i++) {
        struct tfs_span *strings = tfs_array_grow(r->strings, r->string_count, sizeof(*strings));
        if (strings == NULL) {
            r->no_memory = true;
            return;
        }
        r->strings = strings;
        r->strings[r->string_count++] = take_string(r);
    }
}

/* The next field of a schema: its type, TYPE_END at the end. */
static unsigned take_field(struct reader *r, struct tfs_span *name)
{
    const unsigned type = tfs_take_u8(&r->c);

    if (type > TYPE_OBJECTS || type == 8)
        r->strange = true;
    if (type == TYPE_END || failed(r))
        return TYPE_END;
    *name = take_field_name(r);
    return type;
}

static void read_schema(struct reader *r)
{
    struct tfs_span name;
    size_t *schemas = tfs_array_grow(r->schemas, r->schema_count, sizeof(*schemas));

    if (schemas == NULL) {
        r->no_memory = true;
        return;
    }
    r->schemas = schemas;
    r->schemas[r->schema_count++] = tfs_cursor_offset(&r->c);
    while (take_field(r, &name) != TYPE_END)
        continue;
}

/* The root's schema is the first, so object schema i is number i + 1. */
static void read_schemas(struct reader *r)
{
    read_schema(r);
    const int32_t count = take_int(r);
    r->strange = r->strange || count < 0;
    for (int32_t i = 0; i < count && !failed(r); i++)
        read_schema(r);
}

/* ---- coordinates ----------------------------------------------------------------------------- */

/* What an object is to the reader. */
enum role { ROLE_ROOT, ROLE_ENTITY, ROLE_OTHER };

/* The coordinates of one entity. */
struct place {
    unsigned found; /* bits: x, y, z */
    int32_t at[3];
};

static void add_int(struct reader *r, int32_t value)
{
    const uint32_t zigzag = (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);

    if (!r->second) {
        tfs_buf_u32be(r->out, (uint32_t)value);
        return;
    }
    uint32_t rest = zigzag;
    for (; rest > 0x7f; rest >>= 7)
        tfs_buf_u8(r->out, (uint8_t)(rest | 0x80));
    tfs_buf_u8(r->out, (uint8_t)rest);
}

/* The coordinate that was just read, from `start` on, is shifted in the output. */
static void shift(struct reader *r, unsigned axis, size_t start, int32_t value)
{
    const int64_t shifted = value + r->by[axis];

    if (shifted < INT32_MIN || shifted > INT32_MAX) {
        r->strange = true;
        return;
    }
    tfs_buf_add(r->out, r->c.start + r->copied, start - r->copied);
    add_int(r, (int32_t)shifted);
    r->copied = tfs_cursor_offset(&r->c);
}

static void read_coordinate(struct reader *r, struct tfs_span name, struct place *place)
{
    const size_t start = tfs_cursor_offset(&r->c);
    const int32_t value = take_int(r);

    if (failed(r) || name.size != 1 || name.data[0] < 'x' || name.data[0] > 'z')
        return;
    const unsigned axis = name.data[0] - 'x';
    r->strange = r->strange || (place->found >> axis & 1) != 0;
    place->found |= 1U << axis;
    place->at[axis] = value;
    if (r->by != NULL && !failed(r))
        shift(r, axis, start, value);
}

/* An entity was read: which chunk is it in? */
static void place_entity(struct reader *r, const struct place *place)
{
    const struct tfs_key chunk = {0, place->at[0] >> SIDE_BITS, place->at[1] >> SIDE_BITS,
                                  place->at[2] >> SIDE_BITS};

    /* Entities in several chunks are in none of them. */
    if (place->found != 7 ||
        (r->by == NULL && r->entities > 0 && tfs_key_compare(chunk, r->chunk) != 0))
        r->strange = true;
    r->chunk = chunk;
    r->entities++;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Bytes of a value of that type; 0: unknown. An int of version 2 has none. */
static size_t width_of(const struct reader *r, unsigned type)
{
    static const uint8_t first[] = {
        [TYPE_BYTE] = 1,  [TYPE_SHORT] = 2,  [TYPE_INT] = 4, [TYPE_LONG] = 8,
        [TYPE_FLOAT] = 4, [TYPE_DOUBLE] = 8, [TYPE_BOOL] = 1};

    return r->second && (type == TYPE_SHORT || type == TYPE_DOUBLE) ? 0 : first[type];
}

static void skip(struct reader *r, unsigned type, size_t count)
{
    const size_t width = width_of(r, type);

    if (r->second && type == TYPE_INT) {
        for (size_t i = 0; i < count && !failed(r); i++)
            (void)take_varint(r);
        return;
    }
    if (width == 0 || count > tfs_cursor_left(&r->c) / width)
        r->strange = true;
    else
        (void)tfs_take(&r->c, count * width);
}

static void read_object(struct reader *r, enum role role, unsigned depth);

/* The number of elements of an array; none of them takes less than a byte. */
static size_t take_count(struct reader *r)
{
    const int32_t count = take_int(r);

    if (count < -1 || (count > 0 && (size_t)count > tfs_cursor_left(&r->c)))
        r->strange = true;
    return count < 0 || failed(r) ? 0 : (size_t)count;
}

static bool is_entities(struct tfs_span name)
{
    static const char entities[] = "blockEntities";

    return name.size == sizeof(entities) - 1 && memcmp(name.data, entities, name.size) == 0;
}

static void read_array(struct reader *r, unsigned type, enum role role, unsigned depth)
{
    const size_t count = take_count(r);

    if (type < TYPE_STRINGS) {
        skip(r, type - TYPE_ARRAYS + TYPE_BYTE, count);
        return;
    }
    for (size_t i = 0; i < count && !failed(r); i++) {
        if (type == TYPE_STRINGS)
            (void)take_int(r);
        else
            read_object(r, role, depth + 1);
    }
}

static void read_value(struct reader *r, unsigned type, struct tfs_span name, enum role role,
                       struct place *place, unsigned depth)
{
    const enum role inside =
        role == ROLE_ROOT && type == TYPE_OBJECTS && is_entities(name) ? ROLE_ENTITY : ROLE_OTHER;

    if (type >= TYPE_ARRAYS)
        read_array(r, type, inside, depth);
    else if (type == TYPE_OBJECT)
        read_object(r, ROLE_OTHER, depth + 1);
    else if (type == TYPE_STRING)
        (void)take_int(r);
    else if (type == TYPE_INT && role == ROLE_ENTITY)
        read_coordinate(r, name, place);
    else
        skip(r, type, 1);
}

/* The values of a schema, whose fields are read along with them. */
static void read_values(struct reader *r, size_t schema, enum role role, unsigned depth)
{
    struct tfs_cursor values = r->c;
    struct place place = {0};
    struct tfs_span name = {0};
    unsigned type;

    tfs_cursor_seek(&r->c, r->schemas[schema]);
    while ((type = take_field(r, &name)) != TYPE_END) {
        struct tfs_cursor fields = r->c;
        r->c = values;
        read_value(r, type, name, role, &place, depth);
        values = r->c;
        r->c = fields;
        if (values.failed)
            r->strange = true;
    }
    r->c = values;
    if (role == ROLE_ENTITY && !failed(r))
        place_entity(r, &place);
}

/* An object says which schema it has; -1: there is none. */
static void read_object(struct reader *r, enum role role, unsigned depth)
{
    const int32_t schema = take_int(r);

    if (failed(r) || schema == -1)
        return;
    if (schema < 0 || (size_t)schema + 1 >= r->schema_count || depth > DEPTH_MAX)
        r->strange = true;
    else
        read_values(r, (size_t)schema + 1, role, depth);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* 1: understood to the last byte. */
static int read_all(struct reader *r, struct tfs_span bytes, struct tfs_error *err)
{
    r->c = tfs_cursor_init(bytes);
    r->second = bytes.size >= 4 && memcmp(bytes.data, MAGIC_2, 4) == 0;
    if (r->second)
        (void)tfs_take(&r->c, 4);
    read_strings(r);
    if (!failed(r))
        read_schemas(r);
    if (!failed(r))
        read_values(r, 0, ROLE_ROOT, 0);
    free(r->strings);
    free(r->schemas);
    if (r->no_memory)
        return tfs_fail_memory(err);
    return !failed(r) && tfs_cursor_left(&r->c) == 0;
}

int tfs_cosmic_crbin_shift(struct tfs_span bytes, const int64_t by[3], struct tfs_buf *out,
                           struct tfs_error *err)
{
    const size_t begin = out->size;
    struct reader r = {.by = by, .out = out};
    int status = read_all(&r, bytes, err);

    if (status == 1)
        tfs_buf_add(out, bytes.data + r.copied, bytes.size - r.copied);
    else
        out->size = begin;
    return status < 0 || tfs_buf_check(out, err) < 0 ? err->code : status;
}

int tfs_cosmic_crbin_chunk(struct tfs_span bytes, struct tfs_key *chunk, struct tfs_error *err)
{
    struct reader r = {0};
    int status = read_all(&r, bytes, err);

    *chunk = r.chunk;
    return status == 1 ? r.entities > 0 : status;
}

int tfs_cosmic_crbin_check(struct tfs_span bytes, struct tfs_error *err)
{
    static const int64_t nowhere[3] = {0, 0, 0};
    struct tfs_buf same = {0};
    int status = tfs_cosmic_crbin_shift(bytes, nowhere, &same, err);

    tfs_buf_release(&same);
    return status;
}
