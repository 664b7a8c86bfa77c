/*
 * import: a directory as `export` writes it -> one commit, or none.
 *
 * Taken is what differs from the save as it was before the import: files are several views of one
 * chunk, and what was not edited must not undo what was. Order: files of the root, chunk by chunk
 * in the order of the schema, late files of the root (pictures). Every text is put by an edit of
 * its own, so that a refused one leaves nothing behind and the next can still be judged; nothing is
 * committed then.
 */
#include "cli_import.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"

#define INPUT_MAX (UINT64_C(1) << 30)

struct import {
    struct tfs_cli *cli;
    struct tfs_save *save;
    struct tfs_doc *base; /* the save as it was before */
    struct tfs_doc *doc;  /* with what was taken so far */
    enum tfs_status status;
    size_t files, added, removed;
    struct tfs_buf text; /* a file of the save, to compare */
};

/* A text of a fresh chunk that waits for another file. */
struct waiting {
    struct tfs_node node;
    const char *path;
    struct tfs_blob *text;
};

/* A chunk while its files are taken. */
struct arrival {
    struct import *im;
    bool fresh;                      /* it was not in the save */
    const struct tfs_doc *reference; /* what files are compared with; NULL: all are taken */
    struct tfs_doc *raw;             /* a fresh chunk as its raw.bin left it */
    struct waiting waiting[TFS_FILES_MAX];
    size_t waiting_count;
};

static void refuse(struct import *im, const char *path, const struct tfs_error *err)
{
    im->status = tfs_status_worst(im->status, tfs_cli_report(im->cli, path, err));
}

/* Ends an edit: a failed one is reported and leaves the document as it was. */
static bool finish(struct import *im, struct tfs_edit *edit, int result, const char *path,
                   const struct tfs_error *err)
{
    if (!result) {
        struct tfs_doc *doc = tfs_edit_finish(edit);

        tfs_doc_unref(im->doc);
        im->doc = doc;
    } else {
        refuse(im, path, err);
    }
    tfs_edit_release(edit);
    return result == 0;
}

/* ---- one file -------------------------------------------------------------------------------- */

static int read_text(const char *path, struct tfs_blob **text, struct tfs_error *err)
{
    struct tfs_file_handle file;
    int result = tfs_file_open(path, false, &file, err);

    if (result)
        return result;
    result = tfs_file_read(&file, INPUT_MAX, text, err);
    tfs_file_close(&file);
    return result;
}

/* Does the file read like this in `doc`: 1 or 0? One that is damaged there does not. Negative: that
 * cannot be known now, and to put what nobody edited could undo an edit through another file. */
static int reads_as(struct import *im, const struct tfs_doc *doc, const struct tfs_node *node,
                    struct tfs_span text, struct tfs_error *err)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, node)->lens;
    struct tfs_at at = tfs_node_at(im->save, node);
    int64_t size;

    int exists = tfs_node_exists(im->save, doc, node);
    if (exists <= 0)
        return exists;
    size = lens->size ? lens->size(im->save, doc, at) : -1;
    if (size >= 0 && (uint64_t)size != text.size)
        return 0;
    if (im->text.failed)
        tfs_buf_release(&im->text);
    tfs_buf_clear(&im->text);
    if (lens->get(im->save, doc, at, &im->text, err) == 0 && tfs_buf_check(&im->text, err) == 0)
        return tfs_span_equal(tfs_buf_span(&im->text), text);
    return err->code == -ENOMEM || err->code == -EIO || err->code == -EBUSY ? err->code : 0;
}

/* A put as this import does it. */
static struct tfs_put put_as(const struct import *im, bool fresh, const struct tfs_doc *base)
{
    return (struct tfs_put){
        .fresh = fresh, .options = im->cli->options.upgrade ? TFS_PUT_UPGRADE : 0, .base = base};
}

/* Puts a text; put->waits: it is to be put again. */
static bool put_text(struct import *im, const struct tfs_node *node, const char *path,
                     struct tfs_span text, struct tfs_put *put)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, node)->lens;
    struct tfs_error err = {0};
    struct tfs_edit edit;
    int result;

    if (!tfs_node_writable(im->save, im->doc, node)) {
        tfs_fail(&err, -EBADMSG, "this chunk is damaged and cannot be written");
        refuse(im, path, &err);
        return false;
    }
    if (tfs_edit_open(im->doc, &edit, &err)) {
        refuse(im, path, &err);
        return false;
    }
    result = lens->put(im->save, &edit, tfs_node_at(im->save, node), text, put, &err);
    return finish(im, &edit, result, path, &err);
}

/* Puts again what waits, now that another file came. */
static void put_waiting(struct arrival *chunk, bool fresh)
{
    size_t kept = 0;

    for (size_t i = 0; i < chunk->waiting_count; i++) {
        struct waiting *w = &chunk->waiting[i];
        struct tfs_put put = put_as(chunk->im, fresh, NULL);

        if (put_text(chunk->im, &w->node, w->path, tfs_blob_span(w->text), &put) && put.waits)
            chunk->waiting[kept++] = *w;
        else
            tfs_blob_unref(w->text);
    }
    chunk->waiting_count = kept;
}

static void keep_waiting(struct arrival *chunk, const struct tfs_found *found,
                         struct tfs_blob *text)
{
    if (chunk->waiting_count < TFS_FILES_MAX)
        chunk->waiting[chunk->waiting_count++] =
            (struct waiting){found->node, found->path, tfs_blob_ref(text)};
}

static void take_text(struct arrival *chunk, const struct tfs_found *found, struct tfs_blob *text,
                      const struct tfs_doc *base)
{
    struct import *im = chunk->im;
    struct tfs_put put = put_as(im, chunk->fresh, base);

    if (!put_text(im, &found->node, found->path, tfs_blob_span(text), &put))
        return;
    im->files++;
    put_waiting(chunk, chunk->fresh);
    if (put.waits)
        keep_waiting(chunk, found, text);
    /* raw.bin gives a fresh chunk all its content: only what differs from that was edited. */
    if (chunk->fresh && (tfs_node_file(im->save, &found->node)->flags & TFS_FILE_RAW)) {
        tfs_doc_unref(chunk->raw);
        chunk->reference = chunk->raw = tfs_doc_ref(im->doc);
    }
}

/* Finds the document that a file of the root was made for: the save as it was before the import, or
 * what the chunks that came along have made of it. False: of another save, whose chunks say already
 * what it shows. */
static bool find_base(const struct import *im, const struct tfs_node *node, struct tfs_span text,
                      const struct tfs_doc **base)
{
    const struct tfs_frame *frame = tfs_node_file(im->save, node)->lens->frame;
    const struct tfs_span unknown = {0};
    struct tfs_error before = {0}, after = {0};

    *base = node->scope == TFS_SCOPE_ROOT ? im->base : NULL;
    if (!frame || frame->fits(im->save, im->base, text, unknown, &before) == 0)
        return true;
    *base = im->doc;
    return frame->fits(im->save, im->doc, text, unknown, &after) == 0;
}

static void take_file(struct arrival *chunk, const struct tfs_found *found)
{
    struct import *im = chunk->im;
    struct tfs_error err = {0};
    struct tfs_blob *text;

    if (!tfs_node_file(im->save, &found->node)->lens->put)
        return;
    if (read_text(found->path, &text, &err)) {
        refuse(im, found->path, &err);
        return;
    }
    const struct tfs_span span = tfs_blob_span(text);
    const struct tfs_doc *base;
    if (!find_base(im, &found->node, span, &base)) {
        tfs_cli_say(im->cli, TFS_STATUS_DONE, "%s: left out, it is of another save", found->path);
    } else {
        int same = chunk->reference ? reads_as(im, chunk->reference, &found->node, span, &err) : 0;
        if (same < 0)
            refuse(im, found->path, &err);
        else if (same == 0)
            take_text(chunk, found, text, base);
    }
    tfs_blob_unref(text);
}

/* ---- --delete -------------------------------------------------------------------------------- */

static void remove_file(struct import *im, const struct tfs_node *node, const char *path)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, node)->lens;
    struct tfs_error err = {0};
    struct tfs_edit edit;
    int result;

    if (!lens->remove || !tfs_node_writable(im->save, im->doc, node))
        return;
    if (tfs_edit_open(im->doc, &edit, &err)) {
        refuse(im, path, &err);
        return;
    }
    result = lens->remove(im->save, &edit, tfs_node_at(im->save, node), &err);
    im->removed += finish(im, &edit, result, path, &err);
}

static bool was_found(const struct tfs_found_list *list, const struct tfs_node *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (tfs_node_same(&list->items[i].node, node))
            return true;
    return false;
}

/* Optional files of a scope that DIR's directory `path` lacks. */
static void remove_missing_files(struct import *im, const struct tfs_node *top, const char *path,
                                 const struct tfs_found_list *list)
{
    const struct tfs_tree *tree = im->save->tree;
    bool chunk = top->scope == TFS_SCOPE_CHUNK;
    const struct tfs_file *files = chunk ? tree->chunk_files : tree->root_files;
    unsigned count = chunk ? tree->chunk_count : tree->root_count;
    struct tfs_node node = *top;

    for (unsigned i = 0; i < count; i++) {
        uint32_t members = files[i].count ? files[i].count(im->doc) : 1;

        if (!(files[i].flags & TFS_FILE_OPTIONAL))
            continue;
        node.file = (int)i;
        for (node.member = 0; node.member < members; node.member++)
            if (!was_found(list, &node) && tfs_node_exists(im->save, im->doc, &node) != 0)
                remove_file(im, &node, path);
    }
}

static void remove_chunk(struct import *im, const struct tfs_chunk *chunk)
{
    const struct tfs_tree *tree = im->save->tree;
    const struct tfs_node node = tfs_node_of_chunk(chunk);
    struct tfs_error err = {0};
    struct tfs_buf path = {0};
    struct tfs_edit edit;
    int result;

    tfs_tree_path(im->save, im->base, &node, &path);
    tfs_buf_u8(&path, 0);
    if (tfs_buf_check(&path, &err) || tfs_edit_open(im->doc, &edit, &err)) {
        refuse(im, "", &err);
        goto out;
    }
    result = tree->chunk_remove ? tree->chunk_remove(im->save, &edit, chunk->key, &err)
                                : tfs_edit_remove(&edit, chunk->key, &err);
    im->removed += finish(im, &edit, result, (const char *)path.data, &err);
out:
    tfs_buf_release(&path);
}

/* Both are sorted by key. */
static void remove_missing_chunks(struct import *im, const struct tfs_found_list *chunks)
{
    size_t at = 0;

    for (size_t i = 0; i < im->base->count; i++) {
        struct tfs_key key = tfs_doc_at(im->base, i)->key;

        while (at < chunks->count && tfs_key_compare(chunks->items[at].node.key, key) < 0)
            at++;
        if (at < chunks->count && tfs_key_compare(chunks->items[at].node.key, key) == 0)
            continue;
        remove_chunk(im, tfs_doc_at(im->base, i));
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static bool create_chunk(struct import *im, const struct tfs_found *found)
{
    const struct tfs_tree *tree = im->save->tree;
    struct tfs_error err = {0};
    struct tfs_edit edit;
    int result;

    if (tree->fixed_chunks || !tree->chunk_create) {
        tfs_fail(&err, -EINVAL, "the save has no such chunk, and none can be added to it");
        refuse(im, found->path, &err);
        return false;
    }
    if (tfs_edit_open(im->doc, &edit, &err)) {
        refuse(im, found->path, &err);
        return false;
    }
    result = tree->chunk_create(im->save, &edit, found->node.key, &err);
    if (!finish(im, &edit, result, found->path, &err))
        return false;
    im->added++;
    return true;
}

static void take_files(struct arrival *chunk, const struct tfs_node *top, const char *path)
{
    struct import *im = chunk->im;
    struct tfs_found_list files = {0};
    enum tfs_status status = tfs_found_scan(im->cli, im->save, im->doc, top, path, &files);

    im->status = tfs_status_worst(im->status, status);
    for (size_t i = 0; i < files.count; i++)
        if (!tfs_node_is_directory(&files.items[i].node))
            take_file(chunk, &files.items[i]);
    /* What still waits has nothing to wait for any more: now it is judged. */
    put_waiting(chunk, false);
    if (im->cli->remove)
        remove_missing_files(im, top, path, &files);
    tfs_found_release(&files);
}

static void take_chunk(struct import *im, const struct tfs_found *found)
{
    struct arrival chunk = {.im = im, .reference = im->base};
    struct tfs_node top = found->node;

    if (top.slot == TFS_SLOT_NONE) {
        if (!create_chunk(im, found))
            return;
        chunk.fresh = true;
        chunk.reference = NULL;
        top.slot = tfs_doc_find(im->doc, top.key)->slot;
    }
    take_files(&chunk, &top, found->path);
    tfs_doc_unref(chunk.raw);
}

static void take_chunks(struct import *im, const struct tfs_found_list *chunks)
{
    if (im->cli->remove && !im->save->tree->fixed_chunks)
        remove_missing_chunks(im, chunks);
    tfs_progress_begin(im->cli, "chunks", chunks->count);
    for (size_t i = 0; i < chunks->count && im->status != TFS_STATUS_SYSTEM; i++) {
        take_chunk(im, &chunks->items[i]);
        tfs_progress_step(im->cli);
    }
    tfs_progress_end(im->cli);
}

/* ---- the whole tree -------------------------------------------------------------------------- */

/* Appends the chunks of a group, which has to be one that the save can hold. */
static enum tfs_status gather_group(struct import *im, const struct tfs_found *dir, uint32_t group,
                                    struct tfs_found_list *chunks)
{
    struct tfs_error err = {0};
    size_t before = chunks->count;
    enum tfs_status status = tfs_found_chunks(im->cli, im->base, &dir->node, dir->path, chunks);

    if (status || group == 0 || chunks->count == before ||
        tfs_tree_group_check(im->save, im->base, group, &err) == 0)
        return status;
    return tfs_cli_report(im->cli, dir->path, &err);
}

/* Appends the chunks below a directory of the root or of a group. */
static enum tfs_status gather_chunks(struct import *im, const struct tfs_found *dir,
                                     struct tfs_found_list *chunks)
{
    struct tfs_found_list below = {0};
    enum tfs_status status;
    uint32_t group;

    if (tfs_node_holds_chunks(&dir->node, &group))
        return gather_group(im, dir, group, chunks);
    status = tfs_found_scan(im->cli, im->save, im->base, &dir->node, dir->path, &below);
    for (size_t i = 0; i < below.count && !status; i++)
        status = gather_chunks(im, &below.items[i], chunks);
    tfs_found_release(&below);
    return status;
}

static void take_root_files(struct import *im, const struct tfs_found_list *root, unsigned late)
{
    struct arrival arrival = {.im = im, .reference = im->base};

    for (size_t i = 0; i < root->count; i++) {
        const struct tfs_file *file = tfs_node_file(im->save, &root->items[i].node);

        if (file && (file->flags & TFS_FILE_LATE) == late)
            take_file(&arrival, &root->items[i]);
    }
}

/* Is DIR what it should be? A wrong one must not empty the save. */
static enum tfs_status judge_root(struct import *im, const char *dir,
                                  const struct tfs_found_list *root)
{
    bool chunks = false;
    uint32_t group;

    for (size_t i = 0; i < root->count; i++)
        chunks = chunks || tfs_node_holds_chunks(&root->items[i].node, &group);
    if (root->count == 0)
        return tfs_cli_say(im->cli, TFS_STATUS_BAD, "%s: nothing here has a name of the tree", dir);
    if (im->cli->remove && !chunks)
        return tfs_cli_say(im->cli, TFS_STATUS_BAD,
                           "%s: it has no directory \"chunks\"; --delete would remove every chunk",
                           dir);
    return TFS_STATUS_DONE;
}

static void take_tree(struct import *im, const char *dir)
{
    const struct tfs_node top = TFS_NODE_ROOT;
    struct tfs_found_list root = {0}, chunks = {0};

    im->status = tfs_found_scan(im->cli, im->save, im->base, &top, dir, &root);
    if (!im->status)
        im->status = judge_root(im, dir, &root);
    for (size_t i = 0; i < root.count && !im->status; i++)
        if (tfs_node_is_directory(&root.items[i].node))
            im->status = gather_chunks(im, &root.items[i], &chunks);
    if (im->status)
        goto out;
    tfs_found_sort_chunks(&chunks);
    take_root_files(im, &root, 0);
    take_chunks(im, &chunks);
    take_root_files(im, &root, TFS_FILE_LATE);
    if (im->cli->remove)
        remove_missing_files(im, &top, dir, &root);
out:
    tfs_found_release(&chunks);
    tfs_found_release(&root);
}

static void commit(struct import *im, const char *path)
{
    struct tfs_error err = {0};

    if (im->doc->version == im->base->version) {
        tfs_cli_say(im->cli, TFS_STATUS_DONE, "nothing differs from the save");
    } else if (im->save->container->commit(im->save, im->doc, &err)) {
        im->status = tfs_cli_report(im->cli, path, &err);
    } else {
        tfs_cli_say(im->cli, TFS_STATUS_DONE, "%zu %s taken, %zu added, %zu removed", im->files,
                    im->files == 1 ? "file" : "files", im->added, im->removed);
    }
}

static enum tfs_status import_into(struct tfs_cli *cli, struct tfs_save *save)
{
    struct import im = {.cli = cli, .save = save};

    im.status = tfs_cli_writable(cli, cli->operands[1], save);
    if (im.status)
        return im.status;
    tfs_cli_warn(cli, cli->operands[1], save);
    im.base = tfs_doc_ref(save->doc);
    im.doc = tfs_doc_ref(save->doc);
    take_tree(&im, cli->operands[0]);
    if (im.status)
        tfs_cli_say(cli, im.status, "nothing was written");
    else
        commit(&im, cli->operands[1]);
    tfs_doc_unref(im.doc);
    tfs_doc_unref(im.base);
    tfs_buf_release(&im.text);
    return im.status;
}

enum tfs_status tfs_import_read(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                struct tfs_doc **doc)
{
    struct tfs_cli as_import = *cli;
    struct import im = {.cli = &as_import, .save = save};

    as_import.remove = true;
    im.base = tfs_doc_ref(save->doc);
    im.doc = tfs_doc_ref(save->doc);
    take_tree(&im, dir);
    if (im.status)
        tfs_doc_unref(im.doc);
    else
        *doc = im.doc;
    tfs_doc_unref(im.base);
    tfs_buf_release(&im.text);
    return im.status;
}

enum tfs_status tfs_cli_import(struct tfs_cli *cli)
{
    struct tfs_save *save;
    enum tfs_status status = tfs_cli_open(cli, cli->operands[1], TFS_LOCK_EXCLUSIVE, &save);

    if (status)
        return status;
    status = import_into(cli, save);
    tfs_save_close(save);
    return status;
}
