/*
 * Names and properties of blocks.
 *
 * Must not know palettes.
 */
#include "formats/minecraft/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROPERTIES_MAX 64

/* ---- an entry -> text ------------------------------------------------------------------------ */

static void print_properties(struct tfs_span properties, struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(properties);
    struct tfs_mc_nbt_tag tag;
    char before = '[';

    for (; tfs_mc_nbt_next(&c, &tag); before = ',') {
        tfs_buf_u8(out, (uint8_t)before);
        tfs_buf_add_span(out, tag.name);
        tfs_buf_u8(out, '=');
        if (tag.type == TFS_MC_NBT_STRING)
            tfs_buf_add_span(out, tfs_mc_nbt_string(tag.payload));
    }
    if (before == ',')
        tfs_buf_u8(out, ']');
}

int tfs_mc_state_print(struct tfs_span entry, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(entry);
    struct tfs_span name = {0}, properties = {0};
    struct tfs_mc_nbt_tag tag;

    while (tfs_mc_nbt_next(&c, &tag))
        if (tfs_mc_nbt_is(&tag, "Name", TFS_MC_NBT_STRING))
            name = tfs_mc_nbt_string(tag.payload);
        else if (tfs_mc_nbt_is(&tag, "Properties", TFS_MC_NBT_COMPOUND))
            properties = tag.payload;
    if (name.size == 0)
        return tfs_fail(err, -EBADMSG, "an entry of its palette has no name");
    tfs_buf_add_span(out, name);
    print_properties(properties, out);
    return 0;
}

/* ---- text -> an entry ------------------------------------------------------------------------ */

struct property {
    struct tfs_span key, value;
};

struct state {
    struct tfs_span name;
    struct property properties[PROPERTIES_MAX];
    size_t count;
};

/* What stands before `end`, which is taken, too; false: there is no such. */
static bool take_until(struct tfs_span *text, char end, struct tfs_span *taken)
{
    const uint8_t *at = text->size == 0 ? NULL : memchr(text->data, end, text->size);

    if (at == NULL)
        return false;
    *taken = (struct tfs_span){text->data, (size_t)(at - text->data)};
    text->size -= taken->size + 1;
    text->data = at + 1;
    return true;
}

static bool parse(struct tfs_span text, struct state *s)
{
    struct tfs_span list, rest;

    s->count = 0;
    s->name = text;
    if (!take_until(&text, '[', &s->name))
        return true;
    if (!take_until(&text, ']', &list) || text.size > 0)
        return false;
    for (bool more = true; more; s->count++) {
        rest = list;
        more = take_until(&list, ',', &rest);
        struct property *p = &s->properties[s->count];
        if (s->count == PROPERTIES_MAX || !take_until(&rest, '=', &p->key) || p->key.size == 0 ||
            rest.size == 0)
            return false;
        p->value = rest;
    }
    return true;
}

static bool has_only(struct tfs_span text, const char *more)
{
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t c = text.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
              (c != '\0' && strchr(more, c) != NULL)))
            return false;
    }
    return text.size > 0;
}

static bool is_legal(const struct state *s)
{
    struct tfs_span path = s->name, space;

    if (!take_until(&path, ':', &space) || !has_only(space, ".-") || !has_only(path, ".-/"))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        if (!has_only(s->properties[i].key, "") || !has_only(s->properties[i].value, ""))
            return false;
        for (size_t k = 0; k < i; k++)
            if (tfs_span_equal(s->properties[k].key, s->properties[i].key))
                return false;
    }
    return true;
}

/* As HashMap has them. */
static int compare_properties(const void *a, const void *b)
{
    const struct property *left = a, *right = b;
    const unsigned x = tfs_mc_nbt_bucket(left->key), y = tfs_mc_nbt_bucket(right->key);

    return x != y ? (x > y) - (x < y) : tfs_span_compare(left->key, right->key);
}

int tfs_mc_state_parse(struct tfs_span text, struct tfs_buf *entry, struct tfs_error *err)
{
    struct state s;

    if (!parse(text, &s) || !is_legal(&s))
        return tfs_fail(err, -EBADMSG, "%.*s is no state of a block: minecraft:oak_log[axis=y]",
                        text.size < 100 ? (int)text.size : 100, (const char *)text.data);
    if (s.count > 0) {
        qsort(s.properties, s.count, sizeof(*s.properties), compare_properties);
        tfs_mc_nbt_put_head(entry, TFS_MC_NBT_COMPOUND, tfs_span_of("Properties"));
        for (size_t i = 0; i < s.count; i++) {
            tfs_mc_nbt_put_head(entry, TFS_MC_NBT_STRING, s.properties[i].key);
            tfs_mc_nbt_put_string(entry, s.properties[i].value);
        }
        tfs_buf_u8(entry, TFS_MC_NBT_END);
    }
    tfs_mc_nbt_put_head(entry, TFS_MC_NBT_STRING, tfs_span_of("Name"));
    tfs_mc_nbt_put_string(entry, s.name);
    tfs_buf_u8(entry, TFS_MC_NBT_END);
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool has_property(const struct state *s, const struct property *wanted)
{
    for (size_t i = 0; i < s->count; i++)
        if (tfs_span_equal(s->properties[i].key, wanted->key))
            return tfs_span_equal(s->properties[i].value, wanted->value);
    return false;
}

bool tfs_mc_state_same(struct tfs_span a, struct tfs_span b)
{
    struct state s, t;

    if (a.size != b.size || !parse(a, &s) || !parse(b, &t) || !tfs_span_equal(s.name, t.name) ||
        s.count != t.count)
        return false;
    for (size_t i = 0; i < s.count; i++)
        if (!has_property(&t, &s.properties[i]))
            return false;
    return true;
}

bool tfs_mc_state_is_air(struct tfs_span text)
{
    static const char *const airs[] = {"minecraft:air", "minecraft:cave_air", "minecraft:void_air"};

    for (size_t i = 0; i < sizeof(airs) / sizeof(*airs); i++)
        if (tfs_span_equal(text, tfs_span_of(airs[i])))
            return true;
    return false;
}
