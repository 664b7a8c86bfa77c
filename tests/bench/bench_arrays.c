/*
 * bench_arrays SAVE ARRAY SIDE FROM BYTE: milliseconds of CPU to decode every chunk of the save
 * into one array, to do so with those with y = FROM, and to decode the SIDE^3 chunks from
 * FROM,FROM,FROM on, set all bytes of their values to BYTE, encode them and commit; and of the
 * clock, for the first. The first two are the best of some rounds, as the last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/views/arrays/npy.h"
#include "formats/format.h"

#define ROUNDS 5

static struct tfs_save *save;
static struct tfs_error err;
static const struct tfs_lens *lens;
static int32_t side, from;
static int byte;

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "bench_arrays: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
}

static double time_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now(void)
{
    return time_of(CLOCK_PROCESS_CPUTIME_ID);
}

static bool is_part(struct tfs_key key)
{
    return key.x >= from && key.y >= from && key.z >= from && key.x - from < side &&
           key.y - from < side && key.z - from < side;
}

static void decode(const struct tfs_chunk *chunk, struct tfs_buf *out)
{
    tfs_buf_clear(out);
    must(lens->get(save, save->doc, tfs_lens_at(lens, chunk->key, 0), out, &err));
}

/* Where the values of chunks go: as in the array of the save, in memory of its own. */
struct array {
    struct tfs_key low, high;
    struct tfs_npy npy; /* of a chunk */
    size_t row, plane;  /* bytes, of the array */
    uint8_t *values;
};

static void open_array(struct array *a, bool all)
{
    struct tfs_buf out = {0};
    struct tfs_span values;

    decode(tfs_doc_at(save->doc, 0), &out);
    must(tfs_npy_take(tfs_buf_span(&out), NULL, &a->npy, &values, &err));
    tfs_buf_release(&out);
    (void)tfs_doc_bounds(save->doc, 0, &a->low, &a->high);
    if (!all)
        a->low.y = a->high.y = from;
    a->row = (size_t)(a->high.x - a->low.x + 1) * a->npy.shape[2] * a->npy.width;
    a->plane = (size_t)(a->high.z - a->low.z + 1) * a->npy.shape[1] * a->row;
    a->values = calloc((size_t)(a->high.y - a->low.y + 1) * a->npy.shape[0], a->plane);
    if (a->values == NULL)
        exit(EXIT_FAILURE);
}

static void place(const struct array *a, struct tfs_key key, const uint8_t *values)
{
    const uint64_t *sides = a->npy.shape;
    const size_t size = sides[2] * a->npy.width;
    uint8_t *at = a->values + (size_t)(key.y - a->low.y) * sides[0] * a->plane +
                  (size_t)(key.z - a->low.z) * sides[1] * a->row +
                  (size_t)(key.x - a->low.x) * size;

    for (uint64_t y = 0; y < sides[0]; y++)
        for (uint64_t z = 0; z < sides[1]; z++, values += size)
            memcpy(at + y * a->plane + z * a->row, values, size);
}

static double decode_chunks(bool all)
{
    struct array array;
    struct tfs_buf out = {0};
    double start = now();

    open_array(&array, all);
    for (size_t i = 0; i < save->doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(save->doc, i);
        if (!all && chunk->key.y != from)
            continue;
        decode(chunk, &out);
        place(&array, chunk->key, out.data + TFS_NPY_HEAD);
    }
    tfs_buf_release(&out);
    free(array.values);
    return now() - start;
}

static double edit_chunks(void)
{
    struct tfs_put put = {0};
    struct tfs_buf out = {0};
    struct tfs_edit edit;
    double start = now();

    must(tfs_edit_open(save->doc, &edit, &err));
    for (size_t i = 0; i < save->doc->count; i++) {
        const struct tfs_key key = tfs_doc_at(save->doc, i)->key;
        if (!is_part(key))
            continue;
        decode(tfs_doc_at(save->doc, i), &out);
        memset(out.data + TFS_NPY_HEAD, byte, out.size - TFS_NPY_HEAD);
        must(lens->put(save, &edit, tfs_lens_at(lens, key, 0), tfs_buf_span(&out), &put, &err));
    }
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    must(save->container->commit(save, doc, &err));
    tfs_doc_unref(doc);
    tfs_edit_release(&edit);
    tfs_buf_release(&out);
    return now() - start;
}

int main(int argc, char **argv)
{
    const struct tfs_open_options options = {.inflate_limit = TFS_INFLATE_LIMIT,
                                             .lock = TFS_LOCK_EXCLUSIVE};
    double best[2] = {1e9, 1e9}, wall = 1e9;

    if (argc != 6)
        return EXIT_FAILURE;
    side = atoi(argv[3]);
    from = atoi(argv[4]);
    byte = atoi(argv[5]);
    must(tfs_save_open(argv[1], NULL, &options, &save, &err));
    if (tfs_save_lacks(save, save->doc, NULL))
        must(tfs_save_complete(save, NULL, &err));
    for (unsigned i = 0; i < save->tree->chunk.count; i++)
        if (strcmp(save->tree->chunk.files[i].path, argv[2]) == 0)
            lens = save->tree->chunk.files[i].lens;
    for (unsigned round = 0; lens != NULL && round < ROUNDS; round++)
        for (unsigned i = 0; i < 2; i++) {
            const double start = time_of(CLOCK_MONOTONIC);
            const double took = decode_chunks(i == 0); /* memory that is not written to is none */
            const double end = time_of(CLOCK_MONOTONIC);
            best[i] = took < best[i] ? took : best[i];
            wall = i == 0 && end - start < wall ? end - start : wall;
        }
    printf("%.3f %.3f %.3f %.3f\n", best[0], best[1], lens != NULL ? edit_chunks() : 0, wall);
    tfs_save_close(save);
    return lens != NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
