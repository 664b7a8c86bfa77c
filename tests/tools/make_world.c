/*
 * make_world [--version 0-7] [--mixed] [--plain] [--regions N] [--chunks N] [--seed N] DIR
 *
 * Writes the folder of a Cosmic Reach world: zones/base/earth with N regions in a square around the
 * origin, of `chunks` chunks each; --mixed gives them all versions in turn; --plain makes chunks of
 * one block each, which is quick and takes little room. For tests and benchmarks
 * (lib/region_maker.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/maker_options.h"

struct request {
    long version, mixed, plain, regions, chunks, seed;
};

static int usage(void)
{
    fputs("usage: make_world [--version 0-7] [--mixed] [--plain] [--regions 0-100000] "
          "[--chunks 0-4096] [--seed N] DIR\n",
          stderr);
    return 2;
}

static const char *parse(int argc, char **argv, struct request *q)
{
    const struct maker_option options[] = {
        {"version", NULL, 0, 7, &q->version},  {"mixed", NULL, 0, 0, &q->mixed},
        {"plain", NULL, 0, 0, &q->plain},      {"regions", NULL, 0, 100000, &q->regions},
        {"chunks", NULL, 0, 4096, &q->chunks}, {"seed", NULL, 0, 2147483647, &q->seed},
    };
    return maker_options_parse(argc, argv, options, sizeof(options) / sizeof(options[0]));
}

static int make_directory(const char *world, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s%s", world, name);
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return 0;
    perror(path);
    return 3;
}

static int make_text(const char *world, const char *name, const char *text)
{
    struct maker_bytes bytes = {0};
    char path[4096];

    maker_add(&bytes, text, strlen(text));
    snprintf(path, sizeof(path), "%s/%s", world, name);
    return maker_write_file(path, &bytes);
}

/* Chunks of one block each, column by column. */
static void make_plain(struct maker_region *r, unsigned chunks)
{
    const unsigned height = (chunks + 255) / 256;

    for (unsigned i = 0; i < chunks; i++) {
        const int column = (int)(i / height), y = (int)(i % height);
        struct maker_chunk *chunk = maker_region_add(r, column / 16, y, column % 16);
        maker_single(&chunk->body,
                     i % height > 0 ? "base:air[default]" : "base:stone_gabbro[default]");
        maker_sky(&chunk->body, NULL);
        maker_u8(&chunk->body, 1);
        if (r->version > 0)
            maker_u8(&chunk->body, 0);
    }
}

/* The i-th region of the world. */
static int make_region(const char *world, const struct request *q, int i, int side)
{
    const int x = i % side - side / 2, z = i / side - side / 2;
    struct maker_region r = maker_region_init(q->mixed ? i % 8 : (int32_t)q->version);
    struct maker_bytes bytes = {0};
    char path[4096];

    if (q->plain)
        make_plain(&r, (unsigned)q->chunks);
    else
        maker_bench(&r, (unsigned)q->chunks, (uint64_t)q->seed + (uint64_t)i);
    for (size_t c = 0; c < r.count; c++) {
        r.chunks[c].x += 16 * x;
        r.chunks[c].z += 16 * z;
    }
    maker_region_write(&r, &bytes);
    maker_region_release(&r);
    snprintf(path, sizeof(path), "%s/zones/base/earth/regions/region_%d_0_%d.cosmicreach", world, x,
             z);
    return maker_write_file(path, &bytes);
}

int main(int argc, char **argv)
{
    static const char *const directories[] = {"", "/zones", "/zones/base", "/zones/base/earth",
                                              "/zones/base/earth/regions"};
    struct request q = {.version = 7, .regions = 4, .chunks = 12, .seed = 1};
    const char *world = parse(argc, argv, &q);
    int status = 0, side = 1;

    if (world == NULL)
        return usage();
    while ((long)side * side < q.regions)
        side++;
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && status == 0; i++)
        status = make_directory(world, directories[i]);
    if (status == 0)
        status = make_text(world, "worldInfo.json", "{\n\"latestRegionFileVersion\": 7\n}\n");
    if (status == 0)
        status = make_text(world, "zones/base/earth/zoneInfo.json",
                           "{\n\"zoneId\": \"base:earth\"\n}\n");
    for (int i = 0; i < q.regions && status == 0; i++)
        status = make_region(world, &q, i, side);
    return status;
}
