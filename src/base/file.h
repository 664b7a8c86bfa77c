/*
 * Files of saves: read without trust, locked against a second writer, replaced atomically.
 *
 * A replacement is a temp file in the same directory (`.NAME.terrainfs-XXXXXX`, O_EXCL, the mode,
 * owner and xattrs of the old file), written, checked by the caller, made durable, locked, and
 * renamed over the old file after the old one was found to be the one that was read. At any instant
 * there is the old file or the new one. Strays of a killed process are removed by
 * tfs_file_remove_strays, under the lock.
 */
#ifndef TFS_BASE_FILE_H
#define TFS_BASE_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/blob.h"
#include "base/readback.h"

/* Where encoders write: pieces in order. */
struct tfs_sink {
    int (*write)(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err);
};

int tfs_sink_span(struct tfs_sink *sink, struct tfs_span span, struct tfs_error *err);

/* A file of a save that is open: fd holds the flock, if one was asked for. */
struct tfs_file_handle {
    int fd;
    struct stat st; /* at the last open, read or replacement: its identity */
};

/* Opens `path` for reading. `exclusive`: takes the flock without waiting (EWOULDBLOCK: "... is
 * mounted or being written by another terrainfs"), and makes sure path and fd are still the same
 * file. Only regular files (EINVAL). */
int tfs_file_open(const char *path, bool exclusive, struct tfs_file_handle *file,
                  struct tfs_error *err);
/* Does another program have the file open for writing? `fd` is open for reading. False where the
 * kernel does not tell. */
bool tfs_file_is_written(int fd);
void tfs_file_close(struct tfs_file_handle *file);

/* The whole content, by steps and never by a size that the file claims; file->st becomes the
 * identity that was read (a file that changes meanwhile: EAGAIN after some tries). EFBIG above
 * `limit`. */
int tfs_file_read(struct tfs_file_handle *file, uint64_t limit, struct tfs_blob **blob,
                  struct tfs_error *err);

/* The same without having all of it: `read` looks at the `size` bytes of the file in `fd` as it
 * likes, and is called again, its failure forgotten, when the file changed meanwhile. */
typedef int (*tfs_file_read_fn)(void *arg, int fd, uint64_t size, struct tfs_error *err);
int tfs_file_read_by(struct tfs_file_handle *file, uint64_t limit, tfs_file_read_fn read, void *arg,
                     struct tfs_error *err);

/* Reads `size` bytes at `offset`. Returns how many there were, fewer only at the end of the file,
 * or a negative errno. */
ssize_t tfs_file_read_at(int fd, uint64_t offset, void *out, size_t size);

/* The same file, unchanged: dev, ino, size, mtime and ctime. */
bool tfs_file_same(const struct stat *a, const struct stat *b);

/* The directory that holds `path`, for the caller to free; NULL without memory. */
char *tfs_file_directory(const char *path);

/* Writes all of it where the descriptor stands: 0, or negative. */
int tfs_write_all(int fd, struct tfs_span bytes);

/* Makes the directories on the way to `path`; what fails shows when something is opened there. */
void tfs_file_make_parents(char *path, mode_t mode);

/* Where programs of the user keep their state, to be freed; NULL: ENOENT, there is no home, or
 * ENOMEM. */
char *tfs_state_directory(void);

/* A descriptor of the directory `path`, to which no link may lead: the path of a save is resolved
 * when it is opened, so a link that is met later was put there to lead a write elsewhere. Negative
 * errno on failure; ELOOP: there is a link. */
int tfs_directory_open(const char *path);

/* 1: nothing is in the directory, 0, or negative errno. */
int tfs_directory_empty(const char *path);

/* Gives what is open in `fd` to the owner and group of another, as far as one may: a user other
 * than root keeps what it made. 0 or negative errno. */
int tfs_file_give(int fd, const struct stat *like);

/* Is `path` no longer the file with this identity (dev, ino, size, mtime, ctime)? 1, 0 or negative.
 * A missing file is 1. */
int tfs_file_changed(const char *path, const struct stat *st, struct tfs_error *err);

/* Can a replacement be made: are the directory and the file writable, can the new file have the
 * owner of the old one? 0 or negative, with a sentence that calls the file "it". */
int tfs_file_writable(const char *path, struct tfs_error *err);

/* Removes temp files of `path` that a killed process left: `.NAME.terrainfs-` and six letters or
 * digits, regular, locked by nobody. To be called under the lock of `path`, or where it is new. */
void tfs_file_remove_strays(const char *path);
/* Is there a temp file of `path`, left by a killed process, for which `is` is true? `is` may read
 * `fd`. */
bool tfs_file_find_stray(const char *path, bool (*is)(void *arg, int fd), void *arg);

/* Makes the name `path` durable. A program that was killed right after a rename, or whose last sync
 * failed, leaves a file that is there but that a power cut can still undo; from now on it cannot.
 * To be called under the lock of `path`. EIO. */
int tfs_file_settle(const char *path, struct tfs_error *err);
/* The same for all names in a directory; one that is not there has none. */
int tfs_directory_settle(const char *path, struct tfs_error *err);

/* The same for those in a directory that is open: negative errno when the disk failed. */
int tfs_directory_sync(int fd);

struct tfs_taking; /* what tfs_replacement_take needs */

/* The keeper of files that are replaced. */
struct tfs_keeper {
    /* Called right before the rename. `old` (fd -1: there is none) is at `path`. `new` is the file
     * that takes its place; its ctime will be another one. NULL: none does. The keeper may give the
     * old file a second name; that moves its ctime, so it updates old->st. A failure ends the
     * replacement. */
    int (*before)(struct tfs_keeper *keeper, const char *path, struct tfs_file_handle *old,
                  const struct stat *new, struct tfs_error *err);
};

/* Calls tfs_replacement_take once, holding the lock of those who read the old or the new file. The
 * disk is not waited for under it, unless the keeper copies the old file. Afterwards the handle of
 * the file says whether the rename took place. */
typedef void (*tfs_moment_fn)(void *arg, const struct tfs_taking *taking);

struct tfs_replacement {
    struct tfs_sink sink;      /* first: &r->sink is where to write */
    char *path;                /* NULL: released */
    char *temp;                /* its name in the directory */
    int directory;             /* fd */
    int fd;                    /* read and write, of the temp file */
    uint64_t size;             /* bytes written */
    uint64_t begun;            /* how many of them the disk was asked to write already */
    struct tfs_keeper *keeper; /* the caller sets it after opening; NULL: nobody */
    tfs_moment_fn moment;      /* the same; `moment_arg` is for it */
    void *moment_arg;
    uint8_t *buffer;
    size_t buffered;
};

/* Starts replacing the file `path` whose open handle is `old` (NULL: a file that must not exist
 * yet; it is its maker's alone until it is given). An owner, group, ACL or attribute that the new
 * file cannot get is a failure: a save never changes hands. A writer ignores SIGXFSZ, so that a
 * file size limit is EDQUOT here. */
int tfs_replacement_open(const char *path, const struct tfs_file_handle *old,
                         struct tfs_replacement *r, struct tfs_error *err);
/* Gives a file that was not there yet the owner and group of another, as tfs_file_give does, and
 * its permissions. */
int tfs_replacement_give(struct tfs_replacement *r, const struct stat *like, struct tfs_error *err);
/* The same, and its ACL and extended attributes: for what takes its place again. */
int tfs_replacement_give_all(struct tfs_replacement *r, const struct tfs_file_handle *like,
                             struct tfs_error *err);
/* Flushes the buffer and reads the whole temp file back: for the caller's verification. */
int tfs_replacement_read(struct tfs_replacement *r, struct tfs_blob **blob, struct tfs_error *err);
/* The same in pieces, for what is large; `readback` is to be released before the replacement ends,
 * also after a failure. */
int tfs_replacement_readback(struct tfs_replacement *r, struct tfs_readback *readback,
                             struct tfs_error *err);
/* Copies another file, and reads the copy back. EAGAIN: the file at that path is no longer that of
 * its handle. */
int tfs_replacement_copy(struct tfs_replacement *r, const struct tfs_file_handle *from,
                         struct tfs_error *err);
void tfs_replacement_take(const struct tfs_taking *taking);
/* fdatasync, identity of the old file (ESTALE when it is another by now; EEXIST for a new file that
 * exists by now), rename, fsync of the directory. `file`, the old handle (fd -1 for a new file), is
 * closed and becomes the new file's, with its lock. `r` is released either way; after a failure the
 * temp file is gone. Should only the directory's fsync fail, then the new file is in its place and
 * `file` is its handle, but whether it survives a power loss is unknown: EIO. */
int tfs_replacement_finish(struct tfs_replacement *r, struct tfs_file_handle *file,
                           struct tfs_error *err);
/* Takes the name `path` of `file`, which is open and stays so, in the `directory` that holds it,
 * with the same checks; nothing is durable yet. `keeper`: NULL or who keeps what goes. */
int tfs_file_remove(int directory, const char *path, struct tfs_file_handle *file,
                    struct tfs_keeper *keeper, struct tfs_error *err);
/* Removes the temp file. Does nothing after tfs_replacement_finish. */
void tfs_replacement_cancel(struct tfs_replacement *r);

#endif
