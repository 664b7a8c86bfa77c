/*
 * info.txt of the root: what the region is.
 *
 * Must not know where chunks lie in the file.
 */
#include <errno.h>
#include <inttypes.h>

#include "formats/cosmic_reach/lenses.h"
#include "formats/cosmic_reach/zone.h"
#include "formats/views/info.h"
#include "formats/views/pictures/picture.h"

/* ---- info.txt -------------------------------------------------------------------------------- */

const char *tfs_cosmic_layout_name(const struct tfs_cosmic_facts *own)
{
    if (own->version <= TFS_COSMIC_VERSION_TABLE_MAX)
        return "chunk table";
    return own->compression == TFS_COSMIC_GZIP ? "columns, gzip" : "columns, not compressed";
}

static void add_lines(struct tfs_buf *out, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_error *err)
{
    const struct tfs_cosmic_facts *own = tfs_cosmic_facts(doc);
    struct tfs_key region;

    if (own->zone) {
        tfs_cosmic_zone_describe(out, doc);
    } else {
        tfs_info_line(out, "version", "%u", own->version);
        tfs_info_line(out, "layout", "%s", tfs_cosmic_layout_name(own));
        if (tfs_cosmic_region_of_doc(doc, &region))
            tfs_info_line(out, "region", "%d %d %d", region.x, region.y, region.z);
    }
    tfs_info_line(out, "chunk size", "16 16 16");
    tfs_picture_info(out, save->tree, doc);
    tfs_info_line(out, "light",
                  "is kept as stored and not computed when blocks change; whether the game "
                  "computes it again is not known");
    (void)err;
}

const struct tfs_lens tfs_cosmic_info_lens = TFS_INFO_LENS(add_lines);
