/*
 * A document -> the bytes and texts that a comparison looks at.
 *
 * Must not know any format, nor what is compared.
 */
#include "formats/compare/fetch.h"

#include <string.h>

void tfs_key_print(const struct tfs_save *save, struct tfs_key key, struct tfs_buf *out)
{
    if (key.group > 0)
        tfs_buf_printf(out, "%s/%u/", save->tree->group_dir,
                       key.group - 1 + tfs_group_label(save->tree));
    tfs_buf_printf(out, "%d_%d_%d", key.x, key.y, key.z);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

void tfs_fetched_take(struct tfs_fetched *fetched, const struct tfs_chunk *chunk)
{
    *fetched = (struct tfs_fetched){.there = chunk != NULL};
    if (chunk == NULL)
        return;
    fetched->chunk = *chunk;
    tfs_blob_ref(chunk->blob);
    tfs_blob_ref(chunk->extra);
}

void tfs_fetched_release(struct tfs_fetched *fetched)
{
    tfs_blob_unref(fetched->chunk.blob);
    tfs_blob_unref(fetched->chunk.extra);
    *fetched = (struct tfs_fetched){0};
}

/* Fetches the chunks from `from` to the next absent one in one go; returns the first that is not
 * ready. */
static size_t fetch_many(const struct tfs_side *side, struct tfs_fetched *fetched, size_t from,
                         size_t end, struct tfs_error *err)
{
    struct tfs_chunk chunks[TFS_FETCH_WINDOW];
    size_t count = 0;

    while (from + count < end && fetched[from + count].there) {
        chunks[count] = fetched[from + count].chunk;
        count++;
    }
    if (count == 0)
        return from + 1;
    size_t ready = tfs_chunks_fetch(side->save, chunks, count, err);
    for (size_t i = 0; i < count; i++)
        fetched[from + i].chunk = chunks[i];
    return from + ready;
}

int tfs_fetch(const struct tfs_side *side, struct tfs_fetched *fetched, size_t count,
              struct tfs_error *err)
{
    struct tfs_error late = {0}; /* of the chunk at `ready` */
    size_t ready = 0;

    for (size_t i = 0; i < count; i++) {
        if (i == ready && late.code == 0)
            ready = fetch_many(side, fetched, i, count, &late);
        if (i == ready) {
            fetched[i].why = late;
            tfs_error_reset(&late);
            ready++;
        }
    }
    for (size_t i = 0; i < count && err->code == 0; i++)
        if (fetched[i].why.code < 0 && !tfs_is_damage(fetched[i].why.code))
            *err = fetched[i].why;
    return err->code;
}

/* ---- walks ----------------------------------------------------------------------------------- */

static void clear_window(struct tfs_walk *walk)
{
    for (size_t i = 0; i < walk->keys; i++)
        for (unsigned side = 0; side < walk->count; side++)
            tfs_fetched_release(&walk->chunks[side][i]);
    walk->keys = walk->next = 0;
}

void tfs_walk_end(struct tfs_walk *walk)
{
    clear_window(walk);
    memset(walk->at, 0, sizeof(walk->at));
}

/* The chunks of the lowest key that a document has from its place on; false: all are at their
 * end. */
static bool step(struct tfs_walk *walk, const struct tfs_chunk *chunks[TFS_WALK_SIDES])
{
    const struct tfs_chunk *low = NULL;

    for (unsigned i = 0; i < walk->count; i++) {
        const struct tfs_doc *doc = walk->sides[i].doc;
        chunks[i] = doc != NULL && walk->at[i] < doc->count ? tfs_doc_at(doc, walk->at[i]) : NULL;
        if (chunks[i] != NULL && (low == NULL || tfs_key_compare(chunks[i]->key, low->key) < 0))
            low = chunks[i];
    }
    for (unsigned i = 0; i < walk->count; i++) {
        if (chunks[i] != NULL && tfs_key_compare(chunks[i]->key, low->key) != 0)
            chunks[i] = NULL;
        walk->at[i] += chunks[i] != NULL;
    }
    return low != NULL;
}

static int fill_window(struct tfs_walk *walk, struct tfs_error *err)
{
    const struct tfs_chunk *chunks[TFS_WALK_SIDES] = {NULL};

    clear_window(walk);
    while (walk->keys < TFS_FETCH_WINDOW && step(walk, chunks)) {
        if (walk->skips != NULL && walk->skips(walk->arg, chunks))
            continue;
        for (unsigned i = 0; i < walk->count; i++)
            tfs_fetched_take(&walk->chunks[i][walk->keys], chunks[i]);
        walk->keys++;
    }
    for (unsigned i = 0; i < walk->count && err->code == 0; i++)
        if (walk->sides[i].doc != NULL)
            tfs_fetch(&walk->sides[i], walk->chunks[i], walk->keys, err);
    return err->code;
}

int tfs_walk_next(struct tfs_walk *walk, struct tfs_fetched *chunks[TFS_WALK_SIDES],
                  struct tfs_key *key, struct tfs_error *err)
{
    if (walk->next == walk->keys && fill_window(walk, err) < 0)
        return err->code;
    if (walk->next == walk->keys)
        return 0;
    for (unsigned i = 0; i < walk->count; i++) {
        chunks[i] = &walk->chunks[i][walk->next];
        *key = chunks[i]->there ? chunks[i]->chunk.key : *key;
    }
    walk->next++;
    return 1;
}

/* ---- files ----------------------------------------------------------------------------------- */

int tfs_side_read(const struct tfs_side *side, const struct tfs_file *file, struct tfs_key key,
                  struct tfs_buf *text, bool *there, struct tfs_error *err)
{
    const struct tfs_at at = tfs_lens_at(file->lens, key, 0);
    int exists = file->lens->exists == NULL ? 1 : file->lens->exists(side->save, side->doc, at);

    tfs_buf_clear(text);
    if (exists < 0)
        return tfs_fail(err, exists, "%s cannot be read", file->path);
    *there = exists > 0;
    if (*there && file->lens->get(side->save, side->doc, at, text, err) == 0)
        tfs_buf_check(text, err);
    return err->code;
}
