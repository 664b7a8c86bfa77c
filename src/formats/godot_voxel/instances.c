/*
 * Stored bytes -> are they an instance block.
 *
 * Must not know voxels.
 */
#include "formats/godot_voxel/instances.h"

#include <errno.h>
#include <string.h>

#include "formats/godot_voxel/wrap.h"

#define INSTANCE_SIZE 11 /* u16 x 3, u8 scale, u8 x 4 */
#define RANGE_MIN     0.01f

struct reader {
    struct tfs_cursor c;
    bool big_endian;
};

static uint16_t take_u16(struct reader *r)
{
    return r->big_endian ? tfs_take_u16be(&r->c) : tfs_take_u16le(&r->c);
}

static float take_float(struct reader *r)
{
    uint32_t bits = r->big_endian ? tfs_take_u32be(&r->c) : tfs_take_u32le(&r->c);
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static int fail(const struct reader *r, const char *what, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "the instances %s, at byte %zu", what, tfs_cursor_offset(&r->c));
}

static int take_layer(struct reader *r, struct tfs_error *err)
{
    take_u16(r); /* id */
    uint64_t count = take_u16(r);
    take_float(r); /* scale, smallest and greatest */
    take_float(r);
    if (tfs_take_u8(&r->c) != 0 && !r->c.failed)
        return fail(r, "have a layer of an unknown format", err);
    tfs_take(&r->c, count * INSTANCE_SIZE);
    return r->c.failed ? fail(r, "are cut off within a layer", err) : 0;
}

static int parse(void *arg, struct tfs_span payload, struct tfs_error *err)
{
    struct reader r = {.c = tfs_cursor_init(payload)};
    uint8_t version = tfs_take_u8(&r.c);
    uint8_t layers = tfs_take_u8(&r.c);

    (void)arg;
    if (r.c.failed || version > 1)
        return fail(&r, "have an unknown version", err);
    r.big_endian = version == 0;
    float range = take_float(&r);
    if (r.c.failed || !(range >= RANGE_MIN))
        return fail(&r, "have no range", err);
    for (; layers > 0; layers--)
        if (take_layer(&r, err) < 0)
            return err->code;
    uint32_t epilogue = r.big_endian ? tfs_take_u32be(&r.c) : tfs_take_u32le(&r.c);
    if (r.c.failed || epilogue != TFS_GODOT_EPILOGUE)
        return fail(&r, "do not end as they must", err);
    return tfs_cursor_left(&r.c) > 0 ? fail(&r, "end before their bytes do", err) : 0;
}

int tfs_godot_instances_check(struct tfs_blob *stored, struct tfs_error *err)
{
    enum tfs_godot_kind kind;
    struct tfs_blob *payload = NULL;
    int result = tfs_godot_unwrap(stored, NULL, parse, NULL, &kind, &payload, err);

    tfs_blob_unref(payload);
    return result;
}
