/*
 * Ids, lifetimes, open files and their drafts: see inode.h.
 */
#include "fs/session/inode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- drafts ---------------------------------------------------------------------------------- */

struct tfs_draft *tfs_draft_create(struct tfs_span bytes)
{
    struct tfs_draft *draft = calloc(1, sizeof(*draft));

    if (draft == NULL)
        return NULL;
    tfs_buf_add_span(&draft->bytes, bytes);
    if (draft->bytes.failed) {
        tfs_draft_free(draft);
        return NULL;
    }
    return draft;
}

void tfs_draft_free(struct tfs_draft *draft)
{
    if (draft == NULL)
        return;
    tfs_buf_release(&draft->bytes);
    tfs_sparse_unref(draft->sparse);
    tfs_doc_unref(draft->doc);
    free(draft);
}

/* ---- their bytes ----------------------------------------------------------------------------- */

uint64_t tfs_draft_size(const struct tfs_draft *draft)
{
    return draft->sparse != NULL ? draft->sparse->size : draft->bytes.size;
}

int tfs_draft_resize(struct tfs_draft *draft, uint64_t size)
{
    if (draft->sparse != NULL)
        return size == 0 ? tfs_sparse_empty(&draft->sparse)
                         : tfs_sparse_resize(draft->sparse, size);
    return tfs_buf_fit(&draft->bytes, (size_t)size);
}

int tfs_draft_write(struct tfs_draft *draft, uint64_t offset, struct tfs_span bytes)
{
    if (draft->sparse != NULL)
        return tfs_sparse_write(draft->sparse, offset, bytes);
    const uint64_t end = offset + bytes.size;
    const int result = end > draft->bytes.size ? tfs_draft_resize(draft, end) : 0;
    if (result == 0 && bytes.size > 0)
        memcpy(draft->bytes.data + offset, bytes.data, bytes.size);
    return result;
}

int tfs_draft_spill(struct tfs_draft *draft)
{
    struct tfs_sparse *sparse;

    if (draft->sparse != NULL)
        return 0;
    int result = tfs_sparse_create(NULL, 0, &sparse);
    if (result < 0)
        return result;
    result = tfs_sparse_write(sparse, 0, tfs_buf_span(&draft->bytes));
    if (result < 0) {
        tfs_sparse_unref(sparse);
        return result;
    }
    tfs_buf_release(&draft->bytes);
    draft->sparse = sparse;
    return 0;
}

void tfs_draft_skip_lines(struct tfs_draft *draft)
{
    const struct tfs_buf *bytes = &draft->bytes;
    const uint8_t *end = bytes->size > 0 ? memrchr(bytes->data, '\n', bytes->size) : NULL;

    draft->scanned = end != NULL ? (uint64_t)(end + 1 - bytes->data) : 0;
}

/* ---- what was written, and by whom ----------------------------------------------------------- */

static struct tfs_owner *owner_of(struct tfs_draft *draft, uint64_t id)
{
    unsigned i = 0;

    while (i < draft->owner_count && draft->owners[i].id != id)
        i++;
    if (i == draft->owner_count && i < TFS_OWNERS)
        draft->owners[draft->owner_count++] = (struct tfs_owner){id, 0};
    return i < TFS_OWNERS ? &draft->owners[i] : NULL;
}

static void change(struct tfs_draft *draft, struct timespec time)
{
    draft->state = TFS_DRAFT_DIRTY;
    draft->writes++;
    draft->time = time;
}

void tfs_draft_cut(struct tfs_draft *draft, struct timespec time)
{
    change(draft, time);
    draft->cut = true;
    draft->accepted = draft->scanned = 0;
}

void tfs_draft_wrote(struct tfs_draft *draft, uint64_t owner, struct timespec time)
{
    change(draft, time);
    if (draft->owner_count > TFS_OWNERS)
        return;
    struct tfs_owner *known = owner_of(draft, owner);
    if (known != NULL)
        known->write = draft->writes;
    else
        draft->owner_count = TFS_OWNERS + 1;
}

bool tfs_draft_is_of(const struct tfs_draft *draft, uint64_t owner)
{
    if (draft->owner_count > TFS_OWNERS)
        return true;
    for (unsigned i = 0; i < draft->owner_count; i++)
        if (draft->owners[i].id == owner || draft->owners[i].id == TFS_OWNER_ANY)
            return true;
    return false;
}

void tfs_draft_saved(struct tfs_draft *draft, uint64_t writes)
{
    unsigned left = 0;

    if (draft->owner_count > TFS_OWNERS) {
        draft->owner_count = draft->writes == writes ? 0 : draft->owner_count;
        return;
    }
    for (unsigned i = 0; i < draft->owner_count; i++)
        if (draft->owners[i].write > writes)
            draft->owners[left++] = draft->owners[i];
    draft->owner_count = left;
}

void tfs_draft_stands_on(struct tfs_draft *draft, struct tfs_doc *doc, const struct tfs_node *node,
                         uint64_t stamp)
{
    tfs_doc_ref(doc);
    tfs_doc_unref(draft->doc);
    draft->doc = doc;
    draft->node = *node;
    draft->stamp = stamp;
}

void tfs_draft_lacks_text(struct tfs_draft *draft)
{
    tfs_doc_unref(draft->doc);
    draft->doc = NULL;
}

/* ---- inodes ---------------------------------------------------------------------------------- */

void tfs_inodes_init(struct tfs_inodes *inodes, struct tfs_scratch_tree *tree)
{
    *inodes = (struct tfs_inodes){.scratch_tree = tree, .next_id = TFS_ID_TABLE};
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
        tfs_scratch_free(inodes->scratch_tree, inode->scratch);
        tfs_inode_end_array(inode);
        tfs_doc_unref(inode->doc);
        free(inode);
    }
    tfs_map_release(&inodes->inodes);
    tfs_map_release(&inodes->open);
    tfs_map_release(&inodes->files);
}

/* ---- ids ------------------------------------------------------------------------------------- */

struct tfs_inode *tfs_inode_find(const struct tfs_inodes *inodes, uint64_t id)
{
    return tfs_map_find(&inodes->inodes, id);
}

struct tfs_inode *tfs_inode_next_open(const struct tfs_inodes *inodes, uint64_t file, size_t *at)
{
    struct tfs_map_cell cell;

    while (tfs_map_next(&inodes->open, at, &cell)) {
        struct tfs_inode *inode = cell.value;
        if (inode->scratch == NULL && tfs_node_id(&inode->node) == file)
            return inode;
    }
    return NULL;
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

/* Of a file of the schema; `named`: its name is given this one now. */
static struct tfs_inode *make_file(struct tfs_inodes *inodes, uint64_t id,
                                   const struct tfs_node *node, uint64_t stamp, bool named)
{
    struct tfs_inode *inode = make(inodes, id);

    if (inode == NULL)
        return NULL;
    inode->node = *node;
    inode->stamp = stamp;
    if (named && tfs_map_set(&inodes->files, tfs_node_id(node), inode) < 0) {
        tfs_inode_drop(inodes, inode);
        return NULL;
    }
    return inode;
}

struct tfs_draft *tfs_inode_first_draft(const struct tfs_inode *inode)
{
    const struct tfs_handle *h = inode->handles;

    while (h != NULL && h->draft == NULL)
        h = h->next;
    return h != NULL ? h->draft : NULL;
}

struct tfs_inode *tfs_inode_unborn(const struct tfs_inodes *inodes, const struct tfs_node *node)
{
    struct tfs_inode *inode = tfs_map_find(&inodes->files, tfs_node_id(node));

    return inode != NULL && inode->stamp == TFS_STAMP_TAKEN && tfs_inode_first_draft(inode) != NULL
               ? inode
               : NULL;
}

int tfs_inode_give(struct tfs_inodes *inodes, const struct tfs_node *node, uint64_t stamp,
                   struct tfs_doc *alone, uint64_t *id)
{
    struct tfs_inode *inode = tfs_map_find(&inodes->files, tfs_node_id(node));
    const bool named = tfs_inode_unborn(inodes, node) != NULL;

    if (!named && (alone != NULL || inode == NULL || inode->stamp != stamp)) {
        *id = tfs_node_id(node);
        if (stamp == 0 && alone == NULL)
            return 0;
        inode = make_file(inodes, inodes->next_id++, node, stamp, alone == NULL);
        if (inode == NULL)
            return -ENOMEM;
        inode->doc = tfs_doc_ref(alone);
    }
    inode->refs += inode->id >= TFS_ID_TABLE;
    *id = inode->id;
    return 0;
}

struct tfs_inode *tfs_inode_make_computed(struct tfs_inodes *inodes, const struct tfs_node *node)
{
    return make_file(inodes, tfs_node_id(node), node, 0, true);
}

struct tfs_inode *tfs_inode_make_taken(struct tfs_inodes *inodes, const struct tfs_node *node,
                                       bool named)
{
    return make_file(inodes, inodes->next_id++, node, TFS_STAMP_TAKEN, named);
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
        tfs_scratch_free(inodes->scratch_tree, scratch);
    return inode;
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

void tfs_inode_lose_name(struct tfs_inodes *inodes, struct tfs_inode *inode)
{
    uint64_t computed = tfs_node_id(&inode->node);

    if (tfs_map_find(&inodes->files, computed) == inode)
        tfs_map_remove(&inodes->files, computed);
}

/* Nobody has it open. */
static void close_inode(struct tfs_inodes *inodes, struct tfs_inode *inode)
{
    tfs_map_remove(&inodes->open, inode->id);
    tfs_doc_unref(inode->doc);
    inode->doc = NULL;
}

void tfs_inode_drop(struct tfs_inodes *inodes, struct tfs_inode *inode)
{
    const bool linked = inode->scratch != NULL && inode->scratch->link != NULL;

    if (inode->handles != NULL || inode->array != NULL)
        return;
    close_inode(inodes, inode);
    if (inode->scratch != NULL && !linked)
        tfs_scratch_empty(inodes->scratch_tree, inode->scratch);
    if (inode->refs > 0 || linked)
        return;
    if (inode->scratch == NULL)
        tfs_inode_lose_name(inodes, inode);
    tfs_scratch_free(inodes->scratch_tree, inode->scratch);
    tfs_map_remove(&inodes->inodes, inode->id);
    free(inode);
}

/* ---- what it is ------------------------------------------------------------------------------ */

bool tfs_inode_has_reader(const struct tfs_inode *inode)
{
    const struct tfs_handle *h = inode->handles;

    while (h != NULL && (h->writer || h->direct))
        h = h->next;
    return h != NULL;
}

bool tfs_inode_has_writer(const struct tfs_inode *inode)
{
    const struct tfs_handle *h = inode->handles;

    while (h != NULL && (!h->writer || h->closed))
        h = h->next;
    return h != NULL;
}

bool tfs_inode_is_gone(const struct tfs_inode *inode)
{
    return inode->stamp == TFS_STAMP_TAKEN && inode->doc != NULL;
}

void tfs_inode_is_born(struct tfs_inodes *inodes, const struct tfs_node *node)
{
    struct tfs_inode *inode = tfs_inode_unborn(inodes, node);

    if (inode == NULL)
        return;
    tfs_inode_lose_name(inodes, inode);
    for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next)
        if (h->draft != NULL)
            tfs_draft_lacks_text(h->draft);
}

static bool is_dirty(const struct tfs_handle *handle)
{
    return handle->draft != NULL && handle->draft->state == TFS_DRAFT_DIRTY;
}

void tfs_inode_take(struct tfs_inodes *inodes, struct tfs_inode *inode)
{
    tfs_inode_lose_name(inodes, inode);
    inode->stamp = TFS_STAMP_TAKEN;
    tfs_doc_unref(inode->doc);
    inode->doc = NULL;
}

void tfs_inode_leave(struct tfs_inodes *inodes, struct tfs_inode *inode, struct tfs_doc *doc)
{
    tfs_inode_lose_name(inodes, inode);
    if (inode->doc == NULL)
        inode->doc = tfs_doc_ref(doc);
}

void tfs_inode_attach(struct tfs_inodes *inodes, struct tfs_inode *inode,
                      const struct tfs_node *node)
{
    tfs_scratch_free(inodes->scratch_tree, inode->scratch);
    inode->scratch = NULL;
    inode->node = *node;
    inode->stamp = TFS_STAMP_TAKEN;
}

/* ---- open files ------------------------------------------------------------------------------ */

int tfs_handle_open(struct tfs_inodes *inodes, struct tfs_inode *inode, bool writer, bool append,
                    struct tfs_handle **handle)
{
    struct tfs_handle *opened = calloc(1, sizeof(*opened));

    if (opened == NULL || tfs_map_set(&inodes->open, inode->id, inode) < 0) {
        free(opened);
        return -ENOMEM;
    }
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
