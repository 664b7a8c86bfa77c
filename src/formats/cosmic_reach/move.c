/*
 * The body of a chunk at one place -> its body at another: in a region of another version, and with
 * block entities that know where they are (FORMAT.md, section 7).
 *
 * Must not know documents or regions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/body.h"
#include "formats/cosmic_reach/crbin.h"

/* ---- block data ------------------------------------------------------------------------------ */

/* The name of air differs between ranges of versions. */
static struct tfs_span convert_name(struct tfs_span name, uint32_t from, uint32_t to)
{
    return tfs_span_equal(name, tfs_cosmic_air(from)) ? tfs_cosmic_air(to) : name;
}

/* Layers of one bit, which games of versions 0 and 1 do not know. */
static bool has_bits(const struct tfs_cosmic_blocks *blocks)
{
    for (unsigned y = 0; !blocks->single && y < TFS_COSMIC_LAYERS; y++)
        if (blocks->layers.types[y] == TFS_COSMIC_BIT)
            return true;
    return false;
}

static int convert_blocks(struct tfs_span section, uint32_t from, uint32_t to, struct tfs_buf *out,
                          struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct tfs_cosmic_values *values = NULL;

    if (tfs_cosmic_blocks_view(section, &blocks, err) < 0 ||
        tfs_cosmic_blocks_check(&blocks, section.data, err) < 0 ||
        tfs_cosmic_blocks_decode(&blocks, &values, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < values->count; i++)
        values->names[i] = convert_name(values->names[i], from, to);
    if (to < TFS_COSMIC_BIT_VERSION_MIN && has_bits(&blocks))
        tfs_cosmic_blocks_encode(out, values->names, values->count, values->ids, to);
    else
        tfs_cosmic_blocks_rename(out, &blocks, values->names, values->count);
    free(values);
    return tfs_buf_check(out, err);
}

/* ---- block entities -------------------------------------------------------------------------- */

/* From one chunk to another, in blocks. */
static void distance(struct tfs_key from, struct tfs_key to, int64_t by[3])
{
    by[0] = ((int64_t)to.x - from.x) * TFS_COSMIC_SIDE;
    by[1] = ((int64_t)to.y - from.y) * TFS_COSMIC_SIDE;
    by[2] = ((int64_t)to.z - from.z) * TFS_COSMIC_SIDE;
}

/* The entities, whose coordinates are shifted where they can be read. */
static int move_entities(struct tfs_span bytes, struct tfs_key from, struct tfs_key to,
                         struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_buf shifted = {0};
    int64_t by[3];

    distance(from, to, by);
    int status = tfs_cosmic_crbin_shift(bytes, by, &shifted, err);

    if (status >= 0) {
        struct tfs_span moved = status > 0 ? tfs_buf_span(&shifted) : bytes;
        tfs_buf_u8(out, TFS_COSMIC_ENTITIES_PRESENT);
        tfs_buf_u32be(out, (uint32_t)moved.size);
        tfs_buf_add_span(out, moved);
        status = tfs_buf_check(out, err);
    }
    tfs_buf_release(&shifted);
    return status;
}

/* The section of version `from` as one of version `to`. */
static int convert_entities(struct tfs_span section, uint32_t from, uint32_t to, struct tfs_key old,
                            struct tfs_key new, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(section);
    bool present = section.size > 0 && tfs_take_u8(&c) == TFS_COSMIC_ENTITIES_PRESENT;

    if (to < TFS_COSMIC_ENTITIES_VERSION_MIN)
        return !present ? 0
                        : tfs_fail(err, -EINVAL,
                                   "the chunk is of version %u and has block entities, which a "
                                   "chunk of version %u cannot hold",
                                   from, to);
    if (present)
        return move_entities(tfs_cosmic_name_take(&c), old, new, out, err);
    tfs_buf_u8(out, TFS_COSMIC_ENTITIES_NONE);
    return tfs_buf_check(out, err);
}

bool tfs_cosmic_entities_of(const struct tfs_cosmic_body *body, struct tfs_span *bytes)
{
    struct tfs_cursor c = tfs_cursor_init(body->sections[TFS_COSMIC_SECTION_ENTITIES]);

    if (tfs_take_u8(&c) != TFS_COSMIC_ENTITIES_PRESENT)
        return false;
    *bytes = tfs_cosmic_name_take(&c);
    return !c.failed;
}

int tfs_cosmic_entities_settle(struct tfs_span bytes, struct tfs_key chunk, struct tfs_buf *out,
                               struct tfs_error *err)
{
    struct tfs_key from;
    int64_t by[3];
    int status = tfs_cosmic_crbin_chunk(bytes, &from, err);

    from.group = chunk.group;
    if (status != 1 || tfs_key_compare(from, chunk) == 0)
        return status < 0 ? status : 0;
    distance(from, chunk, by);
    return tfs_cosmic_crbin_shift(bytes, by, out, err);
}

/* ---- a body ---------------------------------------------------------------------------------- */

int tfs_cosmic_body_move(struct tfs_span bytes, uint32_t from, uint32_t to, struct tfs_key old,
                         struct tfs_key new, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_body body;

    if (tfs_cosmic_body_split(bytes, from, &body, err) < 0)
        return err->code;
    if (from == to)
        tfs_buf_add_span(out, body.sections[TFS_COSMIC_SECTION_BLOCKS]);
    else if (convert_blocks(body.sections[TFS_COSMIC_SECTION_BLOCKS], from, to, out, err) < 0)
        return err->code;
    tfs_buf_add_span(out, body.sections[TFS_COSMIC_SECTION_SKY]);
    tfs_buf_add_span(out, body.sections[TFS_COSMIC_SECTION_LIGHT]);
    return convert_entities(body.sections[TFS_COSMIC_SECTION_ENTITIES], from, to, old, new, out,
                            err);
}
