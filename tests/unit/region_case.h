/*
 * A small region file for tests: made in every version, opened, and compared with what is encoded
 * again.
 */
#ifndef TFS_TESTS_REGION_CASE_H
#define TFS_TESTS_REGION_CASE_H

#include <stdlib.h>
#include <string.h>

#include "../lib/cosmic_case.h"
#include "formats/cosmic_reach/region.h"
#include "formats/containers/file.h"
#include "unit.h"

#define NAME "region_0_0_0.cosmicreach"

static struct tree_files c;

static inline void teardown(void)
{
    tree_files_close(&c);
}

static inline struct maker_bytes written(const struct maker_region *r)
{
    struct maker_bytes bytes = {0};

    maker_region_write(r, &bytes);
    return bytes;
}

static inline void add_air(struct maker_region *r, int32_t x, int32_t y, int32_t z)
{
    struct maker_chunk *chunk = maker_region_add(r, x, y, z);

    maker_single(&chunk->body, chunk->version < 3 ? "base:air[default]" : "base:air");
    maker_add(&chunk->body, "\3\17\1\0", chunk->version > 0 ? 4 : 3);
}

/* Two columns, 0_0 with two chunks and 1_0 with one; in versions 0-3 three chunks. */
static inline struct maker_region small_region(int32_t version)
{
    struct maker_region r = maker_region_init(version);

    r.compression = 0;
    add_air(&r, 0, 0, 0);
    add_air(&r, 0, 3, 0);
    add_air(&r, 1, 0, 0);
    return r;
}

static inline struct maker_bytes small_file(int32_t version)
{
    struct maker_region r = small_region(version);
    struct maker_bytes bytes = written(&r);

    maker_region_release(&r);
    return bytes;
}

static inline void check_same(const struct maker_bytes *a, const struct maker_bytes *b)
{
    ck_assert(tfs_span_equal(cosmic_span(a), cosmic_span(b)));
}

static inline void check_encodes_to(const struct maker_bytes *expected)
{
    struct maker_bytes again = cosmic_encode(&c);

    check_same(&again, expected);
    maker_release(&again);
}

static inline const char *note(enum tfs_note_kind kind)
{
    const char *text = tfs_facts_find(c.doc->facts, kind);

    return text == NULL ? "" : text;
}

static inline unsigned notes(enum tfs_note_kind kind)
{
    unsigned count = 0;

    for (size_t i = 0; i < c.doc->facts->note_count; i++)
        count += c.doc->facts->notes[i].kind == kind;
    return count;
}

static inline void set_s32(struct maker_bytes *bytes, size_t at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        bytes->data[at + i] = (uint8_t)(v >> (24 - 8 * i));
}

static inline struct maker_bytes gzip_file(void)
{
    struct maker_region r = small_region(7);

    r.compression = 2;
    struct maker_bytes file = written(&r);
    maker_region_release(&r);
    return file;
}

#endif
