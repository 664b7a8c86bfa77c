/*
 * Other block names for the voxels of a chunk -> its new block data.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_CHANGE_H
#define TFS_FORMATS_COSMIC_REACH_CHANGE_H

#include "formats/cosmic_reach/lenses.h"
#include "formats/diff/words.h"

/* A chunk whose voxels change by numbers: below the count of the old palette its entries, from
 * there on names that it did not have. A name has one number: that of the first entry that is
 * called so. */
struct tfs_cosmic_change {
    struct tfs_cosmic_view view;
    struct tfs_cosmic_values *old;
    uint32_t ids[TFS_COSMIC_VALUES]; /* in grid order: each old voxel's own entry, or a number */
    uint32_t *first;                 /* of each old entry: the number of its name */
    struct tfs_words names;          /* distinct ones; of the old palette those below `had` */
    uint32_t *entry;                 /* of the latter: the first entry that is called so */
    uint32_t had;
    uint32_t air;
    bool has_air;
};

/* Begins with what the chunk has; to be closed after a failure too. */
int tfs_cosmic_change_open(struct tfs_save *save, struct tfs_cosmic_change *change,
                           const struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err);
void tfs_cosmic_change_close(struct tfs_cosmic_change *change);

/* The name behind a number or an entry, until another name is added. */
struct tfs_span tfs_cosmic_change_name(const struct tfs_cosmic_change *change, uint32_t id);
/* The number of a name; is there one? */
bool tfs_cosmic_change_find(const struct tfs_cosmic_change *change, struct tfs_span name,
                            uint32_t *number);
/* The same, and gives it one. */
int tfs_cosmic_change_number(struct tfs_cosmic_change *change, struct tfs_span name,
                             uint32_t *number, struct tfs_error *err);

/* Gives the voxel a name by its number; one that has it already keeps its entry. */
void tfs_cosmic_change_set(struct tfs_cosmic_change *change, size_t voxel, uint32_t number);
/* Empties the voxel: it becomes the palette's first air, or that of the version. One that is air
 * keeps its own. */
int tfs_cosmic_change_clear(struct tfs_cosmic_change *change, size_t voxel, struct tfs_error *err);

/* Stores them with the palette that a change through voxels.csv or heightmap.png leaves
 * (FORMAT.md, section 5). Where every voxel keeps its name, the section keeps its bytes. */
int tfs_cosmic_change_store(struct tfs_edit *edit, const struct tfs_cosmic_change *change,
                            struct tfs_error *err);

#endif
