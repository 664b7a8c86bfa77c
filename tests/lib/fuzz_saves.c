/* Small saves: see fuzz_saves.h. */
#include "fuzz_saves.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "luanti_maker.h"
#include "minecraft_maker.h"
#include "place_maker.h"
#include "ter_maker.h"
#include "voxel_maker.h"
#include "must.h"

void fuzz_save_write(const char *path, struct tfs_span bytes)
{
    FILE *file = fopen(path, "wb");

    must(file != NULL && fwrite(bytes.data, 1, bytes.size, file) == bytes.size && fclose(file) == 0,
         path);
}

void fuzz_save_read(const char *path, struct tfs_buf *bytes)
{
    FILE *file = fopen(path, "rb");
    char piece[4096];

    must(file != NULL, path);
    tfs_buf_clear(bytes);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;)
        tfs_buf_add(bytes, piece, n);
    must(fclose(file) == 0 && !bytes->failed, path);
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    fuzz_save_write(path, (struct tfs_span){data, size});
}

static void write_maker(const char *path, struct maker_bytes *bytes)
{
    write_bytes(path, bytes->data, bytes->size);
    maker_release(bytes);
}

/* ---- Cosmic Reach ---------------------------------------------------------------------------- */

/* Two names in one layer, all other sections there: short texts, every lens. */
static void add_small_body(struct maker_bytes *b, int32_t version)
{
    static const char *const names[] = {"base:air", "base:grass[type=full]", "base:stone"};
    static uint16_t ids[MAKER_VOXELS], rgb[MAKER_VOXELS];
    static uint8_t levels[MAKER_VOXELS];

    for (unsigned i = 0; i < MAKER_VOXELS; i++) {
        ids[i] = i < 256 ? 2 : i < 300 ? 1 : 0;
        levels[i] = i < 256 ? 0 : 15;
        rgb[i] = i % 7 == 0 && i < 512 ? 0x123 : 0;
    }
    maker_game_blocks(b, names, 3, ids, version);
    maker_sky(b, levels);
    maker_light(b, rgb);
    maker_entities(b, "entities", 8);
}

static void add_air_body(struct maker_bytes *b)
{
    maker_single(b, "base:air");
    maker_sky(b, NULL);
    maker_light(b, NULL);
    maker_entities(b, NULL, -1);
}

static void make_cosmic(int32_t version, const char *path)
{
    struct maker_region region = maker_region_init(version);
    struct maker_bytes bytes = {0};

    add_small_body(&maker_region_add(&region, 0, 0, 0)->body, version);
    add_air_body(&maker_region_add(&region, 0, 1, 0)->body);
    maker_region_write(&region, &bytes);
    write_maker(path, &bytes);
    maker_region_release(&region);
}

/* ---- Roblox ---------------------------------------------------------------------------------- */

/* Edge 2, every record form. */
static void make_blob(const char *path)
{
    struct maker_bytes bytes = {0};

    place_hex(&bytes, "01 01 000000 000000 000000 000000 02 48 00 81 02 c6 64 00 ff 80 01");
    write_maker(path, &bytes);
}

static void make_place(bool xml, const char *path)
{
    const struct place_file file = {
        .world = {.seed = 3, .chunks = 2, .log2 = 2},
        .regions = xml ? 0 : 1,
        .coding = PLACE_ZSTD,
        .physics = true,
    };
    struct maker_bytes bytes = {0};

    (xml ? place_xml : place_binary)(&bytes, &file);
    write_maker(path, &bytes);
}

/* ---- Godot Voxel Tools ----------------------------------------------------------------------- */

/* 2 x 3 x 2 with metadata of two voxels. */
static void make_block(const char *path)
{
    struct maker_bytes bytes = {0};

    place_hex(&bytes, "04 0200 0300 0200 00 0102030405060708090a0b0c 11ff7f 0100 111032 110f00"
                      "0100 0100 0100 19000000 00 010002000000 01 0700000000000000"
                      "010002000100 28 aabb 0df00d90");
    write_maker(path, &bytes);
}

static void make_old_block(const char *path)
{
    struct tfs_buf block = {0};

    voxel_block(&block, 2, 2, (struct tfs_key){0}, 0, TFS_GODOT_LZ4);
    write_bytes(path, block.data, block.size);
    tfs_buf_release(&block);
}

/* ---- BeamNG ---------------------------------------------------------------------------------- */

static void make_ter(enum ter_kind kind, const char *path)
{
    const struct ter_world world = {
        kind == TER_CORNERS ? 8 : 9, kind, kind == TER_COMMUNITY, 5, 28, 3};
    struct maker_bytes bytes = {0}, sidecar = {0};
    char beside[FUZZ_PATH];

    ter_make(&bytes, &world);
    write_maker(path, &bytes);
    if (kind != TER_PLAIN)
        return;
    ter_make_sidecar(&sidecar, &world, "small");
    snprintf(beside, sizeof(beside), "%.*s.terrain.json", (int)strlen(path) - 4, path);
    write_maker(beside, &sidecar);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const char *const names[FUZZ_SAVES] = {
    [FUZZ_REGION_TABLE] = "region_0_0_0.cosmicreach",
    [FUZZ_REGION_COLUMNS] = "columns.cosmicreach",
    [FUZZ_BLOB] = "small.bin",
    [FUZZ_BINARY] = "small.rbxl",
    [FUZZ_XML] = "small.rbxlx",
    [FUZZ_BLOCK] = "block.bin",
    [FUZZ_OLD_BLOCK] = "old.bin",
    [FUZZ_VXR] = "r.0.0.0.vxr",
    [FUZZ_FOLDER] = "world",
    [FUZZ_STREAM] = "small.sqlite",
    [FUZZ_TEXT_STREAM] = "text.sqlite",
    [FUZZ_MAP] = "map.sqlite",
    [FUZZ_WORLD] = "luanti",
    [FUZZ_TER] = "small.ter",
    [FUZZ_CORNERS] = "corners.ter",
    [FUZZ_COMMUNITY] = "community.ter",
    [FUZZ_MINECRAFT_12] = "r.0.0.mca",
    [FUZZ_MINECRAFT_16] = "minecraft.mca",
    [FUZZ_MINECRAFT] = "region",
};

static void make_godot(enum fuzz_save kind, const char *path)
{
    if (kind == FUZZ_BLOCK)
        make_block(path);
    else if (kind == FUZZ_OLD_BLOCK)
        make_old_block(path);
    else if (kind == FUZZ_VXR)
        voxel_region(path, 2, 4);
    else if (kind == FUZZ_FOLDER)
        voxel_folder(path, 1);
    else
        voxel_stream(path, kind == FUZZ_STREAM ? 1 : 2, 2);
}

static void make_minecraft(enum fuzz_save kind, const char *path)
{
    const struct minecraft_world world = {.game = kind == FUZZ_MINECRAFT_12   ? MINECRAFT_12
                                                  : kind == FUZZ_MINECRAFT_16 ? MINECRAFT_16
                                                                              : MINECRAFT_18,
                                          .packing = 2,
                                          .columns = 1};

    if (kind == FUZZ_MINECRAFT)
        minecraft_folder(path, &world);
    else
        minecraft_file(path, &world);
}

void fuzz_save_make(enum fuzz_save kind, const char *dir, char path[FUZZ_PATH])
{
    must(snprintf(path, FUZZ_PATH, "%s/%s", dir, names[kind]) < FUZZ_PATH, dir);
    if (kind <= FUZZ_REGION_COLUMNS)
        make_cosmic(kind == FUZZ_REGION_TABLE ? 3 : 5, path);
    else if (kind == FUZZ_BLOB)
        make_blob(path);
    else if (kind <= FUZZ_XML)
        make_place(kind == FUZZ_XML, path);
    else if (kind <= FUZZ_TEXT_STREAM)
        make_godot(kind, path);
    else if (kind == FUZZ_MAP)
        luanti_map(path, false, 28, 2);
    else if (kind == FUZZ_WORLD)
        luanti_world(path, true, 29, 2);
    else if (kind >= FUZZ_MINECRAFT_12)
        make_minecraft(kind, path);
    else
        make_ter(kind == FUZZ_TER       ? TER_PLAIN
                 : kind == FUZZ_CORNERS ? TER_CORNERS
                                        : TER_COMMUNITY,
                 path);
}

/* ---- directories ----------------------------------------------------------------------------- */

static char own_dir[PATH_MAX];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    return ftw->level == 0 ? 0 : remove(path);
}

void fuzz_save_clear(const char *dir)
{
    must(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, dir);
}

static void remove_own_dir(void)
{
    fuzz_save_clear(own_dir);
    rmdir(own_dir);
}

const char *fuzz_save_dir(void)
{
    static char state[PATH_MAX + 8];

    if (own_dir[0] != '\0')
        return own_dir;
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

    snprintf(own_dir, sizeof(own_dir), "%s/terrainfs-fuzz-XXXXXX", base != NULL ? base : "/tmp");
    must(mkdtemp(own_dir) != NULL, own_dir);
    snprintf(state, sizeof(state), "%s/.state", own_dir);
    must(setenv("XDG_STATE_HOME", state, 1) == 0, state);
    atexit(remove_own_dir);
    return own_dir;
}
