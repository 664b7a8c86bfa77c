/*
 * Files about to be replaced -> a generation: see undo.h.
 *
 * Must not know any format. The first replacement of each file since the generation began keeps
 * it; so does the first after another program changed it, in a generation of its own. All files of
 * one commit are in one generation: they are announced before the first is replaced. The order,
 * so that a cut leaves a generation that tells what it has:
 *   1. the line of the manifest; 2. the link; 3. (the caller's rename;) 4. what was left.
 * A file of which 4 is missing and that is still at its place was not replaced.
 *
 * Two threads: that of the commits, and one that makes copies and looks after the limits. They
 * share the queue, the notice and `given_up`, under the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/journal.h"
#include "base/print.h"
#include "formats/undo/disk.h"

#define JOIN_SECONDS 600

/* A copy to be made of what is open in `fd`. */
struct pending {
    struct pending *next;
    int fd;
    struct stat st;
    char *path;
};

struct undo {
    struct tfs_keeper keeper; /* first */
    struct tfs_undo_options options;
    enum tfs_undo_kind kind;
    char *path;
    size_t root; /* bytes of `path` before the paths of its files */
    bool begun;
    bool unused; /* this process made the generation, and nothing of it was replaced yet */
    struct tfs_undo_place place;
    struct tfs_generation now;
    int directory, files, manifest, left; /* of the generation; -1 */
    uint64_t bytes;                       /* kept in it */

    pthread_mutex_t lock;
    struct pending *queue, **queue_end;
    struct pending *held; /* for the queue once the file was replaced; not under the lock */
    bool given_up, dirty;
    bool noted;   /* what was left, and it is not durable yet */
    bool resumed; /* what is kept now is of a process that was killed: */
    uint32_t run; /* of this one */
    char notice[TFS_ERROR_TEXT];

    pthread_t thread;
    bool started, running; /* running: under the lock */
};

static struct undo *undo_of(struct tfs_keeper *keeper)
{
    return (struct undo *)keeper;
}

/* ---- the generation -------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_generation(struct undo *u)
{
    close_fd(&u->directory);
    close_fd(&u->files);
    close_fd(&u->manifest);
    close_fd(&u->left);
    tfs_generation_release(&u->now);
    u->begun = u->unused = false;
    u->bytes = 0;
}

static void remove_generation(struct undo *u)
{
    char name[16];

    snprintf(name, sizeof(name), "%u", u->now.number);
    if (u->begun && u->place.own >= 0)
        tfs_undo_remove(u->place.own, name);
}

/* Nothing of the generation is of use when a file of it is missing. */
static void give_up(struct undo *u, const struct tfs_error *why)
{
    pthread_mutex_lock(&u->lock);
    if (!u->given_up)
        snprintf(u->notice, sizeof(u->notice),
                 "the version before this edit is not kept for undo: %.300s", why->text);
    u->given_up = true;
    pthread_mutex_unlock(&u->lock);
    remove_generation(u);
}

static bool has_given_up(struct undo *u)
{
    pthread_mutex_lock(&u->lock);
    bool given_up = u->given_up;
    pthread_mutex_unlock(&u->lock);
    return given_up;
}

/* A last line that was not written to its end is none: what is appended must not complete it. */
static int cut_torn_line(int manifest)
{
    const off_t end = lseek(manifest, 0, SEEK_END);
    off_t at = end;

    for (char c = 0; at > 0 && pread(manifest, &c, 1, at - 1) == 1 && c != '\n';)
        at--;
    return at == end ? 0 : ftruncate(manifest, at);
}

static int open_files(struct undo *u, bool make, struct tfs_error *err)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT | O_EXCL : O_APPEND);
    char name[16];

    snprintf(name, sizeof(name), "%u", u->now.number);
    u->directory = tfs_undo_directory(u->place.own, name, make, err);
    if (u->directory >= 0)
        u->files = tfs_undo_directory(u->directory, TFS_UNDO_FILES, make, err);
    if (err->code < 0)
        return err->code;
    u->manifest = openat(u->directory, TFS_UNDO_MANIFEST, flags, 0600);
    u->left =
        openat(u->directory, TFS_UNDO_LEFT, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (u->manifest < 0 || u->left < 0 || (!make && cut_torn_line(u->manifest) < 0))
        return tfs_fail_errno(err, "the list of files cannot be made");
    return 0;
}

static int write_manifest(struct undo *u, const struct tfs_buf *text, struct tfs_error *err)
{
    if (tfs_buf_check(text, err) < 0)
        return err->code;
    ssize_t n = write(u->manifest, text->data, text->size);
    if (n < 0)
        return tfs_fail(err, tfs_write_code(errno), "the list of files cannot be written: %s",
                        strerror(errno));
    return n == (ssize_t)text->size ? 0 : tfs_fail(err, -ENOSPC, "the disk is full");
}

/* Saves that one process changes belong together: those of a world. */
static void add_run(const struct undo *u, struct tfs_buf *out)
{
    for (size_t i = 0; i < u->options.run_count; i++)
        tfs_manifest_run(u->options.runs[i], out);
    if (u->options.run_count == 0)
        tfs_manifest_run(u->resumed ? u->run : tfs_journal_run(), out);
}

static int begin_new(struct undo *u, struct tfs_error *err)
{
    struct tfs_buf head = {0};
    unsigned *numbers = NULL;
    size_t count = 0;

    if (tfs_undo_numbers(u->place.own, &numbers, &count, err) < 0)
        return err->code;
    u->now =
        (struct tfs_generation){.number = count == 0 ? 1 : numbers[count - 1] + 1,
                                .kind = u->kind,
                                .time = u->options.run_count > 0 ? u->options.time : time(NULL),
                                .undoes = u->options.undoes,
                                .save = strdup(u->path)};
    free(numbers);
    u->begun = u->unused = true;
    if (u->now.save == NULL)
        return tfs_fail_memory(err);
    tfs_manifest_head(&u->now, &head);
    add_run(u, &head);
    if (open_files(u, true, err) == 0)
        write_manifest(u, &head, err);
    tfs_buf_release(&head);
    return err->code;
}

/* ---- joining the last one -------------------------------------------------------------------- */

static const struct tfs_undo_wrote *find_wrote(const struct undo *u, const struct tfs_undo_cut *cut,
                                               const char *path)
{
    for (size_t i = 0; i < cut->count; i++)
        if (strcmp(cut->wrote[i].path + u->root, path) == 0)
            return &cut->wrote[i];
    return NULL;
}

/* Is every file at its place what we left there, and is there each that was written? */
static bool is_as_left(const struct undo *u, const struct tfs_generation *generation,
                       const struct tfs_undo_cut *cut)
{
    size_t written = 0;

    for (size_t i = 0; i < generation->count; i++) {
        const struct tfs_undo_file *file = &generation->files[i];
        const struct tfs_undo_wrote *wrote = find_wrote(u, cut, file->path);
        char *path = tfs_undo_target(u->path, generation, file->path);
        struct tfs_undo_mark now = tfs_undo_mark_at(path);
        free(path);
        written += wrote != NULL;
        if (!tfs_undo_mark_same(now, wrote != NULL    ? tfs_undo_mark_of(&wrote->st)
                                     : file->replaced ? file->left
                                                      : file->was))
            return false;
    }
    return written == cut->count;
}

static bool may_join(const struct undo *u, const struct tfs_generation *generation,
                     const struct tfs_undo_cut *cut)
{
    const int64_t now = time(NULL);
    const bool young = generation->time <= now && now - generation->time < JOIN_SECONDS;
    struct tfs_error ignored = {0};

    if (u->options.when == TFS_UNDO_REDO)
        return generation->undoes == u->options.undoes;
    return (u->resumed ? cut->run != 0 && generation->run == cut->run
                       : u->options.when == TFS_UNDO_COMMAND && young) &&
           generation->kind == u->kind && generation->undoes == 0 &&
           is_as_left(u, generation, cut) &&
           tfs_undo_check(u->path, generation, NULL, true, &ignored) == 0;
}

/* 1: joined, 0: there is none to join. */
static int join_last(struct undo *u, const struct tfs_undo_cut *cut, struct tfs_error *err)
{
    struct tfs_generations list = TFS_GENERATIONS_NONE;
    struct tfs_buf line = {0};
    int result = 0;

    if (u->options.when == TFS_UNDO_MOUNT && !u->resumed)
        return 0;
    if (tfs_undo_read(u->path, &u->options, &list, err) < 0)
        return err->code;
    if (list.count > 0 && strcmp(list.items[0].save, u->path) == 0 &&
        may_join(u, &list.items[0], cut)) {
        u->now = list.items[0];
        list.items[0] = (struct tfs_generation){0};
        u->bytes = tfs_generation_size(&u->now);
        u->begun = true;
        /* Who ends what another process began is none of those that belong together. */
        if (!u->resumed)
            add_run(u, &line);
        result = open_files(u, false, err) < 0 || write_manifest(u, &line, err) < 0 ? err->code : 1;
        tfs_buf_release(&line);
    }
    tfs_generations_release(&list);
    return result;
}

static int open_place(struct undo *u, struct tfs_error *err)
{
    if (u->place.own >= 0)
        return 0;
    return tfs_undo_place_open(u->path, &u->options, true, &u->place, err) < 0 ? err->code : 0;
}

static int begin(struct undo *u, struct tfs_error *err)
{
    const struct tfs_undo_cut none = {0};

    if (open_place(u, err) < 0)
        return err->code;
    int joined = u->resumed ? 0 : join_last(u, &none, err);
    return joined == 0 ? begin_new(u, err) : joined < 0 ? joined : 0;
}

/* Behind a power cut the next undo asks for --force without it. */
static int note_left(struct undo *u, size_t number, struct tfs_undo_mark left)
{
    const int result = tfs_undo_note_left(u->left, number, left);

    pthread_mutex_lock(&u->lock);
    u->noted = true;
    pthread_mutex_unlock(&u->lock);
    return result;
}

/* Each file that was written is left as it is now. */
static void note_cut(struct undo *u, const struct tfs_undo_cut *cut)
{
    for (size_t i = 0; i < u->now.count; i++) {
        struct tfs_undo_file *file = &u->now.files[i];
        const struct tfs_undo_wrote *wrote = find_wrote(u, cut, file->path);
        if (wrote == NULL)
            continue;
        file->left = tfs_undo_mark_of(&wrote->st);
        file->replaced = note_left(u, i, file->left) == 0;
    }
}

/* ---- copies, made later ---------------------------------------------------------------------- */

static void free_pending(struct pending *pending)
{
    close(pending->fd);
    free(pending->path);
    free(pending);
}

/* A copy takes the place of a link, which moves the ctime of the old file: nobody compares that any
 * more. */
static void queue_held(struct undo *u)
{
    struct pending *pending = u->held;

    if (pending == NULL)
        return;
    u->held = NULL;
    pthread_mutex_lock(&u->lock);
    *u->queue_end = pending;
    u->queue_end = &pending->next;
    pthread_mutex_unlock(&u->lock);
}

static void hold_copy(struct undo *u, int fd, const struct stat *st, const char *path,
                      struct tfs_error *err)
{
    struct pending *pending = calloc(1, sizeof(*pending));
    char *copy = strdup(path);
    int held = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (pending == NULL || copy == NULL || held < 0) {
        tfs_fail(err, held < 0 ? -errno : -ENOMEM, "the old file cannot be held");
        free(pending);
        free(copy);
        close_fd(&held);
        return;
    }
    *pending = (struct pending){NULL, held, *st, copy};
    queue_held(u);
    u->held = pending;
}

static struct pending *take_pending(struct undo *u)
{
    pthread_mutex_lock(&u->lock);
    struct pending *pending = u->queue;
    if (pending != NULL) {
        u->queue = pending->next;
        if (u->queue == NULL)
            u->queue_end = &u->queue;
    }
    pthread_mutex_unlock(&u->lock);
    return pending;
}

/* The limits, and what makes links and names durable. */
static void settle(struct undo *u)
{
    pthread_mutex_lock(&u->lock);
    bool dirty = u->dirty, noted = u->noted;
    u->dirty = u->noted = false;
    pthread_mutex_unlock(&u->lock);
    if (noted && u->left >= 0)
        (void)fdatasync(u->left);
    if (!dirty)
        return;
    tfs_undo_prune(u->place.base, &tfs_undo_limits);
    if (u->manifest >= 0)
        (void)fdatasync(u->manifest);
    const int names[] = {u->files, u->directory, u->place.own, u->place.base};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i] >= 0)
            (void)fsync(names[i]);
}

static void work_off(struct undo *u)
{
    struct pending *pending;
    struct tfs_error why = {0};

    while ((pending = take_pending(u)) != NULL) {
        if (!has_given_up(u) &&
            tfs_undo_copy_file(pending->fd, &pending->st, u->files, pending->path, &why) < 0)
            give_up(u, &why);
        free_pending(pending);
        tfs_error_reset(&why);
    }
    settle(u);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool has_work(const struct undo *u)
{
    return u->queue != NULL || u->dirty || u->noted;
}

static void *work(void *arg)
{
    struct undo *u = arg;

    for (bool more = true; more;) {
        work_off(u);
        pthread_mutex_lock(&u->lock);
        more = has_work(u);
        u->running = more;
        pthread_mutex_unlock(&u->lock);
    }
    return NULL;
}

/* A commit does not wait for it; but where no thread can be had, for the copies. */
static void start_work(struct undo *u)
{
    pthread_mutex_lock(&u->lock);
    bool start = has_work(u) && !u->running;
    u->running = u->running || start;
    pthread_mutex_unlock(&u->lock);
    if (!start)
        return;
    if (u->started)
        pthread_join(u->thread, NULL);
    u->started = pthread_create(&u->thread, NULL, work, u) == 0;
    if (!u->started)
        work(u);
}

void tfs_undo_finish(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return;
    queue_held(u);
    if (u->started)
        pthread_join(u->thread, NULL);
    u->started = false;
    work(u);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static struct tfs_undo_file *find_file(const struct undo *u, const char *path, size_t *number)
{
    for (size_t i = 0; u->begun && i < u->now.count; i++)
        if (strcmp(u->now.files[i].path, path) == 0) {
            *number = i;
            return &u->now.files[i];
        }
    return NULL;
}

static int add_file(struct undo *u, const char *path, struct tfs_undo_mark was,
                    struct tfs_error *err)
{
    struct tfs_undo_file file = {.path = strdup(path), .was = was};
    struct tfs_undo_file *files = tfs_array_grow(u->now.files, u->now.count, sizeof(*files));
    struct tfs_buf line = {0};

    if (files != NULL)
        u->now.files = files;
    if (file.path == NULL || files == NULL) {
        free(file.path);
        return tfs_fail_memory(err);
    }
    tfs_manifest_file(&file, &line);
    if (write_manifest(u, &line, err) == 0) {
        u->now.files[u->now.count++] = file;
        u->bytes += (uint64_t)was.size;
        file.path = NULL;
    }
    tfs_buf_release(&line);
    free(file.path);
    return err->code;
}

static int check_cap(const struct undo *u, const struct tfs_undo_mark *was, struct tfs_error *err)
{
    const uint64_t bytes = u->bytes + (uint64_t)was->size;

    if (bytes <= tfs_undo_limits.bytes)
        return 0;
    return tfs_fail(err, -EFBIG, "it has %" PRIu64 " bytes, at most %" PRIu64 " are kept", bytes,
                    tfs_undo_limits.bytes);
}

/* A second name moves the ctime of a file, when it comes and when it goes. What differs more is
 * another's doing, which whoever replaces the file will find. */
static void note_ctime(struct tfs_file_handle *old)
{
    const struct timespec *was = &old->st.st_mtim;
    struct stat now;

    if (old->fd >= 0 && fstat(old->fd, &now) == 0 && now.st_size == old->st.st_size &&
        now.st_mtim.tv_sec == was->tv_sec && now.st_mtim.tv_nsec == was->tv_nsec)
        old->st = now;
}

/* Gives the file a second name; false: it has none. By now another file may be at its path. */
static bool link_file(struct undo *u, const char *path, int directory, struct tfs_file_handle *old)
{
    const char *rel = path + u->root;
    const char *name = strrchr(path, '/') + 1;
    struct stat now, linked;

    if (linkat(directory, name, u->files, rel, 0) < 0)
        return false;
    const bool same = fstat(old->fd, &now) == 0 &&
                      fstatat(u->files, rel, &linked, AT_SYMLINK_NOFOLLOW) == 0 &&
                      now.st_dev == linked.st_dev && now.st_ino == linked.st_ino &&
                      tfs_undo_mark_same(tfs_undo_mark_of(&now), tfs_undo_mark_of(&old->st));
    if (!same)
        (void)unlinkat(u->files, rel, 0);
    note_ctime(old);
    return same;
}

static int keep_file(struct undo *u, const char *path, int directory, struct tfs_file_handle *old,
                     struct tfs_error *err)
{
    const char *rel = path + u->root;

    if (old->fd < 0)
        return 0;
    int result = tfs_undo_parents(u->files, rel);
    if (result < 0)
        return tfs_fail(err, result, "its directory cannot be made: %s", strerror(-result));
    /* What a game goes on writing into would change under its second name, too. */
    const bool written = tfs_file_is_written(old->fd);
    /* What must be kept is copied before anything takes its place: a copy can fail. */
    if (u->options.must)
        return !written && link_file(u, path, directory, old)
                   ? 0
                   : tfs_undo_copy_file(old->fd, &old->st, u->files, rel, err);
    if (!link_file(u, path, directory, old) || written)
        hold_copy(u, old->fd, &old->st, rel, err);
    return err->code;
}

/* Another generation begins, of what another program made of the save: also where an undo goes on,
 * whose generation has what was there before that. */
static void leave_generation(struct undo *u)
{
    tfs_undo_finish(&u->keeper);
    close_generation(u);
    u->options.when = TFS_UNDO_MOUNT;
}

/* 1: the file is to be kept now, and is in the manifest; 0: it was kept before. */
static int enter_file(struct undo *u, const char *path, struct tfs_undo_mark was,
                      struct tfs_error *err)
{
    size_t number;
    const struct tfs_undo_file *file = find_file(u, path, &number);

    if (file == NULL && !u->begun) {
        if (check_cap(u, &was, err) < 0 || begin(u, err) < 0)
            return err->code;
        file = find_file(u, path, &number);
    }
    if (file != NULL) {
        if (tfs_undo_mark_same(was, file->replaced ? file->left : file->was))
            return 0;
        leave_generation(u);
        if (begin(u, err) < 0)
            return err->code;
    }
    if (check_cap(u, &was, err) < 0 || add_file(u, path, was, err) < 0)
        return err->code;
    return 1;
}

/* Was the program that wrote the line of the manifest killed before it made the link? The file is
 * still there. */
static bool was_cut(const struct undo *u, const char *rel)
{
    struct stat st;
    size_t number;
    const struct tfs_undo_file *file = find_file(u, rel, &number);

    return file != NULL && !file->replaced && file->was.ino != 0 &&
           fstatat(u->files, rel, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* A generation of which nothing was replaced would only hide the one before it; and one whose copy
 * failed would count as kept, once the save was written without it. */
static void drop_unused(struct undo *u)
{
    if (u->unused && u->held != NULL) {
        free_pending(u->held);
        u->held = NULL;
    }
    tfs_undo_finish(&u->keeper);
    if (u->unused) {
        remove_generation(u);
        close_generation(u);
    }
}

/* Whatever fails keeps nothing from being written, unless `undo` itself asks: then what was kept
 * before it of other files stays, for they were replaced. */
static int conclude(struct undo *u, const struct tfs_error *why, struct tfs_error *err)
{
    if (why->code < 0 && u->options.must) {
        drop_unused(u);
        return tfs_fail(err, why->code,
                        "what is there now cannot be kept: %s; -o backup=no --force puts the "
                        "earlier version in its place all the same",
                        why->text);
    }
    if (why->code < 0)
        give_up(u, why);
    return 0;
}

static int before(struct tfs_keeper *keeper, const char *path, int directory,
                  struct tfs_file_handle *old, struct tfs_error *err)
{
    struct undo *u = undo_of(keeper);
    struct tfs_undo_mark was = {0};
    struct tfs_error why = {0};

    if (has_given_up(u))
        return 0;
    if (old->fd >= 0)
        was = tfs_undo_mark_of(&old->st);
    if (enter_file(u, path + u->root, was, &why) > 0 || was_cut(u, path + u->root)) {
        keep_file(u, path, directory, old, &why);
        pthread_mutex_lock(&u->lock);
        u->dirty = true;
        pthread_mutex_unlock(&u->lock);
    }
    return conclude(u, &why, err);
}

/* All that moves the ctime of the old file has to be over. */
static void failed(struct tfs_keeper *keeper, struct tfs_file_handle *old)
{
    drop_unused(undo_of(keeper));
    note_ctime(old);
}

static void after(struct tfs_keeper *keeper, const char *path, const struct stat *now)
{
    struct undo *u = undo_of(keeper);
    struct tfs_undo_mark left = {0};
    size_t number;
    struct tfs_undo_file *file = find_file(u, path + u->root, &number);

    queue_held(u);
    if (file == NULL || has_given_up(u))
        return;
    u->unused = false;
    if (now != NULL)
        left = tfs_undo_mark_of(now);
    file->left = left;
    file->replaced = note_left(u, number, left) == 0;
    start_work(u);
}

void tfs_undo_expect(struct tfs_keeper *keeper, const char *path)
{
    struct undo *u = undo_of(keeper);
    const struct tfs_undo_file *file;
    size_t number;

    if (u == NULL || has_given_up(u))
        return;
    file = find_file(u, path + u->root, &number);
    if (file != NULL &&
        !tfs_undo_mark_same(tfs_undo_mark_at(path), file->replaced ? file->left : file->was))
        leave_generation(u);
}

void tfs_undo_resume(struct tfs_keeper *keeper, const struct tfs_undo_cut *cut)
{
    struct undo *u = undo_of(keeper);
    struct tfs_error why = {0};

    if (u == NULL)
        return;
    u->resumed = true;
    u->run = cut->run;
    int joined = open_place(u, &why);
    if (joined == 0)
        joined = join_last(u, cut, &why);
    if (joined > 0) {
        note_cut(u, cut);
    } else if (cut->half) {
        if (joined == 0)
            tfs_fail(&why, -ENOENT, "a commit that was cut kept nothing that can be used");
        give_up(u, &why);
    } else {
        close_generation(u);
    }
}

void tfs_undo_leave(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL || !u->resumed)
        return;
    tfs_undo_finish(keeper);
    close_generation(u);
    pthread_mutex_lock(&u->lock);
    u->given_up = u->resumed = false;
    pthread_mutex_unlock(&u->lock);
}

int tfs_undo_copy(struct tfs_keeper *keeper, const char *path, const struct stat *now,
                  tfs_undo_copy_fn copy, void *arg, struct tfs_error *err)
{
    struct undo *u = undo_of(keeper);
    struct tfs_error why = {0};
    char *target = NULL;

    if (u == NULL || !u->options.databases || has_given_up(u))
        return 0;
    if (enter_file(u, path + u->root, tfs_undo_mark_of(now), &why) > 0) {
        if (tfs_print(&target, "%s/%u/" TFS_UNDO_FILES "/%s", u->place.own_path, u->now.number,
                      path + u->root) < 0) {
            target = NULL;
            tfs_fail_memory(&why);
        } else if (copy(arg, target, &why) == 0 && chmod(target, now->st_mode & 0777) < 0) {
            tfs_fail_errno(&why, "the copy cannot get its permissions");
        }
        u->dirty = true;
    }
    free(target);
    return conclude(u, &why, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

int tfs_undo_open(const char *path, enum tfs_undo_kind kind, const struct tfs_undo_options *options,
                  struct tfs_keeper **keeper, struct tfs_error *err)
{
    struct undo *u = calloc(1, sizeof(*u));
    char *copy = strdup(path);

    if (u == NULL || copy == NULL) {
        free(u);
        free(copy);
        return tfs_fail_memory(err);
    }
    *u = (struct undo){.keeper = {before, after, failed},
                       .options = *options,
                       .kind = kind,
                       .path = copy,
                       .root = kind == TFS_UNDO_FOLDER ? strlen(path) + 1
                                                       : (size_t)(strrchr(copy, '/') + 1 - copy),
                       .place = {-1, -1, NULL},
                       .directory = -1,
                       .files = -1,
                       .manifest = -1,
                       .left = -1};
    u->queue_end = &u->queue;
    pthread_mutex_init(&u->lock, NULL);
    *keeper = &u->keeper;
    return 0;
}

void tfs_undo_close(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return;
    tfs_undo_finish(keeper);
    close_generation(u);
    tfs_undo_place_close(&u->place);
    pthread_mutex_destroy(&u->lock);
    free(u->path);
    free(u);
}

bool tfs_undo_notice(struct tfs_keeper *keeper, char notice[TFS_ERROR_TEXT])
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return false;
    pthread_mutex_lock(&u->lock);
    bool told = u->notice[0] != '\0';
    memcpy(notice, u->notice, TFS_ERROR_TEXT);
    u->notice[0] = '\0';
    pthread_mutex_unlock(&u->lock);
    return told;
}
