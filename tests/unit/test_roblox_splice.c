/* formats/roblox/splice: blocks of LZ4 that take over what they can of an old one. */
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/place_maker.h"
#include "formats/roblox/splice.h"
#include "unit.h"

static struct tfs_error err;

/* ---- payloads -------------------------------------------------------------------------------- */

static struct tfs_buf terrain(uint64_t seed, unsigned chunks)
{
    const struct place_world world = {.seed = seed, .chunks = chunks, .log2 = 5};
    struct maker_bytes bytes = {0};
    struct tfs_buf out = {0};

    place_grid(&bytes, &world);
    tfs_buf_add(&out, bytes.data, bytes.size);
    maker_release(&bytes);
    return out;
}

static struct tfs_buf pack(struct tfs_span plain)
{
    struct tfs_buf out = {0};
    const int bound = LZ4_compressBound((int)plain.size);
    uint8_t *room = tfs_buf_reserve(&out, (size_t)bound);

    out.size = (size_t)LZ4_compress_default((const char *)plain.data, (char *)room, (int)plain.size,
                                            bound);
    return out;
}

/* An old payload with its block, and a new one in pieces. */
struct splicing {
    struct tfs_buf plain, packed, other;
    struct tfs_rbx_block old;
    struct tfs_rbx_block_index index;
    struct tfs_rbx_pieces payload;
    struct tfs_rbx_splice splice;
};

static void splicing_init(struct splicing *s, struct tfs_buf plain)
{
    *s = (struct splicing){.plain = plain};
    s->packed = pack(tfs_buf_span(&s->plain));
    s->old = (struct tfs_rbx_block){tfs_buf_span(&s->packed), tfs_buf_span(&s->plain)};
    for (uint32_t i = 0; i < 20000; i++)
        tfs_buf_u8(&s->other, (uint8_t)(i * i >> 5));
}

static void splicing_release(struct splicing *s)
{
    tfs_buf_release(&s->plain);
    tfs_buf_release(&s->packed);
    tfs_buf_release(&s->other);
    tfs_rbx_block_index_release(&s->index);
    tfs_rbx_pieces_release(&s->payload);
    tfs_rbx_splice_release(&s->splice);
}

/* `size` bytes of the old payload from `from` on. */
static void keep(struct splicing *s, size_t from, size_t size)
{
    tfs_rbx_pieces_add(&s->payload, (struct tfs_span){s->plain.data + from, size});
}

static void insert(struct splicing *s, size_t from, size_t size)
{
    tfs_rbx_pieces_add(&s->payload, (struct tfs_span){s->other.data + from, size});
}

struct text_sink {
    struct tfs_sink sink; /* first */
    struct tfs_buf out;
};

static int write_text(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *e)
{
    (void)e;
    tfs_buf_add(&((struct text_sink *)sink)->out, data, size);
    return 0;
}

/* Splices; returns the block. */
static struct tfs_buf spliced(struct splicing *s)
{
    struct text_sink to = {.sink.write = write_text};

    ck_assert_int_eq(tfs_rbx_splice_make(&s->old, &s->index, &s->payload, &s->splice, &err), 1);
    ck_assert_int_eq(tfs_rbx_splice_write(&s->old, &s->splice, &to.sink, &err), 0);
    ck_assert_uint_eq(to.out.size, tfs_rbx_splice_size(&s->splice));
    return to.out;
}

static int check_back(struct splicing *s, struct tfs_span bytes)
{
    FILE *file = tmpfile();
    struct tfs_readback written;
    struct tfs_error why = {0};

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    ck_assert_int_eq(fflush(file), 0);
    ck_assert_int_eq(tfs_readback_init(&written, fileno(file), bytes.size, &why), 0);
    tfs_rbx_splice_check(&s->old, &s->splice, &s->payload, &written, &why);
    tfs_readback_release(&written);
    fclose(file);
    return why.code;
}

/* The block is what packing the whole payload makes, and little of it was packed. */
static void check_spliced(struct splicing *s)
{
    struct tfs_buf plain = {0}, block = spliced(s);

    tfs_rbx_pieces_copy(&s->payload, 0, s->payload.size, &plain);
    struct tfs_buf whole = pack(tfs_buf_span(&plain));
    ck_assert_uint_eq(block.size, whole.size);
    ck_assert_mem_eq(block.data, whole.data, whole.size);
    ck_assert_uint_lt(s->splice.fresh.size, whole.size / 2);
    ck_assert_int_eq(check_back(s, tfs_buf_span(&block)), 0);
    tfs_buf_release(&whole);
    tfs_buf_release(&plain);
    tfs_buf_release(&block);
}

#define CHUNKS 700

START_TEST(splice_is_the_block_of_the_whole_payload)
{
    struct maker_random random = {(uint64_t)_i * 77 + 1};
    struct splicing s;

    splicing_init(&s, terrain((uint64_t)_i + 1, CHUNKS));
    const size_t size = s.plain.size;
    const size_t at = _i == 0   ? 0
                      : _i == 1 ? size
                      : _i == 2 ? 30
                      : _i == 3 ? size - 20
                                : maker_draw(&random, (uint32_t)size);
    const size_t gone = maker_draw(&random, (uint32_t)(size - at < 5000 ? size - at + 1 : 5000));
    keep(&s, 0, at);
    insert(&s, maker_draw(&random, 1000), 1 + maker_draw(&random, 3000));
    keep(&s, at + gone, size - at - gone);
    check_spliced(&s);
    splicing_release(&s);
}
END_TEST

START_TEST(splice_goes_through_several_differences)
{
    struct maker_random random = {(uint64_t)_i + 5};
    struct splicing s;
    size_t at = 0;

    splicing_init(&s, terrain(3, 4 * CHUNKS));
    for (int i = 0; i < 3; i++) {
        const size_t next = s.plain.size / 4 * (size_t)(i + 1) + maker_draw(&random, 100000);
        keep(&s, at, next - at);
        insert(&s, 0, maker_draw(&random, 500));
        at = next + maker_draw(&random, 300);
    }
    keep(&s, at, s.plain.size - at);
    check_spliced(&s);
    splicing_release(&s);
}
END_TEST

/* Sequences that another packer made are not gone on with. */
START_TEST(block_of_another_packer_is_not_spliced)
{
    struct splicing s;

    splicing_init(&s, terrain(9, CHUNKS));
    s.packed.size = (size_t)LZ4_compress_fast((const char *)s.plain.data, (char *)s.packed.data,
                                              (int)s.plain.size, (int)s.packed.capacity, 20);
    s.old.packed = tfs_buf_span(&s.packed);
    keep(&s, 0, s.plain.size / 2);
    insert(&s, 0, 100);
    keep(&s, s.plain.size / 2, s.plain.size - s.plain.size / 2);
    ck_assert_int_eq(tfs_rbx_splice_make(&s.old, &s.index, &s.payload, &s.splice, &err), 0);
    splicing_release(&s);
}
END_TEST

START_TEST(payloads_that_have_little_in_common_are_not_spliced)
{
    struct splicing s;

    splicing_init(&s, terrain(9, CHUNKS));
    for (size_t at = 0; at + 90000 < s.plain.size; at += 90000) {
        keep(&s, at, 80000);
        insert(&s, 0, 100);
    }
    ck_assert_int_eq(tfs_rbx_splice_make(&s.old, &s.index, &s.payload, &s.splice, &err), 0);
    splicing_release(&s);
}
END_TEST

/* A byte that is not as it was written is found, or means the same. */
START_TEST(splice_with_a_wrong_byte_is_found)
{
    struct splicing s;

    splicing_init(&s, terrain(5, CHUNKS));
    keep(&s, 0, s.plain.size / 2);
    insert(&s, 0, 100);
    keep(&s, s.plain.size / 2 + 10, s.plain.size - s.plain.size / 2 - 10);
    struct tfs_buf block = spliced(&s), unpacked = {0};
    tfs_rbx_pieces_copy(&s.payload, 0, s.payload.size, &unpacked);
    uint8_t *room = malloc(unpacked.size);
    for (size_t i = 0; i < block.size; i += block.size / 300) {
        block.data[i] ^= (uint8_t)(1u << i % 8);
        const int code = check_back(&s, tfs_buf_span(&block));
        if (code == 0) {
            ck_assert_int_eq(LZ4_decompress_safe((const char *)block.data, (char *)room,
                                                 (int)block.size, (int)unpacked.size),
                             (int)unpacked.size);
            ck_assert_mem_eq(room, unpacked.data, unpacked.size);
        }
        block.data[i] ^= (uint8_t)(1u << i % 8);
    }
    free(room);
    tfs_buf_release(&block);
    tfs_buf_release(&unpacked);
    splicing_release(&s);
}
END_TEST

/* A part that says something else than it was made for. */
START_TEST(splice_that_does_not_make_the_payload_is_found)
{
    struct splicing s;

    splicing_init(&s, terrain(6, CHUNKS));
    keep(&s, 0, s.plain.size / 2);
    insert(&s, 0, 100);
    keep(&s, s.plain.size / 2, s.plain.size - s.plain.size / 2);
    struct tfs_buf block = spliced(&s);
    ck_assert_uint_eq(s.splice.count, 3);
    s.other.data[50] ^= 1;
    ck_assert_int_ne(check_back(&s, tfs_buf_span(&block)), 0);
    s.other.data[50] ^= 1;
    s.splice.pieces[2].old_plain--;
    ck_assert_int_ne(check_back(&s, tfs_buf_span(&block)), 0);
    s.splice.pieces[2].old_plain++;
    s.splice.pieces[1].plain++;
    ck_assert_int_ne(check_back(&s, tfs_buf_span(&block)), 0);
    s.splice.pieces[1].plain--;
    ck_assert_int_eq(check_back(&s, tfs_buf_span(&block)), 0);
    tfs_buf_release(&block);
    splicing_release(&s);
}
END_TEST

static Suite *splice_suite(void)
{
    Suite *suite = suite_create("roblox_splice");
    TCase *making = unit_case(suite, "making"), *checking = unit_case(suite, "checking");

    tcase_add_loop_test(making, splice_is_the_block_of_the_whole_payload, 0, 12);
    tcase_add_loop_test(making, splice_goes_through_several_differences, 0, 3);
    tcase_add_test(making, block_of_another_packer_is_not_spliced);
    tcase_add_test(making, payloads_that_have_little_in_common_are_not_spliced);
    tcase_add_test(checking, splice_with_a_wrong_byte_is_found);
    tcase_add_test(checking, splice_that_does_not_make_the_payload_is_found);
    return suite;
}

UNIT_MAIN(splice_suite)
