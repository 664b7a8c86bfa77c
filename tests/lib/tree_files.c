/*
 * Paths -> lenses, on a document in memory.
 */
#include "tree_files.h"
#include "must.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/containers/file.h"
#include "fs/tree/tree.h"

int tree_files_open(struct tree_files *t, const struct tfs_container *container, const char *path,
                    struct tfs_span bytes)
{
    struct tfs_blob *blob = NULL;
    const char *slash = strrchr(path, '/');

    *t = (struct tree_files){.in_memory = true, .save = calloc(1, sizeof(*t->save))};
    must(t->save != NULL, "no memory");
    *t->save = (struct tfs_save){.container = container,
                                 .tree = container->tree,
                                 .path = strdup(path),
                                 .name = slash == NULL ? path : slash + 1,
                                 .options = {.inflate_limit = TFS_INFLATE_LIMIT}};
    must(tfs_save_caches_make(t->save, &t->err) == 0, "no memory");
    must(t->save->path != NULL && tfs_blob_copy(bytes, &blob, &t->err) == 0, "no memory");
    int result = container->file->decode(t->save, blob, &t->doc, &t->err);
    must(result == t->err.code && (result < 0) == (t->err.text[0] != '\0'), "a bad error");
    tfs_blob_unref(blob);
    if (result < 0)
        tree_files_close(t);
    return result;
}

void tree_files_close(struct tree_files *t)
{
    tfs_doc_unref(t->doc);
    t->doc = NULL;
    if (t->save != NULL && t->in_memory) {
        tfs_save_caches_free(t->save);
        free(t->save->path);
        free(t->save);
    } else {
        tfs_save_close(t->save);
    }
    t->save = NULL;
}

/* ---- encoding -------------------------------------------------------------------------------- */

struct buf_sink {
    struct tfs_sink sink;
    struct tfs_buf *out;
};

static int sink_write(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct buf_sink *s = (struct buf_sink *)sink;

    tfs_buf_add(s->out, data, size);
    return tfs_buf_check(s->out, err);
}

void tree_files_encode(struct tree_files *t, struct tfs_buf *out)
{
    struct buf_sink s = {{sink_write}, out};

    t->err = (struct tfs_error){0};
    must(t->save->container->file->encode(t->save, t->doc, &s.sink, &t->err) == 0, t->err.text);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool find(struct tree_files *t, const char *path, struct tfs_node *node)
{
    return tfs_tree_resolve(t->save, t->doc, path, true, node) == 0 && !tfs_node_is_directory(node);
}

bool tree_files_has(struct tree_files *t, const char *path)
{
    struct tfs_node node;

    return find(t, path, &node);
}

bool tree_files_writable(struct tree_files *t, const char *path)
{
    struct tfs_node node;

    return find(t, path, &node) && tfs_node_writable(t->save, t->doc, &node);
}

int tree_files_get(struct tree_files *t, const char *path, struct tfs_buf *out)
{
    struct tfs_node node;

    t->err = (struct tfs_error){0};
    if (!find(t, path, &node))
        return tfs_fail(&t->err, -ENOENT, "no such file: %s", path);

    const struct tfs_lens *lens = tfs_node_file(t->save, &node)->lens;
    struct tfs_at at = tfs_node_at(t->save, &node);
    int64_t said = lens->size != NULL ? lens->size(t->save, t->doc, at) : -1;
    size_t before = out->size;
    int result = lens->get(t->save, t->doc, at, out, &t->err);
    must(result < 0 || said < 0 || (uint64_t)said == out->size - before, "the size was not true");
    return result;
}

void tree_files_begin(struct tree_files *t, struct tfs_edit *edit)
{
    tfs_error_reset(&t->err);
    must(tfs_edit_open(t->doc, edit, &t->err) == 0, t->err.text);
}

int tree_files_end(struct tree_files *t, struct tfs_edit *edit, int result)
{
    must(result == t->err.code, "result and error differ");
    must((result < 0) == (t->err.text[0] != '\0'), "an error without a sentence");
    if (result == 0) {
        struct tfs_doc *doc = tfs_edit_finish(edit);
        tfs_doc_unref(t->doc);
        t->doc = doc;
    }
    tfs_edit_release(edit);
    return result;
}

int tree_files_put(struct tree_files *t, const char *path, struct tfs_span text)
{
    struct tfs_node node;
    struct tfs_edit edit;
    struct tfs_put put = t->how;

    t->err = (struct tfs_error){0};
    if (!find(t, path, &node))
        return tfs_fail(&t->err, -ENOENT, "no such file: %s", path);
    const struct tfs_lens *lens = tfs_node_file(t->save, &node)->lens;
    if (lens->put == NULL)
        return tfs_fail(&t->err, -EACCES, "this file is read-only");
    tree_files_begin(t, &edit);
    return tree_files_end(
        t, &edit, lens->put(t->save, &edit, tfs_node_at(t->save, &node), text, &put, &t->err));
}

/* ---- walking --------------------------------------------------------------------------------- */

static void walk(struct tree_files *t, const struct tfs_node *dir,
                 void (*each)(void *arg, const char *path), void *arg)
{
    struct tfs_node node;
    size_t next;

    for (size_t i = 0; tfs_tree_entry(t->save, t->doc, dir, i, &next, &node) > 0; i = next) {
        struct tfs_buf path = {0};
        if (tfs_node_is_directory(&node)) {
            walk(t, &node, each, arg);
            continue;
        }
        tfs_tree_path(t->save, t->doc, &node, &path);
        tfs_buf_u8(&path, '\0');
        must(!path.failed, "no memory");
        each(arg, (const char *)path.data);
        tfs_buf_release(&path);
    }
}

void tree_files_walk(struct tree_files *t, void (*each)(void *arg, const char *path), void *arg)
{
    struct tfs_node root = TFS_NODE_ROOT;

    walk(t, &root, each, arg);
}
