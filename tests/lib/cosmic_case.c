/*
 * A save in memory around the codec, the lenses and the tree of the region container.
 */
#include "cosmic_case.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/whole_file.h"

static const struct tfs_container *const container = &tfs_cosmic_reach_region;

static void digit_pair(struct maker_bytes *bytes, const char **at)
{
    char pair[3] = {(*at)[0], (*at)[1], 0};
    char *end;

    unsigned byte = (unsigned)strtoul(pair, &end, 16);
    ck_assert_msg(*end == 0, "an odd hex digit at %s", *at);
    maker_u8(bytes, byte);
    *at += 2;
    if (**at != '*')
        return;
    for (long n = strtol(*at + 1, &end, 10); n > 1; n--)
        maker_u8(bytes, byte);
    *at = end;
}

struct maker_bytes cosmic_hex(const char *text)
{
    struct maker_bytes bytes = {0};

    while (*text) {
        if (isxdigit((unsigned char)*text))
            digit_pair(&bytes, &text);
        else
            text++;
    }
    return bytes;
}

struct tfs_span cosmic_span(const struct maker_bytes *bytes)
{
    return (struct tfs_span){bytes->data, bytes->size};
}

/* ---- opening --------------------------------------------------------------------------------- */

int cosmic_open(struct cosmic_case *c, const char *name, struct tfs_span bytes)
{
    struct tfs_blob *blob = NULL;

    *c = (struct cosmic_case){0};
    c->save.container = container;
    c->save.tree = container->tree;
    c->save.path = strdup(name);
    c->save.name = c->save.path;
    c->save.options.inflate_limit = TFS_INFLATE_LIMIT;
    ck_assert_int_eq(tfs_blob_copy(bytes, &blob, &c->err), 0);
    int result = container->file->decode(&c->save, blob, &c->doc, &c->err);
    ck_assert_int_eq(result, c->err.code);
    ck_assert((result < 0) == (c->doc == NULL));
    ck_assert((result < 0) == (c->err.text[0] != 0));
    tfs_blob_unref(blob);
    return result;
}

void cosmic_open_maker(struct cosmic_case *c, const struct maker_region *region)
{
    struct maker_bytes bytes = {0};

    maker_region_write(region, &bytes);
    ck_assert_msg(cosmic_open(c, "any.cosmicreach", cosmic_span(&bytes)) == 0, "%s", c->err.text);
    maker_release(&bytes);
}

void cosmic_open_body(struct cosmic_case *c, int32_t version, int32_t chunk_version,
                      struct tfs_span body)
{
    struct maker_region region = maker_region_init(version);
    struct maker_chunk *chunk = maker_region_add(&region, 0, 0, 0);

    chunk->version = chunk_version;
    maker_add(&chunk->body, body.data, body.size);
    cosmic_open_maker(c, &region);
    maker_region_release(&region);
}

void cosmic_close(struct cosmic_case *c)
{
    tfs_doc_unref(c->doc);
    free(c->save.path);
    *c = (struct cosmic_case){0};
}

struct memory_sink {
    struct tfs_sink sink;
    struct maker_bytes bytes;
};

static int memory_write(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    (void)err;
    maker_add(&((struct memory_sink *)sink)->bytes, data, size);
    return 0;
}

struct maker_bytes cosmic_encode(struct cosmic_case *c)
{
    struct memory_sink sink = {.sink = {.write = memory_write}};

    tfs_error_reset(&c->err);
    ck_assert_msg(container->file->encode(&c->save, c->doc, &sink.sink, &c->err) == 0, "%s",
                  c->err.text);
    return sink.bytes;
}

struct tfs_span cosmic_body(struct cosmic_case *c, struct tfs_key key)
{
    const struct tfs_chunk *chunk = tfs_doc_find(c->doc, key);

    ck_assert_ptr_nonnull(chunk);
    return tfs_blob_span(chunk->blob);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const struct tfs_file *find(const struct tfs_file *files, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(files[i].path, name) == 0)
            return &files[i];
    ck_abort_msg("no file is called %s", name);
    return NULL;
}

static const struct tfs_file *chunk_file(const char *name)
{
    return find(container->tree->chunk_files, container->tree->chunk_count, name);
}

static struct maker_bytes get(struct cosmic_case *c, const struct tfs_file *file,
                              struct tfs_key key)
{
    const struct tfs_at at = tfs_lens_at(file->lens, key, 0);
    struct tfs_buf out = {0};
    struct maker_bytes bytes = {0};
    const struct tfs_lens *lens = file->lens;

    tfs_error_reset(&c->err);
    if ((file->flags & TFS_FILE_OPTIONAL) && !lens->exists(&c->save, c->doc, at))
        return bytes;
    ck_assert_msg(lens->get(&c->save, c->doc, at, &out, &c->err) == 0, "%s: %s", file->path,
                  c->err.text);
    if (lens->size != NULL)
        ck_assert_msg(lens->size(&c->save, c->doc, at) == (int64_t)out.size,
                      "%s: size() says %lld, not %zu", file->path,
                      (long long)lens->size(&c->save, c->doc, at), out.size);
    maker_add(&bytes, out.data, out.size);
    maker_u8(&bytes, 0); /* for those who print it */
    bytes.size--;
    tfs_buf_release(&out);
    return bytes;
}

struct maker_bytes cosmic_get(struct cosmic_case *c, struct tfs_key key, const char *name)
{
    return get(c, chunk_file(name), key);
}

struct maker_bytes cosmic_get_root(struct cosmic_case *c, const char *name)
{
    const struct tfs_tree *tree = container->tree;

    return get(c, find(tree->root_files, tree->root_count, name), (struct tfs_key){0});
}

bool cosmic_shows(struct cosmic_case *c, struct tfs_key key, const char *name, const char *text)
{
    struct maker_bytes shown = cosmic_get(c, key, name);
    bool same = shown.data != NULL && tfs_span_equal(cosmic_span(&shown), tfs_span_of(text));

    if (!same)
        fprintf(stderr, "%s shows:\n%s", name, shown.data == NULL ? "" : (char *)shown.data);
    maker_release(&shown);
    return same;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void begin(struct cosmic_case *c, struct tfs_edit *edit)
{
    tfs_error_reset(&c->err);
    ck_assert_int_eq(tfs_edit_open(c->doc, edit, &c->err), 0);
}

/* The new document takes the old one's place when the change was accepted. */
static int end(struct cosmic_case *c, struct tfs_edit *edit, int result)
{
    ck_assert_int_eq(result, c->err.code);
    if (result == 0) {
        struct tfs_doc *next = tfs_edit_finish(edit);
        tfs_doc_unref(c->doc);
        c->doc = next;
    }
    tfs_edit_release(edit);
    return result;
}

static int put(struct cosmic_case *c, const struct tfs_file *file, struct tfs_key key,
               struct tfs_span text, bool fresh)
{
    const struct tfs_at at = tfs_lens_at(file->lens, key, 0);
    struct tfs_put how = {.fresh = fresh, .original = c->original};
    struct tfs_edit edit;

    begin(c, &edit);
    return end(c, &edit, file->lens->put(&c->save, &edit, at, text, &how, &c->err));
}

int cosmic_put(struct cosmic_case *c, struct tfs_key key, const char *name, struct tfs_span text)
{
    return put(c, chunk_file(name), key, text, false);
}

int cosmic_put_text(struct cosmic_case *c, struct tfs_key key, const char *name, const char *text)
{
    return cosmic_put(c, key, name, tfs_span_of(text));
}

int cosmic_put_fresh(struct cosmic_case *c, struct tfs_key key, const char *name,
                     struct tfs_span text)
{
    return put(c, chunk_file(name), key, text, true);
}

int cosmic_put_root(struct cosmic_case *c, const char *name, const char *text)
{
    const struct tfs_tree *tree = container->tree;

    return put(c, find(tree->root_files, tree->root_count, name), (struct tfs_key){0},
               tfs_span_of(text), false);
}

int cosmic_remove(struct cosmic_case *c, struct tfs_key key, const char *name)
{
    const struct tfs_lens *lens = chunk_file(name)->lens;
    struct tfs_edit edit;

    begin(c, &edit);
    return end(c, &edit, lens->remove(&c->save, &edit, tfs_lens_at(lens, key, 0), &c->err));
}

int cosmic_create(struct cosmic_case *c, struct tfs_key key)
{
    struct tfs_edit edit;

    begin(c, &edit);
    return end(c, &edit, container->tree->chunk_create(&c->save, &edit, key, &c->err));
}

int cosmic_move(struct cosmic_case *c, struct tfs_key from, struct tfs_key to)
{
    struct tfs_edit edit;

    begin(c, &edit);
    return end(c, &edit, container->tree->chunk_move(&c->save, &edit, from, to, &c->err));
}

int cosmic_delete(struct cosmic_case *c, struct tfs_key key)
{
    struct tfs_edit edit;

    begin(c, &edit);
    return end(c, &edit, tfs_edit_remove(&edit, key, &c->err));
}
