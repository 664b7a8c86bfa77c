/* terrainfs with one format: the smallest (tests/lib/toy_format.c). */
#include "../lib/toy_format.h"
#include "commands/cli.h"

/* In place of those of registry.c. */
const struct tfs_container *const tfs_containers[] = {&toy_container, NULL};

int main(int argc, char **argv)
{
    return tfs_cli_main(argc, argv);
}
