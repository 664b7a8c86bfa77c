/*
 * The files that one document shows otherwise than another, as they are kept for people.
 */
#include "formats/cells/cells.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "../lib/cosmic_case.h"
#include "fs/tree/changes.h"
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

static int fail_to_look(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    (void)cells;
    (void)wanted;
    return tfs_fail(err, -EIO, "the disk fails");
}

/* What cannot be looked at now is not taken for absent. */
static void lose_all(struct tree_files *c, const struct tfs_doc *before)
{
    const struct tfs_tree *whole = c->save->tree;
    struct tfs_tree tree = *whole;
    struct kept kept = {0};

    struct tfs_cells_kind cells = *whole->cells;
    tfs_cells_cache_clear(c->save);
    cells.decode = fail_to_look;
    tree.cells = &cells;
    c->save->tree = &tree;
    ck_assert_int_eq(tfs_changes_files(c->save, before, c->doc, "", note, &kept), -EIO);
    ck_assert_int_eq(tfs_changes_stored(c->save, before, c->doc, note, &kept), -EIO);
    ck_assert_uint_eq(kept.stored, 0);
    c->save->tree = whole;
}

/* A name that every chunk has is another one; the save shows `views`. */
static struct kept rename_in(unsigned chunks, unsigned views)
{
    struct maker_region r = maker_region_init(4);
    struct tree_files c;
    struct kept kept = {0}, demanded = {0};

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
    c.save->options.views = views;
    ck_assert_int_eq(tfs_doc_diff(before, c.doc, count, &kept), 0);
    ck_assert_int_eq(tfs_changes_files(c.save, before, c.doc, "", note, &kept), 0);
    ck_assert_int_eq(tfs_changes_stored(c.save, before, c.doc, note, &demanded), 0);
    ck_assert_uint_eq(demanded.stored, chunks);
    ck_assert_uint_eq(demanded.texts, 0);
    lose_all(&c, before);
    tfs_doc_unref(before);
    tree_files_close(&c);
    maker_region_release(&r);
    ck_assert_uint_eq(kept.chunks, chunks);
    return kept;
}

/* The stored bytes of what was edited are kept whatever files the mount shows. */
static const unsigned views[] = {0, TFS_VIEWS_VOXELS, TFS_VIEWS_VOXELS | TFS_VIEWS_RAW};

#define VIEWS ((int)(sizeof(views) / sizeof(views[0])))

START_TEST(edits_of_some_chunks_are_kept_as_stored_bytes_and_as_text)
{
    struct kept kept = rename_in(TFS_CHANGES_FEW, views[_i]);

    ck_assert_uint_eq(kept.stored, TFS_CHANGES_FEW);
    ck_assert_uint_eq(kept.texts, TFS_CHANGES_FEW);
}
END_TEST

/* Text of a hundred thousand chunks takes minutes, and pushes out what was kept before. */
START_TEST(edits_of_very_many_chunks_are_kept_as_stored_bytes)
{
    struct kept kept = rename_in(TFS_CHANGES_FEW + 1, views[_i]);

    ck_assert_uint_eq(kept.stored, TFS_CHANGES_FEW + 1);
    ck_assert_uint_eq(kept.texts, 0);
}
END_TEST

static int note_removal(void *arg, const char *path, struct tfs_span bytes)
{
    unsigned *count = arg;

    if (strcmp(path, "deleted/chunks/0_0_0/lights/sky.txt") == 0) {
        ck_assert_uint_eq(bytes.size, 0);
        ++*count;
    }
    return 0;
}

/* How often the removal is kept, and demanded. */
static unsigned removals(struct tfs_save *save, const struct tfs_doc *before,
                         const struct tfs_doc *after)
{
    unsigned count = 0;

    ck_assert_int_eq(tfs_changes_files(save, before, after, "", note_removal, &count), 0);
    ck_assert_int_eq(tfs_changes_stored(save, before, after, note_removal, &count), 0);
    return count;
}

/* What is stored beside raw.bin and not in it, as instances.bin of a chunk of voxels and
 * instances. */
START_TEST(removal_of_a_file_whose_chunk_stays_is_kept)
{
    struct maker_region r = maker_region_init(4);
    struct tree_files c;
    struct tfs_file files[TFS_FILES_MAX];

    struct maker_chunk *chunk = maker_region_add(&r, 0, 0, 0);
    maker_single(&chunk->body, "base:dirt[default]");
    maker_sky(&chunk->body, NULL);
    maker_light(&chunk->body, NULL);
    maker_entities(&chunk->body, NULL, -1);
    cosmic_open_maker(&c, &r);
    struct tfs_tree tree = *c.save->tree;
    memcpy(files, tree.chunk.files, tree.chunk.count * sizeof(files[0]));
    for (unsigned i = 0; i < tree.chunk.count; i++)
        if (strcmp(files[i].path, "lights/sky.txt") == 0)
            files[i].views |= TFS_VIEWS_RAW;
    tree.chunk.files = files;

    const struct tfs_key key = tfs_doc_at(c.doc, 0)->key;
    struct tfs_doc *without = tfs_doc_ref(c.doc);
    ck_assert_int_eq(files_put_text(&c, key, "lights/sky.txt", "fill 7\n"), 0);
    ck_assert_uint_eq(removals(c.save, c.doc, without), 0);
    const struct tfs_tree *whole = c.save->tree;
    c.save->tree = &tree;
    ck_assert_uint_eq(removals(c.save, without, c.doc), 0);
    ck_assert_uint_eq(removals(c.save, c.doc, without), 2);
    c.save->tree = whole;
    tfs_doc_unref(without);
    tree_files_close(&c);
    maker_region_release(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("changes");
    TCase *c = unit_case(s, "changes");

    tcase_add_loop_test(c, edits_of_some_chunks_are_kept_as_stored_bytes_and_as_text, 0, VIEWS);
    tcase_add_loop_test(c, edits_of_very_many_chunks_are_kept_as_stored_bytes, 0, VIEWS);
    tcase_add_test(c, removal_of_a_file_whose_chunk_stays_is_kept);
    return s;
}

UNIT_MAIN(suite)
