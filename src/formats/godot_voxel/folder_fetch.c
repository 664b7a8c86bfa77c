/*
 * A block's coordinate -> its bytes in a region of the folder, for several threads at once.
 *
 * Must not know documents, nor how regions change. Under own->lock is looked up where a block lies
 * and in which file; that is opened and read without, for it takes longest. That it is the block of
 * that table all the same rests on three things: a commit replaces the old file by a new
 * one, which an open descriptor still reads; a file is looked at after the reading, and one that
 * others wrote into meanwhile, or that was put there since, is not the one that was known; and what
 * is found to be so is tried once more, with a file that is opened under the lock, where no commit
 * of ours comes in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/refs.h"
#include "formats/godot_voxel/folder.h"

#define OPENED_MAX 16 /* files that are kept open */

/* ---- open files ------------------------------------------------------------------------------ */

/* A region file that blocks are fetched from. */
struct tfs_godot_opened {
    atomic_uint refs;
    struct tfs_key key;
    struct tfs_file_handle file;
};

static bool opened_is(const void *opened, const void *key)
{
    return tfs_key_compare(((const struct tfs_godot_opened *)opened)->key,
                           *(const struct tfs_key *)key) == 0;
}

static size_t opened_weight(const void *opened)
{
    (void)opened;
    return 1;
}

static void opened_ref(void *opened)
{
    tfs_refs_add(&((struct tfs_godot_opened *)opened)->refs);
}

static void opened_unref(void *object)
{
    struct tfs_godot_opened *opened = object;

    if (opened == NULL || !tfs_refs_drop(&opened->refs))
        return;
    tfs_file_close(&opened->file);
    free(opened);
}

static const struct tfs_recent_kind opened_files = {opened_is, opened_weight, opened_ref,
                                                    opened_unref};

void tfs_godot_folder_opened_init(struct tfs_recent *recent)
{
    tfs_recent_init(recent, &opened_files, OPENED_MAX);
}

/* The index knows the region: that it is not there is no ENOENT, which means that there is no such
 * block. */
static int fail_gone(const struct tfs_save *save, struct tfs_error *err)
{
    struct stat st;

    tfs_error_reset(err);
    if (lstat(save->path, &st) < 0)
        return tfs_fail(err, -EIO, "the folder is not where it was: %s", strerror(errno));
    return tfs_fail(err, -ESTALE, "another program removed the region of this chunk");
}

static int opened_make(const struct tfs_save *save, struct tfs_key key,
                       struct tfs_godot_opened **opened, struct tfs_error *err)
{
    char *path = tfs_godot_folder_region_path(save->path, key);
    struct tfs_godot_opened *made = calloc(1, sizeof(*made));

    if (path == NULL || made == NULL)
        tfs_fail_memory(err);
    else if (tfs_file_open(path, false, &made->file, err) == -ENOENT)
        fail_gone(save, err);
    free(path);
    if (err->code < 0) {
        free(made);
        return err->code;
    }
    atomic_init(&made->refs, 1);
    made->key = key;
    *opened = made;
    return 0;
}

/* ---- where to read --------------------------------------------------------------------------- */

/* Bytes that are to be read, and the file that they are known to be in. */
struct source {
    struct tfs_key region;
    struct stat st;
    uint64_t offset, size;
    uint64_t reading;                /* as many had found something new */
    struct tfs_godot_opened *opened; /* a reference */
};

/* Sets all but `opened`. The caller holds the lock. ENOENT: there is no such thing, which is no
 * failure. */
typedef int (*locate_fn)(const struct tfs_godot_folder *own, struct tfs_key key,
                         struct source *source, struct tfs_error *err);

static void set_block(struct source *source, const struct tfs_godot_region_file *file,
                      const struct tfs_godot_slot *slot)
{
    source->region = file->file.key;
    source->st = file->file.st;
    source->offset = tfs_extent_offset(&file->region.sectors, slot->extent);
    source->size =
        tfs_extent_size(&file->region.sectors, slot->extent, (uint64_t)file->file.st.st_size);
}

static int locate_block(const struct tfs_godot_folder *own, struct tfs_key key,
                        struct source *source, struct tfs_error *err)
{
    uint32_t index;
    struct tfs_key region = tfs_godot_folder_region_of(&own->index.meta, key, &index);
    const struct tfs_godot_region_file *file = tfs_godot_index_find(&own->index, region);
    const struct tfs_godot_slot *slot =
        file == NULL ? NULL : tfs_godot_region_file_slot(file, index);

    if (slot == NULL)
        return tfs_fail(err, -ESTALE, "another program removed this block");
    set_block(source, file, slot);
    return 0;
}

static int locate_palette(const struct tfs_godot_folder *own, struct tfs_key key,
                          struct source *source, struct tfs_error *err)
{
    uint32_t index;
    struct tfs_key region = tfs_godot_folder_region_of(&own->index.meta, key, &index);
    const struct tfs_godot_region_file *file = tfs_godot_index_find(&own->index, region);

    (void)err;
    if (file == NULL || !file->region.palette)
        return -ENOENT;
    source->region = region;
    source->st = file->file.st;
    source->offset = TFS_GODOT_REGION_HEADER_3;
    source->size = TFS_GODOT_REGION_PALETTE;
    return 0;
}

/* `anew`: the file is opened under the lock, whichever is kept open. */
static int source_open(struct tfs_save *save, locate_fn locate, struct tfs_key key, bool anew,
                       struct source *source, struct tfs_error *err)
{
    struct tfs_godot_folder *own = tfs_godot_folder_of(save);

    source->opened = NULL;
    pthread_mutex_lock(&own->lock);
    int result = locate(own, key, source, err);
    source->reading = own->reading;
    if (result == 0 && anew) {
        tfs_recent_clear(&own->opened);
        result = opened_make(save, source->region, &source->opened, err);
    } else if (result == 0) {
        source->opened = tfs_recent_find(&own->opened, &source->region);
    }
    pthread_mutex_unlock(&own->lock);
    if (result < 0 || source->opened != NULL)
        return result;
    if (opened_make(save, source->region, &source->opened, err) < 0)
        return err->code;
    tfs_recent_add(&own->opened, source->opened);
    return 0;
}

/* Was it, when all was read, still the file whose table is known? If not, why reading failed does
 * not matter. */
static int source_check(const struct source *source, struct tfs_error *err)
{
    struct stat now;

    if (fstat(source->opened->file.fd, &now) < 0) {
        tfs_error_reset(err);
        return tfs_fail_errno(err, "the region cannot be examined");
    }
    if (now.st_ino == source->st.st_ino && now.st_size == source->st.st_size &&
        now.st_mtim.tv_sec == source->st.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == source->st.st_mtim.tv_nsec)
        return err->code;
    tfs_error_reset(err);
    return tfs_fail(err, -ESTALE, "another program changed the region of this chunk");
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads from the source's `offset` on, appending, until there are `least` bytes; takes up to `most`
 * if they come along. */
static int read_some(const struct source *source, size_t least, size_t most, struct tfs_buf *out,
                     struct tfs_error *err)
{
    if (tfs_buf_reserve(out, most - out->size) == NULL)
        return tfs_buf_check(out, err);
    while (out->size < least) {
        ssize_t got = pread(source->opened->file.fd, out->data + out->size, most - out->size,
                            (off_t)(source->offset + out->size));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tfs_fail_errno(err, "the region cannot be read");
        if (got == 0)
            return tfs_fail(err, -EIO, "the region ends before its block does");
        out->size += (size_t)got;
    }
    return 0;
}

/* The stored block of a slot. One whose size does not fit its sectors is what the sectors hold: it
 * will not decode, and shows that. What is behind the block comes along with it most of the time,
 * but need not be readable. */
static int read_block(const struct source *source, struct tfs_blob **stored, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    size_t most = (size_t)source->size;

    if (most < TFS_SECTORS_SIZE)
        return tfs_blob_copy((struct tfs_span){0}, stored, err);
    if (read_some(source, TFS_SECTORS_SIZE, most, &bytes, err) == 0) {
        struct tfs_cursor c = tfs_cursor_init(tfs_buf_span(&bytes));
        uint32_t claimed = tfs_take_u32le(&c);
        if (claimed < most - TFS_SECTORS_SIZE)
            most = TFS_SECTORS_SIZE + claimed;
        read_some(source, most, bytes.size > most ? bytes.size : most, &bytes, err);
    }
    if (err->code == 0) {
        bytes.size = most - TFS_SECTORS_SIZE;
        memmove(bytes.data, bytes.data + TFS_SECTORS_SIZE, bytes.size);
        tfs_blob_take(&bytes, stored, err);
    }
    tfs_buf_release(&bytes);
    return err->code;
}

static int read_palette(const struct source *source, struct tfs_blob **colours,
                        struct tfs_error *err)
{
    struct tfs_buf bytes = {0};

    if (read_some(source, (size_t)source->size, (size_t)source->size, &bytes, err) == 0)
        tfs_blob_take(&bytes, colours, err);
    tfs_buf_release(&bytes);
    return err->code;
}

/* ---- what blocks held ------------------------------------------------------------------------ */

/* A block that was fetched. When its region is read again this says whether another program changed
 * it, or another block of the region: the old file is gone then. */
struct tfs_godot_seen {
    struct tfs_key key;
    uint64_t reading; /* after which it was fetched; 0: none was */
    struct tfs_hash hash;
};

#define SEEN_MAX 4096 /* a later one takes the place of an earlier one */

static struct tfs_godot_seen *seen_at(const struct tfs_godot_folder *own, struct tfs_key key)
{
    const struct tfs_span bytes = {(const uint8_t *)&key, sizeof(key)};

    return own->seen == NULL ? NULL : &own->seen[tfs_checksum(bytes, 0) % SEEN_MAX];
}

static void note_seen(struct tfs_godot_folder *own, struct tfs_key key, const struct source *source,
                      const struct tfs_blob *stored)
{
    const struct tfs_hash hash = tfs_hash_of(tfs_blob_span(stored));

    pthread_mutex_lock(&own->lock);
    if (own->seen == NULL)
        own->seen = calloc(SEEN_MAX, sizeof(*own->seen));
    struct tfs_godot_seen *seen = seen_at(own, key);
    if (seen != NULL)
        *seen = (struct tfs_godot_seen){key, source->reading, hash};
    pthread_mutex_unlock(&own->lock);
}

/* The number of the reading that found its region new. */
static uint64_t reading_of(const struct tfs_chunk *chunk)
{
    return chunk->own;
}

/* Since its reading the region is the same. */
static bool is_seen(const struct tfs_godot_seen *seen, const struct tfs_chunk *chunk)
{
    return seen != NULL && tfs_key_compare(seen->key, chunk->key) == 0 &&
           seen->reading >= reading_of(chunk);
}

bool tfs_godot_folder_same(struct tfs_godot_comparing *c, const struct tfs_godot_slot *slot,
                           const struct tfs_chunk *chunk)
{
    const struct tfs_godot_seen *seen = seen_at(tfs_godot_folder_of(c->save), chunk->key);
    const bool held = (chunk->flags & TFS_CHUNK_UNREAD) == 0;
    struct tfs_blob *stored = NULL;
    struct tfs_error ignored = {0};
    struct source source;

    if ((!held && !is_seen(seen, chunk)) || c->failed)
        return false;
    set_block(&source, c->now, slot);
    c->failed = c->opened == NULL && opened_make(c->save, source.region, &c->opened, &ignored) < 0;
    if (c->failed)
        return false;
    source.opened = c->opened;
    bool same = read_block(&source, &stored, &ignored) == 0 && source_check(&source, &ignored) == 0;
    if (same && held)
        same = tfs_blob_equal(stored, chunk->blob);
    else if (same)
        same = tfs_hash_equal(tfs_hash_of(tfs_blob_span(stored)), seen->hash);
    tfs_blob_unref(stored);
    return same;
}

void tfs_godot_folder_compared(struct tfs_godot_comparing *c)
{
    opened_unref(c->opened);
    c->opened = NULL;
}

/* What is read, and how. */
struct wish {
    bool block;
    locate_fn locate;
    int (*read)(const struct source *source, struct tfs_blob **blob, struct tfs_error *err);
};

static int try_once(struct tfs_save *save, const struct wish *wish, struct tfs_key key, bool anew,
                    struct tfs_blob **blob, struct tfs_error *err)
{
    struct source source;
    struct tfs_blob *found = NULL;

    int result = source_open(save, wish->locate, key, anew, &source, err);
    if (result < 0)
        return result;
    wish->read(&source, &found, err);
    result = source_check(&source, err);
    opened_unref(source.opened);
    if (result == 0 && wish->block)
        note_seen(tfs_godot_folder_of(save), key, &source, found);
    if (result < 0)
        tfs_blob_unref(found);
    else
        *blob = found;
    return result;
}

static int fetch(struct tfs_save *save, const struct wish *wish, struct tfs_key key,
                 struct tfs_blob **blob, struct tfs_error *err)
{
    int result = try_once(save, wish, key, false, blob, err);

    if (result != -ESTALE)
        return result;
    tfs_error_reset(err);
    return try_once(save, wish, key, true, blob, err);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

int tfs_godot_folder_fetch(struct tfs_save *save, const struct tfs_chunk *chunk,
                           struct tfs_blob **stored, struct tfs_blob **extra, struct tfs_error *err)
{
    static const struct wish block = {true, locate_block, read_block};

    (void)extra;
    return fetch(save, &block, chunk->key, stored, err);
}

/* meta.vxrm, and palettes: of regions that come and go without one nothing changes. */
int tfs_godot_folder_rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err)
{
    struct tfs_save *read = (struct tfs_save *)save;
    const struct tfs_folder_files *files = &tfs_godot_folder_of(read)->index.files;
    uint8_t colours[TFS_GODOT_REGION_PALETTE];

    *checksum = tfs_checksum(tfs_blob_span(tfs_godot_meta_text(save->doc)), 0);
    for (size_t i = 0; i < files->count; i++) {
        const struct tfs_godot_region_file *file = (const void *)files->files[i];
        const struct tfs_key key = file->file.key;
        if (!file->region.palette)
            continue;
        const int found = tfs_godot_folder_palette(read, save->doc, tfs_godot_folder_block(file, 0),
                                                   colours, err);
        if (found < 0)
            return found;
        if (found == 0)
            continue;
        const uint64_t place =
            tfs_checksum((struct tfs_span){(const uint8_t *)&key, sizeof(key)}, 0);
        *checksum ^= tfs_checksum((struct tfs_span){colours, sizeof(colours)}, place);
    }
    return 0;
}

/* Nobody edits palettes, so that of the file is that of the document. */
int tfs_godot_folder_palette(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                             uint8_t colours[TFS_GODOT_REGION_PALETTE], struct tfs_error *err)
{
    static const struct wish palette = {false, locate_palette, read_palette};
    struct tfs_blob *bytes = NULL;

    (void)doc;
    int result = fetch(save, &palette, key, &bytes, err);
    if (result < 0)
        return result == -ENOENT && err->code == 0 ? 0 : result;
    memcpy(colours, bytes->data, TFS_GODOT_REGION_PALETTE);
    tfs_blob_unref(bytes);
    return 1;
}
