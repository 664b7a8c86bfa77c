/* options: `-o` operands, and what an error code is as an exit status. */
#include <errno.h>
#include <string.h>

#include "commands/options.h"
#include "commands/status.h"
#include "unit.h"

static struct tfs_mount_options options;
static struct tfs_error err;

static void setup(void)
{
    tfs_options_init(&options);
    tfs_error_reset(&err);
}

static void teardown(void)
{
    tfs_options_release(&options);
}

static void parse(const char *text, bool mounting)
{
    ck_assert_msg(tfs_options_parse(&options, text, mounting, &err) == 0, "%s: %s", text, err.text);
}

START_TEST(options_have_the_documented_defaults)
{
    ck_assert(!options.read_only && !options.foreground && !options.debug && !options.upgrade);
    ck_assert(options.commit_auto);
    ck_assert_ptr_null(options.format);
    ck_assert_ptr_null(options.fuse_options);
    ck_assert_uint_eq(options.scratch_size, 64U << 20);
    ck_assert_uint_eq(options.cache_size, 8U << 20);
    ck_assert_uint_eq(options.inflate_limit, 1U << 30);
    ck_assert_uint_eq(options.threads, 0);
}
END_TEST

START_TEST(options_set_every_value)
{
    parse("ro,commit=close,format=cosmic_reach,scratch=5,cache=3K,inflate=2G", true);
    parse("threads=4,upgrade", true);
    ck_assert(options.read_only && options.upgrade);
    ck_assert(!options.commit_auto);
    ck_assert_str_eq(options.format, "cosmic_reach");
    ck_assert_uint_eq(options.scratch_size, 5);
    ck_assert_uint_eq(options.cache_size, 3072);
    ck_assert_uint_eq(options.inflate_limit, UINT64_C(2) << 30);
    ck_assert_uint_eq(options.threads, 4);
}
END_TEST

START_TEST(options_join_sets_of_files)
{
    parse("views=voxels", false);
    ck_assert_uint_eq(options.views, TFS_VIEWS_VOXELS);
    parse("views=raw+grids", true);
    ck_assert_uint_eq(options.views, TFS_VIEWS_RAW | TFS_VIEWS_GRIDS);
    ck_assert_uint_eq(tfs_options_open(&options, TFS_LOCK_NONE).views, options.views);
}
END_TEST

START_TEST(options_let_the_last_value_win)
{
    parse("ro,commit=auto,cache=1M", true);
    parse("rw,commit=close,cache=1g,commit=close", true);
    ck_assert(!options.read_only);
    ck_assert(!options.commit_auto);
    ck_assert_uint_eq(options.cache_size, UINT64_C(1) << 30);
    parse("commit=close,commit=auto", true);
    ck_assert(options.commit_auto);
}
END_TEST

START_TEST(options_of_others_are_handed_on_as_written)
{
    parse("allow_other,commit=close,fsname=a\\,b,,max_read=4096,sync", true);
    parse("dev", true);
    ck_assert_str_eq(options.fuse_options, "allow_other,fsname=a\\,b,sync,dev");
    ck_assert(!options.commit_auto);
    ck_assert_uint_eq(options.max_read, 4096);
}
END_TEST

static const struct {
    const char *text;
    bool mounting;
    const char *sentence;
} refused[] = {
    {"allow_other", false, "allow_other: there is no such option"},
    {"ro", false, "ro: this option is for a mount"},
    {"scratch=1M", false, "scratch=1M: this option is for a mount"},
    {"formats=x", false, "formats=x: there is no such option"},
    {"commit", true, "commit: this option needs a value"},
    {"ro=1", true, "ro=1: this option takes no value"},
    {"commit=", true, "commit=: neither"},
    {"commit=-1", true, "commit=-1: neither"},
    {"commit=5", true, "commit=5: seconds are chosen no more: auto, the default"},
    {"commit=5s", true, "commit=5s: neither"},
    {"threads=257", true, "threads=257: not a number from 0 to 256"},
    {"threads=", true, "threads=: not a number"},
    {"threads=18446744073709551617", true, "not a number"},
    {"cache=", true, "cache=: not a size"},
    {"cache=K", true, "cache=K: not a size"},
    {"cache=1KB", true, "cache=1KB: not a size"},
    {"cache=1T", true, "cache=1T: not a size"},
    {"cache= 1", true, "cache= 1: not a size"},
    {"cache=17179869184G", true, "not a size"},
    {"cache=99999999999999999999", true, "not a size"},
    {"conflict=mine", true, "conflict=mine: this option is no longer there: edits that wait"},
    {"format=", false, "no format has this name; there is "},
    {"views=", true,
     "views=: there is no such view; there are voxels, grids, raw, arrays and all, joined by +"},
    {"views=voxels+", true, "views=voxels+: there is no such view"},
    {"views=voxels+csv", false, "views=voxels+csv: there is no such view"},
    {"max_read=4095", true, "max_read=4095: not a number from 4096"},
    {"blkdev", true, "blkdev: this option cannot be used"},
    {"blksize=512", true, "blksize=512: this option cannot be used"},
    {"subtype=sshfs", true, "subtype=sshfs: this option cannot be used"},
    {"uid=1000", true,
     "uid=1000: this option cannot be used: owner and mode are those of the save"},
    {"umask=077", true, "umask=077: this option cannot be used"},
    {"kernel_cache", true, "kernel_cache: this option cannot be used"},
    {"attr_timeout=5", true, "attr_timeout=5: this option cannot be used"},
    {"clone_fd", true, "clone_fd: this option cannot be used: threads=N"},
    {"strictatime", true, "strictatime: this option cannot be used: when a file was read"},
    {"drop_privileges", true, "drop_privileges: this option cannot be used: mount as that user"},
    {"notify", true, "notify: this option is no longer there: tail -f"},
    {"remount", true, "remount: this option is no longer there: `mount -i -o remount,ro"},
    {"strict-names", false, "strict-names: this option is no longer there: new names"},
    {"unsaved=/tmp", true, "unsaved=/tmp: this option is no longer there: what could not be saved"},
    {"ro,format=cosmic,commit=close", true, "format=cosmic: no format has this name"},
};

START_TEST(options_refuse_what_means_nothing)
{
    int result = tfs_options_parse(&options, refused[_i].text, refused[_i].mounting, &err);

    ck_assert_msg(result == -EINVAL, "%s was taken", refused[_i].text);
    ck_assert_msg(strstr(err.text, refused[_i].sentence) != NULL, "%s", err.text);
}
END_TEST

START_TEST(options_accept_the_greatest_size)
{
    parse("cache=17179869183G,scratch=18446744073709551615", true);
    ck_assert_uint_eq(options.cache_size, UINT64_C(17179869183) << 30);
    ck_assert_uint_eq(options.scratch_size, UINT64_MAX);
}
END_TEST

START_TEST(options_reach_the_container)
{
    struct tfs_open_options open;

    parse("inflate=3M,upgrade", false);
    open = tfs_options_open(&options, TFS_LOCK_EXCLUSIVE);
    ck_assert_int_eq(open.lock, TFS_LOCK_EXCLUSIVE);
    ck_assert(open.upgrade);
    ck_assert_uint_eq(open.inflate_limit, 3U << 20);
}
END_TEST

static const struct {
    int code;
    enum tfs_status status;
} codes[] = {
    {0, TFS_STATUS_DONE},         {-EBADMSG, TFS_STATUS_BAD},
    {-ENOTSUP, TFS_STATUS_BAD},   {-EFBIG, TFS_STATUS_BAD},
    {-EINVAL, TFS_STATUS_BAD},    {-EACCES, TFS_STATUS_SYSTEM},
    {-EIO, TFS_STATUS_SYSTEM},    {-ENOSPC, TFS_STATUS_SYSTEM},
    {-EROFS, TFS_STATUS_SYSTEM},  {-EWOULDBLOCK, TFS_STATUS_SYSTEM},
    {-ENOENT, TFS_STATUS_SYSTEM}, {-ENOMEM, TFS_STATUS_SYSTEM},
    {-ESTALE, TFS_STATUS_SYSTEM},
};

START_TEST(status_tells_bad_content_from_a_system_that_refused)
{
    ck_assert_int_eq(tfs_status_of(codes[_i].code), codes[_i].status);
}
END_TEST

START_TEST(status_of_the_system_is_the_graver_one)
{
    ck_assert_int_eq(tfs_status_worst(TFS_STATUS_BAD, TFS_STATUS_SYSTEM), TFS_STATUS_SYSTEM);
    ck_assert_int_eq(tfs_status_worst(TFS_STATUS_BAD, TFS_STATUS_DONE), TFS_STATUS_BAD);
}
END_TEST

static Suite *options_suite(void)
{
    Suite *suite = suite_create("options");
    TCase *values = unit_case(suite, "values"), *statuses = unit_case(suite, "statuses");

    tcase_add_checked_fixture(values, setup, teardown);
    tcase_add_test(values, options_have_the_documented_defaults);
    tcase_add_test(values, options_set_every_value);
    tcase_add_test(values, options_join_sets_of_files);
    tcase_add_test(values, options_let_the_last_value_win);
    tcase_add_test(values, options_of_others_are_handed_on_as_written);
    tcase_add_loop_test(values, options_refuse_what_means_nothing, 0, COUNT(refused));
    tcase_add_test(values, options_accept_the_greatest_size);
    tcase_add_test(values, options_reach_the_container);
    tcase_add_loop_test(statuses, status_tells_bad_content_from_a_system_that_refused, 0,
                        COUNT(codes));
    tcase_add_test(statuses, status_of_the_system_is_the_graver_one);
    return suite;
}

UNIT_MAIN(options_suite)
