/*
 * What the root of a zone shows beside the files of a region: zoneInfo.json, as it is; and the
 * lines of info.txt about its regions.
 *
 * Must not know files: what is told follows from the document alone.
 */
#include <errno.h>
#include <string.h>

#include "formats/cosmic_reach/lenses.h"
#include "formats/cosmic_reach/zone.h"
#include "formats/views/info.h"

/* ---- zoneInfo.json --------------------------------------------------------------------------- */

uint32_t tfs_cosmic_zone_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    (void)tree;
    return tfs_cosmic_zone_info(doc) != NULL;
}

static int zone_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    (void)at;
    if (tfs_cosmic_zone_count(save->tree, doc) == 0)
        return tfs_fail(err, -ENOENT, "the zone has no " TFS_COSMIC_ZONE_INFO);
    tfs_buf_add_span(out, tfs_blob_span(tfs_cosmic_zone_info(doc)));
    return tfs_buf_check(out, err);
}

static int64_t zone_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    (void)at;
    return (int64_t)tfs_blob_span(tfs_cosmic_zone_info(doc)).size;
}

const struct tfs_lens tfs_cosmic_zone_lens = {.get = zone_get, .size = zone_size};

/* ---- info.txt -------------------------------------------------------------------------------- */

static bool is_like(const struct tfs_folder_file *a, const struct tfs_folder_file *b)
{
    const struct tfs_cosmic_facts *left = tfs_cosmic_region_facts(a),
                                  *right = tfs_cosmic_region_facts(b);

    return !a->left_out && !b->left_out && left->version == right->version &&
           left->compression == right->compression;
}

/* Regions of the version and compression of the at-th, which is the first of them; else 0. */
static size_t count_like(const struct tfs_folder_files *files, size_t at)
{
    size_t count = 0;

    for (size_t i = 0; i < files->count; i++) {
        if (!is_like(files->files[i], files->files[at]))
            continue;
        if (i < at)
            return 0;
        count++;
    }
    return count;
}

void tfs_cosmic_zone_describe(struct tfs_buf *out, const struct tfs_doc *doc)
{
    const struct tfs_folder_files *files = &doc->facts->folder->files;
    char name[TFS_COSMIC_REGION_NAME];

    tfs_info_line(out, "region files", "%zu", files->count);
    for (size_t i = 0; i < files->count; i++) {
        const struct tfs_cosmic_facts *facts = tfs_cosmic_region_facts(files->files[i]);
        const size_t count = count_like(files, i);
        if (count > 0)
            tfs_info_line(out, "version", "%u (%s), in %zu region files", facts->version,
                          tfs_cosmic_layout_name(facts), count);
    }
    tfs_info_line(out, "new regions", "version %u (%s)", tfs_cosmic_facts(doc)->version,
                  tfs_cosmic_layout_name(tfs_cosmic_facts(doc)));
    for (size_t i = 0; i < files->count; i++) {
        if (files->files[i]->refusal == NULL)
            continue;
        tfs_cosmic_region_name(files->files[i]->key, name);
        tfs_info_line(out, "read-only region", "%s: %s", name, files->files[i]->refusal);
    }
}
