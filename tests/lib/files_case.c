/*
 * A save of blocks, opened through the registry, and its files by name.
 */
#include "files_case.h"

#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

struct tfs_buf files_hex(const char *text)
{
    struct tfs_buf bytes = {0};
    int high = -1;

    for (; *text != '\0'; text++) {
        if (!isxdigit((unsigned char)*text))
            continue;
        if (high >= 0)
            tfs_buf_u8(&bytes, (uint8_t)(high << 4 | digit_of(*text)));
        high = high >= 0 ? -1 : digit_of(*text);
    }
    ck_assert_int_eq(high, -1);
    return bytes;
}

struct tfs_buf files_read_file(const char *path)
{
    struct tfs_buf bytes = {0};
    FILE *file = fopen(path, "rb");
    char piece[65536];

    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;)
        tfs_buf_add(&bytes, piece, n);
    fclose(file);
    return bytes;
}

void files_write_file(const char *path, struct tfs_span bytes)
{
    FILE *file = fopen(path, "wb");

    ck_assert_msg(file != NULL, "%s cannot be made", path);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    ck_assert_int_eq(fclose(file), 0);
}

static void copy_directory(const char *from, const char *to)
{
    DIR *directory = opendir(from);
    char source[4096], target[4096];

    ck_assert_ptr_nonnull(directory);
    ck_assert_int_eq(mkdir(to, 0755), 0);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
        snprintf(target, sizeof(target), "%s/%s", to, entry->d_name);
        files_copy(source, target);
    }
    closedir(directory);
}

void files_copy(const char *from, const char *to)
{
    struct stat st;

    ck_assert_msg(stat(from, &st) == 0, "%s is not there", from);
    if (S_ISDIR(st.st_mode)) {
        copy_directory(from, to);
        return;
    }
    struct tfs_buf bytes = files_read_file(from);
    files_write_file(to, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

/* ---- opening --------------------------------------------------------------------------------- */

int files_open_as(struct tree_files *c, const char *path, const char *format, enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock};

    *c = (struct tree_files){0};
    int result = tfs_save_open(path, format, &options, &c->save, &c->err);
    ck_assert_int_eq(result, c->err.code);
    ck_assert((result < 0) == (c->err.text[0] != '\0'));
    if (result == 0)
        c->doc = tfs_doc_ref(c->save->doc);
    return result;
}

int files_open(struct tree_files *c, const char *path)
{
    return files_open_as(c, path, NULL, TFS_LOCK_EXCLUSIVE);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A file of a family has another name in each document. */
static bool is_called(struct tree_files *c, const struct tfs_file *file, const char *name)
{
    struct tfs_buf found = {0};

    if (file->family == NULL)
        return strcmp(file->path, name) == 0;
    file->family->name(c->save->tree, c->doc, 0, &found);
    bool same = tfs_span_equal(tfs_buf_span(&found), tfs_span_of(name));
    tfs_buf_release(&found);
    return same;
}

static const struct tfs_file *find(struct tree_files *c, struct tfs_key key, const char *name)
{
    const struct tfs_tree *tree = c->save->tree;
    bool root = key.group == UINT32_MAX;
    const struct tfs_file *files = root ? tree->root.files : tree->chunk.files;
    unsigned count = root ? tree->root.count : tree->chunk.count;

    for (unsigned i = 0; i < count; i++)
        if (is_called(c, &files[i], name))
            return &files[i];
    ck_abort_msg("no file is called %s", name);
    return NULL;
}

struct tfs_buf files_get(struct tree_files *c, struct tfs_key key, const char *name)
{
    const struct tfs_file *file = find(c, key, name);
    const struct tfs_lens *lens = file->lens;
    struct tfs_at at = tfs_lens_at(lens, key, 0);
    struct tfs_buf out = {0};

    tfs_error_reset(&c->err);
    if (file->count != NULL && file->count(c->save->tree, c->doc) == 0)
        return out;
    if (lens->exists != NULL && !lens->exists(c->save, c->doc, at))
        return out;
    ck_assert_msg(lens->get(c->save, c->doc, at, &out, &c->err) == 0, "%s: %s", name, c->err.text);
    tfs_buf_u8(&out, '\0'); /* for those who print it */
    out.size--;
    int64_t size = lens->size == NULL ? -1 : lens->size(c->save, c->doc, at);
    ck_assert_msg(size < 0 || size == (int64_t)out.size, "%s: size() says %lld, not %zu", name,
                  (long long)size, out.size);
    return out;
}

bool files_shows(struct tree_files *c, struct tfs_key key, const char *name, const char *text)
{
    struct tfs_buf found = files_get(c, key, name);
    bool same = tfs_span_equal(tfs_buf_span(&found), tfs_span_of(text));

    if (!same)
        fprintf(stderr, "%s is:\n%.*s\n", name, (int)found.size, (const char *)found.data);
    tfs_buf_release(&found);
    return same;
}

bool files_holds(struct tree_files *c, struct tfs_key key, const char *name, const char *text)
{
    struct tfs_buf found = files_get(c, key, name);
    bool there = memmem(found.data, found.size, text, strlen(text)) != NULL;

    if (!there)
        fprintf(stderr, "%s is:\n%.*s\n", name, (int)found.size, (const char *)found.data);
    tfs_buf_release(&found);
    return there;
}

int files_put(struct tree_files *c, struct tfs_key key, const char *name, struct tfs_span text)
{
    struct tfs_put put = c->how;
    const struct tfs_lens *lens = find(c, key, name)->lens;
    struct tfs_at at = tfs_lens_at(lens, key, 0);
    struct tfs_edit edit;

    tree_files_begin(c, &edit);
    return tree_files_end(c, &edit, lens->put(c->save, &edit, at, text, &put, &c->err));
}

int files_put_text(struct tree_files *c, struct tfs_key key, const char *name, const char *text)
{
    return files_put(c, key, name, tfs_span_of(text));
}

int files_remove(struct tree_files *c, struct tfs_key key, const char *name)
{
    const struct tfs_lens *lens = find(c, key, name)->lens;
    struct tfs_at at = tfs_lens_at(lens, key, 0);
    struct tfs_edit edit;

    tree_files_begin(c, &edit);
    return tree_files_end(c, &edit, lens->remove(c->save, &edit, at, &c->err));
}

int files_create(struct tree_files *c, struct tfs_key key)
{
    struct tfs_edit edit;

    tree_files_begin(c, &edit);
    return tree_files_end(c, &edit, tfs_chunk_create(c->save, &edit, key, &c->err));
}

int files_move(struct tree_files *c, struct tfs_key from, struct tfs_key to)
{
    struct tfs_edit edit;

    tree_files_begin(c, &edit);
    return tree_files_end(c, &edit, tfs_chunk_move(c->save, &edit, from, to, &c->err));
}

int files_delete(struct tree_files *c, struct tfs_key key)
{
    struct tfs_edit edit;

    tree_files_begin(c, &edit);
    return tree_files_end(c, &edit, tfs_chunk_remove(c->save, &edit, key, &c->err));
}

int files_commit(struct tree_files *c)
{
    tfs_error_reset(&c->err);
    int result = c->save->container->commit(c->save, c->doc, &c->err);
    ck_assert_int_eq(result, c->err.code);
    if (result == 0) {
        tfs_doc_unref(c->doc);
        c->doc = tfs_doc_ref(c->save->doc);
    }
    return result;
}
