/* formats/cosmic_reach: a zone whose regions other programs change, replace and remove. */
#include <errno.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "formats/journal.h"
#include "no_pauses.h"
#include "zone_case.h"

START_TEST(regions_that_come_and_go_are_read_again)
{
    make_zone();
    make_region(3, 4, 4, 4);
    ck_assert(changed());
    reload();
    ck_assert(has(64, 64, 64));
    ck_assert(!changed());
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert(changed());
    reload();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert(!has(0, 0, 0));
    ck_assert(!changed());
}
END_TEST

static void move_region(const char *from, const char *to)
{
    char source[PATH_MAX];

    snprintf(source, sizeof(source), "%s", scratch_path(from));
    ck_assert_int_eq(rename(source, scratch_path(to)), 0);
}

/* By a backup, or a game that swaps folders. */
START_TEST(zone_is_away_while_its_folder_of_regions_is_moved)
{
    make_zone();
    move_region("zone/regions", "zone/regions.bak");
    ck_assert(changed());
    ck_assert_int_eq(save->container->reload(save, &err), -ENOENT);
    ck_assert_uint_eq(save->doc->count, 4);
    tfs_error_reset(&err);
    ck_assert_int_lt(create(9, 9, 9), 0);
    ck_assert_int_lt(access(scratch_path("zone/regions"), F_OK), 0);
    tfs_error_reset(&err);
    move_region("zone/regions.bak", "zone/regions");
    reload();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert_int_eq(create(9, 9, 9), 0);
}
END_TEST

/* As a copy that went one folder too high. */
START_TEST(zone_goes_on_with_its_folder_when_a_region_appears_beside_it)
{
    make_zone();
    make_region(7, 5, 0, 0);
    move_region("zone/regions/region_5_0_0.cosmicreach", "zone/region_5_0_0.cosmicreach");
    reload();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert(!changed() && !has(80, 0, 0));
    ck_assert_int_eq(create(3, 3, 3), 0);
    ck_assert_int_eq(create(32, 0, 0), 0);
    ck_assert(exists(2, 0, 0) && !changed());
    /* What another program does to its regions is seen as before. */
    make_region(3, 0, 0, 0);
    ck_assert_int_eq(put_text("chunks/0_0_0/palette.txt", "0 base:new\n"), -ESTALE);
    tfs_error_reset(&err);
    reload();
    ck_assert(!has(3, 3, 3) && has(32, 0, 0));
    char *beside = tfs_journal_beside(save);
    ck_assert_str_eq(beside, scratch_path("zone/zone"));
    free(beside);
}
END_TEST

/* The other way round: the folder is one of regions, without a zone. */
START_TEST(folder_of_regions_stays_it_when_its_regions_go_or_another_one_comes)
{
    make_zone();
    tfs_save_close(save);
    save = NULL;
    ck_assert_int_eq(rename(scratch_path("zone/regions"), scratch_path("any")), 0);
    must_open("any");
    move_region("any/region_0_0_0.cosmicreach", "zone/region_0_0_0.cosmicreach");
    move_region("any/region_-1_0_0.cosmicreach", "zone/region_-1_0_0.cosmicreach");
    reload();
    ck_assert_uint_eq(save->doc->count, 0);
    ck_assert_int_eq(mkdir(scratch_path("any/regions"), 0755), 0);
    move_region("zone/region_0_0_0.cosmicreach", "any/regions/region_0_0_0.cosmicreach");
    reload();
    ck_assert_uint_eq(save->doc->count, 0);
    ck_assert_int_eq(create(16, 0, 0), 0);
    ck_assert_int_eq(access(scratch_path("any/region_1_0_0.cosmicreach"), F_OK), 0);
}
END_TEST

static bool changed_at(int x, int y, int z)
{
    return save->container->changed(save, &(struct tfs_key){0, x, y, z}, &err) == 1;
}

/* So opening a file takes no longer in a zone of a thousand regions. */
START_TEST(change_of_one_region_is_none_of_chunks_in_others)
{
    make_zone();
    make_region(7, 0, 0, 0);
    ck_assert(changed() && changed_at(0, 1, 0) && !changed_at(-1, 1, 0));
    reload();
    ck_assert(!changed() && !changed_at(0, 1, 0));
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert(changed() && changed_at(0, 1, 0) && !changed_at(-1, 1, 0));
    reload();
    make_region(7, 5, 0, 0);
    ck_assert(changed_at(80, 0, 0) && !changed_at(-1, 1, 0));
}
END_TEST

START_TEST(chunk_that_another_program_left_alone_is_the_same_chunk)
{
    struct maker_region region = maker_region_init(2);
    struct maker_bytes file = {0};

    make_zone();
    const struct tfs_chunk kept = *tfs_doc_find(save->doc, (struct tfs_key){0, 0, 0, 0});
    const struct tfs_chunk other = *tfs_doc_find(save->doc, (struct tfs_key){0, 0, 1, 0});
    add_chunk(&region, 0, 1, 0, "base:other");
    add_chunk(&region, 0, 0, 0, "base:r_0_0_0");
    maker_region_write(&region, &file);
    write_bytes(region_name(REGIONS, 0, 0, 0), &file);
    ck_assert(changed());
    reload();
    ck_assert(tfs_chunk_same(tfs_doc_find(save->doc, kept.key), &kept));
    ck_assert(!tfs_chunk_same(tfs_doc_find(save->doc, other.key), &other));
    ck_assert_uint_eq(tfs_doc_find(save->doc, other.key)->slot, other.slot);
    ck_assert_str_eq(text_of("chunks/0_1_0/palette.txt"), "0 base:other\n");
    maker_release(&file);
    maker_region_release(&region);
}
END_TEST

START_TEST(region_that_another_program_changed_is_not_overwritten)
{
    make_zone();
    make_region(3, 0, 0, 0);
    ck_assert_int_eq(put_text("chunks/-16_0_0/palette.txt", "0 base:new\n"), 0);
    ck_assert_int_eq(create(3, 3, 3), -ESTALE);
    ck_assert_ptr_nonnull(strstr(err.text, "region_0_0_0.cosmicreach: was changed by another"));
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert_int_eq(create(3, 3, 3), -ESTALE);
}
END_TEST

static int saved; /* how often the game did */

/* The game saves a region of which this process is about to write or remove the file. */
static int save_now(void *arg, struct tfs_key file, struct tfs_hash hash, bool whole,
                    struct tfs_error *why)
{
    const char *name = region_name(REGIONS, file.x, file.y, file.z);
    char own[PATH_MAX], game[PATH_MAX];

    (void)arg, (void)hash, (void)whole, (void)why;
    saved++;
    snprintf(own, sizeof(own), "%s", scratch_path(name));
    snprintf(game, sizeof(game), "%s", scratch_path("zone/game"));
    ck_assert_int_eq(rename(game, own), 0);
    return 0;
}

START_TEST(region_that_a_game_saves_while_its_last_chunk_goes_is_not_removed)
{
    make_region(7, 0, 0, 0);
    ck_assert_int_eq(rename(scratch_path(region_name(REGIONS, 0, 0, 0)), scratch_path("zone/game")),
                     0);
    make_zone();
    ck_assert_int_eq(drop(0, 0, 0), 0);
    save->rewrite.wrote = save_now;
    ck_assert_int_eq(drop(0, 1, 0), -ESTALE);
    ck_assert_int_eq(saved, 1);
    ck_assert_ptr_nonnull(strstr(err.text, "region_0_0_0.cosmicreach: was changed by another"));
    tfs_error_reset(&err);
    ck_assert(exists(0, 0, 0) && changed());
    reload();
    ck_assert(has(0, 0, 0) && has(0, 1, 0));
}
END_TEST

static bool disk_fails;
static int directory_syncs;

/* This takes the place of the C library's, for the whole program. */
int fsync(int fd)
{
    struct stat st;

    directory_syncs += fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    if (!disk_fails)
        return (int)syscall(SYS_fsync, fd);
    errno = EIO;
    return -1;
}

/* Also a sync of the mount behind it, which has nothing else to write. */
START_TEST(removal_of_a_region_that_is_not_durable_is_made_so_by_the_next_commit)
{
    make_zone();
    ck_assert_int_eq(drop(0, 0, 0), 0);
    disk_fails = true;
    ck_assert_int_eq(drop(0, 1, 0), -EIO);
    ck_assert(!exists(0, 0, 0) && !has(0, 1, 0));
    begin();
    ck_assert_int_eq(end(0), -EIO);
    disk_fails = false;
    directory_syncs = 0;
    begin();
    ck_assert_int_eq(end(0), 0);
    ck_assert_int_eq(directory_syncs, 1);
    ck_assert(!changed());
    begin();
    ck_assert_int_eq(end(0), 0);
    ck_assert_int_eq(directory_syncs, 1);
}
END_TEST

static bool comes; /* a file with the name of the journal, before ours gets that */
static int with;   /* what the rename says then; 0: what it says */

/* This takes the place of the C library's, for the whole program. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (comes && strstr(to, "-journal") != NULL) {
        comes = false;
        close(openat(to_fd, to, O_WRONLY | O_CREAT | O_EXCL, 0600));
        errno = with;
        if (with != 0)
            return -1;
    }
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

START_TEST(file_that_gets_the_name_of_the_journal_meanwhile_is_not_removed)
{
    struct stat st;

    make_zone();
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(tfs_edit_remove(&edit, (struct tfs_key){0, -16 * i, 0, 0}, &err), 0);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    comes = true;
    with = _i == 0 ? 0 : EIO;
    (void)tfs_journal_commit(save, doc, &err);
    tfs_doc_unref(doc);
    ck_assert(!comes);
    ck_assert_int_eq(stat(scratch_path("zone/.zone.terrainfs-journal"), &st), 0);
    ck_assert_int_eq(st.st_size, 0);
}
END_TEST

static struct stat frozen; /* whose times do not move; st_ino 0: none */

static int freeze(int result, struct stat *st)
{
    if (result == 0 && frozen.st_ino != 0 && st->st_ino == frozen.st_ino) {
        st->st_mtim = frozen.st_mtim;
        st->st_ctim = frozen.st_ctim;
    }
    return result;
}

/* These take the place of the C library's, for the whole program. */
int fstatat(int fd, const char *name, struct stat *st, int flags)
{
    return freeze((int)syscall(SYS_newfstatat, fd, name, st, flags), st);
}

int fstat(int fd, struct stat *st)
{
    return fstatat(fd, "", st, AT_EMPTY_PATH);
}

int lstat(const char *name, struct stat *st)
{
    return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

/* Clocks tick slowly: what another program writes right behind a read leaves no trace in times. */
START_TEST(bytes_that_another_program_wrote_into_a_region_are_not_a_chunk_that_was_read)
{
    const char *path = scratch_path(region_name(REGIONS, 0, 0, 0));
    struct tfs_blob *blob = NULL;
    static uint8_t bytes[1 << 16];

    make_zone();
    ck_assert_int_eq(stat(path, &frozen), 0);
    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
    uint8_t *name = memmem(bytes, (size_t)size, "base:r_0_0_0", 12);
    ck_assert_ptr_nonnull(name);
    ck_assert_int_eq(pwrite(fd, "x", 1, name + 5 - bytes), 1);
    close(fd);
    ck_assert(!changed());
    ck_assert_int_eq(
        tfs_chunk_load(save, tfs_doc_find(save->doc, (struct tfs_key){0}), &blob, &err), -ESTALE);
    frozen.st_ino = 0;
}
END_TEST

START_TEST(bytes_of_a_region_that_is_gone_are_stale)
{
    struct tfs_blob *blob = NULL;

    make_zone();
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert_int_eq(
        tfs_chunk_load(save, tfs_doc_find(save->doc, (struct tfs_key){0}), &blob, &err), -ESTALE);
}
END_TEST

START_TEST(chunk_of_an_old_document_is_never_another_one)
{
    struct tfs_blob *blob = NULL;

    make_zone();
    struct tfs_doc *old = tfs_doc_ref(save->doc);
    ck_assert_int_eq(put_text("chunks/0_0_0/palette.txt", "0 base:new\n"), 0);
    ck_assert_int_eq(tfs_chunk_load(save, tfs_doc_find(old, (struct tfs_key){0}), &blob, &err),
                     -ESTALE);
    tfs_error_reset(&err);
    ck_assert_int_eq(
        tfs_chunk_load(save, tfs_doc_find(old, (struct tfs_key){0, 0, 1, 0}), &blob, &err), 0);
    tfs_blob_unref(blob);
    tfs_doc_unref(old);
}
END_TEST

START_TEST(zone_and_region_exclude_each_other)
{
    struct tfs_save *region = NULL, *second = NULL;

    make_zone();
    ck_assert_int_eq(try_open(region_name(REGIONS, 0, 0, 0), TFS_LOCK_EXCLUSIVE, &region),
                     -EWOULDBLOCK);
    ck_assert_int_eq(try_open(region_name(REGIONS, 0, 0, 0), TFS_LOCK_NONE, &region), 0);
    tfs_save_close(region);
    ck_assert_int_eq(try_open("zone/regions", TFS_LOCK_EXCLUSIVE, &region), -EWOULDBLOCK);
    tfs_save_close(save);
    save = NULL;
    ck_assert_int_eq(try_open(region_name(REGIONS, 0, 0, 0), TFS_LOCK_EXCLUSIVE, &region), 0);
    ck_assert_int_eq(try_open(region_name(REGIONS, -1, 0, 0), TFS_LOCK_EXCLUSIVE, &second),
                     -EWOULDBLOCK);
    ck_assert_int_eq(try_open("zone", TFS_LOCK_EXCLUSIVE, &save), -EWOULDBLOCK);
    tfs_save_close(region);
    must_open("zone");
}
END_TEST

START_TEST(strays_of_a_killed_process_are_removed)
{
    make_region(7, 0, 0, 0);
    scratch_write(REGIONS ".region_9_0_0.cosmicreach.terrainfs-aB3xYz", "half");
    scratch_write(REGIONS ".keep", "not ours");
    must_open("zone");
    ck_assert_int_lt(
        access(scratch_path(REGIONS ".region_9_0_0.cosmicreach.terrainfs-aB3xYz"), F_OK), 0);
    ck_assert_int_eq(access(scratch_path(REGIONS ".keep"), F_OK), 0);
}
END_TEST

static Suite *zone_suite(void)
{
    Suite *suite = suite_create("zone_others");
    TCase *others = unit_case(suite, "others");

    tcase_add_checked_fixture(others, setup, teardown);
    tcase_add_test(others, regions_that_come_and_go_are_read_again);
    tcase_add_test(others, zone_is_away_while_its_folder_of_regions_is_moved);
    tcase_add_test(others, zone_goes_on_with_its_folder_when_a_region_appears_beside_it);
    tcase_add_test(others, folder_of_regions_stays_it_when_its_regions_go_or_another_one_comes);
    tcase_add_test(others, change_of_one_region_is_none_of_chunks_in_others);
    tcase_add_test(others, chunk_that_another_program_left_alone_is_the_same_chunk);
    tcase_add_test(others, region_that_another_program_changed_is_not_overwritten);
    tcase_add_test(others, region_that_a_game_saves_while_its_last_chunk_goes_is_not_removed);
    tcase_add_test(others, removal_of_a_region_that_is_not_durable_is_made_so_by_the_next_commit);
    tcase_add_loop_test(others, file_that_gets_the_name_of_the_journal_meanwhile_is_not_removed, 0,
                        2);
    tcase_add_test(others,
                   bytes_that_another_program_wrote_into_a_region_are_not_a_chunk_that_was_read);
    tcase_add_test(others, bytes_of_a_region_that_is_gone_are_stale);
    tcase_add_test(others, chunk_of_an_old_document_is_never_another_one);
    tcase_add_test(others, zone_and_region_exclude_each_other);
    tcase_add_test(others, strays_of_a_killed_process_are_removed);
    return suite;
}

UNIT_MAIN(zone_suite)
