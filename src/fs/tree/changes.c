/*
 * Two documents -> the names that read differently, and what is in them: see changes.h.
 */
#include "fs/tree/changes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/compare/changed_files.h"

struct walk {
    struct tfs_save *save;
    const struct tfs_doc *before, *after;
    tfs_changed_fn changed;
    void *arg;
    uint32_t group; /* the last one that was told of */
    bool renamed;   /* a file of a chunk that has names reads differently */
    bool many;      /* so many chunks differ that nobody looks into them */
};

/* Files of groups show all of their chunks. */
static void change_group(struct walk *w, uint32_t group)
{
    for (unsigned i = 0; i < w->save->tree->group.count; i++) {
        const struct tfs_node node = {
            .scope = TFS_SCOPE_GROUP, .key = {.group = group}, .file = (int)i};
        w->changed(w->arg, &node, &w->save->tree->group.files[i], TFS_CHANGED_FILE);
    }
}

/* All files of all groups, which may be there or not. */
static void change_groups(struct walk *w)
{
    const struct tfs_tree *tree = w->save->tree;
    const uint32_t before = tree->group.count > 0 ? tree->groups(w->before) : 0;
    const uint32_t after = tree->group.count > 0 ? tree->groups(w->after) : 0;

    for (uint32_t group = 1; group < before || group < after; group++)
        change_group(w, group);
}

#define MANY 16 /* chunks */

static int count_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    size_t *count = arg;

    (void)before;
    (void)after;
    return --*count == 0;
}

/* Do so many chunks differ? */
static bool differ_in(const struct tfs_doc *before, const struct tfs_doc *after, size_t count)
{
    return tfs_doc_diff(before, after, count_chunk, &count) != 0;
}

static int changed_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct walk *w = arg;
    const struct tfs_tree *tree = w->save->tree;
    struct tfs_node node = tfs_node_of_chunk(after != NULL ? after : before);

    /* Chunks come in the order of their groups. */
    if (node.key.group > w->group)
        change_group(w, w->group = node.key.group);
    if (before == NULL || after == NULL)
        w->changed(w->arg, &node, NULL, after != NULL ? TFS_CHUNK_CAME : TFS_CHUNK_WENT);
    const struct tfs_doc *docs[2] = {w->before, w->after};
    uint32_t files = w->many ? UINT32_MAX : tfs_changed_files(w->save, docs, before, after);
    for (unsigned i = 0; i < tree->chunk.count; i++) {
        node.file = (int)i;
        if ((files >> i & 1) == 0)
            continue;
        w->renamed = w->renamed || (tree->chunk.files[i].flags & TFS_FILE_RENAMES) != 0;
        w->changed(w->arg, &node, &tree->chunk.files[i], TFS_CHANGED_FILE);
    }
    return 0;
}

/* Which of `count` members of a family read differently: to be freed. NULL: all may. */
static bool *find_members(const struct walk *w, const struct tfs_file *file, uint32_t count)
{
    bool *changed = NULL;

    if (w->before != w->after && file->family != NULL && file->family->changes != NULL)
        changed = calloc((size_t)count + 1, sizeof(*changed));
    if (changed == NULL ||
        file->family->changes(w->save->tree, w->before, w->after, count, changed))
        return changed;
    free(changed);
    return NULL;
}

static void changed_root_file(const struct walk *w, unsigned i)
{
    const struct tfs_file *file = &w->save->tree->root.files[i];
    uint32_t before = 1, after = 1;
    bool *changed = NULL;

    if (file->count != NULL) {
        before = file->count(w->save->tree, w->before);
        after = file->count(w->save->tree, w->after);
    }
    const uint32_t members = after > before ? after : before;
    /* What was not there before may have changed while it was not. */
    if (before > 0 && after > 0)
        changed = find_members(w, file, members);
    for (uint32_t m = 0; m < members; m++) {
        const struct tfs_node node = {.file = (int)i, .member = m};
        if (changed == NULL || changed[m])
            w->changed(w->arg, &node, file, TFS_CHANGED_FILE);
    }
    free(changed);
}

void tfs_changes_each(struct tfs_save *save, const struct tfs_doc *before,
                      const struct tfs_doc *after, tfs_changed_fn changed, void *arg)
{
    struct walk w = {save, before, after, changed, arg, .group = 0};
    const bool common =
        before->facts != after->facts || !tfs_blob_equal(before->common, after->common);

    if (before->version == after->version)
        return;
    w.many = differ_in(before, after, MANY);
    (void)tfs_doc_diff(before, after, changed_chunk, &w);
    if (common)
        change_groups(&w);
    /* Names of the save are those of its chunks, or what they have in common. */
    for (unsigned i = 0; i < save->tree->root.count; i++)
        if (common || w.renamed || (save->tree->root.files[i].flags & TFS_FILE_RENAMES) == 0)
            changed_root_file(&w, i);
}

void tfs_changes_all(struct tfs_save *save, const struct tfs_doc *doc, tfs_changed_fn changed,
                     void *arg)
{
    struct walk w = {save, doc, doc, changed, arg, .group = 0};

    for (size_t c = 0; c < doc->count; c++) {
        struct tfs_node node = tfs_node_of_chunk(tfs_doc_at(doc, c));
        for (unsigned i = 0; i < save->tree->chunk.count; i++) {
            node.file = (int)i;
            changed(arg, &node, &save->tree->chunk.files[i], TFS_CHANGED_FILE);
        }
    }
    change_groups(&w);
    for (unsigned i = 0; i < save->tree->root.count; i++)
        changed_root_file(&w, i);
}

/* ---- files that a document shows otherwise --------------------------------------------------- */

struct difference {
    struct tfs_save *save;
    const struct tfs_doc *theirs, *ours;
    const char *prefix;
    bool root; /* something of the whole save changed, or chunks are tiles of what the root shows */
    bool stored; /* files alone that have the stored bytes of chunks; the others are for people */
    bool strict; /* one that cannot be read is lost */
    tfs_keep_fn keep;
    void *arg;
    int lost; /* why the first one was, for want of memory or by `keep`; 0: none */
};

static void note_lost(struct difference *d, int result)
{
    d->lost = tfs_first_failure(d->lost, result);
}

/* The path is whole only with memory. */
static void keep_at(struct difference *d, const struct tfs_buf *path, struct tfs_span bytes)
{
    note_lost(d, path->failed ? -ENOMEM : d->keep(d->arg, (const char *)path->data, bytes));
}

static void keep_deleted(struct difference *d, struct tfs_key key)
{
    char name[TFS_CHUNK_NAME];
    char path[PATH_MAX];

    tfs_chunk_name(key, name);
    snprintf(path, sizeof(path), "deleted/%s%u_%s", d->prefix, key.group, name);
    note_lost(d, d->keep(d->arg, path, (struct tfs_span){0}));
}

/* Without one that has the stored bytes every file is needed. */
static bool says_stored(const struct difference *d, const struct tfs_file *file)
{
    return (d->save->tree->chunk.files[0].flags & TFS_FILE_RAW) == 0 ||
           (file->flags & (TFS_FILE_RAW | TFS_FILE_APART)) != 0;
}

/* With the others of which this is true it is the chunk as it is stored. */
static bool is_stored(const struct tfs_file *file)
{
    return (file->views & TFS_VIEWS_RAW) != 0;
}

/* What people see of a chunk is what their mount shows; everything else is asked for whatever
 * `-o views=` leaves out. */
static int is_there(const struct difference *d, const struct tfs_node *node,
                    const struct tfs_file *file)
{
    return node->scope == TFS_SCOPE_CHUNK && !says_stored(d, file)
               ? tfs_node_exists(d->save, d->ours, node)
               : tfs_node_exists_anyway(d->save, d->ours, node);
}

/* A root file may be told of that reads as before. */
static bool reads_as_before(const struct difference *d, const struct tfs_node *node,
                            const struct tfs_file *file, struct tfs_span bytes)
{
    struct tfs_error ignored = {0};
    struct tfs_buf before = {0};

    const bool same =
        node->scope == TFS_SCOPE_ROOT && tfs_node_exists_anyway(d->save, d->theirs, node) == 1 &&
        file->lens->get(d->save, d->theirs, tfs_node_at(d->save, node), &before, &ignored) == 0 &&
        tfs_span_equal(tfs_buf_span(&before), bytes);
    tfs_buf_release(&before);
    return same;
}

static void keep_file(struct difference *d, const struct tfs_node *node,
                      const struct tfs_file *file)
{
    struct tfs_error err = {0};
    struct tfs_buf path = {0}, bytes = {0};

    if (file->lens->get(d->save, d->ours, tfs_node_at(d->save, node), &bytes, &err) == 0 &&
        !reads_as_before(d, node, file, tfs_buf_span(&bytes))) {
        tfs_buf_add_text(&path, d->prefix);
        tfs_tree_path(d->save, d->ours, node, &path);
        tfs_buf_u8(&path, 0);
        keep_at(d, &path, tfs_buf_span(&bytes));
    }
    if (err.code == -ENOMEM || d->strict || is_stored(file))
        note_lost(d, err.code);
    tfs_buf_release(&path);
    tfs_buf_release(&bytes);
}

/* What is stored beside raw.bin, and is gone, is in no file of its chunk, which stays. */
static void keep_removed(struct difference *d, const struct tfs_node *node,
                         const struct tfs_file *file)
{
    const struct tfs_chunk *then = tfs_doc_find(d->theirs, node->key);
    struct tfs_buf path = {0};

    if (node->scope != TFS_SCOPE_CHUNK || !is_stored(file) || then == NULL ||
        tfs_doc_find(d->ours, node->key) == NULL)
        return;
    struct tfs_node before = tfs_node_of_chunk(then);
    before.file = node->file;
    const int there = tfs_node_exists_anyway(d->save, d->theirs, &before);
    if (there == 1) {
        tfs_buf_add_text(&path, "deleted/");
        tfs_buf_add_text(&path, d->prefix);
        tfs_tree_path(d->save, d->ours, node, &path);
        tfs_buf_u8(&path, 0);
        keep_at(d, &path, (struct tfs_span){0});
        tfs_buf_release(&path);
    }
    note_lost(d, there < 0 ? there : 0);
}

/* All that read differently: the stored bytes say everything, the others are for people. */
static void keep_changed(void *arg, const struct tfs_node *node, const struct tfs_file *file,
                         enum tfs_changed how)
{
    struct difference *d = arg;

    if (how == TFS_CHUNK_WENT)
        keep_deleted(d, node->key);
    if (how != TFS_CHANGED_FILE || node->scope == TFS_SCOPE_GROUP ||
        (node->scope == TFS_SCOPE_ROOT && !d->root) ||
        (d->stored && node->scope == TFS_SCOPE_CHUNK && !says_stored(d, file)) ||
        file->lens->put == NULL)
        return;
    const int there = is_there(d, node, file);
    if (there == 1)
        keep_file(d, node, file);
    else if (there == 0)
        keep_removed(d, node, file);
    note_lost(d, there < 0 ? there : 0);
}

static int keep_all(struct difference *d)
{
    d->root = tfs_chunks_are_fixed(d->save) || d->theirs->common != d->ours->common;
    tfs_changes_each(d->save, d->theirs, d->ours, keep_changed, d);
    return d->lost;
}

int tfs_changes_files(struct tfs_save *save, const struct tfs_doc *theirs,
                      const struct tfs_doc *ours, const char *prefix, tfs_keep_fn keep, void *arg)
{
    struct difference d = {save, theirs, ours, prefix, .keep = keep, .arg = arg};

    d.stored = differ_in(theirs, ours, TFS_CHANGES_FEW + 1); /* texts would take minutes */
    return keep_all(&d);
}

int tfs_changes_stored(struct tfs_save *save, const struct tfs_doc *theirs,
                       const struct tfs_doc *ours, tfs_keep_fn keep, void *arg)
{
    struct difference d = {save, theirs, ours, "", .keep = keep, .arg = arg};

    d.stored = d.strict = true;
    return keep_all(&d);
}
