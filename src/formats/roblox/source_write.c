/*
 * A document -> the file that it was read from, with the values that differ rewritten. See
 * source_write.h.
 *
 * Must not know how a container marks or packs values.
 */
#include "formats/roblox/source_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* What is rewritten. Its pieces are those of the document with this version. */
struct tfs_rbx_changes {
    uint64_t version;
    uint32_t count;                /* of values */
    struct tfs_rbx_pieces *values; /* by number */
    bool *changed;                 /* those that differ from what was read; others have no pieces */
    struct tfs_buf physics;
};

static void changes_free(struct tfs_rbx_changes *changes)
{
    if (changes == NULL)
        return;
    for (uint32_t i = 0; changes->values != NULL && i < changes->count; i++)
        tfs_rbx_pieces_release(&changes->values[i]);
    tfs_buf_release(&changes->physics);
    free(changes->values);
    free(changes->changed);
    free(changes);
}

void tfs_rbx_forget_changes(struct tfs_rbx_source *source)
{
    for (uint32_t i = 0; i < source->holder_count; i++)
        tfs_rbx_splice_release(&source->holders[i].splice);
    changes_free(source->changes);
    source->changes = NULL;
}

static int changes_create(const struct tfs_rbx_source *source, const struct tfs_doc *doc,
                          struct tfs_rbx_changes **changes, struct tfs_error *err)
{
    struct tfs_rbx_changes *created = calloc(1, sizeof(*created));
    const size_t count = source->value_count + (size_t)1;

    if (created == NULL)
        return tfs_fail_memory(err);
    created->version = doc->version;
    created->count = source->value_count;
    created->values = calloc(count, sizeof(*created->values));
    created->changed = calloc(count, sizeof(*created->changed));
    if (created->values == NULL || created->changed == NULL) {
        changes_free(created);
        return tfs_fail_memory(err);
    }
    *changes = created;
    return 0;
}

/* Are all chunks the memory that was read, each in its place? False also for a chunk that was
 * edited and became the same again. */
static bool group_untouched(const struct tfs_rbx_source *source, const struct tfs_doc *doc,
                            uint32_t group)
{
    const struct tfs_key first = {group, INT32_MIN, INT32_MIN, INT32_MIN};
    const size_t at = tfs_doc_lower_bound(doc, first);
    const size_t count = tfs_doc_group_count(doc, group);

    if (count != source->groups[group].count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, at + i);
        if (tfs_rbx_chunk_is_new(chunk) || chunk->blob->parent != source->bodies)
            return false;
    }
    return true;
}

static int change_grid(const struct tfs_rbx_source *source, struct tfs_rbx_changes *changes,
                       const struct tfs_doc *doc, uint32_t group, struct tfs_error *err)
{
    const uint32_t number = source->groups[group].grid;
    struct tfs_rbx_pieces *value = &changes->values[number];

    if (group_untouched(source, doc, group))
        return 0;
    if (tfs_rbx_value_encode(doc, group, value, err) < 0)
        return err->code;
    changes->changed[number] = !tfs_rbx_pieces_equal(value, tfs_rbx_value_span(source, number));
    return 0;
}

/* ---- PhysicsGrid ----------------------------------------------------------------------------- */

/* Is the stored PhysicsGrid what we would have written? */
static int look_at_physics(struct tfs_rbx_source *source, struct tfs_error *err)
{
    const struct tfs_span stored = tfs_rbx_value_span(source, source->groups[0].physics);
    struct tfs_buf ours = {0};

    if (source->physics_stored != TFS_RBX_PHYSICS_UNKNOWN)
        return 0;
    if (tfs_rbx_physics_encode(&source->terrain, &source->physics, &ours, err) == 0)
        source->physics_stored = tfs_span_equal(tfs_buf_span(&ours), stored)
                                     ? TFS_RBX_PHYSICS_OURS
                                     : TFS_RBX_PHYSICS_OTHER;
    tfs_buf_release(&ours);
    return err->code;
}

/* The PhysicsGrid of a Terrain with other voxels than were read. */
static int make_physics(struct tfs_rbx_source *source, struct tfs_rbx_changes *changes,
                        const struct tfs_rbx_index *now, struct tfs_error *err)
{
    const uint32_t number = source->groups[0].physics;
    int same = 0;

    source->physics.terrain = &source->terrain;
    if (look_at_physics(source, err) < 0)
        return err->code;
    if (source->physics_stored == TFS_RBX_PHYSICS_OURS)
        same = tfs_rbx_physics_same(now, &source->physics, err);
    if (same != 0)
        return err->code;
    if (tfs_rbx_physics_encode(now, &source->physics, &changes->physics, err) == 0) {
        changes->changed[number] = true;
        tfs_rbx_pieces_add(&changes->values[number], tfs_buf_span(&changes->physics));
    }
    return err->code;
}

/* PhysicsGrid follows the voxels of the Terrain, not their spelling. */
static int change_physics(struct tfs_rbx_source *source, struct tfs_rbx_changes *changes,
                          const struct tfs_doc *doc, struct tfs_error *err)
{
    const struct tfs_rbx_group *terrain = &source->groups[0];
    struct tfs_rbx_index now = {0};

    if (terrain->physics == TFS_RBX_NONE || terrain->grid == TFS_RBX_NONE ||
        !changes->changed[terrain->grid])
        return 0;
    if (tfs_rbx_index_group(doc, 0, &now, err) < 0)
        return err->code;
    if (!tfs_rbx_indexes_same(&source->terrain, &now))
        make_physics(source, changes, &now, err);
    tfs_rbx_index_release(&now);
    return err->code;
}

/* ---- all changes ----------------------------------------------------------------------------- */

/* Refuses to write more than would be read. */
static int check_size(const struct tfs_rbx_source *source, const struct tfs_rbx_changes *changes,
                      uint64_t limit, struct tfs_error *err)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < source->value_count; i++)
        size += changes->changed[i] ? changes->values[i].size : source->values[i].size;
    if (size <= limit)
        return 0;
    return tfs_fail(err, -EFBIG,
                    "all terrain together would be %" PRIu64 " bytes, at most %" PRIu64 " are read",
                    size, limit);
}

static int find_changes(struct tfs_rbx_source *source, struct tfs_rbx_changes *changes,
                        const struct tfs_doc *doc, struct tfs_error *err)
{
    for (uint32_t i = 0; i < source->group_count; i++)
        if (source->groups[i].grid != TFS_RBX_NONE && change_grid(source, changes, doc, i, err) < 0)
            return err->code;
    return change_physics(source, changes, doc, err);
}

static bool holder_changed(const struct tfs_rbx_changes *changes,
                           const struct tfs_rbx_holder *holder)
{
    for (uint32_t i = 0; i < holder->count; i++)
        if (changes->changed[holder->first + i])
            return true;
    return false;
}

/* ---- passing the file on --------------------------------------------------------------------- */

/* The body of a holder as it is to be. */
static int make_body(const struct tfs_rbx_source *source, struct tfs_rbx_changes *changes,
                     const struct tfs_rbx_holder *holder, struct tfs_rbx_pieces *body,
                     struct tfs_error *err)
{
    struct tfs_rbx_pieces *values = changes->values + holder->first;

    for (uint32_t i = 0; i < holder->count; i++) {
        if (!changes->changed[holder->first + i]) {
            tfs_rbx_pieces_release(&values[i]);
            tfs_rbx_pieces_add(&values[i], tfs_rbx_value_span(source, holder->first + i));
        }
        if (tfs_rbx_pieces_check(&values[i], err) < 0)
            return err->code;
    }
    source->kind->body(source, holder, values, body);
    return tfs_rbx_pieces_check(body, err);
}

/* Where the file goes: to a sink, or through a comparison. */
struct target {
    struct tfs_sink *sink;
    struct tfs_readback *written; /* NULL: it is written */
};

static int pass_span(const struct target *to, struct tfs_span bytes, struct tfs_error *err)
{
    return to->written == NULL ? tfs_sink_span(to->sink, bytes, err)
                               : tfs_readback_expect(to->written, bytes, err);
}

static int pass_holder(const struct tfs_rbx_source *source, struct tfs_rbx_changes *changes,
                       struct tfs_rbx_holder *holder, const struct target *to,
                       struct tfs_error *err)
{
    struct tfs_rbx_pieces body = {0};

    if (make_body(source, changes, holder, &body, err) == 0) {
        if (to->written == NULL)
            source->kind->write(source, holder, &body, to->sink, err);
        else
            source->kind->check(source, holder, &body, to->written, err);
    }
    tfs_rbx_pieces_release(&body);
    return err->code;
}

/* The file as it was read, but for the holders of what changed. */
static int pass_file(const struct tfs_rbx_source *source, struct tfs_rbx_changes *changes,
                     const struct target *to, struct tfs_error *err)
{
    struct tfs_cursor file = tfs_cursor_init(tfs_blob_span(source->file));

    for (uint32_t i = 0; i < source->holder_count; i++) {
        struct tfs_rbx_holder *holder = &source->holders[i];
        if (!holder_changed(changes, holder))
            continue;
        size_t before = holder->at - tfs_cursor_offset(&file);
        if (pass_span(to, tfs_take(&file, before), err) < 0 ||
            pass_holder(source, changes, holder, to, err) < 0)
            return err->code;
        tfs_take(&file, holder->size);
    }
    return pass_span(to, tfs_take(&file, tfs_cursor_left(&file)), err);
}

/* Passes the file with what the document changes, which source->changes has then. */
static int pass_doc(struct tfs_rbx_source *source, const struct tfs_doc *doc, uint64_t limit,
                    const struct target *to, struct tfs_error *err)
{
    if (source->changes == NULL || source->changes->version != doc->version) {
        tfs_rbx_forget_changes(source);
        if (changes_create(source, doc, &source->changes, err) == 0)
            find_changes(source, source->changes, doc, err);
    }
    if (err->code == 0 && check_size(source, source->changes, limit, err) == 0)
        pass_file(source, source->changes, to, err);
    if (err->code < 0)
        tfs_rbx_forget_changes(source);
    return err->code;
}

int tfs_rbx_encode(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_sink *sink,
                   struct tfs_error *err)
{
    struct tfs_rbx_source *source = tfs_rbx_source_of(doc->facts);
    const struct target to = {.sink = sink};

    return pass_doc(source, doc, save->options.inflate_limit, &to, err);
}

/* Chunks need no look at the bytes of the file: they are pieces of the bodies, and each of them was
 * decoded when it was read or changed. */
int tfs_rbx_check(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_readback *written,
                  struct tfs_error *err)
{
    struct tfs_rbx_source *source = tfs_rbx_source_of(doc->facts);
    const struct target to = {.written = written};

    pass_doc(source, doc, save->options.inflate_limit, &to, err);
    tfs_rbx_forget_changes(source);
    return err->code;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Where what is written is hashed instead. */
struct hash_sink {
    struct tfs_sink sink; /* first */
    struct tfs_hasher hasher;
};

static int hash_piece(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct hash_sink *hash = (struct hash_sink *)sink;

    (void)err;
    tfs_hasher_add(&hash->hasher, (struct tfs_span){data, size});
    return 0;
}

int tfs_rbx_rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(save->doc);
    struct hash_sink to = {.sink.write = hash_piece};
    struct tfs_rbx_changes *changes = NULL;

    if (changes_create(source, save->doc, &changes, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < source->value_count; i++)
        changes->changed[i] = source->values[i].group != TFS_RBX_NONE;
    if (tfs_hasher_init(&to.hasher, err) == 0 &&
        pass_file(source, changes, &(struct target){.sink = &to.sink}, err) == 0)
        *checksum = tfs_hasher_end(&to.hasher).low;
    tfs_hasher_release(&to.hasher);
    changes_free(changes);
    return err->code;
}
