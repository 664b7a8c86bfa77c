/*
 * The files of a folder -> which blocks lie where.
 *
 * Must not know documents. Of a region only header and table are read.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"
#include "formats/godot_voxel/folder.h"

/* ---- paths ----------------------------------------------------------------------------------- */

char *tfs_godot_folder_meta_path(const char *folder)
{
    char *path = NULL;

    return tfs_print(&path, "%s/" TFS_GODOT_META_NAME, folder) < 0 ? NULL : path;
}

static char *level_path(const char *folder, uint32_t lod)
{
    char *path = NULL;

    return tfs_print(&path, "%s/regions/lod%u", folder, lod) < 0 ? NULL : path;
}

char *tfs_godot_folder_region_path(const char *folder, struct tfs_key key)
{
    char name[TFS_GODOT_REGION_NAME];
    char *path = NULL;

    tfs_godot_region_name(key, name);
    return tfs_print(&path, "%s/regions/lod%u/%s", folder, key.group, name) < 0 ? NULL : path;
}

int tfs_godot_folder_around(const char *region, char **folder, struct tfs_error *err)
{
    char *above = strdup(region);

    for (int floors = 0; above != NULL && floors < 3; floors++) {
        char *directory = tfs_file_directory(above);
        free(above);
        above = directory;
    }
    char *meta = above == NULL ? NULL : tfs_godot_folder_meta_path(above);
    if (meta == NULL) {
        free(above);
        return tfs_fail_memory(err);
    }
    const bool there = access(meta, F_OK) == 0;
    free(meta);
    if (there)
        *folder = above;
    else
        free(above);
    return there;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Division that rounds down, by a power of two. */
static int32_t shift_down(int32_t v, unsigned bits)
{
    const int64_t unit = INT64_C(1) << bits;
    int64_t rest = (v % unit + unit) % unit;

    return (int32_t)((v - rest) / unit);
}

struct tfs_key tfs_godot_folder_region_of(const struct tfs_godot_meta *meta, struct tfs_key block,
                                          uint32_t *index)
{
    const unsigned bits = meta->region_po2;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    uint32_t x = (uint32_t)block.x & mask, y = (uint32_t)block.y & mask,
             z = (uint32_t)block.z & mask;

    *index = y + (mask + 1) * (x + (mask + 1) * z);
    return (struct tfs_key){block.group, shift_down(block.x, bits), shift_down(block.y, bits),
                            shift_down(block.z, bits)};
}

struct tfs_key tfs_godot_folder_block(const struct tfs_godot_region_file *file, uint32_t index)
{
    const struct tfs_godot_region *region = &file->region;
    struct tfs_key origin = {0};
    uint32_t x, y, z;

    /* Regions whose blocks had coordinates of more than 32 bits were refused. */
    tfs_godot_region_origin(region, file->file.key, &origin);
    tfs_godot_region_at(region, index, &x, &y, &z);
    return (struct tfs_key){file->file.key.group, origin.x + (int32_t)x, origin.y + (int32_t)y,
                            origin.z + (int32_t)z};
}

/* ---- one region ------------------------------------------------------------------------------ */

void tfs_godot_region_file_release(struct tfs_godot_region_file *file)
{
    free(file->slots);
    file->slots = NULL;
    file->count = 0;
}

void tfs_godot_region_file_free(struct tfs_godot_region_file *file)
{
    if (file != NULL)
        tfs_godot_region_file_release(file);
    free(file);
}

static int keep_slots(struct tfs_godot_region_file *file, const struct tfs_extent *extents,
                      struct tfs_error *err)
{
    const uint32_t entries = file->region.sectors.entries;
    size_t count = 0;

    for (uint32_t i = 0; i < entries; i++)
        count += extents[i].count > 0;
    file->slots = reallocarray(NULL, count + 1, sizeof(*file->slots));
    if (file->slots == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < entries; i++)
        if (extents[i].count > 0)
            file->slots[file->count++] = (struct tfs_godot_slot){i, extents[i]};
    return 0;
}

int tfs_godot_region_file_parse(struct tfs_span bytes, uint64_t size,
                                const struct tfs_godot_meta *meta,
                                struct tfs_godot_region_file *file, struct tfs_error *err)
{
    struct tfs_extent *extents;

    file->slots = NULL;
    file->count = 0;
    if (tfs_godot_region_parse(bytes, meta, &file->region, err) < 0 ||
        tfs_godot_region_agrees(&file->region, meta, err) < 0)
        return err->code;
    if (tfs_sectors_read(&file->region.sectors, bytes, size, &extents, err) < 0)
        return err->code;
    keep_slots(file, extents, err);
    free(extents);
    return err->code;
}

/* The first bytes of a file, at most `most`. */
static int read_front(int fd, size_t most, struct tfs_buf *out, struct tfs_error *err)
{
    uint8_t *room = tfs_buf_reserve(out, most);

    while (room != NULL && out->size < most) {
        ssize_t got = pread(fd, out->data + out->size, most - out->size, (off_t)out->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tfs_fail_errno(err, "cannot be read");
        if (got == 0)
            break;
        out->size += (size_t)got;
    }
    return tfs_buf_check(out, err);
}

/* Header and table of an open file; `key` and `st` are the caller's. */
static int read_region_file(int fd, uint64_t size, const struct tfs_godot_meta *meta,
                            struct tfs_godot_region_file *file, struct tfs_error *err)
{
    const uint64_t entries = UINT64_C(1) << 3 * meta->region_po2;
    uint64_t front = TFS_GODOT_REGION_HEADER_3 + TFS_GODOT_REGION_PALETTE + 4 * entries;
    struct tfs_buf bytes = {0};

    front = front < size ? front : size;
    if (read_front(fd, (size_t)front, &bytes, err) == 0)
        tfs_godot_region_file_parse(tfs_buf_span(&bytes), size, meta, file, err);
    tfs_buf_release(&bytes);
    return err->code;
}

const struct tfs_godot_slot *tfs_godot_region_file_slot(const struct tfs_godot_region_file *file,
                                                        uint32_t index)
{
    for (size_t low = 0, high = file->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (file->slots[middle].index == index)
            return &file->slots[middle];
        if (file->slots[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- the list of regions --------------------------------------------------------------------- */

struct tfs_godot_region_file *tfs_godot_index_find(const struct tfs_godot_index *index,
                                                   struct tfs_key key)
{
    return (struct tfs_godot_region_file *)tfs_folder_find(&index->files, key);
}

struct tfs_godot_region_file *tfs_godot_index_at(const struct tfs_godot_index *index, size_t i)
{
    return (struct tfs_godot_region_file *)index->files.files[i];
}

/* ---- reading the folder ---------------------------------------------------------------------- */

struct scan {
    const char *folder;
    bool strays;
    struct tfs_godot_index *index;
};

static int read_meta(struct scan *scan, struct tfs_error *err)
{
    char *path = tfs_godot_folder_meta_path(scan->folder);
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_error why = {0};
    struct tfs_godot_index *index = scan->index;

    if (path == NULL)
        return tfs_fail_memory(err);
    if (scan->strays)
        tfs_file_remove_strays(path);
    if (tfs_file_open(path, false, &file, &why) == 0 &&
        tfs_file_read(&file, TFS_GODOT_META_MAX, &index->meta_text, &why) == 0) {
        index->meta_st = file.st;
        tfs_godot_meta_parse(tfs_blob_span(index->meta_text), &index->meta, &why);
    }
    tfs_file_close(&file);
    free(path);
    if (why.code == 0)
        return 0;
    return tfs_fail_at(err, why.code, why.line, why.column, "its " TFS_GODOT_META_NAME " %s",
                       why.text);
}

static int read_region(struct scan *scan, struct tfs_key key, const char *name,
                       struct tfs_error *err)
{
    char *path = tfs_godot_folder_region_path(scan->folder, key);
    struct tfs_godot_region_file *file = calloc(1, sizeof(*file));
    struct tfs_file_handle handle = {.fd = -1};
    struct tfs_error why = {0};
    struct tfs_key origin;

    if (path == NULL || file == NULL) {
        free(path);
        free(file);
        return tfs_fail_memory(err);
    }
    file->file.key = key;
    if (tfs_file_open(path, false, &handle, &why) == 0) {
        file->file.st = handle.st;
        if (read_region_file(handle.fd, (uint64_t)handle.st.st_size, &scan->index->meta, file,
                             &why) == 0 &&
            !tfs_godot_region_origin(&file->region, key, &origin))
            tfs_fail(&why, -EBADMSG, "lies farther out than any coordinate");
    }
    if (why.code == 0)
        tfs_folder_add(&scan->index->files, &file->file, &why);
    if (why.code < 0) {
        tfs_godot_region_file_free(file);
        tfs_fail(err, why.code, "regions/lod%u/%s %s", key.group, name, why.text);
    }
    tfs_file_close(&handle);
    free(path);
    return err->code;
}

static int note_journal(struct scan *scan, int directory, uint32_t lod, const char *name,
                        struct tfs_error *err)
{
    char file[TFS_JOURNAL_NAME];
    struct tfs_key key;

    if (scan->index->alone != NULL || !tfs_folder_has_journal(directory, name, file) ||
        !tfs_godot_region_name_parse(file, &key) ||
        tfs_print(&scan->index->alone, "regions/lod%u/%s", lod, file) >= 0)
        return 0;
    scan->index->alone = NULL;
    return tfs_fail_memory(err);
}

/* Something in a level's directory: a region, what is left of writing one, or not ours. */
static int read_name(struct scan *scan, const char *directory, uint32_t lod, const char *name,
                     struct tfs_error *err)
{
    struct tfs_key key = {0};

    if (scan->strays && tfs_folder_remove_stray(directory, name, err) < 0)
        return err->code;
    if (!tfs_godot_region_name_parse(name, &key))
        return 0;
    key.group = lod;
    return read_region(scan, key, name, err);
}

static int read_level(struct scan *scan, uint32_t lod, struct tfs_error *err)
{
    const char *path = scan->index->watches[1 + lod].path;
    int fd = tfs_directory_open(path);
    struct dirent *entry;

    if (fd == -ENOENT || fd == -ENOTDIR)
        return 0;
    if (fd == -ELOOP)
        return tfs_fail(err, fd, "regions/lod%u: there is a link, and links lead out of the save",
                        lod);
    if (fd < 0)
        return tfs_fail(err, fd, "regions/lod%u: %s", lod, strerror(-fd));
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        close(fd);
        return tfs_fail_memory(err);
    }
    while (err->code == 0 && (errno = 0, entry = readdir(directory)) != NULL)
        if (note_journal(scan, fd, lod, entry->d_name, err) == 0)
            read_name(scan, path, lod, entry->d_name, err);
    closedir(directory);
    return err->code;
}

static int make_watches(const char *folder, struct tfs_godot_index *index, struct tfs_error *err)
{
    if (tfs_print(&index->watches[0].path, "%s/regions", folder) < 0) {
        index->watches[0].path = NULL;
        return tfs_fail_memory(err);
    }
    for (uint32_t lod = 0; lod < TFS_GODOT_LODS; lod++) {
        index->watches[1 + lod].path = level_path(folder, lod);
        if (index->watches[1 + lod].path == NULL)
            return tfs_fail_memory(err);
    }
    return 0;
}

int tfs_godot_index_read(const char *folder, bool strays, struct tfs_godot_index *index,
                         struct tfs_error *err)
{
    struct tfs_godot_index read = {0};
    struct scan scan = {folder, strays, &read};

    /* The directories are looked at first: what comes while we read is a change then. */
    if (read_meta(&scan, err) == 0 && make_watches(folder, &read, err) == 0) {
        for (size_t i = 0; i < TFS_GODOT_LODS + 1; i++)
            tfs_folder_look(read.watches[i].path, &read.watches[i].st);
        for (uint32_t lod = 0; lod < read.meta.lods && err->code == 0; lod++)
            read_level(&scan, lod, err);
    }
    if (err->code < 0)
        tfs_godot_index_release(&read);
    else
        *index = read;
    return err->code;
}

void tfs_godot_index_release(struct tfs_godot_index *index)
{
    for (size_t i = 0; i < index->files.count; i++)
        tfs_godot_region_file_free(tfs_godot_index_at(index, i));
    for (size_t i = 0; i < TFS_GODOT_LODS + 1; i++)
        free(index->watches[i].path);
    free(index->files.files);
    free(index->alone);
    tfs_blob_unref(index->meta_text);
    *index = (struct tfs_godot_index){0};
}

/* ---- changes --------------------------------------------------------------------------------- */

/* A level of the folder, for the names in its directory. */
struct level {
    const struct tfs_godot_index *index;
    uint32_t lod;
};

static bool is_unknown(const void *arg, const char *name)
{
    const struct level *level = arg;
    struct tfs_key key = {0};

    if (!tfs_godot_region_name_parse(name, &key))
        return false;
    key.group = level->lod;
    return tfs_godot_index_find(level->index, key) == NULL;
}

/* Is there a level, beside this one, that is not known? */
static bool has_unknown_level(const struct tfs_godot_index *index, uint32_t beside)
{
    struct stat st;

    for (uint32_t lod = 0; lod < TFS_GODOT_LODS; lod++)
        if (lod != beside && index->watches[1 + lod].st.st_ino == 0 &&
            lstat(index->watches[1 + lod].path, &st) == 0)
            return true;
    return false;
}

void tfs_godot_index_watch(struct tfs_godot_index *index, uint32_t lod)
{
    const struct level level = {index, lod};
    struct stat regions;

    tfs_folder_look(index->watches[0].path, &regions);
    if (!has_unknown_level(index, lod))
        index->watches[0].st = regions;
    tfs_folder_watch_again(&index->watches[1 + lod], is_unknown, &level);
}

/* A level that was not there comes by a change of regions/. */
static bool is_other_level(struct tfs_godot_index *index, uint32_t lod)
{
    const struct tfs_folder_watch *level = &index->watches[1 + lod];

    if (level->unseen)
        tfs_godot_index_watch(index, lod);
    return !level->unseen && level->st.st_ino != 0 && tfs_folder_is_other(level->path, &level->st);
}

/* Did a directory change, in which files come and go, or meta.vxrm? */
static bool is_other_folder(const char *folder, struct tfs_godot_index *index)
{
    char *path = tfs_godot_folder_meta_path(folder);
    bool changed = tfs_folder_is_other(path, &index->meta_st);

    free(path);
    for (uint32_t lod = 0; lod < TFS_GODOT_LODS && !changed; lod++)
        changed = is_other_level(index, lod);
    return changed || tfs_folder_is_other(index->watches[0].path, &index->watches[0].st);
}

static bool is_other_region(const char *folder, const struct tfs_folder_file *file)
{
    char *path = tfs_godot_folder_region_path(folder, file->key);
    bool other = tfs_folder_is_other(path, &file->st);

    free(path);
    return other;
}

bool tfs_godot_index_changed(const char *folder, struct tfs_godot_index *index)
{
    bool changed = is_other_folder(folder, index);

    for (size_t i = 0; i < index->files.count && !changed; i++)
        changed = is_other_region(folder, index->files.files[i]);
    return changed;
}

bool tfs_godot_index_changed_at(const char *folder, struct tfs_godot_index *index,
                                struct tfs_key block)
{
    uint32_t slot;
    const struct tfs_key region = tfs_godot_folder_region_of(&index->meta, block, &slot);
    const struct tfs_folder_file *file = tfs_folder_find(&index->files, region);

    return is_other_folder(folder, index) || (file != NULL && is_other_region(folder, file));
}
