/* fs/tree: names, listings and ids over a toy schema with groups, a family, subdirectories,
 * options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "formats/views/views.h"
#include "fs/tree/tree.h"
#include "unit.h"

/*
 * The toy: a tag of 1 says that a chunk has lights/sky.txt, 2 that nobody knows now; the size of
 * what is common is the number of masks in layers/, and CORNERS more make extra/corners.png and
 * relief.png exist.
 */
#define CORNERS 10

static int sky_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    const uint32_t tag = tfs_doc_find(doc, at.key)->tag;
    return tag == 2 ? -EBUSY : tag == 1;
}

static int corners_exist(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    (void)at;
    return tfs_blob_span(doc->common).size >= CORNERS;
}

static uint32_t mask_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    (void)tree;
    return (uint32_t)tfs_blob_span(doc->common).size % CORNERS;
}

static void mask_name(const struct tfs_tree *tree, const struct tfs_doc *doc, uint32_t member,
                      struct tfs_buf *out)
{
    (void)tree, (void)doc;
    tfs_buf_printf(out, "%02u_mask.png", member);
}

static int put_nothing(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    (void)save, (void)edit, (void)at, (void)text, (void)put, (void)err;
    return 0;
}

/* The toy's table says what sdf.txt says of chunks with tag 1. */
static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    static uint8_t value;
    (void)wanted, (void)err;
    cells->planes[0].values = &value;
    cells->planes[0].filled = cells->chunk.tag != 1;
    return 0;
}

static const struct tfs_plane planes[] = {{.name = "sdf", .form = {.width = 1}}};
static const struct tfs_cells_kind cells = {
    .planes = planes, .count = 1, .size = {1, 1, 1}, .decode = decode};

static const struct tfs_family mask_family = {.name = mask_name};
static const struct tfs_lens read_only_lens = {.put = NULL};
static const struct tfs_lens plain_lens = {.put = put_nothing};
static const struct tfs_lens sdf_lens = {.param = &tfs_plane_numbers[0], .put = put_nothing};
static const struct tfs_lens sky_lens = {.put = put_nothing, .exists = sky_exists};
static const struct tfs_lens corners_lens = {.put = put_nothing, .exists = corners_exist};

static uint32_t relief_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    (void)tree;
    return tfs_blob_span(doc->common).size >= CORNERS;
}

static const struct tfs_file root_files[] = {
    {.path = "info.txt", .lens = &read_only_lens},
    {.path = "layers/", .lens = &plain_lens, .count = mask_count, .family = &mask_family},
    {.path = "palette.txt", .lens = &plain_lens, .views = TFS_VIEWS_VOXELS},
    {.path = "extra/corners.png", .flags = TFS_FILE_OPTIONAL, .lens = &corners_lens},
    {.path = "relief.png", .lens = &plain_lens, .count = relief_count},
};

static const struct tfs_file chunk_files[] = {
    {.path = "raw.bin", .flags = TFS_FILE_RAW, .lens = &plain_lens, .views = TFS_VIEWS_RAW},
    {.path = "blocks.txt", .lens = &plain_lens, .views = TFS_VIEWS_GRIDS},
    {.path = "lights/sky.txt",
     .flags = TFS_FILE_OPTIONAL,
     .lens = &sky_lens,
     .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS},
    {.path = "lights/block.txt", .flags = TFS_FILE_OPTIONAL, .lens = &sky_lens},
    {.path = "channels/sdf.txt",
     .flags = TFS_FILE_FILLED,
     .lens = &sdf_lens,
     .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS},
};

static uint32_t five_groups(const struct tfs_doc *doc)
{
    (void)doc;
    return 5;
}

static const struct tfs_tree toy = {
    .root = {root_files, 5},
    .chunk = {chunk_files, 5},
    .group_dir = "lods",
    .groups = five_groups,
    .cells = &cells,
};
static const struct tfs_tree toy_regions = {
    .group_dir = "regions", .groups = five_groups, .fixed_groups = true};
static const struct tfs_tree toy_flat = {.root.count = 0};

static struct tfs_save save;
static struct tfs_doc *doc;

/* Chunk 0,0,0 has lights, -3,0,7 has none, 2,1,0 is damaged; group 2 has two chunks, of which
 * 5,0,0 cannot be looked into now, group 4 one. */
static const struct tfs_chunk chunks[] = {
    {.key = {0, 0, 0, 0}, .slot = TFS_SLOT_NONE, .tag = 1},
    {.key = {0, -3, 0, 7}, .slot = TFS_SLOT_NONE},
    {.key = {0, 2, 1, 0}, .slot = TFS_SLOT_NONE, .flags = TFS_CHUNK_DAMAGED},
    {.key = {2, 5, 0, 0}, .slot = TFS_SLOT_NONE, .tag = 2},
    {.key = {2, 4, 0, 0}, .slot = TFS_SLOT_NONE},
    {.key = {4, 0, 0, 0}, .slot = TFS_SLOT_NONE},
};

static void make_doc(size_t count, unsigned masks, bool corners)
{
    struct tfs_error err = {0};
    struct tfs_facts *facts;
    struct tfs_doc *empty;
    struct tfs_blob *blob;
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_facts_create(0, &facts, &err), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &empty, &err), 0);
    ck_assert_int_eq(tfs_edit_open(empty, &edit, &err), 0);
    ck_assert_int_eq(tfs_blob_copy((struct tfs_span){(const uint8_t *)"0123456789012345678",
                                                     masks + (corners ? CORNERS : 0)},
                                   &blob, &err),
                     0);
    for (size_t i = 0; i < count; i++) {
        struct tfs_chunk chunk = chunks[i];

        chunk.blob = blob;
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    }
    tfs_edit_common(&edit, blob);
    doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_blob_unref(blob);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
}

static void setup(void)
{
    struct tfs_error err = {0};

    save = (struct tfs_save){.tree = &toy};
    ck_assert_int_eq(tfs_save_caches_make(&save, &err), 0);
    make_doc(6, 2, true);
}

static void teardown(void)
{
    tfs_save_caches_free(&save);
    tfs_doc_unref(doc);
}

/* The node of a path; the test fails when it is absent. */
static struct tfs_node node_of(const char *path)
{
    struct tfs_node node;

    ck_assert_msg(tfs_tree_resolve(&save, doc, path, false, &node) == 0, "no node %s", path);
    return node;
}

/* All entries of a directory, each followed by a blank. */
static const char *listing(const char *path)
{
    static char text[4096];
    struct tfs_node dir = node_of(path), node;
    struct tfs_buf out = {0};
    size_t index = 0, next;

    while (tfs_tree_entry(&save, doc, &dir, index, &next, &node) == 1) {
        ck_assert_uint_gt(next, index);
        tfs_tree_name(&save, doc, &node, &out);
        tfs_buf_add_text(&out, tfs_node_is_directory(&node) ? "/ " : " ");
        index = next;
    }
    ck_assert_uint_lt(out.size, sizeof(text));
    snprintf(text, sizeof(text), "%.*s", (int)out.size, out.data ? (const char *)out.data : "");
    tfs_buf_release(&out);
    return text;
}

START_TEST(tree_lists_files_in_schema_order_and_directories_behind_them)
{
    ck_assert_str_eq(listing(""), "info.txt palette.txt relief.png chunks/ lods/ layers/ extra/ ");
    ck_assert_str_eq(listing("layers"), "00_mask.png 01_mask.png ");
    ck_assert_str_eq(listing("extra"), "corners.png ");
    ck_assert_str_eq(listing("chunks/0_0_0"), "raw.bin blocks.txt lights/ channels/ ");
    ck_assert_str_eq(listing("chunks/0_0_0/lights"), "sky.txt block.txt ");
    ck_assert_str_eq(listing("chunks/0_0_0/channels"), "sdf.txt ");
}
END_TEST

START_TEST(tree_lists_chunks_in_document_order)
{
    ck_assert_str_eq(listing("chunks"), "0_0_0/ -3_0_7/ 2_1_0/ ");
    ck_assert_str_eq(listing("lods/2/chunks"), "4_0_0/ 5_0_0/ ");
}
END_TEST

START_TEST(tree_lists_only_groups_that_exist)
{
    ck_assert_str_eq(listing("lods"), "2/ 4/ ");
    ck_assert_str_eq(listing("lods/2"), "chunks/ ");
}
END_TEST

START_TEST(tree_labels_groups_as_the_format_says)
{
    save.tree = &toy_regions;
    ck_assert_str_eq(listing("regions"), "0/ 1/ 2/ 3/ ");
    ck_assert_str_eq(listing("regions/0/chunks"), "");
    ck_assert_str_eq(listing("regions/1/chunks"), "4_0_0/ 5_0_0/ ");
}
END_TEST

START_TEST(tree_keeps_chunks_directory_of_an_empty_save_and_hides_the_rest)
{
    struct tfs_node node;

    tfs_doc_unref(doc);
    make_doc(0, 0, false);
    ck_assert_str_eq(listing(""), "info.txt palette.txt chunks/ ");
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "extra/corners.png", false, &node), 0);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "relief.png", false, &node), -ENOENT);
    ck_assert_str_eq(listing("chunks"), "");
    save.tree = &toy_flat;
    ck_assert_str_eq(listing(""), "chunks/ ");
}
END_TEST

START_TEST(tree_keeps_subdirectory_of_a_chunk_without_its_files)
{
    ck_assert_str_eq(listing("chunks/-3_0_7"), "raw.bin blocks.txt lights/ channels/ ");
    ck_assert_str_eq(listing("chunks/-3_0_7/lights"), "");
}
END_TEST

START_TEST(tree_shows_only_raw_of_a_damaged_chunk)
{
    struct tfs_node node;

    ck_assert_str_eq(listing("chunks/2_1_0"), "raw.bin ");
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "chunks/2_1_0/raw.bin", true, &node), 0);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "chunks/2_1_0/blocks.txt", true, &node), -ENOENT);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "chunks/2_1_0/lights", true, &node), -ENOENT);
}
END_TEST

START_TEST(tree_shows_the_files_of_the_sets_that_were_chosen)
{
    save.options.views = TFS_VIEWS_GRIDS;
    ck_assert_str_eq(listing(""), "chunks/ lods/ ");
    ck_assert_str_eq(listing("chunks/0_0_0"), "blocks.txt lights/ channels/ ");
    ck_assert_str_eq(listing("chunks/0_0_0/lights"), "sky.txt ");
    save.options.views = TFS_VIEWS_RAW;
    ck_assert_str_eq(listing("chunks/0_0_0"), "raw.bin ");
    save.options.views = TFS_VIEWS_RAW | TFS_VIEWS_GRIDS;
    ck_assert_str_eq(listing("chunks/0_0_0"), "raw.bin blocks.txt lights/ channels/ ");
    save.options.views = TFS_VIEWS_RAW | TFS_VIEWS_ALL;
    ck_assert_str_eq(listing("chunks/0_0_0/lights"), "sky.txt block.txt ");
}
END_TEST

START_TEST(tree_shows_what_the_table_does_not_say)
{
    save.options.views = TFS_VIEWS_VOXELS;
    ck_assert_str_eq(listing(""), "palette.txt chunks/ lods/ ");
    ck_assert_str_eq(listing("chunks/0_0_0/channels"), "");
    ck_assert_str_eq(listing("chunks/-3_0_7/channels"), "sdf.txt ");
    save.options.views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS;
    ck_assert_str_eq(listing("chunks/0_0_0/channels"), "sdf.txt ");
}
END_TEST

START_TEST(tree_shows_stored_bytes_of_a_damaged_chunk_in_every_set)
{
    save.options.views = TFS_VIEWS_GRIDS;
    ck_assert_str_eq(listing("chunks/2_1_0"), "raw.bin ");
}
END_TEST

START_TEST(tree_tells_names_that_are_left_out_from_unknown_ones)
{
    struct tfs_node node;

    save.options.views = TFS_VIEWS_RAW;
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "chunks/0_0_0/blocks.txt", true, &node), -ENOENT);
    node = node_of("chunks/0_0_0/blocks.txt");
    ck_assert(tfs_node_is_left_out(&save, &node));
    node = node_of("chunks/0_0_0/lights");
    ck_assert(tfs_node_is_left_out(&save, &node));
    node = node_of("chunks/0_0_0/raw.bin");
    ck_assert(!tfs_node_is_left_out(&save, &node));
    node = node_of("chunks/0_0_0");
    ck_assert(!tfs_node_is_left_out(&save, &node));
    save.options.views = TFS_VIEWS_VOXELS;
    node = node_of("chunks/0_0_0/channels/sdf.txt");
    ck_assert(!tfs_node_is_left_out(&save, &node));
}
END_TEST

static const struct {
    const char *path;
    int present, absent_too; /* with must_exist, without */
} lookups[] = {
    {"", 0, 0},
    {"info.txt", 0, 0},
    {"layers", 0, 0},
    {"layers/01_mask.png", 0, 0},
    {"layers/02_mask.png", -ENOENT, -ENOENT},
    {"layers/", 0, 0},
    {"chunks/0_0_0/lights/sky.txt", 0, 0},
    {"chunks/-3_0_7/lights/sky.txt", -ENOENT, 0},
    {"chunks/-3_0_7/lights", 0, 0},
    {"chunks/0_0_0/sky.txt", -ENOENT, -ENOENT},
    {"chunks/0_0_0/lights/blocks.txt", -ENOENT, -ENOENT},
    {"chunks/0_0_0/chunks", -ENOENT, -ENOENT},
    {"chunks/0_0_0/info.txt", -ENOENT, -ENOENT},
    {"chunks/1_0_0", -ENOENT, -ENOENT},
    {"chunks/00_0_0", -ENOENT, -ENOENT},
    {"lods/4/chunks/0_0_0/raw.bin", 0, 0},
    {"lods/4/chunks/1_0_0", -ENOENT, -ENOENT},
    {"lods/3", -ENOENT, 0},
    {"lods/3/chunks", -ENOENT, 0},
    {"lods/3/chunks/0_0_0", -ENOENT, -ENOENT},
    {"lods/0", -ENOENT, -ENOENT},
    {"lods/4/raw.bin", -ENOENT, -ENOENT},
    {"info.txt/x", -ENOTDIR, -ENOTDIR},
    {".terrainfs", -ENOENT, -ENOENT},
    {"nosuch/file", -ENOENT, -ENOENT},
};

START_TEST(tree_finds_what_is_there_and_names_of_the_schema_that_are_not)
{
    struct tfs_node node;

    ck_assert_int_eq(tfs_tree_resolve(&save, doc, lookups[_i].path, true, &node),
                     lookups[_i].present);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, lookups[_i].path, false, &node),
                     lookups[_i].absent_too);
}
END_TEST

START_TEST(tree_refuses_names_longer_than_any_name)
{
    char path[400];
    struct tfs_node node;

    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, path, false, &node), -ENOENT);
}
END_TEST

static const char *const paths[] = {
    "",
    "info.txt",
    "layers",
    "layers/01_mask.png",
    "extra/corners.png",
    "chunks",
    "chunks/-3_0_7",
    "chunks/0_0_0/raw.bin",
    "chunks/0_0_0/lights",
    "chunks/0_0_0/lights/block.txt",
    "chunks/0_0_0/channels",
    "lods",
    "lods/2",
    "lods/2/chunks",
    "lods/2/chunks/5_0_0/channels/sdf.txt",
};
#define PATHS (sizeof(paths) / sizeof(paths[0]))

START_TEST(tree_gives_back_the_path_that_was_resolved)
{
    struct tfs_node node = node_of(paths[_i]);
    struct tfs_buf out = {0};

    tfs_tree_path(&save, doc, &node, &out);
    tfs_buf_u8(&out, 0);
    ck_assert_str_eq((const char *)out.data, paths[_i]);
    tfs_buf_release(&out);
}
END_TEST

START_TEST(tree_root_is_its_own_parent)
{
    struct tfs_node root = node_of(""), parent = tfs_tree_parent(&save, &root);

    ck_assert(tfs_node_is_directory(&parent));
    ck_assert(tfs_node_same(&parent, &root));
}
END_TEST

START_TEST(tree_parent_holds_the_node)
{
    struct tfs_node node = node_of(paths[_i]), parent = tfs_tree_parent(&save, &node), found;
    struct tfs_buf name = {0};

    ck_assert(tfs_node_is_directory(&parent));
    tfs_tree_name(&save, doc, &node, &name);
    tfs_buf_u8(&name, 0);
    ck_assert_int_eq(tfs_tree_lookup(&save, doc, &parent, (const char *)name.data, true, &found),
                     0);
    ck_assert(tfs_node_same(&found, &node));
    tfs_buf_release(&name);
}
END_TEST

START_TEST(tree_ids_are_distinct_and_lead_back)
{
    uint64_t ids[PATHS];

    for (size_t i = 0; i < PATHS; i++) {
        struct tfs_node node = node_of(paths[i]), back;

        ids[i] = tfs_node_id(&node);
        ck_assert_uint_ne(ids[i], 0);
        ck_assert_uint_lt(ids[i], TFS_ID_TABLE);
        ck_assert(tfs_node_of_id(ids[i], &back));
        if (back.scope == TFS_SCOPE_CHUNK)
            back.key = node.key;
        ck_assert(tfs_node_same(&back, &node));
        ck_assert_int_eq(back.file, node.file);
        ck_assert_uint_eq(back.member, node.member);
        ck_assert_uint_eq(back.directory, node.directory);
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(ids[i], ids[j]);
    }
    ck_assert_uint_eq(ids[0], 1);
}
END_TEST

START_TEST(tree_gives_raw_the_lowest_id_of_a_chunks_files)
{
    struct tfs_node raw = node_of("chunks/0_0_0/raw.bin");

    for (int i = 1; i < 5; i++) {
        struct tfs_node other = raw;

        other.file = i;
        ck_assert_uint_lt(tfs_node_id(&raw), tfs_node_id(&other));
    }
}
END_TEST

START_TEST(tree_ids_hold_members_beyond_the_low_bits)
{
    struct tfs_node node = {.file = 1, .member = 70000}, back;

    ck_assert(tfs_node_of_id(tfs_node_id(&node), &back));
    ck_assert_uint_eq(back.member, 70000);
    ck_assert_int_eq(back.file, 1);
}
END_TEST

START_TEST(tree_refuses_ids_that_it_never_gives)
{
    static const uint64_t wrong[] = {
        0,
        2,
        UINT64_C(1) << 48,
        UINT64_C(1) << 60,            /* the root's top directory is 1 */
        (UINT64_C(1) << 60) + 0x8000, /* a top directory with a directory's number */
        (UINT64_C(1) << 60) + 40,     /* more files than a schema has */
        TFS_ID_TABLE,
        TFS_ID_TABLE + 1,
        UINT64_MAX,
    };
    struct tfs_node node;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!tfs_node_of_id(wrong[i], &node), "id %#jx", (uintmax_t)wrong[i]);
}
END_TEST

START_TEST(tree_node_is_gone_with_its_chunk_even_when_another_takes_the_place)
{
    struct tfs_node node = node_of("chunks/0_0_0/blocks.txt"), stranger = node;

    ck_assert(tfs_node_exists(&save, doc, &node));
    stranger.slot += 100;
    ck_assert(!tfs_node_exists(&save, doc, &stranger));
    ck_assert(!tfs_node_writable(&save, doc, &stranger));
    stranger = node;
    stranger.key.x = 99;
    ck_assert(!tfs_node_exists(&save, doc, &stranger));
}
END_TEST

START_TEST(tree_says_that_it_does_not_know_now_instead_of_absent)
{
    const char *const path = "lods/2/chunks/5_0_0/lights/sky.txt";
    struct tfs_node dir = node_of("lods/2/chunks/5_0_0/lights"), node = node_of(path);
    size_t next;

    ck_assert_int_eq(tfs_node_exists(&save, doc, &node), -EBUSY);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, path, true, &node), -EBUSY);
    ck_assert_int_eq(tfs_tree_entry(&save, doc, &dir, 0, &next, &node), -EBUSY);
    ck_assert_int_eq(tfs_tree_name_of_schema(&save, doc, &dir, 0, &next, &node), 1);
    dir = node_of("lods/2/chunks/5_0_0");
    ck_assert_int_eq(tfs_tree_entry(&save, doc, &dir, 0, &next, &node), 1);
}
END_TEST

static const struct {
    const char *path;
    bool writable;
} rights[] = {
    {"info.txt", false},
    {"palette.txt", true},
    {"chunks/0_0_0/blocks.txt", true},
    {"chunks/-3_0_7/lights/sky.txt", true},
    /* Damage can be replaced as a whole. */
    {"chunks/2_1_0/raw.bin", true},
    {"chunks/2_1_0/blocks.txt", false},
};

START_TEST(tree_tells_which_files_may_be_written)
{
    struct tfs_node node = node_of(rights[_i].path);

    ck_assert_int_eq(tfs_node_writable(&save, doc, &node), rights[_i].writable);
    save.read_only = "it is read-only";
    ck_assert(!tfs_node_writable(&save, doc, &node));
}
END_TEST

START_TEST(tree_knows_directories_of_chunks)
{
    struct tfs_node node = node_of("lods/2/chunks");
    uint32_t group = 77;

    ck_assert(tfs_node_holds_chunks(&node, &group));
    ck_assert_uint_eq(group, 2);
    node = node_of("lods/2");
    ck_assert(!tfs_node_holds_chunks(&node, &group));
    node = node_of("chunks/0_0_0");
    ck_assert(tfs_node_is_chunk(&node));
    ck_assert(!tfs_node_holds_chunks(&node, &group));
    node = node_of("chunks/0_0_0/lights");
    ck_assert(!tfs_node_is_chunk(&node));
}
END_TEST

static const struct {
    const char *name;
    struct tfs_key key;
} good_names[] = {
    {"0_0_0", {9, 0, 0, 0}},
    {"-1_2_-3", {9, -1, 2, -3}},
    {"-2147483648_2147483647_10", {9, INT32_MIN, INT32_MAX, 10}},
};

START_TEST(chunk_name_reads_and_prints_canonical_decimal)
{
    struct tfs_key key = {.group = 9};
    char name[TFS_CHUNK_NAME];

    ck_assert(tfs_chunk_name_parse(good_names[_i].name, &key));
    ck_assert_int_eq(tfs_key_compare(key, good_names[_i].key), 0);
    tfs_chunk_name(key, name);
    ck_assert_str_eq(name, good_names[_i].name);
}
END_TEST

static const char *const bad_names[] = {
    "",
    "0_0",
    "0_0_0_0",
    "0_0_0 ",
    " 0_0_0",
    "+1_0_0",
    "-0_0_0",
    "01_0_0",
    "0_0_00",
    "a_b_c",
    "0__0",
    "0_0_",
    "_0_0",
    "-_0_0",
    "0x1_0_0",
    "0_-_0",
    "--1_0_0",
    "2147483648_0_0",
    "0.5_0_0",
    "-2147483649_0_0",
    "0_0_99999999999999999999999999",
    "0_0_-",
};

START_TEST(chunk_name_refuses_what_is_not_canonical)
{
    struct tfs_key key = {9, 9, 9, 9};

    ck_assert_msg(!tfs_chunk_name_parse(bad_names[_i], &key), "%s", bad_names[_i]);
    ck_assert_int_eq(tfs_key_compare(key, (struct tfs_key){9, 9, 9, 9}), 0);
}
END_TEST

/* ---- directories in directories -------------------------------------------------------------- */

static const struct tfs_file deep_files[] = {
    {.path = "raw.bin", .flags = TFS_FILE_RAW, .lens = &plain_lens},
    {.path = "a/one.txt", .lens = &plain_lens},
    {.path = "a/b/c/two.txt", .flags = TFS_FILE_OPTIONAL, .lens = &corners_lens},
    {.path = "a/b/three.npy", .lens = &plain_lens, .views = TFS_VIEWS_ARRAYS},
    {.path = "a/bc/four.npy", .lens = &plain_lens, .views = TFS_VIEWS_ARRAYS},
    {.path = "a/bc/", .lens = &plain_lens, .count = mask_count, .family = &mask_family},
    {.path = "b/five.txt", .lens = &plain_lens},
};
static const struct tfs_tree toy_deep = {
    .root = {deep_files, 7}, .chunk.files = deep_files, .chunk.count = 7};

static const struct {
    const char *directory, *listing;
} deep[] = {
    {"", "raw.bin chunks/ a/ b/ "},
    {"a", "one.txt b/ bc/ "},
    {"a/b", "three.npy c/ "},
    {"a/b/c", "two.txt "},
    {"a/bc", "four.npy 00_mask.png 01_mask.png "},
    {"b", "five.txt "},
    {"chunks/0_0_0", "raw.bin a/ b/ "},
    {"chunks/0_0_0/a", "one.txt b/ bc/ "},
    {"chunks/0_0_0/a/b/c", "two.txt "},
};

START_TEST(tree_has_directories_in_directories)
{
    save.tree = &toy_deep;
    save.options.views = TFS_VIEWS_ALL | TFS_VIEWS_ARRAYS;
    struct tfs_node dir = node_of(deep[_i].directory), node;
    struct tfs_buf path = {0};

    ck_assert_str_eq(listing(deep[_i].directory), deep[_i].listing);
    for (size_t i = 0; tfs_tree_entry(&save, doc, &dir, i, &i, &node) == 1;) {
        struct tfs_node parent = tfs_tree_parent(&save, &node), again;
        ck_assert(tfs_node_same(&parent, &dir));
        tfs_buf_clear(&path);
        tfs_tree_path(&save, doc, &node, &path);
        tfs_buf_u8(&path, 0);
        ck_assert_int_eq(tfs_tree_resolve(&save, doc, (const char *)path.data, true, &again), 0);
        ck_assert(tfs_node_same(&again, &node));
    }
    tfs_buf_release(&path);
}
END_TEST

START_TEST(tree_hides_directories_of_which_nothing_was_chosen_at_any_depth)
{
    save.tree = &toy_deep;
    save.options.views = TFS_VIEWS_ARRAYS;
    struct tfs_node node;

    ck_assert_str_eq(listing(""), "chunks/ a/ ");
    ck_assert_str_eq(listing("a"), "b/ bc/ ");
    ck_assert_str_eq(listing("a/b"), "three.npy ");
    ck_assert_str_eq(listing("chunks/0_0_0/a/b"), "three.npy ");
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "chunks/0_0_0/a/b/c", true, &node), -ENOENT);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "a/c", false, &node), -ENOENT);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "c", false, &node), -ENOENT);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "b/c", false, &node), -ENOENT);
    ck_assert_int_eq(tfs_tree_resolve(&save, doc, "a/bc/chunks", false, &node), -ENOENT);
}
END_TEST

static void add_listing_tests(TCase *tcase)
{
    tcase_add_test(tcase, tree_lists_files_in_schema_order_and_directories_behind_them);
    tcase_add_test(tcase, tree_lists_chunks_in_document_order);
    tcase_add_test(tcase, tree_lists_only_groups_that_exist);
    tcase_add_test(tcase, tree_labels_groups_as_the_format_says);
    tcase_add_test(tcase, tree_keeps_chunks_directory_of_an_empty_save_and_hides_the_rest);
    tcase_add_test(tcase, tree_keeps_subdirectory_of_a_chunk_without_its_files);
    tcase_add_test(tcase, tree_shows_only_raw_of_a_damaged_chunk);
    tcase_add_test(tcase, tree_shows_the_files_of_the_sets_that_were_chosen);
    tcase_add_test(tcase, tree_shows_what_the_table_does_not_say);
    tcase_add_test(tcase, tree_shows_stored_bytes_of_a_damaged_chunk_in_every_set);
    tcase_add_test(tcase, tree_tells_names_that_are_left_out_from_unknown_ones);
    tcase_add_loop_test(tcase, tree_has_directories_in_directories, 0, COUNT(deep));
    tcase_add_test(tcase, tree_hides_directories_of_which_nothing_was_chosen_at_any_depth);
}

static void add_node_tests(TCase *tcase)
{
    tcase_add_loop_test(tcase, tree_finds_what_is_there_and_names_of_the_schema_that_are_not, 0,
                        COUNT(lookups));
    tcase_add_test(tcase, tree_refuses_names_longer_than_any_name);
    tcase_add_loop_test(tcase, tree_gives_back_the_path_that_was_resolved, 0, COUNT(paths));
    tcase_add_test(tcase, tree_root_is_its_own_parent);
    tcase_add_loop_test(tcase, tree_parent_holds_the_node, 1, COUNT(paths)); /* 0 is the root */
    tcase_add_test(tcase, tree_node_is_gone_with_its_chunk_even_when_another_takes_the_place);
    tcase_add_test(tcase, tree_says_that_it_does_not_know_now_instead_of_absent);
    tcase_add_loop_test(tcase, tree_tells_which_files_may_be_written, 0, COUNT(rights));
    tcase_add_test(tcase, tree_knows_directories_of_chunks);
}

/* Does a directory of the schema begin only once? */
static void check_directories(const struct tfs_file *files, unsigned count)
{
    const struct tfs_schema schema = {files, count};
    struct tfs_schema_directory a = {0};

    while (tfs_schema_next(schema, &a)) {
        struct tfs_schema_directory b = {0};
        while (tfs_schema_next(schema, &b))
            ck_assert_msg(a.number == b.number || !tfs_span_equal(a.path, b.path), "%.*s",
                          (int)a.path.size, (const char *)a.path.data);
    }
}

START_TEST(schema_of_every_format_has_the_files_of_a_directory_together)
{
    for (size_t i = 0; tfs_containers[i] != NULL; i++) {
        const struct tfs_tree *tree = tfs_containers[i]->tree;
        check_directories(tree->root.files, tree->root.count);
        check_directories(tree->chunk.files, tree->chunk.count);
    }
}
END_TEST

static Suite *tree_suite(void)
{
    Suite *suite = suite_create("tree");
    TCase *listings = unit_case(suite, "listings"), *nodes = unit_case(suite, "nodes");
    TCase *ids = unit_case(suite, "ids"), *names = unit_case(suite, "chunk names");

    tcase_add_checked_fixture(listings, setup, teardown);
    tcase_add_checked_fixture(nodes, setup, teardown);
    tcase_add_checked_fixture(ids, setup, teardown);
    add_listing_tests(listings);
    add_node_tests(nodes);
    tcase_add_test(names, schema_of_every_format_has_the_files_of_a_directory_together);
    tcase_add_test(ids, tree_ids_are_distinct_and_lead_back);
    tcase_add_test(ids, tree_gives_raw_the_lowest_id_of_a_chunks_files);
    tcase_add_test(ids, tree_ids_hold_members_beyond_the_low_bits);
    tcase_add_test(ids, tree_refuses_ids_that_it_never_gives);
    tcase_add_loop_test(names, chunk_name_reads_and_prints_canonical_decimal, 0, COUNT(good_names));
    tcase_add_loop_test(names, chunk_name_refuses_what_is_not_canonical, 0, COUNT(bad_names));
    return suite;
}

UNIT_MAIN(tree_suite)
