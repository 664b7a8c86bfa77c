/*
 * Paths of a schema -> its directories and what lies in them. See schema.h.
 *
 * A schema is a handful of files, so everything is found by walking over it; nothing is stored.
 */
#include "fs/schema.h"

#include <string.h>

#include "fs/node.h"

struct tfs_span tfs_schema_directory_name(const struct tfs_file *file)
{
    const char *slash = strchr(file->path, '/');

    return (struct tfs_span){(const uint8_t *)file->path, slash ? (size_t)(slash - file->path) : 0};
}

const char *tfs_schema_file_name(const struct tfs_file *file)
{
    const char *slash = strchr(file->path, '/');

    return slash ? slash + 1 : file->path;
}

bool tfs_schema_same_directory(const struct tfs_file *a, const struct tfs_file *b)
{
    struct tfs_span left = tfs_schema_directory_name(a), right = tfs_schema_directory_name(b);

    return tfs_span_equal(left, right);
}

bool tfs_schema_opens_directory(struct tfs_schema schema, unsigned i)
{
    return tfs_schema_directory_name(&schema.files[i]).size > 0 &&
           (i == 0 || !tfs_schema_same_directory(&schema.files[i], &schema.files[i - 1]));
}

unsigned tfs_schema_directory_first(struct tfs_schema schema, unsigned directory)
{
    unsigned left = directory - TFS_DIR_SUB;

    if (directory < TFS_DIR_SUB)
        return schema.count;
    for (unsigned i = 0; i < schema.count; i++)
        if (tfs_schema_opens_directory(schema, i) && left-- == 0)
            return i;
    return schema.count;
}

unsigned tfs_schema_file_directory(struct tfs_schema schema, unsigned file)
{
    unsigned directory = TFS_DIR_SUB;

    if (tfs_schema_directory_name(&schema.files[file]).size == 0)
        return TFS_DIR_TOP;
    for (unsigned i = 0; i < file; i++)
        directory += tfs_schema_opens_directory(schema, i);
    return tfs_schema_opens_directory(schema, file) ? directory : directory - 1;
}

bool tfs_schema_lies_in(struct tfs_schema schema, unsigned directory, unsigned first, unsigned i)
{
    if (directory == TFS_DIR_TOP)
        return tfs_schema_directory_name(&schema.files[i]).size == 0;
    return first < schema.count &&
           tfs_schema_same_directory(&schema.files[first], &schema.files[i]);
}

unsigned tfs_schema_directory_count(struct tfs_schema schema)
{
    unsigned count = 0;

    for (unsigned i = 0; i < schema.count; i++)
        count += tfs_schema_opens_directory(schema, i);
    return count;
}
