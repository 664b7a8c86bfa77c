/*
 * make_place [--kind raw|binary|xml] [--coding stored|lz4|zstd] [--chunks N] [--log2 N]
 *            [--regions N] [--seed N] [--random] FILE
 *
 * Writes Roblox terrain: for demos, benchmarks and tests (lib/place_maker.h). The raw kind is one
 * SmoothGrid value; the others are places with a PhysicsGrid that lists nothing.
 */
#include <stdio.h>

#include "../lib/maker_options.h"
#include "../lib/place_maker.h"

enum kind { RAW, BINARY, XML };

struct request {
    long kind, coding, chunks, log2, regions, seed, random;
};

static int usage(void)
{
    fputs("usage: make_place [--kind raw|binary|xml] [--coding stored|lz4|zstd]\n"
          "                  [--chunks 0-20000] [--log2 0-6] [--regions 0-100] [--seed N]\n"
          "                  [--random] FILE\n",
          stderr);
    return 2;
}

static const char *parse(int argc, char **argv, struct request *q)
{
    static const char *const kinds[] = {"raw", "binary", "xml", NULL};
    static const char *const codings[] = {"stored", "lz4", "zstd", NULL};
    const struct maker_option options[] = {
        {"kind", kinds, 0, 0, &q->kind},        {"coding", codings, 0, 0, &q->coding},
        {"chunks", NULL, 0, 20000, &q->chunks}, {"log2", NULL, 0, 6, &q->log2},
        {"regions", NULL, 0, 100, &q->regions}, {"seed", NULL, 0, 2147483647, &q->seed},
        {"random", NULL, 0, 0, &q->random},
    };
    return maker_options_parse(argc, argv, options, sizeof(options) / sizeof(options[0]));
}

static void make(const struct request *q, struct maker_bytes *out)
{
    const struct place_file file = {
        .world = {(uint64_t)q->seed, (unsigned)q->chunks, (unsigned)q->log2, q->random != 0},
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
    const char *path = parse(argc, argv, &q);
    if (path == NULL)
        return usage();
    struct maker_bytes out = {0};
    make(&q, &out);
    return maker_write_file(path, &out);
}
