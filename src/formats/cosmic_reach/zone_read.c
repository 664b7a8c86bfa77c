/*
 * One region file of a zone, or all -> records of what is in them.
 *
 * Must not know documents of the zone, nor what stands beside the regions. A region is decoded and
 * released: what stays is a record of where its bodies lie. All regions are read by as many threads
 * as there are processors, each with one region at a time: so much memory it takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/refs.h"

#include "formats/cosmic_reach/zone.h"

#define THREADS_MAX 4

/* ---- one region ------------------------------------------------------------------------------ */

struct tfs_cosmic_region_file *tfs_cosmic_region_file_ref(struct tfs_cosmic_region_file *file)
{
    tfs_refs_add(&file->refs);
    return file;
}

void tfs_cosmic_region_file_unref(struct tfs_cosmic_region_file *file)
{
    if (file == NULL || !tfs_refs_drop(&file->refs))
        return;
    for (size_t i = 0; i < file->note_count; i++)
        free(file->notes[i].text);
    free(file->notes);
    free(file->refusal);
    free(file->bodies);
    free(file);
}

static struct tfs_cosmic_region_file *file_create(struct tfs_key region, const struct stat *st)
{
    struct tfs_cosmic_region_file *file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    atomic_init(&file->refs, 1);
    file->file.key = region;
    file->file.st = *st;
    return file;
}

/* The first reason not to write it stays. */
static int refuse(struct tfs_cosmic_region_file *file, const char *why, struct tfs_error *err)
{
    if (file->refusal == NULL)
        file->refusal = strdup(why);
    return file->refusal == NULL ? tfs_fail_memory(err) : 0;
}

static int keep_notes(struct tfs_cosmic_region_file *file, const struct tfs_facts *facts,
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

static int compare_bodies(const void *a, const void *b)
{
    const struct tfs_cosmic_body_at *left = a, *right = b;

    return (left->slot > right->slot) - (left->slot < right->slot);
}

/* The chunks of the document, which are slices of one blob. */
static int keep_bodies(struct tfs_cosmic_region_file *file, const struct tfs_doc *doc,
                       struct tfs_error *err)
{
    file->bodies = reallocarray(NULL, doc->count + 1, sizeof(*file->bodies));
    if (file->bodies == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        const struct tfs_blob *whole = chunk->blob->parent;
        const uint32_t version = tfs_cosmic_chunk_version(chunk);
        file->bodies[i] = (struct tfs_cosmic_body_at){
            .slot = (uint16_t)tfs_cosmic_table_slot(chunk->key),
            .offset = whole == NULL ? 0 : (uint64_t)(chunk->blob->data - whole->data),
            .size = (uint32_t)chunk->blob->size,
            .version = version,
            .flags = (uint16_t)chunk->flags,
            .hash = tfs_checksum(tfs_blob_span(chunk->blob), version)};
        file->count++;
    }
    if (file->count > 0)
        qsort(file->bodies, file->count, sizeof(*file->bodies), compare_bodies);
    return 0;
}

int tfs_cosmic_region_file_make(struct tfs_key region, const struct stat *st,
                                const struct tfs_doc *doc, struct tfs_cosmic_region_file **file,
                                struct tfs_error *err)
{
    struct tfs_cosmic_region_file *made = file_create(region, st);

    if (made == NULL)
        return tfs_fail_memory(err);
    made->facts = *tfs_cosmic_facts(doc);
    if (keep_notes(made, doc->facts, err) < 0 || keep_bodies(made, doc, err) < 0 ||
        tfs_cosmic_odd_find(doc, &made->odd, err) < 0) {
        tfs_cosmic_region_file_unref(made);
        return err->code;
    }
    *file = made;
    return 0;
}

/* ---- reading a region ------------------------------------------------------------------------ */

/* The version and compression that the first bytes say. */
static int look(const struct tfs_file_handle *file, struct tfs_cosmic_facts *facts,
                struct tfs_error *why)
{
    uint8_t head[TFS_COSMIC_HEADER_SIZE];
    const ssize_t size = pread(file->fd, head, sizeof(head), 0);

    if (size < 0)
        return tfs_fail_errno(why, "cannot be read");
    return tfs_cosmic_region_look((struct tfs_span){head, (size_t)size}, facts, why);
}

/* What of a region is read: a document, or its first bytes. */
struct found {
    struct tfs_doc *doc;
    struct tfs_cosmic_facts facts;
    struct stat st; /* the identity of what was read */
};

static int open_file(const struct tfs_save *save, const char *path, bool whole, struct found *found,
                     struct tfs_error *why)
{
    const uint64_t limit = save->options.inflate_limit;
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_blob *bytes = NULL;

    if (S_ISLNK(found->st.st_mode))
        return tfs_fail(why, -ELOOP, "it is a link, and links lead out of the zone");
    if (!S_ISREG(found->st.st_mode))
        return tfs_fail(why, -EINVAL, "it is not a file");
    if (tfs_file_open(path, false, &file, why) == 0 &&
        (whole ? tfs_file_read(&file, limit, &bytes, why) : look(&file, &found->facts, why)) == 0) {
        found->st = file.st;
        if (whole)
            tfs_cosmic_region_decode(path, limit, bytes, &found->doc, why);
    }
    tfs_blob_unref(bytes);
    tfs_file_close(&file);
    return why->code;
}

/* A record of a file of which only the first bytes are known. */
static int file_unread(struct tfs_key region, const struct found *found,
                       struct tfs_cosmic_region_file **file, struct tfs_error *err)
{
    *file = file_create(region, &found->st);
    if (*file == NULL)
        return tfs_fail_memory(err);
    (*file)->facts = found->facts;
    (*file)->unread = true;
    return 0;
}

int tfs_cosmic_region_file_open(const struct tfs_save *save, struct tfs_key region,
                                const char *path, const struct stat *st, bool whole,
                                struct tfs_cosmic_region_file **file, struct tfs_error *err)
{
    struct found found = {.st = *st};
    struct tfs_error why = {0};

    if (open_file(save, path, whole, &found, &why) == 0) {
        if (whole)
            tfs_cosmic_region_file_make(region, &found.st, found.doc, file, err);
        else
            file_unread(region, &found, file, err);
        if (err->code == 0 && tfs_file_writable(path, &why) < 0 && why.code != -ENOMEM)
            refuse(*file, why.text, err);
    } else if (why.code != -ENOMEM) {
        *file = file_create(region, &found.st);
        if (*file == NULL || refuse(*file, why.text, err) < 0)
            return tfs_fail_memory(err);
        (*file)->left_out = true;
    }
    tfs_doc_unref(found.doc);
    return why.code == -ENOMEM ? tfs_fail_memory(err) : err->code;
}

/* ---- many regions ---------------------------------------------------------------------------- */

/* Files that are read: each thread takes the next one. */
struct reading {
    const struct tfs_save *save;
    const struct tfs_cosmic_zone_index *index;
    const struct tfs_key *region;          /* NULL: all */
    struct tfs_cosmic_region_file **files; /* NULL: there is none any more */
    atomic_size_t next;
    atomic_bool failed;
};

static bool is_wanted(const struct reading *r, const struct tfs_cosmic_region_file *file)
{
    return file->unread && (r->region == NULL || tfs_key_compare(file->file.key, *r->region) == 0);
}

/* As it is now: a change since it was looked at did not come too late. */
static int read_file(const struct reading *r, struct tfs_key region,
                     struct tfs_cosmic_region_file **file, struct tfs_error *err)
{
    char *path = tfs_cosmic_zone_path(r->index, region);
    struct stat st;

    if (path == NULL)
        return tfs_fail_memory(err);
    tfs_folder_look(path, &st);
    if (st.st_ino != 0)
        tfs_cosmic_region_file_open(r->save, region, path, &st, true, file, err);
    free(path);
    return err->code;
}

static void *read_files(void *arg)
{
    struct reading *r = arg;
    const size_t count = r->index->files.count;
    struct tfs_error err = {0};

    for (size_t i; err.code == 0 && !r->failed && (i = r->next++) < count;) {
        struct tfs_cosmic_region_file *file =
            (struct tfs_cosmic_region_file *)r->index->files.files[i];
        if (is_wanted(r, file))
            read_file(r, file->file.key, &r->files[i], &err);
        else
            r->files[i] = tfs_cosmic_region_file_ref(file);
    }
    if (err.code < 0)
        r->failed = true;
    return NULL;
}

/* Threads that cannot be had are done without. */
static void read_in_threads(struct reading *r)
{
    pthread_t threads[THREADS_MAX];
    const long processors = r->region == NULL ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    int count = 0;

    while (count < THREADS_MAX - 1 && count + 1 < processors &&
           pthread_create(&threads[count], NULL, read_files, r) == 0)
        count++;
    read_files(r);
    while (count > 0)
        pthread_join(threads[--count], NULL);
}

void tfs_cosmic_zone_files_release(struct tfs_folder_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        tfs_cosmic_region_file_unref((struct tfs_cosmic_region_file *)files->files[i]);
    free(files->files);
    *files = (struct tfs_folder_files){0};
}

int tfs_cosmic_zone_read_files(struct tfs_save *save, const struct tfs_cosmic_zone_index *index,
                               const struct tfs_key *region, struct tfs_folder_files *files,
                               struct tfs_error *err)
{
    struct reading r = {.save = save, .index = index, .region = region};
    struct tfs_folder_files read = {.files = NULL};

    r.files = calloc(index->files.count + 1, sizeof(struct tfs_cosmic_region_file *));
    if (r.files == NULL)
        r.failed = true;
    else
        read_in_threads(&r);
    for (size_t i = 0; r.files != NULL && i < index->files.count; i++) {
        struct tfs_cosmic_region_file *file = r.files[i];
        if (file == NULL || (!r.failed && tfs_folder_add(&read, &file->file, err) == 0))
            continue;
        tfs_cosmic_region_file_unref(file);
        r.failed = true;
    }
    free(r.files);
    if (r.failed) {
        tfs_cosmic_zone_files_release(&read);
        return tfs_fail_memory(err);
    }
    *files = read;
    return 0;
}
