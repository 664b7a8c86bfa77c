/*
 * A folder of regions: opened from the tables of its files, changed file by file.
 *
 * Must not know blocks, nor how they are fetched (folder_fetch.c) and regions written
 * (folder_write.c). Invariants:
 *   1. own->index is what the files on disk say, and save->doc has a chunk for each of its blocks;
 *   2. a chunk of the document holds what this mount wrote, or is lazy: fetched by its coordinate
 *      from the region as it is then. tfs_chunk.own is the number of the reading that found its
 *      region new or changed by others, so nothing remembered is taken for new;
 *   3. the folder itself is locked, its files are not: a folder has one writer. Nothing is written
 *      while the path is that of another folder, which is locked before it is read.
 */
#include "formats/godot_voxel/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "formats/godot_voxel/counts.h"
#include "formats/info.h"
#include "formats/journal.h"
#include "formats/parts.h"

struct folder_facts {
    struct tfs_godot_rules rules; /* first */
    struct tfs_godot_meta meta;
};

static struct folder_facts *facts_of(const struct tfs_facts *facts)
{
    return facts->own;
}

/* ---- documents ------------------------------------------------------------------------------- */

static void describe(const struct tfs_doc *doc, struct tfs_buf *out)
{
    const struct folder_facts *facts = facts_of(doc->facts);
    const uint32_t side = UINT32_C(1) << facts->meta.region_po2;

    tfs_info_line(out, "meta version", "%u", facts->meta.version);
    tfs_info_line(out, "region size", "%u x %u x %u blocks", side, side, side);
    tfs_info_line(out, "sector size", "%u bytes", facts->meta.sector_size);
    tfs_info_line(out, "levels of detail", "0 to %u", facts->meta.lods - 1);
}

static int upgrade(struct tfs_edit *edit, struct tfs_error *err)
{
    const struct folder_facts *facts = facts_of(edit->base->facts);
    const struct tfs_blob *text = tfs_godot_meta_text(edit->base);
    struct tfs_blob *newer = NULL;
    struct tfs_buf out = {0};

    if (facts->meta.version == TFS_GODOT_REGION_VERSION_MAX)
        return 0;
    if (tfs_godot_meta_upgrade(tfs_blob_span(text), &out, err) == 0 &&
        tfs_blob_take(&out, &newer, err) == 0)
        tfs_edit_common(edit, newer);
    tfs_blob_unref(newer);
    tfs_buf_release(&out);
    return err->code;
}

static int make_facts(const struct tfs_godot_meta *meta, struct tfs_facts **facts,
                      struct tfs_error *err)
{
    const struct tfs_godot_region region = {.sectors.size = meta->sector_size};

    if (tfs_facts_create(sizeof(struct folder_facts), facts, err) < 0)
        return err->code;
    struct folder_facts *own = facts_of(*facts);
    own->meta = *meta;
    own->rules = (struct tfs_godot_rules){.container = "this folder",
                                          .cubed = true,
                                          .po2 = meta->po2,
                                          .depths_fixed = true,
                                          .stored_max = tfs_sectors_stored_max(&region.sectors),
                                          .cased = true,
                                          .low = {INT32_MIN, INT32_MIN, INT32_MIN},
                                          .high = {INT32_MAX, INT32_MAX, INT32_MAX},
                                          .lods = meta->lods,
                                          .upgrade = upgrade,
                                          .palette = tfs_godot_folder_palette,
                                          .describe = describe};
    memcpy(own->rules.depths, meta->depths, sizeof(own->rules.depths));
    return 0;
}

/* Lazy chunks for all blocks of a region, but for those that are known to hold what they held. */
static int put_blocks(struct tfs_edit *edit, const struct tfs_save *save,
                      const struct tfs_godot_region_file *file, uint64_t reading,
                      struct tfs_error *err)
{
    struct tfs_godot_comparing c = {.save = save, .now = file};

    for (size_t i = 0; i < file->count && err->code == 0; i++) {
        struct tfs_chunk chunk = {.key = tfs_godot_folder_block(file, file->slots[i].index),
                                  .slot = TFS_SLOT_NONE,
                                  .flags = TFS_CHUNK_UNREAD,
                                  .own = reading};
        const struct tfs_chunk *before = tfs_doc_find(edit->base, chunk.key);
        if (before == NULL || !tfs_godot_folder_same(&c, &file->slots[i], before))
            tfs_edit_put(edit, &chunk, err);
    }
    tfs_godot_folder_compared(&c);
    return err->code;
}

/* Removes the blocks of `before` that `after` (NULL: no region at all) does not have. */
static int drop_blocks(struct tfs_edit *edit, const struct tfs_godot_region_file *before,
                       const struct tfs_godot_region_file *after, struct tfs_error *err)
{
    for (size_t i = 0; i < before->count && err->code == 0; i++) {
        uint32_t index = before->slots[i].index;
        if (after == NULL || tfs_godot_region_file_slot(after, index) == NULL)
            tfs_edit_remove(edit, tfs_godot_folder_block(before, index), err);
    }
    return err->code;
}

/* The edit's document for an index that replaces `before` (NULL: nothing was known); regions whose
 * file is still the same keep their chunks. */
static int put_index(struct tfs_edit *edit, const struct tfs_save *save,
                     const struct tfs_godot_index *before, const struct tfs_godot_index *after,
                     uint64_t reading, struct tfs_error *err)
{
    tfs_edit_common(edit, after->meta_text);
    for (size_t i = 0; before != NULL && i < before->files.count && err->code == 0; i++) {
        const struct tfs_godot_region_file *file = tfs_godot_index_at(before, i);
        drop_blocks(edit, file, tfs_godot_index_find(after, file->file.key), err);
    }
    for (size_t i = 0; i < after->files.count && err->code == 0; i++) {
        const struct tfs_godot_region_file *file = tfs_godot_index_at(after, i);
        const struct tfs_godot_region_file *old =
            before == NULL ? NULL : tfs_godot_index_find(before, file->file.key);
        if (old == NULL || !tfs_file_same(&old->file.st, &file->file.st))
            put_blocks(edit, save, file, reading, err);
    }
    return err->code;
}

static int make_doc(const struct tfs_save *save, struct tfs_doc *base,
                    const struct tfs_godot_index *before, const struct tfs_godot_index *after,
                    uint64_t reading, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_edit edit;

    if (tfs_edit_open(base, &edit, err) < 0)
        return err->code;
    if (put_index(&edit, save, before, after, reading, err) == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

/* A document that knows nothing of another one. */
static int new_doc(const struct tfs_godot_index *index, uint64_t reading, struct tfs_doc **doc,
                   struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;
    struct tfs_doc *empty = NULL;

    if (make_facts(&index->meta, &facts, err) == 0 && tfs_doc_create(facts, &empty, err) == 0)
        make_doc(NULL, empty, NULL, index, reading, doc, err);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
    return err->code;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool exclusive(const struct tfs_save *save)
{
    return save->options.lock == TFS_LOCK_EXCLUSIVE;
}

/* A user that gives meta.vxrm means the folder around it. */
static int find_folder(const char *path, struct tfs_parts *parts, struct tfs_error *err)
{
    const char *slash = strrchr(path, '/');

    if (strcmp(slash == NULL ? path : slash + 1, TFS_GODOT_META_NAME) != 0)
        return 0;
    return tfs_parts_add(parts, strdup(""), tfs_file_directory(path), err);
}

static int lock_folder(const struct tfs_save *save, int *lock_fd, struct tfs_error *err)
{
    return tfs_folder_lock(save->path, exclusive(save) ? TFS_FOLDER_EXCLUSIVE : TFS_FOLDER_UNLOCKED,
                           lock_fd, err);
}

/* Owner, mode and times are those of meta.vxrm, which is there in every folder; what is newer in
 * the folder counts as its time. */
static void set_stat(struct tfs_save *save, const struct tfs_godot_index *index)
{
    save->st = index->meta_st;
    tfs_folder_newest(&index->files, &save->st);
}

/* Can this region be replaced? If not, *why; without memory to find out, `err`. */
static int check_region(const struct tfs_save *save, struct tfs_key key, struct tfs_error *why,
                        struct tfs_error *err)
{
    char *path = tfs_godot_folder_region_path(save->path, key);
    struct tfs_error found = {0};
    char name[TFS_GODOT_REGION_NAME];

    int result = path == NULL ? -ENOMEM : tfs_file_writable(path, &found);
    free(path);
    if (result == -ENOMEM)
        return tfs_fail_memory(err);
    tfs_godot_region_name(key, name);
    if (result < 0)
        tfs_fail(why, result, "regions/lod%u/%s: %s", key.group, name, found.text);
    return 0;
}

static int check_writable(struct tfs_save *save, const struct tfs_godot_index *index,
                          struct tfs_error *err)
{
    struct tfs_error why = {0};

    for (size_t i = 0; i < index->files.count && why.code == 0; i++)
        if (check_region(save, index->files.files[i]->key, &why, err) < 0)
            return err->code;
    if (index->files.count == 0 && access(save->path, W_OK) < 0)
        tfs_fail(&why, -errno, "it cannot be written: %s", strerror(errno));
    if (why.code == 0) {
        char *beside = tfs_journal_beside(save);
        (void)tfs_folder_check_alone(beside, index->alone, &why);
        free(beside);
    }
    tfs_save_set_read_only(save, &why);
    return 0;
}

static void folder_free(struct tfs_godot_folder *own)
{
    tfs_godot_index_release(&own->index);
    tfs_recent_release(&own->opened);
    free(own->seen);
    if (own->lock_fd >= 0)
        close(own->lock_fd);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

/* The names of meta.vxrm, of the directories and of the regions are durable from now on. */
static int settle(const struct tfs_save *save, const struct tfs_godot_index *index,
                  struct tfs_error *err)
{
    int result = tfs_directory_settle(save->path, err);

    for (size_t i = 0; i < TFS_GODOT_LODS + 1 && result == 0; i++)
        result = tfs_directory_settle(index->watches[i].path, err);
    return result;
}

static int folder_open(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_folder *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return tfs_fail_memory(err);
    own->lock_fd = -1;
    own->reading = 1;
    pthread_mutex_init(&own->lock, NULL);
    tfs_godot_folder_opened_init(&own->opened);
    if (lock_folder(save, &own->lock_fd, err) == 0)
        tfs_journal_tidy(save);
    if (err->code < 0 || tfs_godot_cache_create(save, err) < 0 ||
        tfs_godot_index_read(save->path, exclusive(save), &own->index, err) < 0 ||
        (exclusive(save) && settle(save, &own->index, err) < 0) ||
        new_doc(&own->index, own->reading, &save->doc, err) < 0 ||
        check_writable(save, &own->index, err) < 0) {
        tfs_godot_cache_free(save);
        folder_free(own);
        return err->code;
    }
    save->own = own;
    set_stat(save, &own->index);
    return 0;
}

static void folder_close(struct tfs_save *save)
{
    tfs_godot_cache_free(save);
    folder_free(tfs_godot_folder_of(save));
    save->own = NULL;
}

/* ---- outside changes ------------------------------------------------------------------------- */

static int folder_changed(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);
    struct tfs_error ignored = {0};

    (void)err;
    pthread_mutex_lock(&own->lock);
    bool changed = tfs_folder_check(save->path, own->lock_fd, &ignored) < 0 ||
                   tfs_godot_index_changed(save->path, &own->index);
    pthread_mutex_unlock(&own->lock);
    return changed;
}

static int folder_changed_at(struct tfs_save *save, struct tfs_key block, struct tfs_error *err)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);
    struct tfs_error ignored = {0};

    (void)err;
    pthread_mutex_lock(&own->lock);
    bool changed = tfs_folder_check(save->path, own->lock_fd, &ignored) < 0 ||
                   tfs_godot_index_changed_at(save->path, &own->index, block);
    pthread_mutex_unlock(&own->lock);
    return changed;
}

/* The engine removes no directory: a missing one may come back. People remove levels above 0. */
static int check_moved(const struct tfs_godot_index *before, const struct tfs_godot_index *now,
                       struct tfs_error *err)
{
    const struct tfs_folder_watch *regions = &now->watches[0], *lod_0 = &now->watches[1];

    if (before->files.count == 0)
        return 0;
    if (regions->st.st_ino == 0)
        return tfs_fail(err, -ENOENT, "its directory regions is missing");
    if (before->watches[1].st.st_ino != 0 && lod_0->st.st_ino == 0)
        return tfs_fail(err, -ENOENT, "its directory regions/lod0 is missing");
    return 0;
}

/* Reads the folder at the path again; what did not change keeps its chunks. */
static int read_index(struct tfs_save *save, struct tfs_godot_folder *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    struct tfs_godot_index index;

    if (tfs_godot_index_read(save->path, exclusive(save), &index, err) < 0)
        return err->code;
    bool same = tfs_blob_equal(index.meta_text, own->index.meta_text);
    int result = same ? check_moved(&own->index, &index, err) : 0;
    if (result == 0)
        result = same ? make_doc(save, save->doc, &own->index, &index, own->reading + 1, doc, err)
                      : new_doc(&index, own->reading + 1, doc, err);
    if (result == 0 && !same)
        result = tfs_doc_keep_slots(*doc, save->doc, err);
    if (result == 0)
        result = check_writable(save, &index, err);
    if (result < 0) {
        tfs_godot_index_release(&index);
        return result;
    }
    tfs_godot_index_release(&own->index);
    tfs_recent_clear(&own->opened);
    own->index = index;
    own->reading++;
    return 0;
}

/* The same with the lock: a folder in the place of ours is locked before it is read, and ours is
 * released after that. */
static int read_again(struct tfs_save *save, struct tfs_godot_folder *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    struct tfs_error why = {0};
    int lock_fd = own->lock_fd;

    if (tfs_folder_check(save->path, own->lock_fd, &why) == 0)
        return read_index(save, own, doc, err);
    if (lock_folder(save, &lock_fd, err) < 0)
        return err->code;
    int result = read_index(save, own, doc, err);
    if (result == 0) {
        close(own->lock_fd);
        own->lock_fd = lock_fd;
    } else {
        close(lock_fd);
    }
    return result;
}

static int folder_reload(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);
    struct tfs_doc *doc = NULL;

    pthread_mutex_lock(&own->lock);
    int result = read_again(save, own, &doc, err);
    pthread_mutex_unlock(&own->lock);
    if (result < 0) {
        tfs_doc_unref(doc);
        return result;
    }
    tfs_doc_unref(save->doc);
    save->doc = doc;
    set_stat(save, &own->index);
    return 0;
}

/* ---- committing ------------------------------------------------------------------------------ */

static int folder_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);
    struct tfs_doc *reached = NULL;
    const struct tfs_blob *meta = tfs_godot_meta_text(save->doc);

    if (tfs_folder_check_allowed(save, err) < 0 ||
        tfs_folder_check(save->path, own->lock_fd, err) < 0)
        return err->code;
    bool same_meta = tfs_blob_equal(meta, tfs_godot_meta_text(doc));
    tfs_godot_folder_write(save, doc, &reached, err);
    if (reached != NULL) {
        tfs_doc_unref(save->doc);
        save->doc = reached;
        set_stat(save, &own->index);
    }
    /* Another meta.vxrm makes another save of it. */
    if (err->code == 0 && !same_meta)
        folder_reload(save, err);
    return err->code;
}

/* ---- the container --------------------------------------------------------------------------- */

static int folder_probe(const struct tfs_probe *probe)
{
    struct stat st;
    char *path;

    if (S_ISREG(probe->st.st_mode))
        return TFS_BID_NONE;
    path = tfs_godot_folder_meta_path(probe->path);
    if (path == NULL)
        return -ENOMEM;
    bool there = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    free(path);
    return there ? TFS_BID_CERTAIN : TFS_BID_NONE;
}

const struct tfs_container tfs_godot_folder_container = {
    .format = "godot_voxel",
    .name = "region folder",
    .tree = &tfs_godot_region_tree,
    .probe = folder_probe,
    .saves = find_folder,
    .open = folder_open,
    .fetch = tfs_godot_folder_fetch,
    .journal = &tfs_godot_folder_journal,
    .commit = folder_commit,
    .changed = folder_changed,
    .changed_at = folder_changed_at,
    .reload = folder_reload,
    .close = folder_close,
    .rest = tfs_godot_folder_rest,
};
