/*
 * Words -> escaped and perhaps coloured lines, in large pieces.
 *
 * Must not know which command prints.
 */
#include "commands/printer.h"

#include <inttypes.h>
#include <string.h>

#include "text/name.h"

#define FLUSH_SIZE ((size_t)64 << 10)

void tfs_printer_release(struct tfs_printer *p)
{
    tfs_buf_release(&p->line);
    tfs_buf_release(&p->out);
}

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

void tfs_printer_end(struct tfs_printer *p)
{
    tfs_buf_u8(&p->line, '\0');
    if (p->line.failed)
        return;
    const char *text = (const char *)p->line.data;
    const char *colour = p->colour ? colour_of(text) : "";
    const size_t room = TFS_SENTENCE_GROWS * p->line.size;

    tfs_buf_add_text(&p->out, colour);
    char *at = (char *)tfs_buf_reserve(&p->out, room);
    if (at != NULL)
        p->out.size += strlen(tfs_sentence_print(text, at, room));
    tfs_buf_add_text(&p->out, *colour != '\0' ? "\033[m\n" : "\n");
    tfs_buf_clear(&p->line);
}

void tfs_printer_range(struct tfs_printer *p, const char *axis, int64_t low, int64_t high)
{
    tfs_buf_printf(&p->line, "%s %" PRId64, axis, low);
    if (high != low)
        tfs_buf_printf(&p->line, "..%" PRId64, high);
}

void tfs_printer_voxels(struct tfs_printer *p, const struct tfs_cells_kind *kind, uint64_t count)
{
    tfs_buf_printf(&p->line, "%" PRIu64 " %s%s", count, kind->unit != NULL ? kind->unit : "voxel",
                   count == 1 ? "" : "s");
}

void tfs_printer_row(struct tfs_printer *p, const struct tfs_diff_row *row, int side)
{
    tfs_buf_printf(&p->line, "y=%" PRId64 " z=%" PRId64, row->y, row->z);
    for (size_t i = 0; i < row->counts[side]; i++) {
        const struct tfs_diff_run *run = &row->runs[side][i];
        if (i > 0)
            tfs_buf_u8(&p->line, ',');
        tfs_printer_range(p, i == 0 ? " x" : "", run->from, run->to);
        tfs_buf_u8(&p->line, ' ');
        tfs_buf_add_span(&p->line, run->name);
    }
}

int tfs_printer_flush(struct tfs_printer *p, bool all)
{
    if (!all && p->out.size < FLUSH_SIZE)
        return 0;
    p->lost = tfs_cli_print(p->cli, tfs_buf_span(&p->out));
    tfs_buf_clear(&p->out);
    return p->lost != TFS_STATUS_DONE;
}

int tfs_printer_check(const struct tfs_printer *p, struct tfs_error *err)
{
    return tfs_buf_check(&p->out, err) < 0 ? err->code : tfs_buf_check(&p->line, err);
}
