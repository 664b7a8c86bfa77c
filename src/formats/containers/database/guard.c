/*
 * SQLite's own way to files, for one connection, but for three things.
 *
 * A journal can name a "super-journal", which belongs to a change of several databases at once. To
 * take back such a change SQLite reads that file, and removes it when it knows no other database:
 * with a made-up journal any file could be removed. No game writes one; nobody opens it.
 *
 * Journal and log are found by the name that the database was opened by. When it was moved away and
 * another one is at that name, they are the other's: played back into ours they would destroy it.
 * They do not exist then.
 *
 * Opening a pipe of such a name would wait for ever. It is refused.
 */
#include "formats/containers/database/guard.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tfs_database_guard {
    sqlite3_vfs vfs; /* first */
    const sqlite3_vfs *real;
    char name[32];
    const char *database; /* the name that it was opened by; SQLite's, as long as it is open */
    dev_t device;
    ino_t inode;
};

static bool is_of_journal(int flags)
{
    return (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
}

static bool has_journals_name(const struct tfs_database_guard *guard, const char *name)
{
    const size_t length = guard->database == NULL ? 0 : strlen(guard->database);

    return length > 0 && strncmp(name, guard->database, length) == 0 &&
           (strcmp(name + length, "-journal") == 0 || strcmp(name + length, "-wal") == 0);
}

/* Is the database still where journal and log are looked for? */
static bool is_in_place(const struct tfs_database_guard *guard)
{
    struct stat st;

    return guard->database != NULL && lstat(guard->database, &st) == 0 &&
           st.st_dev == guard->device && st.st_ino == guard->inode;
}

/* May this journal or log be opened? */
static bool is_ours(const struct tfs_database_guard *guard, const char *name)
{
    struct stat st;

    return is_in_place(guard) && (lstat(name, &st) < 0 || S_ISREG(st.st_mode));
}

static int guarded_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct tfs_database_guard *guard = (struct tfs_database_guard *)vfs;
    struct stat st;

    if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0 ||
        (is_of_journal(flags) && !is_ours(guard, name))) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    int result = guard->real->xOpen(vfs, name, file, flags, out);
    if (result == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0 && lstat(name, &st) == 0) {
        guard->database = name;
        guard->device = st.st_dev;
        guard->inode = st.st_ino;
    }
    return result;
}

static int guarded_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    const struct tfs_database_guard *guard = (const struct tfs_database_guard *)vfs;
    const int result = guard->real->xAccess(vfs, name, flags, out);

    /* Each transaction asks for both. They are hardly ever there, and only then it matters whose
     * they are. */
    if (result == SQLITE_OK && *out != 0 && has_journals_name(guard, name) && !is_in_place(guard))
        *out = 0;
    return result;
}

struct tfs_database_guard *tfs_database_guard_create(void)
{
    const sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    struct tfs_database_guard *guard = calloc(1, sizeof(*guard));

    if (real == NULL || guard == NULL) {
        free(guard);
        return NULL;
    }
    snprintf(guard->name, sizeof(guard->name), "terrainfs-%p", (void *)guard);
    guard->vfs = *real;
    guard->vfs.zName = guard->name;
    guard->vfs.pNext = NULL;
    guard->vfs.xOpen = guarded_open;
    guard->vfs.xAccess = guarded_access;
    guard->real = real;
    sqlite3_vfs_register(&guard->vfs, 0);
    return guard;
}

void tfs_database_guard_free(struct tfs_database_guard *guard)
{
    if (guard != NULL)
        sqlite3_vfs_unregister(&guard->vfs);
    free(guard);
}

const char *tfs_database_guard_name(const struct tfs_database_guard *guard)
{
    return guard->name;
}
