/*
 * The names of a directory in memory, against an array of them, and what they cost: comparisons are
 * counted, not time.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/session/links.h"

#define MANY 100000
/* Twice log2(MANY), which is the depth of a tree of that many, and a few. */
#define DEPTH 40

static struct tfs_links links;

static void teardown(void)
{
    tfs_links_release(&links);
}

static struct tfs_scratch *inode_number(uintptr_t i)
{
    return (struct tfs_scratch *)(i + 1);
}

static void add(const char *name, uint64_t serial)
{
    struct tfs_link *link = tfs_links_add(&links, name, serial, inode_number(serial));
    ck_assert_ptr_nonnull(link);
    ck_assert_str_eq(link->name, name);
}

START_TEST(links_are_found_by_name)
{
    add("a", 1);
    add("b", 2);
    add("", 3);
    ck_assert_ptr_eq(tfs_links_find(&links, "b")->scratch, inode_number(2));
    ck_assert_uint_eq(tfs_links_find(&links, "")->serial, 3);
    ck_assert_ptr_null(tfs_links_find(&links, "c"));
    ck_assert_ptr_null(tfs_links_find(&links, "ab"));
    tfs_links_remove(&links, tfs_links_find(&links, "b"));
    ck_assert_ptr_null(tfs_links_find(&links, "b"));
    ck_assert_uint_eq(links.count, 2);
    add("b", 9);
    ck_assert_uint_eq(tfs_links_find(&links, "b")->serial, 9);
}
END_TEST

START_TEST(links_without_names_have_none)
{
    ck_assert_ptr_null(tfs_links_find(&links, "a"));
    ck_assert_ptr_null(tfs_links_from(&links, 0));
}
END_TEST

START_TEST(listing_goes_on_behind_a_link_that_is_gone)
{
    for (uint64_t i = 0; i < 10; i++)
        add((char[]){(char)('a' + i), '\0'}, 10 * i);
    tfs_links_remove(&links, tfs_links_find(&links, "c"));
    ck_assert_uint_eq(tfs_links_from(&links, 0)->serial, 0);
    ck_assert_uint_eq(tfs_links_from(&links, 1)->serial, 10);
    ck_assert_uint_eq(tfs_links_from(&links, 10)->serial, 10);
    ck_assert_uint_eq(tfs_links_from(&links, 11)->serial, 30);
    ck_assert_uint_eq(tfs_links_from(&links, 90)->serial, 90);
    ck_assert_ptr_null(tfs_links_from(&links, 91));
}
END_TEST

static uint64_t seed = 1;

static unsigned chance(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

#define NAMES 200

/* serials[i]: that of name i, 0: it is not there. */
static void compare(const uint64_t serials[NAMES])
{
    char name[16];
    size_t count = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "%u", i);
        const struct tfs_link *link = tfs_links_find(&links, name);
        ck_assert_uint_eq(link != NULL ? link->serial : 0, serials[i]);
        count += link != NULL;
    }
    ck_assert_uint_eq(links.count, count);
    for (const struct tfs_link *link = tfs_links_from(&links, 0); link != NULL; count--) {
        uint64_t serial = link->serial;
        ck_assert_uint_eq(serials[strtoul(link->name, NULL, 10)], serial);
        link = tfs_links_from(&links, serial + 1);
        ck_assert(link == NULL || link->serial > serial);
    }
    ck_assert_uint_eq(count, 0);
}

START_TEST(links_agree_with_an_array_of_them)
{
    static uint64_t serials[NAMES];
    uint64_t next = 1;
    for (unsigned step = 0; step < 20000; step++) {
        char name[16];
        unsigned i = chance(NAMES);
        snprintf(name, sizeof(name), "%u", i);
        if (serials[i] != 0)
            tfs_links_remove(&links, tfs_links_find(&links, name));
        else
            add(name, next);
        serials[i] = serials[i] != 0 ? 0 : next++;
        if (step % 100 == 0)
            compare(serials);
    }
}
END_TEST

static uint64_t compared_since(uint64_t *before)
{
    uint64_t count = links.compared - *before;
    *before = links.compared;
    return count;
}

/* Names in order, and such as begin alike: what a hash or a plain tree may be slow with. */
START_TEST(no_name_costs_more_than_the_depth_of_the_tree)
{
    char name[32];
    uint64_t before = 0;
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "file%08u", i);
        add(name, i);
        ck_assert_uint_le(compared_since(&before), 2 * DEPTH);
    }
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "file%08u", i);
        ck_assert_ptr_nonnull(tfs_links_find(&links, name));
        ck_assert_uint_le(compared_since(&before), DEPTH);
    }
    const struct tfs_link *link = tfs_links_from(&links, 0);
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_ptr_nonnull(link);
        link = tfs_links_from(&links, link->serial + 1);
        ck_assert_uint_le(compared_since(&before), DEPTH);
    }
    ck_assert_ptr_null(link);
    while ((link = tfs_links_from(&links, 0)) != NULL) {
        tfs_links_remove(&links, (struct tfs_link *)link);
        ck_assert_uint_le(compared_since(&before), 3 * DEPTH);
    }
    ck_assert_uint_eq(links.count, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("links");
    TCase *c = unit_case(s, "links");
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, links_are_found_by_name);
    tcase_add_test(c, links_without_names_have_none);
    tcase_add_test(c, listing_goes_on_behind_a_link_that_is_gone);
    tcase_add_test(c, links_agree_with_an_array_of_them);
    tcase_add_test(c, no_name_costs_more_than_the_depth_of_the_tree);
    return s;
}

UNIT_MAIN(suite)
