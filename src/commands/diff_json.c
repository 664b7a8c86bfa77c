/*
 * A difference -> one JSON object. Rows are in it with --all-rows, chunks without --stat. Totals
 * are behind the chunks, which are walked once.
 */
#include <inttypes.h>
#include <string.h>

#include "commands/diff.h"
#include "commands/json.h"

static void add_files(struct tfs_buf *out, uint32_t bits, const struct tfs_file *files,
                      unsigned count)
{
    const char *comma = "";

    tfs_buf_add_text(out, ",\"files\":[");
    for (unsigned i = 0; i < count; i++)
        if (bits & UINT32_C(1) << i) {
            tfs_buf_add_text(out, comma);
            tfs_json_string(out, tfs_span_of(files[i].path));
            comma = ",";
        }
    tfs_buf_u8(out, ']');
}

static void add_box(struct tfs_buf *out, const struct tfs_diff_box *box)
{
    static const char axes[] = "xyz";

    tfs_buf_add_text(out, ",\"box\":{");
    for (int i = 0; i < 3; i++)
        tfs_buf_printf(out, "%s\"%c\":[%" PRId64 ",%" PRId64 "]", i > 0 ? "," : "", axes[i],
                       box->low[i], box->high[i]);
    tfs_buf_u8(out, '}');
}

/* ---- a chunk --------------------------------------------------------------------------------- */

static void add_counts(struct tfs_differ *d)
{
    size_t count;
    const struct tfs_diff_count *counts = tfs_diff_counts(d->diff, &count);

    tfs_buf_add_text(&d->printer.out, ",\"counts\":{");
    for (size_t i = 0; i < count; i++) {
        tfs_buf_add_text(&d->printer.out, i > 0 ? "," : "");
        tfs_json_string(&d->printer.out, counts[i].name);
        tfs_buf_printf(&d->printer.out, ":[%" PRIu64 ",%" PRIu64 "]", counts[i].voxels[TFS_BEFORE],
                       counts[i].voxels[TFS_AFTER]);
    }
    tfs_buf_u8(&d->printer.out, '}');
}

static void add_runs(struct tfs_buf *out, const struct tfs_diff_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tfs_buf_printf(out, "%s[%" PRId64 ",%" PRId64 ",", i > 0 ? "," : "", runs[i].from,
                       runs[i].to);
        tfs_json_string(out, runs[i].name);
        tfs_buf_u8(out, ']');
    }
}

static int add_row(void *arg, const struct tfs_diff_row *row)
{
    struct tfs_differ *d = arg;

    tfs_buf_printf(&d->printer.out, "%s\n{\"y\":%" PRId64 ",\"z\":%" PRId64 ",\"before\":[",
                   d->rows++ > 0 ? "," : "", row->y, row->z);
    add_runs(&d->printer.out, row->runs[TFS_BEFORE], row->counts[TFS_BEFORE]);
    tfs_buf_add_text(&d->printer.out, "],\"after\":[");
    add_runs(&d->printer.out, row->runs[TFS_AFTER], row->counts[TFS_AFTER]);
    tfs_buf_add_text(&d->printer.out, "]}");
    return tfs_printer_flush(&d->printer, false);
}

struct printing {
    struct tfs_differ *d;
    struct tfs_error *err;
};

static void add_head(struct tfs_differ *d, const struct tfs_diff_chunk *chunk)
{
    static const char *const kinds[] = {
        [TFS_DIFF_ADDED] = "added", [TFS_DIFF_REMOVED] = "removed", [TFS_DIFF_CHANGED] = "changed"};

    tfs_buf_printf(&d->printer.out, "%s\n{\"chunk\":\"", d->first ? "" : ",");
    d->first = false;
    tfs_key_print(d->saves[TFS_BEFORE], chunk->key, &d->printer.out);
    tfs_buf_printf(&d->printer.out, "\",\"change\":\"%s\"", kinds[chunk->kind]);
}

static int add_chunk(void *arg, struct tfs_diff *diff, struct tfs_diff_chunk *chunk)
{
    const struct printing *p = arg;
    struct tfs_differ *d = p->d;
    const struct tfs_tree *tree = d->saves[TFS_BEFORE]->tree;
    int result = 0;

    if (tfs_differ_count(d, chunk, p->err) < 0)
        return p->err->code;
    add_head(d, chunk);
    if (chunk->why[0] != '\0') {
        tfs_buf_add_text(&d->printer.out, ",\"unreadable\":");
        tfs_json_string(&d->printer.out, tfs_span_of(chunk->why));
    } else {
        tfs_buf_printf(&d->printer.out, ",\"voxels\":%" PRIu64, chunk->voxels);
        if (chunk->voxels > 0)
            add_box(&d->printer.out, &chunk->box);
        add_counts(d);
        if (tfs_differ_wants(d, TFS_CLI_ALL_ROWS)) {
            tfs_buf_add_text(&d->printer.out, ",\"rows\":[");
            d->rows = 0;
            result = tfs_diff_rows(diff, add_row, d, p->err);
            tfs_buf_u8(&d->printer.out, ']');
        }
        const struct tfs_schema *schema = tfs_chunk_schema(tree, chunk->key.group);
        add_files(&d->printer.out, chunk->files, schema->files, schema->count);
    }
    tfs_buf_u8(&d->printer.out, '}');
    return result != 0 ? result : tfs_printer_flush(&d->printer, false);
}

/* ---- all ------------------------------------------------------------------------------------- */

int tfs_differ_json(struct tfs_differ *d, struct tfs_error *err)
{
    static const char *const rests[] = {[TFS_REST_NONE] = "null",
                                        [TFS_REST_SAME] = "\"unchanged\"",
                                        [TFS_REST_DIFFERS] = "\"changed\"",
                                        [TFS_REST_UNKNOWN] = "\"not compared\""};
    const struct tfs_tree *tree = d->saves[TFS_BEFORE]->tree;
    struct printing printing = {d, err};

    if (d->cli->part != NULL)
        tfs_json_text(&d->printer.out, "save", d->cli->part);
    tfs_buf_u8(&d->printer.out, d->cli->part != NULL ? ',' : '{');
    if (tfs_differ_wants(d, TFS_CLI_STAT)) {
        if (tfs_differ_count_all(d, err) < 0)
            return err->code;
    } else {
        tfs_buf_add_text(&d->printer.out, "\"chunks\":[");
        d->first = true;
        if (tfs_diff_walk(d->diff, add_chunk, &printing, err) != 0)
            return err->code;
        tfs_buf_add_text(&d->printer.out, "],");
    }
    tfs_buf_printf(&d->printer.out,
                   "\"changed\":%" PRIu64 ",\"added\":%" PRIu64 ",\"removed\":%" PRIu64
                   ",\"voxels\":%" PRIu64,
                   d->chunks[TFS_DIFF_CHANGED], d->chunks[TFS_DIFF_ADDED],
                   d->chunks[TFS_DIFF_REMOVED], d->voxels);
    if (d->has_box)
        add_box(&d->printer.out, &d->box);
    add_files(&d->printer.out, d->files, tree->root.files, tree->root.count);
    tfs_buf_printf(&d->printer.out, ",\"rest\":%s}\n", rests[d->rest]);
    return 0;
}
