/*
 * The order in which the files of one commit of a folder are written.
 */
#ifndef TFS_FORMATS_CONTAINERS_FOLDER_COMMIT_H
#define TFS_FORMATS_CONTAINERS_FOLDER_COMMIT_H

#include "formats/format.h"

/* One chunk that a commit changes. */
struct tfs_folder_step {
    struct tfs_key file; /* that it is in */
    uint32_t index;      /* its number in the file: steps of a file are sorted by it */
    struct tfs_key key;
    const struct tfs_chunk *chunk; /* as the document has it; NULL: there is none any more */
};

struct tfs_folder_commit;

/* What a format does for a commit. */
struct tfs_folder_writer {
    /* The file that holds a chunk, and the chunk's number in it. */
    struct tfs_key (*file_of)(void *arg, struct tfs_key chunk, uint32_t *index);
    /* Makes these steps in one file, replaced or made or removed as a whole, and read back before.
     * 1: the disk has it, also where making that durable failed (err); negative: it has not.
     * `whole`: no step of this file comes later, which is for save->rewrite.wrote. */
    int (*write)(void *arg, struct tfs_key file, const struct tfs_folder_step *steps, size_t count,
                 bool whole, struct tfs_error *err);
    void *arg;
};

/* The order, so that a crash between two files never loses a chunk:
 *   1. files that gain or change chunks, by key; what they lose stays in them, if there is more
 *      than one file to write;
 *   2. files that lose chunks.
 * So at every instant each chunk is what it was or what it shall be, and one that moves between two
 * files may be in both. */
struct tfs_folder_commit {
    struct tfs_save *save;
    const struct tfs_folder_writer *writer;
    struct tfs_doc *doc;
    struct tfs_folder_step *steps;
    size_t count;
    struct tfs_edit reached; /* what the disk holds */
    struct tfs_error *err;
};

/* What took the place of a file, or is about to (all 0: nothing), is told to whoever keeps a
 * journal. */
void tfs_folder_wrote(const struct tfs_save *save, struct tfs_key file, struct tfs_hash hash,
                      bool whole);

/* Finds what differs between save->doc and `doc`, and checks each such chunk. To be closed after a
 * failure too. */
int tfs_folder_commit_open(struct tfs_save *save, struct tfs_doc *doc,
                           const struct tfs_folder_writer *writer, struct tfs_folder_commit *commit,
                           struct tfs_error *err);
/* The commit will also write that file, of which no chunk changes. To be said before the first file
 * is written, so that undo takes back all of a commit or nothing. */
int tfs_folder_commit_expect(struct tfs_folder_commit *commit, struct tfs_key file);
/* Writes all files with changed chunks, in that order. */
int tfs_folder_commit_chunks(struct tfs_folder_commit *commit);
/* Writes a file of which no chunk changes. */
int tfs_folder_commit_file(struct tfs_folder_commit *commit, struct tfs_key file);
/* The document that the disk holds now: a reference; NULL when the commit could not be opened. */
struct tfs_doc *tfs_folder_commit_reached(struct tfs_folder_commit *commit);
void tfs_folder_commit_close(struct tfs_folder_commit *commit);

#endif
