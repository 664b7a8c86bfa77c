/*
 * A region file -> a document: a chunk for each section with blocks, and one for the rest of each
 * column.
 *
 * Must not know blocks. All of it is inflated at once into one payload, of which chunks are slices.
 */
#include "formats/minecraft/region.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/minecraft/cells.h"
#include "formats/minecraft/packing.h"
#include "text/decimal.h"

#define EXTERNAL   0x80
#define PARTS      (TFS_MC_SECTIONS + 1) /* numbers of a column: its rest, its sections */
#define REGION_MAX ((INT32_MAX >> 5) - 1)

/* ---- names and keys -------------------------------------------------------------------------- */

void tfs_mc_region_name(struct tfs_key region, char name[TFS_MC_REGION_NAME])
{
    snprintf(name, TFS_MC_REGION_NAME, "r.%d.%d.mca", region.x, region.z);
}

bool tfs_mc_region_of_name(const char *name, struct tfs_key *region)
{
    const char *at = name + 2;
    int64_t x, z;

    if (strncmp(name, "r.", 2) != 0 || !tfs_decimal_take(&at, '.', -REGION_MAX, REGION_MAX, &x) ||
        !tfs_decimal_take(&at, '.', -REGION_MAX, REGION_MAX, &z) || strcmp(at, "mca") != 0)
        return false;
    *region = (struct tfs_key){.x = (int32_t)x, .z = (int32_t)z};
    return true;
}

static int32_t region_of(int32_t column)
{
    return (int32_t)((column - (column & (TFS_MC_REGION_SIDE - 1))) / TFS_MC_REGION_SIDE);
}

uint32_t tfs_mc_slot_of(struct tfs_key chunk)
{
    return ((uint32_t)chunk.x & 31) + ((uint32_t)chunk.z & 31) * TFS_MC_REGION_SIDE;
}

struct tfs_key tfs_mc_file_of(struct tfs_key chunk, uint32_t *index)
{
    const int32_t y = chunk.y < TFS_MC_LOWEST    ? TFS_MC_LOWEST
                      : chunk.y > TFS_MC_HIGHEST ? TFS_MC_HIGHEST
                                                 : chunk.y;

    *index =
        tfs_mc_slot_of(chunk) * PARTS + (chunk.group == 0 ? (uint32_t)(y - TFS_MC_LOWEST) + 1 : 0);
    return (struct tfs_key){.x = region_of(chunk.x), .z = region_of(chunk.z)};
}

struct tfs_key tfs_mc_chunk_of(struct tfs_key region, uint32_t index)
{
    const uint32_t slot = index / PARTS, part = index % PARTS;

    return (struct tfs_key){.group = part == 0 ? TFS_GROUP_COLUMNS : 0,
                            .x = region.x * TFS_MC_REGION_SIDE + (int32_t)(slot & 31),
                            .y = part == 0 ? 0 : (int32_t)part - 1 + TFS_MC_LOWEST,
                            .z = region.z * TFS_MC_REGION_SIDE + (int32_t)(slot >> 5)};
}

struct tfs_key tfs_mc_column_at(struct tfs_key region, uint32_t slot)
{
    return tfs_mc_chunk_of(region, slot * PARTS);
}

/* ---- one column ------------------------------------------------------------------------------ */

struct tfs_mc_entry tfs_mc_entry_at(struct tfs_span file, uint32_t column)
{
    struct tfs_cursor c = tfs_cursor_init(file);

    tfs_cursor_seek(&c, (uint64_t)4 * column);
    const uint32_t entry = tfs_take_u32be(&c);
    return (struct tfs_mc_entry){entry >> 8, entry & 0xff};
}

int tfs_mc_stored_find(struct tfs_span file, struct tfs_mc_entry entry,
                       struct tfs_mc_stored *stored, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(file);

    tfs_cursor_seek(&c, (uint64_t)entry.first * TFS_MC_SECTOR);
    const uint64_t room = (uint64_t)entry.count * TFS_MC_SECTOR, left = tfs_cursor_left(&c);
    c = tfs_cursor_init(tfs_take(&c, room < left ? room : left));
    const uint32_t size = tfs_take_u32be(&c);
    if (c.failed)
        return tfs_fail(err, -EBADMSG, "its entry of the table points outside the sectors");
    stored->kind = tfs_take_u8(&c);
    if (c.failed || size == 0 || size - 1 > tfs_cursor_left(&c))
        return tfs_fail(err, -EBADMSG, "it says that it has %u bytes, which its sectors lack",
                        size);
    if ((stored->kind & EXTERNAL) != 0)
        return tfs_fail(err, -ENOTSUP, "it lies in a file of its own (.mcc), which is not read");
    stored->packed = (struct tfs_span){c.at, size - 1};
    stored->more = (struct tfs_span){c.at, tfs_cursor_left(&c)};
    return 0;
}

/* Some programs wrote a size that is one short. */
int tfs_mc_stored_unpack(const struct tfs_mc_stored *stored, uint64_t limit, struct tfs_buf *nbt,
                         bool *over, struct tfs_error *err)
{
    const size_t before = nbt->size;
    const uint64_t most = limit < TFS_MC_COLUMN_LIMIT ? limit : TFS_MC_COLUMN_LIMIT;
    struct tfs_error why = {0};
    size_t used;

    *over = false;
    if (tfs_mc_unpack_payload(stored->kind, stored->packed, (size_t)most, nbt, &used, &why) == 0)
        return 0;
    tfs_buf_resize(nbt, before);
    if (why.code == -EBADMSG && stored->kind != TFS_MC_LZ4 &&
        tfs_mc_unpack_payload(stored->kind, stored->more, (size_t)most, nbt, &used, err) == 0) {
        *over = true;
        return 0;
    }
    tfs_error_reset(err);
    return tfs_fail(err, why.code, "%s", why.text);
}

/* ---- all columns ----------------------------------------------------------------------------- */

/* A chunk of the document to be. */
struct item {
    uint32_t index; /* of tfs_mc_file_of */
    uint32_t tag, flags;
    size_t begin, size; /* in the payload */
};

struct reader {
    struct tfs_span file;
    uint64_t limit;
    struct tfs_facts *facts; /* NULL: nobody listens */
    struct tfs_mc_region *region;
    bool overlaps[TFS_MC_COLUMNS];
    struct item *items;
    size_t count;
    struct tfs_buf payload, nbt;
    struct tfs_mc_parts parts;
};

/* Two columns in one sector: which of them is right? */
static int find_overlaps(struct reader *r, struct tfs_error *err)
{
    const size_t sectors = r->file.size / TFS_MC_SECTOR + 1;
    uint16_t *owners = calloc(sectors, sizeof(*owners)); /* + 1 */

    if (owners == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < TFS_MC_COLUMNS; i++) {
        const struct tfs_mc_entry entry = tfs_mc_entry_at(r->file, i);
        for (size_t s = entry.first; s < (size_t)entry.first + entry.count && s < sectors; s++) {
            if (owners[s] != 0)
                r->overlaps[owners[s] - 1] = r->overlaps[i] = true;
            owners[s] = (uint16_t)(i + 1);
        }
    }
    free(owners);
    return 0;
}

static int add_item(struct reader *r, uint32_t index, uint32_t tag, struct tfs_span bytes,
                    struct tfs_error *err)
{
    struct item *items = tfs_array_grow(r->items, r->count, sizeof(*items));

    if (items == NULL)
        return tfs_fail_memory(err);
    r->items = items;
    items[r->count++] =
        (struct item){.index = index, .tag = tag, .begin = r->payload.size, .size = bytes.size};
    tfs_buf_add_span(&r->payload, bytes);
    return tfs_buf_check(&r->payload, err);
}

/* What a column says of itself: where it is, and how old. */
static int take_facts(struct reader *r, uint32_t slot, const struct tfs_mc_column *column,
                      struct tfs_error *err)
{
    const struct tfs_key said = {.x = column->x, .z = column->z};
    struct tfs_mc_region *region = r->region;

    if (column->placed && !region->placed) {
        region->key = (struct tfs_key){.x = region_of(said.x), .z = region_of(said.z)};
        region->placed = true;
    }
    const struct tfs_key key = tfs_mc_column_at(r->region->key, slot);
    if (column->placed && (key.x != said.x || key.z != said.z))
        return tfs_fail(err, -EBADMSG, "it is column %d_%d by what it says", said.x, said.z);
    if (region->columns == 0 || column->version < region->versions[0])
        region->versions[0] = column->version;
    if (region->columns++ == 0 || column->version > region->versions[1])
        region->versions[1] = column->version;
    return 0;
}

/* One of another place is damaged: its rest is all that is shown. Its bytes are in the payload
 * whole, for who makes that alone does not know the place of the file. */
static int hide_misplaced(struct reader *r, uint32_t slot, size_t first, const char *why,
                          struct tfs_error *err)
{
    const struct tfs_key key = tfs_mc_column_at(r->region->key, slot);

    r->count = first + 1;
    r->items[first].flags = TFS_CHUNK_DAMAGED;
    return tfs_facts_note(r->facts, err, TFS_NOTE_DAMAGED, "column %d_%d: %s", key.x, key.z, why);
}

static int add_items(struct reader *r, uint32_t slot, struct tfs_span rest, struct tfs_error *err)
{
    add_item(r, slot * PARTS, 0, rest, err);
    for (size_t i = 0; i < r->parts.count && err->code == 0; i++) {
        const struct tfs_mc_part *part = &r->parts.parts[i];
        add_item(r, slot * PARTS + (uint32_t)(part->y - TFS_MC_LOWEST) + 1, part->layout,
                 part->bytes, err);
    }
    return err->code;
}

static int add_column(struct reader *r, uint32_t slot, struct tfs_error *err)
{
    const size_t first = r->count;
    struct tfs_mc_follows follows;
    struct tfs_mc_column column;
    struct tfs_buf rest = {0};
    struct tfs_error why = {0};

    if (tfs_mc_column_split(tfs_buf_span(&r->nbt), &rest, &r->parts, &follows, &column, err) == 0 &&
        add_items(r, slot, tfs_buf_span(&rest), err) == 0 && r->facts != NULL &&
        take_facts(r, slot, &column, &why) < 0)
        hide_misplaced(r, slot, first, why.text, err);
    tfs_buf_release(&rest);
    return err->code;
}

static int read_column(struct reader *r, uint32_t slot, const struct tfs_mc_stored *stored,
                       struct tfs_error *err)
{
    const struct tfs_key key = tfs_mc_column_at(r->region->key, slot);
    bool over = false;

    tfs_buf_clear(&r->nbt);
    if (r->overlaps[slot])
        return tfs_fail(err, -EBADMSG, "another column lies in its sectors");
    const uint64_t left = r->limit - (r->payload.size < r->limit ? r->payload.size : r->limit);
    if (tfs_mc_stored_unpack(stored, left, &r->nbt, &over, err) < 0 ||
        add_column(r, slot, err) < 0 || !over || r->facts == NULL)
        return err->code;
    return tfs_facts_note(r->facts, err, TFS_NOTE_WARNING,
                          "column %d_%d is longer than it says, and was read all the same", key.x,
                          key.z);
}

/* What a damaged column stores is all that is shown of it. One that this program cannot read is
 * not shown. */
static int keep_damage(struct reader *r, uint32_t slot, const struct tfs_error *why,
                       struct tfs_span stored, struct tfs_error *err)
{
    const struct tfs_key key = tfs_mc_column_at(r->region->key, slot);
    const bool hiding = why->code == -ENOTSUP;

    if (why->code == -ENOMEM)
        return tfs_fail_memory(err);
    if (!hiding && add_item(r, slot * PARTS, 0, stored, err) == 0)
        r->items[r->count - 1].flags = TFS_CHUNK_DAMAGED;
    if (err->code < 0 || r->facts == NULL ||
        tfs_facts_note(r->facts, err, hiding ? TFS_NOTE_READ_ONLY : TFS_NOTE_DAMAGED,
                       "column %d_%d: %s", key.x, key.z, why->text) < 0)
        return err->code;
    if (hiding)
        tfs_facts_set_hiding(r->facts);
    return 0;
}

static int read_slot(struct reader *r, uint32_t slot, struct tfs_error *err)
{
    const struct tfs_mc_entry entry = tfs_mc_entry_at(r->file, slot);
    struct tfs_mc_stored stored = {0};
    struct tfs_error why = {0};
    const size_t count = r->count, size = r->payload.size;

    if (entry.first == 0 && entry.count == 0)
        return 0;
    if (entry.first < 2 || entry.count == 0)
        tfs_fail(&why, -EBADMSG, "its entry of the table is damaged");
    else if (tfs_mc_stored_find(r->file, entry, &stored, &why) == 0 &&
             read_column(r, slot, &stored, &why) == 0)
        return 0;
    r->count = count;
    tfs_buf_resize(&r->payload, size);
    return keep_damage(r, slot, &why, stored.packed, err);
}

static int read_all(struct reader *r, struct tfs_error *err)
{
    if (r->file.size > 0 && r->file.size < TFS_MC_REGION_LEAST)
        return tfs_fail(err, -EBADMSG, "is cut off within its table");
    if (find_overlaps(r, err) < 0)
        return err->code;
    for (uint32_t slot = 0; slot < TFS_MC_COLUMNS && r->file.size > 0 && err->code == 0; slot++)
        read_slot(r, slot, err);
    return err->code;
}

static void reader_release(struct reader *r)
{
    tfs_buf_release(&r->payload);
    tfs_buf_release(&r->nbt);
    free(r->items);
    free(r);
}

static struct reader *reader_create(struct tfs_span file, uint64_t limit,
                                    struct tfs_mc_region *region, struct tfs_error *err)
{
    struct reader *r = calloc(1, sizeof(*r));

    if (r == NULL) {
        tfs_fail_memory(err);
        return NULL;
    }
    r->file = file;
    r->limit = limit > 0 ? limit : TFS_INFLATE_LIMIT;
    r->region = region;
    return r;
}

int tfs_mc_region_payload(struct tfs_blob *file, uint64_t limit, struct tfs_blob **payload,
                          struct tfs_error *err)
{
    struct tfs_mc_region region = {0};
    struct reader *r = reader_create(tfs_blob_span(file), limit, &region, err);

    if (r == NULL)
        return err->code;
    if (read_all(r, err) == 0)
        tfs_blob_take(&r->payload, payload, err);
    reader_release(r);
    return err->code;
}

/* ---- the document ---------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const struct tfs_key none = {0};
    const struct item *left = a, *right = b;

    return tfs_key_compare(tfs_mc_chunk_of(none, left->index), tfs_mc_chunk_of(none, right->index));
}

static int put_item(const struct reader *r, const struct item *item, struct tfs_blob *payload,
                    struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = tfs_mc_chunk_of(r->region->key, item->index),
                              .slot = TFS_SLOT_NONE,
                              .tag = item->tag,
                              .flags = item->flags};
    const struct tfs_span bytes = {payload->data + item->begin, item->size};

    if (tfs_blob_slice(payload, bytes, &chunk.blob, err) == 0)
        tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    return err->code;
}

/* In the order of keys: every put goes to the end. */
static int build(struct reader *r, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_blob *payload = NULL;
    struct tfs_edit edit;

    if (r->count > 0)
        qsort(r->items, r->count, sizeof(*r->items), compare_items);
    if (tfs_edit_open_empty(r->facts, &edit, err) == 0 &&
        tfs_blob_take(&r->payload, &payload, err) == 0)
        for (size_t i = 0; i < r->count && err->code == 0; i++)
            put_item(r, &r->items[i], payload, &edit, err);
    if (err->code == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_blob_unref(payload);
    return err->code;
}

static void region_release(struct tfs_facts *facts)
{
    tfs_blob_unref(tfs_mc_region_of(facts)->file);
}

int tfs_mc_region_decode(struct tfs_save *save, struct tfs_blob *file, struct tfs_doc **doc,
                         struct tfs_error *err)
{
    struct tfs_facts *facts;

    if (tfs_facts_create(sizeof(struct tfs_mc_region), &facts, err) < 0)
        return err->code;
    struct tfs_mc_region *region = tfs_mc_region_of(facts);
    region->file = tfs_blob_ref(file);
    region->placed = tfs_mc_region_of_name(tfs_save_called(save), &region->key);
    facts->release = region_release;
    struct reader *r = reader_create(tfs_blob_span(file), save->options.inflate_limit, region, err);
    if (r != NULL) {
        r->facts = facts;
        if (read_all(r, err) == 0)
            build(r, doc, err);
        reader_release(r);
    }
    tfs_facts_unref(facts);
    return err->code;
}
