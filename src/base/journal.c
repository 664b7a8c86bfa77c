/*
 * Records -> an append-only file that survives a crash, and back. Must not know what records mean.
 *
 * Invariants:
 *   1. a journal comes into being under its name whole and durable, by rename;
 *   2. bytes below `size` never change; what is behind it was never accepted;
 *   3. after a failed sync nothing is appended: the kernel may have dropped pages that it could not
 *      write, so later success would say nothing about them;
 *   4. checksums depend on the journal and on the place, so that neither a record of an older file
 *      in the same blocks nor one that moved is taken for one of this journal.
 */
#include "base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/print.h"

/* docs/journal.md draws both heads. */
#define MAGIC       "TFSJRNL\n"
#define MAGIC_SIZE  8
#define VERSION     2 /* the first one is read, too */
#define HEAD_SIZE   56
#define RECORD      UINT32_C(0x43455254) /* "TREC" */
#define RECORD_HEAD 32
#define ALIGNMENT   8
#define PIECE       ((size_t)1 << 20) /* of a file that is looked through */
#define CUT_MARK    17 /* "-" and a checksum of the whole name, in names that are cut */

struct tfs_journal {
    struct tfs_file_handle file;
    uint64_t seed;
    uint64_t size;    /* of what was appended whole */
    uint64_t durable; /* of it, what the last sync made so */
    bool broken;
};

static const char ending[] = ".terrainfs-journal";

void tfs_journal_name(const char *path, char name[TFS_JOURNAL_NAME])
{
    const char *slash = strrchr(path, '/');
    const char *save = slash == NULL ? path : slash + 1;
    const int room = NAME_MAX - 1 - (int)strlen(ending);

    if (strlen(save) <= (size_t)room)
        snprintf(name, TFS_JOURNAL_NAME, ".%s%s", save, ending);
    else
        snprintf(name, TFS_JOURNAL_NAME, ".%.*s-%016jx%s", room - CUT_MARK, save,
                 (uintmax_t)tfs_checksum(tfs_span_of(save), 0), ending);
}

char *tfs_journal_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    const int directory = slash == NULL ? 0 : (int)(slash - path) + 1;
    char name[TFS_JOURNAL_NAME];
    char *found = NULL;

    tfs_journal_name(path, name);
    return tfs_print(&found, "%.*s%s", directory, path, name) < 0 ? NULL : found;
}

int tfs_journal_find(const char *path, struct tfs_error *err)
{
    char *name = tfs_journal_path(path);
    struct stat st;

    if (name == NULL)
        return tfs_fail_memory(err);
    const int found = lstat(name, &st) == 0;
    free(name);
    return found;
}

/* ---- heads ----------------------------------------------------------------------------------- */

static void put_head(struct tfs_buf *out, struct tfs_hash save, uint64_t seed)
{
    tfs_buf_add(out, MAGIC, MAGIC_SIZE);
    tfs_buf_u32le(out, VERSION);
    tfs_buf_u32le(out, 0);
    tfs_hash_put(out, save);
    tfs_buf_u64le(out, seed);
    tfs_buf_u64le(out, tfs_checksum(tfs_buf_span(out), 0));
}

static int take_head(struct tfs_cursor *c, struct tfs_journal_text *text, struct tfs_error *err)
{
    struct tfs_span magic = tfs_take(c, MAGIC_SIZE);
    uint32_t version = tfs_take_u32le(c);

    (void)tfs_take_u32le(c);
    struct tfs_hash hash = tfs_hash_take(c);
    uint64_t found = tfs_take_u64le(c);
    struct tfs_span head = {c->start, tfs_cursor_offset(c)};
    uint64_t checksum = tfs_take_u64le(c);
    if (c->failed || memcmp(magic.data, MAGIC, MAGIC_SIZE) != 0)
        return tfs_fail(err, -EBADMSG, "is not a journal of terrainfs");
    if (version < 1 || version > VERSION)
        return tfs_fail(err, -ENOTSUP, "journal version %u is not supported, only 1 and %u",
                        version, VERSION);
    if (checksum != tfs_checksum(head, 0))
        return tfs_fail(err, -EBADMSG, "the head of the journal is damaged");
    text->save = hash;
    text->seed = found;
    return 0;
}

static void put_record(struct tfs_buf *out, uint64_t seed, uint64_t at, enum tfs_journal_kind kind,
                       struct tfs_span payload)
{
    static const uint8_t zeros[ALIGNMENT];
    const size_t begin = out->size;

    tfs_buf_u32le(out, RECORD);
    tfs_buf_u32le(out, kind);
    tfs_buf_u64le(out, payload.size);
    if (tfs_buf_reserve(out, payload.size + RECORD_HEAD + ALIGNMENT) == NULL)
        return;
    tfs_buf_u64le(out, tfs_checksum((struct tfs_span){out->data + begin, 16}, seed + at));
    tfs_buf_u64le(out, tfs_checksum(payload, seed + at));
    tfs_buf_add_span(out, payload);
    tfs_buf_add(out, zeros, (ALIGNMENT - payload.size % ALIGNMENT) % ALIGNMENT);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* An old journal is replaced like any file; a name without one must be free. */
static int open_old(const char *path, struct tfs_file_handle *old, struct tfs_error *err)
{
    struct stat st;

    *old = (struct tfs_file_handle){.fd = -1};
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : tfs_fail_errno(err, "the journal cannot be examined");
    if (!S_ISREG(st.st_mode))
        return tfs_fail(err, -EEXIST, "something else has the name of the journal");
    return tfs_file_open(path, false, old, err);
}

static int write_file(const char *path, const struct stat *like, struct tfs_span content,
                      struct tfs_file_handle *file, struct tfs_error *err)
{
    struct tfs_error ignored = {0};
    struct tfs_replacement r;
    struct tfs_file_handle old;

    if (open_old(path, &old, err) < 0)
        return err->code;
    const bool first = old.fd < 0;
    if (tfs_replacement_open(path, first ? NULL : &old, &r, err) < 0)
        goto fail;
    if (tfs_replacement_give(&r, like, err) < 0 || tfs_sink_span(&r.sink, content, err) < 0) {
        tfs_replacement_cancel(&r);
        goto fail;
    }
    if (tfs_replacement_finish(&r, &old, err) == 0) {
        *file = old;
        return 0;
    }
    /* Should only the directory's sync fail, then the new journal stays where there was an old one,
     * all of which it holds. A first one goes: what it holds was refused. */
    if (first && old.fd >= 0 && unlink(path) == 0)
        (void)tfs_file_settle(path, &ignored);
fail:
    tfs_file_close(&old);
    return err->code;
}

static uint64_t first_seed;

static void draw_seed(void)
{
    if (getrandom(&first_seed, sizeof(first_seed), 0) != sizeof(first_seed))
        first_seed = 0;
}

/* No two journals of a process have the same, and neighbours lie far apart: a seed is added to
 * offsets. */
static int new_seed(uint64_t *seed, struct tfs_error *err)
{
    static _Atomic uint32_t made;
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw_seed);
    if (first_seed == 0)
        return tfs_fail(err, -EIO, "no random number could be had");
    *seed = first_seed + made++ * UINT64_C(0x9E3779B97F4A7C15);
    return 0;
}

/* Behind the edits: what a rewrite says of a file is newer than what they say of it. */
static void put_wrote(struct tfs_buf *out, uint64_t seed, const struct tfs_journal_mark *mark)
{
    const struct tfs_buf *wrote = &mark->wrote;

    out->failed = out->failed || wrote->failed;
    for (size_t at = 0; at + TFS_JOURNAL_FILE_SIZE <= wrote->size; at += TFS_JOURNAL_FILE_SIZE)
        put_record(out, seed, out->size, TFS_JOURNAL_FILE,
                   (struct tfs_span){wrote->data + at, TFS_JOURNAL_FILE_SIZE});
}

int tfs_journal_create(const char *path, const struct stat *like, struct tfs_hash save,
                       const struct tfs_journal_mark *mark, struct tfs_span first,
                       struct tfs_journal **journal, struct tfs_error *err)
{
    struct tfs_journal *made = calloc(1, sizeof(*made));
    char *name = tfs_journal_path(path);
    struct tfs_buf content = {0};

    if (made == NULL || name == NULL) {
        tfs_fail_memory(err);
        goto out;
    }
    if (new_seed(&made->seed, err) < 0)
        goto out;
    put_head(&content, save, made->seed);
    if (mark != NULL && mark->begun)
        put_record(&content, made->seed, content.size, TFS_JOURNAL_MARK, (struct tfs_span){0});
    if (first.size > 0)
        put_record(&content, made->seed, content.size, TFS_JOURNAL_EDIT, first);
    if (mark != NULL)
        put_wrote(&content, made->seed, mark);
    if (content.size > TFS_JOURNAL_MAX)
        tfs_fail(err, -EFBIG, "the edits are more than a journal may hold");
    if (err->code < 0 || tfs_buf_check(&content, err) < 0 ||
        write_file(name, like, tfs_buf_span(&content), &made->file, err) < 0)
        goto out;
    made->size = made->durable = content.size;
    *journal = made;
    made = NULL;
out:
    tfs_buf_release(&content);
    free(name);
    free(made);
    return err->code;
}

int tfs_journal_print(struct tfs_hash save, const struct tfs_journal_record *records, size_t count,
                      struct tfs_buf *out, struct tfs_error *err)
{
    uint64_t seed;

    if (new_seed(&seed, err) < 0)
        return err->code;
    put_head(out, save, seed);
    for (size_t i = 0; i < count; i++)
        put_record(out, seed, out->size, records[i].kind, records[i].payload);
    return tfs_buf_check(out, err);
}

static int write_at(int fd, struct tfs_span bytes, uint64_t at, struct tfs_error *err)
{
    for (size_t done = 0; done < bytes.size;) {
        ssize_t n = pwrite(fd, bytes.data + done, bytes.size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tfs_fail(err, tfs_write_code(n < 0 ? errno : EIO),
                            "the journal cannot be written: %s", strerror(n < 0 ? errno : EIO));
        done += (size_t)n;
    }
    return 0;
}

static int check_whole(const struct tfs_journal *journal, struct tfs_error *err)
{
    return journal->broken ? tfs_fail(err, -EIO, "the journal could not be made durable before")
                           : 0;
}

/* What is behind `size` is gone, unless even that fails. */
static void cut(struct tfs_journal *journal, uint64_t size)
{
    journal->broken = ftruncate(journal->file.fd, (off_t)size) < 0 || journal->broken;
    journal->size = size;
}

int tfs_journal_append(struct tfs_journal *journal, enum tfs_journal_kind kind,
                       struct tfs_span payload, struct tfs_error *err)
{
    struct tfs_buf record = {0};

    if (check_whole(journal, err) < 0)
        return err->code;
    put_record(&record, journal->seed, journal->size, kind, payload);
    if (tfs_buf_check(&record, err) == 0 && record.size > TFS_JOURNAL_MAX - journal->size)
        tfs_fail(err, -EFBIG, "the journal is as large as it may become");
    if (err->code == 0 && write_at(journal->file.fd, tfs_buf_span(&record), journal->size, err) < 0)
        cut(journal, journal->size);
    if (err->code == 0)
        journal->size += record.size;
    tfs_buf_release(&record);
    return err->code;
}

/* Nobody finds a file without a name after a crash. */
static bool has_name(const struct tfs_journal *journal)
{
    struct stat st;

    return fstat(journal->file.fd, &st) == 0 && st.st_nlink > 0;
}

int tfs_journal_sync(struct tfs_journal *journal, struct tfs_error *err)
{
    if (check_whole(journal, err) < 0)
        return err->code;
    if (fdatasync(journal->file.fd) < 0) {
        tfs_fail_errno(err, "the journal cannot be made durable");
    } else if (!has_name(journal)) {
        tfs_fail(err, -EIO, "the journal was removed by another program");
    } else {
        journal->durable = journal->size;
        return 0;
    }
    journal->broken = true;
    cut(journal, journal->durable);
    return err->code;
}

int tfs_journal_tell(struct tfs_journal *journal, enum tfs_journal_kind kind,
                     const struct tfs_buf *payload, struct tfs_error *err)
{
    if (journal != NULL && tfs_buf_check(payload, err) == 0 &&
        tfs_journal_append(journal, kind, tfs_buf_span(payload), err) == 0)
        tfs_journal_sync(journal, err);
    return err->code;
}

int tfs_journal_mark(struct tfs_journal *journal, struct tfs_error *err)
{
    const struct tfs_buf nothing = {0};

    return tfs_journal_tell(journal, TFS_JOURNAL_MARK, &nothing, err);
}

bool tfs_journal_broken(const struct tfs_journal *journal)
{
    return journal->broken;
}

uint64_t tfs_journal_size(const struct tfs_journal *journal)
{
    return journal->size;
}

void tfs_journal_close(struct tfs_journal *journal)
{
    if (journal == NULL)
        return;
    tfs_file_close(&journal->file);
    free(journal);
}

static int sync_directory_of(const char *path, struct tfs_error *err)
{
    char *name = tfs_file_directory(path);
    int fd = name == NULL ? -ENOMEM : tfs_directory_open(name);

    free(name);
    if (fd < 0)
        return tfs_fail(err, fd, "the directory of the journal cannot be opened: %s",
                        strerror(-fd));
    if (fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        tfs_fail_errno(err, "the directory of the journal cannot be made durable");
    close(fd);
    return err->code;
}

int tfs_journal_remove(const char *path, struct tfs_error *err)
{
    char *name = tfs_journal_path(path);

    if (name == NULL)
        return tfs_fail_memory(err);
    if (unlink(name) < 0 && errno != ENOENT)
        tfs_fail_errno(err, "the journal cannot be removed");
    else
        sync_directory_of(name, err);
    free(name);
    return err->code;
}

void tfs_journal_remove_strays(const char *path)
{
    /* Without memory the next program that opens it does this. */
    char *name = tfs_journal_path(path);

    if (name != NULL)
        tfs_file_remove_strays(name);
    free(name);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int fail_replaced(struct tfs_error *err)
{
    return tfs_fail(err, -EAGAIN, "the journal is being replaced by another program");
}

/* May what is in this file be believed, and shown to every user that may read the save? */
static int check_trust(const struct stat *st, const struct stat *save, struct tfs_error *err)
{
    if (st->st_nlink == 0)
        return fail_replaced(err);
    if (st->st_nlink != 1)
        return tfs_fail(err, -EPERM, "the journal has %ju names, so it is not used",
                        (uintmax_t)st->st_nlink);
    if (st->st_uid != save->st_uid && st->st_uid != geteuid())
        return tfs_fail(err, -EPERM,
                        "the journal belongs to user %u and the save to user %u, so it is not used",
                        st->st_uid, save->st_uid);
    if ((st->st_mode & ~save->st_mode & 0777) != 0)
        return tfs_fail(err, -EPERM,
                        "the journal is open to more users than the save, so it is not used");
    return 0;
}

/* The head of a record, read at an offset of the file. */
struct head {
    uint32_t kind;
    uint64_t size, payload_sum;
};

static bool take_record_head(const uint8_t bytes[RECORD_HEAD], uint64_t seed, uint64_t at,
                             struct head *head)
{
    struct tfs_cursor c = tfs_cursor_init((struct tfs_span){bytes, RECORD_HEAD});
    const uint32_t magic = tfs_take_u32le(&c);

    head->kind = tfs_take_u32le(&c);
    head->size = tfs_take_u64le(&c);
    const uint64_t sum = tfs_take_u64le(&c);
    head->payload_sum = tfs_take_u64le(&c);
    return magic == RECORD &&
           sum == tfs_checksum((struct tfs_span){bytes, RECORD_HEAD / 2}, seed + at);
}

/* What is read of a file, by steps: it may claim any size. */
struct reading {
    struct tfs_journal_text *text;
    int fd;
    uint64_t size;
    uint8_t *piece; /* of PIECE bytes */
    struct tfs_error *err;
};

static int fail_read(const struct reading *r, ssize_t result)
{
    return tfs_fail(r->err, (int)result, "cannot be read: %s", strerror((int)-result));
}

/* Has the payload this checksum? 1, 0 or negative. */
static int check_payload(const struct reading *r, uint64_t at, const struct head *head,
                         uint64_t seed)
{
    struct tfs_summer summer;
    int result = tfs_summer_init(&summer, seed, r->err);

    for (uint64_t done = 0; done < head->size && result == 0;) {
        const uint64_t left = head->size - done;
        ssize_t got =
            tfs_file_read_at(r->fd, at + done, r->piece, left < PIECE ? (size_t)left : PIECE);
        if (got < 0)
            result = fail_read(r, got);
        else if (got == 0)
            break; /* it became shorter */
        tfs_summer_add(&summer, (struct tfs_span){r->piece, got > 0 ? (size_t)got : 0});
        done += got > 0 ? (uint64_t)got : 0;
    }
    if (result == 0)
        result = tfs_summer_end(&summer) == head->payload_sum;
    tfs_summer_release(&summer);
    return result;
}

static int add_record(struct tfs_journal_text *text, const struct tfs_journal_record *record,
                      struct tfs_error *err)
{
    struct tfs_journal_record *grown = tfs_array_grow(text->records, text->count, sizeof(*grown));

    if (grown == NULL)
        return tfs_fail_memory(err);
    text->records = grown;
    text->records[text->count++] = *record;
    return 0;
}

/* The record at text->end: 1, it is whole and end is behind it; 0 or negative. */
static int find_record(const struct reading *r)
{
    struct tfs_journal_text *text = r->text;
    const uint64_t at = text->end, seed = text->seed + at;
    uint8_t bytes[RECORD_HEAD];
    struct head head;

    ssize_t got = tfs_file_read_at(r->fd, at, bytes, sizeof(bytes));
    if (got < 0)
        return fail_read(r, got);
    if (got < RECORD_HEAD || !take_record_head(bytes, text->seed, at, &head) ||
        head.size > r->size - at - RECORD_HEAD)
        return 0;
    const uint64_t end = at + RECORD_HEAD + (head.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const int whole = end > r->size ? 0 : check_payload(r, at + RECORD_HEAD, &head, seed);
    if (whole <= 0)
        return whole;
    const struct tfs_journal_record record = {.kind = head.kind, .payload = {NULL, head.size}};
    text->end = end;
    return add_record(text, &record, r->err) < 0 ? r->err->code : 1;
}

/* Where there are bytes, from an offset on, rounded down to where records may begin; the end of the
 * file: nowhere. */
static uint64_t next_data(const struct reading *r, uint64_t at)
{
    const off_t data = lseek(r->fd, (off_t)at, SEEK_DATA);

    if (data < 0)
        return errno == ENXIO ? r->size : at;
    const uint64_t found = (uint64_t)data / ALIGNMENT * ALIGNMENT;
    return found > at ? found : at;
}

/* Does a record begin anywhere behind text->end? Then what is there was not torn but damaged. */
static int look_behind(const struct reading *r)
{
    struct tfs_journal_text *text = r->text;
    struct head head;

    for (uint64_t at = next_data(r, text->end + ALIGNMENT); at + RECORD_HEAD <= r->size;
         at = next_data(r, at)) {
        ssize_t got = tfs_file_read_at(r->fd, at, r->piece, PIECE);
        if (got < 0)
            return fail_read(r, got);
        size_t i = 0;
        for (; i + RECORD_HEAD <= (size_t)got; i += ALIGNMENT)
            if (take_record_head(r->piece + i, text->seed, at + i, &head)) {
                text->damaged = text->end;
                return 0;
            }
        if (i == 0)
            return 0;
        at += i;
    }
    return 0;
}

/* All whole records, in memory. */
static int load(const struct reading *r)
{
    struct tfs_journal_text *text = r->text;
    struct tfs_buf bytes = {0};
    uint8_t *data = tfs_buf_reserve(&bytes, text->end);
    uint64_t at = HEAD_SIZE;

    ssize_t got = data == NULL ? 0 : tfs_file_read_at(r->fd, 0, data, text->end);
    if (got < 0) {
        tfs_buf_release(&bytes);
        return fail_read(r, got);
    }
    bytes.size = data == NULL ? 0 : text->end;
    if (data != NULL && (uint64_t)got < text->end)
        memset(data + got, 0, text->end - (size_t)got); /* it became shorter: it is read again */
    if (tfs_blob_take(&bytes, &text->bytes, r->err) < 0)
        return r->err->code;
    for (size_t i = 0; i < text->count; i++) {
        struct tfs_journal_record *record = &text->records[i];
        record->payload.data = text->bytes->data + at + RECORD_HEAD;
        at += RECORD_HEAD + (record->payload.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        struct tfs_cursor inside = tfs_cursor_init(record->payload);
        if (record->kind == TFS_JOURNAL_DONE)
            record->hash = tfs_hash_take(&inside);
    }
    return 0;
}

static int read_records(void *arg, int fd, uint64_t size, struct tfs_error *err)
{
    struct tfs_journal_text *text = arg;
    struct reading r = {text, fd, size, malloc(PIECE), err};
    uint8_t head[HEAD_SIZE];

    tfs_journal_text_release(text);
    ssize_t got = r.piece == NULL ? 0 : tfs_file_read_at(fd, 0, head, sizeof(head));
    struct tfs_cursor c = tfs_cursor_init((struct tfs_span){head, got > 0 ? (size_t)got : 0});
    if (r.piece == NULL)
        tfs_fail_memory(err);
    else if (got < 0)
        fail_read(&r, got);
    else if (take_head(&c, text, err) == 0) {
        text->end = HEAD_SIZE;
        while (find_record(&r) > 0)
            ;
        if (err->code == 0 && look_behind(&r) == 0)
            load(&r);
    }
    free(r.piece);
    return err->code;
}

/* `save`: what may be believed is decided by that; NULL: whoever calls knows the file. */
static int read_file(const char *name, const struct stat *save, struct tfs_journal_text *text,
                     struct tfs_error *err)
{
    struct tfs_file_handle file;
    struct tfs_error why = {0};

    if (tfs_file_open(name, false, &file, &why) == -ENOENT)
        return fail_replaced(err);
    if (why.code < 0)
        return tfs_fail(err, why.code, "%s", why.text);
    if (save == NULL || check_trust(&file.st, save, err) == 0)
        tfs_file_read_by(&file, TFS_JOURNAL_MAX, read_records, text, err);
    text->st = file.st;
    tfs_file_close(&file);
    return err->code;
}

int tfs_journal_read_file(const char *file, struct tfs_journal_text *text, struct tfs_error *err)
{
    struct tfs_journal_text read = {0};

    if (read_file(file, NULL, &read, err) == 0)
        *text = read;
    else
        tfs_journal_text_release(&read);
    return err->code;
}

int tfs_journal_read(const char *path, const struct stat *save, struct tfs_journal_text *text,
                     struct tfs_error *err)
{
    struct tfs_journal_text read = {0};
    struct stat st;
    char *name = tfs_journal_path(path);
    int result = 0;

    if (name == NULL)
        return tfs_fail_memory(err);
    if (lstat(name, &st) < 0)
        result = errno == ENOENT ? 0 : tfs_fail_errno(err, "the journal cannot be examined");
    else if (!S_ISREG(st.st_mode))
        result = tfs_fail(err, -EPERM, "the journal is not a regular file, so it is not used");
    else
        result = read_file(name, save, &read, err) == 0 ? 1 : err->code;
    if (result > 0)
        *text = read;
    else
        tfs_journal_text_release(&read);
    free(name);
    return result;
}

/* Does the file begin with the same head? A later journal has another seed. */
static bool has_head(const char *name, const struct tfs_blob *bytes)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    uint8_t head[HEAD_SIZE];
    const bool same = fd >= 0 && pread(fd, head, HEAD_SIZE, 0) == HEAD_SIZE &&
                      memcmp(head, bytes->data, HEAD_SIZE) == 0;

    if (fd >= 0)
        close(fd);
    return same;
}

bool tfs_journal_current(const char *path, const struct tfs_journal_text *text)
{
    char *name = tfs_journal_path(path);
    struct stat st;
    bool current = name != NULL && lstat(name, &st) == 0 && st.st_size >= text->st.st_size &&
                   has_head(name, text->bytes);

    free(name);
    return current;
}

void tfs_journal_text_release(struct tfs_journal_text *text)
{
    tfs_blob_unref(text->bytes);
    free(text->records);
    *text = (struct tfs_journal_text){0};
}

/* ---- going on -------------------------------------------------------------------------------- */

int tfs_journal_reopen(const char *path, const struct tfs_journal_text *text,
                       struct tfs_journal **journal, struct tfs_error *err)
{
    struct tfs_journal *made = calloc(1, sizeof(*made));
    char *name = tfs_journal_path(path);

    if (made == NULL || name == NULL) {
        tfs_fail_memory(err);
        goto out;
    }
    made->file.fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (made->file.fd < 0 || fstat(made->file.fd, &made->file.st) < 0)
        tfs_fail_errno(err, "the journal cannot be opened");
    else if (!tfs_file_same(&made->file.st, &text->st))
        tfs_fail(err, -ESTALE, "the journal was changed by another program");
    else if (ftruncate(made->file.fd, (off_t)text->end) < 0)
        tfs_fail_errno(err, "the journal cannot be written");
    if (err->code < 0) {
        tfs_file_close(&made->file);
        goto out;
    }
    made->seed = text->seed;
    made->size = made->durable = text->end;
    *journal = made;
    made = NULL;
out:
    free(name);
    free(made);
    return err->code;
}
