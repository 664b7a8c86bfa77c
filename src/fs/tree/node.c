/*
 * Nodes as values: kinds, neighbours, ids, and the numbers in names of directories. See node.h.
 */
#include "fs/tree/node.h"

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
    bool top = node->scope == TFS_SCOPE_ROOT && node->file < 0 && node->directory == TFS_DIR_TOP;

    if (node->store == TFS_STORE_ABOVE)
        return ID_ROOT + node->slot;
    if (top && node->store == 0)
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
