/* The fake format: see session_format.h. */
#include "session_format.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/journal.h"
#include "base/print.h"

struct fake_disk fake_disk;

static void happens(enum fake_moment moment)
{
    void (*call)(void) = fake_disk.during[moment];
    if (call == NULL)
        return;
    fake_disk.during[moment] = NULL;
    call();
}

static struct tfs_span text_of(const struct tfs_chunk *chunk)
{
    struct tfs_span blob = tfs_blob_span(chunk->blob);
    const uint8_t *bar = blob.size ? memchr(blob.data, '|', blob.size) : NULL;
    return (struct tfs_span){blob.data, bar != NULL ? (size_t)(bar - blob.data) : blob.size};
}

/* The part behind the text: empty, or the bar and the note. */
static struct tfs_span note_of(const struct tfs_chunk *chunk)
{
    struct tfs_span blob = tfs_blob_span(chunk->blob);
    size_t n = text_of(chunk).size;
    return (struct tfs_span){blob.data + n, blob.size - n};
}

static int put_blob(struct tfs_edit *edit, struct tfs_key key, struct tfs_buf *bytes,
                    struct tfs_error *err)
{
    const struct tfs_chunk *old = tfs_doc_find(tfs_edit_doc(edit), key);
    struct tfs_chunk chunk = {.key = key, .slot = old != NULL ? old->slot : TFS_SLOT_NONE};
    if (tfs_buf_check(bytes, err) == 0)
        tfs_edit_put_bytes(edit, chunk, tfs_buf_span(bytes), err);
    tfs_buf_release(bytes);
    return err->code;
}

static int raw_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    (void)save;
    tfs_buf_add_span(out, tfs_blob_span(tfs_doc_find(doc, at.key)->blob));
    return tfs_buf_check(out, err);
}

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    (void)save;
    (void)put;
    if (text.size == 0 || text.data[0] == '!')
        return tfs_fail(err, -EBADMSG, "not a fake");
    tfs_buf_add_span(&bytes, text);
    return put_blob(edit, at.key, &bytes, err);
}

static int text_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    (void)save;
    happens(FAKE_GET);
    const int fail = atomic_exchange(&fake_disk.get, 0);
    if (fail != 0)
        return tfs_fail(err, fail, "the fake cannot be read");
    tfs_buf_add_span(out, text_of(tfs_doc_find(doc, at.key)));
    return tfs_buf_check(out, err);
}

static int text_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    (void)save;
    (void)put;
    happens(FAKE_PUT);
    for (size_t i = 0; i < text.size; i++) {
        if (!isalpha(text.data[i])) {
            tfs_buf_release(&bytes);
            return tfs_fail_at(err, -EBADMSG, 1, (uint32_t)i + 1, "only letters are allowed");
        }
        tfs_buf_u8(&bytes, (uint8_t)tolower(text.data[i]));
    }
    if (text.size == 0)
        return tfs_fail(err, -EBADMSG, "a text has letters");
    tfs_buf_add_span(&bytes, note_of(tfs_doc_find(tfs_edit_doc(edit), at.key)));
    return put_blob(edit, at.key, &bytes, err);
}

static int note_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    return note_of(tfs_doc_find(doc, at.key)).size > 0;
}

static int note_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_span note = note_of(tfs_doc_find(doc, at.key));
    (void)save;
    tfs_buf_add(out, note.data + 1, note.size - 1);
    return tfs_buf_check(out, err);
}

static int note_set(struct tfs_edit *edit, struct tfs_key key, const struct tfs_span *note,
                    struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    tfs_buf_add_span(&bytes, text_of(tfs_doc_find(tfs_edit_doc(edit), key)));
    if (note != NULL) {
        tfs_buf_u8(&bytes, '|');
        tfs_buf_add_span(&bytes, *note);
    }
    return put_blob(edit, key, &bytes, err);
}

static int note_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    (void)save;
    (void)put;
    fake_disk.puts++;
    return note_set(edit, at.key, &text, err);
}

static int note_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_error *err)
{
    struct tfs_span note = note_of(tfs_doc_find(tfs_edit_doc(edit), at.key));
    (void)save;
    if (note.size > 1 && note.data[1] == '?')
        return tfs_fail(err, -EBADMSG, "this note stays");
    return note_set(edit, at.key, NULL, err);
}

static int all_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    (void)save;
    (void)at;
    for (size_t i = 0; i < doc->count; i++) {
        tfs_buf_add_span(out, text_of(tfs_doc_at(doc, i)));
        tfs_buf_u8(out, '\n');
    }
    return tfs_buf_check(out, err);
}

static int chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                        struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    (void)save;
    if (key.x > 99)
        return tfs_fail(err, -EINVAL, "fakes end at 99");
    tfs_buf_add_text(&bytes, "empty");
    return put_blob(edit, key, &bytes, err);
}

static int fits(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                const struct tfs_chunk *chunk, struct tfs_error *err)
{
    (void)ours;
    (void)theirs;
    (void)chunk;
    return fake_disk.misfit ? tfs_fail(err, -EINVAL, "it does not fit") : 0;
}

static const struct tfs_lens raw_lens = {.get = raw_get, .put = raw_put};
static const struct tfs_lens text_lens = {.get = text_get, .put = text_put};
static const struct tfs_lens note_lens = {
    .get = note_get, .put = note_put, .exists = note_exists, .remove = note_remove};
static const struct tfs_lens all_lens = {.get = all_get};

static const struct tfs_file chunk_files[] = {
    {.path = "raw.bin", .flags = TFS_FILE_RAW, .lens = &raw_lens},
    {.path = "text.txt", .lens = &text_lens},
    {.path = "part/note.txt", .flags = TFS_FILE_OPTIONAL, .lens = &note_lens},
};
static const struct tfs_file root_files[] = {{.path = "all.txt", .lens = &all_lens}};
static uint32_t groups(const struct tfs_doc *doc)
{
    (void)doc;
    return FAKE_LAYERS;
}

static const struct tfs_tree tree = {
    .group_dir = "layers",
    .groups = groups,
    .root = {root_files, 1},
    .chunk = {chunk_files, 3},
    .chunk_create = chunk_create,
    .fits = fits,
};

static pthread_mutex_t saved_lock = PTHREAD_MUTEX_INITIALIZER; /* save->doc, while it is written */

static int fake_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    happens(FAKE_COMMIT);
    int fail = fake_disk.fail;
    if (fail != 0)
        return tfs_fail(err, fail, "the fake disk refuses");
    fake_disk.commits++;
    pthread_mutex_lock(&saved_lock);
    struct tfs_doc *old = save->doc;
    save->doc = tfs_doc_ref(doc);
    pthread_mutex_unlock(&saved_lock);
    tfs_doc_unref(old);
    return 0;
}

struct tfs_doc *fake_saved(struct tfs_save *save)
{
    pthread_mutex_lock(&saved_lock);
    struct tfs_doc *doc = tfs_doc_ref(save->doc);
    pthread_mutex_unlock(&saved_lock);
    return doc;
}

static int fake_changed(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err)
{
    (void)chunk;
    (void)save;
    (void)err;
    fake_disk.looks++;
    return fake_disk.changed;
}

static int fake_reload(struct tfs_save *save, struct tfs_error *err)
{
    if (fake_disk.theirs == NULL)
        return tfs_fail(err, -EBADMSG, "the fake is broken");
    int result = tfs_doc_keep_slots(fake_disk.theirs, save->doc, err);
    if (result < 0)
        return result;
    tfs_doc_unref(save->doc);
    save->doc = fake_disk.theirs;
    fake_disk.theirs = NULL;
    fake_disk.changed = 0;
    return 0;
}

/* ---- the journal: each store has its own, in memory where that can be ------------------------ */

static _Atomic int fakes, made;

/* The folder of a store, or the one around that; the caller frees it. */
static char *folder_of(int number, const char *below)
{
    const char *directory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    char *path = NULL;

    if (tfs_print(&path, "%s/fake-%d-%d%s", directory, (int)getpid(), number, below) < 0)
        abort();
    return path;
}

static char *make_folder(void)
{
    char *around = folder_of(made, ""), *path = folder_of(made, "/fake.save");

    made++;
    (void)mkdir(around, 0700);
    (void)mkdir(path, 0700);
    free(around);
    return path;
}

static void remove_folder(int number)
{
    char *around = folder_of(number, ""), *path = folder_of(number, "/fake.save"),
         *journal = folder_of(number, "/fake.save/fake");
    struct tfs_error ignored = {0};

    (void)tfs_journal_remove(journal, &ignored);
    (void)rmdir(path);
    (void)rmdir(around);
    free(journal);
    free(path);
    free(around);
}

static struct tfs_key fake_file_of(const struct tfs_save *save, struct tfs_key chunk)
{
    (void)save;
    (void)chunk;
    return (struct tfs_key){0};
}

static char *fake_file_path(const struct tfs_save *save, struct tfs_key file)
{
    (void)file;
    return strdup(save->path);
}

static int fake_file_hash(struct tfs_save *save, struct tfs_key file, struct tfs_hash *hash,
                          struct stat *st, struct tfs_error *err)
{
    (void)file;
    (void)err;
    *st = save->st;
    *hash = (struct tfs_hash){1, 2, 3};
    return 0;
}

static const struct tfs_journal_files journal_files = {
    .name = "fake", .file_of = fake_file_of, .path = fake_file_path, .hash = fake_file_hash};

static void fake_close(struct tfs_save *save)
{
    (void)save;
    if (--fakes > 0)
        return;
    for (int i = 0; i < made; i++)
        remove_folder(i);
    made = 0;
}

static const struct tfs_container container = {
    .format = "fake",
    .name = "fake",
    .tree = &tree,
    .journal = &journal_files,
    .commit = fake_commit,
    .changed = fake_changed,
    .reload = fake_reload,
    .close = fake_close,
};

static struct tfs_key key_of(int x)
{
    return x == -2 ? (struct tfs_key){0, -2, 3, 4} : (struct tfs_key){0, x, 0, 0};
}

int fake_edit_set(struct tfs_edit *edit, int x, const char *blob, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    tfs_buf_add_text(&bytes, blob);
    return put_blob(edit, key_of(x), &bytes, err);
}

struct tfs_doc *fake_doc_with(struct tfs_doc *doc, int x, const char *blob)
{
    struct tfs_error err = {0};
    struct tfs_edit edit;
    if (tfs_edit_open(doc, &edit, &err) < 0 || fake_edit_set(&edit, x, blob, &err) < 0)
        abort();
    struct tfs_doc *next = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return next;
}

struct tfs_save *fake_save_create(void)
{
    struct tfs_error err = {0};
    struct tfs_facts *facts = NULL;
    struct tfs_save *save = calloc(1, sizeof(*save));
    if (save == NULL || tfs_facts_create(0, &facts, &err) < 0 ||
        tfs_doc_create(facts, &save->doc, &err) < 0)
        abort();
    tfs_facts_unref(facts);
    static const struct {
        int x;
        const char *blob;
    } chunks[] = {{0, "zero"}, {1, "one|note"}, {-2, "two"}};
    for (size_t i = 0; i < 3; i++) {
        struct tfs_doc *next = fake_doc_with(save->doc, chunks[i].x, chunks[i].blob);
        tfs_doc_unref(save->doc);
        save->doc = next;
    }
    save->container = &container;
    save->tree = &tree;
    save->path = make_folder();
    save->name = "fake.save";
    save->st.st_mode = S_IFREG | 0644;
    save->st.st_uid = geteuid();
    save->st.st_gid = getegid();
    fakes++;
    fake_disk = (struct fake_disk){0};
    return save;
}

const char *fake_blob(const struct tfs_doc *doc, int x)
{
    static char text[256];
    const struct tfs_chunk *chunk = tfs_doc_find(doc, key_of(x));
    struct tfs_span blob = chunk != NULL ? tfs_blob_span(chunk->blob) : (struct tfs_span){0};
    if (blob.size >= sizeof(text))
        abort();
    if (blob.size > 0)
        memcpy(text, blob.data, blob.size);
    text[blob.size] = '\0';
    return text;
}
