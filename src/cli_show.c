/*
 * info, check, cat: a save -> the standard output. Nothing here writes to the save or locks it.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>

/* Prints one file of the tree. */
static enum tfs_status print_file(struct tfs_cli *cli, struct tfs_save *save, const char *path)
{
    enum tfs_status status;
    struct tfs_error err = {0};
    struct tfs_buf out = {0};
    struct tfs_node node;
    const struct tfs_file *file;

    status = tfs_cli_find_file(cli, save, path, true, &node);
    if (status)
        return status;
    file = tfs_node_file(save, &node);
    if (file->lens->get(save, save->doc, tfs_node_at(save, &node), &out, &err) ||
        tfs_buf_check(&out, &err))
        status = tfs_cli_report(cli, path, &err);
    else
        status = tfs_cli_print(cli, tfs_buf_span(&out));
    tfs_buf_release(&out);
    return status;
}

static enum tfs_status open_and_print(struct tfs_cli *cli, const char *path)
{
    struct tfs_save *save;
    enum tfs_status status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_NONE, &save);

    if (status)
        return status;
    status = print_file(cli, save, path);
    tfs_save_close(save);
    return status;
}

enum tfs_status tfs_cli_info(struct tfs_cli *cli)
{
    return open_and_print(cli, "info.txt");
}

enum tfs_status tfs_cli_cat(struct tfs_cli *cli)
{
    return open_and_print(cli, cli->operands[1]);
}

/* ---- check ----------------------------------------------------------------------------------- */

struct check {
    struct tfs_cli *cli;
    const char *path;
    struct tfs_save *save;
    size_t damaged, warnings;
    enum tfs_status status;
};

/* Nothing was found out. */
static void no_memory(struct check *check)
{
    struct tfs_error err = {0};

    tfs_fail_memory(&err);
    check->status = tfs_cli_report(check->cli, check->path, &err);
}

/* One finding on the standard output. */
static void print_finding(struct check *check, const char *kind, const char *text)
{
    check->status = tfs_status_worst(
        check->status, tfs_cli_print_line(check->cli, "%s: %s: %s", check->path, kind, text));
}

static void check_notes(struct check *check)
{
    static const char *const kinds[] = {[TFS_NOTE_WARNING] = "warning",
                                        [TFS_NOTE_READ_ONLY] = "read-only",
                                        [TFS_NOTE_DAMAGED] = "damaged"};
    const struct tfs_facts *facts = check->save->doc->facts;

    for (size_t i = 0; i < facts->note_count && check->status != TFS_STATUS_SYSTEM; i++) {
        enum tfs_note_kind kind = facts->notes[i].kind;

        print_finding(check, kinds[kind], facts->notes[i].text);
        check->damaged += kind == TFS_NOTE_DAMAGED;
        check->warnings += kind == TFS_NOTE_WARNING;
    }
}

/* What was found in a chunk. */
static void print_chunk(struct check *check, const char *kind, const struct tfs_chunk *chunk,
                        const struct tfs_error *err)
{
    struct tfs_node node = {
        .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = -1};
    char text[TFS_ERROR_TEXT + 200];
    struct tfs_buf path = {0};

    tfs_tree_path(check->save, check->save->doc, &node, &path);
    tfs_buf_u8(&path, 0);
    tfs_error_format(err, path.failed ? NULL : (const char *)path.data, text, sizeof(text));
    print_finding(check, kind, text);
    tfs_buf_release(&path);
}

static void check_chunk(struct check *check, const struct tfs_chunk *chunk)
{
    const struct tfs_tree *tree = check->save->tree;
    struct tfs_error warning = {0}, err = {0};

    /* A chunk that was found damaged on opening has its note. */
    if (chunk->flags & TFS_CHUNK_DAMAGED)
        return;
    tree->chunk_check(check->save, check->save->doc, chunk->key, &warning, &err);
    if (warning.code) {
        check->warnings++;
        print_chunk(check, "warning", chunk, &warning);
    }
    if (!err.code)
        return;
    if (err.code == -ENOMEM) {
        no_memory(check);
        return;
    }
    check->damaged++;
    check->status = tfs_status_worst(check->status, tfs_status_of(err.code));
    print_chunk(check, "damaged", chunk, &err);
}

static void check_chunks(struct check *check)
{
    const struct tfs_doc *doc = check->save->doc;

    tfs_progress_begin(check->cli, "chunks", doc->count);
    for (size_t i = 0; i < doc->count && check->status != TFS_STATUS_SYSTEM; i++) {
        check_chunk(check, tfs_doc_at(doc, i));
        tfs_progress_step(check->cli);
    }
    tfs_progress_end(check->cli);
}

static void check_summary(struct check *check)
{
    char text[160];

    snprintf(text, sizeof(text), "%zu chunks, %zu damaged, %zu %s", check->save->doc->count,
             check->damaged, check->warnings, check->warnings == 1 ? "warning" : "warnings");
    print_finding(check, check->save->container->format, text);
}

enum tfs_status tfs_cli_check(struct tfs_cli *cli)
{
    struct check check = {.cli = cli, .path = cli->operands[0]};

    check.status = tfs_cli_open(cli, check.path, TFS_LOCK_NONE, &check.save);
    if (check.status)
        return check.status;
    check_notes(&check);
    check_chunks(&check);
    if (check.damaged)
        check.status = tfs_status_worst(check.status, TFS_STATUS_BAD);
    if (check.status != TFS_STATUS_SYSTEM)
        check_summary(&check);
    tfs_save_close(check.save);
    return check.status;
}
