/*
 * Three documents -> which chunks of which side the result has, and the edit that has them.
 *
 * Must not know any format, nor how conflicts are shown.
 */
#include "formats/compare/merge.h"

#include <errno.h>
#include <string.h>

#include "formats/compare/three_chunks.h"

struct merging {
    struct tfs_merge *merge;
    struct tfs_edit *edit;
    const struct tfs_tree *tree;
    bool plain[TFS_MERGE_SIDES][TFS_MERGE_SIDES]; /* equal bytes say the same */
    bool fits[TFS_MERGE_SIDES];                   /* stored bytes mean the same in the edit */
    struct tfs_three_chunks trio;
    struct tfs_two_texts texts;                   /* of a file */
    const struct tfs_doc *given[TFS_MERGE_SIDES]; /* documents of the sides, before names were
                                                   * settled */
    enum tfs_merge_side picks[TFS_FILES_MAX];     /* whose file of the chunk the result has */
};

typedef struct tfs_fetched *triple[TFS_MERGE_SIDES];

static const char *const side_names[TFS_MERGE_SIDES] = {"the base", "ours", "theirs"};

/* ---- conflicts ------------------------------------------------------------------------------- */

static int tell(struct merging *m, struct tfs_key key, const char *what)
{
    struct tfs_merge_conflict conflict = {.key = key, .what = what};

    if (what == NULL) {
        conflict.voxels = m->trio.conflicts;
        conflict.box = m->trio.box;
    }
    m->merge->conflicts++;
    return m->merge->conflict(m->merge->arg, &conflict);
}

/* ---- taking chunks as they are --------------------------------------------------------------- */

static int remove_chunk(struct merging *m, struct tfs_key key, struct tfs_error *err)
{
    if (tfs_doc_find(tfs_edit_doc(m->edit), key) == NULL)
        return 0;
    return tfs_chunk_remove(m->merge->sides[m->merge->carrier].save, m->edit, key, err);
}

/* Has the chunk, if only an empty one. */
static int make_chunk(struct merging *m, struct tfs_key key, struct tfs_error *err)
{
    if (tfs_doc_find(tfs_edit_doc(m->edit), key) != NULL)
        return 0;
    return tfs_chunk_create(m->merge->sides[m->merge->carrier].save, m->edit, key, err);
}

/* The files that the chunk has. */
static const struct tfs_schema *files_of(const struct merging *m, struct tfs_key key)
{
    return tfs_chunk_schema(m->tree, key.group);
}

/* Where the chunk stands in the save is the edit's own matter. */
static int put_stored(struct merging *m, const struct tfs_chunk *theirs, struct tfs_error *err)
{
    const struct tfs_chunk *there = tfs_doc_find(tfs_edit_doc(m->edit), theirs->key);
    struct tfs_chunk chunk = *theirs;

    if (there == NULL) {
        if (make_chunk(m, theirs->key, err) < 0)
            return err->code;
        there = tfs_doc_find(tfs_edit_doc(m->edit), theirs->key);
    }
    chunk.own = there->own;
    chunk.slot = TFS_SLOT_NONE;
    return tfs_edit_put(m->edit, &chunk, err);
}

static int put_file(struct merging *m, struct tfs_key key, unsigned file, enum tfs_merge_side from,
                    struct tfs_error *err)
{
    const struct tfs_file *f = &files_of(m, key)->files[file];
    struct tfs_save *save = m->merge->sides[m->merge->carrier].save;
    const struct tfs_side now = {save, tfs_edit_doc(m->edit)};
    const struct tfs_at at = tfs_lens_at(f->lens, key, 0);
    struct tfs_put options = {0};
    const int alike = tfs_sides_alike(&m->merge->sides[from], &now, f, key, &m->texts, err);

    if (alike != 0)
        return err->code;
    return m->texts.there[0]
               ? f->lens->put(save, m->edit, at, tfs_buf_span(&m->texts.text[0]), &options, err)
               : f->lens->remove(save, m->edit, at, err);
}

/* Gives a chunk that is in the edit all voxels of a side, one by one. */
static int put_voxels(struct merging *m, struct tfs_key key, enum tfs_merge_side side,
                      struct tfs_error *err)
{
    struct tfs_merge alone = *m->merge;
    struct tfs_three_chunks trio = {0};
    bool there[TFS_MERGE_SIDES] = {0};

    /* As if the side were theirs, and ours and the base the chunk that is in the edit. */
    alone.sides[TFS_MERGE_THEIRS] = m->merge->sides[side];
    alone.sides[TFS_MERGE_OURS] =
        (struct tfs_side){m->merge->sides[m->merge->carrier].save, tfs_edit_doc(m->edit)};
    alone.sides[TFS_MERGE_BASE] = alone.sides[TFS_MERGE_OURS];
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        there[i] = true;
    if (tfs_three_chunks_open(&trio, &alone, key, there, err) == 0 &&
        tfs_three_chunks_compare(&trio, &alone, err) == 0)
        tfs_three_chunks_apply(&trio, m->merge, m->edit, TFS_MERGE_OURS, err);
    tfs_three_chunks_release(&trio);
    for (unsigned i = 0; i < files_of(m, key)->count && err->code == 0; i++)
        if (files_of(m, key)->files[i].flags & TFS_FILE_APART)
            put_file(m, key, i, side, err);
    return err->code;
}

/* Makes the chunk of the edit that of a side, whatever it was. */
static int put_side(struct merging *m, triple chunks, enum tfs_merge_side side, struct tfs_key key,
                    struct tfs_error *err)
{
    const struct tfs_chunk *chunk = &chunks[side]->chunk;
    struct tfs_error why = {0};

    if (!chunks[side]->there)
        return remove_chunk(m, key, err);
    if (side == m->merge->carrier)
        return tfs_edit_put(m->edit, tfs_doc_find(m->edit->base, key), err);
    if (m->fits[side] &&
        tfs_chunk_fits(m->tree, m->merge->sides[side].doc, m->edit->base, chunk, &why) == 0)
        return put_stored(m, chunk, err);
    return make_chunk(m, key, err) < 0 ? err->code : put_voxels(m, key, side, err);
}

/* ---- decisions ------------------------------------------------------------------------------- */

static bool same_chunk(const struct merging *m, triple chunks, enum tfs_merge_side a,
                       enum tfs_merge_side b)
{
    if (!chunks[a]->there || !chunks[b]->there)
        return chunks[a]->there == chunks[b]->there;
    return m->plain[a][b] && chunks[a]->chunk.tag == chunks[b]->chunk.tag &&
           tfs_blob_equal(chunks[a]->chunk.blob, chunks[b]->chunk.blob) &&
           tfs_blob_equal(chunks[a]->chunk.extra, chunks[b]->chunk.extra);
}

/* The result has the chunk of that side. */
static int decide(struct merging *m, triple chunks, enum tfs_merge_side side, struct tfs_key key,
                  struct tfs_error *err)
{
    for (int i = TFS_MERGE_OURS; i < TFS_MERGE_SIDES; i++)
        m->merge->same[i] = m->merge->same[i] &&
                            ((int)side == i || same_chunk(m, chunks, (enum tfs_merge_side)i, side));
    m->merge->taken += side == TFS_MERGE_THEIRS;
    return put_side(m, chunks, side, key, err);
}

/* Does a file of the chunk say the same on both sides? A side without the chunk has none. */
static int is_alike(struct merging *m, struct tfs_key key, unsigned file, enum tfs_merge_side a,
                    enum tfs_merge_side b, struct tfs_error *err)
{
    static const struct tfs_side none;
    const struct tfs_side *sides = m->merge->sides;

    return tfs_sides_alike(m->trio.there[a] ? &sides[a] : &none,
                           m->trio.there[b] ? &sides[b] : &none, &files_of(m, key)->files[file],
                           key, &m->texts, err);
}

/* Chooses whose file the result has. Of those that both changed, the preferred one: a conflict. */
static int pick_file(struct merging *m, struct tfs_key key, unsigned file, struct tfs_error *err)
{
    const int both = is_alike(m, key, file, TFS_MERGE_OURS, TFS_MERGE_THEIRS, err);
    const int ours = is_alike(m, key, file, TFS_MERGE_BASE, TFS_MERGE_OURS, err);
    const int theirs = is_alike(m, key, file, TFS_MERGE_BASE, TFS_MERGE_THEIRS, err);

    if (err->code < 0)
        return err->code;
    m->picks[file] = both || theirs ? TFS_MERGE_OURS : ours ? TFS_MERGE_THEIRS : m->merge->prefer;
    return both || theirs || ours ? 0 : tell(m, key, files_of(m, key)->files[file].path);
}

static int pick_files(struct merging *m, struct tfs_key key, struct tfs_error *err)
{
    int result = 0;

    for (unsigned i = 0; i < files_of(m, key)->count && result == 0; i++)
        if (files_of(m, key)->files[i].flags & TFS_FILE_APART)
            result = pick_file(m, key, i, err);
    return result;
}

/* Are the files of the result those of a side? */
static bool picked_alone(struct merging *m, enum tfs_merge_side side, struct tfs_key key,
                         struct tfs_error *err)
{
    for (unsigned i = 0; i < files_of(m, key)->count; i++)
        if ((files_of(m, key)->files[i].flags & TFS_FILE_APART) != 0 &&
            is_alike(m, key, i, m->picks[i], side, err) != 1)
            return false;
    return true;
}

/* ---- chunks that both changed ---------------------------------------------------------------- */

/* The chunk of `side`, with the voxels and files that the result has from the others. */
static int put_result(struct merging *m, triple chunks, enum tfs_merge_side side,
                      struct tfs_key key, struct tfs_error *err)
{
    if (put_side(m, chunks, side, key, err) < 0 ||
        tfs_three_chunks_apply(&m->trio, m->merge, m->edit, side, err) < 0)
        return err->code;
    for (unsigned i = 0; i < files_of(m, key)->count && err->code == 0; i++)
        if (files_of(m, key)->files[i].flags & TFS_FILE_APART && m->picks[i] != side &&
            chunks[m->picks[i]]->there)
            put_file(m, key, i, m->picks[i], err);
    return err->code;
}

/* Values that one side's chunk cannot hold may fit into the other's. */
static int put_either(struct merging *m, triple chunks, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_error why = {0}, other = {0};

    m->merge->merged++;
    m->merge->same[TFS_MERGE_OURS] = m->merge->same[TFS_MERGE_THEIRS] = false;
    if (put_result(m, chunks, TFS_MERGE_OURS, key, &why) == 0)
        return 0;
    if (tfs_is_damage(why.code) && put_result(m, chunks, TFS_MERGE_THEIRS, key, &other) == 0)
        return 0;
    if (!tfs_is_damage(why.code) || !tfs_is_damage(other.code)) {
        *err = tfs_is_damage(why.code) ? other : why;
        return err->code;
    }
    int result = tell(m, key, why.text);
    return result != 0 ? result : put_side(m, chunks, m->merge->prefer, key, err);
}

/* Of chunks with other bytes on both sides: what each changed of voxels and files. */
static int compare_chunks(struct merging *m, triple chunks, struct tfs_key key,
                          struct tfs_error *err)
{
    const bool there[TFS_MERGE_SIDES] = {chunks[TFS_MERGE_BASE]->there,
                                         chunks[TFS_MERGE_OURS]->there,
                                         chunks[TFS_MERGE_THEIRS]->there};
    int result = tfs_three_chunks_open(&m->trio, m->merge, key, there, err);

    if (result == 0)
        result = tfs_three_chunks_compare(&m->trio, m->merge, err);
    if (result == 0 && m->trio.conflicts > 0)
        result = tell(m, key, NULL);
    return result != 0 ? result : pick_files(m, key, err);
}

static int merge_contents(struct merging *m, triple chunks, struct tfs_key key,
                          struct tfs_error *err)
{
    const size_t before = m->merge->conflicts;
    const int result = compare_chunks(m, chunks, key, err);
    const bool conflict = m->merge->conflicts > before;

    if (result != 0)
        return result;
    for (int i = TFS_MERGE_OURS; i < TFS_MERGE_SIDES; i++)
        if (!m->trio.there[i]) /* it removed the chunk, the other has other bytes in it */
            return decide(m, chunks, conflict ? m->merge->prefer : (enum tfs_merge_side)i, key,
                          err);
    if (m->merge->ancestor && !m->trio.there[TFS_MERGE_BASE] && conflict &&
        m->tree->chunk_create != NULL)
        return decide(m, chunks, TFS_MERGE_BASE, key, err);
    for (int i = TFS_MERGE_OURS; i < TFS_MERGE_SIDES; i++) {
        const enum tfs_merge_side side = (enum tfs_merge_side)i;
        if (tfs_voxel_changes(&m->trio, side) == 0 && picked_alone(m, side, key, err))
            return decide(m, chunks, side, key, err);
        if (err->code < 0)
            return err->code;
    }
    return put_either(m, chunks, key, err);
}

static int fail_damaged(struct merging *m, triple chunks, struct tfs_key key, struct tfs_error *err)
{
    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        const struct tfs_fetched *f = chunks[i];
        if (f->why.code != 0 || (f->there && f->chunk.flags & TFS_CHUNK_DAMAGED)) {
            struct tfs_buf name = {0};
            tfs_key_print(m->merge->sides[i].save, key, &name);
            tfs_buf_u8(&name, '\0');
            tfs_fail(err, -EBADMSG, "chunk %s of %s is damaged: nothing is merged",
                     name.failed ? "" : (const char *)name.data, side_names[i]);
            tfs_buf_release(&name);
        }
    }
    return err->code;
}

static int merge_chunk(struct merging *m, triple chunks, struct tfs_key key, struct tfs_error *err)
{
    if (fail_damaged(m, chunks, key, err) < 0)
        return err->code;
    if (same_chunk(m, chunks, TFS_MERGE_OURS, TFS_MERGE_THEIRS))
        return decide(m, chunks, TFS_MERGE_OURS, key, err);
    if (same_chunk(m, chunks, TFS_MERGE_BASE, TFS_MERGE_OURS))
        return decide(m, chunks, TFS_MERGE_THEIRS, key, err);
    if (same_chunk(m, chunks, TFS_MERGE_BASE, TFS_MERGE_THEIRS))
        return decide(m, chunks, TFS_MERGE_OURS, key, err);
    return merge_contents(m, chunks, key, err);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static int walk(struct merging *m, struct tfs_error *err)
{
    const struct tfs_side *sides = m->merge->sides;
    struct tfs_walk walk = {.sides = {sides[0], sides[1], sides[2]}, .count = TFS_MERGE_SIDES};
    struct tfs_key key = {0};
    struct tfs_fetched *chunks[TFS_WALK_SIDES];
    int result;

    while ((result = tfs_walk_next(&walk, chunks, &key, err)) > 0) {
        result = merge_chunk(m, chunks, key, err);
        if (result != 0)
            break;
    }
    tfs_walk_end(&walk);
    return result;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool same_common(const struct tfs_doc *a, const struct tfs_doc *b)
{
    return a == b || (a != NULL && b != NULL && tfs_blob_equal(a->common, b->common));
}

/* The side compared as if it had these parts. */
static int give_parts(struct tfs_side *side, struct tfs_blob *parts, struct tfs_error *err)
{
    struct tfs_edit edit;

    if (side->doc == NULL || tfs_edit_open((struct tfs_doc *)side->doc, &edit, err) < 0)
        return err->code;
    tfs_edit_common(&edit, parts);
    side->doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return 0;
}

static void give_back(struct merging *m)
{
    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        if (m->merge->sides[i].doc != m->given[i])
            tfs_doc_unref((struct tfs_doc *)m->merge->sides[i].doc);
        m->merge->sides[i].doc = m->given[i];
    }
}

static int merge_names(struct merging *m, struct tfs_error *err)
{
    struct tfs_merge_conflict conflict = {.whole = true};
    struct tfs_blob *parts[TFS_MERGE_SIDES + 1] = {NULL};
    int result =
        m->tree->cells->merge_names(m->given, (int)m->merge->prefer, parts, &conflict.what, err);

    for (int i = 0; i < TFS_MERGE_SIDES && result == 0; i++)
        if (parts[i] != NULL && !tfs_blob_equal(parts[i], m->given[i]->common))
            result = give_parts(&m->merge->sides[i], parts[i], err);
    if (result == 0)
        tfs_edit_common(m->edit, parts[TFS_MERGE_SIDES]);
    for (int i = 0; i <= TFS_MERGE_SIDES; i++)
        tfs_blob_unref(parts[i]);
    if (result < 0 || conflict.what == NULL)
        return result;
    m->merge->conflicts++;
    return m->merge->conflict(m->merge->arg, &conflict);
}

/* What belongs to the whole save. Without a way of the format's own, it is from the side that
 * changed it; of a folder or database, whose files are laid out as it says, it stays. */
static int merge_common(struct merging *m, struct tfs_error *err)
{
    struct tfs_merge *merge = m->merge;
    const struct tfs_doc *base = merge->sides[TFS_MERGE_BASE].doc;
    const struct tfs_doc *ours = merge->sides[TFS_MERGE_OURS].doc;
    const struct tfs_doc *theirs = merge->sides[TFS_MERGE_THEIRS].doc;
    const bool named = m->tree->cells->merge_names != NULL;

    if (!same_common(ours, theirs)) {
        merge->same[TFS_MERGE_OURS] = same_common(base, theirs);
        merge->same[TFS_MERGE_THEIRS] = same_common(base, ours);
    } else if (!named || same_common(base, ours)) {
        return 0;
    }
    if (named)
        return merge_names(m, err);
    if (merge->same[TFS_MERGE_THEIRS] && merge->sides[TFS_MERGE_OURS].save->container->file != NULL)
        tfs_edit_common(m->edit, theirs->common);
    return 0;
}

static int check_sides(const struct tfs_merge *merge, struct tfs_error *err)
{
    const struct tfs_side *ours = &merge->sides[TFS_MERGE_OURS];

    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        const struct tfs_side *side = &merge->sides[i];
        const struct tfs_side pair[TFS_SIDES] = {*ours, *side};
        if (side->doc == NULL)
            continue;
        if (tfs_diff_check(pair, err) < 0)
            return err->code;
        if (tfs_chunks_are_fixed(ours->save) && ours->doc->count != side->doc->count)
            return tfs_fail(err, -EINVAL, "the sides have other sizes: they cannot be merged");
    }
    return 0;
}

/* ---- groups that have only their number ------------------------------------------------------ */

static const struct tfs_chunk *chunk_at(const struct tfs_doc *doc, size_t at)
{
    return doc != NULL && at < doc->count ? tfs_doc_at(doc, at) : NULL;
}

static size_t first_grouped(const struct tfs_doc *doc)
{
    size_t at = 0;

    while (doc != NULL && at < doc->count && tfs_doc_at(doc, at)->key.group == 0)
        at++;
    return at;
}

/* Do all groups but the first hold the same bytes? No document has none. */
static bool same_groups(const struct tfs_doc *a, const struct tfs_doc *b)
{
    size_t i = first_grouped(a), j = first_grouped(b);
    const struct tfs_chunk *left, *right;

    do {
        left = chunk_at(a, i++);
        right = chunk_at(b, j++);
        if (!tfs_chunk_same(left, right))
            return false;
    } while (left != NULL && tfs_key_compare(left->key, right->key) == 0);
    return left == NULL;
}

/* Where groups are things of a file, numbered as they stand in it, a number may mean another one in
 * another file. That is no matter where the result has those of its carrier, as one side left them
 * alone or both have the same; nor where the files differ in nothing else. */
static int check_groups(const struct tfs_merge *merge, struct tfs_error *err)
{
    const struct tfs_tree *tree = merge->sides[TFS_MERGE_OURS].save->tree;
    const enum tfs_merge_side other =
        merge->carrier == TFS_MERGE_OURS ? TFS_MERGE_THEIRS : TFS_MERGE_OURS;

    if (!tree->fixed_groups || merge->one_rest ||
        same_groups(merge->sides[TFS_MERGE_BASE].doc, merge->sides[other].doc) ||
        same_groups(merge->sides[TFS_MERGE_OURS].doc, merge->sides[TFS_MERGE_THEIRS].doc))
        return 0;
    return tfs_fail(err, -EINVAL,
                    "%s changed, and so did the rest of the file: %s/N may be another one on each "
                    "side, and nothing is merged",
                    tree->group_dir, tree->group_dir);
}

/* ---- what can be merged ---------------------------------------------------------------------- */

/* A chunk that a side does not show is not one that it removed. */
static int check_shown(const struct tfs_merge *merge, struct tfs_error *err)
{
    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        const struct tfs_doc *doc = merge->sides[i].doc;
        const char *why = doc == NULL ? NULL : tfs_facts_hiding(doc->facts);
        if (why != NULL)
            return tfs_fail(err, -EBADMSG, "nothing is merged: not all of %s can be read: %s",
                            side_names[i], why);
    }
    return 0;
}

static int run(struct merging *m, struct tfs_error *err)
{
    const struct tfs_merge *merge = m->merge;
    const bool named = m->tree->cells->merge_names != NULL;

    if (check_shown(merge, err) < 0 || check_sides(merge, err) < 0 || check_groups(merge, err) < 0)
        return err->code;
    int result = merge_common(m, err);
    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        const struct tfs_doc *doc = merge->sides[i].doc;
        m->fits[i] = !named || same_common(doc, tfs_edit_doc(m->edit));
        for (int j = 0; j < TFS_MERGE_SIDES; j++)
            m->plain[i][j] = !named || same_common(doc, merge->sides[j].doc);
    }
    return result != 0 ? result : walk(m, err);
}

int tfs_merge_run(struct tfs_merge *merge, struct tfs_edit *edit, struct tfs_error *err)
{
    struct merging m = {
        .merge = merge, .edit = edit, .tree = merge->sides[merge->carrier].save->tree};

    merge->taken = merge->merged = merge->conflicts = 0;
    merge->same[TFS_MERGE_OURS] = merge->same[TFS_MERGE_THEIRS] = true;
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        m.given[i] = merge->sides[i].doc;
    int result = run(&m, err);
    give_back(&m);
    tfs_three_chunks_release(&m.trio);
    tfs_two_texts_release(&m.texts);
    return result;
}
