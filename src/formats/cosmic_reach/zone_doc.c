/*
 * What the files of a zone say (an index) -> the document that shows them, with its facts.
 *
 * Must not know the disk: regions are read elsewhere (zone_read.c), and bodies are fetched when
 * they are needed (zone_fetch.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/gzip.h"
#include "formats/cosmic_reach/zone.h"

/* ---- facts ----------------------------------------------------------------------------------- */

static void facts_release(void *arg)
{
    struct tfs_cosmic_zone_facts *own = arg;

    for (size_t i = 0; i < own->count; i++)
        tfs_cosmic_region_file_unref(own->files[i]);
    free(own->files);
}

const struct tfs_cosmic_region_file *tfs_cosmic_zone_region(const struct tfs_cosmic_zone_facts *own,
                                                            struct tfs_key chunk)
{
    const struct tfs_key region = tfs_cosmic_region_of(chunk);

    for (size_t low = 0, high = own->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = tfs_key_compare(own->files[middle]->file.key, region);
        if (order == 0)
            return own->files[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Of which a new region takes version and compression. */
static void find_newest(struct tfs_cosmic_zone_facts *own, uint32_t latest)
{
    bool found = false;

    for (size_t i = 0; i < own->count; i++)
        if (!own->files[i]->left_out &&
            (!found || own->files[i]->facts.version > own->newest.version)) {
            own->newest = own->files[i]->facts;
            found = true;
        }
    if (!found)
        own->newest = (struct tfs_cosmic_facts){.version = latest,
                                                .compression = latest > TFS_COSMIC_VERSION_TABLE_MAX
                                                                   ? (uint32_t)TFS_COSMIC_GZIP
                                                                   : (uint32_t)TFS_COSMIC_STORED};
    memcpy(own->newest.gzip_header, tfs_cosmic_gzip_header, sizeof(own->newest.gzip_header));
    own->newest.offset_type = TFS_COSMIC_OFFSET_S16;
    own->newest.named = false;
    own->newest.zone = true;
}

static int note_region(struct tfs_facts *facts, const struct tfs_cosmic_region_file *file,
                       struct tfs_error *err)
{
    char name[TFS_COSMIC_REGION_NAME];

    tfs_cosmic_region_name(file->file.key, name);
    if (file->left_out) {
        tfs_facts_note(facts, err, TFS_NOTE_DAMAGED, "%s: is left out: %s", name, file->refusal);
        tfs_facts_set_hiding(facts);
        return err->code;
    }
    for (size_t i = 0; i < file->note_count; i++) {
        const struct tfs_note *note = &file->notes[i];
        enum tfs_note_kind kind = note->kind == TFS_NOTE_READ_ONLY ? TFS_NOTE_DAMAGED : note->kind;
        if (tfs_facts_note(facts, err, kind, "%s: %s", name, note->text) < 0)
            return err->code;
        if (note->hiding)
            tfs_facts_set_hiding(facts);
    }
    if (file->refusal != NULL && file->note_count == 0)
        return tfs_facts_note(facts, err, TFS_NOTE_WARNING, "%s: cannot be written: %s", name,
                              file->refusal);
    return 0;
}

static struct tfs_cosmic_zone_facts *facts_of(const struct tfs_facts *facts)
{
    return facts->own;
}

static int make_facts(const struct tfs_cosmic_zone_index *index, struct tfs_facts **facts,
                      struct tfs_error *err)
{
    const size_t count = index->files.count;

    if (tfs_facts_create(sizeof(struct tfs_cosmic_zone_facts), facts, err) < 0)
        return err->code;
    struct tfs_cosmic_zone_facts *own = facts_of(*facts);
    (*facts)->release = facts_release;
    own->files = calloc(count + 1, sizeof(struct tfs_cosmic_region_file *));
    if (own->files == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        own->files[i] =
            tfs_cosmic_region_file_ref((struct tfs_cosmic_region_file *)index->files.files[i]);
        own->count++;
        own->unread += own->files[i]->unread;
        if (note_region(*facts, own->files[i], err) < 0)
            return err->code;
    }
    find_newest(own, index->latest_version);
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Chunks of a document that is being made. */
struct chunks {
    struct tfs_chunk *chunks; /* without references */
    size_t count;
    uint32_t next_slot;
    bool keeps; /* chunks of regions that are gone, too: a commit is just taking them away */
};

static int compare_chunks(const void *a, const void *b)
{
    const struct tfs_chunk *left = a, *right = b;

    return tfs_key_compare(left->key, right->key);
}

static bool is_known(const struct tfs_cosmic_region_file *file,
                     const struct tfs_cosmic_zone_index *before)
{
    return before != NULL && tfs_folder_find(&before->files, file->file.key) == &file->file;
}

/* Did `old` not have the chunks of this region, which may have been read since? */
static bool is_lacked(const struct tfs_doc *old, struct tfs_key region)
{
    const struct tfs_cosmic_region_file *file =
        old == NULL
            ? NULL
            : tfs_cosmic_zone_region(tfs_cosmic_zone_facts(old), tfs_cosmic_column_key(region, 0));

    return file != NULL && file->unread;
}

/* Chunks of regions that were not read again, as `old` has them. */
static void add_old(struct chunks *all, const struct tfs_doc *old,
                    const struct tfs_cosmic_zone_index *before,
                    const struct tfs_cosmic_zone_index *index)
{
    for (size_t i = 0; i < old->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(old, i);
        const struct tfs_folder_file *file =
            tfs_folder_find(&index->files, tfs_cosmic_region_of(chunk->key));
        if (file == NULL ? all->keeps
                         : is_known((const struct tfs_cosmic_region_file *)file, before))
            all->chunks[all->count++] = *chunk;
    }
}

/* Chunks of a region that was read. Directories are listed by slots: so a walk through them meets
 * one region after the other, and each is inflated once. */
static void add_new(struct chunks *all, const struct tfs_doc *old,
                    const struct tfs_cosmic_region_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        const struct tfs_cosmic_body_at *body = &file->bodies[i];
        const struct tfs_key key = tfs_cosmic_table_key(file->file.key, body->slot);
        const struct tfs_chunk *was = old == NULL ? NULL : tfs_doc_find(old, key);
        all->chunks[all->count++] =
            (struct tfs_chunk){.key = key,
                               .slot = was != NULL ? was->slot : all->next_slot++,
                               .flags = body->flags | (uint32_t)TFS_CHUNK_UNREAD,
                               .tag = body->version,
                               .own = body->hash};
    }
}

/* All chunks that the files of the index have, as far as they were read. */
static int gather(struct chunks *all, const struct tfs_doc *old,
                  const struct tfs_cosmic_zone_index *before,
                  const struct tfs_cosmic_zone_index *index, struct tfs_error *err)
{
    size_t room = old == NULL ? 1 : old->count + 1;

    for (size_t i = 0; i < index->files.count; i++)
        room += ((struct tfs_cosmic_region_file *)index->files.files[i])->count;
    if (room >= TFS_SLOT_NONE - all->next_slot)
        return tfs_fail(err, -EFBIG, "more chunks came and went than one mount can tell apart");
    all->chunks = reallocarray(NULL, room, sizeof(*all->chunks));
    if (all->chunks == NULL)
        return tfs_fail_memory(err);
    if (old != NULL)
        add_old(all, old, before, index);
    for (size_t i = 0; i < index->files.count; i++) {
        const struct tfs_cosmic_region_file *file =
            (struct tfs_cosmic_region_file *)index->files.files[i];
        if (!is_known(file, before) || is_lacked(old, file->file.key))
            add_new(all, old, file);
    }
    qsort(all->chunks, all->count, sizeof(*all->chunks), compare_chunks);
    return 0;
}

int tfs_cosmic_zone_doc(const struct tfs_doc *old, const struct tfs_cosmic_zone_index *before,
                        const struct tfs_cosmic_zone_index *index, bool keeps, struct tfs_doc **doc,
                        struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;
    struct tfs_doc *empty = NULL;
    struct tfs_edit edit = {0};
    struct chunks all = {.next_slot = old == NULL ? 0 : old->next_slot, .keeps = keeps};

    if (make_facts(index, &facts, err) < 0 || tfs_doc_create(facts, &empty, err) < 0)
        goto out;
    if (old != NULL)
        tfs_doc_keep_areas(empty, old);
    if (tfs_doc_reserve_slots(&empty, all.next_slot, err) < 0 ||
        tfs_edit_open(empty, &edit, err) < 0 || gather(&all, old, before, index, err) < 0)
        goto out;
    tfs_edit_common(&edit, index->info);
    /* In key order every put goes to the end. */
    for (size_t i = 0; i < all.count && err->code == 0; i++)
        tfs_edit_put(&edit, &all.chunks[i], err);
    if (err->code == 0)
        *doc = tfs_edit_finish(&edit);
out:
    free(all.chunks);
    tfs_edit_release(&edit);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
    return err->code;
}
