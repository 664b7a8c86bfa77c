/*
 * What is in the versions of a save: their lists (docs/journal.md, section 7), and the save beside
 * them.
 *
 * A list is read as any other foreign file: a path in it leads nowhere but below the version and
 * below the directory of the save.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"
#include "formats/undo/versions.h"

#define MARKS offsetof(struct tfs_undo_file, path) /* bytes of a file's entry before its path */

/* ---- marks ----------------------------------------------------------------------------------- */

struct tfs_undo_mark tfs_undo_mark_of(const struct stat *st)
{
    if (st == NULL)
        return (struct tfs_undo_mark){.inode = TFS_UNDO_NO_FILE};
    return (struct tfs_undo_mark){st->st_ino, (uint64_t)st->st_size, st->st_mtim.tv_sec,
                                  st->st_mtim.tv_nsec};
}

bool tfs_undo_mark_same(struct tfs_undo_mark a, struct tfs_undo_mark b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

uint64_t tfs_version_size(const struct tfs_version *version)
{
    uint64_t size = 0;

    for (size_t i = 0; i < version->count; i++)
        size += version->files[i].was.size;
    return size;
}

/* ---- writing a list -------------------------------------------------------------------------- */

static int put(int fd, int64_t at, const void *bytes, size_t size, struct tfs_error *err)
{
    const ssize_t n = pwrite(fd, bytes, size, at);

    if (n == (ssize_t)size)
        return 0;
    const int code = n < 0 ? errno : ENOSPC;
    return tfs_fail(err, tfs_write_code(code), "the list of files cannot be written: %s",
                    strerror(code));
}

int tfs_version_open(const struct tfs_version *version, int *fd, struct tfs_error *err)
{
    char *list = tfs_path_join(version->path, TFS_UNDO_LIST);

    if (list == NULL)
        return tfs_fail_memory(err);
    *fd = open(list, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(list);
    /* A last line that was not written to its end is none: what follows must not complete it. */
    if (*fd >= 0 && ftruncate(*fd, version->end) == 0)
        return 0;
    tfs_fail(err, tfs_write_code(errno), "the list of files cannot be opened: %s", strerror(errno));
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return err->code;
}

int tfs_version_make(const char *place, unsigned number, unsigned undoes,
                     struct tfs_version *version, struct tfs_error *err)
{
    *version = (struct tfs_version){.undoes = undoes};
    if (tfs_print(&version->path, "%s/%u-%u", place, number, undoes) < 0)
        return tfs_fail_memory(err);
    if (mkdir(version->path, 0700) < 0)
        tfs_fail(err, tfs_write_code(errno), "a directory for it cannot be made: %s",
                 strerror(errno));
    return err->code;
}

static int add(struct tfs_version *version, struct tfs_undo_file file, const char *path,
               struct tfs_error *err)
{
    struct tfs_undo_file *files = tfs_array_grow(version->files, version->count, sizeof(*files));

    file.path = strdup(path);
    version->files = files != NULL ? files : version->files;
    if (files == NULL || file.path == NULL) {
        free(file.path);
        return tfs_fail_memory(err);
    }
    version->files[version->count++] = file;
    return 0;
}

int tfs_version_add(int fd, struct tfs_version *version, const char *path, struct tfs_undo_mark was,
                    struct tfs_error *err)
{
    const struct tfs_undo_file file = {.was = was, .at = version->end};
    const size_t size = strlen(path) + 1;

    if (put(fd, file.at, &file, MARKS, err) < 0 ||
        put(fd, file.at + (int64_t)MARKS, path, size, err) < 0 || add(version, file, path, err) < 0)
        return err->code;
    version->end += (int64_t)(MARKS + size);
    return 0;
}

/* In the place of the mark that the file has no more: a cut leaves what is there now noted. */
int tfs_version_note(int fd, struct tfs_undo_file *file, struct tfs_undo_mark present,
                     struct tfs_undo_mark next, struct tfs_error *err)
{
    const size_t slot = tfs_undo_mark_same(file->wrote[0], present);

    file->wrote[slot] = next;
    return put(fd, file->at + (int64_t)((slot + 1) * sizeof(next)), &next, sizeof(next), err);
}

/* ---- reading it ------------------------------------------------------------------------------ */

/* A path that leads below a directory. */
static bool is_below(const char *path)
{
    char all[PATH_MAX + 3];

    return snprintf(all, sizeof(all), "/%s/", path) < (int)sizeof(all) &&
           strstr(all, "//") == NULL && strstr(all, "/./") == NULL && strstr(all, "/../") == NULL;
}

/* All whole entries: what a killed program wrote last may be torn. */
static bool take_list(FILE *list, struct tfs_version *version, struct tfs_error *err)
{
    struct tfs_undo_file file = {0};
    char *path = NULL;
    size_t room = 0;
    bool good = true;

    errno = 0;
    for (ssize_t n; good && fread(&file, MARKS, 1, list) == 1 &&
                    (n = getdelim(&path, &room, '\0', list)) > 0 && path[n - 1] == '\0';) {
        file.at = version->end;
        good = is_below(path) && add(version, file, path, err) == 0;
        version->end += (int64_t)MARKS + n;
    }
    if (errno == ENOMEM)
        tfs_fail_memory(err);
    free(path);
    return good;
}

void tfs_version_release(struct tfs_version *version)
{
    for (size_t i = 0; i < version->count; i++)
        free(version->files[i].path);
    free(version->files);
    free(version->path);
    *version = (struct tfs_version){0};
}

/* NUMBER-UNDOES; false: that is none, its list cannot be used, or there is no memory. One that
 * undoes itself would take itself for an undo of it that was cut. */
static bool read_version(const char *place, const char *name, struct tfs_version *version,
                         struct tfs_error *err)
{
    char *path = NULL;
    struct stat st;

    *version = (struct tfs_version){.path = tfs_path_join(place, name)};
    if (version->path == NULL || (path = tfs_path_join(version->path, TFS_UNDO_LIST)) == NULL)
        tfs_fail_memory(err);
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    const bool none = file == NULL && errno == ENOENT;
    if (file == NULL && path != NULL && (errno == ENOMEM || errno == EMFILE || errno == ENFILE))
        tfs_fail_errno(err, "what is kept of it cannot be read");
    const bool good = path != NULL &&
                      sscanf(name, "%u-%u", &version->number, &version->undoes) == 2 &&
                      version->undoes < version->number && stat(version->path, &st) == 0 &&
                      (file == NULL ? none : take_list(file, version, err));
    if (file != NULL)
        fclose(file);
    free(path);
    version->time = good ? st.st_mtim.tv_sec : 0;
    if (!good)
        tfs_version_release(version);
    return good;
}

static int is_number(const struct dirent *entry)
{
    return entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
}

static int read_all(struct tfs_versions *list, struct tfs_error *err)
{
    struct dirent **names = NULL;
    const int count = scandir(list->place, &names, is_number, versionsort);

    if (count < 0)
        return tfs_fail_errno(err, "earlier versions cannot be listed");
    list->items = calloc((size_t)count + 1, sizeof(*list->items));
    if (list->items == NULL)
        tfs_fail_memory(err);
    if (count > 0)
        list->number = (unsigned)strtoul(names[count - 1]->d_name, NULL, 10);
    for (int i = count; i-- > 0;) {
        if (err->code == 0 &&
            read_version(list->place, names[i]->d_name, &list->items[list->count], err))
            list->count++;
        else
            list->unread++;
        free(names[i]);
    }
    free(names);
    return err->code;
}

/* Does no file differ from what was kept? */
static bool is_void(const char *save, const struct tfs_version *version)
{
    for (size_t i = 0; i < version->count; i++)
        if (!tfs_undo_is_back(save, &version->files[i]))
            return false;
    return true;
}

static const struct tfs_version *find_next(const char *save, const struct tfs_versions *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i].number == list->items[0].undoes)
            return &list->items[i];
    for (size_t i = 0; i < list->count; i++)
        if (!is_void(save, &list->items[i]))
            return &list->items[i];
    return NULL;
}

int tfs_versions_read(const char *path, const struct tfs_undo_options *options, bool make,
                      struct tfs_versions *list, struct tfs_error *err)
{
    struct tfs_error why = {0};

    *list = (struct tfs_versions){0};
    if (tfs_undo_place(path, options, make, &list->place, &why) < 0)
        return why.code == -ENOENT && !make ? 0 : tfs_fail(err, why.code, "%s", why.text);
    if (read_all(list, err) == 0)
        list->next = find_next(path, list);
    else
        tfs_versions_release(list);
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

char *tfs_undo_target(const char *save, const char *path)
{
    char *target = NULL;

    return tfs_print(&target, "%.*s%s", (int)(strrchr(save, '/') + 1 - save), save, path) < 0
               ? NULL
               : target;
}

/* What is at the place of a file now. */
static struct tfs_undo_mark present_of(const char *save, const struct tfs_undo_file *file)
{
    char *target = tfs_undo_target(save, file->path);
    struct stat st;
    const bool there = target != NULL && lstat(target, &st) == 0;

    free(target);
    return tfs_undo_mark_of(there ? &st : NULL);
}

bool tfs_undo_is_back(const char *save, const struct tfs_undo_file *file)
{
    return tfs_undo_mark_same(present_of(save, file), file->was);
}

static bool is_ours(const struct tfs_undo_file *file, struct tfs_undo_mark present)
{
    return file != NULL &&
           (tfs_undo_mark_same(file->was, present) || tfs_undo_mark_same(file->wrote[0], present) ||
            tfs_undo_mark_same(file->wrote[1], present));
}

const struct tfs_undo_file *tfs_version_foreign(const char *save, const struct tfs_version *version,
                                                const struct tfs_version *redo)
{
    for (size_t i = 0; i < version->count; i++) {
        const struct tfs_undo_file *file = &version->files[i];
        const struct tfs_undo_mark present = present_of(save, file);
        if (!is_ours(file, present) &&
            (redo == NULL || !is_ours(tfs_version_find(redo, file->path), present)))
            return file;
    }
    return NULL;
}

int tfs_undo_check(const char *path, const struct tfs_versions *list, bool force,
                   struct tfs_error *err)
{
    const struct tfs_version *newest = list->items;
    const struct tfs_undo_file *foreign =
        tfs_version_foreign(path, list->next, newest->undoes == list->next->number ? newest : NULL);

    if (foreign != NULL && !force)
        tfs_fail(err, -ESTALE,
                 "another program changed %s since terrainfs wrote it; --force puts the earlier "
                 "version in its place all the same",
                 foreign->path);
    return err->code;
}
