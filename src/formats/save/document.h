/*
 * A document: one immutable state of a save, as a sorted map from chunk coordinate to blob.
 *
 * Readers hold a reference and need no lock. A change is an edit (below) that starts from a
 * document, touches some chunks and is finished into a new document; pages without a change are
 * shared, so an edit costs what it touches. A failed edit is thrown away and leaves nothing half
 * done.
 *
 * A blob is the bytes of one chunk, also where the save stores several chunks as one unit, which it
 * compresses or sums up as a whole. The container takes units apart when it reads and puts them
 * together when it writes, once each; what a unit says of all its chunks it computes then, whoever
 * made the edit. What else a unit says is a chunk of its own, of another group.
 *
 * What is not a chunk: `common`, one blob of the whole save that files of the root show and change
 * (a table of names, a header; its meaning is the format's, which reads it through one function),
 * and `facts`, what the container learned when it read the file (kept for all documents that
 * descend from that reading).
 */
#ifndef TFS_FORMATS_SAVE_DOCUMENT_H
#define TFS_FORMATS_SAVE_DOCUMENT_H

#include "base/blob.h"

/* A chunk's coordinate, in the game's chunk coordinates. group 0 is `chunks/` of the root; other
 * groups are what the format makes of them (level of detail, terrain region). Order: group, y, z,
 * x. */
struct tfs_key {
    uint32_t group;
    int32_t x, y, z;
};

/* `columns/` of the root: what a unit of all chunks of one x and z says beside them. y is 0, and it
 * has no voxels. */
#define TFS_GROUP_COLUMNS (UINT32_MAX - 1)

int tfs_key_compare(struct tfs_key a, struct tfs_key b);

/* Voxels of a chunk along its sides, each at most 65535. */
struct tfs_voxel_size {
    uint32_t x, y, z;
};

#define TFS_SLOT_NONE UINT32_MAX

enum tfs_chunk_flags {
    TFS_CHUNK_DAMAGED = 1, /* does not decode: shows raw.bin only; the reason is in facts->notes */
    TFS_CHUNK_UNREAD = 2,  /* the document does not hold `blob`, the container fetches it */
    TFS_CHUNK_UNREAD_EXTRA = 4, /* the same of `extra` */
    TFS_CHUNK_UNREAD_ALL = TFS_CHUNK_UNREAD | TFS_CHUNK_UNREAD_EXTRA
};

/* tfs_chunk.own of a chunk that the save does not have. */
#define TFS_OWN_NEW UINT64_MAX

struct tfs_chunk {
    struct tfs_key key;
    uint32_t slot;         /* identity: given by the first edit that holds it, kept when it moves */
    uint32_t flags;        /* enum tfs_chunk_flags */
    uint32_t tag;          /* the format's own: what is needed to read the blob. Each format has one
                            * function that says what it is */
    uint64_t own;          /* the format's own: its order in the save, or which bytes on disk */
    struct tfs_blob *blob; /* the stored bytes; NULL: there are none, or unread */
    struct tfs_blob *extra; /* a second stored value (instances); NULL: none, or not fetched */
};

/* References to the bytes that the chunk holds. */
void tfs_chunk_ref(const struct tfs_chunk *chunk);
void tfs_chunk_unref(const struct tfs_chunk *chunk);

/* Is the second value, or the first, one that the document does not hold? */
static inline bool tfs_chunk_is_unread(const struct tfs_chunk *chunk, bool extra)
{
    return (chunk->flags & (extra ? TFS_CHUNK_UNREAD_EXTRA : TFS_CHUNK_UNREAD)) != 0;
}

/* One thing to tell about a save. */
enum tfs_note_kind {
    TFS_NOTE_WARNING,   /* tolerated and kept */
    TFS_NOTE_READ_ONLY, /* why nothing can be written */
    TFS_NOTE_DAMAGED,   /* a chunk that does not decode */
};

struct tfs_note {
    enum tfs_note_kind kind;
    bool hiding; /* it is about something of the save that the document does not have */
    char *text;  /* one sentence, with chunk and offset where known */
};

struct tfs_folder_known;

/* What a container learned when it read the save. All documents that descend from that reading
 * share it. It does not change after opening, but that `own` may have members that say what became
 * of the last commit (BeamNG's sidecar). */
struct tfs_facts {
    atomic_uint refs;
    struct tfs_note *notes;
    size_t note_count;
    bool shipped; /* the folder around the save is packed and given to others as it is */
    void *own;    /* the format's own struct, freed by free() */
    struct tfs_folder_known *folder; /* formats/containers/folder.h; NULL: it is no folder */
    /* Releases what the facts refer to, before; NULL: nothing. */
    void (*release)(struct tfs_facts *facts);
};

int tfs_facts_create(size_t own_size, struct tfs_facts **facts, struct tfs_error *err);
struct tfs_facts *tfs_facts_ref(struct tfs_facts *facts);
void tfs_facts_unref(struct tfs_facts *facts);
int tfs_facts_note(struct tfs_facts *facts, struct tfs_error *err, enum tfs_note_kind kind,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The note that was made last is about something that the document does not have: a chunk that the
 * document lacks may be in the save all the same. */
void tfs_facts_set_hiding(struct tfs_facts *facts);
/* The first such note, or NULL: the document has all chunks of the save. Where it is not NULL, an
 * absent chunk must not be taken for a removed one. */
const char *tfs_facts_hiding(const struct tfs_facts *facts);
/* The first note of that kind, or NULL. */
const char *tfs_facts_find(const struct tfs_facts *facts, enum tfs_note_kind kind);

struct tfs_page;
struct tfs_doc_bounds;
struct tfs_doc_areas; /* formats/save/tile_areas.h */
struct tfs_area_numbers;

struct tfs_doc {
    atomic_uint refs;
    uint64_t version; /* unique in the process: two documents with one version are the same one */
    size_t count;     /* chunks */
    size_t page_count;
    struct tfs_page **pages;
    size_t *page_first; /* index of the first chunk of each page, and count at the end */
    uint32_t next_slot;
    struct tfs_facts *facts;
    struct tfs_blob *common;                 /* what belongs to no chunk; NULL: nothing */
    _Atomic(struct tfs_doc_bounds *) bounds; /* NULL: nobody has asked for them yet */
    _Atomic(struct tfs_doc_areas *) areas;   /* the same */
    atomic_size_t found; /* the place of the chunk that was found last, or any other number */
    struct tfs_area_numbers *area_numbers; /* of all documents of the save */
};

/* An empty document; takes a reference to facts. */
int tfs_doc_create(struct tfs_facts *facts, struct tfs_doc **doc, struct tfs_error *err);
struct tfs_doc *tfs_doc_ref(struct tfs_doc *doc);
void tfs_doc_unref(struct tfs_doc *doc);

/* The chunk of that coordinate, valid as long as the document; NULL: absent. */
const struct tfs_chunk *tfs_doc_find(const struct tfs_doc *doc, struct tfs_key key);
/* The same; ENOENT with a sentence: absent. */
int tfs_doc_need(const struct tfs_doc *doc, struct tfs_key key, const struct tfs_chunk **chunk,
                 struct tfs_error *err);
/* The i-th chunk in key order, i < count. */
const struct tfs_chunk *tfs_doc_at(const struct tfs_doc *doc, size_t i);
/* Index of the first chunk whose key is not below `key`; count when there is none. */
size_t tfs_doc_lower_bound(const struct tfs_doc *doc, struct tfs_key key);

/* Index of the first chunk of a group, or where it would be; and the number of its chunks. */
size_t tfs_doc_group_begin(const struct tfs_doc *doc, uint32_t group);
size_t tfs_doc_group_count(const struct tfs_doc *doc, uint32_t group);

/* Smallest and greatest chunk coordinate of a group; false without chunks. They are found once, of
 * the first 64 groups that are asked for. */
bool tfs_doc_bounds(const struct tfs_doc *doc, uint32_t group, struct tfs_key *low,
                    struct tfs_key *high);

/* Calls `changed` for every key whose chunk differs between the two (NULL = absent on that side),
 * in key order, skipping shared pages. "Differs": another blob, extra, tag or flags. Returns the
 * first non-zero value of `changed`. */
typedef int (*tfs_doc_diff_fn)(void *arg, const struct tfs_chunk *before,
                               const struct tfs_chunk *after);
int tfs_doc_diff(const struct tfs_doc *before, const struct tfs_doc *after, tfs_doc_diff_fn changed,
                 void *arg);

/* EIO with a sentence where the second, read back from a disk, has other chunks. */
int tfs_doc_check_written(const struct tfs_doc *intended, const struct tfs_doc *written,
                          struct tfs_error *err);

/* The same chunk content: equal bytes, tag and flags (where neither side holds its bytes: the same
 * own number). Both may be NULL. */
bool tfs_chunk_same(const struct tfs_chunk *a, const struct tfs_chunk *b);

/* Is what was made of `made`, a copy with references, what would be made of `chunk`? Looks at no
 * bytes. Caches ask it of all that they have, which have other bytes mostly: the row "size of
 * voxels.csv" of the bench. */
static inline bool tfs_chunk_is(const struct tfs_chunk *made, const struct tfs_chunk *chunk)
{
    return made->blob == chunk->blob && made->extra == chunk->extra && made->tag == chunk->tag &&
           made->flags == chunk->flags &&
           ((chunk->flags & TFS_CHUNK_UNREAD_ALL) == 0 || made->own == chunk->own) &&
           tfs_key_compare(made->key, chunk->key) == 0;
}

/* Gives `doc` (just decoded, not shared yet) the slots of `old` where a coordinate was there
 * before, and slots unused in `old` to the rest: node ids survive a reload. */
int tfs_doc_keep_slots(struct tfs_doc *doc, const struct tfs_doc *old, struct tfs_error *err);
/* The same of the numbers of areas (formats/save/tile_areas.h), which tfs_doc_keep_slots does
 * too. */
void tfs_doc_keep_areas(struct tfs_doc *doc, const struct tfs_doc *old);

/* An equal document whose descendants give out no slot below `first`: *doc itself, or one that
 * takes its place. */
int tfs_doc_reserve_slots(struct tfs_doc **doc, uint32_t first, struct tfs_error *err);

/* ---- edits ----------------------------------------------------------------------------------- */

struct tfs_edit {
    struct tfs_doc *base;
    struct tfs_doc *next;    /* under construction; pages shared with base until first touched */
    struct tfs_key *touched; /* keys put, removed or touched, in call order, maybe repeated */
    size_t touched_count;
    bool changed;
};

int tfs_edit_open(struct tfs_doc *base, struct tfs_edit *edit, struct tfs_error *err);
/* The same of a document without chunks: for a save that is read. NULL: it has no facts of its
 * own. To be released after a failure, too. */
int tfs_edit_open_empty(struct tfs_facts *facts, struct tfs_edit *edit, struct tfs_error *err);
void tfs_edit_release(struct tfs_edit *edit); /* throws away what was not finished */

/* New chunks of this edit get no slot below `first`. Comes before the first change. */
void tfs_edit_keep_slots(struct tfs_edit *edit, uint32_t first);

/* The document as the edit has it now: for lookups, not for keeping. Its version is another one
 * after every change. */
const struct tfs_doc *tfs_edit_doc(const struct tfs_edit *edit);

/* Stores the chunk under chunk->key, replacing one that is there (whose slot it then takes) or
 * adding it (slot TFS_SLOT_NONE: a new one is given). Takes references to its blobs. Storing what
 * is there already (own number included) is no change. */
int tfs_edit_put(struct tfs_edit *edit, const struct tfs_chunk *chunk, struct tfs_error *err);
/* The same of a chunk with a copy of these bytes. */
int tfs_edit_put_bytes(struct tfs_edit *edit, struct tfs_chunk chunk, struct tfs_span bytes,
                       struct tfs_error *err);
/* Moves a chunk as it is to a free coordinate, with the own number of what the save does not
 * have. */
int tfs_edit_move(struct tfs_edit *edit, struct tfs_key from, struct tfs_key to,
                  struct tfs_error *err);
/* ENOENT when there is no such chunk. */
int tfs_edit_remove(struct tfs_edit *edit, struct tfs_key key, struct tfs_error *err);
/* Sets `common`; NULL removes. Takes a reference. */
void tfs_edit_common(struct tfs_edit *edit, struct tfs_blob *blob);
/* The container read the save again: these are the facts of the document. */
void tfs_edit_facts(struct tfs_edit *edit, struct tfs_facts *facts);
/* Says that files of this chunk read differently now though its blob did not change (a tile, when
 * `common` did). */
int tfs_edit_touch(struct tfs_edit *edit, struct tfs_key key, struct tfs_error *err);

/* The new document (a reference; base itself when nothing changed). The edit stays to be
 * released, and takes no further change. */
struct tfs_doc *tfs_edit_finish(struct tfs_edit *edit);

#endif
