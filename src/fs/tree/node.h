/*
 * Nodes: the directories and files that a schema (formats/format.h, struct tfs_schema) and a
 * document give, as small values. They are computed and never stored, and a node's id is computed
 * from it (chunk slot and file), so a save of a million chunks costs no inode table. Whether a node
 * is there says existence.h.
 */
#ifndef TFS_FS_TREE_NODE_H
#define TFS_FS_TREE_NODE_H

#include "formats/format.h"

enum tfs_scope { TFS_SCOPE_ROOT, TFS_SCOPE_GROUP, TFS_SCOPE_CHUNK };

/* A directory or a file of the schema. */
struct tfs_node {
    enum tfs_scope scope;
    struct tfs_key key; /* ROOT: zero; GROUP: key.group; CHUNK: the chunk */
    uint16_t store;     /* which store's tree, below TFS_STORES; see TFS_STORE_ABOVE */
    uint32_t slot;      /* CHUNK: the chunk's slot; ABOVE: which directory */
    int file;           /* index into the files of its scope; -1: a directory */
    uint32_t member;    /* of a family */
    unsigned directory; /* for a directory: which one of its scope, see enum tfs_directory */
};

/* Directories of a scope. TFS_DIR_SUB + i: the i-th distinct directory in the paths of its
 * files. */
enum tfs_directory {
    TFS_DIR_TOP,    /* the root; N of regions/N or lods/N; a chunk's directory */
    TFS_DIR_CHUNKS, /* ROOT: chunks/; GROUP: chunks/ below N */
    TFS_DIR_GROUPS, /* ROOT: regions/ or lods/ */
    TFS_DIR_SUB,
};

#define TFS_NODE_ROOT ((struct tfs_node){.file = -1})

/* Several stores: the directories above their roots, which no document knows, are nodes of no
 * store; `slot` 0 is the root of all. The functions of the tree know nothing of them. */
#define TFS_STORES      4095
#define TFS_STORE_ABOVE TFS_STORES

static inline bool tfs_node_is_directory(const struct tfs_node *node)
{
    return node->file < 0;
}

bool tfs_node_same(const struct tfs_node *a, const struct tfs_node *b);

/* Is this a directory whose entries are chunk directories? Then *group is theirs. */
bool tfs_node_holds_chunks(const struct tfs_node *node, uint32_t *group);

/* Is this the directory of a chunk itself? */
static inline bool tfs_node_is_chunk(const struct tfs_node *node)
{
    return node->file < 0 && node->scope == TFS_SCOPE_CHUNK && node->directory == TFS_DIR_TOP;
}

/* Is this `lods`, a group in it or a directory of a group: chunks/, or one of its files (of a tree
 * that has such)? */
static inline bool tfs_node_is_group(const struct tfs_node *node)
{
    return node->file < 0 && (node->scope == TFS_SCOPE_GROUP ||
                              (node->scope == TFS_SCOPE_ROOT && node->directory == TFS_DIR_GROUPS));
}

/* A directory or file of the same scope and key. */
struct tfs_node tfs_node_sibling_directory(const struct tfs_node *node, unsigned directory);
struct tfs_node tfs_node_sibling_file(const struct tfs_node *node, unsigned file, uint32_t member);

/* The top directory of a chunk; that of a group above 0; the directory that holds the chunks of a
 * group. */
struct tfs_node tfs_node_of_chunk(const struct tfs_chunk *chunk); /* of store 0 */
struct tfs_node tfs_node_of_group(uint32_t group);
struct tfs_node tfs_node_of_chunks(uint32_t group);

/* A chunk's directory name, "X_Y_Z": canonical decimal only (no `+`, `-0`, leading zeros). */
#define TFS_CHUNK_NAME 40
void tfs_chunk_name(struct tfs_key key, char name[TFS_CHUNK_NAME]);
bool tfs_chunk_name_parse(const char *name, struct tfs_key *key); /* sets x, y, z */

/* The directory name of a group above 0; `label`: tfs_group_label. */
#define TFS_GROUP_NAME 24
void tfs_group_name(uint32_t group, uint32_t label, char name[TFS_GROUP_NAME]);
bool tfs_group_name_parse(const char *name, uint32_t label, uint32_t *group);

/* Node ids: 1 is the root; never 0; below TFS_ID_TABLE. From an id back: false when it is no id of
 * this tree; for chunks only `slot` is known then, the caller adds the key. */
#define TFS_ID_TABLE (UINT64_C(1) << 62)
uint64_t tfs_node_id(const struct tfs_node *node);
uint16_t tfs_id_store(uint64_t id); /* 0 for what is above the stores */
bool tfs_node_of_id(uint64_t id, struct tfs_node *node);

/* ---- the files of a scope -------------------------------------------------------------------- */

/* Their paths have directories to any depth. A scope's directories are numbered by enum
 * tfs_directory, in the order in which the paths name them, one before what is in it. */

/* Does the file lie in the directory of that path, "" for the top one; or in one of those in it? */
bool tfs_schema_is_in(const struct tfs_file *file, struct tfs_span directory);
bool tfs_schema_is_below(const struct tfs_file *file, struct tfs_span directory);
/* "sky.txt" of "lights/sky.txt"; "lights" of "arrays/lights". */
const char *tfs_schema_file_name(const struct tfs_file *file);
struct tfs_span tfs_schema_name(struct tfs_span path);

struct tfs_schema_directory {
    unsigned number;      /* TFS_DIR_SUB + i */
    unsigned first;       /* the first file below it; those of one directory follow one another */
    struct tfs_span path; /* "arrays/lights" */
};

/* The next directory, the first one after {0}. */
bool tfs_schema_next(struct tfs_schema schema, struct tfs_schema_directory *at);
/* The path of a directory, "" for TFS_DIR_TOP; false when the files have none of this number. */
bool tfs_schema_directory(struct tfs_schema schema, unsigned number, struct tfs_span *path);
/* The directories' numbers are below this. */
unsigned tfs_schema_end(struct tfs_schema schema);
/* The directory that holds files[file], or another directory. */
unsigned tfs_schema_file_directory(struct tfs_schema schema, unsigned file);
unsigned tfs_schema_parent(struct tfs_schema schema, unsigned number);

#endif
