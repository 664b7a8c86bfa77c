/*
 * import: a directory as `export` writes it -> one commit, or none.
 *
 * Taken is what somebody touched since the export and what differs from the save as it was before
 * the import: files are several views of one chunk, and what was not edited must not undo what was.
 * Order: files of the root, chunk by chunk in the order of the schema, late files of the root
 * (pictures). A text that is refused keeps everything from being written; files that contradict
 * each other are left out, with the chunk that they are about.
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
#include "fs/tree/groups.h"

void tfs_import_refuse(struct tfs_import *im, const char *path, const struct tfs_error *err)
{
    im->status = tfs_status_worst(im->status, tfs_cli_report(im->cli, path, err));
}

const char *tfs_import_name(const struct tfs_import *im, const char *path)
{
    return path + strlen(im->dir) + 1;
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

/* Appends the chunks below a directory of the root or of a group. Its arrays are looked at only. */
static enum tfs_status gather_chunks(struct tfs_import *im, const struct tfs_found *dir)
{
    struct tfs_found_list below = {0};
    enum tfs_status status;
    uint32_t group;

    if (tfs_node_holds_chunks(&dir->node, &group))
        return gather_group(im, dir, group);
    status = tfs_found_scan(im->cli, im->save, im->base, &dir->node, dir->path, &below);
    if (!status) {
        tfs_views_check_arrays(im, &below);
        status = im->status;
    }
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

/* Has the chunk's directory raw.bin, and no file that overlaps it? */
static enum tfs_status look_for_raw(struct tfs_import *im, const struct tfs_found *chunk, bool *raw)
{
    struct tfs_cli quiet = *im->cli;
    struct tfs_found_list files = {0};

    quiet.again = true;
    enum tfs_status status =
        tfs_found_scan(&quiet, im->save, im->base, &chunk->node, chunk->path, &files);
    *raw = files.count > 0;
    for (size_t i = 0; i < files.count && *raw; i++) {
        const struct tfs_file *file = tfs_node_file(im->save, &files.items[i].node);
        *raw = files.items[i].array || (file != NULL && tfs_file_is_chosen(file, TFS_VIEWS_RAW));
    }
    tfs_found_release(&files);
    return status;
}

/* git does not keep the manifest. A tree of raw.bin alone is one of views=raw: what else a chunk
 * has is in there, and not missing. */
static enum tfs_status recognise_raw(struct tfs_import *im)
{
    bool raw = im->views == 0 && im->chunks.count > 0;
    enum tfs_status status = TFS_STATUS_DONE;

    for (size_t i = 0; i < im->root.count && raw; i++)
        raw = im->root.items[i].array || tfs_node_is_directory(&im->root.items[i].node);
    for (size_t i = 0; i < im->chunks.count && raw && !status; i++)
        status = look_for_raw(im, &im->chunks.items[i], &raw);
    if (raw)
        im->views = TFS_VIEWS_RAW;
    return status;
}

static enum tfs_status gather(struct tfs_import *im)
{
    const struct tfs_node top = TFS_NODE_ROOT;
    enum tfs_status status = TFS_STATUS_DONE;

    if (im->cli->removals == NULL || access(im->dir, F_OK) == 0)
        status = tfs_found_scan(im->cli, im->save, im->base, &top, im->dir, &im->root);
    if (!status)
        status = check_root(im);
    if (!status)
        status = read_manifest(im);
    for (size_t i = 0; i < im->root.count && !status; i++)
        if (tfs_node_is_directory(&im->root.items[i].node))
            status = gather_chunks(im, &im->root.items[i]);
    tfs_found_sort_chunks(&im->chunks);
    return status ? status : recognise_raw(im);
}

/* ---- taking it ------------------------------------------------------------------------------- */

static void take_chunks(struct tfs_import *im)
{
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
}

/* Takes everything that is not left out. */
static void take_once(struct tfs_import *im)
{
    tfs_import_advance(im, tfs_doc_ref(im->base));
    im->counts = (struct tfs_import_counts){0};
    im->again = false;
    for (size_t i = 0; i < im->root.count; i++)
        im->root.items[i].taken = false;
    tfs_import_roots_early(im);
    take_chunks(im);
    if (im->status != TFS_STATUS_SYSTEM)
        tfs_import_roots_late(im);
}

/* Each pass leaves out what the one before found to be contradicting, so this ends. */
static void take_all(struct tfs_import *im)
{
    do {
        take_once(im);
        im->cli->again = true;
    } while (im->again && !im->status);
}

/* ---- the end --------------------------------------------------------------------------------- */

static const char *plural(size_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* What stays because the export could not show everything. */
static void say_unknown(struct tfs_import *im)
{
    const size_t count = im->counts.unknown;

    if (count == 0)
        return;
    im->unfinished = im->unfinished || (im->cli->all && !im->reading);
    tfs_cli_say(im->cli, im->unfinished ? TFS_STATUS_BAD : TFS_STATUS_DONE,
                "%zu %s: the export could not show everything of the save and had not %s", count,
                plural(count, "chunk or file is not removed", "chunks or files are not removed"),
                plural(count, "this one", "these"));
}

/* What nobody touched and what the save got since the export. True: there is such. */
static bool say_untouched(struct tfs_import *im, enum tfs_status status)
{
    const struct tfs_import_counts *c = &im->counts;

    if (c->untouched)
        tfs_cli_say(im->cli, status,
                    "%zu %s from the save and %s not touched since the export: --all takes %s",
                    c->untouched, plural(c->untouched, "file differs", "files differ"),
                    plural(c->untouched, "was", "were"), plural(c->untouched, "it", "them"));
    if (c->gained)
        tfs_cli_say(
            im->cli, status, "%zu %s since the export and %s: --all --delete removes %s", c->gained,
            plural(c->gained, "chunk or file came to the save", "chunks or files came to the save"),
            plural(c->gained, "stays", "stay"), plural(c->gained, "it", "them"));
    return c->untouched || c->gained || c->unknown;
}

static void end_unchanged(struct tfs_import *im)
{
    if (im->contradictions || im->unfinished)
        tfs_cli_say(im->cli, im->status = TFS_STATUS_BAD, "nothing was written");
    else if (say_untouched(im, TFS_STATUS_BAD))
        im->status = TFS_STATUS_BAD;
    else if (im->counts.outdated)
        tfs_cli_tell(im->cli, "the save shows every edit already");
    else
        tfs_cli_tell(im->cli, "nothing differs from the save");
}

static void commit(struct tfs_import *im, const char *path)
{
    const struct tfs_import_counts *c = &im->counts;
    struct tfs_buf names = {0};
    struct tfs_error err = {0};

    if (im->doc->version == im->base->version) {
        end_unchanged(im);
    } else if (tfs_cli_find_names(im->save, im->doc, &names, &err) < 0) {
        im->status = tfs_cli_report(im->cli, path, &err);
        tfs_cli_say(im->cli, im->status, "nothing was written");
    } else if (tfs_cli_commit(im->save, im->doc, &err) < 0) {
        im->status = tfs_cli_report(im->cli, path, &err);
    } else {
        im->written = true;
        tfs_cli_tell_names(im->cli, path, &names);
        tfs_cli_tell(im->cli, "%zu %s taken, %zu added, %zu removed", c->files,
                     plural(c->files, "file", "files"), c->added, c->removed);
        say_untouched(im, TFS_STATUS_DONE);
        im->status = im->contradictions || im->unfinished ? TFS_STATUS_BAD : TFS_STATUS_DONE;
    }
    tfs_buf_release(&names);
}

/* What DIR makes of the save: im->doc, where im->status is DONE. */
static void import_init(struct tfs_import *im)
{
    im->base = tfs_doc_ref(im->save->doc);
    im->doc = tfs_doc_ref(im->save->doc);
    im->status = gather(im);
    im->save->options.views |= im->views; /* its texts are those of DIR */
    if (!im->status) {
        tfs_views_check_arrays(im, &im->root);
        tfs_views_check_pictures(im);
        tfs_import_find_shown(im);
    }
    if (!im->status)
        take_all(im);
}

static void import_release(struct tfs_import *im)
{
    tfs_doc_unref(im->doc);
    tfs_doc_unref(im->base);
    tfs_buf_release(&im->text);
    tfs_manifest_release(&im->manifest);
    free(im->shown);
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
    tfs_json_number(&out, "untouched", c->untouched);
    tfs_json_number(&out, "gained", c->gained);
    tfs_json_number(&out, "contradictions", im->contradictions);
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
    import_init(&im);
    say_unknown(&im);
    if (im.status)
        tfs_cli_say(cli, im.status, "nothing was written");
    else
        commit(&im, cli->operands[1]);
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
    struct tfs_import im = {.cli = &as_import, .save = save, .dir = dir, .reading = true};
    char *removals = NULL;

    save->options.views = TFS_VIEWS_EVERY; /* whatever DIR has */
    as_import.all = true;
    as_import.remove = !find_removals(&as_import, dir, &removals);
    import_init(&im);
    say_unknown(&im);
    if (im.contradictions || im.unfinished)
        im.status = tfs_status_worst(im.status, TFS_STATUS_BAD);
    if (!im.status)
        *doc = tfs_doc_ref(im.doc);
    *whole = im.counts.unknown == 0;
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

    if (cli->removals == NULL && tfs_foreign_alone(cli->operands[0]))
        return tfs_foreign_import(cli);
    if (cli->removals != NULL || !find_removals(&part, cli->operands[0], &removals))
        return import_tree(cli);
    enum tfs_status status = removals == NULL ? tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory")
                                              : import_aside(&part);
    cli->unread = part.unread;
    free(removals);
    return status;
}
