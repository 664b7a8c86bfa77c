/*
 * An XML place or model (.rbxlx, .rbxmx) -> where its terrain is; and a rewritten value.
 *
 * A value is the text of `<BinaryString name="SmoothGrid">` right under the Properties of an Item
 * of class Terrain or TerrainRegion. Whatever else looks like one, in a script or below another
 * item, is none. Only the text between its tags is ever replaced.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/roblox/base64.h"
#include "formats/roblox/roblox.h"
#include "formats/roblox/source_write.h"
#include "formats/roblox/xml_tags.h"

#define DEPTH_MAX 1000
#define VALUE_TAG "BinaryString"

/* struct tfs_rbx_holder.coding: what the stretch is. */
enum coding {
    CODING_TEXT,      /* between the tags */
    CODING_EMPTY_TAG, /* <BinaryString .../> itself */
};

enum element_kind { ELEMENT_OTHER, ELEMENT_ROOT, ELEMENT_ITEM, ELEMENT_PROPERTIES };

struct element {
    struct tfs_span name;
    enum element_kind kind;
    uint32_t group; /* of an item of terrain and its properties; TFS_RBX_NONE for others */
};

struct scanner {
    struct tfs_rbx_source *source;
    struct tfs_rbx_xml xml;
    struct tfs_buf bodies;
    uint64_t limit;
    uint32_t terrains;
    size_t depth;
    struct element stack[DEPTH_MAX];
};

/* ---- values ---------------------------------------------------------------------------------- */

/* The text of the element whose opening tag was just taken, to its closing tag. */
static int take_text(struct scanner *s, struct tfs_rbx_xml_tag *closing, struct tfs_error *err)
{
    struct tfs_rbx_base64 base64 = {0};
    struct tfs_span piece;
    struct tfs_error why = {0};
    size_t offset = 0;
    int result;

    while ((result = tfs_rbx_xml_data(&s->xml, &piece, closing, err)) > 0) {
        if (tfs_rbx_base64_add(&base64, piece, &s->bodies, &offset, &why) < 0)
            return tfs_fail(err, why.code, "offset %zu: %s",
                            (size_t)(piece.data - s->xml.text.data) + offset, why.text);
        if (s->bodies.size > s->limit)
            return tfs_fail(err, -EFBIG, "all terrain together is more than %" PRIu64 " bytes",
                            s->limit);
    }
    if (result < 0)
        return result;
    if (tfs_rbx_base64_end(&base64, &why) < 0)
        return tfs_fail(err, why.code, "offset %zu: %s", closing->at, why.text);
    if (!closing->closing || !tfs_rbx_xml_is(closing->name, VALUE_TAG))
        return tfs_fail(err, -EBADMSG, "offset %zu: a tag inside of a value", closing->at);
    return 0;
}

static int take_value(struct scanner *s, const struct tfs_rbx_xml_tag *tag, uint32_t group,
                      enum tfs_rbx_property property, struct tfs_error *err)
{
    const size_t body_at = s->bodies.size;
    struct tfs_rbx_holder holder = {.body_at = body_at};
    struct tfs_rbx_xml_tag closing = {0};

    if (tag->empty) {
        holder.at = tag->at;
        holder.size = tag->end - tag->at;
        holder.coding = CODING_EMPTY_TAG;
    } else {
        if (take_text(s, &closing, err) < 0)
            return err->code;
        holder.at = tag->end;
        holder.size = closing.at - tag->end;
    }
    holder.body_size = s->bodies.size - body_at;

    const struct tfs_rbx_value value = {property, group, body_at, holder.body_size};
    if (tfs_rbx_add_holder(s->source, holder, err) < 0)
        return err->code;
    return tfs_rbx_add_value(s->source, value, err);
}

/* ---- elements -------------------------------------------------------------------------------- */

static const struct element *top_of(const struct scanner *s)
{
    static const struct element outside = {.group = TFS_RBX_NONE};

    return s->depth == 0 ? &outside : &s->stack[s->depth - 1];
}

/* Which group an item is; only the first Terrain is one. */
static int group_of_item(struct scanner *s, struct tfs_span class, uint32_t *group,
                         struct tfs_error *err)
{
    *group = TFS_RBX_NONE;
    if (tfs_rbx_xml_is(class, "Terrain") && s->terrains++ == 0) {
        *group = 0;
        s->source->groups[0].lock = TFS_RBX_NO_GRID;
    }
    if (tfs_rbx_xml_is(class, "TerrainRegion")) {
        *group = s->source->group_count;
        return tfs_rbx_add_group(s->source, TFS_RBX_NO_GRID, err);
    }
    return 0;
}

static int push(struct scanner *s, const struct tfs_rbx_xml_tag *tag, enum element_kind kind,
                uint32_t group, struct tfs_error *err)
{
    if (tag->empty)
        return 0;
    if (s->depth == DEPTH_MAX)
        return tfs_fail(err, -EBADMSG, "offset %zu: elements more than %d deep", tag->at,
                        DEPTH_MAX);
    s->stack[s->depth++] = (struct element){tag->name, kind, group};
    return 0;
}

/* An element right under the Properties of terrain. */
static int take_property(struct scanner *s, const struct tfs_rbx_xml_tag *tag, uint32_t group,
                         struct tfs_error *err)
{
    bool grid = tfs_rbx_xml_is(tag->name_value, "SmoothGrid");
    bool physics = group == 0 && tfs_rbx_xml_is(tag->name_value, "PhysicsGrid");

    if ((grid || physics) && tfs_rbx_xml_is(tag->name, VALUE_TAG))
        return take_value(s, tag, group, grid ? TFS_RBX_SMOOTH_GRID : TFS_RBX_PHYSICS_GRID, err);
    if ((grid || physics) && tfs_rbx_xml_is(tag->name, "SharedString"))
        tfs_rbx_lock_group(s->source, group, TFS_RBX_SHARED_STRING);
    if (tfs_rbx_is_old_property(tag->name_value))
        tfs_rbx_note_old(s->source, group);
    return push(s, tag, ELEMENT_OTHER, TFS_RBX_NONE, err);
}

static int open_element(struct scanner *s, const struct tfs_rbx_xml_tag *tag, struct tfs_error *err)
{
    const struct element *parent = top_of(s);
    uint32_t group = TFS_RBX_NONE;

    if (s->depth == 0) {
        if (!tfs_rbx_xml_is(tag->name, "roblox"))
            return tfs_fail(err, -EBADMSG, "offset %zu: the outermost element is not <roblox>",
                            tag->at);
        return push(s, tag, ELEMENT_ROOT, group, err);
    }
    if (parent->kind == ELEMENT_PROPERTIES && parent->group != TFS_RBX_NONE)
        return take_property(s, tag, parent->group, err);
    if (tfs_rbx_xml_is(tag->name, "Properties") && parent->kind == ELEMENT_ITEM)
        return push(s, tag, ELEMENT_PROPERTIES, parent->group, err);
    bool is_item = tfs_rbx_xml_is(tag->name, "Item") &&
                   (parent->kind == ELEMENT_ITEM || parent->kind == ELEMENT_ROOT);
    if (!is_item)
        return push(s, tag, ELEMENT_OTHER, group, err);
    if (group_of_item(s, tag->class_value, &group, err) < 0)
        return err->code;
    return push(s, tag, ELEMENT_ITEM, group, err);
}

static int close_element(struct scanner *s, const struct tfs_rbx_xml_tag *tag,
                         struct tfs_error *err)
{
    if (s->depth == 0 || !tfs_span_equal(top_of(s)->name, tag->name))
        return tfs_fail(err, -EBADMSG, "offset %zu: a closing tag without an opening one", tag->at);
    s->depth--;
    return 0;
}

/* All elements, to the end of the outermost one. */
static int scan_elements(struct scanner *s, struct tfs_error *err)
{
    struct tfs_rbx_xml_tag tag;
    int result;
    bool any = false;

    while ((!any || s->depth > 0) && (result = tfs_rbx_xml_next(&s->xml, &tag, err)) != 0) {
        any = true;
        if (result > 0)
            result = tag.closing ? close_element(s, &tag, err) : open_element(s, &tag, err);
        if (result < 0)
            return result;
    }
    if (!any || s->depth > 0)
        return tfs_fail(err, -EBADMSG, "offset %zu: the text is cut off within an element",
                        s->xml.text.size);
    return 0;
}

static int xml_scan(struct tfs_rbx_source *source, struct tfs_facts *facts, uint64_t inflate_limit,
                    struct tfs_error *err)
{
    struct scanner *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return tfs_fail_memory(err);
    s->source = source;
    s->limit = inflate_limit;
    s->xml.text = tfs_blob_span(source->file);
    if (tfs_rbx_add_group(source, TFS_RBX_NO_INSTANCE, err) == 0 && scan_elements(s, err) == 0 &&
        tfs_blob_take(&s->bodies, &source->bodies, err) == 0)
        tfs_rbx_note_terrains(facts, s->terrains, err);
    tfs_buf_release(&s->bodies);
    free(s);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void xml_body(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                     const struct tfs_rbx_pieces *values, struct tfs_rbx_pieces *body)
{
    (void)source;
    (void)holder;
    tfs_rbx_pieces_add_all(body, values);
}

/* What stands around the text. As the engine does: what is longer than a line stands in CDATA. An
 * empty tag is opened: it loses its slash and what stands before that. */
struct frame {
    struct tfs_span tag;
    const char *opened, *begin, *end, *closing;
};

static struct frame frame_of(const struct tfs_rbx_source *source,
                             const struct tfs_rbx_holder *holder, uint64_t size)
{
    const bool lines = tfs_rbx_base64_size(size) > TFS_RBX_BASE64_LINE;
    struct frame frame = {{0}, "", lines ? "<![CDATA[" : "", lines ? "]]>" : "", ""};

    if (holder->coding == CODING_EMPTY_TAG) {
        frame.tag = (struct tfs_span){source->file->data + holder->at, holder->size - strlen("/>")};
        while (strchr(" \t\r\n", frame.tag.data[frame.tag.size - 1]) != NULL)
            frame.tag.size--;
        frame.opened = ">";
        frame.closing = "</" VALUE_TAG ">";
    }
    return frame;
}

static int xml_write(const struct tfs_rbx_source *source, struct tfs_rbx_holder *holder,
                     const struct tfs_rbx_pieces *body, struct tfs_sink *sink,
                     struct tfs_error *err)
{
    const struct frame frame = frame_of(source, holder, body->size);

    if (tfs_sink_span(sink, frame.tag, err) < 0 ||
        tfs_sink_span(sink, tfs_span_of(frame.opened), err) < 0 ||
        tfs_sink_span(sink, tfs_span_of(frame.begin), err) < 0 ||
        tfs_rbx_base64_write(body, sink, err) < 0 ||
        tfs_sink_span(sink, tfs_span_of(frame.end), err) < 0)
        return err->code;
    return tfs_sink_span(sink, tfs_span_of(frame.closing), err);
}

/* The text is decoded. */
static int xml_check(const struct tfs_rbx_source *source, const struct tfs_rbx_holder *holder,
                     const struct tfs_rbx_pieces *body, struct tfs_readback *written,
                     struct tfs_error *err)
{
    const struct frame frame = frame_of(source, holder, body->size);

    if (tfs_readback_expect(written, frame.tag, err) < 0 ||
        tfs_readback_expect(written, tfs_span_of(frame.opened), err) < 0 ||
        tfs_readback_expect(written, tfs_span_of(frame.begin), err) < 0 ||
        tfs_rbx_base64_check(body, written, err) < 0 ||
        tfs_readback_expect(written, tfs_span_of(frame.end), err) < 0)
        return err->code;
    return tfs_readback_expect(written, tfs_span_of(frame.closing), err);
}

static const char *xml_coding(const struct tfs_rbx_source *source)
{
    (void)source;
    return "base64";
}

static const struct tfs_rbx_kind xml_kind = {
    .scan = xml_scan,
    .body = xml_body,
    .write = xml_write,
    .check = xml_check,
    .coding = xml_coding,
};

static int xml_decode(struct tfs_save *save, struct tfs_blob *bytes, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    return tfs_rbx_decode(&xml_kind, save, bytes, doc, err);
}

/* Does it begin with <roblox ...>, behind a byte order mark and a declaration? */
static int xml_probe(const struct tfs_probe *probe)
{
    struct tfs_rbx_xml xml = {.text = probe->head};
    struct tfs_rbx_xml_tag tag;
    struct tfs_error ignored = {0};
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};

    if (xml.text.size >= sizeof(mark) && memcmp(xml.text.data, mark, sizeof(mark)) == 0)
        xml.at = sizeof(mark);
    while (xml.at < xml.text.size && strchr(" \t\r\n", xml.text.data[xml.at]) != NULL &&
           xml.text.data[xml.at] != 0)
        xml.at++;
    bool begins = xml.at < xml.text.size && xml.text.data[xml.at] == '<' &&
                  tfs_rbx_xml_next(&xml, &tag, &ignored) == 1 && !tag.closing &&
                  tfs_rbx_xml_is(tag.name, "roblox");
    return begins ? TFS_BID_CERTAIN : TFS_BID_NONE;
}

static const struct tfs_file_codec xml_codec = {
    .decode = xml_decode, .encode = tfs_rbx_encode, .check = tfs_rbx_check};

const struct tfs_container tfs_rbx_xml_container = {
    .format = TFS_RBX_FORMAT,
    .name = "XML place or model",
    .tree = &tfs_rbx_tree,
    .probe = xml_probe,
    TFS_WHOLE_FILE(&xml_codec),
    .rest = tfs_rbx_rest,
};
