/*
 * Numbers for the voxels of a chunk, and names for the numbers -> a palette and block data.
 *
 * Must not know where the names come from.
 */
#include "formats/cosmic_reach/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- names and numbers ----------------------------------------------------------------------- */

static int number_palette(struct tfs_cosmic_change *c, struct tfs_error *err)
{
    c->first = malloc(c->old->count * sizeof(*c->first));
    c->entry = malloc(c->old->count * sizeof(*c->entry));
    if (c->first == NULL || c->entry == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < c->old->count; i++) {
        uint32_t word;
        if (tfs_words_add(&c->names, c->old->names[i], &word, err) < 0)
            return err->code;
        if (word == c->had)
            c->entry[c->had++] = i;
        c->first[i] = c->entry[word];
        if (!c->has_air && tfs_cosmic_is_air(c->old->names[i])) {
            c->has_air = true;
            c->air = i;
        }
    }
    return 0;
}

int tfs_cosmic_change_open(struct tfs_save *save, struct tfs_cosmic_change *c,
                           const struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err)
{
    memset(c, 0, sizeof(*c));
    if (tfs_cosmic_view_open(save, doc, key, &c->view, err) < 0 ||
        tfs_cosmic_body_check(&c->view.chunk.body, c->view.chunk.in.blob->data, err) < 0 ||
        tfs_cosmic_blocks_decode(&c->view.blocks, &c->old, err) < 0)
        return err->code;
    memcpy(c->ids, c->old->ids, sizeof(c->ids));
    return number_palette(c, err);
}

void tfs_cosmic_change_close(struct tfs_cosmic_change *c)
{
    tfs_cosmic_view_close(&c->view);
    free(c->old);
    free(c->first);
    free(c->entry);
    tfs_words_release(&c->names);
}

struct tfs_span tfs_cosmic_change_name(const struct tfs_cosmic_change *c, uint32_t id)
{
    return id < c->old->count ? c->old->names[id]
                              : tfs_words_at(&c->names, id - c->old->count + c->had);
}

static uint32_t number_of_word(const struct tfs_cosmic_change *c, uint32_t word)
{
    return word < c->had ? c->entry[word] : c->old->count + word - c->had;
}

bool tfs_cosmic_change_find(const struct tfs_cosmic_change *c, struct tfs_span name,
                            uint32_t *number)
{
    uint32_t word;
    const bool found = tfs_words_find(&c->names, name, &word);

    if (found)
        *number = number_of_word(c, word);
    return found;
}

int tfs_cosmic_change_number(struct tfs_cosmic_change *c, struct tfs_span name, uint32_t *number,
                             struct tfs_error *err)
{
    uint32_t word;

    if (tfs_words_add(&c->names, name, &word, err) == 0)
        *number = number_of_word(c, word);
    return err->code;
}

/* ---- voxels ---------------------------------------------------------------------------------- */

/* The number of the name that an entry or a number stands for. */
static uint32_t number_of(const struct tfs_cosmic_change *c, uint32_t id)
{
    return id < c->old->count ? c->first[id] : id;
}

void tfs_cosmic_change_set(struct tfs_cosmic_change *c, size_t voxel, uint32_t number)
{
    const uint32_t own = c->old->ids[voxel];

    c->ids[voxel] = c->first[own] == number ? own : number;
}

int tfs_cosmic_change_clear(struct tfs_cosmic_change *c, size_t voxel, struct tfs_error *err)
{
    if ((c->has_air && c->ids[voxel] == c->air) ||
        tfs_cosmic_is_air(tfs_cosmic_change_name(c, c->ids[voxel])))
        return 0;
    if (!c->has_air &&
        tfs_cosmic_change_number(c, tfs_cosmic_air(tfs_cosmic_chunk_version(&c->view.chunk.in)),
                                 &c->air, err) < 0)
        return err->code;
    c->has_air = true;
    c->ids[voxel] = c->air;
    return 0;
}

static bool names_differ(const struct tfs_cosmic_change *c)
{
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        if (number_of(c, c->ids[i]) != c->first[c->old->ids[i]])
            return true;
    return false;
}

/* ---- storing --------------------------------------------------------------------------------- */

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
    for (uint32_t i = c->had; i < c->names.count; i++)
        r->to[number_of_word(c, i)] = UINT32_MAX;
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++) {
        uint32_t id = c->ids[i];
        if (r->to[id] != UINT32_MAX)
            continue;
        r->to[id] = r->count;
        r->names[r->count++] = tfs_cosmic_change_name(c, id);
    }
}

static int encode_change(const struct tfs_cosmic_change *c, struct tfs_buf *section,
                         struct tfs_error *err)
{
    size_t total = c->old->count + (c->names.count - c->had);
    struct renumbering r = {
        .names = calloc(total, sizeof(*r.names)),
        .to = calloc(total, sizeof(*r.to)),
    };
    bool *used = calloc(total, 2 * sizeof(*used));
    uint32_t ids[TFS_COSMIC_VALUES];

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
        ids[i] = r.to[c->ids[i]];
    tfs_cosmic_blocks_encode(section, r.names, r.count, ids,
                             tfs_cosmic_chunk_version(&c->view.chunk.in));
out:
    free(r.names);
    free(r.to);
    free(used);
    return err->code;
}

int tfs_cosmic_change_store(struct tfs_edit *edit, const struct tfs_cosmic_change *c,
                            struct tfs_error *err)
{
    struct tfs_buf section = {0};

    if (names_differ(c) && encode_change(c, &section, err) == 0)
        tfs_cosmic_section_put(edit, &c->view.chunk, TFS_COSMIC_SECTION_BLOCKS, &section, err);
    tfs_buf_release(&section);
    return err->code;
}
