/*
 * A world's zone on disk for tests: made of regions, opened, its files read and written by name,
 * and every edit committed.
 */
#ifndef TFS_TESTS_ZONE_CASE_H
#define TFS_TESTS_ZONE_CASE_H

#include "../lib/region_maker.h"
#include "formats/cosmic_reach/zone.h"
#include "fs/tree/tree.h"
#include "scratch.h"

static struct tfs_save *save;
static struct tfs_error err;

/* ---- the folder ------------------------------------------------------------------------------ */

#define REGIONS "zone/regions/"

static inline const char *region_name(const char *folder, int x, int y, int z)
{
    static char name[128];

    snprintf(name, sizeof(name), "%sregion_%d_%d_%d.cosmicreach", folder, x, y, z);
    return name;
}

static inline void write_bytes(const char *name, const struct maker_bytes *bytes)
{
    FILE *file = fopen(scratch_path(name), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void add_chunk(struct maker_region *region, int x, int y, int z, const char *block)
{
    struct maker_chunk *chunk = maker_region_add(region, x, y, z);

    maker_single(&chunk->body, block);
    maker_sky(&chunk->body, NULL);
    maker_u8(&chunk->body, 1);
    if (region->version > 0)
        maker_u8(&chunk->body, 0);
}

/* A region of that version with its lowest chunk and the one above it, of a block named after
 * it. */
static inline void make_region(int version, int x, int y, int z)
{
    struct maker_region region = maker_region_init(version);
    struct maker_bytes file = {0};
    char block[64];

    snprintf(block, sizeof(block), "base:r_%d_%d_%d", x, y, z);
    add_chunk(&region, 16 * x, 16 * y, 16 * z, block);
    add_chunk(&region, 16 * x, 16 * y + 1, 16 * z, block);
    maker_region_write(&region, &file);
    write_bytes(region_name(REGIONS, x, y, z), &file);
    maker_release(&file);
    maker_region_release(&region);
}

static inline void setup(void)
{
    scratch_setup();
    err = (struct tfs_error){0};
    save = NULL;
    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch_path("zone/regions"), 0755), 0);
    scratch_write("zone/zoneInfo.json", "{\"zoneId\": \"base:earth\"}");
}

static inline void teardown(void)
{
    tfs_save_close(save);
    scratch_teardown();
}

static inline int try_open(const char *name, enum tfs_lock lock, struct tfs_save **opened)
{
    const struct tfs_open_options options = {.lock = lock};

    tfs_error_reset(&err);
    return tfs_save_open(scratch_path(name), NULL, &options, opened, &err);
}

static inline void must_open(const char *name)
{
    tfs_save_close(save);
    save = NULL;
    ck_assert_msg(try_open(name, TFS_LOCK_EXCLUSIVE, &save) == 0, "%s", err.text);
}

/* Two regions along x, of versions 7 and 2, left and right of 0. */
static inline void make_zone(void)
{
    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    must_open("zone");
}

/* ---- files of the tree ----------------------------------------------------------------------- */

static inline struct tfs_node find(const char *path)
{
    struct tfs_node node;

    ck_assert_msg(tfs_tree_resolve(save, save->doc, path, false, &node) == 0, "%s", path);
    return node;
}

/* The text of a file, good until the next call. */
static inline const char *text_of(const char *path)
{
    static struct tfs_buf text;
    const struct tfs_node node = find(path);

    text.size = 0;
    int status = tfs_node_file(save, &node)
                     ->lens->get(save, save->doc, tfs_node_at(save, &node), &text, &err);
    ck_assert_msg(status == 0, "%s: %s", path, err.text);
    tfs_buf_u8(&text, 0);
    return (const char *)text.data;
}

static struct tfs_edit edit;

static inline void begin(void)
{
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
}

/* Commits the edit if `status` says that it went well. */
static inline int end(int status)
{
    struct tfs_doc *doc = status == 0 ? tfs_edit_finish(&edit) : NULL;

    tfs_edit_release(&edit);
    if (doc != NULL)
        status = save->container->commit(save, doc, &err);
    tfs_doc_unref(doc);
    return status;
}

static inline int put_text(const char *path, const char *text)
{
    const struct tfs_node node = find(path);
    struct tfs_put put = {0};

    begin();
    return end(
        tfs_node_file(save, &node)
            ->lens->put(save, &edit, tfs_node_at(save, &node), tfs_span_of(text), &put, &err));
}

static inline int create(int x, int y, int z)
{
    begin();
    return end(tfs_chunk_create(save, &edit, (struct tfs_key){0, x, y, z}, &err));
}

static inline int move(struct tfs_key from, struct tfs_key to)
{
    begin();
    return end(tfs_chunk_move(save, &edit, from, to, &err));
}

static inline int drop(int x, int y, int z)
{
    begin();
    return end(tfs_chunk_remove(save, &edit, (struct tfs_key){0, x, y, z}, &err));
}

static inline bool has(int x, int y, int z)
{
    return tfs_doc_find(save->doc, (struct tfs_key){0, x, y, z}) != NULL;
}

static inline bool exists(int x, int y, int z)
{
    return access(scratch_path(region_name(REGIONS, x, y, z)), F_OK) == 0;
}

static inline ino_t inode_of(int x, int y, int z)
{
    struct stat st;

    ck_assert_int_eq(stat(scratch_path(region_name(REGIONS, x, y, z)), &st), 0);
    return st.st_ino;
}

static inline bool changed(void)
{
    return save->container->changed(save, NULL, &err) == 1;
}

static inline void reload(void)
{
    ck_assert_msg(save->container->reload(save, &err) == 0, "%s", err.text);
}

#endif
