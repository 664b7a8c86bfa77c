/*
 * Makes a map of Luanti: make_luanti world|map PATH [BLOCKS [VERSION]]. From version 29 on it has
 * the schema with a column for each axis.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/luanti_maker.h"

int main(int count, char **words)
{
    const unsigned blocks = count > 3 ? (unsigned)strtoul(words[3], NULL, 10) : 60;
    const unsigned version = count > 4 ? (unsigned)strtoul(words[4], NULL, 10) : 29;

    if (count < 3 || version < 22 || version > 29) {
        fprintf(stderr, "usage: make_luanti world|map PATH [BLOCKS [VERSION]]\n");
        return 2;
    }
    if (strcmp(words[1], "world") == 0)
        luanti_world(words[2], version == 29, version, blocks);
    else
        luanti_map(words[2], version == 29, version, blocks);
    return 0;
}
