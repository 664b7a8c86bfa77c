/*
 * Two documents -> the pairs of chunks that differ, in key order.
 *
 * Must not know any format, nor how a difference is shown.
 */
#include "formats/compare/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/compare/two_chunks.h"

struct tfs_diff {
    bool same_common; /* equal bytes of chunks say the same */
    struct tfs_two_chunks cells;
    struct tfs_walk walk;
    bool hides[TFS_SIDES]; /* a chunk that the side lacks may be there all the same */
    size_t unknown, hidden;
    struct tfs_two_texts texts;
};

/* A chunk that the documents share, or whose bytes both hold. */
static bool same_for_sure(const void *arg, const struct tfs_chunk *const chunks[TFS_WALK_SIDES])
{
    const struct tfs_diff *diff = arg;
    const struct tfs_chunk *a = chunks[TFS_BEFORE], *b = chunks[TFS_AFTER];

    return diff->same_common && a != NULL && b != NULL &&
           (a == b ||
            (((a->flags | b->flags) & TFS_CHUNK_UNREAD_ALL) == 0 && tfs_chunk_same(a, b)));
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Where both have chunks, these have one size. Tiles at an edge may be smaller. */
static int check_sizes(const struct tfs_side sides[TFS_SIDES], const struct tfs_cells_kind *kind,
                       struct tfs_error *err)
{
    if (sides[TFS_BEFORE].doc->count == 0 || sides[TFS_AFTER].doc->count == 0)
        return 0;
    struct tfs_voxel_size a = tfs_cells_size(kind, sides[TFS_BEFORE].doc);
    struct tfs_voxel_size b = tfs_cells_size(kind, sides[TFS_AFTER].doc);
    if (a.x == b.x && a.y == b.y && a.z == b.z)
        return 0;
    return tfs_fail(err, -EINVAL,
                    "chunks have %ux%ux%u voxels on the one side and %ux%ux%u on the other: they "
                    "cannot be compared",
                    a.x, a.y, a.z, b.x, b.y, b.z);
}

int tfs_diff_check(const struct tfs_side sides[TFS_SIDES], struct tfs_error *err)
{
    const struct tfs_container *a = sides[TFS_BEFORE].save->container;
    const struct tfs_container *b = sides[TFS_AFTER].save->container;

    if (strcmp(a->format, b->format) != 0)
        return tfs_fail(err, -EINVAL, "two formats cannot be compared, %s (%s) and %s (%s)",
                        a->format, a->name, b->format, b->name);
    return check_sizes(sides, a->tree->cells, err);
}

int tfs_diff_open(const struct tfs_side sides[TFS_SIDES], struct tfs_diff **diff,
                  struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = sides[TFS_BEFORE].save->tree->cells;

    if (tfs_diff_check(sides, err) < 0)
        return err->code;
    struct tfs_diff *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return tfs_fail_memory(err);
    made->walk = (struct tfs_walk){.sides = {sides[TFS_BEFORE], sides[TFS_AFTER]},
                                   .count = TFS_SIDES,
                                   .skips = same_for_sure,
                                   .arg = made};
    made->same_common = kind->merge_names == NULL ||
                        tfs_blob_equal(sides[TFS_BEFORE].doc->common, sides[TFS_AFTER].doc->common);
    /* Documents of one reading hide the same, and differ by what was edited. */
    for (int side = 0; side < TFS_SIDES; side++)
        made->hides[side] = sides[TFS_BEFORE].doc->facts != sides[TFS_AFTER].doc->facts &&
                            tfs_facts_hiding(sides[side].doc->facts) != NULL;
    *diff = made;
    return 0;
}

void tfs_diff_close(struct tfs_diff *diff)
{
    if (diff == NULL)
        return;
    tfs_walk_end(&diff->walk);
    tfs_two_chunks_release(&diff->cells);
    tfs_two_texts_release(&diff->texts);
    free(diff);
}

size_t tfs_diff_unknown(const struct tfs_diff *diff)
{
    return diff->unknown;
}

size_t tfs_diff_hidden(const struct tfs_diff *diff)
{
    return diff->hidden;
}

/* ---- one pair -------------------------------------------------------------------------------- */

/* Sets the bits of the files whose texts differ. A chunk without voxels has none of them. */
static int compare_files(struct tfs_diff *diff, const struct tfs_schema *schema, struct tfs_key key,
                         uint32_t *found, struct tfs_error *err)
{
    const struct tfs_side *sides = diff->walk.sides;

    for (unsigned i = 0; i < schema->count; i++) {
        const struct tfs_file *file = &schema->files[i];
        if ((file->flags & TFS_FILE_APART) == 0)
            continue;
        const int alike =
            tfs_sides_alike(&sides[TFS_BEFORE], &sides[TFS_AFTER], file, key, &diff->texts, err);
        if (alike < 0)
            return alike;
        *found |= alike ? 0 : UINT32_C(1) << i;
    }
    return 0;
}

int tfs_diff_root(struct tfs_diff *diff, uint32_t *files, struct tfs_error *err)
{
    const struct tfs_tree *tree = diff->walk.sides[TFS_BEFORE].save->tree;

    *files = 0;
    return compare_files(diff, &tree->root, (struct tfs_key){0}, files, err);
}

/* Counts the voxels that differ. */
static int look_into(struct tfs_diff *diff, struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_tree *tree = diff->walk.sides[TFS_BEFORE].save->tree;
    struct tfs_error why = {0};

    if (tfs_two_chunks_open(&diff->cells, diff->walk.sides, chunk, &why) == 0 &&
        tfs_two_chunks_count(&diff->cells, chunk, &why) == 0 && chunk->kind == TFS_DIFF_CHANGED)
        compare_files(diff, tfs_chunk_schema(tree, chunk->key.group), chunk->key, &chunk->files,
                      &why);
    if (why.code < 0 && !tfs_is_damage(why.code))
        *err = why;
    else if (why.code < 0)
        memcpy(chunk->why, why.text, sizeof(chunk->why));
    return err->code;
}

/* Is there something to tell of the pair? Negative: a failure. */
static int compare_pair(struct tfs_diff *diff, struct tfs_fetched *const pair[],
                        struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_fetched *before = pair[TFS_BEFORE], *after = pair[TFS_AFTER];
    const struct tfs_fetched *bad = before->why.code != 0 ? before : after;

    if ((!before->there && diff->hides[TFS_BEFORE]) || (!after->there && diff->hides[TFS_AFTER])) {
        diff->hidden++;
        return 0;
    }
    chunk->kind = !before->there  ? TFS_DIFF_ADDED
                  : !after->there ? TFS_DIFF_REMOVED
                                  : TFS_DIFF_CHANGED;
    chunk->chunks[TFS_BEFORE] = before->there ? &before->chunk : NULL;
    chunk->chunks[TFS_AFTER] = after->there ? &after->chunk : NULL;
    if (bad->why.code != 0) {
        memcpy(chunk->why, bad->why.text, sizeof(chunk->why));
        diff->unknown += before->why.code != 0 && after->why.code != 0;
        return before->why.code == 0 || after->why.code == 0;
    }
    if (chunk->kind != TFS_DIFF_CHANGED)
        return 1;
    if (diff->same_common && tfs_chunk_same(&before->chunk, &after->chunk))
        return 0;
    if (look_into(diff, chunk, err) < 0)
        return err->code;
    return chunk->why[0] != '\0' || chunk->voxels > 0 || chunk->files != 0;
}

int tfs_diff_count_voxels(struct tfs_diff *diff, struct tfs_diff_chunk *chunk,
                          struct tfs_error *err)
{
    return chunk->kind == TFS_DIFF_CHANGED || chunk->why[0] != '\0' ? 0
                                                                    : look_into(diff, chunk, err);
}

const struct tfs_diff_count *tfs_diff_counts(const struct tfs_diff *diff, size_t *count)
{
    *count = diff->cells.counted;
    return diff->cells.counts;
}

int tfs_diff_rows(struct tfs_diff *diff, tfs_diff_row_fn row, void *arg, struct tfs_error *err)
{
    return tfs_two_chunks_rows(&diff->cells, row, arg, err);
}

/* ---- the walk -------------------------------------------------------------------------------- */

int tfs_diff_walk(struct tfs_diff *diff, tfs_diff_chunk_fn differs, void *arg,
                  struct tfs_error *err)
{
    struct tfs_fetched *pair[TFS_WALK_SIDES];
    struct tfs_diff_chunk chunk = {.voxels = 0};
    int result;

    diff->unknown = diff->hidden = 0;
    while ((result = tfs_walk_next(&diff->walk, pair, &chunk.key, err)) > 0) {
        result = compare_pair(diff, pair, &chunk, err);
        if (result > 0)
            result = differs(arg, diff, &chunk);
        if (result != 0)
            break;
        chunk = (struct tfs_diff_chunk){.voxels = 0};
    }
    tfs_walk_end(&diff->walk);
    tfs_chunk_sides_close(&diff->cells.sides);
    return result;
}
