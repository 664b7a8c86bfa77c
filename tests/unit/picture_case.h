/*
 * A Cosmic Reach region or a Roblox terrain in memory for tests of its pictures: chunks of a few
 * blocks, and heights that are read and written.
 */
#ifndef TFS_TESTS_PICTURE_CASE_H
#define TFS_TESTS_PICTURE_CASE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/picture_numbers.h"
#include "../lib/place_maker.h"
#include "../lib/region_maker.h"
#include "../lib/tree_files.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/roblox/roblox.h"
#include "unit.h"

#define HEIGHTMAP "heightmap.png"

static struct tree_files t;

static inline void open_region(const struct maker_region *r)
{
    struct maker_bytes bytes = {0};

    maker_region_write(r, &bytes);
    int result = tree_files_open(&t, &tfs_cosmic_reach_region, "some.cosmicreach",
                                 (struct tfs_span){bytes.data, bytes.size});
    ck_assert_msg(result == 0, "%s", t.err.text);
    maker_release(&bytes);
}

static inline void teardown(void)
{
    tree_files_close(&t);
}

static inline void read_heights(void)
{
    struct tfs_buf png = {0};

    ck_assert_msg(tree_files_get(&t, HEIGHTMAP, &png) == 0, "%s", t.err.text);
    height_picture_read(t.save, t.doc, tfs_buf_span(&png));
    tfs_buf_release(&png);
}

/* Writes `heights`. */
static inline int put_heights(enum tfs_png_type type)
{
    struct tfs_buf png = {0};

    height_picture_write(type, &png);
    int result = tree_files_put(&t, HEIGHTMAP, tfs_buf_span(&png));
    tfs_buf_release(&png);
    return result;
}

/* Sets one pixel and writes the picture. */
static inline int put_pixel(uint32_t x, uint32_t z, uint16_t height)
{
    read_heights();
    heights[z * width + x] = height;
    return put_heights(TFS_PNG_GREY16);
}

static inline uint16_t height_at(uint32_t x, uint32_t z)
{
    read_heights();
    return heights[z * width + x];
}

static inline bool file_has(const char *path, const char *text)
{
    struct tfs_buf out = {0};

    ck_assert_msg(tree_files_get(&t, path, &out) == 0, "%s", t.err.text);
    tfs_buf_u8(&out, '\0');
    bool has = strstr((const char *)out.data, text) != NULL;
    if (!has)
        fprintf(stderr, "%s: %.400s\n", path, (const char *)out.data);
    tfs_buf_release(&out);
    return has;
}

static inline void check_refused(int result, const char *sentence)
{
    ck_assert_int_eq(result, -EBADMSG);
    ck_assert_msg(strstr(t.err.text, sentence) != NULL, "%s", t.err.text);
}

/* A chunk of air but for these blocks: "x,y,z name" in local coordinates, ended by NULL. */
static inline void add_chunk(struct maker_region *r, int32_t x, int32_t y, int32_t z,
                             const char *const blocks[])
{
    const char *names[16] = {"base:air"};
    uint16_t ids[MAKER_VOXELS] = {0};
    int32_t count = 1;
    struct maker_chunk *chunk = maker_region_add(r, x, y, z);

    for (; *blocks != NULL; blocks++, count++) {
        unsigned at[3];
        int used;
        ck_assert_int_eq(sscanf(*blocks, "%u,%u,%u %n", &at[0], &at[1], &at[2], &used), 3);
        names[count] = *blocks + used;
        ids[(at[1] * 16 + at[2]) * 16 + at[0]] = (uint16_t)count;
    }
    maker_game_blocks(&chunk->body, names, count, ids, 7);
    maker_add(&chunk->body, "\1\1\0", 3);
}

static inline void open_chunk(const char *const blocks[])
{
    struct maker_region r = maker_region_init(7);

    add_chunk(&r, 0, 0, 0, blocks);
    open_region(&r);
    maker_region_release(&r);
}

#define BLOCKS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline void open_value(struct maker_bytes *bytes)
{
    int result = tree_files_open(&t, &tfs_rbx_blob_container, "some.bin",
                                 (struct tfs_span){bytes->data, bytes->size});

    ck_assert_msg(result == 0, "%s", t.err.text);
    maker_release(bytes);
}

static inline void open_place(unsigned chunks, unsigned log2, uint64_t seed)
{
    struct place_world world = {.seed = seed, .chunks = chunks, .log2 = log2};
    struct maker_bytes bytes = {0};

    place_grid(&bytes, &world);
    open_value(&bytes);
}

#endif
