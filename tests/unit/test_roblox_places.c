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

static const struct tfs_key origin;

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
    struct maker_bytes raw = place_get(&c, &tfs_rbx_raw_lens, key);
    ck_assert_int_eq(place_write(&c, &tfs_rbx_materials_lens, key, "fill 31", &err), 0);
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
    ck_assert_int_eq(place_put(&c, &tfs_rbx_raw_lens, key, place_span(&raw), &put, &err), 0);
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
        place_write(&c, &tfs_rbx_materials_lens, first_chunk(c.doc)->key, "fill 31", &err), 0);
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
        place_write(&c, &tfs_rbx_voxels_lens, far,
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
        ck_assert_int_eq(
            place_write(&c, &tfs_rbx_materials_lens, (struct tfs_key){2, 9, 9, 9}, "fill 2", &err),
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

/* ---- what a file may be short of ------------------------------------------------------------- */

/* An INST and its values, in a binary file that has nothing else. */
struct bare {
    const char *class;
    uint32_t instances;
    const char *property; /* NULL: none */
    unsigned type;
    const char *values[4]; /* hex */
};

static void bare_prop(struct maker_bytes *payload, const struct bare *bare)
{
    struct maker_bytes values[4] = {{0}};

    for (uint32_t i = 0; i < bare->instances; i++)
        place_hex(&values[i], bare->values[i]);
    place_prop(payload, 5, bare->property, values, bare->instances);
    payload->data[8 + strlen(bare->property)] = (uint8_t)bare->type;
    for (int i = 0; i < 4; i++)
        maker_release(&values[i]);
}

static struct maker_bytes make_bare(const struct bare *bares, int count)
{
    struct maker_bytes file = {0};
    struct maker_bytes payload = {0};
    const char *last = "";

    place_magic(&file, 1, 1);
    for (int i = 0; i < count; i++) {
        if (strcmp(last, bares[i].class) != 0) {
            payload.size = 0;
            place_inst(&payload, 5, bares[i].class, bares[i].instances);
            place_chunk(&file, "INST", PLACE_LZ4, &payload);
            last = bares[i].class;
        }
        if (bares[i].property == NULL)
            continue;
        payload.size = 0;
        bare_prop(&payload, &bares[i]);
        place_chunk(&file, "PROP", PLACE_STORED, &payload);
    }
    place_end(&file);
    maker_release(&payload);
    return file;
}

#define OLD_TERRAIN                                                                                \
    "the terrain is of the old kind (ClusterGrid): open the place in Roblox Studio, which "        \
    "converts it, and save it"

static const struct {
    struct bare bares[2];
    int count;
    const char *says;
} locks[] = {
    {{{"Part", 1, NULL, 0, {0}}}, 1, "this file has no Terrain"},
    {{{"Terrain", 0, NULL, 0, {0}}}, 1, "this file has no Terrain"},
    {{{"Terrain", 1, NULL, 0, {0}}}, 1, "the Terrain has no SmoothGrid"},
    {{{"Terrain", 1, "ClusterGridV2", 1, {"01 05"}}}, 1, OLD_TERRAIN},
    {{{"Terrain", 1, "SmoothGrid", 0x1c, {"00"}}},
     1,
     "the terrain is not stored as a byte string, which is all we can write"},
    {{{"Terrain", 1, "PhysicsGrid", 1, {"03 03"}}, {"Terrain", 1, "SmoothGrid", 1, {"01 05"}}},
     2,
     "PhysicsGrid is of a version we cannot write, so the voxels must stay as they are"},
};

START_TEST(places_that_cannot_be_written_say_why)
{
    struct maker_bytes file = make_bare(locks[_i].bares, locks[_i].count);
    struct tree_files c;
    struct tfs_error err = {0};

    place_open(&c, &tfs_rbx_binary_container, &file);
    ck_assert_uint_eq(c.doc->count, 0);
    ck_assert_str_eq(tfs_facts_find(c.doc->facts, TFS_NOTE_READ_ONLY), locks[_i].says);
    ck_assert_int_eq(place_create(&c, origin, &err), -EROFS);
    ck_assert_str_eq(err.text, locks[_i].says);
    struct maker_bytes same = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&same), place_span(&file)));
    maker_release(&same);
    maker_release(&file);
    tree_files_close(&c);
}
END_TEST

START_TEST(terrain_beyond_the_first_is_kept_and_named)
{
    const struct bare two = {"Terrain", 2, "SmoothGrid", 1, {"01 00", "01 05"}};
    struct maker_bytes file = make_bare(&two, 1);
    struct tree_files c;
    struct tfs_error err = {0};

    place_open(&c, &tfs_rbx_binary_container, &file);
    ck_assert_str_eq(tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING),
                     "there are 2 Terrains: the first is shown, the others are kept");
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    const struct bare wanted = {
        "Terrain", 2, "SmoothGrid", 1, {"01 00 000000 000000 000000 000000 00", "01 05"}};
    struct maker_bytes expected = make_bare(&wanted, 1);
    ck_assert(tfs_span_equal(place_span(&made), place_span(&expected)));
    maker_release(&file);
    maker_release(&made);
    maker_release(&expected);
    tree_files_close(&c);
}
END_TEST

START_TEST(value_without_bytes_stays_so_until_it_has_a_chunk)
{
    const struct bare empty = {"Terrain", 1, "SmoothGrid", 1, {""}};
    struct maker_bytes file = make_bare(&empty, 1);
    struct tree_files c;
    struct tfs_error err = {0};

    place_open(&c, &tfs_rbx_binary_container, &file);
    struct maker_bytes same = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&same), place_span(&file)));
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    ck_assert_uint_eq(made.size, file.size + 2 + 12 + 256);
    maker_release(&file);
    maker_release(&same);
    maker_release(&made);
    tree_files_close(&c);
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

/* ---- binary files that are refused ----------------------------------------------------------- */

#define MAGIC "3c726f626c6f7821 89ff0d0a1a0a 0000 01000000 01000000 00000000 00000000"
#define INST                                                                                       \
    "494e5354 00000000 18000000 00000000 05000000 07000000 5465727261696e 00 01000000 00000000"
#define END        "454e4400 00000000 09000000 00000000 3c2f726f626c6f783e"
#define PROP       "50524f50 00000000 "
#define NAMED_BODY "05000000 0a000000 536d6f6f746847726964 "
#define NAMED      "00000000 " NAMED_BODY

static const struct {
    const char *file;
    int code;
    const char *says;
} bad_binaries[] = {
    {"3c726f626c6f7820", -EBADMSG, "offset 0: does not begin as a binary place or model does"},
    {"3c726f626c6f7821 89ff0d0a1a0a 0000", -EBADMSG, "the head of the file is cut off"},
    {"3c726f626c6f7821 89ff0d0a1a0a 0100 01000000 01000000 00000000 00000000", -ENOTSUP,
     "binary version 1 is not supported, only version 0"},
    {MAGIC, -EBADMSG, "offset 32: the file ends without an END chunk"},
    {MAGIC INST, -EBADMSG, "offset 72: the file ends without an END chunk"},
    {MAGIC "494e5354 00000000 ffffffff 00000000", -EBADMSG,
     "offset 32: the chunk goes past the end of the file"},
    {MAGIC INST INST END, -EBADMSG, "offset 72, chunk INST: two classes have the id 5"},
    {MAGIC "494e5354 00000000 18000000 00000000 05000000 07000000 5465727261696e 00 07000000 "
           "00000000" END,
     -EBADMSG, "offset 32, chunk INST: it is cut off within its instances"},
    {MAGIC "494e5354 00000000 04000000 00000000 05000000" END, -EBADMSG,
     "offset 32, chunk INST: it is cut off"},
    {MAGIC PROP "1a000000 " NAMED "01 02000000 0105 00" INST END, -EBADMSG,
     "offset 32, chunk PROP: a property of class 5, which has no INST before"},
    {MAGIC INST PROP "12000000 " NAMED END, -EBADMSG, "offset 72, chunk PROP: it is cut off"},
    {MAGIC INST PROP "1a000000 " NAMED "01 02000000 0105 00" END, -EBADMSG,
     "offset 72, chunk PROP: 1 bytes behind its last value"},
    {MAGIC INST PROP "19000000 " NAMED "01 03000000 0105" END, -EBADMSG,
     "offset 72, chunk PROP: value 1 of 1 is cut off"},
    {MAGIC INST PROP "19000000 " NAMED "01 02000000 0105" PROP "19000000 " NAMED
                     "01 02000000 0105" END,
     -EBADMSG, "offset 113, chunk PROP: the Terrain has the property SmoothGrid twice"},
    {MAGIC INST PROP "19000000 " NAMED "01 02000000 0205" END, -ENOTSUP,
     "SmoothGrid of the Terrain: SmoothGrid version 2 is not supported, only version 1"},
    /* LZ4: an offset before the start; then one that claims too much, and one that gives less. */
    {MAGIC INST "50524f50 05000000 20000000 00000000 10 41 ffff 00" END, -EBADMSG,
     "offset 72, chunk PROP: its LZ4 data is damaged, or not of the 32 bytes it should be"},
    {MAGIC INST "50524f50 1b000000 ffffff0f 00000000 f00a 05000000 0a000000 "
                "536d6f6f746847726964 01 02000000 0105" END,
     -EBADMSG,
     "offset 72, chunk PROP: its LZ4 data is damaged, or not of the 268435455 bytes it should be"},
    {MAGIC INST "50524f50 1b000000 1a000000 00000000 f00a 05000000 0a000000 "
                "536d6f6f746847726964 01 02000000 0105" END,
     -EBADMSG,
     "offset 72, chunk PROP: its LZ4 data is damaged, or not of the 26 bytes it should be"},
    {MAGIC INST "50524f50 1b000000 01000010 00000000 f00a 05000000 0a000000 "
                "536d6f6f746847726964 01 02000000 0105" END,
     -EFBIG,
     "offset 72, chunk PROP: it would unpack to 268435457 bytes, at most 268435456 are read"},
    /* Zstandard: a frame that is cut off. */
    {MAGIC INST "50524f50 06000000 20000000 00000000 28b52ffd 2020" END, -EBADMSG,
     "offset 72, chunk PROP: it is cut off"},
};

START_TEST(binary_is_refused_with_place_and_reason)
{
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    place_hex(&file, bad_binaries[_i].file);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err),
                     bad_binaries[_i].code);
    ck_assert_str_eq(err.text, bad_binaries[_i].says);
    maker_release(&file);
}
END_TEST

START_TEST(zstandard_frame_of_another_size_is_refused)
{
    const struct bare bare = {"Terrain", 1, NULL, 0, {0}};
    struct maker_bytes grid = {0};
    struct maker_bytes payload = {0};
    struct tfs_error err = {0};

    place_hex(&grid, "01 05");
    place_prop(&payload, 5, "SmoothGrid", &grid, 1);
    struct maker_bytes file = make_bare(&bare, 1);
    size_t end = file.size - 25;
    file.size = end;
    place_chunk(&file, "PROP", PLACE_ZSTD, &payload);
    place_end(&file);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), 0);
    file.data[end + 8]++; /* the size that the chunk claims */
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "its Zstandard data is damaged"));
    maker_release(&file);
    maker_release(&grid);
    maker_release(&payload);
}
END_TEST

/* A place whose one SmoothGrid begins so and goes on with zeros. */
static struct maker_bytes make_bomb(enum place_coding coding, const char *begin, size_t zeros)
{
    const struct bare bare = {"Terrain", 1, NULL, 0, {0}};
    struct maker_bytes grid = {0}, payload = {0}, file = make_bare(&bare, 1);
    static const uint8_t none[4096];

    place_hex(&grid, begin);
    for (; zeros > 0; zeros -= sizeof(none))
        maker_add(&grid, none, sizeof(none));
    place_prop(&payload, 5, "SmoothGrid", &grid, 1);
    file.size -= 25; /* its END */
    place_chunk(&file, "PROP", coding, &payload);
    place_end(&file);
    maker_release(&grid);
    maker_release(&payload);
    return file;
}

static const struct {
    const char *begin, *says;
} bombs[] = {
    {"00 05", "SmoothGrid version 0 is not supported"},
    {"01 09", "chunks with an edge of 2^9 voxels are not supported"},
};

START_TEST(packed_bomb_is_refused_by_what_it_begins_with)
{
    const enum place_coding coding = _i % 2 == 0 ? PLACE_ZSTD : PLACE_LZ4;
    struct maker_bytes file = make_bomb(coding, bombs[_i / 2].begin, (size_t)128 << 20);
    struct tfs_error err = {0};

    limit_memory((size_t)64 << 20);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, bombs[_i / 2].says));
    maker_release(&file);
}
END_TEST

START_TEST(zstandard_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken)
{
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    /* A frame that says 128 MiB and has one raw block: the head and the begin of a value. */
    place_hex(&file,
              MAGIC INST "50524f50 2d000000 00000008 00000000"
                         "28b52ffd 80 00 00000008 190100"
                         "05000000 0a000000 536d6f6f746847726964 01 08000000 0105 0000000000");
    place_hex(&file, END);
    limit_memory((size_t)64 << 20);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -EBADMSG);
    ck_assert_msg(strstr(err.text, "its Zstandard data is damaged") != NULL, "%s", err.text);
    maker_release(&file);
}
END_TEST

/* LZ4 whose first 64 bytes, which are looked at, are in order: 66 literals, then nonsense. */
static void add_broken_property(struct maker_bytes *file)
{
    place_hex(file, "50524f50 47000000 00010000 00000000 f0 33 05000000 05000000 4e616d6531");
    for (int i = 0; i < 53; i++)
        maker_u8(file, 'x');
    place_hex(file, "ffff 00");
}

START_TEST(binary_tolerates_what_is_none_of_its_business)
{
    struct maker_bytes file = {0};
    struct tree_files c;
    struct tfs_error err = {0};

    place_hex(&file, MAGIC "58595a20 00000000 01000000 00000000 ff" INST);
    size_t prop = file.size;
    place_hex(&file, "50524f50 00000000 19000000 eeeeeeee " NAMED_BODY "01 02000000 0105");
    size_t behind = file.size;
    add_broken_property(&file);
    place_hex(&file, END "0102");
    place_open(&c, &tfs_rbx_binary_container, &file);
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    behind = file.size - behind;
    ck_assert_uint_eq(made.size, file.size + 12 + 256);
    ck_assert_mem_eq(made.data, file.data, prop);
    ck_assert_mem_eq(made.data + made.size - behind, file.data + file.size - behind, behind);
    /* The reserved field is kept. */
    ck_assert_mem_eq(made.data + prop + 12, "\xee\xee\xee\xee", 4);
    maker_release(&file);
    maker_release(&made);
    tree_files_close(&c);
}
END_TEST

/* ---- XML ------------------------------------------------------------------------------------- */

#define XML(inside)     "<roblox version=\"4\">" inside "</roblox>"
#define ITEM(inside)    "<Item class=\"Terrain\"><Properties>" inside "</Properties></Item>"
#define GRID(text)      "<BinaryString name=\"SmoothGrid\">" text "</BinaryString>"
#define TERRAIN(inside) XML(ITEM(inside))

static const struct {
    const char *file;
    uint32_t regions;
    const char *locked; /* NULL: the Terrain can be written */
} good_xml[] = {
    {TERRAIN(GRID("AQU=")), 0, NULL},
    {TERRAIN(GRID("<![CDATA[AQU=]]>")), 0, NULL},
    {TERRAIN(GRID(" \r\n AQ\nU\t= ")), 0, NULL},
    {TERRAIN(GRID("")), 0, NULL},
    {TERRAIN("<BinaryString name=\"SmoothGrid\"/>"), 0, NULL},
    {TERRAIN("<BinaryString  name = 'SmoothGrid' >AQU=</BinaryString >"), 0, NULL},
    {"\xef\xbb\xbf\r\n<?xml version=\"1.0\"?>\r\n" TERRAIN(GRID("AQU=")) "\r\nrest", 0, NULL},
    {XML("<Item class=\"Workspace\"><Properties></Properties>" ITEM(GRID("AQU=")) "</Item>"), 0,
     NULL},
    {XML("<Item class='TerrainRegion'><Properties>" GRID("AQU=") "</Properties></Item>"), 1,
     "this file has no Terrain"},
    /* What only looks like it. */
    {XML("<!-- " ITEM(GRID("AQU=")) " -->"), 0, "this file has no Terrain"},
    {XML("<Item class=\"Script\"><Properties><ProtectedString name=\"Source\"><![CDATA[" ITEM(
         GRID("AQU=")) "]]></ProtectedString></Properties></Item>"),
     0, "this file has no Terrain"},
    {XML("<Item class=\"Part\" name=\"&lt;Item class=>\"><Properties>" GRID("AQU=") "</Properties>"
                                                                                    "</Item>"),
     0, "this file has no Terrain"},
    {TERRAIN("<string name=\"SmoothGrid\">AQU=</string>"), 0, "the Terrain has no SmoothGrid"},
    {TERRAIN("<Folder>" GRID("AQU=") "</Folder>"), 0, "the Terrain has no SmoothGrid"},
    {XML("<Item class=\"Terrain\">" GRID("AQU=") "</Item>"), 0, "the Terrain has no SmoothGrid"},
    {XML("<Item class=\"Terrain\"><Properties></Properties><Item class=\"Part\"><Properties>" GRID(
         "AQU=") "</Properties></Item></Item>"),
     0, "the Terrain has no SmoothGrid"},
    {TERRAIN("<BinaryString name=\"ClusterGridV3\">AQI=</BinaryString>"), 0, OLD_TERRAIN},
    {TERRAIN("<BinaryString name=\"ClusterGridV3\">AQI=</BinaryString>" GRID("AQU=")), 0, NULL},
    {TERRAIN(GRID("AQU=") "<BinaryString name=\"ClusterGridV3\">AQI=</BinaryString>"), 0, NULL},
    {TERRAIN("<SharedString name=\"SmoothGrid\">yuZpQdnvvUBOTYh1jqZ2cA==</SharedString>"), 0,
     "the terrain is not stored as a byte string, which is all we can write"},
    {TERRAIN("<BinaryString name=\"PhysicsGrid\">AwM=</BinaryString>" GRID("AQU=")), 0,
     "PhysicsGrid is of a version we cannot write, so the voxels must stay as they are"},
    {"<roblox/>", 0, "this file has no Terrain"},
};

START_TEST(xml_terrain_is_found_where_it_is)
{
    struct maker_bytes file = {0};
    struct tree_files c;

    maker_add(&file, good_xml[_i].file, strlen(good_xml[_i].file));
    place_open(&c, &tfs_rbx_xml_container, &file);
    const char *locked = tfs_rbx_locked(c.doc, 0);
    if (good_xml[_i].locked == NULL)
        ck_assert_ptr_null(locked);
    else
        ck_assert_str_eq(locked, good_xml[_i].locked);
    ck_assert_uint_eq(tfs_rbx_tree.groups(c.doc), good_xml[_i].regions + 1);
    const struct tfs_probe probe = {.head = place_span(&file), .fd = -1};
    ck_assert_int_eq(tfs_rbx_xml_container.probe(&probe), TFS_BID_CERTAIN);
    struct maker_bytes same = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&same), place_span(&file)));
    maker_release(&same);
    maker_release(&file);
    tree_files_close(&c);
}
END_TEST

static const struct {
    const char *file, *says;
} bad_xml[] = {
    {"", "offset 0: the text is cut off within an element"},
    {"<robloxx>", "offset 0: the outermost element is not <roblox>"},
    {"<roblox>", "offset 8: the text is cut off within an element"},
    {"<roblox", "offset 0: the text is cut off within a tag"},
    {"<roblox a", "offset 0: this is no tag"},
    {"<roblox a=", "offset 0: an attribute without quotes"},
    {"<roblox a=b>", "offset 0: an attribute without quotes"},
    {"<roblox a=\"b>", "offset 0: the text is cut off within a tag"},
    {"<roblox></Item>", "offset 8: a closing tag without an opening one"},
    {"<roblox><Item></roblox>", "offset 14: a closing tag without an opening one"},
    {"<roblox><![CDATA[", "offset 8: the text is cut off within <![CDATA["},
    {"<roblox><!--->", "offset 8: the text is cut off within <!--"},
    {"<!DOCTYPE roblox [<!ENTITY a \"b\">]><roblox/>",
     "offset 0: a declaration, which no place file has"},
    {"<roblox>< a></roblox>", "offset 8: this is no tag"},
    {TERRAIN(GRID("AQU")), "offset 89: the base64 text is cut off"},
    {TERRAIN(GRID("AQU==")), "offset 90: not base64"},
    {TERRAIN(GRID("AQ=U")), "offset 89: not base64"},
    {TERRAIN(GRID("=AQU")), "offset 86: not base64"},
    {TERRAIN(GRID("AQU=AQU=")), "offset 90: not base64"},
    {TERRAIN(GRID("A&#81;U=")), "offset 87: not base64"},
    {TERRAIN(GRID("<![CDATA[AQU=]] >")), "offset 86: the text is cut off within <![CDATA["},
    {TERRAIN(GRID("<!-- -->AQU=")), "offset 86: something else than text inside of a value"},
    {TERRAIN(GRID("<b>AQU=</b>")), "offset 86: a tag inside of a value"},
    {"<roblox><Item class=\"Terrain\"><Properties>" GRID("AQU="),
     "offset 93: the text is cut off within an element"},
    {TERRAIN(GRID("AQU=") GRID("AQU=")), "the Terrain has the property SmoothGrid twice"},
    {TERRAIN(GRID("AgU=")),
     "SmoothGrid of the Terrain: SmoothGrid version 2 is not supported, only version 1"},
};

START_TEST(xml_is_refused_with_place_and_reason)
{
    struct tfs_error err = {0};
    int result = place_try(&tfs_rbx_xml_container, tfs_span_of(bad_xml[_i].file), &err);

    ck_assert_int_lt(result, 0);
    ck_assert_str_eq(err.text, bad_xml[_i].says);
}
END_TEST

/* What a value becomes in the file; a chunk of edge 1 is 13 bytes, so values have 2 + 13 n. */
static void check_written(const char *before, int chunks, const char *after)
{
    struct maker_bytes file = {0};
    struct tree_files c;
    struct tfs_error err = {0};

    maker_add(&file, before, strlen(before));
    place_open(&c, &tfs_rbx_xml_container, &file);
    for (int32_t i = 0; i < chunks; i++)
        ck_assert_int_eq(place_create(&c, (struct tfs_key){.x = i}, &err), 0);
    struct maker_bytes made = place_encode(&c);
    maker_u8(&made, 0);
    ck_assert_str_eq((const char *)made.data, after);
    maker_release(&made);
    maker_release(&file);
    tree_files_close(&c);
}

START_TEST(xml_terrain_beyond_the_first_is_kept_and_named)
{
    const char two[] = XML(ITEM(GRID("AQA=")) ITEM(GRID("AgU=")));
    struct maker_bytes file = {0};
    struct tree_files c;

    maker_add(&file, two, strlen(two));
    place_open(&c, &tfs_rbx_xml_container, &file);
    ck_assert_str_eq(tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING),
                     "there are 2 Terrains: the first is shown, the others are kept");
    tree_files_close(&c);
    check_written(two, 1, XML(ITEM(GRID("AQAAAAAAAAAAAAAAAAAA")) ITEM(GRID("AgU="))));
    maker_release(&file);
}
END_TEST

START_TEST(xml_nested_too_deep_is_refused)
{
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    maker_add(&file, "<roblox>", 8);
    for (int i = 0; i < 2000; i++)
        maker_add(&file, "<Item>", 6);
    ck_assert_int_eq(place_try(&tfs_rbx_xml_container, place_span(&file), &err), -EBADMSG);
    ck_assert_str_eq(err.text, "offset 6002: elements more than 1000 deep");
    maker_release(&file);
}
END_TEST

START_TEST(xml_values_are_written_as_the_engine_does)
{
    /* 4 chunks are 72 characters, one line; what is longer stands in CDATA. */
    check_written(TERRAIN(GRID("AQA=")), 1, TERRAIN(GRID("AQAAAAAAAAAAAAAAAAAA")));
    check_written(TERRAIN(GRID("<![CDATA[AQA=]]>")), 1, TERRAIN(GRID("AQAAAAAAAAAAAAAAAAAA")));
    check_written(
        TERRAIN(GRID("AQA=")), 4,
        TERRAIN(GRID("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAABAAAA")));
    check_written(
        TERRAIN(GRID("AQA=")), 5,
        TERRAIN(GRID(
            "<![CDATA[AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAABAAAA\n"
            "AAAAAAAAAAAAAQAAAA==]]>")));
}
END_TEST

START_TEST(xml_empty_tag_is_opened)
{
    const char before[] = "<roblox>\r\n" ITEM("<BinaryString name=\"SmoothGrid\" />") "</roblox>";
    struct maker_bytes file = {0};
    struct tree_files c;
    struct tfs_error err = {0};

    maker_add(&file, before, strlen(before));
    place_open(&c, &tfs_rbx_xml_container, &file);
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    maker_u8(&made, 0);
    ck_assert(strncmp((const char *)made.data,
                      "<roblox>\r\n<Item class=\"Terrain\"><Properties>"
                      "<BinaryString name=\"SmoothGrid\"><![CDATA[AQUA",
                      80) == 0);
    ck_assert_ptr_nonnull(
        strstr((const char *)made.data, "]]></BinaryString></Properties></Item></roblox>"));
    made.size--;
    ck_assert_int_eq(place_try(&tfs_rbx_xml_container, place_span(&made), &err), 0);
    maker_release(&made);
    maker_release(&file);
    tree_files_close(&c);
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
    TCase *locked = unit_case(suite, "locked");
    TCase *binary = unit_case(suite, "binary");
    TCase *xml = unit_case(suite, "xml");
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
    tcase_add_loop_test(locked, places_that_cannot_be_written_say_why, 0, COUNT(locks));
    tcase_add_test(locked, terrain_beyond_the_first_is_kept_and_named);
    tcase_add_test(locked, value_without_bytes_stays_so_until_it_has_a_chunk);
    tcase_add_test(binary, prop_is_stored_and_packed_as_in_the_vectors);
    tcase_add_loop_test(binary, binary_is_refused_with_place_and_reason, 0, COUNT(bad_binaries));
    tcase_add_test(binary, zstandard_frame_of_another_size_is_refused);
    tcase_add_loop_test(binary, packed_bomb_is_refused_by_what_it_begins_with, 0, 2 * COUNT(bombs));
    tcase_add_test(binary,
                   zstandard_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken);
    tcase_add_test(binary, binary_tolerates_what_is_none_of_its_business);
    tcase_add_loop_test(xml, xml_terrain_is_found_where_it_is, 0, COUNT(good_xml));
    tcase_add_loop_test(xml, xml_is_refused_with_place_and_reason, 0, COUNT(bad_xml));
    tcase_add_test(xml, xml_terrain_beyond_the_first_is_kept_and_named);
    tcase_add_test(xml, xml_nested_too_deep_is_refused);
    tcase_add_test(xml, xml_values_are_written_as_the_engine_does);
    tcase_add_test(xml, xml_empty_tag_is_opened);
    tcase_set_timeout(damage, 120);
    tcase_add_loop_test(damage, places_cut_off_anywhere_are_refused, 0, MADE);
    tcase_add_loop_test(damage, places_with_a_wrong_byte_are_read_or_refused, 0, MADE);
    return suite;
}

UNIT_MAIN(places_suite)
