/*
 * A difference -> text: a summary, a line for chunks that came or went, a head and rows for those
 * that changed, then what else differs.
 */
#include <inttypes.h>
#include <string.h>

#include "commands/diff.h"
#include "text/name.h"

/* Without --all-rows: rows of one chunk, of all chunks, and chunks in a row that are named. */
#define CHUNK_ROWS  10
#define ALL_ROWS    400
#define NAMED_ALONE 3

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *colour_of(const char *line)
{
    switch (line[0]) {
    case '+':
        return "\033[32m";
    case '-':
        return "\033[31m";
    case '@':
        return "\033[36m";
    default:
        return "";
    }
}

/* Ends the line under construction. Foreign names stand in it: nothing in them acts on a
 * terminal. */
static void end_line(struct tfs_differ *d)
{
    tfs_buf_u8(&d->line, '\0');
    if (d->line.failed)
        return;
    const char *text = (const char *)d->line.data;
    const char *colour = d->colour ? colour_of(text) : "";
    const size_t room = TFS_SENTENCE_GROWS * d->line.size;

    tfs_buf_add_text(&d->out, colour);
    char *at = (char *)tfs_buf_reserve(&d->out, room);
    if (at != NULL)
        d->out.size += strlen(tfs_sentence_print(text, at, room));
    tfs_buf_add_text(&d->out, *colour != '\0' ? "\033[m\n" : "\n");
    tfs_buf_clear(&d->line);
}

static void add_range(struct tfs_buf *out, const char *axis, int64_t low, int64_t high)
{
    tfs_buf_printf(out, "%s %" PRId64, axis, low);
    if (high != low)
        tfs_buf_printf(out, "..%" PRId64, high);
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void print_summary(struct tfs_differ *d)
{
    static const char *const axes[] = {" x", " y", " z"};
    struct tfs_buf *line = &d->line;

    if (!tfs_differ_terrain(d)) {
        tfs_buf_add_text(line, "terrain: unchanged");
        end_line(d);
        return;
    }
    tfs_buf_printf(line,
                   "terrain: %" PRIu64 " %s changed, %" PRIu64 " added, %" PRIu64
                   " removed; %" PRIu64 " %s",
                   d->chunks[TFS_DIFF_CHANGED],
                   d->chunks[TFS_DIFF_CHANGED] == 1 ? "chunk" : "chunks", d->chunks[TFS_DIFF_ADDED],
                   d->chunks[TFS_DIFF_REMOVED], d->voxels, tfs_differ_unit(d, d->voxels));
    if (d->has_box)
        tfs_buf_u8(line, ';');
    for (int i = 0; i < 3 && d->has_box; i++)
        add_range(line, axes[i], d->box.low[i], d->box.high[i]);
    end_line(d);
}

static void print_rest(struct tfs_differ *d)
{
    const struct tfs_container *before = d->saves[TFS_BEFORE]->container;
    const struct tfs_container *after = d->saves[TFS_AFTER]->container;
    const struct tfs_tree *tree = before->tree;

    for (unsigned i = 0; i < tree->root_count; i++)
        if (d->files & UINT32_C(1) << i) {
            tfs_buf_printf(&d->line, "%s: changed", tree->root_files[i].path);
            end_line(d);
        }
    switch (d->rest) {
    case TFS_REST_NONE:
        return;
    case TFS_REST_SAME:
        tfs_buf_add_text(&d->line, "rest of the file: unchanged");
        break;
    case TFS_REST_DIFFERS:
        tfs_buf_printf(&d->line, "rest of the file: %s changed", before->rest);
        break;
    case TFS_REST_UNKNOWN:
        tfs_buf_printf(&d->line, "rest of the file: not compared, it is a %s and a %s",
                       before->name, after->name);
        break;
    }
    end_line(d);
}

/* ---- chunks that came or went ---------------------------------------------------------------- */

/* Prints the line that waits for how many more there are of its kind. */
static void release_held(struct tfs_differ *d)
{
    if (d->held.size == 0)
        return;
    tfs_buf_add_span(&d->line, tfs_buf_span(&d->held));
    if (d->held_more > 0)
        tfs_buf_printf(&d->line, " (and %zu more)", d->held_more);
    end_line(d);
    tfs_buf_clear(&d->held);
    d->held_more = 0;
}

static void add_counts(struct tfs_differ *d, int side, struct tfs_buf *out)
{
    size_t count;
    const struct tfs_diff_count *counts = tfs_diff_counts(d->diff, &count);

    for (size_t i = 0; i < count; i++) {
        tfs_buf_u8(out, ' ');
        tfs_buf_add_span(out, counts[i].name);
        tfs_buf_printf(out, " %" PRIu64, counts[i].voxels[side]);
    }
    if (count == 0)
        tfs_buf_add_text(out, " empty");
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
        add_counts(d, added ? TFS_AFTER : TFS_BEFORE, &d->held);
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
        tfs_buf_u8(&d->line, ' ');
        tfs_buf_add_span(&d->line, counts[i].name);
        tfs_buf_printf(&d->line, " %+" PRId64, change);
    }
    if (named == 0 && chunk->voxels > 0)
        tfs_buf_printf(&d->line, " %" PRIu64 " %s", chunk->voxels,
                       tfs_differ_unit(d, chunk->voxels));
}

static void print_head(struct tfs_differ *d, const struct tfs_diff_chunk *chunk)
{
    tfs_buf_add_text(&d->line, "@@ chunk ");
    tfs_key_print(d->saves[TFS_BEFORE], chunk->key, &d->line);
    tfs_buf_add_text(&d->line, " @@");
    if (chunk->why[0] != '\0')
        tfs_buf_printf(&d->line, " cannot be compared voxel by voxel: %s", chunk->why);
    else
        add_changes(d, chunk);
    end_line(d);
}

static void print_files(struct tfs_differ *d, const struct tfs_diff_chunk *chunk)
{
    const struct tfs_tree *tree = d->saves[TFS_BEFORE]->tree;

    for (unsigned i = 0; i < tree->chunk_count; i++)
        if (chunk->files & UINT32_C(1) << i) {
            tfs_buf_printf(&d->line, " %s: changed", tree->chunk_files[i].path);
            end_line(d);
        }
}

static void print_heights(struct tfs_differ *d, const struct tfs_diff_heights *h)
{
    if (h->count == 0)
        return;
    tfs_buf_printf(&d->line,
                   " heights: %" PRIu64 " changed, from %u..%u to %u..%u, by %+" PRId64
                   " to %+" PRId64 ", mean %+.1f",
                   h->count, h->low[TFS_BEFORE], h->high[TFS_BEFORE], h->low[TFS_AFTER],
                   h->high[TFS_AFTER], h->least, h->most, (double)h->sum / (double)h->count);
    end_line(d);
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
        tfs_buf_printf(&d->line, "%cy=%" PRId64 " z=%" PRId64, side == TFS_BEFORE ? '-' : '+',
                       row->y, row->z);
        for (size_t i = 0; i < row->counts[side]; i++) {
            const struct tfs_diff_run *run = &row->runs[side][i];
            if (i > 0)
                tfs_buf_u8(&d->line, ',');
            add_range(&d->line, i == 0 ? " x" : "", run->from, run->to);
            tfs_buf_u8(&d->line, ' ');
            tfs_buf_add_span(&d->line, run->name);
        }
        end_line(d);
    }
    return tfs_differ_flush(d, false);
}

/* Samples of a surface have one row for each line of a tile: they are summed up. */
static int print_rows(struct tfs_differ *d, struct tfs_error *err)
{
    const bool surface = d->saves[TFS_BEFORE]->tree->voxels->height != NULL;
    const uint64_t left = d->rows_left;

    d->rows = 0;
    if (surface && !tfs_differ_wants(d, TFS_CLI_ALL_ROWS))
        return 0;
    int result = tfs_diff_rows(d->diff, print_row, d, err);
    size_t shown = (size_t)(left - d->rows_left);
    if (result == 0 && d->rows > shown && !tfs_differ_wants(d, TFS_CLI_ALL_ROWS)) {
        tfs_buf_printf(&d->line, " (and %zu more rows: --all-rows)", d->rows - shown);
        end_line(d);
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
        print_heights(d, &chunk->heights);
        print_files(d, chunk);
        result = chunk->voxels > 0 && chunk->why[0] == '\0' ? print_rows(d, p->err) : 0;
    }
    return result != 0 ? result : tfs_differ_flush(d, false);
}

int tfs_differ_text(struct tfs_differ *d, struct tfs_error *err)
{
    struct printing printing = {d, err};

    if (!tfs_differ_terrain(d) && d->rest != TFS_REST_DIFFERS)
        return 0;
    d->rows_left = ALL_ROWS;
    print_summary(d);
    if (!tfs_differ_wants(d, TFS_CLI_STAT) &&
        tfs_diff_walk(d->diff, print_chunk, &printing, err) != 0)
        return err->code;
    release_held(d);
    print_rest(d);
    return 0;
}
