/*
 * Any bytes as the manifest of a tree: refused with a sentence, or read, and then it knows what it
 * lists. What follows a line of "--" is an original of the tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/manifest.h"
#include "../lib/fuzz_saves.h"
#include "fuzz.h"

static char dir[FUZZ_PATH];

static void write_file(const char *name, struct tfs_span bytes)
{
    char path[FUZZ_PATH + 64];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fuzz_save_write(path, bytes);
}

static void make_directories(void)
{
    static const char *const names[] = {"", "/" TFS_MANIFEST_DIR, "/" TFS_MANIFEST_DIR "/original"};
    char path[FUZZ_PATH + 64];

    fuzz_save_clear(fuzz_save_dir());
    snprintf(dir, sizeof(dir), "%s/dir", fuzz_save_dir());
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", dir, names[i]);
        REQUIRE(mkdir(path, 0755) == 0);
    }
}

/* Every file that is listed is found, as far as its name can be a path. */
static void check(const struct tfs_manifest *manifest)
{
    struct tfs_error err = {0};
    struct tfs_buf path = {0};

    for (size_t i = 0; i < manifest->files.count; i++) {
        const struct tfs_manifest_line *line = &manifest->files.items[i];

        tfs_buf_clear(&path);
        if (memchr(line->path.data, '\\', line->path.size))
            continue;
        tfs_buf_add_span(&path, line->path);
        tfs_buf_u8(&path, 0);
        REQUIRE(tfs_manifest_lists(manifest, (const char *)path.data, &err) >= 0);
        REQUIRE(tfs_manifest_has(manifest, (const char *)path.data, line->path, &err) >= 0);
    }
    REQUIRE(tfs_manifest_lists(manifest, "chunks", &err) >= 0);
    tfs_buf_release(&path);
}

static void check_original(const struct tfs_manifest *manifest)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    int has = tfs_manifest_original(manifest, dir, "heightmap.png", &text, &err);

    REQUIRE(has == 0 || has == 1 || (has == err.code && err.text[0] != '\0'));
    REQUIRE(has != 1 || manifest->files.count > 0);
    tfs_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = memmem(data, size, "--\n", 3);
    const size_t first = cut ? (size_t)(cut - data) : size;
    struct tfs_manifest manifest;
    struct tfs_error err = {0};

    make_directories();
    write_file(TFS_MANIFEST_DIR "/" TFS_MANIFEST, (struct tfs_span){data, first});
    if (cut)
        write_file(TFS_MANIFEST_DIR "/original/heightmap.png.gz",
                   (struct tfs_span){cut + 3, size - first - 3});
    if (tfs_manifest_load(dir, "toy", &manifest, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
        return 0;
    }
    REQUIRE(manifest.present);
    check(&manifest);
    check_original(&manifest);
    tfs_manifest_release(&manifest);
    return 0;
}
