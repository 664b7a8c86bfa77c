/*
 * A folder of files as one save: what formats share that keep chunks in region files.
 *
 * The format says which file holds a chunk and writes one file; here are the lock of the folder,
 * what is known of its files, how a change by another program is seen, and the order in which the
 * files of one commit are written, so that a crash between two of them loses no chunk.
 */
#ifndef TFS_FORMATS_FOLDER_H
#define TFS_FORMATS_FOLDER_H

#include <pthread.h>

#include "base/file.h"
#include "base/journal.h"
#include "formats/format.h"

/* ---- the lock -------------------------------------------------------------------------------- */

/* How a directory is locked; another program that wants what excludes it fails with EWOULDBLOCK. */
enum tfs_folder_lock {
    TFS_FOLDER_UNLOCKED,
    TFS_FOLDER_SHARED,    /* by a program that writes one of its files */
    TFS_FOLDER_EXCLUSIVE, /* by a program that writes all of them */
};

/* *fd: the directory `path`, to which no link may lead, with that lock. No file is created. */
int tfs_folder_lock(const char *path, enum tfs_folder_lock lock, int *fd, struct tfs_error *err);

/* Is the directory at `path` still the one that is open? EIO: there is none; ESTALE: another. */
int tfs_folder_check(const char *path, int fd, struct tfs_error *err);

/* Can `save` be committed? EROFS with the reason. */
int tfs_folder_check_allowed(const struct tfs_save *save, struct tfs_error *err);

/* Makes the directory `path` durable in its parent; one that is there already is made durable too,
 * because its maker may have failed before it was. A new one belongs to whom `like` belongs, who
 * may read `like` may search it; `whose` names that file in sentences. */
int tfs_folder_make(const char *path, const struct stat *like, const char *whose,
                    struct tfs_error *err);

/* ---- directories that are watched ------------------------------------------------------------ */

/* A directory whose change means that the save changed; absent: st_ino is 0. */
struct tfs_folder_watch {
    char *path;
    struct stat st;
    bool unseen; /* this process made something in it, and it could not be listed since: to be tried
                  * again, before its change means anything */
};

/* Is it the name of a file of the save that is not known yet? Takes no memory. */
typedef bool (*tfs_folder_unknown_fn)(const void *arg, const char *name);

/* Identity and times of what `path` names now, a link itself; absent: all 0. */
void tfs_folder_look(const char *path, struct stat *st);
/* Is it another one than it was, or changed? */
bool tfs_folder_is_other(const char *path, const struct stat *before);
/* Looks at the directory again, after this process made something there: but not where others did
 * too, which stays a change. */
void tfs_folder_watch_again(struct tfs_folder_watch *watch, tfs_folder_unknown_fn unknown,
                            const void *arg);

/* Removes what a killed process left of a file in `directory`, if `name` is the name of such. */
int tfs_folder_remove_stray(const char *directory, const char *name, struct tfs_error *err);

/* Is `name` that of the journal of a file that is in the directory? Of one that is gone the edits
 * wait until it is back. */
bool tfs_folder_has_journal(int directory, const char *name, char file[TFS_JOURNAL_NAME]);
/* Why a folder cannot be written, one file of which (its path in the folder; NULL: none) was edited
 * alone and has a journal: that would be set aside. `beside`: of the folder's journal. */
int tfs_folder_check_alone(const char *beside, const char *file, struct tfs_error *why);

/* ---- files that are known -------------------------------------------------------------------- */

/* The head of the struct in which a format keeps what it knows of a file. */
struct tfs_folder_file {
    struct tfs_key key; /* of the region; group: level of detail */
    struct stat st;     /* of the file that the rest was read from */
    bool unsure;        /* we replaced it, but its directory could not be made durable */
    bool hashed;        /* `hash` is that of what it holds */
    struct tfs_hash hash;
};

/* Files by key. */
struct tfs_folder_files {
    struct tfs_folder_file **files;
    size_t count;
};

/* The hash of what the file `key` at `path` holds, and its identity, as it is known; both all 0:
 * none is. It is read once. `lock` guards the list. ESTALE: the file is another one by now. */
int tfs_folder_hash(struct tfs_folder_files *files, pthread_mutex_t *lock, struct tfs_key key,
                    const char *path, struct tfs_hash *hash, struct stat *st,
                    struct tfs_error *err);

/* NULL: none is known. */
struct tfs_folder_file *tfs_folder_find(const struct tfs_folder_files *files, struct tfs_key key);
/* Makes sure that the next tfs_folder_add needs no memory. Like that one, nobody may read the list
 * meanwhile: the caller holds the lock of who does. */
int tfs_folder_reserve(struct tfs_folder_files *files, struct tfs_error *err);
/* Adds the file in its place; `file` belongs to the list from then on. */
int tfs_folder_add(struct tfs_folder_files *files, struct tfs_folder_file *file,
                   struct tfs_error *err);

/* The file `key` was replaced, and its directory could not be made durable. `lock` guards the
 * list. */
void tfs_folder_unsure(struct tfs_folder_files *files, pthread_mutex_t *lock, struct tfs_key key);

/* Takes a file that is known out of the list: the caller's. */
void tfs_folder_remove(struct tfs_folder_files *files, struct tfs_folder_file *file);

/* The newest time of a file of the save counts as the save's. */
void tfs_folder_newest(const struct tfs_folder_files *files, struct stat *st);

/* ---- committing ------------------------------------------------------------------------------ */

/* One chunk that a commit changes. */
struct tfs_folder_step {
    struct tfs_key file; /* that it is in */
    uint32_t index;      /* its number in the file: steps of a file are sorted by it */
    struct tfs_key key;
    const struct tfs_chunk *chunk; /* as the document has it; NULL: there is none any more */
};

struct tfs_folder_commit;

/* What a format does for a commit. */
struct tfs_folder_writer {
    /* The file that holds a chunk, and the chunk's number in it. */
    struct tfs_key (*file_of)(void *arg, struct tfs_key chunk, uint32_t *index);
    /* Makes these steps in one file, replaced or made or removed as a whole, and read back before.
     * 1: the disk has it, also where making that durable failed (err); negative: it has not.
     * `whole`: no step of this file comes later, which is for save->rewrite.wrote. */
    int (*write)(void *arg, struct tfs_key file, const struct tfs_folder_step *steps, size_t count,
                 bool whole, struct tfs_error *err);
    void *arg;
};

/* The order, so that a crash between two files never loses a chunk:
 *   1. files that gain or change chunks, by key; what they lose stays in them, if there is more
 *      than one file to write;
 *   2. files that lose chunks.
 * So at every instant each chunk is what it was or what it shall be, and one that moves between two
 * files may be in both. */
struct tfs_folder_commit {
    struct tfs_save *save;
    const struct tfs_folder_writer *writer;
    struct tfs_doc *doc;
    struct tfs_folder_step *steps;
    size_t count;
    struct tfs_edit reached; /* what the disk holds */
    struct tfs_error *err;
};

/* What took the place of a file, or is about to (all 0: nothing), is told to whoever keeps a
 * journal. */
void tfs_folder_wrote(const struct tfs_save *save, struct tfs_key file, struct tfs_hash hash,
                      bool whole);

/* Finds what differs between save->doc and `doc`, and checks each such chunk. To be closed after a
 * failure too. */
int tfs_folder_commit_open(struct tfs_save *save, struct tfs_doc *doc,
                           const struct tfs_folder_writer *writer, struct tfs_folder_commit *commit,
                           struct tfs_error *err);
/* The commit will also write that file, of which no chunk changes. To be said before the first file
 * is written, so that undo takes back all of a commit or nothing. */
int tfs_folder_commit_expect(struct tfs_folder_commit *commit, struct tfs_key file);
/* Writes all files with changed chunks, in that order. */
int tfs_folder_commit_chunks(struct tfs_folder_commit *commit);
/* Writes a file of which no chunk changes. */
int tfs_folder_commit_file(struct tfs_folder_commit *commit, struct tfs_key file);
/* The document that the disk holds now: a reference; NULL when the commit could not be opened. */
struct tfs_doc *tfs_folder_commit_reached(struct tfs_folder_commit *commit);
void tfs_folder_commit_close(struct tfs_folder_commit *commit);

#endif
