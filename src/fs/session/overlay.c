/*
 * Whiteouts and the directories of chunks just made: see overlay.h.
 */
#include "fs/session/overlay.h"

#include <stdlib.h>

#include "base/clock.h"
#include "formats/cells/written.h"

void tfs_overlay_init(struct tfs_overlay *overlay, uint64_t limit, unsigned linger_ms)
{
    *overlay = (struct tfs_overlay){.limit = limit, .linger_ms = linger_ms};
}

struct tfs_fresh *tfs_fresh_create(void)
{
    struct tfs_fresh *fresh = calloc(1, sizeof(*fresh));

    if (fresh == NULL)
        return NULL;
    fresh->values = tfs_written_values_create();
    if (fresh->values != NULL)
        return fresh;
    free(fresh);
    return NULL;
}

void tfs_fresh_free(struct tfs_fresh *fresh)
{
    if (fresh != NULL)
        tfs_written_values_free(fresh->values);
    free(fresh);
}

static void free_names(struct tfs_scratch_names *names)
{
    tfs_links_release(&names->links);
    free(names);
}

void tfs_overlay_release(struct tfs_overlay *overlay)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&overlay->names, &at, &cell);)
        free_names(cell.value);
    for (size_t at = 0; tfs_map_next(&overlay->whiteouts, &at, &cell);)
        free(cell.value);
    for (size_t at = 0; tfs_map_next(&overlay->fresh, &at, &cell);)
        tfs_fresh_free(cell.value);
    tfs_map_release(&overlay->names);
    tfs_map_release(&overlay->whiteouts);
    tfs_map_release(&overlay->fresh);
    tfs_map_release(&overlay->groups);
}

/* ---- whiteouts ------------------------------------------------------------------------------- */

struct tfs_whiteout *tfs_whiteout_find(const struct tfs_overlay *overlay,
                                       const struct tfs_node *node)
{
    return tfs_map_find(&overlay->whiteouts, tfs_node_id(node));
}

void tfs_whiteout_linger(const struct tfs_overlay *overlay, struct tfs_whiteout *whiteout)
{
    whiteout->deadline = tfs_now_ms() + overlay->linger_ms;
}

struct tfs_whiteout *tfs_whiteout_add(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    struct tfs_whiteout *whiteout = tfs_whiteout_find(overlay, node);

    if (whiteout == NULL) {
        whiteout = calloc(1, sizeof(*whiteout));
        if (whiteout == NULL)
            return NULL;
        whiteout->node = *node;
        if (tfs_map_set(&overlay->whiteouts, tfs_node_id(node), whiteout) < 0) {
            free(whiteout);
            return NULL;
        }
    }
    tfs_whiteout_linger(overlay, whiteout);
    return whiteout;
}

void tfs_whiteout_remove(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    free(tfs_map_remove(&overlay->whiteouts, tfs_node_id(node)));
}

struct tfs_whiteout *tfs_whiteout_expire(struct tfs_overlay *overlay, uint16_t store, int64_t now,
                                         bool all, size_t *at, int64_t *next)
{
    struct tfs_map_cell cell;

    while (tfs_map_next(&overlay->whiteouts, at, &cell)) {
        struct tfs_whiteout *whiteout = cell.value;
        bool due = whiteout->holders == 0 && whiteout->deadline <= now;
        if (whiteout->node.store != store)
            continue;
        if (!all && !due) {
            *next = tfs_sooner(*next, whiteout->holders == 0 ? whiteout->deadline : 0);
            continue;
        }
        tfs_whiteout_linger(overlay, whiteout);
        return whiteout;
    }
    return NULL;
}

/* ---- directories of groups ------------------------------------------------------------------- */

bool tfs_overlay_has_group(const struct tfs_overlay *overlay, const struct tfs_node *node)
{
    return overlay->groups.count > 0 && tfs_node_is_group(node) &&
           tfs_map_find(&overlay->groups, tfs_node_id(node)) != NULL;
}

int tfs_overlay_add_group(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    return tfs_map_set(&overlay->groups, tfs_node_id(node), overlay);
}

void tfs_overlay_remove_group(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    tfs_map_remove(&overlay->groups, tfs_node_id(node));
}

size_t tfs_overlay_count_groups(const struct tfs_overlay *overlay, struct tfs_save *save,
                                const struct tfs_doc *doc, const struct tfs_node *dir)
{
    struct tfs_map_cell cell;
    struct tfs_node node;
    size_t count = 0;

    for (size_t at = 0; tfs_map_next(&overlay->groups, &at, &cell);) {
        if (!tfs_node_of_id(cell.key, &node) || node.store != dir->store ||
            tfs_node_exists(save, doc, &node) != 0)
            continue;
        struct tfs_node parent = tfs_tree_parent(save, &node);
        count += tfs_node_same(&parent, dir);
    }
    return count;
}

/* ---- directories just made ------------------------------------------------------------------- */

static uint64_t directory_id(const struct tfs_node *node)
{
    struct tfs_node directory = tfs_node_sibling_directory(node, TFS_DIR_TOP);

    return tfs_node_id(&directory);
}

struct tfs_fresh *tfs_fresh_find(const struct tfs_overlay *overlay, const struct tfs_node *node)
{
    if (node->scope != TFS_SCOPE_CHUNK || overlay->fresh.count == 0)
        return NULL;
    return tfs_map_find(&overlay->fresh, directory_id(node));
}

int tfs_fresh_reserve(struct tfs_overlay *overlay)
{
    return tfs_map_reserve(&overlay->fresh);
}

void tfs_fresh_add(struct tfs_overlay *overlay, const struct tfs_node *node,
                   struct tfs_fresh *fresh)
{
    fresh->node = tfs_node_sibling_directory(node, TFS_DIR_TOP);
    fresh->hidden = true;
    tfs_overlay_linger_group(overlay, node);
    /* A copy that runs has created something by then, and has the whole time from there on. */
    fresh->deadline = tfs_now_ms() + overlay->linger_ms / 2;
    if (tfs_map_set(&overlay->fresh, directory_id(node), fresh) < 0)
        tfs_fresh_free(fresh);
}

void tfs_fresh_remove(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    tfs_fresh_free(tfs_map_remove(&overlay->fresh, directory_id(node)));
}

void tfs_fresh_touch(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    struct tfs_fresh *fresh = tfs_fresh_find(overlay, node);

    if (fresh != NULL && fresh->hidden)
        fresh->deadline = tfs_now_ms() + overlay->linger_ms;
}

/* Where a fresh directory says whether this name in it was created. */
struct fresh_bit {
    uint32_t *word, bit;
};

static struct fresh_bit fresh_bit(struct tfs_fresh *fresh, const struct tfs_node *node)
{
    if (node->file >= 0)
        return (struct fresh_bit){&fresh->created, UINT32_C(1) << node->file};
    return (struct fresh_bit){&fresh->directories, UINT32_C(1) << (node->directory - TFS_DIR_SUB)};
}

void tfs_fresh_hide(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    struct tfs_fresh *fresh = tfs_fresh_find(overlay, node);

    if (fresh == NULL || !fresh->hidden)
        return;
    struct fresh_bit at = fresh_bit(fresh, node);
    *at.word &= ~at.bit;
    tfs_fresh_touch(overlay, node);
}

struct tfs_fresh *tfs_fresh_expire(struct tfs_overlay *overlay, uint16_t store, int64_t now,
                                   int64_t *next)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&overlay->fresh, &at, &cell);) {
        struct tfs_fresh *fresh = cell.value;
        if (!fresh->hidden || fresh->node.store != store)
            continue;
        if (fresh->deadline <= now) {
            fresh->hidden = false;
            return fresh;
        }
        *next = tfs_sooner(*next, fresh->deadline);
    }
    return NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool tfs_overlay_hides(const struct tfs_overlay *overlay, const struct tfs_node *node)
{
    struct tfs_fresh *fresh = tfs_fresh_find(overlay, node);

    if (fresh != NULL && fresh->hidden && !tfs_node_is_chunk(node)) {
        struct fresh_bit at = fresh_bit(fresh, node);
        if ((*at.word & at.bit) == 0)
            return true;
    }
    return overlay->whiteouts.count > 0 && tfs_whiteout_find(overlay, node) != NULL;
}

void tfs_overlay_reveal(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    struct tfs_fresh *fresh = tfs_fresh_find(overlay, node);

    tfs_whiteout_remove(overlay, node);
    if (fresh != NULL && !tfs_node_is_chunk(node)) {
        struct fresh_bit at = fresh_bit(fresh, node);
        *at.word |= at.bit;
        tfs_fresh_touch(overlay, node);
    }
}

/* Does this to every name that the schema can have in a directory: its `count` files, and the
 * directories below. */
static void each_name(struct tfs_overlay *overlay, const struct tfs_node *top, unsigned count,
                      void (*act)(struct tfs_overlay *, const struct tfs_node *))
{
    struct tfs_node node = tfs_node_sibling_directory(top, TFS_DIR_TOP);

    for (unsigned i = 0; i < count; i++) {
        node.file = (int)i;
        act(overlay, &node);
    }
    node.file = -1;
    for (node.directory = TFS_DIR_SUB; node.directory < TFS_DIR_SUB + TFS_FILES_MAX;
         node.directory++)
        act(overlay, &node);
}

void tfs_overlay_forget_chunk(struct tfs_overlay *overlay, const struct tfs_node *chunk,
                              const struct tfs_tree *tree)
{
    tfs_fresh_remove(overlay, chunk);
    each_name(overlay, chunk, tree->chunk.count, tfs_whiteout_remove);
}

static void linger_if_removed(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    struct tfs_whiteout *whiteout = tfs_whiteout_find(overlay, node);

    if (whiteout != NULL)
        tfs_whiteout_linger(overlay, whiteout);
}

void tfs_overlay_linger_chunk(struct tfs_overlay *overlay, const struct tfs_node *node,
                              const struct tfs_tree *tree)
{
    if (node->scope == TFS_SCOPE_CHUNK)
        each_name(overlay, node, tree->chunk.count, linger_if_removed);
}

void tfs_overlay_linger_group(struct tfs_overlay *overlay, const struct tfs_node *node)
{
    const struct tfs_node top = {.store = node->store,
                                 .scope = TFS_SCOPE_GROUP,
                                 .key.group = node->key.group,
                                 .slot = TFS_SLOT_NONE,
                                 .file = -1};

    if (node->key.group > 0 && overlay->whiteouts.count > 0)
        each_name(overlay, &top, TFS_FILES_MAX, linger_if_removed);
}

size_t tfs_overlay_count_hidden(const struct tfs_overlay *overlay)
{
    struct tfs_map_cell cell;
    size_t count = overlay->whiteouts.count;

    for (size_t at = 0; tfs_map_next(&overlay->fresh, &at, &cell);)
        count += ((const struct tfs_fresh *)cell.value)->hidden;
    return count;
}
