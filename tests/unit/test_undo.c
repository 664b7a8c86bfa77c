/* formats/undo: what a keeper keeps, its limits, and lists of generations that nobody vouches
 * for. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/journal.h"
#include "formats/undo/disk.h"
#include "scratch.h"

static struct tfs_undo_options options = {.when = TFS_UNDO_MOUNT};

/* ---- a game that saves meanwhile ------------------------------------------------------------- */

enum moment { NEVER, BEFORE_SECOND_NAME, BEHIND_SECOND_NAME, BEFORE_NEW_FILE };

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

/* These take the place of the C library's, for the whole program. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    save_at(BEFORE_NEW_FILE);
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
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
    struct tfs_error err = {0};
    struct tfs_keeper *keeper = NULL;

    ck_assert_int_eq(tfs_undo_open(scratch_path(name), TFS_UNDO_FILE, &options, &keeper, &err), 0);
    return keeper;
}

/* One mount with one commit. */
static void edit(const char *name, const char *text)
{
    struct tfs_keeper *keeper = open_keeper(name);

    commit(keeper, name, text);
    tfs_undo_close(keeper);
}

static struct tfs_generations list_of(const char *name)
{
    struct tfs_generations list = TFS_GENERATIONS_NONE;
    struct tfs_error err = {0};

    ck_assert_msg(tfs_undo_read(scratch_path(name), &options, &list, &err) == 0, "%s", err.text);
    return list;
}

static size_t count_of(const char *name)
{
    struct tfs_generations list = list_of(name);
    size_t count = list.count;

    tfs_generations_release(&list);
    return count;
}

/* The path of a file of the newest generation. */
static const char *place_of(const char *name, const char *file)
{
    static char path[PATH_MAX];
    struct tfs_generations list = list_of(name);

    ck_assert_uint_gt(list.count, 0);
    snprintf(path, sizeof(path), "%s/../%s", list.items[0].directory, file);
    tfs_generations_release(&list);
    return path;
}

static int undo(const char *name, bool force)
{
    struct tfs_error err = {0};
    size_t files = 0;

    return tfs_undo_swap(scratch_path(name), &options, force, &files, &err);
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
    ck_assert_int_eq(kept.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
}
END_TEST

/* Of a save that was deleted it is all that is left of it. */
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
    ck_assert_int_eq(unlink(scratch_path("save")), 0);
    ck_assert_int_eq(undo("save", true), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_int_eq(getxattr(scratch_path("save"), "user.one", value, sizeof(value)), 1);
}
END_TEST

/* In both moments, of a file that a game has open, too, and of one that must be kept. */
START_TEST(save_of_a_game_that_comes_while_the_old_one_is_kept_is_not_replaced)
{
    const enum moment when = _i % 2 == 0 ? BEFORE_SECOND_NAME : BEHIND_SECOND_NAME;

    scratch_write("save", "old");
    edit("save", "first");
    scratch_write("other", "theirs");
    const int game = _i / 2 == 1 ? open_as_game("save") : -1;
    options.must = _i / 2 == 2;
    struct tfs_keeper *keeper = open_keeper("save");
    moment = when;
    saved_by_it = "other";
    ck_assert_int_eq(try_commit(keeper, "save", "second"), -ESTALE);
    ck_assert_int_eq(moment, NEVER);
    ck_assert_str_eq(scratch_read("save"), "theirs");
    ck_assert_uint_eq(count_of("save"), 1); /* nothing was replaced */
    commit(keeper, "save", "third");
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("save"), 2);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "theirs");
    ck_assert(game < 0 || close(game) == 0);
}
END_TEST

/* Or else an undo behind a power cut takes the save for another program's. */
START_TEST(what_each_commit_left_is_durable)
{
    struct stat st;

    scratch_write("save", "old");
    struct tfs_keeper *keeper = open_keeper("save");
    commit(keeper, "save", "one");
    tfs_undo_finish(keeper);
    ck_assert_int_eq(stat(place_of("save", TFS_UNDO_LEFT), &st), 0);
    watched = st.st_ino;
    commit(keeper, "save", "two");
    tfs_undo_finish(keeper);
    ck_assert_int_gt(syncs, 0);
    tfs_undo_close(keeper);
}
END_TEST

START_TEST(commit_that_was_cut_before_its_rename_left_no_generation)
{
    struct tfs_error err = {0};
    struct tfs_file_handle file;

    scratch_write("save", "old");
    struct tfs_keeper *keeper = open_keeper("save");
    ck_assert_int_eq(tfs_file_open(scratch_path("save"), true, &file, &err), 0);
    int directory = open(scratch_dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(keeper->before(keeper, scratch_path("save"), directory, &file, &err), 0);
    close(directory);
    tfs_file_close(&file);
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("save"), 0);
    edit("save", "new");
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
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
    ck_assert_int_eq(truncate(scratch_path("save"), (off_t)tfs_undo_limits.bytes + 1), 0);
    keeper = open_keeper("save");
    commit(keeper, "save", "new");
    commit(keeper, "save", "newer");
    ck_assert(tfs_undo_notice(keeper, notice));
    ck_assert_ptr_nonnull(strstr(notice, "1073741825 bytes, at most 1073741824 are kept"));
    ck_assert(!tfs_undo_notice(keeper, notice));
    tfs_undo_close(keeper);
    ck_assert_str_eq(scratch_read("save"), "newer");
    ck_assert_uint_eq(count_of("save"), 0);
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

static void prune(struct tfs_undo_limits limits)
{
    int base = open(scratch_path("state/terrainfs/undo"), O_RDONLY | O_DIRECTORY);

    ck_assert_int_ge(base, 0);
    tfs_undo_prune(base, &limits);
    close(base);
}

/* Three saves of a hundred bytes, with three generations each, of which the later are younger. */
static void make_nine(void)
{
    static const char *const names[] = {"a", "b", "c"};
    char text[101] = "";

    memset(text, 'x', 100);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3; i++) {
            if (round == 0)
                scratch_write(names[i], text);
            edit(names[i], text);
            const char *path = place_of(names[i], TFS_UNDO_MANIFEST);
            FILE *file = fopen(path, "r");
            char bytes[1000];
            bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
            fclose(file);
            char *rest = strchr(strstr(bytes, "time ") + 5, '\n');
            file = fopen(path, "w");
            fprintf(file, "terrainfs undo 1\nkind file\ntime %d%s", 1000 + round * 10 + i, rest);
            fclose(file);
        }
}

START_TEST(limits_are_those_that_are_promised)
{
    ck_assert_uint_eq(tfs_undo_limits.generations, 5);
    ck_assert_uint_eq(tfs_undo_limits.bytes, UINT64_C(1) << 30);
    ck_assert_uint_eq(tfs_undo_limits.saves, 100);
}
END_TEST

START_TEST(oldest_generations_of_a_save_go_first)
{
    make_nine();
    prune((struct tfs_undo_limits){2, 1 << 20, 10});
    ck_assert_uint_eq(count_of("a"), 2);
    ck_assert_uint_eq(count_of("c"), 2);
    struct tfs_generations list = list_of("a");
    ck_assert_int_eq(list.items[0].time, 1020);
    ck_assert_int_eq(list.items[1].time, 1010);
    tfs_generations_release(&list);
}
END_TEST

START_TEST(oldest_generations_of_all_saves_go_when_there_are_too_many_bytes)
{
    make_nine();
    prune((struct tfs_undo_limits){5, 500, 10});
    ck_assert_uint_eq(count_of("a"), 1);
    ck_assert_uint_eq(count_of("b"), 2);
    ck_assert_uint_eq(count_of("c"), 2);
}
END_TEST

START_TEST(save_that_was_edited_least_recently_goes_when_there_are_too_many)
{
    make_nine();
    prune((struct tfs_undo_limits){5, 1 << 20, 2});
    ck_assert_uint_eq(count_of("a"), 0);
    ck_assert_uint_eq(count_of("b"), 3);
    ck_assert_uint_eq(count_of("c"), 3);
}
END_TEST

/* A day after it was made: a list of another version, a damaged one, one that cannot be opened (a
 * link), one that names no save, none. */
START_TEST(generations_that_cannot_be_read_go_where_they_are_none)
{
    static const char *const lists[] = {"terrainfs undo 2\nkind file\nsave /elsewhere\n",
                                        "what\nsave /elsewhere\n", NULL,
                                        "terrainfs undo 1\nkind file\nsave /else", ""};
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 86400},
                                      {.tv_sec = time(NULL) - 86400}};
    char path[2 * PATH_MAX], directory[PATH_MAX];

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(directory, sizeof(directory), "%s", place_of("save", "."));
    snprintf(path, sizeof(path), "%s/%s", directory, TFS_UNDO_MANIFEST);
    ck_assert_int_eq(unlink(path), 0);
    if (lists[_i] == NULL)
        ck_assert_int_eq(symlink("elsewhere", path), 0);
    else if (lists[_i][0] != '\0') {
        FILE *file = fopen(path, "w");
        ck_assert_int_ge(fputs(lists[_i], file), 0);
        fclose(file);
    }
    ck_assert_int_eq(utimensat(AT_FDCWD, directory, times, 0), 0);
    prune(tfs_undo_limits);
    ck_assert_int_eq(access(directory, F_OK) == 0, _i < 3);
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
    snprintf(path, sizeof(path), "%s", place_of("save", TFS_UNDO_MANIFEST));
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
            struct tfs_generations list = list_of("save");
            for (size_t n = 0; n < list.count; n++)
                for (size_t f = 0; f < list.items[n].count; f++)
                    ck_assert_ptr_null(strstr(list.items[n].files[f].path, ".."));
            tfs_generations_release(&list);
        }
        text[at] = was;
    }
}
END_TEST

static void refuse_path(const char *line)
{
    char path[PATH_MAX], text[2000];

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(path, sizeof(path), "%s", place_of("save", TFS_UNDO_MANIFEST));
    snprintf(text, sizeof(text), "terrainfs undo 1\nkind file\nsave %s\n%s", scratch_path("save"),
             line);
    write_list(path, text, strlen(text));
    ck_assert_msg(count_of("save") == 0, "%s", line);
    ck_assert_int_eq(undo("save", true), -ENOENT);
    ck_assert_str_eq(scratch_read("save"), "new");
    scratch_teardown();
    scratch_setup();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_path("state"), 1), 0);
}

START_TEST(list_that_leads_out_of_the_save_is_none)
{
    refuse_path("file 1 3 1 1 ../save\n");
    refuse_path("file 1 3 1 1 /etc/passwd\n");
    refuse_path("file 1 3 1 1 a/../../b\n");
    refuse_path("file 1 3 1 1 a//b\n");
    refuse_path("file 1 3 1 1 .\n");
    refuse_path("file 1 3 1 1 \n");
    refuse_path("file 1 3 1 1 a\\x00b\n");
    refuse_path("file 1 3 1\n");
    refuse_path("kind nothing\n");
    refuse_path("what\n");
}
END_TEST

START_TEST(line_that_was_not_written_to_its_end_is_left_out)
{
    char path[PATH_MAX];

    scratch_write("save", "old");
    edit("save", "new");
    snprintf(path, sizeof(path), "%s", place_of("save", TFS_UNDO_MANIFEST));
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "file 1 2", 8), 8);
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

static struct tfs_keeper *open_folder(void)
{
    struct tfs_error err = {0};
    struct tfs_keeper *keeper = NULL;

    ck_assert_int_eq(tfs_undo_open(scratch_path("zone"), TFS_UNDO_FOLDER, &options, &keeper, &err),
                     0);
    return keeper;
}

/* One commit of two files of a zone, as the writers of folders make it. */
static void commit_both(struct tfs_keeper *keeper, const char *a, const char *b)
{
    tfs_undo_expect(keeper, scratch_path("zone/a"));
    tfs_undo_expect(keeper, scratch_path("zone/b"));
    commit(keeper, "zone/a", a);
    commit(keeper, "zone/b", b);
}

/* The game saved `a` or `b` meanwhile; the generation has both, or `a` is new to it. */
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
    ck_assert_str_eq(scratch_read("zone/a"), _i == 0 ? "the game's" : _i == 1 ? "one a" : "old a");
    ck_assert_str_eq(scratch_read("zone/b"), _i == 0 ? "one b" : "the game's");
}
END_TEST

/* As far as a commit came that was killed. */
enum cut { BEFORE_LINK, BEFORE_RENAME, BEFORE_LEFT };

static int no_link(struct tfs_keeper *keeper, const char *path)
{
    struct tfs_error err = {0};
    struct tfs_file_handle file;

    ck_assert_int_eq(tfs_file_open(path, false, &file, &err), 0);
    int directory = open(scratch_path("zone"), O_RDONLY | O_DIRECTORY);
    int result = keeper->before(keeper, path, directory, &file, &err);
    close(directory);
    tfs_file_close(&file);
    return result;
}

/* A folder of two files, of which a commit wrote `a` and came to `cut` with `b`. */
static void cut_commit(enum cut cut)
{
    char link[PATH_MAX];

    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    scratch_write("zone/a", "old a");
    scratch_write("zone/b", "old b");
    struct tfs_keeper *keeper = open_folder();
    commit(keeper, "zone/a", "new a");
    ck_assert_int_eq(no_link(keeper, scratch_path("zone/b")), 0);
    tfs_undo_close(keeper);
    snprintf(link, sizeof(link), "%s", place_of("zone", "files/b"));
    if (cut == BEFORE_LINK)
        ck_assert_int_eq(unlink(link), 0);
    if (cut == BEFORE_LEFT) {
        scratch_write("zone/.new", "new b");
        ck_assert_int_eq(rename(scratch_path("zone/.new"), scratch_path("zone/b")), 0);
    }
}

static void resume(struct tfs_keeper *keeper, const char *name)
{
    struct tfs_undo_wrote wrote = {.path = strdup(scratch_path(name))};
    const struct tfs_undo_cut cut = {tfs_journal_run(), true, &wrote, 1};

    ck_assert_int_eq(stat(wrote.path, &wrote.st), 0);
    tfs_undo_resume(keeper, &cut);
    free(wrote.path);
}

START_TEST(commit_that_was_cut_and_is_brought_to_its_end_is_undone_as_a_whole)
{
    char notice[TFS_ERROR_TEXT];

    cut_commit((enum cut)_i);
    struct tfs_keeper *keeper = open_folder();
    resume(keeper, _i == BEFORE_LEFT ? "zone/b" : "zone/a");
    if (_i != BEFORE_LEFT)
        commit(keeper, "zone/b", "new b");
    tfs_undo_leave(keeper);
    ck_assert(!tfs_undo_notice(keeper, notice));
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("zone"), 1);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "old a");
    ck_assert_str_eq(scratch_read("zone/b"), "old b");
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "new a");
    ck_assert_str_eq(scratch_read("zone/b"), "new b");
}
END_TEST

START_TEST(edits_behind_a_commit_that_was_cut_have_a_generation_of_their_own)
{
    cut_commit(BEFORE_RENAME);
    struct tfs_keeper *keeper = open_folder();
    resume(keeper, "zone/a");
    commit(keeper, "zone/b", "new b");
    tfs_undo_leave(keeper);
    commit(keeper, "zone/b", "newer b");
    tfs_undo_close(keeper);
    ck_assert_uint_eq(count_of("zone"), 2);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "new a");
    ck_assert_str_eq(scratch_read("zone/b"), "new b");
}
END_TEST

/* 0: the generation is gone; 1: another program changed a file of it. */
START_TEST(half_of_a_commit_whose_generation_is_of_no_use_is_not_kept)
{
    char notice[TFS_ERROR_TEXT];

    cut_commit(BEFORE_RENAME);
    if (_i == 0)
        ck_assert_int_eq(nftw(scratch_path("state"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    struct tfs_keeper *keeper = open_folder();
    if (_i == 1) {
        scratch_write("zone/b", "another program's");
        resume(keeper, "zone/a");
    } else {
        resume(keeper, "zone/a");
        commit(keeper, "zone/b", "new b");
    }
    tfs_undo_leave(keeper);
    ck_assert(tfs_undo_notice(keeper, notice));
    ck_assert_uint_eq(count_of("zone"), (size_t)_i);
    commit(keeper, "zone/b", "newer b");
    tfs_undo_close(keeper);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/b"), _i == 0 ? "new b" : "another program's");
    ck_assert_str_eq(scratch_read("zone/a"), "new a");
}
END_TEST

/* What recovery does with the journal of a process that was killed. */
static void recover(uint32_t run, const char *text)
{
    struct tfs_keeper *keeper = open_keeper("save");
    const struct tfs_undo_cut cut = {.run = run};

    tfs_undo_resume(keeper, &cut);
    commit(keeper, "save", text);
    tfs_undo_leave(keeper);
    tfs_undo_close(keeper);
}

START_TEST(what_a_killed_process_left_enters_the_generation_that_it_began)
{
    scratch_write("save", "old");
    edit("save", "first");
    recover(tfs_journal_run(), "second");
    ck_assert_uint_eq(count_of("save"), 1);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "second");
    edit("save", "third");
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "second");
}
END_TEST

/* 0: another process began the last one; 1: another program changed the save since; 2: nothing is
 * kept. */
START_TEST(what_a_killed_process_left_enters_no_other_generation)
{
    static const char *const before[] = {"first", "a game's", "old"};
    const uint32_t run = _i == 0 ? tfs_journal_run() + 1 : tfs_journal_run();

    scratch_write("save", "old");
    if (_i != 2)
        edit("save", "first");
    if (_i == 1)
        scratch_write("save", "a game's");
    recover(run, "second");
    ck_assert_uint_eq(count_of("save"), _i == 2 ? 1 : 2);
    recover(run, "third"); /* whose recovery was killed, too */
    ck_assert_uint_eq(count_of("save"), _i == 2 ? 1 : 2);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), before[_i]);
}
END_TEST

/* Killed between the rename and the note of it: what the journal says of the save is as good. */
START_TEST(file_that_a_killed_process_wrote_is_noted_when_its_journal_is_recovered)
{
    struct tfs_undo_wrote wrote = {.path = strdup(scratch_path("save"))};
    const struct tfs_undo_cut cut = {tfs_journal_run(), false, &wrote, 1};

    scratch_write("save", "old");
    edit("save", "new");
    ck_assert_int_eq(truncate(place_of("save", TFS_UNDO_LEFT), 0), 0);
    ck_assert_int_eq(undo("save", false), -ESTALE);
    ck_assert_int_eq(stat(wrote.path, &wrote.st), 0);
    struct tfs_keeper *keeper = open_keeper("save");
    tfs_undo_resume(keeper, &cut);
    tfs_undo_leave(keeper);
    tfs_undo_close(keeper);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
    free(wrote.path);
}
END_TEST

START_TEST(file_whose_replacement_was_not_noted_comes_back_when_forced)
{
    cut_commit(BEFORE_LEFT);
    ck_assert_int_eq(undo("zone", false), -ESTALE);
    ck_assert_int_eq(undo("zone", true), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "old a");
    ck_assert_str_eq(scratch_read("zone/b"), "old b");
}
END_TEST

START_TEST(line_that_was_not_written_to_its_end_is_not_completed_by_the_next)
{
    char path[PATH_MAX];

    cut_commit(BEFORE_RENAME);
    snprintf(path, sizeof(path), "%s", place_of("zone", TFS_UNDO_MANIFEST));
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "file 1 2 3 4 c", 14), 14);
    close(fd);
    struct tfs_keeper *keeper = open_folder();
    resume(keeper, "zone/a");
    commit(keeper, "zone/b", "new b");
    tfs_undo_leave(keeper);
    tfs_undo_close(keeper);
    ck_assert_int_eq(undo("zone", false), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "old a");
    ck_assert_str_eq(scratch_read("zone/b"), "old b");
}
END_TEST

/* The save and the list beside it are gone; while the save is put back the game makes the list. 0:
 * there was one before, 1: there was none. */
START_TEST(file_that_a_game_makes_while_a_deleted_save_comes_back_stays)
{
    scratch_write("save", "old");
    struct tfs_keeper *keeper = open_keeper("save");
    if (_i == 0) {
        scratch_write("list", "old list");
        commit(keeper, "list", "new list");
    } else {
        make_file(keeper, "list", "new list");
    }
    commit(keeper, "save", "new");
    tfs_undo_close(keeper);
    ck_assert_int_eq(unlink(scratch_path("save")), 0);
    ck_assert_int_eq(unlink(scratch_path("list")), 0);
    scratch_write("other", "theirs");
    moment = BEFORE_NEW_FILE;
    saved_by_it = "other";
    saved_as = "list";
    ck_assert_int_eq(undo("save", true), -ESTALE);
    ck_assert_str_eq(scratch_read("list"), "theirs");
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_int_eq(undo("save", true), 0);
    ck_assert_int_eq(undo("save", false), 0);
    ck_assert_str_eq(scratch_read("list"), "theirs");
}
END_TEST

/* ---- saves that were renamed ----------------------------------------------------------------- */

/* 0: undone, 1: with force, 2: behind another edit. */
START_TEST(save_that_takes_the_name_of_a_deleted_one_has_its_own_versions)
{
    scratch_write("b", "old b");
    scratch_write("a", "old a");
    edit("b", "new b");
    edit("a", "new a");
    ck_assert_int_eq(unlink(scratch_path("b")), 0);
    ck_assert_int_eq(rename(scratch_path("a"), scratch_path("b")), 0);
    if (_i == 2)
        edit("b", "newer a");
    ck_assert_int_eq(undo("b", _i == 1), 0);
    ck_assert_str_eq(scratch_read("b"), _i == 2 ? "new a" : "old a");
    ck_assert_int_eq(undo("b", _i == 1), 0);
    ck_assert_str_eq(scratch_read("b"), _i == 2 ? "newer a" : "new a");
    ck_assert_int_eq(undo("b", _i == 1), 0);
    ck_assert_str_eq(scratch_read("b"), _i == 2 ? "new a" : "old a");
}
END_TEST

/* What a game made of the deleted one is no save that was renamed. */
START_TEST(versions_of_the_deleted_save_are_found_where_no_other_has_the_file)
{
    scratch_write("b", "old b");
    edit("b", "new b");
    scratch_write("a", "old a");
    edit("a", "new a");
    scratch_replace("b", "theirs");
    ck_assert_int_eq(undo("b", false), -ESTALE);
    ck_assert_int_eq(undo("b", true), 0);
    ck_assert_str_eq(scratch_read("b"), "old b");
}
END_TEST

/* ---- undo that cannot keep what is there ----------------------------------------------------- */

/* Of two files the one that is put back first can be kept, and the other cannot. */
START_TEST(undo_that_cannot_keep_a_file_has_kept_those_that_it_replaced)
{
    const off_t large = (off_t)tfs_undo_limits.bytes + 1;

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
    ck_assert_str_eq(scratch_read("zone/a"), "new a");
    ck_assert_str_eq(scratch_read("zone/b"), "new b");
}
END_TEST

/* The same, and a game saves the other one before it goes on. */
START_TEST(undo_that_goes_on_leaves_what_it_kept_before)
{
    const off_t large = (off_t)tfs_undo_limits.bytes + 1;
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
    snprintf(kept, sizeof(kept), "%s", place_of("zone", "files/b"));
    ck_assert_int_eq(truncate(scratch_path("zone/a"), 5), 0);
    scratch_replace("zone/b", "game b");
    ck_assert_int_eq(undo("zone", true), 0);
    ck_assert_str_eq(scratch_read("zone/a"), "old a");
    ck_assert_str_eq(scratch_read("zone/b"), "old b");
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

START_TEST(undo_that_shall_keep_nothing_is_done_when_it_is_forced)
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
    tcase_add_loop_test(c, save_of_a_game_that_comes_while_the_old_one_is_kept_is_not_replaced, 0,
                        6);
    tcase_add_test(c, what_each_commit_left_is_durable);
    tcase_add_test(c, commit_that_was_cut_before_its_rename_left_no_generation);
    tcase_add_test(c, save_that_was_written_by_another_is_not_undone);
    tcase_add_test(c, file_above_the_limit_is_told_once_and_written);
    tcase_add_loop_test(c, commit_behind_the_save_of_a_game_is_kept_as_a_whole, 0, 3);
    c = unit_case(s, "limits");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_test(c, limits_are_those_that_are_promised);
    tcase_add_test(c, oldest_generations_of_a_save_go_first);
    tcase_add_test(c, oldest_generations_of_all_saves_go_when_there_are_too_many_bytes);
    tcase_add_test(c, save_that_was_edited_least_recently_goes_when_there_are_too_many);
    tcase_add_loop_test(c, generations_that_cannot_be_read_go_where_they_are_none, 0, 5);
    c = unit_case(s, "lists");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_test(c, list_with_any_byte_changed_or_cut_puts_nothing_elsewhere);
    tcase_add_test(c, list_that_leads_out_of_the_save_is_none);
    tcase_add_test(c, line_that_was_not_written_to_its_end_is_left_out);
    c = unit_case(s, "commits that were cut");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_loop_test(c, commit_that_was_cut_and_is_brought_to_its_end_is_undone_as_a_whole,
                        BEFORE_LINK, BEFORE_LEFT + 1);
    tcase_add_test(c, edits_behind_a_commit_that_was_cut_have_a_generation_of_their_own);
    tcase_add_loop_test(c, half_of_a_commit_whose_generation_is_of_no_use_is_not_kept, 0, 2);
    tcase_add_test(c, what_a_killed_process_left_enters_the_generation_that_it_began);
    tcase_add_loop_test(c, what_a_killed_process_left_enters_no_other_generation, 0, 3);
    tcase_add_test(c, file_that_a_killed_process_wrote_is_noted_when_its_journal_is_recovered);
    tcase_add_test(c, file_whose_replacement_was_not_noted_comes_back_when_forced);
    tcase_add_test(c, line_that_was_not_written_to_its_end_is_not_completed_by_the_next);
    c = unit_case(s, "deleted saves");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_loop_test(c, file_that_a_game_makes_while_a_deleted_save_comes_back_stays, 0, 2);
    c = unit_case(s, "renamed saves");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_loop_test(c, save_that_takes_the_name_of_a_deleted_one_has_its_own_versions, 0, 3);
    tcase_add_test(c, versions_of_the_deleted_save_are_found_where_no_other_has_the_file);
    c = unit_case(s, "what cannot be kept");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_test(c, undo_that_cannot_keep_a_file_has_kept_those_that_it_replaced);
    tcase_add_test(c, undo_that_goes_on_leaves_what_it_kept_before);
    tcase_add_test(c, limit_on_the_size_of_files_that_keeps_an_undo_from_it_is_the_systems);
    tcase_add_test(c, undo_that_shall_keep_nothing_is_done_when_it_is_forced);
    c = unit_case(s, "removed files");
    tcase_add_checked_fixture(c, setup, scratch_teardown);
    tcase_add_loop_test(c, file_that_a_game_saves_while_an_undo_removes_it_stays, 0, 2);
    return s;
}

UNIT_MAIN(suite)
