/*
 * What the commands share: sentences on stderr, the standard output, opening a save, progress.
 *
 * Must not know what a command does.
 */
#include "commands/table.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mounts.h"
#include "formats/journal.h"
#include "formats/views/new_names.h"
#include "fs/recovery/recover.h"
#include "text/name.h"

/* ---- sentences ------------------------------------------------------------------------------- */

/* A sentence must not begin in the line of progress. */
static void hide_progress(struct tfs_cli *cli)
{
    if (cli->progress.visible)
        fputs("\r\033[K", stderr);
    cli->progress.visible = false;
}

#define SENTENCE (2 * PATH_MAX + TFS_ERROR_TEXT)

enum tfs_status tfs_cli_say(struct tfs_cli *cli, enum tfs_status status, const char *format, ...)
{
    char text[SENTENCE], line[2 * SENTENCE];
    va_list args;

    hide_progress(cli);
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "terrainfs: %s\n", tfs_sentence_print(text, line, sizeof(line)));
    return status;
}

void tfs_cli_tell(struct tfs_cli *cli, const char *format, ...)
{
    char text[SENTENCE];
    va_list args;

    if ((cli->flags & TFS_CLI_QUIET) != 0)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tfs_cli_say(cli, TFS_STATUS_DONE, "%s", text);
}

enum tfs_status tfs_cli_report(struct tfs_cli *cli, const char *path, const struct tfs_error *err)
{
    char text[SENTENCE], line[2 * SENTENCE];

    hide_progress(cli);
    tfs_error_format(err, path, text, sizeof(text));
    fprintf(stderr, "terrainfs: %s\n", tfs_sentence_print(text, line, sizeof(line)));
    return tfs_status_of(err->code);
}

enum tfs_status tfs_cli_print(struct tfs_cli *cli, struct tfs_span span)
{
    hide_progress(cli);
    const int result = tfs_write_all(STDOUT_FILENO, span);

    cli->unread = result == -EPIPE;
    if (cli->unread)
        return TFS_STATUS_SYSTEM;
    if (result < 0)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "standard output: %s", strerror(-result));
    return TFS_STATUS_DONE;
}

enum tfs_status tfs_cli_print_line(struct tfs_cli *cli, const char *format, ...)
{
    char text[SENTENCE], line[2 * SENTENCE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tfs_sentence_print(text, line, sizeof(line) - 1);
    return tfs_cli_print(cli, tfs_span_of(strcat(line, "\n")));
}

enum tfs_status tfs_cli_print_object(struct tfs_cli *cli, struct tfs_buf *object,
                                     enum tfs_status status)
{
    tfs_buf_add_text(object, "}\n");
    const enum tfs_status printed = object->failed
                                        ? tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory")
                                        : tfs_cli_print(cli, tfs_buf_span(object));
    tfs_buf_release(object);
    return tfs_status_worst(status, printed);
}

/* ---- saves ----------------------------------------------------------------------------------- */

int tfs_cli_try_open(struct tfs_cli *cli, const char *path, enum tfs_lock lock,
                     struct tfs_save **save, struct tfs_error *err)
{
    struct tfs_open_options options = tfs_options_open(&cli->options, lock);
    char notice[TFS_ERROR_TEXT];

    options.step = tfs_progress_on_step;
    options.step_arg = cli;
    if (tfs_save_open(path, cli->options.format, &options, save, err) < 0)
        return err->code;
    if (tfs_recover(*save, notice, err) < 0) {
        tfs_save_close(*save);
        *save = NULL;
        return err->code;
    }
    if (notice[0] != '\0')
        tfs_cli_say(cli, TFS_STATUS_DONE, "%s: %s", path, notice);
    return 0;
}

enum tfs_status tfs_cli_open(struct tfs_cli *cli, const char *path, enum tfs_lock lock,
                             struct tfs_save **save)
{
    struct tfs_error err = {0};

    return tfs_cli_try_open(cli, path, lock, save, &err) < 0 ? tfs_cli_report(cli, path, &err)
                                                             : TFS_STATUS_DONE;
}

void tfs_cli_close(struct tfs_cli *cli, const char *path, struct tfs_save *save)
{
    char notice[TFS_ERROR_TEXT];

    if (tfs_undo_settle(save->keeper, notice))
        tfs_cli_say(cli, TFS_STATUS_DONE, "%s: %s", path, notice);
    tfs_save_close(save);
}

enum tfs_status tfs_cli_writable(struct tfs_cli *cli, const char *path, const struct tfs_save *save)
{
    const struct tfs_facts *facts = save->doc->facts;
    bool bad = tfs_facts_find(facts, TFS_NOTE_DAMAGED) || tfs_facts_find(facts, TFS_NOTE_READ_ONLY);

    if (!save->read_only)
        return TFS_STATUS_DONE;
    return tfs_cli_say(cli, bad ? TFS_STATUS_BAD : TFS_STATUS_SYSTEM,
                       "%s: it cannot be written: %s", path, save->read_only);
}

int tfs_cli_find_names(struct tfs_save *save, struct tfs_doc *doc, struct tfs_buf *names,
                       struct tfs_error *err)
{
    return tfs_new_names_find(save, save->doc, doc, SIZE_MAX, names, err);
}

int tfs_cli_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    return doc->version == save->doc->version ? 0 : tfs_journal_commit(save, doc, err);
}

void tfs_cli_tell_names(struct tfs_cli *cli, const char *path, struct tfs_buf *names)
{
    const bool some = names->size > 0;

    tfs_buf_u8(names, 0);
    if (some && !names->failed)
        tfs_cli_say(cli, TFS_STATUS_DONE, "%s: " TFS_NEW_NAMES_TEXT, path,
                    (const char *)names->data);
}

int tfs_cli_commit_names(struct tfs_cli *cli, const char *path, struct tfs_save *save,
                         struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_buf names = {0};

    if (tfs_cli_find_names(save, doc, &names, err) == 0 && tfs_cli_commit(save, doc, err) == 0)
        tfs_cli_tell_names(cli, path, &names);
    tfs_buf_release(&names);
    return err->code;
}

void tfs_cli_warn(struct tfs_cli *cli, const char *path, const struct tfs_save *save)
{
    const struct tfs_facts *facts = save->doc->facts;

    for (size_t i = 0; i < facts->note_count; i++) {
        const struct tfs_note *note = &facts->notes[i];

        if (note->kind == TFS_NOTE_DAMAGED)
            tfs_cli_say(cli, TFS_STATUS_DONE, "%s: damaged: %s", path, note->text);
        else if (note->kind == TFS_NOTE_WARNING)
            tfs_cli_tell(cli, "%s: warning: %s", path, note->text);
    }
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Copies `path` without `./`, leading, trailing and double slashes; false if it does not fit. */
static bool plain_path(const char *path, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    while (*path) {
        size_t length = strcspn(path, "/");

        if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (used + length + 2 > size)
                return false;
            if (used)
                out[used++] = '/';
            memcpy(out + used, path, length);
            used += length;
        }
        path += length;
        path += strspn(path, "/");
    }
    out[used] = '\0';
    return true;
}

#define COLUMNS "columns/"

/* Does `path` name a chunk that the save lacks? Then it is cut behind that chunk. */
static bool cut_to_missing_chunk(struct tfs_save *save, char *path)
{
    for (char *at = path; *at; at += *at == '/') {
        char *end = at + strcspn(at, "/"), kept = *end;
        const bool column = at > path && strncmp(path, COLUMNS, sizeof(COLUMNS) - 1) == 0;
        struct tfs_key key = {.group = column ? TFS_GROUP_COLUMNS : 0};
        struct tfs_node node;

        *end = '\0';
        if (tfs_chunk_name_parse(at, &key) &&
            tfs_tree_resolve(save, save->doc, path, true, &node) != 0)
            return true;
        *end = kept;
        at = end;
    }
    return false;
}

int tfs_cli_read_chunks(struct tfs_save *save, const char *path, struct tfs_error *err)
{
    static const char chunks[] = "chunks/";
    const bool column = strncmp(path, COLUMNS, sizeof(COLUMNS) - 1) == 0;
    struct tfs_key key = {.group = column ? TFS_GROUP_COLUMNS : 0};
    char name[TFS_CHUNK_NAME];
    const char *at = path + (column ? sizeof(COLUMNS) : sizeof(chunks)) - 1;

    if (!column && strncmp(path, chunks, sizeof(chunks) - 1) != 0)
        return tfs_save_complete(save, NULL, err);
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "/"), at);
    return tfs_chunk_name_parse(name, &key) ? tfs_save_complete(save, &key, err) : 0;
}

#define TEXT_MAX (UINT64_C(512) << 20)

uint64_t tfs_cli_text_max(struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_node *node)
{
    const uint64_t most = tfs_node_text_max(save, doc, node);

    return most < TEXT_MAX ? most : TEXT_MAX;
}

const char *tfs_cli_path(const struct tfs_cli *cli, const char *path, char out[TFS_CLI_NAME_MAX])
{
    snprintf(out, TFS_CLI_NAME_MAX, "%s/%s", cli->operands[0], path);
    return out;
}

char *tfs_cli_node_path(const struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_node *node)
{
    struct tfs_buf path = {0};

    tfs_tree_path(save, doc, node, &path);
    tfs_buf_u8(&path, 0);
    if (path.failed)
        tfs_buf_release(&path);
    return (char *)path.data;
}

/* Finds the name that is most like the last one of `path`, in the same directory. Cuts `path`. */
static void find_like(struct tfs_save *save, char *path, char like[NAME_MAX + 1])
{
    char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    struct tfs_node directory = TFS_NODE_ROOT, node;
    size_t index = 0, best = 0;

    if (slash != NULL)
        *slash = '\0';
    if (slash != NULL && tfs_tree_resolve(save, save->doc, path, true, &directory) < 0)
        return;
    while (tfs_tree_entry(save, save->doc, &directory, index, &index, &node) == 1) {
        struct tfs_buf is = {0};
        tfs_tree_name(save, save->doc, &node, &is);
        tfs_buf_u8(&is, 0);
        if (!is.failed && tfs_word_is_like(name, (const char *)is.data, &best))
            snprintf(like, NAME_MAX + 1, "%s", (const char *)is.data);
        tfs_buf_release(&is);
    }
}

static enum tfs_status say_missing(struct tfs_cli *cli, struct tfs_save *save, char *plain)
{
    const bool chunk = cut_to_missing_chunk(save, plain);
    char about[TFS_CLI_NAME_MAX], like[NAME_MAX + 1] = "";

    tfs_cli_path(cli, plain, about);
    if (!chunk)
        find_like(save, plain, like);
    return tfs_cli_say(cli, TFS_STATUS_BAD, "%s: the save has no such %s%s%s%s", about,
                       chunk ? "chunk" : "file", like[0] == '\0' ? "" : "; did you mean ", like,
                       like[0] == '\0' ? "" : "?");
}

enum tfs_status tfs_cli_find_file(struct tfs_cli *cli, struct tfs_save *save, const char *path,
                                  bool must_exist, struct tfs_node *node)
{
    struct tfs_node found;
    char plain[PATH_MAX], about[TFS_CLI_NAME_MAX];
    struct tfs_error err = {0};
    int result = plain_path(path, plain, sizeof(plain)) ? 0 : -ENOENT;

    if (result == 0)
        result = tfs_cli_read_chunks(save, plain, &err);
    if (result == 0)
        result = tfs_tree_resolve(save, save->doc, plain, must_exist, &found);
    if (result == -ENOMEM)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: out of memory",
                           tfs_cli_path(cli, plain, about));
    if (result < 0 && result != -ENOENT && result != -ENOTDIR)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", tfs_cli_path(cli, plain, about),
                           strerror(-result));
    if (result < 0)
        return say_missing(cli, save, plain);
    if (tfs_node_is_directory(&found))
        return tfs_cli_say(cli, TFS_STATUS_BAD, "%s: it is a directory",
                           tfs_cli_path(cli, plain, about));
    *node = found;
    return TFS_STATUS_DONE;
}

/* ---- progress -------------------------------------------------------------------------------- */

#define PROGRESS_FIRST 500 /* milliseconds: shorter work shows nothing */
#define PROGRESS_EVERY 200

void tfs_progress_begin(struct tfs_cli *cli, const char *unit, size_t total)
{
    const int64_t now = tfs_now_ms();

    cli->progress = (struct tfs_progress){
        .on = isatty(STDERR_FILENO) == 1 && (cli->flags & TFS_CLI_QUIET) == 0,
        .unit = unit,
        .total = total,
        .began_at = now,
        .shown_at = now + PROGRESS_FIRST - PROGRESS_EVERY,
    };
}

static void show_progress(struct tfs_cli *cli, int64_t now)
{
    struct tfs_progress *p = &cli->progress;
    const uint64_t took = (uint64_t)(now - p->began_at) + 1;
    const uint64_t rate = (uint64_t)p->done * 1000 / took;
    const uint64_t more = p->total > p->done ? p->total - p->done : 0;
    const uint64_t left = p->done > 0 ? more * took / p->done / 1000 : 0;

    p->shown_at = now;
    p->visible = true;
    fprintf(stderr, "\r%s: %zu of %zu %s", cli->command, p->done, p->total, p->unit);
    if (rate > 0)
        fprintf(stderr, ", %" PRIu64 " a second", rate);
    if (p->done > 0)
        fprintf(stderr, ", %" PRIu64 ":%02" PRIu64 " left", left / 60, left % 60);
    fputs("\033[K", stderr);
    fflush(stderr);
}

static void progress_to(struct tfs_cli *cli, size_t done)
{
    struct tfs_progress *p = &cli->progress;

    p->done = done;
    if (!p->on)
        return;
    const int64_t now = tfs_now_ms();
    if (now - p->shown_at >= PROGRESS_EVERY)
        show_progress(cli, now);
}

void tfs_progress_step(struct tfs_cli *cli)
{
    progress_to(cli, cli->progress.done + 1);
}

void tfs_progress_end(struct tfs_cli *cli)
{
    hide_progress(cli);
    cli->progress.on = false;
}

void tfs_progress_on_step(void *arg, const char *unit, size_t done, size_t total)
{
    struct tfs_cli *cli = arg;

    if (unit == NULL) {
        tfs_progress_end(cli);
        return;
    }
    if (done == 0)
        tfs_progress_begin(cli, unit, total);
    progress_to(cli, done);
}

/* ---- mounts ---------------------------------------------------------------------------------- */

enum tfs_status tfs_cli_say_no_mount(struct tfs_cli *cli, const char *path)
{
    if (tfs_mounted_is_dead(path))
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                           "%s: a dead mount, but none of terrainfs; \"fusermount3 -u %s\" takes "
                           "it away",
                           path, path);
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: this is not a mount of terrainfs", path);
}

enum tfs_status tfs_cli_find_mount(struct tfs_cli *cli, const char *path)
{
    struct tfs_mounted top;

    if (tfs_mounted_at(path, &top) <= 0)
        return tfs_cli_say_no_mount(cli, path);
    bool ours = tfs_mounted_is_ours(&top);
    tfs_mounted_release(&top);
    return ours ? TFS_STATUS_DONE : tfs_cli_say_no_mount(cli, path);
}
