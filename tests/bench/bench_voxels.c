/*
 * bench_voxels SAVE: what voxels.csv of a save costs. Prints nanoseconds a line to render all of
 * them and to read them as they are, and nanoseconds a chunk to know their sizes; each is the best
 * of some rounds of CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/format.h"

#define ROUNDS     25
#define CHUNKS_MAX 64

static struct tfs_save *save;
static const struct tfs_lens *lens;
static struct tfs_error err;
static struct tfs_buf texts[CHUNKS_MAX];
static size_t chunks, lines;

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "bench_voxels: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
}

static struct tfs_at place_of(size_t i)
{
    return (struct tfs_at){.key = tfs_doc_at(save->doc, i)->key};
}

static void render(void)
{
    for (size_t i = 0; i < chunks; i++) {
        tfs_buf_clear(&texts[i]);
        must(lens->get(save, save->doc, place_of(i), &texts[i], &err));
    }
}

static void know_sizes(void)
{
    for (size_t i = 0; i < chunks && lens->size != NULL; i++)
        must((int)lens->size(save, save->doc, place_of(i)));
}

static void read_back(void)
{
    for (size_t i = 0; i < chunks; i++) {
        struct tfs_put put = {0};
        struct tfs_edit edit;
        must(tfs_edit_open(save->doc, &edit, &err));
        must(lens->put(save, &edit, place_of(i), tfs_buf_span(&texts[i]), &put, &err));
        tfs_edit_release(&edit);
    }
}

static double nanoseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double best_of(void (*work)(void))
{
    double best = 1e18;

    for (int i = 0; i < ROUNDS; i++) {
        double start = nanoseconds();
        work();
        double took = nanoseconds() - start;
        best = took < best ? took : best;
    }
    return best;
}

static void open_save(const char *path)
{
    const struct tfs_open_options options = {.inflate_limit = TFS_INFLATE_LIMIT};

    must(tfs_save_open(path, NULL, &options, &save, &err));
    for (unsigned i = 0; i < save->tree->chunk.count; i++)
        if (strcmp(save->tree->chunk.files[i].path, "voxels.csv") == 0)
            lens = save->tree->chunk.files[i].lens;
    chunks = save->doc->count < CHUNKS_MAX ? save->doc->count : CHUNKS_MAX;
    render();
    for (size_t i = 0; i < chunks; i++)
        for (size_t k = 0; k < texts[i].size; k++)
            lines += texts[i].data[k] == '\n';
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return EXIT_FAILURE;
    open_save(argv[1]);
    printf("%.2f %.2f %.0f\n", best_of(render) / (double)lines, best_of(read_back) / (double)lines,
           best_of(know_sizes) / (double)chunks);
    for (size_t i = 0; i < chunks; i++)
        tfs_buf_release(&texts[i]);
    tfs_save_close(save);
    return EXIT_SUCCESS;
}
