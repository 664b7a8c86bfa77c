/*
 * Chunks of a document -> counts of versions, containers, depths; kept up to date by the difference
 * of two documents. Of a large save only some chunks are looked into: to decode all of it for
 * info.txt would take minutes, and `check` does.
 *
 * Must not know which container it is, nor how counts are told.
 */
#include "formats/godot_voxel/counts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/save/document_pages.h"

/* A chunk in few bytes. */
struct summary {
    uint8_t version; /* 0: no block that decodes */
    uint8_t kind;
    uint8_t dense;   /* bit i: channel i has mode NONE */
    uint8_t flags;   /* enum summary_flags */
    uint16_t depths; /* two bits a channel */
};

enum summary_flags {
    SUMMARY_DAMAGED = 1,
    SUMMARY_EXTRA = 2,
};

struct memory {
    pthread_mutex_t lock;
    struct tfs_doc *doc;       /* whose chunks are summed up; NULL: none */
    uint32_t mask;             /* which of them: see below */
    struct summary *summaries; /* by slot */
    uint32_t summary_count;
    struct {
        uint64_t version; /* of the document; 0: of none */
        uint32_t number;
        struct tfs_godot_level level;
    } levels[4]; /* found last */
    unsigned next_level;
};

static struct memory *memory_of(const struct tfs_save *save)
{
    return save->cache;
}

int tfs_godot_cache_create(struct tfs_save *save, struct tfs_error *err)
{
    struct memory *memory = calloc(1, sizeof(*memory));

    if (memory == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_init(&memory->lock, NULL);
    save->cache = memory;
    return 0;
}

void tfs_godot_cache_clear(struct tfs_save *save)
{
    struct memory *memory = memory_of(save);

    tfs_cells_cache_clear(save);
    pthread_mutex_lock(&memory->lock);
    tfs_doc_unref(memory->doc);
    memory->doc = NULL;
    free(memory->summaries);
    memory->summaries = NULL;
    memory->summary_count = 0;
    pthread_mutex_unlock(&memory->lock);
}

void tfs_godot_cache_free(struct tfs_save *save)
{
    struct memory *memory = memory_of(save);

    if (memory == NULL)
        return;
    tfs_godot_cache_clear(save);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
    save->cache = NULL;
}

#define LEVELS                                                                                     \
    (sizeof(((struct memory *)NULL)->levels) / sizeof(((struct memory *)NULL)->levels[0]))
#define LOOKED_FOR 64 /* blocks of a level of which none was looked into */

/* ---- which chunks ---------------------------------------------------------------------------- */

/* Bits of a hash: a chunk is looked into if they are 0. */
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

static struct summary summarize(const struct tfs_cells *cells)
{
    const struct tfs_godot_block *block = tfs_godot_block_of(cells);
    struct summary summary = {0};

    summary.flags |= cells->damage != NULL ? SUMMARY_DAMAGED : 0;
    summary.flags |= cells->extra != NULL ? SUMMARY_EXTRA : 0;
    if (block == NULL)
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
    struct memory *cache;
    struct tfs_error *err;
};

static int update_chunk(struct updating *u, const struct tfs_chunk *chunk)
{
    struct tfs_cells *cells;

    if (!is_looked_into(chunk, u->cache->mask))
        return 0;
    if (tfs_cells_make(u->save, u->doc, chunk, 0, &cells, u->err) < 0)
        return u->err->code;
    u->cache->summaries[chunk->slot] = summarize(cells);
    tfs_cells_unref(cells);
    return 0;
}

static int changed_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)before;
    return after == NULL ? 0 : update_chunk(arg, after);
}

/* ---- all chunks ------------------------------------------------------------------------------ */

static int reserve(struct memory *cache, uint32_t count, struct tfs_error *err)
{
    if (count <= cache->summary_count)
        return 0;
    struct summary *more = reallocarray(cache->summaries, count, sizeof(*more));
    if (more == NULL)
        return tfs_fail_memory(err);
    /* A difference of documents leaves out a chunk that equals the one before it in the same
     * place. */
    memset(more + cache->summary_count, 0, (count - cache->summary_count) * sizeof(*more));
    cache->summaries = more;
    cache->summary_count = count;
    return 0;
}

/* Makes the summaries those of the document. */
static int update(struct updating *u)
{
    struct memory *cache = u->cache;
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

static void count_summary(const struct summary *summary, struct tfs_key key,
                          struct tfs_godot_counts *counts)
{
    counts->looked++;
    counts->instances += (summary->flags & SUMMARY_EXTRA) != 0;
    counts->damaged += (summary->flags & SUMMARY_DAMAGED) != 0;
    if (summary->version == 0) {
        counts->empty += (summary->flags & SUMMARY_DAMAGED) == 0;
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

/* Decodes a damaged chunk again for the sentence. */
static int tell_damage(struct updating *u, const struct tfs_chunk *chunk,
                       tfs_godot_damage_fn damage, void *arg)
{
    struct tfs_cells *cells;

    if ((u->cache->summaries[chunk->slot].flags & SUMMARY_DAMAGED) == 0)
        return 0;
    if (tfs_cells_make(u->save, u->doc, chunk, 0, &cells, u->err) < 0)
        return u->err->code;
    if (cells->damage != NULL)
        damage(arg, chunk, cells->damage);
    tfs_cells_unref(cells);
    return 0;
}

int tfs_godot_counts_make(struct tfs_save *save, const struct tfs_doc *doc,
                          struct tfs_godot_counts *counts, tfs_godot_damage_fn damage, void *arg,
                          struct tfs_error *err)
{
    struct memory *cache = memory_of(save);
    struct updating u = {save, doc, cache, err};

    *counts = (struct tfs_godot_counts){0};
    pthread_mutex_lock(&cache->lock);
    int result = update(&u);
    for (size_t i = 0; i < doc->count && result == 0; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        const struct summary *summary = &cache->summaries[chunk->slot];
        if (!is_looked_into(chunk, cache->mask))
            continue;
        /* A chunk that could not be read now may be readable later. */
        if ((summary->flags & SUMMARY_DAMAGED) != 0 && chunk->blob == NULL)
            result = update_chunk(&u, chunk);
        if (result < 0)
            break;
        count_summary(summary, chunk->key, counts);
        result = tell_damage(&u, chunk, damage, arg);
    }
    pthread_mutex_unlock(&cache->lock);
    return result;
}

static void add_to_level(const struct summary *summary, struct tfs_godot_level *level)
{
    const bool floats = (summary->depths >> 2 * TFS_GODOT_SDF & 3) >= 2;

    if (summary->version == 0)
        return;
    if (level->version != 0 && floats != (level->depths[TFS_GODOT_SDF] >= 2))
        level->mixed = true;
    if (level->version == 0 || summary->version < level->version)
        level->version = summary->version;
    if (summary->version > level->newest)
        level->newest = summary->version;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        const unsigned depth = summary->depths >> 2 * i & 3;
        if (depth > level->depths[i])
            level->depths[i] = depth;
    }
}

struct looking {
    const struct memory *cache;
    struct tfs_godot_level *level;
};

static int add_chunk(void *arg, const struct tfs_chunk *chunk)
{
    const struct looking *l = arg;

    if (is_looked_into(chunk, l->cache->mask))
        add_to_level(&l->cache->summaries[chunk->slot], l->level);
    return 0;
}

/* Made from blocks that were looked into; in a level without such a block, from the first that has
 * voxels. */
static int make_level(struct updating *u, uint32_t number, struct tfs_godot_level *level)
{
    const struct tfs_key start = {number, INT32_MIN, INT32_MIN, INT32_MIN};
    const size_t first = tfs_doc_lower_bound(u->doc, start);
    const size_t end = first + tfs_doc_group_count(u->doc, number);

    tfs_doc_walk(u->doc, number, add_chunk, &(struct looking){u->cache, level});
    for (size_t i = first; i < end && i - first < LOOKED_FOR && level->version == 0; i++) {
        struct tfs_cells *cells;
        if (tfs_cells_make(u->save, u->doc, tfs_doc_at(u->doc, i), 0, &cells, u->err) < 0)
            return u->err->code;
        const struct summary summary = summarize(cells);
        add_to_level(&summary, level);
        tfs_cells_unref(cells);
    }
    level->known = level->version != 0;
    if (!level->known)
        level->version = 2;
    return 0;
}

int tfs_godot_level_find(struct tfs_save *save, const struct tfs_doc *doc, uint32_t number,
                         struct tfs_godot_level *level, struct tfs_error *err)
{
    struct memory *cache = memory_of(save);
    struct updating u = {save, doc, cache, err};
    bool found = false;

    pthread_mutex_lock(&cache->lock);
    for (unsigned i = 0; i < LEVELS && !found; i++)
        if (cache->levels[i].version == doc->version && cache->levels[i].number == number) {
            *level = cache->levels[i].level;
            found = true;
        }
    *level = found ? *level : (struct tfs_godot_level){0};
    if (!found && update(&u) == 0 && make_level(&u, number, level) == 0) {
        const unsigned i = cache->next_level++ % LEVELS;
        cache->levels[i].version = doc->version;
        cache->levels[i].number = number;
        cache->levels[i].level = *level;
    }
    pthread_mutex_unlock(&cache->lock);
    return err->code;
}

int tfs_godot_newest_version(struct tfs_save *save, const struct tfs_doc *doc, unsigned *version,
                             struct tfs_error *err)
{
    struct memory *cache = memory_of(save);
    struct updating u = {save, doc, cache, err};
    unsigned highest = 0;

    pthread_mutex_lock(&cache->lock);
    int result = update(&u);
    for (size_t i = 0; i < doc->count && result == 0 && highest < TFS_GODOT_VERSION_MAX; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        if (is_looked_into(chunk, cache->mask) && cache->summaries[chunk->slot].version > highest)
            highest = cache->summaries[chunk->slot].version;
    }
    pthread_mutex_unlock(&cache->lock);
    if (result == 0)
        *version = highest;
    return result;
}
