/* base/file, base/replace: what is read is whole, and a replacement is all or nothing. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "no_pauses.h"
#include "scratch.h"

static struct tfs_error err;

static void setup(void)
{
    scratch_setup();
    tfs_error_reset(&err);
}

static struct tfs_file_handle open_file(const char *name, bool exclusive)
{
    struct tfs_file_handle file = {.fd = -1};

    ck_assert_msg(tfs_file_open(scratch_path(name), exclusive, &file, &err) == 0, "%s", err.text);
    return file;
}

/* The code of a try to open; the handle is closed again. */
static int try_open(const char *name, bool exclusive)
{
    struct tfs_file_handle file = {.fd = -1};

    tfs_error_reset(&err);
    int code = tfs_file_open(scratch_path(name), exclusive, &file, &err);
    ck_assert_int_eq(code, err.code);
    tfs_file_close(&file);
    return code;
}

/* ---- opening --------------------------------------------------------------------------------- */

START_TEST(file_open_refuses_what_is_not_a_regular_file)
{
    const struct {
        const char *name;
        int code;
    } cases[] = {{"missing", -ENOENT}, {"fifo", -EINVAL}, {"directory", -EINVAL}, {"link", -ELOOP}};

    scratch_write("file", "x");
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0600), 0);
    ck_assert_int_eq(mkdir(scratch_path("directory"), 0700), 0);
    ck_assert_int_eq(symlink("file", scratch_path("link")), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int exclusive = 0; exclusive < 2; exclusive++)
            ck_assert_msg(try_open(cases[i].name, exclusive) == cases[i].code, "%s: %s",
                          cases[i].name, err.text);
    ck_assert_int_eq(try_open("file", true), 0);
}
END_TEST

static void hold_lock(void)
{
    struct tfs_file_handle file;
    struct tfs_error ignored = {0};

    if (tfs_file_open(scratch_path("save"), true, &file, &ignored) < 0)
        _exit(2);
}

START_TEST(file_locked_by_another_process_is_refused_to_a_writer_alone)
{
    scratch_write("save", "x");
    struct scratch_child child = scratch_child_start(hold_lock);
    ck_assert_int_eq(try_open("save", true), -EWOULDBLOCK);
    ck_assert_ptr_nonnull(strstr(err.text, "another terrainfs"));
    ck_assert_int_eq(try_open("save", false), 0);
    scratch_child_end(child);
    ck_assert_int_eq(try_open("save", true), 0);
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(file_read_gives_all_bytes_and_their_identity)
{
    static const size_t sizes[] = {0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5000000};
    static char bytes[5000000];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7 / 5);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct tfs_blob *blob = NULL;
        FILE *out = fopen(scratch_path("save"), "w");
        ck_assert_uint_eq(fwrite(bytes, 1, sizes[i], out), sizes[i]);
        fclose(out);
        struct tfs_file_handle file = open_file("save", false);
        memset(&file.st, 0, sizeof(file.st));
        ck_assert_int_eq(tfs_file_read(&file, sizes[i], &blob, &err), 0);
        ck_assert_uint_eq(blob->size, sizes[i]);
        ck_assert_int_eq(memcmp(blob->data, bytes, sizes[i]), 0);
        ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &file.st, &err), 0);
        tfs_blob_unref(blob);
        tfs_file_close(&file);
    }
}
END_TEST

START_TEST(file_larger_than_the_limit_is_refused)
{
    struct tfs_blob *blob = NULL;

    scratch_write("save", "12345");
    struct tfs_file_handle file = open_file("save", false);
    ck_assert_int_eq(tfs_file_read(&file, 4, &blob, &err), -EFBIG);
    ck_assert_ptr_nonnull(strstr(err.text, "larger than 4 bytes"));
    ck_assert_ptr_null(blob);
    tfs_file_close(&file);
}
END_TEST

/* A file of /proc claims to be empty and is not: like one that grows between fstat and read. */
START_TEST(file_whose_size_does_not_hold_is_being_written)
{
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_blob *blob = NULL;

    ck_assert_int_eq(tfs_file_open("/proc/self/maps", false, &file, &err), 0);
    ck_assert_int_eq(tfs_file_read(&file, 1 << 30, &blob, &err), -EAGAIN);
    ck_assert_str_eq(err.text, "is being written by another program");
    tfs_file_close(&file);
}
END_TEST

static void set_mtime(const char *name, time_t seconds, long nanoseconds)
{
    struct timespec times[2] = {{seconds, 0}, {seconds, nanoseconds}};

    ck_assert_int_eq(utimensat(AT_FDCWD, scratch_path(name), times, 0), 0);
}

START_TEST(file_changed_sees_every_kind_of_change)
{
    struct stat st;

    scratch_write("save", "12345");
    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &st, &err), 0);

    scratch_write("save", "123456");
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &st, &err), 1);

    set_mtime("save", 1000, 5);
    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    set_mtime("save", 1000, 6);
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &st, &err), 1);

    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    scratch_replace("save", "123456");
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &st, &err), 1);

    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    ck_assert_int_eq(rename(scratch_path("save"), scratch_path("other")), 0);
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &st, &err), 1);
    ck_assert_int_eq(symlink("other", scratch_path("save")), 0);
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &st, &err), 1);
}
END_TEST

START_TEST(file_same_compares_each_part_of_the_identity)
{
    const struct stat base = {
        .st_dev = 1, .st_ino = 2, .st_size = 3, .st_mtim = {4, 5}, .st_ctim = {6, 7}};
    struct stat others[] = {base, base, base, base, base, base, base};
    struct stat alike = base;

    alike.st_atim.tv_sec = 9; /* reading is no change */
    ck_assert(tfs_file_same(&base, &alike));
    others[0].st_dev++;
    others[1].st_ino++;
    others[2].st_size++;
    others[3].st_mtim.tv_sec++;
    others[4].st_mtim.tv_nsec++;
    others[5].st_ctim.tv_sec++;
    others[6].st_ctim.tv_nsec++;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_msg(!tfs_file_same(&base, &others[i]), "%zu", i);
}
END_TEST

/* ---- may it be replaced ---------------------------------------------------------------------- */

/* What an ordinary user of group 65534 is told about scratch_dir/d/save. */
static int writable_for_nobody(mode_t dir_mode, uid_t dir_owner, gid_t dir_group, mode_t mode,
                               uid_t owner, gid_t group)
{
    tfs_error_reset(&err);
    ck_assert_int_eq(chown(scratch_path("d"), dir_owner, dir_group), 0);
    ck_assert_int_eq(chmod(scratch_path("d"), dir_mode), 0);
    ck_assert_int_eq(chown(scratch_path("d/save"), owner, group), 0);
    ck_assert_int_eq(chmod(scratch_path("d/save"), mode), 0);
    ck_assert_int_eq(setegid(65534), 0);
    ck_assert_int_eq(seteuid(65534), 0);
    int code = tfs_file_writable(scratch_path("d/save"), &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(setegid(0), 0);
    return code;
}

START_TEST(file_writable_tells_why_not)
{
    const uid_t me = 65534, other = 1234;
    const struct {
        const char *what;
        mode_t dir_mode;
        uid_t dir_owner;
        gid_t dir_group;
        mode_t mode;
        uid_t owner;
        gid_t group;
        int code;
    } cases[] = {
        {"all mine", 0755, me, me, 0644, me, me, 0},
        {"write-protected", 0755, me, me, 0444, me, me, -EACCES},
        {"directory write-protected", 0555, me, me, 0644, me, me, -EACCES},
        {"directory of another", 0755, other, other, 0644, me, me, -EACCES},
        {"file of another", 0777, me, me, 0666, other, me, -EPERM},
        {"file of another group", 0777, me, me, 0666, me, other, -EPERM},
        {"group comes from the directory", 02777, me, other, 0666, me, other, 0},
        {"sticky, mine", 01777, other, other, 0666, me, me, 0},
        {"sticky, of another", 01777, other, other, 0666, other, other, -EPERM},
    };

    ck_assert_int_eq(mkdir(scratch_path("d"), 0700), 0);
    scratch_write("d/save", "x");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int code = writable_for_nobody(cases[i].dir_mode, cases[i].dir_owner, cases[i].dir_group,
                                       cases[i].mode, cases[i].owner, cases[i].group);
        ck_assert_msg(code == cases[i].code, "%s: %d %s", cases[i].what, code, err.text);
    }
}
END_TEST

/* ---- replacing ------------------------------------------------------------------------------- */

static void replacement_open(const char *name, struct tfs_file_handle *old,
                             struct tfs_replacement *r)
{
    ck_assert_msg(tfs_replacement_open(scratch_path(name), old, r, &err) == 0, "%s", err.text);
}

static void put_text(struct tfs_replacement *r, const char *text)
{
    ck_assert_int_eq(tfs_sink_span(&r->sink, tfs_span_of(text), &err), 0);
}

START_TEST(replacement_gives_the_new_content_under_the_same_lock)
{
    struct tfs_replacement r;

    scratch_write("save", "old");
    struct tfs_file_handle file = open_file("save", true);
    replacement_open("save", &file, &r);
    put_text(&r, "new ");
    put_text(&r, "");
    put_text(&r, "content");
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_int_eq(tfs_replacement_finish(&r, &file, &err), 0);
    ck_assert_str_eq(scratch_read("save"), "new content");
    ck_assert_int_eq(scratch_count(), 1);
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &file.st, &err), 0);
    ck_assert_int_eq(try_open("save", true), -EWOULDBLOCK);
    tfs_file_close(&file);
    ck_assert_int_eq(try_open("save", true), 0);
    tfs_replacement_cancel(&r); /* nothing any more */
}
END_TEST

START_TEST(replacement_writes_pieces_of_every_size_in_order)
{
    static const size_t sizes[] = {1, 100, 262144, 7, 262143, 262145, 0, 1000000, 262144 - 7, 7, 9};
    struct tfs_replacement r;
    struct tfs_buf expected = {0};
    struct tfs_blob *blob = NULL;
    uint32_t value = 1;

    scratch_write("save", "old");
    struct tfs_file_handle file = open_file("save", true);
    replacement_open("save", &file, &r);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t start = expected.size;
        for (size_t n = 0; n < sizes[i]; n++)
            tfs_buf_u8(&expected, (uint8_t)((value = value * 1664525u + 1013904223u) >> 24));
        struct tfs_span piece = {expected.data + start, sizes[i]};
        ck_assert_int_eq(tfs_sink_span(&r.sink, piece, &err), 0);
    }
    ck_assert_int_eq(tfs_replacement_read(&r, &blob, &err), 0);
    ck_assert(tfs_span_equal(tfs_blob_span(blob), tfs_buf_span(&expected)));
    ck_assert_uint_eq(r.size, expected.size);
    tfs_replacement_cancel(&r);
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_int_eq(scratch_count(), 1);
    tfs_blob_unref(blob);
    tfs_buf_release(&expected);
    tfs_file_close(&file);
}
END_TEST

static void replace_with(const char *name, const char *text)
{
    struct tfs_file_handle file = open_file(name, true);
    struct tfs_replacement r;

    replacement_open(name, &file, &r);
    put_text(&r, text);
    ck_assert_msg(tfs_replacement_finish(&r, &file, &err) == 0, "%s", err.text);
    tfs_file_close(&file);
}

START_TEST(replacement_keeps_the_mode)
{
    static const mode_t modes[] = {0600, 0644, 0640, 0755, 0666, 0400, 04755, 02775};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct stat st;
        scratch_write("save", "old");
        ck_assert_int_eq(chmod(scratch_path("save"), modes[i]), 0);
        replace_with("save", "new");
        ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, modes[i]);
        ck_assert_int_eq(unlink(scratch_path("save")), 0);
    }
}
END_TEST

START_TEST(replacement_keeps_the_owner_and_the_group)
{
    struct stat st;

    scratch_write("save", "old");
    ck_assert_int_eq(chown(scratch_path("save"), 1234, 4321), 0);
    ck_assert_int_eq(chmod(scratch_path("save"), 06755), 0);
    replace_with("save", "new");
    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    ck_assert_uint_eq(st.st_uid, 1234);
    ck_assert_uint_eq(st.st_gid, 4321);
    ck_assert_uint_eq(st.st_mode & 07777, 06755);
}
END_TEST

START_TEST(replacement_that_would_change_the_owner_is_refused)
{
    struct tfs_replacement r;

    scratch_write("save", "old");
    ck_assert_int_eq(chown(scratch_path("save"), 1234, 65534), 0);
    ck_assert_int_eq(chmod(scratch_path("save"), 0666), 0);
    ck_assert_int_eq(chmod(scratch_dir, 0777), 0);
    ck_assert_int_eq(setegid(65534), 0);
    ck_assert_int_eq(seteuid(65534), 0);
    struct tfs_file_handle file = open_file("save", true);
    int code = tfs_replacement_open(scratch_path("save"), &file, &r, &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(setegid(0), 0);
    ck_assert_int_eq(code, -EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "user 1234"));
    ck_assert_int_eq(scratch_count(), 1);
    ck_assert_str_eq(scratch_read("save"), "old");
    tfs_file_close(&file);
}
END_TEST

/* u::rw- u:7:r-- g::--- m::r-- o::---, as <linux/posix_acl_xattr.h> lays it out. */
static const unsigned char acl[] = {2, 0, 0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  4,
                                    0, 7, 0,   0,   0,   4,   0,  0, 0,   255, 255, 255, 255, 16, 0,
                                    4, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};

START_TEST(replacement_keeps_attributes_and_the_acl)
{
    char value[256];

    scratch_write("save", "old");
    ck_assert_int_eq(setxattr(scratch_path("save"), "user.one", "1", 1, 0), 0);
    ck_assert_int_eq(setxattr(scratch_path("save"), "user.empty", "", 0, 0), 0);
    ck_assert_int_eq(setxattr(scratch_path("save"), "system.posix_acl_access", acl, sizeof(acl), 0),
                     0);
    replace_with("save", "new");
    ck_assert_int_eq(getxattr(scratch_path("save"), "user.one", value, sizeof(value)), 1);
    ck_assert_int_eq(value[0], '1');
    ck_assert_int_eq(getxattr(scratch_path("save"), "user.empty", value, sizeof(value)), 0);
    ck_assert_int_eq(
        getxattr(scratch_path("save"), "system.posix_acl_access", value, sizeof(value)),
        sizeof(acl));
    ck_assert_int_eq(memcmp(value, acl, sizeof(acl)), 0);
}
END_TEST

START_TEST(replacement_takes_no_acl_from_the_directory)
{
    char value[256];
    struct stat st;

    scratch_write("save", "old");
    ck_assert_int_eq(chmod(scratch_path("save"), 0644), 0);
    ck_assert_int_eq(setxattr(scratch_dir, "system.posix_acl_default", acl, sizeof(acl), 0), 0);
    replace_with("save", "new");
    ck_assert_int_eq(
        getxattr(scratch_path("save"), "system.posix_acl_access", value, sizeof(value)), -1);
    ck_assert_int_eq(errno, ENODATA);
    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0644);
}
END_TEST

START_TEST(replacement_of_a_changed_file_is_stale_and_changes_nothing)
{
    const char *after[] = {"bigger", "replaced", NULL};

    for (int i = 0; i < 3; i++) {
        struct tfs_replacement r;
        tfs_error_reset(&err);
        scratch_replace("save", "old");
        struct tfs_file_handle file = open_file("save", true);
        replacement_open("save", &file, &r);
        put_text(&r, "ours");
        if (i == 0)
            scratch_write("save", after[i]);
        else if (i == 1)
            scratch_replace("save", after[i]);
        else
            ck_assert_int_eq(unlink(scratch_path("save")), 0);
        ck_assert_int_eq(tfs_replacement_finish(&r, &file, &err), -ESTALE);
        ck_assert_ptr_nonnull(strstr(err.text, "changed by another program"));
        ck_assert_int_eq(scratch_count(), after[i] != NULL);
        if (after[i] != NULL)
            ck_assert_str_eq(scratch_read("save"), after[i]);
        ck_assert_int_ge(file.fd, 0); /* the old handle is still ours */
        tfs_file_close(&file);
    }
}
END_TEST

/* Fails the replacement of "save" by a file too large for what the test arranged; nothing may
 * remain. */
static void assert_write_fails(int code)
{
    static char piece[300000];
    struct tfs_replacement r;
    int result = 0;

    struct tfs_file_handle file = open_file("save", true);
    struct stat before = file.st;
    replacement_open("save", &file, &r);
    memset(piece, 'n', sizeof(piece) - 1);
    for (int i = 0; i < 4 && result == 0; i++)
        result = tfs_sink_span(&r.sink, tfs_span_of(piece), &err);
    if (result == 0)
        result = tfs_replacement_finish(&r, &file, &err);
    else
        tfs_replacement_cancel(&r);
    ck_assert_int_eq(result, code);
    ck_assert_ptr_nonnull(strstr(err.text, "could not be written in "));
    ck_assert_int_eq(tfs_file_changed(scratch_path("save"), &before, &(struct tfs_error){0}), 0);
    ck_assert_str_eq(scratch_read("save"), "old");
    ck_assert_int_eq(scratch_count(), 1);
    tfs_file_close(&file);
}

/* Whoever owns a directory above the save can put another one, or a link, in its place. */
static void swap_in(const char *other)
{
    char d[256], real[256], path[256];

    snprintf(d, sizeof(d), "%s", scratch_path("d"));
    snprintf(real, sizeof(real), "%s", scratch_path("real"));
    snprintf(path, sizeof(path), "%s", scratch_path(other));
    ck_assert_int_eq(rename(d, real), 0);
    ck_assert_int_eq(rename(path, d), 0);
}

static void swap_out(const char *other)
{
    char d[256], real[256], path[256];

    snprintf(d, sizeof(d), "%s", scratch_path("d"));
    snprintf(real, sizeof(real), "%s", scratch_path("real"));
    snprintf(path, sizeof(path), "%s", scratch_path(other));
    ck_assert_int_eq(rename(d, path), 0);
    ck_assert_int_eq(rename(real, d), 0);
}

static void change_and_take(void *arg, const struct tfs_taking *taking)
{
    scratch_write("save", arg);
    tfs_replacement_take(taking);
}

START_TEST(replacement_of_a_file_that_changes_while_its_place_is_waited_for_is_stale)
{
    struct tfs_replacement r;

    scratch_write("save", "old");
    struct tfs_file_handle file = open_file("save", true);
    replacement_open("save", &file, &r);
    put_text(&r, "ours");
    r.moment = change_and_take;
    r.moment_arg = "theirs";
    ck_assert_int_eq(tfs_replacement_finish(&r, &file, &err), -ESTALE);
    ck_assert_str_eq(scratch_read("save"), "theirs");
    ck_assert_int_eq(scratch_count(), 1);
    tfs_file_close(&file);
}
END_TEST

/* A keeper during whose work another program saves. */
struct slow_keeper {
    struct tfs_keeper keeper;
    void (*save)(const char *name, const char *text);
};

static int before_slowly(struct tfs_keeper *keeper, const char *path, struct tfs_file_handle *old,
                         const struct stat *new, struct tfs_error *why)
{
    struct slow_keeper *slow = (struct slow_keeper *)keeper;

    (void)path, (void)old, (void)new, (void)why;
    if (slow->save == NULL)
        ck_assert_int_eq(unlink(scratch_path("save")), 0);
    else
        slow->save("save", "theirs");
    return 0;
}

START_TEST(replacement_of_a_file_that_changes_while_the_old_one_is_kept_is_stale)
{
    struct slow_keeper slow[] = {{{before_slowly}, scratch_replace},
                                 {{before_slowly}, scratch_write},
                                 {{before_slowly}, NULL}};
    struct tfs_replacement r;

    scratch_write("save", "old");
    struct tfs_file_handle file = open_file("save", true);
    replacement_open("save", &file, &r);
    put_text(&r, "ours");
    r.keeper = &slow[_i].keeper;
    ck_assert_int_eq(tfs_replacement_finish(&r, &file, &err), -ESTALE);
    ck_assert_int_eq(scratch_count(), _i < 2);
    if (_i < 2)
        ck_assert_str_eq(scratch_read("save"), "theirs");
    tfs_file_close(&file);
}
END_TEST

START_TEST(file_that_changes_while_it_is_kept_is_not_removed)
{
    struct slow_keeper slow[] = {{{before_slowly}, scratch_replace},
                                 {{before_slowly}, scratch_write}};

    scratch_write("save", "old");
    struct tfs_file_handle file = open_file("save", true);
    int directory = open(scratch_dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(
        tfs_file_remove(directory, scratch_path("save"), &file, &slow[_i].keeper, &err), -ESTALE);
    ck_assert_str_eq(scratch_read("save"), "theirs");
    close(directory);
    tfs_file_close(&file);
}
END_TEST

START_TEST(file_that_is_removed_is_the_one_in_the_directory_that_was_opened)
{
    scratch_write("save", "old");
    ck_assert_int_eq(mkdir(scratch_path("elsewhere"), 0700), 0);
    scratch_write("elsewhere/save", "another");
    struct tfs_file_handle file = open_file("save", true);
    int directory = open(scratch_dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(tfs_file_remove(directory, scratch_path("elsewhere/save"), &file, NULL, &err),
                     0);
    ck_assert_int_ne(access(scratch_path("save"), F_OK), 0);
    ck_assert_str_eq(scratch_read("elsewhere/save"), "another");
    close(directory);
    tfs_file_close(&file);
}
END_TEST

START_TEST(replacement_is_not_led_elsewhere_by_a_link)
{
    struct tfs_replacement r;

    ck_assert_int_eq(mkdir(scratch_path("d"), 0700), 0);
    ck_assert_int_eq(mkdir(scratch_path("elsewhere"), 0700), 0);
    scratch_write("d/save", "old");
    ck_assert_int_eq(symlink("elsewhere", scratch_path("link")), 0);
    struct tfs_file_handle file = open_file("d/save", true);
    swap_in("link");
    ck_assert_int_eq(tfs_replacement_open(scratch_path("d/save"), &file, &r, &err), -ELOOP);
    ck_assert_int_eq(rmdir(scratch_path("elsewhere")), 0); /* it is empty */
    swap_out("link");
    ck_assert_str_eq(scratch_read("d/save"), "old");
    tfs_file_close(&file);
}
END_TEST

START_TEST(replacement_is_not_led_elsewhere_by_a_directory_that_comes_and_goes)
{
    struct tfs_replacement r;

    ck_assert_int_eq(mkdir(scratch_path("d"), 0700), 0);
    ck_assert_int_eq(mkdir(scratch_path("elsewhere"), 0700), 0);
    scratch_write("d/save", "old");
    struct tfs_file_handle file = open_file("d/save", true);
    swap_in("elsewhere");
    replacement_open("d/save", &file, &r);
    swap_out("elsewhere");
    put_text(&r, "new");
    ck_assert_int_eq(tfs_replacement_finish(&r, &file, &err), -ESTALE);
    ck_assert_int_eq(rmdir(scratch_path("elsewhere")), 0); /* it is empty */
    ck_assert_str_eq(scratch_read("d/save"), "old");
    tfs_file_close(&file);
}
END_TEST

START_TEST(replacement_over_the_file_size_limit_leaves_the_old_file)
{
    struct rlimit limit, low;

    scratch_write("save", "old");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = (struct rlimit){500000, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    assert_write_fails(-EDQUOT);
    ck_assert_ptr_nonnull(strstr(err.text, scratch_dir));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
END_TEST

START_TEST(replacement_on_a_full_disk_leaves_the_old_file)
{
    ck_assert(scratch_mount(scratch_dir, "tmpfs", "size=400k"));
    scratch_write("save", "old");
    assert_write_fails(-ENOSPC);
    ck_assert_int_eq(umount(scratch_dir), 0);
}
END_TEST

START_TEST(file_that_is_a_mount_point_is_not_writable)
{
    scratch_write("save", "old");
    scratch_write("other", "x");
    ck_assert(scratch_mount("/mnt", "tmpfs", "size=4k"));
    ck_assert_int_eq(tfs_file_writable(scratch_path("save"), &err), 0);
    ck_assert_int_eq(mount(scratch_path("other"), scratch_path("save"), NULL, MS_BIND, NULL), 0);
    ck_assert_int_eq(tfs_file_writable(scratch_path("save"), &err), -EBUSY);
    ck_assert_int_eq(umount(scratch_path("save")), 0);
    ck_assert_int_eq(umount("/mnt"), 0);
}
END_TEST

START_TEST(replacement_may_make_a_new_file_but_not_over_another)
{
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_replacement r;
    struct stat st;

    for (int i = 0; i < 2; i++) {
        file.fd = -1;
        replacement_open("new", NULL, &r);
        /* Nobody else may open it before it is known who may. */
        ck_assert_int_eq(fstat(r.fd, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0600);
        st.st_mode = 0640;
        ck_assert_int_eq(tfs_replacement_give(&r, &st, &err), 0);
        put_text(&r, i == 0 ? "first" : "second");
        ck_assert_int_eq(tfs_replacement_finish(&r, &file, &err), i == 0 ? 0 : -EEXIST);
        tfs_file_close(&file);
    }
    ck_assert_str_eq(scratch_read("new"), "first");
    ck_assert_int_eq(stat(scratch_path("new"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0640);
    ck_assert_int_eq(scratch_count(), 1);
}
END_TEST

START_TEST(replacement_that_does_not_read_back_is_refused)
{
    struct tfs_file_handle file;
    struct tfs_replacement r;
    struct tfs_blob *blob = NULL;

    scratch_write("save", "old");
    file = open_file("save", true);
    replacement_open("save", &file, &r);
    put_text(&r, "12345");
    ck_assert_int_eq(tfs_replacement_read(&r, &blob, &err), 0);
    tfs_blob_unref(blob);
    blob = NULL;
    ck_assert_int_eq(ftruncate(r.fd, 4), 0);
    ck_assert_int_eq(tfs_replacement_read(&r, &blob, &err), -EIO);
    ck_assert_ptr_null(blob);
    tfs_replacement_cancel(&r);
    tfs_file_close(&file);
}
END_TEST

START_TEST(replacement_reads_back_in_pieces_what_was_written)
{
    struct tfs_replacement r;
    struct tfs_readback back;
    struct tfs_buf bytes = {0};
    struct tfs_span piece;
    struct tfs_hash hash;
    uint8_t first[3];

    replacement_open("save", NULL, &r);
    for (uint32_t i = 0; i < 300000; i++)
        tfs_buf_u32le(&bytes, i * 2654435761u);
    ck_assert_int_eq(tfs_sink_span(&r.sink, tfs_buf_span(&bytes), &err), 0);
    ck_assert_int_eq(tfs_replacement_readback(&r, &back, &err), 0);
    ck_assert_int_eq(tfs_readback_copy(&back, first, 3, &err), 0);
    ck_assert_mem_eq(first, bytes.data, 3);
    ck_assert_int_eq(tfs_readback_take(&back, 5, &piece, &err), 0);
    ck_assert(tfs_span_equal(piece, (struct tfs_span){bytes.data + 3, 5}));
    ck_assert_int_eq(
        tfs_readback_expect(&back, (struct tfs_span){bytes.data + 8, bytes.size - 8}, &err), 0);
    ck_assert_int_eq(tfs_readback_take(&back, 5, &piece, &err), 0);
    ck_assert_uint_eq(piece.size, 0);
    ck_assert_int_eq(tfs_readback_end(&back, &hash, &err), 0);
    ck_assert(tfs_hash_equal(hash, tfs_hash_of(tfs_buf_span(&bytes))));
    tfs_readback_release(&back);
    tfs_replacement_cancel(&r);
    tfs_buf_release(&bytes);
}
END_TEST

START_TEST(readback_of_another_file_is_refused)
{
    struct tfs_replacement r;
    struct tfs_readback back;
    struct tfs_hash hash;
    const struct tfs_span more = tfs_span_of("12345678"), other = tfs_span_of("12x45");

    replacement_open("save", NULL, &r);
    put_text(&r, "12345");
    ck_assert_int_eq(tfs_replacement_readback(&r, &back, &err), 0);
    ck_assert_int_eq(tfs_readback_expect(&back, other, &err), -EIO);
    tfs_readback_release(&back);
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_replacement_readback(&r, &back, &err), 0);
    ck_assert_int_eq(tfs_readback_expect(&back, more, &err), -EIO);
    ck_assert_str_eq(err.text, "it is another file from about byte 5 on");
    tfs_readback_release(&back);
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_replacement_readback(&r, &back, &err), 0);
    ck_assert_int_eq(tfs_readback_end(&back, &hash, &err), -EIO);
    tfs_readback_release(&back);
    tfs_error_reset(&err);
    ck_assert_int_eq(ftruncate(r.fd, 4), 0);
    ck_assert_int_eq(tfs_replacement_readback(&r, &back, &err), -EIO);
    tfs_readback_release(&back);
    tfs_replacement_cancel(&r);
}
END_TEST

START_TEST(replacement_works_for_the_longest_name)
{
    char name[256];

    memset(name, 'n', 255);
    name[255] = '\0';
    scratch_write(name, "old");
    replace_with(name, "new");
    ck_assert_str_eq(scratch_read(name), "new");
    ck_assert_int_eq(scratch_count(), 1);
}
END_TEST

/* ---- strays ---------------------------------------------------------------------------------- */

static void hold_replacement(void)
{
    struct tfs_replacement r;

    replacement_open("other.save", NULL, &r);
    if (rename(scratch_path(r.temp), scratch_path(".save.terrainfs-locked")) < 0)
        _exit(2);
}

START_TEST(strays_are_removed_and_nothing_else)
{
    static const char *const kept[] = {
        "save",  ".save.terrainfs-12345",   ".save.terrainfs-1234567", ".save.terrainfs-12345.",
        ".save", ".xsave.terrainfs-123456", "save.terrainfs-123456",   ".save.terrainfs-link12",
    };
    const int kept_count = sizeof(kept) / sizeof(kept[0]);

    for (int i = 0; i < kept_count - 1; i++)
        scratch_write(kept[i], "x");
    ck_assert_int_eq(symlink("save", scratch_path(kept[kept_count - 1])), 0);
    ck_assert_int_eq(mkdir(scratch_path(".save.terrainfs-direct"), 0700), 0);
    ck_assert_int_eq(mkfifo(scratch_path(".save.terrainfs-fifo12"), 0600), 0);
    scratch_write(".save.terrainfs-123456", "x");
    scratch_write(".save.terrainfs-aZ09zA", "x");
    struct scratch_child child = scratch_child_start(hold_replacement);

    tfs_file_remove_strays(scratch_path("save"));
    for (int i = 0; i < kept_count; i++)
        ck_assert_msg(faccessat(AT_FDCWD, scratch_path(kept[i]), F_OK, AT_SYMLINK_NOFOLLOW) == 0,
                      "%s", kept[i]);
    ck_assert_int_eq(access(scratch_path(".save.terrainfs-locked"), F_OK), 0);
    ck_assert_int_eq(scratch_count(), kept_count + 3);

    scratch_child_end(child);
    tfs_file_remove_strays(scratch_path("save"));
    ck_assert_int_eq(scratch_count(), kept_count + 2);
}
END_TEST

/* ---- what the machine can do ----------------------------------------------------------------- */

static bool can_acl(void)
{
    char name[] = "/tmp/terrainfs-test-XXXXXX";
    int fd = mkstemp(name);
    bool can = fd >= 0 && fsetxattr(fd, "system.posix_acl_access", acl, sizeof(acl), 0) == 0 &&
               fsetxattr(fd, "user.one", "1", 1, 0) == 0;

    if (fd >= 0) {
        unlink(name);
        close(fd);
    }
    return can;
}

static Suite *file_suite(void)
{
    Suite *suite = suite_create("file");
    TCase *reading = unit_case(suite, "reading");
    TCase *replacing = unit_case(suite, "replacing");
    const bool root = geteuid() == 0;
    const bool mounts = scratch_can_mount();
    const bool acls = can_acl();

    tcase_add_checked_fixture(reading, setup, scratch_teardown);
    tcase_add_checked_fixture(replacing, setup, scratch_teardown);
    tcase_add_test(reading, file_open_refuses_what_is_not_a_regular_file);
    tcase_add_test(reading, file_locked_by_another_process_is_refused_to_a_writer_alone);
    tcase_add_test(reading, file_read_gives_all_bytes_and_their_identity);
    tcase_add_test(reading, file_larger_than_the_limit_is_refused);
    tcase_add_test(reading, file_whose_size_does_not_hold_is_being_written);
    tcase_add_test(reading, file_changed_sees_every_kind_of_change);
    tcase_add_test(reading, file_same_compares_each_part_of_the_identity);
    unit_add_where(root, reading, file_writable_tells_why_not, 1, "root");
    unit_add_where(mounts, reading, file_that_is_a_mount_point_is_not_writable, 1,
                   "root and mount(2)");
    tcase_add_test(replacing, replacement_gives_the_new_content_under_the_same_lock);
    tcase_add_test(replacing, replacement_writes_pieces_of_every_size_in_order);
    tcase_add_test(replacing, replacement_keeps_the_mode);
    unit_add_where(root, replacing, replacement_keeps_the_owner_and_the_group, 1, "root");
    unit_add_where(root, replacing, replacement_that_would_change_the_owner_is_refused, 1, "root");
    unit_add_where(acls, replacing, replacement_keeps_attributes_and_the_acl, 1, "ACLs");
    unit_add_where(acls, replacing, replacement_takes_no_acl_from_the_directory, 1, "ACLs");
    tcase_add_test(replacing, replacement_of_a_changed_file_is_stale_and_changes_nothing);
    tcase_add_test(replacing,
                   replacement_of_a_file_that_changes_while_its_place_is_waited_for_is_stale);
    tcase_add_loop_test(
        replacing, replacement_of_a_file_that_changes_while_the_old_one_is_kept_is_stale, 0, 3);
    tcase_add_loop_test(replacing, file_that_changes_while_it_is_kept_is_not_removed, 0, 2);
    tcase_add_test(replacing, file_that_is_removed_is_the_one_in_the_directory_that_was_opened);
    tcase_add_test(replacing, replacement_is_not_led_elsewhere_by_a_link);
    tcase_add_test(replacing, replacement_is_not_led_elsewhere_by_a_directory_that_comes_and_goes);
    tcase_add_test(replacing, replacement_over_the_file_size_limit_leaves_the_old_file);
    unit_add_where(mounts, replacing, replacement_on_a_full_disk_leaves_the_old_file, 1,
                   "root and mount(2)");
    tcase_add_test(replacing, replacement_may_make_a_new_file_but_not_over_another);
    tcase_add_test(replacing, replacement_that_does_not_read_back_is_refused);
    tcase_add_test(replacing, replacement_reads_back_in_pieces_what_was_written);
    tcase_add_test(replacing, readback_of_another_file_is_refused);
    tcase_add_test(replacing, replacement_works_for_the_longest_name);
    tcase_add_test(replacing, strays_are_removed_and_nothing_else);
    return suite;
}

UNIT_MAIN(file_suite)
