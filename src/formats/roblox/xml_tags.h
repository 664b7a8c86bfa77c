/*
 * Just enough XML to find elements by their nesting and attributes: tags one after another, with
 * everything that could look like a tag and is none (CDATA, comments, processing instructions,
 * quoted attributes) skipped. Document type declarations are refused: no place file has one.
 */
#ifndef TFS_FORMATS_ROBLOX_XML_TAGS_H
#define TFS_FORMATS_ROBLOX_XML_TAGS_H

#include "base/bytes.h"
#include "base/error.h"

struct tfs_rbx_xml {
    struct tfs_span text;
    size_t at; /* everything before was looked at */
};

struct tfs_rbx_xml_tag {
    bool closing; /* </name> */
    bool empty;   /* <name/> */
    size_t at, end;
    struct tfs_span name;
    struct tfs_span class_value, name_value; /* of the attributes `class` and `name`; raw */
};

/* 1: *tag is the next tag; 0: there is none; EBADMSG when the text is cut off within something, or
 * a tag is none, with the offset. */
int tfs_rbx_xml_next(struct tfs_rbx_xml *xml, struct tfs_rbx_xml_tag *tag, struct tfs_error *err);

/* The next piece of character data of an element that must hold nothing else: the text, or the
 * inside of a CDATA section. 1: *piece is one; 0: *tag is the tag behind them. */
int tfs_rbx_xml_data(struct tfs_rbx_xml *xml, struct tfs_span *piece, struct tfs_rbx_xml_tag *tag,
                     struct tfs_error *err);

bool tfs_rbx_xml_is(struct tfs_span text, const char *name);

#endif
