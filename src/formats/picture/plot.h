/*
 * One plot of a picture: the chunks of 32 stacks beside each other, and what is seen of them from
 * above. The cache of all plots is columns.h.
 */
#ifndef TFS_FORMATS_PICTURE_PLOT_H
#define TFS_FORMATS_PICTURE_PLOT_H

#include <stdatomic.h>

#include "formats/picture/columns.h"
#include "formats/picture/face.h"

#define TFS_PLOT_WIDTH 32 /* stacks; all of one row, from a multiple of it on */

/* A chunk as it was when its columns were computed. */
struct tfs_plot_entry {
    struct tfs_key key;
    uint32_t tag, flags;
    uint64_t own;
    struct tfs_blob *blob; /* NULL: not held by the document, which `own` stands for */
    struct tfs_face *face; /* NULL: all columns are empty */
    bool known;
    bool opaque; /* nothing below can be seen through any of its columns */
    bool hidden; /* there is an opaque one above */
};

/* Of heights that are not 0; none: low is above high. */
struct tfs_plot_range {
    uint32_t low, high;
};

struct tfs_plot {
    uint64_t version;            /* of the document that the rest is about; 0: of none any more */
    struct tfs_plot_range range; /* stays when the entries go */
    bool held;                   /* it has its entries */
    struct tfs_plot_entry *entries; /* in the order of the document */
    size_t count, bytes;
    uint64_t asked;                 /* when last asked for */
    struct tfs_plot *newer, *older; /* of those that are held */
};

/* Where a plot lies. */
struct tfs_plot_site {
    int32_t z;
    int32_t first, last; /* x of its stacks in the box */
};

/* A plot to be computed, and where it lies. */
struct tfs_plot_task {
    struct tfs_plot *plot;
    struct tfs_plot_site site;
};

/* Plots whose columns are asked for, of one document. */
struct tfs_plot_work {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    const struct tfs_picture_box *box; /* of the plots */
    const int32_t *layers;             /* y of chunks that there are, ascending */
    size_t layer_count;
    struct tfs_plot_task *tasks;
    size_t count, unknown; /* tasks; entries */
    atomic_size_t next;
};

/* One row of chunks, or a part of it. */
struct tfs_plot_view {
    struct tfs_pixel *pixels;
    size_t width;  /* pixels in a row */
    int32_t x;     /* of the first stack */
    bool north_up; /* rows of pixels are */
};

/* Makes the plot's entries those of the document, and keeps of what was known what is still true.
 * `same`: all is as it was. On failure the plot is as it was. */
int tfs_plot_list(const struct tfs_plot_work *work, struct tfs_plot *plot,
                  struct tfs_plot_site site, bool *same, struct tfs_error *err);

/* Releases the entries; the range stays. */
void tfs_plot_clear(struct tfs_plot *plot);

/* plot->bytes, after its entries were computed. */
void tfs_plot_weigh(struct tfs_plot *plot);

/* Computes entries that nobody knows and ranges of all tasks, in threads that have ended when it
 * returns. */
int tfs_plot_compute(struct tfs_plot_work *work, struct tfs_error *err);

/* Draws what the plot shows onto pixels that are empty. */
void tfs_plot_draw(const struct tfs_picture_box *box, const struct tfs_plot *plot,
                   const struct tfs_plot_view *view);

/* As many threads as are useful and can run. */
unsigned tfs_plot_threads(size_t useful);

#endif
