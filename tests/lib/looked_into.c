#include "looked_into.h"

#include <check.h>

#include "formats/picture/columns.h"

static const struct tfs_voxels *real;
static atomic_size_t looks; /* of several threads */

static int count_look(struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_chunk *chunk, struct tfs_column *columns,
                      struct tfs_error *err)
{
    atomic_fetch_add(&looks, 1);
    return real->columns(save, doc, chunk, columns, err);
}

size_t looked_into(struct tfs_save *save, const struct tfs_doc *doc)
{
    const struct tfs_tree *tree = save->tree;
    struct tfs_tree counting = *tree;
    struct tfs_voxels voxels = *tree->voxels;
    struct tfs_columns *columns;
    struct tfs_picture_box box;
    struct tfs_error err = {0};

    real = tree->voxels;
    voxels.columns = count_look;
    counting.voxels = &voxels;
    save->tree = &counting;
    atomic_store(&looks, 0);
    ck_assert(tfs_picture_box(&voxels, doc, &box));
    ck_assert_int_eq(tfs_columns_lock(save, doc, &box, &columns, &err), 0);
    ck_assert_int_eq(tfs_columns_rows(columns, 0, tfs_picture_rows(&box), &err), 0);
    tfs_columns_unlock(columns);
    save->tree = tree;
    return looks;
}
