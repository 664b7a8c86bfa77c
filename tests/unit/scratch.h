/*
 * A directory of its own for each test that needs files, and short ways to make and look at files.
 *
 * scratch_setup and scratch_teardown are a checked fixture; scratch_dir is the absolute path,
 * without symlinks. What programs keep in the user's home goes below it. A test that fails leaves
 * its directory for looking at.
 */
#ifndef TFS_TESTS_SCRATCH_H
#define TFS_TESTS_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static char scratch_dir[PATH_MAX];

static inline void scratch_setup(void)
{
    const char *base = getenv("TMPDIR");
    char name[PATH_MAX + 8];

    snprintf(name, sizeof(name), "%s/terrainfs-test-XXXXXX", base == NULL ? "/tmp" : base);
    ck_assert_ptr_nonnull(mkdtemp(name));
    ck_assert_ptr_nonnull(realpath(name, scratch_dir));
    ck_assert_int_eq(chmod(scratch_dir, 0755), 0);
    snprintf(name, sizeof(name), "%s/.state", scratch_dir);
    ck_assert_int_eq(setenv("XDG_STATE_HOME", name, 1), 0);
}

/* The same in memory, where there is such a place: for many small files, which are synced. */
static inline void scratch_setup_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        ck_assert_int_eq(setenv("TMPDIR", "/dev/shm", 1), 0);
    scratch_setup();
}

static inline int scratch_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void scratch_teardown(void)
{
    ck_assert_int_eq(nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The absolute path of a name; good until the eighth next call of the thread. */
static inline const char *scratch_path(const char *name)
{
    static _Thread_local char paths[8][2 * PATH_MAX];
    static _Thread_local unsigned turn;
    char *path = paths[turn++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", scratch_dir, name);
    return path;
}

/* Makes or overwrites the file in place. */
static inline void scratch_write(const char *name, const char *text)
{
    FILE *file = fopen(scratch_path(name), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Puts another file in the place of `name`, as a game does that saves. */
static inline void scratch_replace(const char *name, const char *text)
{
    scratch_write(".scratch-new", text);
    ck_assert_int_eq(rename(scratch_path(".scratch-new"), scratch_path(name)), 0);
}

/* The content, cut to 64 KiB, as text that is good until the next call. */
static inline const char *scratch_read(const char *name)
{
    static char text[65537];
    FILE *file = fopen(scratch_path(name), "r");

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* Number of names in the scratch directory. */
static inline int scratch_count(void)
{
    DIR *directory = opendir(scratch_dir);
    int count = 0;

    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

/* A filesystem of our own that nobody else sees, in place of the directory `target`. */
static inline bool scratch_mount(const char *target, const char *type, const char *options)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", target, type, 0, options) == 0;
}

static inline bool scratch_can_mount(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(scratch_mount("/mnt", "tmpfs", "size=4k") ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* A limit of the size of files stands for a disk that is full. RLIM_INFINITY: as large as may
 * be. */
static inline void scratch_limit_files(rlim_t bytes)
{
    struct rlimit limit;

    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A child that runs `work` and lives on until scratch_child_end: what another process does
 * meanwhile. */
struct scratch_child {
    pid_t pid;
    int go; /* write end: closing it lets the child go */
};

static inline struct scratch_child scratch_child_start(void (*work)(void))
{
    int ready[2], go[2];
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    ck_assert_int_eq(pipe(go), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(go[1]);
        work();
        if (write(ready[1], "r", 1) != 1 || read(go[0], &byte, 1) != 0)
            _exit(1);
        _exit(0);
    }
    close(ready[1]);
    close(go[0]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return (struct scratch_child){pid, go[1]};
}

static inline void scratch_child_end(struct scratch_child child)
{
    int status;

    close(child.go);
    ck_assert_int_eq(waitpid(child.pid, &status, 0), child.pid);
    ck_assert_int_eq(status, 0);
}

#endif
