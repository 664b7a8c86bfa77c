/*
 * export: a save -> a directory with the whole tree.
 *
 * Names of the save are not trusted: what could leave the directory is refused, and nothing that is
 * there already is opened or followed.
 */
#include "commands/cli.h"
#include "commands/json.h"
#include "commands/manifest.h"
#include "formats/cells/cells.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct exporter {
    struct tfs_cli *cli;
    const char *target;
    struct tfs_save *save;
    struct tfs_buf data; /* of the file at hand */
    struct tfs_manifest_writer manifest;
    mode_t file_mode, directory_mode;
    size_t files; /* that were written */
    enum tfs_status status;
};

/* ---- the target ------------------------------------------------------------------------------ */

/* Creates DIR, or takes an empty one. */
static enum tfs_status open_target(struct tfs_cli *cli, const char *path, mode_t mode, int *fd)
{
    if (mkdir(path, mode) && errno != EEXIST)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
    int empty = tfs_directory_empty(path);
    if (empty > 0)
        return TFS_STATUS_DONE;
    close(*fd);
    if (empty < 0)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(-empty));
    return tfs_cli_say(cli, TFS_STATUS_USAGE, "%s: the directory is not empty", path);
}

enum tfs_status tfs_cli_make_target(struct tfs_cli *cli, const char *path, mode_t mode)
{
    int fd;
    enum tfs_status status = open_target(cli, path, mode, &fd);

    if (status == TFS_STATUS_DONE)
        close(fd);
    return status;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* The failure that ends the export: it is of the system. */
static enum tfs_status stop(struct exporter *ex, const char *path, const char *why)
{
    ex->status = TFS_STATUS_SYSTEM;
    return tfs_cli_say(ex->cli, ex->status, "%s/%s: %s", ex->target, path, why);
}

static bool name_is_safe(const char *name, size_t size)
{
    return size > 0 && size <= NAME_MAX && !memchr(name, '/', size) && !memchr(name, '\0', size) &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Writes the bytes of a new file, which it closes. Half a file would be taken for an edit. */
static enum tfs_status fill_file(struct exporter *ex, int directory, int fd, const char *name,
                                 const char *path)
{
    int failed = -tfs_write_all(fd, tfs_buf_span(&ex->data));

    if (close(fd) && !failed)
        failed = errno;
    if (!failed)
        return TFS_STATUS_DONE;
    (void)unlinkat(directory, name, 0);
    return stop(ex, path, strerror(failed));
}

/* What was written, into the manifest. */
static enum tfs_status list_file(struct exporter *ex, const struct tfs_node *node, const char *path)
{
    bool whole = node->scope == TFS_SCOPE_ROOT && tfs_node_file(ex->save, node)->lens->put;
    struct tfs_error err = {0};

    if (whole)
        tfs_manifest_add_original(&ex->manifest, path, tfs_buf_span(&ex->data), ex->directory_mode,
                                  ex->file_mode, &err);
    else
        tfs_manifest_add(&ex->manifest, path, tfs_buf_span(&ex->data), &err);
    return err.code ? stop(ex, path, err.text) : TFS_STATUS_DONE;
}

/* Does the tree lack something that is in the save, as was said? */
static bool hides(const struct tfs_facts *facts)
{
    bool hidden = false;

    for (size_t i = 0; i < facts->note_count; i++)
        hidden = hidden || facts->notes[i].kind == TFS_NOTE_DAMAGED || facts->notes[i].hiding;
    return hidden;
}

/* Something of the save cannot be read: the export goes on, unless that is the system's doing. */
static enum tfs_status report(struct exporter *ex, const char *path, const struct tfs_error *err)
{
    char about[TFS_CLI_NAME_MAX];
    const enum tfs_status status = tfs_cli_report(ex->cli, tfs_cli_path(ex->cli, path, about), err);

    ex->status = tfs_status_worst(ex->status, status);
    return status == TFS_STATUS_SYSTEM ? status : TFS_STATUS_DONE;
}

/* Of a chunk that is damaged, some files were not there. */
static enum tfs_status check_chunk(struct exporter *ex, const struct tfs_node *node,
                                   const char *path)
{
    const struct tfs_doc *doc = ex->save->doc;
    const struct tfs_chunk *chunk = tfs_doc_find(doc, node->key);
    struct tfs_error warning = {0}, err = {0};

    if (chunk == NULL || (chunk->flags & TFS_CHUNK_DAMAGED) != 0)
        return TFS_STATUS_DONE; /* it has its note */
    tfs_cells_check(ex->save, doc, node->key, &warning, &err);
    return err.code ? report(ex, path, &err) : TFS_STATUS_DONE;
}

static enum tfs_status export_file(struct exporter *ex, int directory, const struct tfs_node *node,
                                   const char *name, const char *path)
{
    const struct tfs_lens *lens = tfs_node_file(ex->save, node)->lens;
    struct tfs_error err = {0};
    int fd;

    tfs_buf_clear(&ex->data);
    if (lens->get(ex->save, ex->save->doc, tfs_node_at(ex->save, node), &ex->data, &err) ||
        tfs_buf_check(&ex->data, &err))
        return report(ex, path, &err);
    fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                ex->file_mode);
    if (fd < 0)
        return stop(ex, path, strerror(errno));
    enum tfs_status status = fill_file(ex, directory, fd, name, path);
    ex->files += status == TFS_STATUS_DONE;
    return status ? status : list_file(ex, node, path);
}

static enum tfs_status export_directory(struct exporter *ex, int fd, const struct tfs_node *dir);

static enum tfs_status export_subdirectory(struct exporter *ex, int parent,
                                           const struct tfs_node *node, const char *name,
                                           const char *path)
{
    enum tfs_status status;
    int fd;

    if (mkdirat(parent, name, ex->directory_mode))
        return stop(ex, path, strerror(errno));
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return stop(ex, path, strerror(errno));
    status = export_directory(ex, fd, node);
    close(fd);
    if (tfs_node_is_chunk(node)) {
        tfs_progress_step(ex->cli);
        status = status ? status : check_chunk(ex, node, path);
    }
    return status;
}

/* One entry of an open directory. */
static enum tfs_status export_entry(struct exporter *ex, int parent, const struct tfs_node *node)
{
    char *path = tfs_cli_node_path(ex->save, ex->save->doc, node);
    struct tfs_buf name = {0};
    enum tfs_status status;

    tfs_tree_name(ex->save, ex->save->doc, node, &name);
    tfs_buf_u8(&name, 0);
    const char *text = (const char *)name.data;
    if (name.failed || path == NULL)
        status = stop(ex, "", "out of memory");
    else if (!name_is_safe(text, name.size - 1))
        status = stop(ex, "", "a file of the save has a name that no file can have");
    else if (tfs_node_is_directory(node))
        status = export_subdirectory(ex, parent, node, text, path);
    else
        status = export_file(ex, parent, node, text, path);
    tfs_buf_release(&name);
    free(path);
    return status;
}

/* What is in a directory cannot be found out now. */
static enum tfs_status fail_listing(struct exporter *ex, const struct tfs_node *dir, int code)
{
    char *path = tfs_cli_node_path(ex->save, ex->save->doc, dir);
    const enum tfs_status status = stop(ex, path == NULL ? "" : path, strerror(-code));

    free(path);
    return status;
}

static enum tfs_status export_directory(struct exporter *ex, int fd, const struct tfs_node *dir)
{
    enum tfs_status status = TFS_STATUS_DONE;
    struct tfs_node node;
    size_t index = 0;
    int found = 0;

    while (!status &&
           (found = tfs_tree_entry(ex->save, ex->save->doc, dir, index, &index, &node)) == 1)
        status = export_entry(ex, fd, &node);
    return found < 0 ? fail_listing(ex, dir, found) : status;
}

/* The tree, and then its manifest: one that is interrupted has only the beginning of it. */
static void export_all(struct exporter *ex, int fd)
{
    const struct tfs_node root = TFS_NODE_ROOT;
    struct tfs_error err = {0};

    if (hides(ex->save->doc->facts))
        ex->status = TFS_STATUS_BAD;
    if (tfs_manifest_begin(fd, ex->directory_mode, ex->file_mode, ex->save->container->format,
                           ex->save->options.views, &ex->manifest, &err) == 0) {
        if (export_directory(ex, fd, &root) == TFS_STATUS_DONE)
            tfs_manifest_finish(&ex->manifest, ex->status != TFS_STATUS_DONE, &err);
        tfs_manifest_close(&ex->manifest);
    }
    if (err.code)
        ex->status = tfs_cli_report(ex->cli, ex->target, &err);
}

/* Why a save has nothing that could be exported; NULL: it has, or may get it. */
static const char *find_refusal(const struct tfs_doc *doc)
{
    return doc->count == 0 ? tfs_facts_find(doc->facts, TFS_NOTE_READ_ONLY) : NULL;
}

static void export_tree(struct exporter *ex)
{
    const char *refusal = find_refusal(ex->save->doc);
    int fd = -1;

    if (refusal != NULL) {
        ex->status = tfs_cli_say(ex->cli, TFS_STATUS_BAD, "%s: there is nothing to export: %s",
                                 ex->cli->operands[0], refusal);
        return;
    }
    ex->status = open_target(ex->cli, ex->target, ex->directory_mode, &fd);
    if (ex->status)
        return;
    tfs_cli_warn(ex->cli, ex->cli->operands[0], ex->save);
    tfs_progress_begin(ex->cli, "chunks", ex->save->doc->count);
    export_all(ex, fd);
    tfs_progress_end(ex->cli);
    close(fd);
}

/* --json. */
static enum tfs_status print_object(const struct exporter *ex)
{
    struct tfs_buf out = {0};

    tfs_json_text(&out, "save", ex->cli->operands[0]);
    tfs_json_text(&out, "dir", ex->target);
    tfs_json_text(&out, "format", ex->save->container->format);
    tfs_json_number(&out, "chunks", ex->save->doc->count);
    tfs_json_number(&out, "files", ex->files);
    tfs_json_number(&out, "status", ex->status);
    return tfs_cli_print_object(ex->cli, &out, ex->status);
}

enum tfs_status tfs_cli_export(struct tfs_cli *cli)
{
    struct exporter ex = {.cli = cli, .target = cli->operands[1]};

    ex.status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_NONE, &ex.save);
    if (ex.status)
        return ex.status;
    /* Nobody sees more through the copy than in the save, but its owner can edit it. */
    ex.file_mode = (ex.save->st.st_mode & 0666) | S_IRUSR | S_IWUSR;
    ex.directory_mode = ex.file_mode | (ex.file_mode & 0444) >> 2;
    export_tree(&ex);
    if ((cli->flags & TFS_CLI_JSON) != 0)
        ex.status = print_object(&ex);
    tfs_buf_release(&ex.data);
    tfs_save_close(ex.save);
    return ex.status;
}
