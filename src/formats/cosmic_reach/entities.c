/*
 * Chunks -> those whose block entities are not understood to their last byte.
 *
 * Must not know what is in an entity.
 */
#include "formats/cosmic_reach/entities.h"

#include "formats/cosmic_reach/crbin.h"
#include "formats/views/info.h"

int tfs_cosmic_entities_check(const struct tfs_cosmic_body *body, struct tfs_error *err)
{
    struct tfs_span bytes;

    return tfs_cosmic_entities_of(body, &bytes) ? tfs_cosmic_crbin_check(bytes, err) : 1;
}

static int is_odd(const struct tfs_chunk *chunk, struct tfs_error *err)
{
    struct tfs_cosmic_body body;
    struct tfs_error ignored = {0};

    if ((chunk->flags & TFS_CHUNK_DAMAGED) != 0 ||
        tfs_cosmic_body_split(tfs_blob_span(chunk->blob), tfs_cosmic_chunk_version(chunk), &body,
                              &ignored) < 0)
        return 0;
    const int understood = tfs_cosmic_entities_check(&body, err);
    return understood < 0 ? understood : !understood;
}

int tfs_cosmic_odd_find(const struct tfs_doc *doc, struct tfs_cosmic_odd *odd,
                        struct tfs_error *err)
{
    *odd = (struct tfs_cosmic_odd){0};
    return tfs_doc_count(doc, is_odd, &odd->count, &odd->first, err);
}

void tfs_cosmic_odd_print(const struct tfs_cosmic_odd *odd, const char *where, struct tfs_buf *out)
{
    const struct tfs_key at = odd->first;

    if (odd->count > 0)
        tfs_info_line(
            out, "warning",
            "%sthe block entities of %zu %s (%d_%d_%d%s) are not understood to their last "
            "byte: they keep their coordinates when a chunk is moved or copied",
            where, odd->count, odd->count == 1 ? "chunk" : "chunks", at.x, at.y, at.z,
            odd->count == 1 ? "" : " is the first");
}
