/*
 * Some blocks of a save -> what all of them are like: the order of their names, the newest version.
 *
 * Must not know what files show.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "formats/luanti/cells.h"

#define SAMPLE 64 /* blocks that are looked into */

struct samples {
    pthread_mutex_t lock;
    /* By version; 0: not found out yet, else the order + 1. */
    unsigned orders[TFS_LUANTI_VERSION_MAX + 1];
    uint8_t newest;     /* version of a block */
    uint64_t newest_in; /* version of the document; 0: none */
};

static struct samples *samples_of(const struct tfs_save *save)
{
    return save->cache;
}

int tfs_luanti_samples_create(struct tfs_save *save, struct tfs_error *err)
{
    struct samples *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_init(&s->lock, NULL);
    save->cache = s;
    return 0;
}

void tfs_luanti_samples_free(struct tfs_save *save)
{
    struct samples *s = samples_of(save);

    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s);
    save->cache = NULL;
}

/* ---- the order of names ---------------------------------------------------------------------- */

/* The order that sampled blocks of the version agree on. Blocks that cannot be read now are left
 * out. */
static int sample_orders(struct tfs_save *save, const struct tfs_doc *doc, uint8_t version,
                         unsigned *orders, struct tfs_error *err)
{
    const size_t step = doc->count / SAMPLE + 1;

    *orders = (1u << TFS_LUANTI_ORDERS) - 1;
    for (size_t i = 0; i < doc->count; i += step) {
        struct tfs_cells *cells;
        struct tfs_error why = {0};
        if (tfs_cells_make(save, doc, tfs_doc_at(doc, i), 0, &cells, &why) < 0) {
            if (why.code == -ENOMEM)
                return tfs_fail_memory(err);
            continue;
        }
        if (cells->damage == NULL && tfs_luanti_block_of(cells)->version == version)
            *orders &= tfs_luanti_orders_of(tfs_luanti_block_of(cells));
        tfs_cells_unref(cells);
    }
    return 0;
}

int tfs_luanti_order_of(struct tfs_save *save, const struct tfs_doc *doc, uint8_t version,
                        enum tfs_luanti_order *order, struct tfs_error *err)
{
    struct samples *s = samples_of(save);
    unsigned orders;

    pthread_mutex_lock(&s->lock);
    unsigned known = s->orders[version];
    pthread_mutex_unlock(&s->lock);
    if (known == 0) {
        if (sample_orders(save, doc, version, &orders, err) < 0)
            return err->code;
        known = (unsigned)tfs_luanti_order_choose(orders, version) + 1;
        pthread_mutex_lock(&s->lock);
        s->orders[version] = known;
        pthread_mutex_unlock(&s->lock);
    }
    *order = (enum tfs_luanti_order)(known - 1);
    return 0;
}

/* ---- the version of new chunks --------------------------------------------------------------- */

static int sample_versions(struct tfs_save *save, const struct tfs_doc *doc, uint8_t *newest,
                           struct tfs_error *err)
{
    const size_t step = doc->count / SAMPLE + 1;
    uint8_t found = 0;

    for (size_t i = 0; i < doc->count; i += step) {
        struct tfs_cells *cells;
        if (tfs_cells_make(save, doc, tfs_doc_at(doc, i), 0, &cells, err) < 0)
            return err->code;
        if (cells->damage == NULL && tfs_luanti_block_of(cells)->version > found)
            found = tfs_luanti_block_of(cells)->version;
        tfs_cells_unref(cells);
    }
    *newest = found == 0 ? TFS_LUANTI_VERSION_MAX : found;
    return 0;
}

int tfs_luanti_newest(struct tfs_save *save, const struct tfs_doc *doc, uint8_t *version,
                      struct tfs_error *err)
{
    struct samples *s = samples_of(save);
    uint8_t newest;

    pthread_mutex_lock(&s->lock);
    const bool known = s->newest_in == doc->version;
    newest = s->newest;
    pthread_mutex_unlock(&s->lock);
    if (!known) {
        if (sample_versions(save, doc, &newest, err) < 0)
            return err->code;
        pthread_mutex_lock(&s->lock);
        s->newest = newest;
        s->newest_in = doc->version;
        pthread_mutex_unlock(&s->lock);
    }
    *version = newest;
    return 0;
}
