/*
 * What files show: rendered bytes, sizes, attributes and times. Reads documents through lenses;
 * changes nothing but the cache and the times.
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/state.h"

/* ---- times ----------------------------------------------------------------------------------- */

struct timespec tfs_now_locked(struct tfs_session *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* Two changes never have the same time: git and rsync tell versions apart by it. */
    if (now.tv_sec < s->last_time.tv_sec ||
        (now.tv_sec == s->last_time.tv_sec && now.tv_nsec <= s->last_time.tv_nsec)) {
        now = s->last_time;
        now.tv_nsec++;
        if (now.tv_nsec == 1000000000L) {
            now.tv_sec++;
            now.tv_nsec = 0;
        }
    }
    s->last_time = now;
    return now;
}

/* What is known of single files is given up: all of them count as changed now. Costs times that
 * utimens set and reading again, and never shows what is no longer so. */
static void forget_changes(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    for (size_t at = 0; tfs_map_next(&s->changes, &at, &cell);)
        free(cell.value);
    tfs_map_release(&s->changes);
    s->base_stamp = ++s->stamp;
    s->base_time = tfs_now_locked(s);
}

struct tfs_change *tfs_change_locked(struct tfs_session *s, uint64_t computed_id)
{
    struct tfs_change *change = tfs_map_find(&s->changes, computed_id);
    if (change != NULL)
        return change;
    if (s->changes.count >= s->options.changes_limit)
        forget_changes(s);
    change = calloc(1, sizeof(*change));
    if (change == NULL)
        return NULL;
    change->stamp = s->base_stamp;
    change->atime = change->mtime = change->ctime = s->base_time;
    if (tfs_map_set(&s->changes, computed_id, change) < 0) {
        free(change);
        return NULL;
    }
    return change;
}

void tfs_bump_locked(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_change *change = tfs_change_locked(s, tfs_node_id(node));
    if (change == NULL) {
        forget_changes(s);
        return;
    }
    change->stamp = ++s->stamp;
    change->mtime = change->ctime = tfs_now_locked(s);
}

void tfs_bump_stamp_locked(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_change *change = tfs_change_locked(s, tfs_node_id(node));
    if (change != NULL)
        change->stamp = ++s->stamp;
    else
        forget_changes(s);
}

struct tfs_change *tfs_change_known_locked(struct tfs_session *s, uint64_t computed_id)
{
    /* As long as nothing was forgotten, what is not in the table did not change; and who only looks
     * makes nobody forget. */
    if (s->base_stamp == 0 || s->changes.count >= s->options.changes_limit)
        return tfs_map_find(&s->changes, computed_id);
    return tfs_change_locked(s, computed_id);
}

uint64_t tfs_stamp_locked(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_change *change = tfs_map_find(&s->changes, tfs_node_id(node));
    return change != NULL ? change->stamp : s->base_stamp;
}

/* ---- rendering ------------------------------------------------------------------------------- */

static int render(struct tfs_session *s, const struct tfs_doc *doc, const struct tfs_node *node,
                  struct tfs_blob **blob, struct tfs_error *err)
{
    const struct tfs_file *file = tfs_node_file(s->save, node);
    struct tfs_buf out = {0};
    int exists = tfs_node_exists(s->save, doc, node);
    int result = exists == 1  ? 0
                 : exists < 0 ? tfs_fail(err, exists, "its chunk cannot be looked into now")
                              : tfs_fail(err, -ESTALE, "gone");
    if (result == 0)
        result = file->lens->get(s->save, doc, tfs_node_at(s->save, node), &out, err);
    if (result == 0)
        result = tfs_blob_take(&out, blob, err);
    tfs_buf_release(&out);
    return result;
}

int tfs_content_locked(struct tfs_session *s, const struct tfs_node *shown, struct tfs_blob **blob,
                       struct tfs_error *err)
{
    const struct tfs_node node =
        *shown; /* it may lie in an inode, which changes without the lock */
    if (s->broken != 0)
        return tfs_fail(err, -EIO, "the save on disk cannot be read any more");
    uint64_t id = tfs_node_id(&node);
    uint64_t stamp = tfs_stamp_locked(s, &node);
    *blob = tfs_cache_find(&s->cache, id, stamp);
    if (*blob != NULL)
        return 0;
    struct tfs_doc *doc = tfs_doc_ref(s->doc);
    pthread_mutex_unlock(&s->lock);
    int result = render(s, doc, &node, blob, err);
    pthread_mutex_lock(&s->lock);
    if (result == 0 && tfs_stamp_locked(s, &node) == stamp)
        tfs_cache_add(&s->cache, id, stamp, *blob);
    tfs_doc_unref(doc);
    return result;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void fill_size(struct stat *st, uint64_t size)
{
    st->st_size = (off_t)size;
    st->st_blksize = 128 * 1024;
    st->st_blocks = (blkcnt_t)((size + 511) / 512);
}

/* From here on the caller knows the size that belongs to this stamp. */
static void told(struct tfs_session *s, uint64_t computed_id)
{
    struct tfs_change *change = tfs_change_known_locked(s, computed_id);
    if (change != NULL)
        change->told_stamp = change->stamp;
}

static void fill_times(struct tfs_session *s, uint64_t computed_id, struct stat *st)
{
    const struct tfs_change *change = tfs_map_find(&s->changes, computed_id);
    st->st_atim = change ? change->atime : s->base_time;
    st->st_mtim = change ? change->mtime : s->base_time;
    st->st_ctim = change ? change->ctime : s->base_time;
}

/* .terrainfs is not listed. */
static size_t scratch_directories(struct tfs_session *s, uint64_t id)
{
    return tfs_link_directories_locked(s, id) - (id == s->control->parent ? 1 : 0);
}

/* Owner and permissions follow the save; a directory may be searched by those who may read. */
static void fill_mode(struct tfs_session *s, const struct tfs_node *node, struct stat *st)
{
    mode_t mode = s->st.st_mode & 0666;
    bool directory = tfs_node_is_directory(node);
    bool writable = directory ? !s->options.read_only
                              : tfs_node_writable(s->save, s->doc, node) && !s->options.read_only;
    if (!writable)
        mode &= (mode_t)~0222;
    if (directory)
        mode |= (mode & 0444) >> 2;
    st->st_mode = mode | (directory ? S_IFDIR : S_IFREG);
    st->st_uid = s->st.st_uid;
    st->st_gid = s->st.st_gid;
    st->st_nlink = 1;
    if (directory)
        st->st_nlink =
            (nlink_t)(2 + tfs_tree_subdirectories(s->save, s->doc, node) +
                      tfs_group_count_locked(s, node) + scratch_directories(s, tfs_node_id(node)));
}

/* An id has the slot above the file, both small numbers. The files of a chunk get places side by
 * side, those of the next chunk the next ones. */
static struct tfs_size *size_place(struct tfs_session *s, uint64_t id)
{
    return &s->sizes[((id >> 16) * s->save->tree->chunk_count + (id & 0xffff)) % TFS_SIZES];
}

/* The size of a file that is not remembered; renders when that is the only way, and `cheap` does
 * not forbid it. */
static int find_size(struct tfs_session *s, const struct tfs_node *node, bool cheap, uint64_t *size)
{
    /* Whoever has it open may ask after its chunk, or its section, is gone. */
    int exists = tfs_node_exists(s->save, s->doc, node);
    if (exists <= 0)
        return exists < 0 ? exists : -ESTALE;
    const struct tfs_lens *lens = tfs_node_file(s->save, node)->lens;
    int64_t known = s->broken == 0 && lens->size != NULL
                        ? lens->size(s->save, s->doc, tfs_node_at(s->save, node))
                        : -1;
    if (known >= 0) {
        *size = (uint64_t)known;
        return 0;
    }
    if (cheap)
        return -EAGAIN;
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};
    int result = tfs_content_locked(s, node, &blob, &err);
    if (result < 0)
        return result;
    *size = blob->size;
    tfs_blob_unref(blob);
    return 0;
}

static int size_locked(struct tfs_session *s, const struct tfs_node *node, bool cheap,
                       uint64_t *size)
{
    uint64_t id = tfs_node_id(node);
    uint64_t stamp = tfs_stamp_locked(s, node);
    struct tfs_size *place = size_place(s, id);
    if (place->id == id && place->stamp == stamp && s->broken == 0) {
        *size = place->size;
        return 0;
    }
    int result = find_size(s, node, cheap, size);
    /* Rendering let go of the lock: a size of meanwhile must not be remembered for then. */
    if (result == 0 && tfs_stamp_locked(s, node) == stamp)
        *place = (struct tfs_size){id, stamp, *size};
    return result;
}

int tfs_attr_node_locked(struct tfs_session *s, const struct tfs_node *node, bool cheap,
                         struct tfs_attr *attr)
{
    uint64_t computed = tfs_node_id(node);
    *attr = (struct tfs_attr){0};
    fill_mode(s, node, &attr->st);
    const struct tfs_file *file = tfs_node_file(s->save, node);
    attr->renames = file != NULL && file->count != NULL;
    attr->st.st_ino = computed;
    uint64_t size = 0;
    int result = 0;
    const struct tfs_inode *inode = tfs_map_find(&s->virtuals, computed);
    attr->changing = inode != NULL && inode->pending;
    if (attr->changing)
        size = inode->bytes.size;
    else if (!tfs_node_is_directory(node))
        result = size_locked(s, node, cheap, &size); /* the inode may be gone behind this */
    fill_times(s, computed, &attr->st);
    fill_size(&attr->st, size);
    if (result == 0)
        told(s, computed);
    attr->id = tfs_node_id_locked(s, node);
    return result == 0 && attr->id == 0 ? -ENOMEM : result;
}

int tfs_attr_inode_locked(struct tfs_session *s, struct tfs_inode *inode, struct tfs_attr *attr)
{
    static const mode_t types[] = {
        [TFS_INODE_FILE] = S_IFREG,
        [TFS_INODE_DIRECTORY] = S_IFDIR,
        [TFS_INODE_SYMLINK] = S_IFLNK,
    };
    if (inode->kind == TFS_INODE_VIRTUAL) {
        struct tfs_node node = inode->node; /* rendering lets go of the lock, and of the inode */
        return tfs_attr_node_locked(s, &node, false, attr);
    }
    if (inode == s->status)
        tfs_status_update_locked(s);
    *attr = (struct tfs_attr){.id = inode->id, .changing = inode->control || inode->uncapped};
    struct stat *st = &attr->st;
    /* Not the id: a scratch file may live under the id of the schema file that it was. */
    st->st_ino = inode->id >= TFS_ID_TABLE ? inode->id : inode->id | (UINT64_C(1) << 63);
    st->st_mode = inode->mode | types[inode->kind];
    st->st_nlink = inode->link != NULL ? 1 : 0;
    if (inode->kind == TFS_INODE_DIRECTORY)
        st->st_nlink = (nlink_t)(2 + scratch_directories(s, inode->id));
    st->st_uid = inode->uid;
    st->st_gid = inode->gid;
    st->st_atim = inode->atime;
    st->st_mtim = inode->mtime;
    st->st_ctim = inode->ctime;
    fill_size(st, inode->bytes.size);
    return 0;
}

void tfs_await_close_locked(struct tfs_session *s, uint64_t id)
{
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    if (inode == NULL || !inode->closing)
        return;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TFS_CLOSING_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    int result = 0;
    while (result == 0 && inode != NULL && inode->closing) {
        result = pthread_cond_timedwait(&s->closed, &s->lock, &until);
        inode = tfs_inode_find_locked(s, id); /* it may be gone since */
    }
    if (inode != NULL)
        inode->closing = false; /* a copy of the descriptor is still open: do not wait again */
}
