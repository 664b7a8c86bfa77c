#include "looked_into.h"

#include <check.h>

#include "formats/views/pictures/columns.h"

static const struct tfs_cells_kind *real;
static struct tfs_cells_kind counting;
static atomic_size_t looks; /* of several threads */

static int count_look(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    atomic_fetch_add(&looks, 1);
    return real->decode(cells, wanted, err);
}

static void ignore(void *arg, uint32_t number, const struct tfs_pixel *pixels)
{
    (void)arg;
    (void)number;
    (void)pixels;
}

size_t looked_into(struct tfs_save *save, const struct tfs_doc *doc)
{
    const struct tfs_tree *tree = save->tree;
    struct tfs_tree counted = *tree;
    struct tfs_columns *columns;
    struct tfs_picture_box box;
    struct tfs_error err = {0};

    real = tree->cells;
    counting = *real;
    counting.decode = count_look;
    counted.cells = &counting;
    save->tree = &counted;
    atomic_store(&looks, 0);
    ck_assert(tfs_picture_box(real, doc, &box));
    ck_assert_int_eq(tfs_columns_lock(save, doc, &columns, &err), 0);
    ck_assert_int_eq(tfs_strips_each(columns, &box, ignore, NULL, &err), 0);
    tfs_columns_unlock(columns);
    save->tree = tree;
    return looks;
}
