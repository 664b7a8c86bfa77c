/* formats/undo: what a keeper keeps, its limits, kills, and lists that nobody vouches for. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "formats/undo/versions.h"
#include "limit_memory.h"
#include "scratch.h"

static struct tfs_undo_options options = {.when = TFS_UNDO_MOUNT};

/* ---- a game that saves meanwhile ------------------------------------------------------------- */

enum moment { NEVER, BEFORE_SECOND_NAME, BEHIND_SECOND_NAME };

static enum moment moment;            /* when the game saves, once */
static const char *saved_by_it;       /* its file, which */
static const char *saved_as = "save"; /* takes the place of this one */

static void save_at(enum moment now)
{
    if (moment != now)
        return;
    moment = NEVER;
    ck_assert_int_eq(rename(scratch_path(saved_by_it), scratch_path(saved_as)), 0);
}

/* As far as a program comes that is killed, in which of its renames. */
static enum cut { BEFORE_LINE, BEFORE_RENAME, BEHIND_RENAME } dies_at;
static int dies_in;

/* These take the place of the C library's, for the whole program. */
int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (dies_at == BEFORE_RENAME && --dies_in == 0)
        _exit(9);
    int result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
    if (dies_at == BEHIND_RENAME && --dies_in == 0)
        _exit(9);
    return result;
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    save_at(BEFORE_SECOND_NAME);
    int result = (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
    save_at(BEHIND_SECOND_NAME);
    return result;
}

static ino_t watched; /* whose syncs are counted */
static atomic_int syncs;

int fdatasync(int fd)
{
    struct stat st;

    syncs += fstat(fd, &st) == 0 && st.st_ino == watched;
    return (int)syscall(SYS_fdatasync, fd);
}

/* ---- commits --------------------------------------------------------------------------------- */

/* In memory where that is possible: a disk would write each of the many lists. */
static void setup(void)
{
    if (access("/dev/shm", W_OK) == 0)
        ck_assert_int_eq(setenv("TMPDIR", "/dev/shm", 1), 0);
    scratch_setup();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_path("state"), 1), 0);
    ck_assert_int_eq(setenv("HOME", scratch_path("home"), 1), 0);
}

/* Puts `text` in the place of the file, as a commit does. */
static int try_commit(struct tfs_keeper *keeper, const char *name, const char *text)
{
    struct tfs_error err = {0};
    struct tfs_file_handle file;
    struct tfs_replacement r;

    ck_assert_int_eq(tfs_file_open(scratch_path(name), true, &file, &err), 0);
    ck_assert_int_eq(tfs_replacement_open(scratch_path(name), &file, &r, &err), 0);
    r.keeper = keeper;
    ck_assert_int_eq(tfs_sink_span(&r.sink, tfs_span_of(text), &err), 0);
    int result = tfs_replacement_finish(&r, &file, &err);
    tfs_file_close(&file);
    return result;
}

static void commit(struct tfs_keeper *keeper, const char *name, const char *text)
{
    ck_assert_int_eq(try_commit(keeper, name, text), 0);
}

static struct tfs_keeper *open_keeper(const char *name)
{
    static char paths[4][PATH_MAX]; /* which stay as long as a keeper */
    static unsigned turn;
    char *path = paths[turn++ % 4];
    struct tfs_error err = {0};
    struct tfs_keeper *keeper = NULL;

    snprintf(path, PATH_MAX, "%s", scratch_path(name));
    ck_assert_int_eq(tfs_undo_open(path, &options, &keeper, &err), 0);
    return keeper;
}

/* One mount with one commit. */
static void edit(const char *name, const char *text)
{
    struct tfs_keeper *keeper = open_keeper(name);

    commit(keeper, name, text);
    tfs_undo_close(keeper);
}

static struct tfs_versions list_of(const char *name)
{
    struct tfs_versions list = {0};
    struct tfs_error err = {0};

    ck_assert_msg(tfs_versions_read(scratch_path(name), &options, false, &list, &err) == 0, "%s",
                  err.text);
    return list;
}

static size_t count_of(const char *name)
{
    struct tfs_versions list = list_of(name);
    size_t count = list.count;

    tfs_versions_release(&list);
    return count;
}

/* The path of a file in the directory of the newest version. */
static const char *place_of(const char *name, const char *file)
{
    static char path[PATH_MAX];
    struct tfs_versions list = list_of(name);

    ck_assert_uint_gt(list.count, 0);
    snprintf(path, sizeof(path), "%s/%s", list.items[0].path, file);
    tfs_versions_release(&list);
    return path;
}

static int undo(const char *name, bool force)
{
    struct tfs_error err = {0};

    return tfs_undo_swap(scratch_path(name), &options, force, &err);
}

/* ---- keeping --------------------------------------------------------------------------------- */

START_TEST(first_commit_keeps_the_file_and_later_ones_do_not)
{
    scratch_write("save", "old");
    struct tfs_keeper *keeper = open_keeper("save");
    commit(keeper, "save", "one");
    commit(keeper, "save", "two");
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("save"), 1);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "two");
}
END_TEST

/* As a game has it that goes on writing into its files. */
static int open_as_game(const char *name)
{
    const int fd = open(scratch_path(name), O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    return fd;
}

START_TEST(kept_file_is_the_old_one_itself_unless_a_game_has_it_open)
{
    struct stat before, kept;

    scratch_write("save", "old");
    ck_assert_int_eq(stat(scratch_path("save"), &before), 0);
    const int game = _i == 1 ? open_as_game("save") : -1;
    edit("save", "new");
    ck_assert(game < 0 || close(game) == 0);
    ck_assert_int_eq(stat(place_of("save", "files/save"), &kept), 0);
    ck_assert_int_eq(kept.st_ino == before.st_ino, game < 0);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
}
END_TEST

START_TEST(copy_that_is_kept_has_the_attributes_of_the_file)
{
    char value[4];

    scratch_write("save", "old");
    if (setxattr(scratch_path("save"), "user.one", "1", 1, 0) < 0 && errno == ENOTSUP)
        return;
    const int game = open_as_game("save");
    edit("save", "new");
    close(game);
    ck_assert_int_eq(getxattr(place_of("save", "files/save"), "user.one", value, sizeof(value)), 1);
}
END_TEST

START_TEST(copy_of_a_large_file_needs_no_memory_for_it)
{
    const off_t size = (off_t)160 << 20;
    struct stat st;

    scratch_write("save", "old");
    ck_assert_int_eq(truncate(scratch_path("save"), size), 0);
    limit_memory((size_t)96 << 20);
    const int game = open_as_game("save");
    edit("save", "new");
    close(game);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    ck_assert_int_eq(st.st_size, size);
}
END_TEST

START_TEST(save_of_a_game_that_comes_while_the_old_one_is_kept_is_not_replaced)
{
    const enum moment when = _i == 0 ? BEFORE_SECOND_NAME : BEHIND_SECOND_NAME;

    scratch_write("save", "old");
    edit("save", "first");
    scratch_write("other", "theirs");
    struct tfs_keeper *keeper = open_keeper("save");
    moment = when;
    saved_by_it = "other";
    ck_assert_int_eq(try_commit(keeper, "save", "second"), -ESTALE);
    ck_assert_int_eq(moment, NEVER);
    ck_assert_str_eq(scratch_read("save"), "theirs");
    tfs_undo_begin(keeper);
    commit(keeper, "save", "third");
    tfs_undo_close(keeper);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "theirs");
}
END_TEST

/* Or else an undo behind a power cut takes the save for another program's. */
START_TEST(what_a_mount_left_is_durable)
{
    char notice[TFS_ERROR_TEXT];
    struct stat st;

    scratch_write("save", "old");
    struct tfs_keeper *keeper = open_keeper("save");
    commit(keeper, "save", "one");
    ck_assert_int_eq(stat(place_of("save", TFS_UNDO_LIST), &st), 0);
    watched = st.st_ino;
    (void)tfs_undo_settle(keeper, notice);
    ck_assert_int_eq(syncs, 1);
    commit(keeper, "save", "two");
    (void)tfs_undo_settle(keeper, notice);
    tfs_undo_close(keeper);
    ck_assert_int_eq(syncs, 2);
}
END_TEST

START_TEST(save_that_was_written_by_another_is_not_undone)
{
    scratch_write("save", "old");
    edit("save", "new");
    scratch_replace("save", "theirs");
    ck_assert_int_eq(undo("save", false), -ESTALE);
    ck_assert_str_eq(scratch_read("save"), "theirs");
    ck_assert_int_eq(undo("save", true), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
}
END_TEST

START_TEST(file_above_the_limit_is_told_once_and_written)
{
    struct tfs_keeper *keeper;
    char notice[TFS_ERROR_TEXT];

    scratch_write("save", "old");
    ck_assert_int_eq(truncate(scratch_path("save"), (off_t)TFS_UNDO_BYTES + 1), 0);
    keeper = open_keeper("save");
    commit(keeper, "save", "new");
    commit(keeper, "save", "newer");
    ck_assert(tfs_undo_settle(keeper, notice));
    ck_assert_ptr_nonnull(strstr(notice, "1073741825 bytes, at most 1073741824 are kept"));
    ck_assert(!tfs_undo_settle(keeper, notice));
    tfs_undo_close(keeper);
    ck_assert_str_eq(scratch_read("save"), "newer");
    ck_assert_uint_eq(count_of("save"), 0);
}
END_TEST

static struct tfs_keeper *open_folder(void)
{
    return open_keeper("zone");
}

/* One commit of two files of a zone, as the writers of folders make it. */
static void commit_both(struct tfs_keeper *keeper, const char *a, const char *b)
{
    tfs_undo_begin(keeper);
    commit(keeper, "zone/a", a);
    commit(keeper, "zone/b", b);
}

static size_t files_in(const char *name)
{
    struct dirent **names = NULL;
    const int count = scandir(scratch_path(name), &names, NULL, NULL);

    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return (size_t)count - 2; /* . and .. */
}

static void zone_is(const char *a, const char *b)
{
    ck_assert_str_eq(scratch_read("zone/a"), a);
    ck_assert_str_eq(scratch_read("zone/b"), b);
    ck_assert_uint_eq(files_in("zone"), 2); /* no temp file is left */
}

/* The rest of that commit is not kept: half of it must not come back. */
START_TEST(commit_behind_one_that_could_not_be_kept_is)
{
    char notice[TFS_ERROR_TEXT];

    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    ck_assert_int_eq(truncate(scratch_path("zone/a"), (off_t)TFS_UNDO_BYTES + 1), 0);
    struct tfs_keeper *keeper = open_folder();
    commit_both(keeper, "one a", "one b");
    ck_assert(tfs_undo_settle(keeper, notice));
    ck_assert_uint_eq(count_of("zone"), 0);
    commit_both(keeper, "two a", "two b");
    ck_assert(!tfs_undo_settle(keeper, notice));
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("zone"), 1);
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("one a", "one b");
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

START_TEST(oldest_versions_of_a_save_go_first)
{
    ck_assert_uint_eq(TFS_UNDO_VERSIONS, 5);
    ck_assert_uint_eq(TFS_UNDO_BYTES, UINT64_C(1) << 30);
    scratch_write("save", "old");
    for (int i = 0; i < 7; i++)
        edit("save", "new");
    struct tfs_versions list = list_of("save");
    ck_assert_uint_eq(list.count, 5);
    ck_assert_uint_eq(list.items[0].number, 7);
    ck_assert_uint_eq(list.items[4].number, 3);
    tfs_versions_release(&list);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_uint_eq(count_of("save"), 5);
}
END_TEST

/* Three saves of 10,000 bytes, with two versions each, of which the later are younger. */
START_TEST(oldest_versions_of_all_saves_go_when_there_are_too_many_bytes)
{
    static const char *const names[] = {"a", "b", "c"};
    char text[10001] = "", path[PATH_MAX];

    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < 6; i++) {
        const struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        if (i < 3)
            scratch_write(names[i % 3], text);
        edit(names[i % 3], text);
        ck_assert_int_eq(utimensat(AT_FDCWD, place_of(names[i % 3], "."), times, 0), 0);
    }
    struct tfs_versions list = list_of("a");
    snprintf(path, sizeof(path), "%s", list.items[0].path);
    tfs_versions_release(&list);
    tfs_undo_limit(path, 55000);
    ck_assert_uint_eq(count_of("a"), 1);
    ck_assert_uint_eq(count_of("b"), 2);
    ck_assert_uint_eq(count_of("c"), 2);
    tfs_undo_limit(path, 0);
    ck_assert_uint_eq(count_of("a") + count_of("b"), 0);
    ck_assert_uint_eq(count_of("c"), 1);
}
END_TEST

/* Killed while a version was removed. */
START_TEST(what_killed_programs_left_of_versions_goes_with_the_next)
{
    char path[PATH_MAX], below[PATH_MAX + 8];

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(path, sizeof(path), "%s", place_of("save", "../gone"));
    snprintf(below, sizeof(below), "%s/files", path);
    ck_assert(mkdir(path, 0700) == 0 && mkdir(below, 0700) == 0);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_int_eq(access(path, F_OK), -1);
    ck_assert_uint_eq(count_of("save"), 1);
}
END_TEST

/* ---- lists that nobody vouches for ----------------------------------------------------------- */

static void write_list(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

START_TEST(list_with_any_byte_changed_or_cut_puts_nothing_elsewhere)
{
    static const char bytes[] = {'\0', '\n', '/', '.', '9', '\\', ' '};
    char path[PATH_MAX], text[1000];

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(path, sizeof(path), "%s", place_of("save", TFS_UNDO_LIST));
    FILE *file = fopen(path, "r");
    const size_t size = fread(text, 1, sizeof(text), file);
    fclose(file);
    for (size_t at = 0; at < size; at++) {
        const char was = text[at];
        write_list(path, text, at);
        (void)count_of("save");
        for (size_t i = 0; i < sizeof(bytes); i++) {
            text[at] = bytes[i];
            write_list(path, text, size);
            struct tfs_versions list = list_of("save");
            for (size_t n = 0; n < list.count; n++)
                for (size_t f = 0; f < list.items[n].count; f++)
                    ck_assert_ptr_null(strstr(list.items[n].files[f].path, ".."));
            tfs_versions_release(&list);
        }
        text[at] = was;
    }
}
END_TEST

#define MARKS (3 * sizeof(struct tfs_undo_mark))

/* A list whose first entry has this path; after it comes a good one. */
static void refuse(const char *other)
{
    char path[PATH_MAX], text[2000];
    const size_t size = strlen(other) + 1;

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(path, sizeof(path), "%s", place_of("save", TFS_UNDO_LIST));
    memset(text, 1, sizeof(text));
    memcpy(text + MARKS, other, size);
    memcpy(text + 2 * MARKS + size, "save", sizeof("save"));
    write_list(path, text, 2 * MARKS + size + sizeof("save"));
    ck_assert_msg(count_of("save") == 0, "%s", other);
    ck_assert_int_eq(undo("save", true), -ENOENT);
    ck_assert_str_eq(scratch_read("save"), "new");
    scratch_teardown();
    scratch_setup();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_path("state"), 1), 0);
}

START_TEST(list_that_leads_out_of_the_save_is_none)
{
    static const char *const paths[] = {"../save", "/etc/passwd", "a/../../b", "a//b", ".", ""};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        refuse(paths[i]);
}
END_TEST

/* Bytes that were not written are 0 behind a power cut: they do not say that there was no file. */
START_TEST(list_of_which_a_power_cut_left_zeros_removes_no_save)
{
    static const char zeros[MARKS];

    scratch_write("save", "old");
    edit("save", "new");
    const int fd = open(place_of("save", TFS_UNDO_LIST), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), 0), sizeof(zeros));
    close(fd);
    ck_assert_int_eq(undo("save", false), -ESTALE);
    ck_assert_int_eq(undo("save", true), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
}
END_TEST

/* It would take itself for an undo of it that was cut, and what is there now would be lost. */
START_TEST(version_that_undoes_itself_is_none)
{
    char path[PATH_MAX], other[PATH_MAX];

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(path, sizeof(path), "%s", place_of("save", "."));
    snprintf(other, sizeof(other), "%s", place_of("save", "../1-1"));
    path[strlen(path) - 2] = '\0';
    ck_assert_int_eq(rename(path, other), 0);
    ck_assert_uint_eq(count_of("save"), 0);
    ck_assert_int_eq(undo("save", true), -ENOENT);
    ck_assert_str_eq(scratch_read("save"), "new");
}
END_TEST

START_TEST(entry_that_was_not_written_to_its_end_is_left_out)
{
    char path[PATH_MAX];

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(path, sizeof(path), "%s", place_of("save", TFS_UNDO_LIST));
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "   1 2", 6), 6);
    close(fd);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
}
END_TEST

/* ---- commits that were cut ------------------------------------------------------------------- */

static void make_file(struct tfs_keeper *keeper, const char *name, const char *text)
{
    struct tfs_error err = {0};
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_replacement r;

    ck_assert_int_eq(tfs_replacement_open(scratch_path(name), NULL, &r, &err), 0);
    r.keeper = keeper;
    ck_assert_int_eq(tfs_sink_span(&r.sink, tfs_span_of(text), &err), 0);
    ck_assert_int_eq(tfs_replacement_finish(&r, &file, &err), 0);
    tfs_file_close(&file);
}

/* The game saved `a` or `b` meanwhile; the version has both, or `a` is new to it. */
START_TEST(commit_behind_the_save_of_a_game_is_kept_as_a_whole)
{
    const char *saved = _i == 0 ? "zone/a" : "zone/b";

    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    struct tfs_keeper *keeper = open_folder();
    if (_i == 2)
        commit(keeper, "zone/b", "one b");
    else
        commit_both(keeper, "one a", "one b");
    scratch_replace(saved, "the game's");
    commit_both(keeper, "two a", "two b");
    commit_both(keeper, "three a", "three b");
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("zone"), 2);
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is(_i == 0 ? "the game's" : _i == 1 ? "one a" : "old a", _i == 0 ? "one b" : "the game's");
}
END_TEST

/* Does something in a process that is killed; `in`: the number of its rename. */
static void killed(void (*what)(void), enum cut at, int in)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        dies_at = at;
        dies_in = in;
        what();
        _exit(1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static void commit_new(void)
{
    commit_both(open_folder(), "new a", "new b");
}

static void cut_list(const char *path, size_t bytes)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(truncate(path, st.st_size - (off_t)bytes), 0);
}

/* A folder of two files, of which a commit wrote `a` and came to `cut` with `b`. */
static void cut_commit(enum cut cut)
{
    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    killed(commit_new, cut == BEFORE_LINE ? BEFORE_RENAME : cut, 2);
    if (cut == BEFORE_LINE)
        cut_list(place_of("zone", TFS_UNDO_LIST), MARKS + sizeof("zone/b"));
}

/* What recovery does with the journal of a process that was killed. */
static void recover(struct tfs_keeper *keeper, const char *written, const char *name,
                    const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s", written == NULL ? "" : scratch_path(written));
    tfs_undo_apart(keeper, written == NULL ? NULL : path);
    tfs_undo_begin(keeper);
    commit(keeper, name, text);
    tfs_undo_apart(keeper, NULL);
}

START_TEST(commit_that_was_cut_and_is_brought_to_its_end_is_undone_as_a_whole)
{
    char notice[TFS_ERROR_TEXT];

    cut_commit((enum cut)_i);
    struct tfs_keeper *keeper = open_folder();
    recover(keeper, "zone/a", "zone/b", "new b");
    ck_assert(!tfs_undo_settle(keeper, notice));
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("zone"), 1);
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("old a", "old b");
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("new a", "new b");
}
END_TEST

static void commit_third(void)
{
    struct tfs_keeper *keeper = open_keeper("save");

    commit(keeper, "save", "first");
    commit(keeper, "save", "second");
    commit(keeper, "save", "third");
}

/* It is what we left, whether the third came or not. */
START_TEST(save_of_a_commit_that_was_cut_is_ours)
{
    scratch_write("save", "old");
    killed(commit_third, _i == 0 ? BEFORE_RENAME : BEHIND_RENAME, 3);
    ck_assert_str_eq(scratch_read("save"), _i == 0 ? "second" : "third");
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
}
END_TEST

START_TEST(edits_behind_a_commit_that_was_cut_have_a_version_of_their_own)
{
    cut_commit(BEFORE_RENAME);
    struct tfs_keeper *keeper = open_folder();
    recover(keeper, "zone/a", "zone/b", "new b");
    commit(keeper, "zone/b", "newer b");
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("zone"), 2);
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("new a", "new b");
}
END_TEST

/* 0: the version is gone; 1: another program changed a file of it. */
START_TEST(half_of_a_commit_whose_version_is_of_no_use_is_not_kept)
{
    char notice[TFS_ERROR_TEXT];

    cut_commit(BEFORE_RENAME);
    if (_i == 0)
        ck_assert_int_eq(nftw(scratch_path("state"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    else
        scratch_replace("zone/b", "another program's");
    struct tfs_keeper *keeper = open_folder();
    recover(keeper, "zone/a", "zone/b", "new b");
    ck_assert(tfs_undo_settle(keeper, notice));
    ck_assert_uint_eq(count_of("zone"), (size_t)_i);
    commit(keeper, "zone/b", "newer b");
    tfs_undo_close(keeper);
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("new a", "new b");
}
END_TEST

/* A process that kept nothing wrote `a`: an older version does not know it. */
START_TEST(half_of_a_commit_that_kept_nothing_joins_no_older_version)
{
    char notice[TFS_ERROR_TEXT];

    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    scratch_write("zone/c", "old c");
    struct tfs_keeper *keeper = open_folder();
    commit(keeper, "zone/c", "new c");
    tfs_undo_close(keeper);
    commit(NULL, "zone/a", "new a");
    keeper = open_folder();
    recover(keeper, "zone/a", "zone/b", "new b");
    ck_assert(tfs_undo_settle(keeper, notice));
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("zone"), 1);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/b"), "new b");
    ck_assert_str_eq(scratch_read("zone/c"), "old c");
}
END_TEST

/* Also by a command, though the version is young. */
START_TEST(what_is_brought_in_behind_a_kill_has_a_version_of_its_own)
{
    options.when = _i == 0 ? TFS_UNDO_MOUNT : TFS_UNDO_COMMAND;
    scratch_write("save", "old");
    edit("save", "first");
    struct tfs_keeper *keeper = open_keeper("save");
    recover(keeper, NULL, "save", "second");
    commit(keeper, "save", "third");
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("save"), 3);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "second");
}
END_TEST

START_TEST(entry_that_was_not_written_to_its_end_is_not_completed_by_the_next)
{
    cut_commit(BEFORE_RENAME);
    int fd = open(place_of("zone", TFS_UNDO_LIST), O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "   1 2", 6), 6);
    close(fd);
    struct tfs_keeper *keeper = open_folder();
    recover(keeper, "zone/a", "zone/b", "new b");
    commit(keeper, "zone/b", "newer b");
    tfs_undo_close(keeper);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/b"), "newer b");
}
END_TEST

/* ---- an undo that was killed ----------------------------------------------------------------- */

static void undo_zone(void)
{
    (void)undo("zone", false);
}

/* Two files that a commit replaced, and an undo that was killed with its first or second one. */
static void cut_undo(enum cut cut, int in)
{
    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    struct tfs_keeper *keeper = open_folder();
    commit_both(keeper, "new a", "new b");
    tfs_undo_close(keeper);
    killed(undo_zone, cut, in);
}

START_TEST(undo_that_was_killed_is_brought_to_its_end_by_the_next)
{
    cut_undo(_i % 2 == 0 ? BEFORE_RENAME : BEHIND_RENAME, _i / 2 + 1);
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("old a", "old b");
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("new a", "new b");
    ck_assert_uint_eq(count_of("zone"), 1);
}
END_TEST

/* Of what is there then nothing is lost. */
START_TEST(undo_that_was_killed_is_forced_behind_another_program)
{
    cut_undo(_i % 2 == 0 ? BEFORE_RENAME : BEHIND_RENAME, _i / 2 + 1);
    scratch_replace("zone/b", "theirs");
    ck_assert_int_eq(undo("zone", false), -ESTALE);
    ck_assert_int_eq(undo("zone", true), 0);
    zone_is("old a", "old b");
    char kept[PATH_MAX];
    snprintf(kept, sizeof(kept), "%s", place_of("zone", "files/zone/b"));
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/b"), "theirs");
    struct tfs_versions list = list_of("zone");
    ck_assert_uint_eq(list.count, 2); /* and the one that has new b */
    ck_assert_uint_eq(list.items[1].undoes, 1);
    tfs_versions_release(&list);
}
END_TEST

/* ---- undo that cannot keep what is there ----------------------------------------------------- */

/* Of two files the one that is put back first can be kept, and the other cannot. */
START_TEST(undo_that_cannot_keep_a_file_has_kept_those_that_it_replaced)
{
    const off_t large = (off_t)TFS_UNDO_BYTES + 1;

    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    struct tfs_keeper *keeper = open_folder();
    commit(keeper, "zone/a", "new a");
    commit(keeper, "zone/b", "new b");
    tfs_undo_close(keeper);
    ck_assert_int_eq(truncate(scratch_path("zone/a"), large), 0);
    ck_assert_int_eq(undo("zone", true), -EFBIG);
    ck_assert_str_eq(scratch_read("zone/b"), "old b");
    ck_assert_uint_eq(count_of("zone"), 2);
    ck_assert_int_eq(truncate(scratch_path("zone/a"), 5), 0);
    ck_assert_int_eq(undo("zone", true), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "old a");
    ck_assert_uint_eq(count_of("zone"), 1);
    ck_assert_int_eq(undo("zone", false), 0);
    zone_is("new a", "new b");
}
END_TEST

/* The same, and a game saves the other one before it goes on. */
START_TEST(undo_that_goes_on_leaves_what_it_kept_before)
{
    const off_t large = (off_t)TFS_UNDO_BYTES + 1;
    char kept[PATH_MAX];

    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    struct tfs_keeper *keeper = open_folder();
    commit(keeper, "zone/a", "new a");
    commit(keeper, "zone/b", "new b");
    tfs_undo_close(keeper);
    ck_assert_int_eq(truncate(scratch_path("zone/a"), large), 0);
    ck_assert_int_eq(undo("zone", true), -EFBIG);
    snprintf(kept, sizeof(kept), "%s", place_of("zone", "files/zone/b"));
    ck_assert_int_eq(truncate(scratch_path("zone/a"), 5), 0);
    scratch_replace("zone/b", "game b");
    ck_assert_int_eq(undo("zone", true), 0);
    zone_is("old a", "old b");
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "new a");
    ck_assert_str_eq(scratch_read("zone/b"), "game b");
    ck_assert_int_eq(access(kept, F_OK), 0);
}
END_TEST

/* EFBIG would say that something is wrong with the save. */
START_TEST(limit_on_the_size_of_files_that_keeps_an_undo_from_it_is_the_systems)
{
    const struct rlimit limit = {4096, RLIM_INFINITY};
    char text[8192];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    scratch_write("save", "old");
    edit("save", text);
    const int game = open_as_game("save");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(undo("save", false), -EDQUOT);
    close(game);
    ck_assert_str_eq(scratch_read("save"), text);
}
END_TEST

START_TEST(undo_of_a_file_with_a_log_of_sqlite_waits_until_that_is_away)
{
    scratch_write("save", "old");
    edit("save", "new");
    scratch_write("save-wal", "pages");
    ck_assert_int_eq(undo("save", true), -EBUSY);
    ck_assert_str_eq(scratch_read("save"), "new");
    ck_assert_int_eq(unlink(scratch_path("save-wal")), 0);
    ck_assert_int_eq(undo("save", true), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
}
END_TEST

START_TEST(undo_that_shall_keep_nothing_keeps_nothing)
{
    scratch_write("save", "old");
    edit("save", "new");
    scratch_replace("save", "theirs");
    options.when = TFS_UNDO_NEVER;
    ck_assert_int_eq(undo("save", false), -ESTALE);
    ck_assert_int_eq(undo("save", true), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_uint_eq(count_of("save"), 0);
}
END_TEST

/* ---- files that an undo removes -------------------------------------------------------------- */

START_TEST(file_that_a_game_saves_while_an_undo_removes_it_stays)
{
    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    struct tfs_keeper *keeper = open_folder();
    make_file(keeper, "zone/a", "ours");
    tfs_undo_close(keeper);
    scratch_write("other", "theirs");
    moment = _i == 0 ? BEFORE_SECOND_NAME : BEHIND_SECOND_NAME;
    saved_by_it = "other";
    saved_as = "zone/a";
    ck_assert_int_eq(undo("zone", false), -ESTALE);
    ck_assert_int_eq(moment, NEVER);
    ck_assert_str_eq(scratch_read("zone/a"), "theirs");
    ck_assert_int_eq(undo("zone", true), 0);
    ck_assert_int_ne(access(scratch_path("zone/a"), F_OK), 0);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "theirs");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("undo");
    TCase *c = unit_case(s, "keeping");

    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_test(c, first_commit_keeps_the_file_and_later_ones_do_not);
    tcase_add_loop_test(c, kept_file_is_the_old_one_itself_unless_a_game_has_it_open, 0, 2);
    tcase_add_test(c, copy_that_is_kept_has_the_attributes_of_the_file);
    tcase_add_test(c, copy_of_a_large_file_needs_no_memory_for_it);
    tcase_add_loop_test(c, save_of_a_game_that_comes_while_the_old_one_is_kept_is_not_replaced, 0,
                        2);
    tcase_add_test(c, what_a_mount_left_is_durable);
    tcase_add_test(c, save_that_was_written_by_another_is_not_undone);
    tcase_add_test(c, file_above_the_limit_is_told_once_and_written);
    tcase_add_loop_test(c, commit_behind_the_save_of_a_game_is_kept_as_a_whole, 0, 3);
    tcase_add_test(c, commit_behind_one_that_could_not_be_kept_is);
    c = unit_case(s, "limits");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_test(c, oldest_versions_of_a_save_go_first);
    tcase_add_test(c, oldest_versions_of_all_saves_go_when_there_are_too_many_bytes);
    tcase_add_test(c, what_killed_programs_left_of_versions_goes_with_the_next);
    c = unit_case(s, "lists");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_test(c, list_with_any_byte_changed_or_cut_puts_nothing_elsewhere);
    tcase_add_test(c, list_that_leads_out_of_the_save_is_none);
    tcase_add_test(c, list_of_which_a_power_cut_left_zeros_removes_no_save);
    tcase_add_test(c, version_that_undoes_itself_is_none);
    tcase_add_test(c, entry_that_was_not_written_to_its_end_is_left_out);
    c = unit_case(s, "commits that were cut");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_loop_test(c, commit_that_was_cut_and_is_brought_to_its_end_is_undone_as_a_whole,
                        BEFORE_LINE, BEHIND_RENAME + 1);
    tcase_add_loop_test(c, save_of_a_commit_that_was_cut_is_ours, 0, 2);
    tcase_add_test(c, edits_behind_a_commit_that_was_cut_have_a_version_of_their_own);
    tcase_add_loop_test(c, half_of_a_commit_whose_version_is_of_no_use_is_not_kept, 0, 2);
    tcase_add_test(c, half_of_a_commit_that_kept_nothing_joins_no_older_version);
    tcase_add_loop_test(c, what_is_brought_in_behind_a_kill_has_a_version_of_its_own, 0, 2);
    tcase_add_test(c, entry_that_was_not_written_to_its_end_is_not_completed_by_the_next);
    c = unit_case(s, "an undo that was killed");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_loop_test(c, undo_that_was_killed_is_brought_to_its_end_by_the_next, 0, 4);
    tcase_add_loop_test(c, undo_that_was_killed_is_forced_behind_another_program, 0, 4);
    c = unit_case(s, "what cannot be kept");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_test(c, undo_that_cannot_keep_a_file_has_kept_those_that_it_replaced);
    tcase_add_test(c, undo_that_goes_on_leaves_what_it_kept_before);
    tcase_add_test(c, limit_on_the_size_of_files_that_keeps_an_undo_from_it_is_the_systems);
    tcase_add_test(c, undo_of_a_file_with_a_log_of_sqlite_waits_until_that_is_away);
    tcase_add_test(c, undo_that_shall_keep_nothing_keeps_nothing);
    c = unit_case(s, "removed files");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_loop_test(c, file_that_a_game_saves_while_an_undo_removes_it_stays, 0, 2);
    return s;
}

UNIT_MAIN(suite)
