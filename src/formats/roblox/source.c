/*
 * A file that holds terrain, with what a container found in it -> a document. The way back is
 * source_write.c.
 *
 * Must not know how a container marks or packs values, nor what users may make of voxels.
 */
#include "formats/roblox/source.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "formats/roblox/source_write.h"

/* No place has more TerrainRegions; each costs memory, even if its instance is a few bits. */
#define GROUPS_MAX 65536

#define GROUP_NAME 48

/* "the Terrain", "the TerrainRegion of regions/2". */
static void name_group(uint32_t group, char name[GROUP_NAME])
{
    if (group == 0)
        snprintf(name, GROUP_NAME, "the Terrain");
    else
        snprintf(name, GROUP_NAME, "the TerrainRegion of regions/%" PRIu32, group - 1);
}

/* ---- building -------------------------------------------------------------------------------- */

int tfs_rbx_add_holder(struct tfs_rbx_source *source, struct tfs_rbx_holder holder,
                       struct tfs_error *err)
{
    struct tfs_rbx_holder *holders =
        tfs_array_grow(source->holders, source->holder_count, sizeof(*holders));

    if (holders == NULL)
        return tfs_fail_memory(err);
    source->holders = holders;
    holder.first = source->value_count;
    holder.count = 0;
    holders[source->holder_count++] = holder;
    return 0;
}

/* Has the group no SmoothGrid that can be shown? */
static bool lacks_grid(const struct tfs_rbx_group *group)
{
    return group->lock == TFS_RBX_NO_GRID || group->lock == TFS_RBX_CLUSTER_GRID;
}

/* Notes the value in its group. */
static int join_group(struct tfs_rbx_source *source, const struct tfs_rbx_value *value,
                      struct tfs_error *err)
{
    struct tfs_rbx_group *group = &source->groups[value->group];
    bool is_grid = value->property == TFS_RBX_SMOOTH_GRID;
    uint32_t *slot = is_grid ? &group->grid : &group->physics;
    char name[GROUP_NAME];

    if (*slot != TFS_RBX_NONE) {
        name_group(value->group, name);
        return tfs_fail(err, -EBADMSG, "%s has the property %s twice", name,
                        is_grid ? "SmoothGrid" : "PhysicsGrid");
    }
    *slot = source->value_count;
    if (is_grid && lacks_grid(group))
        group->lock = TFS_RBX_OPEN;
    return 0;
}

int tfs_rbx_add_value(struct tfs_rbx_source *source, struct tfs_rbx_value value,
                      struct tfs_error *err)
{
    assert(source->holder_count > 0);
    if (value.group != TFS_RBX_NONE && join_group(source, &value, err) < 0)
        return err->code;

    struct tfs_rbx_value *values =
        tfs_array_grow(source->values, source->value_count, sizeof(*values));
    if (values == NULL)
        return tfs_fail_memory(err);
    source->values = values;
    values[source->value_count++] = value;
    source->holders[source->holder_count - 1].count++;
    return 0;
}

int tfs_rbx_add_group(struct tfs_rbx_source *source, enum tfs_rbx_lock lock, struct tfs_error *err)
{
    if (source->group_count == GROUPS_MAX)
        return tfs_fail(err, -EFBIG, "more than %d TerrainRegions", GROUPS_MAX - 1);

    struct tfs_rbx_group *groups =
        tfs_array_grow(source->groups, source->group_count, sizeof(*groups));
    if (groups == NULL)
        return tfs_fail_memory(err);
    source->groups = groups;
    groups[source->group_count++] =
        (struct tfs_rbx_group){lock, TFS_RBX_NONE, TFS_RBX_NONE, TFS_RBX_LOG2_DEFAULT, 0};
    return 0;
}

bool tfs_rbx_is_old_property(struct tfs_span name)
{
    static const char *const before[] = {"ClusterGrid", "ClusterGridV2", "ClusterGridV3"};

    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
        if (tfs_span_equal(name, tfs_span_of(before[i])))
            return true;
    return false;
}

void tfs_rbx_note_old(struct tfs_rbx_source *source, uint32_t group)
{
    if (source->groups[group].lock == TFS_RBX_NO_GRID)
        source->groups[group].lock = TFS_RBX_CLUSTER_GRID;
}

void tfs_rbx_lock_group(struct tfs_rbx_source *source, uint32_t group, enum tfs_rbx_lock lock)
{
    struct tfs_rbx_group *of = &source->groups[group];

    if (of->lock == TFS_RBX_OPEN || lacks_grid(of))
        of->lock = lock;
}

int tfs_rbx_note_terrains(struct tfs_facts *facts, uint32_t terrains, struct tfs_error *err)
{
    if (terrains <= 1)
        return 0;
    return tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                          "there are %" PRIu32 " Terrains: the first is shown, the others are kept",
                          terrains);
}

struct tfs_rbx_source *tfs_rbx_source_of(const struct tfs_facts *facts)
{
    return facts->own;
}

static void source_release(struct tfs_facts *facts)
{
    struct tfs_rbx_source *source = tfs_rbx_source_of(facts);

    tfs_blob_unref(source->file);
    tfs_blob_unref(source->bodies);
    for (uint32_t i = 0; i < source->holder_count; i++)
        tfs_rbx_block_index_release(&source->holders[i].index);
    tfs_rbx_physics_memory_release(&source->physics);
    tfs_rbx_forget_changes(source);
    tfs_rbx_index_release(&source->terrain);
    free(source->holders);
    free(source->values);
    free(source->groups);
}

/* ---- what a document was read from ----------------------------------------------------------- */

const struct tfs_rbx_source *tfs_rbx_source(const struct tfs_doc *doc)
{
    return tfs_rbx_source_of(doc->facts);
}

const struct tfs_rbx_group *tfs_rbx_group(const struct tfs_doc *doc, uint32_t group)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(doc);

    return group < source->group_count ? &source->groups[group] : NULL;
}

const char *tfs_rbx_locked(const struct tfs_doc *doc, uint32_t group)
{
    const struct tfs_rbx_group *of = tfs_rbx_group(doc, group);

    if (of == NULL)
        return "there is no such TerrainRegion";
    switch (of->lock) {
    case TFS_RBX_OPEN:
        return NULL;
    case TFS_RBX_NO_INSTANCE:
        return "this file has no Terrain";
    case TFS_RBX_NO_GRID:
        return group == 0 ? "the Terrain has no SmoothGrid" : "this region has no SmoothGrid";
    case TFS_RBX_CLUSTER_GRID:
        return "the terrain is of the old kind (ClusterGrid): open the place in Roblox Studio, "
               "which converts it, and save it";
    case TFS_RBX_SHARED_STRING:
        return "the terrain is not stored as a byte string, which is all we can write";
    case TFS_RBX_UNKNOWN_PHYSICS:
        return "PhysicsGrid is of a version we cannot write, so the voxels must stay as they are";
    }
    return NULL;
}

struct tfs_span tfs_rbx_value_span(const struct tfs_rbx_source *source, uint32_t value)
{
    const struct tfs_rbx_value *v = &source->values[value];

    if (v->size == 0)
        return (struct tfs_span){0}; /* there may be no bodies at all */
    return (struct tfs_span){source->bodies->data + v->at, v->size};
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    const struct tfs_rbx_position *left = &(*(const struct tfs_rbx_entry *const *)a)->position;
    const struct tfs_rbx_position *right = &(*(const struct tfs_rbx_entry *const *)b)->position;

    return tfs_key_compare((struct tfs_key){0, left->x, left->y, left->z},
                           (struct tfs_key){0, right->x, right->y, right->z});
}

static int put_entry(struct tfs_edit *edit, struct tfs_blob *bodies, uint32_t group, uint32_t log2,
                     const struct tfs_rbx_entry *entry, struct tfs_error *err)
{
    struct tfs_chunk chunk = {
        .key = {group, entry->position.x, entry->position.y, entry->position.z},
        .slot = TFS_SLOT_NONE,
        .tag = log2,
        .own = entry->order,
    };

    if (tfs_blob_slice(bodies, entry->records, &chunk.blob, err) < 0)
        return err->code;
    tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    return err->code;
}

/* Ascending as the document has its keys, so that its pages are dense. */
static int put_entries(struct tfs_edit *edit, struct tfs_blob *bodies, uint32_t group,
                       const struct tfs_rbx_index *index, struct tfs_error *err)
{
    const struct tfs_rbx_entry **entries = calloc(index->count + 1, sizeof(*entries));

    if (entries == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < index->count; i++)
        entries[i] = &index->entries[i];
    qsort(entries, index->count, sizeof(*entries), compare_keys);
    for (size_t i = 0; i < index->count && err->code == 0; i++)
        put_entry(edit, bodies, group, index->log2, entries[i], err);
    free(entries);
    return err->code;
}

/* Notes what is odd about a value, but kept. */
static int note_oddities(struct tfs_facts *facts, uint32_t group, const struct tfs_rbx_index *index,
                         struct tfs_error *err)
{
    char name[GROUP_NAME];
    size_t far = 0;

    name_group(group, name);
    for (size_t i = 0; i < index->count; i++)
        far += !tfs_rbx_position_legal(index->entries[i].position);
    if (far > 0 && tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                                  "%zu chunk%s of %s %s further out than %d, where the engine "
                                  "refuses %s",
                                  far, far == 1 ? "" : "s", name, far == 1 ? "lies" : "lie",
                                  TFS_RBX_POSITION_MAX, far == 1 ? "it" : "them") < 0)
        return err->code;
    if (!index->sorted &&
        tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                       "the chunks of %s are not in the engine's order", name) < 0)
        return err->code;
    return 0;
}

static int read_grid(struct tfs_rbx_source *source, uint32_t group, struct tfs_facts *facts,
                     struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_rbx_group *of = &source->groups[group];
    struct tfs_rbx_index index = {0};
    struct tfs_error inner = {0};
    char name[GROUP_NAME];

    if (of->grid == TFS_RBX_NONE)
        return 0;
    if (tfs_rbx_index_open(tfs_rbx_value_span(source, of->grid), &index, &inner) < 0) {
        name_group(group, name);
        return tfs_fail(err, inner.code, "SmoothGrid of %s: %s", name, inner.text);
    }
    of->log2 = index.log2;
    of->count = index.count;
    note_oddities(facts, group, &index, err);
    put_entries(edit, source->bodies, group, &index, err);
    if (group == 0)
        source->terrain = index;
    else
        tfs_rbx_index_release(&index);
    return err->code;
}

/* PhysicsGrid must be written with the voxels; where it cannot be, neither can they. */
static void check_physics(struct tfs_rbx_source *source)
{
    uint32_t physics = source->groups[0].physics;

    if (physics != TFS_RBX_NONE && !tfs_rbx_physics_known(tfs_rbx_value_span(source, physics)))
        tfs_rbx_lock_group(source, 0, TFS_RBX_UNKNOWN_PHYSICS);
}

/* Is there terrain that is stored in a way that we cannot read? */
static bool hides_terrain(const struct tfs_doc *doc, uint32_t group)
{
    const enum tfs_rbx_lock lock = tfs_rbx_source(doc)->groups[group].lock;

    return lock == TFS_RBX_CLUSTER_GRID || lock == TFS_RBX_SHARED_STRING;
}

/* What cannot be written, and why; read-only is a save of which nothing can. */
static int note_locks(const struct tfs_doc *doc, struct tfs_error *err)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(doc);
    bool any_open = false;

    for (uint32_t i = 0; i < source->group_count; i++)
        any_open = any_open || source->groups[i].lock == TFS_RBX_OPEN;
    for (uint32_t i = 0; i < source->group_count && err->code == 0; i++) {
        const char *why = tfs_rbx_locked(doc, i);
        if (why == NULL)
            continue;
        if (i == 0)
            tfs_facts_note(doc->facts, err, any_open ? TFS_NOTE_WARNING : TFS_NOTE_READ_ONLY, "%s",
                           why);
        else
            tfs_facts_note(doc->facts, err, TFS_NOTE_WARNING, "regions/%" PRIu32 ": %s", i - 1,
                           why);
        if (hides_terrain(doc, i))
            tfs_facts_set_hiding(doc->facts);
    }
    return err->code;
}

static int read_chunks(struct tfs_rbx_source *source, struct tfs_facts *facts, struct tfs_doc **doc,
                       struct tfs_error *err)
{
    struct tfs_edit edit;

    tfs_edit_open_empty(facts, &edit, err);
    for (uint32_t i = 0; i < source->group_count && err->code == 0; i++)
        read_grid(source, i, facts, &edit, err);
    if (err->code == 0 && note_locks(tfs_edit_doc(&edit), err) == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

int tfs_rbx_decode(const struct tfs_rbx_kind *kind, struct tfs_save *save, struct tfs_blob *bytes,
                   struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;

    if (tfs_facts_create(sizeof(struct tfs_rbx_source), &facts, err) < 0)
        return err->code;

    struct tfs_rbx_source *source = tfs_rbx_source_of(facts);
    facts->release = source_release;
    source->kind = kind;
    source->file = tfs_blob_ref(bytes);
    if (kind->scan(source, facts, save->options.inflate_limit, err) == 0) {
        check_physics(source);
        read_chunks(source, facts, doc, err);
    }
    tfs_facts_unref(facts);
    return err->code;
}
