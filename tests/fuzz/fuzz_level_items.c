/*
 * Any bytes as an `items.level.json`: what is read of a TerrainBlock is finite and within any
 * world, and reading it line by line finds the same.
 */
#include <math.h>
#include <string.h>

#include "formats/beamng/block.h"
#include "fuzz.h"

static void check_block(const struct tfs_beamng_block *block)
{
    for (unsigned i = 0; block->placed && i < 3; i++)
        REQUIRE(isfinite(block->position[i]) && fabs(block->position[i]) <= 1e7);
    REQUIRE(block->square > 0 && block->square <= 1e7);
    REQUIRE(block->height >= 0 && block->height <= 1e7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_beamng_blocks all = {0}, again = {0};
    const uint8_t *at = data, *end = data + size;

    REQUIRE(tfs_beamng_blocks_read((struct tfs_span){data, size}, &all) == 0);
    for (size_t i = 0; i < all.count; i++)
        check_block(&all.items[i]);
    while (size < 4096 && at < end) {
        const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
        line = line == NULL ? end : line + 1;
        REQUIRE(tfs_beamng_blocks_read((struct tfs_span){at, (size_t)(line - at)}, &again) == 0);
        at = line;
    }
    REQUIRE(size >= 4096 || memmem(data, size, "\xef\xbb\xbf", 3) != NULL ||
            (again.count == all.count && again.bad == all.bad));
    tfs_beamng_blocks_release(&all);
    tfs_beamng_blocks_release(&again);
    return 0;
}
