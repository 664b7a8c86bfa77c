/*
 * Any bytes as a journal beside a small save, or in a zone or folder of regions: records with good
 * checksums that say anything, and journals that were cut or changed. Whatever it says, whoever
 * opens the save without the lock writes nothing, and shows one that its game could have made,
 *   whoever opens it with the lock finds the same, or what the save held; the save opens again, and
 *   nothing but the save and what was set aside is left.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/fuzz_saves.h"
#include "../lib/lens_check.h"
#include "../lib/small_saves.h"
#include "../lib/journal_case.h"
#include "formats/journal.h"
#include "fs/recovery/recover.h"
#include "fs/store/store.h"
#include "fuzz.h"

#define RECORDS_MAX 8
#define CHUNKS_MAX  6

static const enum fuzz_save kinds[] = {
    FUZZ_REGION_TABLE, FUZZ_REGION_COLUMNS, FUZZ_BLOB,     FUZZ_BINARY,
    FUZZ_XML,          FUZZ_BLOCK,          FUZZ_VXR,      FUZZ_TER,
    FUZZ_CORNERS,      FUZZ_COMMUNITY,      FUZZ_OLD_BLOCK};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Saves of several files: a zone of Cosmic Reach, of this many kinds, and a folder of Godot. */
#define SEVERAL      64 /* of 256 inputs */
#define ZONE_REGIONS 2

static char path[FUZZ_PATH];
static char *beside; /* of the journal */
static struct tfs_cursor in;
static struct tfs_error err;
static char notice[TFS_ERROR_TEXT];

static struct tfs_save *open_save(enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock, .inflate_limit = TFS_INFLATE_LIMIT};
    struct tfs_save *save = NULL;

    tfs_error_reset(&err);
    if (tfs_save_open(path, NULL, &options, &save, &err) < 0) {
        fprintf(stderr, "the save cannot be opened: %s\n", err.text);
        abort();
    }
    return save;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Bytes that are stored, as they are or with some of them replaced. */
static void put_spliced(struct tfs_buf *out, struct tfs_span bytes)
{
    const size_t at = tfs_take_u16le(&in) % (bytes.size + 1), gone = tfs_take_u8(&in);
    const size_t size = tfs_take_u8(&in), left = tfs_cursor_left(&in);
    const struct tfs_span more = tfs_take(&in, size < left ? size : left);
    const size_t rest = at + gone < bytes.size ? at + gone : bytes.size;

    tfs_buf_u64le(out, at + more.size + bytes.size - rest);
    if (at > 0)
        tfs_buf_add(out, bytes.data, at);
    tfs_buf_add_span(out, more);
    if (rest < bytes.size)
        tfs_buf_add(out, bytes.data + rest, bytes.size - rest);
}

/* Near a number that fits, mostly. */
static int32_t take_near(int32_t number, unsigned how)
{
    const int32_t delta = (int8_t)tfs_take_u8(&in);

    return how == 0   ? number
           : how == 1 ? (int32_t)((uint32_t)number + (uint32_t)delta)
                      : (int32_t)tfs_take_u32le(&in);
}

/* Keys of the chunks of a record. */
static struct tfs_key keys[CHUNKS_MAX];
static unsigned key_count;

static void put_key(struct tfs_buf *out, struct tfs_key key)
{
    tfs_buf_u32le(out, key.group);
    tfs_buf_u32le(out, (uint32_t)key.x);
    tfs_buf_u32le(out, (uint32_t)key.y);
    tfs_buf_u32le(out, (uint32_t)key.z);
}

static void put_stored(struct tfs_buf *out, struct tfs_save *save, const struct tfs_chunk *chunk)
{
    struct tfs_blob *blob = NULL;

    REQUIRE(tfs_chunk_load(save, chunk, &blob, &err) == 0);
    put_spliced(out, tfs_blob_span(blob));
    tfs_blob_unref(blob);
}

static void put_chunk(struct tfs_buf *out, struct tfs_save *save)
{
    const struct tfs_chunk *chunk = tfs_doc_at(save->doc, tfs_take_u8(&in) % save->doc->count);
    const unsigned how = tfs_take_u8(&in), flags = tfs_take_u8(&in);
    struct tfs_key key;

    key.group = (uint32_t)take_near((int32_t)chunk->key.group, how >> 6);
    key.x = take_near(chunk->key.x, how & 3);
    key.y = take_near(chunk->key.y, how >> 2 & 3);
    key.z = take_near(chunk->key.z, how >> 4 & 3);
    keys[key_count++] = key;
    put_key(out, key);
    tfs_buf_u8(out, (uint8_t)(flags < 128 ? 2 | (chunk->extra != NULL ? 4 : 0) | (flags & 8)
                                          : flags & 15));
    if (flags >= 128 && (flags & 15) == 1)
        return;
    tfs_buf_u32le(out, (uint32_t)take_near((int32_t)chunk->tag, flags >> 4 & 3));
    tfs_buf_u32le(
        out, (flags & 64) != 0 ? tfs_take_u8(&in) : chunk->flags & ~(uint32_t)TFS_CHUNK_UNREAD_ALL);
    if ((flags & 8) != 0)
        tfs_buf_u64le(out, chunk->own + (uint64_t)(int8_t)tfs_take_u8(&in));
    put_stored(out, save, chunk);
    if (chunk->extra != NULL && (flags < 128 || (flags & 4) != 0))
        put_spliced(out, tfs_blob_span(chunk->extra));
    else if (flags >= 128 && (flags & 4) != 0)
        put_stored(out, save, chunk);
}

static void put_common(struct tfs_buf *out, const struct tfs_doc *doc)
{
    const unsigned how = tfs_take_u8(&in) % 4;

    tfs_buf_u8(out, (uint8_t)how);
    if (how == 2)
        put_spliced(out, doc->common != NULL ? tfs_blob_span(doc->common) : (struct tfs_span){0});
}

/* A file with the hash of what it holds, mostly. */
static void put_file(struct tfs_buf *out, struct tfs_save *save, struct tfs_key file, bool other)
{
    struct tfs_hash hash;
    struct stat st;

    REQUIRE(save->container->journal->hash(save, file, &hash, &st, &err) == 0);
    put_key(out, file);
    tfs_buf_u64le(out, other ? tfs_take_u8(&in) : hash.size);
    tfs_buf_u64le(out, hash.low);
    tfs_buf_u64le(out, hash.high);
}

/* What the record of several files begins with: those of its chunks, or not quite. */
static void put_files(struct tfs_buf *out, struct tfs_save *save)
{
    const unsigned how = tfs_take_u8(&in);

    tfs_buf_u32le(out,
                  how == 255 ? tfs_take_u32le(&in) : key_count - (how == 254 && key_count > 0));
    for (unsigned i = 0; i < key_count; i++)
        put_file(out, save, save->container->journal->file_of(save, keys[i]),
                 how >= 128 && (how >> i & 1) != 0);
}

static void make_chunks(struct tfs_buf *out, struct tfs_save *save, unsigned how)
{
    const struct tfs_doc *doc = save->doc;
    const unsigned chunks = how % (CHUNKS_MAX + 1);

    tfs_buf_u64le(out, (how & 128) != 0 ? 1 : UINT64_C(4000000000)); /* 1: it was put back since */
    tfs_buf_u32le(out, 0);
    tfs_buf_u32le(out, doc->count > 0 ? chunks : 0);
    for (unsigned i = 0; i < chunks && doc->count > 0; i++)
        put_chunk(out, save);
    put_common(out, doc);
}

/* One as an edit leaves it, or any bytes. */
static void make_record(struct tfs_buf *out, struct tfs_save *save)
{
    const unsigned how = tfs_take_u8(&in);
    struct tfs_buf chunks = {0};

    key_count = 0;
    if (how == 255)
        tfs_buf_add_span(out, tfs_take(&in, tfs_take_u8(&in) % (tfs_cursor_left(&in) + 1)));
    else
        make_chunks(&chunks, save, how);
    if (how != 255 && tfs_container_has_files(save->container))
        put_files(out, save);
    tfs_buf_add_span(out, tfs_buf_span(&chunks));
    tfs_buf_release(&chunks);
}

/* A FILE of a file that was named, which holds that or not. */
static void make_wrote(struct tfs_buf *out, struct tfs_save *save)
{
    const unsigned how = tfs_take_u8(&in);

    put_file(out, save,
             save->container->journal->file_of(
                 save, key_count > 0 ? keys[how % key_count] : (struct tfs_key){0}),
             (how & 64) != 0);
    tfs_buf_u8(out, (uint8_t)(how >> 7));
}

/* ---- the journal ----------------------------------------------------------------------------- */

static int journal_fd(int flags)
{
    char name[TFS_JOURNAL_NAME], whole[2 * FUZZ_PATH];

    tfs_journal_name(beside, name);
    snprintf(whole, sizeof(whole), "%.*s/%s", (int)(strrchr(beside, '/') - beside), beside, name);
    return open(whole, flags);
}

static void append_more(struct tfs_journal *journal, struct tfs_save *save, struct tfs_hash hash)
{
    const bool several = tfs_container_has_files(save->container);

    for (unsigned i = 0, count = tfs_take_u8(&in) % RECORDS_MAX; i < count; i++) {
        struct tfs_buf record = {0};
        const unsigned what = tfs_take_u8(&in) % 8;
        struct tfs_hash finished = hash;
        finished.low += what & 1;
        if (what < 5)
            make_record(&record, save);
        else if (what > 5 && several)
            make_wrote(&record, save);
        if (what == 5)
            REQUIRE(tfs_journal_mark(journal, &err) == 0);
        else if (what > 5 && several)
            REQUIRE(tfs_journal_append(journal, TFS_JOURNAL_FILE, tfs_buf_span(&record), &err) ==
                    0);
        else if (what > 5)
            REQUIRE((i % 2 == 0
                         ? journal_done(journal, finished, &err)
                         : tfs_record_wrote(journal, (struct tfs_record_file){.hash = finished},
                                            true, &err)) == 0);
        else
            REQUIRE(tfs_journal_append(journal, TFS_JOURNAL_EDIT, tfs_buf_span(&record), &err) ==
                    0);
        tfs_buf_release(&record);
    }
}

/* Cuts it, or changes bytes of it. */
static void spoil(void)
{
    const int fd = journal_fd(O_RDWR);
    const off_t size = lseek(fd, 0, SEEK_END);

    REQUIRE(fd >= 0 && size > 0);
    for (unsigned i = 0, count = tfs_take_u8(&in) % 4; i < count; i++) {
        const uint8_t byte = tfs_take_u8(&in);
        REQUIRE(pwrite(fd, &byte, 1, (off_t)tfs_take_u16le(&in) % size) == 1);
    }
    if ((tfs_take_u8(&in) & 3) == 3)
        REQUIRE(ftruncate(fd, (off_t)tfs_take_u16le(&in) % size) == 0);
    close(fd);
}

static void leave_journal(void)
{
    struct tfs_save *save = open_save(TFS_LOCK_NONE);
    struct tfs_journal *journal = NULL;
    struct tfs_buf record = {0};
    struct tfs_hash hash = {0};
    struct stat st;

    free(beside);
    beside = tfs_journal_beside(save);
    REQUIRE(save->container->file == NULL ||
            save->container->journal->hash(save, (struct tfs_key){0}, &hash, &st, &err) == 0);
    make_record(&record, save);
    struct tfs_hash begun = hash;
    begun.low += tfs_take_u8(&in) == 255; /* another save's */
    REQUIRE(tfs_journal_create(beside, &save->st, begun, NULL, tfs_buf_span(&record), &journal,
                               &err) == 0);
    append_more(journal, save, hash);
    tfs_journal_close(journal);
    tfs_buf_release(&record);
    tfs_save_close(save);
    spoil();
}

/* ---- what comes of it ------------------------------------------------------------------------ */

static struct tfs_save *recover(enum tfs_lock lock)
{
    struct tfs_save *save = open_save(lock);

    if (tfs_recover(save, notice, &err) < 0) {
        fprintf(stderr, "with its journal the save cannot be opened: %s\n", err.text);
        abort();
    }
    return save;
}

static bool is_left(const char *what)
{
    DIR *dir = opendir(fuzz_save_dir());
    bool found = false;

    REQUIRE(dir != NULL);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        found = found || strstr(e->d_name, what) != NULL;
    closedir(dir);
    return found;
}

/* Whether edits were shown to one who may not write. */
static bool read_only(struct tfs_save **reader)
{
    struct tfs_buf before = {0}, after = {0};

    small_save_bytes(path, &before);
    *reader = recover(TFS_LOCK_NONE);
    const bool shown = strstr(notice, " only in its journal yet") != NULL;
    if (shown)
        lens_check_reads(*reader, (*reader)->doc, NULL);
    small_save_bytes(path, &after);
    REQUIRE(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));
    REQUIRE(!is_left(".unsaved-"));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
    return shown;
}

/* Bytes of chunks that lie in a region are as good as those that a journal had. */
static bool reads_same(struct tfs_save *a, struct tfs_save *b)
{
    bool same = a->doc->count == b->doc->count;

    if (!tfs_container_has_files(a->container))
        return tfs_doc_same(a->doc, b->doc);
    for (size_t i = 0; same && i < a->doc->count; i++) {
        const struct tfs_chunk *left = tfs_doc_at(a->doc, i), *right = tfs_doc_at(b->doc, i);
        struct tfs_blob *of_a = NULL, *of_b = NULL;
        /* The reader's save was written meanwhile: what it did not fetch is stale. */
        same = tfs_key_compare(left->key, right->key) == 0 &&
               tfs_chunk_load(b, right, &of_b, &err) == 0;
        if (same && !tfs_chunk_is_unread(left, false) && tfs_chunk_load(a, left, &of_a, &err) == 0)
            same = tfs_blob_equal(of_a, of_b);
        tfs_blob_unref(of_a);
        tfs_blob_unref(of_b);
    }
    return same;
}

static void make_zone(void)
{
    char folder[FUZZ_PATH + 32], old[FUZZ_PATH], region[FUZZ_PATH + 128];

    snprintf(path, sizeof(path), "%s/zone", fuzz_save_dir());
    snprintf(folder, sizeof(folder), "%s/regions", path);
    REQUIRE(mkdir(path, 0755) == 0 && mkdir(folder, 0755) == 0);
    snprintf(region, sizeof(region), "%s/zoneInfo.json", path);
    fuzz_save_write(region, tfs_span_of("{}"));
    for (int i = 0; i < ZONE_REGIONS; i++) {
        fuzz_save_make(i == 0 ? FUZZ_REGION_TABLE : FUZZ_REGION_COLUMNS, folder, old);
        snprintf(region, sizeof(region), "%s/region_%d_0_0.cosmicreach", folder, -i);
        REQUIRE(rename(old, region) == 0);
    }
}

static void make_save(void)
{
    const unsigned which = tfs_take_u8(&in);

    if (which >= 256 - SEVERAL && which % 2 == 0)
        make_zone();
    else
        fuzz_save_make(which < 256 - SEVERAL ? kinds[which % KINDS] : FUZZ_FOLDER, fuzz_save_dir(),
                       path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_save *reader;

    in = tfs_cursor_init((struct tfs_span){data, size});
    fuzz_save_clear(fuzz_save_dir());
    make_save();
    leave_journal();
    const bool shown = read_only(&reader);
    struct tfs_save *save = recover(TFS_LOCK_EXCLUSIVE);
    const bool written = strstr(notice, " restored from its journal") != NULL;
    REQUIRE(!shown || (written && reads_same(reader, save)));
    REQUIRE(save->no_journal || (!is_left(".terrainfs-") && journal_fd(O_RDONLY) < 0));
    tfs_save_close(reader);
    tfs_save_close(save);
    save = recover(TFS_LOCK_NONE);
    /* One without edits is what was made. */
    if (written)
        lens_check_reads(save, save->doc, NULL);
    tfs_save_close(save);
    return 0;
}
