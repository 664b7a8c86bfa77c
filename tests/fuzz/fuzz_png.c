/*
 * Any bytes as a picture, written to a file of a small terrain: the first byte chooses the file,
 * the rest is the PNG. What is accepted reads back the same when it is written once more, and the
 * terrain decodes again; what is refused has a sentence and changes nothing.
 */
#include <errno.h>

#include "../lib/ter_maker.h"
#include "../lib/tree_files.h"
#include "formats/beamng/beamng.h"
#include "fuzz.h"

struct target {
    enum ter_kind kind;
    const char *path;
};

static const struct target targets[] = {
    {TER_PLAIN, "heightmap.png"},         {TER_PLAIN, "layers.png"},
    {TER_CORNERS, "layers.png"},          {TER_PLAIN, "holes.png"},
    {TER_CORNERS, "layers/00_Grass.png"}, {TER_PLAIN, "layers/01_DirtRoad.png"},
    {TER_CORNERS, "extra/corners.png"},   {TER_COMMUNITY, "extra/coverage_2.png"},
};

#define TARGETS (sizeof(targets) / sizeof(targets[0]))

static void open_terrain(struct tree_files *t, enum ter_kind kind)
{
    /* With this seed all three materials are there. */
    struct ter_world world = {kind == TER_CORNERS ? 8 : 9, kind, kind == TER_COMMUNITY, 5, 28, 3};
    struct maker_bytes b = {0};
    struct tfs_span bytes;

    ter_make(&b, &world);
    bytes = (struct tfs_span){b.data, b.size};
    REQUIRE(tree_files_open(t, &tfs_beamng_ter, "/nowhere/fuzz.ter", bytes) == 0);
    maker_release(&b);
}

/* The file as it reads now is accepted, and is no edit. */
static void check_settled(struct tree_files *t, const char *path)
{
    struct tfs_buf text = {0}, save = {0};
    struct tree_files again;
    uint64_t version = t->doc->version;

    REQUIRE(tree_files_get(t, path, &text) == 0);
    REQUIRE(tree_files_put(t, path, tfs_buf_span(&text)) == 0);
    REQUIRE(t->doc->version == version);
    tree_files_encode(t, &save);
    REQUIRE(tree_files_open(&again, &tfs_beamng_ter, "/nowhere/fuzz.ter", tfs_buf_span(&save)) ==
            0);
    tree_files_close(&again);
    tfs_buf_release(&text);
    tfs_buf_release(&save);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tree_files t;

    if (size == 0)
        return 0;
    const struct target *target = &targets[data[0] % TARGETS];
    open_terrain(&t, target->kind);
    uint64_t version = t.doc->version;
    int result = tree_files_put(&t, target->path, (struct tfs_span){data + 1, size - 1});
    if (result < 0) {
        REQUIRE(result == -EBADMSG && t.err.text[0] != '\0');
        REQUIRE(t.doc->version == version);
    } else {
        check_settled(&t, target->path);
    }
    tree_files_close(&t);
    return 0;
}
