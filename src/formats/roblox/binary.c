/*
 * A binary place or model (.rbxl, .rbxm) -> where its terrain is; and a rewritten PROP chunk.
 *
 * Layout (FORMAT.md): a head, then chunks `name, packed size, size, reserved, payload`. INST gives
 * classes their ids and says how many instances there are, PROP holds one property of all instances
 * of a class. Only PROPs of terrain are unpacked; of the others the first few bytes are looked at,
 * and their content is none of our business.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "formats/roblox/packing.h"
#include "formats/roblox/roblox.h"
#include "formats/roblox/source_write.h"

static const uint8_t magic[] = {'<', 'r',  'o',  'b',  'l',  'o',  'x',
                                '!', 0x89, 0xff, 0x0d, 0x0a, 0x1a, 0x0a};

#define CHUNK_HEAD  16 /* name, packed size, size, reserved */
#define RESERVED_AT 12
#define TYPE_STRING 1 /* of PROP: byte strings */
#define VALUE_HEAD  2 /* version and edge of a SmoothGrid */

/* Enough for class id, the longest name that matters, and what follows it. */
#define PEEK 64

/* No place has more Terrains; each costs memory. */
#define TERRAINS_MAX 65535

enum class_kind { CLASS_OTHER, CLASS_TERRAIN, CLASS_REGION };

struct class
{
    enum class_kind kind;
    uint32_t count; /* instances; of CLASS_OTHER not known */
    uint32_t first; /* number of the first one among all of its kind */
    /* All instances are looked at once, however often the file has such a property. */
    unsigned kept; /* bit enum tfs_rbx_property: there are values of instances that are only kept */
    bool old;      /* noted: it has terrain in the format before SmoothGrid */
    bool shared;   /* its groups are locked by a SharedString */
};

struct chunk {
    size_t at; /* in the file */
    struct tfs_span name;
    struct tfs_rbx_packed packed;
};

struct scanner {
    struct tfs_rbx_source *source;
    struct tfs_rbx_unpacker unpacker;
    struct tfs_buf bodies;
    uint64_t limit;     /* for all bodies together */
    struct tfs_map ids; /* class id + 1 -> struct class */
    uint32_t terrains, regions;
};

/* ---- chunks of the file ---------------------------------------------------------------------- */

static int take_file_head(struct tfs_cursor *c, struct tfs_error *err)
{
    struct tfs_span found = tfs_take(c, sizeof(magic));

    if (c->failed || memcmp(found.data, magic, sizeof(magic)) != 0)
        return tfs_fail(err, -EBADMSG, "offset 0: does not begin as a binary place or model does");
    uint16_t version = tfs_take_u16le(c);
    (void)tfs_take(c, 4 + 4 + 8); /* counts, which nothing depends on, and zeros */
    if (c->failed)
        return tfs_fail(err, -EBADMSG, "the head of the file is cut off");
    if (version != 0)
        return tfs_fail(err, -ENOTSUP, "binary version %u is not supported, only version 0",
                        version);
    return 0;
}

static int take_chunk(struct tfs_cursor *c, struct chunk *chunk, struct tfs_error *err)
{
    chunk->at = tfs_cursor_offset(c);
    if (tfs_cursor_left(c) == 0)
        return tfs_fail(err, -EBADMSG, "offset %zu: the file ends without an END chunk", chunk->at);
    chunk->name = tfs_take(c, 4);
    uint32_t packed_size = tfs_take_u32le(c);
    uint32_t size = tfs_take_u32le(c);
    (void)tfs_take_u32le(c);
    struct tfs_span bytes = tfs_take(c, packed_size == 0 ? size : packed_size);
    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the chunk goes past the end of the file",
                        chunk->at);
    chunk->packed = (struct tfs_rbx_packed){tfs_rbx_packing_of(packed_size, bytes), bytes, size};
    return 0;
}

static bool is_chunk(const struct chunk *chunk, const char *name)
{
    return memcmp(chunk->name.data, name, 4) == 0;
}

static int fail_chunk(const struct chunk *chunk, const struct tfs_error *why, struct tfs_error *err)
{
    return tfs_fail(err, why->code, "offset %zu, chunk %.4s: %s", chunk->at,
                    (const char *)chunk->name.data, why->text);
}

/* ---- INST and PROP --------------------------------------------------------------------------- */

/* The fields with which INST and PROP begin. A name that is too long to be one of ours is left
 * empty. */
struct head {
    uint32_t class_id;
    struct tfs_span name;
};

static bool take_head(struct tfs_cursor *c, struct head *head)
{
    head->class_id = tfs_take_u32le(c);
    uint32_t size = tfs_take_u32le(c);
    head->name = size <= tfs_cursor_left(c) ? tfs_take(c, size) : (struct tfs_span){0};
    return !c->failed;
}

static bool is_named(struct tfs_span name, const char *text)
{
    return tfs_span_equal(name, tfs_span_of(text));
}

/* Numbers the instances of a class of terrain, and makes their groups. */
static int add_instances(struct scanner *s, struct class *class, struct tfs_error *err)
{
    uint32_t *total = class->kind == CLASS_TERRAIN ? &s->terrains : &s->regions;

    class->first = *total;
    if (class->kind == CLASS_TERRAIN && class->count > TERRAINS_MAX - *total)
        return tfs_fail(err, -EFBIG, "more than %d Terrains", TERRAINS_MAX);
    if (class->kind == CLASS_TERRAIN && *total == 0 && class->count > 0)
        s->source->groups[0].lock = TFS_RBX_NO_GRID;
    for (uint32_t i = 0; class->kind == CLASS_REGION && i < class->count; i++)
        if (tfs_rbx_add_group(s->source, TFS_RBX_NO_GRID, err) < 0)
            return err->code;
    *total += class->count;
    return 0;
}

static int add_class(struct scanner *s, uint32_t id, struct class class, struct tfs_error *err)
{
    struct class *kept;

    if (tfs_map_find(&s->ids, (uint64_t)id + 1) != NULL)
        return tfs_fail(err, -EBADMSG, "two classes have the id %" PRIu32, id);
    if (class.kind != CLASS_OTHER && add_instances(s, &class, err) < 0)
        return err->code;
    kept = malloc(sizeof(*kept));
    if (kept == NULL || tfs_map_set(&s->ids, (uint64_t)id + 1, kept) < 0) {
        free(kept);
        return tfs_fail_memory(err);
    }
    *kept = class;
    return 0;
}

static int take_inst(struct scanner *s, const struct chunk *chunk, struct tfs_error *err)
{
    uint8_t bytes[PEEK];
    struct tfs_span peek = {.data = bytes};
    struct class class = {.kind = CLASS_OTHER};
    struct head head;

    if (tfs_rbx_unpack_head(&s->unpacker, &chunk->packed, bytes, PEEK, &peek.size, err) < 0)
        return err->code;
    struct tfs_cursor c = tfs_cursor_init(peek);
    if (!take_head(&c, &head))
        return tfs_fail(err, -EBADMSG, "it is cut off");
    if (is_named(head.name, "Terrain"))
        class.kind = CLASS_TERRAIN;
    else if (is_named(head.name, "TerrainRegion"))
        class.kind = CLASS_REGION;
    if (class.kind != CLASS_OTHER) {
        (void)tfs_take_u8(&c); /* is it a service? */
        class.count = tfs_take_u32le(&c);
        if (c.failed || !tfs_rbx_size_possible(&chunk->packed) ||
            class.count > chunk->packed.size / 4)
            return tfs_fail(err, -EBADMSG, "it is cut off within its instances");
    }
    return add_class(s, head.class_id, class, err);
}

static uint32_t group_of(const struct class *class, uint32_t instance)
{
    uint32_t number = class->first + instance;

    if (class->kind == CLASS_REGION)
        return number + 1;
    return number == 0 ? 0 : TFS_RBX_NONE;
}

/* The values of a PROP that was unpacked to the end of the bodies, behind `head_size` bytes. */
static int add_values(struct scanner *s, const struct class *class, enum tfs_rbx_property property,
                      size_t body_at, size_t head_size, struct tfs_error *err)
{
    const struct tfs_span body = {s->bodies.data + body_at, s->bodies.size - body_at};
    struct tfs_cursor c = tfs_cursor_init(body);

    tfs_cursor_seek(&c, head_size);
    for (uint32_t i = 0; i < class->count; i++) {
        struct tfs_rbx_value value = {.property = property, .group = group_of(class, i)};
        value.size = tfs_take(&c, tfs_take_u32le(&c)).size;
        if (c.failed)
            return tfs_fail(err, -EBADMSG, "value %" PRIu32 " of %" PRIu32 " is cut off", i + 1,
                            class->count);
        value.at = body_at + tfs_cursor_offset(&c) - value.size;
        if (tfs_rbx_add_value(s->source, value, err) < 0)
            return err->code;
    }
    if (tfs_cursor_left(&c) > 0)
        return tfs_fail(err, -EBADMSG, "%zu bytes behind its last value", tfs_cursor_left(&c));
    return 0;
}

static int unpack_prop(struct scanner *s, const struct chunk *chunk, const struct class *class,
                       enum tfs_rbx_property property, size_t head_size, struct tfs_error *err)
{
    const size_t body_at = s->bodies.size;
    const size_t packed_size = chunk->packed.bytes.size;
    const struct tfs_rbx_holder holder = {.at = chunk->at,
                                          .size = CHUNK_HEAD + packed_size,
                                          .body_at = body_at,
                                          .body_size = chunk->packed.size,
                                          .coding = chunk->packed.packing};

    if (chunk->packed.size < head_size)
        return tfs_fail(err, -EBADMSG, "it is cut off");
    if (chunk->packed.size > s->limit - body_at)
        return tfs_fail(err, -EFBIG,
                        "all terrain together would unpack to more than %" PRIu64 " bytes",
                        s->limit);
    if (tfs_rbx_unpack(&chunk->packed, &s->bodies, err) < 0 ||
        tfs_rbx_add_holder(s->source, holder, err) < 0)
        return err->code;
    return add_values(s, class, property, body_at, head_size, err);
}

/* Looks at the length and the first bytes of the first value, so that a payload that begins wrong
 * is not unpacked to see that. */
static int check_first_value(const struct chunk *chunk, const struct class *class,
                             struct tfs_cursor head, struct tfs_error *err)
{
    if (chunk->packed.packing == TFS_RBX_STORED || class->count == 0 ||
        group_of(class, 0) == TFS_RBX_NONE)
        return 0;
    const uint32_t size = tfs_take_u32le(&head);
    if (size > chunk->packed.size)
        return tfs_fail(err, -EBADMSG, "value 1 of %" PRIu32 " is cut off", class->count);
    const struct tfs_span begin = tfs_take(&head, size < VALUE_HEAD ? size : VALUE_HEAD);
    return head.failed || begin.size == 0 ? 0 : tfs_rbx_header_check(begin, err);
}

/* Instances that have a group are the first ones of a class. */
static uint32_t group_count(const struct class *class)
{
    if (class->kind == CLASS_REGION)
        return class->count;
    return class->kind == CLASS_TERRAIN && class->first == 0 && class->count > 0;
}

static void note_property(struct scanner *s, struct class *class, struct tfs_span name)
{
    if (class->old || !tfs_rbx_is_old_property(name))
        return;
    class->old = true;
    for (uint32_t i = 0; i < group_count(class); i++)
        tfs_rbx_note_old(s->source, group_of(class, i));
}

static void note_shared(struct scanner *s, struct class *class)
{
    if (class->shared)
        return;
    class->shared = true;
    for (uint32_t i = 0; i < group_count(class); i++)
        tfs_rbx_lock_group(s->source, group_of(class, i), TFS_RBX_SHARED_STRING);
}

/* Values of groups are told by their group where there are two. */
static int note_kept(struct class *class, enum tfs_rbx_property property, struct tfs_error *err)
{
    if (group_count(class) < class->count && class->kept & 1u << property)
        return tfs_fail(err, -EBADMSG, "Terrains that are only kept have one property twice");
    class->kept |= 1u << property;
    return 0;
}

static int take_prop(struct scanner *s, const struct chunk *chunk, struct tfs_error *err)
{
    uint8_t bytes[PEEK];
    struct tfs_span peek = {.data = bytes};
    struct head head;

    if (tfs_rbx_unpack_head(&s->unpacker, &chunk->packed, bytes, PEEK, &peek.size, err) < 0)
        return err->code;
    struct tfs_cursor c = tfs_cursor_init(peek);
    if (!take_head(&c, &head))
        return tfs_fail(err, -EBADMSG, "it is cut off");
    struct class *class = tfs_map_find(&s->ids, (uint64_t)head.class_id + 1);
    if (class == NULL)
        return tfs_fail(err, -EBADMSG, "a property of class %" PRIu32 ", which has no INST before",
                        head.class_id);

    bool grid = class->kind != CLASS_OTHER && is_named(head.name, "SmoothGrid");
    bool physics = class->kind == CLASS_TERRAIN && is_named(head.name, "PhysicsGrid");
    if (!grid && !physics) {
        note_property(s, class, head.name);
        return 0;
    }
    uint8_t type = tfs_take_u8(&c);
    if (c.failed)
        return tfs_fail(err, -EBADMSG, "it is cut off");
    if (type != TYPE_STRING) {
        note_shared(s, class);
        return 0;
    }
    const enum tfs_rbx_property property = grid ? TFS_RBX_SMOOTH_GRID : TFS_RBX_PHYSICS_GRID;
    if ((grid && check_first_value(chunk, class, c, err) < 0) ||
        note_kept(class, property, err) < 0)
        return err->code;
    return unpack_prop(s, chunk, class, property, tfs_cursor_offset(&c), err);
}

/* ---- the whole file -------------------------------------------------------------------------- */

static int scan_chunks(struct scanner *s, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(tfs_blob_span(s->source->file));
    struct chunk chunk;

    if (take_file_head(&c, err) < 0)
        return err->code;
    while (take_chunk(&c, &chunk, err) == 0 && !is_chunk(&chunk, "END\0")) {
        struct tfs_error why = {0};
        if (is_chunk(&chunk, "INST"))
            take_inst(s, &chunk, &why);
        else if (is_chunk(&chunk, "PROP"))
            take_prop(s, &chunk, &why);
        if (why.code != 0)
            return fail_chunk(&chunk, &why, err);
    }
    return err->code;
}

static void scanner_release(struct scanner *s)
{
    struct tfs_map_cell cell;
    size_t at = 0;

    while (tfs_map_next(&s->ids, &at, &cell))
        free(cell.value);
    tfs_map_release(&s->ids);
    tfs_rbx_unpacker_release(&s->unpacker);
    tfs_buf_release(&s->bodies);
}

static int binary_scan(struct tfs_rbx_source *source, struct tfs_facts *facts,
                       uint64_t inflate_limit, struct tfs_error *err)
{
    struct scanner s = {.source = source, .limit = inflate_limit};

    if (tfs_rbx_add_group(source, TFS_RBX_NO_INSTANCE, err) == 0 && scan_chunks(&s, err) == 0 &&
        tfs_blob_take(&s.bodies, &source->bodies, err) == 0)
        tfs_rbx_note_terrains(facts, s.terrains, err);
    scanner_release(&s);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The payload: everything up to the first value as it was, then the values. */
static void binary_body(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                        const struct tfs_rbx_pieces *values, struct tfs_rbx_pieces *body)
{
    const size_t length = 4; /* of a string, in front of it */
    const size_t head_size = source->values[holder->first].at - length - holder->body_at;

    if (tfs_buf_reserve(&body->made, length * holder->count) == NULL)
        return;
    tfs_rbx_pieces_add(body, (struct tfs_span){source->bodies->data + holder->body_at, head_size});
    for (uint32_t i = 0; i < holder->count; i++) {
        tfs_buf_u32le(&body->made, (uint32_t)values[i].size);
        tfs_rbx_pieces_add_made(body, body->made.size - length);
        tfs_rbx_pieces_add_all(body, &values[i]);
    }
}

static int check_payload(const struct tfs_rbx_pieces *body, struct tfs_error *err)
{
    if (body->size <= TFS_RBX_PAYLOAD_MAX)
        return 0;
    return tfs_fail(err, -EFBIG,
                    "the property would have %" PRIu64 " bytes, at most %u can be stored",
                    body->size, TFS_RBX_PAYLOAD_MAX);
}

/* The block of LZ4 as it was read. */
static struct tfs_rbx_block block_of(const struct tfs_rbx_source *source,
                                     const struct tfs_rbx_holder *holder)
{
    return (struct tfs_rbx_block){
        .packed = {source->file->data + holder->at + CHUNK_HEAD, holder->size - CHUNK_HEAD},
        .plain = {source->bodies->data + holder->body_at, holder->body_size},
    };
}

static int write_head(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                      uint64_t packed_size, uint64_t size, struct tfs_sink *sink,
                      struct tfs_error *err)
{
    const uint8_t *old = source->file->data + holder->at;
    struct tfs_buf head = {0};

    tfs_buf_add(&head, old, 4);
    tfs_buf_u32le(&head, holder->coding == TFS_RBX_STORED ? 0 : (uint32_t)packed_size);
    tfs_buf_u32le(&head, (uint32_t)size);
    tfs_buf_add(&head, old + RESERVED_AT, CHUNK_HEAD - RESERVED_AT);
    if (tfs_buf_check(&head, err) == 0)
        tfs_sink_span(sink, tfs_buf_span(&head), err);
    tfs_buf_release(&head);
    return err->code;
}

static int write_packed(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                        const struct tfs_rbx_pieces *body, struct tfs_sink *sink,
                        struct tfs_error *err)
{
    struct tfs_rbx_pieces packed = {0};

    if (tfs_rbx_pack((enum tfs_rbx_packing)holder->coding, body, &packed, err) == 0 &&
        write_head(source, holder, packed.size, body->size, sink, err) == 0)
        tfs_rbx_pieces_write(&packed, sink, err);
    tfs_rbx_pieces_release(&packed);
    return err->code;
}

static int binary_write(const struct tfs_rbx_source *source, struct tfs_rbx_holder *holder,
                        const struct tfs_rbx_pieces *body, struct tfs_sink *sink,
                        struct tfs_error *err)
{
    const struct tfs_rbx_block old = block_of(source, holder);
    int spliced = 0;

    if (check_payload(body, err) < 0)
        return err->code;
    tfs_rbx_splice_release(&holder->splice);
    if (holder->coding == TFS_RBX_LZ4)
        spliced = tfs_rbx_splice_make(&old, &holder->index, body, &holder->splice, err);
    if (spliced == 0)
        return write_packed(source, holder, body, sink, err);
    if (spliced < 0 ||
        write_head(source, holder, tfs_rbx_splice_size(&holder->splice), body->size, sink, err) < 0)
        return err->code;
    return tfs_rbx_splice_write(&old, &holder->splice, sink, err);
}

/* The packed size is read, and must be one that the rest of the file agrees with. */
static int binary_check(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                        const struct tfs_rbx_pieces *body, struct tfs_readback *written,
                        struct tfs_error *err)
{
    const uint8_t *old = source->file->data + holder->at;
    const enum tfs_rbx_packing packing = (enum tfs_rbx_packing)holder->coding;
    uint8_t head[CHUNK_HEAD];

    if (tfs_readback_copy(written, head, sizeof(head), err) < 0)
        return err->code;
    struct tfs_cursor c = tfs_cursor_init((struct tfs_span){head, sizeof(head)});
    const struct tfs_span name = tfs_take(&c, 4);
    const uint32_t packed_size = tfs_take_u32le(&c);
    if (memcmp(name.data, old, 4) != 0 || tfs_take_u32le(&c) != body->size ||
        memcmp(head + RESERVED_AT, old + RESERVED_AT, CHUNK_HEAD - RESERVED_AT) != 0 ||
        (packed_size == 0) != (packing == TFS_RBX_STORED))
        return tfs_readback_fail(written, err);
    if (holder->splice.count == 0)
        return tfs_rbx_pack_check(packing, body, packed_size, written, err);
    const struct tfs_rbx_block block = block_of(source, holder);
    if (packed_size != tfs_rbx_splice_size(&holder->splice))
        return tfs_readback_fail(written, err);
    return tfs_rbx_splice_check(&block, &holder->splice, body, written, err);
}

/* How the terrain is packed; all chunks of a file usually are alike. */
static const char *binary_coding(const struct tfs_rbx_source *source)
{
    if (source->holder_count == 0)
        return "none";
    return tfs_rbx_packing_name((enum tfs_rbx_packing)source->holders[0].coding);
}

static const struct tfs_rbx_kind binary_kind = {
    .scan = binary_scan,
    .body = binary_body,
    .write = binary_write,
    .check = binary_check,
    .coding = binary_coding,
};

static int binary_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                         struct tfs_error *err)
{
    return tfs_rbx_decode(&binary_kind, save, bytes, doc, err);
}

static int binary_probe(const struct tfs_probe *probe)
{
    bool begins =
        probe->head.size >= sizeof(magic) && memcmp(probe->head.data, magic, sizeof(magic)) == 0;

    return begins ? TFS_BID_CERTAIN : TFS_BID_NONE;
}

static const struct tfs_file_codec binary_codec = {
    .decode = binary_decode,
    .encode = tfs_rbx_encode,
    .check = tfs_rbx_check,
};

const struct tfs_container tfs_rbx_binary_container = {
    .format = TFS_RBX_FORMAT,
    .name = "binary place or model",
    .tree = &tfs_rbx_tree,
    .probe = binary_probe,
    TFS_WHOLE_FILE(&binary_codec),
    .rest = tfs_rbx_rest,
};
