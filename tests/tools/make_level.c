/*
 * make_level [--version 7|8|9] [--size N] [--materials N] [--seed N] [--terrains N] DIR
 *
 * Writes the folder of a BeamNG level with theTerrain.ter, theTerrain2.ter, ...
 * (lib/level_maker.h).
 */
#include <stdio.h>

#include "../lib/level_maker.h"
#include "../lib/maker_options.h"

struct request {
    long version, side, materials, seed, terrains;
};

static const char *parse(int argc, char **argv, struct request *q)
{
    const struct maker_option options[] = {
        {"version", NULL, 7, 9, &q->version},       {"size", NULL, 1, 16384, &q->side},
        {"materials", NULL, 0, 254, &q->materials}, {"seed", NULL, 0, 2147483647, &q->seed},
        {"terrains", NULL, 0, 1000, &q->terrains},
    };
    return maker_options_parse(argc, argv, options, sizeof(options) / sizeof(options[0]));
}

int main(int argc, char **argv)
{
    struct request q = {.version = 9, .side = 128, .materials = 6, .seed = 1, .terrains = 1};

    const char *directory = parse(argc, argv, &q);
    if (directory == NULL) {
        fputs("usage: make_level [--version 7-9] [--size 1-16384] [--materials 0-254] [--seed N]\n"
              "                  [--terrains 0-1000] DIR\n",
              stderr);
        return 2;
    }
    const struct level_world level = {.terrain = {.version = (uint8_t)q.version,
                                                  .kind = q.version == 8 ? TER_CORNERS : TER_PLAIN,
                                                  .side = (uint32_t)q.side,
                                                  .seed = (uint64_t)q.seed,
                                                  .materials = (unsigned)q.materials},
                                      .terrains = (unsigned)q.terrains};
    return level_make(directory, &level);
}
