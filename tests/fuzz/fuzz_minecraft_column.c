/*
 * Any bytes as the NBT of a column, as a section, and as the payload of one: what comes apart is
 * put together again, byte for byte; what is a section has no block beyond its palette.
 */
#include <errno.h>

#include "formats/minecraft/packing.h"
#include "formats/minecraft/section.h"
#include "formats/minecraft/state.h"
#include "fuzz.h"

#define LIMIT (1 << 20)

static void check_section(struct tfs_span bytes, enum tfs_mc_layout layout)
{
    static uint32_t values[TFS_MC_VOXELS];
    struct tfs_mc_section section;
    struct tfs_buf text = {0};
    struct tfs_error err = {0};

    if (tfs_mc_section_open(bytes, layout, &section, &err) < 0 ||
        tfs_mc_section_values(&section, values, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < TFS_MC_VOXELS; i++)
        REQUIRE(layout == TFS_MC_NUMBERS ? values[i] < 65536 : values[i] < section.palette.count);
    for (uint32_t i = 0; i < section.palette.count && err.code == 0; i++)
        tfs_mc_state_print(tfs_mc_nbt_take(&section.palette.items, TFS_MC_NBT_COMPOUND), &text,
                           &err);
    tfs_buf_release(&text);
}

static void check_column(struct tfs_span nbt)
{
    static struct tfs_mc_parts parts;
    struct tfs_buf rest = {0}, again = {0};
    struct tfs_mc_follows follows;
    struct tfs_mc_column column, same;
    struct tfs_error err = {0};

    if (tfs_mc_column_split(nbt, &rest, &parts, &follows, &column, &err) == 0) {
        for (size_t i = 0; i < parts.count; i++)
            check_section(parts.parts[i].bytes, parts.parts[i].layout);
        REQUIRE(tfs_mc_column_join(tfs_buf_span(&rest), &parts, &follows, &again, &err) == 0);
        REQUIRE(tfs_span_equal(tfs_buf_span(&again), nbt));
        REQUIRE(tfs_mc_rest_check(tfs_buf_span(&rest), column.x, column.z, &same, &err) == 0);
    } else {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
    }
    tfs_buf_release(&rest);
    tfs_buf_release(&again);
}

static void check_payload(uint8_t kind, struct tfs_span packed)
{
    struct tfs_buf nbt = {0}, again = {0}, back = {0};
    struct tfs_error err = {0};
    size_t used;

    if (tfs_mc_unpack_payload(kind, packed, LIMIT, &nbt, &used, &err) == 0) {
        REQUIRE(used <= packed.size && nbt.size <= LIMIT);
        REQUIRE(tfs_mc_pack_payload(kind, tfs_buf_span(&nbt), &again, &err) == 0);
        REQUIRE(tfs_mc_unpack_payload(kind, tfs_buf_span(&again), LIMIT, &back, &used, &err) == 0);
        REQUIRE(tfs_span_equal(tfs_buf_span(&nbt), tfs_buf_span(&back)));
        check_column(tfs_buf_span(&nbt));
    }
    tfs_buf_release(&nbt);
    tfs_buf_release(&again);
    tfs_buf_release(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_cursor in = tfs_cursor_init((struct tfs_span){data, size});
    const uint8_t kind = tfs_take_u8(&in);
    const struct tfs_span bytes = tfs_take(&in, tfs_cursor_left(&in));

    if (kind < 4)
        check_section(bytes, (enum tfs_mc_layout)kind);
    else if (kind < 9)
        check_payload((uint8_t)(kind - 4), bytes);
    else
        check_column(bytes);
    return 0;
}
