/*
 * fs/recover and hostile journals: whatever a journal says with good checksums, the save is read,
 * shown and written as one that its game could have made, or the journal is set aside.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <time.h>

#include "../lib/lens_check.h"
#include "../lib/small_saves.h"
#include "base/journal.h"
#include "formats/cells/cells.h"
#include "formats/journal.h"
#include "formats/containers/file.h"
#include "fs/recovery/recover.h"
#include "fs/store/store.h"
#include "scratch.h"

#define PATH (2 * PATH_MAX)

static struct tfs_error err;
static char path[PATH];
static char notice[TFS_ERROR_TEXT];
static const struct small_save *kind;

/* A zone of the region of another kind. */
static void make_zone(const char *folder)
{
    char region[PATH + 64];

    ck_assert_int_eq(mkdir(folder, 0755), 0);
    snprintf(region, sizeof(region), "%s/zoneInfo.json", folder);
    FILE *info = fopen(region, "w");
    ck_assert(fputs("{}", info) >= 0 && fclose(info) == 0);
    snprintf(region, sizeof(region), "%s/regions", folder);
    ck_assert_int_eq(mkdir(region, 0755), 0);
    snprintf(region, sizeof(region), "%s/regions/region_0_0_0.cosmicreach", folder);
    for (int i = 0; i < small_save_count; i++)
        if (strcmp(small_saves[i].name, "cosmic_7") == 0)
            small_saves[i].make(region);
}

static const struct small_save zone = {.name = "zone", .file = "zone", .make = make_zone};

static struct tfs_save *open_save(enum tfs_lock lock)
{
    struct tfs_open_options options = {.lock = lock, .inflate_limit = TFS_INFLATE_LIMIT};
    struct tfs_save *save = NULL;

    tfs_error_reset(&err);
    ck_assert_msg(tfs_save_open(path, NULL, &options, &save, &err) == 0, "%s", err.text);
    return save;
}

static void make(void)
{
    ck_assert_int_eq(nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(mkdir(scratch_dir, 0755), 0);
    kind->make(path);
}

/* Keys that the record has, whose files it names where there are several. */
static struct tfs_key keys[4096];
static size_t key_count;

static void put_files(struct tfs_save *save, struct tfs_buf *record)
{
    struct stat st;

    tfs_buf_u32le(record, (uint32_t)key_count);
    for (size_t i = 0; i < key_count; i++) {
        struct tfs_key file = save->container->journal->file_of(save, keys[i]);
        struct tfs_hash hash;
        ck_assert_int_eq(save->container->journal->hash(save, file, &hash, &st, &err), 0);
        tfs_buf_u32le(record, file.group);
        tfs_buf_u32le(record, (uint32_t)file.x);
        tfs_buf_u32le(record, (uint32_t)file.y);
        tfs_buf_u32le(record, (uint32_t)file.z);
        tfs_buf_u64le(record, hash.size);
        tfs_buf_u64le(record, hash.low);
        tfs_buf_u64le(record, hash.high);
    }
}

static int hash_save(struct tfs_save *save, struct tfs_hash *hash)
{
    struct stat st;

    return save->container->journal->hash(save, (struct tfs_key){0}, hash, &st, &err);
}

static void leave_bytes(struct tfs_save *save, struct tfs_hash hash, struct tfs_span record)
{
    struct tfs_journal *journal = NULL;
    char *beside = tfs_journal_beside(save);

    ck_assert_msg(tfs_journal_create(beside, &save->st, hash, NULL, record, &journal, &err) == 0,
                  "%s", err.text);
    tfs_journal_close(journal);
    free(beside);
}

/* As tfs_record_make makes it. */
static void leave_record(struct tfs_save *save, struct tfs_span record)
{
    struct tfs_hash hash = {0};

    if (!tfs_container_has_files(save->container))
        ck_assert_int_eq(hash_save(save, &hash), 0);
    leave_bytes(save, hash, record);
}

static void leave_journal(struct tfs_save *save, struct tfs_span record)
{
    struct tfs_buf named = {0};

    if (tfs_container_has_files(save->container))
        put_files(save, &named);
    tfs_buf_add_span(&named, record);
    leave_record(save, tfs_buf_span(&named));
    tfs_buf_release(&named);
}

/* ---- records --------------------------------------------------------------------------------- */

static void put_bytes(struct tfs_buf *record, struct tfs_span bytes)
{
    tfs_buf_u64le(record, bytes.size);
    tfs_buf_add_span(record, bytes);
}

#define SLOTS 16 /* the first is of what is common, the others are reserved */

static void begin_record(struct tfs_buf *record, uint32_t chunks)
{
    key_count = 0;
    tfs_buf_u64le(record, UINT64_C(4000000000));
    tfs_buf_u32le(record, 0);
    tfs_buf_u32le(record, chunks);
}

/* All parts as they are but `part`, which is `how`: 0 as it is, 1 absent, 2 `bytes`. */
static void end_record(struct tfs_buf *record, unsigned part, uint8_t how, struct tfs_span bytes)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        tfs_buf_u8(record, i == part ? how : 0);
        if (i == part && how == 2)
            put_bytes(record, bytes);
    }
}

static void put_key(struct tfs_buf *record, struct tfs_key key)
{
    ck_assert_uint_lt(key_count, sizeof(keys) / sizeof(keys[0]));
    keys[key_count++] = key;
    tfs_buf_u32le(record, key.group);
    tfs_buf_u32le(record, (uint32_t)key.x);
    tfs_buf_u32le(record, (uint32_t)key.y);
    tfs_buf_u32le(record, (uint32_t)key.z);
}

static void put_chunk(struct tfs_buf *record, const struct tfs_chunk *chunk, struct tfs_span bytes,
                      const struct tfs_span *extra)
{
    put_key(record, chunk->key);
    tfs_buf_u8(record, (uint8_t)(2 | (extra != NULL ? 4 : 0) | 8));
    tfs_buf_u32le(record, chunk->tag);
    tfs_buf_u32le(record, chunk->flags);
    tfs_buf_u64le(record, chunk->own);
    put_bytes(record, bytes);
    if (extra != NULL)
        put_bytes(record, *extra);
}

/* ---- what comes of them ---------------------------------------------------------------------- */

static void check_shown(struct tfs_save *save)
{
    const bool written = save->options.lock == TFS_LOCK_EXCLUSIVE;
    struct lens_check check;

    lens_check_open(&check, save);
    lens_check_unedited(&check);
    /* Else some encode by what is on disk. */
    if (written && save->container->file != NULL)
        lens_check_encoding(&check);
    lens_check_close(&check);
}

/* Each file of a save of several, opened alone. */
static void try_alone(const char *what)
{
    char whole[PATH];
    glob_t found;

    memcpy(whole, path, sizeof(whole));
    ck_assert_int_eq(chdir(whole), 0);
    if (glob("regions/{*.cosmicreach,lod*/*.vxr}", GLOB_BRACE, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        snprintf(path, sizeof(path), "%s", found.gl_pathv[i]);
        struct tfs_save *save = open_save(TFS_LOCK_NONE);
        ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s: %s", what, err.text);
        check_shown(save);
        tfs_save_close(save);
    }
    globfree(&found);
    memcpy(path, whole, sizeof(whole));
}

/* Whoever reads, and then whoever writes the save that has a journal. */
static void try_journal(struct tfs_save *save, const char *what)
{
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s: %s: %s", kind->name, what, err.text);
    check_shown(save);
    if (tfs_container_has_files(save->container))
        try_alone(what);
    tfs_save_close(save);

    save = open_save(TFS_LOCK_EXCLUSIVE);
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s: %s: %s", kind->name, what, err.text);
    check_shown(save);
    tfs_save_close(save);
    save = open_save(TFS_LOCK_NONE);
    check_shown(save);
    tfs_save_close(save);
}

static void try_record(struct tfs_buf *record, const char *what)
{
    if (getenv("TFS_TEST_VERBOSE") != NULL)
        fprintf(stderr, "%s: %s\n", kind->name, what);
    make();
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    leave_journal(save, tfs_buf_span(record));
    try_journal(save, what);
    tfs_buf_release(record);
}

static void try_chunk(const struct tfs_chunk *chunk, struct tfs_span bytes,
                      const struct tfs_span *extra, const char *what)
{
    struct tfs_buf record = {0};

    begin_record(&record, 1);
    put_chunk(&record, chunk, bytes, extra);
    end_record(&record, 0, 0, (struct tfs_span){0});
    try_record(&record, what);
}

static void try_places(const struct tfs_chunk *first)
{
    static const int32_t far[] = {-1, 1, 15, 16, 31, 1 << 20, INT32_MAX, INT32_MIN};
    static const uint32_t groups[] = {1, 2, 24, 25, INT32_MAX, UINT32_MAX};
    const struct tfs_span bytes = tfs_blob_span(first->blob);
    char what[64];

    for (unsigned axis = 0; axis < 3; axis++)
        for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
            struct tfs_chunk chunk = *first;
            *(axis == 0 ? &chunk.key.x : axis == 1 ? &chunk.key.y : &chunk.key.z) = far[i];
            snprintf(what, sizeof(what), "axis %u at %d", axis, far[i]);
            try_chunk(&chunk, bytes, NULL, what);
        }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        struct tfs_chunk chunk = *first;
        chunk.key.group = groups[i];
        snprintf(what, sizeof(what), "group %u", groups[i]);
        try_chunk(&chunk, bytes, NULL, what);
    }
}

static void try_bytes(const struct tfs_chunk *first)
{
    static uint8_t other[1 << 16];
    const size_t size = first->blob->size < sizeof(other) - 1 ? first->blob->size : 1000;

    memcpy(other, first->blob->data, size);
    try_chunk(first, (struct tfs_span){other, 0}, NULL, "no bytes");
    try_chunk(first, (struct tfs_span){other, 1}, NULL, "one byte");
    try_chunk(first, (struct tfs_span){other, size - 1}, NULL, "a byte less");
    try_chunk(first, (struct tfs_span){other, size + 1}, NULL, "a byte more");
    const struct tfs_span extra = {other, 3};
    try_chunk(first, tfs_blob_span(first->blob), &extra, "a second value");
    const struct tfs_span empty = {other, 0};
    try_chunk(first, tfs_blob_span(first->blob), &empty, "an empty second value");
    memset(other, 0xff, sizeof(other));
    try_chunk(first, (struct tfs_span){other, size}, NULL, "ones");
    memset(other, 0, sizeof(other));
    try_chunk(first, (struct tfs_span){other, size}, NULL, "zeros");
}

static void try_numbers(const struct tfs_chunk *first)
{
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 255, INT32_MAX, UINT32_MAX};
    static const uint64_t owns[] = {0, 1, UINT64_C(1) << 16, UINT64_MAX - 1, UINT64_MAX};
    char what[64];

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct tfs_chunk chunk = *first;
        chunk.tag = numbers[i];
        snprintf(what, sizeof(what), "tag %u", numbers[i]);
        try_chunk(&chunk, tfs_blob_span(first->blob), NULL, what);
        chunk = *first;
        chunk.flags = numbers[i];
        snprintf(what, sizeof(what), "flags %u", numbers[i]);
        try_chunk(&chunk, tfs_blob_span(first->blob), NULL, what);
    }
    for (size_t i = 0; i < sizeof(owns) / sizeof(owns[0]); i++) {
        struct tfs_chunk chunk = *first;
        chunk.own = owns[i];
        snprintf(what, sizeof(what), "own %#jx", (uintmax_t)owns[i]);
        try_chunk(&chunk, tfs_blob_span(first->blob), NULL, what);
    }
}

static void try_removed(const struct tfs_doc *doc)
{
    struct tfs_buf record = {0};

    begin_record(&record, (uint32_t)doc->count);
    for (size_t i = 0; i < doc->count; i++) {
        put_key(&record, tfs_doc_at(doc, i)->key);
        tfs_buf_u8(&record, 1);
    }
    end_record(&record, 0, 0, (struct tfs_span){0});
    try_record(&record, "all chunks removed");
    begin_record(&record, 1);
    put_key(&record, tfs_doc_at(doc, 0)->key);
    tfs_buf_u8(&record, 1);
    end_record(&record, 0, 0, (struct tfs_span){0});
    try_record(&record, "the first chunk removed");
}

static void try_parts(const struct tfs_doc *doc)
{
    struct tfs_buf record = {0};
    char what[64];

    for (unsigned i = 0; i < SLOTS; i++) {
        const struct tfs_span part =
            doc->common != NULL ? tfs_blob_span(doc->common) : tfs_span_of("0123456789abcdef");
        const size_t sizes[] = {0, 1, part.size / 2, part.size - 1, part.size};
        snprintf(what, sizeof(what), "part %u absent", i);
        begin_record(&record, 0);
        end_record(&record, i, 1, part);
        try_record(&record, what);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            snprintf(what, sizeof(what), "part %u, %zu bytes", i, sizes[k]);
            begin_record(&record, 0);
            end_record(&record, i, 2, (struct tfs_span){part.data, sizes[k]});
            try_record(&record, what);
        }
    }
}

/* Records of several files that say of these what is not so. */
static void try_files(const struct tfs_chunk *first)
{
    static const uint32_t counts[] = {0, 1, 2, 1000000000, UINT32_MAX};
    static const uint64_t hashes[] = {0, 1, UINT64_MAX};
    struct tfs_buf record = {0}, chunk = {0};
    char what[64];

    begin_record(&chunk, 1);
    put_chunk(&chunk, first, tfs_blob_span(first->blob), NULL);
    end_record(&chunk, 0, 0, (struct tfs_span){0});
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (size_t k = 0; k < sizeof(hashes) / sizeof(hashes[0]); k++) {
            make();
            struct tfs_save *save = open_save(TFS_LOCK_NONE);
            put_files(save, &record);
            for (unsigned b = 0; b < 4; b++)
                record.data[b] = (uint8_t)(counts[i] >> 8 * b);
            if (hashes[k] != 1) /* 1: as it is */
                memset(record.data + record.size - 24, (int)(uint8_t)hashes[k], 24);
            if (counts[i] == 2 && tfs_buf_reserve(&record, record.size) != NULL)
                tfs_buf_add(&record, record.data + 4, record.size - 4);
            tfs_buf_add_span(&record, tfs_buf_span(&chunk));
            leave_bytes(save, (struct tfs_hash){0}, tfs_buf_span(&record));
            snprintf(what, sizeof(what), "%u files, hash %jx", counts[i], (uintmax_t)hashes[k]);
            try_journal(save, what);
            tfs_buf_release(&record);
        }
    tfs_buf_release(&chunk);
}

static void try_all(struct tfs_save *save)
{
    struct tfs_doc *doc = tfs_doc_ref(save->doc);
    struct tfs_chunk first = *tfs_doc_at(doc, 0);
    const bool several = tfs_container_has_files(save->container);

    ck_assert_int_eq(tfs_chunk_load(save, tfs_doc_at(doc, 0), &first.blob, &err), 0);
    first.flags &= ~(uint32_t)TFS_CHUNK_UNREAD_ALL;
    tfs_save_close(save);
    try_places(&first);
    try_bytes(&first);
    try_numbers(&first);
    try_removed(doc);
    try_parts(doc);
    if (several)
        try_files(&first);
    tfs_blob_unref(first.blob);
    tfs_doc_unref(doc);
}

START_TEST(hostile_journals_do_no_harm)
{
    kind = _i < small_save_count ? &small_saves[_i] : &zone;
    snprintf(path, sizeof(path), "%s", scratch_path(kind->file));
    make();
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    if (!tfs_container_is_database(save->container))
        try_all(save);
    else
        tfs_save_close(save);
}
END_TEST

/* ---- what becomes of a journal --------------------------------------------------------------- */

static const char *journal_path(void)
{
    static char name[TFS_JOURNAL_NAME];

    tfs_journal_name(path, name);
    return scratch_path(name);
}

static bool has_journal(void)
{
    return access(journal_path(), F_OK) == 0;
}

/* The record of the kind's first edit, made at that time. */
static void make_record(time_t when, struct tfs_buf *record)
{
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    struct tfs_edit edit;
    struct tfs_buf text = {0};
    struct tfs_doc *doc;

    small_edit_text(save, save->doc, &kind->edits[0], &text);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    ck_assert_int_eq(small_edit_apply(save, &edit, &kind->edits[0], tfs_buf_span(&text), &err), 0);
    doc = tfs_edit_finish(&edit);
    ck_assert_int_eq(tfs_record_make(save, save->doc, NULL, doc, (struct timespec){.tv_sec = when},
                                     record, &err),
                     0);
    leave_record(save, tfs_buf_span(record));
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
    tfs_buf_release(&text);
    tfs_save_close(save);
}

/* A save with one edit in its journal. */
static void leave_edit(int i, time_t when)
{
    struct tfs_buf record = {0};

    kind = &small_saves[i];
    snprintf(path, sizeof(path), "%s", scratch_path(kind->file));
    make();
    make_record(when, &record);
    tfs_buf_release(&record);
}

/* All but databases and folders, whose journal is elsewhere. */
static bool has_journals(const struct small_save *save)
{
    static const char *const without[] = {"folder", "minecraft_folder", "stream", "luanti",
                                          "luanti_world"};
    bool has = true;

    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
        has = has && strcmp(save->name, without[i]) != 0;
    return has;
}

static bool keeps_journals(int i)
{
    kind = &small_saves[i];
    snprintf(path, sizeof(path), "%s", scratch_path(kind->file));
    make();
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    const bool keeps = save->container->file != NULL;
    tfs_save_close(save);
    return keeps;
}

static void recover_as(enum tfs_lock lock)
{
    struct tfs_save *save = open_save(lock);

    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s", err.text);
    tfs_save_close(save);
}

static size_t files_beside(void)
{
    DIR *dir = opendir(scratch_dir);
    size_t count = 0;

    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

static void spoil_journal(off_t at)
{
    int fd = open(journal_path(), O_WRONLY);

    ck_assert_int_eq(pwrite(fd, "X", 1, at), 1);
    close(fd);
}

/* Writes the document to a new file, which then says what it says. */
static void write_elsewhere(struct tfs_save *save, struct tfs_doc *doc)
{
    struct tfs_open_options options = {.inflate_limit = TFS_INFLATE_LIMIT, .name = kind->file};
    const char *copy = scratch_path("copy");
    struct tfs_save *written = NULL;

    ck_assert_msg(tfs_whole_file_write(save, doc, NULL, copy, &err) == 0, "%s", err.text);
    ck_assert_msg(tfs_save_open(copy, save->container->format, &options, &written, &err) == 0, "%s",
                  err.text);
    ck_assert(tfs_doc_same(doc, written->doc));
    tfs_save_close(written);
    ck_assert_int_eq(unlink(copy), 0);
}

/* As `merge` writes the save of one side. */
START_TEST(save_that_is_written_elsewhere_has_the_edits_in_its_journal)
{
    struct tfs_edit edit;

    ck_assert(keeps_journals(_i));
    leave_edit(_i, UINT32_MAX);
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    struct tfs_doc *disk = tfs_doc_ref(save->doc);
    write_elsewhere(save, disk);
    ck_assert_int_eq(tfs_recover(save, notice, &err), 0);
    ck_assert(!tfs_doc_same(disk, save->doc));
    write_elsewhere(save, save->doc);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    if (kind->from != NULL)
        ck_assert_int_eq(tfs_edit_remove(&edit, tfs_doc_at(save->doc, 0)->key, &err), 0);
    struct tfs_doc *more = tfs_edit_finish(&edit);
    write_elsewhere(save, more);
    tfs_edit_release(&edit);
    tfs_doc_unref(more);
    tfs_doc_unref(disk);
    tfs_save_close(save);
}
END_TEST

/* What a mount does when its save has followed. */
static void let_save_follow(void)
{
    char kept[TFS_ERROR_TEXT];

    memcpy(kept, notice, sizeof(kept));
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert(!has_journal());
    memcpy(notice, kept, sizeof(kept));
}

static void shows_the_edit(struct tfs_save *save)
{
    struct tfs_save *now = open_save(TFS_LOCK_NONE);

    ck_assert(tfs_doc_same(save->doc, now->doc));
    tfs_save_close(now);
    tfs_save_close(save);
}

START_TEST(reader_sees_an_edit_that_goes_from_the_journal_to_the_save_before_it_looks)
{
    ck_assert(keeps_journals(_i));
    leave_edit(_i, UINT32_MAX);
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    let_save_follow();
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s", err.text);
    ck_assert_str_eq(notice, "");
    shows_the_edit(save);
}
END_TEST

static void (*after_lstat)(void);

/* Takes the place of the C library's, for the whole program. */
int lstat(const char *name, struct stat *st)
{
    int result = fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
    void (*then)(void) = after_lstat;

    if (then != NULL && strcmp(name, journal_path()) == 0) {
        after_lstat = NULL;
        then();
    }
    return result;
}

START_TEST(reader_sees_an_edit_whose_journal_goes_while_it_is_opened)
{
    leave_edit(0, UINT32_MAX);
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    after_lstat = let_save_follow;
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s", err.text);
    shows_the_edit(save);
}
END_TEST

/* A journal whose first record is damaged, with another one behind it. */
static void leave_damaged(void)
{
    struct tfs_journal *journal = NULL;
    struct tfs_save *save;
    struct tfs_hash hash;

    kind = &small_saves[0];
    snprintf(path, sizeof(path), "%s", scratch_path(kind->file));
    make();
    save = open_save(TFS_LOCK_NONE);
    ck_assert_int_eq(hash_save(save, &hash), 0);
    ck_assert_int_eq(
        tfs_journal_create(path, &save->st, hash, NULL, tfs_span_of("first"), &journal, &err), 0);
    ck_assert_int_eq(tfs_journal_append(journal, TFS_JOURNAL_EDIT, tfs_span_of("second"), &err), 0);
    tfs_journal_close(journal);
    tfs_save_close(save);
    spoil_journal(56 + 32);
}

/* Another mount may have it open and rely on it. */
START_TEST(journal_that_is_damaged_at_its_begin_stays_when_the_save_is_only_read)
{
    leave_damaged();
    recover_as(TFS_LOCK_NONE);
    ck_assert_ptr_nonnull(strstr(notice, "damaged at offset 56"));
    ck_assert(has_journal());
    ck_assert_uint_eq(files_beside(), 2);
}
END_TEST

START_TEST(journal_that_is_damaged_is_kept_and_the_notice_begins_with_where)
{
    char wanted[2 * PATH];
    glob_t found;

    leave_damaged();
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert(!has_journal());
    snprintf(wanted, sizeof(wanted), "%s.unsaved-*", path);
    ck_assert_int_eq(glob(wanted, 0, NULL, &found), 0);
    snprintf(wanted, sizeof(wanted),
             "the damaged journal is in %s; "
             "warning: its journal is damaged at offset 56, what follows is not restored",
             found.gl_pathv[0]);
    ck_assert_str_eq(notice, wanted);
    snprintf(wanted, sizeof(wanted), "%s/damaged-journal", found.gl_pathv[0]);
    ck_assert_int_eq(access(wanted, F_OK), 0);
    globfree(&found);
}
END_TEST

/* That date is for what is in saves: directories with one name for all times would end at the
 * hundredth. */
START_TEST(directory_beside_a_save_has_the_date_of_the_clock)
{
    char wanted[PATH + 64];
    glob_t found;

    ck_assert_int_eq(setenv("SOURCE_DATE_EPOCH", "86400", 1), 0);
    leave_damaged();
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert_int_eq(unsetenv("SOURCE_DATE_EPOCH"), 0);
    snprintf(wanted, sizeof(wanted), "%s.unsaved-1970*", path);
    ck_assert_int_eq(glob(wanted, 0, NULL, &found), GLOB_NOMATCH);
}
END_TEST

START_TEST(edits_of_a_save_whose_time_lies_in_the_future_are_restored)
{
    const time_t now = time(NULL);
    const struct timespec times[2] = {{.tv_sec = now + 86400}, {.tv_sec = now + 86400}};

    kind = &small_saves[0];
    leave_edit(0, now + 3600);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_nonnull(strstr(notice, "was restored from its journal"));
}
END_TEST

/* A journal may say any time, also one that no calendar has. */
START_TEST(edits_of_no_time_are_restored)
{
    kind = &small_saves[0];
    leave_edit(0, INT64_MAX);
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_nonnull(strstr(notice, "1 edit until an unknown time was restored"));
}
END_TEST

static void must_name_journal(const char *what)
{
    const struct tfs_open_options writing = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_save *save = NULL;
    char name[TFS_JOURNAL_NAME];

    tfs_journal_name(path, name);
    tfs_error_reset(&err);
    ck_assert_int_lt(tfs_save_open(path, NULL, &writing, &save, &err), 0);
    ck_assert_msg(strstr(err.text, "edits that were accepted wait in its journal") != NULL &&
                      strstr(err.text, name) != NULL,
                  "%s: %s", what, err.text);
    ck_assert(has_journal());
}

/* Whatever took its place is not read, and the edits wait for the save. */
START_TEST(journal_of_a_save_that_is_none_any_more_stays_and_is_named)
{
    char away[PATH_MAX];

    ck_assert(keeps_journals(_i));
    leave_edit(_i, UINT32_MAX);
    snprintf(away, sizeof(away), "%s", scratch_path("away"));
    ck_assert_int_eq(rename(path, away), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    must_name_journal("a folder");
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    must_name_journal("a pipe");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("nothing", path), 0);
    must_name_journal("a link to nothing");
    ck_assert_int_eq(unlink(path), 0);
    scratch_write(strrchr(path, '/') + 1, "");
    if (!tfs_save_is(path, NULL)) /* a region of Minecraft may be empty */
        must_name_journal("an empty file");
    scratch_write(strrchr(path, '/') + 1, "x");
    must_name_journal("another file");
    ck_assert_int_eq(rename(away, path), 0);
    tfs_error_reset(&err);
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_nonnull(strstr(notice, "1 edit until"));
    ck_assert(!has_journal());
}
END_TEST

/* Moved away, or lost: the journal is what is left of the edits. */
START_TEST(journal_of_a_save_that_is_gone_stays_and_is_named)
{
    const struct tfs_open_options writing = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_save *save = NULL;
    char name[TFS_JOURNAL_NAME], away[PATH_MAX];

    ck_assert(keeps_journals(_i));
    leave_edit(_i, UINT32_MAX);
    snprintf(away, sizeof(away), "%s", scratch_path("away"));
    tfs_journal_name(path, name);
    ck_assert_int_eq(rename(path, away), 0);
    ck_assert_int_eq(tfs_save_open(path, NULL, &writing, &save, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "edits that were accepted wait in its journal"));
    ck_assert_ptr_nonnull(strstr(err.text, name));
    ck_assert(has_journal());
    ck_assert_int_eq(rename(away, path), 0);
    tfs_error_reset(&err);
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_nonnull(strstr(notice, "1 edit until"));
    ck_assert(!has_journal());
    ck_assert_int_eq(rename(path, away), 0);
    ck_assert_int_eq(tfs_save_open(path, NULL, &writing, &save, &err), -ENOENT);
    ck_assert_str_eq(err.text, "cannot be opened: No such file or directory");
}
END_TEST

/* As a backup that was put back is, or a save that was copied with its journal. */
START_TEST(edits_of_a_save_that_is_newer_than_they_are_restored)
{
    leave_edit(0, time(NULL) - 3600);
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_nonnull(strstr(notice, "was restored from its journal"));
    ck_assert(!has_journal());
}
END_TEST

/* The journal says so itself: nothing that stands beside a save without write access may go. */
START_TEST(journal_of_a_save_that_cannot_be_written_stays)
{
    struct tfs_save *save;
    struct tfs_error why = {0};

    leave_edit(0, UINT32_MAX);
    FILE *file = fopen(path, "ab"); /* another program's */
    fputc(0, file);
    fclose(file);
    save = open_save(TFS_LOCK_EXCLUSIVE);
    tfs_fail(&why, -EROFS, "it is on a read-only disk");
    tfs_save_set_read_only(save, &why);
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s", err.text);
    tfs_save_close(save);
    ck_assert_ptr_nonnull(strstr(notice, "is not shown, for another program changed"));
    ck_assert(has_journal());
    ck_assert_uint_eq(files_beside(), 2);
}
END_TEST

START_TEST(edits_stay_in_the_journal_when_the_save_cannot_be_written)
{
    struct tfs_buf before = {0}, after = {0};

    leave_edit(_i, UINT32_MAX);
    small_save_bytes(path, &before);
    struct tfs_save *save = open_save(TFS_LOCK_EXCLUSIVE);
    scratch_limit_files(8);
    ck_assert_int_lt(tfs_recover(save, notice, &err), 0);
    scratch_limit_files(RLIM_INFINITY);
    ck_assert_ptr_nonnull(strstr(err.text, "1 edit until"));
    ck_assert_ptr_nonnull(strstr(err.text, "could not be restored from its journal"));
    tfs_save_close(save);
    small_save_bytes(path, &after);
    ck_assert(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));
    recover_as(TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_nonnull(strstr(notice, "was restored from its journal"));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
}
END_TEST

/* A commit and a recovery decode what they write; once is enough. */
static unsigned checks;

static int count_check(struct tfs_cells *cells, unsigned wanted, struct tfs_error *why)
{
    checks += (wanted & TFS_CELLS_CHECK) != 0;
    return cells->save->container->tree->cells->decode(cells, wanted, why);
}

START_TEST(edits_are_checked_once_when_they_go_from_the_journal_into_the_save)
{
    leave_edit(_i, UINT32_MAX);
    struct tfs_save *save = open_save(TFS_LOCK_EXCLUSIVE);
    struct tfs_tree counting = *save->tree;
    struct tfs_cells_kind cells = *counting.cells;
    cells.decode = count_check;
    counting.cells = &cells;
    save->tree = &counting;
    checks = 0;
    ck_assert_int_eq(tfs_recover(save, notice, &err), 0);
    ck_assert_ptr_nonnull(strstr(notice, "1 edit until"));
    save->tree = save->container->tree;
    tfs_save_close(save);
    ck_assert_uint_eq(checks, 1);
}
END_TEST

/* A region in a folder of the other game. */
START_TEST(region_of_a_folder_that_is_read_alone_shows_the_edits_in_the_journal)
{
    char region[3 * PATH];
    glob_t found;

    leave_edit(_i, UINT32_MAX);
    snprintf(region, sizeof(region), "%s/regions/lod*/*.vxr", path);
    ck_assert_int_eq(glob(region, 0, NULL, &found), 0);
    unsigned told = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        ck_assert_uint_lt(strlen(found.gl_pathv[i]), sizeof(path));
        strcpy(path, found.gl_pathv[i]);
        struct tfs_save *save = open_save(TFS_LOCK_NONE);
        struct tfs_doc *before = tfs_doc_ref(save->doc);
        ck_assert_int_eq(tfs_recover(save, notice, &err), 0);
        const bool says = strstr(notice, "only in its journal yet") != NULL;
        ck_assert(says == !tfs_doc_same(before, save->doc));
        ck_assert(says || notice[0] == '\0');
        told += says;
        tfs_doc_unref(before);
        tfs_save_close(save);
    }
    ck_assert_uint_eq(told, 1);
    globfree(&found);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("recover");
    TCase *c = unit_case(s, "journals");

    tcase_add_checked_fixture(c, scratch_setup_in_memory, scratch_teardown);
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, hostile_journals_do_no_harm, 0, small_save_count + 1);
    for (int i = 0; i < small_save_count; i++) {
        if (has_journals(&small_saves[i]) || strstr(small_saves[i].name, "folder") != NULL)
            tcase_add_loop_test(c, edits_stay_in_the_journal_when_the_save_cannot_be_written, i,
                                i + 1);
        if (strcmp(small_saves[i].name, "folder") == 0)
            tcase_add_loop_test(
                c, region_of_a_folder_that_is_read_alone_shows_the_edits_in_the_journal, i, i + 1);
        if (!has_journals(&small_saves[i]))
            continue;
        tcase_add_loop_test(c, edits_are_checked_once_when_they_go_from_the_journal_into_the_save,
                            i, i + 1);
        tcase_add_loop_test(c, save_that_is_written_elsewhere_has_the_edits_in_its_journal, i,
                            i + 1);
        tcase_add_loop_test(c, journal_of_a_save_that_is_gone_stays_and_is_named, i, i + 1);
        tcase_add_loop_test(c, journal_of_a_save_that_is_none_any_more_stays_and_is_named, i,
                            i + 1);
        tcase_add_loop_test(
            c, reader_sees_an_edit_that_goes_from_the_journal_to_the_save_before_it_looks, i,
            i + 1);
    }
    tcase_add_test(c, reader_sees_an_edit_whose_journal_goes_while_it_is_opened);
    tcase_add_test(c, journal_that_is_damaged_at_its_begin_stays_when_the_save_is_only_read);
    tcase_add_test(c, journal_that_is_damaged_is_kept_and_the_notice_begins_with_where);
    tcase_add_test(c, directory_beside_a_save_has_the_date_of_the_clock);
    tcase_add_test(c, edits_of_a_save_whose_time_lies_in_the_future_are_restored);
    tcase_add_test(c, edits_of_no_time_are_restored);
    tcase_add_test(c, edits_of_a_save_that_is_newer_than_they_are_restored);
    tcase_add_test(c, journal_of_a_save_that_cannot_be_written_stays);
    return s;
}

UNIT_MAIN(suite)
