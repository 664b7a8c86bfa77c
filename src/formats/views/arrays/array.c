/*
 * The lenses of arrays/: see array.h.
 */
#include "formats/views/arrays/array.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/views/arrays/kept.h"

/* A whole array that is in memory at once: for commands, and to be written. */
#define WHOLE_MAX ((uint64_t)1 << 30)

/* ---- opening --------------------------------------------------------------------------------- */

/* Bytes a value; of the number of a name, of which there are at most 65,536, 2. */
static unsigned width_of(const struct tfs_plane_form *form)
{
    return form->kind == TFS_PLANE_NAMES ? sizeof(uint16_t) : form->width;
}

/* Is a voxel a sample of a surface? Volumes may have chunks one voxel high, too. */
static bool is_surface(const struct tfs_cells_kind *kind)
{
    unsigned flags = 0;

    for (unsigned i = 0; i < kind->count; i++)
        flags |= kind->planes[i].flags;
    return (flags & TFS_PLANE_HEIGHT) != 0;
}

static void set_form(struct tfs_array *a, const struct tfs_cells_kind *kind,
                     const struct tfs_plane_form *form, struct tfs_voxel_size size)
{
    a->kind = form->kind == TFS_PLANE_SIGNED ? 'i' : form->kind == TFS_PLANE_FLOAT ? 'f' : 'u';
    a->width = width_of(form);
    a->empty = form->empty;
    a->flat = is_surface(kind);
    a->sides[0] = a->flat ? size.z : size.y;
    a->sides[1] = a->flat ? 1 : size.z;
    a->sides[2] = size.x;
}

/* The size of the chunks of a group. */
static struct tfs_voxel_size size_of(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                                     uint32_t group)
{
    return kind->group_size != NULL ? kind->group_size(doc, group) : kind->size;
}

static int open_chunk(struct tfs_array *a, struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_need(a->save, a->doc, a->low, 1u << a->plane, &cells, err) < 0)
        return err->code;
    set_form(a, cells->kind, &cells->planes[a->plane].form, cells->size);
    a->chunks[0] = a->chunks[1] = a->chunks[2] = 1;
    tfs_cells_unref(cells);
    return 0;
}

/* How many values the chunks at the edge lack: the last one in the north east says it. */
static int find_cut(struct tfs_array *a, struct tfs_error *err)
{
    const uint64_t corner[3] = {0, 0, a->chunks[2] - 1};
    struct tfs_cells *cells;

    if (!a->flat || tfs_cells_need(a->save, a->doc, tfs_array_key(a, corner), 0, &cells, err) < 0)
        return err->code;
    a->cut = a->sides[2] - cells->size.x;
    tfs_cells_unref(cells);
    return 0;
}

int tfs_array_open(struct tfs_array *a, struct tfs_save *save, const struct tfs_doc *doc,
                   struct tfs_at at, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    const struct tfs_array_lens *lens = at.param;
    struct tfs_plane_form form = kind->planes[lens->plane].form;
    const uint32_t group = at.key.group;
    const struct tfs_chunk *chunk;

    *a = (struct tfs_array){.save = save, .doc = doc, .plane = lens->plane, .low = at.key};
    if (!lens->whole && tfs_doc_need(doc, at.key, &chunk, err) < 0)
        return err->code;
    const struct tfs_voxel_size size = size_of(kind, doc, group);
    if (!lens->whole && (kind->form != NULL || is_surface(kind)))
        return open_chunk(a, err);
    if (kind->form != NULL && kind->group_form(save, doc, group, a->plane, &form, err) < 0)
        return err->code;
    set_form(a, kind, &form, size);
    a->chunks[0] = a->chunks[1] = a->chunks[2] = 1;
    if (lens->whole && !tfs_array_span(a))
        return tfs_fail(err, -ENOENT, "there are no chunks, or too many for an array");
    return lens->whole ? find_cut(a, err) : 0;
}

int tfs_array_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_plane_form widest = {TFS_PLANE_UNSIGNED,
                                    .width = kind->form != NULL ? sizeof(uint64_t) : 1};
    const struct tfs_voxel_size size = size_of(kind, doc, at.key.group);
    struct tfs_array a = {.doc = doc, .low.group = at.key.group};

    for (unsigned i = 0; i < kind->count; i++)
        if (width_of(&kind->planes[i].form) > widest.width)
            widest.width = width_of(&kind->planes[i].form);
    set_form(&a, kind, &widest, size);
    return size.x > 0 && size.y > 0 && size.z > 0 && tfs_array_span(&a);
}

/* ---- the lenses ------------------------------------------------------------------------------ */

int64_t tfs_array_lens_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error ignored = {0};
    struct tfs_array a;

    return tfs_array_open(&a, save, doc, at, &ignored) < 0 ? ignored.code
                                                           : (int64_t)tfs_array_size(&a);
}

int tfs_array_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                  struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_array a;

    if (tfs_array_open(&a, save, doc, at, err) < 0)
        return err->code;
    const uint64_t size = tfs_array_size(&a);
    if (size > WHOLE_MAX)
        return tfs_fail(err, -EFBIG, "the array has %" PRIu64 " bytes: read parts of it in a mount",
                        size);
    return tfs_array_range(&a, 0, size, out, err);
}

int tfs_array_get_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        uint64_t offset, uint64_t size, struct tfs_blob **part,
                        struct tfs_error *err)
{
    struct tfs_array a;

    return tfs_array_open(&a, save, doc, at, err) < 0 ? err->code
                                                      : tfs_kept_range(&a, offset, size, part, err);
}

void tfs_array_read_ahead(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                          uint64_t offset, uint64_t size)
{
    struct tfs_error ignored = {0};
    struct tfs_array a;

    if (tfs_array_open(&a, save, doc, at, &ignored) == 0)
        tfs_kept_ahead(&a, offset, size);
}

/* ---- arrays/info.txt ------------------------------------------------------------------------- */

/* Where the values are: one voxel high, where they are rows from the north. */
static void print_axes(const struct tfs_array *a, struct tfs_buf *out)
{
    const struct tfs_npy npy = tfs_array_npy(a);
    const int64_t y = (int64_t)a->low.y * a->sides[0], x = (int64_t)a->low.x * a->sides[2];

    if (a->flat)
        tfs_buf_printf(out,
                       "axes: z x, the north row first: z goes down\nshape: %" PRIu64 " %" PRIu64
                       "\norigin: %" PRId64 " %" PRId64 "\n",
                       npy.shape[1], npy.shape[2], (int64_t)npy.shape[1] - 1, x);
    else
        tfs_buf_printf(out,
                       "axes: y z x\nshape: %" PRIu64 " %" PRIu64 " %" PRIu64 "\norigin: %" PRId64
                       " %" PRId64 " %" PRId64 "\n",
                       npy.shape[0], npy.shape[1], npy.shape[2], y, (int64_t)a->low.z * a->sides[1],
                       x);
}

static int print_arrays(struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                        struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_tree *tree = save->tree;
    const struct tfs_file *files = group == 0 ? tree->root.files : tree->group.files;
    const unsigned count = group == 0 ? tree->root.count : tree->group.count;
    bool first = true;
    struct tfs_array a;

    for (unsigned i = 0; i < count; i++) {
        if (files[i].lens->get != tfs_array_get)
            continue;
        const struct tfs_at at = tfs_lens_at(files[i].lens, (struct tfs_key){.group = group}, 0);
        if (tfs_array_open(&a, save, doc, at, err) < 0)
            return err->code;
        if (first)
            print_axes(&a, out);
        first = false;
        const char *about = tree->cells->planes[a.plane].about;
        tfs_buf_printf(out, "%s: %s\n", files[i].path + strlen("arrays/"),
                       about != NULL ? about : "the numbers are those of arrays/palette.txt");
    }
    return tfs_buf_check(out, err);
}

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    if (tfs_array_exists(save, doc, at))
        return print_arrays(save, doc, at.key.group, out, err);
    tfs_buf_add_text(out, tfs_doc_group_count(doc, at.key.group) == 0
                              ? "arrays: none, there are no chunks\n"
                              : "arrays: those of the chunks alone; the chunks lie so far apart "
                                "that one of all would have more than 2^40 bytes\n");
    return tfs_buf_check(out, err);
}

int tfs_array_same_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_lens *lens = at.param;
    struct tfs_buf now = {0};

    (void)put;
    if (lens->get(save, tfs_edit_doc(edit), at, &now, err) == 0 &&
        !tfs_span_equal(text, tfs_buf_span(&now)))
        tfs_fail(err, -EBADMSG, "this file says what the arrays are, and takes nothing else");
    tfs_buf_release(&now);
    return err->code;
}

/* A group that comes and goes has it as long as it has chunks. */
static int group_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    return save->tree->fixed_groups || tfs_doc_group_count(doc, at.key.group) > 0;
}

const struct tfs_lens tfs_array_info_lens = {.get = info_get};
const struct tfs_lens tfs_array_group_info_lens = {.param = &tfs_array_info_lens,
                                                   .get = info_get,
                                                   .put = tfs_array_same_put,
                                                   .exists = group_exists};
