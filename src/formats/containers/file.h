/*
 * Containers that are one file, read whole and replaced whole: all that such a format has to give
 * is a decoder and an encoder. Locking, reading, atomic replacement, verification, outside changes
 * and reloading are done here, once (docs/semantics.md, W9).
 */
#ifndef TFS_FORMATS_CONTAINERS_FILE_H
#define TFS_FORMATS_CONTAINERS_FILE_H

#include "base/file.h"
#include "formats/format.h"

struct tfs_file_codec {
    /* The file's bytes to a document (with facts and notes). Chunks may be slices of `bytes`. A
     * sentence names the offset of what is wrong. save->path and save->options may be used,
     * save->doc not. */
    int (*decode)(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                  struct tfs_error *err);
    /* The same from the `size` bytes of a file, for formats that need not have all of them at once.
     * NULL: they are read first. */
    int (*decode_file)(struct tfs_save *save, int fd, uint64_t size, struct tfs_doc **doc,
                       struct tfs_error *err);
    /* The document to the file's bytes, in pieces. Facts come from doc->facts. */
    int (*encode)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                  struct tfs_error *err);
    /* Does the file that was written say what `doc` says? Called after encode of the same document,
     * for formats that can tell from less than decoding it whole: everything is read, what differs
     * from save->doc is decoded or is the bytes of a chunk (which then is decoded by
     * tfs_cells_check), and all else is compared with bytes that were decoded before. Must not read
     * beyond the last byte. NULL: it is decoded, and every chunk is compared. */
    int (*check)(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_readback *written,
                 struct tfs_error *err);
    /* For a save of several files (a sidecar): called right before the file is replaced, may begin
     * to replace the other one. Whatever comes, *follower is cancelled when the commit ends: only a
     * process that is killed leaves it, for `open` to find. NULL: none. */
    void (*committing)(struct tfs_save *save, const struct tfs_doc *doc,
                       struct tfs_replacement *follower);
    /* Called after the file was replaced, also when only its directory could not be made durable.
     * NULL: none. */
    int (*committed)(struct tfs_save *save, const struct tfs_doc *before,
                     const struct tfs_doc *after, struct tfs_error *err);
    /* After a commit save->doc is the document as it was read back, not the one that was given: for
     * formats whose encode looks at where save->doc lies in the file. */
    bool rereads;
};

/* For the functions of struct tfs_container of the same names. */
int tfs_whole_file_open(struct tfs_save *save, struct tfs_error *err);
int tfs_whole_file_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err);
int tfs_whole_file_changed(struct tfs_save *save, const struct tfs_key *chunk,
                           struct tfs_error *err);
int tfs_whole_file_reload(struct tfs_save *save, struct tfs_error *err);
void tfs_whole_file_close(struct tfs_save *save);
extern const struct tfs_journal_files tfs_whole_file_journal;
/* All of them, and the codec. */
#define TFS_WHOLE_FILE(codec)                                                                      \
    .file = (codec), .open = tfs_whole_file_open, .commit = tfs_whole_file_commit,                 \
    .changed = tfs_whole_file_changed, .reload = tfs_whole_file_reload,                            \
    .journal = &tfs_whole_file_journal, .close = tfs_whole_file_close

/* What W9 asks of every file: writes that of `doc` into the replacement and reads it back. All
 * chunks must be the intended ones, and those that differ from save->doc must decode. *written: the
 * document as it was read, or `doc` where the codec checks what it wrote. */
int tfs_whole_file_fill(struct tfs_save *save, struct tfs_doc *doc, struct tfs_replacement *r,
                        struct tfs_doc **written, struct tfs_hash *hash, struct tfs_error *err);

/* Writes `doc`, which may be an edited one of `save`, durably and verified as a commit is, in place
 * of the file of `over`, which is open for writing and is only good for being closed then; or, with
 * `over` NULL, to the new file `path`, which no link leads to. A document without edits is written
 * as the file that it was read from. */
int tfs_whole_file_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_save *over,
                         const char *path, struct tfs_error *err);

/* The document as it is read from the file that a commit of `doc` would write, made in memory: what
 * does not come back as it is in `doc` is EBADMSG. For documents that nobody vouches for; keys,
 * sizes and parts must have been looked at before. *again has the slots of `doc`. */
int tfs_whole_file_again(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_doc **again,
                         struct tfs_error *err);

/* Did the last commit replace the file, but could not make its directory durable? Then a commit of
 * the same document has to write it all the same. */
bool tfs_whole_file_unsure(const struct tfs_save *save);

#endif
