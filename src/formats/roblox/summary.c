/*
 * Records of a chunk -> its summary, computed or remembered.
 *
 * Must not know what the files look like. A document never changes under its version, so version
 * and coordinate say which chunk it was; nothing of the document is held.
 */
#include "formats/roblox/summary.h"

#include <pthread.h>
#include <stdlib.h>

#include "formats/roblox/lenses.h"
#include "formats/roblox/source.h"

#define REMEMBERED 64 /* chunks */

struct entry {
    uint64_t version; /* of the document; 0: nothing is remembered here */
    struct tfs_key key;
    struct tfs_rbx_summary summary;
};

struct tfs_rbx_summaries {
    pthread_mutex_t lock;
    struct entry entries[REMEMBERED];
};

static struct tfs_rbx_summary summarize(const struct tfs_chunk *chunk)
{
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(chunk->blob));
    struct tfs_rbx_summary s = {.lines = tfs_rbx_lines_size(chunk)};
    struct tfs_rbx_run run;
    bool any = false;

    while (tfs_rbx_run_take(&records, &run)) {
        s.first = any ? s.first : run.cell;
        s.varies |= run.cell ^ s.first;
        s.materials |= UINT64_C(1) << tfs_rbx_cell_material(run.cell);
        any = true;
    }
    return s;
}

struct tfs_rbx_summary tfs_rbx_summary(const struct tfs_doc *doc, const struct tfs_chunk *chunk)
{
    struct tfs_rbx_summaries *summaries = tfs_rbx_source(doc)->summaries;
    struct entry *place = &summaries->entries[chunk->slot % REMEMBERED];

    pthread_mutex_lock(&summaries->lock);
    struct entry entry = *place;
    pthread_mutex_unlock(&summaries->lock);
    if (entry.version == doc->version && tfs_key_compare(entry.key, chunk->key) == 0)
        return entry.summary;

    entry = (struct entry){doc->version, chunk->key, summarize(chunk)};
    pthread_mutex_lock(&summaries->lock);
    *place = entry;
    pthread_mutex_unlock(&summaries->lock);
    return entry.summary;
}

int tfs_rbx_summaries_create(struct tfs_rbx_summaries **summaries, struct tfs_error *err)
{
    struct tfs_rbx_summaries *created = calloc(1, sizeof(*created));

    if (created == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_init(&created->lock, NULL);
    *summaries = created;
    return 0;
}

void tfs_rbx_summaries_free(struct tfs_rbx_summaries *summaries)
{
    if (summaries == NULL)
        return;
    pthread_mutex_destroy(&summaries->lock);
    free(summaries);
}
