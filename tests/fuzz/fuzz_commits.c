/* Edits of a save of every container, committed to disk (tests/lib/lens_check.h says how and what
 * must hold). */
#include "../lib/edit_target.h"
#include "fuzz.h"

static const enum fuzz_save kinds[] = {
    FUZZ_REGION_TABLE, FUZZ_REGION_COLUMNS, FUZZ_BINARY,      FUZZ_XML, FUZZ_BLOCK, FUZZ_VXR,
    FUZZ_FOLDER,       FUZZ_STREAM,         FUZZ_TEXT_STREAM, FUZZ_TER, FUZZ_MAP};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    commit_target(kinds, sizeof(kinds) / sizeof(kinds[0]), (struct tfs_span){data, size});
    return 0;
}
