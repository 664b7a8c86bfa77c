/*
 * The files of a folder -> which chunks lie where in them.
 *
 * Must not know documents of the folder, nor how bytes are fetched. What is wrong with one file
 * costs that file alone: it shows nothing, and is not written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"
#include "formats/containers/folder_state.h"
#include "formats/containers/file.h"

#define COMMON_MAX  (1 << 20) /* bytes of a file that all have in common */
#define STRAY       ".terrainfs-"
#define THREADS_MAX 4

/* ---- what is known of a file ----------------------------------------------------------------- */

static struct tfs_folder_file *file_create(const struct tfs_save *save, struct tfs_key key,
                                           const struct stat *st)
{
    struct tfs_folder_file *file = calloc(1, sizeof(*file));
    void *own = calloc(1, tfs_folder_kind_of(save)->own_size);

    if (file == NULL || own == NULL) {
        free(file);
        free(own);
        return NULL;
    }
    atomic_init(&file->refs, 1);
    file->key = key;
    file->st = *st;
    file->own = own;
    return file;
}

/* The first reason not to write it stays. */
static int refuse(struct tfs_folder_file *file, const char *why, struct tfs_error *err)
{
    if (file->refusal == NULL)
        file->refusal = strdup(why);
    return file->refusal == NULL ? tfs_fail_memory(err) : 0;
}

static int keep_notes(struct tfs_folder_file *file, const struct tfs_facts *facts,
                      struct tfs_error *err)
{
    file->notes = calloc(facts->note_count + 1, sizeof(*file->notes));
    if (file->notes == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < facts->note_count; i++) {
        const struct tfs_note *note = &facts->notes[i];
        if (note->kind != TFS_NOTE_WARNING && refuse(file, note->text, err) < 0)
            return err->code;
        file->notes[i] = (struct tfs_note){note->kind, note->hiding, strdup(note->text)};
        if (file->notes[i].text == NULL)
            return tfs_fail_memory(err);
        file->note_count++;
    }
    return 0;
}

/* The chunks of a document of the file, which are slices of its payload. */
static int keep_slots(const struct tfs_folder_kind *kind, const struct tfs_facts *facts,
                      struct tfs_folder_file *file, const struct tfs_doc *doc,
                      struct tfs_error *err)
{
    file->slots = reallocarray(NULL, doc->count + 1, sizeof(*file->slots));
    if (file->slots == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        const struct tfs_blob *whole = chunk->blob->parent;
        struct tfs_folder_slot *slot = &file->slots[file->count++];
        *slot = (struct tfs_folder_slot){
            .offset = whole == NULL ? 0 : (uint64_t)(chunk->blob->data - whole->data),
            .size = (uint32_t)chunk->blob->size,
            .tag = chunk->tag,
            .flags = chunk->flags,
            .sum = tfs_checksum(tfs_blob_span(chunk->blob), chunk->tag)};
        kind->file_of(facts, chunk->key, &slot->index);
    }
    if (file->count > 0)
        qsort(file->slots, file->count, sizeof(*file->slots), tfs_folder_compare_slots);
    return 0;
}

int tfs_folder_file_make(const struct tfs_save *save, const struct tfs_facts *facts,
                         struct tfs_key key, const struct tfs_file_handle *handle,
                         const struct tfs_doc *doc, struct tfs_folder_file **file,
                         struct tfs_error *why)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(save);
    struct tfs_folder_file *made = file_create(save, key, &handle->st);

    if (made == NULL)
        return tfs_fail_memory(why);
    int result = kind->look(facts, handle, made, why);
    if (result == 0 && made->unread && doc != NULL) {
        made->unread = false;
        if (keep_notes(made, doc->facts, why) < 0 || keep_slots(kind, facts, made, doc, why) < 0)
            result = why->code;
        kind->learn(doc, made);
    }
    if (result < 0)
        tfs_folder_file_unref(made);
    else
        *file = made;
    return result;
}

struct tfs_save tfs_folder_one(const struct tfs_save *save, char *path)
{
    const struct tfs_container *container = tfs_folder_kind_of(save)->file;
    struct tfs_save one = {.container = container,
                           .tree = container->tree,
                           .path = path,
                           .name = strrchr(path, '/') + 1,
                           .options = save->options};

    one.options.name = NULL;
    return one;
}

/* ---- reading a file -------------------------------------------------------------------------- */

/* `decode`: as far as that tells more. */
static int read_open(const struct tfs_save *save, const struct tfs_facts *facts, struct tfs_key key,
                     char *path, bool decode, struct tfs_file_handle *handle,
                     struct tfs_folder_file **file, struct tfs_error *why)
{
    struct tfs_save one = tfs_folder_one(save, path);
    struct tfs_folder_file *looked = NULL;
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *doc = NULL;

    if (tfs_folder_file_make(save, facts, key, handle, NULL, &looked, why) < 0)
        return why->code;
    if (!looked->unread || !decode) {
        *file = looked;
        return 0;
    }
    tfs_folder_file_unref(looked);
    if (tfs_file_read(handle, save->options.inflate_limit, &bytes, why) == 0 &&
        one.container->file->decode(&one, bytes, &doc, why) == 0)
        tfs_folder_file_make(save, facts, key, handle, doc, file, why);
    tfs_blob_unref(bytes);
    tfs_doc_unref(doc);
    return why->code;
}

static int open_regular(const char *path, struct stat *st, struct tfs_file_handle *handle,
                        struct tfs_error *why)
{
    if (S_ISLNK(st->st_mode))
        return tfs_fail(why, -ELOOP, "it is a link, and links lead out of the save");
    if (!S_ISREG(st->st_mode))
        return tfs_fail(why, -EINVAL, "it is not a file");
    if (tfs_file_open(path, false, handle, why) < 0)
        return why->code;
    *st = handle->st;
    return 0;
}

static int leave_out(const struct tfs_save *save, struct tfs_key key, const struct stat *st,
                     const char *why, struct tfs_folder_file **file, struct tfs_error *err)
{
    struct tfs_folder_file *made = file_create(save, key, st);

    if (made == NULL || refuse(made, why, err) < 0) {
        tfs_folder_file_unref(made);
        return tfs_fail_memory(err);
    }
    made->left_out = true;
    *file = made;
    return 0;
}

/* Does a failure say nothing of what is in the file? */
static bool may_pass(int code)
{
    return code != 0 && code != -EBADMSG && code != -ENOTSUP && code != -EFBIG && code != -EINVAL &&
           code != -ELOOP && code != -EACCES && code != -EPERM;
}

/* It is looked at again, once: a disk may fail for ever. */
static bool is_tried_again(const struct tfs_folder_file *known, int code)
{
    return may_pass(code) && (known == NULL || !known->left_out || known->st.st_ino != 0);
}

/* The file of that path as it is now; NULL: there is none. `known`: as it was read before, or NULL.
 * Fails without memory only. */
static int read_file(const struct tfs_save *save, const struct tfs_facts *facts, struct tfs_key key,
                     char *path, const struct tfs_folder_file *known, bool decode,
                     struct tfs_folder_file **file, struct tfs_error *err)
{
    struct tfs_file_handle handle = {.fd = -1};
    struct tfs_folder_file *made = NULL;
    struct tfs_error why = {0};
    struct stat st;

    *file = NULL;
    if (lstat(path, &st) < 0) {
        st = (struct stat){0};
        if (errno == ENOENT || errno == ENOTDIR)
            return 0;
        tfs_fail_errno(&why, "it cannot be examined");
    }
    if (why.code == 0 && open_regular(path, &st, &handle, &why) == 0 &&
        read_open(save, facts, key, path, decode, &handle, &made, &why) == 0 &&
        tfs_file_writable(path, &why) < 0 && why.code != -ENOMEM)
        refuse(made, why.text, err);
    tfs_file_close(&handle);
    if (made == NULL && is_tried_again(known, why.code))
        st = (struct stat){0};
    if (why.code == -ENOMEM)
        tfs_fail_memory(err);
    else if (made == NULL)
        leave_out(save, key, &st, why.text, &made, err);
    if (err->code < 0)
        tfs_folder_file_unref(made);
    else
        *file = made;
    return err->code;
}

/* ---- many files ------------------------------------------------------------------------------ */

/* Files that are decoded: each thread takes the next one. */
struct reading {
    struct tfs_save *save;
    const struct tfs_facts *facts;
    const struct tfs_folder_files *files;
    const struct tfs_key *wanted;
    struct tfs_folder_file **read;
    atomic_size_t next;
    atomic_bool failed;
};

static bool is_wanted(const struct reading *r, const struct tfs_folder_file *file)
{
    return file->unread && (r->wanted == NULL || tfs_key_compare(file->key, *r->wanted) == 0);
}

static void *read_next(void *arg)
{
    struct reading *r = arg;
    struct tfs_error err = {0};

    for (size_t i; err.code == 0 && !r->failed && (i = r->next++) < r->files->count;) {
        const struct tfs_folder_file *file = r->files->files[i];
        char *path = is_wanted(r, file) ? tfs_folder_file_path(r->save, file->key) : NULL;
        if (path != NULL)
            read_file(r->save, r->facts, file->key, path, file, true, &r->read[i], &err);
        else if (is_wanted(r, file))
            tfs_fail_memory(&err);
        free(path);
    }
    if (err.code < 0)
        r->failed = true;
    return NULL;
}

/* Threads that cannot be had are done without. */
int tfs_folder_read_files(struct tfs_save *save, const struct tfs_facts *facts,
                          const struct tfs_folder_files *files, const struct tfs_key *wanted,
                          struct tfs_folder_file **read, struct tfs_error *err)
{
    struct reading r = {
        .save = save, .facts = facts, .files = files, .wanted = wanted, .read = read};
    const long processors = wanted == NULL ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    pthread_t threads[THREADS_MAX];
    int count = 0;

    while (count < THREADS_MAX - 1 && count + 1 < processors &&
           pthread_create(&threads[count], NULL, read_next, &r) == 0)
        count++;
    read_next(&r);
    while (count > 0)
        pthread_join(threads[--count], NULL);
    return r.failed ? tfs_fail_memory(err) : 0;
}

/* ---- the folder ------------------------------------------------------------------------------ */

struct scan {
    struct tfs_save *save;
    const struct tfs_folder_index *before; /* NULL: nothing is known */
    struct tfs_folder_index *index;
};

static bool is_shown(const struct tfs_save *save, const char *path)
{
    return save->only == NULL || strcmp(save->only, path) == 0;
}

/* Who has seen all there was sees what comes, too; and what was decoded is decoded again. */
static bool must_decode(const struct scan *scan, const struct tfs_folder_file *known)
{
    if (known != NULL || scan->before == NULL)
        return known != NULL && !known->unread;
    for (size_t i = 0; i < scan->before->files.count; i++)
        if (scan->before->files.files[i]->unread)
            return false;
    return true;
}

static int scan_file(const struct scan *scan, struct tfs_key key, char *path, struct tfs_error *err)
{
    struct tfs_folder_file *known =
        scan->before == NULL ? NULL : tfs_folder_find(&scan->before->files, key);
    struct tfs_folder_file *file = NULL;

    if (known != NULL && !tfs_folder_is_other(path, &known->st))
        file = tfs_folder_file_ref(known);
    else
        read_file(scan->save, scan->index->facts, key, path, known, must_decode(scan, known), &file,
                  err);
    if (err->code < 0 || file == NULL)
        return err->code;
    if (file != known)
        file->reading = tfs_folder_of(scan->save)->reading + 1;
    if (tfs_folder_add(&scan->index->files, file, err) < 0)
        tfs_folder_file_unref(file);
    return err->code;
}

/* What a killed process left of a file. */
static int remove_strays(const struct scan *scan, const char *directory, const char *name,
                         struct tfs_error *err)
{
    const char *mark = strstr(name, STRAY);
    char *path = NULL;

    if (!tfs_save_is_locked(scan->save) || name[0] != '.' || mark == NULL)
        return 0;
    if (tfs_print(&path, "%s/%.*s", directory, (int)(mark - name) - 1, name + 1) < 0)
        return tfs_fail_memory(err);
    tfs_file_remove_strays(path);
    free(path);
    return 0;
}

/* Is it the path of a file of the save, from the folder on? */
static bool is_file(const struct tfs_save *save, const char *path, struct tfs_key *key)
{
    return is_shown(save, path) &&
           tfs_folder_kind_of(save)->key(path + strlen(save->path) + 1, key);
}

/* Gives the names in a directory, to which no link leads, until one gives something else than 0;
 * none where there is no directory. Takes no memory. */
typedef int (*each_fn)(void *arg, const char *name);
static int each_name(const char *path, each_fn each, void *arg)
{
    _Alignas(struct dirent64) uint8_t entries[32768];
    int fd = tfs_directory_open(path), result = 0;
    ssize_t size = 0;

    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
    while (result == 0 && (size = getdents64(fd, entries, sizeof(entries))) > 0)
        for (ssize_t at = 0; at < size && result == 0;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            result = each(arg, entry->d_name);
            at += entry->d_reclen;
        }
    close(fd);
    return size < 0 ? -EIO : result;
}

struct scanning {
    const struct scan *scan;
    const char *directory;
    struct tfs_error *err;
};

static int scan_name(void *arg, const char *name)
{
    const struct scanning *s = arg;
    struct tfs_key key;
    char *path = NULL;

    if (remove_strays(s->scan, s->directory, name, s->err) < 0)
        return s->err->code;
    if (tfs_print(&path, "%s/%s", s->directory, name) < 0)
        return tfs_fail_memory(s->err);
    if (is_file(s->scan->save, path, &key))
        scan_file(s->scan, key, path, s->err);
    free(path);
    return s->err->code;
}

static int scan_directory(const struct scan *scan, const struct tfs_folder_watch *watch,
                          struct tfs_error *err)
{
    const char *below = watch->path + strlen(scan->save->path);
    struct scanning scanning = {scan, watch->path, err};
    const int result = each_name(watch->path, scan_name, &scanning);

    if (result == -ELOOP)
        return tfs_fail(err, result, "its folder %s is a link, and links lead out of the save",
                        below + 1);
    return result == 0 ? 0
                       : tfs_fail(err, result, "its folder %s cannot be read: %s",
                                  *below == '/' ? below + 1 : ".", strerror(-result));
}

/* The directories are looked at before they are read: what comes while we read is a change then. */
static int add_watch(const struct scan *scan, const char *below, struct tfs_error *err)
{
    struct tfs_folder_index *index = scan->index;
    struct tfs_folder_watch *watches =
        tfs_array_grow(index->watches, index->watch_count, sizeof(*watches));

    if (watches == NULL)
        return tfs_fail_memory(err);
    index->watches = watches;
    struct tfs_folder_watch *watch = &watches[index->watch_count];
    *watch = (struct tfs_folder_watch){0};
    if (tfs_print(&watch->path, "%s%s%s", scan->save->path, *below == '\0' ? "" : "/", below) < 0)
        return tfs_fail_memory(err);
    index->watch_count++;
    if (lstat(watch->path, &watch->st) < 0)
        watch->st = (struct stat){0};
    return 0;
}

/* ---- what is common -------------------------------------------------------------------------- */

static int read_common(const struct scan *scan, struct tfs_error *err)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(scan->save);
    struct tfs_folder_index *index = scan->index;
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_error why = {0};

    if (kind->common == NULL)
        return 0;
    if (tfs_print(&index->common_path, "%s/%s", scan->save->path, kind->common) < 0) {
        index->common_path = NULL;
        return tfs_fail_memory(err);
    }
    if (kind->needed && tfs_save_is_locked(scan->save))
        tfs_file_remove_strays(index->common_path);
    if (lstat(index->common_path, &index->common_st) < 0)
        index->common_st = (struct stat){0};
    if (tfs_file_open(index->common_path, false, &file, &why) == 0 &&
        tfs_file_read(&file, COMMON_MAX, &index->common, &why) == 0)
        index->common_st = file.st;
    tfs_file_close(&file);
    if (why.code == -ENOMEM)
        return tfs_fail_memory(err);
    return why.code < 0 && kind->needed
               ? tfs_fail(err, why.code, "its %s %s", kind->common, why.text)
               : 0;
}

static int note_file(const struct tfs_folder_kind *kind, struct tfs_facts *facts,
                     const struct tfs_folder_file *file, struct tfs_error *err)
{
    char path[TFS_FOLDER_PATH];

    kind->path(file->key, path);
    const char *slash = strchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    if (file->left_out) {
        tfs_facts_note(facts, err, TFS_NOTE_DAMAGED, "%s: is left out: %s", name, file->refusal);
        tfs_facts_set_hiding(facts);
        return err->code;
    }
    for (size_t i = 0; i < file->note_count; i++) {
        const struct tfs_note *note = &file->notes[i];
        enum tfs_note_kind told = note->kind == TFS_NOTE_READ_ONLY ? TFS_NOTE_DAMAGED : note->kind;
        if (tfs_facts_note(facts, err, told, "%s: %s", name, note->text) < 0)
            return err->code;
        if (note->hiding)
            tfs_facts_set_hiding(facts);
    }
    if (file->refusal != NULL && file->note_count == 0)
        return tfs_facts_note(facts, err, TFS_NOTE_WARNING, "%s: cannot be written: %s", name,
                              file->refusal);
    return 0;
}

static void known_release(struct tfs_facts *facts)
{
    struct tfs_folder_known *known = facts->folder;

    if (known != NULL)
        tfs_folder_files_release(&known->files);
    free(known);
}

int tfs_folder_facts_complete(const struct tfs_save *save, const struct tfs_folder_files *files,
                              struct tfs_facts *facts, struct tfs_error *err)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(save);
    struct tfs_folder_known *known = calloc(1, sizeof(*known));

    if (known == NULL)
        return tfs_fail_memory(err);
    known->kind = kind;
    known->narrow =
        save->only != NULL && kind->key(save->only + strlen(save->path) + 1, &known->only);
    facts->folder = known;
    facts->release = known_release;
    if (tfs_folder_files_copy(files, &known->files, err) < 0)
        return err->code;
    for (size_t i = 0; i < files->count && err->code == 0; i++) {
        known->unread += files->files[i]->unread;
        note_file(kind, facts, files->files[i], err);
    }
    if (err->code == 0 && kind->complete != NULL)
        kind->complete(facts);
    return err->code;
}

int tfs_folder_index_read(struct tfs_save *save, const struct tfs_folder_index *before,
                          struct tfs_folder_index *index, struct tfs_error *err)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(save);
    struct tfs_folder_index read = {0};
    struct scan scan = {save, before, &read};
    char path[TFS_FOLDER_PATH];

    if (read_common(&scan, err) == 0) {
        if (kind->needed && before != NULL && !tfs_blob_equal(before->common, read.common))
            scan.before = NULL;
        kind->facts(save, read.common, &read.facts, err);
    }
    for (unsigned i = 0; err->code == 0 && kind->directory(read.facts, i, path); i++)
        add_watch(&scan, path, err);
    for (size_t i = 0; i < read.watch_count && err->code == 0; i++)
        scan_directory(&scan, &read.watches[i], err);
    if (err->code == 0)
        tfs_folder_facts_complete(save, &read.files, read.facts, err);
    if (err->code < 0)
        tfs_folder_index_release(&read);
    else
        *index = read;
    return err->code;
}

void tfs_folder_index_release(struct tfs_folder_index *index)
{
    for (size_t i = 0; i < index->watch_count; i++)
        free(index->watches[i].path);
    free(index->watches);
    free(index->common_path);
    tfs_folder_files_release(&index->files);
    tfs_facts_unref(index->facts);
    tfs_blob_unref(index->common);
    *index = (struct tfs_folder_index){0};
}

/* ---- changes --------------------------------------------------------------------------------- */

struct looking {
    const struct tfs_save *save;
    const struct tfs_folder_index *index;
    const char *directory;
};

/* 1: a file of that name is not known. */
static int is_unknown(void *arg, const char *name)
{
    const struct looking *l = arg;
    char path[PATH_MAX];
    struct tfs_key key;

    return snprintf(path, sizeof(path), "%s/%s", l->directory, name) < (int)sizeof(path) &&
           is_file(l->save, path, &key) && tfs_folder_find(&l->index->files, key) == NULL;
}

/* That files came and went which are none of the save's, or which this process made, is no change:
 * the directory is known from then on as it was looked at before it was listed. */
static bool is_other_directory(const struct tfs_save *save, const struct tfs_folder_index *index,
                               struct tfs_folder_watch *watch)
{
    struct stat now;

    if (lstat(watch->path, &now) < 0)
        now = (struct stat){0};
    if (tfs_file_same(&now, &watch->st))
        return false;
    struct looking looking = {save, index, watch->path};
    const int found = now.st_ino == 0 ? 1 : each_name(watch->path, is_unknown, &looking);
    if (found == 0)
        watch->st = now;
    return found > 0;
}

static bool file_changed(const struct tfs_save *save, const struct tfs_folder_index *index,
                         struct tfs_key file)
{
    const struct tfs_folder_file *known = tfs_folder_find(&index->files, file);
    struct stat before = {0}, now;
    char below[TFS_FOLDER_PATH];

    tfs_folder_kind_of(save)->path(file, below);
    if (fstatat(tfs_folder_of(save)->lock_fd, below, &now, AT_SYMLINK_NOFOLLOW) < 0)
        now = (struct stat){0};
    if (known != NULL)
        before = known->st;
    return !tfs_file_same(&before, &now);
}

bool tfs_folder_index_changed(struct tfs_save *save, struct tfs_folder_index *index,
                              const struct tfs_key *file)
{
    bool changed =
        index->common_path != NULL && tfs_folder_is_other(index->common_path, &index->common_st);

    if (file != NULL)
        return changed || file_changed(save, index, *file);
    for (size_t i = 0; i < index->watch_count && !changed; i++)
        changed = is_other_directory(save, index, &index->watches[i]);
    for (size_t i = 0; i < index->files.count && !changed; i++)
        changed = file_changed(save, index, index->files.files[i]->key);
    return changed;
}
