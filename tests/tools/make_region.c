/*
 * make_region [--version N] [--chunks N] [--seed N] [--kind demo|bench|random] FILE
 *
 * Writes a Cosmic Reach region: for demos, benchmarks and tests (lib/region_maker.h).
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/region_maker.h"

enum kind { DEMO, BENCH, RANDOM };

struct request {
    long version, chunks, seed; /* chunks -1: as many as the kind is about */
    enum kind kind;
    const char *path;
};

static int usage(void)
{
    fputs("usage: make_region [--version 0-7] [--chunks 0-4096] [--seed N] "
          "[--kind demo|bench|random] FILE\n",
          stderr);
    return 2;
}

static int set_kind(struct request *q, const char *name)
{
    static const char *const names[] = {"demo", "bench", "random"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            q->kind = (enum kind)i;
            return 0;
        }
    }
    return -1;
}

static int set_number(const char *text, long low, long high, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return errno || end == text || *end || *value < low || *value > high ? -1 : 0;
}

static int set_option(struct request *q, int option)
{
    switch (option) {
    case 'v':
        return set_number(optarg, 0, 7, &q->version);
    case 'c':
        return set_number(optarg, 0, 4096, &q->chunks);
    case 's':
        return set_number(optarg, 0, 2147483647, &q->seed);
    case 'k':
        return set_kind(q, optarg);
    default:
        return -1;
    }
}

static int parse(int argc, char **argv, struct request *q)
{
    static const struct option options[] = {
        {"version", required_argument, NULL, 'v'},
        {"chunks", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},
        {"kind", required_argument, NULL, 'k'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (set_option(q, option) < 0)
            return -1;
    if (optind + 1 != argc)
        return -1;
    q->path = argv[optind];
    return 0;
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
    if (parse(argc, argv, &q) < 0)
        return usage();
    struct maker_bytes out = {0};
    make(&q, &out);
    FILE *file = fopen(q.path, "wb");
    int failed = !file || fwrite(out.data, 1, out.size, file) != out.size;
    if (file && fclose(file) != 0)
        failed = 1;
    if (failed)
        perror(q.path);
    maker_release(&out);
    return failed ? 3 : 0;
}
