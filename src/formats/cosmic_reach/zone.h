/*
 * A zone: all region files of a folder as one save (FORMAT.md, section 7). For zone*.c, and for
 * what asks a document which region a chunk is in.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_ZONE_H
#define TFS_FORMATS_COSMIC_REACH_ZONE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/recent.h"
#include "formats/cosmic_reach/entities.h"
#include "formats/cosmic_reach/region.h"
#include "formats/folder.h"

/* Where the body of a chunk lies in the payload of its region. */
struct tfs_cosmic_body_at {
    uint64_t offset;
    uint64_t hash; /* of the body: tfs_cosmic_chunk_hash of a chunk that is fetched from here */
    uint32_t size;
    uint32_t version; /* of the chunk */
    uint16_t slot;    /* of the table of FileVersion 0-3, whatever the version is */
    uint16_t flags;   /* of the chunk */
};

/* What one region file says: made when it is looked at, read or written, never changed, shared. */
struct tfs_cosmic_region_file {
    struct tfs_folder_file file; /* first */
    atomic_uint refs;
    struct tfs_cosmic_facts facts; /* not of one that is left out */
    bool unread;                   /* only its first bytes were: what is in it is not known yet */
    bool left_out;                 /* it cannot be read at all, and shows nothing */
    char *refusal;                 /* why it cannot be written; NULL: it can */
    struct tfs_note *notes;        /* what decoding it told, beside that */
    size_t note_count;
    struct tfs_cosmic_odd odd;
    struct tfs_cosmic_body_at *bodies; /* by slot */
    size_t count;
};

struct tfs_cosmic_region_file *tfs_cosmic_region_file_ref(struct tfs_cosmic_region_file *file);
void tfs_cosmic_region_file_unref(struct tfs_cosmic_region_file *file); /* NULL is legal */

/* facts->own of a zone's documents: what was there when it was read last. */
struct tfs_cosmic_zone_facts {
    struct tfs_cosmic_facts newest; /* first: of which a new region takes version and compression */
    struct tfs_cosmic_region_file **files; /* by key */
    size_t count;
    size_t unread; /* of them: the document lacks their chunks */
};

/* The text of zoneInfo.json; NULL: there is none. */
static inline struct tfs_blob *tfs_cosmic_zone_info(const struct tfs_doc *doc)
{
    return doc->common;
}

/* NULL: the document is that of one region. */
static inline const struct tfs_cosmic_zone_facts *tfs_cosmic_zone_facts(const struct tfs_doc *doc)
{
    const struct tfs_cosmic_facts *facts = tfs_cosmic_facts(doc);

    return facts->zone ? (const struct tfs_cosmic_zone_facts *)facts : NULL;
}

/* The region that holds a chunk, as it was read; NULL: there was none. */
const struct tfs_cosmic_region_file *tfs_cosmic_zone_region(const struct tfs_cosmic_zone_facts *own,
                                                            struct tfs_key chunk);

/* Can a chunk be, or change, at these coordinates? EINVAL: the save cannot hold it; EROFS: its
 * region cannot be written. Of documents of a region too. */
int tfs_cosmic_check_place(const struct tfs_doc *doc, struct tfs_key chunk, struct tfs_error *err);
/* FileVersion of the region of a chunk, which a new region would have too. */
uint32_t tfs_cosmic_version_at(const struct tfs_doc *doc, struct tfs_key chunk);

#define TFS_COSMIC_REGION_NAME 64
void tfs_cosmic_region_name(struct tfs_key region, char name[TFS_COSMIC_REGION_NAME]);

/* "columns, gzip" */
const char *tfs_cosmic_layout_name(const struct tfs_cosmic_facts *own);
/* The lines of info.txt about the regions of a zone. */
void tfs_cosmic_zone_describe(struct tfs_buf *out, const struct tfs_doc *doc);
/* The same about their block entities, as the regions were read or written last. */
void tfs_cosmic_zone_describe_odd(struct tfs_buf *out, const struct tfs_doc *doc);

#define TFS_COSMIC_ZONE_INFO  "zoneInfo.json"
#define TFS_COSMIC_WORLD_INFO "worldInfo.json"

/* ---- the files (zone_files.c) ---------------------------------------------------------------- */

/* What was found in the folder. */
struct tfs_cosmic_zone_index {
    struct tfs_folder_files
        files; /* each the head of a struct tfs_cosmic_region_file, a reference */
    struct tfs_folder_watch regions; /* the folder of regions; it may be missing */
    char *info_path;                 /* of zoneInfo.json; NULL: the zone has no folder of its own */
    struct stat info_st;
    struct tfs_blob *info;   /* NULL: there is none */
    uint32_t latest_version; /* of worldInfo.json, else the newest that is known */
    char *alone;             /* name of a region that has a journal of its own; NULL: none */
};

struct tfs_cosmic_zone {
    pthread_mutex_t lock; /* of what follows, but lock_fd */
    struct tfs_cosmic_zone_index index;
    struct tfs_recent payloads; /* what was inflated last */
    int lock_fd; /* regions/, or the zone's folder while that is missing; with the flock */
    bool lock_is_parent;
    bool unsure;   /* a region was removed, but its directory could not be made durable */
    int folder_fd; /* the zone's folder, locked too where that is the save; -1: it is not */
    char *regions; /* path of the folder of regions: chosen once, whatever comes beside it */
};

static inline struct tfs_cosmic_zone *tfs_cosmic_zone_of(const struct tfs_save *save)
{
    return save->own;
}

/* Is there a region file in this folder: 1, 0 or negative errno? *lowest (may be NULL): the first
 * by key. */
int tfs_cosmic_holds_regions(const char *folder, struct tfs_key *lowest);
/* The folder of regions that the save at `path` has, which is that or regions/ in it, as it is now;
 * to be freed. NULL: there is no memory or descriptor to find out. */
char *tfs_cosmic_zone_regions(const char *path);

/* Looks at the folder of regions of a save whose own->regions is set. Files of `before` (NULL:
 * none) that did not change are taken from there; those that were read are read again. `strays`:
 * removes what a killed process left. */
int tfs_cosmic_zone_index_read(struct tfs_save *save, const struct tfs_cosmic_zone_index *before,
                               bool strays, struct tfs_cosmic_zone_index *index,
                               struct tfs_error *err);
/* The files of the index with those read that were not, as they are now: of one region, of all for
 * NULL, by several threads then. *files: to be released. */
int tfs_cosmic_zone_read_files(struct tfs_save *save, const struct tfs_cosmic_zone_index *index,
                               const struct tfs_key *region, struct tfs_folder_files *files,
                               struct tfs_error *err);
void tfs_cosmic_zone_files_release(struct tfs_folder_files *files);
void tfs_cosmic_zone_index_release(struct tfs_cosmic_zone_index *index);
/* Did a file or the folder change since it was read? */
bool tfs_cosmic_zone_index_changed(struct tfs_cosmic_zone_index *index);
/* A part of that: did the file of this region change, come or go? */
bool tfs_cosmic_zone_region_is_other(const struct tfs_cosmic_zone_index *index,
                                     struct tfs_key region);
/* Looks at the folder again, after this process made something there. */
void tfs_cosmic_zone_index_watch(struct tfs_cosmic_zone_index *index);
/* The path of a region's file; to be freed. NULL without memory. */
char *tfs_cosmic_zone_path(const struct tfs_cosmic_zone_index *index, struct tfs_key region);

/* ---- one file, or all (zone_read.c) ---------------------------------------------------------- */

/* A record of the file at `path`, which is there: of all that it says, or of its first bytes. What
 * is wrong with one region costs that region only, so only want of memory is a failure. */
int tfs_cosmic_region_file_open(const struct tfs_save *save, struct tfs_key region,
                                const char *path, const struct stat *st, bool whole,
                                struct tfs_cosmic_region_file **file, struct tfs_error *err);
/* A record of the region whose document was just decoded from the file with that identity. */
int tfs_cosmic_region_file_make(struct tfs_key region, const struct stat *st,
                                const struct tfs_doc *doc, struct tfs_cosmic_region_file **file,
                                struct tfs_error *err);

/* ---- their document (zone_doc.c) ------------------------------------------------------------- */

/* The document of an index; `old` is that of `before`, NULL: nothing is known. Chunks that `old`
 * has keep their slots. `keeps`: it has all of them, also those of regions that are gone. */
int tfs_cosmic_zone_doc(const struct tfs_doc *old, const struct tfs_cosmic_zone_index *before,
                        const struct tfs_cosmic_zone_index *index, bool keeps, struct tfs_doc **doc,
                        struct tfs_error *err);

/* ---- the journal (zone_journal.c) ------------------------------------------------------------ */

#define TFS_COSMIC_ZONE_JOURNAL "zone" /* what it is the journal of, in the folder of regions */

extern const struct tfs_journal_files tfs_cosmic_zone_journal;

/* ---- bytes of chunks (zone_fetch.c) ---------------------------------------------------------- */

/* tfs_container.fetch. ESTALE: another program changed or removed the region. */
int tfs_cosmic_zone_fetch(struct tfs_save *save, const struct tfs_chunk *chunk,
                          struct tfs_blob **stored, struct tfs_blob **extra, struct tfs_error *err);
/* Empty. */
void tfs_cosmic_zone_payloads_init(struct tfs_save *save, struct tfs_recent *recent);

/* ---- writing (zone_write.c) ------------------------------------------------------------------ */

/* Makes a folder of regions that is missing, which takes over the lock of the zone. */
int tfs_cosmic_zone_make_folder(struct tfs_save *save, struct tfs_error *err);

/* Puts `doc` on disk. *reached: the document that the disk holds afterwards, also after a failure;
 * NULL when nothing was begun. */
int tfs_cosmic_zone_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_doc **reached,
                          struct tfs_error *err);

#endif
