/*
 * check: every chunk of a save is decoded; what is damaged, unusual or read-only is printed, as
 * lines or as one JSON object. Nothing here writes to the save or locks it.
 */
#include "commands/cli.h"
#include "commands/json.h"
#include "formats/cells/cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct check {
    struct tfs_cli *cli;
    const char *path;
    struct tfs_save *save;
    size_t damaged, warnings;
    bool json;
    bool quiet;              /* only what is damaged is printed */
    struct tfs_buf findings; /* of JSON: the members of an array */
    enum tfs_status status;
    bool mute;   /* memory or the standard output is gone: print nothing more */
    bool locked; /* by another program: told once, not for each chunk */
};

static void no_memory(struct check *check)
{
    struct tfs_error err = {0};

    tfs_fail_memory(&err);
    check->mute = true;
    check->status = tfs_cli_report(check->cli, check->path, &err);
}

static void add_finding(struct check *check, const char *kind, const char *text)
{
    tfs_buf_printf(&check->findings,
                   "%s{\"kind\":\"%s\",\"text\":", check->findings.size > 0 ? "," : "", kind);
    tfs_json_string(&check->findings, tfs_span_of(text));
    tfs_buf_u8(&check->findings, '}');
}

/* One finding on the standard output, now or at the end. */
static void print_finding(struct check *check, const char *kind, const char *text)
{
    if (check->json) {
        add_finding(check, kind, text);
        return;
    }
    const enum tfs_status printed =
        tfs_cli_print_line(check->cli, "%s: %s: %s", check->path, kind, text);
    check->mute = check->mute || printed == TFS_STATUS_SYSTEM;
    check->status = tfs_status_worst(check->status, printed);
}

static void check_notes(struct check *check)
{
    static const char *const kinds[] = {[TFS_NOTE_WARNING] = "warning",
                                        [TFS_NOTE_READ_ONLY] = "read-only",
                                        [TFS_NOTE_DAMAGED] = "damaged"};
    const struct tfs_facts *facts = check->save->doc->facts;

    for (size_t i = 0; i < facts->note_count && !check->mute; i++) {
        enum tfs_note_kind kind = facts->notes[i].kind;

        if (kind == TFS_NOTE_DAMAGED || !check->quiet)
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
    char *path = tfs_cli_node_path(check->save, check->save->doc, &node);

    tfs_error_format(err, path, text, sizeof(text));
    print_finding(check, kind, text);
    free(path);
}

static void check_chunk(struct check *check, const struct tfs_chunk *chunk)
{
    struct tfs_error warning = {0}, err = {0};

    /* A chunk that was found damaged on opening has its note. */
    if (chunk->flags & TFS_CHUNK_DAMAGED)
        return;
    tfs_cells_check(check->save, check->save->doc, chunk->key, &warning, &err);
    check->warnings += warning.code != 0;
    if (warning.code && !check->quiet)
        print_chunk(check, "warning", chunk, &warning);
    if (!err.code)
        return;
    if (err.code == -ENOMEM) {
        no_memory(check);
        return;
    }
    check->damaged++;
    check->locked = err.code == -EBUSY;
    check->status = tfs_status_worst(check->status, tfs_status_of(err.code));
    print_chunk(check, "damaged", chunk, &err);
}

static void check_chunks(struct check *check)
{
    const struct tfs_doc *doc = check->save->doc;

    tfs_progress_begin(check->cli, "chunks", doc->count);
    for (size_t i = 0; i < doc->count && !check->mute && !check->locked; i++) {
        check_chunk(check, tfs_doc_at(doc, i));
        tfs_progress_step(check->cli);
    }
    tfs_progress_end(check->cli);
}

static void print_object(struct check *check)
{
    const struct tfs_save *save = check->save;
    struct tfs_buf out = {0};

    tfs_json_text(&out, "save", check->path);
    if (save == NULL)
        tfs_buf_add_text(&out, ",\"format\":null");
    else
        tfs_json_text(&out, "format", save->container->format);
    tfs_json_number(&out, "chunks", save == NULL ? 0 : save->doc->count);
    tfs_json_number(&out, "damaged", check->damaged);
    tfs_json_number(&out, "warnings", check->warnings);
    tfs_buf_add_text(&out, ",\"findings\":[");
    tfs_buf_add_span(&out, tfs_buf_span(&check->findings));
    tfs_buf_add_text(&out, "]}\n");
    if (out.failed || check->findings.failed)
        no_memory(check);
    else
        check->status =
            tfs_status_worst(check->status, tfs_cli_print(check->cli, tfs_buf_span(&out)));
    tfs_buf_release(&out);
}

static void print_summary(struct check *check)
{
    char text[160];

    snprintf(text, sizeof(text), "%zu chunks, %zu damaged, %zu %s", check->save->doc->count,
             check->damaged, check->warnings, check->warnings == 1 ? "warning" : "warnings");
    print_finding(check, check->save->container->format, text);
}

static void check_summary(struct check *check)
{
    if (check->json)
        print_object(check);
    else if (!check->quiet && !check->locked)
        print_summary(check);
    if (check->damaged > 0 && !check->locked)
        tfs_cli_say(check->cli, TFS_STATUS_DONE,
                    "%s: a backup has it whole, or what \"terrainfs undo --list\" shows of it",
                    check->path);
}

/* Nothing of the save can be read. */
static void check_unreadable(struct check *check, const struct tfs_error *err)
{
    check->status = tfs_cli_report(check->cli, check->path, err);
    if (!check->json)
        return;
    check->damaged = check->status == TFS_STATUS_BAD;
    add_finding(check, check->damaged ? "damaged" : "unreadable", err->text);
    print_object(check);
}

static void check_save(struct check *check)
{
    check_notes(check);
    check_chunks(check);
    if (check->damaged)
        check->status = tfs_status_worst(check->status, TFS_STATUS_BAD);
    if (!check->mute)
        check_summary(check);
}

enum tfs_status tfs_cli_check(struct tfs_cli *cli)
{
    struct check check = {.cli = cli,
                          .path = cli->operands[0],
                          .json = (cli->flags & TFS_CLI_JSON) != 0,
                          .quiet = (cli->flags & (TFS_CLI_QUIET | TFS_CLI_JSON)) == TFS_CLI_QUIET};
    struct tfs_error err = {0};

    if (tfs_cli_try_open(cli, check.path, TFS_LOCK_NONE, &check.save, &err) < 0)
        check_unreadable(&check, &err);
    else
        check_save(&check);
    tfs_buf_release(&check.findings);
    tfs_save_close(check.save);
    return check.status;
}
