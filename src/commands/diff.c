/*
 * diff: two saves -> what differs between their terrains, on the standard output.
 *
 * For a text the chunks are walked twice, because the summary comes first and the rows of a whole
 * world need not fit into memory. Exit statuses are those of diff(1).
 */
#include "commands/diff.h"
#include "commands/foreign.h"
#include "commands/import.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAME      TFS_STATUS_DONE  /* 0 */
#define DIFFERENT TFS_STATUS_BAD   /* 1 */
#define TROUBLE   TFS_STATUS_USAGE /* 2 */

bool tfs_differ_terrain(const struct tfs_differ *d)
{
    return d->chunks[TFS_DIFF_ADDED] + d->chunks[TFS_DIFF_REMOVED] + d->chunks[TFS_DIFF_CHANGED] >
               0 ||
           d->files != 0;
}

bool tfs_differ_wants(const struct tfs_differ *d, unsigned flag)
{
    return (d->cli->flags & flag) != 0;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void join_box(struct tfs_differ *d, const struct tfs_diff_box *box)
{
    for (int axis = 0; axis < 3; axis++) {
        if (!d->has_box || box->low[axis] < d->box.low[axis])
            d->box.low[axis] = box->low[axis];
        if (!d->has_box || box->high[axis] > d->box.high[axis])
            d->box.high[axis] = box->high[axis];
    }
    d->has_box = true;
}

int tfs_differ_count(struct tfs_differ *d, struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    if (tfs_diff_count_voxels(d->diff, chunk, err) < 0)
        return err->code;
    d->chunks[chunk->kind]++;
    d->voxels += chunk->voxels;
    d->in_groups = d->in_groups || chunk->key.group > 0;
    if (chunk->voxels > 0 && chunk->key.group == 0)
        join_box(d, &chunk->box);
    return 0;
}

struct counting {
    struct tfs_differ *d;
    struct tfs_error *err;
};

static int count_chunk(void *arg, struct tfs_diff *diff, struct tfs_diff_chunk *chunk)
{
    const struct counting *counting = arg;

    (void)diff;
    return tfs_differ_count(counting->d, chunk, counting->err);
}

int tfs_differ_count_all(struct tfs_differ *d, struct tfs_error *err)
{
    struct counting counting = {d, err};

    return tfs_diff_walk(d->diff, count_chunk, &counting, err);
}

static int compare_rest(struct tfs_differ *d, struct tfs_error *err)
{
    const struct tfs_container *container = d->saves[TFS_BEFORE]->container;
    uint64_t rest[TFS_SIDES];

    if (container != d->saves[TFS_AFTER]->container) {
        d->rest = TFS_REST_UNKNOWN;
        return 0;
    }
    if (container->rest == NULL || d->saves[TFS_BEFORE] == d->saves[TFS_AFTER])
        return 0;
    for (int side = 0; side < TFS_SIDES; side++)
        if (container->rest(d->saves[side], &rest[side], err) < 0)
            return err->code;
    d->rest = rest[TFS_BEFORE] == rest[TFS_AFTER] ? TFS_REST_SAME : TFS_REST_DIFFERS;
    return 0;
}

/* ---- the status ------------------------------------------------------------------------------ */

/* A save whose chunks are read one by one may have changed meanwhile. */
static int check_unchanged(const struct tfs_differ *d, struct tfs_error *err)
{
    for (int i = 0; i < TFS_SIDES && err->code == 0; i++) {
        struct tfs_save *save = d->saves[i];
        if (save->container->fetch == NULL)
            continue;
        int changed = save->container->changed(save, NULL, err);
        if (changed > 0)
            tfs_fail(err, -ESTALE, "%s: another program changed the save while it was read",
                     d->cli->operands[i]);
    }
    return err->code;
}

static int compare(struct tfs_differ *d, struct tfs_error *err)
{
    const struct tfs_side sides[TFS_SIDES] = {{d->saves[TFS_BEFORE], d->docs[TFS_BEFORE]},
                                              {d->saves[TFS_AFTER], d->docs[TFS_AFTER]}};

    if (tfs_diff_open(sides, &d->diff, err) < 0 || tfs_diff_root(d->diff, &d->files, err) < 0 ||
        compare_rest(d, err) < 0)
        return err->code;
    if (tfs_differ_wants(d, TFS_CLI_JSON))
        tfs_differ_json(d, err);
    else
        tfs_differ_text(d, err);
    return err->code < 0 ? err->code : check_unchanged(d, err);
}

/* The name of the save on that side; a directory has the name of the other side. */
static const char *name_of(const struct tfs_differ *d, int side)
{
    if (tfs_differ_wants(d, TFS_CLI_GIT))
        return d->cli->operands[0];
    return d->cli->operands[d->exported[side] ? !side : side];
}

/* Tells what a side has but does not show; true if there is something. */
static bool say_hiding(const struct tfs_differ *d)
{
    const size_t hidden = tfs_diff_hidden(d->diff);
    bool found = false;

    for (int side = 0; side < TFS_SIDES; side++) {
        const char *why = tfs_facts_hiding(d->docs[side]->facts);
        if (why == NULL || (side == TFS_AFTER && d->saves[TFS_BEFORE] == d->saves[side]))
            continue;
        tfs_cli_say(d->cli, TROUBLE, "%s: not all of it can be read: %s", name_of(d, side), why);
        found = true;
    }
    if (hidden > 0)
        tfs_cli_say(d->cli, TROUBLE,
                    "%zu %s one side only may be in what cannot be read: whether %s not known",
                    hidden, hidden == 1 ? "chunk of" : "chunks of",
                    hidden == 1 ? "it differs is" : "they differ is");
    return found;
}

/* Are both sides the same file, or files of the same bytes? Then nothing differs, even in what
 * cannot be read. */
static bool same_bytes(const struct tfs_differ *d)
{
    struct tfs_save *a = d->saves[TFS_BEFORE], *b = d->saves[TFS_AFTER];
    const struct tfs_journal_files *files = a->container->journal;
    struct tfs_hash hashes[TFS_SIDES];
    struct tfs_key key = {0};
    struct stat st;
    struct tfs_error ignored = {0};

    if (a == b || a->container != b->container)
        return false;
    if (strcmp(a->path, b->path) == 0)
        return true;
    return a->container->file != NULL && a->st.st_size == b->st.st_size &&
           files->hash(a, key, &hashes[TFS_BEFORE], &st, &ignored) == 0 &&
           files->hash(b, key, &hashes[TFS_AFTER], &st, &ignored) == 0 &&
           tfs_hash_equal(hashes[TFS_BEFORE], hashes[TFS_AFTER]);
}

enum tfs_status tfs_differ_compare(struct tfs_differ *d)
{
    struct tfs_error err = {0};

    if (compare(d, &err) < 0 || tfs_printer_check(&d->printer, &err) < 0)
        tfs_cli_say(d->cli, TROUBLE, "%s", err.text);
    else if (!d->printer.lost)
        tfs_printer_flush(&d->printer, true);
    if (err.code < 0 || d->printer.lost)
        return TROUBLE;
    const size_t unknown = tfs_diff_unknown(d->diff);
    if (!tfs_differ_terrain(d) && tfs_diff_hidden(d->diff) == 0 && same_bytes(d))
        return SAME;
    const bool hiding = say_hiding(d);
    if (unknown > 0)
        return tfs_cli_say(d->cli, TROUBLE,
                           "%zu %s neither side can be read: whether they differ is not known",
                           unknown, unknown == 1 ? "chunk of" : "chunks of");
    return hiding || d->partial ? TROUBLE : tfs_differ_terrain(d) ? DIFFERENT : SAME;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* NO_COLOR (no-color.org) and terminals without colours. */
static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return (no == NULL || *no == '\0') && terminal != NULL && strcmp(terminal, "dumb") != 0 &&
           isatty(STDOUT_FILENO) == 1;
}

/* A directory that `export` made holds files, not a save: chunks/ in any case. So do edits that
 * were set aside. */
static bool is_exported(const char *path)
{
    char name[PATH_MAX];
    struct stat st;

    if (tfs_foreign_alone(path))
        return true;
    if (snprintf(name, sizeof(name), "%s/chunks", path) >= (int)sizeof(name))
        return false;
    return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum tfs_status open_save(struct tfs_differ *d, int side)
{
    if (tfs_cli_open(d->cli, d->cli->operands[side], TFS_LOCK_NONE, &d->saves[side]))
        return TROUBLE;
    d->docs[side] = tfs_doc_ref(d->saves[side]->doc);
    return TFS_STATUS_DONE;
}

static enum tfs_status read_onto(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                 struct tfs_doc **doc, bool *whole)
{
    size_t left = 0;

    if (!tfs_foreign_alone(dir))
        return tfs_import_read(cli, save, dir, doc, whole);
    const enum tfs_status status = tfs_foreign_onto(cli, save, dir, doc, &left);
    *whole = left == 0;
    return status;
}

/* A directory is read onto the save of the other side. The save may be read-only, because nothing
 * is written, but not damaged. */
static enum tfs_status read_directory(struct tfs_differ *d, int side)
{
    struct tfs_save *save = d->saves[!side];
    bool whole = false;
    const struct tfs_facts *facts = save->doc->facts;

    if (!tfs_facts_find(facts, TFS_NOTE_DAMAGED) && !tfs_facts_find(facts, TFS_NOTE_READ_ONLY))
        save->read_only = NULL;
    if (tfs_cli_writable(d->cli, d->cli->operands[!side], save) ||
        read_onto(d->cli, save, d->cli->operands[side], &d->docs[side], &whole))
        return TROUBLE;
    d->partial = !whole;
    d->saves[side] = save;
    return TFS_STATUS_DONE;
}

static enum tfs_status open_both(struct tfs_differ *d)
{
    bool *exported = d->exported;
    enum tfs_status status = TFS_STATUS_DONE;

    for (int side = 0; side < TFS_SIDES; side++)
        exported[side] = is_exported(d->cli->operands[side]);
    if (exported[TFS_BEFORE] && exported[TFS_AFTER])
        return tfs_cli_say(d->cli, TROUBLE,
                           "both are exported directories: one of the two has to be a save");
    for (int side = 0; side < TFS_SIDES && !status; side++)
        if (!exported[side])
            status = open_save(d, side);
    for (int side = 0; side < TFS_SIDES && !status; side++)
        if (exported[side])
            status = read_directory(d, side);
    return status;
}

void tfs_differ_init(struct tfs_differ *d, struct tfs_cli *cli)
{
    *d = (struct tfs_differ){.cli = cli, .printer = {.cli = cli, .colour = wants_colour()}};
}

void tfs_differ_release(struct tfs_differ *d)
{
    tfs_diff_close(d->diff);
    tfs_printer_release(&d->printer);
    tfs_buf_release(&d->held);
    for (int i = 0; i < TFS_SIDES; i++)
        tfs_doc_unref(d->docs[i]);
    if (d->saves[TFS_BEFORE] != d->saves[TFS_AFTER])
        tfs_save_close(d->saves[TFS_BEFORE]);
    tfs_save_close(d->saves[TFS_AFTER]);
}

enum tfs_status tfs_cli_diff(struct tfs_cli *cli)
{
    struct tfs_differ d;

    if (cli->flags & TFS_CLI_GIT)
        return tfs_cli_diff_git(cli);
    tfs_differ_init(&d, cli);
    enum tfs_status status = open_both(&d);
    if (!status)
        status = tfs_differ_compare(&d);
    tfs_differ_release(&d);
    return status;
}
