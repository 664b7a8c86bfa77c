/*
 * Edits that were set aside (fs/recovery/foreign.h): `info` lists them, `import` and `diff` ask
 * what they make of a save.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "commands/foreign.h"
#include "commands/import.h"
#include "fs/tree/tree.h"

bool tfs_foreign_alone(const char *dir)
{
    static const char *const names[] = {"chunks", TFS_ASIDE_REMOVED};
    bool alone = tfs_foreign_is(dir);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && alone; i++) {
        char *path = NULL;
        alone = tfs_print(&path, "%s/%s", dir, names[i]) >= 0 && access(path, F_OK) < 0;
        free(path);
    }
    return alone;
}

/* ---- info ------------------------------------------------------------------------------------ */

struct listing {
    struct tfs_buf *out;
    size_t count;
};

static void list_chunk(void *arg, const struct tfs_key *chunk, const char *why)
{
    struct listing *l = arg;

    (void)why;
    l->count += chunk != NULL;
    if (chunk == NULL)
        tfs_buf_add_text(l->out, "changed: what belongs to the whole save\n");
    else if (chunk->group == 0)
        tfs_buf_printf(l->out, "changed: %d_%d_%d\n", chunk->x, chunk->y, chunk->z);
    else if (chunk->group == TFS_GROUP_COLUMNS)
        tfs_buf_printf(l->out, "changed: columns/%d_%d\n", chunk->x, chunk->z);
    else
        tfs_buf_printf(l->out, "changed: %u: %d_%d_%d\n", chunk->group, chunk->x, chunk->y,
                       chunk->z);
}

static int print_info(const struct tfs_journal_text *text, struct tfs_buf *out,
                      struct tfs_error *err)
{
    struct tfs_buf changed = {0};
    struct listing l = {&changed, 0};
    struct timespec last = {0};
    size_t edits;
    char date[TFS_TIME_TEXT];

    if (tfs_foreign_list(text, list_chunk, &l, &last, &edits, err) == 0) {
        tfs_buf_printf(out, "edits: %zu\nuntil: %s\nchunks: %zu\n", edits,
                       tfs_time_print(last.tv_sec, date), l.count);
        tfs_buf_add_span(out, tfs_buf_span(&changed));
        out->failed = out->failed || changed.failed;
        tfs_buf_check(out, err);
    }
    tfs_buf_release(&changed);
    return err->code;
}

enum tfs_status tfs_foreign_info(struct tfs_cli *cli, const char *dir, struct tfs_buf *out)
{
    struct tfs_journal_text text = {0};
    struct tfs_error err = {0};

    if (tfs_foreign_read(dir, &text, &err) == 0)
        print_info(&text, out, &err);
    tfs_journal_text_release(&text);
    return err.code < 0 ? tfs_cli_report(cli, dir, &err) : TFS_STATUS_DONE;
}

/* ---- what a save is with them ---------------------------------------------------------------- */

struct telling {
    struct tfs_cli *cli;
    struct tfs_save *save;
    const char *dir;
    size_t left;
};

/* A chunk that the save lacks has no node that is called so. */
static void tell_left(void *arg, const struct tfs_key *chunk, const char *why)
{
    struct telling *t = arg;
    char place[64] = "what belongs to the whole save", *path = NULL;

    t->left++;
    const struct tfs_chunk *found = chunk == NULL ? NULL : tfs_doc_find(t->save->doc, *chunk);
    if (found != NULL) {
        const struct tfs_node node = tfs_node_of_chunk(found);
        path = tfs_cli_node_path(t->save, t->save->doc, &node);
    }
    if (chunk != NULL)
        snprintf(place, sizeof(place), "%d_%d_%d", chunk->x, chunk->y, chunk->z);
    tfs_cli_say(t->cli, TFS_STATUS_BAD, "%s: %s: not taken: %s", t->dir,
                path != NULL ? path : place, why);
    free(path);
}

enum tfs_status tfs_foreign_onto(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                 struct tfs_doc **doc, size_t *left)
{
    const bool force = (cli->flags & TFS_CLI_FORCE) != 0;
    struct telling t = {.cli = cli, .save = save, .dir = dir};
    struct tfs_journal_text text = {0};
    struct tfs_error err = {0};

    if (tfs_foreign_read(dir, &text, &err) == 0 && tfs_save_complete(save, NULL, &err) == 0)
        tfs_foreign_take(save, &text, force, tell_left, &t, doc, &err);
    tfs_journal_text_release(&text);
    *left = t.left;
    return err.code < 0 ? tfs_cli_report(cli, dir, &err) : TFS_STATUS_DONE;
}
