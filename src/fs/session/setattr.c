/*
 * Attributes: asking, and setting sizes, times and owners.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fs/session/ops.h"

/* ---- asking ---------------------------------------------------------------------------------- */

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

/* ---- setting --------------------------------------------------------------------------------- */

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

static int set(struct tfs_session *s, struct setting *c)
{
    return tfs_ops_told(s, c->id, NULL, tfs_ops_run_writing(s, c->handle, try_setattr, c), NULL);
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
        result = tfs_ops_run_as_read(t->s, try_getattr, &a);
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
    result = set(s, &t->setting);
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
        result = set(s, &c);
    }
    reply.done(reply.arg, result, result == 0 ? &c.attr : NULL);
}
