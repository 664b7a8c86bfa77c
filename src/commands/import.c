/*
 * import: a directory as `export` writes it -> one commit, or none.
 *
 * Taken are files that differ from the manifest; without one, from the save: files are several
 * views of one chunk, and what was not edited must not undo what was. Chunks come first, then files
 * of the root, as differences. A text that is refused keeps everything from being written.
 */
#include "commands/import.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "commands/foreign.h"
#include "commands/json.h"
#include "formats/views/view_sets.h"

void tfs_import_refuse(struct tfs_import *im, const char *path, const struct tfs_error *err)
{
    im->status = tfs_status_worst(im->status, tfs_cli_report(im->cli, path, err));
}

void tfs_import_advance(struct tfs_import *im, struct tfs_doc *doc)
{
    tfs_doc_unref(im->doc);
    im->doc = doc;
}

/* ---- what DIR holds -------------------------------------------------------------------------- */

/* Appends the chunks of a group, which has to be one that the save can hold. */
static enum tfs_status gather_group(struct tfs_import *im, const struct tfs_found *dir,
                                    uint32_t group)
{
    struct tfs_error err = {0};
    size_t before = im->chunks.count;
    enum tfs_status status =
        tfs_found_chunks(im->cli, im->base, &dir->node, dir->path, &im->chunks);

    if (status || group == 0 || im->chunks.count == before ||
        tfs_group_check(im->save, im->base, group, &err) == 0)
        return status;
    return tfs_cli_report(im->cli, dir->path, &err);
}

/* Appends the chunks below a directory of the root or of a group. */
static enum tfs_status gather_chunks(struct tfs_import *im, const struct tfs_found *dir)
{
    struct tfs_found_list below = {0};
    enum tfs_status status;
    uint32_t group;

    if (tfs_node_holds_chunks(&dir->node, &group))
        return gather_group(im, dir, group);
    status = tfs_found_scan(im->cli, im->save, im->base, &dir->node, dir->path, &below);
    if (!status)
        tfs_import_look(im, &below);
    for (size_t i = 0; i < below.count && !status; i++)
        if (tfs_node_is_directory(&below.items[i].node))
            status = gather_chunks(im, &below.items[i]);
    tfs_found_release(&below);
    return status;
}

/* Is DIR what it should be? A wrong one must not empty the save. */
static enum tfs_status check_root(struct tfs_import *im)
{
    bool chunks = false;
    uint32_t group;

    for (size_t i = 0; i < im->root.count; i++)
        chunks = chunks || tfs_node_holds_chunks(&im->root.items[i].node, &group);
    if (im->cli->removals != NULL && access(im->cli->removals, F_OK) == 0)
        return TFS_STATUS_DONE;
    if (im->root.count == 0)
        return tfs_cli_say(
            im->cli, TFS_STATUS_BAD,
            "%s: nothing here has a name of the tree: give what terrainfs export wrote", im->dir);
    if (im->cli->remove && !chunks)
        return tfs_cli_say(im->cli, TFS_STATUS_BAD,
                           "%s: it has no directory \"chunks\"; --delete would remove every chunk",
                           im->dir);
    return TFS_STATUS_DONE;
}

enum tfs_status tfs_import_refuse_cut(struct tfs_cli *cli, const char *dir)
{
    return tfs_cli_say(cli, TFS_STATUS_BAD, "%s: this export was cut off: export again", dir);
}

/* The manifest that `export` left, if there is one. */
static enum tfs_status read_manifest(struct tfs_import *im)
{
    char path[PATH_MAX];
    struct tfs_error err = {0};

    im->base = tfs_doc_ref(im->save->doc);
    im->doc = tfs_doc_ref(im->save->doc);
    if (tfs_manifest_load(im->dir, im->save->container->format, &im->manifest, &err) == 0) {
        im->views = im->views ? im->views : im->manifest.views;
        return im->manifest.cut ? tfs_import_refuse_cut(im->cli, im->dir) : TFS_STATUS_DONE;
    }
    snprintf(path, sizeof(path), "%s/" TFS_MANIFEST_DIR "/" TFS_MANIFEST, im->dir);
    tfs_import_refuse(im, path, &err);
    if (im->status == TFS_STATUS_BAD)
        tfs_cli_say(im->cli, im->status,
                    "without this file, every file that differs from the save counts as edited");
    return im->status;
}

static enum tfs_status gather(struct tfs_import *im)
{
    const struct tfs_node top = TFS_NODE_ROOT;
    enum tfs_status status = TFS_STATUS_DONE;

    if (im->cli->removals == NULL || access(im->dir, F_OK) == 0)
        status = tfs_found_scan(im->cli, im->save, im->base, &top, im->dir, &im->root);
    if (!status)
        status = check_root(im);
    tfs_import_look(im, &im->root);
    for (size_t i = 0; i < im->root.count && !status; i++)
        if (tfs_node_is_directory(&im->root.items[i].node))
            status = gather_chunks(im, &im->root.items[i]);
    tfs_found_sort_chunks(&im->chunks);
    return status;
}

/* ---- taking it ------------------------------------------------------------------------------- */

/* Were there any edits of them? */
static bool take_chunks(struct tfs_import *im)
{
    const uint64_t before = im->doc->version;

    if (im->cli->remove)
        tfs_import_missing_chunks(im);
    if (im->cli->removals != NULL)
        tfs_import_removals(im);
    tfs_progress_begin(im->cli, "chunks", im->chunks.count);
    for (size_t i = 0; i < im->chunks.count && im->status != TFS_STATUS_SYSTEM; i++) {
        tfs_import_chunk(im, &im->chunks.items[i]);
        tfs_progress_step(im->cli);
    }
    tfs_progress_end(im->cli);
    return im->doc->version != before || im->counts.left_out > 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void end_unchanged(struct tfs_import *im)
{
    if (im->counts.left_out > 0)
        im->status = tfs_cli_say(im->cli, TFS_STATUS_BAD, "nothing was written");
    else if (im->manifest.present && !im->cli->all)
        tfs_cli_tell(im->cli, "nothing differs from the export, or the save has it already; --all "
                              "takes every file");
    else
        tfs_cli_tell(im->cli, "nothing differs from the save");
}

static void commit(struct tfs_import *im, const char *path)
{
    const struct tfs_import_counts *c = &im->counts;
    struct tfs_error err = {0};

    if (im->doc->version == im->base->version) {
        end_unchanged(im);
    } else if (tfs_cli_commit_names(im->cli, path, im->save, im->doc, &err) < 0) {
        im->status = tfs_cli_report(im->cli, path, &err);
    } else {
        im->written = true;
        tfs_cli_tell(im->cli, "%zu %s%s taken, %zu added, %zu removed", c->files,
                     im->records ? "chunk" : "file", c->files == 1 ? "" : "s", c->added,
                     c->removed);
        im->status = c->left_out > 0 ? TFS_STATUS_BAD : TFS_STATUS_DONE;
    }
}

/* What DIR, whose manifest was read, makes of the save: im->doc, where im->status is DONE. */
static void take_all(struct tfs_import *im)
{
    const struct tfs_node top = TFS_NODE_ROOT;
    const enum tfs_status status = gather(im);

    im->status = tfs_status_worst(im->status, status);
    im->save->options.views |= im->views; /* its texts are those of DIR */
    if (status != TFS_STATUS_DONE)
        return;
    tfs_import_roots(im, true, false); /* materials that chunks are painted with */
    tfs_import_roots(im, false, take_chunks(im));
    if (im->cli->remove)
        tfs_import_missing_files(im, &top, &im->root, im->views);
}

#define PARTIAL "%s: this export could not show everything of the save"

static void take_tree(struct tfs_import *im)
{
    im->status = read_manifest(im);
    if (!im->status && im->cli->remove && im->manifest.partial)
        im->status = tfs_cli_say(im->cli, TFS_STATUS_BAD,
                                 PARTIAL ", and --delete would remove that", im->dir);
    if (!im->status)
        take_all(im);
}

static int count_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct tfs_import_counts *c = arg;

    c->added += before == NULL;
    c->removed += after == NULL;
    c->files += before != NULL && after != NULL;
    return 0;
}

/* Edits that were set aside. */
static void take_records(struct tfs_import *im)
{
    if (im->cli->remove || im->cli->all)
        im->status = tfs_cli_say(im->cli, TFS_STATUS_BAD,
                                 "%s: it holds edits that were set aside and is no tree: neither "
                                 "--all nor --delete means anything of it",
                                 im->dir);
    else
        im->status = tfs_foreign_onto(im->cli, im->save, im->dir, &im->doc, &im->counts.left_out);
    im->base = tfs_doc_ref(im->save->doc);
    if (!im->status)
        (void)tfs_doc_diff(im->base, im->doc, count_chunk, &im->counts);
}

static void import_release(struct tfs_import *im)
{
    tfs_doc_unref(im->doc);
    tfs_doc_unref(im->base);
    tfs_buf_release(&im->text);
    tfs_manifest_release(&im->manifest);
    tfs_found_release(&im->chunks);
    tfs_found_release(&im->root);
}

/* --json. */
static enum tfs_status print_object(const struct tfs_import *im)
{
    const struct tfs_import_counts *c = &im->counts;
    struct tfs_buf out = {0};

    tfs_json_text(&out, "dir", im->dir);
    tfs_json_text(&out, "save", im->cli->operands[1]);
    tfs_json_text(&out, "format", im->save->container->format);
    tfs_json_bool(&out, "written", im->written);
    tfs_json_number(&out, "files", im->written ? c->files : 0);
    tfs_json_number(&out, "added", im->written ? c->added : 0);
    tfs_json_number(&out, "removed", im->written ? c->removed : 0);
    tfs_json_number(&out, "left_out", c->left_out);
    tfs_json_number(&out, "status", im->status);
    return tfs_cli_print_object(im->cli, &out, im->status);
}

static enum tfs_status import_into(struct tfs_cli *cli, struct tfs_save *save, unsigned views)
{
    struct tfs_import im = {.cli = cli, .save = save, .dir = cli->operands[0], .views = views};

    im.status = tfs_cli_writable(cli, cli->operands[1], save);
    if (im.status)
        return im.status;
    tfs_cli_warn(cli, cli->operands[1], save);
    im.records = cli->removals == NULL && tfs_foreign_alone(im.dir);
    if (im.records)
        take_records(&im);
    else
        take_tree(&im);
    if (im.status)
        tfs_cli_say(cli, im.status, "nothing was written");
    else
        commit(&im, cli->operands[1]);
    if (im.records && im.counts.left_out > 0)
        tfs_cli_say(cli, TFS_STATUS_BAD, "--force takes what was not taken, too");
    if ((cli->flags & TFS_CLI_JSON) != 0)
        im.status = print_object(&im);
    import_release(&im);
    return im.status;
}

/* Where DIR says what was removed, if edits were set aside there: allocated. */
static bool find_removals(struct tfs_cli *cli, const char *dir, char **removals)
{
    if (!tfs_aside_is(dir))
        return false;
    if (tfs_print(removals, "%s/" TFS_ASIDE_REMOVED, dir) < 0)
        *removals = NULL;
    cli->removals = *removals;
    return true;
}

enum tfs_status tfs_import_read(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                struct tfs_doc **doc, bool *whole)
{
    struct tfs_cli as_import = *cli;
    struct tfs_import im = {.cli = &as_import, .save = save, .dir = dir};
    char *removals = NULL;

    save->options.views = TFS_VIEWS_EVERY; /* whatever DIR has */
    as_import.all = true;
    im.status = read_manifest(&im);
    *whole = !im.manifest.partial;
    as_import.remove = !find_removals(&as_import, dir, &removals) && *whole;
    if (!*whole)
        tfs_cli_say(cli, TFS_STATUS_DONE, PARTIAL ", and what it lacks may be there", dir);
    if (!im.status)
        take_all(&im);
    if (im.counts.left_out > 0)
        im.status = tfs_status_worst(im.status, TFS_STATUS_BAD);
    if (!im.status)
        *doc = tfs_doc_ref(im.doc);
    import_release(&im);
    free(removals);
    return im.status;
}

static enum tfs_status import_tree(struct tfs_cli *cli)
{
    const unsigned views = cli->options.views;
    struct tfs_save *save;

    cli->options.views = TFS_VIEWS_EVERY; /* whatever DIR has */
    enum tfs_status status = tfs_cli_open(cli, cli->operands[1], TFS_LOCK_EXCLUSIVE, &save);
    if (status)
        return status;
    status = import_into(cli, save, views);
    tfs_cli_close(cli, cli->operands[1], save);
    return status;
}

/* Edits that were set aside are part of a tree. */
static enum tfs_status import_aside(struct tfs_cli *cli)
{
    const char *dir = cli->operands[0];
    enum tfs_status told = tfs_aside_check(cli, dir);

    if (told)
        return told;
    told = tfs_aside_tell(cli, dir);
    return tfs_status_worst(told, import_tree(cli));
}

enum tfs_status tfs_cli_import(struct tfs_cli *cli)
{
    struct tfs_cli part = *cli;
    char *removals = NULL;

    if (cli->removals != NULL || tfs_foreign_alone(cli->operands[0]) ||
        !find_removals(&part, cli->operands[0], &removals))
        return import_tree(cli);
    enum tfs_status status = removals == NULL ? tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory")
                                              : import_aside(&part);
    cli->unread = part.unread;
    free(removals);
    return status;
}
