/*
 * A file that holds terrain, as it was read: its bytes, where in them the values of Terrain and
 * TerrainRegions stand, and how to rewrite such a value. All three containers are this to the
 * rest; what differs is how values are found (scan) and how a place of the file is written
 * (rewrite).
 *
 * Groups of a document: 0 is the (first) Terrain, N + 1 the N-th TerrainRegion of the file.
 */
#ifndef TFS_FORMATS_ROBLOX_SOURCE_H
#define TFS_FORMATS_ROBLOX_SOURCE_H

#include "formats/format.h"
#include "formats/roblox/physics.h"
#include "formats/roblox/pieces.h"
#include "formats/roblox/splice.h"
#include "formats/containers/file.h"

enum tfs_rbx_property { TFS_RBX_SMOOTH_GRID, TFS_RBX_PHYSICS_GRID };

#define TFS_RBX_NONE UINT32_MAX

struct tfs_rbx_value {
    enum tfs_rbx_property property;
    uint32_t group;  /* TFS_RBX_NONE: belongs to an instance that is only kept */
    size_t at, size; /* in the bodies */
};

/* A stretch of the file that is rewritten when one of its values changes. */
struct tfs_rbx_holder {
    size_t at, size;           /* in the file */
    size_t body_at, body_size; /* in the bodies: what the stretch says, inflated */
    uint32_t coding;           /* the container's own: how the stretch is coded */
    uint32_t first, count;     /* its values, which ascend in the bodies */
    /* Encoding's own, as in struct tfs_rbx_source: of a block of LZ4, and how it was rewritten;
     * no parts: as a whole. */
    struct tfs_rbx_block_index index;
    struct tfs_rbx_splice splice;
};

/* Why nothing can be written in a group. */
enum tfs_rbx_lock {
    TFS_RBX_OPEN,
    TFS_RBX_NO_INSTANCE,     /* the file has no Terrain */
    TFS_RBX_NO_GRID,         /* the instance has no SmoothGrid */
    TFS_RBX_CLUSTER_GRID,    /* but terrain in the format before, which Studio converts */
    TFS_RBX_SHARED_STRING,   /* a value is stored in another way than as a byte string */
    TFS_RBX_UNKNOWN_PHYSICS, /* PhysicsGrid of another version */
};

struct tfs_rbx_group {
    enum tfs_rbx_lock lock;
    uint32_t grid, physics; /* values; TFS_RBX_NONE: absent */
    uint32_t log2;          /* of the edge of its chunks */
    size_t count;           /* of its chunks, as they were read */
};

struct tfs_rbx_source;
struct tfs_rbx_changes; /* what of a file is rewritten for one document */

/* What a container is, beside the tree. */
struct tfs_rbx_kind {
    /* Fills in holders, values and groups, and the bodies, from source->file. */
    int (*scan)(struct tfs_rbx_source *source, struct tfs_facts *facts, uint64_t inflate_limit,
                struct tfs_error *err);
    /* Appends the body of the holder with these values, one for each it has, to `body`. */
    void (*body)(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                 const struct tfs_rbx_pieces *values, struct tfs_rbx_pieces *body);
    /* Writes the holder with this body. */
    int (*write)(const struct tfs_rbx_source *source, struct tfs_rbx_holder *holder,
                 const struct tfs_rbx_pieces *body, struct tfs_sink *sink, struct tfs_error *err);
    /* Is that what is read back? EIO. */
    int (*check)(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                 const struct tfs_rbx_pieces *body, struct tfs_readback *written,
                 struct tfs_error *err);
    const char *(*coding)(const struct tfs_rbx_source *source); /* for info.txt; NULL: says none */
};

struct tfs_rbx_source {
    const struct tfs_rbx_kind *kind;
    struct tfs_blob *file;
    struct tfs_blob *bodies;
    struct tfs_rbx_holder *holders; /* in file order */
    struct tfs_rbx_value *values;
    struct tfs_rbx_group *groups; /* at least that of the Terrain */
    struct tfs_rbx_index terrain; /* group 0 as it was read: what PhysicsGrid was made for */
    /* Encoding's own, of which there is one at a time. */
    struct tfs_rbx_physics_memory physics;
    enum tfs_rbx_physics_stored {
        TFS_RBX_PHYSICS_UNKNOWN, /* nobody has looked yet */
        TFS_RBX_PHYSICS_OURS,    /* what we make of the terrain as it was read */
        TFS_RBX_PHYSICS_OTHER,
    } physics_stored;
    struct tfs_rbx_changes *changes; /* of the last encoding; NULL: it was checked */
    uint32_t holder_count, value_count, group_count;
};

/* For scan: append one, ENOMEM. A value is added to the last holder, and to its group, which is
 * there already: EBADMSG when the group has such a value. */
int tfs_rbx_add_holder(struct tfs_rbx_source *source, struct tfs_rbx_holder holder,
                       struct tfs_error *err);
int tfs_rbx_add_value(struct tfs_rbx_source *source, struct tfs_rbx_value value,
                      struct tfs_error *err);
/* A group without values, locked for that. EFBIG: more than anybody has. */
int tfs_rbx_add_group(struct tfs_rbx_source *source, enum tfs_rbx_lock lock, struct tfs_error *err);

/* Says so when there is more than the one Terrain that is shown. */
int tfs_rbx_note_terrains(struct tfs_facts *facts, uint32_t terrains, struct tfs_error *err);

/* Is this a property of terrain in the format before SmoothGrid? It locks its group, unless there
 * is a SmoothGrid, too. */
bool tfs_rbx_is_old_property(struct tfs_span name);
void tfs_rbx_note_old(struct tfs_rbx_source *source, uint32_t group);
/* Nothing of this group can be written, for that reason (the first one stays). */
void tfs_rbx_lock_group(struct tfs_rbx_source *source, uint32_t group, enum tfs_rbx_lock lock);

/* What a document was read from; of its facts, for writing. */
const struct tfs_rbx_source *tfs_rbx_source(const struct tfs_doc *doc);
struct tfs_rbx_source *tfs_rbx_source_of(const struct tfs_facts *facts);
/* The group; NULL for a number that the file does not have. */
const struct tfs_rbx_group *tfs_rbx_group(const struct tfs_doc *doc, uint32_t group);
/* Sentence why nothing in the group can be written; NULL: it can. */
const char *tfs_rbx_locked(const struct tfs_doc *doc, uint32_t group);

/* The number of a chunk in the value that was read; TFS_OWN_NEW of one that was not in it, whose
 * place follows from the order of positions. */
static inline uint64_t tfs_rbx_chunk_order(const struct tfs_chunk *chunk)
{
    return chunk->own;
}

static inline bool tfs_rbx_chunk_is_new(const struct tfs_chunk *chunk)
{
    return tfs_rbx_chunk_order(chunk) == TFS_OWN_NEW;
}

/* A value as it was read. */
struct tfs_span tfs_rbx_value_span(const struct tfs_rbx_source *source, uint32_t value);

/* The value of a group as the document has it (value.c): pieces of what was read, of the document's
 * chunks, and of value->made. EFBIG: more chunks than can be read. */
int tfs_rbx_value_encode(const struct tfs_doc *doc, uint32_t group, struct tfs_rbx_pieces *value,
                         struct tfs_error *err);

/* The chunks of a group as the document has them, by position; to be released. */
int tfs_rbx_index_group(const struct tfs_doc *doc, uint32_t group, struct tfs_rbx_index *index,
                        struct tfs_error *err);

/* For struct tfs_file_codec. */
int tfs_rbx_decode(const struct tfs_rbx_kind *kind, struct tfs_save *save, struct tfs_blob *bytes,
                   struct tfs_doc **doc, struct tfs_error *err);

#endif
