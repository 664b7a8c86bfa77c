/*
 * Two laws in every format, on all samples and on made saves. What an edit does not change keeps
 * its stored bytes: lens_check_kept after drawn edits, which are pictures with pixels moved about,
 * files of one chunk written into another, texts that lack a line. And what is written is what
 * reads (written_check.h).
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "../lib/lens_check.h"
#include "../lib/picture_numbers.h"
#include "../lib/place_maker.h"
#include "../lib/small_saves.h"
#include "../lib/written_check.h"
#include "formats/views/pictures/picture.h"
#include "image/png.h"
#include "in_full.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/"
#define PAIRS   (in_full() ? 12 : 2) /* of chunks, for each file */

static glob_t found; /* before the tests fork */
static struct tfs_save *save;
static struct maker_random rnd;
static unsigned accepted;

/* ---- opening --------------------------------------------------------------------------------- */

static void find_samples(void)
{
    static const char *const patterns[] = {
        "cosmic_reach/*/zones/*/*/regions/*",
        "roblox/*.bin",
        "roblox/*.rbx*",
        "beamng/*.ter",
        "beamng/*.ter.gz",
        "godot_voxel/*/*.blk",
        "godot_voxel/*/*.bin",
        "godot_voxel/*/*.vxr",
        "godot_voxel/*/*.sqlite",
        "godot_voxel/*/world_region",
        "luanti/*.sqlite.gz",
    };
    char pattern[256];

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        snprintf(pattern, sizeof(pattern), SAMPLES "%s", patterns[i]);
        glob(pattern, i == 0 ? 0 : GLOB_APPEND, NULL, &found);
    }
}

static void open_save(const char *path)
{
    const struct tfs_open_options options = {.inflate_limit = TFS_INFLATE_LIMIT};
    struct tfs_error err = {0};

    ck_assert_msg(tfs_save_open(path, NULL, &options, &save, &err) == 0, "%s: %s", path, err.text);
}

/* Releases the bytes. */
static void write_made(const char *name, struct maker_bytes *bytes)
{
    FILE *file = fopen(scratch_path(name), "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    ck_assert_int_eq(fclose(file), 0);
    maker_release(bytes);
}

/* A .gz is opened without it. */
static void open_sample(const char *path)
{
    const char *name = strrchr(path, '/') + 1, *ending = strstr(name, ".gz");
    char plain[256];
    uint8_t piece[65536];
    int n;

    if (ending == NULL) {
        open_save(path);
        return;
    }
    snprintf(plain, sizeof(plain), "%.*s", (int)(ending - name), name);
    gzFile in = gzopen(path, "rb");
    FILE *out = fopen(scratch_path(plain), "wb");
    ck_assert(in != NULL && out != NULL);
    while ((n = gzread(in, piece, sizeof(piece))) > 0)
        ck_assert_uint_eq(fwrite(piece, 1, (size_t)n, out), (size_t)n);
    ck_assert_int_eq(fclose(out), 0);
    gzclose(in);
    open_save(scratch_path(plain));
}

/* ---- edits ----------------------------------------------------------------------------------- */

/* Of the save as it is on disk; may be refused. */
static void try_put(const struct tfs_node *node, struct tfs_span text)
{
    const struct tfs_lens *lens = tfs_node_file(save, node)->lens;
    struct tfs_error err = {0};
    struct tfs_put put = {0};
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    if (lens->put(save, &edit, tfs_node_at(save, node), text, &put, &err) == 0) {
        struct tfs_doc *after = tfs_edit_finish(&edit);
        lens_check_kept(save, save->doc, after);
        accepted += after != save->doc;
        tfs_doc_unref(after);
    }
    tfs_edit_release(&edit);
}

static void read_file(const struct tfs_node *node, struct tfs_buf *out)
{
    struct tfs_error err = {0};

    tfs_buf_clear(out);
    if (tfs_node_exists(save, save->doc, node))
        ck_assert_msg(tfs_node_file(save, node)
                              ->lens->get(save, save->doc, tfs_node_at(save, node), out, &err) == 0,
                      "%s", err.text);
}

/* The text without one of its lines. */
static void try_without_line(const struct tfs_node *node, const struct tfs_buf *text)
{
    struct tfs_buf cut = {0};

    written_cut_line(&rnd, text, &cut);
    try_put(node, tfs_buf_span(&cut));
    tfs_buf_release(&cut);
}

/* The text with another digit in the place of one. */
static void try_other_digit(const struct tfs_node *node, struct tfs_buf *text)
{
    size_t at = text->size == 0 ? 0 : maker_draw(&rnd, (uint32_t)text->size);

    while (at < text->size && (text->data[at] < '0' || text->data[at] > '9'))
        at++;
    if (at < text->size)
        text->data[at] = (uint8_t)('0' + maker_draw(&rnd, 10));
    try_put(node, tfs_buf_span(text));
}

/* ---- pictures -------------------------------------------------------------------------------- */

struct picture {
    struct tfs_png_shape shape;
    struct tfs_buf samples;
};

static void give_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct picture *p = arg;
    size_t size = tfs_png_row_size(&p->shape);

    memcpy(samples, p->samples.data + row * size, size);
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Pixels of a square become 0, or what another pixel is: heights sink, mostly. */
static void draw_square(struct picture *p, size_t step)
{
    const uint32_t w = p->shape.width, h = p->shape.height;
    const uint32_t x0 = maker_draw(&rnd, w), z0 = maker_draw(&rnd, h);
    const uint32_t side = 1 + maker_draw(&rnd, 40);
    bool clear = maker_draw(&rnd, 2) == 0;

    for (uint32_t z = z0; z < h && z < z0 + side; z++)
        for (uint32_t x = x0; x < w && x < x0 + side; x++) {
            uint8_t *at = p->samples.data + ((size_t)z * w + x) * step;
            if (clear)
                memset(at, 0, step);
            else
                memmove(at, p->samples.data + (size_t)maker_draw(&rnd, w * h) * step, step);
        }
}

static void try_pictures(const struct tfs_node *node, struct tfs_buf *png)
{
    struct picture p = {.shape = {.width = big_endian(png->data + 16),
                                  .height = big_endian(png->data + 20),
                                  .type = png->data[25] == 6    ? TFS_PNG_RGBA8
                                          : png->data[25] == 3  ? TFS_PNG_INDEX8
                                          : png->data[24] == 16 ? TFS_PNG_GREY16
                                                                : TFS_PNG_GREY8}};
    const size_t step = tfs_png_row_size(&p.shape) / p.shape.width;
    struct tfs_error err = {0};
    unsigned bits;

    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(tfs_png_read(tfs_buf_span(png), &p.shape, &p.samples, &bits, &err), 0);
        draw_square(&p, step);
        tfs_buf_clear(png);
        ck_assert_int_eq(tfs_png_write(&p.shape, give_row, &p, png, &err), 0);
        try_put(node, tfs_buf_span(png));
        tfs_buf_release(&p.samples);
    }
}

/* ---- all files ------------------------------------------------------------------------------- */

static void try_root_file(const struct tfs_node *node)
{
    struct tfs_buf bytes = {0};

    if (tfs_node_file(save, node)->lens->put == NULL)
        return;
    read_file(node, &bytes);
    if (bytes.size > 8 && memcmp(bytes.data, "\x89PNG", 4) == 0) {
        try_pictures(node, &bytes);
    } else {
        try_without_line(node, &bytes);
        tfs_buf_add_text(&bytes, "x"); /* the last name is another one */
        try_put(node, tfs_buf_span(&bytes));
    }
    tfs_buf_release(&bytes);
}

static void try_root(void)
{
    const struct tfs_tree *tree = save->tree;
    struct tfs_node node = {.scope = TFS_SCOPE_ROOT};

    for (unsigned f = 0; f < tree->root.count; f++) {
        const struct tfs_file *file = &tree->root.files[f];
        uint32_t members = file->count == NULL ? 1 : file->count(tree, save->doc);
        node.file = (int)f;
        for (node.member = 0; node.member < members; node.member++)
            try_root_file(&node);
    }
}

/* Of one that may have voxels. */
static struct tfs_node chunk_node(unsigned file)
{
    const uint32_t count = (uint32_t)tfs_doc_group_begin(save->doc, TFS_GROUP_COLUMNS);
    const struct tfs_chunk *chunk = tfs_doc_at(save->doc, maker_draw(&rnd, count));

    return (struct tfs_node){
        .scope = TFS_SCOPE_CHUNK, .file = (int)file, .key = chunk->key, .slot = chunk->slot};
}

static void try_chunks(void)
{
    struct tfs_buf text = {0};

    for (unsigned f = 0; f < save->tree->chunk.count && save->doc->count > 0; f++) {
        if ((save->tree->chunk.files[f].flags & TFS_FILE_RAW) != 0)
            continue;
        for (unsigned i = 0; i < PAIRS; i++) {
            const struct tfs_node from = chunk_node(f), to = chunk_node(f);
            read_file(&from, &text);
            try_put(&to, tfs_buf_span(&text));
            read_file(&to, &text);
            try_without_line(&to, &text);
            try_other_digit(&to, &text);
        }
    }
    tfs_buf_release(&text);
}

static void try_edits(uint64_t seed)
{
    rnd.state = seed;
    accepted = 0;
    try_root();
    try_chunks();
    ck_assert_uint_gt(accepted, 0);
    tfs_save_close(save);
}

START_TEST(samples_keep_the_bytes_of_what_did_not_change)
{
    open_sample(found.gl_pathv[_i]);
    try_edits((uint64_t)_i + 1);
}
END_TEST

START_TEST(made_saves_keep_the_bytes_of_what_did_not_change)
{
    const struct small_save *kind = &small_saves[_i];

    kind->make(scratch_path(kind->file));
    open_save(scratch_path(kind->file));
    try_edits((uint64_t)_i + 1);
}
END_TEST

/* ---- what was written ------------------------------------------------------------------------ */

static void check_written(uint64_t seed)
{
    struct lens_check c;

    lens_check_open(&c, save);
    ck_assert_uint_gt(written_check(&c, in_full() ? 24 : 1, seed), 0);
    lens_check_close(&c);
    tfs_save_close(save);
}

START_TEST(samples_read_as_they_were_written)
{
    open_sample(found.gl_pathv[_i]);
    check_written((uint64_t)_i + 1);
}
END_TEST

START_TEST(made_saves_read_as_they_were_written)
{
    const struct small_save *kind = &small_saves[_i];

    kind->make(scratch_path(kind->file));
    open_save(scratch_path(kind->file));
    check_written((uint64_t)_i + 1);
}
END_TEST

#define RANDOM_REGIONS 16

/* Every section and layer type, any palette. */
START_TEST(regions_of_any_spelling_keep_the_bytes_of_what_did_not_change)
{
    struct maker_region r = maker_region_init(_i % 8);
    struct maker_bytes bytes = {0};

    maker_random_region(&r, 12, (uint64_t)_i);
    maker_region_write(&r, &bytes);
    maker_region_release(&r);
    write_made("some.cosmicreach", &bytes);
    open_save(scratch_path("some.cosmicreach"));
    try_edits((uint64_t)_i + 1);
}
END_TEST

/* ---- air between two storeys ----------------------------------------------------------------- */

/* One name under LAYERED, each layer of another type: games write SINGLE. */
static void odd_air(struct maker_bytes *b)
{
    const uint16_t ids[256] = {0};

    maker_u8(b, 2);
    maker_s32(b, 1);
    maker_string(b, "base:air");
    for (unsigned y = 0; y < MAKER_LAYERS; y++)
        maker_layer(b, (enum maker_layer)(1 + y % MAKER_BIT), ids, 3);
}

static void make_region(struct maker_bytes *bytes)
{
    struct maker_region r = maker_region_init(3);

    for (int32_t y = 0; y < 3; y++) {
        struct maker_chunk *chunk = maker_region_add(&r, 0, y, 0);
        if (y == 1)
            odd_air(&chunk->body);
        else
            maker_single(&chunk->body, "base:stone");
        maker_add(&chunk->body, "\1\1\0", 3); /* no light, no entities */
    }
    maker_region_write(&r, bytes);
    maker_region_release(&r);
}

/* Air whose record says an occupancy of 0, which goes without saying; edge 4. */
static void make_value(struct maker_bytes *bytes)
{
    place_hex(bytes, "01 02 000000 000000 000000 000000 82 3f"
                     "      000000 000000 000000 000100 c0 00 3f"
                     "      000000 000000 000000 000100 82 3f");
}

static const struct {
    const char *name;
    void (*make)(struct maker_bytes *bytes);
} stacks[] = {{"some.cosmicreach", make_region}, {"some.bin", make_value}};

static struct tfs_span bytes_of(const struct tfs_doc *doc, int32_t y)
{
    return tfs_blob_span(tfs_doc_find(doc, (struct tfs_key){.y = y})->blob);
}

/* The column 0,0 is lowered to a height, through the air of the chunk in the middle. */
START_TEST(air_that_a_column_is_lowered_through_keeps_its_bytes)
{
    struct maker_bytes bytes = {0};
    struct tfs_buf png = {0};
    struct tfs_error err = {0};
    struct tfs_put put = {0};
    struct tfs_edit edit;

    stacks[_i].make(&bytes);
    write_made(stacks[_i].name, &bytes);
    open_save(scratch_path(stacks[_i].name));
    ck_assert_int_eq(
        tfs_heightmap_lens.get(
            save, save->doc, tfs_lens_at(&tfs_heightmap_lens, (struct tfs_key){0}, 0), &png, &err),
        0);
    height_picture_read(save, save->doc, tfs_buf_span(&png));
    heights[0] = 1;
    tfs_buf_clear(&png);
    height_picture_write(TFS_PNG_GREY16, &png);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    ck_assert_msg(tfs_heightmap_lens.put(save, &edit,
                                         tfs_lens_at(&tfs_heightmap_lens, (struct tfs_key){0}, 0),
                                         tfs_buf_span(&png), &put, &err) == 0,
                  "%s", err.text);
    for (int32_t y = 0; y < 3; y++)
        ck_assert_int_eq(tfs_span_equal(bytes_of(save->doc, y), bytes_of(tfs_edit_doc(&edit), y)),
                         y == 1);
    tfs_edit_release(&edit);
    tfs_buf_release(&png);
    tfs_save_close(save);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = unit_case_with(suite, name, scratch_setup, scratch_teardown);

    tcase_set_timeout(tcase, 120);
    return tcase;
}

static Suite *laws_suite(void)
{
    Suite *suite = suite_create("laws");
    TCase *kept = add_case(suite, "kept"), *written = add_case(suite, "written");

    find_samples();
    unit_add_samples(kept, samples_keep_the_bytes_of_what_did_not_change, found.gl_pathc, SAMPLES);
    tcase_add_loop_test(kept, made_saves_keep_the_bytes_of_what_did_not_change, 0,
                        small_save_count);
    tcase_add_loop_test(kept, regions_of_any_spelling_keep_the_bytes_of_what_did_not_change, 0,
                        RANDOM_REGIONS);
    tcase_add_loop_test(kept, air_that_a_column_is_lowered_through_keeps_its_bytes, 0,
                        (int)(sizeof(stacks) / sizeof(stacks[0])));
    unit_add_samples(written, samples_read_as_they_were_written, found.gl_pathc, SAMPLES);
    tcase_add_loop_test(written, made_saves_read_as_they_were_written, 0, small_save_count);
    return suite;
}

UNIT_MAIN(laws_suite)
