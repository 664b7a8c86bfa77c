/*
 * A zone: all region files of a folder as one save (FORMAT.md, section 7). For zone.c, and for what
 * asks a document which region a chunk is in.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_ZONE_H
#define TFS_FORMATS_COSMIC_REACH_ZONE_H

#include "formats/containers/folder.h"
#include "formats/cosmic_reach/region.h"

/* Of a region that is not left out. */
static inline const struct tfs_cosmic_facts *tfs_cosmic_region_facts(
    const struct tfs_folder_file *file)
{
    return file->own;
}

/* The text of zoneInfo.json; NULL: there is none. */
static inline struct tfs_blob *tfs_cosmic_zone_info(const struct tfs_doc *doc)
{
    return doc->common;
}

/* Can a chunk be, or change, at these coordinates? EINVAL: the save cannot hold it; EROFS: its
 * region cannot be written. Of documents of a region too. */
int tfs_cosmic_check_place(const struct tfs_doc *doc, struct tfs_key chunk, struct tfs_error *err);
/* FileVersion of the region of a chunk, which a new region would have too. */
uint32_t tfs_cosmic_version_at(const struct tfs_doc *doc, struct tfs_key chunk);

#define TFS_COSMIC_REGION_NAME 64
void tfs_cosmic_region_name(struct tfs_key region, char name[TFS_COSMIC_REGION_NAME]);

/* "columns, gzip" */
const char *tfs_cosmic_layout_name(const struct tfs_cosmic_facts *own);
/* The lines of info.txt about the regions of a zone. */
void tfs_cosmic_zone_describe(struct tfs_buf *out, const struct tfs_doc *doc);
#define TFS_COSMIC_ZONE_INFO  "zoneInfo.json"
#define TFS_COSMIC_WORLD_INFO "worldInfo.json"

/* Is there a region file in this folder: 1, 0 or negative errno? */
int tfs_cosmic_holds_regions(const char *folder);

#endif
