/* Edits of regions of Minecraft, in memory (tests/lib/lens_check.h says how and what must hold). */
#include "../lib/edit_target.h"
#include "fuzz.h"

static const enum fuzz_save kinds[] = {FUZZ_MINECRAFT_12, FUZZ_MINECRAFT_16, FUZZ_MINECRAFT};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    edit_target(kinds, sizeof(kinds) / sizeof(kinds[0]), (struct tfs_span){data, size});
    return 0;
}
