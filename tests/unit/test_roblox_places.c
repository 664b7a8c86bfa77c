/* formats/roblox/binary and xml: places that hold terrain, what an edit changes of them, and which
 * are refused. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/place_case.h"
#include "formats/roblox/physics.h"
#include "formats/roblox/source.h"
#include "limit_memory.h"

/* ---- places to test -------------------------------------------------------------------------- */

struct place {
    const struct tfs_container *container;
    struct maker_bytes bytes;
};

/* Made ones of each kind; `log2` of the edge of their chunks. */
#define MADE 5

static struct place make_place(int i, unsigned log2)
{
    const struct place_file file = {
        .world = {.seed = (uint64_t)i + 1, .chunks = 6, .log2 = log2},
        .regions = (unsigned)i % 3,
        .coding = (enum place_coding)(i % 3),
        .physics = true,
    };
    struct place place = {.container = i < 3 ? &tfs_rbx_binary_container : &tfs_rbx_xml_container};

    if (i < 3)
        place_binary(&place.bytes, &file);
    else
        place_xml(&place.bytes, &file);
    return place;
}

static const struct tfs_container *container_of(const char *path)
{
    const char *ending = strrchr(path, '.');

    if (strcmp(ending, ".bin") == 0)
        return &tfs_rbx_blob_container;
    return ending[strlen(ending) - 1] == 'x' ? &tfs_rbx_xml_container : &tfs_rbx_binary_container;
}

/* Calls `check` with every made place and every real one that is there. */
static void each_place(void (*check)(const struct place *place))
{
    static const char *const patterns[] = {"../shared/samples/roblox/*.bin",
                                           "../shared/samples/roblox/*.rbx*"};

    for (int i = 0; i < MADE; i++) {
        struct place place = make_place(i, 5);
        check(&place);
        maker_release(&place.bytes);
    }
    for (int i = 0; i < COUNT(patterns); i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t n = 0; n < found.gl_pathc; n++) {
            struct place place = {container_of(found.gl_pathv[n]),
                                  place_read_file(found.gl_pathv[n])};
            check(&place);
            maker_release(&place.bytes);
        }
        globfree(&found);
    }
}

/* ---- what is copied and what is written ------------------------------------------------------ */

struct place_sink {
    struct tfs_sink sink; /* first */
    struct maker_bytes bytes;
};

static int write_to_buf(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct place_sink *to = (struct place_sink *)sink;

    (void)err;
    maker_add(&to->bytes, data, size);
    return 0;
}

static void check_rewrite(const struct place *place)
{
    struct tree_files c;

    place_open(&c, place->container, &place->bytes);
    const struct tfs_rbx_source *source = tfs_rbx_source(c.doc);
    ck_assert_uint_gt(source->holder_count, 0);
    for (uint32_t i = 0; i < source->holder_count; i++) {
        struct tfs_rbx_holder *holder = &source->holders[i];
        struct tfs_rbx_pieces values[8] = {0}, body = {0};
        struct place_sink out = {.sink.write = write_to_buf};
        struct tfs_error err = {0};
        ck_assert_uint_le(holder->count, 8);
        for (uint32_t n = 0; n < holder->count; n++)
            tfs_rbx_pieces_add(&values[n], tfs_rbx_value_span(source, holder->first + n));
        source->kind->body(source, holder, values, &body);
        ck_assert_int_eq(tfs_rbx_pieces_check(&body, &err), 0);
        ck_assert_int_eq(source->kind->write(source, holder, &body, &out.sink, &err), 0);
        ck_assert_uint_eq(out.bytes.size, holder->size);
        ck_assert_mem_eq(out.bytes.data, place->bytes.data + holder->at, holder->size);
        for (uint32_t n = 0; n < holder->count; n++)
            tfs_rbx_pieces_release(&values[n]);
        tfs_rbx_pieces_release(&body);
        maker_release(&out.bytes);
    }
    tree_files_close(&c);
}

START_TEST(places_packed_again_are_the_same_bytes)
{
    each_place(check_rewrite);
}
END_TEST

static void check_untouched(const struct place *place)
{
    struct tree_files c;

    place_open(&c, place->container, &place->bytes);
    struct maker_bytes file = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&file), place_span(&place->bytes)));
    maker_release(&file);
    tree_files_close(&c);
}

START_TEST(places_without_an_edit_are_the_same_bytes)
{
    each_place(check_untouched);
}
END_TEST

/* Everything of the file that is no holder. */
static struct maker_bytes without_holders(const struct tree_files *c)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(c->doc);
    struct maker_bytes rest = {0};
    size_t at = 0;

    for (uint32_t i = 0; i < source->holder_count; i++) {
        maker_add(&rest, source->file->data + at, source->holders[i].at - at);
        at = source->holders[i].at + source->holders[i].size;
    }
    maker_add(&rest, source->file->data + at, source->file->size - at);
    return rest;
}

static void check_physics_follows(const struct tree_files *c)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(c->doc);
    const struct tfs_rbx_group *terrain = &source->groups[0];
    struct tfs_error err = {0};
    struct tfs_buf wanted = {0};

    if (terrain->physics == TFS_RBX_NONE)
        return;
    ck_assert_int_eq(tfs_rbx_physics_encode(&source->terrain, NULL, &wanted, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&wanted), tfs_rbx_value_span(source, terrain->physics)));
    tfs_buf_release(&wanted);
}

/* What the codec says of these bytes, as what was written of c->doc: 0 or an error. */
static int check_back(struct tree_files *c, const struct maker_bytes *bytes)
{
    FILE *file = tmpfile();
    struct tfs_readback written;
    struct tfs_error err = {0};
    struct tfs_hash hash;

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    ck_assert_int_eq(fflush(file), 0);
    if (tfs_readback_init(&written, fileno(file), bytes->size, &err) == 0 &&
        c->save->container->file->check(c->save, c->doc, &written, &err) == 0 &&
        tfs_readback_end(&written, &hash, &err) == 0)
        ck_assert(tfs_hash_equal(hash, tfs_hash_of(place_span(bytes))));
    tfs_readback_release(&written);
    fclose(file);
    return err.code;
}

static const struct tfs_chunk *first_chunk(const struct tfs_doc *doc)
{
    ck_assert_uint_gt(doc->count, 0);
    return tfs_doc_at(doc, 0);
}

static void check_edit(const struct place *place)
{
    struct tree_files c;
    struct tree_files again;
    struct tfs_error err = {0};
    struct tfs_put put = {0};

    place_open(&c, place->container, &place->bytes);
    const struct tfs_key key = first_chunk(c.doc)->key;
    struct maker_bytes raw = place_get(&c, PLACE_LENS(PLACE_RAW), key);
    ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_MATERIALS), key, "fill 31", &err), 0);
    struct maker_bytes file = place_encode(&c);
    ck_assert_int_eq(check_back(&c, &file), 0);
    place_open(&again, place->container, &file);

    /* The chunk is as it was written, the others are the very same, the rest of the file too. */
    ck_assert_uint_eq(again.doc->count, c.doc->count);
    for (size_t i = 0; i < c.doc->count; i++)
        ck_assert(tfs_chunk_same(tfs_doc_at(c.doc, i), tfs_doc_at(again.doc, i)));
    struct maker_bytes rest = without_holders(&c);
    struct maker_bytes rest_again = without_holders(&again);
    ck_assert(tfs_span_equal(place_span(&rest), place_span(&rest_again)));
    check_physics_follows(&again);

    /* Taken back, it is the file that was opened. */
    ck_assert_int_eq(place_put(&c, PLACE_LENS(PLACE_RAW), key, place_span(&raw), &put, &err), 0);
    struct maker_bytes back = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&back), place_span(&place->bytes)));
    maker_release(&rest);
    maker_release(&rest_again);
    maker_release(&raw);
    maker_release(&file);
    maker_release(&back);
    tree_files_close(&c);
    tree_files_close(&again);
}

START_TEST(places_change_by_the_edited_value_alone)
{
    each_place(check_edit);
}
END_TEST

static bool says_the_same(const struct tree_files *c, const struct maker_bytes *file)
{
    struct tfs_error err = {0};
    struct tree_files again;
    bool same = place_try(c->save->container, place_span(file), &err) == 0;

    if (!same)
        return false;
    place_open(&again, c->save->container, file);
    same = again.doc->count == c->doc->count;
    for (size_t i = 0; same && i < c->doc->count; i++)
        same = tfs_chunk_same(tfs_doc_at(c->doc, i), tfs_doc_at(again.doc, i));
    tree_files_close(&again);
    return same;
}

/* Some bits of packed data and of base64 mean nothing; all others must be as they were written. */
START_TEST(places_with_a_byte_that_was_not_written_are_found)
{
    struct place place = make_place(_i, 2);
    struct tree_files c;
    struct tfs_error err = {0};
    unsigned found = 0;

    place_open(&c, place.container, &place.bytes);
    ck_assert_int_eq(
        place_write(&c, PLACE_LENS(PLACE_MATERIALS), first_chunk(c.doc)->key, "fill 31", &err), 0);
    struct maker_bytes file = place_encode(&c);
    for (size_t i = 0; i < file.size; i++) {
        file.data[i] ^= (uint8_t)(1u << i % 8);
        const int code = check_back(&c, &file);
        ck_assert(code == -EIO || (code == 0 && says_the_same(&c, &file)));
        found += code != 0;
        file.data[i] ^= (uint8_t)(1u << i % 8);
    }
    ck_assert_uint_gt(found, file.size * 9 / 10);
    for (size_t size = 0; size < file.size; size++) {
        const struct maker_bytes cut = {.data = file.data, .size = size};
        ck_assert_int_eq(check_back(&c, &cut), -EIO);
    }
    maker_u8(&file, 0);
    ck_assert_int_eq(check_back(&c, &file), -EIO);
    maker_release(&file);
    maker_release(&place.bytes);
    tree_files_close(&c);
}
END_TEST

/* The stored PhysicsGrid of a real place and ours say the same, list by list or in one. */
static int compare_positions(const void *a, const void *b)
{
    return tfs_rbx_position_compare(*(const struct tfs_rbx_position *)a,
                                    *(const struct tfs_rbx_position *)b);
}

static size_t read_physics(struct tfs_span value, struct tfs_rbx_position *out, size_t room)
{
    struct tfs_cursor c = tfs_cursor_init(value);
    size_t count = 0;

    tfs_cursor_seek(&c, 2);
    for (int list = 0; list < 3; list++) {
        struct tfs_rbx_position at = {0};
        for (uint32_t n = tfs_take_u32be(&c); n > 0; n--) {
            ck_assert_uint_lt(count, room);
            at = tfs_rbx_offset_take(&c, at);
            out[count++] = at;
        }
    }
    ck_assert(!c.failed);
    qsort(out, count, sizeof(*out), compare_positions);
    return count;
}

#define REGIONS_MAX 65536

static void check_real_physics(const struct place *place)
{
    static struct tfs_rbx_position stored[REGIONS_MAX];
    static struct tfs_rbx_position ours[REGIONS_MAX];
    struct tree_files c;
    struct tfs_error err = {0};
    struct tfs_buf encoded = {0};

    place_open(&c, place->container, &place->bytes);
    const struct tfs_rbx_source *source = tfs_rbx_source(c.doc);
    const struct tfs_rbx_group *terrain = &source->groups[0];
    /* Made places have an empty one. */
    if (terrain->physics != TFS_RBX_NONE && source->values[terrain->physics].size > 14) {
        ck_assert_int_eq(tfs_rbx_physics_encode(&source->terrain, NULL, &encoded, &err), 0);
        size_t count =
            read_physics(tfs_rbx_value_span(source, terrain->physics), stored, REGIONS_MAX);
        ck_assert_uint_eq(read_physics(tfs_buf_span(&encoded), ours, REGIONS_MAX), count);
        ck_assert_mem_eq(stored, ours, count * sizeof(*stored));
    }
    tfs_buf_release(&encoded);
    tree_files_close(&c);
}

START_TEST(physics_of_real_places_is_ours)
{
    each_place(check_real_physics);
}
END_TEST

START_TEST(physics_stays_when_no_voxel_changed)
{
    struct place place = make_place(0, 5);
    struct tree_files c;
    struct tree_files again;
    struct tfs_error err = {0};
    const struct tfs_key far = {0, 100, 100, 100};

    /* A new chunk is of Air. */
    place_open(&c, place.container, &place.bytes);
    ck_assert_int_eq(place_create(&c, far, &err), 0);
    struct maker_bytes file = place_encode(&c);
    place_open(&again, place.container, &file);
    ck_assert_uint_eq(again.doc->count, 7);
    const struct tfs_rbx_source *source = tfs_rbx_source(again.doc);
    ck_assert_uint_eq(source->values[source->groups[0].physics].size, 14);
    tree_files_close(&again);
    maker_release(&file);

    /* A voxel in it is seen. */
    ck_assert_int_eq(
        place_write(&c, PLACE_LENS(PLACE_VOXELS), far,
                    "x,y,z,material,occupancy,water\n3204,3204,3204,Rock,255,0\n", &err),
        0);
    file = place_encode(&c);
    place_open(&again, place.container, &file);
    source = tfs_rbx_source(again.doc);
    ck_assert_uint_gt(source->values[source->groups[0].physics].size, 14);
    check_physics_follows(&again);
    tree_files_close(&again);
    maker_release(&file);
    tree_files_close(&c);
    maker_release(&place.bytes);
}
END_TEST

START_TEST(regions_are_edited_apart)
{
    const struct place_file wanted = {
        .world = {.seed = 3, .chunks = 6, .log2 = 4}, .regions = 2, .physics = true};

    for (int xml = 0; xml < 2; xml++) {
        const struct tfs_container *container =
            xml ? &tfs_rbx_xml_container : &tfs_rbx_binary_container;
        struct maker_bytes bytes = {0};
        struct tree_files c;
        struct tree_files again;
        struct tfs_error err = {0};
        if (xml)
            place_xml(&bytes, &wanted);
        else
            place_binary(&bytes, &wanted);
        place_open(&c, container, &bytes);
        ck_assert_uint_eq(tfs_rbx_tree.groups(c.doc), 3);
        ck_assert_uint_eq(tfs_doc_group_count(c.doc, 1), 3);
        ck_assert_uint_eq(tfs_doc_group_count(c.doc, 2), 2);
        ck_assert_int_eq(place_create(&c, (struct tfs_key){2, 9, 9, 9}, &err), 0);
        ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_MATERIALS), (struct tfs_key){2, 9, 9, 9},
                                     "fill 2", &err),
                         0);
        ck_assert_int_eq(place_create(&c, (struct tfs_key){3, 9, 9, 9}, &err), -EROFS);
        struct maker_bytes file = place_encode(&c);
        place_open(&again, container, &file);
        ck_assert_uint_eq(tfs_doc_group_count(again.doc, 2), 3);
        const struct tfs_rbx_source *old = tfs_rbx_source(c.doc);
        const struct tfs_rbx_source *new = tfs_rbx_source(again.doc);
        for (uint32_t i = 0; i < old->value_count; i++)
            ck_assert_int_eq(tfs_span_equal(tfs_rbx_value_span(old, i), tfs_rbx_value_span(new, i)),
                             i != old->groups[2].grid);
        maker_release(&file);
        maker_release(&bytes);
        tree_files_close(&c);
        tree_files_close(&again);
    }
}
END_TEST

/* ---- vectors that an independent codec made -------------------------------------------------- */

START_TEST(prop_is_stored_and_packed_as_in_the_vectors)
{
    static const char *const props[] = {
        "50524f50 00000000 19000000 00000000 03000000 0a000000 536d6f6f746847726964 01 02000000 "
        "0105",
        "50524f50 1b000000 19000000 00000000 f00a 03000000 0a000000 536d6f6f746847726964 01 "
        "02000000 0105",
    };
    for (int i = 0; i < COUNT(props); i++) {
        struct maker_bytes file = {0};
        struct maker_bytes inst = {0};
        struct tree_files c;
        place_magic(&file, 1, 1);
        place_inst(&inst, 3, "Terrain", 1);
        place_chunk(&file, "INST", PLACE_LZ4, &inst);
        place_hex(&file, props[i]);
        place_end(&file);
        place_open(&c, &tfs_rbx_binary_container, &file);
        ck_assert_ptr_null(tfs_rbx_locked(c.doc, 0));
        const struct place place = {&tfs_rbx_binary_container, file};
        check_rewrite(&place);
        maker_release(&inst);
        maker_release(&file);
        tree_files_close(&c);
    }
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

/* A small place of kind i, and its bytes cut off anywhere, and any of them another. */
START_TEST(places_cut_off_anywhere_are_refused)
{
    struct place place = make_place(_i, 2);

    /* The last byte of an XML place is a line end that nobody needs. */
    for (size_t size = 0; size + 1 < place.bytes.size; size++) {
        struct tfs_error err = {0};
        int result = place_try(place.container, (struct tfs_span){place.bytes.data, size}, &err);
        ck_assert_msg(result < 0, "accepted when cut off at %zu", size);
        ck_assert_int_eq(result, err.code);
    }
    maker_release(&place.bytes);
}
END_TEST

START_TEST(places_with_a_wrong_byte_are_read_or_refused)
{
    struct place place = make_place(_i, 2);
    int refused = 0;

    for (size_t at = 0; at < place.bytes.size; at++) {
        struct tfs_error err = {0};
        const uint8_t right = place.bytes.data[at];
        place.bytes.data[at] = (uint8_t)(right ^ (1 + at % 255));
        refused += place_try(place.container, place_span(&place.bytes), &err) < 0;
        place.bytes.data[at] = right;
    }
    ck_assert_int_gt(refused, 100);
    maker_release(&place.bytes);
}
END_TEST

static Suite *places_suite(void)
{
    Suite *suite = suite_create("roblox_places");
    TCase *places = unit_case(suite, "places");
    TCase *damage = unit_case(suite, "damage");

    if (access("../shared/samples/roblox", F_OK) != 0)
        printf("ok 1 - real places # skip ../shared/samples/roblox is not there\n");
    tcase_set_timeout(places, 120);
    tcase_add_test(places, places_packed_again_are_the_same_bytes);
    tcase_add_test(places, places_without_an_edit_are_the_same_bytes);
    tcase_add_test(places, places_change_by_the_edited_value_alone);
    tcase_add_loop_test(places, places_with_a_byte_that_was_not_written_are_found, 0, MADE);
    tcase_add_test(places, physics_of_real_places_is_ours);
    tcase_add_test(places, physics_stays_when_no_voxel_changed);
    tcase_add_test(places, regions_are_edited_apart);
    tcase_add_test(places, prop_is_stored_and_packed_as_in_the_vectors);
    tcase_set_timeout(damage, 120);
    tcase_add_loop_test(damage, places_cut_off_anywhere_are_refused, 0, MADE);
    tcase_add_loop_test(damage, places_with_a_wrong_byte_are_read_or_refused, 0, MADE);
    return suite;
}

UNIT_MAIN(places_suite)
