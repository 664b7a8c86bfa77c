/*
 * An opened database of rows: for rows*.c only. Its invariants are in rows.c.
 */
#ifndef TFS_FORMATS_CONTAINERS_DATABASE_ROWS_STATE_H
#define TFS_FORMATS_CONTAINERS_DATABASE_ROWS_STATE_H

#include <pthread.h>

#include "base/file.h"
#include "formats/containers/database/rows.h"

/* The row of a key; NULL is SQL's NULL. Of no row, `found` is false. */
struct tfs_row {
    bool found;
    struct tfs_blob *value, *extra;
};

/* What was fetched of a row, in few bytes: checksums, that of the second value with the first one
 * plus 1 as its seed. NULL has 0. */
struct tfs_row_print {
    uint64_t reading; /* the reading it belongs to; 0: nothing was fetched */
    uint64_t value, extra;
};

/* The same of what an edit made and the document does not hold (rows_kept.c). */
struct tfs_row_kept {
    uint64_t offset; /* in the temporary file, or where it is in the database */
    uint64_t sum;
    uint32_t size;
};

struct tfs_rows_kept {
    struct tfs_row_kept *chunks; /* by their numbers */
    size_t count, pending;       /* so many are not in the database yet */
    size_t held;                 /* bytes that edits put into documents instead */
    int fd;                      /* of the temporary file, if it is open */
    bool open;
    uint64_t end; /* of the file */
};

struct tfs_rows_source {
    struct tfs_database db;
    sqlite3_stmt *statements[TFS_ROWS_STATEMENTS]; /* made when first needed */
    struct tfs_rows_layout layout;
};

struct tfs_rows {
    const struct tfs_rows_schema *schema;
    pthread_mutex_t lock; /* of what follows, to `unsure` */
    struct tfs_file_handle file;
    struct tfs_rows_source source;
    uint32_t seen;    /* data_version of the reading */
    uint64_t reading; /* its number, from 1 */
    bool unsure;      /* a transaction failed at its very end: it may be there, if not durably */
    pthread_mutex_t memory;       /* of what follows; after `lock`, and nothing waits under it */
    struct tfs_row_print *prints; /* by slot */
    uint32_t print_count;
    struct tfs_rows_kept kept;
};

static inline struct tfs_rows *tfs_rows_of(const struct tfs_save *opened)
{
    return opened->own;
}

static inline bool tfs_rows_have_extra(const struct tfs_rows *own)
{
    return own->schema->sql(&own->source.layout, TFS_ROWS_PUT_EXTRA) != NULL;
}

/* The caller of what follows holds the lock, or is alone, where nothing else is said. */
/* A statement, to be reset after use; NULL: it cannot be made, and `err` says why. */
sqlite3_stmt *tfs_rows_statement(struct tfs_rows *own, enum tfs_rows_statement which,
                                 struct tfs_error *err);
int tfs_rows_find(struct tfs_rows *own, struct tfs_key key, struct tfs_row *row,
                  struct tfs_error *err);
void tfs_row_release(struct tfs_row *row);
/* Looks at the tables again. ESTALE: they say another thing about all rows. */
int tfs_rows_check_layout(struct tfs_rows *own, struct tfs_error *err);
/* The bytes of a chunk that an edit made and no commit has written yet: 1; 0: they are not such.
 * Needs no lock. */
int tfs_rows_kept_bytes(struct tfs_rows *own, const struct tfs_chunk *chunk,
                        struct tfs_blob **bytes, struct tfs_error *err);
/* They are in the database, durably. */
void tfs_rows_kept_written(struct tfs_rows *own, const struct tfs_chunk *chunk);
/* What an edit made of the chunk and the document does not hold, also once it is written. False:
 * that is not so. Needs no lock. */
bool tfs_rows_kept_print(struct tfs_rows *own, const struct tfs_chunk *chunk,
                         struct tfs_row_print *print);
void tfs_rows_kept_release(struct tfs_rows *own);
/* Has this chunk been fetched in its reading? Needs no lock. */
bool tfs_rows_was_fetched(struct tfs_rows *own, const struct tfs_chunk *chunk);
/* Has the row's column, the second value's or the first's, still the value that a chunk of the
 * document stands for? */
bool tfs_rows_as_before(struct tfs_rows *own, const struct tfs_chunk *before,
                        const struct tfs_row *row, bool extra);
/* Is the file at the save's path still the database that is open? EIO: there is none; ESTALE:
 * another one. */
int tfs_rows_check_path(const struct tfs_save *save, struct tfs_error *err);
/* Owner and times of the save are those of now. */
void tfs_rows_stat(struct tfs_save *save);
/* The document as the database is now; what did not change is shared with `base`. */
int tfs_rows_refresh(struct tfs_rows *own, struct tfs_doc *base, struct tfs_doc **doc,
                     struct tfs_error *err);

#endif
