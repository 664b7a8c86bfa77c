/*
 * The text of meta.vxrm -> numbers that were checked.
 *
 * Must not know files.
 */
#include "formats/godot_voxel/meta.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/json.h"

/* A whole number; the engine may write it as 3.0. */
static int take_number(const json_t *value, const char *name, uint32_t low, uint32_t high,
                       uint32_t *number, struct tfs_error *err)
{
    if (value == NULL)
        return tfs_fail(err, -EBADMSG, "%s is missing", name);
    double v = json_is_number(value) ? json_number_value(value) : NAN;
    if (!(v >= low && v <= high) || v != floor(v))
        return tfs_fail(err, -EBADMSG, "%s is not a whole number from %u to %u", name, low, high);
    *number = (uint32_t)v;
    return 0;
}

static int take_field(const json_t *root, const char *name, uint32_t low, uint32_t high,
                      uint32_t *number, struct tfs_error *err)
{
    return take_number(json_object_get(root, name), name, low, high, number, err);
}

static int take_depths(const json_t *root, struct tfs_godot_meta *meta, struct tfs_error *err)
{
    const json_t *list = json_object_get(root, "channel_depths");

    if (!json_is_array(list) || json_array_size(list) != TFS_GODOT_CHANNELS)
        return tfs_fail(err, -EBADMSG, "channel_depths is not a list of %d numbers",
                        TFS_GODOT_CHANNELS);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        uint32_t depth;
        if (take_number(json_array_get(list, i), "a number of channel_depths", 0,
                        TFS_GODOT_DEPTH_MAX, &depth, err) < 0)
            return err->code;
        meta->depths[i] = (uint8_t)depth;
    }
    return 0;
}

static int take_version(const json_t *root, struct tfs_godot_meta *meta, struct tfs_error *err)
{
    if (take_field(root, "version", 0, UINT32_MAX, &meta->version, err) < 0)
        return err->code;
    if (meta->version == 1)
        return tfs_fail(err, -ENOTSUP,
                        "version 1, from before 2021, is not supported: nothing says "
                        "the size of its blocks");
    if (meta->version < TFS_GODOT_REGION_VERSION_MIN ||
        meta->version > TFS_GODOT_REGION_VERSION_MAX)
        return tfs_fail(err, -ENOTSUP, "version %u is not supported, only %d and %d", meta->version,
                        TFS_GODOT_REGION_VERSION_MIN, TFS_GODOT_REGION_VERSION_MAX);
    return 0;
}

static int take_fields(const json_t *root, struct tfs_godot_meta *meta, struct tfs_error *err)
{
    uint32_t po2, region_po2, sector_size;

    if (!json_is_object(root))
        return tfs_fail(err, -EBADMSG, "is not a JSON object");
    if (take_version(root, meta, err) < 0 ||
        take_field(root, "block_size_po2", TFS_GODOT_PO2_MIN, TFS_GODOT_PO2_MAX, &po2, err) < 0 ||
        take_field(root, "region_size_po2", 1, TFS_GODOT_REGION_PO2_MAX, &region_po2, err) < 0 ||
        take_field(root, "sector_size", 1, UINT16_MAX, &sector_size, err) < 0 ||
        take_depths(root, meta, err) < 0)
        return err->code;
    meta->po2 = (uint8_t)po2;
    meta->region_po2 = (uint8_t)region_po2;
    meta->sector_size = (uint16_t)sector_size;
    meta->lods = TFS_GODOT_LODS;
    if (json_object_get(root, "lod_count") == NULL)
        return 0;
    return take_field(root, "lod_count", 1, TFS_GODOT_LODS, &meta->lods, err);
}

int tfs_godot_meta_parse(struct tfs_span text, struct tfs_godot_meta *meta, struct tfs_error *err)
{
    struct tfs_godot_meta parsed = {0};
    struct tfs_json json;

    if (text.size > TFS_GODOT_META_MAX)
        return tfs_fail(err, -EFBIG, "is larger than %u bytes", TFS_GODOT_META_MAX);
    if (tfs_json_open(text, JSON_REJECT_DUPLICATES, &json) < 0)
        return tfs_fail_memory(err);
    if (json.root == NULL)
        tfs_fail_at(err, -EBADMSG, (uint32_t)(json.why.line > 0 ? json.why.line : 0),
                    (uint32_t)(json.why.column > 0 ? json.why.column : 0), "is not JSON: %s",
                    json.why.text);
    else if (take_fields(json.root, &parsed, err) == 0)
        *meta = parsed;
    tfs_json_close(&json);
    return err->code;
}

/* ---- the newer version ----------------------------------------------------------------------- */

/* The number behind "version" and a colon, which the text was found to have once; size 0: it stands
 * there in a way that nobody writes. */
static struct tfs_span find_number(struct tfs_span text)
{
    static const char key[] = "\"version\"";
    const uint8_t *end = text.data + text.size;
    const uint8_t *at = memmem(text.data, text.size, key, sizeof(key) - 1);
    struct tfs_span number = {0};

    if (at == NULL)
        return number;
    for (at += sizeof(key) - 1; at < end && (isspace(*at) || *at == ':');)
        at++;
    number.data = at;
    while (at < end && (isdigit(*at) || *at == '.'))
        at++;
    number.size = (size_t)(at - number.data);
    return number;
}

int tfs_godot_meta_upgrade(struct tfs_span text, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_meta before, after;
    struct tfs_span number = find_number(text);

    if (tfs_godot_meta_parse(text, &before, err) < 0)
        return err->code;
    if (number.size == 0)
        return tfs_fail(err, -EBADMSG, "its version is not written as a plain number");
    tfs_buf_add(out, text.data, (size_t)(number.data - text.data));
    tfs_buf_u8(out, '0' + TFS_GODOT_REGION_VERSION_MAX);
    const uint8_t *rest = number.data + number.size;
    tfs_buf_add(out, rest, (size_t)(text.data + text.size - rest));
    if (tfs_buf_check(out, err) < 0 || tfs_godot_meta_parse(tfs_buf_span(out), &after, err) < 0)
        return err->code;
    before.version = TFS_GODOT_REGION_VERSION_MAX;
    if (memcmp(&before, &after, sizeof(before)) != 0)
        return tfs_fail(err, -EBADMSG, "its version is not written as a plain number");
    return 0;
}
