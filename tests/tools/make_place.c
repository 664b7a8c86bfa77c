/*
 * make_place [--kind raw|binary|xml] [--coding stored|lz4|zstd] [--chunks N] [--log2 N]
 *            [--regions N] [--seed N] FILE
 *
 * Writes Roblox terrain: for demos, benchmarks and tests (lib/place_maker.h). The raw kind is one
 * SmoothGrid value; the others are places with a PhysicsGrid that lists nothing.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/place_maker.h"

enum kind { RAW, BINARY, XML };

struct request {
    long kind, coding, chunks, log2, regions, seed;
    const char *path;
};

static int usage(void)
{
    fputs("usage: make_place [--kind raw|binary|xml] [--coding stored|lz4|zstd] "
          "[--chunks 0-20000]\n                  [--log2 0-6] [--regions 0-100] [--seed N] FILE\n",
          stderr);
    return 2;
}

static int set_word(const char *text, const char *const words[3], long *value)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) == 0) {
            *value = i;
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
    static const char *const kinds[] = {"raw", "binary", "xml"};
    static const char *const codings[] = {"stored", "lz4", "zstd"};
    switch (option) {
    case 'k':
        return set_word(optarg, kinds, &q->kind);
    case 'c':
        return set_word(optarg, codings, &q->coding);
    case 'n':
        return set_number(optarg, 0, 20000, &q->chunks);
    case 'l':
        return set_number(optarg, 0, 6, &q->log2);
    case 'r':
        return set_number(optarg, 0, 100, &q->regions);
    case 's':
        return set_number(optarg, 0, 2147483647, &q->seed);
    default:
        return -1;
    }
}

static int parse(int argc, char **argv, struct request *q)
{
    static const struct option options[] = {
        {"kind", required_argument, NULL, 'k'},
        {"coding", required_argument, NULL, 'c'},
        {"chunks", required_argument, NULL, 'n'},
        {"log2", required_argument, NULL, 'l'},
        {"regions", required_argument, NULL, 'r'},
        {"seed", required_argument, NULL, 's'},
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
    const struct place_file file = {
        .world = {(uint64_t)q->seed, (unsigned)q->chunks, (unsigned)q->log2},
        .regions = (unsigned)q->regions,
        .coding = (enum place_coding)q->coding,
        .physics = true,
    };
    if (q->kind == RAW)
        place_grid(out, &file.world);
    else if (q->kind == BINARY)
        place_binary(out, &file);
    else
        place_xml(out, &file);
}

int main(int argc, char **argv)
{
    struct request q = {.kind = RAW, .coding = PLACE_LZ4, .chunks = 12, .log2 = 5, .seed = 1};
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
