/*
 * Cells and changes -> other cells, which the game encodes.
 *
 * Must not know what files show, nor what a game stores.
 */
#include "formats/cells/edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/written.h"

#define NONE UINT32_MAX

/* ---- names ----------------------------------------------------------------------------------- */

/* Room for so many entries and as many words. */
static int reserve(struct tfs_cells_edit *e, uint32_t count, struct tfs_error *err)
{
    const uint32_t room = count < 16 ? 16 : 2 * count;

    if (count <= e->room)
        return 0;
    uint32_t *entries = reallocarray(e->entries, room, sizeof(*entries));
    if (entries == NULL)
        return tfs_fail_memory(err);
    e->entries = entries;
    uint32_t *firsts = reallocarray(e->firsts, room, sizeof(*firsts));
    if (firsts == NULL)
        return tfs_fail_memory(err);
    memset(firsts + e->room, 0xff, (room - e->room) * sizeof(*firsts)); /* NONE */
    e->firsts = firsts;
    e->room = room;
    return 0;
}

/* Adds an entry of that name behind the others. */
static int add_entry(struct tfs_cells_edit *e, struct tfs_span name, struct tfs_error *err)
{
    uint32_t word;

    if (tfs_words_add(&e->words, name, &word, err) < 0 ||
        reserve(e, (word > e->entry_count ? word : e->entry_count) + 1, err) < 0)
        return err->code;
    if (e->firsts[word] == NONE)
        e->firsts[word] = e->entry_count;
    if (e->air == NONE && tfs_name_is_air(e->before->kind, name))
        e->air = e->entry_count;
    e->entries[e->entry_count++] = word;
    return 0;
}

static int open_names(struct tfs_cells_edit *e, struct tfs_error *err)
{
    const struct tfs_cells *before = e->before;

    e->air = NONE;
    for (uint32_t i = 0; i < before->name_count; i++)
        if (add_entry(e, before->names[i], err) < 0)
            return err->code;
    e->old = calloc(e->entry_count + (size_t)1, sizeof(*e->old));
    if (e->old == NULL)
        return tfs_fail_memory(err);
    if (e->entry_count > 0)
        memcpy(e->old, e->entries, e->entry_count * sizeof(*e->old));
    return 0;
}

bool tfs_cells_edit_had(const void *edit, struct tfs_span name)
{
    const struct tfs_cells_edit *e = edit;

    for (uint32_t i = 0; i < e->before->name_count; i++)
        if (tfs_span_equal(e->before->names[i], name))
            return true;
    return false;
}

bool tfs_cells_edit_find(const struct tfs_cells_edit *e, struct tfs_span name, uint32_t *entry)
{
    uint32_t word;

    if (!tfs_words_find(&e->words, name, &word) || e->firsts[word] == NONE)
        return false;
    *entry = e->firsts[word];
    return true;
}

int tfs_cells_edit_add(struct tfs_cells_edit *e, struct tfs_span name, uint32_t *entry,
                       struct tfs_error *err)
{
    if (tfs_cells_edit_find(e, name, entry))
        return 0;
    *entry = e->entry_count;
    return add_entry(e, name, err);
}

int tfs_cells_edit_table(struct tfs_cells_edit *e, const struct tfs_span *names, uint32_t count,
                         struct tfs_error *err)
{
    e->given = true;
    e->entry_count = 0;
    e->air = NONE;
    if (e->room > 0)
        memset(e->firsts, 0xff, e->room * sizeof(*e->firsts));
    for (uint32_t i = 0; i < count; i++)
        if (add_entry(e, names[i], err) < 0)
            return err->code;
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

int tfs_cells_edit_begin(struct tfs_cells_edit *e, struct tfs_cells *cells, struct tfs_error *err)
{
    memset(e, 0, sizeof(*e));
    e->before = tfs_cells_ref(cells);
    memcpy(e->planes, cells->planes, sizeof(e->planes));
    return tfs_cells_named(cells) != NULL ? open_names(e, err) : 0;
}

int tfs_cells_edit_load(struct tfs_cells_edit *e, struct tfs_save *save, const struct tfs_doc *doc,
                        struct tfs_key key, struct tfs_error *err)
{
    struct tfs_cells *cells = NULL;

    memset(e, 0, sizeof(*e));
    if (tfs_cells_open(save, doc, key, TFS_CELLS_ALL, &cells, err) == 0 && cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "chunk %d_%d_%d is damaged: %s", key.x, key.y, key.z,
                 cells->damage);
    if (err->code == 0 && tfs_cells_edit_begin(e, cells, err) == 0)
        e->base = doc;
    tfs_cells_unref(cells);
    return err->code;
}

int tfs_cells_edit_open(struct tfs_cells_edit *e, struct tfs_save *save, struct tfs_edit *edit,
                        struct tfs_key key, struct tfs_error *err)
{
    if (tfs_cells_edit_load(e, save, tfs_edit_doc(edit), key, err) < 0)
        return err->code;
    e->edit = edit;
    e->base = edit->base;
    e->fresh = e->before->count == 0;
    return e->fresh ? tfs_cells_edit_blank(e, NULL, err) : 0;
}

int tfs_cells_edit_blank(struct tfs_cells_edit *e, const struct tfs_cells_like *like,
                         struct tfs_error *err)
{
    struct tfs_cells *absent = e->before, *blank = NULL;
    struct tfs_chunk chunk = absent->chunk;

    chunk.blob = NULL;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    if (absent->kind->blank(absent->save, e->base, chunk.key, like, &chunk.blob, err) == 0 &&
        tfs_cells_make(absent->save, e->base, &chunk, TFS_CELLS_ALL, &blank, err) == 0) {
        e->before = blank;
        memcpy(e->planes, blank->planes, sizeof(e->planes));
        tfs_cells_unref(absent);
    }
    tfs_blob_unref(chunk.blob);
    return err->code;
}

bool tfs_cells_edit_owns(const struct tfs_cells_edit *e, unsigned plane)
{
    return e->planes[plane].values != e->before->planes[plane].values;
}

void tfs_cells_edit_close(struct tfs_cells_edit *e)
{
    for (unsigned i = 0; e->before != NULL && i < e->before->kind->count; i++)
        if (tfs_cells_edit_owns(e, i))
            free(e->planes[i].values);
    tfs_words_release(&e->words);
    free(e->entries);
    free(e->firsts);
    free(e->old);
    tfs_cells_unref(e->before);
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* Memory for values of a plane, where it has none of its own: *is_new then. */
static int own_plane(struct tfs_cells_edit *e, unsigned plane, bool *is_new, struct tfs_error *err)
{
    struct tfs_cells_plane *p = &e->planes[plane];

    *is_new = p->values == NULL || !tfs_cells_edit_owns(e, plane);
    if (!*is_new)
        return 0;
    p->values = malloc(e->before->count * tfs_plane_size(&p->form));
    p->filled = false;
    return p->values == NULL ? tfs_fail_memory(err) : 0;
}

int tfs_cells_edit_plane(struct tfs_cells_edit *e, unsigned plane, struct tfs_error *err)
{
    const struct tfs_cells_plane *before = &e->before->planes[plane];
    struct tfs_cells_plane *p = &e->planes[plane];
    const size_t size = tfs_plane_size(&p->form), count = e->before->count;
    const bool had = before->values != NULL && before->form.width == p->form.width;
    bool is_new;

    if (own_plane(e, plane, &is_new, err) < 0 || !is_new)
        return err->code;
    if (had && !before->filled)
        memcpy(p->values, before->values, count * size);
    else
        tfs_plane_set_all(p, 0, count, had ? tfs_plane_get(before, 0) : p->form.empty);
    return 0;
}

int tfs_cells_edit_empty(struct tfs_cells_edit *e, unsigned plane, struct tfs_error *err)
{
    struct tfs_cells_plane *p = &e->planes[plane];
    bool is_new;

    if (own_plane(e, plane, &is_new, err) == 0)
        tfs_plane_set_all(p, 0, e->before->count, p->form.empty);
    return err->code;
}

int tfs_cells_edit_width(struct tfs_cells_edit *e, unsigned plane, unsigned width,
                         struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = e->before->kind;

    if (width != e->planes[plane].form.width)
        e->planes[plane].form = kind->form(e->before->version, plane, width);
    return tfs_cells_edit_plane(e, plane, err);
}

void tfs_cells_edit_refill(struct tfs_cells_edit *e)
{
    for (unsigned i = 0; i < e->before->kind->count; i++) {
        const struct tfs_cells_plane *before = &e->before->planes[i];
        struct tfs_cells_plane *p = &e->planes[i];
        const bool fillable = (e->before->kind->planes[i].flags & TFS_PLANE_FILLABLE) != 0;
        p->filled =
            p->filled || (fillable && before->filled && before->form.width == p->form.width &&
                          tfs_plane_get(p, 0) == tfs_plane_get(before, 0) &&
                          tfs_plane_uniform(p, e->before->count));
    }
}

void tfs_cells_edit_drop(struct tfs_cells_edit *e, unsigned plane)
{
    if (tfs_cells_edit_owns(e, plane))
        free(e->planes[plane].values);
    e->planes[plane].values = NULL;
}

#define MANY 64 /* values that are compared in one go */

size_t tfs_cells_edit_changed(const struct tfs_cells_edit *e, unsigned plane, size_t i)
{
    const struct tfs_cells_plane *now = &e->planes[plane], *before = &e->before->planes[plane];
    const size_t size = tfs_plane_size(&now->form), count = e->before->count;
    const uint8_t *a = now->values, *b = before->values;

    if (a == b)
        return count;
    while (!before->filled && count - i >= MANY &&
           memcmp(a + i * size, b + i * size, MANY * size) == 0)
        i += MANY;
    while (i < count && tfs_plane_get(now, i) == tfs_plane_get(before, i))
        i++;
    return i;
}

const char *tfs_cells_edit_refusal(const struct tfs_cells_edit *e, size_t voxel, unsigned plane)
{
    const struct tfs_cells_kind *kind = e->before->kind;
    uint64_t values[TFS_PLANES_MAX];

    if (kind->planes[plane].legal == NULL ||
        tfs_plane_get(&e->planes[plane], voxel) == tfs_plane_get(&e->before->planes[plane], voxel))
        return NULL;
    for (unsigned i = 0; i < kind->count; i++)
        values[i] = e->planes[i].values != NULL ? tfs_plane_get(&e->planes[i], voxel) : 0;
    return kind->planes[plane].legal(tfs_edit_doc(e->edit), values);
}

/* ---- voxels ---------------------------------------------------------------------------------- */

void tfs_cells_edit_set(struct tfs_cells_edit *e, size_t first, size_t count, uint32_t entry)
{
    const struct tfs_cells_plane *before = &e->before->planes[0];
    const uint32_t *had = (const uint32_t *)before->values + (before->filled ? 0 : first);
    const uint32_t word = e->entries[entry];
    uint32_t *now = (uint32_t *)e->planes[0].values + first;

    for (size_t i = 0; i < count; i++, had += !before->filled)
        now[i] = *had < e->entry_count && e->entries[*had] == word ? *had : entry;
}

/* The entry that an emptied voxel gets. */
static int find_air(struct tfs_cells_edit *e, uint32_t *entry, struct tfs_error *err)
{
    if (e->air == NONE && tfs_cells_edit_add(e, e->before->air, &e->air, err) < 0)
        return err->code;
    *entry = e->air;
    return 0;
}

static bool is_empty(const struct tfs_cells_edit *e, size_t voxel)
{
    const uint64_t now = tfs_plane_get(&e->planes[0], voxel);

    if (tfs_cells_named(e->before) == NULL)
        return now == e->planes[0].form.empty;
    return now == e->air || tfs_name_is_air(e->before->kind, tfs_cells_edit_name(e, (uint32_t)now));
}

static int clear(struct tfs_cells_edit *e, size_t voxel, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = e->before->kind;
    const bool named = tfs_cells_named(e->before) != NULL;
    uint32_t air = NONE;

    if (named && find_air(e, &air, err) < 0)
        return err->code;
    if (named)
        tfs_plane_set(&e->planes[0], voxel, air);
    for (unsigned i = named; i < kind->count; i++)
        if ((kind->planes[i].flags & TFS_PLANE_IN_TABLE) != 0) {
            if (tfs_cells_edit_plane(e, i, err) < 0)
                return err->code;
            tfs_plane_set(&e->planes[i], voxel, e->planes[i].form.empty);
        }
    return 0;
}

int tfs_cells_edit_clear(struct tfs_cells_edit *e, size_t first, size_t count,
                         struct tfs_error *err)
{
    for (size_t i = first; i < first + count; i++)
        if (!is_empty(e, i) && clear(e, i, err) < 0)
            return err->code;
    return 0;
}

/* ---- finishing ------------------------------------------------------------------------------- */

static void mark_used(const struct tfs_cells_plane *plane, size_t count, bool *used)
{
    const uint32_t *entries = plane->values;

    for (size_t i = 0; i < (plane->filled ? 1 : count); i++)
        used[entries[i]] = true;
}

/* The table without entries that lost their last voxel, then new names by their first use. */
static void renumber(struct tfs_cells_edit *e, const bool *before, const bool *after,
                     uint32_t *entries, uint32_t *to)
{
    uint32_t *voxels = e->planes[0].values, count = 0;

    for (uint32_t i = 0; i < e->entry_count; i++)
        to[i] = NONE;
    for (uint32_t i = 0; i < e->before->name_count; i++)
        if (!before[i] || after[i]) {
            to[i] = count;
            entries[count++] = e->entries[i];
        }
    for (size_t i = 0; i < e->before->count; i++) {
        const uint32_t entry = voxels[i];
        if (to[entry] == NONE) {
            to[entry] = count;
            entries[count++] = e->entries[entry];
        }
        voxels[i] = to[entry];
    }
    e->entry_count = count;
}

int tfs_cells_edit_prune(struct tfs_cells_edit *e, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = e->before->kind;

    if (e->given || !tfs_cells_edit_owns(e, 0))
        return 0;
    bool *used = calloc(e->entry_count, 2 * sizeof(*used));
    uint32_t *entries = calloc(e->room, sizeof(*entries));
    uint32_t *to = calloc(e->entry_count, sizeof(*to));

    if (used == NULL || entries == NULL || to == NULL) {
        tfs_fail_memory(err);
        free(entries);
    } else {
        mark_used(&e->before->planes[0], e->before->count, used);
        mark_used(&e->planes[0], e->before->count, used + e->entry_count);
        renumber(e, used, used + e->entry_count, entries, to);
        free(e->entries);
        e->entries = entries;
    }
    free(used);
    free(to);
    if (err->code == 0 && e->entry_count > kind->names.entries)
        tfs_fail(err, -EBADMSG, "the chunk would have a palette of %u %ss, %u are possible",
                 e->entry_count, kind->names.unit, kind->names.entries);
    return err->code;
}

static bool same_values(const struct tfs_cells_plane *a, const struct tfs_cells_plane *b,
                        size_t count)
{
    size_t i = 0;

    if (a->filled == b->filled)
        return memcmp(a->values, b->values, (a->filled ? 1 : count) * tfs_plane_size(&a->form)) ==
               0;
    while (i < count && tfs_plane_get(a, i) == tfs_plane_get(b, i))
        i++;
    return i == count;
}

bool tfs_cells_edit_same_plane(const struct tfs_cells_edit *e, unsigned plane)
{
    const struct tfs_cells_plane *a = &e->before->planes[plane], *b = &e->planes[plane];
    const bool fillable = (e->before->kind->planes[plane].flags & TFS_PLANE_FILLABLE) != 0;

    if (a->form.width != b->form.width || a->form.kind != b->form.kind ||
        (fillable && a->filled != b->filled))
        return false;
    return a->values == b->values ||
           (a->values != NULL && b->values != NULL && same_values(a, b, e->before->count));
}

bool tfs_cells_edit_same_names(const struct tfs_cells_edit *e)
{
    return e->entry_count == e->before->name_count &&
           (e->entry_count == 0 ||
            memcmp(e->entries, e->old, e->entry_count * sizeof(*e->old)) == 0);
}

bool tfs_cells_edit_same(const struct tfs_cells_edit *e)
{
    unsigned i = 0;

    while (i < e->before->kind->count && tfs_cells_edit_same_plane(e, i))
        i++;
    return i == e->before->kind->count && tfs_cells_edit_same_names(e);
}

int tfs_cells_edit_finish(struct tfs_cells_edit *e, struct tfs_edit *edit, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = e->before->kind;

    e->edit = edit;
    if (e->values != NULL && tfs_written_values_begin(e->values, e, err) < 0)
        return err->code;
    if ((e->fresh || !tfs_cells_edit_same(e)) &&
        (kind->settle == NULL || kind->settle(e, err) == 0))
        kind->encode(e, err);
    if (err->code == 0 && e->values != NULL)
        tfs_written_values_end(e->values, e, err);
    return err->code;
}
