/*
 * Any bytes as a directory that is imported into a small save: the first two choose the save,
 * whether it was exported there before, and the options; then come names, one below another, and
 * what lies there. A text that is refused keeps everything from being written, and whatever the
 * status is, the save is sound afterwards. What lies beside the directory is never touched.
 *   depth (1 to 4), for each level a name; then what: nothing, a directory, the file's text in the
 *   save, length (2) and bytes, a symbolic link
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/edit_target.h"
#include "commands/cli.h"
#include "fuzz.h"

#define ENTRIES_MAX 24

static const enum fuzz_save kinds[] = {FUZZ_REGION_TABLE, FUZZ_BINARY, FUZZ_BLOCK,
                                       FUZZ_STREAM,       FUZZ_TER,    FUZZ_COMMUNITY};

static const char *const names[] = {
    "chunks",
    "0_0_0",
    "1_0_0",
    "0_1_0",
    "-1_0_-1",
    "-0_0_0",
    "01_0_0",
    "2147483648_0_0",
    "regions",
    "lods",
    "1",
    "raw.bin",
    "voxels.csv",
    "palette.txt",
    "blocks.txt",
    "materials.txt",
    "water.txt",
    "lights",
    "sky.txt",
    "block.txt",
    "entities.bin",
    "channels",
    "type.txt",
    "sdf.txt",
    "metadata.txt",
    "instances.bin",
    "info.txt",
    "heightmap.png",
    "layers.png",
    "layers",
    "00_Grass.png",
    "heights.txt",
    "layers.txt",
    "extra",
    ".hidden",
    "a\nb",
    "\xff\xfe",
    "-50_0_0",
    "occupancy.txt",
    "map.png",
    ".terrainfs",
    "manifest",
    "original",
    "heightmap.png.gz",
    "palette.txt.gz",
};

static char root[FUZZ_PATH]; /* of the directory that is imported */

static const char *make_path(struct tfs_cursor *in, char path[FUZZ_PATH])
{
    unsigned depth = tfs_take_u8(in) % 4 + 1;

    strcpy(path, root);
    for (unsigned i = 0; i < depth; i++) {
        if (i > 0)
            (void)mkdir(path, 0755);
        strcat(strcat(path, "/"), names[tfs_take_u8(in) % (sizeof(names) / sizeof(names[0]))]);
    }
    return path + strlen(root) + 1;
}

static void write_new(const char *path, struct tfs_span bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0644);

    if (fd < 0)
        return;
    REQUIRE(write(fd, bytes.data, bytes.size) == (ssize_t)bytes.size);
    close(fd);
}

/* What the save shows by that name. */
static void write_own(struct tfs_save *save, const char *name, const char *path)
{
    struct tfs_node node;
    struct tfs_buf text = {0};
    struct tfs_error err = {0};

    if (tfs_tree_resolve(save, save->doc, name, true, &node) == 0 &&
        !tfs_node_is_directory(&node) &&
        tfs_node_file(save, &node)
                ->lens->get(save, save->doc, tfs_node_at(save, &node), &text, &err) == 0)
        write_new(path, tfs_buf_span(&text));
    tfs_buf_release(&text);
}

static void make_entry(struct tfs_cursor *in, struct tfs_save *save)
{
    char path[FUZZ_PATH];
    const char *name = make_path(in, path);
    size_t size;

    switch (tfs_take_u8(in) % 5) {
    case 0:
        (void)mkdir(path, 0755);
        break;
    case 1:
        write_own(save, name, path);
        break;
    case 2:
        (void)symlink("../../../secret", path);
        break;
    case 3:
        (void)symlink("..", path);
        break;
    default:
        size = tfs_take_u16le(in);
        write_new(path, tfs_take(in, size < tfs_cursor_left(in) ? size : tfs_cursor_left(in)));
    }
}

#define EXPORTED 0x80
#define REMOVE   0x40
#define ALL      0x20

/* A command, without what it says. */
static enum tfs_status run(enum tfs_status (*command)(struct tfs_cli *), struct tfs_cli cli)
{
    int null = open("/dev/null", O_WRONLY), kept = dup(STDERR_FILENO);

    REQUIRE(null >= 0 && kept >= 0 && dup2(null, STDERR_FILENO) >= 0);
    tfs_options_init(&cli.options);
    enum tfs_status status = command(&cli);
    tfs_options_release(&cli.options);
    REQUIRE(dup2(kept, STDERR_FILENO) >= 0);
    close(null);
    close(kept);
    return status;
}

static enum tfs_status import(char *path, uint8_t choices)
{
    char *operands[] = {root, path, NULL};

    return run(tfs_cli_import, (struct tfs_cli){.command = "import",
                                                .remove = (choices & REMOVE) != 0,
                                                .all = (choices & ALL) != 0,
                                                .operands = operands});
}

static void export(char *path)
{
    char *operands[] = {path, root, NULL};

    REQUIRE(run(tfs_cli_export, (struct tfs_cli){.command = "export", .operands = operands}) ==
            TFS_STATUS_DONE);
}

static void make_directory(struct tfs_cursor *in, const char *path)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_NONE};
    struct tfs_save *save = NULL;
    struct tfs_error err = {0};

    REQUIRE(mkdir(root, 0755) == 0 || errno == EEXIST);
    REQUIRE(tfs_save_open(path, NULL, &options, &save, &err) == 0);
    for (unsigned i = 0; i < ENTRIES_MAX && tfs_cursor_left(in) > 0; i++)
        make_entry(in, save);
    tfs_save_close(save);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_cursor in = tfs_cursor_init((struct tfs_span){data, size});
    uint8_t kind = tfs_take_u8(&in), choices = tfs_take_u8(&in);
    struct tfs_buf before = {0}, after = {0};
    char path[FUZZ_PATH], secret[FUZZ_PATH];

    fuzz_save_clear(fuzz_save_dir());
    snprintf(root, sizeof(root), "%s/dir", fuzz_save_dir());
    snprintf(secret, sizeof(secret), "%s/secret", fuzz_save_dir());
    fuzz_save_write(secret, tfs_span_of("secret"));
    fuzz_save_make(kinds[kind % (sizeof(kinds) / sizeof(kinds[0]))], fuzz_save_dir(), path);
    if (choices & EXPORTED)
        export(path);
    make_directory(&in, path);
    fuzz_save_read(path, &before);
    enum tfs_status status = import(path, choices);
    fuzz_save_read(path, &after);
    REQUIRE(status == TFS_STATUS_DONE || status == TFS_STATUS_BAD || status == TFS_STATUS_SYSTEM);
    if (status == TFS_STATUS_SYSTEM)
        REQUIRE(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));
    else
        strange_target(path, (struct tfs_span){0});
    fuzz_save_read(secret, &after);
    REQUIRE(tfs_span_equal(tfs_buf_span(&after), tfs_span_of("secret")));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
    return 0;
}
