/*
 * make_region [--version N] [--chunks N] [--seed N] [--kind demo|bench|random] FILE
 *
 * Writes a Cosmic Reach region: for demos, benchmarks and tests (lib/region_maker.h).
 */
#include <stdio.h>

#include "../lib/maker_options.h"

enum kind { DEMO, BENCH, RANDOM };

struct request {
    long version, chunks, seed, kind; /* chunks -1: as many as the kind is about */
};

static int usage(void)
{
    fputs("usage: make_region [--version 0-7] [--chunks 0-4096] [--seed N] "
          "[--kind demo|bench|random] FILE\n",
          stderr);
    return 2;
}

static const char *parse(int argc, char **argv, struct request *q)
{
    static const char *const kinds[] = {"demo", "bench", "random", NULL};
    const struct maker_option options[] = {
        {"version", NULL, 0, 7, &q->version},
        {"chunks", NULL, 0, 4096, &q->chunks},
        {"seed", NULL, 0, 2147483647, &q->seed},
        {"kind", kinds, 0, 0, &q->kind},
    };
    return maker_options_parse(argc, argv, options, sizeof(options) / sizeof(options[0]));
}

static void make(const struct request *q, struct maker_bytes *out)
{
    static const unsigned usual[] = {12, 4096, 64};
    struct maker_region r = maker_region_init((int32_t)q->version);
    unsigned chunks = q->chunks < 0 ? usual[q->kind] : (unsigned)q->chunks;
    if (q->kind == DEMO)
        maker_demo(&r, chunks, (uint64_t)q->seed);
    else if (q->kind == BENCH)
        maker_bench(&r, chunks, (uint64_t)q->seed);
    else
        maker_random_region(&r, chunks, (uint64_t)q->seed);
    maker_region_write(&r, out);
    maker_region_release(&r);
}

int main(int argc, char **argv)
{
    struct request q = {.version = 7, .chunks = -1, .seed = 1, .kind = DEMO};
    const char *path = parse(argc, argv, &q);
    if (path == NULL)
        return usage();
    struct maker_bytes out = {0};
    make(&q, &out);
    return maker_write_file(path, &out);
}
