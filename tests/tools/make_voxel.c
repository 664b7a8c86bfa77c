/*
 * make_voxel block|region|folder|stream PATH [N [M]]: a save of Godot Voxel Tools for tests and the
 * bench. block: one of 16^3, of version N (default 4). region: N blocks a side (default 16, which
 * is 4,096 blocks) of 2^M voxels a side (default 4). folder: N regions (default 2) of version M
 * (default 3). stream: N blocks (default 1000), key format M (default 2; 4 is the old schema).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/voxel_maker.h"

static void make_block(const char *path, unsigned version)
{
    struct tfs_buf block = {0};
    FILE *file = fopen(path, "wb");

    voxel_block(&block, version, 4, (struct tfs_key){0}, 0,
                version == 2 ? TFS_GODOT_LZ4_BE : TFS_GODOT_LZ4);
    if (file == NULL || fwrite(block.data, 1, block.size, file) != block.size ||
        fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    tfs_buf_release(&block);
}

static unsigned number(int argc, char **argv, int at, unsigned otherwise)
{
    return argc > at ? (unsigned)strtoul(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 2 ? argv[1] : "";

    if (strcmp(kind, "block") == 0) {
        make_block(argv[2], number(argc, argv, 3, 4));
    } else if (strcmp(kind, "region") == 0) {
        voxel_region(argv[2], number(argc, argv, 3, 16), number(argc, argv, 4, 4));
    } else if (strcmp(kind, "folder") == 0) {
        (number(argc, argv, 4, 3) == 2 ? voxel_folder_2 : voxel_folder)(argv[2],
                                                                        number(argc, argv, 3, 2));
    } else if (strcmp(kind, "stream") == 0) {
        voxel_stream(argv[2], number(argc, argv, 4, 2), number(argc, argv, 3, 1000));
    } else {
        fputs("usage: make_voxel block|region|folder|stream PATH [N [M]]\n", stderr);
        return 2;
    }
    return EXIT_SUCCESS;
}
