/*
 * Makers of small saves, and edits by a table.
 */
#include "small_saves.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/png.h"
#include "luanti_maker.h"
#include "minecraft_maker.h"
#include "place_maker.h"
#include "ter_maker.h"
#include "voxel_maker.h"
#include "must.h"

static void write_file(const char *path, struct tfs_span bytes)
{
    FILE *file = fopen(path, "wb");

    must(file != NULL && fwrite(bytes.data, 1, bytes.size, file) == bytes.size, path);
    must(fclose(file) == 0, path);
}

static void write_made(const char *path, struct maker_bytes *bytes)
{
    write_file(path, (struct tfs_span){bytes->data, bytes->size});
    maker_release(bytes);
}

/* ---- Cosmic Reach ---------------------------------------------------------------------------- */

/* Two layers of blocks, light of both kinds and an entity; and above it a chunk of air. */
static void make_cosmic(const char *path, int32_t version)
{
    static const char *const names[] = {"base:air", "base:grass", "base:sand"};
    static uint16_t ids[MAKER_VOXELS], colours[MAKER_VOXELS];
    static uint8_t levels[MAKER_VOXELS];
    struct maker_region region = maker_region_init(version);
    struct maker_bytes bytes = {0};
    struct maker_chunk *chunk = maker_region_add(&region, 0, 0, 0);

    for (size_t i = 0; i < MAKER_VOXELS; i++) {
        ids[i] = i < 256 ? 2 : i < 280 ? 1 : 0;
        levels[i] = i < 256 ? 0 : 15;
        colours[i] = i == 300 ? 0x123 : 0;
    }
    maker_layered(&chunk->body, names, 3, ids, version);
    maker_sky(&chunk->body, levels);
    maker_light(&chunk->body, colours);
    if (version > 0)
        maker_entities(&chunk->body, "entity", 6);
    chunk = maker_region_add(&region, 0, 1, 0);
    maker_single(&chunk->body, "base:air");
    maker_sky(&chunk->body, NULL);
    maker_sky(&chunk->body, NULL);
    if (version > 0)
        maker_entities(&chunk->body, NULL, -1);
    maker_region_write(&region, &bytes);
    write_made(path, &bytes);
    maker_region_release(&region);
}

static void make_cosmic_0(const char *path)
{
    make_cosmic(path, 0);
}

static void make_cosmic_3(const char *path)
{
    make_cosmic(path, 3);
}

static void make_cosmic_4(const char *path)
{
    make_cosmic(path, 4);
}

static void make_cosmic_7(const char *path)
{
    make_cosmic(path, 7);
}

/* ---- Roblox ---------------------------------------------------------------------------------- */

static const struct place_world place_world = {.seed = 1, .chunks = 2, .log2 = 2};

static void make_blob(const char *path)
{
    struct maker_bytes bytes = {0};

    place_grid(&bytes, &place_world);
    write_made(path, &bytes);
}

static void make_binary(const char *path, enum place_coding coding)
{
    const struct place_file file = {place_world, 1, coding, true};
    struct maker_bytes bytes = {0};

    place_binary(&bytes, &file);
    write_made(path, &bytes);
}

static void make_binary_lz4(const char *path)
{
    make_binary(path, PLACE_LZ4);
}

static void make_binary_zstd(const char *path)
{
    make_binary(path, PLACE_ZSTD);
}

static void make_xml(const char *path)
{
    const struct place_file file = {place_world, 1, PLACE_STORED, true};
    struct maker_bytes bytes = {0};

    place_xml(&bytes, &file);
    write_made(path, &bytes);
}

/* ---- Godot ----------------------------------------------------------------------------------- */

static void make_block(const char *path)
{
    struct tfs_buf bytes = {0};

    voxel_block(&bytes, 4, 2, (struct tfs_key){0}, 0, TFS_GODOT_LZ4);
    write_file(path, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

static void make_block_2(const char *path)
{
    struct tfs_buf bytes = {0};

    voxel_block(&bytes, 2, 2, (struct tfs_key){0}, 0, TFS_GODOT_LZ4);
    write_file(path, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

static void make_region(const char *path)
{
    voxel_region(path, 2, 1);
}

static void make_folder(const char *path)
{
    voxel_folder_of(path, 1, 1, 2);
}

static void make_stream(const char *path)
{
    voxel_stream_of(path, 2, 2, 2);
}

/* ---- Luanti ---------------------------------------------------------------------------------- */

static void make_map(const char *path)
{
    luanti_map(path, false, 25, 2);
}

static void make_world(const char *path)
{
    luanti_world(path, true, 29, 2);
}

/* ---- Minecraft ------------------------------------------------------------------------------- */

static void make_minecraft(const char *path, enum minecraft_game game, uint8_t packing)
{
    const struct minecraft_world world = {.game = game, .packing = packing, .columns = 1};

    minecraft_file(path, &world);
}

static void make_minecraft_12(const char *path)
{
    make_minecraft(path, MINECRAFT_12, 2);
}

static void make_minecraft_13(const char *path)
{
    make_minecraft(path, MINECRAFT_13, 1);
}

static void make_minecraft_16(const char *path)
{
    make_minecraft(path, MINECRAFT_16, 2);
}

static void make_minecraft_18(const char *path)
{
    make_minecraft(path, MINECRAFT_18, 4);
}

static void make_minecraft_folder(const char *path)
{
    const struct minecraft_world world = {.game = MINECRAFT_18, .packing = 2, .columns = 1};

    minecraft_folder(path, &world);
}

/* ---- BeamNG ---------------------------------------------------------------------------------- */

static void make_ter(const char *path, uint8_t version, enum ter_kind kind)
{
    const struct ter_world world = {
        .version = version, .kind = kind, .side = 8, .seed = 3, .materials = 3};
    const char *slash = strrchr(path, '/');
    struct maker_bytes bytes = {0};
    char sidecar[4096];

    ter_make(&bytes, &world);
    write_made(path, &bytes);
    snprintf(sidecar, sizeof(sidecar), "%.*s.terrain.json", (int)strlen(path) - 4, path);
    ter_make_sidecar(&bytes, &world, slash == NULL ? path : slash + 1);
    write_made(sidecar, &bytes);
}

static void make_plain(const char *path)
{
    make_ter(path, 9, TER_PLAIN);
}

static void make_corners(const char *path)
{
    make_ter(path, 8, TER_CORNERS);
}

static void make_community(const char *path)
{
    make_ter(path, 7, TER_COMMUNITY);
}

static void make_texture(const char *path)
{
    make_ter(path, 7, TER_TEXTURE);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define COSMIC_EDITS                                                                               \
    {                                                                                              \
        {"chunks/0_0_0/voxels.csv", SMALL_CUT, NULL}, {"palette.txt", SMALL_NAME, NULL},           \
            {"chunks/0_0_0/blocks.txt", SMALL_TEXT, "palette 0 base:new\nfill 0\n"},               \
            {"chunks/0_0_0/palette.txt", SMALL_NAME, NULL},                                        \
            {"chunks/0_0_0/lights/sky.txt", SMALL_TEXT, "fill 7\n"},                               \
            {"chunks/0_1_0/lights/block.txt", SMALL_TEXT, "fill f0a\n"},                           \
            {"chunks/0_0_0/lights/sky.txt", SMALL_REMOVE, NULL},                                   \
            {"chunks/0_1_0/raw.bin", SMALL_FROM, "chunks/0_0_0/raw.bin"},                          \
            {"chunks/0_0_0/entities.bin", SMALL_REMOVE, NULL},                                     \
            {"chunks/0_1_0/entities.bin", SMALL_TEXT, "anything"},                                 \
        {                                                                                          \
            "heightmap.png", SMALL_PIXEL, NULL                                                     \
        }                                                                                          \
    }

#define PLACE_EDITS(root)                                                                          \
    {                                                                                              \
        {root "chunks/0_0_0/voxels.csv", SMALL_CUT, NULL},                                         \
            {root "chunks/0_0_0/materials.txt", SMALL_TEXT, "fill 2\n"},                           \
            {root "chunks/0_0_0/occupancy.txt", SMALL_TEXT, "fill 200\n"},                         \
            {root "chunks/0_0_0/raw.bin", SMALL_FROM, root "chunks/0_-1_0/raw.bin"},               \
        {                                                                                          \
            "heightmap.png", SMALL_PIXEL, NULL                                                     \
        }                                                                                          \
    }

#define VOXEL_EDITS(chunk)                                                                         \
    {                                                                                              \
        {"chunks/" chunk "/voxels.csv", SMALL_CUT, NULL},                                          \
            {"chunks/" chunk "/channels/type.txt", SMALL_TEXT, "depth 16\nfill 7\n"},              \
            {"chunks/" chunk "/channels/data5.txt", SMALL_TEXT, "depth 8\nfill 9\n"},              \
            {"chunks/" chunk "/metadata.txt", SMALL_TEXT, "block u64 7\nvoxel 1 1 1 u64 3\n"},     \
        {                                                                                          \
            "heightmap.png", SMALL_PIXEL, NULL                                                     \
        }                                                                                          \
    }

#define LUANTI_EDITS                                                                               \
    {                                                                                              \
        {"chunks/-1_-1_-1/voxels.csv", SMALL_CUT, NULL}, {"palette.txt", SMALL_NAME, NULL},        \
            {"chunks/0_-1_-1/blocks.txt", SMALL_TEXT, "palette 0 air\npalette 1 a:b\nfill 1\n"},   \
            {"chunks/-1_-1_-1/palette.txt", SMALL_NAME, NULL},                                     \
            {"chunks/-1_-1_-1/param1.txt", SMALL_TEXT, "fill f0\n"},                               \
            {"chunks/-1_-1_-1/param2.txt", SMALL_TEXT, "fill 3\n"},                                \
            {"chunks/-1_-1_-1/metadata.txt", SMALL_REMOVE, NULL},                                  \
            {"chunks/0_-1_-1/metadata.txt", SMALL_TEXT, "1 2 3 text = a\\nb\n"},                   \
            {"chunks/0_-1_-1/timers.txt", SMALL_TEXT, "1 2 3 4.5 0\n"},                            \
            {"chunks/-1_-1_-1/objects.txt", SMALL_REMOVE, NULL},                                   \
            {"chunks/0_-1_-1/state.txt", SMALL_TEXT, "underground yes\n"},                         \
        {                                                                                          \
            "heightmap.png", SMALL_PIXEL, NULL                                                     \
        }                                                                                          \
    }

#define MINECRAFT_EDITS(name, renamed)                                                             \
    {                                                                                              \
        {"chunks/0_0_0/voxels.csv", SMALL_CUT, NULL}, {"palette.txt", SMALL_TEXT, renamed},        \
            {"chunks/0_1_0/blocks.txt", SMALL_TEXT, "palette 0 " name "\nfill 0\n"},               \
            {"chunks/0_0_0/lights/sky.txt", SMALL_TEXT, "fill 7\n"},                               \
            {"chunks/0_1_0/lights/block.txt", SMALL_REMOVE, NULL},                                 \
        {                                                                                          \
            "heightmap.png", SMALL_PIXEL, NULL                                                     \
        }                                                                                          \
    }
#define MINECRAFT_NUMBERS MINECRAFT_EDITS("5:1", "0:0\n17:4\n2:0\n")
#define MINECRAFT_STATES                                                                           \
    MINECRAFT_EDITS("a:b", "minecraft:air\nminecraft:oak_log[axis=y]\nminecraft:dirt\n")

#define TER_EDITS                                                                                  \
    {                                                                                              \
        {"heightmap.png", SMALL_PIXEL, NULL}, {"palette.txt", SMALL_NAME, NULL},                   \
            {"chunks/0_0_0/heights.txt", SMALL_TEXT, "fill 900\n"},                                \
            {"chunks/0_0_0/layers.txt", SMALL_TEXT, "fill 2\n"},                                   \
            {"layers.png", SMALL_PIXEL, NULL}, {"layers/01_DirtRoad.png", SMALL_PIXEL, NULL},      \
            {"extra/corners.png", SMALL_PIXEL, NULL}, {"extra/texture.png", SMALL_PIXEL, NULL},    \
        {                                                                                          \
            "extra/coverage_1.png", SMALL_PIXEL, NULL                                              \
        }                                                                                          \
    }

/* clang-format off: a table */
const struct small_save small_saves[] = {
    {"cosmic_0", "region_0_0_0.cosmicreach", make_cosmic_0, {0}, COSMIC_EDITS, "0_1_0", "3_2_1"},
    {"cosmic_3", "region_0_0_0.cosmicreach", make_cosmic_3, {0}, COSMIC_EDITS, "0_1_0", "3_2_1"},
    {"cosmic_4", "region_0_0_0.cosmicreach", make_cosmic_4, {0}, COSMIC_EDITS, "0_1_0", "3_2_1"},
    {"cosmic_7", "region_0_0_0.cosmicreach", make_cosmic_7, {0}, COSMIC_EDITS, "0_1_0", "3_2_1"},
    {"blob", "terrain.bin", make_blob, {0}, PLACE_EDITS(""), "0_-1_0", "5_5_5"},
    {"binary_lz4", "place.rbxl", make_binary_lz4, {0}, PLACE_EDITS(""), "0_-1_0", "5_5_5"},
    {"binary_zstd", "place.rbxm", make_binary_zstd, {0}, PLACE_EDITS(""), "0_-1_0", "5_5_5"},
    {"xml", "place.rbxlx", make_xml, {0}, PLACE_EDITS(""), "0_-1_0", "5_5_5"},
    {"block", "block.vxb", make_block, {0}, VOXEL_EDITS("0_0_0"), NULL, NULL},
    {"block_2", "block.vxb", make_block_2, {0}, VOXEL_EDITS("0_0_0"), NULL, NULL},
    {"region", "r.0.0.0.vxr", make_region, {0}, VOXEL_EDITS("0_0_0"), NULL, NULL},
    {"folder",
     "stream",
     make_folder,
     {"stream/meta.vxrm", "stream/regions/lod0/r.0.0.0.vxr"},
     VOXEL_EDITS("0_0_0"),
     "1_0_0",
     "-1_0_0"},
    {"stream", "stream.sqlite", make_stream, {0}, VOXEL_EDITS("-50_-1_-50"), "-49_-1_-50", "1_2_3"},
    {"luanti", "map.sqlite", make_map, {0}, LUANTI_EDITS, "0_-1_-1", "3_2_1"},
    {"luanti_world", "world", make_world, {"world/map.sqlite"}, LUANTI_EDITS, "0_-1_-1", "3_2_1"},
    {"minecraft_12", "r.0.0.mca", make_minecraft_12, {0}, MINECRAFT_NUMBERS, NULL, NULL},
    {"minecraft_13", "r.0.0.mca", make_minecraft_13, {0}, MINECRAFT_STATES, NULL, NULL},
    {"minecraft_16", "r.0.0.mca", make_minecraft_16, {0}, MINECRAFT_STATES, NULL, NULL},
    {"minecraft_18", "r.0.0.mca", make_minecraft_18, {0}, MINECRAFT_STATES, NULL, NULL},
    {"minecraft_folder",
     "region",
     make_minecraft_folder,
     {"region/r.0.0.mca", "region/r.-1.0.mca"},
     MINECRAFT_STATES,
     NULL,
     NULL},
    {"ter",
     "theTerrain.ter",
     make_plain,
     {"theTerrain.ter", "theTerrain.terrain.json"},
     TER_EDITS,
     NULL,
     NULL},
    {"ter_corners", "theTerrain.ter", make_corners, {0}, TER_EDITS, NULL, NULL},
    {"ter_community", "theTerrain.ter", make_community, {0}, TER_EDITS, NULL, NULL},
    {"ter_texture", "theTerrain.ter", make_texture, {0}, TER_EDITS, NULL, NULL},
};
/* clang-format on */
const int small_save_count = (int)(sizeof(small_saves) / sizeof(small_saves[0]));

/* ---- edits ----------------------------------------------------------------------------------- */

int small_save_find(struct tfs_save *save, const struct tfs_doc *doc, const char *path,
                    struct tfs_node *node)
{
    return tfs_tree_resolve(save, doc, path, false, node);
}

static void read_text(struct tfs_save *save, const struct tfs_doc *doc, const char *path,
                      struct tfs_buf *text)
{
    struct tfs_error err = {0};
    struct tfs_node node;

    must(small_save_find(save, doc, path, &node) == 0, path);
    const struct tfs_lens *lens = tfs_node_file(save, &node)->lens;
    must(lens->get(save, doc, tfs_node_at(save, &node), text, &err) == 0, path);
}

static void cut_line(struct tfs_buf *text)
{
    must(text->size > 0, "there is no line to cut");
    do
        text->size--;
    while (text->size > 0 && text->data[text->size - 1] != '\n');
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

struct rows {
    const uint8_t *samples;
    size_t row_size;
};

static void give_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct rows *rows = arg;

    memcpy(samples, rows->samples + row * rows->row_size, rows->row_size);
}

static void lower_pixel(struct tfs_buf *png)
{
    struct tfs_png_shape shape = {.width = big_endian(png->data + 16),
                                  .height = big_endian(png->data + 20),
                                  .type = png->data[25] == 6    ? TFS_PNG_RGBA8
                                          : png->data[25] == 3  ? TFS_PNG_INDEX8
                                          : png->data[24] == 16 ? TFS_PNG_GREY16
                                                                : TFS_PNG_GREY8};
    struct tfs_buf samples = {0};
    struct tfs_error err = {0};
    unsigned depth;
    size_t step = shape.type == TFS_PNG_GREY16 ? 2 : 1, at = step - 1;

    must(tfs_png_read(tfs_buf_span(png), &shape, &samples, &depth, &err) == 0, err.text);
    while (at < samples.size && samples.data[at] == 0)
        at += step;
    /* A mask has two values only, and may have none of one. */
    if (at >= samples.size)
        samples.data[step - 1] = 255;
    else
        samples.data[at] = samples.data[at] == 255 && step == 1 ? 0 : samples.data[at] - 1;
    struct rows rows = {samples.data, tfs_png_row_size(&shape)};
    tfs_buf_clear(png);
    must(tfs_png_write(&shape, give_row, &rows, png, &err) == 0, err.text);
    tfs_buf_release(&samples);
}

void small_edit_text(struct tfs_save *save, const struct tfs_doc *doc,
                     const struct small_edit *edit, struct tfs_buf *text)
{
    switch (edit->change) {
    case SMALL_TEXT:
        tfs_buf_add_text(text, edit->with);
        break;
    case SMALL_CUT:
        read_text(save, doc, edit->path, text);
        cut_line(text);
        break;
    case SMALL_NAME:
        read_text(save, doc, edit->path, text);
        text->size -= text->data[text->size - 1] == '\n' ? 1 : 0;
        tfs_buf_add_text(text, "x\n");
        break;
    case SMALL_PIXEL:
        read_text(save, doc, edit->path, text);
        lower_pixel(text);
        break;
    case SMALL_FROM:
        read_text(save, doc, edit->with, text);
        break;
    case SMALL_REMOVE:
        break;
    }
    must(!text->failed, "no memory");
}

int small_edit_apply(struct tfs_save *save, struct tfs_edit *to, const struct small_edit *edit,
                     struct tfs_span text, struct tfs_error *err)
{
    struct tfs_put put = {0};
    struct tfs_node node;

    int result = small_save_find(save, tfs_edit_doc(to), edit->path, &node);
    if (result < 0)
        return tfs_fail(err, result, "there is no %s", edit->path);
    const struct tfs_lens *lens = tfs_node_file(save, &node)->lens;
    if (edit->change == SMALL_REMOVE)
        return lens->remove(save, to, tfs_node_at(save, &node), err);
    return lens->put(save, to, tfs_node_at(save, &node), text, &put, err);
}

/* ---- what is on disk ------------------------------------------------------------------------- */

static void add_file(const char *path, struct tfs_buf *bytes)
{
    FILE *file = fopen(path, "rb");
    uint8_t part[4096];
    size_t n;

    must(file != NULL, path);
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        tfs_buf_add(bytes, part, n);
    must(fclose(file) == 0, path);
}

static int listed(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

void small_save_bytes(const char *path, struct tfs_buf *bytes)
{
    struct dirent **names = NULL;
    struct stat st;

    must(stat(path, &st) == 0, path);
    tfs_buf_printf(bytes, "[%s]", strrchr(path, '/'));
    if (!S_ISDIR(st.st_mode)) {
        add_file(path, bytes);
        return;
    }
    int count = scandir(path, &names, listed, alphasort);
    must(count >= 0, path);
    for (int i = 0; i < count; i++) {
        char below[4096];
        snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name);
        small_save_bytes(below, bytes);
        free(names[i]);
    }
    free(names);
}
