/*
 * Two of the interfaces that a game fills in: a container (where chunks lie in a save: probe, open,
 * fetch, commit, close) and lenses (what a file of the tree shows of them: get, put, size), joined
 * by a tree (which names exist). The third is cells (cells/cells.h): most lenses are views of them,
 * which no game writes. A format is a folder with these structs and its rows in registry.c; nothing
 * else changes when one is added.
 *
 *   save on disk --container--> tfs_doc --lens get--> file bytes
 *   save on disk <--container-- tfs_doc <--lens put-- file bytes
 *
 * A member that may be NULL says so; all others must be there.
 *
 * Everything here is const and free of state of its own, so all of it may be called from any
 * thread; what changes is in struct tfs_save (one caller at a time, but for `fetch`) and in edits.
 */
#ifndef TFS_FORMATS_FORMAT_H
#define TFS_FORMATS_FORMAT_H

#include <sys/stat.h>

#include "base/hash.h"
#include "formats/save/document.h"
#include "formats/undo/undo.h"

struct tfs_save;
struct tfs_cells_kind; /* formats/cells/cells.h */
struct tfs_cells_edit;
struct tfs_cells_cache;
struct tfs_columns;
struct tfs_folder_kind; /* formats/containers/folder.h */
struct tfs_parts;       /* formats/containers/several_saves.h */
struct tfs_written_values;

/* ---- lenses and the tree --------------------------------------------------------------------- */

/* What a lens is asked about: a chunk (key), or the root (key all 0); for a file of a family
 * (tfs_file.family) which member of it; and the lens's own parameter. Made by tfs_lens_at. */
struct tfs_at {
    struct tfs_key key;
    uint32_t member;
    const void *param;
};

/* A file of which parts were written, and which is not in memory as a whole. */
struct tfs_written {
    uint64_t size;
    const struct tfs_doc *base; /* what it shows where nobody wrote; NULL: zeros */
    bool based;                 /* bytes as in `base`, or as taken last, are no edits */
    bool begun;                 /* nothing was taken yet: bytes as in `base` are no edits */
    /* May these bytes differ from what they were? */
    bool (*differs)(const void *arg, uint64_t offset, uint64_t size);
    /* Are they all written, or zeros? */
    bool (*holds)(const void *arg, uint64_t offset, uint64_t size);
    /* Puts what was written over `out`, which has what `base` shows. `before`: as it was taken
     * last. */
    int (*read)(const void *arg, bool before, uint64_t offset, size_t size, uint8_t *out,
                struct tfs_error *err);
    const void *arg;
};

/* Circumstances of a put, and what it answers beside success. */
struct tfs_put {
    bool fresh; /* in: the chunk's directory was just made (docs/semantics.md, N3):
                 * voxels.csv may be shifted */
    /* In and out: the values of such a chunk as its texts gave them (formats/cells/written.h);
     * nothing is refused for lack of another file. NULL: the chunk was not just made. After a
     * failure the caller throws them away. */
    struct tfs_written_values *values;
    unsigned options; /* in: enum tfs_put_options */
    /* In: what a file of the root, or with TFS_FILE_OVERLAY, was made from, if that is known: only
     * what differs from it is a change. Empty: it was made from what the document shows. */
    struct tfs_span original;
    /* In: in place of the text, for lenses that take it; NULL: there is a text. */
    const struct tfs_written *written;
};

enum tfs_put_options {
    /* The text was not made in this mount: its numbers mean the names that come with it. */
    TFS_PUT_APART = 1,
};

struct tfs_lens {
    const void *param; /* handed to the functions below: what tells lenses apart that share them */

    /* Appends the file's bytes, in canonical form: the same document gives the same bytes. */
    int (*get)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
               struct tfs_buf *out, struct tfs_error *err);

    /* The `size` bytes at `offset` of what get appends, or as many as there are, without rendering
     * the rest: for files that may be too large for that. Returns a reference, to bytes that are in
     * memory already where it can: copying is a fifth of the bench row "a region into NumPy". NULL:
     * there is only get. */
    int (*get_range)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     uint64_t offset, uint64_t size, struct tfs_blob **part, struct tfs_error *err);

    /* These bytes were read: prepares what comes behind them, in a thread that has time. NULL:
     * there is nothing to prepare. */
    void (*read_ahead)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       uint64_t offset, uint64_t size);

    /* Makes the edit's document say what `text` says; EBADMSG with line and column when it cannot.
     * A failed put may leave the edit half done: the caller throws it away. NULL: read-only.
     * A section whose decoded value did not change keeps its stored bytes. */
    int (*put)(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at, struct tfs_span text,
               struct tfs_put *put, struct tfs_error *err);

    /* Does the file exist: 1 or 0? For files that some chunks lack. Negative: nobody can tell now
     * (EBUSY: another program holds the save locked). NULL: it always exists. */
    int (*exists)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
    /* Optional files only: stores the file as absent. A refused one leaves the edit as it was. */
    int (*remove)(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                  struct tfs_error *err);

    /* The exact number of bytes that get would append, when that is much cheaper than get; NULL or
     * a negative result: the caller renders to know. */
    int64_t (*size)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
};

static inline struct tfs_at tfs_lens_at(const struct tfs_lens *lens, struct tfs_key key,
                                        uint32_t member)
{
    return (struct tfs_at){key, member, lens->param};
}

enum tfs_file_flags {
    TFS_FILE_OPTIONAL = 1, /* comes and goes: lens->exists decides, unlink stores it as absent */
    TFS_FILE_RAW = 2,      /* the stored bytes of the chunk: all that a damaged chunk shows */
    TFS_FILE_APART = 8,    /* says what no voxel and no other such file says */
    /* Line n is the new name of the n-th name of the save, or of the chunk. */
    TFS_FILE_RENAMES = 16,
    /* An array: pages of a mapping come back whole, so only what differs from what the file showed
     * is an edit. It has get_range, and `put` takes tfs_put.written. */
    TFS_FILE_OVERLAY = 32,
    TFS_FILE_SUMMED = 64, /* what the file says is in the checksum of voxels, though it is apart */
    /* `put` takes tfs_put.written for a text that grew large while it was written. */
    TFS_FILE_LARGE = 128,
    /* A grid of a plane with TFS_PLANE_FILLABLE. Where the plane is not filled, voxels.csv says it,
     * and TFS_VIEWS_VOXELS does not show the grid, which can be created, though. */
    TFS_FILE_FILLED = 256,
};

/* The sets of files that `-o views=` chooses from (formats/views/view_sets.h). Files of one set do
 * not overlap, and nothing in it is derived. What a set cannot say in its own way (lights,
 * metadata, the palette of a terrain) belongs to it, too. */
enum tfs_file_views {
    TFS_VIEWS_VOXELS = 1,  /* voxels.csv */
    TFS_VIEWS_GRIDS = 2,   /* texts of numbers */
    TFS_VIEWS_RAW = 4,     /* stored bytes */
    TFS_VIEWS_ALL = 8,     /* every file but arrays: no file names it */
    TFS_VIEWS_ARRAYS = 16, /* arrays/: volumes as NumPy has them */
    TFS_VIEWS_EVERY = 32,  /* every file: for commands that are told a path */
};

struct tfs_tree;

/* A set of files whose names depend on the document. Members are numbered from 0 on; a number means
 * one file as long as a save is open, so where they come and go lens->exists says which there
 * are. */
struct tfs_family {
    /* Appends the name of a member that exists. */
    void (*name)(const struct tfs_tree *tree, const struct tfs_doc *doc, uint32_t member,
                 struct tfs_buf *out);
    /* The member of that name, or false. NULL: each is asked for its name. */
    bool (*find)(const struct tfs_tree *tree, const struct tfs_doc *doc, const char *name,
                 uint32_t *member);
    /* Sets changed[m], all false before, of members below `count` that read differently. False:
     * all may. NULL: nobody knows. */
    bool (*changes)(const struct tfs_tree *tree, const struct tfs_doc *before,
                    const struct tfs_doc *after, uint32_t count, bool *changed);
};

/* One name of the schema. `path` is below the chunk's directory or the root, with directories to
 * any depth: "blocks.txt", "lights/sky.txt"; of a family the directory, "layers/". `count` says
 * what the numbers of its members are below; of any other file 1 or 0, whether it is there. */
struct tfs_file {
    const char *path;
    unsigned flags;
    const struct tfs_lens *lens;
    uint32_t (*count)(const struct tfs_tree *tree, const struct tfs_doc *doc); /* NULL: 1 */
    const struct tfs_family *family; /* NULL: it is none */
    unsigned views; /* enum tfs_file_views: the sets that it belongs to; 0: it is derived */
};

/* Files of chunks as most games have them, for their tables. A grid of a column of voxels.csv is a
 * TFS_GRID_FILE; a grid that no column says is an apart file. That may be OPTIONAL, too. */
#define TFS_RAW_FILE(raw_lens)                                                                     \
    {                                                                                              \
        .path = "raw.bin", .flags = TFS_FILE_RAW, .lens = (raw_lens), .views = TFS_VIEWS_RAW       \
    }
#define TFS_VOXELS_FILE(voxels_lens)                                                               \
    {                                                                                              \
        .path = "voxels.csv", .lens = (voxels_lens), .views = TFS_VIEWS_VOXELS                     \
    }
#define TFS_GRID_FILE(name, grid_lens)                                                             \
    {                                                                                              \
        .path = (name), .lens = (grid_lens), .views = TFS_VIEWS_GRIDS                              \
    }
#define TFS_APART_FILE(name, more_flags, apart_lens)                                               \
    {                                                                                              \
        .path = (name), .flags = TFS_FILE_APART | (more_flags), .lens = (apart_lens),              \
        .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS                                                \
    }

#define TFS_FILES_MAX 32

/* Tells why a chunk stays as it is. */
typedef void (*tfs_refused_fn)(void *arg, const struct tfs_chunk *chunk, const char *why);

/* Takes a name, which is good until it returns; a failure ends the giving. */
typedef int (*tfs_name_fn)(void *arg, struct tfs_span name, struct tfs_error *err);

/* The files of a directory and of those in it. */
struct tfs_schema {
    const struct tfs_file *files;
    unsigned count;
};

#define TFS_SCHEMA(list)                                                                           \
    {                                                                                              \
        (list), sizeof(list) / sizeof((list)[0])                                                   \
    }

/* The names that saves of a format have. The order of `files` is the order in which `import`
 * applies them and in which directories list them: raw.bin first in a chunk. Files of one
 * directory, and of those in it, follow one another. */
struct tfs_tree {
    struct tfs_schema root, chunk;
    struct tfs_schema column; /* of each in columns/; none: the format has no columns */
    struct tfs_schema group;  /* of each group above 0, beside its chunks/. No `count` but NULL */

    const char *group_dir; /* "lods", "regions": holds N/chunks/ of groups above 0; NULL: none */
    uint32_t (*groups)(const struct tfs_doc *doc); /* groups are below this; with group_dir only */
    /* Groups are things of the save, numbered in its order: none comes or goes. Otherwise groups
     * are levels, and exist as long as they have chunks. */
    bool fixed_groups;
    const struct tfs_cells_kind *cells; /* what a chunk holds; NULL: only the lenses know */

    /* For tfs_chunk_create: adds an empty chunk; EINVAL or EROFS with a sentence where the save
     * cannot hold one. NULL: the chunks are fixed. */
    int (*chunk_create)(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                        struct tfs_error *err);
    /* For tfs_chunk_move. NULL: a chunk that fits there is moved as it is. */
    int (*chunk_move)(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                      struct tfs_key to, struct tfs_error *err);

    /* Brings all chunks to the newest version of the format: *count of them. One that cannot be
     * converted goes to `refused` and stays. NULL: the format has nothing to upgrade. */
    int (*upgrade)(struct tfs_save *save, struct tfs_edit *edit, tfs_refused_fn refused, void *arg,
                   size_t *count, struct tfs_error *err);

    /* May a chunk of `ours` be put or removed in `theirs`, which is another document of the save,
     * or the same? EINVAL or EROFS with a sentence. Key and tag may be any. NULL as chunk: may the
     * parts? NULL: they may. */
    int (*fits)(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                const struct tfs_chunk *chunk, struct tfs_error *err);
};

/* The files of a chunk of that group. */
static inline const struct tfs_schema *tfs_chunk_schema(const struct tfs_tree *tree, uint32_t group)
{
    return group == TFS_GROUP_COLUMNS ? &tree->column : &tree->chunk;
}

/* The number that the directory of group 1 has. */
static inline uint32_t tfs_group_label(const struct tfs_tree *tree)
{
    return tree->fixed_groups ? 0 : 1;
}

/* ---- containers ------------------------------------------------------------------------------ */

enum tfs_bid { TFS_BID_NONE = 0, TFS_BID_LOW = 10, TFS_BID_FULL = 50, TFS_BID_CERTAIN = 90 };

/* What a probe may look at. */
struct tfs_probe {
    const char *path;     /* symlinks resolved */
    const char *name;     /* last component */
    struct stat st;       /* file or directory */
    struct tfs_span head; /* the first bytes, up to TFS_PROBE_HEAD; empty for a directory */
    int fd;               /* for formats whose magic is weak and that need a full parse */
};

#define TFS_PROBE_HEAD 4096

enum tfs_lock { TFS_LOCK_NONE, TFS_LOCK_EXCLUSIVE };

struct tfs_open_options {
    enum tfs_lock lock;           /* EXCLUSIVE: for writing; else nothing can be committed */
    bool upgrade;                 /* -o upgrade */
    struct tfs_undo_options undo; /* whether what is replaced is kept; with the lock only */
    uint64_t inflate_limit;       /* cap for one inflated payload, bytes */
    const char *name; /* what the save is called, where its path does not say it; NULL: as that
                       * says */
    uint64_t memory;  /* for caches, bytes; 0: the usual */
    unsigned views;   /* -o views=, enum tfs_file_views; 0: TFS_VIEWS_ALL */
    /* Called during long work: `done` of `total`, from 0 on; without a unit the work is over. NULL:
     * nobody listens. */
    void (*step)(void *arg, const char *unit, size_t done, size_t total);
    void *step_arg;
    bool later; /* chunks may be lacking in the document until somebody asks for them
                 * (tfs_save_complete); else all are there once the save is open */
};

#define TFS_INFLATE_LIMIT (UINT64_C(1) << 30)

/* What the journal of a save has to know of its files. With `hash` alone the save is one file.
 * The journal of several lies in their folder (docs/journal.md, section 4), which no other program
 * may write meanwhile. */
struct tfs_journal_files {
    const char *name;    /* the journal is .NAME.terrainfs-journal; NULL: one file */
    const char *earlier; /* where version 0.1 put it, below the folder; NULL: in the same place */
    /* The file that holds a chunk. */
    struct tfs_key (*file_of)(const struct tfs_save *save, struct tfs_key chunk);
    /* Where that file is, or would be; to be freed. NULL: no memory. */
    char *(*path)(const struct tfs_save *save, struct tfs_key file);
    /* The hash of what it holds, as it was read or written, and its identity; both all 0: there is
     * no such file. ESTALE: another program changed it since. */
    int (*hash)(struct tfs_save *save, struct tfs_key file, struct tfs_hash *hash, struct stat *st,
                struct tfs_error *err);
};

struct tfs_container {
    const char *format; /* folder name, `-o format=`: "cosmic_reach" */
    const char *name;   /* "region file" */
    const struct tfs_tree *tree;

    int (*probe)(const struct tfs_probe *probe); /* enum tfs_bid, or -ENOMEM */
    /* Adds the saves that a path means, where it is none itself: several, of a folder that holds
     * them, each with the path where it is shown; or one with the path "", that lies elsewhere
     * (formats/containers/several_saves.h). Most paths mean nothing to most formats. NULL: they
     * never do. */
    int (*saves)(const char *path, struct tfs_parts *parts, struct tfs_error *err);

    /* Reads the save: sets save->doc, save->st, save->read_only. `save` is zeroed but for
     * container, tree, path, name and options. After a failure nothing needs closing. */
    int (*open)(struct tfs_save *save, struct tfs_error *err);
    /* As tfs_chunks_fetch. ESTALE: another program changed the chunk since it was read. NULL:
     * documents of this container hold everything. */
    size_t (*fetch)(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                    struct tfs_error *err);
    /* Puts `doc` on disk, durably and verified; at every instant the old or the new save is there.
     * Then save->doc is `doc` or an equal one. ESTALE: the save changed on disk since it was read.
     * After a failure the save on disk is the old one. If only making it durable failed, it is the
     * new one (of several files, some of them are), and a commit of the same document writes it
     * again. */
    int (*commit)(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err);
    /* Has the save changed on disk since it was read or committed? 1 yes, 0 no, or negative.
     * Cheap. `chunk` not NULL: of many files only those that hold it need to be looked at. */
    int (*changed)(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err);
    /* Reads it again into save->doc; slots of chunks that are still there are kept. */
    int (*reload)(struct tfs_save *save, struct tfs_error *err);
    const struct tfs_journal_files *journal; /* NULL: it is a database */
    void (*close)(struct tfs_save *save);    /* frees save->own; save->doc goes by itself */

    /* The checksum of what the save, as it was read, holds beside what the tree shows. NULL: the
     * tree shows all. */
    int (*rest)(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err);
    const struct tfs_file_codec *file; /* containers that are one file: formats/containers/file.h */
    const struct tfs_folder_kind *files; /* that are several: formats/containers/folder.h */
};

/* Is it a database? Then a commit is a transaction, without a journal. It compares the rows that it
 * is to change with those on disk, and answers ESTALE where another program changed the same: an
 * edit need not ask `changed` before. */
static inline bool tfs_container_is_database(const struct tfs_container *container)
{
    return container->journal == NULL;
}

static inline bool tfs_container_has_files(const struct tfs_container *container)
{
    return container->journal != NULL && container->journal->name != NULL;
}

/* Tells the keeper of a journal what a rewrite made of a file (file 0, where the save is one),
 * before it takes the old one's place; after a failure it does not. Hash all 0: the file is to be
 * removed. `whole`: it has all that the document says of it, and not only the chunks that it gains.
 * NULL: nobody listens. */
struct tfs_rewrite {
    int (*wrote)(void *arg, struct tfs_key file, struct tfs_hash hash, bool whole,
                 struct tfs_error *err);
    void *arg;
};

/* An opened save. */
struct tfs_save {
    const struct tfs_container *container;
    const struct tfs_tree *tree; /* container->tree */
    char *path;                  /* absolute, symlinks resolved */
    char *only; /* the path of the one file of the folder that was given, and is shown; NULL: all
                 * are */
    const char *name; /* its last component */
    struct tfs_open_options options;
    struct stat st; /* owner, mode and times as of open, reload or commit */
    /* NULL, or the sentence why nothing can be committed, valid as long as the save. A reload may
     * set another one. */
    const char *_Atomic read_only;
    struct tfs_sentence *sentences; /* those that read_only ever was */
    struct tfs_doc *doc;            /* what is on disk */
    struct tfs_rewrite rewrite;     /* for containers with `journal` */
    const struct tfs_doc *checked;  /* its chunks were found to decode: a commit need not try it */
    struct tfs_keeper *keeper;      /* hears of what is replaced; NULL: nobody */
    bool no_journal;                /* something that is not ours has the name of the journal */
    struct tfs_numbers *numbers;    /* formats/views/arrays/numbers.h; of a tree with cells, as all
                                     * that follows */
    struct tfs_cells_cache *cells;  /* formats/cells/cells.h */
    struct tfs_kept *kept;          /* formats/views/arrays/kept.h */
    struct tfs_columns *columns;    /* formats/views/pictures/columns.h */
    struct tfs_known_names *known_names; /* formats/views/new_names.h; NULL: nobody asked */
    void *own;                           /* the container's */
    void *cache; /* the format's, for its lenses; it has a lock of its own */
};

static inline void tfs_save_step(const struct tfs_save *save, const char *unit, size_t done,
                                 size_t total)
{
    if (save->options.step != NULL)
        save->options.step(save->options.step_arg, unit, done, total);
}

/* Finds the container that bids most (or of `format`, may be NULL), opens. EBADMSG: no format fits;
 * EINVAL: two fit equally (both are named), or `format` is unknown. */
int tfs_save_open(const char *path, const char *format, const struct tfs_open_options *options,
                  struct tfs_save **save, struct tfs_error *err);
/* The path of the save that it would open: absolute, links resolved; to be freed. `name`: what it
 * is called, NULL: as its path says. `container`, what would open it, may be NULL. */
int tfs_save_find(const char *path, const char *name, const char *format,
                  const struct tfs_container **container, char **found, struct tfs_error *err);
/* Would that find one? */
bool tfs_save_is(const char *path, const char *format);
/* Does the path end as the names of saves do, of this format? NULL: of any. */
bool tfs_save_is_named(const char *path, const char *format);
void tfs_save_close(struct tfs_save *save);
/* What views keep with a save; of one that tests made by hand, the rest is theirs. */
int tfs_save_caches_make(struct tfs_save *save, struct tfs_error *err);
void tfs_save_caches_free(struct tfs_save *save);
/* Was it opened for writing? */
static inline bool tfs_save_is_locked(const struct tfs_save *save)
{
    return save->options.lock == TFS_LOCK_EXCLUSIVE;
}

/* For commit. EROFS: nothing may be written. */
int tfs_save_check_allowed(const struct tfs_save *save, struct tfs_error *err);
/* For commit: do the chunks of `doc` that differ from those of save->doc decode? */
int tfs_save_check_chunks(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_error *err);

/* Its name: that of its options, or the last component of its path. */
const char *tfs_save_called(const struct tfs_save *save);

/* Does the document lack chunks that may be at that key; NULL: any? */
bool tfs_save_lacks(const struct tfs_save *save, const struct tfs_doc *doc,
                    const struct tfs_key *chunk);
/* save->doc lacks them no more. */
int tfs_save_complete(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err);

/* Does the save have a fixed set of chunks, as the tiles of a terrain are? */
static inline bool tfs_chunks_are_fixed(const struct tfs_save *save)
{
    return save->tree->chunk_create == NULL;
}

/* EPERM with a sentence: they are. */
int tfs_chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                     struct tfs_error *err);
int tfs_chunk_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                     struct tfs_error *err);
/* To a free coordinate; the slot moves with it. */
int tfs_chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                   struct tfs_key to, struct tfs_error *err);

/* tfs_tree.fits. */
int tfs_chunk_fits(const struct tfs_tree *tree, const struct tfs_doc *ours,
                   const struct tfs_doc *theirs, const struct tfs_chunk *chunk,
                   struct tfs_error *err);

/* The chunk's stored bytes, fetched where the document does not hold them: a reference. ENOENT: it
 * has none. */
int tfs_chunk_load(struct tfs_save *save, const struct tfs_chunk *chunk, struct tfs_blob **blob,
                   struct tfs_error *err);
/* Fetches what is unread in these copies of chunks (enum tfs_chunk_flags) and puts it into them. A
 * value that the save does not have stays NULL. Fetches as many as are worth one go, at least one,
 * and returns how many; with `err` set, the one behind them failed. The copies own the references.
 * Thread-safe. */
size_t tfs_chunks_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                        struct tfs_error *err);

/* Gives each of some chunks with its bytes, which are fetched as many at once as the container can.
 * `err` is set where the bytes of a chunk cannot be had; what `each` leaves in it ends the walk.
 * The copies own references, which it releases. */
typedef void (*tfs_fetched_fn)(void *arg, const struct tfs_chunk *chunk, struct tfs_error *err);
int tfs_chunks_each(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                    tfs_fetched_fn each, void *arg, struct tfs_error *err);

/* Sets save->read_only to why->text, or to NULL when why->code is 0. */
void tfs_save_set_read_only(struct tfs_save *save, const struct tfs_error *why);
/* Frees what tfs_save_set_read_only holds, of a save that tfs_save_open did not make. */
void tfs_save_reasons_release(struct tfs_save *save);

/* All containers, ended by NULL (registry.c). */
extern const struct tfs_container *const tfs_containers[];

/* How the names of files of a format end: ".rbxl". Ended by a row without a format (registry.c). */
struct tfs_ending {
    const char *format, *text;
};
extern const struct tfs_ending tfs_endings[];

#endif
