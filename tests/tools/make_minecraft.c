/*
 * Makes a region of Minecraft, or a folder of two: make_minecraft region|folder PATH [GAME
 * [PACKING]]. GAME: 0 1.12, 1 1.13, 2 1.16, 3 1.18.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/minecraft_maker.h"

int main(int count, char **words)
{
    const unsigned long game = count > 3 ? strtoul(words[3], NULL, 10) : MINECRAFT_18;
    const struct minecraft_world world = {
        .game = (enum minecraft_game)game,
        .packing = count > 4 ? (uint8_t)strtoul(words[4], NULL, 10) : 2,
        .columns = 4};

    if (count < 3 || game >= MINECRAFT_GAMES) {
        fprintf(stderr, "usage: make_minecraft region|folder PATH [GAME [PACKING]]\n");
        return 2;
    }
    if (strcmp(words[1], "folder") == 0)
        minecraft_folder(words[2], &world);
    else
        minecraft_file(words[2], &world);
    return 0;
}
