/*
 * Any bytes as a folder of Godot Voxel Tools: what its meta.vxrm says, which regions there are and
 * what is in them; the bytes behind that are edits (tests/lib/edit_target.h).
 *   meta: 0-9f as the engine writes it; a0-ff followed by length (2) and text
 *   number of regions, and for each: name, number of changes, and those: place (2), byte
 */
#include <string.h>
#include <sys/stat.h>

#include "../lib/edit_target.h"
#include "../lib/voxel_maker.h"
#include "fuzz.h"

#define TEXT(version, po2, sector)                                                                 \
    "{\n\t\"block_size_po2\": " po2 ",\n\t\"channel_depths\": [1, 1, 0, 1, 1, 0, 0, 0],\n"         \
    "\t\"lod_count\": 2,\n\t\"region_size_po2\": 1,\n\t\"sector_size\": " sector ",\n"             \
    "\t\"version\": " version "\n}"

static const char *const metas[] = {TEXT("3", "4", "512"), TEXT("2", "4", "512"),
                                    TEXT("3", "5", "512"), TEXT("3", "4", "64")};
static const char *const names[] = {
    "lod0/r.0.0.0.vxr",          "lod0/r.-1.0.2.vxr",
    "lod1/r.0.0.0.vxr",          "lod0/r.00.0.vxr",
    "lod0/r.2147483647.0.0.vxr", "lod1/r.1.0.0.vxr.bak",
    "lod9/r.0.0.0.vxr",          "lod0/.r.0.0.0.vxr.terrainfs-x",
};

static void make_directories(char path[FUZZ_PATH])
{
    static const char *const below[] = {"", "/regions", "/regions/lod0", "/regions/lod1",
                                        "/regions/lod9"};

    for (unsigned i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(path, FUZZ_PATH, "%s/world%s", fuzz_save_dir(), below[i]);
        REQUIRE(mkdir(path, 0755) == 0);
    }
    snprintf(path, FUZZ_PATH, "%s/world", fuzz_save_dir());
}

static void make_meta(struct tfs_cursor *in, const char *world)
{
    char path[FUZZ_PATH + 16];
    uint8_t choice = tfs_take_u8(in);
    struct tfs_span text = tfs_span_of(metas[choice % (sizeof(metas) / sizeof(metas[0]))]);

    if (choice >= 0xa0) {
        size_t size = tfs_take_u16le(in), left = tfs_cursor_left(in);
        text = tfs_take(in, size < left ? size : left);
    }
    snprintf(path, sizeof(path), "%s/meta.vxrm", world);
    fuzz_save_write(path, text);
}

/* A region of 2 x 2 x 2 blocks of 16^3, made once. */
static struct tfs_span sound_region(void)
{
    static struct tfs_buf bytes;
    char path[FUZZ_PATH];

    if (bytes.size == 0) {
        snprintf(path, sizeof(path), "%s/sound.vxr", fuzz_save_dir());
        voxel_region(path, 2, 4);
        fuzz_save_read(path, &bytes);
        remove(path);
    }
    return tfs_buf_span(&bytes);
}

static void make_region(struct tfs_cursor *in, const char *world)
{
    const char *name = names[tfs_take_u8(in) % (sizeof(names) / sizeof(names[0]))];
    unsigned changes = tfs_take_u8(in);
    struct tfs_buf bytes = {0};
    char path[FUZZ_PATH + 64];

    tfs_buf_add_span(&bytes, sound_region());
    for (unsigned i = 0; i < changes && tfs_cursor_left(in) >= 3; i++) {
        uint16_t at = tfs_take_u16le(in);
        bytes.data[at % bytes.size] = tfs_take_u8(in);
    }
    if (changes > 200)
        bytes.size = bytes.size * (changes - 200) / 64;
    snprintf(path, sizeof(path), "%s/regions/%s", world, name);
    fuzz_save_write(path, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_cursor in = tfs_cursor_init((struct tfs_span){data, size});
    char world[FUZZ_PATH];

    fuzz_save_clear(fuzz_save_dir());
    sound_region();
    make_directories(world);
    make_meta(&in, world);
    for (unsigned count = tfs_take_u8(&in) % 4; count > 0; count--)
        make_region(&in, world);
    strange_target(world, tfs_take(&in, tfs_cursor_left(&in)));
    return 0;
}
