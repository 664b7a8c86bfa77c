/*
 * The rest of a column, its sections, and what followed from the old ones in the file -> NBT and
 * its payload. What would not read back as it is meant is refused: here, at the commit, and by
 * tfs_mc_column_check when an edit is put.
 *
 * Must not know where columns lie in a file; what follows from blocks is computed by heights.c.
 */
#include "formats/minecraft/column_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/containers/folder.h"
#include "formats/minecraft/cells.h"
#include "formats/minecraft/heights.h"
#include "formats/minecraft/packing.h"

#define VERSION_ROUNDED 2203 /* the first that takes no sector more than it needs */
/* NBT of so many bytes fits into the sectors however badly it packs. */
#define SURE_TO_FIT ((size_t)1000 * 1000)

/* ---- NBT ------------------------------------------------------------------------------------- */

static void drop_blobs(struct tfs_mc_written *w)
{
    for (size_t i = 0; i < sizeof(w->blobs) / sizeof(*w->blobs); i++) {
        tfs_blob_unref(w->blobs[i]);
        w->blobs[i] = NULL;
    }
}

static int find_parts(struct tfs_mc_written *w, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_key key, struct tfs_error *err)
{
    struct tfs_mc_parts *parts = &w->after;

    parts->count = 0;
    key.group = 0;
    for (key.y = TFS_MC_LOWEST; key.y <= TFS_MC_HIGHEST && err->code == 0; key.y++) {
        const struct tfs_chunk *chunk = tfs_doc_find(doc, key);
        struct tfs_blob **blob = &w->blobs[parts->count + 1];
        if (chunk != NULL && tfs_chunk_load(save, chunk, blob, err) == 0)
            parts->parts[parts->count++] =
                (struct tfs_mc_part){(int8_t)key.y, tfs_mc_layout_of(chunk), tfs_blob_span(*blob)};
    }
    return err->code;
}

static int find_rest(struct tfs_mc_written *w, struct tfs_save *save, const struct tfs_doc *doc,
                     struct tfs_key key, struct tfs_error *err)
{
    const struct tfs_chunk *rest = tfs_doc_find(doc, key);

    drop_blobs(w);
    if (rest == NULL)
        return tfs_fail(err, -EINVAL, "there is no column %d_%d", key.x, key.z);
    return tfs_chunk_load(save, rest, &w->blobs[0], err);
}

/* What followed from blocks in the file. */
static int find_follows(struct tfs_mc_written *w, struct tfs_span file, struct tfs_mc_entry entry,
                        struct tfs_mc_follows *follows, struct tfs_error *err)
{
    struct tfs_mc_stored stored;
    struct tfs_mc_column column;
    struct tfs_buf rest = {0};
    bool over;

    tfs_buf_clear(&w->was);
    if (tfs_mc_stored_find(file, entry, &stored, err) == 0 &&
        tfs_mc_stored_unpack(&stored, TFS_MC_COLUMN_LIMIT, &w->was, &over, err) == 0 &&
        tfs_mc_column_split(tfs_buf_span(&w->was), &rest, &w->before, follows, &column, err) == 0)
        w->kind = stored.kind;
    tfs_buf_release(&rest);
    return err->code;
}

/* `before` is free by now. */
static int read_back(struct tfs_mc_written *w, struct tfs_error *err)
{
    struct tfs_mc_follows follows;
    struct tfs_mc_column column;
    struct tfs_buf rest = {0};

    if (w->nbt.size > TFS_MC_COLUMN_LIMIT)
        return tfs_fail(err, -EFBIG, "the column would have %zu bytes, and may have %llu",
                        w->nbt.size, (unsigned long long)TFS_MC_COLUMN_LIMIT);
    tfs_mc_column_split(tfs_buf_span(&w->nbt), &rest, &w->before, &follows, &column, err);
    bool same = tfs_span_equal(tfs_buf_span(&rest), tfs_blob_span(w->blobs[0])) &&
                w->before.count == w->after.count;
    for (size_t i = 0; i < w->after.count && err->code == 0 && same; i++) {
        const struct tfs_mc_part *part = &w->after.parts[i],
                                 *got = tfs_mc_part_at(&w->before, part->y);
        same =
            got != NULL && got->layout == part->layout && tfs_span_equal(got->bytes, part->bytes);
    }
    tfs_buf_release(&rest);
    return err->code == 0 && !same
               ? tfs_fail(err, -EBADMSG,
                          "the column and its sections would not read back like this")
               : err->code;
}

int tfs_mc_written_make(struct tfs_mc_written *w, struct tfs_save *save, const struct tfs_doc *doc,
                        struct tfs_key key, struct tfs_span file, struct tfs_mc_entry entry,
                        struct tfs_error *err)
{
    struct tfs_mc_follows follows;

    tfs_buf_clear(&w->nbt);
    tfs_buf_clear(&w->room);
    if (find_rest(w, save, doc, key, err) < 0 || find_parts(w, save, doc, key, err) < 0 ||
        find_follows(w, file, entry, &follows, err) < 0)
        return err->code;
    const struct tfs_span rest = tfs_blob_span(w->blobs[0]);
    if (tfs_mc_rest_check(rest, key.x, key.z, &w->column, err) < 0 ||
        tfs_mc_follow(&w->before, &w->after, &w->column, &follows, &w->room, err) < 0 ||
        tfs_mc_column_join(rest, &w->after, &follows, &w->nbt, err) < 0)
        return err->code;
    return read_back(w, err);
}

/* ---- its payload ----------------------------------------------------------------------------- */

static uint32_t sectors_for(size_t payload, int32_t version)
{
    const size_t size = payload + TFS_MC_HEAD;

    return (uint32_t)(size / TFS_MC_SECTOR +
                      (version < VERSION_ROUNDED || size % TFS_MC_SECTOR > 0));
}

int tfs_mc_written_pack(struct tfs_mc_written *w, uint32_t *count, struct tfs_error *err)
{
    tfs_buf_clear(&w->packed);
    if (tfs_mc_pack_payload(w->kind, tfs_buf_span(&w->nbt), &w->packed, err) < 0)
        return err->code;
    *count = sectors_for(w->packed.size, w->column.version);
    if (*count > TFS_MC_COUNT_MAX)
        tfs_fail(err, -EFBIG, "the column needs %u sectors, a region has room for %d", *count,
                 TFS_MC_COUNT_MAX);
    return err->code;
}

void tfs_mc_written_release(struct tfs_mc_written *w)
{
    drop_blobs(w);
    tfs_buf_release(&w->nbt);
    tfs_buf_release(&w->packed);
    tfs_buf_release(&w->was);
    tfs_buf_release(&w->room);
}

/* ---- before a commit ------------------------------------------------------------------------- */

static int read_at(const struct tfs_file_handle *file, uint64_t offset, size_t size,
                   struct tfs_buf *out, struct tfs_error *err)
{
    uint8_t *to = tfs_buf_reserve(out, size);
    const ssize_t got = to == NULL ? 0 : tfs_file_read_at(file->fd, offset, to, size);

    if (got < 0)
        return tfs_fail(err, (int)got, "its region cannot be read: %s", strerror((int)-got));
    out->size += (size_t)got;
    return tfs_buf_check(out, err);
}

/* The sectors of the column in a file of the folder. */
static int read_sectors(struct tfs_save *save, struct tfs_key region, uint32_t slot,
                        struct tfs_buf *sectors, struct tfs_error *err)
{
    char *path = tfs_folder_file_path(save, region);
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_buf head = {0};

    if (path == NULL)
        return tfs_fail_memory(err);
    if (tfs_file_open(path, false, &file, err) == -ENOENT) {
        tfs_error_reset(err);
        tfs_fail(err, -ESTALE, "its region was removed by another program since it was read");
    }
    if (err->code == 0 && read_at(&file, (uint64_t)4 * slot, 4, &head, err) == 0) {
        const struct tfs_mc_entry entry = tfs_mc_entry_at(tfs_buf_span(&head), 0);
        read_at(&file, (uint64_t)entry.first * TFS_MC_SECTOR, (size_t)entry.count * TFS_MC_SECTOR,
                sectors, err);
    }
    tfs_file_close(&file);
    tfs_buf_release(&head);
    free(path);
    return err->code;
}

static int check_column(struct tfs_mc_written *w, struct tfs_save *save, const struct tfs_doc *doc,
                        struct tfs_key key, struct tfs_error *err)
{
    const struct tfs_mc_region *own = tfs_mc_region_of(doc->facts);
    const struct tfs_key region = tfs_mc_file_of(key, &(uint32_t){0});
    const uint32_t slot = tfs_mc_slot_of(key);
    struct tfs_buf sectors = {0};
    uint32_t count;

    if (own->file != NULL) {
        const struct tfs_span file = tfs_blob_span(own->file);
        tfs_mc_written_make(w, save, doc, key, file, tfs_mc_entry_at(file, slot), err);
    } else if (read_sectors(save, region, slot, &sectors, err) == 0) {
        const struct tfs_mc_entry here = {0, (uint32_t)(sectors.size / TFS_MC_SECTOR) + 1};
        tfs_mc_written_make(w, save, doc, key, tfs_buf_span(&sectors), here, err);
    }
    if (err->code == 0 && w->nbt.size > SURE_TO_FIT)
        tfs_mc_written_pack(w, &count, err);
    tfs_buf_release(&sectors);
    return err->code;
}

int tfs_mc_column_check(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key chunk,
                        struct tfs_error *err)
{
    const struct tfs_key key = {TFS_GROUP_COLUMNS, chunk.x, 0, chunk.z};
    struct tfs_mc_written *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return tfs_fail_memory(err);
    check_column(w, save, doc, key, err);
    tfs_mc_written_release(w);
    free(w);
    return err->code;
}
