/*
 * A region and what changed -> its file, laid out as the engine lays it out.
 *
 * Must not know chunks. The engine keeps one list of blocks in the order of their sectors, without
 * holes; a block that needs more sectors than it had goes to the end of the list, as a new one
 * does, and those behind a hole move down. So the order of the list is all that has to be known.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/godot_voxel/region.h"

/* A block in the order of sectors. */
struct entry {
    uint32_t index;
    uint32_t count;         /* sectors that it gets */
    struct tfs_span before; /* what these sectors hold now; empty: nothing */
    struct tfs_span stored; /* what is written over that; data NULL: nothing */
};

struct layout {
    const struct tfs_godot_region *region;
    struct tfs_span bytes;
    const struct tfs_godot_extent *extents;
    struct entry *entries;
    size_t count;
    uint32_t *table;
};

static uint32_t sectors_for(const struct tfs_godot_region *region, size_t size)
{
    uint64_t whole = (uint64_t)size + TFS_GODOT_BLOCK_HEADER;

    return (uint32_t)((whole + region->sector_size - 1) / region->sector_size);
}

static struct tfs_span sectors_of(const struct layout *l, struct tfs_godot_extent extent)
{
    uint64_t offset = tfs_godot_extent_offset(l->region, extent);
    uint64_t size = tfs_godot_extent_size(l->region, extent, l->bytes.size);

    if (size == 0)
        return (struct tfs_span){0};
    return (struct tfs_span){l->bytes.data + offset, (size_t)size};
}

static int check_count(const struct layout *l, uint32_t index, uint32_t count,
                       struct tfs_error *err)
{
    uint32_t x, y, z;

    if (count <= TFS_GODOT_SECTORS_MAX)
        return 0;
    tfs_godot_region_at(l->region, index, &x, &y, &z);
    return tfs_fail(err, -EFBIG,
                    "block %u %u %u needs %u sectors of %u bytes, a block of a region has at most "
                    "%d",
                    x, y, z, count, l->region->sector_size, TFS_GODOT_SECTORS_MAX);
}

/* ---- the list of blocks ---------------------------------------------------------------------- */

static const struct tfs_godot_change *find_change(const struct tfs_godot_change *changes,
                                                  size_t count, uint32_t index)
{
    for (size_t low = 0, high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (changes[middle].index == index)
            return &changes[middle];
        if (changes[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    /* The spans `before` lie in one memory, in the order of their sectors. */
    return left->before.data < right->before.data ? -1 : left->before.data > right->before.data;
}

/* Does the change leave the block in its sectors? */
static bool stays(const struct layout *l, const struct tfs_godot_change *change,
                  struct tfs_godot_extent extent)
{
    return change == NULL || (change->stored.data != NULL &&
                              sectors_for(l->region, change->stored.size) <= extent.count);
}

/* The blocks that are there and stay where they are. */
static void add_staying(struct layout *l, const struct tfs_godot_change *changes, size_t count)
{
    uint32_t entries = tfs_godot_region_entries(l->region);

    for (uint32_t i = 0; i < entries; i++) {
        struct tfs_godot_extent extent = l->extents[i];
        const struct tfs_godot_change *change = find_change(changes, count, i);
        if (extent.count == 0 || !stays(l, change, extent))
            continue;
        struct entry entry = {.index = i, .count = extent.count, .before = sectors_of(l, extent)};
        if (change != NULL) {
            entry.stored = change->stored;
            entry.count = sectors_for(l->region, change->stored.size);
        }
        l->entries[l->count++] = entry;
    }
    qsort(l->entries, l->count, sizeof(*l->entries), compare_entries);
}

/* The blocks that go to the end: new ones, and those that need more sectors, in table order. */
static int add_appended(struct layout *l, const struct tfs_godot_change *changes, size_t count,
                        struct tfs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct tfs_godot_extent extent = l->extents[changes[i].index];
        uint32_t sectors = sectors_for(l->region, changes[i].stored.size);
        if (changes[i].stored.data == NULL || (extent.count > 0 && stays(l, &changes[i], extent)))
            continue;
        if (check_count(l, changes[i].index, sectors, err) < 0)
            return err->code;
        l->entries[l->count++] = (struct entry){
            .index = changes[i].index, .count = sectors, .stored = changes[i].stored};
    }
    return 0;
}

static int make_table(struct layout *l, struct tfs_error *err)
{
    uint64_t first = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (first > TFS_GODOT_FIRST_SECTOR_MAX)
            return tfs_fail(err, -EFBIG, "the region would have more than %u sectors",
                            TFS_GODOT_FIRST_SECTOR_MAX);
        l->table[l->entries[i].index] = (uint32_t)(first << 8) | l->entries[i].count;
        first += l->entries[i].count;
    }
    return 0;
}

static size_t live_blocks(const struct tfs_godot_region *region,
                          const struct tfs_godot_extent *extents)
{
    uint32_t entries = tfs_godot_region_entries(region);
    size_t count = 1; /* room for none is no memory at all */

    for (uint32_t i = 0; i < entries; i++)
        count += extents[i].count > 0;
    return count;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int write_table(const struct layout *l, struct tfs_sink *sink, struct tfs_error *err)
{
    uint32_t entries = tfs_godot_region_entries(l->region);
    struct tfs_buf out = {0};

    for (uint32_t i = 0; i < entries; i++)
        tfs_buf_u32le(&out, l->table[i]);
    if (tfs_buf_check(&out, err) == 0)
        tfs_sink_span(sink, tfs_buf_span(&out), err);
    tfs_buf_release(&out);
    return err->code;
}

/* Old bytes behind a block that stays are kept, as the engine keeps them; a block that nobody
 * touched and that is last keeps even a sector that is not whole. */
static int write_entry(const struct layout *l, const struct entry *entry, bool last,
                       struct tfs_sink *sink, struct tfs_error *err)
{
    size_t size = (size_t)entry->count * l->region->sector_size;
    struct tfs_buf out = {0};

    if (entry->stored.data != NULL) {
        tfs_buf_u32le(&out, (uint32_t)entry->stored.size);
        tfs_buf_add_span(&out, entry->stored);
    }
    size_t end = entry->before.size < size ? entry->before.size : size;
    if (out.size < end)
        tfs_buf_add(&out, entry->before.data + out.size, end - out.size);
    if (entry->stored.data != NULL || !last)
        tfs_buf_resize(&out, size);
    if (tfs_buf_check(&out, err) == 0)
        tfs_sink_span(sink, tfs_buf_span(&out), err);
    tfs_buf_release(&out);
    return err->code;
}

int tfs_godot_region_write(const struct tfs_godot_region *old, struct tfs_span bytes,
                           const struct tfs_godot_extent *extents, struct tfs_span header,
                           const struct tfs_godot_change *changes, size_t count,
                           struct tfs_sink *sink, struct tfs_error *err)
{
    uint32_t entries = tfs_godot_region_entries(old);
    struct layout l = {.region = old, .bytes = bytes, .extents = extents};

    l.entries = reallocarray(NULL, live_blocks(old, extents) + count, sizeof(*l.entries));
    l.table = calloc(entries, sizeof(*l.table));
    if (l.entries == NULL || l.table == NULL) {
        tfs_fail_memory(err);
        goto out;
    }
    add_staying(&l, changes, count);
    if (add_appended(&l, changes, count, err) < 0 || make_table(&l, err) < 0 ||
        tfs_sink_span(sink, header, err) < 0 || write_table(&l, sink, err) < 0)
        goto out;
    for (size_t i = 0; i < l.count && err->code == 0; i++)
        write_entry(&l, &l.entries[i], i + 1 == l.count, sink, err);
out:
    free(l.entries);
    free(l.table);
    return err->code;
}
