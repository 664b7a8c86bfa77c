/*
 * Tables of names -> the materials that samples can have, and the tables of a merge. Numbers stay
 * as they are where a side gave one another name: samples hold numbers, and the name is then that
 * of all sides. Only what theirs has more is called by other numbers in the result.
 *
 * Must not know samples.
 */
#include "formats/beamng/materials.h"

#include <errno.h>
#include <string.h>

/* How many have this name? */
static uint8_t count_name(const struct tfs_beamng_materials *materials, struct tfs_span name)
{
    for (uint32_t i = materials->count; i-- > 0;)
        if (tfs_span_equal(materials->at[i], name))
            return (uint8_t)(materials->same[i] + 1);
    return 0;
}

void tfs_beamng_materials_find(struct tfs_span table, bool nul,
                               struct tfs_beamng_materials *materials)
{
    struct tfs_beamng_names names = tfs_beamng_names_init(table, nul);
    struct tfs_span name;

    materials->count = 0;
    while (materials->count < TFS_BEAMNG_HOLE && tfs_beamng_names_next(&names, &name)) {
        materials->same[materials->count] = count_name(materials, name);
        materials->at[materials->count++] = name;
    }
}

/* The layer of a name that so many of this name come before; `count`: there is none. */
static uint32_t number_of(const struct tfs_beamng_materials *materials, struct tfs_span name,
                          uint8_t same)
{
    uint32_t i = 0;

    while (i < materials->count &&
           (materials->same[i] != same || !tfs_span_equal(materials->at[i], name)))
        i++;
    return i;
}

/* ---- names of one number --------------------------------------------------------------------- */

enum { BASE, OURS, THEIRS, SIDES, RESULT = SIDES };

struct merging {
    const struct tfs_doc *const *docs; /* BASE NULL: there is none */
    bool moved[SIDES];                 /* it gave its materials other numbers */
    int prefer;
    const char **conflict;
};

static uint32_t count_in(const struct tfs_doc *doc, struct tfs_span name)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    struct tfs_span next;
    uint32_t count = 0;

    while (tfs_beamng_names_next(&names, &next))
        count += tfs_span_equal(next, name);
    return count;
}

/* Has a number a name that the base has with another number, and not for one material more? */
static bool has_moved(const struct tfs_doc *base, const struct tfs_doc *side)
{
    struct tfs_beamng_names before = tfs_beamng_names_of(base), after = tfs_beamng_names_of(side);
    struct tfs_span old, new;

    for (uint32_t i = 0; i < TFS_BEAMNG_HOLE && tfs_beamng_names_next(&before, &old) &&
                         tfs_beamng_names_next(&after, &new);
         i++) {
        const uint32_t there = tfs_span_equal(old, new) ? 0 : count_in(base, new);
        if (there > 0 && count_in(side, new) <= there)
            return true;
    }
    return false;
}

/* Why a name that a side gave cannot be that of the other, too. Numbers behind the last of a layer
 * are no matter. */
static const char *hindrance(const struct merging *m, uint32_t i,
                             const struct tfs_span names[SIDES], int from, int other)
{
    if (i >= TFS_BEAMNG_HOLE)
        return NULL;
    if (m->moved[other] && count_in(m->docs[other], names[BASE]) > 0)
        return "palette.txt: one side renamed a material, the other gave it another number";
    if (count_in(m->docs[other], names[from]) > count_in(m->docs[BASE], names[from]))
        return "palette.txt: one side renamed a material, the other added that name";
    return NULL;
}

/* Makes the names of number i, which the base has, what a side made of them. */
static void settle(const struct merging *m, uint32_t i, const bool there[SIDES],
                   struct tfs_span names[SIDES])
{
    bool renamed[SIDES] = {false};

    for (int side = OURS; side < SIDES; side++)
        renamed[side] = there[side] && !m->moved[side] && !tfs_span_equal(names[BASE], names[side]);
    if (!renamed[OURS] && !renamed[THEIRS])
        return;
    const int other = renamed[OURS] ? THEIRS : OURS;
    int from = renamed[OURS] ? OURS : THEIRS;
    if (!renamed[other]) {
        const char *why = hindrance(m, i, names, from, other);
        *m->conflict = why != NULL ? why : *m->conflict;
        if (why != NULL || m->moved[other])
            return;
    } else if (!tfs_span_equal(names[OURS], names[THEIRS])) {
        *m->conflict = "palette.txt: both sides renamed one material";
        from = m->prefer;
    }
    for (int side = 0; side < SIDES; side++)
        names[side] = names[from];
}

/* ---- tables ---------------------------------------------------------------------------------- */

int tfs_beamng_table_make(uint32_t count, const struct tfs_buf *entries, struct tfs_blob **table,
                          struct tfs_error *err)
{
    struct tfs_buf made = {0};

    tfs_buf_u32le(&made, count);
    tfs_buf_add_span(&made, tfs_buf_span(entries));
    made.failed = made.failed || entries->failed;
    tfs_blob_take(&made, table, err);
    tfs_buf_release(&made);
    return err->code;
}

/* A table that differs from the one that is there; that one, to the byte, where none does. */
static int take_table(const struct tfs_buf *names, uint32_t count, bool differs,
                      struct tfs_blob *there, struct tfs_blob **table, struct tfs_error *err)
{
    if (differs)
        return tfs_beamng_table_make(count, names, table, err);
    *table = tfs_blob_ref(there);
    return 0;
}

/* The tables of the sides, with what each of them renamed. */
static int rename_all(const struct merging *m, struct tfs_blob *parts[], struct tfs_error *err)
{
    const struct tfs_doc *const *docs = m->docs;
    struct tfs_beamng_names walks[SIDES] = {0};
    struct tfs_buf tables[SIDES] = {0};
    bool there[SIDES], differs[SIDES] = {false};
    uint32_t i = 0;

    for (int side = 0; side < SIDES; side++)
        if (docs[side] != NULL)
            walks[side] = tfs_beamng_names_of(docs[side]);
    do {
        struct tfs_span old[SIDES] = {{NULL, 0}}, new[SIDES];
        for (int side = 0; side < SIDES; side++)
            there[side] = tfs_beamng_names_next(&walks[side], &old[side]);
        memcpy(new, old, sizeof(new));
        if (there[BASE])
            settle(m, i, there, new);
        for (int side = 0; side < SIDES; side++) {
            if (!there[side])
                continue;
            differs[side] = differs[side] || !tfs_span_equal(old[side], new[side]);
            tfs_beamng_name_add(&tables[side], new[side], walks[side].nul);
        }
        i++;
    } while (there[BASE] || there[OURS] || there[THEIRS]);
    for (int side = 0; side < SIDES; side++) {
        if (docs[side] != NULL && err->code == 0)
            take_table(&tables[side], tfs_beamng_name_count(docs[side]), differs[side],
                       tfs_beamng_table(docs[side]), &parts[side], err);
        tfs_buf_release(&tables[side]);
    }
    return err->code;
}

/* Appends the names of theirs that ours has less often, or (`repeats` false) not at all: how
 * many. */
static uint32_t add_names(const struct tfs_beamng_materials *ours,
                          const struct tfs_beamng_materials *theirs, bool repeats, bool nul,
                          struct tfs_buf *added)
{
    uint32_t count = 0;

    tfs_buf_clear(added);
    for (uint32_t i = 0; i < theirs->count; i++)
        if (theirs->at[i].size > 0 && (repeats || theirs->same[i] == 0) &&
            number_of(ours, theirs->at[i], theirs->same[i]) == ours->count) {
            tfs_beamng_name_add(added, theirs->at[i], nul);
            count++;
        }
    return count;
}

/* The table of ours, and behind it what theirs has more. A sample does not say more than its name
 * where repeats have no place. */
static int join(const struct merging *m, struct tfs_blob *parts[], struct tfs_error *err)
{
    const struct tfs_span table = tfs_blob_span(parts[OURS]);
    const uint32_t there = tfs_beamng_name_count(m->docs[OURS]);
    const bool nul = tfs_beamng_layout_of(m->docs[OURS])->nul;
    struct tfs_beamng_materials ours, theirs;
    struct tfs_buf names = {0}, added = {0};

    tfs_beamng_materials_find(table, nul, &ours);
    tfs_beamng_materials_find(tfs_blob_span(parts[THEIRS]),
                              tfs_beamng_layout_of(m->docs[THEIRS])->nul, &theirs);
    uint32_t more = add_names(&ours, &theirs, true, nul, &added);
    if (there + more > TFS_BEAMNG_HOLE)
        more = add_names(&ours, &theirs, false, nul, &added);
    tfs_buf_add(&names, table.data + 4, table.size - 4);
    tfs_buf_add_span(&names, tfs_buf_span(&added));
    names.failed = names.failed || added.failed;
    if (more > 0 && there + more > TFS_BEAMNG_HOLE)
        tfs_fail(err, -EBADMSG, "both sides together have %u materials, %u are possible",
                 there + more, TFS_BEAMNG_HOLE);
    else
        take_table(&names, there + more, more > 0, parts[OURS], &parts[RESULT], err);
    tfs_buf_release(&names);
    tfs_buf_release(&added);
    return err->code;
}

int tfs_beamng_merge_names(const struct tfs_doc *const docs[3], int prefer,
                           struct tfs_blob *parts[4], const char **conflict, struct tfs_error *err)
{
    struct merging m = {.docs = docs, .prefer = prefer, .conflict = conflict};

    for (int side = OURS; side < SIDES && docs[BASE] != NULL; side++)
        m.moved[side] = has_moved(docs[BASE], docs[side]);
    return rename_all(&m, parts, err) < 0 ? err->code : join(&m, parts, err);
}
