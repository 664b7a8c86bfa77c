/*
 * A folder of files as one save: zones of Cosmic Reach, folders of Godot.
 *
 * A game says which names are its files, which file holds a chunk, and how one file is looked at;
 * what a file holds is written and read back by the codec of such a file alone (file.h). Here
 * are the lock of the folder, the index of its files, changes by other programs, the bytes of
 * chunks, the order in which the files of one commit are written, and what the journal asks.
 *
 * A save that was given by the path of one file (tfs_save.only) has that file alone in its index:
 * so it shows that file's chunks, and locks, journals and keeps what the folder does.
 */
#ifndef TFS_FORMATS_CONTAINERS_FOLDER_H
#define TFS_FORMATS_CONTAINERS_FOLDER_H

#include "base/file.h"
#include "formats/format.h"

#define TFS_FOLDER_PATH 128 /* room for the path of a file below the folder */

/* ---- what is known of a file ----------------------------------------------------------------- */

/* Where a chunk lies. */
struct tfs_folder_slot {
    uint64_t offset; /* in the payload of the file, or in the file */
    uint64_t sum;    /* of its bytes; 0: they were not read yet */
    uint32_t size;
    uint32_t index;      /* its number in the file */
    uint32_t tag, flags; /* of the chunk */
};

/* Made when a file is looked at, read or written; shared with the documents that show it. */
struct tfs_folder_file {
    atomic_uint refs;
    struct tfs_key key;
    struct stat st;
    bool unread;      /* only its first bytes were looked at: what is in it is not known yet */
    bool left_out;    /* it cannot be read at all, and shows nothing */
    bool hashed;      /* `hash` is that of what it holds */
    uint64_t reading; /* that found it new, or changed by others */
    struct tfs_hash hash;
    char *refusal;          /* why it cannot be written; NULL: it can */
    struct tfs_note *notes; /* what decoding it told */
    size_t note_count;
    struct tfs_folder_slot *slots; /* by index */
    size_t count;
    void *own; /* the game's */
};

/* Files by key. */
struct tfs_folder_files {
    struct tfs_folder_file **files; /* references */
    size_t count;
};

struct tfs_folder_kind;

/* tfs_facts.folder: what was there when a document was read. */
struct tfs_folder_known {
    const struct tfs_folder_kind *kind;
    struct tfs_folder_files files;
    size_t unread; /* of them: the document lacks their chunks */
    bool narrow;   /* the save is shown as far as `only` goes */
    struct tfs_key only;
};

/* What is known of the file that holds a chunk; NULL: it was not there. */
const struct tfs_folder_file *tfs_folder_file_of(const struct tfs_doc *doc, struct tfs_key chunk);
/* Can a chunk be, or change, at these coordinates? EINVAL: it is outside what is shown; EROFS: its
 * file cannot be written. Of documents of any save. */
int tfs_folder_check_place(const struct tfs_doc *doc, struct tfs_key chunk, struct tfs_error *err);
/* Of a save that shows one file: can that be shown? ENOENT: its folder shows no such file; EBADMSG:
 * it cannot be read. */
int tfs_folder_check_only(const struct tfs_facts *facts, struct tfs_error *err);
/* Does the document lack chunks of a file that was not read, which may be at that key; NULL:
 * any? */
bool tfs_folder_lacks(const struct tfs_doc *doc, const struct tfs_key *chunk);
/* Of a save opened with options.later: reads what save->doc lacks there (NULL: anywhere), or more,
 * into another document: what it has stays, with its slots. What cannot be read any more is not
 * there; so it fails for want of memory only. */
int tfs_folder_complete(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_doc **doc,
                        struct tfs_error *err);

/* ---- what a game gives ----------------------------------------------------------------------- */

struct tfs_folder_kind {
    const struct tfs_container *file; /* one such file alone */
    const char *common; /* a file of the folder, which may lack: its text is doc->common. NULL: they
                         * have none */
    bool needed;        /* without that there is no save, and another one makes it another save */
    bool keeps_empty;   /* a file without chunks stays */
    size_t own_size;    /* of tfs_folder_file.own, which needs no release */

    /* Facts of what is common; NULL: it is not there. */
    int (*facts)(const struct tfs_save *save, struct tfs_blob *common, struct tfs_facts **facts,
                 struct tfs_error *err);
    /* All files are known now. May be NULL. */
    void (*complete)(struct tfs_facts *facts);

    /* The i-th directory of files, below the folder; empty: that itself. False: there are no
     * more. */
    bool (*directory)(const struct tfs_facts *facts, unsigned i, char path[TFS_FOLDER_PATH]);
    /* The file of that path below the folder, and back. */
    bool (*key)(const char *path, struct tfs_key *file);
    void (*path)(struct tfs_key file, char path[TFS_FOLDER_PATH]);
    /* The file that holds a chunk, and its number there; and back. */
    struct tfs_key (*file_of)(const struct tfs_facts *facts, struct tfs_key chunk, uint32_t *index);
    struct tfs_key (*chunk_of)(const struct tfs_facts *facts, struct tfs_key file, uint32_t index);

    /* Sets file->own, and file->slots: where that takes decoding, it leaves file->unread. */
    int (*look)(const struct tfs_facts *facts, const struct tfs_file_handle *handle,
                struct tfs_folder_file *file, struct tfs_error *why);
    /* Sets file->own of a file that was decoded. NULL: `look` knows all. */
    void (*learn)(const struct tfs_doc *doc, struct tfs_folder_file *file);
    /* What chunks are slices of, also those that the codec of the file decodes: so the chunks of a
     * unit are slices of it, inflated, and have tags and flags. NULL: each chunk lies in the file,
     * in bytes of its own, which are all there is of it. */
    int (*payload)(struct tfs_blob *bytes, uint64_t limit, struct tfs_blob **payload,
                   struct tfs_error *err);
    /* Makes the bytes that lie where a slot says those of the chunk. With no `payload`. */
    int (*stored)(const struct tfs_save *save, const struct tfs_folder_file *file,
                  struct tfs_buf *bytes, struct tfs_error *err);

    /* The document of a file that is not there yet, empty. */
    int (*blank)(struct tfs_save *save, struct tfs_key file, struct tfs_doc **doc,
                 struct tfs_error *err);
    /* tfs_chunk.own of a chunk that is put there; NULL: they have none. */
    uint64_t (*order)(const struct tfs_doc *doc, struct tfs_key key);
    /* Where the text of what is common may be changed: is the file older than a changed one says?
     * Brings an edit of a file to what the folder says, which is about to get another text if
     * `newer`. NULL: nobody changes it. */
    bool (*is_old)(const struct tfs_folder_file *file);
    int (*renew)(const struct tfs_facts *folder, bool newer, struct tfs_edit *edit,
                 struct tfs_error *err);
};

/* For the functions of struct tfs_container, whose `files` is the kind. */
int tfs_folder_open(struct tfs_save *save, struct tfs_error *err);
void tfs_folder_close(struct tfs_save *save);
size_t tfs_folder_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                        struct tfs_error *err);
int tfs_folder_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err);
int tfs_folder_changed(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err);
int tfs_folder_reload(struct tfs_save *save, struct tfs_error *err);
/* And of struct tfs_journal_files. */
struct tfs_key tfs_folder_file_key(const struct tfs_save *save, struct tfs_key chunk);
char *tfs_folder_file_path(const struct tfs_save *save, struct tfs_key file);
int tfs_folder_file_hash(struct tfs_save *save, struct tfs_key file, struct tfs_hash *hash,
                         struct stat *st, struct tfs_error *err);

#define TFS_FOLDER_FUNCTIONS(open_fn, close_fn)                                                    \
    .open = (open_fn), .close = (close_fn), .fetch = tfs_folder_fetch,                             \
    .commit = tfs_folder_commit, .changed = tfs_folder_changed, .reload = tfs_folder_reload
#define TFS_FOLDER_JOURNAL                                                                         \
    .file_of = tfs_folder_file_key, .path = tfs_folder_file_path, .hash = tfs_folder_file_hash

#endif
