/*
 * A journal: a file of records that are only ever appended, beside the file whose changes it holds.
 * Layout and rules: docs/journal.md.
 *
 * A record is accepted when its append returned and tfs_journal_sync succeeded after it. What is in
 * a record is the caller's. All functions are for one thread at a time, under the save's lock.
 */
#ifndef TFS_BASE_JOURNAL_H
#define TFS_BASE_JOURNAL_H

#include <sys/stat.h>

#include "base/blob.h"
#include "base/hash.h"

enum tfs_journal_kind {
    TFS_JOURNAL_EDIT = 1, /* an accepted edit */
    TFS_JOURNAL_MARK = 2, /* a rewrite of the save begins: it holds all edits before this record */
    TFS_JOURNAL_DONE = 3, /* of version 0.1: the hash of what that rewrite made of the one file */
    TFS_JOURNAL_FILE = 4, /* what that rewrite made of a file; both stand behind its mark */
};

struct tfs_journal;

/* `.NAME.terrainfs-journal`, where NAME is the last component of `path`; one that is too long is
 * cut and gets a checksum of the whole, so that no two saves have one journal. */
#define TFS_JOURNAL_NAME 256
void tfs_journal_name(const char *path, char name[TFS_JOURNAL_NAME]);
/* Where it lies, beside `path`; to be freed. NULL: no memory. */
char *tfs_journal_path(const char *path);

/* Is there anything with the name of its journal? 1, 0, or negative. */
int tfs_journal_find(const char *path, struct tfs_error *err);

/* ---- writing --------------------------------------------------------------------------------- */

/* A rewrite of the save, as far as it has come. */
struct tfs_journal_mark {
    bool begun;
    struct tfs_buf wrote; /* payloads of FILE, each of TFS_JOURNAL_FILE_SIZE bytes */
};

#define TFS_JOURNAL_FILE_SIZE 41

/* Makes the journal of the save `path`, whose content has the hash `save`, with the owner and the
 * permissions of `like`, with the records of a rewrite under way (NULL: there is none), and with
 * `first` as its first edit (none when it is empty), behind the mark and before what is said of
 * files. All of it is durable then. It replaces a journal that is there, in one step. After a
 * failure there is none where there was none; else the old one or the new one. EEXIST: something
 * that is no file has its name. */
int tfs_journal_create(const char *path, const struct stat *like, struct tfs_hash save,
                       const struct tfs_journal_mark *mark, struct tfs_span first,
                       struct tfs_journal **journal, struct tfs_error *err);

/* No journal is larger; one that is was made by another program. */
#define TFS_JOURNAL_MAX (UINT64_C(1) << 32)

/* The bytes of a journal that begins with that hash and has these records. */
struct tfs_journal_record;
int tfs_journal_print(struct tfs_hash save, const struct tfs_journal_record *records, size_t count,
                      struct tfs_buf *out, struct tfs_error *err);

/* Appends a record. After a failure the file is as long as before; where even that cannot be had,
 * the journal is broken and takes nothing more. EFBIG above TFS_JOURNAL_MAX. */
int tfs_journal_append(struct tfs_journal *journal, enum tfs_journal_kind kind,
                       struct tfs_span payload, struct tfs_error *err);
/* Makes all records durable; a journal that others removed cannot be. After a failure those since
 * the last sync are cut off, and the journal is broken: what the disk holds of it is not known, so
 * it must be replaced by a new one. */
int tfs_journal_sync(struct tfs_journal *journal, struct tfs_error *err);

/* A rewrite of the save begins, or has made this, which is durable then. After a failure it must
 * not go on: after a crash right behind it the edits would be foreign, though the save holds them.
 * NULL is legal. */
int tfs_journal_mark(struct tfs_journal *journal, struct tfs_error *err);
int tfs_journal_tell(struct tfs_journal *journal, enum tfs_journal_kind kind,
                     const struct tfs_buf *payload, struct tfs_error *err);

bool tfs_journal_broken(const struct tfs_journal *journal);
uint64_t tfs_journal_size(const struct tfs_journal *journal);

/* Closes it; the file stays. */
void tfs_journal_close(struct tfs_journal *journal);

/* Removes the journal of `path`, durably. 0 too when there is none. */
int tfs_journal_remove(const char *path, struct tfs_error *err);

/* Removes temp files that a killed process left when it made a journal of `path`. To be called
 * under the lock of `path`. */
void tfs_journal_remove_strays(const char *path);

/* ---- reading --------------------------------------------------------------------------------- */

struct tfs_journal_record {
    enum tfs_journal_kind kind;
    struct tfs_span payload;
    struct tfs_hash hash; /* of a DONE */
};

/* A journal as it was read. */
struct tfs_journal_text {
    struct tfs_blob *bytes; /* up to `end` */
    struct tfs_hash save;
    struct tfs_journal_record *records; /* all that are whole; payloads lie in bytes */
    size_t count;
    uint64_t damaged; /* offset of a record that does not read though others follow; 0: none */
    uint64_t seed;
    uint64_t end; /* of the last whole record */
    struct stat st;
};

/* Reads the journal of `path`: 1, 0 when there is none, or negative. Only a regular file with one
 * link is read, that belongs to the owner of `save` or to us and that nobody may read or write who
 * may not do so with the save; any other is EPERM with a sentence. A record that was torn at the
 * end was never accepted and is left out. */
int tfs_journal_read(const char *path, const struct stat *save, struct tfs_journal_text *text,
                     struct tfs_error *err);
/* The same of the file of that name, whomever it belongs to. */
int tfs_journal_read_file(const char *file, struct tfs_journal_text *text, struct tfs_error *err);
void tfs_journal_text_release(struct tfs_journal_text *text);

/* Is the journal of `path` still the one that was read? It may have become longer: what was read
 * was all of it at that moment. */
bool tfs_journal_current(const char *path, const struct tfs_journal_text *text);

/* Goes on with the journal that was read, behind its last whole record: what follows that is cut
 * off. To be called under the lock of `path`. ESTALE: another one has its name by now. */
int tfs_journal_reopen(const char *path, const struct tfs_journal_text *text,
                       struct tfs_journal **journal, struct tfs_error *err);

#endif
