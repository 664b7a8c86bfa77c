/*
 * Paths of a schema -> its directories and what lies in them. See schema.h.
 *
 * A schema is a handful of files, so everything is found by walking over it; nothing is stored.
 */
#include "fs/tree/schema.h"

#include <string.h>

#include "fs/tree/node.h"

bool tfs_schema_is_below(const struct tfs_file *file, struct tfs_span directory)
{
    return directory.size == 0 ||
           (strncmp(file->path, (const char *)directory.data, directory.size) == 0 &&
            file->path[directory.size] == '/');
}

bool tfs_schema_is_in(const struct tfs_file *file, struct tfs_span directory)
{
    const size_t own = directory.size == 0 ? 0 : directory.size + 1;

    return tfs_schema_is_below(file, directory) && strchr(file->path + own, '/') == NULL;
}

const char *tfs_schema_file_name(const struct tfs_file *file)
{
    const char *slash = strrchr(file->path, '/');

    return slash ? slash + 1 : file->path;
}

struct tfs_span tfs_schema_name(struct tfs_span path)
{
    const uint8_t *slash = path.size == 0 ? NULL : memrchr(path.data, '/', path.size);
    const size_t above = slash ? (size_t)(slash - path.data) + 1 : 0;

    return (struct tfs_span){path.data + above, path.size - above};
}

bool tfs_schema_next(struct tfs_schema schema, struct tfs_schema_directory *at)
{
    while (at->first < schema.count) {
        const char *path = schema.files[at->first].path;
        const char *slash = strchr(path + at->path.size + (at->path.size > 0), '/');
        if (slash == NULL) {
            at->first++;
            at->path.size = 0;
            continue;
        }
        at->path = (struct tfs_span){(const uint8_t *)path, (size_t)(slash - path)};
        if (at->first == 0 || !tfs_schema_is_below(&schema.files[at->first - 1], at->path)) {
            at->number = at->number == TFS_DIR_TOP ? TFS_DIR_SUB : at->number + 1;
            return true;
        }
    }
    return false;
}

bool tfs_schema_directory(struct tfs_schema schema, unsigned number, struct tfs_span *path)
{
    struct tfs_schema_directory at = {0};

    *path = (struct tfs_span){0};
    if (number == TFS_DIR_TOP)
        return true;
    while (tfs_schema_next(schema, &at))
        if (at.number == number)
            return *path = at.path, true;
    return false;
}

/* The directory of what lies at `path`. */
static unsigned holder(struct tfs_schema schema, struct tfs_span path)
{
    const size_t size = path.size - tfs_schema_name(path).size;
    struct tfs_schema_directory at = {0};

    while (size > 0 && tfs_schema_next(schema, &at))
        if (at.path.size == size - 1 && memcmp(at.path.data, path.data, size - 1) == 0)
            return at.number;
    return TFS_DIR_TOP;
}

unsigned tfs_schema_file_directory(struct tfs_schema schema, unsigned file)
{
    return holder(schema, tfs_span_of(schema.files[file].path));
}

unsigned tfs_schema_parent(struct tfs_schema schema, unsigned number)
{
    struct tfs_span path;

    return tfs_schema_directory(schema, number, &path) ? holder(schema, path) : TFS_DIR_TOP;
}

unsigned tfs_schema_end(struct tfs_schema schema)
{
    struct tfs_schema_directory at = {0};
    unsigned end = TFS_DIR_SUB;

    while (tfs_schema_next(schema, &at))
        end = at.number + 1;
    return end;
}
