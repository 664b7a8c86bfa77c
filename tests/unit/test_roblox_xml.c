/* formats/roblox/xml: terrain found wherever it is, values as the engine writes them, and files
 * that are refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/place_case.h"
#include "formats/roblox/source.h"
#include "unit.h"

static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
}

static const struct tfs_key origin;

/* ---- XML ------------------------------------------------------------------------------------- */

#define XML(inside)     "<roblox version=\"4\">" inside "</roblox>"
#define ITEM(inside)    "<Item class=\"Terrain\"><Properties>" inside "</Properties></Item>"
#define GRID(text)      "<BinaryString name=\"SmoothGrid\">" text "</BinaryString>"
#define TERRAIN(inside) XML(ITEM(inside))

static const struct {
    const char *file;
    uint32_t regions;
    const char *locked; /* NULL: the Terrain can be written */
} good_xml[] = {
    {TERRAIN(GRID("AQU=")), 0, NULL},
    {TERRAIN(GRID("<![CDATA[AQU=]]>")), 0, NULL},
    {TERRAIN(GRID(" \r\n AQ\nU\t= ")), 0, NULL},
    {TERRAIN(GRID("")), 0, NULL},
    {TERRAIN("<BinaryString name=\"SmoothGrid\"/>"), 0, NULL},
    {TERRAIN("<BinaryString  name = 'SmoothGrid' >AQU=</BinaryString >"), 0, NULL},
    {"\xef\xbb\xbf\r\n<?xml version=\"1.0\"?>\r\n" TERRAIN(GRID("AQU=")) "\r\nrest", 0, NULL},
    {XML("<Item class=\"Workspace\"><Properties></Properties>" ITEM(GRID("AQU=")) "</Item>"), 0,
     NULL},
    {XML("<Item class='TerrainRegion'><Properties>" GRID("AQU=") "</Properties></Item>"), 1,
     "this file has no Terrain"},
    /* What only looks like it. */
    {XML("<!-- " ITEM(GRID("AQU=")) " -->"), 0, "this file has no Terrain"},
    {XML("<Item class=\"Script\"><Properties><ProtectedString name=\"Source\"><![CDATA[" ITEM(
         GRID("AQU=")) "]]></ProtectedString></Properties></Item>"),
     0, "this file has no Terrain"},
    {XML("<Item class=\"Part\" name=\"&lt;Item class=>\"><Properties>" GRID("AQU=") "</Properties>"
                                                                                    "</Item>"),
     0, "this file has no Terrain"},
    {TERRAIN("<string name=\"SmoothGrid\">AQU=</string>"), 0, "the Terrain has no SmoothGrid"},
    {TERRAIN("<Folder>" GRID("AQU=") "</Folder>"), 0, "the Terrain has no SmoothGrid"},
    {XML("<Item class=\"Terrain\">" GRID("AQU=") "</Item>"), 0, "the Terrain has no SmoothGrid"},
    {XML("<Item class=\"Terrain\"><Properties></Properties><Item class=\"Part\"><Properties>" GRID(
         "AQU=") "</Properties></Item></Item>"),
     0, "the Terrain has no SmoothGrid"},
    {TERRAIN("<BinaryString name=\"ClusterGridV3\">AQI=</BinaryString>"), 0, OLD_TERRAIN},
    {TERRAIN("<BinaryString name=\"ClusterGridV3\">AQI=</BinaryString>" GRID("AQU=")), 0, NULL},
    {TERRAIN(GRID("AQU=") "<BinaryString name=\"ClusterGridV3\">AQI=</BinaryString>"), 0, NULL},
    {TERRAIN("<SharedString name=\"SmoothGrid\">yuZpQdnvvUBOTYh1jqZ2cA==</SharedString>"), 0,
     "the terrain is not stored as a byte string, which is all we can write"},
    {TERRAIN("<BinaryString name=\"PhysicsGrid\">AwM=</BinaryString>" GRID("AQU=")), 0,
     "PhysicsGrid is of a version we cannot write, so the voxels must stay as they are"},
    {"<roblox/>", 0, "this file has no Terrain"},
};

START_TEST(xml_terrain_is_found_where_it_is)
{
    struct maker_bytes file = {0};

    maker_add(&file, good_xml[_i].file, strlen(good_xml[_i].file));
    place_open(&c, &tfs_rbx_xml_container, &file);
    const char *locked = tfs_rbx_locked(c.doc, 0);
    if (good_xml[_i].locked == NULL)
        ck_assert_ptr_null(locked);
    else
        ck_assert_str_eq(locked, good_xml[_i].locked);
    ck_assert_uint_eq(tfs_rbx_tree.groups(c.doc), good_xml[_i].regions + 1);
    const struct tfs_probe probe = {.head = place_span(&file), .fd = -1};
    ck_assert_int_eq(tfs_rbx_xml_container.probe(&probe), TFS_BID_CERTAIN);
    struct maker_bytes same = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&same), place_span(&file)));
    maker_release(&same);
    maker_release(&file);
}
END_TEST

static const struct {
    const char *file, *says;
} bad_xml[] = {
    {"", "offset 0: the text is cut off within an element"},
    {"<robloxx>", "offset 0: the outermost element is not <roblox>"},
    {"<roblox>", "offset 8: the text is cut off within an element"},
    {"<roblox", "offset 0: the text is cut off within a tag"},
    {"<roblox a", "offset 0: this is no tag"},
    {"<roblox a=", "offset 0: an attribute without quotes"},
    {"<roblox a=b>", "offset 0: an attribute without quotes"},
    {"<roblox a=\"b>", "offset 0: the text is cut off within a tag"},
    {"<roblox></Item>", "offset 8: a closing tag without an opening one"},
    {"<roblox><Item></roblox>", "offset 14: a closing tag without an opening one"},
    {"<roblox><![CDATA[", "offset 8: the text is cut off within <![CDATA["},
    {"<roblox><!--->", "offset 8: the text is cut off within <!--"},
    {"<!DOCTYPE roblox [<!ENTITY a \"b\">]><roblox/>",
     "offset 0: a declaration, which no place file has"},
    {"<roblox>< a></roblox>", "offset 8: this is no tag"},
    {TERRAIN(GRID("AQU")), "offset 89: the base64 text is cut off"},
    {TERRAIN(GRID("AQU==")), "offset 90: not base64"},
    {TERRAIN(GRID("AQ=U")), "offset 89: not base64"},
    {TERRAIN(GRID("=AQU")), "offset 86: not base64"},
    {TERRAIN(GRID("AQU=AQU=")), "offset 90: not base64"},
    {TERRAIN(GRID("A&#81;U=")), "offset 87: not base64"},
    {TERRAIN(GRID("<![CDATA[AQU=]] >")), "offset 86: the text is cut off within <![CDATA["},
    {TERRAIN(GRID("<!-- -->AQU=")), "offset 86: something else than text inside of a value"},
    {TERRAIN(GRID("<b>AQU=</b>")), "offset 86: a tag inside of a value"},
    {"<roblox><Item class=\"Terrain\"><Properties>" GRID("AQU="),
     "offset 93: the text is cut off within an element"},
    {TERRAIN(GRID("AQU=") GRID("AQU=")), "the Terrain has the property SmoothGrid twice"},
    {TERRAIN(GRID("AgU=")),
     "SmoothGrid of the Terrain: SmoothGrid version 2 is not supported, only version 1"},
};

START_TEST(xml_is_refused_with_place_and_reason)
{
    struct tfs_error err = {0};
    int result = place_try(&tfs_rbx_xml_container, tfs_span_of(bad_xml[_i].file), &err);

    ck_assert_int_lt(result, 0);
    ck_assert_str_eq(err.text, bad_xml[_i].says);
}
END_TEST

/* What a value becomes in the file; a chunk of edge 1 is 13 bytes, so values have 2 + 13 n. */
static void check_written(const char *before, int chunks, const char *after)
{
    struct maker_bytes file = {0};
    struct tree_files mine;
    struct tfs_error err = {0};

    maker_add(&file, before, strlen(before));
    place_open(&mine, &tfs_rbx_xml_container, &file);
    for (int32_t i = 0; i < chunks; i++)
        ck_assert_int_eq(place_create(&mine, (struct tfs_key){.x = i}, &err), 0);
    struct maker_bytes made = place_encode(&mine);
    maker_u8(&made, 0);
    ck_assert_str_eq((const char *)made.data, after);
    maker_release(&made);
    maker_release(&file);
    tree_files_close(&mine);
}

START_TEST(xml_terrain_beyond_the_first_is_kept_and_named)
{
    const char two[] = XML(ITEM(GRID("AQA=")) ITEM(GRID("AgU=")));
    struct maker_bytes file = {0};

    maker_add(&file, two, strlen(two));
    place_open(&c, &tfs_rbx_xml_container, &file);
    ck_assert_str_eq(tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING),
                     "there are 2 Terrains: the first is shown, the others are kept");
    check_written(two, 1, XML(ITEM(GRID("AQAAAAAAAAAAAAAAAAAA")) ITEM(GRID("AgU="))));
    maker_release(&file);
}
END_TEST

START_TEST(xml_nested_too_deep_is_refused)
{
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    maker_add(&file, "<roblox>", 8);
    for (int i = 0; i < 2000; i++)
        maker_add(&file, "<Item>", 6);
    ck_assert_int_eq(place_try(&tfs_rbx_xml_container, place_span(&file), &err), -EBADMSG);
    ck_assert_str_eq(err.text, "offset 6002: elements more than 1000 deep");
    maker_release(&file);
}
END_TEST

START_TEST(xml_values_are_written_as_the_engine_does)
{
    /* 4 chunks are 72 characters, one line; what is longer stands in CDATA. */
    check_written(TERRAIN(GRID("AQA=")), 1, TERRAIN(GRID("AQAAAAAAAAAAAAAAAAAA")));
    check_written(TERRAIN(GRID("<![CDATA[AQA=]]>")), 1, TERRAIN(GRID("AQAAAAAAAAAAAAAAAAAA")));
    check_written(
        TERRAIN(GRID("AQA=")), 4,
        TERRAIN(GRID("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAABAAAA")));
    check_written(
        TERRAIN(GRID("AQA=")), 5,
        TERRAIN(GRID(
            "<![CDATA[AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAABAAAA\n"
            "AAAAAAAAAAAAAQAAAA==]]>")));
}
END_TEST

START_TEST(xml_empty_tag_is_opened)
{
    const char before[] = "<roblox>\r\n" ITEM("<BinaryString name=\"SmoothGrid\" />") "</roblox>";
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    maker_add(&file, before, strlen(before));
    place_open(&c, &tfs_rbx_xml_container, &file);
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    maker_u8(&made, 0);
    ck_assert(strncmp((const char *)made.data,
                      "<roblox>\r\n<Item class=\"Terrain\"><Properties>"
                      "<BinaryString name=\"SmoothGrid\"><![CDATA[AQUA",
                      80) == 0);
    ck_assert_ptr_nonnull(
        strstr((const char *)made.data, "]]></BinaryString></Properties></Item></roblox>"));
    made.size--;
    ck_assert_int_eq(place_try(&tfs_rbx_xml_container, place_span(&made), &err), 0);
    maker_release(&made);
    maker_release(&file);
}
END_TEST

static Suite *xml_suite(void)
{
    Suite *suite = suite_create("roblox_xml");
    TCase *xml = unit_case_with(suite, "xml", NULL, teardown);

    tcase_add_loop_test(xml, xml_terrain_is_found_where_it_is, 0, COUNT(good_xml));
    tcase_add_loop_test(xml, xml_is_refused_with_place_and_reason, 0, COUNT(bad_xml));
    tcase_add_test(xml, xml_terrain_beyond_the_first_is_kept_and_named);
    tcase_add_test(xml, xml_nested_too_deep_is_refused);
    tcase_add_test(xml, xml_values_are_written_as_the_engine_does);
    tcase_add_test(xml, xml_empty_tag_is_opened);
    return suite;
}

UNIT_MAIN(xml_suite)
