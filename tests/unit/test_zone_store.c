/*
 * A store on a zone of several regions: what was accepted is there after a kill or a failing call
 * at any step, also while edits, and regions that nobody has asked for, come during a rewrite.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "formats/containers/folder.h"
#include "fs/store/store.h"
#include "zone_kills.h"

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
static void on_answer(void *arg, struct tfs_job *jobs)
{
    (void)arg;
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
static struct tfs_job more = {.kind = &more_kind, .saves = true};

static bool is_sync_of_region(int fd)
{
    char link[64], path[PATH_MAX] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof(path) - 1) >= 0 && strstr(path, "region_") != NULL &&
           atomic_fetch_sub(&regions_until_more, 1) == 0;
}

/* While a region is being synced, another job comes and is answered. */
static void edit_during_sync(int fd)
{
    struct timespec patience;

    if (!is_sync_of_region(fd))
        return;
    tfs_store_submit(store, &more);
    clock_gettime(CLOCK_REALTIME, &patience);
    patience.tv_sec += 30;
    if (sem_timedwait(&more_answered, &patience) < 0)
        _exit(10); /* it waits for this rewrite */
}

static unsigned mode; /* of act_store: 0 auto, 1 close */

static void act_store(void)
{
    const struct tfs_store_options options = {.commit_auto = mode == 0};
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
    int n = 0;

    mode = (unsigned)_i;
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

static void on_move(void *arg, struct tfs_job *jobs)
{
    (void)arg;
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
        struct tfs_job job = {.kind = &move_kind, .saves = true, .of_shown = true};
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

static void on_job(void *arg, struct tfs_job *jobs)
{
    (void)arg;
    for (struct tfs_job *job = jobs, *next; job != NULL; job = next) {
        const bool read = job->kind == &read_kind;
        next = job->next;
        if (job->result == -EAGAIN) {
            job->next = NULL;
            usleep(10000);
            tfs_store_submit(store, job);
            continue;
        }
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

static struct tfs_job look;
static atomic_bool looks;

/* While a region is being synced, somebody asks for another one. */
static void look_during_sync(int fd)
{
    if (!is_sync_of_region(fd))
        return;
    atomic_store(&looks, true);
    tfs_store_submit(store, &look);
}

/* Also where the rewrite fails at any call, and the operation is taken back. */
START_TEST(region_that_nobody_asked_for_is_read_when_others_were_written)
{
    bool moved = false;
    unsigned read = 0;

    sem_init(&answered, 0, 0);
    sem_init(&more_answered, 0, 0);
    for (int n = 0; !moved || n < 20; n++) {
        struct tfs_job move = {.kind = &move_kind, .saves = true, .of_shown = true},
                       edit_late = {.kind = &late_kind, .saves = true};
        open_store_later();
        late_shown = false;
        look = (struct tfs_job){.kind = &read_kind, .reads = &late};
        atomic_store(&looks, false);
        atomic_store(&regions_until_more, _i);
        before_sync = look_during_sync;
        fail_from(n, false);
        submit_and_wait(&move);
        until_fault = -1;
        before_sync = NULL;
        while (atomic_load(&looks) && sem_wait(&more_answered) < 0)
            continue;
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

/* ---- calls that look at a path and fail once ------------------------------------------------- */

/* These take the place of the C library's, too. */
static atomic_int until_stat = -1; /* calls that look at a path until one fails; -1: none does */

int fstatat(int directory, const char *path, struct stat *st, int flags)
{
    if (atomic_load(&until_stat) >= 0 && atomic_fetch_sub(&until_stat, 1) == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_newfstatat, directory, path, st, flags);
}

int lstat(const char *path, struct stat *st)
{
    return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

/* The first of two edits may have to wait for the second. */
START_TEST(region_that_cannot_be_looked_at_for_a_moment_was_not_changed_by_others)
{
    const struct tfs_store_options options = {.commit_auto = _i == 1};
    const struct tfs_store_client client = {.answer = on_job};
    bool failed = true;

    sem_init(&answered, 0, 0);
    for (int first = 0; failed; first++) {
        struct tfs_job one = {.kind = &set_kind, .saves = true};
        struct tfs_job two = {.kind = &more_kind, .saves = true};
        make_zone();
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
        ck_assert_int_eq(tfs_store_start(store), 0);
        atomic_store(&until_stat, first);
        submit_and_wait(&one);
        failed = atomic_load(&until_stat) < 0;
        atomic_store(&until_stat, failed ? first / 2 : -1);
        submit_and_wait(&two);
        atomic_store(&until_stat, -1);
        tfs_store_close(store);
        save = NULL;
        open_zone(TFS_LOCK_EXCLUSIVE);
        ck_assert_msg(edits_shown() == 2 && !is_aside(), "call %d: %d", first, edits_shown());
    }
}
END_TEST

START_TEST(region_that_cannot_be_looked_at_when_the_zone_is_opened_is_left_out)
{
    const struct tfs_key keys[] = {{0, -16, 0, 0}, {0, 0, 0, 0}};
    bool failed = true;

    for (int n = 0; failed; n++) {
        const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE};
        close_save();
        tfs_error_reset(&err);
        atomic_store(&until_stat, n);
        const int result = tfs_save_open(scratch_path("zone"), NULL, &options, &save, &err);
        failed = atomic_load(&until_stat) < 0;
        atomic_store(&until_stat, -1);
        ck_assert_msg(result < 0 || ((save->st.st_mode & 0600) == 0600 && save->st.st_dev != 0),
                      "call %d: the zone has the mode of nothing", n);
        for (int i = 0; result == 0 && i < 2; i++) {
            const struct tfs_folder_file *file = tfs_folder_file_of(save->doc, keys[i]);
            ck_assert_msg(
                file != NULL && file->left_out == (tfs_doc_find(save->doc, keys[i]) == NULL),
                "call %d: region %d is not there", n, i - 1);
        }
    }
}
END_TEST

static Suite *zone_store_suite(void)
{
    Suite *suite = suite_create("zone_store");
    TCase *tcase = unit_case_with(suite, "store", setup, teardown);

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(
        tcase, zone_keeps_what_was_accepted_and_all_of_it_at_every_step_in_every_mode, 0, 2);
    tcase_add_loop_test(
        tcase, zone_is_written_while_edits_are_accepted_and_keeps_them_at_every_step, 0, 3);
    tcase_add_loop_test(tcase, move_that_a_failing_disk_took_back_leaves_the_chunk_in_one_place, 0,
                        2);
    tcase_add_loop_test(tcase, region_that_nobody_asked_for_is_read_when_others_were_written, 0, 2);
    tcase_add_loop_test(
        tcase, region_that_cannot_be_looked_at_for_a_moment_was_not_changed_by_others, 0, 2);
    tcase_add_test(tcase, region_that_cannot_be_looked_at_when_the_zone_is_opened_is_left_out);
    return suite;
}

UNIT_MAIN(zone_store_suite)
