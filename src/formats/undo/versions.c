/*
 * What is in the versions of a save: their lists (docs/journal.md, section 7), and the save beside
 * them.
 *
 * A list is read as any other foreign file: a path in it leads nowhere but below the version and
 * below the save.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/print.h"
#include "formats/undo/versions.h"
#include "text/name.h"

#define HEAD       "terrainfs undo 2"
#define MARK       "%20" PRIu64 " %20" PRId64 " %20" PRId64 " %9ld "
#define MARK_WIDTH 73

static const char *const kinds[TFS_UNDO_KINDS] = {
    [TFS_UNDO_FILE] = "file", [TFS_UNDO_FOLDER] = "folder", [TFS_UNDO_DATABASE] = "database"};

static const struct tfs_undo_mark unknown = {.size = -1};

/* ---- writing a list -------------------------------------------------------------------------- */

static int put(int fd, int64_t at, const struct tfs_buf *text, struct tfs_error *err)
{
    if (tfs_buf_check(text, err) < 0)
        return err->code;
    const ssize_t n = pwrite(fd, text->data, text->size, at);
    if (n == (ssize_t)text->size)
        return 0;
    const int code = n < 0 ? errno : ENOSPC;
    return tfs_fail(err, tfs_write_code(code), "the list of files cannot be written: %s",
                    strerror(code));
}

static void print_mark(struct tfs_buf *out, struct tfs_undo_mark mark)
{
    tfs_buf_printf(out, MARK, mark.ino, mark.size, (int64_t)mark.mtime.tv_sec, mark.mtime.tv_nsec);
}

int tfs_version_go_on(const struct tfs_version *version, int *fd, struct tfs_error *err)
{
    char *list = tfs_undo_join(version->path, TFS_UNDO_LIST);

    if (list == NULL)
        return tfs_fail_memory(err);
    *fd = open(list, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(list);
    /* A last line that was not written to its end is none: what follows must not complete it. */
    if (*fd < 0 || ftruncate(*fd, version->end) < 0)
        return tfs_fail(err, tfs_write_code(errno), "the list of files cannot be opened: %s",
                        strerror(errno));
    return 0;
}

static int make(const char *path, struct tfs_error *err)
{
    if (mkdir(path, 0700) < 0)
        tfs_fail(err, tfs_write_code(errno), "a directory for it cannot be made: %s",
                 strerror(errno));
    return err->code;
}

/* With the list in it, before it has its name: it is a version then. */
static int make_version(struct tfs_version *version, const struct tfs_buf *head, int *fd,
                        struct tfs_error *err)
{
    struct tfs_version part = {0};
    char *files = NULL;

    if (tfs_print(&part.path, "%s" TFS_UNDO_GONE, version->path) < 0 ||
        tfs_print(&files, "%s/" TFS_UNDO_FILES, part.path) < 0)
        tfs_fail_memory(err);
    else if (make(part.path, err) == 0 && make(files, err) == 0 &&
             tfs_version_go_on(&part, fd, err) == 0 && put(*fd, 0, head, err) == 0 &&
             rename(part.path, version->path) < 0)
        tfs_fail_errno(err, "a directory for it cannot be made");
    version->end = (int64_t)head->size;
    free(part.path);
    free(files);
    return err->code;
}

int tfs_version_begin(const char *save, const char *place, struct tfs_version *version, int *fd,
                      struct tfs_error *err)
{
    struct tfs_buf head = {0};

    /* What cannot be read may have the next number. */
    do {
        free(version->path);
        if (tfs_print(&version->path, "%s/%u", place, version->number) < 0)
            return tfs_fail_memory(err);
    } while (access(version->path, F_OK) == 0 && version->number++ < UINT_MAX);
    tfs_buf_printf(&head, HEAD " %s %u\n", kinds[version->kind], version->undoes);
    tfs_name_print(&head, tfs_span_of(save));
    tfs_buf_u8(&head, '\n');
    make_version(version, &head, fd, err);
    tfs_buf_release(&head);
    return err->code;
}

static int add(struct tfs_version *version, const struct tfs_undo_file *file, struct tfs_error *err)
{
    struct tfs_undo_file *files = tfs_array_grow(version->files, version->count, sizeof(*files));

    if (files == NULL)
        return tfs_fail_memory(err);
    version->files = files;
    version->files[version->count++] = *file;
    return 0;
}

int tfs_version_add(int fd, struct tfs_version *version, const char *path, struct tfs_undo_mark was,
                    struct tfs_error *err)
{
    struct tfs_undo_file file = {strdup(path), was, {unknown, unknown}, version->end};
    struct tfs_buf line = {0};

    if (file.path == NULL)
        return tfs_fail_memory(err);
    print_mark(&line, was);
    print_mark(&line, unknown);
    print_mark(&line, unknown);
    tfs_name_print(&line, tfs_span_of(path));
    tfs_buf_u8(&line, '\n');
    if (put(fd, version->end, &line, err) < 0 || add(version, &file, err) < 0)
        free(file.path);
    else
        version->end += (int64_t)line.size;
    tfs_buf_release(&line);
    return err->code;
}

/* In the place of the mark that the file has no more: a cut leaves what is there now noted. */
int tfs_version_note(int fd, struct tfs_undo_file *file, struct tfs_undo_mark present,
                     struct tfs_undo_mark next, struct tfs_error *err)
{
    const size_t slot = tfs_undo_mark_same(file->wrote[0], present);
    struct tfs_buf mark = {0};

    file->wrote[slot] = next;
    print_mark(&mark, next);
    put(fd, file->at + (int64_t)(slot + 1) * MARK_WIDTH, &mark, err);
    tfs_buf_release(&mark);
    return err->code;
}

/* ---- reading it ------------------------------------------------------------------------------ */

/* A path that leads below a directory. */
static bool is_below(const char *path)
{
    char all[PATH_MAX + 3];

    return snprintf(all, sizeof(all), "/%s/", path) < (int)sizeof(all) &&
           strstr(all, "//") == NULL && strstr(all, "/./") == NULL && strstr(all, "/../") == NULL;
}

/* The name that the rest of a line is; NULL: none, or no memory. */
static char *take_name(const char *text, struct tfs_error *err)
{
    struct tfs_buf name = {0};
    char *copy = NULL;

    if (tfs_name_parse(&name, tfs_span_of(text), err) == 0 && tfs_buf_check(&name, err) == 0 &&
        name.size > 0 && memchr(name.data, '\0', name.size) == NULL) {
        copy = strndup((const char *)name.data, name.size);
        if (copy == NULL)
            tfs_fail_memory(err);
    }
    tfs_buf_release(&name);
    return copy;
}

/* Fields of fixed width: one that was torn is another number. */
static struct tfs_undo_mark take_mark(const char *text)
{
    return (struct tfs_undo_mark){strtoull(text, NULL, 10),
                                  strtoll(text + 21, NULL, 10),
                                  {strtoll(text + 42, NULL, 10), strtol(text + 63, NULL, 10)}};
}

static bool take_file(const char *line, struct tfs_version *version, struct tfs_error *err)
{
    if (strlen(line) <= 3 * MARK_WIDTH)
        return false;
    struct tfs_undo_file file = {take_name(line + 3 * MARK_WIDTH, err),
                                 take_mark(line),
                                 {take_mark(line + MARK_WIDTH), take_mark(line + 2 * MARK_WIDTH)},
                                 version->end};
    if (file.path != NULL && is_below(file.path) && add(version, &file, err) == 0)
        return true;
    free(file.path);
    return false;
}

/* A version that undoes itself would take itself for an undo of it that was cut. */
static bool take_head(const char *line, struct tfs_version *version)
{
    char kind[16];

    if (sscanf(line, HEAD " %15s %u", kind, &version->undoes) != 2 ||
        version->undoes == version->number)
        return false;
    for (unsigned i = 0; i < TFS_UNDO_KINDS; i++)
        if (strcmp(kinds[i], kind) == 0) {
            version->kind = (enum tfs_undo_kind)i;
            return true;
        }
    return false;
}

static bool is_of(const char *line, const char *save, struct tfs_error *err)
{
    char *name = take_name(line, err);
    const bool same = name != NULL && strcmp(name, save) == 0;

    free(name);
    return same;
}

/* All whole lines: what a killed program wrote last may be torn. */
static bool take_list(FILE *file, const char *save, struct tfs_version *version,
                      struct tfs_error *err)
{
    char *line = NULL;
    size_t room = 0, number = 0;
    bool good = true;

    errno = 0;
    for (ssize_t n; good && (n = getline(&line, &room, file)) > 0 && line[n - 1] == '\n';) {
        line[n - 1] = '\0';
        good = number == 0   ? take_head(line, version)
               : number == 1 ? is_of(line, save, err)
                             : take_file(line, version, err);
        version->end += n;
        number++;
    }
    if (errno == ENOMEM)
        tfs_fail_memory(err);
    free(line);
    return good && number >= 2;
}

void tfs_version_release(struct tfs_version *version)
{
    for (size_t i = 0; i < version->count; i++)
        free(version->files[i].path);
    free(version->files);
    free(version->path);
    *version = (struct tfs_version){0};
}

/* 1; 0: it cannot be used. */
static int read_version(const char *save, const char *place, const char *name,
                        struct tfs_version *version, struct tfs_error *err)
{
    struct tfs_error why = {0};
    struct stat st;
    bool good = false;

    *version = (struct tfs_version){.number = (unsigned)strtoul(name, NULL, 10),
                                    .path = tfs_undo_join(place, name)};
    char *path = version->path == NULL ? NULL : tfs_undo_join(version->path, TFS_UNDO_LIST);
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    if (file == NULL && (path == NULL || errno == ENOMEM))
        tfs_fail_memory(&why);
    if (file != NULL) {
        version->time = stat(version->path, &st) == 0 ? st.st_mtim.tv_sec : 0;
        good = take_list(file, save, version, &why);
        fclose(file);
    }
    free(path);
    if (!good || why.code == -ENOMEM)
        tfs_version_release(version);
    return why.code == -ENOMEM ? tfs_fail_memory(err) : good;
}

static int is_number(const struct dirent *entry)
{
    const size_t digits = strspn(entry->d_name, "0123456789");

    return digits > 0 && digits <= 9 && entry->d_name[digits] == '\0' && entry->d_name[0] != '0';
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    const unsigned long left = strtoul((*a)->d_name, NULL, 10),
                        right = strtoul((*b)->d_name, NULL, 10);

    return left < right ? 1 : left > right ? -1 : 0;
}

static int read_all(const char *save, struct tfs_versions *list, struct tfs_error *err)
{
    struct dirent **names = NULL;
    const int count = scandir(list->place, &names, is_number, by_number);

    if (count < 0)
        return tfs_fail_errno(err, "earlier versions cannot be listed");
    list->items = calloc((size_t)count + 1, sizeof(*list->items));
    if (list->items == NULL)
        tfs_fail_memory(err);
    for (int i = 0; i < count; i++) {
        if (err->code == 0) {
            const int read =
                read_version(save, list->place, names[i]->d_name, &list->items[list->count], err);
            list->count += read > 0;
            list->unread += read == 0;
        }
        free(names[i]);
    }
    free(names);
    return err->code;
}

/* Does no file differ from what was kept? */
static bool is_void(const char *save, const struct tfs_version *version)
{
    for (size_t i = 0; i < version->count; i++)
        if (!tfs_version_is_back(save, version, NULL, &version->files[i]))
            return false;
    return true;
}

static void choose(const char *save, struct tfs_versions *list)
{
    const struct tfs_version *newest = list->items;

    for (size_t i = list->count; i-- > 0;) {
        const struct tfs_version *version = &list->items[i];
        if (!is_void(save, version))
            list->next = version;
    }
    for (size_t i = 1; i < list->count && newest->undoes != 0; i++)
        if (list->items[i].number == newest->undoes) {
            list->redo = newest;
            list->next = &list->items[i];
        }
}

int tfs_versions_read(const char *path, const struct tfs_undo_options *options,
                      struct tfs_versions *list, struct tfs_error *err)
{
    struct tfs_versions read = {0};

    if (tfs_undo_place(path, options, false, &read.place, err) > 0)
        read_all(path, &read, err);
    choose(path, &read);
    if (err->code < 0)
        tfs_versions_release(&read);
    *list = read;
    return err->code;
}

void tfs_versions_release(struct tfs_versions *list)
{
    for (size_t i = 0; i < list->count; i++)
        tfs_version_release(&list->items[i]);
    free(list->items);
    free(list->place);
    *list = (struct tfs_versions){0};
}

/* ---- a version and its save ------------------------------------------------------------------ */

struct tfs_undo_mark tfs_undo_mark_of(const struct stat *st)
{
    return (struct tfs_undo_mark){st->st_ino, st->st_size, st->st_mtim};
}

bool tfs_undo_mark_same(struct tfs_undo_mark a, struct tfs_undo_mark b)
{
    return a.ino == b.ino && a.size == b.size && a.mtime.tv_sec == b.mtime.tv_sec &&
           a.mtime.tv_nsec == b.mtime.tv_nsec;
}

uint64_t tfs_version_size(const struct tfs_version *version, size_t *files)
{
    uint64_t size = 0;

    *files = 0;
    for (size_t i = 0; i < version->count; i++) {
        size += (uint64_t)version->files[i].was.size;
        *files += version->files[i].was.ino != 0;
    }
    return size;
}

struct tfs_undo_file *tfs_version_find(const struct tfs_version *version, const char *path)
{
    for (size_t i = 0; i < version->count; i++)
        if (strcmp(version->files[i].path, path) == 0)
            return &version->files[i];
    return NULL;
}

char *tfs_version_kept(const struct tfs_version *version, const char *path)
{
    char *kept = NULL;

    return tfs_print(&kept, "%s/" TFS_UNDO_FILES "/%s", version->path, path) < 0 ? NULL : kept;
}

char *tfs_undo_target(const char *save, enum tfs_undo_kind kind, const char *path)
{
    char *directory = kind == TFS_UNDO_FOLDER ? strdup(save) : tfs_file_directory(save);
    char *target = directory == NULL ? NULL : tfs_undo_join(directory, path);

    free(directory);
    return target;
}

struct tfs_undo_mark tfs_undo_present(const char *save, const struct tfs_version *version,
                                      const struct tfs_undo_file *file)
{
    char *target = tfs_undo_target(save, version->kind, file->path);
    struct stat st;
    const bool there = target != NULL && lstat(target, &st) == 0;

    free(target);
    return there ? tfs_undo_mark_of(&st) : (struct tfs_undo_mark){0};
}

bool tfs_undo_is_ours(const struct tfs_undo_file *file, struct tfs_undo_mark present, bool or_was)
{
    return tfs_undo_mark_same(file->wrote[0], present) ||
           tfs_undo_mark_same(file->wrote[1], present) ||
           (or_was && tfs_undo_mark_same(file->was, present));
}

bool tfs_version_is_back(const char *save, const struct tfs_version *version,
                         const struct tfs_version *redo, const struct tfs_undo_file *file)
{
    const struct tfs_undo_mark present = tfs_undo_present(save, version, file);
    const struct tfs_undo_file *done = redo == NULL ? NULL : tfs_version_find(redo, file->path);

    return tfs_undo_mark_same(present, file->was) ||
           (done != NULL && tfs_undo_is_ours(done, present, false));
}

/* The file as it was kept, unless its name leads to what is not. */
static int check_kept(const struct tfs_version *version, const struct tfs_undo_file *file,
                      struct tfs_error *err)
{
    struct tfs_undo_mark was = file->was;
    char *path = tfs_version_kept(version, file->path);
    struct stat st;

    if (path == NULL)
        return tfs_fail_memory(err);
    if (was.ino != 0 && lstat(path, &st) < 0)
        tfs_fail(err, -EBADMSG, "%s: its earlier version was not kept to the end", file->path);
    was.ino = was.ino == 0 || err->code < 0 ? 0 : st.st_ino;
    if (was.ino != 0 && (!S_ISREG(st.st_mode) || (version->kind != TFS_UNDO_DATABASE &&
                                                  !tfs_undo_mark_same(was, tfs_undo_mark_of(&st)))))
        tfs_fail(err, -EBADMSG, "%s: its earlier version is damaged: %s is not as it was kept",
                 file->path, path);
    free(path);
    return err->code;
}

int tfs_version_check(const char *save, const struct tfs_version *version,
                      const struct tfs_version *redo, bool force, struct tfs_error *err)
{
    for (size_t i = 0; i < version->count && err->code == 0; i++) {
        const struct tfs_undo_file *file = &version->files[i];
        if (tfs_version_is_back(save, version, redo, file) || check_kept(version, file, err) < 0 ||
            force || tfs_undo_is_ours(file, tfs_undo_present(save, version, file), true))
            continue;
        tfs_fail(err, -ESTALE,
                 "another program changed %s since terrainfs wrote it; --force puts the earlier "
                 "version in its place all the same",
                 file->path);
    }
    return err->code;
}
