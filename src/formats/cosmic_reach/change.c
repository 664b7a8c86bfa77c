/*
 * Numbers for the voxels of a chunk, and names for the numbers -> a palette and block data.
 *
 * Must not know where the names come from.
 */
#include "formats/cosmic_reach/change.h"

#include <errno.h>
#include <stdlib.h>

bool tfs_cosmic_find_air(const struct tfs_cosmic_values *values, uint32_t *air)
{
    for (uint32_t i = 0; i < values->count; i++) {
        if (tfs_cosmic_is_air(values->names[i])) {
            *air = i;
            return true;
        }
    }
    return false;
}

static struct tfs_span name_of(const struct tfs_cosmic_change *c, uint32_t id)
{
    return id < c->old->count ? c->old->names[id] : c->added[id - c->old->count];
}

/* The palette of section 5: old entries without those that lost their last voxel, then new names
 * in order of first use. `to` maps numbers to entries of it. */
struct renumbering {
    uint32_t count;
    struct tfs_span *names;
    uint32_t *to;
};

static void mark_used(const uint32_t *ids, bool *used)
{
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        used[ids[i]] = true;
}

static void renumber(const struct tfs_cosmic_change *c, const bool *before, const bool *after,
                     struct renumbering *r)
{
    for (uint32_t i = 0; i < c->old->count; i++) {
        if (before[i] && !after[i])
            continue;
        r->to[i] = r->count;
        r->names[r->count++] = c->old->names[i];
    }
    for (uint32_t i = c->old->count; i < c->old->count + c->added_count; i++)
        r->to[i] = UINT32_MAX;
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++) {
        uint32_t id = c->ids[i];
        if (r->to[id] != UINT32_MAX)
            continue;
        r->to[id] = r->count;
        r->names[r->count++] = name_of(c, id);
    }
}

static int encode_change(const struct tfs_cosmic_change *c, struct tfs_buf *section,
                         struct tfs_error *err)
{
    uint32_t total = c->old->count + c->added_count;
    struct renumbering r = {
        .names = calloc(total, sizeof(*r.names)),
        .to = calloc(total, sizeof(*r.to)),
    };
    bool *used = calloc(total, 2 * sizeof(*used));

    if (r.names == NULL || r.to == NULL || used == NULL) {
        tfs_fail_memory(err);
        goto out;
    }
    mark_used(c->old->ids, used);
    mark_used(c->ids, used + total);
    renumber(c, used, used + total, &r);
    if (r.count > TFS_COSMIC_PALETTE_MAX) {
        tfs_fail(err, -EBADMSG, "the chunk would have a palette of %u blocks, %d are possible",
                 r.count, TFS_COSMIC_PALETTE_MAX);
        goto out;
    }
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        c->ids[i] = r.to[c->ids[i]];
    tfs_cosmic_blocks_encode(section, r.names, r.count, c->ids, c->view->chunk->tag);
out:
    free(r.names);
    free(r.to);
    free(used);
    return err->code;
}

/* Has any voxel another name, be it of the same entry or not? */
static bool names_differ(const struct tfs_cosmic_change *c)
{
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++) {
        uint32_t before = c->old->ids[i], after = c->ids[i];
        if (after != before && !tfs_span_equal(name_of(c, after), c->old->names[before]))
            return true;
    }
    return false;
}

int tfs_cosmic_change_store(struct tfs_edit *edit, const struct tfs_cosmic_change *change,
                            struct tfs_error *err)
{
    struct tfs_buf section = {0};

    if (names_differ(change) && encode_change(change, &section, err) == 0)
        tfs_cosmic_section_put(edit, change->view->chunk, &change->view->body,
                               TFS_COSMIC_SECTION_BLOCKS, &section, err);
    tfs_buf_release(&section);
    return err->code;
}
