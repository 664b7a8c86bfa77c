/*
 * Lines of a voxels.csv -> voxels of one chunk with numbers for names.
 *
 * A line as we print it (bare numbers, a bare name) is read in place and its name found among those
 * seen; everything else (quotes, escapes, blanks, comments, faults) takes the way through the table
 * reader. Must not know how block data is stored.
 */
#include "formats/cosmic_reach/voxels_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/lenses.h"
#include "text/name.h"
#include "text/table.h"

#define COLUMNS        4
#define DIGITS_MAX     11 /* a coordinate has at most as many */
#define COORDINATE_MAX (INT64_C(16) * INT32_MAX + 15)
#define COORDINATE_MIN (INT64_C(16) * INT32_MIN)

struct reader {
    struct tfs_cosmic_voxels_text *t;
    struct tfs_key key; /* of the chunk that the rows lie in */
    bool fresh;         /* the first row decides which chunk that is */
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_buf scratch, name;
    struct tfs_cosmic_names seen; /* bare names as they stand in the text -> number */
    struct tfs_span last;         /* the bare name of the line before, and its number */
    uint32_t last_number;
};

/* ---- names ----------------------------------------------------------------------------------- */

static int add_new(struct tfs_cosmic_voxels_text *t, struct tfs_span name, uint32_t *number,
                   struct tfs_error *err)
{
    uint32_t next = t->old_count + t->added_count;

    if (t->added_count == t->added_capacity) {
        uint32_t capacity = t->added_capacity * 2 + 16;
        struct tfs_span *added = realloc(t->added, capacity * sizeof(*added));
        if (added == NULL)
            return tfs_fail_memory(err);
        t->added = added;
        t->added_capacity = capacity;
    }
    if (tfs_cosmic_names_add(&t->names, name, next, number, err) < 0)
        return err->code;
    t->added[t->added_count++] = name;
    return 0;
}

int tfs_cosmic_voxels_name(struct tfs_cosmic_voxels_text *t, struct tfs_span name, uint32_t *number,
                           struct tfs_error *err)
{
    return tfs_cosmic_names_find(&t->names, name, number) ? 0 : add_new(t, name, number, err);
}

/* The number of the name that a field prints. */
static int number_of_field(struct reader *r, const struct tfs_line *field, uint32_t *number,
                           struct tfs_error *err)
{
    struct tfs_cosmic_voxels_text *t = r->t;
    struct tfs_error inside = {0};

    tfs_buf_clear(&r->name);
    if (tfs_name_parse(&r->name, field->text, &inside) < 0)
        return tfs_fail_at(err, inside.code, field->number, field->column + inside.column - 1, "%s",
                           inside.text);
    if (tfs_buf_check(&r->name, err) < 0)
        return err->code;

    struct tfs_span name = tfs_buf_span(&r->name);
    if (tfs_cosmic_names_find(&t->names, name, number))
        return 0;
    if (tfs_cosmic_name_check(name, field, err) < 0)
        return err->code;
    /* A name is never longer than its print, so all of them fit where the text fits. */
    uint8_t *copy = t->bytes + t->bytes_used;
    memcpy(copy, name.data, name.size);
    t->bytes_used += name.size;
    return add_new(t, (struct tfs_span){copy, name.size}, number, err);
}

/* ---- places ---------------------------------------------------------------------------------- */

static int64_t chunk_of(int64_t global)
{
    return (global - (global & (TFS_COSMIC_SIDE - 1))) / TFS_COSMIC_SIDE;
}

static bool inside(const struct reader *r, const int64_t place[3])
{
    return chunk_of(place[0]) == r->key.x && chunk_of(place[1]) == r->key.y &&
           chunk_of(place[2]) == r->key.z;
}

static unsigned index_of(const int64_t place[3])
{
    const int64_t mask = TFS_COSMIC_SIDE - 1;

    return (unsigned)(((place[1] & mask) * TFS_COSMIC_SIDE + (place[2] & mask)) * TFS_COSMIC_SIDE +
                      (place[0] & mask));
}

static int outside(const struct reader *r, const int64_t place[3], struct tfs_error *err)
{
    const int32_t chunk[3] = {r->key.x, r->key.y, r->key.z};

    for (unsigned i = 0; i < 3; i++) {
        int64_t low = (int64_t)chunk[i] * TFS_COSMIC_SIDE;
        if (chunk_of(place[i]) != chunk[i])
            return tfs_fail_line(err, &r->record.fields[i],
                                 "%c %" PRId64 " is outside chunk %d_%d_%d, which has %c %" PRId64
                                 " to %" PRId64,
                                 "xyz"[i], place[i], chunk[0], chunk[1], chunk[2], "xyz"[i], low,
                                 low + TFS_COSMIC_SIDE - 1);
    }
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A number and the comma behind it, as we print it; false when it is anything else. */
static bool fast_number(const uint8_t **at, const uint8_t *end, int64_t *value)
{
    const uint8_t *p = *at;
    bool negative = p < end && *p == '-';
    int64_t v = 0;

    p += negative;
    const uint8_t *digits = p;
    while (p < end && (unsigned)(*p - '0') < 10 && p - digits <= DIGITS_MAX)
        v = v * 10 + (*p++ - '0');
    if (p == digits || p == end || *p != ',' || p - digits > DIGITS_MAX)
        return false;
    if (*digits == '0' && (negative || p - digits > 1))
        return false;
    *value = negative ? -v : v;
    *at = p + 1;
    return true;
}

/* Could these bytes be the field that they look like? What may be an escape, a quote or a blank at
 * an end is for the table reader. */
static bool is_bare(struct tfs_span field)
{
    if (field.size == 0 || field.data[0] <= ' ' || field.data[field.size - 1] <= ' ')
        return false;
    for (size_t i = 0; i < field.size; i++)
        if (field.data[i] == ',' || field.data[i] == '"' || field.data[i] == '\\')
            return false;
    return true;
}

/* The number of a bare name that was seen before. */
static bool fast_name(struct reader *r, struct tfs_span field, uint32_t *number)
{
    if (r->last.data == NULL || !tfs_span_equal(field, r->last)) {
        if (!tfs_cosmic_names_find(&r->seen, field, &r->last_number))
            return false;
        r->last = field;
    }
    *number = r->last_number;
    return true;
}

/* Reads lines as long as they are plain ones with known names in this chunk. */
static void fast_lines(struct reader *r)
{
    struct tfs_lines *lines = &r->table.lines;
    const uint8_t *end = lines->rest.data + lines->rest.size;

    while (lines->rest.size > 0) {
        const uint8_t *at = lines->rest.data;
        int64_t place[3];
        uint32_t number;
        if (!fast_number(&at, end, &place[0]) || !fast_number(&at, end, &place[1]) ||
            !fast_number(&at, end, &place[2]) || !inside(r, place))
            return;
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL ||
            !fast_name(r, (struct tfs_span){at, (size_t)(newline - at)}, &number))
            return;
        r->t->voxels[index_of(place)] = number;
        lines->rest = (struct tfs_span){newline + 1, (size_t)(end - newline - 1)};
        lines->number++;
    }
}

/* The row that the table reader gave. */
static int take_row(struct reader *r, struct tfs_error *err)
{
    static const char *const what[] = {"x", "y", "z"};
    const struct tfs_line *field = &r->record.fields[3];
    int64_t place[3] = {0};
    uint32_t number = 0, ignored;

    for (unsigned i = 0; i < 3; i++)
        if (tfs_line_number(&r->record.fields[i], what[i], COORDINATE_MIN, COORDINATE_MAX,
                            &place[i], err) < 0)
            return err->code;
    if (r->fresh)
        r->key = (struct tfs_key){0, (int32_t)chunk_of(place[0]), (int32_t)chunk_of(place[1]),
                                  (int32_t)chunk_of(place[2])};
    r->fresh = false;
    if (outside(r, place, err) < 0 || number_of_field(r, field, &number, err) < 0)
        return err->code;
    r->t->voxels[index_of(place)] = number;
    if (!is_bare(field->text))
        return 0;
    return tfs_cosmic_names_add(&r->seen, field->text, number, &ignored, err);
}

static int take_header(struct reader *r, struct tfs_error *err)
{
    static const char *const names[COLUMNS] = {"x", "y", "z", "block"};
    int got = tfs_table_next(&r->table, &r->record, &r->scratch, err);

    if (got < 0)
        return got;
    bool good = got == 1 && r->record.count == COLUMNS;
    for (unsigned i = 0; i < COLUMNS && good; i++)
        good = tfs_span_equal(r->record.fields[i].text, tfs_span_of(names[i]));
    if (good)
        return 0;
    return tfs_fail_at(err, -EBADMSG, got == 1 ? r->record.fields[0].number : 1, 1,
                       "the text must begin with the line " TFS_COSMIC_VOXELS_HEADER);
}

static int read_lines(struct reader *r, struct tfs_error *err)
{
    int got;

    if (take_header(r, err) < 0)
        return err->code;
    do {
        if (!r->fresh)
            fast_lines(r);
        got = tfs_table_next(&r->table, &r->record, &r->scratch, err);
        if (got == 1 && take_row(r, err) < 0)
            return err->code;
    } while (got == 1);
    return got;
}

/* ---- the whole text -------------------------------------------------------------------------- */

static int take_old_names(struct tfs_cosmic_voxels_text *t, const struct tfs_cosmic_values *old,
                          struct tfs_error *err)
{
    t->old_count = old->count;
    t->first = malloc(old->count * sizeof(*t->first));
    if (t->first == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < old->count; i++)
        if (tfs_cosmic_names_add(&t->names, old->names[i], i, &t->first[i], err) < 0)
            return err->code;
    return 0;
}

int tfs_cosmic_voxels_parse(struct tfs_cosmic_voxels_text *t, struct tfs_span text,
                            struct tfs_key key, bool fresh, const struct tfs_cosmic_values *old,
                            struct tfs_error *err)
{
    struct reader r = {.t = t, .key = key, .fresh = fresh};

    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        t->voxels[i] = TFS_COSMIC_VOXEL_EMPTY;
    t->bytes = malloc(text.size + 1);
    if (t->bytes == NULL)
        return tfs_fail_memory(err);
    if (take_old_names(t, old, err) == 0 && tfs_table_init(&r.table, text, err) == 0)
        read_lines(&r, err);
    tfs_buf_release(&r.scratch);
    tfs_buf_release(&r.name);
    tfs_cosmic_names_release(&r.seen);
    return err->code;
}

void tfs_cosmic_voxels_release(struct tfs_cosmic_voxels_text *t)
{
    free(t->first);
    free(t->added);
    free(t->bytes);
    tfs_cosmic_names_release(&t->names);
}
