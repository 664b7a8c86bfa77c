/*
 * Opening, making and closing files, and their attributes. Who writes a text or picture has a draft
 * of his own: inode.h. truncate(2) by name opens, cuts and closes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fs/session/ops.h"

/* ---- open ------------------------------------------------------------------------------------ */

static bool wants_write(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

/* Does it pass by the kernel's pages? What changes without the kernel cannot lie in them. */
static bool is_direct(struct tfs_session *s, const struct tfs_inode *inode, bool writes)
{
    if (inode->scratch != NULL)
        return (inode->scratch->flags & TFS_SCRATCH_OURS) != 0;
    return !tfs_ops_is_array(s, &inode->node) &&
           (writes || tfs_inode_unborn(&s->inodes, &inode->node) != NULL);
}

/* What it reads from now on. A name that has no accepted text yet is read as empty. */
static int begin_reading(struct tfs_session *s, struct tfs_inode *inode, struct tfs_handle *handle)
{
    struct tfs_error err = {0};

    if (inode->scratch != NULL)
        return 0;
    if (handle->direct)
        return tfs_blob_copy((struct tfs_span){0}, &handle->blob, &err);
    if (inode->doc == NULL) {
        tfs_ops_refresh(s, &inode->node);
        inode->doc = tfs_doc_ref(tfs_ops_shown(s, &inode->node));
    }
    return 0;
}

static int open_handle(struct tfs_session *s, struct tfs_inode *inode, int flags,
                       struct tfs_handle **handle)
{
    const bool writes = wants_write(flags);
    int result = tfs_handle_open(&s->inodes, inode, writes, (flags & O_APPEND) != 0, handle);

    if (result < 0)
        return result;
    (*handle)->direct = is_direct(s, inode, writes);
    result = writes ? tfs_ops_open_array(s, inode) : begin_reading(s, inode, *handle);
    if (result == 0 && writes)
        tfs_file_take(s, inode);
    if (result < 0) {
        tfs_ops_release_handle(s, *handle);
        *handle = NULL;
    }
    return result;
}

bool tfs_session_is_direct(const struct tfs_handle *handle)
{
    return handle->direct; /* which does not change */
}

struct opening {
    uint64_t id;
    int flags;
    struct tfs_handle *handle;
    bool *keep;
};

#define GIVEN_MAX ((uint64_t)128 << 10)

/* The text that the kernel is to be given with the answer, so that it sends no READ: of a short
 * file that it was not given yet. *text is NULL of others. */
static int find_text(struct tfs_session *s, struct tfs_need *need, const struct tfs_inode *inode,
                     struct tfs_blob **text)
{
    uint64_t size;

    *text = NULL;
    if (inode->scratch != NULL || is_direct(s, inode, false) || tfs_ops_is_array(s, &inode->node) ||
        tfs_views_stamp(&s->views, tfs_node_id(&inode->node)) != inode->stamp)
        return 0;
    const struct tfs_view view = tfs_ops_view_of(s, inode);
    if (tfs_views_size(&s->views, &view, &size) < 0 || size == 0 || size > GIVEN_MAX ||
        tfs_views_is_given(&s->views, &view))
        return 0;
    return tfs_ops_bytes(s, need, &view, text);
}

struct tfs_blob *tfs_session_give_text(struct tfs_session *s, struct tfs_handle *handle)
{
    const struct tfs_inode *inode = handle->inode;
    struct tfs_blob *text = NULL;

    pthread_mutex_lock(&s->lock);
    if (handle->blob != NULL && !handle->direct && inode->handles == handle &&
        handle->next == NULL && inode->stamp == handle->stamp) {
        struct tfs_view view = tfs_ops_view_of(s, inode);
        view.stamp = handle->stamp;
        if (tfs_views_set_given(&s->views, &view, true))
            text = tfs_blob_ref(handle->blob);
    }
    pthread_mutex_unlock(&s->lock);
    return text;
}

static int open_inode(struct tfs_session *s, struct opening *o, struct tfs_inode *inode)
{
    bool cut = (o->flags & O_TRUNC) != 0;
    int result = open_handle(s, inode, o->flags, &o->handle);

    if (result == 0 && cut) {
        result = tfs_file_truncate(s, NULL, o->handle, 0, true);
        if (result < 0)
            tfs_ops_release_handle(s, o->handle);
    }
    if (result == 0)
        *o->keep = !o->handle->direct && !cut;
    return result;
}

static int try_open(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct opening *o = call;
    struct tfs_inode *inode = NULL;
    struct tfs_blob *text = NULL;
    struct tfs_attr attr;
    struct tfs_node node;
    int result = 0;

    if (tfs_ops_node(s, o->id, &node) == 0)
        result = tfs_ops_know_inside(s, need, &node);
    if (result == 0)
        result = tfs_file_for_open(s, o->id, wants_write(o->flags), &inode);
    if (result == 0 && inode == s->rejected.status)
        result = tfs_ops_attr(s, need, inode, &attr); /* of now */
    if (result == 0 && inode->scratch == NULL &&
        tfs_store_broken(tfs_ops_branch(s, &inode->node)->store))
        result = -EIO;
    if (result == 0 && !wants_write(o->flags))
        result = find_text(s, need, inode, &text);
    if (result == 0)
        result = open_inode(s, o, inode);
    if (result == 0 && text != NULL) {
        o->handle->blob = tfs_blob_ref(text);
        o->handle->stamp = inode->stamp;
    }
    tfs_blob_unref(text);
    /* An id that one LOOKUP alone was given keeps its document for the next attempt. */
    if (result < 0 && inode != NULL && inode->doc == NULL)
        tfs_inode_drop(&s->inodes, inode);
    return result;
}

int tfs_session_open_file(struct tfs_session *s, uint64_t id, int flags, struct tfs_handle **handle,
                          bool *keep)
{
    struct opening o = {.id = id, .flags = flags, .keep = keep};
    int result = tfs_ops_run_as_read(s, NULL, try_open, &o);

    if (result == 0)
        *handle = o.handle;
    return result;
}

/* ---- create ---------------------------------------------------------------------------------- */

struct creating {
    uint64_t parent;
    const char *name;
    const struct tfs_attr *owner;
    int flags;
    struct tfs_handle *handle;
    struct tfs_attr *attr;
};

/* `mkdir chunks/X; echo ... >> chunks/X/voxels.csv`: the file is in the new chunk and is only
 * hidden for those who copy, with O_EXCL. A program that asks for neither gets what the file holds.
 */
static bool starts_from_text(struct tfs_session *s, const struct creating *c,
                             const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    enum tfs_hiding hiding;

    return (c->flags & (O_EXCL | O_TRUNC)) == 0 && tfs_names_is_new(&s->names, node) &&
           tfs_names_hides(&s->names, node, &hiding) && hiding != TFS_HIDING_UNLINKED &&
           tfs_node_exists(branch->save, tfs_store_shown(branch->store), node) == 1;
}

/* The name has no accepted text until what is written to it is taken. Who appends to it cuts
 * nothing: others may be faster. */
static int begin_unborn(struct tfs_session *s, struct tfs_handle *handle)
{
    const struct tfs_node *node = &handle->inode->node;
    const int result = tfs_file_truncate(s, NULL, handle, 0, true);

    if (result < 0 || handle->draft == NULL)
        return result;
    handle->draft->cut = !handle->append;
    tfs_draft_stands_on(handle->draft, tfs_ops_shown(s, node), node,
                        tfs_views_stamp(&s->views, tfs_node_id(node)));
    return 0;
}

/* A file of the schema that is not there: deleted, hidden in a new chunk, or optional and
 * absent. */
static int create_schema(struct tfs_session *s, struct creating *c, const struct tfs_entry *entry,
                         struct tfs_inode **inode)
{
    if (tfs_node_is_directory(&entry->node))
        return -EISDIR;
    if (tfs_ops_read_only(s, &entry->node))
        return -EROFS;
    if (tfs_entry_is_left_out(entry))
        return -EPERM;
    if (!tfs_ops_writable(s, &entry->node))
        return -EACCES;
    const bool unborn = !starts_from_text(s, c, &entry->node);
    *inode = tfs_inode_make_taken(&s->inodes, &entry->node, unborn);
    int result = *inode == NULL ? -ENOMEM : open_handle(s, *inode, c->flags | O_WRONLY, &c->handle);
    if (result == 0 && unborn)
        result = begin_unborn(s, c->handle);
    if (result < 0)
        return result;
    /* The name comes back last: until now it could stay away. */
    tfs_names_show(&s->names, &entry->node);
    tfs_ops_bump_parent(s, &entry->node);
    return 0;
}

static int create_scratch(struct tfs_session *s, struct creating *c, const struct tfs_entry *entry,
                          struct tfs_inode **inode)
{
    int result = tfs_entry_free_for_scratch(s, entry, c->name, false);

    if (result == 0)
        result = tfs_entry_make_scratch(s, c->parent, c->name, TFS_SCRATCH_FILE, c->owner,
                                        (struct tfs_span){0}, inode);
    return result < 0 ? result : open_handle(s, *inode, c->flags | O_WRONLY, &c->handle);
}

/* An existing name: opens it instead, as open(O_CREAT) does. */
static int create_existing(struct tfs_session *s, struct creating *c, const struct tfs_entry *entry,
                           struct tfs_inode **inode)
{
    if ((c->flags & O_EXCL) != 0)
        return -EEXIST;
    int result = entry->link != NULL
                     ? tfs_file_for_open(s, entry->link->scratch->id, wants_write(c->flags), inode)
                     : tfs_file_check(s, &entry->node, wants_write(c->flags));
    if (result == 0 && entry->link == NULL) {
        *inode = tfs_inode_unborn(&s->inodes, &entry->node);
        if (*inode == NULL)
            *inode = tfs_inode_make_taken(&s->inodes, &entry->node, false);
        result = *inode == NULL ? -ENOMEM : 0;
    }
    if (result == 0)
        result = open_handle(s, *inode, c->flags | O_WRONLY, &c->handle);
    if (result == 0 && (c->flags & O_TRUNC) != 0)
        result = tfs_file_truncate(s, NULL, c->handle, 0, true);
    return result;
}

/* After a failure nothing is left of a file that was made. */
static void undo_create(struct tfs_session *s, const struct creating *c, struct tfs_inode *inode,
                        bool fresh_name)
{
    if (c->handle != NULL) {
        tfs_draft_free(c->handle->draft);
        c->handle->draft = NULL;
        tfs_ops_release_handle(s, c->handle);
    }
    if (inode != NULL && fresh_name && inode->scratch->link != NULL)
        tfs_link_remove(&s->scratch_tree, inode->scratch->link);
    if (inode != NULL)
        tfs_inode_drop(&s->inodes, inode);
}

static int try_create(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct creating *c = call;
    struct tfs_entry entry;
    struct tfs_inode *inode = NULL;

    c->handle = NULL;
    int result = tfs_entry_find(s, need, c->parent, c->name, &entry);
    if (result < 0)
        return result;
    bool fresh_name = entry.link == NULL && !entry.schema;
    if (entry.link != NULL || entry.visible)
        result = create_existing(s, c, &entry, &inode);
    else if (entry.schema)
        result = create_schema(s, c, &entry, &inode);
    else
        result = create_scratch(s, c, &entry, &inode);
    if (result == 0)
        result = tfs_ops_attr(s, need, inode, c->attr);
    if (result < 0) {
        undo_create(s, c, inode, fresh_name);
        return result;
    }
    if (c->handle->draft != NULL)
        tfs_ops_attr_draft(c->handle->draft, c->attr);
    c->attr->id = inode->id;
    c->attr->lasts = false;
    inode->refs++;
    return 0;
}

int tfs_session_create(struct tfs_session *s, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, int flags, struct tfs_handle **handle,
                       struct tfs_attr *attr)
{
    const struct tfs_attr owner = {.st = {.st_mode = mode, .st_uid = uid, .st_gid = gid}};
    struct creating c = {
        .parent = parent, .name = name, .owner = &owner, .flags = flags, .attr = attr};
    int result = tfs_ops_run(s, try_create, &c);

    if (result == 0)
        *handle = c.handle;
    return result;
}

/* ---- release --------------------------------------------------------------------------------- */

void tfs_session_release(struct tfs_session *s, struct tfs_handle *handle)
{
    struct tfs_inode *inode = handle->inode;
    const bool writer = handle->writer;

    pthread_mutex_lock(&s->lock);
    /* What was read lies in the kernel's cache now: the memory does for the next file. */
    if (handle->blob != NULL && inode->scratch == NULL)
        tfs_views_drop(&s->views, tfs_node_id(&inode->node), handle->stamp);
    inode->refs++;
    tfs_ops_release_handle(s, handle);
    if (writer && inode->scratch == NULL)
        tfs_names_touch(&s->names, &inode->node);
    if (writer && inode->array != NULL && !tfs_inode_has_writer(inode)) {
        if (inode->array->state == TFS_DRAFT_DIRTY)
            tfs_ops_release_array(s, inode);
        else
            tfs_inode_end_array(inode);
    }
    inode->refs--;
    tfs_inode_drop(&s->inodes, inode);
    pthread_mutex_unlock(&s->lock);
}

/* ---- attributes, asking ---------------------------------------------------------------------- */

struct asking {
    uint64_t id;
    const struct tfs_handle *handle;
    struct tfs_attr *attr;
};

/* Whom the kernel asks for has a draft: that is what it wants to go to the end of. */
static void see_draft(const struct tfs_handle *handle, struct tfs_attr *attr)
{
    if (handle != NULL && handle->draft != NULL)
        tfs_ops_attr_draft(handle->draft, attr);
}

static int try_getattr(struct tfs_session *s, void *call, struct tfs_need *need)
{
    const struct asking *a = call;
    struct tfs_inode *inode =
        a->handle != NULL ? a->handle->inode : tfs_inode_find(&s->inodes, a->id);
    struct tfs_node node;

    if (inode != NULL) {
        const int told = tfs_ops_attr(s, need, inode, a->attr);
        if (told == 0)
            see_draft(a->handle, a->attr);
        return told;
    }
    int result = tfs_ops_node(s, a->id, &node);
    if (result < 0)
        return result;
    if (!tfs_node_is_directory(&node) && tfs_views_stamp(&s->views, a->id) != 0)
        return -ESTALE; /* it reads differently now, and its name has another id */
    result = tfs_ops_know_inside(s, need, &node);
    if (result == 0)
        result = tfs_ops_check_visible(s, &node);
    if (result == 0)
        result = tfs_ops_attr_node(s, need, &node, a->attr);
    return tfs_ops_know_again(s, need, &node, result);
}

int tfs_session_getattr(struct tfs_session *s, uint64_t id, struct tfs_handle *handle,
                        struct tfs_attr *attr)
{
    struct asking a = {id, handle, attr};

    return tfs_ops_run(s, try_getattr, &a);
}

int tfs_session_statfs(struct tfs_session *s, struct statvfs *st)
{
    /* An edit of the save takes room where the save lies. */
    return statvfs(s->branches[0].save->path, st) < 0 ? -errno : 0;
}

/* ---- attributes, setting --------------------------------------------------------------------- */

struct setting {
    uint64_t id;
    struct tfs_handle *handle;
    const struct stat *values;
    unsigned set;
    struct tfs_attr attr;
};

static const struct timespec *chosen_time(const struct setting *c, unsigned which,
                                          const struct timespec *time, const struct timespec *now)
{
    if ((c->set & which) == 0)
        return NULL;
    return time->tv_nsec == UTIME_NOW ? now : time;
}

/* futimens(2) does not say which handle it is for: who writes the file takes the time along with
 * what is written. Is there any? */
static bool set_draft_times(struct tfs_session *s, uint64_t file, const struct timespec *mtime)
{
    const struct tfs_inode *inode;
    bool any = false;

    for (size_t at = 0; (inode = tfs_inode_next_open(&s->inodes, file, &at)) != NULL;)
        for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next)
            if (h->draft != NULL && h->draft->state == TFS_DRAFT_DIRTY) {
                h->draft->time = *mtime;
                any = true;
            }
    return any;
}

static int set_times(struct tfs_session *s, const struct setting *c)
{
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, c->id);
    const struct timespec now = tfs_views_now(&s->views);
    const struct timespec *atime = chosen_time(c, TFS_SET_ATIME, &c->values->st_atim, &now);
    const struct timespec *mtime = chosen_time(c, TFS_SET_MTIME, &c->values->st_mtim, &now);
    struct tfs_node node;

    if (atime == NULL && mtime == NULL)
        return 0;
    if (inode == NULL || inode->scratch == NULL) {
        int result = tfs_ops_node(s, c->id, &node);
        if (result == 0 && mtime != NULL && set_draft_times(s, tfs_node_id(&node), mtime))
            mtime = NULL;
        return result < 0 ? result
                          : tfs_views_set_times(&s->views, tfs_node_id(&node), atime, mtime);
    }
    if (atime != NULL)
        inode->scratch->atime = *atime;
    if (mtime != NULL)
        inode->scratch->mtime = *mtime;
    inode->scratch->ctime = now;
    return 0;
}

/* Mode and owner of schema files stay the save's, without complaint: tar and cp -p want to set
 * them. */
static void set_owner(struct tfs_session *s, const struct setting *c)
{
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, c->id);
    struct tfs_scratch *scratch = inode != NULL ? inode->scratch : NULL;

    if (scratch == NULL)
        return;
    if ((c->set & TFS_SET_MODE) != 0)
        scratch->mode = c->values->st_mode & 07777;
    if ((c->set & TFS_SET_UID) != 0)
        scratch->uid = c->values->st_uid;
    if ((c->set & TFS_SET_GID) != 0)
        scratch->gid = c->values->st_gid;
    scratch->ctime = tfs_views_now(&s->views);
}

static int try_setattr(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct setting *c = call;
    struct tfs_node node;
    struct tfs_inode *inode = tfs_inode_find(&s->inodes, c->id);
    int result = 0;

    if (inode == NULL && (result = tfs_ops_node(s, c->id, &node)) == 0 &&
        tfs_ops_read_only(s, &node))
        result = -EROFS;
    if (result == 0) {
        set_owner(s, c);
        result = set_times(s, c);
    }
    if (result == 0 && (c->set & TFS_SET_SIZE) != 0)
        result = tfs_file_truncate(s, need, c->handle, (uint64_t)c->values->st_size, false);
    inode = tfs_inode_find(&s->inodes, c->id);
    if (result == 0 && inode != NULL)
        result = tfs_ops_attr(s, need, inode, &c->attr);
    else if (result == 0)
        result = tfs_ops_attr_node(s, need, &node, &c->attr);
    if (result == 0 && (c->set & TFS_SET_SIZE) != 0)
        see_draft(c->handle, &c->attr);
    return result;
}

/* ---- truncate(2) by name --------------------------------------------------------------------- */

/* A handle that is opened, cut and closed. */
struct truncating {
    struct tfs_session *s;
    struct setting setting;
    struct tfs_reply reply;
};

static void end_truncating(void *arg, int result, const struct tfs_attr *none)
{
    struct truncating *t = arg;
    struct asking a = {t->setting.id, NULL, &t->setting.attr};

    (void)none;
    if (result == 0)
        result = tfs_ops_run_as_read(t->s, NULL, try_getattr, &a);
    /* Nobody hears an answer while the file is still open. */
    tfs_session_release(t->s, t->setting.handle);
    t->reply.done(t->reply.arg, result, result == 0 ? &t->setting.attr : NULL);
    free(t);
}

static int truncate_by_name(struct tfs_session *s, const struct setting *c, struct tfs_reply reply)
{
    struct truncating *t = malloc(sizeof(*t));
    bool keep;

    if (t == NULL)
        return -ENOMEM;
    *t = (struct truncating){s, *c, reply};
    int result = tfs_session_open_file(s, c->id, O_WRONLY, &t->setting.handle, &keep);
    if (result < 0) {
        free(t);
        return result;
    }
    result = tfs_ops_run_as_read(s, t->setting.handle, try_setattr, &t->setting);
    if (result < 0)
        end_truncating(t, result, NULL);
    else
        tfs_session_flush(s, t->setting.handle, TFS_OWNER_ANY,
                          (struct tfs_reply){end_truncating, t});
    return 0;
}

void tfs_session_setattr(struct tfs_session *s, uint64_t id, struct tfs_handle *handle,
                         const struct stat *values, unsigned set_what, struct tfs_reply reply)
{
    struct setting c = {.id = id, .handle = handle, .values = values, .set = set_what};
    const bool sizes = (set_what & TFS_SET_SIZE) != 0;
    int result = sizes && values->st_size < 0 ? -EINVAL : 0;

    if (result == 0 && sizes && handle == NULL) {
        result = truncate_by_name(s, &c, reply);
        if (result == 0)
            return;
    } else if (result == 0) {
        result = tfs_ops_run_as_read(s, handle, try_setattr, &c);
    }
    reply.done(reply.arg, result, result == 0 ? &c.attr : NULL);
}
