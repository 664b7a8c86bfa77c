/*
 * Nodes as values: kinds, neighbours, ids, and the numbers in names of directories; and the paths
 * of a schema, taken apart. A schema is a handful of files, so everything is found by walking over
 * it.
 */
#include "fs/tree/tree.h"

#include <string.h>

#include "text/decimal.h"

/* ---- what nodes are -------------------------------------------------------------------------- */

bool tfs_node_same(const struct tfs_node *a, const struct tfs_node *b)
{
    return tfs_node_id(a) == tfs_node_id(b) && tfs_key_compare(a->key, b->key) == 0;
}

bool tfs_node_holds_chunks(const struct tfs_node *node, uint32_t *group)
{
    if (node->file >= 0 || node->scope == TFS_SCOPE_CHUNK || node->directory != TFS_DIR_CHUNKS)
        return false;
    *group = node->key.group;
    return true;
}

struct tfs_node tfs_node_sibling_directory(const struct tfs_node *node, unsigned directory)
{
    struct tfs_node found = *node;

    found.file = -1;
    found.member = 0;
    found.directory = directory;
    return found;
}

struct tfs_node tfs_node_sibling_file(const struct tfs_node *node, unsigned file, uint32_t member)
{
    struct tfs_node found = *node;

    found.file = (int)file;
    found.member = member;
    found.directory = TFS_DIR_TOP;
    return found;
}

struct tfs_node tfs_node_of_chunk(const struct tfs_chunk *chunk)
{
    return (struct tfs_node){
        .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = -1};
}

struct tfs_node tfs_node_of_group(uint32_t group)
{
    return (struct tfs_node){.scope = TFS_SCOPE_GROUP, .key = {.group = group}, .file = -1};
}

struct tfs_node tfs_node_of_chunks(uint32_t group)
{
    struct tfs_node node = group == 0 ? TFS_NODE_ROOT : tfs_node_of_group(group);

    node.directory = TFS_DIR_CHUNKS;
    return node;
}

/* ---- numbers in names ------------------------------------------------------------------------ */

bool tfs_chunk_name_parse(const char *name, struct tfs_key *key)
{
    int64_t x, y, z;

    if (!tfs_decimal_take(&name, '_', INT32_MIN, INT32_MAX, &x) ||
        !tfs_decimal_take(&name, '_', INT32_MIN, INT32_MAX, &y) ||
        !tfs_decimal_take(&name, '\0', INT32_MIN, INT32_MAX, &z))
        return false;
    key->x = (int32_t)x;
    key->y = (int32_t)y;
    key->z = (int32_t)z;
    return true;
}

/* No printf: a listing may have a million chunks. */
void tfs_chunk_name(struct tfs_key key, char name[TFS_CHUNK_NAME])
{
    uint8_t *at = (uint8_t *)name;

    at += tfs_decimal_put_signed(at, key.x);
    *at++ = '_';
    at += tfs_decimal_put_signed(at, key.y);
    *at++ = '_';
    at += tfs_decimal_put_signed(at, key.z);
    *at = '\0';
}

void tfs_group_name(uint32_t group, uint32_t label, char name[TFS_GROUP_NAME])
{
    name[tfs_decimal_put_signed((uint8_t *)name, (int64_t)group - 1 + label)] = '\0';
}

bool tfs_group_name_parse(const char *name, uint32_t label, uint32_t *group)
{
    int64_t n;

    if (!tfs_decimal_take(&name, '\0', label, (int64_t)UINT32_MAX - 1 + label, &n))
        return false;
    *group = (uint32_t)(n - label + 1);
    return true;
}

/* ---- ids ------------------------------------------------------------------------------------- */

/*
 * bits 61-60  scope + 1, so that 0 stays free
 *      59-48  store
 *      47-16  slot of the chunk, or group; ROOT: the member's bits above 9
 *      15-0   0: the top directory; 1 + file + (member << 6): a file; 0x8000 + directory: others
 *
 * Ids with bits 61-60 free: 1 + the number of a directory above the stores. The root of store 0 has
 * the id 1, too: there is either the one or the other.
 */
#define ID_ROOT      UINT64_C(1)
#define ID_SCOPE     60
#define ID_STORE     48
#define ID_SLOT      16
#define ID_DIRECTORY 0x8000U
#define FILE_BITS    6
#define MEMBER_BITS  9

_Static_assert(TFS_FILES_MAX < 1 << FILE_BITS, "a file's index must fit below the member");

static uint64_t id_number(const struct tfs_node *node)
{
    uint32_t low = node->member & ((1U << MEMBER_BITS) - 1);

    if (node->file >= 0)
        return 1 + (uint64_t)node->file + ((uint64_t)low << FILE_BITS);
    return node->directory == TFS_DIR_TOP ? 0 : ID_DIRECTORY + node->directory;
}

static uint64_t id_slot(const struct tfs_node *node)
{
    if (node->scope == TFS_SCOPE_ROOT)
        return node->file >= 0 ? node->member >> MEMBER_BITS : 0;
    return node->scope == TFS_SCOPE_CHUNK ? node->slot : node->key.group;
}

uint64_t tfs_node_id(const struct tfs_node *node)
{
    if (node->store == TFS_STORE_ABOVE)
        return ID_ROOT + node->slot;
    if (tfs_node_is_root(node) && node->store == 0)
        return ID_ROOT;
    return ((uint64_t)node->scope + 1) << ID_SCOPE | (uint64_t)node->store << ID_STORE |
           id_slot(node) << ID_SLOT | id_number(node);
}

uint16_t tfs_id_store(uint64_t id)
{
    return (uint16_t)(id >> ID_STORE & 0xfff);
}

static void node_of_number(uint32_t number, struct tfs_node *node)
{
    if (number == 0)
        return;
    if (number >= ID_DIRECTORY) {
        node->directory = number - ID_DIRECTORY;
        return;
    }
    node->file = (int)((number - 1) & ((1U << FILE_BITS) - 1));
    node->member |= (number - 1) >> FILE_BITS;
}

bool tfs_node_of_id(uint64_t id, struct tfs_node *node)
{
    struct tfs_node found = TFS_NODE_ROOT;
    uint32_t slot = (uint32_t)(id >> ID_SLOT & UINT32_MAX);

    if (id == ID_ROOT)
        return *node = found, true;
    if (id >> ID_SCOPE == 0 || id >= TFS_ID_TABLE)
        return false;
    found.scope = (enum tfs_scope)((id >> ID_SCOPE) - 1);
    found.store = tfs_id_store(id);
    if (found.scope == TFS_SCOPE_CHUNK)
        found.slot = slot;
    else if (found.scope == TFS_SCOPE_GROUP)
        found.key.group = slot;
    else
        found.member = slot << MEMBER_BITS;
    node_of_number((uint32_t)(id & 0xffff), &found);
    /* Only what the other direction makes is an id. */
    if (found.file >= TFS_FILES_MAX || tfs_node_id(&found) != id)
        return false;
    *node = found;
    return true;
}

/* ---- the files of a scope -------------------------------------------------------------------- */

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
