/*
 * make_ter [--version 7|8|9] [--layout plain|corners|community|texture] [--nul] [--size N]
 *          [--materials N] [--seed N] [--sidecar] FILE.ter
 *
 * Writes a BeamNG or Torque3D terrain: for demos, benchmarks and tests (lib/ter_maker.h). Layout
 * and terminator are the version's own unless they are given.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/ter_maker.h"

struct request {
    long version, side, materials, seed;
    int kind; /* enum ter_kind; -1: the version's own */
    bool nul, sidecar;
    const char *path;
};

static int usage(void)
{
    fputs("usage: make_ter [--version 7-9] [--layout plain|corners|community|texture] [--nul]\n"
          "                [--size 1-16384] [--materials 0-254] [--seed N] [--sidecar] FILE.ter\n",
          stderr);
    return 2;
}

static int set_kind(struct request *q, const char *name)
{
    static const char *const kinds[] = {"plain", "corners", "community", "texture"};

    for (q->kind = 0; q->kind < 4; q->kind++)
        if (strcmp(name, kinds[q->kind]) == 0)
            return 0;
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
        return set_number(optarg, 0, 255, &q->version);
    case 'l':
        return set_kind(q, optarg);
    case 'n':
        q->nul = true;
        return 0;
    case 's':
        return set_number(optarg, 1, 16384, &q->side);
    case 'm':
        return set_number(optarg, 0, 254, &q->materials);
    case 'r':
        return set_number(optarg, 0, 2147483647, &q->seed);
    case 'j':
        q->sidecar = true;
        return 0;
    default:
        return -1;
    }
}

static int parse(struct request *q, int argc, char **argv)
{
    static const struct option options[] = {
        {"version", required_argument, NULL, 'v'},
        {"layout", required_argument, NULL, 'l'},
        {"nul", no_argument, NULL, 'n'},
        {"size", required_argument, NULL, 's'},
        {"materials", required_argument, NULL, 'm'},
        {"seed", required_argument, NULL, 'r'},
        {"sidecar", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (set_option(q, option) < 0)
            return -1;
    if (optind + 1 != argc)
        return -1;
    q->path = argv[optind];
    return 0;
}

static int write_file(const char *path, struct maker_bytes *b)
{
    FILE *f = fopen(path, "wb");
    bool written = f != NULL && fwrite(b->data, 1, b->size, f) == b->size;

    if (f == NULL || fclose(f) != 0 || !written) {
        perror(path);
        return 1;
    }
    maker_release(b);
    return 0;
}

static int write_sidecar(const char *path, const struct ter_world *world)
{
    struct maker_bytes b = {0};
    char sidecar[4096];
    const char *slash = strrchr(path, '/');
    size_t length = strlen(path);

    if (length < 4 || strcmp(path + length - 4, ".ter") != 0)
        return usage();
    snprintf(sidecar, sizeof(sidecar), "%.*s.terrain.json", (int)length - 4, path);
    ter_make_sidecar(&b, world, slash == NULL ? path : slash + 1);
    return write_file(sidecar, &b);
}

int main(int argc, char **argv)
{
    struct request q = {.version = 9, .side = 256, .materials = 6, .seed = 1, .kind = -1};
    struct maker_bytes b = {0};

    if (parse(&q, argc, argv) < 0)
        return usage();
    struct ter_world world = {.version = (uint8_t)q.version,
                              .kind = q.kind >= 0      ? (enum ter_kind)q.kind
                                      : q.version == 8 ? TER_CORNERS
                                                       : TER_PLAIN,
                              .nul = q.nul,
                              .side = (uint32_t)q.side,
                              .seed = (uint64_t)q.seed,
                              .materials = (unsigned)q.materials};
    ter_make(&b, &world);
    int status = write_file(q.path, &b);
    return status == 0 && q.sidecar ? write_sidecar(q.path, &world) : status;
}
