/*
 * The commands without memory: whatever allocation fails, the status is 3 and a sentence is on
 * stderr, or all is done as with memory; the save is the old or the new one; and the same command
 * succeeds when it is run again.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/small_saves.h"
#include "../memory/sweep.h"
#include "commands/cli.h"
#include "scratch.h"

#define PATH  (2 * PATH_MAX)
#define WORDS 9

static const char *const kinds[] = {"cosmic_7", "blob", "block_2", "folder", "stream", "ter"};
#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static struct {
    const struct small_save *kind;
    char path[PATH], out[PATH]; /* the save, and the directory of export and import */
    char base[PATH];            /* the save as it was, for diff and merge */
    char nothing[PATH];         /* an empty file */
    const char *argv[WORDS];
    struct tfs_buf old, wanted, seen;
    struct tfs_buf changed; /* the save alone, as it is to be in the end */
    bool writes_out;        /* export, diff, merge: what it makes is looked at */
    bool compares;          /* diff, merge: an edit was put before; 1 is a status of success */
    bool imports;           /* the directory is there before, with an edit */
    bool undoes;            /* the first edit was put before */
} t;

static void setup(void)
{
    memset(&t, 0, sizeof(t));
    scratch_setup_in_memory();
}

static void teardown(void)
{
    tfs_buf_release(&t.old);
    tfs_buf_release(&t.wanted);
    tfs_buf_release(&t.seen);
    tfs_buf_release(&t.changed);
    scratch_teardown();
}

static void start(int number)
{
    for (int i = 0; i < small_save_count; i++)
        if (strcmp(small_saves[i].name, kinds[number]) == 0)
            t.kind = &small_saves[i];
    snprintf(t.path, sizeof(t.path), "%s", scratch_path(t.kind->file));
    snprintf(t.out, sizeof(t.out), "%s", scratch_path("out"));
    snprintf(t.base, sizeof(t.base), "%s/%s", scratch_path("base"), t.kind->file);
    snprintf(t.nothing, sizeof(t.nothing), "%s", scratch_path("nothing"));
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_path("state"), 1), 0);
}

/* ---- running --------------------------------------------------------------------------------- */

/* The status of the command; its output is in files, its input is the text of the first edit. */
static int run(void)
{
    char *argv[WORDS];
    int argc = 0;

    for (; t.argv[argc] != NULL; argc++)
        argv[argc] = (char *)t.argv[argc];
    argv[argc] = NULL;
    return tfs_cli_main(argc, argv);
}

static void redirect(int fd, const char *name, int flags)
{
    int file = open(name, flags | O_CLOEXEC, 0644);

    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(dup2(file, fd), fd);
    close(file);
}

static int saved[3];

static void redirect_all(void)
{
    static char input[PATH];

    snprintf(input, sizeof(input), "%s", scratch_path("input"));
    fflush(stdout);
    for (int fd = 0; fd < 3; fd++)
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    redirect(0, input, O_RDONLY);
    redirect(1, "/dev/null", O_WRONLY);
    redirect(2, scratch_path("said"), O_WRONLY | O_CREAT | O_TRUNC);
}

static void redirect_back(void)
{
    for (int fd = 0; fd < 3; fd++) {
        ck_assert_int_eq(dup2(saved[fd], fd), fd);
        close(saved[fd]);
    }
}

static bool said_something(void)
{
    struct stat st;

    return stat(scratch_path("said"), &st) == 0 && st.st_size > 0;
}

/* The text that `put` gets: the literal one among the kind's edits. */
static const struct small_edit *literal(void)
{
    for (unsigned i = 0; i < SMALL_EDITS; i++)
        if (t.kind->edits[i].change == SMALL_TEXT)
            return &t.kind->edits[i];
    return NULL;
}

/* Another command, with memory. */
static void run_before(const char *const argv[WORDS])
{
    const char *wanted[WORDS];

    memcpy(wanted, t.argv, sizeof(wanted));
    memcpy(t.argv, argv, sizeof(wanted));
    redirect_all();
    int status = run();
    redirect_back();
    ck_assert_msg(status == 0, "%s: %s", argv[1], scratch_read("said"));
    memcpy(t.argv, wanted, sizeof(wanted));
}

static void begin(void)
{
    const char *const put[WORDS] = {"terrainfs", "put", "-obackup", t.path, literal()->path};
    const char *const export[WORDS] = {"terrainfs", "export", t.path, t.out};
    char file[200];

    ck_assert_int_eq(nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(mkdir(scratch_dir, 0755), 0);
    t.kind->make(t.path);
    scratch_write("input", literal()->with);
    scratch_write("nothing", "");
    ck_assert_int_eq(mkdir(scratch_path("base"), 0755), 0);
    t.kind->make(t.base);
    if (t.undoes || t.compares)
        run_before(put);
    if (t.imports) {
        run_before(export);
        snprintf(file, sizeof(file), "out/%s", literal()->path);
        scratch_write(file, literal()->with);
    }
    redirect_all();
}

static int act(struct tfs_error *err)
{
    const bool diffs = strcmp(t.argv[1], "diff") == 0;
    int status = run();

    if (status == TFS_STATUS_DONE || (t.compares && status == TFS_STATUS_BAD))
        return 0;
    return tfs_fail(err,
                    status == (diffs ? TFS_STATUS_USAGE : TFS_STATUS_SYSTEM) && said_something()
                        ? -ENOMEM
                        : -EBADMSG,
                    "status %d", status);
}

static void show(struct tfs_buf *out)
{
    tfs_buf_clear(out);
    small_save_bytes(t.path, out);
    if (t.writes_out && access(t.out, F_OK) == 0)
        small_save_bytes(t.out, out);
    ck_assert(!out->failed);
}

static bool same(const struct tfs_buf *a, const struct tfs_buf *b)
{
    return tfs_span_equal(tfs_buf_span(a), tfs_buf_span(b));
}

static void end(int result)
{
    redirect_back();
    bool several = strcmp(t.kind->name, "folder") == 0;
    if (result < 0) {
        struct tfs_error err = {0};
        tfs_buf_clear(&t.seen);
        small_save_bytes(t.path, &t.seen);
        ck_assert_msg(several || same(&t.seen, &t.old) || same(&t.seen, &t.changed),
                      "%s: the save is neither old nor new", sweep_now());
        if (t.writes_out)
            (void)nftw(t.out, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
        if (t.compares)
            begin(); /* what was written before it failed is another save to compare with */
        else
            redirect_all();
        int again = act(&err);
        redirect_back();
        ck_assert_msg(again == 0, "%s: again: %s: %s", sweep_now(), err.text, scratch_read("said"));
    }
    show(&t.seen);
    ck_assert_msg(same(&t.seen, &t.wanted), "%s: it did something else", sweep_now());
}

/* The words of a command line, after the command's name; NULL: no more. */
static void sweep_words(const char *name, const char *const words[WORDS - 2])
{
    struct tfs_error err = {0};

    memset(t.argv, 0, sizeof(t.argv));
    t.argv[0] = "terrainfs";
    t.argv[1] = name;
    for (int i = 0; i < WORDS - 3 && words[i] != NULL; i++)
        t.argv[i + 2] = words[i];
    tfs_buf_clear(&t.old);
    tfs_buf_clear(&t.changed);
    begin();
    small_save_bytes(t.path, &t.old);
    int result = act(&err);
    redirect_back();
    ck_assert_msg(result == 0, "%s: %s: %s", name, err.text, scratch_read("said"));
    show(&t.wanted);
    small_save_bytes(t.path, &t.changed);
    sweep(name, &(struct sweep){begin, act, end});
}

static void sweep_command(const char *name, const char *first, const char *second)
{
    sweep_words(name, (const char *const[WORDS - 2]){first, second});
}

START_TEST(command_that_reads_does_so_or_fails_with_a_sentence)
{
    start(_i);
    sweep_command("info", t.path, NULL);
    sweep_command("check", t.path, NULL);
    sweep_command("cat", t.path, literal()->path);
    sweep_command("text", t.path, NULL);
    t.writes_out = true;
    sweep_command("export", t.path, t.out);
    sweep_tell(t.kind->name);
}
END_TEST

START_TEST(command_that_writes_does_so_or_leaves_the_save)
{
    start(_i);
    sweep_command("put", t.path, literal()->path);
    if (strcmp(t.kind->name, "block_2") == 0)
        sweep_command("upgrade", t.path, NULL);
    t.undoes = true;
    sweep_command("undo", "-obackup", t.path);
    t.undoes = false;
    t.imports = true;
    sweep_command("import", t.out, t.path);
    sweep_tell(t.kind->name);
}
END_TEST

START_TEST(comparing_commands_do_so_or_leave_everything)
{
    start(_i);
    t.writes_out = t.compares = true;
    sweep_words("diff", (const char *const[WORDS - 2]){"--all-rows", t.base, t.path});
    sweep_words("diff", (const char *const[WORDS - 2]){"--json", t.path, t.base});
    sweep_words("diff", (const char *const[WORDS - 2]){"--stat", t.base, t.path});
    snprintf(t.out, sizeof(t.out), "%s.conflicts.csv", scratch_path(t.kind->file));
    /* Only they changed something, and take the edit back. */
    sweep_words("merge", (const char *const[WORDS - 2]){t.path, t.path, t.base});
    /* Without a base all that differs is a conflict, voxel by voxel. */
    sweep_words("merge",
                (const char *const[WORDS - 2]){"--conflicts=theirs", t.nothing, t.path, t.base});
    sweep_tell(t.kind->name);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("memory_cli");
    TCase *c = unit_case(s, "commands");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, in_full() ? 3600 : 100);
    tcase_add_loop_test(c, command_that_reads_does_so_or_fails_with_a_sentence, 0, KINDS);
    tcase_add_loop_test(c, command_that_writes_does_so_or_leaves_the_save, 0, KINDS);
    tcase_add_loop_test(c, comparing_commands_do_so_or_leave_everything, 0, KINDS);
    return s;
}

UNIT_MAIN(suite)
