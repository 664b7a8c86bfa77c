/*
 * What SQLite may open for one connection: for database.c only.
 */
#ifndef TFS_FORMATS_CONTAINERS_DATABASE_GUARD_H
#define TFS_FORMATS_CONTAINERS_DATABASE_GUARD_H

struct tfs_database_guard;

/* NULL: there is no memory for it. */
struct tfs_database_guard *tfs_database_guard_create(void);
/* Comes after the connection was closed. NULL is taken. */
void tfs_database_guard_free(struct tfs_database_guard *guard);
/* The name of the VFS, for sqlite3_open_v2. */
const char *tfs_database_guard_name(const struct tfs_database_guard *guard);

#endif
