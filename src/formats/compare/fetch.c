/*
 * A document -> the bytes and texts that a comparison looks at.
 *
 * Must not know any format, nor what is compared.
 */
#include "formats/compare/fetch.h"

#include <string.h>

void tfs_key_print(const struct tfs_save *save, struct tfs_key key, struct tfs_buf *out)
{
    if (key.group == TFS_GROUP_COLUMNS) {
        tfs_buf_printf(out, "columns/%d_%d", key.x, key.z);
        return;
    }
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
    tfs_chunk_ref(chunk);
}

void tfs_fetched_release(struct tfs_fetched *fetched)
{
    tfs_chunk_unref(&fetched->chunk);
    *fetched = (struct tfs_fetched){0};
}

/* Absent chunks are among them as some of which nothing is unread. */
int tfs_fetch(const struct tfs_side *side, struct tfs_fetched *fetched, size_t count,
              struct tfs_error *err)
{
    struct tfs_chunk chunks[TFS_FETCH_WINDOW];
    size_t ready = 0;

    for (size_t i = 0; i < count; i++)
        chunks[i] = fetched[i].chunk;
    while (ready < count && err->code == 0) {
        struct tfs_error why = {0};
        ready += tfs_chunks_fetch(side->save, chunks + ready, count - ready, &why);
        if (why.code < 0)
            fetched[ready++].why = why;
        if (why.code < 0 && !tfs_is_damage(why.code))
            *err = why;
    }
    for (size_t i = 0; i < count; i++)
        fetched[i].chunk = chunks[i];
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
    const struct tfs_lens *lens = file->lens;
    const struct tfs_at at = tfs_lens_at(lens, key, 0);
    int exists = side->doc != NULL;

    tfs_buf_clear(text);
    if (exists && lens->exists != NULL)
        exists = lens->exists(side->save, side->doc, at);
    if (exists < 0)
        return tfs_fail(err, exists, "%s cannot be read", file->path);
    *there = exists > 0;
    if (*there && lens->get(side->save, side->doc, at, text, err) == 0)
        tfs_buf_check(text, err);
    return err->code;
}

int tfs_sides_alike(const struct tfs_side *a, const struct tfs_side *b, const struct tfs_file *file,
                    struct tfs_key key, struct tfs_two_texts *texts, struct tfs_error *err)
{
    if (tfs_side_read(a, file, key, &texts->text[0], &texts->there[0], err) < 0 ||
        tfs_side_read(b, file, key, &texts->text[1], &texts->there[1], err) < 0)
        return err->code;
    return texts->there[0] == texts->there[1] &&
           tfs_span_equal(tfs_buf_span(&texts->text[0]), tfs_buf_span(&texts->text[1]));
}

void tfs_two_texts_release(struct tfs_two_texts *texts)
{
    tfs_buf_release(&texts->text[0]);
    tfs_buf_release(&texts->text[1]);
}
