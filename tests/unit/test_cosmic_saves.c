/* formats/cosmic_reach, whole saves: the laws GetPut and PutGet, and re-encoding, on the real
 * regions
 * (../shared/samples) and on random ones of every version. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../lib/cosmic_case.h"
#include "../lib/lens_check.h"
#include "formats/cosmic_reach/body.h"
#include "formats/cosmic_reach/region.h"
#include "in_full.h"
#include "unit.h"

#define SAMPLES "../shared/samples/cosmic_reach/*/zones/*/*/regions/*.cosmicreach"

static struct tree_files c;
static glob_t samples; /* found before the tests fork */

/* Version 1.x of the library itself; zlib-ng calls itself so too, but says what it is. */
static bool classic_zlib(void)
{
    return strstr(zlibVersion(), "ng") == NULL;
}

static struct maker_bytes read_file(const char *path)
{
    struct maker_bytes bytes = {0};
    uint8_t piece[65536];
    FILE *file = fopen(path, "rb");
    size_t n;

    ck_assert_ptr_nonnull(file);
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        maker_add(&bytes, piece, n);
    fclose(file);
    return bytes;
}

static bool same(const struct maker_bytes *a, const struct maker_bytes *b)
{
    return tfs_span_equal(cosmic_span(a), cosmic_span(b));
}

/* ---- real regions ---------------------------------------------------------------------------- */

static void open_sample(int i, struct maker_bytes *file)
{
    *file = read_file(samples.gl_pathv[i]);
    ck_assert_msg(cosmic_open(&c, samples.gl_pathv[i], cosmic_span(file)) == 0, "%s: %s",
                  samples.gl_pathv[i], c.err.text);
    ck_assert_uint_eq(c.doc->facts->note_count, 0);
}

START_TEST(a_real_region_comes_out_as_it_went_in)
{
    struct maker_bytes file;

    open_sample(_i, &file);
    struct maker_bytes again = cosmic_encode(&c);
    if (classic_zlib()) {
        ck_assert(same(&again, &file));
    } else {
        struct tfs_doc *before = tfs_doc_ref(c.doc);
        tree_files_close(&c);
        ck_assert_int_eq(cosmic_open(&c, samples.gl_pathv[_i], cosmic_span(&again)), 0);
        ck_assert_uint_eq(c.doc->count, before->count);
        for (size_t i = 0; i < before->count; i++)
            ck_assert(tfs_chunk_same(tfs_doc_at(before, i), tfs_doc_at(c.doc, i)));
        tfs_doc_unref(before);
    }
    tree_files_close(&c);
    maker_release(&again);
    maker_release(&file);
}
END_TEST

/* Our encoder, asked to encode what it need not, gives the game's bytes. */
static void check_canonical(const struct tfs_chunk *chunk)
{
    struct tfs_cosmic_body body;
    struct tfs_cosmic_blocks blocks;
    struct tfs_cosmic_values *values = NULL;
    struct tfs_buf out = {0};

    ck_assert_int_eq(tfs_cosmic_body_split(tfs_blob_span(chunk->blob), chunk->tag, &body, &c.err),
                     0);
    struct tfs_span section = body.sections[TFS_COSMIC_SECTION_BLOCKS];
    ck_assert_int_eq(tfs_cosmic_blocks_view(section, &blocks, &c.err), 0);
    ck_assert_int_eq(tfs_cosmic_blocks_decode(&blocks, &values, &c.err), 0);
    tfs_cosmic_blocks_encode(&out, values->names, values->count, values->ids, chunk->tag);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), section));
    tfs_buf_release(&out);
    free(values);
}

START_TEST(real_block_data_is_encoded_as_the_game_does)
{
    struct maker_bytes file;

    open_sample(_i, &file);
    for (size_t i = 0; i < c.doc->count; i++)
        check_canonical(tfs_doc_at(c.doc, i));
    tree_files_close(&c);
    maker_release(&file);
}
END_TEST

START_TEST(real_chunks_written_back_change_nothing)
{
    struct maker_bytes file;

    open_sample(_i, &file);
    lens_check_reads(c.save, c.doc, NULL);
    tree_files_close(&c);
    maker_release(&file);
}
END_TEST

START_TEST(one_block_set_in_a_real_region_changes_one_section)
{
    struct maker_bytes file;
    struct tfs_cosmic_body old, new;

    open_sample(_i, &file);
    struct tfs_doc *before = tfs_doc_ref(c.doc);
    const struct tfs_chunk *chunk = tfs_doc_at(before, before->count / 2);
    struct maker_bytes text = cosmic_get(&c, chunk->key, "voxels.csv");
    char line[96];
    snprintf(line, sizeof(line), "%lld,%lld,%lld,test:gold\n", (long long)chunk->key.x * 16 + 5,
             (long long)chunk->key.y * 16 + 15, (long long)chunk->key.z * 16);
    maker_add(&text, line, strlen(line));
    ck_assert_int_eq(files_put(&c, chunk->key, "voxels.csv", cosmic_span(&text)), 0);
    struct maker_bytes again = cosmic_encode(&c);
    tree_files_close(&c);
    ck_assert_int_eq(cosmic_open(&c, samples.gl_pathv[_i], cosmic_span(&again)), 0);
    ck_assert_uint_eq(c.doc->count, before->count);
    for (size_t i = 0; i < before->count; i++) {
        bool edited = tfs_doc_at(before, i) == chunk;
        ck_assert_int_eq(tfs_chunk_same(tfs_doc_at(before, i), tfs_doc_at(c.doc, i)), !edited);
    }
    ck_assert_int_eq(tfs_cosmic_body_split(tfs_blob_span(chunk->blob), chunk->tag, &old, &c.err),
                     0);
    ck_assert_int_eq(tfs_cosmic_body_split(cosmic_body(&c, chunk->key), chunk->tag, &new, &c.err),
                     0);
    for (unsigned s = TFS_COSMIC_SECTION_SKY; s < TFS_COSMIC_SECTIONS; s++)
        ck_assert(tfs_span_equal(old.sections[s], new.sections[s]));
    tfs_doc_unref(before);
    tree_files_close(&c);
    maker_release(&again);
    maker_release(&text);
    maker_release(&file);
}
END_TEST

/* ---- random regions -------------------------------------------------------------------------- */

#define SEEDS (in_full() ? 3u : 1u)

static struct maker_random rnd;

static void open_random(int32_t version, unsigned chunks, uint64_t seed)
{
    struct maker_region r = maker_region_init(version);

    rnd.state = seed * 1000 + (uint64_t)version;
    maker_random_region(&r, chunks, seed);
    cosmic_open_maker(&c, &r);
    maker_region_release(&r);
}

static struct tfs_key any_key(void)
{
    return tfs_doc_at(c.doc, maker_draw(&rnd, (uint32_t)c.doc->count))->key;
}

START_TEST(random_chunks_written_back_change_nothing)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_random(_i, 40, seed);
        lens_check_reads(c.save, c.doc, NULL);
        tree_files_close(&c);
    }
}
END_TEST

/* May the text come back as another one? In blocks.txt one name in all voxels becomes SINGLE. */
static bool is_exception(const char *file, struct tfs_key key)
{
    struct tfs_span body = cosmic_body(&c, key);

    return strcmp(file, "blocks.txt") == 0 && body.data[0] == TFS_COSMIC_BLOCKS_SINGLE;
}

/* A file of one chunk written into another reads back as it was written, and the other sections of
 * that chunk stay. */
static void check_putget(const char *file)
{
    struct tfs_key from = any_key(), to = any_key();
    struct maker_bytes text = cosmic_get(&c, from, file);

    if (text.data == NULL || tfs_doc_find(c.doc, to)->tag == 0)
        goto out;
    ck_assert_msg(files_put(&c, to, file, cosmic_span(&text)) == 0, "%s: %s", file, c.err.text);
    struct maker_bytes again = cosmic_get(&c, to, file);
    ck_assert_msg(same(&again, &text) || is_exception(file, to), "%s:\n%s\nreads back as\n%s", file,
                  (char *)text.data, (char *)again.data);
    lens_check_reads(c.save, c.doc, &to);
    maker_release(&again);
out:
    maker_release(&text);
}

START_TEST(what_is_written_reads_back)
{
    static const char *const independent[] = {"blocks.txt", "lights/sky.txt", "lights/block.txt",
                                              "entities.bin"};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_random(_i, 24, seed);
        for (unsigned i = 0; i < 60; i++)
            check_putget(independent[i % 4]);
        struct maker_bytes file = cosmic_encode(&c);
        struct tfs_doc *before = tfs_doc_ref(c.doc);
        tree_files_close(&c);
        ck_assert_int_eq(cosmic_open(&c, "any", cosmic_span(&file)), 0);
        ck_assert_uint_eq(c.doc->count, before->count);
        for (size_t i = 0; i < before->count; i++)
            ck_assert(tfs_chunk_same(tfs_doc_at(before, i), tfs_doc_at(c.doc, i)));
        tfs_doc_unref(before);
        tree_files_close(&c);
        maker_release(&file);
    }
}
END_TEST

/* ---- voxels against a plain model ------------------------------------------------------------ */

/* What voxels.csv should show: the name's print for each voxel, NULL for air. */
struct model {
    char *lines[TFS_COSMIC_VALUES]; /* "x,y,z,name" without line end */
};

static void model_release(struct model *m)
{
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        free(m->lines[i]);
}

static unsigned index_of_line(const char *line)
{
    long long x, y, z;

    ck_assert_int_eq(sscanf(line, "%lld,%lld,%lld,", &x, &y, &z), 3);
    return (unsigned)(((y & 15) * 16 + (z & 15)) * 16 + (x & 15));
}

static void model_read(struct model *m, const struct maker_bytes *text)
{
    char *copy = strndup((char *)text->data, text->size), *rest = copy, *line;

    memset(m, 0, sizeof(*m));
    strsep(&rest, "\n");
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        m->lines[index_of_line(line)] = strdup(line);
    free(copy);
}

/* The same lines in the order of the file. */
static struct maker_bytes model_write(const struct model *m)
{
    struct maker_bytes text = {0};

    maker_add(&text, "x,y,z,block\n", 12);
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++) {
        if (m->lines[i] == NULL)
            continue;
        maker_add(&text, m->lines[i], strlen(m->lines[i]));
        maker_u8(&text, '\n');
    }
    return text;
}

/* Removes lines, and gives some voxels another name. */
static void model_change(struct model *m, struct tfs_key key)
{
    static const char *const names[] = {"test:gold", "\"a,b\"", "\\x20blank", "base:stone_gabbro"};

    for (unsigned n = maker_draw(&rnd, 1 + maker_draw(&rnd, 6000)); n > 0; n--) {
        unsigned i = maker_draw(&rnd, TFS_COSMIC_VALUES);
        free(m->lines[i]);
        m->lines[i] = NULL;
        if (maker_draw(&rnd, 2))
            continue;
        ck_assert_int_gt(asprintf(&m->lines[i], "%lld,%lld,%lld,%s", key.x * 16LL + (i & 15),
                                  key.y * 16LL + (i >> 8), key.z * 16LL + (i >> 4 & 15),
                                  names[maker_draw(&rnd, 4)]),
                         0);
    }
}

static void check_voxels(void)
{
    struct model m;
    struct tfs_key key = any_key();
    struct maker_bytes text = cosmic_get(&c, key, "voxels.csv");

    model_read(&m, &text);
    model_change(&m, key);
    struct maker_bytes changed = model_write(&m);
    ck_assert_msg(files_put(&c, key, "voxels.csv", cosmic_span(&changed)) == 0, "%u: %s",
                  c.err.line, c.err.text);
    struct maker_bytes again = cosmic_get(&c, key, "voxels.csv");
    ck_assert(same(&again, &changed));
    lens_check_reads(c.save, c.doc, &key);
    maker_release(&again);
    maker_release(&changed);
    maker_release(&text);
    model_release(&m);
}

START_TEST(voxels_written_read_back)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_random(_i, 24, seed);
        for (unsigned i = 0; i < 40; i++)
            check_voxels();
        tree_files_close(&c);
    }
}
END_TEST

START_TEST(renaming_every_block_and_back_leaves_the_save_as_it_was)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_random(_i, 24, seed);
        struct maker_bytes before = cosmic_encode(&c), renamed = {0};
        struct maker_bytes names = cosmic_get_root(&c, "palette.txt");
        for (size_t i = 0; i < names.size; i++) {
            if (names.data[i] == '\n')
                maker_add(&renamed, "\\x00", 4);
            maker_u8(&renamed, names.data[i]);
        }
        maker_u8(&renamed, 0);
        ck_assert_msg(files_put_text(&c, FILES_ROOT, "palette.txt", (char *)renamed.data) == 0,
                      "%s", c.err.text);
        struct maker_bytes after = cosmic_encode(&c);
        ck_assert(!same(&after, &before));
        /* The lowest byte behind every name leaves their order as it was. */
        ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", (char *)names.data), 0);
        struct maker_bytes back = cosmic_encode(&c);
        ck_assert(same(&back, &before));
        maker_release(&back);
        tree_files_close(&c);
        maker_release(&after);
        maker_release(&before);
        maker_release(&renamed);
        maker_release(&names);
    }
}
END_TEST

static void add_sample_tests(TCase *real)
{
    static const TTest *const *const tests[] = {
        &a_real_region_comes_out_as_it_went_in,
        &real_block_data_is_encoded_as_the_game_does,
        &real_chunks_written_back_change_nothing,
        &one_block_set_in_a_real_region_changes_one_section,
    };

    tcase_set_timeout(real, 120);
    for (int i = 0; i < COUNT(tests); i++)
        unit_add_samples(real, *tests[i], samples.gl_pathc, SAMPLES);
}

static Suite *saves_suite(void)
{
    Suite *suite = suite_create("cosmic_saves");
    TCase *random = unit_case(suite, "random");

    (void)glob(SAMPLES, 0, NULL, &samples);
    if (samples.gl_pathc > 0 && !classic_zlib())
        printf("ok 1 - deflate as the game # skip zlib %s is not the classic one\n", zlibVersion());
    add_sample_tests(unit_case(suite, "real"));
    tcase_set_timeout(random, 120);
    tcase_add_loop_test(random, random_chunks_written_back_change_nothing, 0, 8);
    tcase_add_loop_test(random, what_is_written_reads_back, 0, 8);
    tcase_add_loop_test(random, voxels_written_read_back, 0, 8);
    tcase_add_loop_test(random, renaming_every_block_and_back_leaves_the_save_as_it_was, 0, 8);
    return suite;
}

UNIT_MAIN(saves_suite)
