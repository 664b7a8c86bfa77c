/*
 * A folder that is open: for folder*.c only.
 */
#ifndef TFS_FORMATS_CONTAINERS_FOLDER_STATE_H
#define TFS_FORMATS_CONTAINERS_FOLDER_STATE_H

#include <pthread.h>

#include "base/recent.h"
#include "formats/containers/folder.h"

/* A directory of files; absent: st is all 0. */
struct tfs_folder_watch {
    char *path;
    struct stat st;
};

/* What was found in the folder. */
struct tfs_folder_index {
    struct tfs_facts *facts;
    struct tfs_folder_files files;
    struct tfs_folder_watch *watches;
    size_t watch_count;
    struct tfs_blob *common;
    char *common_path;
    struct stat common_st;
};

#define TFS_FOLDER_OPENING 8 /* files that are opened at a time, about */

struct tfs_folder {
    pthread_mutex_t lock; /* of `index` and what it refers to, and `reading` */
    struct tfs_folder_index index;
    uint64_t reading;         /* number of the last reading of the folder */
    bool unsure;              /* a name came or went, but its directory could not be made durable */
    struct tfs_recent opened; /* files that were fetched from last */
    /* Held by who opens a file: others that want it wait, and do not inflate it, too. */
    pthread_mutex_t opening[TFS_FOLDER_OPENING];
    int lock_fd; /* the folder, with the flock */
};

static inline struct tfs_folder *tfs_folder_of(const struct tfs_save *save)
{
    return save->own;
}

static inline const struct tfs_folder_kind *tfs_folder_kind_of(const struct tfs_save *save)
{
    return save->container->files;
}

/* ---- directories (folder_files.c) ------------------------------------------------------------ */

/* *fd: the directory `path`, to which no link may lead, locked if `exclusive`. */
int tfs_folder_lock(const char *path, bool exclusive, int *fd, struct tfs_error *err);
/* Is the directory at `path` still the one that is open? EIO: there is none; ESTALE: another. */
int tfs_folder_check(const char *path, int fd, struct tfs_error *err);
/* Makes the directory `path`, below the folder, and those above it there, durably: they belong to
 * whom the save belongs. */
int tfs_folder_make(const struct tfs_save *save, const char *path, struct tfs_error *err);
/* Is `path` another one than it was, or changed? */
bool tfs_folder_is_other(const char *path, const struct stat *before);

/* ---- lists ----------------------------------------------------------------------------------- */

struct tfs_folder_file *tfs_folder_file_ref(struct tfs_folder_file *file);
void tfs_folder_file_unref(struct tfs_folder_file *file);   /* NULL is legal */
int tfs_folder_compare_slots(const void *a, const void *b); /* by number */
/* The slot of that number; NULL: there is none. */
struct tfs_folder_slot *tfs_folder_slot(const struct tfs_folder_file *file, uint32_t index);

struct tfs_folder_file *tfs_folder_find(const struct tfs_folder_files *files, struct tfs_key key);
/* Makes sure that the next tfs_folder_add needs no memory. Like that one, nobody may read the list
 * meanwhile. */
int tfs_folder_reserve(struct tfs_folder_files *files, struct tfs_error *err);
/* Adds a file in its place: the list takes the reference over. */
int tfs_folder_add(struct tfs_folder_files *files, struct tfs_folder_file *file,
                   struct tfs_error *err);
/* Takes it out of the list, and lets go of it. */
void tfs_folder_remove(struct tfs_folder_files *files, struct tfs_folder_file *file);
int tfs_folder_files_copy(const struct tfs_folder_files *from, struct tfs_folder_files *files,
                          struct tfs_error *err);
void tfs_folder_files_release(struct tfs_folder_files *files);

/* ---- reading (folder_index.c) ---------------------------------------------------------------- */

/* What is known of an open file: of all that it says, where `doc` is what it was decoded to. */
int tfs_folder_file_make(const struct tfs_save *save, const struct tfs_facts *facts,
                         struct tfs_key key, const struct tfs_file_handle *handle,
                         const struct tfs_doc *doc, struct tfs_folder_file **file,
                         struct tfs_error *why);
/* One file of the save, for its codec: as if it were a save of its own. */
struct tfs_save tfs_folder_one(const struct tfs_save *save, char *path);

/* The folder as it is now. Files of `before` (NULL: none) that did not change are taken from there;
 * those that were decoded are decoded again. */
int tfs_folder_index_read(struct tfs_save *save, const struct tfs_folder_index *before,
                          struct tfs_folder_index *index, struct tfs_error *err);
void tfs_folder_index_release(struct tfs_folder_index *index);
/* Decodes those files of a list that are wanted (NULL: all that are unread), by several threads.
 * read[i]: a reference; NULL: it was not wanted, or is not there any more. */
int tfs_folder_read_files(struct tfs_save *save, const struct tfs_facts *facts,
                          const struct tfs_folder_files *files, const struct tfs_key *wanted,
                          struct tfs_folder_file **read, struct tfs_error *err);
/* Gives new facts what is known of files. */
int tfs_folder_facts_complete(const struct tfs_save *save, const struct tfs_folder_files *files,
                              struct tfs_facts *facts, struct tfs_error *err);

/* Did a file or the folder change since it was read? `file` not NULL: did that one, or what all
 * have in common? */
bool tfs_folder_index_changed(struct tfs_save *save, struct tfs_folder_index *index,
                              const struct tfs_key *file);

/* ---- fetching (folder_fetch.c) --------------------------------------------------------------- */

/* A file that chunks are fetched from. */
struct tfs_folder_opened {
    atomic_uint refs;
    struct tfs_folder_file *file; /* a reference */
    struct tfs_file_handle handle;
    struct tfs_blob *payload; /* NULL: chunks lie in the file itself */
};

void tfs_folder_opened_init(const struct tfs_save *save, struct tfs_recent *recent);
/* Are the bytes of a slot of a file that is read again those of `chunk`, which is of the document
 * of before, and of `was` (NULL: there was none)? False where nobody read them then. */
bool tfs_folder_same(struct tfs_save *save, struct tfs_folder_opened **opened,
                     struct tfs_folder_file *file, struct tfs_folder_slot *slot,
                     const struct tfs_folder_slot *was, const struct tfs_chunk *chunk);
void tfs_folder_opened_unref(struct tfs_folder_opened *opened); /* NULL is legal */

/* ---- writing --------------------------------------------------------------------------------- */

/* One chunk that a commit changes. */
struct tfs_folder_step {
    struct tfs_key file; /* that it is in */
    bool later;          /* made when all files have what they gain */
    uint32_t index;      /* its number in the file: steps that are made at once are sorted by it */
    struct tfs_key key;
    const struct tfs_chunk *chunk; /* as the document has it; NULL: there is none any more */
};

struct tfs_folder_commit {
    struct tfs_save *save;
    const struct tfs_folder_kind *kind;
    struct tfs_folder *own;
    struct tfs_doc *doc;
    bool newer; /* what is common gets another text */
    struct tfs_folder_step *steps;
    size_t count;
    struct tfs_edit reached; /* what the disk holds */
};

/* Makes these steps in one file, which is replaced, made or removed as a whole (folder_write.c). 1:
 * the disk has it, also where making that durable failed (err); negative: it has not. */
int tfs_folder_write_file(const struct tfs_folder_commit *commit, struct tfs_key file,
                          const struct tfs_folder_step *steps, size_t count, struct tfs_error *err);
/* Puts `doc` on disk, file by file (folder_commit.c). *reached: the document that the disk holds
 * afterwards, also after a failure; NULL when nothing was begun. */
int tfs_folder_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_doc **reached,
                     struct tfs_error *err);

#endif
