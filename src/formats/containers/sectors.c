/*
 * The table of a file of sectors -> extents; blocks that changed -> the new file, laid out as
 * Godot's engine lays it out.
 *
 * Must not know chunks. The order of the blocks is all that has to be known: they have no holes
 * between them, so those behind a hole move down.
 */
#include "formats/containers/sectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

/* Offset of the first sector. */
static size_t begin_of_sectors(const struct tfs_sectors *sectors)
{
    return sectors->table + (size_t)4 * sectors->entries;
}

uint32_t tfs_sectors_stored_max(const struct tfs_sectors *sectors)
{
    return TFS_SECTORS_MAX * sectors->size - TFS_SECTORS_SIZE;
}

uint64_t tfs_extent_offset(const struct tfs_sectors *sectors, struct tfs_extent extent)
{
    return begin_of_sectors(sectors) + (uint64_t)extent.first * sectors->size;
}

/* The last sector of a file need not be padded. */
uint64_t tfs_extent_size(const struct tfs_sectors *sectors, struct tfs_extent extent,
                         uint64_t file_size)
{
    uint64_t offset = tfs_extent_offset(sectors, extent);
    uint64_t size = (uint64_t)extent.count * sectors->size;

    if (offset >= file_size)
        return 0;
    return size < file_size - offset ? size : file_size - offset;
}

struct tfs_span tfs_extent_span(const struct tfs_sectors *sectors, struct tfs_extent extent,
                                struct tfs_span bytes)
{
    uint64_t size = tfs_extent_size(sectors, extent, bytes.size);

    if (size == 0)
        return (struct tfs_span){0};
    return (struct tfs_span){bytes.data + tfs_extent_offset(sectors, extent), (size_t)size};
}

static int check_extent(const struct tfs_sectors *sectors, uint32_t index, struct tfs_extent extent,
                        uint64_t file_size, struct tfs_error *err)
{
    /* All sectors but the last must be there, and of that one something. */
    uint64_t least = (uint64_t)(extent.count - 1) * sectors->size;
    char name[TFS_SECTORS_NAME];

    if (extent.count > 0 && tfs_extent_size(sectors, extent, file_size) > least)
        return 0;
    sectors->name(sectors, index, name);
    return tfs_fail(err, -EBADMSG, "%s, entry %u of the table, %s", name, index,
                    extent.count == 0 ? "has no sectors" : "lies behind the end of the file");
}

static int compare_first(const void *a, const void *b)
{
    const struct tfs_extent *left = a, *right = b;

    return left->first < right->first ? -1 : left->first > right->first;
}

static size_t count_blocks(const struct tfs_sectors *sectors, const struct tfs_extent *extents)
{
    size_t count = 0;

    for (uint32_t i = 0; i < sectors->entries; i++)
        count += extents[i].count > 0;
    return count;
}

static int check_overlap(const struct tfs_sectors *sectors, const struct tfs_extent *extents,
                         struct tfs_error *err)
{
    size_t count = 0, room = count_blocks(sectors, extents) + 1;
    struct tfs_extent *sorted = reallocarray(NULL, room, sizeof(*sorted));

    if (sorted == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < sectors->entries; i++)
        if (extents[i].count > 0)
            sorted[count++] = extents[i];
    qsort(sorted, count, sizeof(*sorted), compare_first);
    for (size_t i = 1; i < count && err->code == 0; i++)
        if (sorted[i].first < sorted[i - 1].first + sorted[i - 1].count)
            tfs_fail(err, -EBADMSG, "two blocks overlap in sector %u", sorted[i].first);
    free(sorted);
    return err->code;
}

static int read_table(const struct tfs_sectors *sectors, struct tfs_span bytes, uint64_t size,
                      struct tfs_extent *extents, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);

    tfs_cursor_seek(&c, sectors->table);
    for (uint32_t i = 0; i < sectors->entries; i++) {
        uint32_t entry = tfs_take_u32le(&c);
        extents[i] = (struct tfs_extent){entry >> 8, entry & 0xff};
        if (entry != 0 && check_extent(sectors, i, extents[i], size, err) < 0)
            return err->code;
    }
    return check_overlap(sectors, extents, err);
}

int tfs_sectors_read(const struct tfs_sectors *sectors, struct tfs_span bytes, uint64_t size,
                     struct tfs_extent **extents, struct tfs_error *err)
{
    struct tfs_extent *read;

    if (begin_of_sectors(sectors) > bytes.size)
        return tfs_fail(err, -EBADMSG, "is cut off within its table");
    read = reallocarray(NULL, sectors->entries, sizeof(*read));
    if (read == NULL)
        return tfs_fail_memory(err);
    if (read_table(sectors, bytes, size, read, err) < 0)
        free(read);
    else
        *extents = read;
    return err->code;
}

struct tfs_span tfs_sectors_block(struct tfs_span sectors)
{
    struct tfs_cursor c = tfs_cursor_init(sectors);
    const uint32_t size = tfs_take_u32le(&c);

    if (c.failed)
        return (struct tfs_span){sectors.data, 0};
    return (struct tfs_span){c.at, size < tfs_cursor_left(&c) ? size : tfs_cursor_left(&c)};
}

/* ---- the list of blocks ---------------------------------------------------------------------- */

/* A block in the order of sectors. */
struct entry {
    uint32_t index;
    uint32_t count;         /* sectors that it gets */
    struct tfs_span before; /* what these sectors hold now; empty: nothing */
    struct tfs_span stored; /* what is written over that; data NULL: nothing */
};

struct layout {
    const struct tfs_sectors *sectors;
    const struct tfs_sectors_file *old;
    struct entry *entries;
    size_t count;
    uint32_t *table;
};

static uint32_t sectors_for(const struct tfs_sectors *sectors, size_t size)
{
    uint64_t whole = (uint64_t)size + TFS_SECTORS_SIZE;

    return (uint32_t)((whole + sectors->size - 1) / sectors->size);
}

static int check_count(const struct layout *l, uint32_t index, uint32_t count,
                       struct tfs_error *err)
{
    char name[TFS_SECTORS_NAME];

    if (count <= TFS_SECTORS_MAX)
        return 0;
    l->sectors->name(l->sectors, index, name);
    return tfs_fail(err, -EFBIG,
                    "%s needs %u sectors of %u bytes, a block of a region has at most %d", name,
                    count, l->sectors->size, TFS_SECTORS_MAX);
}

static int compare_changes(const void *a, const void *b)
{
    const struct tfs_sectors_change *left = a, *right = b;

    return (left->index > right->index) - (left->index < right->index);
}

static const struct tfs_sectors_change *find_change(const struct tfs_sectors_change *changes,
                                                    size_t count, uint32_t index)
{
    const struct tfs_sectors_change wanted = {.index = index};

    return count == 0 ? NULL : bsearch(&wanted, changes, count, sizeof(wanted), compare_changes);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    /* The spans `before` lie in one memory, in the order of their sectors. */
    return left->before.data < right->before.data ? -1 : left->before.data > right->before.data;
}

/* Does the change leave the block in its sectors? */
static bool stays(const struct layout *l, const struct tfs_sectors_change *change,
                  struct tfs_extent extent)
{
    return change == NULL || (change->stored.data != NULL &&
                              sectors_for(l->sectors, change->stored.size) <= extent.count);
}

/* The blocks that are there and stay where they are. */
static void add_staying(struct layout *l, const struct tfs_sectors_change *changes, size_t count)
{
    for (uint32_t i = 0; i < l->sectors->entries; i++) {
        struct tfs_extent extent = l->old->extents[i];
        const struct tfs_sectors_change *change = find_change(changes, count, i);
        if (extent.count == 0 || !stays(l, change, extent))
            continue;
        struct entry entry = {.index = i,
                              .count = extent.count,
                              .before = tfs_extent_span(l->sectors, extent, l->old->bytes)};
        if (change != NULL) {
            entry.stored = change->stored;
            entry.count = sectors_for(l->sectors, change->stored.size);
        }
        l->entries[l->count++] = entry;
    }
    qsort(l->entries, l->count, sizeof(*l->entries), compare_entries);
}

/* The blocks that go to the end: new ones, and those that need more sectors, in table order. */
static int add_appended(struct layout *l, const struct tfs_sectors_change *changes, size_t count,
                        struct tfs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct tfs_extent extent = l->old->extents[changes[i].index];
        uint32_t sectors = sectors_for(l->sectors, changes[i].stored.size);
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
        if (first > TFS_SECTORS_FIRST_MAX)
            return tfs_fail(err, -EFBIG, "the region would have more than %u sectors",
                            TFS_SECTORS_FIRST_MAX);
        l->table[l->entries[i].index] = (uint32_t)(first << 8) | l->entries[i].count;
        first += l->entries[i].count;
    }
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int write_table(const struct layout *l, struct tfs_sink *sink, struct tfs_error *err)
{
    struct tfs_buf out = {0};

    for (uint32_t i = 0; i < l->sectors->entries; i++)
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
    size_t size = (size_t)entry->count * l->sectors->size;
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

int tfs_sectors_write(const struct tfs_sectors_file *old, struct tfs_span header,
                      const struct tfs_sectors_change *changes, size_t count, struct tfs_sink *sink,
                      struct tfs_error *err)
{
    struct layout l = {.sectors = old->sectors, .old = old};

    /* Room for none is no memory at all. */
    l.entries = reallocarray(NULL, count_blocks(old->sectors, old->extents) + count + 1,
                             sizeof(*l.entries));
    l.table = calloc(old->sectors->entries, sizeof(*l.table));
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
