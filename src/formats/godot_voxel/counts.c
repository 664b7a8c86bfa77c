/*
 * Chunks of a document -> counts of versions, containers, depths; kept up to date by the difference
 * of two documents. Of a large save only some chunks are looked into: to decode all of it for
 * info.txt would take minutes, and `check` does.
 *
 * Must not know which container it is, nor how counts are told.
 */
#include <stdlib.h>

#include "formats/godot_voxel/cache.h"

void tfs_godot_counts_clear(struct tfs_godot_cache *cache)
{
    pthread_mutex_lock(&cache->counts_lock);
    tfs_doc_unref(cache->doc);
    cache->doc = NULL;
    free(cache->summaries);
    cache->summaries = NULL;
    cache->summary_count = 0;
    pthread_mutex_unlock(&cache->counts_lock);
}

#define FORMS                                                                                      \
    (sizeof(((struct tfs_godot_cache *)NULL)->forms) /                                             \
     sizeof(((struct tfs_godot_cache *)NULL)->forms[0]))
#define LOOKED_FOR 64 /* blocks of a level of which none was looked into */

/* ---- which chunks ---------------------------------------------------------------------------- */

/* Bits that are 0 in the hash of a chunk that is looked into. */
static uint32_t mask_of(const struct tfs_doc *doc)
{
    uint32_t mask = 0;

    while (doc->count / (mask + UINT64_C(1)) > TFS_GODOT_COUNTS_CHUNKS)
        mask = mask << 1 | 1;
    return mask;
}

static bool is_looked_into(const struct tfs_chunk *chunk, uint32_t mask)
{
    const struct tfs_key key = chunk->key;
    uint32_t h = key.group * UINT32_C(0x27d4eb2f) ^ (uint32_t)key.x * UINT32_C(0x9e3779b1) ^
                 (uint32_t)key.y * UINT32_C(0x85ebca77) ^ (uint32_t)key.z * UINT32_C(0xc2b2ae3d);

    h = (h ^ h >> 15) * UINT32_C(0x2c1b3c6d);
    h = (h ^ h >> 12) * UINT32_C(0x297a2d39);
    return ((h ^ h >> 15) & mask) == 0;
}

/* ---- one chunk ------------------------------------------------------------------------------- */

static struct tfs_godot_summary summarize(const struct tfs_godot_view *view)
{
    const struct tfs_godot_block *block = &view->block;
    struct tfs_godot_summary summary = {0};

    summary.flags |= view->damage != NULL ? TFS_GODOT_SUMMARY_DAMAGED : 0;
    summary.flags |= view->extra != NULL ? TFS_GODOT_SUMMARY_EXTRA : 0;
    if (!view->readable)
        return summary;
    summary.version = block->version;
    summary.kind = (uint8_t)block->kind;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        const struct tfs_godot_values *values = &block->channels[i];
        summary.depths = (uint16_t)(summary.depths | (unsigned)values->depth << 2 * i);
        if (values->mode == TFS_GODOT_NONE)
            summary.dense = (uint8_t)(summary.dense | 1U << i);
    }
    return summary;
}

struct updating {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    struct tfs_godot_cache *cache;
    struct tfs_error *err;
};

static int update_chunk(struct updating *u, const struct tfs_chunk *chunk)
{
    struct tfs_godot_view *view;

    if (!is_looked_into(chunk, u->cache->mask))
        return 0;
    if (tfs_godot_view_make(u->save, u->doc, chunk, &view, u->err) < 0)
        return u->err->code;
    u->cache->summaries[chunk->slot] = summarize(view);
    tfs_godot_view_unref(view);
    return 0;
}

static int changed_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)before;
    return after == NULL ? 0 : update_chunk(arg, after);
}

/* ---- all chunks ------------------------------------------------------------------------------ */

static int reserve(struct tfs_godot_cache *cache, uint32_t count, struct tfs_error *err)
{
    if (count <= cache->summary_count)
        return 0;
    struct tfs_godot_summary *more = reallocarray(cache->summaries, count, sizeof(*more));
    if (more == NULL)
        return tfs_fail_memory(err);
    cache->summaries = more;
    cache->summary_count = count;
    return 0;
}

/* Makes the summaries those of the document. */
static int update(struct updating *u)
{
    struct tfs_godot_cache *cache = u->cache;
    const uint32_t mask = mask_of(u->doc);
    bool known = cache->doc != NULL && cache->mask == mask;
    int result = 0;

    if (known && cache->doc->version == u->doc->version)
        return 0;
    if (reserve(cache, u->doc->next_slot, u->err) < 0)
        return u->err->code;
    cache->mask = mask;
    if (known)
        result = tfs_doc_diff(cache->doc, u->doc, changed_chunk, u);
    else
        for (size_t i = 0; i < u->doc->count && result == 0; i++)
            result = update_chunk(u, tfs_doc_at(u->doc, i));
    /* After a failure half the summaries are new: none can be relied on. */
    tfs_doc_unref(cache->doc);
    /* Counting a reference changes nothing that readers see. */
    cache->doc = result < 0 ? NULL : tfs_doc_ref((struct tfs_doc *)u->doc);
    return result;
}

static void count_summary(const struct tfs_godot_summary *summary, struct tfs_key key,
                          struct tfs_godot_counts *counts)
{
    counts->looked++;
    counts->instances += (summary->flags & TFS_GODOT_SUMMARY_EXTRA) != 0;
    counts->damaged += (summary->flags & TFS_GODOT_SUMMARY_DAMAGED) != 0;
    if (summary->version == 0) {
        counts->empty += (summary->flags & TFS_GODOT_SUMMARY_DAMAGED) == 0;
        return;
    }
    counts->blocks++;
    size_t before = counts->versions[summary->version]++;
    if (before < TFS_GODOT_COUNTS_NAMES)
        counts->names[summary->version][before] = key;
    counts->kinds[summary->kind]++;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        counts->depths[i][summary->depths >> 2 * i & 3]++;
        counts->dense[i] += summary->dense >> i & 1;
    }
}

/* Says why a chunk is damaged, and what size a block has: what summaries do not hold. */
static int look_closer(struct updating *u, const struct tfs_chunk *chunk,
                       struct tfs_godot_counts *counts, tfs_godot_damage_fn damage, void *arg)
{
    const struct tfs_godot_summary *summary = &u->cache->summaries[chunk->slot];
    bool damaged = (summary->flags & TFS_GODOT_SUMMARY_DAMAGED) != 0 && damage != NULL;
    struct tfs_godot_view *view;

    if (!damaged && (counts->x > 0 || summary->version == 0))
        return 0;
    if (tfs_godot_view_make(u->save, u->doc, chunk, &view, u->err) < 0)
        return u->err->code;
    if (view->readable) {
        counts->x = view->block.x;
        counts->y = view->block.y;
        counts->z = view->block.z;
    }
    if (damaged && view->damage != NULL)
        damage(arg, chunk, view->damage);
    tfs_godot_view_unref(view);
    return 0;
}

int tfs_godot_counts_make(struct tfs_save *save, const struct tfs_doc *doc,
                          struct tfs_godot_counts *counts, tfs_godot_damage_fn damage, void *arg,
                          struct tfs_error *err)
{
    struct tfs_godot_cache *cache = tfs_godot_cache_of(save);
    struct updating u = {save, doc, cache, err};

    *counts = (struct tfs_godot_counts){0};
    pthread_mutex_lock(&cache->counts_lock);
    int result = update(&u);
    for (size_t i = 0; i < doc->count && result == 0; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        const struct tfs_godot_summary *summary = &cache->summaries[chunk->slot];
        if (!is_looked_into(chunk, cache->mask))
            continue;
        /* What the disk failed to give once is not damage for good. */
        if ((summary->flags & TFS_GODOT_SUMMARY_DAMAGED) != 0 && chunk->blob == NULL)
            result = update_chunk(&u, chunk);
        if (result < 0)
            break;
        count_summary(summary, chunk->key, counts);
        result = look_closer(&u, chunk, counts, damage, arg);
    }
    pthread_mutex_unlock(&cache->counts_lock);
    return result;
}

static void add_form(const struct tfs_godot_summary *summary, struct tfs_godot_form *form)
{
    const bool floats = (summary->depths >> 2 * TFS_GODOT_SDF & 3) >= 2;

    if (summary->version == 0)
        return;
    if (form->version != 0 && floats != (form->depths[TFS_GODOT_SDF] >= 2))
        form->mixed = true;
    if (form->version == 0 || summary->version < form->version)
        form->version = summary->version;
    if (summary->version > form->newest)
        form->newest = summary->version;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        const unsigned depth = summary->depths >> 2 * i & 3;
        if (depth > form->depths[i])
            form->depths[i] = depth;
    }
}

struct forming {
    const struct tfs_godot_cache *cache;
    struct tfs_godot_form *form;
};

static int add_chunk(void *arg, const struct tfs_chunk *chunk)
{
    const struct forming *f = arg;

    if (is_looked_into(chunk, f->cache->mask))
        add_form(&f->cache->summaries[chunk->slot], f->form);
    return 0;
}

/* Of blocks that were looked into; of a level without any, of the first one that has voxels. */
static int make_form(struct updating *u, uint32_t level, struct tfs_godot_form *form)
{
    const struct tfs_key start = {level, INT32_MIN, INT32_MIN, INT32_MIN};
    const size_t first = tfs_doc_lower_bound(u->doc, start);
    const size_t end = first + tfs_doc_group_count(u->doc, level);

    tfs_doc_group_each(u->doc, level, add_chunk, &(struct forming){u->cache, form});
    for (size_t i = first; i < end && i - first < LOOKED_FOR && form->version == 0; i++) {
        struct tfs_godot_view *view;
        if (tfs_godot_view_make(u->save, u->doc, tfs_doc_at(u->doc, i), &view, u->err) < 0)
            return u->err->code;
        const struct tfs_godot_summary summary = summarize(view);
        add_form(&summary, form);
        tfs_godot_view_unref(view);
    }
    form->known = form->version != 0;
    if (!form->known)
        form->version = 2;
    return 0;
}

int tfs_godot_form_find(struct tfs_save *save, const struct tfs_doc *doc, uint32_t level,
                        struct tfs_godot_form *form, struct tfs_error *err)
{
    struct tfs_godot_cache *cache = tfs_godot_cache_of(save);
    struct updating u = {save, doc, cache, err};
    bool found = false;

    pthread_mutex_lock(&cache->counts_lock);
    for (unsigned i = 0; i < FORMS && !found; i++)
        if (cache->forms[i].version == doc->version && cache->forms[i].level == level) {
            *form = cache->forms[i].form;
            found = true;
        }
    *form = found ? *form : (struct tfs_godot_form){0};
    if (!found && update(&u) == 0 && make_form(&u, level, form) == 0) {
        const unsigned i = cache->next_form++ % FORMS;
        cache->forms[i].version = doc->version;
        cache->forms[i].level = level;
        cache->forms[i].form = *form;
    }
    pthread_mutex_unlock(&cache->counts_lock);
    return err->code;
}

int tfs_godot_newest_version(struct tfs_save *save, const struct tfs_doc *doc, unsigned *version,
                             struct tfs_error *err)
{
    struct tfs_godot_cache *cache = tfs_godot_cache_of(save);
    struct updating u = {save, doc, cache, err};
    unsigned highest = 0;

    pthread_mutex_lock(&cache->counts_lock);
    int result = update(&u);
    for (size_t i = 0; i < doc->count && result == 0 && highest < TFS_GODOT_VERSION_MAX; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        if (is_looked_into(chunk, cache->mask) && cache->summaries[chunk->slot].version > highest)
            highest = cache->summaries[chunk->slot].version;
    }
    pthread_mutex_unlock(&cache->counts_lock);
    if (result == 0)
        *version = highest;
    return result;
}
