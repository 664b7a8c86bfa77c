/*
 * A zone of two regions for tests of what kills and failing calls leave of it: steps that can be
 * counted, the zone, and an edit of both regions.
 *
 * Not for a program with another test: it takes the place of calls of the C library.
 */
#ifndef TFS_TESTS_ZONE_KILLS_H
#define TFS_TESTS_ZONE_KILLS_H

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "../lib/region_maker.h"
#include "formats/journal.h"
#include "fs/recovery/recover.h"
#include "fs/tree/tree.h"
#include "scratch.h"

#define REGIONS "zone/regions/"
#define JOURNAL "zone/.zone.terrainfs-journal"

static struct tfs_save *save;
static struct tfs_error err;
static char notice[TFS_ERROR_TEXT];

/* ---- kills ----------------------------------------------------------------------------------- */

static int steps_left = -1; /* calls that change the disk until this process ends; -1: it stays */

/* Calls until one fails, until all do, or so many; -1: none does. */
static int until_fault = -1, faults = 0;

static inline bool step(void)
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

int unlinkat(int directory, const char *name, int flags)
{
    if (steps_left >= 0)
        (void)step();
    int result = (int)syscall(SYS_unlinkat, directory, name, flags);
    if (steps_left >= 0)
        (void)step();
    return result;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
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

static inline const char *region_name(int x)
{
    static char names[4][128];
    static unsigned turn;
    char *name = names[turn++ % 4];

    snprintf(name, sizeof(names[0]), REGIONS "region_%d_0_0.cosmicreach", x);
    return name;
}

static inline void add_chunk(struct maker_region *region, int x, int y, int z, const char *block)
{
    struct maker_chunk *chunk = maker_region_add(region, x, y, z);

    maker_single(&chunk->body, block);
    maker_sky(&chunk->body, NULL);
    maker_u8(&chunk->body, 1);
    maker_u8(&chunk->body, 0);
}

/* A region with two chunks of one block. */
static inline void make_region(int x, const char *block)
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

static inline void make_zone(void)
{
    ck_assert_int_eq(nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(mkdir(scratch_dir, 0755), 0);
    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch_path("zone/regions"), 0755), 0);
    scratch_write("zone/zoneInfo.json", "{\"zoneId\": \"base:earth\"}");
    make_region(-1, "base:left");
    make_region(0, "base:right");
}

static inline void setup(void)
{
    scratch_setup_in_memory();
    make_zone();
    save = NULL;
}

static inline void close_save(void)
{
    tfs_save_close(save);
    save = NULL;
}

static inline void teardown(void)
{
    close_save();
    scratch_teardown();
}

static inline void open_only(const char *name, enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock};

    close_save();
    tfs_error_reset(&err);
    ck_assert_msg(tfs_save_open(scratch_path(name), NULL, &options, &save, &err) == 0, "%s",
                  err.text);
}

static inline void open_zone(enum tfs_lock lock)
{
    open_only("zone", lock);
    ck_assert_msg(tfs_recover(save, notice, &err) == 0, "%s", err.text);
}

static inline bool exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

static inline bool is_aside(void)
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

static inline void put_text(const char *path, const char *text)
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
static inline void move_chunk(void)
{
    ck_assert_int_eq(tfs_chunk_move(save, &edit, (struct tfs_key){0, -16, 1, 0},
                                    (struct tfs_key){0, 3, 1, 3}, &err),
                     0);
}

/* Both regions change, and that chunk moves. */
static inline void edit_both(void)
{
    put_text("chunks/-16_0_0/voxels.csv", "x,y,z,block\n-253,1,2,base:gold\n");
    put_text("chunks/0_0_0/voxels.csv", "x,y,z,block\n3,1,2,base:gold\n");
    move_chunk();
}

static inline struct tfs_doc *edited(void)
{
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    edit_both();
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return doc;
}

static inline void commit_edited(void)
{
    struct tfs_doc *doc = edited();

    ck_assert_msg(tfs_journal_commit(save, doc, &err) == 0, "%s", err.text);
    tfs_doc_unref(doc);
}

static inline bool is_block(const char *path, const char *block)
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

static inline bool is_gold(const char *path)
{
    return is_block(path, "base:gold");
}

static inline bool has(int x, int y, int z)
{
    return tfs_doc_find(save->doc, (struct tfs_key){0, x, y, z}) != NULL;
}

/* What of the edit the save shows: a bit for each of its four marks. */
static inline unsigned shown(void)
{
    return (unsigned)is_gold("chunks/-16_0_0/voxels.csv") |
           (unsigned)is_gold("chunks/0_0_0/voxels.csv") << 1 | (unsigned)!has(-16, 1, 0) << 2 |
           (unsigned)has(3, 1, 3) << 3;
}

#define LEFT  (1U | 4U) /* the marks in region -1 */
#define RIGHT (2U | 8U)
#define ALL   (LEFT | RIGHT)

/* A process that does this and is killed at its n-th step; false: it came to its end before. */
static inline bool killed(void (*act)(void), int n)
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

static inline void act_commit(void)
{
    const int steps = steps_left;

    steps_left = -1;
    open_zone(TFS_LOCK_EXCLUSIVE);
    steps_left = steps;
    commit_edited();
}

static inline void act_recover(void)
{
    open_zone(TFS_LOCK_EXCLUSIVE);
}

/* One call, or all from there on. */
static inline void fail_from(int n, bool once)
{
    until_fault = n;
    faults = once ? 1 : INT_MAX;
}

#endif
