/*
 * Two sides of a small save, each edited by any bytes: merged, compared and shown as text, by any
 * of the commands' ways. Whatever the status is, ours is the result that reads back, or what it
 * was; two sides that are the same are the result; and what lies where a table of conflicts goes is
 * never written through.
 *   kind, choices, then edits: which side and what, and
 *     a byte of the file: place (2), value
 *     a byte of a text of the tree: chunk, file, place (2), value
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/edit_target.h"
#include "commands/cli.h"
#include "fuzz.h"

#define EDITS_MAX 24

static const enum fuzz_save kinds[] = {
    FUZZ_REGION_TABLE, FUZZ_REGION_COLUMNS, FUZZ_BLOB, FUZZ_BINARY, FUZZ_XML,
    FUZZ_BLOCK,        FUZZ_OLD_BLOCK,      FUZZ_VXR,  FUZZ_STREAM, FUZZ_MAP,
    FUZZ_TER,          FUZZ_CORNERS};

enum { BASE, OURS, THEIRS, SIDES };
enum { EMPTY_BASE = 0x80, LINK = 0x40, ROWS = 0x10 };

static char paths[SIDES][FUZZ_PATH];

static void make_side(int side, enum fuzz_save kind)
{
    static const char *const names[] = {"base", "ours", "theirs"};
    char dir[FUZZ_PATH];

    snprintf(dir, sizeof(dir), "%s/%s", fuzz_save_dir(), names[side]);
    REQUIRE(mkdir(dir, 0755) == 0);
    fuzz_save_make(kind, dir, paths[side]);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static void edit_byte(struct tfs_cursor *in, const char *path)
{
    struct tfs_buf bytes = {0};
    size_t place = tfs_take_u16le(in);
    uint8_t value = tfs_take_u8(in);

    fuzz_save_read(path, &bytes);
    if (bytes.size > 0)
        bytes.data[place % bytes.size] = value;
    fuzz_save_write(path, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

static void put_text(struct tfs_save *save, const struct tfs_node *node, struct tfs_span text)
{
    struct tfs_doc *after = NULL;
    struct tfs_put put = {0};
    struct tfs_error err = {0};

    if (tfs_node_apply(save, save->doc, node, text, &put, &after, &err) == 0)
        tfs_cli_commit(save, after, &err);
    tfs_doc_unref(after);
}

static void edit_text(struct tfs_cursor *in, const char *path)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE};
    const uint8_t chunk = tfs_take_u8(in), file = tfs_take_u8(in);
    const size_t place = tfs_take_u16le(in);
    const uint8_t value = tfs_take_u8(in);
    struct tfs_buf name = {0}, text = {0};
    struct tfs_save *save = NULL;
    struct tfs_error err = {0};
    struct tfs_node node;

    if (tfs_save_open(path, NULL, &options, &save, &err) < 0)
        return;
    if (save->doc->count > 0 && save->read_only == NULL) {
        const struct tfs_key key = tfs_doc_at(save->doc, chunk % save->doc->count)->key;
        const struct tfs_tree *tree = save->tree;
        tfs_buf_printf(&name, "chunks/%d_%d_%d/%s", key.x, key.y, key.z,
                       tree->chunk.files[file % tree->chunk.count].path);
        tfs_buf_u8(&name, 0);
        if (key.group == 0 &&
            tfs_tree_resolve(save, save->doc, (const char *)name.data, true, &node) == 0 &&
            tfs_node_file(save, &node)
                    ->lens->get(save, save->doc, tfs_node_at(save, &node), &text, &err) == 0 &&
            text.size > 0) {
            text.data[place % text.size] = value;
            put_text(save, &node, tfs_buf_span(&text));
        }
    }
    tfs_buf_release(&name);
    tfs_buf_release(&text);
    tfs_save_close(save);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A command, without what it says. */
static enum tfs_status run(enum tfs_status (*command)(struct tfs_cli *), struct tfs_cli cli)
{
    int null = open("/dev/null", O_WRONLY), err = dup(STDERR_FILENO), out = dup(STDOUT_FILENO);

    REQUIRE(null >= 0 && err >= 0 && out >= 0);
    REQUIRE(dup2(null, STDERR_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0);
    tfs_options_init(&cli.options);
    enum tfs_status status = command(&cli);
    tfs_options_release(&cli.options);
    REQUIRE(dup2(err, STDERR_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0);
    close(null);
    close(err);
    close(out);
    return status;
}

static enum tfs_status diff(char *a, char *b, unsigned flags)
{
    char *operands[] = {a, b, NULL};

    return run(tfs_cli_diff,
               (struct tfs_cli){
                   .command = "diff", .operands = operands, .operand_count = 2, .flags = flags});
}

static enum tfs_status text(char *path, unsigned flags)
{
    char *operands[] = {path, NULL};

    return run(tfs_cli_text,
               (struct tfs_cli){
                   .command = "text", .operands = operands, .operand_count = 1, .flags = flags});
}

static enum tfs_status merge(char *base, char *ours, char *theirs, uint8_t choices)
{
    static const char *const sides[] = {NULL, "ours", "theirs", "base"};
    char *operands[] = {base, ours, theirs, NULL};

    return run(tfs_cli_merge, (struct tfs_cli){.command = "merge",
                                               .operands = operands,
                                               .operand_count = 3,
                                               .conflicts = sides[choices % 4]});
}

/* ---- properties ------------------------------------------------------------------------------ */

static void compare(uint8_t choices)
{
    const unsigned flags = choices & ROWS ? TFS_CLI_ALL_ROWS | TFS_CLI_JSON : 0;

    (void)diff(paths[OURS], paths[THEIRS], flags);
    REQUIRE(diff(paths[OURS], paths[OURS], 0) != TFS_STATUS_BAD);
    for (int side = 0; side < SIDES; side++)
        REQUIRE(text(paths[side], choices & ROWS ? TFS_CLI_ALL_ROWS : 0) == TFS_STATUS_DONE);
}

static void merge_sides(uint8_t choices, const char *secret)
{
    struct tfs_buf before = {0}, after = {0};
    char table[FUZZ_PATH + 20], nothing[FUZZ_PATH];

    snprintf(table, sizeof(table), "%s.conflicts.csv", paths[OURS]);
    snprintf(nothing, sizeof(nothing), "%s/nothing", fuzz_save_dir());
    fuzz_save_write(nothing, (struct tfs_span){0});
    if (choices & LINK)
        REQUIRE(symlink(secret, table) == 0);
    fuzz_save_read(paths[OURS], &before);
    enum tfs_status status =
        merge(choices & EMPTY_BASE ? nothing : paths[BASE], paths[OURS], paths[THEIRS], choices);
    fuzz_save_read(paths[OURS], &after);
    if (status == TFS_STATUS_SYSTEM || status == TFS_STATUS_USAGE)
        REQUIRE(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));
    if (!tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)))
        strange_target(paths[OURS], (struct tfs_span){0});
    REQUIRE(merge(paths[BASE], paths[OURS], paths[OURS], choices) != TFS_STATUS_BAD);
    fuzz_save_read(paths[OURS], &before);
    REQUIRE(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_cursor in = tfs_cursor_init((struct tfs_span){data, size});
    const uint8_t kind = tfs_take_u8(&in), choices = tfs_take_u8(&in);
    char secret[FUZZ_PATH];
    struct tfs_buf after = {0};

    fuzz_save_clear(fuzz_save_dir());
    snprintf(secret, sizeof(secret), "%s/secret", fuzz_save_dir());
    fuzz_save_write(secret, tfs_span_of("secret"));
    for (int side = 0; side < SIDES; side++)
        make_side(side, kinds[kind % (sizeof(kinds) / sizeof(kinds[0]))]);
    for (unsigned i = 0; i < EDITS_MAX && tfs_cursor_left(&in) > 0; i++) {
        const uint8_t what = tfs_take_u8(&in);
        (what & 0x80 ? edit_byte : edit_text)(&in, paths[what % SIDES]);
    }
    compare(choices);
    merge_sides(choices, secret);
    fuzz_save_read(secret, &after);
    REQUIRE(tfs_span_equal(tfs_buf_span(&after), tfs_span_of("secret")));
    tfs_buf_release(&after);
    return 0;
}
