/* terrainfs with one format: the smallest (tests/lib/toy_format.c). */
#include "../lib/toy_format.h"
#include "commands/cli.h"

/* In place of those of registry.c. */
const struct tfs_container *const tfs_containers[] = {&toy_container, NULL};
const struct tfs_ending tfs_endings[] = {{NULL, NULL}};

int main(int argc, char **argv)
{
    return tfs_cli_main(argc, argv);
}
