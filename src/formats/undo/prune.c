/*
 * All generations of all saves -> those that are within the limits: the oldest go first.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "formats/undo/disk.h"

/* What is not whole may be in the making. */
#define MAKING_SECONDS 3600

const struct tfs_undo_limits tfs_undo_limits = {5, UINT64_C(1) << 30, 100};

/* A generation; of another save when `save` differs. */
struct aged {
    size_t save;
    unsigned number;
    int64_t time;
    uint64_t size;
};

struct all {
    int base;
    char (*saves)[TFS_UNDO_NAME]; /* names of their directories */
    size_t save_count;
    struct aged *items; /* by save, then by number */
    size_t count;
};

uint64_t tfs_generation_size(const struct tfs_generation *generation)
{
    uint64_t size = 0;

    for (size_t i = 0; i < generation->count; i++)
        if (generation->files[i].was.size > 0)
            size += (uint64_t)generation->files[i].was.size;
    return size;
}

static bool is_old(int parent, const char *name)
{
    struct stat st;

    return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtim.tv_sec < time(NULL) - MAKING_SECONDS;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int add_generation(struct all *all, int own, unsigned number, struct tfs_error *err)
{
    struct aged aged = {.save = all->save_count, .number = number};
    struct tfs_generation generation;
    char name[16];

    snprintf(name, sizeof(name), "%u", number);
    int result = tfs_generation_read(own, "", number, &generation, err);
    if (result <= 0) {
        if (result == 0 && is_old(own, name) && tfs_generation_is_none(own, number))
            tfs_undo_remove(own, name);
        return result;
    }
    aged.time = generation.time;
    aged.size = tfs_generation_size(&generation);
    tfs_generation_release(&generation);
    struct aged *items = tfs_array_grow(all->items, all->count, sizeof(*items));
    if (items == NULL)
        return tfs_fail_memory(err);
    all->items = items;
    all->items[all->count++] = aged;
    return 0;
}

static int add_save(struct all *all, const char *name, struct tfs_error *err)
{
    char(*saves)[TFS_UNDO_NAME] = tfs_array_grow(all->saves, all->save_count, sizeof(*saves));
    unsigned *numbers = NULL;
    size_t count = 0;

    if (saves == NULL)
        return tfs_fail_memory(err);
    all->saves = saves;
    int own = openat(all->base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (own < 0 || snprintf(saves[all->save_count], TFS_UNDO_NAME, "%s", name) >= TFS_UNDO_NAME)
        goto out;
    if (tfs_undo_numbers(own, &numbers, &count, err) < 0)
        goto out;
    for (size_t i = 0; i < count && err->code == 0; i++)
        add_generation(all, own, numbers[i], err);
    if (count == 0 && is_old(all->base, name))
        (void)unlinkat(all->base, name, AT_REMOVEDIR);
    all->save_count++;
out:
    if (own >= 0)
        close(own);
    free(numbers);
    return err->code;
}

static int look(struct all *all, struct tfs_error *err)
{
    int fd = openat(all->base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return tfs_fail_errno(err, "earlier versions cannot be listed");
    }
    for (struct dirent *entry; err->code == 0 && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            add_save(all, entry->d_name, err);
    closedir(dir);
    return err->code;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Removes the item at `at`; where nothing is left of its save, that too. */
static void drop(struct all *all, size_t at)
{
    const struct aged aged = all->items[at];
    int own = openat(all->base, all->saves[aged.save], O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    char name[16];

    snprintf(name, sizeof(name), "%u", aged.number);
    if (own >= 0) {
        tfs_undo_remove(own, name);
        close(own);
    }
    (void)unlinkat(all->base, all->saves[aged.save], AT_REMOVEDIR);
    memmove(all->items + at, all->items + at + 1, (all->count - at - 1) * sizeof(*all->items));
    all->count--;
}

static size_t oldest(const struct all *all)
{
    size_t found = 0;

    for (size_t i = 1; i < all->count; i++)
        if (all->items[i].time < all->items[found].time)
            found = i;
    return found;
}

static void keep_few(struct all *all, size_t limit)
{
    for (size_t i = all->count; i-- > 0;) {
        size_t newer = 0;
        while (i + newer + 1 < all->count && all->items[i + newer + 1].save == all->items[i].save)
            newer++;
        if (newer >= limit)
            drop(all, i);
    }
}

static uint64_t size_of(const struct all *all)
{
    uint64_t size = 0;

    for (size_t i = 0; i < all->count; i++)
        size += all->items[i].size;
    return size;
}

/* Saves that still have a generation. */
static size_t saves_of(const struct all *all)
{
    size_t saves = all->count > 0;

    for (size_t i = 1; i < all->count; i++)
        saves += all->items[i].save != all->items[i - 1].save;
    return saves;
}

/* The save whose newest generation is the oldest goes as a whole. */
static void drop_save(struct all *all)
{
    size_t found = all->count;

    for (size_t i = 0; i < all->count; i++) {
        bool newest = i + 1 == all->count || all->items[i + 1].save != all->items[i].save;
        if (newest && (found == all->count || all->items[i].time < all->items[found].time))
            found = i;
    }
    const size_t save = all->items[found].save;
    for (size_t i = all->count; i-- > 0;)
        if (all->items[i].save == save)
            drop(all, i);
}

void tfs_undo_prune(int base, const struct tfs_undo_limits *limits)
{
    struct all all = {.base = base};
    struct tfs_error ignored = {0};

    if (flock(base, LOCK_EX | LOCK_NB) < 0)
        return;
    if (look(&all, &ignored) == 0) {
        keep_few(&all, limits->generations);
        while (all.count > 1 && size_of(&all) > limits->bytes)
            drop(&all, oldest(&all));
        while (saves_of(&all) > limits->saves)
            drop_save(&all);
    }
    flock(base, LOCK_UN);
    free(all.saves);
    free(all.items);
}
