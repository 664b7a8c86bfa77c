/*
 * Nodes as values: kinds, neighbours, ids, and the numbers in names of directories; the paths of a
 * schema, taken apart; and which nodes exist in a document, groups included: levels of detail,
 * TerrainRegions. A schema is a handful of files, so everything is found by walking over it.
 */
#include "fs/tree/tree.h"

#include <errno.h>
#include <string.h>

#include "formats/views/view_sets.h"
#include "formats/views/views.h"
#include "text/decimal.h"

/* ---- what nodes are -------------------------------------------------------------------------- */

bool tfs_node_same(const struct tfs_node *a, const struct tfs_node *b)
{
    return tfs_node_id(a) == tfs_node_id(b) && tfs_key_compare(a->key, b->key) == 0;
}

bool tfs_node_holds_chunks(const struct tfs_node *node, uint32_t *group)
{
    if (node->file >= 0 || node->scope == TFS_SCOPE_CHUNK)
        return false;
    *group = node->directory == TFS_DIR_COLUMNS ? TFS_GROUP_COLUMNS : node->key.group;
    return node->directory == TFS_DIR_CHUNKS || node->directory == TFS_DIR_COLUMNS;
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
    const bool columns = group == TFS_GROUP_COLUMNS;
    struct tfs_node node = group == 0 || columns ? TFS_NODE_ROOT : tfs_node_of_group(group);

    node.directory = columns ? TFS_DIR_COLUMNS : TFS_DIR_CHUNKS;
    return node;
}

/* ---- numbers in names ------------------------------------------------------------------------ */

bool tfs_chunk_name_parse(const char *name, struct tfs_key *key)
{
    int64_t x, y = 0, z;

    if (!tfs_decimal_take(&name, '_', INT32_MIN, INT32_MAX, &x) ||
        (key->group != TFS_GROUP_COLUMNS &&
         !tfs_decimal_take(&name, '_', INT32_MIN, INT32_MAX, &y)) ||
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
    if (key.group != TFS_GROUP_COLUMNS) {
        at += tfs_decimal_put_signed(at, key.y);
        *at++ = '_';
    }
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

/* In the directory of that path, or in one of those in it? */
static bool is_below(const struct tfs_file *file, struct tfs_span directory)
{
    return directory.size == 0 ||
           (strncmp(file->path, (const char *)directory.data, directory.size) == 0 &&
            file->path[directory.size] == '/');
}

bool tfs_schema_is_in(const struct tfs_file *file, struct tfs_span directory)
{
    const size_t own = directory.size == 0 ? 0 : directory.size + 1;

    return is_below(file, directory) && strchr(file->path + own, '/') == NULL;
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
        if (at->first == 0 || !is_below(&schema.files[at->first - 1], at->path)) {
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
    if (number < TFS_DIR_SUB)
        return number == TFS_DIR_TOP;
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

/* ---- groups ---------------------------------------------------------------------------------- */

/* Keys are in the order of their groups, so a group is one run of chunks, found by bisection. */
bool tfs_group_next(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    uint32_t *found)
{
    size_t first;

    if (group == 0)
        return *found = 0, true;
    if (!save->tree->group_dir)
        return false;
    if (save->tree->fixed_groups)
        return *found = group, group < save->tree->groups(doc);
    first = tfs_doc_group_begin(doc, group);
    if (first == doc->count)
        return false;
    *found = tfs_doc_at(doc, first)->key.group;
    return true;
}

bool tfs_group_exists(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group)
{
    uint32_t found;

    return tfs_group_next(save, doc, group, &found) && found == group;
}

int tfs_group_check(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    struct tfs_error *err)
{
    const struct tfs_tree *tree = save->tree;
    const bool columns = group == TFS_GROUP_COLUMNS && tree->column.count > 0;
    uint32_t end = columns ? 0 : tree->groups(doc);
    char low[TFS_GROUP_NAME], high[TFS_GROUP_NAME];

    if (columns || group < end)
        return 0;
    if (end <= 1)
        return tfs_fail(err, -EINVAL, "this save cannot hold %s", tree->group_dir);
    tfs_group_name(1, tfs_group_label(tree), low);
    tfs_group_name(end - 1, tfs_group_label(tree), high);
    return tfs_fail(err, -EINVAL, "this save holds %s/%s to %s/%s only", tree->group_dir, low,
                    tree->group_dir, high);
}

/* ---- the schema ------------------------------------------------------------------------------ */

struct tfs_schema tfs_node_schema(const struct tfs_save *save, const struct tfs_node *node)
{
    const struct tfs_tree *tree = save->tree;

    switch (node->scope) {
    case TFS_SCOPE_ROOT:
        return tree->root;
    case TFS_SCOPE_CHUNK:
        return *tfs_chunk_schema(tree, node->key.group);
    case TFS_SCOPE_GROUP:
        return tree->group;
    }
    return (struct tfs_schema){NULL, 0};
}

const struct tfs_file *tfs_node_file(const struct tfs_save *save, const struct tfs_node *node)
{
    return node->file < 0 ? NULL : &tfs_node_schema(save, node).files[node->file];
}

struct tfs_at tfs_node_at(const struct tfs_save *save, const struct tfs_node *node)
{
    return tfs_lens_at(tfs_node_file(save, node)->lens, node->key, node->member);
}

bool tfs_node_is_left_out(const struct tfs_save *save, const struct tfs_node *node)
{
    const struct tfs_schema schema = tfs_node_schema(save, node);
    const unsigned views = save->options.views;
    struct tfs_span path;

    if (node->file >= 0)
        return !tfs_file_is_chosen(&schema.files[node->file], views);
    if (node->directory < TFS_DIR_SUB || !tfs_schema_directory(schema, node->directory, &path))
        return false;
    for (unsigned i = 0; i < schema.count; i++)
        if (is_below(&schema.files[i], path) && tfs_file_is_chosen(&schema.files[i], views))
            return false;
    return true;
}

/* ---- existence ------------------------------------------------------------------------------- */

bool tfs_scope_exists(const struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_node *node)
{
    const struct tfs_chunk *chunk;

    switch (node->scope) {
    case TFS_SCOPE_ROOT:
        return true;
    case TFS_SCOPE_GROUP:
        return node->key.group > 0 && tfs_group_exists(save, doc, node->key.group);
    case TFS_SCOPE_CHUNK:
        chunk = tfs_doc_find(doc, node->key);
        return chunk && chunk->slot == node->slot;
    }
    return false;
}

/* Was the chunk that the node belongs to found damaged when the save was read? In a scope that
 * exists. */
static bool is_marked_damaged(const struct tfs_doc *doc, const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_CHUNK &&
           (tfs_doc_find(doc, node->key)->flags & TFS_CHUNK_DAMAGED) != 0;
}

int tfs_node_is_damaged(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_node *node)
{
    if (is_marked_damaged(doc, node))
        return 1;
    return node->scope == TFS_SCOPE_CHUNK ? tfs_cells_damaged(save, doc, node->key) : 0;
}

uint32_t tfs_file_members(const struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_file *file)
{
    return file->count ? file->count(save->tree, doc) : 1;
}

int tfs_file_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node,
                    bool damaged)
{
    const struct tfs_file *file = tfs_node_file(save, node);
    const unsigned views = save->options.views;

    if (damaged)
        return (file->flags & TFS_FILE_RAW) != 0;
    if (!tfs_file_is_chosen(file, views) || node->member >= tfs_file_members(save, doc, file))
        return 0;
    int exists = file->lens->exists ? file->lens->exists(save, doc, tfs_node_at(save, node)) : 1;
    if (exists <= 0 || !tfs_file_completes_table(file, views))
        return exists;
    return tfs_cells_plane_filled(save, doc, tfs_node_at(save, node));
}

static int any_member_exists(struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_node *scope, unsigned file)
{
    uint32_t count = tfs_file_members(save, doc, &tfs_node_schema(save, scope).files[file]);
    int exists = 0;

    for (uint32_t member = 0; member < count && exists == 0; member++) {
        struct tfs_node node = tfs_node_sibling_file(scope, file, member);

        exists = tfs_file_exists(save, doc, &node, false);
    }
    return exists;
}

/* A subdirectory of a chunk exists as its chunk does; another one as one of the files below it
 * does. */
static int sub_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node,
                      bool damaged)
{
    struct tfs_schema schema = tfs_node_schema(save, node);
    struct tfs_span path;
    int exists = 0;

    if (!tfs_schema_directory(schema, node->directory, &path))
        return 0;
    if (node->scope == TFS_SCOPE_CHUNK)
        return !damaged && !tfs_node_is_left_out(save, node);
    for (unsigned i = 0; i < schema.count && exists == 0; i++)
        if (is_below(&schema.files[i], path))
            exists = any_member_exists(save, doc, node, i);
    return exists;
}

int tfs_directory_exists(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_node *node, bool damaged)
{
    uint32_t first;

    switch (node->directory) {
    case TFS_DIR_TOP:
        return 1;
    case TFS_DIR_CHUNKS:
        return node->scope != TFS_SCOPE_CHUNK;
    case TFS_DIR_COLUMNS:
        return node->scope == TFS_SCOPE_ROOT && save->tree->column.count > 0;
    case TFS_DIR_GROUPS:
        return node->scope == TFS_SCOPE_ROOT && tfs_group_next(save, doc, 1, &first);
    default:
        return sub_exists(save, doc, node, damaged);
    }
}

int tfs_node_exists_in_scope(struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_node *node)
{
    int damaged = tfs_node_is_damaged(save, doc, node);

    if (damaged < 0)
        return damaged;
    return node->file < 0 ? tfs_directory_exists(save, doc, node, damaged)
                          : tfs_file_exists(save, doc, node, damaged);
}

int tfs_node_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node)
{
    if (!tfs_scope_exists(save, doc, node))
        return 0;
    /* A chunk's directory is there whatever is in it: listing chunks decodes none. */
    return tfs_node_is_chunk(node) ? 1 : tfs_node_exists_in_scope(save, doc, node);
}

bool tfs_node_writable(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    if (save->read_only || !tfs_scope_exists(save, doc, node) || (file && !file->lens->put))
        return false;
    /* Damage can be replaced as a whole, and removed, but not edited. */
    return !file || (file->flags & TFS_FILE_RAW) != 0 || tfs_node_is_damaged(save, doc, node) != 1;
}
