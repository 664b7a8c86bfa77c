/*
 * The journal of saves of several files, on zones of Cosmic Reach: what a kill at any step leaves,
 * and what comes of it when another program wrote meanwhile.
 */
#include <stdatomic.h>
#include <time.h>

#include "zone_kills.h"

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
        strstr(notice, "was restored from its journal; what was not restored is in "));
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
        unsigned alone = shown_alone(TFS_LOCK_NONE);
        ck_assert_msg(alone == read, "step %d: %x, not %x: %s", n, alone, read, notice);
        told += strstr(notice, "only in its journal yet") != NULL;
        open_zone(TFS_LOCK_NONE);
        ck_assert_uint_eq(shown(), read); /* nothing was written */
        /* Who writes into one brings in what the journal says of the other, too. */
        alone = shown_alone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(alone == read, "step %d: %x, not %x: %s", n, alone, read, notice);
        ck_assert(!exists(JOURNAL));
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
    ck_assert_ptr_nonnull(strstr(notice, "another program changed"));
    open_alone(-1, TFS_LOCK_NONE);
    ck_assert(is_gold("chunks/-16_0_0/voxels.csv"));
    make_region(1, "base:new"); /* the journal does not know it */
    open_alone(1, TFS_LOCK_NONE);
    ck_assert_str_eq(notice, "");
    ck_assert(is_block("chunks/16_0_0/voxels.csv", "base:new"));
}
END_TEST

/* A journal with this record. */
static void make_journal(const char *beside, struct tfs_hash hash, struct tfs_buf *record)
{
    struct tfs_journal *journal = NULL;

    ck_assert_int_eq(
        tfs_journal_create(beside, &save->st, hash, NULL, tfs_buf_span(record), &journal, &err), 0);
    tfs_journal_close(journal);
    tfs_buf_release(record);
}

/* A journal of `edit`, which is made of `save`. */
static void leave_record(void)
{
    struct tfs_buf record = {0};
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now); /* not before the regions were made */
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert_int_eq(tfs_record_make(save, save->doc, NULL, doc, now, &record, &err), 0);
    tfs_doc_unref(doc);
    char *beside = tfs_journal_beside(save);
    make_journal(beside, (struct tfs_hash){0}, &record);
    free(beside);
}

/* A region file that somebody put beside regions/, and takes away again. */
#define STRAY "zone/region_5_0_0.cosmicreach"

START_TEST(journal_is_found_when_a_region_came_beside_the_folder_while_it_was_made)
{
    open_zone(TFS_LOCK_EXCLUSIVE);
    scratch_write(STRAY, "a region");
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    put_text("chunks/0_0_0/voxels.csv", "x,y,z,block\n3,1,2,base:gold\n");
    leave_record();
    close_save();
    ck_assert(exists(JOURNAL));
    ck_assert_int_eq(unlink(scratch_path(STRAY)), 0);
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert(is_gold("chunks/0_0_0/voxels.csv"));
}
END_TEST

#define EARLIER "zone/regions/.zone.terrainfs-journal"

/* Of an edit of region -1 that an earlier version left, and of one of region 0 that this one
 * did. */
START_TEST(journal_of_an_earlier_version_and_a_later_one_are_both_brought_in)
{
    for (int x = -1; x <= 0; x++) {
        open_only("zone", TFS_LOCK_EXCLUSIVE);
        ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
        put_text(x < 0 ? "chunks/-16_0_0/voxels.csv" : "chunks/0_0_0/voxels.csv",
                 x < 0 ? "x,y,z,block\n-253,1,2,base:gold\n" : "x,y,z,block\n3,1,2,base:gold\n");
        leave_record();
        if (x < 0)
            ck_assert_int_eq(rename(scratch_path(JOURNAL), scratch_path(EARLIER)), 0);
    }
    for (int i = 0; i < 2; i++) {
        open_zone(i == 0 ? TFS_LOCK_NONE : TFS_LOCK_EXCLUSIVE);
        ck_assert(is_gold("chunks/-16_0_0/voxels.csv") && is_gold("chunks/0_0_0/voxels.csv"));
        const char *second = strstr(notice, "; 1 edit until");
        ck_assert(second != NULL && strncmp(notice, second + 2, 6) == 0);
    }
    ck_assert(!exists(JOURNAL) && !exists(EARLIER));
}
END_TEST

#define ALONE REGIONS ".region_0_0_0.cosmicreach.terrainfs-journal"

/* A zone, and a journal of its region 0 as version 0.1 left it, which opened that as a save of its
 * own. */
static void leave_alone(void)
{
    struct tfs_buf record = {0};
    struct tfs_hash hash;
    struct stat st;

    make_zone();
    open_only("zone", TFS_LOCK_NONE);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    put_text("chunks/0_0_0/voxels.csv", "x,y,z,block\n3,1,2,base:gold\n");
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert_int_eq(tfs_record_make_foreign(save, save->doc, doc, false, (struct timespec){1, 0},
                                             &record, &err),
                     0);
    tfs_doc_unref(doc);
    ck_assert_int_eq(save->container->journal->hash(save, (struct tfs_key){0}, &hash, &st, &err),
                     0);
    make_journal(scratch_path(region_name(0)), hash, &record);
    ck_assert(exists(ALONE));
}

START_TEST(journal_of_one_region_that_an_earlier_version_left_is_brought_in_with_the_zone)
{
    bool cut = true;

    for (int n = 0; cut; n++) {
        leave_alone();
        cut = killed(act_recover, n);
        for (int i = 0; i < 3; i++) {
            open_only(i == 1 ? region_name(0) : "zone", i < 2 ? TFS_LOCK_NONE : TFS_LOCK_EXCLUSIVE);
            ck_assert_int_eq(tfs_recover(save, notice, &err), 0);
            ck_assert_msg(is_gold("chunks/0_0_0/voxels.csv"), "step %d, %d: %s", n, i, notice);
        }
        ck_assert(!exists(ALONE) && !exists(JOURNAL) && !is_aside());
        open_zone(TFS_LOCK_NONE);
        ck_assert_str_eq(notice, "");
        ck_assert(is_gold("chunks/0_0_0/voxels.csv") && !is_gold("chunks/-16_0_0/voxels.csv"));
    }
}
END_TEST

START_TEST(journal_of_one_region_that_the_game_changed_since_is_set_aside)
{
    leave_alone();
    make_region(0, "base:game");
    open_zone(TFS_LOCK_EXCLUSIVE);
    ck_assert(is_block("chunks/0_0_0/voxels.csv", "base:game"));
    ck_assert_ptr_nonnull(strstr(notice, "another program changed"));
    ck_assert(!exists(ALONE) && is_aside());
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
        ck_assert_msg(tfs_chunk_create(save, &edit, (struct tfs_key){0, x, 0, 0}, &err) == 0, "%s",
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

START_TEST(edit_of_several_regions_whose_commit_fails_is_all_or_nothing)
{
    bool failed = true, waited = false;

    for (int n = 0; failed; n++) {
        make_zone();
        open_zone(TFS_LOCK_EXCLUSIVE);
        struct tfs_doc *doc = edited();
        const uint64_t before = save->doc->version;
        fail_from(n, _i == 0);
        failed = tfs_journal_commit(save, doc, &err) < 0;
        until_fault = -1;
        const bool refused = _i == 0 && failed && save->doc->version == before;
        tfs_doc_unref(doc);
        waited = waited || strstr(err.text, "when the save is opened for writing next") != NULL;
        open_zone(TFS_LOCK_NONE);
        const unsigned read = shown();
        ck_assert_msg(read == ALL || (failed && read == 0), "call %d: a reader sees %x", n, read);
        ck_assert_msg(read == 0 || !refused, "call %d: what was refused is done later", n);
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(shown() == read, "call %d: %x, not %x: %s", n, shown(), read, notice);
        ck_assert(!exists(JOURNAL) && !is_aside());
        failed = failed || n < 10;
    }
    ck_assert(waited);
}
END_TEST

static int fault_at;

static void act_commit_with_a_fault(void)
{
    const int steps = steps_left;

    steps_left = -1;
    open_zone(TFS_LOCK_EXCLUSIVE);
    struct tfs_doc *doc = edited();
    steps_left = steps;
    fail_from(fault_at, true);
    (void)tfs_journal_commit(save, doc, &err);
}

/* Such as that of the record that says what a region is about to be. */
START_TEST(edit_of_several_regions_that_is_killed_behind_a_fault_is_all_or_nothing)
{
    for (fault_at = 0; fault_at < 20; fault_at++) {
        make_zone();
        for (int n = 0; killed(act_commit_with_a_fault, n); n++) {
            open_zone(TFS_LOCK_NONE);
            const unsigned read = shown();
            ck_assert_msg(read == 0 || read == ALL, "fault %d, step %d: a reader sees %x", fault_at,
                          n, read);
            open_zone(TFS_LOCK_EXCLUSIVE);
            ck_assert_msg(shown() == read, "fault %d, step %d: %x: %s", fault_at, n, shown(),
                          notice);
            ck_assert(!exists(JOURNAL) && !is_aside());
            make_zone();
        }
    }
}
END_TEST

/* ---- who reads while another one writes ------------------------------------------------------ */

static pid_t writer;                /* waits for a byte, and then writes */
static atomic_int writer_pipe = -1; /* that byte is sent with the next look at a region */

/* A copy of a process whose other threads hold locks waits for them for ever: this one is made
 * while there are none. `steps`: after which it ends. The end of its pipe. */
static int start_writer(int steps)
{
    int ends[2];
    char byte;

    ck_assert_int_eq(pipe(ends), 0);
    writer = fork();
    ck_assert_int_ge(writer, 0);
    if (writer == 0) {
        close(ends[1]);
        steps_left = steps;
        if (read(ends[0], &byte, 1) == 1)
            act_recover();
        _exit(0);
    }
    close(ends[0]);
    return ends[1];
}

/* Takes the place of the C library's, for the whole program. */
int lstat(const char *name, struct stat *st)
{
    const int end = strstr(name, "/region_") == NULL ? -1 : atomic_exchange(&writer_pipe, -1);

    if (end >= 0) {
        ck_assert_int_eq(write(end, "", 1), 1);
        close(end);
        ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
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
        const int end = start_writer(n);
        ck_assert_int_eq(tfs_save_open(scratch_path("zone"), NULL, &later, &save, &err), 0);
        atomic_store(&writer_pipe, end);
        ck_assert_msg(tfs_recover(save, notice, &err) == 0, "step %d: %s", n, err.text);
        ck_assert_int_eq(atomic_load(&writer_pipe), -1);
        ck_assert_int_eq(tfs_save_complete(save, NULL, &err), 0);
        ck_assert_msg(shown() == ALL, "step %d: %x: %s", n, shown(), notice);
        ck_assert_ptr_null(strstr(notice, "another program"));
        open_only("zone", TFS_LOCK_NONE);
        written |= shown();
    }
    ck_assert_uint_eq(written, ALL); /* or it was not cut between two regions */
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
    tcase_add_test(tcase, copy_of_a_zone_with_its_journal_has_all_of_the_edit);
    tcase_add_test(tcase, one_region_read_alone_shows_the_edits_of_its_zone_at_every_step);
    tcase_add_test(tcase, one_region_read_alone_is_not_shown_edits_that_are_not_its_own);
    tcase_add_test(tcase, journal_is_found_when_a_region_came_beside_the_folder_while_it_was_made);
    tcase_add_test(tcase, journal_of_an_earlier_version_and_a_later_one_are_both_brought_in);
    tcase_add_test(tcase,
                   journal_of_one_region_that_an_earlier_version_left_is_brought_in_with_the_zone);
    tcase_add_test(tcase, journal_of_one_region_that_the_game_changed_since_is_set_aside);
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
    tcase_add_test(tcase, first_edit_of_a_zone_without_regions_is_all_or_nothing_at_every_step);
    tcase_add_loop_test(tcase, edit_of_several_regions_whose_commit_fails_is_all_or_nothing, 0, 2);
    tcase_add_test(tcase, edit_of_several_regions_that_is_killed_behind_a_fault_is_all_or_nothing);
    return suite;
}

UNIT_MAIN(zone_journal_suite)
