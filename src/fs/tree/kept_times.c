/*
 * Chunks and their times <-> the state file: see kept_times.h.
 */
#include "fs/tree/kept_times.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/print.h"

#define MAGIC      "terrainfs times 2\n"
#define MAGIC_SIZE (sizeof(MAGIC) - 1)
#define HEAD_SIZE  (MAGIC_SIZE + sizeof(uint64_t))
#define END_SIZE   sizeof(uint64_t)
#define ITEM_SIZE  sizeof(struct tfs_kept_time)
#define SIZE_MOST  (HEAD_SIZE + TFS_KEPT_TIMES_MAX * ITEM_SIZE + END_SIZE)
#define NANO       INT64_C(1000000000)

_Static_assert(ITEM_SIZE == 40, "an item is written as it lies in memory");

/* ---- the state file's name ------------------------------------------------------------------- */

static char *state_path(const char *save)
{
    const struct tfs_hash hash = tfs_hash_of(tfs_span_of(save));
    char *state = tfs_state_directory(), *path = NULL;

    if (state != NULL && tfs_print(&path, "%s/terrainfs/times/%016" PRIx64 "%016" PRIx64, state,
                                   hash.high, hash.low) < 0)
        path = NULL;
    free(state);
    return path;
}

/* Another build of the program may print other texts of the same bytes. */
static uint64_t program_checksum(void)
{
    struct stat st;
    int64_t facts[3] = {0};

    if (stat("/proc/self/exe", &st) == 0) {
        facts[0] = st.st_size;
        facts[1] = st.st_mtim.tv_sec;
        facts[2] = st.st_mtim.tv_nsec;
    }
    return tfs_checksum((struct tfs_span){(const uint8_t *)facts, sizeof(facts)}, 0);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    return tfs_key_compare(((const struct tfs_kept_time *)a)->key,
                           ((const struct tfs_kept_time *)b)->key);
}

static uint64_t number_at(const uint8_t *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

static int add_item(struct tfs_kept_times *kept, struct tfs_kept_time item)
{
    struct tfs_kept_time *items = kept->count < TFS_KEPT_TIMES_MAX
                                      ? tfs_array_grow(kept->items, kept->count, ITEM_SIZE)
                                      : NULL;

    if (items == NULL)
        return -ENOMEM;
    kept->items = items;
    items[kept->count++] = item;
    return 0;
}

/* Takes what is whole, and of this program; else nothing. */
static void take_items(struct tfs_kept_times *kept, struct tfs_span text)
{
    if (text.size < HEAD_SIZE + END_SIZE || memcmp(text.data, MAGIC, MAGIC_SIZE) != 0)
        return;
    const size_t end = text.size - END_SIZE;
    struct tfs_kept_time item;
    if ((end - HEAD_SIZE) % ITEM_SIZE != 0 ||
        number_at(text.data + end) != tfs_checksum((struct tfs_span){text.data, end}, 0) ||
        number_at(text.data + MAGIC_SIZE) != kept->program)
        return;
    for (size_t at = HEAD_SIZE; at < end; at += ITEM_SIZE) {
        memcpy(&item, text.data + at, ITEM_SIZE);
        if (add_item(kept, item) < 0)
            return;
    }
    kept->sorted = kept->count;
}

void tfs_kept_times_open(struct tfs_kept_times *kept, const struct tfs_save *save)
{
    struct tfs_file_handle file;
    struct tfs_error ignored = {0};
    struct tfs_blob *text = NULL;

    *kept = (struct tfs_kept_times){.path = state_path(save->path), .program = program_checksum()};
    if (kept->path == NULL || tfs_file_open(kept->path, false, &file, &ignored) < 0)
        return;
    if (tfs_file_read(&file, SIZE_MOST, &text, &ignored) == 0)
        take_items(kept, tfs_blob_span(text));
    tfs_blob_unref(text);
    tfs_file_close(&file);
}

void tfs_kept_times_release(struct tfs_kept_times *kept)
{
    free(kept->path);
    free(kept->items);
    *kept = (struct tfs_kept_times){0};
}

/* ---- checksums ------------------------------------------------------------------------------- */

/* What the texts of all chunks depend on. */
static uint64_t seed_of(struct tfs_kept_times *kept, const struct tfs_doc *doc)
{
    if (kept->version == doc->version && doc->version != 0)
        return kept->seed;
    kept->seed = tfs_checksum(tfs_blob_span(doc->common), kept->program);
    kept->version = doc->version;
    return kept->seed;
}

static uint64_t add_value(const struct tfs_blob *value, uint64_t sum)
{
    return tfs_checksum(tfs_blob_span(value), sum + (value != NULL));
}

/* False: the stored bytes cannot be had now. */
static bool checksum_of(struct tfs_kept_times *kept, struct tfs_save *save,
                        const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                        uint64_t *checksum)
{
    const struct tfs_span tag = {(const uint8_t *)&chunk->tag, sizeof(chunk->tag)};
    struct tfs_chunk copy = *chunk;
    struct tfs_error ignored = {0};
    bool had = true;

    tfs_blob_ref(copy.blob);
    tfs_blob_ref(copy.extra);
    if ((copy.flags & TFS_CHUNK_UNREAD_ALL) != 0)
        had = tfs_chunks_fetch(save, &copy, 1, &ignored) == 1;
    if (had)
        *checksum =
            add_value(copy.extra, add_value(copy.blob, tfs_checksum(tag, seed_of(kept, doc))));
    tfs_blob_unref(copy.blob);
    tfs_blob_unref(copy.extra);
    return had;
}

/* ---- times ----------------------------------------------------------------------------------- */

static struct timespec timespec_of(int64_t time)
{
    int64_t seconds = time / NANO - (time % NANO < 0);

    return (struct timespec){.tv_sec = seconds, .tv_nsec = time - seconds * NANO};
}

/* Years beyond the range are not kept: false. */
static bool nanoseconds_of(struct timespec time, int64_t *nano)
{
    return !__builtin_mul_overflow((int64_t)time.tv_sec, NANO, nano) &&
           !__builtin_add_overflow(*nano, (int64_t)time.tv_nsec, nano);
}

/* Among those of earlier mounts. */
static struct tfs_kept_time *find_item(const struct tfs_kept_times *kept, struct tfs_key key)
{
    const struct tfs_kept_time wanted = {.key = key};

    return kept->sorted == 0
               ? NULL
               : bsearch(&wanted, kept->items, kept->sorted, ITEM_SIZE, compare_items);
}

bool tfs_kept_times_find(struct tfs_kept_times *kept, struct tfs_save *save,
                         const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                         struct timespec *mtime, struct timespec *ctime)
{
    const struct tfs_kept_time *item = find_item(kept, chunk->key);
    uint64_t checksum;

    if (item == NULL || !checksum_of(kept, save, doc, chunk, &checksum) ||
        checksum != item->checksum)
        return false;
    *mtime = timespec_of(item->mtime);
    *ctime = timespec_of(item->ctime);
    return true;
}

void tfs_kept_times_note(struct tfs_kept_times *kept, struct tfs_save *save,
                         const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                         struct timespec mtime, struct timespec ctime)
{
    struct tfs_kept_time *old = find_item(kept, chunk->key);
    struct tfs_kept_time item = {.key = chunk->key};

    if (kept->path == NULL || !nanoseconds_of(mtime, &item.mtime) ||
        !nanoseconds_of(ctime, &item.ctime) || !checksum_of(kept, save, doc, chunk, &item.checksum))
        return;
    if (old != NULL)
        *old = item;
    else if (add_item(kept, item) < 0)
        return;
    kept->noted = true;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A reader finds the old file or the new one. It is not synced: losing it costs reading again. */
static void replace(char *path, struct tfs_span text)
{
    char *temporary;

    if (tfs_print(&temporary, "%s.%ld", path, (long)getpid()) < 0)
        return;
    tfs_file_make_parents(path, 0700);
    (void)unlink(temporary);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text.data, text.size) == (ssize_t)text.size;
    if (fd >= 0 && (close(fd) < 0 || !written || rename(temporary, path) < 0))
        (void)unlink(temporary);
    free(temporary);
}

static void add_number(struct tfs_buf *out, uint64_t number)
{
    tfs_buf_add(out, &number, sizeof(number));
}

void tfs_kept_times_write(struct tfs_kept_times *kept)
{
    struct tfs_buf out = {0};

    if (!kept->noted)
        return;
    qsort(kept->items, kept->count, ITEM_SIZE, compare_items);
    tfs_buf_add(&out, MAGIC, MAGIC_SIZE);
    add_number(&out, kept->program);
    tfs_buf_add(&out, kept->items, kept->count * ITEM_SIZE);
    add_number(&out, tfs_checksum(tfs_buf_span(&out), 0));
    if (!out.failed)
        replace(kept->path, tfs_buf_span(&out));
    tfs_buf_release(&out);
}
