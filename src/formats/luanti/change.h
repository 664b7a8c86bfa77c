/*
 * Other nodes for the voxels of a chunk -> its new block, numbered and ordered as the engine would
 * (FORMAT.md, section 6).
 */
#ifndef TFS_FORMATS_LUANTI_CHANGE_H
#define TFS_FORMATS_LUANTI_CHANGE_H

#include "base/map.h"
#include "formats/luanti/view.h"

#define TFS_LUANTI_NAME_MAX UINT16_MAX

/* A chunk whose voxels change by numbers: below the count of its old names these, from there on
 * `added`. A name has one number: that of the first of its old entries. */
struct tfs_luanti_change {
    struct tfs_luanti_view *view;
    struct tfs_save *save;
    uint32_t ids[TFS_LUANTI_VOXELS]; /* each old voxel's own entry, or a number */
    uint8_t param1[TFS_LUANTI_VOXELS], param2[TFS_LUANTI_VOXELS];
    bool keeps_light;     /* names change, not what is there: light stays */
    uint32_t *numbers;    /* of each old entry: the number of its name */
    struct tfs_map known; /* checksum of a name -> its number + 1 */
    struct tfs_span *added;
    size_t added_count;
    uint32_t air; /* its number */
};

/* Begins with what the chunk has; to be closed after a failure too. */
int tfs_luanti_change_open(struct tfs_luanti_change *change, struct tfs_save *save,
                           const struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err);
void tfs_luanti_change_close(struct tfs_luanti_change *change);

/* The name behind a number or an entry. */
struct tfs_span tfs_luanti_change_name(const struct tfs_luanti_change *change, uint32_t id);
/* The number of a name, which must outlive the change. */
int tfs_luanti_change_number(struct tfs_luanti_change *change, struct tfs_span name,
                             uint32_t *number, struct tfs_error *err);
/* Has the voxel that name now? */
bool tfs_luanti_change_is(const struct tfs_luanti_change *change, uint32_t voxel, uint32_t number);

/* Gives the voxel a name by its number; one that has it already keeps its entry. */
void tfs_luanti_change_set(struct tfs_luanti_change *change, uint32_t voxel, uint32_t number);
/* Makes the voxel air, with param2 0; one that is air stays as it is. */
void tfs_luanti_change_clear(struct tfs_luanti_change *change, uint32_t voxel);

/* Stores what became of the chunk. Where no voxel changed, it keeps its bytes. */
int tfs_luanti_change_store(struct tfs_edit *edit, struct tfs_luanti_change *change,
                            struct tfs_error *err);

#endif
