/* Calls of a session as programs make them: see session_driver.h. */
#include "session_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session_format.h"
#include "must.h"

struct tfs_save *save;
struct tfs_session *session;
char messages[TEST_MESSAGES];
static pthread_mutex_t message_lock = PTHREAD_MUTEX_INITIALIZER;

static void on_message(void *arg, const char *line)
{
    (void)arg;
    pthread_mutex_lock(&message_lock);
    if (strlen(messages) + strlen(line) + 2 < sizeof(messages))
        strcat(strcat(messages, line), "\n");
    pthread_mutex_unlock(&message_lock);
}

void open_with(struct tfs_session_options options)
{
    open_save_with(fake_save_create(), options);
}

void open_save_with(struct tfs_save *opened, struct tfs_session_options options)
{
    struct tfs_error err = {0};
    struct tfs_events events = {.message = on_message};
    options.scratch_limit = options.scratch_limit ? options.scratch_limit : 1 << 20;
    options.cache_limit = options.cache_limit ? options.cache_limit : 1 << 20;
    options.exit_fd = -1;
    messages[0] = '\0';
    save = opened;
    must(tfs_session_open(save, &options, &events, &session, &err) == 0, err.text);
}

/* ---- calls that answer later ---- */

void answered(void *arg, int result, const struct tfs_attr *attr)
{
    struct answer *a = arg;
    pthread_mutex_lock(&a->lock);
    a->done = true;
    a->result = result;
    if (attr != NULL)
        a->attr = *attr;
    pthread_cond_signal(&a->come);
    pthread_mutex_unlock(&a->lock);
}

void answer_init(struct answer *a)
{
    *a = (struct answer){.lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER};
}

int answer_wait(struct answer *a)
{
    pthread_mutex_lock(&a->lock);
    while (!a->done)
        pthread_cond_wait(&a->come, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return a->result;
}

int flush(struct tfs_handle *handle)
{
    struct answer a;
    answer_init(&a);
    tfs_session_flush(session, handle, 1, REPLY(&a));
    return answer_wait(&a);
}

int sync_file(struct tfs_handle *handle)
{
    struct answer a;
    answer_init(&a);
    tfs_session_fsync(session, handle, REPLY(&a));
    return answer_wait(&a);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static int find_parent(const char *path, uint64_t *parent, const char **name)
{
    static char copy[256];
    *parent = 1;
    strcpy(copy, path);
    char *rest = copy;
    for (;;) {
        char *part = strsep(&rest, "/");
        *name = part;
        if (rest == NULL)
            return 0;
        struct tfs_attr attr;
        int result = tfs_session_lookup(session, *parent, part, &attr);
        if (result < 0)
            return result;
        *parent = attr.id;
    }
}

uint64_t parent_of(const char *path, const char **name)
{
    uint64_t parent;
    return find_parent(path, &parent, name) < 0 ? 0 : parent;
}

int look(const char *path, struct tfs_attr *attr)
{
    const char *name;
    uint64_t parent;
    int result = find_parent(path, &parent, &name);
    return result < 0 ? result : tfs_session_lookup(session, parent, name, attr);
}

bool exists(const char *path)
{
    struct tfs_attr attr;
    return look(path, &attr) == 0;
}

int open_found(const char *path, int flags, struct tfs_handle **handle)
{
    struct tfs_attr attr;
    bool keep;
    int result = -ESTALE;
    for (int tries = 0; tries < 2 && result == -ESTALE; tries++) {
        result = look(path, &attr);
        if (result == 0)
            result = tfs_session_open_file(session, attr.id, flags, handle, &keep);
    }
    return result;
}

struct tfs_handle *open_path(const char *path, int flags)
{
    struct tfs_attr attr;
    struct tfs_handle *handle = NULL;
    const char *name;
    int result = open_found(path, flags, &handle);
    if (result == 0)
        return handle;
    must(result == -ENOENT, path);
    uint64_t parent = parent_of(path, &name);
    must(parent != 0 &&
             tfs_session_create(session, parent, name, 0644, 0, 0, flags, &handle, &attr) == 0,
         path);
    return handle;
}

int write_text(struct tfs_handle *handle, uint64_t offset, const char *text)
{
    return tfs_session_write(session, handle, 1, offset, tfs_span_of(text), false);
}

int close_file(struct tfs_handle *handle)
{
    int result = flush(handle);

    tfs_session_release(session, handle);
    return result;
}

int put(const char *path, const char *text)
{
    struct tfs_handle *handle = open_path(path, O_WRONLY | O_TRUNC);
    must(write_text(handle, 0, text) == 0, path);
    return close_file(handle);
}

const char *text_of_handle(struct tfs_handle *handle)
{
    static char text[256];
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes = {0};
    int result = tfs_session_read(session, handle, 1, 0, sizeof(text) - 1, &hold, &bytes);
    if (result < 0)
        return strerror(-result);
    if (bytes.size > 0)
        memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    tfs_blob_unref(hold);
    return text;
}

const char *cat(const char *path)
{
    struct tfs_handle *handle;
    int result = open_found(path, O_RDONLY, &handle);
    if (result < 0)
        return strerror(-result);
    const char *text = text_of_handle(handle);
    tfs_session_release(session, handle);
    return text;
}

int make_directory(const char *path, struct tfs_attr *attr)
{
    struct answer a;
    const char *name;
    uint64_t parent = parent_of(path, &name);
    answer_init(&a);
    tfs_session_mkdir(session, parent, name, 0755, 0, 0, REPLY(&a));
    int result = answer_wait(&a);
    *attr = a.attr;
    return result;
}

int remove_directory(const char *path)
{
    struct answer a;
    const char *name;
    uint64_t parent = parent_of(path, &name);
    answer_init(&a);
    tfs_session_rmdir(session, parent, name, REPLY(&a));
    return answer_wait(&a);
}

int rename_path(const char *from, const char *to)
{
    struct answer a;
    char from_name[64];
    const char *name;
    uint64_t parent = parent_of(from, &name);
    strcpy(from_name, name);
    uint64_t new_parent = parent_of(to, &name);
    answer_init(&a);
    tfs_session_rename(session, parent, from_name, new_parent, name, false, REPLY(&a));
    return answer_wait(&a);
}

int unlink_path(const char *path)
{
    const char *name;
    uint64_t parent = parent_of(path, &name);
    return tfs_session_unlink(session, parent, name);
}

int sync_directory(const char *path)
{
    struct answer a;
    struct tfs_attr attr;
    must(look(path, &attr) == 0, path);
    answer_init(&a);
    tfs_session_fsync_directory(session, attr.id, REPLY(&a));
    return answer_wait(&a);
}

/* Waits for something that comes with time; false after a generous while. */
bool comes(bool (*holds)(const char *), const char *arg)
{
    for (int i = 0; i < 3000; i++) {
        if (holds(arg))
            return true;
        usleep(10000);
    }
    return false;
}

struct listing {
    tfs_dirent_fn give;
    void *arg;
    uint64_t next;
    bool more;
};

static bool list_entry(void *arg, const struct tfs_dirent *entry)
{
    struct listing *l = arg;
    l->next = entry->next;
    l->more = true;
    return l->give(l->arg, entry);
}

int list_entries(const char *path, tfs_dirent_fn give, void *arg)
{
    struct listing l = {.give = give, .arg = arg, .more = true};
    struct tfs_attr attr = {.id = 1};
    int result = path[0] != '\0' ? look(path, &attr) : 0;
    while (result == 0 && l.more) {
        l.more = false;
        result = tfs_session_read_directory(session, attr.id, l.next, true, list_entry, &l);
    }
    return result;
}

static bool list_name(void *arg, const struct tfs_dirent *entry)
{
    strcat(strcat(arg, entry->name), " ");
    return true;
}

const char *list(const char *path)
{
    static char names[1024];
    names[0] = '\0';
    int result = list_entries(path, list_name, names);
    return result < 0 ? strerror(-result) : names;
}
