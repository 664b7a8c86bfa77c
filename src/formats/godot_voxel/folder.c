/*
 * A folder of regions: which names are its files, where their blocks are, and what a region is that
 * is not there yet. All else is formats/containers/folder.h.
 *
 * Must not know blocks.
 */
#include "formats/godot_voxel/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/print.h"
#include "formats/godot_voxel/counts.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "formats/views/info.h"
#include "formats/containers/several_saves.h"
#include "formats/containers/sectors.h"
#include "text/decimal.h"

#define LOD "regions/lod"

struct folder_facts {
    struct tfs_godot_rules rules; /* first */
    struct tfs_godot_meta meta;
};

/* tfs_folder_file.own of a region. */
struct region_own {
    struct tfs_godot_region region;
    uint8_t palette[TFS_GODOT_REGION_PALETTE];
};

static struct folder_facts *facts_of(const struct tfs_facts *facts)
{
    return facts->own;
}

/* The text of meta.vxrm. */
static struct tfs_blob *meta_text(const struct tfs_doc *doc)
{
    return doc->common;
}

/* ---- facts ----------------------------------------------------------------------------------- */

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
    const struct tfs_blob *text = meta_text(edit->base);
    struct tfs_blob *newer = NULL;
    struct tfs_buf out = {0};

    /* Of one region alone only the blocks become new: the other regions stay as meta.vxrm says. */
    if (facts->meta.version == TFS_GODOT_REGION_VERSION_MAX || edit->base->facts->folder->narrow)
        return 0;
    if (tfs_godot_meta_upgrade(tfs_blob_span(text), &out, err) == 0 &&
        tfs_blob_take(&out, &newer, err) == 0)
        tfs_edit_common(edit, newer);
    tfs_blob_unref(newer);
    tfs_buf_release(&out);
    return err->code;
}

/* No edit changes palettes, so the file's palette is the document's. */
static int palette(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                   uint8_t colours[TFS_GODOT_REGION_PALETTE], struct tfs_error *err)
{
    const struct tfs_folder_file *file = tfs_folder_file_of(doc, key);
    const struct region_own *own = file == NULL ? NULL : file->own;

    (void)save;
    (void)err;
    if (own == NULL || !own->region.palette)
        return 0;
    memcpy(colours, own->palette, TFS_GODOT_REGION_PALETTE);
    return 1;
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
                                          .palette = palette,
                                          .describe = describe};
    memcpy(own->rules.depths, meta->depths, sizeof(own->rules.depths));
    return 0;
}

static int folder_facts(const struct tfs_save *save, struct tfs_blob *common,
                        struct tfs_facts **facts, struct tfs_error *err)
{
    struct tfs_godot_meta meta;
    struct tfs_error why = {0};

    (void)save;
    if (tfs_godot_meta_parse(tfs_blob_span(common), &meta, &why) < 0)
        return tfs_fail_at(err, why.code, why.line, why.column, "its " TFS_GODOT_META_NAME " %s",
                           why.text);
    return make_facts(&meta, facts, err);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool directory(const struct tfs_facts *facts, unsigned i, char path[TFS_FOLDER_PATH])
{
    snprintf(path, TFS_FOLDER_PATH, LOD "%u", i);
    return i < facts_of(facts)->meta.lods;
}

static bool region_key(const char *path, struct tfs_key *region)
{
    const char *at = strncmp(path, LOD, sizeof(LOD) - 1) == 0 ? path + sizeof(LOD) - 1 : NULL;
    int64_t lod;

    if (at == NULL || !tfs_decimal_take(&at, '/', 0, TFS_GODOT_LODS - 1, &lod) ||
        !tfs_godot_region_name_parse(at, region))
        return false;
    region->group = (uint32_t)lod;
    return true;
}

static void region_path(struct tfs_key region, char path[TFS_FOLDER_PATH])
{
    char name[TFS_GODOT_REGION_NAME];

    tfs_godot_region_name(region, name);
    snprintf(path, TFS_FOLDER_PATH, LOD "%u/%s", region.group, name);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Division that rounds down, by a power of two. */
static int32_t shift_down(int32_t v, unsigned bits)
{
    const int64_t unit = INT64_C(1) << bits;
    int64_t rest = (v % unit + unit) % unit;

    return (int32_t)((v - rest) / unit);
}

static struct tfs_key file_of(const struct tfs_facts *facts, struct tfs_key block, uint32_t *index)
{
    const unsigned bits = facts_of(facts)->meta.region_po2;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    uint32_t x = (uint32_t)block.x & mask, y = (uint32_t)block.y & mask,
             z = (uint32_t)block.z & mask;

    *index = y + (mask + 1) * (x + (mask + 1) * z);
    return (struct tfs_key){block.group, shift_down(block.x, bits), shift_down(block.y, bits),
                            shift_down(block.z, bits)};
}

/* Regions whose blocks had coordinates of more than 32 bits were refused. */
static struct tfs_key chunk_of(const struct tfs_facts *facts, struct tfs_key file, uint32_t index)
{
    const unsigned bits = facts_of(facts)->meta.region_po2;
    const int64_t side = INT64_C(1) << bits;

    return (struct tfs_key){file.group, (int32_t)(file.x * side + (index >> bits) % side),
                            (int32_t)(file.y * side + index % side),
                            (int32_t)(file.z * side + (index >> 2 * bits))};
}

/* ---- regions --------------------------------------------------------------------------------- */

static int keep_slots(struct tfs_folder_file *file, const struct tfs_sectors *sectors,
                      const struct tfs_extent *extents, uint64_t size, struct tfs_error *err)
{
    size_t count = 0;

    for (uint32_t i = 0; i < sectors->entries; i++)
        count += extents[i].count > 0;
    file->slots = reallocarray(NULL, count + 1, sizeof(*file->slots));
    if (file->slots == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < sectors->entries; i++)
        if (extents[i].count > 0)
            file->slots[file->count++] = (struct tfs_folder_slot){
                .offset = tfs_extent_offset(sectors, extents[i]),
                .size = (uint32_t)tfs_extent_size(sectors, extents[i], size),
                .index = i};
    return 0;
}

/* Header and table, at the beginning of a file of `size` bytes. */
static int parse(const struct folder_facts *facts, struct tfs_span bytes, uint64_t size,
                 struct tfs_folder_file *file, struct tfs_error *why)
{
    struct region_own *own = file->own;
    struct tfs_extent *extents;
    struct tfs_key origin;

    if (tfs_godot_region_parse(bytes, &facts->meta, &own->region, why) < 0 ||
        tfs_godot_region_agrees(&own->region, &facts->meta, why) < 0 ||
        tfs_sectors_read(&own->region.sectors, bytes, size, &extents, why) < 0)
        return why->code;
    if (!tfs_godot_region_origin(&own->region, file->key, &origin))
        tfs_fail(why, -EBADMSG, "lies farther out than any coordinate");
    else
        keep_slots(file, &own->region.sectors, extents, size, why);
    if (own->region.palette)
        memcpy(own->palette, bytes.data + TFS_GODOT_REGION_HEADER_3, sizeof(own->palette));
    free(extents);
    return why->code;
}

/* The first bytes of a file, at most `most`. */
static int read_front(int fd, size_t most, struct tfs_buf *out, struct tfs_error *why)
{
    uint8_t *room = tfs_buf_reserve(out, most);
    const ssize_t got = room == NULL ? 0 : tfs_file_read_at(fd, 0, room, most);

    if (got < 0)
        return tfs_fail(why, (int)got, "cannot be read: %s", strerror((int)-got));
    out->size = (size_t)got;
    return tfs_buf_check(out, why);
}

static int region_look(const struct tfs_facts *facts, const struct tfs_file_handle *handle,
                       struct tfs_folder_file *file, struct tfs_error *why)
{
    const uint64_t entries = UINT64_C(1) << 3 * facts_of(facts)->meta.region_po2;
    const uint64_t size = (uint64_t)handle->st.st_size;
    uint64_t front = TFS_GODOT_REGION_HEADER_3 + TFS_GODOT_REGION_PALETTE + 4 * entries;
    struct tfs_buf bytes = {0};

    front = front < size ? front : size;
    if (read_front(handle->fd, (size_t)front, &bytes, why) == 0)
        parse(facts_of(facts), tfs_buf_span(&bytes), size, file, why);
    tfs_buf_release(&bytes);
    return why->code;
}

/* A block whose size does not fit its sectors is all that they hold; it will not decode, and shows
 * that. */
static int region_stored(const struct tfs_save *save, const struct tfs_folder_file *file,
                         struct tfs_buf *bytes, struct tfs_error *err)
{
    const struct tfs_span stored = tfs_sectors_block(tfs_buf_span(bytes));

    (void)save;
    (void)file;
    (void)err;
    memmove(bytes->data, stored.data, stored.size);
    bytes->size = stored.size;
    return 0;
}

static int region_blank(struct tfs_save *save, struct tfs_key file, struct tfs_doc **doc,
                        struct tfs_error *err)
{
    return tfs_godot_region_blank(&facts_of(save->doc->facts)->meta, file, doc, err);
}

static bool region_is_old(const struct tfs_folder_file *file)
{
    return ((const struct region_own *)file->own)->region.version < TFS_GODOT_REGION_VERSION_MAX;
}

static int region_renew(const struct tfs_facts *folder, bool newer, struct tfs_edit *edit,
                        struct tfs_error *err)
{
    return newer || facts_of(folder)->meta.version == TFS_GODOT_REGION_VERSION_MAX
               ? tfs_godot_region_renew(edit, err)
               : 0;
}

static const struct tfs_folder_kind kind = {.file = &tfs_godot_region_container,
                                            .common = TFS_GODOT_META_NAME,
                                            .needed = true,
                                            .keeps_empty = true,
                                            .own_size = sizeof(struct region_own),
                                            .facts = folder_facts,
                                            .directory = directory,
                                            .key = region_key,
                                            .path = region_path,
                                            .file_of = file_of,
                                            .chunk_of = chunk_of,
                                            .look = region_look,
                                            .stored = region_stored,
                                            .blank = region_blank,
                                            .is_old = region_is_old,
                                            .renew = region_renew};

/* ---- the container --------------------------------------------------------------------------- */

static char *meta_path(const char *folder)
{
    char *path = NULL;

    return tfs_print(&path, "%s/" TFS_GODOT_META_NAME, folder) < 0 ? NULL : path;
}

/* The folder that a region is in; NULL: in none. */
static int find_around(const char *region, char **folder, struct tfs_error *err)
{
    const char *below = region + strlen(region);
    struct tfs_key key;

    for (int floors = 0; floors < 3 && below > region; floors++)
        while (below > region && *--below != '/')
            continue;
    if (below == region || !region_key(below + 1, &key))
        return 0;
    char *above = strndup(region, (size_t)(below - region));
    char *meta = above == NULL ? NULL : meta_path(above);
    if (meta == NULL)
        tfs_fail_memory(err);
    else if (access(meta, F_OK) == 0)
        *folder = above;
    if (*folder == NULL)
        free(above);
    free(meta);
    return err->code;
}

/* meta.vxrm and a region mean the folder around them. */
static int find_folder(const char *path, struct tfs_parts *parts, struct tfs_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = NULL;

    if (strcmp(slash == NULL ? path : slash + 1, TFS_GODOT_META_NAME) == 0)
        return tfs_parts_add(parts, strdup(""), tfs_file_directory(path), err);
    if (find_around(path, &folder, err) < 0 || folder == NULL)
        return err->code;
    return tfs_parts_add(parts, strdup(""), folder, err);
}

static int folder_open(struct tfs_save *save, struct tfs_error *err)
{
    if (tfs_godot_cache_create(save, err) == 0 && tfs_folder_open(save, err) < 0)
        tfs_godot_cache_free(save);
    return err->code;
}

static void folder_close(struct tfs_save *save)
{
    tfs_godot_cache_free(save);
    tfs_folder_close(save);
}

/* meta.vxrm, and palettes: of regions that come and go without one nothing changes. */
static int rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err)
{
    const struct tfs_folder_files *files = &save->doc->facts->folder->files;

    (void)err;
    *checksum = tfs_checksum(tfs_blob_span(meta_text(save->doc)), 0);
    for (size_t i = 0; i < files->count; i++) {
        const struct tfs_key key = files->files[i]->key;
        const struct region_own *own = files->files[i]->own;
        const struct tfs_span place = {(const uint8_t *)&key, sizeof(key)};
        if (own->region.palette)
            *checksum ^= tfs_checksum((struct tfs_span){own->palette, sizeof(own->palette)},
                                      tfs_checksum(place, 0));
    }
    return 0;
}

static int folder_probe(const struct tfs_probe *probe)
{
    struct stat st;
    char *path;

    if (S_ISREG(probe->st.st_mode))
        return TFS_BID_NONE;
    path = meta_path(probe->path);
    if (path == NULL)
        return -ENOMEM;
    bool there = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    free(path);
    return there ? TFS_BID_CERTAIN : TFS_BID_NONE;
}

static const struct tfs_journal_files journal = {.name = TFS_GODOT_META_NAME, TFS_FOLDER_JOURNAL};

const struct tfs_container tfs_godot_folder_container = {
    .format = "godot_voxel",
    .name = "region folder",
    .tree = &tfs_godot_region_tree,
    .probe = folder_probe,
    .saves = find_folder,
    TFS_FOLDER_FUNCTIONS(folder_open, folder_close),
    .journal = &journal,
    .files = &kind,
    .rest = rest,
};
