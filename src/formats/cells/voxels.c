/*
 * Voxels of chunks <-> their numbers in a pool, and what they are called.
 *
 * Must not know what a game stores, nor what voxels are compared for.
 */
#include "formats/cells/voxels.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "text/name.h"

static bool is_flagged(const struct tfs_cells_kind *kind, unsigned plane, unsigned flag)
{
    return (kind->planes[plane].flags & flag) != 0;
}

/* Is a voxel what the numbers in its planes are, and no thing with a name? */
static bool is_numbers(const struct tfs_cells_kind *kind)
{
    return kind->form != NULL;
}

static unsigned voxel_planes(const struct tfs_cells_kind *kind)
{
    unsigned planes = 1;

    for (unsigned p = 0; p < kind->count; p++) {
        assert(p == 0 || kind->planes[p].mark != NULL || !is_flagged(kind, p, TFS_PLANE_IN_TABLE));
        planes |= kind->planes[p].mark != NULL ? 1u << p : 0;
    }
    return planes;
}

/* ---- names of a whole save ------------------------------------------------------------------- */

/* An entry is a word: the name with how many before it have it, that there is a hole, or the number
 * alone. Several entries are a word of 16 bits each. */
enum { ENTRY_NAME, ENTRY_HOLE, ENTRY_NUMBER };

#define ENTRIES    (UINT8_MAX + 1)
#define ENTRY_HEAD 4 /* bytes in front of a name */

static void print_entry_key(struct tfs_span name, uint8_t number, struct tfs_buf *key)
{
    if (name.size > 0) {
        tfs_buf_u8(key, ENTRY_NAME);
        tfs_buf_u8(key, number);
        tfs_buf_u16le(key, (uint16_t)name.size);
        tfs_buf_add_span(key, name);
    } else if (number == UINT8_MAX) {
        tfs_buf_u8(key, ENTRY_HOLE);
    } else {
        tfs_buf_u8(key, ENTRY_NUMBER);
        tfs_buf_u8(key, number);
    }
}

/* How many of the names before this one are the same. */
static uint8_t repeats_of(const struct tfs_span *names, uint32_t i)
{
    uint8_t count = 0;

    for (uint32_t k = 0; k < i; k++)
        count = (uint8_t)(count + tfs_span_equal(names[k], names[i]));
    return count;
}

static int find_entries(struct tfs_voxel_pool *pool, const struct tfs_doc *doc, uint32_t *words,
                        struct tfs_error *err)
{
    struct tfs_span names[ENTRIES];
    const uint32_t count = pool->kind->save_names(doc, names);
    struct tfs_buf key = {0};

    for (uint32_t i = 0; i < ENTRIES && err->code == 0; i++) {
        const bool named = i < count && names[i].size > 0;
        tfs_buf_clear(&key);
        print_entry_key(named ? names[i] : (struct tfs_span){NULL, 0},
                        named ? repeats_of(names, i) : (uint8_t)i, &key);
        if (tfs_buf_check(&key, err) == 0)
            tfs_words_add(&pool->names, tfs_buf_span(&key), &words[i], err);
    }
    tfs_buf_release(&key);
    return err->code;
}

static uint64_t entries_as_words(const uint32_t *words, uint64_t entries, unsigned width)
{
    uint64_t value = 0;

    for (unsigned k = 0; k < width; k++)
        value |= (uint64_t)words[entries >> 8 * k & UINT8_MAX] << 16 * k;
    return value;
}

/* How many of the name of a word come before it; 0: it has none. */
static unsigned repeat_of(struct tfs_span word)
{
    return word.data[0] == ENTRY_NAME ? word.data[1] : 0;
}

static struct tfs_span name_of(struct tfs_span word)
{
    return (struct tfs_span){word.data + ENTRY_HEAD, word.size - ENTRY_HEAD};
}

/* Without what stands between names of one value, and behind them. */
static void print_among_others(struct tfs_span name, struct tfs_buf *out)
{
    size_t from = 0;

    for (size_t i = 0; i < name.size; i++) {
        if (memchr(" ,#", name.data[i], 3) == NULL)
            continue;
        tfs_name_print(out, (struct tfs_span){name.data + from, i - from});
        tfs_buf_printf(out, "\\x%02x", name.data[i]);
        from = i + 1;
    }
    tfs_name_print(out, (struct tfs_span){name.data + from, name.size - from});
}

/* No name is printed with a `#` in front. */
static void print_entry(struct tfs_span word, bool alone, struct tfs_buf *out)
{
    if (word.data[0] == ENTRY_HOLE)
        tfs_buf_add_text(out, "#hole");
    else if (word.data[0] == ENTRY_NUMBER)
        tfs_buf_printf(out, "#%u", word.data[1]);
    else if (alone)
        tfs_name_print(out, name_of(word));
    else
        print_among_others(name_of(word), out);
}

/* `Grass,Grass,Sand#2,#hole`: the number is that of the entries of one name. */
static void print_entries(const struct tfs_voxel_pool *pool, uint64_t words, unsigned width,
                          struct tfs_buf *out)
{
    for (unsigned k = 0; k < width; k++) {
        const struct tfs_span word = tfs_words_at(&pool->names, words >> 16 * k & UINT16_MAX);
        if (k > 0)
            tfs_buf_u8(out, ',');
        print_entry(word, false, out);
        if (repeat_of(word) > 0)
            tfs_buf_printf(out, "#%u", repeat_of(word) + 1);
    }
}

/* ---- what a voxel is called ------------------------------------------------------------------ */

static struct tfs_plane_form form_of(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v,
                                     unsigned plane)
{
    return is_numbers(pool->kind) ? pool->kind->form((unsigned)v->version, plane, v->widths[plane])
                                  : pool->kind->planes[plane].form;
}

static void print_number(const struct tfs_plane_form *form, uint64_t number, struct tfs_buf *out)
{
    const struct tfs_grid_shape shape = tfs_plane_shape(form, (struct tfs_voxel_size){0}, 0);
    const uint64_t value = tfs_plane_wide(form, number);
    uint8_t text[TFS_GRID_VALUE_MAX];

    tfs_buf_add(out, text,
                form->width == sizeof(uint64_t)
                    ? tfs_grid_put_value64(text, &shape, value)
                    : tfs_grid_put_value(text, &shape, (uint32_t)value));
}

/* Does the plane of a kind of numbers say more than one that nobody wrote? */
static bool says_something(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v,
                           unsigned plane)
{
    return v->widths[plane] != pool->kind->planes[plane].form.width ||
           v->values[plane] != form_of(pool, v, plane).empty;
}

/* Is it what goes without saying? A sample has nothing such. */
static bool is_usual(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v, unsigned plane,
                     bool empty)
{
    const struct tfs_plane *p = &pool->kind->planes[plane];

    if (is_numbers(pool->kind))
        return !says_something(pool, v, plane);
    return pool->kind->save_names == NULL && v->values[plane] == (empty ? p->form.empty : p->full);
}

bool tfs_voxel_is_empty(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v)
{
    const struct tfs_cells_kind *kind = pool->kind;

    if (kind->planes[0].form.kind == TFS_PLANE_NAMES)
        return tfs_name_is_air(kind, tfs_words_at(&pool->names, (uint32_t)v->values[0]));
    if (kind->save_names != NULL)
        return false;
    for (unsigned p = 0; p < kind->count && is_numbers(kind); p++)
        if (says_something(pool, v, p)) /* distances of air do */
            return false;
    return is_numbers(kind) || v->values[0] == kind->planes[0].form.empty;
}

/* What plane 0 says of a voxel with a name. */
static void print_name(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v,
                       struct tfs_buf *out)
{
    const struct tfs_cells_kind *kind = pool->kind;
    struct tfs_span name = {NULL, 0};

    if (kind->save_names != NULL) {
        print_entry(tfs_words_at(&pool->names, (uint32_t)v->values[0]), true, out);
        return;
    }
    if (kind->planes[0].form.kind == TFS_PLANE_NAMES)
        name = tfs_words_at(&pool->names, (uint32_t)v->values[0]);
    else if (kind->planes[0].name_of != NULL)
        name = kind->planes[0].name_of(v->values[0]);
    if (name.size > 0 || kind->planes[0].form.kind == TFS_PLANE_NAMES)
        tfs_name_print(out, name);
    else
        print_number(&kind->planes[0].form, v->values[0], out);
}

/* `type=3`; of distances only that they are solid; nothing of air. */
static void print_solid(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v,
                        struct tfs_buf *out)
{
    const struct tfs_cells_kind *kind = pool->kind;
    bool solid = false;

    for (unsigned p = 0; p < kind->count; p++) {
        const struct tfs_plane_form form = form_of(pool, v, p);
        if (!is_flagged(kind, p, TFS_PLANE_SOLID) || !tfs_plane_is_solid(&form, v->values[p]))
            continue;
        solid = true;
        if (is_flagged(kind, p, TFS_PLANE_DISTANCE))
            continue;
        tfs_buf_add_text(out, kind->planes[p].mark + 1);
        print_number(&form, v->values[p], out);
        return;
    }
    if (solid)
        tfs_buf_add_text(out, "solid");
}

/* A plane behind the name, or behind other planes. */
static void print_plane(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v,
                        unsigned plane, bool first, struct tfs_buf *out)
{
    const struct tfs_plane *p = &pool->kind->planes[plane];
    const struct tfs_plane_form form = form_of(pool, v, plane);

    tfs_buf_add_text(out, p->mark + first);
    if (is_flagged(pool->kind, plane, TFS_PLANE_ENTRIES))
        print_entries(pool, v->values[plane], form.width, out);
    else
        print_number(&form, v->values[plane], out);
    if (form.width != p->form.width)
        tfs_buf_printf(out, "/%u", 8 * form.width);
}

void tfs_voxel_print(const struct tfs_voxel_pool *pool, const struct tfs_voxel *v, bool brief,
                     struct tfs_buf *out)
{
    const struct tfs_cells_kind *kind = pool->kind;
    const bool empty = !brief && tfs_voxel_is_empty(pool, v);
    const size_t begin = out->size;

    if (is_numbers(kind) && brief)
        print_solid(pool, v, out);
    if (!is_numbers(kind))
        print_name(pool, v, out);
    for (unsigned p = 0; p < kind->count && !brief; p++)
        if (kind->planes[p].mark != NULL && v->widths[p] > 0 && !is_usual(pool, v, p, empty))
            print_plane(pool, v, p, out->size == begin, out);
    if (!brief && out->size == begin)
        tfs_buf_add_text(out, "empty");
    if (!brief && kind->save_names != NULL) {
        const unsigned same = repeat_of(tfs_words_at(&pool->names, (uint32_t)v->values[0]));
        if (same > 0)
            tfs_buf_printf(out, " same=%u", same + 1);
    }
}

/* ---- the pool -------------------------------------------------------------------------------- */

void tfs_voxel_pool_release(struct tfs_voxel_pool *pool)
{
    tfs_words_release(&pool->names);
    tfs_words_release(&pool->voxels);
    tfs_words_release(&pool->full);
    tfs_words_release(&pool->brief);
    free(pool->looks);
    *pool = (struct tfs_voxel_pool){0};
}

/* Adds the look of a voxel that is the newest; NULL: of none. */
static int add_look(struct tfs_voxel_pool *pool, uint32_t number, const struct tfs_voxel *v,
                    struct tfs_error *err)
{
    struct tfs_voxel_look *looks = tfs_array_grow(pool->looks, number, sizeof(*looks));
    struct tfs_voxel_look look = {.empty = v == NULL || tfs_voxel_is_empty(pool, v)};
    struct tfs_words *words[] = {&pool->full, &pool->brief};
    uint32_t *found[] = {&look.full, &look.brief};
    struct tfs_buf name = {0};

    if (looks == NULL)
        return tfs_fail_memory(err);
    pool->looks = looks;
    for (unsigned i = 0; i < 2 && err->code == 0; i++) {
        tfs_buf_clear(&name);
        if (v != NULL)
            tfs_voxel_print(pool, v, i == 1, &name);
        if (tfs_buf_check(&name, err) == 0)
            tfs_words_add(words[i], tfs_buf_span(&name), found[i], err);
    }
    looks[number] = look;
    tfs_buf_release(&name);
    return err->code;
}

int tfs_voxel_pool_begin(struct tfs_voxel_pool *pool, const struct tfs_cells_kind *kind,
                         struct tfs_error *err)
{
    uint32_t none;

    pool->kind = kind;
    if (kind->save_names == NULL)
        tfs_words_clear(&pool->names);
    for (unsigned i = 0; i < TFS_VOXELS_RECENT; i++)
        pool->recent[i].number = TFS_VOXEL_NONE;
    tfs_words_clear(&pool->voxels);
    tfs_words_clear(&pool->full);
    tfs_words_clear(&pool->brief);
    if (tfs_words_add(&pool->voxels, (struct tfs_span){NULL, 0}, &none, err) < 0)
        return err->code;
    return add_look(pool, none, NULL, err);
}

static int add_voxel(struct tfs_voxel_pool *pool, const struct tfs_voxel *voxel, uint32_t *number,
                     struct tfs_error *err)
{
    const uint32_t before = pool->voxels.count;
    const struct tfs_span bytes = {(const uint8_t *)voxel, sizeof(*voxel)};
    uint64_t spread = 0;

    for (unsigned p = 0; p < pool->kind->count; p++)
        spread = spread * 31 + voxel->values[p];
    const size_t at = spread % TFS_VOXELS_RECENT;
    if (pool->recent[at].number == TFS_VOXEL_NONE ||
        memcmp(&pool->recent[at].voxel, voxel, sizeof(*voxel)) != 0) {
        if (tfs_words_add(&pool->voxels, bytes, number, err) < 0 ||
            (pool->voxels.count > before && add_look(pool, *number, voxel, err) < 0))
            return err->code;
        pool->recent[at].voxel = *voxel;
        pool->recent[at].number = *number;
    }
    *number = pool->recent[at].number;
    return 0;
}

static struct tfs_voxel voxel_of(const struct tfs_voxel_pool *pool, uint32_t number)
{
    struct tfs_voxel v;

    memcpy(&v, tfs_words_at(&pool->voxels, number).data, sizeof(v));
    return v;
}

bool tfs_voxels_same(const struct tfs_voxel_pool *pool, uint32_t a, uint32_t b)
{
    if (a == TFS_VOXEL_NONE || b == TFS_VOXEL_NONE)
        return pool->looks[a].empty && pool->looks[b].empty;
    return pool->looks[a].full == pool->looks[b].full;
}

int tfs_voxel_fill_up(struct tfs_voxel_pool *pool, uint32_t voxel, uint32_t *full,
                      struct tfs_error *err)
{
    struct tfs_voxel v = voxel_of(pool, voxel);

    for (unsigned p = 0; p < pool->kind->count; p++)
        if (is_flagged(pool->kind, p, TFS_PLANE_PARTIAL))
            v.values[p] = pool->kind->planes[p].full;
    return add_voxel(pool, &v, full, err);
}

/* ---- of chunks ------------------------------------------------------------------------------- */

static int make_room(struct tfs_voxel_chunk *chunk, uint32_t count, struct tfs_error *err)
{
    if (count <= chunk->room)
        return 0;
    free(chunk->words);
    chunk->words = calloc(count, sizeof(*chunk->words));
    chunk->room = chunk->words == NULL ? 0 : count;
    return chunk->words == NULL ? tfs_fail_memory(err) : 0;
}

/* What entries are called: in the save, or in the chunk. */
static int find_words(struct tfs_voxel_chunk *chunk, struct tfs_voxel_pool *pool,
                      const struct tfs_doc *doc, struct tfs_error *err)
{
    if (pool->kind->save_names != NULL) {
        const bool known = chunk->of == doc;
        chunk->of = NULL;
        if (known || (make_room(chunk, ENTRIES, err) == 0 &&
                      find_entries(pool, doc, chunk->words, err) == 0))
            chunk->of = doc;
    } else if (make_room(chunk, chunk->cells->name_count, err) == 0) {
        for (uint32_t i = 0; i < chunk->cells->name_count && err->code == 0; i++)
            tfs_words_add(&pool->names, chunk->cells->names[i], &chunk->words[i], err);
    }
    return err->code;
}

int tfs_voxel_chunk_take(struct tfs_voxel_chunk *chunk, struct tfs_voxel_pool *pool,
                         struct tfs_cells *cells, const struct tfs_doc *doc, struct tfs_error *err)
{
    const unsigned planes = voxel_planes(pool->kind);

    chunk->cells = tfs_cells_ref(cells);
    chunk->last = (struct tfs_voxel){.version = cells->version};
    chunk->number = TFS_VOXEL_NONE;
    for (unsigned p = 0; p < pool->kind->count; p++)
        if ((planes >> p & 1) != 0 && cells->planes[p].values != NULL)
            chunk->last.widths[p] = (uint8_t)tfs_plane_size(&cells->planes[p].form);
    return find_words(chunk, pool, doc, err);
}

int tfs_voxel_chunk_open(struct tfs_voxel_chunk *chunk, struct tfs_voxel_pool *pool,
                         struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_open(save, doc, key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "chunk %d_%d_%d is damaged: %s", key.x, key.y, key.z,
                 cells->damage);
    else
        tfs_voxel_chunk_take(chunk, pool, cells, doc, err);
    tfs_cells_unref(cells);
    return err->code;
}

void tfs_voxel_chunk_close(struct tfs_voxel_chunk *chunk)
{
    tfs_cells_unref(chunk->cells);
    chunk->cells = NULL;
}

void tfs_voxel_chunk_release(struct tfs_voxel_chunk *chunk)
{
    tfs_voxel_chunk_close(chunk);
    free(chunk->words);
    *chunk = (struct tfs_voxel_chunk){0};
}

/* The value of a voxel in a plane, with words for entries. */
static inline uint64_t value_of(const struct tfs_voxel_chunk *chunk, unsigned plane, size_t i)
{
    const uint64_t value = tfs_plane_get(&chunk->cells->planes[plane], i);

    if (chunk->cells->planes[plane].form.kind == TFS_PLANE_NAMES)
        return chunk->words[value];
    return is_flagged(chunk->cells->kind, plane, TFS_PLANE_ENTRIES)
               ? entries_as_words(chunk->words, value, chunk->last.widths[plane])
               : value;
}

int tfs_voxel_at(struct tfs_voxel_pool *pool, struct tfs_voxel_chunk *chunk, const uint32_t at[3],
                 uint32_t *number, struct tfs_error *err)
{
    const struct tfs_cells *cells = chunk->cells;
    bool changed = chunk->number == TFS_VOXEL_NONE;

    *number = TFS_VOXEL_NONE;
    if (cells == NULL || at[0] >= cells->size.x || at[1] >= cells->size.y || at[2] >= cells->size.z)
        return 0;
    const size_t i = ((size_t)at[1] * cells->size.z + at[2]) * cells->size.x + at[0];
    for (unsigned p = 0; p < cells->kind->count; p++)
        if (chunk->last.widths[p] > 0) {
            const uint64_t value = value_of(chunk, p, i);
            changed = changed || value != chunk->last.values[p];
            chunk->last.values[p] = value;
        }
    if (changed) {
        chunk->number = TFS_VOXEL_NONE;
        if (add_voxel(pool, &chunk->last, &chunk->number, err) < 0)
            return err->code;
    }
    *number = chunk->number;
    return 0;
}

/* Of one plane with entries, from voxel `i` and `k` on. */
static bool equal_entries(const struct tfs_voxel_chunk *a, const struct tfs_voxel_chunk *b,
                          unsigned plane, size_t i, size_t k, size_t count)
{
    size_t n = 0;

    while (n < count && value_of(a, plane, i + n) == value_of(b, plane, k + n))
        n++;
    return n == count;
}

static bool equal_values(const struct tfs_cells_plane *a, const struct tfs_cells_plane *b, size_t i,
                         size_t k, size_t count)
{
    const size_t size = tfs_plane_size(&a->form);
    const uint8_t *left = a->values, *right = b->values;
    size_t n = 0;

    if (!a->filled && !b->filled)
        return memcmp(left + i * size, right + k * size, count * size) == 0;
    while (n < count && tfs_plane_get(a, i + n) == tfs_plane_get(b, k + n))
        n++;
    return n == count;
}

bool tfs_voxel_rows_equal(const struct tfs_voxel_chunk *a, const struct tfs_voxel_chunk *b,
                          uint32_t y, uint32_t z)
{
    const struct tfs_cells *left = a->cells, *right = b->cells;

    if (left == NULL || right == NULL || left->size.x != right->size.x ||
        a->last.version != b->last.version ||
        memcmp(a->last.widths, b->last.widths, sizeof(a->last.widths)) != 0 || y >= left->size.y ||
        y >= right->size.y || z >= left->size.z || z >= right->size.z)
        return false;
    const size_t i = ((size_t)y * left->size.z + z) * left->size.x;
    const size_t k = ((size_t)y * right->size.z + z) * right->size.x;
    for (unsigned p = 0; p < left->kind->count; p++) {
        const bool entries = left->planes[p].form.kind == TFS_PLANE_NAMES ||
                             is_flagged(left->kind, p, TFS_PLANE_ENTRIES);
        if (a->last.widths[p] > 0 &&
            !(entries ? equal_entries(a, b, p, i, k, left->size.x)
                      : equal_values(&left->planes[p], &right->planes[p], i, k, left->size.x)))
            return false;
    }
    return true;
}

/* ---- changes --------------------------------------------------------------------------------- */

int tfs_voxel_edit_open(struct tfs_voxel_edit *e, struct tfs_voxel_pool *pool,
                        struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        struct tfs_error *err)
{
    e->pool = pool;
    if (tfs_cells_edit_load(&e->cells, save, doc, key, err) < 0)
        return err->code;
    return pool->kind->save_names != NULL ? find_words(&e->names, pool, doc, err) : 0;
}

void tfs_voxel_edit_close(struct tfs_voxel_edit *e)
{
    tfs_cells_edit_close(&e->cells);
    tfs_voxel_chunk_release(&e->names);
    *e = (struct tfs_voxel_edit){0};
}

static size_t index_of(const struct tfs_cells_edit *e, struct tfs_stretch at, uint32_t y)
{
    const struct tfs_voxel_size size = e->before->size;

    return ((size_t)y * size.z + at.z) * size.x + at.x;
}

/* The entry of a word in the save that is changed. Where there was no place for all that repeat, it
 * is another one of that name. */
static int find_entry(const struct tfs_voxel_edit *e, uint32_t word, uint8_t *entry,
                      struct tfs_error *err)
{
    const struct tfs_span wanted = tfs_words_at(&e->pool->names, word);
    const uint32_t *words = e->names.words;
    uint32_t best = ENTRIES;

    for (uint32_t i = 0; i < ENTRIES; i++) {
        const struct tfs_span there = tfs_words_at(&e->pool->names, words[i]);
        if (words[i] == word || (wanted.data[0] == ENTRY_NAME && there.data[0] == ENTRY_NAME &&
                                 repeat_of(there) < repeat_of(wanted) &&
                                 tfs_span_equal(name_of(there), name_of(wanted))))
            best = i;
        if (words[i] == word)
            break;
    }
    *entry = (uint8_t)best;
    if (best < ENTRIES)
        return 0;
    if (wanted.data[0] == ENTRY_NUMBER)
        return tfs_fail(err, -EBADMSG, "%s %u has a name on one side alone",
                        e->pool->kind->planes[0].name, wanted.data[1]);
    return tfs_fail(err, -EBADMSG, "the palette has no such %s", e->pool->kind->planes[0].name);
}

static int words_as_entries(const struct tfs_voxel_edit *e, unsigned width, uint64_t *value,
                            struct tfs_error *err)
{
    const uint64_t words = *value;
    uint8_t entry;

    *value = 0;
    for (unsigned k = 0; k < width; k++) {
        if (find_entry(e, (uint32_t)(words >> 16 * k & UINT16_MAX), &entry, err) < 0)
            return err->code;
        *value |= (uint64_t)entry << 8 * k;
    }
    return 0;
}

/* Values of another version or width mean something else. */
static int check_form(const struct tfs_cells_edit *e, const struct tfs_voxel *v,
                      struct tfs_error *err)
{
    const struct tfs_cells *cells = e->before;
    const struct tfs_key key = cells->chunk.key;

    if (v->version != cells->version)
        return tfs_fail(err, -EBADMSG,
                        "the voxel to repeat is one of version %u, chunk %d_%d_%d has version %u",
                        (unsigned)v->version, key.x, key.y, key.z, cells->version);
    for (unsigned p = 0; p < cells->kind->count; p++) {
        const unsigned width = e->planes[p].values == NULL ? 0 : tfs_plane_size(&e->planes[p].form);
        if (v->widths[p] == width || (voxel_planes(cells->kind) >> p & 1) == 0)
            continue;
        if (v->widths[p] == 0 || width == 0)
            return tfs_fail(err, -EBADMSG, "one side has %s, the other has not",
                            cells->kind->planes[p].name);
        return tfs_fail(
            err, -EBADMSG, "%s of the voxel to repeat has %u bits, in chunk %d_%d_%d %u",
            cells->kind->planes[p].name, 8 * v->widths[p], key.x, key.y, key.z, 8 * width);
    }
    return 0;
}

/* A chunk without voxels gets those of a blank, stored as the voxel is. */
static int make_voxels(struct tfs_cells_edit *e, const struct tfs_voxel *v, struct tfs_error *err)
{
    struct tfs_cells_like like = {.version = (unsigned)v->version};

    for (unsigned p = 0; p < e->before->kind->count; p++)
        like.widths[p] = v->widths[p];
    return e->before->count > 0 ? 0 : tfs_cells_edit_blank(e, &like, err);
}

/* A value that is there already is no change: a filled plane stays one. */
static int set_number(struct tfs_cells_edit *e, unsigned plane, size_t i, uint64_t value,
                      struct tfs_error *err)
{
    if (tfs_plane_get(&e->planes[plane], i) != value && tfs_cells_edit_plane(e, plane, err) == 0)
        tfs_plane_set(&e->planes[plane], i, value);
    return err->code;
}

static int put_value(struct tfs_voxel_edit *v, unsigned plane, struct tfs_stretch at,
                     uint64_t value, struct tfs_error *err)
{
    struct tfs_cells_edit *e = &v->cells;
    const bool named = e->planes[plane].form.kind == TFS_PLANE_NAMES;
    uint32_t entry = 0;

    e->written |= 1u << plane;
    if (is_flagged(v->pool->kind, plane, TFS_PLANE_ENTRIES) &&
        words_as_entries(v, e->planes[plane].form.width, &value, err) < 0)
        return err->code;
    if (named &&
        (tfs_cells_edit_plane(e, plane, err) < 0 ||
         tfs_cells_edit_add(e, tfs_words_at(&v->pool->names, (uint32_t)value), &entry, err) < 0))
        return err->code;
    for (uint32_t y = at.from; y < at.to && err->code == 0; y++)
        if (named)
            tfs_cells_edit_set(e, index_of(e, at, y), 1, entry);
        else
            set_number(e, plane, index_of(e, at, y), value, err);
    return err->code;
}

int tfs_voxel_put(struct tfs_voxel_edit *e, struct tfs_stretch at, uint32_t voxel,
                  struct tfs_error *err)
{
    const struct tfs_voxel v = voxel_of(e->pool, voxel);

    if (make_voxels(&e->cells, &v, err) < 0 || check_form(&e->cells, &v, err) < 0)
        return err->code;
    for (unsigned p = 0; p < e->pool->kind->count && err->code == 0; p++)
        if (v.widths[p] > 0)
            put_value(e, p, at, v.values[p], err);
    return err->code;
}

/* Only what makes a voxel more than an empty one changes: its other values stay. */
static int clear_solid(struct tfs_cells_edit *e, size_t i, struct tfs_error *err)
{
    for (unsigned p = 0; p < e->before->kind->count && err->code == 0; p++)
        if (is_flagged(e->before->kind, p, TFS_PLANE_SOLID) &&
            tfs_plane_is_solid(&e->planes[p].form, tfs_plane_get(&e->planes[p], i)))
            set_number(e, p, i, e->planes[p].form.empty, err);
    return err->code;
}

static bool is_unseen(const struct tfs_cells_edit *e, size_t i)
{
    const struct tfs_cells_kind *kind = e->before->kind;

    return kind->planes[0].form.kind == TFS_PLANE_NAMES &&
           tfs_name_emptiness(kind, tfs_cells_edit_name(e, (uint32_t)tfs_plane_get(
                                                               &e->planes[0], i))) == TFS_UNSEEN;
}

int tfs_voxel_clear(struct tfs_voxel_edit *v, struct tfs_stretch at, bool seen,
                    struct tfs_error *err)
{
    struct tfs_cells_edit *e = &v->cells;
    const struct tfs_cells_kind *kind = v->pool->kind;

    if (kind->save_names != NULL)
        return tfs_fail(err, -EBADMSG, "a %s cannot be removed", kind->unit);
    if (!is_numbers(kind) && tfs_cells_edit_plane(e, 0, err) < 0)
        return err->code;
    for (uint32_t y = at.from; y < at.to && e->before->count > 0 && err->code == 0; y++) {
        const size_t i = index_of(e, at, y);
        if (is_numbers(kind))
            clear_solid(e, i, err);
        else if (!seen || !is_unseen(e, i))
            tfs_cells_edit_clear(e, i, 1, err);
    }
    return err->code;
}
