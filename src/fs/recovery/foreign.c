/*
 * Records of a journal -> the journal in a directory of its own: see foreign.h.
 */
#include "fs/recovery/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "formats/apart.h"

#define JOURNAL "journal"
#define DAMAGED "damaged-journal"

/* No save has this hash: these records belong to none, and name no files. */
static const struct tfs_hash nobody = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* ---- which ----------------------------------------------------------------------------------- */

/* All that leave. */
struct records {
    const struct tfs_recovery *r;
    const struct tfs_doc *before;
    struct tfs_journal_record *items; /* payloads are malloc'ed */
    size_t count;
    bool unread; /* others do not read */
};

/* One record without what is ours. */
struct leaving {
    const struct records *of;
    struct tfs_buf out; /* the chunks, and what is common */
    uint32_t count;
    bool some;
};

static bool is_same(const struct tfs_doc *a, const struct tfs_doc *b, struct tfs_key key)
{
    return tfs_chunk_same(tfs_doc_find(a, key), tfs_doc_find(b, key));
}

/* Is it foreign: of a database, what another program made of the row differs? */
static bool leaves(const struct records *of, const struct tfs_record_entry *entry)
{
    const struct tfs_recovery *r = of->r;

    if (r->theirs != NULL)
        return entry->common ? !tfs_blob_equal(r->theirs->common, of->before->common)
                             : !is_same(r->theirs, of->before, entry->chunk.key);
    const struct tfs_key key =
        entry->common ? (struct tfs_key){0} : tfs_journal_file_of(r->save, entry->chunk.key);
    const struct tfs_recover_file *file = tfs_recover_files_find(&r->files, key);
    return file == NULL || !file->ours;
}

static int add_leaving(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    static const uint8_t reserved[7];
    struct leaving *l = arg;
    const bool leaving = !(entry->common && entry->stays) && leaves(l->of, entry);

    (void)err;
    l->some = l->some || leaving;
    if (leaving || (entry->common && entry->stays)) {
        tfs_buf_add_span(&l->out, entry->bytes);
    } else if (entry->common) {
        tfs_buf_u8(&l->out, 0);
        tfs_buf_u64le(&l->out, entry->replaces);
        tfs_buf_add(&l->out, reserved, sizeof(reserved));
    }
    l->count += leaving && !entry->common;
    return 0;
}

static void records_release(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        free((void *)(uintptr_t)records->items[i].payload.data);
    free(records->items);
}

/* Takes the bytes over. */
static int add_payload(struct records *records, struct tfs_buf *payload, struct tfs_error *err)
{
    struct tfs_journal_record *grown =
        tfs_array_grow(records->items, records->count, sizeof(*grown));

    if (grown != NULL)
        records->items = grown;
    if (tfs_buf_check(payload, err) < 0 || grown == NULL)
        return tfs_fail_memory(err);
    grown[records->count++] = (struct tfs_journal_record){
        .kind = TFS_JOURNAL_EDIT, .payload = {payload->data, payload->size}};
    *payload = (struct tfs_buf){0};
    return 0;
}

/* Appends what leaves of one record, if anything does. */
static int add_record(struct records *records, size_t record, struct tfs_error *err)
{
    struct leaving l = {.of = records};
    struct tfs_buf whole = {0};
    struct timespec when;

    if (tfs_record_read(&records->r->text, record, add_leaving, &l, &when, err) == 0 && l.some) {
        tfs_buf_u64le(&whole, (uint64_t)when.tv_sec);
        tfs_buf_u32le(&whole, (uint32_t)when.tv_nsec);
        tfs_buf_u32le(&whole, l.count);
        tfs_buf_add_span(&whole, tfs_buf_span(&l.out));
        whole.failed = whole.failed || l.out.failed;
        add_payload(records, &whole, err);
    }
    tfs_buf_release(&whole);
    tfs_buf_release(&l.out);
    return err->code;
}

/* What does not read as a record of such a save is in the journal, which is kept as it is. */
static int add_records(struct records *records, struct tfs_span more)
{
    const struct tfs_journal_text *text = &records->r->text;
    struct tfs_buf last = {0};
    struct tfs_error err = {0};

    for (size_t i = 0; i < text->count && err.code != -ENOMEM; i++) {
        tfs_error_reset(&err);
        if (add_record(records, i, &err) < 0)
            records->unread = true;
    }
    if (err.code == -ENOMEM || more.size == 0)
        return err.code == -ENOMEM ? -ENOMEM : 0;
    tfs_error_reset(&err);
    tfs_buf_add_span(&last, more);
    add_payload(records, &last, &err);
    tfs_buf_release(&last);
    return err.code;
}

/* ---- stored ---------------------------------------------------------------------------------- */

struct filling {
    struct tfs_span journal;
    int damaged; /* the file; -1: it is whole */
};

static int fill(void *arg, struct tfs_apart *apart)
{
    const struct filling *f = arg;
    int result = f->journal.size > 0 ? tfs_apart_add(apart, JOURNAL, f->journal) : 0;

    if (result == 0 && f->damaged >= 0)
        result = tfs_apart_copy(apart, DAMAGED, f->damaged);
    return result;
}

static int store(const struct tfs_save *save, const struct records *records, int damaged,
                 char **directory)
{
    struct tfs_error err = {0};
    struct tfs_buf bytes = {0};

    if (records->count > 0)
        tfs_journal_print(nobody, records->items, records->count, &bytes, &err);
    struct filling f = {tfs_buf_span(&bytes), damaged};
    const int result =
        err.code < 0 ? err.code : tfs_apart_store(save, "unsaved", false, fill, &f, directory);
    tfs_buf_release(&bytes);
    return result;
}

static int open_journal(const struct tfs_recovery *r)
{
    char *path = tfs_journal_path(r->beside);
    int fd =
        path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    const int result = path == NULL ? -ENOMEM : fd < 0 ? -errno : fd;

    free(path);
    return result;
}

int tfs_foreign_keep(const struct tfs_recovery *r, const struct tfs_doc *before,
                     struct tfs_span more, char **directory)
{
    struct records records = {.r = r, .before = before};
    int damaged = -1, result = add_records(&records, more);

    if (result == 0 && (r->text.damaged > 0 || records.unread || records.count == 0)) {
        damaged = open_journal(r);
        result = damaged < 0 ? damaged : 0;
    }
    if (result == 0)
        result = store(r->save, &records, damaged, directory);
    if (damaged >= 0)
        close(damaged);
    records_release(&records);
    return result;
}
