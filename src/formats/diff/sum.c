/*
 * A chunk -> counts by name and a checksum, by the format's own short way or voxel by voxel.
 *
 * Must not know any format, nor how a sum is printed.
 */
#include "formats/diff/sum.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

void tfs_voxel_sum_release(struct tfs_voxel_sum *sum)
{
    tfs_words_release(&sum->names);
    tfs_buf_release(&sum->same);
    tfs_buf_release(&sum->text);
    tfs_blob_unref(sum->made.blob);
    tfs_blob_unref(sum->made.extra);
    free(sum->counts);
    *sum = (struct tfs_voxel_sum){0};
}

int tfs_voxel_sum_count(struct tfs_voxel_sum *sum, struct tfs_span voxel, uint64_t voxels,
                        struct tfs_error *err)
{
    uint32_t number;

    if (sum->voxels->empty(sum->voxels, voxel))
        return 0;
    sum->filled += voxels;
    tfs_buf_clear(&sum->text);
    sum->voxels->print(sum->voxels, voxel, true, &sum->text);
    if (tfs_buf_check(&sum->text, err) < 0 || sum->text.size == 0 ||
        tfs_words_add(&sum->names, tfs_buf_span(&sum->text), &number, err) < 0)
        return err->code;
    if (number == sum->count) {
        struct tfs_sum_count *counts = tfs_array_grow(sum->counts, sum->count, sizeof(*counts));
        if (counts == NULL)
            return tfs_fail_memory(err);
        sum->counts = counts;
        sum->counts[sum->count++].voxels = 0;
    }
    sum->counts[number].voxels += voxels;
    return 0;
}

/* ---- voxels with names ----------------------------------------------------------------------- */

/* Names by the order in which voxels come to have them. */
struct met {
    struct tfs_words words;
    uint32_t *numbers; /* of entries, + 1; 0: no voxel had it so far */
    uint32_t *counts;  /* by number */
};

/* For each voxel the number of its name. */
static int number_voxels(struct met *met, const uint32_t *entries, uint32_t voxels,
                         const struct tfs_span *names, struct tfs_buf *out, struct tfs_error *err)
{
    uint8_t *at = tfs_buf_reserve(out, 2 * (size_t)voxels);

    if (at == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < voxels; i++) {
        uint32_t *number = &met->numbers[entries[i]];
        if (*number == 0) {
            if (tfs_words_add(&met->words, names[entries[i]], number, err) < 0)
                return err->code;
            ++*number;
        }
        met->counts[*number - 1]++;
        at[2 * (size_t)i] = (uint8_t)*number;
        at[2 * (size_t)i + 1] = (uint8_t)(*number >> 8);
    }
    out->size += 2 * (size_t)voxels;
    return 0;
}

static int count_names(const struct met *met, struct tfs_span front, struct tfs_voxel_sum *sum,
                       struct tfs_error *err)
{
    struct tfs_buf voxel = {0};

    for (uint32_t i = 0; i < met->words.count && err->code == 0; i++) {
        const struct tfs_span name = tfs_words_at(&met->words, i);
        tfs_buf_u32le(&sum->same, (uint32_t)name.size);
        tfs_buf_add_span(&sum->same, name);
        tfs_buf_clear(&voxel);
        tfs_buf_add_span(&voxel, front);
        tfs_buf_add_span(&voxel, name);
        if (tfs_buf_check(&voxel, err) == 0)
            tfs_voxel_sum_count(sum, tfs_buf_span(&voxel), met->counts[i], err);
    }
    tfs_buf_release(&voxel);
    return err->code;
}

int tfs_voxel_sum_names(struct tfs_voxel_sum *sum, const uint32_t *entries, uint32_t voxels,
                        const struct tfs_span *names, uint32_t count, struct tfs_span front,
                        struct tfs_error *err)
{
    struct met met = {.numbers = calloc(count + (size_t)1, sizeof(*met.numbers)),
                      .counts = calloc(count + (size_t)1, sizeof(*met.counts))};

    if (met.numbers == NULL || met.counts == NULL)
        tfs_fail_memory(err);
    else if (number_voxels(&met, entries, voxels, names, &sum->same, err) == 0)
        count_names(&met, front, sum, err);
    tfs_words_release(&met.words);
    free(met.numbers);
    free(met.counts);
    return err->code;
}

/* ---- voxel by voxel -------------------------------------------------------------------------- */

struct counting {
    struct tfs_voxel_sum *sum;
    void *chunk;
    struct tfs_voxel_size size;
    struct tfs_words names; /* in full */
    struct tfs_buf voxel, name;
};

static int take_voxel(struct counting *t, struct tfs_stretch at, struct tfs_error *err)
{
    const struct tfs_voxels *voxels = t->sum->voxels;
    uint32_t number;

    tfs_buf_clear(&t->voxel);
    tfs_buf_clear(&t->name);
    if (voxels->take(t->chunk, at, &t->voxel, err) < 0)
        return err->code;
    const struct tfs_span voxel = tfs_buf_span(&t->voxel);
    if (voxel.size > 0)
        voxels->print(voxels, voxel, false, &t->name);
    if (tfs_buf_check(&t->name, err) < 0 ||
        tfs_words_add(&t->names, tfs_buf_span(&t->name), &number, err) < 0)
        return err->code;
    tfs_buf_u32le(&t->sum->same, number);
    return voxel.size > 0 ? tfs_voxel_sum_count(t->sum, voxel, 1, err) : 0;
}

static int take_all(struct counting *t, struct tfs_error *err)
{
    for (uint32_t y = 0; y < t->size.y; y++)
        for (uint32_t z = 0; z < t->size.z; z++)
            for (uint32_t x = 0; x < t->size.x; x++)
                if (take_voxel(t, (struct tfs_stretch){x, z, y, y + 1}, err) < 0)
                    return err->code;
    for (uint32_t i = 0; i < t->names.count; i++) {
        const struct tfs_span name = tfs_words_at(&t->names, i);
        tfs_buf_u32le(&t->sum->same, (uint32_t)name.size);
        tfs_buf_add_span(&t->sum->same, name);
    }
    return 0;
}

static int sum_voxels(struct tfs_voxel_sum *sum, const struct tfs_side *side,
                      const struct tfs_chunk *chunk, struct tfs_error *err)
{
    struct counting counting = {.sum = sum};

    if (tfs_voxels_open(sum->voxels, side->save, side->doc, chunk->key, &counting.chunk, err) < 0)
        return err->code;
    counting.size = tfs_voxels_sides(sum->voxels, counting.chunk);
    take_all(&counting, err);
    tfs_voxels_close(sum->voxels, counting.chunk);
    tfs_words_release(&counting.names);
    tfs_buf_release(&counting.voxel);
    tfs_buf_release(&counting.name);
    return err->code;
}

/* ---- one chunk ------------------------------------------------------------------------------- */

static int add_files(struct tfs_voxel_sum *sum, const struct tfs_side *side, struct tfs_key key,
                     struct tfs_error *err)
{
    const struct tfs_tree *tree = side->save->tree;

    for (unsigned i = 0; i < tree->chunk_count; i++) {
        bool there;
        if ((tree->chunk_files[i].flags & (TFS_FILE_APART | TFS_FILE_SUMMED)) != TFS_FILE_APART)
            continue;
        if (tfs_side_read(side, &tree->chunk_files[i], key, &sum->text, &there, err) < 0)
            return err->code;
        if (!there)
            continue;
        sum->checksum = tfs_checksum(tfs_buf_span(&sum->text), sum->checksum + i + 1);
        sum->placed |= (tree->chunk_files[i].flags & TFS_FILE_OPTIONAL) != 0;
    }
    return 0;
}

/* Maps have many chunks of the same bytes beside each other. They say the same, but for optional
 * files, whose texts may tell where a chunk lies. */
static bool is_made(const struct tfs_voxel_sum *sum, const struct tfs_side *side,
                    const struct tfs_chunk *chunk)
{
    return sum->made_doc == side->doc && !sum->placed && tfs_chunk_same(&sum->made, chunk);
}

static void set_made(struct tfs_voxel_sum *sum, const struct tfs_side *side,
                     const struct tfs_chunk *chunk)
{
    tfs_blob_unref(sum->made.blob);
    tfs_blob_unref(sum->made.extra);
    sum->made = *chunk;
    sum->made_doc = side->doc;
    tfs_blob_ref(chunk->blob);
    tfs_blob_ref(chunk->extra);
}

static int compare_counts(const void *a, const void *b)
{
    return tfs_span_compare(((const struct tfs_sum_count *)a)->name,
                            ((const struct tfs_sum_count *)b)->name);
}

int tfs_voxel_sum_counts(struct tfs_voxel_sum *sum, const struct tfs_side *side,
                         const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_voxels *voxels = side->save->tree->voxels;

    sum->voxels = voxels;
    sum->count = 0;
    sum->filled = 0;
    tfs_words_clear(&sum->names);
    tfs_buf_clear(&sum->same);
    if (chunk->flags & TFS_CHUNK_DAMAGED)
        return tfs_fail(err, -EBADMSG, "it is damaged");
    int result = voxels->sum != NULL ? voxels->sum(side->save, side->doc, chunk, sum, err)
                                     : sum_voxels(sum, side, chunk, err);
    if (result < 0 || tfs_buf_check(&sum->same, err) < 0)
        return err->code;
    for (size_t i = 0; i < sum->count; i++)
        sum->counts[i].name = tfs_words_at(&sum->names, (uint32_t)i);
    if (sum->count > 0)
        qsort(sum->counts, sum->count, sizeof(*sum->counts), compare_counts);
    return 0;
}

int tfs_voxel_sum_make(struct tfs_voxel_sum *sum, const struct tfs_side *side,
                       const struct tfs_chunk *chunk, struct tfs_error *err)
{
    if (is_made(sum, side, chunk))
        return 0;
    sum->made_doc = NULL;
    sum->placed = false;
    if (tfs_voxel_sum_counts(sum, side, chunk, err) < 0)
        return err->code;
    sum->checksum = tfs_checksum(tfs_buf_span(&sum->same), 0);
    if (add_files(sum, side, chunk->key, err) == 0)
        set_made(sum, side, chunk);
    return err->code;
}

uint64_t tfs_chunk_checksum(const struct tfs_chunk *chunk)
{
    return tfs_checksum(tfs_blob_span(chunk->extra),
                        tfs_checksum(tfs_blob_span(chunk->blob), chunk->tag));
}
