/*
 * A folder -> the saves in it, as its format lists them.
 *
 * Must not know any format.
 */
#include "formats/containers/several_saves.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/print.h"
#include "formats/views/info.h"
#include "text/name.h"

#define INFO     "info.txt"
#define FILE_MAX (1 << 20)

int tfs_parts_add(struct tfs_parts *parts, char *path, char *save, struct tfs_error *err)
{
    struct tfs_part *items = path == NULL || save == NULL
                                 ? NULL
                                 : tfs_array_grow(parts->items, parts->count, sizeof(*items));

    if (items == NULL) {
        free(path);
        free(save);
        return tfs_fail_memory(err);
    }
    parts->items = items;
    parts->items[parts->count++] = (struct tfs_part){path, save};
    return 0;
}

void tfs_parts_release(struct tfs_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        free(parts->items[i].path);
        free(parts->items[i].save);
    }
    free(parts->items);
    free(parts->left_out);
    *parts = (struct tfs_parts){0};
}

/* ---- what is shown beside them --------------------------------------------------------------- */

const char *tfs_parts_file(const struct tfs_parts *parts, size_t i)
{
    return i == 0 ? INFO : i == 1 ? parts->file : NULL;
}

static int print_info(const struct tfs_parts *parts, struct tfs_blob **bytes, struct tfs_error *err)
{
    struct tfs_buf out = {0};

    tfs_info_line(&out, "format", "%s", parts->format);
    tfs_info_line(&out, "saves", "%zu", parts->count);
    for (size_t i = 0; i < parts->count; i++) {
        tfs_buf_add_text(&out, "save: ");
        tfs_name_print(&out, tfs_span_of(parts->items[i].path));
        tfs_buf_u8(&out, '\n');
    }
    if (parts->left_out != NULL)
        tfs_info_line(&out, "warning", "%s", parts->left_out);
    return tfs_blob_take(&out, bytes, err);
}

int tfs_parts_read_file(const char *folder, const struct tfs_parts *parts, const char *name,
                        struct tfs_blob **bytes, struct tfs_error *err)
{
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_error why = {0};
    char *path = NULL;

    *bytes = NULL;
    if (strcmp(name, INFO) == 0)
        return print_info(parts, bytes, err);
    if (tfs_print(&path, "%s/%s", folder, name) < 0)
        return tfs_fail_memory(err);
    if (tfs_file_open(path, false, &file, &why) == 0)
        tfs_file_read(&file, FILE_MAX, bytes, &why);
    tfs_file_close(&file);
    free(path);
    return why.code == -ENOMEM ? tfs_fail_memory(err) : 0;
}
