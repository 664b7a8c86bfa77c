/*
 * Bytes -> edits of a document through its lenses, each checked against the laws that all lenses
 * obey.
 */
#include "lens_check.h"

#include <errno.h>
#include <string.h>

#include "../fuzz/fuzz.h"
#include "formats/views/arrays/array.h"
#include "formats/cells/cells.h"
#include "formats/containers/file.h"
#include "formats/views/pictures/picture.h"
#include "image/png.h"

static void open_at(struct lens_check *c, struct tfs_save *save, struct tfs_doc *doc)
{
    *c = (struct lens_check){.save = save,
                             .base = tfs_doc_ref(doc),
                             .doc = tfs_doc_ref(doc),
                             .chunks_max = 40,
                             .views = save->options.views};
    save->options.views = TFS_VIEWS_EVERY;
}

void lens_check_open(struct lens_check *c, struct tfs_save *save)
{
    open_at(c, save, save->doc);
}

void lens_check_close(struct lens_check *c)
{
    c->save->options.views = c->views;
    tfs_doc_unref(c->doc);
    tfs_doc_unref(c->base);
    c->doc = c->base = NULL;
}

static void require_sentence(const struct tfs_error *err, int result)
{
    REQUIRE(result < 0 && err->code == result && err->text[0] != '\0');
    REQUIRE(result != -ENOMEM && result != -EIO);
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Arrays of chunks that lie far apart are mostly holes: nobody has one in memory. */
#define TEXT_MAX (INT64_C(8) << 20)

static bool is_too_large(struct lens_check *c, const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(c->save, node);

    return (file->flags & TFS_FILE_OVERLAY) != 0 && file->lens->size != NULL &&
           file->lens->size(c->save, c->doc, tfs_node_at(c->save, node)) > TEXT_MAX;
}

void lens_check_get(struct lens_check *c, const struct tfs_node *node, struct tfs_buf *text)
{
    const struct tfs_lens *lens = tfs_node_file(c->save, node)->lens;
    struct tfs_at at = tfs_node_at(c->save, node);
    struct tfs_error err = {0};
    int64_t size = lens->size != NULL ? lens->size(c->save, c->doc, at) : -1;

    if (lens->get(c->save, c->doc, at, text, &err) < 0) {
        fprintf(stderr, "%s: %s\n", tfs_node_file(c->save, node)->path, err.text);
        abort();
    }
    REQUIRE(size < 0 || (uint64_t)size == text->size);
}

/* The result, and when it is 0 c->doc is what the edit made. */
static int put(struct lens_check *c, const struct tfs_node *node, struct tfs_span text, bool fresh,
               struct tfs_error *err)
{
    struct tfs_put circumstances = {.fresh = fresh};
    struct tfs_edit edit;
    struct tfs_error none = {0};

    REQUIRE(tfs_edit_open(c->doc, &edit, &none) == 0);
    int result =
        tfs_node_file(c->save, node)
            ->lens->put(c->save, &edit, tfs_node_at(c->save, node), text, &circumstances, err);
    if (result == 0) {
        struct tfs_doc *doc = tfs_edit_finish(&edit);
        tfs_doc_unref(c->doc);
        c->doc = doc;
    }
    tfs_edit_release(&edit);
    return result;
}

/* A chunk that does not decode shows its bytes, and takes none like them. */
static bool is_damaged(struct lens_check *c, const struct tfs_node *node)
{
    struct tfs_error err = {0};

    return node->scope == TFS_SCOPE_CHUNK &&
           tfs_cells_check(c->save, c->doc, node->key, NULL, &err) < 0;
}

/* Writing back what reads is no edit. */
static void check_put_back(struct lens_check *c, const struct tfs_node *node)
{
    struct tfs_buf text = {0};
    struct tfs_error err = {0};
    uint64_t version = c->doc->version;

    if (is_too_large(c, node))
        return;
    lens_check_get(c, node, &text);
    if (tfs_node_writable(c->save, c->doc, node)) {
        int result = put(c, node, tfs_buf_span(&text), false, &err);
        if (result < 0 && !(c->strange && is_damaged(c, node))) {
            fprintf(stderr, "%s as it reads: %s\n", tfs_node_file(c->save, node)->path, err.text);
            abort();
        }
        REQUIRE(c->doc->version == version);
    }
    tfs_buf_release(&text);
}

/* Does the chunk decode? */
static bool is_sound(struct lens_check *c, struct tfs_key key)
{
    struct tfs_error err = {0};
    int result = tfs_cells_check(c->save, c->doc, key, NULL, &err);

    if (result < 0)
        require_sentence(&err, result);
    return result == 0;
}

static int check_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct lens_check *c = arg;

    (void)before;
    REQUIRE(after == NULL || is_sound(c, after->key) || c->strange);
    return 0;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

struct kept {
    struct tfs_save *save;
    struct tfs_doc *before, *after;
};

/* Nothing, where the file is absent or does not read. */
static void get_or_nothing(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_lens *lens,
                           struct tfs_at at, struct tfs_buf *text)
{
    struct tfs_error ignored = {0};

    at.param = lens->param;
    if ((lens->exists == NULL || lens->exists(save, doc, at)) &&
        lens->get(save, doc, at, text, &ignored) == 0)
        tfs_buf_u8(text, '.');
    else
        tfs_buf_clear(text);
}

static bool reads_otherwise(const struct kept *k, const struct tfs_file *file, struct tfs_at at)
{
    struct tfs_buf before = {0}, after = {0};

    get_or_nothing(k->save, k->before, file->lens, at, &before);
    get_or_nothing(k->save, k->after, file->lens, at, &after);
    bool differs = !tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
    return differs;
}

/* Families of the root that are not derived show what chunks hold beside their own files. */
static bool family_reads_otherwise(const struct kept *k)
{
    const struct tfs_tree *tree = k->save->tree;

    for (unsigned i = 0; i < tree->root.count && tree->chunk_create == NULL; i++) {
        const struct tfs_file *file = &tree->root.files[i];
        uint32_t members =
            file->family == NULL || file->views == 0 ? 0 : file->count(tree, k->after);
        for (uint32_t m = 0; m < members; m++)
            if (reads_otherwise(k, file, (struct tfs_at){.member = m}))
                return true;
    }
    return false;
}

static int check_kept(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct kept *k = arg;
    const struct tfs_schema *schema =
        tfs_chunk_schema(k->save->tree, before != NULL ? before->key.group : after->key.group);

    if (before == NULL || after == NULL || family_reads_otherwise(k))
        return 0;
    for (unsigned i = 0; i < schema->count; i++)
        if (((schema->files[i].flags & TFS_FILE_RAW) == 0 ||
             (schema->files[i].flags & TFS_FILE_APART) != 0) &&
            reads_otherwise(k, &schema->files[i], (struct tfs_at){.key = after->key}))
            return 0;
    fprintf(stderr, "chunk %d_%d_%d of group %u reads as before and has other bytes\n",
            after->key.x, after->key.y, after->key.z, after->key.group);
    abort();
}

void lens_check_kept(struct tfs_save *save, struct tfs_doc *before, struct tfs_doc *after)
{
    struct kept k = {save, before, after};

    REQUIRE(tfs_doc_diff(before, after, check_kept, &k) == 0);
}

/* What an edit made of the chunks decodes. Takes the reference to the document before it. */
static void check_edited(struct lens_check *c, struct tfs_doc *before)
{
    REQUIRE(tfs_doc_diff(before, c->doc, check_chunk, c) == 0);
    tfs_doc_unref(before);
}

/* The same of an edit through this file, which is the only one that may spell a chunk anew. */
static void check_put(struct lens_check *c, const struct tfs_node *node, struct tfs_doc *before)
{
    if ((tfs_node_file(c->save, node)->flags & TFS_FILE_RAW) == 0)
        lens_check_kept(c->save, before, c->doc);
    check_edited(c, before);
}

/* ---- all files ------------------------------------------------------------------------------- */

typedef void (*each_fn)(struct lens_check *c, const struct tfs_node *node, void *arg);

/* A directory of a chunk that was not edited since the save was opened. */
static bool is_untouched(struct lens_check *c, const struct tfs_node *node)
{
    if (!tfs_node_is_chunk(node))
        return false;
    return tfs_chunk_same(tfs_doc_find(c->base, node->key), tfs_doc_find(c->doc, node->key));
}

/* All files, or with `edited` those of the root and of chunks that were edited. */
static void walk(struct lens_check *c, const struct tfs_node *dir, bool edited, each_fn each,
                 void *arg)
{
    struct tfs_node node;
    size_t next;

    for (size_t i = 0; tfs_tree_entry(c->save, c->doc, dir, i, &next, &node) > 0; i = next) {
        if (!tfs_node_is_directory(&node))
            each(c, &node, arg);
        else if (!edited || !is_untouched(c, &node))
            walk(c, &node, edited, each, arg);
    }
}

static void put_back(struct lens_check *c, const struct tfs_node *node, void *arg)
{
    (void)arg;
    check_put_back(c, node);
}

void lens_check_unedited(struct lens_check *c)
{
    const struct tfs_node root = TFS_NODE_ROOT;

    for (size_t i = 0; i < c->doc->count; i++)
        check_chunk(c, NULL, tfs_doc_at(c->doc, i));
    walk(c, &root, false, put_back, NULL);
}

void lens_check_reads(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_key *chunk)
{
    struct lens_check c;

    open_at(&c, save, doc);
    if (chunk == NULL) {
        lens_check_unedited(&c);
    } else {
        const struct tfs_node top = tfs_node_of_chunk(tfs_doc_find(doc, *chunk));
        check_chunk(&c, NULL, tfs_doc_find(doc, *chunk));
        walk(&c, &top, false, put_back, NULL);
    }
    lens_check_close(&c);
}

struct comparison {
    struct lens_check *other;
    bool derived; /* also files that cannot be written */
};

/* Has it numbers of names? They are those that names got since the save was opened. */
static bool is_numbered(struct lens_check *c, const struct tfs_node *node)
{
    const struct tfs_array_lens *array = tfs_node_at(c->save, node).param;

    return tfs_node_file(c->save, node)->views == TFS_VIEWS_ARRAYS &&
           (array == NULL ||
            c->save->tree->cells->planes[array->plane].form.kind == TFS_PLANE_NAMES);
}

/* The other side has a file that reads the same as this one. */
static void compare(struct lens_check *c, const struct tfs_node *node, void *arg)
{
    const struct comparison *comparison = arg;
    struct lens_check *other = comparison->other;
    struct tfs_node same;
    struct tfs_buf path = {0}, text = {0}, theirs = {0};

    if ((!comparison->derived && tfs_node_file(c->save, node)->lens->put == NULL) ||
        is_too_large(c, node) || is_numbered(c, node))
        return;

    tfs_tree_path(c->save, c->doc, node, &path);
    tfs_buf_u8(&path, '\0');
    REQUIRE(tfs_tree_resolve(other->save, other->doc, (const char *)path.data, true, &same) == 0);
    lens_check_get(c, node, &text);
    lens_check_get(other, &same, &theirs);
    if (!tfs_span_equal(tfs_buf_span(&text), tfs_buf_span(&theirs))) {
        fprintf(stderr, "%s reads\n%.*s---- and\n%.*s", (const char *)path.data, (int)text.size,
                (const char *)text.data, (int)theirs.size, (const char *)theirs.data);
        abort();
    }
    tfs_buf_release(&path);
    tfs_buf_release(&text);
    tfs_buf_release(&theirs);
}

void lens_check_same(struct lens_check *a, struct lens_check *b, bool derived)
{
    const struct tfs_node root = TFS_NODE_ROOT;
    struct comparison comparison = {b, derived};

    REQUIRE(a->doc->count == b->doc->count);
    walk(a, &root, true, compare, &comparison);
}

struct collector {
    struct tfs_sink sink; /* first */
    struct tfs_buf bytes;
};

static int collect(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct tfs_buf *bytes = &((struct collector *)sink)->bytes;

    tfs_buf_add(bytes, data, size);
    return tfs_buf_check(bytes, err);
}

void lens_check_encoding(struct lens_check *c)
{
    const struct tfs_file_codec *codec = c->save->container->file;
    struct collector out = {.sink.write = collect};
    struct lens_check again = {.save = c->save, .views = c->views};
    struct tfs_blob *bytes = NULL;
    struct tfs_error err = {0};

    if (c->doc->count > CHUNKS_TOO_MANY)
        return;
    REQUIRE(codec->encode(c->save, c->doc, &out.sink, &err) == 0);
    REQUIRE(tfs_blob_take(&out.bytes, &bytes, &err) == 0);
    REQUIRE(codec->decode(c->save, bytes, &again.doc, &err) == 0);
    REQUIRE(tfs_doc_keep_slots(again.doc, c->doc, &err) == 0);
    lens_check_same(c, &again, false);
    lens_check_close(&again);
    tfs_blob_unref(bytes);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static const struct tfs_chunk *take_chunk(struct lens_check *c, struct tfs_cursor *in)
{
    uint8_t which = tfs_take_u8(in);

    return c->doc->count > 0 ? tfs_doc_at(c->doc, which % c->doc->count) : NULL;
}

/* The scope that the first byte names, and of the root the second one, too: the groups that there
 * may be have their files behind those of the root. The number of its files. */
static unsigned take_scope(struct lens_check *c, uint8_t holder, uint8_t *file,
                           struct tfs_node *node)
{
    const struct tfs_tree *tree = c->save->tree;
    const uint32_t groups = tree->group.count > 0 ? tree->groups(c->doc) - 1 : 0;

    *node = (struct tfs_node){.scope = TFS_SCOPE_ROOT};
    if (holder % (c->doc->count + 1) > 0) {
        *node = tfs_node_of_chunk(tfs_doc_at(c->doc, holder % (c->doc->count + 1) - 1));
        return tfs_node_schema(c->save, node).count;
    }
    *file = (uint8_t)(*file % (tree->root.count + groups * tree->group.count));
    if (*file < tree->root.count)
        return tree->root.count;
    *file = (uint8_t)(*file - tree->root.count);
    *node = tfs_node_of_group(1 + *file / tree->group.count);
    return tree->group.count;
}

/* The file that three bytes name; false: there is none. */
static bool take_file(struct lens_check *c, struct tfs_cursor *in, struct tfs_node *node)
{
    uint8_t holder = tfs_take_u8(in), file = tfs_take_u8(in), member = tfs_take_u8(in);
    unsigned count = take_scope(c, holder, &file, node);

    node->file = (int)(file % count);
    const struct tfs_file *schema = tfs_node_file(c->save, node);
    if (schema->count != NULL) {
        uint32_t members = schema->count(c->save->tree, c->doc);
        if (members == 0)
            return false;
        node->member = member % members;
    }
    return tfs_node_writable(c->save, c->doc, node);
}

static struct tfs_key take_key(struct tfs_cursor *in)
{
    struct tfs_key key = {0};

    key.x = (int8_t)tfs_take_u8(in);
    key.y = (int8_t)tfs_take_u8(in);
    key.z = (int8_t)tfs_take_u8(in);
    return key;
}

/* Ends an edit that came out as `result`; the save decodes after it. */
static void finish(struct lens_check *c, struct tfs_edit *edit, int result,
                   const struct tfs_error *err)
{
    if (result < 0) {
        require_sentence(err, result);
    } else {
        struct tfs_doc *before = c->doc;
        c->doc = tfs_edit_finish(edit);
        check_edited(c, before);
    }
    tfs_edit_release(edit);
}

int lens_check_put(struct lens_check *c, const struct tfs_node *node, struct tfs_span text,
                   bool fresh)
{
    struct tfs_error err = {0};
    struct tfs_doc *before = tfs_doc_ref(c->doc);
    const int result = put(c, node, text, fresh, &err);

    if (result < 0) {
        require_sentence(&err, result);
        REQUIRE(c->doc == before);
        tfs_doc_unref(before);
        return result;
    }
    check_put(c, node, before);
    if (tfs_node_exists(c->save, c->doc, node))
        check_put_back(c, node);
    return 0;
}

static void do_put(struct lens_check *c, struct tfs_cursor *in, bool fresh)
{
    struct tfs_node node;
    bool there = take_file(c, in, &node);
    size_t size = tfs_take_u16le(in);
    struct tfs_span text = tfs_take(in, size < tfs_cursor_left(in) ? size : tfs_cursor_left(in));

    if (there)
        lens_check_put(c, &node, text, fresh);
}

/* ---- pictures -------------------------------------------------------------------------------- */

struct picture {
    struct tfs_png_shape shape;
    struct tfs_buf samples;
};

static uint32_t u32_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The picture that the file shows; false: it is none that can be written. */
static bool picture_read(struct lens_check *c, const struct tfs_node *node, struct picture *p)
{
    struct tfs_buf png = {0};
    struct tfs_error err = {0};
    unsigned depth;

    *p = (struct picture){0};
    if (is_too_large(c, node))
        return false;
    lens_check_get(c, node, &png);
    bool is_png = png.size > 26 && memcmp(png.data, "\x89PNG", 4) == 0 && png.data[25] != 2;
    if (is_png) {
        p->shape.width = u32_at(png.data + 16);
        p->shape.height = u32_at(png.data + 20);
        p->shape.type = png.data[25] == 6    ? TFS_PNG_RGBA8
                        : png.data[25] == 3  ? TFS_PNG_INDEX8
                        : png.data[24] == 16 ? TFS_PNG_GREY16
                                             : TFS_PNG_GREY8;
        REQUIRE(tfs_png_read(tfs_buf_span(&png), &p->shape, &p->samples, &depth, &err) == 0);
    }
    tfs_buf_release(&png);
    return is_png;
}

static void picture_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct picture *p = arg;
    size_t size = tfs_png_row_size(&p->shape);

    memcpy(samples, p->samples.data + row * size, size);
}

static unsigned sample_at(const struct picture *p, size_t i)
{
    const uint8_t *at = p->samples.data;

    return p->shape.type == TFS_PNG_GREY16 ? (unsigned)at[2 * i] << 8 | at[2 * i + 1] : at[i];
}

/* Is it a picture of yes and no? What is written as half or more is yes. */
static bool is_mask(const struct picture *p)
{
    size_t i = 0;

    while (i < p->samples.size && (p->samples.data[i] == 0 || p->samples.data[i] == UINT8_MAX))
        i++;
    return i == p->samples.size && p->shape.type == TFS_PNG_GREY8;
}

/* Does a sample agree with what was written? A column of voxels that is lowered into a hollow ends
 * at the next voxel below. */
static bool is_as_written(const struct lens_check *c, const struct tfs_node *node, bool mask,
                          unsigned before, unsigned wanted, unsigned after)
{
    const struct tfs_lens *lens = tfs_node_file(c->save, node)->lens;
    const bool columns = lens == &tfs_heightmap_lens || lens == &tfs_heightmap_tile_lens;

    if (mask)
        return after == (wanted > UINT8_MAX / 2 ? UINT8_MAX : 0);
    return after == wanted || (columns && wanted < before && after < wanted);
}

/* Samples read as they were written, unless the picture has another size now. */
static void check_samples(struct lens_check *c, const struct tfs_node *node,
                          const struct picture *before, const struct picture *wanted)
{
    const size_t bytes = before->shape.type == TFS_PNG_GREY16 ? 2 : 1;
    struct picture after;

    REQUIRE(picture_read(c, node, &after));
    const bool mask = is_mask(before) && is_mask(&after);
    const bool same_size =
        after.shape.width == before->shape.width && after.shape.height == before->shape.height;
    for (size_t i = 0; same_size && i < after.samples.size / bytes; i++) {
        const unsigned was = sample_at(before, i), is = sample_at(&after, i);
        if (is_as_written(c, node, mask, was, sample_at(wanted, i), is))
            continue;
        fprintf(stderr, "%s: sample %zu was %u, %u was written, %u is read\n",
                tfs_node_file(c->save, node)->path, i, was, sample_at(wanted, i), is);
        abort();
    }
    tfs_buf_release(&after.samples);
}

/* `wanted` becomes `before` with some of its bytes changed. */
static void change_samples(struct tfs_cursor *in, const struct picture *before,
                           struct picture *wanted)
{
    unsigned changes = tfs_take_u8(in) % 8 + 1;

    *wanted = (struct picture){.shape = before->shape};
    tfs_buf_add_span(&wanted->samples, tfs_buf_span(&before->samples));
    for (unsigned i = 0; i < changes; i++) {
        uint16_t at = tfs_take_u16le(in);
        wanted->samples.data[at % wanted->samples.size] = tfs_take_u8(in);
    }
}

static void do_picture(struct lens_check *c, struct tfs_cursor *in)
{
    struct tfs_buf png = {0};
    struct tfs_error err = {0};
    struct picture before, wanted;
    struct tfs_node node;

    if (!take_file(c, in, &node) || !tfs_node_exists(c->save, c->doc, &node) ||
        !picture_read(c, &node, &before))
        return;
    change_samples(in, &before, &wanted);
    REQUIRE(tfs_png_write(&wanted.shape, picture_row, &wanted, &png, &err) == 0);
    struct tfs_doc *old = tfs_doc_ref(c->doc);
    int result = put(c, &node, tfs_buf_span(&png), false, &err);
    if (result < 0)
        require_sentence(&err, result);
    check_put(c, &node, old);
    if (result == 0 && tfs_node_exists(c->save, c->doc, &node)) {
        check_put_back(c, &node);
        check_samples(c, &node, &before, &wanted);
    }
    tfs_buf_release(&before.samples);
    tfs_buf_release(&wanted.samples);
    tfs_buf_release(&png);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void do_remove_file(struct lens_check *c, struct tfs_cursor *in)
{
    struct tfs_error err = {0};
    struct tfs_node node;
    struct tfs_edit edit;

    if (!take_file(c, in, &node) || !tfs_node_exists(c->save, c->doc, &node))
        return;
    const struct tfs_lens *lens = tfs_node_file(c->save, &node)->lens;
    if (lens->remove == NULL)
        return;
    REQUIRE(tfs_edit_open(c->doc, &edit, &err) == 0);
    int result = lens->remove(c->save, &edit, tfs_node_at(c->save, &node), &err);
    finish(c, &edit, result, &err);
    REQUIRE(result < 0 || !tfs_node_exists(c->save, c->doc, &node));
}

static void do_create(struct lens_check *c, struct tfs_cursor *in)
{
    struct tfs_key key = take_key(in);
    struct tfs_error err = {0};
    struct tfs_edit edit;

    if (tfs_doc_find(c->doc, key) != NULL || c->doc->count >= c->chunks_max)
        return;
    REQUIRE(tfs_edit_open(c->doc, &edit, &err) == 0);
    int result = tfs_chunk_create(c->save, &edit, key, &err);
    finish(c, &edit, result, &err);
    REQUIRE(result < 0 || tfs_doc_find(c->doc, key) != NULL);
}

static void do_move(struct lens_check *c, struct tfs_cursor *in)
{
    const struct tfs_chunk *chunk = take_chunk(c, in);
    struct tfs_key to = take_key(in);
    struct tfs_error err = {0};
    struct tfs_edit edit;

    if (chunk == NULL)
        return;
    const struct tfs_key from = chunk->key;
    const uint32_t slot = chunk->slot;
    to.group = from.group;
    if (tfs_doc_find(c->doc, to) != NULL)
        return;
    REQUIRE(tfs_edit_open(c->doc, &edit, &err) == 0);
    int result = tfs_chunk_move(c->save, &edit, from, to, &err);
    finish(c, &edit, result, &err);
    REQUIRE(result < 0 || (tfs_doc_find(c->doc, from) == NULL && tfs_doc_find(c->doc, to) != NULL &&
                           tfs_doc_find(c->doc, to)->slot == slot));
}

static void do_remove_chunk(struct lens_check *c, struct tfs_cursor *in)
{
    const struct tfs_chunk *chunk = take_chunk(c, in);
    struct tfs_error err = {0};
    struct tfs_edit edit;

    if (chunk == NULL)
        return;
    const struct tfs_key key = chunk->key;
    REQUIRE(tfs_edit_open(c->doc, &edit, &err) == 0);
    int result = tfs_chunk_remove(c->save, &edit, key, &err);
    finish(c, &edit, result, &err);
    REQUIRE(result < 0 || tfs_doc_find(c->doc, key) == NULL);
}

void lens_check_edits(struct lens_check *c, struct tfs_span bytes)
{
    struct tfs_cursor in = tfs_cursor_init(bytes);

    while (tfs_cursor_left(&in) > 0) {
        uint8_t op = tfs_take_u8(&in);
        if (op >= 0x90 && op < 0xa0)
            do_picture(c, &in);
        else if (op < 0x90)
            do_put(c, &in, op % 2 == 1);
        else if (op < 0xc0)
            do_remove_file(c, &in);
        else if (op < 0xd8)
            do_create(c, &in);
        else if (op < 0xf0)
            do_move(c, &in);
        else
            do_remove_chunk(c, &in);
        /* A high column brings many: the rest would only be slow. */
        if (c->doc->count > CHUNKS_TOO_MANY)
            break;
    }
}
