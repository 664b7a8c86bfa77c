/*
 * text: a save -> one line a chunk, for `git log -p` and `git blame` (git's textconv).
 *
 * What cannot be read is a sentence on the standard output, and the status stays 0: a textconv that
 * fails ends the whole `git log -p`. Only without memory it fails: git may keep what it printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "commands/printer.h"
#include "formats/compare/count.h"
#include "fs/recovery/recover.h"

struct texter {
    struct tfs_cli *cli;
    struct tfs_printer printer;
    struct tfs_side side;
    struct tfs_chunk_count sum;
    size_t chunks;
    struct tfs_error *err;
};

static void add_checksum(struct texter *t, uint64_t checksum)
{
    tfs_buf_printf(&t->printer.line, " #%08" PRIx32, (uint32_t)checksum);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int print_row(void *arg, const struct tfs_diff_row *row)
{
    struct texter *t = arg;

    tfs_printer_row(&t->printer, row, TFS_AFTER);
    tfs_printer_end(&t->printer);
    return tfs_printer_flush(&t->printer, false);
}

static int print_rows(struct texter *t, struct tfs_diff *diff, struct tfs_diff_chunk *chunk)
{
    if ((t->cli->flags & TFS_CLI_ALL_ROWS) == 0)
        return 0;
    if (tfs_diff_count_voxels(diff, chunk, t->err) < 0)
        return t->err->code;
    return chunk->why[0] != '\0' ? 0 : tfs_diff_rows(diff, print_row, t, t->err);
}

static void print_counts(struct texter *t)
{
    struct tfs_buf *line = &t->printer.line;

    for (size_t i = 0; i < t->sum.count; i++) {
        tfs_buf_u8(line, ' ');
        tfs_buf_add_span(line, t->sum.counts[i].name);
        tfs_buf_printf(line, " %" PRIu64, t->sum.counts[i].voxels);
    }
    if (t->sum.count == 0)
        tfs_buf_add_text(line, " empty");
    add_checksum(t, t->sum.checksum);
}

static int print_chunk(void *arg, struct tfs_diff *diff, struct tfs_diff_chunk *chunk)
{
    struct texter *t = arg;
    struct tfs_error why = {0};
    const struct tfs_chunk *stored = chunk->chunks[TFS_AFTER];

    t->chunks++;
    if (chunk->why[0] != '\0')
        tfs_fail(&why, -EBADMSG, "%s", chunk->why);
    else
        tfs_chunk_count(&t->sum, &t->side, stored, &why);
    if (why.code < 0 && !tfs_is_damage(why.code)) {
        *t->err = why;
        return why.code;
    }
    tfs_buf_add_text(&t->printer.line, "chunk ");
    tfs_key_print(t->side.save, chunk->key, &t->printer.line);
    if (why.code < 0) {
        tfs_buf_printf(&t->printer.line, " cannot be read: %s", why.text);
        add_checksum(t, tfs_chunk_checksum(stored));
    } else {
        print_counts(t);
    }
    tfs_printer_end(&t->printer);
    int result = why.code < 0 ? 0 : print_rows(t, diff, chunk);
    return result != 0 ? result : tfs_printer_flush(&t->printer, false);
}

/* Compared with an empty document, all chunks are new. */
static int print_chunks(struct texter *t)
{
    struct tfs_doc *nothing = NULL;
    struct tfs_diff *diff = NULL;

    if (tfs_doc_create(t->side.doc->facts, &nothing, t->err) < 0)
        return t->err->code;
    const struct tfs_side sides[TFS_SIDES] = {{t->side.save, nothing}, t->side};
    if (tfs_diff_open(sides, &diff, t->err) == 0)
        tfs_diff_walk(diff, print_chunk, t, t->err);
    tfs_diff_close(diff);
    tfs_doc_unref(nothing);
    return t->err->code;
}

/* ---- what is not a chunk --------------------------------------------------------------------- */

static int print_files(struct texter *t)
{
    const struct tfs_tree *tree = t->side.save->tree;
    struct tfs_buf text = {0};
    bool there;

    for (unsigned i = 0; i < tree->root.count && t->err->code == 0; i++) {
        const struct tfs_file *file = &tree->root.files[i];
        if ((file->flags & TFS_FILE_APART) == 0 ||
            tfs_side_read(&t->side, file, (struct tfs_key){0}, &text, &there, t->err) < 0 || !there)
            continue;
        tfs_buf_add_text(&t->printer.line, file->path);
        add_checksum(t, tfs_checksum(tfs_buf_span(&text), 0));
        tfs_printer_end(&t->printer);
    }
    tfs_buf_release(&text);
    return t->err->code;
}

static int print_rest(struct texter *t)
{
    const struct tfs_container *container = t->side.save->container;
    const char *why = tfs_facts_find(t->side.doc->facts, TFS_NOTE_READ_ONLY);
    uint64_t checksum;

    if (t->chunks == 0) {
        tfs_buf_printf(&t->printer.line, "no terrain%s%s", why == NULL ? "" : ": ",
                       why == NULL ? "" : why);
        tfs_printer_end(&t->printer);
    }
    const char *hiding = tfs_facts_hiding(t->side.doc->facts);
    if (hiding != NULL && t->chunks > 0) {
        tfs_buf_printf(&t->printer.line, "not all of it can be read: %s", hiding);
        tfs_printer_end(&t->printer);
    }
    if (print_files(t) < 0 || container->rest == NULL)
        return t->err->code;
    if (container->rest(t->side.save, &checksum, t->err) < 0)
        return t->err->code;
    tfs_buf_add_text(&t->printer.line, "rest of the file:");
    add_checksum(t, checksum);
    tfs_printer_end(&t->printer);
    return 0;
}

/* ---- what cannot be read --------------------------------------------------------------------- */

#define HASHED_MAX (UINT64_C(256) << 20)

/* Prints size and checksum, so that git sees that the file changed. The checksum is of the first
 * bytes alone, because a video would take minutes. */
static void print_failure(struct texter *t, const char *path)
{
    struct tfs_error ignored = {0};
    struct tfs_hash hash;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    tfs_buf_printf(&t->printer.line, "this file: %s", t->err->text);
    tfs_printer_end(&t->printer);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        tfs_hash_first(fd, HASHED_MAX, &hash, &ignored) == 0) {
        tfs_buf_printf(&t->printer.line, "%" PRIi64 " bytes", (int64_t)st.st_size);
        add_checksum(t, hash.low);
        tfs_printer_end(&t->printer);
    }
    if (fd >= 0)
        close(fd);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print_save(struct texter *t, const char *path)
{
    const struct tfs_open_options options = tfs_options_open(&t->cli->options, TFS_LOCK_NONE);
    char notice[TFS_ERROR_TEXT];

    if (tfs_save_open(path, t->cli->options.format, &options, &t->side.save, t->err) < 0 ||
        tfs_recover(t->side.save, notice, t->err) < 0)
        return t->err->code;
    t->side.doc = t->side.save->doc;
    if (print_chunks(t) == 0)
        print_rest(t);
    return t->err->code < 0 ? t->err->code : tfs_printer_check(&t->printer, t->err);
}

enum tfs_status tfs_cli_text(struct tfs_cli *cli)
{
    struct tfs_error err = {0};
    struct texter t = {.cli = cli, .printer = {.cli = cli}, .err = &err};

    if (print_save(&t, cli->operands[0]) < 0 && err.code != -ENOMEM)
        print_failure(&t, cli->operands[0]);
    if (err.code == -ENOMEM || t.printer.line.failed || t.printer.out.failed)
        t.printer.lost = tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
    if (!t.printer.lost)
        tfs_printer_flush(&t.printer, true);
    tfs_chunk_count_release(&t.sum);
    tfs_printer_release(&t.printer);
    tfs_save_close(t.side.save);
    return t.printer.lost;
}
