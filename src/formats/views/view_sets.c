/*
 * Names of sets of files <-> bits, and which files of a tree they choose: see view_sets.h.
 */
#include "formats/views/view_sets.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} sets[] = {
    {"voxels", TFS_VIEWS_VOXELS}, {"grids", TFS_VIEWS_GRIDS}, {"raw", TFS_VIEWS_RAW},
    {"arrays", TFS_VIEWS_ARRAYS}, {"all", TFS_VIEWS_ALL},
};

#define SETS (sizeof(sets) / sizeof(sets[0]))

static unsigned bit_of(struct tfs_span name)
{
    for (size_t i = 0; i < SETS; i++)
        if (tfs_span_equal(name, tfs_span_of(sets[i].name)))
            return sets[i].bit;
    return 0;
}

int tfs_chosen_parse(struct tfs_span text, unsigned *views, struct tfs_error *err)
{
    unsigned found = 0;

    for (size_t from = 0, to; from <= text.size; from = to + 1) {
        to = from;
        while (to < text.size && text.data[to] != '+')
            to++;
        const struct tfs_span name = {text.data + from, to - from};
        unsigned bit = bit_of(name);
        if (bit == 0)
            return tfs_fail(
                err, -EINVAL,
                "views=%.*s: there is no such view; there are voxels, grids, raw, arrays "
                "and all, joined by +",
                (int)(text.size < 100 ? text.size : 100), (const char *)text.data);
        found |= bit;
    }
    *views = found;
    return 0;
}

void tfs_chosen_print(unsigned views, struct tfs_buf *out)
{
    const char *before = "";

    for (size_t i = 0; i < SETS; i++) {
        if ((views & sets[i].bit) == 0)
            continue;
        tfs_buf_add_text(out, before);
        tfs_buf_add_text(out, sets[i].name);
        before = "+";
    }
}

bool tfs_chosen_all(unsigned views)
{
    return views == 0 || (views & (TFS_VIEWS_ALL | TFS_VIEWS_EVERY)) != 0;
}

bool tfs_file_is_chosen(const struct tfs_file *file, unsigned views)
{
    return ((file->views | TFS_VIEWS_EVERY) & views) != 0 ||
           (tfs_chosen_all(views) && (file->views & TFS_VIEWS_ARRAYS) == 0);
}

bool tfs_file_completes_table(const struct tfs_file *file, unsigned views)
{
    return (file->flags & TFS_FILE_FILLED) != 0 && !tfs_chosen_all(views) &&
           (file->views & views) == TFS_VIEWS_VOXELS;
}

bool tfs_chosen_depths(unsigned views)
{
    return (views & (TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS)) == TFS_VIEWS_VOXELS;
}

static bool has_any(const struct tfs_file *files, unsigned count, unsigned bit)
{
    for (unsigned i = 0; i < count; i++)
        if ((files[i].views & bit) != 0)
            return true;
    return false;
}

int tfs_chosen_check(const struct tfs_tree *tree, unsigned views, struct tfs_error *err)
{
    for (size_t i = 0; i < SETS; i++)
        if ((views & sets[i].bit) != 0 && sets[i].bit != TFS_VIEWS_ALL &&
            !has_any(tree->chunk.files, tree->chunk.count, sets[i].bit) &&
            !has_any(tree->root.files, tree->root.count, sets[i].bit))
            return tfs_fail(err, -EINVAL, "views=%s: this save has no such files", sets[i].name);
    return 0;
}
