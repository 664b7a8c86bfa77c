/*
 * A folder of files: opened, shown as a document, followed and committed.
 *
 * Must not know how files are looked at (folder_index.c), fetched from (folder_fetch.c) and written
 * (folder_write.c). Invariants:
 *   1. own->index is what the files on disk say, and save->doc has a chunk for each chunk of those
 *      that were read;
 *   2. a chunk of the document holds what this mount wrote, or is fetched from its file. Where that
 *      is decoded as a whole, tfs_chunk.own is the sum of its bytes; else the number of the reading
 *      that found the chunk new or changed by others;
 *   3. the folder itself is locked, its files are not. Nothing is written while the path is that of
 *      another folder, which is locked before it is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "formats/containers/folder_state.h"
#include "formats/journal.h"

/* ---- documents ------------------------------------------------------------------------------- */

const struct tfs_folder_file *tfs_folder_file_of(const struct tfs_doc *doc, struct tfs_key chunk)
{
    const struct tfs_folder_known *known = doc->facts->folder;
    uint32_t index;

    return known == NULL
               ? NULL
               : tfs_folder_find(&known->files, known->kind->file_of(doc->facts, chunk, &index));
}

int tfs_folder_check_place(const struct tfs_doc *doc, struct tfs_key chunk, struct tfs_error *err)
{
    const struct tfs_folder_known *known = doc->facts->folder;
    const struct tfs_folder_file *file = tfs_folder_file_of(doc, chunk);
    char path[TFS_FOLDER_PATH];
    uint32_t index;

    if (known == NULL)
        return 0;
    if (known->narrow &&
        tfs_key_compare(known->only, known->kind->file_of(doc->facts, chunk, &index)) != 0) {
        known->kind->path(known->only, path);
        return tfs_fail(err, -EINVAL, "chunk %d_%d_%d is outside %s, which alone is shown", chunk.x,
                        chunk.y, chunk.z, path);
    }
    if (file == NULL || file->refusal == NULL)
        return 0;
    known->kind->path(file->key, path);
    const char *slash = strrchr(path, '/');
    return tfs_fail(err, -EROFS, "%s cannot be written: %s", slash == NULL ? path : slash + 1,
                    file->refusal);
}

int tfs_folder_check_only(const struct tfs_facts *facts, struct tfs_error *err)
{
    const struct tfs_folder_files *files = &facts->folder->files;

    if (files->count == 0)
        return tfs_fail(err, -ENOENT, "its folder shows no such file");
    return files->files[0]->left_out ? tfs_fail(err, -EBADMSG, "%s", files->files[0]->refusal) : 0;
}

/* Chunks that a document gets. */
struct adding {
    struct tfs_save *save;
    const struct tfs_facts *facts;
    struct tfs_edit edit;
    struct tfs_chunk *chunks; /* without references */
    size_t count, room;
    uint32_t next_slot;
};

static int adding_open(struct tfs_save *save, struct tfs_doc *base, struct tfs_facts *facts,
                       size_t room, struct adding *a, struct tfs_error *err)
{
    *a = (struct adding){.save = save, .facts = facts, .room = room};
    if (base == NULL)
        tfs_edit_open_empty(facts, &a->edit, err);
    else
        tfs_edit_open(base, &a->edit, err);
    a->chunks = reallocarray(NULL, room + 1, sizeof(*a->chunks));
    if (a->chunks == NULL)
        tfs_fail_memory(err);
    if (err->code < 0)
        return err->code;
    a->next_slot = tfs_edit_doc(&a->edit)->next_slot;
    tfs_edit_facts(&a->edit, facts);
    return room < TFS_SLOT_NONE - a->next_slot
               ? 0
               : tfs_fail(err, -EFBIG, "more chunks came and went than one mount can tell apart");
}

static void adding_close(struct adding *a)
{
    tfs_edit_release(&a->edit);
    free(a->chunks);
}

/* All chunks of a file that was read; `was`: what was known of it before, or NULL. Directories are
 * listed by slots: so a walk through them meets one file after the other, and each is opened
 * once. */
static void add_file(struct adding *a, struct tfs_folder_file *file,
                     const struct tfs_folder_file *was)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(a->save);
    const struct tfs_doc *doc = tfs_edit_doc(&a->edit);
    struct tfs_folder_opened *opened = NULL;

    for (size_t i = 0; i < file->count; i++) {
        struct tfs_folder_slot *slot = &file->slots[i];
        const struct tfs_key key = kind->chunk_of(a->facts, file->key, slot->index);
        const struct tfs_chunk *before = tfs_doc_find(doc, key);
        const bool apart = kind->payload == NULL;
        if (apart && before != NULL &&
            tfs_folder_same(a->save, &opened, file, slot,
                            was == NULL ? NULL : tfs_folder_slot(was, slot->index), before))
            continue;
        a->chunks[a->count++] =
            (struct tfs_chunk){.key = key,
                               .slot = before != NULL ? before->slot : a->next_slot++,
                               .flags = slot->flags | (uint32_t)TFS_CHUNK_UNREAD,
                               .tag = slot->tag,
                               .own = apart ? file->reading : slot->sum};
    }
    tfs_folder_opened_unref(opened);
}

static int compare_chunks(const void *a, const void *b)
{
    const struct tfs_chunk *left = a, *right = b;

    return tfs_key_compare(left->key, right->key);
}

/* In the order of keys: into an empty document every put goes to its end. */
static int put_added(struct adding *a, struct tfs_error *err)
{
    if (a->count > 0)
        qsort(a->chunks, a->count, sizeof(*a->chunks), compare_chunks);
    for (size_t i = 0; i < a->count && err->code == 0; i++)
        tfs_edit_put(&a->edit, &a->chunks[i], err);
    return err->code;
}

/* Chunks of a file that are not in what it became (NULL: it is gone). */
static int drop_chunks(struct adding *a, const struct tfs_folder_file *was,
                       const struct tfs_folder_file *now, struct tfs_error *err)
{
    for (size_t i = 0; i < was->count && err->code == 0; i++) {
        const uint32_t index = was->slots[i].index;
        const struct tfs_key key = tfs_folder_kind_of(a->save)->chunk_of(a->facts, was->key, index);
        if ((now == NULL || tfs_folder_slot(now, index) == NULL) &&
            tfs_doc_find(tfs_edit_doc(&a->edit), key) != NULL)
            tfs_edit_remove(&a->edit, key, err);
    }
    return err->code;
}

static const struct tfs_folder_file *known_in(const struct tfs_folder_index *index,
                                              struct tfs_key key)
{
    return index == NULL ? NULL : tfs_folder_find(&index->files, key);
}

/* The document of an index that replaces `before`, of which `base` is; both NULL: nothing is
 * known. Files that are still the same keep their chunks. */
static int make_doc(struct tfs_save *save, struct tfs_doc *base,
                    const struct tfs_folder_index *before, const struct tfs_folder_index *index,
                    struct tfs_doc **doc, struct tfs_error *err)
{
    struct adding a;
    size_t room = 0;

    for (size_t i = 0; i < index->files.count; i++)
        if (known_in(before, index->files.files[i]->key) != index->files.files[i])
            room += index->files.files[i]->count;
    if (adding_open(save, base, index->facts, room, &a, err) == 0) {
        tfs_edit_common(&a.edit, index->common);
        for (size_t i = 0; before != NULL && i < before->files.count; i++) {
            const struct tfs_folder_file *was = before->files.files[i];
            const struct tfs_folder_file *now = tfs_folder_find(&index->files, was->key);
            if (now != was && drop_chunks(&a, was, now, err) < 0)
                break;
        }
        for (size_t i = 0; i < index->files.count && err->code == 0; i++) {
            struct tfs_folder_file *file = index->files.files[i];
            const struct tfs_folder_file *was = known_in(before, file->key);
            if (file != was)
                add_file(&a, file, was);
        }
        if (err->code == 0 && put_added(&a, err) == 0)
            *doc = tfs_edit_finish(&a.edit);
    }
    adding_close(&a);
    return err->code;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* One of which nobody can tell now what it is says nothing. */
static bool is_examined(const struct tfs_folder_file *file)
{
    return file->st.st_ino != 0;
}

/* Owner and group of what is common, or of the first file, or of the folder; a mode that lets
 * nobody see more than in each of them; the newest time. */
static void set_stat(struct tfs_save *save, const struct tfs_folder *own)
{
    const struct tfs_folder_files *files = &own->index.files;
    size_t first = 0;

    while (first < files->count && !is_examined(files->files[first]))
        first++;
    if (tfs_folder_kind_of(save)->needed)
        save->st = own->index.common_st;
    else if (first < files->count)
        save->st = files->files[first]->st;
    else if (fstat(own->lock_fd, &save->st) == 0)
        save->st.st_mode &= ~(mode_t)0111;
    save->st.st_mode = S_IFREG | (save->st.st_mode & 07777);
    for (size_t i = first; i < files->count; i++) {
        const struct stat *st = &files->files[i]->st;
        if (!is_examined(files->files[i]))
            continue;
        save->st.st_mode &= st->st_mode | S_IFMT;
        if (tfs_is_later(st->st_mtim, save->st.st_mtim))
            save->st.st_mtim = save->st.st_ctim = st->st_mtim;
    }
}

static void check_writable(struct tfs_save *save, const struct tfs_folder_index *index)
{
    const bool made = index->watches[0].st.st_ino != 0;
    struct tfs_error why = {0};

    if (access(made ? index->watches[0].path : save->path, W_OK) < 0)
        tfs_fail(&why, -errno, "it cannot be written: %s", strerror(errno));
    tfs_save_set_read_only(save, &why);
}

/* The names of files and directories are durable from now on. */
static int settle(const struct tfs_save *save, const struct tfs_folder_index *index,
                  struct tfs_error *err)
{
    int result = tfs_save_is_locked(save) ? tfs_directory_settle(save->path, err) : 0;

    for (size_t i = 0; tfs_save_is_locked(save) && i < index->watch_count && result == 0; i++)
        result = tfs_directory_settle(index->watches[i].path, err);
    return result;
}

static void folder_free(struct tfs_folder *own)
{
    tfs_recent_release(&own->opened);
    tfs_folder_index_release(&own->index);
    if (own->lock_fd >= 0)
        close(own->lock_fd);
    pthread_mutex_destroy(&own->lock);
    for (size_t i = 0; i < TFS_FOLDER_OPENING; i++)
        pthread_mutex_destroy(&own->opening[i]);
    free(own);
}

int tfs_folder_open(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_folder *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return tfs_fail_memory(err);
    own->lock_fd = -1;
    pthread_mutex_init(&own->lock, NULL);
    for (size_t i = 0; i < TFS_FOLDER_OPENING; i++)
        pthread_mutex_init(&own->opening[i], NULL);
    tfs_folder_opened_init(save, &own->opened);
    save->own = own;
    if (tfs_folder_lock(save->path, tfs_save_is_locked(save), &own->lock_fd, err) == 0)
        tfs_journal_tidy(save);
    if (err->code < 0 || tfs_folder_index_read(save, NULL, &own->index, err) < 0 ||
        settle(save, &own->index, err) < 0 ||
        make_doc(save, NULL, NULL, &own->index, &save->doc, err) < 0) {
        folder_free(own);
        save->own = NULL;
        return err->code;
    }
    own->reading++;
    check_writable(save, &own->index);
    set_stat(save, own);
    return 0;
}

void tfs_folder_close(struct tfs_save *save)
{
    folder_free(tfs_folder_of(save));
    save->own = NULL;
}

/* ---- files that are read later --------------------------------------------------------------- */

bool tfs_folder_lacks(const struct tfs_doc *doc, const struct tfs_key *chunk)
{
    const struct tfs_folder_known *known = doc->facts->folder;

    if (known == NULL || known->unread == 0)
        return false;
    if (chunk == NULL)
        return true;
    const struct tfs_folder_file *file = tfs_folder_file_of(doc, *chunk);
    return file != NULL && file->unread;
}

/* Those of the index that are not read become what was read of them; there is room. */
static void know_read(struct tfs_folder *own, struct tfs_folder_file **read, size_t count)
{
    struct tfs_error ignored = {0};

    pthread_mutex_lock(&own->lock);
    for (size_t i = 0; i < count; i++) {
        struct tfs_folder_file *old =
            read[i] == NULL ? NULL : tfs_folder_find(&own->index.files, read[i]->key);
        if (old == NULL || !old->unread)
            continue;
        tfs_folder_remove(&own->index.files, old);
        if (tfs_folder_add(&own->index.files, read[i], &ignored) == 0)
            tfs_folder_file_ref(read[i]);
    }
    pthread_mutex_unlock(&own->lock);
}

/* The list with what was read of it; what is not there any more is not in it. */
static int join_read(const struct tfs_folder_files *files, const struct tfs_key *wanted,
                     struct tfs_folder_file **read, struct tfs_folder_files *joined,
                     struct tfs_error *err)
{
    for (size_t i = 0; i < files->count && err->code == 0; i++) {
        struct tfs_folder_file *old = files->files[i];
        const bool gone = old->unread && read[i] == NULL &&
                          (wanted == NULL || tfs_key_compare(old->key, *wanted) == 0);
        if (!gone && tfs_folder_add(joined, read[i] != NULL ? read[i] : old, err) == 0)
            tfs_folder_file_ref(read[i] != NULL ? read[i] : old);
    }
    return err->code;
}

int tfs_folder_complete(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_doc **doc,
                        struct tfs_error *err)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(save);
    struct tfs_doc *base = save->doc;
    const struct tfs_folder_index before = {.files = base->facts->folder->files};
    const struct tfs_folder_files *files = &before.files;
    struct tfs_folder_file **read = calloc(files->count + 1, sizeof(struct tfs_folder_file *));
    struct tfs_folder_index now = {.common = base->common};
    struct tfs_key wanted = {0};
    uint32_t index;

    if (read == NULL)
        return tfs_fail_memory(err);
    if (chunk != NULL)
        wanted = kind->file_of(base->facts, *chunk, &index);
    const struct tfs_key *file = chunk == NULL ? NULL : &wanted;
    if (tfs_folder_read_files(save, base->facts, files, file, read, err) == 0 &&
        join_read(files, file, read, &now.files, err) == 0 &&
        kind->facts(save, now.common, &now.facts, err) == 0 &&
        tfs_folder_facts_complete(save, &now.files, now.facts, err) == 0 &&
        make_doc(save, base, &before, &now, doc, err) == 0)
        know_read(tfs_folder_of(save), read, files->count);
    for (size_t i = 0; i < files->count; i++)
        tfs_folder_file_unref(read[i]);
    free(read);
    tfs_folder_files_release(&now.files);
    tfs_facts_unref(now.facts);
    return err->code;
}

/* ---- outside changes ------------------------------------------------------------------------- */

int tfs_folder_changed(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err)
{
    struct tfs_folder *own = tfs_folder_of(save);
    struct tfs_error ignored = {0};
    struct tfs_key file;
    uint32_t index;

    (void)err;
    pthread_mutex_lock(&own->lock);
    if (chunk != NULL)
        file = tfs_folder_kind_of(save)->file_of(own->index.facts, *chunk, &index);
    const bool changed = tfs_folder_check(save->path, own->lock_fd, &ignored) < 0 ||
                         tfs_folder_index_changed(save, &own->index, chunk == NULL ? NULL : &file);
    pthread_mutex_unlock(&own->lock);
    return changed;
}

/* Games remove no directory: a missing one may come back. Nor does the one file that is shown go:
 * that is waited for as a save of one file is. */
static int check_moved(const struct tfs_save *save, const struct tfs_folder_index *before,
                       const struct tfs_folder_index *now, struct tfs_error *err)
{
    const struct tfs_folder_known *known = now->facts->folder;

    if (known->narrow && tfs_folder_find(&before->files, known->only) != NULL)
        return tfs_folder_check_only(now->facts, err);
    if (before->files.count == 0 || before->watches[0].st.st_ino == 0 || now->watch_count == 0 ||
        now->watches[0].st.st_ino != 0)
        return 0;
    return tfs_fail(err, -ENOENT, "its folder %s is missing",
                    now->watches[0].path + strlen(save->path) + 1);
}

/* Another text of what is common makes another save of it, where the game says so. */
static int make_doc_again(struct tfs_save *save, const struct tfs_folder_index *before,
                          const struct tfs_folder_index *index, struct tfs_doc **doc,
                          struct tfs_error *err)
{
    if (tfs_folder_kind_of(save)->needed && !tfs_blob_equal(before->common, index->common))
        return make_doc(save, NULL, NULL, index, doc, err) < 0
                   ? err->code
                   : tfs_doc_keep_slots(*doc, save->doc, err);
    return make_doc(save, save->doc, before, index, doc, err);
}

static int read_index(struct tfs_save *save, struct tfs_folder *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    struct tfs_folder_index index;

    if (tfs_folder_index_read(save, &own->index, &index, err) < 0)
        return err->code;
    if (check_moved(save, &own->index, &index, err) < 0 ||
        make_doc_again(save, &own->index, &index, doc, err) < 0) {
        tfs_folder_index_release(&index);
        return err->code;
    }
    tfs_folder_index_release(&own->index);
    tfs_recent_clear(&own->opened);
    own->index = index;
    own->reading++;
    return 0;
}

/* The same with the lock: a folder in the place of ours is locked before it is read, and ours is
 * released after that. */
static int read_again(struct tfs_save *save, struct tfs_folder *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    const int before = own->lock_fd;
    struct tfs_error why = {0};

    if (tfs_folder_check(save->path, own->lock_fd, &why) == 0)
        return read_index(save, own, doc, err);
    if (tfs_folder_lock(save->path, tfs_save_is_locked(save), &own->lock_fd, err) < 0)
        return err->code;
    read_index(save, own, doc, err);
    if (err->code < 0) {
        close(own->lock_fd);
        own->lock_fd = before;
    } else {
        close(before);
    }
    return err->code;
}

int tfs_folder_reload(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_folder *own = tfs_folder_of(save);
    struct tfs_doc *doc = NULL;

    pthread_mutex_lock(&own->lock);
    int result = read_again(save, own, &doc, err);
    pthread_mutex_unlock(&own->lock);
    if (result < 0) {
        tfs_doc_unref(doc);
        return result;
    }
    tfs_doc_unref(save->doc);
    save->doc = doc;
    check_writable(save, &own->index);
    set_stat(save, own);
    return 0;
}

/* ---- committing ------------------------------------------------------------------------------ */

int tfs_folder_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_folder *own = tfs_folder_of(save);
    const bool same = tfs_blob_equal(save->doc->common, doc->common);
    struct tfs_doc *reached = NULL;

    if (tfs_save_check_allowed(save, err) < 0 ||
        tfs_folder_check(save->path, own->lock_fd, err) < 0)
        return err->code;
    tfs_folder_write(save, doc, &reached, err);
    if (reached != NULL) {
        tfs_doc_unref(save->doc);
        save->doc = reached;
        pthread_mutex_lock(&own->lock);
        set_stat(save, own);
        pthread_mutex_unlock(&own->lock);
    }
    if (err->code == 0 && !same)
        tfs_folder_reload(save, err);
    return err->code;
}

/* ---- the journal ----------------------------------------------------------------------------- */

struct tfs_key tfs_folder_file_key(const struct tfs_save *save, struct tfs_key chunk)
{
    struct tfs_folder *own = tfs_folder_of(save);
    uint32_t index;

    pthread_mutex_lock(&own->lock);
    const struct tfs_key file = tfs_folder_kind_of(save)->file_of(own->index.facts, chunk, &index);
    pthread_mutex_unlock(&own->lock);
    return file;
}

char *tfs_folder_file_path(const struct tfs_save *save, struct tfs_key file)
{
    char below[TFS_FOLDER_PATH];
    char *path = NULL;

    tfs_folder_kind_of(save)->path(file, below);
    return tfs_print(&path, "%s/%s", save->path, below) < 0 ? NULL : path;
}

static int fail_changed(struct tfs_error *err)
{
    tfs_error_reset(err);
    return tfs_fail(err, -ESTALE, "was changed by another program since it was read");
}

static int hash_file(const struct tfs_save *save, struct tfs_key key, const struct stat *known,
                     struct tfs_hash *hash, struct tfs_error *err)
{
    char *path = tfs_folder_file_path(save, key);
    struct tfs_file_handle file = {.fd = -1};
    struct stat now;

    int result = path == NULL ? tfs_fail_memory(err) : tfs_file_open(path, false, &file, err);
    if (result == -ENOENT || (result == 0 && !tfs_file_same(&file.st, known)))
        result = fail_changed(err);
    if (result == 0)
        result = tfs_hash_file(file.fd, hash, err);
    if (result == 0 && (fstat(file.fd, &now) < 0 || !tfs_file_same(&now, known)))
        result = fail_changed(err);
    tfs_file_close(&file);
    free(path);
    return result;
}

/* It is read once: the next caller need not. */
int tfs_folder_file_hash(struct tfs_save *save, struct tfs_key key, struct tfs_hash *hash,
                         struct stat *st, struct tfs_error *err)
{
    struct tfs_folder *own = tfs_folder_of(save);

    *hash = (struct tfs_hash){0};
    *st = (struct stat){0};
    pthread_mutex_lock(&own->lock);
    struct tfs_folder_file *file = tfs_folder_find(&own->index.files, key);
    const bool hashed = file != NULL && file->hashed;
    if (file != NULL) {
        tfs_folder_file_ref(file);
        *st = file->st;
        *hash = file->hash;
    }
    pthread_mutex_unlock(&own->lock);
    if (file != NULL && !hashed && hash_file(save, key, st, hash, err) == 0) {
        pthread_mutex_lock(&own->lock);
        file->hash = *hash;
        file->hashed = true;
        pthread_mutex_unlock(&own->lock);
    }
    tfs_folder_file_unref(file);
    return err->code;
}
