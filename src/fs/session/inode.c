/*
 * Ids, lifetimes and open files: see inode.h.
 */
#include "fs/session/inode.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void tfs_inodes_init(struct tfs_inodes *inodes, struct tfs_overlay *overlay)
{
    *inodes = (struct tfs_inodes){.overlay = overlay, .next_id = TFS_ID_TABLE};
}

/* Takes it out of the list of its inode. */
static void free_handle(struct tfs_handle *handle)
{
    struct tfs_handle **at = &handle->inode->handles;

    while (*at != handle)
        at = &(*at)->next;
    *at = handle->next;
    tfs_draft_free(handle->draft);
    tfs_blob_unref(handle->blob);
    free(handle);
}

void tfs_inodes_release(struct tfs_inodes *inodes)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&inodes->inodes, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        while (inode->handles != NULL)
            free_handle(inode->handles);
        tfs_scratch_free(inodes->overlay, inode->scratch);
        tfs_inode_end_array(inode);
        tfs_doc_unref(inode->past);
        free(inode);
    }
    tfs_map_release(&inodes->inodes);
    tfs_map_release(&inodes->files);
    tfs_map_release(&inodes->burned);
}

/* ---- ids ------------------------------------------------------------------------------------- */

struct tfs_inode *tfs_inode_find(const struct tfs_inodes *inodes, uint64_t id)
{
    return tfs_map_find(&inodes->inodes, id);
}

bool tfs_inode_is_burned(const struct tfs_inodes *inodes, uint64_t id)
{
    return tfs_map_find(&inodes->burned, id) != NULL;
}

struct tfs_inode *tfs_inode_of(const struct tfs_inodes *inodes, const struct tfs_node *node)
{
    return tfs_map_find(&inodes->files, tfs_node_id(node));
}

static struct tfs_inode *make(struct tfs_inodes *inodes, uint64_t id)
{
    struct tfs_inode *inode = calloc(1, sizeof(*inode));

    if (inode == NULL)
        return NULL;
    inode->id = id;
    if (tfs_map_set(&inodes->inodes, id, inode) < 0) {
        free(inode);
        return NULL;
    }
    return inode;
}

struct tfs_inode *tfs_inode_make(struct tfs_inodes *inodes, const struct tfs_node *node)
{
    uint64_t computed = tfs_node_id(node);
    struct tfs_inode *inode = tfs_map_find(&inodes->files, computed);

    if (inode != NULL)
        return inode;
    bool taken = tfs_inode_find(inodes, computed) != NULL || tfs_inode_is_burned(inodes, computed);
    inode = make(inodes, taken ? inodes->next_id++ : computed);
    if (inode == NULL)
        return NULL;
    inode->node = *node;
    if (tfs_map_set(&inodes->files, computed, inode) < 0) {
        tfs_map_remove(&inodes->inodes, inode->id);
        free(inode);
        return NULL;
    }
    return inode;
}

struct tfs_inode *tfs_inode_make_scratch(struct tfs_inodes *inodes, enum tfs_scratch_kind kind,
                                         unsigned flags)
{
    uint64_t id = inodes->next_id++;
    struct tfs_scratch *scratch = tfs_scratch_create(id, kind, flags);
    struct tfs_inode *inode = scratch != NULL ? make(inodes, id) : NULL;

    if (inode != NULL)
        inode->scratch = scratch;
    else
        tfs_scratch_free(inodes->overlay, scratch);
    return inode;
}

uint64_t tfs_inode_known_id(const struct tfs_inodes *inodes, uint64_t computed)
{
    const struct tfs_inode *inode = tfs_map_find(&inodes->files, computed);

    return inode != NULL ? inode->id : computed;
}

uint64_t tfs_inode_id(struct tfs_inodes *inodes, const struct tfs_node *node)
{
    uint64_t computed = tfs_node_id(node);

    if (tfs_node_is_directory(node))
        return computed;
    struct tfs_inode *inode = tfs_map_find(&inodes->files, computed);
    if (inode != NULL)
        return inode->id;
    if (tfs_inode_find(inodes, computed) == NULL && !tfs_inode_is_burned(inodes, computed))
        return computed;
    inode = tfs_inode_make(inodes, node);
    return inode != NULL ? inode->id : 0;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

void tfs_inode_end_array(struct tfs_inode *inode)
{
    if (inode->array == NULL)
        return;
    tfs_sparse_unref(inode->array->pages);
    free(inode->array);
    inode->array = NULL;
}

static void leave_file(struct tfs_inodes *inodes, struct tfs_inode *inode)
{
    uint64_t computed = tfs_node_id(&inode->node);

    if (tfs_map_find(&inodes->files, computed) == inode)
        tfs_map_remove(&inodes->files, computed);
}

/* The kernel may still know its id as the file that it is no more. */
static void burn(struct tfs_inodes *inodes, const struct tfs_inode *inode)
{
    if (inode->id < TFS_ID_TABLE)
        (void)tfs_map_set(&inodes->burned, inode->id, &inodes->burned); /* there is room */
}

void tfs_inode_drop(struct tfs_inodes *inodes, struct tfs_inode *inode)
{
    bool linked = inode->scratch != NULL && inode->scratch->link != NULL;

    if (inode->handles != NULL || inode->uses > 0 || linked || inode->array != NULL)
        return;
    if (inode->id >= TFS_ID_TABLE && inode->lookups > 0) {
        if (inode->scratch != NULL)
            tfs_scratch_empty(inodes->overlay, inode->scratch);
        return;
    }
    if (inode->scratch == NULL)
        leave_file(inodes, inode);
    tfs_scratch_free(inodes->overlay, inode->scratch);
    tfs_map_remove(&inodes->inodes, inode->id);
    tfs_doc_unref(inode->past);
    free(inode);
}

/* ---- what it is ------------------------------------------------------------------------------ */

bool tfs_inode_has_writer(const struct tfs_inode *inode)
{
    const struct tfs_handle *h = inode->handles;

    while (h != NULL && (!h->writer || h->closed))
        h = h->next;
    return h != NULL;
}

struct tfs_draft *tfs_inode_unborn(const struct tfs_inode *inode)
{
    const struct tfs_handle *h = inode->handles;

    while (h != NULL && (h->draft == NULL || !h->draft->unborn))
        h = h->next;
    return h != NULL ? h->draft : NULL;
}

void tfs_inode_is_born(struct tfs_inode *inode)
{
    for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next)
        if (h->draft != NULL && h->draft->unborn) {
            h->draft->unborn = false;
            tfs_draft_lacks_text(h->draft);
        }
}

void tfs_inode_part_handles(struct tfs_inode *inode)
{
    for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next)
        h->gone = true;
}

static bool is_dirty(const struct tfs_handle *handle)
{
    return handle->draft != NULL && handle->draft->state == TFS_DRAFT_DIRTY;
}

bool tfs_inode_is_unchecked(const struct tfs_inode *inode)
{
    const struct tfs_handle *h = inode->handles;

    while (h != NULL && !is_dirty(h))
        h = h->next;
    return h != NULL || (inode->array != NULL && inode->array->dirty);
}

int tfs_inode_reserve(struct tfs_inodes *inodes)
{
    return tfs_map_reserve(&inodes->files) < 0 ? -ENOMEM : tfs_map_reserve(&inodes->burned);
}

void tfs_inode_detach(struct tfs_inodes *inodes, struct tfs_inode *inode,
                      struct tfs_scratch *scratch)
{
    leave_file(inodes, inode);
    burn(inodes, inode);
    tfs_inode_end_array(inode);
    scratch->id = inode->id;
    inode->scratch = scratch;
}

void tfs_inode_leave(struct tfs_inodes *inodes, struct tfs_inode *inode, struct tfs_doc *past,
                     const char *why)
{
    leave_file(inodes, inode);
    burn(inodes, inode);
    if (inode->past == NULL)
        inode->past = tfs_doc_ref(past); /* NULL: nobody has it open */
    inode->past_why = why;
}

void tfs_inode_attach(struct tfs_inodes *inodes, struct tfs_inode *inode,
                      const struct tfs_node *node)
{
    uint64_t computed = tfs_node_id(node);

    if (inode->scratch == NULL)
        leave_file(inodes, inode);
    assert(tfs_map_find(&inodes->files, computed) == NULL);
    (void)tfs_map_set(&inodes->files, computed, inode); /* there is room */
    if (inode->id == computed)
        tfs_map_remove(&inodes->burned, computed);
    else
        burn(inodes, inode);
    tfs_scratch_free(inodes->overlay, inode->scratch);
    inode->scratch = NULL;
    inode->node = *node;
}

/* ---- open files ------------------------------------------------------------------------------ */

int tfs_handle_open(struct tfs_inode *inode, bool writer, bool append, struct tfs_handle **handle)
{
    struct tfs_handle *opened = calloc(1, sizeof(*opened));

    if (opened == NULL)
        return -ENOMEM;
    opened->inode = inode;
    opened->writer = writer;
    opened->append = append;
    struct tfs_handle **end = &inode->handles;
    while (*end != NULL)
        end = &(*end)->next;
    *end = opened;
    *handle = opened;
    return 0;
}

void tfs_handle_drop(struct tfs_handle *handle)
{
    if (handle->closed && handle->jobs == 0 && !is_dirty(handle))
        free_handle(handle);
}
