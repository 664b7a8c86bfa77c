/* formats/doc, edit, facts: a document behaves like a sorted array, and never changes once it is
 * made. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "formats/save/tile_areas.h"
#include "formats/save/document.h"
#include "in_full.h"
#include "unit.h"

static struct tfs_error err;

static void reset(void)
{
    tfs_error_reset(&err);
}

static struct tfs_blob *blob_of(uint32_t value)
{
    struct tfs_blob *blob = NULL;
    struct tfs_span bytes = {(const uint8_t *)&value, sizeof(value)};

    ck_assert_int_eq(tfs_blob_copy(bytes, &blob, &err), 0);
    return blob;
}

static struct tfs_doc *doc_empty(void)
{
    struct tfs_doc *doc = NULL;

    ck_assert_int_eq(tfs_doc_create(NULL, &doc, &err), 0);
    return doc;
}

static void edit_open(struct tfs_doc *base, struct tfs_edit *edit)
{
    ck_assert_int_eq(tfs_edit_open(base, edit, &err), 0);
}

/* Puts a chunk whose blob is the bytes of `value`. */
static void put(struct tfs_edit *edit, struct tfs_key key, uint32_t value)
{
    struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE, .blob = blob_of(value)};

    ck_assert_int_eq(tfs_edit_put(edit, &chunk, &err), 0);
    tfs_blob_unref(chunk.blob);
}

static struct tfs_doc *finish(struct tfs_edit *edit)
{
    struct tfs_doc *doc = tfs_edit_finish(edit);

    tfs_edit_release(edit);
    return doc;
}

static struct tfs_key key_x(int32_t x)
{
    return (struct tfs_key){.x = x};
}

/* A document of chunks x = 0, 1, ... count - 1, each of which holds its x. */
static struct tfs_doc *doc_row(int32_t count)
{
    struct tfs_doc *base = doc_empty();
    struct tfs_edit edit;

    edit_open(base, &edit);
    for (int32_t x = 0; x < count; x++)
        put(&edit, key_x(x), (uint32_t)x);
    tfs_doc_unref(base);
    return finish(&edit);
}

static uint32_t value_of(const struct tfs_chunk *chunk)
{
    uint32_t value;

    ck_assert_uint_eq(chunk->blob->size, sizeof(value));
    memcpy(&value, chunk->blob->data, sizeof(value));
    return value;
}

/* ---- keys ------------------------------------------------------------------------------------ */

START_TEST(doc_key_order_is_group_y_z_x)
{
    static const struct tfs_key ascending[] = {
        {0, 5, -1, 9}, {0, -7, 0, -3}, {0, 9, 0, -3},        {0, 0, 0, -2},        {0, -9, 1, -9},
        {0, 0, 1, 0},  {1, 0, -5, 0},  {1, INT32_MIN, 0, 0}, {1, INT32_MAX, 0, 0},
    };
    const size_t count = sizeof(ascending) / sizeof(ascending[0]);

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            int order = tfs_key_compare(ascending[i], ascending[j]);
            ck_assert_int_eq(order < 0, i < j);
            ck_assert_int_eq(order > 0, i > j);
        }
}
END_TEST

/* ---- the model ------------------------------------------------------------------------------- */

#define MODEL_SIDE 24
#define MODEL_SIZE (MODEL_SIDE * MODEL_SIDE * MODEL_SIDE)

/* What a document must hold: present or not, and which value, for each coordinate of a cube. */
struct model {
    bool present[MODEL_SIZE];
    uint32_t value[MODEL_SIZE];
};

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* The i-th key of the cube in key order. */
static struct tfs_key model_key(uint32_t i)
{
    const int32_t side = MODEL_SIDE;
    int32_t n = (int32_t)i;

    return (struct tfs_key){
        .x = n % side - side / 2, .z = n / side % side - 5, .y = n / side / side - 20};
}

/* The document finds, counts and lists just what the model says. */
static void assert_model(const struct tfs_doc *doc, const struct model *model)
{
    size_t count = 0;

    for (uint32_t i = 0; i < MODEL_SIZE; i++) {
        const struct tfs_chunk *chunk = tfs_doc_find(doc, model_key(i));
        ck_assert_uint_eq(tfs_doc_lower_bound(doc, model_key(i)), count);
        ck_assert_int_eq(chunk != NULL, model->present[i]);
        if (chunk == NULL)
            continue;
        ck_assert_uint_eq(value_of(chunk), model->value[i]);
        ck_assert_ptr_eq(tfs_doc_at(doc, count), chunk);
        count++;
    }
    ck_assert_uint_eq(doc->count, count);
}

static void model_put(struct model *model, struct tfs_edit *edit, uint32_t i, uint32_t value)
{
    put(edit, model_key(i), value);
    model->present[i] = true;
    model->value[i] = value;
}

static void model_remove(struct model *model, struct tfs_edit *edit, uint32_t i)
{
    reset();
    int result = tfs_edit_remove(edit, model_key(i), &err);
    ck_assert_int_eq(result, model->present[i] ? 0 : -ENOENT);
    model->present[i] = false;
    reset();
}

START_TEST(doc_random_edits_agree_with_an_array)
{
    static struct model before, after;
    struct tfs_doc *doc = doc_empty();

    random_state = (uint32_t)_i;
    memset(&after, 0, sizeof(after));
    for (int round = 0; round < (in_full() ? 12 : SANITIZED ? 3 : 6); round++) {
        struct tfs_edit edit;
        before = after;
        edit_open(doc, &edit);
        /* Rounds grow and shrink the document in turn, so that pages split and empty. */
        uint32_t puts = round % 3 == 2 ? 10 : 90;
        for (int n = 0; n < 3000; n++) {
            uint32_t i = random_below(MODEL_SIZE);
            if (random_below(100) < puts)
                model_put(&after, &edit, i, random_below(7));
            else
                model_remove(&after, &edit, i);
        }
        struct tfs_doc *next = finish(&edit);
        assert_model(doc, &before);
        assert_model(next, &after);
        tfs_doc_unref(doc);
        doc = next;
    }
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(doc_may_lose_all_and_grow_again)
{
    static struct model model;
    struct tfs_doc *doc = doc_empty();
    struct tfs_edit edit;

    edit_open(doc, &edit);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = MODEL_SIZE; i-- > 0;)
            model_put(&model, &edit, i, i);
        assert_model(tfs_edit_doc(&edit), &model);
        for (uint32_t i = 0; i < MODEL_SIZE; i++)
            model_remove(&model, &edit, i * 7 % MODEL_SIZE);
        assert_model(tfs_edit_doc(&edit), &model);
    }
    ck_assert_uint_eq(tfs_edit_doc(&edit)->count, 0);
    ck_assert_uint_eq(tfs_edit_doc(&edit)->page_count, 0);
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
}
END_TEST

/* ---- sharing and versions -------------------------------------------------------------------- */

START_TEST(doc_edit_copies_only_the_page_it_touches)
{
    struct tfs_doc *doc = doc_row(5000);
    struct tfs_edit edit;

    edit_open(doc, &edit);
    put(&edit, key_x(2000), 1);
    struct tfs_doc *next = finish(&edit);
    size_t shared = 0;
    ck_assert_uint_eq(doc->page_count, next->page_count);
    ck_assert_uint_ge(doc->page_count, 5000 / 512);
    for (size_t i = 0; i < doc->page_count; i++)
        shared += doc->pages[i] == next->pages[i];
    ck_assert_uint_eq(shared, doc->page_count - 1);
    tfs_doc_unref(doc);
    tfs_doc_unref(next);
}
END_TEST

START_TEST(doc_built_in_ascending_order_has_full_pages)
{
    struct tfs_doc *doc = doc_row(512 * 9 + 1);

    ck_assert_uint_eq(doc->page_count, 10);
    tfs_doc_unref(doc);
}
END_TEST

/* Chunks of one file that lie between those of others, which come later, in the order of keys. */
START_TEST(doc_filled_between_its_chunks_has_pages_three_quarters_full)
{
    struct tfs_doc *base = doc_empty();
    struct tfs_edit edit;
    const int32_t count = 512 * 100;

    edit_open(base, &edit);
    for (int32_t x = 0; x < count; x += 50)
        put(&edit, key_x(x), (uint32_t)x);
    for (int32_t x = 0; x < count; x++)
        put(&edit, key_x(x), (uint32_t)x);
    struct tfs_doc *doc = finish(&edit);
    ck_assert_uint_eq(doc->count, count);
    ck_assert_uint_le(doc->page_count, 134);
    for (int32_t x = 0; x < count; x++) {
        ck_assert_int_eq(tfs_doc_at(doc, (size_t)x)->key.x, x);
        ck_assert_uint_eq(value_of(tfs_doc_find(doc, key_x(x))), (uint32_t)x);
    }
    tfs_doc_unref(doc);
    tfs_doc_unref(base);
}
END_TEST

START_TEST(doc_unchanged_edit_gives_the_base)
{
    struct tfs_doc *doc = doc_row(10);
    struct tfs_edit edit;

    edit_open(doc, &edit);
    put(&edit, key_x(3), 3);
    tfs_edit_common(&edit, NULL);
    ck_assert_int_eq(tfs_edit_remove(&edit, key_x(10), &err), -ENOENT);
    reset();
    ck_assert(!edit.changed);
    ck_assert_uint_eq(edit.touched_count, 0);
    struct tfs_doc *next = finish(&edit);
    ck_assert_ptr_eq(next, doc);
    tfs_doc_unref(doc);
    tfs_doc_unref(next);
}
END_TEST

START_TEST(doc_touch_alone_is_a_change)
{
    struct tfs_doc *doc = doc_row(10);
    struct tfs_edit edit;

    edit_open(doc, &edit);
    ck_assert_int_eq(tfs_edit_touch(&edit, key_x(4), &err), 0);
    ck_assert(edit.changed);
    ck_assert_uint_eq(edit.touched_count, 1);
    ck_assert_int_eq(edit.touched[0].x, 4);
    struct tfs_doc *next = finish(&edit);
    ck_assert_ptr_ne(next, doc);
    ck_assert_uint_ne(next->version, doc->version);
    tfs_doc_unref(doc);
    tfs_doc_unref(next);
}
END_TEST

START_TEST(doc_touched_lists_puts_and_removals_in_order)
{
    struct tfs_doc *doc = doc_row(3);
    struct tfs_edit edit;

    edit_open(doc, &edit);
    put(&edit, key_x(9), 9);
    put(&edit, key_x(1), 1); /* is so already */
    ck_assert_int_eq(tfs_edit_remove(&edit, key_x(2), &err), 0);
    put(&edit, key_x(9), 8);
    ck_assert_uint_eq(edit.touched_count, 3);
    ck_assert_int_eq(edit.touched[0].x, 9);
    ck_assert_int_eq(edit.touched[1].x, 2);
    ck_assert_int_eq(edit.touched[2].x, 9);
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(doc_every_state_has_a_version_of_its_own)
{
    struct tfs_doc *doc = doc_row(3);
    struct tfs_edit edit;
    uint64_t last = doc->version;

    edit_open(doc, &edit);
    for (uint32_t value = 10; value < 20; value++) {
        put(&edit, key_x(1), value);
        ck_assert_uint_gt(tfs_edit_doc(&edit)->version, last);
        last = tfs_edit_doc(&edit)->version;
    }
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(doc_common_blob_is_replaced_and_kept_by_the_base)
{
    struct tfs_doc *doc = doc_empty();
    struct tfs_blob *blob = blob_of(1);
    struct tfs_blob *other = blob_of(2);
    struct tfs_edit edit;

    edit_open(doc, &edit);
    tfs_edit_common(&edit, blob);
    struct tfs_doc *next = finish(&edit);
    edit_open(next, &edit);
    tfs_edit_common(&edit, other);
    struct tfs_doc *last = finish(&edit);
    ck_assert_ptr_null(doc->common);
    ck_assert_ptr_eq(next->common, blob);
    ck_assert_ptr_eq(last->common, other);
    tfs_doc_unref(doc);
    tfs_doc_unref(next);
    tfs_doc_unref(last);
    tfs_blob_unref(blob);
    tfs_blob_unref(other);
}
END_TEST

/* ---- slots ----------------------------------------------------------------------------------- */

START_TEST(doc_slot_is_kept_by_a_replacement_and_a_move)
{
    struct tfs_doc *doc = doc_row(600);
    struct tfs_edit edit;
    struct tfs_chunk moved = *tfs_doc_find(doc, key_x(300));
    uint32_t slot = moved.slot;

    edit_open(doc, &edit);
    put(&edit, key_x(300), 77);
    ck_assert_uint_eq(tfs_doc_find(tfs_edit_doc(&edit), key_x(300))->slot, slot);
    ck_assert_int_eq(tfs_edit_remove(&edit, key_x(300), &err), 0);
    moved.key = key_x(-5);
    ck_assert_int_eq(tfs_edit_put(&edit, &moved, &err), 0);
    ck_assert_uint_eq(tfs_doc_at(tfs_edit_doc(&edit), 0)->slot, slot);
    put(&edit, key_x(300), 78);
    ck_assert_uint_eq(tfs_doc_find(tfs_edit_doc(&edit), key_x(300))->slot, 600);
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(doc_slots_run_out_with_a_sentence)
{
    struct tfs_doc *doc = doc_empty();
    struct tfs_chunk chunk = {.slot = TFS_SLOT_NONE - 1};
    struct tfs_edit edit;

    edit_open(doc, &edit);
    ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    chunk.key.x = 1;
    chunk.slot = TFS_SLOT_NONE;
    ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), -EFBIG);
    ck_assert_uint_gt(strlen(err.text), 0);
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(doc_keep_slots_follows_coordinates)
{
    struct tfs_doc *old = doc_row(1000); /* slot x at x */
    struct tfs_doc *base = doc_empty();
    struct tfs_edit edit;

    edit_open(base, &edit);
    for (int32_t x = -300; x < 1500; x += 3)
        put(&edit, key_x(x), 5);
    struct tfs_doc *doc = finish(&edit);
    ck_assert_int_eq(tfs_doc_keep_slots(doc, old, &err), 0);

    uint32_t fresh = 1000;
    for (size_t i = 0; i < doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        bool known = chunk->key.x >= 0 && chunk->key.x < 1000;
        ck_assert_uint_eq(chunk->slot, known ? (uint32_t)chunk->key.x : fresh++);
    }
    ck_assert_uint_eq(doc->next_slot, fresh);
    tfs_doc_unref(base);
    tfs_doc_unref(doc);
    tfs_doc_unref(old);
}
END_TEST

/* ---- comparison ------------------------------------------------------------------------------ */

struct seen {
    size_t count, added, removed;
    size_t stop_after; /* 0: never */
    struct tfs_key last;
};

static int count_change(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct seen *seen = arg;
    const struct tfs_chunk *any = before == NULL ? after : before;

    ck_assert_ptr_nonnull(any);
    if (seen->count > 0)
        ck_assert_int_lt(tfs_key_compare(seen->last, any->key), 0);
    seen->last = any->key;
    seen->count++;
    seen->added += before == NULL;
    seen->removed += after == NULL;
    return seen->count == seen->stop_after ? 42 : 0;
}

START_TEST(doc_diff_names_exactly_what_differs)
{
    static struct model before, after;
    struct tfs_doc *base = doc_empty();
    struct tfs_edit edit;

    memset(&before, 0, sizeof(before));
    random_state = (uint32_t)_i + 100;
    edit_open(base, &edit);
    for (int n = 0; n < 5000; n++)
        model_put(&before, &edit, random_below(MODEL_SIZE), random_below(3));
    struct tfs_doc *old = finish(&edit);
    after = before;
    edit_open(old, &edit);
    for (uint32_t n = 0; n < 1u << (_i * 2); n++) {
        model_put(&after, &edit, random_below(MODEL_SIZE), random_below(3));
        model_remove(&after, &edit, random_below(MODEL_SIZE));
    }
    struct tfs_doc *new = finish(&edit);

    struct seen expected = {0}, seen = {0};
    for (uint32_t i = 0; i < MODEL_SIZE; i++) {
        expected.added += !before.present[i] && after.present[i];
        expected.removed += before.present[i] && !after.present[i];
        expected.count += before.present[i] != after.present[i] ||
                          (before.present[i] && before.value[i] != after.value[i]);
    }
    ck_assert_int_eq(tfs_doc_diff(old, new, count_change, &seen), 0);
    ck_assert_uint_eq(seen.count, expected.count);
    ck_assert_uint_eq(seen.added, expected.added);
    ck_assert_uint_eq(seen.removed, expected.removed);
    tfs_doc_unref(base);
    tfs_doc_unref(old);
    tfs_doc_unref(new);
}
END_TEST

START_TEST(doc_diff_stops_when_told)
{
    struct tfs_doc *old = doc_empty();
    struct tfs_doc *new = doc_row(100);
    struct seen seen = {.stop_after = 7};

    ck_assert_int_eq(tfs_doc_diff(old, new, count_change, &seen), 42);
    ck_assert_uint_eq(seen.count, 7);
    tfs_doc_unref(old);
    tfs_doc_unref(new);
}
END_TEST

START_TEST(doc_chunk_same_looks_at_content)
{
    struct tfs_blob *one = blob_of(1), *again = blob_of(1), *two = blob_of(2);
    const struct {
        const char *what;
        struct tfs_chunk a, b;
        bool same;
    } cases[] = {
        {"equal bytes of two blobs", {.blob = one}, {.blob = again}, true},
        {"other bytes", {.blob = one}, {.blob = two}, false},
        {"another slot and place", {.blob = one}, {.blob = one, .slot = 4, .own = 5}, true},
        {"another tag", {.blob = one}, {.blob = one, .tag = 1}, false},
        {"another flag", {.blob = one}, {.blob = one, .flags = TFS_CHUNK_DAMAGED}, false},
        {"extra against none", {.blob = one, .extra = two}, {.blob = one}, false},
        {"equal extra", {.blob = one, .extra = one}, {.blob = one, .extra = again}, true},
        {"bytes against none", {.blob = one}, {.own = 0}, false},
        {"no bytes, one place", {.own = 7}, {.own = 7}, true},
        {"no bytes, two places", {.own = 7}, {.own = 8}, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_msg(tfs_chunk_same(&cases[i].a, &cases[i].b) == cases[i].same, "%s",
                      cases[i].what);
        ck_assert_msg(tfs_chunk_same(&cases[i].b, &cases[i].a) == cases[i].same, "%s, swapped",
                      cases[i].what);
        ck_assert(!tfs_chunk_same(&cases[i].a, NULL));
    }
    ck_assert(tfs_chunk_same(NULL, NULL));
    tfs_blob_unref(one);
    tfs_blob_unref(again);
    tfs_blob_unref(two);
}
END_TEST

START_TEST(doc_chunk_is_what_something_was_made_of)
{
    struct tfs_blob *one = blob_of(1), *again = blob_of(1);
    const uint32_t unread = TFS_CHUNK_UNREAD;
    const struct {
        struct tfs_chunk made, chunk;
        bool is;
    } cases[] = {
        {{.blob = one}, {.blob = one, .slot = 3, .own = 4}, true},
        {{.blob = one}, {.blob = again}, false},
        {{.blob = one}, {.blob = one, .key = {.x = 1}}, false},
        {{.blob = one}, {.blob = one, .extra = one}, false},
        {{.blob = one}, {.blob = one, .tag = 1}, false},
        {{.flags = unread, .own = 1}, {.flags = unread, .own = 1}, true},
        {{.flags = unread, .own = 1}, {.flags = unread, .own = 2}, false},
        {{.flags = unread, .own = 1}, {.own = 1}, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(tfs_chunk_is(&cases[i].made, &cases[i].chunk) == cases[i].is, "case %zu", i);
    tfs_blob_unref(one);
    tfs_blob_unref(again);
}
END_TEST

START_TEST(doc_another_place_alone_is_stored)
{
    struct tfs_doc *doc = doc_row(3);
    struct tfs_chunk chunk = *tfs_doc_at(doc, 1);
    struct tfs_edit edit;

    chunk.own = 99;
    edit_open(doc, &edit);
    ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    ck_assert(edit.changed);
    ck_assert_uint_eq(tfs_doc_at(tfs_edit_doc(&edit), 1)->own, 99);
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
}
END_TEST

/* ---- groups and bounds ----------------------------------------------------------------------- */

START_TEST(doc_bounds_are_those_of_one_group)
{
    /* Sizes around a page, so that groups begin and end within pages and between them. */
    static const int32_t counts[] = {512, 0, 1, 511, 512, 513, 1024};
    const uint32_t groups = sizeof(counts) / sizeof(counts[0]);
    struct tfs_doc *base = doc_empty();
    struct tfs_key low, high;
    struct tfs_edit edit;

    ck_assert(!tfs_doc_bounds(base, 0, &low, &high));
    ck_assert_uint_eq(tfs_doc_group_count(base, 0), 0);
    edit_open(base, &edit);
    for (uint32_t g = 0; g < groups; g++)
        for (int32_t i = 0; i < counts[g]; i++)
            put(&edit, (struct tfs_key){g, 9 - i, i / 2 - 3, i % 7}, 1);
    struct tfs_doc *doc = finish(&edit);
    for (uint32_t g = 0; g <= groups; g++) {
        int32_t count = g < groups ? counts[g] : 0;
        ck_assert_uint_eq(tfs_doc_group_count(doc, g), (size_t)count);
        ck_assert_int_eq(tfs_doc_bounds(doc, g, &low, &high), count > 0);
        if (count == 0)
            continue;
        ck_assert_int_eq(low.x, 10 - count);
        ck_assert_int_eq(high.x, 9);
        ck_assert_int_eq(low.y, -3);
        ck_assert_int_eq(high.y, (count - 1) / 2 - 3);
        ck_assert_int_eq(low.z, 0);
        ck_assert_int_eq(high.z, count > 6 ? 6 : count - 1);
    }
    tfs_doc_unref(base);
    tfs_doc_unref(doc);
}
END_TEST

/* On both sides of zero, in areas that are met again, and at the ends of coordinates. */
START_TEST(areas_are_those_in_which_some_chunk_lies)
{
    static const int32_t at[] = {INT32_MIN, INT32_MIN + 1, -5, -4, -1, 0, 3, 4, INT32_MAX};
    const size_t count = sizeof(at) / sizeof(at[0]);
    struct tfs_doc *base = doc_empty();
    struct tfs_edit edit;
    uint32_t number;

    edit_open(base, &edit);
    for (size_t i = 0; i < count * count; i++)
        for (int32_t y = 0; y < 2; y++)
            put(&edit, (struct tfs_key){0, at[i / count], y, at[i % count]}, 1);
    struct tfs_doc *doc = finish(&edit);
    const struct tfs_doc_areas *areas = tfs_doc_areas(doc, 4, 8);
    for (size_t i = 0; i < count * count; i++) {
        const struct tfs_key chunk = {0, at[i / count], 0, at[i % count]};
        ck_assert(tfs_doc_areas_find(areas, tfs_area_of(chunk, 4, 8), &number));
    }
    ck_assert_uint_eq(areas->count, 6 * 4);
    tfs_doc_unref(base);
    tfs_doc_unref(doc);
}
END_TEST

/* An edit of one chunk must not look at all the others. */
START_TEST(keys_are_looked_through_once_while_no_chunk_comes_or_goes)
{
    struct tfs_doc *doc = doc_row(40), *next;
    const struct tfs_doc_areas *areas = tfs_doc_areas(doc, 4, 4);
    struct tfs_key low, high;
    struct tfs_edit edit;

    ck_assert_uint_eq(areas->count, 10);
    ck_assert(tfs_doc_bounds(doc, 0, &low, &high));
    edit_open(doc, &edit);
    put(&edit, (struct tfs_key){0, 7, 0, 0}, 99);
    next = finish(&edit);
    tfs_doc_unref(doc);
    ck_assert_ptr_eq(tfs_doc_areas(next, 4, 4), areas);
    edit_open(next, &edit);
    ck_assert_int_eq(tfs_edit_remove(&edit, (struct tfs_key){0, 0, 0, 0}, &err), 0);
    put(&edit, (struct tfs_key){0, 80, 3, 0}, 1);
    doc = finish(&edit);
    ck_assert_ptr_eq(tfs_doc_areas(next, 4, 4), areas);
    ck_assert_uint_eq(tfs_doc_areas(doc, 4, 4)->count, 11);
    ck_assert(tfs_doc_bounds(doc, 0, &low, &high));
    ck_assert_int_eq(low.x, 1);
    ck_assert_int_eq(high.x, 80);
    ck_assert_int_eq(high.y, 3);
    ck_assert(tfs_doc_bounds(next, 0, &low, &high));
    ck_assert_int_eq(high.x, 39);
    tfs_doc_unref(next);
    tfs_doc_unref(doc);
}
END_TEST

/* ---- many chunks ----------------------------------------------------------------------------- */

START_TEST(doc_holds_a_million_chunks)
{
    struct tfs_doc *base = doc_empty();
    struct tfs_chunk chunk = {.slot = TFS_SLOT_NONE};
    struct tfs_edit edit;

    edit_open(base, &edit);
    for (int32_t i = 0; i < 1000000; i++) {
        chunk.key = (struct tfs_key){.y = i / 10000, .z = i / 100 % 100, .x = i % 100};
        chunk.own = (uint64_t)i;
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    }
    struct tfs_doc *doc = finish(&edit);
    ck_assert_uint_eq(doc->count, 1000000);
    ck_assert_uint_eq(tfs_doc_at(doc, 999999)->own, 999999);
    ck_assert_uint_eq(tfs_doc_find(doc, (struct tfs_key){.y = 55, .z = 44, .x = 33})->own, 554433);
    tfs_doc_unref(base);
    tfs_doc_unref(doc);
}
END_TEST

/* ---- facts ----------------------------------------------------------------------------------- */

START_TEST(facts_keep_their_notes_in_order)
{
    struct tfs_facts *facts = NULL;
    char expected[32];

    ck_assert_int_eq(tfs_facts_create(16, &facts, &err), 0);
    ck_assert_ptr_null(tfs_facts_find(facts, TFS_NOTE_WARNING));
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(tfs_facts_note(facts, &err, i == 40 ? TFS_NOTE_DAMAGED : TFS_NOTE_WARNING,
                                        "note %d", i),
                         0);
    ck_assert_uint_eq(facts->note_count, 100);
    for (size_t i = 0; i < 100; i++) {
        snprintf(expected, sizeof(expected), "note %zu", i);
        ck_assert_str_eq(facts->notes[i].text, expected);
    }
    ck_assert_str_eq(tfs_facts_find(facts, TFS_NOTE_DAMAGED), "note 40");
    ck_assert_ptr_null(tfs_facts_find(facts, TFS_NOTE_READ_ONLY));
    ck_assert_ptr_null(tfs_facts_find(NULL, TFS_NOTE_READ_ONLY));
    tfs_facts_unref(facts);
}
END_TEST

START_TEST(facts_live_as_long_as_any_document)
{
    struct tfs_facts *facts = NULL;
    struct tfs_doc *doc = NULL;
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_facts_create(sizeof(int), &facts, &err), 0);
    *(int *)facts->own = 7;
    ck_assert_int_eq(tfs_doc_create(facts, &doc, &err), 0);
    tfs_facts_unref(facts);
    edit_open(doc, &edit);
    put(&edit, key_x(0), 0);
    struct tfs_doc *next = finish(&edit);
    tfs_doc_unref(doc);
    ck_assert_int_eq(*(int *)next->facts->own, 7);
    tfs_doc_unref(next);
}
END_TEST

static Suite *doc_suite(void)
{
    Suite *suite = suite_create("doc");
    TCase *map = unit_case_with(suite, "map", reset, NULL);
    TCase *edits = unit_case_with(suite, "edits", reset, NULL);
    TCase *facts = unit_case_with(suite, "facts", reset, NULL);

    tcase_set_timeout(map, 60); /* sanitizers are slow */
    tcase_add_test(map, doc_key_order_is_group_y_z_x);
    tcase_add_loop_test(map, doc_random_edits_agree_with_an_array, 0, 4);
    tcase_add_test(map, doc_may_lose_all_and_grow_again);
    tcase_add_test(map, doc_holds_a_million_chunks);
    tcase_add_loop_test(map, doc_diff_names_exactly_what_differs, 0, 6);
    tcase_add_test(map, doc_diff_stops_when_told);
    tcase_add_test(map, doc_chunk_same_looks_at_content);
    tcase_add_test(map, doc_chunk_is_what_something_was_made_of);
    tcase_add_test(map, doc_bounds_are_those_of_one_group);
    tcase_add_test(map, keys_are_looked_through_once_while_no_chunk_comes_or_goes);
    tcase_add_test(map, areas_are_those_in_which_some_chunk_lies);
    tcase_add_test(edits, doc_edit_copies_only_the_page_it_touches);
    tcase_add_test(edits, doc_built_in_ascending_order_has_full_pages);
    tcase_add_test(edits, doc_filled_between_its_chunks_has_pages_three_quarters_full);
    tcase_add_test(edits, doc_unchanged_edit_gives_the_base);
    tcase_add_test(edits, doc_touch_alone_is_a_change);
    tcase_add_test(edits, doc_touched_lists_puts_and_removals_in_order);
    tcase_add_test(edits, doc_every_state_has_a_version_of_its_own);
    tcase_add_test(edits, doc_common_blob_is_replaced_and_kept_by_the_base);
    tcase_add_test(edits, doc_slot_is_kept_by_a_replacement_and_a_move);
    tcase_add_test(edits, doc_slots_run_out_with_a_sentence);
    tcase_add_test(edits, doc_keep_slots_follows_coordinates);
    tcase_add_test(edits, doc_another_place_alone_is_stored);
    tcase_add_test(facts, facts_keep_their_notes_in_order);
    tcase_add_test(facts, facts_live_as_long_as_any_document);
    return suite;
}

UNIT_MAIN(doc_suite)
