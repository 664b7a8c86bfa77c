/*
 * A session, mostly on the fake format, and the calls that programs make, by path and without
 * waiting in the test: each ends when its answer is there.
 */
#ifndef TFS_TESTS_SESSION_DRIVER_H
#define TFS_TESTS_SESSION_DRIVER_H

#include <pthread.h>

#include "fs/session/session.h"

#define TEST_MESSAGES 65536

extern struct tfs_save *save;
extern struct tfs_session *session;
extern char messages[TEST_MESSAGES]; /* what the session told since it was opened */

struct answer {
    pthread_mutex_t lock;
    pthread_cond_t come;
    bool done;
    int result;
    struct tfs_attr attr;
};

void answered(void *arg, int result, const struct tfs_attr *attr);

#define REPLY(a) ((struct tfs_reply){answered, a})

/* Opens `session` on a new fake save. */
void open_with(struct tfs_session_options options);
/* The same on a save that was opened; tfs_session_close closes it. */
void open_save_with(struct tfs_save *opened, struct tfs_session_options options);
void answer_init(struct answer *a);
int answer_wait(struct answer *a);
/* Status of FLUSH and FSYNC. */
int flush(struct tfs_handle *handle);
int sync_file(struct tfs_handle *handle);
/* Status of close(2) of the only descriptor: FLUSH, then RELEASE. */
int close_file(struct tfs_handle *handle);
/* Id of the directory that holds the last component, which *name becomes; 0: there is none. */
uint64_t parent_of(const char *path, const char **name);
/* Looks a path up. */
int look(const char *path, struct tfs_attr *attr);
bool exists(const char *path);
/* Opens a path as the kernel does, which looks it up again after ESTALE, once: 0 or negative. */
int open_found(const char *path, int flags, struct tfs_handle **handle);
/* Opens a path, or creates it. */
struct tfs_handle *open_path(const char *path, int flags);
int write_text(struct tfs_handle *handle, uint64_t offset, const char *text);
/* What `echo > path` does: the status of close. */
int put(const char *path, const char *text);
/* What a read gives, or the words for its error. Static storage. */
const char *text_of_handle(struct tfs_handle *handle);
const char *cat(const char *path);
int make_directory(const char *path, struct tfs_attr *attr);
int remove_directory(const char *path);
int rename_path(const char *from, const char *to);
int unlink_path(const char *path);
int sync_directory(const char *path);
/* Waits for something that comes with time; false after a generous while. */
bool comes(bool (*holds)(const char *), const char *arg);
/* Gives all entries of a directory, in as many calls as it takes: 0 or negative. */
int list_entries(const char *path, tfs_dirent_fn give, void *arg);
/* The names in a directory, each with a blank behind it. Static storage. */
const char *list(const char *path);

#endif
