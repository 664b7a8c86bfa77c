/*
 * The tags of a section, and packed longs.
 *
 * Must not know names of blocks.
 */
#include "formats/minecraft/section.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define BITS_LEAST 4
#define BITS_MAX   32
#define LONG_BITS  64
#define LONG       8 /* bytes */

/* ---- packed longs ---------------------------------------------------------------------------- */

size_t tfs_mc_packed_size(struct tfs_mc_packing packing, unsigned bits)
{
    const size_t each = LONG_BITS / bits;

    return LONG * (packing.straddled ? (packing.count * bits + LONG_BITS - 1) / LONG_BITS
                                     : (packing.count + each - 1) / each);
}

unsigned tfs_mc_packed_bits(struct tfs_mc_packing packing, size_t size, unsigned least)
{
    for (unsigned bits = least; bits <= BITS_MAX; bits++)
        if (tfs_mc_packed_size(packing, bits) == size)
            return bits;
    return 0;
}

static uint64_t long_at(const uint8_t *longs, size_t i)
{
    uint64_t value;

    memcpy(&value, longs + i * LONG, LONG);
    return be64toh(value);
}

static void unpack_straddled(size_t count, unsigned bits, const uint8_t *longs, uint32_t *values)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;

    for (size_t i = 0; i < count; i++) {
        const size_t at = i * bits / LONG_BITS;
        const unsigned shift = (unsigned)(i * bits % LONG_BITS);
        uint64_t value = long_at(longs, at) >> shift;
        if (shift + bits > LONG_BITS)
            value |= long_at(longs, at + 1) << (LONG_BITS - shift);
        values[i] = (uint32_t)(value & mask);
    }
}

static void unpack_aligned(size_t count, unsigned bits, const uint8_t *longs, uint32_t *values)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    const size_t each = LONG_BITS / bits;

    for (size_t i = 0; i < count; longs += LONG) {
        uint64_t word = long_at(longs, 0);
        const size_t end = count - i < each ? count : i + each;
        for (; i < end; i++, word >>= bits)
            values[i] = (uint32_t)(word & mask);
    }
}

void tfs_mc_unpack(struct tfs_mc_packing packing, unsigned bits, const uint8_t *longs,
                   uint32_t *values)
{
    (packing.straddled ? unpack_straddled : unpack_aligned)(packing.count, bits, longs, values);
}

static void put_long(struct tfs_buf *out, uint64_t value)
{
    tfs_buf_u32be(out, (uint32_t)(value >> 32));
    tfs_buf_u32be(out, (uint32_t)value);
}

void tfs_mc_pack(struct tfs_mc_packing packing, unsigned bits, const uint32_t *values,
                 struct tfs_buf *out)
{
    uint64_t word = 0;
    unsigned used = 0;

    for (size_t i = 0; i < packing.count; i++) {
        if (!packing.straddled && used + bits > LONG_BITS) {
            put_long(out, word);
            word = used = 0;
        }
        word |= (uint64_t)values[i] << used;
        used += bits;
        if (used >= LONG_BITS) {
            put_long(out, word);
            used -= LONG_BITS;
            word = used > 0 ? (uint64_t)values[i] >> (bits - used) : 0;
        }
    }
    if (used > 0)
        put_long(out, word);
}

struct tfs_mc_packing tfs_mc_block_packing(enum tfs_mc_layout layout)
{
    return (struct tfs_mc_packing){TFS_MC_VOXELS, layout == TFS_MC_STRADDLED};
}

unsigned tfs_mc_block_bits(uint32_t count)
{
    unsigned bits = BITS_LEAST;

    while (count > UINT32_C(1) << bits)
        bits++;
    return bits;
}

/* ---- tags ------------------------------------------------------------------------------------ */

static int fail_section(struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "its NBT is no section of blocks");
}

static void take_states(struct tfs_span compound, const char *palette, const char *longs,
                        struct tfs_mc_section *section)
{
    struct tfs_cursor c = tfs_cursor_init(compound);
    struct tfs_mc_nbt_tag tag;

    while (tfs_mc_nbt_next(&c, &tag))
        if (tfs_mc_nbt_is(&tag, palette, TFS_MC_NBT_LIST))
            section->palette = tfs_mc_nbt_list(tag.payload);
        else if (tfs_mc_nbt_is(&tag, longs, TFS_MC_NBT_LONGS))
            section->longs = tfs_mc_nbt_array(tag.payload);
}

static void take_bytes(const struct tfs_mc_nbt_tag *tag, struct tfs_mc_section *section)
{
    const struct {
        const char *name;
        struct tfs_span *to;
    } arrays[] = {{"Blocks", &section->blocks},
                  {"Data", &section->data},
                  {"Add", &section->add},
                  {"SkyLight", &section->sky},
                  {"BlockLight", &section->light}};

    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        if (tfs_mc_nbt_is(tag, arrays[i].name, TFS_MC_NBT_BYTES))
            *arrays[i].to = tfs_mc_nbt_array(tag->payload);
}

static bool is_light(struct tfs_span light)
{
    return light.data == NULL || light.size == TFS_MC_LIGHTS;
}

/* Has it all that its layout needs? */
static bool is_whole(const struct tfs_mc_section *s)
{
    if (!is_light(s->sky) || !is_light(s->light))
        return false;
    if (s->layout == TFS_MC_NUMBERS)
        return s->blocks.size == TFS_MC_VOXELS && s->data.size == TFS_MC_LIGHTS &&
               (s->add.size == 0 || s->add.size == TFS_MC_LIGHTS);
    return s->palette.type == TFS_MC_NBT_COMPOUND && s->palette.count > 0 &&
           s->palette.count <= TFS_MC_VOXELS &&
           (s->longs.size > 0 || (s->layout == TFS_MC_STATES && s->palette.count == 1));
}

int tfs_mc_section_open(struct tfs_span bytes, enum tfs_mc_layout layout,
                        struct tfs_mc_section *section, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);
    struct tfs_mc_nbt_tag tag;
    bool placed = false;

    *section = (struct tfs_mc_section){.layout = layout};
    while (tfs_mc_nbt_next(&c, &tag)) {
        take_bytes(&tag, section);
        if (tfs_mc_nbt_is(&tag, "block_states", TFS_MC_NBT_COMPOUND) && layout == TFS_MC_STATES)
            take_states(tag.payload, "palette", "data", section);
        if (tfs_mc_nbt_is(&tag, "Y", TFS_MC_NBT_BYTE)) {
            section->y = (int8_t)tfs_mc_nbt_number(&tag);
            placed = true;
        }
    }
    if (c.failed || tfs_cursor_left(&c) > 0)
        return tfs_fail(err, -EBADMSG, "its NBT is damaged");
    if (layout == TFS_MC_STRADDLED || layout == TFS_MC_ALIGNED)
        take_states(bytes, "Palette", "BlockStates", section);
    return placed && is_whole(section) ? 0 : fail_section(err);
}

bool tfs_mc_section_is_single(const struct tfs_mc_section *section)
{
    return section->layout == TFS_MC_STATES && section->palette.count == 1;
}

bool tfs_mc_section_same_blocks(const struct tfs_mc_section *a, const struct tfs_mc_section *b)
{
    const struct tfs_span p = {a->palette.items.at, tfs_cursor_left(&a->palette.items)};
    const struct tfs_span q = {b->palette.items.at, tfs_cursor_left(&b->palette.items)};

    return a->layout == b->layout && tfs_span_equal(p, q) && tfs_span_equal(a->longs, b->longs) &&
           tfs_span_equal(a->blocks, b->blocks) && tfs_span_equal(a->data, b->data) &&
           tfs_span_equal(a->add, b->add);
}

/* ---- values ---------------------------------------------------------------------------------- */

static unsigned nibble(struct tfs_span bytes, size_t i)
{
    return i / 2 < bytes.size ? bytes.data[i / 2] >> 4 * (i % 2) & 0xfu : 0;
}

static void number_values(const struct tfs_mc_section *s, uint32_t values[TFS_MC_VOXELS])
{
    for (size_t i = 0; i < TFS_MC_VOXELS; i++)
        values[i] = nibble(s->add, i) << 12 | (unsigned)s->blocks.data[i] << 4 | nibble(s->data, i);
}

int tfs_mc_section_values(const struct tfs_mc_section *section, uint32_t values[TFS_MC_VOXELS],
                          struct tfs_error *err)
{
    const struct tfs_mc_packing packing = tfs_mc_block_packing(section->layout);
    const uint32_t count = section->palette.count;
    uint32_t high = 0;

    if (section->layout == TFS_MC_NUMBERS)
        return number_values(section, values), 0;
    if (tfs_mc_section_is_single(section))
        return memset(values, 0, TFS_MC_VOXELS * sizeof(*values)), 0;
    const unsigned bits =
        tfs_mc_packed_bits(packing, section->longs.size, tfs_mc_block_bits(count));
    if (bits == 0)
        return tfs_fail(err, -EBADMSG, "%zu longs do not hold blocks of %u states",
                        section->longs.size / LONG, count);
    tfs_mc_unpack(packing, bits, section->longs.data, values);
    for (size_t i = 0; i < TFS_MC_VOXELS; i++)
        high = values[i] > high ? values[i] : high;
    return high < count
               ? 0
               : tfs_fail(err, -EBADMSG, "a block is state %u, the palette has %u", high, count);
}
