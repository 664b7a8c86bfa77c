/*
 * make_ter [--version 7|8|9] [--layout plain|corners|community|texture] [--nul] [--size N]
 *          [--materials N] [--seed N] [--sidecar] FILE.ter
 *
 * Writes a BeamNG or Torque3D terrain: for demos, benchmarks and tests (lib/ter_maker.h). Layout
 * and terminator are the version's own unless they are given.
 */
#include <stdio.h>
#include <string.h>

#include "../lib/maker_options.h"
#include "../lib/ter_maker.h"

struct request {
    long version, side, materials, seed;
    long kind; /* enum ter_kind; -1: the version's own */
    long nul, sidecar;
};

static int usage(void)
{
    fputs("usage: make_ter [--version 7-9] [--layout plain|corners|community|texture] [--nul]\n"
          "                [--size 1-16384] [--materials 0-254] [--seed N] [--sidecar] FILE.ter\n",
          stderr);
    return 2;
}

static const char *parse(int argc, char **argv, struct request *q)
{
    static const char *const kinds[] = {"plain", "corners", "community", "texture", NULL};
    const struct maker_option options[] = {
        {"version", NULL, 0, 255, &q->version},
        {"layout", kinds, 0, 0, &q->kind},
        {"nul", NULL, 0, 0, &q->nul},
        {"size", NULL, 1, 16384, &q->side},
        {"materials", NULL, 0, 254, &q->materials},
        {"seed", NULL, 0, 2147483647, &q->seed},
        {"sidecar", NULL, 0, 0, &q->sidecar},
    };
    return maker_options_parse(argc, argv, options, sizeof(options) / sizeof(options[0]));
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
    return maker_write_file(sidecar, &b);
}

int main(int argc, char **argv)
{
    struct request q = {.version = 9, .side = 256, .materials = 6, .seed = 1, .kind = -1};
    struct maker_bytes b = {0};

    const char *path = parse(argc, argv, &q);
    if (path == NULL)
        return usage();
    struct ter_world world = {.version = (uint8_t)q.version,
                              .kind = q.kind >= 0      ? (enum ter_kind)q.kind
                                      : q.version == 8 ? TER_CORNERS
                                                       : TER_PLAIN,
                              .nul = q.nul != 0,
                              .side = (uint32_t)q.side,
                              .seed = (uint64_t)q.seed,
                              .materials = (unsigned)q.materials};
    ter_make(&b, &world);
    int status = maker_write_file(path, &b);
    return status == 0 && q.sidecar != 0 ? write_sidecar(path, &world) : status;
}
