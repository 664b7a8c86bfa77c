/*
 * Tables of names <-> lists of materials, and the tables of a merge. Numbers stay as they are where
 * a side gave one another name: samples hold numbers, and the name is then that of all sides. Only
 * what theirs has more is called by other numbers in the result.
 *
 * Must not know samples.
 */
#include "formats/beamng/materials.h"

#include <errno.h>
#include <stdlib.h>

int tfs_beamng_materials_open(const struct tfs_doc *doc, struct tfs_beamng_materials *materials,
                              struct tfs_error *err)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);

    materials->count = 0;
    materials->at = calloc((size_t)names.left + TFS_BEAMNG_HOLE, sizeof(*materials->at));
    if (materials->at == NULL)
        return tfs_fail_memory(err);
    while (tfs_beamng_names_next(&names, &materials->at[materials->count]))
        materials->count++;
    return 0;
}

bool tfs_beamng_materials_same(const struct tfs_beamng_materials *a,
                               const struct tfs_beamng_materials *b)
{
    uint32_t i = 0;

    while (i < a->count && i < b->count && tfs_span_equal(a->at[i], b->at[i]))
        i++;
    return i == a->count && i == b->count;
}

int tfs_beamng_materials_table(const struct tfs_beamng_materials *materials, bool nul,
                               struct tfs_blob **table, struct tfs_error *err)
{
    struct tfs_buf made = {0};

    tfs_buf_u32le(&made, materials->count);
    for (uint32_t i = 0; i < materials->count; i++)
        tfs_beamng_name_add(&made, materials->at[i], nul);
    tfs_blob_take(&made, table, err);
    tfs_buf_release(&made);
    return err->code;
}

/* How many of the first `end` have this name? */
static uint32_t count_name(const struct tfs_beamng_materials *materials, uint32_t end,
                           struct tfs_span name)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < end && i < materials->count; i++)
        count += tfs_span_equal(materials->at[i], name);
    return count;
}

/* ---- names of one number --------------------------------------------------------------------- */

enum { BASE, OURS, THEIRS, SIDES, RESULT = SIDES };

struct merging {
    const struct tfs_doc *const *docs;          /* BASE NULL: there is none */
    struct tfs_beamng_materials was[SIDES];     /* as each side has them */
    struct tfs_beamng_materials settled[SIDES]; /* with what each of them renamed */
    bool moved[SIDES];                          /* it gave its materials other numbers */
    int prefer;
    const char **conflict;
};

/* Has a number a name that the base has with another number, and not for one material more? */
static bool has_moved(const struct tfs_beamng_materials *base,
                      const struct tfs_beamng_materials *side)
{
    for (uint32_t i = 0; i < TFS_BEAMNG_HOLE && i < base->count && i < side->count; i++) {
        const struct tfs_span name = side->at[i];
        const uint32_t there =
            tfs_span_equal(base->at[i], name) ? 0 : count_name(base, UINT32_MAX, name);
        if (there > 0 && count_name(side, UINT32_MAX, name) <= there)
            return true;
    }
    return false;
}

/* Why a name that a side gave cannot be that of the other, too. Numbers behind the last of a layer
 * are no matter. */
static const char *hindrance(const struct merging *m, uint32_t i, int from, int other)
{
    const struct tfs_span name = m->was[from].at[i];

    if (i >= TFS_BEAMNG_HOLE)
        return NULL;
    if (m->moved[other] && count_name(&m->was[other], UINT32_MAX, m->was[BASE].at[i]) > 0)
        return "palette.txt: one side renamed a material, the other gave it another number";
    if (count_name(&m->was[other], UINT32_MAX, name) > count_name(&m->was[BASE], UINT32_MAX, name))
        return "palette.txt: one side renamed a material, the other added that name";
    return NULL;
}

static bool has_renamed(const struct merging *m, int side, uint32_t i)
{
    return !m->moved[side] && i < m->was[side].count &&
           !tfs_span_equal(m->was[BASE].at[i], m->was[side].at[i]);
}

/* Makes the names of number i, which the base has, what a side made of them. */
static void settle(struct merging *m, uint32_t i)
{
    const bool ours = has_renamed(m, OURS, i), both = ours && has_renamed(m, THEIRS, i);
    const int other = ours ? THEIRS : OURS;
    int from = ours ? OURS : THEIRS;

    if (!ours && !has_renamed(m, THEIRS, i))
        return;
    if (!both) {
        const char *why = hindrance(m, i, from, other);
        *m->conflict = why != NULL ? why : *m->conflict;
        if (why != NULL || m->moved[other])
            return;
    } else if (!tfs_span_equal(m->was[OURS].at[i], m->was[THEIRS].at[i])) {
        *m->conflict = "palette.txt: both sides renamed one material";
        from = m->prefer;
    }
    for (int side = 0; side < SIDES; side++)
        if (i < m->was[side].count)
            m->settled[side].at[i] = m->was[from].at[i];
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The table of a side's list; `there`, to the byte, where no name differs from those of `was`. */
static int take_table(const struct merging *m, int side, const struct tfs_beamng_materials *was,
                      struct tfs_blob *there, struct tfs_blob **table, struct tfs_error *err)
{
    const struct tfs_beamng_materials *list = &m->settled[side];

    if (!tfs_beamng_materials_same(was, list))
        return tfs_beamng_materials_table(list, tfs_beamng_layout_of(m->docs[side])->nul, table,
                                          err);
    *table = tfs_blob_ref(there);
    return 0;
}

static int open_sides(struct merging *m, struct tfs_error *err)
{
    for (int side = 0; side < SIDES; side++) {
        if (m->docs[side] == NULL)
            continue;
        if (tfs_beamng_materials_open(m->docs[side], &m->was[side], err) < 0 ||
            tfs_beamng_materials_open(m->docs[side], &m->settled[side], err) < 0)
            return err->code;
        m->moved[side] = side != BASE && has_moved(&m->was[BASE], &m->was[side]);
    }
    return 0;
}

/* Appends the names of theirs that ours has less often, or (`repeats` false) not at all: how
 * many, behind those that are counted. */
static uint32_t add_names(struct tfs_beamng_materials *ours,
                          const struct tfs_beamng_materials *theirs, bool repeats)
{
    uint32_t added = 0;

    for (uint32_t i = 0; i < theirs->count && i < TFS_BEAMNG_HOLE; i++) {
        const struct tfs_span name = theirs->at[i];
        const uint32_t before = count_name(theirs, i, name);
        if (name.size > 0 && (repeats || before == 0) &&
            count_name(ours, TFS_BEAMNG_HOLE, name) <= before)
            ours->at[ours->count + added++] = name;
    }
    return added;
}

/* The table of ours, and behind it what theirs has more. A sample does not say more than its name
 * where repeats have no place. */
static int join(struct merging *m, struct tfs_blob *parts[], struct tfs_error *err)
{
    struct tfs_beamng_materials *ours = &m->settled[OURS];
    const struct tfs_beamng_materials before = *ours;
    uint32_t more = add_names(ours, &m->settled[THEIRS], true);

    if (ours->count + more > TFS_BEAMNG_HOLE)
        more = add_names(ours, &m->settled[THEIRS], false);
    ours->count += more;
    if (more > 0 && ours->count > TFS_BEAMNG_HOLE)
        return tfs_fail(err, -EBADMSG, "both sides together have %u materials, %u are possible",
                        ours->count, TFS_BEAMNG_HOLE);
    return take_table(m, OURS, &before, parts[OURS], &parts[RESULT], err);
}

int tfs_beamng_merge_names(const struct tfs_doc *const docs[3], int prefer,
                           struct tfs_blob *parts[4], const char **conflict, struct tfs_error *err)
{
    struct merging m = {.docs = docs, .prefer = prefer, .conflict = conflict};

    if (open_sides(&m, err) == 0)
        for (uint32_t i = 0; i < m.was[BASE].count; i++)
            settle(&m, i);
    for (int side = 0; side < SIDES && err->code == 0; side++)
        if (docs[side] != NULL)
            take_table(&m, side, &m.was[side], tfs_beamng_table(docs[side]), &parts[side], err);
    if (err->code == 0)
        join(&m, parts, err);
    for (int side = 0; side < SIDES; side++) {
        free(m.was[side].at);
        free(m.settled[side].at);
    }
    return err->code;
}
