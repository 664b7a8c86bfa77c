/*
 * The files that one document shows otherwise than another, as they are kept for people.
 */
#include "unit.h"

#include <string.h>

#include "../lib/cosmic_case.h"
#include "fs/changes.h"
#include "../lib/region_maker.h"

struct kept {
    unsigned chunks, stored, texts, others;
};

static int note(void *arg, const char *path, struct tfs_span bytes)
{
    struct kept *kept = arg;
    const char *name = strrchr(path, '/');

    ck_assert_uint_gt(bytes.size, 0);
    if (name == NULL || strncmp(path, "chunks/", 7) != 0)
        kept->others++;
    else if (strcmp(name, "/raw.bin") == 0)
        kept->stored++;
    else if (strcmp(name, "/voxels.csv") == 0)
        kept->texts++;
    return 0;
}

static int count(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct kept *kept = arg;

    kept->chunks += before != NULL && after != NULL;
    return 0;
}

/* A name that every chunk has is another one. */
static struct kept rename_in(unsigned chunks)
{
    struct maker_region r = maker_region_init(4);
    struct tree_files c;
    struct kept kept = {0};

    for (unsigned i = 0; i < chunks; i++)
        maker_single(
            &maker_region_add(&r, (int32_t)(i / 256), (int32_t)(i % 16), (int32_t)(i / 16 % 16))
                 ->body,
            "base:dirt[default]");
    for (unsigned i = 0; i < chunks; i++) {
        maker_sky(&r.chunks[i].body, NULL);
        maker_light(&r.chunks[i].body, NULL);
        maker_entities(&r.chunks[i].body, NULL, -1);
    }
    cosmic_open_maker(&c, &r);
    struct tfs_doc *before = tfs_doc_ref(c.doc);
    ck_assert_msg(files_put_text(&c, FILES_ROOT, "palette.txt", "base:gold[default]\n") == 0, "%s",
                  c.err.text);
    ck_assert_int_eq(tfs_doc_diff(before, c.doc, count, &kept), 0);
    ck_assert_uint_eq(tfs_changes_files(c.save, before, c.doc, "", note, &kept), 0);
    tfs_doc_unref(before);
    tree_files_close(&c);
    maker_region_release(&r);
    ck_assert_uint_eq(kept.chunks, chunks);
    return kept;
}

START_TEST(edits_of_some_chunks_are_kept_as_stored_bytes_and_as_text)
{
    struct kept kept = rename_in(TFS_CHANGES_FEW);

    ck_assert_uint_eq(kept.stored, TFS_CHANGES_FEW);
    ck_assert_uint_eq(kept.texts, TFS_CHANGES_FEW);
}
END_TEST

/* Text of a hundred thousand chunks takes minutes, and pushes out what was kept before. */
START_TEST(edits_of_very_many_chunks_are_kept_as_stored_bytes)
{
    struct kept kept = rename_in(TFS_CHANGES_FEW + 1);

    ck_assert_uint_eq(kept.stored, TFS_CHANGES_FEW + 1);
    ck_assert_uint_eq(kept.texts, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("changes");
    TCase *c = unit_case(s, "changes");

    tcase_add_test(c, edits_of_some_chunks_are_kept_as_stored_bytes_and_as_text);
    tcase_add_test(c, edits_of_very_many_chunks_are_kept_as_stored_bytes);
    return s;
}

UNIT_MAIN(suite)
