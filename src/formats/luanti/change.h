/*
 * Other nodes for the voxels of a chunk -> its new block, numbered and ordered as the engine would
 * (FORMAT.md, section 6).
 */
#ifndef TFS_FORMATS_LUANTI_CHANGE_H
#define TFS_FORMATS_LUANTI_CHANGE_H

#include "formats/diff/words.h"
#include "formats/luanti/view.h"

/* A chunk whose voxels change by the numbers of their names. */
struct tfs_luanti_change {
    struct tfs_luanti_view *view;
    struct tfs_save *save;
    uint32_t ids[TFS_LUANTI_VOXELS]; /* numbers */
    uint8_t param1[TFS_LUANTI_VOXELS], param2[TFS_LUANTI_VOXELS];
    bool keeps_light;       /* names change, not what is there: light stays */
    struct tfs_words names; /* by number */
    uint32_t *numbers;      /* of the chunk's names as they were */
    uint32_t had;           /* so many numbers are of them, and of air */
    uint32_t air;           /* its number */
};

/* Begins with what the chunk has; to be closed after a failure too. */
int tfs_luanti_change_open(struct tfs_luanti_change *change, struct tfs_save *save,
                           const struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err);
/* The same of a chunk that decodes. */
int tfs_luanti_change_begin(struct tfs_luanti_change *change, struct tfs_save *save,
                            struct tfs_luanti_view *view, struct tfs_error *err);
void tfs_luanti_change_close(struct tfs_luanti_change *change);

/* The name of a number, until another one is added. */
static inline struct tfs_span tfs_luanti_change_name(const struct tfs_luanti_change *change,
                                                     uint32_t number)
{
    return tfs_words_at(&change->names, number);
}

/* Had the chunk the name? Of `change`: a tfs_palette_had_fn. */
bool tfs_luanti_change_had(const void *change, struct tfs_span name);

/* Makes the voxel air, with param2 0; one that is air stays as it is. */
void tfs_luanti_change_clear(struct tfs_luanti_change *change, uint32_t voxel);

/* Stores what became of the chunk. Where no voxel changed, it keeps its bytes. */
int tfs_luanti_change_store(struct tfs_edit *edit, struct tfs_luanti_change *change,
                            struct tfs_error *err);

#endif
