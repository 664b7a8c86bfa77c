/*
 * `.ter` files: which layout a file has, what is refused, and that every layout is written back as
 * it was read. An independent codec made the vectors A to F.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/place_maker.h"
#include "../lib/ter_maker.h"
#include "../lib/tree_files.h"
#include "formats/beamng/beamng.h"
#include "formats/beamng/terrain.h"

#define A "09 02000000 0040 0140 0280 ffff 0001ff01 02000000 05 4772617373 04 526f636b"
#define B                                                                                          \
    "08 02000000 0040 0140 0280 ffff 0001ff01 0001ff01 01ff0101 ff010101 01010101 02000000"        \
    "05 4772617373 04 526f636b"
#define C                                                                                          \
    "09 02000000 0040 0140 0280 ffff 0001ff01 11121314 c0c1c2c3 c4c5c6c7 c8c9cacb cccdcecf"        \
    "02000000 05 4772617373 00 04 526f636b 00"
#define D "09 01000000 0040 00 01000000 04 526f636b 00"

static struct tfs_span span_of(const struct maker_bytes *b)
{
    return (struct tfs_span){b->data, b->size};
}

static int open_bytes(struct tree_files *t, const struct maker_bytes *b)
{
    return tree_files_open(t, &tfs_beamng_ter, "/nowhere/theTerrain.ter", span_of(b));
}

/* ---- layouts --------------------------------------------------------------------------------- */

struct layout_case {
    const char *hex;
    uint8_t version, extra;
    bool nul;
    uint32_t side;
};

static const struct layout_case layouts[] = {
    {A, 9, 0, false, 2},
    {B, 8, 4, false, 2},
    {C, 9, 5, true, 2},
    {D, 9, 0, true, 1},
    /* no names: the layout's own habit says whether there are terminators */
    {"07 01000000 2000 00 00000000", 7, 0, false, 1},
    {"09 01000000 2000 00 11 00000000", 9, 1, true, 1},
    /* a texture map alone, names without terminator */
    {"09 02000000 0040 0140 0280 ffff 00010001 11121314 01000000 04 526f636b", 9, 1, false, 2},
    /* version 8 without its block, version 9 with one */
    {"08 02000000 0040 0140 0280 ffff 00010001 01000000 04 526f636b", 8, 0, false, 2},
    {"09 02000000 0040 0140 0280 ffff 0001ff01 0001ff01 01ff0101 ff010101 01010101 01000000"
     "04 526f636b",
     9, 4, false, 2},
    /* a long length where a short one would do, a name with a 00 inside, an empty name */
    {"07 01000000 2000 00 03000000 ff 0100 41 03 420043 00", 7, 0, false, 1},
};

START_TEST(ter_layout_is_the_one_whose_table_ends_with_the_file)
{
    const struct layout_case *c = &layouts[_i];
    struct maker_bytes b = {0};
    struct tfs_buf back = {0};
    struct tree_files t;

    place_hex(&b, c->hex);
    ck_assert_msg(open_bytes(&t, &b) == 0, "%s", t.err.text);
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(t.doc);
    ck_assert_uint_eq(layout->version, c->version);
    ck_assert_uint_eq(layout->extra, c->extra);
    ck_assert_int_eq(layout->nul, c->nul);
    ck_assert_uint_eq(layout->side, c->side);
    tree_files_encode(&t, &back);
    ck_assert(tfs_span_equal(tfs_buf_span(&back), span_of(&b)));
    tree_files_close(&t);
    tfs_buf_release(&back);
    maker_release(&b);
}
END_TEST

START_TEST(ter_name_of_255_bytes_has_the_long_length_and_one_of_254_the_short)
{
    struct maker_bytes b = {0};
    struct tfs_buf back = {0};
    struct tree_files t;
    char name[255];

    memset(name, 'L', sizeof(name));
    place_hex(&b,
              _i == 0 ? "07 01000000 2000 00 01000000 ff ff00" : "07 01000000 2000 00 01000000 fe");
    maker_add(&b, name, _i == 0 ? 255 : 254);
    ck_assert_uint_eq(b.size, _i == 0 ? 270 : 267);
    ck_assert_int_eq(open_bytes(&t, &b), 0);
    struct tfs_beamng_names names = tfs_beamng_names_of(t.doc);
    struct tfs_span found;
    ck_assert(tfs_beamng_names_next(&names, &found));
    ck_assert_uint_eq(found.size, _i == 0 ? 255 : 254);
    tfs_buf_u32le(&back, 1);
    tfs_beamng_name_add(&back, found, false);
    ck_assert(tfs_span_equal(tfs_buf_span(&back), tfs_blob_span(t.doc->common)));
    tree_files_close(&t);
    tfs_buf_release(&back);
    maker_release(&b);
}
END_TEST

/* Every layout, size, version, and number of materials. */
START_TEST(ter_of_every_layout_and_size_is_written_back_as_it_was_read)
{
    static const uint32_t sides[] = {1, 2, 3, 7, 63, 64, 65, 128, 200};
    struct ter_world w = {.version = (uint8_t)(7 + _i % 3),
                          .kind = (enum ter_kind)(_i / 3 % 4),
                          .nul = _i / 12 % 2 != 0};
    struct tfs_buf back = {0};
    struct tree_files t;

    for (size_t s = 0; s < sizeof(sides) / sizeof(sides[0]); s++) {
        struct maker_bytes b = {0};
        w.side = sides[s];
        w.seed = (uint64_t)_i * 100 + s;
        w.materials = (unsigned)(s * 5 + 1);
        ter_make(&b, &w);
        ck_assert_msg(open_bytes(&t, &b) == 0, "side %u: %s", w.side, t.err.text);
        ck_assert_uint_eq(t.doc->count, (size_t)((w.side + 63) / 64) * ((w.side + 63) / 64));
        tfs_buf_clear(&back);
        tree_files_encode(&t, &back);
        ck_assert(tfs_span_equal(tfs_buf_span(&back), span_of(&b)));
        tree_files_close(&t);
        maker_release(&b);
    }
    tfs_buf_release(&back);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

struct refusal {
    const char *hex;
    int code;
    const char *sentence; /* part of it */
};

static const struct refusal refusals[] = {
    {"", -EBADMSG, "is cut off within its header"},
    {"09", -EBADMSG, "is cut off within its header"},
    {"09 01000000 2000 00", -EBADMSG, "is cut off within its header"},
    {"0a 02000000 0040 0140 0280 ffff 0001ff01 02000000 05 4772617373 04 526f636b", -ENOTSUP,
     "version 10"},
    {"01 00000000000000000000", -ENOTSUP, "version 1 "},
    {"54 45525241474e0000000000", -ENOTSUP, "version 84"},
    {"09 00000000 00000000 00", -EBADMSG, "0 samples"},
    {"09 01400000 00000000 00", -EFBIG, "16385 samples"},
    {"09 ffffffff 00000000 00", -EFBIG, "4294967295 samples"},
    {"09 00400000 00000000 00", -EBADMSG, "cut off: 16384 x 16384 samples need 805306377 bytes"},
    {A "00", -EBADMSG, "the file has 33 bytes for 2 x 2 samples"},
    /* 3 x 3 samples and a name of which the last byte is gone */
    {"09 03000000 000000000000000000000000000000000000 000000000000000000 01000000 04 526f63",
     -EBADMSG, "by its size it has 3 bytes a sample"},
    {"09 02000000 0040 0140 0280 ffff 0001ff01 02000000 05 4772617373 04 526f63", -EBADMSG,
     "does not end where the file ends"},
    /* more names than bytes */
    {"09 01000000 2000 00 ffff0000 00", -EBADMSG, "does not end where the file ends"},
    {"09 01000000 2000 00 ffffffff 00", -EBADMSG, "does not end where the file ends"},
    {"09 01000000 2000 00 01000000 ff ffff 41", -EBADMSG, "does not end where the file ends"},
};

START_TEST(ter_that_fits_nothing_is_refused_with_a_sentence)
{
    const struct refusal *r = &refusals[_i];
    struct maker_bytes b = {0};
    struct tree_files t;

    place_hex(&b, r->hex);
    ck_assert_int_eq(open_bytes(&t, &b), r->code);
    ck_assert_msg(strstr(t.err.text, r->sentence) != NULL, "%s", t.err.text);
    maker_release(&b);
}
END_TEST

/* Half of a table with terminators is a whole one without: each terminator is then an empty name.
 * Only that one cut cannot be noticed. */
START_TEST(ter_cut_anywhere_is_refused)
{
    static const struct ter_world worlds[] = {
        {9, TER_PLAIN, false, 9, 1, 5},
        {8, TER_CORNERS, false, 9, 2, 5},
        {9, TER_COMMUNITY, true, 9, 3, 5},
        {7, TER_TEXTURE, true, 9, 4, 5},
    };
    struct maker_bytes b = {0};
    struct tree_files t;
    unsigned opened = 0;

    ter_make(&b, &worlds[_i]);
    for (size_t n = 0; n < b.size; n++) {
        struct maker_bytes cut = {0};
        maker_add(&cut, b.data, n);
        if (open_bytes(&t, &cut) == 0) {
            opened++;
            ck_assert(!tfs_beamng_layout_of(t.doc)->nul);
            tree_files_close(&t);
        } else {
            ck_assert_int_ne(t.err.text[0], '\0');
        }
        maker_release(&cut);
    }
    ck_assert_uint_eq(opened, worlds[_i].nul ? 1 : 0);
    maker_release(&b);
}
END_TEST

/* Random files of a right size: never a crash; whatever opens is written back the same. */
START_TEST(ter_of_random_bytes_is_refused_or_written_back)
{
    struct maker_random r = {.state = (uint64_t)_i + 1};
    unsigned opened = 0;

    for (unsigned round = 0; round < 3000; round++) {
        struct maker_bytes b = {0};
        struct tfs_buf back = {0};
        struct tree_files t;
        uint32_t side = 1 + maker_draw(&r, 3);
        uint32_t samples = side * side * (3 + maker_draw(&r, 6));

        maker_u8(&b, 7 + maker_draw(&r, 3));
        uint8_t bytes[4] = {(uint8_t)side};
        maker_add(&b, bytes, 4);
        for (uint32_t i = 0; i < samples + 4 + maker_draw(&r, 8); i++)
            maker_u8(&b, maker_draw(&r, 3));
        if (open_bytes(&t, &b) == 0) {
            opened++;
            tree_files_encode(&t, &back);
            ck_assert(tfs_span_equal(tfs_buf_span(&back), span_of(&b)));
            tree_files_close(&t);
        }
        tfs_buf_release(&back);
        maker_release(&b);
    }
    ck_assert_uint_gt(opened, 0);
}
END_TEST

/* ---- bids ------------------------------------------------------------------------------------ */

struct bid_case {
    const char *hex, *name;
    int bid;
};

static const struct bid_case bids[] = {
    {A, "theTerrain.ter", TFS_BID_CERTAIN},
    {A, "THE.TER", TFS_BID_CERTAIN},
    {A, "terrain", TFS_BID_FULL},
    {B, "x.dat", TFS_BID_FULL},
    {C, "x.dat", TFS_BID_FULL},
    {A "00", "x.ter", TFS_BID_LOW},
    {A "00", "x.dat", TFS_BID_NONE},
    {"54455252414745", "x.ter", TFS_BID_LOW},
    {"", "x.ter", TFS_BID_NONE},
    {"54455252414745", ".ter", TFS_BID_NONE},
};

START_TEST(ter_bids_on_a_full_parse_and_on_its_name)
{
    const struct bid_case *c = &bids[_i];
    char path[] = "/tmp/tfs-probe-XXXXXX";
    struct maker_bytes b = {0};

    place_hex(&b, c->hex);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, b.data, b.size), (ssize_t)b.size);
    struct tfs_probe probe = {.path = path, .name = c->name, .head = span_of(&b), .fd = fd};
    ck_assert_int_eq(fstat(fd, &probe.st), 0);
    ck_assert_int_eq(tfs_beamng_ter.probe(&probe), c->bid);
    close(fd);
    unlink(path);
    maker_release(&b);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("beamng_ter");

    TCase *t = unit_case(s, "layout");
    tcase_add_loop_test(t, ter_layout_is_the_one_whose_table_ends_with_the_file, 0,
                        sizeof(layouts) / sizeof(layouts[0]));
    tcase_add_loop_test(t, ter_name_of_255_bytes_has_the_long_length_and_one_of_254_the_short, 0,
                        2);
    tcase_add_loop_test(t, ter_of_every_layout_and_size_is_written_back_as_it_was_read, 0, 24);

    t = unit_case(s, "refuse");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, ter_that_fits_nothing_is_refused_with_a_sentence, 0,
                        sizeof(refusals) / sizeof(refusals[0]));
    tcase_add_loop_test(t, ter_cut_anywhere_is_refused, 0, 4);
    tcase_add_loop_test(t, ter_of_random_bytes_is_refused_or_written_back, 0, 3);

    t = unit_case(s, "bid");
    tcase_add_loop_test(t, ter_bids_on_a_full_parse_and_on_its_name, 0,
                        sizeof(bids) / sizeof(bids[0]));
    return s;
}

UNIT_MAIN(suite)
