/* Bytes of terrain -> a document, its files, and bytes again, for tests. */
#include "place_case.h"

#include <stdio.h>
#include <stdlib.h>

/* Ends the test unless the condition holds; `err` may have the reason. */
#define MUST(condition, err)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(__LINE__, #condition, err);                                                       \
    } while (0)

static void fail(int line, const char *what, const struct tfs_error *err)
{
    fprintf(stderr, "place_case.c:%d: %s: %s\n", line, what, err->text);
    abort();
}

struct tfs_span place_span(const struct maker_bytes *bytes)
{
    return (struct tfs_span){bytes->data, bytes->size};
}

struct maker_bytes place_read_file(const char *path)
{
    struct tfs_error err = {0};
    struct maker_bytes bytes = {0};
    uint8_t block[65536];
    FILE *file = fopen(path, "rb");
    MUST(file != NULL, &err);
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        maker_add(&bytes, block, n);
    fclose(file);
    return bytes;
}

void place_open(struct tree_files *c, const struct tfs_container *container,
                const struct maker_bytes *bytes)
{
    MUST(tree_files_open(c, container, "place", place_span(bytes)) == 0, &c->err);
}

void place_open_hex(struct tree_files *c, const char *value)
{
    struct maker_bytes bytes = {0};
    place_hex(&bytes, value);
    place_open(c, &tfs_rbx_blob_container, &bytes);
    maker_release(&bytes);
}

int place_try(const struct tfs_container *container, struct tfs_span bytes, struct tfs_error *err)
{
    struct tree_files c;
    int result = tree_files_open(&c, container, "place", bytes);
    *err = c.err;
    tree_files_close(&c);
    return result;
}

struct maker_bytes place_encode(struct tree_files *c)
{
    struct tfs_buf bytes = {0};
    struct maker_bytes out = {0};
    tree_files_encode(c, &bytes);
    maker_add(&out, bytes.data, bytes.size);
    tfs_buf_release(&bytes);
    return out;
}

struct maker_bytes place_get(struct tree_files *c, const struct tfs_lens *lens, struct tfs_key key)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    struct maker_bytes out = {0};
    struct tfs_at at = tfs_lens_at(lens, key, 0);
    MUST(lens->get(c->save, c->doc, at, &text, &err) == 0, &err);
    if (lens->size != NULL)
        MUST(lens->size(c->save, c->doc, at) == (int64_t)text.size, &err);
    maker_add(&out, text.data, text.size);
    maker_u8(&out, 0);
    out.size--;
    tfs_buf_release(&text);
    return out;
}

/* Ends an edit: what it made becomes the document, unless it failed. */
static int finish(struct tree_files *c, struct tfs_edit *edit, int result)
{
    struct tfs_doc *before = c->doc;
    if (result == 0) {
        c->doc = tfs_edit_finish(edit);
        tfs_doc_unref(before);
    }
    tfs_edit_release(edit);
    return result;
}

int place_put(struct tree_files *c, const struct tfs_lens *lens, struct tfs_key key,
              struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_edit edit;
    struct tfs_at at = tfs_lens_at(lens, key, 0);
    MUST(tfs_edit_open(c->doc, &edit, err) == 0, err);
    return finish(c, &edit, lens->put(c->save, &edit, at, text, put, err));
}

int place_write(struct tree_files *c, const struct tfs_lens *lens, struct tfs_key key,
                const char *text, struct tfs_error *err)
{
    struct tfs_put put = {0};
    return place_put(c, lens, key, tfs_span_of(text), &put, err);
}

int place_create(struct tree_files *c, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_edit edit;
    MUST(tfs_edit_open(c->doc, &edit, err) == 0, err);
    return finish(c, &edit, tfs_chunk_create(c->save, &edit, key, err));
}

int place_remove(struct tree_files *c, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_edit edit;
    MUST(tfs_edit_open(c->doc, &edit, err) == 0, err);
    return finish(c, &edit, tfs_chunk_remove(c->save, &edit, key, err));
}

int place_move(struct tree_files *c, struct tfs_key from, struct tfs_key to, struct tfs_error *err)
{
    struct tfs_edit edit;
    MUST(tfs_edit_open(c->doc, &edit, err) == 0, err);
    return finish(c, &edit, tfs_chunk_move(c->save, &edit, from, to, err));
}
