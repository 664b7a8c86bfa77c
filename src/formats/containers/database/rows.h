/*
 * A save that is one SQLite database with a row for each chunk. A game says what its tables are
 * (struct tfs_rows_schema); this is all else that its container does.
 *
 * What callers may rely on:
 *   - Opening reads the keys and no value: chunks of the document are unread (TFS_CHUNK_UNREAD)
 *     until an edit puts bytes into them. tfs_rows_fetch reads some rows. Rows whose key is none of
 *     the game's are counted, kept and not shown; one of them may be meant as the row of a chunk
 *     that the document lacks (tfs_facts_hiding).
 *   - tfs_chunk.own of an unread chunk is the number of the reading that found it, or found it
 *     changed: two unread chunks with one key and one number are the same bytes. A chunk that was
 *     edited keeps its number, but for tfs_rows_keep, which may give it one of its own.
 *   - A commit is one BEGIN IMMEDIATE transaction, which adds, changes and removes rows, and never
 *     replaces the file. Where others changed the database since it was read, each row that is
 *     about to be changed is first compared with what it was when it was first fetched, column by
 *     column: ESTALE where they changed the same, and nothing is written. Rows are read back before
 *     the end of the transaction.
 *   - The database may be open in a game: a reader waits 200 ms, then it is EBUSY.
 *   - The file is locked against another terrainfs as other saves are; a file or directory that may
 *     not be written makes the save read-only.
 *
 * save->own is this module's. A container may have these functions as they are, or call them from
 * its own.
 */
#ifndef TFS_FORMATS_CONTAINERS_DATABASE_ROWS_H
#define TFS_FORMATS_CONTAINERS_DATABASE_ROWS_H

#include "formats/containers/database/database.h"
#include "formats/format.h"

/* The number of the reading that found the row of a chunk. */
static inline uint64_t tfs_rows_reading(const struct tfs_chunk *chunk)
{
    return chunk->own;
}

/* Parameters of a key are ?1 and those behind it; the value is the one behind them. */
enum tfs_rows_statement {
    TFS_ROWS_KEYS,      /* gives the columns of all keys, in any order */
    TFS_ROWS_FETCH,     /* of a key: gives the value, and the second one if rows have two */
    TFS_ROWS_PUT,       /* sets the value of a row, which is made if there is none */
    TFS_ROWS_PUT_EXTRA, /* the same of the second value (tfs_chunk.extra); NULL: rows have one */
    TFS_ROWS_REMOVE,    /* removes the row of a key */
    TFS_ROWS_STATEMENTS
};

/* What the tables say about all rows, in the game's own numbers. */
struct tfs_rows_layout {
    int64_t number[4];
};

struct tfs_rows_schema {
    int value_max; /* bytes of the longest value that is read; a longer one is EFBIG */

    /* Are the tables there that the game needs, and what do they say? *layout was zeroed. Called
     * again when others changed the database: with another layout it cannot be read until it is
     * opened anew. EBADMSG, ENOTSUP. */
    int (*look)(struct tfs_database *db, struct tfs_rows_layout *layout, struct tfs_error *err);
    const char *(*sql)(const struct tfs_rows_layout *layout, enum tfs_rows_statement which);
    /* The key in the columns of TFS_ROWS_KEYS. False: it is none, or not the one that its
     * coordinates have. */
    bool (*key)(const struct tfs_rows_layout *layout, sqlite3_stmt *row, struct tfs_key *key);
    /* Binds a key; what SQLite answers. *count: of parameters. */
    int (*bind)(const struct tfs_rows_layout *layout, sqlite3_stmt *statement, struct tfs_key key,
                int *count);
    /* The facts of documents. */
    int (*facts)(const struct tfs_rows_layout *layout, struct tfs_facts **facts,
                 struct tfs_error *err);
};

/* For tfs_container.probe: may it be a database? By its first bytes. */
bool tfs_rows_magic(const struct tfs_probe *probe);
/* The same by the tables of the database: has it one of that name, with that column? Nothing is
 * locked or waited for; tables that are only in a log yet are not there. 1, 0 or -ENOMEM. */
int tfs_rows_has_column(const struct tfs_probe *probe, const char *table, const char *column);

/* The functions of tfs_container. After a failure to open nothing is left to be closed. */
int tfs_rows_open(struct tfs_save *save, const struct tfs_rows_schema *schema,
                  struct tfs_error *err);
void tfs_rows_close(struct tfs_save *save);
int tfs_rows_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err);
int tfs_rows_changed(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err);
int tfs_rows_reload(struct tfs_save *save, struct tfs_error *err);
size_t tfs_rows_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                      struct tfs_error *err);

/* What tfs_record_sum says of an unread chunk as it was fetched first; false: it was not. */
bool tfs_rows_sum(const struct tfs_save *save, const struct tfs_chunk *chunk, uint64_t *sum);

/* Puts all that the database at the path `from` holds into the save, in one transaction. */
int tfs_rows_restore(struct tfs_save *save, const char *from, struct tfs_error *err);

/* Gives a chunk that is about to be put other bytes. Once edits hold much memory it is unread from
 * then on, and fetched from a temporary file until a commit writes it. Rows with two values hold
 * all. On success chunk->blob is a reference of the caller's, or NULL. */
int tfs_rows_keep(struct tfs_save *save, struct tfs_chunk *chunk, struct tfs_span bytes,
                  struct tfs_error *err);

/* Those that a container has as they are. */
#define TFS_ROWS_FUNCTIONS                                                                         \
    .fetch = tfs_rows_fetch, .commit = tfs_rows_commit, .changed = tfs_rows_changed,               \
    .reload = tfs_rows_reload

#endif
