/*
 * A document and the file that it was read from -> the new file: sectors of columns that changed
 * are placed as the game places them, all other bytes stay (FORMAT.md, section 2).
 *
 * Must not know blocks, nor what a column holds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "formats/minecraft/column_write.h"

struct writer {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    const struct tfs_mc_region *region;
    bool changed[TFS_MC_COLUMNS];
    bool outside;
    struct tfs_buf image;
    uint8_t *used; /* sectors, one byte each */
    size_t sectors;
    struct tfs_mc_written column; /* being written */
};

static int note_change(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct writer *w = arg;
    const struct tfs_key key = after != NULL ? after->key : before->key;
    uint32_t index;
    const struct tfs_key region = tfs_mc_file_of(key, &index);

    w->outside = w->outside || tfs_key_compare(region, w->region->key) != 0;
    w->changed[tfs_mc_slot_of(key)] = true;
    return 0;
}

/* ---- sectors --------------------------------------------------------------------------------- */

static void mark(struct writer *w, struct tfs_mc_entry entry, bool used)
{
    for (size_t s = entry.first; s < (size_t)entry.first + entry.count && s < w->sectors; s++)
        w->used[s] = used;
}

/* Room for each column behind all others, if it comes to that. */
static int open_sectors(struct writer *w, struct tfs_error *err)
{
    w->sectors = w->image.size / TFS_MC_SECTOR + 1 + (size_t)TFS_MC_COLUMNS * TFS_MC_COUNT_MAX;
    w->used = calloc(w->sectors, 1);
    if (w->used == NULL)
        return tfs_fail_memory(err);
    w->used[0] = w->used[1] = true;
    for (uint32_t i = 0; i < TFS_MC_COLUMNS; i++)
        mark(w, tfs_mc_entry_at(tfs_buf_span(&w->image), i), true);
    return 0;
}

/* The first run of free sectors that is long enough; behind the last one, else. */
static uint32_t find_run(const struct writer *w, uint32_t count)
{
    size_t first = 0;

    for (size_t s = 0; s - first < count; s++)
        if (w->used[s])
            first = s + 1;
    return (uint32_t)first;
}

static void set_u32(struct tfs_buf *image, size_t at, uint32_t value)
{
    for (int i = 3; i >= 0; i--, value >>= 8)
        image->data[at + (size_t)i] = (uint8_t)value;
}

static int place(struct writer *w, uint32_t slot, uint32_t count, struct tfs_error *err)
{
    struct tfs_mc_entry entry = tfs_mc_entry_at(tfs_buf_span(&w->image), slot);
    const struct tfs_buf *packed = &w->column.packed;

    if (entry.count != count) {
        mark(w, entry, false);
        entry = (struct tfs_mc_entry){find_run(w, count), count};
        mark(w, entry, true);
    }
    const size_t begin = (size_t)entry.first * TFS_MC_SECTOR;
    const size_t end = begin + (size_t)count * TFS_MC_SECTOR;
    if (w->image.size < end)
        tfs_buf_resize(&w->image, end);
    if (tfs_buf_check(&w->image, err) < 0)
        return err->code;
    set_u32(&w->image, begin, (uint32_t)packed->size + 1);
    w->image.data[begin + 4] = w->column.kind;
    memcpy(w->image.data + begin + TFS_MC_HEAD, packed->data, packed->size);
    set_u32(&w->image, (size_t)4 * slot, entry.first << 8 | count);
    set_u32(&w->image, TFS_MC_SECTOR + (size_t)4 * slot, (uint32_t)tfs_date());
    return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int write_column(struct writer *w, uint32_t slot, struct tfs_error *err)
{
    const struct tfs_key key = tfs_mc_column_at(w->region->key, slot);
    const struct tfs_span file = tfs_blob_span(w->region->file);
    const struct tfs_mc_entry entry = tfs_mc_entry_at(file, slot);
    uint32_t count;

    if (tfs_mc_written_make(&w->column, w->save, w->doc, key, file, entry, err) == 0 &&
        tfs_mc_written_pack(&w->column, &count, err) == 0)
        place(w, slot, count, err);
    return err->code;
}

static int write_columns(struct writer *w, struct tfs_error *err)
{
    tfs_buf_add_span(&w->image, tfs_blob_span(w->region->file));
    if (w->outside)
        return tfs_fail(err, -EINVAL, "a chunk is outside the region");
    if (tfs_buf_check(&w->image, err) < 0 || open_sectors(w, err) < 0)
        return err->code;
    for (uint32_t slot = 0; slot < TFS_MC_COLUMNS; slot++)
        if (w->changed[slot] && write_column(w, slot, err) < 0)
            return err->code;
    return 0;
}

int tfs_mc_region_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                         struct tfs_error *err)
{
    struct writer *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return tfs_fail_memory(err);
    w->save = save;
    w->doc = doc;
    w->region = tfs_mc_region_of(save->doc->facts);
    tfs_doc_diff(save->doc, doc, note_change, w);
    if (write_columns(w, err) == 0)
        tfs_sink_span(sink, tfs_buf_span(&w->image), err);
    tfs_buf_release(&w->image);
    tfs_mc_written_release(&w->column);
    free(w->used);
    free(w);
    return err->code;
}
