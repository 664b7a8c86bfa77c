/*
 * info.txt: what a save of blocks is.
 *
 * Must not know which container it is: that says its own lines.
 */
#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/counts.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/views/info.h"
#include "formats/views/pictures/picture.h"

/* ---- counts ---------------------------------------------------------------------------------- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void add_levels(struct tfs_buf *out, const struct tfs_doc *doc)
{
    for (uint32_t lod = 1; lod < TFS_GODOT_LODS; lod++) {
        size_t count = tfs_doc_group_count(doc, lod);
        if (count > 0)
            tfs_info_line(out, "lod", "%u: %zu chunk%s", lod, count, plural(count));
    }
}

static void add_path(struct tfs_buf *out, struct tfs_key key)
{
    if (key.group > 0)
        tfs_buf_printf(out, "lods/%u/", key.group);
    tfs_buf_printf(out, "chunks/%d_%d_%d", key.x, key.y, key.z);
}

/* The version that most blocks have, of equals the newer. */
static unsigned usual_version(const struct tfs_godot_counts *counts)
{
    unsigned usual = TFS_GODOT_VERSION_MAX;

    for (unsigned v = TFS_GODOT_VERSION_MAX; v >= TFS_GODOT_VERSION_MIN; v--)
        if (counts->versions[v] > counts->versions[usual])
            usual = v;
    return usual;
}

/* Blocks of another version than most have are named. */
static void add_version(struct tfs_buf *out, const struct tfs_godot_counts *counts,
                        unsigned version)
{
    const size_t count = counts->versions[version];
    size_t named = count < TFS_GODOT_COUNTS_NAMES ? count : TFS_GODOT_COUNTS_NAMES;

    if (count == 0)
        return;
    tfs_buf_printf(out, "block version: %u in %zu chunk%s", version, count, plural(count));
    for (size_t i = 0; version != usual_version(counts) && i < named; i++) {
        tfs_buf_add_text(out, i == 0 ? ": " : ", ");
        add_path(out, counts->names[version][i]);
    }
    if (version != usual_version(counts) && count > named)
        tfs_buf_printf(out, ", and %zu more", count - named);
    tfs_buf_add_text(out, "\n");
}

static void add_blocks(struct tfs_buf *out, const struct tfs_godot_counts *counts,
                       const struct tfs_doc *doc)
{
    uint32_t sides[3];

    if (counts->looked < doc->count)
        tfs_info_line(out, "looked into",
                      "%zu of %zu chunks; terrainfs check looks into all of them", counts->looked,
                      doc->count);
    if (counts->blocks > 0) {
        tfs_godot_rules_sides(doc, sides);
        tfs_info_line(out, "block size", "%u x %u x %u", sides[0], sides[1], sides[2]);
    }
    for (unsigned v = TFS_GODOT_VERSION_MIN; v <= TFS_GODOT_VERSION_MAX; v++)
        add_version(out, counts, v);
    for (unsigned k = 0; k < TFS_GODOT_KINDS; k++)
        if (counts->kinds[k] > 0)
            tfs_info_line(out, "block container", "%s in %zu chunk%s",
                          tfs_godot_kind_name((enum tfs_godot_kind)k), counts->kinds[k],
                          plural(counts->kinds[k]));
    if (counts->empty > 0)
        tfs_info_line(out, "without voxels", "%zu chunk%s", counts->empty, plural(counts->empty));
    if (counts->instances > 0)
        tfs_info_line(out, "with instances", "%zu chunk%s", counts->instances,
                      plural(counts->instances));
}

static void add_channel(struct tfs_buf *out, const struct tfs_godot_counts *counts,
                        unsigned channel)
{
    const size_t *chunks = counts->depths[channel];

    tfs_buf_printf(out, "%s:", tfs_godot_channel_names[channel]);
    for (unsigned d = 0; d <= TFS_GODOT_DEPTH_MAX; d++)
        if (chunks[d] > 0)
            tfs_buf_printf(out, " %u bits in %zu chunk%s,", 8U << d, chunks[d], plural(chunks[d]));
    tfs_buf_printf(out, " rows in %zu\n", counts->dense[channel]);
}

/* ---- what distances mean --------------------------------------------------------------------- */

static const char *const signed_scale[] = {
    "8 bits: value / 127 * 10 voxels, below 0 is inside matter",
    "16 bits: value / 32767 * 500 voxels, below 0 is inside matter",
    "32 bits: the distance in voxels, below 0 is inside matter",
    "64 bits: the distance in voxels, below 0 is inside matter",
};

static const char *const unsigned_scale[] = {
    "version 2, 8 bits: (value - 127) / 127 * 10 voxels, below 127 is inside matter",
    "version 2, 16 bits: (value - 32767) / 32767 * 500 voxels, below 32767 is inside matter",
};

static void add_scale(struct tfs_buf *out, const struct tfs_godot_counts *counts)
{
    const size_t *depths = counts->depths[TFS_GODOT_SDF];
    bool newer = counts->versions[2] < counts->blocks;

    for (unsigned d = 0; d <= TFS_GODOT_DEPTH_MAX; d++) {
        if (depths[d] > 0 && (newer || d >= 2))
            tfs_info_line(out, "sdf scale", "%s", signed_scale[d]);
        if (depths[d] > 0 && counts->versions[2] > 0 && d < 2)
            tfs_info_line(out, "sdf scale", "%s", unsigned_scale[d]);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static void add_damage(void *arg, const struct tfs_chunk *chunk, const char *why)
{
    struct tfs_buf *out = arg;

    tfs_buf_add_text(out, "damaged: ");
    add_path(out, chunk->key);
    tfs_buf_printf(out, ": %s\n", why);
}

static void add_lines(struct tfs_buf *out, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(doc);
    struct tfs_godot_counts counts;
    struct tfs_buf damaged = {0};

    if (tfs_godot_counts_make(save, doc, &counts, add_damage, &damaged, err) < 0)
        goto out;
    tfs_picture_info(out, save->tree, doc);
    add_levels(out, doc);
    if (rules->describe != NULL)
        rules->describe(doc, out);
    add_blocks(out, &counts, doc);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS && counts.blocks > 0; i++)
        add_channel(out, &counts, i);
    add_scale(out, &counts);
    tfs_buf_add_span(out, tfs_buf_span(&damaged));
    out->failed = out->failed || damaged.failed;
out:
    tfs_buf_release(&damaged);
}

const struct tfs_lens tfs_godot_info_lens = TFS_INFO_LENS(add_lines);
