/*
 * merge: two saves that were made from one -> a save with what both changed, as git's merge driver
 * has it: status 0 without conflicts, 1 with them. A merge that is refused has neither: it would be
 * taken for a result with conflicts.
 *
 * The result takes the place of OURS, or is the new file OUT, once it was read back; before that
 * nothing is touched. It is an edit of the save whose scripts and parts it has.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/git_run.h"
#include "commands/merge_lfs.h"
#include "commands/output.h"
#include "commands/printer.h"
#include "formats/compare/merge.h"
#include "formats/containers/file.h"
#include "text/name.h"
#include "text/table.h"

#define CSV_HEADER "x,y,z,base,ours,theirs\n"
#define CSV_ROWS   100000

/* The table of the voxels in conflict of one group: the first CSV_ROWS, and how many more there
 * are. It replaces an older table after the result was written, so a merge that fails leaves the
 * old one. */
struct table {
    struct tfs_output file;
    uint32_t group;
    uint64_t voxels;
    struct table *next;
};

/* In the order of the groups. */
struct csv {
    struct table *first, *last;
    struct tfs_buf line;
    struct tfs_buf place; /* names of tables, up to `.conflicts` */
};

struct merger {
    struct tfs_cli *cli;
    const char *output; /* -o OUT; NULL: in place */
    struct tfs_printer printer;
    struct tfs_save *saves[TFS_MERGE_SIDES]; /* NULL: there is no base */
    struct tfs_merge merge;
    bool rest[TFS_MERGE_SIDES]; /* the rest of the result is that of this side */
    bool rest_conflicts;
    bool names; /* names of materials came from theirs */
    struct csv csv;
    struct tfs_error *err;
};

static const char *const side_names[] = {"base", "ours", "theirs"};

/* Does git merge common ancestors, to get the base of the real merge? Then conflicts are not
 * reported and stay as in the base: a side that won here would win the real merge, too. */
static bool is_virtual(const struct merger *m)
{
    return (m->cli->flags & TFS_CLI_VIRTUAL) != 0;
}

static enum tfs_status refused(enum tfs_status status)
{
    return status == TFS_STATUS_BAD ? TFS_STATUS_USAGE : status;
}

static bool is_refused(enum tfs_status status)
{
    return status != TFS_STATUS_DONE && status != TFS_STATUS_BAD;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* The name of the result, beside which conflicts are written. */
static const char *path_of(const struct merger *m)
{
    if (m->cli->path != NULL)
        return m->cli->path;
    return m->output != NULL ? m->output : m->cli->operands[TFS_MERGE_OURS];
}

/* ---- conflicts ------------------------------------------------------------------------------- */

static const struct tfs_output_kind csv_kind = {
    "a table of conflicts", {(const uint8_t *)CSV_HEADER, sizeof(CSV_HEADER) - 1}};

static int csv_row(struct csv *csv, struct table *table, struct tfs_error *err)
{
    if (tfs_buf_check(&csv->line, err) < 0)
        return err->code;
    return tfs_sink_span(&table->file.file.sink, tfs_buf_span(&csv->line), err);
}

/* Writes all tables to their temp files. After this only renames are left, which need no space. */
static int csv_settle(struct csv *csv, struct tfs_error *err)
{
    for (struct table *t = csv->first; t != NULL && err->code == 0; t = t->next) {
        tfs_buf_clear(&csv->line);
        if (t->voxels > CSV_ROWS)
            tfs_buf_printf(&csv->line, "%" PRIu64 " more,,,,,\n", t->voxels - CSV_ROWS);
        if (csv_row(csv, t, err) == 0)
            tfs_output_settle(&t->file, err);
    }
    return err->code;
}

static int csv_finish(struct csv *csv, struct tfs_error *err)
{
    struct tfs_error why = {0};

    for (struct table *t = csv->first; t != NULL; t = t->next)
        tfs_output_finish(&t->file, &why);
    if (why.code < 0)
        tfs_fail(err, why.code, "is merged, but a table of its conflicts is not in its place: %s",
                 why.text);
    return err->code;
}

static void csv_release(struct csv *csv)
{
    for (struct table *t = csv->first, *next; t != NULL; t = next) {
        next = t->next;
        tfs_output_cancel(&t->file);
        free(t);
    }
    tfs_buf_release(&csv->line);
    tfs_buf_release(&csv->place);
}

/* PATH.conflicts.csv; voxels of lods/1 are in PATH.conflicts.lods-1.csv. */
static void csv_name(const struct merger *m, uint32_t group, char name[TFS_OUTPUT_PATH])
{
    const struct tfs_tree *tree = m->saves[TFS_MERGE_OURS]->tree;
    char part[64] = "";

    if (group > 0)
        snprintf(part, sizeof(part), ".%s-%u", tree->group_dir, group - 1 + tfs_group_label(tree));
    snprintf(name, TFS_OUTPUT_PATH, "%s.conflicts%s.csv", (const char *)m->csv.place.data, part);
}

/* Tables lie beside the result. In a merge by git they lie among git's own files, because the work
 * tree is the user's. */
static int csv_place(struct merger *m, struct tfs_error *err)
{
    static const char *const words[] = {"rev-parse", "--git-path", "terrainfs", NULL};
    struct tfs_buf *place = &m->csv.place;
    struct tfs_error ignored = {0};
    char name[TFS_OUTPUT_PATH], real[TFS_OUTPUT_PATH];

    if (m->cli->path != NULL && tfs_git_run(words, true, place, &ignored) == 0 && place->size > 0) {
        place->data[place->size - 1] = '/'; /* it was the end of the line */
        tfs_buf_add_text(place, path_of(m));
        tfs_buf_u8(place, '\0');
        if (!place->failed)
            tfs_file_make_parents((char *)place->data, 0777);
    } else {
        tfs_buf_clear(place);
        tfs_buf_add_text(place, path_of(m));
        tfs_buf_u8(place, '\0');
    }
    if (tfs_buf_check(place, err) < 0)
        return err->code;
    csv_name(m, 0, name);
    return tfs_output_resolve(name, real, err);
}

static int csv_open(struct merger *m, uint32_t group)
{
    struct table *table = calloc(1, sizeof(*table));
    char name[TFS_OUTPUT_PATH];

    if (table == NULL)
        return tfs_fail_memory(m->err);
    csv_name(m, group, name);
    if (tfs_output_open(name, &csv_kind, &m->saves[TFS_MERGE_OURS]->st, &table->file, m->err) < 0) {
        free(table);
        return m->err->code;
    }
    table->group = group;
    *(m->csv.last != NULL ? &m->csv.last->next : &m->csv.first) = table;
    m->csv.last = table;
    return tfs_sink_span(&table->file.file.sink, csv_kind.begins, m->err);
}

static int add_voxel(void *arg, struct tfs_key key, const int64_t at[3],
                     const struct tfs_span names[TFS_MERGE_SIDES])
{
    struct merger *m = arg;
    struct tfs_buf *line = &m->csv.line;

    if (is_virtual(m))
        return 0;
    if ((m->csv.last == NULL || m->csv.last->group != key.group) && csv_open(m, key.group) < 0)
        return m->err->code;
    if (m->csv.last->voxels++ >= CSV_ROWS)
        return 0;
    tfs_buf_clear(line);
    for (int axis = 0; axis < 3; axis++) {
        tfs_table_print_number(line, at[axis]);
        tfs_buf_u8(line, ',');
    }
    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        tfs_table_print_field(line, names[i]);
        tfs_buf_u8(line, i + 1 < TFS_MERGE_SIDES ? ',' : '\n');
    }
    return csv_row(&m->csv, m->csv.last, m->err);
}

/* Removes tables of an earlier merge whose conflicts are gone. */
static int remove_tables(const struct merger *m, struct tfs_error *err)
{
    const struct tfs_save *ours = m->saves[TFS_MERGE_OURS];
    const uint32_t groups = ours->tree->groups == NULL ? 1 : ours->tree->groups(ours->doc);
    const struct table *written = m->csv.first;
    char name[TFS_OUTPUT_PATH];

    if (is_virtual(m))
        return 0;
    for (uint32_t group = 0; group < groups && err->code == 0; group++) {
        const bool kept = written != NULL && written->group == group;
        written = kept ? written->next : written;
        csv_name(m, group, name);
        if (!kept)
            tfs_output_remove(name, &csv_kind, err);
    }
    return err->code;
}

static int print_conflict(void *arg, const struct tfs_merge_conflict *conflict)
{
    static const char *const axes[] = {", x", " y", " z"};
    struct merger *m = arg;
    struct tfs_printer *p = &m->printer;

    if (is_virtual(m))
        return 0;
    tfs_buf_add_text(&p->line, conflict->whole ? "conflict in " : "conflict in chunk ");
    if (!conflict->whole)
        tfs_key_print(m->saves[TFS_MERGE_OURS], conflict->key, &p->line);
    if (conflict->whole) {
        tfs_buf_add_text(&p->line, conflict->what);
    } else if (conflict->what != NULL) {
        tfs_buf_printf(&p->line, ": %s", conflict->what);
    } else {
        tfs_buf_add_text(&p->line, ": ");
        tfs_printer_voxels(p, m->saves[TFS_MERGE_OURS]->tree->cells, conflict->voxels);
        for (int i = 0; i < 3; i++)
            tfs_printer_range(p, axes[i], conflict->box.low[i], conflict->box.high[i]);
    }
    tfs_buf_printf(&p->line, "; %s stays", side_names[m->merge.prefer]);
    tfs_printer_end(p);
    return tfs_printer_flush(p, false);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_end(struct merger *m)
{
    struct tfs_printer *p = &m->printer;
    const size_t conflicts = m->merge.conflicts + m->rest_conflicts;
    const struct tfs_container *container = m->saves[TFS_MERGE_OURS]->container;
    const char *with = !m->rest[TFS_MERGE_OURS] ? "the rest of the file" : "palette.txt";

    if (is_virtual(m))
        return;
    for (const struct table *t = m->csv.first; t != NULL; t = t->next) {
        char name[TFS_OUTPUT_PATH];
        csv_name(m, t->group, name);
        tfs_buf_add_text(&p->line, "voxels in conflict: ");
        tfs_name_print(&p->line, tfs_span_of(name));
        tfs_printer_end(p);
    }
    if (m->rest_conflicts) {
        if (container->file != NULL)
            tfs_buf_add_text(&p->line,
                             "conflict in the rest of the file: it changed on both sides; ours "
                             "stays");
        else
            tfs_buf_printf(&p->line,
                           "conflict in the rest of the save: it changed, and a merge leaves it "
                           "as it is in a %s; ours stays",
                           container->name);
        tfs_printer_end(p);
    }
    tfs_buf_printf(&p->line, "merged: %zu chunk%s", m->merge.taken, plural(m->merge.taken));
    if (!m->rest[TFS_MERGE_OURS] || m->names)
        tfs_buf_printf(&p->line, " and %s", with);
    tfs_buf_printf(&p->line, " from theirs, %zu chunk%s voxel by voxel; %zu conflict%s",
                   m->merge.merged, plural(m->merge.merged), conflicts, plural(conflicts));
    tfs_printer_end(p);
}

/* ---- the rest of a file ---------------------------------------------------------------------- */

/* Scripts and parts are those of the side that changed them; without a base, ours. Of a folder or
 * database ours stay: its files are laid out as they say. */
static int merge_rest(struct merger *m, struct tfs_error *err)
{
    const struct tfs_container *container = m->saves[TFS_MERGE_OURS]->container;
    uint64_t rests[TFS_MERGE_SIDES] = {0};
    bool known[TFS_MERGE_SIDES];

    m->rest[TFS_MERGE_OURS] = m->rest[TFS_MERGE_THEIRS] = true;
    m->merge.carrier = TFS_MERGE_OURS;
    if (container->rest == NULL)
        return 0;
    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        known[i] = m->saves[i] != NULL && m->saves[i]->container == container;
        if (known[i] && container->rest(m->saves[i], &rests[i], err) < 0)
            return err->code;
    }
    m->rest[TFS_MERGE_THEIRS] =
        known[TFS_MERGE_THEIRS] && rests[TFS_MERGE_THEIRS] == rests[TFS_MERGE_OURS];
    m->merge.one_rest = m->rest[TFS_MERGE_THEIRS] &&
                        (m->saves[TFS_MERGE_BASE] == NULL ||
                         (known[TFS_MERGE_BASE] && rests[TFS_MERGE_BASE] == rests[TFS_MERGE_OURS]));
    if (m->rest[TFS_MERGE_THEIRS] || (known[TFS_MERGE_BASE] && known[TFS_MERGE_THEIRS] &&
                                      rests[TFS_MERGE_THEIRS] == rests[TFS_MERGE_BASE]))
        return 0;
    if (container->file != NULL && known[TFS_MERGE_THEIRS] && known[TFS_MERGE_BASE] &&
        rests[TFS_MERGE_OURS] == rests[TFS_MERGE_BASE]) {
        m->merge.carrier = TFS_MERGE_THEIRS;
        m->rest[TFS_MERGE_OURS] = false;
        m->rest[TFS_MERGE_THEIRS] = true;
        return 0;
    }
    m->rest_conflicts = true;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The document is an edit of that side's save. */
static int write_doc(struct merger *m, enum tfs_merge_side side, struct tfs_doc *doc,
                     struct tfs_error *err)
{
    struct tfs_save *ours = m->saves[TFS_MERGE_OURS];
    char path[TFS_OUTPUT_PATH];

    if (m->output != NULL) {
        if (tfs_output_resolve(m->output, path, err) == 0)
            tfs_whole_file_write(m->saves[side], doc, NULL, path, err);
        return err->code;
    }
    if (side != TFS_MERGE_OURS)
        return tfs_whole_file_write(m->saves[side], doc, ours, NULL, err);
    return tfs_cli_commit(ours, doc, err);
}

static int write_result(struct merger *m, struct tfs_edit *edit, struct tfs_error *err)
{
    const struct tfs_container *container = m->saves[TFS_MERGE_OURS]->container;
    const enum tfs_merge_side carrier = m->merge.carrier;

    if (is_virtual(m) && m->rest_conflicts && container->file != NULL &&
        m->saves[TFS_MERGE_BASE] != NULL && m->saves[TFS_MERGE_BASE]->container == container)
        return write_doc(m, TFS_MERGE_BASE, m->saves[TFS_MERGE_BASE]->doc, err);
    if (m->merge.same[TFS_MERGE_OURS] && m->rest[TFS_MERGE_OURS])
        return write_doc(m, TFS_MERGE_OURS, m->saves[TFS_MERGE_OURS]->doc, err);
    /* Only a commit writes the files beside a save. */
    if (m->merge.same[TFS_MERGE_THEIRS] && m->rest[TFS_MERGE_THEIRS] && container->file != NULL &&
        m->saves[TFS_MERGE_THEIRS]->container == container &&
        (container->file->committed == NULL || m->output != NULL))
        return write_doc(m, TFS_MERGE_THEIRS, m->saves[TFS_MERGE_THEIRS]->doc, err);
    struct tfs_doc *doc = tfs_edit_finish(edit);
    write_doc(m, carrier, doc, err);
    tfs_doc_unref(doc);
    return err->code;
}

/* ---- the merge ------------------------------------------------------------------------------- */

static int run(struct merger *m, struct tfs_error *err)
{
    struct tfs_edit edit;

    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        if (m->saves[i] != NULL)
            m->merge.sides[i] = (struct tfs_side){m->saves[i], m->saves[i]->doc};
    if (merge_rest(m, err) < 0 || tfs_edit_open(m->saves[m->merge.carrier]->doc, &edit, err) < 0)
        return err->code;
    int result = tfs_merge_run(&m->merge, &edit, err);
    m->names = m->saves[TFS_MERGE_OURS]->tree->cells->merge_names != NULL &&
               !m->merge.same[TFS_MERGE_OURS] &&
               !tfs_blob_equal(tfs_edit_doc(&edit)->common, edit.base->common);
    if (result == 0 && csv_settle(&m->csv, err) == 0 && write_result(m, &edit, err) == 0 &&
        csv_finish(&m->csv, err) == 0)
        remove_tables(m, err);
    tfs_edit_release(&edit);
    return result != 0 ? result : err->code;
}

static enum tfs_status run_and_say(struct merger *m)
{
    struct tfs_error err = {0};

    m->err = &err;
    int result = run(m, &err);
    if (result == 0)
        print_end(m);
    if (err.code == 0)
        tfs_printer_check(&m->printer, &err);
    if (err.code < 0)
        return refused(tfs_cli_report(m->cli, path_of(m), &err));
    if (!m->printer.lost)
        tfs_printer_flush(&m->printer, true);
    if (m->printer.lost)
        return m->printer.lost;
    return m->merge.conflicts > 0 || m->rest_conflicts ? TFS_STATUS_BAD : TFS_STATUS_DONE;
}

/* ---- what git merges next -------------------------------------------------------------------- */

static int replace_by(const char *path, const struct tfs_file_handle *from, struct tfs_error *err)
{
    struct tfs_file_handle file;
    struct tfs_replacement r;

    if (tfs_file_open(path, true, &file, err) < 0)
        return err->code;
    if (tfs_replacement_open(path, &file, &r, err) == 0) {
        if (tfs_replacement_copy(&r, from, err) == 0)
            tfs_replacement_finish(&r, &file, err);
        else
            tfs_replacement_cancel(&r);
    }
    tfs_file_close(&file);
    return err->code;
}

/* The merge was refused, and git goes on with its file OURS: it must be the base, or ours would win
 * the real merge. A file that is not git's stays. */
static enum tfs_status leave_base(struct tfs_cli *cli, enum tfs_status status)
{
    const char *ours = cli->operands[TFS_MERGE_OURS];
    char *path = realpath(ours, NULL);
    struct tfs_file_handle base;
    struct tfs_error err = {0};

    if (path == NULL)
        tfs_fail_errno(&err, "cannot be found");
    else if (tfs_file_open(cli->operands[TFS_MERGE_BASE], false, &base, &err) == 0) {
        replace_by(path, &base, &err);
        tfs_file_close(&base);
    }
    free(path);
    if (err.code < 0)
        status = tfs_status_worst(status, refused(tfs_cli_report(cli, ours, &err)));
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* git gives an empty file for one that did not exist. */
static bool is_nothing(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || (S_ISREG(st.st_mode) && !st.st_size));
}

/* All three files get the name of the result, because the name of a region says where it lies. The
 * name of a folder says nothing. */
static const char *name_of(const struct merger *m, const char *operand)
{
    const char *path = path_of(m), *slash = strrchr(path, '/');
    struct stat st;

    if (stat(operand, &st) == 0 && S_ISDIR(st.st_mode))
        return NULL;
    return slash == NULL ? path : slash + 1;
}

static enum tfs_status open_side(struct merger *m, enum tfs_merge_side side)
{
    const bool writes = side == TFS_MERGE_OURS && m->output == NULL;
    const char *path = m->cli->operands[side];

    if (side == TFS_MERGE_BASE && is_nothing(path))
        return TFS_STATUS_DONE;
    m->cli->options.name = name_of(m, path);
    enum tfs_status status =
        tfs_cli_open(m->cli, path, writes ? TFS_LOCK_EXCLUSIVE : TFS_LOCK_NONE, &m->saves[side]);
    if (status || !writes)
        return status;
    return tfs_cli_writable(m->cli, path, m->saves[side]);
}

static enum tfs_status check_output(struct merger *m)
{
    char path[TFS_OUTPUT_PATH];
    struct tfs_error err = {0};
    struct stat st;

    if (m->output == NULL)
        return TFS_STATUS_DONE;
    if (m->saves[TFS_MERGE_OURS]->container->file == NULL)
        return tfs_cli_say(m->cli, TFS_STATUS_USAGE,
                           "-o OUT is for saves that are one file; this one is a %s: copy it, and "
                           "merge into the copy without -o",
                           m->saves[TFS_MERGE_OURS]->container->name);
    if (lstat(m->output, &st) == 0)
        return tfs_cli_say(m->cli, TFS_STATUS_USAGE, "%s: it is there already", m->output);
    if (tfs_output_resolve(m->output, path, &err) < 0)
        return tfs_cli_say(m->cli, TFS_STATUS_USAGE, "%s", err.text);
    return TFS_STATUS_DONE;
}

static enum tfs_status open_all(struct merger *m)
{
    enum tfs_status status = TFS_STATUS_DONE;
    struct tfs_error err = {0};

    /* git keeps every version, and its temp files are gone soon. */
    if (m->cli->path != NULL)
        m->cli->options.undo.when = TFS_UNDO_NEVER;
    for (int i = 0; i < TFS_MERGE_SIDES && !status; i++)
        status = open_side(m, (enum tfs_merge_side)i);
    if (!status)
        status = check_output(m);
    if (!status && !is_virtual(m) && csv_place(m, &err) < 0)
        status = tfs_cli_say(m->cli, TFS_STATUS_SYSTEM, "%s", err.text);
    return status;
}

static enum tfs_merge_side preferred(const struct tfs_cli *cli)
{
    if ((cli->flags & TFS_CLI_VIRTUAL) != 0)
        return TFS_MERGE_BASE;
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        if (cli->conflicts != NULL && strcmp(cli->conflicts, side_names[i]) == 0)
            return (enum tfs_merge_side)i;
    return TFS_MERGE_OURS;
}

/* BASE OURS THEIRS, and perhaps -o OUT. */
static enum tfs_status take_operands(struct merger *m)
{
    const struct tfs_cli *cli = m->cli;

    if (cli->operand_count == 5 && strcmp(cli->operands[3], "-o") == 0)
        m->output = cli->operands[4];
    else if (cli->operand_count != TFS_MERGE_SIDES)
        return tfs_cli_say(m->cli, TFS_STATUS_USAGE, "%s operands: BASE OURS THEIRS [-o OUT]",
                           cli->operand_count < TFS_MERGE_SIDES ? "missing" : "too many");
    return TFS_STATUS_DONE;
}

enum tfs_status tfs_cli_merge(struct tfs_cli *cli)
{
    struct merger m = {.cli = cli, .printer = {.cli = cli}};

    m.merge = (struct tfs_merge){.prefer = preferred(cli),
                                 .ancestor = is_virtual(&m),
                                 .conflict = print_conflict,
                                 .voxel = add_voxel,
                                 .arg = &m};
    enum tfs_status status = take_operands(&m);
    if (!status && tfs_merge_has_pointers(cli))
        return tfs_merge_by_lfs(cli);
    if (!status)
        status = refused(open_all(&m));
    if (!status)
        status = run_and_say(&m);
    csv_release(&m.csv);
    tfs_printer_release(&m.printer);
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        tfs_save_close(m.saves[i]);
    if (is_virtual(&m) && cli->path != NULL && m.output == NULL && is_refused(status) &&
        cli->operand_count == TFS_MERGE_SIDES)
        status = leave_base(cli, status);
    return status;
}
