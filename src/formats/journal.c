/*
 * Edits of a document <-> records. Must not know files: base/journal.h does.
 */
#include "formats/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/file.h"
#include "base/print.h"
#include "formats/containers/database/rows.h"

enum chunk_flags {
    CHUNK_REMOVED = 1,
    CHUNK_BLOB = 2,
    CHUNK_EXTRA = 4,
    CHUNK_OWN = 8,
    CHUNK_SUM = 16, /* behind all else: the sum of what is replaced */
};

#define FILE_SIZE   (TFS_JOURNAL_FILE_SIZE - 1) /* bytes of a file in an EDIT: key and hash */
#define CHUNK_HEAD  17                          /* bytes of key and flags, at least */
#define RESERVED    7                           /* bytes at the end of a record, 0 */
#define CHUNK_FLAGS (CHUNK_REMOVED | CHUNK_BLOB | CHUNK_EXTRA | CHUNK_OWN | CHUNK_SUM)

char *tfs_journal_beside(const struct tfs_save *save)
{
    const struct tfs_journal_files *files = save->container->journal;

    return files->name != NULL ? tfs_path_join(save->path, files->name) : strdup(save->path);
}

int tfs_journal_earlier(const struct tfs_save *save, char **beside, struct tfs_error *err)
{
    const struct tfs_journal_files *files = save->container->journal;

    *beside = NULL;
    if (files->earlier == NULL)
        return 0;
    *beside = tfs_path_join(save->path, files->earlier);
    return *beside == NULL ? tfs_fail_memory(err) : 0;
}

void tfs_journal_tidy(const struct tfs_save *save)
{
    const bool locked = save->options.lock == TFS_LOCK_EXCLUSIVE;
    char *beside = locked ? tfs_journal_beside(save) : NULL;

    if (beside != NULL)
        tfs_journal_remove_strays(beside);
    free(beside);
}

bool tfs_journal_shows(const struct tfs_save *save, struct tfs_key file)
{
    char *path = save->only == NULL ? NULL : save->container->journal->path(save, file);
    const bool shows = save->only == NULL || (path != NULL && strcmp(path, save->only) == 0);

    free(path);
    return shows;
}

/* A save that is one file is file 0. */
struct tfs_key tfs_journal_file_of(const struct tfs_save *save, struct tfs_key chunk)
{
    return tfs_container_has_files(save->container) ? save->container->journal->file_of(save, chunk)
                                                    : (struct tfs_key){0};
}

/* ---- what an edit replaces ------------------------------------------------------------------- */

static uint64_t sum_of(const struct tfs_blob *blob, uint64_t seed)
{
    return blob == NULL ? seed : tfs_checksum(tfs_blob_span(blob), seed);
}

static uint64_t not_reserved(uint64_t sum)
{
    return sum > TFS_SUM_NONE ? sum : TFS_SUM_NONE + 1;
}

uint64_t tfs_record_sum(const struct tfs_blob *blob, const struct tfs_blob *extra, uint32_t tag)
{
    return not_reserved(sum_of(extra, sum_of(blob, tag) + (extra != NULL)));
}

uint64_t tfs_record_sum_common(const struct tfs_doc *doc)
{
    return doc->common == NULL ? TFS_SUM_NONE : tfs_record_sum(doc->common, NULL, 0);
}

uint64_t tfs_record_sum_chunk(struct tfs_save *save, const struct tfs_chunk *chunk)
{
    struct tfs_error ignored = {0};
    struct tfs_chunk whole;

    if (chunk == NULL)
        return TFS_SUM_NONE;
    whole = *chunk;
    if ((chunk->flags & TFS_CHUNK_UNREAD_ALL) == 0)
        return tfs_record_sum(chunk->blob, chunk->extra, chunk->tag);
    uint64_t sum = TFS_SUM_UNKNOWN;
    if (tfs_container_is_database(save->container) && tfs_rows_sum(save, chunk, &sum))
        return not_reserved(sum);
    if (tfs_chunks_fetch(save, &whole, 1, &ignored) == 1)
        sum = tfs_record_sum(whole.blob, whole.extra, whole.tag);
    if (whole.blob != chunk->blob)
        tfs_blob_unref(whole.blob);
    if (whole.extra != chunk->extra)
        tfs_blob_unref(whole.extra);
    return sum;
}

/* ---- making ---------------------------------------------------------------------------------- */

struct maker {
    struct tfs_save *save;
    bool files_named;             /* the record begins with the files that it changes */
    bool overtaken;               /* what `before` does not hold can be read no more */
    const struct tfs_doc *before; /* what was compared first, by put_other */
    struct tfs_buf *out;
    uint32_t count;
    struct tfs_key *files; /* that hold the chunks, ascending, each once; of several files only */
    size_t file_count;
    struct tfs_error *err;
};

static void put_blob(struct tfs_buf *out, const struct tfs_blob *blob)
{
    tfs_buf_u64le(out, blob->size);
    tfs_buf_add_span(out, tfs_blob_span(blob));
}

static void put_key(struct tfs_buf *out, struct tfs_key key)
{
    tfs_buf_u32le(out, key.group);
    tfs_buf_u32le(out, (uint32_t)key.x);
    tfs_buf_u32le(out, (uint32_t)key.y);
    tfs_buf_u32le(out, (uint32_t)key.z);
}

static uint64_t sum_before(const struct maker *m, const struct tfs_chunk *before)
{
    const bool unread = before != NULL && (before->flags & TFS_CHUNK_UNREAD_ALL) != 0;

    return unread && m->overtaken ? TFS_SUM_UNKNOWN : tfs_record_sum_chunk(m->save, before);
}

/* The format's own number is written only where the edit changed it: a rewrite may give the other
 * chunks other numbers. */
static int put_stored(struct maker *m, const struct tfs_chunk *before,
                      const struct tfs_chunk *chunk)
{
    const bool renumbered =
        before == NULL || before->own != chunk->own || tfs_container_has_files(m->save->container);
    struct tfs_blob *blob = NULL;

    if (tfs_chunk_load(m->save, chunk, &blob, m->err) < 0)
        return m->err->code;
    put_key(m->out, chunk->key);
    tfs_buf_u8(m->out, (uint8_t)(CHUNK_SUM | CHUNK_BLOB | (chunk->extra != NULL ? CHUNK_EXTRA : 0) |
                                 (renumbered ? CHUNK_OWN : 0)));
    tfs_buf_u32le(m->out, chunk->tag);
    tfs_buf_u32le(m->out, chunk->flags & ~(uint32_t)TFS_CHUNK_UNREAD_ALL);
    if (renumbered)
        tfs_buf_u64le(m->out, chunk->own);
    put_blob(m->out, blob);
    if (chunk->extra != NULL)
        put_blob(m->out, chunk->extra);
    tfs_buf_u64le(m->out, sum_before(m, before));
    tfs_blob_unref(blob);
    return 0;
}

static int note_file(struct maker *m, struct tfs_key chunk)
{
    const struct tfs_key key = tfs_journal_file_of(m->save, chunk);
    struct tfs_key *files = tfs_array_grow(m->files, m->file_count, sizeof(*files));
    size_t at = m->file_count;

    if (files == NULL)
        return tfs_fail_memory(m->err);
    m->files = files;
    while (at > 0 && tfs_key_compare(files[at - 1], key) > 0)
        at--;
    if (at > 0 && tfs_key_compare(files[at - 1], key) == 0)
        return 0;
    memmove(files + at + 1, files + at, (m->file_count - at) * sizeof(*files));
    files[at] = key;
    m->file_count++;
    return 0;
}

static int put_change(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct maker *m = arg;

    m->count++;
    if (m->files_named && note_file(m, after != NULL ? after->key : before->key) < 0)
        return m->err->code;
    if (after != NULL)
        return put_stored(m, before, after);
    put_key(m->out, before->key);
    tfs_buf_u8(m->out, CHUNK_REMOVED | CHUNK_SUM);
    tfs_buf_u64le(m->out, sum_before(m, before));
    return 0;
}

/* What the first comparison found is in the record. */
static int put_other(void *arg, const struct tfs_chunk *other, const struct tfs_chunk *after)
{
    struct maker *m = arg;
    const struct tfs_key key = after != NULL ? after->key : other->key;

    if (!tfs_chunk_same(tfs_doc_find(m->before, key), after))
        return 0;
    return put_change(m, other, after);
}

static void put_common(struct tfs_buf *out, const struct tfs_doc *before,
                       const struct tfs_doc *other, const struct tfs_doc *after)
{
    static const uint8_t reserved[RESERVED];
    bool changed = !tfs_blob_equal(after->common, before->common) ||
                   !tfs_blob_equal(after->common, other->common);

    tfs_buf_u8(out, !changed ? 0 : after->common == NULL ? 1 : 2);
    if (changed && after->common != NULL)
        put_blob(out, after->common);
    tfs_buf_u64le(out, tfs_record_sum_common(before));
    tfs_buf_add(out, reserved, sizeof(reserved));
}

/* The files that change, with the hashes of what they hold now. */
static int put_files(const struct maker *m, struct tfs_buf *out)
{
    if (!m->files_named)
        return 0;
    tfs_buf_u32le(out, (uint32_t)m->file_count);
    for (size_t i = 0; i < m->file_count; i++) {
        struct tfs_hash hash = {0};
        struct stat st;
        if (m->save->container->journal->hash(m->save, m->files[i], &hash, &st, m->err) < 0)
            return m->err->code;
        put_key(out, m->files[i]);
        tfs_hash_put(out, hash);
    }
    return 0;
}

/* Files that hold no chunks are not named by records. */
static int check_common(const struct tfs_save *save, const struct tfs_doc *before,
                        const struct tfs_doc *after, struct tfs_error *err)
{
    if (!tfs_container_has_files(save->container) || tfs_blob_equal(before->common, after->common))
        return 0;
    return tfs_fail(err, -ENOTSUP, "the journal takes chunks only");
}

static int make(struct maker *m, const struct tfs_doc *other, const struct tfs_doc *after,
                struct timespec when, struct tfs_buf *out)
{
    struct tfs_buf chunks = {0};

    m->out = &chunks;
    if (tfs_doc_diff(m->before, after, put_change, m) == 0 &&
        (other == m->before || tfs_doc_diff(other, after, put_other, m) == 0) &&
        put_files(m, out) == 0) {
        tfs_buf_u64le(out, (uint64_t)when.tv_sec);
        tfs_buf_u32le(out, (uint32_t)when.tv_nsec);
        tfs_buf_u32le(out, m->count);
        tfs_buf_add_span(out, tfs_buf_span(&chunks));
        put_common(out, m->before, other, after);
        if (chunks.failed)
            tfs_fail_memory(m->err);
        tfs_buf_check(out, m->err);
    }
    tfs_buf_release(&chunks);
    free(m->files);
    return m->err->code;
}

int tfs_record_make(struct tfs_save *save, const struct tfs_doc *before,
                    const struct tfs_doc *other, const struct tfs_doc *after, struct timespec when,
                    struct tfs_buf *out, struct tfs_error *err)
{
    struct maker m = {.save = save,
                      .files_named = tfs_container_has_files(save->container),
                      .before = before,
                      .err = err};

    if (other == NULL)
        other = before;
    if (check_common(save, before, after, err) < 0 || check_common(save, other, after, err) < 0)
        return err->code;
    return make(&m, other, after, when, out);
}

int tfs_record_make_foreign(struct tfs_save *save, const struct tfs_doc *before,
                            const struct tfs_doc *after, bool overtaken, struct timespec when,
                            struct tfs_buf *out, struct tfs_error *err)
{
    struct maker m = {.save = save, .overtaken = overtaken, .before = before, .err = err};

    return make(&m, before, after, when, out);
}

static int add_size(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    uint64_t *size = arg;

    (void)before;
    *size += CHUNK_HEAD;
    if (after != NULL && after->blob != NULL)
        *size += after->blob->size;
    if (after != NULL && after->extra != NULL)
        *size += after->extra->size;
    return 0;
}

uint64_t tfs_record_size(const struct tfs_doc *before, const struct tfs_doc *after)
{
    uint64_t size = 0;

    (void)tfs_doc_diff(before, after, add_size, &size);
    if (after->common != NULL && after->common != before->common)
        size += after->common->size;
    return size;
}

/* ---- applying -------------------------------------------------------------------------------- */

static int fail_record(struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "a record of the journal is not one that terrainfs writes");
}

static struct tfs_key take_key(struct tfs_cursor *c)
{
    struct tfs_key key = {.group = tfs_take_u32le(c)};

    key.x = (int32_t)tfs_take_u32le(c);
    key.y = (int32_t)tfs_take_u32le(c);
    key.z = (int32_t)tfs_take_u32le(c);
    return key;
}

static int take_blob(struct tfs_cursor *c, struct tfs_blob *bytes, struct tfs_blob **blob,
                     struct tfs_error *err)
{
    struct tfs_span span = tfs_take(c, tfs_take_u64le(c));

    return c->failed ? fail_record(err) : tfs_blob_slice(bytes, span, blob, err);
}

/* Reads one chunk of a record. */
static int take_chunk(struct tfs_cursor *c, struct tfs_blob *bytes, struct tfs_record_entry *entry,
                      struct tfs_error *err)
{
    struct tfs_chunk *chunk = &entry->chunk;
    const uint8_t *begin = c->at;

    *entry = (struct tfs_record_entry){.chunk = {.key = take_key(c), .slot = TFS_SLOT_NONE}};
    const unsigned flags = tfs_take_u8(c);
    entry->removed = (flags & CHUNK_REMOVED) != 0;
    entry->placed = (flags & CHUNK_OWN) != 0;
    if (c->failed || (flags & ~(unsigned)CHUNK_FLAGS) != 0 ||
        (entry->removed ? (flags & ~(unsigned)CHUNK_SUM) != CHUNK_REMOVED
                        : (flags & CHUNK_BLOB) == 0))
        return fail_record(err);
    if (!entry->removed) {
        chunk->tag = tfs_take_u32le(c);
        chunk->flags = tfs_take_u32le(c);
        chunk->own = entry->placed ? tfs_take_u64le(c) : 0;
        if ((chunk->flags & TFS_CHUNK_UNREAD_ALL) != 0)
            return fail_record(err);
        if (take_blob(c, bytes, &chunk->blob, err) < 0 ||
            ((flags & CHUNK_EXTRA) != 0 && take_blob(c, bytes, &chunk->extra, err) < 0))
            return err->code;
    }
    entry->replaces = (flags & CHUNK_SUM) != 0 ? tfs_take_u64le(c) : TFS_SUM_UNKNOWN;
    entry->bytes = (struct tfs_span){begin, (size_t)(c->at - begin)};
    return c->failed ? fail_record(err) : 0;
}

/* Reads what belongs to no chunk. */
static int take_common(struct tfs_cursor *c, struct tfs_blob *bytes, struct tfs_record_entry *entry,
                       struct tfs_error *err)
{
    const uint8_t *begin = c->at;
    const unsigned how = tfs_take_u8(c);

    *entry = (struct tfs_record_entry){.common = true, .removed = how == 1, .stays = how == 0};
    if (c->failed || how > 2)
        return fail_record(err);
    if (how == 2 && take_blob(c, bytes, &entry->chunk.blob, err) < 0)
        return err->code;
    entry->replaces = tfs_take_u64le(c);
    for (unsigned i = 0; i < RESERVED; i++)
        if (tfs_take_u8(c) != 0)
            return fail_record(err);
    entry->bytes = (struct tfs_span){begin, (size_t)(c->at - begin)};
    return c->failed || tfs_cursor_left(c) > 0 ? fail_record(err) : 0;
}

static void entry_release(struct tfs_record_entry *entry)
{
    tfs_blob_unref(entry->chunk.blob);
    tfs_blob_unref(entry->chunk.extra);
}

static int read_entries(struct tfs_blob *bytes, struct tfs_span record, tfs_record_entry_fn fn,
                        void *arg, struct timespec *when, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(record);
    struct tfs_record_entry entry = {0};
    struct timespec made = {.tv_sec = (time_t)tfs_take_u64le(&c)};

    made.tv_nsec = (long)tfs_take_u32le(&c);
    const uint32_t count = tfs_take_u32le(&c);
    for (uint32_t i = 0; i < count && !c.failed && err->code == 0; i++) {
        if (take_chunk(&c, bytes, &entry, err) == 0)
            fn(arg, &entry, err);
        entry_release(&entry);
        entry = (struct tfs_record_entry){0};
    }
    if (c.failed)
        return fail_record(err);
    if (err->code == 0 && take_common(&c, bytes, &entry, err) == 0)
        fn(arg, &entry, err);
    entry_release(&entry);
    if (err->code == 0)
        *when = made;
    return err->code;
}

int tfs_record_put(struct tfs_edit *edit, const struct tfs_record_entry *entry,
                   struct tfs_error *err)
{
    const struct tfs_chunk *old = tfs_doc_find(tfs_edit_doc(edit), entry->chunk.key);
    struct tfs_chunk chunk = entry->chunk;

    if (entry->common) {
        if (!entry->stays)
            tfs_edit_common(edit, chunk.blob);
        return 0;
    }
    if (entry->removed) /* records may be applied twice */
        return old == NULL ? 0 : tfs_edit_remove(edit, chunk.key, err);
    if (!entry->placed && old == NULL)
        return fail_record(err);
    chunk.own = entry->placed ? chunk.own : old->own;
    return tfs_edit_put(edit, &chunk, err);
}

/* ---- saves of several files ------------------------------------------------------------------ */

static struct tfs_record_file take_file(struct tfs_cursor *c)
{
    const struct tfs_key key = take_key(c);

    return (struct tfs_record_file){key, tfs_hash_take(c)};
}

int tfs_record_files(struct tfs_span *record, struct tfs_record_file **files, size_t *count,
                     struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(*record);
    const uint32_t named = tfs_take_u32le(&c);

    if (c.failed || named > tfs_cursor_left(&c) / FILE_SIZE)
        return fail_record(err);
    struct tfs_record_file *taken = reallocarray(NULL, (size_t)named + 1, sizeof(*taken));
    if (taken == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < named; i++)
        taken[i] = take_file(&c);
    *files = taken;
    *count = named;
    *record = (struct tfs_span){c.at, tfs_cursor_left(&c)};
    return 0;
}

/* Of saves of several files a record begins with these, but where it was set aside. */
int tfs_record_read(const struct tfs_journal_text *text, size_t record, tfs_record_entry_fn fn,
                    void *arg, struct timespec *when, struct tfs_error *err)
{
    const struct tfs_hash several = {0};
    struct tfs_span payload = text->records[record].payload;
    struct tfs_record_file *named = NULL;
    size_t count;

    if (text->records[record].kind != TFS_JOURNAL_EDIT ||
        (tfs_hash_equal(text->save, several) &&
         tfs_record_files(&payload, &named, &count, err) < 0))
        return err->code;
    free(named);
    return read_entries(text->bytes, payload, fn, arg, when, err);
}

void tfs_record_wrote_put(struct tfs_buf *payload, struct tfs_record_file file, bool whole)
{
    put_key(payload, file.key);
    tfs_hash_put(payload, file.hash);
    tfs_buf_u8(payload, whole);
}

int tfs_record_wrote(struct tfs_journal *journal, struct tfs_record_file file, bool whole,
                     struct tfs_error *err)
{
    struct tfs_buf payload = {0};

    tfs_record_wrote_put(&payload, file, whole);
    tfs_journal_tell(journal, TFS_JOURNAL_FILE, &payload, err);
    tfs_buf_release(&payload);
    return err->code;
}

int tfs_record_wrote_take(struct tfs_span payload, struct tfs_record_file *file, bool *whole)
{
    struct tfs_cursor c = tfs_cursor_init(payload);
    const struct tfs_record_file taken = take_file(&c);
    const unsigned flag = tfs_take_u8(&c);

    if (c.failed || flag > 1 || tfs_cursor_left(&c) > 0)
        return -EBADMSG;
    *file = taken;
    *whole = flag;
    return 0;
}

struct finding {
    const struct tfs_save *save;
    struct tfs_key first;
    bool found;
};

static int find_second(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct finding *f = arg;
    const struct tfs_key key = tfs_journal_file_of(f->save, (after != NULL ? after : before)->key);

    if (f->found)
        return tfs_key_compare(key, f->first) != 0;
    f->first = key;
    f->found = true;
    return 0;
}

bool tfs_journal_files_many(const struct tfs_save *save, const struct tfs_doc *before,
                            const struct tfs_doc *after)
{
    struct finding f = {.save = save};

    return tfs_container_has_files(save->container) &&
           tfs_doc_diff(before, after, find_second, &f) != 0;
}

/* ---- one commit ------------------------------------------------------------------------------ */

bool tfs_journal_spared(int code)
{
    return code == -EROFS || code == -EACCES || code == -EPERM || code == -EEXIST ||
           code == -ENOTSUP || code == -ENAMETOOLONG;
}

static int on_wrote(void *arg, struct tfs_key file, struct tfs_hash hash, bool whole,
                    struct tfs_error *err)
{
    return tfs_record_wrote(arg, (struct tfs_record_file){file, hash}, whole, err);
}

/* The journal, where there is one, hears what each file is about to be. */
static int commit_by(struct tfs_save *save, struct tfs_doc *doc, struct tfs_journal *journal,
                     struct tfs_error *err)
{
    const struct tfs_rewrite before = save->rewrite;

    if (journal != NULL)
        save->rewrite = (struct tfs_rewrite){on_wrote, journal};
    if (tfs_journal_mark(journal, err) == 0)
        save->container->commit(save, doc, err);
    save->rewrite = before;
    tfs_journal_close(journal);
    return err->code;
}

/* A journal with this commit as its only edit. */
static int make_journal(struct tfs_save *save, const char *beside, const struct tfs_doc *doc,
                        struct tfs_journal **journal, struct tfs_error *err)
{
    struct tfs_buf record = {0};
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (tfs_record_make(save, save->doc, NULL, doc, now, &record, err) == 0)
        tfs_journal_create(beside, &save->st, (struct tfs_hash){0}, NULL, tfs_buf_span(&record),
                           journal, err);
    tfs_buf_release(&record);
    return err->code;
}

/* What was begun stays in the journal until it is done: the next program that opens the save for
 * writing goes on. */
static int commit_with(struct tfs_save *save, struct tfs_doc *doc, const char *beside,
                       struct tfs_journal *journal, struct tfs_error *err)
{
    const uint64_t before = save->doc->version;
    const bool journals = journal != NULL;
    struct tfs_error why = {0};

    commit_by(save, doc, journal, &why);
    if (journals && why.code < 0 && save->doc->version != before)
        return tfs_fail(err, why.code,
                        "%.200s; some files have the edit already, and the others get it from the "
                        "journal when the save is opened for writing next",
                        why.text);
    if (why.code < 0)
        tfs_fail(err, why.code, "%s", why.text);
    tfs_error_reset(&why);
    if (journals && tfs_journal_remove(beside, &why) < 0)
        tfs_fail(err, why.code, "%s", why.text);
    return err->code;
}

int tfs_journal_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    const bool many = tfs_journal_files_many(save, save->doc, doc) && !save->no_journal &&
                      save->read_only == NULL;
    char *beside = many ? tfs_journal_beside(save) : NULL;
    struct tfs_journal *journal = NULL;
    struct tfs_error why = {0};

    if (many && beside == NULL)
        return tfs_fail_memory(err);
    if (many && make_journal(save, beside, doc, &journal, &why) < 0 &&
        !tfs_journal_spared(why.code))
        tfs_fail(err, why.code, "%s", why.text);
    else
        commit_with(save, doc, beside, journal, err);
    free(beside);
    return err->code;
}

int tfs_journal_restore(struct tfs_save *save, const char *beside,
                        const struct tfs_journal_text *text, struct tfs_doc *doc,
                        struct tfs_error *err)
{
    struct tfs_journal *journal = NULL;

    if (tfs_journal_reopen(beside, text, &journal, err) == 0)
        commit_by(save, doc, journal, err);
    return err->code;
}
