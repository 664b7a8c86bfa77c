/*
 * A save -> its generations, and whether one of them can be brought back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"
#include "formats/undo/disk.h"

struct tfs_undo_mark tfs_undo_mark_at(const char *path)
{
    struct stat st;

    return path != NULL && lstat(path, &st) == 0 ? tfs_undo_mark_of(&st)
                                                 : (struct tfs_undo_mark){0};
}

static struct tfs_undo_mark mark_of_file(const char *save, const struct tfs_generation *generation,
                                         size_t i)
{
    char *path = tfs_undo_target(save, generation, generation->files[i].path);
    struct tfs_undo_mark mark = tfs_undo_mark_at(path);

    free(path);
    return mark;
}

/* A commit that was cut, or failed, before its rename: what it kept is still at its place. */
static bool is_untouched(const char *save, const struct tfs_generation *generation, size_t i)
{
    const struct tfs_undo_file *file = &generation->files[i];

    return !file->replaced && tfs_undo_mark_same(mark_of_file(save, generation, i), file->was);
}

static bool is_void(const char *save, const struct tfs_generation *generation)
{
    for (size_t i = 0; i < generation->count; i++)
        if (!is_untouched(save, generation, i))
            return false;
    return true;
}

/* ---- the list -------------------------------------------------------------------------------- */

static int add(const char *path, const char *saved_as, struct tfs_generation *generation,
               struct tfs_generations *list, struct tfs_error *err)
{
    if (strcmp(generation->save, saved_as) != 0 || is_void(path, generation)) {
        tfs_generation_release(generation);
        return 0;
    }
    struct tfs_generation *items = tfs_array_grow(list->items, list->count, sizeof(*items));
    if (items == NULL) {
        tfs_generation_release(generation);
        return tfs_fail_memory(err);
    }
    list->items = items;
    list->items[list->count++] = *generation;
    return 0;
}

/* saved_as: the path that the save had when they were kept. */
static int add_all(const char *path, const char *saved_as, const char *own_path,
                   struct tfs_generations *list, struct tfs_error *err)
{
    struct tfs_generation generation;
    unsigned *numbers = NULL;
    size_t count = 0;

    if (tfs_undo_numbers(list->own, &numbers, &count, err) < 0)
        return err->code;
    for (size_t i = count; i-- > 0 && err->code == 0;)
        if (tfs_generation_read(list->own, own_path, numbers[i], &generation, err) > 0)
            add(path, saved_as, &generation, list, err);
    free(numbers);
    return err->code;
}

/* ---- a save that was renamed ----------------------------------------------------------------- */

const struct tfs_undo_file *tfs_generation_own(const struct tfs_generation *generation)
{
    const char *last = strrchr(generation->save, '/');

    if (generation->kind == TFS_UNDO_FOLDER || last == NULL)
        return NULL;
    for (size_t i = 0; i < generation->count; i++)
        if (strcmp(generation->files[i].path, last + 1) == 0)
            return &generation->files[i];
    return NULL;
}

/* Is what is at `path` now what we left? A file beside the save is where it was, whatever becomes
 * of the save: it tells nothing. */
static bool is_left(const char *path, const struct tfs_generation *generation)
{
    const struct tfs_undo_file *file = tfs_generation_own(generation);

    if (generation->kind == TFS_UNDO_FOLDER && generation->count > 0)
        file = &generation->files[0];
    return file != NULL && file->replaced && file->left.ino != 0 &&
           tfs_undo_mark_same(mark_of_file(path, generation, (size_t)(file - generation->files)),
                              file->left);
}

/* Is this the newest generation of what is now at `path`, and was elsewhere? */
static bool is_of_renamed(const char *path, const struct tfs_generation *generation)
{
    return is_left(path, generation) && tfs_undo_mark_at(generation->save).ino == 0;
}

/* The newest generation in the directory `own` of a save: 1, 0 or -ENOMEM. */
static int read_newest(int own, struct tfs_generation *generation, struct tfs_error *err)
{
    unsigned *numbers = NULL;
    size_t count = 0;

    if (tfs_undo_numbers(own, &numbers, &count, err) < 0)
        return err->code;
    int result = count == 0 ? 0 : tfs_generation_read(own, "", numbers[count - 1], generation, err);
    free(numbers);
    return result;
}

/* Looks into one save's directory: the list gets its generations if they are ours. */
static int try_save(const char *path, const char *base_path, const char *name,
                    struct tfs_generations *list, struct tfs_error *err)
{
    struct tfs_generation newest;
    char *own_path = NULL;

    list->own = openat(list->base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (list->own < 0)
        return 0;
    int result = read_newest(list->own, &newest, err);
    if (result > 0) {
        bool ours = is_of_renamed(path, &newest);
        if (ours && tfs_print(&own_path, "%s/%s", base_path, name) < 0) {
            own_path = NULL;
            tfs_fail_memory(err);
        } else if (ours) {
            add_all(path, newest.save, own_path, list, err);
        }
        tfs_generation_release(&newest);
    }
    free(own_path);
    if (err->code == 0 && list->count > 0)
        return 1;
    close(list->own);
    list->own = -1;
    return err->code;
}

static int find_renamed(const char *path, struct tfs_generations *list, struct tfs_error *err)
{
    int fd = openat(list->base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    char *base_path = tfs_undo_path_of(list->base);
    int found = 0;

    if (dir == NULL && fd >= 0)
        close(fd);
    if (base_path == NULL)
        tfs_fail_memory(err);
    for (struct dirent *entry;
         dir != NULL && err->code == 0 && found == 0 && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            found = try_save(path, base_path, entry->d_name, list, err);
    if (dir != NULL)
        closedir(dir);
    free(base_path);
    return err->code;
}

/* The generations that the list has are of an earlier save of that name, where what is there now
 * has others: it was renamed. */
static int prefer_renamed(const char *path, struct tfs_generations *list, struct tfs_error *err)
{
    struct tfs_generations other = {.base = list->base, .own = -1, .elsewhere = true};

    list->base = -1;
    if (find_renamed(path, &other, err) == 0 && other.count > 0) {
        if (list->count > 0)
            other.earlier = strdup(list->items[0].directory);
        if (list->count > 0 && other.earlier == NULL)
            tfs_fail_memory(err);
        tfs_generations_release(list);
        *list = other;
        return err->code;
    }
    list->base = other.base;
    other.base = -1;
    tfs_generations_release(&other);
    return err->code;
}

unsigned tfs_undo_undoes(const struct tfs_generations *list,
                         const struct tfs_generation *generation)
{
    return list->elsewhere ? TFS_UNDO_ELSEWHERE : generation->number;
}

int tfs_undo_read(const char *path, const struct tfs_undo_options *options,
                  struct tfs_generations *list, struct tfs_error *err)
{
    struct tfs_generations read = TFS_GENERATIONS_NONE;
    struct tfs_undo_place place;
    int result = tfs_undo_place_open(path, options, false, &place, err);

    if (result < 0)
        return result;
    read.gone = tfs_undo_mark_at(path).ino == 0;
    read.base = place.base;
    read.own = place.own;
    place.base = place.own = -1;
    if (result > 0)
        add_all(path, path, place.own_path, &read, err);
    if (err->code == 0 && read.base >= 0 && !read.gone &&
        (read.count == 0 || !is_left(path, &read.items[0])))
        prefer_renamed(path, &read, err);
    tfs_undo_place_close(&place);
    if (err->code < 0)
        tfs_generations_release(&read);
    else
        *list = read;
    return err->code;
}

void tfs_generations_release(struct tfs_generations *list)
{
    for (size_t i = 0; i < list->count; i++)
        tfs_generation_release(&list->items[i]);
    free(list->items);
    free(list->earlier);
    if (list->base >= 0)
        close(list->base);
    if (list->own >= 0)
        close(list->own);
    *list = (struct tfs_generations)TFS_GENERATIONS_NONE;
}

/* ---- can it be brought back ------------------------------------------------------------------ */

/* The file as it was kept, unless its name leads to what is not. */
static int check_kept(const struct tfs_generation *generation, const struct tfs_undo_file *file,
                      struct tfs_error *err)
{
    struct tfs_undo_mark was = file->was;
    struct stat st;
    char *path = NULL;

    if (was.ino == 0)
        return 0;
    if (tfs_print(&path, "%s/%s", generation->directory, file->path) < 0)
        return tfs_fail_memory(err);
    if (lstat(path, &st) < 0)
        tfs_fail(err, -EBADMSG, "%s: its earlier version was not kept to the end", file->path);
    was.ino = st.st_ino;
    if (err->code == 0 &&
        (!S_ISREG(st.st_mode) || (generation->kind != TFS_UNDO_DATABASE &&
                                  !tfs_undo_mark_same(was, tfs_undo_mark_of(&st)))))
        tfs_fail(err, -EBADMSG, "%s: its earlier version is damaged: %s is not as it was kept",
                 file->path, path);
    free(path);
    return err->code;
}

static bool is_done(const struct tfs_generation *redo, const char *path, struct tfs_undo_mark now)
{
    for (size_t i = 0; redo != NULL && i < redo->count; i++)
        if (strcmp(redo->files[i].path, path) == 0)
            return redo->files[i].replaced && tfs_undo_mark_same(redo->files[i].left, now);
    return false;
}

int tfs_undo_check(const char *path, const struct tfs_generation *generation,
                   const struct tfs_generation *redo, bool force, struct tfs_error *err)
{
    for (size_t i = 0; i < generation->count; i++) {
        const struct tfs_undo_file *file = &generation->files[i];
        struct tfs_undo_mark now = mark_of_file(path, generation, i);
        if (is_untouched(path, generation, i) || is_done(redo, file->path, now))
            continue;
        if (check_kept(generation, file, err) < 0)
            return err->code;
        if (!force && file->replaced && now.ino == 0 && file->left.ino != 0)
            return tfs_fail(err, -ESTALE,
                            "%s is gone; --force puts the version back that was there before the "
                            "last changes",
                            file->path);
        if (!force && !(file->replaced && tfs_undo_mark_same(now, file->left)))
            return tfs_fail(err, -ESTALE,
                            "another program changed %s since terrainfs wrote it; --force puts the "
                            "earlier version in its place all the same",
                            file->path);
    }
    return 0;
}
