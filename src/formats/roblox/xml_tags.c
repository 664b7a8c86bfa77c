/*
 * XML text -> its tags, one after another.
 *
 * Must not know what elements mean. Offsets into the text are compared with its size at every step;
 * nothing is copied.
 *
 * A library for XML does not do here: expat refuses files that Studio writes and that are kept byte
 * for byte, with a \x01 or \xff in a script or bytes behind </roblox>. fuzz_roblox_xml drives this
 * scanner with untrusted text.
 */
#include "formats/roblox/xml_tags.h"

#include <errno.h>
#include <string.h>

#define ATTRIBUTES_MAX 256 /* of one tag */
#define NOT_FOUND      SIZE_MAX

bool tfs_rbx_xml_is(struct tfs_span text, const char *name)
{
    return tfs_span_equal(text, tfs_span_of(name));
}

static struct tfs_span rest_of(const struct tfs_rbx_xml *xml)
{
    return (struct tfs_span){xml->text.data + xml->at, xml->text.size - xml->at};
}

static bool begins(struct tfs_span text, const char *with)
{
    const size_t size = strlen(with);

    return text.size >= size && memcmp(text.data, with, size) == 0;
}

/* Offset of `what` in the text from xml->at on. */
static size_t find(const struct tfs_rbx_xml *xml, const char *what)
{
    const struct tfs_span rest = rest_of(xml);
    const uint8_t *found = rest.size == 0 ? NULL : memmem(rest.data, rest.size, what, strlen(what));

    return found == NULL ? NOT_FOUND : (size_t)(found - xml->text.data);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Goes behind the section that begins at xml->at with `open` and ends with `close`. */
static int skip_section(struct tfs_rbx_xml *xml, const char *open, const char *close,
                        struct tfs_span *inside, struct tfs_error *err)
{
    const size_t begin = xml->at;

    xml->at += strlen(open);
    const size_t end = find(xml, close);
    if (end == NOT_FOUND)
        return tfs_fail(err, -EBADMSG, "offset %zu: the text is cut off within %s", begin, open);
    *inside = (struct tfs_span){xml->text.data + xml->at, end - xml->at};
    xml->at = end + strlen(close);
    return 0;
}

/* ---- tags ------------------------------------------------------------------------------------ */

/* The inside of a tag. */
struct tag_cursor {
    struct tfs_rbx_xml *xml;
    size_t begin; /* of the tag, for sentences */
};

static int fail_tag(const struct tag_cursor *t, const char *what, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "offset %zu: %s", t->begin, what);
}

/* The character here; 0 at the end of the text. */
static uint8_t here(const struct tag_cursor *t)
{
    return t->xml->at < t->xml->text.size ? t->xml->text.data[t->xml->at] : 0;
}

static void skip_spaces(struct tag_cursor *t)
{
    while (is_space(here(t)))
        t->xml->at++;
}

static struct tfs_span take_name(struct tag_cursor *t)
{
    struct tfs_span name = {.data = t->xml->text.data + t->xml->at};

    for (uint8_t c = here(t); c != 0 && !is_space(c) && strchr("=/><\"'", c) == NULL; c = here(t))
        t->xml->at++;
    name.size = (size_t)(t->xml->text.data + t->xml->at - name.data);
    return name;
}

static int take_attribute(struct tag_cursor *t, struct tfs_rbx_xml_tag *tag, struct tfs_error *err)
{
    const struct tfs_span name = take_name(t);

    skip_spaces(t);
    if (name.size == 0 || here(t) != '=')
        return fail_tag(t, "this is no tag", err);
    t->xml->at++;
    skip_spaces(t);

    const char quote[] = {(char)here(t), '\0'};
    if (quote[0] != '"' && quote[0] != '\'')
        return fail_tag(t, "an attribute without quotes", err);
    t->xml->at++;
    const size_t end = find(t->xml, quote);
    if (end == NOT_FOUND)
        return fail_tag(t, "the text is cut off within a tag", err);
    const struct tfs_span value = {t->xml->text.data + t->xml->at, end - t->xml->at};
    t->xml->at = end + 1;
    if (tfs_rbx_xml_is(name, "class"))
        tag->class_value = value;
    else if (tfs_rbx_xml_is(name, "name"))
        tag->name_value = value;
    return 0;
}

/* The tag that begins at xml->at. */
static int take_tag(struct tfs_rbx_xml *xml, struct tfs_rbx_xml_tag *tag, struct tfs_error *err)
{
    struct tag_cursor t = {xml, xml->at};

    *tag = (struct tfs_rbx_xml_tag){.at = xml->at++};
    tag->closing = here(&t) == '/';
    xml->at += tag->closing;
    tag->name = take_name(&t);
    if (tag->name.size == 0)
        return fail_tag(&t, "this is no tag", err);
    for (int i = 0; i < ATTRIBUTES_MAX; i++) {
        skip_spaces(&t);
        tag->empty = here(&t) == '/' && !tag->closing;
        xml->at += tag->empty;
        if (here(&t) == '>') {
            tag->end = ++xml->at;
            return 0;
        }
        if (here(&t) == 0)
            return fail_tag(&t, "the text is cut off within a tag", err);
        if (tag->empty || tag->closing)
            return fail_tag(&t, "this is no tag", err);
        if (take_attribute(&t, tag, err) < 0)
            return err->code;
    }
    return fail_tag(&t, "a tag with too many attributes", err);
}

/* What begins at xml->at, which is a `<`: 1 a tag, 0 something else, which is skipped; its inside
 * is *data when it is a CDATA section. */
static int take_markup(struct tfs_rbx_xml *xml, struct tfs_rbx_xml_tag *tag, struct tfs_span *data,
                       struct tfs_error *err)
{
    const struct tfs_span rest = rest_of(xml);
    struct tfs_span ignored;

    *data = (struct tfs_span){0};
    if (begins(rest, "<!--"))
        return skip_section(xml, "<!--", "-->", &ignored, err);
    if (begins(rest, "<![CDATA["))
        return skip_section(xml, "<![CDATA[", "]]>", data, err);
    if (begins(rest, "<?"))
        return skip_section(xml, "<?", "?>", &ignored, err);
    if (begins(rest, "<!"))
        return tfs_fail(err, -EBADMSG, "offset %zu: a declaration, which no place file has",
                        xml->at);
    return take_tag(xml, tag, err) < 0 ? err->code : 1;
}

int tfs_rbx_xml_next(struct tfs_rbx_xml *xml, struct tfs_rbx_xml_tag *tag, struct tfs_error *err)
{
    struct tfs_span ignored;
    int result = 0;

    while (result == 0) {
        const size_t at = find(xml, "<");
        if (at == NOT_FOUND)
            return 0;
        xml->at = at;
        result = take_markup(xml, tag, &ignored, err);
    }
    return result;
}

int tfs_rbx_xml_data(struct tfs_rbx_xml *xml, struct tfs_span *piece, struct tfs_rbx_xml_tag *tag,
                     struct tfs_error *err)
{
    const size_t begin = xml->at;
    const size_t end = find(xml, "<");

    if (end == NOT_FOUND)
        return tfs_fail(err, -EBADMSG, "offset %zu: the text is cut off within an element", begin);
    if (end > begin) {
        *piece = (struct tfs_span){xml->text.data + begin, end - begin};
        xml->at = end;
        return 1;
    }
    if (begins(rest_of(xml), "<!--") || begins(rest_of(xml), "<?"))
        return tfs_fail(err, -EBADMSG, "offset %zu: something else than text inside of a value",
                        begin);
    int result = take_markup(xml, tag, piece, err);
    return result < 0 ? result : !result;
}
