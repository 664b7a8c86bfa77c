/*
 * The names of a save: schema (formats/format.h, struct tfs_tree) + document -> directories and
 * files.
 *
 * Knows no FUSE, no handles and no edits; a node is a small value, computed and never stored, and
 * its id is computed from it (chunk slot and file), so a save of a million chunks costs no inode
 * table. What users changed about names (tombstones, scratch files, renamed nodes) is the
 * session's, on top of this.
 *
 * Paths are relative to the root of the tree, without leading or trailing slash; the root is "".
 */
#ifndef TFS_FS_TREE_H
#define TFS_FS_TREE_H

#include "formats/format.h"

enum tfs_scope { TFS_SCOPE_ROOT, TFS_SCOPE_GROUP, TFS_SCOPE_CHUNK };

/* A directory or a file of the schema. */
struct tfs_node {
    enum tfs_scope scope;
    struct tfs_key key; /* ROOT: zero; GROUP: key.group; CHUNK: the chunk */
    uint32_t slot;      /* CHUNK: the chunk's slot */
    int file;           /* index into root_files or chunk_files; -1: a directory */
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

bool tfs_node_is_directory(const struct tfs_node *node);
bool tfs_node_same(const struct tfs_node *a, const struct tfs_node *b);

/* Is this a directory whose entries are chunk directories? Then *group is theirs. */
bool tfs_node_holds_chunks(const struct tfs_node *node, uint32_t *group);
bool tfs_node_is_chunk(const struct tfs_node *node); /* the directory of a chunk itself */

/* The file of the schema; NULL for a directory. */
const struct tfs_file *tfs_node_file(const struct tfs_save *save, const struct tfs_node *node);
struct tfs_at tfs_node_at(const struct tfs_node *node);

/* Does the node exist in this document (chunk there, optional file there, group there)? For a chunk
 * the node is found by slot through its key. */
bool tfs_node_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node);

/* May the file be written? False: read-only file, read-only save, a file of a damaged chunk other
 * than the one of its stored bytes. */
bool tfs_node_writable(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node);

/* The entry `name` of directory `dir`: 0, -ENOENT or -ENOMEM. `must_exist` false: a name of the
 * schema is found even if the optional file is absent now (for creating it). */
int tfs_tree_lookup(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                    const char *name, bool must_exist, struct tfs_node *node);

/* The directory that holds `node`; the root's is the root. */
struct tfs_node tfs_tree_parent(const struct tfs_save *save, const struct tfs_node *node);

/* Appends the entry's own name, or its path from the root (no NUL). */
void tfs_tree_name(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);
void tfs_tree_path(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);

/* The node of a path: 0, -ENOENT, -ENOTDIR, -ENOMEM. */
int tfs_tree_resolve(struct tfs_save *save, const struct tfs_doc *doc, const char *path,
                     bool must_exist, struct tfs_node *node);

/* Entries of a directory in a stable order; `index` counts from 0: 1 and *node, or 0 at the end.
 * Costs O(log n) a call. A name that is absent (optional) is skipped by giving *next > index + 1.
 */
int tfs_tree_entry(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                   size_t index, size_t *next, struct tfs_node *node);

/* Number of directories in a directory (for st_nlink). */
size_t tfs_tree_subdirectories(struct tfs_save *save, const struct tfs_doc *doc,
                               const struct tfs_node *dir);

/* A chunk's directory name, "X_Y_Z": canonical decimal only (no `+`, `-0`, leading zeros). */
#define TFS_CHUNK_NAME 40
void tfs_chunk_name(struct tfs_key key, char name[TFS_CHUNK_NAME]);
bool tfs_chunk_name_parse(const char *name, struct tfs_key *key); /* sets x, y, z */

/* Node ids: 1 is the root; never 0; below TFS_ID_TABLE. From an id back: false when it is no id of
 * this tree; for chunks only `slot` is known then, the caller adds the key. */
#define TFS_ID_TABLE (UINT64_C(1) << 62)
uint64_t tfs_node_id(const struct tfs_node *node);
bool tfs_node_of_id(uint64_t id, struct tfs_node *node);

#endif
