/* formats/roblox/physics: the regions near voxels, against a slow and plain way to find them. */
#include <stdlib.h>
#include <string.h>

#include "../lib/place_case.h"
#include "formats/roblox/physics.h"
#include "unit.h"

static struct tfs_buf physics_of(const struct maker_bytes *grid)
{
    struct tfs_rbx_index index = {0};
    struct tfs_error err = {0};
    struct tfs_buf out = {0};

    ck_assert_int_eq(tfs_rbx_index_open(place_span(grid), &index, &err), 0);
    ck_assert_int_eq(tfs_rbx_physics_encode(&index, NULL, &out, &err), 0);
    tfs_rbx_index_release(&index);
    return out;
}

/* One chunk of edge 32 with a Grass voxel there. */
static struct maker_bytes one_voxel(uint32_t x, uint32_t y, uint32_t z)
{
    static struct place_cell cells[32768];
    struct maker_bytes grid = {0};
    const int32_t zero[3] = {0};

    memset(cells, 0, sizeof(cells));
    cells[x + 32 * z + 1024 * y] = (struct place_cell){2, 255, 0};
    place_hex(&grid, "01 05");
    place_offset(&grid, zero, zero);
    place_records(&grid, cells, 32768);
    return grid;
}

static const struct {
    uint32_t x, y, z;
    const char *physics;
} voxels[] = {
    {4, 4, 4, "02 03 00000001 000000 000000 000000 000000 00000000 00000000"},
    {0, 4, 4,
     "02 03 00000002 ff0000 ff0000 ff0000 ff0000 000000 000000 000000 010000 00000000 00000000"},
    {31, 4, 4,
     "02 03 00000002 000000 000000 000000 030000 000000 000000 000000 010000 00000000 "
     "00000000"},
};

START_TEST(physics_of_one_voxel_is_its_regions)
{
    struct maker_bytes grid = one_voxel(voxels[_i].x, voxels[_i].y, voxels[_i].z);
    struct tfs_buf out = physics_of(&grid);
    struct maker_bytes wanted = {0};

    place_hex(&wanted, voxels[_i].physics);
    ck_assert_uint_eq(out.size, wanted.size);
    ck_assert_mem_eq(out.data, wanted.data, wanted.size);
    tfs_buf_release(&out);
    maker_release(&grid);
    maker_release(&wanted);
}
END_TEST

START_TEST(physics_of_a_corner_is_eight_regions)
{
    struct maker_bytes grid = one_voxel(7, 15, 8);
    struct tfs_buf out = physics_of(&grid);

    ck_assert_uint_eq(out.size, 2 + 3 * 4 + 8 * 12);
    tfs_buf_release(&out);
    maker_release(&grid);
}
END_TEST

START_TEST(physics_of_no_voxel_is_empty)
{
    static const char *const grids[] = {"", "01 05", "01 01 000000 000000 000000 000000 80 07"};
    for (int i = 0; i < COUNT(grids); i++) {
        struct maker_bytes grid = {0};
        struct maker_bytes wanted = {0};
        place_hex(&grid, grids[i]);
        place_hex(&wanted, "02 03 00000000 00000000 00000000");
        struct tfs_buf out = physics_of(&grid);
        ck_assert_uint_eq(out.size, wanted.size);
        ck_assert_mem_eq(out.data, wanted.data, wanted.size);
        tfs_buf_release(&out);
        maker_release(&grid);
        maker_release(&wanted);
    }
}
END_TEST

/* ---- the slow way ---------------------------------------------------------------------------- */

struct region {
    int64_t x, y, z;
};

struct regions {
    struct region *items;
    size_t count, capacity;
};

static void add_region(struct regions *r, struct region region)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity * 2 + 64;
        r->items = realloc(r->items, r->capacity * sizeof(*r->items));
        ck_assert_ptr_nonnull(r->items);
    }
    r->items[r->count++] = region;
}

static int compare_regions(const void *a, const void *b)
{
    const int64_t *left = a;
    const int64_t *right = b;

    for (int i = 0; i < 3; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int64_t floor8(int64_t v)
{
    return v >= 0 ? v / 8 : -((7 - v) / 8);
}

static void add_around(struct regions *r, int64_t x, int64_t y, int64_t z)
{
    for (int64_t i = 0; i < 27; i++)
        add_region(r, (struct region){floor8(x + i % 3 - 1), floor8(y + i / 3 % 3 - 1),
                                      floor8(z + i / 9 - 1)});
}

static void slow_physics(const struct maker_bytes *grid, struct maker_bytes *out)
{
    static uint8_t materials[1 << 18];
    const struct tfs_rbx_planes planes = {{materials}};
    struct regions r = {0};
    struct tfs_rbx_index index = {0};
    struct tfs_error err = {0};
    size_t kept = 0;

    ck_assert_int_eq(tfs_rbx_index_open(place_span(grid), &index, &err), 0);
    const int64_t edge = INT64_C(1) << index.log2;
    for (size_t n = 0; n < index.count; n++) {
        const struct tfs_rbx_entry *e = &index.entries[n];
        ck_assert_int_eq(tfs_rbx_records_decode(e->records, index.log2, &planes, &err), 0);
        for (int64_t i = 0; i < edge * edge * edge; i++)
            if (materials[i] != 0)
                add_around(&r, e->position.x * edge + i % edge,
                           e->position.y * edge + i / edge / edge,
                           e->position.z * edge + i / edge % edge);
    }
    if (r.count > 0)
        qsort(r.items, r.count, sizeof(*r.items), compare_regions);
    for (size_t i = 0; i < r.count; i++)
        if (i == 0 || compare_regions(&r.items[i], &r.items[kept - 1]) != 0)
            r.items[kept++] = r.items[i];
    place_hex(out, "02 03");
    maker_s32(out, (int64_t)kept);
    int32_t last[3] = {0};
    for (size_t i = 0; i < kept; i++) {
        int32_t at[3] = {(int32_t)r.items[i].x, (int32_t)r.items[i].y, (int32_t)r.items[i].z};
        place_offset(out, last, at);
        memcpy(last, at, sizeof(at));
    }
    place_hex(out, "00000000 00000000");
    free(r.items);
    tfs_rbx_index_release(&index);
}

/* A few chunks of that edge with a few voxels each, close together and on both sides of zero. */
static struct maker_bytes sparse_grid(uint64_t seed, uint32_t log2)
{
    static struct place_cell cells[1 << 18];
    struct maker_random random = {seed};
    struct maker_bytes grid = {0};
    int32_t last[3] = {0};
    const uint32_t count = UINT32_C(1) << 3 * log2;

    maker_u8(&grid, 1);
    maker_u8(&grid, log2);
    for (int32_t i = 0; i < 8; i++) {
        int32_t at[3] = {(i & 1) - 1, (i >> 1 & 1) - 1, (i >> 2) * 3 - 1};
        memset(cells, 0, sizeof(cells));
        for (uint32_t n = maker_draw(&random, 6); n > 0; n--)
            cells[maker_draw(&random, count)].material = (uint8_t)(1 + maker_draw(&random, 60));
        place_offset(&grid, last, at);
        place_records(&grid, cells, count);
        memcpy(last, at, sizeof(at));
    }
    return grid;
}

static void check_slowly(const struct maker_bytes *grid)
{
    struct maker_bytes wanted = {0};
    struct tfs_buf out = physics_of(grid);

    slow_physics(grid, &wanted);
    ck_assert_uint_eq(out.size, wanted.size);
    ck_assert_mem_eq(out.data, wanted.data, wanted.size);
    tfs_buf_release(&out);
    maker_release(&wanted);
}

START_TEST(physics_is_what_the_slow_way_finds)
{
    struct maker_bytes grid = sparse_grid((uint64_t)_i, (uint32_t)_i % 7);

    check_slowly(&grid);
    maker_release(&grid);
}
END_TEST

START_TEST(physics_of_a_landscape_is_what_the_slow_way_finds)
{
    struct place_world world = {.seed = 7, .chunks = 6, .log2 = 5};
    struct maker_bytes grid = {0};

    place_grid(&grid, &world);
    check_slowly(&grid);
    maker_release(&grid);
}
END_TEST

/* With the memory of an earlier terrain the same is found as without. */
static void check_remembered(const struct tfs_rbx_index *now, struct tfs_rbx_physics_memory *memory)
{
    struct tfs_buf found = {0}, remembered = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_physics_encode(now, NULL, &found, &err), 0);
    ck_assert_int_eq(tfs_rbx_physics_encode(now, memory, &remembered, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&found), tfs_buf_span(&remembered)));
    tfs_buf_release(&found);
    tfs_buf_release(&remembered);
}

/* Chunk i of the landscape gets the records of chunk i + 1, as if it had been edited. */
START_TEST(physics_remembered_is_as_physics_found)
{
    struct place_world world = {.seed = 7, .chunks = 6, .log2 = 5};
    struct maker_bytes grid = {0};
    struct tfs_rbx_index terrain = {0};
    struct tfs_error err = {0};

    place_grid(&grid, &world);
    ck_assert_int_eq(tfs_rbx_index_open(place_span(&grid), &terrain, &err), 0);
    struct tfs_rbx_physics_memory memory = {.terrain = &terrain};
    for (size_t i = 0; i < terrain.count; i++) {
        struct tfs_rbx_entry entries[8];
        struct tfs_rbx_index now = {terrain.log2, true, terrain.count - 1, entries};
        memcpy(entries, terrain.entries, terrain.count * sizeof(*entries));
        entries[i].records = terrain.entries[(i + 1) % terrain.count].records;
        check_remembered(&now, &memory);
    }
    tfs_rbx_physics_memory_release(&memory);
    tfs_rbx_index_release(&terrain);
    maker_release(&grid);
}
END_TEST

/* The first chunks of a landscape are edited, from none to more than are looked at one by one. */
START_TEST(physics_remembered_follows_few_and_many_edits)
{
    struct place_world world = {.seed = 8, .chunks = 80, .log2 = 5};
    struct maker_bytes grid = {0};
    struct tfs_rbx_index terrain = {0};
    struct tfs_error err = {0};

    place_grid(&grid, &world);
    ck_assert_int_eq(tfs_rbx_index_open(place_span(&grid), &terrain, &err), 0);
    ck_assert_uint_eq(terrain.count, 80);
    struct tfs_rbx_physics_memory memory = {.terrain = &terrain};
    for (size_t edited = 0; edited <= terrain.count; edited += 10) {
        struct tfs_rbx_entry entries[80];
        struct tfs_rbx_index now = {terrain.log2, true, terrain.count, entries};
        memcpy(entries, terrain.entries, sizeof(entries));
        for (size_t i = 0; i < edited; i++)
            entries[i].records = terrain.entries[(i * 7 + 3) % terrain.count].records;
        check_remembered(&now, &memory);
    }
    tfs_rbx_physics_memory_release(&memory);
    tfs_rbx_index_release(&terrain);
    maker_release(&grid);
}
END_TEST

START_TEST(physics_of_other_versions_is_unknown)
{
    ck_assert(tfs_rbx_physics_known((struct tfs_span){0}));
    ck_assert(tfs_rbx_physics_known(tfs_span_of("\x02\x03...")));
    ck_assert(!tfs_rbx_physics_known(tfs_span_of("\x03\x03...")));
    ck_assert(!tfs_rbx_physics_known(tfs_span_of("\x02\x04...")));
    ck_assert(!tfs_rbx_physics_known(tfs_span_of("\x02")));
}
END_TEST

static Suite *physics_suite(void)
{
    Suite *suite = suite_create("roblox_physics");
    TCase *physics = unit_case(suite, "physics");

    tcase_set_timeout(physics, 60);
    tcase_add_loop_test(physics, physics_of_one_voxel_is_its_regions, 0, COUNT(voxels));
    tcase_add_test(physics, physics_of_a_corner_is_eight_regions);
    tcase_add_test(physics, physics_of_no_voxel_is_empty);
    tcase_add_loop_test(physics, physics_is_what_the_slow_way_finds, 0, 42);
    tcase_add_test(physics, physics_of_a_landscape_is_what_the_slow_way_finds);
    tcase_add_test(physics, physics_remembered_is_as_physics_found);
    tcase_add_test(physics, physics_remembered_follows_few_and_many_edits);
    tcase_add_test(physics, physics_of_other_versions_is_unknown);
    return suite;
}

UNIT_MAIN(physics_suite)
