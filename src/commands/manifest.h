/*
 * `.terrainfs/` of an exported tree, by which `import` knows what somebody edited since: the hash
 * of every file as `export` wrote it, and the files of the root themselves, because each is a view
 * of the whole save. A `.gitignore` keeps it out of git.
 *
 *   .terrainfs/manifest               terrainfs manifest 1
 *                                     format cosmic_reach
 *                                     views voxels+raw          (only where not all were exported)
 *                                     file e6e6d0c1f8a2b3945566778899aabbcc chunks/0_0_0/raw.bin
 *                                     partial      (something could not be exported)
 *                                     end 1
 *   .terrainfs/original/heightmap.png.gz
 *
 * Hashes are XXH3 of 128 bits. Paths are escaped like names (text/name.h). `end` counts the lines
 * of files. An original is believed when its hash is the one of the manifest. While `export`
 * writes, the manifest is called manifest.new: a tree that has this one alone was cut off.
 */
#ifndef TFS_COMMANDS_MANIFEST_H
#define TFS_COMMANDS_MANIFEST_H

#include <stdio.h>
#include <sys/types.h>

#include "base/blob.h"

#define TFS_MANIFEST "manifest"
/* The directory in an exported tree. */
#define TFS_MANIFEST_DIR ".terrainfs"

/* ---- writing --------------------------------------------------------------------------------- */

struct tfs_manifest_writer {
    int directory; /* fd of TFS_MANIFEST_DIR */
    FILE *out;
    size_t files;
};

/* Begins the manifest of the tree whose directory is open as `tree`. `views`: which files are
 * exported (enum tfs_file_views). */
int tfs_manifest_begin(int tree, mode_t directory_mode, mode_t file_mode, const char *format,
                       unsigned views, struct tfs_manifest_writer *writer, struct tfs_error *err);
/* A file of the tree and what was written into it. */
int tfs_manifest_add(struct tfs_manifest_writer *writer, const char *path, struct tfs_span text,
                     struct tfs_error *err);
/* The same, and keeps the text as an original. */
int tfs_manifest_add_original(struct tfs_manifest_writer *writer, const char *path,
                              struct tfs_span text, mode_t directory_mode, mode_t file_mode,
                              struct tfs_error *err);
/* The manifest has its name only after this. `partial`: something of the save could not be
 * exported. */
int tfs_manifest_finish(struct tfs_manifest_writer *writer, bool partial, struct tfs_error *err);
/* Closes what tfs_manifest_begin opened, finished or not. */
void tfs_manifest_close(struct tfs_manifest_writer *writer);

/* ---- reading --------------------------------------------------------------------------------- */

struct tfs_manifest_line {
    struct tfs_span path; /* escaped */
    struct tfs_span hash; /* hexadecimal */
};

struct tfs_manifest_lines {
    struct tfs_manifest_line *items; /* sorted by path */
    size_t count;
};

struct tfs_manifest {
    bool present;   /* false: the tree has none, and nothing is known of it */
    bool cut;       /* it has none because its export did not end */
    bool partial;   /* the export could not show everything */
    unsigned views; /* enum tfs_file_views: what was exported; 0: all */
    struct tfs_blob *text;
    struct tfs_manifest_lines files;
};

/* Did the export that wrote the tree `dir` not end? */
bool tfs_manifest_is_cut(const char *dir);
/* Reads that of the tree `dir`, which may lack one. EBADMSG with line: it is none of ours, or of an
 * export of another format. */
int tfs_manifest_load(const char *dir, const char *format, struct tfs_manifest *manifest,
                      struct tfs_error *err);
void tfs_manifest_release(struct tfs_manifest *manifest);

/* Did `export` write this file, and exactly so? 1, 0 or -ENOMEM. */
int tfs_manifest_has(const struct tfs_manifest *manifest, const char *path, struct tfs_span text,
                     struct tfs_error *err);
/* Did it write this file, or one below this directory? 1, 0 or -ENOMEM. */
int tfs_manifest_lists(const struct tfs_manifest *manifest, const char *path,
                       struct tfs_error *err);
/* Appends the file of the root as `export` wrote it: 1; 0: there is no original of it. EBADMSG: the
 * original is none. */
int tfs_manifest_original(const struct tfs_manifest *manifest, const char *dir, const char *path,
                          struct tfs_buf *text, struct tfs_error *err);

#endif
