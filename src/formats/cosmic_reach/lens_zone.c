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
#include "formats/info.h"

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

static bool is_first(const struct tfs_cosmic_zone_facts *own, size_t at)
{
    const struct tfs_cosmic_facts *facts = &own->files[at]->facts;

    for (size_t i = 0; i < at; i++)
        if (!own->files[i]->left_out && own->files[i]->facts.version == facts->version &&
            own->files[i]->facts.compression == facts->compression)
            return false;
    return !own->files[at]->left_out;
}

/* Regions of the version and compression of the at-th. */
static size_t count_like(const struct tfs_cosmic_zone_facts *own, size_t at)
{
    const struct tfs_cosmic_facts *facts = &own->files[at]->facts;
    size_t count = 0;

    for (size_t i = at; i < own->count; i++)
        count += !own->files[i]->left_out && own->files[i]->facts.version == facts->version &&
                 own->files[i]->facts.compression == facts->compression;
    return count;
}

void tfs_cosmic_zone_describe(struct tfs_buf *out, const struct tfs_doc *doc)
{
    const struct tfs_cosmic_zone_facts *own = tfs_cosmic_zone_facts(doc);
    char name[TFS_COSMIC_REGION_NAME];

    tfs_info_line(out, "region files", "%zu", own->count);
    for (size_t i = 0; i < own->count; i++) {
        const struct tfs_cosmic_facts *facts = &own->files[i]->facts;
        if (is_first(own, i))
            tfs_info_line(out, "version", "%u (%s), in %zu region files", facts->version,
                          tfs_cosmic_layout_name(facts), count_like(own, i));
    }
    tfs_info_line(out, "new regions", "version %u (%s)", own->newest.version,
                  tfs_cosmic_layout_name(&own->newest));
    for (size_t i = 0; i < own->count; i++) {
        if (own->files[i]->refusal == NULL)
            continue;
        tfs_cosmic_region_name(own->files[i]->file.key, name);
        tfs_info_line(out, "read-only region", "%s: %s", name, own->files[i]->refusal);
    }
}

void tfs_cosmic_zone_describe_odd(struct tfs_buf *out, const struct tfs_doc *doc)
{
    const struct tfs_cosmic_zone_facts *own = tfs_cosmic_zone_facts(doc);
    char where[TFS_COSMIC_REGION_NAME + 2];

    for (size_t i = 0; i < own->count; i++) {
        tfs_cosmic_region_name(own->files[i]->file.key, where);
        strcat(where, ": ");
        tfs_cosmic_odd_print(&own->files[i]->odd, where, out);
    }
}
