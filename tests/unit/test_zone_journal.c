/*
 * The journal of saves of several files, on zones of Cosmic Reach: what a kill at any step leaves,
 * and what comes of it when another program wrote meanwhile.
 */
#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "../lib/region_maker.h"
#include "formats/journal.h"
#include "fs/recover.h"
#include "fs/store.h"
#include "fs/tree.h"
#include "scratch.h"

#define REGIONS "zone/regions/"
#define JOURNAL REGIONS ".zone.terrainfs-journal"

static struct tfs_save *save;
static struct tfs_error err;
static char notice[TFS_ERROR_TEXT];

/* ---- kills ----------------------------------------------------------------------------------- */

static int steps_left = -1; /* calls that change the disk until this process ends; -1: it stays */

/* Calls until one fails, until all do, or so many; -1: none does. */
static int until_fault = -1, faults = 0;

static bool step(void)
{
    if (steps_left >= 0 && steps_left-- == 0)
        _exit(9);
    if (until_fault > 0)
        until_fault--;
    else if (until_fault == 0 && faults > 0) {
        faults--;
        errno = ENOSPC;
        return false;
    }
    return true;
}

static void (*before_sync)(int fd);

/* These take the place of the C library's, for the whole program. */
int fdatasync(int fd)
{
    if (before_sync != NULL)
        before_sync(fd);
    return step() ? (int)syscall(SYS_fdatasync, fd) : -1;
}

int fsync(int fd)
{
    return step() ? (int)syscall(SYS_fsync, fd) : -1;
}

int renameat(int from, const char *old, int to, const char *new)
{
    if (!step())
        return -1;
    int result = (int)syscall(SYS_renameat2, from, old, to, new, 0);
    if (steps_left >= 0)
        (void)step();
    return result;
}

int rename(const char *old, const char *new)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int unlink(const char *path)
{
    if (steps_left >= 0)
        (void)step();
    int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (steps_left >= 0)
        (void)step();
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    if (!step())
        return -1;
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return step() ? (ssize_t)syscall(SYS_pwrite64, fd, bytes, size, at) : -1;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (until_fault >= 0 && !step())
        return -1;
    return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

/* ---- the zone -------------------------------------------------------------------------------- */

static const char *region_name(int x)
{
    static char names[4][128];
    static unsigned turn;
    char *name = names[turn++ % 4];

    snprintf(name, sizeof(names[0]), REGIONS "region_%d_0_0.cosmicreach", x);
    return name;
}

static void add_chunk(struct maker_region *region, int x, int y, int z, const char *block)
{
    struct maker_chunk *chunk = maker_region_add(region, x, y, z);

    maker_single(&chunk->body, block);
    maker_sky(&chunk->body, NULL);
    maker_u8(&chunk->body, 1);
    maker_u8(&chunk->body, 0);
}

/* A region with two chunks of one block. */
static void make_region(int x, const char *block)
{
    struct maker_region region = maker_region_init(7);
    struct maker_bytes bytes = {0};

    add_chunk(&region, 16 * x, 0, 0, block);
    add_chunk(&region, 16 * x, 1, 0, block);
    maker_region_write(&region, &bytes);
    FILE *file = fopen(scratch_path(region_name(x)), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    ck_assert_int_eq(fclose(file), 0);
    maker_release(&bytes);
    maker_region_release(&region);
}

static void make_zone(void)
{
    ck_assert_int_eq(nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(mkdir(scratch_dir, 0755), 0);
    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch_path("zone/regions"), 0755), 0);
    scratch_write("zone/zoneInfo.json", "{\"zoneId\": \"base:earth\"}");
    make_region(-1, "base:left");
    make_region(0, "base:right");
}

static void setup(void)
{
    scratch_setup_in_memory();
    make_zone();
    save = NULL;
}

static void close_save(void)
{
    tfs_save_close(save);
    save = NULL;
}

static void teardown(void)
{
    close_save();
    scratch_teardown();
}

static void open_only(const char *name, enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock};

    close_save();
    tfs_error_reset(&err);
    ck_assert_msg(tfs_save_open(scratch_path(name), NULL, &options, &save, &err) == 0, "%s",
                  err.text);
}

static void open_zone(enum tfs_lock lock)
{
    open_only("zone", lock);
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s", err.text);
}

static bool exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

static bool is_aside(void)
{
    DIR *directory = opendir(scratch_dir);
    bool found = false;

    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        found = found || strstr(entry->d_name, ".unsaved-") != NULL;
    closedir(directory);
    return found;
}

/* ---- the edit -------------------------------------------------------------------------------- */

static struct tfs_edit edit;

static void put_text(const char *path, const char *text)
{
    struct tfs_node node;
    struct tfs_put put = {0};

    ck_assert_int_eq(tfs_tree_resolve(save, save->doc, path, false, &node), 0);
    ck_assert_msg(tfs_node_file(save, &node)
                          ->lens->put(save, &edit, tfs_node_at(save, &node), tfs_span_of(text),
                                      &put, &err) == 0,
                  "%s", err.text);
}

/* A chunk goes from one region to the other. */
static void move_chunk(void)
{
    ck_assert_int_eq(save->tree->chunk_move(save, &edit, (struct tfs_key){0, -16, 1, 0},
                                            (struct tfs_key){0, 3, 1, 3}, &err),
                     0);
}

/* Both regions change, and that chunk moves. */
static void edit_both(void)
{
    put_text("chunks/-16_0_0/voxels.csv", "x,y,z,block\n-253,1,2,base:gold\n");
    put_text("chunks/0_0_0/voxels.csv", "x,y,z,block\n3,1,2,base:gold\n");
    move_chunk();
}

static struct tfs_doc *edited(void)
{
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    edit_both();
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return doc;
}

static void commit_edited(void)
{
    struct tfs_doc *doc = edited();

    ck_assert_msg(tfs_journal_commit(save, doc, &err) == 0, "%s", err.text);
    tfs_doc_unref(doc);
}

static bool is_block(const char *path, const char *block)
{
    struct tfs_node node;
    struct tfs_buf text = {0};

    ck_assert_int_eq(tfs_tree_resolve(save, save->doc, path, false, &node), 0);
    ck_assert_msg(tfs_node_file(save, &node)
                          ->lens->get(save, save->doc, tfs_node_at(save, &node), &text, &err) == 0,
                  "%s", err.text);
    tfs_buf_u8(&text, 0);
    bool found = strstr((const char *)text.data, block) != NULL;
    tfs_buf_release(&text);
    return found;
}

static bool is_gold(const char *path)
{
    return is_block(path, "base:gold");
}

static bool has(int x, int y, int z)
{
    return tfs_doc_find(save->doc, (struct tfs_key){0, x, y, z}) != NULL;
}

/* What of the edit the save shows: a bit for each of its four marks. */
static unsigned shown(void)
{
    return (unsigned)is_gold("chunks/-16_0_0/voxels.csv") |
           (unsigned)is_gold("chunks/0_0_0/voxels.csv") << 1 | (unsigned)!has(-16, 1, 0) << 2 |
           (unsigned)has(3, 1, 3) << 3;
}

#define LEFT  (1U | 4U) /* the marks in region -1 */
#define RIGHT (2U | 8U)
#define ALL   (LEFT | RIGHT)

/* A process that does this and is killed at its n-th step; false: it came to its end before. */
static bool killed(void (*act)(void), int n)
{
    int status;

    close_save();
    pid_t child = fork();
    if (child == 0) {
        steps_left = n;
        act();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && (WEXITSTATUS(status) == 9 || WEXITSTATUS(status) == 0));
    return WEXITSTATUS(status) == 9;
}

static void act_commit(void)
{
    const int steps = steps_left;

    steps_left = -1;
    open_zone(TFS_LOCK_EXCLUSIVE);
    steps_left = steps;
    commit_edited();
}

static void act_recover(void)
{
    open_zone(TFS_LOCK_EXCLUSIVE);
}

START_TEST(zone_edit_of_several_regions_is_all_or_nothing_at_every_step)
{
    unsigned before = 0;
    int n = 0;

    for (; killed(act_commit, n); n++) {
        open_zone(TFS_LOCK_NONE);
        const unsigned read = shown();
        ck_assert_msg(read == 0 || read == ALL, "step %d: a reader sees %x", n, read);
        ck_assert_msg(read >= before, "step %d: it was accepted before", n);
        before = read;
        if (killed(act_recover, n % 13)) {
            open_zone(TFS_LOCK_NONE);
            ck_assert_msg(shown() == read, "step %d: a killed recovery leaves %x", n, shown());
        }
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(shown() == read, "step %d: %x, not %x: %s", n, shown(), read, notice);
        open_only("zone", TFS_LOCK_NONE);
        ck_assert_uint_eq(shown(), read);
        ck_assert(!exists(JOURNAL) && !is_aside());
        make_zone();
    }
    ck_assert_int_gt(n, 10);
    ck_assert_uint_eq(before, ALL);
    open_only("zone", TFS_LOCK_NONE);
    ck_assert_uint_eq(shown(), ALL);
    ck_assert(!exists(JOURNAL));
}
END_TEST

/* A zone whose journal has the edit, and whose regions have not. */
static void leave_journal(void)
{
    for (int n = 0; !exists(JOURNAL); n++) {
        make_zone();
        ck_assert(killed(act_commit, n));
    }
}

START_TEST(zone_journal_that_is_torn_or_damaged_anywhere_gives_all_or_nothing)
{
    struct stat st;
    uint8_t byte;

    leave_journal();
    ck_assert_int_eq(stat(scratch_path(JOURNAL), &st), 0);
    for (off_t size = st.st_size - 1; size >= 0; size -= 1 + size / 40) {
        ck_assert_int_eq(truncate(scratch_path(JOURNAL), size), 0);
        open_zone(TFS_LOCK_NONE);
        ck_assert_uint_eq(shown(), 0);
    }
    for (off_t at = 0; at < st.st_size; at += 1 + st.st_size / 40) {
        make_zone();
        leave_journal();
        int fd = open(scratch_path(JOURNAL), O_RDWR);
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= 0x41;
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(shown() == 0 || shown() == ALL, "byte %jd: %x", (intmax_t)at, shown());
    }
}
END_TEST

START_TEST(region_that_the_game_changed_keeps_its_edits_out_and_the_others_get_theirs)
{
    leave_journal();
    make_region(-1, "base:changed_by_the_game");
    open_zone(TFS_LOCK_NONE);
    ck_assert_uint_eq(shown(), RIGHT);
    ck_assert_ptr_nonnull(strstr(notice, "is only in its journal yet"));
    ck_assert_ptr_nonnull(strstr(notice, "another program changed"));
    ck_assert(exists(JOURNAL));
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert_uint_eq(shown(), RIGHT);
    ck_assert_ptr_nonnull(
        strstr(notice, "was restored from its journal; parts of 1 edit were not restored"));
    ck_assert(!exists(JOURNAL) && is_aside());
    open_only("zone", TFS_LOCK_NONE);
    ck_assert_uint_eq(shown(), RIGHT);
}
END_TEST

START_TEST(region_that_the_game_damaged_or_removed_keeps_its_edits_out)
{
    leave_journal();
    if (_i == 0)
        scratch_write(region_name(-1), "not a region any more");
    else
        ck_assert_int_eq(remove(scratch_path(region_name(-1))), 0);
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert(is_gold("chunks/0_0_0/voxels.csv") && has(3, 1, 3));
    ck_assert(!exists(JOURNAL) && is_aside());
}
END_TEST

START_TEST(region_that_was_put_back_keeps_its_edits_out)
{
    struct timespec later[2];

    leave_journal();
    clock_gettime(CLOCK_REALTIME, &later[0]);
    later[0].tv_sec += 5;
    later[1] = later[0];
    /* Its bytes, written again later: a backup. */
    make_region(-1, "base:left");
    ck_assert_int_eq(utimensat(AT_FDCWD, scratch_path(region_name(-1)), later, 0), 0);
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert_uint_eq(shown(), RIGHT);
    ck_assert(is_aside());
}
END_TEST

/* The clock of the file system ticks, and may lag behind that of the records. */
static void await_later_times(void)
{
    struct timespec begun;
    struct stat now;

    clock_gettime(CLOCK_REALTIME, &begun);
    do {
        usleep(1000);
        scratch_write("now", "");
        ck_assert_int_eq(stat(scratch_path("now"), &now), 0);
    } while (now.st_mtim.tv_sec < begun.tv_sec ||
             (now.st_mtim.tv_sec == begun.tv_sec && now.st_mtim.tv_nsec <= begun.tv_nsec));
}

static void copy_zone(void)
{
    char command[2 * PATH_MAX];

    await_later_times();
    snprintf(command, sizeof(command), "cd '%s' && cp -r zone copy && rm -r zone && mv copy zone",
             scratch_dir);
    ck_assert_int_eq(system(command), 0);
}

/* By `cp -r`, which gives all files new times, at every step of a commit. */
START_TEST(copy_of_a_zone_with_its_journal_has_all_of_the_edit)
{
    for (int n = 0; killed(act_commit, n); n++) {
        open_zone(TFS_LOCK_NONE);
        const unsigned read = shown();
        close_save();
        copy_zone();
        for (int i = 0; i < 2; i++) {
            open_zone(i == 0 ? TFS_LOCK_NONE : TFS_LOCK_EXCLUSIVE);
            ck_assert_msg(shown() == read, "step %d: %x, not %x: %s", n, shown(), read, notice);
        }
        ck_assert(!exists(JOURNAL) && !is_aside());
        make_zone();
    }
}
END_TEST

static void open_alone(int x, enum tfs_lock lock)
{
    open_only(region_name(x), lock);
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s", err.text);
}

/* The same marks, each in its region alone. */
static unsigned shown_alone(enum tfs_lock lock)
{
    open_alone(-1, lock);
    unsigned marks = (unsigned)is_gold("chunks/-16_0_0/voxels.csv") | (unsigned)!has(-16, 1, 0)
                                                                          << 2;
    open_alone(0, lock);
    return marks | (unsigned)is_gold("chunks/0_0_0/voxels.csv") << 1 | (unsigned)has(3, 1, 3) << 3;
}

START_TEST(one_region_read_alone_shows_the_edits_of_its_zone_at_every_step)
{
    unsigned told = 0;

    for (int n = 0; killed(act_commit, n); n++) {
        open_zone(TFS_LOCK_NONE);
        const unsigned read = shown();
        for (int i = 0; i < 2; i++) {
            const unsigned alone = shown_alone(i == 0 ? TFS_LOCK_NONE : TFS_LOCK_EXCLUSIVE);
            ck_assert_msg(alone == read, "step %d: %x, not %x: %s", n, alone, read, notice);
            told += strstr(notice, "only in the journal of its folder yet") != NULL;
        }
        open_zone(TFS_LOCK_NONE);
        ck_assert_uint_eq(shown(), read); /* nothing was written */
        make_zone();
    }
    ck_assert_uint_gt(told, 0);
}
END_TEST

START_TEST(one_region_read_alone_is_not_shown_edits_that_are_not_its_own)
{
    leave_journal();
    make_region(0, "base:game");
    open_alone(0, TFS_LOCK_NONE);
    ck_assert(is_block("chunks/0_0_0/voxels.csv", "base:game"));
    ck_assert_ptr_nonnull(strstr(notice, "edits of its folder wait in"));
    ck_assert_ptr_nonnull(strstr(notice, "another program changed"));
    open_alone(-1, TFS_LOCK_NONE);
    ck_assert(is_gold("chunks/-16_0_0/voxels.csv"));
    make_region(1, "base:new"); /* the journal does not know it */
    open_alone(1, TFS_LOCK_NONE);
    ck_assert_str_eq(notice, "");
    ck_assert(is_block("chunks/16_0_0/voxels.csv", "base:new"));
}
END_TEST

static const struct tfs_container *looked_at;

/* For the first time the file is still the one that was read. */
static int look_once(struct tfs_save *of, struct tfs_error *why)
{
    (void)why;
    of->container = looked_at;
    return 0;
}

/* A mount writes it, and goes on with edits of others, before the reader looks at the journal. */
START_TEST(one_region_read_alone_is_read_again_when_a_later_journal_is_not_about_it)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_NONE};
    const struct timespec now = {.tv_sec = time(NULL)};
    struct tfs_journal *journal = NULL;
    struct tfs_buf record = {0};
    struct tfs_save *alone = NULL;

    ck_assert_int_eq(tfs_save_open(scratch_path(region_name(0)), NULL, &options, &alone, &err), 0);
    make_region(0, "base:later");
    open_zone(TFS_LOCK_NONE);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    put_text("chunks/-16_0_0/voxels.csv", "x,y,z,block\n-253,1,2,base:gold\n");
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert_int_eq(tfs_record_make(save, save->doc, doc, now, &record, &err), 0);
    tfs_doc_unref(doc);
    char *beside = tfs_journal_beside(save);
    ck_assert_int_eq(tfs_journal_create(beside, &save->st, (struct tfs_hash){0}, NULL,
                                        tfs_buf_span(&record), &journal, &err),
                     0);
    free(beside);
    tfs_journal_close(journal);
    tfs_buf_release(&record);
    close_save();
    save = alone;
    looked_at = save->container;
    struct tfs_container looking = *looked_at;
    looking.changed = look_once;
    save->container = &looking;
    ck_assert_int_eq(tfs_recover(save, notice, &err), 0);
    ck_assert_str_eq(notice, "");
    ck_assert(is_block("chunks/0_0_0/voxels.csv", "base:later"));
}
END_TEST

START_TEST(one_region_of_a_zone_with_a_journal_is_not_written_alone)
{
    leave_journal();
    open_only(region_name(0), TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_nonnull(save->read_only);
    ck_assert_ptr_nonnull(strstr(save->read_only, "edits of its folder wait in"));
    open_zone(TFS_LOCK_EXCLUSIVE);
    open_alone(0, TFS_LOCK_NONE);
    ck_assert_str_eq(notice, "");
    open_only(region_name(0), TFS_LOCK_EXCLUSIVE);
    ck_assert_ptr_null((void *)save->read_only);
}
END_TEST

START_TEST(journal_of_a_zone_that_cannot_be_written_stays_and_is_shown)
{
    leave_journal();
    open_only("zone", TFS_LOCK_EXCLUSIVE);
    tfs_save_set_read_only(save, &(struct tfs_error){.code = -EROFS, .text = "it is read-only"});
    ck_assert_int_eq(tfs_recover(save, notice, &err), 0);
    ck_assert_uint_eq(shown(), ALL);
    ck_assert(exists(JOURNAL));
}
END_TEST

START_TEST(file_with_the_name_of_a_zone_journal_that_is_none_is_named_and_left_alone)
{
    scratch_write(JOURNAL, "somebody's own");
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert(save->no_journal);
    ck_assert_ptr_nonnull(strstr(notice, "warning"));
    commit_edited();
    ck_assert_uint_eq(shown(), ALL);
    ck_assert(exists(JOURNAL));
}
END_TEST

static void move(const char *from, const char *to)
{
    char old[PATH_MAX];

    snprintf(old, sizeof(old), "%s", scratch_path(from));
    ck_assert_int_eq(rename(old, scratch_path(to)), 0);
}

START_TEST(journal_of_another_zone_is_set_aside_whatever_the_zone_holds)
{
    leave_journal();
    move(JOURNAL, "journal");
    make_region(-1, "base:sand");
    make_region(0, "base:sand");
    move("journal", JOURNAL);
    open_zone(TFS_LOCK_NONE);
    ck_assert_uint_eq(shown(), 0);
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert_uint_eq(shown(), 0);
    ck_assert(!exists(JOURNAL) && is_aside());
}
END_TEST

START_TEST(zone_journal_with_two_names_or_open_to_more_users_is_named_and_left_alone)
{
    char second[PATH_MAX];

    leave_journal();
    snprintf(second, sizeof(second), "%s", scratch_path("second"));
    if (_i == 0)
        ck_assert_int_eq(link(scratch_path(JOURNAL), second), 0);
    else
        ck_assert_int_eq(chmod(scratch_path(JOURNAL), 0666), 0);
    for (int i = 0; i < 2; i++) {
        open_zone(i == 0 ? TFS_LOCK_NONE : TFS_LOCK_EXCLUSIVE);
        ck_assert_uint_eq(shown(), 0);
        ck_assert_ptr_nonnull(strstr(notice, "so it is not used"));
        ck_assert(exists(JOURNAL) && !is_aside());
    }
}
END_TEST

START_TEST(region_that_is_away_comes_back_with_its_edits_while_nobody_may_write)
{
    leave_journal();
    move(region_name(-1), "away");
    open_zone(TFS_LOCK_NONE);
    ck_assert(is_gold("chunks/0_0_0/voxels.csv") && has(3, 1, 3));
    ck_assert_ptr_nonnull(strstr(notice, "another program changed"));
    move("away", region_name(-1));
    open_zone(TFS_LOCK_NONE);
    ck_assert_uint_eq(shown(), ALL);
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert_uint_eq(shown(), ALL);
    ck_assert(!is_aside());
}
END_TEST

START_TEST(link_in_the_place_of_a_region_gets_no_edits)
{
    struct stat before, after;

    leave_journal();
    move(region_name(-1), "elsewhere");
    ck_assert_int_eq(symlink(scratch_path("elsewhere"), scratch_path(region_name(-1))), 0);
    ck_assert_int_eq(stat(scratch_path("elsewhere"), &before), 0);
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert(is_gold("chunks/0_0_0/voxels.csv"));
    ck_assert_int_eq(stat(scratch_path("elsewhere"), &after), 0);
    ck_assert(before.st_ino == after.st_ino && before.st_size == after.st_size);
    ck_assert_int_eq(lstat(scratch_path(region_name(-1)), &after), 0);
    ck_assert(S_ISLNK(after.st_mode));
    ck_assert(!exists(JOURNAL) && is_aside());
}
END_TEST

/* Where the folder of regions has another name, it is no zone any more without a region. */
START_TEST(journal_goes_with_the_last_region_of_a_folder)
{
    struct tfs_doc *doc;

    move("zone/regions", "folder");
    open_only("folder", TFS_LOCK_EXCLUSIVE);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(
            tfs_edit_remove(&edit, (struct tfs_key){0, i < 2 ? -16 : 0, i % 2, 0}, &err), 0);
    doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert_msg(tfs_journal_commit(save, doc, &err) == 0, "%s", err.text);
    tfs_doc_unref(doc);
    close_save();
    ck_assert_int_eq(rmdir(scratch_path("folder")), 0);
}
END_TEST

/* ---- a zone without a folder of regions ------------------------------------------------------ */

static void make_empty_zone(void)
{
    make_zone();
    for (int x = -1; x < 1; x++)
        ck_assert_int_eq(remove(scratch_path(region_name(x))), 0);
    (void)remove(scratch_path(JOURNAL));
    ck_assert_int_eq(rmdir(scratch_path("zone/regions")), 0);
}

/* Both regions get their first chunk. */
static void act_first(void)
{
    const int steps = steps_left;
    struct tfs_doc *doc;

    steps_left = -1;
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    for (int x = -16; x <= 0; x += 16)
        ck_assert_msg(
            save->tree->chunk_create(save, &edit, (struct tfs_key){0, x, 0, 0}, &err) == 0, "%s",
            err.text);
    doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    steps_left = steps;
    ck_assert_msg(tfs_journal_commit(save, doc, &err) == 0, "%s", err.text);
    tfs_doc_unref(doc);
}

START_TEST(first_edit_of_a_zone_without_regions_is_all_or_nothing_at_every_step)
{
    size_t before = 0;
    int n = 0;

    make_empty_zone();
    for (; killed(act_first, n); n++) {
        open_zone(TFS_LOCK_NONE);
        ck_assert_msg(save->doc->count == 0 || save->doc->count == 2, "step %d: %zu chunks", n,
                      save->doc->count);
        ck_assert_msg(save->doc->count >= before, "step %d: it was accepted before", n);
        before = save->doc->count;
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(save->doc->count == before, "step %d: %zu chunks: %s", n, save->doc->count,
                      notice);
        ck_assert(!exists(JOURNAL) && !is_aside());
        make_empty_zone();
    }
    ck_assert_int_gt(n, 10);
    open_only("zone", TFS_LOCK_NONE);
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert(!exists(JOURNAL));
}
END_TEST

/* ---- a disk that fails ----------------------------------------------------------------------- */

/* One call, or all from there on. */
static void fail_from(int n, bool once)
{
    until_fault = n;
    faults = once ? 1 : INT_MAX;
}

START_TEST(edit_of_several_regions_whose_commit_fails_is_all_or_nothing)
{
    bool failed = true, waited = false;

    for (int n = 0; failed; n++) {
        make_zone();
        open_zone(TFS_LOCK_EXCLUSIVE);
        struct tfs_doc *doc = edited();
        fail_from(n, _i == 0);
        failed = tfs_journal_commit(save, doc, &err) < 0;
        until_fault = -1;
        tfs_doc_unref(doc);
        waited = waited || strstr(err.text, "when the save is opened for writing next") != NULL;
        open_zone(TFS_LOCK_NONE);
        const unsigned read = shown();
        ck_assert_msg(read == ALL || (failed && read == 0), "call %d: a reader sees %x", n, read);
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(shown() == read, "call %d: %x, not %x: %s", n, shown(), read, notice);
        ck_assert(!exists(JOURNAL) && !is_aside());
        failed = failed || n < 10;
    }
    ck_assert(waited);
}
END_TEST

/* ---- who reads while another one writes ------------------------------------------------------ */

static atomic_int writer_steps = -1; /* after which a writer ends that begins with the next look */

/* Takes the place of the C library's, for the whole program. */
int lstat(const char *name, struct stat *st)
{
    const int steps = strstr(name, "/region_") == NULL ? -1 : atomic_exchange(&writer_steps, -1);

    if (steps >= 0) {
        const pid_t child = fork();
        if (child == 0) {
            save = NULL;
            steps_left = steps;
            act_recover();
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
    }
    return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

START_TEST(reader_shows_all_of_an_edit_while_it_goes_into_the_regions)
{
    const struct tfs_open_options later = {.lock = TFS_LOCK_NONE, .later = true};
    unsigned written = 0;

    for (int n = 0; n < 24; n++) {
        make_zone();
        leave_journal();
        close_save();
        ck_assert_int_eq(tfs_save_open(scratch_path("zone"), NULL, &later, &save, &err), 0);
        atomic_store(&writer_steps, n);
        ck_assert_msg(tfs_recover(save, notice, &err) == 0, "step %d: %s", n, err.text);
        ck_assert_int_eq(tfs_save_complete(save, NULL, &err), 0);
        ck_assert_msg(shown() == ALL, "step %d: %x: %s", n, shown(), notice);
        ck_assert_ptr_null(strstr(notice, "another program"));
        open_only("zone", TFS_LOCK_NONE);
        written |= shown();
    }
    ck_assert_uint_eq(written, ALL); /* or it was not cut between two regions */
}
END_TEST

/* ---- the store ------------------------------------------------------------------------------- */

static struct tfs_store *store;

static int accept_edit(struct tfs_job *job)
{
    int result = tfs_store_accept(store, &edit, 0, job, &err);

    tfs_edit_release(&edit);
    return result;
}

static int apply_set(struct tfs_job *job, bool last)
{
    (void)last;
    ck_assert_int_eq(tfs_store_edit(store, &edit, &err), 0);
    edit_both();
    return accept_edit(job);
}

static const struct tfs_job_kind set_kind = {.apply = apply_set};

/* An edit that comes later: again both regions, and the chunk that moved is gone. */
static int apply_more(struct tfs_job *job, bool last)
{
    (void)last;
    ck_assert_int_eq(tfs_store_edit(store, &edit, &err), 0);
    put_text("chunks/-16_0_0/voxels.csv", "x,y,z,block\n-254,1,2,base:tin\n");
    put_text("chunks/0_0_0/voxels.csv", "x,y,z,block\n4,1,2,base:tin\n");
    ck_assert_int_eq(tfs_edit_remove(&edit, (struct tfs_key){0, 3, 1, 3}, &err), 0);
    return accept_edit(job);
}

static const struct tfs_job_kind more_kind = {.apply = apply_more};

static sem_t more_answered;

/* The answer is the acknowledgement, told by what the process leaves. */
static void on_answer(void *arg, struct tfs_store *of, struct tfs_job *jobs)
{
    (void)arg;
    (void)of;
    for (struct tfs_job *job = jobs; job != NULL; job = job->next) {
        const bool more = job->kind == &more_kind;
        if (job->result == 0)
            (void)syscall(SYS_openat, AT_FDCWD, scratch_path(more ? "more" : "accepted"),
                          O_CREAT | O_WRONLY, 0644);
        if (more)
            sem_post(&more_answered);
        tfs_job_release(job);
    }
}

static atomic_int regions_until_more; /* that are synced before the other edit comes */
static struct tfs_job more = {.kind = &more_kind, .saves = true}, *comes = &more;

/* While a region is being synced, another job comes and is answered. */
static void edit_during_sync(int fd)
{
    char link[64], path[PATH_MAX] = "";
    struct timespec patience;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof(path) - 1) < 0 || strstr(path, "region_") == NULL ||
        atomic_fetch_sub(&regions_until_more, 1) != 0)
        return;
    tfs_store_submit(store, comes);
    clock_gettime(CLOCK_REALTIME, &patience);
    patience.tv_sec += 30;
    if (sem_timedwait(&more_answered, &patience) < 0)
        _exit(10); /* it waits for this rewrite */
}

static unsigned mode; /* of act_store: 0 auto, 1 close, 600 */

static void act_store(void)
{
    const struct tfs_store_options options = {.commit_auto = mode == 0,
                                              .commit_seconds = mode > 1 ? mode : 0};
    const struct tfs_store_client client = {.answer = on_answer};
    static struct tfs_job job = {.kind = &set_kind, .saves = true};
    const int steps = steps_left;

    steps_left = -1;
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
    steps_left = steps;
    tfs_store_submit(store, &job);
    ck_assert_int_eq(tfs_store_start(store), 0);
    if (before_sync != NULL)
        while (!exists("more"))
            usleep(1000);
    tfs_store_stop(store);
}

static int regions_before; /* of act_two: as many are synced before the other edit */

static void act_two(void)
{
    sem_init(&more_answered, 0, 0);
    atomic_store(&regions_until_more, regions_before);
    before_sync = edit_during_sync;
    act_store();
}

START_TEST(zone_keeps_what_was_accepted_and_all_of_it_at_every_step_in_every_mode)
{
    static const unsigned modes[] = {0, 1, 600};
    int n = 0;

    mode = modes[_i];
    for (; killed(act_store, n); n++) {
        const bool accepted = exists("accepted");
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(shown() == ALL || (shown() == 0 && !accepted), "step %d: %x, accepted: %d", n,
                      shown(), accepted);
        ck_assert(!exists(JOURNAL) && !is_aside());
        make_zone();
    }
    ck_assert_int_gt(n, 10);
    open_only("zone", TFS_LOCK_NONE);
    ck_assert_uint_eq(shown(), ALL);
    ck_assert(!exists(JOURNAL));
}
END_TEST

/* Which of two edits the save shows: 0, 1 or 2; -1: parts of one. */
static int edits_shown(void)
{
    const bool gold[] = {is_gold("chunks/-16_0_0/voxels.csv"), is_gold("chunks/0_0_0/voxels.csv")};
    const bool tin[] = {is_block("chunks/-16_0_0/voxels.csv", "base:tin"),
                        is_block("chunks/0_0_0/voxels.csv", "base:tin")};
    const bool from = has(-16, 1, 0), to = has(3, 1, 3);

    if (!gold[0] && !gold[1] && !tin[0] && !tin[1] && from && !to)
        return 0;
    if (gold[0] && gold[1] && !from && to)
        return 1;
    return tin[0] && tin[1] && !gold[0] && !gold[1] && !from && !to ? 2 : -1;
}

/* The first edit is being written into the regions, and none, one or two of the three writes of
 * them are done. */
START_TEST(zone_is_written_while_edits_are_accepted_and_keeps_them_at_every_step)
{
    int n = 0;

    mode = 0;
    regions_before = _i;
    for (; killed(act_two, n); n++) {
        const int accepted = exists("more") ? 2 : exists("accepted") ? 1 : 0;
        open_zone(TFS_LOCK_NONE);
        const int read = edits_shown();
        ck_assert_msg(read >= accepted, "step %d: a reader sees %d, accepted: %d: %s", n, read,
                      accepted, notice);
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(edits_shown() == read, "step %d: %d, not %d: %s", n, edits_shown(), read,
                      notice);
        ck_assert(!exists(JOURNAL) && !is_aside());
        make_zone();
    }
    ck_assert_int_gt(n, 10);
    open_only("zone", TFS_LOCK_NONE);
    ck_assert_int_eq(edits_shown(), 2);
    ck_assert(!exists(JOURNAL));
}
END_TEST

static int apply_move(struct tfs_job *job, bool last)
{
    (void)last;
    ck_assert_int_eq(tfs_store_edit(store, &edit, &err), 0);
    move_chunk();
    return accept_edit(job);
}

static const struct tfs_job_kind move_kind = {.apply = apply_move};

static int move_result;

static void on_move(void *arg, struct tfs_store *of, struct tfs_job *jobs)
{
    (void)arg;
    (void)of;
    for (struct tfs_job *job = jobs; job != NULL; job = job->next) {
        move_result = job->result;
        tfs_job_release(job);
    }
    if (jobs != NULL)
        sem_post(&more_answered);
}

/* The chunk is in its new region, and could not be taken from the old one. */
START_TEST(move_that_a_failing_disk_took_back_leaves_the_chunk_in_one_place)
{
    const struct tfs_store_options options = {.commit_auto = _i == 1};
    const struct tfs_store_client client = {.answer = on_move};

    sem_init(&more_answered, 0, 0);
    move_result = -1;
    for (int n = 0; move_result != 0 || n < 20; n++) {
        struct tfs_job job = {.kind = &move_kind, .saves = true, .undo = true};
        make_zone();
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
        fail_from(n, false);
        tfs_store_submit(store, &job);
        ck_assert_int_eq(tfs_store_start(store), 0);
        while (sem_wait(&more_answered) < 0)
            continue;
        until_fault = -1;
        tfs_store_close(store);
        save = NULL;
        open_zone(TFS_LOCK_EXCLUSIVE);
        /* A failure behind the last rename leaves it in the new one. */
        ck_assert_msg(has(-16, 1, 0) != has(3, 1, 3) && (move_result != 0 || has(3, 1, 3)),
                      "call %d, %d: %d in the old place, %d in the new one", n, move_result,
                      has(-16, 1, 0), has(3, 1, 3));
        ck_assert(!exists(JOURNAL));
    }
}
END_TEST

/* ---- regions that nobody has asked for ------------------------------------------------------- */

static const struct tfs_key late = {0, 80, 1, 0};
static bool late_shown;

/* Reads the region of that chunk, as its lookup does. */
static int apply_read(struct tfs_job *job, bool last)
{
    struct tfs_blob *bytes = NULL;
    (void)job;
    (void)last;
    int result = tfs_store_complete(store, &late, &err);
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_store_shown(store), late);
    late_shown = result == 0 && chunk != NULL && tfs_chunk_load(save, chunk, &bytes, &err) == 0 &&
                 tfs_doc_find(tfs_store_shown(store), (struct tfs_key){0, 3, 1, 3}) != NULL;
    tfs_blob_unref(bytes);
    return result;
}

static const struct tfs_job_kind read_kind = {.apply = apply_read};

static int apply_late(struct tfs_job *job, bool last)
{
    (void)last;
    ck_assert_int_eq(tfs_store_complete(store, &late, &err), 0);
    ck_assert_int_eq(tfs_store_edit(store, &edit, &err), 0);
    put_text("chunks/80_1_0/voxels.csv", "x,y,z,block\n1281,17,2,base:gold\n");
    int result = tfs_store_accept(store, &edit, 0, job, &err);
    tfs_edit_release(&edit);
    return result;
}

static const struct tfs_job_kind late_kind = {.apply = apply_late};

static sem_t answered;

static void on_job(void *arg, struct tfs_store *of, struct tfs_job *jobs)
{
    (void)arg;
    (void)of;
    for (struct tfs_job *job = jobs, *next; job != NULL; job = next) {
        const bool read = job->kind == &read_kind;
        next = job->next;
        tfs_job_release(job);
        sem_post(read ? &more_answered : &answered);
    }
}

static void submit_and_wait(struct tfs_job *job)
{
    tfs_store_submit(store, job);
    while (sem_wait(&answered) < 0)
        continue;
}

/* Opens the zone with the store, and of three regions the two that are edited were read. */
static void open_store_later(void)
{
    const struct tfs_open_options later = {.lock = TFS_LOCK_EXCLUSIVE, .later = true};
    const struct tfs_store_options options = {.commit_auto = true};
    const struct tfs_store_client client = {.answer = on_job};

    close_save();
    make_zone();
    make_region(5, "base:late");
    ck_assert_int_eq(tfs_save_open(scratch_path("zone"), NULL, &later, &save, &err), 0);
    ck_assert_int_eq(tfs_save_complete(save, &(struct tfs_key){0, -16, 0, 0}, &err), 0);
    ck_assert_int_eq(tfs_save_complete(save, &(struct tfs_key){0, 0, 0, 0}, &err), 0);
    ck_assert(tfs_save_lacks(save, save->doc, &late));
    ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
    ck_assert_int_eq(tfs_store_start(store), 0);
}

/* Also where the rewrite fails at any call, and the operation is taken back. */
START_TEST(region_that_nobody_asked_for_is_read_while_others_are_written)
{
    bool moved = false;
    unsigned read = 0;

    sem_init(&answered, 0, 0);
    sem_init(&more_answered, 0, 0);
    for (int n = 0; !moved || n < 20; n++) {
        struct tfs_job move = {.kind = &move_kind, .saves = true, .undo = true},
                       edit_late = {.kind = &late_kind, .saves = true},
                       look = {.kind = &read_kind, .reads = &late};
        open_store_later();
        late_shown = false;
        comes = &look;
        atomic_store(&regions_until_more, _i);
        before_sync = edit_during_sync;
        fail_from(n, false);
        submit_and_wait(&move);
        until_fault = -1;
        before_sync = NULL;
        read += late_shown;
        moved = move.result == 0;
        submit_and_wait(&edit_late);
        ck_assert_int_eq(edit_late.result, 0);
        tfs_store_close(store);
        save = NULL;
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(has(-16, 1, 0) != has(3, 1, 3) && (!moved || has(3, 1, 3)),
                      "call %d, %d: %d in the old place, %d in the new one", n, move.result,
                      has(-16, 1, 0), has(3, 1, 3));
        ck_assert_msg(has(80, 0, 0) && is_gold("chunks/80_1_0/voxels.csv"), "call %d", n);
        ck_assert(!exists(JOURNAL) && !is_aside());
    }
    ck_assert_uint_gt(read, 2);
}
END_TEST

static Suite *zone_journal_suite(void)
{
    Suite *suite = suite_create("zone_journal");
    TCase *tcase = tcase_create("journal");

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, zone_edit_of_several_regions_is_all_or_nothing_at_every_step);
    tcase_add_test(tcase, zone_journal_that_is_torn_or_damaged_anywhere_gives_all_or_nothing);
    tcase_add_test(tcase,
                   region_that_the_game_changed_keeps_its_edits_out_and_the_others_get_theirs);
    tcase_add_loop_test(tcase, region_that_the_game_damaged_or_removed_keeps_its_edits_out, 0, 2);
    tcase_add_test(tcase, region_that_was_put_back_keeps_its_edits_out);
    unit_add_where(scratch_knows_births(), tcase,
                   copy_of_a_zone_with_its_journal_has_all_of_the_edit, 1,
                   "a file system that knows when files were made");
    tcase_add_test(tcase, one_region_read_alone_shows_the_edits_of_its_zone_at_every_step);
    tcase_add_test(tcase, one_region_read_alone_is_not_shown_edits_that_are_not_its_own);
    tcase_add_test(tcase, one_region_read_alone_is_read_again_when_a_later_journal_is_not_about_it);
    tcase_add_test(tcase, one_region_of_a_zone_with_a_journal_is_not_written_alone);
    tcase_add_test(tcase, journal_of_another_zone_is_set_aside_whatever_the_zone_holds);
    tcase_add_loop_test(
        tcase, zone_journal_with_two_names_or_open_to_more_users_is_named_and_left_alone, 0, 2);
    tcase_add_test(tcase, region_that_is_away_comes_back_with_its_edits_while_nobody_may_write);
    tcase_add_test(tcase, link_in_the_place_of_a_region_gets_no_edits);
    tcase_add_test(tcase, journal_goes_with_the_last_region_of_a_folder);
    tcase_add_test(tcase, reader_shows_all_of_an_edit_while_it_goes_into_the_regions);
    tcase_add_test(tcase, journal_of_a_zone_that_cannot_be_written_stays_and_is_shown);
    tcase_add_test(tcase,
                   file_with_the_name_of_a_zone_journal_that_is_none_is_named_and_left_alone);
    tcase_add_loop_test(
        tcase, zone_keeps_what_was_accepted_and_all_of_it_at_every_step_in_every_mode, 0, 3);
    tcase_add_loop_test(
        tcase, zone_is_written_while_edits_are_accepted_and_keeps_them_at_every_step, 0, 3);
    tcase_add_test(tcase, first_edit_of_a_zone_without_regions_is_all_or_nothing_at_every_step);
    tcase_add_loop_test(tcase, edit_of_several_regions_whose_commit_fails_is_all_or_nothing, 0, 2);
    tcase_add_loop_test(tcase, move_that_a_failing_disk_took_back_leaves_the_chunk_in_one_place, 0,
                        2);
    tcase_add_loop_test(tcase, region_that_nobody_asked_for_is_read_while_others_are_written, 0, 2);
    return suite;
}

UNIT_MAIN(zone_journal_suite)
