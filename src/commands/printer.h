/*
 * Lines about terrain on the standard output: what `diff` and `text` share. Foreign names stand in
 * them; nothing in them acts on a terminal.
 */
#ifndef TFS_COMMANDS_PRINTER_H
#define TFS_COMMANDS_PRINTER_H

#include "commands/cli.h"
#include "formats/compare/diff.h"

struct tfs_printer {
    struct tfs_cli *cli;
    struct tfs_buf line; /* under construction */
    struct tfs_buf out;  /* not handed on yet */
    bool colour;
    enum tfs_status lost; /* the standard output broke */
};

void tfs_printer_release(struct tfs_printer *p);

/* Ends the line under construction. */
void tfs_printer_end(struct tfs_printer *p);
/* Appends "x 3..5" or "x 3" to the line. */
void tfs_printer_range(struct tfs_printer *p, const char *axis, int64_t low, int64_t high);
/* Appends "1 voxel", "3 samples": as the format calls them. */
void tfs_printer_voxels(struct tfs_printer *p, const struct tfs_cells_kind *kind, uint64_t count);
/* Appends "y=3 z=-2 x 3..5 Grass, 6 Sand": one side of a row. */
void tfs_printer_row(struct tfs_printer *p, const struct tfs_diff_row *row, int side);
/* Hands on what was printed so far, when that is much, or `all` of it. Not 0: nobody reads it. */
int tfs_printer_flush(struct tfs_printer *p, bool all);
/* Did all of it find memory? */
int tfs_printer_check(const struct tfs_printer *p, struct tfs_error *err);

#endif
