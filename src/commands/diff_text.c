/*
 * A difference -> text: a summary, a line for chunks that came or went, a head and rows for those
 * that changed, then what else differs.
 */
#include <inttypes.h>
#include <string.h>

#include "commands/diff.h"

/* Without --all-rows: rows of one chunk, and of all chunks. */
#define CHUNK_ROWS 10
#define ALL_ROWS   400

/* ---- the summary ----------------------------------------------------------------------------- */

static void print_summary(struct tfs_differ *d)
{
    static const char *const axes[] = {" x", " y", " z"};
    struct tfs_buf *line = &d->printer.line;

    if (!tfs_differ_terrain(d)) {
        tfs_buf_add_text(line, "terrain: unchanged");
        tfs_printer_end(&d->printer);
        return;
    }
    tfs_buf_printf(
        line, "terrain: %" PRIu64 " %s changed, %" PRIu64 " added, %" PRIu64 " removed; ",
        d->chunks[TFS_DIFF_CHANGED], d->chunks[TFS_DIFF_CHANGED] == 1 ? "chunk" : "chunks",
        d->chunks[TFS_DIFF_ADDED], d->chunks[TFS_DIFF_REMOVED]);
    tfs_printer_voxels(&d->printer, d->saves[TFS_BEFORE]->tree->cells, d->voxels);
    if (d->has_box)
        tfs_buf_u8(line, ';');
    for (int i = 0; i < 3 && d->has_box; i++)
        tfs_printer_range(&d->printer, axes[i], d->box.low[i], d->box.high[i]);
    tfs_printer_end(&d->printer);
}

/* Things of a file have only their number, and in another file it may be that of another one. */
static void print_groups(struct tfs_differ *d)
{
    const struct tfs_tree *tree = d->saves[TFS_BEFORE]->tree;

    if (!tree->fixed_groups || !d->in_groups ||
        (d->rest != TFS_REST_DIFFERS && d->rest != TFS_REST_UNKNOWN))
        return;
    tfs_buf_printf(&d->printer.line,
                   "%s: %" PRIu32 " before, %" PRIu32 " after, compared by number, which may be "
                   "that of another one",
                   tree->group_dir, tree->groups(d->docs[TFS_BEFORE]) - 1,
                   tree->groups(d->docs[TFS_AFTER]) - 1);
    tfs_printer_end(&d->printer);
}

static void print_rest(struct tfs_differ *d)
{
    const struct tfs_container *before = d->saves[TFS_BEFORE]->container;
    const struct tfs_container *after = d->saves[TFS_AFTER]->container;
    const struct tfs_tree *tree = before->tree;

    for (unsigned i = 0; i < tree->root.count; i++)
        if (d->files & UINT32_C(1) << i) {
            tfs_buf_printf(&d->printer.line, "%s: changed", tree->root.files[i].path);
            tfs_printer_end(&d->printer);
        }
    switch (d->rest) {
    case TFS_REST_NONE:
        return;
    case TFS_REST_SAME:
        tfs_buf_add_text(&d->printer.line, "rest of the file: unchanged");
        break;
    case TFS_REST_DIFFERS:
        tfs_buf_add_text(&d->printer.line, "rest of the file: changed");
        break;
    case TFS_REST_UNKNOWN:
        tfs_buf_printf(&d->printer.line, "rest of the file: not compared, it is a %s and a %s",
                       before->name, after->name);
        break;
    }
    tfs_printer_end(&d->printer);
}

/* ---- chunks that came or went ---------------------------------------------------------------- */

/* Prints the line that waits for how many more there are of its kind. */
static void release_held(struct tfs_differ *d)
{
    if (d->held.size == 0)
        return;
    tfs_buf_add_span(&d->printer.line, tfs_buf_span(&d->held));
    if (d->held_more > 0)
        tfs_buf_printf(&d->printer.line, " (and %zu more)", d->held_more);
    tfs_printer_end(&d->printer);
    tfs_buf_clear(&d->held);
    d->held_more = 0;
}

static void add_counts(struct tfs_differ *d, const struct tfs_diff_chunk *chunk,
                       struct tfs_buf *out)
{
    const int side = chunk->kind == TFS_DIFF_ADDED ? TFS_AFTER : TFS_BEFORE;
    size_t count;
    const struct tfs_diff_count *counts = tfs_diff_counts(d->diff, &count);

    for (size_t i = 0; i < count; i++) {
        tfs_buf_u8(out, ' ');
        tfs_buf_add_span(out, counts[i].name);
        tfs_buf_printf(out, " %" PRIu64, counts[i].voxels[side]);
    }
    if (count == 0)
        tfs_buf_add_text(out, chunk->voxels > 0 ? " air" : " empty");
}

static int hold_chunk(struct tfs_differ *d, struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    const bool added = chunk->kind == TFS_DIFF_ADDED;

    if (d->held.size > 0 && d->held_kind == chunk->kind && !tfs_differ_wants(d, TFS_CLI_ALL_ROWS)) {
        d->held_more++;
        return 0;
    }
    release_held(d);
    if (tfs_diff_count_voxels(d->diff, chunk, err) < 0)
        return err->code;
    d->held_kind = chunk->kind;
    tfs_buf_printf(&d->held, "%cchunk ", added ? '+' : '-');
    tfs_key_print(d->saves[TFS_BEFORE], chunk->key, &d->held);
    if (chunk->why[0] != '\0')
        tfs_buf_printf(&d->held, " cannot be read: %s", chunk->why);
    else
        add_counts(d, chunk, &d->held);
    return 0;
}

/* ---- chunks that changed --------------------------------------------------------------------- */

/* "Grass -812 Sand +812", or how many voxels where no name has more or fewer of them. */
static void add_changes(struct tfs_differ *d, const struct tfs_diff_chunk *chunk)
{
    size_t count, named = 0;
    const struct tfs_diff_count *counts = tfs_diff_counts(d->diff, &count);

    for (size_t i = 0; i < count; i++) {
        int64_t change = (int64_t)(counts[i].voxels[TFS_AFTER] - counts[i].voxels[TFS_BEFORE]);
        if (change == 0)
            continue;
        named++;
        tfs_buf_u8(&d->printer.line, ' ');
        tfs_buf_add_span(&d->printer.line, counts[i].name);
        tfs_buf_printf(&d->printer.line, " %+" PRId64, change);
    }
    if (named == 0 && chunk->voxels > 0) {
        tfs_buf_u8(&d->printer.line, ' ');
        tfs_printer_voxels(&d->printer, d->saves[TFS_BEFORE]->tree->cells, chunk->voxels);
    }
}

static void print_head(struct tfs_differ *d, const struct tfs_diff_chunk *chunk)
{
    tfs_buf_add_text(&d->printer.line, "@@ chunk ");
    tfs_key_print(d->saves[TFS_BEFORE], chunk->key, &d->printer.line);
    tfs_buf_add_text(&d->printer.line, " @@");
    if (chunk->why[0] != '\0')
        tfs_buf_printf(&d->printer.line, " cannot be compared voxel by voxel: %s", chunk->why);
    else
        add_changes(d, chunk);
    tfs_printer_end(&d->printer);
}

static void print_files(struct tfs_differ *d, const struct tfs_diff_chunk *chunk)
{
    const struct tfs_schema *schema =
        tfs_chunk_schema(d->saves[TFS_BEFORE]->tree, chunk->key.group);

    for (unsigned i = 0; i < schema->count; i++)
        if (chunk->files & UINT32_C(1) << i) {
            tfs_buf_printf(&d->printer.line, " %s: changed", schema->files[i].path);
            tfs_printer_end(&d->printer);
        }
}

static int print_row(void *arg, const struct tfs_diff_row *row)
{
    struct tfs_differ *d = arg;
    const bool all = tfs_differ_wants(d, TFS_CLI_ALL_ROWS);

    if (d->rows++ >= CHUNK_ROWS && !all)
        return 0;
    if (d->rows_left == 0 && !all)
        return 0;
    d->rows_left -= d->rows_left > 0;
    for (int side = 0; side < TFS_SIDES; side++) {
        if (row->counts[side] == 0)
            continue;
        tfs_buf_u8(&d->printer.line, side == TFS_BEFORE ? '-' : '+');
        tfs_printer_row(&d->printer, row, side);
        tfs_printer_end(&d->printer);
    }
    return tfs_printer_flush(&d->printer, false);
}

/* Samples of a surface have one row for each line of a tile: they are summed up. */
static int print_rows(struct tfs_differ *d, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = d->saves[TFS_BEFORE]->tree->cells;
    const uint64_t left = d->rows_left;

    bool surface = false;

    d->rows = 0;
    for (unsigned p = 0; p < kind->count; p++)
        surface = surface || (kind->planes[p].flags & TFS_PLANE_HEIGHT) != 0;
    if (surface && !tfs_differ_wants(d, TFS_CLI_ALL_ROWS))
        return 0;
    int result = tfs_diff_rows(d->diff, print_row, d, err);
    size_t shown = (size_t)(left - d->rows_left);
    if (result == 0 && d->rows > shown && !tfs_differ_wants(d, TFS_CLI_ALL_ROWS)) {
        tfs_buf_printf(&d->printer.line, " (and %zu more rows: --all-rows)", d->rows - shown);
        tfs_printer_end(&d->printer);
    }
    return result;
}

/* ---- all ------------------------------------------------------------------------------------- */

struct printing {
    struct tfs_differ *d;
    struct tfs_error *err;
};

static int print_chunk(void *arg, struct tfs_diff *diff, struct tfs_diff_chunk *chunk)
{
    const struct printing *p = arg;
    struct tfs_differ *d = p->d;
    int result = 0;

    (void)diff;
    if (chunk->kind != TFS_DIFF_CHANGED) {
        if (hold_chunk(d, chunk, p->err) < 0)
            return p->err->code;
        if (!tfs_differ_wants(d, TFS_CLI_ALL_ROWS))
            return 0;
        release_held(d);
        result = chunk->why[0] == '\0' ? print_rows(d, p->err) : 0;
    } else {
        release_held(d);
        print_head(d, chunk);
        print_files(d, chunk);
        result = chunk->voxels > 0 && chunk->why[0] == '\0' ? print_rows(d, p->err) : 0;
    }
    return result != 0 ? result : tfs_printer_flush(&d->printer, false);
}

int tfs_differ_text(struct tfs_differ *d, struct tfs_error *err)
{
    struct printing printing = {d, err};

    if (tfs_differ_count_all(d, err) < 0)
        return err->code;
    if (!tfs_differ_terrain(d) && d->rest != TFS_REST_DIFFERS)
        return 0;
    d->rows_left = ALL_ROWS;
    print_summary(d);
    if (!tfs_differ_wants(d, TFS_CLI_STAT) &&
        tfs_diff_walk(d->diff, print_chunk, &printing, err) != 0)
        return err->code;
    release_held(d);
    print_groups(d);
    print_rest(d);
    return 0;
}
