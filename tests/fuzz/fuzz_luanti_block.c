/*
 * Any bytes as a block of a map: what opens encodes to itself as far as it was not packed, and its
 * lists read back from their lines. The first byte says whether the bytes behind it are the blob,
 * or what a sound blob of that version is packed from (tests/lib/luanti_maker.h): the sizes of head
 * and metadata, then both, then what stands behind them; nodes are sound.
 */
#include <errno.h>
#include <string.h>

#include "../lib/luanti_maker.h"
#include "formats/luanti/block.h"
#include "formats/luanti/lists.h"
#include "fuzz.h"

typedef int (*parse_fn)(const struct tfs_luanti_block *block, struct tfs_span text,
                        struct tfs_buf *out, struct tfs_error *err);

static int parse_metadata(const struct tfs_luanti_block *block, struct tfs_span text,
                          struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_luanti_metadata_parse(block->version, text, out, err);
}

static int parse_timers(const struct tfs_luanti_block *block, struct tfs_span text,
                        struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_luanti_timers_parse(block->version, text, out, err);
}

static const struct tfs_key key = {0, 1, -1, 0};

static int parse_objects(const struct tfs_luanti_block *block, struct tfs_span text,
                         struct tfs_buf *out, struct tfs_error *err)
{
    (void)block;
    return tfs_luanti_objects_parse(key, text, out, err);
}

static void print_objects(const struct tfs_luanti_block *block, struct tfs_buf *out)
{
    tfs_luanti_objects_print(block, key, out);
}

/* The lines read; what they say is said by the same lines again, apart from their order. */
static void check_list(const struct tfs_luanti_block *block, enum tfs_luanti_section section,
                       void (*print)(const struct tfs_luanti_block *, struct tfs_buf *),
                       parse_fn parse)
{
    struct tfs_luanti_block other = *block;
    struct tfs_buf lines = {0}, made = {0}, again = {0}, last = {0};
    struct tfs_error err = {0};

    if (tfs_luanti_list_count(block, section) == 0)
        return;
    print(block, &lines);
    REQUIRE(parse(block, tfs_buf_span(&lines), &made, &err) == 0);
    other.sections[section] = tfs_buf_span(&made);
    print(&other, &again);
    REQUIRE(parse(block, tfs_buf_span(&again), &last, &err) == 0);
    REQUIRE(tfs_span_equal(tfs_buf_span(&made), tfs_buf_span(&last)));
    tfs_buf_release(&lines);
    tfs_buf_release(&made);
    tfs_buf_release(&again);
    tfs_buf_release(&last);
}

/* Compressed anew it may be other bytes, which open as the same block. */
static void check_encoding(struct tfs_luanti_block *block, struct tfs_span blob)
{
    struct tfs_luanti_block again;
    struct tfs_buf encoded = {0};
    struct tfs_error err = {0};

    if (block->version < TFS_LUANTI_VERSION_ZSTD) {
        REQUIRE(tfs_luanti_block_encode(block, &encoded, &err) == 0);
        REQUIRE(tfs_span_equal(tfs_buf_span(&encoded), blob));
        tfs_buf_clear(&encoded);
        memset(block->streams, 0, sizeof(block->streams));
    }
    REQUIRE(tfs_luanti_block_encode(block, &encoded, &err) == 0);
    REQUIRE(tfs_luanti_block_open(tfs_buf_span(&encoded), &again, &err) == 0);
    for (unsigned i = 0; i < TFS_LUANTI_SECTIONS; i++)
        REQUIRE(tfs_span_equal(again.sections[i], block->sections[i]));
    REQUIRE(memcmp(again.nodes, block->nodes, sizeof(again.nodes)) == 0);
    tfs_luanti_block_release(&again);
    tfs_buf_release(&encoded);
}

static void check_blob(struct tfs_span blob)
{
    struct tfs_luanti_block block;
    struct tfs_error err = {0};

    if (tfs_luanti_block_open(blob, &block, &err) < 0) {
        REQUIRE((err.code == -EBADMSG || err.code == -ENOTSUP) && err.text[0] != '\0');
        return;
    }
    if (block.version >= TFS_LUANTI_VERSION_METADATA)
        check_list(&block, TFS_LUANTI_METADATA, tfs_luanti_metadata_print, parse_metadata);
    check_list(&block, TFS_LUANTI_TIMERS, tfs_luanti_timers_print, parse_timers);
    check_list(&block, TFS_LUANTI_OBJECTS, print_objects, parse_objects);
    check_encoding(&block, blob);
    tfs_luanti_block_release(&block);
}

static void check_packed(unsigned version, struct tfs_cursor *in)
{
    const size_t head_size = tfs_take_u8(in), metadata_size = tfs_take_u8(in);
    const struct tfs_span head = tfs_take(in, head_size), metadata = tfs_take(in, metadata_size);
    const struct tfs_span rest = tfs_take(in, tfs_cursor_left(in));
    struct tfs_buf nodes = {0}, blob = {0};

    if (in->failed)
        return;
    tfs_buf_resize(&nodes, (size_t)TFS_LUANTI_VOXELS * (version < 24 ? 3 : 4));
    luanti_pack(&blob, version, head, tfs_buf_span(&nodes), metadata, rest);
    check_blob(tfs_buf_span(&blob));
    tfs_buf_release(&nodes);
    tfs_buf_release(&blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_cursor in = tfs_cursor_init((struct tfs_span){data, size});
    const uint8_t kind = tfs_take_u8(&in);

    if (in.failed)
        return 0;
    if (kind < 0x80)
        check_packed(22 + kind % 8, &in);
    else
        check_blob(tfs_take(&in, tfs_cursor_left(&in)));
    return 0;
}
