/*
 * The names of a save: schema (formats/format.h, struct tfs_tree) + document -> directories and
 * files. They are nodes, small values that are computed and never stored, and exist or do not
 * (node.c); names, paths and listings are in tree.c, and so are the names that differ between two
 * documents. A text goes from here to the lens of its file, onto an edit of the caller's.
 *
 * Knows no FUSE and no handles. What users changed about names (hidden names, scratch files) is the
 * session's, on top of this.
 *
 * Paths are relative to the root of the tree, without leading or trailing slash; the root is "".
 */
#ifndef TFS_FS_TREE_TREE_H
#define TFS_FS_TREE_TREE_H

#include "formats/format.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A node's id is computed from it (chunk slot and file), so a save of a million chunks costs no
 * inode table. */

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
    TFS_DIR_TOP,     /* the root; N of regions/N or lods/N; a chunk's directory */
    TFS_DIR_CHUNKS,  /* ROOT: chunks/; GROUP: chunks/ below N */
    TFS_DIR_GROUPS,  /* ROOT: regions/ or lods/ */
    TFS_DIR_COLUMNS, /* ROOT: columns/ */
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

/* The root of a save. */
static inline bool tfs_node_is_root(const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_ROOT && node->file < 0 && node->directory == TFS_DIR_TOP;
}

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

/* A chunk's directory name, "X_Y_Z", in columns/ "X_Z": canonical decimal only (no `+`, `-0`,
 * leading zeros). */
#define TFS_CHUNK_NAME 40
void tfs_chunk_name(struct tfs_key key, char name[TFS_CHUNK_NAME]);
/* Of the group that `key` has: sets x, y, z. */
bool tfs_chunk_name_parse(const char *name, struct tfs_key *key);

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

/* Does the file lie in the directory of that path, "" for the top one? */
bool tfs_schema_is_in(const struct tfs_file *file, struct tfs_span directory);
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

/* ---- which of them exist --------------------------------------------------------------------- */

/* The file of the schema; NULL for a directory. */
const struct tfs_file *tfs_node_file(const struct tfs_save *save, const struct tfs_node *node);
/* Where the file is, for its lens. */
struct tfs_at tfs_node_at(const struct tfs_save *save, const struct tfs_node *node);

/* Does the node exist in this document: 1 or 0? The chunk of a node is found by its key. Negative:
 * nobody can tell now, because the chunk cannot be fetched (EBUSY: another program holds the save
 * locked). */
int tfs_node_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node);

/* Does `-o views=` leave the name out: of a file, or of a directory of nothing but such files? It
 * is not there then, except the stored bytes of a damaged chunk. */
bool tfs_node_is_left_out(const struct tfs_save *save, const struct tfs_node *node);

/* May the file be written? False: read-only file, read-only save, a file of a damaged chunk other
 * than the one of its stored bytes. */
bool tfs_node_writable(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node);

/* ---- for lookups and listings ---------------------------------------------------------------- */

/* The files of the node's scope. */
struct tfs_schema tfs_node_schema(const struct tfs_save *save, const struct tfs_node *node);
/* Members of a file that is a family; 1 of another one. */
uint32_t tfs_file_members(const struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_file *file);
/* Does the chunk or group exist that the node belongs to? */
bool tfs_scope_exists(const struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_node *node);

/* What follows is asked in a scope that exists, and answers as tfs_node_exists does. */

/* Does the chunk that the node belongs to not decode? This may fetch it. */
int tfs_node_is_damaged(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_node *node);
/* Does a file exist, or a directory; `damaged`: the chunk that it belongs to is. */
int tfs_file_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node,
                    bool damaged);
int tfs_directory_exists(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_node *node, bool damaged);
/* The same of either. */
int tfs_node_exists_in_scope(struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_node *node);

/* ---- groups ---------------------------------------------------------------------------------- */

/* Group 0 is the chunks at the root, and always exists; a group above 0 exists as long as it has
 * chunks, but where the tree fixes them (struct tfs_tree.fixed_groups). */

/* The first group from `group` on that exists; false when there is none. */
bool tfs_group_next(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    uint32_t *found);
bool tfs_group_exists(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group);

/* May a group above 0 be in this save, whether it is there or not? EINVAL with a sentence. */
int tfs_group_check(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    struct tfs_error *err);

/* ---- names and paths ------------------------------------------------------------------------- */

/* Applies a text to an edit, through the file's lens. EACCES: the file is read-only; EBADMSG: its
 * chunk is damaged, or the lens refuses the text. */
int tfs_node_put(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_node *node,
                 struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
/* The same from document to document. *after has the version of `doc` where the text changes
 * nothing. */
int tfs_node_apply(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_node *node,
                   struct tfs_span text, struct tfs_put *put, struct tfs_doc **after,
                   struct tfs_error *err);

/* A text may grow to this, and four times what the file has now. */
#define TFS_TEXT_MORE (UINT64_C(64) << 20)
/* The most bytes that a text of the file may have. */
uint64_t tfs_node_text_max(struct tfs_save *save, const struct tfs_doc *doc,
                           const struct tfs_node *node);

/* The entry `name` of directory `dir`: 0, -ENOENT, or why it cannot be found. `must_exist` false: a
 * name of the schema is found even if the optional file or the group is absent now (for creating
 * it). */
int tfs_tree_lookup(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                    const char *name, bool must_exist, struct tfs_node *node);

/* The directory that holds `node`; the root's is the root. */
struct tfs_node tfs_tree_parent(const struct tfs_save *save, const struct tfs_node *node);

/* Appends the entry's own name, or its path from the root (no NUL). */
void tfs_tree_name(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);
void tfs_tree_path(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);

/* The node of a path: 0, -ENOENT, -ENOTDIR, or why it cannot be found. */
int tfs_tree_resolve(struct tfs_save *save, const struct tfs_doc *doc, const char *path,
                     bool must_exist, struct tfs_node *node);

/* Entries of a directory in a stable order; `index` counts from 0: 1 and *node, or 0 at the end;
 * negative: what is in it cannot be found out now, as of tfs_node_exists.
 * Costs O(log n) a call. A name that is absent (optional) is skipped by giving *next > index + 1.
 */
int tfs_tree_entry(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                   size_t index, size_t *next, struct tfs_node *node);

/* The same with the names of files that come and go, and of directories of groups, that are absent:
 * users may have begun to create them, which only the session knows. */
int tfs_tree_name_of_schema(struct tfs_save *save, const struct tfs_doc *doc,
                            const struct tfs_node *dir, size_t index, size_t *next,
                            struct tfs_node *node);

/* ---- which names read differently in one document than in another ---------------------------- */

enum tfs_changed {
    TFS_CHANGED_FILE, /* a file reads differently; one that came or went as well */
    TFS_CHUNK_CAME,   /* the directory of a chunk */
    TFS_CHUNK_WENT,
};

/* `file`: what the schema says of it; NULL: it is a directory. */
typedef void (*tfs_changed_fn)(void *arg, const struct tfs_node *node, const struct tfs_file *file,
                               enum tfs_changed how);

/* May name too many, never too few. A chunk that came or went is named before its files. */
void tfs_changes_each(struct tfs_save *save, const struct tfs_doc *before,
                      const struct tfs_doc *after, tfs_changed_fn changed, void *arg);

/* Does the file come and go, so that its directory reads differently with it? */
static inline bool tfs_comes_and_goes(const struct tfs_file *file)
{
    return file->lens->exists != NULL || file->count != NULL;
}

#endif
