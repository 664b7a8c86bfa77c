/*
 * Any text as a name that means a place: a chunk's directory, a region file, the key of a row in a
 * database. What is taken is the one name of that place, so printing gives it back. And as a
 * sentence.
 */
#include <string.h>

#include "formats/cosmic_reach/place.h"
#include "formats/godot_voxel/layout.h"
#include "formats/godot_voxel/region_name.h"
#include "formats/godot_voxel/stream_key.h"
#include "fs/tree/tree.h"
#include "fuzz.h"
#include "text/name.h"

static void check_names(const char *name)
{
    char printed[TFS_GODOT_REGION_NAME + TFS_CHUNK_NAME];
    struct tfs_key key = {0};

    if (tfs_chunk_name_parse(name, &key)) {
        tfs_chunk_name(key, printed);
        REQUIRE(strcmp(printed, name) == 0);
    }
    if (tfs_godot_region_name_parse(name, &key)) {
        tfs_godot_region_name(key, printed);
        REQUIRE(strcmp(printed, name) == 0);
    }
    if (tfs_cosmic_region_of_name(name, &key)) {
        snprintf(printed, sizeof(printed), "region_%d_%d_%d.cosmicreach", key.x, key.y, key.z);
        REQUIRE(strcmp(printed, name) == 0);
        struct tfs_key back = tfs_cosmic_region_of(tfs_cosmic_table_key(key, 0));
        REQUIRE(tfs_cosmic_same_region(back, key));
    }
}

static void check_key(enum tfs_godot_key_format format, int64_t number, struct tfs_span bytes)
{
    struct tfs_godot_loc loc = {0};
    struct tfs_key key = {0};
    int32_t low, high;

    if (!tfs_godot_key_decode(format, number, bytes, &key))
        return;
    tfs_godot_key_bounds(format, &low, &high);
    REQUIRE(key.x >= low && key.x <= high && key.y >= low && key.y <= high);
    REQUIRE(key.z >= low && key.z <= high && key.group < TFS_GODOT_LODS);
    tfs_godot_key_encode(format, key, &loc);
    if (format == TFS_GODOT_KEY_INT64_16 || format == TFS_GODOT_KEY_INT64_19)
        REQUIRE(loc.number == number);
    else
        REQUIRE(tfs_span_equal((struct tfs_span){loc.bytes, loc.size}, bytes));
}

/* A sentence is one line of UTF-8 that stays what it is when it is printed again. */
static void check_sentence(const char *text)
{
    char line[TFS_SENTENCE_GROWS * 256], again[sizeof(line)];

    tfs_sentence_print(text, line, sizeof(line));
    for (const char *c = line; *c != '\0'; c++)
        REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
    REQUIRE(tfs_utf8_prefix(tfs_span_of(line)) == strlen(line));
    REQUIRE(strcmp(tfs_sentence_print(line, again, sizeof(again)), line) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[256] = {0};
    int64_t number = 0;

    if (size >= sizeof(name))
        return 0;
    memcpy(name, data, size);
    check_sentence(name);
    memcpy(&number, data, size < sizeof(number) ? size : sizeof(number));
    check_names(name);
    for (enum tfs_godot_key_format i = 0; i < TFS_GODOT_KEY_FORMATS; i++)
        check_key(i, number, (struct tfs_span){data, size});
    return 0;
}
