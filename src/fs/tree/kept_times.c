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

#define MAGIC      "terrainfs times 1\n"
#define MAGIC_SIZE (sizeof(MAGIC) - 1)
#define ITEM_SIZE  40
#define END_SIZE   8
#define SIZE_MOST  (MAGIC_SIZE + 16 + TFS_KEPT_TIMES_MAX * ITEM_SIZE + END_SIZE)
#define NANO       INT64_C(1000000000)

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

static void take_item(struct tfs_cursor *c, struct tfs_kept_time *item)
{
    item->key.group = tfs_take_u32le(c);
    item->key.x = (int32_t)tfs_take_u32le(c);
    item->key.y = (int32_t)tfs_take_u32le(c);
    item->key.z = (int32_t)tfs_take_u32le(c);
    item->checksum = tfs_take_u64le(c);
    item->mtime = (int64_t)tfs_take_u64le(c);
    item->ctime = (int64_t)tfs_take_u64le(c);
}

/* Takes what is whole, of this program, and in order; else nothing. */
static void take_items(struct tfs_kept_times *kept, struct tfs_span text)
{
    if (text.size < MAGIC_SIZE + 16 + END_SIZE || memcmp(text.data, MAGIC, MAGIC_SIZE) != 0)
        return;
    const size_t body = text.size - END_SIZE;
    struct tfs_cursor end = tfs_cursor_init((struct tfs_span){text.data + body, END_SIZE});
    struct tfs_cursor c =
        tfs_cursor_init((struct tfs_span){text.data + MAGIC_SIZE, body - MAGIC_SIZE});
    if (tfs_take_u64le(&end) != tfs_checksum((struct tfs_span){text.data, body}, 0) ||
        tfs_take_u64le(&c) != kept->program)
        return;
    const uint64_t count = tfs_take_u64le(&c);
    const size_t room = (body - MAGIC_SIZE - 16) / ITEM_SIZE;
    if (count != room || room * ITEM_SIZE != body - MAGIC_SIZE - 16 || count == 0)
        return;
    struct tfs_kept_time *items = calloc(room, sizeof(*items));
    bool sorted = items != NULL;
    for (size_t i = 0; i < room && sorted; i++) {
        take_item(&c, &items[i]);
        sorted = i == 0 || compare_items(&items[i - 1], &items[i]) < 0;
    }
    if (!sorted) {
        free(items);
        return;
    }
    kept->items = items;
    kept->count = room;
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

bool tfs_kept_times_find(struct tfs_kept_times *kept, struct tfs_save *save,
                         const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                         struct timespec *mtime, struct timespec *ctime)
{
    const struct tfs_kept_time wanted = {.key = chunk->key};
    const struct tfs_kept_time *item =
        kept->count == 0
            ? NULL
            : bsearch(&wanted, kept->items, kept->count, sizeof(*kept->items), compare_items);
    uint64_t checksum;

    if (item == NULL || !checksum_of(kept, save, doc, chunk, &checksum) ||
        checksum != item->checksum)
        return false;
    *mtime = timespec_of(item->mtime);
    *ctime = timespec_of(item->ctime);
    return true;
}

void tfs_kept_times_note(struct tfs_kept_times *kept, struct tfs_kept_notes *notes,
                         struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_chunk *chunk, struct timespec mtime,
                         struct timespec ctime)
{
    struct tfs_kept_time item = {.key = chunk->key};

    if (kept->path == NULL || notes->count >= TFS_KEPT_TIMES_MAX ||
        !nanoseconds_of(mtime, &item.mtime) || !nanoseconds_of(ctime, &item.ctime) ||
        !checksum_of(kept, save, doc, chunk, &item.checksum))
        return;
    struct tfs_kept_time *items = tfs_array_grow(notes->items, notes->count, sizeof(*items));
    if (items == NULL)
        return;
    notes->items = items;
    notes->items[notes->count++] = item;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_item(struct tfs_buf *out, const struct tfs_kept_time *item)
{
    tfs_buf_u32le(out, item->key.group);
    tfs_buf_u32le(out, (uint32_t)item->key.x);
    tfs_buf_u32le(out, (uint32_t)item->key.y);
    tfs_buf_u32le(out, (uint32_t)item->key.z);
    tfs_buf_u64le(out, item->checksum);
    tfs_buf_u64le(out, (uint64_t)item->mtime);
    tfs_buf_u64le(out, (uint64_t)item->ctime);
}

/* Both lists are by key; of two items of one key the new one counts. Returns how many they are;
 * `out` may be NULL. */
static size_t merge(const struct tfs_kept_times *kept, const struct tfs_kept_notes *notes,
                    struct tfs_buf *out)
{
    size_t count = 0, old = 0, new = 0;

    while (count < TFS_KEPT_TIMES_MAX && (old < kept->count || new < notes->count)) {
        int order = old == kept->count    ? 1
                    : new == notes->count ? -1
                                          : compare_items(&kept->items[old], &notes->items[new]);
        const struct tfs_kept_time *item = order < 0 ? &kept->items[old] : &notes->items[new];
        old += order <= 0;
        new += order >= 0;
        if (out != NULL)
            put_item(out, item);
        count++;
    }
    return count;
}

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

void tfs_kept_times_write(struct tfs_kept_times *kept, struct tfs_kept_notes *notes)
{
    struct tfs_buf out = {0};

    if (kept->path != NULL && notes->count > 0) {
        qsort(notes->items, notes->count, sizeof(*notes->items), compare_items);
        tfs_buf_add(&out, MAGIC, MAGIC_SIZE);
        tfs_buf_u64le(&out, kept->program);
        tfs_buf_u64le(&out, merge(kept, notes, NULL));
        (void)merge(kept, notes, &out);
        tfs_buf_u64le(&out, tfs_checksum(tfs_buf_span(&out), 0));
        if (!out.failed)
            replace(kept->path, tfs_buf_span(&out));
    }
    tfs_buf_release(&out);
    free(notes->items);
    *notes = (struct tfs_kept_notes){0};
}
